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
        self.rows = rows
        self._pool = pool
        # The sum with 0 turns -0 into 0, so that both are tied.
        pair_scores = rows.pair_values(scores) + 0.0
        ranked_rows = self._descending_order(pair_scores)
        ranked_scores = pair_scores[ranked_rows]
        has_equal_score = ranked_scores[1:] == ranked_scores[:-1]
        has_same_query = rows.pool_query[1:] == rows.pool_query[:-1]
        #: Whether each ranked row but the last is tied with the next one.
        self.tied: Bools = has_equal_score & has_same_query
        self._set_order(ranked_rows, pair_scores)

    def _set_order(self, ranked_rows: Ints, scores: Floats) -> None:
        """Set the arrays of the rankings.

        Parameters
        ----------
        ranked_rows : ndarray of int, shape (n_rows,)
            The rows, query by query in the order of their ranks.
        scores : ndarray of float, shape (n_rows,)
            The predictions, in the order of the judged pairs.
        """
        rows = self.rows
        query = rows.pool_query
        self._ranked_rows = ranked_rows
        #: The rankings with all rows as hits.
        self._all_hits = Hits(rows.n_queries, query, query, rows.rank, ranked_rows, rows.n_ret)
        #: The position of each ranked row among the judged documents, -1 if it is not one of them.
        self._judged_rows: Ints = ranked_rows
        judgments: Judgments = rows
        hits = self._all_hits
        if self._pool is not None:
            judgments = self._pool.judgments
            self._judged_rows = self._pool.position[ranked_rows]
            is_judged = self._judged_rows >= 0
            hits = replace(
                hits.select(is_judged),
                pool_query=judgments.pool_query,
                row=self._judged_rows[is_judged],
            )
        position = inverse_permutation(ranked_rows)
        self._set_arrays(judgments, query, scores, position, hits, rows.n_queries)

    def break_ties(self, measure: Measure) -> RowRankings:
        """Return the rankings for a measure with tied rows by docno, descending, or else in a random order.

        The random order follows from the query and the labels of the tied rows alone.
        """
        is_tied_with_next = np.append(self.tied, False)
        is_tied_with_previous = np.append(False, self.tied)
        is_tied = is_tied_with_next | is_tied_with_previous
        tied_rows = self._ranked_rows[is_tied]
        group = self._tie_groups[is_tied]
        # Only rows of the same group change places.
        if self.rows.has_documents:
            docno_position = self.rows.docno_positions[tied_rows]  # below the number of rows
            group_and_docno = group * len(self.rows) + docno_position
            order = np.argsort(group_and_docno, kind="stable")
        else:
            keys = self.rows.label_keys(measure)
            order = _shuffled_order(keys[tied_rows], group)
        ranked_rows = self._ranked_rows.copy()
        ranked_rows[is_tied] = tied_rows[order]
        rankings = copy(self)  # without the cached results
        scores = np.asarray(self._scores, dtype=np.float64)
        rankings._set_order(ranked_rows, scores)
        return rankings

    @property
    def _tie_groups(self) -> Ints:
        """One number per ranked row, equal for tied rows, from 0 in the order of the ranks."""
        # A group begins after each row that is not tied with the next one; the first one is 0.
        begins_next_group = np.append(False, ~self.tied)
        return np.cumsum(begins_next_group)

    def _descending_order(self, scores: Floats) -> Ints:
        """Return the rows by query, then by score, descending; rows with equal scores keep their order.

        The rows of a query are neighbours: `scores` are in the order of the judged pairs.
        """
        n_rows = len(scores)
        n_ret = self.rows.n_ret  # (n_queries,)
        n_queries = len(n_ret)
        longest = int(n_ret.max(initial=0))
        # A table with one row per query is sorted faster than by two keys, unless most of its
        # cells would be empty.
        n_cells = n_queries * longest
        is_mostly_empty = n_cells > 4 * n_rows
        if is_mostly_empty:
            return np.lexsort((-scores, self.rows.pool_query))
        # Empty cells, at the ends of the rows, are infinite: sorting leaves them there.
        table = np.full((n_queries, longest), np.inf)
        is_filled = np.arange(longest) < n_ret[:, None]
        table[is_filled] = -scores
        order_in_query: Ints = np.argsort(table, axis=1, kind="stable")[is_filled]
        # Positions within a query are counted from the first row of the query, at rank 1.
        first_row = np.arange(n_rows) - (self.rows.rank - 1)
        return first_row + order_in_query

    @cached_property
    def _docnos(self) -> Texts:
        return Texts.from_strings(self.rows.docnos)

    @cached_property
    def source(self) -> Run:
        """The rows as a run."""
        scores = np.asarray(self._scores, dtype=np.float64)
        return Run(self.rows.qids, self.rows.pool_query, self._docnos, scores)

    @property
    def is_constant(self) -> bool:
        """Whether the predictions are equal in every query, and some query has two or more rows."""
        if self.rows.n_ret.max(initial=0) < 2:
            return False
        # If all rows of a query are tied, each but the last is tied with the next one.
        n_rows_but_last = len(self._ranked_rows) - np.count_nonzero(self.rows.n_ret)
        return bool(self.tied.sum() == n_rows_but_last)

    @cached_property
    def expectation(self) -> RowRankings:
        """The same rankings, with expected values of linear bases over tied rows."""
        rankings = copy(self)  # without the cached results
        rankings._is_expectation = True
        return rankings

    def compute_once(self, key: Any, make: Any) -> Any:
        """Return the result of `make`, which is kept for later calls with an equal key.

        In an `expectation`, values of bases, with the key ("base", base, target), are expected
        values instead.
        """
        is_base_value = isinstance(key, tuple) and key[0] == "base"
        if not self._is_expectation or not is_base_value:
            return super().compute_once(key, make)

        def make_expected() -> Floats:
            _, base, target = key
            return self._expected_value(base, base.additive(target))

        return super().compute_once(key, make_expected)

    def _expected_value(self, base: Any, form: Linear) -> Floats:
        """Return the expected value of a linear form per query over all orders of tied rows.

        It is the value if tied rows have the mean of their gains.
        """
        group = self._tie_groups  # of each ranked row
        judged_gain = np.asarray(form.gain, dtype=np.float64)
        # Unjudged documents have the position -1, that of the last element.
        gain_by_position = np.append(judged_gain, form.unjudged)
        gain = gain_by_position[self._judged_rows]  # of each ranked row
        total_gain = np.bincount(group, weights=gain)
        n_tied = np.bincount(group)
        mean_gain = total_gain / n_tied  # (n_groups,)
        row_gain = np.empty(len(gain))
        row_gain[self._ranked_rows] = mean_gain[group]
        expected_form = replace(form, gain=row_gain, unjudged=0.0)
        # Rounding errors of the means may add up to more than the maximum of the base.
        maximum = base.RANGE[1]
        values: Floats = np.minimum(expected_form.values(self._all_hits), maximum)
        return values


def _shuffled_order(keys: Words, group: Ints) -> Ints:
    """Return the order by group, and within groups a random order that follows from the keys.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_tied,)
        A random number per tied row, equal for rows with equal labels.
    group : ndarray of int, shape (n_tied,)
        The group of each tied row, non-decreasing.
    """
    by_key = _order_within(group, keys)
    sorted_keys = keys[by_key]
    # Rows with equal keys would stay neighbours. They are numbered within their group, and all
    # rows are sorted again by another random number, which depends on the key and that number.
    has_other_key = sorted_keys[1:] != sorted_keys[:-1]
    has_other_group = group[1:] != group[:-1]
    starts_run = np.append(False, has_other_key | has_other_group)
    run_of_equal_keys = np.cumsum(starts_run)
    number_in_run = positions(run_of_equal_keys).astype(np.uint64)
    second_keys = mix_bits(sorted_keys + number_in_run)
    shuffled = _order_within(group, second_keys)
    order: Ints = by_key[shuffled]
    return order


def _order_within(group: Ints, keys: Words) -> Ints:
    """Return the order by `group`, which is non-decreasing, then by random keys.

    The group and as many bits of the key as there is space for form one word of 64 bits: sorting
    words that are sorted in part is several times faster than sorting by two keys.
    """
    largest_group = int(group[-1])
    n_group_bits = np.uint64(largest_group.bit_length())
    n_key_bits = np.uint64(64) - n_group_bits
    group_part = group.astype(np.uint64) << n_key_bits
    key_part = keys >> n_group_bits
    return np.argsort(group_part | key_part, kind="stable")
