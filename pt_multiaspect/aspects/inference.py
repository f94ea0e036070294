"""Scales inferred from labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._numbers import number
from ..errors import MultiAspectError
from .aspect import LONGEST


def infer_grades(labels: NDArray[np.float64], name: str, *, identity: bool = False) -> tuple[float, ...]:
    """Infer the grades of the aspect `name` from its labels (NaN if unjudged), in increasing order.

    Whole numbers give 0..max, other labels the distinct ones. Negative labels count as 0: by TREC's
    convention they mark junk. Probabilities (`identity`) always start at 0.
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
                f"{name}: expected labels up to {LONGEST} to infer a scale 0..n, got {top}. If the column contains "
                "times or ids, select other columns, as in aspects=['relevance', …]; if labels, declare the grades"
            )
        return tuple(range(top + 1))
    return tuple(number(grade, "a label") for grade in distinct.tolist())
