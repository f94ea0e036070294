"""Rank errors: adjacent documents in the wrong order, given the ideal order of each aspect.

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
    """Return the error ε of each hit relative to the document above it; 0 if there is none.

    The ideal order sorts the retrieved documents by grade; documents of equal grade keep their
    order. A document of the lowest grade is never in error relative to the one above it. Only hits
    above the lowest grade are therefore considered, and unjudged documents are only counted.
    """
    result = np.zeros(len(hits.query))
    better = np.flatnonzero(grade[hits.row] > 0)
    query = hits.query[better]
    rank = hits.rank[better]
    better_grade = grade[hits.row[better]].astype(np.float64)
    ideal = ranks_within_queries(query, better_grade)
    n_better_above = positions(query)
    n_lowest_above = rank - 1 - n_better_above
    # The document above has the lowest grade: in the ideal order, it follows all better documents.
    n_better = np.bincount(query, minlength=hits.n_queries)
    ideal_of_above = n_better[query] + n_lowest_above
    is_adjacent = (n_better_above[1:] > 0) & (rank[1:] == rank[:-1] + 1)
    adjacent = np.flatnonzero(is_adjacent) + 1
    ideal_of_above[adjacent] = ideal[adjacent - 1]
    error = np.maximum(ideal_of_above - ideal, 0)
    result[better] = np.where(rank > 1, error, 0)
    return result


def _worst_sums(n_ret: Ints, cost: Callable[[Ints], Ints | Floats]) -> Floats:
    """Return the discounted costs of the errors m of the worst rankings of as many documents.

    The errors are m = n - 2j - 1 for n documents and j = 0 … ⌊n/2 - 1⌋, their discounts 1 / (1 +
    log2(1 + j)).
    """
    n, length = np.unique(n_ret, return_inverse=True)
    owner = np.repeat(np.arange(len(n)), n // 2)
    j = positions(owner)
    m = n[owner] - 2 * j - 1
    discount = 1.0 / (1.0 + np.log2(1.0 + j))
    sum_of_length = sums(owner, cost(m) * discount, len(n))
    return sum_of_length[length]


def _normalise(error: Floats, n_ret: Ints, maximum: Floats) -> Floats:
    """Return 1 - error / maximum error of a ranking of the same length.

    The result is 1 for one document, 0 for none.
    """
    normalised = 1.0 - ratio(error, maximum)
    return np.where(n_ret > 0, np.clip(normalised, 0.0, 1.0), 0.0)


def _products(constants: Sequence[float], epsilons: Sequence[Floats] | Sequence[Ints]) -> Floats:
    """Return Π(μ_a + ε_a) - Π μ_a.

    It is computed as a sum of non-negative terms, which avoids cancellation if some μ is large.
    """
    difference: Floats = np.zeros(len(epsilons[0]))
    product = 1.0
    for constant, epsilon in zip(constants, epsilons, strict=True):
        extended = difference * (constant + epsilon) + product * epsilon
        difference = np.asarray(extended, dtype=np.float64)
        product *= constant
    return difference


def nlre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised local rank error (Eq. 4-6, with a factor per aspect)."""
    error = hits.total(_nlre_errors(hits, epsilons, constants))
    return _normalise(error, hits.n_ret, _nlre_maxima(hits, constants))


def nlre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NLRE as 1 minus the errors of adjacent documents, at the rank of the lower one."""
    maximum = _nlre_maxima(hits, constants)
    cost = ratio(_nlre_errors(hits, epsilons, constants), maximum[hits.query])
    return _breakdown(hits, 0.0 - cost, cost)


def _pair_divisors(hits: Hits) -> Floats:
    """Return the divisor log2(1 + i) of the pair (i, i + 1) whose lower document is each hit."""
    return np.asarray(np.log2(np.maximum(hits.rank, 2)), dtype=np.float64)


def _breakdown(hits: Hits, contribution: Floats, swap_cost: Floats, how: str = STATED) -> Breakdown:
    """Return 1 plus the contributions of hits, with the discount of each pair of documents."""
    dense = hits.dense()
    pair_discount = 1.0 / _pair_divisors(dense)
    return Breakdown(
        dense,
        hits.spread(contribution),
        discount=np.where(dense.rank > 1, pair_discount, np.nan),
        offset=(hits.n_ret > 0).astype(np.float64),
        swap_cost=hits.spread(swap_cost),
        how=how,
    )


def _nlre_errors(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    return _products(constants, epsilons) / _pair_divisors(hits)


def _nlre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum error of rankings as long as those of each query."""

    def cost(m: Ints) -> Floats:
        return _products(constants, [m] * len(constants))

    return _worst_sums(hits.n_ret, cost)


def ngre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised global rank error (Eq. 7-9, with a factor per aspect)."""
    divisor = _pair_divisors(hits)
    sums_of_errors = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        total = hits.total(epsilon / divisor)
        sums_of_errors.append(constant * total)
    error = _growth(sums_of_errors)
    return _normalise(error, hits.n_ret, _ngre_maxima(hits, constants))


def ngre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NGRE as 1 minus what each error adds to the product of the summed errors above it."""
    maximum = _ngre_maxima(hits, constants)[hits.query]
    divisor = _pair_divisors(hits)
    first = firsts(hits.query)
    # Per aspect: the sums of errors down to each hit, of all, and of all without that of the hit.
    sums_to_here = []
    all_sums = []
    sums_without = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        error = constant * epsilon / divisor
        running = np.cumsum(error)
        before = running - error
        sums_to_here.append(running - before[first])
        total = hits.total(error)
        all_sums.append(total)
        sums_without.append(np.maximum(total[hits.query] - error, 0.0))
    down_to_here = _growth(sums_to_here)
    previous = np.append(0.0, down_to_here)[:-1]
    above = np.where(positions(hits.query) > 0, previous, 0.0)
    contribution = ratio(above - down_to_here, maximum)
    whole = _growth(all_sums)[hits.query]
    swap_cost = ratio(whole - _growth(sums_without), maximum)
    return _breakdown(hits, contribution, swap_cost, MARGINAL)


def _growth(sums_of_errors: Sequence[Floats]) -> Floats:
    """Return Π(1 + x) - 1, term by term, which avoids cancellation if the sums x are small."""
    result = np.zeros(len(sums_of_errors[0]))
    for error in sums_of_errors:
        result = result * (1.0 + error) + error
    return result


def _ngre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum error of rankings as long as those of each query."""
    most = _worst_sums(hits.n_ret, lambda m: m)
    return _growth([constant * most for constant in constants])
