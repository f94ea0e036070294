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
    """Return the fraction of all weightings w under which the sum Σ_a w_a d_a is positive.

    Weightings are distributed uniformly on the simplex (w_a ≥ 0, Σ_a w_a = 1). For d sorted
    upwards, the fraction f is 1 if d_1 ≥ 0 < d_n, 0 if d_n ≤ 0, and else
    (d_n f(d_2 … d_n) − d_1 f(d_1 … d_{n−1})) / (d_n − d_1), in which nothing cancels, also if
    values repeat.

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
    # `fractions[i, j]` is f(d_i … d_j). It follows from the fractions of one difference less: begin
    # with single differences, then adjacent pairs, and so on.
    fractions: dict[tuple[int, int], Floats] = {}
    for index in range(n):
        is_positive = ordered[..., index] > 0
        fractions[index, index] = np.asarray(is_positive, dtype=np.float64)
    for n_more in range(1, n):
        for low in range(n - n_more):
            high = low + n_more
            fractions[low, high] = _fraction_with_both_ends(
                ordered[..., low],
                ordered[..., high],
                without_low=fractions[low + 1, high],
                without_high=fractions[low, high - 1],
            )
    # Rounding may exceed 1.
    fraction_of_all = fractions[0, n - 1]
    return np.minimum(fraction_of_all, 1.0)


def _fraction_with_both_ends(
    low: Floats, high: Floats, without_low: Floats, without_high: Floats
) -> Floats:
    """Return the fraction f of `positive_fraction` from those without one difference.

    `low` and `high` are the lowest and the highest difference. If they have different signs, some
    mixture of both has the difference 0. It cuts the weightings into two parts: mixtures of it with
    `high` and the others, which are the fraction high / (high - low) of all, and mixtures of it
    with `low` and the others, which are the rest, -low / (high - low). As a part of 0 changes no
    sign, the first are positive in the fraction `without_low`, the second in `without_high`.
    """
    # Without both signs, the fraction is 1 or 0.
    is_positive = high > 0
    fraction = np.asarray(is_positive, dtype=np.float64)
    has_both_signs = is_positive & (low < 0)
    part_with_high = high * without_low
    numerator = part_with_high - low * without_high
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
    # Turn negative sums, with their differences, into positive ones: a difference is the support
    # that its aspect gives to the sign.
    sign = np.sign(total)[:, None]
    support = differences * sign
    sum_to_remove = np.abs(total)
    reversal = _move_to_least_support(support, weights, least, sum_to_remove)

    # If the sum of supports is not even negative at its lowest, no weighting reverses the sign. It
    # is lowest at a corner of the weightings, where one aspect has all weight that it can.
    sums_at_corners = differences_at_corners(support, least, largest)
    lowest_sum = sums_at_corners.min(axis=1)
    is_never_negative = lowest_sum >= 0
    has_no_reversal = is_never_negative | (total == 0)
    reversal[has_no_reversal] = np.nan
    return reversal


def _move_to_least_support(
    support: Floats, weights: Floats, least: Floats, sum_to_remove: Floats
) -> Floats:
    """Return the weights after some has moved to the aspect of the least support in each row.

    The parameters are those of `nearest_reversal`, with the `support` of each aspect for the sign
    of the sum, shape (m, n), and the sum that the move is to remove, shape (m,).
    """
    row = np.arange(len(support))
    receiver = support.argmin(axis=1)
    least_support = support[row, receiver]
    # By so much the sum decreases per unit of weight that an aspect gives to the receiver.
    decrease_per_weight = support - least_support[:, None]
    may_give = weights - least
    given = _given_weights(support, decrease_per_weight, may_give, sum_to_remove)
    moved = weights - given
    received = given.sum(axis=1)
    moved[row, receiver] += received
    return moved


def _given_weights(
    support: Floats, decrease_per_weight: Floats, may_give: Floats, total: Floats
) -> Floats:
    """Return the weight that each aspect gives, until the sum has decreased from `total` to 0.

    Aspects with the highest support give first, each as much as it may.

    Parameters
    ----------
    support : ndarray of float, shape (m, n)
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
    # Sort the columns of each row, let aspects give from the first column on, and sort back.
    giving_order = np.argsort(-support, axis=1, kind="stable")
    sorted_decrease = np.take_along_axis(decrease_per_weight, giving_order, axis=1)
    sorted_may_give = may_give[giving_order]
    sorted_given = _given_in_turn(sorted_decrease, sorted_may_give, total)
    given = np.zeros_like(sorted_given)
    np.put_along_axis(given, giving_order, sorted_given, axis=1)
    return given


def _given_in_turn(decrease_per_weight: Floats, may_give: Floats, total: Floats) -> Floats:
    """Return the weights of `_given_weights` if the aspects give in the order of the columns.

    The first column gives all that it may, then the second one, and so on, until `total` is 0. All
    arrays have the shape (m, n), `total` (m,).
    """
    # What is left of the sum after the earlier columns have given all that they may.
    decrease = may_give * decrease_per_weight
    decrease_down_to_column = np.cumsum(decrease, axis=1)
    decrease_before = decrease_down_to_column - decrease
    difference = total[:, None] - decrease_before
    left = np.maximum(difference, 0.0)
    # The weight that a column would have to give to remove what is left. The receiver, whose own
    # weight removes nothing, gives none.
    needed = np.zeros_like(left)
    removes_some = decrease_per_weight > 0
    np.divide(left, decrease_per_weight, out=needed, where=removes_some)
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

    # The weight can move to the root only down to the least one of the aspect, or up to where
    # another aspect has its least. The sum is 0 on the way if it has the other sign at that limit.
    is_raised = root > weights
    largest_weights = _largest_weights(weights, least)
    limit = np.where(is_raised, largest_weights, least)
    part_of_others = (1 - limit) * others
    sum_at_limit = limit * differences + part_of_others
    sum_at_limit = remove_rounding_errors(sum_at_limit, largest[:, None])
    weighted_sum = differences @ weights
    total = remove_rounding_errors(weighted_sum, largest)
    sign = np.sign(total)[:, None]
    has_other_sign = np.sign(sum_at_limit) == -sign
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
    # The factor to which the weight of each aspect can fall, least / weight; 0 without weight.
    lowest_factor = np.zeros_like(weights)
    has_weight = weights > 0
    np.divide(least, weights, out=lowest_factor, where=has_weight)
    # All others fall by the same factor: the highest of their lowest factors allows no more.
    common_factor = np.zeros_like(weights)
    for aspect in range(len(weights)):
        factors_of_others = np.delete(lowest_factor, aspect)
        common_factor[aspect] = factors_of_others.max(initial=0.0)
    weight_of_others = 1 - weights
    least_of_others = common_factor * weight_of_others
    return np.asarray(1 - least_of_others)
