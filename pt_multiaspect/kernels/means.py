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
    """Return Σ w x; the weights must sum to 1 or be all 0."""
    mean = np.asarray((weights * values).sum(axis=0), dtype=np.float64)
    return _clip_to_maximum(mean, values, weights)


def harmonic(values: Floats, weights: Floats) -> Floats:
    """Return Σ w / Σ (w / x); 0 if any x is 0."""
    is_counted, is_defined = _counting_terms(values, weights)
    reciprocals = np.zeros_like(values)
    np.divide(weights, values, out=reciprocals, where=is_counted & (values > 0))
    mean = ratio(weights.sum(axis=0), reciprocals.sum(axis=0))
    return _clip_to_maximum(np.where(is_defined, mean, 0.0), values, weights)


def harmonic_slope(values: Floats, weights: Floats) -> Floats:
    """Return the gradient of `harmonic` at positive values."""
    relative = harmonic(values, weights) / values
    return np.asarray(weights * relative**2, dtype=np.float64)


def geometric(values: Floats, weights: Floats) -> Floats:
    """Return Π x^w; 0 if any x is 0."""
    is_counted, is_defined = _counting_terms(values, weights)
    logs = np.log(values, out=np.zeros_like(values), where=is_counted & (values > 0))
    mean = np.exp((weights * logs).sum(axis=0))
    return _clip_to_maximum(np.where(is_defined, mean, 0.0), values, weights)


def geometric_slope(values: Floats, weights: Floats) -> Floats:
    """Return the gradient of `geometric` at positive values."""
    return np.asarray(weights * geometric(values, weights) / values, dtype=np.float64)


def _counting_terms(values: Floats, weights: Floats) -> tuple[Bools, Bools]:
    """Return masks of the terms that count, and of the columns whose mean is not 0.

    In these, some term counts, and all that count are positive.
    """
    is_counted = weights > 0
    is_positive = (~is_counted | (values > 0)).all(axis=0)
    is_defined = is_positive & is_counted.any(axis=0)
    return is_counted, np.asarray(is_defined, dtype=np.bool_)


def _clip_to_maximum(mean: Floats, values: Floats, weights: Floats) -> Floats:
    """Clip a mean at the maximum of its values, which rounding may exceed.

    The result is 0 where no term counts.
    """
    counted_values = np.where(weights > 0, values, -np.inf)
    highest = counted_values.max(axis=0)
    return np.where(np.isneginf(highest), 0.0, np.minimum(mean, highest))
