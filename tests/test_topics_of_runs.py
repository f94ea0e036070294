"""Warnings of `evaluate` about runs and topics: one message per call, with the names of the runs."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from strategies import no_warnings

import pt_multiaspect as ma

SCALES = {"relevance": 2, "trust": 1}
CAM = ma.CAM(aspects=SCALES)
QIDS = [f"q{number:02}" for number in range(50)]
QRELS = pd.DataFrame(
    [(qid, f"d{d}", (d * 7 + int(qid[1:])) % 3, d % 2) for qid in QIDS for d in range(6)],
    columns=["qid", "docno", "label", "trust"],
)
FULL = QRELS[["qid", "docno"]].assign(score=1.0 / np.arange(1, len(QRELS) + 1), rank=0)


def messages(*args: Any, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ma.evaluate(*args, progress=False, **options)
    return [str(warning.message) for warning in caught if issubclass(warning.category, ma.MultiAspectWarning)]


def part(n_topics: int) -> pd.DataFrame:
    return FULL[FULL["qid"].isin(QIDS[:n_topics])]


@pytest.mark.parametrize("measure", [CAM, "map"])
def test_runs_that_lack_topics_are_named(measure: Any) -> None:
    """2 of 50 topics: CAM .026 without a line."""
    runs = {"a": part(2), "full": FULL, "b": part(49)}
    expected = (
        "run a: no documents for 48 of 50 judged topics, such as q02; run b: no documents for 1 of 50 judged "
        "topics, such as q49. These topics count as empty rankings. If the runs are for other topics, leave these "
        "out of the qrels"
    )
    for _ in range(2):  # per call, not once per process
        assert messages(runs, QRELS, measure) == [expected]
    assert messages({"full": FULL}, QRELS, measure) == []


def test_of_many_runs_a_few_are_named() -> None:
    (message,) = messages({f"r{number}": part(2 + number) for number in range(6)}, QRELS, CAM)
    assert message.count("no documents for") == 3
    assert "run r2: no documents for 46 of 50 judged topics, such as q04; and 3 more runs. These" in message


@pytest.mark.parametrize(("n_topics", "count"), [(4, 0), (5, 1)])
def test_small_examples_are_left_alone(n_topics: int, count: int) -> None:
    qrels = QRELS[QRELS["qid"].isin(QIDS[:n_topics])]
    assert len(messages({"a": part(2)}, qrels, "map")) == count
    unlabelled = qrels.assign(trust=qrels["trust"].astype(float).where(qrels["qid"] != "q01"))
    assert len(messages({"full": part(n_topics)}, unlabelled, CAM)) == count


def test_only_topics_that_count_are_missed() -> None:
    qrels = QRELS.assign(label=QRELS["label"].where(QRELS["qid"] < "q02", 0))
    assert messages(part(2), qrels, "map", average_over="positive") == []


def test_repeated_documents_name_the_runs() -> None:
    twice = pd.concat([FULL, FULL[3:5].assign(score=-1.0)])
    for _ in range(2):
        (message,) = messages({"a": twice, "b": FULL, "c": pd.concat([FULL, FULL[:1]])}, QRELS, CAM)
        first, second = message.split("; ")
        assert re.match(r"run a: repeated documents.* d3 \(2 ", first)
        assert re.match(r"run c: repeated documents.* d0 \(1 ", second)


def test_an_aspect_that_lacks_a_topic_is_named() -> None:
    """A file of 49 topics: no line either."""
    qrels = QRELS.assign(trust=QRELS["trust"].where(QRELS["qid"] != "q07"))
    for _ in range(2):
        (message,) = messages(FULL, qrels, [CAM, ma.MM(aspects=SCALES)])
        assert message.startswith("the qrels have no label of trust in 1 of 50 topics, such as q07. There,")
    assert messages(FULL, qrels, [ma.On(aspect="relevance"), "map"]) == []
    # One label is enough: a relevant document without one of trust warns, one label of trust does not.
    one = qrels.assign(label=QRELS["label"].where((QRELS["qid"] != "q07") | (QRELS["docno"] == "d0"), 0))
    one.loc[(one["qid"] == "q07") & (one["docno"] == "d0"), "label"] = 1
    assert len(messages(FULL, one, CAM)) == 1
    one.loc[(one["qid"] == "q07") & (one["docno"] == "d1"), "trust"] = 1
    assert messages(FULL, one, CAM) == []
    # Only relevant documents are judged for trust.
    judged = QRELS.assign(label=QRELS["label"].where(QRELS["qid"] != "q07", 0))
    judged["trust"] = judged["trust"].where(judged["label"] > 0)
    assert messages(FULL, judged, CAM) == []


@pytest.mark.slow
@no_warnings()
def test_parts_and_batches_do_not_warn() -> None:
    ma.evaluator(QRELS, [CAM])(part(2).assign(name="a"))
    topics = pd.DataFrame({"qid": QIDS, "query": "a"})
    pt.Experiment([pt.Transformer.from_df(FULL)], topics, QRELS, [CAM], batch_size=5)


def test_the_command_line_shows_them(cli: Any, trec_files: Any) -> None:
    run = trec_files / "runs" / "beta.run"
    run.write_text("\n".join(line for line in run.read_text().splitlines() if line.startswith("q0 ")))
    code, _, shown = cli("evaluate", "-m", "map", "runs/alpha.run", "runs/beta.run")
    assert code == 0
    assert "run beta.run: no documents for 5 of 6 judged topics, such as q1" in shown.replace("\n", " ")
