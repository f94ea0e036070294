"""Weighted cumulative score: NWCS of Lioma et al."""

from __future__ import annotations

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
    """Normalised weighted cumulative score: discounted weighted gains, divided by those of an ideal ranking.

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
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
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
    SHORT_DESC = "The weighted gains on all aspects, discounted by rank, divided by those of an ideal ranking."
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
        """Return the weighted gains of the judged documents; the last element is for unjudged documents."""
        for view in views:
            view.check_gains(self.NAME)
        weights = normalised_weights(self["weights"], [view.name for view in views])
        return [
            weight * np.maximum(view.scale.gains, 0.0)[np.append(view.grade, 0)]
            for view, weight in zip(views, weights, strict=True)
        ]

    def document_gain(self, judgments: Judgments) -> Floats:
        return np.asarray(np.sum(self._gains(self.views(judgments)), axis=0)[:-1], dtype=np.float64)

    def statements(self) -> Statements:
        """State that the value is that of nDCG on the weighted gains, with the documents of its ideal ranking."""
        documents = {"joint": "retrieved", "separate": "separate", "judged": "ranks"}
        return replace(
            super().statements(),
            is_weighted_sum=True,
            never_falls_with_terms=True,
            label_terms=self._label_terms,
            ideal_documents=documents[self["ideal"]],
        )

    def _label_terms(self, judgments: Judgments) -> list[Term]:
        """Return nDCG on the weighted gains, or on those of each aspect if their ideals are separate."""
        views = self.views(judgments)
        gains = self._gains(views)
        parts: dict[tuple[str, ...], Floats] = {(): np.sum(gains, axis=0)}
        if self["ideal"] == "separate":
            parts = {(view.name,): gain for view, gain in zip(views, gains, strict=True)}
        base, weight = (
            as_base(nDCG if self.cutoff is None else nDCG @ self.cutoff),
            np.ones(judgments.n_queries),
        )
        targets = {read: Joint(gain[:-1]).target(views) for read, gain in parts.items()}
        return [Term(base, target, weight, aspects=read) for read, target in targets.items()]

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        ranking, total, ideal = self._parts(rankings, views)
        return np.minimum(
            ratio(ranking.total(total[ranking.row] * Log2()(ranking.rank)), ideal), 1.0
        )

    def _breakdown(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Breakdown:
        ranking, total, ideal = self._parts(rankings, views)
        dense = ranking.dense()
        gain, discount = total[dense.row], Log2()(dense.rank)
        return Breakdown(dense, ratio(gain * discount, ideal[dense.query]), gain, discount, ideal)

    def _parts(
        self, rankings: Rankings, views: tuple[AspectView, ...]
    ) -> tuple[Hits, Floats, Floats]:
        """Return the evaluated ranks, the weighted gains (the last one is for unjudged documents) and the ideal."""
        gains = self._gains(views)
        total = np.sum(gains, axis=0)
        ranking: Hits = rankings.top(self.cutoff)
        if total[-1]:
            ranking = ranking.dense()  # an unjudged document has the lowest grades
        if self["ideal"] == "judged":
            ideal = _judged_ideal(ranking, total)
        else:
            ideal = np.zeros(ranking.n_queries)
            for gain in gains if self["ideal"] == "separate" else [total]:
                ideal += ideal_sums(
                    ranking.query, gain[ranking.row], Log2(), ranking.n_queries, None
                )
        return ranking, total, ideal

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        # With separate ideals, the denominator depends on which documents are retrieved.
        return bool(self["ideal"] == "separate")


def _judged_ideal(ranking: Hits, gain: Floats) -> Floats:
    """Return the discounted gain of the ideal ranking of all judged documents, with as many ranks as retrieved.

    Remaining ranks are filled with unjudged documents, whose gain is the last element of `gain`.
    """
    query, gain, unjudged = ranking.pool_query, gain[:-1], gain[-1]
    if unjudged:
        n_judged = np.bincount(query, minlength=ranking.n_queries)
        left = np.repeat(np.arange(ranking.n_queries), np.maximum(ranking.n_ret - n_judged, 0))
        query, gain = np.append(query, left), np.append(gain, np.full(len(left), unjudged))
    return ideal_sums(query, gain, Log2(), ranking.n_queries, ranking.n_ret)


NWCS = register(_NWCS)
