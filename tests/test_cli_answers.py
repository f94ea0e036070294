"""The command ``answers``."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest
from report_world import Page
from test_report_values import judged

import pt_multiaspect as ma
from pt_multiaspect.cli import main

SCALES = '{"faithful": [1, 2, 3, 4, 5]}'


@pytest.fixture
def run(capsys):
    """Run the command; returns exit code, output and errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["answers", *arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = judged()
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    criteria = pd.DataFrame(rows)[["qid", "run_id", "answer_text", "faithful"]]
    criteria["qid"] = "0" + criteria["qid"].str[1:]
    criteria.to_csv("criteria.csv", index=False)
    criteria.to_csv("criteria.tsv", index=False, sep="\t")
    questions = [
        (row["qid"], row["run_id"], nugget["text"], 2, nugget["assignment"] == "support")
        for row in rows
        for nugget in row["nuggets"]
    ]
    pd.DataFrame(questions, columns=["qid", "name", "question", "weight", "met"]).to_csv(
        "rubric.csv", index=False
    )
    return tmp_path


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), sep="\t", dtype={"qid": str})


def test_nuggets(run, folder) -> None:
    code, out, err = run("judged.jsonl", "--interval", "mean")
    assert (code, err) == (0, "")
    expected = ma.aggregate(ma.answers.nugget_scores("judged.jsonl"), ci=0.95)
    pd.testing.assert_frame_equal(read(out), expected, check_dtype=False)


def test_criteria_keep_the_ids_of_files(run, folder) -> None:
    for file in ("criteria.csv", "criteria.tsv"):
        code, out, err = run(file, "--aspects", SCALES, "-q")
        assert (code, err) == (0, "")
        table = read(out)
        assert table["qid"].unique().tolist() == [f"0{topic}" for topic in range(8)]
        labels = [row["faithful"] for row in judged()]
        shown = table[table["measure"] == "faithful"]["value"].tolist()
        assert shown == [(label - 1) / 4 for label in labels]


def test_questions(run, folder) -> None:
    code, out, err = run("rubric.csv")
    assert (code, err) == (0, "")
    rows = pd.DataFrame(judged())
    met = rows["nuggets"].map(
        lambda nuggets: sum(n["assignment"] == "support" for n in nuggets) / 3
    )
    expected = met.groupby(rows["run_id"], sort=False).mean()
    assert read(out)["rubric"].tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("yes", "no"), [("TRUE", "FALSE"), ("true", "false"), ("True", "False"), ("1", "0")]
)
def test_truth_values_of_spreadsheets_are_read(run, folder, yes, no) -> None:
    (folder / "met.csv").write_text(f"qid,name,weight,met\nq1,a,3,{yes}\nq1,a,1,{no}\n")
    code, out, err = run("met.csv")
    assert (code, err) == (0, "")
    assert read(out)["rubric"].tolist() == [0.75]


def test_combined_criteria_in_a_report(run, folder) -> None:
    pytest.importorskip("vl_convert")
    measure = "C=CAM(aspects='vital_score,faithful')"
    code, out, err = run(
        "judged.jsonl", "--aspects", SCALES, "-m", measure, "--baseline", "plain", "-o", "r.html"
    )
    assert (code, out, err) == (0, "", "")
    page = Page((folder / "r.html").read_text(encoding="utf-8"))
    scores = ma.answers.nugget_scores("judged.jsonl")
    faithful = ma.answers.from_criteria(
        pd.DataFrame(judged()), aspects={"faithful": [1, 2, 3, 4, 5]}
    )
    values = ma.answers.combine(
        pd.concat([scores, faithful]), {"C": ma.CAM(aspects="vital_score,faithful")}
    )
    labels = [measure["label"] for measure in page.data["measures"]]
    means = ma.aggregate(values)
    assert page.data["means"] == [means[label].tolist() for label in labels]
    assert "on C (" in page.text
    assert "1, 2, 3, 4, 5 (positive" in page.text  # the scale of which the values are fractions
    assert page.data["answers"][0][0]["text"] == judged()[0]["answer_text"]


def test_tests_groups_and_estimates(run, folder) -> None:
    (folder / "groups.txt").write_text("".join(f"t{n} {'ab'[n % 2]}\n" for n in range(8)))
    code, _, _ = run("judged.jsonl", "--by", "groups.txt", "--baseline", "plain", "-o", "table.md")
    assert code == 0
    assert "Topics: a 4, b 4." in (folder / "table.md").read_text()
    (folder / "few.jsonl").write_text(
        "\n".join(json.dumps(row) for row in judged(1) if row["qid"] < "t5")
    )
    code, out, _ = run("judged.jsonl", "--human", "few.jsonl")
    assert code == 0
    scores = [ma.answers.nugget_scores(file) for file in ("few.jsonl", "judged.jsonl")]
    expected = ma.analysis.prediction_powered(*scores).table
    assert read(out)["estimate"].tolist() == pytest.approx(expected["estimate"].tolist())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["criteria.csv"], "expected a number in [0, 1] in faithful for plain on topic 00, got '"),
        (["none.csv"], "none.csv: no such file; check the path and the current directory"),
        (["empty.csv"], "answers: empty.csv: the file is empty"),
        (["some.run"], "expected answers, as one JSON object per line or as columns with a header"),
        (
            ["some.run"],
            "got the line 'q1 Q0 d1 1 2.0 x'. If it is a run or qrels, pass it to evaluate",
        ),
        (
            ["tabs.run"],
            (
                "got the columns q1, Q0, d1, 1, 2.0, x; rename one. If it is a run or qrels, pass it "
                "to"
            ),
        ),
        (
            ["run.json"],
            "got the columns q1; rename one. If it is a run or qrels, pass it to evaluate",
        ),
        (["whole.json"], "whole.json:1: expected valid JSON"),
        (["whole.json"], "object per line: write them so, as by jq -c '.[]' whole.json"),
        (
            ["cut.jsonl"],
            "answers are read from one JSON object per line: correct the line or remove it",
        ),
        (
            ["long.csv"],
            "long.csv: cannot be read: error tokenizing data. C error: expected 3 fields in line 3",
        ),
        (["twice.csv"], "answers: twice.csv: expected distinct column names, got several x"),
        (["judged.jsonl", "--baseline", "x"], "--baseline: expected one of the runs"),
        (
            ["judged.jsonl", "-q", "--interval", "mean"],
            "--interval mean applies to means: omit it, or -q",
        ),
        (["judged.jsonl", "-q", "-o", "x.html"], "-q applies to tables"),
        (
            ["judged.jsonl", "--human", "judged.jsonl", "--interval", "mean"],
            "omit --interval mean, or --human",
        ),
        (["judged.jsonl", "-o", "judged.jsonl"], "is read by this command"),
        (["judged.jsonl", "-o", "x.pdf"], "expected a file that ends in .csv, .tsv"),
        ([], "missing JUDGED... (see"),
    ],
)
def test_errors(run, folder, arguments, message) -> None:
    (folder / "empty.csv").write_text("")
    (folder / "some.run").write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\n")
    (folder / "tabs.run").write_text("q1\tQ0\td1\t1\t2.0\tx\nq1\tQ0\td2\t2\t1.0\tx\n")
    (folder / "run.json").write_text('{"q1": {"d1": 2.0, "d2": 1.0}}')
    (folder / "cut.jsonl").write_text(
        '{"qid": "q1", "name": "a", "faithful": 1}\n{"qid": "q1", "name":'
    )
    (folder / "whole.json").write_text('[\n{"qid": "q1", "name": "a", "faithful": 1}\n]\n')
    (folder / "long.csv").write_text("qid,name,x\n1,a,1\n1,b,0.5,3\n")
    (folder / "twice.csv").write_text("qid,name,x,x\n1,a,1,0\n")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message.lower() in err.lower()
    assert err.count("\n") == 1


@pytest.fixture
def labels_of_two_judges(folder) -> str:
    """A file of the labels of x and y on a scale from 1 to 5, of the answers of a and b."""
    labels = {("q1", "a"): (2, 3), ("q1", "b"): (5, 4), ("q2", "a"): (1, 1), ("q2", "b"): (4, 5)}
    rows = []
    for (qid, name), (label_of_x, label_of_y) in labels.items():
        rows.append((qid, name, "fluent", "x", label_of_x))
        rows.append((qid, name, "fluent", "y", label_of_y))
    columns = ["topic", "system", "criterion", "judge", "score"]
    pd.DataFrame(rows, columns=columns).to_csv("long.csv", index=False)
    return "long.csv"


def test_answers_of_judges_are_described_and_scored(run, labels_of_two_judges, capsys) -> None:
    """The scales that describe proposes are those that answers needs."""
    options = ["--answers", labels_of_two_judges, "--write-aspects", "scales.json"]
    assert main(["describe", *options]) == 0
    counts = "4 judged answers, 8 judgments by 2 judges, 2 topics, 1 aspect"
    assert counts in capsys.readouterr().out

    code, out, err = run(labels_of_two_judges, "--aspects", "scales.json")
    assert (code, err) == (0, "")
    # a has the labels 2, 3, 1 and 1, b has 5, 4, 4 and 5; 1 is the value 0, and 5 the value 1.
    of_a = (1 / 4 + 2 / 4 + 0 + 0) / 4
    of_b = (4 / 4 + 3 / 4 + 3 / 4 + 4 / 4) / 4
    assert read(out)["fluent"].tolist() == [of_a, of_b]


@pytest.mark.parametrize("others", [["--qrels", "relevance=long.csv"], ["-m", "AP"], ["long.csv"]])
def test_answers_are_described_without_qrels_runs_and_measures(
    others, labels_of_two_judges, capsys
) -> None:
    assert main(["describe", "--answers", labels_of_two_judges, *others]) == 2
    assert "--answers takes the place of --qrels, runs and measures" in capsys.readouterr().err


def test_codes_of_surveys_are_written_as_codes(folder, capsys) -> None:
    """Judges write 9 for 'I don't know' on grades 1 to 5."""
    labels = [1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 9]
    rows = [(f"q{number}", "a", label) for number, label in enumerate(labels)]
    pd.DataFrame(rows, columns=["qid", "name", "fluent"]).to_csv("coded.csv", index=False)
    assert main(["describe", "--answers", "coded.csv", "--write-aspects", "scales.json"]) == 0
    assert "9 is outside of the other labels, 1 to 5" in " ".join(capsys.readouterr().out.split())
    scales = json.loads((folder / "scales.json").read_text(encoding="utf-8"))
    assert scales["aspects"] == {"fluent": {"grades": [1, 2, 3, 4, 5], "unjudged": [9]}}
    assert main(["answers", "coded.csv", "--aspects", "scales.json"]) == 0
    assert read(capsys.readouterr().out)["fluent"].tolist() == [0.5]
