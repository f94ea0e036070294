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
from .file_contents import expansion_fault, expansion_limit
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
        raise  # of a file that expands too much, which is not damaged
    except MemoryError as error:
        raise MultiAspectError(
            f"{name}: there is not enough memory to read the file; split it"
        ) from error
    except Exception as error:  # PyArrow has several classes of errors
        words = str(error).split()  # the text may have several lines
        reason = " ".join(words)
        raise MultiAspectError(f"{name}: a damaged Parquet file: {reason}") from error
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
    limit = expansion_limit(data)
    n_bytes = 0
    batches = []
    for batch in file.iter_batches(_BATCH, use_threads=False):
        batches.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > limit:
            fault = expansion_fault(limit)
            raise MultiAspectError(
                f"{name}: {fault}, unlike runs and judgments; to read it anyway, give "
                "the frame that pandas.read_parquet(…) returns"
            )
    table = pyarrow.Table.from_batches(batches, file.schema_arrow)
    n_expected = file.metadata.num_rows
    n_rows = len(table)
    if n_rows != n_expected:
        raise ValueError(f"expected {n_expected} rows, got {n_rows}")
    return table


def run_of_table(name: str, table: Any, others: Sequence[str] = ()) -> Run:
    """Return the run of a table with the columns `others`; errors contain the name of the file."""
    with name_run_in_errors(name):
        run = Run.of(table, others)
    if not len(run):
        raise MultiAspectError(
            f"{name}: the file is empty; expected rows with qid, docno and score"
        )
    return run


def frame_of_run(name: str, table: Any) -> pd.DataFrame:
    """Return the run of a table as a frame: qid, docno, rank, score, name and other columns.

    The rank and the name are optional. Errors contain the name of the file.
    """
    ids_and_scores = (*columns.RUN_QUERY_COLUMNS, *columns.DOCUMENT_COLUMNS, "score")
    others: list[str] = []
    for column in as_frame(table, name).columns:
        if column not in ids_and_scores and not is_saved_index(column):
            others.append(column)
    run = run_of_table(name, table, others)
    frame = run.to_pandas().rename(columns={"query_id": "qid", "doc_id": "docno"})
    usual_order = ("qid", "docno", "rank", "score", "name")
    first_columns = [column for column in usual_order if column in frame.columns]
    last_columns = [column for column in frame.columns if column not in first_columns]
    return frame[first_columns + last_columns]


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
    rows = _ids_of_rows(name, frame)
    if by_aspect is None:
        ids_with_subtopics = rows[["qid"]]
        keeps_texts = True  # such as names of grades
        label_columns = _all_label_columns(name, frame)
    else:
        ids_with_subtopics = rows[["qid", "docno"]]
        keeps_texts = False
        label_columns = _columns_of_aspects(name, frame, by_aspect)
    for source, column in label_columns.items():
        labels = frame[source]
        if keeps_texts and not columns.is_numeric(labels):
            rows[column] = labels.to_numpy()
        else:
            rows[column] = _read_finite_labels(name, labels, rows)
    subtopic_columns = _subtopic_columns(name, frame, ids_with_subtopics, one_of_several)
    for column in subtopic_columns:
        rows[column] = identifiers(frame[column], name)
    return _distinct_judgments(name, rows, ["qid", "docno", *subtopic_columns])


def _subtopic_columns(
    name: str, frame: pd.DataFrame, ids: pd.DataFrame, one_of_several: bool
) -> list[str]:
    """Return the columns of subtopics of a file; others with such a name have no meaning.

    They have several values for a query or a pair: `ids` has the columns qid, or qid and docno.
    Raise an error if there are any in one of several files.
    """
    subtopic_columns = []
    for column in columns.SUBTOPIC_COLUMNS:
        if column not in frame.columns:
            continue
        further_subtopics = _rows_with_further_values(ids, frame[column])
        if further_subtopics.empty:
            continue
        if one_of_several:
            raise _subtopic_error(name, column, further_subtopics)
        subtopic_columns.append(column)
    return subtopic_columns


def _ids_of_rows(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns qid and docno of a table, whatever their names; refuse an empty one."""
    query = columns.id_column(frame, columns.QUERY_COLUMNS, name)
    document = columns.id_column(frame, columns.DOCUMENT_COLUMNS, name)
    if not len(frame):
        raise MultiAspectError(
            f"{name}: the file is empty; expected rows with qid, docno and labels"
        )
    return pd.DataFrame({"qid": identifiers(query, name), "docno": identifiers(document, name)})


def _rows_with_further_values(ids: pd.DataFrame, values: pd.Series[Any]) -> pd.DataFrame:
    """Return the rows whose id, a query or pair, has another value in an earlier row.

    Parameters
    ----------
    ids : DataFrame, shape (n_rows, 1 or 2)
        The columns qid, or qid and docno.
    values : Series, shape (n_rows,)
        The value of each row.
    """
    with_values = ids.assign(value=values.to_numpy(dtype=object))
    # With one row for each id and value, a repeated id has several values.
    distinct = with_values.drop_duplicates()
    id_is_repeated = distinct.duplicated(list(ids.columns))
    return distinct[id_is_repeated]


def _subtopic_error(name: str, column: str, further_subtopics: pd.DataFrame) -> MultiAspectError:
    """Return the error for a file on one aspect with several subtopics of a pair."""
    qid, docno = further_subtopics[["qid", "docno"]].iloc[0]
    return MultiAspectError(
        f"{name}: expected one row for query {qid}, document {docno}, got several values of "
        f"{column}. {columns.ALONE_BY_SUBTOPIC}"
    )


def _distinct_judgments(name: str, rows: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Return each row once; raise an error if rows with the same key have different labels."""
    if not rows.duplicated(key).any():
        return rows
    distinct = rows.drop_duplicates(ignore_index=True)
    has_other_labels = distinct.duplicated(key)
    if has_other_labels.any():
        qid, docno = distinct.loc[has_other_labels, ["qid", "docno"]].iloc[0]
        raise MultiAspectError(
            f"{name}: expected one row for query {qid}, document {docno}, got different labels"
        )
    return distinct


def _all_label_columns(name: str, frame: pd.DataFrame) -> dict[str, str]:
    """Return the column of the result for each label column of a file; see `labels_of_table`."""
    added = columns.added_columns(frame.columns)
    if added:
        option = parameter("aspects", ["relevance", "…"])
        columns.warn_of_added_columns(added, name, f", as in {option}")
    label_columns: dict[str, str] = {}
    for column in frame.columns:
        if column in columns.NOT_ASPECTS or column in added:
            continue
        if column == "relevance":
            label_columns[column] = "label"  # the name in PyTerrier
        else:
            label_columns[column] = column
    looks_like_run = "score" in label_columns and label_columns.keys() <= {"score", "rank"}
    if looks_like_run:
        got = choices(frame.columns)
        hint = lookalike_hint("a run")
        raise MultiAspectError(f"{name}: expected label columns, got the columns {got}{hint}")
    _check_label_columns(name, frame, label_columns)
    return label_columns


def _columns_of_aspects(
    name: str, frame: pd.DataFrame, by_aspect: Mapping[str, str]
) -> dict[str, str]:
    """Return the column of the result for each column of a file that has an aspect's labels."""
    is_alone = len(by_aspect) == 1
    label_columns: dict[str, str] = {}
    for aspect, column in by_aspect.items():
        source = _column_of_aspect(name, frame, aspect, is_alone)
        label_columns[source] = column
    _check_label_columns(name, frame, label_columns)
    return label_columns


def _check_label_columns(name: str, frame: pd.DataFrame, label_columns: dict[str, str]) -> None:
    """Raise an error if a file has no label columns, or two of them get the same name.

    `label_columns` are the names in the result by those in the file. Both label and relevance may
    become label.
    """
    new_names = set(label_columns.values())
    has_equal_names = len(new_names) < len(label_columns)
    if not label_columns or has_equal_names:
        got = choices(frame.columns)
        raise MultiAspectError(
            f"{name}: expected label columns, at most one of them label or relevance, got the "
            f"columns {got}"
        )


def _column_of_aspect(name: str, frame: pd.DataFrame, aspect: str, is_alone: bool) -> str:
    """Return the column of a file that has the labels of an aspect.

    It is called like the aspect or, for relevance and if only one aspect is read (`is_alone`),
    label or relevance.
    """
    if aspect in frame.columns:
        return aspect
    # The columns that the file has of those that may hold the labels under another name.
    usual: list[str] = []
    if is_alone or aspect in ("label", "relevance"):
        usual = [column for column in ("label", "relevance") if column in frame.columns]
    if len(usual) == 1:
        return usual[0]
    is_ambiguous = len(usual) > 1
    hint = ""
    if is_ambiguous:
        got = choices(usual)
    else:
        got = choices(frame.columns)
        if "score" in frame.columns:
            hint = lookalike_hint("a run")
    raise MultiAspectError(
        f"{name}: expected one column for the aspect {aspect}, got the columns {got}{hint}"
    )


def _read_finite_labels(name: str, column: pd.Series[Any], rows: pd.DataFrame) -> Any:
    """Return the labels of a column, NaN where missing; raise an error if one is not finite.

    `rows` has the qid and docno of each label.
    """
    labels = columns.read_labels(column)
    is_given = column.notna().to_numpy()
    is_no_number = np.isnan(labels) & is_given
    is_faulty = is_no_number | np.isinf(labels)
    if is_faulty.any():
        position = int(np.argmax(is_faulty))
        label = column.iloc[position]
        qid, docno = rows[["qid", "docno"]].iloc[position]
        raise MultiAspectError(
            f"{name}: {column.name}: expected a finite number (or a missing value for no "
            f"judgment), got {label} (query {qid}, document {docno})"
        )
    return labels
