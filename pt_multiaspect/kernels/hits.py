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
        order, n_ret = np.lexsort((rank, query)), np.bincount(query, minlength=n_queries)
        return Hits(n_queries, pool_query, query[order], rank[order], row[order], n_ret)

    def top(self, cutoff: int) -> Hits:
        """Return the first `cutoff` ranks of each query."""
        kept, n_ret = self.rank <= cutoff, np.minimum(self.n_ret, cutoff)
        return Hits(
            self.n_queries,
            self.pool_query,
            self.query[kept],
            self.rank[kept],
            self.row[kept],
            n_ret,
        )

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
        return (np.cumsum(self.n_ret) - self.n_ret)[self.query] + self.rank - 1

    def dense(self) -> Hits:
        """Return the rankings with all retrieved documents as hits; unjudged ones have row ``n_pool``."""
        first = np.cumsum(self.n_ret) - self.n_ret
        query = np.repeat(np.arange(self.n_queries), self.n_ret)
        rank = np.arange(len(query)) - first[query] + 1  # faster than positions
        row = np.full(len(query), len(self.pool_query), dtype=np.intp)
        row[self.retrieved_index] = self.row
        return Hits(self.n_queries, self.pool_query, query, rank, row, self.n_ret)

    def spread(self, values: NDArray[np.generic]) -> Floats:
        """Return values of the hits as values of all retrieved documents, as in `dense`; 0 for the others."""
        result = np.zeros(int(self.n_ret.sum()))
        result[self.retrieved_index] = values
        return result

    def total(self, values: NDArray[np.generic], query: Ints | None = None) -> Floats:
        """Sum `values` of the hits (or of elements with the given queries) per query, in order."""
        return sums(self.query if query is None else query, values, self.n_queries)


def sums(query: Ints, values: NDArray[np.generic], n_queries: int) -> Floats:
    """Sum `values` per query, sequentially in the given order."""
    return np.bincount(query, weights=values, minlength=n_queries).astype(np.float64, copy=False)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Divide element by element, with broadcasting; the result is 0 where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)


def row_keys(rows: NDArray[np.integer[Any]], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return a number per row, the same for equal rows only; the elements of a column are below its size."""
    if math.prod(sizes) < 2**62:
        return np.asarray(rows @ np.cumprod([1, *sizes[:-1]], dtype=np.int64), dtype=np.int64)
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1], dtype=np.int64).ravel()


def heads(query: Ints) -> Ints:
    """Return the first index of each block of adjacent elements of the same query."""
    return np.append(
        np.zeros(min(len(query), 1), dtype=np.intp), 1 + np.flatnonzero(query[1:] != query[:-1])
    )


def firsts(query: Ints) -> Ints:
    """Return the index of the first element of each element's query; `query` must be sorted."""
    begins = heads(query)
    return np.repeat(begins, np.diff(begins, append=len(query)))


def positions(query: Ints) -> Ints:
    """Return the position of each element within its query, from 0."""
    return np.arange(len(query)) - firsts(query)


def running_sum(values: Ints, query: Ints) -> Ints:
    """Return the cumulative sum of the values within each query, exact for integers."""
    running, begin = np.cumsum(values), firsts(query)
    return running - running[begin] + values[begin]


def running_total(values: Floats, query: Ints) -> Floats:
    """Return the cumulative sum of the values within each query, which other queries do not affect by rounding."""
    return _scan(np.add, values, positions(query))


def running_product(factors: Floats, query: Ints) -> Floats:
    """Return the product of the factors before each element within its query (1 for the first)."""
    position = positions(query)
    before = np.ones(len(factors))
    before[1:] = np.where(position[1:] > 0, factors[:-1], 1.0)
    return _scan(np.multiply, before, position)


def _scan(combine: np.ufunc, values: Floats, position: Ints) -> Floats:
    """Combine each value with all values before it in its query; each step doubles how many are combined."""
    result = np.asarray(values, dtype=np.float64)
    step, deepest = 1, int(position.max(initial=0))
    while step <= deepest:
        inside = position >= step
        shifted = np.empty(len(result))
        shifted[:step], shifted[step:] = result[:step], result[:-step]
        result = np.where(inside, combine(result, shifted), result)
        step *= 2
    return result


def best_rows(query: Ints, values: Floats, n_queries: int, tie: Ints | None = None) -> Ints:
    """Return the index of the maximum of each query; of values equal but for rounding, that of the highest tie."""
    highest = np.zeros(n_queries)
    np.maximum.at(highest, query, values)
    best = np.flatnonzero(values >= highest[query] * (1.0 - 1e-12))
    if tie is not None:
        best = best[np.lexsort((-tie[best], query[best]))]
    return np.asarray(best[positions(query[best]) == 0], dtype=np.intp)


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
    """Return the sum of discounted gains over the positive gains of each query in decreasing order, to a depth."""
    kept = np.flatnonzero(gain > 0)
    order = kept[descending(query[kept], gain[kept])]
    query, gain = query[order], gain[order]
    rank = positions(query) + 1
    if depth is not None:
        within = rank <= (depth if isinstance(depth, int) else depth[query])
        query, rank, gain = query[within], rank[within], gain[within]
    return sums(query, gain * discount(rank), n_queries)


def restore_order(order: Ints, values: Ints) -> Ints:
    """Return values in the order of the elements, given the order that sorted these."""
    restored = np.empty(len(order), dtype=np.intp)
    restored[order] = values
    return restored


def ranks_within_queries(query: Ints, values: Floats, *ties: Floats) -> Ints:
    """Return the rank of each element within its query, from 1, by decreasing value, then by decreasing `ties`."""
    order = np.lexsort((*(-tie for tie in reversed(ties)), -values, query))
    return restore_order(order, positions(query[order]) + 1)
