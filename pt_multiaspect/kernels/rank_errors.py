"""Rank errors: adjacent documents in the wrong order with respect to the ideal order of each aspect.

Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
ICTIR 2017, Eq. 1-9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .._typing import Floats, Ints
from .breakdown import MARGINAL, STATED, Breakdown
from .hits import Hits, firsts, positions, ranks_within_queries, ratio, sums


def errors(hits: Hits, grade: Ints) -> Floats:
    """Return the error ε of each hit relative to the document one rank above it; 0 if there is none.

    The ideal order sorts the retrieved documents by grade; documents of equal grade keep their
    order. A document of the lowest grade is never in error relative to the one above it. Only hits
    above the lowest grade are therefore considered, and unjudged documents are only counted.
    """
    result = np.zeros(len(hits.query))
    better = np.flatnonzero(grade[hits.row] > 0)
    query, rank = hits.query[better], hits.rank[better]
    ideal = ranks_within_queries(query, grade[hits.row[better]].astype(np.float64))
    before = positions(query)
    # The document above has the lowest grade: in the ideal order, it follows all better documents.
    above = np.bincount(query, minlength=hits.n_queries)[query] + (rank - 1 - before)
    adjacent = np.flatnonzero((before[1:] > 0) & (rank[1:] == rank[:-1] + 1)) + 1
    above[adjacent] = ideal[adjacent - 1]
    result[better] = np.where(rank > 1, np.maximum(above - ideal, 0), 0)
    return result


def _worst_sums(n_ret: Ints, cost: Callable[[Ints], Ints | Floats]) -> Floats:
    """Return the discounted costs of the errors m of the worst rankings of as many documents.

    The errors are m = n - 2j - 1 for n documents and j = 0 … ⌊n/2 - 1⌋, their discounts 1 / (1 +
    log2(1 + j)).
    """
    n, length = np.unique(n_ret, return_inverse=True)
    owner = np.repeat(np.arange(len(n)), n // 2)
    j = positions(owner)
    return sums(owner, cost(n[owner] - 2 * j - 1) * (1.0 / (1.0 + np.log2(1.0 + j))), len(n))[
        length
    ]


def _normalise(error: Floats, n_ret: Ints, maximum: Floats) -> Floats:
    """Return 1 - error / maximum error of a ranking of the same length; 1 for one document, 0 for none."""
    return np.where(n_ret > 0, np.clip(1.0 - ratio(error, maximum), 0.0, 1.0), 0.0)


def _products(constants: Sequence[float], epsilons: Sequence[Floats] | Sequence[Ints]) -> Floats:
    """Return Π(μ_a + ε_a) - Π μ_a.

    It is computed as a sum of non-negative terms, which avoids cancellation if some μ is large.
    """
    difference: Floats = np.zeros(len(epsilons[0]))
    product = 1.0
    for constant, epsilon in zip(constants, epsilons, strict=True):
        difference = np.asarray(
            difference * (constant + epsilon) + product * epsilon, dtype=np.float64
        )
        product *= constant
    return difference


def nlre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised local rank error (Eq. 4-6, with a factor per aspect)."""
    error = hits.total(_nlre_errors(hits, epsilons, constants))
    return _normalise(error, hits.n_ret, _nlre_maxima(hits, constants))


def nlre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NLRE as 1 minus the errors of adjacent documents, each at the rank of the lower one."""
    cost = ratio(_nlre_errors(hits, epsilons, constants), _nlre_maxima(hits, constants)[hits.query])
    return _breakdown(hits, 0.0 - cost, cost)


def _pair_divisors(hits: Hits) -> Floats:
    """Return the divisor log2(1 + i) of the pair (i, i + 1), of which each hit is the lower document."""
    return np.asarray(np.log2(np.maximum(hits.rank, 2)), dtype=np.float64)


def _breakdown(hits: Hits, contribution: Floats, swap_cost: Floats, how: str = STATED) -> Breakdown:
    """Return 1 plus the contributions of hits, with the discount of each document and the one above it."""
    dense = hits.dense()
    discount = np.where(dense.rank > 1, 1.0 / _pair_divisors(dense), np.nan)
    offset, costs = (hits.n_ret > 0).astype(np.float64), hits.spread(swap_cost)
    return Breakdown(
        dense, hits.spread(contribution), discount=discount, offset=offset, swap_cost=costs, how=how
    )


def _nlre_errors(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    return _products(constants, epsilons) / _pair_divisors(hits)


def _nlre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum error of rankings as long as those of each query."""
    return _worst_sums(hits.n_ret, lambda m: _products(constants, [m] * len(constants)))


def ngre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised global rank error (Eq. 7-9, with a factor per aspect)."""
    pairs = _pair_divisors(hits)
    error = _growth(
        [c * hits.total(epsilon / pairs) for c, epsilon in zip(constants, epsilons, strict=True)]
    )
    return _normalise(error, hits.n_ret, _ngre_maxima(hits, constants))


def ngre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NGRE as 1 minus the increase by each error of the product of the summed errors above it."""
    bound = _ngre_maxima(hits, constants)[hits.query]
    pairs, first = _pair_divisors(hits), firsts(hits.query)
    up_to_here, without = [], []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        error = constant * epsilon / pairs
        total = np.cumsum(error)
        up_to_here.append(total - (total - error)[first])
        without.append(np.maximum(hits.total(error)[hits.query] - error, 0.0))
    grown = _growth(up_to_here)
    above = np.where(positions(hits.query) > 0, np.append(0.0, grown)[:-1], 0.0)
    end = _growth(
        [hits.total(c * epsilon / pairs) for c, epsilon in zip(constants, epsilons, strict=True)]
    )
    swap_cost = ratio(end[hits.query] - _growth(without), bound)
    return _breakdown(hits, ratio(above - grown, bound), swap_cost, MARGINAL)


def _growth(sums_of_errors: Sequence[Floats]) -> Floats:
    """Return Π(1 + x) - 1, computed term by term, which avoids cancellation if the sums x are small."""
    result = np.zeros(len(sums_of_errors[0]))
    for error in sums_of_errors:
        result = result * (1.0 + error) + error
    return result


def _ngre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum error of rankings as long as those of each query."""
    most = _worst_sums(hits.n_ret, lambda m: m)
    return _growth([constant * most for constant in constants])
