"""Bases evaluated on the gains 2^g - 1, for bases without a specific form for these gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Floats
from ..collection.rankings import Ranking
from ..errors import MultiAspectError
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Additive
from ..kernels.hits import Hits
from ..kernels.progress import Progression
from ..kernels.target import Target
from .base import Base

#: The attributes that hold for the gains 2^g - 1 if they hold for the gains g.
_SHARED_ATTRIBUTES = (
    "NAME",
    "SUPPORTED_PARAMS",
    "params",
    "RANGE",
    "LOWER_IS_BETTER",
    "SORTING_IS_OPTIMAL",
    "NEEDS_TOP",
    "READS_UNJUDGED",
    "CONSTANT_NORM",
    "NEVER_FALLS",
)


def exponentiate(base: Base) -> Base:
    """Return the base with the gains 2^g - 1, in its specific form if it has one."""
    return base.exponential() or Exponentiated(base)


class Exponentiated(Base):
    """A base evaluated on the gains 2^g - 1."""

    def __init__(self, base: Base) -> None:
        self.base = base
        for name in _SHARED_ATTRIBUTES:
            setattr(self, name, getattr(base, name))

    @property
    def text(self) -> str:
        """The printed form of the base."""
        return self.base.text

    @property
    def depth(self) -> int | None:
        """The number of ranks that the base needs; None for all."""
        return self.base.depth

    def at(self, cutoff: int | None) -> Exponentiated:
        """Return the measure with another cutoff, or without one."""
        return Exponentiated(self.base.at(cutoff))

    def _target(self, target: Target) -> Target:
        def make() -> Target:
            with np.errstate(over="ignore"):
                gain = np.exp2(target.gain) - 1.0
            if not np.isfinite(gain).all():
                raise MultiAspectError(
                    f"the gain 2^{target.gain.max():g} - 1 is too large for the base {self.text}; use another "
                    "weighting than 'exponential', or a base that rescales gains, such as nDCG"
                )
            top, unjudged, bottom = np.exp2(np.minimum([target.top, target.unjudged, target.bottom], 1023.0)) - 1.0
            changed = target.with_gain(gain, float(top))
            return replace(changed, unjudged=float(unjudged), bottom=float(bottom))

        return target.compute_once("2^g - 1", make)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        return self.base.score(ranking, self._target(target))

    def gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, as the base uses it."""
        return self.base.gain(self._target(target))

    def additive(self, target: Target) -> Additive | None:
        """Return the base as a sum over ranks, or None."""
        return self.base.additive(self._target(target))

    def progression(self, target: Target) -> Progression | None:
        """Return the base computed rank by rank, or None."""
        return self.base.progression(self._target(target))

    def contributions(self, ranking: Hits, target: Target) -> Floats | None:
        """Return the contribution of each document of the ranking, or None."""
        return self.base.contributions(ranking, self._target(target))

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown | None:
        """Return the values as sums over ranks, with gains and discounts; None if unknown."""
        return self.base.breakdown(ranking, self._target(target))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exponentiated) and self.base == other.base

    def __hash__(self) -> int:
        return hash((Exponentiated, self.base))
