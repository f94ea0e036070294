"""The commands beside `evaluate`."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from printed_tables import read_table
from shared_data import shared_path

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    Aspects,
    On,
    aggregate,
    analysis,
    datasets,
    describe,
    evaluate,
    explain,
    read_qrels,
    read_run,
)
from pt_multiaspect.cli import main
from pt_multiaspect.cli.program import program
from pt_multiaspect.datasets import load_health
from pt_multiaspect.errors import messages_for_shell
from pt_multiaspect.integration.measure_lists import parse_list
from pt_multiaspect.measures import ALL

QRELS = {aspect: f"{aspect}.txt" for aspect in ("relevance", "credibility")}
MEASURES = "CAM@3 ESL(wanted=1) TOMA@5=TOMA(gate=relevance)@5"
SCALED = ("-m", MEASURES, "--aspects", "scales.json")


def read(text: str) -> pd.DataFrame:
    return read_table(text, "\t")


def perquery(runs) -> pd.DataFrame:
    """The values of the measures, with the declared scales."""
    scales = Aspects.from_file("scales.json")
    from pt_multiaspect import CAM, ESL, TOMA

    measures = {
        "CAM@3": CAM(aspects=scales) @ 3,
        "ESL(wanted=1)": ESL(wanted=1).on("relevance", scales),
        "TOMA@5": TOMA(gate="relevance", aspects=scales) @ 5,
    }
    paths = {run: f"runs/{run.removesuffix('.run')}.run" for run in runs}
    return evaluate(paths, read_qrels(QRELS), measures, progress=False)


# -- describe
# -----------------------------------------------------------------------------------------------


def test_describe_prints_the_report(cli, trec_files):
    code, out, err = cli("describe", "-m", "TOMA AP", "runs")
    assert (code, err) == (0, "")
    runs = {path.stem: path for path in sorted((trec_files / "runs").iterdir())}
    expected = describe(read_qrels(QRELS), runs=runs, measures=["TOMA", "AP"])
    with messages_for_shell({}):
        assert out == f"{expected}\n"
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = cli(
        "describe", "--aspects", "scales.json", "--contingency", "relevance", "credibility"
    )
    assert code == 0
    assert [line.split() for line in out.splitlines()[:2]] == [
        ["credibility"],
        ["relevance", *"0123"],
    ]
    counts = [int(count) for line in out.splitlines()[2:] for count in line.split()[1:]]
    assert sum(counts) == 48


@pytest.mark.parametrize("suffix", ["html", "txt"])
def test_describe_writes_a_file(cli, trec_files, suffix):
    code, out, _ = cli("describe", "-o", f"report.{suffix}")
    assert (code, out) == (0, "")
    text = (trec_files / f"report.{suffix}").read_text(encoding="utf-8")
    assert text.startswith({"html": "<!DOCTYPE html>", "txt": "48 judged documents"}[suffix])


@pytest.mark.slow
def test_the_scales_that_describe_writes_are_what_evaluate_reads(cli, trec_files):
    code, _, err = cli("describe", "--write-aspects", "inferred.json")
    assert code == 0
    assert "wrote the scales to inferred.json; check them" in err
    assert Aspects.from_file("inferred.json") == Aspects(
        describe(read_qrels(QRELS)).proposed, name="inferred"
    )
    gated = "TOMA(gate=relevance)@5"
    code, out, err = cli("evaluate", "-m", gated, "--aspects", "inferred.json", "runs")
    assert (code, err) == (0, "")
    code, inferred, err = cli("evaluate", "-m", gated, "runs")
    assert "depends on the label scales, which were inferred" in err
    assert inferred == out


def test_edited_scales_are_not_replaced(cli, trec_files):
    file = trec_files / "new.json"
    for _ in range(2):  # the second time, the file has the same scales
        code, _, err = cli("describe", "--write-aspects", "new.json")
        assert (code, "warning" in err) == (0, False)
    for content in ('{"relevance": 5, "credibility": 5}', "{relevance: 5"):
        file.write_text(content)
        code, _, err = cli("describe", "--write-aspects", "new.json")
        assert code == 2
        assert "--write-aspects: new.json exists and has" in err
        assert "write to another file, or remove it" in err
        assert file.read_text() == content


@pytest.mark.parametrize("apart", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_values_are_read_without_the_name_of_their_scales(cli, trec_files, monkeypatch, apart):
    """In another process, On(base='ESL',aspects='unseen') is no measure, and the direction of ESL would be lost."""
    assert cli("describe", "--write-aspects", "unseen.json")[0] == 0
    options = ["-m", "ESL", "CAM@3", "--aspects", "unseen.json", "runs"]
    assert cli("evaluate", *options, "-q", "-o", "values.csv")[0] == 0
    assert cli("evaluate", *options, "-q", "-o", "values.parquet")[0] == 0
    for path in ("values.csv", "values.parquet"):
        recorded = ma.read_values(path).attrs["measures"]
        assert not any("unseen" in str(measure) for measure in recorded.values())
        assert {
            label: ma.integration.parsing.parse(str(text))[0].NAME
            for label, text in recorded.items()
        } == {
            "ESL": "On",
            "CAM@3": "CAM",
        }
    if not apart:
        monkeypatch.setattr(Aspects.registry, "_content", {})
        for path in ("values.csv", "values.parquet"):
            assert "ESL ↓" in str(ma.systems_table(ma.read_values(path)))
        return
    code = (
        "import warnings; import pt_multiaspect as ma; warnings.simplefilter('error', "
        "ma.MultiAspectWarning)\n"
        "for path in ('values.csv', 'values.parquet'): "
        "print(ma.systems_table(ma.read_values(path)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("ESL ↓") == 2


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("scales of 2021.v2.json", "scales-of-2021.v2"),
        ("2021.json", "scales-2021"),
        ("-x.json", "scales--x"),
        ("credibility.json", "credibility-scales"),
        ("label", "label-scales"),
        (".json", "scales-.json"),
    ],
)
def test_scales_are_named_after_their_file(cli, file, name):
    code, _, err = cli("describe", f"--write-aspects={file}")
    assert (code, "warning" in err) == (0, False)
    assert Aspects.from_file(file).name == name
    assert cli("evaluate", "-m", "CAM@3", "--aspects", f"./{file}", "runs")[::2] == (0, "")


def test_tables_name_the_scales_and_list_them_once(cli, trec_files):
    (trec_files / "b").mkdir()
    assert cli("describe", "--write-aspects", "plain.json")[0] == 0
    assert cli("describe", "--aspects", "plain.json", "--write-aspects", "b/kept.json")[0] == 0
    assert Path("b/kept.json").read_text() == Path("plain.json").read_text()
    options = [
        "-m",
        "CAM@3",
        "TOMA(gate=relevance)@3",
        "MM@3",
        "--aspects",
        "plain.json",
        "--notes",
        "full",
        "runs",
    ]
    for format in ("table", "md", "tex"):
        code, out, err = cli("evaluate", *options, "--format", format)
        assert (code, err) == (0, "")
        assert out.count("plain:") == 1
        assert out.count("{'") == out.count("[0") == out.count(r"\{") == 0
    # That a file of other scales has the same name is no reason for a warning.
    declared = '{"version": 1, "name": "same", "aspects": {"relevance": 2, "credibility": 1000}}'
    (trec_files / "same.json").write_text(declared)
    code, _, err = cli("describe", "--aspects", "same.json", "--write-aspects", "b/same.json")
    assert (code, "warning" in err) == (0, False)
    first, second = (Aspects.registry.get("same"), json.loads(Path("b/same.json").read_text()))
    assert second["name"] == "same"
    assert first.to_json() != json.dumps(second["aspects"])


@pytest.mark.slow
def test_what_describe_proposes_is_what_it_writes(cli, trec_files):
    """It wrote the scales as they were inferred, and each remedy undid the others."""
    text = (trec_files / "relevance.txt").read_text()
    (trec_files / "coded.txt").write_text(text.replace(" 2\n", " 99\n", 1).replace(" 0 ", " 0 ", 1))
    credibility = [
        line.rsplit(" ", 1) for line in (trec_files / "credibility.txt").read_text().splitlines()
    ]
    (trec_files / "above.txt").write_text(
        "\n".join(f"{pair} {int(label) + 1}" for pair, label in credibility)
    )
    (trec_files / "same.txt").write_text("\n".join(f"{pair} 1" for pair, label in credibility))
    qrels = ("relevance=coded.txt", "credibility=above.txt", "it's=same.txt")
    code, out, err = cli("describe", "--write-aspects", "proposed.json", qrels=qrels)
    assert code == 0
    assert "wrote the scales to proposed.json without it's; check them" in err
    assert "99, may be a code" in out
    assert "no label of credibility is 0" in " ".join(out.split())
    assert (
        out.count("declare the scales as below") == 4
    )  # a scale of 100 grades has no threshold either
    option = out[out.index("--aspects '") :].partition("\n\n")[0]
    (declaration,) = shlex.split(option.removeprefix("--aspects "))
    assert Aspects(json.loads(declaration), name="proposed") == Aspects.from_file("proposed.json")
    for scales in ("proposed.json", declaration):
        _, again, err = cli("describe", "--aspects", scales, qrels=qrels)
        assert "declare the scales" not in again
        assert "may be a code" not in again
        assert "is 0, but" not in again
    code, out, _ = cli("describe", "-o", "report.html", qrels=qrels)
    assert "--aspects '{" in html.unescape((trec_files / "report.html").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_scales_are_the_same_json_in_a_file_and_in_the_command(cli, trec_files):
    scales = '{"relevance": 2, "credibility": {"grades": 10, "threshold": 5}}'
    (trec_files / "plain.txt").write_text(scales)
    measures = ("-m", "CAM(base=AP) TOMA(gate=relevance)", "runs")
    code, out, err = cli("evaluate", "--aspects", scales, *measures)
    assert (code, err) == (0, "")
    assert cli("evaluate", "--aspects", "plain.txt", *measures) == (0, out, "")
    assert out != cli("evaluate", "--aspects", "scales.json", *measures)[1]
    written = (trec_files / "scales.json").read_text()
    assert cli("evaluate", "--aspects", written, *measures) == cli(
        "evaluate", "--aspects", "scales.json", *measures
    )
    help_text = " ".join(cli("--help", qrels=())[1].split())
    assert '{"relevance": 2, "effort": {"grades": 10, "threshold": 5}}' in help_text


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["-o", "report.pdf"], "ends in .html, .txt"),
        (["--contingency", "relevance", "cost"], "cost"),
        (["--aspects", "none.json"], "no such file"),
        (["empty/*.run"], "no file matches"),
    ],
)
def test_describe_says_what_is_wrong(cli, options, part):
    code, out, err = cli("describe", *options)
    assert (code, out) == (2, "")
    assert part in err


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ("CAM(aspects=['relevance', 'nowhere'])", "no column for the aspect nowhere"),
        ("CAM(base='P')", "the base P is incomplete"),
        ("CAM(aspects={'relevance': 1})", "invalid relevance label 2"),
        ("CAM(base=\"nDCG(dcg='exp-log2',judged_only=True)@3\")", "ir-measures cannot compute"),
        ("alpha_nDCG@20", "expected qrels with a column of subtopics"),
    ],
)
def test_describe_fails_for_a_measure_that_cannot_be_computed(cli, measure, reason):
    """The report said so, and the exit code was 0."""
    code, out, err = cli("describe", "-m", measure, "-m", "other=AP")
    assert code == 1
    assert "cannot be computed" in " ".join(out.split())
    assert err.startswith(f"pt-multiaspect: error: {measure} cannot be computed: ")
    assert reason in err
    assert err.count("\n") == 1
    assert cli("describe", "-m", "other=AP")[::2] == (0, "")


# -- compare
# ------------------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_rounding_errors_are_ties_and_small_differences_are_not(
    tmp_path, monkeypatch, capsys, command
):
    """The fractions .1, .2 and .3 of three aspects have another sum in another order."""
    monkeypatch.chdir(tmp_path)
    n_positive = {"first": (1, 2, 3), "second": (3, 2, 1)}
    for aspect, name in enumerate("abc"):
        rows = [
            f"1 0 {run}{at} {int(at < n[aspect])}\n"
            for run, n in n_positive.items()
            for at in range(10)
        ]
        (tmp_path / name).write_text(
            "".join([*rows, *(f"2 0 d{at} {int(at == 0)}\n" for at in range(30))])
        )
    for run, rank in (("first", 28), ("second", 29)):
        ranked = [f"1 Q0 {run}{at} {at} {-at} x\n" for at in range(10)]
        docnos = [("d0" if at == rank else f"new{at}") for at in range(30)]
        (tmp_path / run).write_text(
            "".join([*ranked, *(f"2 Q0 {d} 1 {-at} x\n" for at, d in enumerate(docnos))])
        )
    measures = ["mean=CAM(base=P@10)", "deep=On(base=RBP(p=0.5),aspect=a)"]
    options = [
        "--aspects",
        '{"a": 1, "b": 1, "c": 1}',
        *(part for text in measures for part in ("-m", text)),
    ]
    compared = ["--baseline", "first"] if command == "evaluate" else []
    qrels = ["--qrels", "a=a", "b=b", "c=c"]
    code = main([command, *qrels, *options, *compared, "-o", "table.json", "first", "second"])
    assert code == 0, capsys.readouterr().err
    rows = json.loads((tmp_path / "table.json").read_text())
    values = evaluate(
        ["first", "second"], read_qrels({name: name for name in "abc"}),
        {"mean": CAM(base="P@10", aspects=dict.fromkeys("abc", 1))}, progress=False,
    )  # fmt: skip
    first, second = values.loc[values["qid"] == "1", "value"]
    assert 0 < abs(first - second) < 1e-15
    if command == "compare":
        counts = {row["measure"]: (row["wins"], row["losses"], row["ties"]) for row in rows}
        assert counts == {"mean": (0, 0, 2), "deep": (1, 1, 0)}
    else:
        assert [(rows[1][f"{label} +"], rows[1][f"{label} -"]) for label in ("mean", "deep")] == [
            (0, 0),
            (1, 1),
        ]


def test_compare_shows_both_runs(cli, monkeypatch):
    monkeypatch.setattr("pt_multiaspect.cli.compare.ALPHA", 0.2)
    code, out, err = cli("compare", *SCALED, "runs/beta.run", "runs/delta.run")
    assert (code, err) == (0, "")
    table = read(out).set_index("measure")
    values = perquery(["beta", "delta"])
    means = aggregate(values).set_index("name")
    tests = analysis.compare_with_baseline(values, "beta", correction=None, alpha=0.2).set_index(
        "measure"
    )
    for measure, row in table.iterrows():
        test, sign = tests.loc[measure], -1 if measure.startswith("ESL") else 1
        assert row["beta"] == means.loc["beta", measure]
        assert row["delta"] == means.loc["delta", measure]
        assert row["difference"] == pytest.approx(test["difference"], abs=1e-12)
        assert row["p-value"] == test["p"]
        assert row["verdict"] == (
            ""
            if not test["significant"]
            else "better"
            if sign * test["difference"] > 0
            else "worse"
        )
        wide = values[values["measure"] == measure].pivot(
            index="qid", columns="name", values="value"
        )
        gains = sign * (wide["delta"] - wide["beta"])
        assert row[["wins", "losses", "ties"]].tolist() == [
            (gains > 0).sum(),
            (gains < 0).sum(),
            (gains == 0).sum(),
        ]
    assert "worse" in set(table["verdict"])


def test_compare_names_both_runs_of_the_difference(cli, trec_files):
    """It was the second minus the first, and in Python the first minus the second, under one head."""
    runs = ["runs/beta.run", "new=runs/delta.run"]
    for options in ([], ["-q"]):
        assert cli("compare", *SCALED, *options, "-o", "table.md", *runs)[0] == 0
        head, *_ = (trec_files / "table.md").read_text().splitlines()
        assert "| beta.run | new | new - beta.run |" in head
    table = read(cli("compare", *SCALED, "-q", "--top", "1", *runs)[1]).set_index("measure")
    values = perquery(["beta.run", "delta.run"])
    for measure in table.index:
        reverse = ma.largest_differences(values, "delta.run", "beta.run", measure, n=1)
        assert table.loc[measure, "difference"] == reverse["difference"].item()


def test_compare_puts_the_largest_differences_first(cli):
    code, out, _ = cli("compare", *SCALED, "-q", "runs/beta.run", "new=runs/delta.run")
    assert code == 0
    table = read(out)
    values = perquery(["beta.run", "delta.run"]).set_index(["measure", "qid", "name"])["value"]
    for measure, rows in table.groupby("measure"):
        assert len(rows) == 6
        assert rows["difference"].abs().is_monotonic_decreasing
        for row in rows.to_dict("records"):
            assert row["beta.run"] == values[measure, row["qid"], "beta.run"]
            assert row["difference"] == row["new"] - row["beta.run"]
    top = read(
        cli("compare", *SCALED, "-q", "--top", "2", "runs/beta.run", "new=runs/delta.run")[1]
    )
    pd.testing.assert_frame_equal(
        top, table.groupby("measure", sort=False).head(2).reset_index(drop=True)
    )


def test_compare_takes_a_directory_of_two_runs(cli, trec_files):
    (trec_files / "two").mkdir()
    for name in ("beta", "delta"):
        shutil.copy(f"runs/{name}.run", f"two/{name}.run")
    options = ["-m", "AP"]
    code, of_directory, err = cli("compare", *options, "two/")
    assert (code, err) == (0, "")
    _, of_files, _ = cli("compare", *options, "runs/beta.run", "runs/delta.run")
    assert of_directory == of_files


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (
            ["runs/beta.run"],
            "error: expected two runs, got 1: beta.run; give two files (see 'pt-multiaspect compare --help')",
        ),
        ([], "expected two runs, got none; give two files (see 'pt-multiaspect compare --help')"),
        (["runs/beta.run", "runs/delta.run", "runs/alpha.run"], "expected two runs, got 3"),
        (["runs/beta.run", "runs"], "given twice"),
        (["runs/beta.run", "wins=runs/delta.run"], "the run name wins is also a column"),
        (["--top", "3", "runs/beta.run", "runs/delta.run"], "--top requires -q"),
        (["-m", "measure=AP", "runs/beta.run", "runs/delta.run"], "alias 'measure' of a measure"),
    ],
)
def test_compare_says_what_is_wrong(cli, options, part):
    code, out, err = cli("compare", "-m", "AP", *options)
    assert (code, out) == (2, "")
    assert part in err


# -- correlate
# ----------------------------------------------------------------------------------------------


def test_correlate(cli):
    code, out, err = cli("correlate", *SCALED, "--method", "tau_ap", "runs")
    assert (code, err) == (0, "")
    values = perquery(["alpha", "beta", "delta", "gamma"])
    expected = analysis.correlation(values, "tau_ap")
    assert np.array_equal(read(out).set_index("measure"), expected)
    assert len(np.unique(expected)) > 1
    code, out, _ = cli("correlate", *SCALED, "--ci", "--rank-by", "query", "runs")
    assert code == 0
    expected = analysis.correlation(values, rank_by="query", ci=0.95)
    pd.testing.assert_frame_equal(read(out), expected, check_dtype=False)
    for method in ("tau_gap", "tau_ap_b", "pearson"):
        code, out, _ = cli("correlate", *SCALED, "--method", method, "--top", "3", "runs")
        assert code == 0
        assert np.array_equal(
            read(out).set_index("measure"), analysis.correlation(values, method, top=3)
        )
    code, _, err = cli("correlate", *SCALED, "--top", "3", "--rank-by", "query", "runs")
    assert code == 2
    assert "--top applies to means" in err
    code, _, err = cli("correlate", "-m", "AP", "runs")
    assert code == 2
    assert "at least two measures, got only AP" in err
    code, _, err = cli("correlate", "-m", "AP RR", "runs/beta.run")
    assert code == 2
    assert "at least two systems" in err


def test_weightings(cli, trec_files):
    scales = Aspects.from_file("scales.json")
    qrels, runs = (
        read_qrels(QRELS),
        {name.partition(".")[0]: f"runs/{name}" for name in sorted(os.listdir("runs"))},
    )
    on = [On(aspect=aspect, base="nDCG@5", aspects=scales) for aspect in scales]
    values = evaluate(runs, qrels, on, progress=False)
    arguments = ["-m", "CAM@5", "--aspects", "scales.json", "--at-least", "relevance=0.25", "runs"]
    code, out, err = cli("weightings", *arguments)
    assert (code, err) == (0, "")
    expected = analysis.weightings(
        values, CAM(aspects=scales) @ 5, at_least={"relevance": 0.25}
    ).pairs
    pd.testing.assert_frame_equal(read(out), expected, check_dtype=False)
    code, out, err = cli(
        "weightings",
        "-m",
        "CAM(gate=relevance)@5",
        "--aspects",
        "scales.json",
        "--baseline",
        "beta",
        "runs",
    )
    assert (code, err) == (0, "")
    gated = CAM(gate="relevance", aspects=scales) @ 5
    expected = analysis.weightings(values, gated, baseline="beta", runs=runs, qrels=qrels).pairs
    assert read(out)["fraction"].tolist() == expected["fraction"].tolist()
    assert set(read(out)["b"]) == {"beta"}
    assert cli("weightings", *arguments, "-o", "out.md")[0] == 0
    table = Path("out.md").read_text(encoding="utf-8")
    assert (
        table.splitlines()[0]
        == "| a | b | difference | p | a higher | significant | moved | reversed by |"
    )
    assert table.count("alpha | beta") == 1
    assert "p < 0.05 (not corrected)" in table
    # Several measures are weighted themselves; a file of them gives the same.
    code, _, err = cli("weightings", "-m", "AP", "RR", "-o", "several.csv", "runs")
    assert (code, err) == (0, "")
    assert (
        cli("evaluate", "-m", "AP", "RR", "-q", "--format", "tot", "-o", "values.txt", "runs")[0]
        == 0
    )
    code, out, err = cli(
        "weightings",
        "--values",
        "tot=values.txt",
        "-m",
        "AP",
        "-m",
        "RR",
        "-o",
        "out.csv",
        qrels=(),
    )
    assert (code, err, out) == (0, "", "")
    assert Path("out.csv").read_text() == Path("several.csv").read_text()
    assert (
        cli("evaluate", "-m", "AP", "RR", "-q", "--format", "ranking", "-o", "values.txt", "runs")[
            0
        ]
        == 0
    )
    code, _, err = cli(
        "weightings", "--values", "ranking=values.txt", "-m", "AP", "RR", "-o", "out.txt", qrels=()
    )
    assert (code, err) == (0, "")
    assert "of 6 pairs change" in Path("out.txt").read_text()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["-m", "AP", "runs"], "expected a mean over aspects, such as CAM"),
        (["-m", "CAM"], "missing values: give --qrels, -m and runs, or --values FILE"),
        (["runs"], "missing measures: give -m MEASURE, or --values FILE"),
        (["-m", "CAM", "--values", "tot=values.txt"], "omit qrels and runs"),
        (
            ["-m", "CAM", "--at-least", "relevance", "runs"],
            "--at-least: expected ASPECT=WEIGHT, got 'relevance'",
        ),
        (
            ["-m", "CAM", "--at-least", "trust=0.5", "runs"],
            "--at-least: expected aspects (relevance, credibility)",
        ),
        (
            ["-m", "CAM", "--at-least", "relevance=1.5", "runs"],
            "--at-least: expected weights that sum to at most 1",
        ),
        (["-m", "CAM", "--baseline", "none", "runs"], "--baseline: expected one of the runs"),
        (["-m", "CAM", "runs/beta.run"], "at least two systems"),
    ],
)
def test_weightings_says_what_is_wrong(cli, options, part):
    code, out, err = cli("weightings", "--aspects", "scales.json", *options)
    assert (code, out) == (2, "")
    assert part in err
    assert "measures=" not in err


# -- robustness
# ----------------------------------------------------------------------------------------------


def test_robustness(cli, trec_files):
    scales = Aspects.from_file("scales.json")
    qrels, runs = (
        read_qrels(QRELS),
        {name: f"runs/{name}.run" for name in ("alpha", "beta", "gamma")},
    )
    options = ["--aspects", "scales.json", "--baseline", "beta"]
    arguments = [*options, "-m", "CAM@5", "--variants", "MM@5 CAM@3"]
    code, out, err = cli("robustness", *arguments, *runs.values())
    assert (code, err) == (0, "")
    expected = ma.robustness(
        runs, qrels, CAM(aspects=scales) @ 5, baseline="beta",
        variants={"MM@5": ma.MM(aspects=scales) @ 5, "CAM@3": CAM(aspects=scales) @ 3},
    )  # fmt: skip
    pd.testing.assert_frame_equal(read(out), expected.table, check_dtype=False)
    assert set(expected.table["question"]) == {"topics", "aspects", "weights", "variants", "labels"}
    written = {}
    for suffix in ("txt", "tex", "md", "json"):
        assert cli("robustness", *arguments, "-o", f"table.{suffix}", *runs.values())[0] == 0
        written[suffix] = (trec_files / f"table.{suffix}").read_text(encoding="utf-8")
    assert written["txt"].strip() == str(expected)
    assert written["tex"] == expected.to_latex()
    assert "| question | verdict | evidence |" in written["md"]
    assert [row["evidence"] for row in json.loads(written["json"])] == expected.table[
        "evidence"
    ].tolist()


def test_robustness_of_the_first_measure_of_a_report_and_of_values(cli, trec_files):
    _, out, _ = cli("robustness", "--aspects", "scales.json", "runs/alpha.run", "runs/beta.run")
    named = ["-m", "TOMA-gated@10=TOMA(gate=relevance)@10", "runs/alpha.run", "runs/beta.run"]
    assert read(out).equals(read(cli("robustness", "--aspects", "scales.json", *named)[1]))
    assert cli("evaluate", "-m", "AP", "RR", "-q", "-o", "values.csv", "runs")[0] == 0
    values = ma.read_values("values.csv")
    code, out, err = cli(
        "robustness", "--values", "values.csv", "-m", "RR", "--variants", "AP", qrels=()
    )
    assert (code, err) == (0, "")
    expected = ma.robustness(values, None, "RR", variants=["AP"])
    pd.testing.assert_frame_equal(read(out), expected.table, check_dtype=False)
    code, first, _ = cli("robustness", "--values", "values.csv", qrels=())
    assert set(read(first)["evidence"]) <= set(ma.robustness(values).table["evidence"])


def test_robustness_with_judges(cli, trec_files):
    rows = [
        {"qid": f"q{topic}", "docno": f"d{topic}{number}", "criterion": aspect, "value": (number + shift) % 3,
         "judge": judge}
        for topic in range(6) for number in range(8) for aspect in QRELS for shift, judge in enumerate("xy")
    ]  # fmt: skip
    judged = pd.DataFrame(rows)
    judged.to_json("judges.jsonl", orient="records", lines=True)
    options = ["-m", "CAM@5", "--aspects", "scales.json", "--judges", "judges.jsonl"]
    code, out, _ = cli("robustness", *options, "runs/alpha.run", "runs/beta.run")
    assert code == 0
    scales = Aspects.from_file("scales.json")
    runs = {name: f"runs/{name}.run" for name in ("alpha", "beta")}
    expected = ma.robustness(runs, read_qrels(QRELS), CAM(aspects=scales) @ 5, judges=judged).table
    assert "judges" in set(expected["question"])
    pd.testing.assert_frame_equal(read(out), expected, check_dtype=False)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["-m", "CAM@5"], "missing values: give --qrels, -m and runs, or --values FILE"),
        (["-m", "CAM@5", "AP", "runs"], "-m: expected one measure, got CAM@5, AP"),
        (
            ["-m", "CAM@5", "--values", "values.csv"],
            "--values contains the values: omit qrels and runs",
        ),
        (["-m", "CAM@5", "--baseline", "none", "runs"], "--baseline: expected one of the runs"),
        (["-m", "CAM@5", "runs/beta.run"], "expected at least two runs, got only beta.run"),
        (["-m", "CAM@5", "--judges", "none.csv", "runs"], "none.csv: no such file"),
        (
            ["-m", "CAM@5", "--judges", "scored.csv", "-o", "scored.csv", "runs"],
            "is read by this command",
        ),
    ],
)
def test_robustness_says_what_is_wrong(cli, options, part):
    Path("scored.csv").write_text("qid,name\nq0,beta.run\n")
    code, out, err = cli("robustness", "--aspects", "scales.json", *options)
    assert (code, out) == (2, "")
    assert part in err


# -- plot
# ---------------------------------------------------------------------------------------------------


@pytest.fixture
def values_file(trec_files):
    rng = np.random.default_rng(1)
    rows = [
        (f"run {run}.txt", f"q{topic}", *rng.random(3).round(3))
        for run in range(4)
        for topic in range(6)
    ]
    wide = pd.DataFrame(rows, columns=["name", "qid", "AP", "RR", "cost"])
    wide.melt(["name", "qid"], var_name="measure").to_csv("values.csv", index=False)
    return "values.csv"


@pytest.fixture
def drawn(monkeypatch):
    """The texts of each figure that a command has drawn."""
    figures = []
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    text_class = pytest.importorskip("matplotlib.text").Text
    original = figure_class.savefig

    def savefig(figure, *arguments, **options):
        figures.append({text.get_text() for text in figure.findobj(text_class)} - {""})
        original(figure, *arguments, **options)

    monkeypatch.setattr(figure_class, "savefig", savefig)
    return figures


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (
            ["values", "-m", "RR", "AP", "--baseline", "run 2"],
            {"run 2.txt", "RR", "AP", "baseline"},
        ),
        (
            ["systems", "-m", "RR", "AP", "--baseline", "run 2"],
            {"RR\nmean over topics", "baseline"},
        ),
        (["values", "cost=lower"], {"run 3.txt", "cost\n(lower is better)"}),
        (["values", "-m", "AP", "cost=lower"], {"AP", "cost\n(lower is better)"}),
        (["values", "-m", "cost=ESL"], {"cost\n(lower is better)"}),
        (["systems", "AP", "cost=higher"], {"AP\nmean over topics", "cost\nmean over topics"}),
        (["systems", "AP", "cost=lower"], {"cost\nmean over topics, lower is better"}),
        (["correlation_heatmap", "-m", "AP", "RR"], {"Kendall’s τ-b", "1.00", "AP"}),
        (["asl_curves", "-m", "RR"], {"pairs of systems, by descending level", "α = 0.05"}),
        (
            ["weightings", "-m", "AP", "RR", "--baseline", "run 0.txt"],
            {"run 1.txt > run 0.txt", "% of weightings, with the 95 % interval over topics"},
        ),
    ],
)
def test_plot(cli, values_file, drawn, arguments, texts):
    code, out, err = cli(
        "plot", arguments[0], values_file, *arguments[1:], "-o", "figure.svg", qrels=()
    )
    assert (code, out, err) == (0, "", "pt-multiaspect: wrote figure.svg\n")
    (figure,) = drawn
    assert texts <= figure
    asked = {argument.partition("=")[0] for argument in arguments}
    assert {"AP", "RR", "cost"} & {text.partition("\n")[0] for text in figure} <= asked
    assert "<text" in Path("figure.svg").read_text(encoding="utf-8")


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("suffix", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")]
)
def test_figures_are_the_same_each_time(cli, values_file, monkeypatch, suffix, start):
    pytest.importorskip("matplotlib")
    written = []
    for epoch in ("0", "999999999"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
        assert (
            cli("plot", "values", values_file, "-m", "AP", "-o", f"figure.{suffix}", qrels=())[0]
            == 0
        )
        written.append(Path(f"figure.{suffix}").read_bytes())
    assert written[0] == written[1]
    assert written[0].startswith(start)
    assert suffix != "pdf" or (b"/FontFile2" in written[0] and b"/Type3" not in written[0])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("values values.csv", "missing --output: give the file to write"),
        ("value values.csv -o x.pdf", "KIND: expected one of values, systems"),
        ("values -o x.pdf", "missing VALUES: give a file of values"),
        (
            "values values.csv -o x.jpg",
            "expected a file that ends in .pdf, .png, .svg, got x.jpg; write x.pdf\n",
        ),
        ("values values.csv -o values.csv", "values.csv is read by this command"),
        (
            "systems values.csv -o x.pdf",
            "systems: expected two measures, got AP, RR, cost; choose two by -m",
        ),
        ("systems values.csv -m AP -o x.pdf", "systems: expected two measures, got AP"),
        (
            "correlation_heatmap values.csv AP -o x.pdf",
            "expected at least two measures, got only AP",
        ),
        (
            "values values.csv -m NDCG -o x.pdf",
            "expected measures of the frame (AP, RR, cost), got NDCG",
        ),
        (
            "values values.csv -m cost AP=lower -o x.pdf",
            "cost names no known measure; write cost=higher or",
        ),
        (
            "values values.csv --baseline bm25 -o x.pdf",
            "--baseline: expected one of the runs (run 0.txt",
        ),
        (
            "asl_curves values.csv --baseline bm25 -o x.pdf",
            "--baseline: asl_curves has none; omit it",
        ),
        (
            "values one.csv -o x.pdf",
            "expected at least two topics, got only q0; evaluate more topics",
        ),
    ],
)
def test_plot_says_what_is_wrong(cli, values_file, arguments, part):
    pd.read_csv(values_file).query("qid == 'q0'").to_csv("one.csv", index=False)
    code, out, err = cli("plot", *arguments.split(), qrels=())
    assert (code, out) == (2, "")
    assert part in err
    assert not Path("x.pdf").exists()


def test_labels_without_direction_are_doubted_in_the_words_of_the_shell(cli, values_file):
    code, _, err = cli("plot", "values", values_file, "-m", "cost", "-o", "x.pdf", qrels=())
    assert code == 0
    assert (
        "higher is assumed to be better; say so by -m ALIAS=higher, ALIAS=lower or ALIAS=MEASURE"
        in err
    )


def test_plot_without_matplotlib(cli, values_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    code, _, err = cli("plot", "values", values_file, "-m", "AP", "-o", "x.pdf", qrels=())
    assert (code, err.count("\n")) == (1, 1)
    assert 'plots require matplotlib: pip install "pt-multiaspect[plots]"' in err


def test_weightings_do_not_overwrite_their_values_and_take_directions(cli, values_file):
    written = Path(values_file).read_text()
    options = ["--values", values_file, "-m", "AP", "cost=lower"]
    code, _, err = cli("weightings", *options, "-o", values_file, qrels=())
    assert (code, Path(values_file).read_text()) == (2, written)
    assert "values.csv is read by this command" in err
    code, out, err = cli("weightings", *options, qrels=())
    assert (code, err) == (0, "")
    values = ma.read_values(values_file)
    expected = analysis.weightings(values, measures={"AP": "higher", "cost": "lower"}).pairs
    pd.testing.assert_frame_equal(read(out), expected, check_dtype=False)


@pytest.mark.parametrize("rank_by", ["mean", "query"])
def test_correlations_of_two_runs_are_doubted(cli, rank_by):
    code, out, err = cli(
        "correlate", "-m", "AP RR P@3", "--rank-by", rank_by, "runs/beta.run", "runs/delta.run"
    )
    assert code == 0
    table = np.abs(read(out).set_index("measure").to_numpy())
    assert (table == 1).all() or rank_by == "query"
    doubt = "order of two runs is the same or reversed, so that correlations are 1 or -1"
    assert (doubt in err) is (rank_by == "mean")
    assert cli("correlate", "-m", "AP RR P@3", "runs")[2] == ""


def test_the_remedy_for_undefined_correlations_is_an_option(cli):
    code, _, err = cli("correlate", "-m", "AP", "NumQ", "runs")
    assert code == 0
    assert "NumQ does so on average" in err
    assert "use --method rbo" in err


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "name",
    [
        "compare",
        "correlate",
        "describe",
        "evaluate",
        "explain",
        "report",
        "robustness",
        "weightings",
    ],
)
def test_qrels_are_the_first_argument_where_the_help_says_so(cli, name):
    says_so = "first argument is a qrels file" in " ".join(cli(name, "--help")[1].split())
    runs = ["runs/beta.run", "runs/alpha.run"][: {"explain": 1}.get(name, 2)]
    others = {
        "correlate": ["RR"],
        "weightings": ["RR"],
        "explain": ["--query", "q0"],
        "report": ["-o", "page.html"],
    }.get(name, [])
    code, _, err = cli(name, "relevance.txt", *runs, "-m", "AP", *others, qrels=())
    assert (code == 0) is says_so, err


# -- measures, datasets, demo -------------------------------------------------------------------


def test_the_help_of_one_measure(cli):
    code, out, _ = cli("measures", "CAM", qrels=())
    assert code == 0
    assert out.startswith("CAM  The weighted arithmetic mean")
    assert "CAM = Σ_a p_a μ_a" in out
    code, out, _ = cli("measures", "nDCG", qrels=())
    assert code == 0
    assert "a measure of ir-measures" in out
    assert "normalized Discounted Cumulative Gain" in out
    code, out, err = cli("measures", "TOMMA", qrels=())
    assert (code, out) == (2, "")
    assert "unknown measure 'TOMMA'; the nearest names are TOMA" in err


def test_every_measure_has_help(cli):
    for measure in ALL:
        code, out, _ = cli("measures", measure.NAME, qrels=())
        assert code == 0
        assert len(out.splitlines()) > 5


@pytest.mark.slow
def test_a_dataset_becomes_files_that_the_commands_read(cli, trec_files):
    code, out, _ = cli("datasets", qrels=())
    assert code == 0
    assert out.startswith("health  10 queries, 54 documents, 118 judgments\n")
    code, out, _ = cli("datasets", "health", "-o", "sub/health", qrels=())
    assert code == 0
    qrels = load_health().qrels
    files = {aspect: f"sub/health/{aspect}.qrels" for aspect in load_health().grades}
    pd.testing.assert_frame_equal(read_qrels(files), qrels, check_dtype=False)
    assert Aspects.from_file("sub/health/scales.json") == Aspects(load_health().grades)
    # The printed commands work unchanged.
    commands = re.sub(r"\\\n", "", out).splitlines()[1:]
    for line in commands:
        arguments = [argument.strip("'") for argument in re.findall(r"'[^']*'|\S+", line)]
        assert arguments[0] == "pt-multiaspect"
        code, _, err = cli(arguments[1], *arguments[2:], qrels=())
        assert (code, err) == (0, "")
    for arguments, part in (
        (["health", "-o", "sub/health"], "new or empty directory"),
        (["health"], "--output health"),
        (["clef"], "clef"),
        (["-o", "x"], "name of a collection"),
    ):
        code, _, err = cli("datasets", *arguments, qrels=())
        assert code == 2
        assert part in err


def test_published_collections_are_listed_described_and_written(cli, monkeypatch):
    code, out, _ = cli("datasets", qrels=())
    assert code == 0
    assert "clef-ehealth-2015  CLEF eHealth 2015 task 2: 66 topics" in out
    code, out, _ = cli("datasets", "clef-ehealth-2018", qrels=())
    assert code == 0
    assert out.startswith("clef-ehealth-2018: ")
    assert "licence: none stated" in out
    monkeypatch.setenv("PT_MULTIASPECT_DATA", str(shared_path("data")))
    code, out, _ = cli("datasets", "a66", "-o", "written", qrels=())
    assert code == 0
    judged = datasets.load("a66")
    files = {aspect: f"written/{aspect}.qrels" for aspect in judged.aspects}
    pd.testing.assert_frame_equal(read_qrels(files), judged.qrels, check_dtype=False)
    assert Aspects.from_file("written/scales.json") == judged.aspects
    run = read_run("written/runs/judged.run")
    pd.testing.assert_frame_equal(run[["qid", "docno", "score"]], judged.run, check_dtype=False)
    assert run["rank"].tolist() == [1, 2, 3, 4, 5] * 100
    for line in re.sub(r"\\\n", "", out).splitlines()[1:]:
        arguments = [argument.strip("'") for argument in re.findall(r"'[^']*'|\S+", line)]
        code, _, err = cli(arguments[1], *arguments[2:], qrels=())
        assert (code, err) == (0, "")


def test_a_collection_that_cannot_be_downloaded_is_an_error_of_one_sentence(
    cli, tmp_path, monkeypatch
):
    monkeypatch.setenv("PT_MULTIASPECT_DATA", str(tmp_path / "none"))
    code, out, err = cli("datasets", "a66", "-o", "new", qrels=())
    assert (code, out) == (2, "")
    assert err.splitlines()[0].startswith(
        "pt-multiaspect: error: PT_MULTIASPECT_DATA: expected an existing directory"
    )
    assert not (tmp_path / "new").exists()
    monkeypatch.delenv("PT_MULTIASPECT_DATA")
    monkeypatch.setitem(sys.modules, "pooch", None)
    code, out, err = cli("datasets", "a66", "-o", "new", qrels=())
    assert (code, out) == (1, "")
    assert "pip install 'pt-multiaspect[data]'" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_demo(cli):
    code, out, _ = cli("demo", qrels=())
    assert code == 0
    assert "GridSearch" in out


# -- all commands
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, *program.commands])
def test_help_has_examples_and_fits_80_columns(cli, name):
    code, out, err = cli(name or "--help", *(["--help"] if name else []), qrels=())
    assert (code, err) == (0, "")
    assert re.search(r"Examples?:|Start with your own files:", out)
    assert max(map(len, out.splitlines())) <= 80


def test_the_options_in_the_examples_exist():
    for name, command in program.commands.items():
        known = {
            option for param in command.params for option in [*param.opts, *param.secondary_opts]
        }
        text = re.sub(r"\\\n\s*", "", command.epilog or "")
        lines = [line for line in text.splitlines() if f"pt-multiaspect {name}" in line]
        assert lines, name
        used = {option for line in lines for option in re.findall(r"(?<=\s)--?[a-z][a-z-]*", line)}
        assert used <= known, name


def test_commands_return_exit_codes(cli, monkeypatch):
    code, _, err = cli("evalute", qrels=())
    assert code == 2
    assert "error: unknown command 'evalute'; did you mean evaluate?" in err
    code, _, err = cli("xyz", qrels=())
    assert code == 2
    assert "expected one of" in err

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("pt_multiaspect.cli.verb.evaluate", interrupt)
    code, _, err = cli("compare", "-m", "AP", "runs/beta.run", "runs/delta.run")
    assert code == 1
    assert err.splitlines()[-1] == "pt-multiaspect: error: interrupted"


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(trec_files):
    command = f"{sys.executable} -m pt_multiaspect measures | head -1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=trec_files, capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("TOMA")
    assert done.stderr == ""


# -- explain
# ------------------------------------------------------------------------------------------------


def explanation(measure: str, qid: str):
    scales = Aspects.from_file("scales.json")
    metric = parse_list([measure])[measure]
    metric = metric(aspects=scales) if "aspects" in metric.SUPPORTED_PARAMS else metric
    return explain(metric, {"beta.run": "runs/beta.run"}, read_qrels(QRELS), qid, label=measure)


@pytest.mark.every(3)
@pytest.mark.parametrize("measure", ["TOMA@5", "MM(base='AP')", "AP", "NLRE"])
def test_explain_prints_what_python_prints(cli, trec_files, measure):
    options = ["-m", measure, "--aspects", "scales.json", "--query", "q2", "runs/beta.run"]
    code, out, _ = cli("explain", *options)
    assert code == 0
    expected = explanation(measure, "q2")
    assert out == f"{expected}\n"
    assert max(map(len, out.splitlines())) <= 80
    assert cli("explain", *options, "-o", "ranks.json")[0] == 0
    rows = json.loads((trec_files / "ranks.json").read_text())
    assert [row["docno"] for row in rows if row["rank"] is not None] == expected.ranks[
        "docno"
    ].dropna().tolist()
    total = sum(row["contribution"] for row in rows) + expected.offset
    values = evaluate(
        {"beta": "runs/beta.run"}, read_qrels(QRELS), [expected.measure], progress=False
    )
    assert total == pytest.approx(values.set_index("qid")["value"]["q2"], abs=1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize("suffix", ["txt", "html", "csv"])
def test_explain_writes_a_file(cli, trec_files, suffix):
    options = ["-m", "TOMA@5", "--aspects", "scales.json", "--query", "q2", "-o", f"q2.{suffix}"]
    code, out, err = cli("explain", *options, "runs/beta.run")
    assert (code, out, err) == (0, "", "")
    text = (trec_files / f"q2.{suffix}").read_text(encoding="utf-8")
    expected = explanation("TOMA@5", "q2")
    if suffix == "csv":
        assert list(read_table(text)["contribution"]) == expected.ranks["contribution"].tolist()
    else:
        assert (
            text.rstrip()
            == {"txt": str, "html": lambda shown: shown.to_html()}[suffix](expected).rstrip()
        )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["-m", "TOMA", "--query", "q99", "runs/beta.run"], "q99"),
        (["-m", "TOMA", "--query", "q1", "runs"], "expected one run, got 4"),
        (
            ["-m", "TOMA AP", "--query", "q1", "runs/beta.run"],
            "expected one measure, got 2: TOMA, AP",
        ),
        (["-m", "TOMA", "runs/beta.run"], "--query"),
        (["-m", "TOMA", "--query", "q1", "-o", "q1.pdf", "runs/beta.run"], "ends in .txt, .html"),
    ],
)
def test_explain_says_what_is_wrong(cli, options, part):
    code, out, err = cli("explain", "--aspects", "scales.json", *options)
    assert (code, out) == (2, "")
    assert part in err


# -- control characters
# -------------------------------------------------------------------------------------

#: Clears the screen, rings, clears by a single character, reverses the direction of the text.
CONTROL = "\x1b[2J\x07\x9b2J\u202e"


@pytest.mark.every(3)
@pytest.mark.skipif(sys.platform == "win32", reason="names of files cannot have control characters")
@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "-m", "AP", "--format", "table", "--judged", "runs"),
        ("evaluate", "-m", "AP", "-q", "--format", "md", "runs"),
        ("evaluate", "-m", "AP", "--format", "tex", "runs"),
        ("compare", "-m", "AP", "-q", "-o", "t.txt", f"runs/alpha{CONTROL}.run", "runs/beta.run"),
        ("describe", "-m", "TOMA", "runs"),
        ("describe", "--contingency", "relevance", f"x{CONTROL}"),
        ("explain", "-m", "CAM", "--query", f"q0{CONTROL}", "runs/beta.run"),
        ("evaluate", "-m", "TOMA", "--sort", CONTROL, "runs"),
    ],
    ids=lambda arguments: repr(" ".join(arguments)),
)
def test_control_characters_do_not_reach_the_terminal(cli, trec_files, arguments):
    """Names of runs, topics, documents and aspects cleared the screen."""
    for path in [*trec_files.glob("*.txt"), *(trec_files / "runs").iterdir()]:
        text = re.sub(r"\b(d\d\d)\b", rf"\1{CONTROL}", path.read_text())
        path.write_text(re.sub(r"(?m)^q0", f"q0{CONTROL}", text), encoding="utf-8")
    (trec_files / "runs" / "alpha.run").rename(trec_files / "runs" / f"alpha{CONTROL}.run")
    _, out, err = cli(*arguments, qrels=("relevance=relevance.txt", f"x{CONTROL}=credibility.txt"))
    written = "".join(path.read_text(encoding="utf-8") for path in trec_files.glob("t.txt"))
    assert out + err + written
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out + err + written)
