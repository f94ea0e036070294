"""Tables in text files: a header, and commas, semicolons or tabs between fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from .._typing import Floats
from ..collection import columns
from ..errors import MultiAspectError
from .file_contents import Text
from .trec_lines import (
    LABEL,
    SCORE,
    WHOLE_NUMBER,
    Columns,
    LineFormat,
    NumberField,
    excerpt,
    is_whole,
    read_regular_lines,
)

#: Characters between the fields of tables.
_SEPARATORS = ("\t", ";", ",")

#: Names of columns in the header of runs and judgments.
_QUERIES, _DOCUMENTS = columns.FILE_QUERY_COLUMNS, columns.FILE_DOCUMENT_COLUMNS

#: Numbers as spreadsheets write them in many countries.
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")

#: Cells without a label.
_MISSING = ("", "nan", "NaN")


def find_separator(text: Text) -> str | None:
    """Return the character between fields, None if there is no header of a run or judgments."""
    line = first_line(text)
    for separator in _SEPARATORS:
        if columns.has_ids(_split_header(line, separator)):
            return separator
    return None


def _split_header(line: str, separator: str) -> list[str]:
    """Return the names in a header, without quotes."""
    return [re.sub(r'^"(.*)"$', r"\1", name) for name in line.split(separator)]


def read_run_table(text: Text, separator: str) -> pd.DataFrame:
    """Read a run with all of its columns; scores and ranks are numbers, and other columns text."""
    frame = read_delimited(text, separator).drop(columns=columns.NO_NAME, errors="ignore")
    _check_ids(text.name, frame, separator)
    for column in ("score", "rank"):
        if column in frame.columns:
            _refuse_decimal_commas(text.name, frame[column])
    if "score" in frame.columns:
        scores = _as_floats(frame["score"])
        if scores is not None:
            frame["score"] = scores
    if "rank" in frame.columns:
        frame["rank"] = _read_ranks(text.name, frame["rank"])
    return frame


def _read_ranks(name: str, column: pd.Series[str]) -> pd.Series[int]:
    ranks = _as_floats(column)
    if ranks is None or not is_whole(ranks).all():
        wrong = next(value for value in column if not re.fullmatch(r"-?\d+", value))
        raise MultiAspectError(
            f"{name}: rank: expected {WHOLE_NUMBER.expected} in every row, got {wrong!r}"
        )
    return pd.Series(ranks, index=column.index).astype(np.int64)


def read_plain_run(text: Text, separator: str) -> Columns | None:
    """Read the queries, documents, scores and ranks of a run fast.

    Parameters
    ----------
    text : Text
        The content of the file.
    separator : str
        The character between fields.

    Returns
    -------
    Columns or None
        None if a field is in quotes or contains blanks, or a line is malformed.
    """
    names = _split_header(first_line(text), separator)
    if "score" not in names or columns.beir_columns(names) is not None:
        return None
    numbers = {"score": SCORE}
    if "rank" in names:
        numbers["rank"] = WHOLE_NUMBER
    return _read_plain(text, separator, names, numbers)


def read_judgment_table(text: Text, separator: str) -> pd.DataFrame:
    """Read judgments with all of their columns; labels are numbers, NaN where missing."""
    names = _split_header(first_line(text), separator)
    others = [name for name in names if name not in (*_QUERIES, *_DOCUMENTS)]
    ids = _id_columns(names)
    if ids is not None and not set(others) & set(columns.NOT_ASPECTS):
        lines = _read_plain(text, separator, names, dict.fromkeys(others, LABEL))
        if lines is not None:
            query, document = ids
            return lines.frame().rename(columns={"qid": query, "docno": document})[names]
    frame = read_delimited(text, separator)
    _check_ids(text.name, frame, separator)
    for column in frame.columns:
        if column not in (*_QUERIES, *_DOCUMENTS, *columns.NOT_ASPECTS):
            _refuse_decimal_commas(text.name, frame[column])
            frame[column] = _read_label_cells(frame[column])
    return frame


def _read_label_cells(column: pd.Series[str]) -> pd.Series[float] | pd.Series[str]:
    """Return cells as numbers, NaN where empty, or unchanged if one of them is no number."""
    cells = column.where(~column.isin(_MISSING), "nan")
    labels = _as_floats(cells)
    if labels is None:
        return column.where(column != "", None)
    return pd.Series(labels, index=column.index)


def _read_plain(
    text: Text, separator: str, names: Sequence[str], numbers: dict[str, NumberField]
) -> Columns | None:
    """Read a table fast; None if it has quotes or blanks, or a line is malformed."""
    ids = _id_columns(names)
    end = text.data.index(b"\n") + 1
    is_plain = (
        len(set(names)) == len(names)
        and ids is not None
        and names[0] not in numbers
        and end > 1
        and b'"' not in text.data
        and (separator == "\t" or b"\t" not in text.data)
    )
    if ids is None or not is_plain:
        return None
    query, document = ids
    layout = LineFormat(
        fields=tuple(names),
        ids={names.index(query): "qid", names.index(document): "docno"},
        numbers={names.index(name): (name, number) for name, number in numbers.items()},
    )
    rows = text.rest(end)
    with_tabs = Text(rows.name, rows.data.replace(separator.encode(), b"\t"), rows.n_before)
    return read_regular_lines(with_tabs, layout)


def _id_columns(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of queries and documents, None if one is missing or ambiguous."""
    queries = [name for name in names if name in _QUERIES]
    documents = [name for name in names if name in _DOCUMENTS]
    if len(queries) != 1 or len(documents) != 1:
        return None
    return queries[0], documents[0]


def _check_ids(name: str, frame: pd.DataFrame, separator: str) -> None:
    """Raise an error for rows without a query or document."""
    for column in frame.columns:
        if column in (*_QUERIES, *_DOCUMENTS):
            is_empty = frame[column] == ""
            if is_empty.any():
                row = separator.join(frame[is_empty].iloc[0])
                raise MultiAspectError(
                    f"{name}: expected a {column} in every line, got none in {row!r}"
                )


def _refuse_decimal_commas(name: str, column: pd.Series[str]) -> None:
    """Raise an error for a column of numbers some of which have decimal commas."""
    commas = [value for value in column if _DECIMAL_COMMA.fullmatch(value)]
    if not commas:
        return
    with_points = column.str.replace(",", ".").where(column != "", "nan")
    if _as_floats(with_points) is not None:
        raise MultiAspectError(
            f"{name}: {column.name}: expected numbers with a decimal point, got {commas[0]!r}: "
            "write decimals with "
            "a point, as in pandas.read_csv(…, sep=';', decimal=',').to_csv(…, index=False)"
        )


def _as_floats(column: pd.Series[str]) -> Floats | None:
    """Return text as numbers, None if one of the texts is no number."""
    try:
        values = np.array([float(value) for value in column], dtype=np.float64)
    except ValueError:
        return None
    # float() also accepts 1_000, which other tools do not read as a number.
    if any("_" in value for value in column):
        return None
    return values


def first_line(text: Text) -> str:
    """Return the first line that is not empty."""
    match = re.match(rb"[\r\n]*([^\r\n]*)", text.data)
    assert match is not None  # it matches any text
    return match[1].decode()


def read_beir(text: Text) -> pd.DataFrame | None:
    """Read judgments of BEIR: a header with query-id and corpus-id, and tabs; else None."""
    ids = columns.beir_columns(_split_header(first_line(text), "\t"))
    if ids is None:
        return None
    frame = _read_plain_beir(text, *ids)
    if frame is not None:
        return frame
    frame = read_delimited(text, "\t")
    _check_ids(text.name, frame, "\t")
    return frame


def _read_plain_beir(text: Text, query: str, document: str) -> pd.DataFrame | None:
    """Read judgments fast; None if there are quotes or other columns, or a line is malformed."""
    end = text.data.index(b"\n") + 1
    fields = text.data[:end].decode().rstrip("\r\n").split("\t")
    if (
        sorted(fields) != sorted((query, document, "score"))
        or fields[0] == "score"
        or b'"' in text.data
    ):
        return None
    ids = {fields.index(query): "qid", fields.index(document): "docno"}
    layout = LineFormat(tuple(fields), ids, {fields.index("score"): ("score", WHOLE_NUMBER)})
    lines = read_regular_lines(text.rest(end), layout)
    if lines is None:
        return None
    return lines.frame().rename(columns={"qid": query, "docno": document})


def read_delimited(text: Text, separator: str) -> pd.DataFrame:
    """Read a table whose fields may be in quotes, as Python's module csv writes them.

    Parameters
    ----------
    text : Text
        The content of the file.
    separator : str
        The character between fields.

    Returns
    -------
    DataFrame
        Columns of strings, named by the header. A first column without a name, as pandas writes an
        index, has the name NO_NAME.

    Raises
    ------
    MultiAspectError
        If a line has more or fewer fields than the header, quotes do not surround a whole field, a
        field spans several lines, a column has no name, or semicolons separate the fields.
    """
    header_line = first_line(text)
    if ";" in header_line and separator not in header_line:
        raise MultiAspectError(
            f"{text.name}: expected commas or tabs between fields, got semicolons in the header "
            f"{excerpt(header_line.encode())}; write the table with commas, and decimals with "
            "points"
        )
    lines = csv.reader(
        io.StringIO(text.data.decode(), newline=""), delimiter=separator, strict=True
    )
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
        if "field limit" in str(error):
            fault = f"a field of more than {csv.field_size_limit()} characters"
    if fault:
        line = text.data.split(b"\n", lines.line_num)[lines.line_num - 1]
        if rows:
            expected = f"{len(rows[0])} fields, as in the header"
        else:
            expected = "a header"
        raise MultiAspectError(
            f"{text.name}:{lines.line_num}: expected {expected}, got {fault}: {excerpt(line)}"
        )
    if not rows:
        raise MultiAspectError(f"{text.name}: the file is empty; expected a header and rows")
    header, *rows = rows
    if not header[0]:
        header[0] = columns.NO_NAME
    if not all(header):
        raise MultiAspectError(
            f"{text.name}: expected a name for each column, got none for column "
            f"{header.index('') + 1}; without index=False, pandas writes the index of a frame so"
        )
    return pd.DataFrame(rows, columns=header, dtype=object)
