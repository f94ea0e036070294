"""Measures computed rank by rank, with bounds of the remaining gain.

The beam search of best rankings uses them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .forms import Linear

#: The number of placed documents of each type, by state: a partial ranking of the documents of a
#: query.
Counts = NDArray[np.int32]


def precedence(types: Floats) -> Floats:
    """Return which types of documents are at least as good as others for every measure.

    The result has the shape (n_types, n_types): 1 where a type (row) is at least as good as another
    (column), else 0. `types`, of shape (n_measures, n_types), has the gain of each type for each
    measure; no two types are equal in all.
    """
    gain_of_row = types[:, :, None]
    gain_of_column = types[:, None, :]
    is_at_least_as_high = gain_of_row >= gain_of_column  # (n_measures, n_types, n_types)
    is_for_every_measure = is_at_least_as_high.all(axis=0)
    precedes = np.asarray(is_for_every_measure, dtype=np.float64)
    # No type precedes itself.
    np.fill_diagonal(precedes, 0.0)
    return precedes


def place_documents(counts: Counts, totals: Counts, precedes: Floats) -> tuple[Ints, Ints, Counts]:
    """Extend partial rankings by one document each, in all ways that can be the best.

    In a best ranking, no document is below a worse one: the next document is of a type of which no
    better type has documents left.

    Parameters
    ----------
    counts : array of int, shape (n_states, n_types)
        The states: the number of placed documents of each type in each partial ranking.
    totals : array of int, shape (n_types,)
        The number of documents of each type.
    precedes : array of float, shape (n_types, n_types)
        As from `precedence`: 1 where a type (row) is better than another (column), else 0.

    Returns
    -------
    state, chosen : array of int, shape (n_extended,)
        The state that is extended, and the type of the document.
    extended : array of int, shape (n_extended, n_types)
        The extended states.
    """
    has_left = counts < totals  # (n_states, n_types)
    # The matrix product counts, for each type, the better types that have documents left.
    left_as_numbers = has_left.astype(np.float64)
    n_better_left = left_as_numbers @ precedes
    is_next = has_left & (n_better_left == 0)
    state, chosen = np.nonzero(is_next)
    # In each extended state, there is one more document of the chosen type.
    extended = counts[state]
    index = np.arange(len(extended))
    extended[index, chosen] += 1
    return state, chosen, extended


@dataclass(frozen=True, eq=False)
class Progression:
    """A measure computed rank by rank.

    Moving a better document up must never decrease its value.
    """

    #: The gain of each judged document; documents of equal gain are interchangeable.
    gain: Floats
    #: Creates the progress of a query from the gains and numbers of documents of each type.
    begin: Callable[[Floats, Counts, int], Progress]

    @classmethod
    def linear(cls, form: Linear) -> Progression:
        """Return the progression of a sum over ranks of discount times gain."""
        form.check_sorting()

        def begin(gain: Floats, totals: Counts, query: int) -> Progress:
            """Return the progress of one query, from the gains and numbers of its documents."""
            n_documents = int(totals.sum())
            ranks = np.arange(1, n_documents + 1)
            # Discounts can depend on the query, so that each rank needs it.
            query_of_ranks = np.full(n_documents, query)
            discount = form.discounts(ranks, query_of_ranks)
            return LinearProgress(gain, discount, totals)

        return cls(form.normalised_gain, begin)


class Progress(ABC):
    """The gain of a measure as the documents of one query are placed one after the other.

    Documents of the same type have equal gains for all measures. A partial ranking is therefore
    described by its number of documents of each type: `counts`, of shape (n_states, n_types).
    """

    #: The last rank at which the value can change.
    depth: int

    @abstractmethod
    def step(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a document of each type at `rank`, shape (n_states, n_types)."""

    @abstractmethod
    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return an upper bound of the gain of this measure after `rank`, shape (n_states,)."""


class ConvexProgress(Progress):
    """A sum over ranks of a convex function of the documents down to the rank.

    The measure is Σ_rank level(documents) · (factor[rank] - factor[rank + 1]).
    """

    #: The factor at each rank from 1, non-increasing; the last one is 0.
    factor: Floats

    @abstractmethod
    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return a convex function of the counts, shape (n_states,)."""


class LinearProgress(ConvexProgress):
    """Progress of a sum over ranks of discount times gain."""

    def __init__(self, gain: Floats, discount: Floats, totals: Counts) -> None:
        """Prepare the progress of a query.

        Parameters
        ----------
        gain : array of float, shape (n_types,)
            The gain of each type of document.
        discount : array of float, shape (n_documents,)
            The discount at each rank.
        totals : array of int, shape (n_types,)
            The number of documents of each type.
        """
        self._gain = gain
        self._discount = discount
        self._totals = totals
        #: The discounts, and 0 after the last rank.
        self.factor = np.append(discount, 0.0)
        discounted_ranks = np.flatnonzero(discount > 0) + 1
        self.depth = int(discounted_ranks.max(initial=0))
        #: The sums of the first 0, 1, … discounts.
        cumulated = np.cumsum(discount)
        self._discount_sums = np.append(0.0, cumulated)
        self._distinct_gains, self._has_gain = _distinct_gains(gain)

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return the sum of the gains."""
        total_gain = counts @ self._gain
        return np.asarray(total_gain, dtype=np.float64)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return gain times discount of a document of each type."""
        discount = self._discount[rank - 1]  # ranks are counted from 1
        gain_at_rank = self._gain * discount
        return np.broadcast_to(gain_at_rank, counts.shape)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of the remaining documents in decreasing order, which is optimal.

        Documents of the same gain have adjacent ranks then, so that each gain is multiplied by the
        sum of their discounts. `self._discount_sums` has the sum of the first 0, 1, … discounts;
        `self._distinct_gains` has each gain once, the highest first, and `self._has_gain` 1 where a
        type (row) has a gain (column).
        """
        remaining = self._totals - counts  # (n_states, n_types)
        n_with_gain = remaining @ self._has_gain  # (n_states, n_gains)
        # The last rank of each gain: after rank 4, 2 documents of the highest gain and 3 of the
        # next one end at the ranks 6 and 9.
        n_with_gain_or_higher = np.cumsum(n_with_gain, axis=1)
        last_ranks = rank + n_with_gain_or_higher.astype(np.intp)
        # The discounts of a gain: those down to its last rank, minus those before it, [4, 6, 9].
        limits = np.insert(last_ranks, 0, rank, axis=1)  # (n_states, n_gains + 1)
        sums_to_limits = self._discount_sums[limits]
        discounts_of_gain = np.diff(sums_to_limits, axis=1)
        total_gain = discounts_of_gain @ self._distinct_gains
        return np.asarray(total_gain, dtype=np.float64)


def _distinct_gains(gain: Floats) -> tuple[Floats, Floats]:
    """Return the distinct gains, the highest first, and a matrix of the types that have each.

    The matrix has the shape (n_types, n_distinct): 1 where a type (row) has a gain (column), else
    0. For the gains [0, 2, 0], the results are [2, 0] and [[0, 1], [1, 0], [0, 1]].
    """
    # `np.unique` sorts upwards, so the gains are negated for it.
    distinct_negative_gains, column_of_type = np.unique(-gain, return_inverse=True)
    columns = np.arange(len(distinct_negative_gains))
    has_gain = column_of_type[:, None] == columns
    return -distinct_negative_gains, has_gain.astype(np.float64)


def _depth(cutoff: int | None, totals: Counts) -> int:
    """Return the last rank that counts, at most the number of documents."""
    length = int(totals.sum())
    if cutoff is None:
        return length
    return min(cutoff, length)


class BinaryProgress(Progress):
    """A measure that depends only on the ranks of positive documents."""

    def __init__(self, positive: Floats, cutoff: int | None, totals: Counts) -> None:
        """Prepare the progress of a query.

        Parameters
        ----------
        positive : array of float, shape (n_types,)
            1 for types of positive documents, 0 for others.
        cutoff : int, optional
            The last rank that counts.
        totals : array of int, shape (n_types,)
            The number of documents of each type.
        """
        self._positive = positive
        self._n_positive = int(positive @ totals)
        self._norm = max(self._n_positive, 1)
        self.depth = _depth(cutoff, totals)

    def _n_found(self, counts: Counts) -> Ints:
        """Return the number of positive documents that each state has placed."""
        return (counts @ self._positive).astype(np.intp)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a positive document, 0 for other types."""
        if rank > self.depth:
            return np.zeros(counts.shape)
        n_found = self._n_found(counts)
        gain_of_positive = self._next_gain(rank, n_found)  # (n_states,)
        return np.outer(gain_of_positive, self._positive)

    @abstractmethod
    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        """Return the gain of a positive document at `rank`, with `n_found` of them above it."""


class APProgress(BinaryProgress, ConvexProgress):
    """Progress of average precision."""

    # R · AP is the sum of F / rank over the ranks of positive documents, where F is the number of
    # positive documents down to the rank. The sum of F over such ranks is 1 + 2 + … + F =
    # F (F + 1) / 2, which is `level` if divided by R.

    def __init__(self, positive: Floats, cutoff: int | None, totals: Counts) -> None:
        """Prepare the progress of a query; the parameters are those of `BinaryProgress`."""
        super().__init__(positive, cutoff, totals)
        n_documents = int(totals.sum())
        ranks = np.arange(1, n_documents + 1)
        reciprocals = 1.0 / ranks
        # The factor of `ConvexProgress` is 1 / rank: 0 below the cutoff and after the last rank.
        is_counted = ranks <= self.depth
        counted_reciprocals = np.where(is_counted, reciprocals, 0.0)
        self.factor = np.append(counted_reciprocals, 0.0)
        # Harmonic numbers, 1 + 1/2 + … + 1/n for n = 0, 1, …, give sums over adjacent ranks.
        sums_of_reciprocals = np.cumsum(reciprocals)
        self._harmonic_numbers = np.append(0.0, sums_of_reciprocals)

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return F (F + 1) / 2R for F positive documents of R, the sum of 1, 2, …, F over R."""
        n_found = counts @ self._positive  # F
        doubled_sum = n_found * (n_found + 1)
        level = doubled_sum / (2 * self._norm)
        return np.asarray(level, dtype=np.float64)

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        """Return the precision at a positive document / number of positive documents."""
        precision_times_rank = n_found + 1
        divisor = rank * self._norm
        gain = precision_times_rank / divisor
        return np.asarray(gain, dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if all remaining positive documents follow directly after `rank`.

        It is the sum of precisions at their ranks, over the number of positive documents. `counts`
        are the numbers of placed documents of each type, per state.
        """
        n_found = self._n_found(counts)  # positive documents placed so far, per state
        n_positive_left = self._n_positive - n_found
        # Ranks below the depth do not count.
        n_ranks_left = max(self.depth - rank, 0)
        n_following = np.minimum(n_positive_left, n_ranks_left)
        # At a rank k of theirs, k - n_others documents are positive, where n_others are those above
        # that are not: precision is 1 - n_others / k. Summed over these ranks, it is their number
        # minus n_others · Σ 1 / k.
        n_others = rank - n_found
        last_rank = rank + n_following
        # Σ 1 / k over adjacent ranks is a difference of harmonic numbers, 1 + 1/2 + … + 1/k.
        harmonic_before = self._harmonic_numbers[rank]
        sum_of_reciprocals = self._harmonic_numbers[last_rank] - harmonic_before
        sum_of_precisions = n_following - n_others * sum_of_reciprocals
        gain = sum_of_precisions / self._norm
        return np.asarray(gain, dtype=np.float64)


class RRProgress(BinaryProgress):
    """Progress of the reciprocal rank."""

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        """Return 1 / rank for a first positive document; 0 if others have been found above it."""
        is_first = n_found == 0
        gain = is_first / rank
        return np.asarray(gain, dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a positive document at the rank after `rank`, per state.

        No later rank gains more. Only the first positive document of a ranking counts: the gain is
        0 in states that have placed one already: `self._next_gain` is told their number.
        """
        next_rank = rank + 1
        has_positive = self._n_positive > 0
        can_follow = has_positive and next_rank <= self.depth
        if not can_follow:
            return np.zeros(len(counts))
        n_placed = self._n_found(counts)  # positive documents, per state
        return self._next_gain(next_rank, n_placed)


class SuccessProgress(RRProgress):
    """Progress of success: 1 from the first positive document on."""

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        """Return 1 for a first positive document at any rank, else 0."""
        return np.asarray(n_found == 0, dtype=np.float64)


class CascadeProgress(Progress):
    """Progress of Σ_rank (non-increasing) discount(rank) · probability of stopping."""

    def __init__(
        self, stop: Floats, cutoff: int | None, totals: Counts, discount: Callable[[Ints], Floats]
    ) -> None:
        """Prepare the progress of a query.

        Parameters
        ----------
        stop : array of float, shape (n_types,)
            The probability of stopping at a document of each type, if the user reaches it.
        cutoff : int, optional
            The last rank that counts.
        totals : array of int, shape (n_types,)
            The number of documents of each type.
        discount : callable
            A non-increasing function of ranks (from 1).
        """
        self._stop = stop
        self._totals = totals
        self.depth = _depth(cutoff, totals)
        ranks = np.arange(1, self.depth + 1)
        self._discount = discount(ranks)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return the discounted probability of stopping at a document of each type."""
        if rank > self.depth:
            return np.zeros(counts.shape)
        reaches_rank = self._chance_to_stay(counts)
        discount = self._discount[rank - 1]  # ranks are counted from 1
        discounted = reaches_rank * discount
        return np.outer(discounted, self._stop)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if every user who will still stop does so at the next rank.

        Users stop at a later rank in fact, which counts no more: discounts do not increase.
        """
        if rank >= self.depth:
            return np.zeros(len(counts))
        # Users who have stopped at none of the placed documents, and will stop at one of the
        # remaining ones.
        has_not_stopped = self._chance_to_stay(counts)
        remaining = self._totals - counts
        will_stop = 1.0 - self._chance_to_stay(remaining)
        discount_of_next_rank = self._discount[rank]  # element 0 is for rank 1
        bound = has_not_stopped * will_stop * discount_of_next_rank
        return np.asarray(bound, dtype=np.float64)

    def _chance_to_stay(self, counts: Counts) -> Floats:
        """Return the probability of stopping at none of the documents.

        On long scales, it can be exactly 0.
        """
        stays = (1.0 - self._stop) ** counts  # (n_states, n_types)
        stays_at_all = np.prod(stays, axis=1)
        return np.asarray(stays_at_all, dtype=np.float64)
