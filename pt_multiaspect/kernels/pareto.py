"""Non-dominated sets of points; higher is better in every column."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints
from .hits import restore_order

#: Tolerance for equal values, relative to the maximum (rounding errors).
TOLERANCE = 1e-12

#: Maximum number of pairs that are compared at once.
_MOST_PAIRS = 4_000_000

#: Number of points that are compared at once with those kept.
_BLOCK = 256


def dominates(points: Floats, others: Floats, near: Floats) -> Bools:
    """Return whether points are at least as high as others in every column, and higher in one.

    Parameters
    ----------
    points, others : ndarray of float, shapes (..., n, n_columns) and (..., m, n_columns)
        The points; NaN dominates nothing and is dominated by nothing.
    near : ndarray of float, shape (..., n_columns)
        The maximum difference of equal values.

    Returns
    -------
    ndarray of bool, shape (..., n, m)
        Whether a point (row) dominates another (column).
    """
    at_least: Any = True
    above: Any = False
    for column in range(points.shape[-1]):
        left, right = points[..., :, None, column], others[..., None, :, column]
        tolerance = near[..., None, None, column]
        at_least = at_least & (left >= right - tolerance)
        above = above | (left > right + tolerance)
    return np.asarray(at_least & above, dtype=np.bool_)


def names_of_dominating(points: Floats, names: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the names of the points that dominate each point, shape (n_points, n_columns)."""
    above = dominates(points, points, TOLERANCE * np.abs(points).max(axis=0))
    return [tuple(names[row] for row in np.flatnonzero(column).tolist()) for column in above.T]


def is_on_front(scores: Floats) -> Bools:
    """Return a mask of the points that no other point of the same set dominates.

    Parameters
    ----------
    scores : ndarray of float, shape (..., n_points, n_columns)
        One or several sets of points. Points with NaN are on no front.

    Returns
    -------
    ndarray of bool, shape (..., n_points)
        Equal points are on the front together.
    """
    valid = np.asarray(~np.isnan(scores).any(axis=-1), dtype=np.bool_)
    scores = np.where(valid[..., None], scores, np.nan)
    near = TOLERANCE * np.fmax.reduce(np.abs(scores), axis=-2, initial=0.0)
    front = np.array(valid, dtype=np.bool_)
    at_once = max(1, _MOST_PAIRS // max(valid.size, 1))
    for start in range(0, scores.shape[-2], at_once):
        some = slice(start, start + at_once)
        front[..., some] &= ~dominates(scores, scores[..., some, :], near).any(axis=-2)
    return front


def front_of(points: Floats) -> Ints:
    """Return the indices of the points that no other point dominates, and only one of equal points.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, n_columns)
        The points, without NaN.

    Returns
    -------
    ndarray of int
        Sorted by the first column, highest first, then by the second, and so on.
    """
    levels = np.column_stack([_levels(column) for column in points.T])
    order = np.lexsort(tuple(-levels[:, ::-1].T))
    levels = levels[order]
    if points.shape[1] <= 2:
        return order[_is_rising(levels[:, -1])]
    return order[_sweep(levels) if points.shape[1] == 3 else _front_by_blocks(levels)]


def _is_rising(values: Ints) -> Bools:
    """Return a mask of the values that are higher than all preceding values."""
    return np.append(np.ones(min(len(values), 1), dtype=np.bool_), np.diff(np.maximum.accumulate(values)) > 0)


def _sweep(levels: Ints) -> Ints:
    """Return the indices of non-dominated points with three columns, sorted by the first, highest first."""
    kept = []
    # The staircase of the other two columns: the second ascending, the third therefore descending.
    seconds: list[int] = []
    thirds: list[int] = []
    for row, (second, third) in enumerate(levels[:, 1:].tolist()):
        index = bisect_left(seconds, second)
        if index < len(seconds) and thirds[index] >= third:
            continue
        kept.append(row)
        begin = index
        while begin > 0 and thirds[begin - 1] <= third:
            begin -= 1
        end = index + (index < len(seconds) and seconds[index] == second)
        seconds[begin:end], thirds[begin:end] = [second], [third]
    return np.array(kept, dtype=np.intp)


def _front_by_blocks(levels: Ints) -> Ints:
    """Return the indices of non-dominated points, sorted so that none is dominated by a later one."""
    kept = np.zeros(0, dtype=np.intp)
    for start in range(0, len(levels), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, len(levels)))
        covered = (levels[kept][:, None] >= levels[block]).all(axis=2).any(axis=0)
        block = block[~covered]
        at_least = np.asarray((levels[block][:, None] >= levels[block]).all(axis=2))
        kept = np.append(kept, block[~np.triu(at_least, 1).any(axis=0)])
    return kept


def staircases(values: Floats, group: NDArray[np.integer[Any]]) -> Ints:
    """Return the indices of the points that no other point of the group dominates, and only one of equal points.

    Parameters
    ----------
    values : ndarray of float, shape (n_points, n_columns)
        The points.
    group : ndarray of int, shape (n_points,)
        The group of each point.

    Returns
    -------
    ndarray of int
        Sorted by group.
    """
    if values.shape[1] > 2:
        order = np.argsort(group, kind="stable")
        bounds = np.flatnonzero(np.diff(group[order])) + 1
        return np.concatenate([part[front_of(values[part])] for part in np.split(order, bounds)])
    # Integers, which are equal if values are equal except for rounding, so that groups are distinct.
    levels = [_levels(column) for column in values.T]
    order = np.lexsort((*(-level for level in levels[::-1]), group))
    _, group_rank = np.unique(group[order], return_inverse=True)
    if values.shape[1] == 1:
        return order[_is_rising(group_rank.ravel())]
    return order[_is_rising(levels[1][order] + group_rank.ravel() * np.intp(len(order) + 1))]


def _levels(values: Floats) -> Ints:
    """Return the ranks of values, from 0, equal for values that are equal except for rounding."""
    order = np.argsort(values, kind="stable")
    near = TOLERANCE * np.abs(values).max(initial=0.0)
    return restore_order(order, np.cumsum(np.diff(values[order], prepend=values[order][:1]) > near))
