"""Tables of values per topic, which the command line writes, come back."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import compare_with_baseline
from pt_multiaspect.cli import main, tables
from pt_multiaspect.evaluation.long_frames import measures_by_label
from pt_multiaspect.integration.aggregators import lower_is_better

#: Names of topics that are read as something else, and those of aggregates.
QIDS = ["001", "1e3", "NA", "null", "True", "1,5", "a b", 'say "x"', "é", "ALL"]
SUFFIXES = ["csv", "tsv", "json", "parquet"]
SCALES = '{"relevance": 2, "credibility": 3}'
MEASURES = ["nDCG@10", "cam=CAM@10", "ESL(wanted=2)", "cost=ESL(wanted=2)", "GMAP"]


def lower_is_better_labels(values: pd.DataFrame) -> list[str]:
    measures = measures_by_label(values)
    return [label for label, measure in measures.items() if measure is not None and lower_is_better(measure)]


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
@pytest.mark.parametrize("qids", [QIDS, ["mean", "z"], ["(mean)", "mean"], ["((mean))", "mean"]], ids=" ".join)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_values_come_back_exactly(suffix: str, qids: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = write_files(qids)
    assert main([*command, "-o", f"pq.{suffix}", "b,x", "a"]) == 0
    assert main([*command, "--format", "jsonl", "b,x", "a"]) == 0
    expected = ma.read_values(io.BytesIO(capsys.readouterr().out.encode()), format="jsonl")
    result = ma.read_values(f"pq.{suffix}")
    pd.testing.assert_frame_equal(result, expected, check_exact=True)
    assert set(result["qid"]) == {*qids}
    cost = ma.ESL(wanted=2).on("relevance", {"relevance": 2, "credibility": 3})
    recorded = result.attrs["measures"]
    assert recorded["cost"] == str(cost)
    assert list(recorded) == ["nDCG@10", "cam", "ESL(wanted=2)", "cost", "GMAP"]
    # The aggregates are those that the shell writes, also geometric means.
    assert main([*command[:-1], "-o", "means.csv", "b,x", "a"]) == 0
    means = pd.read_csv("means.csv", dtype=str).set_index("name").astype(float)  # rounded correctly by any pandas
    pd.testing.assert_frame_equal(
        ma.aggregate(result).set_index("name"), means, check_exact=True, check_index_type=False
    )
    tests = compare_with_baseline(result, "a").set_index("measure")
    # Lower is better, which the label alone does not say.
    assert tests.loc["cost", "wins"] == tests.loc["ESL(wanted=2)", "wins"]
    assert [*lower_is_better_labels(result)] == ["ESL(wanted=2)", "cost"]


def test_what_a_terminal_prints_and_compressed_files(capsys: pytest.CaptureFixture[str]) -> None:
    command = write_files(QIDS)
    assert main([*command, "a"]) == 0
    printed = ma.read_values(io.BytesIO(capsys.readouterr().out.encode()))
    assert main([*command, "-o", "pq.csv", "a"]) == 0
    expected = ma.read_values("pq.csv")
    pd.testing.assert_frame_equal(printed, expected, check_exact=True)
    assert "measures" not in printed.attrs or not printed.attrs["measures"]
    Path("pq.csv.gz").write_bytes(gzip.compress(Path("pq.csv").read_bytes()))
    Path("pq.csv").write_text(Path("pq.csv").read_text().replace("\n", "\r\n"), newline="")
    for path in ("pq.csv.gz", Path("pq.csv")):
        result = ma.read_values(path)
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


def test_weightings_read_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*write_files(QIDS), "-o", "pq.csv", "b,x", "a"]) == 0
    assert main(["weightings", "--values", "pq.csv", "-m", "nDCG@10", "-m", "cam"]) == 0
    assert "b,x" in capsys.readouterr().out


WIDE = "name,qid,AP\na,q1,0.5\na,q2,1\na,mean,0.75\n"

BAD_TABLES: dict[str, tuple[str, list[str]]] = {
    "means": ("name,AP\na,0.75\n", ["the columns name and qid and one per measure", "name, AP"]),
    "no measure": ("name,qid\na,q1\n", ["one per measure"]),
    "judged answers": (
        "topic,system,criterion,score\nq1,a,x,1\n",
        ["topic, system", "'pt-multiaspect answers -q'"],
    ),
    "lines": ("map\tq1\t0.5\n", ["read lines with their format="]),
    "no rows": ("name,qid,AP\n", ["got 0 rows"]),
    "empty": ("", ["expected"]),
    "four decimals": ("| name | qid | AP |\n|---|---|---|\n| a | q1 | 0.5 |\n", ["read lines with their format="]),
    "sorted": ("name,qid,AP\na,mean,0.75\na,q1,0.5\na,q2,1\n", ["expected the row mean last"]),
    "sorted by value": ("name,qid,AP\na,q1,0.5\na,mean,0.75\na,q2,1\n", ["expected the row mean last"]),
    "cut": ("name,qid,AP\na,q1,.5\na,mean,.5\nb,q1,1\n", ["expected the row mean last"]),
    "cut within a line": ("name,qid,AP,RR\na,q1,0.5,1\na,q2,1\n", [":3: expected 4 fields", "got 3 fields"]),
    "only aggregates": (f"{WIDE}b,mean,0.5\n", ["got only the aggregate of b"]),
    "twice": (f"{WIDE}a,q1,0.5\na,mean,1\n", ["expected one value of AP for a on topic"]),
    "repeated column": (WIDE.replace("AP", "AP,AP").replace("1\n", "1,1\n"), ["expected"]),
    "no number": (WIDE.replace("0.5", "0,5"), ["expected 3 fields"]),
    "text": (WIDE.replace("0.5", "n/a"), ["expected a number in the column AP, got 'n/a' (topic q1)"]),
    "underscore": (WIDE.replace("0.5", "1_0"), ["got '1_0'"]),
    "nan": (WIDE.replace("0.5", "nan"), ["got 'nan'"]),
    "long frame": ("name,qid,measure,value\na,q1,AP,x\n", ["expected a number in the column value, got 'x'"]),
    "long frame, twice": (
        "name,qid,measure,value\na,q1,AP,1\na,q1,AP,1\n",
        ["expected one value of AP for a on topic q1"],
    ),
    "semicolons": (
        "name;qid;AP\na;q1;0,5\n",
        ["expected commas or tabs", "got semicolons in the header 'name;qid"],
    ),
    "JSON object": ('{"name": "a"}', ["expected"]),
    "JSON of lists": ("[[1]]", ["expected a list of JSON objects"]),
    "JSON with other keys": ('[{"name": "a", "qid": "q"}, {"name": "a"}]', ["objects with the same keys"]),
    "JSON truth": ('[{"name": "a", "qid": "q", "AP": true}]', ["expected a number in the column AP, got True"]),
    "JSON without a name": ('[{"name": null, "qid": "q", "AP": 1}]', ["expected a name in every row"]),
    "repeated key": ('[{"name": "a", "qid": "q", "AP": 1, "AP": 2}]', ["expected each key once"]),
    "empty JSON": ("[]", ["got 0 rows"]),
    "damaged Parquet": ("PAR1xxx", ["a damaged Parquet file"]),
}


@pytest.mark.parametrize(("text", "parts"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(text: str, parts: list[str]) -> None:
    Path("values").write_text(text)
    with pytest.raises(MultiAspectError, match="values") as caught:
        ma.read_values("values")
    message = str(caught.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message


def test_tables_that_others_write_are_read() -> None:
    """Without rows of aggregates, and with numbers as topics."""
    Path("a").write_text("name,qid,AP\na,1,0.5\na,2,inf\n")
    Path("b").write_text('[{"name": "a", "qid": 1, "AP": 0.5}, {"name": "a", "qid": 2, "AP": Infinity}]')
    for path in "ab":
        result = ma.read_values(path)
        assert result.values.tolist() == [["a", "1", "AP", 0.5], ["a", "2", "AP", math.inf]]
    with pytest.raises(MultiAspectError, match="expected a directory with values"):
        ma.read_values("none")
    with pytest.raises(MultiAspectError, match="expected None without format="):
        ma.read_values("a", name="x")


@pytest.mark.parametrize(
    "options", [{}, {"index": False}, {"sep": "\t"}, {"columns": ["qid", "value", "measure", "name"]}], ids=str
)
def test_long_frames_of_to_csv(options: dict[str, Any]) -> None:
    rows = [("a", qid, "nDCG@10", 1 / (number + 3)) for number, qid in enumerate(QIDS)]
    values = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    values.loc[1, "value"] = math.nan
    values[1:].to_csv("long.csv", **options)
    pd.testing.assert_frame_equal(ma.read_values("long.csv"), values[1:].reset_index(drop=True), check_exact=True)
    values.assign(fold="1").to_csv("long.csv", index=False)
    assert list(ma.read_values("long.csv").columns) == [*values.columns, "fold"]
    values.to_parquet("long.parquet")
    pd.testing.assert_frame_equal(ma.read_values("long.parquet"), values, check_exact=True)


def test_a_long_frame_over_a_table(command: list[str]) -> None:
    path = evaluate_to_table(command)
    ma.read_values(path).to_csv(path)
    with pytest.warns(MultiAspectWarning, match=STALE):
        assert ma.read_values(path)["measure"].tolist() == ["G", "G"]


@pytest.mark.parametrize(
    "content",
    ["pt_multiaspect: {measures: {RR: RR}}", "pt_multiaspect: {}", "[]", "{", "a: *b", "\x00", "pt_multiaspect: 3"],
)
def test_a_file_beside_that_does_not_belong_to_the_table(content: str) -> None:
    Path("pq.csv").write_text(WIDE)
    Path("pq.csv.ir_metadata.yml").write_text(content)
    with pytest.warns(MultiAspectWarning, match=r"^pq\.csv\.ir_metadata\.yml: expected the measures AP of pq\.csv"):
        result: Any = ma.read_values("pq.csv")
    assert result["value"].tolist() == [0.5, 1]


STALE = r"^pq\.csv(\.gz)?\.ir_metadata\.yml: expected the measures (G|AP) of .* pass measures={label: measure}"


@pytest.fixture
def command() -> list[str]:
    """Arguments that write a table whose label does not name its measure."""
    Path("q.json").write_text('{"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d2": 1}}')
    pd.DataFrame({"qid": ["q1", "q2"], "docno": "d1", "score": [1.0, 0.5]}).to_parquet("a")
    return ["q.json", "a", "-o", "pq.csv"]


def evaluate_to_table(command: list[str], measure: str = "G=GMAP") -> Path:
    assert main(["evaluate", *command, "-q", "-m", measure]) == 0
    return Path("pq.csv")


def assert_left_aside(path: str | Path) -> None:
    with pytest.warns(MultiAspectWarning, match=STALE) as caught:
        assert not ma.read_values(path).attrs["measures"]
    assert len(caught) == 1


@pytest.mark.parametrize("change", ["values", "order", "label", "older compressed table"])
def test_records_of_other_tables_are_left_aside(change: str, command: list[str]) -> None:
    path = evaluate_to_table(command)
    earlier = path.read_text()
    if change == "values":  # as when a process was killed before it wrote the record
        path.write_text(earlier.replace("q1,", "q9,"))
    elif change == "order":
        path.write_text("name,qid,G\na,q2,0.5\na,q1,1\n")
    elif change == "label":
        path.write_text(earlier.replace(",G\n", ",AP\n"))
    else:
        Path("pq.csv.gz").write_bytes(gzip.compress(earlier.replace("q1,", "q9,").encode()))
        path = Path("pq.csv.gz")
    assert_left_aside(path)


def test_records_without_a_digest_are_left_aside(command: list[str]) -> None:
    path = evaluate_to_table(command)
    record = Path("pq.csv.ir_metadata.yml")
    record.write_text(re.sub(r"  table:\n    digest: \w+\n", "", record.read_text()))
    assert_left_aside(path)


def test_tables_keep_their_records(command: list[str]) -> None:
    path = evaluate_to_table(command)
    expected = ma.read_values(path).attrs
    assert expected["measures"] == {"G": "GMAP"}
    Path("sub").mkdir()
    Path("sub/link.csv").symlink_to(path.absolute())
    assert ma.read_values("sub/link.csv").attrs == expected
    table = pd.read_csv(path, dtype=str)  # as numbers, pandas 2.0 changes their last digits
    path.write_bytes(table.to_csv(index=False, lineterminator="\r\n").encode())
    assert ma.read_values(path).attrs == expected
    Path("pq.parquet.ir_metadata.yml").write_bytes(Path("pq.csv.ir_metadata.yml").read_bytes())
    for compression in ("gzip", "zstd"):
        table.astype({"G": float}).to_parquet("pq.parquet", compression=compression)
        assert ma.read_values("pq.parquet").attrs == expected
    Path("pq.csv.ir_metadata.yml").unlink()
    assert not ma.read_values(path).attrs["measures"]  # without a word


def test_the_record_is_beside_the_table_that_a_link_points_to(command: list[str]) -> None:
    Path("sub").mkdir()
    Path("pq.csv").symlink_to("sub/real.csv")
    path = evaluate_to_table(command)
    assert path.is_symlink()
    assert Path("sub/real.csv.ir_metadata.yml").exists()
    assert not Path("pq.csv.ir_metadata.yml").exists()
    assert ma.read_values(path).attrs == ma.read_values("sub/real.csv").attrs != {}


@pytest.mark.parametrize("content", [None, "pt_multiaspect: 3", "- mine"])
def test_commands_that_write_no_record_remove_that_of_an_earlier_table(
    content: str | None, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate_to_table(command)
    record = Path("pq.csv.ir_metadata.yml")
    if content is not None:  # not by this package
        record.write_text(content)
    explain = ["explain", "a", "--qrels", "q.json", "-m", "AP", "--query", "q1", "-o", "pq.csv"]
    with monkeypatch.context() as patch:
        patch.setattr(tables, "write_file", lambda *_: Path("none/pq.csv").write_text(""))
        assert main(explain) != 0
    assert record.exists()
    assert main(explain) == 0
    assert record.exists() == (content is not None)
