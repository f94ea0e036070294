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
    """Return each pair of a hit and its subtopic, with the number of hits of that subtopic above it."""
    subtopic, hit = np.nonzero(members[:, hits.row])
    return subtopic, hit, positions(subtopic * hits.n_queries + hits.query[hit])


def alpha_dcg(hits: Hits, members: Bools, alpha: float, discount: Discount) -> Floats:
    """Return Σ_k discount(k) Σ_s (1 - alpha)^(hits of the subtopic s above rank k), s the subtopics of the hit.

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
    subtopic, hit, above = _sequences(hits, members)
    gain = np.zeros((len(members), len(hits.row)))
    gain[subtopic, hit] = (1.0 - alpha) ** above
    return hits.total(reduce(np.add, gain) * discount(hits.rank))


def full_gain(n_subtopics: Floats, alpha: float, discount: Discount, depth: int) -> Floats:
    """Return the gain of a ranking of `depth` documents, each of which belongs to all subtopics."""
    above = np.arange(depth)
    return np.asarray(
        n_subtopics * ((1.0 - alpha) ** above * discount(above + 1)).sum(), dtype=np.float64
    )


def greedy_ideal(hits: Hits, members: Bools, alpha: float, tie: Ints, cutoff: int | None) -> Hits:
    """Return a greedy ranking of the judged documents, which places the document with the highest gain next.

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
    first = np.flatnonzero((np.diff(rows, axis=1, prepend=-1) != 0).any(axis=0))
    end = np.append(first[1:], len(order))
    above = np.zeros((len(members), hits.n_queries))
    chosen_rows: list[Ints] = []
    while len(first) and (cutoff is None or len(chosen_rows) < cutoff):
        head = order[first]
        query, belongs = query_of[head], members[:, head]
        gain = reduce(np.add, np.where(belongs, (1.0 - alpha) ** above[:, query], 0.0))
        best = best_rows(query, gain, hits.n_queries, tie[head])
        above[:, query[best]] += belongs[:, best]
        chosen_rows.append(head[best])
        first[best] += 1
        first, end = first[first < end], end[first < end]
    row = np.concatenate([np.zeros(0, dtype=np.intp), *chosen_rows])
    rank = np.repeat(np.arange(1, len(chosen_rows) + 1), [len(rows) for rows in chosen_rows])
    return Hits.of_rows(hits.n_queries, query_of, row, rank)


def n_subtopics(hits: Hits, members: Bools) -> Floats:
    """Return the number of subtopics with documents, per query."""
    has_documents = np.stack([hits.total(member, hits.pool_query) > 0 for member in members])
    return np.asarray(has_documents.sum(axis=0), dtype=np.float64)


def recall(hits: Hits, members: Bools) -> Floats:
    """Return the fraction of the subtopics that the hits belong to."""
    _, hit, above = _sequences(hits, members)
    return ratio(hits.total(above == 0, hits.query[hit]), n_subtopics(hits, members))


def precisions(hits: Hits, members: Bools, cutoff: int) -> Floats:
    """Return the precision at the cutoff, averaged over subtopics."""
    return ratio(hits.total(members[:, hits.row].sum(axis=0)), cutoff * n_subtopics(hits, members))


def average_precisions(hits: Hits, members: Bools) -> Floats:
    """Return the average precision, averaged over subtopics."""
    values = [
        average_precision(hits, member, hits.total(member, hits.pool_query)) for member in members
    ]
    return ratio(reduce(np.add, values), n_subtopics(hits, members))
