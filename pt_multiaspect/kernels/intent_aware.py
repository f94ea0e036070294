"""Intent-aware measures: gains of rankings on the subtopics of documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from .._typing import Bools, Floats, Ints
from .hits import Hits, best_rows, positions, ratio
from .relevance import average_precision

Discount = Callable[[Ints], Floats]


def _sequences(hits: Hits, members: Bools) -> tuple[Ints, Ints, Ints]:
    """Return each pair of a hit and its subtopic, with the number of that subtopic's hits above."""
    subtopic, hit = np.nonzero(members[:, hits.row])
    n_above = positions(subtopic * hits.n_queries + hits.query[hit])
    return subtopic, hit, n_above


def alpha_dcg(hits: Hits, members: Bools, alpha: float, discount: Discount) -> Floats:
    """Return Σ_k discount(k) Σ_s (1 - alpha)^(hits of the subtopic s above rank k).

    The subtopics s are those of the hit at rank k.

    Parameters
    ----------
    hits : Hits
        The rankings.
    members : ndarray of bool, shape (n_subtopics, n_pool)
        Whether each judged document belongs to each subtopic.
    alpha : float in [0, 1]
        Redundancy intolerance.
    discount : callable
        A function of ranks, from 1.

    Returns
    -------
    ndarray of float, shape (n_queries,)
    """
    subtopic, hit, n_above = _sequences(hits, members)
    subtopic_gain = np.zeros((len(members), len(hits.row)))
    subtopic_gain[subtopic, hit] = (1.0 - alpha) ** n_above
    gain = reduce(np.add, subtopic_gain)
    return hits.total(gain * discount(hits.rank))


def full_gain(n_subtopics: Floats, alpha: float, discount: Discount, depth: int) -> Floats:
    """Return the gain of a ranking of `depth` documents, each of which belongs to all subtopics."""
    n_above = np.arange(depth)
    gain = (1.0 - alpha) ** n_above
    subtopic_gain = (gain * discount(n_above + 1)).sum()
    return np.asarray(n_subtopics * subtopic_gain, dtype=np.float64)


def greedy_ideal(hits: Hits, members: Bools, alpha: float, tie: Ints, cutoff: int | None) -> Hits:
    """Return a greedy ranking of the judged documents: the highest gain is next.

    Parameters
    ----------
    hits : Hits
        Any rankings of the same documents.
    members, alpha
        As in `alpha_dcg`.
    tie : ndarray of int, shape (n_pool,)
        Distinct numbers; of documents with equal gains, the one with the largest number is next.
    cutoff : int, optional
        The number of ranks.

    Returns
    -------
    Hits
        The rankings of the documents that belong to a subtopic.
    """
    query_of = hits.pool_query
    useful = np.flatnonzero(members.any(axis=0))
    order = useful[np.lexsort((-tie[useful], *members[:, useful], query_of[useful]))]
    # Documents of a query with the same subtopics are of one type, of which the first one is next.
    rows = np.vstack([query_of[order], members[:, order]])
    is_new_type = (np.diff(rows, axis=1, prepend=-1) != 0).any(axis=0)
    first = np.flatnonzero(is_new_type)
    end = np.append(first[1:], len(order))
    n_above = np.zeros((len(members), hits.n_queries))
    rank = 0
    chosen_rows: list[Ints] = [np.zeros(0, dtype=np.intp)]
    chosen_ranks: list[Ints] = [np.zeros(0, dtype=np.intp)]
    while len(first) and (cutoff is None or rank < cutoff):
        rank += 1
        head = order[first]
        query = query_of[head]
        belongs = members[:, head]  # (n_subtopics, n_types)
        subtopic_gain = (1.0 - alpha) ** n_above[:, query]
        gain = reduce(np.add, np.where(belongs, subtopic_gain, 0.0))
        best = best_rows(query, gain, hits.n_queries, tie[head])
        n_above[:, query[best]] += belongs[:, best]
        chosen_rows.append(head[best])
        chosen_ranks.append(np.full(len(best), rank, dtype=np.intp))
        first[best] += 1
        is_left = first < end
        first = first[is_left]
        end = end[is_left]
    row = np.concatenate(chosen_rows)
    row_rank = np.concatenate(chosen_ranks)
    return Hits.of_rows(hits.n_queries, query_of, row, row_rank)


def n_subtopics(hits: Hits, members: Bools) -> Floats:
    """Return the number of subtopics with documents, per query."""
    has_documents = np.stack([hits.total(member, hits.pool_query) > 0 for member in members])
    return np.asarray(has_documents.sum(axis=0), dtype=np.float64)


def recall(hits: Hits, members: Bools) -> Floats:
    """Return the fraction of the subtopics that the hits belong to."""
    _, hit, n_above = _sequences(hits, members)
    n_found = hits.total(n_above == 0, hits.query[hit])
    return ratio(n_found, n_subtopics(hits, members))


def precisions(hits: Hits, members: Bools, cutoff: int) -> Floats:
    """Return the precision at the cutoff, averaged over subtopics."""
    n_subtopics_of_hit = members[:, hits.row].sum(axis=0)
    n_relevant = hits.total(n_subtopics_of_hit)
    return ratio(n_relevant, cutoff * n_subtopics(hits, members))


def average_precisions(hits: Hits, members: Bools) -> Floats:
    """Return the average precision, averaged over subtopics."""
    values = []
    for member in members:
        n_relevant = hits.total(member, hits.pool_query)
        values.append(average_precision(hits, member, n_relevant))
    return ratio(reduce(np.add, values), n_subtopics(hits, members))
