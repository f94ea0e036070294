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
    is_relevant = degree(target) > 0
    n_relevant = target.total(is_relevant)
    return n_relevant.astype(np.intp)


class RankIntervals(NamedTuple):
    """The ranks at which each judged document can be in an ideal ranking."""

    #: The first and the last of these ranks, shape (n_documents,).
    first: Ints
    last: Ints

    def relative_positions(self, documents: Ints, rank: Ints) -> Ints:
        """Return the distance of documents at the given ranks from their intervals (Eq. 4).

        It is negative for documents above their interval, and 0 within it.
        """
        first = self.first[documents]
        distance_above = np.minimum(rank - first, 0)
        last = self.last[documents]
        distance_below = np.maximum(rank - last, 0)
        distance = distance_above + distance_below
        return np.asarray(distance, dtype=np.intp)


def ideal_intervals(target: Target) -> RankIntervals:
    """Return the first and the last rank of each document's degree in the ideal ranking.

    The ideal ranking has all judged documents, the highest degree first; documents of the same
    degree may exchange their ranks. Documents that are not relevant are never too low: their last
    rank is unlimited.
    """
    degrees = degree(target)
    # Documents outside the ideal ranking count as not relevant: they belong below the R relevant
    # ones.
    n_relevant = recall_bases(target)[target.query]
    first = n_relevant + 1
    last = np.full(len(degrees), _NO_LIMIT)

    ideal_ranking = _ideal_ranking(target, degrees)
    ideal_degrees = degrees[ideal_ranking]
    ideal_query = target.query[ideal_ranking]
    first_of_degree, last_of_degree = _ranks_of_degrees(ideal_query, ideal_degrees)
    is_relevant = ideal_degrees > 0
    first[ideal_ranking] = first_of_degree
    last_or_unlimited = np.where(is_relevant, last_of_degree, _NO_LIMIT)
    last[ideal_ranking] = last_or_unlimited
    return RankIntervals(first, last)


def _ideal_ranking(target: Target, degrees: Floats) -> Ints:
    """Return the documents of all ideal rankings, by query and then by decreasing degree.

    Documents without a judgment are left out, unless they have a degree.
    """
    has_ideal_rank = target.judged | (degrees != 0)
    documents = np.flatnonzero(has_ideal_rank)
    query = target.query[documents]
    best_first = descending(query, degrees[documents])
    return documents[best_first]


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
    distance = rank - first_ideal_rank
    relative_position = np.minimum(distance, 0)
    return np.asarray(relative_position, dtype=np.intp)


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
        # CRP is the sum of relative positions: rank minus first ideal rank. If no document is
        # harmful, the latter is R + 1 at ranks 1 to R: -R, …, -1, which sum to -R (R + 1) / 2.
        doubled_sum = -recall_base * (recall_base + 1)
        without_harmful = doubled_sum / 2

        # The first ideal rank of harmful documents is further down, which makes CRP lower still.
        harmful, rank = _most_harmful_first(self.target)
        query = self.target.query[harmful]
        first_ideal_rank = self._intervals.first[harmful]
        first_rank_of_others = recall_base[query] + 1
        extra_distance = first_ideal_rank - first_rank_of_others
        is_down_to_r = rank <= recall_base[query]
        counted_distance = np.where(is_down_to_r, extra_distance, 0)
        total_extra_distance = sums(query, counted_distance, self.target.n_queries)
        return without_harmful - total_extra_distance

    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return the relative position of each document at each rank; 0 below the cutoff.

        Its shape is (n_documents, n_ranks).
        """
        relative_position = self._intervals.relative_positions(documents[:, None], ranks)
        is_counted = ranks <= self._depth[query]
        worth = np.where(is_counted, relative_position, 0)
        return worth.astype(np.float64)

    def values(self, hits: Hits) -> Floats:
        """Return CRP, the sum of relative positions down to the last rank that counts, per query.

        `self.recall_base` is R, the number of relevant documents, per query.
        """
        without_degrees = self._values_without_degrees()
        # Relevant and harmful documents take the place of documents that are not relevant.
        selected, relative_position = _hits_with_degree(hits, self.target)
        recall_base = self.recall_base[selected.query]
        replaced_position = _not_relevant(selected.rank, recall_base)
        difference = relative_position - replaced_position
        last_rank = self._depth[selected.query]
        is_counted = selected.rank <= last_rank
        counted_difference = np.where(is_counted, difference, 0)
        total_difference = selected.total(counted_difference)
        values = without_degrees + total_difference
        return np.asarray(values, dtype=np.float64)

    def _values_without_degrees(self) -> Floats:
        """Return CRP of rankings in which no document is relevant or harmful, per query."""
        # At a rank k ≤ R, the relative position is k - (R + 1); below R, it is 0. The sum over
        # k = 1, …, n is n (n + 1) / 2 - n (R + 1).
        n = np.minimum(self._depth, self.recall_base)
        sum_of_ranks = n * (n + 1) / 2
        first_ideal_rank = self.recall_base + 1.0
        values = sum_of_ranks - n * first_ideal_rank
        return np.asarray(values, dtype=np.float64)

    def breakdown(self, hits: Hits) -> Breakdown:
        """Return CRP as a sum over ranks; ranks that the ranking does not fill are combined."""
        dense = hits.dense()  # one element per retrieved document, judged or not
        # All documents count as not relevant first.
        recall_base = self.recall_base[dense.query]
        relative_position = _not_relevant(dense.rank, recall_base)
        # Relevant and harmful documents get their own positions instead; `retrieved_index` is their
        # index in `dense`.
        selected, position_of_selected = _hits_with_degree(hits, self.target)
        relative_position[selected.retrieved_index] = position_of_selected
        displacement = relative_position.astype(np.float64)

        last_rank = self._depth[dense.query]
        is_counted = dense.rank <= last_rank
        contribution = np.where(is_counted, displacement, 0.0)
        # The rest of CRP is due to the ranks below the last retrieved document.
        retrieved_ranks = dense.total(contribution)
        empty_ranks = self.values(hits) - retrieved_ranks
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
    query = target.query[documents]
    rank = positions(query) + 1
    return documents, rank


def balance_point(hits: Hits, target: Target) -> Ints:
    """Return the first retrieved rank from R on at which CRP is at least 0, per query.

    R is the number of relevant documents. The result is 0 if there is no such rank, or R is 0.
    """
    form = Displacement(target)
    recall_base = form.recall_base  # R
    crp_at_r = form.values(hits)
    # Rank R itself is the first candidate.
    is_r_retrieved = hits.n_ret >= recall_base
    is_balanced_at_r = is_r_retrieved & (crp_at_r >= 0)
    first_rank_below_r = _balance_below_r(hits, target, recall_base, crp_at_r)
    balance = np.where(is_balanced_at_r, recall_base, first_rank_below_r)
    return np.asarray(balance, dtype=np.intp)


def _balance_below_r(hits: Hits, target: Target, recall_base: Ints, crp_at_r: Floats) -> Ints:
    """Return the first rank below R at which CRP is at least 0, per query; 0 if there is none.

    `recall_base` is R and `crp_at_r` the CRP there, both of shape (n_queries,).
    """
    # Below R, CRP changes only at relevant and harmful documents: other ranks need no look. From
    # here on, arrays have one element per such document.
    selected, relative_position = _hits_with_degree(hits, target)
    recall_base_of_query = recall_base[selected.query]
    is_below_r = selected.rank > recall_base_of_query
    query = selected.query[is_below_r]
    rank = selected.rank[is_below_r]
    change_of_crp = relative_position[is_below_r]
    change_since_r = running_sum(change_of_crp, query)
    crp = crp_at_r[query] + change_since_r

    is_balanced = crp >= 0
    balanced_query = query[is_balanced]
    balanced_rank = rank[is_balanced]
    # Ranks of a query increase, so its first element has its first balanced rank.
    is_first_of_query = positions(balanced_query) == 0
    query_with_balance = balanced_query[is_first_of_query]
    balance = np.zeros(hits.n_queries, dtype=np.intp)
    balance[query_with_balance] = balanced_rank[is_first_of_query]
    return balance


def recovery(hits: Hits, target: Target) -> Floats:
    """Compute R / the balance point, per query; 0 if there is none."""
    recall_base = recall_bases(target)
    balance = balance_point(hits, target)
    numerator = recall_base.astype(np.float64)
    denominator = balance.astype(np.float64)
    return ratio(numerator, denominator)


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
    """Compute CRP at each rank down to the last retrieved rank or R, whichever is larger.

    `worst` is the same of the ideal ranking upside down.
    """
    recall_base = recall_bases(target)  # R, per query
    length = np.maximum(hits.n_ret, recall_base)
    rows = _CurveRows.of_lengths(length)

    selected, relative_position = _hits_with_degree(hits, target)
    value = rows.cumulate(selected.query, selected.rank, relative_position, recall_base)

    documents, worst_rank = _upside_down(target, length, recall_base)
    worst_position = ideal_intervals(target).relative_positions(documents, worst_rank)
    worst_query = target.query[documents]
    worst = rows.cumulate(worst_query, worst_rank, worst_position, recall_base)
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
        queries = np.arange(len(length))
        query = np.repeat(queries, length)
        rank = positions(query) + 1
        n_rows_down_to_query = np.cumsum(length)
        first_row = n_rows_down_to_query - length
        return cls(query, rank, first_row)

    def cumulate(self, query: Ints, rank: Ints, relative_position: Ints, recall_base: Ints) -> Ints:
        """Return CRP at each row: the sum of the relative positions down to its rank.

        Parameters
        ----------
        query, rank, relative_position : ndarray of int, shape (n,)
            The relevant and harmful documents, and the relative position of each.
        recall_base : ndarray of int, shape (n_queries,)
            R of each query.
        """
        # At all other ranks, documents count as not relevant.
        recall_base_of_row = recall_base[self.query]
        position = _not_relevant(self.rank, recall_base_of_row)
        row = self.find(query, rank)
        position[row] = relative_position
        return running_sum(position, self.query)

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
    """Return the relevant documents, by query and decreasing degree, and their worst ranks.

    They are at the end of a ranking of `length` documents, the best one at the last rank: the ranks
    `length`, `length` - 1, … of each query.
    """
    degrees = degree(target)
    relevant = np.flatnonzero(degrees > 0)
    relevant_query = target.query[relevant]
    best_first = descending(relevant_query, degrees[relevant])
    documents = relevant[best_first]
    query = target.query[documents]
    # The position within a query, from 0, is the number of better documents.
    n_better = positions(query)
    last_rank = length[query]
    rank = last_rank - n_better
    return documents, np.asarray(rank, dtype=np.intp)


def turn_around(query: Ints, rank: Ints, value: Ints) -> Ints:
    """Return the turn-around point of each query's curve: the first rank of its minimum.

    The parameters have one element per rank of each query, sorted by query; the result repeats the
    point of a query at each of its ranks.
    """
    # Within each query, sort ranks by value, and equal values by rank: the first one is the point.
    # `lexsort` sorts by its last key first, so queries keep their elements.
    order = np.lexsort((rank, value, query))
    lowest_value_first = rank[order]
    first_element_of_query = firsts(query)  # one per element
    return lowest_value_first[first_element_of_query]
