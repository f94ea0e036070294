"""Pareto fronts of searches with several scorers, and the choice of a setting on the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import count, real
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices
from ..evaluation.labels import measure_named
from ..integration.aggregators import lower_aggregate_is_better
from ..kernels.pareto import on_front
from .labels import as_numbers

__all__ = ["FrontChoice", "pareto_front"]

_MEAN, _SPLIT = "mean_test_", "_test_"


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores of candidates."""

    #: Parameters of the candidates.
    params: pd.DataFrame
    metrics: list[str]
    #: Mean scores, shape (n_candidates, n_metrics); NaN for candidates that failed.
    means: Floats
    #: Scores per split, shape (n_splits, n_candidates, n_metrics), or None.
    splits: Floats | None


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
        return _Scores(pd.DataFrame(results)[others], names, means, None)
    params = pd.DataFrame(
        {name: list(results[name]) for name in columns if name.startswith("param_")}, index=range(len(means))
    )
    n_splits = sum(f"split{place}{_SPLIT}{names[0]}" in results for place in range(len(columns)))
    splits = [
        np.column_stack([as_numbers(results[f"split{place}{_SPLIT}{name}"], name) for name in names])
        for place in range(n_splits)
    ]
    if not splits:
        return _Scores(params, names, means, None)
    # A candidate that failed on one split failed, also in samples without that split.
    failed = np.isnan(means).any(axis=1, keepdims=True)
    return _Scores(params, names, means, np.where(failed, np.nan, np.stack(splits)))


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
    results: Any, metrics: Sequence[str] | None = None, *, n_resamples: int = 1000, seed: int = 0
) -> pd.DataFrame:
    """Tell which settings of a search with several scorers are not dominated by another.

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
    n_resamples : int, default 1000
        Number of bootstrap samples of the splits.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    DataFrame
        One row per setting, in the order of ``cv_results_``, with its parameters, the mean score of each metric,
        the bool ``on_front``, and for searches ``probability``: the fraction of bootstrap samples of the splits in
        which the setting is on the front. Settings that failed (NaN) are never on the front.

    Raises
    ------
    MultiAspectError
        If there are fewer than two metrics, a metric is unknown, or a score is infinite.

    Notes
    -----
    The bootstrap resamples splits, of which there should be ten or more: see `RepeatedQueryKFold`. Splits of
    repeated cross-validation share queries, so probabilities are closer to 0 and 1 than for independent data.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> table = pd.DataFrame({"alpha": [1, 2, 3], "relevance": [0.5, 0.4, 0.3], "credibility": [0.1, 0.3, 0.2]})
    >>> ma.pareto_front(table, ["relevance", "credibility"])
       alpha  relevance  credibility  on_front
    0      1        0.5          0.1      True
    1      2        0.4          0.3      True
    2      3        0.3          0.2     False
    """
    scores = _read(results, metrics)
    number, seed = count("n_resamples")(n_resamples), count("seed", low=0)(seed)
    table = scores.params.copy()
    for name, values in zip(scores.metrics, scores.means.T, strict=True):
        table[name] = values
    table["on_front"] = on_front(scores.means)
    if scores.splits is not None:
        rng = np.random.default_rng(seed)
        times = np.zeros(len(table))
        for _ in range(number):
            drawn = rng.integers(len(scores.splits), size=len(scores.splits))
            times += on_front(scores.splits[drawn].mean(axis=0))
        table["probability"] = times / number
    return table


def _knee(scores: Floats) -> Floats:
    """Return the mean of the metrics, scaled to [0, 1] over the front; -inf for rows that are not on it."""
    front = on_front(scores)
    low, high = scores[front].min(axis=0), scores[front].max(axis=0)
    scaled = (scores - low) / np.where(high > low, high - low, 1.0)
    return np.where(front, scaled.mean(axis=1), -np.inf)


class FrontChoice:
    """Choose a setting among those of a search with several scorers, for its `refit` parameter.

    Parameters
    ----------
    weights : dict of str to float, optional
        Choose the maximum weighted mean of these metrics. By default, choose the knee of the front: the
        setting with the highest mean of the metrics after these are scaled to [0, 1] over the front. It is the
        furthest from the plane through the settings that are best on one metric.
    at_least : dict of str to float, optional
        Consider only settings that score at least this on the given metrics, such as a baseline's credibility.
    metrics : sequence of str, optional
        The metrics, as in `pareto_front`.

    Raises
    ------
    MultiAspectError
        When created: if weights or limits are not numbers, or no weight is positive. When called: if a metric is
        unknown, or no setting meets the limits.

    Notes
    -----
    The mean scores on the splits of the search select the setting and overestimate its values: evaluate it on
    other queries.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> metrics = ["relevance", "credibility"]
    >>> table = pd.DataFrame([[0.5, 0.1], [0.45, 0.3], [0.4, 0.35]], columns=metrics)
    >>> ma.FrontChoice(metrics=metrics)(table)
    1
    >>> ma.FrontChoice(weights={"relevance": 9, "credibility": 1}, metrics=metrics)(table)
    0
    >>> ma.FrontChoice(weights={"relevance": 1}, at_least={"credibility": 0.35}, metrics=metrics)(table)
    2

    In a search, pass ``scoring={"relevance": ..., "credibility": ...}`` and ``refit=ma.FrontChoice()``.
    """

    def __init__(
        self,
        weights: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        metrics: Sequence[str] | None = None,
    ) -> None:
        self.weights = None if weights is None else _numbers("weights", weights, low=0)
        self.at_least = _numbers("at_least", at_least or {}, low=-np.inf)
        self.metrics = metrics
        if self.weights is not None and not any(self.weights.values()):
            raise MultiAspectError(f"weights: expected at least one positive number, got {self.weights}")

    def __repr__(self) -> str:
        return f"FrontChoice(weights={self.weights}, at_least={self.at_least}, metrics={self.metrics})"

    def __call__(self, results: Any) -> int:
        """Return the index of the chosen setting.

        Parameters
        ----------
        results : dict or DataFrame
            ``cv_results_``, or a table with one column per metric.

        Returns
        -------
        int
            The first of equally good settings.
        """
        scores = _read(results, self.metrics)
        unknown = [name for name in {**(self.weights or {}), **self.at_least} if name not in scores.metrics]
        if unknown:
            raise MultiAspectError(f"unknown metric {choices(unknown)}: expected {choices(scores.metrics)}")
        column = dict(zip(scores.metrics, scores.means.T, strict=True))
        allowed = ~np.isnan(scores.means).any(axis=1)
        if not allowed.any():
            raise MultiAspectError("every setting failed: each has a score of NaN")
        for name, limit in self.at_least.items():
            enough = allowed & (column[name] >= limit)
            if not enough.any():
                raise MultiAspectError(
                    f"at_least: no setting scores at least {limit:g} on {name}; the maximum of those that meet the "
                    f"other limits is {column[name][allowed].max():g}"
                )
            allowed = enough
        if self.weights is None:
            value = _knee(scores.means[allowed])
        else:
            value = np.sum([weight * column[name][allowed] for name, weight in self.weights.items()], axis=0)
        return int(np.flatnonzero(allowed)[np.argmax(value)])


def _numbers(name: str, given: object, *, low: float) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise MultiAspectError(f"{name}: expected a dict of metrics to numbers, got {given!r}")
    return {str(key): real(f"{name} of {key}", low=low)(value) for key, value in given.items()}
