"""Measures that combine the values a base measure has on each aspect: CAM, MM, WHAM, GAM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from .._typing import Floats
from .._validation import boolean, choice
from ..bases import Base, Term
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices
from ..kernels import means
from ..kernels.best_ranking import best_ranking, placed
from ..kernels.hits import ratio
from .parameters import ASPECTS, CUTOFF, Param, base_param, weights_param
from .terms import BasedMeasure, base_depends_on

__all__ = ["CAM", "GAM", "MM", "WHAM", "AspectMean"]


class AspectMean(BasedMeasure):
    """A mean of the base measure's values on the aspects: it states `combine`, and `slope` if it is concave."""

    #: The kind of mean that is defined for values of at least 0 only, for the error of a base that has others.
    NONNEGATIVE: str | None = None
    IS_WEIGHTED_SUM = False
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

    @abstractmethod
    def combine(self, values: Floats, weights: Floats) -> Floats:
        """The mean of the values of the aspects; both arguments have the shape (n_aspects, n_queries)."""

    def _check(self) -> None:
        super()._check()
        negative = [base.text for base in self.bases.each() if base.RANGE[0] < 0]
        if self.NONNEGATIVE is not None and negative:
            raise MultiAspectError(
                f"{choices(negative)} can be negative, and the {self.NONNEGATIVE} mean of such values is "
                "undefined; choose a base of at least 0, or CAM"
            )

    def _check_names(self, names: Sequence[str]) -> None:
        super()._check_names(names)
        self.bases.check_names(names, self.NAME)

    def _parts(self, views: Sequence[AspectView]) -> list[tuple[AspectView, Base, float]]:
        """The aspects that count, with their bases and shares."""
        shares = zip(views, self.shares(views), strict=True)
        return [(view, self.bases.of(view.name), share) for view, share in shares if share > 0]

    def depends_on(self, view: AspectView) -> bool:
        weights = self["weights"]
        if weights is not None and not weights[view.name]:
            return False
        return base_depends_on(self.bases.of(view.name), view)

    def terms(self, judgments: Judgments) -> list[Term]:
        return judgments.cached(("terms", self), lambda: self._make_terms(judgments))

    GAIN_PER_QUERY = True

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the linear form Σ_a p_a g_a(d) / norm_a(q) of each judged document d of a query q.

        The norm is that of the base: the ideal DCG at k for nDCG@k, the number of positive documents
        for R, 1 for DCG, CG, P and RBP (where g is 1 for a positive document). An aspect whose norm is 0
        in a query is left out there. Sorting by the form maximises CAM if all aspects have the same
        linear base at the same cutoff. For other bases, and for MM, GAM and WHAM, no number per document
        does; the form is then a *surrogate*, as `gain_is_surrogate` tells.
        """
        self.warn_if_inferred(self.views(judgments))
        shares = [
            term.weight[judgments.pool_query] * term.base.gain_share(term.target)[0]
            for term in self.terms(judgments)
        ]
        return np.asarray(np.sum(shares, axis=0), dtype=np.float64)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        terms = self.terms(judgments)
        keys = {term.base.gain_share(term.target)[1] for term in terms}
        return None in keys or len(keys) > 1 or not (self.IS_WEIGHTED_SUM or len(terms) == 1)

    def _make_terms(self, judgments: Judgments) -> list[Term]:
        parts = [(base, view.target, share) for view, base, share in self._parts(self.views(judgments))]
        shares = np.repeat([[share] for _, _, share in parts], judgments.n_queries, axis=1)
        if self["empty"] == "drop":
            shares = np.where(np.stack([base.empty(target) for base, target, _ in parts]), 0.0, shares)
            total = shares.sum(axis=0)
            shares = np.divide(shares, total, out=shares, where=total > 0)
        return [Term(base, target, share) for (base, target, _), share in zip(parts, shares, strict=True)]


class _CAM(AspectMean):
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
    aspects : Aspects, mapping or str, optional
        Which aspects; every label column by default.
    normalized : bool, default False
        Divide by the best CAM that any ranking of the judged documents can reach, so that 1
        can be attained. Exact, for bases that are sums over ranks and at least 0: nDCG, DCG, CG,
        RBP, P, R, SetR, Rprec.
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
        **{name: param for name, param in AspectMean.SUPPORTED_PARAMS.items() if name != "cutoff"},
        "normalized": Param(boolean("normalized"), False, "divide by the best value any ranking can reach"),
        "cutoff": CUTOFF,
    }

    IS_WEIGHTED_SUM = True

    def _check(self) -> None:
        super()._check()
        for base in self.bases.each() if self["normalized"] else ():
            if not base.is_additive:
                raise MultiAspectError(
                    "normalized=True needs the best value any ranking can reach, which is known for bases that "
                    f"are sums over ranks (nDCG, P, R, Rprec, RBP, SetR, DCG, CG), but not for {base.text}"
                )
            if base.RANGE[0] < 0 or base.LOWER_IS_BETTER:
                raise MultiAspectError(
                    f"normalized=True divides by the best value, which need not be positive for {base.text}; "
                    "choose a base of at least 0"
                )

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        values = super()._evaluate(rankings, views)
        if not self["normalized"]:
            return values
        judgments = rankings.judgments
        best = judgments.cached(("best", self), lambda: self._best(judgments))
        return np.minimum(ratio(values, best), 1.0)

    def _best(self, judgments: Judgments) -> Floats:
        """The maximum of the weighted sum over all rankings of the judged documents, per query.

        With the same weights as the values above the line, whatever `empty` says.
        """
        terms = self.terms(judgments)
        forms = [(term.base.additive(term.target), term.weight) for term in terms]
        known = [(form, weight) for form, weight in forms if form is not None]
        rank = best_ranking(known, judgments.pool_query, judgments.n_queries)
        hits = placed(rank, judgments.pool_query, judgments.n_queries)
        # Computed as the value of a run is, so that the best ranking is exactly 1.
        values = [
            np.minimum(form.values(hits), term.base.RANGE[1]) for (form, _), term in zip(known, terms, strict=True)
        ]
        return self.combine(np.stack(values), np.stack([term.weight for term in terms]))

    def combine(self, values: Floats, weights: Floats) -> Floats:
        return means.arithmetic(values, weights)


class _MM(AspectMean):
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

    NONNEGATIVE = "harmonic"

    def combine(self, values: Floats, weights: Floats) -> Floats:
        return means.harmonic(values, weights)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return means.harmonic_slope(values, weights)


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


class _GAM(AspectMean):
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

    NONNEGATIVE = "geometric"

    def combine(self, values: Floats, weights: Floats) -> Floats:
        return means.geometric(values, weights)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return means.geometric_slope(values, weights)


CAM = _CAM()
MM = _MM()
WHAM = _WHAM()
GAM = _GAM()
