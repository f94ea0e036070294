"""Measures that combine the aspects of each document: uRBP, uRBPgr, unDCG, uERR, NWCS."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..judgments import AspectView, Judgments
from ..kernels import ranked
from ..kernels.layout import Bools, Floats, Layout, ratio
from ..kernels.target import ideal_order
from ..rankings import Rankings
from .base import ASPECTS, CUTOFF, MultiAspectMeasure, Param, choice, power_gain, real, weights_param

__all__ = ["NWCS", "uERR", "uRBP", "uRBPgr", "unDCG"]

_PERSISTENCE = Param(real("p", low=0, high=1), 0.8, "the chance that a user goes on to the next rank")
_SHARPNESS = Param(real("s", low=0, open_low=True), 1, "a document's gain is 2^(s·P) - 1")


def _probability(views: tuple[AspectView, ...]) -> Floats:
    """The product of the aspects' gains, with an element more at the end for unjudged documents."""
    return np.asarray(np.prod([view.probability for view in views], axis=0), dtype=np.float64)


def _positive(views: tuple[AspectView, ...]) -> Bools:
    """Which documents are positive in every aspect."""
    for view in views:
        view.check_threshold()
    return np.asarray(np.all([view.positive for view in views], axis=0), dtype=np.bool_)


def _judged_probability(views: tuple[AspectView, ...]) -> Floats:
    """The product of the aspects' gains, 0 where one is not judged."""
    return np.where(np.all([view.known for view in views], axis=0), _probability(views)[:-1], 0.0)


def _sharpened(probability: Floats, s: float) -> Floats:
    """The gains 2^(s·P) - 1 of documents."""
    return power_gain(s * probability, "the exponent s·P of", "choose a smaller s")


def _takes_the_scale(view: AspectView) -> bool:
    return not view.scale.identity


def _covering(layout: Layout, gain: Floats) -> Layout:
    """The layout with unjudged documents among the hits, if they gain anything."""
    return layout.dense() if gain[-1] else layout


class _uRBP(MultiAspectMeasure):
    """Understandability-biased RBP: a document counts if it is positive in every aspect.

    uRBP = (1 - p) Σ_k p^(k-1) Π_a u_a(k), with u_a = 1 from the aspect's threshold up, else 0.

    Parameters
    ----------
    p : float in [0, 1), default 0.8
        The chance that a user goes on to the next rank.
    aspects : Aspects, mapping or str, optional
        Which aspects, with their thresholds; every label column by default. With one aspect
        this is RBP.
    cutoff : int, optional
        ``uRBP @ k`` stops at rank k.

    References
    ----------
    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.

    Examples
    --------
    >>> from pt_multiaspect import Aspect, uRBP
    >>> qrels = {"q1": {"d1": {"relevance": 1, "understandability": 3}, "d2": {"relevance": 2}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> aspects = {"relevance": 2, "understandability": Aspect(3, threshold=2)}
    >>> round(uRBP(p=0.8, aspects=aspects).calc_aggregate(qrels, run), 4)
    0.2
    """

    __name__ = "uRBP"
    NAME = __name__
    PRETTY_NAME = "Understandability-biased RBP"
    SHORT_DESC = "Rank-biased precision of documents that are positive in every aspect."
    CITATION = "Zuccon 2016, §4"
    SUPPORTED_PARAMS = {"p": _PERSISTENCE, "aspects": ASPECTS, "cutoff": CUTOFF}

    def compute(self, rankings: Rankings) -> Floats:
        views = self.views(rankings.judgments)
        self.warn_if_inferred(views, lambda view: view.scale.is_fractional)
        return ranked.rbp(rankings.layout, _positive(views), self["p"], self.cutoff)

    def document_gain(self, judgments: Judgments) -> Floats:
        views = self.views(judgments)
        self.warn_if_inferred(views, lambda view: view.scale.is_fractional)
        return _positive(views).astype(np.float64)

    def worth(self, judgments: Judgments) -> Floats | None:
        return _positive(self.views(judgments)).astype(np.float64)


class _uRBPgr(MultiAspectMeasure):
    """Graded uRBP: a document's gain is the product of its aspects' gains.

    uRBPgr = (1 - p) Σ_k p^(k-1) Π_a P_a(k), with P_a the `gains` of the aspect. In the paper
    understandability gains 0, .4, .8, 1 and relevance is binary (gains 0, 1, 1).

    Parameters
    ----------
    p : float in [0, 1), default 0.8
        The chance that a user goes on to the next rank.
    aspects : Aspects, mapping or str, optional
        Which aspects, with their gains; every label column, on a linear scale, by default.
    cutoff : int, optional
        ``uRBPgr @ k`` stops at rank k.

    References
    ----------
    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.

    Examples
    --------
    >>> from pt_multiaspect import Aspect, uRBPgr
    >>> qrels = {"q1": {"d1": {"relevance": 1, "understandability": 1}}}
    >>> aspects = {"relevance": 1, "understandability": Aspect(3, gains=[0, 0.4, 0.8, 1])}
    >>> round(uRBPgr(p=0.8, aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 1.0}}), 4)
    0.08
    """

    __name__ = "uRBPgr"
    NAME = __name__
    PRETTY_NAME = "Graded understandability-biased RBP"
    SHORT_DESC = "Rank-biased precision with the product of the aspects' gains."
    CITATION = "Zuccon 2016, §4"
    SUPPORTED_PARAMS = {"p": _PERSISTENCE, "aspects": ASPECTS, "cutoff": CUTOFF}

    def compute(self, rankings: Rankings) -> Floats:
        views = self.views(rankings.judgments)
        self.warn_if_inferred(views, _takes_the_scale)
        gain = _probability(views)
        return ranked.rbp(_covering(rankings.top(self.cutoff), gain), gain, self["p"])

    def document_gain(self, judgments: Judgments) -> Floats:
        views = self.views(judgments)
        self.warn_if_inferred(views, _takes_the_scale)
        return _probability(views)[:-1]

    def worth(self, judgments: Judgments) -> Floats | None:
        return _probability(self.views(judgments))[:-1]


class _unDCG(MultiAspectMeasure):
    """Understandability-biased nDCG, with the gain 2^(s·P) - 1.

    P is the product of the aspects' gains; the ideal ranking is over all judged documents.
    As in nDCG an aspect that is not judged gains nothing.

    Parameters
    ----------
    s : float > 0, default 1
        The paper's form has 1; s = K on one linear aspect with grades 0..K is nDCG with the
        gain 2^grade - 1.
    aspects : Aspects, mapping or str, optional
        Which aspects, with their gains.
    cutoff : int, optional
        ``unDCG @ k``.

    References
    ----------
    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.

    Examples
    --------
    >>> from pt_multiaspect import unDCG
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> round(unDCG(aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.6309
    """

    __name__ = "unDCG"
    NAME = __name__
    PRETTY_NAME = "Understandability-biased nDCG"
    SHORT_DESC = "nDCG with a gain from the product of the aspects' gains."
    CITATION = "Zuccon 2016, §4"
    SUPPORTED_PARAMS = {"s": _SHARPNESS, "aspects": ASPECTS, "cutoff": CUTOFF}

    def compute(self, rankings: Rankings) -> Floats:
        views = self.views(rankings.judgments)
        self.warn_if_inferred(views, _takes_the_scale)
        probability = _judged_probability(views)
        # Scaled by a power of two, which cancels out, so that no s overflows.
        gain = ranked.stop_probability(self["s"] * probability, self["s"] * probability.max(initial=0.0))
        layout = rankings.layout
        ideal = ranked.ideal_dcg(*ideal_order(layout.pool_query, gain), layout.n_queries, self.cutoff)
        return np.minimum(ratio(ranked.dcg(layout, gain, self.cutoff), ideal), 1.0)

    def document_gain(self, judgments: Judgments) -> Floats:
        views = self.views(judgments)
        self.warn_if_inferred(views, _takes_the_scale)
        return _sharpened(_judged_probability(views), self["s"])

    def worth(self, judgments: Judgments) -> Floats | None:
        return _judged_probability(self.views(judgments))


class _uERR(MultiAspectMeasure):
    """Understandability-biased expected reciprocal rank.

    uERR = Σ_k (1/k) R_k Π_{i<k} (1 - R_i) with R = (2^(s·P) - 1) / 2^(s·Pmax), P the product
    of the aspects' gains and Pmax the product of their greatest.

    Parameters
    ----------
    s : float > 0, default 1
        The paper's form has 1; s = K on one linear aspect with grades 0..K is ERR.
    aspects : Aspects, mapping or str, optional
        Which aspects, with their gains.
    cutoff : int, optional
        ``uERR @ k``.

    Notes
    -----
    The formula in the paper prints the discount 1/k alone, with which values can exceed 1; the
    cascade of ERR, which it extends, is restored here. Values stay below 1.

    References
    ----------
    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, §4.
    Chapelle et al.: Expected Reciprocal Rank for Graded Relevance. CIKM 2009.

    Examples
    --------
    >>> from pt_multiaspect import uERR
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 1}}}
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> uERR(aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 1.0}})
    0.5
    """

    __name__ = "uERR"
    NAME = __name__
    PRETTY_NAME = "Understandability-biased ERR"
    SHORT_DESC = "Expected reciprocal rank with the product of the aspects' gains."
    CITATION = "Zuccon 2016, §4"
    SUPPORTED_PARAMS = {"s": _SHARPNESS, "aspects": ASPECTS, "cutoff": CUTOFF}

    def compute(self, rankings: Rankings) -> Floats:
        views = self.views(rankings.judgments)
        self.warn_if_inferred(views, _takes_the_scale)
        top = float(np.prod([view.top_probability for view in views]))
        stop = ranked.stop_probability(self["s"] * _probability(views), self["s"] * top)
        return ranked.err(_covering(rankings.top(self.cutoff), stop), stop)

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return 2^(s·P) - 1, a surrogate: uERR stops at documents and is no sum of their gains."""
        views = self.views(judgments)
        self.warn_if_inferred(views, _takes_the_scale)
        return _sharpened(_probability(views)[:-1], self["s"])

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        return True

    def worth(self, judgments: Judgments) -> Floats | None:
        return _probability(self.views(judgments))[:-1]


class _NWCS(MultiAspectMeasure):
    """Normalised weighted cumulative score: weighted values over those of an ideal ranking.

    NWCS = Σ_i (1/log2(1+i)) Σ_a p_a Z_a(i), divided by the same of an ideal ranking; Z_a are the
    aspect's `values`. 0 when the ideal is 0.

    Parameters
    ----------
    weights : dict of str to float, optional
        The weights p_a, normalised to sum to 1; equal by default.
    ideal : {'joint', 'separate', 'judged'}, default 'joint'
        What the score is divided by: ``'joint'``, the score of the best single ranking of the
        retrieved documents; ``'separate'``, Σ_a p_a IDCG_a of the best rankings of the retrieved
        documents by each aspect; ``'judged'``, the score of the best single ranking of *all judged*
        documents, over as many ranks as the run retrieved (at most `cutoff`).
    aspects : Aspects, mapping or str, optional
        Which aspects, with their values.
    cutoff : int, optional
        ``NWCS @ k`` sees the first k retrieved documents only.

    Notes
    -----
    Three ideals are in use. The text of Lioma et al. (2017) describes ``'joint'``; the value .9413 that
    the paper prints comes from ``'separate'``; the official evaluator of the TREC Health
    Misinformation tracks (``nwcs`` of Trec_eval_extension) divides by ``'judged'``. Only ``'judged'``
    penalises a run for relevant documents that it does not retrieve. The measure name ``nwcs`` in a
    string is ``NWCS(ideal='judged')``. With three aspects that evaluator uses the weights .333333.

    References
    ----------
    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 10-11.

    Examples
    --------
    >>> from pt_multiaspect import NWCS
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> round(NWCS.calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.8597
    """

    __name__ = "NWCS"
    NAME = __name__
    PRETTY_NAME = "Normalised weighted cumulative score"
    SHORT_DESC = "Discounted weighted values over those of the best re-ranking of the same documents."
    CITATION = "Lioma et al. 2017, Eq. 10-11"
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "weights": weights_param("the importance of each aspect, normalised to sum 1; equal by default"),
        "ideal": Param(
            choice("ideal", "joint", "separate", "judged"),
            "joint",
            "the ideal: joint or separate rankings of the retrieved documents, or one of all judged documents",
        ),
        "aspects": ASPECTS,
        "cutoff": CUTOFF,
    }

    def _scores(self, judgments: Judgments) -> list[Floats]:
        """The share times the value of each aspect, with one element more at the end for unjudged documents."""
        views = self.views(judgments)
        return [
            share * np.maximum(view.scale.values, 0.0)[np.append(view.grade, 0)]
            for view, share in zip(views, self.shares(views), strict=True)
        ]

    def document_gain(self, judgments: Judgments) -> Floats:
        return np.asarray(np.sum(self._scores(judgments), axis=0)[:-1], dtype=np.float64)

    def compute(self, rankings: Rankings) -> Floats:
        scores = self._scores(rankings.judgments)
        total = np.sum(scores, axis=0)
        layout = _covering(rankings.top(self.cutoff), total)
        if self["ideal"] == "judged":
            return np.minimum(ratio(ranked.dcg(layout, total), ranked.judged_ideal_dcg(layout, total)), 1.0)
        ideals = scores if self["ideal"] == "separate" else [total]
        ideal = np.sum([ranked.retrieved_ideal_dcg(layout, each) for each in ideals], axis=0)
        return np.minimum(ratio(ranked.dcg(layout, total), ideal), 1.0)


uRBP = _uRBP()
uRBPgr = _uRBPgr()
unDCG = _unDCG()
uERR = _uERR()
NWCS = _NWCS()
