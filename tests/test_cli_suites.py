"""Suites and their topics on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.cli import main
from pt_multiaspect.suites.catalogue import NOT_OFFERED, SUITES

LABELS = {  # relevance, correctness
    "q1": {"d1": (2, 2), "d2": (1, 0), "d3": (0, -1)},
    "q2": {"d1": (1, 2), "d2": (0, -1)},
    "q3": {"d1": (0, -1)},
    "q4": {"d1": (1, 2), "d2": (2, 0)},
}
RUNS = {
    "one.run": {"q1": ["d2", "d1", "d3"], "q2": ["d2", "d1"], "q3": ["d1"], "q4": ["d2", "d1"]},
    "two.run": {"q1": ["d1", "d3", "d2"], "q2": ["d1"], "q3": ["d1"], "q4": ["d1"]},
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with judgments and runs, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for index, aspect in enumerate(("relevance", "correctness")):
        lines = [
            f"{qid} 0 {d} {both[index]}\n"
            for qid, judged in LABELS.items()
            for d, both in judged.items()
        ]
        Path(f"{aspect}.qrels").write_text("".join(lines))
    for name, run in RUNS.items():
        lines = [
            f"{q} Q0 {d} {at} {-at} x\n"
            for q, docnos in run.items()
            for at, d in enumerate(docnos, 1)
        ]
        Path(name).write_text("".join(lines))
    return tmp_path


QRELS = ["--qrels", "relevance=relevance.qrels", "correctness=correctness.qrels"]


def table(capsys: pytest.CaptureFixture[str], *arguments: str) -> pd.DataFrame:
    code = main([*arguments, "-o", "table.csv"])
    assert code == 0, capsys.readouterr().err
    return pd.read_csv("table.csv")


def values(suite: object, **kwargs: object) -> pd.DataFrame:
    qrels = ma.read_qrels({aspect: f"{aspect}.qrels" for aspect in ("relevance", "correctness")})
    return ma.evaluate(
        {Path(run).stem: run for run in RUNS}, qrels, suite, progress=False, **kwargs
    )


SUITE = ["--suite", "trec-misinfo-2022"]


def test_evaluate_a_suite(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The means of a measure are over the topics with a document that counts for it, or over all judged."""
    suite = ma.suite("trec-misinfo-2022")
    means = table(capsys, "evaluate", *QRELS, *SUITE, *RUNS)
    pd.testing.assert_frame_equal(means, ma.aggregate(values(suite)))
    over_judged = table(capsys, "evaluate", *QRELS, *SUITE, "--average-over", "judged", *RUNS)
    expected = ma.aggregate(values(suite, average_over="judged"))
    pd.testing.assert_frame_equal(over_judged, expected)
    assert (over_judged["nDCG useful"] < means["nDCG useful"]).all()


def test_compare_runs_by_a_suite(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    means = table(capsys, "evaluate", *QRELS, *SUITE, "--baseline", "one.run", *RUNS)
    wins = means.set_index("name")["harmful compatibility +"]
    assert wins["two"] == 2  # the topics on which it is better than one


def test_topics_of_a_suite(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    perquery = table(capsys, "evaluate", *QRELS, *SUITE, "-q", *RUNS)
    of_measure = perquery[perquery["measure"] == "P@10 useful and incorrect"]
    for _name, rows in of_measure.groupby("name"):
        # The topics with a document whose relevance is above 0 and whose correctness is 0.
        assert sorted(rows["qid"].unique()) == ["q1", "q4"]


def test_tables_of_a_suite_say_over_how_many_topics(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *QRELS, *SUITE, *RUNS, "-o", "table.tex"]) == 0
    assert "of 4 judged: nDCG useful 3" in Path("table.tex").read_text()
    main(["evaluate", *QRELS, *SUITE, *RUNS, "--format", "md"])
    text = capsys.readouterr().out
    counts = "nDCG useful 3, P@10 useful and correct 3, P@10 useful and incorrect 2"
    assert f"of 4 judged: {counts}" in text
    # Where to read about differences from the track.
    assert "pt-multiaspect measures --suites trec-misinfo-2022" in text


def test_measures_beside_a_suite_and_of_it(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = ma.suite("trec-misinfo-2022")
    means = table(capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "-m", "AP", *RUNS)
    assert list(means.columns) == ["name", *suite, "AP"]
    label = "P@10 useful and incorrect"
    some = table(
        capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "-m", label, "-m", "AP", *RUNS
    )
    assert list(some.columns) == ["name", label, "AP"]
    assert some[label].tolist() == means[label].tolist() == [0.1, 0.05]  # of q1 and q4
    main(
        ["explain", *QRELS, "--suite", "trec-misinfo-2022", "-m", label, "--query", "q1", "one.run"]
    )
    assert "P@10 useful and incorrect" in capsys.readouterr().out


@pytest.mark.slow
def test_other_commands_take_suites(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "trec-misinfo-2022"
    compared = table(capsys, "compare", *QRELS, "--suite", name, *RUNS)
    assert compared["measure"].tolist() == list(ma.suite(name))
    harmful = compared.set_index("measure").loc["harmful compatibility"]
    assert harmful["wins"] == 2  # lower is better
    assert harmful["difference"] < 0
    assert main(["correlate", *QRELS, "--suite", name, *RUNS]) == 2
    assert "measures have different sets of topics" in capsys.readouterr().err
    correlated = table(
        capsys, "correlate", *QRELS, "--suite", name, "-m", "nDCG useful", "-m", "AP", *RUNS
    )
    assert correlated["measure"].tolist() == ["nDCG useful", "AP"]
    assert main(["describe", *QRELS, "--suite", name]) == 0
    assert "P@10 useful and incorrect" in capsys.readouterr().out


def test_the_recommended_suite_takes_the_scales(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scales = '{"relevance": 2, "correctness": {"grades": [-1, 0, 1, 2]}}'
    means = table(capsys, "evaluate", *QRELS, "--suite", "multi-aspect", "--aspects", scales, *RUNS)
    suite = ma.suite("multi-aspect", aspects=json.loads(scales))
    pd.testing.assert_frame_equal(means, ma.aggregate(values(suite)))


JUDGED_2021 = {  # usefulness, supportiveness, credibility
    "101": {"d1": (2, 2, 1), "d2": (1, 0, 2), "d3": (0, -1, -1)},
    "102": {"d1": (1, 0, 0), "d2": (1, 2, 1), "d3": (0, -2, -2)},
}
OFFICIAL = "qrels.2021"
AS_2021 = [
    "--qrels",
    f"relevance,supportiveness,credibility={OFFICIAL}",
    "--suite",
    "trec-misinfo-2021",
]


@pytest.fixture
def misinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The qrels of the track of 2021 as they are published, with the stances of the topics and a run."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (qid, docno, *labels)
        for qid, judged in JUDGED_2021.items()
        for docno, labels in judged.items()
    ]
    Path(OFFICIAL).write_text(
        "".join(f"{qid} 0 {docno} {u} {s} {c}\n" for qid, docno, u, s, c in rows)
    )
    Path("stances.txt").write_text("101 helpful\n102\tUnhelpful\n103 helpful\n")
    Path("x.run").write_text(
        "".join(f"{qid} Q0 {docno} 1 {docno[1]} x\n" for qid, docno, *_ in rows)
    )
    return tmp_path


def test_stances_make_correctness_of_supportiveness(
    misinfo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What supports an unhelpful treatment is incorrect; stances.txt has the stance of each topic."""
    qrels = ma.read_qrels(OFFICIAL, aspects=["relevance", "supportiveness", "credibility"])
    stances = {"101": "helpful", "102": "unhelpful"}
    qrels["correctness"] = ma.orders.correctness(qrels, stances, 2021)
    expected = ma.evaluate(["x.run"], qrels, ma.suite("trec-misinfo-2021"), progress=False)
    suite = ["--suite", "trec-misinfo-2021"]

    columns = ["--qrels", f"relevance,supportiveness,credibility={OFFICIAL}"]
    means = table(capsys, "evaluate", *columns, *suite, "--stances", "stances.txt", "x.run")
    pd.testing.assert_frame_equal(means, ma.aggregate(expected))

    # Supportiveness is not correctness: on topic 102, they are opposite.
    misnamed = ["--qrels", f"relevance,correctness,credibility={OFFICIAL}"]
    assert not table(capsys, "evaluate", *misnamed, *suite, "x.run").equals(means)


def test_stances_without_a_suite(misinfo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = ["--qrels", f"relevance,supportiveness,credibility={OFFICIAL}"]
    options = ["--stances", "stances.txt", "-m", "NumRet"]
    means = table(capsys, "evaluate", *columns, *options, "x.run")
    assert means["NumRet"].tolist() == [6]  # the documents of the run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            AS_2021,
            "the qrels have supportiveness, whose meaning depends on the topic: add --stances FILE",
        ),
        (
            [*AS_2021, "--stances", "two.txt"],
            "error: --stances: expected one stance of topic 101, got helpful and unhelpful",
        ),
        (
            [*AS_2021, "--stances", "short.txt"],
            (
                "error: --stances: expected an answer for every topic of the qrels, got none for 102 "
                "(1 topic);"
            ),
        ),
        (
            [*AS_2021, "--stances", "lone.txt"],
            "error: --stances: lone.txt:1: expected a query id, a blank and the name of its stance",
        ),
        ([*AS_2021, "--stances", "answers.txt"], "expected answers (helpful, unhelpful), got yes"),
        ([*AS_2021, "--stances", "missing.txt"], "error: --stances: missing.txt: no such file"),
        (
            [
                "--qrels",
                f"relevance,correctness,credibility={OFFICIAL}",
                *AS_2021[2:],
                "--stances",
                "stances.txt",
            ],
            "--stances has no effect: the qrels have correctness already",
        ),
        (
            [
                "--qrels",
                f"relevance,credibility,x={OFFICIAL}",
                "-m",
                "AP",
                "--stances",
                "stances.txt",
            ],
            "expected a column 'supportiveness'",
        ),
    ],
)
def test_bad_stances(
    misinfo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("two.txt").write_text("101 helpful\n102 helpful\n101 unhelpful\n")
    Path("short.txt").write_text("101 helpful\n")
    Path("lone.txt").write_text("101\n")
    Path("answers.txt").write_text("101 yes\n102 no\n")
    assert main(["evaluate", *arguments, "x.run"]) in (1, 2)
    assert message in capsys.readouterr().err


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "missing measures: give -m MEASURE or --suite NAME"),
        (["--suite", "trec-misinfo-2023"], "got trec-misinfo-2023"),
        (["--suite", "clef-ehealth-2017"], "the persistence of RBP"),
        (["--suite", "multi-aspect"], "requires --aspects, the label scales"),
        (
            ["--suite", "trec-misinfo-2022", "--aspects", '{"relevance": 2, "correctness": 2}'],
            "declares its own label scales: omit --aspects",
        ),
        (
            ["--suite", "trec-misinfo-2022", "-m", "'nDCG useful'=AP"],
            "is the name of a measure of the suite",
        ),
        (["-m", "NLRE", "--average-over", "positive"], "use --average-over judged"),
    ],
)
def test_errors(
    files: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["evaluate", *QRELS, *options, "one.run"]) == 2
    assert message in capsys.readouterr().err


def test_measures_lists_suites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "--suites"]) == 0
    text = capsys.readouterr().out
    for name in (*SUITES, *NOT_OFFERED):
        assert name in text
    assert "(requires --aspects)" in text
    for name in SUITES:
        assert main(["measures", "--suites", name]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"{name}: ")
    assert main(["measures", "--suites", "trec-misinfo-2021"]) == 0
    assert capsys.readouterr().out == f"{ma.suite('trec-misinfo-2021')}\n"
    assert main(["measures", "--suites", "trec-decision-2019"]) == 2
    assert "there is no suite for trec-decision-2019" in capsys.readouterr().err
