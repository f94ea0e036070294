"""The provider builds the judgments of the same qrels once per thread, for any number of evaluators."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from door_world import (
    CAM_10,
    IR_QRELS,
    IR_RUN,
    QRELS,
    SYSTEM_NAMES,
    SYSTEMS,
    TOMA_10,
    TOPICS,
    per_query,
)

import pt_multiaspect as ma
from pt_multiaspect import Judgments
from pt_multiaspect.integration import provider
from pt_multiaspect.integration.provider import LastJudgments


@pytest.fixture
def built_judgments(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Judgments]]:
    """The judgments that are built, with none kept from other tests."""
    judgments: list[Judgments] = []

    def build(qrels: pd.DataFrame) -> Judgments:
        judgments.append(Judgments(qrels))
        return judgments[-1]

    build.of = Judgments.of  # type: ignore[attr-defined]
    monkeypatch.setattr(provider, "Judgments", build)
    monkeypatch.setattr(provider, "_last", LastJudgments())
    yield judgments
    judgments.clear()


def test_an_experiment_builds_judgments_once(built_judgments) -> None:
    for _ in range(2):
        pt.Experiment(SYSTEMS, TOPICS, QRELS, [CAM_10, TOMA_10, "nDCG@10"], names=SYSTEM_NAMES)
    assert len(built_judgments) == 1
    pt.Experiment(SYSTEMS, TOPICS[:3], QRELS, [CAM_10], names=SYSTEM_NAMES)
    assert len(built_judgments) == 2


def test_qrels_that_change_in_place_count_as_they_are(built_judgments) -> None:
    """Kept judgments are those of the same content, not of the same object."""
    qrels = IR_QRELS.copy()
    before = per_query([CAM_10], qrels)
    assert len(built_judgments) == 1

    qrels["relevance"] = 2 - qrels["relevance"]
    after = per_query([CAM_10], qrels)
    assert after != before
    assert after == per_query([CAM_10], Judgments(qrels))
    assert len(built_judgments) == 2

    assert per_query([CAM_10], IR_QRELS) == before
    assert len(built_judgments) == 3


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize(
    "change",
    [
        lambda qrels: qrels.assign(query_id=qrels["query_id"].replace("q1", "q7")),
        lambda qrels: qrels.assign(doc_id=qrels["doc_id"].replace("d01", "d99")),
        lambda qrels: qrels.assign(
            readability=qrels["readability"].where(qrels["doc_id"] != "d01")
        ),
        lambda qrels: qrels.rename(columns={"readability": "effort"}),
        lambda qrels: qrels.assign(effort=1),
        lambda qrels: qrels.drop(columns="readability"),
        lambda qrels: qrels[1:],
    ],
)
def test_other_qrels_are_told_apart(built_judgments, change) -> None:
    measure = ma.CAM(base="AP")
    qrels = change(IR_QRELS)
    per_query([measure], IR_QRELS)
    assert per_query([measure], qrels) == per_query([measure], Judgments(qrels))
    assert len(built_judgments) == 2


SETTINGS = {"power": 1.0}


@dataclass(frozen=True)
class Settable:
    """A discount that reads a setting, as those that are edited in a notebook."""

    def __call__(self, rank: Any) -> Any:
        return rank ** -SETTINGS["power"]


def test_what_measures_compute_is_not_kept(built_judgments, monkeypatch) -> None:
    """Best values are computed anew: what a class of the user reads may have changed since."""

    class SettableSum(ma.LinearMeasure):
        """A sum with the discount `Settable`, divided by the best one."""

        def linear(self, target):
            norm = target.best_sum(target.gain, Settable(), None)
            return ma.forms.Linear(target, target.gain, Settable(), norm=norm)

    measure = SettableSum()
    before = per_query([measure])
    monkeypatch.setitem(SETTINGS, "power", 0.5)
    after = per_query([measure])
    assert after != before
    assert after == per_query([measure], Judgments(IR_QRELS))
    assert len(built_judgments) == 1


def test_each_thread_has_judgments_of_its_own(built_judgments) -> None:
    worlds = [
        IR_QRELS.assign(relevance=np.roll(IR_QRELS["relevance"], shift)) for shift in range(4)
    ]
    expected = [per_query([CAM_10], Judgments(qrels)) for qrels in worlds]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(lambda qrels: per_query([CAM_10], qrels), worlds)) == expected


def test_one_set_of_qrels_is_kept(built_judgments) -> None:
    first = IR_QRELS.copy()
    per_query([CAM_10], first)
    kept = weakref.ref(built_judgments.pop())
    other: Any = IR_QRELS.assign(relevance=0)
    per_query([CAM_10], other)
    gc.collect()
    assert kept() is None


def test_no_measure_adds_to_what_is_kept(built_judgments) -> None:
    per_query([TOMA_10])
    size = len(built_judgments[0].__dict__["_results"])
    for good in (0.5, 0.6, 0.7):
        scales = {"relevance": 2, "readability": ma.Aspect(3, probabilities=[0, 0.4, good, 1])}
        per_query([ma.CAM(base="AP", aspects=scales)])
    assert len(built_judgments) == 1
    assert len(built_judgments[0].__dict__["_results"]) == size


def test_qrels_in_other_forms_are_not_kept(built_judgments) -> None:
    """An iterator of rows can be read once only; its values are those of the frame."""
    expected = per_query([CAM_10])
    kept = list(built_judgments)
    rows = IR_QRELS.itertuples(index=False, name="Qrel")
    values = {}
    for metric in ir_measures.iter_calc([CAM_10], iter(list(rows)), IR_RUN):
        values[metric.query_id, str(metric.measure)] = metric.value
    assert values == expected
    assert built_judgments == kept
