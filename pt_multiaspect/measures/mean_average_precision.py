"""Means of average precision: the geometric mean GMAP and the harmonic mean HMAP."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from ir_measures.measures.base import Agg

from .._typing import Floats
from ..aspects import Aspects
from ..bases import Statements
from ..collection import Ranking
from ..kernels import relevance
from ..kernels.target import Target
from .parameters import CUTOFF, REL
from .registry import register
from .single_aspect import SingleAspectMeasure

_FLOOR = 1e-5


class _OverQueries(Agg):  # type: ignore[misc]
    """Mean of transformed AP values, transformed back to the scale of AP."""

    def __init__(self, back: Any) -> None:
        self._values: list[float] = []
        self._back = back

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        return float(self._back(math.fsum(self._values) / len(self._values))) if self._values else math.nan


class _AveragePrecision(SingleAspectMeasure):
    """A transformation of max(AP, 1e-5)."""

    SOURCES = ("robertson2006",)
    BINARY = True
    SUPPORTED_PARAMS = {"rel": REL, "cutoff": CUTOFF}
    NOT_A_BASE = "it is an aggregate over queries, not a per-query measure; use base='AP'"

    def _spell_declared(self, aspects: Aspects) -> str:
        # On does not take it as its base.
        grades = aspects["relevance"].grades or ()
        rel = max([1, *map(math.ceil, grades[1:2])])
        return f"{self(rel=rel)}, with rel the lowest label that counts as relevant"

    def _average_precision(self, ranking: Ranking, target: Target) -> Floats:
        values = relevance.average_precision(ranking, self.relevant(target), self.n_relevant(target))
        return np.maximum(values, _FLOOR)


class _GMAP(_AveragePrecision):
    """Geometric mean average precision: exp of the mean of ln max(AP, 1e-5) over queries.

    Per-query values are ln max(AP, 1e-5), between ln 1e-5 and 0; a query missing from the run has the
    value ln 1e-5. `pt.Experiment`, ir-measures and `aggregate` report GMAP itself for all queries. It cannot be a
    base, as it is not a measure of single queries.

    Parameters
    ----------
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        Rank at which AP stops, as in ``GMAP @ k``.

    References
    ----------
    Robertson: On GMAP, and other transformations. CIKM 2006.

    Examples
    --------
    >>> from pt_multiaspect import GMAP
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    >>> round(GMAP.calc_aggregate(qrels, {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}}), 4)
    0.7071
    >>> run = {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}}
    >>> explanation = GMAP.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "contribution"]].round(3)
      docno  contribution
    0    d1        11.513
    >>> round(explanation.offset, 3)
    -11.513
    """

    PRETTY_NAME = "Geometric mean average precision"
    SHORT_DESC = "ln max(AP, 1e-5) per query; aggregated, the geometric mean of AP."
    CITATION = "Robertson 2006"
    RANGE = (math.log(_FLOOR), 0.0)
    DEFAULT = math.log(_FLOOR)

    def statements(self) -> Statements:
        return replace(super().statements(), sorting_is_optimal=True)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return np.asarray(np.log(self._average_precision(ranking, target)), dtype=np.float64)

    def aggregator(self) -> Agg:
        return _OverQueries(math.exp)


class _HMAP(_AveragePrecision):
    """Harmonic mean average precision: 1 divided by the mean of 1 / max(AP, 1e-5) over queries.

    Per-query values are 1 / max(AP, 1e-5), between 1 and 1e5; lower is better. `pt.Experiment`, ir-measures
    and `aggregate` report HMAP itself for all queries, of which higher is better. As GMAP, it cannot be a base.

    Parameters
    ----------
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        Rank at which AP stops, as in ``HMAP @ k``.

    Examples
    --------
    >>> from pt_multiaspect import HMAP
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    >>> round(HMAP.calc_aggregate(qrels, {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}}), 4)
    0.6667
    >>> run = {"q1": {"d1": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}}
    >>> explanation = HMAP.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "contribution"]].round(3)
      docno  contribution
    0    d1      -99999.0
    >>> round(explanation.offset, 3)
    100000.0
    """

    PRETTY_NAME = "Harmonic mean average precision"
    SHORT_DESC = "1 / max(AP, 1e-5) per query (lower is better); aggregated, the harmonic mean of AP."
    CITATION = "by analogy with GMAP"
    RANGE = (1.0, 1.0 / _FLOOR)
    LOWER_IS_BETTER = True
    DEFAULT = 1.0 / _FLOOR

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return np.asarray(1.0 / self._average_precision(ranking, target), dtype=np.float64)

    def aggregator(self) -> Agg:
        return _OverQueries(lambda mean: 1.0 / mean)

    @property
    def lower_aggregate_is_better(self) -> bool:
        return False  # the aggregate is 1 / mean(1 / AP)


GMAP = register(_GMAP)
HMAP = register(_HMAP)
