"""Files of TREC lines give what Python's `split` and `float` give, whatever separates the fields."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.collection.run import Run
from pt_multiaspect.io import trec_files, trec_lines
from pt_multiaspect.io.file_contents import as_text, load

RUN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.25 tag\nq2 Q0 d1 1 -3 tag\n"


@pytest.fixture(autouse=True, params=["by pandas", "by Python"])
def _small_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec_lines, "_WORTHWHILE", 0 if request.param == "by pandas" else 1 << 40)
    monkeypatch.setattr(trec_lines, "_SEARCHED", 40)  # one or two lines
    monkeypatch.setattr(trec_lines, "_SPLIT", 60)


#: What is accepted as rank, score and label.
ACCEPTED: dict[int, Callable[[float], bool]] = {
    3: lambda rank: abs(rank) <= 2**53 and rank == int(rank),
    4: lambda score: score == score,
}


def is_comment(line: bytes) -> bool:
    return line.lstrip(b" \t").startswith(b"#")


def simple(content: bytes, n_fields: int) -> list[list[Any]] | int | None:
    """The fields of a file, with numbers; the number of the first malformed line; or None if there is no line."""
    rows = []
    for number, line in enumerate(content.split(b"\n"), 1):
        fields: list[Any] = list(line.split())
        if not fields or (
            n_fields == 6 and is_comment(line)
        ):  # in qrels, comments are skipped before
            continue
        if len(fields) != n_fields:
            return number
        for position in range(3, min(n_fields, 5)):
            accepted = (
                ACCEPTED[position] if n_fields == 6 else lambda label: abs(label) != float("inf")
            )
            try:
                value = float(fields[position])
            except ValueError:
                return number
            if b"_" in fields[position] or not accepted(value):
                return number
            fields[position] = value
        rows.append([field.decode() if isinstance(field, bytes) else field for field in fields])
    return rows or None


def check(
    content: bytes, read: Callable[[Any], pd.DataFrame], columns: dict[str, int], n_fields: int
) -> None:
    """Hold a reader to `simple`, to the last bit."""
    expected = simple(content.removeprefix("\ufeff".encode()), n_fields)
    try:
        frame = read(io.BytesIO(content))
    except MultiAspectError as error:
        wanted = (
            r"<BytesIO>: the file is empty"
            if expected is None
            else rf"<BytesIO>:{expected}: (\w+: )?expected"
        )
        assert re.match(wanted, str(error)), (expected, error)  # noqa: PT017
        return
    assert isinstance(expected, list), (expected, frame)
    for column, position in columns.items():
        values = [row[position] for row in expected]
        if isinstance(values[0], str):
            assert frame[column].tolist() == values
        else:
            assert frame[column].to_numpy(dtype=np.float64).tobytes() == np.array(values).tobytes()


def check_run(content: bytes) -> None:
    check(content, ma.read_run, {"qid": 0, "docno": 2, "rank": 3, "score": 4, "name": 5}, 6)
    check(content, table, {"query_id": 0, "doc_id": 2, "score": 4}, 6)


def table(source: Any) -> pd.DataFrame:
    return trec_files.load_run(source).to_pandas()


ODD_IDS = (
    "007", "7", "NA", "None", "null", "nan", '"', '"q"', "'", "#c", "1e5", "clueweb12-0000wb-00-00000", "é", "True",
    "\\n",
)  # fmt: skip
ODD_NUMBERS = (
    "", "+1", "1.", ".5", "1e400", "5e-324", "1,5", "1_000", "0x10", "inf", "-Infinity", "nan", "1e", "٣",
)  # fmt: skip
ids = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=6
) | st.sampled_from(ODD_IDS)
numbers = st.one_of(
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(ODD_NUMBERS),
    st.text("0123456789+-.eEinfa_", max_size=6),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
)
blanks = st.sampled_from(
    [" "] * 12 + ["\t", "  ", " \t", "\x0b", "\x0c", "\r", "\x1c", "\x85", "\u2003"]
)
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


PROPERTY = examples(70)


@PROPERTY
@given(files(6))
@pytest.mark.filterwarnings("ignore:.*is skipped as a comment")
def test_runs(content: bytes) -> None:
    lines = content.removeprefix("\ufeff".encode()).split(b"\n")
    lines = [line for line in lines if line.strip() and not is_comment(line)]
    assume(not lines or len(lines[0].split()) != 3)  # another format: query, document and rank
    check_run(content)


@PROPERTY
@given(files(4))
def test_qrels(content: bytes) -> None:
    check(content, labels, {"qid": 0, "docno": 2, "relevance": 3}, 4)


def labels(source: Any) -> pd.DataFrame:
    """Judgments, of which pairs may be repeated."""
    return trec_lines.read_lines(as_text(*load(source)), QRELS).frame()


QRELS = trec_lines.LineFormat(
    fields=("qid", "iteration", "docno", "relevance"),
    ids={0: "qid", 2: "docno"},
    numbers={3: ("relevance", trec_lines.LABEL)},
)


@PROPERTY
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False), st.integers(-(10**6), 10**6)), min_size=1, max_size=8
    )
)
def test_scores_are_read_to_the_last_bit(scores: list[tuple[float, int]]) -> None:
    content = "".join(
        f"q Q0 d{n} {rank} {score!r} t\n" for n, (score, rank) in enumerate(scores)
    ).encode()
    frame = ma.read_run(io.BytesIO(content))
    assert frame["score"].to_numpy().tobytes() == np.array([score for score, _ in scores]).tobytes()
    assert frame["rank"].tolist() == [rank for _, rank in scores]


@pytest.mark.every(2)
def test_decimals_between_two_floats_are_rounded_as_python_does() -> None:
    """A decimal in the middle of two floats, and one that differs in the last of hundreds of digits.

    Tools with a fast conversion of decimals are a bit off.
    """
    rng = np.random.default_rng(0)
    decimals = []
    for value in rng.random(200).tolist():
        next_value = float(np.nextafter(value, 2))
        middle = (Decimal(value) + Decimal(next_value)) / 2
        slightly_more = f"{middle:f}1"
        slightly_less = f"{middle - Decimal(10) ** -70:f}"
        short_of_middle = f"{value:.25g}"
        decimals += [f"{middle:f}", slightly_more, slightly_less, short_of_middle]
    lines = [f"q Q0 d{number} 0 {decimal} t\n" for number, decimal in enumerate(decimals)]
    check_run("".join(lines).encode())


@pytest.mark.parametrize(
    "word",
    [
        "True", "TRUE", "false", "NA", "None", "0x1", "1,5", "1e",
        "1_0",  # a number for `float`, but not in TREC files
        "\u0663",  # the Arabic digit 3, as `float` has it
    ],
)  # fmt: skip
def test_words_as_scores_and_ranks_are_read_as_python_does(word: str) -> None:
    """pandas reads a column of nothing but "True" as ones, so that this is the hardest case."""
    check_run(f"q Q0 d 1 {word} t\nq Q0 e 2 {word} t\n".encode())  # both scores
    check_run(f"q Q0 d {word} 1 t\nq Q0 e {word} 2 t\n".encode())  # both ranks
    check_run(RUN + f"q Q0 d 1 {word} t\n".encode())  # one score after numbers


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "word", ["nan", "inf", "-Infinity", "+INF", "1e400", "-1e999", "9" * 400, "1e-400", "-0"]
)
def test_words_that_are_numbers(word: str) -> None:
    check_run(RUN + f"q Q0 d 1 {word} t\n".encode())
    check(f"q 0 d {word}\nq 0 e 1\n".encode(), labels, {"qid": 0, "docno": 2, "relevance": 3}, 4)


LINES = {
    "blanks": RUN,
    "tabs": RUN.replace(b" ", b"\t"),
    "CRLF": RUN.replace(b"\n", b"\r\n"),
    "BOM": b"\xef\xbb\xbf" + RUN,
    "not ASCII": RUN.replace(b"d1", "\u00e9".encode()),
    "control characters in ids": RUN.replace(b"d1", b"\x01d\x1f1"),
    "no newline at the end": RUN[:-1],
    "two blanks": RUN.replace(b" Q0", b"  Q0"),
    "blank lines": b"\n \n" + RUN + b"\n\n",
    "tabs and blanks": RUN.replace(b" Q0", b"\tQ0"),
    "blanks at both ends": b" " + RUN.replace(b"\n", b" \n "),
    "one CRLF": RUN + b"q3 Q0 d1 1 2.0 tag\r\n",
    "CRLF but for one line": RUN.replace(b"\n", b"\r\n") + RUN,
}


@pytest.mark.every(2)
@pytest.mark.parametrize("form", LINES)
def test_good_files(form: str) -> None:
    content = LINES[form]
    assert isinstance(simple(content.removeprefix(b"\xef\xbb\xbf"), 6), list)
    check_run(content)


@pytest.mark.parametrize(
    "content",
    [
        RUN + b"q3 Q0 d1 1 nan tag\n",
        RUN + b"q3 Q0 d1 1 2.0\n",
        RUN + b"q3 Q0 d1 1 2.0 tag more\n",
        RUN + b"q3 Q0 d\x0b1 1 2.0 tag\n",
        RUN + b"q3 Q0\x01d1 1 2 3.0\n",
        RUN + b"q3 Q0 d1 1 2.0 tag q4 Q0 d1 1 2.0 tag\n",
        RUN + b"q3 Q0 d1 1 2.0\ntag q4 Q0 d1 1 2.0 tag\n",
        RUN.replace(b" ", b"\t") + b"q3 Q0 d1 1 2.0 tag more\n",
        RUN + b"q3 Q0 d1 1.5 2.0 tag\n",
        b"\n\n" + RUN + b"\nq3 Q0 d1\n",
        b"",
        b" \n\t",
    ],
)
def test_malformed_files(content: bytes) -> None:
    assert not isinstance(simple(content, 6), list)
    check_run(content)


@pytest.mark.every(2)
def test_large_ids_and_lines_of_one_query() -> None:
    lines = [f"{'q' * (n % 3)}1 Q0 {'d' * (n % 200)}{n} {n} {1000 - n} t" for n in range(999)]
    check_run("\n".join(lines).encode())


READ_IN_PROCESSES = """
import sys
import joblib
import pandas as pd
import pt_multiaspect as ma

folder = sys.argv[1]
qrels = {f"q{q}": {f"doc{n:05}": n % 3 for n in range(0, 300, 7)} for q in range(10)}
evaluator = ma.evaluator(qrels, ["nDCG@10"])

def evaluate(name):
    return evaluator(ma.read_run(folder + "/" + name).assign(name=name))

expected = ma.evaluate(folder, qrels, ["nDCG@10"], progress=False)
with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
    tables = joblib.Parallel()(joblib.delayed(evaluate)(name) for name in "ab")
table = evaluator.complete(pd.concat(tables))
print(table.equals(expected), len(table))
"""


@pytest.mark.slow
def test_reading_in_the_parent_and_in_forked_processes(tmp_path: Path) -> None:
    """Threads that a reader starts are missing in forked processes, which would wait for them for ever."""
    lines = [
        f"q{q} Q0 doc{rank:05} {rank} {1000 - rank} tag\n"
        for q in range(10)
        for rank in range(1000)
    ]
    for name in "ab":
        (tmp_path / name).write_text("".join(lines))
    done = subprocess.run(
        [sys.executable, "-c", READ_IN_PROCESSES, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stdout == "True 20\n", done.stderr  # two runs on ten topics


def test_evaluation_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures of ir-measures read the same run, too; no Python string is made for the others."""
    path = tmp_path / "a.run"
    path.write_bytes(RUN)
    qrels = {"q1": {"d1": 1, "d2": 2}, "q2": {"d1": 1}}
    run = {"q1": {"d1": 2.5, "d2": 1.25}, "q2": {"d1": -3.0}}
    names = ["nDCG", "bpref", "RR@3", "NumRet"]
    from_file = ma.evaluate({"run": str(path)}, qrels, names, progress=False)
    pd.testing.assert_frame_equal(
        from_file, ma.evaluate({"run": run}, qrels, names, progress=False)
    )
    monkeypatch.setattr(Run, "to_pandas", None)
    monkeypatch.setattr(trec_lines.Columns, "frame", None)
    ma.evaluate({"run": str(path)}, qrels, ["nDCG"], progress=False)


def compressors() -> dict[str, Callable[[bytes], bytes]]:
    forms: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "bzip2": bz2.compress,
        "xz": lzma.compress,
    }
    try:
        import zstandard
    except ImportError:
        return forms
    return {**forms, "Zstandard": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz", "Zstandard"])
def test_compressed_files(tmp_path: Path, form: str) -> None:
    if form not in compressors():
        pytest.skip("zstandard is not installed")
    compress = compressors()[form]
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


def gzip_with_name(content: bytes) -> bytes:
    stream = io.BytesIO()
    with gzip.GzipFile("a.run", "wb", fileobj=stream) as file:
        file.write(content)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        gzip_with_name(RUN),
        gzip.compress(RUN) + bytes(7),  # padded with zeros
        gzip.compress(b"") + gzip.compress(RUN),
    ],
    ids=["name", "padding", "two streams"],
)
def test_gzip_with_padding_and_names(content: bytes) -> None:
    expected = ma.read_run(io.BytesIO(RUN))
    pd.testing.assert_frame_equal(ma.read_run(io.BytesIO(content)), expected)


@pytest.mark.parametrize(
    "rest",
    [b"m", b"more", b"more " * 1000, bytes(3) + b"\x1fx"],
    ids=["a letter", "a word", "many words", "zeros, then half of the beginning of a stream"],
)
def test_data_after_a_gzip_stream(rest: bytes) -> None:
    with pytest.raises(MultiAspectError, match=r"damaged gzip file: .*byte \d+"):
        ma.read_run(io.BytesIO(gzip.compress(RUN) + rest))


def test_gzip_with_a_wrong_sum_or_without_an_end() -> None:
    """The last eight bytes are the check sum and the length."""
    stream = bytearray(gzip.compress(RUN))
    stream[-8] ^= 1  # changes a bit of the sum
    with pytest.raises(MultiAspectError, match="a damaged gzip file"):
        ma.read_run(io.BytesIO(bytes(stream)))
    without_length = gzip.compress(RUN)[:-4]
    with pytest.raises(MultiAspectError, match="a damaged gzip file"):
        ma.read_run(io.BytesIO(without_length))


def many_lines() -> bytes:
    return b"".join(b"q1 Q0 d%d 0 %d tag\n" % (row, -row) for row in range(90_000))


def compress_in_parts(compress: Callable[[bytes], bytes], content: bytes) -> bytes:
    """Return a stream for every 9999 bytes, as pbzip2 does."""
    starts = range(0, len(content), 9999)
    return b"".join(compress(content[start : start + 9999]) for start in starts)


def test_padding_and_several_streams_of_bzip2() -> None:
    stream = bz2.compress(RUN)
    zeros = bytes(10**7)
    lines = many_lines()
    for content, expected in (
        (stream + bytes(7), RUN),  # padded with zeros
        (stream + bz2.compress(b"") + bytes(2) + stream, RUN + RUN),
        (bz2.compress(zeros), zeros),
        (compress_in_parts(bz2.compress, lines), lines),
    ):
        assert load(io.BytesIO(content)).data == expected


@pytest.mark.parametrize(
    "rest",
    [b"q9 Q0 d1 1 2 tag\n", b"B", bytes(3) + b"BZx"],
    ids=["a line", "the first byte of a stream", "zeros, then nearly the beginning of a stream"],
)
def test_data_after_a_bzip2_stream(rest: bytes) -> None:
    """They are not dropped without a word."""
    with pytest.raises(MultiAspectError, match=r"damaged bzip2 file: other data .*byte \d+"):
        ma.read_run(io.BytesIO(bz2.compress(RUN) + rest))


def test_any_wrong_bit_at_the_beginning_of_a_second_bzip2_stream() -> None:
    """It begins with "BZh", the level of compression from "1" to "9", and six bytes of the first block."""
    stream = bz2.compress(RUN)
    position_of_level = 3
    for position, bit in itertools.product(range(10), range(8)):
        second = bytearray(stream)
        second[position] ^= 1 << bit
        content = stream + bytes(second)
        is_another_level = position == position_of_level and chr(second[3]) in "123456789"
        if is_another_level:  # which is as good
            assert load(io.BytesIO(content)).data == RUN + RUN
        else:
            with pytest.raises(MultiAspectError, match="a damaged bzip2 file"):
                load(io.BytesIO(content))


def test_padding_and_several_streams_of_xz() -> None:
    """Padding is by multiples of four bytes."""
    stream = lzma.compress(RUN)
    zeros = bytes(10**7)
    lines = many_lines()
    for content, expected in (
        (stream + bytes(8), RUN),
        (stream + lzma.compress(b"") + bytes(4) + stream, RUN + RUN),
        (lzma.compress(zeros), zeros),
        (compress_in_parts(lzma.compress, lines), lines),
    ):
        assert load(io.BytesIO(content)).data == expected


@pytest.mark.parametrize(
    "rest",
    [b"q9 Q0 d1 1 2 tag\n", b"\xfd", bytes(4) + b"\xfd7zXx"],
    ids=["a line", "the first byte of a stream", "zeros, then nearly the beginning of a stream"],
)
def test_data_after_an_xz_stream(rest: bytes) -> None:
    with pytest.raises(MultiAspectError, match=r"damaged xz file: other data .*byte \d+"):
        ma.read_run(io.BytesIO(lzma.compress(RUN) + rest))


def test_a_wrong_bit_in_any_byte_of_an_xz_stream() -> None:
    """After the six bytes by which the format is known."""
    stream = lzma.compress(RUN)
    for position in range(6, len(stream)):
        damaged = bytearray(stream)
        damaged[position] ^= 1
        with pytest.raises(MultiAspectError, match="a damaged xz file"):
            load(io.BytesIO(bytes(damaged)))


def test_archives_are_not_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.run", RUN)
    with pytest.raises(MultiAspectError, match=r"got a file in the format ZIP; decompress it"):
        ma.read_run(io.BytesIO(file.getvalue()))


def test_zstandard_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.zst").write_bytes(b"\x28\xb5\x2f\xfd\x20\x00")
    with pytest.raises(MultiAspectError, match=r"a\.zst: .*pt-multiaspect\[compressed\]"):
        ma.read_run(tmp_path / "a.zst")
