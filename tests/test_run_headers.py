"""Headers of runs in the format of ir_metadata."""

from __future__ import annotations

import gzip
from io import BytesIO, StringIO

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.io.trec_files import load_run

#: As the metadata module of repro_eval writes it, with a blank at the end of each line.
METADATA = "schema-version: 0.1\ntag: bm25\nmethod:\n  retrieval:\n  - name: bm25\n    b: 0.4\n"
HEADER = "# ir_metadata.start\n" + "".join(f"# {line} \n" for line in METADATA.splitlines())
HEADER += "# ir_metadata.end\n"
LINES = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_run_is_read_without_its_header(end):
    headed, plain = (text.replace("\n", end) for text in (HEADER + LINES, LINES))
    result, expected = ma.read_run(StringIO(headed)), ma.read_run(StringIO(plain))
    pd.testing.assert_frame_equal(result, expected)
    assert [
        line.rstrip() for line in result.attrs["ir_metadata"].splitlines()
    ] == METADATA.splitlines()
    assert "ir_metadata" not in expected.attrs
    for source in (
        headed.encode(),
        gzip.compress(headed.encode()),
        b"\xef\xbb\xbf" + headed.encode(),
    ):
        assert ma.read_run(BytesIO(source)).equals(expected)
        pd.testing.assert_frame_equal(
            load_run(BytesIO(source)).to_pandas(),
            load_run(StringIO(plain)).to_pandas(),
            check_exact=True,
        )


def test_runs_with_a_header_are_evaluated(tmp_path):
    (tmp_path / "with.run").write_text(HEADER + LINES)
    (tmp_path / "without.run").write_text(LINES)
    values = ma.evaluate(tmp_path, {"q1": {"d1": 0, "d2": 1}}, ["AP", "nDCG"], progress=False)
    run_values = [rows["value"].tolist() for _, rows in values.groupby("name")]
    assert run_values[0] == run_values[1]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (HEADER + LINES + "q1 Q0 d3 3\n", f"x.run:{HEADER.count(chr(10)) + 3}: expected 6 fields"),
        (HEADER + LINES + "q1 Q0 d\0 3 1 a\n", f"x.run:{HEADER.count(chr(10)) + 3}: binary data"),
        (
            HEADER.replace("# ir_metadata.end\n", "") + LINES,
            "x.run:1: the header",
        ),
        (HEADER, "x.run: the file is empty"),
        (HEADER.removesuffix("\n"), "x.run: the file is empty"),
        (LINES + HEADER, "x.run:3: expected the header of ir_metadata before the rows"),
    ],
)
def test_faulty_headers(tmp_path, text, part):
    path = tmp_path / "x.run"
    path.write_text(text)
    for read in (ma.read_run, load_run):
        with pytest.raises(ma.MultiAspectError) as raised:
            read(path)
        assert part in str(raised.value)
        assert "\n" not in str(raised.value)
