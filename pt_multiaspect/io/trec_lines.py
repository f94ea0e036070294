"""Columns of TREC files: NumPy finds the fields, and pandas' C parser reads the numbers.

Identifiers remain bytes until strings are needed. Files with irregular lines, such as several
blanks between fields, are read from a copy with regular lines. If that also fails, a line is
malformed, and the error explains it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints, Objects
from ..errors import MultiAspectError, cut, in_shell, parameter
from ..strings.texts import Texts
from .file_contents import COMPRESSIONS, Line, Text

Bytes = NDArray[np.uint8]

#: Positions of bytes, and numbers of bytes.
Positions = NDArray[np.int64]

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
    is_exact = np.abs(values) <= 2.0**53
    has_no_fraction = np.floor(values) == values
    whole: Bools = is_exact & has_no_fraction
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


class Lookalike(NamedTuple):
    """A format that may be taken for another: its fields, and what its files are."""

    n_fields: int
    #: "qrels" or "a run".
    kind: str


@dataclass(frozen=True)
class LineFormat:
    """The fields of a line: `ids` and `numbers` by position, all others are ignored."""

    fields: tuple[str, ...]
    ids: Mapping[int, str]
    numbers: Mapping[int, tuple[str, NumberField]]
    #: Returns the remedy for a line with another number of fields, empty if none is known.
    remedy: Callable[[Sequence[bytes]], str] = no_remedy
    lookalike: Lookalike | None = None

    def __str__(self) -> str:
        return " ".join(self.fields)


class Identifiers(NamedTuple):
    """A column of identifiers."""

    #: The position in `distinct` of the identifier of each line.
    codes: Ints
    #: The distinct strings.
    distinct: Objects


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file, by the names of its format."""

    docnos: Texts
    #: The columns of other identifiers.
    identifiers: dict[str, Identifiers]
    numbers: dict[str, Floats]

    def frame(self) -> pd.DataFrame:
        """Return a frame with identifiers as Python strings, and numbers."""
        columns: dict[str, Any] = {"docno": self.docnos.decode()}
        for name, column in self.identifiers.items():
            columns[name] = column.distinct[column.codes]
        columns.update(self.numbers)
        return pd.DataFrame(columns)


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
    wanted: dict[int, str] = {}
    for position, column in layout.ids.items():
        if ids is None or column in ids:
            wanted[position] = column
    columns = _columns_if_regular(_with_newlines(text), layout, wanted)
    if columns is not None:
        return columns
    _check_no_binary_data(text)
    copy = _with_regular_lines(text)
    if not copy.data:
        raise MultiAspectError(f"{text.name}: the file is empty; expected lines `{layout}`")
    columns = _columns_if_regular(copy, layout, wanted)
    if columns is not None:
        return columns
    raise _first_error(text, layout)


def read_regular_lines(text: Text, layout: LineFormat) -> Columns | None:
    """Read the columns of a file like `read_lines`; None if a line is irregular or malformed."""
    return _columns_if_regular(_with_newlines(text), layout, layout.ids)


def _columns_if_regular(text: Text, layout: LineFormat, ids: Mapping[int, str]) -> Columns | None:
    """Return the columns of regular lines; None if a line is irregular or malformed."""
    try:
        return _Lines(text, layout).columns(ids)
    except _Unreadable:
        return None


def _with_newlines(text: Text) -> Text:
    r"""Return the text with the line ends ``\n`` in place of ``\r\n``."""
    # The first line shows which line ends the file has.
    end_of_first_line = text.data.index(b"\n")
    first_line = text.data[:end_of_first_line]
    if first_line.endswith(b"\r"):
        return Text(text.name, text.data.replace(b"\r\n", b"\n"))
    return text


def _with_regular_lines(text: Text) -> Text:
    """Return the text with one blank between fields, and without blank lines."""
    regular_blocks: list[bytes] = []
    # In blocks of some megabytes, as the fields of all lines would take too much memory.
    for start, end in text.blocks(_SPLIT):
        block = text.data[start:end]
        regular_lines: list[bytes] = []
        for line in block.split(b"\n"):
            fields = line.split()
            if fields:
                regular_lines.append(b" ".join(fields) + b"\n")
        regular_blocks.append(b"".join(regular_lines))
    return Text(text.name, b"".join(regular_blocks))


@dataclass(frozen=True)
class _Lines:
    """Lines in which one byte separates the fields."""

    text: Text
    layout: LineFormat

    def columns(self, ids: Mapping[int, str]) -> Columns:
        """Return the numbers, and the identifiers whose names `ids` gives by position.

        Raises
        ------
        _Unreadable
            If a line is irregular, or a number is not accepted.
        """
        columns: dict[str, _Column] = {}
        for position, name in ids.items():
            # In adjacent lines, queries and tags are mostly equal: only changes are kept.
            is_document = name == "docno"
            columns[name] = _Column(position, only_changes=not is_document)
        # One pass over the file finds the identifiers, and whether all numbers begin with a digit
        # or sign. Only such numbers can be read by a faster method.
        n_lines, are_numeric = self._fill(columns.values())
        numbers = self._read_numbers(n_lines, are_numeric)
        data = self.text.data
        docnos = columns["docno"].texts(data)
        identifiers: dict[str, Identifiers] = {}
        for name, column in columns.items():
            if name != "docno":
                identifiers[name] = column.identifiers(data)
        return Columns(docnos, identifiers, numbers)

    def _fill(self, columns: Collection[_Column]) -> tuple[int, bool]:
        """Add all lines of the file to each of the columns.

        Returns
        -------
        n_lines : int
            The number of lines.
        are_numeric : bool
            Whether no number begins with a letter, as nan does.
        """
        n_lines = 0
        are_numeric = True
        file_bytes = np.frombuffer(self.text.data, dtype=np.uint8)
        for begin, end in self.text.blocks(_SEARCHED):
            ends = self._field_ends(file_bytes[begin:end])  # (n_lines_of_block, n_fields)
            ends += begin  # positions in the file, not in the block
            n_lines += len(ends)
            for column in columns:
                column.add(self.text.data, begin, ends)
            if self._has_words(file_bytes, ends):
                are_numeric = False
        return n_lines, are_numeric

    def _has_words(self, file_bytes: Bytes, ends: Positions) -> bool:
        """Return whether a field for numbers begins with a letter.

        `ends` are the positions in the file of the bytes after the fields of some lines, shape
        (n_lines, n_fields).
        """
        # The byte after a field is a separator, and the next field begins after it. There is a
        # field before each number, as identifiers come first.
        fields_before = [position - 1 for position in self.layout.numbers]
        starts = ends[:, fields_before] + 1
        first_bytes = file_bytes[starts]
        # In ASCII, digits, signs and points come before the letters.
        begins_with_letter = first_bytes >= ord("A")
        return bool(begins_with_letter.any())

    def _field_ends(self, block: Bytes) -> Positions:
        """Return the ends of the fields of some lines, shape (n_lines, n_fields).

        Raises
        ------
        _Unreadable
            If a line does not have the expected number of non-empty fields with one separator
            between them, or contains other white space.
        """
        ends, marks = self._find_marks(block)
        n_fields = len(self.layout.fields)
        if len(ends) % n_fields != 0:
            raise _Unreadable
        # A field is empty if a mark is the first byte, or follows another mark directly. The
        # initial distance of 2 is for a single mark.
        begins_with_mark = ends[0] == 0
        distances = ends[1:] - ends[:-1]
        has_adjacent_marks = distances.min(initial=2) == 1
        if begins_with_mark or has_adjacent_marks:
            raise _Unreadable
        # With one row per line, newlines are in the last column and nowhere else.
        marks_of_lines = marks.reshape(-1, n_fields)
        if np.any(marks_of_lines[:, -1] != _NEWLINE):
            raise _Unreadable
        if np.any(marks_of_lines[:, :-1] != self._separator):
            raise _Unreadable
        return ends.reshape(-1, n_fields)

    def _find_marks(self, block: Bytes) -> tuple[Positions, Bytes]:
        """Return the positions of separators and newlines in order, and these bytes.

        Raises
        ------
        _Unreadable
            If there are other white space or NUL bytes.
        """
        # Tabs, newlines, NUL and all other control characters are smaller bytes than the blank.
        positions = np.flatnonzero(block <= _BLANK)
        characters = block[positions]
        is_mark = (characters == self._separator) | (characters == _NEWLINE)
        if is_mark.all():
            return positions, characters
        # Control characters that are not white space may be part of a field.
        others = characters[~is_mark]
        if np.isin(others, _NO_FIELD).any():
            raise _Unreadable
        return positions[is_mark], characters[is_mark]

    @property
    def _separator(self) -> int:
        """The byte between fields: a tab if the first line contains one, otherwise a blank."""
        first_line_end = self.text.data.index(b"\n")
        first_tab = self.text.data.find(b"\t", 0, first_line_end)
        if first_tab >= 0:
            return _TAB
        return _BLANK

    def _read_numbers(self, n_lines: int, are_numeric: bool) -> dict[str, Floats]:
        """Return the columns of numbers by name; the parameters are what `_fill` returns.

        Raises
        ------
        _Unreadable
            If a field is not a number, or is a number that its format does not accept.
        """
        # pandas is faster than Python on large files. It reads some words, such as NA, unlike
        # Python, so it is used for digits only. None: it is not used, or cannot read the file.
        columns = None
        is_large = len(self.text.data) >= _WORTHWHILE
        if is_large and are_numeric:
            columns = self._parse_numbers(n_lines)
        if columns is None:
            columns = self._convert_numbers()

        numbers: dict[str, Floats] = {}
        for position, (name, number_field) in self.layout.numbers.items():
            values = columns[position]
            if not np.all(number_field.accepts(values)):
                raise _Unreadable
            numbers[name] = values
        return numbers

    def _parse_numbers(self, n_lines: int) -> dict[int, Floats] | None:
        """Return numbers by position as pandas reads them; None if it cannot read all lines."""
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
        if len(frame) != n_lines:
            return None
        return {position: frame[position].to_numpy() for position in self.layout.numbers}

    def _convert_numbers(self) -> dict[int, Floats]:
        """Return numbers by position as Python reads them, including nan.

        Raises
        ------
        _Unreadable
            If a field is not a number.
        """
        columns: dict[int, _Column] = {}
        for position in self.layout.numbers:
            # Numbers are needed of every line, not only where they change.
            columns[position] = _Column(position, only_changes=False)
        # A second pass over the file: only now it is known that Python must read the numbers.
        self._fill(columns.values())
        values: dict[int, Floats] = {}
        for position, column in columns.items():
            numbers = _as_numbers(column.fields(self.text.data))
            if numbers is None:
                raise _Unreadable
            values[position] = numbers
        return values


class _Column:
    """The places of one field of each line, or only of lines where it differs from the line before.

    Places are byte positions in the file.
    """

    def __init__(self, position: int, *, only_changes: bool) -> None:
        """Create a column without lines.

        Parameters
        ----------
        position : int
            The position of the field in a line, counted from 0.
        only_changes : bool
            Whether to keep a field only where it differs from that of the line before, as for query
            ids, which are equal in many adjacent lines; False keeps the field of each line.
        """
        self._position = position
        self._only_changes = only_changes
        self._n_lines = 0
        # One array per block of lines: the starts and sizes of the kept fields, and, with
        # `only_changes`, the lines of these, counted from 0 in the file.
        self._starts: list[Positions] = []
        self._sizes: list[Positions] = []
        self._lines_of_changes: list[Ints] = []

    def add(self, data: bytes, begin: int, ends: Positions) -> None:
        """Add a block of lines.

        Parameters
        ----------
        data : bytes
            The file.
        begin : int
            The position of the first byte of the block.
        ends : array of shape (n_lines, n_fields)
            The positions of the bytes after each field: its separator or newline.
        """
        starts = self._starts_in_block(begin, ends)
        sizes = ends[:, self._position] - starts
        if self._only_changes:
            # `heads` are the first line of the block, and those whose field differs from that of
            # the line before.
            heads = Texts.from_bytes(data, starts, sizes).heads()
            starts = starts[heads]
            sizes = sizes[heads]
            lines_in_file = self._n_lines + heads  # after the lines of earlier blocks
            self._lines_of_changes.append(lines_in_file)
        self._n_lines += len(ends)
        self._starts.append(starts)
        self._sizes.append(sizes)

    def _starts_in_block(self, begin: int, ends: Positions) -> Positions:
        """Return the position of the first byte of the field in each line of a block.

        The parameters are those of `add`.
        """
        if self._position > 0:
            separators_before = ends[:, self._position - 1]
            return separators_before + 1
        # The first field of a line follows the newline of the line before.
        newlines = ends[:, -1]
        newlines_before = newlines[:-1]  # of all lines but the first
        return np.append(begin, newlines_before + 1)

    def texts(self, data: bytes) -> Texts:
        """Return the fields as texts."""
        starts = np.concatenate(self._starts)
        sizes = np.concatenate(self._sizes)
        return Texts.from_bytes(data, starts, sizes)

    def identifiers(self, data: bytes) -> Identifiers:
        """Return the fields of all lines, of a column that keeps only those of changes."""
        codes_of_changes, distinct = self.texts(data).codes()
        # A kept field is that of all lines up to the next change, or to the end of the file: the
        # codes [5, 8] of changes in the lines [0, 3], of 4 lines, become [5, 5, 5, 8].
        lines_of_changes = np.concatenate(self._lines_of_changes)
        n_lines_of_each = np.diff(lines_of_changes, append=self._n_lines)
        codes_of_lines = np.repeat(codes_of_changes, n_lines_of_each)
        return Identifiers(codes_of_lines, distinct.decode())

    def fields(self, data: bytes) -> list[bytes]:
        """Return the fields as bytes."""
        starts = np.concatenate(self._starts)
        ends = starts + np.concatenate(self._sizes)
        # As lists, since Python reads their numbers faster than those of arrays.
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return [data[start:end] for start, end in spans]


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
    """Raise an error if the text contains a NUL byte."""
    if b"\0" not in text.data:
        return
    position = text.data.index(b"\0")
    line_number = text.line_number(position)
    raise MultiAspectError(
        f"{text.name}:{line_number}: binary data (a NUL byte); "
        f"expected text in UTF-8, plain or compressed by {COMPRESSIONS}"
    )


def _first_error(text: Text, layout: LineFormat) -> MultiAspectError:
    """Return the error about the first malformed line."""
    for start, end in text.blocks(_SPLIT):
        lines = list(text.lines(start, end))
        # Lines are checked one by one, which is slow, only in the block that has the malformed one.
        if _are_lines([line.fields for line in lines], layout):
            continue
        for line in lines:
            if not is_line(line.fields, layout):
                return _error_of_line(text.name, line, layout)
    raise AssertionError("expected a malformed line")


def _are_lines(rows: Sequence[Sequence[bytes]], layout: LineFormat) -> bool:
    """Return whether lines have the right number of fields, and numbers where expected."""
    width = len(layout.fields)
    if any(len(fields) != width for fields in rows):
        return False
    for position, (_, number_field) in layout.numbers.items():
        column = [fields[position] for fields in rows]
        if not _are_accepted(column, number_field):
            return False
    return True


def is_line(fields: Sequence[bytes], layout: LineFormat) -> bool:
    """Return whether a line has the fields of a layout."""
    return _are_lines([fields], layout)


def _are_accepted(fields: Sequence[bytes], number_field: NumberField) -> bool:
    """Return whether all fields are numbers that the format accepts."""
    values = _as_numbers(fields)
    if values is None:
        return False
    return bool(np.all(number_field.accepts(values)))


def _error_of_line(name: str, line: Line, layout: LineFormat) -> MultiAspectError:
    """Return the error about a malformed line of the file `name`."""
    place = f"{name}:{line.number}"
    n_fields = len(line.fields)
    width = len(layout.fields)
    whole_line = excerpt(line.content)
    if n_fields != width:
        remedy = _width_remedy(line, layout)
        return MultiAspectError(
            f"{place}: expected {width} fields ({layout}), got {n_fields}: {whole_line}{remedy}"
        )
    for position, (column, number_field) in layout.numbers.items():
        field = line.fields[position]
        if not _are_accepted([field], number_field):
            got = excerpt(field)
            query = excerpt(line.fields[0])
            document = excerpt(line.fields[2])
            remedy = _number_remedy(line, field)
            return MultiAspectError(
                f"{place}: {column}: expected {number_field.expected}, got {got} (query "
                f"{query}, document {document}): {whole_line}{remedy}"
            )
    raise AssertionError("expected a malformed line")


#: What separates the fields of other files, and its name.
_OTHER_SEPARATORS = {b";": "semicolons", b",": "commas"}


def _width_remedy(line: Line, layout: LineFormat) -> str:
    """Return a remedy for a line with another number of fields, empty if none is known.

    The first of these that applies: other separators, a run in place of qrels or vice versa, a
    header, and what the layout itself says.
    """
    n_fields = len(line.fields)
    is_split = n_fields >= 3
    separators = _other_separators(line)
    if separators and not is_split:
        return (
            f"; with {separators} between the fields, the first line is a header, such as "
            "qid,docno,score"
        )
    hint = _mixed_up_hint(line, layout)
    if hint:
        return hint
    looks_like_header = line.number == 1 and not _has_digits(line.fields)
    if is_split and looks_like_header:
        return (
            "; if this is a header, write tabs or commas between the fields, and name two of "
            "them qid and docno"
        )
    return layout.remedy(line.fields)


def _mixed_up_hint(line: Line, layout: LineFormat) -> str:
    """Return a hint if a line has the fields of the lookalike of a format; empty if it has not.

    The lookalike of qrels is a run, and vice versa.
    """
    lookalike = layout.lookalike
    if lookalike is None or len(line.fields) != lookalike.n_fields:
        return ""
    # Qrels with several labels may have as many fields as a run.
    if _has_more_labels(line.fields, layout):
        return ""
    return lookalike_hint(lookalike.kind)


def _other_separators(line: Line) -> str:
    """Return the name of characters that may separate the fields of a line; empty without any."""
    for character, name in _OTHER_SEPARATORS.items():
        if line.content.count(character) >= 2:
            return name
    return ""


def _has_more_labels(fields: Sequence[bytes], layout: LineFormat) -> bool:
    """Return whether a line of qrels has several labels, which are whole numbers.

    A run has scores and a tag instead.
    """
    # The label is the last field of the format: further fields would be further labels.
    position_of_label = len(layout.fields) - 1
    labels = fields[position_of_label:]
    is_run = fields[1].upper() == b"Q0"
    if len(labels) < 2 or is_run:
        return False
    return all(label.removeprefix(b"-").isdigit() for label in labels)


def lookalike_hint(kind: str) -> str:
    """Return a hint for a file that looks like "qrels" or "a run", but was given as the other."""
    if kind == "qrels":
        hint = "; this looks like qrels, not a run"
    else:
        hint = "; this looks like a run, not qrels"
    if not in_shell():
        return hint
    option = parameter("qrels")
    if kind == "qrels":
        return f"{hint}: write {option} ASPECT=FILE for each aspect"
    return (
        f"{hint}: give runs after the other options, and qrels as {option} ASPECT=FILE for each "
        "aspect"
    )


_DIGIT = re.compile(rb"\d")


def _has_digits(fields: Sequence[bytes]) -> bool:
    """Return whether a field other than Q0 contains a digit."""
    for field in fields:
        is_q0 = field.upper() == b"Q0"
        if not is_q0 and _DIGIT.search(field):
            return True
    return False


def _number_remedy(line: Line, field: bytes) -> str:
    """Return a remedy for a line with a field that is not a number, empty if none is known."""
    has_numbers = any(value[:1].isdigit() for value in line.fields[1:])
    looks_like_header = line.number == 1 and not has_numbers
    if looks_like_header:
        return "; if this is a header, delete the line: TREC files have none"
    has_decimal_comma = re.fullmatch(rb"[+-]?\d+,\d+", field)  # such as 12,5
    if has_decimal_comma:
        return "; write decimals with a point, not with a comma"
    return ""


def excerpt(piece: bytes) -> str:
    """Return the beginning of a line or field in quotes, for an error message."""
    text = piece.decode("utf-8").strip()
    return repr(cut(text, 80))
