"""Classic measures that ir-measures lacks: CG, DCG, GMAP, HMAP, and user-oriented ones."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from ir_measures.measures.base import Agg

from ..errors import MultiAspectError
from ..judgments import KNOWN
from ..kernels import displacement, ranked
from ..kernels.layout import Bools, Floats, discount, positions, ratio
from ..kernels.target import Target
from ..rankings import Rankings
from .base import CUTOFF, Param, SingleAspectMeasure, choice, whole

__all__ = [
    "CG",
    "DCG",
    "ESL",
    "GMAP",
    "HMAP",
    "CoverageRatio",
    "Frustration",
    "NoveltyRatio",
    "RecallEffort",
    "RelativeRecall",
    "Satisfaction",
]

_KORFHAGE = "Korfhage 1997"
_FLOOR = 1e-5


_REL = Param(
    whole("rel, the least label that counts, is a whole number", low=0),
    None,
    "the least label that counts; the aspect's threshold by default",
)


class _Binary(SingleAspectMeasure):
    """A measure of which documents are relevant."""

    def _positives(self, target: Target) -> Bools:
        return target.positives(self["rel"])

    def _n_positive(self, target: Target) -> Floats:
        return target.n_positive(self["rel"])


class _CG(SingleAspectMeasure):
    """Cumulated gain: the sum of the gains of the retrieved documents, unbounded above.

    Parameters
    ----------
    cutoff : int, optional
        ``CG @ k``.

    References
    ----------
    Järvelin, Kekäläinen: Cumulated Gain-Based Evaluation of IR Techniques. ACM TOIS 20(4), 2002.

    Examples
    --------
    >>> from pt_multiaspect import CG
    >>> (CG @ 2).calc_aggregate({"q1": {"d1": 3, "d2": 2}}, {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}})
    3.0
    """

    __name__ = "CG"
    NAME = __name__
    PRETTY_NAME = "Cumulated gain"
    SHORT_DESC = "The sum of the gains of the retrieved documents."
    CITATION = "Järvelin and Kekäläinen 2002"
    RANGE = (0.0, np.inf)
    BINARY = False
    SUPPORTED_PARAMS = {"cutoff": CUTOFF}

    def linear_gain(self, target: Target) -> tuple[Floats, Hashable]:
        return _gain(target), ("CG", self.cutoff)

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        layout = rankings.top(self.cutoff)
        return layout.total(_gain(target)[layout.row])


class _DCG(SingleAspectMeasure):
    """Discounted cumulated gain, not normalised, unbounded above.

    Parameters
    ----------
    dcg : {'log2', 'exp-log2', 'jarvelin'}
        Gain over log2(rank + 1), 2^gain - 1 over log2(rank + 1), or gain over log2(rank) from rank 2
        on, as first published.
    cutoff : int, optional
        ``DCG @ k``.

    References
    ----------
    Järvelin, Kekäläinen: Cumulated Gain-Based Evaluation of IR Techniques. ACM TOIS 20(4), 2002.

    Examples
    --------
    >>> from pt_multiaspect import DCG
    >>> DCG.calc_aggregate({"q1": {"d1": 3, "d2": 2}}, {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}})
    4.0
    """

    __name__ = "DCG"
    NAME = __name__
    PRETTY_NAME = "Discounted cumulated gain"
    SHORT_DESC = "The sum of the gains of the retrieved documents, discounted by rank."
    CITATION = "Järvelin and Kekäläinen 2002"
    RANGE = (0.0, np.inf)
    BINARY = False
    SUPPORTED_PARAMS = {
        "dcg": Param(choice("dcg", "log2", "exp-log2", "jarvelin"), "log2", "gain and discount"),
        "cutoff": CUTOFF,
    }

    def _summed(self, target: Target) -> Floats:
        gain = _gain(target)
        return np.exp2(gain) - 1.0 if self["dcg"] == "exp-log2" else gain

    def linear_gain(self, target: Target) -> tuple[Floats, Hashable]:
        return self._summed(target), ("DCG", self["dcg"] == "jarvelin", self.cutoff)

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        layout, gain = rankings.top(self.cutoff), self._summed(target)
        if self["dcg"] == "jarvelin":
            return layout.total(gain[layout.row] / np.maximum(np.log2(layout.rank), 1.0))
        return layout.total(gain[layout.row] * discount(layout.rank))


def _gain(target: Target) -> Floats:
    return np.asarray(np.exp2(target.gain) - 1.0 if target.exponential else target.gain, dtype=np.float64)


class _OverQueries(Agg):  # type: ignore[misc]
    """A mean of values on another scale, taken back to the scale of AP."""

    def __init__(self, back: Any) -> None:
        self._values: list[float] = []
        self._back = back

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        return float(self._back(math.fsum(self._values) / len(self._values))) if self._values else math.nan


class _AveragePrecision(_Binary):
    """Average precision, not less than 1e-5, on another scale."""

    SUPPORTED_PARAMS = {"rel": _REL, "cutoff": CUTOFF}
    NO_BASE = (
        "it is defined by how it aggregates over queries, and its values of single queries are on another scale; "
        "take AP as the base"
    )

    def _average_precision(self, rankings: Rankings, target: Target) -> Floats:
        positive, n_positive = self._positives(target), self._n_positive(target)
        return np.maximum(ranked.average_precision(rankings.layout, positive, n_positive, self.cutoff), _FLOOR)


class _GMAP(_AveragePrecision):
    """Geometric mean average precision, exp of the mean of ln max(AP, 1e-5).

    Values of single queries are ln max(AP, 1e-5), so that their mean is the logarithm of GMAP:
    `pt.Experiment` averages them and knows no other aggregate, while ir-measures and
    `aggregate` give GMAP itself. A missing query counts as ln 1e-5.

    Parameters
    ----------
    rel : int, optional
        The least label that counts.
    cutoff : int, optional
        ``GMAP @ k``.

    References
    ----------
    Robertson: On GMAP, and other transformations. CIKM 2006.

    Examples
    --------
    >>> from pt_multiaspect import GMAP
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    >>> round(GMAP.calc_aggregate(qrels, {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}}), 4)
    0.7071
    """

    __name__ = "GMAP"
    NAME = __name__
    PRETTY_NAME = "Geometric mean average precision"
    SHORT_DESC = "ln max(AP, 1e-5) per query; aggregated, the geometric mean of AP."
    CITATION = "Robertson 2006"
    RANGE = (math.log(_FLOOR), 0.0)
    DEFAULT = math.log(_FLOOR)

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        return np.asarray(np.log(self._average_precision(rankings, target)), dtype=np.float64)

    def aggregator(self) -> Agg:
        return _OverQueries(math.exp)


class _HMAP(_AveragePrecision):
    """Harmonic mean average precision, one over the mean of 1 / max(AP, 1e-5).

    Values of single queries are 1 / max(AP, 1e-5), where smaller is better: `pt.Experiment`
    averages them, and one over what it reports is HMAP; ir-measures and `aggregate` give HMAP
    itself.

    Parameters
    ----------
    rel : int, optional
        The least label that counts.
    cutoff : int, optional
        ``HMAP @ k``.

    Examples
    --------
    >>> from pt_multiaspect import HMAP
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    >>> round(HMAP.calc_aggregate(qrels, {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}}), 4)
    0.6667
    """

    __name__ = "HMAP"
    NAME = __name__
    PRETTY_NAME = "Harmonic mean average precision"
    SHORT_DESC = "1 / max(AP, 1e-5) per query (lower is better); aggregated, the harmonic mean of AP."
    CITATION = "by analogy with GMAP"
    RANGE = (1.0, 1.0 / _FLOOR)
    LOWER_IS_BETTER = True
    DEFAULT = 1.0 / _FLOOR

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        return np.asarray(1.0 / self._average_precision(rankings, target), dtype=np.float64)

    def aggregator(self) -> Agg:
        return _OverQueries(lambda mean: 1.0 / mean)

    @property
    def lower_aggregate_is_better(self) -> bool:
        return False  # one over the mean of 1 / AP


class _WithKnown(_Binary):
    """A measure that asks which documents the user knows."""

    SUPPORTED_PARAMS = {"rel": _REL, "cutoff": CUTOFF}

    def _known(self, rankings: Rankings) -> Bools:
        try:
            labels = rankings.judgments.labels(KNOWN)
        except MultiAspectError as error:
            raise MultiAspectError(
                f"{self.NAME} needs a qrels column {KNOWN} (0 or 1): which documents the user knows; {error}"
            ) from None
        return np.asarray(np.nan_to_num(labels) > 0, dtype=np.bool_)


class _CoverageRatio(_WithKnown):
    """Of the relevant documents the user knows, the share that is retrieved; 0 if there are none.

    The documents known are told by the qrels column ``known`` (0 or 1).

    Parameters
    ----------
    rel : int, optional
        The least label that counts as relevant.
    cutoff : int, optional
        ``CoverageRatio @ k``.

    References
    ----------
    Korfhage: Information Storage and Retrieval. Wiley, 1997.

    Examples
    --------
    >>> from pt_multiaspect import CoverageRatio
    >>> qrels = {"q1": {"d1": {"relevance": 1, "known": 1}, "d2": {"relevance": 1, "known": 1}}}
    >>> CoverageRatio.calc_aggregate(qrels, {"q1": {"d1": 1.0}})
    0.5
    """

    __name__ = "CoverageRatio"
    NAME = __name__
    PRETTY_NAME = "Coverage ratio"
    SHORT_DESC = "The share of the known relevant documents that is retrieved."
    CITATION = _KORFHAGE

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        wanted = self._positives(target) & self._known(rankings)
        return ratio(ranked.found(rankings.layout, wanted, self.cutoff), target.total(wanted))


class _NoveltyRatio(_WithKnown):
    """Of the relevant documents retrieved, the share the user did not know; 0 if there are none.

    Parameters
    ----------
    rel : int, optional
        The least label that counts as relevant.
    cutoff : int, optional
        ``NoveltyRatio @ k``.

    References
    ----------
    Korfhage: Information Storage and Retrieval. Wiley, 1997.

    Examples
    --------
    >>> from pt_multiaspect import NoveltyRatio
    >>> qrels = {"q1": {"d1": {"relevance": 1, "known": 1}, "d2": {"relevance": 1, "known": 0}}}
    >>> NoveltyRatio.calc_aggregate(qrels, {"q1": {"d1": 1.0, "d2": 0.5}})
    0.5
    """

    __name__ = "NoveltyRatio"
    NAME = __name__
    PRETTY_NAME = "Novelty ratio"
    SHORT_DESC = "The share of the relevant documents retrieved that the user did not know."
    CITATION = _KORFHAGE

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        relevant = self._positives(target)
        new = ranked.found(rankings.layout, relevant & ~self._known(rankings), self.cutoff)
        return ratio(new, ranked.found(rankings.layout, relevant, self.cutoff))


_EXPECTED = Param(
    whole("expected is a whole number of documents", low=1),
    None,
    "how many relevant documents the user expects",
    required=True,
)


class _RelativeRecall(_Binary):
    """Relevant documents found over those the user expects; not capped at 1.

    Parameters
    ----------
    expected : int
        How many relevant documents the user expects.
    rel : int, optional
        The least label that counts as relevant.
    cutoff : int, optional
        ``RelativeRecall(expected=n) @ k``.

    Examples
    --------
    >>> from pt_multiaspect import RelativeRecall
    >>> RelativeRecall(expected=4).calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}})
    0.25
    """

    __name__ = "RelativeRecall"
    NAME = __name__
    PRETTY_NAME = "Relative recall"
    SHORT_DESC = "Relevant documents found over those the user expects."
    CITATION = _KORFHAGE
    RANGE = (0.0, np.inf)
    SUPPORTED_PARAMS = {"expected": _EXPECTED, "rel": _REL, "cutoff": CUTOFF}

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        found = ranked.found(rankings.layout, self._positives(target), self.cutoff)
        return np.asarray(found / self["expected"], dtype=np.float64)


class _RecallEffort(_Binary):
    """Relevant documents expected over documents examined until so many are found; 0 if never.

    Parameters
    ----------
    expected : int
        How many relevant documents the user expects.
    rel : int, optional
        The least label that counts as relevant.
    cutoff : int, optional
        ``RecallEffort(expected=n) @ k`` examines k documents at the most.

    Examples
    --------
    >>> from pt_multiaspect import RecallEffort
    >>> RecallEffort(expected=1).calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 2.0, "d1": 1.0}})
    0.5
    """

    __name__ = "RecallEffort"
    NAME = __name__
    PRETTY_NAME = "Recall effort"
    SHORT_DESC = "Relevant documents expected over documents examined until so many are found."
    CITATION = _KORFHAGE
    SUPPORTED_PARAMS = {"expected": _EXPECTED, "rel": _REL, "cutoff": CUTOFF}

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        layout = rankings.top(self.cutoff)
        found = layout.select(self._positives(target)[layout.row])
        last = positions(found.query) == self["expected"] - 1
        return found.total(np.where(last, self["expected"] / found.rank, 0.0))


class _ESL(_Binary):
    """Expected search length: the non-relevant documents a user sees before `wanted` relevant ones.

    Documents with tied scores form a level, and the user looks at a level in any order: with j
    non-relevant documents in the levels before, and i of them beside r relevant ones in the level
    in which the s-th of these suffices, j + i·s / (r + 1) are expected. Judged documents that were
    not retrieved form one last level. Lower is better, so mind `pt.GridSearch`, which maximises;
    `ranking_scorer` turns the sign.

    Parameters
    ----------
    wanted : int, default 1
        How many relevant documents the user wants, at most as many as there are; without any, all
        non-relevant documents are seen.
    rel : int, optional
        The least label that counts as relevant.

    References
    ----------
    Cooper: Expected Search Length. American Documentation 19(1), 1968.

    Examples
    --------
    >>> from pt_multiaspect import ESL
    >>> ESL.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 1.0, "d1": 1.0, "d3": 1.0}})
    1.0
    """

    __name__ = "ESL"
    NAME = __name__
    PRETTY_NAME = "Expected search length"
    SHORT_DESC = (
        "Non-relevant documents seen before the wanted relevant ones, expected over ties (lower is better)."
    )
    CITATION = "Cooper 1968"
    RANGE = (0.0, np.inf)
    LOWER_IS_BETTER = True
    SUPPORTED_PARAMS = {
        "wanted": Param(
            whole("wanted is a whole number of documents", low=1), 1, "how many relevant documents the user wants"
        ),
        "rel": _REL,
    }

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        positive, n_positive = self._positives(target), self._n_positive(target)
        return displacement.expected_search_length(
            rankings.levels, rankings.layout, positive, target, n_positive, self["wanted"]
        )


class _Satisfaction(_Binary):
    """The share of relevant documents among the returned; 0 if nothing is returned.

    Parameters
    ----------
    rel : int, optional
        The least label that counts as relevant.
    cutoff : int, optional
        ``Satisfaction @ k`` looks at the first k documents returned.

    Examples
    --------
    >>> from pt_multiaspect import Satisfaction
    >>> Satisfaction.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 2.0, "d1": 1.0}})
    0.5
    """

    __name__ = "Satisfaction"
    NAME = __name__
    PRETTY_NAME = "Satisfaction"
    SHORT_DESC = "The share of relevant documents among the returned."
    CITATION = _KORFHAGE
    SUPPORTED_PARAMS = {"rel": _REL, "cutoff": CUTOFF}

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        layout = rankings.top(self.cutoff)
        return ratio(ranked.found(layout, self._positives(target)), layout.n_ret.astype(np.float64))


class _Frustration(_Satisfaction):
    """The share of documents that are not relevant among the returned; 1 if nothing is returned.

    Lower is better.

    Parameters
    ----------
    rel, cutoff : as in Satisfaction
        See `Satisfaction`.

    Examples
    --------
    >>> from pt_multiaspect import Frustration
    >>> Frustration.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 2.0, "d1": 1.0}})
    0.5
    """

    __name__ = "Frustration"
    NAME = __name__
    PRETTY_NAME = "Frustration"
    SHORT_DESC = "The share of documents that are not relevant among the returned (lower is better)."
    LOWER_IS_BETTER = True
    DEFAULT = 1.0

    def on_target(self, rankings: Rankings, target: Target) -> Floats:
        return 1.0 - super().on_target(rankings, target)


CG = _CG()
DCG = _DCG()
GMAP = _GMAP()
HMAP = _HMAP()
CoverageRatio = _CoverageRatio()
NoveltyRatio = _NoveltyRatio()
RelativeRecall = _RelativeRecall()
RecallEffort = _RecallEffort()
ESL = _ESL()
Satisfaction = _Satisfaction()
Frustration = _Frustration()
