"""Measures that combine the values of single-aspect measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats
from ..bases import Base, Bases
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices
from .measure import Measure

__all__ = ["BasedMeasure", "TermMeasure", "base_depends_on"]


def base_depends_on(base: Base, view: AspectView) -> bool:
    """Whether inferring the scale of `view` from other judgments could change what `base` computes."""
    if base.NEEDS_TOP or not view.scale.greater_is_better:
        return True
    return view.scale.is_fractional and base.BINARY and base.rel is None


class TermMeasure(Measure):
    """A measure that is a function of terms, single-aspect measures on a number per document."""

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
    """A measure over a base measure, or one per aspect, whose cutoff is the measure's own."""

    def _check(self) -> None:
        bases: Bases = self["base"]
        self.bases: Bases = bases.at(self.params.get("cutoff"), self.NAME)
        directions = {base.LOWER_IS_BETTER for base in self.bases.each()}
        if len(directions) > 1:
            raise MultiAspectError(
                f"{self.NAME}: of some bases small values are good, of others large ones: "
                f"{choices(base.text for base in self.bases.each())}; choose bases of one direction"
            )

    @property
    def lower_is_better(self) -> bool:
        return any(base.LOWER_IS_BETTER for base in self.bases.each())

    @property
    def range(self) -> tuple[float, float]:
        ranges = [base.RANGE for base in self.bases.each()]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def validate_params(self) -> None:
        """Refuse bases that lack a required parameter."""
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
        # A base whose name means another class, or none, is part of what the measure is.
        return (*super()._identity(), self.bases.unnamed)
