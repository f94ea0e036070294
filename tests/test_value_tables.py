"""Tables of values per topic, which the command line and pandas write, come back with their measures."""

from __future__ import annotations

import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import compare_with_baseline
from pt_multiaspect.cli import main
from pt_multiaspect.evaluation.long_frames import measures_by_label
from pt_multiaspect.evaluation.value_tables import with_definitions
from pt_multiaspect.integration.aggregators import lower_is_better
from pt_multiaspect.integration.parsing import UNIT_SCORE

#: Names of topics that are read as something else, and those that look like aggregates.
QIDS = ["001", "1e3", "NA", "null", "True", "1,5", "a b", 'say "x"', "é", "ALL"]
SUFFIXES = ["csv", "tsv", "json", "parquet"]
SCALES = '{"relevance": 2, "credibility": 3}'
MEASURES = ["nDCG@10", "cam=CAM@10", "ESL(wanted=2)", "cost=ESL(wanted=2)", "map"]


def lower_is_better_labels(values: pd.DataFrame) -> list[str]:
    measures = measures_by_label(values)
    return [
        label
        for label, measure in measures.items()
        if measure is not None and lower_is_better(measure)
    ]


def write_files(qids: list[str]) -> list[str]:
    """Write judgments and runs to the current directory; return the arguments of the command line."""
    rng = np.random.default_rng(7)
    for name, top in {"relevance": 3, "credibility": 4}.items():
        labels = {qid: {f"d{d}": int(rng.integers(top)) for d in range(9)} for qid in qids}
        Path(f"{name}.json").write_text(json.dumps(labels))
    for name in ("b,x", "a"):
        rows = [(qid, f"d{d}", rng.random()) for qid in qids for d in range(9)]
        pd.DataFrame(rows, columns=["qid", "docno", "score"]).to_parquet(name)
    qrels = ["relevance=relevance.json", "credibility=credibility.json"]
    return ["evaluate", "--qrels", *qrels, "--aspects", SCALES, "-m", *MEASURES, "-q"]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)


@pytest.mark.every(5)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_are_those_of_lines_of_json(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = write_files(QIDS)  # writes the values of each topic
    assert main([*command, "-o", f"values.{suffix}", "b,x", "a"]) == 0
    assert main([*command, "--format", "jsonl", "b,x", "a"]) == 0
    printed = io.BytesIO(capsys.readouterr().out.encode())
    expected = ma.read_values(printed, format="jsonl")
    pd.testing.assert_frame_equal(ma.read_values(f"values.{suffix}"), expected, check_exact=True)


@pytest.mark.every(5)
@pytest.mark.parametrize("qids", [QIDS, ["mean", "all"]], ids=" ".join)  # also names of aggregates
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_come_back_exactly(suffix: str, qids: list[str]) -> None:
    command = write_files(qids)
    assert main([*command, "-o", f"values.{suffix}", "b,x", "a"]) == 0

    result = ma.read_values(f"values.{suffix}")

    assert list(result.columns) == ["name", "qid", "measure", "value"]
    assert set(result["qid"]) == {*qids}
    *means_command, per_topic = command
    assert per_topic == "-q"
    assert main([*means_command, "-o", "means.csv", "b,x", "a"]) == 0
    # Any version of pandas rounds correctly if it reads text first.
    means = pd.read_csv("means.csv", dtype=str).set_index("name").astype(float)
    pd.testing.assert_frame_equal(
        ma.aggregate(result).set_index("name"), means, check_exact=True, check_index_type=False
    )


@pytest.mark.every(5)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_measures_come_back_with_the_values(suffix: str) -> None:
    """Values have the label of a measure; the file also has its definition, and so its direction."""
    command = write_files(QIDS)
    assert main([*command, "-o", f"values.{suffix}", "b,x", "a"]) == 0

    result = ma.read_values(f"values.{suffix}")

    scales = {"relevance": 2, "credibility": 3}
    esl = str(ma.ESL(wanted=2).on("relevance", scales))
    assert result.attrs["measures"] == {
        "cam": str(ma.CAM(aspects=scales) @ 10),
        "ESL(wanted=2)": esl,
        "cost": esl,
        "map": "AP",
    }
    # Lower is better, which the label "cost" does not say.
    assert list(lower_is_better_labels(result)) == ["ESL(wanted=2)", "cost"]
    wins = compare_with_baseline(result, "a").set_index("measure")["wins"]
    assert wins["cost"] == wins["ESL(wanted=2)"]


def test_what_a_terminal_prints_and_compressed_files(capsys: pytest.CaptureFixture[str]) -> None:
    command = write_files(QIDS)
    assert main([*command, "a"]) == 0
    printed = ma.read_values(io.BytesIO(capsys.readouterr().out.encode()))
    assert main([*command, "-o", "pq.csv", "a"]) == 0
    expected = ma.read_values("pq.csv")
    Path("pq.csv.gz").write_bytes(gzip.compress(Path("pq.csv").read_bytes()))
    Path("pq.csv").write_text(Path("pq.csv").read_text().replace("\n", "\r\n"), newline="")
    for result in (printed, ma.read_values("pq.csv.gz"), ma.read_values(Path("pq.csv"))):
        pd.testing.assert_frame_equal(result, expected, check_exact=True)
        assert result.attrs == expected.attrs


def test_topics_that_do_not_count_have_no_value() -> None:
    Path("q.json").write_text('{"q1": {"d1": 1}, "q2": {"d1": 0}, "q3": {"d2": 1}}')
    pd.DataFrame({"qid": ["q1", "q3"], "docno": "d1", "score": 1.0}).to_parquet("a")
    command = ["evaluate", "q.json", "a", "-m", "AP", "nDCG", "-q", "--average-over", "positive"]
    for suffix in SUFFIXES:
        assert main([*command, "-o", f"pq.{suffix}"]) == 0
        result = ma.read_values(f"pq.{suffix}")
        assert result["qid"].tolist() == ["q1", "q3", "q1", "q3"]
        assert ma.aggregate(result)["AP"].tolist() == [0.5]


TABLE = "name,qid,measure,value\na,q1,AP,0.5\na,q2,AP,1\n"
DEFINED = "name,qid,measure,value,definition\na,q1,x,0.5,{}\na,q2,x,1,{}\n"

BAD_TABLES: dict[str, tuple[str, list[str]]] = {
    "means": ("name,AP\na,0.75\n", ["the columns name, qid, measure, value", "name, AP"]),
    "wide": (
        "name,qid,AP\na,q1,0.5\n",
        ["one row per value", 'melt(["name", "qid"], var_name="measure")'],
    ),
    "no measure": ("name,qid,value\na,q1,1\n", ["the columns name, qid, measure, value"]),
    "judged answers": (
        "topic,system,criterion,score\nq1,a,x,1\n",
        ["topic, system", "'pt-multiaspect answers -q'"],
    ),
    "lines": ("map\tq1\t0.5\n", ["read lines with their format="]),
    "no rows": ("name,qid,measure,value\n", ["got 0 rows"]),
    "empty": ("", ["expected"]),
    "four decimals": (
        "| name | qid | AP |\n|---|---|---|\n| a | q1 | 0.5 |\n",
        ["read lines with their format="],
    ),
    "cut within a line": (TABLE.replace(",1\n", "\n"), [":3: expected 4 fields", "got 3 fields"]),
    "twice": (f"{TABLE}a,q1,AP,0.5\n", ["expected one value of AP for a on topic q1"]),
    "repeated column": (TABLE.replace("value", "measure"), ["expected"]),
    "no number": (TABLE.replace("0.5", "0,5"), ["expected 4 fields"]),
    "text": (
        TABLE.replace("0.5", "n/a"),
        ["expected a number in the column value, got 'n/a' (topic q1)"],
    ),
    "underscore": (TABLE.replace("0.5", "1_0"), ["got '1_0'"]),
    "nan": (TABLE.replace("0.5", "nan"), ["got 'nan'"]),
    "semicolons": (
        "name;qid;measure;value\na;q1;AP;0,5\n",
        ["expected commas or tabs", "got semicolons in the header 'name;qid"],
    ),
    "JSON object": ('{"name": "a"}', ["expected"]),
    "JSON of lists": ("[[1]]", ["expected a list of JSON objects"]),
    "JSON with other keys": (
        '[{"name": "a", "qid": "q"}, {"name": "a"}]',
        ["objects with the same keys"],
    ),
    "JSON truth": (
        '[{"name": "a", "qid": "q", "measure": "AP", "value": true}]',
        ["expected a number in the column value, got True"],
    ),
    "JSON without a name": (
        '[{"name": null, "qid": "q", "measure": "AP", "value": 1}]',
        ["expected a name in every row"],
    ),
    "repeated key": (
        '[{"name": "a", "qid": "q", "value": 1, "value": 2}]',
        ["expected each key once"],
    ),
    "empty JSON": ("[]", ["got 0 rows"]),
    "damaged Parquet": ("PAR1xxx", ["a damaged Parquet file"]),
    "two definitions": (
        DEFINED.format("AP", "RR"),
        ["expected one definition of the measure x, got AP and RR; "],
    ),
    "a definition beside its name": (
        DEFINED.format("AP", ""),
        ["expected one definition", "got AP and x; rename"],
    ),
    "no measure as definition": (
        DEFINED.format("a b", "a b"),
        [
            "expected a measure as the definition of x, got 'a b': cannot read",
            "leave its cells empty",
        ],
    ),
    "unknown parameter": (
        DEFINED.format("AP(wanted=2)", "AP(wanted=2)"),
        ["definition of x", "wanted"],
    ),
    "several measures": (
        DEFINED.format("P", "P"),
        ["definition of x, got 'P': expected one measure"],
    ),
}


@pytest.mark.parametrize(("text", "parts"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(text: str, parts: list[str]) -> None:
    Path("values").write_text(text)
    with pytest.raises(MultiAspectError, match="values") as caught:
        ma.read_values("values")
    message = str(caught.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message


def test_tables_that_others_write_are_read(tmp_path: Path) -> None:
    """With numbers as topics, and further columns."""
    Path("a").write_text("name,qid,measure,value,fold\na,1,AP,0.5,1\na,2,AP,inf,1\n")
    Path("b").write_text(
        '[{"name": "a", "qid": 1, "measure": "AP", "value": 0.5}, '
        '{"name": "a", "qid": 2, "measure": "AP", "value": Infinity}]'
    )
    for path in "ab":
        result = ma.read_values(path)
        assert result.values.tolist() == [["a", "1", "AP", 0.5], ["a", "2", "AP", math.inf]]
        assert "measures" not in result.attrs
    with pytest.raises(MultiAspectError, match="none: no such file"):
        ma.read_values("none")
    with pytest.raises(MultiAspectError, match="cannot be read"):
        ma.read_values(tmp_path)
    with pytest.raises(MultiAspectError, match="expected None without format="):
        ma.read_values("a", name="x")


@pytest.mark.parametrize(
    "options",
    [{}, {"index": False}, {"sep": "\t"}, {"columns": ["qid", "value", "measure", "name"]}],
    ids=str,
)
def test_long_frames_of_to_csv(options: dict[str, Any]) -> None:
    rows = [("a", qid, "nDCG@10", 1 / (number + 3)) for number, qid in enumerate(QIDS)]
    values = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    values.loc[1, "value"] = math.nan
    values[1:].to_csv("long.csv", **options)
    pd.testing.assert_frame_equal(
        ma.read_values("long.csv"), values[1:].reset_index(drop=True), check_exact=True
    )
    values.to_parquet("long.parquet")
    pd.testing.assert_frame_equal(ma.read_values("long.parquet"), values, check_exact=True)


# -- definitions -----------------------------------------------------------------------------------

SCALED = ma.Aspects({"relevance": 2, "credibility": 1}, name="value-tables")
QRELS = {
    f"q{n}": {"d1": {"relevance": n % 3, "credibility": 1}, "d2": {"relevance": 1}}
    for n in range(6)
}
RUNS = {
    "a": {qid: {"d1": 1.0} for qid in QRELS},
    "b": {qid: {"d1": 1.0, "d2": 2.0} for qid in QRELS},
}


@pytest.fixture
def values() -> pd.DataFrame:
    measures = {"cam": ma.CAM(aspects=SCALED) @ 5, "cost": ma.ESL(wanted=2), "AP": "AP"}
    return ma.evaluate(RUNS, QRELS, measures, progress=False)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_pandas_writes_definitions_as_the_shell_does(suffix: str, values: pd.DataFrame) -> None:
    """By the line in the notes of `evaluate`."""
    table = values.assign(definition=values["measure"].map(values.attrs["measures"]))
    if suffix == "csv":
        table.to_csv("values.csv")
    else:
        table.to_parquet("values.parquet")
    result = ma.read_values(f"values.{suffix}")
    pd.testing.assert_frame_equal(result, values, check_exact=True)
    # Other processes do not know the name of the scales.
    unnamed = ma.CAM(aspects=ma.Aspects(SCALED)) @ 5
    assert result.attrs["measures"] == {"cam": str(unnamed), "cost": "ESL(wanted=2)", "AP": "AP"}
    pd.testing.assert_frame_equal(ma.aggregate(result), ma.aggregate(values))
    pd.testing.assert_frame_equal(
        compare_with_baseline(result, "a"), compare_with_baseline(values, "a")
    )
    pd.testing.assert_frame_equal(ma.analysis.correlation(result), ma.analysis.correlation(values))


def test_only_names_of_other_measures_are_defined() -> None:
    measures = {"cam": ma.CAM(aspects=SCALED) @ 5, "cost": ma.ESL(wanted=2), "AP": "AP"}
    table = with_definitions(ma.evaluate(RUNS, QRELS, measures, progress=False))
    has_definition = table["definition"].notna()
    assert table.loc[has_definition, "measure"].unique().tolist() == ["cam", "cost"]


def test_names_of_measures_need_no_column_of_definitions() -> None:
    values = ma.evaluate(RUNS, QRELS, ["AP", ma.ESL(wanted=2)], progress=False)
    assert list(with_definitions(values).columns) == ["name", "qid", "measure", "value"]


def join_tables(first: str, second: str) -> None:
    """Write the rows of two files with the same header to both.csv."""
    _header, *rows = Path(second).read_text().splitlines(keepends=True)
    Path("both.csv").write_text(Path(first).read_text() + "".join(rows))


def test_two_tables_together() -> None:
    """Tables of two runs, here of one file under two names, are read as one."""
    command = write_files(["q1", "q2"])
    assert main([*command, "-o", "one.csv", "one=a"]) == 0
    assert main([*command, "-o", "two.csv", "two=a"]) == 0
    join_tables("one.csv", "two.csv")

    result = ma.read_values("both.csv")

    assert set(result["qid"]) == {"q1", "q2"}
    means = ma.aggregate(result).set_index("name")
    pd.testing.assert_series_equal(means.loc["one"], means.loc["two"], check_names=False)


def test_two_tables_of_other_scales_are_refused_together() -> None:
    """One label stands for two measures."""
    command = write_files(["q1", "q2"])
    assert main([*command, "-o", "one.csv", "one=a"]) == 0
    other_scales = ["--aspects", '{"relevance": 2, "credibility": 4}']
    assert main([*command, *other_scales, "-o", "two.csv", "two=a"]) == 0
    join_tables("one.csv", "two.csv")
    message = r"both\.csv: expected one definition of the measure .*, got CAM\("
    with pytest.raises(MultiAspectError, match=message):
        ma.read_values("both.csv")


@pytest.mark.parametrize(
    "definition", ["Mine", "Mine(x=3)@10", "CAM(base='Mine@5')", "MeanOf(measures=['Mine','AP'])"]
)
def test_measures_of_other_programs_are_text(definition: str) -> None:
    """A definition with a measure Mine, which is not registered here, is kept, with a warning if it is used."""
    lines = [
        "name,qid,measure,value,definition",
        f'a,q1,x,0.5,"{definition}"',
        f'a,q2,x,1,"{definition}"',
        "b,q1,AP,1,",
    ]
    Path("values.csv").write_text("\n".join(lines) + "\n")
    result = ma.read_values("values.csv")
    assert result.attrs["measures"] == {"x": definition}
    message = r"recorded as the measure .*Mine.*, which cannot be parsed here"
    with pytest.warns(MultiAspectWarning, match=message):
        assert measures_by_label(result)["x"] is None


@pytest.mark.parametrize(
    "command", ["weightings", "systems", "values", "correlation_heatmap", "asl_curves"]
)
def test_commands_read_the_table(command: str) -> None:
    pytest.importorskip("matplotlib")
    assert main([*write_files(QIDS), "-o", "pq.csv", "b,x", "a"]) == 0
    if command == "weightings":
        assert main([command, "--values", "pq.csv", "-m", "nDCG@10", "-m", "cam"]) == 0
    else:
        assert main(["plot", command, "pq.csv", "-m", "nDCG@10", "-m", "cam", "-o", "x.svg"]) == 0


def test_scores_of_answers_come_back_as_scores() -> None:
    rows = [(f"q{n}", run, n % 2, 1 - n % 2) for n in range(6) for run in "ab"]
    pd.DataFrame(rows, columns=["qid", "name", "faithful", "fluent"]).to_csv(
        "judged.csv", index=False
    )
    scales = '{"faithful": [0, 1], "fluent": [0, 1]}'
    assert (
        main(["answers", "judged.csv", "--aspects", scales, "-m", "MM", "-q", "-o", "values.csv"])
        == 0
    )
    result = ma.read_values("values.csv")
    expected = ma.answers.combine(ma.answers.from_criteria("judged.csv", aspects=scales), "MM")
    keys = ["name", "measure", "qid"]
    pd.testing.assert_frame_equal(
        result.sort_values(keys, ignore_index=True),
        expected.sort_values(keys, ignore_index=True),
        check_exact=True,
    )
    assert (
        result.attrs["measures"]["faithful"] == expected.attrs["measures"]["faithful"] == UNIT_SCORE
    )
