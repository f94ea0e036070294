"""Displacement: cumulated relative position (CRP), also normalised, ratio and curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from .._typing import Floats
from ..bases import Statements, Term
from ..bases.strings import read_measure
from ..collection import Judgments, Ranking, Rankings
from ..errors import MultiAspectError, shown
from ..kernels import displacement
from ..kernels.breakdown import Breakdown
from ..kernels.displacement import Displacement
from ..kernels.hits import Hits, ratio
from ..kernels.target import Target
from .measure import Measure
from .on import On
from .parameters import CUTOFF
from .registry import register
from .single_aspect import SingleAspectMeasure


class _Displacement(SingleAspectMeasure):
    """A measure of the distance between documents and the ideal ranks of their degree."""

    SOURCES = ("angelini2012",)

    def statements(self) -> Statements:
        return replace(super().statements(), is_ordinal=True, accepts_negative_gains=True)

    def gain(self, target: Target) -> Floats:
        return displacement.degree(target)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        target.source.check_degrees()
        return self._score(ranking, target)

    def _score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the value of each query."""
        raise NotImplementedError


class _CRP(_Displacement):
    """Cumulated relative position: the cumulated distance of documents from their ideal ranks.

    In the ideal ranking of the judged documents, each degree (distinct gain) occupies an interval
    of ranks. R is the number of relevant documents. Documents that are not relevant have the lowest
    grade, or no label; their interval is [R + 1, ∞). The relative position of a document is 0
    inside the interval of its degree; otherwise it is the distance to the interval, negative if the
    document is ranked too high and positive if it is ranked too low. CRP is the sum of the relative
    positions down to rank R or k. It is 0 for the ideal ranking; the minimum at rank R is -R(R +
    1)/2. `crp_curve` returns the sums at all ranks.

    Harmful documents have a degree below 0, which is the gain that the aspect declares, as in
    ``Aspect([-1, 0, 1, 2], gains=[-1, 0, 1, 2])``; the degree 0 is then that of documents that are
    not relevant. In the ideal ranking, harmful documents stand below all other judged documents,
    the most harmful last, and like documents that are not relevant they are never ranked too low:
    the interval begins at this rank and has no end. So documents without a label, of which there
    are any number, are not harmful, and one that is ranked above a harmful document is no mistake.
    With harmful documents, CRP at rank R can be lower than -R(R + 1)/2.

    Parameters
    ----------
    cutoff : int, optional
        Rank at which the sum stops, as in ``CRP @ k``; R by default. Shorter rankings are padded
        with documents that are not relevant.

    Notes
    -----
    Contrary to the paper, CRP can be positive before or at rank R if labels are graded: with
    judgments 2, 1, 1, the ranking 1, 1, 2 has a CRP of +1 at R. With binary labels, CRP is never
    positive up to rank R. Beyond R it never decreases, unless documents are harmful.

    Labels below 0 without declared gains count as not relevant, with a warning.

    References
    ----------
    As in Angelini et al. 2012, Eq. 4-5: ``CRP @ 10``, the value at rank 10 of their curve.

    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation.
    CLEF 2012, and IIR 2013 (extended abstract), Eq. 1-5.

    Examples
    --------
    >>> from pt_multiaspect import CRP
    >>> qrels = {"q1": {"d1": 2, "d2": 1}}
    >>> CRP.calc_aggregate(qrels, {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}})
    -1.0
    >>> run = {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}
    >>> explanation = CRP.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "displacement", "contribution"]].round(3)
      docno  displacement  contribution
    0    d3          -2.0          -2.0
    1    d1           1.0           1.0
    2    d2           1.0           0.0
    """

    PRETTY_NAME = "Cumulated relative position"
    SHORT_DESC = (
        "Cumulated distance of documents from their ideal ranks; negative if ranked too high."
    )
    CITATION = "Angelini et al. 2012, Eq. 4-5"
    RANGE = (-np.inf, np.inf)
    SUPPORTED_PARAMS = {"cutoff": CUTOFF}

    def _score(self, ranking: Ranking, target: Target) -> Floats:
        return self.additive(target).values(ranking)

    def additive(self, target: Target) -> Displacement:
        return target.compute_once(("form", self), lambda: Displacement(target, self.cutoff))


class _nCRP(_Displacement):
    """Normalised cumulated relative position: CRP at rank R, scaled to values between 0 and 1.

    nCRP = min(1, 1 + 2 CRP / (R(R + 1))), where R is the number of relevant documents and -R(R +
    1)/2 the minimum of CRP at rank R, which is lower if documents are harmful (see `CRP`). Queries
    with R = 0 score 0.

    References
    ----------
    As in Angelini et al. 2012, Eq. 5, but for its norm, which they do not define: ``nCRP``.

    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation.
    CLEF 2012, and IIR 2013 (extended abstract), Eq. 5.

    Examples
    --------
    >>> from pt_multiaspect import nCRP
    >>> qrels = {"q1": {"d1": 2, "d2": 1}}
    >>> round(nCRP.calc_aggregate(qrels, {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}), 4)
    0.6667
    >>> run = {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}
    >>> explanation = nCRP.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "displacement", "contribution"]].round(3)
      docno  displacement  contribution
    0    d3          -2.0        -0.667
    1    d1           1.0         0.333
    2    d2           1.0         0.000
    >>> round(explanation.offset, 3)
    1.0
    """

    PRETTY_NAME = "Normalised cumulated relative position"
    SHORT_DESC = "CRP at rank R, scaled to values between 0 (worst ranking) and 1."
    CITATION = "after Angelini et al. 2012, Eq. 5"
    SUPPORTED_PARAMS = {}

    def statements(self) -> Statements:
        return replace(super().statements(), sorting_is_optimal=True)

    def _score(self, ranking: Ranking, target: Target) -> Floats:
        """Return 1 + CRP / -(minimum of CRP), limited to [0, 1]; 0 without relevant documents."""
        crp = Displacement(target)
        value = crp.values(ranking)
        # The worst ranking has the minimum of CRP, which is negative: its relative value is -1.
        size_of_minimum = -crp.worst
        relative_value = ratio(value, size_of_minimum)
        limited = np.clip(1.0 + relative_value, 0.0, 1.0)
        return np.where(crp.recall_base > 0, limited, 0.0)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return nCRP as 1 plus the parts of CRP, each divided by the size of its minimum.

        CRP is the sum of the displacements of documents and of what the ranks up to R add if the
        ranking is too short. The limits of nCRP, 0 and 1, are a last part.
        """
        form = Displacement(target)
        crp = form.breakdown(ranking)
        n_relevant = form.recall_base  # R of each query
        size_of_minimum = -form.worst  # the minimum of CRP is negative
        ones = np.ones(len(n_relevant))
        factor = ratio(ones, size_of_minimum)
        unlimited = replace(
            crp,
            contribution=crp.contribution * factor[crp.hits.query],
            offset=np.where(n_relevant > 0, 1.0, 0.0),  # queries with R = 0 score 0
            rest={"empty ranks": crp.rest["empty ranks"] * factor},
        )
        value = unlimited.values()
        effect_of_limits = np.clip(value, 0.0, 1.0) - value
        rest = {**unlimited.rest, "limit 0 to 1": effect_of_limits}
        return replace(unlimited, rest=rest)


class _CRPRecovery(_Displacement):
    """Recovery ratio: R divided by the rank at which CRP returns to 0.

    The balance point is the first retrieved rank, from R on, at which CRP is at least 0. The
    recovery ratio R / balance point is in (0, 1]; it is 0 if the ranking has no balance point or if
    R is 0.

    Notes
    -----
    Contrary to the paper, imperfect rankings can score 1 if labels are graded (the ranking 1, 2
    does), and moving a worse document up can increase the value.

    References
    ----------
    As in Angelini et al. 2012, §2, where the ratio is ρ: ``CRPRecovery``.

    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation.
    CLEF 2012, and IIR 2013 (extended abstract), §2.

    Examples
    --------
    >>> from pt_multiaspect import CRPRecovery
    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> CRPRecovery.calc_aggregate(qrels, {"q1": {"d3": 4.0, "d1": 3.0, "d4": 2.0, "d2": 1.0}})
    0.5
    >>> run = {"q1": {"d3": 4.0, "d1": 3.0, "d4": 2.0, "d2": 1.0}}
    >>> explanation = CRPRecovery.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "contribution"]].round(3)
      docno  contribution
    0    d3           0.0
    1    d1           0.0
    2    d4           0.0
    3    d2           0.5
    """

    PRETTY_NAME = "CRP recovery"
    SHORT_DESC = "R divided by the rank at which CRP returns to zero."
    CITATION = "Angelini et al. 2012, §2"
    SUPPORTED_PARAMS = {}

    def statements(self) -> Statements:
        return replace(super().statements(), sorting_is_optimal=True)

    def _score(self, ranking: Ranking, target: Target) -> Floats:
        return displacement.recovery(ranking, target)


def crp_curve(run: object, qrels: object, measure: Measure | str = On) -> pd.DataFrame:
    """Compute the CRP of each query at each rank.

    Parameters
    ----------
    run : DataFrame, dict or iterable of namedtuples
        One run.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        The judgments.
    measure : Measure or str, default On
        Defines the degrees of the documents: ``On(aspect="credibility")`` uses the labels of one
        aspect, TOMA the classes of label tuples, uRBPgr the products of probabilities. The base of
        the measure is not used.

    Returns
    -------
    DataFrame
        Columns ``qid rank crp worst recall_base turn_around balance_point``, with one row per query
        and rank, down to the last retrieved rank or R, whichever is larger; ``worst`` is the CRP of
        the worst ranking of that length: harmful documents, those that are not relevant, and at the
        end the relevant ones, the best last; ``recall_base`` is R, ``turn_around`` the first rank
        at which the curve has its minimum, and ``balance_point`` the first retrieved rank, from R
        on, at which CRP is at least 0 (see `CRPRecovery`), missing if there is none.

    References
    ----------
    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation. CLEF 2012, and
    IIR 2013 (extended abstract), Fig. 1.

    Examples
    --------
    >>> from pt_multiaspect import crp_curve
    >>> qrels = {"q1": {"d1": 1, "d2": 1}}
    >>> crp_curve({"q1": {"d3": 4.0, "d1": 3.0, "d4": 2.0, "d2": 1.0}}, qrels)
      qid  rank  crp  worst  recall_base  turn_around  balance_point
    0  q1     1   -2     -2            2            1              4
    1  q1     2   -2     -3            2            1              4
    2  q1     3   -2     -2            2            1              4
    3  q1     4    0      0            2            1              4
    """
    judgments = Judgments.of(qrels)
    target = _only_target(measure, judgments)
    target.source.check_degrees()
    hits = Rankings(run, judgments).hits
    # Arrays with one element per query and rank.
    query, rank, crp, worst = displacement.curve(hits, target)
    recall_base = Displacement(target).recall_base[query]
    turn_around = displacement.turn_around(query, rank, crp)
    balance_point = displacement.balance_point(hits, target)[query]  # 0 if there is none
    columns = {
        "qid": judgments.qids[query],
        "rank": rank,
        "crp": crp,
        "worst": worst,
        "recall_base": recall_base,
        "turn_around": turn_around,
        "balance_point": pd.Series(balance_point, dtype="Int64").mask(balance_point == 0),
    }
    return pd.DataFrame(columns)


def _only_target(measure: Measure | str, judgments: Judgments) -> Target:
    """Return the gains that a measure evaluates, if it has a single one per document."""
    if isinstance(measure, str):
        measure = read_measure(measure)
    terms: list[Term] = []
    if hasattr(measure, "terms"):  # measures of ir-measures have none
        terms = measure.terms(judgments)
    if len(terms) == 1:
        return terms[0].target
    number = len(terms) or "none"
    raise MultiAspectError(
        "expected a measure with one gain per document, such as On or TOMA, got "
        f"{shown(measure)}, which has {number}"
    )


CRP = register(_CRP)
nCRP = register(_nCRP)
CRPRecovery = register(_CRPRecovery)
