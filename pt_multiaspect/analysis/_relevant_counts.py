"""Extremes of bases that count relevant documents, over those of one topic that may be relevant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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

    @property
    def n_open_retrieved(self) -> int:
        """The number of retrieved documents whose label is not known."""
        return int(self.is_open.sum())


class _Choices(NamedTuple):
    """The relevant ones among the open documents, for several numbers of them."""

    #: A mask of the open documents that are chosen: numbers × retrieved documents.
    is_chosen: Bools
    #: How many of the chosen ones are not retrieved, one per number.
    n_not_retrieved: Ints


def extremes_by_number(base: Counting, documents: RetrievedDocuments) -> tuple[float, float]:
    """Return the lowest and the highest value of a base that prefers relevant documents early.

    The labels of *open* documents are not known. For each number of relevant ones among them, the
    value is highest if these are the first ones of the ranking, and lowest if they are not
    retrieved or, if these do not suffice, the last ones of the ranking.
    """
    n_open = documents.n_open_retrieved + documents.n_open_others
    all_numbers = np.arange(n_open + 1)  # from no open document is relevant to all are
    low = np.inf
    high = -np.inf
    # Memory limits how many numbers are tried at once: each has two masks of retrieved documents.
    size_of_masks = 2 * len(documents.is_open)
    for part in slices(len(all_numbers), width=size_of_masks, max_size=_BATCH):
        numbers = all_numbers[part]
        last_ones = _choose_last(documents, numbers)
        first_ones = _choose_first(documents, numbers)
        lowest_values = _values_of_choices(base, documents, last_ones)
        highest_values = _values_of_choices(base, documents, first_ones)
        low = min(low, lowest_values.min())
        high = max(high, highest_values.max())
    return float(low), float(high)


def _choose_last(documents: RetrievedDocuments, numbers: Ints) -> _Choices:
    """Choose numbers of open documents as the relevant ones, so that the value is the lowest.

    Those that are not retrieved are chosen first, then the last ones of the ranking.
    """
    n_not_retrieved = np.minimum(numbers, documents.n_open_others)
    n_last = numbers - n_not_retrieved
    # Number the open documents from the last one: open, not open, open -> 2, 1, 1.
    from_last_rank = documents.is_open[::-1]
    number_from_last = from_last_rank.cumsum()
    number_of_document = number_from_last[::-1]  # in the order of ranks again
    is_among_last = number_of_document <= n_last[:, None]
    is_chosen = documents.is_open & is_among_last
    return _Choices(is_chosen, n_not_retrieved)


def _choose_first(documents: RetrievedDocuments, numbers: Ints) -> _Choices:
    """Choose numbers of open documents as the relevant ones, so that the value is the highest.

    The first ones of the ranking are chosen, then those that are not retrieved.
    """
    n_first = np.minimum(numbers, documents.n_open_retrieved)
    n_not_retrieved = numbers - n_first
    # Number the open documents from the first one: open, not open, open -> 1, 1, 2.
    number_of_document = documents.is_open.cumsum()
    is_among_first = number_of_document <= n_first[:, None]
    is_chosen = documents.is_open & is_among_first
    return _Choices(is_chosen, n_not_retrieved)


def _values_of_choices(base: Counting, documents: RetrievedDocuments, choices: _Choices) -> Floats:
    """Return the value of the topic for each choice of relevant documents, shape (n_choices,).

    All are evaluated at once, as if each choice was a topic of its own.
    """
    # Documents that are not open are relevant in any case.
    is_relevant = choices.is_chosen | ~documents.is_open  # choices × retrieved documents
    n_relevant_retrieved = is_relevant.sum(axis=1)
    n_relevant_others = choices.n_not_retrieved + documents.n_relevant_others
    # Recall is a fraction of all relevant documents, also of those below the cutoff.
    n_relevant = n_relevant_retrieved + n_relevant_others
    if base.depth is None:
        ranking, target = _topics_of_choices(documents, is_relevant, documents.n_ret, n_relevant)
        return base.score(ranking, target)
    # With a cutoff, the ranking ends there.
    is_above_cutoff = documents.rank <= base.depth
    is_relevant_above = is_relevant & is_above_cutoff
    n_ret = min(documents.n_ret, base.depth)
    ranking, target = _topics_of_choices(documents, is_relevant_above, n_ret, n_relevant)
    return base.score(ranking, target)


def _topics_of_choices(
    documents: RetrievedDocuments, is_hit: Bools, n_ret: int, n_relevant: Ints
) -> tuple[Ranking, Target]:
    """Return a ranking and gains in which each choice of relevant documents is a topic.

    They have no other documents, as the base depends on relevant ones alone. A *hit* is a relevant
    document of the ranking.

    Parameters
    ----------
    documents : RetrievedDocuments
        The documents.
    is_hit : ndarray of bool, shape (n_choices, n_retrieved)
        A mask of the hits.
    n_ret : int
        The length of the ranking.
    n_relevant : ndarray of int, shape (n_choices,)
        The number of all relevant documents, also of those that are not in the ranking.
    """
    n_choices = len(is_hit)
    topic_of_hit, position_of_hit = np.nonzero(is_hit)
    n_hits = len(topic_of_hit)
    # The hits are all judged documents, so that hit number 0 is judged document number 0, and so on.
    ranking = Ranking(
        n_queries=n_choices,
        pool_query=topic_of_hit,  # of the judged documents
        query=topic_of_hit,  # of the hits
        rank=documents.rank[position_of_hit],
        row=np.arange(n_hits),  # the judged document that each hit is
        n_ret=np.full(n_choices, n_ret),
        run=documents.run,
    )
    target = _CountedTarget(
        n_queries=n_choices,
        query=topic_of_hit,
        gain=np.ones(n_hits),
        top=1.0,
        source=documents.source,
        number=n_relevant.astype(np.float64),
    )
    return ranking, target


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
