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
    """Return the extremes of a base that prefers relevant documents early.

    For each number of relevant documents among the open ones, these are the first ones of the
    ranking for the high end, and for the low end, those that are not retrieved, then the last ones.
    """
    n_open = int(documents.is_open.sum())
    n_all = n_open + documents.n_open_others
    position = np.cumsum(documents.is_open) - 1  # of each document among the open ones
    low = np.inf
    high = -np.inf
    for part in slices(n_all + 1, 2 * len(position), _BATCH):
        number = np.arange(part.start, part.stop)
        is_last = position >= n_all - number[:, None]  # numbers × documents
        is_first = position < number[:, None]
        n_last_others = np.minimum(number, documents.n_open_others)
        n_first_others = np.maximum(number - n_open, 0)
        is_relevant = np.concatenate([is_last, is_first]) | ~documents.is_open
        n_others = np.append(n_last_others, n_first_others) + documents.n_relevant_others
        values = _evaluate_copies(base, documents, is_relevant, n_others)
        low = min(low, values.min())
        high = max(high, values.max())
    return float(low), float(high)


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
    n_relevant = is_relevant.sum(axis=1) + n_others
    rank = documents.rank
    n_ret = documents.n_ret
    if base.depth is not None:
        is_relevant = is_relevant[:, rank <= base.depth]
        n_ret = min(n_ret, base.depth)
    # The base depends on the relevant documents alone.
    copy, column = np.nonzero(is_relevant)
    row = np.arange(len(copy))
    n_ret_of_copy = np.full(n_copies, n_ret)
    ranking = Ranking(n_copies, copy, copy, rank[column], row, n_ret_of_copy, documents.run)
    gain = np.ones(len(copy))
    number = n_relevant.astype(np.float64)
    target = _CountedTarget(n_copies, copy, gain, 1.0, documents.source, number=number)
    return base.score(ranking, target)


@dataclass(frozen=True, eq=False)
class _CountedTarget(Target):
    """A target of the retrieved relevant documents, with the number of all of them per topic."""

    number: Floats | None = None

    def relevant(self, rel: float | None) -> Bools:
        """Return a mask of all documents: the threshold was applied to their labels."""
        return np.ones(len(self.query), dtype=np.bool_)

    def n_relevant(self, rel: float | None) -> Floats:
        """Return the number of all relevant documents per query."""
        assert self.number is not None
        return self.number
