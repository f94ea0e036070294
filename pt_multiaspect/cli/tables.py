"""Tables: for people in a terminal, and for programs everywhere else."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from .._rendering import printable
from .._writing import write_file
from ..errors import MultiAspectError, choices
from ..tables.latex import environment, escape

__all__ = ["DECIMALS", "FORMATS", "SUFFIXES", "Sheet", "chosen_format", "number", "write", "write_text"]

#: Names of the formats that can be printed.
FORMATS = ("table", "csv", "tsv", "json", "md", "tex")

#: The format of each kind of file.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".parquet": "parquet",
    ".tex": "tex",
    ".md": "md",
}

#: Decimals of the formats for people.
DECIMALS = 4

#: Column heads are broken into lines of about this width.
_HEAD = 16


@dataclass(frozen=True)
class Sheet:
    """A table in two forms.

    Parameters
    ----------
    frame : DataFrame
        The values in full precision, for programs.
    head : list of str
        The column heads for people.
    rows : list of list of str
        The cells for people.
    notes : list of str
        Sentences below the table.
    bold : set of (int, int)
        Rows and columns of the cells in bold.
    """

    frame: pd.DataFrame
    head: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    bold: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, frame: pd.DataFrame, notes: Sequence[str] = ()) -> Sheet:
        """Show a frame as it is, with four decimals."""
        rows = [[number(value) for value in row] for row in frame.itertuples(index=False, name=None)]
        return cls(frame, [str(column) for column in frame.columns], rows, list(notes))

    def printable(self) -> Sheet:
        """Return the table with blanks for control characters in what people read."""
        head, *rows = [[printable(cell, kept="") for cell in row] for row in [self.head, *self.rows]]
        return replace(self, head=head, rows=rows, notes=[printable(note, kept="") for note in self.notes])


def number(value: Any) -> str:
    """Return a value as shown to people: floats with four decimals."""
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "-"
    text = f"{value:.{DECIMALS}f}"
    return text if float(text) or not text.startswith("-") else text[1:]  # no -0.0000


def chosen_format(name: str | None, output: str | None) -> str:
    """Return the format that is asked for: by name, by the suffix of the file, or by where output goes.

    Raises
    ------
    MultiAspectError
        If the suffix of the file is unknown, or PyArrow, which writes Parquet files, is not installed.
    """
    if name is not None:
        return name
    if output is None:
        return "table" if sys.stdout.isatty() else "tsv"
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise MultiAspectError(
            f"--output: expected a file that ends in {choices(SUFFIXES)}, got {output}; use one, or --format"
        )
    if SUFFIXES[suffix] == "parquet" and find_spec("pyarrow") is None:
        raise MultiAspectError(
            "--output: writing Parquet files requires PyArrow, which is part of the extra parquet: "
            "pip install 'pt-multiaspect[parquet]'"
        )
    return SUFFIXES[suffix]


def write(sheet: Sheet, format: str, output: str | None) -> None:
    """Print a table, or write it to a file."""
    if format == "parquet":
        content = io.BytesIO()
        sheet.frame.to_parquet(content, engine="pyarrow", index=False)
        write_file(str(output), content.getvalue())
        return
    if format in ("table", "md", "tex"):
        sheet = sheet.printable()
    if format == "table" and output is None and sys.stdout.isatty():
        _draw(sheet)
        return
    write_text(_TEXTS[format](sheet), output)


def write_text(text: str, output: str | None) -> None:
    """Print a text, or write it to a file. It ends with a newline."""
    if not text.endswith("\n"):
        text += "\n"
    if output is None:
        print(text, end="")
    else:
        write_file(output, text)


def _csv(sheet: Sheet) -> str:
    return str(sheet.frame.to_csv(index=False, lineterminator="\n"))


def _tsv(sheet: Sheet) -> str:
    return str(sheet.frame.to_csv(index=False, lineterminator="\n", sep="\t"))


def _json(sheet: Sheet) -> str:
    # pandas would round to 15 digits
    frame = sheet.frame.astype(object)
    return json.dumps(frame.where(frame.notna(), None).to_dict("records"), indent=2) + "\n"


def _markdown(sheet: Sheet) -> str:
    lines = [sheet.head, ["---", *["---:"] * (len(sheet.head) - 1)], *sheet.rows]
    table = [f"| {' | '.join(re.sub('([|*_<`])', _escaped, cell) for cell in line)} |" for line in lines]
    return "\n".join([*table, *(f"\n{note}" for note in sheet.notes)]) + "\n"


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _latex(sheet: Sheet) -> str:
    lines = [" & ".join(escape(head) for head in sheet.head) + r" \\", r"\midrule"]
    for row, cells in enumerate(sheet.rows):
        texts = [escape(re.sub(r"^-(?=\d)", "−", cell)) for cell in cells]
        marked = [rf"\textbf{{{text}}}" if (row, at) in sheet.bold else text for at, text in enumerate(texts)]
        lines.append(" & ".join(marked) + r" \\")
    notes = [escape(note) for note in sheet.notes]
    return environment(len(sheet.head), lines, notes)


def _plain(sheet: Sheet) -> str:
    widths = [max(map(len, column)) for column in zip(sheet.head, *sheet.rows, strict=True)]
    lines = []
    for first, *others in [sheet.head, *sheet.rows]:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]).rstrip())
    return "\n".join([*lines, *(f"\n{note}" for note in sheet.notes)]) + "\n"


_TEXTS: dict[str, Callable[[Sheet], str]] = {
    "table": _plain,
    "csv": _csv,
    "tsv": _tsv,
    "json": _json,
    "md": _markdown,
    "tex": _latex,
}


def _draw(sheet: Sheet) -> None:
    """Draw a table in the terminal: columns that do not fit beside each other are put below."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    longest = [max((len(row[at]) for row in sheet.rows), default=0) for at in range(len(sheet.head))]
    heads = [broken(head, max(_HEAD, width)) for head, width in zip(sheet.head, longest, strict=True)]
    widths = [max(longest[at], *map(len, lines)) for at, lines in enumerate(heads)]
    first = min(widths[0], max(console.width // 3, 12))
    for number_of_block, columns in enumerate(blocks(first, widths, console.width)):
        if number_of_block:
            console.print()
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for at in columns:
            is_first = at == 0
            table.add_column(
                Text("\n".join(heads[at])),
                justify="left" if is_first else "right",
                overflow="fold",
                vertical="bottom",
                min_width=first if is_first else widths[at],
                max_width=first if is_first else widths[at],
            )
        for place, row in enumerate(sheet.rows):
            table.add_row(*(Text(row[at], "bold" if (place, at) in sheet.bold else "") for at in columns))
        console.print(table)
    for note in sheet.notes:
        console.print()
        console.print(Text(note))


def broken(head: str, width: int) -> list[str]:
    """Break a column head into lines, after punctuation and blanks where possible."""
    lines = [""]
    for part in re.findall(r"[^\s,(=:]*[\s,(=:]?", head):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.rstrip() for line in lines]


def blocks(first: int, widths: Sequence[int], room: int) -> list[list[int]]:
    """Divide the columns into tables that fit the room, each with the first column."""
    gap = 2
    result = [[0]]
    used = first
    for at, width in enumerate(widths[1:], 1):
        if len(result[-1]) > 1 and used + gap + width > room:
            result.append([0])
            used = first
        result[-1].append(at)
        used += gap + width
    return result
