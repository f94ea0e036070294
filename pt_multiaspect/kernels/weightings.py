"""Weighted sums of differences over all weightings, the points of a simplex."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .rounding import remove_rounding_errors


def simplex_points(n_points: int, n_aspects: int, seed: int) -> Floats:
    """Return weightings that are spread evenly over the simplex, from a scrambled Sobol sequence.

    Parameters
    ----------
    n_points : int
        The number of weightings, a power of 2.
    n_aspects : int
        The number of aspects, at least 2.
    seed : int
        Random seed.

    Returns
    -------
    ndarray of float, shape (n_points, n_aspects)
        Weights of at least 0 that sum to 1.
    """
    from scipy.stats import qmc

    # Sobol sequences are drawn by the binary logarithm of their length.
    log2_of_n_points = int(n_points).bit_length() - 1
    sequence = qmc.Sobol(n_aspects - 1, seed=seed)
    uniform_numbers = sequence.random_base2(log2_of_n_points)  # (n_points, n_aspects - 1)
    # Sorted uniform numbers divide the interval [0, 1] into gaps, one per aspect. The gaps are
    # uniform on the simplex: 0.2 and 0.7 give the weights 0.2, 0.5 and 0.3.
    dividers = np.sort(uniform_numbers, axis=1)
    return np.diff(dividers, axis=1, prepend=0.0, append=1.0)


def positive_fraction(differences: Floats) -> Floats:
    """Return the fraction of all weightings w under which the weighted sum Σ_a w_a d_a is positive.

    Weightings are distributed uniformly on the simplex (w_a ≥ 0, Σ_a w_a = 1). For d sorted
    upwards, the fraction f is 1 if d_1 ≥ 0 < d_n, 0 if d_n ≤ 0, and else (d_n f(d_2 … d_n) − d_1
    f(d_1 … d_{n−1})) / (d_n − d_1), in which nothing cancels, also if values repeat.

    Parameters
    ----------
    differences : ndarray of float, shape (..., n)
        The differences d.

    Returns
    -------
    ndarray of float, shape (...)
        The fractions, in [0, 1].
    """
    ordered = np.sort(differences, axis=-1)
    n = ordered.shape[-1]
    is_positive = np.asarray(ordered > 0, dtype=np.float64)
    # The fractions of 1, 2, … adjacent differences, from each first one on. Those of one difference
    # are 1 or 0; those of more follow from the fractions without the last or the first of them.
    fractions = [is_positive[..., first] for first in range(n)]
    for length in range(2, n + 1):
        longer_fractions = []
        for first in range(n - length + 1):
            last = first + length - 1
            low = ordered[..., first]
            high = ordered[..., last]
            without_high = fractions[first]
            without_low = fractions[first + 1]
            numerator = high * without_low - low * without_high
            # Without both signs, the fraction is 1 or 0, as that of the last difference alone.
            has_both_signs = (low < 0) & (high > 0)
            fraction = is_positive[..., last].copy()
            denominator = high - low
            np.divide(numerator, denominator, out=fraction, where=has_both_signs)
            longer_fractions.append(fraction)
        fractions = longer_fractions
    # Rounding may exceed 1.
    (fraction_of_all,) = fractions
    return np.minimum(fraction_of_all, 1.0)


def differences_at_corners(differences: Floats, least: Floats, largest: Floats) -> Floats:
    """Return Σ_a w_a d_a where one aspect after the other has all weight that the least ones leave.

    Parameters
    ----------
    differences : ndarray of float, shape (..., n)
        The differences d.
    least : ndarray of float, shape (n,)
        The least weight of each aspect.
    largest : ndarray of float, shape (...)
        The largest absolute values of both runs, by which zeros are decided.

    Returns
    -------
    ndarray of float, shape (..., n)
        The weighted sums, one per aspect.
    """
    sum_at_least_weights = (differences @ least)[..., None]
    weight_left = 1 - least.sum()
    at_corners = sum_at_least_weights + weight_left * differences
    return remove_rounding_errors(at_corners, largest[..., None])


def nearest_reversal(
    differences: Floats, weights: Floats, least: Floats, largest: Floats
) -> Floats:
    """Return the nearest weighting, by total variation, at which the sign of Σ_a w_a d_a reverses.

    Weight moves from the aspects that support the sign most to the one that supports it least,
    until the sum is 0.

    Parameters
    ----------
    differences : ndarray of float, shape (m, n)
        The differences d.
    weights, least : ndarray of float, shape (n,)
        The weighting to start from, and the least weight of each aspect.
    largest : ndarray of float, shape (m,)
        The largest absolute values of both runs, by which zeros are decided.

    Returns
    -------
    ndarray of float, shape (m, n)
        The weightings, at which the sum is 0; NaN where no weighting reverses the sign, or the sum
        is 0.
    """
    total = remove_rounding_errors(differences @ weights, largest)
    # Support is positive on aspects whose difference has the sign of the sum. Weighted with
    # supports in place of differences, the sum is positive, and is to decrease to 0.
    sign = np.sign(total)[:, None]
    supports = differences * sign  # (m, n)
    row = np.arange(len(differences))
    receiver = supports.argmin(axis=1)
    support_of_receiver = supports[row, receiver]
    # By how much the sum decreases per unit of weight that an aspect gives to the receiver.
    decrease_per_weight = supports - support_of_receiver[:, None]
    may_give = weights - least
    given = _given_weights(supports, decrease_per_weight, may_give, np.abs(total))
    result = weights - given
    result[row, receiver] += given.sum(axis=1)
    # The sum is lowest at a corner of the weightings. If it is not negative there, the sign never
    # reverses.
    sums_at_corners = differences_at_corners(supports, least, largest)
    lowest = sums_at_corners.min(axis=1)
    is_never_reversed = (total == 0) | (lowest >= 0)
    result[is_never_reversed] = np.nan
    return result


def _given_weights(
    supports: Floats, decrease_per_weight: Floats, may_give: Floats, total: Floats
) -> Floats:
    """Return the weight that each aspect gives, until the sum has decreased from `total` to 0.

    Aspects with the highest support give first, each as much as it may.

    Parameters
    ----------
    supports : ndarray of float, shape (m, n)
        How much each aspect supports the sign of each sum.
    decrease_per_weight : ndarray of float, shape (m, n)
        The decrease of the sum per unit of weight given; 0 for the aspect that receives it.
    may_give : ndarray of float, shape (n,)
        The maximum weight that each aspect may give.
    total : ndarray of float, shape (m,)
        The sums.

    Returns
    -------
    ndarray of float, shape (m, n)
    """
    # Arrays with an "ordered" name have the aspects in the order in which they give.
    order = np.argsort(-supports, axis=1, kind="stable")
    may_give_of_rows = np.broadcast_to(may_give, supports.shape)
    ordered_may_give = np.take_along_axis(may_give_of_rows, order, axis=1)
    ordered_per_weight = np.take_along_axis(decrease_per_weight, order, axis=1)
    # What is left of the sum after all earlier aspects have given what they may.
    ordered_decrease = ordered_may_give * ordered_per_weight
    decrease_before = np.cumsum(ordered_decrease, axis=1) - ordered_decrease
    left = total[:, None] - decrease_before
    ordered_left = np.maximum(left, 0.0)
    # The weight that decreases the rest to 0; none of the receiver, which decreases nothing.
    ordered_needed = np.zeros_like(ordered_per_weight)
    decreases = ordered_per_weight > 0
    np.divide(ordered_left, ordered_per_weight, out=ordered_needed, where=decreases)
    ordered_given = np.minimum(ordered_needed, ordered_may_give)
    # Back to the order of the columns.
    given = np.zeros_like(ordered_given)
    np.put_along_axis(given, order, ordered_given, axis=1)
    return given


def reversing_weight(
    differences: Floats, weights: Floats, least: Floats, largest: Floats
) -> Floats:
    """Return the weight of each aspect at which the sign of Σ_a w_a d_a reverses.

    The weights of the other aspects keep their proportions.

    Parameters
    ----------
    differences, weights, least, largest
        As for `nearest_reversal`.

    Returns
    -------
    ndarray of float, shape (m, n)
        The weights; NaN where no weight of the aspect reverses the sign, or another would be below
        its least.
    """
    weighted_sum = differences @ weights
    total = remove_rounding_errors(weighted_sum, largest)
    largest_of_row = largest[:, None]
    # The mean difference of the other aspects; NaN for an aspect that has all weight.
    weight_of_others = 1 - weights
    own_part = weights * differences  # (m, n)
    sum_of_others = weighted_sum[:, None] - own_part
    sum_of_others = remove_rounding_errors(sum_of_others, largest_of_row)
    others = np.full(differences.shape, np.nan)
    np.divide(sum_of_others, weight_of_others, out=others, where=weight_of_others > 0)

    # With the weight w of the aspect, the sum is w d + (1 - w) others. It is 0 at
    # w = others / (others - d), which is in [0, 1] if the signs of d and others differ.
    result: Floats = np.full(differences.shape, np.nan)
    has_both_signs = others * differences < 0
    denominator = others - differences
    np.divide(others, denominator, out=result, where=has_both_signs)

    # On the way to this weight, up or down, the weight may reach a limit first, at which another
    # aspect, or this one, has its least weight. The sign must have reversed there.
    is_raised = result > weights
    largest_weights = _largest_weights(weights, least)
    limit = np.where(is_raised, largest_weights, least)
    limit_of_others = 1 - limit
    sum_at_limit = limit * differences + limit_of_others * others
    sum_at_limit = remove_rounding_errors(sum_at_limit, largest_of_row)
    sign_of_total = np.sign(total)[:, None]
    is_reversed = np.sign(sum_at_limit) == -sign_of_total
    is_tie = sign_of_total == 0
    result[is_tie | ~is_reversed] = np.nan
    return result


def _largest_weights(weights: Floats, least: Floats) -> Floats:
    """Return the largest weight that each aspect can get while the others keep their proportions.

    With it, one of the others has its least weight. All arrays have the shape (n_aspects,).
    """
    # The factor by which the weight of each aspect can fall to its least; 0 without weight.
    lowest_factor = np.zeros_like(weights)
    np.divide(least, weights, out=lowest_factor, where=weights > 0)
    # In proportion, all others fall by the same factor: the largest of theirs.
    factor_of_others = np.zeros_like(weights)
    for aspect in range(len(weights)):
        factors = np.delete(lowest_factor, aspect)
        factor_of_others[aspect] = factors.max(initial=0.0)
    # Their weights sum to 1 - weight now; the aspect gets what is left when they have fallen.
    least_of_others = factor_of_others * (1 - weights)
    return np.asarray(1 - least_of_others)
