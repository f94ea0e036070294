"""Extremes of bases that count relevant documents, over those of one topic that may be relevant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Bools, Floats, Ints
from ..bases.precision import Counting
from ..collection import Ranking, Rankings
from ..kernels.target import Source, Target
from ._significance import slices

#: The number of array elements that are computed at a time.
_BATCH = 1 << 20


@dataclass(frozen=True, eq=False)
class RetrievedDocuments:
    """The documents of one topic that may be relevant, and whether the run retrieves them."""

    run: Rankings
    #: The origin of the gains.
    source: Source
    #: The ranks of those that are retrieved, increasing, and the number of all retrieved documents.
    rank: Ints
    n_ret: int
    #: A mask of the retrieved ones whose label is not known; the others are relevant.
    is_open: Bools
    #: The number of relevant documents that are not retrieved, and of those that may be relevant.
    n_relevant_others: int
    n_open_others: int


def extremes_by_number(base: Counting, documents: RetrievedDocuments) -> tuple[float, float]:
    """Return the lowest and the highest value of a base that prefers relevant documents early.

    The labels of *open* documents are not known. For each number of relevant ones among them, the
    value is highest if these are the first ones of the ranking, and lowest if they are not
    retrieved or, if these do not suffice, the last ones of the ranking.
    """
    n_open = int(documents.is_open.sum()) + documents.n_open_others
    n_retrieved = len(documents.is_open)
    low = np.inf
    high = -np.inf
    for part in slices(n_open + 1, 2 * n_retrieved, _BATCH):
        number = np.arange(part.start, part.stop)  # of relevant documents among the open ones
        is_chosen_lowest, n_others_lowest = _choose_last(documents, number)
        is_chosen_highest, n_others_highest = _choose_first(documents, number)

        # Evaluate two copies of the topic per number, that of the lowest and of the highest value.
        is_chosen = np.concatenate([is_chosen_lowest, is_chosen_highest])  # copies × documents
        n_chosen_others = np.append(n_others_lowest, n_others_highest)
        # Documents that are not open are relevant in any case.
        is_relevant = is_chosen | ~documents.is_open
        n_others = n_chosen_others + documents.n_relevant_others
        values = _evaluate_copies(base, documents, is_relevant, n_others)
        low = min(low, values.min())
        high = max(high, values.max())
    return float(low), float(high)


def _choose_last(documents: RetrievedDocuments, number: Ints) -> tuple[Bools, Ints]:
    """Choose the relevant ones of the open documents for the lowest value.

    Those that are not retrieved are chosen first, then the last ones of the ranking.

    Parameters
    ----------
    documents : RetrievedDocuments
        The documents.
    number : ndarray of int, shape (n_copies,)
        How many are chosen.

    Returns
    -------
    is_last : ndarray of bool, shape (n_copies, n_retrieved)
        Whether a retrieved document is chosen, if it is open.
    n_not_retrieved : ndarray of int, shape (n_copies,)
        How many of the chosen ones are not retrieved.
    """
    n_not_retrieved = np.minimum(number, documents.n_open_others)
    n_last = number - n_not_retrieved
    n_open_before = documents.is_open.sum() - n_last
    is_last = _open_positions(documents) >= n_open_before[:, None]
    return is_last, n_not_retrieved


def _choose_first(documents: RetrievedDocuments, number: Ints) -> tuple[Bools, Ints]:
    """Choose the relevant ones of the open documents for the highest value.

    The first ones of the ranking are chosen, then those that are not retrieved. Parameters and
    results are those of `_choose_last`.
    """
    n_open_hits = documents.is_open.sum()
    n_first = np.minimum(number, n_open_hits)
    n_not_retrieved = number - n_first
    is_first = _open_positions(documents) < n_first[:, None]
    return is_first, n_not_retrieved


def _open_positions(documents: RetrievedDocuments) -> Ints:
    """Return the position of each open document among the open ones: 0 for the first.

    Other documents have any position: open, not open, open -> 0, 0, 1.
    """
    return np.asarray(np.cumsum(documents.is_open) - 1)


def _evaluate_copies(
    base: Counting, documents: RetrievedDocuments, is_relevant: Bools, n_others: Ints
) -> Floats:
    """Return the value of each copy of a topic, given the relevant documents in it.

    Parameters
    ----------
    base : Counting
        The base.
    documents : RetrievedDocuments
        The documents.
    is_relevant : ndarray of bool, shape (n_copies, n_documents)
        A mask of the relevant ones.
    n_others : ndarray of int, shape (n_copies,)
        The number of relevant documents that are not retrieved.
    """
    n_copies = len(is_relevant)
    # All relevant documents count for recall, also those below the cutoff.
    n_relevant = is_relevant.sum(axis=1) + n_others
    rank = documents.rank
    n_ret = documents.n_ret
    if base.depth is not None:
        is_above_cutoff = rank <= base.depth
        rank = rank[is_above_cutoff]
        is_relevant = is_relevant[:, is_above_cutoff]
        n_ret = min(n_ret, base.depth)

    # The base depends on relevant documents alone. So a copy is a query with no other documents:
    # each of them, a "hit", is both one element of the ranking and one judged document.
    copy_of_hit, column_of_hit = np.nonzero(is_relevant)
    n_hits = len(copy_of_hit)
    judged_document_of_hit = np.arange(n_hits)
    n_ret_of_copy = np.full(n_copies, n_ret)
    ranking = Ranking(
        n_queries=n_copies,
        pool_query=copy_of_hit,
        query=copy_of_hit,
        rank=rank[column_of_hit],
        row=judged_document_of_hit,
        n_ret=n_ret_of_copy,
        run=documents.run,
    )
    target = _CountedTarget(
        n_queries=n_copies,
        query=copy_of_hit,
        gain=np.ones(n_hits),
        top=1.0,
        source=documents.source,
        number=n_relevant.astype(np.float64),
    )
    return base.score(ranking, target)


@dataclass(frozen=True, eq=False)
class _CountedTarget(Target):
    """A target of the retrieved relevant documents, with the number of all of them per topic."""

    number: Floats | None = None

    def relevant(self, rel: float | None) -> Bools:
        """Return a mask of all documents: the threshold was applied to their labels."""
        return np.ones(len(self.query), dtype=np.bool_)

    def n_relevant(self, rel: float | None) -> Floats:
        """Return the number of all relevant documents per query.

        The threshold `rel` was applied before these were counted.
        """
        assert self.number is not None
        return self.number
