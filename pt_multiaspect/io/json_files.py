"""JSON files: rows, numbers by query and document, predictions of MTEB and others."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._typing import Floats
from ..collection import Run, columns
from ..errors import (
    MultiAspectError,
    agree,
    choices,
    number_of,
    refuse_surrogates,
    shown,
    warn_of_run,
)
from ..strings.texts import Texts
from .file_contents import Text, read_head

#: The beginning of a JSON object or array. A field of a TREC file would have to begin with such
#: brackets.
_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*(\{\s*([\"}]|\Z)|\[\s*([\[\]{\"]|\Z))")

_NOT_BLANK = re.compile(r"[^ \t\r\n]")


def is_json(data: bytes) -> bool:
    """Return whether a file contains a JSON object or array."""
    return _JSON.match(data) is not None


class RepeatedKey(dict[str, Any]):
    """An object in which keys are repeated, and one of these."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.key, _ = counts.most_common(1)[0]


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or a `RepeatedKey`: its reader knows the query and the document."""
    content = dict(pairs)
    if len(content) == len(pairs):
        return content
    return RepeatedKey(pairs)


def read_json(text: Text) -> list[tuple[int, Any]]:
    """Return the JSON values of a file, one after the other, and the number of the line of each.

    Raises
    ------
    MultiAspectError
        If the file is not valid JSON.
    """
    content = text.data.decode()
    try:
        return _decode_values(content)
    except RecursionError as error:
        reason = "it is nested too deeply"
        raise MultiAspectError(
            f"{text.name}: not valid JSON, or an incomplete file: {reason}"
        ) from error
    except ValueError as error:  # also for integers of thousands of digits
        raise MultiAspectError(
            f"{text.name}: not valid JSON, or an incomplete file: {error}"
        ) from error


def _decode_values(content: str) -> list[tuple[int, Any]]:
    """Return the JSON values of a text, and the number of the line of each."""
    decoder = json.JSONDecoder(object_pairs_hook=json_object)
    values: list[tuple[int, Any]] = []
    start = 0
    line = 1
    match = _NOT_BLANK.search(content)
    while match is not None:
        line += content.count("\n", start, match.start())
        start = match.start()
        value, end = decoder.raw_decode(content, start)
        values.append((line, value))
        match = _NOT_BLANK.search(content, end)
    return values


def json_table(name: str, content: Any, what: str = "score") -> Run:
    """Return the numbers of an object ``{qid: {docno: number}}`` like a run, in its order.

    Parameters
    ----------
    name : str
        The name of the file in errors.
    content : object
        A value that `read_json` has read.
    what : str, default 'score'
        The noun for a number in errors.

    Raises
    ------
    MultiAspectError
        If the value has another form or no document, a key is repeated, or a number is not finite.
    """
    form = f"{{qid: {{docno: {what}}}}}"
    if not isinstance(content, Mapping):
        raise MultiAspectError(f"{name}: expected {form}, got {shown(content)}")
    if columns.has_ids(content):
        raise MultiAspectError(
            f"{name}: expected {form}, got the keys {choices(content)}, the columns of a frame; "
            "write its rows, by frame.to_json(…, orient='records', lines=True)"
        )
    if isinstance(content, RepeatedKey):
        raise MultiAspectError(
            f"{name}: expected each query once, got several entries of query {content.key}"
        )
    for qid, documents in content.items():
        if not isinstance(documents, Mapping):
            raise MultiAspectError(
                f"{name}: expected {form}, got {shown(documents)} for query {qid}"
            )
        if isinstance(documents, RepeatedKey):
            raise MultiAspectError(
                f"{name}: expected each document of a query once, got document {documents.key} "
                f"several times for query {qid}"
            )
    qids: list[str] = []
    n_documents: list[int] = []
    docnos: list[str] = []
    numbers: list[Any] = []
    for qid, documents in content.items():
        if documents:
            qids.append(qid)
            n_documents.append(len(documents))
            docnos += documents.keys()
            numbers += documents.values()
    if not docnos:
        raise MultiAspectError(f"{name}: expected {form} with at least one document, got none")
    query = np.repeat(np.arange(len(qids)), n_documents)
    values = _finite_numbers(numbers)
    if values is None:
        for row, value in enumerate(numbers):
            if _finite_numbers([value]) is None:
                raise MultiAspectError(
                    f"{name}: expected a finite number as {what}, got {shown(value)} (query "
                    f"{qids[query[row]]}, document {docnos[row]})"
                )
        raise AssertionError("expected a number that is not finite")
    with refuse_surrogates(name):
        "\0".join(qids).encode()
        texts = Texts.from_strings(np.array(docnos, dtype=object))
    return Run(np.array(qids, dtype=object), query, texts, values)


def _finite_numbers(numbers: list[Any]) -> Floats | None:
    """Return values as floats, or None if one is no finite number (texts, truth values)."""
    types = set(map(type, numbers))
    if not types <= {int, float}:
        return None
    try:
        values = np.array(numbers, dtype=np.float64)
    except OverflowError:
        return None
    if not np.isfinite(values).all():
        return None
    return values


#: The beginning of an object, possibly in an array, whose first value is neither an object nor an
#: array.
_FIRST_ROW = re.compile(r'\s*\[?\s*(?=\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[^\s{\[])')


def read_json_rows(text: Text) -> pd.DataFrame | None:
    """Read rows: objects with a query and a document, in lines or in an array; else None.

    Raises
    ------
    MultiAspectError
        If the file is not valid JSON, or the objects have different keys.
    """
    if not _has_rows(text):
        return None
    values = read_json(text)
    first_line, first_value = values[0]
    if isinstance(first_value, list):
        if len(values) > 1:
            raise MultiAspectError(
                f"{text.name}: expected one JSON array, got {number_of(len(values), 'JSON value')}"
            )
        values = [(first_line, row) for row in first_value]
    _, first_row = values[0]
    keys = first_row.keys()
    for line, row in values:
        if not isinstance(row, Mapping) or isinstance(row, RepeatedKey) or row.keys() != keys:
            raise MultiAspectError(
                f"{text.name}:{line}: expected an object with each of {choices(keys)} once, and "
                f"nothing else, as before, got {shown(row)}; a missing value is null"
            )
    rows = [row for _, row in values]
    columns = {key: [row[key] for row in rows] for key in keys}
    return pd.DataFrame(columns)


def _has_rows(text: Text) -> bool:
    """Return whether the first object of a file has a query and a document."""
    content = text.data.decode()
    start = _FIRST_ROW.match(content)
    if start is None:
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(content, start.end())
    except (ValueError, RecursionError):  # reading the whole file tells where
        return False
    return columns.has_ids(first)


def read_json_judgments(text: Text) -> pd.DataFrame:
    """Read judgments ``{qid: {docno: label}}``. Runs have this form, too."""
    values = read_json(text)
    _, first = values[0]
    if len(values) != 1:
        remedy = ""
        if isinstance(first, Mapping):
            remedy = columns.documents_remedy(first)
        if not remedy:
            remedy = (
                "; judged answers in JSON Lines are read by the functions of answers, and by "
                "'pt-multiaspect answers'"
            )
        raise MultiAspectError(
            f"{text.name}: expected one JSON object, got {number_of(len(values), 'value')}{remedy}"
        )
    judgments = json_table(text.name, first, "label").to_pandas()
    return judgments.rename(columns={"doc_id": "corpus_id"})


#: The key of the model in predictions of MTEB; the other keys are subsets.
_META = "mteb_model_meta"

#: The beginning of predictions of MTEB, and the name of the model.
_HEAD = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"mteb_model_meta"\s*:\s*\{(?:[^{}]*?"model_name"\s*:\s*("(?:[^"\\]|\\.)*"))?'
)

#: The form of the lines of sentence-transformers.
_LINE = '{"query_id": …, "results": [{"corpus_id": …, "score": …}, …]}'


#: The bits of the largest 32-bit number.
_LARGEST = int(np.array(np.finfo(np.float32).max).view(np.int32))


class Predictions(NamedTuple):
    """A run, and where it comes from."""

    run: Run
    is_mteb: bool = False
    #: The name of the model, which only MTEB writes.
    model: str | None = None


def model_in_file(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the model in predictions of MTEB, else None, by reading the head."""
    head = read_head(os.path.expanduser(os.fspath(path)))
    match = _HEAD.match(head)
    if match is None:
        return None
    try:
        name: str = json.loads(match[1] or b'""')
    except ValueError:  # no valid string: reading the whole file tells where
        name = ""
    return name


def read_predictions(text: Text) -> Predictions:
    """Read a run in JSON.

    Parameters
    ----------
    text : Text
        The content of the file.

    Raises
    ------
    MultiAspectError
        If the file is not valid JSON or no run, a key is repeated, a score is not a finite number,
        or predictions of MTEB have several subsets or splits.
    """
    values = read_json(text)
    if isinstance(values[0][1], Mapping):
        first = values[0][1]
    else:
        first = {}
    if {"query_id", "results"} <= first.keys():
        run = json_table(text.name, _join_lines(text.name, values))
        return Predictions(_untie(run))
    if len(values) > 1:
        raise MultiAspectError(
            f"{text.name}: expected one JSON object {{qid: {{docno: score}}}}, or lines {_LINE}, "
            "got "
            f"{number_of(len(values), 'JSON value')}, the first of which is {shown(values[0][1])}"
        )
    if isinstance(first.get(_META), Mapping):
        model = first[_META].get("model_name")
        if not isinstance(model, str):
            model = None
        run = json_table(text.name, _only_part(text.name, first))
        return Predictions(run, is_mteb=True, model=model)
    if "mteb_version" in first:
        raise MultiAspectError(
            f"{text.name}: expected a run, got results of MTEB: the runs are in "
            "TASK_predictions.json in the "
            "directory that mteb.evaluate(…, prediction_folder=…) writes"
        )
    return Predictions(json_table(text.name, values[0][1]))


def _untie(run: Run) -> Run:
    """Return a run with its order: later equal scores are lowered by the least 32-bit step.

    sentence-transformers evaluates this order, and measures break ties by docno.
    """
    with np.errstate(over="ignore"):
        score_32 = run.score.astype(np.float32) + np.float32(0)
    bits = score_32.view(np.int32).astype(np.int64)
    # Consecutive integers for consecutive 32-bit numbers.
    steps = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    order = np.lexsort((-run.score, run.query))
    sorted_steps = steps[order]
    # As if each query were far below the one before it.
    offset = np.arange(len(run)) - (run.query[order] << 33)
    lowered_steps = np.minimum.accumulate(sorted_steps + offset) - offset
    is_lowered = lowered_steps < sorted_steps
    lowered_steps = np.maximum(lowered_steps[is_lowered], -_LARGEST)
    lowered_bits = np.abs(lowered_steps).astype(np.int32)
    score = run.score.copy()
    score[order[is_lowered]] = np.copysign(lowered_bits.view(np.float32), lowered_steps)
    return replace(run, score=score)


def _only_part(name: str, content: Mapping[str, Any]) -> Any:
    """Return the predictions of a file of MTEB, which has one subset and split."""
    parts: dict[tuple[str, str], Any] = {}
    _refuse_repeated_key(name, content)
    for subset, splits in content.items():
        _refuse_repeated_key(name, splits)
        if not isinstance(splits, Mapping):
            raise MultiAspectError(
                f"{name}: expected an object {{split: predictions}} for {subset}, got "
                f"{shown(splits)}"
            )
        if subset == _META:
            continue
        for split, predictions in splits.items():
            parts[subset, split] = predictions
    if len(parts) != 1:
        remedy = ""
        if parts:
            subset, split = next(iter(parts))
            remedy = (
                f"; evaluate one of them, as in json.load(open({name!r}))[{subset!r}][{split!r}], "
                "which is a run"
            )
        got = choices(f"({subset}, {split})" for subset, split in parts)
        raise MultiAspectError(
            f"{name}: expected predictions of one subset and split, got (subset, split): "
            f"{got}{remedy}"
        )
    return next(iter(parts.values()))


def _refuse_repeated_key(name: str, content: object) -> None:
    if isinstance(content, RepeatedKey):
        raise MultiAspectError(f"{name}: expected distinct keys, got {content.key} several times")


def _join_lines(name: str, values: list[tuple[int, Any]]) -> dict[str, dict[str, Any]]:
    """Return the lines of sentence-transformers as one object ``{qid: {docno: score}}``."""
    queries: dict[str, dict[str, Any]] = {}
    for line, value in values:
        try:
            results = value["results"]
            objects = [value, *results]
            if any(isinstance(item, RepeatedKey) for item in objects):
                raise MultiAspectError(
                    f"{name}:{line}: expected distinct keys in an object, got one several times"
                )
            qid = _identifier(value["query_id"])
            pairs = [(_identifier(result["corpus_id"]), result["score"]) for result in results]
        except (TypeError, KeyError):
            raise MultiAspectError(
                f"{name}:{line}: expected a line {_LINE}, got {shown(value)}"
            ) from None
        if qid in queries:
            raise MultiAspectError(
                f"{name}:{line}: expected one line per query, got a second one of query {qid}"
            )
        queries[qid] = json_object(pairs)
    return queries


def _identifier(value: object) -> str:
    if type(value) in (str, int):
        return str(value)
    raise TypeError


def warn_of_identical_ids(name: str, run: Run, is_mteb: bool = False) -> None:
    """Warn if queries of MTEB retrieve their own id, or most queries of a run rank it first."""
    is_own = Texts.from_strings(run.qids).take(run.query).equals(run.docnos)
    if not is_own.any():
        return
    n_queries = len(run.qids)
    if not is_mteb:  # further down, numbers coincide by chance
        best = np.full(n_queries, -np.inf)
        np.maximum.at(best, run.query, run.score)
        is_first = run.score == best[run.query]
        n_first = np.bincount(run.query[is_first], minlength=n_queries)
        has_one_first = n_first == 1
        is_own &= is_first & has_one_first[run.query]
    n_own = len(np.unique(run.query[is_own]))
    if n_own and (is_mteb or 1 < n_queries < 2 * n_own):
        their = agree(n_own, n_queries, "its", "their")
        if is_mteb:
            retrieve = agree(n_own, n_queries, "retrieves", "retrieve")
            fault = f" of predictions of MTEB {retrieve} the document with {their} own id"
            remedy = (
                "In some tasks (ArguAna, Quora, FiQA, FEVER, MSMARCO and others), MTEB drops these "
                "documents before it scores a run, but not from the file"
            )
        else:
            rank = agree(n_own, n_queries, "ranks", "rank")
            fault = f" {rank} the document with {their} own id first"
            remedy = "BEIR, and MTEB in some tasks, drop these documents before they score a run"
        warn_of_run(
            f"{n_own} of {number_of(n_queries, 'query')}{fault}, such as "
            f"{run.qids[run.query[np.argmax(is_own)]]}",
            f"{remedy}. To get their values, drop the rows whose docno is the qid",
            run=name,
            key=f"{name} {n_own} {len(run)}",
            group="identical ids",
        )
