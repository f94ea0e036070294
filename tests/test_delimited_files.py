"""Runs and judgments in tables: a header, and commas, semicolons or tabs between fields."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frame_world import write_file
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.io import delimited_files
from pt_multiaspect.io.file_contents import as_text
from pt_multiaspect.io.runs import run_of

QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2"],
        "docno": ["d1", "d2", "d9"],
        "label": [0, 1, 2],
        "credibility": [1, 0, 1],
    }
)
RUN = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q2"],
        "docno": ["d1", "d2", "d9", "é"],
        "score": [1.5, 0.1 + 0.2, 2.0, -1e-17],
    }
)
SCALES = ma.Aspects({"relevance": 2, "credibility": 1})
MEASURES = ["nDCG@10", "bpref", ma.CAM(aspects=SCALES) @ 10, ma.TOMA(aspects=SCALES) @ 10]
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}

#: The columns that frames of runs may have.
VOCABULARIES = (("qid", "docno"), ("query_id", "doc_id"), ("q_id", "doc_id"), ("query_id", "docno"))


def table(frame: pd.DataFrame, separator: str = ",", **options: Any) -> str:
    return str(frame.to_csv(sep=separator, index=False, **options))


def evaluate(run: Any, qrels: Any = QRELS) -> pd.DataFrame:
    return ma.evaluate({"a": run}, qrels, MEASURES, progress=False)


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    return evaluate(RUN)


# --- runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", SEPARATORS, ids=SEPARATORS.values())
@pytest.mark.parametrize("names", VOCABULARIES, ids="_".join)
def test_runs_with_a_header(
    separator: str, names: tuple[str, str], expected: pd.DataFrame, tmp_path: Path
) -> None:
    text = table(RUN.set_axis([*names, "score"], axis=1), separator)
    for content in (text, text.replace("\n", "\r\n"), f"\ufeff{text}", text.rstrip("\n")):
        path = write_file(tmp_path / "a.csv", content)
        read = ma.read_run(path)
        pd.testing.assert_frame_equal(read, RUN, check_dtype=False)
        assert read["score"].dtype == np.float64
        for run in (
            path,
            str(path),
            io.StringIO(content),
            io.BytesIO(gzip.compress(content.encode())),
        ):
            pd.testing.assert_frame_equal(evaluate(run), expected)


#: Tables that are not read by the fast reader of lines.
ODD = {
    "quotes": table(RUN, quoting=1),
    "an id with blanks": table(RUN).replace("é", "d 7"),
    "an id with a tab": table(RUN).replace("é", "d\t7"),
    "an id with a comma": table(RUN.replace("é", "d,7")),
    "blank lines": table(RUN).replace("\n", "\n\n"),
    "the score first": table(RUN[["score", "docno", "qid"]]),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_tables(case: str, expected: pd.DataFrame) -> None:
    text = as_text("x", ODD[case].encode())
    assert delimited_files.read_plain_run(text, ",") is None
    values = evaluate(io.StringIO(ODD[case]))
    pd.testing.assert_frame_equal(values, expected)
    assert ma.read_run(io.StringIO(ODD[case]))["score"].tolist() == RUN["score"].tolist()


def test_plain_tables_are_read_without_python_strings() -> None:
    text = as_text("x", table(RUN.assign(rank=[0, 1, 0, 1], name="bm25")).encode())
    columns = delimited_files.read_plain_run(text, ",")
    assert columns is not None
    assert columns.numbers["score"].tolist() == RUN["score"].tolist()
    assert columns.docnos.decode().tolist() == RUN["docno"].tolist()


def test_scores_of_17_digits_are_read_exactly() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(5000) * 10.0 ** rng.integers(-300, 300, 5000)
    run = pd.DataFrame({"qid": "q1", "docno": [f"d{row}" for row in range(5000)], "score": scores})
    for text in (table(run), table(run, quoting=1)):
        assert run_of("x", io.StringIO(text)).score.tolist() == scores.tolist()
        assert ma.read_run(io.StringIO(text))["score"].tolist() == scores.tolist()


@pytest.mark.parametrize("quoting", [0, 1])
def test_ranks_and_other_columns(quoting: int) -> None:
    run = RUN.assign(rank=[1, 2, 1, 2], name="bm25", query="what, why")[
        ["query", "name", "rank", "qid", "docno", "score"]
    ]
    read = ma.read_run(io.StringIO(table(run, quoting=quoting)))
    assert list(read.columns) == ["qid", "docno", "rank", "score", "name", "query"]
    assert read["rank"].dtype == np.int64
    assert read["query"].unique().tolist() == ["what, why"]


@pytest.mark.parametrize("quoting", [0, 1])
@pytest.mark.parametrize("read", [ma.read_run, lambda file: run_of("x", file)])
def test_ranks_that_contradict_scores_are_a_warning(read: Any, quoting: int) -> None:
    """Of 20 documents, each after the first has a higher rank number, but a higher score, too."""
    run = pd.DataFrame({"qid": "q1", "docno": [f"d{row}" for row in range(20)], "rank": range(20)})

    contradicting = run.assign(score=run["rank"] / 2)
    with pytest.warns(MultiAspectWarning, match="ranks contradict scores in 19 of 19 rows"):
        read(io.StringIO(table(contradicting, quoting=quoting)))

    agreeing = run.assign(score=-run["rank"] / 2)
    with no_warnings():
        read(io.StringIO(table(agreeing, quoting=quoting)))


def test_a_header_of_ir_metadata_before_a_table() -> None:
    text = f"# ir_metadata.start\n# tag: bm25\n# ir_metadata.end\n{table(RUN)}"
    read = ma.read_run(io.StringIO(text))
    assert read.attrs == {"ir_metadata": "tag: bm25\n"}
    assert len(read) == len(RUN)


HEADER = "qid,docno,score\n"
BAD_RUNS = {
    "no number": (
        f"{HEADER}q1,d1,x\n",
        "invalid score 'x' for document d1, query q1: expected a number",
    ),
    "nan": (f"{HEADER}q1,d1,nan\n", "invalid score nan for document d1, query q1"),
    "no score": (f"{HEADER}q1,d1,\n", "invalid score '' for document d1, query q1"),
    "underscores": (f"{HEADER}q1,d1,1_000\n", "invalid score '1_000'"),
    "no document": (f"{HEADER}q1,,1\n", "expected a docno in every line, got none in 'q1,,1'"),
    "no query": (f"{HEADER},d1,1\n", "expected a qid in every line, got none in ',d1,1'"),
    "a field more": (
        f"{HEADER}q1,d1,1,2\n",
        ":2: expected 3 fields, as in the header, got 4 fields",
    ),
    "a field less": (
        f"{HEADER}q1,d1,1\nq1,d2\n",
        ":3: expected 3 fields, as in the header, got 2 fields",
    ),
    "another separator": (
        f"{HEADER}q1;d1;1\n",
        ":2: expected 3 fields, as in the header, got 1 fields",
    ),
    "two queries": (
        "qid,query_id,docno,score\na,a,d,1\n",
        "expected one column qid or query_id or q_id",
    ),
    "a column twice": ("qid,docno,score,score\na,d,1,1\n", "expected distinct column names"),
    "labels": (
        "qid,docno,label\nq1,d1,1\n",
        r"expected a column score.* Are the qrels and the runs swapped\?",
    ),
    "judgments of BEIR": (
        "query-id,corpus-id,score\nq,d,1\n",
        r"Are the qrels and the runs swapped\?",
    ),
    "a rank": (
        "qid,docno,score,rank\nq1,d1,1,first\n",
        "rank: expected a whole number in every row, got 'first'",
    ),
    "half a rank": (
        "qid,docno,score,rank\nq1,d1,1,1.5\n",
        "rank: expected a whole number in every row, got '1.5'",
    ),
    "ranks only": ("qid,docno,rank\nq1,d1,1\n", "if it has only ranks, add a column score = -rank"),
    "nothing else": (HEADER, "the file is empty; expected rows with qid, docno and score"),
    "another case": (
        "QID,Docno,Score\nq1,d1,1\n",
        "expected one column qid or query_id or q_id, .*rename it",
    ),
    "no header": (
        "q1,d1,1\n",
        "with commas between the fields, the first line is a header, such as qid,",
    ),
}


@pytest.mark.parametrize("case", BAD_RUNS)
def test_bad_runs(case: str, tmp_path: Path) -> None:
    text, message = BAD_RUNS[case]
    path = write_file(tmp_path / "a.csv", text)
    for read in (
        ma.read_run,
        lambda file: evaluate(file),
        lambda file: ma.evaluate(file, QRELS, "AP"),
    ):
        with pytest.raises(MultiAspectError, match=rf"a\.csv:?.*{message}"):
            read(path)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_an_error_and_no_other_number(separator: str, tmp_path: Path) -> None:
    run, qrels = (
        table(frame, separator, decimal=",") for frame in (RUN, QRELS.assign(label=[0.5, 1, 2]))
    )
    remedy = r"got '\d+,\d+': write decimals with a point, as in pandas\.read_csv\(…, sep=';', decimal=','\)"
    path = write_file(tmp_path / "a.csv", run)
    for read in (ma.read_run, evaluate):
        with pytest.raises(
            MultiAspectError, match=f"score: expected numbers with a decimal point, {remedy}"
        ):
            read(path)
    with pytest.raises(
        MultiAspectError, match=f"label: expected numbers with a decimal point, {remedy}"
    ):
        ma.read_qrels(io.StringIO(qrels))
    whole = RUN.assign(score=[4, 3, 2, 1])
    assert ma.read_run(io.StringIO(table(whole, separator, decimal=",")))["score"].tolist() == [
        4,
        3,
        2,
        1,
    ]


# --- judgments ------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", SEPARATORS, ids=SEPARATORS.values())
@pytest.mark.parametrize("quoting", [0, 1])
def test_judgments_with_a_header(separator: str, quoting: int, expected: pd.DataFrame) -> None:
    text = table(QRELS, separator, quoting=quoting)
    pd.testing.assert_frame_equal(ma.read_qrels(io.StringIO(text)), QRELS, check_dtype=False)
    others = table(
        QRELS.set_axis(["query_id", "doc_id", "relevance", "credibility"], axis=1), separator
    )
    pd.testing.assert_frame_equal(ma.read_qrels(io.StringIO(others)), QRELS, check_dtype=False)
    pd.testing.assert_frame_equal(evaluate(RUN, ma.read_qrels(io.StringIO(text))), expected)
    alone = ma.read_qrels(io.StringIO(text), aspects=["credibility"])
    assert list(alone.columns) == ["qid", "docno", "credibility"]
    files = {
        aspect: io.StringIO(table(QRELS[["qid", "docno", column]], separator))
        for aspect, column in {"relevance": "label", "credibility": "credibility"}.items()
    }
    pd.testing.assert_frame_equal(ma.read_qrels(files), QRELS, check_dtype=False)


@pytest.mark.parametrize("cell", ["", "nan", "NaN"])
def test_cells_without_a_label_are_missing(cell: str) -> None:
    text = table(QRELS.assign(credibility=["1", cell, "0"]))
    qrels = ma.read_qrels(io.StringIO(text))
    assert qrels["credibility"].isna().tolist() == [False, True, False]
    assert qrels["label"].dtype == np.int64


def test_texts_beside_labels_and_subtopics_are_kept() -> None:
    qrels = ma.read_qrels(io.StringIO(table(QRELS.assign(title="a, b", iteration=["0", "1", "0"]))))
    assert qrels["title"].tolist() == ["a, b"] * 3
    assert qrels["iteration"].tolist() == ["0", "1", "0"]
    constant = ma.read_qrels(io.StringIO(table(QRELS.assign(iteration="0"))))
    assert list(constant.columns) == list(QRELS.columns)


BAD_QRELS = {
    "a run": (
        table(RUN),
        "expected label columns, got the columns qid, docno, score; this looks like a run",
    ),
    "a run with ranks": (table(RUN.assign(rank=1)), "this looks like a run, not qrels"),
    "no label": ("qid,docno\nq1,d1\n", "expected label columns"),
    "infinite": ("qid,docno,label\nq1,d1,inf\n", "label: expected a finite number"),
    "a text": (
        table(pd.concat([QRELS] * 2).assign(label=[*"01201x"])),
        "label: expected a finite .*got x",
    ),
    "two labels": (
        "qid,docno,label\nq1,d1,1\nq1,d1,2\n",
        "query q1, document d1, got different labels",
    ),
    "two names": (
        "qid,docno,label,relevance\nq1,d1,1,1\n",
        "at most one of them label or relevance",
    ),
    "no document": (
        "qid,docno,label\nq1,,1\n",
        "expected a docno in every line, got none in 'q1,,1'",
    ),
}


@pytest.mark.parametrize("case", BAD_QRELS)
def test_bad_judgments(case: str) -> None:
    text, message = BAD_QRELS[case]
    with pytest.raises(MultiAspectError, match=f"^<StringIO>: .*{message}"):
        ma.read_qrels(io.StringIO(text))


# --- the command line -----------------------------------------------------------------------


@pytest.mark.parametrize("separator", SEPARATORS, ids=SEPARATORS.values())
def test_the_command_line_reads_tables(cli: Any, trec_files: Path, separator: str) -> None:
    run = ma.read_run(trec_files / "runs" / "alpha.run")[["qid", "docno", "score"]]
    files = {aspect: trec_files / f"{aspect}.txt" for aspect in ("relevance", "credibility")}
    write_file(trec_files / "alpha.csv", table(run, separator))
    write_file(trec_files / "qrels.csv", table(ma.read_qrels(files), separator))
    arguments = ("-m", "nDCG@10 CAM@3", "--aspects", "scales.json", "--format", "csv")
    code, out, warned = cli("evaluate", *arguments, "runs/alpha.run")
    assert code == 0, warned
    figures = out.splitlines()[1].partition(",")[2]
    for qrels in ("qrels.csv", "relevance,credibility=qrels.csv"):
        code, out, err = cli("evaluate", *arguments, "alpha.csv", qrels=[qrels])
        assert (code, err) == (0, warned)
        assert out.splitlines()[1] == f"alpha.csv,{figures}"


def test_the_command_line_names_decimal_commas(cli: Any, trec_files: Path) -> None:
    write_file(trec_files / "a.csv", "qid;docno;score\nq0;d00;1,5\n")
    code, _, err = cli("evaluate", "-m", "AP", "a.csv")
    assert code == 2
    assert "a.csv: score: expected numbers with a decimal point, got '1,5'" in err
