"""The queries and documents of the rows of training data."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Ints, Objects
from ..collection.columns import (
    DOCUMENT_COLUMNS,
    DOCUMENT_SPELLINGS,
    QUERY_COLUMNS,
    RUN_QUERY_COLUMNS,
    spelling,
)
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, shown
from ..strings.identifiers import check_present, identifiers
from .arrays import flatten_column

#: The remedy for rows without queries, after "pass qid, or".
ADD_QID = "add an index level or a column qid to y or X"

#: Further columns with names of documents; docid is PyTerrier's number of a document.
_OTHER_DOCUMENTS = ("docid", "corpus-id", "corpus_id")

#: What may stand between a query and a document in one text.
_SEPARATORS = ("_", "-", ":", "/", "|", "#", " ", "\t", ",", "::", "__", "--")

#: Columns with names or texts of queries.
_QUERIES = (*RUN_QUERY_COLUMNS, "query-id", "query")


class _DocumentColumn(NamedTuple):
    """An index level or a column that may name the document of each row."""

    label: object
    documents: NDArray[Any]


def query_codes(queries: NDArray[Any]) -> tuple[Ints, Objects]:
    """Return the position of each row's query in the sorted names of the queries, and the names."""
    check_present(queries, "value", "qid")
    # Only distinct values become names. A number and its text, such as 1 and "1", have one name.
    value_of_row, distinct_values = pd.factorize(queries)
    values = pd.Series(distinct_values, name="value")
    names = np.asarray(identifiers(values, "qid"), dtype=object)
    sorted_names, position_of_value = np.unique(names, return_inverse=True)
    return position_of_value[value_of_row], sorted_names


def rows_per_query(queries: NDArray[Any]) -> dict[str, int]:
    """Return the number of rows of each query, by the name of the query."""
    codes, names = query_codes(queries)
    n_rows = np.bincount(codes)
    return dict(zip(names.tolist(), n_rows.tolist(), strict=True))


def require_queries(
    owner: str,
    y: object,
    X: object,
    qid: object,
    reference: str = "y",
    how: str = "qid",
    **others: object,
) -> NDArray[Any]:
    """Return the query of each row from `find_queries`, or raise an error if there is none.

    The message says that `owner` needs queries, and to pass `how`.
    """
    queries = find_queries(y, X, qid, reference, **others)
    if queries is None:
        raise MultiAspectError(f"{owner} needs the query of every row: pass {how}, or {ADD_QID}")
    return queries


def find_queries(
    y: object, X: object, qid: object, reference: str = "y", **others: object
) -> NDArray[Any] | None:
    """Return the query of each row: `qid`, else that of y, else that of X, else None.

    In y and X, queries are an index level or a column qid; in y, also query_id.

    Parameters
    ----------
    y, X, qid : object
        The labels, features and queries.
    reference : str, default 'y'
        The name of `y`, in messages.
    **others : object
        Objects with the same rows, by name.

    Raises
    ------
    MultiAspectError
        If pandas objects have the same rows in another order, or a row has several queries or
        documents.
    """
    sources = {reference: y, "X": X, "qid": qid, **others}
    frames = {name: as_pandas(rows) for name, rows in sources.items()}
    queries = {}  # by source, None for sources without queries
    for name, rows in frames.items():
        is_labels = name == reference
        queries[name] = _queries_of_rows(rows, is_labels)
    for first, second in combinations(sources, 2):
        # Only objects of pandas have an index: others are not given one for this check.
        check_same_index(first, sources[first], second, sources[second])
        check_same_names("qid", first, queries[first], second, queries[second])
        check_same_documents(first, frames[first], second, frames[second])
    if qid is not None:
        return _passed_queries(qid, queries[reference], queries["X"])
    if queries[reference] is not None:
        return queries[reference]
    return queries["X"]


def _passed_queries(
    qid: object, queries_of_y: NDArray[Any] | None, queries_of_X: NDArray[Any] | None
) -> NDArray[Any]:
    """Return the queries that are passed as `qid`; raise an error if y or X has others."""
    queries = flatten_column(qid)
    if queries.ndim == 0:
        raise MultiAspectError(
            f"qid: expected the query of each row, such as a column, got {shown(qid)}"
        )
    check_same_names("qid", "the index", queries_of_y, "qid", queries)
    check_same_names("qid", "the index", queries_of_X, "qid", queries)
    return queries


def _queries_of_rows(rows: object, is_labels: bool) -> NDArray[Any] | None:
    """Return the index level or column of a pandas object with the query of each row, if any.

    A column qid always names queries. Further names of columns, such as query_id, count in labels
    only, as such a column of X may be a feature.
    """
    queries = _level_or_column(rows, "qid")
    if queries is not None:
        return queries
    if is_labels:
        return _level_or_column(rows, *QUERY_COLUMNS)
    return _index_level(rows, *QUERY_COLUMNS)


def check_same_index(
    first: str, first_rows: object, second: str, second_rows: object, elements: str = "rows"
) -> None:
    """Raise an error if pandas objects have the same index in another order.

    Rows are matched by position. The message calls the objects `first` and `second`, and their rows
    `elements`.
    """
    first_index = getattr(first_rows, "index", None)
    second_index = getattr(second_rows, "index", None)
    if _is_rearranged(first_index, second_index):
        raise MultiAspectError(
            f"the index of {second} has the elements of the index of {first} in a different order, "
            f"but {elements} are matched by position; sort the {elements} of both in the same way, "
            f"or pass {second}.to_numpy() if they already are"
        )


def _is_rearranged(index: object, other: object) -> bool:
    """Return whether two pandas indexes have the same elements in a different order."""
    if not isinstance(index, pd.Index) or not isinstance(other, pd.Index):
        return False
    # Levels, such as qid and docno, are compared by name.
    other = _reorder_levels(other, list(index.names))
    n_elements = len(index)
    if len(other) != n_elements or other.nlevels != index.nlevels:
        return False
    if n_elements == 0 or index.equals(other):
        return False
    # Elements of both get the same code if they are equal, or missing.
    codes, _ = pd.factorize(index.append(other))
    index_codes = codes[:n_elements]
    other_codes = codes[n_elements:]
    has_same_order = np.array_equal(index_codes, other_codes)
    has_same_elements = np.array_equal(np.sort(index_codes), np.sort(other_codes))
    return has_same_elements and not has_same_order


def _reorder_levels(index: pd.Index[Any], names: list[Any]) -> pd.Index[Any]:
    """Return an index with its levels in the order of the names, if these are theirs."""
    if not isinstance(index, pd.MultiIndex) or None in names:
        return index
    if set(index.names) != set(names):
        return index
    return index.reorder_levels(names)


def find_documents(**sources: object) -> Objects | None:
    """Return the document of each row: docno or doc_id of the first object with one.

    They are an index level or a column.

    The names of the objects are used in error messages.
    """
    for source, rows in sources.items():
        documents = _level_or_column(as_pandas(rows), *DOCUMENT_COLUMNS)
        if documents is not None:
            return identifiers(pd.Series(documents, name=DOCUMENT_COLUMNS[0]), source)
    return None


def find_column(name: str, *sources: object) -> NDArray[Any] | None:
    """Return the index level or the column `name` of the first object that has one, or None."""
    for rows in sources:
        column = _level_or_column(as_pandas(rows), name)
        if column is not None:
            return column
    return None


def _level_or_column(rows: object, *names: str) -> NDArray[Any] | None:
    """Return the index level or column of a pandas object with the first name that it has."""
    for name in names:
        level = _index_level(rows, name)
        if level is not None:
            return level
        if isinstance(rows, pd.DataFrame) and name in rows.columns:
            return rows[name].to_numpy()
    return None


def _index_level(rows: object, *names: str) -> NDArray[Any] | None:
    """Return the index level of a pandas object with the first of the names that it has."""
    index = getattr(rows, "index", None)
    if not isinstance(index, pd.Index):  # lists have a method `index`
        return None
    for name in names:
        if name in index.names:
            return index.get_level_values(name).to_numpy()
    return None


def check_same_documents(first: str, first_rows: object, second: str, second_rows: object) -> None:
    """Raise an error if two objects name different documents of their rows.

    Index levels and columns are compared that have labels for documents, or any texts. The objects
    are called `first` and `second` in the message.
    """
    first_frame = as_pandas(first_rows)
    second_frame = as_pandas(second_rows)
    first_columns = _document_columns(first_frame)
    second_columns = _document_columns(second_frame)
    # Columns with equal labels for documents must have equal elements.
    for column, other in product(first_columns, second_columns):
        if _have_document_label(column, other):
            label = str(column.label)
            check_same_names(label, first, column.documents, second, other.documents)
    # Others may hold anything. But if two have the same texts in a different order, so are the
    # rows.
    for column, other in product(first_columns, second_columns):
        _check_arrangement(first, column, second, other)
    # One object may have texts such as q1_d1, and the other one the columns qid and docno.
    second_joined = _joined_columns(second_frame, first_columns)
    for column, other in product(first_columns, second_joined):
        _check_arrangement(first, column, second, other)
    first_joined = _joined_columns(first_frame, second_columns)
    for column, other in product(first_joined, second_columns):
        _check_arrangement(first, column, second, other)


def _have_document_label(column: _DocumentColumn, other: _DocumentColumn) -> bool:
    """Return whether the labels of two columns tell that both have the same names of documents.

    The columns docno and doc_id do. So do two columns docid, but not docid and docno: a docid may
    be another name of a document, such as its number in an index.
    """
    if column.label in DOCUMENT_COLUMNS and other.label in DOCUMENT_COLUMNS:
        return True
    has_equal_label = column.label == other.label
    return has_equal_label and column.label in _OTHER_DOCUMENTS


def _check_arrangement(
    first: str, column: _DocumentColumn, second: str, other: _DocumentColumn
) -> None:
    """Raise an error if two columns have the same documents in a different order.

    Columns without a label for documents count only if no text is repeated: rows may have the same
    texts, such as categories, in another order.
    """
    if len(column.documents) != len(other.documents):
        return
    texts = pd.Index(_as_texts(column.documents))
    other_texts = pd.Index(_as_texts(other.documents))
    if not _is_rearranged(texts, other_texts):
        return
    if _is_document_label(column.label):
        label = str(column.label)
    elif _is_document_label(other.label):
        label = str(other.label)
    else:
        # Neither column is surely one of documents. Both have the same texts: if one has
        # repetitions, the other one has, too.
        if not texts.is_unique:
            return
        label = "document"
    check_same_names(label, first, texts.to_numpy(), second, other_texts.to_numpy())


def _joined_columns(rows: object, columns: list[_DocumentColumn]) -> list[_DocumentColumn]:
    """Return the queries and documents of rows as single texts, such as ``q1_d1`` or ``d1_q1``.

    They are joined by those separators that the first texts of `columns` contain.
    """
    queries = _level_or_column(rows, *QUERY_COLUMNS)
    documents = _level_or_column(rows, *DOCUMENT_COLUMNS)
    if queries is None or documents is None:
        return []
    query_texts = _as_texts(queries)
    document_texts = _as_texts(documents)
    first_texts = [str(column.documents[0]) for column in columns if len(column.documents)]
    joined = []
    for separator in _SEPARATORS:
        is_used = any(separator in text for text in first_texts)
        if is_used:
            query_first = query_texts + separator + document_texts
            document_first = document_texts + separator + query_texts
            joined.append(_DocumentColumn(None, query_first))
            joined.append(_DocumentColumn(None, document_first))
    return joined


def _document_columns(rows: object) -> list[_DocumentColumn]:
    """Return the index levels and columns of a pandas object that may name documents.

    These are the ones with a label for documents, and texts without a label for queries.
    """
    columns = []
    for label, values in _levels_and_columns(rows):
        has_document_label = _is_document_label(label)
        may_be_documents = label not in _QUERIES and are_texts(values)
        if has_document_label or may_be_documents:
            columns.append(_DocumentColumn(label, values.to_numpy()))
    return columns


def _levels_and_columns(rows: object) -> list[tuple[object, Any]]:
    """Return the index levels and the columns of a pandas object, each with its label."""
    labelled: list[tuple[object, Any]] = []
    index = getattr(rows, "index", None)
    if isinstance(index, pd.Index):
        # A flat index of tuples, such as (qid, docno), has one level per element of these.
        is_flat = not isinstance(index, pd.MultiIndex)
        if is_flat and len(index) and isinstance(index[0], tuple):
            index = pd.MultiIndex.from_tuples(index)
        for level, label in enumerate(index.names):
            labelled.append((label, index.get_level_values(level)))
    if isinstance(rows, pd.DataFrame):
        labelled += rows.items()
    return labelled


def _is_document_label(label: object) -> bool:
    """Return whether an index level or column has a label for documents, in any spelling."""
    return isinstance(label, str) and spelling(label) in DOCUMENT_SPELLINGS


def are_texts(values: Any) -> bool:
    """Return whether an index level or a column contains texts only."""
    if pd.api.types.is_numeric_dtype(values.dtype):
        return False
    if isinstance(values.dtype, pd.CategoricalDtype):
        distinct = values.dtype.categories
    else:
        distinct = values
    return pd.api.types.infer_dtype(distinct, skipna=True) == "string"


def _as_texts(names: NDArray[Any]) -> Objects:
    """Return names of queries or documents as strings; missing ones are empty.

    Whole numbers that were read as floats, as beside missing ones, have no decimals: ``3.0`` is
    ``"3"``.
    """
    codes, distinct = pd.factorize(names)
    if distinct.dtype.kind == "f":
        is_whole = np.isfinite(distinct) & (distinct == np.floor(distinct))
        if is_whole.all():
            distinct = distinct.astype(np.int64)
    texts = [str(name) for name in distinct.tolist()]
    texts.append("")  # the last text is that of missing names, whose code is -1
    return np.array(texts, dtype=object)[codes]


def check_same_names(
    what: str,
    first: str,
    names: NDArray[Any] | None,
    second: str,
    other_names: NDArray[Any] | None,
) -> None:
    """Raise an error if the rows of two objects have different queries or documents, `what`.

    Missing names are not compared, as they are reported when they are read; neither are arrays of
    different shapes. The objects are called `first` and `second` in the message.
    """
    if names is None or other_names is None:
        return
    if names.ndim != 1 or names.shape != other_names.shape:
        return
    texts = _as_texts(names)
    other_texts = _as_texts(other_names)
    is_known = pd.notna(names) & pd.notna(other_names)
    is_differing = (texts != other_texts) & is_known
    if not is_differing.any():
        return
    # One object may number the queries that the other one names, as XGBoost requires.
    if _are_renamed(texts[is_known], other_texts[is_known]):
        return
    row = np.flatnonzero(is_differing)[0]
    raise MultiAspectError(
        f"expected {first} and {second} to have the same {what} in each row, got {texts[row]} "
        f"and {other_texts[row]} in row {row} (counted from 0); rows are matched by position: sort "
        "the rows of both in the same way"
    )


def _are_renamed(names: Objects, other_names: Objects) -> bool:
    """Return whether names have no element in common and correspond one to one.

    One of the two may number the names of the other, as XGBoost requires of queries.
    """
    distinct = set(names)
    other_distinct = set(other_names)
    if distinct & other_distinct:
        return False
    pairs = set(zip(names, other_names, strict=True))
    return len(pairs) == len(distinct) == len(other_distinct)
