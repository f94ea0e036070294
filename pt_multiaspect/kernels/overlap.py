"""Compatibility: rank-biased overlap of a ranking with an ideal one.

Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, positions, ratio

#: The last depth at which rankings are compared, as in the program of the measure's authors.
DEPTH = 1000


def compatibility(hits: Hits, gain: Floats, p: float) -> Floats:
    """Return the RBO of each ranking with the ideal ranking, divided by its maximum.

    The maximum is the RBO of the ideal ranking with itself.

    RBO is Σ_k p^(k-1) · overlap of the first k documents / k, for k from 1 to 1000, also below the
    end of both rankings, where the overlap no longer grows.
    """
    row, score, best = _overlap(hits, gain, p)
    overlap = hits.total(score, hits.pool_query[row])
    return np.minimum(ratio(overlap, best), 1.0)


def contributions(hits: Hits, gain: Floats, p: float) -> Floats:
    """Return the contribution of each hit to the compatibility.

    It is that of the depths at which both rankings have the document.
    """
    row, score, best = _overlap(hits, gain, p)
    pool_share = np.zeros(len(gain))
    pool_share[row] = ratio(score, best[hits.pool_query[row]])
    return pool_share[hits.row]


def _overlap(hits: Hits, gain: Floats, p: float) -> tuple[Ints, Floats, Floats]:
    """Return the documents of the ideal ranking, their contributions to RBO, and the ideal RBO.

    The ideal ranking sorts documents of positive gain by decreasing gain. Documents of equal gain
    keep their order in the ranking; documents that were not retrieved are last.
    """
    rank = np.full(len(gain), DEPTH + 1, dtype=np.intp)
    rank[hits.row] = hits.rank
    positive = np.flatnonzero(gain > 0)
    sorting = np.lexsort((rank[positive], -gain[positive], hits.pool_query[positive]))
    order = positive[sorting]
    query = hits.pool_query[order]
    ideal = positions(query) + 1
    # A document is in the overlap from the larger of its ranks in the two rankings.
    rank_in_both = np.maximum(ideal, rank[order])
    overlap = _overlap_from(p)
    score = overlap[np.minimum(rank_in_both, DEPTH + 1)]
    ideal_score = overlap[np.minimum(ideal, DEPTH + 1)]
    best = hits.total(ideal_score, query)
    return order, score, best


@cache
def _overlap_from(p: float) -> Floats:
    """Return the contribution to RBO of a document in both rankings from each rank on.

    It is Σ_{k≥rank} p^(k-1) / k; ranks are from 1 to one below the last depth.
    """
    depth = np.arange(1, DEPTH + 1)
    weights = p ** (depth - 1.0) / depth
    from_rank = np.cumsum(weights[::-1])[::-1]
    return np.concatenate([[np.nan], from_rank, [0.0]])
