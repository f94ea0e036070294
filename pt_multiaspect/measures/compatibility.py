"""Help and harm: compatibility, as reported by the TREC Health Misinformation tracks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import ir_measures
import numpy as np

from .._typing import Floats
from .._validation import real
from ..aspects import AspectSpec
from ..bases import Statements, Term
from ..bases.adapters import Adapter
from ..collection import AspectView, Judgments, Ranking
from ..errors import MultiAspectError
from ..kernels import overlap
from ..kernels.hits import Hits
from ..kernels.target import Target
from ..orders.order import parse_order, spell_order
from .joint import Joint
from .parameters import Param
from .registry import register
from .terms import TermMeasure


class _Compatibility(Adapter):
    """Rank-biased overlap with the ideal ranking of the documents with a positive gain."""

    def statements(self) -> Statements:
        """State that sorting by gain is optimal."""
        return replace(super().statements(), sorting_is_optimal=True)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return overlap.compatibility(ranking, target.gain, self["p"])

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        return overlap.contributions(ranking, target.gain, self["p"])


class _PreferenceCompat(TermMeasure):
    """Compatibility with the documents of positive or of negative weight in an order."""

    #: One sign per term: 1 for documents of positive weight, -1 for documents of negative weight.
    SIGNS: ClassVar[tuple[int, ...]]
    CITATION = "Clarke et al. 2021 (compatibility)"
    SOURCES = ("clarke2021",)
    SUPPORTED_PARAMS = {
        "order": Param(
            parse_order,
            None,
            "an Order with negative weights for harmful documents; by default, the relevance "
            "labels",
            spell=spell_order,
        ),
        "p": Param(real("p", low=0, high=1), 0.95, "persistence"),
    }

    @property
    def spec(self) -> AspectSpec:
        order = self["order"]
        return ("relevance",) if order is None else order.aspects

    def _check(self) -> None:
        """Raise an error if the order has positive weights for harmful documents."""
        order = self["order"]
        if order is not None and order.lower_is_better:
            raise MultiAspectError(
                "order: expected negative weights for harmful documents, got an order of harm "
                "(lower_is_better=True), which is for TOMA"
            )

    def depends_on(self, view: AspectView) -> bool:
        return False

    def _preferences(self, views: tuple[AspectView, ...]) -> Floats:
        """Return the weight of each judged document, negative for harmful documents.

        Documents without a label on any aspect have weight 0.
        """
        order = self["order"]
        if order is None:
            (relevance,) = views
            return np.nan_to_num(relevance.label)
        grades = np.stack([view.grade for view in views], axis=1)  # (n_documents, n_aspects)
        has_label = np.any([view.known for view in views], axis=0)
        return np.where(has_label, order.weights(grades), 0.0)

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return compatibility with the helpful documents, the harmful ones, or both.

        `self.SIGNS` lists which: 1 stands for documents of positive weight, -1 for those of
        negative weight.
        """
        base = _Compatibility(ir_measures.Compat(p=self["p"]))
        name_of_sign = {1: "helpful", -1: "harmful"}
        # Weights of terms are positive: `combine` of the class subtracts the harmful term.
        weight = np.ones(judgments.n_queries)
        terms: list[Term] = []
        for sign in self.SIGNS:
            target = self._target(judgments, sign)
            term = Term(base, target, weight, name_of_sign[sign])
            terms.append(term)
        return terms

    def details(self, judgments: Judgments) -> dict[str, Floats]:
        """Return the weight of each document in the order; negative for harmful documents."""
        return {"weight": self._preferences(self.views(judgments))}

    def _target(self, judgments: Judgments, sign: int) -> Target:
        """Return a target whose gains are the sizes of the weights of this sign, 1 or -1.

        All other gains are 0: for the weights 2 and -1, the gains are 2 and 0 if the sign is 1,
        and 0 and 1 if it is -1. The target is computed once for all runs.
        """

        def make_target() -> Target:
            """Return the gains as the target of a base."""
            views = self.views(judgments)
            weight = self._preferences(views)  # of each judged document
            gain = np.maximum(sign * weight, 0.0)
            return Joint(gain).target(views)

        key = ("preferences", self.spec, self["order"], sign)
        return judgments.compute_once(key, make_target)


class _HelpfulCompat(_PreferenceCompat):
    """Compatibility with the ideal ranking of the helpful documents, those of positive weight.

    Compatibility is RBO(R, I) / RBO(I, I). RBO is the rank-biased overlap: the sum of p^(k-1) / k
    times the number of documents in the first k of both rankings, for k from 1 to 1000. The ideal
    ranking I sorts the documents of positive weight by decreasing weight; documents of equal weight
    are in the order of R, followed by those that R does not contain. The sum continues below the
    end of both rankings, so unjudged documents at the end of a ranking have no effect. Values are
    between 0 and 1, and 0 for queries without a document of positive weight.

    Parameters
    ----------
    order : Order or str, optional
        Assigns a weight to each label tuple; harmful tuples have negative weights. By default, the
        relevance labels are the weights, as in qrels of preference codes. `pt_multiaspect.orders`
        has those of the TREC Health Misinformation tracks 2020 to 2022.
    p : float in [0, 1), default 0.95
        Persistence.

    Notes
    -----
    Values are those of the authors' program, which the TREC Health Misinformation tracks used.
    `Compat` of ir-measures stops at the end of the longer of the two rankings and differs: for
    short rankings, by up to .18.

    References
    ----------
    As in Clarke et al. 2021: ``HelpfulCompat(p=0.95)``, the default.

    Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> from pt_multiaspect import HelpfulCompat
    >>> qrels = {"q1": {"d1": 2, "d2": 1, "d3": -1}}
    >>> HelpfulCompat.calc_aggregate(qrels, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}})
    1.0
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> explanation = HelpfulCompat.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "weight", "gain", "contribution"]].round(3)
      docno  weight  gain  contribution
    0    d1     2.0   2.0         0.594
    1    d2     1.0   1.0         0.406
    2    d3    -1.0   0.0         0.000
    """

    PRETTY_NAME = "Helpful compatibility"
    SHORT_DESC = (
        "Rank-biased overlap with the ideal ranking of the helpful documents (positive weight)."
    )

    SIGNS = (1,)


class _HarmfulCompat(_PreferenceCompat):
    """Compatibility with the ideal ranking of the *harmful* documents, those of negative weight.

    The ideal ranking sorts the harmful documents by decreasing harm. Values are between 0 and 1;
    lower is better.

    Parameters
    ----------
    order, p : as in HelpfulCompat
        See `HelpfulCompat`.

    References
    ----------
    As in Clarke et al. 2021: ``HarmfulCompat(p=0.95)``, the default.

    Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> from pt_multiaspect import HarmfulCompat
    >>> qrels = {"q1": {"d1": 2, "d2": 1, "d3": -1}}
    >>> round(HarmfulCompat.calc_aggregate(qrels, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}), 4)
    0.5323
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> explanation = HarmfulCompat.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "weight", "gain", "contribution"]].round(3)
      docno  weight  gain  contribution
    0    d1     2.0   0.0         0.000
    1    d2     1.0   0.0         0.000
    2    d3    -1.0   1.0         0.532
    """

    PRETTY_NAME = "Harmful compatibility"
    SHORT_DESC = (
        "Rank-biased overlap with the ideal ranking of the harmful documents (lower is better)."
    )
    LOWER_IS_BETTER = True

    SIGNS = (-1,)


class _HelpfulMinusHarmful(_PreferenceCompat):
    """Help-harm compatibility: `HelpfulCompat` minus `HarmfulCompat`, between -1 and 1.

    Parameters
    ----------
    order, p : as in HelpfulCompat
        See `HelpfulCompat`.

    References
    ----------
    As in Clarke et al. 2021: ``HelpfulMinusHarmful(p=0.95)``, the default.

    Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> from pt_multiaspect import HelpfulMinusHarmful
    >>> qrels = {"q1": {"d1": 2, "d2": -1}}
    >>> HelpfulMinusHarmful.calc_aggregate(qrels, {"q1": {"d2": 1.0}})
    -1.0
    >>> run = {"q1": {"d2": 1.0}}
    >>> explanation = HelpfulMinusHarmful.explain(run, qrels, "q1")
    >>> columns = ["docno", "weight", "helpful part", "harmful part", "contribution"]
    >>> explanation.ranks[columns].round(3)
      docno  weight  helpful part  harmful part  contribution
    0    d2    -1.0           0.0          -1.0          -1.0
    """

    PRETTY_NAME = "Help-harm compatibility"
    SHORT_DESC = "HelpfulCompat minus HarmfulCompat."
    RANGE = (-1.0, 1.0)

    SIGNS = (1, -1)

    def statements(self) -> Statements:
        """State that topics must have helpful and harmful documents, as in the track of 2022."""
        return replace(super().statements(), every_term_counts=True)

    def combine(self, values: Floats, weights: Floats) -> Floats:
        helpful, harmful = values
        return np.asarray(helpful - harmful, dtype=np.float64)

    def slope(self, values: Floats, weights: Floats) -> Floats:
        return np.array([[1.0], [-1.0]]) * np.ones_like(weights)


HelpfulCompat = register(_HelpfulCompat)
HarmfulCompat = register(_HarmfulCompat)
HelpfulMinusHarmful = register(_HelpfulMinusHarmful)
