"""One aspect: On."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import ir_measures

from .._typing import Floats
from ..aspects import Aspect, Aspects, AspectSpec, aspect_name
from ..bases import Base, Statements, Term
from ..collection import AspectView, Judgments
from ..errors import MultiAspectError, refuse_unknown
from .measure import Measure
from .parameters import COMMON, Param, base_param
from .registry import register
from .terms import BasedMeasure, base_depends_on, declared_scales, graded_gain, range_with_gains


class _On(BasedMeasure):
    """A single-aspect measure, evaluated on one aspect.

    Values and range are those of the base measure on the labels of the aspect. If the aspect
    declares negative gains, CG, DCG and nDCG have values below 0; the ideal ranking of nDCG leaves
    out documents with such gains.

    Parameters
    ----------
    aspect : str, default 'relevance'
        Name of the aspect.
    base : ir_measures.Measure or str, default 'nDCG'
        The measure to evaluate. Without an explicit ``rel``, binary measures count documents whose
        grade is at least the threshold of the aspect.
    aspects : Aspects, mapping or str, optional
        The scale of the aspect; inferred from the qrels by default.
    cutoff : int, optional
        Cutoff of the base: ``On(...) @ k`` is ``On(base=base @ k)``.

    Notes
    -----
    With the base ``Judged @ k``, the value is the fraction of the first k ranks with a label on the
    aspect. As in ir-measures, it is the fraction of the retrieved documents if there are fewer than
    k, and 0 for a query without retrieved documents. Labels of any grade count; codes declared as
    ``unjudged`` do not.

    References
    ----------
    As in ir-measures: ``On(base='nDCG@10')``, whose value is that of ``nDCG@10``.

    Examples
    --------
    >>> from pt_multiaspect import On, Judgments
    >>> import ir_measures
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0},
    ...                 "d2": {"relevance": 0, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> On(aspect="credibility", base="RR").calc_aggregate(qrels, run)
    0.5
    >>> explanation = On(aspect="credibility", base="RR").explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "contribution"]].round(3)
      docno  gain  contribution
    0    d1   0.0           0.0
    1    d2   1.0           0.5
    """

    PRETTY_NAME = "Measure on one aspect"
    SHORT_DESC = "A single-aspect measure, evaluated on one aspect."
    CITATION = "ir-measures, on one label column"
    SOURCES = ("macavaney2022",)
    SUPPORTED_PARAMS = {
        "aspect": Param(aspect_name, "relevance", "which aspect"),
        "base": base_param("the measure"),
        **COMMON,
    }

    def statements(self) -> Statements:
        return replace(
            super().statements(),
            label_terms=self.terms,
            never_falls_with_labels=self._bases_never_fall(),
        )

    def _check_names(self, names: Sequence[str]) -> None:
        refuse_unknown([self["aspect"]], names, "one of the aspects", "aspect")

    @property
    def one_aspect(self) -> str:
        """The aspect that the measure evaluates."""
        aspect: str = self["aspect"]
        return aspect

    @property
    def selection(self) -> AspectSpec:
        return self.spec or self.required_aspects

    def declare(self, spec: AspectSpec, option: str = "aspects") -> Measure:
        """Return the measure with the scale of its aspect, if `spec` declares scales."""
        if isinstance(spec, Aspects):
            return super().declare(spec, option)
        # `spec` only names the aspects to evaluate, but this measure has named its own.
        return self

    @property
    def required_aspects(self) -> tuple[str, ...]:
        """The aspect that the measure evaluates."""
        return (self["aspect"],)

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """Return the only aspect that the measure evaluates, with its labels."""
        self._refuse_inner_cutoffs(judgments.label_names)
        name = self["aspect"]
        declared_scales = self["aspects"]
        view = judgments.view(name, declared_scales)
        return (view,)

    def depends_on(self, view: AspectView) -> bool:
        return base_depends_on(self.bases.one, view)

    @property
    def range(self) -> tuple[float, float]:
        """The range of the base, without minimum if its aspect declares negative gains."""
        scales = dict(declared_scales(self.spec))
        scale = scales.get(self["aspect"])
        evaluated: list[tuple[Base, Aspect]] = []
        if scale is not None:
            evaluated.append((self.bases.one, scale))
        return range_with_gains(super().range, evaluated)

    def terms(self, judgments: Judgments) -> list[Term]:
        (view,) = self.views(judgments)
        return [Term.alone(self.bases.one, view.target)]

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the gain of each document on the aspect, as the base uses it."""
        (view,) = self.views(judgments)
        base = self.bases.one
        if base.reads_gains:
            view.check_gains(f"a training label from {self}")  # an error for negative ones
        return graded_gain(base, view.target)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        return not self.bases.one.stated.sorting_is_optimal


On = register(_On)


def measure_on_relevance(measure: ir_measures.Measure) -> Measure:
    """Return `On` relevance for a measure of ir-measures, and one of this package unchanged.

    Raises
    ------
    MultiAspectError
        If the values of `On` differ from those of ir-measures.
    """
    is_of_this_package = getattr(measure, "CHECKS_PARAMS", False)  # only these have the attribute
    if is_of_this_package:
        return cast(Measure, measure)
    if isinstance(measure, type(ir_measures.ERR)):
        raise MultiAspectError(
            f"{measure} uses 4 as the highest grade in ir-measures, but the highest grade of the "
            f"aspect as a base; pass On(base={str(measure)!r}) for the latter"
        )
    return On(base=measure)
