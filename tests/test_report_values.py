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
    """Means, intervals and p-values in the page are those of `aggregate` and `compare_with_baseline`."""
    pytest.importorskip("vl_convert")
    groups = dict.fromkeys(TOPICS[:4], "a") | dict.fromkeys(TOPICS[4:], "b")
    report = ma.report(values, baseline="plain", answers=judged(), by=groups)
    data = Page(report.to_html()).data

    labels = values["measure"].unique().tolist()
    assert [measure["label"] for measure in data["measures"]] == labels
    assert data["runs"] == list(RUNS)
    assert [group["group"] for group in data["groups"]] == ["a", "b"]

    expected = ma.aggregate(values, ci=0.95)
    for measure, label in enumerate(labels):
        assert data["means"][measure] == expected[label].tolist()
        low, high = data["ends"][measure]
        assert low == expected[f"{label} 95% low"].tolist()
        assert high == expected[f"{label} 95% high"].tolist()

    baseline = RUNS.index("plain")
    for test in compare_with_baseline(values, "plain").itertuples():
        measure, run = labels.index(test.measure), RUNS.index(test.name)
        p_value = data["tests"]["p"][measure][baseline][run]
        assert p_value == pytest.approx(test.p, rel=1e-5)

    assert report.description is None  # without judgments of documents
    assert "all" not in str(report).splitlines()


def test_answers_are_shown_as_texts(of_answers: Report) -> None:
    """The answer of the second run to the third topic, whose text contains HTML."""
    pytest.importorskip("vl_convert")
    run, topic = 1, 2
    (source,) = [
        answer
        for answer in judged()
        if (answer["run_id"], answer["qid"]) == (RUNS[run], TOPICS[topic])
    ]
    page = Page(of_answers.to_html())
    answer = page.data["answers"][run][topic]
    assert answer["text"] == source["answer_text"]
    assert answer["labels"] == [["faithful", str(source["faithful"])]]
    assert answer["items"]["heads"] == list(KEYS)
    expected_rows = [[nugget[key] for key in KEYS] for nugget in source["nuggets"]]
    assert answer["items"]["rows"] == expected_rows

    tags = {tag for tag, _ in page.elements}
    assert "b" not in tags  # that of the text
    assert "img" not in tags


def test_answers_are_read_from_files(values: pd.DataFrame, of_answers: Report, tmp_path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text("\n".join(map(json.dumps, judged())), encoding="utf-8")
    by_file = ma.report(values, answers=path)
    assert by_file._data["answers"] == of_answers._data["answers"]


def rubric_of_answers() -> pd.DataFrame:
    """A row for each of two questions about each answer, of which the second is met; the judge is J."""
    rows = []
    for name in RUNS:
        for qid in TOPICS:
            rows.append((qid, name, "q1", 1, False, "J"))
            rows.append((qid, name, "q2", 2, True, "J"))
    return pd.DataFrame(rows, columns=["qid", "name", "question", "weight", "met", "judge"])


def first_answer(scores: pd.DataFrame, answers: pd.DataFrame) -> dict[str, object]:
    """What a report shows of the answer of the first run to the first topic."""
    return ma.report(scores, answers=answers)._data["answers"][0][0]


def test_answers_are_read_from_several_rows() -> None:
    """What differs between the rows of an answer is a table, what does not is a label of the answer."""
    rubric = rubric_of_answers()
    scores = ma.answers.rubric_scores(rubric)
    assert first_answer(scores, rubric) == {
        "text": None,
        "labels": [("judge", "J")],
        "items": {
            "heads": ["question", "weight", "met"],
            "rows": [["q1", "1", "False"], ["q2", "2", "True"]],
        },
    }


def test_the_text_of_an_answer_may_be_in_one_of_its_rows() -> None:
    """A column text that differs between the rows has the questions, not the answer."""
    rubric = rubric_of_answers()
    scores = ma.answers.rubric_scores(rubric)
    questions = rubric.rename(columns={"question": "text"})
    items = {
        "heads": ["text", "weight", "met"],
        "rows": [["q1", "1", "False"], ["q2", "2", "True"]],
    }
    without_answers = first_answer(scores, questions)
    assert without_answers["text"] is None

    in_the_first_row = questions["text"].map({"q1": "the answer", "q2": None})
    shown = first_answer(scores, questions.assign(answer=in_the_first_row))
    assert shown == {"text": "the answer", "labels": [("judge", "J")], "items": items}


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
    """A frame as from a file does not record that its values are scores of answers."""
    without_record = values.copy()
    without_record.attrs = {}
    with pytest.warns(MultiAspectWarning, match=r"report: .* name no known measure") as caught:
        ma.report(without_record)
    messages = [str(warning.message) for warning in caught]
    assert sum("name no known measure" in message for message in messages) == 1


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


@pytest.mark.parametrize(
    ("baseline", "class_of_body"),
    [pytest.param(None, None, id="hidden"), pytest.param("plain", "compared", id="shown")],
)
def test_legends_of_the_baseline_are_hidden_without_one(
    values: pd.DataFrame, baseline: str | None, class_of_body: str | None
) -> None:
    """The style shows elements of the class "against" only if the body has the class "compared".

    They are in the page anyway, as readers can choose another baseline.
    """
    pytest.importorskip("vl_convert")
    page = Page(ma.report(values, baseline=baseline).to_html())
    (body,) = [attributes for tag, attributes in page.elements if tag == "body"]
    assert body.get("class") == class_of_body
    legends = []
    for tag, attributes in page.elements:
        classes = attributes.get("class") or ""
        if "against" in classes.split():
            legends.append(tag)
    assert legends == ["p", "p", "span", "span"]
