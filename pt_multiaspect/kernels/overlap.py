"""Compatibility: rank-biased overlap of a ranking with an ideal one.

Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, positions, ratio, sums

#: The last depth at which rankings are compared, as in the program of the measure's authors.
DEPTH = 1000


def compatibility(hits: Hits, gain: Floats, p: float) -> Floats:
    """Return the RBO of each ranking with the ideal ranking, divided by its maximum.

    The maximum is the RBO of the ideal ranking with itself.

    RBO is Σ_k p^(k-1) · overlap of the first k documents / k, for k from 1 to 1000, also below the
    end of both rankings, where the overlap no longer grows.
    """
    ideal = _ideal_ranking(hits, gain, p)
    rbo = sums(ideal.query, ideal.contributions, hits.n_queries)
    # Rounding may exceed the maximum.
    relative_rbo = ratio(rbo, ideal.maximum)
    return np.minimum(relative_rbo, 1.0)


def contributions(hits: Hits, gain: Floats, p: float) -> Floats:
    """Return the contribution of each hit to the compatibility.

    It is what the document adds to the RBO of its ranking and the ideal one, divided by the
    maximum; 0 for documents that are not in the ideal ranking.
    """
    ideal = _ideal_ranking(hits, gain, p)
    maximum_of_query = ideal.maximum[ideal.query]
    contribution = ratio(ideal.contributions, maximum_of_query)
    n_judged = len(gain)
    contribution_of_judged = np.zeros(n_judged)
    contribution_of_judged[ideal.documents] = contribution
    return contribution_of_judged[hits.row]


class _IdealRanking(NamedTuple):
    """The ideal ranking of each query, and its overlap with the ranking."""

    #: The positions of the documents in the pool, by query and ideal rank.
    documents: Ints
    #: The query of each of these documents, and its contribution to the RBO of both rankings.
    query: Ints
    contributions: Floats
    #: The RBO of the ideal ranking with itself, per query.
    maximum: Floats


def _ideal_ranking(hits: Hits, gain: Floats, p: float) -> _IdealRanking:
    """Return the ideal ranking of each query, and its overlap with the ranking.

    A document adds to the RBO of two rankings, Σ_k p^(k-1) · overlap at depth k / k, from the depth
    on at which it is in both: the larger one of its ranks.
    """
    # The rank of each judged document; one that was not retrieved is below the last depth.
    n_judged = len(gain)
    rank_below = DEPTH + 1
    rank_of_document = np.full(n_judged, rank_below, dtype=np.intp)
    rank_of_document[hits.row] = hits.rank
    documents = _ideal_order(hits.pool_query, gain, rank_of_document)
    query = hits.pool_query[documents]
    ideal_rank = positions(query) + 1
    actual_rank = rank_of_document[documents]
    first_common_depth = np.maximum(ideal_rank, actual_rank)
    contributions = _contributions_from(first_common_depth, p)
    # The ideal ranking with itself: a document is in both from its rank on.
    ideal_contributions = _contributions_from(ideal_rank, p)
    maximum = sums(query, ideal_contributions, hits.n_queries)
    return _IdealRanking(documents, query, contributions, maximum)


def _ideal_order(query: Ints, gain: Floats, rank: Ints) -> Ints:
    """Return the documents of positive gain, sorted by query, decreasing gain and rank.

    The parameters are of all judged documents. Documents of equal gain keep their order in the
    ranking, and those that were not retrieved are last.
    """
    positive = np.flatnonzero(gain > 0)
    # `lexsort` sorts by its last key first.
    gain_key = -gain[positive]
    query_key = query[positive]
    order = np.lexsort((rank[positive], gain_key, query_key))
    return positive[order]


def _contributions_from(rank: Ints, p: float) -> Floats:
    """Return the contribution to RBO of documents that are in both rankings from a rank on."""
    # Below the last depth, all ranks contribute nothing.
    index = np.minimum(rank, DEPTH + 1)
    return _contributions_by_rank(p)[index]


@cache
def _contributions_by_rank(p: float) -> Floats:
    """Return the contribution to RBO of a document that is in both rankings from a rank on.

    It is Σ_{k≥rank} p^(k-1) / k, at the index `rank`: NaN at 0, which is no rank, and 0 below the
    last depth.
    """
    depth = np.arange(1, DEPTH + 1)
    weights = p ** (depth - 1.0) / depth
    # The sum from each rank to the end is a cumulative sum from the end.
    from_last = np.cumsum(weights[::-1])
    from_rank = from_last[::-1]
    return np.concatenate([[np.nan], from_rank, [0.0]])
