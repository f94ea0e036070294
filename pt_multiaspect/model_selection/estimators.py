"""What estimators of scikit-learn and boosting libraries are, and what they are given."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline

from .._typing import Floats
from ..collection.frames import plain_column
from ..errors import MultiAspectError, choices, warn_once
from ..kernels.forms import Log2
from ..kernels.hits import descending, positions, sums
from ..measures import Measure

#: Maximum label for the default gains 2^label - 1 of LightGBM and XGBoost.
_LARGEST_DEFAULT_LABEL = 30

#: LightGBM's ``label_gain`` has one entry per integer up to the maximum label; this limits its length.
_LARGEST_KEPT_LABEL = 10_000

#: LightGBM's default of ``lambdarank_truncation_level``.
_TRUNCATION_LEVEL = 30

#: With fewer queries, a feature may distinguish them by chance.
_FEWEST_QUERIES = 10


def routing_enabled() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def takes_queries(method: Any) -> bool:
    """Return whether a method has a parameter `qid`, such as the predict method of `AspectFusion`."""
    try:
        return "qid" in inspect.signature(method).parameters
    except ValueError:  # a builtin without signature
        return False


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


def queries_of_groups(sizes: Any, n_rows: int, what: str) -> NDArray[np.intp]:
    """Return the query of each row, given the sizes of the queries."""
    given = np.asarray(plain_column(sizes))
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any() or given.sum() != n_rows:
        raise MultiAspectError(
            f"{what}: expected the numbers of rows of the queries, in order, which sum to the {n_rows} rows of the "
            f"set, got {choices(given.ravel()[:5])}{', …' if given.size > 5 else ''} (sum: {given.sum()})"
        )
    return np.repeat(np.arange(len(given)), given)


def trained_rows(estimator: Any) -> dict[str, int]:
    """Return how many rows of each query an estimator of this package was trained on; empty if unknown."""
    trained = last_step(getattr(estimator, "best_estimator_", estimator))
    ranker = next(iter(getattr(trained, "rankers_", {}).values()), trained)  # of AspectFusion
    rows: dict[str, int] = getattr(ranker, "_rows_of_queries", {})
    return rows


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


def labels_for(
    estimator: Any, targets: list[Floats], measure: Measure, *, weighted: bool = False
) -> list[NDArray[Any]]:
    """Return the targets in the form a ranker or regressor expects, after setting its gains accordingly.

    If `weighted`, the target itself is the gain, also where it is a grade.
    """
    kind = family_of(estimator)
    if kind is None:
        return list(targets)
    target = np.concatenate(targets)
    largest = target.max(initial=0.0)
    whole = bool((target == np.floor(target)).all())
    if whole and largest <= _LARGEST_DEFAULT_LABEL and measure.GAIN_IS_GRADE and not weighted:
        return [each.astype(np.int64) for each in targets]
    gain = np.unique(np.append(target, 0.0))
    if kind == "xgboost":
        if estimator.get_params().get("ndcg_exp_gain") is None:
            estimator.set_params(ndcg_exp_gain=False)
        if whole or not estimator.get_params()["ndcg_exp_gain"]:
            return list(targets)
        return [np.searchsorted(gain, each) for each in targets]
    is_label = whole and largest <= _LARGEST_KEPT_LABEL
    if is_label:
        gain = np.arange(int(largest) + 1, dtype=np.float64)
    if estimator.get_params().get("label_gain") is None:
        estimator.set_params(label_gain=gain.tolist())
    elif weighted:
        raise MultiAspectError(
            f"label_gain: query_weights=True requires the gains that {measure} sums; leave label_gain unset"
        )
    elif not is_label and not measure.GAIN_IS_GRADE:
        raise MultiAspectError(
            f"label_gain: LightGBM receives codes for the fractional labels of {measure}, whose gains "
            "label_gain would replace; leave it unset"
        )
    return [np.searchsorted(gain, each).astype(np.int64) for each in targets]


def lambdarank_weights(estimator: Any, gain: Floats, codes: NDArray[np.intp], cutoff: int | None) -> Floats:
    """Return a weight per row that cancels lambdarank's normalisation of each query, with a mean of 1 over queries.

    LightGBM divides the gradients of a query by its ideal DCG at the truncation level.

    Parameters
    ----------
    estimator : LGBMRanker
        Its normalisation is disabled, and its truncation level is set.
    gain : ndarray of float, shape (n_rows,)
        The gain of each row.
    codes : ndarray of int, shape (n_rows,)
        The query of each row, non-decreasing.
    cutoff : int or None
        The last rank that counts.
    """
    if family_of(estimator) != "lightgbm" or estimator.get_params().get("objective") not in (None, "lambdarank"):
        raise MultiAspectError(
            "query_weights=True: expected LightGBM's LGBMRanker with the objective lambdarank, got "
            f"{type(estimator).__name__}; use query_weights=False"
        )
    given = estimator.get_params()
    if given.get("lambdarank_norm"):
        raise MultiAspectError("query_weights=True requires lambdarank_norm=False, got True; leave it unset")
    needed = int(np.bincount(codes).max()) if cutoff is None else cutoff
    level = given.get("lambdarank_truncation_level")
    if level is None:
        level = max(_TRUNCATION_LEVEL, needed)
    elif level < needed:
        raise MultiAspectError(
            f"query_weights=True: expected a lambdarank_truncation_level of at least {needed}, the number of ranks "
            f"that count, got {level}; leave it unset"
        )
    estimator.set_params(lambdarank_norm=False, lambdarank_truncation_level=level)
    order = descending(codes, gain)
    rank = positions(codes[order]) + 1
    discounted = np.where(rank <= level, gain[order] * Log2()(rank), 0.0)
    ideal = sums(codes[order], discounted, int(codes.max()) + 1)
    mean = ideal.mean()
    return (ideal / mean if mean > 0 else np.ones(len(ideal)))[codes]
