"""Columns of TREC files: NumPy finds the fields, and pandas' C parser reads the numbers.

Identifiers remain bytes until strings are needed. Files with irregular lines, such as several
blanks between fields, are read from a copy with regular lines. If that also fails, a line is
malformed, and the error explains it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints, Objects
from ..errors import MultiAspectError, cut, in_shell, parameter
from ..strings.texts import Texts
from .file_contents import COMPRESSIONS, Text

#: Number of bytes above which pandas reads numbers faster than Python's `float`.
_WORTHWHILE = 1 << 16

#: Number of bytes searched for separators at once, so that intermediate arrays stay in the
#: processor's cache.
_SEARCHED = 1 << 19

#: Number of bytes split at once, which limits the memory of the temporary pieces.
_SPLIT = 1 << 22

_NEWLINE, _BLANK, _TAB = b"\n \t"

#: Bytes that are not part of fields. Other control characters are.
_NO_FIELD = np.frombuffer(b"\0\t\n\v\f\r ", dtype=np.uint8)

#: The option of pandas for exact reading of numbers, which is the default since 3.1.
_EXACT: dict[str, Any] = {}
_PANDAS_VERSION = tuple(map(int, pd.__version__.split(".")[:2]))
if _PANDAS_VERSION < (3, 1):
    _EXACT["float_precision"] = "round_trip"


def is_whole(values: Floats) -> Bools:
    """Return a mask of the integers that a float represents exactly."""
    # Beyond 2**53 neighbouring integers have the same float64, so "whole" would be meaningless.
    whole: Bools = (np.abs(values) <= 2.0**53) & (np.floor(values) == values)
    return whole


@dataclass(frozen=True)
class NumberField:
    """The numbers that a field accepts."""

    expected: str
    accepts: Callable[[Floats], Bools]


WHOLE_NUMBER = NumberField("a whole number", is_whole)
SCORE = NumberField("a number other than nan", lambda values: ~np.isnan(values))
LABEL = NumberField("a finite number (or nan for no judgment)", lambda values: ~np.isinf(values))
PROBABILITY = NumberField("a number from 0 to 1", lambda values: (values >= 0) & (values <= 1))


def no_remedy(fields: Sequence[bytes]) -> str:
    """Return no remedy for a malformed line."""
    return ""


@dataclass(frozen=True)
class LineFormat:
    """The fields of a line: `ids` and `numbers` by position, all others are ignored."""

    fields: tuple[str, ...]
    ids: Mapping[int, str]
    numbers: Mapping[int, tuple[str, NumberField]]
    #: Returns the remedy for a line with another number of fields, empty if none is known.
    remedy: Callable[[Sequence[bytes]], str] = no_remedy
    #: The number of fields of a similar format, and what files in it are, "qrels" or "a run".
    lookalike: tuple[int, str] = (0, "")

    def __str__(self) -> str:
        return " ".join(self.fields)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file, by the names of its format."""

    docnos: Texts
    #: The other identifiers: one code per line, and the distinct strings.
    codes: dict[str, tuple[Ints, Objects]]
    numbers: dict[str, Floats]

    def frame(self) -> pd.DataFrame:
        """Return identifiers as Python strings, and numbers."""
        frame: dict[str, Any] = {"docno": self.docnos.decode()}
        for column, (codes, distinct) in self.codes.items():
            frame[column] = distinct[codes]
        frame.update(self.numbers)
        return pd.DataFrame(frame)


class _Unreadable(Exception):
    """Raised for lines that are irregular or malformed."""


def read_lines(text: Text, layout: LineFormat, ids: Collection[str] | None = None) -> Columns:
    """Read the columns of a file.

    Parameters
    ----------
    text : Text
        The content of the file.
    layout : LineFormat
        The fields of a line.
    ids : collection of str, optional
        The identifiers to read, among them docno; by default all.

    Raises
    ------
    MultiAspectError
        If the file is empty, or a line is malformed.
    """
    if ids is None:
        wanted = dict(layout.ids)
    else:
        wanted = {position: column for position, column in layout.ids.items() if column in ids}
    for regular in _forms(text):
        if not regular.data:
            raise MultiAspectError(f"{text.name}: the file is empty; expected lines `{layout}`")
        try:
            return _Lines(regular, layout).columns(wanted)
        except _Unreadable:
            continue
    raise _first_error(text, layout)


def read_regular_lines(text: Text, layout: LineFormat) -> Columns | None:
    """Read the columns of a file like `read_lines`; None if a line is irregular or malformed."""
    try:
        return _Lines(_with_newlines(text), layout).columns(layout.ids)
    except _Unreadable:
        return None


def _with_newlines(text: Text) -> Text:
    has_returns = text.data.startswith(b"\r", text.data.index(b"\n") - 1)
    if has_returns:
        return Text(text.name, text.data.replace(b"\r\n", b"\n"))
    return text


def _forms(text: Text) -> Iterator[Text]:
    """Yield the text with newlines, then a copy with regular lines.

    These have one blank between fields, and none of them is blank.
    """
    yield _with_newlines(text)
    _check_no_binary_data(text)
    blocks: list[bytes] = []
    for start, end in text.blocks(_SPLIT):
        lines = [b" ".join(fields) + b"\n" for *_, fields in text.lines(start, end)]
        blocks.append(b"".join(lines))
    yield Text(text.name, b"".join(blocks))


@dataclass(frozen=True)
class _Lines:
    """Lines in which one byte separates the fields."""

    text: Text
    layout: LineFormat

    def columns(self, ids: Mapping[int, str]) -> Columns:
        """Return the numbers and some identifiers.

        Raises
        ------
        _Unreadable
            If a line is irregular, or a number is not accepted.
        """
        data = self.text.data
        columns: dict[str, _Column] = {}
        for position, name in ids.items():
            # Rows of a query, and of a run, are mostly adjacent.
            columns[name] = _Column(position, only_changes=name != "docno")
        n_lines, are_digits = self._fill(columns.values())
        values = None
        if are_digits and len(data) >= _WORTHWHILE:
            values = self._parse_numbers()
        if values is None or any(len(column) != n_lines for column in values.values()):
            values = self._convert_numbers()
        numbers: dict[str, Floats] = {}
        for position, (name, number) in self.layout.numbers.items():
            if not np.all(number.accepts(values[position])):
                raise _Unreadable
            numbers[name] = values[position]
        docnos = columns.pop("docno").texts(data)
        codes = {name: column.codes(data) for name, column in columns.items()}
        return Columns(docnos, codes, numbers)

    def _fill(self, columns: Collection[_Column]) -> tuple[int, bool]:
        """Add all lines to columns.

        Returns
        -------
        n_lines : int
            The number of lines.
        are_digits : bool
            Whether no number begins with a letter.
        """
        n_lines = 0
        are_digits = True
        before_numbers = [position - 1 for position in self.layout.numbers]
        bytes_ = np.frombuffer(self.text.data, dtype=np.uint8)
        for begin, end in self.text.blocks(_SEARCHED):
            ends = self._ends(bytes_[begin:end])
            ends += begin
            n_lines += len(ends)
            if are_digits:
                first_bytes = bytes_[ends[:, before_numbers] + 1]
                are_digits = bool((first_bytes < ord("A")).all())
            for column in columns:
                column.add(self.text.data, begin, ends)
        return n_lines, are_digits

    def _ends(self, block: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the ends of the fields of some lines, shape (n_lines, n_fields).

        Raises
        ------
        _Unreadable
            If a line does not have the expected number of non-empty fields with one separator
            between them, or contains other white space.
        """
        ends = np.flatnonzero(block <= _BLANK)
        marks = block[ends]
        is_mark = (marks == self._separator) | (marks == _NEWLINE)
        if not is_mark.all():
            if np.isin(marks[~is_mark], _NO_FIELD).any():
                raise _Unreadable
            ends = ends[is_mark]
            marks = marks[is_mark]
        width = len(self.layout.fields)
        if len(ends) % width or ends[0] == 0:
            raise _Unreadable
        steps = ends[1:] - ends[:-1]
        if steps.min(initial=2) < 2:  # an empty field
            raise _Unreadable
        marks = marks.reshape(-1, width)
        if np.any(marks[:, -1] != _NEWLINE):
            raise _Unreadable
        if np.any(marks[:, :-1] != self._separator):
            raise _Unreadable
        return ends.reshape(-1, width)

    @property
    def _separator(self) -> int:
        first_line_end = self.text.data.index(b"\n")
        if self.text.data.find(b"\t", 0, first_line_end) >= 0:
            return _TAB
        return _BLANK

    def _parse_numbers(self) -> dict[int, Floats] | None:
        """Return numbers as pandas reads them; None if it cannot read all of them."""
        try:
            frame: pd.DataFrame = pd.read_csv(
                io.BytesIO(self.text.data),
                sep=chr(self._separator),
                header=None,
                usecols=sorted(self.layout.numbers),
                dtype=np.float64,
                engine="c",
                quoting=csv.QUOTE_NONE,
                lineterminator="\n",
                na_filter=False,
                skip_blank_lines=False,
                **_EXACT,
            )
        except (ValueError, OverflowError):
            return None
        return {position: frame[position].to_numpy() for position in self.layout.numbers}

    def _convert_numbers(self) -> dict[int, Floats]:
        """Return numbers as Python reads them, including nan."""
        columns: dict[int, _Column] = {}
        for position in self.layout.numbers:
            columns[position] = _Column(position, only_changes=False)
        self._fill(columns.values())
        values: dict[int, Floats] = {}
        for position, column in columns.items():
            numbers = _as_numbers(column.fields(self.text.data))
            if numbers is None:
                raise _Unreadable
            values[position] = numbers
        return values


class _Column:
    """The positions of a field in each line, or only where it differs from the line before."""

    def __init__(self, position: int, *, only_changes: bool) -> None:
        self._position = position
        self._only_changes = only_changes
        self._n_lines = 0
        self._lines: list[Ints] = []
        self._starts: list[NDArray[np.int64]] = []
        self._sizes: list[NDArray[np.int64]] = []

    def add(self, data: bytes, begin: int, ends: NDArray[np.int64]) -> None:
        """Add some lines, given by the first byte and the ends of the fields."""
        if self._position == 0:
            start = np.append(begin, ends[:-1, -1] + 1)
        else:
            start = ends[:, self._position - 1] + 1
        size = ends[:, self._position] - start
        if self._only_changes:
            heads = Texts.from_bytes(data, start, size).heads()
            self._lines.append(self._n_lines + heads)
            start = start[heads]
            size = size[heads]
        self._n_lines += len(ends)
        self._starts.append(start)
        self._sizes.append(size)

    def texts(self, data: bytes) -> Texts:
        """Return the fields as texts."""
        start = np.concatenate(self._starts)
        size = np.concatenate(self._sizes)
        return Texts.from_bytes(data, start, size)

    def codes(self, data: bytes) -> tuple[Ints, Objects]:
        """Factorise the fields: return one code per line, and the distinct strings."""
        codes, distinct = self.texts(data).codes()
        lines = np.append(np.concatenate(self._lines), self._n_lines)
        n_repeats = lines[1:] - lines[:-1]
        return np.repeat(codes, n_repeats), distinct.decode()

    def fields(self, data: bytes) -> list[bytes]:
        """Return the fields as bytes."""
        texts = self.texts(data)
        starts = texts.start.tolist()
        ends = (texts.start + texts.size).tolist()
        return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def _as_numbers(fields: Sequence[bytes]) -> Floats | None:
    """Convert fields to numbers; return None if one of them is not a number."""
    try:
        values = np.fromiter(map(float, fields), np.float64, len(fields))
    except ValueError:
        return None
    # float() also accepts 1_000, which other tools do not read as a number.
    if b"_" in b"".join(fields):
        return None
    return values


def _check_no_binary_data(text: Text) -> None:
    if b"\0" in text.data:
        line = text.line_number(text.data.index(0))
        raise MultiAspectError(
            f"{text.name}:{line}: binary data (a NUL byte); "
            f"expected text in UTF-8, plain or compressed by {COMPRESSIONS}"
        )


def _first_error(text: Text, layout: LineFormat) -> MultiAspectError:
    """Return the error about the first malformed line."""
    for start, end in text.blocks(_SPLIT):
        lines = list(text.lines(start, end))
        rows = [fields for *_, fields in lines]
        if _are_good(rows, layout):
            continue
        for number, line, fields in lines:
            if not is_line(fields, layout):
                return _error(text.name, number, line, fields, layout)
    raise AssertionError("expected a malformed line")


def _are_good(rows: Sequence[Sequence[bytes]], layout: LineFormat) -> bool:
    """Return whether lines have the right number of fields, and numbers where expected."""
    width = len(layout.fields)
    if any(len(fields) != width for fields in rows):
        return False
    for position, (_, number) in layout.numbers.items():
        column = [fields[position] for fields in rows]
        if not _is_accepted(column, number):
            return False
    return True


def is_line(fields: Sequence[bytes], layout: LineFormat) -> bool:
    """Return whether a line has the fields of a layout."""
    return _are_good([fields], layout)


def _is_accepted(fields: Sequence[bytes], number: NumberField) -> bool:
    values = _as_numbers(fields)
    return values is not None and bool(np.all(number.accepts(values)))


def _has_more_labels(fields: Sequence[bytes], layout: LineFormat) -> bool:
    """Return whether a line of qrels has several labels, which are whole numbers.

    A run has scores and a tag instead.
    """
    width = len(layout.fields)
    if len(fields) <= width or fields[1].upper() == b"Q0":
        return False
    labels = fields[width - 1 :]
    return all(label.removeprefix(b"-").isdigit() for label in labels)


#: What separates the fields of other files, and its name.
_OTHER_SEPARATORS = {b";": "semicolons", b",": "commas"}


def lookalike_hint(kind: str) -> str:
    """Return a hint for a file that looks like "qrels" or "a run", but was given as the other."""
    if kind == "qrels":
        text = "; this looks like qrels, not a run"
        remedy = f": write {parameter('qrels')} ASPECT=FILE for each aspect"
    else:
        text = "; this looks like a run, not qrels"
        remedy = (
            f": give runs after the other options, and qrels as {parameter('qrels')} ASPECT=FILE "
            "for each aspect"
        )
    if in_shell():
        return text + remedy
    return text


def _error(
    name: str, number: int, line: bytes, fields: list[bytes], layout: LineFormat
) -> MultiAspectError:
    """Return the error about a malformed line."""
    place = f"{name}:{number}"
    width = len(layout.fields)
    if len(fields) != width:
        remedy = _width_remedy(number, line, fields, layout)
        return MultiAspectError(
            f"{place}: expected {width} fields ({layout}), got {len(fields)}: "
            f"{excerpt(line)}{remedy}"
        )
    for position, (column, number_field) in layout.numbers.items():
        value = fields[position]
        if not _is_accepted([value], number_field):
            remedy = _number_remedy(number, fields, value)
            return MultiAspectError(
                f"{place}: {column}: expected {number_field.expected}, got {excerpt(value)} (query "
                f"{excerpt(fields[0])}, document {excerpt(fields[2])}): {excerpt(line)}{remedy}"
            )
    raise AssertionError("expected a malformed line")


_DIGIT = re.compile(rb"\d")


def _width_remedy(number: int, line: bytes, fields: list[bytes], layout: LineFormat) -> str:
    """Return a remedy for a line with another number of fields, empty if none is known."""
    separators = [word for mark, word in _OTHER_SEPARATORS.items() if line.count(mark) >= 2]
    if len(fields) < 3 and separators:
        return (
            f"; with {separators[0]} between the fields, the first line is a header, such as "
            "qid,docno,score"
        )
    n_fields, kind_of_file = layout.lookalike
    if len(fields) == n_fields and not _has_more_labels(fields, layout):
        return lookalike_hint(kind_of_file)
    if len(fields) >= 3 and number == 1 and not _has_digits(fields):
        return (
            "; if this is a header, write tabs or commas between the fields, and name two of "
            "them qid and docno"
        )
    return layout.remedy(fields)


def _has_digits(fields: Sequence[bytes]) -> bool:
    """Return whether a field other than Q0 contains a digit."""
    names = [field for field in fields if field.upper() != b"Q0"]
    return any(_DIGIT.search(name) for name in names)


def _may_be_header(number: int, fields: Sequence[bytes]) -> bool:
    """Return whether a line is the first one and has no numbers."""
    return number == 1 and not any(field[:1].isdigit() for field in fields[1:])


def _number_remedy(number: int, fields: list[bytes], value: bytes) -> str:
    """Return a remedy for a line with a field that is not a number, empty if none is known."""
    if _may_be_header(number, fields):
        return "; if this is a header, delete the line: TREC files have none"
    if re.fullmatch(rb"[+-]?\d+,\d+", value):
        return "; write decimals with a point, not with a comma"
    return ""


def excerpt(piece: bytes) -> str:
    """Return the beginning of a line or field in quotes, for an error message."""
    text = piece.decode("utf-8").strip()
    return repr(cut(text, 80))
