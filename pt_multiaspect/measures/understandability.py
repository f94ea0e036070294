"""Products of gains: uRBP, uRBPgr, unDCG and uERR, which multiply the aspects' probabilities."""

from __future__ import annotations

from dataclasses import replace

import ir_measures
import numpy as np

from .._typing import Floats
from .._validation import real
from ..bases import Base, Statements, as_base
from ..bases.discounted import GradedRBP
from ..collection import AspectView, Judgments
from .joint import Joint, JointMeasure
from .measure import warn_if_inferred
from .parameters import ASPECTS, CUTOFF, Param
from .registry import register
from .terms import power_gain

_PERSISTENCE = Param(
    real("p", low=0, high=1), 0.8, "the probability that the user continues to the next rank"
)
_SHARPNESS = Param(
    real("s", low=0, open_low=True), 1, "the factor in the gain of a document, 2^(s·P) - 1"
)


class _Understandability(JointMeasure):
    """A measure of Zuccon's, whose gains never fall."""

    CITATION = "Zuccon 2016, §4"

    def statements(self) -> Statements:
        base_never_falls = self._base_of_gains.stated.never_falls_with_labels
        return replace(
            super().statements(), label_terms=self.terms, never_falls_with_labels=base_never_falls
        )

    def document_gain(self, judgments: Judgments) -> Floats:
        warn_if_inferred(self, self.views(judgments))
        return self.target(judgments).gain


class _Product(_Understandability):
    """A measure of the product of the aspects' probabilities."""

    def depends_on(self, view: AspectView) -> bool:
        return not view.scale.identity

    def _product(self, views: tuple[AspectView, ...]) -> tuple[Floats, float]:
        """Return the product of the probabilities of judged documents, and of an unjudged one."""
        # The last element of each array is the probability of an unjudged document.
        probabilities = [view.probability for view in views]
        product = np.prod(probabilities, axis=0, dtype=np.float64)
        of_judged = product[:-1]
        of_unjudged = float(product[-1])
        return of_judged, of_unjudged

    def details(self, judgments: Judgments) -> dict[str, Floats]:
        """Return the product of the probabilities of each document."""
        product, _ = self._product(self.views(judgments))
        return {"product": product}


class _ExponentialProduct(_Product):
    """A measure with the gain 2^(s·P) - 1, where P is the product of the aspects' probabilities."""

    SUPPORTED_PARAMS = {"s": _SHARPNESS, "aspects": ASPECTS, "cutoff": CUTOFF}

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return 2^(s·P) - 1 of each document, for use as a training label."""
        exponent = super().document_gain(judgments)
        return power_gain(exponent, "the exponent s·P of", "choose a smaller s")

    def _exponent(self, views: tuple[AspectView, ...]) -> Floats:
        """Return s·P of each document; 0 if it is not judged on every aspect."""
        product, _ = self._product(views)
        is_judged = np.all([view.known for view in views], axis=0)
        exponent = self["s"] * product
        return np.where(is_judged, exponent, 0.0)


class _OfRBP(_Understandability):
    """Rank-biased precision of gains from 0 to 1."""

    SOURCES = ("zuccon2016", "moffat2008")
    SUPPORTED_PARAMS = {"p": _PERSISTENCE, "aspects": ASPECTS, "cutoff": CUTOFF}

    def base(self) -> Base:
        return GradedRBP(ir_measures.RBP(p=self["p"])).at(self.cutoff)


class _uRBP(_OfRBP):
    """Understandability-biased RBP: a document counts if it is positive on every aspect.

    uRBP = (1 - p) Σ_k p^(k-1) Π_a u_a(k), where u_a(k) is 1 if the grade of the document at rank k
    is at least the threshold of aspect a, else 0. Values are between 0 and 1; for p > 0, 1 is not
    attainable by a finite ranking.

    Parameters
    ----------
    p : float in [0, 1), default 0.8
        Persistence: the probability that the user continues to the next rank.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and thresholds; by default, every label column. With one aspect,
        uRBP is RBP.
    cutoff : int, optional
        Rank at which the sum stops, as in ``uRBP @ k``.

    References
    ----------
    As in Zuccon 2016, §6: ``uRBP(aspects={'relevance': 2, 'understandability': Aspect(3,
    threshold=2)})``, with p = .8, the default. By default, all grades above the lowest are
    positive, also of understandability.

    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.

    Examples
    --------
    >>> from pt_multiaspect import Aspect, uRBP
    >>> qrels = {"q1": {"d1": {"relevance": 1, "understandability": 3}, "d2": {"relevance": 2}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> aspects = {"relevance": 2, "understandability": Aspect(3, threshold=2)}
    >>> round(uRBP(p=0.8, aspects=aspects).calc_aggregate(qrels, run), 4)
    0.2
    >>> explanation = uRBP(p=0.8, aspects=aspects).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "discount", "contribution"]].round(3)
      docno  gain  discount  contribution
    0    d1   1.0      0.20           0.2
    1    d2   0.0      0.16           0.0
    """

    PRETTY_NAME = "Understandability-biased RBP"
    SHORT_DESC = "Rank-biased precision of the documents that are positive on every aspect."

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        """Return the gain 1 for documents that are positive on all aspects, 0 for others."""
        for view in views:
            view.check_threshold()
        is_positive = np.all([view.positive for view in views], axis=0)
        return Joint(is_positive.astype(np.float64))

    def depends_on(self, view: AspectView) -> bool:
        return view.scale.is_fractional


class _uRBPgr(_OfRBP, _Product):
    """Graded uRBP: the gain of a document is the product of its probabilities over the aspects.

    uRBPgr = (1 - p) Σ_k p^(k-1) Π_a P_a(k), where P_a(k) is the probability that aspect a assigns
    to the grade of the document at rank k. In the paper, the probabilities of understandability are
    0, .4, .8, 1, and relevance is binary (probabilities 0, 1, 1). Values are between 0 and 1.

    Parameters
    ----------
    p : float in [0, 1), default 0.8
        Persistence: the probability that the user continues to the next rank.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and probabilities; by default, every label column, with
        probabilities linear in the grade, from 0 to 1.
    cutoff : int, optional
        Rank at which the sum stops, as in ``uRBPgr @ k``.

    References
    ----------
    As in Zuccon 2016, §6, where all relevant documents count alike: ``uRBPgr(aspects={'relevance':
    Aspect(2, probabilities=[0, 1, 1]), 'understandability': Aspect(3, probabilities=[0, 0.4, 0.8,
    1])})``, with p = .8, the default. By default, probabilities are linear in the grade.

    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.

    Examples
    --------
    >>> from pt_multiaspect import Aspect, uRBPgr
    >>> qrels = {"q1": {"d1": {"relevance": 1, "understandability": 1}}}
    >>> aspects = {"relevance": 1, "understandability": Aspect(3, probabilities=[0, 0.4, 0.8, 1])}
    >>> round(uRBPgr(p=0.8, aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 1.0}}), 4)
    0.08
    >>> run = {"q1": {"d1": 1.0}}
    >>> explanation = uRBPgr(p=0.8, aspects=aspects).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "product", "gain", "contribution"]].round(3)
      docno  product  gain  contribution
    0    d1      0.4   0.4          0.08
    """

    PRETTY_NAME = "Graded understandability-biased RBP"
    SHORT_DESC = "Rank-biased precision with the product of the aspects' probabilities as gain."

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        product, unjudged = self._product(views)
        # An unjudged document counts as one with the lowest grade on every aspect.
        return Joint(product, unjudged=unjudged, bottom=unjudged)


class _unDCG(_ExponentialProduct):
    """Understandability-biased nDCG: nDCG with the gain 2^(s·P) - 1.

    unDCG = DCG / IDCG with DCG = Σ_k (2^(s·P(k)) - 1) / log2(k + 1), where P(k) is the product of
    the probabilities of the document at rank k over the aspects, and IDCG is the DCG of the ideal
    ranking of all judged documents. P is 0 for a document that is not judged on every aspect.
    Values are between 0 and 1.

    Parameters
    ----------
    s : float > 0, default 1
        Factor in the exponent; the paper's formula has s = 1. On one aspect with grades 0..K and
        linear probabilities, s = K gives nDCG with the gain 2^grade - 1.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and probabilities; by default, every label column, with
        probabilities linear in the grade, from 0 to 1.
    cutoff : int, optional
        Rank at which both sums stop, as in ``unDCG @ k``.

    Notes
    -----
    ``unDCG`` is this package's name for the nDCG instance of Zuccon's gain framework.

    References
    ----------
    As in Zuccon 2016, §4, which names nDCG as an instance of its framework: ``unDCG(s=1)``, the
    default.

    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.

    Examples
    --------
    >>> from pt_multiaspect import unDCG
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> round(unDCG(aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.6309
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> explanation = unDCG(aspects=aspects).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "product", "gain", "discount", "contribution"]].round(3)
      docno  product  gain  discount  contribution
    0    d1      0.0   0.0     1.000         0.000
    1    d2      1.0   1.0     0.631         0.631
    """

    PRETTY_NAME = "Understandability-biased nDCG"
    SHORT_DESC = "nDCG with a gain from the product of the aspects' probabilities."
    SOURCES = ("zuccon2016", "jarvelin2002")

    def base(self) -> Base:
        return as_base(ir_measures.nDCG(dcg="exp-log2")).at(self.cutoff)

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        return Joint(self._exponent(views))


class _uERR(_ExponentialProduct):
    """Understandability-biased expected reciprocal rank.

    uERR = Σ_k (1/k) R_k Π_{i<k} (1 - R_i) with R = (2^(s·P) - 1) / 2^(s·Pmax), where P is the
    product of the probabilities of a document over the aspects and Pmax is the maximum of this
    product on the scales. P is 0 for a document that is not judged on every aspect. Values are at
    least 0 and below 1.

    Parameters
    ----------
    s : float > 0, default 1
        Factor in the exponent; the paper's formula has s = 1. On one aspect with grades 0..K and
        linear probabilities, s = K gives ERR.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and probabilities; by default, every label column, with
        probabilities linear in the grade, from 0 to 1.
    cutoff : int, optional
        Rank at which the sum stops, as in ``uERR @ k``.

    Notes
    -----
    ``uERR`` is this package's name for the ERR instance of Zuccon's gain framework. The formula
    printed in the paper has only the discount 1/k, so that values could exceed 1; this measure
    restores the cascade of ERR.

    References
    ----------
    As in Zuccon 2016, §4, which names ERR as an instance of its framework: ``uERR(s=1)``, the
    default.

    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.
    Chapelle et al.: Expected Reciprocal Rank for Graded Relevance. CIKM 2009.

    Examples
    --------
    >>> from pt_multiaspect import uERR
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 1}}}
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> uERR(aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 1.0}})
    0.5
    >>> run = {"q1": {"d1": 1.0}}
    >>> explanation = uERR(aspects=aspects).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "product", "stop", "gain", "contribution"]].round(3)
      docno  product  stop  gain  contribution
    0    d1      1.0   0.5   1.0           0.5
    """

    PRETTY_NAME = "Understandability-biased ERR"
    SHORT_DESC = "Expected reciprocal rank with the product of the aspects' probabilities."
    SOURCES = ("zuccon2016", "chapelle2009")

    def base(self) -> Base:
        return as_base(ir_measures.ERR).at(self.cutoff)

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        top = float(np.prod([view.top_probability for view in views]))
        return Joint(self._exponent(views), top=self["s"] * top)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        return True  # uERR is a cascade, not a sum of document gains


uRBP = register(_uRBP)
uRBPgr = register(_uRBPgr)
unDCG = register(_unDCG)
uERR = register(_uERR)
