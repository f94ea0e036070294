"""The time that best values take, and the gap they leave, on 50 topics × 500 judged documents × 3 aspects.

Run with ``pytest benchmarks -s``. The unit is one evaluation of a ranking of all judged documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from pt_multiaspect import CAM, MM, Measure
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.collection.judgments import Judgments
from pt_multiaspect.collection.rankings import Rankings

ASPECTS = {"relevance": 2, "understandability": 10, "trust": 10}
AP_AT_TWO_THIRDS = {"relevance": "AP", "understandability": "AP(rel=7)", "trust": "AP(rel=7)"}


def collection() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows, topic = 25_000, rng.normal(size=(50, 1, 3)).repeat(500, axis=1).reshape(25_000, 3)
    wish = rng.normal(size=(rows, 3)) + 0.5 * topic
    frame = pd.DataFrame(
        {"qid": np.repeat([f"q{n}" for n in range(50)], 500), "docno": np.arange(rows).astype(str)}
    )
    frame["relevance"] = np.digitize(wish[:, 0], [0.8, 1.6])
    for place, name in enumerate(("understandability", "trust"), 1):
        frame[name] = np.digitize(wish[:, place], np.linspace(-1.5, 1.5, 10))
    return frame


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.parametrize(
    ("measure", "most"),
    [
        (CAM(aspects=ASPECTS), 10),
        (CAM(base={**dict.fromkeys(ASPECTS, "nDCG@10"), "trust": "nDCG@20"}, aspects=ASPECTS), 300),
        (MM(aspects=ASPECTS), 200),
        (CAM(base=AP_AT_TWO_THIRDS, aspects=ASPECTS), 3000),
    ],
    ids=["CAM over nDCG", "CAM over two cutoffs", "MM over nDCG", "CAM over AP"],
)
def test_best_values(measure: Measure, most: float, request: pytest.FixtureRequest) -> None:
    judgments = Judgments(collection())
    frame = pd.DataFrame(
        {"qid": judgments.qids[judgments.pool_query], "docno": judgments.docnos, "score": 1.0}
    )
    upper_bound(judgments, CAM(aspects=ASPECTS))  # imports and caches
    one = min(seconds(lambda: measure.evaluate(Rankings(frame, judgments))) for _ in range(5))
    tables: list[pd.DataFrame] = []
    taken = seconds(lambda: tables.append(upper_bound(judgments, measure)))
    (table,) = tables
    print(
        f"\n{request.node.callspec.id}: {taken:.2f} s, {taken / one:.0f} evaluations (at most "
        f"{most}); gap: mean {table['gap'].mean():.5f}, greatest {table['gap'].max():.5f}"
    )
    assert taken / one < most
