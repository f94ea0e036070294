"""Tables in text files: a header, and commas, semicolons or tabs between fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

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

#: Names of columns of queries and documents in the header of runs and judgments.
_ID_COLUMNS = (*columns.FILE_QUERY_COLUMNS, *columns.FILE_DOCUMENT_COLUMNS)

#: Numbers as spreadsheets write them in many countries, such as -0,5.
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")

_WHOLE_NUMBER = re.compile(r"-?\d+")

#: Empty lines, and the first line that is not empty.
_FIRST_LINE = re.compile(rb"[\r\n]*([^\r\n]*)")


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
    """Read a run with all of its columns; scores and ranks are numbers, and other columns text.

    Scores stay text, too, if one of them is no number.
    """
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
    """Return a column of ranks as numbers; raise an error if one of them is not whole."""
    ranks = _as_floats(column)
    if ranks is not None and is_whole(ranks).all():
        return pd.Series(ranks, index=column.index).astype(np.int64)
    not_whole = [value for value in column if not _WHOLE_NUMBER.fullmatch(value)]
    raise MultiAspectError(
        f"{name}: rank: expected {WHOLE_NUMBER.expected} in every row, got {not_whole[0]!r}"
    )


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
    # A header with score is also that of judgments of BEIR.
    is_beir = columns.beir_columns(names) is not None
    if is_beir or "score" not in names:
        return None
    numbers = {"score": SCORE}
    if "rank" in names:
        numbers["rank"] = WHOLE_NUMBER
    return _read_plain(text, separator, names, numbers)


def read_judgment_table(text: Text, separator: str) -> pd.DataFrame:
    """Read judgments with all of their columns; labels are numbers, NaN where missing."""
    plain_frame = _read_plain_judgments(text, separator)
    if plain_frame is not None:
        return plain_frame
    frame = read_delimited(text, separator)
    _check_ids(text.name, frame, separator)
    for column in frame.columns:
        is_label = column not in _ID_COLUMNS and column not in columns.NOT_ASPECTS
        if is_label:
            _refuse_decimal_commas(text.name, frame[column])
            frame[column] = _read_label_cells(frame[column])
    return frame


def _read_plain_judgments(text: Text, separator: str) -> pd.DataFrame | None:
    """Read judgments fast; None if the table is not plain, or has other columns than labels."""
    names = _split_header(first_line(text), separator)
    ids = _id_columns(names)
    if ids is None:
        return None
    label_columns = [name for name in names if name not in _ID_COLUMNS]
    has_other_columns = not set(label_columns).isdisjoint(columns.NOT_ASPECTS)
    if has_other_columns:
        return None
    labels = dict.fromkeys(label_columns, LABEL)  # the numbers that each column accepts
    lines = _read_plain(text, separator, names, labels)
    if lines is None:
        return None
    # The frame has the ids as qid and docno; the header may name them query_id and doc_id.
    frame = lines.frame().rename(columns={"qid": ids.query, "docno": ids.document})
    return frame[names]


def _read_label_cells(column: pd.Series[str]) -> pd.Series[float] | pd.Series[str]:
    """Return cells as numbers, NaN where missing; if one is no number, texts, None where empty."""
    with_nan = column.replace("", "nan")
    labels = _as_floats(with_nan)  # None if a cell is no number
    if labels is not None:
        return pd.Series(labels, index=column.index)
    is_filled = column != ""
    return column.where(is_filled, None)


def _read_plain(
    text: Text, separator: str, names: Sequence[str], numbers: dict[str, NumberField]
) -> Columns | None:
    """Read a table fast, like TREC lines; None if it has quotes or blanks, or a line is malformed.

    Parameters
    ----------
    text : Text
        The content of the file.
    separator : str
        The character between fields.
    names : sequence of str
        The columns of the header.
    numbers : mapping of str to NumberField
        The columns that are numbers, and which ones they accept.
    """
    ids = _id_columns(names)
    has_repeated_names = len(set(names)) < len(names)
    if ids is None or has_repeated_names:
        return None
    # The reader of lines expects an identifier first.
    if names[0] in numbers:
        return None
    # Below, the rows begin after the first line, which is not the header if it is empty.
    first_newline = text.data.index(b"\n")
    if first_newline == 0:
        return None
    # Tabs replace the separators, so that a field must not contain tabs.
    has_tabs_in_fields = separator != "\t" and b"\t" in text.data
    has_quotes = b'"' in text.data
    if has_tabs_in_fields or has_quotes:
        return None

    layout = _table_layout(names, ids, numbers)
    header_end = first_newline + 1
    rows = text.starting_at(header_end)
    with_tabs = rows.data.replace(separator.encode(), b"\t")
    return read_regular_lines(Text(rows.name, with_tabs, rows.n_before), layout)


def _table_layout(
    names: Sequence[str], ids: _IdColumns, numbers: dict[str, NumberField]
) -> LineFormat:
    """Return the format of the rows of a table; its columns of ids get the names qid and docno."""
    query_position = names.index(ids.query)
    document_position = names.index(ids.document)
    numbers_by_position: dict[int, tuple[str, NumberField]] = {}
    for name, number_field in numbers.items():
        numbers_by_position[names.index(name)] = (name, number_field)
    return LineFormat(
        fields=tuple(names),
        ids={query_position: "qid", document_position: "docno"},
        numbers=numbers_by_position,
    )


class _IdColumns(NamedTuple):
    """The names of the columns of queries and documents."""

    query: str
    document: str


def _id_columns(names: Sequence[str]) -> _IdColumns | None:
    """Return the columns of queries and documents, None if one is missing or ambiguous."""
    queries = [name for name in names if name in columns.FILE_QUERY_COLUMNS]
    documents = [name for name in names if name in columns.FILE_DOCUMENT_COLUMNS]
    if len(queries) != 1 or len(documents) != 1:
        return None
    return _IdColumns(queries[0], documents[0])


def _check_ids(name: str, frame: pd.DataFrame, separator: str) -> None:
    """Raise an error for rows without a query or document."""
    for column in frame.columns:
        if column not in _ID_COLUMNS:
            continue
        is_empty = frame[column] == ""
        if is_empty.any():
            first_row = frame[is_empty].iloc[0]
            line = separator.join(first_row)
            raise MultiAspectError(
                f"{name}: expected a {column} in every line, got none in {line!r}"
            )


def _refuse_decimal_commas(name: str, column: pd.Series[str]) -> None:
    """Raise an error for a column of numbers some of which have decimal commas."""
    numbers_with_comma = [value for value in column if _DECIMAL_COMMA.fullmatch(value)]
    if not numbers_with_comma:
        return
    # A column of numbers can be read once commas are points and empty cells are nan. A column with
    # other texts cannot; it may contain commas.
    is_empty = column == ""
    cells = column.str.replace(",", ".").mask(is_empty, "nan")
    has_only_numbers = _as_floats(cells) is not None
    if has_only_numbers:
        got = numbers_with_comma[0]
        raise MultiAspectError(
            f"{name}: {column.name}: expected numbers with a decimal point, got {got!r}: "
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
    match = _FIRST_LINE.match(text.data)
    assert match is not None  # it matches any text
    return match[1].decode()


def read_beir(text: Text) -> pd.DataFrame | None:
    """Read judgments of BEIR: a header with query-id and corpus-id, and tabs; else None."""
    names = _split_header(first_line(text), "\t")
    ids = columns.beir_columns(names)
    if ids is None:
        return None
    query, document = ids
    plain_frame = _read_plain_beir(text, query, document)
    if plain_frame is not None:
        return plain_frame
    frame = read_delimited(text, "\t")
    _check_ids(text.name, frame, "\t")
    return frame


def _read_plain_beir(text: Text, query: str, document: str) -> pd.DataFrame | None:
    """Read judgments fast; None if there are quotes or other columns, or a line is malformed.

    `query` and `document` are the names of their columns.
    """
    header_end = text.data.index(b"\n") + 1
    header = text.data[:header_end].decode()
    names = header.rstrip("\r\n").split("\t")
    has_only_beir_columns = sorted(names) == sorted([query, document, "score"])
    if not has_only_beir_columns or b'"' in text.data:
        return None
    # The reader of lines expects an identifier first.
    if names[0] == "score":
        return None
    layout = _table_layout(names, _IdColumns(query, document), {"score": WHOLE_NUMBER})
    lines = read_regular_lines(text.starting_at(header_end), layout)
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
    _refuse_semicolons(text, separator)
    rows = _read_rows(text, separator)
    if not rows:
        raise MultiAspectError(f"{text.name}: the file is empty; expected a header and rows")
    header, *rows_after_header = rows
    if not header[0]:
        header[0] = columns.NO_NAME
    if not all(header):
        position = header.index("") + 1
        raise MultiAspectError(
            f"{text.name}: expected a name for each column, got none for column "
            f"{position}; without index=False, pandas writes the index of a frame so"
        )
    return pd.DataFrame(rows_after_header, columns=header, dtype=object)


def _refuse_semicolons(text: Text, separator: str) -> None:
    """Raise an error if the header has semicolons, and no separator, between its fields."""
    header_line = first_line(text)
    if ";" in header_line and separator not in header_line:
        header = excerpt(header_line.encode())
        raise MultiAspectError(
            f"{text.name}: expected commas or tabs between fields, got semicolons in the header "
            f"{header}; write the table with commas, and decimals with points"
        )


def _read_rows(text: Text, separator: str) -> list[list[str]]:
    """Return the fields of the header and of each row, which must be as many as in the header."""
    stream = io.StringIO(text.data.decode(), newline="")
    lines = csv.reader(stream, delimiter=separator, strict=True)
    rows: list[list[str]] = []
    last_line_number = 0
    try:
        for fields in lines:
            n_lines = lines.line_num - last_line_number
            last_line_number = lines.line_num
            if n_lines > 1:
                fault = "a field in quotes that spans several lines"
                raise _row_error(text, lines.line_num, rows, fault)
            is_blank = not fields
            if is_blank:
                continue
            if rows and len(fields) != len(rows[0]):
                fault = f"{len(fields)} fields"
                raise _row_error(text, lines.line_num, rows, fault)
            rows.append(fields)
    except csv.Error as error:
        fault = _csv_fault(error)
        raise _row_error(text, lines.line_num, rows, fault) from None
    return rows


def _csv_fault(error: csv.Error) -> str:
    """Return what a line has that the module csv cannot read."""
    if "field limit" in str(error):
        limit = csv.field_size_limit()
        return f"a field of more than {limit} characters"
    return f"quotes that do not surround a whole field ({error})"


def _row_error(text: Text, line_number: int, rows: list[list[str]], fault: str) -> MultiAspectError:
    """Return the error about a fault in a line; `rows` are those before it, the header first."""
    lines_to_fault = text.data.split(b"\n", line_number)
    line = excerpt(lines_to_fault[line_number - 1])
    if rows:
        header = rows[0]
        expected = f"{len(header)} fields, as in the header"
    else:
        expected = "a header"
    return MultiAspectError(f"{text.name}:{line_number}: expected {expected}, got {fault}: {line}")
