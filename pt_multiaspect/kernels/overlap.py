"""Compatibility: rank-biased overlap of a ranking with an ideal one.

Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

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
    ideal = _ideal_ranking(hits, gain, p)
    query = hits.pool_query[ideal.documents]
    rbo = hits.total(ideal.contributions, query)
    # Rounding may exceed the maximum.
    return np.minimum(ratio(rbo, ideal.maximum), 1.0)


def contributions(hits: Hits, gain: Floats, p: float) -> Floats:
    """Return the contribution of each hit to the compatibility.

    It is that of the depths at which both rankings have the document, divided by the maximum.
    """
    ideal = _ideal_ranking(hits, gain, p)
    query = hits.pool_query[ideal.documents]
    maximum = ideal.maximum[query]
    contribution = ratio(ideal.contributions, maximum)
    # From the documents of the ideal ranking to all judged ones, of which the others contribute
    # nothing, and then to the hits.
    contribution_of_document = np.zeros(len(gain))
    contribution_of_document[ideal.documents] = contribution
    return contribution_of_document[hits.row]


class _IdealRanking(NamedTuple):
    """The ideal ranking of each query, and its overlap with the ranking."""

    #: The positions of the documents in the pool, by query and ideal rank.
    documents: Ints
    #: The contribution of each of these documents to the RBO of both rankings.
    contributions: Floats
    #: The RBO of the ideal ranking with itself, per query.
    maximum: Floats


def _ideal_ranking(hits: Hits, gain: Floats, p: float) -> _IdealRanking:
    """Return the ideal ranking of each query, and its overlap with the ranking.

    The ideal ranking sorts documents of positive gain by decreasing gain. Documents of equal gain
    keep their order in the ranking; documents that were not retrieved are last.
    """
    # Rank of each judged document; one that was not retrieved has a rank that contributes nothing.
    rank_beyond = DEPTH + 1
    rank_of_document = np.full(len(gain), rank_beyond, dtype=np.intp)
    rank_of_document[hits.row] = hits.rank

    positive = np.flatnonzero(gain > 0)
    # Sort by query, then by decreasing gain, then by rank: `lexsort` sorts by its last key first.
    rank_key = rank_of_document[positive]
    gain_key = -gain[positive]
    query_key = hits.pool_query[positive]
    order = np.lexsort((rank_key, gain_key, query_key))
    documents = positive[order]
    query = hits.pool_query[documents]
    ideal_rank = positions(query) + 1

    # A document is in the overlap from the lower of its two ranks (the larger number) on.
    rank_in_both = np.maximum(ideal_rank, rank_of_document[documents])
    contribution_from_rank = _contributions_by_rank(p)  # up to `rank_beyond`
    contributions = contribution_from_rank[np.minimum(rank_in_both, rank_beyond)]
    # Compared with itself, the ideal ranking has each document in the overlap from its ideal rank.
    ideal_contributions = contribution_from_rank[np.minimum(ideal_rank, rank_beyond)]
    maximum = hits.total(ideal_contributions, query)
    return _IdealRanking(documents, contributions, maximum)


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
