"""Cumulated relative position: CRP, nCRP, CRPRecovery, and its curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .._typing import Floats
from ..collection.judgments import Judgments
from ..collection.rankings import Ranking, Rankings
from ..errors import MultiAspectError
from ..kernels import displacement
from ..kernels.displacement import Displacement
from ..kernels.hits import ratio
from ..kernels.target import Target
from .measure import Measure
from .on import On
from .parameters import CUTOFF
from .single_aspect import SingleAspectMeasure

__all__ = ["CRP", "CRPRecovery", "crp_curve", "nCRP"]


class _Displacement(SingleAspectMeasure):
    """A measure of how far documents are from the ranks of their degree."""

    ORDINAL = True

    def gain(self, target: Target) -> Floats:
        return displacement.degree(target)


class _CRP(_Displacement):
    """Cumulated relative position: by how many ranks documents stand too early (-) or too late (+).

    The ideal ranking of the judged documents gives every degree (distinct gain) an interval of
    ranks, the lowest degree that from R + 1 on; R is the number of documents above the lowest
    degree. A document's relative position is its distance to its degree's interval, and CRP the
    sum over the first ranks. 0 for the ideal ranking, at least -R(R + 1)/2 at R.

    Parameters
    ----------
    cutoff : int, optional
        ``CRP @ k`` sums up to rank k; up to R by default. Shorter rankings are padded with
        documents of the lowest degree.

    Notes
    -----
    Against what the paper claims, CRP can be positive before R with graded labels: judged 2, 1, 1
    and ranked 1, 1, 2 it is +1 at R. With binary labels it cannot. After R it never decreases.

    References
    ----------
    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation.
    CLEF 2012, and IIR 2013 (extended abstract), Eq. 1-5.

    Examples
    --------
    >>> from pt_multiaspect import CRP
    >>> qrels = {"q1": {"d1": 2, "d2": 1}}
    >>> CRP.calc_aggregate(qrels, {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}})
    -1.0
    """

    __name__ = "CRP"
    NAME = __name__
    PRETTY_NAME = "Cumulated relative position"
    SHORT_DESC = "By how many ranks documents stand too early (negative) or too late, summed up to rank R or k."
    CITATION = "Angelini et al. 2012, Eq. 4-5"
    RANGE = (-np.inf, np.inf)
    SUPPORTED_PARAMS = {"cutoff": CUTOFF}

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return displacement.crp(ranking, target, self.cutoff)

    def additive(self, target: Target) -> Displacement:
        return target.cached(("form", self), lambda: Displacement(target, self.cutoff))


class _NCRP(_Displacement):
    """CRP at R, normalised by the worst there can be: min(1, 1 + 2 CRP / (R(R + 1))); 0 if R is 0.

    References
    ----------
    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation.
    CLEF 2012, and IIR 2013 (extended abstract), Eq. 5.

    Examples
    --------
    >>> from pt_multiaspect import nCRP
    >>> qrels = {"q1": {"d1": 2, "d2": 1}}
    >>> round(nCRP.calc_aggregate(qrels, {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}), 4)
    0.6667
    """

    __name__ = "nCRP"
    NAME = __name__
    PRETTY_NAME = "Normalised cumulated relative position"
    SHORT_DESC = "CRP at rank R, from 0 for the worst ranking to 1."
    CITATION = "after Angelini et al. 2012, Eq. 5"
    SORTING_IS_OPTIMAL = True
    SUPPORTED_PARAMS = {}

    def score(self, ranking: Ranking, target: Target) -> Floats:
        total = displacement.recall_base(target)
        loss = ratio(2.0 * displacement.crp(ranking, target), total * (total + 1.0))
        return np.where(total > 0, np.clip(1.0 + loss, 0.0, 1.0), 0.0)


class _CRPRecovery(_Displacement):
    """Recovery: R over the rank at which CRP is back at 0, in (0, 1]; 0 if no retrieved rank is such.

    The balance point is the first rank from R on with CRP at least 0, among the retrieved.

    Notes
    -----
    Against what the paper claims, 1 does not only stand for perfect rankings when labels are
    graded (labels 1, 2 ranked so have recovery 1), and swapping a worse document up may raise it.

    References
    ----------
    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation.
    CLEF 2012, and IIR 2013 (extended abstract), §2.

    Examples
    --------
    >>> from pt_multiaspect import CRPRecovery
    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> CRPRecovery.calc_aggregate(qrels, {"q1": {"d3": 4.0, "d1": 3.0, "d4": 2.0, "d2": 1.0}})
    0.5
    """

    __name__ = "CRPRecovery"
    NAME = __name__
    PRETTY_NAME = "CRP recovery"
    SHORT_DESC = "R over the rank at which CRP is back at zero."
    CITATION = "Angelini et al. 2012, §2"
    SORTING_IS_OPTIMAL = True
    SUPPORTED_PARAMS = {}

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return displacement.recovery(ranking, target)


def crp_curve(run: object, qrels: object, measure: Measure = On) -> pd.DataFrame:
    """Return the curve of CRP over the ranks of every query.

    Parameters
    ----------
    run : DataFrame, dict or iterable of namedtuples
        One run.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        The judgments.
    measure : Measure, default On
        Whose labels count: ``On(aspect="credibility")`` takes those of one aspect, TOMA the classes
        of several, uRBPgr their products. Its base is not used.

    Returns
    -------
    DataFrame
        Columns ``qid rank crp recall_base``, a row per query and rank up to the last retrieved
        rank or R, whichever is greater; ``recall_base`` is R.

    Examples
    --------
    >>> from pt_multiaspect import crp_curve
    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> crp_curve({"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}, qrels)["crp"].tolist()
    [-2, -2, -1]
    """
    judgments = Judgments.of(qrels)
    terms = measure.terms(judgments)
    if len(terms) != 1:
        raise MultiAspectError(
            f"a curve is drawn of one number per document, such as those of On or TOMA; {measure!r} has "
            f"{len(terms) or 'none'}"
        )
    target = terms[0].target
    query, rank, value = displacement.curve(Rankings(run, judgments).hits, target)
    return pd.DataFrame(
        {
            "qid": judgments.qids[query],
            "rank": rank,
            "crp": value,
            "recall_base": displacement.recall_base(target)[query],
        }
    )


CRP = _CRP()
nCRP = _NCRP()
CRPRecovery = _CRPRecovery()
