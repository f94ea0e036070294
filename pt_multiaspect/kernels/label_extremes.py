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

        A gain is the sum of the steps up to its level. The n documents that reach a level have the
        first n ranks of the ideal ranking, so the step to this level is counted with the first n
        discounts. For the gains 3, 1 and 1, it is 1 · (d1 + d2 + d3) + 2 · d1: three documents take
        the step from 0 to 1, and one the step from 1 to 3.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_steps)
            The number of documents at or above each positive level.

        Returns
        -------
        ndarray of float, shape (...)
        """
        sums_of_first_discounts = self.cumulated[counts]  # (..., n_steps)
        ideal = sums_of_first_discounts @ self.steps
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
    # All problems at once could take too much memory.
    n_cells_per_level = len(weighted) + 1
    cells_per_problem = n_cells_per_level * len(gains.levels)
    problems_at_once = max(1, _BATCH // cells_per_problem)
    value = np.zeros(n_problems)
    exact = np.ones(n_problems, dtype=np.bool_)
    for first in range(0, n_problems, problems_at_once):
        batch = slice(first, first + problems_at_once)
        search = _Search(weights[batch], weighted, gains)
        extremes = search.run()
        value[batch] = extremes.value
        exact[batch] = extremes.exact
    return Extremes(value, exact)


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
    low, high : float
        The extremes; 0 if the ideals can be 0.
    """
    lowest = _sums_at_lowest_gains(weights, parts)
    parts_with_choices = [gains for gains in parts if len(gains.open)]
    choices_of_maximum = _choices_of_maximum(weights, parts_with_choices)
    high = _maximum_ratio(lowest, choices_of_maximum)
    # If all gains can be 0, so can the ratio, and no ratio is lower.
    if lowest.ideal == 0:
        return 0.0, high
    choices_of_minimum = _choices_of_minimum(weights, parts_with_choices)
    low = _minimum_ratio(high, lowest, choices_of_minimum)
    return low, high


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

    The lightest documents rise, as they add least to the numerator, and from the lowest gain to the
    highest at once: numerator - ratio · ideal is concave in the gains, so it is minimal at an end.
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
    """Return the maximum ratio by Dinkelbach's method: from 0 up, until nothing is higher."""
    highest = 0.0
    candidate = _ratio_of_best_choices(highest, lowest, choices, np.argmax)
    while candidate > highest:
        highest = candidate
        candidate = _ratio_of_best_choices(highest, lowest, choices, np.argmax)
    return highest


def _minimum_ratio(start: float, lowest: _Sums, choices: list[_Choices]) -> float:
    """Return the minimum ratio by Dinkelbach's method: from `start` down to the lowest."""
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
    """What 0, 1, … rising documents add to both sums, shape (n_open + 1,)."""

    numerator: Floats
    ideal: Floats


def _choices_of_whole_rise(weights: Floats, gains: AttainableGains) -> _Choices:
    """Return what the 0, 1, … lightest open documents add if they rise to their highest gain.

    They add it to the numerator, Σ weight · gain, and to the ideal. Open documents have several
    gains, all the same ones; they are sorted by weight, the lightest last. They rise from their
    lowest to their highest gain by several *steps*, from each gain to the next one.
    """
    n_open = len(gains.open)
    free = _steps_of_open_documents(gains)
    steps = gains.steps[free]
    weights_of_open = weights[gains.open]
    lightest_first = weights_of_open[::-1]
    rise = steps.sum()
    sums_of_weights = _sums_of_first(lightest_first)  # (n_open + 1,)
    numerator = sums_of_weights * rise

    # To the ideal, they add the discounts of their ranks at each step, times the step.
    added_discounts = _added_discounts(gains, free, n_open)  # (n_open + 1, n_steps)
    added_by_step = added_discounts * steps
    ideal = added_by_step.sum(axis=1)
    return _Choices(numerator, ideal)


def _choices_by_step(weights: Floats, gains: AttainableGains) -> list[_Choices]:
    """Return, per step, what the 0, 1, … heaviest open documents add if they rise by this step.

    They add it to the numerator, Σ weight · gain, and to the ideal. Open documents have several
    gains, all the same ones; they are sorted by weight, the heaviest first. A *step* leads from a
    gain to the next one.
    """
    n_open = len(gains.open)
    free = _steps_of_open_documents(gains)
    steps = gains.steps[free]
    weights_of_open = weights[gains.open]
    added_weights = _sums_of_first(weights_of_open)  # (n_open + 1,)
    added_discounts = _added_discounts(gains, free, n_open)  # (n_open + 1, n_steps)
    choices: list[_Choices] = []
    for step, discounts_of_step in zip(steps, added_discounts.T, strict=True):
        numerator = step * added_weights
        ideal = step * discounts_of_step
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


def _added_discounts(gains: AttainableGains, free: slice, n_documents: int) -> Floats:
    """Return the sums of the ideal discounts of 0, 1, … documents that rise by a step.

    `free` are the steps. The shape is (n_documents + 1, n_free_steps). Times the step, the sums are
    what these documents add to the ideal.
    """
    # The documents that are above the step anyway have the first ranks; the rising ones follow.
    n_above = gains.lowest_counts[free]  # (n_free_steps,)
    n_rising = np.arange(n_documents + 1)
    return gains.discounts_of_next(n_above, n_rising[:, None])


def _ratio_of_best_choices(
    ratio: float,
    lowest: _Sums,
    choices: list[_Choices],
    index_of_best: Callable[[Floats], np.intp],
) -> float:
    """Return the ratio of those choices that maximise (or minimise) numerator - ratio · ideal.

    It is a step of Dinkelbach's method. The difference is 0 for choices of the given ratio, so that
    choices with a larger difference have a larger ratio; if there are none, the given ratio is the
    maximum.

    Parameters
    ----------
    ratio : float
        The given ratio.
    lowest : _Sums
        Numerator and ideal if no document rises to a higher gain.
    choices : list of _Choices
        What 0, 1, … rising documents add to both: arrays of one element per number.
    index_of_best : callable
        `numpy.argmax` to maximise, `numpy.argmin` to minimise.
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

        # As arrays have one row per problem, all problems have the same numbers of heavy and of
        # light documents: enough for the problem with most positive, or negative, weights.
        weights_of_weighted = weights[:, weighted]
        by_weight = _sort_by_weight(weighted, weights_of_weighted)
        n_heavy = _maximum_count(by_weight.weights > 0)
        n_light = _maximum_count(by_weight.weights < 0)
        n_not_light = len(weighted) - n_light
        heavy_columns = slice(n_heavy)
        self.heavy = by_weight.columns(heavy_columns)
        not_light_columns = slice(n_not_light)
        self.not_light = by_weight.columns(not_light_columns)
        light_columns = slice(n_not_light, None)
        self.light = by_weight.columns(light_columns)

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

        The n heaviest documents are at their highest level, the others at their lowest one.
        """
        # Documents at a high level also make the ideal, the denominator, larger. So a positive
        # ratio is highest for a small n: only documents of positive weight rise. A negative ratio
        # is highest for a large n: all rise but those of negative weight. Both are tried.
        ratios_for_small_n = self._ratios_if_heavy_rise()
        ratios_for_large_n = self._ratios_if_all_but_light_rise()
        best_for_small_n = ratios_for_small_n.max(axis=1)
        best_for_large_n = ratios_for_large_n.max(axis=1)
        self.best = np.maximum(best_for_small_n, best_for_large_n)

    def _ratios_if_heavy_rise(self) -> Floats:
        """Return the ratios if the 0, 1, … heaviest documents are at their highest level.

        All others are at their lowest. The shape is (n_problems, n_heavy + 1).
        """
        lowest_counts = self.gains.lowest_counts
        n_problems = len(self.weights)
        shape = (n_problems, len(lowest_counts))
        counts_of_problems = np.broadcast_to(lowest_counts, shape)
        return self._ratios_of_rising(self.heavy, self.lowest_sum, counts_of_problems)

    def _ratios_if_all_but_light_rise(self) -> Floats:
        """Return the ratios if all documents but the last light ones are at their highest level.

        Light documents, `self.light`, are those of the lowest weights. The 0, 1, … heaviest of them
        are at their highest level, too. The shape is (n_problems, n_light + 1).
        """
        rise = self.rise[self.not_light.documents]
        weighted_rise = self.not_light.weights * rise
        sum_of_rises = weighted_rise.sum(axis=1)
        numerator = self.lowest_sum + sum_of_rises
        counts = self._counts_if_all_but_light_rise()
        return self._ratios_of_rising(self.light, numerator, counts)

    def _counts_if_all_but_light_rise(self) -> Ints:
        """Return how many documents are at or above each positive level in each problem.

        Light documents are at their lowest level, all others at their highest. The shape is
        (n_problems, n_steps).
        """
        # Documents without a weight are at their highest level, too: a larger ideal makes negative
        # ratios higher.
        is_above_lowest = self.gains.is_between_ends  # (n_documents, n_steps)
        n_rising = is_above_lowest.sum(axis=0)
        light_is_above = is_above_lowest[self.light.documents]  # (n_problems, n_light, n_steps)
        n_light_rising = light_is_above.sum(axis=1, dtype=np.intp)
        n_others_rising = n_rising - n_light_rising
        counts = self.gains.lowest_counts + n_others_rising
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
        rise = self.rise[candidates.documents]
        weighted_rise = candidates.weights * rise
        sums_of_rises = np.cumsum(weighted_rise, axis=1)
        no_rise = start[:, None]
        with_rises = no_rise + sums_of_rises
        numerator = np.append(no_rise, with_rises, axis=1)

        n_reaching = self._numbers_reaching(candidates.documents)  # (n_problems, n + 1, n_steps)
        counts = start_counts[:, None] + n_reaching
        ideal = self.gains.ideal(counts)
        return ratio(numerator, ideal)

    def _numbers_reaching(self, documents: Ints) -> Ints:
        """Return how many of the first 0, 1, … documents reach each positive level by rising.

        `documents` has the shape (n_problems, n), the result (n_problems, n + 1, n_steps).
        """
        # A document that rises reaches all levels above its lowest up to its highest one.
        reaches_level = self.gains.is_between_ends[documents]  # (n_problems, n, n_steps)
        n_problems, n, n_steps = reaches_level.shape
        # Entry 0 remains 0: no document rises.
        shape = (n_problems, n + 1, n_steps)
        n_reaching = np.zeros(shape, dtype=np.intp)
        np.cumsum(reaches_level, axis=1, out=n_reaching[:, 1:])
        return n_reaching

    def _maximise_negative_ratios(self) -> None:
        """Maximise the ratios that are negative so far.

        If a ratio is negative, each document has its lowest or its highest gain.
        """
        # If all documents with several gains have the same ends, exchanging a light document that
        # is high with a heavier one that is low changes only the numerator, for the better. So the
        # n heaviest are high, for some n, all of which `_try_ends` has tried.
        gains = self.gains
        lowest = gains.lowest[gains.open]
        have_same_lowest = _all_equal(lowest)
        highest = gains.highest[gains.open]
        have_same_highest = _all_equal(highest)
        if have_same_lowest and have_same_highest:
            return
        negative_problems = np.flatnonzero(self.best < 0)
        for problem in negative_problems.tolist():
            self._maximise_negative(problem)

    def _maximise_negative(self, problem: int) -> None:
        """Maximise a ratio by Dinkelbach's method as long as it is negative."""
        n_documents = len(self.gains.allowed)
        n_weights = self.weights.shape[1]
        weight = np.zeros(n_documents)  # 0 for documents below those with a weight
        weight[:n_weights] = self.weights[problem]
        while self.best[problem] < 0:
            ratio_so_far = self.best[problem]
            candidate = self._ratio_of_best_ends(weight, ratio_so_far)
            has_found_maximum = candidate <= self.best[problem]
            if has_found_maximum:
                return
            self.best[problem] = candidate

    def _ratio_of_best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the ratio of those gains that maximise Σ weight · gain - negative ratio · ideal.

        It is a step of Dinkelbach's method: the ratio of these gains is higher than the given one,
        or that is the maximum. `weight` has the shape (n_documents,).
        """
        gain = self._best_ends(weight, negative_ratio)
        weighted_sum = weight @ gain
        # The ideal ranking is by decreasing gain, whatever the weights.
        decreasing_gain = np.sort(gain)[::-1]
        ideal = decreasing_gain @ self.gains.discounts
        return ratio(weighted_sum, ideal)

    def _best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the gains that maximise Σ weight · gain - ratio · ideal, for a negative ratio.

        The sum is convex, so that each document has its lowest or its highest gain. The ideal is
        the maximum of Σ discount · gain over all orders of the documents. So documents are
        assigned to ranks of the ideal ranking, and each has the gain that is worth more there.
        """
        low_gain, high_gain = self._gain_ends(weight)
        # Rank 0, without a discount, stands for all ranks below those with a discount.
        discounts = self.gains.discounts
        positive_discounts = discounts[discounts > 0]
        rank_discounts = np.append(0.0, positive_discounts)

        # At a rank, a gain is worth (weight - ratio · discount) · gain; the arrays have the shape
        # (n_documents, n_ranks + 1).
        cost = negative_ratio * rank_discounts
        factor = weight[:, None] - cost
        worth_if_low = factor * low_gain[:, None]
        worth_if_high = factor * high_gain[:, None]
        is_high_better = worth_if_high > worth_if_low
        low_gains = low_gain[:, None]
        better_gain = np.where(is_high_better, high_gain[:, None], low_gains)
        worth = np.maximum(worth_if_low, worth_if_high)

        rank = _assign_ranks(worth)
        document = np.arange(len(weight))
        return better_gain[document, rank]

    def _gain_ends(self, weight: Floats) -> tuple[Floats, Floats]:
        """Return the two gains of each document that can be best for a negative ratio.

        These are its lowest and its highest gain. Only the latter is good if its weight is not
        negative: it makes both the numerator and the ideal larger.
        """
        gains = self.gains
        highest_gain = gains.levels[gains.highest]
        lowest_gain = gains.levels[gains.lowest]
        is_not_negative = weight >= 0
        low_gain = np.where(is_not_negative, highest_gain, lowest_gain)
        return low_gain, highest_gain

    def _maximise_other_ratios(self) -> None:
        """Maximise the ratios that are at least 0."""
        # Only a gain with a positive weight can increase such a ratio.
        n_heavy = self.heavy.documents.shape[1]
        if n_heavy == 0:
            return
        problem = np.flatnonzero(self.best >= 0)
        common_steps = self._common_steps()
        if common_steps is not None:
            self._maximise_by_step(problem, common_steps)
        else:
            self._branch(problem)

    def _common_steps(self) -> slice | None:
        """Return the steps by which all documents `self.weighted` can rise, one by one.

        It is None if they differ in their levels, or if these have gaps. Step 0 leads from level 0
        to level 1.
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
        allowed_below_high = allowed_of_first[low:high]
        has_gaps = not allowed_below_high.all()
        if has_gaps:
            return None
        return slice(low, high)

    def _maximise_by_step(self, problem: Ints, free: slice) -> None:
        """Maximise ratios of at least 0 of documents that have the same gains, without gaps.

        Dinkelbach's method: as long as ratios increase, choose the gains that maximise numerator -
        best ratio · ideal. The number of the heaviest documents that rise is chosen for each step
        alone.

        Parameters
        ----------
        problem : ndarray of int, shape (n,)
            The problems.
        free : slice
            The steps from one of these gains to the next.
        """
        steps = self.gains.steps[free]
        n_heavy = self.heavy.weights.shape[1]
        # What 0, 1, … rising documents add to the numerator, and to the ideal, divided by the step:
        # the shapes are (n, n_heavy + 1) and (n_heavy + 1, n_steps).
        added_weights = self._sums_of_heaviest(problem)
        added_discounts = _added_discounts(self.gains, free, n_heavy)
        lowest_ideal = self.gains.ideal(self.gains.lowest_counts)
        while len(problem):
            n_rising = self._best_numbers_rising(problem, added_weights, added_discounts)
            rising_weights = np.take_along_axis(added_weights, n_rising, axis=1)  # (n, n_steps)
            rising_discounts = np.take_along_axis(added_discounts, n_rising, axis=0)
            added_to_numerator = rising_weights @ steps
            numerator = self.lowest_sum[problem] + added_to_numerator
            added_to_ideal = rising_discounts @ steps
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
            What 0, 1, … rising documents add to the numerator, divided by the step.
        added_discounts : ndarray of float, shape (n_heavy + 1, n_steps)
            What they add to the ideal at each step, divided by the step.
        """
        best_ratio = self.best[problem]
        cost = best_ratio[:, None, None] * added_discounts
        added = added_weights[:, :, None] - cost  # (n, n_heavy + 1, n_steps)
        # Rounding errors are relative to the largest term of both sums.
        heaviest_weight = self.heavy.weights[problem, 0]
        largest_cost = best_ratio * self.gains.discounts[0]
        largest_term = np.maximum(heaviest_weight, largest_cost)
        tolerance = _TIE * largest_term
        best_by_step = _first_maximum(added, tolerance)
        # Documents rise by a step only if they rise by those before it: [3, 1, 2] -> [3, 1, 1].
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
            # Problems with too many nodes are given up: they are marked as not exact.
            is_continued = self.exact[batch.problem]
            continued = batch.take(is_continued)
            children = self._process_nodes(continued)
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

        Higher ratios are stored in `self.best`.
        """
        level, has_excess = self._relax(nodes)
        documents = self.heavy.documents[nodes.problem]
        is_allowed = self.gains.allowed[documents, level]  # (n_nodes, n_heavy)
        is_improved = self._try_levels(nodes.problem, level)

        # All levels are allowed: the best ones for the ratio so far. If the ratio has increased,
        # others can be better, and the node is tried again; otherwise it is done.
        all_are_allowed = is_allowed.all(axis=1)
        is_attainable = np.asarray(all_are_allowed, dtype=np.bool_)
        repeated = nodes.take(is_attainable & is_improved)
        # A level is in a gap: the node is split, unless it has no ratio above the best one.
        is_split = ~is_attainable & has_excess
        split_nodes = nodes.take(is_split)
        split_level = level[is_split]
        is_allowed_of_split = is_allowed[is_split]
        below, above = self._split(split_nodes, split_level, is_allowed_of_split)
        self._count_nodes(split_nodes.problem)
        return _join_nodes([repeated, below, above])

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
        # The first document in a gap, of each node: its column among the heavy ones, its number.
        node = np.arange(len(nodes.problem))
        is_in_gap = ~is_allowed
        column = is_in_gap.argmax(axis=1)  # of a mask, it is the first True
        heavy_documents = self.heavy.documents
        document = heavy_documents[nodes.problem, column]
        level_in_gap = level[node, column]

        high = nodes.high.copy()
        highest_below = self.gains.allowed_below[document, level_in_gap]
        high[node, column] = highest_below
        below = _Nodes(nodes.problem, nodes.low, high)
        low = nodes.low.copy()
        lowest_above = self.gains.allowed_above[document, level_in_gap]
        low[node, column] = lowest_above
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
        and `high`. From `low`, it rises by steps to the next positive levels.

        Returns
        -------
        level : ndarray of int, shape (n_nodes, n_heavy)
            The level of each document, whether it is allowed or in a gap.
        has_excess : ndarray of bool, shape (n_nodes,)
            Whether the maximum is above 0, up to rounding: a ratio above the best one is possible.
        """
        # A document may rise to the positive levels above its low one, up to its high one.
        positive_levels = self.gains.positive_levels
        is_above_low = positive_levels > nodes.low[:, :, None]
        is_up_to_high = positive_levels <= nodes.high[:, :, None]
        is_free = is_above_low & is_up_to_high  # (n_nodes, n_heavy, n_steps)

        counts_at_low = self._counts(nodes.problem, nodes.low)
        added = self._increase_by_rising(nodes.problem, is_free, counts_at_low)
        # At a step, either some of the heaviest documents rise, or none, which adds 0.
        most_added_by_some = added.max(axis=1)
        most_added = np.maximum(most_added_by_some, 0.0)  # (n_nodes, n_steps)
        level = self._best_levels(nodes, is_free, added)
        has_excess = self._has_excess(nodes, counts_at_low, most_added)
        return level, has_excess

    def _increase_by_rising(self, problem: Ints, is_free: Bools, counts_at_low: Ints) -> Floats:
        """Return what the first free documents add to numerator - best ratio · ideal at each step.

        Documents are sorted by weight, the heaviest first.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problem of each node.
        is_free : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document may rise by each step.
        counts_at_low : ndarray of int, shape (n_nodes, n_steps)
            The number of documents above each step if none rises.

        Returns
        -------
        ndarray of float, shape (n_nodes, n_heavy, n_steps)
            What the free documents down to each heavy one add if they rise by a step, divided by
            the step: their weights minus best ratio · the discounts of their ideal ranks.
        """
        weight = self.heavy.weights[problem]  # (n_nodes, n_heavy)
        free_weight = np.where(is_free, weight[:, :, None], 0.0)
        added_weights = np.cumsum(free_weight, axis=1)

        n_rising = np.cumsum(is_free, axis=1, dtype=np.intp)
        n_above = counts_at_low[:, None]  # the same for each document
        added_discounts = self.gains.discounts_of_next(n_above, n_rising)
        best_ratio = self.best[problem]
        cost = best_ratio[:, None, None] * added_discounts
        added = added_weights - cost
        return np.asarray(added, dtype=np.float64)

    def _best_levels(self, nodes: _Nodes, is_free: Bools, added: Floats) -> Ints:
        """Return the level of each heavy document if the best number of documents rises.

        Parameters
        ----------
        nodes : _Nodes
            The nodes; `nodes.low` is the level of each document if it does not rise.
        is_free : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document may rise to each positive level.
        added : ndarray of float, shape (n_nodes, n_heavy, n_steps)
            What the free documents down to each one add: the result of `_increase_by_rising`.

        Returns
        -------
        ndarray of int, shape (n_nodes, n_heavy)
        """
        is_chosen = self._is_chosen(nodes.problem, added)
        rises = is_free & is_chosen
        positive_levels = self.gains.positive_levels
        is_at_or_below_low = positive_levels <= nodes.low[:, :, None]
        can_reach = rises | is_at_or_below_low  # (n_nodes, n_heavy, n_steps)
        # A document reaches a level only if it reaches all levels below it. Of three positive
        # levels, [True, False, True] -> [True, False, False]: the number of True is its level, 1.
        reaches = np.logical_and.accumulate(can_reach, axis=2)
        level = reaches.sum(axis=2)
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
        tolerance = self._rounding_of_added(problem)
        last_chosen = _first_maximum(added, tolerance)  # (n_nodes, n_steps)
        n_heavy = added.shape[1]
        document = np.arange(n_heavy)[:, None]
        last_document = last_chosen[:, None]
        is_down_to_last = document <= last_document
        most_added = added.max(axis=1)  # (n_nodes, n_steps)
        surely_added = most_added - tolerance[:, None]
        is_worthwhile = surely_added > 0
        is_chosen = is_down_to_last & is_worthwhile[:, None]
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

    def _has_excess(self, nodes: _Nodes, counts_at_low: Ints, most_added: Floats) -> Bools:
        """Return whether the maximum of numerator - best ratio · ideal is above 0.

        It is the value at the lowest levels of a node, and what rising documents add to it.

        Parameters
        ----------
        nodes : _Nodes
            The nodes, with the lowest and the highest level of each heavy document.
        counts_at_low : ndarray of int, shape (n_nodes, n_steps)
            The number of documents at or above each positive level, at these lowest levels.
        most_added : ndarray of float, shape (n_nodes, n_steps)
            What rising documents add at each step, divided by the step.
        """
        numerator_at_low = self._numerators(nodes.problem, nodes.low)
        ideal_at_low = self.gains.ideal(counts_at_low)
        best_ratio = self.best[nodes.problem]
        ideal_cost = best_ratio * ideal_at_low
        added_by_rising = most_added @ self.gains.steps
        excess = numerator_at_low + added_by_rising - ideal_cost
        rounding_error = self._rounding_of_excess(nodes, ideal_cost)
        has_excess = excess > rounding_error
        return np.asarray(has_excess, dtype=np.bool_)

    def _rounding_of_excess(self, nodes: _Nodes, ideal_cost: Floats) -> Floats:
        """Return a bound of the rounding error of Σ weight · gain - `ideal_cost`, shape (n_nodes,).

        It is a small fraction of the sum of the absolute terms. The sum Σ weight · gain has two
        kinds of terms: those of all documents at their lowest gain, and those of heavy documents
        that rise from there, at most to the highest level of the node.
        """
        sum_at_lowest = self.absolute_lowest_sum[nodes.problem]
        # A rise is less than the gain to which it leads.
        highest_gain = self.gains.levels[nodes.high]
        weight = self.heavy.weights[nodes.problem]
        terms_of_rises = np.abs(weight) * highest_gain  # (n_nodes, n_heavy)
        sum_of_rises = terms_of_rises.sum(axis=1)
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


def _assign_ranks(worth: Floats) -> Ints:
    """Return the ranks of documents that maximise the sum of their worths, shape (n_documents,).

    `worth` has one row per document and one column per rank. Rank 0 can have any number of
    documents, each other rank only one.
    """
    from scipy.optimize import linear_sum_assignment

    # Documents that are assigned to no other rank stay at rank 0.
    worth_at_rank_0 = worth[:, :1]
    worth_above_rank_0 = worth[:, 1:] - worth_at_rank_0
    assigned, column = linear_sum_assignment(worth_above_rank_0, maximize=True)
    n_documents = len(worth)
    rank = np.zeros(n_documents, dtype=np.intp)
    rank[assigned] = column + 1  # column 0 is rank 1
    return rank
