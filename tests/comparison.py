"""Values of measures, beside those of the reference implementation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest
import reference as ref
from ir_measures import Measure
from strategies import Collection

from pt_multiaspect import Judgments
from pt_multiaspect.collection.rankings import Rankings

Values = dict[tuple[Measure, str], float]

#: The reference value of one query, from its run and its judgments.
Reference = Callable[[ref.Run, ref.Judgments], float]


def evaluate(some: Sequence[Measure], qrels: Any, run: Any) -> Values:
    return {
        (metric.measure, metric.query_id): metric.value
        for metric in ir_measures.iter_calc(some, qrels, run)
    }


def compare(
    cases: Mapping[Measure, Reference], collection: Collection, tolerance: float = 1e-9
) -> None:
    values = evaluate(list(cases), collection.qrels, collection.run)
    assert len(values) == len(cases) * len(collection.labels)
    for (measure, qid), value in values.items():
        wanted = cases[measure](collection.run.get(qid, {}), collection.labels[qid])
        assert value == pytest.approx(wanted, abs=tolerance, rel=0), (measure, qid)


def by_force(measure: Any, judged: dict[str, dict[str, float]]) -> np.ndarray:
    """The values of all rankings of the judged documents, each a query of its own."""
    permutations = list(itertools.permutations(judged))
    run = {
        f"{index:03d}": {docno: -float(rank) for rank, docno in enumerate(permutation)}
        for index, permutation in enumerate(permutations)
    }
    return measure.evaluate(Rankings(run, Judgments(dict.fromkeys(run, judged))))
