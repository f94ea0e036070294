"""The rows of a run: the intermediate form between its file or frame and its rankings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints, Objects
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
from .qrels_forms import check_strings, describe_row


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
        if not columns:
            polars_run = _read_polars(run)
            if polars_run is not None:
                return polars_run
        with refuse_surrogates("the run"):
            frame = _frame(run)
        check_distinct_columns(frame, "a run")
        queries = id_column(frame, RUN_QUERY_COLUMNS, "a run")
        documents = id_column(frame, DOCUMENT_COLUMNS, "a run")
        for column in (queries, documents):
            if not is_arrow(column):  # bytes of Arrow strings are compared
                check_strings(column, "a run")
        codes, distinct = Texts.from_column(queries, "the run").codes()
        qids = distinct.decode()
        docnos = Texts.from_column(documents, "the run")

        def describe(row: int) -> str:
            return f"document {docnos.take([row]).decode()[0]}, query {qids[codes[row]]}"

        score = _scores(frame, describe)
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"run: expected the column {choices(missing)}, which a measure names as an input, "
                f"got the columns {choices(frame.columns)}"
            )
        others = None
        if columns:
            others = frame[[*columns]].reset_index(drop=True)
        return cls(qids, codes, docnos, score, others)

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
        message = re.sub("^(a |the )?run: ", "", str(error))
        name = title.removeprefix("run ")
        raise MultiAspectError(f"{title}: {message.removeprefix(f'{name}: ')}") from None


#: The remedy for runs that are lists of docnos.
_SCORED = (
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
    if isinstance(run, Iterable) and not isinstance(run, str | bytes):
        return _rows_frame(list(run))
    raise MultiAspectError(
        "run: expected a DataFrame, a dict {qid: {docno: score}} or an iterable of namedtuples, "
        f"got {type(run).__name__}; read files with read_run"
    )


def _mapping_frame(run: Mapping[Any, Any]) -> pd.DataFrame:
    """Return a dict ``{qid: {docno: score}}`` as a frame."""
    rows: list[tuple[Any, Any, Any]] = []
    for qid, scores in run.items():
        if not isinstance(scores, Mapping):
            refuse_splits(run, "run", "a run")
            if isinstance(scores, list | tuple):
                remedy = f"; {_SCORED}"
            else:
                remedy = ""
            raise MultiAspectError(
                f"run: expected a dict {{qid: {{docno: score}}}}, got {shown(scores)} for "
                f"query {qid!r}{remedy}"
            )
        rows += [(qid, docno, score) for docno, score in scores.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])


def _rows_frame(rows: list[Any]) -> pd.DataFrame:
    """Return namedtuples with the same fields as a frame."""
    if not rows:
        return pd.DataFrame({"query_id": [], "doc_id": [], "score": []})
    fields = getattr(rows[0], "_fields", None)
    if fields is not None and all(getattr(row, "_fields", None) == fields for row in rows):
        return pd.DataFrame(rows, columns=list(fields))
    if isinstance(rows[0], str):
        remedy = f"; {_SCORED}"
    else:
        remedy = ""
    raise MultiAspectError(
        "run: expected an iterable of namedtuples with the same fields, got "
        f"{describe_row(rows[0])}{remedy}"
    )


def _scores(frame: pd.DataFrame, describe: Callable[[int], str]) -> Floats:
    """Return the scores of a run; `describe` returns the description of a row for errors."""
    if "score" not in frame.columns:
        remedy = ""
        if "rank" in frame.columns:
            remedy = "; if it has only ranks, add a column score = -rank"
        elif not {"label", "relevance"}.isdisjoint(frame.columns):
            remedy = f". {SWAPPED}"
        raise MultiAspectError(
            f"run: expected a column score, got the columns {choices(frame.columns)}{remedy}"
        )
    column = frame["score"]
    scores = as_floats(column)
    faulty = np.flatnonzero(np.isnan(scores))
    if not len(faulty):
        return scores
    row = int(faulty[0])
    score = column.iloc[row]
    remedy = ""
    if isinstance(score, str):
        score = repr(score)
    elif isinstance(score, list | tuple):
        remedy = f"; {_SCORED}"
    raise MultiAspectError(
        f"invalid score {score} for {describe(row)}: "
        f"expected a number {tally(len(faulty), 'row')}{remedy}"
    )


def _read_polars(frame: Any) -> Run | None:
    """Read a Polars frame without an object per row; None if it must be read in another way."""
    if not hasattr(frame, "iter_columns") or type(frame).__module__.partition(".")[0] != "polars":
        return None
    queries = [column for column in RUN_QUERY_COLUMNS if column in frame.columns]
    documents = [column for column in DOCUMENT_COLUMNS if column in frame.columns]
    if not len(frame) or len(queries) != 1 or len(documents) != 1 or "score" not in frame.columns:
        return None
    query = frame[queries[0]]
    docno = frame[documents[0]]
    score = frame["score"]
    are_strings = str(query.dtype) == str(docno.dtype) == "String"
    if not are_strings or not (score.dtype.is_float() or score.dtype.is_integer()):
        return None
    values = np.asarray(score.to_numpy(), dtype=np.float64)
    if query.null_count() or docno.null_count() or np.isnan(values).any():
        return None
    # Rows of a query are mostly adjacent.
    sizes, queries_of_blocks = query.rle().struct.unnest()
    codes_of_blocks, distinct = _polars_texts(queries_of_blocks).codes()
    codes = np.repeat(codes_of_blocks, sizes.to_numpy())
    return Run(distinct.decode(), codes, _polars_texts(docno), values)


def _polars_texts(series: Any) -> Texts:
    """Return Polars strings, none of which is missing, as bytes."""
    joined = series.str.join("").item().encode()
    lengths = series.str.len_bytes().to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Texts.from_buffer(np.frombuffer(joined, dtype=np.uint8), offsets)
