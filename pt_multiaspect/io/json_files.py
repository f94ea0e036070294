"""JSON files: rows, numbers by query and document, predictions of MTEB and others."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import KeysView, Mapping, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints
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
_JSON = re.compile(
    rb"""
    (\xef\xbb\xbf)?  # a byte order mark
    \s*
    (
        \{\s*(["}]|\Z)  # an object with a key, or without content
        | \[\s*([\[\]{"]|\Z)  # an array of arrays, objects or texts, or without content
    )
    """,
    re.VERBOSE,
)

#: The first character of a JSON value.
_NOT_BLANK = re.compile(r"[^ \t\r\n]")


def is_json(data: bytes) -> bool:
    """Return whether a file contains a JSON object or array."""
    return _JSON.match(data) is not None


class RepeatedKey(dict[str, Any]):
    """An object in which keys are repeated; `key` is one of these."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """Create a dictionary of pairs of a key and a value, at least two of which have one key.

        Like any dictionary, it has the last value of each key. `self.key`, for errors, is the key
        that is repeated most often.
        """
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        key_and_count = Counter(keys).most_common(1)[0]
        self.key = key_and_count[0]


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with the pairs of a key and a value; a `RepeatedKey` if keys are repeated.

    There is no error here, as only the reader of the object can name the query or document in it.
    """
    content = dict(pairs)
    has_distinct_keys = len(content) == len(pairs)
    if has_distinct_keys:
        return content
    return RepeatedKey(pairs)


class JsonValue(NamedTuple):
    """A value of a JSON file, and the number of the line on which it begins."""

    line_number: int
    content: Any


def read_json(text: Text) -> list[JsonValue]:
    """Return the JSON values of a file, one after the other: one, or one per line in JSON Lines.

    Raises
    ------
    MultiAspectError
        If the file is not valid JSON.
    """
    content = text.data.decode()
    try:
        return _decode_values(content)
    except RecursionError as error:
        raise _json_error(text.name, "it is nested too deeply") from error
    except ValueError as error:  # also for integers of thousands of digits
        raise _json_error(text.name, str(error)) from error


def _json_error(name: str, reason: str) -> MultiAspectError:
    """Return the error for a file that is not valid JSON."""
    return MultiAspectError(f"{name}: not valid JSON, or an incomplete file: {reason}")


def _decode_values(content: str) -> list[JsonValue]:
    """Return the JSON values of a text, which only blanks and newlines separate."""
    decoder = json.JSONDecoder(object_pairs_hook=json_object)
    values: list[JsonValue] = []
    line_number = 1
    previous_start = 0
    first_character = _NOT_BLANK.search(content)
    while first_character is not None:
        start = first_character.start()
        # The line of the previous value, and the newlines from its start to that of this value.
        line_number += content.count("\n", previous_start, start)
        value, end = decoder.raw_decode(content, start)
        values.append(JsonValue(line_number, value))
        previous_start = start
        first_character = _NOT_BLANK.search(content, end)
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
    _check_queries(name, content, form)
    qids: list[str] = []
    n_documents: list[int] = []  # per query
    docnos: list[str] = []
    numbers: list[Any] = []
    for qid, documents in content.items():
        if documents:  # a query without documents has no row
            qids.append(qid)
            n_documents.append(len(documents))
            docnos += documents.keys()
            numbers += documents.values()
    if not docnos:
        raise MultiAspectError(f"{name}: expected {form} with at least one document, got none")
    query = np.repeat(np.arange(len(qids)), n_documents)  # one per document
    values = _finite_numbers(numbers)  # None if one of them is no finite number
    if values is None:
        row = _first_not_finite(numbers)
        got = shown(numbers[row])
        qid = qids[query[row]]
        raise MultiAspectError(
            f"{name}: expected a finite number as {what}, got {got} (query "
            f"{qid}, document {docnos[row]})"
        )
    # Both statements encode ids, which fails for lone surrogates.
    with refuse_surrogates(name):
        "\0".join(qids).encode()
        docno_texts = Texts.from_strings(np.array(docnos, dtype=object))
    return Run(np.array(qids, dtype=object), query, docno_texts, values)


def _check_queries(name: str, content: Any, form: str) -> None:
    """Raise an error unless a JSON value maps distinct queries to mappings of distinct documents.

    `form` is the form of the value in errors.
    """
    if not isinstance(content, Mapping):
        got = shown(content)
        raise MultiAspectError(f"{name}: expected {form}, got {got}")
    if columns.has_ids(content):
        keys = choices(content)
        raise MultiAspectError(
            f"{name}: expected {form}, got the keys {keys}, the columns of a frame; "
            "write its rows, by frame.to_json(…, orient='records', lines=True)"
        )
    if isinstance(content, RepeatedKey):
        raise MultiAspectError(
            f"{name}: expected each query once, got several entries of query {content.key}"
        )
    for qid, documents in content.items():
        if not isinstance(documents, Mapping):
            got = shown(documents)
            raise MultiAspectError(f"{name}: expected {form}, got {got} for query {qid}")
        if isinstance(documents, RepeatedKey):
            raise MultiAspectError(
                f"{name}: expected each document of a query once, got document {documents.key} "
                f"several times for query {qid}"
            )


def _finite_numbers(numbers: list[Any]) -> Floats | None:
    """Return values as floats, or None if one is no finite number (texts, truth values)."""
    # By type, as bool is a subclass of int.
    types = set(map(type, numbers))
    are_numbers = types <= {int, float}
    if not are_numbers:
        return None
    try:
        values = np.array(numbers, dtype=np.float64)
    except OverflowError:  # of integers that are larger than any float
        return None
    if not np.isfinite(values).all():
        return None
    return values


def _first_not_finite(numbers: list[Any]) -> int:
    """Return the position of the first value that is no finite number."""
    for position, value in enumerate(numbers):
        if _finite_numbers([value]) is None:
            return position
    raise AssertionError("expected a number that is not finite")


#: What comes before an object, possibly in an array, whose first value is neither an object nor an
#: array.
_BEFORE_FIRST_ROW = re.compile(
    r"""
    \s*\[?\s*  # an array may contain the rows
    (?=
        \{\s*
        "(?:[^"\\]|\\.)*"  # the first key, a string with escapes
        \s*:\s*
        [^\s{\[]  # the first character of its value
    )
    """,
    re.VERBOSE,
)


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
    first = values[0]
    if isinstance(first.content, list):
        if len(values) > 1:
            n_values = number_of(len(values), "JSON value")
            raise MultiAspectError(f"{text.name}: expected one JSON array, got {n_values}")
        # Errors name the line of the array.
        values = [JsonValue(first.line_number, row) for row in first.content]
    keys = values[0].content.keys()
    for value in values:
        _check_row(text.name, value, keys)
    rows = [value.content for value in values]
    by_column: dict[str, list[Any]] = {}
    for key in keys:
        by_column[key] = [row[key] for row in rows]
    return pd.DataFrame(by_column)


def _check_row(name: str, value: JsonValue, keys: KeysView[str]) -> None:
    """Raise an error unless a value of the file `name` is an object with the keys of the first one.

    Objects in which a key is repeated are read as `RepeatedKey`, a mapping of its own kind.
    """
    row = value.content
    has_distinct_keys = isinstance(row, Mapping) and not isinstance(row, RepeatedKey)
    if not has_distinct_keys or row.keys() != keys:
        expected = choices(keys)
        got = shown(row)
        raise MultiAspectError(
            f"{name}:{value.line_number}: expected an object with each of {expected} once, and "
            f"nothing else, as before, got {got}; a missing value is null"
        )


def _has_rows(text: Text) -> bool:
    """Return whether the first object of a file has a query and a document."""
    content = text.data.decode()
    before_first_row = _BEFORE_FIRST_ROW.match(content)
    if before_first_row is None:
        return False
    try:
        first_row, _ = json.JSONDecoder().raw_decode(content, before_first_row.end())
    except (ValueError, RecursionError):  # reading the whole file tells where
        return False
    return columns.has_ids(first_row)


def read_json_judgments(text: Text) -> pd.DataFrame:
    """Read judgments ``{qid: {docno: label}}``. Runs have this form, too."""
    values = read_json(text)
    first = values[0].content
    if len(values) > 1:
        n_values = number_of(len(values), "value")
        remedy = _remedy_of_json_lines(first)
        raise MultiAspectError(f"{text.name}: expected one JSON object, got {n_values}{remedy}")
    # A table with the columns of a run. With corpus_id instead of doc_id, it is one of judgments
    # as in BEIR, where the score is the label.
    judgments = json_table(text.name, first, "label").to_pandas()
    return judgments.rename(columns={"doc_id": "corpus_id"})


def _remedy_of_json_lines(first: object) -> str:
    """Return the remedy for JSON Lines, of which `first` is the first, where qrels are expected."""
    if isinstance(first, Mapping):
        remedy = columns.documents_remedy(first)
        if remedy:
            return remedy
    return (
        "; judged answers in JSON Lines are read by the functions of answers, and by "
        "'pt-multiaspect answers'"
    )


#: The key of the model in predictions of MTEB; the other keys are subsets.
_META = "mteb_model_meta"

#: The beginning of predictions of MTEB, with the name of the model as a JSON string.
_PREDICTIONS_HEAD = re.compile(
    rb"""
    (?:\xef\xbb\xbf)?  # a byte order mark
    \s*\{\s*
    "mteb_model_meta"\s*:\s*\{
    (?:
        [^{}]*?  # other keys
        "model_name"\s*:\s*
        (?P<model>"(?:[^"\\]|\\.)*")
    )?
    """,
    re.VERBOSE,
)

#: The form of the lines of sentence-transformers.
_LINE = '{"query_id": …, "results": [{"corpus_id": …, "score": …}, …]}'


class Predictions(NamedTuple):
    """A run, and where it comes from."""

    run: Run
    is_mteb: bool = False
    #: The name of the model, which only MTEB writes.
    model: str | None = None


def model_in_file(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the model in predictions of MTEB, else None, by reading the head.

    The name is empty if it is not in the head, or not valid JSON.
    """
    head = read_head(os.path.expanduser(os.fspath(path)))
    predictions = _PREDICTIONS_HEAD.match(head)
    if predictions is None:
        return None
    if predictions["model"] is None:
        return ""
    try:
        name: str = json.loads(predictions["model"])
    except ValueError:  # reading the whole file tells where
        return ""
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
    first = values[0].content
    keys: Set[str] = set()
    if isinstance(first, Mapping):
        keys = first.keys()
    is_of_sentence_transformers = {"query_id", "results"} <= keys
    if is_of_sentence_transformers:
        scores_by_query = _join_lines(text.name, values)
        run = json_table(text.name, scores_by_query)
        # sentence-transformers itself evaluates the order of the results in a line. Measures would
        # order equal scores by docno.
        return Predictions(_untie(run))
    # All other formats are a single JSON object.
    if len(values) > 1:
        n_values = number_of(len(values), "JSON value")
        got = shown(first)
        raise MultiAspectError(
            f"{text.name}: expected one JSON object {{qid: {{docno: score}}}}, or lines {_LINE}, "
            f"got {n_values}, the first of which is {got}"
        )
    is_mteb = _META in keys and isinstance(first[_META], Mapping)
    if is_mteb:
        return _read_mteb(text.name, first)
    if "mteb_version" in keys:
        raise MultiAspectError(
            f"{text.name}: expected a run, got results of MTEB: the runs are in "
            "TASK_predictions.json in the "
            "directory that mteb.evaluate(…, prediction_folder=…) writes"
        )
    return Predictions(json_table(text.name, first))


def _read_mteb(name: str, content: Mapping[str, Any]) -> Predictions:
    """Return the run in predictions of MTEB, which have the name of the model, too."""
    run = json_table(name, _only_part(name, content))
    model = content[_META].get("model_name")
    if isinstance(model, str):
        return Predictions(run, is_mteb=True, model=model)
    return Predictions(run, is_mteb=True)


def _untie(run: Run) -> Run:
    """Return a run whose scores are distinct in each query: ties are broken by the order of rows.

    Measures compare scores as 32-bit floats. Of equal ones, the second is lowered to the next lower
    32-bit float, the third to the one after this, and so on. Later scores that are no longer lower
    than these are lowered, too. All other scores are unchanged.
    """
    # By query, in each by descending score; the sort is stable, so ties stay in the order of rows.
    order = np.lexsort((-run.score, run.query))  # the last key comes first
    score = np.empty(len(order))
    score[order] = _lower_ties(run.score[order], run.query[order])
    return replace(run, score=score)


def _lower_ties(scores: Floats, query: Ints) -> Floats:
    """Return scores that descend in each query, lowered where they are tied; see `_untie`."""
    with np.errstate(over="ignore"):  # a score beyond the range becomes infinite
        scores_32 = scores.astype(np.float32)
    # The next lower float has an ordinal that is lower by 1.
    ordinals = _ordinals(scores_32)
    lowered_ordinals = _make_descending(ordinals, query)
    lowered_scores = _floats_of_ordinals(lowered_ordinals)
    is_lowered = lowered_ordinals < ordinals
    return np.where(is_lowered, lowered_scores, scores)


def _make_descending(numbers: Ints, query: Ints) -> Ints:
    """Lower integers as little as possible, so that they descend strictly in each query.

    In one query, ``[7, 7, 7, 3]`` becomes ``[7, 6, 5, 3]``.

    Parameters
    ----------
    numbers : ndarray of int, shape (n_rows,)
        Integers, descending in each query, but not strictly.
    query : ndarray of int, shape (n_rows,)
        The query of each row.
    """
    # From row i to row j, integers descend by at least j - i. So row j may have at most
    #     min over i <= j of (numbers[i] - (j - i))  =  min over i <= j of (numbers[i] + i)  -  j
    row = np.arange(len(numbers))
    shifted = pd.Series(numbers + row)
    minimum_so_far = shifted.groupby(query).cummin().to_numpy()
    descending: Ints = minimum_so_far - row
    return descending


def _ordinals(values: NDArray[np.float32]) -> Ints:
    """Return the ordinals of 32-bit floats by size: 0 for 0.0, 1 for the next larger float.

    Negative floats have negative ordinals. The bits of a positive float, read as an integer, are
    its ordinal (IEEE 754).
    """
    bits = np.abs(values).view(np.int32)
    ordinal_of_absolute = bits.astype(np.int64)
    is_negative = values < 0
    return np.where(is_negative, -ordinal_of_absolute, ordinal_of_absolute)


#: The ordinal of the largest finite 32-bit float.
_LARGEST_ORDINAL = int(_ordinals(np.array([np.finfo(np.float32).max]))[0])


def _floats_of_ordinals(ordinals: Ints) -> Floats:
    """Return the 32-bit floats of ordinals, the inverse of `_ordinals`.

    Ordinals below that of the lowest finite float result in this float, not in -inf.
    """
    finite_ordinals = np.maximum(ordinals, -_LARGEST_ORDINAL)
    bits = np.abs(finite_ordinals).astype(np.int32)
    absolute_values = bits.view(np.float32)
    values: Floats = np.copysign(absolute_values, finite_ordinals)
    return values


def _only_part(name: str, content: Mapping[str, Any]) -> Any:
    """Return the predictions of a file of MTEB, which must have one subset and split."""
    predictions = _predictions_by_part(name, content)
    parts = list(predictions)
    if len(parts) == 1:
        return predictions[parts[0]]
    got = choices(f"({subset}, {split})" for subset, split in parts)
    remedy = ""
    if parts:
        subset, split = parts[0]
        remedy = (
            f"; evaluate one of them, as in json.load(open({name!r}))[{subset!r}][{split!r}], "
            "which is a run"
        )
    raise MultiAspectError(
        f"{name}: expected predictions of one subset and split, got (subset, split): {got}{remedy}"
    )


def _predictions_by_part(name: str, content: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """Return the predictions ``{subset: {split: predictions}}`` of MTEB by subset and split."""
    predictions_by_part: dict[tuple[str, str], Any] = {}
    _refuse_repeated_key(name, content)
    for subset, splits in content.items():
        _refuse_repeated_key(name, splits)
        if not isinstance(splits, Mapping):
            got = shown(splits)
            raise MultiAspectError(
                f"{name}: expected an object {{split: predictions}} for {subset}, got {got}"
            )
        if subset == _META:
            continue
        for split, predictions in splits.items():
            predictions_by_part[subset, split] = predictions
    return predictions_by_part


def _refuse_repeated_key(name: str, content: object) -> None:
    """Raise an error for an object in which a key is repeated."""
    if isinstance(content, RepeatedKey):
        raise MultiAspectError(f"{name}: expected distinct keys, got {content.key} several times")


def _join_lines(name: str, values: list[JsonValue]) -> dict[str, dict[str, Any]]:
    """Return the lines of sentence-transformers as one object ``{qid: {docno: score}}``."""
    queries: dict[str, dict[str, Any]] = {}
    for value in values:
        place = f"{name}:{value.line_number}"
        try:
            _check_distinct_keys(place, value.content)
            qid = _id_as_text(value.content["query_id"])
            scores: list[tuple[str, Any]] = []
            for result in value.content["results"]:
                docno = _id_as_text(result["corpus_id"])
                scores.append((docno, result["score"]))
        except (TypeError, KeyError):  # a key is missing, or has a value of another type
            got = shown(value.content)
            raise MultiAspectError(f"{place}: expected a line {_LINE}, got {got}") from None
        if qid in queries:
            raise MultiAspectError(
                f"{place}: expected one line per query, got a second one of query {qid}"
            )
        queries[qid] = json_object(scores)
    return queries


def _check_distinct_keys(place: str, line: Any) -> None:
    """Raise an error if a line of sentence-transformers, or one of its results, repeats a key."""
    objects = [line, *line["results"]]
    if any(isinstance(content, RepeatedKey) for content in objects):
        raise MultiAspectError(
            f"{place}: expected distinct keys in an object, got one several times"
        )


def _id_as_text(value: object) -> str:
    """Return an id of a query or document, a text or a whole number, as text.

    Raises
    ------
    TypeError
        If the id is neither, such as a truth value.
    """
    if type(value) in (str, int):
        return str(value)
    raise TypeError


def warn_of_identical_ids(name: str, run: Run, is_mteb: bool = False) -> None:
    """Warn if queries of MTEB retrieve their own id, or most queries of a run rank it first.

    Such a document is the query itself, which a task may contain among its documents.
    """
    rows = _rows_of_own_ids(run, is_mteb)
    if len(rows) == 0:
        return
    n_queries = len(run.qids)
    n_own = len(np.unique(run.query[rows]))
    fault, remedy = _own_id_texts(n_own, n_queries, is_mteb)
    queries = number_of(n_queries, "query")
    example = run.qids[run.query[rows[0]]]
    warn_of_run(
        f"{n_own} of {queries}{fault}, such as {example}",
        f"{remedy}. To get their values, drop the rows whose docno is the qid",
        run=name,
        key=f"{name} {n_own} {len(run)}",
        group="identical ids",
    )


def _rows_of_own_ids(run: Run, is_mteb: bool) -> Ints:
    """Return the rows in which the document is the query itself; none if that may be chance.

    MTEB drops such documents at any rank. In other runs, ids that are numbers may be equal by
    chance, but not at the top of most queries.
    """
    qid_of_row = Texts.from_strings(run.qids).take(run.query)
    has_own_id = qid_of_row.equals(run.docnos)  # shape (n_rows,)
    rows = np.flatnonzero(has_own_id)
    if is_mteb or len(rows) == 0:
        return rows
    rows_at_top = np.flatnonzero(has_own_id & _is_alone_at_top(run))
    n_queries = len(run.qids)
    n_queries_at_top = len(np.unique(run.query[rows_at_top]))
    is_most_queries = n_queries_at_top > n_queries / 2
    if is_most_queries and n_queries > 1:
        return rows_at_top
    return rows[:0]  # none


def _is_alone_at_top(run: Run) -> Bools:
    """Return a mask of the rows whose score is above all others of the query."""
    n_queries = len(run.qids)
    top_score = np.full(n_queries, -np.inf)  # of each query
    np.maximum.at(top_score, run.query, run.score)
    has_top_score = run.score == top_score[run.query]
    n_at_top = np.bincount(run.query[has_top_score], minlength=n_queries)
    query_has_one_at_top = n_at_top == 1
    is_alone: Bools = has_top_score & query_has_one_at_top[run.query]
    return is_alone


def _own_id_texts(n_own: int, n_queries: int, is_mteb: bool) -> tuple[str, str]:
    """Return what queries do that retrieve the document with their own id, and the remedy."""
    their = agree(n_own, n_queries, "its", "their")
    if is_mteb:
        retrieve = agree(n_own, n_queries, "retrieves", "retrieve")
        fault = f" of predictions of MTEB {retrieve} the document with {their} own id"
        remedy = (
            "In some tasks (ArguAna, Quora, FiQA, FEVER, MSMARCO and others), MTEB drops these "
            "documents before it scores a run, but not from the file"
        )
        return fault, remedy
    rank = agree(n_own, n_queries, "ranks", "rank")
    fault = f" {rank} the document with {their} own id first"
    remedy = "BEIR, and MTEB in some tasks, drop these documents before they score a run"
    return fault, remedy
