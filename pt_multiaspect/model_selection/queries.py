"""The queries and documents of the rows of training data."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

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


def query_codes(queries: NDArray[Any]) -> tuple[Ints, Objects]:
    """Return the query of each row as a position in the sorted names of the queries, and these names."""
    check_present(queries, "value", "qid")
    codes, distinct = pd.factorize(queries)
    names = identifiers(pd.Series(distinct, name="value"), "qid")
    sorted_codes, sorted_names = pd.factorize(names, sort=True)
    return sorted_codes[codes], np.asarray(sorted_names, dtype=object)


def rows_per_query(queries: NDArray[Any]) -> dict[str, int]:
    """Return the number of rows of each query."""
    codes, names = query_codes(queries)
    return dict(zip(names.tolist(), np.bincount(codes).tolist(), strict=True))


def require_queries(
    owner: str,
    y: object,
    X: object,
    qid: object,
    reference: str = "y",
    how: str = "qid",
    **others: object,
) -> NDArray[Any]:
    """Return the query of each row, or raise an error that starts with `owner`; see `find_queries`."""
    queries = find_queries(y, X, qid, reference, **others)
    if queries is None:
        raise MultiAspectError(f"{owner} needs the query of every row: pass {how}, or {ADD_QID}")
    return queries


def find_queries(
    y: object, X: object, qid: object, reference: str = "y", **others: object
) -> NDArray[Any] | None:
    """Return the query of each row from `qid`, or from the index or a column qid (query_id) of y, or qid of X.

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
    queries = {name: _level_or_column(rows, "qid") for name, rows in frames.items()}
    if queries[reference] is None:
        queries[reference] = _level_or_column(frames[reference], *QUERY_COLUMNS)
    for name, rows in frames.items():
        if queries[name] is None:  # a column of this name may be a feature, but not an index level
            queries[name] = _index_level(rows, *QUERY_COLUMNS)
    for first, name in combinations(sources, 2):
        check_same_index(first, sources[first], name, sources[name])
        check_same_names("qid", first, queries[first], name, queries[name])
        check_same_documents(first, frames[first], name, frames[name])
    known = [named for named in (queries[reference], queries["X"]) if named is not None]
    if qid is None:
        if known:
            return known[0]
        return None
    passed = flatten_column(qid)
    if passed.ndim == 0:
        raise MultiAspectError(
            f"qid: expected the query of each row, such as a column, got {shown(qid)}"
        )
    for named in known:
        check_same_names("qid", "the index", named, "qid", passed)
    return passed


def check_same_index(
    first: str, source: object, name: str, rows: object, elements: str = "rows"
) -> None:
    """Raise an error if pandas objects have the same index in another order, as they are matched by position."""
    if _is_rearranged(getattr(source, "index", None), getattr(rows, "index", None)):
        raise MultiAspectError(
            f"the index of {name} has the elements of the index of {first} in a different order, "
            f"but {elements} are matched by position; sort the {elements} of both in the same way, "
            f"or pass {name}.to_numpy() if they already are"
        )


def _is_rearranged(index: object, other: object) -> bool:
    """Return whether two pandas indexes have the same elements, with equal counts, in a different order."""
    if not isinstance(index, pd.Index) or not isinstance(other, pd.Index):
        return False
    if (
        isinstance(other, pd.MultiIndex)
        and None not in index.names
        and set(index.names) == set(other.names)
    ):
        other = other.reorder_levels(list(index.names))
    if (
        len(index) != len(other)
        or index.nlevels != other.nlevels
        or not len(index)
        or index.equals(other)
    ):
        return False
    codes = pd.factorize(index.append(other))[0] + 1  # missing elements are 0
    first, second = codes[: len(index)], codes[len(index) :]
    return bool((first != second).any()) and np.array_equal(np.sort(first), np.sort(second))


def find_documents(**sources: object) -> Objects | None:
    """Return the document of each row: the index level or column docno (doc_id) of the first object with one."""
    for name, rows in sources.items():
        values = _level_or_column(as_pandas(rows), *DOCUMENT_COLUMNS)
        if values is not None:
            return identifiers(pd.Series(values, name=DOCUMENT_COLUMNS[0]), name)
    return None


def find_column(name: str, *sources: object) -> NDArray[Any] | None:
    """Return the index level or the column of this name, of the first object that has it."""
    for rows in sources:
        values = _level_or_column(as_pandas(rows), name)
        if values is not None:
            return values
    return None


def _level_or_column(rows: object, *names: str) -> NDArray[Any] | None:
    """Return the index level or the column of a pandas object with one of the names."""
    for name in names:
        level = _index_level(rows, name)
        if level is not None:
            return level
        if isinstance(rows, pd.DataFrame) and name in rows.columns:
            return rows[name].to_numpy()
    return None


def _index_level(rows: object, *names: str) -> NDArray[Any] | None:
    """Return the index level of a pandas object with one of the names."""
    index = getattr(rows, "index", None)  # also of frames that PyArrow tables become
    if isinstance(index, pd.Index):
        for name in names:
            if name in index.names:
                return index.get_level_values(name).to_numpy()
    return None


def check_same_documents(reference: str, first: object, name: str, second: object) -> None:
    """Raise an error if two objects name the documents of their rows, and rows have different documents.

    Index levels and columns of texts with other names name documents if they are a rearrangement of
    these, or of each other and without repetitions, or of the queries and documents as single
    texts, such as ``q1_d1``.
    """
    frame, other_frame = as_pandas(first), as_pandas(second)
    names, other_names = _document_names(frame), _document_names(other_frame)
    pairs = list(product(names, other_names))
    for (label, documents), (other_label, others) in pairs:
        are_named = label in DOCUMENT_COLUMNS and other_label in DOCUMENT_COLUMNS
        if are_named or (label == other_label and label in _OTHER_DOCUMENTS):
            check_same_names(str(label), reference, documents, name, others)
    joined = product(names, _joined_names(other_frame, names))
    other_joined = product(_joined_names(frame, other_names), other_names)
    for (label, documents), (other_label, others) in [*pairs, *joined, *other_joined]:
        if len(documents) != len(others):
            continue
        known = next(filter(_is_document_label, (label, other_label)), None)
        texts, other_texts = pd.Index(_as_texts(documents)), pd.Index(_as_texts(others))
        if (known is not None or texts.is_unique) and _is_rearranged(texts, other_texts):
            check_same_names(
                str(known or "document"), reference, texts.to_numpy(), name, other_texts.to_numpy()
            )


def _joined_names(
    rows: object, others: list[tuple[object, NDArray[Any]]]
) -> list[tuple[object, NDArray[Any]]]:
    """Return the queries and documents of rows as single texts, such as ``q1_d1``.

    They are joined by those separators that texts of other rows contain.
    """
    queries = _level_or_column(rows, *QUERY_COLUMNS)
    documents = _level_or_column(rows, *DOCUMENT_COLUMNS)
    if queries is None or documents is None:
        return []
    query_texts, document_texts = _as_texts(queries), _as_texts(documents)
    examples = [str(texts[0]) for _, texts in others if len(texts)]
    joined: list[tuple[object, NDArray[Any]]] = []
    for separator in _SEPARATORS:
        if any(separator in example for example in examples):
            joined.append((None, query_texts + separator + document_texts))
            joined.append((None, document_texts + separator + query_texts))
    return joined


def _document_names(rows: object) -> list[tuple[object, NDArray[Any]]]:
    """Return the index levels and columns of a pandas object that may name documents, with their names."""
    columns: list[tuple[object, Any]] = []
    index = getattr(rows, "index", None)
    if isinstance(index, pd.Index):
        if len(index) and isinstance(index[0], tuple) and not isinstance(index, pd.MultiIndex):
            index = pd.MultiIndex.from_tuples(index)
        columns += [
            (label, index.get_level_values(level)) for level, label in enumerate(index.names)
        ]
    if isinstance(rows, pd.DataFrame):
        columns += rows.items()
    return [
        (label, values.to_numpy())
        for label, values in columns
        if _is_document_label(label) or (label not in _QUERIES and are_texts(values))
    ]


def _is_document_label(label: object) -> bool:
    """Return whether the name of an index level or column is one of those for documents, in any spelling."""
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
    """Return names of queries or documents as strings, with whole numbers as such; missing ones are empty."""
    codes, distinct = pd.factorize(names)
    if (
        distinct.dtype.kind == "f"
        and np.isfinite(distinct).all()
        and (distinct == np.floor(distinct)).all()
    ):
        distinct = distinct.astype(np.int64)
    texts = [str(name) for name in distinct.tolist()]
    return np.array([*texts, ""], dtype=object)[codes]  # the code of missing names is -1


def check_same_names(
    what: str, reference: str, names: NDArray[Any] | None, name: str, others: NDArray[Any] | None
) -> None:
    """Raise an error if the rows of two objects have different queries or documents, `what`.

    Missing names are reported when they are read.
    """
    if names is None or others is None or names.shape != others.shape or names.ndim != 1:
        return
    is_named = ~(pd.isna(names) | pd.isna(others))
    texts, other_texts = _as_texts(names), _as_texts(others)
    differing = np.flatnonzero((texts != other_texts) & is_named)
    if not len(differing):
        return
    # Names may be numbered in one of the two, as XGBoost requires of queries.
    distinct, other_distinct = set(texts[is_named]), set(other_texts[is_named])
    n_pairs = len(set(zip(texts[is_named], other_texts[is_named], strict=True)))
    if not distinct & other_distinct and n_pairs == len(distinct) == len(other_distinct):
        return
    row = differing[0]
    raise MultiAspectError(
        f"expected {reference} and {name} to have the same {what} in each row, got {texts[row]} "
        f"and {other_texts[row]} in row {row} (counted from 0); rows are matched by position: sort "
        "the rows of both in the same way"
    )
