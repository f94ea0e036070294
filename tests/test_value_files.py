"""Values in the formats of trec_eval, TREC tracks and ir-measures."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

import pt_multiaspect as ma
from pt_multiaspect.evaluation.value_files import FORMATS, format_values

QRELS = ("relevance=relevance.txt", "credibility=credibility.txt")
MEASURES = "nDCG@10 AP NumRet ESL(wanted=1) CAM@3"


def command_values(*runs: str) -> pd.DataFrame:
    """The values that the command line writes."""
    qrels = ma.read_qrels(dict(pair.split("=") for pair in QRELS))
    scales = ma.Aspects.from_file("scales.json")
    measures = [
        "nDCG@10",
        "AP",
        "NumRet",
        ma.ESL(wanted=1).on("relevance", scales),
        ma.CAM(aspects=scales) @ 3,
    ]
    labels = MEASURES.split()
    named = {run: f"runs/{run}" for run in runs}
    if len(runs) > 1:  # whose extension is in common
        named = {run.removesuffix(".run"): path for run, path in named.items()}
    return ma.evaluate(named, qrels, dict(zip(labels, measures, strict=True)), progress=False)


OPTIONS = ("-m", MEASURES, "--aspects", "scales.json", "-q")


def runs_of_format(format: str) -> list[str]:
    """Files of trec_eval have the values of one run, those of other formats of several."""
    return ["alpha.run"] if format == "trec_eval" else ["alpha.run", "beta.run"]


@pytest.mark.every(6)
@pytest.mark.parametrize("format", FORMATS)
def test_own_values_are_read_back_exactly(cli, trec_files, format):
    """What is printed or written by `evaluate` is read by `read_values`, without loss."""
    runs = runs_of_format(format)
    paths = [f"runs/{run}" for run in runs]
    code, printed, _ = cli("evaluate", *OPTIONS, "--format", format, *paths)
    assert code == 0
    code, out, _ = cli("evaluate", *OPTIONS, "--format", format, "-o", "values.txt", *paths)
    assert (code, out) == (0, "")
    assert (trec_files / "values.txt").read_text() == printed

    expected = command_values(*runs)
    read = ma.read_values("values.txt", format=format)
    pd.testing.assert_frame_equal(read, expected, check_exact=True)
    pd.testing.assert_frame_equal(ma.aggregate(read), ma.aggregate(expected))


@pytest.mark.every(6)
@pytest.mark.parametrize("format", [format for format in FORMATS if format != "jsonl"])
def test_aggregates_are_written_in_full(cli, format):
    """The lines of the topic "all" have the aggregates of each run, with all digits; JSON lines have none."""
    runs = runs_of_format(format)
    _, printed, _ = cli("evaluate", *OPTIONS, "--format", format, *[f"runs/{run}" for run in runs])
    written = []
    for line in printed.splitlines():
        fields = line.split("\t")
        if "all" in fields and "runid" not in fields:
            # The last field, or in the format of rankings the one before: q1 Q0 run 1 0.5 AP.
            written.append(fields[-2] if format == "ranking" else fields[-1])
    aggregates = ma.aggregate(command_values(*runs)).drop(columns="name")
    assert written == [str(float(value)) for value in aggregates.to_numpy().ravel()]


@pytest.mark.parametrize("format", FORMATS)
def test_without_q_only_aggregates_are_written(cli, trec_files, format):
    """One line for the one measure, below a line with the name of the run in the format of trec_eval."""
    code, out, err = cli("evaluate", "-m", "AP", "--format", format, "runs/alpha.run")
    assert (code, err) == (0, "")
    n_lines = 2 if format == "trec_eval" else 1
    assert len(out.splitlines()) == n_lines
    (trec_files / "values.txt").write_text(out)
    with pytest.raises(ma.MultiAspectError, match=r"got only aggregates \(topic all\)"):
        ma.read_values("values.txt", format=format)


def test_the_lines_are_those_of_the_tools(cli):
    lines = {}
    for format in FORMATS:
        code, out, _ = cli("evaluate", "-m", "AP", "-q", "--format", format, "runs/alpha.run")
        assert code == 0
        lines[format] = out.splitlines()
    value = command_values("alpha.run").query("measure == 'AP' and qid == 'q0'")["value"].item()
    assert lines["trec_eval"][0] == f"AP\tq0\t{value!r}"
    assert lines["trec_eval"][-2] == "runid\tall\talpha.run"
    assert lines["trec_eval"][-1].startswith("AP\tall\t")
    assert lines["tot"][0] == f"alpha.run\tAP\tq0\t{value!r}"
    assert lines["ir_measures"][0] == f"alpha.run\tq0\tAP\t{value!r}"
    assert lines["ranking"][0] == f"q0\tQ0\talpha.run\t0\t{value!r}\tAP"
    assert json.loads(lines["jsonl"][0]) == {
        "run_id": "alpha.run",
        "topic_id": "q0",
        "measure": "AP",
        "value": value,
    }


def test_lines_have_the_order_of_the_runs(cli, trec_files):
    code, out, _ = cli("evaluate", "-m", "AP", "--sort", "AP", "--format", "tot", "runs")
    means = cli("evaluate", "-m", "AP", "--sort", "AP", "--format", "csv", "runs")[1]
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()] == [
        row.split(",")[0] for row in means.split()[1:]
    ]


names = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=8).filter(
    lambda x: x != "all"
)


@pytest.mark.every(3)
@pytest.mark.parametrize("format", FORMATS)
@given(
    keys=st.lists(st.tuples(names, names), min_size=1, max_size=6, unique=True),
    numbers=st.lists(st.floats(allow_nan=False), min_size=6, max_size=6),
)
def test_every_number_and_name_comes_back(tmp_path_factory, format, keys, numbers):
    rows = [
        ("run", qid, measure, value) for (qid, measure), value in zip(keys, numbers, strict=False)
    ]
    values = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    labels = [label for label in values["measure"].unique() if label not in ("runid", "num_q")]
    values = values[values["measure"].isin(labels)].reset_index(drop=True)
    if not len(values):
        return
    means = pd.DataFrame({"name": ["run"], **{label: [0.5] for label in labels}})
    path = tmp_path_factory.getbasetemp() / f"{format}.txt"
    path.write_text(format_values(values, means, format), encoding="utf-8", newline="\n")
    pd.testing.assert_frame_equal(
        ma.read_values(path, format=format), values, check_exact=True, check_dtype=False
    )


# -- files of the tools themselves
# ------------------------------------------------------------------


@pytest.mark.parametrize("text", ["'1--0'", "0110", "1.0", "-"])
def test_texts_among_values_of_trec_eval(tmp_path, text):
    """Kind: values that are texts. `trec_eval -m all_trec -q` was refused for its relstring."""
    path = tmp_path / "all.eval"
    lines = [
        "runid all bm25",
        "map q1 0.5",
        f"relstring q1 {text}",
        f"relstring_20 q1 {text}",
        "map all 0.5",
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    values = ma.read_values(path, format="trec_eval")
    assert values.to_numpy().tolist() == [["bm25", "q1", "map", 0.5]]
    path.write_text(f"map q1 {text}x\n")  # other values must be numbers
    with pytest.raises(ma.MultiAspectError, match="expected a number as value"):
        ma.read_values(path, format="trec_eval")


def test_trec_evals_own_output(cli, trec_files):
    """The lines that trec_eval -q prints for one run, by pytrec_eval, which is trec_eval's code."""
    qrels = {}
    for qid, _, docno, label in map(
        str.split, (trec_files / "relevance.txt").read_text().splitlines()
    ):
        qrels.setdefault(qid, {})[docno] = int(label)
    run = {}
    for qid, _, docno, _, score, _ in map(
        str.split, (trec_files / "runs" / "alpha.run").read_text().splitlines()
    ):
        run.setdefault(qid, {})[docno] = float(score)
    kinds = {"map", "ndcg_cut_10", "P_5", "recip_rank", "num_ret"}
    scores = pytrec_eval.RelevanceEvaluator(qrels, kinds).evaluate(run)
    lines = [
        f"{kind:<22}\t{qid}\t{value:.0f}"
        if kind == "num_ret"
        else f"{kind:<22}\t{qid}\t{value:6.4f}"
        for qid, by_kind in scores.items()
        for kind, value in by_kind.items()
    ]
    lines += [
        f"{'runid':<22}\tall\tbm25",
        f"{'num_q':<22}\tall\t{len(scores)}",
        f"{'map':<22}\tall\t0.1234",
    ]
    (trec_files / "bm25.eval").write_text("\n".join(lines))
    with gzip.open(trec_files / "bm25.eval.gz", "wt") as file:
        file.write("\n".join(lines))
    result = ma.read_values("bm25.eval", format="trec_eval")
    assert set(result["name"]) == {"bm25"}
    assert set(result["qid"]) == set(qrels)
    assert set(result["measure"]) == kinds
    pd.testing.assert_frame_equal(result, ma.read_values("bm25.eval.gz", format="trec_eval"))
    assert set(ma.read_values("bm25.eval", format="trec_eval", name="mine")["name"]) == {"mine"}
    expected = ma.evaluate(
        {"bm25": "runs/alpha.run"}, ma.read_qrels("relevance.txt"), sorted(kinds), progress=False
    )
    both = result.merge(expected, on=["name", "qid", "measure"])
    assert len(both) == len(expected) == len(result)
    assert np.abs(both["value_x"] - both["value_y"]).max() <= 0.5001e-4
    means = ma.aggregate(result).iloc[0]
    assert means["num_ret"] == sum(map(len, run.values()))  # trec_eval adds counts, too


def test_rankings_of_autojudge(tmp_path):
    """A judge ranks the runs of each topic: the run is where a document would be, and the tag is the measure."""
    path = tmp_path / "judge.eval.txt"
    path.write_text(
        "28 Q0 bm25-rag 1 0.75 nugget_coverage\n28 Q0 dense-rag 2 0.5 nugget_coverage\n"
        "30 Q0 bm25-rag 2 0.25 nugget_coverage\n30 Q0 dense-rag 1 1 nugget_coverage\n"
        "all Q0 bm25-rag 2 0.5 nugget_coverage\nall Q0 dense-rag 1 0.75 nugget_coverage\n"
    )
    values = ma.read_values(path, format="ranking")
    expected = [
        ["bm25-rag", "28", 0.75],
        ["dense-rag", "28", 0.5],
        ["bm25-rag", "30", 0.25],
        ["dense-rag", "30", 1],
    ]
    assert values[["name", "qid", "value"]].to_numpy().tolist() == expected
    assert set(values["measure"]) == {"nugget_coverage"}
    assert ma.aggregate(values)["nugget_coverage"].tolist() == [0.5, 0.75]


@pytest.mark.every(3)
@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="ir-measures alone reads cutoffs by ast.Num"
)
@pytest.mark.parametrize(
    ("options", "format", "tolerance"),
    [
        pytest.param([], "ir_measures", 0.5001e-4, id="text, with four decimals"),
        pytest.param(["-o", "jsonl"], "jsonl", 1e-15, id="JSON lines, with all digits"),
    ],
)
def test_ir_measures_own_output(trec_files, monkeypatch, options, format, tolerance):
    """What the command ir_measures prints is read; the name of the run is that of the file, unless given."""
    monkeypatch.chdir(trec_files)
    arguments = [*options, "-q", "relevance.txt", "runs/alpha.run", "nDCG@10", "AP"]
    command = [sys.executable, "-m", "ir_measures", *arguments]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (trec_files / "alpha.txt").write_text(out)

    read = ma.read_values("alpha.txt", format=format, name="alpha")
    assert set(ma.read_values("alpha.txt", format=format)["name"]) == {"alpha.txt"}

    measures = [ir_measures.nDCG @ 10, ir_measures.AP]
    expected = ma.evaluate(
        {"alpha": "runs/alpha.run"}, ma.read_qrels("relevance.txt"), measures, progress=False
    )
    keys = ["name", "qid", "measure"]
    read_by_key = read.set_index(keys)["value"].to_dict()
    expected_by_key = expected.set_index(keys)["value"].to_dict()
    n_topics, n_measures = 6, 2
    assert len(read) == len(expected) == n_topics * n_measures
    assert read_by_key == pytest.approx(expected_by_key, rel=0, abs=tolerance)


def test_what_reads_long_frames_reads_these(cli, trec_files):
    (trec_files / "tot.txt").write_text(
        cli("evaluate", "-m", "nDCG@10 AP", "-q", "--format", "tot", "runs")[1]
    )
    result, expected = (
        ma.read_values("tot.txt", format="tot"),
        command_values(*sorted(p.name for p in (trec_files / "runs").iterdir())),
    )
    expected = expected[expected["measure"].isin(["nDCG@10", "AP"])].reset_index(drop=True)
    for analysis in (
        ma.aggregate,
        ma.systems_table,
        ma.analysis.correlation,
        lambda frame: ma.analysis.compare_with_baseline(frame, "alpha"),
    ):
        assert str(analysis(result)) == str(analysis(expected))


# -- what cannot be written or read
# -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (
            ["--format", "trec_eval", "runs"],
            ["expected one run, as no line names it, got alpha,", "use tot"],
        ),
        (
            ["-q", "--format", "tot", "my run=runs/alpha.run"],
            ["a name without blanks", "'my run'", "NAME=RUN"],
        ),
        (
            ["--format", "ir_measures", "-m", "'a b'=AP", "runs/alpha.run"],
            ["the name of a measure without blanks", "ALIAS=MEASURE"],
        ),
        (
            ["--format", "trec_eval", "-m", "num_q=AP", "runs/alpha.run"],
            ["'num_q' is the name of a measure (NumQ)"],
        ),
        (
            ["--format", "tot", "--interval", "mean", "runs"],
            ["--interval mean applies to means: omit it, or --format tot"],
        ),
        (["--format", "tot", "--baseline", "alpha", "runs"], ["--baseline applies to means"]),
        (["--format", "totl", "runs"], ["--format: expected one of table,", "Did you mean tot?"]),
    ],
)
def test_lines_that_cannot_be_read_are_not_written(cli, trec_files, arguments, parts):
    code, out, err = cli("evaluate", "-m", "AP", "-o", "values.txt", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert all(part in err for part in parts), err
    assert not (trec_files / "values.txt").exists()


def test_names_with_blanks_are_no_obstacle_to_json(cli, trec_files):
    code, out, _ = cli(
        "evaluate", "-m", "'a b'=AP", "-q", "--format", "jsonl", "my run=runs/alpha.run"
    )
    assert code == 0
    (trec_files / "values.txt").write_text(out)
    result = ma.read_values("values.txt", format="jsonl")
    assert (set(result["name"]), set(result["measure"])) == ({"my run"}, {"a b"})


@pytest.mark.parametrize("format", FORMATS)
def test_a_topic_all_is_not_written(cli, trec_files, format):
    for path in (trec_files / "relevance.txt", trec_files / "runs" / "alpha.run"):
        path.write_text(path.read_text().replace("q0 ", "all "))
    code, out, err = cli(
        "evaluate", "-m", "AP", "-q", "--format", format, "runs/alpha.run", qrels=("relevance.txt",)
    )
    assert (code, out) == (2, "")
    assert f"--format {format}: expected topics with other names than all" in err


@pytest.mark.parametrize(
    ("format", "text", "parts"),
    [
        ("tot", "", ["file is empty; expected lines `run measure topic value`"]),
        (
            "trec_eval",
            "map q1 0.5\nmap q2\n",
            [":2: expected lines `measure topic value`", "got 2 fields: 'map q2'"],
        ),
        ("trec_eval", "map q1 0.5 x\n", [":1:", "got 4 fields"]),
        ("trec_eval", "map q1 0,5\n", [":1: expected a number as value, got '0,5' (topic q1)"]),
        ("trec_eval", "map q1 1_0\n", [":1: expected a number as value, got '1_0'"]),
        (
            "trec_eval",
            "map q1 .5\nrunid all a\nmap q2 .5\nrunid all b\n",
            ["values of one run, got those of a, b"],
        ),
        ("trec_eval", "map q1 .5\nmap q1 .6\n", ["expected one value of map for", "on topic q1"]),
        ("trec_eval", "map all .5\n", ["got only aggregates", "-q"]),
        (
            "trec_eval",
            "q1 map .5\nall map .5\n",
            [":2: expected lines `measure topic value`", "got the measure all"],
        ),
        (
            "tot",
            "a q1 map .5\na all map .5\n",
            [":2: expected lines `run measure topic value`", "name another format"],
        ),
        ("ir_measures", "map\t0.5\n", ["got 2 fields", "--by_query prints values of topics"]),
        ("ir_measures", "a q1 map .5\nq1 map .5\n", [":2:", "got 3 fields"]),
        ("ir_measures", "a map q1 .5\na map all .5\n", [":2:", "got the measure all"]),
        (
            "jsonl",
            '{"run_id": "a", "topic_id": "q1", "measure": "map"}\n',
            [":1: expected JSON objects with the keys"],
        ),
        ("jsonl", "map q1 0.5\n", [":1: expected valid JSON, got 'map q1 0.5'"]),
        (
            "jsonl",
            '{"topic_id": "1", "measure": "map", "value": 0.1, "value": 0.9}\n',
            [":1: expected each key once in a JSON object"],
        ),
        ("jsonl", "[" * 100_000 + "\n", [":1: expected valid JSON, got one nested too deeply"]),
        ("jsonl", "[1, 2]\n", [":1: expected JSON objects"]),
        (
            "jsonl",
            '{"topic_id": null, "measure": "map", "value": 1}\n',
            [":1: expected JSON objects"],
        ),
        (
            "jsonl",
            '{"topic_id": "1", "measure": "map", "value": true}\n',
            [":1: expected a number as value, got True"],
        ),
        (
            "jsonl",
            '{"topic_id": "1", "measure": "map", "value": null}\n',
            [":1: expected a number as value, got None"],
        ),
        (
            "jsonl",
            (
                '{"topic_id": "1", "measure": "map", "value": 1}\n{"qid": "1", "measure": "map", '
                '"value": 1}\n'
            ),
            [":2:", "other keys than in lines before"],
        ),
        (
            "ranking",
            "q1 Q0 a 1 .5\n",
            [":1: expected lines `topic Q0 run rank value measure`, got 5 fields"],
        ),
        ("ranking", "q1 Q0 a 1 x map\n", [":1: expected a number as value, got 'x' (topic q1)"]),
        ("trec_eval", "map q1 \0\n", [":1: expected a number as value"]),
        (
            "tots",
            "x",
            [
                "format: expected a format (trec_eval, tot, ir_measures, ranking, jsonl), got tots",
                "Did you mean tot?",
            ],
        ),
    ],
)
def test_bad_files(tmp_path, format, text, parts):
    path = tmp_path / "values.txt"
    path.write_text(text)
    with pytest.raises(ma.MultiAspectError) as raised:
        ma.read_values(path, format=format)
    message = str(raised.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message


#: A line of JSON, and its text with half of the character 😀.
VALUE = '{"run_id": "r", "topic_id": "q1", "measure": "map", "value": 0.5, "note": "x"}'
CUT = "\\ud83d"


@pytest.mark.parametrize("text", ["r", "q1", "map", "x"])
def test_text_that_was_cut_within_a_character_is_an_error(tmp_path, text):
    """JSON writes 😀 as two halves, of which the third line has one: after the run, topic, measure or note."""
    path = tmp_path / "values.jsonl"
    cut_line = VALUE.replace(text, text + CUT, 1)
    path.write_text(f"{VALUE}\n\n{cut_line}\n")
    with pytest.raises(ma.MultiAspectError) as caught:
        ma.read_values(path, format="jsonl")
    message = str(caught.value)
    assert message.startswith(f"{path}:3: expected text that UTF-8 can represent, got ")
    assert f"{text}{CUT}" in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["r", "q1", "map", "x"])
def test_whole_characters_and_escaped_backslashes_are_no_cut_text(tmp_path, text):
    r"""Both halves of 😀, and then the text \ud83d, whose backslash is escaped."""
    path = tmp_path / "values.jsonl"
    both_halves = CUT + "\\ude00"
    escaped_backslash = "\\\\ud83d"
    path.write_text(VALUE.replace(text, text + both_halves + escaped_backslash, 1))
    assert len(ma.read_values(path, format="jsonl")) == 1


def test_the_name_of_a_run_with_half_of_a_character_is_an_error(tmp_path):
    (tmp_path / "values").write_text("map q1 0.5\n")
    with pytest.raises(
        ma.MultiAspectError,
        match=r"^name: expected text that UTF-8 can represent, got 'x\\ud83d': ",
    ):
        ma.read_values(tmp_path / "values", format="trec_eval", name="x\ud83d")


LINE_OF_FORMAT = {
    "trec_eval": "map q1 {value}",
    "tot": "r map q1 {value}",
    "ir_measures": "r q1 map {value}",
    "ranking": "q1 Q0 r 1 {value} map",
    "jsonl": '{{"run_id": "r", "topic_id": "q1", "measure": "map", "value": {value}, "note": "x"}}',
}


@pytest.mark.parametrize("value", ["1" + "0" * 400, "-1" + "0" * 400, "1" + "0" * 5000])
@pytest.mark.parametrize("format", FORMATS)
def test_a_value_of_many_digits_is_an_error(tmp_path, format, value):
    """No float is as large; the message does not repeat all digits."""
    path = tmp_path / "values"
    path.write_text(LINE_OF_FORMAT[format].format(value=value))
    with pytest.raises(ma.MultiAspectError) as caught:
        ma.read_values(path, format=format)
    message = str(caught.value)
    assert message.startswith(f"{path}:1: expected ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 500


@pytest.mark.parametrize("format", FORMATS)
def test_infinite_values_are_read(tmp_path, format):
    path = tmp_path / "values"
    infinity = "Infinity" if format == "jsonl" else "inf"
    path.write_text(LINE_OF_FORMAT[format].format(value=infinity))
    assert ma.read_values(path, format=format)["value"].tolist() == [float("inf")]


def test_the_name_of_a_run_is_given_where_it_lacks(tmp_path):
    path = tmp_path / "values.txt"
    path.write_text("a map q1 .5\n")
    with pytest.raises(ma.MultiAspectError, match=r"the lines of .* name their runs, got 'b'"):
        ma.read_values(path, format="tot", name="b")
    with pytest.raises(ma.MultiAspectError, match="expected None without format="):
        ma.read_values(tmp_path, name="b")
    with pytest.raises(ma.MultiAspectError, match="read lines with their format="):
        ma.read_values(path)
    with pytest.raises(ma.MultiAspectError, match="no such file"):
        ma.read_values(tmp_path / "none", format="tot")


pieces = st.sampled_from(
    [
        "map",
        "q1",
        "all",
        "runid",
        "0.5",
        "nan",
        "a",
        "{}",
        '{"qid": 1,',
        '"value": "x"}',
        "[",
        "\t",
        "\r",
    ]
)


def join_pieces(lines: list[list[str]]) -> bytes:
    return "\n".join(" ".join(line) for line in lines).encode()


def dump_row(row: dict[str, object]) -> bytes:
    return json.dumps(row).encode()


any_bytes = st.binary(max_size=40)
nearly_lines = st.lists(st.lists(pieces, max_size=5), max_size=4).map(join_pieces)
nearly_json = st.dictionaries(
    st.sampled_from(["run_id", "topic_id", "measure", "value"]),
    st.none() | st.text(max_size=3) | st.floats() | st.lists(st.integers(), max_size=2),
).map(dump_row)


@pytest.mark.parametrize("format", FORMATS)
@given(content=any_bytes | nearly_lines | nearly_json)
def test_any_content_is_read_or_refused(format, content):
    """No other error than that of the package, and no frame of another form."""
    try:
        result = ma.read_values(io.BytesIO(content), format=format)
    except ma.MultiAspectError:
        return
    assert list(result.columns) == ["name", "qid", "measure", "value"]
    assert result["value"].dtype == np.float64
    assert not (result["qid"] == "all").any()
