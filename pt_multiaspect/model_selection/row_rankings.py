"""Rows of training data as rankings by predictions, with ties."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from ..collection import Judgments, Rankings, Run
from ..kernels.forms import Linear
from ..kernels.hits import Hits, positions
from ..measures import Measure
from ..strings.order import inverse_permutation
from ..strings.texts import Texts, Words, mix_bits
from .row_judgments import Pool, RowJudgments


class RowRankings(Rankings):
    """The rankings of all rows by their predictions, compared as 64-bit floats.

    Tied rows are in the order of the rows: measures evaluate `expectation`, or the result of
    `break_ties`.

    Parameters
    ----------
    rows : RowJudgments
        The rows.
    scores : ndarray of float, shape (n_rows,)
        The predictions, in the order of the rows.
    pool : Pool, optional
        The judged documents, if they are not those of the rows.
    """

    #: Whether linear bases have their expected value over all orders of tied rows.
    _is_expectation = False

    def __init__(self, rows: RowJudgments, scores: Floats, pool: Pool | None = None) -> None:
        self.rows, self._pool = rows, pool
        scores = rows.pair_values(scores) + 0.0  # -0 and 0 are tied
        query = rows.pool_query
        ranked_rows = self._descending_order(scores)
        ranked = scores[ranked_rows]
        #: Whether each ranked row is tied with the next one.
        self.tied: Bools = (ranked[1:] == ranked[:-1]) & (query[1:] == query[:-1])
        self._set_order(ranked_rows, scores)

    def _set_order(self, ranked_rows: Ints, scores: Floats) -> None:
        """Set the arrays of the rankings from the rows, query by query in the order of their ranks."""
        rows, pool = self.rows, self._pool
        query = rows.pool_query
        self._ranked_rows = ranked_rows
        #: The rankings with all rows as hits.
        self._all_hits = Hits(rows.n_queries, query, query, rows.rank, ranked_rows, rows.n_ret)
        #: The position of each ranked row among the judged documents, -1 if it is not one of them.
        if pool is None:
            self._judged_rows: Ints = ranked_rows
        else:
            self._judged_rows = pool.position[ranked_rows]
        judgments: Judgments = rows
        hits = self._all_hits
        if pool is not None:
            judgments, known = pool.judgments, self._judged_rows >= 0
            hits = replace(
                hits.select(known), pool_query=judgments.pool_query, row=self._judged_rows[known]
            )
        self._set_arrays(
            judgments, query, scores, inverse_permutation(ranked_rows), hits, rows.n_queries
        )

    def break_ties(self, measure: Measure) -> RowRankings:
        """Return the rankings for a measure with tied rows by docno, descending, or else in a random order.

        The random order follows from the query and the labels of the tied rows alone.
        """
        is_tied = np.append(self.tied, False) | np.append(False, self.tied)
        tied_rows = self._ranked_rows[is_tied]
        group = self._tie_groups[is_tied]
        if self.rows.has_documents:
            order = np.argsort(
                group * len(self.rows) + self.rows.docno_positions[tied_rows], kind="stable"
            )
        else:
            order = _shuffled_order(self.rows.label_keys(measure)[tied_rows], group)
        ranked_rows = self._ranked_rows.copy()
        ranked_rows[is_tied] = tied_rows[order]
        result = copy(self)  # without the cached results
        result._set_order(ranked_rows, np.asarray(self._scores, dtype=np.float64))
        return result

    @property
    def _tie_groups(self) -> Ints:
        """One number per ranked row, equal for tied rows."""
        return np.cumsum(np.append(False, ~self.tied))

    def _descending_order(self, scores: Floats) -> Ints:
        """Return the stable order of the scores within queries, which are contiguous."""
        n_ret, rank = self.rows.n_ret, self.rows.rank
        width = int(n_ret.max(initial=0))
        if len(n_ret) * width > 4 * len(scores):
            return np.lexsort((-scores, self.rows.pool_query))
        # Sorting the rows of a matrix is faster than sorting by two keys.
        table = np.full((len(n_ret), width), np.inf)
        filled = np.arange(width) < n_ret[:, None]
        table[filled] = -scores
        order: Ints = np.argsort(table, axis=1, kind="stable")[filled]
        begins = np.arange(len(rank)) - rank + 1
        return order + begins

    @cached_property
    def _docnos(self) -> Texts:
        return Texts.from_strings(self.rows.docnos)

    @cached_property
    def source(self) -> Run:
        """The rows as a run."""
        return Run(
            self.rows.qids,
            self.rows.pool_query,
            self._docnos,
            np.asarray(self._scores, dtype=np.float64),
        )

    @property
    def is_constant(self) -> bool:
        """Whether the predictions are equal in every query, and some query has two or more rows."""
        several = self.rows.n_ret.max(initial=0) > 1
        return bool(
            several
            and self.tied.sum() == len(self._ranked_rows) - np.count_nonzero(self.rows.n_ret)
        )

    @cached_property
    def expectation(self) -> RowRankings:
        """The same rankings, with expected values of linear bases over tied rows."""
        result = copy(self)  # without the cached results
        result._is_expectation = True
        return result

    def compute_once(self, key: Any, make: Any) -> Any:
        """Return the result of `make`, or the expected value of a linear base."""
        if self._is_expectation and isinstance(key, tuple) and key[0] == "base":
            _, base, target = key
            return super().compute_once(
                key, lambda: self._expected_value(base, base.additive(target))
            )
        return super().compute_once(key, make)

    def _expected_value(self, base: Any, form: Linear) -> Floats:
        """Return the value of a linear form if tied rows have the mean of their gains."""
        group = self._tie_groups
        gain = np.append(np.asarray(form.gain, dtype=np.float64), form.unjudged)[self._judged_rows]
        mean = np.bincount(group, weights=gain) / np.bincount(group)
        shared = np.empty(len(gain))
        shared[self._ranked_rows] = mean[group]
        values: Floats = np.minimum(
            replace(form, gain=shared, unjudged=0.0).values(self._all_hits), base.RANGE[1]
        )
        return values


def _shuffled_order(keys: Words, group: Ints) -> Ints:
    """Return the order by `group`, which is sorted, and within groups a random order that follows from the keys.

    Rows of equal keys are numbered, as they would otherwise be neighbours.
    """
    by_key = _order_within(group, keys)
    keys = keys[by_key]
    is_new = (keys[1:] != keys[:-1]) | (group[1:] != group[:-1])
    number = positions(np.cumsum(np.append(False, is_new)))
    shuffled: Ints = by_key[_order_within(group, mix_bits(keys + number.astype(np.uint64)))]
    return shuffled


def _order_within(group: Ints, keys: Words) -> Ints:
    """Return the order by `group`, which is sorted, then by those bits of random keys that one word has space for.

    Sorting words that are sorted in part is several times faster than sorting by two keys.
    """
    n_bits = np.uint64(int(group[-1]).bit_length())
    words = (group.astype(np.uint64) << (np.uint64(64) - n_bits)) | (keys >> n_bits)
    return np.argsort(words, kind="stable")
