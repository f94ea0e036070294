"""Rank errors: adjacent documents in the wrong order with respect to the ideal order of each aspect.

Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
ICTIR 2017, Eq. 1-9.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, descending, positions, sums


def errors(hits: Hits, grade: Ints) -> Floats:
    """Return the error ε of each hit relative to the document one rank above it; 0 if there is none.

    The ideal order sorts the retrieved documents by grade; documents of equal grade keep their order. A
    document of the lowest grade is never in error relative to the one above it. Only hits above the lowest
    grade are therefore considered, and unjudged documents are only counted.
    """
    n_hits = len(hits.query)
    result = np.zeros(n_hits)
    better = np.flatnonzero(grade[hits.row] > 0)
    query, rank = hits.query[better], hits.rank[better]
    order = descending(query, grade[hits.row[better]].astype(np.float64))
    ideal = np.empty(len(better), dtype=np.intp)
    ideal[order] = positions(query[order]) + 1
    before = positions(query)
    above = np.empty(len(better), dtype=np.intp)
    # The document above has the lowest grade: in the ideal order, it follows all better documents.
    above[:] = sums(query, np.ones(len(query)), hits.n_queries)[query] + (rank - 1 - before)
    adjacent = np.flatnonzero((before[1:] > 0) & (rank[1:] == rank[:-1] + 1)) + 1
    above[adjacent] = ideal[adjacent - 1]
    result[better] = np.where(rank > 1, np.maximum(above - ideal, 0), 0)
    return result


def _greatest_errors(n: Ints) -> tuple[Ints, Floats, Ints]:
    """The errors m = n - 2j - 1 of the worst ranking of n documents, j = 0 … ⌊n/2 - 1⌋.

    Returns the errors, their weights 1 / (1 + log2(1 + j)), and the index in `n` of each error.
    """
    owner = np.repeat(np.arange(len(n)), n // 2)
    j = positions(owner)
    return n[owner] - 2 * j - 1, 1.0 / (1.0 + np.log2(1.0 + j)), owner


def _normalised(error: Floats, n_ret: Ints, sizes: Ints, greatest: Floats) -> Floats:
    """1 - error / maximum error of a ranking of that length; 1 for one document, 0 for none."""
    bound = greatest[np.searchsorted(sizes, n_ret)]
    value = 1.0 - np.divide(error, bound, out=np.zeros(len(error)), where=bound > 0)
    return np.where(n_ret > 0, np.clip(value, 0.0, 1.0), 0.0)


def _products(constants: Sequence[float], epsilons: Sequence[Floats] | Sequence[Ints]) -> Floats:
    """Π(μ_a + ε_a) - Π μ_a, as a sum of non-negative terms, which avoids cancellation if some μ is large."""
    difference: Floats = np.zeros(len(epsilons[0]))
    product = 1.0
    for constant, epsilon in zip(constants, epsilons, strict=True):
        difference = np.asarray(difference * (constant + epsilon) + product * epsilon, dtype=np.float64)
        product *= constant
    return difference


def nlre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Normalised local rank error (Eq. 4-6, with a factor per aspect)."""
    pairs = np.log2(np.maximum(hits.rank, 2))  # the pair (i, i + 1) is discounted by log2(1 + i)
    error = hits.total(_products(constants, epsilons) / pairs)
    sizes = np.unique(hits.n_ret)
    m, weight, owner = _greatest_errors(sizes)
    greatest = sums(owner, _products(constants, [m] * len(constants)) * weight, len(sizes))
    return _normalised(error, hits.n_ret, sizes, greatest)


def ngre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Normalised global rank error (Eq. 7-9, with a factor per aspect)."""
    pairs = np.log2(np.maximum(hits.rank, 2))
    sizes = np.unique(hits.n_ret)
    m, weight, owner = _greatest_errors(sizes)
    greatest_sum = sums(owner, m * weight, len(sizes))
    error, greatest = np.zeros(hits.n_queries), np.zeros(len(sizes))
    for constant, epsilon in zip(constants, epsilons, strict=True):
        # Π(1 + x) - 1, term by term, which avoids cancellation if the constants are small.
        more, most = constant * hits.total(epsilon / pairs), constant * greatest_sum
        error, greatest = error * (1.0 + more) + more, greatest * (1.0 + most) + most
    return _normalised(error, hits.n_ret, sizes, greatest)
