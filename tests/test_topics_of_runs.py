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
    return [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ma.MultiAspectWarning)
    ]


def part(n_topics: int) -> pd.DataFrame:
    return FULL[FULL["qid"].isin(QIDS[:n_topics])]


@pytest.mark.parametrize("measure", [CAM, "map"])
def test_runs_that_lack_topics_are_named(measure: Any) -> None:
    """2 of 50 topics: CAM .026 without a line."""
    runs = {"a": part(2), "full": FULL, "b": part(49)}
    expected = (
        "run a: no documents for 48 of 50 judged topics, such as q02; run b: no documents for 1 of "
        "50 judged topics, such as q49. These topics count as empty rankings. If the runs are for "
        "other topics, leave these out of the qrels"
    )
    for _ in range(2):  # per call, not once per process
        assert messages(runs, QRELS, measure) == [expected]
    assert messages({"full": FULL}, QRELS, measure) == []


def test_of_many_runs_a_few_are_named() -> None:
    (message,) = messages({f"r{number}": part(2 + number) for number in range(6)}, QRELS, CAM)
    assert message.count("no documents for") == 3
    assert (
        "run r2: no documents for 46 of 50 judged topics, such as q04; and 3 more runs. These"
        in message
    )


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
        assert message.startswith(
            "the qrels have no label of trust in 1 of 50 topics, such as q07. There,"
        )
    assert messages(FULL, qrels, [ma.On(aspect="relevance"), "map"]) == []
    # One label is enough: a relevant document without one of trust warns, one label of trust does
    # not.
    one = qrels.assign(
        label=QRELS["label"].where((QRELS["qid"] != "q07") | (QRELS["docno"] == "d0"), 0)
    )
    one.loc[(one["qid"] == "q07") & (one["docno"] == "d0"), "label"] = 1
    assert len(messages(FULL, one, CAM)) == 1
    one.loc[(one["qid"] == "q07") & (one["docno"] == "d1"), "trust"] = 1
    assert messages(FULL, one, CAM) == []
    # Only relevant documents are judged for trust.
    judged = QRELS.assign(label=QRELS["label"].where(QRELS["qid"] != "q07", 0))
    judged["trust"] = judged["trust"].where(judged["label"] > 0)
    assert messages(FULL, judged, CAM) == []


#: Topic b is missing from the run; trec_eval -c counts 4 relevant documents and 3 topics.
COUNTED = {"a": {"d1": 1, "d2": 0}, "b": {"d1": 2, "d3": 1}, "c": {"d1": 1, "d4": 0}}
WITHOUT_B = {"a": {"d1": 2.0, "d2": 1.0}, "c": {"d4": 2.0}}
WITHOUT_C = {"a": {"d1": 2.0, "d2": 1.0}, "b": {"d3": 2.0}}


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("num_rel", [1, 2, 1]),
        ("num_q", [1, 1, 1]),
        ("NumRel", [1, 2, 1]),
        ("On(base='NumRel')", [1, 2, 1]),
        ("On(base='NumRel(rel=2)')", [0, 1, 0]),
        ("On(base='NumQ')", [1, 1, 1]),
        ("CAM(base='NumRel', aspects='relevance')", [1, 2, 1]),
    ],
)
def test_counts_of_judgments_include_topics_that_a_run_lacks(
    measure: str, expected: list[float]
) -> None:
    """Kind: values of empty rankings that are not 0. num_rel was 3 for 4 (trec_eval -c), num_q 2 for 3."""
    values = ma.evaluate({"c": WITHOUT_C, "b": WITHOUT_B}, COUNTED, [measure], progress=False)
    assert values["value"].tolist() == expected * 2


def test_topics_without_labels_are_not_counted() -> None:
    """What must stay: qrels of relevance do not contain a topic that is judged on another aspect only."""
    qrels = pd.DataFrame(
        [("a", "d1", 1.0, 1), ("b", "d1", np.nan, 1), ("c", "d1", -1.0, 0)],
        columns=["qid", "docno", "label", "trust"],
    )
    values = ma.evaluate({"a": {"d1": 1.0}}, qrels, ["num_q", "num_rel"], progress=False)
    assert values["value"].tolist() == [1, 0, 1, 1, 0, 0]


ALL_OF_IR_MEASURES = [
    "Bpref", "infAP", "IPrec@0.1", "RR@3", "Compat", "Accuracy", "Judged", "NumRet", "NumRelRet", "SetF", "ERR@5",
    "SDCG(max_rel=2)@3", "BPM(max_rel=2)@3", "INST(max_rel=2)", "INSQ(max_rel=2)", "RBP(rel=1)", "nDCG", "AP",
]  # fmt: skip


@pytest.mark.parametrize("measure", ALL_OF_IR_MEASURES)
def test_empty_rankings_of_other_measures_score_0(measure: str) -> None:
    on = ma.On(base=measure, aspects={"relevance": 2})
    values = ma.evaluate(WITHOUT_B, COUNTED, [measure, on], progress=False)
    assert values["value"][values["qid"] == "b"].tolist() == [0, 0]


@pytest.mark.slow
@no_warnings()
def test_parts_and_batches_do_not_warn() -> None:
    ma.evaluator(QRELS, [CAM])(part(2).assign(name="a"))
    topics = pd.DataFrame({"qid": QIDS, "query": "a"})
    pt.Experiment([pt.Transformer.from_df(FULL)], topics, QRELS, [CAM], batch_size=5)


def test_the_command_line_shows_them(cli: Any, trec_files: Any) -> None:
    run = trec_files / "runs" / "beta.run"
    run.write_text(
        "\n".join(line for line in run.read_text().splitlines() if line.startswith("q0 "))
    )
    code, _, shown = cli("evaluate", "-m", "map", "runs/alpha.run", "runs/beta.run")
    assert code == 0
    assert "run beta: no documents for 5 of 6 judged topics, such as q1" in shown.replace("\n", " ")
