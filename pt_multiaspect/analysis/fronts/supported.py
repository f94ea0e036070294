"""Supported points: those that are best for some weighted mean of the measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..._typing import Floats
from ...kernels.pareto import TOLERANCE
from .hull import Hull, corners
from .linear import LinearTopic

#: Maximum number of keys (twice the number of critical weights × documents) to sort for one topic: some seconds.
_MOST_KEYS = 400_000_000


def supported_points(topic: LinearTopic, limit: int) -> tuple[Floats, float]:
    """Return the corners of the hull of the values that rankings of a topic attain.

    Parameters
    ----------
    topic : LinearTopic
        The topic.
    limit : int
        The number of points at which refinement of the hull stops, unless it is computed from all critical weights.

    Returns
    -------
    points : ndarray of float, shape (n_points, n_measures)
    gap : float
        The maximum by which a weighted mean, with weights summing to 1, can exceed that of the points.
    """
    if topic.gain is not None and topic.n_measures == 2:
        types = np.unique(topic.gain, axis=1)
        if types.shape[1] ** 2 * topic.gain.shape[1] <= _MOST_KEYS:
            return corners(topic.sorted_by(_critical_weights(types))), 0.0
    return refined(topic.best, topic.n_measures, limit)


def _critical_weights(types: Floats) -> Floats:
    """Return a weight in each interval with a constant order of documents by weighted gains.

    The order changes only where the weighted gains of two documents are equal. Between neighbouring critical
    weights, the ranking is constant, so that the rankings at these weights include all corners.
    """
    largest = types.max(axis=1, initial=0.0)
    # A power of two changes no digit: equal ratios of gains remain equal.
    exponent = np.where(largest > 0, np.frexp(largest)[1], 0)
    first, second = np.ldexp(types, -exponent[:, None])
    a, b = np.triu_indices(len(first), 1)
    up, down = first[b] - first[a], second[a] - second[b]
    crossing = (up > 0) & (down > 0)
    critical = np.unique(down[crossing] / (up[crossing] + down[crossing]))
    ends = np.concatenate([[0.0], critical, [1.0]])
    between = (ends[1:] + ends[:-1]) / 2
    return np.asarray(np.ldexp(np.column_stack([between, 1.0 - between]), -exponent), dtype=np.float64)


def refined(best: Callable[[Floats], Floats], n_measures: int, limit: int) -> tuple[Floats, float]:
    """Return the corners of the hull of a set of points, given its best points for weighted sums.

    The hull of the points found so far is refined: each facet is moved outwards until it touches the set. As
    weights between the normals of facets that meet in a corner are sums of these, the largest move bounds the
    gain of any weighted mean.

    Parameters
    ----------
    best : callable
        Returns a best point for each weighted sum, shapes (n, n_measures).
    n_measures : int
        Number of measures.
    limit : int
        The number of points at which refinement of the hull stops.

    Returns
    -------
    points : ndarray of float, shape (n_points, n_measures)
    gap : float
        The maximum by which a weighted mean, with weights summing to 1, can exceed that of the points; 0 if the
        hull is exact.
    """
    points = corners(best(np.vstack([np.eye(n_measures), np.ones((1, n_measures))])))
    while True:
        hull = Hull.of(points)
        touching = best(hull.normals)
        moves = (hull.normals * touching).sum(axis=1) - hull.offsets
        near = TOLERANCE * max(1.0, float(np.abs(touching).max(initial=0.0)))
        outside = moves > near
        gap = float(np.where(outside, moves, 0.0).max())
        if not outside.any() or len(points) >= limit:
            return points, gap
        extended = corners(np.vstack([points, touching[outside]]))
        if extended.shape == points.shape and np.array_equal(extended, points):
            return points, gap
        points = extended


def chain_of_means(topics: Sequence[Floats]) -> Floats:
    """Return the corners of the mean of hulls of two columns.

    This is the mean of the topics' points at equal weights: the hulls' segments, concatenated by slope.

    Parameters
    ----------
    topics : sequence of ndarray of float, shape (n_points, 2)
        The corners of each topic, sorted by the first column, highest first.
    """
    steps = np.concatenate([np.diff(points, axis=0) for points in topics])
    steps = steps[np.argsort(np.arctan2(-steps[:, 0], steps[:, 1]), kind="stable")]
    start = np.sum([points[0] for points in topics], axis=0)
    return corners((start + np.vstack([np.zeros((1, 2)), np.cumsum(steps, axis=0)])) / len(topics))
