"""Files of other tools as qrels or runs: read where they can mean one thing only, else refused with a remedy."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.errors import MultiAspectWarning

QRELS = pd.DataFrame({"qid": ["q1", "q1", "2"], "docno": ["d1", "d2", "7"], "label": [1, 0, 2]})
RUN = pd.DataFrame({"qid": ["q1", "q1", "2"], "docno": ["d1", "d2", "7"], "score": [1.5, 0.5, 3.0]})
IR_DATASETS = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}


def rows(frame: pd.DataFrame, *, lines: bool = True) -> str:
    return str(frame.to_json(orient="records", lines=lines))


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
@pytest.mark.parametrize(
    "names", [{}, IR_DATASETS, {"qid": "query-id", "docno": "corpus-id", "label": "score"}]
)
def test_qrels_as_rows_of_json(names: dict[str, str], lines: bool) -> None:
    text = rows(QRELS.rename(columns=names), lines=lines)
    pd.testing.assert_frame_equal(ma.read_qrels(StringIO(text)), QRELS)


@pytest.mark.parametrize("n_rows", [1, 3])
def test_fields_of_ir_datasets_that_are_no_labels(n_rows: int) -> None:
    frame = QRELS.head(n_rows).rename(columns=IR_DATASETS).assign(iteration="0")
    pd.testing.assert_frame_equal(ma.read_qrels(StringIO(rows(frame))), QRELS.head(n_rows))


def test_rows_of_json_with_several_aspects_and_missing_labels() -> None:
    frame = QRELS.assign(trust=[0.0, None, 3.0])
    pd.testing.assert_frame_equal(ma.read_qrels(StringIO(rows(frame))), frame)
    pd.testing.assert_frame_equal(
        ma.read_qrels(StringIO(rows(frame)), ["trust"]), frame[["qid", "docno", "trust"]]
    )


def test_ids_of_json_may_be_numbers() -> None:
    text = '{"query_id": 2, "doc_id": 7, "relevance": 2}\n{"query_id": "q1", "doc_id": "d1", "relevance": 1}'
    assert ma.read_qrels(StringIO(text)).to_numpy().tolist() == [["2", "7", 2], ["q1", "d1", 1]]


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
@pytest.mark.parametrize("names", [{}, IR_DATASETS])
def test_runs_as_rows_of_json(names: dict[str, str], lines: bool, tmp_path: Path) -> None:
    text = rows(RUN.rename(columns=names), lines=lines)
    pd.testing.assert_frame_equal(ma.read_run(StringIO(text)), RUN)
    (tmp_path / "run.json").write_text(text)
    values = ma.evaluate(tmp_path / "run.json", QRELS, ["AP"], progress=False)
    assert values["value"].tolist() == [1.0, 1.0]


FIRST = '{"query_id": "q1", "doc_id": "d1", "relevance": 1}\n'


@pytest.mark.parametrize(
    "line",
    [
        '{"query_id": "q1", "doc_id": "d2"}',
        '{"query_id": "q1", "doc_id": "d2", "relevance": 1, "trust": 1}',
        '{"query_id": "q1", "doc_id": "d2", "relevance": 1, "relevance": 2}',
        "3",
    ],
    ids=["a missing label", "another aspect", "a repeated key", "no object"],
)
def test_rows_of_json_with_other_keys(line: str) -> None:
    with pytest.raises(
        MultiAspectError, match=r":2: expected an object with each of query_id, doc_id, relevance"
    ):
        ma.read_qrels(StringIO(FIRST + line))


def test_columns_of_a_frame_in_json() -> None:
    with pytest.raises(
        MultiAspectError, match=r"got the keys qid, docno, label, .*orient='records', lines=True"
    ):
        ma.read_qrels(StringIO(QRELS.to_json()))


def test_rows_of_json_that_are_given_the_wrong_way_round() -> None:
    with pytest.raises(MultiAspectError, match="looks like a run, not qrels"):
        ma.read_qrels(StringIO(rows(RUN)))
    with pytest.raises(MultiAspectError, match=r"Are the qrels and the runs swapped\?"):
        ma.read_run(StringIO(rows(QRELS)))


def save_parts(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "application/vnd.oasis.opendocument.spreadsheet")


SPREADSHEETS: dict[str, Callable[[Path], Any]] = {
    "xlsx": lambda path: save_parts(path, "docProps/app.xml", "xl/workbook.xml"),
    "ods": lambda path: save_parts(path, "mimetype", "content.xml"),
    "xls": lambda path: path.write_bytes(
        bytes.fromhex("d0cf11e0a1b11ae1") + "Workbook".encode("utf-16-le")
    ),
}


@pytest.mark.parametrize("suffix", SPREADSHEETS)
@pytest.mark.parametrize("read", [ma.read_qrels, ma.read_run, ma.read_values])
def test_spreadsheets(read: Callable[[Any], Any], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{suffix}"
    SPREADSHEETS[suffix](path)
    with pytest.raises(MultiAspectError, match=r"spreadsheets?; save it as CSV"):
        read(path)


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        (
            "1 d1 0 1 1.0",
            (
                r"looks like sampled judgments .* write `qid 0 docno label` from the first three "
                r"fields"
            ),
        ),
        ("q1 GX0-1 -1 4 0.0093", "looks like sampled judgments"),
        ("q1 0 d1 1 0", "name the label columns of one file"),
        ("q1 0 7 1 0", "name the label columns of one file"),
        ("q1 Q0 d1 1 0.5", "looks like a run without its last field, the tag, not qrels"),
        ("q1 d1 1", "the second field is missing: write a 0 there"),
        ("topic\tdocument\tlabel", "if this is a header, .* name two of them qid and docno"),
        ("qid docno label", "if this is a header, write tabs or commas between the fields"),
    ],
)
def test_lines_of_qrels_with_other_fields(line: str, remedy: str) -> None:
    with pytest.raises(MultiAspectError, match=remedy):
        ma.read_qrels(StringIO(f"{line}\n"))


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("q1 Q0 d1 1 0.5", "add the tag, a name of the run, to each line"),
        ("q1 d1 0.5", "the last one is a rank, counted from 0 or 1 in each query"),
        ("topic\tdocument\tscore", "if this is a header, .* name two of them qid and docno"),
    ],
)
def test_lines_of_runs_with_other_fields(line: str, remedy: str) -> None:
    with pytest.raises(MultiAspectError, match=remedy):
        ma.read_run(StringIO(f"{line}\n"))


HUGE = "x" * 10_000_000


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"q1": {HUGE: "a"}}),
        json.dumps({HUGE: 3}),
        json.dumps({"q1": {"a text " * 1_000_000: "a"}}),
        f"qid,docno,label\nq1,{HUGE},1\nq1,{HUGE},2\n",
        f"qid,docno,label\nq1,'{HUGE}\n",
        f"{HUGE} 0 d1 x\n",
    ],
    ids=["document", "query", "text", "table", "quotes", "line"],
)
@pytest.mark.parametrize("read", [ma.read_qrels, ma.read_run])
def test_errors_do_not_print_a_huge_id(read: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(MultiAspectError) as error:
        read(StringIO(text))
    assert len(str(error.value)) < 11_000


def test_warnings_do_not_print_a_huge_id() -> None:
    assert len(str(MultiAspectWarning(f"{HUGE}: a remedy"))) < 200
    assert str(MultiAspectWarning("as it is")) == "as it is"


def test_a_long_field_of_a_table_is_not_told_to_be_quotes() -> None:
    text = StringIO(f"qid,docno\nq1,{'y' * 200_000}\n")
    with pytest.raises(
        MultiAspectError, match=r":2: expected 2 fields.*got a field of more than \d+ characters"
    ):
        ma.read_run(text)
