"""Measures of ir-measures on plain labels and on judgments by subtopic.

They are prepared once for any number of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import (
    AP_IA,
    ERR_IA,
    NRBP,
    P_IA,
    Measure,
    StRecall,
    alpha_DCG,
    alpha_nDCG,
    nERR_IA,
    nNRBP,
)

from .._cached import Memo
from .._typing import Bools, Floats, Objects
from ..collection import Judgments, Rankings
from ..collection.subtopic_qrels import subtopic_judgments
from ..errors import MultiAspectError
from ..kernels.target import Target
from .adapters import adapter_of
from .base import Base
from .delegated import IrMeasures, as_base, first_fraction, function_of, query_numbers

#: The classes of the measures that ir-measures computes on judgments by subtopic.
DIVERSITY: tuple[Any, ...] = tuple(
    map(type, (alpha_nDCG, alpha_DCG, ERR_IA, nERR_IA, NRBP, nNRBP, StRecall, P_IA, AP_IA))
)


def is_diversity_measure(measure: object) -> bool:
    """Return whether ir-measures computes a measure on judgments by subtopic."""
    return isinstance(measure, DIVERSITY)


def standard_base(measure: Measure) -> Base | None:
    """Return the base whose values on plain labels equal those of ir-measures, or None.

    None for measures that other tools define differently: RR@k and RBP(rel=1) (different ties),
    ERR, nDCG(dcg='exp-log2') (five digits), and those with ``judged_only`` or without an adapter.
    RBP without ``rel`` or with a cutoff, which no tool of ir-measures computes, is also returned.
    """
    try:
        measure.validate_params()
    except AssertionError:
        return None  # ir-measures reports the error
    adapter = adapter_of(measure)
    if adapter is not None and adapter.equals_original:
        return adapter
    return None


def topics_with_positive(measure: Measure, judgments: Judgments) -> Bools:
    """Return a mask of the queries with a document that a measure of ir-measures finds positive."""
    if is_diversity_measure(measure):
        table = subtopic_judgments(judgments, measure)
        is_positive = table["label"].to_numpy() >= measure["rel"]
        qids_with_positive = table["qid"][is_positive]
        return pd.Index(judgments.qids).isin(qids_with_positive)
    target = _target(judgments, judgments.labels("relevance"))
    return as_base(measure).has_positive(target)


class StandardMeasures(Memo):
    """Measures of ir-measures on one label per judged document.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        Measures with an equal base are computed by that base, all others by ir-measures.
    judgments : Judgments
        The judged pairs.
    labels : ndarray of float, shape (n_pairs,)
        Integers; NaN for unjudged pairs.
    """

    def __init__(self, measures: Iterable[Measure], judgments: Judgments, labels: Floats) -> None:
        self._bases: dict[Measure, Base] = {}
        others: set[Measure] = set()
        defined: dict[Measure, None] = {}  # by functions of users; distinct ones, in order
        for measure in measures:
            base = standard_base(measure)
            if base is not None:
                self._bases[measure] = base
            elif function_of(measure) is not None:
                defined[measure] = None
            else:
                others.add(measure)
        self._others = IrMeasures(others, judgments, labels)
        self._defined = IrMeasures(defined, judgments, labels)
        self._judgments = judgments
        self._labels = labels

    def values(self, rankings: Rankings, run: Callable[[], pd.DataFrame]) -> dict[Measure, Floats]:
        """Evaluate one run.

        `self._bases` has the bases that compute measures here, `self._defined` the measures of
        users' functions, and `self._others` those that are left to ir-measures.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments.
        run : callable
            Returns the run as a frame ``query_id doc_id score``; called only for users' functions.

        Returns
        -------
        dict of Measure to ndarray of float, shape (n_queries,)
        """
        target = self.compute_once("target", lambda: _target(self._judgments, self._labels))
        values = {measure: base.values(rankings, target) for measure, base in self._bases.items()}
        if self._others.measures:
            # The back ends of ir-measures break ties differently, so they get scores without ties.
            run_without_ties = rankings.frame_by_rank()
            values.update(self._others.values(run_without_ties))
        if self._defined.measures:
            # Users' functions may read the scores, so they get the run itself.
            run_as_given = run()
            values.update(self._defined.values(run_as_given))
        return values


@dataclass(frozen=True, eq=False)
class _PlainLabels:
    """Labels as trec_eval reads them: gains are the labels, negative ones 0; relevant from 1."""

    label: Floats

    @property
    def positive(self) -> Bools:
        return self.at_least(1)

    @property
    def junk(self) -> Floats:
        return np.minimum(self.label, 0.0)

    def check_threshold(self) -> None:
        """Accept the threshold, which is always explicit here."""

    def check_gains(self, measure: str) -> None:
        """Accept negative labels, which count as 0 here."""

    def check_degrees(self) -> None:
        """Accept negative labels, which count as 0 here."""

    def check_rel(self, rel: float) -> None:
        """Accept any ``rel``: if no label reaches it, values are 0, as in trec_eval."""

    def at_least(self, rel: float) -> Bools:
        return np.asarray(self.label >= rel, dtype=np.bool_)  # False for NaN

    def mapped_gains(self, gains: Mapping[float, float]) -> Floats:
        """Return the gain of each label; other labels are gains themselves, at least 0."""
        gain = np.nan_to_num(self.label)
        for label, value in gains.items():
            gain[self.label == label] = value
        return np.maximum(gain, 0.0)


def _target(judgments: Judgments, labels: Floats) -> Target:
    """Return plain labels as gains, for a base; missing and negative labels have gain 0."""
    gain = np.maximum(np.nan_to_num(labels), 0.0)
    top = float(gain.max(initial=0.0))
    return Target(judgments.n_queries, judgments.pool_query, gain, top, _PlainLabels(labels))


class DiversityMeasures(IrMeasures):
    """Diversity measures computed by ir-measures, prepared once for any number of runs.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        Diversity measures of ir-measures.
    judgments : Judgments
        Judgments by subtopic.

    Raises
    ------
    MultiAspectError
        If a measure lacks a cutoff, the judgments are not by subtopic, or a label is not an
        integer.
    """

    def __init__(self, measures: Iterable[Measure], judgments: Judgments) -> None:
        no_labels = np.zeros(0)  # `_qrels_for` reads those of the table instead
        super().__init__(measures, judgments, no_labels)
        for measure in self.measures:
            accepts_cutoff = "cutoff" in measure.SUPPORTED_PARAMS
            if accepts_cutoff and measure.params.get("cutoff") is None:
                raise MultiAspectError(f"{measure} requires a cutoff, as in {measure}@20")
        # All measures read the same labels. Errors of these name the first measure.
        first_measure = self.measures[0]
        table = subtopic_judgments(judgments, first_measure)
        fraction = first_fraction(table["label"].to_numpy())
        if fraction is not None:
            raise MultiAspectError(
                f"{first_measure}: expected integer labels, got {fraction:g} in the qrels"
            )
        self._table = table

    def _groups(self) -> list[list[Measure]]:
        """Return the groups of measures that share an evaluator of ir-measures: each is alone.

        An evaluator of measures with different parameters, such as two values of α, would compute
        those with one of the values only.
        """
        return [[measure] for measure in self.measures]

    def _qrels_for(self, measure: Measure) -> tuple[pd.DataFrame, Objects]:
        """Return the qrels by subtopic, and the names of the queries in them."""
        names = query_numbers(self._judgments.n_queries)
        qids = self._table["qid"].to_numpy(dtype=object)
        query = self._judgments.query_positions(qids)
        columns = {
            "query_id": names[query],
            "doc_id": self._table["docno"],
            "relevance": self._table["label"].astype(np.int64),
            "iteration": self._table["subtopic"],
        }
        return pd.DataFrame(columns), names
