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
        last_level = len(self.levels) - 1
        # `argmax` finds the first level that is allowed, from the last level down.
        allowed_from_last = self.allowed[:, ::-1]
        n_levels_above = allowed_from_last.argmax(axis=1)
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
    def allowed_below(self) -> Ints:
        """The highest allowed level up to each level, shape (n_documents, n_levels)."""
        level = np.arange(len(self.levels))
        # Level 0 in place of those that are not allowed does not change the running maximum.
        allowed_level = np.where(self.allowed, level, 0)
        return np.asarray(np.maximum.accumulate(allowed_level, axis=1), dtype=np.intp)

    @cached_property
    def allowed_above(self) -> Ints:
        """The lowest allowed level from each level on, shape (n_documents, n_levels)."""
        level = np.arange(len(self.levels))
        # The last level in place of those that are not allowed does not change the running minimum.
        allowed_level = np.where(self.allowed, level, level[-1])
        from_last_level = allowed_level[:, ::-1]
        running_minimum = np.minimum.accumulate(from_last_level, axis=1)
        return np.asarray(running_minimum[:, ::-1], dtype=np.intp)

    def without_gaps(self) -> AttainableGains:
        """Return the same with all levels between the lowest and the highest of each document."""
        level = np.arange(len(self.levels))
        is_from_lowest = level >= self.lowest[:, None]
        is_to_highest = level <= self.highest[:, None]
        allowed = is_from_lowest & is_to_highest  # (n_documents, n_levels)
        return AttainableGains(self.levels, allowed, self.discounts)

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
    weighted = _weighted_open_documents(weights, gains)
    n_problems = len(weights)
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


def _weighted_open_documents(weights: Floats, gains: AttainableGains) -> Ints:
    """Return the documents with several gains that have a weight in some problem."""
    n_ranked = weights.shape[1]
    is_ranked = gains.open < n_ranked
    open_documents = gains.open[is_ranked]
    is_weighted = weights[:, open_documents] != 0
    is_weighted_somewhere = is_weighted.any(axis=0)
    return np.asarray(open_documents[is_weighted_somewhere], dtype=np.intp)


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
    lowest = _sums_at_lowest_gains(weights, parts)
    low_choices: list[_Choices] = []
    high_choices: list[_Choices] = []
    for gains in parts:
        has_choices = len(gains.open) > 0
        if has_choices:
            low_choices.append(_low_choices(weights, gains))
            high_choices.extend(_high_choices(weights, gains))

    high = _maximum_ratio(lowest, high_choices)
    # If all gains can be 0, so can the ratio, and no ratio is lower.
    if lowest.ideal == 0:
        return 0.0, high
    low = _minimum_ratio(high, lowest, low_choices)
    return low, high


def _sums_at_lowest_gains(weights: Floats, parts: Sequence[AttainableGains]) -> _Sums:
    """Return the sums of weighted gains and of ideals, over parts, at the lowest gains."""
    numerator = 0.0
    ideal = 0.0
    for gains in parts:
        lowest_gain = gains.levels[gains.lowest]
        numerator += float(weights @ lowest_gain)
        ideal += float(gains.ideal(gains.lowest_counts))
    return _Sums(numerator, ideal)


def _maximum_ratio(lowest: _Sums, choices: list[_Choices]) -> float:
    """Return the maximum ratio by Dinkelbach's method: from 0 up, until nothing is higher."""
    highest = 0.0
    candidate = _ratio_of_best_choices(highest, lowest, choices, np.argmax)
    while candidate > highest:
        highest = candidate
        candidate = _ratio_of_best_choices(highest, lowest, choices, np.argmax)
    return highest


def _minimum_ratio(start: float, lowest: _Sums, choices: list[_Choices]) -> float:
    """Return the minimum ratio by Dinkelbach's method: from a ratio down, until nothing is lower."""
    smallest = start
    candidate = _ratio_of_best_choices(smallest, lowest, choices, np.argmin)
    while candidate < smallest:
        smallest = candidate
        candidate = _ratio_of_best_choices(smallest, lowest, choices, np.argmin)
    return smallest


class _Sums(NamedTuple):
    """The numerator and the denominator of a ratio."""

    numerator: float
    ideal: float


class _Choices(NamedTuple):
    """The increases of both sums if the first 0, 1, … open documents rise, shape (n_open + 1,)."""

    numerator: Floats
    ideal: Floats


def _low_choices(weights: Floats, gains: AttainableGains) -> _Choices:
    """Return what the 0, 1, … open documents of the lowest weights add at their highest gain."""
    free = _free_steps(gains)
    steps = gains.steps[free]
    # Weights do not increase: the last documents have the lowest ones.
    lightest_first = weights[gains.open][::-1]
    weight_sums = _sums_of_first(lightest_first)  # (n_open + 1,)
    whole_rise = steps.sum()
    numerator = weight_sums * whole_rise

    # A document that rises to its highest gain rises by all steps.
    discount_sums = _added_discounts(gains, free, len(gains.open))
    ideal_of_steps = discount_sums * steps  # (n_open + 1, n_steps)
    ideal = ideal_of_steps.sum(axis=1)
    return _Choices(numerator, ideal)


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
    """Return the steps from the lowest to the highest gain of an open document.

    All open documents have the same gains.
    """
    any_open = gains.open[0]
    lowest_level = gains.lowest[any_open]
    highest_level = gains.highest[any_open]
    # Step 0 leads from level 0 to level 1: the last step to a level has the number before it.
    return slice(lowest_level, highest_level)


def _added_discounts(gains: AttainableGains, free: slice, n_documents: int) -> Floats:
    """Return the sums of the discounts that 0, 1, … documents get if they rise by each free step.

    They are the discounts of the ideal ranking. The shape is (n_documents + 1, n_free_steps).
    """
    # Documents that rise to a level follow those that are at or above it anyway.
    n_at_level = gains.lowest_counts[free]  # (n_free_steps,)
    n_rising = np.arange(n_documents + 1)
    n_with_rising = n_at_level + n_rising[:, None]
    discounts_with_rising = gains.cumulated[n_with_rising]
    discounts_without_rising = gains.cumulated[n_at_level]
    return np.asarray(discounts_with_rising - discounts_without_rising, dtype=np.float64)


def _ratio_of_best_choices(
    ratio: float,
    lowest: _Sums,
    choices: list[_Choices],
    index_of_best: Callable[[Floats], np.intp],
) -> float:
    """Return the ratio if the best number of documents rises in each of the choices.

    The best number has the best numerator - ratio · ideal (a step of Dinkelbach's method).

    Parameters
    ----------
    ratio : float
        The ratio so far.
    lowest : _Sums
        The sums if no document rises.
    choices : list of _Choices
        What rising documents add.
    index_of_best : callable
        `numpy.argmax` to maximise the ratio, `numpy.argmin` to minimise it.
    """
    numerator = lowest.numerator
    ideal = lowest.ideal
    for choice in choices:
        difference = choice.numerator - ratio * choice.ideal
        n_rising = index_of_best(difference)
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

        # Rows of an array have the same length: where fewer weights are positive than in another
        # problem, the next documents count as heavy, too; likewise for negative weights.
        by_weight = _sort_by_weight(weighted, weights[:, weighted])
        is_positive = by_weight.weights > 0
        is_negative = by_weight.weights < 0
        n_heavy = int(is_positive.sum(axis=1).max(initial=0))
        n_light = int(is_negative.sum(axis=1).max(initial=0))
        n_not_light = len(weighted) - n_light
        self.heavy = by_weight.columns(slice(n_heavy))
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
        """Start with the best ratios with some of the heaviest documents highest, the others lowest."""
        few_rise = self._ratios_if_heavy_rise()
        many_rise = self._ratios_if_others_than_light_rise()
        self.best = np.maximum(few_rise.max(axis=1), many_rise.max(axis=1))

    def _ratios_if_heavy_rise(self) -> Floats:
        """Return the ratios if the 0, 1, … heaviest documents are at their highest level.

        All others are at their lowest. The shape is (n_problems, n_heavy + 1).
        """
        return self._ratios_of_rising(self.heavy, self.lowest_sum, self.gains.lowest_counts)

    def _ratios_if_others_than_light_rise(self) -> Floats:
        """Return the ratios if all but the light documents are at their highest level.

        Of the light ones, the 0, 1, … heaviest are, too. Documents without a weight are, as a
        larger ideal makes a negative ratio higher. The shape is (n_problems, n_light + 1).
        """
        gains = self.gains
        n_rising = gains.is_between_ends.sum(axis=0)
        light_rises = gains.is_between_ends[self.light.documents]  # (n_problems, n_light, n_steps)
        n_light_rising = light_rises.sum(axis=1, dtype=np.intp)
        counts = gains.lowest_counts + n_rising - n_light_rising  # (n_problems, n_steps)
        weighted_rise = self.not_light.weights * self.rise[self.not_light.documents]
        numerator = self.lowest_sum + weighted_rise.sum(axis=1)
        return self._ratios_of_rising(self.light, numerator, counts[:, None])

    def _ratios_of_rising(
        self, candidates: _WeightedDocuments, start: Floats, start_counts: Ints
    ) -> Floats:
        """Return the ratios if the first 0, 1, … candidates rise to their highest level.

        Parameters
        ----------
        candidates : _WeightedDocuments, shape (n_problems, n)
            The documents that can rise, the heaviest first.
        start : ndarray of float, shape (n_problems,)
            The numerator if none rises.
        start_counts : ndarray of int, shape (n_steps,) or (n_problems, 1, n_steps)
            The number of documents at or above each positive level if none rises.

        Returns
        -------
        ndarray of float, shape (n_problems, n + 1)
        """
        n_problems, n = candidates.documents.shape
        # Column 0 is that of no document rising.
        weighted_rise = candidates.weights * self.rise[candidates.documents]
        numerator = np.repeat(start[:, None], n + 1, axis=1)
        numerator[:, 1:] += np.cumsum(weighted_rise, axis=1)

        # A document that rises reaches all levels between its ends.
        reached_levels = self.gains.is_between_ends[candidates.documents]
        n_reaching = np.zeros((n_problems, n + 1, len(self.gains.steps)), dtype=np.intp)
        np.cumsum(reached_levels, axis=1, out=n_reaching[:, 1:])
        ideal = self.gains.ideal(start_counts + n_reaching)
        return ratio(numerator, ideal)

    def _maximise_negative_ratios(self) -> None:
        """Maximise the ratios that are negative so far."""
        gains = self.gains
        lowest = gains.lowest[gains.open]
        highest = gains.highest[gains.open]
        # If all open documents have the same ends, only weights tell which should be highest, and
        # `_try_ends` has found the maximum.
        have_same_ends = _all_equal(lowest) and _all_equal(highest)
        if have_same_ends:
            return
        for problem in np.flatnonzero(self.best < 0).tolist():
            self._maximise_negative(problem)

    def _maximise_negative(self, problem: int) -> None:
        """Maximise a negative ratio by Dinkelbach's method, until it is not negative or the best."""
        n_documents = len(self.gains.allowed)
        n_ranked = self.weights.shape[1]
        weight = np.zeros(n_documents)  # 0 for documents below those with a weight
        weight[:n_ranked] = self.weights[problem]
        while self.best[problem] < 0:
            candidate = self._ratio_of_best_ends(weight, self.best[problem])
            has_found_maximum = candidate <= self.best[problem]
            if has_found_maximum:
                return
            self.best[problem] = candidate

    def _ratio_of_best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the ratio of the gains that are best for a given negative ratio."""
        gain = self._best_ends(weight, negative_ratio)
        ideal_gain = np.sort(gain)[::-1]
        ideal = ideal_gain @ self.gains.discounts
        return ratio(weight @ gain, ideal)

    def _best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the gains that maximise Σ weight · gain - ratio · ideal, for a negative ratio.

        The sum is convex, so that each document has its lowest or its highest gain. Which one
        follows from an assignment of documents to the ranks of the ideal ranking.
        """
        gains = self.gains
        highest = gains.levels[gains.highest]
        # A gain without a negative weight can only increase the sum.
        lowest = np.where(weight >= 0, highest, gains.levels[gains.lowest])

        # Rank 0, without a discount, stands for all ranks below those with a discount.
        positive_discounts = gains.discounts[gains.discounts > 0]
        rank_discounts = np.append(0.0, positive_discounts)

        # What each document adds to the sum at each rank, with its lowest and with its highest gain;
        # all have the shape (n_documents, n_ranks + 1).
        factor = weight[:, None] - negative_ratio * rank_discounts
        worth_at_lowest = factor * lowest[:, None]
        worth_at_highest = factor * highest[:, None]
        worth = np.maximum(worth_at_lowest, worth_at_highest)

        rank = _assign_ranks(worth)
        document = np.arange(len(weight))
        is_highest = worth_at_highest[document, rank] > worth_at_lowest[document, rank]
        return np.where(is_highest, highest, lowest)

    def _maximise_other_ratios(self) -> None:
        """Maximise the ratios that are at least 0."""
        has_heavy_documents = self.heavy.documents.shape[1] > 0
        # Only a gain with a positive weight can increase such a ratio.
        if not has_heavy_documents:
            return
        gains = self.gains
        problem = np.flatnonzero(self.best >= 0)
        document = self.weighted[0]
        low = gains.lowest[document]
        high = gains.highest[document]
        # The levels of all documents if they are those of the first one, and these have no gaps.
        level = np.arange(len(gains.levels))
        is_between_ends = (level >= low) & (level <= high)
        has_these_levels = gains.allowed[self.weighted] == is_between_ends
        if has_these_levels.all():
            free_steps = slice(low, high)
            self._maximise_by_step(problem, free_steps)
        else:
            self._branch(problem)

    def _maximise_by_step(self, problem: Ints, free: slice) -> None:
        """Maximise ratios of at least 0 of documents that have the same gains, without gaps.

        `free` are the steps between these gains.
        """
        steps = self.gains.steps[free]
        n_heavy = self.heavy.weights.shape[1]
        discount_sums = _added_discounts(self.gains, free, n_heavy)  # (n_heavy + 1, n_steps)
        # The sum of the weights of the 0, 1, … heaviest documents, shape (n, n_heavy + 1).
        no_weight = np.zeros((len(problem), 1))
        cumulated_weights = np.cumsum(self.heavy.weights[problem], axis=1)
        weight_sums = np.append(no_weight, cumulated_weights, axis=1)

        # Problems whose ratio does not rise any more are solved, and left out.
        while len(problem):
            candidate = self._dinkelbach_step(problem, weight_sums, discount_sums, steps)
            is_better = candidate > self.best[problem]
            problem = problem[is_better]
            weight_sums = weight_sums[is_better]
            self.best[problem] = candidate[is_better]

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
        best_by_step = self._best_numbers_rising(problem, weight_sums, discount_sums)
        # Documents rise by a step only if they rise by the steps before it.
        n_rising = np.minimum.accumulate(best_by_step, axis=1)  # (n, n_steps)

        rising_weights = np.take_along_axis(weight_sums, n_rising, axis=1)
        numerator = self.lowest_sum[problem] + rising_weights @ steps
        step_index = np.arange(len(steps))
        rising_discounts = discount_sums[n_rising, step_index]
        lowest_ideal = self.gains.ideal(self.gains.lowest_counts)
        ideal = lowest_ideal + rising_discounts @ steps
        return ratio(numerator, ideal)

    def _best_numbers_rising(
        self, problem: Ints, weight_sums: Floats, discount_sums: Floats
    ) -> Ints:
        """Return how many of the heaviest documents should rise by each step, shape (n, n_steps).

        They maximise numerator - best ratio · ideal. The parameters are those of
        `_dinkelbach_step`.
        """
        best = self.best[problem]
        # What 0, 1, … rising documents add to the difference, divided by the step,
        # shape (n, n_heavy + 1, n_steps).
        ideal_cost = best[:, None, None] * discount_sums
        added = weight_sums[:, :, None] - ideal_cost

        # Of numbers that add the maximum, up to rounding, take the lowest.
        heaviest_weight = self.heavy.weights[problem, 0]
        largest_cost = best * self.gains.discounts[0]
        tolerance = _TIE * np.maximum(heaviest_weight, largest_cost)
        enough = added.max(axis=1) - tolerance[:, None]
        adds_enough = added >= enough[:, None]
        return np.asarray(adds_enough.argmax(axis=1), dtype=np.intp)

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
        # At first, each problem is one node, in which all heavy documents have all their levels.
        documents = self.heavy.documents[problem]
        nodes = _Nodes(problem, gains.lowest[documents], gains.highest[documents])
        n_nodes = np.zeros(len(self.weights), dtype=np.intp)  # of each problem
        # All nodes at once could take too much memory.
        n_heavy = documents.shape[1]
        cells_per_node = n_heavy * len(gains.levels)
        nodes_at_once = max(1, _BATCH // cells_per_node)
        # Nodes are worked off from the front, and those that follow from them come next.
        while len(nodes.problem):
            batch = nodes.take(slice(nodes_at_once))
            later = nodes.take(slice(nodes_at_once, None))
            # Problems with too many nodes are only bounded.
            has_few_nodes = self.exact[batch.problem]
            next_nodes = self._process_nodes(batch.take(has_few_nodes), n_nodes)
            nodes = _join_nodes([next_nodes, later])

    def _process_nodes(self, nodes: _Nodes, n_nodes: Ints) -> _Nodes:
        """Try the best levels of the nodes, and return the nodes that follow from them.

        The numbers of nodes of their problems, `n_nodes`, are updated.
        """
        level, has_excess = self._relax(nodes)
        documents = self.heavy.documents[nodes.problem]
        is_allowed = self.gains.allowed[documents, level]  # (n_nodes, n_heavy)
        is_attainable = np.asarray(is_allowed.all(axis=1), dtype=np.bool_)
        earlier_best = self.best[nodes.problem]
        self._try_levels(nodes.problem, level, is_attainable)

        # With a higher ratio, other levels of the same node can be the best.
        is_improved = self.best[nodes.problem] > earlier_best
        repeated = nodes.take(is_attainable & is_improved)

        # Levels in a gap are split off, unless the node has no ratio above the best one.
        is_split = ~is_attainable & has_excess
        split = nodes.take(is_split)
        below, above = self._split(split, level[is_split], is_allowed[is_split])
        np.add.at(n_nodes, split.problem, 2)
        has_too_many = n_nodes > MOST_NODES
        self.exact[has_too_many] = False
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
        # Several nodes can be of the same problem: `maximum.at` takes the best of them.
        if is_attainable.all():
            np.maximum.at(self.best, problem, self._values(problem, level))
            return
        # An allowed level is itself the nearest one, both below and above.
        documents = self.heavy.documents[problem]
        level_below = self.gains.allowed_below[documents, level]
        level_above = self.gains.allowed_above[documents, level]
        np.maximum.at(self.best, problem, self._values(problem, level_below))
        np.maximum.at(self.best, problem, self._values(problem, level_above))

    def _split(self, nodes: _Nodes, level: Ints, is_allowed: Bools) -> tuple[_Nodes, _Nodes]:
        """Split each node at the gap around the level of its first document that does not fit.

        The document is below the gap in the first nodes, and above it in the second ones. `level`
        and `is_allowed` have the shape (n_nodes, n_heavy).
        """
        node = np.arange(len(nodes.problem))
        # `argmin` of a mask is the first column where it is false.
        column = is_allowed.argmin(axis=1)
        document = self.heavy.documents[nodes.problem, column]
        level_in_gap = level[node, column]

        high = nodes.high.copy()
        high[node, column] = self.gains.allowed_below[document, level_in_gap]
        nodes_below_gap = nodes._replace(high=high)
        low = nodes.low.copy()
        low[node, column] = self.gains.allowed_above[document, level_in_gap]
        nodes_above_gap = nodes._replace(low=low)
        return nodes_below_gap, nodes_above_gap

    def _values(self, problem: Ints, level: Ints) -> Floats:
        """Return the ratios if the heavy documents have these levels, others their lowest.

        `problem` has the shape (n,), `level` the shape (n, n_heavy).
        """
        gains = self.gains
        documents = self.heavy.documents[problem]
        lowest_level = gains.lowest[documents]
        rise = gains.levels[level] - gains.levels[lowest_level]
        weighted_rise = self.heavy.weights[problem] * rise
        numerator = self.lowest_sum[problem] + weighted_rise.sum(axis=1)
        counts = self._counts(problem, level)
        ideal = gains.ideal(counts)
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

        Gaps are ignored: each document can have all levels between its limits in the node.

        Returns
        -------
        level : ndarray of int, shape (n_nodes, n_heavy)
            The level of each document, whether it is allowed or in a gap.
        has_excess : ndarray of bool, shape (n_nodes,)
            Whether the maximum is above 0, up to rounding: a ratio above the best one is possible.
        """
        positive_levels = self.gains.positive_levels
        is_above_low = positive_levels > nodes.low[:, :, None]
        is_up_to_high = positive_levels <= nodes.high[:, :, None]
        is_free = is_above_low & is_up_to_high  # (n_nodes, n_heavy, n_steps)
        lowest_counts = self._counts(nodes.problem, nodes.low)  # (n_nodes, n_steps)
        added = self._increase_by_rising(nodes.problem, is_free, lowest_counts)
        # If no document rises, nothing is added.
        most_added = np.maximum(added.max(axis=1), 0.0)  # (n_nodes, n_steps)
        level = self._best_levels(nodes, is_free, added, most_added)
        has_excess = self._has_excess(nodes, lowest_counts, most_added)
        return level, has_excess

    def _increase_by_rising(self, problem: Ints, is_free: Bools, lowest_counts: Ints) -> Floats:
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
        # To the numerator, they add the sum of their weights.
        weight = self.heavy.weights[problem]  # (n_nodes, n_heavy)
        free_weight = np.where(is_free, weight[:, :, None], 0.0)
        weight_sums = np.cumsum(free_weight, axis=1)

        # To the ideal, they add the discounts of the ranks that follow those of the documents which
        # are at the level anyway.
        n_rising = np.cumsum(is_free, axis=1)
        counts = lowest_counts[:, None] + n_rising
        discounts_with_rising = self.gains.cumulated[counts]
        discounts_without_rising = self.gains.cumulated[lowest_counts]
        discount_sums = discounts_with_rising - discounts_without_rising[:, None]
        best_ratio = self.best[problem]
        ideal_cost = best_ratio[:, None, None] * discount_sums
        return np.asarray(weight_sums - ideal_cost, dtype=np.float64)

    def _best_levels(
        self, nodes: _Nodes, is_free: Bools, added: Floats, most_added: Floats
    ) -> Ints:
        """Return the level of each heavy document if the fewest rise that add the maximum.

        Parameters
        ----------
        nodes : _Nodes
            The nodes.
        is_free : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document may rise to each positive level.
        added : ndarray of float, shape (n_nodes, n_heavy, n_steps)
            The result of `_increase_by_rising`.
        most_added : ndarray of float, shape (n_nodes, n_steps)
            The maximum of `added` over the documents, at least 0.

        Returns
        -------
        ndarray of int, shape (n_nodes, n_heavy)
        """
        tolerance = self._rounding_of_added(nodes.problem)
        enough = most_added - tolerance[:, None]  # (n_nodes, n_steps)
        adds_enough = added >= enough[:, None]
        # The fewest documents are those down to the first that adds enough.
        last_rising = adds_enough.argmax(axis=1)  # (n_nodes, n_steps)
        position = np.arange(added.shape[1])
        is_among_fewest = position[:, None] <= last_rising[:, None]
        # If the maximum is 0 up to rounding errors, no document rises.
        is_worthwhile = enough > 0
        rises = is_free & is_among_fewest & is_worthwhile[:, None]

        # Documents reach a level only if they reach the levels below it.
        is_at_or_below_low = self.gains.positive_levels <= nodes.low[:, :, None]
        can_reach = rises | is_at_or_below_low
        is_reached = np.logical_and.accumulate(can_reach, axis=2)
        # The number of positive levels reached is the number of the highest one.
        return np.asarray(is_reached.sum(axis=2), dtype=np.intp)

    def _rounding_of_added(self, problem: Ints) -> Floats:
        """Return by how much equal sums of `_increase_by_rising` can differ, shape (n_nodes,)."""
        weight = self.heavy.weights[problem]
        largest_weight = np.abs(weight).max(axis=1)
        largest_cost = self.best[problem] * self.gains.discounts[0]
        return np.asarray(_TIE * np.maximum(largest_weight, largest_cost), dtype=np.float64)

    def _has_excess(self, nodes: _Nodes, lowest_counts: Ints, most_added: Floats) -> Bools:
        """Return whether the maximum of numerator - best ratio · ideal is above 0.

        It is the value at the lowest levels of a node, and what rising documents add to it.

        Parameters
        ----------
        nodes : _Nodes
            The nodes.
        lowest_counts : ndarray of int, shape (n_nodes, n_steps)
            The number of documents at or above each positive level, at these lowest levels.
        most_added : ndarray of float, shape (n_nodes, n_steps)
            What rising documents add, divided by the step.
        """
        gains = self.gains
        problem = nodes.problem
        weight = self.heavy.weights[problem]
        # `lowest_sum` has the documents at their own lowest levels, which may be below the node's.
        lowest = gains.lowest[self.heavy.documents[problem]]
        rise_to_low = gains.levels[nodes.low] - gains.levels[lowest]
        sum_of_rises = (weight * rise_to_low).sum(axis=1)
        numerator = self.lowest_sum[problem] + sum_of_rises + most_added @ gains.steps
        ideal_cost = self.best[problem] * gains.ideal(lowest_counts)

        # The rounding error is relative to the sum of the absolute terms.
        absolute_terms = np.abs(weight) * gains.levels[nodes.high]
        absolute_highest_sum = absolute_terms.sum(axis=1)
        absolute_sum = self.absolute_lowest_sum[problem] + absolute_highest_sum + ideal_cost
        rounding_error = _ROUNDING * absolute_sum
        excess = numerator - ideal_cost
        return np.asarray(excess > rounding_error, dtype=np.bool_)


def _all_equal(levels: Ints) -> bool:
    """Return whether there are no different levels."""
    return len(np.unique(levels)) <= 1


def _assign_ranks(worth: Floats) -> Ints:
    """Return the ranks of documents that maximise the sum of their worths, shape (n_documents,).

    `worth` has one row per document and one column per rank. Rank 0 can have any number of
    documents, each other rank only one.
    """
    from scipy.optimize import linear_sum_assignment

    # Documents that are assigned to no other rank stay at rank 0.
    worth_above_rank_0 = worth[:, 1:] - worth[:, :1]
    assigned, column = linear_sum_assignment(worth_above_rank_0, maximize=True)
    rank = np.zeros(len(worth), dtype=np.intp)
    rank[assigned] = column + 1  # column 0 is rank 1
    return rank
