"""What measures over several aspects are functions of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from ..kernels.target import Target
from .base import Base

__all__ = ["Term"]


@dataclass(frozen=True, eq=False)
class Term:
    """A base, the number per document it is computed on, and how much it counts."""

    base: Base
    target: Target
    #: The weight in each query, shape (n_queries,).
    weight: Floats

    @classmethod
    def alone(cls, base: Base, target: Target) -> Term:
        """The only term of a measure."""
        return cls(base, target, np.ones(target.n_queries))
