"""Many runs at once: `evaluate` and `aggregate`."""

from __future__ import annotations

import shutil

import ir_measures
import numpy as np
import pandas as pd
import pytest
from frame_world import evaluate_in_processes
from ir_measures import AP, ERR, NumRet, nDCG

from pt_multiaspect import (
    CAM,
    TOMA,
    Aspects,
    Judgments,
    MultiAspectError,
    MultiAspectWarning,
    aggregate,
    evaluate,
)

SCALES = Aspects({"relevance": 2, "credibility": 2})
MEASURES = [TOMA(aspects=SCALES) @ 5, CAM(aspects=SCALES) @ 5, nDCG @ 5, "map"]


@pytest.fixture
def collection() -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    rng = np.random.default_rng(7)
    pairs = [(f"q{query}", f"d{document}") for query in range(4) for document in range(12)]
    qrels = pd.DataFrame(pairs, columns=["qid", "docno"])
    qrels["label"], qrels["credibility"] = (
        rng.integers(0, 3, len(qrels)),
        rng.integers(0, 3, len(qrels)),
    )
    runs = {
        name: qrels.sample(frac=0.7, random_state=seed)[["qid", "docno"]].assign(
            score=lambda f: np.arange(len(f))
        )
        for seed, name in enumerate(["one", "two", "three"])
    }
    return qrels, runs


def test_equals_ir_measures_run_by_run(collection):
    qrels, runs = collection
    table = evaluate(runs, qrels, MEASURES, progress=False)
    assert list(table.columns) == ["name", "qid", "measure", "value"]
    n_topics = 4
    assert len(table) == len(runs) * n_topics * len(MEASURES)
    object_by_label = {
        str(measure): AP if measure == "map" else measure  # ir-measures does not know "map"
        for measure in MEASURES
    }
    columns = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    for name, run in runs.items():
        for label, measure in object_by_label.items():
            metrics = ir_measures.iter_calc(
                [measure], qrels.rename(columns=columns), run.rename(columns=columns)
            )
            expected = {metric.query_id: metric.value for metric in metrics}
            rows = table[(table["name"] == name) & (table["measure"] == label)]
            values = rows.set_index("qid")["value"]
            assert values.to_dict() == pytest.approx(expected, abs=1e-12)


def test_two_processes_give_the_same_values(collection):
    qrels, runs = collection
    named = Aspects({"relevance": 2, "credibility": 2}, name="two-processes")
    measures = [TOMA(aspects=named), *MEASURES]
    alone = evaluate(runs, qrels, measures, progress=False)
    pd.testing.assert_frame_equal(
        alone, evaluate_in_processes(runs, qrels, measures), check_exact=True
    )


def test_a_progress_bar_counts_the_runs(collection, capsys):
    qrels, runs = collection
    evaluate(runs, qrels, "map", progress=True)
    assert "3/3" in capsys.readouterr().err
    evaluate(runs, qrels, "map", progress=False)
    assert capsys.readouterr().err == ""


def test_takes_runs_in_every_form(collection, tmp_path):
    qrels, runs = collection
    path = tmp_path / "one.run"
    lines = [f"{r.qid} Q0 {r.docno} 0 {r.score} tag" for r in runs["one"].itertuples()]
    path.write_text("\n".join(lines) + "\n")
    nested = {
        qid: dict(zip(rows["docno"], rows["score"], strict=True))
        for qid, rows in runs["one"].groupby("qid")
    }
    rows = [ir_measures.ScoredDoc(r.qid, r.docno, r.score) for r in runs["one"].itertuples()]
    expected = evaluate(runs["one"], qrels, MEASURES, progress=False)
    assert expected["name"].unique().tolist() == ["run 1"]
    for form in (
        {"x": nested},
        nested,
        [runs["one"]],
        path,
        str(path),
        [path],
        rows,
        {"x": rows},
        {"x": iter(rows)},
    ):
        got = evaluate(form, Judgments(qrels), MEASURES, progress=False)
        pd.testing.assert_frame_equal(got.drop(columns="name"), expected.drop(columns="name"))
    assert evaluate(path, qrels, "map", progress=False)["name"].unique().tolist() == ["one.run"]


def test_counts_are_summed_and_names_keep_their_order(collection):
    qrels, runs = collection
    table = aggregate(evaluate(runs, qrels, [NumRet, "nDCG@5", "map"], progress=False))
    assert list(table.columns) == ["name", "NumRet", "nDCG@5", "map"]
    assert table["name"].tolist() == ["one", "two", "three"]
    assert table["NumRet"].tolist() == [len(run) for run in runs.values()]


@pytest.mark.parametrize(
    ("runs", "measures", "parts"),
    [
        ({}, "map", ["expected at least one run, got none"]),
        ({"a": {"q0": {"d0": 1.0}}}, [], ["at least one measure", "got none"]),
        ({"a": {"zz": {"d0": 1.0}}}, "map", ["run a", "no query in common", "q0", "zz"]),
        ({"a": {"q0": {"d0": float("nan")}}}, "map", ["run a", "d0", "q0", "nan"]),
        ({"a": {"d0": 1.0}}, "map", ["run 1", "no query in common", "a"]),
        ({"a": {"q0": {"d0": 1.0}, "q1": 2.0}}, "map", ["run a", "{qid: {docno: score}}", "q1"]),
        ({"a": {"q0": {"d0": 1.0}}}, "nDGC@5", ["nDGC", "nDCG"]),
        ({"a": {"q0": {"d0": 1.0}}}, 3, ["measure"]),
        (["same.run", "dir/same.run"], "map", ["same.run", "no such file"]),
        (["same.run", "same.run"], "map", ["same.run", "no such file"]),
        ("nowhere.run", "map", ["nowhere.run"]),
    ],
)
def test_bad_input(collection, runs, measures, parts):
    with pytest.raises(MultiAspectError) as caught:
        evaluate(runs, collection[0], measures, progress=False)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_qrels_in_the_place_of_measures(collection):
    """A frame was read as the list of its columns: unknown measure 'qid'."""
    qrels, runs = collection
    for form in (qrels, {"q0": {"d0": {"relevance": 1}}}, Judgments(qrels)):
        with pytest.raises(MultiAspectError, match=r"expected measures .*swapped"):
            evaluate(runs, ["nDCG@10"], form, progress=False)


def test_standard_measures_on_fractional_relevance_say_what_to_do(collection):
    qrels = collection[0].assign(label=lambda f: f["label"] / 2)
    with pytest.raises(MultiAspectError, match=r"integer relevance labels only.*On\(base"):
        evaluate(collection[1], qrels, [nDCG @ 5], progress=False)


def test_aggregate_names_missing_columns():
    with pytest.raises(MultiAspectError, match="measure"):
        aggregate(pd.DataFrame({"name": [], "qid": [], "value": []}))


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs perl")
def test_topics_that_are_no_numbers_reach_gdeval(collection):
    """gdeval breaks down on them, so they are numbered on the way."""
    qrels, runs = collection
    frame = evaluate(runs, qrels, [ERR @ 5, nDCG(dcg="exp-log2") @ 5], progress=False)
    numbered = {f"q{query}": str(query + 1) for query in range(4)}
    for table in (qrels, *runs.values()):
        table["qid"] = table["qid"].map(numbered)
    other = evaluate(runs, qrels, [ERR @ 5, nDCG(dcg="exp-log2") @ 5], progress=False)
    pd.testing.assert_frame_equal(frame.assign(qid=frame["qid"].map(numbered)), other)
    assert frame["value"].between(0.01, 1).any()


def test_a_frame_with_a_column_twice_is_refused():
    frame = pd.DataFrame(
        [["a", "q1", "map", 1.0, 1.0]], columns=["name", "qid", "measure", "value", "value"]
    )
    with pytest.raises(MultiAspectError, match="expected distinct column names, got several value"):
        aggregate(frame)


def test_a_run_that_cannot_be_read_is_an_error(collection):
    qrels, runs = collection
    with pytest.raises(MultiAspectError, match="run foreign and the qrels have no query in common"):
        evaluate(runs | {"foreign": {"q99": {"d1": 1.0}}}, qrels, MEASURES, progress=False)
    with pytest.raises(MultiAspectError, match="no column for the aspect effort"):
        evaluate(runs, qrels, TOMA(aspects="relevance,effort"), progress=False)


def test_a_measure_called_name_does_not_replace_the_names_of_the_runs(collection):
    qrels, runs = collection
    with pytest.raises(MultiAspectError, match="the alias 'name'"):
        aggregate(evaluate(runs, qrels, {"name": "AP"}, progress=False))


def test_repeated_documents_count_once_in_every_measure():
    """With their last score, as the warning says, also in measures that ir-measures computes."""
    qrels = pd.DataFrame(
        {"query_id": ["q1"] * 3, "doc_id": ["d1", "d2", "d3"], "relevance": [1, 0, 0]}
    )
    run = pd.DataFrame(
        {"query_id": ["q1"] * 4, "doc_id": ["d1", "d3", "d2", "d1"], "score": [9.0, 5.0, 4.0, 1.0]}
    )
    measures = [
        "nDCG@3",
        "nDCG(dcg='exp-log2')@3",
        "ERR@3",
        "RBP(rel=1)",
        "Accuracy",
        "RR@10",
        "AP",
    ]
    with pytest.warns(MultiAspectWarning, match="repeated documents"):
        result = evaluate(run, qrels, measures, progress=False)
    distinct = run.drop_duplicates(["query_id", "doc_id"], keep="last")
    pd.testing.assert_frame_equal(result, evaluate(distinct, qrels, measures, progress=False))
