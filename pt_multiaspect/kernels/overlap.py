"""Compatibility: rank-biased overlap of a ranking with an ideal one.

Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.
"""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, positions, ratio


def compatibility(hits: Hits, gain: Floats, p: float) -> Floats:
    """RBO of each ranking with the ideal ranking, divided by the RBO of the ideal ranking with itself."""
    row, score, best = _overlap(hits, gain, p)
    return np.minimum(ratio(hits.total(score, hits.pool_query[row]), best), 1.0)


def contributions(hits: Hits, gain: Floats, p: float) -> Floats:
    """What each hit adds to the compatibility: the depths from which on it is in both rankings."""
    row, score, best = _overlap(hits, gain, p)
    of_row = np.zeros(len(gain))
    of_row[row] = ratio(score, best[hits.pool_query[row]])
    return of_row[hits.row]


def _overlap(hits: Hits, gain: Floats, p: float) -> tuple[Ints, Floats, Floats]:
    """The judged documents in both rankings, what each adds to RBO, and the RBO of the ideal ranking per query.

    The ideal ranking sorts documents of positive gain by decreasing gain. Documents of equal gain keep their
    order in the ranking; documents that were not retrieved are last.
    """
    n_pool = len(gain)
    rank = np.full(n_pool, np.iinfo(np.intp).max, dtype=np.intp)
    rank[hits.row] = hits.rank
    kept = np.flatnonzero(gain > 0)
    order = kept[np.lexsort((rank[kept], -gain[kept], hits.pool_query[kept]))]
    query = hits.pool_query[order]
    ideal = positions(query) + 1
    depth = np.maximum(hits.n_ret, np.bincount(query, minlength=hits.n_queries))
    weights = p ** np.arange(depth.max(initial=0)) / np.arange(1, depth.max(initial=0) + 1)
    agreement = np.concatenate([[0.0], np.cumsum(weights)])
    # A document is in the overlap of each depth from its larger rank in the two rankings on.
    retrieved = rank[order] <= depth[query]
    both = np.maximum(ideal, rank[order])[retrieved]
    score = agreement[depth[query[retrieved]]] - agreement[both - 1]
    best = hits.total(agreement[depth[query]] - agreement[ideal - 1], query)
    return order[retrieved], score, best
