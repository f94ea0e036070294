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
    with messages_for_shell({}):  # remedies are options and not Python
        assert out == f"{expected}\n"
    assert max(len(line) for line in out.splitlines()) <= 80


def test_describe_prints_a_contingency_table(cli):
    """The counts of documents by relevance (rows) and credibility (columns)."""
    code, out, _ = cli(
        "describe", "--aspects", "scales.json", "--contingency", "relevance", "credibility"
    )
    assert code == 0
    title, header, *rows = [line.split() for line in out.splitlines()]
    assert title == ["credibility"]
    assert header == ["relevance", "0", "1", "2", "3"]
    n_documents = 0
    for _, *counts in rows:
        n_documents += sum(int(count) for count in counts)
    assert n_documents == 6 * 8  # topics, documents of each


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


@pytest.fixture
def values_with_named_scales(cli, trec_files):
    """Return files of values of measures that were declared with a file of scales, "unseen"."""
    assert cli("describe", "--write-aspects", "unseen.json")[0] == 0
    options = ["-m", "ESL", "CAM@3", "--aspects", "unseen.json", "runs"]
    paths = ["values.csv", "values.parquet"]
    for path in paths:
        assert cli("evaluate", *options, "-q", "-o", path)[0] == 0
    return paths


def test_recorded_measures_do_not_name_their_scales(values_with_named_scales):
    """Another process does not know the name, so that it could not read the measure."""
    for path in values_with_named_scales:
        recorded = ma.read_values(path).attrs["measures"]
        names = {}
        for label, text in recorded.items():
            assert "unseen" not in str(text)
            measures = ma.integration.parsing.parse(str(text))
            names[label] = measures[0].NAME
        assert names == {"ESL": "On", "CAM@3": "CAM"}


def test_values_are_read_without_the_name_of_their_scales(values_with_named_scales, monkeypatch):
    """The arrow of ESL says that lower is better, which only the measure tells."""
    monkeypatch.setattr(Aspects.registry, "_content", {})  # forget the name
    for path in values_with_named_scales:
        assert "ESL ↓" in str(ma.systems_table(ma.read_values(path)))


@pytest.mark.slow
def test_values_are_read_in_another_process(values_with_named_scales):
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
    assert done.stdout.count("ESL ↓") == 2  # one per file


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


def test_scales_are_written_as_they_were_read(cli, trec_files):
    (trec_files / "b").mkdir()
    assert cli("describe", "--write-aspects", "plain.json")[0] == 0
    assert cli("describe", "--aspects", "plain.json", "--write-aspects", "b/kept.json")[0] == 0
    assert Path("b/kept.json").read_text() == Path("plain.json").read_text()


@pytest.mark.parametrize("form", ["table", "md", "tex"])
def test_tables_name_the_scales_and_list_them_once(cli, form):
    """The note below the table lists "plain:"; the measures do not repeat the scales as Python."""
    assert cli("describe", "--write-aspects", "plain.json")[0] == 0
    measures = ["CAM@3", "TOMA(gate=relevance)@3", "MM@3"]
    options = ["--aspects", "plain.json", "--notes", "full", "--format", form]
    code, out, err = cli("evaluate", "-m", *measures, *options, "runs")
    assert (code, err) == (0, "")
    assert out.count("plain:") == 1
    for beginning_of_scales in ("{'", "[0", r"\{"):
        assert beginning_of_scales not in out


def test_a_file_of_other_scales_may_have_the_same_name(cli, trec_files):
    """`same.json` proposes other scales than it declares; both are called "same", without a warning."""
    (trec_files / "b").mkdir()
    declared = '{"version": 1, "name": "same", "aspects": {"relevance": 2, "credibility": 1000}}'
    (trec_files / "same.json").write_text(declared)
    code, _, err = cli("describe", "--aspects", "same.json", "--write-aspects", "b/same.json")
    assert code == 0
    assert "warning" not in err
    registered = Aspects.registry.get("same")
    written = json.loads(Path("b/same.json").read_text())
    assert written["name"] == "same"
    assert registered.to_json() != json.dumps(written["aspects"])


def qrels_lines_with_labels(path, change):
    """Return the lines of a qrels file with changed labels."""
    lines = []
    for line in path.read_text().splitlines():
        qid, iteration, docno, label = line.split()
        lines.append(f"{qid} {iteration} {docno} {change(int(label))}\n")
    return lines


@pytest.fixture
def odd_qrels(trec_files):
    """Write three aspects: one with a code, one without label 0, and one with a constant label."""
    relevance = (trec_files / "relevance.txt").read_text()
    (trec_files / "coded.txt").write_text(relevance.replace(" 2\n", " 99\n", 1))
    credibility = trec_files / "credibility.txt"
    above = qrels_lines_with_labels(credibility, lambda label: label + 1)
    (trec_files / "above.txt").write_text("".join(above))
    constant = qrels_lines_with_labels(credibility, lambda label: 1)
    (trec_files / "same.txt").write_text("".join(constant))
    return ("relevance=coded.txt", "credibility=above.txt", "it's=same.txt")


@pytest.mark.slow
def test_what_describe_proposes_is_what_it_writes(cli, odd_qrels):
    """One declaration mends all findings about scales: it is printed, and written to a file."""
    code, out, err = cli("describe", "--write-aspects", "proposed.json", qrels=odd_qrels)
    assert code == 0
    assert "wrote the scales to proposed.json without it's; check them" in err
    assert "99, may be a code" in out
    assert "no label of credibility is 0" in " ".join(out.split())
    # The code 99, the threshold of a scale up to 99, no label 0, and a constant label.
    assert out.count("declare the scales as below") == 4
    start = out.index("--aspects '")
    option = out[start : out.index("\n\n", start)]
    (_, declaration) = shlex.split(option)
    assert Aspects(json.loads(declaration), name="proposed") == Aspects.from_file("proposed.json")
    for scales in ("proposed.json", declaration):
        _, mended, _ = cli("describe", "--aspects", scales, qrels=odd_qrels)
        assert "declare the scales" not in mended
        assert "may be a code" not in mended
        assert "is 0, but" not in mended


@pytest.mark.slow
def test_the_page_of_describe_proposes_an_option(cli, odd_qrels):
    cli("describe", "-o", "report.html", qrels=odd_qrels)
    page = html.unescape(Path("report.html").read_text(encoding="utf-8"))
    assert "--aspects '{" in page


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


@pytest.fixture
def runs_that_hardly_differ(tmp_path, monkeypatch):
    """Write qrels of the aspects a, b, c, and the runs "first" and "second", on two topics.

    Topic 1: of the ten documents of first, 1, 2 and 3 are positive on a, b and c; of the ten of
    second, 3, 2 and 1 are. Topic 2: d0 alone is positive, below 28 documents of first and 29 of
    second.
    """
    monkeypatch.chdir(tmp_path)
    n_positive_by_run = {"first": {"a": 1, "b": 2, "c": 3}, "second": {"a": 3, "b": 2, "c": 1}}
    for aspect in "abc":
        lines = ["2 0 d0 1"]
        for run, n_positive in n_positive_by_run.items():
            for number in range(10):
                label = int(number < n_positive[aspect])
                lines.append(f"1 0 {run}{number} {label}")
        lines += [f"2 0 d{number} 0" for number in range(1, 30)]
        Path(aspect).write_text("\n".join(lines) + "\n")
    for run, n_above in {"first": 28, "second": 29}.items():
        lines = [f"1 Q0 {run}{number} {number} {-number} x" for number in range(10)]
        docnos = [f"new{number}" for number in range(30)]
        docnos[n_above] = "d0"
        lines += [f"2 Q0 {docno} 1 {-position} x" for position, docno in enumerate(docnos)]
        Path(run).write_text("\n".join(lines) + "\n")


#: "mean" differs on topic 1 by rounding, as 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 do; "deep" differs
#: on topic 1, and on topic 2 by 2^-29 - 2^-30.
NEARLY_EQUAL_MEASURES = ["-m", "mean=CAM(base=P@10)", "-m", "deep=On(base=RBP(p=0.5),aspect=a)"]
NEARLY_EQUAL_OPTIONS = [
    "--qrels", "a=a", "b=b", "c=c", *NEARLY_EQUAL_MEASURES, "--aspects", '{"a": 1, "b": 1, "c": 1}',
    "-o", "table.json",
]  # fmt: skip


def test_means_of_aspects_in_another_order_differ_by_rounding(runs_that_hardly_differ):
    """P@10 of a, b and c is .1, .2 and .3 by the run first, and .3, .2 and .1 by second."""
    measure = CAM(base="P@10", aspects={"a": 1, "b": 1, "c": 1})
    qrels = read_qrels({"a": "a", "b": "b", "c": "c"})
    values = evaluate(["first", "second"], qrels, {"mean": measure}, progress=False)
    first, second = values.loc[values["qid"] == "1", "value"]
    assert 0 < abs(first - second) < 1e-15


def test_compare_counts_rounding_errors_as_ties_and_small_differences_not(runs_that_hardly_differ):
    """On two topics: the measure "mean" differs by rounding, "deep" by 2^-30 on the second topic."""
    assert main(["compare", *NEARLY_EQUAL_OPTIONS, "first", "second"]) == 0
    rows = json.loads(Path("table.json").read_text())
    counts = {row["measure"]: (row["wins"], row["losses"], row["ties"]) for row in rows}
    assert counts == {
        "mean": (0, 0, 2),
        "deep": (1, 1, 0),  # second is better on topic 1, first on topic 2
    }


@pytest.mark.slow
def test_evaluate_counts_rounding_errors_as_ties_and_small_differences_not(
    runs_that_hardly_differ,
):
    """The columns + and - count wins and losses: "mean" has none, "deep" one of each."""
    code = main(["evaluate", *NEARLY_EQUAL_OPTIONS, "--baseline", "first", "first", "second"])
    assert code == 0
    _, second = json.loads(Path("table.json").read_text())
    assert (second["mean +"], second["mean -"]) == (0, 0)
    assert (second["deep +"], second["deep -"]) == (1, 1)


def expected_verdict(difference, lower_is_better, is_significant):
    if not is_significant:
        return ""
    is_better = difference < 0 if lower_is_better else difference > 0
    return "better" if is_better else "worse"


def test_compare_shows_both_runs(cli, monkeypatch):
    """Their means, the difference with its test, and on how many topics the second is better."""
    monkeypatch.setattr("pt_multiaspect.cli.compare.ALPHA", 0.2)
    code, out, err = cli("compare", *SCALED, "runs/beta.run", "runs/delta.run")
    assert (code, err) == (0, "")
    table = read(out).set_index("measure")
    values = perquery(["beta", "delta"])
    means = aggregate(values).set_index("name")
    tests = analysis.compare_with_baseline(values, "beta", correction=None, alpha=0.2)
    test_by_measure = tests.set_index("measure")
    for measure, row in table.iterrows():
        test = test_by_measure.loc[measure]
        assert row["beta"] == means.loc["beta", measure]
        assert row["delta"] == means.loc["delta", measure]
        assert row["difference"] == pytest.approx(test["difference"], abs=1e-12)
        assert row["p-value"] == test["p"]
        lower_is_better = measure == "ESL(wanted=1)"
        assert row["verdict"] == expected_verdict(
            test["difference"], lower_is_better, test["significant"]
        )
        of_measure = values[values["measure"] == measure]
        by_run = of_measure.pivot(index="qid", columns="name", values="value")
        improvement = by_run["delta"] - by_run["beta"]
        if lower_is_better:
            improvement = -improvement
        assert row["wins"] == (improvement > 0).sum()
        assert row["losses"] == (improvement < 0).sum()
        assert row["ties"] == (improvement == 0).sum()
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


WEIGHTINGS = ["-m", "CAM@5", "--aspects", "scales.json", "--at-least", "relevance=0.25", "runs"]
ALL_RUNS = {name: f"runs/{name}.run" for name in ("alpha", "beta", "delta", "gamma")}


def values_of_aspects(scales):
    """Return nDCG@5 of each aspect, of which CAM@5 is a weighted mean."""
    measures = [On(aspect=aspect, base="nDCG@5", aspects=scales) for aspect in scales]
    return evaluate(ALL_RUNS, read_qrels(QRELS), measures, progress=False)


def test_weightings_of_aspects(cli):
    code, out, err = cli("weightings", *WEIGHTINGS)
    assert (code, err) == (0, "")
    scales = Aspects.from_file("scales.json")
    expected = analysis.weightings(
        values_of_aspects(scales), CAM(aspects=scales) @ 5, at_least={"relevance": 0.25}
    )
    pd.testing.assert_frame_equal(read(out), expected.pairs, check_dtype=False)


def test_weightings_with_a_gate_and_a_baseline(cli):
    options = ["--aspects", "scales.json", "--baseline", "beta", "runs"]
    code, out, err = cli("weightings", "-m", "CAM(gate=relevance)@5", *options)
    assert (code, err) == (0, "")
    scales = Aspects.from_file("scales.json")
    expected = analysis.weightings(
        values_of_aspects(scales),
        CAM(gate="relevance", aspects=scales) @ 5,
        baseline="beta",
        runs=ALL_RUNS,
        qrels=read_qrels(QRELS),
    )
    assert read(out)["fraction"].tolist() == expected.pairs["fraction"].tolist()
    assert set(read(out)["b"]) == {"beta"}


def test_weightings_in_markdown(cli):
    assert cli("weightings", *WEIGHTINGS, "-o", "out.md")[0] == 0
    table = Path("out.md").read_text(encoding="utf-8")
    assert (
        table.splitlines()[0]
        == "| a | b | difference | p | a higher | significant | moved | reversed by |"
    )
    assert table.count("alpha | beta") == 1
    assert "p < 0.05 (not corrected)" in table


def test_weightings_of_measures_are_those_of_a_file_of_their_values(cli):
    """With several measures, these are weighted instead of aspects."""
    code, _, err = cli("weightings", "-m", "AP", "RR", "-o", "several.csv", "runs")
    assert (code, err) == (0, "")
    evaluated = cli(
        "evaluate", "-m", "AP", "RR", "-q", "--format", "tot", "-o", "values.txt", "runs"
    )
    assert evaluated[0] == 0
    arguments = ["--values", "tot=values.txt", "-m", "AP", "-m", "RR", "-o", "out.csv"]
    code, out, err = cli("weightings", *arguments, qrels=())
    assert (code, err, out) == (0, "", "")
    assert Path("out.csv").read_text() == Path("several.csv").read_text()


def test_weightings_of_a_file_in_the_format_ranking(cli):
    options = ["-q", "--format", "ranking", "-o", "values.txt", "runs"]
    assert cli("evaluate", "-m", "AP", "RR", *options)[0] == 0
    arguments = ["--values", "ranking=values.txt", "-m", "AP", "RR", "-o", "out.txt"]
    code, _, err = cli("weightings", *arguments, qrels=())
    assert (code, err) == (0, "")
    assert "of 6 pairs change" in Path("out.txt").read_text()  # of four runs


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


def test_robustness_is_that_of_the_first_measure_of_a_report_by_default(cli):
    runs = ["--aspects", "scales.json", "runs/alpha.run", "runs/beta.run"]
    _, by_default, _ = cli("robustness", *runs)
    _, named, _ = cli("robustness", "-m", "TOMA-gated@10=TOMA(gate=relevance)@10", *runs)
    assert read(by_default).equals(read(named))


def test_robustness_of_a_file_of_values(cli):
    assert cli("evaluate", "-m", "AP", "RR", "-q", "-o", "values.csv", "runs")[0] == 0
    values = ma.read_values("values.csv")
    arguments = ["--values", "values.csv", "-m", "RR", "--variants", "AP"]
    code, out, err = cli("robustness", *arguments, qrels=())
    assert (code, err) == (0, "")
    expected = ma.robustness(values, None, "RR", variants=["AP"])
    pd.testing.assert_frame_equal(read(out), expected.table, check_dtype=False)


def test_robustness_of_a_file_of_values_is_that_of_its_first_measure_by_default(cli):
    assert cli("evaluate", "-m", "AP", "RR", "-q", "-o", "values.csv", "runs")[0] == 0
    _, out, _ = cli("robustness", "--values", "values.csv", qrels=())
    expected = ma.robustness(ma.read_values("values.csv")).table
    assert set(read(out)["evidence"]) <= set(expected["evidence"])


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
    ("arguments", "expected_texts"),
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
def test_plot(cli, values_file, drawn, arguments, expected_texts):
    """The file has the measures AP, RR and cost, of which a plot shows those that are named."""
    kind, *options = arguments
    code, out, err = cli("plot", kind, values_file, *options, "-o", "figure.svg", qrels=())
    assert (code, out, err) == (0, "", "pt-multiaspect: wrote figure.svg\n")
    (texts_of_figure,) = drawn
    assert expected_texts <= texts_of_figure
    named = [option.split("=")[0] for option in options]  # "cost=lower" names cost
    first_lines = [text.split("\n")[0] for text in texts_of_figure]
    for measure in ("AP", "RR", "cost"):
        if measure not in named:
            assert measure not in first_lines
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


DOUBT_OF_TWO_RUNS = "order of two runs is the same or reversed, so that correlations are 1 or -1"


def test_correlations_of_the_means_of_two_runs_are_doubted(cli):
    arguments = ["-m", "AP RR P@3", "--rank-by", "mean", "runs/beta.run", "runs/delta.run"]
    code, out, err = cli("correlate", *arguments)
    assert code == 0
    correlations = read(out).set_index("measure").to_numpy()
    assert (np.abs(correlations) == 1).all()
    assert DOUBT_OF_TWO_RUNS in err


def test_correlations_of_two_runs_by_query_are_not_doubted(cli):
    arguments = ["-m", "AP RR P@3", "--rank-by", "query", "runs/beta.run", "runs/delta.run"]
    code, _, err = cli("correlate", *arguments)
    assert code == 0
    assert DOUBT_OF_TWO_RUNS not in err


def test_correlations_of_four_runs_are_not_doubted(cli):
    _, _, err = cli("correlate", "-m", "AP RR P@3", "runs")
    assert err == ""


def test_the_remedy_for_undefined_correlations_is_an_option(cli):
    """NumQ gives all runs the same value, so that they have no order to correlate."""
    code, _, err = cli("correlate", "-m", "AP", "NumQ", "runs")
    assert code == 0
    assert "NumQ does so on average" in err
    assert "use --method rbo" in err


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("compare", ["runs/beta.run", "runs/alpha.run", "-m", "AP"]),
        ("correlate", ["runs/beta.run", "runs/alpha.run", "-m", "AP", "RR"]),
        ("describe", ["runs/beta.run", "runs/alpha.run", "-m", "AP"]),
        ("evaluate", ["runs/beta.run", "runs/alpha.run", "-m", "AP"]),
        ("explain", ["runs/beta.run", "-m", "AP", "--query", "q0"]),
        ("report", ["runs/beta.run", "runs/alpha.run", "-m", "AP", "-o", "page.html"]),
        ("robustness", ["runs/beta.run", "runs/alpha.run", "-m", "AP"]),
        ("weightings", ["runs/beta.run", "runs/alpha.run", "-m", "AP", "RR"]),
    ],
)
def test_qrels_are_the_first_argument_where_the_help_says_so(cli, command, arguments):
    """Without --qrels, a command that says so takes its first argument for them; others fail."""
    _, help_text, _ = cli(command, "--help")
    says_so = "first argument is a qrels file" in " ".join(help_text.split())
    code, _, err = cli(command, "relevance.txt", *arguments, qrels=())
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


def check_printed_commands(cli, out):
    r"""Run the commands that are printed below the first line.

    Such as "pt-multiaspect describe --qrels \" and "  'relevance=sub/relevance.qrels'": long ones
    are continued on the next line, and some arguments are quoted.
    """
    _, *commands = out.replace("\\\n", "").splitlines()
    assert commands
    for line in commands:
        program_name, command, *arguments = shlex.split(line)
        assert program_name == "pt-multiaspect"
        code, _, err = cli(command, *arguments, qrels=())
        assert (code, err) == (0, "")


@pytest.mark.slow
def test_a_dataset_becomes_files_that_the_commands_read(cli, trec_files):
    code, out, _ = cli("datasets", "health", "-o", "sub/health", qrels=())
    assert code == 0
    health = load_health()
    files = {aspect: f"sub/health/{aspect}.qrels" for aspect in health.grades}
    pd.testing.assert_frame_equal(read_qrels(files), health.qrels, check_dtype=False)
    assert Aspects.from_file("sub/health/scales.json") == Aspects(health.grades)
    check_printed_commands(cli, out)


@pytest.mark.slow
def test_datasets_lists_the_collections(cli):
    code, out, _ = cli("datasets", qrels=())
    assert code == 0
    assert out.startswith("health  10 queries, 54 documents, 118 judgments\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["health", "-o", "existing"], "new or empty directory"),
        (["health"], "--output health"),
        (["clef"], "clef"),
        (["-o", "x"], "name of a collection"),
    ],
    ids=["a directory with files", "no directory", "no collection of this name", "no collection"],
)
def test_datasets_that_cannot_be_written(cli, trec_files, arguments, message):
    (trec_files / "existing").mkdir()
    (trec_files / "existing" / "file").write_text("")
    code, _, err = cli("datasets", *arguments, qrels=())
    assert code == 2
    assert message in err


def test_published_collections_are_listed_and_described(cli):
    code, out, _ = cli("datasets", qrels=())
    assert code == 0
    assert "clef-ehealth-2015  CLEF eHealth 2015 task 2: 66 topics" in out
    code, out, _ = cli("datasets", "clef-ehealth-2018", qrels=())
    assert code == 0
    assert out.startswith("clef-ehealth-2018: ")
    assert "licence: none stated" in out


def test_published_collections_become_files_that_the_commands_read(cli, monkeypatch):
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
    check_printed_commands(cli, out)


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
#: Control characters: sequences that clear a screen, a bell, and one that reverses a line.
CONTROL = "\x1b[2J\x07\x9b2J\u202e"


@pytest.fixture
def files_with_control_characters(trec_files):
    """Put CONTROL behind each document id (as d01) and the topic q0, and into the name of a run."""
    for path in [*trec_files.glob("*.txt"), *(trec_files / "runs").iterdir()]:
        text = re.sub(r"\b(d\d\d)\b", rf"\1{CONTROL}", path.read_text())
        lines = text.splitlines(keepends=True)
        text = "".join(line.replace("q0", f"q0{CONTROL}", 1) for line in lines)
        path.write_text(text, encoding="utf-8")
    (trec_files / "runs" / "alpha.run").rename(trec_files / "runs" / f"alpha{CONTROL}.run")


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
def test_control_characters_do_not_reach_the_terminal(
    cli, files_with_control_characters, arguments
):
    """Names of runs, topics, documents and aspects with control characters would clear the screen."""
    qrels = ("relevance=relevance.txt", f"x{CONTROL}=credibility.txt")
    _, out, err = cli(*arguments, qrels=qrels)
    output = out + err
    if Path("t.txt").exists():
        output += Path("t.txt").read_text(encoding="utf-8")
    assert output
    # Of the control characters, only \n (\x0a) may be printed.
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", output)
