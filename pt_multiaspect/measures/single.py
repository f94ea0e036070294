"""One aspect by itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..aspects import aspect_name
from ..errors import MultiAspectError, choices
from ..judgments import AspectView, Judgments
from ..kernels.layout import Floats
from ..kernels.target import Target
from ..rankings import Rankings
from .base import ASPECTS, CUTOFF, MultiAspectMeasure, Param
from .bases import Base, Bases, fill_cutoff, parse_base, parse_bases, spell_bases

__all__ = ["On"]


@dataclass(frozen=True, eq=False)
class Term:
    """A base on what it ranks: what a measure over bases is made of."""

    base: Base
    target: Target
    #: How much it counts in each query, shape (n_queries,).
    weight: Floats

    @classmethod
    def alone(cls, base: Base, target: Target) -> Term:
        """The only term of a measure."""
        return cls(base, target, np.ones(target.n_queries))


class BasedMeasure(MultiAspectMeasure):
    """A measure over a base measure, whose cutoff is the measure's own."""

    @abstractmethod
    def terms(self, judgments: Judgments) -> list[Term]:
        """The values, and their weights, the measure is a function of."""

    def worth(self, judgments: Judgments) -> Floats | None:
        """What documents are sorted by for the greatest value, if there is one base and it tells."""
        terms = self.terms(judgments)
        return terms[0].base.worth(terms[0].target) if len(terms) == 1 else None

    def _check(self) -> None:
        self._bases: Bases = fill_cutoff(self["base"], self.cutoff, self.NAME)

    def each_base(self) -> list[Base]:
        """The one base, or those of the aspects."""
        return [self._bases] if isinstance(self._bases, Base) else list(self._bases.values())

    @property
    def lower_is_better(self) -> bool:
        """Whether small values of the bases are good."""
        return any(getattr(base.measure, "LOWER_IS_BETTER", False) for base in self.each_base())

    def validate_params(self) -> None:
        """Refuse bases that lack a required parameter."""
        try:
            for base in self.each_base():
                base.check_complete()
        except MultiAspectError as error:
            raise self._named(error) from None

    def _spelled_params(self) -> tuple[dict[str, Any], int | None]:
        # CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure and print the same.
        spelled, cutoff = super()._spelled_params()
        if isinstance(self._bases, Base):
            cutoff = self._bases.cutoff
            base = self._bases.at(None) if cutoff is not None else self._bases
            default = self.SUPPORTED_PARAMS["base"].default
            spelled.pop("base", None)
            return ({} if base == default else {"base": base.text}) | spelled, cutoff
        return {**spelled, "base": spell_bases(self._bases)}, None


def base_param(desc: str, *, per_aspect: bool = False) -> Param:
    """The parameter `base`, nDCG by default."""
    parse = parse_bases if per_aspect else parse_base
    return Param(parse, parse_base("nDCG"), desc, spell=spell_bases)


class _On(BasedMeasure):
    """An ordinary measure of one aspect.

    Parameters
    ----------
    aspect : str, default 'relevance'
        Which aspect.
    base : ir_measures.Measure or str, default 'nDCG'
        The measure. Without an explicit ``rel`` binary measures count documents from the
        aspect's threshold up.
    aspects : Aspects, mapping or str, optional
        Declares the aspect's scale.
    cutoff : int, optional
        ``On(...) @ k``.

    Examples
    --------
    >>> from pt_multiaspect import On, Judgments
    >>> import ir_measures
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> On(aspect="credibility", base="RR").calc_aggregate(qrels, run)
    0.5
    """

    __name__ = "On"
    NAME = __name__
    PRETTY_NAME = "Measure on one aspect"
    SHORT_DESC = "Any measure of a single aspect."
    CITATION = "ir-measures, on one label column"
    SUPPORTED_PARAMS = {
        "aspect": Param(aspect_name, "relevance", "which aspect"),
        "base": base_param("the measure"),
        "aspects": ASPECTS,
        "cutoff": CUTOFF,
    }

    def _check_names(self, names: Sequence[str]) -> None:
        if self["aspect"] not in names:
            raise MultiAspectError(f"the aspect {self['aspect']} is not among the aspects given: {choices(names)}")

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """The one aspect the measure takes in."""
        return (judgments.view(self["aspect"], self["aspects"]),)

    def terms(self, judgments: Judgments) -> list[Term]:
        (view,), (base,) = self.views(judgments), self.each_base()
        return [Term.alone(base, view.target)]

    GAIN_IS_GRADE = True

    def document_gain(self, judgments: Judgments) -> Floats:
        (view,), (base,) = self.views(judgments), self.each_base()
        return base.graded_gain(view.target)

    def compute(self, rankings: Rankings) -> Floats:
        (view,), (base,) = self.views(rankings.judgments), self.each_base()
        self.warn_if_inferred((view,), base.depends_on_scale)
        return base.values(rankings, view.target)


On = _On()
