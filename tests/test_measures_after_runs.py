"""Measures after the runs, as in ir_measures: what is a file, a measure, or neither."""

from __future__ import annotations

from pathlib import Path

import pytest

A, B = "runs/alpha.run", "runs/beta.run"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("evaluate", []),
        ("compare", []),
        ("correlate", []),
        ("weightings", []),
        ("evaluate", ["-q", "--format", "jsonl"]),
    ],
)
def test_measures_may_follow_the_runs(cli, command, options):
    measures = ["nDCG@10", "cam=CAM(base=AP)@10"]
    options = [*options, "--aspects", "scales.json"]
    expected = cli(command, *options, A, B, "-m", *measures)[:2]
    assert expected[0] == 0
    for arguments in (
        [A, B, *measures],
        ["-m", measures[0], "--aspects", "scales.json", A, B, measures[1]],
        [A, B, " ".join(measures)],
    ):
        assert cli(command, *options, *arguments)[:2] == expected  # warnings are given once


def test_the_order_of_ir_measures(cli):
    expected = cli("evaluate", "-m", "nDCG@10", "AP", A, B, qrels=["relevance.txt"])
    assert cli("evaluate", "relevance.txt", A, B, "nDCG@10", "AP", qrels=[]) == expected
    assert expected[0] == 0


def test_a_file_is_a_run_also_if_it_has_the_name_of_a_measure(cli, trec_files):
    Path("AP").write_bytes((trec_files / A).read_bytes())
    code, out, _ = cli("evaluate", B, "AP", "RR")
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == ["name", "beta.run", "AP"]
    code, out, _ = cli("evaluate", B, "x=AP", "RR")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["name", "beta.run", "x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [A, "APP"],
            (
                "there is no file APP, and as a measure it is invalid: unknown measure 'APP'; the "
                "nearest"
            ),
        ),
        ([A, "APP", "RR"], "error: there is no file APP, and as a measure it is invalid"),
        ([A, "nDGC@10", "RR"], "error: there is no file nDGC@10, and as a measure it is invalid"),
        (
            [A, "nDCG@x"],
            "missing measures: there is no file nDCG@x, and as a measure it is invalid",
        ),
        (["runs/alhpa.run", "AP"], "alhpa.run: no such file"),
        (["alpha.rnu", "AP"], "error: run alpha.rnu: no such file"),
        (
            [A, "AP", B, "RR"],
            "no such file: AP, which is a measure; write it after -m, as in -m AP AP",
        ),
        (["AP", A], "missing measures: no such file: AP, which is a measure"),
        ([A, "RR"], "missing measures: RR is read as a run, as there is such a file; write -m RR"),
        ([A, "nDCG", "RR"], "RR is read as a run, as there is such a file; write -m RR"),
        ([A, B], "missing measures: give -m MEASURE or --suite NAME"),
        (["AP"], "expected at least one run, got none"),
    ],
)
def test_mistakes_say_what_was_looked_for(cli, trec_files, arguments, message):
    if arguments[-1] == "RR" and message.endswith("-m RR"):
        Path("RR").write_bytes((trec_files / A).read_bytes())
    code, out, err = cli("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
