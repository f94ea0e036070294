"""Runs with ranks but no scores, wherever they are read: one title, and the remedy."""

from __future__ import annotations

import re

import ir_measures
import pandas as pd
import pytest

import pt_multiaspect as ma

QRELS = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}}
RUN = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "rank": [1, 2]})
ASPECTS = ma.Aspects({"relevance": 1, "credibility": 1})
CAM = ma.CAM(aspects=ASPECTS)

WAYS = {
    "evaluate": (lambda run: ma.evaluate({"bm25": run}, QRELS, CAM, progress=False), "run bm25"),
    "evaluate one": (lambda run: ma.evaluate(run, QRELS, CAM, progress=False), "run 1"),
    "evaluator": (
        lambda run: ma.evaluator(QRELS, CAM)(run.assign(name="bm25.txt")),
        "run bm25.txt",
    ),
    "explain": (lambda run: ma.explain(CAM, {"bm25": run}, QRELS, "q1"), "run bm25"),
    "explain one": (lambda run: ma.explain(CAM, run, QRELS, "q1"), "run 1"),
    "describe": (lambda run: ma.describe(QRELS, runs={"bm25": run}), "run bm25"),
    "ir-measures": (lambda run: ir_measures.calc_aggregate([CAM], ma.Judgments(QRELS), run), "run"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_message_has_one_title_and_the_remedy(way):
    call, title = WAYS[way]
    columns = "qid, docno, rank, name" if way == "evaluator" else "qid, docno, rank"
    with pytest.raises(ma.MultiAspectError) as caught:
        call(RUN)
    message = str(caught.value)
    assert message.startswith(f"{title}: expected a column score, got the columns {columns};")
    assert message.count(f"{title}: ") == 1
    assert message.endswith("score = -rank")


def test_the_remedy_is_right():
    by_rank = ma.evaluate(RUN.assign(score=-RUN["rank"]), QRELS, CAM, progress=False)
    by_score = ma.evaluate(RUN.assign(score=[9.0, 8.0]), QRELS, CAM, progress=False)
    pd.testing.assert_frame_equal(by_rank, by_score)


@pytest.mark.parametrize(
    "run",
    [
        RUN.drop(columns="docno").assign(score=1.0),
        RUN.assign(score=1.0, query_id="q1"),
        RUN.drop(columns="rank"),
        {"q1": {"d1": 1.0}, "q2": 1},
    ],
    ids=["no documents", "two columns of topics", "no scores and no ranks", "a number"],
)
def test_other_faults_have_one_title_too(run):
    """An error about a run begins with its name, once: not "run bm25: run: expected …"."""
    with pytest.raises(ma.MultiAspectError) as caught:
        ma.evaluate({"bm25": run}, QRELS, CAM, progress=False)
    message = str(caught.value)
    assert message.startswith("run bm25: expected ")
    assert not re.search(r"\brun: ", message)
    assert "-rank" not in message  # the remedy for runs with ranks


def test_files_have_their_name_as_title(tmp_path):
    path = tmp_path / "a.parquet"
    pytest.importorskip("pyarrow")
    pytest.importorskip("polars").DataFrame(RUN.to_dict("list")).write_parquet(path)
    with pytest.raises(
        ma.MultiAspectError, match=r"a\.parquet: expected a column score, got .*= -rank$"
    ):
        ma.read_run(path)
