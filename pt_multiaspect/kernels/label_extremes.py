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
    def level(self) -> Ints:
        """The indices of all levels but the first, shape (n_levels - 1,)."""
        return np.arange(1, len(self.levels))

    @cached_property
    def lowest(self) -> Ints:
        """The lowest level of each document."""
        return np.asarray(self.allowed.argmax(axis=1), dtype=np.intp)

    @cached_property
    def highest(self) -> Ints:
        """The highest level of each document."""
        n_levels = self.allowed.shape[1]
        downwards = self.allowed[:, ::-1]
        n_above = downwards.argmax(axis=1)
        return np.asarray(n_levels - 1 - n_above, dtype=np.intp)

    @cached_property
    def open(self) -> Ints:
        """The documents with several gains."""
        return np.flatnonzero(self.highest > self.lowest)

    @cached_property
    def is_above_lowest(self) -> Bools:
        """A mask of each document's levels above its lowest, up to its highest.

        Its shape is (n_documents, n_levels - 1).
        """
        return (self.lowest[:, None] < self.level) & (self.level <= self.highest[:, None])

    @cached_property
    def lowest_counts(self) -> Ints:
        """The numbers of documents at or above each level but 0 if all are at their lowest."""
        is_reached = self.lowest[:, None] >= self.level
        return np.asarray(is_reached.sum(axis=0), dtype=np.intp)

    @cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """The allowed levels of each document next to each level.

        They are the highest one that is not above the level, and the lowest one not below it.
        """
        n_levels = self.allowed.shape[1]
        level = np.arange(n_levels)
        allowed_or_first = np.where(self.allowed, level, 0)
        below = np.maximum.accumulate(allowed_or_first, axis=1)
        allowed_or_last = np.where(self.allowed, level, n_levels - 1)
        above_downwards = np.minimum.accumulate(allowed_or_last[:, ::-1], axis=1)
        return below, above_downwards[:, ::-1]

    def without_gaps(self) -> AttainableGains:
        """Return the same with all levels between the lowest and the highest of each document."""
        level = np.arange(self.allowed.shape[1])
        between = (level >= self.lowest[:, None]) & (level <= self.highest[:, None])
        return AttainableGains(self.levels, between, self.discounts)

    def ideal(self, counts: Ints) -> Floats:
        """Return the sum of the ideal ranking.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_levels - 1)
            The numbers of documents at or above each level but 0.
        """
        return np.asarray(self.cumulated[counts] @ self.steps, dtype=np.float64)


class Extremes(NamedTuple):
    """The maxima of several problems, or bounds of them that are not attained."""

    value: Floats
    #: Whether each value is a maximum.
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
    n_problems, n_ranked = weights.shape
    ranked = gains.open[gains.open < n_ranked]
    has_weight = (weights[:, ranked] != 0).any(axis=0)
    weighted = ranked[has_weight]
    n_cells = (len(weighted) + 1) * len(gains.levels)  # per problem
    size = max(1, _BATCH // n_cells)
    values: list[Floats] = []
    exact: list[Bools] = []
    for first in range(0, max(n_problems, 1), size):
        batch = weights[first : first + size]
        part = _Search(batch, weighted, gains).run()
        values.append(part.value)
        exact.append(part.exact)
    return Extremes(np.concatenate(values), np.concatenate(exact))


def shared_ratios(weights: Floats, parts: Sequence[AttainableGains]) -> tuple[float, float]:
    """Return the extremes of the weighted gains of several parts over the sum of their ideals.

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
    # The numerator and the ideal if all gains are at their lowest.
    lowest = np.zeros(2)
    low_choices: list[Floats] = []
    high_choices: list[Floats] = []
    for gains in parts:
        lowest[0] += weights @ gains.levels[gains.lowest]
        lowest[1] += gains.ideal(gains.lowest_counts)
        if len(gains.open):
            low_choices.append(_low_choice(weights, gains))
            high_choices.extend(_high_choices(weights, gains))

    high = 0.0
    better = _best_ratio(high, lowest, high_choices, np.argmax)
    while better > high:
        high = better
        better = _best_ratio(high, lowest, high_choices, np.argmax)

    low = 0.0
    if lowest[1] > 0:
        low = high
    better = _best_ratio(low, lowest, low_choices, np.argmin)
    while better < low:
        low = better
        better = _best_ratio(low, lowest, low_choices, np.argmin)
    return low, high


def _low_choice(weights: Floats, gains: AttainableGains) -> Floats:
    """Return what 0, 1, … open documents at their highest gain, the lightest first, add.

    Returns
    -------
    ndarray of float, shape (2, n_open + 1)
        What they add to the numerator and to the ideal.
    """
    free = _free_steps(gains)
    steps = gains.steps[free]
    lightest_first = weights[gains.open][::-1]
    numerator = np.append(0.0, np.cumsum(lightest_first)) * steps.sum()
    ideal = _ideal_costs(gains, free).sum(axis=1)
    return np.stack([numerator, ideal])


def _high_choices(weights: Floats, gains: AttainableGains) -> Floats:
    """Return what 0, 1, … open documents at or above each level, the heaviest first, add.

    Returns
    -------
    ndarray of float, shape (n_steps, 2, n_open + 1)
        What they add to the numerator and to the ideal.
    """
    free = _free_steps(gains)
    steps = gains.steps[free]
    heaviest_first = weights[gains.open]
    numerator = np.outer(steps, np.append(0.0, np.cumsum(heaviest_first)))
    ideal = _ideal_costs(gains, free).T
    return np.stack([numerator, ideal], axis=1)


def _free_steps(gains: AttainableGains) -> slice:
    """Return the steps between the gains of the open documents, which all have the same gains."""
    document = gains.open[0]
    return slice(gains.lowest[document], gains.highest[document])


def _ideal_costs(gains: AttainableGains, free: slice) -> Floats:
    """Return what 0, 1, … documents that rise by each step add to the ideal.

    Returns
    -------
    ndarray of float, shape (n_open + 1, n_steps)
    """
    n_sure = gains.lowest_counts[free]
    n_risen = np.arange(len(gains.open) + 1)[:, None]
    discounts = gains.cumulated[n_sure + n_risen] - gains.cumulated[n_sure]
    return np.asarray(discounts * gains.steps[free], dtype=np.float64)


def _best_ratio(
    ratio: float, lowest: Floats, choices: list[Floats], best: Callable[[Floats], np.intp]
) -> float:
    """Return the ratio of those choices that are best for the given ratio."""
    sums = lowest
    for choice in choices:
        numerator, ideal = choice
        column = best(numerator - ratio * ideal)
        sums = sums + choice[:, column]
    total, total_ideal = sums
    if total_ideal > 0:
        return float(total / total_ideal)
    return 0.0


class _Nodes(NamedTuple):
    """Nodes of the branch and bound search: problems with limits of their documents' levels."""

    #: The problem of each node, shape (n_nodes,).
    problem: Ints
    #: The lowest and the highest level of each heavy document, shape (n_nodes, n_heavy).
    low: Ints
    high: Ints

    def take(self, index: slice | Bools) -> _Nodes:
        return _Nodes(self.problem[index], self.low[index], self.high[index])


def _join_nodes(parts: Sequence[_Nodes]) -> _Nodes:
    problem = np.concatenate([part.problem for part in parts])
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    return _Nodes(problem, low, high)


class _Search:
    """The search for the maxima of several problems, in which the documents `weighted` are open.

    Attributes
    ----------
    heavy_documents, heavy_weights : ndarray, shape (n_problems, n_heavy)
        The documents of the highest weights, including all of positive weight; the heaviest first.
    light_documents, light_weights : ndarray, shape (n_problems, n_light)
        The documents of the lowest weights, including all of negative weight; the heaviest first.
    best : ndarray of float, shape (n_problems,)
        The highest values found.
    exact : ndarray of bool, shape (n_problems,)
        Whether the search can find the maximum.
    """

    def __init__(self, weights: Floats, weighted: Ints, gains: AttainableGains) -> None:
        self.weights = weights
        self.weighted = weighted
        self.gains = gains

        open_weights = weights[:, weighted]
        order = np.argsort(-open_weights, axis=1, kind="stable")
        documents = weighted[order]
        sorted_weights = np.take_along_axis(open_weights, order, axis=1)
        n_heavy = int((open_weights > 0).sum(axis=1).max(initial=0))
        n_light = int((open_weights < 0).sum(axis=1).max(initial=0))
        first_light = len(weighted) - n_light
        self.heavy_documents = documents[:, :n_heavy]
        self.heavy_weights = sorted_weights[:, :n_heavy]
        self.light_documents = documents[:, first_light:]
        self.light_weights = sorted_weights[:, first_light:]

        # The numerator, and the sum of its absolute terms, if all documents are at their lowest
        # level, and what those that are not light add at their highest.
        lowest_gain = gains.levels[gains.lowest]
        ranked_gain = lowest_gain[: weights.shape[1]]
        self.lowest_sum = weights @ ranked_gain
        self.lowest_size = np.abs(weights) @ ranked_gain
        self.rise = gains.levels[gains.highest] - lowest_gain
        not_light = documents[:, :first_light]
        self.rise_of_not_light = (sorted_weights[:, :first_light] * self.rise[not_light]).sum(
            axis=1
        )

        # The numbers of documents that are not heavy at or above each level, if they are at their
        # lowest.
        is_reached = gains.lowest[self.heavy_documents, None] >= gains.level
        self.other_counts = gains.lowest_counts - is_reached.sum(axis=1)
        self.exact = np.ones(len(weights), dtype=np.bool_)

    def run(self) -> Extremes:
        gains = self.gains
        self._try_ends()
        # With the same ends for all open documents, these are all candidates of negative maxima.
        if _differ(gains.lowest[gains.open]) or _differ(gains.highest[gains.open]):
            for problem in np.flatnonzero(self.best < 0).tolist():
                self._maximise_negative(problem)
        not_negative = np.flatnonzero(self.best >= 0)
        if self.heavy_documents.shape[1]:
            low = gains.lowest[self.weighted[0]]
            high = gains.highest[self.weighted[0]]
            level = np.arange(len(gains.levels))
            is_between = (level >= low) & (level <= high)
            if (gains.allowed[self.weighted] == is_between).all():
                self._maximise_by_level(not_negative, slice(low, high))
            else:
                self._branch(not_negative)
        if not self.exact.all():
            bounded = ~self.exact
            relaxed = highest_ratios(self.weights[bounded], gains.without_gaps())
            self.best[bounded] = np.maximum(relaxed.value, self.best[bounded])
        return Extremes(self.best + 0.0, self.exact)

    def _try_ends(self) -> None:
        """Try some of the heaviest documents at their highest level, the others at their lowest."""
        gains = self.gains
        few = self._prefix_ratios(
            self.heavy_documents, self.heavy_weights, self.lowest_sum, gains.lowest_counts
        )
        n_rising = gains.is_above_lowest.sum(axis=0)
        n_rising_light = gains.is_above_lowest[self.light_documents].sum(axis=1, dtype=np.intp)
        counts = gains.lowest_counts + n_rising - n_rising_light
        total = self.lowest_sum + self.rise_of_not_light
        many = self._prefix_ratios(self.light_documents, self.light_weights, total, counts[:, None])
        self.best = np.maximum(few.max(axis=1), many.max(axis=1))

    def _prefix_ratios(
        self, documents: Ints, weights: Floats, total: Floats, counts: Ints
    ) -> Floats:
        """Return the values if the first 0, 1, … documents rise to their highest level.

        Parameters
        ----------
        documents, weights : ndarray, shape (n_problems, n)
        total : ndarray of float, shape (n_problems,)
            The numerator if none rises.
        counts : ndarray of int
            The numbers of documents at or above each level if none rises.

        Returns
        -------
        ndarray of float, shape (n_problems, n + 1)
        """
        n_problems, n = documents.shape
        added = np.cumsum(weights * self.rise[documents], axis=1)
        numerator = np.repeat(total[:, None], n + 1, axis=1)
        numerator[:, 1:] += added
        n_risen = np.zeros((n_problems, n + 1, len(self.gains.level)), dtype=np.intp)
        np.cumsum(self.gains.is_above_lowest[documents], axis=1, out=n_risen[:, 1:])
        ideal = self.gains.ideal(counts + n_risen)
        return ratio(numerator, ideal)

    def _maximise_by_level(self, problem: Ints, free: slice) -> None:
        """Maximise ratios of at least 0 of documents that have the same gains, without gaps.

        `free` are the steps between these gains.
        """
        gains = self.gains
        n_sure = gains.lowest_counts[free]
        n_risen = np.arange(self.heavy_weights.shape[1] + 1)[:, None]
        # What n documents that rise by a step add to the ideal, shape (n_heavy + 1, n_steps).
        cost = gains.cumulated[n_sure + n_risen] - gains.cumulated[n_sure]
        # What the n heaviest add to the numerator, shape (n_problems, n_heavy + 1).
        none = np.zeros((len(problem), 1))
        total = np.append(none, np.cumsum(self.heavy_weights[problem], axis=1), axis=1)
        while len(problem):
            value = self._dinkelbach_step(problem, total, cost, gains.steps[free])
            is_better = value > self.best[problem]
            problem = problem[is_better]
            total = total[is_better]
            self.best[problem] = value[is_better]

    def _dinkelbach_step(self, problem: Ints, total: Floats, cost: Floats, steps: Floats) -> Floats:
        """Return the ratios of those gains that maximise numerator - best ratio · ideal."""
        gains = self.gains
        best = self.best[problem]
        # Shape (n_problems, n_heavy + 1, n_steps).
        gained = total[:, :, None] - best[:, None, None] * cost
        largest = np.maximum(self.heavy_weights[problem, 0], best * gains.discounts[0])
        enough = gained.max(axis=1) - _TIE * largest[:, None]
        fewest = (gained >= enough[:, None]).argmax(axis=1)
        # Documents rise by a step only if they rise by the steps before it.
        n_risen = np.minimum.accumulate(fewest, axis=1)
        column = np.arange(len(steps))
        added = np.take_along_axis(total, n_risen, axis=1) @ steps
        added_ideal = cost[n_risen, column] @ steps
        numerator = self.lowest_sum[problem] + added
        ideal = gains.ideal(gains.lowest_counts) + added_ideal
        return ratio(numerator, ideal)

    def _maximise_negative(self, problem: int) -> None:
        """Maximise a negative ratio.

        Its parametric problem is convex: each document has one of its ends. They follow from an
        assignment of documents to the ranks of the ideal ranking, where rank 0 has no discount.
        """
        from scipy.optimize import linear_sum_assignment

        gains = self.gains
        row = np.arange(len(gains.allowed))
        weight = np.zeros(len(row))
        weight[: self.weights.shape[1]] = self.weights[problem]
        positive_discounts = gains.discounts[gains.discounts > 0]
        rank_discounts = np.append(0.0, positive_discounts)
        high = gains.levels[gains.highest]
        low = np.where(weight >= 0, high, gains.levels[gains.lowest])
        while self.best[problem] < 0:
            # Shape (n_documents, n_ranks + 1).
            factor = weight[:, None] - self.best[problem] * rank_discounts
            worth_at_low = factor * low[:, None]
            worth_at_high = factor * high[:, None]
            worth = np.maximum(worth_at_low, worth_at_high)
            added_by_rank = worth[:, 1:] - worth[:, :1]
            documents, column = linear_sum_assignment(added_by_rank, maximize=True)
            rank = np.zeros(len(row), dtype=np.intp)
            rank[documents] = column + 1
            is_high = worth_at_high[row, rank] > worth_at_low[row, rank]
            gain = np.where(is_high, high, low)
            ideal = np.sort(gain)[::-1] @ gains.discounts
            value = ratio(weight @ gain, ideal)
            if value <= self.best[problem]:
                return
            self.best[problem] = value

    def _branch(self, problem: Ints) -> None:
        """Maximise ratios of at least 0, in branches on the documents whose gains have gaps."""
        gains = self.gains
        documents = self.heavy_documents[problem]
        nodes = _Nodes(problem, gains.lowest[documents], gains.highest[documents])
        n_nodes = np.zeros(len(self.weights), dtype=np.intp)  # of each problem
        n_cells = self.heavy_documents.shape[1] * len(gains.levels)  # of each node
        size = max(1, _BATCH // n_cells)
        while len(nodes.problem):
            later = nodes.take(slice(size, None))
            nodes = nodes.take(slice(size))
            nodes = nodes.take(self.exact[nodes.problem])
            level, has_excess = self._relax(nodes)
            is_allowed = gains.allowed[self.heavy_documents[nodes.problem], level]
            fits = np.asarray(is_allowed.all(axis=1), dtype=np.bool_)
            earlier = self.best[nodes.problem]
            self._try_levels(nodes.problem, level, fits)
            is_improved = self.best[nodes.problem] > earlier
            improved = nodes.take(fits & is_improved)
            is_split = ~fits & has_excess
            np.add.at(n_nodes, nodes.problem[is_split], 2)
            self.exact[n_nodes > MOST_NODES] = False
            below, above = self._split(nodes.take(is_split), level[is_split], is_allowed[is_split])
            nodes = _join_nodes([improved, below, above, later])

    def _try_levels(self, problem: Ints, level: Ints, fits: Bools) -> None:
        """Try the levels, or the allowed ones next to them if some do not fit."""
        if fits.all():
            attempts = [level]
        else:
            documents = self.heavy_documents[problem]
            below, above = self.gains.neighbours
            attempts = [below[documents, level], above[documents, level]]
        for attempt in attempts:
            np.maximum.at(self.best, problem, self._value(problem, attempt))

    def _split(self, nodes: _Nodes, level: Ints, is_allowed: Bools) -> tuple[_Nodes, _Nodes]:
        """Split each node at the gap around the level of its first document that does not fit."""
        below, above = self.gains.neighbours
        row = np.arange(len(nodes.problem))
        column = is_allowed.argmin(axis=1)
        document = self.heavy_documents[nodes.problem, column]
        level_in_gap = level[row, column]
        high_below = nodes.high.copy()
        high_below[row, column] = below[document, level_in_gap]
        low_above = nodes.low.copy()
        low_above[row, column] = above[document, level_in_gap]
        return nodes._replace(high=high_below), nodes._replace(low=low_above)

    def _counts(self, problem: Ints, level: Ints) -> Ints:
        """Return the number of documents at or above each level.

        The heavy documents have the given levels, the others their lowest.
        """
        is_reached = level[:, :, None] >= self.gains.level
        counts = self.other_counts[problem] + is_reached.sum(axis=1)
        return np.asarray(counts, dtype=np.intp)

    def _value(self, problem: Ints, level: Ints) -> Floats:
        """Return the values if the heavy documents have these levels, others their lowest."""
        gains = self.gains
        lowest = gains.lowest[self.heavy_documents[problem]]
        rise = gains.levels[level] - gains.levels[lowest]
        numerator = self.lowest_sum[problem] + (self.heavy_weights[problem] * rise).sum(axis=1)
        ideal = gains.ideal(self._counts(problem, level))
        return ratio(numerator, ideal)

    def _relax(self, nodes: _Nodes) -> tuple[Ints, Bools]:
        """Maximise numerator - best ratio · ideal, with a decision per level.

        Returns
        -------
        level : ndarray of int, shape (n_nodes, n_heavy)
            The level of each document.
        has_excess : ndarray of bool, shape (n_nodes,)
            Whether the maximum is above 0, up to rounding.
        """
        gains = self.gains
        level = gains.level
        problem, low, high = nodes
        weight = self.heavy_weights[problem]  # (n_nodes, n_heavy)
        best = self.best[problem]
        n_sure = self._counts(problem, low)  # (n_nodes, n_levels - 1)

        # What the heaviest documents that are free to reach a level gain if they do,
        # shape (n_nodes, n_heavy, n_levels - 1).
        is_free = (low[:, :, None] < level) & (level <= high[:, :, None])
        n_reached = n_sure[:, None] + np.cumsum(is_free, axis=1)
        cost = gains.cumulated[n_reached] - gains.cumulated[n_sure][:, None]
        free_weight = np.where(is_free, weight[:, :, None], 0.0)
        gained = np.cumsum(free_weight, axis=1) - best[:, None, None] * cost

        # The fewest documents that gain the maximum, and no document if it is 0.
        most = np.maximum(gained.max(axis=1), 0.0)  # (n_nodes, n_levels - 1)
        largest = np.maximum(np.abs(weight).max(axis=1), best * gains.discounts[0])
        enough = most - _TIE * largest[:, None]
        last = (gained >= enough[:, None]).argmax(axis=1)
        column = np.arange(weight.shape[1])[:, None]
        rises = is_free & (column <= last[:, None]) & (enough > 0)[:, None]
        rises |= level <= low[:, :, None]
        # Documents reach a level only if they reach the levels below it.
        reached = np.logical_and.accumulate(rises, axis=2).sum(axis=2)

        lowest = gains.lowest[self.heavy_documents[problem]]
        added = weight * (gains.levels[low] - gains.levels[lowest])
        numerator = self.lowest_sum[problem] + added.sum(axis=1) + most @ gains.steps
        ideal = gains.ideal(n_sure)
        highest_size = (np.abs(weight) * gains.levels[high]).sum(axis=1)
        size = self.lowest_size[problem] + highest_size + best * ideal
        has_excess = numerator - best * ideal > _ROUNDING * size
        return reached, has_excess


def _differ(levels: Ints) -> bool:
    """Return whether there are different levels."""
    return len(np.unique(levels)) > 1
