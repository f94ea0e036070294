"""What estimators of scikit-learn and boosting libraries are, and what they are given."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline

from ..errors import MultiAspectError, choices, warn_once

#: With fewer queries, a feature may distinguish them by chance.
_FEWEST_QUERIES = 10


def routing_enabled() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def query_parameter(estimator: Any) -> str | None:
    """The parameter of ``fit`` by which the estimator wants queries."""
    parameters = inspect.signature(last_step(estimator).fit).parameters
    # XGBoost takes both, and its group sizes are the older way.
    return next((name for name in ("qid", "group_id", "group") if name in parameters), None)


def family_of(estimator: Any) -> str | None:
    """Which library's ranker this is, of those that take whole labels only."""
    if query_parameter(estimator) is None:
        return None
    modules = {cls.__module__.partition(".")[0] for cls in type(estimator).__mro__}
    return next((name for name in ("lightgbm", "xgboost") if name in modules), None)


def of_evaluation_set(given: Any, place: int, n_sets: int, what: str) -> Any:
    """What is given for one of several evaluation sets, if anything is."""
    if given is None:
        return None
    if len(given) != n_sets:
        raise MultiAspectError(f"expected {what} as a list with one entry per set ({n_sets}), got {len(given)}")
    return given[place]


def warn_of_query_columns(X: Any, codes: NDArray[np.intp]) -> None:
    """Warn if the queries seem to be among the features."""
    named = isinstance(X, pd.DataFrame)
    columns = [column for column in X.columns if column == "qid"] if named else _query_columns(X, codes)
    if columns:
        warn_once(
            f"the column {choices(columns)} of X looks like the query id, and is learnt as a feature "
            "(it has one value in each query, and another in every other): drop it from X",
            key="queries among the features",
        )


def _query_columns(X: Any, codes: NDArray[np.intp]) -> list[int]:
    """Return the columns of an array that are constant within queries and distinct between at least ten."""
    n_queries = codes.max(initial=-1) + 1
    if not isinstance(X, np.ndarray) or X.ndim != 2 or (np.bincount(codes) > 1).sum() < _FEWEST_QUERIES:
        return []
    first = X[np.unique(codes, return_index=True)[1]]
    constant = np.flatnonzero((first[codes] == X).all(axis=0))
    return [int(column) for column in constant if len(pd.unique(first[:, column])) == n_queries]


def weight_per_query(weights: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    varying = np.flatnonzero(weights != np.repeat(weights[begins], np.diff(begins, append=len(codes))))
    if len(varying):
        raise MultiAspectError(
            "expected sample_weight to be constant within queries, as XGBoost's rankers use one weight per query; "
            f"it varies in {len(varying)} rows"
        )
    return weights[begins]
