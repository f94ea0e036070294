"""Beam search with an upper bound, for weighted sums of measures that are not all linear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import Floats, Ints
from ...bases import Term
from ...errors import MultiAspectError
from ...kernels.hits import descending, heads, positions, row_keys
from ...kernels.progress import (
    ConvexProgress,
    Counts,
    Progress,
    Progression,
    place_documents,
    precedence,
)

#: Tolerance for equal values, as sums in different orders are rounded differently.
_TOLERANCE = 1e-12

#: Maximum number of elements of the choices in `_later_worth` (80 MB; about 12 types of 500
#: documents).
_MOST_CHOICES = 20_000_000

#: Approximate number of elements in the states of a rank; limits the width if there are many types.
_MOST_CELLS, _LEAST_WIDTH = 500_000, 10

#: Limit of types^1.5 · ranks, beyond which the search for means is skipped (seconds per query).
_MOST_EFFORT = 250_000

#: Number of preceding states that are compared with each state.
_NEIGHBOURS = 16


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean of measures that is not a weighted sum."""

    #: The mean as a function of values and weights, both of shape (n_terms, n); non-decreasing in
    #: each value.
    combine: Callable[[Floats, Floats], Floats]
    #: Weights of a weighted sum that is an upper bound of the mean, shape (n_terms, n_queries).
    slope: Floats
    #: The best known upper bound, shape (n_queries,).
    bound: Floats


def search(
    terms: list[Term],
    query: Ints,
    floor: Floats,
    width: int,
    *,
    mean: Mean | None = None,
) -> tuple[Ints, Floats]:
    """Maximise Σ weight · measure, or another mean, over rankings, query by query.

    Rankings are built from rank 1 down. Among partial rankings of the same documents, dominated
    ones are removed, and a document is placed only after all documents that dominate it; neither
    removes all best rankings. Each partial ranking has an upper bound of the values of its
    completions. If more than `width` partial rankings remain, those with the lowest bounds are
    dropped. The maximum bound of the dropped ones gives the upper bound of the search, which is
    therefore exact if none was dropped.

    Parameters
    ----------
    terms : list of Term
        Measures and weights; all bases have a `progression`.
    query : ndarray of int, shape (n_pool,)
        The query of each judged document, non-decreasing.
    floor : ndarray of float, shape (n_queries,)
        Known attainable values; partial rankings that cannot exceed them are dropped.
    width : int
        Number of partial rankings kept per rank; fewer if there are many types of documents.
    mean : Mean, optional
        The mean to maximise, if it is not a weighted sum. Queries with many types of documents are
        skipped.

    Returns
    -------
    rank : ndarray of int, shape (n_pool,)
        The rank of each judged document, from 1, in the best ranking found.
    bound : ndarray of float, shape (n_queries,)
        Upper bounds for all rankings.
    """
    progressions = [_progression(term) for term in terms]
    gains = np.stack([progression.gain for progression in progressions])  # terms × documents
    weights = np.stack([term.weight for term in terms])  # terms × queries
    # Sorted by usefulness, so that the result does not depend on the order of the qrels.
    is_useless = ~gains.any(axis=0)
    order = np.lexsort((*-gains, is_useless, query))
    starts = np.searchsorted(query, np.arange(len(floor) + 1))
    rank = np.empty(len(query), dtype=np.intp)
    bound = floor.copy()
    for index in range(len(floor)):
        documents = order[starts[index] : starts[index + 1]]
        rank[documents] = np.arange(1, len(documents) + 1)
        active = np.flatnonzero(weights[:, index] > 0)
        is_useful = gains[np.ix_(active, documents)].any(axis=0)
        useful = documents[is_useful]
        if not len(useful):
            continue
        types, type_index, totals = _document_types(gains[np.ix_(active, useful)])
        parts = []
        for row, term in enumerate(active):
            parts.append(progressions[term].begin(types[row], totals, index))
        aim: _Aim
        if mean is None:
            aim = _WeightedSum(parts, weights[active, index], totals)
        else:
            effort = len(totals) ** 1.5 * max(part.depth for part in parts)
            if effort > _MOST_EFFORT or mean.bound[index] <= floor[index] + _TOLERANCE:
                bound[index] = mean.bound[index]
                continue
            slope = mean.slope[active, index]
            aim = _Mean(parts, weights[active, index], slope, mean.combine, totals)
        sequence, bound[index] = _beam(aim, types, totals, floor[index], width)
        if sequence is not None:
            # The documents of a type take its places in the sequence, in their order.
            by_type = useful[np.argsort(type_index, kind="stable")]
            places = np.argsort(sequence, kind="stable")
            rank[by_type] = places + 1
            rank[documents[~is_useful]] = np.arange(len(useful) + 1, len(documents) + 1)
    return rank, bound


def _progression(term: Term) -> Progression:
    """Return the progression of a term, which must have one."""
    progression = term.base.progression(term.target)
    if progression is None:
        raise MultiAspectError(
            f"the base {term.base.text} must define `progression` to be searched"
        )
    return progression


def _document_types(gains: Floats) -> tuple[Floats, Ints, Counts]:
    """Group documents of equal gains, best first.

    Parameters
    ----------
    gains : ndarray of float, shape (n_terms, n_documents)
        The gains of the documents.

    Returns
    -------
    types : ndarray of float, shape (n_terms, n_types)
        The gains of each type.
    type_index : ndarray of int, shape (n_documents,)
        The type of each document.
    totals : ndarray of int, shape (n_types,)
        The number of documents of each type.
    """
    negative, type_index, totals = np.unique(
        -gains, axis=1, return_inverse=True, return_counts=True
    )
    return -negative, type_index.ravel(), totals.astype(np.int32)


class _Aim(ABC):
    """The function to maximise, for states with `values` of shape (n_terms, n_states)."""

    def __init__(self, parts: list[Progress], weights: Floats) -> None:
        self.parts, self._weights = parts, weights

    @abstractmethod
    def value(self, values: Floats) -> Floats:
        """Return the values of states without further documents."""

    @abstractmethod
    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        """Return upper bounds of the values of their completions."""

    @abstractmethod
    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        """Return the states that none with the same documents, and so the same key, dominates."""


class _WeightedSum(_Aim):
    def __init__(self, parts: list[Progress], weights: Floats, totals: Counts) -> None:
        super().__init__(parts, weights)
        self._convex: list[tuple[float, ConvexProgress]] = []
        self._others: list[tuple[float, Progress]] = []
        for weight, part in zip(weights.tolist(), parts, strict=True):
            if isinstance(part, ConvexProgress):
                self._convex.append((weight, part))
            else:
                self._others.append((weight, part))
        self._later = None
        if len(self._convex) > 1:
            self._later = _later_worth(self._convex, totals)

    def value(self, values: Floats) -> Floats:
        return self._weights @ values

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        rest = _bound_of_rest(self._convex, rank, counts)
        if self._later is not None:
            placed = np.zeros(len(counts))
            for weight, part in self._convex:
                placed = placed + weight * (part.factor[rank] * part.level(counts))
            rest = np.minimum(rest, self._later[rank] - placed)
        rest = rest + _bound_of_rest(self._others, rank, counts)
        return self.value(values) + rest

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        order = descending(key, self.value(values))
        return order[heads(key[order])]


def _bound_of_rest(parts: Sequence[tuple[float, Progress]], rank: int, counts: Counts) -> Floats:
    """Return an upper bound of the weighted gain of measures after a rank, one per state."""
    bound = np.zeros(len(counts))
    for weight, part in parts:
        bound = bound + weight * part.bound_of_rest(rank, counts)
    return bound


class _Mean(_Aim):
    """A mean that is bounded by a weighted sum."""

    def __init__(
        self,
        parts: list[Progress],
        weights: Floats,
        slope: Floats,
        combine: Callable[[Floats, Floats], Floats],
        totals: Counts,
    ) -> None:
        super().__init__(parts, weights)
        self._combine = combine
        self._bounding = _WeightedSum(parts, slope, totals)

    def value(self, values: Floats) -> Floats:
        weights = np.broadcast_to(self._weights[:, None], values.shape)
        return self._combine(values, weights)

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        bounds_of_rest = np.stack([part.bound_of_rest(rank, counts) for part in self.parts])
        separate_bound = self.value(values + bounds_of_rest)
        bound_of_sum = self._bounding.hope(values, rank, counts)
        return np.minimum(separate_bound, bound_of_sum)

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        order = np.lexsort((*-values[::-1], key))
        key = key[order]
        values = values[:, order]
        is_dominated = np.zeros(len(order), dtype=np.bool_)
        # Dominating states precede the states they dominate; only the nearest predecessors are
        # compared.
        n_neighbours = min(_NEIGHBOURS, len(order) - 1)
        for distance in range(1, n_neighbours + 1):
            has_same_documents = key[distance:] == key[:-distance]
            is_at_most = (values[:, :-distance] >= values[:, distance:]).all(axis=0)
            is_dominated[distance:] |= has_same_documents & is_at_most
        return np.asarray(order[~is_dominated], dtype=np.intp)


def _beam(
    aim: _Aim, types: Floats, totals: Counts, floor: float, width: int
) -> tuple[Ints | None, float]:
    """Return the best sequence of types, if its value exceeds `floor`, and the upper bound."""
    n_types = len(totals)
    length = int(totals.sum())
    sizes = (totals + 1).tolist()
    width = min(width, max(_LEAST_WIDTH, int(_MOST_CELLS / n_types**1.5)))
    precedes = precedence(types)
    counts = np.zeros((1, n_types), dtype=np.int32)  # states × types
    values = np.zeros((len(aim.parts), 1))  # terms × states
    back: list[tuple[Ints, Ints]] = []
    dropped = -np.inf
    for rank in range(1, length + 1):
        state, chosen, extended = place_documents(counts, totals, precedes)
        gained = np.stack([part.step(rank, counts)[state, chosen] for part in aim.parts])
        values = values[:, state] + gained
        kept = aim.non_dominated(values, row_keys(extended, sizes))
        hope = aim.hope(values[:, kept], rank, extended[kept])
        is_hopeless = hope <= floor + _TOLERANCE
        kept = kept[~is_hopeless]
        hope = hope[~is_hopeless]
        if len(kept) > width:
            by_hope = np.argsort(-hope, kind="stable")
            dropped = max(dropped, float(hope[by_hope[width]]))
            kept = kept[by_hope[:width]]
            hope = hope[by_hope[:width]]
        if not len(kept):
            return None, max(floor, dropped)
        counts = extended[kept]
        values = values[:, kept]
        back.append((state[kept], chosen[kept]))
        if not (hope > aim.value(values)).any():  # beyond the cutoffs
            break
    final = aim.value(values)
    best = int(np.argmax(final))
    bound = max(float(final[best]), floor, dropped)
    not_placed = np.repeat(np.arange(n_types), totals - counts[best])
    return np.concatenate([_trace_back(back, best), not_placed]), bound


def _trace_back(back: list[tuple[Ints, Ints]], state: int) -> Ints:
    """Return the types that lead to a state, from the preceding states and types of each rank."""
    sequence = np.empty(len(back), dtype=np.intp)
    for position in range(len(back) - 1, -1, -1):
        states, chosen = back[position]
        sequence[position] = chosen[state]
        state = int(states[state])
    return sequence


def _later_worth(parts: list[tuple[float, ConvexProgress]], totals: Counts) -> Floats | None:
    """Return the maximum worth of the documents down to each later rank, cumulated from the end.

    The documents are chosen independently at each rank, which gives an upper bound. A convex
    function of the numbers of documents of each type, with a given sum, has its maximum where all
    types but one are taken completely or not at all; only these choices are evaluated.
    """
    n_types = len(totals)
    length = int(totals.sum())
    if n_types * length * 2.0 ** (n_types - 1) > _MOST_CHOICES:
        return None
    counts = _extreme_counts(totals)
    size = counts.sum(axis=1)
    order = np.argsort(size, kind="stable")
    starts = np.searchsorted(size[order], np.arange(1, length + 1))
    worths = []
    for weight, part in parts:
        level = weight * part.level(counts)
        falls = -np.diff(part.factor)  # by rank
        worths.append(level[order] * falls[size[order] - 1])
    worth = np.sum(worths, axis=0)
    maxima = np.maximum.reduceat(worth, starts)  # by rank
    cumulated = np.cumsum(maxima[::-1])[::-1]
    return np.append(cumulated, 0.0)


def _extreme_counts(totals: Counts) -> Counts:
    """Return the choices of documents in which all types but one are complete or absent.

    There is one row per choice, with the number of documents of each type.
    """
    n_types = len(totals)
    subsets = np.arange(2**n_types)
    is_complete = ((subsets[:, None] >> np.arange(n_types)) & 1).astype(np.int32)
    # A type that is not complete in a subset, with each number of its documents.
    partial, subset = np.nonzero(is_complete.T == 0)
    case = np.repeat(np.arange(len(partial)), totals[partial] + 1)
    counts = (is_complete[subset] * totals)[case]
    counts[np.arange(len(case)), partial[case]] = positions(case)
    return counts
