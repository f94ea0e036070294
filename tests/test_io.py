"""Reading TREC files: what is accepted, what comes out, and what the errors say."""

from __future__ import annotations

import gzip
import io
import itertools
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from frame_world import write_file
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_path
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect.cli import main
from pt_multiaspect.cli.run_names import pick_baseline
from pt_multiaspect.errors import MultiAspectError, MultiAspectWarning
from pt_multiaspect.io import trec_lines
from pt_multiaspect.io.trec_files import read_qrels, read_run


def rows(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(frame.itertuples(index=False, name=None))


# --- qrels that are fine ------------------------------------------------------------------

THREE = [("01", "d1", 1), ("01", "NA", 0), ("2", "nan", 2)]


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param("01 0 d1 1\n01 0 NA 0\n2 0 nan 2\n", id="blanks"),
        pytest.param("01\t0\td1\t1\n01\t0\tNA\t0\n2\t0\tnan\t2\n", id="tabs"),
        pytest.param("01 0\t d1   1\n01 0 NA\t\t0\n2 0 nan 2\n", id="mixed"),
        pytest.param("  01 0 d1 1 \n\t01 0 NA 0\t\n2 0 nan 2 \n", id="blanks around"),
        pytest.param("\n01 0 d1 1\n\n \t\n01 0 NA 0\n2 0 nan 2\n\n\n", id="blank lines"),
        pytest.param("01 0 d1 1\n01 0 NA 0\n2 0 nan 2", id="no newline at the end"),
        pytest.param("01 0 d1 1\r\n01 0 NA 0\r\n\r\n2 0 nan 2\r\n", id="CRLF"),
        pytest.param("\ufeff01 0 d1 1\n01 0 NA 0\n2 0 nan 2\n", id="BOM"),
        pytest.param("01 0 d1 1\n01 Q0 NA -0\n2 None nan 2.0\n", id="any iteration, whole floats"),
        pytest.param(
            "01 0 d1 1\n01 0 NA 0\n01 0 d1 1.0\n2 0 nan 2\n2 0 nan 2\n", id="equal duplicates"
        ),
        pytest.param(gzip.compress(b"01 0 d1 1\n01 0 NA 0\n2 0 nan 2\n"), id="gzip"),
        pytest.param(
            gzip.compress(b"01 0 d1 1\n") + gzip.compress(b"01 0 NA 0\n2 0 nan 2"),
            id="two gzip members",
        ),
    ],
)
@pytest.mark.parametrize("name", ["qrels.txt", "qrels.gz"])
def test_one_column(tmp_path: Path, content: str | bytes, name: str) -> None:
    path = write_file(tmp_path / name, content)
    qrels = read_qrels(path)
    assert list(qrels.columns) == ["qid", "docno", "label"]
    assert rows(qrels) == THREE
    assert qrels["label"].dtype == np.int64
    assert list(qrels.index) == [0, 1, 2]
    pd.testing.assert_frame_equal(read_qrels(str(path)), qrels)
    pd.testing.assert_frame_equal(read_qrels({"relevance": path}), qrels)


def test_ids_are_taken_as_they_are(tmp_path: Path) -> None:
    ids = [
        '"a',
        "'b",
        "#c",
        "NA",
        "NULL",
        "None",
        "nan",
        "True",
        "1e5",
        "007",
        "x,y",
        "a|b;c",
        "\\",
        "é\u00a0ü",
        "<NA>",
    ]
    qids = [name.replace("#", "c#") for name in ids]  # a line that begins with # is a comment
    lines = [f"{qid} 0 {name} 1\n" for qid, name in zip(qids, ids, strict=True)]
    qrels = read_qrels(write_file(tmp_path / "q", "".join(lines)))
    assert qrels["qid"].tolist() == qids
    assert qrels["docno"].tolist() == ids


def test_labels_of_all_kinds(tmp_path: Path) -> None:
    qrels = read_qrels(
        write_file(tmp_path / "q", "q 0 a -2\nq 0 b +1\nq 0 c 0.1\nq 0 d 1e-3\nq 0 e .5\n")
    )
    assert qrels["label"].tolist() == [-2, 1, 0.1, 0.001, 0.5]
    assert qrels["label"].dtype == np.float64


def test_labels_too_large_for_exact_integers_stay_float(tmp_path: Path) -> None:
    assert read_qrels(write_file(tmp_path / "q", f"q 0 a {2**53}\n"))["label"].tolist() == [2**53]
    assert read_qrels(write_file(tmp_path / "q", "q 0 a 1e30\n"))["label"].dtype == np.float64


def test_several_columns_of_one_file(tmp_path: Path) -> None:
    path = write_file(tmp_path / "q", "q1 0 d2 1 3 0.5\nq1 0 d1 0 nan 1\n")
    qrels = read_qrels(path, aspects=["understandability", "relevance", "credibility"])
    assert list(qrels.columns) == ["qid", "docno", "understandability", "label", "credibility"]
    assert qrels["docno"].tolist() == ["d2", "d1"]
    assert [str(dtype) for dtype in qrels.dtypes.iloc[2:]] == ["int64", "float64", "float64"]
    assert qrels["label"].iloc[0] == 3
    assert math.isnan(qrels["label"].iloc[1])


def test_a_name_may_hold_a_blank(tmp_path: Path) -> None:
    qrels = read_qrels(
        write_file(tmp_path / "q", "q1 0 d2 1 3\n"), aspects=["relevance", "ease of reading"]
    )
    assert rows(qrels) == [("q1", "d2", 1, 3)]


BY_SUBTOPIC = "q1 1 d1 1\nq1 2 d1 1\nq1 2 d1 1\nq1 1 d2 0\nq2 1 d1 2\n"


def test_subtopics_are_kept(tmp_path: Path) -> None:
    """A document that is judged for two subtopics has two rows, in text files and Parquet files."""
    qrels = read_qrels(write_file(tmp_path / "qrels", BY_SUBTOPIC))
    assert qrels.columns.tolist() == ["qid", "docno", "label", "iteration"]
    assert rows(qrels) == [
        ("q1", "d1", 1, "1"),
        ("q1", "d1", 1, "2"),
        ("q1", "d2", 0, "1"),
        ("q2", "d1", 2, "1"),
    ]
    assert ma.from_subtopics(qrels).columns.tolist() == ["qid", "docno", "subtopic_1", "subtopic_2"]
    polars = pytest.importorskip("polars")
    polars.DataFrame(qrels.to_dict("list")).write_parquet(tmp_path / "parquet")
    pd.testing.assert_frame_equal(read_qrels(tmp_path / "parquet"), qrels)


def test_subtopics_are_kept_where_aspects_are_named(tmp_path: Path) -> None:
    """Columns of other labels are left out, the column of subtopics is not."""
    qrels = read_qrels(write_file(tmp_path / "qrels", BY_SUBTOPIC))
    assert rows(read_qrels(tmp_path / "qrels", aspects=["relevance"])) == rows(qrels)
    table = pytest.importorskip("polars").DataFrame(qrels.to_dict("list"))
    with_usefulness = table.with_columns(usefulness=1)
    with_usefulness.write_parquet(tmp_path / "parquet")
    assert rows(read_qrels(tmp_path / "parquet", aspects=["relevance"])) == rows(qrels)


def test_subtopics_may_have_different_labels(tmp_path: Path) -> None:
    """The error referred to another reader."""
    qrels = read_qrels(write_file(tmp_path / "qrels", "q1 1 d1 1\nq1 2 d1 0\nq1 2 d2 1\n"))
    assert rows(qrels) == [("q1", "d1", 1, "1"), ("q1", "d1", 0, "2"), ("q1", "d2", 1, "2")]
    with pytest.raises(
        MultiAspectError, match="If the column iteration contains subtopics, from_subtopics"
    ):
        ma.evaluate({"run": {"q1": {"d1": 1.0}}}, qrels, "AP", progress=False)
    write_file(tmp_path / "qrels", "q1 1 d1 1\nq1 2 d1 0\n\nq1 2 d1 1\n")
    with pytest.raises(
        MultiAspectError, match="qrels:4: relevance of query 'q1', document 'd1' is 1 here and 0 on"
    ):
        read_qrels(tmp_path / "qrels")


def test_subtopics_do_not_change_measures_of_one_label_per_document(tmp_path: Path) -> None:
    by_subtopic = read_qrels(write_file(tmp_path / "long", BY_SUBTOPIC))
    once = read_qrels(write_file(tmp_path / "once", "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n"))
    runs = {"run": {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}}}
    values, expected = (
        ma.evaluate(
            runs, qrels, ["AP", "nDCG", "P@1", "NumRel", "Judged@2", "RBP(rel=1)"], progress=False
        )
        for qrels in (by_subtopic, once)
    )
    pd.testing.assert_frame_equal(values, expected)


def test_a_second_field_that_distinguishes_no_judgments_is_left_out(tmp_path: Path) -> None:
    for content in ("q1 0 d1 1\nq1 0 d1 1\nq1 Q0 d2 0\n", "q1 1 d1 1\nq1 2 d2 0\n"):
        path = write_file(tmp_path / "qrels", content)
        assert rows(read_qrels(path)) == [("q1", "d1", 1), ("q1", "d2", 0)]
        both = read_qrels({"relevance": path, "u": path})
        assert rows(both) == [("q1", "d1", 1, 1), ("q1", "d2", 0, 0)]


@pytest.mark.parametrize("second", ["1", "0"], ids=["equal labels", "other labels"])
def test_subtopics_in_files_of_several_aspects_are_refused(tmp_path: Path, second: str) -> None:
    good = write_file(tmp_path / "good", "q1 0 d1 1\n")
    bad = write_file(tmp_path / "bad", f"q1 1 d1 1\n\nq1 2 d1 {second}\n")
    expected = (
        "bad:3: expected one judgment of query 'q1', document 'd1', got the second field '2' here "
        "and '1' on line 1. If these are subtopics, read the file alone: from_subtopics makes each "
        "subtopic an aspect"
    )
    with pytest.raises(MultiAspectError, match=re.escape(expected)):
        read_qrels({"relevance": good, "credibility": bad})
    frame = {
        "qid": ["q1", "q1"],
        "docno": ["d1", "d1"],
        "subtopic": ["a", "b"],
        "label": [1, int(second)],
    }
    pytest.importorskip("polars").DataFrame(frame).write_parquet(bad)
    with pytest.raises(
        MultiAspectError,
        match=r"bad: expected one row .* several values of subtopic\. .* from_subto",
    ):
        read_qrels({"relevance": good, "credibility": bad})


def aspect_files(folder: Path, **aspects: str) -> dict[str, Path]:
    return {aspect: write_file(folder / f"{aspect}.txt", text) for aspect, text in aspects.items()}


def pool(labels: str, *, qid: str = "q1", prefix: str = "d") -> str:
    """One line per label, the documents numbered from 0."""
    return "".join(f"{qid} 0 {prefix}{position} {label}\n" for position, label in enumerate(labels))


def test_files_that_judge_different_pairs(tmp_path: Path) -> None:
    source = aspect_files(
        tmp_path,
        understandability="q2 0 d1 3\nq1 0 d1 2\n",
        relevance="q1 0 d9 1\nq1 0 d1 0\nq2 0 d1 2\n",
        credibility="q3 0 d0 1\nq1 0 d9 0\nq1 0 d1 0\nq2 0 d1 0\n",
    )
    qrels = read_qrels(source, check=False)
    expected = pd.DataFrame(
        {
            "qid": ["q2", "q1", "q1", "q3"],
            "docno": ["d1", "d1", "d9", "d0"],
            "understandability": [3.0, 2.0, np.nan, np.nan],
            "label": [2.0, 0.0, 1.0, np.nan],
            "credibility": np.array([0, 0, 0, 1], dtype=np.int64),
        }
    )
    pd.testing.assert_frame_equal(qrels, expected)


def test_files_that_judge_the_same_pairs(tmp_path: Path) -> None:
    path = write_file(tmp_path / "q", "q 0 d 1\n")
    qrels = read_qrels({"relevance": path, "credibility": path})
    assert rows(qrels) == [("q", "d", 1, 1)]
    assert qrels.dtypes.iloc[2:].tolist() == [np.int64, np.int64]


@pytest.mark.parametrize(
    ("other", "what_differs", "samples"),
    [
        # The relevance file judges q1/d0 to q1/d3.
        (pool("0121", qid="301"), "no query in common", ["q1 against 301"]),
        (
            pool("0121", prefix="clueweb-"),
            "no (query, document) pair in common",
            ["q1/d0, q1/d1", "q1/clueweb-0"],
        ),
        # A pair without a label is not judged.
        ("q1 0 d0 nan\nq7 0 d0 1\n", "no query in common", ["q1 against q7"]),
    ],
    ids=["other queries", "other documents", "a common pair without a label"],
)
def test_files_of_other_collections_are_refused(
    tmp_path: Path, other: str, what_differs: str, samples: list[str]
) -> None:
    """Merged, they would give values of 0 on the aspect, and more queries than were judged."""
    files = aspect_files(tmp_path, relevance=pool("0121"), trust=other)
    with pytest.raises(MultiAspectError) as error:
        read_qrels(files)
    message = str(error.value)
    for part in (str(files["relevance"]), str(files["trust"]), what_differs, *samples):
        assert part in message
    assert "check=False" in message
    assert len(read_qrels(files, check=False)) > 4  # more than the documents of the relevance file
    # None of the files needs to be that of relevance.
    with pytest.raises(MultiAspectError, match="in common"):
        read_qrels({"usefulness": files["relevance"], "trust": files["trust"]})


@pytest.mark.parametrize(
    ("relevance", "trust", "expected"),
    [
        # 20 relevant and 5 other documents, of which the first 18 are judged on trust.
        (pool("1" * 20 + "0" * 5), pool("2" * 18), ["18 of the 20 pairs (90%) above"]),
        # 20 documents, and 30 judged on trust.
        (pool("1" * 20), pool("2" * 30), ["20 of the 30 pairs (67%) of"]),
        # 20 documents of q1; 10 of them and one of q2 are judged on trust.
        (pool("1" * 20), pool("2" * 10) + pool("0", qid="q2"), ["10 of the 20", "10 of the 11"]),
    ],
    ids=["relevant pairs without trust", "trust without relevance", "both"],
)
def test_files_that_share_few_pairs_warn_with_the_counts(
    tmp_path: Path, relevance: str, trust: str, expected: list[str]
) -> None:
    files = aspect_files(tmp_path, relevance=relevance, trust=trust)
    with pytest.warns(MultiAspectWarning) as caught:
        qrels = read_qrels(files)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == len(expected)
    for message, counts in zip(messages, expected, strict=True):
        assert counts in message
        assert str(files["relevance"]) in message
        assert str(files["trust"]) in message
    pd.testing.assert_frame_equal(read_qrels(files, check=False), qrels)


@pytest.mark.parametrize(
    ("relevance", "trust"),
    [
        # d0 to d6 have the relevance 0 1 2 2 1 0 0; d1 to d4, the relevant ones, have trust 1.
        (pool("0122100"), "q1 0 d1 1\nq1 0 d2 1\nq1 0 d3 1\nq1 0 d4 1\n"),
        # Junk has no trust, nor has d0, which is not relevant.
        ("q1 0 junk -2\nq1 0 d0 0\nq1 0 d1 1\n", "q1 0 d1 0\n"),
        # A few relevant documents, up to 5 %, have no trust.
        (pool("1" * 100 + "0"), pool("1" * 95)),
        (pool("1" * 100), pool("1" * 96)),
        # Relevance has no grade 0: its lowest grade, 1, is that of d0, which has no trust.
        (pool("1234"), "q1 0 d1 1\nq1 0 d2 2\nq1 0 d3 1\n"),
    ],
    ids=["relevant", "junk", "95 %", "96 %", "no grade 0"],
)
@no_warnings()
def test_aspects_judged_where_relevant_are_ordinary(
    tmp_path: Path, relevance: str, trust: str
) -> None:
    """Collections judge other aspects on relevant documents only, so that no warning is due."""
    files = aspect_files(tmp_path, relevance=relevance, trust=trust)
    read_qrels(files)
    trust_first = {"trust": files["trust"], "relevance": files["relevance"]}
    read_qrels(trust_first)


def test_many_lines_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec_lines, "_SPLIT", 64)
    monkeypatch.setattr(trec_lines, "_SEARCHED", 64)
    lines = [f"q{i % 7} 0 d{i} {i % 3}" for i in range(200)]
    lines[50:50] = ["", "  "]
    qrels = read_qrels(write_file(tmp_path / "q", "\n".join(lines)))
    assert rows(qrels) == [(f"q{i % 7}", f"d{i}", i % 3) for i in range(200)]
    lines[150] = "q1 0 oops"
    with pytest.raises(MultiAspectError, match=r"q:151: expected 4 fields"):
        read_qrels(write_file(tmp_path / "q", "\n".join(lines)))


def test_open_files(tmp_path: Path) -> None:
    path = write_file(tmp_path / "q", "q 0 d 1\n")
    with open(path) as text, open(path, "rb") as binary:
        qrels = read_qrels(
            {"relevance": text, "credibility": binary, "quality": io.StringIO("q 0 d 2")}
        )
    assert rows(qrels) == [("q", "d", 1, 1, 2)]
    with (
        open(write_file(tmp_path / "bad", "q 0 d\n")) as text,
        pytest.raises(MultiAspectError, match=r"bad:1: expected 4 fields "),
    ):
        read_qrels(text)
    with pytest.raises(MultiAspectError, match=r"<StringIO>:1: expected 4 fields"):
        read_qrels(io.StringIO("qrels.txt"))


def test_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "q", "q 0 d 1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(read_qrels("~/q")) == 1


# --- qrels that are not -------------------------------------------------------------------

ONE = "qid iteration docno label"


@pytest.mark.parametrize(
    ("content", "aspects", "parts"),
    [
        ("q1 0 d1 1\nq1 0 d3\n", None, [":2: expected 4 fields", f"({ONE})", "'q1 0 d3'"]),
        ("q1 0 d1\nq1 0 d3 1\n", None, [":1: expected 4 fields"]),
        ("q1 0 d1 1\nq1 0 d3 1 2\n", None, [":2: expected 4 fields", "aspects=[…]"]),
        ("q1 0 d1 1 3\n", None, [":1: expected 4 fields"]),
        ("\n\nq1 0 d1 1\n\nq1 0 d1 1 q1\n0 d2 1\n", None, [":5: expected 4 fields"]),
        ("\nq1 0 d1\nq1 0 d2 1\n", None, [":2: expected 4 fields"]),
        ("q1 0 d1 1 q2 0 d2\n1\n", None, [":1: expected 4 fields"]),
        ("q1,0,d1,1\n", None, [":1: expected 4 fields", "'q1,0,d1,1'"]),
        (f"q1 0 d1 {'x ' * 200}\n", None, ["got 203: ", "x…'"]),
        (
            "q1 0 d1 1\n",
            ["relevance", "u"],
            [":1: expected 5 fields", "(qid iteration docno relevance u)"],
        ),
        ("q1 0 d1 1 2 3\n", ["relevance", "u"], [":1: expected 5 fields"]),
        (
            "q1 0 d1 1\nq1 0 d3 x\n",
            None,
            [
                ":2: relevance: expected a finite number (or nan for no judgment), got 'x'",
                "finite number",
                "query 'q1'",
                "document 'd3'",
            ],
        ),
        (
            "q1 0 d1 1 2\nq1 0 d3 1 high\n",
            ["relevance", "u"],
            [
                ":2: u: expected a finite number (or nan for no judgment), got 'high'",
                "query 'q1'",
                "document 'd3'",
            ],
        ),
        (
            "q1 0 d1 1 x\nq1 0 d3\n",
            ["relevance", "u"],
            [":1: u: expected a finite number (or nan for no judgment), got 'x'"],
        ),
        (
            "q1 0 d1 inf\n",
            None,
            [
                ":1: relevance: expected a finite number (or nan for no judgment), got 'inf'",
                "a finite number",
            ],
        ),
        (
            "q1 0 d1 1e999\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got '1e999'"],
        ),
        (
            "q1 0 d1 1_0\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got '1_0'"],
        ),
        (
            "q1 0 d1 True\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got 'True'"],
        ),
        (
            "q1 0 d1 NA\n",
            None,
            [
                ":1: relevance: expected a finite number (or nan for no judgment), got 'NA'",
                "or nan for no judgment",
            ],
        ),
        (
            "q1 0 d1 0x1\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got '0x1'"],
        ),
        (
            "q1 0 d1 1,5\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got '1,5'"],
        ),
        (
            "q1 0 d1 １\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got '１'"],
        ),
        (
            "query iter doc label\nq1 0 d1 1\n",
            None,
            [":1: relevance: expected a finite number (or nan for no judgment), got 'label'"],
        ),
        (
            "q1 0 d1 1\n\nq1 0 d2 1\nq1 0 d1 2\n",
            None,
            [":4: relevance of query 'q1', document 'd1' is 2"],
        ),
        (
            "q1 0 d0 0 0\nq1 0 d1 1 0\nq1 0 d1 1 0\nq1 0 d1 1 3\n",
            ["relevance", "u"],
            [":4: u of query 'q1', document 'd1' is 3 here and 0 on line 2"],
        ),
        (
            "q1 0 d1 nan\nq1 0 d1 2\n",
            None,
            [":2: relevance of query 'q1', document 'd1' is 2 here and nan on line 1"],
        ),
        ("", None, ["the file is empty", f"`{ONE}`"]),
        (" \n\t\r\n\n", None, ["the file is empty"]),
        (gzip.compress(b""), None, ["the file is empty"]),
        ("\ufeff", None, ["the file is empty"]),
        (b"q1 0 d1 1\nq1 0 caf\xe9 1\n", None, [":2: not UTF-8 text", "0xe9"]),
        ("q1 0 d1 1\n".encode("utf-16"), None, [":1: not UTF-8 text", "0xff"]),
        ("q1 0 d1 1\n".encode("utf-16-le"), None, [":1: binary data"]),
        (b"q1 0 d1 1\n\x00\x01\x02", None, [":2: binary data"]),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", None, ["not UTF-8 text"]),
        (gzip.compress(b"q1 0 d1 1\n" * 99)[:-12], None, ["damaged gzip"]),
        (gzip.compress(b"q1 0 d1 1\n")[:4], None, ["damaged gzip"]),
        (gzip.compress(b"q1 0 d1 1\n")[:10] + b"\xff" * 30, None, ["damaged gzip"]),
        (gzip.compress(b"q1 0 d1 1\n") + b"tail", None, ["damaged gzip"]),
        (gzip.compress(b"q1 0 d1\n"), None, ["got 3: "]),
    ],
    ids=itertools.count(),  # the contents are no names: long, and gzip's hold the time
)
def test_bad_qrels(
    tmp_path: Path, content: str | bytes, aspects: list[str] | None, parts: list[str]
) -> None:
    path = write_file(tmp_path / "bad.qrels", content)
    with pytest.raises(MultiAspectError) as caught:
        read_qrels(path, aspects=aspects)
    message = str(caught.value)
    assert message.startswith(str(path))
    for part in parts:
        assert part in message
    assert len(message) < len(str(path)) + 400


def test_the_message_names_the_file_that_is_at_fault(tmp_path: Path) -> None:
    good = write_file(tmp_path / "good", "q 0 d 1\n")
    bad = write_file(tmp_path / "bad", "q 0 d x\n")
    with pytest.raises(MultiAspectError, match=r"bad:1: credibility: expected .* got 'x'"):
        read_qrels({"relevance": good, "credibility": bad})
    with pytest.raises(MultiAspectError, match=r"bad:1: credibility: expected .* got 'x'"):
        read_qrels({"credibility": bad})


@pytest.mark.parametrize("read", [read_qrels, read_run])
def test_what_cannot_be_opened(tmp_path: Path, read: Callable[..., pd.DataFrame]) -> None:
    with pytest.raises(MultiAspectError, match=r"absent\.txt: no such file") as caught:
        read("absent.txt")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(MultiAspectError, match="cannot be read"):
        read(tmp_path)
    with pytest.raises(MultiAspectError, match="cannot be read"):
        read("a\0b")
    with pytest.raises(MultiAspectError, match="expected a path or an open file, got object"):
        read(object())
    write_file(tmp_path / "latin", b"q 0 caf\xe9 1\n")
    with (
        open(tmp_path / "latin", encoding="utf-8") as file,
        pytest.raises(MultiAspectError, match="latin"),
    ):
        read(file)


@pytest.mark.parametrize(
    ("aspects", "message"),
    [
        ([], "expected at least one name"),
        ("relevance", "expected a list of names, got 'relevance'"),
        (5, "expected a list of names, got 5"),
        (["u", "u"], "got 'u' and 'u', which are both the column 'u'"),
    ],
)
def test_lists_of_names_that_cannot_be_aspects(
    tmp_path: Path, aspects: list[str], message: str
) -> None:
    path = write_file(tmp_path / "q", "q 0 d 1\n")
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        read_qrels(path, aspects=aspects)


@pytest.mark.parametrize(
    ("aspects", "message"),
    [
        ([], "expected at least one name"),
        ([1], "expected non-empty strings as names, got 1"),
        ([""], "expected non-empty strings as names, got ''"),
        (["qid"], "which are not labels, got 'qid'"),
        (["docno"], "which are not labels, got 'docno'"),
        (["query_id"], "which are not labels, got 'query_id'"),
        (["doc_id"], "which are not labels, got 'doc_id'"),
        (["iteration"], "which are not labels, got 'iteration'"),
        (["query"], "which are not labels, got 'query'"),
        (["relevance", "label"], "got 'relevance' and 'label', which are both the column 'label'"),
    ],
)
def test_names_that_cannot_be_aspects(tmp_path: Path, aspects: list[str], message: str) -> None:
    """Neither in `aspects`, nor as keys of a dictionary of files."""
    path = write_file(tmp_path / "q", "q 0 d 1\n")
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        read_qrels(path, aspects=aspects)
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        read_qrels(dict.fromkeys(aspects, path))


def test_a_mapping_names_the_aspects_itself(tmp_path: Path) -> None:
    with pytest.raises(
        MultiAspectError, match=r"expected None with a mapping.*relevance, credibility"
    ):
        read_qrels({"relevance": "a", "credibility": "b"}, aspects=["relevance"])


# --- runs ---------------------------------------------------------------------------------

RUN_LINES = "q1 Q0 NA 1 1e-3 my-run\n01 Q0 d2 2 -2 my-run\n01 Q0 d3 0 inf other\n"


@pytest.mark.parametrize(
    "content",
    [
        RUN_LINES,
        RUN_LINES.replace(" ", "\t"),
        RUN_LINES.replace("\n", "\r\n\r\n"),
        "\ufeff" + RUN_LINES,
        gzip.compress(RUN_LINES.encode()),
    ],
    ids=["blanks", "tabs", "CRLF and blank lines", "BOM", "gzip"],
)
def test_run(tmp_path: Path, content: str | bytes) -> None:
    run = read_run(write_file(tmp_path / "run", content))
    assert list(run.columns) == ["qid", "docno", "rank", "score", "name"]
    assert rows(run) == [
        ("q1", "NA", 1, 0.001, "my-run"),
        ("01", "d2", 2, -2.0, "my-run"),
        ("01", "d3", 0, math.inf, "other"),
    ]
    assert run["rank"].dtype == np.int64
    assert run["score"].dtype == np.float64


def test_run_as_pyterrier_reads_it(tmp_path: Path) -> None:
    pt = pytest.importorskip("pyterrier")
    path = write_file(tmp_path / "run", "q1 Q0 d1 0 3.25 bm25\nq1 Q0 d2 1 -0.5 bm25\n")
    pd.testing.assert_frame_equal(read_run(path), pt.io.read_results(str(path)))


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("q1 Q0 d1 1 2.5", ["expected 6 fields", "(qid Q0 docno rank score tag)"]),
        ("q1 Q0 d1 1 2.5 my run", ["expected 6 fields", "'q1 Q0 d1 1 2.5 my run'"]),
        ("q1 0 d1 1", ["expected 6 fields"]),
        (
            "q1 Q0 d1 first 2.5 t",
            [
                "rank: expected a whole number, got 'first'",
                "a whole number",
                "query 'q1', document 'd1'",
            ],
        ),
        ("q1 Q0 d1 1.5 2.5 t", ["rank: expected a whole number, got '1.5'"]),
        ("q1 Q0 d1 nan 2.5 t", ["rank: expected a whole number, got 'nan'"]),
        ("q1 Q0 d1 inf 2.5 t", ["rank: expected a whole number, got 'inf'"]),
        (
            "q1 Q0 d1 1 nan t",
            [
                "score: expected a number other than nan, got 'nan'",
                "a number other than nan",
                "document 'd1'",
            ],
        ),
        ("q1 Q0 d1 1 NaN t", ["score: expected a number other than nan, got 'NaN'"]),
        ("q1 Q0 d1 1 1_0 t", ["score: expected a number other than nan, got '1_0'"]),
        ("q1 Q0 d1 1 x t", ["score: expected a number other than nan, got 'x'"]),
    ],
)
def test_bad_run(tmp_path: Path, line: str, parts: list[str]) -> None:
    path = write_file(tmp_path / "bad.run", f"q0 Q0 d0 1 1 t\n\n{line}\nq9 Q0 d0 1 1 t\n")
    with pytest.raises(MultiAspectError) as caught:
        read_run(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: ")
    for part in parts:
        assert part in message


def test_empty_run(tmp_path: Path) -> None:
    with pytest.raises(
        MultiAspectError, match=r"run: the file is empty; expected lines `qid Q0 docno rank"
    ):
        read_run(write_file(tmp_path / "run", "\n"))


# --- round trips --------------------------------------------------------------------------

# U+FEFF at the very start of a file is its byte order mark, never part of an id.
ids = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\v\f\0\ufeff"),
    min_size=1,
    max_size=6,
) | st.sampled_from(["NA", "nan", "1", "01", "1.0", "#", '"', "''"])
# A line that begins with # is a comment, and a file that begins with {} or [] is JSON.
queries = ids.filter(lambda name: not name.startswith(("#", "{", "[")))
integers = st.integers(-(2**53), 2**53)
floats = st.floats(allow_nan=False, allow_infinity=False)
separators = st.sampled_from([" ", "\t", "  ", " \t"])


def same(read: list[float], written: list[float]) -> bool:
    return np.array_equal(np.array(read, float), np.array(written, float), equal_nan=True)


def as_file(lines: list[tuple[str, ...]], separator: str, compress: bool) -> io.BytesIO:
    content = "".join(separator.join(fields) + "\n" for fields in lines).encode()
    if compress:
        content = gzip.compress(content, 1)
    return io.BytesIO(content)


def check_labels(column: pd.Series, written: list[float]) -> None:
    """Check values and type: integers, unless a label is not whole or too large to be exact."""
    assert column.tolist() == written
    are_whole = all(float(label).is_integer() and abs(label) <= 2**53 for label in written)
    assert column.dtype == (np.int64 if are_whole else np.float64)


@given(
    judged=st.one_of(
        st.dictionaries(st.tuples(queries, ids), st.tuples(labels, labels), min_size=1, max_size=12)
        for labels in (integers, floats)
    ),
    separator=separators,
    compress=st.booleans(),
)
def test_qrels_round_trip(
    judged: dict[tuple[str, str], tuple[float, float]], separator: str, compress: bool
) -> None:
    """Ids and labels of two aspects are read as they were written, in one file and in two."""
    with_both, with_relevance, with_ease = [], [], []
    for (qid, docno), (relevance, ease) in judged.items():
        with_both.append((qid, "0", docno, repr(relevance), repr(ease)))
        with_relevance.append((qid, "0", docno, repr(relevance)))
        with_ease.append((qid, "0", docno, repr(ease)))
    of_one_file = read_qrels(as_file(with_both, separator, compress), aspects=["relevance", "ease"])
    of_two_files = read_qrels(
        {
            "relevance": as_file(with_relevance, separator, compress),
            "ease": as_file(with_ease, separator, compress),
        }
    )
    for qrels in (of_one_file, of_two_files):
        assert list(zip(qrels["qid"], qrels["docno"], strict=True)) == list(judged)
        check_labels(qrels["label"], [relevance for relevance, _ in judged.values()])
        check_labels(qrels["ease"], [ease for _, ease in judged.values()])


@given(
    first=st.dictionaries(st.tuples(queries, ids), integers | floats, min_size=1, max_size=8),
    second=st.dictionaries(st.tuples(queries, ids), integers | floats, min_size=1, max_size=8),
)
def test_join_is_the_outer_join(
    first: dict[tuple[str, str], float], second: dict[tuple[str, str], float]
) -> None:
    def file(judged: dict[tuple[str, str], float]) -> io.StringIO:
        return io.StringIO("".join(f"{q} 0 {d} {label!r}\n" for (q, d), label in judged.items()))

    qrels = read_qrels({"relevance": file(first), "ease": file(second)}, check=False)
    pairs = list(dict.fromkeys([*first, *second]))
    assert list(zip(qrels["qid"], qrels["docno"], strict=True)) == pairs
    assert same(qrels["label"].tolist(), [first.get(pair, math.nan) for pair in pairs])
    assert same(qrels["ease"].tolist(), [second.get(pair, math.nan) for pair in pairs])


@given(
    retrieved=st.lists(
        st.tuples(queries, ids, st.integers(-5, 10**6), st.floats(allow_nan=False), ids),
        min_size=1,
        max_size=12,
    ),
    separator=separators,
)
def test_run_round_trip(retrieved: list[tuple[str, str, int, float, str]], separator: str) -> None:
    content = "".join(
        separator.join([qid, "Q0", docno, str(rank), repr(score), name]) + "\n"
        for qid, docno, rank, score, name in retrieved
    )
    assert rows(read_run(io.StringIO(content))) == retrieved


@given(st.binary(max_size=80) | st.text("q01. \t\r\nnax_e-", max_size=60))
def test_whatever_is_in_the_file_only_our_error_comes_out(content: bytes | str) -> None:
    source = io.BytesIO(content) if isinstance(content, bytes) else io.StringIO(content)
    lines = (content if isinstance(content, bytes) else content.encode()).split(b"\n")
    try:
        qrels = read_qrels(source)
    except MultiAspectError:
        return
    assert len(qrels) <= sum(len(line.split()) == 4 for line in lines)
    assert all(len(line.split()) in (0, 4) for line in lines)


# --- real files ---------------------------------------------------------------------------


def test_clef_ehealth_2015() -> None:
    relevance = shared_path("data", "clef2015", "qrels.graded.txt.gz")
    understandability = shared_path("data", "clef2015", "qread.graded.txt.gz")
    qrels = read_qrels({"relevance": relevance, "understandability": understandability})
    assert list(qrels.columns) == ["qid", "docno", "label", "understandability"]
    assert len(qrels) == 8713
    assert qrels["qid"].nunique() == 66
    assert not qrels.duplicated(["qid", "docno"]).any()
    assert qrels.dtypes.iloc[2:].tolist() == [np.int64, np.int64]
    assert sorted(qrels["label"].unique()) == [0, 1, 2]
    assert sorted(qrels["understandability"].unique()) == [0, 1, 2, 3]
    assert rows(qrels.head(1)) == [("qtest.1", "aldf.1864_12_000027", 1, 3)]


@pytest.mark.slow
def test_clef_ehealth_2018() -> None:
    names = {
        "relevance": "qrel.txt.gz",
        "understandability": "qread.txt.gz",
        "trust": "qtrust.txt.gz",
    }
    qrels = read_qrels(
        {aspect: shared_path("data", "clef2018", name) for aspect, name in names.items()}
    )
    assert list(qrels.columns) == ["qid", "docno", "label", "understandability", "trust"]
    assert len(qrels) == 26025
    assert qrels["qid"].nunique() == 50


@pytest.mark.parametrize("several", [["a", "b"], ("a", "b"), [io.StringIO("q 0 d 1")]])
def test_several_qrels_files_need_names(several: object) -> None:
    with pytest.raises(MultiAspectError, match=r"mapping.*\{'relevance': 'qrels.txt', "):
        read_qrels(several)  # type: ignore[arg-type]


def run_lines(ranks: Iterable[int], scores: Iterable[float]) -> str:
    """Return a run of two queries."""
    return "".join(
        f"q{query} Q0 d{row} {rank} {score} tag\n"
        for query in (1, 2)
        for row, (rank, score) in enumerate(zip(ranks, scores, strict=True))
    )


#: Of each of the 2 queries of `run_lines`, the 8 documents after the first have a document before
#: them. The first of these is d1.
CONTRADICTION = "ranks contradict scores in 16 of 16 rows, such as that of query q1, document d1"


def test_ranks_that_contradict_scores(tmp_path: Path) -> None:
    """A negated score reverses the ranking, which no measure can tell from a bad one."""
    path = tmp_path / "mine.run"
    scores_ascending = range(9)
    path.write_text(run_lines(range(9), scores_ascending))
    with pytest.warns(MultiAspectWarning, match=CONTRADICTION):
        ma.read_run(path)
    with pytest.warns(MultiAspectWarning, match=CONTRADICTION):
        ma.read_run(io.StringIO(path.read_text()))
    qrels = {"q1": {"d0": 1}, "q2": {"d0": 1}}
    message = f"run mine.run: {CONTRADICTION}. The order is by descending score"
    with pytest.warns(MultiAspectWarning, match=message):
        ma.evaluate([path], qrels, ["AP"], progress=False)


def run_and_negated_run() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a run of two queries that has d0 first, and the same with distances as scores."""
    scores_descending = range(9, 0, -1)
    run = ma.read_run(io.StringIO(run_lines(range(9), scores_descending)))
    return run, run.assign(score=-run["score"])


@pytest.mark.parametrize("dtype_of_rank", ["int64", "float64", "Int64", "int32"])
def test_ranks_of_a_frame_that_contradict_its_scores(dtype_of_rank: str) -> None:
    """Each evaluation of a frame warns as that of a file does; where both agree none does."""
    qrels = {"q1": {"d0": 1}, "q2": {"d0": 1}}
    run, negated = run_and_negated_run()
    values = ma.evaluate({"mine": run}, qrels, ["AP"], progress=False)["value"]
    assert values.tolist() == [1, 1]
    negated["rank"] = negated["rank"].astype(dtype_of_rank)
    for _ in range(2):
        with pytest.warns(MultiAspectWarning, match=f"run mine: {CONTRADICTION}. The order"):
            ma.evaluate({"mine": negated}, qrels, ["AP"], progress=False)


@pytest.mark.parametrize("rank", ["first", 0, np.nan, None])
def test_ranks_that_say_nothing_contradict_no_scores(rank: object) -> None:
    """One rank for all documents, or (None) no column of ranks."""
    qrels = {"q1": {"d0": 1}, "q2": {"d0": 1}}
    _, negated = run_and_negated_run()
    run = negated.drop(columns="rank") if rank is None else negated.assign(rank=rank)
    ma.evaluate({"mine": run}, qrels, ["AP"], progress=False)


@pytest.mark.parametrize(
    ("ranks", "scores"),
    [
        (range(9), range(9, 0, -1)),
        ([0] * 9, range(9)),
        (range(9, 0, -1), [1.0] * 9),
        (range(9, 0, -1), [3, 3, 3, 2, 2, 2, 2, 1, 1]),
        ([0, 2, 1, 3, 4, 6, 5, 7, 8], range(9, 0, -1)),
        ([8, 0, 1, 2, 3, 4, 5, 6, 7], range(9, 0, -1)),
        (range(3), range(3)),
    ],
)
def test_ranks_that_do_not_contradict_scores(ranks: Iterable[int], scores: Iterable[float]) -> None:
    ma.read_run(io.StringIO(run_lines(ranks, scores)))


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolons"), (",", "commas")])
def test_other_separators_are_named(mark: str, word: str) -> None:
    for reader in (read_run, read_qrels):
        with pytest.raises(
            MultiAspectError, match=f"with {word} between the fields, the first line is a header"
        ):
            reader(io.StringIO(mark.join(("q1", "d1", "2.5"))))


def test_directories_that_pyterrier_writes(tmp_path: Path) -> None:
    (tmp_path / "bm25.res.gz").write_bytes(gzip.compress(b"q1 Q0 d1 0 1.0 pyterrier\n"))
    for name in ("aggregated.csv", "perquery.csv"):
        (tmp_path / name).write_text("name,AP\n")
    values = ma.evaluate(tmp_path, {"q1": {"d1": 1}}, ["AP"], progress=False)
    assert values["name"].tolist() == ["bm25"]
    (tmp_path / "a.run").write_text("q1 Q0 d1 0 1.0 a\n")
    (tmp_path / ".DS_Store").write_bytes(b"\xff")
    assert ma.evaluate(tmp_path, {"q1": {"d1": 1}}, ["AP"], progress=False)["name"].tolist() == [
        "a.run",
        "bm25",
    ]
    assert pick_baseline(str(tmp_path / "bm25.res.gz"), ["bm25", "pl2"]) == "bm25"


@pytest.mark.parametrize("first_rank", [0, 1])
def test_the_minimal_format_of_pyterrier(first_rank: int, tmp_path: Path) -> None:
    """It has ranks but no scores: the scores that are read are the negated ranks."""
    run = pd.DataFrame(
        {
            "qid": ["q2", "q2", "q2", "q1", "q1"],
            "docno": ["d0", "d1", "d2", "d0", "d1"],
            "score": [3.0, 9.0, 5.0, 2.0, 1.0],
            "rank": np.array([2, 0, 1, 0, 1]) + first_rank,
        }
    )
    path = tmp_path / "minimal.run.gz"
    pt.io.write_results(run, str(path), format="minimal")
    result = read_run(path)
    assert list(result.columns) == ["qid", "docno", "rank", "score"]
    pd.testing.assert_frame_equal(result[["qid", "docno", "rank"]], run[["qid", "docno", "rank"]])
    assert result["score"].tolist() == (-result["rank"]).tolist()
    qrels = {"q1": {"d0": 1}, "q2": {"d2": 1}}
    for source in (path, run, result):
        values = ma.evaluate({"a": source}, qrels, ["RR"], progress=False)
        assert values["qid"].tolist() == ["q1", "q2"]
        assert values["value"].tolist() == [1.0, 1 / 2]  # q2 has d2 at the second rank


@pytest.mark.parametrize(
    "lines",
    [
        "q1 d1 1\nq1 d2 3",
        "q1 d1 2\nq1 d2 3",
        "q1 d1 1\nq1 d2 1",
        "q1 d1 -1\nq1 d2 0",
        "q1 d1 1\nq1 d2 2.5",
        "q1 d1 1\nq2 d1 7",
        "q1 d1 1\nq1 d2 2 3",
        "q1 d1 one",
    ],
)
def test_three_fields_that_are_no_ranks(lines: str) -> None:
    """The third may be a score, for which higher is better."""
    with pytest.raises(
        MultiAspectError, match=r":1: expected 6 fields \(qid Q0 docno rank score tag\), got 3"
    ):
        read_run(io.StringIO(lines))


def qrels_lines(labels: Iterable[int]) -> str:
    return "".join(f"q1 0 d{row} {label}\n" for row, label in enumerate(labels))


def test_runs_without_names_are_numbered() -> None:
    frame = pd.DataFrame({"qid": ["q1"], "docno": ["d1"], "score": [1.0]})
    for runs, number in (
        ({"q1": {"d1": 1.0}}, 1),
        (io.StringIO("q1 Q0 d1 0 1.0 tag\n"), 1),
        ((frame for _ in range(3)), 3),
    ):
        values = ma.evaluate(runs, {"q1": {"d1": 1}}, "AP", progress=False)
        assert values["name"].tolist() == [f"run {position + 1}" for position in range(number)]
        assert (values["value"] == 1).all()


def test_one_file_for_two_aspects(tmp_path: Path) -> None:
    path, copy = (
        write_file(tmp_path / name, qrels_lines(range(12))) for name in ("qrels.txt", "copy.txt")
    )
    message = r"qrels\.txt \(relevance\) and .*qrels\.txt \(credibility\) have the same labels"
    with pytest.warns(MultiAspectWarning, match=message):
        qrels = read_qrels({"relevance": path, "credibility": path})
    assert qrels["label"].equals(qrels["credibility"])
    read_qrels({"relevance": path, "credibility": path}, check=False)
    other = io.StringIO(qrels_lines(range(12, 0, -1)))
    with pytest.warns(
        MultiAspectWarning, match=r"qrels\.txt \(b\) and .*copy\.txt \(c\) have the same labels"
    ):
        read_qrels({"a": other, "b": path, "c": copy})


def test_the_shell_warns_of_one_file_for_two_aspects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels = write_file(tmp_path / "q", qrels_lines(range(12)))
    run = write_file(tmp_path / "r", "q1 Q0 d1 0 1.0 tag\n")
    command = [
        "evaluate",
        "--qrels",
        f"relevance={qrels}",
        f"credibility={qrels}",
        "-m",
        "CAM",
        str(run),
    ]
    assert main([*command, "--aspects", '{"relevance": 11, "credibility": 11}']) == 0
    assert "have the same labels" in (err := capsys.readouterr().err)
    assert "--no-check" in err


@pytest.mark.parametrize(
    ("labels", "others"),
    [([1, 0, 1], [1, 0, 1]), ([1] * 12, [1] * 12), (range(12), [*range(11), 12])],
)
def test_files_that_are_no_copies(labels: Iterable[int], others: Iterable[int]) -> None:
    read_qrels({"a": io.StringIO(qrels_lines(labels)), "b": io.StringIO(qrels_lines(others))})


def test_one_file_with_a_column_for_each_aspect(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "qrels.parquet"
    read_qrels(
        io.StringIO("q1 0 d1 1 2\nq1 0 d2 0 3\n"), aspects=["relevance", "credibility"]
    ).to_parquet(path)
    assert read_qrels({"relevance": path, "credibility": path})["credibility"].tolist() == [2, 3]
