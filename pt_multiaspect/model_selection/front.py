"""Pareto fronts of searches with several scorers, and the choice of a setting on the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import real
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices
from ..evaluation.labels import measure_named
from ..integration.aggregators import lower_aggregate_is_better
from ..kernels.pareto import on_front
from .rows import as_numbers

__all__ = ["pareto_front"]

_MEAN = "mean_test_"


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores of candidates."""

    #: Parameters of the candidates.
    params: pd.DataFrame
    metrics: list[str]
    #: Mean scores, shape (n_candidates, n_metrics); NaN for candidates that failed.
    means: Floats


def _read(results: Any, metrics: Sequence[str] | None) -> _Scores:
    """Read a fitted search, its ``cv_results_``, or a table with one column per metric."""
    results = as_pandas(getattr(results, "cv_results_", results))
    if not isinstance(results, Mapping | pd.DataFrame):
        raise MultiAspectError(
            f"expected a fitted search, its cv_results_, or a data frame, got {type(results).__name__}"
        )
    columns = [str(name) for name in results]
    searched = any(name.startswith(_MEAN) for name in columns)
    known = [name.removeprefix(_MEAN) for name in columns if name.startswith(_MEAN)] if searched else columns
    if metrics is None and not searched:
        raise MultiAspectError(f"expected metrics, the columns of the scores; columns: {choices(columns)}")
    if isinstance(metrics, str):
        raise MultiAspectError(f"metrics: expected a list of at least two names, got {metrics!r}")
    names = known if metrics is None else list(metrics)
    if not searched:
        _check_directions(results, names)
    missing = [name for name in names if name not in known]
    if missing or len(set(names)) < max(len(names), 2):
        raise MultiAspectError(
            f"metrics: expected at least two different ones of {choices(known)}, got {choices(names)}; a search "
            "has several if its scoring is a dict of scorers"
        )
    prefix = _MEAN if searched else ""
    means = np.column_stack([as_numbers(results[prefix + name], name) for name in names])
    if np.isinf(means).any() or not len(means):
        raise MultiAspectError("expected finite scores of at least one candidate (or NaN where one failed)")
    if not searched:
        others = [name for name in columns if name not in names]
        return _Scores(pd.DataFrame(results)[others], names, means)
    params = pd.DataFrame(
        {name: list(results[name]) for name in columns if name.startswith("param_")}, index=range(len(means))
    )
    return _Scores(params, names, means)


def _check_directions(table: Any, names: Sequence[str]) -> None:
    """Raise an error for columns of a table that are named as a measure for which lower is better."""
    for name in names:
        # Negated already, as by AspectFusion.sweep.
        positive = name in table and (as_numbers(table[name], name) > 0).any()
        if positive and lower_aggregate_is_better(measure_named(name)):
            raise MultiAspectError(
                f"expected metrics for which higher is better, but {name} is lower-is-better: negate it, as in "
                f"table.assign(negated=-table[{name!r}]), and use 'negated' as the metric"
            )


def pareto_front(
    results: Any,
    metrics: Sequence[str] | None = None,
    *,
    choose: str | Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
) -> pd.DataFrame | int:
    """Tell which settings of a search with several scorers are not dominated by another, or choose one of them.

    A setting is dominated if another scores at least as high on all metrics and higher on one. Scores that differ
    by rounding errors are equal.

    Parameters
    ----------
    results : fitted search, dict or DataFrame
        A fitted `GridSearchCV` (or another search) with a dict of scorers, its ``cv_results_``, or a table with
        one row per setting, such as the result of `AspectFusion.sweep`. Higher scores must be better, as those of
        `ranking_scorer` are.
    metrics : sequence of str, optional
        Names of the scorers, or columns of the table. By default, all scorers of the search; required for a
        table.
    choose : 'knee' or dict of str to float, optional
        Choose a setting: by the maximum weighted mean of the metrics, given the weights, or the knee of the front,
        which has the highest mean of the metrics after these are scaled to [0, 1] over the front.
    at_least : dict of str to float, optional
        Choose among the settings that score at least this on the given metrics, such as a baseline's credibility.

    Returns
    -------
    DataFrame or int
        Without `choose`, one row per setting, in the order of ``cv_results_``, with its parameters, the mean score
        of each metric and the bool ``on_front``. Settings that failed (NaN) are never on the front. With `choose`,
        the position of the chosen setting, the first of equally good ones.

    Raises
    ------
    MultiAspectError
        If there are fewer than two metrics, a metric is unknown, a score is infinite, weights or limits are not
        numbers, or no setting meets the limits.

    Notes
    -----
    In a search, pass ``scoring=ranking_scorer({"relevance": ..., "credibility": ...})`` and
    ``refit=functools.partial(ma.pareto_front, choose="knee")``. The scores of the chosen setting selected it,
    so they are optimistic: evaluate it on other queries.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> metrics = ["relevance", "credibility"]
    >>> table = pd.DataFrame([[1, 0.5, 0.1], [2, 0.45, 0.3], [3, 0.3, 0.2]], columns=["alpha", *metrics])
    >>> ma.pareto_front(table, metrics)
       alpha  relevance  credibility  on_front
    0      1       0.50          0.1      True
    1      2       0.45          0.3      True
    2      3       0.30          0.2     False
    >>> ma.pareto_front(table, metrics, choose={"relevance": 9, "credibility": 1})
    0
    >>> ma.pareto_front(table, metrics, choose={"relevance": 1}, at_least={"credibility": 0.2})
    1
    """
    scores = _read(results, metrics)
    if choose is not None:
        return _chosen(scores, choose, _numbers("at_least", at_least or {}, low=-np.inf))
    if at_least is not None:
        raise MultiAspectError("at_least limits the settings to choose from: pass choose as well")
    table = scores.params.copy()
    for name, values in zip(scores.metrics, scores.means.T, strict=True):
        table[name] = values
    table["on_front"] = on_front(scores.means)
    return table


def _chosen(scores: _Scores, choose: str | Mapping[str, float], limits: dict[str, float]) -> int:
    """Return the position of the chosen setting."""
    if isinstance(choose, str) and choose != "knee":
        raise MultiAspectError(f"choose: expected 'knee' or a dict of weights, got {choose!r}")
    weights = None if isinstance(choose, str) else _numbers("choose", choose, low=0)
    if weights is not None and not any(weights.values()):
        raise MultiAspectError(f"choose: expected at least one positive weight, got {weights}")
    unknown = [name for name in {**(weights or {}), **limits} if name not in scores.metrics]
    if unknown:
        raise MultiAspectError(f"unknown metric {choices(unknown)}: expected {choices(scores.metrics)}")
    column = dict(zip(scores.metrics, scores.means.T, strict=True))
    allowed = ~np.isnan(scores.means).any(axis=1)
    if not allowed.any():
        raise MultiAspectError("every setting failed: each has a score of NaN")
    for name, limit in limits.items():
        enough = allowed & (column[name] >= limit)
        if not enough.any():
            raise MultiAspectError(
                f"at_least: no setting scores at least {limit:g} on {name}; the maximum of those that meet the "
                f"other limits is {column[name][allowed].max():g}"
            )
        allowed = enough
    if weights is None:
        value = _knee(scores.means[allowed])
    else:
        value = np.sum([weight * column[name][allowed] for name, weight in weights.items()], axis=0)
    return int(np.flatnonzero(allowed)[np.argmax(value)])


def _knee(scores: Floats) -> Floats:
    """Return the mean of the metrics, scaled to [0, 1] over the front; -inf for rows that are not on it."""
    front = on_front(scores)
    low, high = scores[front].min(axis=0), scores[front].max(axis=0)
    scaled = (scores - low) / np.where(high > low, high - low, 1.0)
    return np.where(front, scaled.mean(axis=1), -np.inf)


def _numbers(name: str, given: object, *, low: float) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise MultiAspectError(f"{name}: expected a dict of metrics to numbers, got {given!r}")
    return {str(key): real(f"{name} of {key}", low=low)(value) for key, value in given.items()}
