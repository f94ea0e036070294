"""The rows of a run: queries as codes, documents as bytes, scores as floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from ..errors import MultiAspectError, choices, counted
from .columns import as_floats, encode, identifiers
from .inputs import run_columns
from .texts import Texts, is_arrow

__all__ = ["RunTable"]


@dataclass(frozen=True, eq=False)
class RunTable:
    """The rows of a run, in their original order."""

    #: The distinct queries.
    qids: NDArray[np.object_]
    #: The query, document and score of each row; queries are positions in `qids`.
    query: Ints
    docnos: Texts
    score: Floats

    @classmethod
    def of(cls, run: object) -> RunTable:
        """Read a run in any accepted form.

        Raises
        ------
        MultiAspectError
            If columns or identifiers are missing, or a score is not a number.
        """
        if isinstance(run, RunTable):
            return run
        frame, queries, documents = run_columns(run)
        codes, qids = _query_codes(queries)
        docnos = Texts.of_column(documents, "the run")
        if "score" not in frame.columns:
            raise MultiAspectError(f"run: expected a column score, got the columns {choices(frame.columns)}")
        column = frame["score"]
        score = as_floats(column)
        faulty = np.flatnonzero(np.isnan(score))
        if len(faulty):
            row, given = int(faulty[0]), column.iloc[int(faulty[0])]
            shown = repr(given) if isinstance(given, str) else given
            raise MultiAspectError(
                f"invalid score {shown} for document {docnos.take([row]).decode()[0]}, query {qids[codes[row]]}: "
                f"expected a number {counted(len(faulty), 'row')}"
            )
        return cls(qids, codes, docnos, score)

    @property
    def columns(self) -> list[str]:
        """The columns of the run as a frame."""
        return ["query_id", "doc_id", "score"]

    def to_pandas(self) -> pd.DataFrame:
        """Return the run as a frame ``query_id doc_id score``, which measures of ir-measures read."""
        values = (self.qids[self.query], self.docnos.decode(), self.score)
        return pd.DataFrame(dict(zip(self.columns, values, strict=True)))

    def __len__(self) -> int:
        return len(self.score)


def _query_codes(column: pd.Series[Any]) -> tuple[Ints, NDArray[np.object_]]:
    """Factorise the queries: a code per row, and the distinct queries."""
    if isinstance(column.dtype, pd.CategoricalDtype) or is_arrow(column):
        codes, distinct = Texts.of_column(column, "the run").codes()
        return codes, distinct.decode()
    try:
        codes, qids = encode(column.to_numpy(dtype=object))
        # Of missing queries, the code is -1.
        if codes.min(initial=0) >= 0 and pd.api.types.infer_dtype(qids, skipna=False) in ("string", "empty"):
            return codes, qids
    except TypeError:  # pandas.NA, which has no truth value, or values that cannot be hashed
        pass
    return encode(identifiers(column, "the run"))
