"""Displacement: the distance of documents from the ideal ranks of their degree.

Angelini, Ferro, Järvelin, Keskustalo, Pirkola, Santucci, Silvello: Cumulated Relative Position:
A Metric for Ranking Evaluation. CLEF 2012, and IIR 2013 (extended abstract), Eq. 1-5.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    is_degree = (target.gain > target.bottom) | (target.gain < 0)
    return np.where(is_degree, target.gain, 0.0)


def recall_bases(target: Target) -> Ints:
    """Return R, the number of relevant documents, per query."""
    return target.total(degree(target) > 0).astype(np.intp)


def ideal_intervals(target: Target) -> tuple[Ints, Ints]:
    """Return the first and last rank of each document's degree in the ideal ranking.

    The ideal ranking has all judged documents.
    """
    degrees = degree(target)
    judged = np.flatnonzero(target.judged | (degrees != 0))
    order = judged[descending(target.query[judged], degrees[judged])]
    query = target.query[order]
    sorted_degrees = degrees[order]
    rank = positions(query) + 1
    is_new_query = np.diff(query, prepend=-1) != 0
    is_new_degree = np.diff(sorted_degrees, prepend=np.nan) != 0
    group = np.cumsum(is_new_query | is_new_degree) - 1
    group_size = np.bincount(group)[group]
    first_of_group = rank[firsts(group)]
    last_of_group = first_of_group + group_size - 1
    low = recall_bases(target)[target.query] + 1
    low[order] = first_of_group
    high = np.full(len(degrees), _NO_LIMIT)
    high[order] = np.where(sorted_degrees > 0, last_of_group, _NO_LIMIT)
    return low, high


def _relative_positions(rank: Ints, low: Ints, high: Ints) -> Ints:
    """Return the distance of ranks to intervals, negative above them (Eq. 4)."""
    too_high = np.minimum(rank - low, 0)
    too_low = np.maximum(rank - high, 0)
    return np.asarray(too_high + too_low, dtype=np.intp)


def _hits_with_degree(hits: Hits, target: Target) -> tuple[Hits, Ints]:
    """Return the hits that are relevant or harmful, and their relative positions."""
    low, high = ideal_intervals(target)
    has_degree = degree(target)[hits.row] != 0
    selected = hits.select(has_degree)
    position = _relative_positions(selected.rank, low[selected.row], high[selected.row])
    return selected, position


def _not_relevant(rank: Ints, recall_base: Ints) -> Ints:
    """Return the relative position of documents that are not relevant.

    Their interval starts at R + 1.
    """
    return np.asarray(np.minimum(rank - recall_base - 1, 0), dtype=np.intp)


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
    def _intervals(self) -> tuple[Ints, Ints]:
        return ideal_intervals(self.target)

    @cached_property
    def worst(self) -> Floats:
        """The minimum of CRP at R.

        It is that of the most harmful documents, then those that are not relevant.
        """
        total = self.recall_base
        harmful, rank = _most_harmful_first(self.target)
        query = self.target.query[harmful]
        low, _ = self._intervals
        recall_base = total[query]
        further = np.where(rank <= recall_base, low[harmful] - recall_base - 1, 0)
        of_not_relevant = -total * (total + 1) / 2
        return of_not_relevant - sums(query, further, self.target.n_queries)

    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return the relative position of each document at each rank; 0 below the cutoff."""
        low, high = self._intervals
        position = _relative_positions(ranks, low[documents, None], high[documents, None])
        return np.where(ranks <= self._depth[query], position, 0).astype(np.float64)

    def values(self, hits: Hits) -> Floats:
        """Return CRP."""
        total = self.recall_base
        depth = self._depth
        n_ranks = np.minimum(depth, total)
        # CRP of a ranking without relevant documents.
        nothing_relevant = n_ranks * (n_ranks + 1) / 2 - n_ranks * (total + 1.0)
        selected, position = _hits_with_degree(hits, self.target)
        of_not_relevant = _not_relevant(selected.rank, total[selected.query])
        is_counted = selected.rank <= depth[selected.query]
        gained = np.where(is_counted, position - of_not_relevant, 0)
        return np.asarray(nothing_relevant + selected.total(gained), dtype=np.float64)

    def breakdown(self, hits: Hits) -> Breakdown:
        """Return CRP as a sum over ranks; ranks that the ranking does not fill are combined."""
        dense = hits.dense()
        position = _not_relevant(dense.rank, self.recall_base[dense.query])
        selected, displaced = _hits_with_degree(hits, self.target)
        position[selected.retrieved_index] = displaced
        is_counted = dense.rank <= self._depth[dense.query]
        counted = np.where(is_counted, position, 0).astype(np.float64)
        empty = self.values(hits) - dense.total(counted)
        columns = {"displacement": position.astype(np.float64)}
        return Breakdown(dense, counted, rest={"empty ranks": empty}, columns=columns)


def _most_harmful_first(target: Target) -> tuple[Ints, Ints]:
    """Return the harmful documents of each query, the most harmful first, and their ranks."""
    degrees = degree(target)
    harmful = np.flatnonzero(degrees < 0)
    order = harmful[descending(target.query[harmful], -degrees[harmful])]
    rank = positions(target.query[order]) + 1
    return order, rank


def balance_point(hits: Hits, target: Target) -> Ints:
    """Return the first retrieved rank from R on at which CRP is at least 0.

    It is 0 if there is none, or R is 0.
    """
    form = Displacement(target)
    total = form.recall_base
    crp_at_r = form.values(hits)
    # Beyond R, only relevant documents increase CRP, and only harmful ones decrease it.
    selected, position = _hits_with_degree(hits, target)
    after = selected.rank > total[selected.query]
    query = selected.query[after]
    rank = selected.rank[after]
    crp = crp_at_r[query] + running_sum(position[after], query)
    recovered = np.flatnonzero(crp >= 0)
    is_first = positions(query[recovered]) == 0
    first = recovered[is_first]
    balance = np.zeros(hits.n_queries, dtype=np.intp)
    balance[query[first]] = rank[first]
    is_at_r = (crp_at_r >= 0) & (hits.n_ret >= total)
    return np.asarray(np.where(is_at_r, total, balance), dtype=np.intp)


def recovery(hits: Hits, target: Target) -> Floats:
    """Compute R / the balance point; 0 if there is none."""
    total = recall_bases(target)
    balance = balance_point(hits, target)
    return ratio(total.astype(np.float64), balance.astype(np.float64))


def curve(hits: Hits, target: Target) -> tuple[Ints, Ints, Ints, Ints]:
    """Compute CRP at each rank down to the last retrieved rank or R, whichever is larger.

    Returns
    -------
    query, rank, value, worst : ndarray of int, shape (n,)
        `worst` is the value of the ideal ranking upside down at the same length: harmful documents
        first, relevant ones at the end.
    """
    total = recall_bases(target)
    length = np.maximum(hits.n_ret, total)
    query = np.repeat(np.arange(hits.n_queries), length)
    rank = positions(query) + 1
    begins = np.cumsum(length) - length
    not_relevant = _not_relevant(rank, total[query])
    selected, displaced = _hits_with_degree(hits, target)
    position = not_relevant.copy()
    position[begins[selected.query] + selected.rank - 1] = displaced
    low, high = ideal_intervals(target)
    worst = not_relevant.copy()
    harmful = _harmful_at_start(target, length - total)
    relevant = _relevant_at_end(target, length)
    for documents, ranks in (harmful, relevant):
        row = begins[target.query[documents]] + ranks - 1
        worst[row] = _relative_positions(ranks, low[documents], high[documents])
    return query, rank, running_sum(position, query), running_sum(worst, query)


def _harmful_at_start(target: Target, room: Ints) -> tuple[Ints, Ints]:
    """Return the most harmful documents of each query that there is room for, and their ranks."""
    documents, rank = _most_harmful_first(target)
    fits = rank <= room[target.query[documents]]
    return documents[fits], rank[fits]


def _relevant_at_end(target: Target, length: Ints) -> tuple[Ints, Ints]:
    """Return the relevant documents of each query, the best last, and their ranks."""
    degrees = degree(target)
    relevant = np.flatnonzero(degrees > 0)
    order = relevant[descending(target.query[relevant], degrees[relevant])]
    query = target.query[order]
    rank = length[query] - positions(query)
    return order, np.asarray(rank, dtype=np.intp)


def turn_around(query: Ints, rank: Ints, value: Ints) -> Ints:
    """Return the first rank of the minimum of each query's curve, one per row."""
    order = np.lexsort((rank, value, query))
    sorted_rank = rank[order]
    return sorted_rank[firsts(query)]
