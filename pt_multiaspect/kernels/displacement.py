"""Displacement: the distance of documents from the ideal ranks of their degree.

Angelini, Ferro, Järvelin, Keskustalo, Pirkola, Santucci, Silvello: Cumulated Relative Position:
A Metric for Ranking Evaluation. CLEF 2012, and IIR 2013 (extended abstract), Eq. 1-5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._cached import cached_property
from .._typing import Floats, Ints
from .breakdown import Breakdown
from .forms import Additive
from .hits import Hits, descending, firsts, positions, ratio, running_sum, sums
from .target import Target

#: The last rank of documents that are not relevant: they are never ranked too low.
_NO_LIMIT = np.iinfo(np.intp).max


def degree(target: Target) -> Floats:
    """Return the degree of each judged document.

    It is the gain, negative for harmful documents, but 0 for the lowest grade of a scale without
    negative gains and for documents without a label.
    """
    is_above_lowest = target.gain > target.bottom
    is_harmful = target.gain < 0
    has_degree = is_above_lowest | is_harmful
    return np.where(has_degree, target.gain, 0.0)


def recall_bases(target: Target) -> Ints:
    """Return R, the number of relevant documents, per query."""
    return target.total(degree(target) > 0).astype(np.intp)


class RankIntervals(NamedTuple):
    """The ranks at which each judged document can be in an ideal ranking."""

    #: The first and the last of these ranks, shape (n_documents,).
    first: Ints
    last: Ints

    def relative_positions(self, documents: Ints, rank: Ints) -> Ints:
        """Return the distance of documents at the given ranks from their intervals (Eq. 4).

        It is negative for documents above their interval, and 0 within it.
        """
        distance_above = np.minimum(rank - self.first[documents], 0)
        distance_below = np.maximum(rank - self.last[documents], 0)
        return np.asarray(distance_above + distance_below, dtype=np.intp)


def ideal_intervals(target: Target) -> RankIntervals:
    """Return the ranks that each document's degree has in the ideal ranking.

    The ideal ranking has all judged documents, the highest degree first. Documents that are not
    relevant are never too low: their last rank is unlimited.
    """
    degrees = degree(target)
    recall_base = recall_bases(target)
    # Documents outside the ideal ranking count as not relevant: they belong below the R relevant
    # ones.
    first = recall_base[target.query] + 1
    last = np.full(len(degrees), _NO_LIMIT)

    has_ideal_rank = target.judged | (degrees != 0)
    ranked = np.flatnonzero(has_ideal_rank)
    best_first = descending(target.query[ranked], degrees[ranked])
    ideal_ranking = ranked[best_first]
    ideal_degrees = degrees[ideal_ranking]
    ideal_query = target.query[ideal_ranking]
    first_of_degree, last_of_degree = _ranks_of_degrees(ideal_query, ideal_degrees)
    is_relevant = ideal_degrees > 0
    first[ideal_ranking] = first_of_degree
    last[ideal_ranking] = np.where(is_relevant, last_of_degree, _NO_LIMIT)
    return RankIntervals(first, last)


def _ranks_of_degrees(query: Ints, degrees: Floats) -> tuple[Ints, Ints]:
    """Return, for each document, the first and the last rank of the documents of its degree.

    The documents are sorted by query, then by decreasing degree.
    """
    # Documents of the same query and degree are a group; the first document begins one.
    is_new_query = query[1:] != query[:-1]
    is_new_degree = degrees[1:] != degrees[:-1]
    begins_group = np.ones(len(query), dtype=np.bool_)
    begins_group[1:] = is_new_query | is_new_degree
    group = np.cumsum(begins_group) - 1  # numbered from 0
    group_sizes = np.bincount(group)
    size_of_own_group = group_sizes[group]

    rank = positions(query) + 1
    first_document_of_group = firsts(group)
    first_rank = rank[first_document_of_group]
    last_rank = first_rank + size_of_own_group - 1
    return first_rank, last_rank


def _hits_with_degree(hits: Hits, target: Target) -> tuple[Hits, Ints]:
    """Return the hits that are relevant or harmful, and the relative position of each.

    Relative positions are the distances from the ideal ranks.
    """
    degrees = degree(target)
    has_degree = degrees[hits.row] != 0
    selected = hits.select(has_degree)
    intervals = ideal_intervals(target)
    relative_position = intervals.relative_positions(selected.row, selected.rank)
    return selected, relative_position


def _not_relevant(rank: Ints, recall_base: Ints) -> Ints:
    """Return the relative position of a document that is not relevant at each rank.

    It is negative at the ranks down to R, which belong to relevant documents, and 0 below.
    """
    first_ideal_rank = recall_base + 1
    return np.asarray(np.minimum(rank - first_ideal_rank, 0), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Displacement(Additive):
    """CRP at a rank (Eq. 5), at R by default, as a sum over ranks.

    Short rankings are padded with documents that are not relevant.
    """

    target: Target
    cutoff: int | None = None

    @cached_property
    def recall_base(self) -> Ints:
        """R, the number of relevant documents, per query."""
        return recall_bases(self.target)

    @property
    def _depth(self) -> Ints:
        """The last rank that counts, per query."""
        if self.cutoff is None:
            return self.recall_base
        return np.full(self.target.n_queries, self.cutoff)

    @cached_property
    def _intervals(self) -> RankIntervals:
        return ideal_intervals(self.target)

    @cached_property
    def worst(self) -> Floats:
        """The minimum of CRP at R, per query.

        The worst ranking has the most harmful documents first, then those that are not relevant.
        """
        recall_base = self.recall_base
        # If no document is harmful, those at ranks 1 to R have the relative positions -R to -1.
        without_harmful = -recall_base * (recall_base + 1) / 2

        # The first ideal rank of other documents is R + 1. That of harmful documents is lower down,
        # which adds to their distance.
        harmful, rank = _most_harmful_first(self.target)
        query = self.target.query[harmful]
        first_ideal_rank = self._intervals.first[harmful]
        first_rank_of_others = recall_base[query] + 1
        extra_distance = first_ideal_rank - first_rank_of_others
        is_down_to_r = rank <= recall_base[query]
        counted_distance = np.where(is_down_to_r, extra_distance, 0)
        return without_harmful - sums(query, counted_distance, self.target.n_queries)

    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return the relative position of each document at each rank; 0 below the cutoff.

        Its shape is (n_documents, n_ranks).
        """
        relative_position = self._intervals.relative_positions(documents[:, None], ranks)
        is_counted = ranks <= self._depth[query]
        return np.where(is_counted, relative_position, 0).astype(np.float64)

    def values(self, hits: Hits) -> Floats:
        """Return CRP, per query."""
        recall_base = self.recall_base
        depth = self._depth
        # A document that is not relevant has the relative position k - (R + 1) at a rank k ≤ R, and
        # 0 below R. If all documents are like that, CRP is the sum over k = 1, …, n.
        n = np.minimum(depth, recall_base)
        sum_of_ranks = n * (n + 1) / 2
        without_relevant = sum_of_ranks - n * (recall_base + 1.0)

        # Relevant and harmful documents take the place of documents that are not relevant.
        selected, relative_position = _hits_with_degree(hits, self.target)
        replaced_position = _not_relevant(selected.rank, recall_base[selected.query])
        difference = relative_position - replaced_position
        is_counted = selected.rank <= depth[selected.query]
        counted_difference = np.where(is_counted, difference, 0)
        total_difference = selected.total(counted_difference)
        return np.asarray(without_relevant + total_difference, dtype=np.float64)

    def breakdown(self, hits: Hits) -> Breakdown:
        """Return CRP as a sum over ranks; ranks that the ranking does not fill are combined."""
        dense = hits.dense()
        # All documents count as not relevant first; those with a degree get their own positions.
        relative_position = _not_relevant(dense.rank, self.recall_base[dense.query])
        selected, selected_position = _hits_with_degree(hits, self.target)
        relative_position[selected.retrieved_index] = selected_position
        displacement = relative_position.astype(np.float64)

        is_counted = dense.rank <= self._depth[dense.query]
        contribution = np.where(is_counted, displacement, 0.0)
        # The rest of CRP is due to the ranks below the last retrieved document.
        empty_ranks = self.values(hits) - dense.total(contribution)
        return Breakdown(
            dense,
            contribution,
            rest={"empty ranks": empty_ranks},
            columns={"displacement": displacement},
        )


def _most_harmful_first(target: Target) -> tuple[Ints, Ints]:
    """Return the harmful documents, the most harmful of each query first, and their ranks.

    The ranks are those of rankings of nothing but harmful documents.
    """
    degrees = degree(target)
    harmful = np.flatnonzero(degrees < 0)
    harmfulness = -degrees[harmful]
    most_harmful_first = descending(target.query[harmful], harmfulness)
    documents = harmful[most_harmful_first]
    rank = positions(target.query[documents]) + 1
    return documents, rank


def balance_point(hits: Hits, target: Target) -> Ints:
    """Return the first retrieved rank from R on at which CRP is at least 0, per query.

    It is 0 if there is none, or R is 0.
    """
    form = Displacement(target)
    recall_base = form.recall_base
    crp_at_r = form.values(hits)
    is_r_retrieved = hits.n_ret >= recall_base
    is_balanced_at_r = is_r_retrieved & (crp_at_r >= 0)
    balance_below_r = _balance_below_r(hits, target, recall_base, crp_at_r)
    balance = np.where(is_balanced_at_r, recall_base, balance_below_r)
    return np.asarray(balance, dtype=np.intp)


def _balance_below_r(hits: Hits, target: Target, recall_base: Ints, crp_at_r: Floats) -> Ints:
    """Return the first rank below R at which CRP is at least 0, per query; 0 if there is none.

    `recall_base` is R and `crp_at_r` the CRP there, both of shape (n_queries,).
    """
    # Below R, CRP changes only at relevant and harmful documents: other ranks need no look.
    selected, relative_position = _hits_with_degree(hits, target)
    is_below_r = selected.rank > recall_base[selected.query]
    query = selected.query[is_below_r]
    rank = selected.rank[is_below_r]
    change_since_r = running_sum(relative_position[is_below_r], query)
    crp = crp_at_r[query] + change_since_r

    is_balanced = crp >= 0
    balanced_query = query[is_balanced]
    balanced_rank = rank[is_balanced]
    is_first_of_query = positions(balanced_query) == 0
    balance = np.zeros(hits.n_queries, dtype=np.intp)
    balance[balanced_query[is_first_of_query]] = balanced_rank[is_first_of_query]
    return balance


def recovery(hits: Hits, target: Target) -> Floats:
    """Compute R / the balance point, per query; 0 if there is none."""
    recall_base = recall_bases(target)
    balance = balance_point(hits, target)
    return ratio(recall_base.astype(np.float64), balance.astype(np.float64))


class Curve(NamedTuple):
    """CRP at each rank of each query: arrays with one element per query and rank."""

    query: Ints
    rank: Ints
    #: CRP at the rank.
    value: Ints
    #: The value of the ideal ranking upside down at the same length: harmful documents first,
    #: relevant ones at the end.
    worst: Ints


def curve(hits: Hits, target: Target) -> Curve:
    """Compute CRP at each rank down to the last retrieved rank or R, whichever is larger."""
    recall_base = recall_bases(target)
    length = np.maximum(hits.n_ret, recall_base)
    rows = _CurveRows.of_lengths(length)
    # All documents count as not relevant first; those with a degree get their own positions.
    not_relevant = _not_relevant(rows.rank, recall_base[rows.query])

    position = not_relevant.copy()
    selected, selected_position = _hits_with_degree(hits, target)
    selected_row = rows.find(selected.query, selected.rank)
    position[selected_row] = selected_position

    worst_position = not_relevant.copy()
    documents, worst_rank = _upside_down(target, length, recall_base)
    worst_row = rows.find(target.query[documents], worst_rank)
    intervals = ideal_intervals(target)
    worst_position[worst_row] = intervals.relative_positions(documents, worst_rank)

    value = running_sum(position, rows.query)
    worst = running_sum(worst_position, rows.query)
    return Curve(rows.query, rows.rank, value, worst)


class _CurveRows(NamedTuple):
    """The rows of a curve: one per query and rank, sorted by both."""

    #: The query and the rank of each row, shape (n_rows,).
    query: Ints
    rank: Ints
    #: The row of rank 1 of each query, shape (n_queries,).
    first_row: Ints

    @classmethod
    def of_lengths(cls, length: Ints) -> _CurveRows:
        """Return the rows of curves that have `length` ranks, one number per query."""
        query = np.repeat(np.arange(len(length)), length)
        rank = positions(query) + 1
        n_rows_down_to_query = np.cumsum(length)
        first_row = n_rows_down_to_query - length
        return cls(query, rank, first_row)

    def find(self, query: Ints, rank: Ints) -> Ints:
        """Return the rows of queries and ranks."""
        n_ranks_above = rank - 1
        return self.first_row[query] + n_ranks_above


def _upside_down(target: Target, length: Ints, recall_base: Ints) -> tuple[Ints, Ints]:
    """Return the documents with a degree in rankings of the given lengths, worst first.

    Parameters
    ----------
    target : Target
        The judged documents.
    length, recall_base : ndarray of int, shape (n_queries,)
        The length of each ranking, at least R, and R.

    Returns
    -------
    documents : ndarray of int, shape (n,)
        Relevant and harmful documents; the least harmful ones are left out if ranks are too few.
    rank : ndarray of int, shape (n,)
        Their ranks: harmful documents are at the start, relevant ones at the end.
    """
    relevant, relevant_rank = _relevant_at_end(target, length)
    # The last R ranks belong to the relevant documents.
    n_other_ranks = length - recall_base
    harmful, harmful_rank = _most_harmful_first(target)
    harmful_query = target.query[harmful]
    fits = harmful_rank <= n_other_ranks[harmful_query]
    documents = np.append(harmful[fits], relevant)
    rank = np.append(harmful_rank[fits], relevant_rank)
    return documents, rank


def _relevant_at_end(target: Target, length: Ints) -> tuple[Ints, Ints]:
    """Return the relevant documents of each query, and their ranks at the end of a ranking.

    The best document is at the last rank, `length` of the query.
    """
    degrees = degree(target)
    relevant = np.flatnonzero(degrees > 0)
    best_first = descending(target.query[relevant], degrees[relevant])
    documents = relevant[best_first]
    query = target.query[documents]
    n_better = positions(query)
    rank = length[query] - n_better
    return documents, np.asarray(rank, dtype=np.intp)


def turn_around(query: Ints, rank: Ints, value: Ints) -> Ints:
    """Return the turn-around point of each query's curve: the first rank of its minimum.

    The parameters have one element per rank of each query, sorted by query; the result repeats the
    point of a query at each of its ranks.
    """
    # Of equal minima, the first rank comes first (`lexsort` sorts by its last key first).
    lowest_value_first = np.lexsort((rank, value, query))
    sorted_rank = rank[lowest_value_first]
    first_row_of_query = firsts(query)
    return sorted_rank[first_row_of_query]
