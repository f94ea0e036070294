"""Blocks, in which results say what they show: headings, sentences, lists, code and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

#: What a cell stands out by: the best and second best value of a column, strong text, verdicts, a lack of emphasis.
Mark = Literal["", "best", "second", "strong", "holds", "ties", "fails", "muted"]

#: Letters as superscripts.
SUPERSCRIPTS = str.maketrans("abcdefghijklmnop", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ")


@dataclass(frozen=True)
class Heading:
    """A heading of a part."""

    kind: ClassVar = "heading"
    text: str


@dataclass(frozen=True)
class Sentence:
    """A paragraph, or an item of a list, with a tag such as a severity in front."""

    kind: ClassVar = "sentence"
    text: str
    tag: str = ""
    #: A printed measure or the like that ends the sentence.
    code: str = ""
    #: What text shows instead: what a * behind the best values means, which other forms show by bold type.
    in_text: str = ""


@dataclass(frozen=True)
class Code:
    """Code to paste: it is broken within brackets only."""

    kind: ClassVar = "code"
    text: str
    #: What stands around the code, such as an option of the command line with its quotes.
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
    #: Superscripts, one letter each, such as those of baselines from which a value differs.
    signs: str = ""
    #: What follows in smaller letters, such as an interval.
    after: str = ""

    @property
    def whole(self) -> str:
        """The text with all that follows it."""
        signs = self.signs.translate(SUPERSCRIPTS)
        return f"{self.text}{signs} {self.after}" if self.after else f"{self.text}{signs}"


@dataclass(frozen=True)
class Bar:
    """A bar in a table, as fractions of the width of its column."""

    length: float
    start: float = 0.0
    #: Where zero is, if there are bars on both sides of it.
    zero: float | None = None
    #: What the bar stands for, for readers that do not see it.
    label: str = ""


Cells: TypeAlias = "Sequence[Cell | Bar | str]"


@dataclass(frozen=True)
class Column:
    """A column of a table, and what may give where there is little room."""

    head: str
    left: bool = False
    #: Cells longer than this keep their beginning and their end where room is short; None never.
    shorten: int | None = None
    #: Columns of the highest number are left out first, all of them together; 0 stays.
    spare: int = 0
    #: Whether a line separates the column from the one before.
    separated: bool = False
    #: Whether text leaves it out, as bars of numbers that another column shows.
    redundant: bool = False
    #: The head that text shows instead, where other forms have room for a long one.
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
    #: Where the columns left out for lack of room are found, as in "`.ranks`".
    elsewhere: str = ""
    #: The largest number of rows that is drawn.
    most: int = 50
    notes: Sequence[Sentence] = field(default=())

    def all_rows(self) -> list[Row]:
        """Return all rows."""
        return [row if isinstance(row, Row) else Row(row) for row in self.rows]

    def drawn_rows(self) -> list[Row]:
        """Return the first rows, with how many are left out as the last."""
        rows = self.all_rows()[: self.most]
        hidden = len(self.rows) - len(rows)
        if hidden:
            rows.append(Row([f"… and {hidden} more"], span=len(self.columns)))
        return rows


Block: TypeAlias = Heading | Sentence | Code | Items | Table


def frame_table(frame: pd.DataFrame) -> Table:
    """Return a data frame without its index as a table; numbers have six digits."""
    rows = [
        [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
        for row in frame.itertuples(index=False, name=None)
    ]
    return Table(
        [Column(str(name), left=column == 0, shorten=12) for column, name in enumerate(frame.columns)], rows
    )


def bars(values: Sequence[float], labels: Sequence[str]) -> list[Bar]:
    """Return one bar per number, all on one scale, to the left of zero if the number is negative."""
    low, high = min([0.0, *values]), max([0.0, *values])
    width = (high - low) or 1.0
    zero = -low / width
    return [
        Bar(abs(value) / width, zero - max(-value, 0.0) / width, zero if low < 0 else None, label)
        for value, label in zip(values, labels, strict=True)
    ]
