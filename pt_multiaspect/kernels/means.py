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
    return _clip_to_maximum(
        np.asarray((weights * values).sum(axis=0), dtype=np.float64), values, weights
    )


def harmonic(values: Floats, weights: Floats) -> Floats:
    """Return Σ w / Σ (w / x); 0 if any x is 0."""
    counted, defined = _counting_terms(values, weights)
    reciprocals = np.divide(
        weights, values, out=np.zeros_like(values), where=counted & (values > 0)
    ).sum(axis=0)
    return _clip_to_maximum(
        np.where(defined, ratio(weights.sum(axis=0), reciprocals), 0.0), values, weights
    )


def harmonic_slope(values: Floats, weights: Floats) -> Floats:
    """Return the gradient of `harmonic` at positive values."""
    return np.asarray(weights * (harmonic(values, weights) / values) ** 2, dtype=np.float64)


def geometric(values: Floats, weights: Floats) -> Floats:
    """Return Π x^w; 0 if any x is 0."""
    counted, defined = _counting_terms(values, weights)
    logs = np.log(values, out=np.zeros_like(values), where=counted & (values > 0))
    return _clip_to_maximum(
        np.where(defined, np.exp((weights * logs).sum(axis=0)), 0.0), values, weights
    )


def geometric_slope(values: Floats, weights: Floats) -> Floats:
    """Return the gradient of `geometric` at positive values."""
    return np.asarray(weights * geometric(values, weights) / values, dtype=np.float64)


def _counting_terms(values: Floats, weights: Floats) -> tuple[Bools, Bools]:
    """Return masks of the terms that count, and of columns in which terms count and all of them are positive."""
    counted = weights > 0
    defined = (~counted | (values > 0)).all(axis=0) & counted.any(axis=0)
    return counted, np.asarray(defined, dtype=np.bool_)


def _clip_to_maximum(mean: Floats, values: Floats, weights: Floats) -> Floats:
    """Clip a mean at the maximum of its values, which rounding may exceed; 0 where no term counts."""
    highest = np.where(weights > 0, values, -np.inf).max(axis=0)
    return np.where(np.isneginf(highest), 0.0, np.minimum(mean, highest))
