"""The rows of a run: the intermediate form between its file or frame and its rankings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints, Objects
from ..errors import SWAPPED, MultiAspectError, choices, refuse_surrogates, shown, tally
from ..strings.identifiers import is_arrow
from ..strings.texts import Texts
from .columns import (
    DOCUMENT_COLUMNS,
    RUN_QUERY_COLUMNS,
    as_floats,
    check_distinct_columns,
    id_column,
)
from .other_libraries import refuse_splits, to_pandas
from .qrels_forms import check_strings, common_fields, describe_row


@dataclass(frozen=True, eq=False)
class Run:
    """The rows of a run in their original order.

    Queries are codes, documents are bytes, scores are floats.
    """

    #: The distinct queries.
    qids: Objects
    #: The query, document and score of each row; queries are positions in `qids`.
    query: Ints
    docnos: Texts
    score: Floats
    #: Further columns, which users' measures read.
    others: pd.DataFrame | None = None

    @classmethod
    def of(cls, run: object, columns: Sequence[str] = ()) -> Run:
        """Read a run in any accepted form.

        Parameters
        ----------
        run : DataFrame, dict, iterable of namedtuples or Run
            The run.
        columns : sequence of str, optional
            Further columns to keep.

        Raises
        ------
        MultiAspectError
            If columns or identifiers are missing, an identifier is not valid text, or a score is
            not a number.
        """
        if isinstance(run, Run):
            return run
        # Frames of Polars are read without a conversion to pandas, which is faster.
        if not columns:
            polars_run = _read_polars(run)
            if polars_run is not None:
                return polars_run
        with refuse_surrogates("the run"):
            frame = _frame(run)
        return cls._of_frame(frame, columns)

    @classmethod
    def _of_frame(cls, frame: pd.DataFrame, columns: Sequence[str]) -> Run:
        """Read a run from a pandas frame; see `of`."""
        check_distinct_columns(frame, "a run")
        queries = id_column(frame, RUN_QUERY_COLUMNS, "a run")
        documents = id_column(frame, DOCUMENT_COLUMNS, "a run")
        for column in (queries, documents):
            # Ids with NUL characters are compared correctly in columns of Arrow only.
            if not is_arrow(column):
                check_strings(column, "a run")
        query_of_row, distinct = Texts.from_column(queries, "the run").codes()
        qids = distinct.decode()
        docnos = Texts.from_column(documents, "the run")

        scores = as_floats(_score_column(frame))
        is_invalid = np.isnan(scores)
        if is_invalid.any():
            # The first row without a score is the example of the error.
            first_row = int(np.argmax(is_invalid))
            docno = docnos.take([first_row]).decode()[0]
            qid = qids[query_of_row[first_row]]
            pair = f"document {docno}, query {qid}"
            raise _invalid_score_error(frame["score"], is_invalid, pair)

        other_columns = None
        if columns:
            other_columns = _other_columns(frame, columns)
        return cls(qids, query_of_row, docnos, scores, other_columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return the run as a frame ``query_id doc_id score …``, for measures of ir-measures."""
        columns = {
            "query_id": self.qids[self.query],
            "doc_id": self.docnos.decode(),
            "score": self.score,
        }
        frame = pd.DataFrame(columns)
        if self.others is None:
            return frame
        return frame.join(self.others)

    def __len__(self) -> int:
        return len(self.score)


@contextmanager
def name_run_in_errors(title: str) -> Iterator[None]:
    """Begin errors about a run with its title or file instead of the word run."""
    try:
        yield
    except MultiAspectError as error:
        # For "run bm25", errors that begin with "a run:" or "bm25:" begin with "run bm25:".
        without_run = re.sub("^(a |the )?run: ", "", str(error))
        name = title.removeprefix("run ")
        message = without_run.removeprefix(f"{name}: ")
        raise MultiAspectError(f"{title}: {message}") from None


#: The remedy for runs that are lists of docnos.
_RANKING_REMEDY = (
    "give the ranking of docnos of each query scores, as in "
    "{qid: {docno: -rank for rank, docno in enumerate(docnos)}}"
)


def _frame(run: object) -> pd.DataFrame:
    """Return a run in any form as a pandas DataFrame."""
    frame = to_pandas(run)
    if frame is not None:
        return frame
    if isinstance(run, Mapping):
        return _mapping_frame(run)
    is_text = isinstance(run, str | bytes)
    if isinstance(run, Iterable) and not is_text:
        rows = list(run)
        return _rows_frame(rows)
    type_name = type(run).__name__
    raise MultiAspectError(
        "run: expected a DataFrame, a dict {qid: {docno: score}} or an iterable of namedtuples, "
        f"got {type_name}; read files with read_run"
    )


def _mapping_frame(run: Mapping[Any, Any]) -> pd.DataFrame:
    """Return a dict ``{qid: {docno: score}}`` as a frame."""
    rows: list[tuple[Any, Any, Any]] = []
    for qid, scores in run.items():
        if not isinstance(scores, Mapping):
            refuse_splits(run, "run", "a run")
            raise _not_scores_error(scores, qid)
        rows += [(qid, docno, score) for docno, score in scores.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def _not_scores_error(value: object, qid: object) -> MultiAspectError:
    """Return the error for a value of a query that is not a dict of scores."""
    remedy = ""
    is_list_of_docnos = isinstance(value, list | tuple)
    if is_list_of_docnos:
        remedy = f"; {_RANKING_REMEDY}"
    description = shown(value)
    return MultiAspectError(
        f"run: expected a dict {{qid: {{docno: score}}}}, got {description} for "
        f"query {qid!r}{remedy}"
    )


def _rows_frame(rows: list[Any]) -> pd.DataFrame:
    """Return namedtuples with the same fields as a frame, one row each."""
    if not rows:
        return pd.DataFrame({"query_id": [], "doc_id": [], "score": []})
    fields = common_fields(rows)
    if fields is not None:
        return pd.DataFrame(rows, columns=fields)
    first = rows[0]
    remedy = ""
    is_docno = isinstance(first, str)
    if is_docno:
        remedy = f"; {_RANKING_REMEDY}"
    description = describe_row(first)
    raise MultiAspectError(
        f"run: expected an iterable of namedtuples with the same fields, got {description}{remedy}"
    )


def _score_column(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return the scores of a run as given."""
    if "score" in frame.columns:
        return frame["score"]
    remedy = ""
    has_ranks = "rank" in frame.columns
    has_labels = "label" in frame.columns or "relevance" in frame.columns
    if has_ranks:
        remedy = "; if it has only ranks, add a column score = -rank"
    elif has_labels:
        remedy = f". {SWAPPED}"
    listed = choices(frame.columns)
    raise MultiAspectError(f"run: expected a column score, got the columns {listed}{remedy}")


def _invalid_score_error(column: pd.Series[Any], is_invalid: Bools, pair: str) -> MultiAspectError:
    """Return the error for scores that are not numbers.

    Parameters
    ----------
    column : Series
        The scores as given.
    is_invalid : ndarray of bool, shape (n_rows,)
        A mask of the invalid scores.
    pair : str
        The document and query of the first of them.
    """
    first_row = int(np.argmax(is_invalid))
    score = column.iloc[first_row]
    remedy = ""
    if isinstance(score, str):
        score = repr(score)
    elif isinstance(score, list | tuple):
        remedy = f"; {_RANKING_REMEDY}"
    n_invalid = int(is_invalid.sum())
    rows = tally(n_invalid, "row")
    return MultiAspectError(f"invalid score {score} for {pair}: expected a number {rows}{remedy}")


def _other_columns(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the columns that measures read beside the scores, with rows numbered from 0."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        listed_missing = choices(missing)
        listed = choices(frame.columns)
        raise MultiAspectError(
            f"run: expected the column {listed_missing}, which a measure names as an input, "
            f"got the columns {listed}"
        )
    others = frame[[*names]]
    return others.reset_index(drop=True)


def _read_polars(frame: Any) -> Run | None:
    """Read a Polars frame without an object per row; None if it must be read in another way."""
    columns = _polars_columns(frame)
    if columns is None:
        return None
    queries, documents, scores = columns
    score = np.asarray(scores.to_numpy(), dtype=np.float64)
    has_missing_id = queries.null_count() > 0 or documents.null_count() > 0
    has_missing_score = np.isnan(score).any()
    if has_missing_id or has_missing_score:
        return None
    # Rows of a query are mostly adjacent. Their run-length encoding has one row per block of equal
    # queries, with its length and its query, so that the query is read once.
    blocks = queries.rle()
    length_of_block, query_of_block = blocks.struct.unnest()
    code_of_block, distinct = _polars_texts(query_of_block).codes()
    code_of_row = np.repeat(code_of_block, length_of_block.to_numpy())
    return Run(distinct.decode(), code_of_row, _polars_texts(documents), score)


def _polars_columns(frame: Any) -> tuple[Any, Any, Any] | None:
    """Return the queries, documents and scores of a Polars frame of strings and numbers.

    Return None for other objects, for other types, and without one column of each.
    """
    library = type(frame).__module__.partition(".")[0]
    is_polars_frame = library == "polars" and hasattr(frame, "iter_columns")
    if not is_polars_frame or not len(frame):
        return None
    names_of_queries = [name for name in RUN_QUERY_COLUMNS if name in frame.columns]
    names_of_documents = [name for name in DOCUMENT_COLUMNS if name in frame.columns]
    has_one_column_of_ids = len(names_of_queries) == 1 and len(names_of_documents) == 1
    if not has_one_column_of_ids or "score" not in frame.columns:
        return None
    queries = frame[names_of_queries[0]]
    documents = frame[names_of_documents[0]]
    scores = frame["score"]
    are_strings = str(queries.dtype) == "String" and str(documents.dtype) == "String"
    are_numbers = scores.dtype.is_float() or scores.dtype.is_integer()
    if are_strings and are_numbers:
        return queries, documents, scores
    return None


def _polars_texts(series: Any) -> Texts:
    """Return Polars strings, none of which is missing, as bytes in one buffer."""
    all_strings = series.str.join("").item()
    data = np.frombuffer(all_strings.encode(), dtype=np.uint8)
    n_bytes = series.str.len_bytes().to_numpy()
    ends = np.cumsum(n_bytes, dtype=np.int64)
    # Each string begins where the one before it ends.
    offsets = np.concatenate([[0], ends])
    return Texts.from_buffer(data, offsets)
