"""Single-aspect measures that are not sums over ranks, as computed by trec_eval (ERR: gdeval)."""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats
from .hits import Hits, positions, ratio, running_product


def average_precision(hits: Hits, relevant: Bools, n_relevant: Floats) -> Floats:
    """Compute Σ precision at the rank of each relevant document / number of relevant documents."""
    hit = relevant[hits.row]
    query, rank = hits.query[hit], hits.rank[hit]
    return ratio(hits.total((positions(query) + 1) / rank, query), n_relevant)


def n_retrieved(hits: Hits, relevant: Bools) -> Floats:
    """Return the number of relevant documents retrieved."""
    return hits.total(relevant[hits.row])


def is_first(hits: Hits, relevant: Bools) -> Bools:
    """Return a mask of the hits that are the first relevant document of their query."""
    hit = np.flatnonzero(relevant[hits.row])
    result = np.zeros(len(hits.row), dtype=np.bool_)
    result[hit[positions(hits.query[hit]) == 0]] = True
    return result


def err(hits: Hits, stop: Floats) -> Floats:
    """Compute the expected reciprocal rank, where the user stops at a document with probability `stop`."""
    return hits.total(err_contributions(hits, stop))


def err_contributions(hits: Hits, stop: Floats) -> Floats:
    """Return the probability of stopping at each hit / its rank."""
    return stopping_chance(hits, stop) / hits.rank


def stopping_chance(hits: Hits, stop: Floats) -> Floats:
    """Return the probability that the user, who stops at a document with probability `stop`, stops at each hit."""
    chance = stop[hits.row]
    return np.asarray(chance * running_product(1.0 - chance, hits.query), dtype=np.float64)


def stop_probability(gain: Floats, top: float) -> Floats:
    """Return (2^gain - 1) / 2^top, without overflow."""
    return np.asarray(np.exp2(gain - top) - np.exp2(-top), dtype=np.float64)
