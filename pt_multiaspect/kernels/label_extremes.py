"""Extremes of normalised sums over the gains that documents without labels may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats, Ints

__all__ = ["AttainableGains", "Extremes", "highest_ratios"]

#: The number of nodes of one problem after which its maximum is only bounded.
MOST_NODES = 20_000

#: The number of array elements that are computed at a time.
_BATCH = 1 << 21

#: Sums of discounts that differ by less, relative to the largest discount, are equal.
_TIE = 1e-13

#: The rounding error of a numerator, relative to the sum of its absolute terms.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class AttainableGains:
    """The gains that each document of a topic can have, and the discounts of its ideal ranking.

    Parameters
    ----------
    levels : ndarray of float, shape (n_levels,)
        All gains, increasing; the first is 0, whether it is attainable or not.
    allowed : ndarray of bool, shape (n_documents, n_levels)
        The gains of each document, at least one.
    discounts : ndarray of float, shape (n_documents,)
        The discounts of the ideal ranking, at least 0 and not increasing.
    """

    levels: Floats
    allowed: Bools
    discounts: Floats

    @cached_property
    def cumulated(self) -> Floats:
        """The sum of the first discounts, from none to all."""
        return np.append(0.0, np.cumsum(self.discounts))

    @cached_property
    def steps(self) -> Floats:
        """The differences of the levels."""
        return np.diff(self.levels)

    @cached_property
    def lowest(self) -> Ints:
        """The lowest level of each document."""
        return np.asarray(self.allowed.argmax(axis=1), dtype=np.intp)

    @cached_property
    def highest(self) -> Ints:
        """The highest level of each document."""
        return np.asarray(self.allowed.shape[1] - 1 - self.allowed[:, ::-1].argmax(axis=1), dtype=np.intp)

    @cached_property
    def open(self) -> Ints:
        """The documents with several gains."""
        return np.flatnonzero(self.highest > self.lowest)

    @cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """The highest allowed level of each document that is not above a level, and the lowest not below it."""
        level = np.arange(self.allowed.shape[1])
        below = np.maximum.accumulate(np.where(self.allowed, level, 0), axis=1)
        above = np.where(self.allowed, level, len(level) - 1)[:, ::-1]
        return below, np.minimum.accumulate(above, axis=1)[:, ::-1]

    def without_gaps(self) -> AttainableGains:
        """Return the same with all levels between the lowest and the highest of each document."""
        level = np.arange(self.allowed.shape[1])
        between = (level >= self.lowest[:, None]) & (level <= self.highest[:, None])
        return AttainableGains(self.levels, between, self.discounts)

    def ideal(self, counts: Ints) -> Floats:
        """Return the sum of the ideal ranking, from the numbers of documents at or above each level but 0."""
        return np.asarray(self.cumulated[counts] @ self.steps, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Extremes:
    """The maxima of several problems.

    Parameters
    ----------
    value : ndarray of float, shape (n_problems,)
        The maximum, or a bound of it that is not attained.
    exact : ndarray of bool, shape (n_problems,)
        Whether it is the maximum.
    level : ndarray of int, shape (n_problems, n_documents)
        The level of each document for which the maximum is attained.
    """

    value: Floats
    exact: Bools
    level: Ints


def highest_ratios(weights: Floats, gains: AttainableGains) -> Extremes:
    """Maximise Σ weight · gain / ideal over all attainable gains; 0 if the ideal is 0.

    The ideal is the sum of the ideal discounts and the gains, in decreasing order (Dinkelbach 1967, with a
    decision per level of the gains, and branches on the documents whose gains have gaps).

    Parameters
    ----------
    weights : ndarray of float, shape (n_problems, n_documents)
        The discounts of the documents in a ranking, the difference of those of two rankings, or its negative.
    gains : AttainableGains
        The gains of the documents.

    Returns
    -------
    Extremes
        One maximum per problem.
    """
    n_problems, n_documents = weights.shape
    n_weighted = int((weights[:, gains.open] != 0).sum(axis=1).max(initial=0))
    size = max(1, _BATCH // max(n_documents, (n_weighted + 1) * len(gains.levels), 1))
    parts = [_Search(weights[first : first + size], gains).run() for first in range(0, n_problems, size)]
    if not parts:
        return Extremes(np.zeros(0), np.zeros(0, dtype=np.bool_), np.zeros((0, n_documents), dtype=np.intp))
    return Extremes(
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.exact for part in parts]),
        np.concatenate([part.level for part in parts]),
    )


class _Search:
    """The search for the maxima of several problems."""

    def __init__(self, weights: Floats, gains: AttainableGains) -> None:
        self.weights, self.gains = weights, gains
        self.level = np.arange(1, len(gains.levels))
        # The open documents with a weight, the heaviest first: those that may have positive or negative weights.
        weighted = gains.open[(weights[:, gains.open] != 0).any(axis=0)]
        documents = weighted[np.argsort(-weights[:, weighted], axis=1, kind="stable")]
        n_positive = int((weights[:, weighted] > 0).sum(axis=1).max(initial=0))
        n_negative = int((weights[:, weighted] < 0).sum(axis=1).max(initial=0))
        rest, self.light_documents = np.split(documents, [len(weighted) - n_negative], axis=1)
        self.documents = documents[:, :n_positive]
        self.heavy = np.take_along_axis(weights, self.documents, axis=1)
        rises = gains.levels[gains.highest] - gains.levels[gains.lowest]
        self.rest_sum = (np.take_along_axis(weights, rest, axis=1) * rises[rest]).sum(axis=1)
        self.base_sum = weights @ gains.levels[gains.lowest]
        self.base_size = np.abs(weights) @ gains.levels[gains.lowest]
        self.base_counts = (gains.lowest[:, None] >= self.level).sum(axis=0)
        self.chosen = np.tile(gains.lowest, (len(weights), 1))
        self.exact = np.ones(len(weights), dtype=np.bool_)

    def run(self) -> Extremes:
        self._start()  # all candidates of negative maxima, if the open documents have the same ends
        negative = np.flatnonzero(self.best < 0)
        ends = self.gains.lowest[self.gains.open], self.gains.highest[self.gains.open]
        if any(len(np.unique(end)) > 1 for end in ends):
            for problem in negative.tolist():
                self._assign(problem)
        self._branch(np.flatnonzero(self.best >= 0))
        if not self.exact.all():
            bounded = ~self.exact
            relaxed = highest_ratios(self.weights[bounded], self.gains.without_gaps())
            self.best[bounded] = np.maximum(relaxed.value, self.best[bounded])
        return Extremes(self.best + 0.0, self.exact, self.chosen)

    def _offer(self, problem: Ints, value: Floats, level: Ints) -> None:
        """Keep values that are higher than the best so far, and the levels of all documents that attain them."""
        order = np.argsort(value, kind="stable")
        problem, value, level = problem[order], value[order], level[order]
        kept = np.flatnonzero(value > self.best[problem])
        self.best[problem[kept]] = value[kept]  # the last, and highest, of a problem remains
        self.chosen[problem[kept]] = level[kept]

    def _value(self, problem: Ints, documents: Ints, level: Ints) -> Floats:
        """Return the values if some documents have these levels, and the others their lowest."""
        gains = self.gains
        lowest = gains.lowest[documents]
        weight = np.take_along_axis(self.weights[problem], documents, axis=1)
        total = self.base_sum[problem] + (weight * (gains.levels[level] - gains.levels[lowest])).sum(axis=1)
        ideal = gains.ideal(self._counts(documents, level))
        values: Floats = np.divide(total, ideal, out=np.zeros(total.shape), where=ideal > 0)
        return values

    def _counts(self, documents: Ints, level: Ints) -> Ints:
        """Return the number of documents at or above each level; those not in `documents` are at their lowest."""
        lowest = self.gains.lowest[documents]
        more = (level[:, :, None] >= self.level).sum(axis=1) - (lowest[:, :, None] >= self.level).sum(axis=1)
        return np.asarray(self.base_counts + more, dtype=np.intp)

    def _start(self) -> None:
        """Try numbers of the heaviest open documents at their highest level, the others at their lowest."""
        gains, light = self.gains, self.light_documents
        few = self._prefixes(self.documents, self.base_sum, self.base_counts)
        raised = (gains.lowest[:, None] < self.level) & (self.level <= gains.highest[:, None])
        of_light = raised[light].sum(axis=1, dtype=np.intp)
        counts = self.base_counts + raised.sum(axis=0) - of_light
        many = self._prefixes(light, self.base_sum + self.rest_sum, counts[:, None])
        self.best = np.full(len(self.weights), -np.inf)
        for value, documents, is_many in ((few, self.documents, False), (many, light, True)):
            number = value.argmax(axis=1)
            value = value[np.arange(len(value)), number]
            better = np.flatnonzero(value > self.best)
            is_raised = np.arange(documents.shape[1]) < number[better, None]
            level = np.where(is_raised, gains.highest[documents[better]], gains.lowest[documents[better]])
            chosen = np.tile(gains.highest if is_many else gains.lowest, (len(better), 1))
            np.put_along_axis(chosen, documents[better], level, axis=1)
            self.best[better], self.chosen[better] = value[better], chosen

    def _prefixes(self, documents: Ints, total: Floats, counts: Ints) -> Floats:
        """Return the values if the first documents of each problem rise to their highest level, for each number."""
        gains = self.gains
        low, high = gains.lowest[documents], gains.highest[documents]
        weight = np.take_along_axis(self.weights, documents, axis=1)
        zero = np.zeros((len(documents), 1))
        added = np.cumsum(weight * (gains.levels[high] - gains.levels[low]), axis=1)
        totals = total[:, None] + np.concatenate([zero, added], axis=1)
        raised = (low[:, :, None] < self.level) & (self.level <= high[:, :, None])
        more = np.zeros((len(documents), documents.shape[1] + 1, len(self.level)), dtype=np.intp)
        np.cumsum(raised, axis=1, out=more[:, 1:])
        ideal = gains.ideal(counts + more)
        values: Floats = np.divide(totals, ideal, out=np.zeros_like(totals), where=ideal > 0)
        return values

    def _assign(self, problem: int) -> None:
        """Maximise a negative ratio, whose parametric problem is convex: each document has one of its ends."""
        from scipy.optimize import linear_sum_assignment

        gains, weight = self.gains, self.weights[problem]
        n_ranks = int((gains.discounts > 0).sum())
        low, high = gains.levels[gains.lowest], gains.levels[gains.highest]
        low = np.where(weight >= 0, high, low)
        everything = np.arange(len(weight))[None]
        while self.best[problem] < 0:
            factor = weight[:, None] - self.best[problem] * np.append(0.0, gains.discounts[:n_ranks])
            at_low, at_high = factor * low[:, None], factor * high[:, None]
            worth = np.maximum(at_low, at_high)
            rows, ranks = linear_sum_assignment(worth[:, 1:] - worth[:, :1], maximize=True)
            rank = np.zeros(len(weight), dtype=np.intp)
            rank[rows] = ranks + 1
            is_high = at_high[everything[0], rank] > at_low[everything[0], rank]
            level = np.where(is_high | (weight >= 0), gains.highest, gains.lowest)[None]
            value = self._value(np.array([problem]), everything, level)
            if value[0] <= self.best[problem]:
                return
            self._offer(np.array([problem]), value, level)

    def _branch(self, problem: Ints) -> None:
        """Maximise ratios of at least 0."""
        n_heavy = int((self.heavy[problem] > 0).sum(axis=1).max(initial=0))
        if not n_heavy:
            return
        gains, documents = self.gains, self.documents[:, :n_heavy]
        low, high = gains.lowest[documents[problem]], gains.highest[documents[problem]]
        below, above = gains.neighbours
        n_nodes = np.zeros(len(self.weights), dtype=np.intp)
        while len(problem):
            np.add.at(n_nodes, problem, 1)
            surplus = n_nodes[problem] > MOST_NODES
            if surplus.any():
                self.exact[problem[surplus]] = False
                kept = self.exact[problem]
                problem, low, high = problem[kept], low[kept], high[kept]
            size = max(1, _BATCH // (n_heavy * len(gains.levels)))
            batches = [slice(first, first + size) for first in range(0, len(problem), size)]
            scans = [self._scan(problem[batch], documents, low[batch], high[batch]) for batch in batches]
            if not scans:
                return
            level, excess = (np.concatenate(column) for column in zip(*scans, strict=True))
            of_node = documents[problem]
            earlier = self.best[problem].copy()
            fits = gains.allowed[of_node, level].all(axis=1)
            for attempt in (below[of_node, level], above[of_node, level]):
                value = np.concatenate([self._value(problem[b], of_node[b], attempt[b]) for b in batches])
                whole = np.tile(gains.lowest, (len(problem), 1))
                np.put_along_axis(whole, of_node, attempt, axis=1)
                self._offer(problem, value, whole)
            again = np.flatnonzero(fits & (self.best[problem] > earlier))
            split = np.flatnonzero(~fits & excess)
            at = (~gains.allowed[of_node[split], level[split]]).argmax(axis=1)
            lower, upper = high[split].copy(), low[split].copy()
            row = np.arange(len(split))
            lower[row, at] = below[of_node[split, at], level[split, at]]
            upper[row, at] = above[of_node[split, at], level[split, at]]
            problem = np.concatenate([problem[again], problem[split], problem[split]])
            low, high = (
                np.concatenate([low[again], low[split], upper]),
                np.concatenate([high[again], lower, high[split]]),
            )

    def _scan(self, problem: Ints, documents: Ints, low: Ints, high: Ints) -> tuple[Ints, Bools]:
        """Maximise numerator - best ratio · ideal, with a decision per level.

        Returns
        -------
        level, excess : ndarray
            The level of each document, and whether the maximum is above 0, up to rounding.
        """
        gains, level = self.gains, self.level
        of_node = documents[problem]
        weight = self.heavy[problem, : documents.shape[1]]
        ratio = self.best[problem][:, None]
        is_free = (low[:, :, None] < level) & (level <= high[:, :, None])
        sure = self._counts(of_node, low)
        number = np.cumsum(is_free, axis=1)
        cost = gains.cumulated[sure[:, None] + number] - gains.cumulated[sure][:, None]
        gained = np.cumsum(np.where(is_free, weight[:, :, None], 0.0), axis=1) - ratio[:, :, None] * cost
        most = np.maximum(gained.max(axis=1), 0.0)
        largest = np.maximum(np.abs(weight).max(axis=1), ratio[:, 0] * gains.discounts[0])
        enough = most - _TIE * largest[:, None]
        first = (gained >= enough[:, None]).argmax(axis=1)
        rises = is_free & (np.arange(weight.shape[1])[:, None] <= first[:, None]) & (enough > 0)[:, None]
        rises |= level <= low[:, :, None]
        reached = np.logical_and.accumulate(rises, axis=2).sum(axis=2)
        lowest = gains.levels[gains.lowest[of_node]]
        added = weight * (gains.levels[low] - lowest)
        total = self.base_sum[problem] + added.sum(axis=1) + most @ gains.steps
        ideal = gains.ideal(sure)
        size = self.base_size[problem] + (np.abs(weight) * gains.levels[high]).sum(axis=1) + ratio[:, 0] * ideal
        return reached, total - ratio[:, 0] * ideal > _ROUNDING * size
