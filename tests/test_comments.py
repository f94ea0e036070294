"""Lines of comments in qrels and runs, as trec_eval skips them, and lines that only begin like comments."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from frame_world import write_file

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning

QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n"
RUN = "q1 Q0 d1 1 2.5 x\nq1 Q0 d2 2 1.5 x\nq2 Q0 d3 1 1 x\n"

#: Comments, among them with the number of fields of qrels or runs, and a number where they have
#: one.
COMMENTS = (
    "# web judgments 2026",
    "# bm25 run of 2026 final",
    "# qid docno 1",
    "#",
    "##",
    "## 0 part 2",
    "#no blank",
    "#judgments",
    "\t# web judgments 2026",
    " # web judgments 2026",
    "# é",
    "#" * 200,
)


def with_comment(text: str, comment: str, position: str) -> str:
    lines = text.splitlines()
    if position == "first":
        lines.insert(0, comment)
    elif position == "last":
        lines.append(comment)
    else:
        lines = [line for pair in zip([comment] * len(lines), lines, strict=True) for line in pair]
    return "\n".join(lines) + "\n"


def values(qrels: Any, run: Any) -> list[float]:
    table = ma.evaluate({"a": run}, ma.read_qrels(qrels), ["AP", "nDCG@5"], progress=False)
    return list(table["value"])


@pytest.mark.parametrize("comment", COMMENTS)
@pytest.mark.parametrize("position", ["first", "last", "before each line"])
def test_comments_are_skipped(comment: str, position: str, tmp_path: Path) -> None:
    qrels, run = (with_comment(text, comment, position) for text in (QRELS, RUN))
    pd.testing.assert_frame_equal(
        ma.read_qrels(io.StringIO(qrels)), ma.read_qrels(io.StringIO(QRELS))
    )
    pd.testing.assert_frame_equal(ma.read_run(io.StringIO(run)), ma.read_run(io.StringIO(RUN)))
    path = write_file(tmp_path / "a.run", run)
    for source in (path, io.BytesIO(gzip.compress(run.replace("\n", "\r\n").encode()))):
        assert values(io.StringIO(qrels), source) == [1.0, 1.0, 1.0, 1.0]


def test_comments_of_several_aspects_and_subtopics() -> None:
    two = ma.read_qrels(
        io.StringIO("# two labels\nq1 0 d1 1 2\n# 1 2 3 4\nq1 0 d2 0 1\n"), ["relevance", "trust"]
    )
    assert two[["label", "trust"]].to_numpy().tolist() == [[1, 2], [0, 1]]
    subtopics = ma.read_qrels(io.StringIO("# by subtopic\nq1 1 d1 1\n# 2\nq1 2 d1 0\n"))
    assert subtopics["iteration"].tolist() == ["1", "2"]


def test_comments_of_the_minimal_format() -> None:
    run = ma.read_run(io.StringIO("# ranks only\nq1 d1 1\n# d9 2\nq1 d2 2\n"))
    assert run[["docno", "score"]].to_numpy().tolist() == [["d1", -1.0], ["d2", -2.0]]


def test_comments_before_a_table() -> None:
    for separator in ",;\t":
        run = "# exported in 2026\n#\nqid,docno,score\nq1,d1,2.5\n#2,d2,1\n".replace(",", separator)
        assert ma.read_run(io.StringIO(run))["qid"].tolist() == ["q1", "#2"]
        qrels = "# exported in 2026\nqid,docno,label\nq1,d1,2\n#2,d2,1\n".replace(",", separator)
        assert ma.read_qrels(io.StringIO(qrels))["qid"].tolist() == ["q1", "#2"]
    blank = "\n# exported\n\n# in 2026\nqid,docno,score\nq1,d1,2.5\n"
    assert ma.read_run(io.StringIO(blank))["score"].tolist() == [2.5]
    beir = "# of BEIR\nquery-id\tcorpus-id\tscore\nq1\td1\t2\n"
    assert ma.read_qrels(io.StringIO(beir))["docno"].tolist() == ["d1"]


def test_lines_in_errors_are_those_of_the_file() -> None:
    for text in ("# a\n# b\nq1 0 d1 1\nq1 0 d2 x\n", "# a\nq1 0 d1 1\n# b\nq1 0 d2 x\n"):
        with pytest.raises(
            MultiAspectError, match="<StringIO>:4: relevance: expected a finite number"
        ):
            ma.read_qrels(io.StringIO(text))
    conflict = "# a\nq1 0 d1 1\n# b\n\nq1 0 d1 2\n"
    with pytest.raises(
        MultiAspectError, match=r"<StringIO>:5: relevance .* is 2 here and 1 on line 2"
    ):
        ma.read_qrels(io.StringIO(conflict))


#: Files with a line that begins with # and has the fields of a judgment or a row, and the reader.
DATA = {
    "qrels": (ma.read_qrels, QRELS + "#q3 0 d1 1\n", "#q3 0 d1 1", 4),
    "qrels, first": (ma.read_qrels, "#1 0 d1 1\n" + QRELS, "#1 0 d1 1", 1),
    "run": (ma.read_run, RUN + "#q3 Q0 d1 1 2.5 x\n", "#q3 Q0 d1 1 2.5 x", 4),
    "minimal": (ma.read_run, "q1 d1 1\nq1 d2 2\n#q1 d3 3\n", "#q1 d3 3", 3),
}


@pytest.mark.parametrize("case", DATA)
def test_comments_that_may_be_data_are_skipped_with_a_warning(case: str) -> None:
    """As a topic #q3 would lower all means, and a topic that is lost would raise them."""
    read, text, line, number = DATA[case]
    message = (
        f"<StringIO>:{number}: .* begins with #, .*{re.escape(repr(line))}.* skipped as a comment"
    )
    with pytest.warns(MultiAspectWarning, match=message):
        frame = read(io.StringIO(text))
    without = "".join(row for row in text.splitlines(keepends=True) if not row.startswith("#"))
    pd.testing.assert_frame_equal(frame, read(io.StringIO(without)))


def test_several_such_lines_are_counted() -> None:
    """A query id may begin with #, so that skipping such a judgment is told."""
    lines_of_queries = ["#1 0 d1 1", "#1 0 d2 1", "#2 0 d2 1"]
    comment = "# 0 d2 1"  # no query: # stands alone
    content = "\n".join([*lines_of_queries[:2], comment, lines_of_queries[2]]) + "\n" + QRELS
    with pytest.warns(
        MultiAspectWarning, match=r"<StringIO>:1: .*skipped as a comment \(3 such lines in all\)"
    ):
        ma.read_qrels(io.StringIO(content))


@pytest.mark.parametrize("read", [ma.read_qrels, ma.read_run])
def test_a_file_of_comments_is_empty(read: Any) -> None:
    with pytest.raises(MultiAspectError, match="the file is empty"):
        read(io.StringIO("# nothing\n#\n"))


#: Texts in which # begins no line, or is part of an id.
NO_COMMENTS = {
    "documents": "q1 0 #d1 1\nq1 0 d#2 0\n",
    "the second field": "q1 # d1 1\nq1 # d2 0\n",
    "a query": "q#1 0 d1 1\n",
}


@pytest.mark.parametrize("case", NO_COMMENTS)
def test_the_sign_elsewhere_is_data(case: str) -> None:
    assert len(ma.read_qrels(io.StringIO(NO_COMMENTS[case]))) == len(NO_COMMENTS[case].splitlines())


def test_comments_at_the_end_of_a_line_are_an_error() -> None:
    with pytest.raises(MultiAspectError, match=r":1: expected 4 fields .*, got 6"):
        ma.read_qrels(io.StringIO("q1 0 d1 1 # sure\n"))


def test_topics_that_begin_so_are_read_from_frames_and_json() -> None:
    qrels = pd.DataFrame({"qid": ["#1", "#1"], "docno": ["d1", "d2"], "label": [1, 0]})
    run = {"#1": {"d1": 2.0, "d2": 1.0}}
    assert ma.evaluate({"a": run}, qrels, "AP", progress=False)["qid"].tolist() == ["#1"]
    assert ma.read_qrels(io.StringIO('{"#1": {"d1": 1}}'))["qid"].tolist() == ["#1"]


METADATA = "# ir_metadata.start\n# tag: bm25\n# ir_metadata.end\n"


def test_comments_around_a_header_of_ir_metadata() -> None:
    for text in (
        METADATA + RUN,
        f"# ours\n{METADATA}{RUN}",
        f"{METADATA}# ours\n{RUN}",
        f"{METADATA}{RUN}# end\n",
    ):
        run = ma.read_run(io.StringIO(text))
        assert run.attrs == {"ir_metadata": "tag: bm25\n"}
        assert len(run) == 3


def test_a_header_of_ir_metadata_among_the_rows_is_an_error() -> None:
    with pytest.raises(
        MultiAspectError, match=r"<StringIO>:4: expected the header of ir_metadata before the rows"
    ):
        ma.read_run(io.StringIO(RUN + METADATA + RUN.replace("q", "p")))


def test_the_command_line_skips_comments(cli: Any, trec_files: Path) -> None:
    arguments = (
        "evaluate",
        "-m",
        "CAM@3",
        "--aspects",
        "scales.json",
        "--format",
        "csv",
        "runs/alpha.run",
    )
    expected = cli(*arguments)
    for name in ("relevance.txt", "credibility.txt", "runs/alpha.run"):
        path = trec_files / name
        path.write_text("# web judgments 2026\n" + path.read_text())
    assert cli(*arguments) == expected
