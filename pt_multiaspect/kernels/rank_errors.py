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
    # The "better" documents are those above the lowest grade, which is 0.
    better = np.flatnonzero(grade[hits.row] > 0)
    query = hits.query[better]
    rank = hits.rank[better]
    better_grade = grade[hits.row[better]].astype(np.float64)
    ideal_rank = ranks_within_queries(query, better_grade)
    ideal_rank_above = _ideal_ranks_above(query, rank, ideal_rank, hits.n_queries)
    # In error are documents that the ideal order puts before the document above them.
    error = np.maximum(ideal_rank_above - ideal_rank, 0)
    has_document_above = rank > 1
    result = np.zeros(len(hits.query))
    result[better] = np.where(has_document_above, error, 0)
    return result


def _ideal_ranks_above(query: Ints, rank: Ints, ideal_rank: Ints, n_queries: int) -> Ints:
    """Return the ideal rank of the document directly above each better document.

    The other arrays are of better documents, too: those above the lowest grade. At rank 1, the
    result is meaningless.
    """
    # A document above of the lowest grade follows, in the ideal order, all better documents, and
    # those of the lowest grade that are above it in the ranking.
    n_better_above = positions(query)
    n_lowest_above = rank - 1 - n_better_above
    n_better = np.bincount(query, minlength=n_queries)
    result = n_better[query] + n_lowest_above
    # Otherwise, the document above is the previous better document of the query.
    is_next_rank = rank[1:] == rank[:-1] + 1
    is_same_query = n_better_above[1:] > 0
    follows_better = np.flatnonzero(is_same_query & is_next_rank) + 1
    result[follows_better] = ideal_rank[follows_better - 1]
    return result


def _worst_sums(n_ret: Ints, cost: Callable[[Ints], Ints | Floats]) -> Floats:
    """Return the sum of discounted costs of the worst ranking as long as that of each query.

    The errors of the worst ranking of n documents are n - 2j - 1 for j = 0 … ⌊n/2 - 1⌋, their
    discounts 1 / (1 + log2(1 + j)). `cost` is the cost of an error.
    """
    # Queries with rankings of equal length share the sum.
    lengths, length_of_query = np.unique(n_ret, return_inverse=True)
    # One element per error: its length of ranking (an index), and its j within that length.
    length = np.repeat(np.arange(len(lengths)), lengths // 2)
    j = positions(length)
    worst_error = lengths[length] - 2 * j - 1
    discount = 1.0 / (1.0 + np.log2(1.0 + j))
    discounted_cost = cost(worst_error) * discount
    sum_of_length = sums(length, discounted_cost, len(lengths))
    return sum_of_length[length_of_query]


def _normalise(error: Floats, n_ret: Ints, maximum: Floats) -> Floats:
    """Return 1 - error / maximum error of a ranking of the same length.

    The result is 1 for one document, 0 for none.
    """
    normalised = 1.0 - ratio(error, maximum)
    # Rounding may exceed the range.
    clipped = np.clip(normalised, 0.0, 1.0)
    is_empty = n_ret == 0
    return np.where(is_empty, 0.0, clipped)


def _products(constants: Sequence[float], epsilons: Sequence[Floats] | Sequence[Ints]) -> Floats:
    """Return Π(μ_a + ε_a) - Π μ_a.

    It is computed as a sum of non-negative terms, which avoids cancellation if some μ is large.
    """
    difference: Floats = np.zeros(len(epsilons[0]))
    product = 1.0
    for constant, epsilon in zip(constants, epsilons, strict=True):
        # For D = P - Π μ with one aspect less, the next factors give
        # P (μ + ε) - (Π μ) μ = D (μ + ε) + (Π μ) ε.
        next_difference = difference * (constant + epsilon) + product * epsilon
        difference = np.asarray(next_difference, dtype=np.float64)
        product *= constant
    return difference


def nlre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised local rank error (Eq. 4-6, with a factor per aspect)."""
    error_of_hit = _nlre_errors(hits, epsilons, constants)
    error = hits.total(error_of_hit)
    maximum = _nlre_maxima(hits, constants)
    return _normalise(error, hits.n_ret, maximum)


def nlre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NLRE as 1 minus the errors of adjacent documents, at the rank of the lower one."""
    error_of_hit = _nlre_errors(hits, epsilons, constants)
    maximum = _nlre_maxima(hits, constants)[hits.query]
    cost = ratio(error_of_hit, maximum)
    contribution = 0.0 - cost  # unlike -cost, never -0
    return _breakdown(hits, contribution, cost)


def _pair_divisors(hits: Hits) -> Floats:
    """Return the divisor log2(1 + i) of the pair (i, i + 1) whose lower document is each hit."""
    return np.asarray(np.log2(np.maximum(hits.rank, 2)), dtype=np.float64)


def _breakdown(hits: Hits, contribution: Floats, swap_cost: Floats, how: str = STATED) -> Breakdown:
    """Return the breakdown of values that are 1 plus the contributions of the hits.

    `contribution` and `swap_cost` are of each hit, relative to the document above it.
    """
    dense = hits.dense()  # with unjudged documents
    pair_discount = 1.0 / _pair_divisors(dense)
    has_document_above = dense.rank > 1
    discount = np.where(has_document_above, pair_discount, np.nan)
    # The value of an empty ranking is 0.
    is_retrieved = hits.n_ret > 0
    return Breakdown(
        dense,
        hits.spread(contribution),
        discount=discount,
        offset=is_retrieved.astype(np.float64),
        swap_cost=hits.spread(swap_cost),
        how=how,
    )


def _nlre_errors(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Return the discounted error of each hit relative to the document above it."""
    return _products(constants, epsilons) / _pair_divisors(hits)


def _nlre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum NLRE error of a ranking as long as that of each query."""

    def cost(worst_error: Ints) -> Floats:
        # The worst ranking has the same errors on all aspects.
        errors_of_aspects = [worst_error] * len(constants)
        return _products(constants, errors_of_aspects)

    return _worst_sums(hits.n_ret, cost)


def ngre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised global rank error (Eq. 7-9, with a factor per aspect)."""
    divisor = _pair_divisors(hits)
    sums_of_errors = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        sum_of_errors = hits.total(epsilon / divisor)
        sums_of_errors.append(constant * sum_of_errors)
    error = _growth(sums_of_errors)
    maximum = _ngre_maxima(hits, constants)
    return _normalise(error, hits.n_ret, maximum)


def ngre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NGRE as 1 minus what each error adds to the product of the summed errors above it."""
    divisor = _pair_divisors(hits)
    errors_of_aspects = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        errors_of_aspects.append(constant * epsilon / divisor)
    growth_to_hit = _growth_to_hits(hits, errors_of_aspects)
    # The growth down to the previous hit of the query, 0 for its first one.
    growth_to_previous = np.append(0.0, growth_to_hit)[:-1]
    has_previous = positions(hits.query) > 0
    growth_above = np.where(has_previous, growth_to_previous, 0.0)
    maximum = _ngre_maxima(hits, constants)[hits.query]
    contribution = ratio(growth_above - growth_to_hit, maximum)
    swap_cost = ratio(_growth_by_hits(hits, errors_of_aspects), maximum)
    return _breakdown(hits, contribution, swap_cost, MARGINAL)


def _growth_to_hits(hits: Hits, errors_of_aspects: Sequence[Floats]) -> Floats:
    """Return, for each hit, Π(1 + sum of errors) - 1 of the hits down to it in its query."""
    first = firsts(hits.query)
    sums_of_errors = []
    for error in errors_of_aspects:
        # `running` continues over queries, so what precedes the query is subtracted.
        running = np.cumsum(error)
        before = running - error
        sums_of_errors.append(running - before[first])
    return _growth(sums_of_errors)


def _growth_by_hits(hits: Hits, errors_of_aspects: Sequence[Floats]) -> Floats:
    """Return, for each hit, by how much Π(1 + sum of errors) of its query falls without its error."""
    all_sums = []
    sums_without_hit = []
    for error in errors_of_aspects:
        total = hits.total(error)
        all_sums.append(total)
        # Rounding may give differences below 0.
        without_hit = np.maximum(total[hits.query] - error, 0.0)
        sums_without_hit.append(without_hit)
    growth = _growth(all_sums)[hits.query]
    return growth - _growth(sums_without_hit)


def _growth(sums_of_errors: Sequence[Floats]) -> Floats:
    """Return Π(1 + x) - 1, term by term, which avoids cancellation if the sums x are small."""
    growth = np.zeros(len(sums_of_errors[0]))
    for sum_of_errors in sums_of_errors:
        # (growth + 1) (1 + x) - 1
        growth = growth * (1.0 + sum_of_errors) + sum_of_errors
    return growth


def _ngre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum NGRE error of a ranking as long as that of each query."""

    def cost(worst_error: Ints) -> Ints:
        return worst_error

    # The worst ranking has the same sum of errors on all aspects, but for the constants.
    worst_sum = _worst_sums(hits.n_ret, cost)
    sums_of_errors = [constant * worst_sum for constant in constants]
    return _growth(sums_of_errors)
