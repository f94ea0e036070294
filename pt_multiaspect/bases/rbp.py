"""Rank-biased precision as a base, binary and graded."""

from __future__ import annotations

import ir_measures
import numpy as np

from ..kernels.forms import Geometric, Linear
from ..kernels.target import Target
from .adapters import Adapter, adapts
from .base import LinearBase


@adapts(ir_measures.RBP)
class RankBiasedPrecision(LinearBase, Adapter):
    """RBP: (1 - p) Σ p^(k-1) over the ranks k of relevant documents (Moffat and Zobel 2008)."""

    BINARY = True

    @property
    def equals_original(self) -> bool:
        """Return whether there is a cutoff, or no explicit ``rel``."""
        # ir-measures cannot compute RBP without rel or with a cutoff; otherwise, ties are broken differently.
        return "rel" not in self.params or self.cutoff is not None

    def linear(self, target: Target) -> Linear:
        """Return the linear form with a geometric discount."""
        return Linear(target, self.relevant(target), Geometric(self["p"]), depth=self.cutoff)


class GradedRBP(RankBiasedPrecision):
    """RBP with graded gains in [0, 1]."""

    BINARY = False
    READS_UNJUDGED = True

    def __init__(self, p: float, cutoff: int | None) -> None:
        measure = ir_measures.RBP(p=p) if cutoff is None else ir_measures.RBP(p=p, cutoff=cutoff)
        super().__init__(measure)

    def at(self, cutoff: int | None) -> GradedRBP:
        """Return the measure with another cutoff, or without one."""
        return GradedRBP(self["p"], cutoff)

    def linear(self, target: Target) -> Linear:
        """Return the linear form with a geometric discount, also of unjudged documents."""
        gain = np.asarray(target.gain, dtype=np.float64)
        return Linear(target, gain, Geometric(self["p"]), depth=self.cutoff, unjudged=target.unjudged)

    def __reduce__(self) -> tuple[type, tuple[float, int | None]]:
        return GradedRBP, (self["p"], self.cutoff)
