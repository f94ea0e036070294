"""Single-aspect measures that are not linear: of trec_eval, ERR of gdeval, and search lengths."""

from __future__ import annotations

from typing import NamedTuple

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
    n_relevant_so_far = positions(query) + 1
    precision = n_relevant_so_far / rank
    sum_of_precisions = hits.total(precision, query)
    return ratio(sum_of_precisions, n_relevant)


def n_retrieved(hits: Hits, relevant: Bools) -> Floats:
    """Return the number of relevant documents retrieved."""
    return hits.total(relevant[hits.row])


def is_first(hits: Hits, relevant: Bools) -> Bools:
    """Return a mask of the hits that are the first relevant document of their query."""
    relevant_hits = np.flatnonzero(relevant[hits.row])
    position_in_query = positions(hits.query[relevant_hits])
    first = relevant_hits[position_in_query == 0]
    result = np.zeros(len(hits.row), dtype=np.bool_)
    result[first] = True
    return result


def err_contributions(hits: Hits, stop: Floats) -> Floats:
    """Return the probability of stopping at each hit / its rank."""
    return stopping_chance(hits, stop) / hits.rank


def stopping_chance(hits: Hits, stop: Floats) -> Floats:
    """Return the probability that the user stops at each hit.

    `stop` is the probability of stopping at each judged document, if the user reaches it.
    """
    stops_if_reached = stop[hits.row]
    goes_on = 1.0 - stops_if_reached
    reaches = running_product(goes_on, hits.query)
    return np.asarray(stops_if_reached * reaches, dtype=np.float64)


def stop_probability(gain: Floats, top: float) -> Floats:
    """Return (2^gain - 1) / 2^top, without overflow."""
    return np.asarray(np.exp2(gain - top) - np.exp2(-top), dtype=np.float64)


def discounted_by_lack(hits: Hits, target: Target) -> Floats:
    """Return the gain of each hit, discounted by what the ranking lacks of the ideal one.

    These are the terms of G. The discount is 1 / log2(2 + lack). The lack is the sum of gains down
    to the rank of the hit in the ideal ranking, where each rank counts at least 1, minus that in
    the ranking.
    """
    gain = target.gain[hits.row]
    sum_of_gains = running_total(gain, hits.query)
    ideal_sum = _ideal_sum(hits, target)
    lack = remove_rounding_errors(ideal_sum - sum_of_gains, ideal_sum)
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
    # The ideal rankings of all queries, one after the other.
    order = descending(target.query, target.gain)
    gain_by_rank = np.maximum(target.gain[order], 1.0)
    sum_by_rank = running_total(gain_by_rank, target.query)
    n_judged = np.bincount(target.query, minlength=target.n_queries)
    first_index = np.cumsum(n_judged) - n_judged
    # The ideal ranking has judged documents only; each rank below them counts 1.
    n_judged_to_rank = np.minimum(hits.rank, n_judged[hits.query])
    n_further_ranks = hits.rank - n_judged_to_rank
    last_index = first_index[hits.query] + n_judged_to_rank - 1
    ideal_sum = sum_by_rank[last_index] + n_further_ranks
    return np.asarray(ideal_sum, dtype=np.float64)


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
    levels = _levels(level, hits, positive, target, n_positive)
    query = levels.query
    relevant_to_level = running_sum(levels.n_relevant, query)
    relevant_before = relevant_to_level - levels.n_relevant
    non_relevant_to_level = running_sum(levels.n_non_relevant, query)
    non_relevant_before = non_relevant_to_level - levels.n_non_relevant
    # Queries with fewer relevant documents than wanted need all of them.
    n_needed = np.minimum(wanted, n_positive).astype(np.intp)[query]
    # The search ends in the level with the last relevant document that is needed.
    needs_level = relevant_before < n_needed
    has_enough = relevant_to_level >= n_needed
    is_last_level = needs_level & has_enough
    # In random order, each relevant document of the level that is needed is preceded, on average,
    # by non-relevant / (relevant + 1) further documents.
    n_needed_of_level = n_needed - relevant_before
    expected_in_level = levels.n_non_relevant * n_needed_of_level / (levels.n_relevant + 1.0)
    length = non_relevant_before + expected_in_level
    expected = sums(query[is_last_level], length[is_last_level], hits.n_queries)
    # Without relevant documents, the search goes through all documents.
    all_non_relevant = sums(query, levels.n_non_relevant, hits.n_queries)
    return np.where(n_positive > 0, expected, all_non_relevant)


class _Levels(NamedTuple):
    """The levels of tied documents of all queries, sorted by query, from first to last rank."""

    query: Ints
    #: The number of relevant documents of each level.
    n_relevant: Ints
    n_non_relevant: Ints


def _levels(
    level: Ints, hits: Hits, positive: Bools, target: Target, n_positive: Floats
) -> _Levels:
    """Return the levels of tied scores, and a last one of documents that were not retrieved.

    The parameters are those of `expected_search_length`.
    """
    # Levels are numbered from 0 over all queries.
    n_levels = int(level.max(initial=-1)) + 1
    size = np.bincount(level, minlength=n_levels)
    is_relevant_hit = positive[hits.row]
    level_of_hit = level[hits.retrieved_index]
    n_relevant = np.bincount(level_of_hit[is_relevant_hit], minlength=n_levels)
    # The query of a level is that of its first document; before the first level is -1.
    query_of_retrieved = np.repeat(np.arange(hits.n_queries), hits.n_ret)
    is_first_of_level = np.diff(level, prepend=-1) > 0
    query_of_level = query_of_retrieved[is_first_of_level]
    # Judged documents that were not retrieved form one last level of each query.
    n_relevant_left = n_positive - hits.total(is_relevant_hit)
    is_judged = target.judged
    n_judged_left = target.total(is_judged) - hits.total(is_judged[hits.row])
    all_queries = np.arange(hits.n_queries)
    query = np.concatenate([query_of_level, all_queries])
    all_sizes = np.concatenate([size, n_judged_left]).astype(np.intp)
    all_relevant = np.concatenate([n_relevant, n_relevant_left]).astype(np.intp)
    all_non_relevant = all_sizes - all_relevant
    # The stable order keeps the last levels behind the others of their queries.
    order = np.argsort(query, kind="stable")
    return _Levels(query[order], all_relevant[order], all_non_relevant[order])
