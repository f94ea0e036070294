"""Polars reads what the reader of `trec_lines` reads, or leaves the file to it."""

from __future__ import annotations

import bz2
import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.collection import fast_lines, run_tables, trec_files, trec_lines

pytest.importorskip("polars")

RUN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.25 tag\nq2 Q0 d1 1 -3 tag\n"


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_lines, "_WORTHWHILE", 0)
    monkeypatch.setattr(fast_lines, "_SEARCHED", 40)  # one or two lines


def outcome(read: Callable[[], pd.DataFrame]) -> Any:
    try:
        frame = read()
    except MultiAspectError as error:
        return str(error)
    return frame.to_dict("list"), frame.dtypes.to_dict()


def both(content: bytes, read: Callable[[Any], pd.DataFrame]) -> tuple[Any, Any]:
    """What comes out with Polars and without."""
    fast = outcome(lambda: read(io.BytesIO(content)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec_lines, "read_fast", lambda *_: None)
        patch.setattr(trec_files, "read_fast", lambda *_: None)
        return fast, outcome(lambda: read(io.BytesIO(content)))


def is_read_by_polars(content: bytes) -> bool:
    return (
        fast_lines.read_fast(trec_lines.as_text(*trec_lines.load(io.BytesIO(content))), trec_files._RUN) is not None
    )


def table(source: Any) -> pd.DataFrame:
    return trec_files.read_run_table(source).to_pandas()


ODD_IDS = (
    "007", "7", "NA", "None", "null", "nan", '"', '"q"', "'", "#c", "1e5", "clueweb12-0000wb-00-00000", "é", "True",
    "\\n",
)  # fmt: skip
ODD_NUMBERS = (
    "", "+1", "1.", ".5", "1e400", "5e-324", "1,5", "1_000", "0x10", "inf", "-Infinity", "nan", "1e", "٣",
)  # fmt: skip
ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6) | st.sampled_from(ODD_IDS)
numbers = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(ODD_NUMBERS),
    st.text("0123456789+-.eEinfa_", max_size=6),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
)
blanks = st.sampled_from([" "] * 12 + ["\t", "  ", " \t", "\x0b", "\x0c", "\r", "\x1c", "\x85", "\u2003"])
ends = st.sampled_from(["\n"] * 6 + ["\r\n", "\n\n", " \n", "\r", ""])


@st.composite
def files(draw: st.DrawFn, n_fields: int) -> bytes:
    """Lines of a file that are mostly right."""
    separator = draw(st.sampled_from([" ", " ", "\t", None]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", None]))
    lines = []
    for _ in range(draw(st.integers(0, 4))):
        fields = [draw(ids), "Q0", draw(ids), draw(numbers), draw(numbers), draw(ids)][:n_fields]
        if draw(st.integers(0, 9)) == 0:
            fields = fields[: draw(st.integers(0, n_fields))] + draw(st.lists(ids, max_size=2))
        gaps = [separator or draw(blanks) for _ in fields]
        gaps = [*gaps[:-1], end or draw(ends)] if fields else []
        lines.append("".join(field + gap for field, gap in zip(fields, gaps, strict=True)))
    return (draw(st.sampled_from(["", "", "\ufeff"])) + "".join(lines)).encode()


PROPERTY = examples(70, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@PROPERTY
@given(files(6))
def test_runs(content: bytes) -> None:
    fast, slow = both(content, ma.read_run)
    np.testing.assert_equal(fast, slow)
    fast, slow = both(content, table)
    np.testing.assert_equal(fast, slow)


@PROPERTY
@given(files(4))
def test_qrels(content: bytes) -> None:
    np.testing.assert_equal(*both(content, ma.read_qrels))


@PROPERTY
@given(st.lists(st.tuples(st.floats(allow_nan=False), st.integers(-(10**6), 10**6)), min_size=1, max_size=8))
def test_scores_are_read_to_the_last_bit(scores: list[tuple[float, int]]) -> None:
    content = "".join(f"q Q0 d{n} {rank} {score!r} t\n" for n, (score, rank) in enumerate(scores)).encode()
    assert is_read_by_polars(content)
    frame = ma.read_run(io.BytesIO(content))
    assert frame["score"].to_numpy().tobytes() == np.array([score for score, _ in scores]).tobytes()
    assert frame["rank"].tolist() == [rank for _, rank in scores]


@pytest.mark.parametrize(
    "content",
    [
        RUN,
        RUN.replace(b" ", b"\t"),
        RUN.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + RUN,
        RUN.replace(b"d1", "é".encode()),
    ],
    ids=["blanks", "tabs", "CRLF", "BOM", "not ASCII"],
)
def test_clean_files_are_read_by_polars(content: bytes) -> None:
    assert is_read_by_polars(content)
    assert is_read_by_polars(content[:-1])
    np.testing.assert_equal(*both(content, ma.read_run))


@pytest.mark.parametrize(
    "content",
    [
        RUN.replace(b" Q0", b"  Q0"),
        RUN.replace(b" Q0", b"\tQ0"),
        RUN + b"\n",
        RUN + b"q3 Q0 d1 1 nan tag\n",
        RUN + b"q3 Q0 d1 1 2.0\n",
        RUN + b"q3 Q0 d1 1 2.0 tag more\n",
        RUN + b"q3 Q0 d\x0b1 1 2.0 tag\n",
        RUN + b"q3 Q0 d\x011 1 2.0 tag\n",
        RUN + b"q3 Q0\x01d1 1 2 3.0\n",
        RUN + b"q3 Q0 d1 1 2.0 tag q4 Q0 d1 1 2.0 tag\n",
        RUN + b"q3 Q0 d1 1 2.0\ntag q4 Q0 d1 1 2.0 tag\n",
        RUN + b"q3 Q0 d1 1 2.0 tag\r\n",
        RUN.replace(b" ", b"\t") + b"q3 Q0 d1 1 2.0 tag\n",
        RUN + b"q3 Q0 d1 1.5 2.0 tag\n",
        b"",
    ],
)
def test_doubtful_files_are_left_to_the_other_reader(content: bytes) -> None:
    assert not is_read_by_polars(content)
    np.testing.assert_equal(*both(content, ma.read_run))


def test_without_polars_and_for_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_lines, "find_spec", lambda name: None)
    assert not is_read_by_polars(RUN)
    monkeypatch.undo()
    assert not is_read_by_polars(RUN)  # not worth the import
    assert is_read_by_polars(RUN * 10_000)


def test_large_ids_and_lines_of_one_query() -> None:
    lines = [f"{'q' * (n % 3)}1 Q0 {'d' * (n % 200)}{n} {n} {1000 - n} t" for n in range(999)]
    content = "\n".join(lines).encode()
    assert is_read_by_polars(content)
    np.testing.assert_equal(*both(content, table))


def test_evaluation_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures of ir-measures read the same run, too; no Python string is made for the others."""
    path = tmp_path / "a.run"
    path.write_bytes(RUN)
    qrels = {"q1": {"d1": 1, "d2": 2}, "q2": {"d1": 1}}
    run = {"q1": {"d1": 2.5, "d2": 1.25}, "q2": {"d1": -3.0}}
    names = ["nDCG", "bpref", "RR@3", "NumRet"]
    of_file = ma.evaluate({"run": str(path)}, qrels, names, progress=False)
    pd.testing.assert_frame_equal(of_file, ma.evaluate({"run": run}, qrels, names, progress=False))
    monkeypatch.setattr(run_tables.RunTable, "to_pandas", None)
    monkeypatch.setattr(trec_files, "parse_lines", None)
    ma.evaluate({"run": str(path)}, qrels, ["nDCG"], progress=False)


def compressed() -> dict[str, Callable[[bytes], bytes]]:
    forms: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress}
    try:
        import zstandard
    except ImportError:
        return forms
    return {**forms, "Zstandard": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("form", ["gzip", "bzip2", "Zstandard"])
def test_compressed_files(tmp_path: Path, form: str) -> None:
    if form not in compressed():
        pytest.skip("zstandard is not installed")
    compress = compressed()[form]
    path = tmp_path / "run"
    for content in (compress(RUN), compress(RUN[:19]) + compress(RUN[19:])):
        path.write_bytes(content)
        pd.testing.assert_frame_equal(ma.read_run(path), ma.read_run(io.BytesIO(RUN)))
    path.write_bytes(compress(RUN * 50)[:-9])  # lines must not be missing without an error
    with pytest.raises(MultiAspectError, match=f"run: a damaged {form} file"):
        ma.read_run(path)
    path.write_bytes(compress(RUN)[:8] + b"\x00\xff\x00" + compress(RUN)[11:])
    with pytest.raises(MultiAspectError, match=r"run.*(a damaged|not UTF-8|binary)"):
        ma.read_run(path)


@pytest.mark.parametrize("library", ["isal", "zlib"])
def test_gzip_with_padding_and_names(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setitem(sys.modules, "isal", None)
    named = io.BytesIO()
    with gzip.GzipFile("a.run", "wb", fileobj=named) as file:
        file.write(RUN)
    for content in (named.getvalue(), gzip.compress(RUN) + bytes(7), gzip.compress(b"") + gzip.compress(RUN)):
        pd.testing.assert_frame_equal(ma.read_run(io.BytesIO(content)), ma.read_run(io.BytesIO(RUN)))
    wrong_sum = bytearray(gzip.compress(RUN))
    wrong_sum[-8] ^= 1
    for content in (bytes(wrong_sum), gzip.compress(RUN) + b"more", gzip.compress(RUN)[:-4]):
        with pytest.raises(MultiAspectError, match="a damaged gzip file"):
            ma.read_run(io.BytesIO(content))


def test_zstandard_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd\x20\x00")
    with pytest.raises(
        MultiAspectError, match=r"a\.zst: reading Zstandard files requires .*pt-multiaspect\[fast\]"
    ):
        ma.read_run(tmp_path / "a.zst")
