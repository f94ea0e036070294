"""The rows of a run: the intermediate form between its file or frame and its rankings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """The rows of a run, in their original order: queries as codes, documents as bytes, scores as floats."""

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
        if not columns and (polars_run := _read_polars(run)) is not None:
            return polars_run
        with refuse_surrogates("the run"):
            frame = _frame(run)
        check_distinct_columns(frame, "a run")
        queries, documents = (
            id_column(frame, names, "a run") for names in (RUN_QUERY_COLUMNS, DOCUMENT_COLUMNS)
        )
        for column in (queries, documents):
            if not is_arrow(column):  # bytes of Arrow strings are compared
                check_strings(column, "a run")
        codes, distinct = Texts.from_column(queries, "the run").codes()
        qids, docnos = distinct.decode(), Texts.from_column(documents, "the run")
        score = _scores(
            frame,
            lambda row: f"document {docnos.take([row]).decode()[0]}, query {qids[codes[row]]}",
        )
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"run: expected the column {choices(missing)}, which a measure names as an input, "
                "got the columns "
                f"{choices(frame.columns)}"
            )
        return cls(
            qids,
            codes,
            docnos,
            score,
            frame[[*columns]].reset_index(drop=True) if columns else None,
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the run as a frame ``query_id doc_id score …``, which measures of ir-measures read."""
        ids = {"query_id": self.qids[self.query], "doc_id": self.docnos.decode()}
        frame = pd.DataFrame({**ids, "score": self.score})
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
        for qid, documents in run.items():
            if not isinstance(documents, Mapping):
                refuse_splits(run, "run", "a run")
                raise MultiAspectError(
                    f"run: expected a dict {{qid: {{docno: score}}}}, got {shown(documents)} for "
                    f"query {qid!r}"
                    + (f"; {_SCORED}" if isinstance(documents, list | tuple) else "")
                )
        rows = [(qid, docno, score) for qid, docs in run.items() for docno, score in docs.items()]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    if isinstance(run, Iterable) and not isinstance(run, str | bytes):
        documents = list(run)
        if not documents:
            return pd.DataFrame({"query_id": [], "doc_id": [], "score": []})
        fields = getattr(documents[0], "_fields", None)
        if fields is not None and all(getattr(row, "_fields", None) == fields for row in documents):
            return pd.DataFrame(documents, columns=list(fields))
        raise MultiAspectError(
            "run: expected an iterable of namedtuples with the same fields, got "
            f"{describe_row(documents[0])}"
            + (f"; {_SCORED}" if isinstance(documents[0], str) else "")
        )
    raise MultiAspectError(
        "run: expected a DataFrame, a dict {qid: {docno: score}} or an iterable of namedtuples, "
        "got "
        f"{type(run).__name__}; read files with read_run"
    )


def _scores(frame: pd.DataFrame, where: Any) -> Floats:
    """Return the scores of a run; `where` returns the description of a row for errors."""
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
    if len(faulty):
        value = column.iloc[int(faulty[0])]
        raise MultiAspectError(
            f"invalid score {repr(value) if isinstance(value, str) else value} for "
            f"{where(int(faulty[0]))}: "
            f"expected a number {tally(len(faulty), 'row')}"
            + (f"; {_SCORED}" if isinstance(value, list | tuple) else "")
        )
    return scores


def _read_polars(frame: Any) -> Run | None:
    """Read a Polars frame without an object per row; None if it must be read in another way."""
    if not hasattr(frame, "iter_columns") or type(frame).__module__.partition(".")[0] != "polars":
        return None
    queries, documents = (
        [column for column in columns if column in frame.columns]
        for columns in (RUN_QUERY_COLUMNS, DOCUMENT_COLUMNS)
    )
    if not len(frame) or len(queries) != 1 or len(documents) != 1 or "score" not in frame.columns:
        return None
    query, docno, score = (frame[column] for column in (*queries, *documents, "score"))
    are_strings = str(query.dtype) == str(docno.dtype) == "String"
    if not are_strings or not (score.dtype.is_float() or score.dtype.is_integer()):
        return None
    values = np.asarray(score.to_numpy(), dtype=np.float64)
    if query.null_count() or docno.null_count() or np.isnan(values).any():
        return None
    # Rows of a query are mostly adjacent.
    sizes, queries_of_blocks = query.rle().struct.unnest()
    codes, distinct = _polars_texts(queries_of_blocks).codes()
    return Run(distinct.decode(), np.repeat(codes, sizes.to_numpy()), _polars_texts(docno), values)


def _polars_texts(series: Any) -> Texts:
    """Return Polars strings, none of which is missing, as bytes."""
    joined = series.str.join("").item().encode()
    offsets = np.concatenate([[0], np.cumsum(series.str.len_bytes().to_numpy(), dtype=np.int64)])
    return Texts.from_buffer(np.frombuffer(joined, dtype=np.uint8), offsets)
