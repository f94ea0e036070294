"""Blocks, the content of results: headings, sentences, lists, code and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from .numbers import decimals, interval_text, with_minus

if TYPE_CHECKING:
    import pandas as pd

#: Emphasis of cells: best and second best value of a column, strong text, verdicts, reduced
#: emphasis.
Mark = Literal["", "best", "second", "strong", "holds", "fails", "muted"]

#: Letters as superscripts.
SUPERSCRIPTS = str.maketrans("abcdefghijklmnop", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ")


@dataclass(frozen=True)
class Heading:
    """A heading."""

    kind: ClassVar = "heading"
    text: str


@dataclass(frozen=True)
class Sentence:
    """A paragraph, or an item of a list, optionally preceded by a tag such as a severity."""

    kind: ClassVar = "sentence"
    text: str
    tag: str = ""
    #: Code, such as a printed measure, at the end of the sentence.
    code: str = ""
    #: The replacement in text, for example to explain the * after best values, which are bold in
    #: other formats.
    in_text: str = ""


@dataclass(frozen=True)
class Code:
    """Code to paste, which is broken within brackets only."""

    kind: ClassVar = "code"
    text: str
    #: The text around the code, such as a command-line option with its quotes.
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Items:
    """A list of blocks, each item one or more of them."""

    kind: ClassVar = "items"
    items: Sequence[Sequence[Sentence | Code]]
    numbered: bool = False


@dataclass(frozen=True)
class Cell:
    """A text in a table."""

    text: str
    mark: Mark = ""
    #: Superscripts of one letter each, such as those of baselines from which a value differs.
    signs: str = ""
    #: Text that follows in smaller letters, such as an interval.
    after: str = ""

    @property
    def whole(self) -> str:
        """The text with everything that follows it."""
        signs = self.signs.translate(SUPERSCRIPTS)
        if self.after:
            return f"{self.text}{signs} {self.after}"
        return f"{self.text}{signs}"


@dataclass(frozen=True)
class Bar:
    """A bar in a table, as fractions of the width of its column."""

    length: float
    start: float = 0.0
    #: The position of zero, if there are bars on both sides of it.
    zero: float | None = None
    #: A description of the bar for screen readers.
    label: str = ""


Cells: TypeAlias = "Sequence[Cell | Bar | str]"


@dataclass(frozen=True)
class Column:
    """A column of a table, and its options if there is too little space."""

    head: str
    left: bool = False
    #: The length above which cells are shortened in the middle if there is too little space; None
    #: for never.
    shorten: int | None = None
    #: The order of omission: columns with the highest number are left out first, together; 0 for
    #: never.
    spare: int = 0
    #: Whether text omits it, such as bars of numbers that another column shows.
    redundant: bool = False
    #: A shorter head for text.
    in_text: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table, whose first cell may span several columns."""

    cells: Cells
    span: int = 1


@dataclass(frozen=True)
class Table:
    """Columns and rows; heads over several columns are `groups` of (text, number of columns)."""

    kind: ClassVar = "table"
    columns: Sequence[Column]
    rows: Sequence[Row | Cells]
    groups: Sequence[tuple[str, int]] = ()
    #: The place of columns that are left out for lack of space, as in "`.ranks`".
    elsewhere: str = ""
    #: The maximum number of rows that are drawn.
    most: int = 50
    notes: Sequence[Sentence] = field(default=())

    def all_rows(self) -> list[Row]:
        """Return all rows as `Row`."""
        rows = []
        for row in self.rows:
            if isinstance(row, Row):
                rows.append(row)
            else:
                rows.append(Row(row))
        return rows

    def drawn_rows(self) -> list[Row]:
        """Return the first rows, and a last one with the number of omitted rows."""
        rows = self.all_rows()[: self.most]
        n_omitted = len(self.rows) - len(rows)
        if n_omitted:
            last_row = Row([f"… and {n_omitted} more"], span=len(self.columns))
            rows.append(last_row)
        return rows

    def bracket_widths(self) -> list[int]:
        """Return the length of the longest text after a number of each column, 0 without one."""
        widths = [0] * len(self.columns)
        for row in self.all_rows():
            spans_columns = len(row.cells) != len(self.columns)
            if spans_columns:
                continue
            for column, cell in enumerate(row.cells):
                if isinstance(cell, Cell):
                    widths[column] = max(widths[column], len(cell.after))
        return widths


Block: TypeAlias = Heading | Sentence | Code | Items | Table


def frame_table(frame: pd.DataFrame) -> Table:
    """Return a data frame without its index as a table; numbers have six digits."""
    columns = []
    for position, name in enumerate(frame.columns):
        is_first = position == 0
        columns.append(Column(str(name), left=is_first, shorten=12))
    rows = []
    for row in frame.itertuples(index=False, name=None):
        cells = list(map(_six_digits, row))
        rows.append(cells)
    return Table(columns, rows)


def _six_digits(value: object) -> str:
    """Return a value as text, numbers with six digits."""
    if isinstance(value, float):
        return with_minus(f"{value:.6g}")
    return str(value)


def records_table(
    frame: pd.DataFrame,
    names: Sequence[str],
    cells: Mapping[str, str | Callable[[Any], Cell | str]],
    *,
    most: int | None = None,
) -> Table:
    """Return a table with one row per row of a frame: its names, then its numbers and flags.

    Parameters
    ----------
    frame : DataFrame
        The rows.
    names : sequence of str
        The first columns, of those that the frame has.
    cells : mapping of str to str or callable
        By head, the column of the numbers or of the flags, or a function of the row.
    most : int, optional
        The maximum number of rows that are drawn, by default all.
    """
    names = [name for name in names if name in frame]
    columns = [Column(name, left=True, shorten=12) for name in names]
    columns += map(Column, cells)
    rows = []
    for record in frame.to_dict("records"):
        row: list[Cell | str] = [str(record[name]) for name in names]
        for column_or_function in cells.values():
            if callable(column_or_function):
                value = column_or_function(record)
            else:
                value = record[column_or_function]
            row.append(_cell(value))
        rows.append(row)
    if most is None:
        most = len(rows)
    return Table(columns, rows, most=most)


def _cell(value: object) -> Cell | str:
    """Return the cell of a number, a flag or a text; a cell as it is."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return decimals(value)
    return str(value)


def with_interval(row: Any, value: str, low: str = "low", high: str = "high") -> Cell:
    """Return the cell of a number and, unless unknown, its interval.

    Parameters
    ----------
    row : mapping of str to float
        The row.
    value, low, high : str
        The columns of the number and of the ends of its interval.
    """
    number = decimals(row[value])
    interval = interval_text(row[low], row[high])
    return Cell(number, after=interval)


def bars(values: Sequence[float]) -> list[Bar]:
    """Return one bar per number, all on one scale.

    Bars of negative numbers are to the left of zero. Lengths and starts are fractions of the width
    of the scale.
    """
    # The scale contains zero, from which bars begin.
    low = min([0.0, *values])
    high = max([0.0, *values])
    width = high - low
    if width == 0:  # all are 0
        width = 1.0
    zero = -low / width
    has_negative_values = low < 0
    drawn_bars = []
    for value in values:
        label = decimals(value)
        length = abs(value) / width
        # The bar of a negative number ends at zero; others start there.
        start = zero
        if value < 0:
            start = zero - length
        if has_negative_values:
            bar = Bar(length, start, zero, label)
        else:
            bar = Bar(length, start, label=label)
        drawn_bars.append(bar)
    return drawn_bars
