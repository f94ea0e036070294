"""Finite sets of points, none of which dominates another. Higher is better in every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._typing import Bools, Floats, Ints
from ...kernels.pareto import front_of
from .hull import corners

#: Tolerance for equal distances along a path, as a fraction of its length.
_SAME = 1e-12

#: Tolerance for columns in which a point is as high as another.
_ROUNDING = 1e-12

#: Number of points above which the points of means are thinned, by the number of columns.
MOST_MEANS = {2: 10_000, 3: 2000}

#: Maximum number of cells (points × systems) compared at once.
_MOST_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class Points:
    """The non-dominated points of the rankings of a topic."""

    #: Shape (n_points, n_columns), sorted by the first column, highest first.
    points: Floats

    @property
    def is_supported(self) -> Bools:
        """Mask of the points that are corners of the hull."""
        supported = {tuple(corner) for corner in corners(self.points).tolist()}
        return np.array([tuple(point) in supported for point in self.points.tolist()], dtype=np.bool_)

    def excess(self, points: Floats) -> Floats:
        """Return the excess of each point, in some column, over the point of the front that it exceeds least."""
        parts = [(point[None] - self.points).max(axis=1).min() for point in points]
        return np.array(parts, dtype=np.float64)

    def room(self, points: Floats) -> Floats:
        """Return the maximum increase of each column with the others at least as high, shape (n, n_columns)."""
        room = np.zeros(points.shape)
        for column in range(points.shape[1]):
            rest = np.delete(np.arange(points.shape[1]), column)
            for row, point in enumerate(points):
                enough = (self.points[:, rest] >= point[rest] - _ROUNDING).all(axis=1)
                room[row, column] = self.points[enough, column].max(initial=point[column]) - point[column]
        return room

    def distance(self, points: Floats) -> Floats:
        """Return the Euclidean distance of points to the nearest point."""
        return np.array([np.linalg.norm(self.points - point, axis=1).min() for point in points])

    def volume(self, reference: Floats) -> float:
        """Return the volume that the points dominate above a reference point."""
        return _volume(np.maximum(self.points - reference, 0.0))

    @cached_property
    def path(self) -> Floats:
        """The length of the path from the first point to each point."""
        return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(self.points, axis=0), axis=1)))

    def along(self, alpha: float) -> Floats:
        """Return the point that is nearest, along the path, to a fraction of its length (the first one if tied)."""
        away = np.abs(self.path - alpha * self.path[-1])
        first = int(np.flatnonzero(away <= away.min() + _SAME * self.path[-1])[0])
        return np.asarray(self.points[first], dtype=np.float64)


def _volume(points: Floats) -> float:
    """Return the volume that non-negative points dominate, by slices of the last column."""
    if points.shape[1] == 1:
        return float(points.max(initial=0.0))
    if points.shape[1] == 2:
        highest = points[front_of(points)]
        return float((highest[:, 0] * np.diff(highest[:, 1], prepend=0.0)).sum())
    order = np.argsort(-points[:, -1], kind="stable")
    heights = points[order, -1] - np.append(points[order[1:], -1], 0.0)
    slices = (
        height * _volume(points[order[: index + 1], :-1])
        for index, height in enumerate(heights.tolist())
        if height > 0
    )
    return float(sum(slices))


def mean_points(topics: Sequence[Floats]) -> tuple[Floats, float]:
    """Return the non-dominated means of one point of each topic.

    Every sum is extended by every point, topic by topic. If more than `MOST_MEANS` non-dominated sums are left, one
    of those that are nearly equal is kept.

    Parameters
    ----------
    topics : sequence of ndarray of float, shape (n_points, n_columns)
        The points of each topic.

    Returns
    -------
    points : ndarray of float, shape (n_points, n_columns)
        Attainable means, sorted by the first column, highest first.
    gap : float
        The maximum by which an attainable mean exceeds, in each column, one of the points; 0 if all are
        returned.
    """
    sums, lost = np.zeros((1, topics[0].shape[1])), 0.0
    for points in topics:
        sums = (sums[:, None] + points).reshape(-1, points.shape[1])
        sums = sums[front_of(sums)]
        if len(sums) > MOST_MEANS[sums.shape[1]]:
            kept, loss = _thinned(sums)
            sums, lost = sums[kept], lost + loss
    return sums / len(topics), lost / len(topics)


def _thinned(points: Floats) -> tuple[Ints, float]:
    """Return the indices of some points, and the maximum excess of the others over one of them in a column.

    In each cell of a grid over all columns but the last, the point with the highest last column is kept: the others
    are higher in the other columns only, by less than the size of the cell.
    """
    n_rest = points.shape[1] - 1
    rest = points[:, :n_rest]
    low, span = rest.min(axis=0), np.maximum(np.ptp(rest, axis=0), np.finfo(np.float64).tiny)
    n_cells = int((MOST_MEANS[n_rest + 1] / 2) ** (1 / n_rest))
    cell = np.minimum(((rest - low) / span * n_cells).astype(np.intp), n_cells - 1)
    _, of_cell = np.unique(cell, axis=0, return_inverse=True)
    of_cell = of_cell.ravel()
    order = np.lexsort((-points[:, -1], of_cell))
    first = order[np.append(True, np.diff(of_cell[order]) > 0)]
    loss = float((rest - rest[first][of_cell]).max())
    best = points.argmax(axis=0)
    return np.unique(np.append(first, best)), max(loss, 0.0)
