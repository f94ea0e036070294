"""The ranks of judged documents in the rankings of all queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Hits:
    """The rankings of all queries as arrays of hits.

    The *pool* is the set of judged (query, document) pairs; *hits* are the retrieved pairs of the
    pool. Unjudged documents only occupy ranks: they are counted, not stored.
    """

    n_queries: int
    #: The query of each judged pair, non-decreasing; shape (n_pool,).
    pool_query: Ints
    #: The query of each hit, non-decreasing; shape (n_hits,).
    query: Ints
    #: The rank of each hit, from 1, increasing within a query.
    rank: Ints
    #: The position of each hit in the pool; ``n_pool`` for an unjudged document.
    row: Ints
    #: The number of documents retrieved per query; shape (n_queries,).
    n_ret: Ints

    @classmethod
    def of_rows(cls, n_queries: int, pool_query: Ints, row: Ints, rank: Ints) -> Hits:
        """Return rankings that consist of some judged documents, given their rows and ranks."""
        query = pool_query[row]
        n_ret = np.bincount(query, minlength=n_queries)
        by_rank = np.lexsort((rank, query))
        return Hits(
            n_queries,
            pool_query,
            query[by_rank],
            rank[by_rank],
            row[by_rank],
            n_ret,
        )

    def top(self, cutoff: int) -> Hits:
        """Return the first `cutoff` ranks of each query."""
        is_kept = self.rank <= cutoff
        top = self.select(is_kept)
        n_ret = np.minimum(self.n_ret, cutoff)
        return Hits(self.n_queries, self.pool_query, top.query, top.rank, top.row, n_ret)

    def select(self, kept: Bools) -> Hits:
        """Return the hits of a mask; the number of retrieved documents is unchanged."""
        return Hits(
            self.n_queries,
            self.pool_query,
            self.query[kept],
            self.rank[kept],
            self.row[kept],
            self.n_ret,
        )

    @property
    def retrieved_index(self) -> Ints:
        """The index of each hit among all retrieved documents, as in `dense`."""
        n_ret_to_query = np.cumsum(self.n_ret)
        n_ret_before = n_ret_to_query - self.n_ret  # of the queries before each one
        first_index = n_ret_before[self.query]
        return first_index + self.rank - 1

    def dense(self) -> Hits:
        """Return the rankings with all retrieved documents as hits.

        Unjudged ones have row ``n_pool``.
        """
        all_queries = np.arange(self.n_queries)
        query = np.repeat(all_queries, self.n_ret)
        rank = positions(query) + 1
        n_pool = len(self.pool_query)
        n_retrieved = len(query)
        row = np.full(n_retrieved, n_pool, dtype=np.intp)
        row[self.retrieved_index] = self.row
        return Hits(self.n_queries, self.pool_query, query, rank, row, self.n_ret)

    def spread(self, values: NDArray[np.generic]) -> Floats:
        """Return values of the hits as values of all retrieved documents, 0 for the others.

        They are in the order of `dense`.
        """
        n_retrieved = int(self.n_ret.sum())
        spread_values = np.zeros(n_retrieved)
        spread_values[self.retrieved_index] = values
        return spread_values

    def total(self, values: NDArray[np.generic], query: Ints | None = None) -> Floats:
        """Sum `values` of the hits (or of elements with the given queries) per query, in order."""
        if query is None:
            query = self.query
        return sums(query, values, self.n_queries)


def sums(query: Ints, values: NDArray[np.generic], n_queries: int) -> Floats:
    """Sum `values` per query, sequentially in the given order."""
    totals = np.bincount(query, weights=values, minlength=n_queries)
    return totals.astype(np.float64, copy=False)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide element by element, with broadcasting; the result is 0 where the denominator is 0."""
    numerator_shape = np.shape(numerator)
    shape = np.broadcast_shapes(numerator_shape, denominator.shape)
    zeros = np.zeros(shape)
    is_divisible = denominator != 0
    return np.divide(numerator, denominator, out=zeros, where=is_divisible)


def row_keys(rows: NDArray[np.integer[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return a number per row; rows have the same number if they are equal, and only then.

    Parameters
    ----------
    rows : ndarray of int, shape (n_rows, n_columns)
        Elements that are not negative.
    sizes : sequence of int
        One number per column, above all of its elements.
    """
    n_possible_rows = math.prod(sizes)
    fits_in_integers = n_possible_rows < 2**62
    if fits_in_integers:
        # Read each row as the digits of a number: [hour, minute] as hour + 24 * minute.
        all_but_last = sizes[:-1]
        place_values = np.cumprod([1, *all_but_last], dtype=np.int64)
        keys = rows @ place_values
        return np.asarray(keys, dtype=np.int64)
    _, row_number = np.unique(rows, axis=0, return_inverse=True)
    return np.asarray(row_number, dtype=np.int64).ravel()


def heads(query: Ints) -> Ints:
    """Return the first index of each block of adjacent elements of the same query."""
    if len(query) == 0:
        return np.zeros(0, dtype=np.intp)
    previous_query = query[:-1]
    differs_from_previous = query[1:] != previous_query
    later_heads = 1 + np.flatnonzero(differs_from_previous)
    return np.append(0, later_heads)


def firsts(query: Ints) -> Ints:
    """Return the index of the first element of each element's query; `query` must be sorted."""
    begins = heads(query)
    lengths = np.diff(begins, append=len(query))
    return np.repeat(begins, lengths)


def positions(query: Ints) -> Ints:
    """Return the position of each element within its query, from 0."""
    index = np.arange(len(query))
    return index - firsts(query)


def running_sum(values: Ints, query: Ints) -> Ints:
    """Return the cumulative sum of the values within each query, exact for integers.

    Values [1, 2, 3, 4] of the queries [0, 0, 1, 1] have the sums [1, 3, 3, 7].
    """
    sum_from_start = np.cumsum(values)  # over all queries
    # Subtract what is before the first element of the query.
    first = firsts(query)
    sum_to_first = sum_from_start[first]
    sum_before_query = sum_to_first - values[first]
    return sum_from_start - sum_before_query


def running_total(values: Floats, query: Ints) -> Floats:
    """Return the cumulative sum of the values within each query.

    Rounding errors do not depend on other queries, as no sum goes over their values.
    """
    position = positions(query)
    return _cumulate(np.add, values, position)


def running_product(factors: Floats, query: Ints) -> Floats:
    """Return the product of the factors before each element within its query (1 for the first).

    Factors [2, 3, 4] of one query have the products [1, 2, 6].
    """
    # Shift the factors by one element, with 1 for the first element of each query.
    previous_factor = np.ones(len(factors))
    previous_factor[1:] = factors[:-1]
    position = positions(query)
    previous_factor[position == 0] = 1.0
    return _cumulate(np.multiply, previous_factor, position)


def _cumulate(combine: np.ufunc, values: Floats, position: Ints) -> Floats:
    """Combine each value with all values before it in its query, by a sum or a product.

    `position` is that of each value within its query, from 0.
    """
    # The scan of Hillis and Steele: combine each result with that of one element before, then with
    # that of two, four, … elements before. Few passes suffice: for sums,
    # [1, 2, 3, 4] -> [1, 3, 5, 7] -> [1, 3, 6, 10].
    result = np.asarray(values, dtype=np.float64)
    last_position = int(position.max(initial=0))
    distance = 1
    while distance <= last_position:
        earlier_result = np.roll(result, distance)
        combined = combine(result, earlier_result)
        # At lower positions, the element at this distance before is of another query.
        is_in_same_query = position >= distance
        result = np.where(is_in_same_query, combined, result)
        distance *= 2
    return result


def best_rows(query: Ints, values: Floats, n_queries: int, tie: Ints | None = None) -> Ints:
    """Return the index of the maximum of each query, for values of at least 0.

    Of values that are equal but for rounding, it is that of the highest `tie`, or the first.
    `query` is sorted unless there is a `tie`.
    """
    highest = np.zeros(n_queries)
    np.maximum.at(highest, query, values)
    lowest_maximum = highest * (1.0 - 1e-12)  # a tolerance for rounding errors
    is_maximum = values >= lowest_maximum[query]
    # A query can have several maxima. Sorted by query, and within it by tie, the first one is the
    # best.
    maxima = np.flatnonzero(is_maximum)
    if tie is not None:
        best_first = descending(query[maxima], tie[maxima])
        maxima = maxima[best_first]
    query_of_maximum = query[maxima]
    first_of_query = heads(query_of_maximum)
    return maxima[first_of_query]


def descending(query: Ints, values: Floats | Ints) -> Ints:
    """Return the stable order by query, then by decreasing value."""
    return np.lexsort((-values, query))


def ideal_sums(
    query: Ints,
    gain: Floats,
    discount: Callable[[Ints], Floats],
    n_queries: int,
    depth: int | Ints | Floats | None,
) -> Floats:
    """Return the sum of discounted gains over the ideal ranking of each query, to a depth.

    The ideal ranking has the documents with a positive gain, in decreasing order of it. A depth can
    differ between queries; None stands for all ranks.
    """
    positive = np.flatnonzero(gain > 0)
    query_of_positive = query[positive]
    decreasing = descending(query_of_positive, gain[positive])
    ideal_order = positive[decreasing]
    query = query[ideal_order]
    gain = gain[ideal_order]
    rank = positions(query) + 1
    if depth is not None:
        depth_of_query = np.broadcast_to(depth, n_queries)
        is_counted = rank <= depth_of_query[query]
        query = query[is_counted]
        rank = rank[is_counted]
        gain = gain[is_counted]
    discounted_gain = gain * discount(rank)
    return sums(query, discounted_gain, n_queries)


def restore_order(order: Ints, values: Ints) -> Ints:
    """Return the values of sorted elements in the order that the elements had before.

    ``order`` has the former index of each sorted element, as from `numpy.argsort`.
    """
    n_elements = len(order)
    restored = np.empty(n_elements, dtype=np.intp)
    restored[order] = values
    return restored


def ranks_within_queries(query: Ints, values: Floats, *ties: Floats) -> Ints:
    """Return the rank of each element within its query, from 1.

    Elements are sorted by decreasing value; equal values by decreasing numbers of the first of the
    `ties`, then of the second one, and so on.
    """
    # `lexsort` sorts by its last key first: the keys are the ties in reverse, values and queries.
    # Negative keys give a decreasing order.
    keys = [-tie for tie in reversed(ties)]
    keys.append(-values)
    order = np.lexsort((*keys, query))
    sorted_query = query[order]
    sorted_rank = positions(sorted_query) + 1
    return restore_order(order, sorted_rank)
