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
        """Return rankings of some judged documents, given by their ranks."""
        query = pool_query[row]
        n_ret = np.bincount(query, minlength=n_queries)
        order = np.lexsort((rank, query))
        return Hits(n_queries, pool_query, query[order], rank[order], row[order], n_ret)

    def top(self, cutoff: int) -> Hits:
        """Return the first `cutoff` ranks of each query."""
        top = self.select(self.rank <= cutoff)
        n_ret = np.minimum(self.n_ret, cutoff)
        return Hits(self.n_queries, self.pool_query, top.query, top.rank, top.row, n_ret)

    def select(self, kept: Bools) -> Hits:
        """Return a subset of the hits."""
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
        first = np.cumsum(self.n_ret) - self.n_ret
        return first[self.query] + self.rank - 1

    def dense(self) -> Hits:
        """Return the rankings with all retrieved documents as hits.

        Unjudged ones have row ``n_pool``.
        """
        first = np.cumsum(self.n_ret) - self.n_ret
        query = np.repeat(np.arange(self.n_queries), self.n_ret)
        rank = np.arange(len(query)) - first[query] + 1  # faster than positions
        row = np.full(len(query), len(self.pool_query), dtype=np.intp)
        row[self.retrieved_index] = self.row
        return Hits(self.n_queries, self.pool_query, query, rank, row, self.n_ret)

    def spread(self, values: NDArray[np.generic]) -> Floats:
        """Return values of the hits as values of all retrieved documents, 0 for the others.

        They are in the order of `dense`.
        """
        result = np.zeros(int(self.n_ret.sum()))
        result[self.retrieved_index] = values
        return result

    def total(self, values: NDArray[np.generic], query: Ints | None = None) -> Floats:
        """Sum `values` of the hits (or of elements with the given queries) per query, in order."""
        if query is None:
            query = self.query
        return sums(query, values, self.n_queries)


def sums(query: Ints, values: NDArray[np.generic], n_queries: int) -> Floats:
    """Sum `values` per query, sequentially in the given order."""
    return np.bincount(query, weights=values, minlength=n_queries).astype(np.float64, copy=False)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide element by element, with broadcasting; the result is 0 where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)


def row_keys(rows: NDArray[np.integer[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return a number per row, the same for equal rows only.

    The elements of each column are below its size.
    """
    if math.prod(sizes) < 2**62:
        factors = np.cumprod([1, *sizes[:-1]], dtype=np.int64)
        return np.asarray(rows @ factors, dtype=np.int64)
    _, inverse = np.unique(rows, axis=0, return_inverse=True)
    return np.asarray(inverse, dtype=np.int64).ravel()


def heads(query: Ints) -> Ints:
    """Return the first index of each block of adjacent elements of the same query."""
    n_first = min(len(query), 1)
    first = np.zeros(n_first, dtype=np.intp)
    changes = np.flatnonzero(query[1:] != query[:-1])
    return np.append(first, 1 + changes)


def firsts(query: Ints) -> Ints:
    """Return the index of the first element of each element's query; `query` must be sorted."""
    begins = heads(query)
    lengths = np.diff(begins, append=len(query))
    return np.repeat(begins, lengths)


def positions(query: Ints) -> Ints:
    """Return the position of each element within its query, from 0."""
    return np.arange(len(query)) - firsts(query)


def running_sum(values: Ints, query: Ints) -> Ints:
    """Return the cumulative sum of the values within each query, exact for integers."""
    running = np.cumsum(values)
    begin = firsts(query)
    return running - running[begin] + values[begin]


def running_total(values: Floats, query: Ints) -> Floats:
    """Return the cumulative sum of the values within each query.

    Rounding errors do not depend on other queries.
    """
    return _scan(np.add, values, positions(query))


def running_product(factors: Floats, query: Ints) -> Floats:
    """Return the product of the factors before each element within its query (1 for the first)."""
    position = positions(query)
    before = np.ones(len(factors))
    before[1:] = np.where(position[1:] > 0, factors[:-1], 1.0)
    return _scan(np.multiply, before, position)


def _scan(combine: np.ufunc, values: Floats, position: Ints) -> Floats:
    """Combine each value with all values before it in its query.

    Each step doubles the number of values that are combined.
    """
    result = np.asarray(values, dtype=np.float64)
    deepest = int(position.max(initial=0))
    step = 1
    while step <= deepest:
        shifted = np.empty(len(result))
        shifted[:step] = result[:step]
        shifted[step:] = result[:-step]
        combined = combine(result, shifted)
        result = np.where(position >= step, combined, result)
        step *= 2
    return result


def best_rows(query: Ints, values: Floats, n_queries: int, tie: Ints | None = None) -> Ints:
    """Return the index of the maximum of each query.

    Of values that are equal but for rounding, it is that of the highest `tie`, or the first.
    """
    highest = np.zeros(n_queries)
    np.maximum.at(highest, query, values)
    best = np.flatnonzero(values >= highest[query] * (1.0 - 1e-12))
    if tie is not None:
        order = np.lexsort((-tie[best], query[best]))
        best = best[order]
    is_first = positions(query[best]) == 0
    return np.asarray(best[is_first], dtype=np.intp)


def descending(query: Ints, values: Floats) -> Ints:
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

    The ideal ranking has the documents with a positive gain, in decreasing order of it.
    """
    positive = np.flatnonzero(gain > 0)
    order = positive[descending(query[positive], gain[positive])]
    query = query[order]
    gain = gain[order]
    rank = positions(query) + 1
    if depth is not None:
        last = depth
        if not isinstance(depth, int):
            last = depth[query]
        within = rank <= last
        query = query[within]
        rank = rank[within]
        gain = gain[within]
    return sums(query, gain * discount(rank), n_queries)


def restore_order(order: Ints, values: Ints) -> Ints:
    """Return values in the order of the elements, given the order that sorted these."""
    restored = np.empty(len(order), dtype=np.intp)
    restored[order] = values
    return restored


def ranks_within_queries(query: Ints, values: Floats, *ties: Floats) -> Ints:
    """Return the rank of each element within its query, from 1.

    Elements are sorted by decreasing value, then by decreasing `ties`.
    """
    # The last key of `lexsort` is the first one to sort by.
    keys = [-tie for tie in reversed(ties)]
    keys.append(-values)
    order = np.lexsort((*keys, query))
    return restore_order(order, positions(query[order]) + 1)
