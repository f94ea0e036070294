"""Compatibility with what is helpful and with what is harmful, as the health misinformation tracks report it."""

from __future__ import annotations

import numpy as np

from ..aspects import AspectSpec
from ..judgments import Judgments
from ..kernels.layout import Floats
from ..kernels.overlap import compatibility
from ..orders.parameter import parse_order, spell_order
from ..rankings import Rankings
from .base import MultiAspectMeasure, Param, real

__all__ = ["HarmfulCompat", "HelpfulCompat", "HelpfulMinusHarmful"]


class _PreferenceCompat(MultiAspectMeasure):
    """Compatibility with documents preferred, or dispreferred, by an order with negative weights."""

    CITATION = "Clarke et al. 2021 (compatibility)"
    SUPPORTED_PARAMS = {
        "order": Param(
            parse_order,
            None,
            "an Order with negative weights for harmful documents; by default the relevance labels themselves",
            spell=spell_order,
        ),
        "p": Param(real("p", low=0, high=1), 0.95, "persistence"),
    }

    @property
    def spec(self) -> AspectSpec:
        order = self["order"]
        return ("relevance",) if order is None else order.aspects

    def _preferences(self, judgments: Judgments) -> Floats:
        """The weight of each judged document, negative for harmful ones."""
        order = self["order"]
        if order is None:
            return np.nan_to_num(judgments.labels("relevance"))
        grades = np.stack([view.grade for view in self.views(judgments)], axis=1)
        return np.asarray(order.weights(grades), dtype=np.float64)

    def _compatibility(self, rankings: Rankings, sign: int) -> Floats:
        preferences = rankings.judgments.cached(
            ("preferences", self.spec, str(self["order"])), lambda: self._preferences(rankings.judgments)
        )
        return compatibility(rankings.layout, np.maximum(sign * preferences, 0.0), self["p"])


class _HelpfulCompat(_PreferenceCompat):
    """Compatibility of a ranking with the ideal ranking of the helpful documents, those of positive weight.

    Rank-biased overlap with the documents of positive weight, the greatest first, normalised by
    what the ideal ranking itself reaches. 0 where there is no such document.

    Parameters
    ----------
    order : Order or str, optional
        Weighs label tuples, harmful ones negatively. Without it the labels of relevance are the
        weights, as in qrels of preference codes.
    p : float in [0, 1), default 0.95
        Persistence.

    References
    ----------
    Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> from pt_multiaspect import HelpfulCompat
    >>> qrels = {"q1": {"d1": 2, "d2": 1, "d3": -1}}
    >>> HelpfulCompat.calc_aggregate(qrels, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}})
    1.0
    """

    __name__ = "HelpfulCompat"
    NAME = __name__
    PRETTY_NAME = "Helpful compatibility"
    SHORT_DESC = "Rank-biased overlap with the ideal ranking of helpful documents (positive weights)."

    def compute(self, rankings: Rankings) -> Floats:
        return self._compatibility(rankings, 1)


class _HarmfulCompat(_PreferenceCompat):
    """Compatibility of a ranking with the ideal ranking of the *harmful* documents, those of negative weight.

    The most harmful stand first in that ideal. Lower is better.

    Parameters
    ----------
    order, p : as in HelpfulCompat
        See `HelpfulCompat`.

    References
    ----------
    Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> from pt_multiaspect import HarmfulCompat
    >>> qrels = {"q1": {"d1": 2, "d2": 1, "d3": -1}}
    >>> round(HarmfulCompat.calc_aggregate(qrels, {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}), 4)
    0.1694
    """

    __name__ = "HarmfulCompat"
    NAME = __name__
    PRETTY_NAME = "Harmful compatibility"
    SHORT_DESC = "Rank-biased overlap with the ideal ranking of harmful documents (lower is better)."
    LOWER_IS_BETTER = True

    def compute(self, rankings: Rankings) -> Floats:
        return self._compatibility(rankings, -1)


class _HelpfulMinusHarmful(_PreferenceCompat):
    """Helpful less harmful compatibility, from -1 to 1.

    Parameters
    ----------
    order, p : as in HelpfulCompat
        See `HelpfulCompat`.

    References
    ----------
    Clarke, Vtyurina, Smucker: Assessing Top-k Preferences. ACM TOIS 39(3), 2021.

    Examples
    --------
    >>> from pt_multiaspect import HelpfulMinusHarmful
    >>> qrels = {"q1": {"d1": 2, "d2": -1}}
    >>> HelpfulMinusHarmful.calc_aggregate(qrels, {"q1": {"d2": 1.0}})
    -1.0
    """

    __name__ = "HelpfulMinusHarmful"
    NAME = __name__
    PRETTY_NAME = "Helpful minus harmful compatibility"
    SHORT_DESC = "HelpfulCompat less HarmfulCompat."
    RANGE = (-1.0, 1.0)

    def compute(self, rankings: Rankings) -> Floats:
        return self._compatibility(rankings, 1) - self._compatibility(rankings, -1)


HelpfulCompat = _HelpfulCompat()
HarmfulCompat = _HarmfulCompat()
HelpfulMinusHarmful = _HelpfulMinusHarmful()
