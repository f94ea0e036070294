"""Single-aspect measures that are not linear: of trec_eval, ERR of gdeval, and search lengths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints
from .hits import (
    Hits,
    descending,
    heads,
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
    is_relevant = relevant[hits.row]
    # Hits are sorted by query and rank: of the relevant ones, the first of each query is wanted.
    relevant_hits = np.flatnonzero(is_relevant)
    query_of_relevant = hits.query[relevant_hits]
    first_of_query = heads(query_of_relevant)
    first_hits = relevant_hits[first_of_query]
    is_first_relevant = np.zeros(len(hits.row), dtype=np.bool_)
    is_first_relevant[first_hits] = True
    return is_first_relevant


def err_contributions(hits: Hits, stop: Floats) -> Floats:
    """Return the probability of stopping at each hit / its rank."""
    return stopping_chance(hits, stop) / hits.rank


def stopping_chance(hits: Hits, stop: Floats) -> Floats:
    """Return the probability that the user stops at each hit.

    `stop` is the probability of stopping at each judged document, if the user reaches it.
    """
    stops_if_reached = stop[hits.row]
    goes_on = 1.0 - stops_if_reached
    # The user reaches a hit after going on at all hits above it; the product is of these alone.
    reaches = running_product(goes_on, hits.query)
    probability = stops_if_reached * reaches
    return np.asarray(probability, dtype=np.float64)


def stop_probability(gain: Floats, top: float) -> Floats:
    """Return (2^gain - 1) / 2^top, without overflow."""
    # (2^gain - 1) / 2^top = 2^(gain - top) - 2^-top
    scaled_power = np.exp2(gain - top)
    probability = scaled_power - np.exp2(-top)
    return np.asarray(probability, dtype=np.float64)


def discounted_by_lack(hits: Hits, target: Target) -> Floats:
    """Return the gain of each hit / log2(2 + lack): the terms of G.

    The lack of a hit is the sum of gains in the ideal ranking, where each rank counts at least 1,
    minus the sum of gains in the ranking, both down to the rank of the hit.
    """
    gain = target.gain[hits.row]
    sum_of_gains = running_total(gain, hits.query)
    ideal_sum = _ideal_sum(hits, target)
    # Sums that differ by rounding only, relative to the ideal one, are equal: the lack is 0.
    lack = remove_rounding_errors(ideal_sum - sum_of_gains, ideal_sum)
    divisor = np.log2(2.0 + lack)
    return np.asarray(gain / divisor, dtype=np.float64)


def total_gain(target: Target) -> Floats:
    """Return the sum of gains per query, added in the order of the ideal ranking.

    Thus, G of an ideal ranking, which adds them in this order, too, is exactly 1.
    """
    # Documents are reordered within their queries only, so `target.query` fits the new order, too.
    ideal_order = descending(target.query, target.gain)
    return target.total(target.gain[ideal_order])


def _ideal_sum(hits: Hits, target: Target) -> Floats:
    """Return the sum of gains in the ideal ranking down to the rank of each hit.

    The ideal ranking has all judged documents by decreasing gain. Each rank counts at least 1, also
    ranks below the ideal ranking.
    """
    # The ideal rankings of all queries, one after the other, with the sum down to each rank.
    ideal_order = descending(target.query, target.gain)
    ideal_gain = target.gain[ideal_order]
    counted_gain = np.maximum(ideal_gain, 1.0)
    sum_to_rank = running_total(counted_gain, target.query)

    # A rank is in the ideal ranking, or below its end: then all of the ideal ranking counts, and 1
    # for each rank below it.
    n_judged = np.bincount(target.query, minlength=target.n_queries)
    ideal_length = n_judged[hits.query]
    n_ideal_ranks = np.minimum(hits.rank, ideal_length)
    n_ranks_below = hits.rank - n_ideal_ranks
    # Rankings of 2 and 3 documents begin at 0 and 2, with rank 1.
    first_of_query = np.cumsum(n_judged) - n_judged
    last_counted = first_of_query[hits.query] + n_ideal_ranks - 1
    ideal_sum = sum_to_rank[last_counted] + n_ranks_below
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
    # Queries with fewer relevant documents than wanted need all of them.
    n_available = np.minimum(wanted, n_positive)
    n_needed = n_available.astype(np.intp)
    expected = _lengths_to_needed(levels, n_needed)
    # Without relevant documents, the search goes through all documents.
    all_non_relevant = sums(levels.query, levels.n_non_relevant, hits.n_queries)
    return np.where(n_positive > 0, expected, all_non_relevant)


def _lengths_to_needed(levels: _Levels, n_needed: Ints) -> Floats:
    """Return the expected number of non-relevant documents before the last needed relevant one.

    The shape is (n_queries,), as that of `n_needed`, the number of needed documents; 0 for none.
    """
    # The numbers before each level, in its query.
    query = levels.query
    relevant_to_level = running_sum(levels.n_relevant, query)
    relevant_before = relevant_to_level - levels.n_relevant
    non_relevant_to_level = running_sum(levels.n_non_relevant, query)
    non_relevant_before = non_relevant_to_level - levels.n_non_relevant

    # The search ends in the level in which the number of relevant documents reaches the needed one.
    n_needed_of_level = n_needed[query]
    begins_short = relevant_before < n_needed_of_level
    ends_with_enough = relevant_to_level >= n_needed_of_level
    is_last = begins_short & ends_with_enough
    # In this level, which is in random order, r relevant documents divide the n others into r + 1
    # intervals of n / (r + 1) on average: the search passes one for each document still needed.
    still_needed = n_needed_of_level - relevant_before
    n_intervals = levels.n_relevant + 1.0
    passed_in_level = levels.n_non_relevant * still_needed / n_intervals
    length = non_relevant_before + passed_in_level
    n_queries = len(n_needed)
    return sums(query[is_last], length[is_last], n_queries)


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
    retrieved = _levels_of_retrieved(level, hits, positive)
    rest = _levels_of_rest(hits, positive, target, n_positive)
    query = np.append(retrieved.query, rest.query)
    n_relevant = np.append(retrieved.n_relevant, rest.n_relevant)
    n_non_relevant = np.append(retrieved.n_non_relevant, rest.n_non_relevant)
    # The stable order keeps the rest of a query behind its other levels.
    order = np.argsort(query, kind="stable")
    query_in_order = query[order]
    return _Levels(query_in_order, n_relevant[order], n_non_relevant[order])


def _levels_of_retrieved(level: Ints, hits: Hits, positive: Bools) -> _Levels:
    """Return the levels of retrieved documents, which are numbered from 0 over all queries.

    `level` is that of each retrieved document, by query and rank. Hits are the judged ones of
    these, and `positive` tells which judged documents are relevant.
    """
    last_level = int(level.max(initial=-1))
    n_levels = last_level + 1
    n_documents = np.bincount(level, minlength=n_levels)
    is_relevant_hit = positive[hits.row]
    relevant_hits = hits.select(is_relevant_hit)
    level_of_relevant = level[relevant_hits.retrieved_index]
    n_relevant = np.bincount(level_of_relevant, minlength=n_levels)
    n_non_relevant = n_documents - n_relevant
    # The query of a level is that of its first document.
    all_queries = np.arange(hits.n_queries)
    query_of_document = np.repeat(all_queries, hits.n_ret)
    first_document_of_level = heads(level)
    query = query_of_document[first_document_of_level]
    return _Levels(query, n_relevant, n_non_relevant)


def _levels_of_rest(hits: Hits, positive: Bools, target: Target, n_positive: Floats) -> _Levels:
    """Return one level of tied documents per query: its judged ones that were not retrieved.

    Their numbers are those of all judged documents, minus those of the hits.
    """
    query = np.arange(hits.n_queries)
    is_judged_hit = target.judged[hits.row]
    n_rest = target.total(target.judged) - hits.total(is_judged_hit)
    is_relevant_hit = positive[hits.row]
    n_relevant_rest = n_positive - hits.total(is_relevant_hit)
    n_relevant = n_relevant_rest.astype(np.intp)
    n_non_relevant = n_rest.astype(np.intp) - n_relevant
    return _Levels(query, n_relevant, n_non_relevant)
