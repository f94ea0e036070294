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

    The result is 1 where a type (row) is at least as good as another (column), else 0. `types` are
    the gains of each type (column) for each measure (row); no two types are equal in all.
    """
    gain = types[:, :, None]
    gain_of_other = types[:, None, :]
    is_at_least_as_high = gain >= gain_of_other  # (n_measures, n_types, n_types)
    precedes = np.asarray(is_at_least_as_high.all(axis=0), dtype=np.float64)
    # No type precedes itself.
    np.fill_diagonal(precedes, 0.0)
    return precedes


def place_documents(counts: Counts, totals: Counts, precedes: Floats) -> tuple[Ints, Ints, Counts]:
    """Extend states by one document, of a type that no type with further documents precedes.

    Parameters
    ----------
    counts : array of int, shape (n_states, n_types)
        The states.
    totals : array of int, shape (n_types,)
        The number of documents of each type.
    precedes : array of float, shape (n_types, n_types)
        As from `precedence`.

    Returns
    -------
    state, chosen : array of int, shape (n_extended,)
        The state that is extended, and the type of the document.
    extended : array of int, shape (n_extended, n_types)
        The extended states.
    """
    is_left = counts < totals  # (n_states, n_types)
    # The number of types with further documents that precede each type.
    n_better_left = is_left.astype(np.float64) @ precedes
    is_next = is_left & (n_better_left == 0)
    state, chosen = np.nonzero(is_next)
    extended = counts[state]
    extension = np.arange(len(state))
    extended[extension, chosen] += 1
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
            n_documents = int(totals.sum())
            ranks = np.arange(1, n_documents + 1)
            queries = np.full(len(ranks), query)
            discount = form.discounts(ranks, queries)
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
        self.factor = np.append(discount, 0.0)
        discounted_ranks = np.flatnonzero(discount > 0) + 1
        self.depth = int(discounted_ranks.max(initial=0))
        # The sums of the first 0, 1, … discounts.
        self._discount_sums = np.append(0.0, np.cumsum(discount))

        # The different gains, highest first: `np.unique` sorts upwards.
        negative_gains, index_of_type = np.unique(-gain, return_inverse=True)
        self._distinct_gains = -negative_gains
        indices = np.arange(len(self._distinct_gains))
        has_gain = index_of_type[:, None] == indices
        # 1 where a type (row) has a gain (column), else 0.
        self._has_gain = has_gain.astype(np.float64)

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return the sum of the gains."""
        return np.asarray(counts @ self._gain, dtype=np.float64)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return gain times discount of a document of each type."""
        discount = self._discount[rank - 1]  # ranks are counted from 1
        gain_at_rank = self._gain * discount
        return np.broadcast_to(gain_at_rank, counts.shape)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of the remaining documents in decreasing order, which is optimal."""
        remaining = self._totals - counts  # (n_states, n_types)
        n_with_gain = remaining @ self._has_gain  # (n_states, n_gains)
        # The highest gain is first, so the documents of each gain follow those of higher gains.
        n_with_gain_or_higher = np.cumsum(n_with_gain, axis=1).astype(np.intp)
        last_rank = rank + n_with_gain_or_higher

        # The discounts of a gain are the sum to its last rank, minus that to the rank before its
        # first one, which is the last rank of the next higher gain.
        sum_to_last_rank = self._discount_sums[last_rank]
        sum_to_rank = np.full((len(counts), 1), self._discount_sums[rank])
        sum_before_first = np.concatenate([sum_to_rank, sum_to_last_rank[:, :-1]], axis=1)
        discounts_of_gain = sum_to_last_rank - sum_before_first
        total_gain = discounts_of_gain @ self._distinct_gains
        return np.asarray(total_gain, dtype=np.float64)


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
        # Ranks below the cutoff count for nothing, nor does what follows the last rank.
        counted_reciprocals = np.where(ranks <= self.depth, reciprocals, 0.0)
        self.factor = np.append(counted_reciprocals, 0.0)
        # The sums of the first 0, 1, … reciprocals of ranks.
        self._harmonic_numbers = np.append(0.0, np.cumsum(reciprocals))

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return F (F + 1) / 2R for F positive documents of R, the sum of 1, 2, …, F over R."""
        n_found = counts @ self._positive  # F
        doubled_sum = n_found * (n_found + 1)
        level = doubled_sum / (2 * self._norm)
        return np.asarray(level, dtype=np.float64)

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        """Return the precision at a positive document / number of positive documents."""
        gain = (n_found + 1) / (rank * self._norm)
        return np.asarray(gain, dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if all remaining positive documents follow."""
        n_found = self._n_found(counts)
        n_positive_left = self._n_positive - n_found
        n_ranks_left = max(self.depth - rank, 0)
        n_following = np.clip(n_positive_left, 0, n_ranks_left)
        last_rank = rank + n_following

        # The precision at each later rank k is (n_found + k - rank) / k = 1 + (n_found - rank) / k,
        # so that their sum follows from that of 1 / k.
        sum_to_last_rank = self._harmonic_numbers[last_rank]
        sum_to_rank = self._harmonic_numbers[rank]
        sum_of_reciprocals = sum_to_last_rank - sum_to_rank
        sum_of_precisions = n_following + (n_found - rank) * sum_of_reciprocals
        return np.asarray(sum_of_precisions / self._norm, dtype=np.float64)


class RRProgress(BinaryProgress):
    """Progress of the reciprocal rank."""

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        return np.asarray((n_found == 0) / rank, dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a positive document at the next rank, if there was none above."""
        can_follow = rank < self.depth and self._n_positive > 0
        if not can_follow:
            return np.zeros(len(counts))
        n_found = self._n_found(counts)
        return self._next_gain(rank + 1, n_found)


class SuccessProgress(RRProgress):
    """Progress of success: 1 from the first positive document on."""

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
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
        return np.outer(reaches_rank * discount, self._stop)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if every user who will still stop does so at the next rank."""
        if rank >= self.depth:
            return np.zeros(len(counts))
        remaining = self._totals - counts
        reaches_next_rank = self._chance_to_stay(counts)
        stops_at_remaining = 1.0 - self._chance_to_stay(remaining)
        next_discount = self._discount[rank]  # of rank + 1, as ranks are counted from 1
        bound = reaches_next_rank * stops_at_remaining * next_discount
        return np.asarray(bound, dtype=np.float64)

    def _chance_to_stay(self, counts: Counts) -> Floats:
        """Return the probability of stopping at none of the documents.

        On long scales, it can be exactly 0.
        """
        stays = (1.0 - self._stop) ** counts  # (n_states, n_types)
        return np.asarray(np.prod(stays, axis=1), dtype=np.float64)
