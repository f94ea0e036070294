"""Measures that combine the values of single-aspect measures."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Floats
from ..aspects import Aspect, Aspects, AspectSpec
from ..bases import Base, Bases, Statements
from ..collection import AspectView, Judgments, Rankings
from ..errors import MultiAspectError, choices, warn_once
from ..kernels.forms import Linear, Log2
from ..kernels.hits import ratio
from ..kernels.target import Target
from .measure import Measure, hashable, warn_if_inferred


def base_depends_on(base: Base, view: AspectView) -> bool:
    """Return whether values of `base` depend on the scale of `view`, if it is inferred."""
    if base.stated.needs_top or not view.scale.greater_is_better:
        return True
    return view.scale.is_fractional and base.BINARY and base.rel is None


def declared_scales(spec: AspectSpec) -> list[tuple[str, Aspect]]:
    """Return the names and scales of the aspects that are declared."""
    if isinstance(spec, Aspects):
        return list(spec.items())
    return []


def range_with_gains(
    limits: tuple[float, float], parts: Iterable[tuple[Base, Aspect]]
) -> tuple[float, float]:
    """Return a range, without minimum if a base subtracts the negative gains of its aspect."""
    for base, aspect in parts:
        subtracts = base.stated.accepts_negative_gains and not base.stated.is_ordinal
        if aspect.has_negative_gains and subtracts:
            return -np.inf, limits[1]
    return limits


def warn_of_units(
    name: str, what: str, parts: Iterable[tuple[str, str, tuple[float, float]]]
) -> None:
    """Warn if values on different scales are averaged, as the one with larger values dominates.

    Values without a maximum are on the same scale only if they are of the same measure.

    Parameters
    ----------
    name : str
        The name of the mean.
    what : str
        The noun for the averaged values, such as "bases".
    parts : iterable of (str, str, tuple)
        The printed form, name and range of each part.
    """
    texts: dict[str, None] = {}  # distinct ones, in order
    unbounded: dict[str, None] = {}
    part_names: set[str] = set()
    for text, part_name, limits in parts:
        texts[text] = None
        part_names.add(part_name)
        if not np.isfinite(limits).all():
            unbounded[text] = None
    if unbounded and len(part_names) > 1:
        averaged = choices(texts)
        warn_once(
            f"{name} averages {what} on different scales, {averaged}: the values of "
            f"{choices(unbounded)} have no maximum and may dominate. Choose {what} with the same "
            "range, such as nDCG and P, or weights that balance them",
            key=f"units: {averaged}",
        )


def graded_gain(base: Base, target: Target) -> Floats:
    """Return the gain of each document as a training label; if binary, that of its grade."""
    if base.BINARY:
        gain = target.gain
    else:
        gain = base.gain(target)
    if base.stated.exponentiates_gains and is_sum_over_ranks(base):
        return power_gain(gain, "the gain", "choose another weighting")
    return gain


def power_gain(exponent: Floats, what: str, remedy: str) -> Floats:
    """Return the gains 2^exponent - 1 of documents.

    Raises
    ------
    MultiAspectError
        If a gain is too large for a float; the message names the exponent as `what`, and ends with
        the `remedy`.
    """
    largest = exponent.max(initial=0.0)
    if largest >= np.finfo(np.float64).maxexp:
        raise MultiAspectError(
            f"{what} {largest:g} gives the gain 2^{largest:g} - 1, which is too large for a label: "
            f"{remedy}"
        )
    return np.asarray(np.exp2(exponent) - 1.0, dtype=np.float64)


def gain_share(base: Base, target: Target) -> tuple[Floats, Hashable]:
    """Return the normalised gain of each judged document, and a key that identifies the discount.

    Sorting by the sum of the gains maximises bases with equal keys jointly. If the base is not a
    discounted sum of gains, the key is None, and the gains are a surrogate: those of R for binary
    bases, those of nDCG for others.
    """
    form = base.additive(target)
    if isinstance(form, Linear):
        depth: Hashable
        if isinstance(form.depth, np.ndarray):  # one depth per query; arrays are not hashable
            depth = form.depth.tobytes()
        else:
            depth = form.depth
        key = (base.NAME, form.discount, depth)
        if base.stated.has_constant_norm:  # a constant norm does not change the order
            return np.asarray(form.gain, dtype=np.float64), key
        return form.normalised_gain, key
    if base.BINARY:
        n_relevant = base.n_relevant(target)
        return ratio(base.gain(target), n_relevant[target.query]), None
    ideal_dcg = target.best_sum(target.gain, Log2(), base.cutoff)
    return ratio(target.gain, ideal_dcg[target.query]), None


def is_sum_over_ranks(base: Base) -> bool:
    """Return whether a base is defined as a sum over ranks."""
    return type(base).additive is not Base.additive


class TermMeasure(Measure):
    """A measure that is a function of terms, each a base evaluated on one gain per document."""

    def statements(self) -> Statements:
        """State that the value is the weighted sum of the terms, unless the class overrides it."""
        stated = super().statements()
        if type(self).combine is not Measure.combine:
            return stated
        return replace(stated, is_weighted_sum=True, never_falls_with_terms=True)

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the combination of the values of all terms."""
        terms = self.terms(rankings.judgments)
        if len(terms) == 1 and self.stated.is_weighted_sum:
            (term,) = terms
            return term.weight * term.base.values(rankings, term.target)
        # Both have the shape (n_terms, n_queries).
        values = np.stack([term.base.values(rankings, term.target) for term in terms])
        weights = np.stack([term.weight for term in terms])
        return self.combine(values, weights)


class TermMean(TermMeasure):
    """A mean of terms, whose linear form is a training label."""

    def statements(self) -> Statements:
        """State that training labels are normalised per query."""
        return replace(super().statements(), gain_per_query=True)

    def document_gain(self, judgments: Judgments) -> Floats | None:
        """Return the linear form Σ_a p_a g_a(d) / norm_a(q) of each judged document d of query q.

        The norm depends on the base: the ideal DCG at k for nDCG@k, the number of positive
        documents for R, 1 for DCG, CG, P and RBP (g is 1 for positive documents of binary bases). A
        term whose norm is 0 is left out of the query. Sorting by the linear form maximises CAM if
        all aspects have the same linear base at the same cutoff. For other bases, and for MM, GAM
        and WHAM, no score per document maximises the measure, and the form is a *surrogate* (see
        `gain_is_surrogate`).

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        ndarray of float, shape (n_pool,), or None
            The gains, at least 0; None if the measure is not a function of single-aspect measures.
        """
        self.validate_params()  # norms need the cutoff of P and other required parameters of bases
        terms = self.terms(judgments)
        if not terms:
            return None
        warn_if_inferred(self, self.views(judgments))
        for term in terms:
            term.check_gains(f"a training label from {self}")
        weighted_gains: list[Floats] = []  # p_a g_a / norm_a of each aspect a
        for term in terms:
            gain, _ = gain_share(term.base, term.target)
            weight = term.weight[judgments.pool_query]
            weighted_gains.append(weight * gain)
        return np.asarray(np.sum(weighted_gains, axis=0), dtype=np.float64)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        """Return whether a term is not linear, discounts differ, or terms are not summed."""
        terms = self.terms(judgments)
        discounts: set[Hashable] = set()
        for term in terms:
            _, discount = gain_share(term.base, term.target)
            discounts.add(discount)
        if None in discounts or len(discounts) > 1:
            return True
        return len(terms) > 1 and not self.stated.is_weighted_sum


class BasedMeasure(TermMeasure):
    """A measure over one base, or one base per aspect; its cutoff is the cutoff of the bases."""

    def _check(self) -> None:
        """Set the bases at the cutoff, or raise an error if lower is better for some only."""
        self.bases: Bases = self["base"].at(self.params.get("cutoff"), self.NAME)
        bases = list(self.bases.each())
        directions = {base.LOWER_IS_BETTER for base in bases}
        if len(directions) > 1:
            texts = choices(base.text for base in bases)
            raise MultiAspectError(
                f"{self.NAME}: lower is better for some of the bases {texts} and higher for "
                "others; choose bases that agree"
            )

    @property
    def cutoff(self) -> int | None:
        """The last rank that counts for a base, or None."""
        largest = 0
        for base in self.bases.each():
            if base.cutoff is None:
                return None
            largest = max(largest, base.cutoff)
        return largest

    @property
    def accepts_cutoff(self) -> bool:
        """Whether a base has a cutoff parameter."""
        return any(base.accepts_cutoff for base in self.bases.each())

    @property
    def lower_is_better(self) -> bool:
        """Whether lower is better for the bases."""
        return any(base.LOWER_IS_BETTER for base in self.bases.each())

    @property
    def range(self) -> tuple[float, float]:
        """The smallest range that contains the ranges of the bases."""
        ranges = [base.RANGE for base in self.bases.each()]
        lowest = min(minimum for minimum, _ in ranges)
        highest = max(maximum for _, maximum in ranges)
        return lowest, highest

    def _bases_never_fall(self) -> bool:
        """Return whether no base falls when a label rises."""
        return all(base.stated.never_falls_with_labels for base in self.bases.each())

    def validate_params(self) -> None:
        """Raise an error if a base lacks a required parameter."""
        try:
            for base in self.bases.each():
                base.check_complete()
        except MultiAspectError as error:
            raise self._prefix_error(error) from None

    def _spell_params(self) -> tuple[dict[str, Any], int | None]:
        """Return the printed forms of parameters, and the cutoff of the base as that of the measure.

        CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure and print the same.
        """
        spelled, _ = super()._spell_params()
        base = self.bases.default
        if base is None:  # there is one per aspect
            return {**spelled, "base": self.bases.spelled()}, None
        cutoff = base.cutoff
        without_cutoff = self.bases.drop_cutoff()
        spelled.pop("base", None)
        if without_cutoff == self.SUPPORTED_PARAMS["base"].default:
            return spelled, cutoff
        return {"base": without_cutoff.spelled(), **spelled}, cutoff

    def _identity(self) -> tuple[object, ...]:
        """Return the key of equality, with the cutoff in the bases.

        CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure.
        """
        names = sorted(set(self.params) - {"base", "cutoff"})
        other_params = [hashable(self.params[name]) for name in names]
        return (type(self), self._text, self.bases, *other_params)
