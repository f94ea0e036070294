"""Supported points: rankings that are best for weighted sums of linear measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import Floats, Ints
from ...bases import Term
from ...collection import Judgments
from ...errors import MultiAspectError
from ...kernels.best_ranking import best_ranking, is_by_sorting
from ...kernels.forms import Additive, Linear
from ...kernels.hits import ratio
from ...kernels.pareto import TOLERANCE
from ...measures import Measure
from ...measures.best_rank import forms_of
from .._significance import slices
from ..upper_bounds.upper_bound import rankings_at
from .hull import Hull, corners

#: Maximum number of cells (weights × documents) of the keys that are sorted at once.
_MOST_CELLS = 2_000_000

#: Tolerance for differences between a measure and its sum over ranks (rounding errors).
_ROUNDING = 1e-9

#: Maximum number of keys (twice the number of critical weights × documents) to sort for one topic: some seconds.
_MOST_KEYS = 400_000_000


@dataclass(frozen=True, eq=False)
class _SortedTopic:
    """A topic, and measures for whose weighted sums sorting its documents by weighted gains is optimal."""

    #: The maximum of each measure, and its factor, see `_Sum`.
    ceiling: Floats
    factor: Floats
    #: The gains, shape (n_measures, n_documents), their norms, and the discounts of the ranks.
    gain: Floats
    norm: Floats
    discount: Floats

    def best(self, weights: Floats) -> Floats:
        """Return the values of the best ranking for each weighted sum.

        Parameters
        ----------
        weights : ndarray of float, shape (n, n_measures)
            Non-negative weights of the measures.

        Returns
        -------
        ndarray of float, shape (n, n_measures)
            The values of the measures, of one of the best rankings.
        """
        return self.sorted_values(weights * ratio(self.factor, self.norm))

    def sorted_values(self, weights: Floats) -> Floats:
        """Return the values of rankings by Σ weight · gain, as `best` does; ties by the sum of the gains."""
        ties = ratio(self.gain, self.norm[:, None]).sum(axis=0)
        parts = []
        for part in slices(len(weights), self.gain.shape[1], _MOST_CELLS):
            keys = weights[part] @ self.gain
            order = np.lexsort((-np.broadcast_to(ties, keys.shape), -keys), axis=1)
            # Sum rank by rank, as measures do, so that a perfect ranking scores exactly 1: along the first axis of
            # a contiguous array.
            order = np.ascontiguousarray(order.T)
            sums = np.array([(gain[order] * self.discount[:, None]).sum(axis=0) for gain in self.gain])
            values = ratio(sums, self.norm[:, None]) * self.factor[:, None]
            parts.append(np.minimum(values, self.ceiling[:, None]).T)
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class _AssignedTopic:
    """A topic, and measures that are other sums over ranks there."""

    #: The maximum of each measure.
    ceiling: Floats
    #: The worth of each document at each rank, shape (n_measures, n_documents, n_ranks).
    worth: Floats

    def best(self, weights: Floats) -> Floats:
        """Return the values of the best ranking for each weighted sum, as that of `_SortedTopic`."""
        from scipy.optimize import linear_sum_assignment

        values = np.empty(weights.shape)
        for row, weight in enumerate(weights):
            rows, ranks = linear_sum_assignment(np.tensordot(weight, self.worth, axes=1), maximize=True)
            by_rank = np.argsort(ranks)
            values[row] = self.worth[:, rows[by_rank], ranks[by_rank]].sum(axis=1)
        return np.minimum(values, self.ceiling)


@dataclass(frozen=True, eq=False)
class _Sum:
    """A measure as a weighted sum of forms, times a factor per query: 1 unless the measure is normalised."""

    terms: list[Term]
    forms: list[Additive]
    factor: Floats
    #: The maximum per query, as the measure computes it.
    ceiling: Floats

    @property
    def linear(self) -> list[Linear]:
        return [form for form in self.forms if isinstance(form, Linear)]

    def gains(self, rows: Ints, query: int) -> tuple[Floats, float]:
        """Return the gains of documents, and their norm."""
        if len(self.forms) == 1:
            (form,) = self.linear
            norm = 1.0 if form.norm is None else float(form.norm[query])
            return np.asarray(form.gain, dtype=np.float64)[rows], norm
        pairs = zip(self.terms, self.linear, strict=True)
        return np.sum([term.weight[query] * form.normalised_gain[rows] for term, form in pairs], axis=0), 1.0

    def worth(self, rows: Ints, ranks: Ints, query: int) -> Floats:
        """Return the worth of each document at each rank."""
        pairs = zip(self.terms, self.forms, strict=True)
        total = np.sum([term.weight[query] * form.worth(query, rows, ranks) for term, form in pairs], axis=0)
        return np.asarray(total * self.factor[query], dtype=np.float64)


def linear_topics(measures: Mapping[str, Measure], judgments: Judgments) -> Iterator[_SortedTopic | _AssignedTopic]:
    """Yield the topics of judgments, with measures that are sums over ranks.

    Parameters
    ----------
    measures : mapping of str to Measure
        The measures by label.
    judgments : Judgments
        The judged documents.

    Yields
    ------
    _SortedTopic or _AssignedTopic
        One per query.

    Raises
    ------
    MultiAspectError
        If a measure is not a sum over ranks, or lower is better for it.
    """
    sums = [_as_sum(label, measure, judgments) for label, measure in measures.items()]
    by_sorting = is_by_sorting([form for measure in sums for form in measure.forms])
    bounds = np.searchsorted(judgments.pool_query, np.arange(judgments.n_queries + 1))
    for query in range(judgments.n_queries):
        rows = np.arange(bounds[query], bounds[query + 1])
        ranks = np.arange(1, len(rows) + 1)
        ceiling = np.array([measure.ceiling[query] for measure in sums])
        if by_sorting:
            gains, norms = zip(*(measure.gains(rows, query) for measure in sums), strict=True)
            form = sums[0].linear[0]
            discount = form.discounts(ranks, np.full(len(ranks), query))
            factor = np.array([measure.factor[query] for measure in sums])
            yield _SortedTopic(ceiling, factor, np.stack(gains), np.array(norms), discount)
        else:
            worth = np.stack([measure.worth(rows, ranks, query) for measure in sums])
            yield _AssignedTopic(ceiling, worth)


def _as_sum(label: str, measure: Measure, judgments: Judgments) -> _Sum:
    terms = measure.terms(judgments)
    forms = forms_of(terms)
    if not measure.IS_WEIGHTED_SUM or not forms or measure.lower_is_better:
        raise MultiAspectError(
            "kind='supported' requires measures that are weighted sums of bases that are sums over ranks, such as "
            f"On, CAM or TOMA over nDCG, got {label}; use kind='all', which enumerates the rankings of small topics"
        )
    weighted = [(form, term.weight) for form, term in zip(forms, terms, strict=True)]
    best = best_ranking(weighted, judgments.pool_query, judgments.n_queries)
    highest, total = _value_and_sum(measure, terms, judgments, best)
    factor = np.where(total != 0, ratio(highest, total), 1.0)
    factor = np.where(np.abs(factor - 1.0) < _ROUNDING, 1.0, factor)
    reversed_rank = np.bincount(judgments.pool_query)[judgments.pool_query] + 1 - best
    lowest, total = _value_and_sum(measure, terms, judgments, reversed_rank)
    if (np.abs(lowest - total * factor) > _ROUNDING * np.maximum(np.abs(lowest), 1.0)).any():
        raise MultiAspectError(
            f"kind='supported' requires weighted sums, but {label} is not the weighted sum of its terms; use "
            "kind='all'"
        )
    return _Sum(terms, forms, factor, highest)


def _value_and_sum(
    measure: Measure, terms: Sequence[Term], judgments: Judgments, rank: Ints
) -> tuple[Floats, Floats]:
    """Return the values of a measure and the weighted sum of its terms, given ranks of the judged documents."""
    rankings = rankings_at(judgments, rank)
    values = [term.weight * term.base.values(rankings, term.target) for term in terms]
    return measure.evaluate(rankings), np.asarray(np.sum(values, axis=0), dtype=np.float64)


def supported_points(topic: _SortedTopic | _AssignedTopic, limit: int) -> tuple[Floats, float]:
    """Return the corners of the hull of the values that rankings of a topic attain.

    Parameters
    ----------
    topic : _SortedTopic or _AssignedTopic
        The topic.
    limit : int
        The number of points at which refinement of the hull stops, unless it is computed from all critical weights.

    Returns
    -------
    points : ndarray of float, shape (n_points, n_measures)
    gap : float
        The maximum by which a weighted mean, with weights summing to 1, can exceed that of the points.
    """
    n_measures = len(topic.ceiling)
    if isinstance(topic, _SortedTopic) and n_measures == 2:
        types = np.unique(topic.gain, axis=1)
        if types.shape[1] ** 2 * topic.gain.shape[1] <= _MOST_KEYS:
            return corners(topic.sorted_values(_critical_weights(types))), 0.0
    return refine_hull(topic.best, n_measures, limit)


def _critical_weights(types: Floats) -> Floats:
    """Return a weight in each interval with a constant order of documents by weighted gains.

    The order changes only where the weighted gains of two documents are equal. Between neighbouring critical
    weights, the ranking is constant, so that the rankings at these weights include all corners.
    """
    largest = types.max(axis=1, initial=0.0)
    # A power of two changes no digit: equal ratios of gains remain equal.
    exponent = np.where(largest > 0, np.frexp(largest)[1], 0)
    first, second = np.ldexp(types, -exponent[:, None])
    a, b = np.triu_indices(len(first), 1)
    up, down = first[b] - first[a], second[a] - second[b]
    crossing = (up > 0) & (down > 0)
    critical = np.unique(down[crossing] / (up[crossing] + down[crossing]))
    ends = np.concatenate([[0.0], critical, [1.0]])
    between = (ends[1:] + ends[:-1]) / 2
    return np.asarray(np.ldexp(np.column_stack([between, 1.0 - between]), -exponent), dtype=np.float64)


def refine_hull(best: Callable[[Floats], Floats], n_measures: int, limit: int) -> tuple[Floats, float]:
    """Return the corners of the hull of a set of points, given its best points for weighted sums.

    The hull of the points found so far is refined: each facet is moved outwards until it touches the set. As
    weights between the normals of facets that meet in a corner are sums of these, the largest move bounds the
    gain of any weighted mean.

    Parameters
    ----------
    best : callable
        Returns a best point for each weighted sum, shapes (n, n_measures).
    n_measures : int
        Number of measures.
    limit : int
        The number of points at which refinement of the hull stops.

    Returns
    -------
    points : ndarray of float, shape (n_points, n_measures)
    gap : float
        The maximum by which a weighted mean, with weights summing to 1, can exceed that of the points; 0 if the
        hull is exact.
    """
    points = corners(best(np.vstack([np.eye(n_measures), np.ones((1, n_measures))])))
    while True:
        hull = Hull.of(points)
        touching = best(hull.normals)
        moves = (hull.normals * touching).sum(axis=1) - hull.offsets
        near = TOLERANCE * max(1.0, float(np.abs(touching).max(initial=0.0)))
        outside = moves > near
        gap = float(np.where(outside, moves, 0.0).max())
        if not outside.any() or len(points) >= limit:
            return points, gap
        extended = corners(np.vstack([points, touching[outside]]))
        if extended.shape == points.shape and np.array_equal(extended, points):
            return points, gap
        points = extended


def chain_of_means(topics: Sequence[Floats]) -> Floats:
    """Return the corners of the mean of hulls of two columns.

    This is the mean of the topics' points at equal weights: the hulls' segments, concatenated by slope.

    Parameters
    ----------
    topics : sequence of ndarray of float, shape (n_points, 2)
        The corners of each topic, sorted by the first column, highest first.
    """
    steps = np.concatenate([np.diff(points, axis=0) for points in topics])
    steps = steps[np.argsort(np.arctan2(-steps[:, 0], steps[:, 1]), kind="stable")]
    start = np.sum([points[0] for points in topics], axis=0)
    return corners((start + np.vstack([np.zeros((1, 2)), np.cumsum(steps, axis=0)])) / len(topics))
