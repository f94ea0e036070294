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
from .hits import Hits, descending, firsts, heads, positions, ratio, running_sum, sums
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
    degree may exchange their ranks. Documents that are not in it count as not relevant: they should
    be below the R relevant ones. Only relevant documents can be too low: the last rank of the
    others is unlimited.
    """
    degrees = degree(target)
    ranked = _ideal_ranking(target, degrees)
    query_of_ranked = target.query[ranked]
    first_rank, last_rank = _ranks_of_degrees(query_of_ranked, degrees[ranked])

    # Begin with the ranks of documents that are not in the ideal ranking.
    recall_base = recall_bases(target)[target.query]  # R of each document's query
    first = recall_base + 1
    first[ranked] = first_rank
    last = np.full(len(degrees), _NO_LIMIT)
    is_relevant = degrees[ranked] > 0
    relevant = ranked[is_relevant]
    last[relevant] = last_rank[is_relevant]
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

    The documents are sorted by query, then by decreasing degree: the degrees [2, 1, 1] of one query
    have the first ranks [1, 2, 2] and the last ranks [1, 3, 3].
    """
    # Documents of the same query and degree are a group; the first document begins one.
    is_new_query = query[1:] != query[:-1]
    is_new_degree = degrees[1:] != degrees[:-1]
    n_documents = len(query)
    begins_group = np.ones(n_documents, dtype=np.bool_)
    begins_group[1:] = is_new_query | is_new_degree
    group = np.cumsum(begins_group) - 1  # numbered from 0

    # Ranks of a group are adjacent, and begin with that of its first document.
    rank = positions(query) + 1
    first_document = firsts(group)  # of each document's group
    first_rank = rank[first_document]
    group_size = np.bincount(group)[group]  # of each document's group
    last_rank = first_rank + group_size - 1
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
        All of them are above their ideal ranks: CRP at R is the sum of rank minus first ideal rank,
        over the ranks 1 to R.
        """
        recall_base = self.recall_base  # R
        sum_of_ranks = recall_base * (recall_base + 1) / 2
        # The first ideal rank of documents that are not relevant is R + 1: R of them have the sum
        # R (R + 1). That of harmful ones is further down.
        sum_of_not_relevant = recall_base * (recall_base + 1)
        sum_of_first_ranks = sum_of_not_relevant + self._distance_of_harmful()
        return sum_of_ranks - sum_of_first_ranks

    def _distance_of_harmful(self) -> Floats:
        """Return by how much the first ideal ranks of harmful documents exceed R + 1, per query.

        R is the number of relevant documents, and R + 1 the first ideal rank of documents that are
        not relevant. The result is a sum over the R most harmful documents, which have the first R
        ranks of the worst ranking.
        """
        harmful, worst_rank = _most_harmful_first(self.target)
        query = self.target.query[harmful]
        recall_base = self.recall_base[query]
        first_rank = self._intervals.first[harmful]  # in the ideal ranking
        distance = first_rank - (recall_base + 1)
        is_counted = worst_rank <= recall_base
        counted_distance = np.where(is_counted, distance, 0)
        return sums(query, counted_distance, self.target.n_queries)

    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return the relative position of each document at each rank; 0 below the cutoff.

        Its shape is (n_documents, n_ranks).
        """
        column_of_documents = documents[:, None]
        relative_position = self._intervals.relative_positions(column_of_documents, ranks)
        is_counted = ranks <= self._depth[query]
        worth = np.where(is_counted, relative_position, 0)
        return worth.astype(np.float64)

    def values(self, hits: Hits) -> Floats:
        """Return CRP, the sum of relative positions down to the last rank that counts, per query.

        It is computed as CRP of a ranking in which no document is relevant or harmful, plus what
        each relevant or harmful document changes in it.
        """
        # The change is by how much the relative position of such a document differs from that of a
        # document that is not relevant, at the same rank.
        selected, relative_position = _hits_with_degree(hits, self.target)
        recall_base = self.recall_base[selected.query]  # R
        position_if_not_relevant = _not_relevant(selected.rank, recall_base)
        change = relative_position - position_if_not_relevant
        last_rank_that_counts = self._depth[selected.query]
        is_counted = selected.rank <= last_rank_that_counts
        counted_change = np.where(is_counted, change, 0)
        total_change = selected.total(counted_change)
        return self._values_without_degrees() + total_change

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
        """Return CRP as a sum over ranks.

        CRP counts all ranks down to the last one that counts. Those below the last retrieved
        document are combined as "empty ranks".
        """
        retrieved = hits.dense()
        displacement = self._displacements(hits)
        last_rank = self._depth[retrieved.query]
        is_counted = retrieved.rank <= last_rank
        contribution = np.where(is_counted, displacement, 0.0)
        sum_of_retrieved = retrieved.total(contribution)
        sum_of_empty_ranks = self.values(hits) - sum_of_retrieved
        return Breakdown(
            retrieved,
            contribution,
            rest={"empty ranks": sum_of_empty_ranks},
            columns={"displacement": displacement},
        )

    def _displacements(self, hits: Hits) -> Floats:
        """Return the relative position of each retrieved document, judged or not.

        The documents are in the order of `Hits.dense`: by query and rank.
        """
        retrieved = hits.dense()
        recall_base = self.recall_base[retrieved.query]
        if_not_relevant = _not_relevant(retrieved.rank, recall_base)
        displacement = if_not_relevant.astype(np.float64)
        # Relevant and harmful documents have positions of their own. They are only some of the
        # retrieved documents: `retrieved_index` is the index of each among all of them.
        selected, relative_position = _hits_with_degree(hits, self.target)
        index = selected.retrieved_index
        displacement[index] = relative_position
        return displacement


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
    has_no_relevant = recall_base == 0
    is_r_retrieved = hits.n_ret >= recall_base
    is_balanced_at_r = is_r_retrieved & (crp_at_r >= 0)
    first_rank_below_r = _balance_below_r(hits, target, recall_base, crp_at_r)
    # The first condition that holds decides.
    balance = np.select(
        [has_no_relevant, is_balanced_at_r], [0, recall_base], default=first_rank_below_r
    )
    return np.asarray(balance, dtype=np.intp)


def _balance_below_r(hits: Hits, target: Target, recall_base: Ints, crp_at_r: Floats) -> Ints:
    """Return the first rank below R at which CRP is at least 0, per query; 0 if there is none.

    `recall_base` is R and `crp_at_r` the CRP there, both of shape (n_queries,).
    """
    # Below R, CRP changes only at relevant and harmful documents: other ranks need no look. All
    # arrays but the result have one element per such document.
    selected, position_of_selected = _hits_with_degree(hits, target)
    is_below_r = selected.rank > recall_base[selected.query]
    below_r = selected.select(is_below_r)
    # The relative position of a document is what it adds to CRP.
    added_to_crp = position_of_selected[is_below_r]
    added_since_r = running_sum(added_to_crp, below_r.query)
    crp = crp_at_r[below_r.query] + added_since_r

    balanced = below_r.select(crp >= 0)
    # Ranks of a query increase, so its first element has its first balanced rank.
    first_of_query = heads(balanced.query)
    query_with_balance = balanced.query[first_of_query]
    balance = np.zeros(hits.n_queries, dtype=np.intp)
    balance[query_with_balance] = balanced.rank[first_of_query]
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
    recall_base = recall_bases(target)  # R, the number of relevant documents per query
    length = np.maximum(hits.n_ret, recall_base)
    rows = _CurveRows.of_lengths(length)

    # A curve cumulates the relative positions of relevant and harmful documents; those of all other
    # documents follow from R and the rank.
    selected, relative_position = _hits_with_degree(hits, target)
    value = rows.cumulate(selected, relative_position, recall_base)

    worst_ranking = _upside_down(target, length, recall_base)
    intervals = ideal_intervals(target)
    worst_position = intervals.relative_positions(worst_ranking.row, worst_ranking.rank)
    worst = rows.cumulate(worst_ranking, worst_position, recall_base)
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

    def cumulate(self, documents: Hits, relative_position: Ints, recall_base: Ints) -> Ints:
        """Return CRP at each row: the sum of the relative positions down to its rank.

        Parameters
        ----------
        documents : Hits
            The relevant and harmful documents of the rankings.
        relative_position : ndarray of int, shape (n_hits,)
            The relative position of each of them.
        recall_base : ndarray of int, shape (n_queries,)
            R of each query.
        """
        # Begin with documents that are not relevant at all ranks, then put in the relevant and the
        # harmful ones.
        recall_base_of_row = recall_base[self.query]
        position_at_row = _not_relevant(self.rank, recall_base_of_row)
        row_of_document = self.find(documents.query, documents.rank)
        position_at_row[row_of_document] = relative_position
        return running_sum(position_at_row, self.query)

    def find(self, query: Ints, rank: Ints) -> Ints:
        """Return the rows of queries and ranks."""
        n_ranks_above = rank - 1
        return self.first_row[query] + n_ranks_above


def _upside_down(target: Target, length: Ints, recall_base: Ints) -> Hits:
    """Return the relevant and harmful documents of rankings of the given lengths, worst first.

    Harmful documents are at the start, relevant ones at the end. The least harmful ones are left
    out if ranks are too few.

    Parameters
    ----------
    target : Target
        The judged documents.
    length, recall_base : ndarray of int, shape (n_queries,)
        The length of each ranking, at least R, and R.
    """
    relevant, relevant_rank = _relevant_at_end(target, length)
    # The last R ranks belong to the relevant documents.
    n_other_ranks = length - recall_base
    harmful, harmful_rank = _most_harmful_first(target)
    harmful_query = target.query[harmful]
    fits = harmful_rank <= n_other_ranks[harmful_query]
    documents = np.append(harmful[fits], relevant)
    rank = np.append(harmful_rank[fits], relevant_rank)
    return Hits.of_rows(target.n_queries, target.query, documents, rank)


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
    # Sort by query, within a query by value, and equal values by rank: the first rank of each query
    # is the point. `lexsort` sorts by its last key first.
    order = np.lexsort((rank, value, query))
    sorted_rank = rank[order]
    # Sorting moves ranks within their queries only, so a query begins at the same index as before.
    first_of_query = heads(query)
    point = sorted_rank[first_of_query]
    n_ranks_of_query = np.diff(first_of_query, append=len(query))
    return np.repeat(point, n_ranks_of_query)
