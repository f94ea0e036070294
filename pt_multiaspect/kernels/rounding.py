"""The decision which differences are rounding errors."""

from __future__ import annotations

import numpy as np

from .._typing import Floats

#: Differences of at most this, relative to the largest absolute value of both runs, are rounding
#: errors.
TOLERANCE = 1e-12


def remove_rounding_errors(differences: Floats, largest: Floats) -> Floats:
    """Return the differences between two runs, exactly 0 where they are rounding errors.

    Parameters
    ----------
    differences : ndarray of float
        Differences of values, of means of values, or weighted sums of these.
    largest : ndarray of float
        The largest absolute value of both runs, in a shape that broadcasts to that of the
        differences.
    """
    is_rounding_error = np.abs(differences) <= TOLERANCE * largest
    return np.where(is_rounding_error, 0.0, differences)
