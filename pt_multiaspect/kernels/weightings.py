"""Weighted sums of differences over all weightings, the points of a simplex."""

from __future__ import annotations

import numpy as np

from .._typing import Floats

#: Sums of at most this, relative to the largest difference, are 0 (rounding errors).
_TOLERANCE = 1e-12


def simplex_points(n_points: int, n_aspects: int, seed: int) -> Floats:
    """Return weightings that are spread evenly over the simplex: a scrambled Sobol sequence of the given seed.

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

    draws = qmc.Sobol(n_aspects - 1, seed=seed).random_base2(int(n_points).bit_length() - 1)
    # The gaps between sorted uniform numbers are uniform on the simplex.
    return np.diff(np.sort(draws, axis=1), axis=1, prepend=0.0, append=1.0)


def positive_fraction(differences: Floats) -> Floats:
    """Return the fraction of all weightings w under which the weighted sum Σ_a w_a d_a is positive.

    Weightings are distributed uniformly on the simplex (w_a ≥ 0, Σ_a w_a = 1). For d sorted upwards, the
    fraction f is 1 if d_1 ≥ 0 < d_n, 0 if d_n ≤ 0, and else (d_n f(d_2 … d_n) − d_1 f(d_1 … d_{n−1})) / (d_n −
    d_1), in which nothing cancels, also if values repeat.

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
    fractions = [np.array(ordered[..., first] > 0, dtype=np.float64) for first in range(n)]
    for length in range(2, n + 1):
        for first in range(n - length + 1):
            low, high = ordered[..., first], ordered[..., first + length - 1]
            mixed = (low < 0) & (high > 0)
            numerator = high * fractions[first + 1] - low * fractions[first]
            whole = np.array(high > 0, dtype=np.float64)
            fractions[first] = np.divide(numerator, high - low, out=whole, where=mixed)
    return np.minimum(fractions[0], 1.0)


def weighted_sum(differences: Floats, weights: Floats) -> Floats:
    """Return Σ_a w_a d_a, pairs of differences × aspects, exactly 0 where it is a rounding error."""
    return _without_rounding_errors(differences @ weights, np.abs(differences).max(axis=-1, initial=0.0))


def _without_rounding_errors(sums: Floats, scale: Floats) -> Floats:
    """Return sums, and 0 where they are rounding errors of terms of a scale."""
    return np.where(np.abs(sums) <= _TOLERANCE * scale, 0.0, sums)


def nearest_reversal(differences: Floats, weights: Floats, least: Floats) -> Floats:
    """Return the nearest weighting, by total variation, at which the sign of Σ_a w_a d_a reverses.

    Weight moves from the aspects with the highest differences, in the direction of the sum, to the one with the
    lowest, until the sum is 0.

    Parameters
    ----------
    differences : ndarray of float, shape (m, n)
        The differences d.
    weights, least : ndarray of float, shape (n,)
        The weighting to start from, and the least weight of each aspect.

    Returns
    -------
    ndarray of float, shape (m, n)
        The weightings, at which the sum is 0; NaN where no weighting reverses the sign, or the sum is 0.
    """
    total = weighted_sum(differences, weights)
    towards = differences * np.sign(total)[:, None]
    row = np.arange(len(differences))
    taker = towards.argmin(axis=1)
    per_unit = towards - towards[row, taker][:, None]
    order = np.argsort(-towards, axis=1, kind="stable")
    # Σ |w_a d_a| that is left to take before each aspect, and what each may give.
    may_give = np.take_along_axis(np.broadcast_to(weights - least, per_unit.shape), order, axis=1)
    unit = np.take_along_axis(per_unit, order, axis=1)
    before = np.cumsum(may_give * unit, axis=1) - may_give * unit
    left = np.maximum(np.abs(total)[:, None] - before, 0.0)
    given = np.minimum(np.divide(left, unit, out=np.zeros_like(unit), where=unit > 0), may_give)
    result = np.broadcast_to(weights, per_unit.shape).copy()
    moved = np.zeros_like(unit)
    np.put_along_axis(moved, order, given, axis=1)
    result -= moved
    result[row, taker] += moved.sum(axis=1)
    # The lowest sum that weights at their least values allow.
    lowest = weighted_sum(towards, least) + (1 - least.sum()) * towards[row, taker]
    result[(total == 0) | (lowest >= 0)] = np.nan
    return result


def reversing_weight(differences: Floats, weights: Floats, least: Floats) -> Floats:
    """Return the weight of each aspect at which the sign of Σ_a w_a d_a reverses, the others in proportion.

    Parameters
    ----------
    differences, weights, least
        As for `nearest_reversal`.

    Returns
    -------
    ndarray of float, shape (m, n)
        The weights; NaN where no weight of the aspect reverses the sign, or another would be below its least.
    """
    others = 1 - weights
    unknown = np.full(differences.shape, np.nan)
    rest = (differences @ weights)[:, None] - weights * differences
    rest = _without_rounding_errors(rest, np.abs(differences).max(axis=-1, initial=0.0)[:, None])
    rest = np.divide(rest, others, out=unknown.copy(), where=others > 0)
    result: Floats = np.divide(rest, rest - differences, out=unknown, where=rest * differences < 0)
    # The factor by which the weights of the others change must keep them above their least values.
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (1 - result) / others
    # Aspects without weight keep 0.
    lowest = np.divide(least, weights, out=np.zeros_like(weights), where=weights > 0)
    bound = np.array([np.delete(lowest, aspect).max(initial=0.0) for aspect in range(len(weights))])
    result[(factor < bound) | (result < least)] = np.nan
    return result
