"""Parquet and Arrow files, read by PyArrow."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..collection.columns import (
    ALONE_BY_SUBTOPIC,
    DOCUMENT_COLUMNS,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    RUN_QUERY_COLUMNS,
    SUBTOPIC_COLUMNS,
    check_distinct_columns,
    id_column,
    is_numeric,
    read_labels,
    rename_beir_columns,
)
from ..collection.frames import as_frame, is_saved_index
from ..collection.run import Run, name_run_in_errors
from ..errors import MultiAspectError, choices
from ..strings.identifiers import identifiers

#: The first bytes of files.
_FORMS = {"Parquet": b"PAR1", "Arrow": b"ARROW1", "Arrow stream": b"\xff\xff\xff\xff", "Feather 1": b"FEA1"}

#: The last bytes of a stream.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def read_arrow(name: str, data: bytes) -> Any:
    """Read a Parquet or Arrow (Feather) file, or an Arrow stream.

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
    form = next((form for form, magic in _FORMS.items() if data.startswith(magic)), None)
    if form is None:
        return None
    if form == "Feather 1":
        raise MultiAspectError(
            f"{name}: expected a Feather file of version 2, got version 1: save it again, or as Parquet"
        )
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise MultiAspectError(
            f"{name}: reading {form} files requires PyArrow, which is part of the extra parquet: "
            "pip install 'pt-multiaspect[parquet]'"
        ) from error
    try:
        if form == "Parquet":
            table = pyarrow.parquet.read_table(io.BytesIO(data), use_threads=False)
        elif form == "Arrow":
            table = pyarrow.ipc.open_file(data).read_all()
        elif data.endswith(_END):
            table = _read_streams(pyarrow, data)
        else:
            raise ValueError("it has no end; copy or download it again")
        # Without this, damaged offsets cause a crash or remain unnoticed.
        table.validate(full=True)
        kept = [position for position, column in enumerate(table.column_names) if not is_saved_index(column)]
        # Without the metadata of pandas, which would restore a column as index. Saved indexes are not labels.
        return table.replace_schema_metadata(None).select(kept)
    except Exception as error:  # PyArrow has several classes of errors
        raise MultiAspectError(f"{name}: a damaged {form} file: {' '.join(str(error).split())}") from error


def _read_streams(pyarrow: Any, data: bytes) -> Any:
    """Read Arrow streams one after another, which are parts of one table."""
    source, parts = io.BytesIO(data), []
    while source.tell() < len(data):
        parts.append(pyarrow.ipc.open_stream(source).read_all())
    return pyarrow.concat_tables(parts)


def run_of_table(name: str, table: Any, columns: Sequence[str] = ()) -> Run:
    """Return the run of a file's table with further columns; the errors name the file."""
    with name_run_in_errors(name):
        run = Run.of(table, columns)
    if not len(run):
        raise MultiAspectError(f"{name}: the file is empty; expected rows with qid, docno and score")
    return run


def frame_of_run(name: str, table: Any) -> pd.DataFrame:
    """Return the run of a file's table as a frame: qid, docno, score, and the other columns of the file."""
    ids_and_scores = (*RUN_QUERY_COLUMNS, *DOCUMENT_COLUMNS, "score")
    others = [column for column in as_frame(table, name).columns if column not in ids_and_scores]
    run = run_of_table(name, table, others)
    result = run.to_pandas().rename(columns={"query_id": "qid", "doc_id": "docno"})
    first = [column for column in ("qid", "docno", "rank", "score", "name") if column in result.columns]
    return result[[*first, *(column for column in result.columns if column not in first)]]


def labels_of_table(
    name: str, table: Any, columns: Mapping[str, str] | None, *, one_of_several: bool = False
) -> pd.DataFrame:
    """Return the judgments of a file's table: qid, docno and label columns.

    Parameters
    ----------
    name : str
        Name of the file in errors.
    table : pyarrow.Table or DataFrame
        Its content.
    columns : mapping of str to str, or None
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
        frame = rename_beir_columns(as_frame(table, name), name)
    check_distinct_columns(frame, name)
    query, document = (id_column(frame, names, name) for names in (QUERY_COLUMNS, DOCUMENT_COLUMNS))
    if not len(frame):
        raise MultiAspectError(f"{name}: the file is empty; expected rows with qid, docno and labels")
    rows = pd.DataFrame({"qid": identifiers(query, name), "docno": identifiers(document, name)})
    if columns is None:
        names = [column for column in frame.columns if column not in NOT_ASPECTS]
        label_columns = {column: "label" if column == "relevance" else column for column in names}
    else:
        label_columns = {
            _column_of(name, frame, aspect, len(columns) == 1): column for aspect, column in columns.items()
        }
    if not label_columns or len(set(label_columns.values())) < len(label_columns):
        raise MultiAspectError(
            f"{name}: expected label columns, at most one of them label or relevance, got the columns "
            f"{choices(frame.columns)}"
        )
    for source, column in label_columns.items():
        if columns is not None or is_numeric(frame[source]):
            rows[column] = _read_finite_labels(name, frame[source], rows)
        else:
            rows[column] = frame[source].to_numpy()
    keys = ["qid", "docno"]
    # Subtopics differ within a query; an iteration without meaning is constant.
    judged = rows[keys[:1] if columns is None else keys[:]]
    for column in SUBTOPIC_COLUMNS:
        if column in frame.columns:
            values = judged.assign(value=frame[column].to_numpy(dtype=object)).drop_duplicates()
            several = values.duplicated([*judged.columns])
            if several.any():
                if one_of_several:
                    qid, docno, _ = values[several].iloc[0]
                    raise MultiAspectError(
                        f"{name}: expected one row for query {qid}, document {docno}, got several values of "
                        f"{column}. {ALONE_BY_SUBTOPIC}"
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
        looks = "; this looks like a run, not qrels" if not candidates and "score" in frame.columns else ""
        raise MultiAspectError(f"{name}: expected one column for the aspect {aspect}, got the columns {got}{looks}")
    return str(candidates[0])


def _read_finite_labels(name: str, column: pd.Series[Any], rows: pd.DataFrame) -> Any:
    values = read_labels(column)
    faulty = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
    if len(faulty):
        qid, docno = rows.iloc[int(faulty[0])][["qid", "docno"]]
        raise MultiAspectError(
            f"{name}: {column.name}: expected a finite number (or a missing value for no judgment), got "
            f"{column.iloc[int(faulty[0])]} (query {qid}, document {docno})"
        )
    return values
