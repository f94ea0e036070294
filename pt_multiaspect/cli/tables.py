"""Output of commands: readable tables for terminals, values in full precision for programs."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import pandas as pd
from pandas.api.types import is_numeric_dtype

from .._writing import write_file
from ..errors import MultiAspectError, choices
from ..views import Column, Sentence, Table, fixed_point, latex_of, markdown_of, text_of

#: Names of the formats that can be printed.
FORMATS = ("table", "csv", "tsv", "json", "md", "tex")

#: The format of each file suffix.
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".parquet": "parquet",
    ".tex": "tex",
    ".md": "md",
    ".txt": "table",
}

#: Decimals of the readable formats.
DECIMALS = 4

#: If a table is too wide, texts in cells are shortened in the middle.
_NAME = 12


@dataclass(frozen=True)
class Sheet:
    """A table in two forms.

    Parameters
    ----------
    frame : DataFrame
        The values in full precision, for programs.
    table : Table
        The cells and notes to be read.
    latex : callable, optional
        Returns the LaTeX code, if it shows a different table.
    """

    frame: pd.DataFrame
    table: Table
    latex: Callable[[], str] | None = None

    @classmethod
    def of(cls, frame: pd.DataFrame, notes: Sequence[str] = ()) -> Sheet:
        """Return the sheet of a frame; its readable form has four decimals."""
        rows = []
        for values in frame.itertuples(index=False, name=None):
            rows.append([format_value(value) for value in values])
        columns = []
        for position, head in enumerate(frame.columns):
            # Numbers stand at the right, but for those of the first column, which are names.
            is_text = position == 0 or not is_numeric_dtype(frame.dtypes.iloc[position])
            if is_text:
                columns.append(Column(str(head), left=True, shorten=_NAME))
            else:
                columns.append(Column(str(head), left=False, shorten=None))
        sentences = [Sentence(note) for note in notes]
        return cls(frame, Table(columns, rows, most=len(rows), notes=sentences))


def format_value(value: object) -> str:
    """Return the readable form of a value: floats with four decimals."""
    if isinstance(value, float):
        return fixed_point(value, DECIMALS)
    return str(value)


def choose_format(
    name: str | None, output: str | None, formats: Mapping[str, str] = SUFFIXES
) -> str:
    """Return the format given by name, by the suffix of the file, or by the kind of output.

    Parameters
    ----------
    name : str or None
        The value of --format.
    output : str or None
        The value of --output.
    formats : mapping of str to str
        The formats of a command by suffix.

    Returns
    -------
    str
        The format.

    Raises
    ------
    MultiAspectError
        If the suffix of the file is unknown, or PyArrow, which writes Parquet files, is not
        installed.
    """
    if name is not None:
        return name
    if output is None:
        return _printed_format(formats)
    suffix = Path(output).suffix.lower()
    if suffix not in formats:
        path_without_suffix, _ = os.path.splitext(output)
        other_suffix = next(iter(formats))
        remedy = f"write {path_without_suffix}{other_suffix}"
        if other_suffix == ".html":
            remedy += ", which browsers print as PDF"
        raise MultiAspectError(
            f"--output: expected a file that ends in {choices(formats)}, got {output}; {remedy}"
        )
    if formats[suffix] == "parquet" and find_spec("pyarrow") is None:
        raise MultiAspectError(
            "--output: writing Parquet files requires PyArrow, which is part of the extra parquet: "
            "pip install 'pt-multiaspect[parquet]'"
        )
    return formats[suffix]


def _printed_format(formats: Mapping[str, str]) -> str:
    """Return the format to print: a table if it is one and is printed in a terminal.

    `formats` are those of the files that the command writes, by suffix.
    """
    # A command whose result is a table writes it in all formats of tables, and perhaps in others.
    writes_tables = SUFFIXES.items() <= formats.items()
    if not writes_tables:
        return "text"
    if sys.stdout.isatty():
        return "table"
    return "tsv"


def write(shown: object, format: str, output: str | None) -> None:
    """Print a sheet, a result or a text, or write it to a file."""
    if isinstance(shown, Sheet) and format == "parquet":
        content = io.BytesIO()
        shown.frame.to_parquet(content, engine="pyarrow", index=False)
        write_file(str(output), content.getvalue())
        return
    is_in_terminal = output is None and sys.stdout.isatty()
    if isinstance(shown, Sheet) and format == "table" and is_in_terminal:
        width = shutil.get_terminal_size().columns
        text = text_of([shown.table], width, emphasis=True)
        # On Windows, Click translates the codes for bold text.
        click.echo(text, file=sys.stdout)
        return
    text = _text_in_format(shown, format)
    if not text.endswith("\n"):
        text += "\n"
    if output is None:
        print(text, end="")
    else:
        write_file(output, text)


def _text_in_format(shown: object, format: str) -> str:
    """Return a sheet as text in a format, a result as HTML or text, or a text."""
    if isinstance(shown, Sheet):
        return _TEXTS[format](shown)
    if format == "html" and hasattr(shown, "to_html"):
        return str(shown.to_html())
    return str(shown)


def _json(sheet: Sheet) -> str:
    """Return the rows of a sheet as JSON, in full precision; missing values are null."""
    # pandas' own JSON is rounded to 15 digits.
    frame = sheet.frame.astype(object)
    frame = frame.where(frame.notna(), None)
    return json.dumps(frame.to_dict("records"), indent=2)


def _latex(sheet: Sheet) -> str:
    """Return the LaTeX code of a sheet, by default that of its table."""
    if sheet.latex is not None:
        return sheet.latex()
    return latex_of(sheet.table)


#: The functions that return a sheet as text, by format.
_TEXTS: dict[str, Callable[[Sheet], str]] = {
    # One line per row, whatever its length, for tools that read lines.
    "table": lambda sheet: text_of([sheet.table], sys.maxsize),
    "csv": lambda sheet: str(sheet.frame.to_csv(index=False, lineterminator="\n")),
    "tsv": lambda sheet: str(sheet.frame.to_csv(index=False, lineterminator="\n", sep="\t")),
    "json": _json,
    "md": lambda sheet: markdown_of(sheet.table),
    "tex": _latex,
}
