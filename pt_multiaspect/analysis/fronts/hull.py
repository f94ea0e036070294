"""Points that no other point dominates, and their hull. Higher is better in every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._typing import Bools, Floats, Ints
from ...kernels.pareto import TOLERANCE, front_of

#: Maximum distance, relative to the largest value, of a corner to the line of its neighbours if it is on that line.
_FLAT = 1e-13

#: Facets whose normals have a component below this limit face downwards.
_DOWN = -0.5

#: Components of normals up to this limit are 0 (rounding errors of Qhull).
_ZERO = 1e-10

#: Tolerance for equal distances along a path, as a fraction of its length.
_SAME = 1e-12

#: Tolerance for columns in which a point is as high as another.
_ROUNDING = 1e-12

#: Number of points above which the points of means are thinned, by the number of columns.
MOST_MEANS = {2: 10_000, 3: 2000}


@dataclass(frozen=True, eq=False)
class Hull:
    """The set of points that are at most as high, in every column, as a mixture of some corners."""

    #: The corners, shape (n_points, n_columns); none dominates another.
    points: Floats
    #: Non-negative normals of the facets, shape (n_facets, n_columns), which sum to 1, and their offsets: for
    #: all points of the hull, normal · point ≤ offset.
    normals: Floats
    offsets: Floats
    #: The parts that no point of the hull dominates: the indices of the ends of a segment or a triangle, or of a
    #: single point.
    pieces: list[Ints]

    @classmethod
    def of(cls, points: Floats) -> Hull:
        """Return the hull of points, none of which dominates another."""
        points, varying = _sort_points(points)
        normals, offsets, pieces = _BY_COLUMNS[len(varying)](points[:, varying])
        fixed = np.setdiff1d(np.arange(points.shape[1]), varying)
        all_normals = np.zeros((len(normals) + len(fixed), points.shape[1]))
        all_normals[np.ix_(np.arange(len(normals)), varying)] = normals
        all_normals[len(normals) + np.arange(len(fixed)), fixed] = 1.0
        total = all_normals.sum(axis=1)
        all_offsets = np.append(offsets, points[0, fixed])
        return cls(points, all_normals / total[:, None], all_offsets / total, pieces)

    @property
    def extreme(self) -> Ints:
        """The indices of the points that are ends of pieces, in the order of the points."""
        return np.unique(np.concatenate(self.pieces))

    def excess(self, points: Floats) -> Floats:
        """Return the excess of points over the hull: the maximum over weighted means, with weights summing to 1."""
        return np.asarray((points @ self.normals.T - self.offsets).max(axis=1), dtype=np.float64)

    def room(self, points: Floats) -> Floats:
        """Return the maximum increase of each column that leaves the others unchanged, shape (n, n_columns).

        Parameters
        ----------
        points : ndarray of float, shape (n, n_columns)
            Points of the hull.
        """
        slack = self.offsets - points @ self.normals.T
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(self.normals > 0, slack[:, :, None] / self.normals, np.inf)
        return np.asarray(np.maximum(room.min(axis=1), 0.0), dtype=np.float64)

    def distance(self, points: Floats) -> Floats:
        """Return the Euclidean distance of points to the nearest piece."""
        distances = [_distance(points, self.points[piece]) for piece in self.pieces]
        return np.asarray(np.min(distances, axis=0), dtype=np.float64)

    def volume(self, reference: Floats) -> float:
        """Return the volume of the hull above a reference point."""
        above = self.points - reference
        if not (above.max(axis=0) > 0).all():
            return 0.0
        if above.shape[1] == 2:
            (x, y) = above.T
            return float(x[0] * y[0] + ((x[:-1] + x[1:]) / 2 * np.diff(y)).sum())
        from scipy.spatial import ConvexHull

        return float(ConvexHull(_with_shadows(above, 0.0)).volume)

    def point_at(self, alpha: float) -> Floats:
        """Return the point at a fraction of the length of the path, shape (n_columns,)."""
        path = _path_lengths(self.points)
        return np.array([np.interp(alpha * path[-1], path, column) for column in self.points.T])


def _path_lengths(points: Floats) -> Floats:
    """Return the length of the path from the first point to each point."""
    return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))


def corners(points: Floats) -> Floats:
    """Return the corners of the hull of points, sorted by the first column, highest first."""
    points, varying = _sort_points(points[front_of(points)])
    if len(varying) == 2:
        return points[_chain(points[:, varying])]
    return points[Hull.of(points).extreme]


def _sort_points(points: Floats) -> tuple[Floats, Ints]:
    """Return points and the columns in which they differ by more than rounding errors: none, two or three.

    Of points that differ in no column, only one is returned; if they differ in two, they are sorted by the first of
    these, highest first.
    """
    near = TOLERANCE * np.maximum(np.abs(points).max(axis=0), 1.0)
    varying = np.flatnonzero(np.ptp(points, axis=0) > near)
    if len(varying) < 2:  # without a second column, one of the points would dominate the others
        return points[:1], varying[:0]
    if len(varying) == 2:
        points = points[np.argsort(-points[:, varying[0]], kind="stable")]
    return points, varying


def _chain(points: Floats) -> Ints:
    """Return the indices of the corners of points that are sorted by the first column, highest first."""
    flat = _FLAT * float(np.abs(points).max(initial=0.0))
    kept: list[int] = []
    xs, ys = points.T.tolist()
    for index, (x, y) in enumerate(zip(xs, ys, strict=True)):
        while len(kept) > 1:
            first, last = kept[-2], kept[-1]
            dx, dy = x - xs[first], y - ys[first]
            # The distance of the last point to the line from the one before to the new one.
            above = dy * (xs[last] - xs[first]) - dx * (ys[last] - ys[first])
            if above > flat * (dx * dx + dy * dy) ** 0.5:
                break
            kept.pop()
        kept.append(index)
    return np.array(kept, dtype=np.intp)


_Facets = tuple[Floats, Floats, list[Ints]]


def _point(points: Floats) -> _Facets:
    return np.zeros((0, 0)), np.zeros(0), [np.zeros(1, dtype=np.intp)]


def _segments(points: Floats) -> _Facets:
    """Return the facets of corners with two columns, sorted by the first column, highest first."""
    steps = np.diff(points, axis=0)
    normals = np.vstack([[1.0, 0.0], np.column_stack([steps[:, 1], -steps[:, 0]]), [0.0, 1.0]])
    normals /= normals.sum(axis=1, keepdims=True)
    first = np.append(0, np.arange(len(points)))
    offsets = (normals * points[first]).sum(axis=1)
    return normals, offsets, [np.array([index, index + 1]) for index in range(len(points) - 1)]


def _triangles(points: Floats) -> _Facets:
    """Return the facets of points with three columns."""
    from scipy.spatial import ConvexHull

    low, span = points.min(axis=0), np.ptp(points, axis=0)
    scaled = (points - low) / span
    hull = ConvexHull(_with_shadows(scaled, -1.0))
    directions = hull.equations[:, :3]
    is_upwards = directions.min(axis=1) > _DOWN
    upwards = np.flatnonzero(is_upwards)
    facing = np.where(directions > _ZERO, directions, 0.0)
    ends = hull.simplices[upwards]
    pieces = list(ends[(facing[upwards] > 0).all(axis=1) & (ends < len(points)).all(axis=1)])
    for opposite in range(3):
        # An edge is efficient if weights between the normals of its facets are all positive.
        neighbour, edge = hull.neighbors[upwards, opposite], np.delete(ends, opposite, axis=1)
        between = ((facing[upwards] + facing[neighbour]) > 0).all(axis=1)
        is_efficient = is_upwards[neighbour] & (upwards < neighbour) & between & (edge < len(points)).all(axis=1)
        pieces += list(edge[is_efficient])
    covered = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.intp)
    alone = np.setdiff1d(ends[ends < len(points)], covered)
    pieces += [np.array([index]) for index in alone]
    normals = facing[upwards] / span
    # Offsets of the points themselves, so that rounding errors of Qhull do not matter.
    offsets = (points @ normals.T).max(axis=0)
    return normals, offsets, pieces


_BY_COLUMNS = {0: _point, 2: _segments, 3: _triangles}


def _with_shadows(points: Floats, low: float) -> Floats:
    """Return points and copies with some columns lowered, so that their hull is the dominated set."""
    n_columns = points.shape[1]
    masks = (np.arange(1, 2**n_columns)[:, None] >> np.arange(n_columns)) & 1
    return np.vstack([points, *(np.where(mask, low, points) for mask in masks)])


def _distance(points: Floats, ends: Floats) -> Floats:
    """Return the distance of points to a single point, a segment or a triangle."""
    if len(ends) == 1:
        return np.asarray(np.linalg.norm(points - ends[0], axis=1), dtype=np.float64)
    if len(ends) == 2:
        along = ends[1] - ends[0]
        fraction = np.clip((points - ends[0]) @ along / (along @ along), 0.0, 1.0)
        return np.asarray(np.linalg.norm(points - ends[0] - fraction[:, None] * along, axis=1), dtype=np.float64)
    sides = [_distance(points, np.delete(ends, corner, axis=0)) for corner in range(3)]
    edges = (ends[1:] - ends[0]).T
    fractions = np.linalg.lstsq(edges, (points - ends[0]).T, rcond=None)[0]
    inside = (fractions >= 0).all(axis=0) & (fractions.sum(axis=0) <= 1)
    to_plane = np.linalg.norm((points - ends[0]).T - edges @ fractions, axis=0)
    return np.asarray(np.where(inside, to_plane, np.min(sides, axis=0)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Points:
    """The non-dominated points of the rankings of a topic."""

    #: Shape (n_points, n_columns), sorted by the first column, highest first.
    points: Floats

    @property
    def is_supported(self) -> Bools:
        """Mask of the points that are corners of the hull."""
        return np.asarray((self.points[:, None] == corners(self.points)).all(axis=2).any(axis=1))

    def excess(self, points: Floats) -> Floats:
        """Return the excess of each point, in some column, over the point of the front that it exceeds least."""
        return np.array([(point - self.points).max(axis=1).min() for point in points], dtype=np.float64)

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

    def point_at(self, alpha: float) -> Floats:
        """Return the point that is nearest, along the path, to a fraction of its length (the first one if tied)."""
        path = _path_lengths(self.points)
        away = np.abs(path - alpha * path[-1])
        first = int(np.flatnonzero(away <= away.min() + _SAME * path[-1])[0])
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
            kept, loss = _thin_points(sums)
            sums, lost = sums[kept], lost + loss
    return sums / len(topics), lost / len(topics)


def _thin_points(points: Floats) -> tuple[Ints, float]:
    """Return the indices of some points, and the maximum excess of the others over one of them in a column.

    In each cell of a grid over all columns but the last, the point with the highest last column is kept: the others
    are higher in the other columns only, by less than the size of the cell.
    """
    n_rest = points.shape[1] - 1
    rest = points[:, :n_rest]
    low, span = rest.min(axis=0), np.maximum(np.ptp(rest, axis=0), np.finfo(np.float64).tiny)
    n_cells = int((MOST_MEANS[n_rest + 1] / 2) ** (1 / n_rest))
    cell = np.minimum(((rest - low) / span * n_cells).astype(np.intp), n_cells - 1)
    _, point_cells = np.unique(cell, axis=0, return_inverse=True)
    point_cells = point_cells.ravel()
    order = np.lexsort((-points[:, -1], point_cells))
    first = order[np.append(True, np.diff(point_cells[order]) > 0)]
    loss = float((rest - rest[first][point_cells]).max())
    best = points.argmax(axis=0)
    return np.unique(np.append(first, best)), max(loss, 0.0)
