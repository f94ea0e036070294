"""Checks of arguments shared by the functions of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..collection.columns import DOCUMENT_COLUMNS, check_distinct_columns, id_column
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, shown, tally
from ..strings.identifiers import identifiers as id_strings


def check_documents(docs: object) -> pd.DataFrame:
    """Return the columns docno and text of `docs`, in which each document must occur once."""
    frame = to_pandas(docs)
    if frame is None:
        raise MultiAspectError(f"docs: expected a DataFrame with columns docno and text, got {shown(docs)}")
    check_distinct_columns(frame, "docs")
    docnos = id_strings(id_column(frame, DOCUMENT_COLUMNS, "docs"), "docs")
    if "text" not in frame.columns:
        raise MultiAspectError(f"docs: expected a column text, got the columns {choices(frame.columns)}")
    documents = pd.DataFrame({"docno": docnos, "text": frame["text"].to_numpy(dtype=object)}, dtype=object)
    if (twice := documents["docno"].duplicated()).any():
        repeated = documents["docno"][twice].unique()
        raise MultiAspectError(f"docs: expected one row per document, got several for {first_documents(repeated)}")
    return documents


def check_texts(docs: pd.DataFrame, what: str = "docs", column: str = "text") -> None:
    """Raise an error for texts that are not strings; it begins with `what`, the name of the frame."""
    wrong = [row for row, text in enumerate(docs[column].tolist()) if not isinstance(text, str)]
    if wrong:
        docno, text = id_column(docs, DOCUMENT_COLUMNS, what).iat[wrong[0]], docs[column].iat[wrong[0]]
        raise MultiAspectError(
            f"{what}: expected texts as strings, but the {column} of document {docno!r} is {kind(text)} "
            f"{tally(len(wrong), 'document')}. If these are empty, use {what}[{column!r}].fillna('')"
        )


def first_documents(docnos: Sequence[object] | npt.NDArray[Any] | pd.Index[Any]) -> str:
    """Join the first few documents, and add the total."""
    return f"{choices(docnos[:5])}{', …' if len(docnos) > 5 else ''} {tally(len(docnos), 'document')}"


def kind(value: object) -> str:
    """Return the type of a value in words, or that the value is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return f"missing ({value!r})"
    return f"of type {type(value).__name__}"
