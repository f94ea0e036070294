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
from ..strings.order import inverse_permutation, query_starts
from ..strings.texts import Texts, Words, mix_bits
from .row_judgments import Pool, RowJudgments, values_at


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
        #: Whether each ranked row but the last is tied with the next one.
        self.tied: Bools = self._find_ties(pair_scores[ranked_rows])
        self._set_order(ranked_rows, pair_scores)

    def _find_ties(self, ranked_scores: Floats) -> Bools:
        """Return whether each ranked row but the last has the score and query of the next one."""
        # Ranking moves rows within their queries, so the n-th ranked row has the query of the n-th
        # row.
        ranked_query = self.rows.pool_query
        has_equal_score = ranked_scores[:-1] == ranked_scores[1:]
        has_same_query = ranked_query[:-1] == ranked_query[1:]
        are_tied: Bools = has_equal_score & has_same_query
        return are_tied

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
        query = rows.pool_query  # of the rows, and of the ranked rows, as both are sorted by query
        self._ranked_rows = ranked_rows
        #: The rankings with all rows as hits.
        self._all_hits = Hits(
            n_queries=rows.n_queries,
            pool_query=query,
            query=query,
            rank=rows.rank,
            row=ranked_rows,
            n_ret=rows.n_ret,
        )
        judgments: Judgments
        if self._pool is None:
            # All rows are judged documents, and no others.
            judgments = rows
            hits = self._all_hits
            judged_rows = ranked_rows
        else:
            judgments = self._pool.judgments
            judged_rows = self._pool.position[ranked_rows]
            hits = _judged_hits(self._all_hits, judged_rows, judgments)
        #: The position of each ranked row among the judged documents, -1 if it is not one of them.
        self._judged_rows = judged_rows
        rank_position = inverse_permutation(ranked_rows)  # of each row in `ranked_rows`
        self._set_arrays(judgments, query, scores, rank_position, hits, rows.n_queries)

    def break_ties(self, measure: Measure) -> RowRankings:
        """Return the rankings with tied rows by docno, descending, or in a random order.

        The order is random if documents have no names. It follows from the query and the labels of
        the tied rows for the measure alone.
        """
        all_groups = self._tie_groups  # one number per ranked row
        group_sizes = np.bincount(all_groups)
        is_tied = group_sizes[all_groups] > 1
        tied_rows = self._ranked_rows[is_tied]
        group = all_groups[is_tied]
        # Both orders are by group first, so that rows only change places within their group.
        if self.rows.has_documents:
            # Positions count from the last docno, so that this order is descending by docno.
            docno_position = self.rows.docno_positions[tied_rows]
            order = np.lexsort((docno_position, group))  # the last key comes first
        else:
            keys = self.rows.label_keys(measure)
            order = _shuffled_order(keys[tied_rows], group)
        ranked_rows = self._ranked_rows.copy()
        ranked_rows[is_tied] = tied_rows[order]
        rankings = copy(self)  # of this class without cached results
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
        """Return the rows by query, then by score, descending; tied rows keep their order.

        The rows of a query are neighbours: `scores` are in the order of the judged pairs.
        """
        # A table with one line per query is sorted faster than by two keys, unless most of its
        # cells would be empty.
        n_queries = self.rows.n_queries
        longest = int(self.rows.n_ret.max(initial=0))  # the most rows of a query
        n_cells = n_queries * longest
        is_mostly_empty = n_cells > 4 * len(scores)
        if is_mostly_empty:
            return np.lexsort((-scores, self.rows.pool_query))
        return self._order_by_table(scores, longest)

    def _order_by_table(self, scores: Floats, longest: int) -> Ints:
        """Return the order of `_descending_order`, by sorting the lines of a table.

        A line has the scores of a query; `longest` is the number of rows of the longest query.
        """
        n_ret = self.rows.n_ret  # the number of rows of each query
        is_filled = np.arange(longest) < n_ret[:, None]  # (n_queries, longest)
        # Scores are negated, as sorting is ascending. The cells at the end of shorter lines are
        # infinite, so that sorting leaves them there, and `is_filled` holds afterwards, too.
        table = np.full(is_filled.shape, np.inf)
        table[is_filled] = -scores
        sorted_columns = np.argsort(table, axis=1, kind="stable")
        # The column of a row is its number within its query, counted from 0.
        number_in_query: Ints = sorted_columns[is_filled]  # (n_rows,), query by query
        first_row_of_query = np.repeat(query_starts(n_ret), n_ret)
        return first_row_of_query + number_in_query

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
        """Return whether the predictions are equal in every query.

        Then some query has two or more rows.
        """
        n_ret = self.rows.n_ret  # the number of rows of each query
        if n_ret.max(initial=0) < 2:
            return False
        # Then each query with rows has a single group of tied rows. Groups count from 0.
        n_groups = self._tie_groups.max() + 1
        n_queries_with_rows = np.count_nonzero(n_ret)
        return bool(n_groups == n_queries_with_rows)

    @cached_property
    def expectation(self) -> RowRankings:
        """The same rankings, with expected values of linear bases over tied rows."""
        # `copy` leaves out cached results, which `Rankings` keeps in `_results`.
        rankings = copy(self)
        rankings._is_expectation = True
        return rankings

    def compute_once(self, key: Any, make: Any) -> Any:
        """Return the result of `make`, which is kept for later calls with an equal key.

        Measures ask for the values of their base with the key ("base", base, target). In an
        `expectation`, these are expected values over tied rows instead of the result of `make`.
        """
        is_base_value = isinstance(key, tuple) and key[0] == "base"
        if not (is_base_value and self._is_expectation):
            return super().compute_once(key, make)
        _, base, target = key

        def make_expected() -> Floats:
            return self._expected_value(base, base.additive(target))

        return super().compute_once(key, make_expected)

    def _expected_value(self, base: Any, form: Linear) -> Floats:
        """Return the expected value of a linear form per query over all orders of tied rows.

        It is the value if tied rows have the mean of their gains. The form has the gain of each
        judged document; `self._judged_rows` is the position of each ranked row among these.
        """
        judged_gain = np.asarray(form.gain, dtype=np.float64)
        ranked_gain = values_at(self._judged_rows, judged_gain, default=form.unjudged)
        # Forms take gains in the order of the rows. All rows are hits, judged or not.
        row_gain = np.empty(len(ranked_gain))
        row_gain[self._ranked_rows] = _group_means(ranked_gain, self._tie_groups)
        expected_form = replace(form, gain=row_gain, unjudged=0.0)
        values = expected_form.values(self._all_hits)
        # Rounding errors of the means may add up to more than the maximum of the base.
        maximum = base.RANGE[1]
        limited_values: Floats = np.minimum(values, maximum)
        return limited_values


def _judged_hits(all_hits: Hits, judged_rows: Ints, judgments: Judgments) -> Hits:
    """Return the rankings with only the judged documents of a pool as hits.

    `judged_rows` are the positions of all hits in the pool, -1 for unjudged documents.
    """
    is_judged = judged_rows >= 0
    hits_of_rows = all_hits.select(is_judged)
    # Hits refer to judged pairs: now those of the pool instead of the rows.
    return replace(hits_of_rows, pool_query=judgments.pool_query, row=judged_rows[is_judged])


def _group_means(values: Floats, group: Ints) -> Floats:
    """Return the mean of the group of each value: values 1, 2, 5 in groups 0, 0, 1 have 1.5, 1.5, 5.

    Groups are numbered from 0.
    """
    totals = np.bincount(group, weights=values)
    sizes = np.bincount(group)
    means = totals / sizes  # one per group
    return means[group]


def _shuffled_order(keys: Words, group: Ints) -> Ints:
    """Return the order by group, and within groups a random order that follows from the keys.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n_tied,)
        A random number per tied row, equal for rows with equal labels.
    group : ndarray of int, shape (n_tied,)
        The group of each tied row, non-decreasing.
    """
    # Sorted by key, rows with equal labels would always be neighbours. So each row gets another
    # random key, from its key and its number, 0, 1, 2, …, among the rows with this key.
    by_key = _order_within(group, keys)
    number_among_equals = np.empty_like(keys)
    number_among_equals[by_key] = _number_equal_keys(keys[by_key], group)
    distinct_keys = mix_bits(keys + number_among_equals)
    return _order_within(group, distinct_keys)


def _number_equal_keys(sorted_keys: Words, group: Ints) -> Words:
    """Return the number of each row, from 0, among the neighbours with its key and group.

    Keys are sorted within groups: ``[5, 5, 7, 7, 7]`` in one group gives ``[0, 1, 0, 1, 2]``.
    """
    has_other_key = sorted_keys[1:] != sorted_keys[:-1]
    has_other_group = group[1:] != group[:-1]
    differs_from_previous = np.append(False, has_other_key | has_other_group)
    run_of_equals = np.cumsum(differs_from_previous)
    return positions(run_of_equals).astype(np.uint64)


def _order_within(group: Ints, keys: Words) -> Ints:
    """Return the order by `group`, which is non-decreasing, then by random keys.

    It sorts words of 64 bits, which is several times faster than sorting by two keys. If the groups
    are below 2^20, a word has 20 bits of the group, then the first 44 bits of the key: its other
    bits make no difference, as keys are random.
    """
    largest_group = int(group[-1])
    n_group_bits = np.uint64(largest_group.bit_length())
    n_key_bits = np.uint64(64) - n_group_bits
    group_part = group.astype(np.uint64) << n_key_bits
    key_part = keys >> n_group_bits
    words = group_part | key_part
    return np.argsort(words, kind="stable")
