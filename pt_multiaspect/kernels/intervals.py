"""Confidence intervals of means."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Floats

#: Number of bootstrap samples, and of topics drawn at once (32 MB).
_SAMPLES, _CHUNK = 10_000, 4_000_000


def bootstrap_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of the means of bootstrap samples, independent of the order of the values.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        At least two values.
    confidence : float in (0, 1)
        The confidence level.

    Returns
    -------
    low, high : float
        The ends of the interval.
    """
    ordered, rng = np.sort(values), np.random.default_rng(0)
    size = max(1, _CHUNK // len(values))
    means = np.concatenate(
        [
            ordered[rng.integers(len(values), size=(min(size, _SAMPLES - start), len(values)))].mean(axis=1)
            for start in range(0, _SAMPLES, size)
        ]
    )
    # Means of equal values may differ from them by rounding.
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2]).clip(ordered[0], ordered[-1])
    return float(low), float(high)


def half_width(values: Floats, confidence: float) -> Floats:
    """Return half the width of Student's t interval of means.

    Parameters
    ----------
    values : ndarray of float, shape (..., n)
        At least two values for each mean.
    confidence : float in (0, 1)
        The confidence level.

    Returns
    -------
    ndarray of float, shape (...)
        The t quantile of n − 1 degrees of freedom times the standard error of the mean; 0 if all values are equal.
    """
    from scipy.special import stdtrit

    n = values.shape[-1]
    # If all values are equal, their deviations from the mean may be rounding errors.
    is_spread = values.max(axis=-1) != values.min(axis=-1)
    error = is_spread * values.std(axis=-1, ddof=1) / math.sqrt(n)
    return np.asarray(stdtrit(n - 1, (1 + confidence) / 2) * error, dtype=np.float64)


def mean_interval(values: Floats, confidence: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return Student's t interval of the mean, limited to the range of the values.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        At least two values.
    confidence : float in (0, 1)
        The confidence level.
    limits : tuple of float
        Minimum and maximum possible value; extended to the values themselves if these are outside.

    Returns
    -------
    low, high : float
        The ends of the interval.
    """
    mean, half = float(values.mean()), float(half_width(values, confidence))
    low, high = min(limits[0], float(values.min())), max(limits[1], float(values.max()))
    return max(mean - half, low), min(mean + half, high)
