"""Extremes of Σ weight · gain / ideal over the gains that documents without labels may have."""

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
    def heights(self) -> Floats:
        """The height of each step, a positive level minus the level below it, shape (n_steps,)."""
        return np.diff(self.levels)

    @cached_property
    def positive_levels(self) -> Ints:
        """The indices of the levels above the first one, shape (n_steps,)."""
        return np.arange(1, len(self.levels))

    @cached_property
    def lowest(self) -> Ints:
        """The lowest level of each document."""
        # `argmax` of a mask is the first level that is allowed.
        lowest = self.allowed.argmax(axis=1)
        return np.asarray(lowest, dtype=np.intp)

    @cached_property
    def highest(self) -> Ints:
        """The highest level of each document."""
        last_level = len(self.levels) - 1
        # `argmax` finds the first level that is allowed, from the last level down.
        allowed_from_last = self.allowed[:, ::-1]
        n_levels_above = allowed_from_last.argmax(axis=1)
        highest = last_level - n_levels_above
        return np.asarray(highest, dtype=np.intp)

    @cached_property
    def open(self) -> Ints:
        """The documents with several gains."""
        return np.flatnonzero(self.highest > self.lowest)

    @cached_property
    def is_between_ends(self) -> Bools:
        """A mask of the positive levels above each document's lowest, up to its highest.

        Its shape is (n_documents, n_steps).
        """
        lowest_level = self.lowest[:, None]
        is_above_lowest = self.positive_levels > lowest_level
        highest_level = self.highest[:, None]
        is_up_to_highest = self.positive_levels <= highest_level
        return is_above_lowest & is_up_to_highest

    @cached_property
    def lowest_counts(self) -> Ints:
        """The number of documents at or above each positive level if all are at their lowest."""
        return self.counts(self.lowest)

    @cached_property
    def allowed_below(self) -> Ints:
        """The highest allowed level up to each level, shape (n_documents, n_levels)."""
        level = np.arange(len(self.levels))
        # Level 0 in place of those that are not allowed does not change the running maximum.
        allowed_level = np.where(self.allowed, level, 0)
        running_maximum = np.maximum.accumulate(allowed_level, axis=1)
        return np.asarray(running_maximum, dtype=np.intp)

    @cached_property
    def allowed_above(self) -> Ints:
        """The lowest allowed level from each level on, shape (n_documents, n_levels).

        It is the last level if no level from there on is allowed.
        """
        last_level = len(self.levels) - 1
        n_documents = len(self.allowed)
        nearest = np.full(n_documents, last_level, dtype=np.intp)
        allowed_above = np.empty(self.allowed.shape, dtype=np.intp)
        for level in reversed(range(last_level + 1)):
            is_allowed = self.allowed[:, level]
            nearest = np.where(is_allowed, level, nearest)
            allowed_above[:, level] = nearest
        return allowed_above

    def without_gaps(self) -> AttainableGains:
        """Return the same with all levels between the lowest and the highest of each document."""
        level = np.arange(len(self.levels))
        lowest_level = self.lowest[:, None]
        is_from_lowest = level >= lowest_level
        highest_level = self.highest[:, None]
        is_to_highest = level <= highest_level
        allowed = is_from_lowest & is_to_highest  # (n_documents, n_levels)
        return AttainableGains(self.levels, allowed, self.discounts)

    def counts(self, level: Ints) -> Ints:
        """Return how many documents are at or above each positive level.

        `level` is the level of each document, shape (..., n); the result has the shape
        (..., n_steps), as there is one step per positive level.
        """
        level_of_document = level[..., None]
        reaches_level = level_of_document >= self.positive_levels  # (..., n, n_steps)
        counts = reaches_level.sum(axis=-2)
        return np.asarray(counts, dtype=np.intp)

    def ideal(self, counts: Ints) -> Floats:
        """Return the sum of the ideal ranking, Σ discount · gain, given the `counts` of documents.

        The sum is taken by steps instead of documents. If n documents are above a step, they have
        the first n ranks of the ideal ranking, so that the step adds its height · the sum of the
        first n discounts. The gains 3, 1 and 1 have two steps: three documents are above the step
        from 0 to 1, and one is above the step from 1 to 3. The sum is 1 · (d1 + d2 + d3) + 2 · d1.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_steps)
            The number of documents above each step, which have its positive level or a higher one.

        Returns
        -------
        ndarray of float, shape (...)
        """
        # `cumulated[n]` is the sum of the first n discounts.
        sums_of_first_discounts = self.cumulated[counts]  # (..., n_steps)
        ideal = sums_of_first_discounts @ self.heights
        return np.asarray(ideal, dtype=np.float64)

    def discounts_of_next(self, n_above: Ints, n_next: Ints) -> Floats:
        """Return the sum of the `n_next` discounts that follow the first `n_above` ones.

        Both parameters are arrays, which are broadcast.
        """
        n_to_last = n_above + n_next
        sum_to_last = self.cumulated[n_to_last]
        sum_above = self.cumulated[n_above]
        sum_of_next = sum_to_last - sum_above
        return np.asarray(sum_of_next, dtype=np.float64)


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
    problems_at_once = _problems_at_once(len(weighted), len(gains.levels))
    value = np.zeros(n_problems)
    exact = np.ones(n_problems, dtype=np.bool_)
    for first in range(0, n_problems, problems_at_once):
        batch = slice(first, first + problems_at_once)
        search = _Search(weights[batch], weighted, gains)
        extremes = search.run()
        value[batch] = extremes.value
        exact[batch] = extremes.exact
    return Extremes(value, exact)


def _problems_at_once(n_documents: int, n_levels: int) -> int:
    """Return how many problems can be solved together without taking too much memory.

    The largest arrays have an element per problem, per number of documents that get a higher gain
    (0, 1, …, `n_documents`), and per level.
    """
    n_numbers = n_documents + 1
    cells_per_problem = n_numbers * n_levels
    return max(1, _BATCH // cells_per_problem)


def _weighted_open_documents(weights: Floats, gains: AttainableGains) -> Ints:
    """Return the documents with several gains that have a weight in some problem.

    `weights` has one row per problem. Its columns are the first documents, 0, 1, …; further
    documents have no weight. `gains.open` are the documents with several gains.
    """
    n_weights = weights.shape[1]
    has_column = gains.open < n_weights
    open_documents = gains.open[has_column]
    open_weights = weights[:, open_documents]
    is_weighted = (open_weights != 0).any(axis=0)
    documents = open_documents[is_weighted]
    return np.asarray(documents, dtype=np.intp)


def shared_ratios(weights: Floats, parts: Sequence[AttainableGains]) -> tuple[float, float]:
    """Return the extremes of the weighted gains of several parts over the sum of their ideals.

    Dinkelbach's method: for a given ratio, numerator - ratio · ideal is a sum over the parts, so
    that the gains of each part are chosen alone.

    Parameters
    ----------
    weights : ndarray of float, shape (n_documents,)
        The discounts of the documents, at least 0 and not increasing.
    parts : sequence of AttainableGains
        The gains of the same documents on several scales. All documents with several gains have the
        same ones.

    Returns
    -------
    lowest, highest : float
        The extremes; 0 if the ideals can be 0.
    """
    sums_at_lowest = _sums_at_lowest_gains(weights, parts)
    parts_with_choices = [gains for gains in parts if len(gains.open)]
    choices_of_maximum = _choices_of_maximum(weights, parts_with_choices)
    highest_ratio = _maximum_ratio(sums_at_lowest, choices_of_maximum)
    # If all gains can be 0, so can the ratio, and no ratio is lower.
    if sums_at_lowest.ideal == 0:
        return 0.0, highest_ratio
    choices_of_minimum = _choices_of_minimum(weights, parts_with_choices)
    # The search for the minimum goes down from any ratio that is not below it.
    lowest_ratio = _minimum_ratio(highest_ratio, sums_at_lowest, choices_of_minimum)
    return lowest_ratio, highest_ratio


def _choices_of_maximum(weights: Floats, parts: Sequence[AttainableGains]) -> list[_Choices]:
    """Return the choices that maximise the ratio: how many documents rise by each step of a part.

    At each step, the heaviest documents rise: they add most to the numerator, and the same to the
    ideal as others would.
    """
    choices: list[_Choices] = []
    for gains in parts:
        choices_of_part = _choices_by_step(weights, gains)
        choices.extend(choices_of_part)
    return choices


def _choices_of_minimum(weights: Floats, parts: Sequence[AttainableGains]) -> list[_Choices]:
    """Return the choices that minimise the ratio: how many documents of a part rise.

    The lightest documents rise, as they add least to the numerator. They rise from their lowest
    gain to their highest at once: as the ideal is a convex function of the gains, numerator -
    ratio · ideal is concave, and a concave function is minimal at an end of its range.
    """
    return [_choices_of_whole_rise(weights, gains) for gains in parts]


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
    """Return the maximum ratio by Dinkelbach's method.

    It begins with the ratio 0, which is not above the maximum. The best choices for a ratio have a
    higher ratio, with which the next step begins; if they have none, the maximum is reached.
    """
    highest = 0.0
    candidate = _ratio_of_best_choices(highest, lowest, choices, np.argmax)
    while candidate > highest:
        highest = candidate
        candidate = _ratio_of_best_choices(highest, lowest, choices, np.argmax)
    return highest


def _minimum_ratio(start: float, lowest: _Sums, choices: list[_Choices]) -> float:
    """Return the minimum ratio by Dinkelbach's method.

    It begins with the ratio `start`, which is not below the minimum. The best choices for a ratio
    have a lower ratio, with which the next step begins; if they have none, the minimum is reached.
    """
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
    """Amounts that 0, 1, … rising documents add to both sums, shape (n_open + 1,)."""

    numerator: Floats
    ideal: Floats


def _choices_of_whole_rise(weights: Floats, gains: AttainableGains) -> _Choices:
    """Return what the 0, 1, … lightest open documents add if they rise to their highest gain.

    They add it to the numerator, Σ weight · gain, and to the ideal. Open documents have several
    gains, all the same ones; they are sorted by weight, the lightest last. They rise from their
    lowest to their highest gain by several *steps*, from each gain to the next one, whose heights
    are the differences of these gains.
    """
    steps = _steps_of_open_documents(gains)
    heights = gains.heights[steps]
    # The numerator: weight · rise of each document.
    rise = heights.sum()
    weights_of_open = weights[gains.open]
    lightest_first = weights_of_open[::-1]
    sums_of_weights = _sums_of_first(lightest_first)  # (n_open + 1,)
    numerator = sums_of_weights * rise
    # The ideal: height · discount for each step of each document.
    n_open = len(gains.open)
    sums_of_discounts = _discounts_of_rising(gains, steps, n_open)  # (n_open + 1, n_steps)
    added_by_step = sums_of_discounts * heights
    ideal = added_by_step.sum(axis=1)
    return _Choices(numerator, ideal)


def _choices_by_step(weights: Floats, gains: AttainableGains) -> list[_Choices]:
    """Return, per step, what the 0, 1, … heaviest open documents add if they rise by this step.

    They add it to the numerator, Σ weight · gain, and to the ideal. Open documents have several
    gains, all the same ones; they are sorted by weight, the heaviest first. A *step* leads from a
    gain to the next one; its height is the difference of both.
    """
    steps = _steps_of_open_documents(gains)
    weights_of_open = weights[gains.open]
    sums_of_weights = _sums_of_first(weights_of_open)  # (n_open + 1,)
    n_open = len(gains.open)
    sums_of_discounts = _discounts_of_rising(gains, steps, n_open)  # (n_open + 1, n_steps)
    choices: list[_Choices] = []
    for height, discounts_of_step in zip(gains.heights[steps], sums_of_discounts.T, strict=True):
        numerator = height * sums_of_weights
        ideal = height * discounts_of_step
        choices.append(_Choices(numerator, ideal))
    return choices


def _sums_of_first(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, …, n of n values, shape (n + 1,)."""
    cumulated = np.cumsum(values)
    return np.append(0.0, cumulated)


def _steps_of_open_documents(gains: AttainableGains) -> slice:
    """Return the steps from the lowest to the highest gain of the documents with several gains.

    These documents, `gains.open`, all have the same gains. Step 0 leads from level 0 to level 1.
    """
    # Any of them will do. From level 1 to level 3, it rises by the steps 1 and 2: slice(1, 3).
    document = gains.open[0]
    lowest_level = gains.lowest[document]
    highest_level = gains.highest[document]
    return slice(lowest_level, highest_level)


def _discounts_of_rising(gains: AttainableGains, steps: slice, n_documents: int) -> Floats:
    """Return the sum of the ideal discounts of 0, 1, … documents that rise by each of the steps.

    In the ideal ranking, the rising documents follow those that are above the step anyway, at their
    lowest gain. With 3 of these, 2 rising documents have the ranks 4 and 5. The shape is
    (n_documents + 1, n_steps).
    """
    n_above = gains.lowest_counts[steps]  # documents above each step anyway
    n_rising = np.arange(n_documents + 1)
    column_of_numbers = n_rising[:, None]
    return gains.discounts_of_next(n_above, column_of_numbers)


def _ratio_of_best_choices(
    ratio: float,
    lowest: _Sums,
    choices: list[_Choices],
    index_of_best: Callable[[Floats], np.intp],
) -> float:
    """Return the ratio of those choices for which numerator - ratio · ideal is best.

    It is a step of Dinkelbach's method towards the maximum (or the minimum). The choices that gave
    the `ratio` have a difference of 0. If others have a larger (smaller) difference, their ratio is
    larger (smaller), and is returned; otherwise, the given ratio is the maximum (minimum).

    Parameters
    ----------
    ratio : float
        The ratio so far.
    lowest : _Sums
        Numerator and ideal if no document rises to a higher gain.
    choices : list of _Choices
        What 0, 1, … rising documents add to both: arrays of one element per number.
    index_of_best : callable
        `numpy.argmax` for the maximum, `numpy.argmin` for the minimum.
    """
    numerator = lowest.numerator
    ideal = lowest.ideal
    # The difference is a sum over the choices, so each is made alone.
    for choice in choices:
        cost = ratio * choice.ideal
        difference = choice.numerator - cost
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
        problem = self.problem[index]
        low = self.low[index]
        high = self.high[index]
        return _Nodes(problem, low, high)


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
        documents = self.documents[:, columns]
        weights = self.weights[:, columns]
        return _WeightedDocuments(documents, weights)


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
        n_problems = len(weights)
        self.exact = np.ones(n_problems, dtype=np.bool_)
        #: The number of nodes that each problem has been divided into, by branch and bound.
        self._n_nodes = np.zeros(n_problems, dtype=np.intp)

        # Each problem has its own positive weights, but as an array has as many columns in each
        # row, the problem with most of them decides how many documents are heavy. Negative weights
        # decide in the same way how many are light. A document can be both.
        weights_of_weighted = weights[:, weighted]
        by_weight = _sort_by_weight(weighted, weights_of_weighted)
        n_heavy = _maximum_count(by_weight.weights > 0)
        first_columns = slice(n_heavy)
        self.heavy = by_weight.columns(first_columns)
        n_light = _maximum_count(by_weight.weights < 0)
        n_not_light = len(weighted) - n_light
        last_columns = slice(n_not_light, None)
        self.light = by_weight.columns(last_columns)
        columns_before = slice(n_not_light)
        self.not_light = by_weight.columns(columns_before)

    @cached_property
    def rise(self) -> Floats:
        """The highest gain of each document minus its lowest gain, shape (n_documents,)."""
        gains = self.gains
        highest_gain = gains.levels[gains.highest]
        lowest_gain = gains.levels[gains.lowest]
        return highest_gain - lowest_gain

    @cached_property
    def lowest_gain(self) -> Floats:
        """The lowest gain of each document that has a weight, shape (n_weights,).

        These are the first documents: column i of `self.weights` is for document i of `self.gains`.
        """
        gains = self.gains
        n_weights = self.weights.shape[1]
        lowest_level = gains.lowest[:n_weights]
        return gains.levels[lowest_level]

    @cached_property
    def lowest_sum(self) -> Floats:
        """The numerator of each problem if all documents are at their lowest level."""
        lowest_sum = self.weights @ self.lowest_gain
        return np.asarray(lowest_sum, dtype=np.float64)

    @cached_property
    def absolute_lowest_sum(self) -> Floats:
        """The sum of the absolute terms of `lowest_sum`."""
        absolute_weights = np.abs(self.weights)
        absolute_sum = absolute_weights @ self.lowest_gain
        return np.asarray(absolute_sum, dtype=np.float64)

    @cached_property
    def other_counts(self) -> Ints:
        """The number of documents at or above each positive level, without the heavy ones.

        All documents are at their lowest level. Heavy documents, `self.heavy`, are those of the
        highest weights in each problem. The shape is (n_problems, n_steps).
        """
        heavy_documents = self.heavy.documents  # (n_problems, n_heavy)
        lowest_level_of_heavy = self.gains.lowest[heavy_documents]
        heavy_counts = self.gains.counts(lowest_level_of_heavy)
        return self.gains.lowest_counts - heavy_counts

    def run(self) -> Extremes:
        """Return the maximum of each problem, or a bound if it takes too long to find."""
        self._try_ends()
        self._maximise_negative_ratios()
        self._maximise_other_ratios()
        self._bound_inexact_ratios()
        # Adding 0 makes negative zeros positive.
        value = self.best + 0.0
        return Extremes(value, self.exact)

    def _try_ends(self) -> None:
        """Set the best ratios to the highest with documents at their lowest or highest level only.

        The heaviest documents rise to their highest level, the others are at their lowest one. A
        document that rises makes the ideal, the denominator, larger, which makes a positive ratio
        lower, but brings a negative one nearer to 0. So two numbers of documents are tried: only
        some of positive weight rise, or all but some of negative weight.
        """
        ratios_of_few = self._ratios_if_heavy_rise()
        best_of_few = ratios_of_few.max(axis=1)
        ratios_of_many = self._ratios_if_all_but_light_rise()
        best_of_many = ratios_of_many.max(axis=1)
        self.best = np.maximum(best_of_few, best_of_many)

    def _ratios_if_heavy_rise(self) -> Floats:
        """Return the ratios if the 0, 1, … heaviest documents are at their highest level.

        All others are at their lowest. The shape is (n_problems, n_heavy + 1).
        """
        # If none rises, all problems have the same counts, as they have the same documents.
        counts_if_none_rises = self.gains.lowest_counts  # (n_steps,)
        n_problems = len(self.weights)
        shape = (n_problems, len(counts_if_none_rises))
        counts_of_problems = np.broadcast_to(counts_if_none_rises, shape)
        return self._ratios_of_rising(self.heavy, self.lowest_sum, counts_of_problems)

    def _ratios_if_all_but_light_rise(self) -> Floats:
        """Return the ratios if all documents but the last light ones are at their highest level.

        Light documents, `self.light`, are those of the lowest weights; `self.not_light` are the
        others. The 0, 1, … heaviest of the light ones rise to their highest level, too. The shape
        is (n_problems, n_light + 1).
        """
        # The numerator, and the numbers of documents above each step, while no light one rises.
        rise = self.rise[self.not_light.documents]
        weighted_rise = self.not_light.weights * rise
        sum_of_rises = weighted_rise.sum(axis=1)
        numerator = self.lowest_sum + sum_of_rises
        counts = self._counts_if_all_but_light_rise()
        return self._ratios_of_rising(self.light, numerator, counts)

    def _counts_if_all_but_light_rise(self) -> Ints:
        """Return how many documents are at or above each positive level in each problem.

        Light documents are at their lowest level, all others at their highest, also those without a
        weight: a larger ideal makes negative ratios higher. The shape is (n_problems, n_steps).
        """
        # Add, to the counts of lowest levels, the documents that reach a level by rising: it is
        # above their lowest level, up to their highest one.
        reaches_by_rising = self.gains.is_between_ends  # (n_documents, n_steps)
        n_all_rising = reaches_by_rising.sum(axis=0)
        light_reaches = reaches_by_rising[self.light.documents]  # (n_problems, n_light, n_steps)
        n_light_rising = light_reaches.sum(axis=1, dtype=np.intp)
        n_rising = n_all_rising - n_light_rising
        counts = self.gains.lowest_counts + n_rising
        return np.asarray(counts, dtype=np.intp)

    def _ratios_of_rising(
        self, candidates: _WeightedDocuments, start: Floats, start_counts: Ints
    ) -> Floats:
        """Return the ratios if the first 0, 1, … candidates rise to their highest level.

        Parameters
        ----------
        candidates : _WeightedDocuments, shape (n_problems, n)
            The documents that can rise, the heaviest first.
        start : ndarray of float, shape (n_problems,)
            The numerator, Σ weight · gain, if none rises.
        start_counts : ndarray of int, shape (n_problems, n_steps)
            The number of documents at or above each positive level if none rises.

        Returns
        -------
        ndarray of float, shape (n_problems, n + 1)
        """
        # The numerator for 0, 1, … rising candidates.
        rise = self.rise[candidates.documents]
        weighted_rise = candidates.weights * rise
        sums_of_rises = np.cumsum(weighted_rise, axis=1)
        if_none_rises = start[:, None]
        if_some_rise = if_none_rises + sums_of_rises
        numerator = np.append(if_none_rises, if_some_rise, axis=1)
        # The ideal follows from the number of documents at or above each level.
        n_reaching = self._numbers_reaching(candidates.documents)  # (n_problems, n + 1, n_steps)
        counts_if_none_rises = start_counts[:, None]  # (n_problems, 1, n_steps)
        counts = counts_if_none_rises + n_reaching
        ideal = self.gains.ideal(counts)
        return ratio(numerator, ideal)

    def _numbers_reaching(self, documents: Ints) -> Ints:
        """Return how many of the first 0, 1, … documents reach each positive level by rising.

        `documents` has the shape (n_problems, n), the result (n_problems, n + 1, n_steps). A
        document that rises reaches the levels above its lowest one, up to its highest one.
        """
        reaches_level = self.gains.is_between_ends[documents]  # (n_problems, n, n_steps)
        n_problems, n, n_steps = reaches_level.shape
        # The first of the n + 1 counts is of no document: it remains 0.
        shape = (n_problems, n + 1, n_steps)
        n_reaching = np.zeros(shape, dtype=np.intp)
        np.cumsum(reaches_level, axis=1, out=n_reaching[:, 1:])
        return n_reaching

    def _maximise_negative_ratios(self) -> None:
        """Maximise the ratios that are negative so far.

        If a ratio is negative, each document has its lowest or its highest gain.
        """
        if self._have_open_same_ends():
            # `_try_ends` has found the maximum: it has tried the n heaviest documents at the
            # highest gain for all numbers n that matter. Any other n documents at the highest gain
            # have the same ideal, and a lower numerator.
            return
        negative_problems = np.flatnonzero(self.best < 0)
        for problem in negative_problems.tolist():
            self._maximise_negative(problem)

    def _have_open_same_ends(self) -> bool:
        """Return whether all documents with several gains have the same lowest and highest one."""
        gains = self.gains
        lowest = gains.lowest[gains.open]
        highest = gains.highest[gains.open]
        return _all_equal(lowest) and _all_equal(highest)

    def _maximise_negative(self, problem: int) -> None:
        """Maximise a ratio by Dinkelbach's method as long as it is negative."""
        n_documents = len(self.gains.allowed)
        n_weights = self.weights.shape[1]
        weight = np.zeros(n_documents)  # 0 for documents below those with a weight
        weight[:n_weights] = self.weights[problem]
        while self.best[problem] < 0:
            ratio_so_far = self.best[problem]
            candidate = self._ratio_of_best_ends(weight, ratio_so_far)
            if candidate <= ratio_so_far:
                return  # nothing is better: it is the maximum
            self.best[problem] = candidate

    def _ratio_of_best_ends(self, weight: Floats, ratio_so_far: float) -> Floats:
        """Return the ratio of those gains that maximise Σ weight · gain - ratio so far · ideal.

        It is a step of Dinkelbach's method: the result is higher than the ratio so far, which is
        negative, unless that is the maximum. `weight` has the shape (n_documents,).
        """
        gain = self._best_ends(weight, ratio_so_far)
        weighted_sum = weight @ gain
        # The ideal ranking is by decreasing gain, whatever the weights.
        decreasing_gain = np.sort(gain)[::-1]
        ideal = decreasing_gain @ self.gains.discounts
        return ratio(weighted_sum, ideal)

    def _best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the gains that maximise Σ weight · gain - ratio · ideal, for a negative ratio.

        The sum is convex, so that each document has its lowest or its highest gain. The ideal is
        the maximum of Σ discount · gain over all orders of the documents. So the documents are
        assigned to the ranks of the ideal ranking, and a document at a rank has the gain for which
        (weight - ratio · discount) · gain, its worth, is higher. `weight` has the shape
        (n_documents,).
        """
        # The first column of the arrays stands for all ranks without a discount, which can have any
        # number of documents.
        discounts = self.gains.discounts
        positive_discounts = discounts[discounts > 0]
        rank_discounts = np.append(0.0, positive_discounts)
        cost = negative_ratio * rank_discounts
        factor = weight[:, None] - cost  # (n_documents, n_ranks + 1)

        low_gain, high_gain = self._gain_ends(weight)
        low_gains = low_gain[:, None]
        high_gains = high_gain[:, None]
        worth_if_low = factor * low_gains
        worth_if_high = factor * high_gains
        is_high_better = worth_if_high > worth_if_low
        better_gain = np.where(is_high_better, high_gains, low_gains)
        worth = np.maximum(worth_if_low, worth_if_high)
        column = _assign_columns(worth)
        document = np.arange(len(weight))
        return better_gain[document, column]

    def _gain_ends(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return the two gains of each document that can be best for a negative ratio.

        These are its lowest and its highest gain. If its weight is not negative, the highest gain
        is best in any case, as it makes both the numerator and the ideal larger: then both results
        are the highest gain.
        """
        gains = self.gains
        highest_gain = gains.levels[gains.highest]
        lowest_gain = gains.levels[gains.lowest]
        is_highest_best = weight >= 0
        lower_choice = np.where(is_highest_best, highest_gain, lowest_gain)
        return lower_choice, highest_gain

    def _maximise_other_ratios(self) -> None:
        """Maximise the ratios that are at least 0.

        Only documents of positive weight can increase such a ratio. They are among `self.heavy`,
        the documents of the highest weights in each problem.
        """
        n_heavy = self.heavy.documents.shape[1]
        if n_heavy == 0:
            return
        problem = np.flatnonzero(self.best >= 0)
        common_steps = self._common_steps()
        if common_steps is None:
            # Gains with gaps, or different ones: branch and bound.
            self._branch(problem)
        else:
            self._maximise_by_step(problem, common_steps)

    def _common_steps(self) -> slice | None:
        """Return the steps by which all documents `self.weighted` can rise, one by one.

        It is None if they differ in their levels, or if these have gaps. Step 0 leads from level 0
        to level 1: levels 1, 2 and 3 are connected by the steps 1 and 2, slice(1, 3).
        """
        gains = self.gains
        allowed = gains.allowed[self.weighted]  # (n_weighted, n_levels)
        first_document = self.weighted[0]
        allowed_of_first = allowed[0]
        have_same_levels = (allowed == allowed_of_first).all()
        if not have_same_levels:
            return None
        low = gains.lowest[first_document]
        high = gains.highest[first_document]
        # There are no gaps if all levels from the lowest to the highest one are allowed.
        n_allowed = allowed_of_first.sum()
        n_levels_to_high = high - low + 1
        if n_allowed < n_levels_to_high:
            return None
        return slice(low, high)

    def _maximise_by_step(self, problem: Ints, steps: slice) -> None:
        """Maximise ratios of at least 0 of documents that have the same gains, without gaps.

        Dinkelbach's method: as long as ratios increase, choose the gains that maximise numerator -
        best ratio · ideal. The number of the heaviest documents that rise is chosen for each step
        alone.

        Parameters
        ----------
        problem : ndarray of int, shape (n,)
            The problems.
        steps : slice
            The steps from one of these gains to the next.
        """
        heights = self.gains.heights[steps]
        # Times the height of a step, they are what 0, 1, … rising documents add to the numerator,
        # shape (n, n_heavy + 1), and to the ideal, shape (n_heavy + 1, n_steps).
        added_weights = self._sums_of_heaviest(problem)
        n_heavy = self.heavy.weights.shape[1]
        added_discounts = _discounts_of_rising(self.gains, steps, n_heavy)
        lowest_ideal = self.gains.ideal(self.gains.lowest_counts)
        while len(problem):
            n_rising = self._best_numbers_rising(problem, added_weights, added_discounts)
            # The elements for the chosen number of each step: (n, n_steps).
            rising_weights = np.take_along_axis(added_weights, n_rising, axis=1)
            rising_discounts = np.take_along_axis(added_discounts, n_rising, axis=0)
            added_to_numerator = rising_weights @ heights
            numerator = self.lowest_sum[problem] + added_to_numerator
            added_to_ideal = rising_discounts @ heights
            ideal = lowest_ideal + added_to_ideal
            candidate = ratio(numerator, ideal)
            # Only problems whose ratio has increased go on.
            is_better = candidate > self.best[problem]
            problem = problem[is_better]
            added_weights = added_weights[is_better]
            self.best[problem] = candidate[is_better]

    def _sums_of_heaviest(self, problem: Ints) -> Floats:
        """Return the sum of the weights of the 0, 1, … heaviest documents of each problem.

        The shape is (n, n_heavy + 1).
        """
        weights = self.heavy.weights[problem]
        no_weight = np.zeros((len(problem), 1))
        cumulated_weights = np.cumsum(weights, axis=1)
        return np.append(no_weight, cumulated_weights, axis=1)

    def _best_numbers_rising(
        self, problem: Ints, added_weights: Floats, added_discounts: Floats
    ) -> Ints:
        """Return how many of the heaviest documents should rise by each step, shape (n, n_steps).

        The numbers maximise numerator - best ratio · ideal. The lowest ones are taken if several
        do, up to rounding.

        Parameters
        ----------
        problem : ndarray of int, shape (n,)
            The problems.
        added_weights : ndarray of float, shape (n, n_heavy + 1)
            What 0, 1, … rising documents add to the numerator, divided by the height of the step.
        added_discounts : ndarray of float, shape (n_heavy + 1, n_steps)
            What they add to the ideal at each step, divided by its height.
        """
        # The arrays of three dimensions have one element per problem, number of documents and step.
        best_ratio = self.best[problem]
        cost = best_ratio[:, None, None] * added_discounts
        added = added_weights[:, :, None] - cost
        # Rounding errors are relative to the largest term of both sums.
        heaviest_weight = self.heavy.weights[problem, 0]
        largest_cost = best_ratio * self.gains.discounts[0]
        largest_term = np.maximum(heaviest_weight, largest_cost)
        tolerance = _TIE * largest_term
        best_by_step = _first_maximum(added, tolerance)  # (n, n_steps)
        # A document rises by a step only if it rises by those before it: [3, 1, 2] -> [3, 1, 1].
        n_rising = np.minimum.accumulate(best_by_step, axis=1)
        return np.asarray(n_rising, dtype=np.intp)

    def _bound_inexact_ratios(self) -> None:
        """Replace ratios whose maximum was not found by an upper bound.

        It is the maximum if documents can have all gains between their lowest and their highest:
        with more gains to choose from, it cannot be lower. This maximum is found fast.
        """
        inexact = np.flatnonzero(~self.exact)
        if len(inexact) == 0:
            return
        gains_without_gaps = self.gains.without_gaps()
        bound = highest_ratios(self.weights[inexact], gains_without_gaps)
        # A ratio that was found is attained: rounding must not make the bound lower.
        best_so_far = self.best[inexact]
        attained_or_bound = np.maximum(bound.value, best_so_far)
        self.best[inexact] = attained_or_bound

    def _branch(self, problem: Ints) -> None:
        """Maximise ratios of at least 0 by branch and bound, as gains have gaps.

        `problem` are the problems. A node is a problem with limits of its heavy documents' levels.
        """
        pending = self._root_nodes(problem)
        # All nodes at once could take too much memory.
        n_heavy = self.heavy.documents.shape[1]
        cells_per_node = n_heavy * len(self.gains.levels)
        nodes_at_once = max(1, _BATCH // cells_per_node)
        while len(pending.problem):
            first_nodes = slice(nodes_at_once)
            batch = pending.take(first_nodes)
            other_nodes = slice(nodes_at_once, None)
            later = pending.take(other_nodes)
            # Problems that got too many nodes are given up, with all their nodes: `self.exact` is
            # False for them, and their maximum will be bounded instead.
            is_searched = self.exact[batch.problem]
            searched = batch.take(is_searched)
            children = self._process_nodes(searched)
            # Depth first: the children of nodes come before other nodes, so that few are pending.
            pending = _join_nodes([children, later])

    def _root_nodes(self, problem: Ints) -> _Nodes:
        """Return one node per problem, in which heavy documents can have all their levels."""
        documents = self.heavy.documents[problem]  # (n, n_heavy)
        lowest_level = self.gains.lowest[documents]
        highest_level = self.gains.highest[documents]
        return _Nodes(problem, lowest_level, highest_level)

    def _process_nodes(self, nodes: _Nodes) -> _Nodes:
        """Try the best levels of the nodes, and return the nodes that follow from them.

        A node is a problem with limits of the levels of its heavy documents. Its best levels, for
        the best ratio so far, are found as if the levels of documents had no gaps; `self.best` is
        increased by the nearest levels that are allowed. There are three cases:

        - All best levels are allowed, and have increased the best ratio: others can be better for
          the new ratio, so the same node follows.
        - A level is in a gap, and a ratio above the best one is possible: the node is split into
          two, below and above the gap.
        - Otherwise the node has nothing better: no node follows.
        """
        level, can_be_better = self._relax(nodes)
        documents = self.heavy.documents[nodes.problem]
        is_allowed = self.gains.allowed[documents, level]  # (n_nodes, n_heavy)
        all_allowed = is_allowed.all(axis=1)
        is_attainable = np.asarray(all_allowed, dtype=np.bool_)
        has_increased = self._try_levels(nodes.problem, level)

        same_nodes = nodes.take(is_attainable & has_increased)
        is_split = ~is_attainable & can_be_better
        split_nodes = nodes.take(is_split)
        below, above = self._split(split_nodes, level[is_split], is_allowed[is_split])
        self._count_nodes(split_nodes.problem)
        return _join_nodes([same_nodes, below, above])

    def _count_nodes(self, problem: Ints) -> None:
        """Add two nodes for each element of `problem`, and give up problems with too many nodes.

        The latter are marked as not exact: they are only bounded.
        """
        # A problem can occur several times, so `add.at` and not an assignment.
        np.add.at(self._n_nodes, problem, 2)
        has_too_many = self._n_nodes > MOST_NODES
        self.exact[has_too_many] = False

    def _try_levels(self, problem: Ints, level: Ints) -> Bools:
        """Try the allowed levels of heavy documents that are nearest to the given levels.

        `problem` has the shape (n_nodes,), `level` the shape (n_nodes, n_heavy).

        Returns
        -------
        ndarray of bool, shape (n_nodes,)
            Whether the best ratio of the node's problem has increased.
        """
        earlier_best = self.best[problem]
        documents = self.heavy.documents[problem]
        level_below = self.gains.allowed_below[documents, level]
        level_above = self.gains.allowed_above[documents, level]
        self._keep_best(problem, level_below)
        # They are the same if all given levels are allowed.
        is_other_level = level_above != level_below
        if is_other_level.any():
            self._keep_best(problem, level_above)
        is_increased = self.best[problem] > earlier_best
        return np.asarray(is_increased, dtype=np.bool_)

    def _keep_best(self, problem: Ints, level: Ints) -> None:
        """Store the ratios at these levels of the heavy documents if they are higher than the best.

        `problem` has the shape (n_nodes,), `level` the shape (n_nodes, n_heavy).
        """
        ratios = self._ratios_at(problem, level)
        # Several nodes can be of the same problem: `maximum.at` takes the best of them.
        np.maximum.at(self.best, problem, ratios)

    def _split(self, nodes: _Nodes, level: Ints, is_allowed: Bools) -> tuple[_Nodes, _Nodes]:
        """Split each node at the gap around the level of its first document that is not allowed.

        Parameters
        ----------
        nodes : _Nodes
            Nodes with limits `low` and `high` of the levels of each heavy document.
        level : ndarray of int, shape (n_nodes, n_heavy)
            The levels of the heavy documents.
        is_allowed : ndarray of bool, shape (n_nodes, n_heavy)
            Whether each level is allowed; at least one of each node is not: it is in a gap.

        Returns
        -------
        below, above : _Nodes
            The same nodes, in which this document must be below the gap, or above it.
        """
        # Of each node: the column of its first document in a gap, that document, and its level.
        is_in_gap = ~is_allowed
        column = is_in_gap.argmax(axis=1)  # of a mask, it is the first True
        document = self.heavy.documents[nodes.problem, column]
        node = np.arange(len(nodes.problem))
        level_in_gap = level[node, column]

        # Below the gap, the document's limit `high` is lower; above it, its limit `low` is higher.
        high = nodes.high.copy()
        high[node, column] = self.gains.allowed_below[document, level_in_gap]
        below = _Nodes(nodes.problem, nodes.low, high)
        low = nodes.low.copy()
        low[node, column] = self.gains.allowed_above[document, level_in_gap]
        above = _Nodes(nodes.problem, low, nodes.high)
        return below, above

    def _ratios_at(self, problem: Ints, level: Ints) -> Floats:
        """Return the ratios Σ weight · gain / ideal at these levels of the heavy documents.

        All other documents are at their lowest level. `problem` has the shape (n,), `level` the
        shape (n, n_heavy), with the levels of `self.heavy.documents[problem]`.
        """
        numerator = self._numerators(problem, level)
        counts = self._counts(problem, level)
        ideal = self.gains.ideal(counts)
        return ratio(numerator, ideal)

    def _numerators(self, problem: Ints, level: Ints) -> Floats:
        """Return Σ weight · gain at these levels of the heavy documents, as in `_ratios_at`."""
        # Begin with all documents at their lowest level, and add what the heavy ones rise.
        documents = self.heavy.documents[problem]
        lowest_level = self.gains.lowest[documents]
        lowest_gain = self.gains.levels[lowest_level]
        gain = self.gains.levels[level]
        rise = gain - lowest_gain
        weight = self.heavy.weights[problem]
        weighted_rise = weight * rise
        sum_of_rises = weighted_rise.sum(axis=1)
        numerator = self.lowest_sum[problem] + sum_of_rises
        return np.asarray(numerator, dtype=np.float64)

    def _counts(self, problem: Ints, level: Ints) -> Ints:
        """Return the number of documents at or above each positive level, shape (n, n_steps).

        The heavy documents of the n problems are at `level`, shape (n, n_heavy), and the others at
        their lowest level; `self.other_counts` are the numbers of the latter.
        """
        heavy_counts = self.gains.counts(level)
        return self.other_counts[problem] + heavy_counts

    def _relax(self, nodes: _Nodes) -> tuple[Ints, Bools]:
        """Maximise numerator - best ratio · ideal of each node, with a decision per step.

        Gaps are ignored: each document can have all levels between its limits in the node, `low`
        and `high`. From `low`, it rises by steps, each to the next positive level.

        Returns
        -------
        level : ndarray of int, shape (n_nodes, n_heavy)
            The level of each document, whether it is allowed or in a gap.
        can_be_better : ndarray of bool, shape (n_nodes,)
            Whether the maximum is above 0, up to rounding: a ratio above the best one is possible.
        """
        may_rise = self._may_rise(nodes)  # (n_nodes, n_heavy, n_steps)
        counts_at_low = self._counts(nodes.problem, nodes.low)
        added = self._added_by_first(nodes.problem, may_rise, counts_at_low)
        level = self._best_levels(nodes, may_rise, added)
        # At a step, either some of the heaviest documents rise, or none, which adds 0.
        most_added_by_some = added.max(axis=1)
        most_added = np.maximum(most_added_by_some, 0.0)  # (n_nodes, n_steps)
        can_be_better = self._can_be_better(nodes, counts_at_low, most_added)
        return level, can_be_better

    def _may_rise(self, nodes: _Nodes) -> Bools:
        """Return whether each heavy document may rise to each positive level in each node.

        It may if the level is above the lowest one of the document in the node, and not above its
        highest one. The shape is (n_nodes, n_heavy, n_steps).
        """
        positive_levels = self.gains.positive_levels
        low = nodes.low[:, :, None]
        is_above_low = positive_levels > low
        high = nodes.high[:, :, None]
        is_up_to_high = positive_levels <= high
        return is_above_low & is_up_to_high

    def _added_by_first(self, problem: Ints, may_rise: Bools, counts_at_low: Ints) -> Floats:
        """Return what the heaviest documents add to numerator - best ratio · ideal by rising.

        By rising over a step of height 1, a document adds its weight to the numerator, and the
        discount of its ideal rank to the ideal. In the ideal ranking, rising documents follow those
        that are above the step anyway.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problem of each node.
        may_rise : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document, the heaviest first, may rise over each step.
        counts_at_low : ndarray of int, shape (n_nodes, n_steps)
            The number of documents that are above each step anyway.

        Returns
        -------
        ndarray of float, shape (n_nodes, n_heavy, n_steps)
            What all documents down to each one that may rise add, for a step of height 1.
        """
        # Cumulative sums over the documents, axis 1, of those that may rise.
        weight = self.heavy.weights[problem]  # (n_nodes, n_heavy)
        weight_at_step = np.where(may_rise, weight[:, :, None], 0.0)
        added_weights = np.cumsum(weight_at_step, axis=1)
        n_rising = np.cumsum(may_rise, axis=1, dtype=np.intp)

        n_above = counts_at_low[:, None]  # the same for each document
        added_discounts = self.gains.discounts_of_next(n_above, n_rising)
        best_ratio = self.best[problem]
        cost = best_ratio[:, None, None] * added_discounts
        added = added_weights - cost
        return np.asarray(added, dtype=np.float64)

    def _best_levels(self, nodes: _Nodes, may_rise: Bools, added: Floats) -> Ints:
        """Return the level of each heavy document if the best number of documents rises.

        Parameters
        ----------
        nodes : _Nodes
            The nodes; `nodes.low` is the level of each document if it does not rise.
        may_rise : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document may rise to each positive level.
        added : ndarray of float, shape (n_nodes, n_heavy, n_steps)
            What the documents down to each one add: the result of `_added_by_first`.

        Returns
        -------
        ndarray of int, shape (n_nodes, n_heavy)
        """
        rises = may_rise & self._is_chosen(nodes.problem, added)
        positive_levels = self.gains.positive_levels
        low = nodes.low[:, :, None]
        has_level_at_low = positive_levels <= low
        has_level = has_level_at_low | rises  # (n_nodes, n_heavy, n_steps)
        # A document stops at the first level that it does not have: with [True, False, True] for
        # the levels 1, 2 and 3, it has [True, False, False], and stays at level 1.
        reaches_level = np.logical_and.accumulate(has_level, axis=2)
        level = reaches_level.sum(axis=2)
        return np.asarray(level, dtype=np.intp)

    def _is_chosen(self, problem: Ints, added: Floats) -> Bools:
        """Return whether each document is among the fewest that add the maximum at each step.

        These are the documents down to the first one at which the maximum is reached, up to
        rounding; none if the maximum is 0 or less.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problem of each node.
        added : ndarray of float, shape (n_nodes, n_heavy, n_steps)
            What the documents down to each one add at each step.

        Returns
        -------
        ndarray of bool, shape (n_nodes, n_heavy, n_steps)
        """
        tolerance = self._rounding_of_added(problem)  # (n_nodes,)
        last_chosen = _first_maximum(added, tolerance)  # (n_nodes, n_steps)
        n_heavy = added.shape[1]
        documents = np.arange(n_heavy)
        # All documents are compared with the last one of each node and step.
        is_down_to_last = documents[:, None] <= last_chosen[:, None]

        most_added = added.max(axis=1)  # (n_nodes, n_steps)
        surely_added = most_added - tolerance[:, None]
        is_step_worthwhile = surely_added > 0
        is_chosen = is_down_to_last & is_step_worthwhile[:, None]
        return np.asarray(is_chosen, dtype=np.bool_)

    def _rounding_of_added(self, problem: Ints) -> Floats:
        """Return the rounding errors of sums of weight - best ratio · discount, shape (n_nodes,).

        Sums that differ by less count as equal. `problem` is the problem of each node.
        """
        # Rounding errors are relative to the largest term of a sum.
        weight = self.heavy.weights[problem]  # (n_nodes, n_heavy)
        largest_weight = np.abs(weight).max(axis=1)
        largest_discount = self.gains.discounts[0]  # discounts do not increase
        largest_cost = self.best[problem] * largest_discount
        largest_term = np.maximum(largest_weight, largest_cost)
        rounding_error = _TIE * largest_term
        return np.asarray(rounding_error, dtype=np.float64)

    def _can_be_better(self, nodes: _Nodes, counts_at_low: Ints, most_added: Floats) -> Bools:
        """Return whether a node can have a ratio above the best one of its problem.

        It can if the maximum of numerator - best ratio · ideal is above 0, up to rounding. The
        maximum is the value at the lowest levels of the node, and what rising documents add to it.

        Parameters
        ----------
        nodes : _Nodes
            The nodes, with the lowest and the highest level of each heavy document.
        counts_at_low : ndarray of int, shape (n_nodes, n_steps)
            The number of documents at or above each positive level, at these lowest levels.
        most_added : ndarray of float, shape (n_nodes, n_steps)
            The most that rising documents can add at each step, divided by the height of the step.
        """
        numerator_at_low = self._numerators(nodes.problem, nodes.low)
        added_by_rising = most_added @ self.gains.heights
        ideal_at_low = self.gains.ideal(counts_at_low)
        best_ratio = self.best[nodes.problem]
        ideal_cost = best_ratio * ideal_at_low
        maximum = numerator_at_low + added_by_rising - ideal_cost
        rounding_error = self._rounding_of_maximum(nodes, ideal_cost)
        can_be_better = maximum > rounding_error
        return np.asarray(can_be_better, dtype=np.bool_)

    def _rounding_of_maximum(self, nodes: _Nodes, ideal_cost: Floats) -> Floats:
        """Return a bound of the rounding error of Σ weight · gain - `ideal_cost`, shape (n_nodes,).

        It is a small fraction of the sum of the absolute terms: weight · lowest gain of all
        documents, weight · rise of the heavy documents, and `ideal_cost`, which is not negative.
        """
        sum_at_lowest = self.absolute_lowest_sum[nodes.problem]
        # A document rises by less than the gain of the highest level that it has in the node.
        highest_gain = self.gains.levels[nodes.high]
        weight = self.heavy.weights[nodes.problem]
        most_of_rises = np.abs(weight) * highest_gain  # (n_nodes, n_heavy)
        sum_of_rises = most_of_rises.sum(axis=1)
        sum_of_terms = sum_at_lowest + sum_of_rises + ideal_cost
        rounding_error = _ROUNDING * sum_of_terms
        return np.asarray(rounding_error, dtype=np.float64)


def _maximum_count(mask: Bools) -> int:
    """Return the maximum number of True values in a row of the mask; 0 without rows."""
    counts = mask.sum(axis=1)
    return int(counts.max(initial=0))


def _first_maximum(values: Floats, tolerance: Floats) -> Ints:
    """Return the index of the first maximum along axis 1, up to a tolerance.

    Parameters
    ----------
    values : ndarray of float, shape (n, m, n_steps)
        The values.
    tolerance : ndarray of float, shape (n,)
        By how much a maximum may be below the highest value.

    Returns
    -------
    ndarray of int, shape (n, n_steps)
    """
    highest = values.max(axis=1, keepdims=True)
    threshold = highest - tolerance[:, None, None]
    is_maximum = values >= threshold
    # `argmax` of a mask is the index of the first True.
    first = is_maximum.argmax(axis=1)
    return np.asarray(first, dtype=np.intp)


def _all_equal(levels: Ints) -> bool:
    """Return whether there are no different levels."""
    return len(np.unique(levels)) <= 1


def _assign_columns(worth: Floats) -> Ints:
    """Return the columns of documents that maximise the sum of their worths, shape (n_documents,).

    `worth` has one row per document. Column 0 can have any number of documents, each other column
    only one. No document is worth less in another column than in column 0.
    """
    from scipy.optimize import linear_sum_assignment

    # SciPy's assignment puts one document into each column: into column 1 and later ones. Those
    # that it leaves over are in column 0, so worth is counted from there. As it is never less in
    # another column, it does not matter that columns cannot be left empty.
    worth_in_column_0 = worth[:, :1]
    added_worth = worth[:, 1:] - worth_in_column_0
    assigned, index = linear_sum_assignment(added_worth, maximize=True)
    n_documents = len(worth)
    column = np.zeros(n_documents, dtype=np.intp)
    column[assigned] = index + 1  # index 0 is column 1
    return column
