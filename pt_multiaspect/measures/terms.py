"""Measures that combine the values of single-aspect measures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._typing import Floats
from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..aspects.parameter import AspectSpec
from ..bases import Base, Bases
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices
from .identity import hashable
from .measure import Measure

__all__ = ["BasedMeasure", "TermMeasure", "base_depends_on", "declared", "range_with_gains"]


def base_depends_on(base: Base, view: AspectView) -> bool:
    """Return whether the value of `base` could change if the scale of `view` were inferred from other judgments."""
    if base.NEEDS_TOP or not view.scale.greater_is_better:
        return True
    return view.scale.is_fractional and base.BINARY and base.rel is None


def declared(spec: AspectSpec) -> list[tuple[str, Aspect]]:
    """Return the names and scales of the aspects that are declared."""
    return list(spec.items()) if isinstance(spec, Aspects) else []


def range_with_gains(limits: tuple[float, float], parts: Iterable[tuple[Base, Aspect]]) -> tuple[float, float]:
    """Return a range without minimum if a base accepts the negative gains that its aspect declares."""
    is_signed = any(base.ACCEPTS_NEGATIVE_GAINS and aspect.has_negative_gains for base, aspect in parts)
    return (-np.inf, limits[1]) if is_signed else limits


class TermMeasure(Measure):
    """A measure that is a function of terms, each a base evaluated on one gain per document."""

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        terms = self.terms(rankings.judgments)
        if len(terms) == 1 and self.IS_WEIGHTED_SUM:
            (term,) = terms
            return term.weight * term.base.values(rankings, term.target)
        return self.combine(
            np.stack([term.base.values(rankings, term.target) for term in terms]),
            np.stack([term.weight for term in terms]),
        )


class BasedMeasure(TermMeasure):
    """A measure over one base, or one base per aspect; its cutoff is the cutoff of the bases."""

    def _check(self) -> None:
        bases: Bases = self["base"]
        self.bases: Bases = bases.at(self.params.get("cutoff"), self.NAME)
        directions = {base.LOWER_IS_BETTER for base in self.bases.each()}
        if len(directions) > 1:
            raise MultiAspectError(
                f"{self.NAME}: lower is better for some of the bases "
                f"{choices(base.text for base in self.bases.each())} and higher for others; choose bases that agree"
            )

    @property
    def lower_is_better(self) -> bool:
        """Return whether lower is better for the bases."""
        return any(base.LOWER_IS_BETTER for base in self.bases.each())

    @property
    def range(self) -> tuple[float, float]:
        """Return the smallest range that contains the ranges of the bases."""
        ranges = [base.RANGE for base in self.bases.each()]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def validate_params(self) -> None:
        """Raise an error if a base lacks a required parameter."""
        try:
            for base in self.bases.each():
                base.check_complete()
        except MultiAspectError as error:
            raise self._named(error) from None

    def _spelled_params(self) -> tuple[dict[str, Any], int | None]:
        # CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure and print the same.
        spelled, _ = super()._spelled_params()
        if self.bases.default is None:
            return {**spelled, "base": self.bases.spelled()}, None
        plain = self.bases.without_cutoff()
        spelled.pop("base", None)
        default = self.SUPPORTED_PARAMS["base"].default
        return ({} if plain == default else {"base": plain.spelled()}) | spelled, self.bases.default.cutoff

    def _identity(self) -> tuple[object, ...]:
        # The bases with their cutoff, as CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure.
        rest = (hashable(self.params[name]) for name in sorted(self.params) if name not in ("base", "cutoff"))
        return (type(self), self._text, self.bases, *rest)
