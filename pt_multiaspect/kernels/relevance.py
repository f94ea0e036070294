"""Single-aspect measures that are not linear: of trec_eval, ERR of gdeval, and search lengths."""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats, Ints
from .hits import (
    Hits,
    descending,
    positions,
    ratio,
    running_product,
    running_sum,
    running_total,
    sums,
)
from .rounding import remove_rounding_errors
from .target import Target


def average_precision(hits: Hits, relevant: Bools, n_relevant: Floats) -> Floats:
    """Compute Σ precision at the rank of each relevant document / number of relevant documents."""
    is_relevant = relevant[hits.row]
    query = hits.query[is_relevant]
    rank = hits.rank[is_relevant]
    precision = (positions(query) + 1) / rank
    return ratio(hits.total(precision, query), n_relevant)


def n_retrieved(hits: Hits, relevant: Bools) -> Floats:
    """Return the number of relevant documents retrieved."""
    return hits.total(relevant[hits.row])


def is_first(hits: Hits, relevant: Bools) -> Bools:
    """Return a mask of the hits that are the first relevant document of their query."""
    relevant_hits = np.flatnonzero(relevant[hits.row])
    position = positions(hits.query[relevant_hits])
    first = relevant_hits[position == 0]
    result = np.zeros(len(hits.row), dtype=np.bool_)
    result[first] = True
    return result


def err_contributions(hits: Hits, stop: Floats) -> Floats:
    """Return the probability of stopping at each hit / its rank."""
    return stopping_chance(hits, stop) / hits.rank


def stopping_chance(hits: Hits, stop: Floats) -> Floats:
    """Return the probability that the user stops at each hit.

    At a document that the user reaches, it is `stop`.
    """
    chance = stop[hits.row]
    reached = running_product(1.0 - chance, hits.query)
    return np.asarray(chance * reached, dtype=np.float64)


def stop_probability(gain: Floats, top: float) -> Floats:
    """Return (2^gain - 1) / 2^top, without overflow."""
    return np.asarray(np.exp2(gain - top) - np.exp2(-top), dtype=np.float64)


def discounted_by_lack(hits: Hits, target: Target) -> Floats:
    """Return the gain of each hit, discounted by what the ranking lacks of the ideal one.

    These are the terms of G. The discount is 1 / log2(2 + ideal - retrieved): the sums of gains in
    the ideal ranking, where each rank counts at least 1, and in the ranking, down to the rank of
    the hit.
    """
    gain = target.gain[hits.row]
    retrieved = running_total(gain, hits.query)
    ideal = _ideal_sum(hits, target)
    lack = remove_rounding_errors(ideal - retrieved, ideal)
    divisor = np.log2(2.0 + lack)
    return np.asarray(gain / divisor, dtype=np.float64)


def total_gain(target: Target) -> Floats:
    """Return the sum of gains per query, added in the order of the ideal ranking.

    Thus, G of an ideal ranking, which adds them in this order, too, is exactly 1.
    """
    order = descending(target.query, target.gain)
    return target.total(target.gain[order])


def _ideal_sum(hits: Hits, target: Target) -> Floats:
    """Return the sum of gains in the ideal ranking down to the rank of each hit.

    Each rank counts at least 1.
    """
    order = descending(target.query, target.gain)
    gain_by_rank = np.maximum(target.gain[order], 1.0)
    sum_by_rank = running_total(gain_by_rank, target.query)
    n_judged = np.bincount(target.query, minlength=target.n_queries)
    first = np.cumsum(n_judged) - n_judged
    last_judged = np.minimum(hits.rank, n_judged[hits.query])
    beyond = hits.rank - last_judged
    of_judged = sum_by_rank[first[hits.query] + last_judged - 1]
    return np.asarray(of_judged + beyond, dtype=np.float64)


def expected_search_length(
    level: Ints, hits: Hits, positive: Bools, target: Target, n_positive: Floats, wanted: int
) -> Floats:
    """Compute the expected number of non-relevant documents before `wanted` relevant ones.

    This is the expected search length of Cooper (1968).

    Parameters
    ----------
    level : ndarray of int
        The level of tied scores of every retrieved document, increasing over all queries.
    hits, target : Hits, Target
        The ranks of the judged documents, and the target.
    positive : ndarray of bool
        Whether each judged document is relevant.
    n_positive : ndarray of float
        Number of relevant documents per query.
    wanted : int
        Number of relevant documents wanted.
    """
    hit_level = level[hits.retrieved_index]
    if len(level):
        n_levels = int(level[-1]) + 1
    else:
        n_levels = 0
    relevant = np.bincount(hit_level[positive[hits.row]], minlength=n_levels)
    size = np.bincount(level, minlength=n_levels)
    owner = np.repeat(np.arange(hits.n_queries), hits.n_ret)
    if n_levels:
        query = owner[np.flatnonzero(np.diff(level, prepend=-1))]
    else:
        query = np.zeros(0, dtype=np.intp)
    # Judged documents that were not retrieved form one last level.
    left_relevant = n_positive - hits.total(positive[hits.row])
    judged = target.judged
    left = target.total(judged) - hits.total(judged[hits.row])
    queries = np.concatenate([query, np.arange(hits.n_queries)])
    order = np.argsort(queries, kind="stable")
    query = queries[order]
    relevant = np.concatenate([relevant, left_relevant]).astype(np.intp)[order]
    non_relevant = np.concatenate([size, left]).astype(np.intp)[order] - relevant
    relevant_before = running_sum(relevant, query) - relevant
    non_relevant_before = running_sum(non_relevant, query) - non_relevant
    needed = np.minimum(wanted, n_positive).astype(np.intp)[query]
    is_last_level = (relevant_before < needed) & (relevant_before + relevant >= needed)
    in_last_level = non_relevant * (needed - relevant_before) / (relevant + 1.0)
    length = non_relevant_before + in_last_level
    expected = sums(query[is_last_level], length[is_last_level], hits.n_queries)
    all_non_relevant = sums(query, non_relevant, hits.n_queries)
    return np.where(n_positive > 0, expected, all_non_relevant)
