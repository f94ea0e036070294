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
    """Return the features as a pandas frame without the columns qid and of a saved index, or as an array."""
    frame = to_pandas(X)
    if frame is not None:
        return frame[
            [column for column in frame.columns if column != "qid" and not is_saved_index(column)]
        ]
    if hasattr(X, "shape"):
        rows = X
    else:
        rows = fill_masked(X)
    if not rows.shape:
        raise MultiAspectError(f"X: expected one row of features per document, got {shown(X)}")
    return rows


def feature_names(X: Any) -> Objects | None:
    """Return the names of the features, if all have names."""
    if isinstance(X, pd.DataFrame) and all(isinstance(column, str) for column in X.columns):
        return np.asarray(X.columns, dtype=object)
    return None


def check_feature_names(X: Any, known: Objects | None, what: str, remedy: str) -> None:
    """Raise an error if a frame has other features than those known, or another order, which LightGBM accepts."""
    if known is not None and isinstance(X, pd.DataFrame) and list(X.columns) != list(known):
        raise MultiAspectError(
            f"{what}: expected the features of fit in the same order, {choices(known)}, got "
            f"{choices(X.columns)}; select them as in X[{remedy}]"
        )


def warn_of_features(X: Any, labels: pd.DataFrame, queries: NDArray[Any]) -> None:
    """Warn about features that are the labels of an aspect, or the queries.

    Columns of frames have names, so that features of queries are intended: there, only the query
    ids count.
    """
    if getattr(X, "ndim", 0) != 2 or hasattr(X, "toarray"):
        return
    is_named = hasattr(X, "columns")
    if is_named:
        features = X
    else:
        features = pd.DataFrame(np.asarray(X))
    varied = {name: labels[name].to_numpy() for name in labels if labels[name].nunique() > 1}
    codes, distinct = pd.factorize(queries)
    _, first = np.unique(codes, return_index=True)
    may_tell_queries = (np.bincount(codes) > 1).sum() >= _FEWEST_QUERIES
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce").to_numpy()
    for name, column in features.items():
        values = np.asarray(column)
        if values.dtype.kind not in "biufO":
            continue
        for aspect, label in varied.items():
            if np.array_equal(values, label):
                warn(
                    f"the column {name} of X equals the labels of {aspect}, so the model sees what "
                    "it should predict: drop it from X"
                )
        if not may_tell_queries or not _has_value_per_query(values, codes, first):
            continue
        ids = distinct if values.dtype.kind == "O" else numbers
        if not is_named or name in RUN_QUERY_COLUMNS or np.array_equal(values[first], ids):
            warn(
                f"the column {name} of X looks like the query id, and is learnt as a feature "
                "(it has one value per query, and all differ): drop it from X"
            )


def _has_value_per_query(values: NDArray[Any], codes: NDArray[Any], first: NDArray[Any]) -> bool:
    """Return whether a feature is constant within queries and differs between them.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        The feature.
    codes : ndarray of int, shape (n_rows,)
        The query of each row.
    first : ndarray of int, shape (n_queries,)
        The first row of each query.
    """
    by_query = values[first]
    are_distinct = len(set(by_query.tolist())) == len(first)
    return are_distinct and bool((by_query[codes] == values).all())
