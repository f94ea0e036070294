"""Whatever is in a file or a string: the right result or an error that says what is wrong, soon, in little memory.

By default a fixed number of cases, which are the same on each run. With PT_MULTIASPECT_FUZZ=60, new
cases for 60 s in each test.
"""

from __future__ import annotations

import bz2
import faulthandler
import gzip
import io
import json
import lzma
import os
import random
import re
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.bases.strings import read_measure, with_quotes
from pt_multiaspect.integration.parsing import parse
from pt_multiaspect.io import file_contents, trec_files, trec_lines

SECONDS = float(os.environ.get("PT_MULTIASPECT_FUZZ", "0"))

#: How long one case may take, in seconds: generous, as CI machines are loaded.
SLOWEST = 5.0

QRELS = b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d1 1\nq10 0 clueweb12-0000wb-00-00000 1\n"
WIDE = b"q1\t0\td1\t2\t0.5\nq1\t0\td2\t0\tnan\nq2\t0\td1\t1\t1\n"
RUN = b"q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.25 tag\nq2 Q0 d1 1 -3e-1 tag\n"
SCALES = (
    b'{"version": 1, "name": "fuzzed", "aspects": {"relevance": 2, "trust": '
    b'{"grades": [0, 1, 2, 3], "threshold": 2, "gains": [0, 1, 2, 4], "unjudged": [9]}}}'
)

#: Pieces that are not part of a valid file, or that resemble others.
PIECES = [
    b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"\r\n", b"\r", b"\n", b"\n\n", b"\x0b", b"\x0c", b"\x1c", b"\x85",
    b"\t", b"  ", "\u00a0".encode(), "\u2003".encode(), "\u200b".encode(), "\u2028".encode(), "\x85".encode(),
    "٣".encode(), "３".encode(), "²".encode(), "−1".encode(), "é".encode(), "e\u0301".encode(), "😀".encode(),
    b"\xed\xa0\x80", b"\xc0\xaf", b"nan", b"NaN", b"-nan", b"inf", b"-Infinity", b"1e400", b"-0", b"+1",
    b"1_0", b"0x1", b"1e", b"1,5", b"NA", b"None", b'"', b"'", b"#", b"\\", b"\\n", b"{", b"}", b"[", b"]",
    b"(", b")", b":", b",", b"@", b"=", b"null", b"true", b"9" * 400, b"9" * 5000, b"x" * 3000, b"[" * 3000,
    b"(" * 300, b"-" * 3000, b'{"a":' * 2000, b" " * 3000, b"\\ud800",
]  # fmt: skip


def mutate_bytes(chance: random.Random, content: bytes) -> bytes:
    """Some bytes or pieces inserted, replaced, repeated, moved or left out."""
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        start, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
        start = max(start, end - chance.choice([0, 1, 4, 40]))
        source = chance.randrange(len(content) + 1)
        piece = chance.choice(
            [
                chance.choice(PIECES),
                chance.randbytes(chance.randrange(4)),
                content[start:end] * chance.choice([0, 2, 3]),
                content[source : source + 12],
            ]
        )
        content = content[:start] + piece + content[end:]
    return content


def compress_bytes(chance: random.Random, content: bytes) -> bytes:
    """The content as is, or compressed, and then perhaps cut, joined or damaged."""
    forms: list[Callable[[bytes], bytes]] = [lambda data: data] * 4 + [
        gzip.compress,
        bz2.compress,
        lzma.compress,
    ]
    try:
        import zstandard

        forms.append(zstandard.ZstdCompressor().compress)
    except ImportError:
        pass
    data = chance.choice(forms)(content)
    if data is content:
        return data
    return chance.choice(
        [
            data,
            data[: chance.randrange(len(data))],
            data + data,
            data + b"\0" * 9,
            data + chance.randbytes(5),
            mutate_bytes(chance, data),
        ]
    )


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """End a test that hangs, showing where."""
    faulthandler.dump_traceback_later(60 + 2 * SECONDS, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


def cases(count: int) -> Iterator[random.Random]:
    """Yield sources of chance, and check that each case is dealt with quickly."""
    end, seed = time.monotonic() + SECONDS, 0 if not SECONDS else random.randrange(10**9)
    for number in range(seed, seed + (count if not SECONDS else 10**9)):
        start = time.monotonic()
        try:
            yield random.Random(number)
        finally:
            took = time.monotonic() - start
        assert took < SLOWEST, f"case {number} took {took:.1f} s"
        if SECONDS and time.monotonic() > end:
            return


def attempt(call: Callable[[], Any]) -> Any:
    """The result, or the message of the error as a string; no other exception may be raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of the package, and Python's of odd literals in strings
            return call()
    except ma.MultiAspectError as error:
        return str(error)


def outcome(read: Callable[[], pd.DataFrame]) -> Any:
    """Return the content that was read, or the error."""
    frame = attempt(read)
    return frame if isinstance(frame, str) else (frame.to_dict("list"), frame.dtypes.to_dict())


def names_the_line(message: str, name: str) -> bool:
    """Return whether an error is about a line of the file, or about the file as a whole."""
    whole = "the file is empty|a damaged (gzip|bzip2|xz|Zstandard) file|expands to more than"
    return re.match(rf"{re.escape(name)}:(\d+:| ({whole}))", message) is not None


READERS: dict[str, tuple[bytes, Callable[[Any], pd.DataFrame]]] = {
    "qrels": (QRELS, ma.read_qrels),
    "wide qrels": (WIDE, lambda source: ma.read_qrels(source, aspects=["relevance", "trust"])),
    "run": (RUN, ma.read_run),
    "run table": (RUN, lambda source: trec_files.load_run(source).to_pandas()),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", READERS)
def test_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed, read = READERS[kind]
    path = tmp_path / "given.txt"
    good = 0
    for chance in cases(120):
        content = (
            chance.randbytes(chance.randrange(60))
            if chance.random() < 0.1
            else mutate_bytes(chance, seed)
        )
        path.write_bytes(compress_bytes(chance, content))
        by_python = outcome(lambda: read(path))
        with monkeypatch.context() as patch:
            patch.setattr(
                trec_lines, "_WORTHWHILE", 0
            )  # numbers of small files, too, are read by pandas
            by_pandas = outcome(lambda: read(path))
        np.testing.assert_equal(by_pandas, by_python)
        if isinstance(by_python, str):
            assert names_the_line(by_python, str(path)), by_python
            assert len(by_python) < 1000 + len(str(path))
        else:
            good += 1
    assert good > 5


def test_files_of_several_aspects(tmp_path: Path) -> None:
    """Damaged files are read, or the error begins with the name of one of them."""
    files = {"relevance": tmp_path / "relevance.txt", "trust": tmp_path / "trust.txt"}
    for chance in cases(60):
        for path in files.values():
            path.write_bytes(compress_bytes(chance, mutate_bytes(chance, QRELS)))
        result = outcome(lambda: ma.read_qrels(files))
        is_error = isinstance(result, str)
        if is_error:
            assert result.startswith(tuple(str(path) for path in files.values())), result


def test_files_of_scales(tmp_path: Path) -> None:
    """Damaged files of scales are read, or the error begins with their name and is not too long."""
    path = tmp_path / "scales.json"
    n_read = 0
    for chance in cases(250):
        is_noise = chance.random() < 0.1
        content = chance.randbytes(30) if is_noise else mutate_bytes(chance, SCALES)
        path.write_bytes(content)
        aspects = attempt(lambda: ma.Aspects.from_file(path))
        is_error = isinstance(aspects, str)
        if is_error:
            assert aspects.startswith(f"{path}: "), aspects
            assert len(aspects) < 2000 + 4 * len(content)
        else:
            assert json.loads(aspects.to_json())
            n_read += 1
    assert n_read > 10


STRINGS = [
    "nDCG@10", "map", "P_10", "ndcg_cut_10,20", "iprec_at_recall_0.10", "TOMA(distance='manhattan')@10",
    "AP(rel=2)@100", "CAM(base='nDCG@5', weights={'relevance': 0.3, 'trust': 0.7})",
    "uRBP(p=0.8, aspects='[\"relevance\", \"trust\"]')",
    "MM(base={'relevance': 'AP', 'trust': 'RBP(rel=1)'}, aspects={'relevance': 2, 'trust': 3})",
    "TOMA(aspects='{\"relevance\":{\"grades\":[0,1,2],\"threshold\":2}}', gate='relevance')@5",
    "nDCG(gains={0: 0, 1: 5})@3",
]  # fmt: skip


CODE = [
    "lambda: 0",
    "__import__('os')",
    "1 if 1 else 2",
    "f'{1}'",
    "...",
    "*",
    "**",
    ";",
    "1j",
    "'''",
    "b''",
]


def mutate_string(chance: random.Random) -> str:
    """A string of a measure, of which up to four parts are replaced."""
    pieces = [piece.decode("utf-8", "surrogateescape") for piece in PIECES] + CODE
    text = chance.choice(STRINGS)
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        start = max(start, end - chance.choice([0, 1, 3, 9]))
        replacements = [
            chance.choice(pieces),
            chance.choice(STRINGS),
            text[start:end] * 2,
            chr(chance.randrange(0x3000)),
        ]
        text = text[:start] + chance.choice(replacements) + text[end:]
    return text


@pytest.mark.slow
def test_measure_strings() -> None:
    """Damaged strings of measures are read as measures, or the error is not too long."""
    n_read = 0
    for chance in cases(600):
        text = mutate_string(chance)
        assert isinstance(attempt(lambda text=text: with_quotes(text)), str)
        measures = attempt(lambda text=text: parse(text))
        is_error = isinstance(measures, str)
        if is_error:
            assert len(measures) < 2000 + 3 * len(text)
            continue
        n_read += 1
        for measure in measures:
            # Not by parse, which reads P as a family of trec_eval.
            assert str(read_measure(str(measure))) == str(measure)
    assert n_read > 100


@pytest.mark.parametrize(
    "text",
    [
        "P_0",
        "P_5,0",
        "ndcg_cut_0",
        "recall_99999999999",
        "iprec_at_recall_7",
        "IPrec@1.5",
        "success_0",
    ],
)
def test_trec_eval_names_have_the_ranges_of_ir_measures_names(text: str) -> None:
    """P_0 was read as P at rank 0, which has no meaning."""
    with pytest.raises(
        ma.MultiAspectError, match=r"expected a (whole number of ranks|number from 0 to 1)"
    ):
        parse(text)


@pytest.mark.every(7)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 10**6,
        "(" * 10**5 + ")" * 10**5,
        "nDCG(p=" + "-" * 10**5 + "1)",
        "nDCG(p=" + "[" * 10**5 + "]" * 10**5 + ")",
        "nDCG(gains={" + ",".join(f"{i}: 1" for i in range(20000)) + "})",
        "nDCG(gains={" + ",".join("1: 1" for i in range(20000)) + "})",
        "nDCG@" + "9" * 5000,
        "nDCG@" + "9" * 10**6,
        "nDCG" + "@10" * 10**4,
        "nDCG(p=" + "1+" * 10**4 + "1)",
        "nDCG(p=10**10**10)",
        "nDCG(p='" + "a" * 10**6 + "')",
        "TOMA(aspects='" + '{"a":' * 10**5 + "1" + "}" * 10**5 + "')",
        "P_" + "9" * 10**5,
        "ndcg_cut_" + "5," * 10**4,
        "nDCG(" + ",".join(f"p{i}=1" for i in range(2000)) + ")",
        "nDCG.a" * 10**4,
        "nDCG(p=" + "f(" * 10**4 + ")" * 10**4 + ")",
    ],
    ids=lambda text: text[:12],
)
def test_long_and_deep_strings(text: str) -> None:
    start = time.monotonic()
    assert isinstance(with_quotes(text), str)
    result = attempt(lambda: parse(text))
    assert not isinstance(result, str) or len(result) < 2000 + 3 * len(text)
    assert time.monotonic() - start < SLOWEST


def test_strings_do_not_run_code(tmp_path: Path) -> None:
    path = tmp_path / "made"
    code = f"__import__('pathlib').Path({str(path)!r}).touch()"
    for text in (code, f"nDCG(p={code})", f"nDCG@({code})", f"TOMA(aspects={code})", f"({code})@1"):
        with pytest.raises(ma.MultiAspectError):
            parse(text)
        with_quotes(text)
    parse(f"TOMA(aspects={code!r})")  # the name of an aspect
    assert not path.exists()


def test_the_package_evaluates_and_unpickles_nothing() -> None:
    """Except for what it wrote: to check that users' measures can be pickled, for workers, and within a pickle."""
    calls = re.compile(
        r"""
        (?<![\w.]) (eval|exec|compile|__import__) \(  # eval(, but not re.compile( or my_eval(
        | (?<!ma\.) \b (pickle|cPickle|marshal|shelve|dill|cloudpickle) \b \.? \w* \(  # pickle.loads(
        | read_pickle | allow_pickle | joblib\.load | np\.load
        | (?<!\w) yaml\.\w*[lL]oad | from[ ]yaml | yaml[ ]as  # yaml.safe_load
        """,
        re.VERBOSE,
    )
    root = Path(ma.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for match in calls.finditer(path.read_text(encoding="utf-8")):
            found.add((path.relative_to(root).as_posix(), match[0]))
    assert found == {
        ("testing/measures.py", "pickle.loads("),
        ("testing/measures.py", "pickle.dumps("),
        ("evaluation/plan.py", "pickle.loads("),
        ("integration/parsing.py", "pickle.loads("),  # a measure in the pickle of its name
    }


# --- cases that were found -----------------------------------------------------------------------------------


def test_joined_files_with_byte_order_marks() -> None:
    """The second mark would make another query of the first line: it would have no judgments in the run."""
    marked = b"\xef\xbb\xbf" + QRELS
    pd.testing.assert_frame_equal(
        ma.read_qrels(io.BytesIO(marked)), ma.read_qrels(io.BytesIO(QRELS))
    )
    with pytest.raises(
        ma.MultiAspectError, match=r":5: a byte order mark \(U\+FEFF\) within the text"
    ):
        ma.read_qrels(io.BytesIO(marked + marked))


BOMB = b"q1 0 d1 1\n" * (1 << 19)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "most_megabytes"),
    [("gzip", 8), ("bzip2", 8), ("xz", 16), ("Zstandard", 8)],  # xz has a dictionary of 8 MB
    ids=["gzip", "bzip2", "xz", "Zstandard"],
)
def test_files_that_expand_beyond_measure(
    form: str, most_megabytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused before they are expanded as a whole, to 5 MB here (BOMB)."""
    if form == "Zstandard":
        data = pytest.importorskip("zstandard").ZstdCompressor().compress(BOMB)
    else:
        data = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}[form](BOMB)
    megabyte = 1 << 20
    monkeypatch.setattr(file_contents, "_EXPANSION_FACTOR", 10)
    monkeypatch.setattr(file_contents, "_EXPANSION_BYTES", megabyte)
    monkeypatch.setattr(file_contents, "_BLOCK", megabyte // 16)
    tracemalloc.start()
    try:
        with pytest.raises(ma.MultiAspectError, match=r"more than 1 MB.*decompress"):
            ma.read_qrels(io.BytesIO(data))
        _current, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most_megabytes * megabyte


def test_large_files_that_expand_as_usual_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a number of bytes (256 MB; 1024 bytes here), only what expands by a large factor is refused."""
    monkeypatch.setattr(file_contents, "_EXPANSION_BYTES", 1024)
    lines = "".join(f"q1 0 d{document} 1\n" for document in range(5000))
    compressed = io.BytesIO(gzip.compress(lines.encode()))
    assert len(ma.read_qrels(compressed)) == 5000


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "content",
    [
        b"q1 0 " + b"d" * (1 << 19) + b" 1\n",
        b"x" * (1 << 19),
        b"q1 0 d1 " + b"9" * (1 << 19),
        b" " * (1 << 19),
        b"\n" * (1 << 19),
    ],
    ids=["huge id", "one word", "huge number", "blanks", "empty lines"],
)
def test_memory_is_bounded_by_the_size_of_the_file(content: bytes) -> None:
    tracemalloc.start()
    try:
        result = outcome(lambda: ma.read_qrels(io.BytesIO(content)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 120 * len(content)
    if isinstance(result, str):
        assert len(result) < 1000
