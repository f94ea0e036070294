"""Terms: the components that multi-aspect measures combine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Floats
from ..kernels.target import Target
from .base import Base


@dataclass(frozen=True, eq=False)
class Term:
    """A base, the target on which it is evaluated, and its weight."""

    base: Base
    target: Target
    #: The weight per query, shape (n_queries,).
    weight: Floats
    #: The name of the term in explanations: that of an aspect, or empty for all aspects together.
    name: str = ""

    def check_gains(self, what: str) -> None:
        """Raise an error that starts with `what` if the base reads gains, and negative ones are declared."""
        if self.base.reads_gains:
            self.target.source.check_gains(what)

    @classmethod
    def alone(cls, base: Base, target: Target) -> Term:
        """Return a single term with weight 1."""
        return cls(base, target, np.ones(target.n_queries))
