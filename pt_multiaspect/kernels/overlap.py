"""Compatibility: rank-biased overlap of a ranking with an ideal one.

Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.
"""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, positions, ratio


def compatibility(hits: Hits, gain: Floats, p: float) -> Floats:
    """Compute the RBO of each ranking with the ideal ranking / the RBO of the ideal ranking with itself."""
    row, score, best = _overlap(hits, gain, p)
    return np.minimum(ratio(hits.total(score, hits.pool_query[row]), best), 1.0)


def contributions(hits: Hits, gain: Floats, p: float) -> Floats:
    """Return the contribution of each hit, from the depths at which it is in both rankings, to compatibility."""
    row, score, best = _overlap(hits, gain, p)
    contribution = np.zeros(len(gain))
    contribution[row] = ratio(score, best[hits.pool_query[row]])
    return contribution[hits.row]


def _overlap(hits: Hits, gain: Floats, p: float) -> tuple[Ints, Floats, Floats]:
    """Return the retrieved documents of the ideal ranking, their contributions to RBO, and the ideal RBO per query.

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
    larger = np.maximum(ideal, rank[order])[retrieved]
    score = agreement[depth[query[retrieved]]] - agreement[larger - 1]
    best = hits.total(agreement[depth[query]] - agreement[ideal - 1], query)
    return order[retrieved], score, best
