"""Beam search with an upper bound, for weighted sums of measures that are not all linear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

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
_MOST_CELLS = 500_000

#: The width that remains in any case.
_LEAST_WIDTH = 10

#: Limit of types^1.5 · ranks, beyond which the search for means is skipped (seconds per query).
_MOST_EFFORT = 250_000

#: Number of preceding states that are compared with each state.
_NEIGHBOURS = 16

#: A weight, and the progress of the measure that it belongs to.
_WeightedProgress: TypeAlias = tuple[float, Progress]
_WeightedConvexProgress: TypeAlias = tuple[float, ConvexProgress]


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
    gains = np.stack([progression.gain for progression in progressions])  # (n_terms, n_pool)
    weights = np.stack([term.weight for term in terms])  # (n_terms, n_queries)
    rank = np.empty(len(query), dtype=np.intp)
    bound = floor.copy()
    for index, documents in enumerate(_sorted_documents(gains, query, len(floor))):
        rank[documents] = np.arange(1, len(documents) + 1)

        # Measures without weight do not count, nor do documents without gain by the others.
        active = np.flatnonzero(weights[:, index] > 0)
        is_useful = gains[np.ix_(active, documents)].any(axis=0)
        useful = documents[is_useful]
        useless = documents[~is_useful]
        if not len(useful):
            continue

        types = _document_types(gains[np.ix_(active, useful)])
        parts = []
        for row, term in enumerate(active):
            progression = progressions[term]
            parts.append(progression.begin(types.gains[row], types.totals, index))
        active_weights = weights[active, index]
        aim: _Aim
        if mean is None:
            aim = _WeightedSum(parts, active_weights, types.totals)
        else:
            # A search that takes too long, or cannot improve the known value, is skipped.
            effort = _search_effort(parts, types.totals)
            is_known = mean.bound[index] <= floor[index] + _TOLERANCE
            if effort > _MOST_EFFORT or is_known:
                bound[index] = mean.bound[index]
                continue
            slope = mean.slope[active, index]
            aim = _Mean(parts, active_weights, slope, mean.combine, types.totals)

        sequence, bound[index] = _beam(aim, types, floor[index], width)
        if sequence is not None:
            rank[useful] = _ranks_from_types(sequence, types.type_of_document)
            rank[useless] = np.arange(len(useful) + 1, len(documents) + 1)
    return rank, bound


def _sorted_documents(gains: Floats, query: Ints, n_queries: int) -> list[Ints]:
    """Return the documents of each query, as positions in the pool, sorted by their gains.

    Documents without gain by any measure are last.

    Parameters
    ----------
    gains : ndarray of float, shape (n_terms, n_pool)
        The gains of the documents by each measure.
    query : ndarray of int, shape (n_pool,)
        The query of each document, non-decreasing.
    n_queries : int
        The number of queries.
    """
    is_useless = ~gains.any(axis=0)
    # Sorting makes the result independent of the order of the qrels. The last key comes first.
    by_query = np.lexsort((*-gains, is_useless, query))
    starts = np.searchsorted(query, np.arange(n_queries + 1))
    return [by_query[start:end] for start, end in pairwise(starts)]


def _search_effort(parts: list[Progress], totals: Counts) -> float:
    """Return types^1.5 · ranks, which grows with the duration of a search for a query."""
    n_types = len(totals)
    deepest_rank = max(part.depth for part in parts)
    return float(n_types**1.5 * deepest_rank)


def _ranks_from_types(sequence: Ints, type_of_document: Ints) -> Ints:
    """Return the rank of each document, from 1, given the type at each rank.

    The documents of a type take its ranks in their order.
    """
    documents_by_type = np.argsort(type_of_document, kind="stable")
    positions_by_type = np.argsort(sequence, kind="stable")
    ranks = np.empty(len(sequence), dtype=np.intp)
    ranks[documents_by_type] = positions_by_type + 1
    return ranks


def _progression(term: Term) -> Progression:
    """Return the progression of a term, which must have one."""
    progression = term.base.progression(term.target)
    if progression is None:
        raise MultiAspectError(
            f"the base {term.base.text} must define `progression` to be searched"
        )
    return progression


class _DocumentTypes(NamedTuple):
    """Types of documents: all documents of a type have the same gain by every measure."""

    #: The gains of the types, shape (n_terms, n_types), decreasing by the first measure.
    gains: Floats
    #: The number of documents of each type, shape (n_types,).
    totals: Counts
    #: The type of each document, shape (n_documents,).
    type_of_document: Ints


def _document_types(gains: Floats) -> _DocumentTypes:
    """Return the types of documents with the given gains, shape (n_terms, n_documents)."""
    # `np.unique` sorts upwards: negative gains give the best type first.
    negative_gains, type_of_document, totals = np.unique(
        -gains, axis=1, return_inverse=True, return_counts=True
    )
    return _DocumentTypes(-negative_gains, totals.astype(np.int32), type_of_document.ravel())


class _Aim(ABC):
    """The function to maximise, for states with `values` of shape (n_terms, n_states)."""

    def __init__(self, parts: list[Progress], weights: Floats) -> None:
        self.parts = parts
        self._weights = weights

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
    """A weighted sum of measures."""

    def __init__(self, parts: list[Progress], weights: Floats, totals: Counts) -> None:
        super().__init__(parts, weights)
        self._convex: list[_WeightedConvexProgress] = []
        self._others: list[_WeightedProgress] = []
        for part, weight in zip(parts, weights.tolist(), strict=True):
            if isinstance(part, ConvexProgress):
                self._convex.append((weight, part))
            else:
                self._others.append((weight, part))
        # Of a single convex measure, `bound_of_rest` is exact: no second bound is needed.
        self._later_worth: Floats | None = None
        if len(self._convex) > 1:
            self._later_worth = _later_worth(self._convex, totals)

    def value(self, values: Floats) -> Floats:
        """Return the weighted sums of the values of the measures, shape (n_states,)."""
        return self._weights @ values

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        """Return the values after a rank plus upper bounds of the later gain, shape (n_states,)."""
        rest = _bound_of_rest(self._convex, rank, counts)
        if self._later_worth is not None:
            # With the level of a measure at each rank and its factor, its gain after `rank` is
            # Σ_later level · (factor - next factor) - level(counts) · factor[rank + 1].
            worth_of_counts = np.zeros(len(counts))
            for weight, part in self._convex:
                next_factor = part.factor[rank]  # the array begins with rank 1
                worth = next_factor * part.level(counts)
                worth_of_counts = worth_of_counts + weight * worth
            joint_rest = self._later_worth[rank] - worth_of_counts
            rest = np.minimum(rest, joint_rest)
        rest = rest + _bound_of_rest(self._others, rank, counts)
        return self.value(values) + rest

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        """Return the positions of the states with the highest value of their key.

        States with the same key have the same documents, and so the same later gain.
        """
        order = descending(key, self.value(values))
        return order[heads(key[order])]


def _bound_of_rest(parts: Sequence[_WeightedProgress], rank: int, counts: Counts) -> Floats:
    """Return an upper bound of the weighted sum of gains after a rank, shape (n_states,)."""
    bound = np.zeros(len(counts))
    for weight, part in parts:
        weighted_bound = weight * part.bound_of_rest(rank, counts)
        bound = bound + weighted_bound
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
        # The sum of the values times their slopes is an upper bound of the mean.
        self._tangent = _WeightedSum(parts, slope, totals)

    def value(self, values: Floats) -> Floats:
        """Return the means of the values of the measures, shape (n_states,)."""
        weights = np.broadcast_to(self._weights[:, None], values.shape)
        return self._combine(values, weights)

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        """Return upper bounds of the means of completions of states, shape (n_states,)."""
        bounds_of_rest = np.stack([part.bound_of_rest(rank, counts) for part in self.parts])
        # Either bound may be the lower one: that of each measure alone, or that of the tangent.
        separate_bound = self.value(values + bounds_of_rest)
        tangent_bound = self._tangent.hope(values, rank, counts)
        return np.minimum(separate_bound, tangent_bound)

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        """Return the positions of states without a near one of the same key that is at least as good.

        Parameters
        ----------
        values : ndarray of float, shape (n_terms, n_states)
            The values of the measures.
        key : ndarray of int, shape (n_states,)
            A number per state, equal for states with the same documents.
        """
        # Sort by documents, then by decreasing values of the first measure, the second and so on
        # (`lexsort` begins with the last key): dominating states precede those they dominate.
        decreasing_values = -values[::-1]
        order = np.lexsort((*decreasing_values, key))
        key = key[order]
        values = values[:, order]
        is_dominated = np.zeros(len(order), dtype=np.bool_)

        # Comparing all pairs would take too long: only the nearest predecessors are compared.
        n_neighbours = min(_NEIGHBOURS, len(order) - 1)
        for distance in range(1, n_neighbours + 1):
            has_same_documents = key[distance:] == key[:-distance]
            earlier_values = values[:, :-distance]
            later_values = values[:, distance:]
            is_at_most = (earlier_values >= later_values).all(axis=0)
            is_dominated[distance:] |= has_same_documents & is_at_most
        return np.asarray(order[~is_dominated], dtype=np.intp)


class _Step(NamedTuple):
    """How the states of a rank extend those of the rank above, both of shape (n_states,)."""

    #: The position of the extended state among those of the rank above.
    previous: Ints
    #: The type of the document at the rank.
    chosen: Ints


def _beam(aim: _Aim, types: _DocumentTypes, floor: float, width: int) -> tuple[Ints | None, float]:
    """Return the best sequence of types, None if its value is not above `floor`, and a bound.

    A state is a partial ranking; its `hope` is the upper bound of the values of its completions.
    """
    totals = types.totals
    n_types = len(totals)
    n_documents = int(totals.sum())
    precedes = precedence(types.gains)
    sizes = (totals + 1).tolist()  # each count is from 0 to its total
    affordable_width = int(_MOST_CELLS / n_types**1.5)
    width = min(width, max(_LEAST_WIDTH, affordable_width))

    counts = np.zeros((1, n_types), dtype=np.int32)  # (n_states, n_types)
    values = np.zeros((len(aim.parts), 1))  # (n_terms, n_states)
    steps: list[_Step] = []
    highest_dropped = -np.inf
    for rank in range(1, n_documents + 1):
        previous, chosen, extended = place_documents(counts, totals, precedes)
        gained = np.stack([part.step(rank, counts)[previous, chosen] for part in aim.parts])
        values = values[:, previous] + gained
        kept = aim.non_dominated(values, row_keys(extended, sizes))

        # States that cannot exceed the known value are dropped without loss.
        hope = aim.hope(values[:, kept], rank, extended[kept])
        is_hopeless = hope <= floor + _TOLERANCE
        kept = kept[~is_hopeless]
        hope = hope[~is_hopeless]
        if len(kept) > width:
            by_hope = np.argsort(-hope, kind="stable")
            hope_of_first_dropped = float(hope[by_hope[width]])
            highest_dropped = max(highest_dropped, hope_of_first_dropped)
            kept = kept[by_hope[:width]]
            hope = hope[by_hope[:width]]
        if not len(kept):
            return None, max(floor, highest_dropped)

        counts = extended[kept]
        values = values[:, kept]
        steps.append(_Step(previous[kept], chosen[kept]))
        # Beyond the cutoffs of all measures, no value can rise.
        can_rise = hope > aim.value(values)
        if not can_rise.any():
            break

    final_values = aim.value(values)
    best = int(np.argmax(final_values))
    bound = max(float(final_values[best]), floor, highest_dropped)
    n_left = totals - counts[best]
    types_left = np.repeat(np.arange(n_types), n_left)
    return np.concatenate([_trace_back(steps, best), types_left]), bound


def _trace_back(steps: list[_Step], last_state: int) -> Ints:
    """Return the type at each rank of the partial ranking that is a state of the last step."""
    sequence = np.empty(len(steps), dtype=np.intp)
    state = last_state
    last_position = len(steps) - 1
    for position in range(last_position, -1, -1):
        step = steps[position]
        sequence[position] = step.chosen[state]
        state = int(step.previous[state])
    return sequence


def _later_worth(parts: list[_WeightedConvexProgress], totals: Counts) -> Floats | None:
    """Return an upper bound of Σ_later weight · level · (factor - next factor), after each rank.

    The documents down to each rank are chosen independently. A convex function of the numbers of
    documents of each type, with a given sum, has its maximum where all types but one are taken
    completely or not at all; only these choices are evaluated. None if there are too many.
    """
    n_types = len(totals)
    n_documents = int(totals.sum())
    n_cells = n_types * n_documents * 2.0 ** (n_types - 1)
    if n_cells > _MOST_CHOICES:
        return None

    # Sort the choices by their number of documents, which is the rank that they fill.
    counts = _extreme_counts(totals)
    n_chosen = counts.sum(axis=1)
    order = np.argsort(n_chosen, kind="stable")
    last_rank = n_chosen[order]
    worths = []
    for weight, part in parts:
        level = weight * part.level(counts)
        falls = -np.diff(part.factor)  # at each rank from 1
        worths.append(level[order] * falls[last_rank - 1])
    worth_of_choices = np.sum(worths, axis=0)

    # The choice of no document, which is sorted first, belongs to no rank.
    starts = np.searchsorted(last_rank, np.arange(1, n_documents + 1))
    worth_of_ranks = np.maximum.reduceat(worth_of_choices, starts)
    from_rank = np.cumsum(worth_of_ranks[::-1])[::-1]
    return np.append(from_rank, 0.0)  # nothing is left after the last rank


def _extreme_counts(totals: Counts) -> Counts:
    """Return the choices of documents in which all types but one are complete or absent.

    There is one row per choice, with the number of documents of each type.
    """
    n_types = len(totals)
    # The binary digits of a subset's number say which types are complete in it.
    subsets = np.arange(2**n_types)
    shifted = subsets[:, None] >> np.arange(n_types)
    is_complete = (shifted & 1).astype(np.int32)  # (n_subsets, n_types)

    # In each subset, each type that is not complete is the exception once, with each number of
    # documents from 0 to its total.
    exception, subset = np.nonzero(is_complete.T == 0)
    n_choices = totals[exception] + 1
    group = np.repeat(np.arange(len(exception)), n_choices)
    complete_counts = is_complete[subset] * totals
    counts = complete_counts[group]
    rows = np.arange(len(group))
    counts[rows, exception[group]] = positions(group)
    return counts
