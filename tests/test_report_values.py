"""Reports of values per topic, with answers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from report_world import Page

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import compare_with_baseline, prediction_powered
from pt_multiaspect.reporting import Report

RUNS = ("plain", "bm25</script>", "long")
TOPICS = [f"t{topic}" for topic in range(8)]
KEYS = ("text", "importance", "assignment")


def judged(seed: int = 0) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    labels = ("support", "partial_support", "not_support")
    return [
        {
            "qid": qid,
            "run_id": name,
            "answer_text": f"<b>{name}</b> on {qid}",
            "faithful": int(rng.integers(1, 6)),
            "nuggets": [
                dict(zip(KEYS, (f"fact {n}", "vital", labels[rng.integers(3)]), strict=True))
                for n in range(3)
            ],
        }
        for name in RUNS
        for qid in TOPICS
    ]


@pytest.fixture(scope="module")
def values() -> pd.DataFrame:
    return ma.answers.nugget_scores(judged())


@pytest.fixture(scope="module")
def of_answers(values: pd.DataFrame) -> Report:
    return ma.report(values, answers=judged())


def test_figures_are_those_of_the_tables(values: pd.DataFrame) -> None:
    pytest.importorskip("vl_convert")
    report = ma.report(
        values,
        baseline="plain",
        answers=judged(),
        by={qid: (qid[1:] > "3" and "b") or "a" for qid in TOPICS},
    )
    data = Page(report.to_html()).data
    expected = ma.aggregate(values, ci=0.95)
    labels = values["measure"].unique().tolist()
    assert [measure["label"] for measure in data["measures"]] == labels
    assert data["runs"] == list(RUNS)
    assert data["means"] == [expected[label].tolist() for label in labels]
    assert data["ends"] == [
        [expected[f"{label} 95% {end}"].tolist() for end in ("low", "high")] for label in labels
    ]
    tests = compare_with_baseline(values, "plain")
    for row in tests.itertuples():
        p = data["tests"]["p"][labels.index(row.measure)][0][RUNS.index(row.name)]
        assert p == pytest.approx(row.p, rel=1e-5)
    assert [group["group"] for group in data["groups"]] == ["a", "b"]
    assert report.description is None
    assert "all" not in str(report).splitlines()


def test_answers_are_shown_as_texts(of_answers: Report) -> None:
    pytest.importorskip("vl_convert")
    page = Page(of_answers.to_html())
    answer = page.data["answers"][1][2]
    source = judged()[len(TOPICS) + 2]
    assert answer["text"] == source["answer_text"]
    assert answer["labels"] == [["faithful", str(source["faithful"])]]
    assert answer["items"]["heads"] == list(KEYS)
    assert answer["items"]["rows"] == [
        [nugget[key] for key in KEYS] for nugget in source["nuggets"]
    ]
    assert not {"b", "img"} & {tag for tag, _ in page.elements}


def test_answers_are_read_from_files_and_from_several_rows(
    values: pd.DataFrame, of_answers: Report, tmp_path
) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text("\n".join(map(json.dumps, judged())), encoding="utf-8")
    by_file = ma.report(values, answers=path)
    assert by_file._data["answers"] == of_answers._data["answers"]
    questions = pd.DataFrame(
        [(qid, name, f"q{n}", n, n % 2 == 0) for name in RUNS for qid in TOPICS for n in (1, 2)],
        columns=["qid", "name", "question", "weight", "met"],
    ).assign(judge="J")
    scores = ma.answers.rubric_scores(questions)
    rubric = ma.report(scores, answers=questions)
    assert rubric._data["answers"][0][0] == {
        "text": None,
        "labels": [("judge", "J")],
        "items": {
            "heads": ["question", "weight", "met"],
            "rows": [["q1", "1", "False"], ["q2", "2", "True"]],
        },
    }
    # A text per question is not that of the answer, which may be given once.
    texts = questions.rename(columns={"question": "text"}).assign(
        answer=["A", None] * (len(questions) // 2)
    )
    other = ma.report(scores, answers=texts)
    assert other._data["answers"][0][0] == {
        **rubric._data["answers"][0][0],
        "text": "A",
        "items": {
            "heads": ["text", "weight", "met"],
            "rows": [["q1", "1", "False"], ["q2", "2", "True"]],
        },
    }
    without = ma.report(scores, answers=texts.drop(columns="answer"))
    assert without._data["answers"][0][0]["text"] is None


def test_answers_of_other_runs_and_missing_ones(values: pd.DataFrame) -> None:
    some = ma.report(values, answers=judged()[1:])
    assert some._data["answers"][0][0] is None
    assert "Answers are given for 23 of 24 pairs of a run and a topic." in some.notes
    other = [{**row, "run_id": "x"} for row in judged()]
    with pytest.raises(
        MultiAspectError, match=r"expected answers of the runs plain, .*, but x on topic t0"
    ):
        ma.report(values, answers=other)


def test_human_values(values: pd.DataFrame) -> None:
    pytest.importorskip("vl_convert")
    human = ma.answers.nugget_scores([row for row in judged(1) if row["qid"] in TOPICS[:5]])
    report = ma.report(values, human=human, baseline="plain")
    expected = prediction_powered(human, values, baseline="plain")
    pd.testing.assert_frame_equal(report.powered.table, expected.table)
    assert (
        report.notes[-1] == "The summary, values, tests and marks are based on the model's labels."
    )
    rows = Page(report.to_html()).tables["table"]
    estimate, low, high = expected.table.iloc[0][["estimate", "low", "high"]]
    shown = " ".join(rows[1][1].split()).replace("−", "-")
    assert shown.endswith(f"{estimate:.4f} [{low:.4f}, {high:.4f}]")


def test_measures_are_chosen_and_directions_declared(values: pd.DataFrame) -> None:
    report = ma.report(values, measures=["all_score", "vital_score"])
    assert report.labels == ["all_score", "vital_score"]
    lower = ma.report(values, measures={"vital_score": "lower"}, baseline="plain")
    verdicts = compare_with_baseline(values[values["measure"] == "vital_score"], "plain")
    better = lower.comparisons[lower.comparisons["baseline"] == "plain"]
    assert better["p"].tolist() == verdicts["p"].tolist()
    assert "lower is better" in lower.summary
    lowest = ma.aggregate(values).set_index("name")["vital_score"].idxmin()
    best = [
        name for name, mark in zip(RUNS, lower._data["marks"][0], strict=True) if mark == "best"
    ]
    assert best == [lowest]


def test_unknown_labels_are_warned_about_once(values: pd.DataFrame) -> None:
    unknown = pd.DataFrame(values.to_dict("list"))
    with pytest.warns(MultiAspectWarning, match=r"report: .* name no known measure"):
        ma.report(unknown)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda frame: frame.iloc[1:], {}, "plain has no strict_vital_score on topic t0"),
        (
            lambda frame: frame.assign(value=frame["value"].where(frame.index > 0)),
            {},
            "expected finite values",
        ),
        (
            lambda frame: frame,
            {"qrels": {"q": {"d": 1}}},
            "qrels: expected None, as runs is .* measures=",
        ),
        (lambda frame: frame, {"baseline": "none"}, "baseline: expected one of the runs"),
        (
            lambda frame: frame[frame["name"] == "plain"],
            {"baseline": "plain"},
            "baseline: expected systems to compare with plain, got no other one; omit it",
        ),
        (
            lambda frame: frame,
            {"aspects": ["x"]},
            "aspects: expected the scales of the criteria, got names: x",
        ),
        (lambda frame: frame, {"measures": ["none"]}, "none"),
        (
            lambda frame: {"run": {"q": {"d": 1.0}}},
            {},
            "qrels: expected the judgments of the runs, got none",
        ),
    ],
)
def test_errors(values: pd.DataFrame, change, options, message: str) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.report(change(values), **options)


def test_values_of_an_evaluation_keep_their_aspects() -> None:
    qrels = {
        q: {"d1": {"relevance": 1, "trust": 0}, "d2": {"relevance": 0, "trust": 1}}
        for q in ("q1", "q2")
    }
    runs = {"a": {q: {"d1": 2.0, "d2": 1.0} for q in qrels}, "b": {q: {"d2": 1.0} for q in qrels}}
    report = ma.report(
        runs, qrels, "CAM@10", aspects={"relevance": 1, "trust": 1}, baseline="b", progress=False
    )
    again = ma.report(report.perquery, baseline="b")
    assert again.aspects == report.aspects
    assert again.summary == report.summary
    pd.testing.assert_frame_equal(again.systems, report.systems)


@pytest.mark.slow
def test_pages_are_the_same_again(values: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    first, second = (ma.report(values, baseline="plain").to_html() for _ in range(2))
    assert first == second
    assert "1970-01-02" in Page(first).text


def test_legends_of_the_baseline_are_hidden_without_one(values: pd.DataFrame) -> None:
    pytest.importorskip("vl_convert")
    for baseline, classes in ((None, None), ("plain", "compared")):
        page = Page(ma.report(values, baseline=baseline).to_html())
        (body,) = (attributes for tag, attributes in page.elements if tag == "body")
        assert body.get("class") == classes
        hidden = [
            tag
            for tag, attributes in page.elements
            if "against" in (attributes.get("class") or "").split()
        ]
        assert hidden == ["p", "p", "span", "span"]
