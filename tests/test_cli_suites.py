"""Suites, topics and groups on the command line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
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
TARGET = {"gender": {"f": 0.5, "m": 0.5}}
MEMBERS = {"d1": "f", "d2": "m", "d3": "f"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with judgments, runs and groups, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for index, aspect in enumerate(("relevance", "correctness")):
        lines = [f"{qid} 0 {d} {both[index]}\n" for qid, judged in LABELS.items() for d, both in judged.items()]
        Path(f"{aspect}.qrels").write_text("".join(lines))
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} {at} {-at} x\n" for q, docnos in run.items() for at, d in enumerate(docnos, 1)]
        Path(name).write_text("".join(lines))
    Path("editors.json").write_text(json.dumps({"dimensions": {"gender": MEMBERS}, "target": TARGET}))
    rows = "".join(f"{docno}\t{group}\n" for docno, group in MEMBERS.items())
    Path("editors.tsv").write_text(f"docno\tgroup\n{rows}")
    return tmp_path


QRELS = ["--qrels", "relevance=relevance.qrels", "correctness=correctness.qrels"]


def table(capsys: pytest.CaptureFixture[str], *arguments: str) -> pd.DataFrame:
    code = main([*arguments, "--format", "csv"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return pd.read_csv(io.StringIO(captured.out))


def values(suite: object, **kwargs: object) -> pd.DataFrame:
    qrels = ma.read_qrels({aspect: f"{aspect}.qrels" for aspect in ("relevance", "correctness")})
    return ma.evaluate(list(RUNS), qrels, suite, progress=False, **kwargs)


def test_evaluate_a_suite(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = ma.suite("trec-misinfo-2022")
    means = table(capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", *RUNS)
    pd.testing.assert_frame_equal(means, ma.aggregate(values(suite)))
    everywhere = table(
        capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "--average-over", "judged", *RUNS
    )
    pd.testing.assert_frame_equal(everywhere, ma.aggregate(values(suite, average_over="judged")))
    assert (everywhere["nDCG useful"] < means["nDCG useful"]).all()
    # Baselines, per-query values and LaTeX, where the measures have different topics.
    tested = table(capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "--baseline", "one.run", *RUNS)
    assert tested["harmful compatibility +"].tolist()[1] == 2
    by_query = table(capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "-q", *RUNS).set_index(
        ["name", "qid"]
    )
    assert by_query["P@10 useful and incorrect"].notna().groupby("name").sum().tolist() == [
        3,
        3,
    ]  # q1, q4 and the mean
    assert main(["evaluate", *QRELS, "--suite", "trec-misinfo-2022", *RUNS, "-o", "table.tex"]) == 0
    assert "of 4 judged: nDCG useful 3" in Path("table.tex").read_text()
    # For people: how many topics each mean is over, and where to read about differences.
    main(["evaluate", *QRELS, "--suite", "trec-misinfo-2022", *RUNS, "--format", "md"])
    text = capsys.readouterr().out
    assert "of 4 judged: nDCG useful 3, P@10 useful and correct 3, P@10 useful and incorrect 2" in text
    assert "pt-multiaspect measures --suites trec-misinfo-2022" in text


def test_measures_beside_a_suite_and_of_it(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = ma.suite("trec-misinfo-2022")
    means = table(capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "-m", "AP", *RUNS)
    assert list(means.columns) == ["name", *suite, "AP"]
    label = "P@10 useful and incorrect"
    some = table(capsys, "evaluate", *QRELS, "--suite", "trec-misinfo-2022", "-m", label, "-m", "AP", *RUNS)
    assert list(some.columns) == ["name", label, "AP"]
    assert some[label].tolist() == means[label].tolist() == [0.1, 0.05]  # of q1 and q4
    main(["explain", *QRELS, "--suite", "trec-misinfo-2022", "-m", label, "--query", "q1", "one.run"])
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
    correlated = table(capsys, "correlate", *QRELS, "--suite", name, "-m", "nDCG useful", "-m", "AP", *RUNS)
    assert correlated["measure"].tolist() == ["nDCG useful", "AP"]
    bounds = table(
        capsys, "bounds", *QRELS, "--suite", name, "-m", "nDCG useful", "-m", "P@10 useful and incorrect"
    )
    assert bounds[["measure", "queries", "mean value"]].to_numpy().tolist() == [["nDCG useful", 3, 1.0]]
    everywhere = table(capsys, "bounds", *QRELS, "--suite", name, "-m", "nDCG useful", "--average-over", "judged")
    assert everywhere["queries"].item() == 4
    assert main(["describe", *QRELS, "--suite", name]) == 0
    assert "P@10 useful and incorrect" in capsys.readouterr().out
    label = "helpful minus harmful"
    axioms = table(capsys, "axioms", "--suite", name, "-m", label, "--trials", "50", "--property", "swap")
    assert axioms["measure"].tolist() == [label]


def test_the_recommended_suite_takes_the_scales(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scales = '{"relevance": 2, "correctness": {"grades": [-1, 0, 1, 2]}}'
    means = table(capsys, "evaluate", *QRELS, "--suite", "multi-aspect", "--aspects", scales, *RUNS)
    suite = ma.suite("multi-aspect", aspects=json.loads(scales))
    pd.testing.assert_frame_equal(means, ma.aggregate(values(suite)))


@pytest.mark.parametrize("file", ["editors.json", "editors.tsv"])
def test_groups(files: Path, capsys: pytest.CaptureFixture[str], file: str) -> None:
    """With a target, or with that of the relevant documents, of which q3 has none."""
    Path("two.qrels").write_text("q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 1\n")
    target = TARGET if file == "editors.json" else None
    groups = ma.Groups({"gender": MEMBERS}, target=target, name=f"cli-{file.split('.')[1]}")
    means = table(capsys, "evaluate", "--qrels", "two.qrels", "-m", "AWRF@2 F=GFR", "--groups", file, "one.run")
    measures = {"AWRF@2": ma.AWRF(groups=groups) @ 2, "F": ma.GFR(groups=groups)}
    wanted = ma.aggregate(ma.evaluate(["one.run"], ma.read_qrels("two.qrels"), measures, progress=False))
    pd.testing.assert_frame_equal(means, wanted)
    named = table(
        capsys, "evaluate", "--qrels", "two.qrels", "-m", "A=AWRF(groups=editors)@2", "--groups", file, "one.run"
    )
    assert named["A"].tolist() == means["AWRF@2"].tolist()


def test_a_fairness_suite(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.qrels").write_text("q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 1\n")
    arguments = [
        "evaluate",
        "--qrels",
        "two.qrels",
        "--suite",
        "trec-fair-2022",
        "--groups",
        "editors.json",
        "one.run",
    ]
    means = table(capsys, *arguments)
    groups = ma.Groups({"gender": MEMBERS}, target=TARGET, name="cli-fair")
    suite = ma.suite("trec-fair-2022", groups=groups)
    wanted = ma.aggregate(ma.evaluate(["one.run"], ma.read_qrels("two.qrels"), suite, progress=False))
    pd.testing.assert_frame_equal(means, wanted)


JUDGED_2021 = {  # usefulness, supportiveness, credibility
    "101": {"d1": (2, 2, 1), "d2": (1, 0, 2), "d3": (0, -1, -1)},
    "102": {"d1": (1, 0, 0), "d2": (1, 2, 1), "d3": (0, -2, -2)},
}
OFFICIAL = "qrels.2021"
AS_2021 = ["--qrels", f"relevance,supportiveness,credibility={OFFICIAL}", "--suite", "trec-misinfo-2021"]


@pytest.fixture
def misinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The qrels of the track of 2021 as they are published, with the stances of the topics and a run."""
    monkeypatch.chdir(tmp_path)
    rows = [(qid, docno, *labels) for qid, judged in JUDGED_2021.items() for docno, labels in judged.items()]
    Path(OFFICIAL).write_text("".join(f"{qid} 0 {docno} {u} {s} {c}\n" for qid, docno, u, s, c in rows))
    Path("stances.txt").write_text("101 helpful\n102\tUnhelpful\n103 helpful\n")
    Path("x.run").write_text("".join(f"{qid} Q0 {docno} 1 {docno[1]} x\n" for qid, docno, *_ in rows))
    return tmp_path


def test_stances_make_correctness_of_supportiveness(misinfo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = ma.read_qrels(OFFICIAL, aspects=["relevance", "supportiveness", "credibility"])
    qrels["correctness"] = ma.orders.correctness(qrels, {"101": "helpful", "102": "unhelpful"}, 2021)
    wanted = ma.evaluate(["x.run"], qrels, ma.suite("trec-misinfo-2021"), progress=False)
    means = table(capsys, "evaluate", *AS_2021, "--stances", "stances.txt", "x.run")
    pd.testing.assert_frame_equal(means, ma.aggregate(wanted))
    trusted = ["--qrels", f"relevance,correctness,credibility={OFFICIAL}", *AS_2021[2:]]
    assert not table(capsys, "evaluate", *trusted, "x.run").equals(means)
    plain = table(capsys, "evaluate", *AS_2021[:2], "--stances", "stances.txt", "-m", "NumRet", "x.run")
    assert plain["NumRet"].tolist() == [6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (AS_2021, "the qrels have supportiveness, whose meaning depends on the topic: add --stances FILE"),
        (
            [*AS_2021, "--stances", "two.txt"],
            "error: --stances: expected one stance of topic 101, got helpful and unhelpful",
        ),
        (
            [*AS_2021, "--stances", "short.txt"],
            "error: --stances: expected an answer for every topic of the qrels, got none for 102 (1 topic);",
        ),
        (
            [*AS_2021, "--stances", "lone.txt"],
            "error: --stances: lone.txt:1: expected a query id, a blank and the name of its stance",
        ),
        ([*AS_2021, "--stances", "answers.txt"], "expected answers (helpful, unhelpful), got yes"),
        ([*AS_2021, "--stances", "missing.txt"], "error: --stances: missing.txt: no such file"),
        (
            ["--qrels", f"relevance,correctness,credibility={OFFICIAL}", *AS_2021[2:], "--stances", "stances.txt"],
            "--stances has no effect: the qrels have correctness already",
        ),
        (
            ["--qrels", f"relevance,credibility,x={OFFICIAL}", "-m", "AP", "--stances", "stances.txt"],
            "expected a column 'supportiveness'",
        ),
    ],
)
def test_bad_stances(misinfo: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
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
        (["--groups", "editors.json"], "missing measures"),
        (["--suite", "trec-misinfo-2023"], "got trec-misinfo-2023"),
        (["--suite", "clef-ehealth-2017"], "the persistence of RBP"),
        (["--suite", "multi-aspect"], "--aspects FILE"),
        (["--suite", "trec-fair-2022"], "--groups FILE"),
        (
            ["--suite", "trec-misinfo-2022", "--aspects", '{"relevance": 2, "correctness": 2}'],
            "declares its own label scales: omit --aspects",
        ),
        (["--suite", "trec-misinfo-2022", "--groups", "editors.json"], "takes no groups"),
        (["--suite", "trec-misinfo-2022", "-m", "AP", "--groups", "editors.json"], "--groups has no effect"),
        (["--suite", "trec-misinfo-2022", "-m", "'nDCG useful'=AP"], "is the name of a measure of the suite"),
        (["-m", "AP", "--groups", "editors.json"], "--groups has no effect: none of AP evaluates groups"),
        (["-m", "AWRF", "--groups", "nothing.json"], "--groups: no such file: nothing.json"),
        (["-m", "AWRF"], "AWRF requires groups: add --groups FILE"),
        (["-m", "AWRF", "--groups", "editors.json", "--average-over", "positive"], "use --average-over judged"),
    ],
)
def test_errors(files: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    assert main(["evaluate", *QRELS, *options, "one.run"]) == 2
    assert message in capsys.readouterr().err


def test_measures_lists_suites(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", "--suites"]) == 0
    text = capsys.readouterr().out
    for name in (*SUITES, *NOT_OFFERED):
        assert name in text
    assert "(requires --aspects)" in text
    assert "--divergence" not in text  # no such option
    assert "(Python only, requires groups and divergence)" in text
    for name in SUITES:
        assert main(["measures", "--suites", name]) == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"{name}: ")
    assert main(["measures", "--suites", "trec-misinfo-2021"]) == 0
    assert capsys.readouterr().out == f"{ma.suite('trec-misinfo-2021')}\n"
    assert main(["measures", "--suites", "trec-decision-2019"]) == 2
    assert "there is no suite for trec-decision-2019" in capsys.readouterr().err


# --- files of groups ----------------------------------------------------------------------------


def test_a_table_of_several_dimensions(files: Path) -> None:
    Path("both.csv").write_text(
        "docno,dimension,group,share\nd1,gender,f,1\nd2,gender,f,.5\nd2,gender,m,.5\n007,place,north,1\n"
    )
    groups = ma.Groups.from_file("both.csv")
    assert groups == ma.Groups(
        {"gender": {"d1": "f", "d2": {"f": 0.5, "m": 0.5}}, "place": {"007": "north"}}, name="both"
    )
    assert not groups.has_target


def test_json_with_tables_beside_it(files: Path) -> None:
    (files / "inside").mkdir()
    Path("inside/gender.tsv").write_text("docno\tgroup\nd1\tf\nd2\tm\nd3\tf\n")
    content = {"name": "other", "dimensions": {"gender": "gender.tsv"}, "target": TARGET}
    Path("inside/groups.json").write_text(json.dumps(content))
    assert ma.Groups.from_file("inside/groups.json") == ma.Groups({"gender": MEMBERS}, target=TARGET, name="other")


def test_a_file_whose_name_is_no_name_of_groups(files: Path) -> None:
    Path("2022 groups.csv").write_text("docno,group\nd1,f\n")
    assert ma.Groups.from_file("2022 groups.csv").name.startswith("groups-")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.txt", "", "expected a file of groups that ends in"),
        ("g.csv", "docno,gender\nd1,f\n", "expected a header with the columns docno and group"),
        ("g.csv", "docno,group\nd1,\n", "expected a group in every row, got none in row 1"),
        ("g.csv", "docno,group,share\nd1,f,half\n", "expected numbers as shares, got 'half'"),
        ("g.csv", "docno,group,share\nd1,f,2\n", "expected shares from 0 to 1, got 2 for document d1"),
        (
            "g.csv",
            "docno,group\nd1,f\nd1,f\n",
            "group: expected distinct documents in each group, got several ('d1', 'f')",
        ),
        ("g.csv", "docno,group\nd1,f,more\n", "as many fields in each row"),
        ("g.csv", 'docno,group\nd1,f\n"d2,f\nd3",m\nd4,f\n', "after line 3; write quotes"),
        ("g.tsv", 'docno\tgroup\n"d1\tf\nd2\tm\nd3"\tm\n', "after line 2; write quotes"),
        ("g.csv", 'docno,group\nd1,f\n"d2,f\nd3,m\n', "after line 3; write quotes"),
        ("g.json", "[]", "the keys dimensions and, optionally, target and name, got list"),
        ("g.json", '{"dimension": {}}', "the keys dimensions and, optionally, target and name, got dimension"),
        ("g.json", '{"dimensions": []}', "dimensions: expected a JSON object"),
        ("g.json", '{"dimensions": {"a": {"d": "f"}, "a": {"d": "m"}}}', "expected each key once"),
        ("g.json", '{"dimensions": {"a": "b.tsv"}}', "b.tsv: no such file"),
        ("g.json", '{"dimensions": {"a": "b.txt"}}', "b.txt: expected a table of memberships that ends in"),
        ("g.json", '{"dimensions": {"a": {"d": "f"}}, "target": {"a": {"f": 0.5}}}', "sum to 1"),
    ],
)
def test_faulty_files(files: Path, name: str, text: str, message: str) -> None:
    Path(name).write_text(text)
    with pytest.raises(MultiAspectError) as raised:
        ma.Groups.from_file(name)
    assert str(raised.value).startswith(f"{name}: ")
    assert str(raised.value).count(name) == 1
    assert message in str(raised.value)


def test_quotes_in_tables(files: Path) -> None:
    Path("quoted.csv").write_text('docno,group\n"d,1","f ""x"""\n"""d2",5" disk\r\n\nd3,m\n')
    expected = {"d,1": 'f "x"', '"d2': '5" disk', "d3": "m"}
    assert ma.Groups.from_file("quoted.csv") == ma.Groups({"group": expected}, name="quoted")


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["g.csv", "g.csv.gz", "g.tsv", "g.csv.bz2", "g.csv.zst", "g.json", "g.json.gz"])
@pytest.mark.parametrize("form", ["gzip", "bzip2", "Zstandard"])
def test_compressed_files_are_known_by_their_content(files: Path, name: str, form: str) -> None:
    compress = {"gzip": gzip.compress, "bzip2": bz2.compress}.get(form)
    if compress is None:
        compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    table = "docno,group\nd1,f\nd2,m\n"
    text = '{"dimensions": {"group": {"d1": "f", "d2": "m"}}}' if "json" in name else table
    data = compress((text.replace(",", "\t") if "tsv" in name else text).encode())
    Path(name).write_bytes(data)
    assert ma.Groups.from_file(name) == ma.Groups({"group": {"d1": "f", "d2": "m"}}, name="g")
    Path(name).write_bytes(data[:-6])
    with pytest.raises(MultiAspectError, match=f"^{re.escape(name)}: a damaged {form} file: ") as raised:
        ma.Groups.from_file(name)
    assert str(raised.value).count(name) == 1
