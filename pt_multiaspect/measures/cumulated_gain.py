"""Cumulated gain: CG and DCG, without normalisation, and G, which trec_eval normalises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Floats
from .._validation import choice
from ..bases import Statements
from ..collection import Ranking
from ..kernels.forms import Flat, Jarvelin, Linear, Log2
from ..kernels.hits import Hits, ratio
from ..kernels.relevance import discounted_by_lack, total_gain
from ..kernels.target import Target
from .parameters import CUTOFF, Param
from .registry import register
from .single_aspect import LinearMeasure, SingleAspectMeasure


class _CG(LinearMeasure):
    """Cumulated gain: the sum of the gains of the retrieved documents.

    CG = Σ_i g(d_i), where g is the aspect's gain. Values have no upper limit, and are at least 0
    unless negative gains are declared.

    Parameters
    ----------
    cutoff : int, optional
        Rank at which the sum stops, as in ``CG @ k``.

    References
    ----------
    As in Järvelin and Kekäläinen 2002, §2: ``CG @ 10``, 16 of their example.

    Järvelin, Kekäläinen: Cumulated Gain-Based Evaluation of IR Techniques. ACM TOIS 20(4), 2002.

    Examples
    --------
    >>> from pt_multiaspect import CG
    >>> qrels = {"q1": {"d1": 3, "d2": 2}}
    >>> run = {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}}
    >>> (CG @ 2).calc_aggregate(qrels, run)
    3.0
    >>> explanation = (CG @ 2).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "discount", "contribution"]].round(3)
      docno  gain  discount  contribution
    0    d1   3.0       1.0           3.0
    1    d3   0.0       1.0           0.0
    2    d2   NaN       0.0           0.0

    The example of Järvelin and Kekäläinen, who print 16:

    >>> labels = {f"d{rank}": gain for rank, gain in enumerate([3, 2, 3, 0, 0, 1, 2, 2, 3, 0])}
    >>> ranking = {"q1": {docno: -float(docno[1:]) for docno in labels}}
    >>> (CG @ 10).calc_aggregate({"q1": labels}, ranking)
    16.0
    """

    PRETTY_NAME = "Cumulated gain"
    SHORT_DESC = "The sum of the gains of the retrieved documents."
    CITATION = "Järvelin and Kekäläinen 2002"
    SOURCES = ("jarvelin2002",)
    RANGE = (0.0, np.inf)
    SUPPORTED_PARAMS = {"cutoff": CUTOFF}

    def statements(self) -> Statements:
        """State that higher labels never lower the value, and that gains may be negative."""
        return replace(
            super().statements(), never_falls_with_labels=True, accepts_negative_gains=True
        )

    def linear(self, target: Target) -> Linear:
        return Linear(target, target.gain, Flat(), depth=self.cutoff)


class _DCG(_CG):
    """Discounted cumulated gain: the sum of the gains of documents, discounted by rank.

    DCG = Σ_i g(d_i) / log2(i + 1), where g is the aspect's gain. Values have no upper limit, and
    are at least 0 unless negative gains are declared.

    Parameters
    ----------
    dcg : {'log2', 'exp-log2', 'jarvelin'}, default 'log2'
        Gain and discount: ``'log2'`` is g / log2(i + 1), ``'exp-log2'`` is (2^g - 1) / log2(i + 1),
        ``'jarvelin'`` is g at rank 1 and g / log2(i) from rank 2 on, as originally published.
    cutoff : int, optional
        Rank at which the sum stops, as in ``DCG @ k``.

    References
    ----------
    As in Järvelin and Kekäläinen 2002, §2: ``DCG(dcg='jarvelin') @ 10``, 9.61 of their example; by
    default, the gain at rank i is divided by log2(i + 1).

    Järvelin, Kekäläinen: Cumulated Gain-Based Evaluation of IR Techniques. ACM TOIS 20(4), 2002.

    Examples
    --------
    >>> from pt_multiaspect import DCG
    >>> DCG.calc_aggregate({"q1": {"d1": 3, "d2": 2}}, {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}})
    4.0
    >>> qrels = {"q1": {"d1": 3, "d2": 2}}
    >>> run = {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}}
    >>> explanation = DCG.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "discount", "contribution"]].round(3)
      docno  gain  discount  contribution
    0    d1   3.0     1.000           3.0
    1    d3   0.0     0.631           0.0
    2    d2   2.0     0.500           1.0

    The example of Järvelin and Kekäläinen, who print 9.61:

    >>> labels = {f"d{rank}": gain for rank, gain in enumerate([3, 2, 3, 0, 0, 1, 2, 2, 3, 0])}
    >>> ranking = {"q1": {docno: -float(docno[1:]) for docno in labels}}
    >>> round((DCG(dcg="jarvelin") @ 10).calc_aggregate({"q1": labels}, ranking), 2)
    9.61
    """

    PRETTY_NAME = "Discounted cumulated gain"
    SHORT_DESC = "The sum of the gains of the retrieved documents, discounted by rank."
    SUPPORTED_PARAMS = {
        "dcg": Param(choice("dcg", "log2", "exp-log2", "jarvelin"), "log2", "gain and discount"),
        "cutoff": CUTOFF,
    }

    def statements(self) -> Statements:
        return replace(super().statements(), exponentiates_gains=self["dcg"] == "exp-log2")

    def linear(self, target: Target) -> Linear:
        """Return the sum of gain times discount, as the parameter `dcg` defines them."""
        gain = target.gain
        discount: Jarvelin | Log2 = Log2()
        if self["dcg"] == "jarvelin":
            discount = Jarvelin()
        if self["dcg"] == "exp-log2":
            with np.errstate(over="ignore"):  # infinite gains are refused later, with the remedy
                gain = np.exp2(gain) - 1.0
        return Linear(target, gain, discount, depth=self.cutoff)


class _G(SingleAspectMeasure):
    """Normalised gain of trec_eval: gains, discounted by what was missed, divided by all gains.

    G = Σ_i g(d_i) / log2(2 + I_i - S_i) / Σ g, where S_i is the sum of the gains in the first i
    ranks, and I_i that of the ideal ranking, in which each rank counts at least 1. The last sum is
    over the judged documents; a query without a gain scores 0. Where every gain is 0 or at least 1,
    the ideal ranking scores 1.

    Notes
    -----
    The figures of G in Table 3 of Lioma et al. 2017 are of this measure, although the text
    describes the geometric mean of precision and recall. Their credibility is binary: declare it as
    ``Aspect([1, 2, 3, 4], gains=[0, 0, 1, 1])``.

    References
    ----------
    As in trec_eval: ``G``, where gains are the labels.

    Buckley: trec_eval, measure ``G``, 2008. https://github.com/usnistgov/trec_eval

    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017.

    Examples
    --------
    >>> from pt_multiaspect import CAM, G
    >>> qrels = {"q1": {"d1": 3, "d2": 2}}
    >>> run = {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}}
    >>> round(G.calc_aggregate(qrels, run), 4)
    0.8524
    >>> explanation = G.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "contribution"]].round(3)
      docno  gain  contribution
    0    d1   3.0         0.600
    1    d3   0.0         0.000
    2    d2   2.0         0.252
    >>> CAM(base={"relevance": "nDCG", "credibility": "G"}).range
    (0.0, 1.0)
    """

    PRETTY_NAME = "Normalised gain"
    SHORT_DESC = (
        "The gains of the documents, discounted by what the ranking has missed, divided by "
        "all gains."
    )
    CITATION = "Buckley 2008, trec_eval"
    SOURCES = ("buckley2008",)
    SUPPORTED_PARAMS = {}

    def statements(self) -> Statements:
        return replace(super().statements(), sorting_is_optimal=True)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the sum of the discounted gains of each query, divided by that of all gains."""
        # A gain is discounted by what the ranking lacks: the sum of the ideal ranking's gains down
        # to its rank, minus that of the ranking.
        discounted_gain = discounted_by_lack(ranking, target)  # of each judged document retrieved
        sum_of_discounted = ranking.total(discounted_gain)
        sum_of_all = total_gain(target)
        return ratio(sum_of_discounted, sum_of_all)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return the discounted gain of each document, divided by the sum of all gains.

        The discount is by what the ranking lacks: the sum of the ideal ranking's gains down to the
        rank of the document, minus that of the ranking.
        """
        discounted_gain = discounted_by_lack(ranking, target)
        sum_of_all = total_gain(target)[ranking.query]
        return ratio(discounted_gain, sum_of_all)


CG = register(_CG)
DCG = register(_DCG)
G = register(_G)
