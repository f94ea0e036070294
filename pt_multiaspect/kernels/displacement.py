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
    is_ranked = target.judged | (degrees != 0)
    ranked = np.flatnonzero(is_ranked)
    order = ranked[descending(target.query[ranked], degrees[ranked])]
    sorted_degrees = degrees[order]
    first_of_degree, last_of_degree = _ranks_of_degrees(target.query[order], sorted_degrees)

    # Documents without a rank count as not relevant: they belong below the R relevant ones.
    recall_base = recall_bases(target)
    first = recall_base[target.query] + 1
    first[order] = first_of_degree
    last = np.full(len(degrees), _NO_LIMIT)
    last[order] = np.where(sorted_degrees > 0, last_of_degree, _NO_LIMIT)
    return RankIntervals(first, last)


def _ranks_of_degrees(query: Ints, degrees: Floats) -> tuple[Ints, Ints]:
    """Return, for each document, the first and the last rank of the documents of its degree.

    The documents are sorted by query, then by decreasing degree.
    """
    # Documents of the same query and degree are a group. Groups are numbered from 0.
    is_new_query = np.diff(query, prepend=-1) != 0
    is_new_degree = np.diff(degrees, prepend=np.nan) != 0
    is_new_group = is_new_query | is_new_degree
    group = np.cumsum(is_new_group) - 1
    group_sizes = np.bincount(group)
    rank = positions(query) + 1
    first = rank[firsts(group)]
    last = first + group_sizes[group] - 1
    return first, last


def _hits_with_degree(hits: Hits, target: Target) -> tuple[Hits, Ints]:
    """Return the hits that are relevant or harmful, and their relative positions."""
    hit_degree = degree(target)[hits.row]
    selected = hits.select(hit_degree != 0)
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
        # At ranks 1 to R, documents that are not relevant have the relative positions -R to -1.
        without_harmful = -recall_base * (recall_base + 1) / 2

        # Harmful documents are further above their ideal ranks, as these are below R + 1.
        harmful, rank = _most_harmful_first(self.target)
        query = self.target.query[harmful]
        first_not_relevant = recall_base[query] + 1
        extra_distance = self._intervals.first[harmful] - first_not_relevant
        is_counted = rank <= recall_base[query]
        counted_distance = np.where(is_counted, extra_distance, 0)
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
        # Without relevant documents, CRP is the sum of k - (R + 1) over the ranks k = 1, …, n;
        # it does not change below rank R.
        n = np.minimum(depth, recall_base)
        without_relevant = n * (n + 1) / 2 - n * (recall_base + 1.0)

        # Relevant and harmful documents take the place of documents that are not relevant.
        selected, relative_position = _hits_with_degree(hits, self.target)
        replaced_position = _not_relevant(selected.rank, recall_base[selected.query])
        is_counted = selected.rank <= depth[selected.query]
        added = np.where(is_counted, relative_position - replaced_position, 0)
        return np.asarray(without_relevant + selected.total(added), dtype=np.float64)

    def breakdown(self, hits: Hits) -> Breakdown:
        """Return CRP as a sum over ranks; ranks that the ranking does not fill are combined."""
        dense = hits.dense()
        relative_position = _not_relevant(dense.rank, self.recall_base[dense.query])
        selected, selected_position = _hits_with_degree(hits, self.target)
        relative_position[selected.retrieved_index] = selected_position

        is_counted = dense.rank <= self._depth[dense.query]
        contribution = np.where(is_counted, relative_position, 0).astype(np.float64)
        # The rest of CRP is due to the ranks below the last retrieved document.
        empty_ranks = self.values(hits) - dense.total(contribution)
        return Breakdown(
            dense,
            contribution,
            rest={"empty ranks": empty_ranks},
            columns={"displacement": relative_position.astype(np.float64)},
        )


def _most_harmful_first(target: Target) -> tuple[Ints, Ints]:
    """Return the harmful documents of each query, the most harmful first, and their ranks."""
    degrees = degree(target)
    harmful = np.flatnonzero(degrees < 0)
    harmfulness = -degrees[harmful]
    order = harmful[descending(target.query[harmful], harmfulness)]
    rank = positions(target.query[order]) + 1
    return order, rank


def balance_point(hits: Hits, target: Target) -> Ints:
    """Return the first retrieved rank from R on at which CRP is at least 0, per query.

    It is 0 if there is none, or R is 0.
    """
    form = Displacement(target)
    recall_base = form.recall_base
    crp_at_r = form.values(hits)
    later_balance = _balance_after_r(hits, target, recall_base, crp_at_r)
    is_r_retrieved = hits.n_ret >= recall_base
    is_balanced_at_r = is_r_retrieved & (crp_at_r >= 0)
    balance = np.where(is_balanced_at_r, recall_base, later_balance)
    return np.asarray(balance, dtype=np.intp)


def _balance_after_r(hits: Hits, target: Target, recall_base: Ints, crp_at_r: Floats) -> Ints:
    """Return the first rank after R at which CRP is at least 0, per query; 0 if there is none."""
    # After R, only relevant documents increase CRP, and only harmful ones decrease it.
    selected, relative_position = _hits_with_degree(hits, target)
    is_after_r = selected.rank > recall_base[selected.query]
    query = selected.query[is_after_r]
    rank = selected.rank[is_after_r]
    change_since_r = running_sum(relative_position[is_after_r], query)
    crp = crp_at_r[query] + change_since_r

    balanced = np.flatnonzero(crp >= 0)
    is_first = positions(query[balanced]) == 0
    first_balanced = balanced[is_first]
    balance = np.zeros(hits.n_queries, dtype=np.intp)
    balance[query[first_balanced]] = rank[first_balanced]
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
    query = np.repeat(np.arange(hits.n_queries), length)
    rank = positions(query) + 1
    not_relevant = _not_relevant(rank, recall_base[query])
    first_row = np.cumsum(length) - length  # the row of each query's rank 1

    relative_position = not_relevant.copy()
    selected, selected_position = _hits_with_degree(hits, target)
    selected_row = first_row[selected.query] + selected.rank - 1
    relative_position[selected_row] = selected_position

    worst_position = not_relevant.copy()
    documents, worst_rank = _upside_down(target, length, recall_base)
    worst_row = first_row[target.query[documents]] + worst_rank - 1
    intervals = ideal_intervals(target)
    worst_position[worst_row] = intervals.relative_positions(documents, worst_rank)

    value = running_sum(relative_position, query)
    worst = running_sum(worst_position, query)
    return Curve(query, rank, value, worst)


def _upside_down(target: Target, length: Ints, recall_base: Ints) -> tuple[Ints, Ints]:
    """Return the documents with a degree in rankings of the given lengths, worst first.

    Returns
    -------
    documents : ndarray of int, shape (n,)
        Relevant and harmful documents; the least harmful ones are left out if ranks are too few.
    rank : ndarray of int, shape (n,)
        Their ranks: harmful documents are at the start, relevant ones at the end.
    """
    harmful, harmful_rank = _most_harmful_first(target)
    n_not_relevant = length - recall_base
    fits = harmful_rank <= n_not_relevant[target.query[harmful]]
    relevant, relevant_rank = _relevant_at_end(target, length)
    documents = np.append(harmful[fits], relevant)
    rank = np.append(harmful_rank[fits], relevant_rank)
    return documents, rank


def _relevant_at_end(target: Target, length: Ints) -> tuple[Ints, Ints]:
    """Return the relevant documents of each query, and their ranks at the end of a ranking.

    The best document is at the last rank, `length` of the query.
    """
    degrees = degree(target)
    relevant = np.flatnonzero(degrees > 0)
    best_first = relevant[descending(target.query[relevant], degrees[relevant])]
    query = target.query[best_first]
    n_better = positions(query)
    rank = length[query] - n_better
    return best_first, np.asarray(rank, dtype=np.intp)


def turn_around(query: Ints, rank: Ints, value: Ints) -> Ints:
    """Return the first rank of the minimum of each query's curve.

    The result has one element per element of the curve, sorted by query.
    """
    lowest_value_first = np.lexsort((rank, value, query))
    sorted_rank = rank[lowest_value_first]
    first_of_query = firsts(query)
    return sorted_rank[first_of_query]
