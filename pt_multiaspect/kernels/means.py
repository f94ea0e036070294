"""Weighted means and their gradients.

Values and weights have the shape (n_terms, n). Weights are non-negative; terms with weight 0 are
ignored. All means f are concave and homogeneous, f(c·x) = c·f(x), so that f(x) = Σ x · slope(x) by
Euler's theorem.
"""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats
from .hits import ratio


def arithmetic(values: Floats, weights: Floats) -> Floats:
    """Return Σ w x; the weights must sum to 1 or be all 0.

    Values x and weights w have the shape (n_terms, n_queries), as in the other functions.
    """
    products = weights * values
    sum_of_products = products.sum(axis=0)
    mean = np.asarray(sum_of_products, dtype=np.float64)
    return _clip_to_maximum(mean, values, weights)


def harmonic(values: Floats, weights: Floats) -> Floats:
    """Return Σ w / Σ (w / x); 0 if any x is 0."""
    # Terms without weight count for nothing, and 0 cannot be divided by.
    is_positive = values > 0
    is_counted = weights > 0
    can_divide = is_counted & is_positive
    weighted_reciprocals = np.zeros_like(values)
    np.divide(weights, values, out=weighted_reciprocals, where=can_divide)
    sum_of_weights = weights.sum(axis=0)
    sum_of_reciprocals = weighted_reciprocals.sum(axis=0)
    mean_without_zeros = ratio(sum_of_weights, sum_of_reciprocals)

    has_positive_mean = _has_positive_mean(is_counted, is_positive)
    mean = np.where(has_positive_mean, mean_without_zeros, 0.0)
    return _clip_to_maximum(mean, values, weights)


def harmonic_slope(values: Floats, weights: Floats) -> Floats:
    """Return the gradient of `harmonic` at positive values, w (mean / x)² for weights of sum 1."""
    mean = harmonic(values, weights)
    relative_mean = mean / values
    slope = weights * relative_mean**2
    return np.asarray(slope, dtype=np.float64)


def geometric(values: Floats, weights: Floats) -> Floats:
    """Return Π x^w; 0 if any x is 0."""
    is_positive = values > 0
    is_counted = weights > 0
    # Terms without weight count for nothing, and 0 has no logarithm.
    has_log = is_counted & is_positive
    logs = np.zeros_like(values)
    np.log(values, out=logs, where=has_log)
    weighted_logs = weights * logs
    mean_log = weighted_logs.sum(axis=0)
    mean = np.exp(mean_log)
    has_positive_mean = _has_positive_mean(is_counted, is_positive)
    mean = np.where(has_positive_mean, mean, 0.0)
    return _clip_to_maximum(mean, values, weights)


def geometric_slope(values: Floats, weights: Floats) -> Floats:
    """Return the gradient of `geometric` at positive values, w mean / x."""
    mean = geometric(values, weights)
    slope = weights * mean / values
    return np.asarray(slope, dtype=np.float64)


def _has_positive_mean(is_counted: Bools, is_positive: Bools) -> Bools:
    """Return a mask of the queries with some counted terms, all of which are positive.

    Both masks are of terms, of shape (n_terms, n_queries).
    """
    is_counted_zero = is_counted & ~is_positive
    has_zero = is_counted_zero.any(axis=0)
    has_terms = is_counted.any(axis=0)
    has_positive_mean = has_terms & ~has_zero
    return np.asarray(has_positive_mean, dtype=np.bool_)


def _clip_to_maximum(mean: Floats, values: Floats, weights: Floats) -> Floats:
    """Clip the mean of each query at its highest value, which rounding may exceed.

    The result is 0 for a query without a weighted term.
    """
    is_counted = weights > 0
    # Values without weight must not be the highest.
    counted_values = np.where(is_counted, values, -np.inf)
    highest = counted_values.max(axis=0)
    has_no_terms = np.isneginf(highest)
    clipped = np.minimum(mean, highest)
    return np.where(has_no_terms, 0.0, clipped)
