"""Single-aspect measures of rankings, as trec_eval computes them (gdeval for ERR and exp-log2)."""

from __future__ import annotations

import numpy as np

from .layout import Bools, Floats, Ints, Layout, discount, positions, ratio, running_product, sums
from .target import Target, ideal_order


def dcg(layout: Layout, gain: Floats, cutoff: int | None = None) -> Floats:
    """Sum gain / log2(rank + 1) over the first `cutoff` ranks."""
    layout = layout.top(cutoff)
    return layout.total(gain[layout.row] * discount(layout.rank))


def ideal_dcg(query: Ints, rank: Ints, gain: Floats, n_queries: int, cutoff: int | None = None) -> Floats:
    """The same for documents already in ideal order."""
    if cutoff is not None:
        kept = rank <= cutoff
        query, rank, gain = query[kept], rank[kept], gain[kept]
    return sums(query, gain * discount(rank), n_queries)


def ndcg(layout: Layout, target: Target, cutoff: int | None = None, *, exponential: bool = False) -> Floats:
    """DCG over that of the ideal ranking of all judged documents."""
    if exponential or target.exponential:
        target = target.exponentiated
    ideal = ideal_dcg(*target.ideal, target.n_queries, cutoff)
    return np.minimum(ratio(dcg(layout, target.gain, cutoff), ideal), 1.0)


def average_precision(layout: Layout, positive: Bools, n_positive: Floats, cutoff: int | None = None) -> Floats:
    """Sum the precision at each positive document's rank, over all positive documents there are."""
    layout = layout.top(cutoff)
    hit = positive[layout.row]
    query, rank = layout.query[hit], layout.rank[hit]
    found = positions(query) + 1
    return ratio(layout.total(found / rank, query), n_positive)


def found(layout: Layout, positive: Bools, cutoff: int | None = None) -> Floats:
    """How many positive documents stand in the first `cutoff` ranks."""
    layout = layout.top(cutoff)
    return layout.total(positive[layout.row])


def found_at_r(layout: Layout, positive: Bools, n_positive: Floats) -> Floats:
    """How many positive documents stand in the first R ranks, R being all there are."""
    return layout.total(positive[layout.row] & (layout.rank <= n_positive[layout.query]))


def reciprocal_rank(layout: Layout, positive: Bools, cutoff: int | None = None) -> Floats:
    """One over the rank of the first positive document."""
    layout = layout.top(cutoff)
    hit = positive[layout.row]
    query, rank = layout.query[hit], layout.rank[hit]
    first = positions(query) == 0
    return layout.total(1.0 / rank[first], query[first])


def rbp(layout: Layout, gain: Floats | Bools, p: float, cutoff: int | None = None) -> Floats:
    """Rank-biased precision of gains in [0, 1]: (1 - p) Σ p^(k-1) gain."""
    layout = layout.top(cutoff)
    return np.minimum((1.0 - p) * layout.total(gain[layout.row] * p ** (layout.rank - 1.0)), 1.0)


def err(layout: Layout, stop: Floats, cutoff: int | None = None) -> Floats:
    """Expected reciprocal rank of a user who stops at a document with probability `stop`."""
    layout = layout.top(cutoff)
    chance = stop[layout.row]
    return layout.total(chance / layout.rank * running_product(1.0 - chance, layout.query))


def stop_probability(gain: Floats, top: float) -> Floats:
    """(2^gain - 1) / 2^top, without overflow."""
    return np.asarray(np.exp2(gain - top) - np.exp2(-top), dtype=np.float64)


def retrieved_ideal_dcg(layout: Layout, gain: Floats) -> Floats:
    """The DCG of the ideal ranking of the same retrieved documents."""
    return ideal_dcg(*ideal_order(layout.query, gain[layout.row]), layout.n_queries)


def judged_ideal_dcg(layout: Layout, gain: Floats) -> Floats:
    """The DCG of the ideal ranking of all judged documents, over as many ranks as were retrieved.

    Ranks that are left take unjudged documents, whose gain is the last of `gain`.
    """
    query, rank, ideal = ideal_order(layout.pool_query, gain[:-1])
    kept = rank <= layout.n_ret[query]
    query, rank, ideal = query[kept], rank[kept], ideal[kept]
    if gain[-1]:
        n_judged = np.bincount(layout.pool_query, minlength=layout.n_queries)
        left = np.repeat(np.arange(layout.n_queries), np.maximum(layout.n_ret - n_judged, 0))
        query = np.append(query, left)
        rank = np.append(rank, n_judged[left] + positions(left) + 1)
        ideal = np.append(ideal, np.full(len(left), gain[-1]))
    return ideal_dcg(query, rank, ideal, layout.n_queries)
