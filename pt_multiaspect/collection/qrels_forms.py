"""Qrels in any accepted form, as frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, NamedTuple

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


class _QrelsFrame(NamedTuple):
    """Qrels as a frame with columns of queries, documents and labels."""

    frame: pd.DataFrame
    #: Whether the labels are from tuples, which do not name their aspects.
    has_unnamed_labels: bool


def qrels_frame(qrels: object) -> _QrelsFrame:
    """Return qrels in any accepted form as a frame, and whether its label columns are unnamed."""
    with refuse_surrogates("qrels"):
        result = _read_qrels(qrels)
    id_names = (*QUERY_COLUMNS, *DOCUMENT_COLUMNS)
    for position, name in enumerate(result.frame.columns):
        if name in id_names:
            ids = result.frame.iloc[:, position]  # by position, as names may repeat
            check_strings(ids, "qrels")
    return result


def _read_qrels(qrels: object) -> _QrelsFrame:
    """Return a frame, a dict or an iterable of namedtuples as a frame."""
    frame = to_pandas(qrels)
    if frame is not None:
        renamed = rename_beir_columns(frame, "qrels")
        return _QrelsFrame(renamed, has_unnamed_labels=False)
    if isinstance(qrels, Mapping):
        return _mapping_frame(qrels)
    is_text = isinstance(qrels, str | bytes)
    if isinstance(qrels, Iterable) and not is_text:
        rows = list(qrels)
        return _QrelsFrame(_rows_frame(rows), has_unnamed_labels=False)
    type_name = type(qrels).__name__
    raise MultiAspectError(
        "qrels: expected a DataFrame, a dict {qid: {docno: labels}}, an iterable of namedtuples or "
        f"Judgments, got {type_name}; read files with read_qrels"
    )


def _rows_frame(rows: list[Any]) -> pd.DataFrame:
    """Return namedtuples with the same fields as a frame, one row each."""
    if not rows:
        return pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []})
    fields = common_fields(rows)
    if fields is None:
        raise _not_namedtuples_error(rows[0])
    return pd.DataFrame(rows, columns=fields)


def common_fields(rows: list[Any]) -> list[str] | None:
    """Return the fields of namedtuples; None if they differ, or a row is no namedtuple."""
    fields = getattr(rows[0], "_fields", None)
    if fields is None:
        return None
    for row in rows:
        if getattr(row, "_fields", None) != fields:
            return None
    return list(fields)


def _not_namedtuples_error(first: object) -> MultiAspectError:
    """Return the error for rows of qrels that are not namedtuples, given the first one."""
    # Several runs are a list of frames or of pairs (name, run): they were passed as qrels.
    is_pair = isinstance(first, tuple) and len(first) == 2
    may_be_runs = is_frame(first) or is_pair
    if may_be_runs:
        return MultiAspectError(
            "qrels: expected an iterable of namedtuples with the same fields, got data frames, "
            f"or pairs, as of runs. {SWAPPED}"
        )
    remedy = ""
    if isinstance(first, Mapping):
        remedy = documents_remedy(first)
    description = describe_row(first)
    return MultiAspectError(
        "qrels: expected an iterable of namedtuples with the same fields, got "
        f"{description}{remedy}"
    )


def _mapping_frame(qrels: Mapping[Any, Any]) -> _QrelsFrame:
    """Return a dict of qrels as a frame, and whether its label columns are unnamed."""
    if _is_by_aspect(qrels):
        qrels = _regroup_by_query(qrels)
    pairs: list[tuple[Any, Any]] = []  # the query and document of each element of `labels`
    labels: list[Any] = []
    for qid, documents in qrels.items():
        if not isinstance(documents, Mapping):
            refuse_splits(qrels, "qrels", "judgments")
            raise _not_documents_error(documents, qid)
        pairs += [(qid, docno) for docno in documents]
        labels += documents.values()
    kinds = set(map(_kind_of_label, labels))
    if len(kinds) > 1:
        listed = " and ".join(sorted(kinds))
        raise MultiAspectError(f"qrels: expected labels of one kind, got {listed}")

    ids = pd.DataFrame(pairs, columns=["query_id", "doc_id"])
    if kinds == {"dicts"}:
        _refuse_many_aspects(labels[0], pairs[0])
        labels_by_aspect = pd.DataFrame(labels)
        return _QrelsFrame(ids.join(labels_by_aspect), has_unnamed_labels=False)
    if kinds == {"tuples"}:
        label_columns, has_unnamed_labels = _tuples_frame(labels)
        return _QrelsFrame(ids.join(label_columns), has_unnamed_labels)
    return _QrelsFrame(_with_relevance(ids, labels), has_unnamed_labels=False)


def _with_relevance(ids: pd.DataFrame, labels: list[Any]) -> pd.DataFrame:
    """Return a frame of ids with one label per row, as the column relevance."""
    try:
        return ids.assign(relevance=labels)
    except OverflowError:
        # Integers beyond float64, in pandas 2.0. Reading the labels reports them.
        return ids.assign(relevance=pd.Series(labels, dtype=object))


def _not_documents_error(documents: object, qid: object) -> MultiAspectError:
    """Return the error for a value of a query that is not a dict of documents."""
    remedy = ""
    if isinstance(documents, (str, PathLike)):
        remedy = f". Read one file per aspect with read_qrels. {SWAPPED}"
    elif is_frame(documents):
        remedy = f". {SWAPPED}"
    value = shown(documents)
    return MultiAspectError(
        f"qrels: expected a dict {{qid: {{docno: labels}}}}, got {value} for query {qid!r}{remedy}"
    )


def _kind_of_label(label: object) -> str:
    """Return in words whether a document has a dict, a tuple or a single number as its labels."""
    if isinstance(label, Mapping):
        return "dicts"
    if isinstance(label, tuple | list):
        return "tuples"
    return "single numbers"


def _refuse_many_aspects(labels: Mapping[Any, Any], pair: tuple[Any, Any]) -> None:
    """Raise an error if the labels of a document are of too many aspects, as in a dict of runs."""
    n_aspects = len(labels)
    if n_aspects <= _MOST_ASPECTS:
        return
    qid, docno = pair
    raise MultiAspectError(
        f"qrels: expected a dict {{qid: {{docno: labels}}}}, got labels of {n_aspects} aspects "
        f"for document {docno}, query {qid}, as in a dict of runs. {SWAPPED}"
    )


def _tuples_frame(labels: list[Any]) -> _QrelsFrame:
    """Return tuples of labels as a frame with one column per aspect, and whether it has no names.

    Namedtuples have the names of their fields; of others, the first label is relevance.
    """
    n_aspects = len(labels[0])
    lengths = set(map(len, labels))
    if lengths != {n_aspects}:
        listed = choices(sorted(lengths))
        raise MultiAspectError(
            f"qrels: expected label tuples of one length, got the lengths {listed}"
        )
    rows = list(map(tuple, labels))
    is_namedtuple = hasattr(labels[0], "_fields")
    if is_namedtuple and n_aspects > 0:
        frame = pd.DataFrame(rows, columns=list(labels[0]._fields))
        return _QrelsFrame(frame, has_unnamed_labels=False)
    names = ["relevance"]
    for number in range(2, n_aspects + 1):
        names.append(f"aspect_{number}")
    frame = pd.DataFrame(rows, columns=names)
    return _QrelsFrame(frame, has_unnamed_labels=not is_namedtuple)


def _is_by_aspect(qrels: Mapping[Any, Any]) -> bool:
    """Return whether a dict is ``{aspect: {qid: {docno: label}}}`` rather than a dict by query.

    A dict by query is ``{qid: {docno: {aspect: label}}}``. An aspect, called relevance or label,
    tells them apart: it is a key of the outermost dict by aspect, and of the innermost ones by
    query.
    """
    if "relevance" in qrels:
        of_relevance = qrels["relevance"]
    else:
        of_relevance = qrels.get("label")
    if not isinstance(of_relevance, Mapping):
        return False
    innermost = [value for value in of_relevance.values() if isinstance(value, Mapping)]
    if not innermost:
        return False
    # The key may also be the name of a query: then its documents have the aspect as a key, too.
    is_query = any("relevance" in labels or "label" in labels for labels in innermost)
    return not is_query


def _regroup_by_query(qrels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a dict ``{aspect: {qid: {docno: label}}}`` as ``{qid: {docno: {aspect: label}}}``."""
    labels_by_query: dict[Any, dict[Any, dict[Any, Any]]] = {}
    for aspect, queries in qrels.items():
        if not isinstance(queries, Mapping):
            raise _not_by_aspect_error(queries, aspect)
        for qid, label_of_document in queries.items():
            if not _is_flat_mapping(label_of_document):
                raise _not_by_aspect_error(label_of_document, aspect)
            labels_of_query = labels_by_query.setdefault(qid, {})
            for docno, label in label_of_document.items():
                labels_of_document = labels_of_query.setdefault(docno, {})
                labels_of_document[aspect] = label
    return labels_by_query


def _is_flat_mapping(value: object) -> bool:
    """Return whether a value is a mapping without mappings as its values."""
    if not isinstance(value, Mapping):
        return False
    has_mappings = any(isinstance(item, Mapping) for item in value.values())
    return not has_mappings


def _not_by_aspect_error(value: object, aspect: object) -> MultiAspectError:
    """Return the error for a value of an aspect that is not ``{qid: {docno: label}}``."""
    by_query = "{qid: {docno: {aspect: label}}}"
    by_aspect = "{aspect: {qid: {docno: label}}}"
    description = shown(value)
    return MultiAspectError(
        f"qrels: expected a dict {by_query} or {by_aspect}, got {description} in {aspect!r}"
    )


def describe_row(row: object) -> str:
    """Return a description of a row that is not a namedtuple, for an error message."""
    # ir-measures reads frames of other libraries, such as Polars, by column instead of row.
    is_column = hasattr(row, "to_numpy")
    if is_column:
        return (
            "columns, as ir-measures reads data frames of other libraries: "
            "convert them to pandas first"
        )
    return f"{shown(row)} …"  # further rows follow


#: Whether pandas compares strings only up to a NUL character, as before version 3.1.
_ENDS_STRINGS_AT_NUL = len(pd.unique(np.array(["a", "a\0"], dtype=object))) < 2


def check_strings(column: pd.Series[Any], what: str) -> None:
    """Raise an error for ids with NUL characters, which pandas before 3.1 confuses with others.

    Parameters
    ----------
    column : Series
        A column of ids.
    what : str
        The name of the table in the error.
    """
    if not _ENDS_STRINGS_AT_NUL:
        return
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = column.cat.categories.tolist()
    else:
        values = column.tolist()
    # It is faster to search all strings at once.
    try:
        joined = "".join(values)
    except TypeError:  # some values are not strings
        values = [value for value in values if isinstance(value, str)]
        joined = "".join(values)
    if "\0" not in joined:
        return
    faulty = next(value for value in values if "\0" in value)
    raise MultiAspectError(
        f"{what}: expected ids without NUL characters, which require pandas 3.1 or newer, got "
        f"{faulty!r} in the column {column.name}"
    )
