"""Weighted cumulative score: NWCS of Lioma et al."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from ir_measures import nDCG

from .._typing import Floats
from .._validation import choice
from ..bases import Statements, Term, as_base
from ..collection import AspectView, Judgments, Rankings
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Log2
from ..kernels.hits import Hits, ideal_sums, ratio
from .joint import Joint
from .measure import DirectMeasure
from .parameters import COMMON, Param, weights_param
from .registry import register
from .weights import normalised_weights


class _NWCS(DirectMeasure):
    """Normalised weighted cumulative score: discounted weighted gains, divided by ideal ones.

    The score of a ranking is Σ_i (1/log2(1+i)) Σ_a p_a Z_a(i), where Z_a(i) is the gain of the
    document at rank i on aspect a. NWCS is this score divided by that of an ideal ranking (see
    `ideal`). Values are between 0 and 1, and 0 if the ideal score is 0.

    Parameters
    ----------
    weights : dict of str to float, optional
        The weights p_a, normalised to sum to 1; equal by default.
    ideal : {'joint', 'separate', 'judged'}, default 'joint'
        The denominator. ``'joint'``: the score of the best ranking of the retrieved documents.
        ``'separate'``: Σ_a p_a IDCG_a, where each aspect has its own best ranking of the retrieved
        documents. ``'judged'``: the score of the best ranking of *all judged* documents, down to as
        many ranks as the run retrieved (at most `cutoff`).
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and gains; by default, every label column.
    cutoff : int, optional
        ``NWCS @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    Three ideals are in use. The text of Lioma et al. (2017) describes ``'joint'``; the value .9413
    printed in the paper is obtained with ``'separate'``; the official evaluator of the TREC Health
    Misinformation tracks (``nwcs`` in Trec_eval_extension) uses ``'judged'``. Only ``'judged'``
    penalises a run for relevant documents that it does not retrieve. In strings, ``nwcs`` is
    ``NWCS(ideal='judged')``. With three aspects, that evaluator uses weights of .333333.

    References
    ----------
    As in Lioma et al. 2017, Table 3: ``NWCS(ideal='separate')``, whose mean over the rankings of
    A66 is the printed .9413; by default, the ideal is joint.

    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, Eq. 10-11.

    Examples
    --------
    >>> from pt_multiaspect import NWCS
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> round(NWCS.calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.8597
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> explanation = NWCS.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "discount", "contribution"]].round(3)
      docno  gain  discount  contribution
    0    d1   0.5     1.000          0.38
    1    d2   1.0     0.631          0.48
    """

    PRETTY_NAME = "Normalised weighted cumulative score"
    SHORT_DESC = (
        "The weighted gains on all aspects, discounted by rank, divided by those of an ideal "
        "ranking."
    )
    CITATION = "Lioma et al. 2017, Eq. 10-11"
    SOURCES = ("lioma2017",)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "weights": weights_param(
            "the importance of each aspect, normalised to sum to 1; equal by default"
        ),
        "ideal": Param(
            choice("ideal", "joint", "separate", "judged"),
            "joint",
            "the ideal: joint or separate rankings of the retrieved documents, or one of all "
            "judged documents",
        ),
        **COMMON,
    }

    def depends_on(self, view: AspectView) -> bool:
        return not view.scale.greater_is_better

    def _gains(self, views: tuple[AspectView, ...]) -> list[Floats]:
        """Return the weighted gains on each aspect, shape (n_documents + 1,).

        The last element is the gain of all unjudged documents.
        """
        for view in views:
            view.check_gains(self.NAME)
        names = [view.name for view in views]
        weights = normalised_weights(self["weights"], names)
        weighted_gains: list[Floats] = []
        for view, weight in zip(views, weights, strict=True):
            gain_of_grade = np.maximum(view.scale.gains, 0.0)
            grade = np.append(view.grade, 0)  # unjudged documents have the lowest grade
            weighted_gains.append(weight * gain_of_grade[grade])
        return weighted_gains

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the sum over the aspects of the weighted gains of each judged document."""
        views = self.views(judgments)
        total_gain = np.sum(self._gains(views), axis=0)
        gain_of_judged = total_gain[:-1]  # the last element is the gain of unjudged documents
        return np.asarray(gain_of_judged, dtype=np.float64)

    def statements(self) -> Statements:
        """State that the value is nDCG of the weighted gains, with the documents of its ideal."""
        # The names in `Statements` for the documents of ideal rankings.
        documents_of_ideal = {
            "joint": "retrieved",  # those that the run retrieves
            "separate": "separate",  # the same, in a ranking for each aspect
            "judged": "ranks",  # the judged ones, down to as many ranks as the run has
        }
        documents = documents_of_ideal[self["ideal"]]
        return replace(
            super().statements(),
            is_weighted_sum=True,
            never_falls_with_terms=True,
            label_terms=self._label_terms,
            ideal_documents=documents,
        )

    def _label_terms(self, judgments: Judgments) -> list[Term]:
        """Return nDCG of the weighted gains, or of each aspect if the ideals are separate.

        The terms have equal weights, as their gains are weighted.
        """
        views = self.views(judgments)
        base = as_base(nDCG).at(self.cutoff)
        weight = np.ones(judgments.n_queries)
        # By aspect, the gains of the judged documents. (The last one is that of unjudged ones.)
        gains = [gain[:-1] for gain in self._gains(views)]
        if self["ideal"] == "separate":
            terms: list[Term] = []
            for view, gain in zip(views, gains, strict=True):
                target = Joint(gain).target(views)
                terms.append(Term(base, target, weight, aspects=(view.name,)))
            return terms
        total_gain = np.sum(gains, axis=0)
        target = Joint(total_gain).target(views)
        return [Term(base, target, weight, aspects=())]  # () are all aspects

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the discounted gains of the ranking, divided by those of its ideal."""
        ranking, gain_of_row, ideal = self._parts(rankings, views)
        gain = gain_of_row[ranking.row]
        discount = Log2()(ranking.rank)
        wcs = ranking.total(gain * discount)  # shape (n_queries,)
        value = ratio(wcs, ideal)
        return np.minimum(value, 1.0)  # rounding errors may exceed 1

    def _breakdown(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Breakdown:
        """Return the values as sums over all retrieved documents."""
        ranking, gain_of_row, ideal = self._parts(rankings, views)
        dense = ranking.dense()
        gain = gain_of_row[dense.row]
        discount = Log2()(dense.rank)
        discounted_gain = gain * discount
        contribution = ratio(discounted_gain, ideal[dense.query])
        return Breakdown(dense, contribution, gain, discount, ideal)

    def _parts(
        self, rankings: Rankings, views: tuple[AspectView, ...]
    ) -> tuple[Hits, Floats, Floats]:
        """Return the first ranks, the gain of each row of documents, and the ideal of each query.

        The gains are weighted sums over the aspects; the last row is that of unjudged documents.
        """
        gains_by_aspect = self._gains(views)
        total_gain = np.sum(gains_by_aspect, axis=0)
        gain_of_judged = total_gain[:-1]
        gain_of_unjudged = total_gain[-1]
        ranking: Hits = rankings.top(self.cutoff)  # the judged documents among the first ranks
        if gain_of_unjudged != 0:
            ranking = ranking.dense()  # all documents in them
        if self["ideal"] == "judged":
            ideal = _judged_ideal(ranking, gain_of_judged, gain_of_unjudged)
        elif self["ideal"] == "joint":
            ideal = _retrieved_ideal(ranking, [total_gain])
        else:  # the sum of separate ideals, one per aspect
            ideal = _retrieved_ideal(ranking, gains_by_aspect)
        return ranking, total_gain, ideal

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        # With separate ideals, the denominator depends on which documents are retrieved.
        return bool(self["ideal"] == "separate")


def _retrieved_ideal(ranking: Hits, gains: Sequence[Floats]) -> Floats:
    """Return the sum of the ideals of several gains, each of its own ranking of the documents.

    Each ranking sorts the retrieved documents by one of the gains, which have one element per row.
    """
    ideal = np.zeros(ranking.n_queries)
    for gain_of_row in gains:
        gain = gain_of_row[ranking.row]
        ideal += ideal_sums(ranking.query, gain, Log2(), ranking.n_queries, None)
    return ideal


def _judged_ideal(ranking: Hits, gain: Floats, gain_of_unjudged: float) -> Floats:
    """Return the discounted gain of the ideal ranking with as many ranks as retrieved.

    It has the judged documents with the highest `gain`. If there are fewer than ranks, unjudged
    documents follow.
    """
    query = ranking.pool_query  # of each judged document
    if gain_of_unjudged != 0:
        # Add the unjudged documents, so that each query has a document for each rank.
        n_judged = np.bincount(query, minlength=ranking.n_queries)
        n_unjudged = np.maximum(ranking.n_ret - n_judged, 0)
        query_of_unjudged = np.repeat(np.arange(ranking.n_queries), n_unjudged)
        gains_of_unjudged = np.full(len(query_of_unjudged), gain_of_unjudged)
        query = np.append(query, query_of_unjudged)
        gain = np.append(gain, gains_of_unjudged)
    return ideal_sums(query, gain, Log2(), ranking.n_queries, ranking.n_ret)


NWCS = register(_NWCS)
