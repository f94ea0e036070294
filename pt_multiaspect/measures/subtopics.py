"""Subtopics: intent-aware measures with the aspects as subtopics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from .._validation import boolean, fraction, real
from ..bases import Bases, Term, parse_base
from ..bases.adapters import Adapter
from ..bases.cascade import LinearStopping, linear_stop
from ..bases.standard import DIVERSITY
from ..collection import AspectView, Judgments, Rankings
from ..errors import MultiAspectError, choices
from ..kernels import intent_aware
from ..kernels.forms import Log2, Power, Reciprocal
from ..kernels.hits import Hits, ratio
from .intents import PROBABILITIES, warn_of_missing_intents
from .measure import warn_if_inferred
from .parameters import COMMON, Param
from .registry import register
from .terms import BasedMeasure
from .weights import has_weight, weighted_views

#: The discounts of the measures that sum discounted gains, and whether they divide by a greedy
#: ideal.
_DISCOUNTED: dict[type, tuple[Callable[[ir_measures.Measure], Callable[[Ints], Floats]], bool]] = {
    type(ir_measures.alpha_nDCG): (lambda measure: Log2(), True),
    type(ir_measures.alpha_DCG): (lambda measure: Log2(), False),
    type(ir_measures.nERR_IA): (lambda measure: Reciprocal(), True),
    type(ir_measures.ERR_IA): (lambda measure: Reciprocal(), False),
    type(ir_measures.nNRBP): (lambda measure: Power(measure["beta"]), True),
    type(ir_measures.NRBP): (lambda measure: Power(measure["beta"]), False),
}
_ERR_IA = type(ir_measures.ERR_IA)
#: Measures that divide by the cutoff, or by the maximum gain down to the cutoff.
_NEED_CUTOFF = (type(ir_measures.alpha_DCG), _ERR_IA, type(ir_measures.P_IA))
#: The redundancy intolerance of ERR_IA and nERR_IA.
_ALPHA = 0.5


def _parse(base: object) -> Bases:
    """Return an intent-aware measure of ir-measures as a base."""
    parsed = parse_base(base, by_subtopic=True)
    if not isinstance(parsed.one, Adapter) or type(parsed.one.measure) not in DIVERSITY:
        known = choices(measure_class.NAME for measure_class in DIVERSITY)
        raise MultiAspectError(
            f"base: expected an intent-aware measure of ir-measures ({known}), got {base}"
        )
    return parsed


class _Subtopics(BasedMeasure):
    """An intent-aware measure of ir-measures, with each aspect as a subtopic.

    A document belongs to the subtopics of the aspects on which its label reaches the threshold. The
    measures reward rankings that cover the subtopics early and repeat them late. Subtopics without
    documents are ignored in a query, and queries without subtopics have the value 0. Values are at
    least 0; those of measures that are normalised by a greedy ideal can exceed 1 (see Notes), the
    others are at most 1.

    Parameters
    ----------
    base : ir_measures.Measure or str, default 'alpha_nDCG'
        ``alpha_nDCG``, ``alpha_DCG``, ``ERR_IA``, ``nERR_IA``, ``NRBP``, ``nNRBP``, ``StRecall``,
        ``P_IA`` or ``AP_IA``, with their parameters ``alpha`` in [0, 1], ``beta`` in [0, 1) and
        ``rel``. An explicit ``rel`` replaces the thresholds of all aspects.
    graded : bool, default False
        For ``ERR_IA``: use the gains of the grades rather than the thresholds, as NTCIREVAL does
        (see Notes).
    weights : dict of str to float, optional
        For ``graded=True``: the probabilities of the intents, normalised to sum to 1; equal by
        default.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and thresholds; by default, every label column.
    cutoff : int, optional
        Cutoff of the base: ``Subtopics(base=...) @ k`` is ``Subtopics(base=base @ k)``.
        ``alpha_DCG``, ``ERR_IA`` (unless graded) and ``P_IA`` require one; ``NRBP``, ``nNRBP`` and
        ``AP_IA`` accept none.

    Notes
    -----
    The gain of a document is Σ_s (1 - α)^n_s, where s are its subtopics and n_s is the number of
    documents of s above it; α is .5 in ``ERR_IA`` and ``nERR_IA``. The discount is 1 / log2(rank +
    1), 1 / rank or β^(rank-1). ``alpha_DCG`` and ``ERR_IA`` divide by the sum for k documents that
    belong to every subtopic, ``NRBP`` by the same without a cutoff. ``alpha_nDCG``, ``nERR_IA`` and
    ``nNRBP`` divide by the sum of a greedy ranking of the judged documents, which is not the
    optimum: no ranking is optimal at every rank in general. As in ndeval, ties of the greedy
    ranking are broken by docno, descending.

    Graded ERR-IA is Σ_s P(s) ERR_s, where P(s) are `weights` and ERR_s = Σ_k (1 / k) p_k Π_{j<k} (1
    - p_j) with p = gain / (1 + maximum gain of the scale). There is no denominator, so that 1 is
    not attainable; subtopics without relevant documents count as 0.

    Values agree with ndeval (through ir-measures and pyndeval) on runs without ties. Ties of runs
    are broken by docno, descending, as everywhere in this package; ndeval breaks them ascending.
    ndeval leaves ``ERR_IA@1`` and ``alpha_DCG@1`` undivided, so that they exceed 1; here they are
    divided as at other cutoffs. Cutoffs above 20, several α in one experiment, and experiments with
    other measures work here; for the problems of long qrels, see `as_subtopics`, which makes qrels
    by subtopic of label columns, as `from_subtopics` does the reverse.

    References
    ----------
    As in Clarke et al. 2008: ``Subtopics(base='alpha_nDCG(alpha=0.5)') @ 10``, with the default
    base.

    Clarke et al.: Novelty and Diversity in Information Retrieval Evaluation. SIGIR 2008. Chapelle
    et al.: Expected Reciprocal Rank for Graded Relevance. CIKM 2009. Clarke, Kolla, Vechtomova: An
    Effectiveness Measure for Ambiguous and Underspecified Queries. ICTIR 2009. Agrawal et al.:
    Diversifying Search Results. WSDM 2009. Zhai, Cohen, Lafferty: Beyond Independent Relevance.
    SIGIR 2003. Sakai and Song: Evaluating Diversified Search Results Using Per-intent Graded
    Relevance. SIGIR 2011 (graded ERR-IA).

    Examples
    --------
    >>> from pt_multiaspect import Subtopics
    >>> labels = {"d1": (1, 0), "d2": (1, 0), "d3": (0, 1)}
    >>> qrels = {"q1": {d: {"relevance": r, "credibility": c} for d, (r, c) in labels.items()}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> (Subtopics(base="StRecall") @ 2).calc_aggregate(qrels, run)
    0.5
    >>> round((Subtopics(base="alpha_nDCG(alpha=0.5)") @ 20).calc_aggregate(qrels, run), 4)
    0.9652
    >>> explanation = Subtopics(base="alpha_nDCG(alpha=0.5)").explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "relevance", "credibility", "contribution"]].round(4)
      docno  relevance  credibility  contribution
    0    d1        1.0          0.0        0.5317
    1    d2        1.0          0.0        0.1677
    2    d3        0.0          1.0        0.2658
    """

    PRETTY_NAME = "Intent-aware measure on aspects"
    SHORT_DESC = "An intent-aware measure, such as α-nDCG, with each aspect as a subtopic."
    CITATION = "Clarke et al. 2008"
    SOURCES = ("clarke2008", "sakai2011")
    RANGE = (0.0, np.inf)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "base": Param(
            _parse, _parse("alpha_nDCG"), "the intent-aware measure", spell=Bases.spelled
        ),
        "graded": Param(
            boolean("graded"), False, "ERR_IA of gains, with probabilities of intents, undivided"
        ),
        "weights": PROBABILITIES,
        **COMMON,
    }

    def _check(self) -> None:
        """Raise an error for parameters that the base does not have, and for those out of range."""
        super()._check()
        if self["graded"]:
            self._check_graded()
        elif self["weights"] is not None:
            raise MultiAspectError(
                "weights are the probabilities of intents of graded ERR_IA: pass graded=True"
            )
        params = self._base.params
        if params.get("judged_only"):
            raise MultiAspectError(
                "base: judged_only=True is not supported; remove unjudged documents from the run"
            )
        # ir-measures accepts any number.
        if "alpha" in params:
            check_alpha = fraction("alpha")
            check_alpha(params["alpha"])
        if "beta" in params:
            check_beta = real("beta", low=0, high=1)
            check_beta(params["beta"])

    def _check_graded(self) -> None:
        """Raise an error unless the base is ERR_IA, without a lowest relevant label."""
        is_err_ia = type(self._base.measure) is _ERR_IA
        if not is_err_ia or "rel" in self._base.params:
            raise MultiAspectError(
                f"graded=True requires the base ERR_IA, without rel, got {self._base.text}"
            )

    @property
    def _base(self) -> Any:
        """The intent-aware measure with its cutoff."""
        return self.bases.one

    @property
    def _alpha(self) -> float:
        """The redundancy intolerance: a parameter of the base, or that of ERR-IA, a constant."""
        if "alpha" in self._base.SUPPORTED_PARAMS:
            return float(self._base["alpha"])
        return _ALPHA

    @property
    def range(self) -> tuple[float, float]:
        """0 to 1, but without maximum for measures that divide by a greedy ranking.

        The greedy ranking need not be the best, so that others may exceed 1.
        """
        measure_class = type(self._base.measure)
        if measure_class in _DISCOUNTED:
            _, is_divided_by_greedy = _DISCOUNTED[measure_class]
            if is_divided_by_greedy:
                return (0.0, np.inf)
        return (0.0, 1.0)

    def validate_params(self) -> None:
        """Raise an error if the base requires a cutoff and has none."""
        if self["graded"]:  # the value is a mean of ERR on each aspect, which requires none
            return
        requires_cutoff = type(self._base.measure) in _NEED_CUTOFF
        if requires_cutoff and self._base.cutoff is None:
            raise MultiAspectError(
                f"{self.NAME}: the base {self._base.text} requires a cutoff, as in {self}@20"
            )

    def depends_on(self, view: AspectView) -> bool:
        """Return whether values depend on the scale of an aspect, if it is inferred.

        The grades of an inferred scale depend on which labels occur in the qrels. So values depend
        on it if gains are relative to the highest grade, or if the lowest grade above which
        documents belong to a subtopic is not known without the qrels.
        """
        if self["graded"]:  # gains are relative to the highest grade
            return has_weight(self["weights"], view)
        if not view.scale.greater_is_better:  # the lowest grade is the largest label that occurs
            return True
        if self._base.rel is not None:  # documents belong to a subtopic from this label on
            return False
        # Scales of whole numbers begin at 0, so that documents belong from the label 1 on. With
        # fractions, they do from the second smallest label that occurs.
        return view.scale.is_fractional

    def _members(self, judgments: Judgments) -> Bools:
        """Return whether judged documents belong to subtopics, shape (n_subtopics, n_pool)."""
        return np.stack([view.target.relevant(self._base.rel) for view in self.views(judgments)])

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return ERR on each intent, weighted by its probability, if graded; else no terms."""
        if not self["graded"]:
            return []
        # ERR whose users stop at a document with the probability gain / (1 + maximum gain).
        err = LinearStopping(self._base.cutoff)
        intents = weighted_views(self["weights"], self.views(judgments))
        terms: list[Term] = []
        for view, probability in intents:
            weight = np.full(judgments.n_queries, probability)
            terms.append(Term(err, view.target, weight, view.name))
        return terms

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the value of the base over the subtopics, by the function for its class."""
        self.validate_params()
        if self["graded"]:
            for view, _ in weighted_views(self["weights"], views):
                view.check_gains(f"{self.NAME}(graded=True)")
            warn_of_missing_intents(self, views)
            return super()._evaluate(rankings, views)
        measure_class = type(self._base.measure)
        cutoff = self._base.cutoff
        members = self._members(rankings.judgments)
        hits = rankings.top(cutoff)
        if measure_class is type(ir_measures.StRecall):
            return intent_aware.recall(hits, members)
        if measure_class is type(ir_measures.P_IA):
            return intent_aware.precisions(hits, members, cutoff)
        if measure_class is type(ir_measures.AP_IA):
            return intent_aware.average_precisions(hits, members)
        return self._discounted_gains(rankings, hits, members)

    def _discounted_gains(self, rankings: Rankings, hits: Hits, members: Bools) -> Floats:
        """Return the sum of discounted gains, divided by that of an ideal ranking.

        `hits` are the judged documents retrieved, and `members` tells for each subtopic whether
        each judged document belongs to it.
        """
        measure = self._base.measure
        make_discount, is_divided_by_greedy = _DISCOUNTED[type(measure)]
        discount = make_discount(measure)
        alpha_dcg = intent_aware.alpha_dcg(hits, members, self._alpha, discount)
        if is_divided_by_greedy:  # α-nDCG, nERR-IA and nNRBP
            greedy = self._greedy_ideal(rankings, members, self._alpha)
            ideal = intent_aware.alpha_dcg(greedy, members, self._alpha, discount)
            return ratio(alpha_dcg, ideal)
        # α-DCG, ERR-IA and NRBP: the ideal has documents that belong to all subtopics at all ranks.
        n_subtopics = intent_aware.n_subtopics(hits, members)
        if type(measure) is type(ir_measures.NRBP):
            return self._nrbp(alpha_dcg, n_subtopics)
        full_gain = intent_aware.full_gain(n_subtopics, self._alpha, discount, self._base.cutoff)
        return ratio(alpha_dcg, full_gain)

    def _nrbp(self, alpha_dcg: Floats, n_subtopics: Floats) -> Floats:
        """Return α-DCG divided by that of documents that belong to all n subtopics at all ranks.

        Without a cutoff, this is n Σ_k ((1 - α) β)^(k-1) = n / (1 - (1 - α) β).
        """
        inverse_of_sum = 1.0 - (1.0 - self._alpha) * self._base["beta"]
        return ratio(alpha_dcg * inverse_of_sum, n_subtopics)

    def _greedy_ideal(self, rankings: Rankings, members: Bools, alpha: float) -> Hits:
        """Return the greedy ranking of judged documents, once for all runs and discounts."""
        judgments = rankings.judgments
        cutoff = self._base.cutoff

        def make_ranking() -> Hits:
            """Return the ranking, in which ties are broken by docno."""
            docno_codes, _ = pd.factorize(judgments.docnos, sort=True)  # sorted as the docnos
            return intent_aware.greedy_ideal(rankings.hits, members, alpha, docno_codes, cutoff)

        # The members of subtopics follow from the aspects and `rel`, which can be a key.
        key = ("greedy", self.spec, self._base.rel, alpha, cutoff)
        return judgments.compute_once(key, make_ranking)

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the number of subtopics of each document, or Σ P gain / (1 + maximum) if graded.

        This gain at rank 1 is a surrogate, as the contribution of a document depends on the
        documents above it.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        ndarray of float, shape (n_pool,)
            The gains, from 0 to the number of aspects.
        """
        warn_if_inferred(self, self.views(judgments))
        if not self["graded"]:
            n_subtopics = self._members(judgments).sum(axis=0)
            return np.asarray(n_subtopics, dtype=np.float64)
        gains: list[Floats] = []
        for term in self.terms(judgments):  # one per intent, whose weight is its probability P
            probability = term.weight[judgments.pool_query]
            stop = linear_stop(term.target)  # gain / (1 + maximum)
            gains.append(probability * stop)
        return np.asarray(np.sum(gains, axis=0), dtype=np.float64)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        return True


Subtopics = register(_Subtopics)
