"""Tables in files: Parquet, read by PyArrow, and the runs and judgments of tables."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..collection import Run, columns
from ..collection.other_libraries import as_frame, is_saved_index
from ..collection.run import name_run_in_errors
from ..errors import MultiAspectError, choices, parameter
from ..strings.identifiers import identifiers
from .file_contents import expansion, most_bytes
from .trec_lines import lookalike_hint

#: The first bytes of Parquet files.
_PARQUET = b"PAR1"

#: Number of rows that are read at once.
_BATCH = 1 << 14


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
        table = _read_batches(name, data)
        # Without this, damaged offsets cause a crash or remain unnoticed.
        table.validate(full=True)
    except ImportError as error:
        raise MultiAspectError(
            f"{name}: reading Parquet files requires PyArrow, which is part of the extra parquet: "
            "pip install 'pt-multiaspect[parquet]'"
        ) from error
    except MultiAspectError:
        raise
    except MemoryError as error:
        raise MultiAspectError(
            f"{name}: there is not enough memory to read the file; split it"
        ) from error
    except Exception as error:  # PyArrow has several classes of errors
        raise MultiAspectError(
            f"{name}: a damaged Parquet file: {' '.join(str(error).split())}"
        ) from error
    # Without the metadata of pandas, which would restore a column as index.
    return table.replace_schema_metadata(None)


def _read_batches(name: str, data: bytes) -> Any:
    """Return the content of a Parquet file, unless it expands as no file of runs or judgments does.

    Raises
    ------
    MultiAspectError
        If the expanded content is too large for the size of the file.
    ValueError
        If there are fewer rows than the file says.
    """
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(io.BytesIO(data), page_checksum_verification=True)
    most, size = most_bytes(data), 0
    batches = []
    for batch in file.iter_batches(_BATCH, use_threads=False):
        batches.append(batch)
        size += batch.nbytes
        if size > most:
            raise MultiAspectError(
                f"{name}: {expansion(most)}, unlike runs and judgments; to read it anyway, give "
                "the frame that pandas.read_parquet(…) returns"
            )
    table = pyarrow.Table.from_batches(batches, file.schema_arrow)
    if len(table) != file.metadata.num_rows:
        raise ValueError(f"expected {file.metadata.num_rows} rows, got {len(table)}")
    return table


def run_of_table(name: str, table: Any, others: Sequence[str] = ()) -> Run:
    """Return the run of a file's table with further columns; the errors name the file."""
    with name_run_in_errors(name):
        run = Run.of(table, others)
    if not len(run):
        raise MultiAspectError(
            f"{name}: the file is empty; expected rows with qid, docno and score"
        )
    return run


def frame_of_run(name: str, table: Any) -> pd.DataFrame:
    """Return the run of a table as a frame: qid, docno, score and the other columns."""
    ids_and_scores = (*columns.RUN_QUERY_COLUMNS, *columns.DOCUMENT_COLUMNS, "score")
    names = [column for column in as_frame(table, name).columns if not is_saved_index(column)]
    others = [column for column in names if column not in ids_and_scores]
    run = run_of_table(name, table, others)
    result = run.to_pandas().rename(columns={"query_id": "qid", "doc_id": "docno"})
    first = [
        column for column in ("qid", "docno", "rank", "score", "name") if column in result.columns
    ]
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
        The column of the result for each aspect. An aspect is read from its own column in the file
        or, if it is the only one, from the column label or relevance. With None, all columns are
        kept; columns of subtopics only if a query has several values. With aspects, these are kept
        only if a pair has several values.
    one_of_several : bool, default False
        Whether this is one of the files of several aspects, which cannot be judged by subtopic.

    Returns
    -------
    DataFrame
        Labels are float64, NaN where missing. Rows that repeat a pair with equal labels are
        omitted.

    Raises
    ------
    MultiAspectError
        If a column is missing, a label is not a finite number, or a pair has different labels; if a
        pair of one of several files has several subtopics.
    """
    with name_run_in_errors(name):
        frame = columns.rename_beir_columns(as_frame(table, name), name)
    columns.check_distinct_columns(frame, name)
    query = columns.id_column(frame, columns.QUERY_COLUMNS, name)
    document = columns.id_column(frame, columns.DOCUMENT_COLUMNS, name)
    if not len(frame):
        raise MultiAspectError(
            f"{name}: the file is empty; expected rows with qid, docno and labels"
        )
    rows = pd.DataFrame({"qid": identifiers(query, name), "docno": identifiers(document, name)})
    label_columns = _label_columns(name, frame, by_aspect)
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
                        f"{name}: expected one row for query {qid}, document {docno}, got several "
                        f"values of {column}. {columns.ALONE_BY_SUBTOPIC}"
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


def _label_columns(
    name: str, frame: pd.DataFrame, by_aspect: Mapping[str, str] | None
) -> dict[str, str]:
    """Return the column of the result for each label column of a file; see `labels_of_table`."""
    if by_aspect is None:
        added = columns.added_columns(frame.columns)
        if added:
            columns.warn_of_added_columns(
                added, name, f", as in {parameter('aspects', ['relevance', '…'])}"
            )
        others = (*columns.NOT_ASPECTS, *added)
        names = [column for column in frame.columns if column not in others]
        label_columns = {column: "label" if column == "relevance" else column for column in names}
        if "score" in names and set(names) <= {"score", "rank"}:
            raise MultiAspectError(
                f"{name}: expected label columns, got the columns "
                f"{choices(frame.columns)}{lookalike_hint('a run')}"
            )
    else:
        is_alone = len(by_aspect) == 1
        label_columns = {
            _column_of(name, frame, aspect, is_alone): column
            for aspect, column in by_aspect.items()
        }
    if not label_columns or len(set(label_columns.values())) < len(label_columns):
        raise MultiAspectError(
            f"{name}: expected label columns, at most one of them label or relevance, got the "
            f"columns {choices(frame.columns)}"
        )
    return label_columns


def _column_of(name: str, frame: pd.DataFrame, aspect: str, is_alone: bool) -> str:
    """Return the column of a file that has the labels of an aspect."""
    usual = ("label", "relevance") if is_alone or aspect in ("label", "relevance") else ()
    candidates = [column for column in dict.fromkeys((aspect, *usual)) if column in frame.columns]
    if not candidates or (len(candidates) > 1 and candidates[0] != aspect):
        got = choices(candidates or frame.columns)
        if not candidates and "score" in frame.columns:
            looks = lookalike_hint("a run")
        else:
            looks = ""
        raise MultiAspectError(
            f"{name}: expected one column for the aspect {aspect}, got the columns {got}{looks}"
        )
    return str(candidates[0])


def _read_finite_labels(name: str, column: pd.Series[Any], rows: pd.DataFrame) -> Any:
    values = columns.read_labels(column)
    faulty = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
    if len(faulty):
        qid, docno = rows.iloc[int(faulty[0])][["qid", "docno"]]
        raise MultiAspectError(
            f"{name}: {column.name}: expected a finite number (or a missing value for no "
            f"judgment), got {column.iloc[int(faulty[0])]} (query {qid}, document {docno})"
        )
    return values
