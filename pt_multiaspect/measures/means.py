"""Means over aspects: CAM, MM, WHAM and GAM of the values of a base measure on each aspect."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from .._typing import Bools, Floats
from .._validation import boolean, choice
from ..bases import Base, Statements, Term
from ..collection import AspectView, Judgments, Rankings
from ..errors import MultiAspectError, choices
from ..kernels import means
from ..kernels.best_ranking import best_ranking
from ..kernels.hits import Hits, ratio
from .best_rank import forms_of
from .parameters import COMMON, CUTOFF, GATE, Param, base_param, weights_param
from .registry import register
from .terms import (
    BasedMeasure,
    TermMean,
    base_depends_on,
    declared_scales,
    is_sum_over_ranks,
    range_with_gains,
    warn_of_units,
)
from .weights import has_weight, normalised_weights, weighted_views


class AspectMean(TermMean, BasedMeasure):
    """A mean over aspects. Subclasses define `combine`, and `slope` if the mean is concave.

    With `slope`, `pt_multiaspect.analysis.upper_bound` can bound the mean.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : optional
        As in `CAM`, unless the class has other `SUPPORTED_PARAMS`.

    Examples
    --------
    >>> import numpy as np
    >>> import pt_multiaspect as ma
    >>> class _Lowest(ma.AspectMean):
    ...     '''The lowest value of the base on any aspect.'''
    ...     def combine(self, values, weights):
    ...         return values.min(axis=0)
    >>> Lowest = ma.register(_Lowest)
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> Lowest(base="AP").calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}})
    0.5
    """

    #: The name of the mean for errors, such as "harmonic", if it requires non-negative values.
    NONNEGATIVE: str | None = None
    _OF_RANKINGS = ("base", "empty", "gate", "normalized", "cutoff")
    SUPPORTED_PARAMS = {
        "base": base_param(
            "the measure for each aspect, or a dict with one measure per aspect", per_aspect=True
        ),
        "weights": weights_param(
            "the importance of each aspect, normalised to sum to 1; equal by default"
        ),
        "empty": Param(
            choice("empty", "zero", "drop"),
            "zero",
            "a query without positive labels on an aspect: score 0 ('zero') or leave the aspect "
            "out ('drop')",
        ),
        **COMMON,
    }

    @abstractmethod
    def combine(self, values: Floats, weights: Floats) -> Floats:
        """Return the mean over aspects.

        Parameters
        ----------
        values, weights : ndarray of float, shape (n_aspects, n_queries)
            Values of the base, and weights of the aspects, which sum to 1.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A finite value per query.
        """

    def check_criteria(self, names: Sequence[str]) -> None:
        """Raise an error unless the mean is defined for criteria of single answers.

        Parameters
        ----------
        names : sequence of str
            The names of all criteria.

        Raises
        ------
        MultiAspectError
            If the weights are not those of the criteria, or a parameter is given that is defined
            for rankings only.
        """
        self._refuse_of_rankings(self._OF_RANKINGS)
        self._check_names(names)

    def of_criteria(self, values: Mapping[str, Floats]) -> Floats:
        """Return the mean of criteria of single answers, whose values replace those of the base.

        Parameters
        ----------
        values : mapping of str to ndarray of float, shape (n_answers,)
            The values of each criterion, in [0, 1].

        Returns
        -------
        ndarray of float, shape (n_answers,)
            One value per answer.

        Raises
        ------
        MultiAspectError
            If the weights are not those of the criteria, or a parameter is given that is defined
            for rankings only.
        """
        names = list(values)
        self.check_criteria(names)
        weights = dict(zip(names, normalised_weights(self["weights"], names), strict=True))
        counted = [name for name, weight in weights.items() if weight > 0]
        criteria = np.stack([values[name] for name in counted])  # (n_criteria, n_answers)
        # All answers have the same weights: a column, shape (n_criteria, 1), repeated per answer.
        column_of_weights = [[weights[name]] for name in counted]
        weights_of_answers = np.broadcast_to(column_of_weights, criteria.shape)
        return self.combine(criteria, weights_of_answers)

    def _check(self) -> None:
        """Raise an error if the mean is undefined for values of the base.

        `NONNEGATIVE` is the name of a mean that needs values of at least 0, such as "harmonic", and
        None for a mean that is defined for all values.
        """
        super()._check()
        if self.NONNEGATIVE is None:
            return
        mean_name = self.NONNEGATIVE
        bases = self.bases.each()
        negative = [base.text for base in bases if base.RANGE[0] < 0]
        if negative:
            raise MultiAspectError(
                f"expected a non-negative base, got {choices(negative)}: the {mean_name} "
                "mean of negative values is undefined; choose another base, or use CAM"
            )
        lower = [base.text for base in bases if base.LOWER_IS_BETTER]
        if lower:
            raise MultiAspectError(
                f"the {mean_name} mean is 0 if one value is 0, but 0 is the best value of "
                f"{choices(lower)}, where lower is better; choose a base where higher is better, "
                "or CAM"
            )

    def _check_names(self, names: Sequence[str]) -> None:
        super()._check_names(names)
        self.bases.check_names(names, self.NAME)

    @property
    def required_aspects(self) -> tuple[str, ...]:
        """The label columns that the qrels must have; a dict of bases names all of them."""
        return tuple(self.spec or self.bases.per_aspect) or super().required_aspects

    def _parts(self, views: Sequence[AspectView]) -> list[tuple[AspectView, Base, float]]:
        """Return the aspects with a positive weight, with their bases and normalised weights.

        Raise an error for negative gains if the mean is not defined for the values of these.
        """
        weighted = weighted_views(self["weights"], views)
        parts = [(view, self.bases.of(view.name), weight) for view, weight in weighted]
        if self.params.get("normalized"):
            # With negative gains, the maximum that the mean is divided by may be 0 or negative.
            _refuse_negative_gains(parts, f"{self.NAME}(normalized=True)")
        elif not self.stated.is_weighted_sum:
            # Geometric and harmonic means are not defined for negative values.
            _refuse_negative_gains(parts, self.NAME)
        return parts

    @property
    def range(self) -> tuple[float, float]:
        """The range of the bases, without minimum if an aspect declares negative gains."""
        scales = declared_scales(self.spec)
        evaluated = [(self.bases.of(name), aspect) for name, aspect in scales]
        return range_with_gains(super().range, evaluated)

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the mean; warn if bases of different units have equal weights by default."""
        if self["weights"] is None:
            bases = [self.bases.of(view.name) for view in views]
            parts = [(base.text, base.NAME, base.RANGE) for base in bases]
            warn_of_units(self.NAME, "bases", parts)
        return super()._evaluate(rankings, views)

    def statements(self) -> Statements:
        """State that the mean never falls with a term, and how it depends on labels, if simple."""
        # It is simple if labels change nothing but the terms, the values on the aspects.
        stated = replace(super().statements(), never_falls_with_terms=True)
        if self["empty"] == "drop":  # labels also change which aspects have a weight
            return stated
        if self.params.get("normalized"):  # labels also change the maximum, the divisor of the mean
            return stated
        return replace(
            stated, label_terms=self.terms, never_falls_with_labels=self._bases_never_fall()
        )

    def depends_on(self, view: AspectView) -> bool:
        """Return whether the aspect has a positive weight and its base depends on the scale."""
        return has_weight(self["weights"], view) and base_depends_on(self.bases.of(view.name), view)

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the base of each aspect on its labels; aspects of weight 0 are left out."""
        return judgments.compute_once(("terms", self), lambda: self._make_terms(judgments))

    def _make_terms(self, judgments: Judgments) -> list[Term]:
        """Return the base on each aspect, with the weight of the aspect for each query."""
        views = self.views(judgments)
        parts = self._parts(views)  # one per aspect: its labels, its base and its weight
        targets = [self._apply_gate(view, views).target for view, _, _ in parts]
        weights_of_aspects = [np.full(judgments.n_queries, weight) for _, _, weight in parts]
        weights = np.stack(weights_of_aspects)  # (n_aspects, n_queries)
        if self["empty"] == "drop":
            is_empty: list[Bools] = []
            for (_, base, _), target in zip(parts, targets, strict=True):
                is_empty.append(base.empty(target))
            weights = _drop_empty_aspects(weights, np.stack(is_empty))
        terms: list[Term] = []
        for (view, base, _), target, weight in zip(parts, targets, weights, strict=True):
            aspects_read = self._read_aspects(view)
            terms.append(Term(base, target, weight, view.name, aspects_read))
        return terms

    def _read_aspects(self, view: AspectView) -> tuple[str, ...]:
        """Return the aspects on which the evaluation of one aspect depends."""
        gate = self.params.get("gate")
        if gate in (None, view.name):
            return (view.name,)
        return (view.name, gate)

    def _apply_gate(self, view: AspectView, views: Sequence[AspectView]) -> AspectView:
        """Return the aspect as the mean evaluates it, after its precondition, if any."""
        return view


class _CAM(AspectMean):
    """Convex aggregating measure: the weighted arithmetic mean of a base measure over the aspects.

    CAM = Σ_a p_a μ_a, where μ_a is the value of the base measure on aspect a and Σ_a p_a = 1.
    Values are in the range of the base, which has no minimum if aspects declare negative gains. The
    maximum attainable value of a query is often below the maximum of that range, as there may be no
    ranking that is ideal for all aspects at once (see `normalized`).

    Parameters
    ----------
    base : ir_measures.Measure, str or dict, default 'nDCG'
        The measure μ evaluated on each aspect; a dict assigns a measure to each aspect.
    weights : dict of str to float, optional
        The weights p_a ≥ 0, normalised to sum to 1; equal by default. Aspects with weight 0 are
        ignored.
    empty : {'zero', 'drop'}, default 'zero'
        The treatment of an aspect without positive labels for a query: ``'zero'`` gives it the
        value 0, as in the paper; ``'drop'`` leaves it out of that query.
    aspects : Aspects, mapping or str, optional
        The aspects and their scales; by default, every label column.
    gate : str, optional
        A precondition for the other aspects, such as ``'relevance'``: documents below the threshold
        of this aspect have the lowest grade on all others, regardless of their labels. By default,
        there is no gate.
    normalized : bool, default False
        Divide by the maximum CAM over all rankings of the judged documents, so that 1 is
        attainable.
        The maximum is exact and requires non-negative bases that are sums over ranks: nDCG, DCG,
        CG, RBP, P, R, SetR, Rprec.
    cutoff : int, optional
        Cutoff of the base: ``CAM @ k`` is ``CAM(base=base @ k)``.

    Notes
    -----
    In strings, ``cam`` is CAM over nDCG and ``cam_map`` is CAM over AP, as in the official
    evaluator of the TREC Health Misinformation tracks (Trec_eval_extension). Values agree with that
    evaluator, with two exceptions. Its ``cam_map`` is 0 for topics whose *last* aspect has no
    relevant document retrieved, regardless of the values of the other aspects; here, only that
    aspect is 0. With three aspects (``cam_three_ndcg``, ``cam_map_three``), its weights are .3333
    each, so that a perfect run scores .9999.

    References
    ----------
    As in Maistro et al. 2021, Table 3: ``CAM(base='nDCG')``, the default, with equal weights; one
    of its values is an example.

    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 12. Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021, Eq. 5 and §4.2 (why 1 is not always attainable).

    Examples
    --------
    >>> from pt_multiaspect import CAM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> CAM(base="AP").calc_aggregate(qrels, run)
    0.75
    >>> explanation = CAM(base="AP").explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "relevance part", "credibility part", "contribution"]].round(3)
      docno  relevance part  credibility part  contribution
    0    d1            0.25              0.00          0.25
    1    d2            0.25              0.25          0.50

    The first row of Table 3 of Maistro et al., who print .9073:

    >>> labels = {
    ...     "d1": {"relevance": 1, "correctness": 2},
    ...     "d2": {"relevance": 3, "correctness": 1},
    ...     "d3": {"relevance": 3, "correctness": 0},
    ... }
    >>> ranking = {"d1": 3.0, "d2": 2.0, "d3": 1.0}
    >>> round(CAM(base="nDCG").calc_aggregate({"q1": labels}, {"q1": ranking}), 4)
    0.9073
    """

    PRETTY_NAME = "Convex aggregating measure"
    SHORT_DESC = "The weighted arithmetic mean of a measure, by default nDCG, over the aspects."
    CRITERIA_DESC = "The weighted arithmetic mean of the criteria."
    CITATION = "Lioma et al. 2017, Eq. 12; Maistro et al. 2021, Eq. 5"
    SOURCES = ("lioma2017", "maistro2021")
    SUPPORTED_PARAMS = {
        **{name: param for name, param in AspectMean.SUPPORTED_PARAMS.items() if name != "cutoff"},
        "gate": GATE,
        "normalized": Param(boolean("normalized"), False, "divide by the maximum attainable value"),
        "cutoff": CUTOFF,
    }

    def statements(self) -> Statements:
        """State that the mean is a weighted sum."""
        return replace(super().statements(), is_weighted_sum=True)

    def _check(self) -> None:
        """Raise an error if the maximum attainable value of the mean is unknown or not positive."""
        super()._check()
        if not self["normalized"]:
            return
        for base in self.bases.each():
            if not is_sum_over_ranks(base):
                raise MultiAspectError(
                    "normalized=True requires a base that is a sum over ranks (nDCG, P, R, Rprec, "
                    f"RBP, SetR, DCG, CG), got {base.text}"
                )
            if base.RANGE[0] < 0 or base.LOWER_IS_BETTER:
                raise MultiAspectError(
                    "normalized=True requires a non-negative base for which higher is better, got "
                    f"{base.text}: its maximum attainable value may not be positive"
                )

    def _apply_gate(self, view: AspectView, views: Sequence[AspectView]) -> AspectView:
        """Return the view in which documents below the threshold of the gate are not relevant."""
        if self["gate"] in (None, view.name):
            return view
        (gate,) = (candidate for candidate in views if candidate.name == self["gate"])
        gate.check_threshold()
        return view.with_gate(gate.positive)

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the mean, divided by its maximum attainable value if normalized."""
        values = super()._evaluate(rankings, views)
        if not self["normalized"]:
            return values
        judgments = rankings.judgments
        best = judgments.compute_once(("best", self), lambda: self._best(judgments))
        normalised = ratio(values, best)
        return np.minimum(normalised, 1.0)  # rounding errors may exceed 1

    def _best(self, judgments: Judgments) -> Floats:
        """Return the maximum of the mean over all rankings of the judged documents, per query."""
        query = judgments.pool_query
        n_queries = judgments.n_queries
        terms = self.terms(judgments)
        forms = forms_of(terms)
        assert forms is not None  # `_check` accepts only bases that are sums over ranks
        weights = [term.weight for term in terms]
        weighted_forms = list(zip(forms, weights, strict=True))
        rank = best_ranking(weighted_forms, query, n_queries)  # of each judged document
        every_row = np.arange(len(rank))
        ranking = Hits.of_rows(n_queries, query, every_row, rank)
        # Compute its value in the same way as that of a run, so that the best run is exactly 1:
        # with values of bases limited to their range, and the weights of the queries.
        values: list[Floats] = []
        for form, term in zip(forms, terms, strict=True):
            _, maximum = term.base.RANGE
            value = form.values(ranking)
            values.append(np.minimum(value, maximum))
        return self.combine(np.stack(values), np.stack(weights))

    def combine(self, values: Floats, weights: Floats) -> Floats:
        return means.arithmetic(values, weights)


class _MM(AspectMean):
    """Multidimensional measure: the weighted harmonic mean of a base measure over the aspects.

    MM = Σ_a p_a / Σ_a (p_a / μ_a), where μ_a is the value of the base measure on aspect a; 0 if any
    μ_a with p_a > 0 is 0. The base must be non-negative.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : as in CAM
        See `CAM`.

    Notes
    -----
    The non-zero MM values printed in Table 3 of Maistro et al. (2021) do not agree with Eq. 6 of
    that paper (most are half of it). This measure follows Eq. 6.

    References
    ----------
    As in Maistro et al. 2021, Eq. 6: ``MM(base='nDCG')``, the default. Table 3 prints half of it.

    Palotti, Zuccon, Hanbury: MM: A new Framework for Multidimensional Evaluation of Search
    Engines. CIKM 2018. Maistro et al., CIKM 2021, Eq. 6.

    Examples
    --------
    >>> from pt_multiaspect import MM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> round(MM(base="AP").calc_aggregate(qrels, run), 4)
    0.6667
    >>> explanation = MM(base="AP").explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "relevance part", "credibility part", "contribution"]].round(3)
      docno  relevance part  credibility part  contribution
    0    d1           0.111             0.000         0.111
    1    d2           0.111             0.444         0.556
    """

    PRETTY_NAME = "Multidimensional measure"
    SHORT_DESC = (
        "The weighted harmonic mean of a measure, by default nDCG, over the aspects: low if "
        "one aspect is low."
    )
    CRITERIA_DESC = (
        "The weighted harmonic mean of the criteria, which is low if one criterion is low."
    )
    CITATION = "Palotti et al. 2018; Maistro et al. 2021, Eq. 6"
    SOURCES: ClassVar[tuple[str, ...]] = ("palotti2018", "maistro2021")

    NONNEGATIVE = "harmonic"

    def combine(self, values: Floats, weights: Floats) -> Floats:
        return means.harmonic(values, weights)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return means.harmonic_slope(values, weights)


class _WHAM(_MM):
    """Weighted harmonic mean aggregating measure: `MM` for exactly two aspects.

    WHAM = 1 / (p_1 / μ_1 + p_2 / μ_2) with p_1 + p_2 = 1, where μ_a is the value of the base
    measure on aspect a, such as relevance and credibility; 0 if μ_1 or μ_2 is 0 and has a positive
    weight.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : as in CAM
        See `CAM`.

    References
    ----------
    As in Lioma et al. 2017, Table 3: ``WHAM(base={'relevance': 'nDCG', 'credibility': 'SetF'})``,
    with equal weights; by default, the base of both aspects is nDCG.

    Lioma, Simonsen, Larsen, ICTIR 2017, Eq. 13.

    Examples
    --------
    >>> from pt_multiaspect import WHAM
    >>> print(WHAM(aspects="relevance,credibility") @ 10)
    WHAM(aspects='relevance,credibility')@10
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> explanation = WHAM(base="AP").explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "relevance part", "credibility part", "contribution"]].round(3)
      docno  relevance part  credibility part  contribution
    0    d1           0.111             0.000         0.111
    1    d2           0.111             0.444         0.556
    """

    PRETTY_NAME = "Weighted harmonic mean aggregating measure"
    SHORT_DESC = (
        "The weighted harmonic mean of a measure, by default nDCG, over exactly two aspects."
    )
    CRITERIA_DESC = "The weighted harmonic mean of exactly two criteria."
    CITATION = "Lioma et al. 2017, Eq. 13"
    SOURCES = ("lioma2017",)

    def _check_names(self, names: Sequence[str]) -> None:
        """Raise an error unless there are two aspects, which match the parameters."""
        n_aspects = len(names)
        if n_aspects != 2:
            raise MultiAspectError(
                f"WHAM: expected exactly two aspects, got {n_aspects}: {choices(names)}; select "
                "two, as in WHAM(aspects='relevance,credibility'), or use MM"
            )
        super()._check_names(names)


class _GAM(AspectMean):
    """Weighted geometric mean of a base measure over the aspects.

    GAM = Π_a μ_a^p_a, where μ_a is the value of the base measure on aspect a and Σ_a p_a = 1; 0 if
    any μ_a with p_a > 0 is 0. The base must be non-negative.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : as in CAM
        See `CAM`.

    References
    ----------
    As in Lioma et al. 2017, §5.3: ``GAM(base={'relevance': 'nDCG', 'credibility': 'SetF'})``; by
    default, the base of all aspects is nDCG. They print no value.

    Lioma, Simonsen, Larsen, ICTIR 2017, §5.3, which suggests this mean.

    Examples
    --------
    >>> from pt_multiaspect import GAM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> round(GAM(base="AP").calc_aggregate(qrels, run), 4)
    0.7071
    >>> explanation = GAM(base="AP").explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "relevance part", "credibility part", "contribution"]].round(3)
      docno  relevance part  credibility part  contribution
    0    d1           0.177             0.000         0.177
    1    d2           0.177             0.354         0.530
    """

    PRETTY_NAME = "Geometric aggregating measure"
    SHORT_DESC = (
        "The weighted geometric mean of a measure, by default nDCG, over the aspects: 0 if "
        "one aspect is 0."
    )
    CRITERIA_DESC = "The weighted geometric mean of the criteria, which is 0 if one criterion is 0."
    CITATION = "after Lioma et al. 2017, §5.3"
    SOURCES = ("lioma2017",)

    NONNEGATIVE = "geometric"

    def combine(self, values: Floats, weights: Floats) -> Floats:
        return means.geometric(values, weights)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return means.geometric_slope(values, weights)


CAM = register(_CAM)
MM = register(_MM)
WHAM = register(_WHAM)
GAM = register(_GAM)


def _refuse_negative_gains(parts: Sequence[tuple[AspectView, Base, float]], name: str) -> None:
    """Raise an error if an aspect has negative gains that its base reads.

    `parts` are aspects with their bases and weights, and `name` is that of the mean of them.
    """
    for view, base, _ in parts:
        if base.reads_gains:
            view.check_gains(f"{name} over {base.text}")


def _drop_empty_aspects(weights: Floats, is_empty: Bools) -> Floats:
    """Return the weights of each query without its empty aspects, those without positive labels.

    The arrays have the shape (n_aspects, n_queries). The weights of a query sum to 1, or are all 0
    if all its aspects are empty.
    """
    remaining = np.where(is_empty, 0.0, weights)
    total = remaining.sum(axis=0)  # shape (n_queries,)
    return ratio(remaining, total)
