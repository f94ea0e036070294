"""Weighted means of values, and their slopes.

Values and weights have the shape (n_terms, n); weights are at least 0, and terms of weight 0 do not count.
All means f are concave with f(c·x) = c·f(x), so that by Euler's theorem f(x) = Σ x · slope(x).
"""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats
from .hits import ratio

__all__ = ["arithmetic", "geometric", "geometric_slope", "harmonic", "harmonic_slope"]


def arithmetic(values: Floats, weights: Floats) -> Floats:
    """Σ w x, where the weights sum to 1, or are all 0."""
    return _not_above(np.asarray((weights * values).sum(axis=0), dtype=np.float64), values, weights)


def harmonic(values: Floats, weights: Floats) -> Floats:
    """Σ w / Σ (w / x); 0 where any x is 0."""
    counted, defined = _counted(values, weights)
    burdens = np.divide(weights, values, out=np.zeros_like(values), where=counted & (values > 0)).sum(axis=0)
    return _not_above(np.where(defined, ratio(weights.sum(axis=0), burdens), 0.0), values, weights)


def harmonic_slope(values: Floats, weights: Floats) -> Floats:
    """The slope of `harmonic` at positive values."""
    return np.asarray(weights * (harmonic(values, weights) / values) ** 2, dtype=np.float64)


def geometric(values: Floats, weights: Floats) -> Floats:
    """Π x^w; 0 where any x is 0."""
    counted, defined = _counted(values, weights)
    logs = np.log(values, out=np.zeros_like(values), where=counted & (values > 0))
    return _not_above(np.where(defined, np.exp((weights * logs).sum(axis=0)), 0.0), values, weights)


def geometric_slope(values: Floats, weights: Floats) -> Floats:
    """The slope of `geometric` at positive values."""
    return np.asarray(weights * geometric(values, weights) / values, dtype=np.float64)


def _counted(values: Floats, weights: Floats) -> tuple[Bools, Bools]:
    """Which terms count, and where there are such and all of them are positive."""
    counted = weights > 0
    defined = (~counted | (values > 0)).all(axis=0) & counted.any(axis=0)
    return counted, np.asarray(defined, dtype=np.bool_)


def _not_above(mean: Floats, values: Floats, weights: Floats) -> Floats:
    """A mean is above the maximum of its values by rounding only; 0 where nothing counts."""
    highest = np.where(weights > 0, values, -np.inf).max(axis=0)
    return np.where(np.isneginf(highest), 0.0, np.minimum(mean, highest))
