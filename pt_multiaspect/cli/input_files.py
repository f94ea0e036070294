"""The input of commands: qrels, runs, aspects and measures."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from .options import (
    DIRECTORIES,
    STDIN,
    Requested,
    decode,
    explain_argument,
    looks_like_measure,
    path_exists,
)
from .run_names import shorten_names

#: Columns of tables that are not measures.
_COLUMNS = ("name", "qid", "measure")


def read_all_qrels(
    items: Sequence[str], option: str = "--qrels", *, check: bool = True
) -> pd.DataFrame:
    """Read the qrels of ``ASPECT=FILE`` per aspect, ``ASPECT,ASPECT=FILE``, or ``FILE``.

    With `check`, the files of the aspects must judge the same pairs, as in `read_qrels`.
    """
    if len(items) == 1:
        qrels = _read_single_file(items[0], option)
        if qrels is not None:
            return qrels
    files = _files_by_aspect(items, option)
    paths = list(files.values())
    if paths.count(STDIN) > 1:
        raise MultiAspectError(
            f"{option}: expected standard input (-) for one aspect at most, got several"
        )
    sources = {}
    for aspect, path in files.items():
        sources[aspect] = _source(path, f"{aspect}={path}", option)
    return read_qrels(sources, check=check)


def _read_single_file(item: str, option: str) -> pd.DataFrame | None:
    """Return the qrels of ``FILE`` or ``ASPECT,ASPECT=FILE``; None for ``ASPECT=FILE``.

    The caller reads the latter, with the files of the other aspects.
    """
    # The name of a file may contain "=", too.
    aspects, equals_sign, path = item.partition("=")
    is_file = os.path.exists(item) or not equals_sign
    if is_file:
        source = _source(path=item, item=item, option=option)
        return read_qrels(source)
    has_several_aspects = "," in aspects
    if not has_several_aspects or not path:
        return None
    with errors_of(option):
        names = decode(aspects).split(",")
        source = _source(path, item, option)
        return read_qrels(source, aspects=names)


def _files_by_aspect(items: Sequence[str], option: str) -> dict[str, str]:
    """Return the file of each aspect, given as ``ASPECT=FILE``."""
    files: dict[str, str] = {}
    for item in items:
        aspect, path = _aspect_and_path(item, option)
        if aspect in files:
            raise MultiAspectError(
                f"{option}: expected one file for the aspect {aspect}, got two: {files[aspect]} "
                f"and {path}"
            )
        files[aspect] = path
    return files


def _aspect_and_path(item: str, option: str) -> tuple[str, str]:
    """Return the two parts of ``ASPECT=FILE``, or raise an error if one is missing."""
    aspect, equals_sign, path = item.partition("=")
    with errors_of(option):
        aspect = decode(aspect)
    if aspect and path:
        return aspect, path
    if not equals_sign:  # "credibility" or "judgments.txt"
        remedy = f"{item}=FILE or ASPECT={item}"
    elif not aspect:  # "=judgments.txt"
        remedy = f"ASPECT{item}"
    else:  # "credibility="
        raise MultiAspectError(f"{option}: {item} lacks its file; write {item}FILE")
    raise MultiAspectError(
        f"{option}: expected ASPECT=FILE for each of several aspects, got {item!r}; write {remedy}"
    )


def _source(path: str, item: str, option: str) -> Any:
    """Return what to read: the path of a file that exists, or standard input for ``-``.

    Parameters
    ----------
    path : str
        The file.
    item : str
        The argument that contains the path, such as ``ASPECT=FILE``.
    option : str
        The option that has this argument.
    """
    if path == STDIN:
        return sys.stdin.buffer
    if path_exists(path):
        return path
    if "=" not in item:
        remedy = (
            "; write ASPECT=FILE for each aspect, or ASPECT,ASPECT=FILE for one file with several "
            "label columns"
        )
    elif "," in path:
        remedy = "; separate several ASPECT=FILE by blanks, not by commas"
    else:
        remedy = ""
    raise MultiAspectError(f"{option}: no such file: {path}{remedy}")


def with_correctness(qrels: pd.DataFrame, stances: str | None, suite: str | None) -> pd.DataFrame:
    """Return the qrels of a TREC Health Misinformation track with correctness instead of codes.

    Codes are those of the answer that a document gives. Whether it is correct follows from the
    stance of the topic. Without `stances`, the qrels are returned as they are.

    Parameters
    ----------
    qrels : DataFrame
        The judgments.
    stances : str or None
        The file with the stances of the topics.
    suite : str or None
        The suite, whose name may contain the year of the track; else, the codes are those of 2021.

    Raises
    ------
    MultiAspectError
        If the qrels have both correctness and stances, or neither but the suite of a track.
    """
    year = _track_of_suite(suite)
    if stances is None:
        if year is not None:
            _check_no_codes(qrels, suite, year)
        return qrels
    if "correctness" in qrels.columns:
        raise MultiAspectError(
            "--stances has no effect: the qrels have correctness already; omit it"
        )
    if year is None:
        year = 2021
    stance_by_topic = _read_stances(stances)
    with errors_of("--stances"):
        labels = correctness(qrels, stance_by_topic, year)
    code_column, _ = TRACK_ANSWERS[year]
    renamed = qrels.rename(columns={code_column: "correctness"})
    return renamed.assign(correctness=labels)


def _check_no_codes(qrels: pd.DataFrame, suite: str | None, year: int) -> None:
    """Raise an error if qrels have codes of answers instead of correctness, as stances are missing.

    `suite` is that of the track of this year.
    """
    code_column, answer_of_code = TRACK_ANSWERS[year]
    if "correctness" in qrels.columns or code_column not in qrels.columns:
        return
    answers = sorted(answer for answer in answer_of_code.values() if answer is not None)
    expected = " or ".join(answers)
    raise MultiAspectError(
        f"--suite {suite} evaluates correctness, but the qrels have {code_column}, whose meaning "
        f"depends on the topic: add --stances FILE, with a query id and {expected} per line"
    )


def _track_of_suite(suite: str | None) -> int | None:
    """Return the year of a suite of the TREC Health Misinformation track; None for other suites."""
    if suite not in SUITES:
        return None
    match = re.match(r"trec-misinfo-(?P<year>\d{4})", suite)
    if match is None:
        return None
    return int(match["year"])


def _read_stances(file: str) -> dict[str, str]:
    """Return the stance of each topic in a file, which must be one."""
    stance_by_topic: dict[str, str] = {}
    for qid, stance in read_topic_names(Path(file), "--stances", "stance"):
        first_stance = stance_by_topic.get(qid, stance)
        if stance != first_stance:
            raise MultiAspectError(
                f"--stances: expected one stance of topic {qid}, got {first_stance} and {stance}"
            )
        stance_by_topic[qid] = stance
    return stance_by_topic


@dataclass(frozen=True)
class _RunFile:
    """A file of a run, or standard input, and the name of the run.

    Names that are not given are those of the files, which may be shortened.
    """

    name: str
    path: str
    has_given_name: bool


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
    runs: dict[str, _RunFile] = {}
    path_by_file: dict[str, str] = {}
    for run in _run_files(items):
        # The same file may be given by several paths.
        file = run.path
        if file != STDIN:
            file = os.path.realpath(file)
        if file in path_by_file:
            raise MultiAspectError(f"the run {path_by_file[file]} is given twice; omit one")
        path_by_file[file] = run.path
        if run.name in runs:
            raise _same_name(runs[run.name], run)
        runs[run.name] = run
    refuse_none(runs, "run")
    path_by_name = _with_short_names(list(runs.values()))
    qrels_paths = [item.rpartition("=")[2] for item in qrels]  # without the aspects
    if STDIN in path_by_name.values() and STDIN in qrels_paths:
        raise MultiAspectError("expected standard input (-) once, got it as qrels and as a run")
    return named_runs(_paths_and_content(path_by_name))


def _paths_and_content(path_by_name: Mapping[str, str]) -> dict[str, object]:
    """Return the path of each run, or the run itself if it is read from standard input."""
    contents: dict[str, object] = {}
    for name, path in path_by_name.items():
        if path == STDIN:
            with name_run_in_errors(run_title(name)):
                contents[name] = read_run(sys.stdin.buffer)
        else:
            contents[name] = path
    return contents


def _run_files(items: Sequence[str]) -> Iterator[_RunFile]:
    """Yield the files of runs, given as files, directories, patterns, or ``NAME=`` one of these."""
    for item in items:
        name, path = _name_and_path(item)
        files = _files(path)
        if name is not None and len(files) != 1:
            raise MultiAspectError(
                f"expected one run for the name {name}, but {path} contains {len(files)}"
            )
        if os.path.isdir(os.path.expanduser(path)):
            _record_directory(path, files)
        for file in files:
            if name is not None:
                yield _RunFile(name, file, has_given_name=True)
            elif file == STDIN:
                yield _RunFile("stdin", file, has_given_name=True)
            else:
                yield _RunFile(name_of_file(file), file, has_given_name=False)


def _record_directory(directory: str, files: Sequence[str]) -> None:
    """Record in the context of the command, for errors, that files are those of a directory."""
    context = click.get_current_context(silent=True)
    if context is None:
        return
    directory_by_file = context.meta.setdefault(DIRECTORIES, {})
    for file in files:
        directory_by_file[file] = directory.rstrip("/")


def _same_name(first: _RunFile, second: _RunFile) -> MultiAspectError:
    """Return the error for two runs of the same name."""
    folder = Path(second.path).parent.name or "other"
    example = f"{folder}-{second.name}={second.path}"
    return MultiAspectError(
        f"two runs have the name {second.name}: {first.path} and {second.path}; name one of them, "
        f"as in {example}"
    )


def _with_short_names(runs: Sequence[_RunFile]) -> dict[str, str]:
    """Return the paths of runs by name; names that were not given are shortened."""
    files = [run.path for run in runs if not run.has_given_name]
    given_names = [run.name for run in runs if run.has_given_name]
    short_names = dict(zip(files, shorten_names(files, given_names), strict=True))
    path_by_name = {}
    for run in runs:
        name = short_names.get(run.path, run.name)
        path_by_name[name] = run.path
    return path_by_name


def _name_and_path(item: str) -> tuple[str | None, str]:
    """Return the two parts of ``NAME=PATH``; None and the argument if it is a path alone."""
    name, equals_sign, path = item.partition("=")
    if not equals_sign or path_exists(item):
        return None, item
    # CAM(base=AP) is a measure in the place of a run, not the run AP) with the name CAM(base.
    if not path_exists(path) and looks_like_measure(item):
        error = explain_argument(item) or f"no such file: {item}"
        raise MultiAspectError(error)
    if not name or not path:
        raise MultiAspectError(f"expected a run, or NAME=RUN, got {item!r}")
    return name, path


def _files(path: str) -> list[str]:
    """Return the files of a path, directory or pattern, sorted.

    Raise an error if the argument seems to be a measure.
    """
    if path == STDIN:
        return [path]
    files = run_files(path)
    # The files of a directory or a pattern exist. A single path may not, if it is a measure.
    is_missing = not os.path.exists(files[0])
    if is_missing and _takes_measures():
        error = explain_argument(path)
        if error:
            raise MultiAspectError(error)
    return files


def _takes_measures() -> bool:
    """Return whether the present command has an option for measures.

    Then an argument that is no file may be a measure for which the option was forgotten.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return False
    return any(param.name == "measures" for param in context.command.params)


def read_topic_frame(file: str, qids: Sequence[str]) -> pd.DataFrame:
    """Return the topics with these query ids and their texts in the file; '' if there is none.

    Topics of TREC have numbers such as 051, whose zeros qrels may omit.
    """
    with errors_of("--topics"):
        text_by_topic = read_topic_texts(file)
    text_without_zeros = {qid.lstrip("0"): text for qid, text in text_by_topic.items()}
    texts = []
    for qid in qids:
        text = text_by_topic.get(qid) or text_without_zeros.get(qid, "")
        texts.append(text)
    if not any(texts):
        expected = choices(qids[:3])
        got = choices(list(text_by_topic)[:3])
        raise MultiAspectError(
            f"--topics: expected the topics of the qrels, such as {expected}, got {got}; check the "
            "query ids"
        )
    return pd.DataFrame({"qid": qids, "query": texts})


def read_aspects(text: str | None) -> Aspects | None:
    """Read declared scales from JSON, or from a JSON file; None if there are none."""
    if text is None:
        return None
    try:
        return _read_scales(text)
    except MultiAspectError as error:
        # Some errors begin with the parameter of Python, or with nothing.
        message = str(error).removeprefix("aspects: ")
        if not message.startswith("--aspects"):
            message = f"--aspects: {message}"
        raise MultiAspectError(message) from None


def _read_scales(text: str) -> Aspects:
    """Read declared scales from JSON, which begins with a brace, or from a JSON file."""
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


def read_value_file(text: str) -> pd.DataFrame:
    """Read a file of values, given as FILE or as FORMAT=FILE for lines of other tools."""
    format, equals_sign, path = text.partition("=")
    if equals_sign and format in VALUE_FORMATS:
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
    meaning_by_label: dict[str, str] = {}  # '' for a label alone
    for text in texts:
        label, meaning = _label_and_meaning(text, known)
        meaning_by_label[label] = meaning
    if not meaning_by_label:
        return None
    has_meanings = any(meaning_by_label.values())
    if not has_meanings:
        # The functions that get the labels refuse unknown ones.
        return list(meaning_by_label)
    refuse_unknown(meaning_by_label, known, "measures of the file", "-m")
    # A mapping has the measure of every label: one without a meaning has that of the file.
    measures: dict[str, Any] = {}
    for label, meaning in meaning_by_label.items():
        if meaning:
            measures[label] = meaning
        elif known[label] is not None:
            measures[label] = known[label]
        else:
            raise MultiAspectError(
                f"-m: {label} names no known measure; write {label}=higher or {label}=lower"
            )
    return measures


def _label_and_meaning(text: str, known: Mapping[str, object]) -> tuple[str, str]:
    """Return the parts of ``LABEL=MEANING``; for a label alone, its spelling in `known` and ''."""
    if text not in known:
        labels = [label for label in known if text.startswith(f"{label}=")]
        if labels:
            # Labels may contain equals signs: of A and A=B, A=B=lower has the label A=B.
            label = max(labels, key=len)
            return label, text.removeprefix(f"{label}=")
    return find_label(known, text), ""


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
        measures = _parse_measures(requested.texts, aspects, qrels)
        refuse_taken(measures, _COLUMNS, "a column of the table")
        return measures
    chosen = _suite(requested, aspects)
    labels, texts = _split_labels(requested.texts, chosen)
    further_measures = _parse_measures(texts, aspects, qrels)
    suite_measures = dict(chosen)
    if labels:
        suite_measures = {label: chosen[label] for label in chosen if label in labels}
    refuse_taken(further_measures, suite_measures, "a measure of the suite")
    measures = {**suite_measures, **further_measures}
    refuse_taken(measures, _COLUMNS, "a column of the table")
    return replace(chosen, measures=measures)


def _parse_measures(
    texts: Sequence[str], aspects: Aspects | None, qrels: pd.DataFrame
) -> dict[str, ir_measures.Measure]:
    """Return measures by label, with the scales of the aspects if they declare none."""
    if not texts:
        return {}
    measures = parse_list(texts)
    return dict(with_aspects(measures, aspects, judged_aspects(qrels), "--aspects"))


def _split_labels(texts: Sequence[str], chosen: Suite) -> tuple[list[str], list[str]]:
    """Return the labels of a suite among the texts of measures, and the other texts."""
    labels: list[str] = []
    further_texts: list[str] = []
    # `find_label` compares names only, if no label has a measure.
    label_without_measure = dict.fromkeys(chosen)
    for text in texts:
        # "AP(rel=2)" for the label "AP(rel=2.0)"; the text itself if no label is meant.
        label = find_label(label_without_measure, text)
        if label in chosen:
            labels.append(label)
        else:
            further_texts.append(text)
    return labels, further_texts


def _suite(requested: Requested, aspects: Aspects | None) -> Suite:
    """Return the requested suite, with the declared scales if they are meant for it."""
    name = str(requested.suite)
    # Scales that the suite does not require may be for the other requested measures.
    if requested.texts and not requires_aspects(name):
        return suite(name)
    return suite(name, aspects=aspects)


def judged_aspects(qrels: pd.DataFrame) -> list[str]:
    """Return the aspects of qrels of `read_all_qrels`: the columns after qid and docno."""
    aspects = []
    for column in qrels.columns[2:]:
        if column == "label":
            aspects.append("relevance")
        else:
            aspects.append(column)
    return aspects
