"""Pareto fronts of searches with several scorers, and the choice of a setting on the front."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._validation import real
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices, did_you_mean, refuse_unknown, shown
from ..evaluation.long_frames import find_measure
from ..integration.aggregators import lower_aggregate_is_better
from ..kernels.pareto import is_on_front
from .arrays import as_numbers

_MEAN = "mean_test_"


def _read_results(results: Any, metrics: Sequence[str] | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the parameters and the scores of a fitted search, its ``cv_results_``, or a table of settings."""
    results = as_pandas(getattr(results, "cv_results_", results))
    if not isinstance(results, Mapping | pd.DataFrame):
        raise MultiAspectError(
            f"expected a fitted search, its cv_results_, or a data frame, got {type(results).__name__}"
        )
    searched = {str(name).removeprefix(_MEAN): name for name in results if str(name).startswith(_MEAN)}
    known = searched or {str(name): name for name in results}
    if metrics is None and not searched:
        raise MultiAspectError(f"expected metrics, the columns of the scores; columns: {choices(known)}")
    if metrics is None:
        names = list(known)
    else:
        several = isinstance(metrics, Iterable) and not isinstance(metrics, str)
        names = [str(name) for name in (metrics if several else [metrics])]
    if not set(names) <= set(known) or len(set(names)) < max(len(names), 2):
        raise MultiAspectError(
            f"metrics: expected at least two different ones of {choices(known)}, got {choices(names)}; a search "
            f"has several if its scoring is a dict of scorers{did_you_mean(set(names) - set(known), known)}"
        )
    scores = pd.DataFrame({name: as_numbers(results[known[name]], name) for name in names})
    if np.isinf(scores).any(axis=None) or scores.empty:
        raise MultiAspectError("expected finite scores of at least one candidate (or NaN where one failed)")
    if searched:
        searched_params = {name: list(results[name]) for name in results if str(name).startswith("param_")}
        return pd.DataFrame(searched_params, index=scores.index), scores
    for name in names:
        # Values that are never positive are already negated, as by AspectFusion.sweep.
        if (scores[name] > 0).any() and lower_aggregate_is_better(find_measure(name)):
            raise MultiAspectError(
                f"expected metrics for which higher is better, but {name} is lower-is-better: negate it, as in "
                f"table.assign(negated=-table[{name!r}]), and use 'negated' as the metric"
            )
    params = pd.DataFrame(results).drop(columns=[known[name] for name in names])
    return params, scores.set_axis(params.index)


def pareto_front(
    results: Any,
    metrics: Sequence[str] | None = None,
    *,
    choose: str | Mapping[str, float] | None = None,
    at_least: Mapping[str, float] | None = None,
) -> pd.DataFrame | int:
    """Return all settings of a search, with those on the Pareto front marked, or the position of a chosen one.

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
        which has the highest mean of the metrics after these are scaled to [0, 1] over the front. With `at_least`,
        the front is that of the settings that reach the limits.
    at_least : dict of str to float, optional
        Choose among the settings with at least these scores on the given metrics, such as a baseline's credibility.

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
    ``refit=functools.partial(ma.pareto_front, choose="knee")``. The scores of the chosen setting were used to
    select it, so they are optimistic: evaluate it on other queries.

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
    params, scores = _read_results(results, metrics)
    if choose is not None:
        scores = scores.reset_index(drop=True)
        limits = {} if at_least is None else _metric_numbers("at_least", at_least, scores, low=-np.inf)
        return _choose_setting(scores, choose, limits)
    if at_least is not None:
        raise MultiAspectError("at_least limits the settings to choose from: pass choose as well")
    return pd.concat([params, scores.assign(on_front=is_on_front(scores.to_numpy()))], axis=1)


def _choose_setting(scores: pd.DataFrame, choose: str | Mapping[str, float], limits: dict[str, float]) -> int:
    """Return the position of the chosen setting."""
    if isinstance(choose, str) and choose != "knee":
        raise MultiAspectError(f"choose: expected 'knee' or a dict of weights, got {shown(choose)}")
    weights = None if isinstance(choose, str) else _metric_numbers("choose", choose, scores, low=0)
    if weights is not None and not any(weights.values()):
        raise MultiAspectError(f"choose: expected at least one positive weight, got {weights}")
    allowed = scores.dropna()
    if allowed.empty:
        raise MultiAspectError("every setting failed: all scores are NaN")
    for name, limit in limits.items():
        maximum = allowed[name].max()
        if maximum < limit:
            raise MultiAspectError(
                f"at_least: no setting scores at least {limit:g} on {name}; the maximum of those that meet the "
                f"other limits is {maximum:g}"
            )
        allowed = allowed[allowed[name] >= limit]
    values = allowed.to_numpy()
    if weights is None:
        front = is_on_front(values)
        low, high = values[front].min(axis=0), values[front].max(axis=0)
        scaled = (values - low) / np.where(high > low, high - low, 1.0)
        worth = np.where(front, scaled.mean(axis=1), -np.inf)
    else:
        worth = np.sum([weight * allowed[name].to_numpy() for name, weight in weights.items()], axis=0)
    return int(allowed.index[int(np.argmax(worth))])


def _metric_numbers(parameter: str, given: object, scores: pd.DataFrame, *, low: float) -> dict[str, float]:
    """Return numbers for some of the metrics."""
    if not isinstance(given, Mapping):
        raise MultiAspectError(f"{parameter}: expected a dict of metrics to numbers, got {shown(given)}")
    refuse_unknown(given, scores, "metrics", parameter)
    return {name: real(f"{parameter} of {name}", low=low)(value) for name, value in given.items()}
