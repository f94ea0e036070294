"""Rank errors: adjacent documents in the wrong order, given the ideal order of each aspect.

Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
ICTIR 2017, Eq. 1-9.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Floats, Ints
from .breakdown import MARGINAL, STATED, Breakdown
from .hits import Hits, firsts, positions, ranks_within_queries, ratio, sums


def errors(hits: Hits, grade: Ints) -> Floats:
    """Return the error ε of each hit relative to the document above it, shape (n_hits,).

    It is the number of ranks by which the ideal order puts the hit before the document above it; 0
    if it puts the hit behind, or there is no document above. The ideal order sorts the retrieved
    documents by grade; documents of equal grade keep their order. `grade` is that of each judged
    document, 0 for the lowest grade, which unjudged documents have, too.
    """
    # A document of the lowest grade is never before the one above it in the ideal order. Only the
    # other hits, the "better" ones, can be in error; the arrays below have one element for each.
    grade_of_hit = grade[hits.row]
    is_better = grade_of_hit > 0
    query = hits.query[is_better]
    rank = hits.rank[is_better]
    better_grade = grade_of_hit[is_better].astype(np.float64)
    ideal_rank = ranks_within_queries(query, better_grade)
    ideal_rank_above = _ideal_ranks_above(query, rank, ideal_rank, hits.n_queries)
    error = np.maximum(ideal_rank_above - ideal_rank, 0)
    has_document_above = rank > 1
    result = np.zeros(len(hits.query))
    result[is_better] = np.where(has_document_above, error, 0)
    return result


def _ideal_ranks_above(query: Ints, rank: Ints, ideal_rank: Ints, n_queries: int) -> Ints:
    """Return the ideal rank of the document directly above each better document.

    Better documents are those above the lowest grade. The arrays have one element for each, by
    query and rank. The result is meaningless at rank 1.
    """
    # First, suppose that the document directly above has the lowest grade. In the ideal order, it
    # follows all better documents, and the documents of the lowest grade that are above it.
    n_better = np.bincount(query, minlength=n_queries)
    n_better_above = positions(query)
    n_lowest_above = rank - 1 - n_better_above  # including the document directly above
    result = n_better[query] + n_lowest_above
    # If it is better, it is the previous element: of the same query, and one rank above.
    is_same_query = query[1:] == query[:-1]
    is_next_rank = rank[1:] == rank[:-1] + 1
    upper = np.flatnonzero(is_same_query & is_next_rank)
    lower = upper + 1
    result[lower] = ideal_rank[upper]
    return result


def _worst_sums(n_ret: Ints, constants: Sequence[float]) -> Floats:
    """Return the sum of discounted costs of the worst ranking as long as that of each query.

    The errors ε of the worst ranking of n documents are n - 2j - 1 for j = 0 … ⌊n/2 - 1⌋, the same
    ones on all aspects. Their discounts are 1 / (1 + log2(1 + j)), their costs Π(μ_a + ε) - Π μ_a
    for the constants μ_a of the aspects.
    """
    # Queries with equally long rankings share the sum; each has an index of the distinct lengths.
    lengths, index_of_query = np.unique(n_ret, return_inverse=True)
    n_lengths = len(lengths)
    # One element per error: the index of its length, and j.
    # The lengths [2, 5] have 1 and 2 errors, with the index [0, 1, 1] and j [0, 0, 1].
    n_errors = lengths // 2
    index = np.repeat(np.arange(n_lengths), n_errors)
    j = positions(index)
    worst_error = lengths[index] - 2 * j - 1
    errors_of_aspects = [worst_error] * len(constants)
    cost = _products(constants, errors_of_aspects)
    divisor = 1.0 + np.log2(1.0 + j)
    discount = 1.0 / divisor
    sum_of_length = sums(index, cost * discount, n_lengths)
    return sum_of_length[index_of_query]


def _normalise(error: Floats, n_ret: Ints, maximum: Floats) -> Floats:
    """Return 1 - error / maximum error of a ranking of the same length, per query.

    The result is 1 for a ranking of one document, which has no neighbours, and 0 for an empty one.
    """
    relative_error = ratio(error, maximum)  # 0 if the maximum is 0: for one document
    # Rounding may exceed the range.
    normalised = np.clip(1.0 - relative_error, 0.0, 1.0)
    is_empty = n_ret == 0
    return np.where(is_empty, 0.0, normalised)


def _products(constants: Sequence[float], epsilons: Sequence[Floats] | Sequence[Ints]) -> Floats:
    """Return Π(μ_a + ε_a) - Π μ_a for the constant μ_a and the errors ε_a of each aspect a.

    It is computed as a sum of non-negative terms, which avoids cancellation if some μ is large.
    """
    # The difference D = Π(μ + ε) - Π μ, and the product Π μ, of the aspects so far.
    difference: Floats = np.zeros(len(epsilons[0]))
    product = 1.0
    for constant, epsilon in zip(constants, epsilons, strict=True):
        # The next difference is (D + Π μ) (μ + ε) - (Π μ) μ = D (μ + ε) + (Π μ) ε.
        scaled_difference = difference * (constant + epsilon)
        next_difference = scaled_difference + product * epsilon
        difference = np.asarray(next_difference, dtype=np.float64)
        product *= constant
    return difference


def nlre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised local rank error (Eq. 4-6, with a factor per aspect)."""
    error_of_hit = _nlre_errors(hits, epsilons, constants)
    error = hits.total(error_of_hit)
    maximum = _worst_sums(hits.n_ret, constants)
    return _normalise(error, hits.n_ret, maximum)


def nlre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NLRE as 1 minus the errors of adjacent documents, at the rank of the lower one."""
    error_of_hit = _nlre_errors(hits, epsilons, constants)
    maximum = _worst_sums(hits.n_ret, constants)
    cost = ratio(error_of_hit, maximum[hits.query])
    # The value is 1 - Σ cost; `_breakdown` adds the 1.
    contribution = 0.0 - cost  # unlike -cost, never -0
    return _breakdown(hits, contribution, cost)


def _pair_divisors(hits: Hits) -> Floats:
    """Return the divisor log2(1 + i) of the pair (i, i + 1) whose lower document is each hit."""
    # A hit at rank 1 is in no pair; its divisor is 1, for an error of 0.
    lower_rank = np.maximum(hits.rank, 2)
    return np.asarray(np.log2(lower_rank), dtype=np.float64)


def _breakdown(hits: Hits, contribution: Floats, swap_cost: Floats, how: str = STATED) -> Breakdown:
    """Return the breakdown of values that are 1 plus the contributions of the hits.

    `contribution` and `swap_cost` are of each hit, relative to the document above it. Breakdowns
    have all retrieved documents, so both are spread to these, with 0 for unjudged ones.
    """
    dense = hits.dense()  # all retrieved documents
    pair_discount = 1.0 / _pair_divisors(dense)
    has_document_above = dense.rank > 1
    discount = np.where(has_document_above, pair_discount, np.nan)
    # The 1 of each value; an empty ranking has the value 0.
    is_retrieved = hits.n_ret > 0
    offset = is_retrieved.astype(np.float64)
    return Breakdown(
        dense,
        hits.spread(contribution),
        discount=discount,
        offset=offset,
        swap_cost=hits.spread(swap_cost),
        how=how,
    )


def _nlre_errors(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Return the discounted error of each hit relative to the document above it."""
    return _products(constants, epsilons) / _pair_divisors(hits)


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
    """Return NGRE as 1 minus what the error of each hit adds to the errors of the hits above it.

    The error of a ranking is the "growth" Π(1 + sum of errors) - 1, over the aspects.
    """
    divisor = _pair_divisors(hits)
    errors_of_aspects = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        weighted_error = constant * epsilon
        errors_of_aspects.append(weighted_error / divisor)
    growth_to_hit = _growth_to_hits(hits, errors_of_aspects)
    # The growth down to the hit above is the previous element; the first hit of a query has none.
    growth_above = np.zeros(len(growth_to_hit))
    growth_above[1:] = growth_to_hit[:-1]
    is_first = positions(hits.query) == 0
    growth_above[is_first] = 0.0
    # More growth lowers the value, so contributions are at most 0.
    maxima = _ngre_maxima(hits, constants)
    maximum = maxima[hits.query]
    contribution = ratio(growth_above - growth_to_hit, maximum)
    growth_by_hit = _growth_by_hits(hits, errors_of_aspects)
    swap_cost = ratio(growth_by_hit, maximum)
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
    """Return by how much Π(1 + sum of errors) of its query falls without the error of each hit."""
    all_sums = []
    sums_without_hit = []
    for error in errors_of_aspects:
        total = hits.total(error)
        all_sums.append(total)
        # Rounding may give differences below 0.
        without_hit = np.maximum(total[hits.query] - error, 0.0)
        sums_without_hit.append(without_hit)
    growth = _growth(all_sums)
    growth_without_hit = _growth(sums_without_hit)
    return growth[hits.query] - growth_without_hit


def _growth(sums_of_errors: Sequence[Floats]) -> Floats:
    """Return Π(1 + x) - 1, term by term, which avoids cancellation if the sums x are small."""
    growth = np.zeros(len(sums_of_errors[0]))
    for sum_of_errors in sums_of_errors:
        # (growth + 1) (1 + x) - 1
        growth = growth * (1.0 + sum_of_errors) + sum_of_errors
    return growth


def _ngre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the maximum NGRE error of a ranking as long as that of each query."""
    # With the single constant 0, the cost of an error is the error: Π(0 + ε) - 0 = ε.
    worst_sum = _worst_sums(hits.n_ret, [0.0])
    # The worst ranking has these errors on all aspects, each times the constant of the aspect.
    sums_of_errors = [constant * worst_sum for constant in constants]
    return _growth(sums_of_errors)
