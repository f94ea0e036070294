"""Rank errors: adjacent documents in the wrong order, given the ideal order of each aspect.

Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
ICTIR 2017, Eq. 1-9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
    # In the ideal order, documents of the lowest grade are never before the one above them: they
    # have no error.
    grade_of_hit = grade[hits.row]
    is_better = grade_of_hit > 0
    better = hits.select(is_better)
    error = np.zeros(len(hits.query))
    better_grade = grade_of_hit[is_better]
    error[is_better] = _errors_of_better(better, better_grade)
    return error


def _errors_of_better(better: Hits, grade: Ints) -> Ints:
    """Return the error of each hit above the lowest grade.

    `better` are these hits alone, and `grade` is the grade of each.
    """
    # Ranks are by decreasing grade; documents of the same grade keep their order.
    sort_value = grade.astype(np.float64)
    ideal_rank = ranks_within_queries(better.query, sort_value)
    ideal_rank_above = _ideal_ranks_above(better, ideal_rank)
    n_ranks_too_low = np.maximum(ideal_rank_above - ideal_rank, 0)
    has_document_above = better.rank > 1
    return np.where(has_document_above, n_ranks_too_low, 0)


def _ideal_ranks_above(better: Hits, ideal_rank: Ints) -> Ints:
    """Return the ideal rank of the document directly above each hit; any number at rank 1.

    `better` are the hits above the lowest grade, and `ideal_rank` is the ideal rank of each.
    """
    # The document above is the previous hit if that is of the same query and one rank above.
    # Otherwise it has the lowest grade.
    result = _ideal_ranks_of_lowest_above(better)
    previous_query = better.query[:-1]
    has_same_query = better.query[1:] == previous_query
    next_rank = better.rank[:-1] + 1
    has_next_rank = better.rank[1:] == next_rank
    is_below_previous = has_same_query & has_next_rank
    ideal_rank_of_previous = ideal_rank[:-1]
    rank_if_lowest = result[1:]
    result[1:] = np.where(is_below_previous, ideal_rank_of_previous, rank_if_lowest)
    return result


def _ideal_ranks_of_lowest_above(better: Hits) -> Ints:
    """Return the ideal rank of the document directly above each hit if it has the lowest grade.

    `better` are the hits above the lowest grade. In the ideal order, all of them come first, then
    the documents of the lowest grade, which keep their order.
    """
    n_better = np.bincount(better.query, minlength=better.n_queries)
    n_above = better.rank - 1
    n_better_above = positions(better.query)
    n_lowest_above = n_above - n_better_above
    n_better_of_query = n_better[better.query]
    return n_better_of_query + n_lowest_above


class _WorstErrors(NamedTuple):
    """The errors ε of the worst rankings as long as those of some queries.

    The worst ranking of n documents has the errors n - 1, n - 3, …, down to 1 or 2, with the
    discounts 1 / (1 + log2(1 + j)) for j = 0, 1, …. Queries with the same length share them: the
    arrays `error`, `discount` and `length_index` have one element per error of each distinct
    length. Lengths of 2 and 5 have the errors [1, 4, 2] and the length indices [0, 1, 1].
    """

    error: Ints
    discount: Floats
    length_index: Ints
    #: The length index of each query, shape (n_queries,).
    index_of_query: Ints

    @classmethod
    def of_lengths(cls, n_ret: Ints) -> _WorstErrors:
        """Return the errors of rankings as long as those of queries with `n_ret` documents."""
        lengths, index_of_query = np.unique(n_ret, return_inverse=True)
        n_errors = lengths // 2
        indices = np.arange(len(lengths))
        length_index = np.repeat(indices, n_errors)
        j = positions(length_index)
        length = lengths[length_index]
        error = length - 1 - 2 * j
        divisor = 1.0 + np.log2(1.0 + j)
        discount = 1.0 / divisor
        return cls(error, discount, length_index, index_of_query)

    def discounted_sums(self, cost: Floats | Ints) -> Floats:
        """Return Σ cost · discount of the worst ranking of each query, given the errors' costs."""
        last_index = int(self.index_of_query.max(initial=-1))
        n_lengths = last_index + 1
        discounted_cost = cost * self.discount
        sum_of_length = sums(self.length_index, discounted_cost, n_lengths)
        return sum_of_length[self.index_of_query]


def _normalise(error: Floats, n_ret: Ints, maximum: Floats) -> Floats:
    """Return 1 - error / maximum error of a ranking of the same length, per query.

    The result is 1 for a ranking of one document, which has no neighbours, and 0 for an empty one.
    """
    relative_error = ratio(error, maximum)  # 0 if the maximum is 0: for one document
    # Rounding may exceed the range.
    normalised = np.clip(1.0 - relative_error, 0.0, 1.0)
    is_empty = n_ret == 0
    return np.where(is_empty, 0.0, normalised)


def _increase_of_product(
    factors: Sequence[float], increases: Sequence[Floats] | Sequence[Ints]
) -> Floats:
    """Return Π(μ_a + ε_a) - Π μ_a for the factors μ_a and their increases ε_a, per aspect a.

    It is computed as a sum of non-negative terms, which avoids cancellation.
    """
    # With one more aspect, the product P = Π μ becomes P μ, and the difference D = Π(μ + ε) - P
    # becomes (D + P) (μ + ε) - P μ = D (μ + ε) + P ε.
    n_elements = len(increases[0])
    difference: Floats = np.zeros(n_elements)
    product = 1.0
    for factor, increase in zip(factors, increases, strict=True):
        old_part = difference * (factor + increase)
        new_part = product * increase
        next_difference = old_part + new_part
        difference = np.asarray(next_difference, dtype=np.float64)
        product *= factor
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
    maximum = _nlre_maxima(hits, constants)
    maximum_of_query = maximum[hits.query]
    relative_error = ratio(error_of_hit, maximum_of_query)
    contribution = 0.0 - relative_error  # unlike -relative_error, never -0
    # Without its error, a hit would raise the value by the whole error.
    return _breakdown_from_one(hits, contribution, swap_cost=relative_error)


def _pair_divisors(hits: Hits) -> Floats:
    """Return the divisor of the error of each hit relative to the document above it: log2(rank).

    For the documents at ranks i and i + 1, it is log2(1 + i) in the paper. A hit at rank 1 has no
    document above it, and an error of 0: its divisor is 1.
    """
    divisor = np.ones(len(hits.rank))
    has_document_above = hits.rank > 1
    np.log2(hits.rank, out=divisor, where=has_document_above)
    return divisor


def _breakdown_from_one(
    hits: Hits, contribution: Floats, swap_cost: Floats, how: str = STATED
) -> Breakdown:
    """Return the breakdown of values that are 1 plus the contributions; 0 for empty rankings.

    Parameters
    ----------
    hits : Hits
        The retrieved documents that are judged. A breakdown has all retrieved documents: unjudged
        ones contribute 0.
    contribution, swap_cost : ndarray of float, shape (n_hits,)
        What the error of each hit relative to the document above it adds to the value, and by how
        much the value would grow without it.
    how : str
        How contributions are defined, see `Breakdown`.
    """
    retrieved = hits.dense()
    has_document_above = retrieved.rank > 1
    pair_discount = 1.0 / _pair_divisors(retrieved)
    discount = np.where(has_document_above, pair_discount, np.nan)
    is_not_empty = hits.n_ret > 0
    offset = np.where(is_not_empty, 1.0, 0.0)
    return Breakdown(
        retrieved,
        hits.spread(contribution),
        discount=discount,
        offset=offset,
        swap_cost=hits.spread(swap_cost),
        how=how,
    )


def _nlre_errors(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Return the discounted error of each hit relative to the document above it."""
    cost = _increase_of_product(constants, epsilons)
    divisor = _pair_divisors(hits)
    return cost / divisor


def _nlre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the NLRE error of the worst ranking as long as that of each query."""
    worst = _WorstErrors.of_lengths(hits.n_ret)
    # The errors of the worst ranking are the same on all aspects.
    errors_of_aspects = [worst.error] * len(constants)
    cost = _increase_of_product(constants, errors_of_aspects)
    return worst.discounted_sums(cost)


def ngre(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Floats:
    """Compute the normalised global rank error (Eq. 7-9, with a factor per aspect)."""
    divisor = _pair_divisors(hits)
    sums_of_aspects = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        sum_of_errors = hits.total(epsilon / divisor)
        sums_of_aspects.append(constant * sum_of_errors)
    error = _global_error(sums_of_aspects)
    maximum = _ngre_maxima(hits, constants)
    return _normalise(error, hits.n_ret, maximum)


def _global_error(sums_of_aspects: Sequence[Floats]) -> Floats:
    """Return the global error of rankings: Π(1 + x) - 1 for the sums x of errors per aspect."""
    ones = [1.0] * len(sums_of_aspects)
    return _increase_of_product(ones, sums_of_aspects)


def ngre_breakdown(hits: Hits, epsilons: Sequence[Floats], constants: Sequence[float]) -> Breakdown:
    """Return NGRE as 1 minus what each hit adds to the global error of the hits above it."""
    divisor = _pair_divisors(hits)
    errors_of_aspects = []
    for constant, epsilon in zip(constants, epsilons, strict=True):
        weighted_error = constant * epsilon
        errors_of_aspects.append(weighted_error / divisor)
    error_to_hit = _global_errors_to_hits(hits, errors_of_aspects)
    # Down to the hit above: the previous element, and 0 for the first hit of a query.
    is_first = positions(hits.query) == 0
    error_to_previous = np.roll(error_to_hit, 1)
    error_above = np.where(is_first, 0.0, error_to_previous)

    maxima = _ngre_maxima(hits, constants)
    maximum = maxima[hits.query]
    contribution = ratio(error_above - error_to_hit, maximum)
    decrease_without_hit = _decreases_without_hits(hits, errors_of_aspects)
    swap_cost = ratio(decrease_without_hit, maximum)
    return _breakdown_from_one(hits, contribution, swap_cost, MARGINAL)


def _global_errors_to_hits(hits: Hits, errors_of_aspects: Sequence[Floats]) -> Floats:
    """Return, for each hit, the global error of the hits of its query down to it."""
    first = firsts(hits.query)
    sums_to_hits = []
    for error in errors_of_aspects:
        # `running` continues over queries, so what precedes the query is subtracted.
        running = np.cumsum(error)
        before = running - error
        sums_to_hits.append(running - before[first])
    return _global_error(sums_to_hits)


def _decreases_without_hits(hits: Hits, errors_of_aspects: Sequence[Floats]) -> Floats:
    """Return, for each hit, by how much the global error of its query falls without its error."""
    all_sums = []
    sums_without_hit = []
    for error in errors_of_aspects:
        total = hits.total(error)
        all_sums.append(total)
        difference = total[hits.query] - error
        # Rounding may give differences below 0.
        sum_without_hit = np.maximum(difference, 0.0)
        sums_without_hit.append(sum_without_hit)
    global_error = _global_error(all_sums)
    error_without_hit = _global_error(sums_without_hit)
    return global_error[hits.query] - error_without_hit


def _ngre_maxima(hits: Hits, constants: Sequence[float]) -> Floats:
    """Return the global error of the worst ranking as long as that of each query."""
    worst = _WorstErrors.of_lengths(hits.n_ret)
    worst_sum = worst.discounted_sums(worst.error)
    # Its errors are the same on all aspects, each times the constant of the aspect.
    sums_of_aspects = [constant * worst_sum for constant in constants]
    return _global_error(sums_of_aspects)
