"""Qrels in any accepted form, as frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from ..errors import SWAPPED, MultiAspectError, choices, refuse_surrogates, shown
from .columns import DOCUMENT_COLUMNS, QUERY_COLUMNS, documents_remedy, rename_beir_columns
from .other_libraries import is_frame, refuse_splits, to_pandas

#: The maximum number of keys that are read as the aspects of a document; more are the documents of
#: a query.
_MOST_ASPECTS = 100

#: The remedy for a dict of qrels whose queries are the names of aspects, or whose documents are
#: queries.
BY_QUERY = "Are the aspects the first level of a dict? Expected {qid: {docno: {aspect: label}}}"


def qrels_frame(qrels: object) -> tuple[pd.DataFrame, bool]:
    """Return qrels as a frame, and whether its label columns are unnamed."""
    with refuse_surrogates("qrels"):
        frame, is_positional = _read_qrels(qrels)
    for position, column in enumerate(frame.columns):
        if column in (*QUERY_COLUMNS, *DOCUMENT_COLUMNS):
            check_strings(frame.iloc[:, position], "qrels")
    return frame, is_positional


def _read_qrels(qrels: object) -> tuple[pd.DataFrame, bool]:
    frame = to_pandas(qrels)
    if frame is not None:
        return rename_beir_columns(frame, "qrels"), False
    if isinstance(qrels, Mapping):
        return _mapping_frame(qrels)
    if isinstance(qrels, Iterable) and not isinstance(qrels, str | bytes):
        return _rows_frame(list(qrels)), False
    raise MultiAspectError(
        "qrels: expected a DataFrame, a dict {qid: {docno: labels}}, an iterable of namedtuples or "
        f"Judgments, got {type(qrels).__name__}; read files with read_qrels"
    )


def _rows_frame(rows: list[Any]) -> pd.DataFrame:
    """Return namedtuples with the same fields as a frame."""
    if not rows:
        return pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []})
    fields = getattr(rows[0], "_fields", None)
    if fields is not None and all(getattr(row, "_fields", None) == fields for row in rows):
        return pd.DataFrame(rows, columns=list(fields))
    first = rows[0]
    is_pair = isinstance(first, tuple) and len(first) == 2
    if is_frame(first) or is_pair:
        raise MultiAspectError(
            "qrels: expected an iterable of namedtuples with the same fields, got data frames, "
            f"or pairs, as of runs. {SWAPPED}"
        )
    if isinstance(first, Mapping):
        remedy = documents_remedy(first)
    else:
        remedy = ""
    raise MultiAspectError(
        "qrels: expected an iterable of namedtuples with the same fields, got "
        f"{describe_row(first)}{remedy}"
    )


def _mapping_frame(qrels: Mapping[Any, Any]) -> tuple[pd.DataFrame, bool]:
    """Return a dict of qrels as a frame, and whether its label columns are unnamed."""
    if _is_by_aspect(qrels):
        qrels = _regroup_by_query(qrels)
    ids: list[tuple[Any, Any]] = []
    labels: list[Any] = []
    for qid, documents in qrels.items():
        if not isinstance(documents, Mapping):
            refuse_splits(qrels, "qrels", "judgments")
            raise MultiAspectError(
                f"qrels: expected a dict {{qid: {{docno: labels}}}}, got {shown(documents)} for "
                f"query {qid!r}{_remedy_of_documents(documents)}"
            )
        ids += [(qid, docno) for docno in documents]
        labels += documents.values()
    frame = pd.DataFrame(ids, columns=["query_id", "doc_id"])
    kinds = set(map(_kind_of_label, labels))
    if len(kinds) > 1:
        raise MultiAspectError(
            f"qrels: expected labels of one kind, got {' and '.join(sorted(kinds))}"
        )
    if kinds == {"dicts"}:
        _refuse_many_aspects(labels[0], ids[0])
        return frame.join(pd.DataFrame(labels)), False
    if kinds == {"tuples"}:
        columns, is_positional = _tuples_frame(labels)
        return frame.join(columns), is_positional
    try:
        return frame.assign(relevance=labels), False
    except OverflowError:  # integers beyond float64 in pandas 2.0; reading the labels reports them
        return frame.assign(relevance=pd.Series(labels, dtype=object)), False


def _remedy_of_documents(documents: object) -> str:
    """Return the remedy for what stands in the place of the documents of a query."""
    if isinstance(documents, (str, PathLike)):
        return f". Read one file per aspect with read_qrels. {SWAPPED}"
    if is_frame(documents):
        return f". {SWAPPED}"
    return ""


def _kind_of_label(label: object) -> str:
    if isinstance(label, Mapping):
        return "dicts"
    if isinstance(label, tuple | list):
        return "tuples"
    return "single numbers"


def _refuse_many_aspects(labels: Mapping[Any, Any], pair: tuple[Any, Any]) -> None:
    """Raise an error if the labels of a document are of too many aspects, as in a dict of runs."""
    if len(labels) <= _MOST_ASPECTS:
        return
    qid, docno = pair
    raise MultiAspectError(
        f"qrels: expected a dict {{qid: {{docno: labels}}}}, got labels of {len(labels)} aspects "
        f"for document {docno}, query {qid}, as in a dict of runs. {SWAPPED}"
    )


def _tuples_frame(labels: list[Any]) -> tuple[pd.DataFrame, bool]:
    """Return tuples of labels as columns, and whether they are unnamed."""
    n_aspects = len(labels[0])
    lengths = set(map(len, labels))
    if lengths != {n_aspects}:
        listed = choices(sorted(lengths))
        raise MultiAspectError(
            f"qrels: expected label tuples of one length, got the lengths {listed}"
        )
    rows = list(map(tuple, labels))
    fields = getattr(labels[0], "_fields", None)
    if fields:
        return pd.DataFrame(rows, columns=list(fields)), False
    further = [f"aspect_{number}" for number in range(2, n_aspects + 1)]
    return pd.DataFrame(rows, columns=["relevance", *further]), fields is None


def _is_by_aspect(qrels: Mapping[Any, Any]) -> bool:
    """Return whether a dict is ``{aspect: {qid: {docno: label}}}``: no query is named relevance."""
    queries = qrels.get("relevance", qrels.get("label"))
    if not isinstance(queries, Mapping):
        return False
    documents = [labels for labels in queries.values() if isinstance(labels, Mapping)]
    has_relevance = any("relevance" in labels or "label" in labels for labels in documents)
    return bool(documents) and not has_relevance


def _regroup_by_query(qrels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a dict ``{aspect: {qid: {docno: label}}}`` as ``{qid: {docno: {aspect: label}}}``."""
    labels: dict[Any, dict[Any, dict[Any, Any]]] = {}
    for aspect, queries in qrels.items():
        if not isinstance(queries, Mapping):
            raise _not_by_aspect_error(queries, aspect)
        for qid, documents in queries.items():
            is_nested = isinstance(documents, Mapping) and any(
                isinstance(label, Mapping) for label in documents.values()
            )
            if is_nested or not isinstance(documents, Mapping):
                raise _not_by_aspect_error(documents, aspect)
            labels_of_query = labels.setdefault(qid, {})
            for docno, label in documents.items():
                labels_of_document = labels_of_query.setdefault(docno, {})
                labels_of_document[aspect] = label
    return labels


def _not_by_aspect_error(documents: object, aspect: object) -> MultiAspectError:
    return MultiAspectError(
        "qrels: expected a dict {qid: {docno: {aspect: label}}} or {aspect: {qid: {docno: "
        f"label}}}}}}, got {shown(documents)} in {aspect!r}"
    )


def describe_row(row: object) -> str:
    """Return a description of a row that is not a namedtuple, for an error message."""
    if hasattr(row, "to_numpy"):
        return (
            "columns, as ir-measures reads data frames of other libraries: "
            "convert them to pandas first"
        )
    return f"{shown(row)} …"


#: Whether pandas compares strings only up to a NUL character, as before version 3.1.
_ENDS_STRINGS_AT_NUL = len(pd.unique(np.array(["a", "a\0"], dtype=object))) < 2


def check_strings(column: pd.Series[Any], what: str) -> None:
    """Raise an error for ids that pandas would confuse."""
    if not _ENDS_STRINGS_AT_NUL:
        return
    if isinstance(column.dtype, pd.CategoricalDtype):
        strings = column.cat.categories.tolist()
    else:
        strings = column.tolist()
    try:
        joined = "".join(strings)
    except TypeError:  # much slower, but rare
        strings = [value for value in strings if isinstance(value, str)]
        joined = "".join(strings)
    if "\0" in joined:
        faulty = next(value for value in strings if "\0" in value)
        raise MultiAspectError(
            f"{what}: expected ids without NUL characters, which require pandas 3.1 or newer, got "
            f"{faulty!r} in the column {column.name}"
        )
