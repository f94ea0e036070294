"""Tables in text files: a header, and fields separated by tabs or commas."""

from __future__ import annotations

import csv
import io
import re

import pandas as pd

from ..collection.columns import beir_columns
from ..errors import MultiAspectError
from .file_contents import Text
from .trec_lines import LineFormat, NumberField, excerpt, is_whole, read_regular_lines

_LABEL = NumberField("a whole number", is_whole)


def first_line(text: Text) -> str:
    """Return the first line that is not empty."""
    return re.match(rb"[\r\n]*([^\r\n]*)", text.data)[1].decode()  # type: ignore[index]  # matches any text


def read_beir(text: Text) -> pd.DataFrame | None:
    """Read judgments as in BEIR: a header with query-id and corpus-id, and tabs; None for other files."""
    ids = beir_columns([re.sub(r'^"(.*)"$', r"\1", name) for name in first_line(text).split("\t")])
    if ids is None:
        return None
    frame = _read_plain_beir(text, *ids)
    if frame is not None:
        return frame
    frame = read_delimited(text, "\t")
    for column in ids:
        if (empty := frame[column] == "").any():
            row = "\t".join(frame[empty].iloc[0])
            raise MultiAspectError(f"{text.name}: expected a {column} in every line, got none in {row!r}")
    return frame


def _read_plain_beir(text: Text, query: str, document: str) -> pd.DataFrame | None:
    """Read judgments without quotes and further columns fast; None if there are any, or a line is malformed."""
    end = text.data.index(b"\n") + 1
    columns = text.data[:end].decode().rstrip("\r\n").split("\t")
    if sorted(columns) != sorted((query, document, "score")) or columns[0] == "score" or b'"' in text.data:
        return None
    ids = {columns.index(query): "qid", columns.index(document): "docno"}
    layout = LineFormat(tuple(columns), ids, {columns.index("score"): ("score", _LABEL)})
    lines = read_regular_lines(text.rest(end), layout)
    return None if lines is None else lines.frame().rename(columns={"qid": query, "docno": document})


def read_delimited(text: Text, separator: str, *, drop_index: bool = False) -> pd.DataFrame:
    """Read a table whose fields may be in quotes, as Python's module csv writes them.

    Parameters
    ----------
    text : Text
        The content of the file.
    separator : str
        The character between fields.
    drop_index : bool, default False
        Whether to leave out a first column without a name, by which pandas writes the index of a frame.

    Returns
    -------
    DataFrame
        Columns of strings, named by the header.

    Raises
    ------
    MultiAspectError
        If a line has more or fewer fields than the header, quotes do not surround a whole field, a field spans
        several lines, a column has no name, or semicolons separate the fields.
    """
    header_line = first_line(text)
    if ";" in header_line and separator not in header_line:
        raise MultiAspectError(
            f"{text.name}: expected commas or tabs between fields, got semicolons in the header "
            f"{excerpt(header_line.encode())}; write the table with commas, and decimals with points"
        )
    lines = csv.reader(io.StringIO(text.data.decode(), newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    end, fault = 0, ""
    try:
        for fields in lines:
            begin, end = end + 1, lines.line_num
            if begin != end:
                fault = "a field in quotes that spans several lines"
            elif rows and len(fields) not in (0, len(rows[0])):
                fault = f"{len(fields)} fields"
            if fault:
                break
            if fields:
                rows.append(fields)
    except csv.Error as error:
        fault = f"quotes that do not surround a whole field ({error})"
    if fault:
        line = text.data.split(b"\n", lines.line_num)[lines.line_num - 1]
        expected = f"{len(rows[0])} fields, as in the header" if rows else "a header"
        raise MultiAspectError(f"{text.name}:{lines.line_num}: expected {expected}, got {fault}: {excerpt(line)}")
    if not rows:
        raise MultiAspectError(f"{text.name}: the file is empty; expected a header and rows")
    header, *rows = rows
    if drop_index and not header[0]:
        header, rows = header[1:], [row[1:] for row in rows]
    if not all(header):
        raise MultiAspectError(
            f"{text.name}: expected a name for each column, got none for column {header.index('') + 1}; without "
            "index=False, pandas writes the index of a frame so"
        )
    return pd.DataFrame(rows, columns=header, dtype=object)
