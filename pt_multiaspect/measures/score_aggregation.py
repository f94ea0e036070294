"""Measures that combine the values a base measure has on each aspect: CAM, MM, WHAM, GAM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..errors import MultiAspectError, choices
from ..judgments import AspectView, Judgments
from ..kernels.layout import Floats, ratio
from ..rankings import Rankings
from .base import ASPECTS, CUTOFF, Param, choice, weights_param
from .bases import Base
from .optimum import best_sum
from .single import BasedMeasure, Term, base_param

__all__ = ["CAM", "GAM", "MM", "WHAM"]


def _parse_bool(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise MultiAspectError(f"normalized is True or False, not {value!r}")


class ScoreAggregation(BasedMeasure):
    """A mean of the base measure's values on the aspects."""

    SUPPORTED_PARAMS = {
        "base": base_param("the measure on each aspect, or a dict of one per aspect", per_aspect=True),
        "weights": weights_param("the importance of each aspect, normalised to sum 1; equal by default"),
        "empty": Param(
            choice("empty", "zero", "drop"),
            "zero",
            "an aspect without positive labels in a query scores 0 there ('zero') or is left out ('drop')",
        ),
        "aspects": ASPECTS,
        "cutoff": CUTOFF,
    }

    def _check_names(self, names: Sequence[str]) -> None:
        super()._check_names(names)
        if isinstance(self._bases, Base):
            return
        missing, surplus = [n for n in names if n not in self._bases], sorted(set(self._bases) - set(names))
        if missing or surplus:
            raise MultiAspectError(
                f"{self.NAME} has bases for {choices(self._bases)}, but the aspects evaluated are {choices(names)}"
                + (f"; there is none for the aspect {choices(missing)}" if missing else "")
                + (f"; there is no aspect {choices(surplus)}" if surplus else "")
            )

    def _base_of(self, view: AspectView) -> Base:
        return self._bases if isinstance(self._bases, Base) else self._bases[view.name]

    def _parts(self, judgments: Judgments) -> list[tuple[AspectView, Base, float]]:
        """The aspects that count, with their bases and shares."""
        views = self.views(judgments)
        return [
            (view, self._base_of(view), share)
            for view, share in zip(views, self.shares(views), strict=True)
            if share > 0
        ]

    def terms(self, judgments: Judgments) -> list[Term]:
        parts = [(base, view.target, share) for view, base, share in self._parts(judgments)]
        shares = np.repeat([[share] for _, _, share in parts], judgments.n_queries, axis=1)
        if self["empty"] == "drop":
            shares = np.where(np.stack([base.empty(target) for base, target, _ in parts]), 0.0, shares)
            total = shares.sum(axis=0)
            shares = np.divide(shares, total, out=shares, where=total > 0)
        return [Term(base, target, share) for (base, target, _), share in zip(parts, shares, strict=True)]

    #: Whether the mean is the weighted sum of the values.
    IS_WEIGHTED_SUM: ClassVar[bool] = False
    GAIN_PER_QUERY = True

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the linear form Σ_a p_a g_a(d) / norm_a(q) of each judged document d of a query q.

        The norm is that of the base: the ideal DCG at k for nDCG@k, the number of positive documents
        for R, 1 for DCG, CG, P and RBP (where g is 1 for a positive document). An aspect whose norm is 0
        in a query is left out there. Sorting by the form maximises CAM if all aspects have the same
        linear base at the same cutoff. For other bases, and for MM, GAM and WHAM, no number per document
        does; the form is then a *surrogate*, as `gain_is_surrogate` tells.
        """
        self._warn_of_scales(judgments)
        terms = self.terms(judgments)
        shares = [term.weight[judgments.pool_query] * term.base.gain_share(term.target)[0] for term in terms]
        return np.asarray(np.sum(shares, axis=0), dtype=np.float64)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        terms = self.terms(judgments)
        keys = {term.base.gain_share(term.target)[1] for term in terms}
        return None in keys or len(keys) > 1 or not (self.IS_WEIGHTED_SUM or len(terms) == 1)

    def _warn_of_scales(self, judgments: Judgments) -> None:
        depending = {view for view, base, _ in self._parts(judgments) if base.depends_on_scale(view)}
        self.warn_if_inferred(self.views(judgments), lambda view: view in depending)

    def compute(self, rankings: Rankings) -> Floats:
        self._warn_of_scales(rankings.judgments)
        terms = self.terms(rankings.judgments)
        return self.combine(
            np.stack([term.base.values(rankings, term.target) for term in terms]),
            np.stack([term.weight for term in terms]),
        )

    def combine(self, values: Floats, weights: Floats) -> Floats:
        """The mean of values; both of shape (n_terms, n_queries)."""
        greatest = np.where(weights > 0, values, -np.inf).max(axis=0)
        mean = np.minimum(self._mean(values, weights), greatest)  # above by rounding only
        return np.where(np.isneginf(greatest), 0.0, mean)

    @abstractmethod
    def _mean(self, values: Floats, weights: Floats) -> Floats:
        """The mean of values and weights of shape (n_terms, n_queries)."""

    @abstractmethod
    def slope(self, values: Floats, weights: Floats) -> Floats:
        """The derivative of the mean at positive values, by term.

        All these means f are concave and f(c·x) = c·f(x), so that f(x) ≤ slope(y)·x for any x and
        y: a weighted sum that is nowhere less than the mean.
        """


class _CAM(ScoreAggregation):
    """Convex aggregating measure: the weighted arithmetic mean over aspects, Σ p_a μ_a.

    Parameters
    ----------
    base : ir_measures.Measure, str or dict, default 'nDCG'
        The measure μ on each aspect; a dict gives each aspect its own.
    weights : dict of str to float, optional
        The weights p_a ≥ 0, normalised to sum to 1; equal by default. Aspects of weight 0 are ignored.
    empty : {'zero', 'drop'}
        An aspect without any positive label in a query scores 0 there, as in the paper, or is
        left out of that query.
    normalized : bool, default False
        Divide by the best CAM that any ranking of the judged documents can reach, so that 1
        can be attained. Exact, and possible, for nDCG, RBP, P, R, SetR and Rprec only.
    aspects : Aspects, mapping or str, optional
        Which aspects; every label column by default.
    cutoff : int, optional
        ``CAM @ k`` is ``CAM(base=base @ k)``.

    Notes
    -----
    In strings ``cam`` is CAM over nDCG and ``cam_map`` CAM over AP, as the official evaluator of the TREC
    Health Misinformation tracks (Trec_eval_extension) names them; the values are its own, with two
    exceptions. Its ``cam_map`` is 0 for a topic whose *last* aspect found nothing relevant, whatever
    the others found; here only that aspect is 0. With three aspects its weights are .333333 each, so
    that a perfect run scores .999999.

    References
    ----------
    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 12. Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021, Eq. 5 and §4.2 (why 1 cannot always be reached).

    Examples
    --------
    >>> from pt_multiaspect import CAM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> CAM(base="AP").calc_aggregate(qrels, run)
    0.75
    """

    __name__ = "CAM"
    NAME = __name__
    PRETTY_NAME = "Convex aggregating measure"
    SHORT_DESC = "The weighted arithmetic mean of a measure over the aspects."
    CITATION = "Lioma et al. 2017, Eq. 12; Maistro et al. 2021, Eq. 5"
    SUPPORTED_PARAMS = {
        **{name: param for name, param in ScoreAggregation.SUPPORTED_PARAMS.items() if name != "cutoff"},
        "normalized": Param(_parse_bool, False, "divide by the best value any ranking can reach"),
        "cutoff": CUTOFF,
    }

    def _check(self) -> None:
        super()._check()
        if self["normalized"]:
            for base in self.each_base():
                base.check_linear()

    def compute(self, rankings: Rankings) -> Floats:
        values = super().compute(rankings)
        if not self["normalized"]:
            return values
        judgments = rankings.judgments
        # With empty='drop' the shares of a query are stretched alike above and below the line.
        best = judgments.cached(("best CAM", self._text), lambda: self._best(judgments))
        if self["empty"] == "drop":
            values = super(_CAM, self(empty="zero", normalized=False)).compute(rankings)
        return np.minimum(ratio(values, best), 1.0)

    IS_WEIGHTED_SUM = True

    def _mean(self, values: Floats, weights: Floats) -> Floats:
        return np.asarray((weights * values).sum(axis=0), dtype=np.float64)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return weights

    def _best(self, judgments: Judgments) -> Floats:
        """The greatest CAM of any ranking of the judged documents, per query."""
        forms = [(term.base.linear(term.target), term.weight) for term in self(empty="zero").terms(judgments)]
        return best_sum(forms, judgments.pool_query, judgments.n_queries).value


class _MM(ScoreAggregation):
    """The weighted harmonic mean over aspects, Σ p_a / Σ (p_a / μ_a); 0 where any μ_a is 0.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : as in CAM
        See `CAM`.

    Notes
    -----
    The non-zero MM values that Table 3 of the TOMA paper prints are not those of its Eq. 6
    (most are half of them); this is Eq. 6.

    References
    ----------
    Palotti, Zuccon, Hanbury: MM: A new Framework for Multidimensional Evaluation of Search
    Engines. CIKM 2018. Maistro et al., CIKM 2021, Eq. 6.

    Examples
    --------
    >>> from pt_multiaspect import MM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> round(MM(base="AP").calc_aggregate(qrels, run), 4)
    0.6667
    """

    __name__ = "MM"
    NAME = __name__
    PRETTY_NAME = "Multidimensional measure"
    SHORT_DESC = "The weighted harmonic mean of a measure over the aspects."
    CITATION = "Palotti et al. 2018; Maistro et al. 2021, Eq. 6"

    def _check(self) -> None:
        super()._check()
        for base in self.each_base():
            base.check_nonnegative("harmonic")

    def _mean(self, values: Floats, weights: Floats) -> Floats:
        counted = weights > 0
        defined = (~counted | (values > 0)).all(axis=0) & counted.any(axis=0)
        burdens = np.divide(weights, values, out=np.zeros_like(values), where=counted & (values > 0)).sum(axis=0)
        return np.where(defined, ratio(weights.sum(axis=0), burdens), 0.0)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return np.asarray(weights * (self._mean(values, weights) / values) ** 2, dtype=np.float64)


class _WHAM(_MM):
    """The weighted harmonic mean over exactly two aspects, such as relevance and credibility.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : as in CAM
        See `CAM`.

    References
    ----------
    Lioma, Simonsen, Larsen, ICTIR 2017, Eq. 13.

    Examples
    --------
    >>> from pt_multiaspect import WHAM
    >>> print(WHAM(aspects="relevance,credibility") @ 10)
    WHAM(aspects='relevance,credibility')@10
    """

    __name__ = "WHAM"
    NAME = __name__
    PRETTY_NAME = "Weighted harmonic mean aggregating measure"
    SHORT_DESC = "The weighted harmonic mean of a measure over exactly two aspects."
    CITATION = "Lioma et al. 2017, Eq. 13"

    def _check_names(self, names: Sequence[str]) -> None:
        if len(names) != 2:
            raise MultiAspectError(
                f"WHAM is defined for exactly two aspects, not for {len(names)}: {choices(names)}; choose "
                f"two, as WHAM(aspects='relevance,credibility'), or take MM"
            )
        super()._check_names(names)


class _GAM(ScoreAggregation):
    """The weighted geometric mean over aspects, Π μ_a^p_a; 0 where any μ_a is 0.

    Parameters
    ----------
    base, weights, empty, aspects, cutoff : as in CAM
        See `CAM`.

    References
    ----------
    Lioma, Simonsen, Larsen, ICTIR 2017, §5.3, which suggests the mean.

    Examples
    --------
    >>> from pt_multiaspect import GAM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> round(GAM(base="AP").calc_aggregate(qrels, run), 4)
    0.7071
    """

    __name__ = "GAM"
    NAME = __name__
    PRETTY_NAME = "Geometric aggregating measure"
    SHORT_DESC = "The weighted geometric mean of a measure over the aspects."
    CITATION = "after Lioma et al. 2017, §5.3"

    def _check(self) -> None:
        super()._check()
        for base in self.each_base():
            base.check_nonnegative("geometric")

    def _mean(self, values: Floats, weights: Floats) -> Floats:
        counted = weights > 0
        defined = (~counted | (values > 0)).all(axis=0) & counted.any(axis=0)
        logs = np.log(values, out=np.zeros_like(values), where=counted & (values > 0))
        return np.where(defined, np.exp((weights * logs).sum(axis=0)), 0.0)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return np.asarray(weights * self._mean(values, weights) / values, dtype=np.float64)


CAM = _CAM()
MM = _MM()
WHAM = _WHAM()
GAM = _GAM()
