"""Measures computed rank by rank, with bounds of the remaining gain, for the beam search of best rankings."""

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
    """Return 1 where a type (row) is at least as good as another (column) for every measure, else 0.

    Types differ in the gain (column) of some measure (row).
    """
    at_least = np.asarray((types[:, :, None] >= types[:, None, :]).all(axis=0), dtype=np.float64)
    np.fill_diagonal(at_least, 0.0)
    return at_least


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
    state, chosen = np.nonzero(is_left & ((is_left.astype(np.float64) @ precedes) == 0))
    extended = counts[state]
    extended[np.arange(len(state)), chosen] += 1
    return state, chosen, extended


@dataclass(frozen=True, eq=False)
class Progression:
    """A measure computed rank by rank. Moving a better document up must never decrease its value."""

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
            return LinearProgress(gain, form.discounts(ranks, np.full(len(ranks), query)), totals)

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
    """A measure Σ_rank level(documents up to rank) · (factor[rank] - factor[rank + 1]), level convex."""

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
        self._gain, self._discount, self._totals = gain, discount, totals
        levels, type_level = np.unique(-gain, return_inverse=True)
        self._levels = -levels  # decreasing
        self._is_level = (type_level[:, None] == np.arange(len(levels))).astype(np.float64)
        self._cumulated = np.concatenate([[0.0], np.cumsum(discount)])

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return the sum of the gains."""
        return np.asarray(counts @ self._gain, dtype=np.float64)

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return gain times discount of a document of each type."""
        return np.broadcast_to(self._gain * self._discount[rank - 1], counts.shape)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of the remaining documents in decreasing order of gain, which is optimal."""
        left = (self._totals - counts) @ self._is_level
        ends = rank + np.cumsum(left, axis=1).astype(np.intp)
        until = self._cumulated[ends]
        since = np.concatenate(
            [np.full((len(ends), 1), self._cumulated[rank]), until[:, :-1]], axis=1
        )
        return np.asarray((until - since) @ self._levels, dtype=np.float64)


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
        return np.outer(self._next(rank, self._n_found(counts)), self._positive)

    @abstractmethod
    def _next(self, rank: int, n_found: Ints) -> Floats:
        """Return the gain of a positive document at `rank` with `n_found` positive documents above it."""


class APProgress(BinaryProgress, ConvexProgress):
    """Progress of average precision."""

    # With F positive documents up to a rank and x = 1 if there is a positive one at the rank,
    # F_i x_i = (F_i² + F_i - F_(i-1)² - F_(i-1)) / 2.

    def __init__(self, positive: Floats, cutoff: int | None, totals: Counts) -> None:
        super().__init__(positive, cutoff, totals)
        ranks = np.arange(1, int(totals.sum()) + 1)
        self.factor = np.append(np.where(ranks <= self.depth, 1.0 / ranks, 0.0), 0.0)
        self._harmonic = np.concatenate([[0.0], np.cumsum(1.0 / ranks)])

    def level(self, counts: NDArray[np.number]) -> Floats:
        """Return F (F + 1) / 2R for F positive documents of R."""
        n_found = counts @ self._positive
        return np.asarray(n_found * (n_found + 1) / (2 * self._norm), dtype=np.float64)

    def _next(self, rank: int, n_found: Ints) -> Floats:
        return np.asarray((n_found + 1) / (rank * self._norm), dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if all remaining positive documents follow."""
        # The sum is Σ_j (n_found + j) / (rank + j).
        n_found = self._n_found(counts)
        left = np.clip(self._n_positive - n_found, 0, max(self.depth - rank, 0))
        later = self._harmonic[rank + left] - self._harmonic[rank]
        return np.asarray((left + (n_found - rank) * later) / self._norm, dtype=np.float64)


class RRProgress(BinaryProgress):
    """Progress of the reciprocal rank."""

    def _next(self, rank: int, n_found: Ints) -> Floats:
        return np.asarray((n_found == 0) / rank, dtype=np.float64)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of a positive document at the next rank, if there was none above."""
        is_open = (self._n_found(counts) == 0) & (rank < self.depth) & (self._n_positive > 0)
        return self._next(rank + 1, np.where(is_open, 0, 1))


class SuccessProgress(RRProgress):
    """Progress of success: 1 from the first positive document on."""

    def _next(self, rank: int, n_found: Ints) -> Floats:
        return np.asarray(n_found == 0, dtype=np.float64)


class CascadeProgress(Progress):
    """Σ_rank discount(rank) · probability of stopping at the rank, for a non-increasing discount."""

    def __init__(
        self, stop: Floats, cutoff: int | None, totals: Counts, discount: Callable[[Ints], Floats]
    ) -> None:
        self._stop, self._totals = stop, totals
        self.depth = _depth(cutoff, totals)
        self._discount = discount(np.arange(1, self.depth + 1))

    def step(self, rank: int, counts: Counts) -> Floats:
        """Return the discounted probability of stopping at a document of each type."""
        if rank > self.depth:
            return np.zeros(counts.shape)
        return np.outer(self._chance_to_stay(counts) * self._discount[rank - 1], self._stop)

    def bound_of_rest(self, rank: int, counts: Counts) -> Floats:
        """Return the gain if all users who have not stopped, but will, stop at the next rank."""
        if rank >= self.depth:
            return np.zeros(len(counts))
        stops = 1.0 - self._chance_to_stay(self._totals - counts)
        return np.asarray(
            self._chance_to_stay(counts) * stops * self._discount[rank], dtype=np.float64
        )

    def _chance_to_stay(self, counts: Counts) -> Floats:
        """Return the probability of stopping at none of the documents; on long scales, it can be exactly 0."""
        return np.asarray(np.prod((1.0 - self._stop) ** counts, axis=1), dtype=np.float64)
