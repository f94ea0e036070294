"""The time to explain a ranking of 10 000 documents, as a ratio to evaluating it.

Run with ``pytest benchmarks -s``.
"""

from __future__ import annotations

import statistics
import tracemalloc

import pytest

import pt_multiaspect as ma
from pt_multiaspect.collection.rankings import Rankings

from .collection import collection
from .measuring import seconds

ASPECTS = {"relevance": 2, "understandability": 3, "credibility": 2}
STATED = ["TOMA", "CAM", "MM", "uRBPgr", "NLRE", "NWCS", "CAM(base='AP')", "CRP"]
MARGINAL = ["NGRE", "CAM(base='SetF')", "CAM(base='Bpref')", "ESL"]


@pytest.mark.parametrize(("kind", "names"), [("stated", STATED), ("marginal", MARGINAL)])
def test_ten_thousand_documents(kind: str, names: list[str]) -> None:
    qrels, run = collection(n_queries=1, n_retrieved=10_000, n_judged=1000)
    judgments = ma.Judgments(qrels)
    for name in names:
        (measure,) = ma.integration.parsing.parse(name)
        if "aspects" in measure.SUPPORTED_PARAMS:
            measure = measure(aspects=ASPECTS)

        def explained(measure: ma.Measure = measure) -> object:
            return measure.explain(run, judgments, "0")

        def evaluated(measure: ma.Measure = measure) -> object:
            return measure.evaluate(Rankings(run, judgments))

        explained()
        evaluating = statistics.median(seconds(evaluated) for _ in range(3))
        taken = statistics.median(seconds(explained) for _ in range(3))
        showing = seconds(lambda explained=explained: str(explained()))
        tracemalloc.start()
        explained()
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        print(
            f"\n{name}, {kind}: {taken:.2f} s, {taken / evaluating:.0f} times an evaluation; "
            f"printed {showing:.2f} s; {peak:.0f} MB"
        )
        if kind == "stated":
            assert taken < 1
        assert peak < 200
