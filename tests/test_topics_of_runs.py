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
QIDS = [f"q{number:02}" for number in range(50)]  # the judged topics
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
    """Of six runs, r0 to r5, with the first 2 to 7 of 50 topics."""
    runs = {f"r{number}": part(n_topics=2 + number) for number in range(6)}
    (message,) = messages(runs, QRELS, CAM)
    assert message.count("no documents for") == 3
    assert (
        "run r2: no documents for 46 of 50 judged topics, such as q04; and 3 more runs. These"
        in message
    )


@pytest.mark.parametrize(("n_topics", "n_messages"), [(4, 0), (5, 1)])
def test_small_examples_are_left_alone(n_topics: int, n_messages: int) -> None:
    """Of fewer than five judged topics, no message says that a run lacks topics, or an aspect labels."""
    qrels = QRELS[QRELS["qid"].isin(QIDS[:n_topics])]
    run_of_two_topics = part(n_topics=2)
    assert len(messages({"a": run_of_two_topics}, qrels, "map")) == n_messages
    without_trust_on_q01 = qrels.assign(trust=qrels["trust"].mask(qrels["qid"] == "q01"))
    assert len(messages({"full": part(n_topics)}, without_trust_on_q01, CAM)) == n_messages


def test_only_topics_that_count_are_missed() -> None:
    qrels = QRELS.assign(label=QRELS["label"].where(QRELS["qid"] < "q02", 0))
    assert messages(part(2), qrels, "map", average_over="positive") == []


def test_repeated_documents_name_the_runs() -> None:
    """One message names the first repeated document of each run, and the number of surplus rows."""
    d3_and_d4_again = FULL[3:5].assign(score=-1.0)
    d0_again = FULL[:1]
    runs = {
        "a": pd.concat([FULL, d3_and_d4_again]),
        "b": FULL,
        "c": pd.concat([FULL, d0_again]),
    }
    for _ in range(2):  # each call says it
        (message,) = messages(runs, QRELS, CAM)
        of_a, of_c = message.split("; ")
        assert re.match(r"run a: repeated documents.* d3 \(2 ", of_a)
        assert re.match(r"run c: repeated documents.* d0 \(1 ", of_c)


IS_Q07 = QRELS["qid"] == "q07"
IS_D0 = QRELS["docno"] == "d0"
IS_D1 = QRELS["docno"] == "d1"
WITHOUT_TRUST_ON_Q07 = QRELS.assign(trust=QRELS["trust"].mask(IS_Q07))


def test_an_aspect_that_lacks_a_topic_is_named() -> None:
    """As where the file of the aspect has 49 of 50 topics; each call says it once."""
    for _ in range(2):
        (message,) = messages(FULL, WITHOUT_TRUST_ON_Q07, [CAM, ma.MM(aspects=SCALES)])
        assert message.startswith(
            "the qrels have no label of trust in 1 of 50 topics, such as q07. There,"
        )
    of_other_aspects = [ma.On(aspect="relevance"), "map"]
    assert messages(FULL, WITHOUT_TRUST_ON_Q07, of_other_aspects) == []


def test_an_aspect_lacks_a_topic_if_a_relevant_document_has_no_label() -> None:
    """One relevant document, d0, without a label of trust is enough, and one label of trust mends it."""
    qrels = WITHOUT_TRUST_ON_Q07.copy()
    qrels.loc[IS_Q07, "label"] = 0
    qrels.loc[IS_Q07 & IS_D0, "label"] = 1
    assert len(messages(FULL, qrels, CAM)) == 1
    qrels.loc[IS_Q07 & IS_D1, "trust"] = 1
    assert messages(FULL, qrels, CAM) == []


def test_an_aspect_that_is_judged_where_relevant_lacks_no_topic_without_relevant_documents() -> (
    None
):
    qrels = QRELS.copy()
    qrels.loc[IS_Q07, "label"] = 0
    qrels["trust"] = qrels["trust"].where(qrels["label"] > 0)
    assert messages(FULL, qrels, CAM) == []


#: Topic b is missing from the run; trec_eval -c counts 4 relevant documents and 3 topics.
COUNTED = {"a": {"d1": 1, "d2": 0}, "b": {"d1": 2, "d3": 1}, "c": {"d1": 1, "d4": 0}}
WITHOUT_B = {"a": {"d1": 2.0, "d2": 1.0}, "c": {"d4": 2.0}}
WITHOUT_C = {"a": {"d1": 2.0, "d2": 1.0}, "b": {"d3": 2.0}}


@pytest.mark.parametrize(
    ("measure", "expected_by_topic"),
    [
        ("num_rel", {"a": 1, "b": 2, "c": 1}),
        ("num_q", {"a": 1, "b": 1, "c": 1}),
        ("NumRel", {"a": 1, "b": 2, "c": 1}),
        ("On(base='NumRel')", {"a": 1, "b": 2, "c": 1}),
        ("On(base='NumRel(rel=2)')", {"a": 0, "b": 1, "c": 0}),
        ("On(base='NumQ')", {"a": 1, "b": 1, "c": 1}),
        ("CAM(base='NumRel', aspects='relevance')", {"a": 1, "b": 2, "c": 1}),
    ],
)
@pytest.mark.parametrize("run", [WITHOUT_B, WITHOUT_C], ids=["without b", "without c"])
def test_counts_of_judgments_include_topics_that_a_run_lacks(
    run: Any, measure: str, expected_by_topic: dict[str, float]
) -> None:
    """As `trec_eval -c` counts: the judgments are a: 1 and 0, b: 2 and 1, c: 1 and 0."""
    values = ma.evaluate(run, COUNTED, [measure], progress=False)
    assert values.set_index("qid")["value"].to_dict() == expected_by_topic


def test_topics_without_labels_are_not_counted() -> None:
    """Qrels of relevance do not contain topic b, which is judged on another aspect only.

    They contain c, whose document has a negative label, and thus no relevant document.
    """
    qrels = pd.DataFrame(
        [("a", "d1", 1.0, 1), ("b", "d1", np.nan, 1), ("c", "d1", -1.0, 0)],
        columns=["qid", "docno", "label", "trust"],
    )
    values = ma.evaluate({"a": {"d1": 1.0}}, qrels, ["num_q", "num_rel"], progress=False)
    by_topic = values.pivot(index="qid", columns="measure", values="value")
    assert by_topic["num_q"].to_dict() == {"a": 1, "b": 0, "c": 1}
    assert by_topic["num_rel"].to_dict() == {"a": 1, "b": 0, "c": 0}


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
