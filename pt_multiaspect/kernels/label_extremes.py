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

    Notes
    -----
    A *step* leads to a positive level from the level below it: there are n_levels - 1 steps.
    """

    levels: Floats
    allowed: Bools
    discounts: Floats

    @cached_property
    def cumulated(self) -> Floats:
        """The sum of the first 0, 1, … discounts, shape (n_documents + 1,)."""
        return _sums_of_first(self.discounts)

    @cached_property
    def steps(self) -> Floats:
        """The difference of each positive level and the level below it, shape (n_steps,)."""
        return np.diff(self.levels)

    @cached_property
    def positive_levels(self) -> Ints:
        """The indices of the levels above the first one, shape (n_steps,)."""
        return np.arange(1, len(self.levels))

    @cached_property
    def lowest(self) -> Ints:
        """The lowest level of each document."""
        return np.asarray(self.allowed.argmax(axis=1), dtype=np.intp)

    @cached_property
    def highest(self) -> Ints:
        """The highest level of each document."""
        highest_first = self.allowed[:, ::-1]
        n_levels_above = highest_first.argmax(axis=1)
        last_level = len(self.levels) - 1
        return np.asarray(last_level - n_levels_above, dtype=np.intp)

    @cached_property
    def open(self) -> Ints:
        """The documents with several gains."""
        return np.flatnonzero(self.highest > self.lowest)

    @cached_property
    def is_between_ends(self) -> Bools:
        """A mask of the positive levels above each document's lowest, up to its highest.

        Its shape is (n_documents, n_steps).
        """
        is_above_lowest = self.positive_levels > self.lowest[:, None]
        is_up_to_highest = self.positive_levels <= self.highest[:, None]
        return is_above_lowest & is_up_to_highest

    @cached_property
    def lowest_counts(self) -> Ints:
        """The number of documents at or above each positive level if all are at their lowest."""
        reaches_level = self.lowest[:, None] >= self.positive_levels  # (n_documents, n_steps)
        return np.asarray(reaches_level.sum(axis=0), dtype=np.intp)

    @cached_property
    def neighbours(self) -> tuple[Ints, Ints]:
        """The allowed levels of each document that are nearest to each level.

        The first array has the highest one up to the level, the second array the lowest one from
        the level on. Their shape is (n_documents, n_levels).
        """
        n_levels = len(self.levels)
        level = np.arange(n_levels)
        # Levels that are not allowed have a number that does not count in a maximum or minimum.
        allowed_or_first = np.where(self.allowed, level, 0)
        below = np.maximum.accumulate(allowed_or_first, axis=1)
        allowed_or_last = np.where(self.allowed, level, n_levels - 1)
        highest_first = allowed_or_last[:, ::-1]
        above_highest_first = np.minimum.accumulate(highest_first, axis=1)
        above = above_highest_first[:, ::-1]
        return below, above

    def without_gaps(self) -> AttainableGains:
        """Return the same with all levels between the lowest and the highest of each document."""
        level = np.arange(len(self.levels))
        is_from_lowest = level >= self.lowest[:, None]
        is_to_highest = level <= self.highest[:, None]
        return AttainableGains(self.levels, is_from_lowest & is_to_highest, self.discounts)

    def ideal(self, counts: Ints) -> Floats:
        """Return the sum of the ideal ranking, Σ discount · gain.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_steps)
            The number of documents at or above each positive level.

        Returns
        -------
        ndarray of float, shape (...)
        """
        # A gain is the sum of the steps up to it, and the n documents at or above a level have the
        # first n ranks: the level adds its step times the sum of the first n discounts.
        discount_sums = self.cumulated[counts]
        return np.asarray(discount_sums @ self.steps, dtype=np.float64)


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
    is_ranked = gains.open < n_ranked
    open_documents = gains.open[is_ranked]
    has_weight = (weights[:, open_documents] != 0).any(axis=0)
    weighted = open_documents[has_weight]

    # All problems at once could take too much memory.
    cells_per_problem = (len(weighted) + 1) * len(gains.levels)
    problems_at_once = max(1, _BATCH // cells_per_problem)
    value = np.zeros(n_problems)
    exact = np.ones(n_problems, dtype=np.bool_)
    for first in range(0, n_problems, problems_at_once):
        batch = slice(first, first + problems_at_once)
        extremes = _Search(weights[batch], weighted, gains).run()
        value[batch] = extremes.value
        exact[batch] = extremes.exact
    return Extremes(value, exact)


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
    lowest_numerator = 0.0
    lowest_ideal = 0.0
    low_choices: list[_Choices] = []
    high_choices: list[_Choices] = []
    for gains in parts:
        lowest_gain = gains.levels[gains.lowest]
        lowest_numerator += float(weights @ lowest_gain)
        lowest_ideal += float(gains.ideal(gains.lowest_counts))
        if len(gains.open):
            low_choices.append(_low_choices(weights, gains))
            high_choices.extend(_high_choices(weights, gains))
    lowest = _Sums(lowest_numerator, lowest_ideal)

    high = 0.0
    improved = _ratio_of_best_choices(high, lowest, high_choices, np.argmax)
    while improved > high:
        high = improved
        improved = _ratio_of_best_choices(high, lowest, high_choices, np.argmax)

    # If all gains can be 0, so can the ratio, and no ratio is lower.
    low = 0.0
    if lowest.ideal > 0:
        low = high
    improved = _ratio_of_best_choices(low, lowest, low_choices, np.argmin)
    while improved < low:
        low = improved
        improved = _ratio_of_best_choices(low, lowest, low_choices, np.argmin)
    return low, high


class _Sums(NamedTuple):
    """The numerator and the denominator of a ratio."""

    numerator: float
    ideal: float


class _Choices(NamedTuple):
    """What the first 0, 1, … open documents add to both sums if they rise, shape (n_open + 1,)."""

    numerator: Floats
    ideal: Floats


def _low_choices(weights: Floats, gains: AttainableGains) -> _Choices:
    """Return what the 0, 1, … open documents of the lowest weights add at their highest gain."""
    free = _free_steps(gains)
    steps = gains.steps[free]
    rise = steps.sum()
    lightest_first = weights[gains.open][::-1]
    numerator = _sums_of_first(lightest_first) * rise
    discount_sums = _added_discounts(gains, free, len(gains.open))
    ideal_by_step = discount_sums * steps  # (n_open + 1, n_steps)
    return _Choices(numerator, ideal_by_step.sum(axis=1))


def _high_choices(weights: Floats, gains: AttainableGains) -> list[_Choices]:
    """Return, per step, what the 0, 1, … open documents of the highest weights add if they rise."""
    free = _free_steps(gains)
    heaviest_first = weights[gains.open]
    weight_sums = _sums_of_first(heaviest_first)
    discount_sums = _added_discounts(gains, free, len(gains.open))  # (n_open + 1, n_steps)
    choices: list[_Choices] = []
    for column, step in enumerate(gains.steps[free]):
        numerator = step * weight_sums
        ideal = step * discount_sums[:, column]
        choices.append(_Choices(numerator, ideal))
    return choices


def _sums_of_first(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, …, n of n values, shape (n + 1,)."""
    return np.append(0.0, np.cumsum(values))


def _free_steps(gains: AttainableGains) -> slice:
    """Return the steps between the gains of the open documents, which all have the same gains."""
    document = gains.open[0]
    return slice(gains.lowest[document], gains.highest[document])


def _added_discounts(gains: AttainableGains, free: slice, n_documents: int) -> Floats:
    """Return the sums of the discounts that 0, 1, … documents get if they rise by each free step.

    They are the discounts of the ideal ranking. The shape is (n_documents + 1, n_free_steps).
    """
    # Documents that rise to a level follow those that are at or above it anyway.
    n_above = gains.lowest_counts[free]
    n_rising = np.arange(n_documents + 1)[:, None]
    discounts_with_rising = gains.cumulated[n_above + n_rising]
    discounts_without_rising = gains.cumulated[n_above]
    return np.asarray(discounts_with_rising - discounts_without_rising, dtype=np.float64)


def _ratio_of_best_choices(
    ratio: float, lowest: _Sums, choices: list[_Choices], pick: Callable[[Floats], np.intp]
) -> float:
    """Return the ratio of the gains that are best for a given ratio (a step of Dinkelbach's method).

    `pick` is `numpy.argmax` or `numpy.argmin` of numerator - ratio · ideal.
    """
    numerator = lowest.numerator
    ideal = lowest.ideal
    for choice in choices:
        n_rising = pick(choice.numerator - ratio * choice.ideal)
        numerator += choice.numerator[n_rising]
        ideal += choice.ideal[n_rising]
    if ideal > 0:
        return float(numerator / ideal)
    return 0.0


class _Nodes(NamedTuple):
    """Nodes of the branch and bound search: problems with limits of their documents' levels."""

    #: The problem of each node, shape (n_nodes,).
    problem: Ints
    #: The lowest and the highest level of each heavy document, shape (n_nodes, n_heavy).
    low: Ints
    high: Ints

    def take(self, index: slice | Bools) -> _Nodes:
        """Return some of the nodes."""
        return _Nodes(self.problem[index], self.low[index], self.high[index])


def _join_nodes(parts: Sequence[_Nodes]) -> _Nodes:
    """Return the nodes of all parts."""
    problem = np.concatenate([part.problem for part in parts])
    low = np.concatenate([part.low for part in parts])
    high = np.concatenate([part.high for part in parts])
    return _Nodes(problem, low, high)


class _WeightedDocuments(NamedTuple):
    """Documents of each problem, sorted by decreasing weight; shape (n_problems, n)."""

    documents: Ints
    weights: Floats

    def columns(self, columns: slice) -> _WeightedDocuments:
        """Return some of the documents of each problem."""
        return _WeightedDocuments(self.documents[:, columns], self.weights[:, columns])


def _sort_by_weight(documents: Ints, weights: Floats) -> _WeightedDocuments:
    """Return documents sorted by their weight in each problem, the heaviest first.

    Parameters
    ----------
    documents : ndarray of int, shape (n,)
        The documents, which are the same in all problems.
    weights : ndarray of float, shape (n_problems, n)
        Their weights.
    """
    order = np.argsort(-weights, axis=1, kind="stable")
    sorted_weights = np.take_along_axis(weights, order, axis=1)
    return _WeightedDocuments(documents[order], sorted_weights)


class _Search:
    """The search for the maxima of several problems, in which the documents `weighted` are open.

    Attributes
    ----------
    heavy : _WeightedDocuments, shape (n_problems, n_heavy)
        The documents of the highest weights, including all of positive weight.
    light, not_light : _WeightedDocuments, shape (n_problems, n)
        The documents of the lowest weights, including all of negative weight, and the others.
    best : ndarray of float, shape (n_problems,)
        The highest values found.
    exact : ndarray of bool, shape (n_problems,)
        Whether the search can find the maximum.
    """

    def __init__(self, weights: Floats, weighted: Ints, gains: AttainableGains) -> None:
        self.weights = weights
        self.weighted = weighted
        self.gains = gains
        self.exact = np.ones(len(weights), dtype=np.bool_)

        by_weight = _sort_by_weight(weighted, weights[:, weighted])
        # Problems have equal numbers of heavy documents, and of light ones, as rows of an array.
        n_positive = (by_weight.weights > 0).sum(axis=1)
        n_heavy = int(n_positive.max(initial=0))
        self.heavy = by_weight.columns(slice(n_heavy))
        n_negative = (by_weight.weights < 0).sum(axis=1)
        n_light = int(n_negative.max(initial=0))
        n_not_light = len(weighted) - n_light
        self.not_light = by_weight.columns(slice(n_not_light))
        self.light = by_weight.columns(slice(n_not_light, None))

    @cached_property
    def rise(self) -> Floats:
        """The highest gain of each document minus its lowest gain, shape (n_documents,)."""
        gains = self.gains
        return gains.levels[gains.highest] - gains.levels[gains.lowest]

    @cached_property
    def lowest_gain(self) -> Floats:
        """The lowest gain of the documents that have weights, shape (n_ranked,)."""
        n_ranked = self.weights.shape[1]
        lowest_gain = self.gains.levels[self.gains.lowest]
        return lowest_gain[:n_ranked]

    @cached_property
    def lowest_sum(self) -> Floats:
        """The numerator of each problem if all documents are at their lowest level."""
        return np.asarray(self.weights @ self.lowest_gain, dtype=np.float64)

    @cached_property
    def absolute_lowest_sum(self) -> Floats:
        """The sum of the absolute terms of `lowest_sum`."""
        return np.asarray(np.abs(self.weights) @ self.lowest_gain, dtype=np.float64)

    @cached_property
    def other_counts(self) -> Ints:
        """The number of documents that are not heavy at or above each positive level.

        All documents are at their lowest level. The shape is (n_problems, n_steps).
        """
        gains = self.gains
        heavy_lowest = gains.lowest[self.heavy.documents]  # (n_problems, n_heavy)
        reaches_level = heavy_lowest[:, :, None] >= gains.positive_levels
        heavy_counts = reaches_level.sum(axis=1)
        return np.asarray(gains.lowest_counts - heavy_counts, dtype=np.intp)

    def run(self) -> Extremes:
        """Return the maximum of each problem, or a bound if it takes too long to find."""
        self._try_ends()
        self._maximise_negative_ratios()
        self._maximise_other_ratios()
        self._bound_inexact_ratios()
        # Adding 0 makes negative zeros positive.
        return Extremes(self.best + 0.0, self.exact)

    def _try_ends(self) -> None:
        """Try some of the heaviest documents at their highest level, the others at their lowest."""
        gains = self.gains
        # Start with all documents at their lowest level, and let heavy ones rise.
        few_rise = self._prefix_ratios(self.heavy, self.lowest_sum, gains.lowest_counts)

        # Start with all but the light documents at their highest level, and let light ones rise.
        n_rising = gains.is_between_ends.sum(axis=0)
        light_rises = gains.is_between_ends[self.light.documents]
        n_rising_light = light_rises.sum(axis=1, dtype=np.intp)
        counts = gains.lowest_counts + n_rising - n_rising_light  # (n_problems, n_steps)
        weighted_rise = self.not_light.weights * self.rise[self.not_light.documents]
        start = self.lowest_sum + weighted_rise.sum(axis=1)
        many_rise = self._prefix_ratios(self.light, start, counts[:, None])

        self.best = np.maximum(few_rise.max(axis=1), many_rise.max(axis=1))

    def _prefix_ratios(
        self, sorted_documents: _WeightedDocuments, start: Floats, start_counts: Ints
    ) -> Floats:
        """Return the values if the first 0, 1, … documents rise to their highest level.

        Parameters
        ----------
        sorted_documents : _WeightedDocuments, shape (n_problems, n)
            The documents.
        start : ndarray of float, shape (n_problems,)
            The numerator if none rises.
        start_counts : ndarray of int, shape (n_steps,) or (n_problems, 1, n_steps)
            The number of documents at or above each positive level if none rises.

        Returns
        -------
        ndarray of float, shape (n_problems, n + 1)
        """
        documents, weights = sorted_documents
        n_problems, n = documents.shape
        # In column 0, no document rises.
        weighted_rise = weights * self.rise[documents]
        numerator = np.repeat(start[:, None], n + 1, axis=1)
        numerator[:, 1:] += np.cumsum(weighted_rise, axis=1)

        # A document that rises reaches all levels between its ends.
        reached_levels = self.gains.is_between_ends[documents]  # (n_problems, n, n_steps)
        n_reaching = np.zeros((n_problems, n + 1, len(self.gains.steps)), dtype=np.intp)
        np.cumsum(reached_levels, axis=1, out=n_reaching[:, 1:])
        ideal = self.gains.ideal(start_counts + n_reaching)
        return ratio(numerator, ideal)

    def _maximise_negative_ratios(self) -> None:
        """Maximise the ratios that are negative so far."""
        gains = self.gains
        has_different_ends = _differ(gains.lowest[gains.open]) or _differ(gains.highest[gains.open])
        # With the same ends for all open documents, `_try_ends` has found negative maxima.
        if not has_different_ends:
            return
        for problem in np.flatnonzero(self.best < 0).tolist():
            self._maximise_negative(problem)

    def _maximise_negative(self, problem: int) -> None:
        """Maximise a negative ratio by Dinkelbach's method."""
        gains = self.gains
        n_documents = len(gains.allowed)
        n_ranked = self.weights.shape[1]
        weight = np.zeros(n_documents)
        weight[:n_ranked] = self.weights[problem]
        while self.best[problem] < 0:
            gain = self._best_ends(weight, self.best[problem])
            ideal_gain = np.sort(gain)[::-1]
            ideal = ideal_gain @ gains.discounts
            value = ratio(weight @ gain, ideal)
            if value <= self.best[problem]:
                return
            self.best[problem] = value

    def _best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the gains that maximise Σ weight · gain - ratio · ideal, for a negative ratio.

        The sum is convex, so that each document has its lowest or its highest gain. Which one
        follows from an assignment of documents to the ranks of the ideal ranking.
        """
        from scipy.optimize import linear_sum_assignment

        gains = self.gains
        highest = gains.levels[gains.highest]
        # A gain without a negative weight can only increase the sum.
        lowest = np.where(weight >= 0, highest, gains.levels[gains.lowest])

        # What each document adds to the sum at each rank, shape (n_documents, n_ranks + 1). Rank 0,
        # without a discount, stands for all ranks below those that count.
        positive_discounts = gains.discounts[gains.discounts > 0]
        rank_discounts = np.append(0.0, positive_discounts)
        factor = weight[:, None] - negative_ratio * rank_discounts
        worth_at_lowest = factor * lowest[:, None]
        worth_at_highest = factor * highest[:, None]
        worth = np.maximum(worth_at_lowest, worth_at_highest)

        # Documents that are assigned to no other rank stay at rank 0.
        worth_above_rank_0 = worth[:, 1:] - worth[:, :1]
        assigned, rank_index = linear_sum_assignment(worth_above_rank_0, maximize=True)
        rank = np.zeros(len(weight), dtype=np.intp)
        rank[assigned] = rank_index + 1
        document = np.arange(len(weight))
        is_highest = worth_at_highest[document, rank] > worth_at_lowest[document, rank]
        return np.where(is_highest, highest, lowest)

    def _maximise_other_ratios(self) -> None:
        """Maximise the ratios that are at least 0."""
        has_heavy_documents = self.heavy.documents.shape[1] > 0
        # A gain without a positive weight cannot increase such a ratio.
        if not has_heavy_documents:
            return
        gains = self.gains
        problem = np.flatnonzero(self.best >= 0)
        document = self.weighted[0]
        low = gains.lowest[document]
        high = gains.highest[document]
        # Without gaps, all levels between the ends are allowed.
        level = np.arange(len(gains.levels))
        is_between = (level >= low) & (level <= high)
        has_same_gains = gains.allowed[self.weighted] == is_between
        if has_same_gains.all():
            self._maximise_by_step(problem, slice(low, high))
        else:
            self._branch(problem)

    def _maximise_by_step(self, problem: Ints, free: slice) -> None:
        """Maximise ratios of at least 0 of documents that have the same gains, without gaps.

        `free` are the steps between these gains.
        """
        gains = self.gains
        n_heavy = self.heavy.weights.shape[1]
        discount_sums = _added_discounts(gains, free, n_heavy)
        # The sum of the weights of the 0, 1, … heaviest documents, shape (n_problems, n_heavy + 1).
        no_weight = np.zeros((len(problem), 1))
        cumulated_weights = np.cumsum(self.heavy.weights[problem], axis=1)
        weight_sums = np.append(no_weight, cumulated_weights, axis=1)
        while len(problem):
            value = self._dinkelbach_step(problem, weight_sums, discount_sums, gains.steps[free])
            is_better = value > self.best[problem]
            problem = problem[is_better]
            weight_sums = weight_sums[is_better]
            self.best[problem] = value[is_better]

    def _dinkelbach_step(
        self, problem: Ints, weight_sums: Floats, discount_sums: Floats, steps: Floats
    ) -> Floats:
        """Return the ratios of those gains that maximise numerator - best ratio · ideal.

        Parameters
        ----------
        problem : ndarray of int, shape (n,)
            The problems.
        weight_sums : ndarray of float, shape (n, n_heavy + 1)
            The sum of the weights of the 0, 1, … heaviest documents.
        discount_sums : ndarray of float, shape (n_heavy + 1, n_steps)
            The discounts that they add to the ideal if they rise by each step.
        steps : ndarray of float, shape (n_steps,)
            The steps by which documents can rise.
        """
        gains = self.gains
        best = self.best[problem]
        # What documents that rise add to the maximised difference, divided by the step,
        # shape (n, n_heavy + 1, n_steps).
        ideal_cost = best[:, None, None] * discount_sums
        added = weight_sums[:, :, None] - ideal_cost

        # Let the fewest documents rise that add the maximum, up to rounding.
        largest_term = np.maximum(self.heavy.weights[problem, 0], best * gains.discounts[0])
        tolerance = _TIE * largest_term
        enough = added.max(axis=1) - tolerance[:, None]
        adds_enough = added >= enough[:, None]
        fewest = adds_enough.argmax(axis=1)  # (n, n_steps)

        # Documents rise by a step only if they rise by the steps before it.
        n_rising = np.minimum.accumulate(fewest, axis=1)
        rising_weights = np.take_along_axis(weight_sums, n_rising, axis=1)
        rising_discounts = discount_sums[n_rising, np.arange(len(steps))]
        numerator = self.lowest_sum[problem] + rising_weights @ steps
        ideal = gains.ideal(gains.lowest_counts) + rising_discounts @ steps
        return ratio(numerator, ideal)

    def _bound_inexact_ratios(self) -> None:
        """Replace ratios whose maximum was not found by a bound, the maximum without gaps."""
        inexact = np.flatnonzero(~self.exact)
        if len(inexact) == 0:
            return
        bound = highest_ratios(self.weights[inexact], self.gains.without_gaps())
        self.best[inexact] = np.maximum(bound.value, self.best[inexact])

    def _branch(self, problem: Ints) -> None:
        """Maximise ratios of at least 0, in branches on the documents whose gains have gaps."""
        gains = self.gains
        documents = self.heavy.documents[problem]
        nodes = _Nodes(problem, gains.lowest[documents], gains.highest[documents])
        n_nodes = np.zeros(len(self.weights), dtype=np.intp)  # of each problem
        # All nodes at once could take too much memory.
        n_heavy = documents.shape[1]
        cells_per_node = n_heavy * len(gains.levels)
        nodes_at_once = max(1, _BATCH // cells_per_node)
        while len(nodes.problem):
            later = nodes.take(slice(nodes_at_once, None))
            batch = nodes.take(slice(nodes_at_once))
            # Problems with too many nodes are only bounded.
            batch = batch.take(self.exact[batch.problem])
            next_nodes = self._process_nodes(batch, n_nodes)
            nodes = _join_nodes([next_nodes, later])

    def _process_nodes(self, nodes: _Nodes, n_nodes: Ints) -> _Nodes:
        """Try the best levels of the nodes, and return the nodes that follow from them.

        The numbers of nodes of their problems, `n_nodes`, are updated.
        """
        level, has_excess = self._relax(nodes)
        documents = self.heavy.documents[nodes.problem]
        is_allowed = self.gains.allowed[documents, level]
        is_attainable = np.asarray(is_allowed.all(axis=1), dtype=np.bool_)
        earlier_best = self.best[nodes.problem]
        self._try_levels(nodes.problem, level, is_attainable)

        # With a higher ratio, other levels of the same node can be the best.
        is_improved = self.best[nodes.problem] > earlier_best
        repeated = nodes.take(is_attainable & is_improved)

        # Levels in a gap are split off, unless the node has no ratio above the best one.
        is_split = ~is_attainable & has_excess
        below, above = self._split(nodes.take(is_split), level[is_split], is_allowed[is_split])
        np.add.at(n_nodes, nodes.problem[is_split], 2)
        self.exact[n_nodes > MOST_NODES] = False
        return _join_nodes([repeated, below, above])

    def _try_levels(self, problem: Ints, level: Ints, is_attainable: Bools) -> None:
        """Try levels of the heavy documents, or the allowed ones below and above them.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problems.
        level : ndarray of int, shape (n_nodes, n_heavy)
            The levels.
        is_attainable : ndarray of bool, shape (n_nodes,)
            Whether all levels of a node are allowed.
        """
        if is_attainable.all():
            np.maximum.at(self.best, problem, self._values(problem, level))
            return
        # The neighbours of an allowed level are the level itself.
        documents = self.heavy.documents[problem]
        for neighbour in self.gains.neighbours:
            allowed_level = neighbour[documents, level]
            np.maximum.at(self.best, problem, self._values(problem, allowed_level))

    def _split(self, nodes: _Nodes, level: Ints, is_allowed: Bools) -> tuple[_Nodes, _Nodes]:
        """Split each node at the gap around the level of its first document that does not fit.

        The document is below the gap in the first nodes, and above it in the second ones. `level`
        and `is_allowed` have the shape (n_nodes, n_heavy).
        """
        node = np.arange(len(nodes.problem))
        column = is_allowed.argmin(axis=1)  # of the first document that does not fit
        document = self.heavy.documents[nodes.problem, column]
        level_in_gap = level[node, column]
        below, above = self.gains.neighbours
        high_below_gap = nodes.high.copy()
        high_below_gap[node, column] = below[document, level_in_gap]
        low_above_gap = nodes.low.copy()
        low_above_gap[node, column] = above[document, level_in_gap]
        return nodes._replace(high=high_below_gap), nodes._replace(low=low_above_gap)

    def _values(self, problem: Ints, level: Ints) -> Floats:
        """Return the values if the heavy documents have these levels, others their lowest."""
        gains = self.gains
        lowest = gains.lowest[self.heavy.documents[problem]]
        rise = gains.levels[level] - gains.levels[lowest]
        weighted_rise = self.heavy.weights[problem] * rise
        numerator = self.lowest_sum[problem] + weighted_rise.sum(axis=1)
        ideal = gains.ideal(self._counts(problem, level))
        return ratio(numerator, ideal)

    def _counts(self, problem: Ints, level: Ints) -> Ints:
        """Return the number of documents at or above each positive level, shape (n, n_steps).

        The heavy documents of n problems have the given levels, the others their lowest.
        """
        reaches_level = level[:, :, None] >= self.gains.positive_levels
        counts = self.other_counts[problem] + reaches_level.sum(axis=1)
        return np.asarray(counts, dtype=np.intp)

    def _relax(self, nodes: _Nodes) -> tuple[Ints, Bools]:
        """Maximise numerator - best ratio · ideal of each node, with a decision per step.

        Returns
        -------
        level : ndarray of int, shape (n_nodes, n_heavy)
            The level of each document, whether it is allowed or in a gap.
        has_excess : ndarray of bool, shape (n_nodes,)
            Whether the maximum is above 0, up to rounding: a ratio above the best one is possible.
        """
        positive_levels = self.gains.positive_levels
        is_above_low = nodes.low[:, :, None] < positive_levels
        is_up_to_high = positive_levels <= nodes.high[:, :, None]
        is_free = is_above_low & is_up_to_high  # (n_nodes, n_heavy, n_steps)
        lowest_counts = self._counts(nodes.problem, nodes.low)  # (n_nodes, n_steps)
        added = self._added_by_rising(nodes.problem, is_free, lowest_counts)
        # If no document rises, nothing is added.
        most_added = np.maximum(added.max(axis=1), 0.0)  # (n_nodes, n_steps)
        level = self._best_levels(nodes, is_free, added, most_added)
        has_excess = self._has_excess(nodes, lowest_counts, most_added)
        return level, has_excess

    def _added_by_rising(self, problem: Ints, is_free: Bools, lowest_counts: Ints) -> Floats:
        """Return what the heaviest free documents add to numerator - best ratio · ideal.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problem of each node.
        is_free : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document may rise to each positive level.
        lowest_counts : ndarray of int, shape (n_nodes, n_steps)
            The number of documents at or above each positive level if none rises.

        Returns
        -------
        ndarray of float, shape (n_nodes, n_heavy, n_steps)
            What the free documents down to each heavy one add if they rise by a step, divided by
            the step.
        """
        # What they add to the numerator is the sum of their weights.
        weight = self.heavy.weights[problem]  # (n_nodes, n_heavy)
        free_weight = np.where(is_free, weight[:, :, None], 0.0)
        weight_sums = np.cumsum(free_weight, axis=1)

        # What they add to the ideal are the discounts of the ranks after those of other documents.
        cumulated = self.gains.cumulated
        n_rising = np.cumsum(is_free, axis=1)
        counts = lowest_counts[:, None] + n_rising
        discount_sums = cumulated[counts] - cumulated[lowest_counts][:, None]
        best = self.best[problem]
        ideal_cost = best[:, None, None] * discount_sums
        return np.asarray(weight_sums - ideal_cost, dtype=np.float64)

    def _best_levels(
        self, nodes: _Nodes, is_free: Bools, added: Floats, most_added: Floats
    ) -> Ints:
        """Return the level of each heavy document if the fewest rise that add the maximum.

        The parameters are those of `_added_by_rising`, its result, and the maximum of this per node
        and step.
        """
        weight = self.heavy.weights[nodes.problem]  # (n_nodes, n_heavy)
        # The first number of documents that adds the maximum, up to rounding errors.
        largest_discount = self.gains.discounts[0]
        largest_cost = self.best[nodes.problem] * largest_discount
        largest_term = np.maximum(np.abs(weight).max(axis=1), largest_cost)
        tolerance = _TIE * largest_term
        enough = most_added - tolerance[:, None]
        adds_enough = added >= enough[:, None]
        last_rising = adds_enough.argmax(axis=1)  # (n_nodes, n_steps)

        # If the maximum is 0 up to rounding errors, no document rises.
        is_worthwhile = enough > 0
        column = np.arange(weight.shape[1])
        is_heavy_enough = column[:, None] <= last_rising[:, None]
        rises = is_free & is_heavy_enough & is_worthwhile[:, None]

        # Documents reach a level only if they reach the levels below it.
        is_at_low = nodes.low[:, :, None] >= self.gains.positive_levels
        is_reached = np.logical_and.accumulate(rises | is_at_low, axis=2)
        return np.asarray(is_reached.sum(axis=2), dtype=np.intp)

    def _has_excess(self, nodes: _Nodes, lowest_counts: Ints, most_added: Floats) -> Bools:
        """Return whether the maximum of numerator - best ratio · ideal is above 0.

        It is the value at the lowest levels of a node, and what rising documents add to it.
        """
        gains = self.gains
        problem = nodes.problem
        weight = self.heavy.weights[problem]
        # In a node, documents have at least the level `low`, above their lowest one.
        lowest = gains.lowest[self.heavy.documents[problem]]
        rise_to_low = gains.levels[nodes.low] - gains.levels[lowest]
        sum_of_rises = (weight * rise_to_low).sum(axis=1)
        numerator = self.lowest_sum[problem] + sum_of_rises + most_added @ gains.steps
        ideal_cost = self.best[problem] * gains.ideal(lowest_counts)

        # The rounding error is relative to the sum of the absolute terms.
        absolute_terms = np.abs(weight) * gains.levels[nodes.high]
        absolute_highest_sum = absolute_terms.sum(axis=1)
        absolute_sum = self.absolute_lowest_sum[problem] + absolute_highest_sum + ideal_cost
        excess = numerator - ideal_cost
        return np.asarray(excess > _ROUNDING * absolute_sum, dtype=np.bool_)


def _differ(levels: Ints) -> bool:
    """Return whether there are different levels."""
    return len(np.unique(levels)) > 1
