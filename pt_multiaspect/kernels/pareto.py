"""Non-dominated points; higher is better in every column."""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats

#: Tolerance for equal values, relative to the maximum (rounding errors).
_TOLERANCE = 1e-12

#: Maximum number of pairs that are compared at once.
_MOST_PAIRS = 4_000_000


def is_on_front(points: Floats) -> Bools:
    """Return a mask of the points that no other point dominates.

    A point dominates another if it is at least as high in every column, and higher in one.

    Parameters
    ----------
    points : ndarray of float, shape (n_points, n_columns)
        Points with NaN are not on the front.

    Returns
    -------
    ndarray of bool, shape (n_points,)
        Equal points are on the front together.
    """
    has_nan = np.asarray(np.isnan(points).any(axis=1), dtype=np.bool_)
    is_valid = ~has_nan
    valid = points[is_valid]
    highest = np.abs(valid).max(axis=0, initial=0.0)
    near = _TOLERANCE * highest
    n_others = max(len(valid), 1)
    at_once = max(1, _MOST_PAIRS // n_others)
    on_front = np.ones(len(valid), dtype=np.bool_)
    for start in range(0, len(valid), at_once):
        block = slice(start, start + at_once)
        on_front[block] = ~_is_dominated(valid[block], valid, near)
    result = np.zeros(len(points), dtype=np.bool_)
    result[is_valid] = on_front
    return result


def _is_dominated(points: Floats, others: Floats, near: Floats) -> Bools:
    """Return whether any of the others dominates each point.

    `near` is the maximum difference of equal values, per column.
    """
    at_least = np.ones((len(points), len(others)), dtype=np.bool_)
    above = np.zeros((len(points), len(others)), dtype=np.bool_)
    for column, tolerance in enumerate(near):
        point = points[:, None, column]
        other = others[None, :, column]
        at_least &= other >= point - tolerance
        above |= other > point + tolerance
    dominates = at_least & above  # (n_points, n_others)
    return np.asarray(dominates.any(axis=1), dtype=np.bool_)
