"""Tables in files: Parquet, read by PyArrow, and text with a header and tabs or commas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..collection import Run, columns
from ..collection.frames import as_frame, is_saved_index
from ..collection.run import name_run_in_errors
from ..errors import MultiAspectError, choices
from ..strings.identifiers import identifiers
from .file_contents import Text
from .trec_lines import WHOLE_NUMBER, LineFormat, excerpt, lookalike_hint, read_regular_lines

#: The first bytes of Parquet files.
_PARQUET = b"PAR1"


def read_parquet(name: str, data: bytes) -> Any:
    """Read a Parquet file.

    Parameters
    ----------
    name : str
        Name of the file in errors.
    data : bytes
        The content.

    Returns
    -------
    pyarrow.Table or None
        None if it is a file of another format.

    Raises
    ------
    MultiAspectError
        If the file is damaged, or PyArrow is not installed.
    """
    if not data.startswith(_PARQUET):
        return None
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MultiAspectError(
            f"{name}: reading Parquet files requires PyArrow, which is part of the extra parquet: "
            "pip install 'pt-multiaspect[parquet]'"
        ) from error
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(data), use_threads=False)
        # Without this, damaged offsets cause a crash or remain unnoticed.
        table.validate(full=True)
    except Exception as error:  # PyArrow has several classes of errors
        raise MultiAspectError(f"{name}: a damaged Parquet file: {' '.join(str(error).split())}") from error
    kept = [position for position, column in enumerate(table.column_names) if not is_saved_index(column)]
    # Without the metadata of pandas, which would restore a column as index. Saved indexes are not labels.
    return table.replace_schema_metadata(None).select(kept)


def run_of_table(name: str, table: Any, others: Sequence[str] = ()) -> Run:
    """Return the run of a file's table with further columns; the errors name the file."""
    with name_run_in_errors(name):
        run = Run.of(table, others)
    if not len(run):
        raise MultiAspectError(f"{name}: the file is empty; expected rows with qid, docno and score")
    return run


def frame_of_run(name: str, table: Any) -> pd.DataFrame:
    """Return the run of a file's table as a frame: qid, docno, score, and the other columns of the file."""
    ids_and_scores = (*columns.RUN_QUERY_COLUMNS, *columns.DOCUMENT_COLUMNS, "score")
    others = [column for column in as_frame(table, name).columns if column not in ids_and_scores]
    run = run_of_table(name, table, others)
    result = run.to_pandas().rename(columns={"query_id": "qid", "doc_id": "docno"})
    first = [column for column in ("qid", "docno", "rank", "score", "name") if column in result.columns]
    return result[[*first, *(column for column in result.columns if column not in first)]]


def labels_of_table(
    name: str, table: Any, by_aspect: Mapping[str, str] | None, *, one_of_several: bool = False
) -> pd.DataFrame:
    """Return the judgments of a file's table: qid, docno and label columns.

    Parameters
    ----------
    name : str
        Name of the file in errors.
    table : pyarrow.Table or DataFrame
        Its content.
    by_aspect : mapping of str to str, or None
        The column of the result for each aspect. An aspect is read from its own column in the file or, if it is the
        only one, from the column label or relevance. With None, all columns are kept; columns of subtopics only if
        a query has several values. With aspects, these are kept only if a pair has several values.
    one_of_several : bool, default False
        Whether this is one of the files of several aspects, which cannot be judged by subtopic.

    Returns
    -------
    DataFrame
        Labels are float64, NaN where missing. Rows that repeat a pair with equal labels are omitted.

    Raises
    ------
    MultiAspectError
        If a column is missing, a label is not a finite number, or a pair has different labels; if a pair of one of
        several files has several subtopics.
    """
    with name_run_in_errors(name):
        frame = columns.rename_beir_columns(as_frame(table, name), name)
    columns.check_distinct_columns(frame, name)
    query = columns.id_column(frame, columns.QUERY_COLUMNS, name)
    document = columns.id_column(frame, columns.DOCUMENT_COLUMNS, name)
    if not len(frame):
        raise MultiAspectError(f"{name}: the file is empty; expected rows with qid, docno and labels")
    rows = pd.DataFrame({"qid": identifiers(query, name), "docno": identifiers(document, name)})
    if by_aspect is None:
        names = [column for column in frame.columns if column not in columns.NOT_ASPECTS]
        label_columns = {column: "label" if column == "relevance" else column for column in names}
    else:
        label_columns = {
            _column_of(name, frame, aspect, len(by_aspect) == 1): column for aspect, column in by_aspect.items()
        }
    if not label_columns or len(set(label_columns.values())) < len(label_columns):
        raise MultiAspectError(
            f"{name}: expected label columns, at most one of them label or relevance, got the columns "
            f"{choices(frame.columns)}"
        )
    for source, column in label_columns.items():
        if by_aspect is not None or columns.is_numeric(frame[source]):
            rows[column] = _read_finite_labels(name, frame[source], rows)
        else:
            rows[column] = frame[source].to_numpy()
    keys = ["qid", "docno"]
    # Subtopics differ within a query; an iteration without meaning is constant.
    judged = rows[keys[:1] if by_aspect is None else keys]
    for column in columns.SUBTOPIC_COLUMNS:
        if column in frame.columns:
            values = judged.assign(value=frame[column].to_numpy(dtype=object)).drop_duplicates()
            several = values.duplicated([*judged.columns])
            if several.any():
                if one_of_several:
                    qid, docno, _ = values[several].iloc[0]
                    raise MultiAspectError(
                        f"{name}: expected one row for query {qid}, document {docno}, got several values of "
                        f"{column}. {columns.ALONE_BY_SUBTOPIC}"
                    )
                rows[column] = identifiers(frame[column], name)
                keys.append(column)
    if rows.duplicated(keys).any():
        rows = rows.drop_duplicates(ignore_index=True)
        twice = rows.duplicated(keys)
        if twice.any():
            qid, docno = rows.loc[twice, ["qid", "docno"]].iloc[0]
            raise MultiAspectError(
                f"{name}: expected one row for query {qid}, document {docno}, got different labels"
            )
    return rows


def _column_of(name: str, frame: pd.DataFrame, aspect: str, is_alone: bool) -> str:
    """Return the column of a file that has the labels of an aspect."""
    usual = ("label", "relevance") if is_alone or aspect in ("label", "relevance") else ()
    candidates = [column for column in dict.fromkeys((aspect, *usual)) if column in frame.columns]
    if not candidates or (len(candidates) > 1 and candidates[0] != aspect):
        got = choices(candidates or frame.columns)
        looks = lookalike_hint("a run") if not candidates and "score" in frame.columns else ""
        raise MultiAspectError(f"{name}: expected one column for the aspect {aspect}, got the columns {got}{looks}")
    return str(candidates[0])


def _read_finite_labels(name: str, column: pd.Series[Any], rows: pd.DataFrame) -> Any:
    values = columns.read_labels(column)
    faulty = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
    if len(faulty):
        qid, docno = rows.iloc[int(faulty[0])][["qid", "docno"]]
        raise MultiAspectError(
            f"{name}: {column.name}: expected a finite number (or a missing value for no judgment), got "
            f"{column.iloc[int(faulty[0])]} (query {qid}, document {docno})"
        )
    return values


def first_line(text: Text) -> str:
    """Return the first line that is not empty."""
    return re.match(rb"[\r\n]*([^\r\n]*)", text.data)[1].decode()  # type: ignore[index]  # matches any text


def read_beir(text: Text) -> pd.DataFrame | None:
    """Read judgments as in BEIR: a header with query-id and corpus-id, and tabs; None for other files."""
    ids = columns.beir_columns([re.sub(r'^"(.*)"$', r"\1", name) for name in first_line(text).split("\t")])
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
    fields = text.data[:end].decode().rstrip("\r\n").split("\t")
    if sorted(fields) != sorted((query, document, "score")) or fields[0] == "score" or b'"' in text.data:
        return None
    ids = {fields.index(query): "qid", fields.index(document): "docno"}
    layout = LineFormat(tuple(fields), ids, {fields.index("score"): ("score", WHOLE_NUMBER)})
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
