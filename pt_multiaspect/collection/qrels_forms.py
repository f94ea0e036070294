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
        rows = list(qrels)
        fields = next((row._fields for row in rows if hasattr(row, "_fields")), None)
        if not rows:
            return pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}), False
        if fields is not None and all(getattr(row, "_fields", None) == fields for row in rows):
            return pd.DataFrame(rows, columns=list(fields)), False
        if is_frame(rows[0]) or (isinstance(rows[0], tuple) and len(rows[0]) == 2):
            raise MultiAspectError(
                "qrels: expected an iterable of namedtuples with the same fields, got data frames, "
                "or pairs, as of "
                f"runs. {SWAPPED}"
            )
        if isinstance(rows[0], Mapping):
            remedy = documents_remedy(rows[0])
        else:
            remedy = ""
        raise MultiAspectError(
            "qrels: expected an iterable of namedtuples with the same fields, got "
            f"{describe_row(rows[0])}{remedy}"
        )
    raise MultiAspectError(
        "qrels: expected a DataFrame, a dict {qid: {docno: labels}}, an iterable of namedtuples or "
        "Judgments, got "
        f"{type(qrels).__name__}; read files with read_qrels"
    )


def _mapping_frame(qrels: Mapping[Any, Any]) -> tuple[pd.DataFrame, bool]:
    if _is_by_aspect(qrels):
        qrels = _regroup_by_query(qrels)
    ids: list[tuple[Any, Any]] = []
    labels: list[Any] = []
    for qid, documents in qrels.items():
        if not isinstance(documents, Mapping):
            is_file = isinstance(documents, (str, PathLike))
            refuse_splits(qrels, "qrels", "judgments")
            raise MultiAspectError(
                f"qrels: expected a dict {{qid: {{docno: labels}}}}, got {shown(documents)} for "
                f"query {qid!r}"
                + (". Read one file per aspect with read_qrels" if is_file else "")
                + (f". {SWAPPED}" if is_file or is_frame(documents) else "")
            )
        ids += [(qid, docno) for docno in documents]
        labels += documents.values()
    frame = pd.DataFrame(ids, columns=["query_id", "doc_id"])
    if labels:
        first = labels[0]
    else:
        first = 0
    kinds = {
        "dicts"
        if isinstance(label, Mapping)
        else "tuples"
        if isinstance(label, tuple | list)
        else "single numbers"
        for label in labels
    }
    if len(kinds) > 1:
        raise MultiAspectError(
            f"qrels: expected labels of one kind, got {' and '.join(sorted(kinds))}"
        )
    if isinstance(first, Mapping):
        if len(first) > _MOST_ASPECTS:
            qid, docno = ids[0]
            raise MultiAspectError(
                f"qrels: expected a dict {{qid: {{docno: labels}}}}, got labels of {len(first)} "
                "aspects for "
                f"document {docno}, query {qid}, as in a dict of runs. {SWAPPED}"
            )
        return frame.join(pd.DataFrame(labels)), False
    if isinstance(first, tuple | list):
        lengths = set(map(len, labels))
        if lengths != {len(first)}:
            raise MultiAspectError(
                "qrels: expected label tuples of one length, got the lengths "
                f"{choices(sorted(lengths))}"
            )
        fields = getattr(first, "_fields", None)
        names = fields or ["relevance", *(f"aspect_{index}" for index in range(2, len(first) + 1))]
        return frame.join(
            pd.DataFrame([tuple(label) for label in labels], columns=list(names))
        ), fields is None
    try:
        return frame.assign(relevance=labels), False
    except OverflowError:  # integers beyond float64 in pandas 2.0; reading the labels reports them
        return frame.assign(relevance=pd.Series(labels, dtype=object)), False


def _is_by_aspect(qrels: Mapping[Any, Any]) -> bool:
    """Return whether a dict is ``{aspect: {qid: {docno: label}}}``: relevance is the name of no query."""
    queries = qrels.get("relevance", qrels.get("label"))
    if isinstance(queries, Mapping):
        documents = list(queries.values())
    else:
        documents = []
    return any(isinstance(labels, Mapping) for labels in documents) and not any(
        isinstance(labels, Mapping) and ("relevance" in labels or "label" in labels)
        for labels in documents
    )


def _regroup_by_query(qrels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a dict ``{aspect: {qid: {docno: label}}}`` as ``{qid: {docno: {aspect: label}}}``."""
    labels: dict[Any, dict[Any, dict[Any, Any]]] = {}
    for aspect, queries in qrels.items():
        for qid, documents in (
            queries.items() if isinstance(queries, Mapping) else [(None, queries)]
        ):
            if not isinstance(documents, Mapping) or any(
                isinstance(label, Mapping) for label in documents.values()
            ):
                raise MultiAspectError(
                    "qrels: expected a dict {qid: {docno: {aspect: label}}} or {aspect: {qid: "
                    "{docno: label}}}, "
                    f"got {shown(documents)} in {aspect!r}"
                )
            for docno, label in documents.items():
                labels.setdefault(qid, {}).setdefault(docno, {})[aspect] = label
    return labels


def describe_row(row: object) -> str:
    """Return a description of a row that is not a namedtuple, for an error message."""
    if hasattr(row, "to_numpy"):
        return "columns, as ir-measures reads data frames of other libraries: convert them to pandas first"
    return f"{shown(row)} …"


#: Whether pandas compares strings only up to a NUL character, as before version 3.1.
_ENDS_STRINGS_AT_NUL = len(pd.unique(np.array(["a", "a\0"], dtype=object))) < 2


def check_strings(column: pd.Series[Any], what: str) -> None:
    """Raise an error for ids that pandas would confuse."""
    if not _ENDS_STRINGS_AT_NUL:
        return
    values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    strings = values.tolist()
    try:
        joined = "".join(strings)
    except TypeError:  # much slower, but rare
        strings = [value for value in strings if isinstance(value, str)]
        joined = "".join(strings)
    if "\0" in joined:
        faulty = next(value for value in strings if "\0" in value)
        raise MultiAspectError(
            f"{what}: expected ids without NUL characters, which require pandas 3.1 or newer, got "
            f"{faulty!r} in "
            f"the column {column.name}"
        )
