"""Features of training data: their names, and features that give the labels or the queries away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Objects
from ..collection.columns import RUN_QUERY_COLUMNS
from ..collection.other_libraries import is_saved_index, to_pandas
from ..errors import MultiAspectError, choices, shown, warn
from .arrays import fill_masked

#: Minimum number of queries with several rows; with fewer, a feature may distinguish them by
#: chance.
_FEWEST_QUERIES = 10


def read_features(X: Any) -> Any:
    """Return the features as an array, or as a frame without qid and a saved index."""
    frame = to_pandas(X)
    if frame is not None:
        is_feature = [column != "qid" and not is_saved_index(column) for column in frame.columns]
        return frame.loc[:, is_feature]
    # Arrays and sparse matrices have a shape and stay as they are; lists have none.
    if hasattr(X, "shape"):
        rows = X
    else:
        rows = fill_masked(X)
    is_single_value = not rows.shape
    if is_single_value:
        raise MultiAspectError(f"X: expected one row of features per document, got {shown(X)}")
    return rows


def feature_names(X: Any) -> Objects | None:
    """Return the names of the columns, or None if X is no frame or not all names are texts."""
    if not isinstance(X, pd.DataFrame):
        return None
    have_names = all(isinstance(column, str) for column in X.columns)
    if not have_names:
        return None
    return np.asarray(X.columns, dtype=object)


def check_feature_names(X: Any, known: Objects | None, what: str, remedy: str) -> None:
    """Raise an error if a frame has other columns than the features of fit, or in another order.

    LightGBM accepts them in any order.

    Parameters
    ----------
    X : data frame or array
        The features; arrays have no names to check.
    known : ndarray of str, optional
        The names of the features of fit, if they have names.
    what : str
        The name of `X` in the message.
    remedy : str
        The expression with the columns to select, in the message.
    """
    if known is None or not isinstance(X, pd.DataFrame):
        return
    if list(X.columns) != list(known):
        raise MultiAspectError(
            f"{what}: expected the features of fit in the same order, {choices(known)}, got "
            f"{choices(X.columns)}; select them as in X[{remedy}]"
        )


def warn_of_features(X: Any, labels: pd.DataFrame, queries: NDArray[Any]) -> None:
    """Warn about features that are the labels of an aspect, or the queries.

    Parameters
    ----------
    X : data frame or array of shape (n_rows, n_features)
        The features. Sparse ones are not checked.
    labels : DataFrame of shape (n_rows, n_aspects)
        The labels.
    queries : ndarray of shape (n_rows,)
        The query of each row.
    """
    is_table = getattr(X, "ndim", 0) == 2
    is_sparse = hasattr(X, "toarray")
    if not is_table or is_sparse:
        return
    have_names = hasattr(X, "columns")
    if have_names:
        features = X
    else:
        features = pd.DataFrame(np.asarray(X))
    # A label that is the same in all rows equals constant features by chance.
    varied_aspects = [name for name in labels if labels[name].nunique() > 1]
    query_ids = _QueryIds(queries)
    for name, column in features.items():
        values = np.asarray(column)
        is_number_or_object = values.dtype.kind in "biufO"
        if not is_number_or_object:
            continue
        for aspect in varied_aspects:
            if np.array_equal(values, labels[aspect].to_numpy()):
                warn(
                    f"the column {name} of X equals the labels of {aspect}, so the model sees what "
                    "it should predict: drop it from X"
                )
        if _looks_like_query_id(name, values, query_ids, have_names):
            warn(
                f"the column {name} of X looks like the query id, and is learnt as a feature "
                "(it has one value per query, and all differ): drop it from X"
            )


def _looks_like_query_id(
    name: object, values: NDArray[Any], query_ids: _QueryIds, has_name: bool
) -> bool:
    """Return whether a feature has one value per query, and is not meant as a feature.

    `name` is its column, which has a name of its own (`has_name`) or is a number.
    """
    if not query_ids.are_told_apart_by(values):
        return False
    # A feature of queries that somebody has named, such as their frequency, is meant as one, unless
    # its name or its values are those of the id.
    is_id = name in RUN_QUERY_COLUMNS or query_ids.are_equal_to(values)
    return is_id or not has_name


class _QueryIds:
    """The query ids of rows, with which features are compared.

    Parameters
    ----------
    queries : ndarray of shape (n_rows,)
        The query of each row.
    """

    def __init__(self, queries: NDArray[Any]) -> None:
        #: The position of each row's query in `_distinct`, the distinct query ids.
        self._query, self._distinct = pd.factorize(queries)
        #: The distinct query ids as numbers, NaN for texts: features are numbers.
        self._numbers = pd.to_numeric(pd.Series(self._distinct), errors="coerce").to_numpy()
        #: The first row of each distinct query.
        _, self._first_rows = np.unique(self._query, return_index=True)
        n_rows_of_query = np.bincount(self._query)
        n_queries_of_several_rows = (n_rows_of_query > 1).sum()
        #: Whether a feature that is constant within queries is so by more than chance.
        self._are_enough = n_queries_of_several_rows >= _FEWEST_QUERIES

    def are_told_apart_by(self, values: NDArray[Any]) -> bool:
        """Return whether a feature is constant within queries, and differs between them.

        With few queries, this may be by chance: the result is False.
        """
        if not self._are_enough:
            return False
        value_per_query = values[self._first_rows]
        n_distinct = len(set(value_per_query.tolist()))
        if n_distinct < len(value_per_query):
            return False
        is_constant = value_per_query[self._query] == values
        return bool(is_constant.all())

    def are_equal_to(self, values: NDArray[Any]) -> bool:
        """Return whether a feature with one value per query is the query's id, also as number."""
        value_per_query = values[self._first_rows]
        if values.dtype.kind == "O":
            return np.array_equal(value_per_query, self._distinct)
        return np.array_equal(value_per_query, self._numbers)
