"""Diversity measures of ir-measures, on judgments by subtopic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import AP_IA, ERR_IA, NRBP, P_IA, Measure, StRecall, alpha_DCG, alpha_nDCG, nERR_IA, nNRBP

from .._typing import Bools
from ..collection.judgments import Judgments
from ..collection.subtopics import subtopic_judgments
from ..errors import MultiAspectError
from .delegated import IrMeasures, name_measures_in_errors, query_numbers

#: The classes of the measures that ir-measures computes on judgments by subtopic.
DIVERSITY: tuple[Any, ...] = tuple(
    map(type, (alpha_nDCG, alpha_DCG, ERR_IA, nERR_IA, NRBP, nNRBP, StRecall, P_IA, AP_IA))
)


def is_diversity_measure(measure: object) -> bool:
    """Return whether ir-measures computes a measure on judgments by subtopic."""
    return isinstance(measure, DIVERSITY)


def topics_with_positive_subtopic(measure: Measure, judgments: Judgments) -> Bools:
    """Return a mask of the queries in which a document is relevant to a subtopic."""
    table = subtopic_judgments(judgments, measure)
    positive = table["label"].to_numpy() >= measure["rel"]
    return np.isin(judgments.qids, table["qid"].to_numpy()[positive])


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
        If a measure lacks a cutoff, the judgments are not by subtopic, or a label is not an integer.
    """

    def __init__(self, measures: Iterable[Measure], judgments: Judgments) -> None:
        super().__init__(measures, judgments, np.zeros(0))
        for measure in self.measures:
            if "cutoff" in measure.SUPPORTED_PARAMS and measure.params.get("cutoff") is None:
                raise MultiAspectError(f"{measure} requires a cutoff, as in {measure}@20")
        table = subtopic_judgments(judgments, self.measures[0])
        labels = table["label"].to_numpy()
        fractional = labels != np.floor(labels)
        if fractional.any():
            raise MultiAspectError(
                f"{self.measures[0]}: expected integer labels, got {labels[fractional][0]:g} in the qrels"
            )
        self._table = table

    def _make_evaluators(self) -> list[Any]:
        names = query_numbers(self._judgments.n_queries)
        query = self._judgments.query_positions(self._table["qid"].to_numpy(dtype=object))
        columns = {
            "query_id": names[query],
            "doc_id": self._table["docno"],
            "relevance": self._table["label"].astype(np.int64),
            "iteration": self._table["subtopic"],
        }
        qrels = pd.DataFrame(columns)
        # Of measures with different parameters, ir-measures computes only those with one value of the parameters.
        evaluators = []
        for measure in self.measures:
            with name_measures_in_errors([measure]):
                evaluators.append((ir_measures.evaluator([measure], qrels), names))
        return evaluators
