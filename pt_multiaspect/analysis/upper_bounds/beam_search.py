"""Beam search with an upper bound, for weighted sums of measures that are not all linear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
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
    """Maximise Σ weight · measure, or another mean, over the rankings of the judged documents, query by query.

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
    progressions: list[Progression] = []
    for term in terms:
        progression = term.base.progression(term.target)
        if progression is None:
            raise MultiAspectError(
                f"the base {term.base.text} must define `progression` to be searched"
            )
        progressions.append(progression)
    worths = np.stack([progression.gain for progression in progressions])
    weights = np.stack([term.weight for term in terms])
    # Sorted by usefulness, so that the result does not depend on the order of the qrels.
    order = np.lexsort((*-worths, ~worths.any(axis=0), query))
    rank = np.empty(len(query), dtype=np.intp)
    bound = floor.copy()
    starts = np.searchsorted(query, np.arange(len(floor) + 1))
    for index in range(len(floor)):
        documents = order[starts[index] : starts[index + 1]]
        rank[documents] = np.arange(1, len(documents) + 1)
        active = np.flatnonzero(weights[:, index] > 0)
        is_useful = worths[np.ix_(active, documents)].any(axis=0)
        useful, others = documents[is_useful], documents[~is_useful]
        if not len(useful):
            continue
        negative, type_index, times = np.unique(
            -worths[np.ix_(active, useful)], axis=1, return_inverse=True, return_counts=True
        )
        # The gain of each type for each measure, and the number of documents of each type.
        types: Floats = -negative
        totals: Counts = times.astype(np.int32)
        parts = [
            progressions[term].begin(types[row], totals, index) for row, term in enumerate(active)
        ]
        aim: _Aim
        if mean is None:
            aim = _WeightedSum(parts, weights[active, index], totals)
        else:
            effort = len(totals) ** 1.5 * max(part.depth for part in parts)
            if effort > _MOST_EFFORT or mean.bound[index] <= floor[index] + _TOLERANCE:
                bound[index] = mean.bound[index]
                continue
            aim = _Mean(
                parts, weights[active, index], mean.slope[active, index], mean.combine, totals
            )
        sequence, bound[index] = _beam(aim, types, totals, floor[index], width)
        if sequence is not None:
            rank[useful[np.argsort(type_index.ravel(), kind="stable")]] = (
                np.argsort(sequence, kind="stable") + 1
            )
            rank[others] = np.arange(len(useful) + 1, len(documents) + 1)
    return rank, bound


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
        """Return the states that are not dominated by one with the same documents, and therefore the same key."""


class _WeightedSum(_Aim):
    def __init__(self, parts: list[Progress], weights: Floats, totals: Counts) -> None:
        super().__init__(parts, weights)
        weighted = list(zip(weights.tolist(), parts, strict=True))
        self._convex = [
            (weight, part) for weight, part in weighted if isinstance(part, ConvexProgress)
        ]
        self._others = [
            (weight, part) for weight, part in weighted if not isinstance(part, ConvexProgress)
        ]
        if len(self._convex) > 1:
            self._later = _later_worth(self._convex, totals)
        else:
            self._later = None

    def value(self, values: Floats) -> Floats:
        return self._weights @ values

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        nothing = np.zeros(len(counts))
        rest = sum(
            (weight * part.bound_of_rest(rank, counts) for weight, part in self._convex), nothing
        )
        if self._later is not None:
            placed = (
                weight * (part.factor[rank] * part.level(counts)) for weight, part in self._convex
            )
            rest = np.minimum(rest, self._later[rank] - sum(placed, nothing))
        rest = rest + sum(
            (weight * part.bound_of_rest(rank, counts) for weight, part in self._others), nothing
        )
        return self.value(values) + rest

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        order = descending(key, self.value(values))
        return order[heads(key[order])]


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
        return self._combine(values, np.broadcast_to(self._weights[:, None], values.shape))

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        hope = self.value(
            values + np.stack([part.bound_of_rest(rank, counts) for part in self.parts])
        )
        return np.minimum(hope, self._bounding.hope(values, rank, counts))

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        order = np.lexsort((*-values[::-1], key))
        key, sorted_values = key[order], values[:, order]
        surpassed = np.zeros(len(order), dtype=np.bool_)
        # Dominating states precede the states they dominate; only the nearest predecessors are
        # compared.
        for step in range(1, min(_NEIGHBOURS, len(order) - 1) + 1):
            same = key[step:] == key[:-step]
            surpassed[step:] |= same & (sorted_values[:, :-step] >= sorted_values[:, step:]).all(
                axis=0
            )
        return np.asarray(order[~surpassed], dtype=np.intp)


def _beam(
    aim: _Aim, types: Floats, totals: Counts, floor: float, width: int
) -> tuple[Ints | None, float]:
    """Return the best sequence of types, if its value exceeds `floor`, and the upper bound."""
    n_types, length, sizes = len(totals), int(totals.sum()), (totals + 1).tolist()
    width = min(width, max(_LEAST_WIDTH, int(_MOST_CELLS / n_types**1.5)))
    precedes = precedence(types)
    counts, values = np.zeros((1, n_types), dtype=np.int32), np.zeros((len(aim.parts), 1))
    back: list[tuple[Ints, Ints]] = []
    dropped = -np.inf
    for rank in range(1, length + 1):
        state, chosen, placed = place_documents(counts, totals, precedes)
        gained = np.stack([part.step(rank, counts)[state, chosen] for part in aim.parts])
        values = values[:, state] + gained
        kept = aim.non_dominated(values, row_keys(placed, sizes))
        hope = aim.hope(values[:, kept], rank, placed[kept])
        promising = ~(hope <= floor + _TOLERANCE)
        kept, hope = kept[promising], hope[promising]
        if len(kept) > width:
            by_hope = np.argsort(-hope, kind="stable")
            dropped = max(dropped, float(hope[by_hope[width]]))
            kept, hope = kept[by_hope[:width]], hope[by_hope[:width]]
        if not len(kept):
            return None, max(floor, dropped)
        counts, values = placed[kept], values[:, kept]
        back.append((state[kept], chosen[kept]))
        if not (hope > aim.value(values)).any():  # beyond the cutoffs
            break
    final = aim.value(values)
    best = int(np.argmax(final))
    bound = max(float(final[best]), floor, dropped)
    sequence = np.empty(length, dtype=np.intp)
    sequence[len(back) :] = np.repeat(np.arange(n_types), totals - counts[best])
    for position in range(len(back) - 1, -1, -1):
        states, choices = back[position]
        sequence[position], best = choices[best], int(states[best])
    return sequence, bound


def _later_worth(parts: list[tuple[float, ConvexProgress]], totals: Counts) -> Floats | None:
    """Return the maximum worth of the documents down to each later rank, cumulated from the end.

    The documents are chosen independently at each rank, which gives an upper bound. A convex
    function of the numbers of documents of each type, with a given sum, has its maximum where all
    types but one are taken completely or not at all; only these choices are evaluated.
    """
    n_types, length = len(totals), int(totals.sum())
    if n_types * length * 2.0 ** (n_types - 1) > _MOST_CHOICES:
        return None
    whole = ((np.arange(2**n_types)[:, None] >> np.arange(n_types)) & 1).astype(np.int32)
    split, choice = np.nonzero(whole.T == 0)
    case = np.repeat(np.arange(len(split)), totals[split] + 1)
    counts = (whole[choice] * totals)[case]
    counts[np.arange(len(case)), split[case]] = positions(case)
    levels = [(weight * part.level(counts), part.factor) for weight, part in parts]
    size = counts.sum(axis=1)
    order = np.argsort(size, kind="stable")
    starts = np.searchsorted(size[order], np.arange(1, length + 1))
    worth = np.sum(
        [level[order] * -np.diff(factor)[size[order] - 1] for level, factor in levels], axis=0
    )
    maxima = np.maximum.reduceat(worth, starts)
    return np.append(np.cumsum(maxima[::-1])[::-1], 0.0)
