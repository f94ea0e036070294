"""Cumulated relative position: CRP, nCRP, CRPRecovery, and its curve."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..errors import MultiAspectError
from ..judgments import Judgments
from ..kernels import displacement
from ..kernels.layout import Floats, ratio
from ..kernels.target import Target
from ..rankings import Rankings
from .base import CUTOFF, MultiAspectMeasure, SingleAspectMeasure
from .single import On
from .toma import TOMA

__all__ = ["CRP", "CRPRecovery", "crp_curve", "nCRP"]


class _CRP(SingleAspectMeasure):
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
    BINARY = False
    SUPPORTED_PARAMS = {"cutoff": CUTOFF}

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        return displacement.crp(rankings.layout, target, self.cutoff)


class _NCRP(SingleAspectMeasure):
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
    BINARY = False
    SUPPORTED_PARAMS = {}

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        total = displacement.recall_base(target)
        loss = ratio(2.0 * displacement.crp(rankings.layout, target), total * (total + 1.0))
        return np.where(total > 0, np.clip(1.0 + loss, 0.0, 1.0), 0.0)


class _CRPRecovery(SingleAspectMeasure):
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
    BINARY = False
    SUPPORTED_PARAMS = {}

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        return displacement.recovery(rankings.layout, target)


def crp_curve(run: object, qrels: object, measure: MultiAspectMeasure = On) -> pd.DataFrame:
    """Return the curve of CRP over the ranks of every query.

    Parameters
    ----------
    run : DataFrame, dict or iterable of namedtuples
        One run.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        The judgments.
    measure : On or TOMA, default On
        Whose labels count: ``On(aspect="credibility")`` takes those of one aspect, TOMA the classes
        of several. Its base is not used.

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
    if isinstance(measure, type(TOMA)):
        target = measure.target(judgments)
    elif isinstance(measure, type(On)):
        target = judgments.view(measure["aspect"], measure["aspects"]).target
    else:
        raise MultiAspectError(f"a curve is drawn of the labels of On or TOMA, not of {measure!r}")
    query, rank, value = displacement.curve(Rankings(run, judgments).layout, target)
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
