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
    is_nan = np.isnan(points)
    has_nan = np.asarray(is_nan.any(axis=1), dtype=np.bool_)
    is_candidate = ~has_nan
    candidates = points[is_candidate]
    n_candidates = len(candidates)
    highest = np.abs(candidates).max(axis=0, initial=0.0)
    tolerances = _TOLERANCE * highest  # (n_columns,)
    # Blocks of points are compared with all candidates, to limit the memory.
    block_size = _MOST_PAIRS // max(n_candidates, 1)
    block_size = max(block_size, 1)
    is_non_dominated = np.ones(n_candidates, dtype=np.bool_)
    for start in range(0, n_candidates, block_size):
        block = slice(start, start + block_size)
        is_dominated = _is_dominated(candidates[block], candidates, tolerances)
        is_non_dominated[block] = ~is_dominated
    result = np.zeros(len(points), dtype=np.bool_)
    result[is_candidate] = is_non_dominated
    return result


def _is_dominated(points: Floats, others: Floats, tolerances: Floats) -> Bools:
    """Return a mask of the points that any of the others dominates.

    Values of a column are equal if they differ by at most its tolerance.
    """
    shape = (len(points), len(others))
    is_as_high = np.ones(shape, dtype=np.bool_)  # in all columns
    is_higher = np.zeros(shape, dtype=np.bool_)  # in some column
    for column, tolerance in enumerate(tolerances):
        # A column of points and a row of others broadcast to all pairs.
        point = points[:, None, column]
        other = others[None, :, column]
        is_as_high &= other >= point - tolerance
        is_higher |= other > point + tolerance
    dominates = is_as_high & is_higher
    return np.asarray(dominates.any(axis=1), dtype=np.bool_)
