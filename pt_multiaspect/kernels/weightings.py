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
    # The fraction of the differences from a first to a last one follows from those without the last
    # or the first of them: begin with single differences, then pairs, and so on.
    fractions: dict[tuple[int, int], Floats] = {}
    for index in range(n):
        is_positive = ordered[..., index] > 0
        fractions[index, index] = np.asarray(is_positive, dtype=np.float64)
    for length in range(2, n + 1):
        for first in range(n - length + 1):
            last = first + length - 1
            without_high = fractions[first, last - 1]
            without_low = fractions[first + 1, last]
            fractions[first, last] = _fraction_of_more(
                ordered[..., first], ordered[..., last], without_low, without_high
            )
    # Rounding may exceed 1.
    fraction_of_all = fractions[0, n - 1]
    return np.minimum(fraction_of_all, 1.0)


def _fraction_of_more(
    low: Floats, high: Floats, without_low: Floats, without_high: Floats
) -> Floats:
    """Return the fraction f of `positive_fraction` from those without one difference.

    `low` and `high` are the lowest and the highest difference.
    """
    # Without both signs, the fraction is 1 or 0.
    is_positive = high > 0
    fraction = np.asarray(is_positive, dtype=np.float64)
    has_both_signs = is_positive & (low < 0)
    positive_part = high * without_low
    numerator = positive_part - low * without_high
    denominator = high - low
    np.divide(numerator, denominator, out=fraction, where=has_both_signs)
    return fraction


def differences_at_corners(differences: Floats, least: Floats, largest: Floats) -> Floats:
    """Return Σ_a w_a d_a at the corners of the weightings in which no weight is below its least.

    At each corner, one aspect has all weight that the least weights of the others leave.

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
    # All aspects have their least weight, and one of them has the remaining weight on top.
    sum_of_least = differences @ least
    remaining_weight = 1 - least.sum()
    sum_of_remaining = remaining_weight * differences
    at_corners = sum_of_least[..., None] + sum_of_remaining
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
    weighted_sum = differences @ weights
    total = remove_rounding_errors(weighted_sum, largest)
    # Differences with the sign of the sum are positive from here on: the sum is positive, too.
    sign = np.sign(total)[:, None]
    supports = differences * sign  # (m, n)
    row = np.arange(len(differences))
    receiver = supports.argmin(axis=1)
    lowest_support = supports[row, receiver]
    # By so much the sum decreases per unit of weight that an aspect gives to the receiver.
    decrease_per_weight = supports - lowest_support[:, None]
    may_give = weights - least
    sum_to_remove = np.abs(total)
    given = _given_weights(supports, decrease_per_weight, may_give, sum_to_remove)
    result = weights - given
    received = given.sum(axis=1)
    result[row, receiver] += received

    # The sum of supports is lowest at a corner of the weightings, where one aspect has all weight
    # that it can. If it is not negative there, no weighting reverses the sign.
    sums_at_corners = differences_at_corners(supports, least, largest)
    lowest_sum = sums_at_corners.min(axis=1)
    is_never_negative = lowest_sum >= 0
    is_never_reversed = is_never_negative | (total == 0)
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
    highest_first = np.argsort(-supports, axis=1, kind="stable")
    may_give_of_rows = np.broadcast_to(may_give, supports.shape)
    may_give_in_order = np.take_along_axis(may_give_of_rows, highest_first, axis=1)
    decrease_in_order = np.take_along_axis(decrease_per_weight, highest_first, axis=1)
    given_in_order = _given_in_turn(decrease_in_order, may_give_in_order, total)
    # Back to the order of the aspects.
    given = np.zeros_like(given_in_order)
    np.put_along_axis(given, highest_first, given_in_order, axis=1)
    return given


def _given_in_turn(decrease_per_weight: Floats, may_give: Floats, total: Floats) -> Floats:
    """Return the weights of `_given_weights` if the aspects give in the order of the columns.

    The first column gives all that it may, then the second one, and so on, until `total` is 0.
    """
    # What is left of the sum after the earlier aspects have given all that they may.
    decrease = may_give * decrease_per_weight
    decrease_to_aspect = np.cumsum(decrease, axis=1)
    decrease_before = decrease_to_aspect - decrease
    difference = total[:, None] - decrease_before
    left = np.maximum(difference, 0.0)
    # The weight that decreases it to 0; none of the receiver, which decreases nothing.
    needed = np.zeros_like(left)
    can_decrease = decrease_per_weight > 0
    np.divide(left, decrease_per_weight, out=needed, where=can_decrease)
    return np.minimum(needed, may_give)


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
    others = _means_of_others(differences, weights, largest)
    # With the weight w of the aspect, the sum is w d + (1 - w) others. It is 0 at
    # w = others / (others - d), which is in [0, 1] if the signs of d and others differ.
    root: Floats = np.full(differences.shape, np.nan)
    has_both_signs = others * differences < 0
    denominator = others - differences
    np.divide(others, denominator, out=root, where=has_both_signs)

    # The weight of the aspect can rise, or fall, to a limit only, where another aspect, or this
    # one, has its least weight. It reaches the root if the sum at the limit has the other sign.
    is_raised = root > weights
    largest_weights = _largest_weights(weights, least)
    limit = np.where(is_raised, largest_weights, least)
    limit_of_others = 1 - limit
    part_of_others = limit_of_others * others
    sum_at_limit = limit * differences + part_of_others
    sum_at_limit = remove_rounding_errors(sum_at_limit, largest[:, None])
    sign_at_limit = np.sign(sum_at_limit)
    weighted_sum = differences @ weights
    total = remove_rounding_errors(weighted_sum, largest)
    sign = np.sign(total)[:, None]
    has_other_sign = sign_at_limit == -sign
    is_reversed = has_other_sign & (sign != 0)
    return np.where(is_reversed, root, np.nan)


def _means_of_others(differences: Floats, weights: Floats, largest: Floats) -> Floats:
    """Return the weighted mean difference of all aspects but one, for each aspect, shape (m, n).

    It is NaN for an aspect that has all weight. The parameters are those of `nearest_reversal`.
    """
    weighted_sum = differences @ weights  # (m,)
    own_part = weights * differences  # (m, n)
    sum_of_others = weighted_sum[:, None] - own_part
    sum_of_others = remove_rounding_errors(sum_of_others, largest[:, None])
    weight_of_others = 1 - weights
    means = np.full(differences.shape, np.nan)
    has_others = weight_of_others > 0
    np.divide(sum_of_others, weight_of_others, out=means, where=has_others)
    return means


def _largest_weights(weights: Floats, least: Floats) -> Floats:
    """Return the largest weight that each aspect can get while the others keep their proportions.

    As it rises, all others fall by the same factor, until one of them has its least weight: with
    the weights [.5, .3, .2] and the least weights [0, .15, 0], the first aspect can rise until the
    second one has fallen to a half of .3; the third has a half of .2 then, which leaves .75 to the
    first. All arrays have the shape (n_aspects,).
    """
    # The factor by which each weight can fall to its least; 0 without weight.
    lowest_factor = np.zeros_like(weights)
    is_positive = weights > 0
    np.divide(least, weights, out=lowest_factor, where=is_positive)
    # The first one to have its least weight is the one with the largest factor.
    factor_of_others = np.zeros_like(weights)
    for aspect in range(len(weights)):
        factors = np.delete(lowest_factor, aspect)
        factor_of_others[aspect] = factors.max(initial=0.0)
    weight_of_others = 1 - weights
    least_of_others = factor_of_others * weight_of_others
    return np.asarray(1 - least_of_others)
