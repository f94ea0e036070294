"""The command line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from printed_tables import read_table

from pt_multiaspect import Aspects, MultiAspectError, aggregate, evaluate, read_qrels, systems_table
from pt_multiaspect.analysis import compare_with_baseline
from pt_multiaspect.cli import main, tables
from pt_multiaspect.cli.tables import Sheet
from pt_multiaspect.integration.measure_lists import parse_list, split_measures
from pt_multiaspect.measures import ALL
from pt_multiaspect.views import fixed_point


@pytest.mark.parametrize(
    ("name", "left_out"),
    [("official", "without gm_map, which"), ("all_trec", "11pt_avg, G, Rndcg")],
)
def test_only_the_result_is_printed_for_sets_of_trec_eval(cli, name, left_out):
    code, out, err = cli("evaluate", "-m", name, "--format", "json", "runs")
    assert code == 0
    assert "AP" in json.loads(out)[0]
    assert f"warning: {name} is evaluated without" in err
    assert left_out in err
    assert len(err.splitlines()) == 1
    assert cli("evaluate", "-m", "set_F map P", "runs")[2] == ""


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
    return [
        "evaluate",
        "--qrels",
        *qrels,
        "--measure",
        toma,
        "--measure",
        "nDCG@10",
        *more,
        *names,
    ], toma


def _expected(files, toma):
    qrels = read_qrels(
        {"relevance": files / "qrels.txt", "understandability": files / "qread.txt.gz"}
    )
    return evaluate(
        {"a": files / "a.run", "b": files / "b.run"}, qrels, [toma, "nDCG@10"], progress=False
    )


def test_evaluate_prints_means(files, capsys):
    arguments, toma = _arguments(files, "--format", "csv")
    assert main(arguments) == 0
    table = read_table(capsys.readouterr().out)
    assert list(table.columns) == ["name", toma, "nDCG@10"]
    means = _expected(files, toma).groupby(["name", "measure"])["value"].mean()
    for _, row in table.iterrows():
        assert row[toma] == pytest.approx(means[row["name"], toma])
        assert row["nDCG@10"] == pytest.approx(means[row["name"], "nDCG@10"])


def test_evaluate_prints_queries_as_json(files, capsys):
    arguments, toma = _arguments(files, "--format", "json", "--perquery")
    assert main(arguments) == 0
    rows = json.loads(capsys.readouterr().out)
    expected = _expected(files, toma)
    keys = ["name", "qid", "measure"]
    assert [[row[key] for key in keys] for row in rows] == expected[keys].to_numpy().tolist()
    assert [row["value"] for row in rows] == pytest.approx(expected["value"].tolist(), abs=1e-9)


def test_evaluate_prints_a_table(files, capsys):
    arguments, _ = _arguments(files, "--format", "table")
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["TOMA@10", "nDCG@10"]
    assert [line.split()[0] for line in lines[1:3]] == ["a", "b"]
    assert lines[3] == "* best; 2 topics."
    assert len(lines) == 4
    arguments, toma = _arguments(files, "--format", "table", "--notes", "full")
    assert main(arguments) == 0
    note = capsys.readouterr().out.splitlines()[4]
    assert note.startswith("TOMA@10: How near each document's labels come to the best")
    assert note.endswith(f": {toma}")


def test_one_file_judges_the_relevance(files, capsys):
    """A path without a name of an aspect is that of relevance."""
    qrels = str(files / "qrels.txt")
    run = str(files / "a.run")
    code = main(["evaluate", "--qrels", qrels, "--measure", "map", "--format", "csv", run])
    captured = capsys.readouterr()
    assert code == 0
    assert captured.err == ""
    # Topic 1: the relevant d1 is at rank 1. Topic 2: d3 is, and d1 is not retrieved.
    mean_ap = (1 / 1 + (1 / 1 + 0) / 2) / 2
    assert read_table(captured.out)["map"].tolist() == [mean_ap]


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
    arguments = [
        "evaluate",
        "--qrels",
        f"relevance={relevance}",
        f"understandability={files / 'qread.txt.gz'}",
    ]
    assert (
        main([*arguments, "--measure", change.get("measure", "map"), str(files / "bad.run")]) == 2
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pt-multiaspect: error: ")
    assert all(part in captured.err for part in parts), captured.err


@pytest.mark.parametrize(
    ("qrels", "part"),
    [
        (["a", "--qrels", "credibility=b"], "write a=FILE or ASPECT=a"),
        (["relevance=a", "relevance=b"], "one file for the aspect relevance"),
        (["relevance=-", "credibility=-"], "standard input (-) for one aspect at most"),
        (["=a"], "ASPECT=FILE"),
        (["relevance="], "--qrels: relevance= lacks its file; write relevance=FILE"),
        (["a,b="], "--qrels: a,b= lacks its file; write a,b=FILE"),
    ],
)
def test_bad_qrels_option(files, capsys, qrels, part):
    assert main(["evaluate", "--qrels", *qrels, "--measure", "map", str(files / "a.run")]) == 2
    assert part in capsys.readouterr().err


@pytest.mark.parametrize("prefix", ["", "relevance="])
def test_label_columns_without_names(files, capsys, prefix):
    """The remedy is an option, not the parameter of read_qrels."""
    (files / "multi.txt").write_text("1 0 d1 2 0\n1 0 d2 0 3\n")
    assert (
        main(
            [
                "evaluate",
                "--qrels",
                f"{prefix}{files / 'multi.txt'}",
                "-m",
                "map",
                str(files / "a.run"),
            ]
        )
        == 2
    )
    message = capsys.readouterr().err
    assert "expected 4 fields (qid iteration docno label), got 5" in message
    assert "name the label columns of one file, as in --qrels relevance,credibility=FILE" in message
    assert "aspects=" not in message


def test_a_run_after_the_qrels_is_no_aspect_in_silence(files, capsys):
    arguments = [
        "evaluate",
        "-m",
        "AP",
        "--qrels",
        f"relevance={files / 'qrels.txt'}",
        f"new={files / 'a.run'}",
    ]
    assert main([*arguments, str(files / "b.run")]) == 2
    assert "this looks like a run, not qrels" in capsys.readouterr().err
    assert main([*arguments[:-1], str(files / "b.run"), f"new={files / 'a.run'}"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == [
        "name",
        "b.run",
        "new",
    ]


def test_one_file_with_several_label_columns(files, capsys):
    """The labels of qrels.txt and qread.txt.gz may be two columns of one file."""
    (files / "wide.txt").write_text(
        "1 0 d1 2 0\n"  # topic, iteration, document, relevance, understandability
        "1 0 d2 0 3\n"
        "2 0 d1 1 3\n"
        "2 0 d3 2 1\n"
    )
    toma = "TOMA(aspects={'relevance': 2, 'understandability': 3})@10"
    options = ["--measure", toma, "--measure", "nDCG@10", "--format", "csv"]
    runs = [str(files / "a.run"), str(files / "b.run")]

    two_files = [f"relevance={files / 'qrels.txt'}", f"understandability={files / 'qread.txt.gz'}"]
    assert main(["evaluate", "--qrels", *two_files, *options, *runs]) == 0
    expected = capsys.readouterr().out

    one_file = f"relevance,understandability={files / 'wide.txt'}"
    assert main(["evaluate", "--qrels", one_file, *options, *runs]) == 0
    assert capsys.readouterr().out == expected


def test_inferred_scales_are_reported_without_a_traceback(files, capsys):
    arguments, _ = _arguments(files, "--measure", "TOMA(gate=relevance)")
    assert main(arguments) == 0
    err = capsys.readouterr().err
    assert err.startswith("pt-multiaspect: warning: TOMA depends on the label scales")
    assert err.count("warning") == 1


def test_measures_lists_every_measure_with_its_parameters(capsys):
    assert main(["measures"]) == 0
    out = capsys.readouterr().out
    for measure in ALL:
        assert f"{measure.NAME} {measure.SHORT_DESC}" in " ".join(out.split())
    assert "distance='euclidean'" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "pt_multiaspect", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("pt-multiaspect ")
    failed = subprocess.run(
        [sys.executable, "-m", "pt_multiaspect"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 2
    assert failed.stderr.startswith("pt-multiaspect: error: missing command")
    assert "pt-multiaspect --help" in failed.stderr


def test_evaluate_knows_the_tracks_names(files, capsys):
    arguments, _ = _arguments(files, "--format", "csv", "--measure", "nlre", "--measure", "cam_map")
    assert main(arguments) == 0
    table = read_table(capsys.readouterr().out).set_index("name")
    qrels = read_qrels(
        {"relevance": files / "qrels.txt", "understandability": files / "qread.txt.gz"}
    )
    expected = evaluate([files / "a.run"], qrels, ["NLRE", "CAM(base='AP')"], progress=False)
    means = expected.groupby("measure")["value"].mean()
    assert table.loc["a", "nlre"] == pytest.approx(means["NLRE"])
    assert table.loc["a", "cam_map"] == pytest.approx(means["CAM(base='AP')"])


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


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_console_that_lacks_a_character_shows_a_question_mark_or_a_hyphen_for_minus(
    files, encoding
):
    run = (files / "a.run").rename(files / "τ.run")
    command = [
        sys.executable,
        "-m",
        "pt_multiaspect",
        "evaluate",
        "-m",
        "CRP",
        "--format",
        "table",
        "--qrels",
    ]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "COLUMNS": "100"}
    done = subprocess.run(
        [*command, f"relevance={files / 'qrels.txt'}", "--", str(run)],
        env=environment, capture_output=True, encoding=encoding, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    name, value = done.stdout.splitlines()[1].split()
    assert name == "?.run"
    assert re.fullmatch(r"-\d\.\d{4}\*?", value), value


# -- measures in strings
# ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("nDCG@10 AP TOMA@10", ["nDCG@10", "AP", "TOMA@10"]),
        ("TOMA(aspects={'a b': 2, 'c': 3})@10 AP", ["TOMA(aspects={'a b': 2, 'c': 3})@10", "AP"]),
        ("nDCG @ 10, AP,", ["nDCG@10", "AP"]),
        ("nDCG@10,AP , RR", ["nDCG@10", "AP", "RR"]),
        ("P_5,10 ours = CAM", ["P_5,10", "ours=CAM"]),
        ("P_5,1,2,map", ["P_5,1,2", "map"]),
        (r"A(b='\',c') AP", [r"A(b='\',c')", "AP"]),
        ("'my AP'=AP\n nDCG", ["'my AP'=AP", "nDCG"]),
        ("TOMA(aspects='a)b') AP", ["TOMA(aspects='a)b')", "AP"]),
        ("  ", []),
    ],
)
def test_measures_are_split_outside_of_quotes_and_brackets(text, parts):
    assert split_measures(text) == parts


@pytest.mark.parametrize(
    "text", ["AP(rel=2 nDCG", "AP)", "AP(rel=2] nDCG", "TOMA(distance='x) AP", "{AP"]
)
def test_unbalanced_brackets_and_quotes(text):
    with pytest.raises(MultiAspectError, match="cannot read the measures"):
        split_measures(text)


def test_measures_without_quotes_mean_what_they_mean_with_quotes():
    without = [
        "CAM(base=AP)@10",
        "CAM(base={relevance: nDCG@5, effort: AP})",
        "TOMA(distance=euclidean,gate=none)",
    ]
    quoted = [
        "CAM(base='AP')@10",
        "CAM(base={'relevance': 'nDCG@5', 'effort': 'AP'})",
        "TOMA(gate=None)",
    ]
    assert list(parse_list(without).values()) == list(parse_list(quoted).values())
    assert list(parse_list(without)) == [str(measure) for measure in parse_list(quoted).values()]
    Aspects({"relevance": 2}, name="my-scales")
    (measure,) = parse_list(["TOMA(aspects=my-scales)"]).values()
    assert measure["aspects"].name == "my-scales"


def test_labels_of_measures():
    labelled = parse_list(["CAM=CAM(base=AP)@10 AP 'my P'=P@5"])
    assert {label: str(measure) for label, measure in labelled.items()} == {
        "CAM": "CAM(base='AP')@10", "AP": "AP", "my P": "P@5",
    }  # fmt: skip
    assert list(parse_list(["AP", "AP", "map=AP"])) == ["AP", "map"]
    assert list(parse_list(["TOMA=TOMA(gate=relevance)@5"])) == ["TOMA"]


@pytest.mark.parametrize(
    ("texts", "part"),
    [
        (["x=AP x=nDCG"], "the alias 'x' is given to two measures, AP and nDCG"),
        (["x=P"], "expands to 9"),
        (["=AP"], "expected alias=measure"),
        (["x="], "expected alias=measure"),
        ([" "], "at least one measure"),
        (["CAM(base=APP)"], "APP"),
        (["nDCG@10 nDGC@10"], "unknown measure 'nDGC'"),
        (["AP(2)"], "parameters must be given by name"),
        (["AP@10=5"], "5"),
        (
            ["MM=CAM@10"],
            (
                "'MM' is the name of a measure (MM), which CAM@10 is not; use another name, such as "
                "'CAM@10'"
            ),
        ),
        (["RR=AP"], "'RR' is the name of a measure"),
    ],
)
def test_bad_measures(texts, part):
    with pytest.raises(MultiAspectError, match=re.escape(part)):
        parse_list(texts)


# -- evaluate
# -----------------------------------------------------------------------------------------------


def _values(trec_files, measures):
    qrels = read_qrels(
        {aspect: trec_files / f"{aspect}.txt" for aspect in ("relevance", "credibility")}
    )
    runs = {path.stem: path for path in sorted((trec_files / "runs").iterdir())}
    return evaluate(runs, qrels, measures, progress=False)


RELEVANCE, CREDIBILITY = (
    "{'grades': [0, 1, 2], 'threshold': 2}",
    "{'grades': [0, 1, 2, 3], 'threshold': 1}",
)
SCALES = f"{{'relevance': {RELEVANCE}, 'credibility': {CREDIBILITY}}}"


def test_aspects_of_a_file_are_those_of_every_measure_without_its_own(cli, trec_files):
    """Measures of the command line, beside what they stand for with the scales of scales.json."""
    stands_for = {
        "TOMA(gate=relevance)@5": f"TOMA(gate='relevance',aspects={SCALES})@5",
        "CAM(base=AP)": f"CAM(base='AP',aspects={SCALES})",
        "On(aspect=credibility)": f"On(aspect='credibility',aspects={SCALES})",
        "TOMA(aspects=[credibility, relevance])": (
            "TOMA(aspects={'credibility': " + CREDIBILITY + ", 'relevance': " + RELEVANCE + "})"
        ),
        "CG": f"On(base='CG',aspects={SCALES})",
        # This one has scales of its own.
        "TOMA(aspects={relevance: 4, credibility: 4})": (
            "TOMA(aspects={'relevance': 4, 'credibility': 4})"
        ),
    }
    measures = " ".join(stands_for)

    code, out, err = cli(
        "evaluate", "--aspects", "scales.json", "-m", measures, "--format", "csv", "runs"
    )

    assert (code, err) == (0, "")
    table = read_table(out)
    assert list(table["name"]) == ["alpha", "beta", "delta", "gamma"]
    expected = aggregate(_values(trec_files, stands_for))
    values_of_measures = table.iloc[:, 1:]
    assert np.array_equal(values_of_measures, expected.iloc[:, 1:])


def test_measures_that_cannot_use_the_declared_scales_are_named(cli):
    """AP counts labels from 1 on as relevant; scales.json declares that only 2 is."""
    code, _, err = cli("evaluate", "--aspects", "scales.json", "-m", "AP TOMA", "runs")
    assert code == 0
    assert err.startswith("pt-multiaspect: warning: AP: computed on the plain labels of relevance")


def test_measures_that_agree_with_the_declared_scales_are_not_named(cli):
    """These scales have the threshold 1, as AP has."""
    scales = '{"relevance": 2, "credibility": 3}'
    _, _, err = cli("evaluate", "--aspects", scales, "-m", "AP TOMA(gate=relevance)", "runs")
    assert err == ""


@pytest.mark.parametrize(
    ("aspects", "parts"),
    [
        ('{"relevance": 2, "credibilty": 3}', ["declares credibilty", "relevance, credibility"]),
        ("nowhere.json", ["no such file: nowhere.json", "--write-aspects"]),
        ("relevance.txt", ["--aspects:", "relevance.txt"]),
        ('{"relevance": 2', ["--aspects:"]),
        ('{"relevance": -2}', ["--aspects:"]),
    ],
)
def test_bad_aspects(cli, aspects, parts):
    code, out, err = cli("evaluate", "--aspects", aspects, "-m", "TOMA", "runs")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert all(part in err for part in parts), err


def test_an_aspect_that_is_not_declared_is_named(cli):
    code, _, err = cli("evaluate", "--aspects", '{"relevance": 2}', "-m", "TOMA", "runs")
    assert code == 0
    assert "does not declare credibility, which measures therefore ignore" in err
    code, _, err = cli(
        "evaluate", "--aspects", '{"relevance": 2}', "-m", "TOMA(aspects=[credibility])", "runs"
    )
    assert code == 2
    assert "does not declare credibility" in err


def test_runs_by_pattern_directory_name_and_standard_input(cli, trec_files, monkeypatch):
    code, out, _ = cli("evaluate", "-m", "AP", "runs/[ab]*.run", "mine=runs/gamma.run")
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["alpha", "beta", "mine"]
    expected = cli("evaluate", "-m", "AP", "x=runs/beta.run")[1]
    content = (trec_files / "runs" / "beta.run").read_bytes()
    for argument, name in (("-", "stdin"), ("x=-", "x")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content))))
        code, out, _ = cli("evaluate", "-m", "AP", argument)
        assert (code, out) == (0, expected.replace("x\t", f"{name}\t"))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("runs", "part"),
    [
        (["nothing/*.run"], "no file matches nothing/*.run"),
        (["empty"], "the directory empty contains no files"),
        (["runs/alpha.run", "runs/../runs/alpha.run"], "runs/alpha.run is given twice; omit one"),
        (["runs", "runs/alpha.run"], "runs/alpha.run is given twice"),
        (["a=runs/alpha.run", "b=runs/alpha.run"], "is given twice"),
        (
            ["runs/alpha.run", "empty/../more/alpha.run"],
            "as in more-alpha.run=empty/../more/alpha.run",
        ),
        (["a=runs/alpha.run", "a=runs/beta.run"], "two runs have the name a"),
        (["a=runs"], "expected one run for the name a, but runs contains 4"),
        (["-", "-"], "given twice"),
        (["=runs/alpha.run"], "NAME=RUN"),
        (["runs/nothing.run"], "runs/nothing.run"),
        (["TAMO@10", "runs"], "TAMO"),
        (
            ["relevance.txt"],
            "this looks like qrels, not a run: write --qrels ASPECT=FILE for each aspect",
        ),
    ],
)
def test_bad_runs(cli, trec_files, runs, part):
    (trec_files / "empty").mkdir()
    (trec_files / "more").mkdir()
    (trec_files / "more" / "alpha.run").write_bytes((trec_files / "runs" / "beta.run").read_bytes())
    code, out, err = cli("evaluate", "-m", "AP", *runs)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


def test_several_measures_follow_one_option(cli, trec_files):
    run = "runs/beta.run"
    expected = cli(
        "evaluate", "-m", "nDCG@10 best=AP CAM(base=AP)@5", "--aspects", "scales.json", run
    )[:2]
    assert expected[0] == 0
    for option in (["-m"], ["--measure"]):
        arguments = [*option, "nDCG@10", "best=AP", "CAM(base=AP)@5"]
        assert cli("evaluate", *arguments, "--aspects", "scales.json", run)[:2] == expected
        assert cli("evaluate", "--aspects", "scales.json", *arguments, run)[:2] == expected
        assert cli("evaluate", "--aspects", "scales.json", run, *arguments)[:2] == expected
    assert cli("evaluate", "--measure=nDCG@10", "AP", "runs/beta.run", "new=runs/alpha.run")[
        1
    ].splitlines()[0] == ("name\tnDCG@10\tAP")
    # What exists is a run, whatever its name.
    (trec_files / "AP").write_bytes((trec_files / "runs" / "beta.run").read_bytes())
    code, out, _ = cli("evaluate", "-m", "nDCG@10", "AP", "runs/alpha.run")
    assert (code, [line.split("\t")[0] for line in out.splitlines()]) == (
        0,
        ["name", "AP", "alpha.run"],
    )


@pytest.mark.parametrize("command", ["evaluate", "correlate", "compare", "describe"])
def test_the_first_argument_may_be_the_qrels(cli, command):
    runs = ["runs/alpha.run", "runs/beta.run"]
    measures = [] if command == "describe" else ["-m", "AP", "RR"]
    code, expected, _ = cli(command, *measures, *runs, qrels=("relevance.txt",))
    assert code == 0
    for arguments in (["relevance.txt", *runs, *measures], [*measures, "relevance.txt", *runs]):
        code, out, _ = cli(command, *arguments, qrels=())
        assert (code, out) == (0, expected)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (
            ["evaluate", "-m", "AP", "runs/alpha.run"],
            "missing --qrels: give ASPECT=FILE for each aspect",
        ),
        (["evaluate", "-m", "AP"], "missing"),
        (
            ["evaluate", "relevance.txt", "AP"],
            "missing RUN: give run files",
        ),  # was: missing --qrels
        (["evaluate", "relevance.txt", "AP", "nDCG@10"], "missing RUN: give run files"),
        (["correlate", "-m", "AP", "nDCG", "relevance.txt"], "missing RUN: give run files"),
        (["evaluate", "runs/alpha.run", "AP"], "missing --qrels: give ASPECT=FILE for each aspect"),
        (["evaluate", "runs", "AP"], "missing --qrels: give ASPECT=FILE for each aspect"),
        (
            ["evaluate", "-m", "AP", "runs/alpha.run", "runs/beta.run"],
            "this looks like a run, not qrels",
        ),
        (["evaluate", "-m", "AP", "none.txt", "runs/beta.run"], "no such file: none.txt"),
        (
            ["evaluate", "-m", "AP", "-o", "relevance.txt", "relevance.txt", "runs"],
            "relevance.txt is read by this",
        ),
        (["explain", "-m", "AP", "--query", "q0", "runs/alpha.run"], "missing --qrels"),
        (["describe"], "missing --qrels"),
    ],
)
def test_qrels_are_not_taken_from_runs(cli, arguments, part):
    code, out, err = cli(*arguments, qrels=())
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert part in err


def test_perquery_has_one_row_per_value(cli, trec_files):
    code, out, _ = cli(
        "evaluate", "-m", "AP NumRet", "-q", "runs", "--format", "csv", "--sort", "AP"
    )
    assert code == 0
    table = read_table(out)
    values = _values(trec_files, ["AP", "NumRet"])
    keys = ["name", "qid", "measure"]
    assert list(table.columns) == [*keys, "value"]
    assert table.set_index(keys)["value"].to_dict() == values.set_index(keys)["value"].to_dict()
    order = aggregate(values).sort_values("AP", ascending=False)["name"]
    assert table["name"].unique().tolist() == order.tolist()


def test_perquery_for_people_has_one_column_per_measure(cli, trec_files):
    code, out, _ = cli(
        "evaluate", "-m", "AP", "x=NumRet", "-q", "runs", "--format", "md", "--sort", "AP"
    )
    assert code == 0
    rows = [line.strip("|").split("|") for line in out.splitlines()]
    assert [cell.strip() for cell in rows[0]] == ["name", "qid", "AP", "x"]
    assert len(rows) == 2 + 4 * 6  # runs and topics, without means
    assert "mean" not in out


def test_sort_follows_the_direction_of_the_measure(cli):
    for measure, ascending in (("AP", False), ("ESL(wanted=1)", True), ("name", True)):
        code, out, _ = cli("evaluate", "-m", "AP ESL(wanted=1)", "--sort", measure, "runs")
        assert code == 0
        column = read_table(out, "\t")[measure]
        assert column.is_monotonic_increasing if ascending else column.is_monotonic_decreasing
        assert column.nunique() > 1
    code, _, err = cli("evaluate", "-m", "AP", "--sort", "nDCG", "runs")
    assert code == 2
    assert "--sort: expected name or one of the measures (name, AP), got nDCG" in err


@pytest.mark.parametrize(
    ("test", "name_in_note"),
    [
        ("t", "(paired t-test, Holm, p"),
        ("tukey", "(randomised Tukey HSD test, p"),
        pytest.param("permutation", "test, Holm, p", marks=pytest.mark.slow),
        pytest.param("bootstrap", "test, Holm, p", marks=pytest.mark.slow),
    ],
)
def test_the_tests_are_those_of_python(cli, trec_files, test, name_in_note):
    """p-values are those of `compare_with_baseline`; Tukey's test has no further correction."""
    options = ["-m", "CAM@3", "--baseline", "beta", "--test", test, "runs"]
    code, out, _ = cli("evaluate", *options, "--format", "json")
    assert code == 0
    rows = {row["name"]: row for row in json.loads(out)}
    expected = compare_with_baseline(_values(trec_files, ["CAM@3"]), "beta", test)
    for row in expected.itertuples():
        fields = rows[row.name]
        assert fields["CAM@3 p-value"] == row.asl
        if test == "tukey":
            assert "CAM@3 p-value corrected" not in fields
            assert row.p == row.asl
        else:
            assert fields["CAM@3 p-value corrected"] == row.p

    _, table, _ = cli("evaluate", *options, "--format", "table")
    assert "† differs from beta " in table
    assert name_in_note in " ".join(table.split())
    assert ("Tukey" in table) == (test == "tukey")


MEASURES_OF_TESTS = ["CAM@3", "ESL(wanted=1)"]


@pytest.fixture
def baseline_beta(monkeypatch):
    """Options of a comparison of four runs on six topics, whose tests are made at the level .3."""
    monkeypatch.setattr("pt_multiaspect.cli.options.ALPHA", 0.3)  # so that some are significant
    return ["-m", " ".join(MEASURES_OF_TESTS), "--baseline", "runs/beta.run", "runs"]


CORRECTION = pytest.mark.parametrize("correction", ["holm", "none"])


@pytest.mark.every(2)
@CORRECTION
def test_the_fields_of_a_comparison_are_those_of_the_test(
    cli, trec_files, baseline_beta, correction
):
    """JSON has differences, intervals, p-values, and the numbers of topics that are better and worse."""
    code, out, _ = cli("evaluate", *baseline_beta, "--correction", correction, "--format", "json")
    assert code == 0
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["beta"]["CAM@3 p-value"] is None

    values = _values(trec_files, MEASURES_OF_TESTS)
    correction_of_python = None if correction == "none" else correction
    tests = compare_with_baseline(values, "beta", correction=correction_of_python, alpha=0.3)
    for test in tests.itertuples():
        measure = test.measure
        fields = rows[test.name]
        assert fields[f"{measure} difference"] == test.difference
        assert fields[f"{measure} difference low"] == test.low
        assert fields[f"{measure} difference high"] == test.high
        assert fields[f"{measure} p-value"] == test.asl
        assert fields[f"{measure} reject"] is test.significant
        if correction == "holm":
            assert fields[f"{measure} p-value corrected"] == test.p
        else:
            assert f"{measure} p-value corrected" not in fields

        of_measure = values[values["measure"] == measure]
        by_topic = of_measure.pivot(index="qid", columns="name", values="value")
        gains = by_topic[test.name] - by_topic["beta"]
        if measure.startswith("ESL"):  # lower is better
            gains = -gains
        assert fields[f"{measure} +"] == (gains > 0).sum()
        assert fields[f"{measure} -"] == (gains < 0).sum()


@pytest.mark.every(2)
@CORRECTION
def test_baseline_marks_what_the_test_says(cli, trec_files, baseline_beta, correction):
    """Cells have a dagger where the test is significant, and the interval of the difference."""
    code, out, _ = cli(
        "evaluate", *baseline_beta, "--correction", correction,
        "--interval", "difference", "--format", "table",
    )  # fmt: skip
    assert code == 0
    head, *rows, test_note, interval_note = out.splitlines()[:7]
    assert head.split() == ["CAM@3", "ESL", "↓"]
    # Such as: alpha 0.8667† [0.0123, 0.2345] 0.1667 [-0.5, 0.1].
    interval = r"\[\S+, \S+\]"
    numbers = {row.split()[0]: re.sub(interval, "", row).split()[1:] for row in rows}
    intervals = {row.split()[0]: re.findall(interval, row) for row in rows}
    assert intervals["beta"] == []

    values = _values(trec_files, MEASURES_OF_TESTS)
    means = aggregate(values).set_index("name")
    correction_of_python = None if correction == "none" else correction
    tests = compare_with_baseline(values, "beta", correction=correction_of_python, alpha=0.3)
    for test in tests.itertuples():
        column = MEASURES_OF_TESTS.index(test.measure)
        dagger = "†" if test.significant else ""
        without_star = numbers[test.name][column].rstrip("*")
        assert without_star == f"{means.loc[test.name, test.measure]:.4f}{dagger}"
        low, high = fixed_point(test.low, 4), fixed_point(test.high, 4)
        assert intervals[test.name][column] == f"[{low}, {high}]"
    assert set(tests["significant"]) == {True, False}

    if correction == "holm":
        method = "paired t-test, Holm"
        levels = "90 % interval of the difference (Student’s t, 70 % for all three)."  # 1 - .3 / 3
    else:
        method = "paired t-test"
        levels = "70 % interval of the difference (Student’s t)."
    assert test_note == f"* best; † differs from beta ({method}, p < 0.3, 6 topics)."
    assert interval_note.startswith(f"[…] {levels}")


def test_differences_of_aggregates_that_are_no_means_have_no_interval(cli, trec_files):
    code, out, _ = cli(
        "evaluate", "-m", "AP", "NumRet", "--baseline", "beta", "runs", "--format", "json"
    )
    assert code == 0
    fields = [key for key in json.loads(out)[0] if "difference" in key]
    assert fields == ["AP difference", "AP difference low", "AP difference high"]
    options = ["--baseline", "beta", "--interval", "difference", "--format", "table"]
    _, out, _ = cli("evaluate", "-m", "NumRet", *options, "runs")
    assert "[" not in out
    cli("compare", "-m", "AP", "NumRet", "runs/alpha.run", "runs/beta.run", "-o", "table.json")
    of_ap, of_sum = json.loads((trec_files / "table.json").read_text())
    assert of_ap["low"] < of_ap["difference"] < of_ap["high"]
    assert of_sum["low"] is of_sum["high"] is None


def test_intervals_are_students(cli, trec_files):
    """Student's t on six topics, cut to the range of the measure."""
    from scipy import stats

    options = ["-m", "CAM@3", "--interval", "mean", "runs"]
    code, out, _ = cli("evaluate", *options, "--format", "csv")
    assert code == 0
    ends = read_table(out).set_index("name")[["CAM@3 95% low", "CAM@3 95% high"]]
    for name, values in _values(trec_files, "CAM@3").groupby("name")["value"]:
        interval = stats.t.interval(0.95, df=6 - 1, loc=values.mean(), scale=stats.sem(values))
        expected = np.clip(interval, 0, 1)
        assert ends.loc[name].tolist() == pytest.approx(expected, abs=1e-12)

    _, table, _ = cli("evaluate", *options, "--format", "table")
    _head, row_of_alpha, *_ = table.splitlines()
    low, high = ends.loc["alpha"]
    assert row_of_alpha.endswith(f"[{low:.4f}, {high:.4f}]")


def test_judged_fractions_per_aspect(cli, trec_files):
    """Of credibility, the judgments with label 0 are taken away; of relevance, all documents are judged."""
    qrels = trec_files / "credibility.txt"
    judgments = [line for line in qrels.read_text().splitlines() if not line.endswith(" 0")]
    qrels.write_text("\n".join(judgments))
    judged = set()
    for line in judgments:
        qid, _iteration, docno, _label = line.split()
        judged.add((qid, docno))

    code, out, err = cli("evaluate", "-m", "AP", "--judged", "runs", "--format", "csv")

    assert code == 0, err
    table = read_table(out).set_index("name")
    for name, row in table.iterrows():
        is_judged: dict[str, list[bool]] = {}  # by topic
        for line in (trec_files / "runs" / f"{name}.run").read_text().splitlines():
            qid, _q0, docno, *_ = line.split()
            is_judged.setdefault(qid, []).append((qid, docno) in judged)
        fractions = [np.mean(of_topic) for of_topic in is_judged.values()]
        assert row["judged@10 credibility"] == pytest.approx(np.mean(fractions))
        assert row["judged@10 relevance"] == 1


def test_judged_fractions_are_written_to_files(cli, trec_files):
    _, out, _ = cli("evaluate", "-m", "AP", "--judged", "runs", "--format", "csv")
    code, _, err = cli("evaluate", "-m", "AP", "--judged", "-o", "judged.csv", "runs")
    assert code == 0, err
    assert read_table((trec_files / "judged.csv").read_text()).equals(read_table(out))


def test_a_faulty_run_is_an_error(cli, trec_files):
    (trec_files / "runs" / "faulty.run").write_text("q1 Q0 d1 1\n")
    code, out, err = cli("evaluate", "-m", "AP", "runs")
    assert (code, out) == (2, "")
    assert "runs/faulty.run:1: expected 6 fields" in err


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--test", "permutation"], "--test requires --baseline"),
        (
            ["--baseline", "beta", "--test", "ttest"],
            "--test: expected one of bootstrap, permutation, t, tukey",
        ),
        (
            ["--baseline", "beta", "--test", "tukey", "--correction", "fdr_bh"],
            "--test tukey corrects for the number of pairs itself: omit --correction fdr_bh",
        ),
        (["--correction", "holm"], "--correction requires --baseline"),
        (["-q", "--interval", "mean"], "--interval mean applies to means"),
        (["-q", "--baseline", "alpha"], "--baseline applies to means"),
        (["--baseline", "omega.run"], "expected one of the runs (alpha, beta, delta, gamma)"),
        (["--output", "table.doc"], ".csv, .tsv, .json"),
        (["--frmat", "csv"], "--format"),
    ],
)
def test_bad_options(cli, options, part):
    code, out, err = cli("evaluate", "-m", "AP", *options, "runs")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


@pytest.fixture
def mixed_extensions(trec_files):
    """Runs without a common extension, so that their names keep it: beta.run and delta.v2.run.gz."""
    (trec_files / "runs" / "delta.run").rename(trec_files / "runs" / "delta.v2.run.gz")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baseline", "name"),
    [
        ("beta", "beta.run"),
        ("runs/beta", "beta.run"),
        ("delta.v2", "delta.v2.run.gz"),
    ],
)
@pytest.mark.usefixtures("mixed_extensions")
def test_the_baseline_is_found_without_its_extension(cli, baseline, name):
    code, out, err = cli(
        "evaluate", "-m", "AP", "--baseline", baseline, "--format", "table", "runs"
    )
    assert code == 0
    assert "error" not in err
    assert f"† differs from {name} (" in out


@pytest.mark.slow
@pytest.mark.usefixtures("mixed_extensions")
def test_the_baseline_of_a_report_is_found_without_its_extension(cli, trec_files):
    pytest.importorskip("vl_convert")
    code, _, err = cli("report", "-m", "AP", "--baseline", "delta.v2", "-o", "page.html", "runs")
    assert code == 0
    assert "error" not in err
    page = (trec_files / "page.html").read_text(encoding="utf-8")
    assert re.search(r'<option value="\d" selected>delta.v2.run.gz</option>', page)


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        ("gama", "gamma.run, beta.txt), got 'gama'. Did you mean gamma?"),
        ("beta", "'beta' may be beta.run or beta.txt; give its whole name"),
    ],
)
def test_a_baseline_that_is_not_one_run(cli, trec_files, baseline, message):
    (trec_files / "beta.txt").write_bytes((trec_files / "runs" / "beta.run").read_bytes())
    for command in (["evaluate"], ["report", "-o", "page.html"]):
        code, _, err = cli(*command, "-m", "AP", "--baseline", baseline, "runs", "beta.txt")
        assert code == 2
        assert err.startswith("pt-multiaspect: error: --baseline: ")
        assert err.endswith(f"{message}\n")


def test_the_hint_is_not_behind_a_long_list_of_names(cli, trec_files):
    """Kind: errors about one of many names. A misspelt --baseline gave a line of 754 characters."""
    run = (trec_files / "runs" / "beta.run").read_bytes()
    for number in range(40):
        (trec_files / "runs" / f"a_system_with_a_long_name_{number:03}.run").write_bytes(run)
    misspelt = [
        ("gama", "(44 in total), got 'gama'. Did you mean gamma?\n"),
        ("x", "; add it to the runs\n"),
    ]
    for text, part in misspelt:
        code, _, error = cli("evaluate", "-m", "AP", "--baseline", text, "runs")
        assert (code, error.endswith(part), len(error) < 350) == (2, True, True), error
    options = ["-m", "AP", *(f"m{number}_of_a_long_name=AP" for number in range(40))]
    code, _, error = cli("evaluate", *options, "--sort", "m7_of_a_long_nam", "runs")
    assert "(42 in total), got m7_of_a_long_nam. Did you mean m7_of_a_long_name?" in error
    assert len(error) < 200


def test_memory_that_is_lacking_is_one_line(cli, monkeypatch):
    """Kind: MemoryError in any command. It was a traceback."""

    def exhaust(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("pt_multiaspect.cli.verb.evaluate", exhaust)
    monkeypatch.setattr("pt_multiaspect.cli.verb.read_all_qrels", lambda *_, **__: exhaust())
    for command in (["evaluate", "-m", "AP", "runs"], ["correlate", "-m", "AP", "nDCG", "runs"]):
        code, out, error = cli(*command)
        assert (code, out) == (1, "")
        assert error.startswith(
            "pt-multiaspect: error: out of memory: evaluate fewer runs or measures at a time"
        )
        assert error.count("\n") == 1


@pytest.mark.every(4)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "md", "tex"])
def test_output_is_a_file_in_the_format_of_its_suffix(cli, trec_files, suffix):
    code, out, _ = cli("evaluate", "-m", "AP my_AP=AP", "-o", f"table.{suffix}", "runs")
    assert (code, out) == (0, "")
    printed = cli("evaluate", "-m", "AP my_AP=AP", "--format", suffix, "runs")[1]
    assert (trec_files / f"table.{suffix}").read_text(encoding="utf-8") == printed
    expected = aggregate(_values(trec_files, ["AP"]))["AP"]
    if suffix in ("csv", "tsv"):
        rows = csv.DictReader(io.StringIO(printed), delimiter={"csv": ",", "tsv": "\t"}[suffix])
        assert [float(row["AP"]) for row in rows] == expected.tolist()
    elif suffix == "json":
        assert [row["AP"] for row in json.loads(printed)] == expected.tolist()
    else:
        assert f"{expected[0]:.4f}" in printed
        assert r"my\_AP" in printed


@pytest.mark.slow
def test_latex_is_that_of_systems_table(cli, trec_files):
    options = ["--baseline", "beta", "--interval", "mean", "--sort", "CAM@3", "--format", "tex"]
    code, out, _ = cli("evaluate", "-m", "CAM@3 RR", *options, "runs")
    assert code == 0

    values = _values(trec_files, ["CAM@3", "RR"])
    means = aggregate(values).set_index("name")["CAM@3"]
    best_first = means.sort_values(ascending=False).index
    in_order = pd.concat([values[values["name"] == name] for name in best_first])
    expected = systems_table(in_order, baseline="beta", interval="mean", decimals=4)
    assert out == expected.to_latex()
    assert out.index("alpha") < out.index("delta")


def test_latex_of_values_per_query(cli):
    """A row for each of four runs and six topics, below the head."""
    _, out, _ = cli("evaluate", "-m", "my_AP=AP", "-q", "--format", "tex", "runs")
    assert out.startswith("% requires \\usepackage{booktabs}\n")
    n_rows = out.count(r"\\")
    assert n_rows == 1 + 4 * 6
    assert r"my\_AP" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["evaluate", "-m", "CAM@3 RR", "runs"], id="means"),
        pytest.param(["evaluate", "-m", "AP", "-q", "runs"], id="values per query"),
        pytest.param(
            ["compare", "-m", "AP", "runs/alpha.run", "runs/delta.run"], id="a comparison"
        ),
    ],
)
def test_latex_is_one_kind_of_table(cli, trec_files, arguments):
    """Whatever a table has, it begins and ends alike."""
    code, _, err = cli(*arguments, "-o", "table.tex")
    assert code == 0, err
    latex = (trec_files / "table.tex").read_text(encoding="utf-8")
    assert latex.startswith("% requires \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\")
    assert latex.endswith("\\end{table}\n")


@pytest.mark.slow
def test_latex_of_a_comparison(cli, trec_files):
    code, _, err = cli(
        "compare", "-m", "AP", "-o", "compared.tex", "runs/alpha.run", "runs/delta.run"
    )
    assert code == 0, err
    latex = (trec_files / "compared.tex").read_text(encoding="utf-8")
    assert r"$-$" in latex  # the sign of negative differences
    assert "\ndelta against alpha; 95 \\% interval by Student's t, verdict by" in latex


@pytest.mark.slow
def test_latex_of_judged_fractions(cli):
    """Two further columns, with heads of several lines; all documents of the four runs are judged."""
    _, plain, _ = cli("evaluate", "-m", "CAM@3 RR", "--format", "tex", "runs")
    _plain_head, *plain_rows = _rows(plain)

    code, out, _ = cli("evaluate", "-m", "CAM@3 RR", "--judged", "--format", "tex", "runs")

    assert code == 0
    *head_lines, row_1, row_2, row_3, row_4 = _rows(out)
    cells_of_lines = [line.removesuffix(r" \\").split(" & ") for line in head_lines]
    heads = ["".join(column) for column in zip(*cells_of_lines, strict=True)]
    assert heads == ["", "CAM@3", "RR", "judged@10" + "relevance", "judged@10" + "credibility"]
    for row, plain_row in zip((row_1, row_2, row_3, row_4), plain_rows, strict=True):
        assert row == plain_row.removesuffix(r" \\") + r" & 1.0000 & 1.0000 \\"


@pytest.mark.slow
def test_latex_of_measures_over_different_topics(cli, trec_files):
    """The topic q0 has no relevant document, and counts for credibility only."""
    qrels = trec_files / "relevance.txt"
    lines = []
    for line in qrels.read_text().splitlines():
        qid, _iteration, docno, label = line.split()
        lines.append(f"{qid} 0 {docno} {0 if qid == 'q0' else label}")
    qrels.write_text("\n".join(lines))

    code, out, err = cli(
        "evaluate", "-m", "AP On(aspect=credibility,base=AP)", "--baseline", "beta",
        "--aspects", "scales.json", "--average-over", "positive", "--format", "tex", "runs",
    )  # fmt: skip

    assert code == 0, err
    note = r"\nMeans over the topics with a positive document, of 6 judged: AP 5, .* 6\.\n"
    assert re.search(note, out)
    assert r"\textbf{" in out
    assert out.count(r"\dagger") >= 5


@pytest.mark.slow
def test_latex_of_a_suite(cli):
    """A comment says how official values can differ."""
    suite = ("--suite", "multi-aspect", "--aspects", "scales.json")
    _, out, _ = cli("evaluate", *suite, "--format", "tex", "runs")
    _requirement, comment, *_ = out.splitlines()
    comment_begins = "% How official values can differ: pt-multiaspect measures --suites"
    assert comment.startswith(comment_begins)


def _rows(latex):
    """The rows of a table, the heads first."""
    return [line for line in latex.splitlines() if line.endswith(r"\\")]


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "line",
    [
        [
            "evaluate",
            "-m",
            "AP nDCG@3",
            "--baseline",
            "beta",
            "runs",
        ],  # missing integers, and booleans
        ["evaluate", "-m", "AP", "-q", "runs"],
        ["compare", "-m", "AP", "runs/alpha.run", "runs/beta.run"],
        ["correlate", "-m", "AP nDCG@3", "runs"],
    ],
)
def test_parquet_has_the_values_and_types_of_the_table(cli, trec_files, line):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert cli(*line, "-o", "table.parquet")[:2] == (0, "")
    columns = parquet.read_table("table.parquet").to_pydict()
    assert cli(*line, "-o", "table.json")[:2] == (0, "")
    rows = json.loads((trec_files / "table.json").read_text())
    assert columns == {name: [row[name] for row in rows] for name in rows[0]}
    assert {name: {type(value) for value in values} for name, values in columns.items()} == {
        name: {type(row[name]) for row in rows} for name in rows[0]
    }


def test_without_pyarrow_nothing_is_computed(cli, trec_files, monkeypatch):
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    monkeypatch.setattr("pt_multiaspect.cli.verb.evaluate", None)
    code, out, err = cli("evaluate", "-m", "AP", "-o", "table.parquet", "runs")
    assert (code, out) == (2, "")
    assert err.startswith("pt-multiaspect: error: --output: writing Parquet files requires PyArrow")
    assert "pip install 'pt-multiaspect[parquet]'" in err
    assert not (trec_files / "table.parquet").exists()


def test_a_file_that_cannot_be_written(cli):
    code, out, err = cli("evaluate", "-m", "AP", "-o", "nowhere/table.csv", "runs")
    assert (code, out) == (2, "")
    assert "--output: there is no directory nowhere; create it first" in err
    assert err.count("\n") == 1


# -- tables
# -------------------------------------------------------------------------------------------------


class _Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.every(2)
@pytest.mark.parametrize("width", [80, 40, 200])
def test_a_table_fits_the_terminal_with_every_digit(trec_files, monkeypatch, width):
    monkeypatch.chdir(trec_files)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    measures = "nDCG@5 CAM(base=nDCG,aspects={relevance:2,credibility:3})@5 AP P@1 P@2 P@3 R@5 RR Rprec P@4"
    arguments = [
        "--qrels",
        "relevance=relevance.txt",
        "credibility=credibility.txt",
        "-m",
        measures,
    ]
    assert main(["evaluate", *arguments, "runs"]) == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())
    assert plain != terminal.getvalue()  # the best values are bold
    assert max(map(len, plain.splitlines())) <= width
    expected = aggregate(_values(trec_files, list(parse_list([measures]).values())))
    for value in expected.iloc[:, 1:].to_numpy().ravel():
        assert f"{value:.4f}" in plain
    assert "…" not in plain


def test_small_and_missing_numbers():
    sheet = Sheet.of(pd.DataFrame({"name": ["a"], "x": [-1e-9], "y": [float("nan")], "n": [3]}))
    assert sheet.table.rows == [["a", "0.0000", "-", "3"]]
