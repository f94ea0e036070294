"""Beam search with an upper bound, for weighted sums of measures that are not all linear."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from ..._typing import Bools, Floats, Ints
from ...bases import Term
from ...errors import MultiAspectError
from ...kernels.hits import descending, heads, row_keys
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
    documents_of_queries = _sorted_documents(gains, query, len(floor))
    for index, documents in enumerate(documents_of_queries):
        # Documents stay in this order unless the search finds a better one.
        rank[documents] = np.arange(1, len(documents) + 1)
        gains_of_query = gains[:, documents]
        task = _search_task(progressions, gains_of_query, weights[:, index], index)
        if task is None:
            continue  # without any gain, all rankings are equal
        known_value = floor[index]
        if mean is not None:
            bound_of_mean = mean.bound[index]
            if _is_search_skipped(bound_of_mean, known_value, task):
                bound[index] = bound_of_mean
                continue
        aim = _aim_of_query(task, mean, index)
        sequence, bound_of_query = _beam(aim, task.types, known_value, width)
        bound[index] = bound_of_query
        if sequence is not None:
            rank[documents] = _ranks_of_documents(sequence, task)
    return rank, bound


class _SearchTask(NamedTuple):
    """A query for the search: its measures with weight, and its documents with gain."""

    #: The positions of the measures with weight among all, their weights and their progress.
    measures: Ints
    weights: Floats
    parts: list[Progress]
    #: A mask of the documents that have a gain by any of these measures, and their types.
    is_useful: Bools
    types: _DocumentTypes


def _search_task(
    progressions: list[Progression], gains: Floats, weights: Floats, query: int
) -> _SearchTask | None:
    """Return what the search needs of a query, None if no document has a gain.

    Parameters
    ----------
    progressions : list of Progression
        One per measure.
    gains : ndarray of float, shape (n_terms, n_documents)
        The gains of the query's documents by each measure.
    weights : ndarray of float, shape (n_terms,)
        The weights of the measures for the query.
    query : int
        The index of the query.
    """
    weighted = np.flatnonzero(weights > 0)  # the positions of the measures that count
    weighted_gains = gains[weighted]
    is_useful = np.asarray(weighted_gains.any(axis=0))
    if not is_useful.any():
        return None
    types = _document_types(weighted_gains[:, is_useful])
    parts = []
    for measure, gains_of_types in zip(weighted, types.gains, strict=True):
        progression = progressions[measure]
        parts.append(progression.begin(gains_of_types, types.totals, query))
    return _SearchTask(weighted, weights[weighted], parts, is_useful, types)


def _aim_of_query(task: _SearchTask, mean: Mean | None, query: int) -> _Aim:
    """Return what is maximised for a query: a weighted sum, or the mean if one is given."""
    parts = task.parts
    weights = task.weights
    totals = task.types.totals
    if mean is None:
        return _WeightedSum(parts, weights, totals)
    slope = mean.slope[task.measures, query]
    return _Mean(parts, weights, slope, mean.combine, totals)


def _ranks_of_documents(sequence: Ints, task: _SearchTask) -> Ints:
    """Return the rank of each document of a query, given the type of useful ones at each rank.

    Documents that are not useful follow them, in their order.
    """
    is_useful = task.is_useful
    n_documents = len(is_useful)
    n_useful = len(sequence)
    ranks = np.empty(n_documents, dtype=np.intp)
    ranks[is_useful] = _ranks_from_types(sequence, task.types.type_of_document)
    next_rank = n_useful + 1
    ranks[~is_useful] = np.arange(next_rank, n_documents + 1)
    return ranks


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
    has_no_gain = ~gains.any(axis=0)
    highest_first = list(-gains)
    # `lexsort` sorts by its last key first: by query, then by whether there is a gain, then by the
    # gains. With them, the result does not depend on the order of the qrels.
    keys = [*highest_first, has_no_gain, query]
    by_query = np.lexsort(keys)
    # The queries are sorted already: query i is at the positions from starts[i] to starts[i + 1].
    queries_and_end = np.arange(n_queries + 1)
    starts = np.searchsorted(query, queries_and_end)
    return [by_query[start:end] for start, end in pairwise(starts)]


def _is_search_skipped(bound: float, known_value: float, task: _SearchTask) -> bool:
    """Return whether a search would take too long, or cannot improve the known value.

    `bound` is an upper bound of the values of all rankings.
    """
    is_known = bound <= known_value + _TOLERANCE
    n_types = len(task.types.totals)
    deepest_rank = max(part.depth for part in task.parts)
    effort = _numbers_per_state(n_types) * deepest_rank
    return bool(is_known or effort > _MOST_EFFORT)


def _numbers_per_state(n_types: int) -> float:
    """Return about how many numbers are computed to extend a partial ranking by one document.

    The next document must be of a type that no better one precedes. If the n types are all pairs of
    √n labels on each of two aspects, √n of them at most are such. An extended ranking has a count
    per type, so that these are √n · n numbers.
    """
    return float(n_types**1.5)


def _ranks_from_types(sequence: Ints, type_of_document: Ints) -> Ints:
    """Return the rank of each document, from 1, given the type at each rank.

    The documents of a type take its ranks in their order: documents of the types [1, 0, 1] have the
    ranks [1, 3, 2] if the sequence of types is [1, 1, 0].
    """
    ranks = np.empty(len(sequence), dtype=np.intp)
    for document_type in np.unique(sequence):
        positions_of_type = np.flatnonzero(sequence == document_type)  # from 0
        ranks[type_of_document == document_type] = positions_of_type + 1
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
    gains_of_types = -negative_gains
    counts = totals.astype(np.int32)
    return _DocumentTypes(gains_of_types, counts, type_of_document.ravel())


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
    """A weighted sum of measures.

    Some measures are *convex*: a sum over ranks of level · (factor − next factor), where the level
    is a convex function of the documents down to the rank, such as their sum of gains. The *worth*
    of a rank is its weighted summand, for all convex measures together.
    """

    def __init__(self, parts: list[Progress], weights: Floats, totals: Counts) -> None:
        """Prepare the bounds of a query.

        Parameters
        ----------
        parts : list of Progress
            The progress of each measure.
        weights : ndarray of float, shape (n_terms,)
            The weights of the measures.
        totals : ndarray of int, shape (n_types,)
            The number of documents of each type.
        """
        super().__init__(parts, weights)
        # Bounds differ for convex and for other measures, which are paired with their weights.
        self._convex: list[_WeightedConvexProgress] = []
        self._others: list[_WeightedProgress] = []
        for part, weight in zip(parts, weights.tolist(), strict=True):
            if isinstance(part, ConvexProgress):
                self._convex.append((weight, part))
            else:
                self._others.append((weight, part))
        #: Upper bounds of the worth of all ranks after each rank; None if not needed or too large.
        self._later_worth: Floats | None = None
        # Of a single convex measure, `bound_of_rest` is exact: no second bound is needed.
        if len(self._convex) > 1:
            self._later_worth = _later_worth(self._convex, totals)

    def value(self, values: Floats) -> Floats:
        """Return the weighted sums of the values of the measures, shape (n_states,)."""
        return self._weights @ values

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        """Return the values after a rank plus upper bounds of the later gain, shape (n_states,)."""
        bound_of_convex = self._bound_of_convex(rank, counts)
        bound_of_others = _bound_of_rest(self._others, rank, counts)
        bound_of_rest = bound_of_convex + bound_of_others
        return self.value(values) + bound_of_rest

    def _bound_of_convex(self, rank: int, counts: Counts) -> Floats:
        """Return upper bounds of the gain of convex measures after a rank, shape (n_states,).

        Of two bounds, the lower one is returned. The first one adds bounds of single measures, as
        if each had a ranking of its own. The second one takes the documents at each rank that are
        the best for all measures together, whatever was ranked before.
        """
        sum_of_bounds = _bound_of_rest(self._convex, rank, counts)
        if self._later_worth is None:
            return sum_of_bounds
        # The values of the states contain a part of the worth of later ranks already.
        worth_in_values = self._worth_in_values(rank, counts)
        joint_bound = self._later_worth[rank] - worth_in_values
        return np.asarray(np.minimum(sum_of_bounds, joint_bound))

    def _worth_in_values(self, rank: int, counts: Counts) -> Floats:
        """Return the worth of later ranks that values after a rank have already, shape (n_states,).

        It is their worth if no documents were added: the level remains. With a level L after rank
        1, and factors 1, 0.5 and 0.2 (then 0) of the ranks, ranks 2 and 3 have the worth
        L · (0.5 − 0.2) + L · (0.2 − 0) = L · 0.5: the level times the factor of the next rank.
        """
        worth = np.zeros(len(counts))
        for weight, part in self._convex:
            next_factor = part.factor[rank]  # of rank + 1, as the array begins with rank 1
            worth_of_part = next_factor * part.level(counts)
            worth = worth + weight * worth_of_part
        return worth

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        """Return the positions of the states with the highest value of their key.

        States with the same key have the same documents, and so the same later gain.
        """
        weighted_sums = self.value(values)
        highest_first = descending(key, weighted_sums)  # sorted by key, then by value
        sorted_key = key[highest_first]
        first_of_keys = heads(sorted_key)
        return highest_first[first_of_keys]


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
        """Prepare the bounds of a query.

        Parameters
        ----------
        parts : list of Progress
            The progress of each measure.
        weights : ndarray of float, shape (n_terms,)
            The weights of the measures in the mean.
        slope : ndarray of float, shape (n_terms,)
            Slopes of the mean at some point. As it is concave, it is at most its tangent there,
            which is the sum of the values times these slopes.
        combine : callable
            The mean as a function of values and weights.
        totals : ndarray of int, shape (n_types,)
            The number of documents of each type.
        """
        super().__init__(parts, weights)
        self._combine = combine
        self._tangent = _WeightedSum(parts, slope, totals)

    def value(self, values: Floats) -> Floats:
        """Return the means of the values of the measures, shape (n_states,)."""
        weights_of_terms = self._weights[:, None]
        weights = np.broadcast_to(weights_of_terms, values.shape)
        return self._combine(values, weights)

    def hope(self, values: Floats, rank: int, counts: Counts) -> Floats:
        """Return upper bounds of the means of completions of states, shape (n_states,)."""
        bounds_of_rest = []
        for part in self.parts:
            bounds_of_rest.append(part.bound_of_rest(rank, counts))
        highest_values = values + np.stack(bounds_of_rest)
        # Either bound may be the lower one: that of each measure alone, or that of the tangent.
        separate_bound = self.value(highest_values)
        tangent_bound = self._tangent.hope(values, rank, counts)
        return np.minimum(separate_bound, tangent_bound)

    def non_dominated(self, values: Floats, key: Ints) -> Ints:
        """Return the positions of states that no near state with the same key dominates.

        A state dominates another if its value is at least as high by each measure.

        Parameters
        ----------
        values : ndarray of float, shape (n_terms, n_states)
            The values of the measures.
        key : ndarray of int, shape (n_states,)
            A number per state, equal for states with the same documents.
        """
        # Sort the states by documents, then by the highest value of the first measure, of the
        # second and so on: states precede those that they dominate. `lexsort` wants the first of
        # these last.
        first_sorted_by_first = [key, *(-values)]
        order = np.lexsort(first_sorted_by_first[::-1])
        sorted_key = key[order]
        sorted_values = values[:, order]
        n_states = len(order)
        is_dominated = np.zeros(n_states, dtype=np.bool_)  # in this order

        # Comparing all pairs would take too long: only the nearest predecessors are compared.
        n_neighbours = min(_NEIGHBOURS, n_states - 1)
        for distance in range(1, n_neighbours + 1):
            is_dominated[distance:] |= _are_dominated(sorted_values, sorted_key, distance)
        non_dominated = order[~is_dominated]
        return np.asarray(non_dominated, dtype=np.intp)


def _are_dominated(values: Floats, key: Ints, distance: int) -> Bools:
    """Return whether states are dominated by the state at a distance before them.

    An earlier state dominates a later one if it has the same key and all its values are at least
    as high. At distance 2, the states 2, 3, 4, … are compared with the states 0, 1, 2, …, so that
    the mask has two elements less than there are states. The values are terms × states.
    """
    later_key = key[distance:]
    earlier_key = key[:-distance]
    later_values = values[:, distance:]
    earlier_values = values[:, :-distance]
    is_earlier_as_high = (earlier_values >= later_values).all(axis=0)
    has_same_key = earlier_key == later_key
    return np.asarray(has_same_key & is_earlier_as_high)


class _States(NamedTuple):
    """Partial rankings of the same number of documents."""

    #: The number of documents of each type, shape (n_states, n_types).
    counts: Counts
    #: The value of each measure, shape (n_terms, n_states).
    values: Floats

    def take(self, positions: Ints) -> _States:
        """Return the states at the positions."""
        counts = self.counts[positions]
        values = self.values[:, positions]
        return _States(counts, values)


class _Step(NamedTuple):
    """The step from the states of a rank to those of the next, as arrays of shape (n_states,)."""

    #: The position of the extended state among those of the rank above.
    previous: Ints
    #: The type of the document at the rank.
    chosen: Ints

    def take(self, positions: Ints) -> _Step:
        """Return the step to the states at the positions."""
        previous = self.previous[positions]
        chosen = self.chosen[positions]
        return _Step(previous, chosen)


class _KeptStates(NamedTuple):
    """The states of a rank that the search keeps."""

    #: Their positions among all states of the rank.
    positions: Ints
    #: Upper bounds of the values of their completions.
    hope: Floats
    #: The highest bound of the states that were dropped only because there were too many; −∞ if
    #: there are none.
    hope_of_dropped: float


def _beam(aim: _Aim, types: _DocumentTypes, floor: float, width: int) -> tuple[Ints | None, float]:
    """Return the best sequence of types, None if its value is not above `floor`, and a bound.

    States are partial rankings down to a rank, of which at most `width` are kept. The bound is an
    upper bound of the values of all rankings.
    """
    states, steps, highest_dropped = _last_states(aim, types, floor, width)
    if len(states.counts) == 0:
        return None, max(floor, highest_dropped)
    final_values = aim.value(states.values)
    best = int(np.argmax(final_values))
    best_value = float(final_values[best])
    bound = max(best_value, floor, highest_dropped)
    # The documents that are left do not change the value, so that any order will do.
    n_types = len(types.totals)
    n_left = types.totals - states.counts[best]
    types_left = np.repeat(np.arange(n_types), n_left)
    types_placed = _trace_back(steps, best)
    sequence = np.concatenate([types_placed, types_left])
    return sequence, bound


def _last_states(
    aim: _Aim, types: _DocumentTypes, floor: float, width: int
) -> tuple[_States, list[_Step], float]:
    """Return the states at the rank where the search ends, the steps to them, and a bound.

    There are no states if none can exceed `floor`, the known value. The bound is an upper bound of
    the values of completions of the states that were dropped because there were more than `width`.
    """
    totals = types.totals
    n_types = len(totals)
    n_measures = len(aim.parts)
    precedes = precedence(types.gains)
    width = _affordable_width(width, n_types)
    # Begin with one state, the empty ranking.
    no_documents = np.zeros((1, n_types), dtype=np.int32)
    no_values = np.zeros((n_measures, 1))
    states = _States(no_documents, no_values)
    steps: list[_Step] = []
    highest_dropped = -np.inf
    n_documents = int(totals.sum())
    for rank in range(1, n_documents + 1):
        extended, step = _extend(states, rank, aim.parts, totals, precedes)
        kept = _keep_states(aim, extended, rank, totals, floor, width)
        highest_dropped = max(highest_dropped, kept.hope_of_dropped)
        states = extended.take(kept.positions)
        steps.append(step.take(kept.positions))
        if len(kept.positions) == 0:
            break
        # Below the cutoffs of all measures, no value can rise any more.
        can_rise = kept.hope > aim.value(states.values)
        if not can_rise.any():
            break
    return states, steps, highest_dropped


def _affordable_width(width: int, n_types: int) -> int:
    """Return the number of states to keep per rank: `width`, or fewer if memory requires it."""
    affordable_width = int(_MOST_CELLS / _numbers_per_state(n_types))
    limit = max(_LEAST_WIDTH, affordable_width)
    return min(width, limit)


def _keep_states(
    aim: _Aim, states: _States, rank: int, totals: Counts, floor: float, width: int
) -> _KeptStates:
    """Choose the states of a rank from which the search goes on, at most `width`.

    States that another one with the same documents dominates are removed first. Of the others,
    those with the highest hope are kept, which is an upper bound of the values of their
    completions. States whose hope is not above `floor`, the known value, are dropped.
    """
    possible_counts = totals + 1  # from 0 to the total of a type
    # States with the same documents, and only these, have the same key.
    keys = row_keys(states.counts, possible_counts.tolist())
    non_dominated = aim.non_dominated(states.values, keys)
    candidates = states.take(non_dominated)
    hope = aim.hope(candidates.values, rank, candidates.counts)
    chosen, hope_of_dropped = _choose_states(hope, floor, width)
    return _KeptStates(non_dominated[chosen], hope[chosen], hope_of_dropped)


def _extend(
    states: _States, rank: int, parts: list[Progress], totals: Counts, precedes: Floats
) -> tuple[_States, _Step]:
    """Return all states with one document more, at `rank`, and the step to them.

    A type can be the next one if no type that precedes it has documents left; `precedes` says which
    types (rows) precede which others (columns).
    """
    # Of each new state: the state that it extends, the type of its last document, and its counts.
    previous, chosen, counts = place_documents(states.counts, totals, precedes)
    values = states.values[:, previous]  # n_terms × new states
    for term, part in enumerate(parts):
        gain_of_types = part.step(rank, states.counts)  # states × types
        values[term] += gain_of_types[previous, chosen]
    return _States(counts, values), _Step(previous, chosen)


def _choose_states(hope: Floats, floor: float, width: int) -> tuple[Ints, float]:
    """Return the positions of the states to keep, and the highest hope of those dropped.

    At most `width` states with the highest hopes are kept. States that cannot exceed `floor`, the
    known value, are dropped without loss, and do not count: the hope is -inf if no others are.
    """
    can_exceed_floor = hope > floor + _TOLERANCE
    hopeful = np.flatnonzero(can_exceed_floor)
    if len(hopeful) <= width:
        return hopeful, -np.inf
    hope_of_hopeful = hope[hopeful]
    by_hope = np.argsort(-hope_of_hopeful, kind="stable")
    highest_first = hopeful[by_hope]
    chosen = highest_first[:width]
    first_dropped = highest_first[width]
    hope_of_dropped = hope[first_dropped]
    return chosen, float(hope_of_dropped)


def _trace_back(steps: list[_Step], last_state: int) -> Ints:
    """Return the type at each rank of the partial ranking that is a state of the last step."""
    sequence = np.empty(len(steps), dtype=np.intp)
    state = last_state
    # Only the last step knows its state: go back from it to the first one.
    for position in reversed(range(len(steps))):
        step = steps[position]
        sequence[position] = step.chosen[state]
        state = int(step.previous[state])
    return sequence


def _later_worth(parts: list[_WeightedConvexProgress], totals: Counts) -> Floats | None:
    """Return upper bounds of the worth of the ranks after rank 0, 1, …, shape (n_documents + 1,).

    The worth of a rank is Σ weight · level · (factor − next factor) over measures, where the level
    is a convex function of the documents down to the rank. For a bound, the best documents are
    chosen for each rank independently. As a convex function has its maximum at extremes, only
    `_extreme_counts` are evaluated. None if these are too many.
    """
    n_types = len(totals)
    n_documents = int(totals.sum())
    # One type is partial, with up to all documents; each subset of the others may be complete.
    n_subsets_of_others = 2.0 ** (n_types - 1)
    n_choices = n_types * n_documents * n_subsets_of_others
    if n_choices > _MOST_CHOICES:
        return None
    counts = _extreme_counts(totals)
    worth_of_ranks = _highest_worth_of_ranks(parts, counts, n_documents)
    # Sums from each rank to the last: worths [5, 3, 1] of ranks 1 to 3 give [9, 4, 1].
    sums_from_last = np.cumsum(worth_of_ranks[::-1])
    worth_from_rank = sums_from_last[::-1]
    # "From rank 1" is "after rank 0"; nothing is after the last rank.
    return np.append(worth_from_rank, 0.0)


def _highest_worth_of_ranks(
    parts: list[_WeightedConvexProgress], counts: Counts, n_documents: int
) -> Floats:
    """Return the maximum of Σ weight · level · (factor − next factor) at each rank.

    `counts` are the possible documents down to a rank, shape (n_choices, n_types). The result has
    the shape (n_documents,).
    """
    # A choice of k documents fills the ranks down to k: it is evaluated at rank k.
    rank_of_choice = counts.sum(axis=1)
    worths = []
    for weight, part in parts:
        weighted_level = weight * part.level(counts)
        fall_of_factor = -np.diff(part.factor)  # from each rank, beginning with 1, to the next
        fall_from_rank_0 = np.append(0.0, fall_of_factor)  # no documents: rank 0
        worths.append(weighted_level * fall_from_rank_0[rank_of_choice])
    worth = np.sum(worths, axis=0)
    highest_worth = np.full(n_documents + 1, -np.inf)
    np.maximum.at(highest_worth, rank_of_choice, worth)
    return highest_worth[1:]  # without rank 0


def _extreme_counts(totals: Counts) -> Counts:
    """Return the choices of documents in which all types but one are complete or absent.

    There is one row per choice, with the number of documents of each type. For the totals [2, 1],
    they are [0, 0], [1, 0], [2, 0] and [0, 1], [1, 1], [2, 1] with the first type as the exception,
    and others with the second one.
    """
    is_complete = _all_subsets(len(totals))  # subsets × types, 1 or 0
    parts = []
    for exception, total in enumerate(totals):
        subsets_of_others = is_complete[is_complete[:, exception] == 0]
        counts_of_others = subsets_of_others * totals
        # Each subset is combined with 0, 1, … documents of the exception.
        numbers = np.arange(total + 1)
        counts = np.repeat(counts_of_others, len(numbers), axis=0)
        counts[:, exception] = np.tile(numbers, len(counts_of_others))
        parts.append(counts)
    return np.concatenate(parts)


def _all_subsets(n_types: int) -> Counts:
    """Return all subsets of types: 1 for types in a subset, else 0; shape (2**n_types, n_types)."""
    # The binary digits of a subset's number say which types it has: 5, or 101, has the first and
    # the third one. Shifted by a type's position, the number ends with its digit.
    numbers = np.arange(2**n_types)
    positions_of_types = np.arange(n_types)
    shifted = numbers[:, None] >> positions_of_types
    last_digit = shifted & 1
    return last_digit.astype(np.int32)
