"""Agreement with preferences, whose preferences of one topic are not independent."""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Ints

#: Sums that differ by at most this, relative to the number of preferences of a topic, are equal (rounding errors).
_TOLERANCE = 1e-12


def sums_by_topic(rows: Floats, topics: Ints) -> Floats:
    """Return the sums of the rows of each topic that has some, topics × columns."""
    _, code = np.unique(topics, return_inverse=True)
    sums: Floats = np.zeros((int(code.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, code, rows)
    return sums


def agreement_interval(sums: Floats, counts: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return means over all preferences and their intervals, Wilson's with the effective number of preferences.

    Parameters
    ----------
    sums : ndarray of float, shape (n_topics, n)
        The sums of the credits of each topic's preferences, which are in [0, 1].
    counts : ndarray of float, shape (n_topics,)
        The numbers of preferences.
    confidence : float in (0, 1)
        The confidence level.

    Returns
    -------
    mean, low, high : ndarray of float, shape (n,)
        The means are NaN without preferences; so are the limits for fewer than two topics.
    """
    from scipy.special import stdtrit

    mean, variance = mean_and_variance(sums, counts)
    n_topics = len(counts)
    if n_topics < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    spread = (mean * (1 - mean)).clip(min=0)
    n = np.minimum(counts.sum(), np.divide(spread, variance, out=np.full_like(mean, n_topics), where=variance > 0))
    square = stdtrit(n_topics - 1, (1 + confidence) / 2) ** 2
    centre = (mean + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(square * (spread / n + square / (4 * n**2))) / (1 + square / n)
    # Rounding errors must not exclude the mean, or leave [0, 1].
    return mean, np.minimum(centre - half, mean).clip(min=0), np.maximum(centre + half, mean).clip(max=1)


def mean_and_variance(sums: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return means over all preferences, and the variances of these for topics as clusters; see above."""
    total, n_topics = counts.sum(), len(counts)
    if n_topics < 1:
        return np.full(sums.shape[1], np.nan), np.full(sums.shape[1], np.nan)
    mean = np.asarray(sums.sum(axis=0) / total)
    if n_topics < 2:
        return mean, np.full_like(mean, np.nan)
    rest = sums - counts[:, None] * mean
    rest[np.abs(rest) <= _TOLERANCE * counts.max()] = 0.0
    return mean, n_topics / (n_topics - 1) * (rest**2).sum(axis=0) / total**2
