"""Intent-aware measures: gains of rankings on the subtopics of documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints
from .hits import Hits, best_rows, descending, heads, positions, ratio, row_keys
from .relevance import average_precision

Discount = Callable[[Ints], Floats]


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
    # A matrix of the terms of the inner sum: 0 where the hit does not belong to the subtopic.
    n_hits = len(hits.row)
    shape = (len(members), n_hits)
    gain_on_subtopic = np.zeros(shape)
    pairs = _subtopic_hits(hits, members)
    gain_on_subtopic[pairs.subtopic, pairs.hit] = (1.0 - alpha) ** pairs.n_above
    gain = _sum_subtopics(gain_on_subtopic)  # of each hit
    discounted_gain = gain * discount(hits.rank)
    return hits.total(discounted_gain)


class _SubtopicHits(NamedTuple):
    """Pairs of a hit and a subtopic of its document, sorted by subtopic, query and rank."""

    subtopic: Ints
    #: The index of the hit.
    hit: Ints
    #: The number of hits above that have the same subtopic and query.
    n_above: Ints


def _subtopic_hits(hits: Hits, members: Bools) -> _SubtopicHits:
    """Return each pair of a hit and a subtopic of its document.

    `members` tells which judged documents belong to each subtopic, shape (n_subtopics, n_pool).
    """
    members_of_hits = members[:, hits.row]  # (n_subtopics, n_hits)
    # `nonzero` sorts the pairs by subtopic, then by hit. As hits are sorted by query and rank, the
    # pairs of one query and subtopic are adjacent, and in the order of their ranks.
    subtopic, hit = np.nonzero(members_of_hits)
    query = hits.query[hit]
    query_and_subtopic = subtopic * hits.n_queries + query  # one number for both
    # The position of a pair among those, from 0, is the number of such hits above it.
    n_above = positions(query_and_subtopic)
    return _SubtopicHits(subtopic, hit, n_above)


def _sum_subtopics(values: Floats | Sequence[Floats]) -> Floats:
    """Return the sums of values over subtopics: one array per subtopic becomes one array."""
    # `numpy.sum` adds in an order that depends on the shape, so that rounding errors would, too.
    return reduce(np.add, values)


def full_gain(n_subtopics: Floats, alpha: float, discount: Discount, depth: int) -> Floats:
    """Return the gain of a ranking of `depth` documents, each of which belongs to all subtopics."""
    n_above = np.arange(depth)
    rank = n_above + 1
    gain = (1.0 - alpha) ** n_above
    gain_per_subtopic = (gain * discount(rank)).sum()
    gain = n_subtopics * gain_per_subtopic
    return np.asarray(gain, dtype=np.float64)


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
    pool_query = hits.pool_query  # of each judged document
    n_documents = len(pool_query)
    last_rank = n_documents
    if cutoff is not None:
        last_rank = cutoff
    rank_of_document = np.zeros(n_documents, dtype=np.intp)  # 0: not ranked
    n_above = np.zeros((len(members), hits.n_queries))  # ranked documents on each subtopic
    # Documents with the same query and subtopics have equal gains at each rank, so they wait in a
    # queue, and only the first ones of the queues are compared. Each round ranks one document of
    # each query.
    queues = _document_queues(pool_query, members, tie)
    rank = 0
    while queues.has_documents and rank < last_rank:
        rank += 1
        candidates = queues.fronts()  # one document per queue
        query = pool_query[candidates]
        gain = _gains_of_next(members[:, candidates], n_above[:, query], alpha)
        best_queues = best_rows(query, gain, hits.n_queries, tie[candidates])  # one per query
        documents = candidates[best_queues]
        rank_of_document[documents] = rank
        n_above[:, pool_query[documents]] += members[:, documents]
        queues.remove_fronts(best_queues)
    ranked = np.flatnonzero(rank_of_document > 0)
    return Hits.of_rows(hits.n_queries, pool_query, ranked, rank_of_document[ranked])


def _gains_of_next(is_member: Bools, n_above: Floats, alpha: float) -> Floats:
    """Return the gain of each candidate for the next rank, shape (n_candidates,).

    It is the sum of (1 - alpha)^(documents above) over the subtopics of the candidate. `is_member`
    and `n_above`, the documents above on each subtopic, have the shape (n_subtopics, n_candidates).
    """
    subtopic_gain = (1.0 - alpha) ** n_above
    gain_of_members = np.where(is_member, subtopic_gain, 0.0)
    return _sum_subtopics(gain_of_members)


@dataclass
class _DocumentQueues:
    """Queues of documents; those of a queue have the same query and subtopics.

    Documents of a queue have equal gains, so that only the first ones of the queues are compared.
    """

    #: The documents of all queues, one queue after the other.
    documents: Ints
    #: The index of the first document of each queue, and the index after its last one.
    start: Ints
    end: Ints

    @property
    def has_documents(self) -> bool:
        """Return whether a document is left in some queue."""
        return len(self.start) > 0

    def fronts(self) -> Ints:
        """Return the first document of each queue."""
        return self.documents[self.start]

    def remove_fronts(self, queues: Ints) -> None:
        """Remove the first document of each of the given queues, and the queues without others."""
        self.start[queues] += 1
        is_left = self.start < self.end
        self.start = self.start[is_left]
        self.end = self.end[is_left]


def _document_queues(query: Ints, members: Bools, tie: Ints) -> _DocumentQueues:
    """Return queues of the documents with a subtopic; within a queue, the largest tie is first.

    `query`, `members` and `tie` are of the judged documents, as in `greedy_ideal`.
    """
    has_subtopic = members.any(axis=0)
    useful = np.flatnonzero(has_subtopic)
    queue = _queue_numbers(query[useful], members[:, useful])
    # Sort by queue, then by decreasing tie: queues are adjacent blocks.
    order = descending(queue, tie[useful])
    documents = useful[order]
    start = heads(queue[order])
    end = np.append(start[1:], len(documents))  # where the next one starts
    return _DocumentQueues(documents, start, end)


def _queue_numbers(query: Ints, members: Bools) -> Ints:
    """Return a number per document, equal for documents with the same query and subtopics.

    `members` has the shape (n_subtopics, n_documents).
    """
    is_member = members.astype(np.intp)  # 0 or 1
    properties = np.vstack([is_member, query])
    # One size per property, above all its values.
    last_query = int(query.max(initial=-1))
    sizes = [2] * len(members)
    sizes.append(last_query + 1)
    return row_keys(properties.T, sizes)


def n_subtopics(hits: Hits, members: Bools) -> Floats:
    """Return the number of subtopics with documents, per query."""
    number = np.zeros(hits.n_queries)
    for is_member in members:
        n_documents = hits.total(is_member, hits.pool_query)
        number += n_documents > 0
    return number


def recall(hits: Hits, members: Bools) -> Floats:
    """Return the fraction of the subtopics that the hits belong to, per query."""
    pairs = _subtopic_hits(hits, members)
    query_of_pair = hits.query[pairs.hit]
    # Each subtopic is counted once, at its first hit: no hit on it is above.
    is_first_of_subtopic = pairs.n_above == 0
    n_found = hits.total(is_first_of_subtopic, query_of_pair)
    n_of_query = n_subtopics(hits, members)
    return ratio(n_found, n_of_query)


def precisions(hits: Hits, members: Bools, cutoff: int) -> Floats:
    """Return the precision at the cutoff, averaged over subtopics, per query.

    `hits` are those down to the cutoff only.
    """
    members_of_hits = members[:, hits.row]
    n_subtopics_of_hit = members_of_hits.sum(axis=0)
    # The mean over subtopics of relevant hits / cutoff, as one fraction.
    n_relevant = hits.total(n_subtopics_of_hit)  # summed over subtopics
    n_ranks = cutoff * n_subtopics(hits, members)
    return ratio(n_relevant, n_ranks)


def average_precisions(hits: Hits, members: Bools) -> Floats:
    """Return the average precision, averaged over the subtopics with documents, per query."""
    precision_by_subtopic = []
    for is_member in members:
        # `hits.pool_query` is the query of each judged document.
        n_relevant = hits.total(is_member, hits.pool_query)
        precision_of_queries = average_precision(hits, is_member, n_relevant)
        precision_by_subtopic.append(precision_of_queries)
    # A subtopic without documents in a query adds 0, and does not count.
    sum_of_precisions = _sum_subtopics(precision_by_subtopic)
    return ratio(sum_of_precisions, n_subtopics(hits, members))
