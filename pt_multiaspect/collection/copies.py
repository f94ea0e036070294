"""Copies of topics, to evaluate rankings on many judgments of the same documents at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._cached import cached_property
from .._typing import Floats, Ints
from ..kernels.hits import Hits
from ..strings.order import Scores
from ..strings.texts import Texts
from .judgments import Judgments
from .rankings import Rankings
from .run import Run


class TopicCopies:
    """Copies of some topics, copy by copy, with labels of their own.

    Parameters
    ----------
    judgments : Judgments
        The judged pairs.
    topics : ndarray of int, shape (n_topics,)
        Positions of topics, increasing.
    number : int
        The number of copies.
    """

    def __init__(self, judgments: Judgments, topics: Ints, number: int) -> None:
        self.original, self.topics, self.number = judgments, topics, number
        #: The judged pairs of the topics.
        self.rows: Ints = np.flatnonzero(np.isin(judgments.pool_query, topics))

    def repeat(self, values: Ints, step: int) -> Ints:
        """Return integers once per copy, each copy `step` above the last."""
        return np.asarray((values + step * np.arange(self.number)[:, None]).ravel(), dtype=np.intp)

    def judgments(self, labels: Mapping[str, Floats]) -> Judgments:
        """Return the copies as judgments.

        Parameters
        ----------
        labels : mapping of str to ndarray, shape (n_copies, n_rows)
            The labels of each aspect, one row per copy and one column per element of `rows`.
        """
        query = np.searchsorted(self.topics, self.original.pool_query[self.rows])
        qids = self.original.qids[self.topics].tolist()
        return self.original.with_copies(
            np.tile(self.rows, self.number),
            self.repeat(query, len(self.topics)),
            np.array([f"{copy:09d}-{qid}" for copy in range(self.number) for qid in qids], dtype=object),
            {name: values.ravel() for name, values in labels.items()},
        )

    def rankings(self, rankings: Rankings, judgments: Judgments) -> Rankings:
        """Return the rankings of the copies, joined with their judgments."""
        return _CopiedRankings(self, rankings, judgments)


class _CopiedRankings(Rankings):
    """The rankings of copies of topics; documents are copied when they are read, which few measures do."""

    def __init__(self, copies: TopicCopies, original: Rankings, judgments: Judgments) -> None:
        self._copies, self._original = copies, original
        topics, hits = copies.topics, original.hits
        kept = np.flatnonzero(np.isin(hits.query, topics))
        self.hits = Hits(
            n_queries=judgments.n_queries,
            pool_query=judgments.pool_query,
            query=copies.repeat(np.searchsorted(topics, hits.query[kept]), len(topics)),
            rank=np.tile(hits.rank[kept], copies.number),
            row=copies.repeat(np.searchsorted(copies.rows, hits.row[kept]), len(copies.rows)),
            n_ret=np.tile(hits.n_ret[topics], copies.number),
        )
        self.judgments, self.n_common = judgments, judgments.n_queries

    @cached_property
    def _original_rows(self) -> Ints:
        """The rows of the original run, by query and rank."""
        order = self._original._order
        kept = np.isin(self._original._query[order], self._copies.topics)
        return np.tile(order[kept], self._copies.number)

    @cached_property
    def _query(self) -> Ints:
        return np.repeat(np.arange(self.judgments.n_queries), self.hits.n_ret)

    @cached_property
    def _scores(self) -> Scores:
        return self._original._scores[self._original_rows]

    @cached_property
    def _position(self) -> Ints:
        return np.arange(len(self._original_rows))

    @cached_property
    def _docnos(self) -> Texts:
        return self._original._docnos.take(self._original_rows)

    @cached_property
    def source(self) -> Run:
        """The copies as a run."""
        return Run(self.judgments.qids, self._query, self._docnos, self._scores.astype(np.float64))
