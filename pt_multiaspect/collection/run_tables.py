"""The rows of a run: queries as codes, documents as bytes, scores as floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from ..errors import MultiAspectError, choices, counted
from ..strings.texts import Texts
from .columns import DOCUMENT_COLUMNS, QUERY_COLUMNS, as_floats
from .frames import in_memory
from .inputs import run_columns, score_column

__all__ = ["RunTable", "is_polars"]


@dataclass(frozen=True, eq=False)
class RunTable:
    """The rows of a run, in their original order."""

    #: The distinct queries.
    qids: NDArray[np.object_]
    #: The query, document and score of each row; queries are positions in `qids`.
    query: Ints
    docnos: Texts
    score: Floats
    #: Further columns, which measures of users read.
    others: pd.DataFrame | None = None

    @classmethod
    def of(cls, run: object, columns: Sequence[str] = ()) -> RunTable:
        """Read a run in any accepted form.

        Parameters
        ----------
        run : DataFrame, dict, iterable of namedtuples or RunTable
            The run.
        columns : sequence of str, optional
            Further columns to keep.

        Raises
        ------
        MultiAspectError
            If columns or identifiers are missing, or a score is not a number.
        """
        if isinstance(run, RunTable):
            return run
        run = in_memory(run)
        if not columns and is_polars(run) and (table := _of_polars(run)) is not None:
            return table
        frame, queries, documents = run_columns(run)
        codes, distinct = Texts.of_column(queries, "the run").codes()
        qids, docnos = distinct.decode(), Texts.of_column(documents, "the run")
        column = score_column(frame)
        score = as_floats(column)
        faulty = np.flatnonzero(np.isnan(score))
        if len(faulty):
            row, value = int(faulty[0]), column.iloc[int(faulty[0])]
            shown = repr(value) if isinstance(value, str) else value
            raise MultiAspectError(
                f"invalid score {shown} for document {docnos.take([row]).decode()[0]}, query {qids[codes[row]]}: "
                f"expected a number {counted(len(faulty), 'row')}"
            )
        if not columns:
            return cls(qids, codes, docnos, score)
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"run: expected the column {choices(missing)}, which a measure names as an input, got the columns "
                f"{choices(frame.columns)}"
            )
        return cls(qids, codes, docnos, score, frame[[*columns]].reset_index(drop=True))

    @property
    def columns(self) -> list[str]:
        """Return the columns of the run as a frame."""
        return ["query_id", "doc_id", "score"]

    def to_pandas(self) -> pd.DataFrame:
        """Return the run as a frame ``query_id doc_id score …``, which measures of ir-measures read."""
        values = (self.qids[self.query], self.docnos.decode(), self.score)
        frame = pd.DataFrame(dict(zip(self.columns, values, strict=True)))
        return frame if self.others is None else frame.join(self.others)

    def __len__(self) -> int:
        return len(self.score)


def is_polars(obj: object) -> bool:
    """Return whether an object is a data frame of Polars."""
    return hasattr(obj, "iter_columns") and type(obj).__module__.partition(".")[0] == "polars"


def _of_polars(frame: Any) -> RunTable | None:
    """Read a frame of Polars without an object per row; None if its columns must be converted or explained."""
    queries, documents = (
        [column for column in columns if column in frame.columns] for columns in (QUERY_COLUMNS, DOCUMENT_COLUMNS)
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
    codes, distinct = _texts_of(queries_of_blocks).codes()
    return RunTable(distinct.decode(), np.repeat(codes, sizes.to_numpy()), _texts_of(docno), values)


def _texts_of(series: Any) -> Texts:
    """Return strings of Polars, none of which is missing, as bytes."""
    joined = series.str.join("").item().encode()
    offsets = np.concatenate([[0], np.cumsum(series.str.len_bytes().to_numpy(), dtype=np.int64)])
    return Texts.of_buffer(np.frombuffer(joined, dtype=np.uint8), offsets)
