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
        is_above_lowest = self.positive_levels > self.lowest[:, None]
        is_up_to_highest = self.positive_levels <= self.highest[:, None]
        return is_above_lowest & is_up_to_highest

    @cached_property
    def lowest_counts(self) -> Ints:
        """The number of documents at or above each positive level if all are at their lowest."""
        reaches_level = self.lowest[:, None] >= self.positive_levels  # (n_documents, n_steps)
        counts = reaches_level.sum(axis=0)
        return np.asarray(counts, dtype=np.intp)

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
        """The lowest allowed level from each level on, shape (n_documents, n_levels)."""
        n_levels = len(self.levels)
        level = np.arange(n_levels)
        last_level = n_levels - 1
        # The last level stands for levels that are not allowed, as it makes no minimum smaller. If
        # the levels 1 and 3 of 0 to 3 are allowed: [3, 1, 3, 3] -> [1, 1, 3, 3].
        allowed_level = np.where(self.allowed, level, last_level)
        # The running minimum goes from the last level down, so the columns are reversed for it.
        from_last_level = allowed_level[:, ::-1]
        minimum_from_last = np.minimum.accumulate(from_last_level, axis=1)
        minimum_from_each = minimum_from_last[:, ::-1]
        return np.asarray(minimum_from_each, dtype=np.intp)

    def without_gaps(self) -> AttainableGains:
        """Return the same with all levels between the lowest and the highest of each document."""
        level = np.arange(len(self.levels))
        is_from_lowest = level >= self.lowest[:, None]
        is_to_highest = level <= self.highest[:, None]
        allowed = is_from_lowest & is_to_highest  # (n_documents, n_levels)
        return AttainableGains(self.levels, allowed, self.discounts)

    def ideal(self, counts: Ints) -> Floats:
        """Return the sum of the ideal ranking, Σ discount · gain, level by level.

        `self.steps` has the difference of each positive level and the level below it, and
        `self.cumulated` the sum of the first 0, 1, … discounts.

        Parameters
        ----------
        counts : ndarray of int, shape (..., n_steps)
            The number of documents at or above each positive level.

        Returns
        -------
        ndarray of float, shape (...)
        """
        # The n documents at or above a level have the first n ranks of the ideal ranking, and the
        # step to this level is a part of their gains. Gains of 3, 1 and 1 at the levels 0, 1 and 3
        # have the steps 1 and 2: their ideal is 1 · (d1 + d2 + d3) + 2 · d1.
        discount_sums = self.cumulated[counts]  # (..., n_steps)
        total = discount_sums @ self.steps
        return np.asarray(total, dtype=np.float64)


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
    low_choices: list[_Choices] = []
    high_choices: list[_Choices] = []
    for gains in parts:
        has_choices = len(gains.open) > 0
        if has_choices:
            # For the minimum, a document has its lowest or its highest gain: one choice per part,
            # how many documents rise. For the maximum, it is one choice per level of the gains.
            whole_rise = _choices_of_whole_rise(weights, gains)
            low_choices.append(whole_rise)
            choices_by_step = _choices_by_step(weights, gains)
            high_choices.extend(choices_by_step)

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
    gains, all the same ones; the lightest have the lowest weights. A document rises from its lowest
    to its highest gain by *steps*, the differences of neighbouring gains.
    """
    n_open = len(gains.open)
    free = _steps_of_open_documents(gains)
    steps = gains.steps[free]
    # The ratio is minimised, so the lightest rise first. Weights do not increase: these are last.
    open_weights = weights[gains.open]
    lightest_first = open_weights[::-1]
    weight_sums = _sums_of_first(lightest_first)  # (n_open + 1,)
    whole_rise = steps.sum()
    numerator = weight_sums * whole_rise

    # At each step, the ideal grows by the step times the discounts of the rising documents.
    discount_sums = _added_discounts(gains, free, n_open)
    ideal_of_steps = discount_sums * steps  # (n_open + 1, n_steps)
    ideal = ideal_of_steps.sum(axis=1)
    return _Choices(numerator, ideal)


def _choices_by_step(weights: Floats, gains: AttainableGains) -> list[_Choices]:
    """Return, per step, what the 0, 1, … heaviest open documents add if they rise by this step.

    They add it to the numerator, Σ weight · gain, and to the ideal. Open documents have several
    gains, all the same ones. A *step* is the difference of two neighbouring gains.
    """
    n_open = len(gains.open)
    free = _steps_of_open_documents(gains)
    # The ratio is maximised, so the heaviest rise first: weights do not increase.
    heaviest_first = weights[gains.open]
    weight_sums = _sums_of_first(heaviest_first)  # (n_open + 1,)
    discount_sums = _added_discounts(gains, free, n_open)  # (n_open + 1, n_steps)
    choices: list[_Choices] = []
    for column, step in enumerate(gains.steps[free]):
        discount_sums_of_step = discount_sums[:, column]
        numerator = step * weight_sums
        ideal = step * discount_sums_of_step
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

    Times the step, they are what these documents add to the ideal. `free` are the steps by which
    they can rise; `gains.cumulated` has the sum of the first 0, 1, … discounts. The shape is
    (n_documents + 1, n_free_steps).
    """
    # Some documents are at or above the level of a step anyway and have the first ranks. The rising
    # ones follow: their discounts are those of all these documents minus those of the former.
    n_at_level = gains.lowest_counts[free]  # (n_free_steps,)
    n_rising = np.arange(n_documents + 1)
    n_with_rising = n_at_level + n_rising[:, None]
    discounts_with_rising = gains.cumulated[n_with_rising]
    discounts_without_rising = gains.cumulated[n_at_level]
    added_discounts = discounts_with_rising - discounts_without_rising
    return np.asarray(added_discounts, dtype=np.float64)


def _ratio_of_best_choices(
    ratio: float,
    lowest: _Sums,
    choices: list[_Choices],
    index_of_best: Callable[[Floats], np.intp],
) -> float:
    """Return the ratio numerator / ideal if each choice is the best one for a given ratio.

    It is a step of Dinkelbach's method: the best choices have the maximum (or minimum) of
    numerator - ratio · ideal.

    Parameters
    ----------
    ratio : float
        The ratio so far.
    lowest : _Sums
        The sums if no document rises to a higher gain.
    choices : list of _Choices
        What 0, 1, … rising documents add to both sums: arrays of one element per number.
    index_of_best : callable
        `numpy.argmax` to maximise the ratio, `numpy.argmin` to minimise it.
    """
    numerator = lowest.numerator
    ideal = lowest.ideal
    for choice in choices:
        difference = choice.numerator - ratio * choice.ideal
        # Element n is for n rising documents, so the index is the number of them.
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

        # Heavy documents have a positive weight, light ones a negative weight. As rows of an array
        # have the same length, the number of both is that of the problem with most of them: in the
        # other problems, documents with the next weights are included.
        weights_of_weighted = weights[:, weighted]
        by_weight = _sort_by_weight(weighted, weights_of_weighted)
        n_heavy = _maximum_count(by_weight.weights > 0)
        n_light = _maximum_count(by_weight.weights < 0)
        # The heaviest are in the first columns, the light ones in the last.
        n_not_light = len(weighted) - n_light
        heavy_columns = slice(n_heavy)
        not_light_columns = slice(n_not_light)
        light_columns = slice(n_not_light, None)
        self.heavy = by_weight.columns(heavy_columns)
        self.not_light = by_weight.columns(not_light_columns)
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
        """How many documents that are not heavy are at or above each positive level.

        All documents are at their lowest level. `self.heavy.documents` are those of the highest
        weights in each problem. The shape is (n_problems, n_steps), one step per positive level.
        """
        gains = self.gains
        heavy_level = gains.lowest[self.heavy.documents]  # (n_problems, n_heavy)
        reaches_level = heavy_level[:, :, None] >= gains.positive_levels
        heavy_counts = reaches_level.sum(axis=1)
        # Those of all documents minus those of the heavy ones.
        other_counts = gains.lowest_counts - heavy_counts
        return np.asarray(other_counts, dtype=np.intp)

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

        The heaviest documents are at their highest level, the others at their lowest one.
        """
        # Positive ratios are high if few documents are at their highest level, negative ones if
        # many are.
        ratios_if_few_rise = self._ratios_if_heavy_rise()
        ratios_if_many_rise = self._ratios_if_all_but_light_rise()
        best_if_few = ratios_if_few_rise.max(axis=1)
        best_if_many = ratios_if_many_rise.max(axis=1)
        self.best = np.maximum(best_if_few, best_if_many)

    def _ratios_if_heavy_rise(self) -> Floats:
        """Return the ratios if the 0, 1, … heaviest documents are at their highest level.

        All others are at their lowest. The shape is (n_problems, n_heavy + 1).
        """
        return self._ratios_of_rising(self.heavy, self.lowest_sum, self.gains.lowest_counts)

    def _ratios_if_all_but_light_rise(self) -> Floats:
        """Return the ratios if all but the last light documents are at their highest level.

        `self.light` are the documents of the lowest weights. The 0, 1, … heaviest of them rise to
        their highest level, too. The shape is (n_problems, n_light + 1).
        """
        gains = self.gains
        # Documents without a weight rise as well: they add nothing to the numerator, but a larger
        # ideal makes a negative ratio higher.
        n_rising = gains.is_between_ends.sum(axis=0)  # (n_steps,)
        light_rises = gains.is_between_ends[self.light.documents]  # (n_problems, n_light, n_steps)
        n_light_rising = light_rises.sum(axis=1, dtype=np.intp)
        n_others_rising = n_rising - n_light_rising
        # Documents at or above each positive level if no light document rises.
        start_counts = gains.lowest_counts + n_others_rising  # (n_problems, n_steps)

        rise = self.rise[self.not_light.documents]
        weighted_rise = self.not_light.weights * rise
        sum_of_rises = weighted_rise.sum(axis=1)
        start = self.lowest_sum + sum_of_rises
        counts_of_problem = start_counts[:, None]
        return self._ratios_of_rising(self.light, start, counts_of_problem)

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
        # A document adds its weight times its rise to the numerator. Column 0 has no rise.
        n = candidates.documents.shape[1]
        rise = self.rise[candidates.documents]
        weighted_rise = candidates.weights * rise
        numerator = np.repeat(start[:, None], n + 1, axis=1)
        sums_of_rises = np.cumsum(weighted_rise, axis=1)
        numerator[:, 1:] += sums_of_rises

        n_reaching = self._numbers_reaching(candidates.documents)
        counts = start_counts + n_reaching
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
        """Maximise the ratios that are negative so far."""
        # In these problems each document has its lowest or its highest gain. If the ends are the
        # same for all open documents (those with several gains), the heaviest should be highest:
        # `_try_ends` has tried each number of them and found the maximum.
        gains = self.gains
        lowest = gains.lowest[gains.open]
        highest = gains.highest[gains.open]
        have_same_ends = _all_equal(lowest) and _all_equal(highest)
        if have_same_ends:
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
            candidate = self._ratio_of_best_ends(weight, self.best[problem])
            has_found_maximum = candidate <= self.best[problem]
            if has_found_maximum:
                return
            self.best[problem] = candidate

    def _ratio_of_best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the ratio of the gains that maximise Σ weight · gain - negative ratio · ideal.

        It is a step of Dinkelbach's method: the ratio of these gains is higher than the given one,
        or that is the maximum. `weight` has the shape (n_documents,).
        """
        gain = self._best_ends(weight, negative_ratio)
        numerator = weight @ gain
        # The ideal ranking has the same gains in decreasing order.
        ideal_gain = np.sort(gain)[::-1]
        ideal = ideal_gain @ self.gains.discounts
        return ratio(numerator, ideal)

    def _best_ends(self, weight: Floats, negative_ratio: float) -> Floats:
        """Return the gains that maximise Σ weight · gain - ratio · ideal, for a negative ratio.

        The sum is convex, so that each document has its lowest or its highest gain. The ideal is
        the maximum of Σ discount · gain over all orders of the documents. So documents are
        assigned to ranks of the ideal ranking, and each has the gain that is worth more there.
        """
        gains = self.gains
        high_gain = gains.levels[gains.highest]
        lowest_gain = gains.levels[gains.lowest]
        # A gain without a negative weight can only increase the sum: there is no lower choice.
        low_gain = np.where(weight >= 0, high_gain, lowest_gain)

        # Rank 0, without a discount, stands for all ranks below those with a discount.
        positive_discounts = gains.discounts[gains.discounts > 0]
        rank_discounts = np.append(0.0, positive_discounts)

        # At a rank, a gain is multiplied by the weight, and by - ratio · discount in the ideal.
        cost = negative_ratio * rank_discounts
        factor = weight[:, None] - cost  # (n_documents, n_ranks + 1)
        worth_if_low = factor * low_gain[:, None]
        worth_if_high = factor * high_gain[:, None]
        worth = np.maximum(worth_if_low, worth_if_high)

        rank = _assign_ranks(worth)
        document = np.arange(len(weight))
        own_worth_if_low = worth_if_low[document, rank]
        own_worth_if_high = worth_if_high[document, rank]
        is_high = own_worth_if_high > own_worth_if_low
        return np.where(is_high, high_gain, low_gain)

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
        any_document = self.weighted[0]
        low = gains.lowest[any_document]
        high = gains.highest[any_document]
        # All documents must have all levels from the lowest to the highest of this one.
        level = np.arange(len(gains.levels))
        is_from_low = level >= low
        is_to_high = level <= high
        is_between_ends = is_from_low & is_to_high
        allowed = gains.allowed[self.weighted]  # (n_weighted, n_levels)
        has_these_levels = allowed == is_between_ends
        if not has_these_levels.all():
            return None
        return slice(low, high)

    def _maximise_by_step(self, problem: Ints, free: slice) -> None:
        """Maximise ratios of at least 0 of documents that have the same gains, without gaps.

        `problem` are the problems, and `free` the steps between these gains. Dinkelbach's method:
        the number of the heaviest documents that rise is chosen for each step alone.
        """
        steps = self.gains.steps[free]
        n_heavy = self.heavy.weights.shape[1]
        # What the 0, 1, … heaviest documents add if they rise by a step, divided by the step: to
        # the ideal, shape (n_heavy + 1, n_steps), and to the numerator, shape (n, n_heavy + 1).
        discount_sums = _added_discounts(self.gains, free, n_heavy)
        no_weight = np.zeros((len(problem), 1))
        weights = self.heavy.weights[problem]
        cumulated_weights = np.cumsum(weights, axis=1)
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
        # Documents rise by a step only if they rise by those before it: [3, 1, 2] -> [3, 1, 1].
        n_rising = np.minimum.accumulate(best_by_step, axis=1)  # (n, n_steps)

        # The weights and the discounts of the documents that rise by each step, shape (n, n_steps).
        rising_weights = np.take_along_axis(weight_sums, n_rising, axis=1)
        step_index = np.arange(len(steps))
        rising_discounts = discount_sums[n_rising, step_index]

        added_to_numerator = rising_weights @ steps
        numerator = self.lowest_sum[problem] + added_to_numerator
        added_to_ideal = rising_discounts @ steps
        lowest_ideal = self.gains.ideal(self.gains.lowest_counts)
        ideal = lowest_ideal + added_to_ideal
        return ratio(numerator, ideal)

    def _best_numbers_rising(
        self, problem: Ints, weight_sums: Floats, discount_sums: Floats
    ) -> Ints:
        """Return how many of the heaviest documents should rise by each step, shape (n, n_steps).

        They maximise numerator - best ratio · ideal. The parameters are those of
        `_dinkelbach_step`.
        """
        best_ratio = self.best[problem]
        # What 0, 1, … rising documents add to the difference, divided by the step: the sum of
        # their weights minus the best ratio times the sum of their discounts.
        added_cost = best_ratio[:, None, None] * discount_sums
        added = weight_sums[:, :, None] - added_cost  # (n, n_heavy + 1, n_steps)

        # Sums are equal up to the rounding of their largest terms: the weight of the heaviest
        # document, and the cost at the first discount.
        heaviest_weight = self.heavy.weights[problem, 0]
        largest_cost = best_ratio * self.gains.discounts[0]
        largest_term = np.maximum(heaviest_weight, largest_cost)
        tolerance = _TIE * largest_term
        # Of the numbers that add the maximum, take the lowest: `argmax` is the first True.
        most_added = added.max(axis=1)  # (n, n_steps)
        enough = most_added - tolerance[:, None]
        adds_enough = added >= enough[:, None]
        fewest = adds_enough.argmax(axis=1)
        return np.asarray(fewest, dtype=np.intp)

    def _bound_inexact_ratios(self) -> None:
        """Replace ratios whose maximum was not found by a bound, the maximum without gaps."""
        inexact = np.flatnonzero(~self.exact)
        if len(inexact) == 0:
            return
        gains_without_gaps = self.gains.without_gaps()
        bound = highest_ratios(self.weights[inexact], gains_without_gaps)
        # A ratio that was found is attained: rounding must not make the bound lower.
        best_so_far = self.best[inexact]
        self.best[inexact] = np.maximum(bound.value, best_so_far)

    def _branch(self, problem: Ints) -> None:
        """Maximise ratios of at least 0, in branches on the documents whose gains have gaps.

        `problem` are the problems. A node is a problem with limits of its heavy documents' levels.
        """
        gains = self.gains
        # At first, each problem is one node, in which all heavy documents have all their levels.
        documents = self.heavy.documents[problem]  # (n, n_heavy)
        lowest_level = gains.lowest[documents]
        highest_level = gains.highest[documents]
        nodes = _Nodes(problem, lowest_level, highest_level)
        # All nodes at once could take too much memory.
        n_heavy = documents.shape[1]
        cells_per_node = n_heavy * len(gains.levels)
        nodes_at_once = max(1, _BATCH // cells_per_node)
        # Nodes are worked off from the front, and those that follow from them come next.
        while len(nodes.problem):
            first_nodes = slice(nodes_at_once)
            later_nodes = slice(nodes_at_once, None)
            batch = nodes.take(first_nodes)
            later = nodes.take(later_nodes)
            # `self.exact` is False for problems with too many nodes: their nodes are dropped.
            is_continued = self.exact[batch.problem]
            continued = batch.take(is_continued)
            next_nodes = self._process_nodes(continued)
            nodes = _join_nodes([next_nodes, later])

    def _process_nodes(self, nodes: _Nodes) -> _Nodes:
        """Try the best levels of the nodes, and return the nodes that follow from them.

        Higher ratios are stored in `self.best`.
        """
        level, has_excess = self._relax(nodes)
        documents = self.heavy.documents[nodes.problem]
        is_allowed = self.gains.allowed[documents, level]  # (n_nodes, n_heavy)
        all_are_allowed = is_allowed.all(axis=1)
        is_attainable = np.asarray(all_are_allowed, dtype=np.bool_)
        earlier_best = self.best[nodes.problem]
        self._try_levels(nodes.problem, level, is_attainable)

        # With a higher ratio, other levels of the same node can be the best: it is tried again.
        new_best = self.best[nodes.problem]
        is_improved = new_best > earlier_best
        repeated = nodes.take(is_attainable & is_improved)

        # Nodes with a level in a gap are split, unless they have no ratio above the best one.
        is_split = ~is_attainable & has_excess
        split_nodes = nodes.take(is_split)
        split_level = level[is_split]
        split_is_allowed = is_allowed[is_split]
        below, above = self._split(split_nodes, split_level, split_is_allowed)
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

    def _try_levels(self, problem: Ints, level: Ints, is_attainable: Bools) -> None:
        """Try the allowed levels of the heavy documents that are nearest to the given levels.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problems.
        level : ndarray of int, shape (n_nodes, n_heavy)
            The levels.
        is_attainable : ndarray of bool, shape (n_nodes,)
            Whether all levels of a node are allowed.
        """
        documents = self.heavy.documents[problem]
        level_below = self.gains.allowed_below[documents, level]
        self._keep_best(problem, level_below)
        # An allowed level is itself the nearest one below and above: then there is nothing else.
        if is_attainable.all():
            return
        level_above = self.gains.allowed_above[documents, level]
        self._keep_best(problem, level_above)

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
        node = np.arange(len(nodes.problem))
        # `argmin` of a mask is the first column where it is False.
        column = is_allowed.argmin(axis=1)
        heavy_documents = self.heavy.documents
        document = heavy_documents[nodes.problem, column]
        level_in_gap = level[node, column]

        # Below the gap, the highest level is the last one allowed before the gap.
        high = nodes.high.copy()
        allowed_below = self.gains.allowed_below[document, level_in_gap]
        high[node, column] = allowed_below
        nodes_below_gap = nodes._replace(high=high)
        # Above it, the lowest level is the first one allowed after the gap.
        low = nodes.low.copy()
        allowed_above = self.gains.allowed_above[document, level_in_gap]
        low[node, column] = allowed_above
        nodes_above_gap = nodes._replace(low=low)
        return nodes_below_gap, nodes_above_gap

    def _ratios_at(self, problem: Ints, level: Ints) -> Floats:
        """Return the ratios Σ weight · gain / ideal at these levels of the heavy documents.

        Heavy documents have the highest weights of a problem; all others are at their lowest level.
        `problem` has the shape (n,), `level` the shape (n, n_heavy).
        """
        gains = self.gains
        documents = self.heavy.documents[problem]
        lowest_level = gains.lowest[documents]
        lowest_gain = gains.levels[lowest_level]
        rise = gains.levels[level] - lowest_gain
        weighted_rise = self.heavy.weights[problem] * rise
        # `lowest_sum` is the numerator with all documents at their lowest level.
        sum_of_rises = weighted_rise.sum(axis=1)
        numerator = self.lowest_sum[problem] + sum_of_rises
        counts = self._counts(problem, level)
        ideal = gains.ideal(counts)
        return ratio(numerator, ideal)

    def _counts(self, problem: Ints, level: Ints) -> Ints:
        """Return the number of documents at or above each positive level, shape (n, n_steps).

        The heavy documents of the n problems are at `level`, shape (n, n_heavy), and the others at
        their lowest level; `self.other_counts` are the numbers of the latter.
        """
        positive_levels = self.gains.positive_levels
        reaches_level = level[:, :, None] >= positive_levels  # (n, n_heavy, n_steps)
        heavy_counts = reaches_level.sum(axis=1)
        counts = self.other_counts[problem] + heavy_counts
        return np.asarray(counts, dtype=np.intp)

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

        # What the heaviest free documents add if they rise by a step; 0 if none rises.
        counts_at_low = self._counts(nodes.problem, nodes.low)  # (n_nodes, n_steps)
        added = self._increase_by_rising(nodes.problem, is_free, counts_at_low)
        most_added_by_some = added.max(axis=1)
        most_added = np.maximum(most_added_by_some, 0.0)  # (n_nodes, n_steps)

        level = self._best_levels(nodes, is_free, added, most_added)
        has_excess = self._has_excess(nodes, counts_at_low, most_added)
        return level, has_excess

    def _increase_by_rising(self, problem: Ints, is_free: Bools, counts_at_low: Ints) -> Floats:
        """Return what the heaviest free documents add to numerator - best ratio · ideal.

        Parameters
        ----------
        problem : ndarray of int, shape (n_nodes,)
            The problem of each node.
        is_free : ndarray of bool, shape (n_nodes, n_heavy, n_steps)
            Whether each document may rise to each positive level.
        counts_at_low : ndarray of int, shape (n_nodes, n_steps)
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

        # To the ideal, they add the discounts of their ranks.
        n_rising = np.cumsum(is_free, axis=1, dtype=np.intp)
        discount_sums = self._discounts_of_next(counts_at_low, n_rising)
        best_ratio = self.best[problem]
        ideal_cost = best_ratio[:, None, None] * discount_sums
        added = weight_sums - ideal_cost
        return np.asarray(added, dtype=np.float64)

    def _discounts_of_next(self, n_above: Ints, n_next: Ints) -> Floats:
        """Return the sum of the `n_next` ideal discounts that follow the first `n_above` ones.

        `n_above` has the shape (n_nodes, n_steps); `n_next` and the result have the shape
        (n_nodes, n_heavy, n_steps).
        """
        cumulated = self.gains.cumulated  # the sum of the first 0, 1, … discounts
        n_down_to_last = n_above[:, None] + n_next
        discounts_down_to_last = cumulated[n_down_to_last]
        discounts_above = cumulated[n_above]
        discount_sums = discounts_down_to_last - discounts_above[:, None]
        return np.asarray(discount_sums, dtype=np.float64)

    def _best_levels(
        self, nodes: _Nodes, is_free: Bools, added: Floats, most_added: Floats
    ) -> Ints:
        """Return the level of each heavy document if the fewest rise that add the maximum.

        Parameters
        ----------
        nodes : _Nodes
            The nodes; `nodes.low` is the level of each document if it does not rise.
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
        is_chosen = self._is_chosen(nodes.problem, added, most_added)
        rises = is_free & is_chosen

        # Documents reach a level only if they reach the levels below it. In a row of positive
        # levels, all down to the first False are lost: [1, 0, 1] -> [1, 0, 0].
        positive_levels = self.gains.positive_levels
        is_at_or_below_low = positive_levels <= nodes.low[:, :, None]
        can_reach = rises | is_at_or_below_low  # (n_nodes, n_heavy, n_steps)
        is_reached = np.logical_and.accumulate(can_reach, axis=2)
        # The number of positive levels reached is the index of the highest one.
        level = is_reached.sum(axis=2)
        return np.asarray(level, dtype=np.intp)

    def _is_chosen(self, problem: Ints, added: Floats, most_added: Floats) -> Bools:
        """Return whether each document is among the fewest that add the maximum at each step.

        These are the heaviest documents down to one, the first that adds the maximum up to
        rounding; none if the maximum is 0. The parameters are those of `_best_levels`, with the
        problem of each node; the shape is (n_nodes, n_heavy, n_steps).
        """
        tolerance = self._rounding_of_added(problem)
        enough = most_added - tolerance[:, None]  # (n_nodes, n_steps)
        adds_enough = added >= enough[:, None]
        # `argmax` of a mask is the first document where it is True.
        last_chosen = adds_enough.argmax(axis=1)  # (n_nodes, n_steps)
        n_heavy = added.shape[1]
        document = np.arange(n_heavy)
        is_down_to_last = document[:, None] <= last_chosen[:, None]
        is_worthwhile = enough > 0
        is_chosen = is_down_to_last & is_worthwhile[:, None]
        return np.asarray(is_chosen, dtype=np.bool_)

    def _rounding_of_added(self, problem: Ints) -> Floats:
        """Return by how much equal sums of weight - best ratio · discount can differ by rounding.

        `problem` is the problem of each node; the shape is (n_nodes,).
        """
        # Rounding errors are relative to the largest terms: the first discount is the largest.
        weight = self.heavy.weights[problem]  # (n_nodes, n_heavy)
        largest_weight = np.abs(weight).max(axis=1)
        largest_discount = self.gains.discounts[0]
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
            What rising documents add, divided by the step.
        """
        gains = self.gains
        problem = nodes.problem
        weight = self.heavy.weights[problem]
        # `lowest_sum` has the documents at their own lowest levels, which may be below the node's.
        documents = self.heavy.documents[problem]
        lowest_level = gains.lowest[documents]
        lowest_gain = gains.levels[lowest_level]
        low_gain = gains.levels[nodes.low]
        rise_to_low = low_gain - lowest_gain
        sum_of_rises = (weight * rise_to_low).sum(axis=1)
        sum_at_low = self.lowest_sum[problem] + sum_of_rises
        added_by_rising = most_added @ gains.steps
        numerator = sum_at_low + added_by_rising
        ideal_at_low = gains.ideal(counts_at_low)
        ideal_cost = self.best[problem] * ideal_at_low
        excess = numerator - ideal_cost

        rounding_error = self._rounding_of_excess(nodes, ideal_cost)
        has_excess = excess > rounding_error
        return np.asarray(has_excess, dtype=np.bool_)

    def _rounding_of_excess(self, nodes: _Nodes, ideal_cost: Floats) -> Floats:
        """Return a bound of the rounding error of numerator - `ideal_cost`, shape (n_nodes,).

        It is relative to the sum of the absolute terms, with the heavy documents at the highest
        levels of the node.
        """
        weight = self.heavy.weights[nodes.problem]
        highest_gain = self.gains.levels[nodes.high]
        absolute_terms = np.abs(weight) * highest_gain  # (n_nodes, n_heavy)
        absolute_highest_sum = absolute_terms.sum(axis=1)
        absolute_lowest_sum = self.absolute_lowest_sum[nodes.problem]
        absolute_sum = absolute_lowest_sum + absolute_highest_sum + ideal_cost
        rounding_error = _ROUNDING * absolute_sum
        return np.asarray(rounding_error, dtype=np.float64)


def _maximum_count(mask: Bools) -> int:
    """Return the maximum number of True values in a row of the mask; 0 without rows."""
    counts = mask.sum(axis=1)
    return int(counts.max(initial=0))


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
    rank = np.zeros(len(worth), dtype=np.intp)
    rank[assigned] = column + 1  # column 0 is rank 1
    return rank
