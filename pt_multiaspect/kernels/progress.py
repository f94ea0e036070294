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

    The result is 1 where a type (row) is at least as good as another (column), else 0. Types differ
    in the gain (column) of some measure (row).
    """
    is_at_least = types[:, :, None] >= types[:, None, :]  # (n_measures, n_types, n_types)
    precedes = np.asarray(is_at_least.all(axis=0), dtype=np.float64)
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
    is_left = counts < totals
    n_better_left = is_left.astype(np.float64) @ precedes
    is_next = is_left & (n_better_left == 0)
    state, chosen = np.nonzero(is_next)
    extended = counts[state]
    row = np.arange(len(state))
    extended[row, chosen] += 1
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
        """Return the progression of a linear measure."""
        form.check_sorting()

        def begin(gain: Floats, totals: Counts, query: int) -> Progress:
            ranks = np.arange(1, int(totals.sum()) + 1)
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
        self.factor = np.append(discount, 0.0)
        self.depth = int(np.flatnonzero(discount > 0).max(initial=-1)) + 1
        self._gain = gain
        self._discount = discount
        self._totals = totals
        negative_levels, type_level = np.unique(-gain, return_inverse=True)
        self._levels = -negative_levels  # decreasing
        is_level = type_level[:, None] == np.arange(len(self._levels))  # (n_types, n_levels)
        self._is_level = is_level.astype(np.float64)
        self._cumulated = np.concatenate([[0.0], np.cumsum(discount)])

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return the sum of the gains."""
        return np.asarray(counts @ self._gain, dtype=np.float64)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return gain times discount of a document of each type."""
        gained = self._gain * self._discount[rank - 1]
        return np.broadcast_to(gained, counts.shape)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of the remaining documents in decreasing order, which is optimal."""
        n_left = (self._totals - counts) @ self._is_level  # (n_states, n_levels)
        last_rank = rank + np.cumsum(n_left, axis=1).astype(np.intp)
        until = self._cumulated[last_rank]
        start = np.full((len(counts), 1), self._cumulated[rank])
        before = np.concatenate([start, until[:, :-1]], axis=1)
        discounts = until - before
        return np.asarray(discounts @ self._levels, dtype=np.float64)


def _depth(cutoff: int | None, totals: Counts) -> int:
    """Return the last rank that counts, at most the number of documents."""
    length = int(totals.sum())
    if cutoff is None:
        return length
    return min(cutoff, length)


class BinaryProgress(Progress):
    """A measure that depends only on the ranks of positive documents."""

    def __init__(self, positive: Floats, cutoff: int | None, totals: Counts) -> None:
        self._positive = positive
        self._n_positive = int(positive @ totals)
        self._norm = max(self._n_positive, 1)
        self.depth = _depth(cutoff, totals)

    def _n_found(self, counts: Counts) -> Ints:
        return (counts @ self._positive).astype(np.intp)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a positive document, 0 for other types."""
        if rank > self.depth:
            return np.zeros(counts.shape)
        gain = self._next_gain(rank, self._n_found(counts))
        return np.outer(gain, self._positive)

    @abstractmethod
    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        """Return the gain of a positive document at `rank`, with `n_found` of them above it."""


class APProgress(BinaryProgress, ConvexProgress):
    """Progress of average precision."""

    # With F positive documents up to a rank and x = 1 if there is a positive one at the rank,
    # F_i x_i = (F_i² + F_i - F_(i-1)² - F_(i-1)) / 2.

    def __init__(self, positive: Floats, cutoff: int | None, totals: Counts) -> None:
        super().__init__(positive, cutoff, totals)
        ranks = np.arange(1, int(totals.sum()) + 1)
        reciprocals = 1.0 / ranks
        factor = np.where(ranks <= self.depth, reciprocals, 0.0)
        self.factor = np.append(factor, 0.0)
        self._harmonic = np.concatenate([[0.0], np.cumsum(reciprocals)])

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return F (F + 1) / 2R for F positive documents of R."""
        n_found = counts @ self._positive
        level = n_found * (n_found + 1) / (2 * self._norm)
        return np.asarray(level, dtype=np.float64)

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        return np.asarray((n_found + 1) / (rank * self._norm), dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if all remaining positive documents follow."""
        # The sum is Σ_j (n_found + j) / (rank + j).
        n_found = self._n_found(counts)
        n_ranks_left = max(self.depth - rank, 0)
        n_left = np.clip(self._n_positive - n_found, 0, n_ranks_left)
        reciprocals = self._harmonic[rank + n_left] - self._harmonic[rank]
        precisions = n_left + (n_found - rank) * reciprocals
        return np.asarray(precisions / self._norm, dtype=np.float64)


class RRProgress(BinaryProgress):
    """Progress of the reciprocal rank."""

    def _next_gain(self, rank: int, n_found: Ints) -> Floats:
        return np.asarray((n_found == 0) / rank, dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a positive document at the next rank, if there was none above."""
        can_follow = (rank < self.depth) & (self._n_positive > 0)
        is_open = (self._n_found(counts) == 0) & can_follow
        n_found = np.where(is_open, 0, 1)
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
        self._stop = stop
        self._totals = totals
        self.depth = _depth(cutoff, totals)
        self._discount = discount(np.arange(1, self.depth + 1))

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return the discounted probability of stopping at a document of each type."""
        if rank > self.depth:
            return np.zeros(counts.shape)
        reached = self._chance_to_stay(counts) * self._discount[rank - 1]
        return np.outer(reached, self._stop)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if every user who will still stop does so at the next rank."""
        if rank >= self.depth:
            return np.zeros(len(counts))
        reaches = self._chance_to_stay(counts)
        stops_later = 1.0 - self._chance_to_stay(self._totals - counts)
        return np.asarray(reaches * stops_later * self._discount[rank], dtype=np.float64)

    def _chance_to_stay(self, counts: Counts) -> Floats:
        """Return the probability of stopping at none of the documents.

        On long scales, it can be exactly 0.
        """
        stays = (1.0 - self._stop) ** counts  # (n_states, n_types)
        return np.asarray(np.prod(stays, axis=1), dtype=np.float64)
