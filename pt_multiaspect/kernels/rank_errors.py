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
    """Return the error of each hit above the lowest grade, relative to the document above it.

    It is the number of ranks by which the ideal ranking puts the hit before that document; 0 if it
    puts the hit behind. `better` are the hits above the lowest grade alone, `grade` is their grade.
    """
    # In the ideal ranking, grades decrease; documents of the same grade keep their order.
    sort_value = grade.astype(np.float64)
    ideal_rank = ranks_within_queries(better.query, sort_value)
    ideal_rank_above = _ideal_ranks_above(better, ideal_rank)
    n_ranks_before = np.maximum(ideal_rank_above - ideal_rank, 0)
    has_document_above = better.rank > 1
    return np.where(has_document_above, n_ranks_before, 0)


def _ideal_ranks_above(better: Hits, ideal_rank: Ints) -> Ints:
    """Return the ideal rank of the document directly above each hit; any number at rank 1.

    `better` are the hits above the lowest grade, and `ideal_rank` is the ideal rank of each.
    """
    # Rolled arrays have the query, the rank and the ideal rank of the previous hit.
    has_same_query = np.roll(better.query, 1) == better.query
    rank_after_previous = np.roll(better.rank, 1) + 1
    is_at_next_rank = rank_after_previous == better.rank
    # The document above is either the previous hit, or one of the lowest grade.
    is_previous_above = has_same_query & is_at_next_rank
    ideal_rank_of_previous = np.roll(ideal_rank, 1)
    return np.where(is_previous_above, ideal_rank_of_previous, _ideal_ranks_of_lowest_above(better))


def _ideal_ranks_of_lowest_above(better: Hits) -> Ints:
    """Return the ideal rank of the document directly above each hit if it has the lowest grade.

    `better` are the hits above the lowest grade. In the ideal ranking, all of them come first, then
    the documents of the lowest grade, which keep their order: with 4 better documents in a query,
    the second document of the lowest grade has the ideal rank 4 + 2.
    """
    n_above = better.rank - 1
    n_better_above = positions(better.query)
    # The document directly above is the last of those that are not better.
    number_among_lowest = n_above - n_better_above
    n_better = np.bincount(better.query, minlength=better.n_queries)
    return n_better[better.query] + number_among_lowest


class _WorstErrors(NamedTuple):
    """The errors ε of the worst rankings as long as those of some queries.

    Queries with the same length share them: the arrays `error`, `discount` and `length_index` have
    one element per error of each distinct length. Lengths of 2 and 5 have the errors [1, 4, 2] and
    the length indices [0, 1, 1].
    """

    error: Ints
    discount: Floats
    length_index: Ints
    #: The number of distinct lengths, and the length index of each query, shape (n_queries,).
    n_lengths: int
    index_of_query: Ints

    @classmethod
    def of_lengths(cls, n_ret: Ints) -> _WorstErrors:
        """Return the errors of rankings as long as those of queries with `n_ret` documents.

        The worst ranking of n documents has the ideal ranks n, 1, n - 1, 2, …: every second
        document should be above the one before it. It consists of pairs, j = 0, 1, …, of documents
        with the ideal ranks n - j and 1 + j, at the ranks i = 2j + 1 and i + 1.
        """
        lengths, index_of_query = np.unique(n_ret, return_inverse=True)
        n_lengths = len(lengths)
        # One element per pair of each length.
        length_index = np.repeat(np.arange(n_lengths), lengths // 2)
        j = positions(length_index)
        upper_ideal_rank = lengths[length_index] - j
        lower_ideal_rank = 1 + j
        error = upper_ideal_rank - lower_ideal_rank
        # The discount is 1 / log2(1 + i), and log2(1 + i) = log2(2 (1 + j)) = 1 + log2(1 + j).
        divisor = 1.0 + np.log2(1.0 + j)
        discount = 1.0 / divisor
        return cls(error, discount, length_index, n_lengths, index_of_query)

    def discounted_sums(self, cost: Floats | Ints) -> Floats:
        """Return Σ cost · discount of the worst ranking of each query.

        `cost` has one element per error in `self.error`.
        """
        discounted_cost = cost * self.discount
        sum_of_length = sums(self.length_index, discounted_cost, self.n_lengths)
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

    It is computed as a sum of non-negative terms, which avoids cancellation. Let P be the product
    of some factors, and D the increase of this product. With one more factor, the product is P μ,
    and its increase is (P + D) (μ + ε) - P μ, which is D (μ + ε) + P ε.
    """
    n_elements = len(increases[0])
    product = 1.0  # P
    increase_of_product: Floats = np.zeros(n_elements)  # D
    for factor, increase in zip(factors, increases, strict=True):
        first_term = increase_of_product * (factor + increase)
        second_term = product * increase
        sum_of_terms = first_term + second_term
        increase_of_product = np.asarray(sum_of_terms, dtype=np.float64)
        product *= factor
    return increase_of_product


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
    value_lost = ratio(error_of_hit, maximum_of_query)
    contribution = 0.0 - value_lost  # unlike -value_lost, never -0
    # In the right order, both documents would have no error: a swap regains what was lost.
    return _breakdown_from_one(hits, contribution, swap_cost=value_lost)


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
    pair_discount = 1.0 / _pair_divisors(retrieved)
    # Rank 1 has no document above it, and no discount.
    has_document_above = retrieved.rank > 1
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
    """Return the discounted error of each hit relative to the document above it.

    `epsilons` are the errors ε of the hits on each aspect, as from `errors`; `constants` are the
    constants μ of the aspects, by which an error costs Π(μ + ε) - Π μ.
    """
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
    maxima = _ngre_maxima(hits, constants)
    maximum_of_query = maxima[hits.query]

    # NGRE decreases by what a hit adds to the error: a contribution is not above 0.
    error_to_hit = _global_errors_to_hits(hits, errors_of_aspects)
    error_above = _values_above(hits, error_to_hit)
    contribution = ratio(error_above - error_to_hit, maximum_of_query)
    decrease_without_hit = _decreases_without_hits(hits, errors_of_aspects)
    swap_cost = ratio(decrease_without_hit, maximum_of_query)
    return _breakdown_from_one(hits, contribution, swap_cost, MARGINAL)


def _values_above(hits: Hits, values: Floats) -> Floats:
    """Return the value of the hit above each hit; 0 for the first hit of a query."""
    is_first = positions(hits.query) == 0
    value_of_previous = np.roll(values, 1)
    return np.where(is_first, 0.0, value_of_previous)


def _global_errors_to_hits(hits: Hits, errors_of_aspects: Sequence[Floats]) -> Floats:
    """Return, for each hit, the global error of the hits of its query down to it."""
    first_of_query = firsts(hits.query)  # the index of that hit, for each hit
    sums_to_hits = []
    for error in errors_of_aspects:
        sum_over_queries = np.cumsum(error)
        # Subtract the sum before the query: that before its first hit.
        sum_before_hit = sum_over_queries - error
        sum_before_query = sum_before_hit[first_of_query]
        sums_to_hits.append(sum_over_queries - sum_before_query)
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
