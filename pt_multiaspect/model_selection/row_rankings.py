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
from ..kernels.hits import Hits
from ..strings.order import inverse_permutation
from ..strings.texts import Texts
from .row_judgments import Pool, RowJudgments


class RowRankings(Rankings):
    """The rankings of all rows by their predictions, compared as 64-bit floats.

    Tied rows are in a fixed random order, which does not depend on labels.

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
        self.rows = rows
        scores = rows.pair_values(scores) + 0.0  # -0 and 0 are tied
        query = rows.pool_query
        #: The rows, query by query in the order of their ranks.
        self._ranked_rows: Ints = self._descending_order(scores)
        ranked = scores[self._ranked_rows]
        #: Whether each ranked row is tied with the next one.
        self.tied: Bools = (ranked[1:] == ranked[:-1]) & (query[1:] == query[:-1])
        self._break_ties()
        #: The rankings with all rows as hits.
        self._all_hits = Hits(rows.n_queries, query, query, rows.rank, self._ranked_rows, rows.n_ret)
        #: The position of each ranked row among the judged documents, -1 if it is not one of them.
        self._judged_rows: Ints = self._ranked_rows if pool is None else pool.position[self._ranked_rows]
        judgments: Judgments = rows
        hits = self._all_hits
        if pool is not None:
            judgments, known = pool.judgments, self._judged_rows >= 0
            hits = replace(hits.select(known), pool_query=judgments.pool_query, row=self._judged_rows[known])
        self._set_arrays(judgments, query, scores, inverse_permutation(self._ranked_rows), hits, rows.n_queries)

    def _break_ties(self) -> None:
        """Sort tied rows by their keys, whose drawing takes as long as the rest for a million rows."""
        if not self.tied.any():
            return
        tied = np.append(self.tied, False) | np.append(False, self.tied)
        group = np.cumsum(np.append(False, ~self.tied))[tied]
        rows = self._ranked_rows[tied]
        self._ranked_rows[tied] = rows[np.argsort(group * len(tied) + self.rows.tie_keys[rows])]

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
        return Run(self.rows.qids, self.rows.pool_query, self._docnos, np.asarray(self._scores, dtype=np.float64))

    @property
    def is_constant(self) -> bool:
        """Whether the predictions are equal in every query, and some query has two or more rows."""
        several = self.rows.n_ret.max(initial=0) > 1
        return bool(several and self.tied.sum() == len(self._ranked_rows) - np.count_nonzero(self.rows.n_ret))

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
            return super().compute_once(key, lambda: self._expected_value(base, base.additive(target)))
        return super().compute_once(key, make)

    def _expected_value(self, base: Any, form: Linear) -> Floats:
        """Return the value of a linear form if tied rows have the mean of their gains."""
        group = np.cumsum(np.append(False, ~self.tied))
        gain = np.append(np.asarray(form.gain, dtype=np.float64), form.unjudged)[self._judged_rows]
        mean = np.bincount(group, weights=gain) / np.bincount(group)
        shared = np.empty(len(gain))
        shared[self._ranked_rows] = mean[group]
        values: Floats = np.minimum(replace(form, gain=shared, unjudged=0.0).values(self._all_hits), base.RANGE[1])
        return values
