"""Scales inferred from labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._numbers import number
from ..errors import MultiAspectError
from .aspect import LONGEST

__all__ = ["infer_grades"]


def infer_grades(labels: NDArray[np.float64], *, identity: bool = False) -> tuple[float, ...]:
    """Return the scale that `labels` (NaN where unjudged) come from, in increasing order.

    Whole labels give 0..max. Otherwise the distinct labels, negative ones taken as 0: by
    TREC's convention they mark junk. Probabilities (`identity`) always start at 0.
    """
    known = np.maximum(labels[~np.isnan(labels)], 0.0)
    if identity:
        known = np.append(known, 0.0)
    if not len(known):
        return (0,)
    distinct = np.unique(known)
    if not identity and np.all(distinct == np.floor(distinct)):
        top = int(distinct[-1])
        if top > LONGEST:
            raise MultiAspectError(
                f"labels go up to {top}; a 0..n scale of that length is not inferred, declare the grades"
            )
        return tuple(range(top + 1))
    return tuple(number(grade, "a label") for grade in distinct.tolist())
