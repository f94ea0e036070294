"""The queries and documents of the rows of training data."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Ints, Objects
from ..collection.columns import DOCUMENT_COLUMNS, QUERY_COLUMNS
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, shown
from ..strings.identifiers import check_present, identifiers
from .arrays import flatten_column

#: The remedy for rows without queries, after "pass qid, or".
ADD_QID = "add an index level or a column qid to y or X"


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
    owner: str, y: object, X: object, qid: object, reference: str = "y", how: str = "qid", **others: object
) -> NDArray[Any]:
    """Return the query of each row, or raise an error that starts with `owner`; see `find_queries`."""
    queries = find_queries(y, X, qid, reference, **others)
    if queries is None:
        raise MultiAspectError(f"{owner} needs the query of every row: pass {how}, or {ADD_QID}")
    return queries


def find_queries(y: object, X: object, qid: object, reference: str = "y", **others: object) -> NDArray[Any] | None:
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
        If pandas objects have the same rows in another order, or a row has several queries.
    """
    sources = {reference: y, "X": X, "qid": qid, **others}
    queries = {name: _level_or_column(rows, "qid") for name, rows in sources.items()}
    if queries[reference] is None:  # as in qrels, where X may have a feature of this name
        queries[reference] = _level_or_column(y, *QUERY_COLUMNS)
    for (first, source), (name, rows) in combinations(sources.items(), 2):
        if _is_rearranged(getattr(source, "index", None), getattr(rows, "index", None)):
            raise MultiAspectError(
                f"the index of {name} has the elements of the index of {first} in a different order, but rows "
                "are matched by position; sort the rows of both in the same way, or pass "
                f"{name}.to_numpy() if they already are"
            )
        _check_same_queries(first, queries[first], name, queries[name])
    known = [named for named in (queries[reference], queries["X"]) if named is not None]
    if qid is None:
        return known[0] if known else None
    passed = flatten_column(qid)
    if passed.ndim == 0:
        raise MultiAspectError(f"qid: expected the query of each row, such as a column, got {shown(qid)}")
    for named in known:
        _check_same_queries("the index", named, "qid", passed)
    return passed


def _is_rearranged(index: object, other: object) -> bool:
    """Return whether two pandas indexes have the same elements, with equal counts, in a different order."""
    if not isinstance(index, pd.Index) or not isinstance(other, pd.Index):
        return False
    if len(index) != len(other) or index.nlevels != other.nlevels or not len(index) or index.equals(other):
        return False
    codes = pd.factorize(index.append(other))[0] + 1  # missing elements are 0
    first, second = codes[: len(index)], codes[len(index) :]
    return bool((first != second).any()) and np.array_equal(np.sort(first), np.sort(second))


def document_ids(source: object) -> Objects | None:
    """Return the index level or column docno of a pandas object or frame, as strings."""
    values = _level_or_column(source, *DOCUMENT_COLUMNS)
    return None if values is None else identifiers(pd.Series(values, name=DOCUMENT_COLUMNS[0]), "y")


def _level_or_column(source: object, *names: str) -> NDArray[Any] | None:
    """Return the index level or the column of a pandas object or frame with one of the names."""
    frame = to_pandas(source)  # PyArrow tables also keep the pandas index
    index = getattr(source if frame is None else frame, "index", None)
    for name in names:
        if isinstance(index, pd.Index) and name in index.names:
            return index.get_level_values(name).to_numpy()
        if frame is not None and name in frame.columns:
            return frame[name].to_numpy()
    return None


def _check_same_queries(
    reference: str, queries: NDArray[Any] | None, name: str, others: NDArray[Any] | None
) -> None:
    """Raise an error if the rows of two objects have different queries."""
    if queries is None or others is None or queries.shape != others.shape or queries.ndim != 1:
        return
    if pd.isna(queries).any() or pd.isna(others).any():
        return  # reported when the queries are read
    (codes, names), (other_codes, other_names) = query_codes(queries), query_codes(others)
    differing = np.flatnonzero(names[codes] != other_names[other_codes])
    if not len(differing):
        return
    n_pairs = len(np.unique(codes * len(other_names) + other_codes))
    # Queries may be numbered in one of the two, as XGBoost requires.
    if not set(names) & set(other_names) and n_pairs == len(names) == len(other_names):
        return
    row = differing[0]
    raise MultiAspectError(
        f"expected {reference} and {name} to have the same qid in each row, got {names[codes[row]]} and "
        f"{other_names[other_codes[row]]} in row {row} (counted from 0); rows are matched by position: sort the "
        "rows of both in the same way"
    )
