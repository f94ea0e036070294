"""Weighted sums of differences over all weightings, the points of a simplex."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .rounding import remove_rounding_errors


def simplex_points(n_points: int, n_aspects: int, seed: int) -> Floats:
    """Return weightings that are spread evenly over the simplex, a scrambled Sobol sequence.

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

    sequence = qmc.Sobol(n_aspects - 1, seed=seed)
    exponent = int(n_points).bit_length() - 1
    draws = sequence.random_base2(exponent)
    # The gaps between sorted uniform numbers are uniform on the simplex.
    ordered = np.sort(draws, axis=1)
    return np.diff(ordered, axis=1, prepend=0.0, append=1.0)


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
    # fractions[i] is that of the values i … i + length − 1.
    is_positive = np.asarray(ordered > 0, dtype=np.float64)
    fractions = [is_positive[..., first] for first in range(n)]
    for length in range(2, n + 1):
        for first in range(n - length + 1):
            last = first + length - 1
            low = ordered[..., first]
            high = ordered[..., last]
            has_both_signs = (low < 0) & (high > 0)
            numerator = high * fractions[first + 1] - low * fractions[first]
            fraction = is_positive[..., last].copy()
            np.divide(numerator, high - low, out=fraction, where=has_both_signs)
            fractions[first] = fraction
    return np.minimum(fractions[0], 1.0)


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
    at_least = (differences @ least)[..., None]
    weight_left = 1 - least.sum()
    at_corners = at_least + weight_left * differences
    return remove_rounding_errors(at_corners, largest[..., None])


def nearest_reversal(
    differences: Floats, weights: Floats, least: Floats, largest: Floats
) -> Floats:
    """Return the nearest weighting, by total variation, at which the sign of Σ_a w_a d_a reverses.

    Weight moves from the aspects with the highest differences, in the direction of the sum, to the
    one with the lowest, until the sum is 0.

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
    towards = differences * np.sign(total)[:, None]
    row = np.arange(len(differences))
    taker = towards.argmin(axis=1)
    # By how much the sum decreases per unit of weight that an aspect gives to the taker.
    per_unit = towards - towards[row, taker][:, None]  # (m, n)
    # The aspects with the highest differences give first, each as much as it may.
    order = np.argsort(-towards, axis=1, kind="stable")
    may_give_by_aspect = np.broadcast_to(weights - least, per_unit.shape)
    may_give = np.take_along_axis(may_give_by_aspect, order, axis=1)
    unit = np.take_along_axis(per_unit, order, axis=1)
    decrease = may_give * unit
    before = np.cumsum(decrease, axis=1) - decrease
    left = np.maximum(np.abs(total)[:, None] - before, 0.0)
    needed = np.divide(left, unit, out=np.zeros_like(unit), where=unit > 0)
    given = np.minimum(needed, may_give)
    moved = np.zeros_like(unit)
    np.put_along_axis(moved, order, given, axis=1)
    result = np.broadcast_to(weights, per_unit.shape).copy()
    result -= moved
    result[row, taker] += moved.sum(axis=1)
    lowest = differences_at_corners(towards, least, largest).min(axis=1)
    is_never_reversed = (total == 0) | (lowest >= 0)
    result[is_never_reversed] = np.nan
    return result


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
    # The mean difference of the other aspects, shape (m, n).
    others = 1 - weights
    sum_of_others = weighted_sum[:, None] - weights * differences
    sum_of_others = remove_rounding_errors(sum_of_others, largest[:, None])
    unknown = np.full(differences.shape, np.nan)
    rest = np.divide(sum_of_others, others, out=unknown.copy(), where=others > 0)
    # The weight w at which w d + (1 - w) rest is 0.
    has_both_signs = rest * differences < 0
    result: Floats = np.divide(rest, rest - differences, out=unknown, where=has_both_signs)
    limit = np.where(result > weights, _largest_weights(weights, least), least)
    at_limit = limit * differences + (1 - limit) * rest
    at_limit = remove_rounding_errors(at_limit, largest[:, None])
    is_reversed = np.sign(at_limit) == -np.sign(total)[:, None]
    is_tie = (total == 0)[:, None]
    result[is_tie | ~is_reversed] = np.nan
    return result


def _largest_weights(weights: Floats, least: Floats) -> Floats:
    """Return the weight of each aspect at which another one, in proportion, has its least."""
    # The least factors of the weights of all aspects; those without weight keep 0.
    lowest = np.divide(least, weights, out=np.zeros_like(weights), where=weights > 0)
    factor = np.zeros_like(weights)
    for aspect in range(len(weights)):
        of_others = np.delete(lowest, aspect)
        factor[aspect] = of_others.max(initial=0.0)
    return np.asarray(1 - factor * (1 - weights))
