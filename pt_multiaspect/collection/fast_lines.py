"""The lines of a clean TREC file: fields are found by NumPy, and numbers are read by Polars if it is installed.

Together they are many times faster than Python's split. A file with anything doubtful is left to the reader in
`trec_lines`, which gives the same columns and explains what is malformed. Why Polars is no dependency: see
"Conventions" in CONTRIBUTING.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .texts import Texts

if TYPE_CHECKING:
    from .trec_lines import LineFormat, Text

__all__ = ["FastColumns", "read_fast"]

#: Number of bytes from which importing Polars pays.
_WORTHWHILE = 1 << 18

#: Number of bytes searched for separators at once, so that intermediate arrays stay in the processor's cache.
_SEARCHED = 1 << 19

_NEWLINE, _BLANK, _TAB = b"\n \t"


@dataclass(frozen=True, eq=False)
class FastColumns:
    """The columns of a file, by the names of its format."""

    _lines: _Lines
    #: The identifiers that were asked for: as bytes, and factorised (a code per line, and the distinct strings).
    texts: dict[str, Texts]
    codes: dict[str, tuple[Ints, NDArray[np.object_]]]
    numbers: dict[str, Floats]

    def frame(self) -> pd.DataFrame:
        """Return all identifiers as Python strings, and the numbers."""
        layout = self._lines.layout
        strings = self._lines.parsed(sorted(layout.ids))
        ids = {column: strings[str(position)].to_list() for position, column in layout.ids.items()}
        return pd.DataFrame({**ids, **self.numbers})


class _Doubtful(Exception):
    """Raised for lines that are left to the other reader."""


@dataclass(frozen=True)
class _Lines:
    """The lines of a file, in which a byte separates the fields."""

    text: Text
    layout: LineFormat
    separator: int

    def ends(self, begin: int, end: int) -> NDArray[np.int64]:
        """Where the fields of some lines end, shape (n_lines, n_fields).

        Raises
        ------
        _Doubtful
            Unless each line has as many fields as it should, none of which is empty, with a separator between them,
            and no other white space or control character.
        """
        block = np.frombuffer(self.text.data, dtype=np.uint8, count=end - begin, offset=begin)
        found = np.flatnonzero(block <= _BLANK)
        width = len(self.layout.fields)
        if len(found) % width or found[0] == 0 or (found[1:] - found[:-1]).min(initial=2) < 2:
            raise _Doubtful
        ends = found.reshape(-1, width)
        marks = block[ends]
        if np.any(marks[:, -1] != _NEWLINE) or np.any(marks[:, :-1] != self.separator):
            raise _Doubtful
        ends += begin
        return ends

    def numbers(self) -> dict[str, Floats]:
        """The numbers of each line.

        Raises
        ------
        _Doubtful
            If one of them is no number, or is not accepted.
        """
        from polars.exceptions import PolarsError

        expected = self.layout.numbers
        try:
            frame = self.parsed(sorted(expected))
        except PolarsError:
            raise _Doubtful from None
        if any(frame.null_count().row(0)):
            raise _Doubtful
        values = {column: frame[str(position)].to_numpy() for position, (column, _) in expected.items()}
        for column, number in expected.values():
            if np.isnan(values[column]).any() or not np.all(number.accepts(values[column])):
                raise _Doubtful
        return values

    def parsed(self, fields: Sequence[int]) -> Any:
        """Return a frame of Polars with some of the fields of lines, as numbers or strings."""
        import polars

        types = [
            polars.Float64 if position in self.layout.numbers else polars.String
            for position in range(len(self.layout.fields))
        ]
        return polars.read_csv(
            self.text.data,
            separator=chr(self.separator),
            has_header=False,
            quote_char=None,
            columns=list(fields),
            schema={str(position): each for position, each in enumerate(types)},
            truncate_ragged_lines=False,
        )


class _Column:
    """The places of the identifiers in a field of each line, or only of those that differ from the line before."""

    def __init__(self, position: int, *, only_changes: bool) -> None:
        self._position, self._only_changes = position, only_changes
        self._n_lines = 0
        self._lines: list[Ints] = []
        self._starts: list[NDArray[np.int64]] = []
        self._sizes: list[NDArray[np.int64]] = []

    def add(self, data: bytes, begin: int, ends: NDArray[np.int64]) -> None:
        """Add some lines, which begin at a byte and whose fields end at others."""
        start = np.append(begin, ends[:-1, -1] + 1) if self._position == 0 else ends[:, self._position - 1] + 1
        size = ends[:, self._position] - start
        if self._only_changes:
            heads = Texts.within(data, start, size).heads()
            self._lines.append(self._n_lines + heads)
            start, size = start[heads], size[heads]
        self._n_lines += len(ends)
        self._starts.append(start)
        self._sizes.append(size)

    def texts(self, data: bytes) -> Texts:
        """Return the identifiers."""
        return Texts.within(data, np.concatenate(self._starts), np.concatenate(self._sizes))

    def codes(self, data: bytes) -> tuple[Ints, NDArray[np.object_]]:
        """Factorise the identifiers: a code per line, and the distinct strings."""
        codes, distinct = self.texts(data).codes()
        lines = np.append(np.concatenate(self._lines), self._n_lines)
        return np.repeat(codes, lines[1:] - lines[:-1]), distinct.decode()


def read_fast(
    text: Text, layout: LineFormat, texts: Sequence[str] = (), codes: Sequence[str] = ()
) -> FastColumns | None:
    """Read a file, or return None if Polars is not installed or the file is not clean throughout.

    Parameters
    ----------
    text : Text
        The content of the file.
    layout : LineFormat
        The fields of a line.
    texts, codes : sequence of str
        The identifiers to return as bytes, and factorised.
    """
    if len(text.data) < _WORTHWHILE or find_spec("polars") is None:
        return None
    first_line = text.data[: text.data.index(b"\n")]
    if first_line.endswith(b"\r"):
        text = text.with_newlines()
    data, lines = text.data, _Lines(text, layout, _TAB if b"\t" in first_line else _BLANK)
    positions = {column: position for position, column in layout.ids.items()}
    columns = {column: _Column(positions[column], only_changes=column in codes) for column in (*texts, *codes)}
    try:
        for begin, end in text.blocks(_SEARCHED):
            ends = lines.ends(begin, end)
            for column in columns.values():
                column.add(data, begin, ends)
        numbers = lines.numbers()
    except _Doubtful:
        return None
    return FastColumns(
        lines,
        {column: columns[column].texts(data) for column in texts},
        {column: columns[column].codes(data) for column in codes},
        numbers,
    )
