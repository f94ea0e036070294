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
    """Return whether values of `base` depend on the scale of `view`, if it is inferred.

    Grades of an inferred scale are the whole numbers from 0 to the maximum label or, if a label is
    fractional, the labels that occur.
    """
    scale = view.scale
    if base.stated.needs_top:  # the base reads the gain of the maximum label
        return True
    if not scale.greater_is_better:  # the lowest grade is the maximum label
        return True
    # The threshold is the second lowest grade: 1 for whole numbers, so that it does not depend on
    # the labels.
    reads_threshold = base.BINARY and base.rel is None
    return scale.is_fractional and reads_threshold


def declared_scales(spec: AspectSpec) -> list[tuple[str, Aspect]]:
    """Return the names and scales of the aspects that are declared."""
    if isinstance(spec, Aspects):
        return list(spec.items())
    return []


def range_with_gains(
    limits: tuple[float, float], parts: Iterable[tuple[Base, Aspect]]
) -> tuple[float, float]:
    """Return a range, without minimum if a base adds negative gains, which its aspect declares.

    `parts` are the bases and their aspects, `limits` the range without negative gains.
    """
    _, maximum = limits
    for base, aspect in parts:
        # Ordinal bases only compare gains.
        adds_negative_gains = base.stated.accepts_negative_gains and not base.stated.is_ordinal
        if aspect.has_negative_gains and adds_negative_gains:
            return -np.inf, maximum
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
    """Return the gain of each document as a training label.

    It is the gain that the base adds at each rank. Binary bases, for which it would be 0 or 1, get
    the gain of the grade.
    """
    gain = target.gain
    if not base.BINARY:
        gain = base.gain(target)
    # Some bases add 2^gain - 1, of which `gain` is the exponent.
    adds_powers = base.stated.exponentiates_gains and is_sum_over_ranks(base)
    if adds_powers:
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

    Several bases with equal keys are all at their maximum if documents are sorted by the sum of
    their gains. If the base is not a discounted sum of gains, the key is None, and the gains are a
    surrogate.
    """
    form = base.additive(target)
    if not isinstance(form, Linear):
        return _surrogate_share(base, target), None
    depth: Hashable
    if isinstance(form.depth, np.ndarray):  # one depth per query; arrays are not hashable
        depth = form.depth.tobytes()
    else:
        depth = form.depth
    key = (base.NAME, form.discount, depth)
    if base.stated.has_constant_norm:
        # To divide by a constant would not change the order of documents.
        return np.asarray(form.gain, dtype=np.float64), key
    return form.normalised_gain, key


def _surrogate_share(base: Base, target: Target) -> Floats:
    """Return the gain of each document over a norm of its query, for a base that has no such form.

    For a binary base, it is that of recall: 1 over the number of relevant documents. For others, it
    is that of nDCG, which is not discounted here: sorting by it needs no ranks.
    """
    if base.BINARY:
        gain = base.gain(target)  # 1 for relevant documents
        norm = base.n_relevant(target)
    else:
        gain = target.gain
        norm = target.best_sum(gain, Log2(), base.cutoff)  # the DCG of the ideal ranking
    norm_of_query = norm[target.query]
    return ratio(gain, norm_of_query)


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
        term_values = []
        for term in terms:
            values = term.base.values(rankings, term.target)
            term_values.append(values)
        # A weighted sum of one term, as of measures of the joint labels, is the weighted value.
        if len(terms) == 1 and self.stated.is_weighted_sum:
            return terms[0].weight * term_values[0]
        term_weights = [term.weight for term in terms]
        # Both get the shape (n_terms, n_queries).
        stacked_values = np.stack(term_values)
        stacked_weights = np.stack(term_weights)
        return self.combine(stacked_values, stacked_weights)


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
            normalised_gain, _ = gain_share(term.base, term.target)  # g_a / norm_a
            weight_of_document = term.weight[judgments.pool_query]  # that of its query
            weighted_gains.append(weight_of_document * normalised_gain)
        return np.asarray(np.sum(weighted_gains, axis=0), dtype=np.float64)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        """Return whether a term is not linear, discounts differ, or terms are not summed."""
        terms = self.terms(judgments)
        discount_keys: set[Hashable] = set()
        for term in terms:
            _, discount_key = gain_share(term.base, term.target)
            discount_keys.add(discount_key)
        if None in discount_keys:  # a base that is no discounted sum of gains
            return True
        if len(discount_keys) > 1:
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
        """Return whether a base has a cutoff parameter."""
        return any(base.accepts_cutoff for base in self.bases.each())

    @property
    def lower_is_better(self) -> bool:
        """Return whether lower is better for the bases."""
        return any(base.LOWER_IS_BETTER for base in self.bases.each())

    @property
    def range(self) -> tuple[float, float]:
        """The smallest range that contains the ranges of the bases."""
        ranges = [base.RANGE for base in self.bases.each()]
        minima, maxima = zip(*ranges, strict=True)
        return min(minima), max(maxima)

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
        """Return the printed forms of parameters, and the cutoff to print after them.

        CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure and print the same, as the
        latter. If there is one base per aspect, each prints its own cutoff.
        """
        spelled, _ = super()._spell_params()
        base = self.bases.default  # of all aspects
        if base is None:  # there is one per aspect, each with its cutoff
            return {**spelled, "base": self.bases.spelled()}, None
        other_params = {name: value for name, value in spelled.items() if name != "base"}
        # The cutoff of the base is printed after the parameters.
        base_without_cutoff = self.bases.drop_cutoff()
        default = self.SUPPORTED_PARAMS["base"].default
        if base_without_cutoff == default:  # defaults are not printed: nDCG@10 leaves CAM@10
            return other_params, base.cutoff
        return {"base": base_without_cutoff.spelled(), **other_params}, base.cutoff

    def _identity(self) -> tuple[object, ...]:
        """Return the key of equality: measures are equal if their keys are.

        CAM(base=nDCG@10) and CAM(base=nDCG)@10 are the same measure. In both, `self.bases` is
        nDCG@10, and `self._text`, the printed form, is CAM@10. So the parameters ``base`` and
        ``cutoff``, in which they differ, are not in the key.
        """
        names = sorted(set(self.params) - {"base", "cutoff"})
        other_params = [hashable(self.params[name]) for name in names]
        return (type(self), self._text, self.bases, *other_params)
