"""Extremes of normalised sums over the gains that documents without labels may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from .hits import ratio

__all__ = ["AttainableGains", "Extremes", "highest_ratios", "shared_ratios"]

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
        return np.asarray(
            self.allowed.shape[1] - 1 - self.allowed[:, ::-1].argmax(axis=1), dtype=np.intp
        )

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


class Extremes(NamedTuple):
    """The maxima of several problems, or bounds of them that are not attained, and whether each is exact."""

    value: Floats
    exact: Bools


def highest_ratios(weights: Floats, gains: AttainableGains) -> Extremes:
    """Maximise Σ weight · gain / ideal over all attainable gains; 0 if the ideal is 0.

    The ideal is the sum of the ideal discounts and the gains, in decreasing order (Dinkelbach 1967,
    with a decision per level of the gains, and branches on the documents whose gains have gaps).

    Parameters
    ----------
    weights : ndarray of float, shape (n_problems, n_weighted)
        The discounts of the first documents in a ranking, the difference of those of two rankings,
        or its negative. Further documents only matter to the ideal.
    gains : AttainableGains
        The gains of the documents.

    Returns
    -------
    Extremes
        One maximum per problem.
    """
    weighted = gains.open[gains.open < weights.shape[1]]
    weighted = weighted[(weights[:, weighted] != 0).any(axis=0)]
    size = max(1, _BATCH // ((len(weighted) + 1) * len(gains.levels)))
    batches = [weights[first : first + size] for first in range(0, len(weights), size)]
    parts = [_Search(batch, weighted, gains).run() for batch in batches or [weights]]
    return Extremes(*map(np.concatenate, zip(*parts, strict=True)))


def shared_ratios(weights: Floats, parts: Sequence[AttainableGains]) -> tuple[float, float]:
    """Return the extremes of the weighted sums of several parts' gains, divided by the sum of all their ideals.

    Dinkelbach's method: for a given ratio, the gains of each part, and each level of these, are
    chosen alone.

    Parameters
    ----------
    weights : ndarray of float, shape (n_documents,)
        The discounts of the documents, at least 0 and not increasing.
    parts : sequence of AttainableGains
        The gains of the same documents on several scales. All documents with several gains have the
        same ones.

    Returns
    -------
    low, high : float
        The extremes; 0 if the ideals can be 0.
    """
    lowest = np.zeros(2)  # the sum and the ideal if all gains are at their lowest
    # What numbers of open documents above their lowest gain add to both, for the low and the high
    # end.
    low_choices: list[Floats] = []
    high_choices: list[Floats] = []
    for gains in parts:
        sure = (gains.lowest[:, None] >= np.arange(1, len(gains.levels))).sum(axis=0)
        lowest += weights @ gains.levels[gains.lowest], gains.ideal(sure)
        if len(gains.open):
            free = slice(gains.lowest[gains.open[0]], gains.highest[gains.open[0]])
            steps, heavy = gains.steps[free], weights[gains.open]
            number = np.arange(len(heavy) + 1)[:, None]
            cost = (gains.cumulated[sure[free] + number] - gains.cumulated[sure[free]]) * steps
            first, last = (np.append(0.0, np.cumsum(order)) for order in (heavy, heavy[::-1]))
            low_choices.append(np.stack([last * steps.sum(), cost.sum(axis=1)]))
            high_choices.extend(np.stack([np.outer(steps, first), cost.T], axis=1))

    def improve(ratio: float, choices: list[Floats], best: Callable[[Floats], np.intp]) -> float:
        """Return the ratio of those choices that are best for the given ratio."""
        added = (choice[:, best(choice[0] - ratio * choice[1])] for choice in choices)
        total, ideal = sum(added, start=lowest)
        if ideal > 0:
            return float(total / ideal)
        return 0.0

    high = 0.0
    while (better := improve(high, high_choices, np.argmax)) > high:
        high = better
    low = high if lowest[1] > 0 else 0.0
    while (better := improve(low, low_choices, np.argmin)) < low:
        low = better
    return low, high


class _Search:
    """The search for the maxima of several problems, in which the documents `weighted` are open."""

    def __init__(self, weights: Floats, weighted: Ints, gains: AttainableGains) -> None:
        self.weights, self.weighted, self.gains = weights, weighted, gains
        self.level = np.arange(1, len(gains.levels))
        # The heaviest first: those that may have positive or negative weights.
        of_weighted = weights[:, weighted]
        order = np.argsort(-of_weighted, axis=1, kind="stable")
        n_positive = int((of_weighted > 0).sum(axis=1).max(initial=0))
        n_negative = int((of_weighted < 0).sum(axis=1).max(initial=0))
        documents, ordered = weighted[order], np.take_along_axis(of_weighted, order, axis=1)
        self.documents, self.heavy = documents[:, :n_positive], ordered[:, :n_positive]
        rest, self.light_documents = np.split(documents, [len(weighted) - n_negative], axis=1)
        of_rest, self.light = np.split(ordered, [len(weighted) - n_negative], axis=1)
        self.rises = gains.levels[gains.highest] - gains.levels[gains.lowest]
        self.rest_sum = (of_rest * self.rises[rest]).sum(axis=1)
        lowest = gains.levels[gains.lowest[: weights.shape[1]]]
        self.base_sum, self.base_size = weights @ lowest, np.abs(weights) @ lowest
        self.base_counts = (gains.lowest[:, None] >= self.level).sum(axis=0)
        self.other_counts = self.base_counts - (
            gains.lowest[self.documents, None] >= self.level
        ).sum(axis=1)
        self.exact = np.ones(len(weights), dtype=np.bool_)

    def run(self) -> Extremes:
        gains = self.gains
        self._start()  # all candidates of negative maxima, if the open documents have the same ends
        if any(len(np.unique(end[gains.open])) > 1 for end in (gains.lowest, gains.highest)):
            for problem in np.flatnonzero(self.best < 0).tolist():
                self._assign(problem)
        positive = np.flatnonzero(self.best >= 0)
        if self.documents.shape[1]:
            low, high = gains.lowest[self.weighted[0]], gains.highest[self.weighted[0]]
            chain = (np.arange(len(gains.levels)) >= low) & (np.arange(len(gains.levels)) <= high)
            if (gains.allowed[self.weighted] == chain).all():
                self._raise(positive, slice(low, high))
            else:
                self._branch(positive)
        if not self.exact.all():
            bounded = ~self.exact
            relaxed = highest_ratios(self.weights[bounded], gains.without_gaps())
            self.best[bounded] = np.maximum(relaxed.value, self.best[bounded])
        return Extremes(self.best + 0.0, self.exact)

    def _start(self) -> None:
        """Try numbers of the heaviest open documents at their highest level, the others at their lowest."""
        gains, light = self.gains, self.light_documents
        few = self._prefixes(self.documents, self.heavy, self.base_sum, self.base_counts)
        raised = (gains.lowest[:, None] < self.level) & (self.level <= gains.highest[:, None])
        counts = self.base_counts + raised.sum(axis=0) - raised[light].sum(axis=1, dtype=np.intp)
        many = self._prefixes(light, self.light, self.base_sum + self.rest_sum, counts[:, None])
        self.best = np.maximum(few.max(axis=1), many.max(axis=1))

    def _prefixes(self, documents: Ints, weight: Floats, total: Floats, counts: Ints) -> Floats:
        """Return the values if the first documents of each problem rise to their highest level, for each number."""
        low, high = self.gains.lowest[documents, None], self.gains.highest[documents, None]
        totals = np.repeat(total[:, None], documents.shape[1] + 1, axis=1)
        totals[:, 1:] += np.cumsum(weight * self.rises[documents], axis=1)
        more = np.zeros((*totals.shape, len(self.level)), dtype=np.intp)
        np.cumsum((low < self.level) & (self.level <= high), axis=1, out=more[:, 1:])
        return ratio(totals, self.gains.ideal(counts + more))

    def _raise(self, problem: Ints, free: slice) -> None:
        """Maximise ratios of at least 0 if all open documents with a weight have the same gains, without gaps."""
        gains, sure = self.gains, self.base_counts[free]
        total = np.append(
            np.zeros((len(problem), 1)), np.cumsum(self.heavy[problem], axis=1), axis=1
        )
        cost = gains.cumulated[sure + np.arange(total.shape[1])[:, None]] - gains.cumulated[sure]
        ideal, column = gains.ideal(self.base_counts), np.arange(len(sure))
        while len(problem):
            gained = total[:, :, None] - self.best[problem, None, None] * cost
            largest = np.maximum(self.heavy[problem, 0], self.best[problem] * gains.discounts[0])
            enough = gained.max(axis=1) - _TIE * largest[:, None]
            first = np.minimum.accumulate((gained >= enough[:, None]).argmax(axis=1), axis=1)
            numerator = (
                self.base_sum[problem]
                + np.take_along_axis(total, first, axis=1) @ gains.steps[free]
            )
            value = ratio(numerator, ideal + cost[first, column] @ gains.steps[free])
            better = value > self.best[problem]
            problem, total = problem[better], total[better]
            self.best[problem] = value[better]

    def _assign(self, problem: int) -> None:
        """Maximise a negative ratio, whose parametric problem is convex: each document has one of its ends."""
        from scipy.optimize import linear_sum_assignment

        gains = self.gains
        weight = np.zeros(len(gains.allowed))
        weight[: self.weights.shape[1]] = self.weights[problem]
        discounts = gains.discounts[gains.discounts > 0]
        high = gains.levels[gains.highest]
        low = np.where(weight >= 0, high, gains.levels[gains.lowest])
        while self.best[problem] < 0:
            factor = weight[:, None] - self.best[problem] * np.append(0.0, discounts)
            at_low, at_high = factor * low[:, None], factor * high[:, None]
            worth = np.maximum(at_low, at_high)
            rows, ranks = linear_sum_assignment(worth[:, 1:] - worth[:, :1], maximize=True)
            rank = np.zeros(len(weight), dtype=np.intp)
            rank[rows] = ranks + 1
            row = np.arange(len(weight))
            gain = np.where(at_high[row, rank] > at_low[row, rank], high, low)
            value = ratio(weight @ gain, np.sort(gain)[::-1] @ gains.discounts)
            if value <= self.best[problem]:
                return
            self.best[problem] = value

    def _branch(self, problem: Ints) -> None:
        """Maximise ratios of at least 0, in branches on the documents whose gains have gaps."""
        gains, (below, above) = self.gains, self.gains.neighbours
        low, high = gains.lowest[self.documents[problem]], gains.highest[self.documents[problem]]
        n_nodes = np.zeros(len(self.weights), dtype=np.intp)
        size = max(1, _BATCH // (self.documents.shape[1] * len(gains.levels)))
        while len(problem):
            rest = problem[size:], low[size:], high[size:]
            problem, low, high = problem[:size], low[:size], high[:size]
            kept = self.exact[problem]
            problem, low, high = problem[kept], low[kept], high[kept]
            level, excess = self._scan(problem, low, high)
            documents, earlier = self.documents[problem], self.best[problem]
            allowed = gains.allowed[documents, level]
            fits = allowed.all(axis=1)
            for attempt in (
                (level,) if fits.all() else (below[documents, level], above[documents, level])
            ):
                np.maximum.at(self.best, problem, self._value(problem, attempt))
            again = np.flatnonzero(fits & (self.best[problem] > earlier))
            split = np.flatnonzero(~fits & excess)
            np.add.at(n_nodes, problem[split], 2)
            self.exact[n_nodes > MOST_NODES] = False
            row, at = np.arange(len(split)), allowed[split].argmin(axis=1)
            lower, upper = high[split], low[split]
            lower[row, at] = below[documents[split, at], level[split, at]]
            upper[row, at] = above[documents[split, at], level[split, at]]
            problem = np.concatenate([problem[again], problem[split], problem[split], rest[0]])
            low = np.concatenate([low[again], low[split], upper, rest[1]])
            high = np.concatenate([high[again], lower, high[split], rest[2]])

    def _counts(self, problem: Ints, level: Ints) -> Ints:
        """Return the number of documents at or above each level; the light ones are at their lowest."""
        return np.asarray(
            self.other_counts[problem] + (level[:, :, None] >= self.level).sum(axis=1),
            dtype=np.intp,
        )

    def _value(self, problem: Ints, level: Ints) -> Floats:
        """Return the values if the heavy documents have these levels, and the others their lowest."""
        rise = (
            self.gains.levels[level] - self.gains.levels[self.gains.lowest[self.documents[problem]]]
        )
        total = self.base_sum[problem] + (self.heavy[problem] * rise).sum(axis=1)
        return ratio(total, self.gains.ideal(self._counts(problem, level)))

    def _scan(self, problem: Ints, low: Ints, high: Ints) -> tuple[Ints, Bools]:
        """Maximise numerator - best ratio · ideal, with a decision per level.

        Returns
        -------
        level, excess : ndarray
            The level of each document, and whether the maximum is above 0, up to rounding.
        """
        gains, level = self.gains, self.level
        weight, best = self.heavy[problem], self.best[problem]
        is_free = (low[:, :, None] < level) & (level <= high[:, :, None])
        sure = self._counts(problem, low)
        cost = (
            gains.cumulated[sure[:, None] + np.cumsum(is_free, axis=1)]
            - gains.cumulated[sure][:, None]
        )
        gained = (
            np.cumsum(np.where(is_free, weight[:, :, None], 0.0), axis=1)
            - best[:, None, None] * cost
        )
        most = np.maximum(gained.max(axis=1), 0.0)
        largest = np.maximum(np.abs(weight).max(axis=1), best * gains.discounts[0])
        enough = most - _TIE * largest[:, None]
        first = (gained >= enough[:, None]).argmax(axis=1)
        rises = (
            is_free
            & (np.arange(weight.shape[1])[:, None] <= first[:, None])
            & (enough > 0)[:, None]
        )
        rises |= level <= low[:, :, None]
        reached = np.logical_and.accumulate(rises, axis=2).sum(axis=2)
        added = weight * (gains.levels[low] - gains.levels[gains.lowest[self.documents[problem]]])
        total = self.base_sum[problem] + added.sum(axis=1) + most @ gains.steps
        ideal = gains.ideal(sure)
        size = (
            self.base_size[problem]
            + (np.abs(weight) * gains.levels[high]).sum(axis=1)
            + best * ideal
        )
        return reached, total - best * ideal > _ROUNDING * size
