"""Runs given as qrels and qrels as runs: the error says so wherever it can be told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from frame_forms import as_polars
from frame_world import MEASURE, QRELS, RUNS
from ir_measures import Qrel, ScoredDoc
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning

QUESTION = r"Are the qrels and the runs swapped\?$"
RUN = RUNS["a"]
NESTED = {
    qid: dict(zip(rows["docno"], rows["score"], strict=True)) for qid, rows in RUN.groupby("qid")
}
FRACTIONS = {
    qid: {docno: score + 0.5 for docno, score in scores.items()} for qid, scores in NESTED.items()
}
LABELS = {
    qid: dict(zip(rows["docno"], rows["label"], strict=True)) for qid, rows in QRELS.groupby("qid")
}
PAIRS = {
    qid: {docno: (label, 1) for docno, label in labels.items()} for qid, labels in LABELS.items()
}

#: Runs, in forms that people may give as qrels.
AS_QRELS: dict[str, Any] = {
    "frame": RUN,
    "frame with ranks": RUN.assign(rank=0),
    "frame with features": RUN.assign(rank=0, bm25=1.5),
    "frame of Polars": pl.DataFrame(RUN.to_dict("list")),
    "of PyTerrier": RUN.assign(rank=0, query="text", docid=1),
    "frames by name": {"a": RUN},
    "frames": [RUN, RUN],
    "frames and names": [("a", RUN)],
    "dict": NESTED,
    "tuples": [ScoredDoc("q1", "d1", 1.0), ScoredDoc("q1", "d2", 0.5)],
}

#: Qrels, in forms that people may give as runs.
AS_RUNS: dict[str, Any] = {
    "frame": QRELS,
    "frame of relevance": QRELS[["qid", "docno", "label"]],
    "names of ir-measures": QRELS.set_axis(
        ["query_id", "doc_id", "relevance", "credibility"], axis=1
    ),
    "frame by name": {"x": QRELS},
    "frame in a list": [QRELS],
    "dict of tuples": PAIRS,
    "Judgments": ma.Judgments(QRELS),
    "tuples": [Qrel("q1", "d1", 1), Qrel("q1", "d2", 0)],
}

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "evaluate": lambda runs, qrels: ma.evaluate(runs, qrels, MEASURE, progress=False),
    "evaluate, single aspect": lambda runs, qrels: ma.evaluate(runs, qrels, "AP", progress=False),
    "evaluate, all aspects": lambda runs, qrels: ma.evaluate(runs, qrels, ma.TOMA, progress=False),
    "report": lambda runs, qrels: ma.report(runs, qrels, MEASURE, progress=False),
    "describe": lambda runs, qrels: ma.describe(qrels, runs=runs),
    "explain": lambda runs, qrels: ma.explain(MEASURE, runs, qrels, "q1"),
    "Measure.explain": lambda runs, qrels: MEASURE.explain(runs, qrels, "q1"),
    "crp_curve": lambda runs, qrels: ma.crp_curve(runs, qrels),
}


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("runs", "qrels"),
    [*((QRELS, run) for run in AS_QRELS.values()), *((qrels, RUN) for qrels in AS_RUNS.values())],
    ids=[*(f"{name} as qrels" for name in AS_QRELS), *(f"{name} as runs" for name in AS_RUNS)],
)
def test_swapped_arguments_are_an_error_that_asks(call: str, runs: Any, qrels: Any) -> None:
    with pytest.raises(MultiAspectError, match=QUESTION):
        CALLS[call](runs, qrels)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(
        "".join(f"{qid} 0 {docno} {label}\n" for qid, docno, label, _ in QRELS.values)
    )
    (tmp_path / "run").write_text(
        "".join(f"{qid} Q0 {docno} 0 {score} a\n" for qid, docno, score in RUN.values)
    )
    qrels, run = str(tmp_path / "qrels"), str(tmp_path / "run")
    with pytest.raises(MultiAspectError, match=QUESTION):
        ma.evaluate(qrels, ma.read_run(run), "AP", progress=False)
    with pytest.raises(MultiAspectError, match="this looks like qrels, not a run"):
        ma.evaluate(qrels, ma.read_qrels(qrels), "AP", progress=False)
    with pytest.raises(MultiAspectError, match="this looks like a run, not qrels"):
        ma.read_qrels(run)
    with pytest.raises(MultiAspectError, match=QUESTION):
        ma.evaluate(ma.read_qrels(qrels), {"a": run}, "AP", progress=False)


def test_a_file_of_a_run_as_qrels_of_an_aspect(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pl.DataFrame(RUN.to_dict("list")).write_parquet(tmp_path / "run.parquet")
    with pytest.raises(
        MultiAspectError, match=r"run\.parquet: .* this looks like a run, not qrels$"
    ):
        ma.read_qrels(
            {"relevance": tmp_path / "run.parquet", "credibility": tmp_path / "run.parquet"}
        )


RANDOM = np.random.default_rng(0)
MANY = {
    f"q{q}": dict(zip([f"d{d}" for d in range(20)], RANDOM.permutation(20) + 0.5, strict=True))
    for q in range(3)
}
RANKED = {
    qid: {docno: float(np.ceil(score)) for docno, score in scores.items()}
    for qid, scores in MANY.items()
}
GRADES = {f"q{q}": {f"d{d}": int(RANDOM.integers(3)) for d in range(0, 20, 2)} for q in range(3)}


GRADES_AS_SCORES = pd.DataFrame(
    [
        (qid, docno, grade)
        for qid, documents in GRADES.items()
        for docno, grade in documents.items()
    ],
    columns=["qid", "docno", "score"],
)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("scores", [MANY, RANKED], ids=["fractions", "whole numbers"])
@pytest.mark.parametrize(
    "grades", [GRADES, {"x": GRADES}, GRADES_AS_SCORES], ids=["dict", "runs by name", "frame"]
)
def test_dicts_of_numbers_are_told_apart_by_their_numbers(scores: Any, grades: Any) -> None:
    """Grades given as runs, and scores as qrels: either could be meant, so that this is a warning."""
    with pytest.warns(MultiAspectWarning, match=rf"few scores \(0, 1, 2\).* {QUESTION}"):
        ma.evaluate(grades, scores, ma.TOMA, progress=False)


@pytest.mark.parametrize("aspect", ["relevance", "credibility"])
def test_judgments_among_the_files_of_runs(tmp_path: Path, aspect: str) -> None:
    """In JSON, both have the same form: a file of labels would be a run that is perfect."""
    credibility: dict[str, dict[str, int]] = {}
    for topic, (qid, labels) in enumerate(GRADES.items()):
        # 0, 1, 2, 0, …, beginning with another label in each topic.
        credibility[qid] = {docno: (topic + n) % 3 for n, docno in enumerate(labels)}
    for name, content in {"relevance": GRADES, "credibility": credibility, "run": MANY}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    qrels = ma.read_qrels(
        {name: tmp_path / f"{name}.json" for name in ("relevance", "credibility")}
    )
    runs = [tmp_path / f"{aspect}.json", tmp_path / "run.json"]
    with pytest.warns(
        MultiAspectWarning,
        match=rf"^run {aspect}\.json: its documents are all judged, .* labels of {aspect}\.",
    ):
        ma.evaluate(runs, qrels, "AP", progress=False)


@pytest.mark.parametrize("form", ["json", "tsv"])
def test_a_run_with_whole_scores_as_judgments(tmp_path: Path, form: str) -> None:
    """Each of the 20 documents of a topic has another number, as ranks have and grades have not."""
    scores = {
        qid: {docno: int(score) for docno, score in documents.items()}
        for qid, documents in RANKED.items()
    }
    if form == "json":
        text = json.dumps(scores)
    else:
        lines = ["query-id\tcorpus-id\tscore"]
        for qid, documents in scores.items():
            lines += [f"{qid}\t{docno}\t{score}" for docno, score in documents.items()]
        text = "\n".join(lines) + "\n"
    (tmp_path / "whole").write_text(text)
    with pytest.warns(MultiAspectWarning, match=rf"whole: 20 distinct labels, .* {QUESTION}"):
        ma.read_qrels(tmp_path / "whole")


def test_judgments_on_a_scale_of_a_hundred_grades_are_no_run(tmp_path: Path) -> None:
    """Two documents of a topic have each grade."""
    docnos = [f"d{number}" for number in range(20)]
    in_tens = {docno: 10 * (number // 2) for number, docno in enumerate(docnos)}  # 0 to 90
    at_the_top = {docno: 95 + number // 2 for number, docno in enumerate(docnos)}  # 95 to 104
    grades = {"q0": at_the_top, "q1": in_tens, "q2": in_tens}
    (tmp_path / "grades").write_text(json.dumps(grades))
    with no_warnings():
        labels = ma.read_qrels(tmp_path / "grades")["label"]
    assert labels.nunique() == 10 + 10


@no_warnings()
def test_runs_with_scores_like_labels(tmp_path: Path) -> None:
    """Models may predict grades, and ideal rankings in memory are intended."""
    ma.evaluate({"ideal": GRADES}, GRADES, "AP", progress=False)
    predicted = {
        qid: {docno: 2 - grade for docno, grade in labels.items()} for qid, labels in GRADES.items()
    }
    for content in (predicted, {qid: {**labels, "other": 0} for qid, labels in GRADES.items()}):
        (tmp_path / "run.json").write_text(json.dumps(content))
        ma.evaluate(tmp_path / "run.json", GRADES, "AP", progress=False)


@no_warnings()
def test_ordinary_runs_and_qrels_are_not_doubted() -> None:
    """Fractional labels, tied scores and few documents are ordinary."""
    measure = ma.On(base="P@5", aspects={"relevance": ma.Aspect([0, 1, 2])})
    ma.evaluate({"a": MANY, "b": RANKED}, GRADES, measure, progress=False)
    tied = {qid: dict.fromkeys(documents, 1.0) for qid, documents in MANY.items()}
    ma.evaluate({"tied": tied}, GRADES, measure, progress=False)
    fractions = ma.Aspect([0.5, 1.5, 2.5, 3.5], threshold=2.5)
    few = {qid: {f"d{n}": n + 0.5 for n in range(4)} for qid in MANY}
    ma.evaluate(
        {"tied": tied}, few, ma.On(base="P@5", aspects={"relevance": fractions}), progress=False
    )


#: Scores that may be grades.
WHOLE_SCORES = {
    qid: dict(zip(documents, (2, 1, 0), strict=False)) for qid, documents in LABELS.items()
}


@pytest.mark.parametrize(
    ("runs", "qrels", "measure"),
    [
        ({"a": RUN}, QRELS, "CAM(aspects='unknown')"),
        ({"a": RUN.drop(columns="score")}, QRELS, "AP"),
        (iter([("a", RUN.drop(columns="score"))]), QRELS, "AP"),
        (FRACTIONS, FRACTIONS, "AP"),
        ({"a": WHOLE_SCORES}, LABELS, "CAM(aspects='unknown')"),
        ({"a": WHOLE_SCORES, "b": {"other": WHOLE_SCORES["q1"]}}, LABELS, "AP"),
    ],
    ids=[
        "unknown aspects",
        "no scores",
        "no scores of an iterator",
        "two runs",
        "unknown aspects, whole scores",
        "no topic in common, whole scores",
    ],
)
def test_no_question_where_arguments_are_right(runs: Any, qrels: Any, measure: str) -> None:
    """The errors about something else do not ask whether arguments are swapped."""
    with pytest.raises(MultiAspectError) as caught:
        ma.evaluate(runs, qrels, measure, progress=False)
    assert "swapped" not in str(caught.value)


def test_a_frame_of_both_has_aspects_that_are_selected() -> None:
    both = RUN.assign(rank=0, credibility=QRELS["credibility"])
    with pytest.raises(
        MultiAspectError, match=r"Select the aspects, as in aspects=\['credibility'\]"
    ):
        ma.evaluate(both, both, ma.CAM, progress=False)
    assert len(ma.evaluate(both, both, ma.CAM(aspects={"credibility": 1}), progress=False)) == 3


def runs_of_two_topics(n_documents: int) -> dict[str, dict[str, dict[str, float]]]:
    """Return the runs a and b on the topics q0 and q1 as dictionaries of three levels."""
    run = {f"q{q}": {f"d{q}-{d}": float(d) for d in range(n_documents)} for q in range(2)}
    return {"a": run, "b": run}


def test_documents_do_not_become_aspects() -> None:
    """As qrels, runs by name have names as topics, topics as documents, and documents as aspects."""
    runs = runs_of_two_topics(n_documents=101)
    with pytest.raises(
        MultiAspectError, match=f"got labels of 101 aspects for document q0, query a.* {QUESTION}"
    ):
        ma.evaluate(GRADES, runs, ma.TOMA, progress=False)


def test_labels_that_are_fractions_are_no_question_beside_runs_by_name() -> None:
    """The error is that AP of ir-measures needs whole labels."""
    with pytest.raises(MultiAspectError) as caught:
        ma.evaluate(runs_of_two_topics(n_documents=30), {"q0": {"d0-1": 0.5}}, "AP", progress=False)
    assert "swapped" not in str(caught.value)


def test_runs_that_are_read_when_asked_for_are_not_read_to_ask() -> None:
    class Runs(Mapping[str, Any]):
        def __getitem__(self, name: str) -> Any:
            read.append(name)
            return RUN.drop(columns="score") if name == "b" else RUN

        def __iter__(self) -> Iterator[str]:
            return iter("abc")

        def __len__(self) -> int:
            return 3

    read: list[str] = []
    with pytest.raises(MultiAspectError, match="expected a column score"):
        ma.evaluate(Runs(), QRELS, MEASURE, progress=False)
    assert "c" not in read


def test_the_error_remains_where_arguments_cannot_be_read_to_ask() -> None:
    """A lazy frame is not read, so that it is not known whether it has judgments."""
    lazy_run = as_polars(RUN).lazy()
    with pytest.raises(
        MultiAspectError, match=r"^run 1: expected a data frame in memory, got a lazy"
    ):
        ma.evaluate(lazy_run, QRELS, MEASURE, progress=False)


@pytest.mark.parametrize(
    ("docnos", "scores"),
    [
        (["a", "a", "b", "a"], [2.0, 1.0, 1.0, 1.0]),
        (["a", "c", "b", "a"], [np.inf, 1.0, 1.0, 1.0]),
    ],
    ids=["two labels of a document", "an infinite label"],
)
def test_the_error_is_the_one_that_was_raised(docnos: list[str], scores: list[float]) -> None:
    """To ask whether arguments are swapped, the run is read as qrels, which fails for another reason."""
    run = pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": docnos, "bm25": scores})
    with pytest.raises(
        MultiAspectError, match="expected a column score, got the columns qid, docno, bm25"
    ):
        ma.evaluate({"r": run}, {"1": {"a": 1, "b": 0}, "2": {"a": 1}}, "AP", progress=False)
