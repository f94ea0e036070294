"""Judgments in the formats of BEIR, MTEB and JSON: files, frames, and what resembles them."""

from __future__ import annotations

import bz2
import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.description.scales import read_judged

HEADER = "query-id\tcorpus-id\tscore\n"
TSV = f"{HEADER}001\td1\t2\n001\tNA\t0\nmean\td1\t1\n"
JSON = '{"001": {"d1": 2, "NA": 0}, "mean": {"d1": 1}}'
FRAME = pd.DataFrame(
    {"query-id": ["001", "001", "mean"], "corpus-id": ["d1", "NA", "d1"], "score": [2, 0, 1]}
)
EXPECTED = pd.DataFrame(
    {"qid": ["001", "001", "mean"], "docno": ["d1", "NA", "d1"], "label": [2, 0, 1]}
)
QUESTION = r"Are the qrels and the runs swapped\?$"
RUN = {"001": {"d1": 0.2, "NA": 0.4}, "mean": {"d2": 1.0, "d1": 0.5}}

FILES = {
    "BEIR": TSV,
    "Windows": TSV.replace("\n", "\r\n"),
    "byte order mark": f"\ufeff{TSV}",
    "blank lines": TSV.replace("\n", "\n\n"),
    "blanks of underscores": TSV.replace("-id", "_id"),
    "another order": "score\tcorpus-id\tquery-id\n2\td1\t001\n0\tNA\t001\n1\td1\tmean\n",
    "quotes": TSV.replace("NA", '"NA"'),
    "all in quotes": "".join('"' + line.replace("\t", '"\t"') + '"\n' for line in TSV.splitlines()),
    "labels in the middle": "query-id\tscore\tcorpus-id\n001\t2\td1\n001\t0\tNA\nmean\t1\td1\n",
    "repeated": f"{TSV}001\td1\t2\n",
    "relevance": TSV.replace("score", "relevance"),
    "JSON": JSON,
    "JSON in lines": json.dumps(json.loads(JSON), indent=2),
    "JSON of floats": JSON.replace("2", "2.0"),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_files_are_judgments(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8", newline="")
    pd.testing.assert_frame_equal(ma.read_qrels(tmp_path / "file"), EXPECTED)
    by_aspect = ma.read_qrels({"relevance": tmp_path / "file", "credibility": StringIO(TSV)})
    pd.testing.assert_frame_equal(by_aspect, EXPECTED.assign(credibility=EXPECTED["label"]))
    for compress in (gzip.compress, bz2.compress):
        (tmp_path / "packed").write_bytes(compress(text.encode()))
        pd.testing.assert_frame_equal(ma.read_qrels(tmp_path / "packed"), EXPECTED)


def test_files_of_several_forms_are_one_collection(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pl.from_pandas(FRAME).write_parquet(tmp_path / "trust.parquet")
    trec = "".join(f"{qid} 0 {docno} {label}\n" for qid, docno, label in EXPECTED.values.tolist())
    files = {"relevance": StringIO(TSV), "json": StringIO(JSON), "trec": StringIO(trec)}
    qrels = ma.read_qrels({**files, "trust": tmp_path / "trust.parquet"})
    assert [*qrels.columns] == ["qid", "docno", "label", "json", "trec", "trust"]
    assert all((qrels[aspect] == qrels["label"]).all() for aspect in ("json", "trec", "trust"))
    pd.testing.assert_frame_equal(ma.read_qrels(tmp_path / "trust.parquet"), EXPECTED)


def test_a_table_may_have_several_aspects() -> None:
    text = "query-id\tcorpus-id\tscore\tcredibility\nq1\td1\t1\t0.5\n"
    expected = {"qid": "q1", "docno": "d1", "label": 1, "credibility": 0.5}
    assert ma.read_qrels(StringIO(text)).to_dict("records") == [expected]
    columns = ma.read_qrels(StringIO(text), aspects=["credibility"]).columns
    assert [*columns] == ["qid", "docno", "credibility"]


def test_ids_are_those_of_beir() -> None:
    text = f'{HEADER}q 1\t"""Heroes"" (album)"\t1\n1e3\t"a,b"\t0\n'
    qrels = ma.read_qrels(StringIO(text))
    assert qrels[["qid", "docno"]].values.tolist() == [["q 1", '"Heroes" (album)'], ["1e3", "a,b"]]


BAD_FILES = {
    "a run": (
        f"{HEADER}q1\td1\t0.5\n",
        [r"expected whole numbers as labels, got '0\.5' \(query q1, ", QUESTION],
    ),
    "a run in JSON": (
        '{"q1": {"d1": 1, "d2": 0.25}}',
        [r"got 0\.25 \(query q1, document d2\)", QUESTION],
    ),
    "a column of runs": (
        "query_id\tdoc_id\tscore\nq1\td1\t1\n",
        ["this looks like a run, not qrels"],
    ),
    "text": (f"{HEADER}q1\td1\tyes\n", ["expected whole numbers as labels, got 'yes'"]),
    "no label": (f"{HEADER}q1\td1\t\n", ["expected whole numbers as labels, got ''"]),
    "infinite": (f"{HEADER}q1\td1\tinf\n", ["relevance: expected a finite number"]),
    "no document": (
        f"{HEADER}q1\t\t1\n",
        [r"expected a corpus-id in every line, got none in 'q1\\t\\t1'"],
    ),
    "cut": (
        f"{HEADER}q1\td1\t1\nq1\td2",
        [":3: expected 3 fields, as in the header, got 2 fields: 'q1"],
    ),
    "a field more": (
        f"{HEADER}q1\td1\t1\t1\n",
        [":2: expected 3 fields, as in the header, got 4 fields"],
    ),
    "quotes within": (
        f'{HEADER}q1\t"d"1\t1\n',
        [":2: ", "quotes that do not surround a whole field"],
    ),
    "open quotes": (
        f'{HEADER}q1\t"d\t1\nq1\td"\t1\n',
        [":3: ", "a field in quotes that spans several lines"],
    ),
    "conflict": (
        f"{HEADER}q1\td1\t1\nq1\td1\t2\n",
        ["query q1, document d1, got different labels"],
    ),
    "header only": (HEADER, ["the file is empty"]),
    "a column without a name": (
        "query-id\tcorpus-id\t\tscore\nq1\td1\t0\t1\n",
        ["expected a name for each column"],
    ),
    "blanks in the header": (TSV.replace("query-id", " query-id"), [":1: expected 4 fields"]),
    "a line of a run": (f"{TSV}q\td\t0.5\n", [r"got '0\.5' \(query q, document d\)", QUESTION]),
    "repeated column": (
        "query-id\tcorpus-id\tscore\tscore\nq\td\t1\t2\n",
        ["expected distinct column names"],
    ),
    "repeated document": ('{"q1": {"d1": 1, "d1": 0}}', ["document d1 several times for query q1"]),
    "aspects": (
        '{"q1": {"d1": {"relevance": 1}}}',
        ["expected a finite number as label, got {'relevance': 1}"],
    ),
    "NaN": (
        '{"q1": {"d1": NaN}}',
        [r"expected a finite number as label, got nan \(query q1, document d1\)"],
    ),
    "an array": ('[{"query-id": "q1"}]', ["expected {qid: {docno: label}}"]),
    "cut JSON": ('{"q1": {"d1": 1', ["not valid JSON"]),
}


@pytest.mark.parametrize(("text", "parts"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(text: str, parts: list[str]) -> None:
    for source in (StringIO(text), {"relevance": StringIO(text), "credibility": StringIO(TSV)}):
        with pytest.raises(MultiAspectError, match=r"^<StringIO>:") as caught:
            ma.read_qrels(source)
        assert "\n" not in str(caught.value)
        for part in parts:
            caught.match(part)


NAMES_OF_IDS = pytest.mark.parametrize(
    "names", [("query-id", "corpus-id"), ("query_id", "corpus_id")]
)


@NAMES_OF_IDS
def test_frames_are_judgments(names: tuple[str, str]) -> None:
    """A frame with the columns of BEIR is qrels, whatever its library and the type of its scores."""
    frame = FRAME.set_axis([*names, "score"], axis=1)
    expected = ma.evaluate({"a": RUN}, EXPECTED, ["AP", "nDCG@10"], progress=False)
    for qrels in (frame, pl.from_pandas(frame), frame.astype({"score": float}), frame.astype(str)):
        values = ma.evaluate({"a": RUN}, qrels, ["AP", "nDCG@10"], progress=False)
        pd.testing.assert_frame_equal(values, expected)
    assert list(frame.columns) == [*names, "score"]  # not changed


@NAMES_OF_IDS
def test_frames_have_further_aspects(names: tuple[str, str]) -> None:
    frame = FRAME.set_axis([*names, "score"], axis=1).assign(trust=1)
    toma = ma.TOMA(aspects={"relevance": 2, "trust": 1})
    labels = ma.aggregate_labels(frame, toma).values
    assert labels[["qid", "docno"]].equals(EXPECTED[["qid", "docno"]])

    texts = pd.DataFrame({"docno": ["d1", "NA"], "text": ["A text.", "Another text."]})
    without_trust = frame.drop(columns="trust")
    judged = ma.with_readability(without_trust, texts, model="arctan(10)")
    assert ma.Judgments(judged).label_names == ("relevance", "understandability")


@NAMES_OF_IDS
def test_columns_of_frames_are_called_as_the_user_calls_them(names: tuple[str, str]) -> None:
    """In the remedies of findings, which can be pasted."""
    frame = FRAME.set_axis([*names, "score"], axis=1)
    columns = read_judged(frame, None).columns
    assert columns == {"relevance": "score", "qid": names[0], "docno": names[1]}


def test_missing_labels_of_frames_are_missing() -> None:
    """The second document has no relevance."""
    frame = FRAME.assign(score=[2, None, 1], credibility=[0, 1, 1])
    judgments = ma.Judgments(frame)
    assert judgments.label_names == ("relevance", "credibility")
    first, second, third = judgments.labels("relevance")
    assert first == 2
    assert pd.isna(second)
    assert not pd.isna(third)


#: Frames that resemble judgments.
NOT_JUDGMENTS: dict[str, Any] = {
    "fractions": FRAME.assign(score=[2, 0.5, 1]),
    "text": FRAME.assign(score=["2", "x", "1"]),
    "ranks": FRAME.assign(rank=[1, 2, 1]),
    "names of ir-measures": FRAME.set_axis(["query_id", "doc_id", "score"], axis=1),
    "names of PyTerrier": FRAME.set_axis(["qid", "docno", "score"], axis=1),
}


@pytest.mark.parametrize("frame", NOT_JUDGMENTS.values(), ids=NOT_JUDGMENTS)
def test_runs_are_not_judgments(frame: pd.DataFrame) -> None:
    with pytest.raises(MultiAspectError, match=QUESTION):
        ma.evaluate({"a": RUN}, frame, "AP", progress=False)


def test_judgments_are_not_a_run() -> None:
    with pytest.raises(MultiAspectError, match=QUESTION):
        ma.evaluate({"a": FRAME}, FRAME, "AP", progress=False)


# -- files that the libraries themselves write
# ------------------------------------------------------------


def test_a_file_that_beir_has_written(tmp_path: Path) -> None:
    beir = pytest.importorskip("beir.util")
    from beir.datasets.data_loader import GenericDataLoader

    ids = ["001", "NA", '"Heroes"', 'a "b" c', "1e3", "x y", "a,b"]
    qrels = {qid: {docno: row % 3 for row, docno in enumerate(ids)} for qid in ids}
    (tmp_path / "qrels").mkdir()
    path = tmp_path / "qrels" / "test.tsv"
    beir.write_to_tsv(str(path), qrels)
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "title": "", "text": ""}\n')
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": qid, "text": ""}) + "\n" for qid in ids)
    )
    *_, loaded = GenericDataLoader(str(tmp_path)).load("test")
    result = ma.read_qrels(path)
    expected = [
        (qid, docno, label) for qid, labels in loaded.items() for docno, label in labels.items()
    ]
    assert [*result.itertuples(index=False, name=None)] == expected


@pytest.mark.parametrize("suffix", ["json", "trec"])
def test_a_file_that_ranx_has_written(tmp_path: Path, suffix: str) -> None:
    ranx = pytest.importorskip("ranx")
    qrels = {"001": {"d1": 2, "NA": 1}, "mean": {"d1": 1}}
    ranx.Qrels(qrels).save(str(tmp_path / f"qrels.{suffix}"))
    result = ma.read_qrels(tmp_path / f"qrels.{suffix}")
    pd.testing.assert_frame_equal(result, EXPECTED.assign(label=[2, 1, 1]))


def test_a_table_of_ranx_is_that_of_a_run(tmp_path: Path) -> None:
    """ranx stores qrels in the columns q_id, doc_id and score, which tell nothing of labels: they are refused."""
    ranx = pytest.importorskip("ranx")
    path = tmp_path / "qrels.parquet"
    ranx.Qrels({"q1": {"d1": 2}}).save(str(path))
    with pytest.raises(MultiAspectError):
        ma.Judgments(ma.read_qrels(path))


def test_json_lines_of_judgments() -> None:
    lines = [
        '{"query-id": "q1", "corpus-id": "d1", "score": 0}',
        '{"query-id": 2, "corpus-id": "d2", "score": 1}',
    ]
    qrels = ma.read_qrels(StringIO("\n".join(lines)))
    assert qrels.values.tolist() == [["q1", "d1", 0], ["2", "d2", 1]]
    assert ma.read_qrels(StringIO(lines[0])).values.tolist() == [["q1", "d1", 0]]


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        '{"query-id": "q1", "score": 1}',
        '{"query-id": "a", "corpus-id": "b", "score": 1, "score": 2}',
    ],
)
def test_json_lines_that_are_no_judgments(line: str) -> None:
    with pytest.raises(
        MultiAspectError,
        match=":2: expected an object with each of query-id, corpus-id, score once",
    ):
        ma.read_qrels(StringIO('{"query-id": "q1", "corpus-id": "d1", "score": 0}\n' + line))
