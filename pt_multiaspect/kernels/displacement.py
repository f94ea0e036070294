"""Displacement: how far documents stand from where the ideal ranking has their degree.

Angelini, Ferro, Järvelin, Keskustalo, Pirkola, Santucci, Silvello: Cumulated Relative Position:
A Metric for Ranking Evaluation. CLEF 2012, and IIR 2013 (extended abstract), Eq. 1-5.
"""

from __future__ import annotations

import numpy as np

from .layout import Bools, Floats, Ints, Layout, descending, firsts, positions, ratio, sums
from .target import Target


def ideal_intervals(target: Target) -> tuple[Ints, Ints]:
    """First and last rank at which the ideal ranking has a document's degree; 0 for the lowest degree."""
    kept = np.flatnonzero(target.gain > 0)
    order = kept[descending(target.pool_query[kept], target.gain[kept])]
    query, gain = target.pool_query[order], target.gain[order]
    rank = positions(query) + 1
    low, high = np.zeros(len(target.gain), dtype=np.intp), np.zeros(len(target.gain), dtype=np.intp)
    if len(order):
        begins = np.append(True, (query[1:] != query[:-1]) | (gain[1:] != gain[:-1]))
        group = np.cumsum(begins) - 1
        first = np.flatnonzero(begins)
        last = np.append(first[1:] - 1, len(order) - 1)
        low[order], high[order] = rank[first][group], rank[last][group]
    return low, high


def _positive_hits(layout: Layout, target: Target) -> tuple[Layout, Ints]:
    """The hits above the lowest degree, and their relative positions (Eq. 4)."""
    low, high = ideal_intervals(target)
    above = layout.select(target.gain[layout.row] > 0)
    rank, low, high = above.rank, low[above.row], high[above.row]
    return above, np.minimum(rank - low, 0) + np.maximum(rank - high, 0)


def _lowest(rank: Ints, recall_base: Ints) -> Ints:
    """The relative position of a document of the lowest degree, whose interval starts at R + 1."""
    return np.asarray(np.minimum(rank - recall_base - 1, 0), dtype=np.intp)


def recall_base(target: Target) -> Ints:
    """R, the number of documents above the lowest degree, per query."""
    return target.total(target.gain > 0).astype(np.intp)


def crp(layout: Layout, target: Target, cutoff: int | None = None) -> Floats:
    """CRP at a rank (Eq. 5), at R by default; short rankings are padded with documents of the lowest degree."""
    total = recall_base(target)
    limit = total if cutoff is None else np.full(layout.n_queries, cutoff)
    padded = np.minimum(limit, total)
    everything_lowest = padded * (padded + 1) / 2 - padded * (total + 1.0)
    above, position = _positive_hits(layout, target)
    gained = np.where(above.rank <= limit[above.query], position - _lowest(above.rank, total[above.query]), 0)
    return np.asarray(everything_lowest + above.total(gained), dtype=np.float64)


def recovery(layout: Layout, target: Target) -> Floats:
    """R over the first rank from R on at which CRP is not negative; 0 if no retrieved rank is such."""
    total = recall_base(target)
    at_r = crp(layout, target)
    # After R only documents above the lowest degree move CRP, and only upwards.
    above, position = _positive_hits(layout, target)
    after = above.rank > total[above.query]
    query, rank, position = above.query[after], above.rank[after], position[after]
    climbed = at_r[query] + _running_sum(position, query)
    back = climbed >= 0
    first = np.flatnonzero(back)[positions(query[back]) == 0]
    balance = np.zeros(layout.n_queries, dtype=np.intp)
    balance[query[first]] = rank[first]
    balance = np.where((at_r >= 0) & (layout.n_ret >= total), total, balance)
    return ratio(total.astype(np.float64), balance.astype(np.float64))


def _running_sum(values: Ints, query: Ints) -> Ints:
    """The sum of the values up to each element within its query, exact for integers."""
    running = np.cumsum(values)
    begin = firsts(query)
    return running - (running[begin] - values[begin] if len(values) else running)


def curve(layout: Layout, target: Target) -> tuple[Ints, Ints, Ints]:
    """CRP at every rank up to the last retrieved one or R: queries, ranks and values."""
    total = recall_base(target)
    length = np.maximum(layout.n_ret, total)
    query = np.repeat(np.arange(layout.n_queries), length)
    rank = positions(query) + 1
    position = _lowest(rank, total[query])
    above, displaced = _positive_hits(layout, target)
    begins = np.cumsum(length) - length
    position[begins[above.query] + above.rank - 1] = displaced
    return query, rank, _running_sum(position, query)


def expected_search_length(
    level: Ints, layout: Layout, positive: Bools, target: Target, n_positive: Floats, wanted: int
) -> Floats:
    """Non-relevant documents a user expects to see before `wanted` relevant ones (Cooper 1968).

    Parameters
    ----------
    level : ndarray of int
        The level of tied scores of every retrieved document, increasing over all queries.
    layout, target : Layout, Target
        Where the judged documents stand, and what they are.
    positive : ndarray of bool
        Which judged documents are relevant.
    n_positive : ndarray of float
        How many there are per query.
    wanted : int
        How many relevant documents the user wants.
    """
    begins = np.cumsum(layout.n_ret) - layout.n_ret
    hit_level = level[begins[layout.query] + layout.rank - 1]
    n_levels = int(level[-1]) + 1 if len(level) else 0
    relevant = np.bincount(hit_level[positive[layout.row]], minlength=n_levels)
    size = np.bincount(level, minlength=n_levels)
    owner = np.repeat(np.arange(layout.n_queries), layout.n_ret)
    query = owner[np.flatnonzero(np.diff(level, prepend=-1))] if n_levels else np.zeros(0, dtype=np.intp)
    # Judged documents that were not retrieved form one last level.
    left_relevant = n_positive - layout.total(positive[layout.row])
    left = target.total(np.ones(len(positive))) - layout.total(np.ones(len(layout.row)))
    order = np.argsort(np.concatenate([query, np.arange(layout.n_queries)]), kind="stable")
    query = np.concatenate([query, np.arange(layout.n_queries)])[order]
    relevant = np.concatenate([relevant, left_relevant]).astype(np.intp)[order]
    other = np.concatenate([size, left]).astype(np.intp)[order] - relevant
    found_before = _running_sum(relevant, query) - relevant
    other_before = _running_sum(other, query) - other
    needed = np.minimum(wanted, n_positive).astype(np.intp)[query]
    there = (found_before < needed) & (found_before + relevant >= needed)
    length = other_before + other * (needed - found_before) / (relevant + 1.0)
    result = sums(query[there], length[there], layout.n_queries)
    return np.where(n_positive > 0, result, sums(query, other, layout.n_queries))
