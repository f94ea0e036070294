"""Rank-biased utility: RBU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from .._typing import Floats
from .._validation import real
from ..bases import Statements, Term
from ..bases.cascade import Effort, RankBiasedStopping
from ..collection import AspectView, Judgments
from ..kernels.relevance import stop_probability
from .measure import warn_if_inferred
from .parameters import COMMON, Param, weights_param
from .registry import register
from .terms import TermMeasure
from .weights import has_weight, weighted_views


class _RBU(TermMeasure):
    """Rank-biased utility: redundancy-aware rank-biased gain, minus the effort of the user.

    RBU = (1 - p) Σ_i p^(i-1) (Σ_a w_a R_a(i) Π_{j<i} (1 - R_a(j)) - e), where the sum is over the
    ranks of the documents retrieved, R_a(i) = (2^g - 1) / 2^top is the probability that the
    document at rank i, of gain g, satisfies the user on aspect a, whose scale has the maximum gain
    top, and e is the effort of examining one document. A document adds little to an aspect on which
    earlier documents satisfy the user, and every retrieved document costs effort, whether judged or
    not. Values are between -e and 1 - p: for p = .99, they are below .01. The empty ranking has the
    value 0, so values below 0 are worse than retrieving nothing.

    Parameters
    ----------
    p : float in [0, 1), default 0.99
        Persistence: the probability that the user continues to the next rank.
    effort : float >= 0, default 0.05
        The effort e of examining one document, in units of the gain.
    weights : dict of str to float, optional
        The weights w_a ≥ 0, normalised to sum to 1; equal by default. Aspects with weight 0 are
        ignored.
    aspects : Aspects, mapping or str, optional
        The aspects, their scales and gains; by default, every label column. The maximum gain is
        that of the scale, whether or not a document attains it.
    cutoff : int, optional
        ``RBU @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    The authors' program (rmit-ir/RBU) takes the maximum gain of an aspect from the labels of each
    query. Its values are equal if each query has a document of the top grade on every aspect;
    otherwise, they are hardly comparable between queries.

    With effort 0, `pt_multiaspect.analysis.upper_bound` bounds RBU. With effort, the best ranking
    may leave documents out, and no bound is known.

    References
    ----------
    As in Amigó et al. 2018: ``RBU(p=0.99, effort=0.05)``, the default.

    Amigó, Spina, Carrillo-de-Albornoz: An Axiomatic Analysis of Diversity Evaluation Metrics:
    Introducing the Rank-Biased Utility Metric. SIGIR 2018.

    Examples
    --------
    >>> from pt_multiaspect import RBU
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> rbu = RBU(p=0.5, effort=0.1, aspects={"relevance": 1, "credibility": 1})
    >>> round(rbu.calc_aggregate(qrels, run), 4)  # relevance .3125, credibility .125, effort .075
    0.1437
    >>> parts = ["relevance part", "credibility part", "effort part", "contribution"]
    >>> rbu.explain(run, qrels, "q1").ranks[["docno", *parts]].round(4)
      docno  relevance part  credibility part  effort part  contribution
    0    d1          0.1250            0.0000       -0.050        0.0750
    1    d2          0.0312            0.0625       -0.025        0.0688
    """

    PRETTY_NAME = "Rank-biased utility"
    SHORT_DESC = (
        "Rank-biased gain on the aspects, where redundant documents gain less, minus the "
        "user's effort."
    )
    CITATION = "Amigó et al. 2018"
    SOURCES = ("amigo2018",)
    RANGE = (-np.inf, 1.0)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "p": Param(
            real("p", low=0, high=1),
            0.99,
            "the probability that the user continues to the next rank",
        ),
        "effort": Param(real("effort", low=0), 0.05, "the effort of examining one document"),
        "weights": weights_param(
            "the importance of each aspect, normalised to sum to 1; equal by default"
        ),
        **COMMON,
    }

    def statements(self) -> Statements:
        """State that a better label does not lower the value."""
        return replace(super().statements(), never_falls_with_labels=True)

    @property
    def range(self) -> tuple[float, float]:
        return -self["effort"], 1.0 - self["p"]

    def depends_on(self, view: AspectView) -> bool:
        return has_weight(self["weights"], view)

    def _parts(self, views: Sequence[AspectView]) -> list[tuple[AspectView, float]]:
        """Return the aspects with a positive weight, and their normalised weights."""
        parts = weighted_views(self["weights"], views)
        for view, _ in parts:
            view.check_gains(self.NAME)
        return parts

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the utility of each aspect, and the effort, which is the same for all aspects."""
        stopping = RankBiasedStopping(self["p"], self.cutoff)
        ones = np.ones(judgments.n_queries)
        parts = self._parts(self.views(judgments))
        terms: list[Term] = []
        for view, share in parts:
            weight = share * ones
            terms.append(Term(stopping, view.target, weight, name=view.name))
        if self["effort"]:
            effort = Effort(self["p"], self.cutoff)
            weight = self["effort"] * ones
            first_view, _ = parts[0]  # effort reads no labels, so that any aspect would do
            terms.append(Term(effort, first_view.target, weight, name="effort"))
        return terms

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return Σ_a w_a R_a(d) for each judged document d, its gain at rank 1.

        It is a surrogate, as the contribution of a document depends on the documents above it.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        ndarray of float, shape (n_pool,)
            The gains, in [0, 1].
        """
        views = self.views(judgments)
        warn_if_inferred(self, views)
        gains: list[Floats] = []
        for view, share in self._parts(views):
            gains.append(share * stop_probability(view.target.gain, view.target.top))
        return np.asarray(np.sum(gains, axis=0), dtype=np.float64)

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        return True


RBU = register(_RBU)
