"""The input of commands: qrels, runs, aspects and measures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import ir_measures
import pandas as pd

from ..aspects import Aspects
from ..aspects.parameter import declared_aspects
from ..collection.run import name_run_in_errors
from ..errors import MultiAspectError, choices, errors_of, refuse_none, refuse_taken, refuse_unknown
from ..evaluation import read_values
from ..evaluation.long_frames import find_label, measures_by_label
from ..evaluation.topic_groups import read_topic_names
from ..evaluation.value_files import FORMATS as VALUE_FORMATS
from ..integration.declared import with_aspects
from ..integration.measure_lists import parse_list
from ..io.runs import name_of_file, named_runs, run_files, run_title
from ..io.topic_files import read_topic_texts
from ..io.trec_files import read_qrels, read_run
from ..orders import correctness
from ..orders.tracks import TRACK_ANSWERS
from ..suites import Suite, suite
from ..suites.catalogue import SUITES, requires_aspects
from .options import DIRECTORIES, STDIN, Requested, decode, explain_argument, looks_like_measure
from .run_names import shorten_names

#: Columns of tables that are not measures.
_COLUMNS = ("name", "qid", "measure")


def read_all_qrels(
    items: Sequence[str], option: str = "--qrels", *, check: bool = True
) -> pd.DataFrame:
    """Read the qrels given as ``ASPECT=FILE`` per aspect, as ``ASPECT,ASPECT=FILE``, or as a file of relevance.

    With `check`, the files of the aspects must judge the same pairs, as in `read_qrels`.
    """
    if len(items) == 1:
        aspects, separator, path = items[0].partition("=")
        if os.path.exists(items[0]) or not separator:
            return read_qrels(_source(items[0], items[0], option))
        if "," in aspects and path:
            with errors_of(option):
                names = decode(aspects).split(",")
                return read_qrels(_source(path, items[0], option), aspects=names)
    files: dict[str, str] = {}
    for item in items:
        aspect, separator, path = item.partition("=")
        with errors_of(option):
            aspect = decode(aspect)
        if aspect and separator and not path:
            raise MultiAspectError(f"{option}: {item} lacks its file; write {item}FILE")
        if not (separator and aspect):
            if separator:
                remedy = f"ASPECT{item}"
            else:
                remedy = f"{item}=FILE or ASPECT={item}"
            raise MultiAspectError(
                f"{option}: expected ASPECT=FILE for each of several aspects, got {item!r}; write "
                f"{remedy}"
            )
        if aspect in files:
            raise MultiAspectError(
                f"{option}: expected one file for the aspect {aspect}, got two: {files[aspect]} "
                f"and {path}"
            )
        files[aspect] = path
    if list(files.values()).count(STDIN) > 1:
        raise MultiAspectError(
            f"{option}: expected standard input (-) for one aspect at most, got several"
        )
    sources = {aspect: _source(path, f"{aspect}={path}", option) for aspect, path in files.items()}
    return read_qrels(sources, check=check)


def _source(path: str, item: str, option: str):  # type: ignore[no-untyped-def]  # a path or a binary stream
    """Return the path to read, after checking that the file exists."""
    if path == STDIN:
        return sys.stdin.buffer
    if os.path.exists(os.path.expanduser(path)):
        return path
    remedy = ""
    if "," in path:
        remedy = "; separate several ASPECT=FILE by blanks, not by commas"
    if "=" not in item:
        remedy = (
            "; write ASPECT=FILE for each aspect, or ASPECT,ASPECT=FILE for one file with several "
            "label columns"
        )
    raise MultiAspectError(f"{option}: no such file: {path}{remedy}")


def with_correctness(qrels: pd.DataFrame, stances: str | None, suite: str | None) -> pd.DataFrame:
    """Return the qrels of a TREC Health Misinformation track with correctness instead of codes of answers.

    Parameters
    ----------
    qrels : DataFrame
        The judgments.
    stances : str or None
        The file with the stances of the topics.
    suite : str or None
        The suite, which states the track; without it, the codes are those of 2021.

    Raises
    ------
    MultiAspectError
        If the suite evaluates correctness, but neither it nor the stances are given, or both are.
    """
    match = re.match(r"trec-misinfo-(\d{4})", suite or "")
    if match is None or suite not in SUITES:
        track = None
    else:
        track = int(match[1])
    column, meanings = TRACK_ANSWERS[track or 2021]
    if stances is None:
        if track is not None and "correctness" not in qrels.columns and column in qrels.columns:
            answers = " or ".join(
                sorted(answer for answer in meanings.values() if answer is not None)
            )
            raise MultiAspectError(
                f"--suite {suite} evaluates correctness, but the qrels have {column}, whose "
                "meaning depends on the "
                f"topic: add --stances FILE, with a query id and {answers} per line"
            )
        return qrels
    if "correctness" in qrels.columns:
        raise MultiAspectError(
            "--stances has no effect: the qrels have correctness already; omit it"
        )
    by_topic: dict[str, str] = {}
    for qid, stance in read_topic_names(Path(stances), "--stances", "stance"):
        if by_topic.setdefault(qid, stance) != stance:
            raise MultiAspectError(
                f"--stances: expected one stance of topic {qid}, got {by_topic[qid]} and {stance}"
            )
    with errors_of("--stances"):
        labels = correctness(qrels, by_topic, track or 2021)
    return qrels.rename(columns={column: "correctness"}).assign(correctness=labels)


def read_runs(items: Sequence[str], qrels: Sequence[str]) -> dict[str, object]:
    """Return the runs by name: their paths, and the content of standard input.

    Parameters
    ----------
    items : sequence of str
        Files, directories, patterns such as ``runs/*.run``, ``-`` for standard input, or ``NAME=``
        one of these.
    qrels : sequence of str
        The arguments for qrels, which may also be read from standard input.

    Raises
    ------
    MultiAspectError
        If there is no run, a run is given twice, or two runs have the same name.
    """
    runs: dict[str, str] = {}
    is_named: dict[str, bool] = {}
    seen: dict[str, str] = {}
    context = click.get_current_context(silent=True)
    if context is None:
        directories: dict[str, str] = {}
    else:
        directories = context.meta.setdefault(DIRECTORIES, {})
    for item in items:
        name, path = _name_and_path(item)
        files = _files(path)
        if name is not None and len(files) != 1:
            raise MultiAspectError(
                f"expected one run for the name {name}, but {path} contains {len(files)}"
            )
        if os.path.isdir(os.path.expanduser(path)):
            directories.update(dict.fromkeys(files, path.rstrip("/")))
        for file in files:
            label = name or ("stdin" if file == STDIN else name_of_file(file))
            if file == STDIN:
                real = file
            else:
                real = os.path.realpath(file)
            if real in seen:
                raise MultiAspectError(f"the run {seen[real]} is given twice; omit one")
            if label in runs:
                parent = Path(file).parent.name or "other"
                raise MultiAspectError(
                    f"two runs have the name {label}: {runs[label]} and {file}; name one of them, "
                    f"as in {parent}-{label}={file}"
                )
            runs[label] = seen[real] = file
            is_named[label] = name is not None or file == STDIN
    refuse_none(runs, "run")
    runs = _with_short_names(runs, is_named)
    if STDIN in runs.values() and any(item.rpartition("=")[2] == STDIN for item in qrels):
        raise MultiAspectError("expected standard input (-) once, got it as qrels and as a run")
    contents: dict[str, object] = {**runs}
    for label, file in runs.items():
        if file == STDIN:
            with name_run_in_errors(run_title(label)):
                contents[label] = read_run(sys.stdin.buffer)
    return named_runs(contents)


def _with_short_names(runs: dict[str, str], is_named: Mapping[str, bool]) -> dict[str, str]:
    """Return runs with short names instead of those of their files."""
    files = [file for name, file in runs.items() if not is_named[name]]
    short = dict(
        zip(files, shorten_names(files, [name for name in runs if is_named[name]]), strict=True)
    )
    return {short.get(file, name): file for name, file in runs.items()}


def _name_and_path(item: str) -> tuple[str | None, str]:
    """Split ``NAME=PATH``, unless there is a file of that name."""
    name, separator, path = item.partition("=")
    if not separator or os.path.exists(os.path.expanduser(item)):
        return None, item
    if not os.path.exists(os.path.expanduser(path)) and looks_like_measure(item):
        raise MultiAspectError(explain_argument(item) or f"no such file: {item}")
    if not (name and path):
        raise MultiAspectError(f"expected a run, or NAME=RUN, got {item!r}")
    return name, path


def _files(path: str) -> list[str]:
    """Return the files of a path, directory or pattern, sorted."""
    if path == STDIN:
        return [path]
    files = run_files(path)
    context = click.get_current_context(silent=True)
    takes_measures = context is not None and any(
        param.name == "measures" for param in context.command.params
    )
    if takes_measures and not os.path.exists(files[0]) and (error := explain_argument(path)):
        raise MultiAspectError(error)
    return files


def read_topic_frame(file: str, qids: Sequence[str]) -> pd.DataFrame:
    """Return the topics with these query ids, with their texts in the file; '' for those without one.

    Topics of TREC have numbers such as 051, whose zeros qrels may omit.
    """
    with errors_of("--topics"):
        texts = read_topic_texts(file)
    without_zeros = {qid.lstrip("0"): text for qid, text in texts.items()}
    found = [texts.get(qid) or without_zeros.get(qid, "") for qid in qids]
    if not any(found):
        raise MultiAspectError(
            f"--topics: expected the topics of the qrels, such as {choices(qids[:3])}, got "
            f"{choices(list(texts)[:3])}; check the query ids"
        )
    return pd.DataFrame({"qid": qids, "query": found})


def read_aspects(text: str | None) -> Aspects | None:
    """Read declared scales from JSON, or from a JSON file."""
    if text is None:
        return None
    try:
        if text.lstrip().startswith("{"):
            return declared_aspects(text)
        path = Path(text).expanduser()
        if not path.exists():
            raise MultiAspectError(
                f"no such file: {text}; expected a file that 'pt-multiaspect describe "
                "--write-aspects' writes, or "
                'JSON such as \'{"relevance": 2, "credibility": 3}\''
            )
        return Aspects.from_file(path)
    except MultiAspectError as error:
        text = str(error).removeprefix("aspects: ")
        raise MultiAspectError(
            text if text.startswith("--aspects") else f"--aspects: {text}"
        ) from None


def read_value_file(text: str) -> pd.DataFrame:
    """Read a file of values; the format of lines precedes its path."""
    format, is_given, path = text.partition("=")
    if is_given and format in VALUE_FORMATS:
        return read_values(path, format=format)
    return read_values(text)


def pick_measures(
    texts: Sequence[str], values: pd.DataFrame
) -> Sequence[str] | Mapping[str, Any] | None:
    """Return the requested measures of a frame, for functions of frames; None for all.

    Parameters
    ----------
    texts : sequence of str
        Labels of the frame, or ``ALIAS=`` the measure that a label refers to, 'higher' or 'lower'.
    values : DataFrame
        The frame.

    Returns
    -------
    sequence of str, mapping of str to object or None
        The labels; with what they refer to if it is given for one.
    """
    known = measures_by_label(values)
    meanings: dict[str, str] = {}
    for text in texts:
        aliases = [label for label in known if text.startswith(f"{label}=") and text not in known]
        if aliases:
            alias = max(aliases, key=len)
            meanings[alias] = text[len(alias) + 1 :]
        else:
            meanings[find_label(known, text)] = ""
    if not any(meanings.values()):
        return list(meanings) or None
    refuse_unknown(meanings, known, "measures of the file", "-m")
    for label, meaning in meanings.items():
        if not meaning and known[label] is None:
            raise MultiAspectError(
                f"-m: {label} names no known measure; write {label}=higher or {label}=lower"
            )
    return {label: meaning or known[label] for label, meaning in meanings.items()}


def read_measures(
    requested: Requested, aspects: Aspects | None, qrels: pd.DataFrame
) -> Mapping[str, ir_measures.Measure]:
    """Parse measures, and set the scales of those that declare none.

    Parameters
    ----------
    requested : Requested
        The measures (see `parse_list`) or labels of the suite, and the suite.
    aspects : Aspects or None
        The scales. Single-aspect measures of this package use the scale of relevance.
    qrels : DataFrame
        The judgments, whose columns the aspects must match.

    Returns
    -------
    mapping of str to ir_measures.Measure
        The measures by label; a `Suite` if one is given.

    Raises
    ------
    MultiAspectError
        If a measure cannot be parsed, the qrels lack a declared aspect, or the suite is unknown.

    Warns
    -----
    MultiAspectWarning
        If an aspect of the qrels is not declared, or a measure of ir-measures cannot use the
        declared scale.
    """
    if requested.suite is None:
        chosen = None
    else:
        chosen = _suite(requested, aspects)
    suite_labels: list[str] = []
    texts: list[str] = []
    spellings = dict.fromkeys(chosen or ())
    for text in requested.texts:
        label = find_label(spellings, text)
        if label in spellings:
            suite_labels.append(label)
        else:
            texts.append(text)
    measures: dict[str, ir_measures.Measure] = {}
    if texts:
        measures = with_aspects(parse_list(texts), aspects, judged_aspects(qrels), "--aspects")
    if chosen is not None:
        kept = {
            label: measure
            for label, measure in chosen.items()
            if not suite_labels or label in suite_labels
        }
        refuse_taken(measures, kept, "a measure of the suite")
        measures = {**kept, **measures}
    refuse_taken(measures, _COLUMNS, "a column of the table")
    if chosen is None:
        return measures
    return replace(chosen, measures=measures)


def _suite(requested: Requested, aspects: Aspects | None) -> Suite:
    """Return the requested suite; scales that it does not accept may be for other measures."""
    name = str(requested.suite)
    if requested.texts and not requires_aspects(name):
        return suite(name)
    return suite(name, aspects=aspects)


def judged_aspects(qrels: pd.DataFrame) -> list[str]:
    """Return the aspects of the qrels that `read_all_qrels` returns."""
    return ["relevance" if column == "label" else column for column in qrels.columns[2:]]
