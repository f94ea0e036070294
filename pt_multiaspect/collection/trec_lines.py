"""Parse the bytes of a TREC file into columns; errors explain malformed lines."""

from __future__ import annotations

import bz2
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from .._typing import Floats
from ..errors import MultiAspectError
from .fast_lines import read_fast

Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]


_BLOCK = 1 << 22  # bytes split at once: bounds the memory that the short-lived pieces take


def is_whole(values: Floats) -> npt.NDArray[np.bool_]:
    # Beyond 2**53 neighbouring integers share a float64, so "whole" would mean nothing.
    whole: npt.NDArray[np.bool_] = (np.abs(values) <= 2.0**53) & (np.floor(values) == values)
    return whole


@dataclass(frozen=True)
class NumberField:
    """The numbers that a field accepts."""

    expected: str
    accepts: Callable[[Floats], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class LineFormat:
    """The fields of a line: `ids` and `numbers` by position, all others are ignored."""

    fields: tuple[str, ...]
    ids: Mapping[int, str]
    numbers: Mapping[int, tuple[str, NumberField]]
    hint: str = ""
    #: What a file with another number of fields is taken for, and a hint for it.
    other: tuple[int, str] = (0, "")

    def __str__(self) -> str:
        return " ".join(self.fields)


@dataclass(frozen=True)
class Text:
    """A file's bytes, known to be UTF-8, ending in a newline."""

    name: str
    data: bytes

    def lines(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Yield number, line and fields of every line that is not blank."""
        first = self.data.count(b"\n", 0, start) + 1
        for number, line in enumerate(self.data[start:end].split(b"\n"), first):
            if fields := line.split():
                yield number, line, fields

    def with_newlines(self) -> Text:
        """Return the text with newlines instead of each carriage return and newline."""
        return Text(self.name, self.data.replace(b"\r\n", b"\n"))

    def blocks(self, size: int = _BLOCK) -> Iterator[tuple[int, int]]:
        """Yield where blocks of about `size` bytes begin and end, which are whole lines."""
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", min(start + size, len(self.data) - 1)) + 1
            yield start, end
            start = end


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def load(source: Source) -> tuple[str, bytes]:
    """Return the name of a file and its content, decompressed."""
    name, data = _read_bytes(source)
    for form, (magic, decompress) in _COMPRESSED.items():
        if data.startswith(magic):
            return name, _decompressed(name, data, form, decompress)
    return name, data


def as_text(name: str, data: bytes) -> Text:
    """Return the content of a file as text; raise if it is not UTF-8."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data.isascii():
        _check_encoding(name, data)
    return Text(name, data if data.endswith(b"\n") else data + b"\n")


def _check_encoding(name: str, data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MultiAspectError(
            f"{name}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x}); "
            "expected a TREC file in UTF-8, plain or compressed by gzip, bzip2 or Zstandard"
        ) from error
    if _BYTE_ORDER_MARK in data:
        line = data.count(b"\n", 0, data.index(_BYTE_ORDER_MARK)) + 1
        raise MultiAspectError(
            f"{name}:{line}: a byte order mark (U+FEFF) within the text, which would be part of an id; remove it "
            "(files that are joined may each start with one)"
        )


#: A compressed file may expand to this many bytes, or to this many times its size. TREC files expand 5 to 50 times.
_EXPANSION_BYTES, _EXPANSION_FACTOR = 1 << 28, 200


def _decompressed(name: str, data: bytes, form: str, parts: Callable[[bytes], Iterator[bytes]]) -> bytes:
    most = max(_EXPANSION_BYTES, _EXPANSION_FACTOR * len(data))
    pieces, size = [], 0
    try:
        for piece in parts(data):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise MultiAspectError(
                    f"{name}: expands to more than {most >> 20} MB, at least {_EXPANSION_FACTOR} times its size, "
                    "as no TREC file does; to read it anyway, decompress it"
                )
    except ImportError as error:
        raise MultiAspectError(
            f"{name}: reading {form} files requires the package zstandard, which is part of the extra fast: "
            "pip install 'pt-multiaspect[fast]', or decompress the file"
        ) from error
    except MultiAspectError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise MultiAspectError(f"{name}: a damaged {form} file: {error}") from error
    return b"".join(pieces)


def _gunzip(data: bytes) -> Iterator[bytes]:
    # As gzip.GzipFile, in less time: the library reads the headers and checks the sums itself.
    library = _gzip_library()
    view, start = memoryview(data), 0
    while start < len(data):  # a file may have several members
        member = library.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not member.eof:
            if start == len(data):
                raise EOFError("the file ends within a member; copy or download it again")
            piece = view[start : start + _GZIP_PIECE]
            try:
                yield member.decompress(piece, _BLOCK)
            except library.error as error:
                raise ValueError(error) from error
            start += len(piece) - len(member.unconsumed_tail)
        start -= len(member.unused_data)
        if data[start : start + 1] == b"\0":  # padding
            start = len(data) - len(data[start:].lstrip(b"\0"))


def _gzip_library() -> Any:
    """ISA-L, which is twice as fast, or zlib, which has the same interface."""
    try:
        from isal import isal_zlib
    except ImportError:
        return zlib
    return isal_zlib


def _bunzip(data: bytes) -> Iterator[bytes]:
    with bz2.BZ2File(io.BytesIO(data)) as file:
        yield from iter(lambda: file.read(_BLOCK), b"")


def _unzstd(data: bytes) -> Iterator[bytes]:
    import zstandard

    while data:  # a file may have several frames
        frame = zstandard.ZstdDecompressor().decompressobj()
        start = 0
        try:
            # A block of 128 kB takes four bytes at least, so that what a piece expands to is bounded.
            while not frame.eof and start < len(data):
                yield frame.decompress(data[start : start + _ZSTD_PIECE])
                start += _ZSTD_PIECE
        except zstandard.ZstdError as error:
            raise ValueError(error) from error
        if not frame.eof:
            raise EOFError("the file ends within a frame")
        data = frame.unused_data + data[start:]


#: Bytes that are decompressed at once.
_GZIP_PIECE = 1 << 16
_ZSTD_PIECE = 1 << 8

#: Forms of compression: how their files begin, and how they are decompressed, piece by piece.
_COMPRESSED: dict[str, tuple[bytes, Callable[[bytes], Iterator[bytes]]]] = {
    "gzip": (b"\x1f\x8b", _gunzip),
    "bzip2": (b"BZh", _bunzip),
    "Zstandard": (b"\x28\xb5\x2f\xfd", _unzstd),
}


def _read_bytes(source: Any) -> tuple[str, bytes]:
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) else f"<{type(source).__name__}>"
    elif isinstance(source, str | os.PathLike):
        name = os.fsdecode(source)
    else:
        raise MultiAspectError(f"expected a path or an open file, got {type(source).__name__}")
    try:
        if hasattr(source, "read"):
            content = source.read()
        else:
            with open(os.path.expanduser(name), "rb") as file:
                content = file.read()
    except FileNotFoundError as error:
        raise MultiAspectError(f"{name}: no such file") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise MultiAspectError(f"{name}: cannot be read: {reason}") from error
    # A lone surrogate is let through here: it is no UTF-8 either, and is reported as such.
    return name, content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)


class _Strings(dict[bytes, str]):
    """Decodes ids, giving the same object for the same id."""

    def __missing__(self, key: bytes) -> str:
        self[key] = text = key.decode("utf-8")
        return text


def _check_no_binary_data(text: Text) -> None:
    if b"\0" in text.data:
        line = text.data.count(b"\n", 0, text.data.index(b"\0")) + 1
        raise MultiAspectError(
            f"{text.name}:{line}: binary data (a NUL byte); expected a TREC file in UTF-8, plain or compressed by "
            "gzip, bzip2 or Zstandard"
        )


def parse_lines(text: Text, layout: LineFormat) -> pd.DataFrame:
    fast = read_fast(text, layout)
    if fast is not None:
        return fast.frame()
    _check_no_binary_data(text)
    # Python's own split and float: as fast here as pandas.read_csv, the same in every
    # version of pandas, and without its readings of "NA", "True", quotes and short lines.
    strings = _Strings()
    ids: dict[str, list[str]] = {column: [] for column in layout.ids.values()}
    numbers: dict[str, list[Floats]] = {column: [] for column, _ in layout.numbers.values()}
    for start, end in text.blocks():
        fields, values = _split_block(text, layout, start, end)
        for position, column in layout.ids.items():
            ids[column].extend(map(strings.__getitem__, fields[position]))
        for column, converted in values.items():
            numbers[column].append(converted)
    if not ids["qid"]:
        raise MultiAspectError(f"{text.name}: the file is empty; expected lines `{layout}`")
    return pd.DataFrame({**ids, **{column: np.concatenate(parts) for column, parts in numbers.items()}})


def _split_block(
    text: Text, layout: LineFormat, start: int, end: int
) -> tuple[list[list[bytes]], dict[str, Floats]]:
    """Split whole lines into columns, and raise for the first malformed line."""
    width = len(layout.fields)
    rows = text.data.count(b"\n", start, end)
    # NUL does not occur in the data, so it can mark the ends of lines among the fields: one
    # split then serves the whole block, and the marks show whether all lines are as they should.
    pieces = text.data[start:end].replace(b"\n", b" \0 ").split()
    if len(pieces) == rows * (width + 1) and pieces[width :: width + 1] == [b"\0"] * rows:
        fields = [pieces[position :: width + 1] for position in range(width)]
        values = _convert(fields, layout)
        if values is not None:
            return fields, values
    good = []
    for number, line, found in text.lines(start, end):
        _check_line(text.name, number, line, found, layout)
        good.append(found)
    fields = [list(column) for column in zip(*good, strict=True)] or [[] for _ in range(width)]
    values = _convert(fields, layout)
    assert values is not None  # every line has just been checked by the same rule
    return fields, values


def _convert(fields: Sequence[Sequence[bytes]], layout: LineFormat) -> dict[str, Floats] | None:
    """Convert the numeric columns; return None if a value is not accepted."""
    values = {}
    for position, (column, number) in layout.numbers.items():
        converted = _floats(fields[position], number)
        if converted is None:
            return None
        values[column] = converted
    return values


def _floats(fields: Sequence[bytes], number: NumberField) -> Floats | None:
    try:
        values = np.fromiter(map(float, fields), np.float64, len(fields))
    except ValueError:
        return None
    # float() also reads Python's 1_000, which no other tool takes for a number.
    return None if b"_" in b"".join(fields) or not np.all(number.accepts(values)) else values


def _check_line(name: str, number: int, line: bytes, found: list[bytes], layout: LineFormat) -> None:
    width = len(layout.fields)
    if len(found) != width:
        n_other, other = layout.other
        hint = other if len(found) == n_other else layout.hint if len(found) > width else ""
        if len(found) < 3 and line.count(b",") >= 2:
            hint = "; fields are separated by blanks or tabs, not by commas"
        raise MultiAspectError(
            f"{name}:{number}: expected {width} fields ({layout}), got {len(found)}: {excerpt(line)}{hint}"
        )
    for position, (column, kind) in layout.numbers.items():
        if _floats([found[position]], kind) is None:
            raise MultiAspectError(
                f"{name}:{number}: {column}: expected {kind.expected}, got {excerpt(found[position])} (query "
                f"{excerpt(found[0])}, document {excerpt(found[2])}): {excerpt(line)}"
                f"{_remedy(number, found, found[position])}"
            )


def _remedy(number: int, found: list[bytes], value: bytes) -> str:
    """Return what to change in a line with a field that is no number, if that is known."""
    if number == 1 and not any(field[:1].isdigit() for field in found[1:]):
        return "; if this is a header, delete the line: TREC files have none"
    if re.fullmatch(rb"[+-]?\d+,\d+", value):
        return "; write decimals with a point, not with a comma"
    return ""


def excerpt(piece: bytes, limit: int = 80) -> str:
    text = piece.decode("utf-8").strip()
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
