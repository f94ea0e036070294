"""The command line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys

import pandas as pd
import pytest

from pt_multiaspect import evaluate, read_qrels
from pt_multiaspect.cli import main
from pt_multiaspect.measures import ALL


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 d1 2\n1 0 d2 0\n2 0 d1 1\n2 0 d3 2\n")
    with gzip.open(tmp_path / "qread.txt.gz", "wt") as file:
        file.write("1 0 d1 0\n1 0 d2 3\n2 0 d1 3\n2 0 d3 1\n")
    (tmp_path / "a.run").write_text("1 Q0 d1 1 9.5 a\n1 Q0 d2 2 9.1 a\n2 Q0 d3 1 3 a\n")
    (tmp_path / "b.run").write_text("1 Q0 d2 1 9.5 b\n2 Q0 d1 1 3 b\n2 Q0 d3 2 2 b\n")
    return tmp_path


def _arguments(files, *more, runs=("a.run", "b.run")):
    qrels = [f"relevance={files / 'qrels.txt'}", f"understandability={files / 'qread.txt.gz'}"]
    toma = "TOMA(aspects={'relevance': 2, 'understandability': 3})@10"
    names = [str(files / run) for run in runs]
    return ["evaluate", "--qrels", *qrels, "--measure", toma, "--measure", "nDCG@10", *more, *names], toma


def _expected(files, toma):
    qrels = read_qrels({"relevance": files / "qrels.txt", "understandability": files / "qread.txt.gz"})
    return evaluate([files / "a.run", files / "b.run"], qrels, [toma, "nDCG@10"], progress=False)


def test_evaluate_prints_means(files, capsys):
    arguments, toma = _arguments(files, "--format", "csv")
    assert main(arguments) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(table.columns) == ["name", toma, "nDCG@10"]
    means = _expected(files, toma).groupby(["name", "measure"])["value"].mean()
    for _, row in table.iterrows():
        assert row[toma] == pytest.approx(means[row["name"], toma])
        assert row["nDCG@10"] == pytest.approx(means[row["name"], "nDCG@10"])


def test_evaluate_prints_queries_as_json(files, capsys):
    arguments, toma = _arguments(files, "--format", "json", "--perquery", "--jobs", "2")
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["qid"]) for row in rows] == [
        ("a.run", "1"), ("a.run", "2"), ("b.run", "1"), ("b.run", "2"),
    ]  # fmt: skip
    values = _expected(files, toma).set_index(["name", "qid", "measure"])["value"]
    assert all(row[toma] == pytest.approx(values[row["name"], row["qid"], toma], abs=1e-9) for row in rows)


def test_evaluate_prints_a_table(files, capsys):
    arguments, _ = _arguments(files, "--format", "table")
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[0] == "name"
    assert lines[0].endswith("nDCG@10")


def test_one_file_judges_the_relevance(files, capsys):
    assert main(["evaluate", "--qrels", str(files / "qrels.txt"), "--measure", "map", str(files / "a.run")]) == 0
    assert "0.8333" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"relevance": "nowhere.txt"}, ["nowhere.txt"]),
        ({"measure": "TOMA(distance='manhatten')"}, ["manhatten", "manhattan", "euclidean"]),
        ({"measure": "TOMA(aspects='usefulness')"}, ["usefulness", "relevance, understandability"]),
        ({"run": "1 Q0 d1 1\n"}, ["bad.run", ":1", "expected 6 fields", "got 4"]),
        ({"run": "7 Q0 d1 1 2.0 x\n"}, ["no query in common"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(files, capsys, change, parts):
    (files / "bad.run").write_text(change.get("run", "1 Q0 d1 1 9.5 a\n"))
    relevance = change.get("relevance", files / "qrels.txt")
    arguments = ["evaluate", "--qrels", f"relevance={relevance}", f"understandability={files / 'qread.txt.gz'}"]
    assert main([*arguments, "--measure", change.get("measure", "map"), str(files / "bad.run")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pt-multiaspect: error: ")
    assert all(part in captured.err for part in parts), captured.err


@pytest.mark.parametrize(
    ("qrels", "part"),
    [(["relevance=a", "b.run"], "b.run"), (["relevance=a", "relevance=b"], "one file for the aspect relevance")],
)
def test_bad_qrels_option(files, capsys, qrels, part):
    assert main(["evaluate", "--qrels", *qrels, "--measure", "map", str(files / "a.run")]) == 2
    assert part in capsys.readouterr().err


def test_inferred_scales_are_reported_without_a_traceback(files, capsys):
    arguments, _ = _arguments(files, "--measure", "TOMA")
    assert main(arguments) == 0
    err = capsys.readouterr().err
    assert err.startswith("pt-multiaspect: warning: TOMA depends on the label scales")
    assert err.count("warning") == 1


def test_measures_lists_every_measure_with_its_parameters(capsys):
    assert main(["measures"]) == 0
    out = capsys.readouterr().out
    for measure in ALL:
        assert f"{measure.NAME}  {measure.SHORT_DESC}" in out
    assert "distance='euclidean'" in out
    assert max(map(len, out.splitlines())) <= 116


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "pt_multiaspect", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pt-multiaspect ")
    failed = subprocess.run([sys.executable, "-m", "pt_multiaspect"], capture_output=True, text=True, check=False)
    assert failed.returncode == 2
    assert "COMMAND" in failed.stderr


def test_evaluate_knows_the_tracks_names(files, capsys):
    arguments, _ = _arguments(files, "--format", "csv", "--measure", "nlre", "--measure", "cam_map")
    assert main(arguments) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out)).set_index("name")
    qrels = read_qrels({"relevance": files / "qrels.txt", "understandability": files / "qread.txt.gz"})
    expected = evaluate([files / "a.run"], qrels, ["NLRE", "CAM(base='AP')"], progress=False)
    means = expected.groupby("measure")["value"].mean()
    assert table.loc["a.run", "nlre"] == pytest.approx(means["NLRE"])
    assert table.loc["a.run", "cam_map"] == pytest.approx(means["CAM(base='AP')"])


@pytest.mark.parametrize("perquery", [True, False])
def test_json_is_not_rounded(files, capsys, perquery):
    """pandas writes 15 digits, which is another number for about half of all doubles."""
    arguments, _ = _arguments(files, "--format", "json", *(["--perquery"] if perquery else []))
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)
    arguments[arguments.index("json")] = "csv"
    assert main(arguments) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [{key: str(value) for key, value in row.items()} for row in rows] == lines
    values = [value for row in rows for value in row.values() if isinstance(value, float)]
    assert any(value != float(f"{value:.15g}") for value in values)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_console_that_lacks_a_character_shows_a_question_mark(files, encoding):
    run = (files / "a.run").rename(files / "τ.run")
    command = [sys.executable, "-m", "pt_multiaspect", "evaluate", "--measure", "nDCG@10", "--qrels"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "100"}
    done = subprocess.run(
        [*command, f"relevance={files / 'qrels.txt'}", "--", str(run)],
        env=environment, capture_output=True, encoding=encoding, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[0] == "?.run"
