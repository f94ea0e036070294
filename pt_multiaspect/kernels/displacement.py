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
from .hits import Hits, descending, firsts, positions, ratio, running_sum
from .target import Target


def degree(target: Target) -> Floats:
    """Return the gain of each judged document, 0 for the lowest degree: the lowest grade, or no label."""
    return np.where(target.gain > target.bottom, target.gain, 0.0)


def ideal_intervals(target: Target) -> tuple[Ints, Ints]:
    """Return the first and last rank of each document's degree in the ideal ranking; 0 for the lowest degree."""
    degrees = degree(target)
    kept = np.flatnonzero(degrees)
    order = kept[descending(target.query[kept], degrees[kept])]
    query, gain = target.query[order], degrees[order]
    rank = positions(query) + 1
    low, high = np.zeros(len(degrees), dtype=np.intp), np.zeros(len(degrees), dtype=np.intp)
    group = np.cumsum((np.diff(query, prepend=-1) != 0) | (np.diff(gain, prepend=np.nan) != 0)) - 1
    low[order] = rank[firsts(group)]
    high[order] = low[order] + np.bincount(group)[group] - 1
    return low, high


def _positive_hits(hits: Hits, target: Target) -> tuple[Hits, Ints]:
    """Return the hits above the lowest degree, and their relative positions (Eq. 4)."""
    low, high = ideal_intervals(target)
    above = hits.select(degree(target)[hits.row] > 0)
    rank, low, high = above.rank, low[above.row], high[above.row]
    return above, np.minimum(rank - low, 0) + np.maximum(rank - high, 0)


def _lowest(rank: Ints, recall_base: Ints) -> Ints:
    """Return the relative position of a document of the lowest degree, whose interval starts at R + 1."""
    return np.asarray(np.minimum(rank - recall_base - 1, 0), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Displacement(Additive):
    """CRP at a rank (Eq. 5), at R by default, as a sum over ranks.

    Short rankings are padded with documents of the lowest degree.
    """

    target: Target
    cutoff: int | None = None

    @cached_property
    def recall_base(self) -> Ints:
        """R, the number of documents above the lowest degree, per query."""
        return self.target.total(degree(self.target) > 0).astype(np.intp)

    @property
    def _depth(self) -> Ints:
        """The last rank that counts, per query."""
        return self.recall_base if self.cutoff is None else np.full(self.target.n_queries, self.cutoff)

    @cached_property
    def _intervals(self) -> tuple[Ints, Ints]:
        low, high = ideal_intervals(self.target)
        # The interval of the lowest degree is [R + 1, ∞).
        total = self.recall_base[self.target.query]
        is_lowest = low == 0
        return np.where(is_lowest, total + 1, low), np.where(is_lowest, np.iinfo(np.intp).max, high)

    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return the relative position of each document at each rank; 0 below the cutoff."""
        low, high = (bound[documents, None] for bound in self._intervals)
        position = np.minimum(ranks - low, 0) + np.maximum(ranks - high, 0)
        return np.where(ranks <= self._depth[query], position, 0).astype(np.float64)

    def values(self, hits: Hits) -> Floats:
        """Return CRP."""
        total, depth = self.recall_base, self._depth
        padded = np.minimum(depth, total)
        everything_lowest = padded * (padded + 1) / 2 - padded * (total + 1.0)
        above, position = _positive_hits(hits, self.target)
        gained = np.where(above.rank <= depth[above.query], position - _lowest(above.rank, total[above.query]), 0)
        return np.asarray(everything_lowest + above.total(gained), dtype=np.float64)

    def breakdown(self, hits: Hits) -> Breakdown:
        """Return CRP as a sum over ranks; ranks that the ranking does not fill are combined."""
        dense = hits.dense()
        position = _lowest(dense.rank, self.recall_base[dense.query])
        above, displaced = _positive_hits(hits, self.target)
        position[above.retrieved_index] = displaced
        counted = np.where(dense.rank <= self._depth[dense.query], position, 0).astype(np.float64)
        empty = self.values(hits) - dense.total(counted)
        columns = {"displacement": position.astype(np.float64)}
        return Breakdown(dense, counted, rest={"empty ranks": empty}, columns=columns)


def balance_point(hits: Hits, target: Target) -> Ints:
    """Return the first retrieved rank from R on at which CRP is at least 0; 0 if there is none, or R is 0."""
    form = Displacement(target)
    total, at_r = form.recall_base, form.values(hits)
    # Beyond R, only documents above the lowest degree change CRP, and only increase it.
    above, position = _positive_hits(hits, target)
    after = above.rank > total[above.query]
    query, rank, position = above.query[after], above.rank[after], position[after]
    recovered = at_r[query] + running_sum(position, query) >= 0
    first = np.flatnonzero(recovered)[positions(query[recovered]) == 0]
    balance = np.zeros(hits.n_queries, dtype=np.intp)
    balance[query[first]] = rank[first]
    return np.asarray(np.where((at_r >= 0) & (hits.n_ret >= total), total, balance), dtype=np.intp)


def recovery(hits: Hits, target: Target) -> Floats:
    """Compute R / the balance point; 0 if there is none."""
    total, balance = Displacement(target).recall_base, balance_point(hits, target)
    return ratio(total.astype(np.float64), balance.astype(np.float64))


def curve(hits: Hits, target: Target) -> tuple[Ints, Ints, Ints, Ints]:
    """Compute CRP at each rank down to the last retrieved rank or R, whichever is larger.

    Returns
    -------
    query, rank, value, worst : ndarray of int, shape (n,)
        `worst` is the value of the worst ranking of the same length: all documents above the lowest degree at its
        end, those of the lowest degree first.
    """
    total = Displacement(target).recall_base
    length = np.maximum(hits.n_ret, total)
    query = np.repeat(np.arange(hits.n_queries), length)
    rank = positions(query) + 1
    begins = np.cumsum(length) - length
    lowest = _lowest(rank, total[query])
    position, worst = lowest.copy(), lowest.copy()
    above, displaced = _positive_hits(hits, target)
    position[begins[above.query] + above.rank - 1] = displaced
    low, high = ideal_intervals(target)
    order = np.flatnonzero(low)
    order = order[descending(target.query[order], degree(target)[order])]
    last = target.query[order]
    at_end = length[last] - positions(last)
    worst[begins[last] + at_end - 1] = np.minimum(at_end - low[order], 0) + np.maximum(at_end - high[order], 0)
    return query, rank, running_sum(position, query), running_sum(worst, query)


def turn_around(query: Ints, rank: Ints, value: Ints) -> Ints:
    """Return the first rank of the minimum of each query's curve, one per row."""
    order = np.lexsort((rank, value, query))
    return rank[order][firsts(query)]
