"""Qrels and runs in any accepted form, as frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from ..errors import SWAPPED, MultiAspectError, choices, shown
from ..strings.identifiers import identifiers
from ..strings.texts import is_arrow
from .columns import DOCUMENT_COLUMNS, QUERY_COLUMNS, as_floats, check_distinct_columns, id_column
from .frames import is_frame, to_pandas

__all__ = ["about_run", "qrels_frame", "run_columns", "run_frame", "score_column"]

#: More keys are not the aspects of a document, but the documents of a query.
_MOST_ASPECTS = 100


def qrels_frame(qrels: object) -> tuple[pd.DataFrame, bool]:
    """Return qrels as a frame, and whether its label columns have positions but no names."""
    frame, is_positional = _qrels_in_any_form(qrels)
    for position, column in enumerate(frame.columns):
        if column in (*QUERY_COLUMNS, *DOCUMENT_COLUMNS):
            _check_strings(frame.iloc[:, position], "qrels")
    return frame, is_positional


def _qrels_in_any_form(qrels: object) -> tuple[pd.DataFrame, bool]:
    frame = to_pandas(qrels)
    if frame is not None:
        return frame, False
    if isinstance(qrels, Mapping):
        return _frame_of_mapping(qrels)
    if isinstance(qrels, Iterable) and not isinstance(qrels, str | bytes):
        rows = list(qrels)
        fields = next((row._fields for row in rows if hasattr(row, "_fields")), None)
        if not rows:
            return pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}), False
        if fields is not None and all(getattr(row, "_fields", None) == fields for row in rows):
            return pd.DataFrame(rows, columns=list(fields)), False
        if is_frame(rows[0]) or (isinstance(rows[0], tuple) and len(rows[0]) == 2):
            raise MultiAspectError(
                "qrels: expected an iterable of namedtuples with the same fields, got data frames, or pairs, as of "
                f"runs. {SWAPPED}"
            )
        raise MultiAspectError(
            f"qrels: expected an iterable of namedtuples with the same fields, got {_shown(rows[0])}"
        )
    raise MultiAspectError(
        "qrels: expected a DataFrame, a dict {qid: {docno: labels}}, an iterable of namedtuples or Judgments, got "
        f"{type(qrels).__name__}; read files with read_qrels"
    )


def _frame_of_mapping(qrels: Mapping[Any, Any]) -> tuple[pd.DataFrame, bool]:
    ids: list[tuple[Any, Any]] = []
    labels: list[Any] = []
    for qid, documents in qrels.items():
        if is_frame(documents):
            raise MultiAspectError(
                f"qrels: expected a dict {{qid: {{docno: labels}}}}, got a data frame for {qid!r}, as in a dict of "
                f"runs. {SWAPPED}"
            )
        if not isinstance(documents, Mapping):
            raise MultiAspectError(
                f"qrels: expected a dict {{qid: {{docno: labels}}}}, got {shown(documents)} for query {qid!r}"
            )
        for docno, label in documents.items():
            ids.append((qid, docno))
            labels.append(label)
    frame = pd.DataFrame(ids, columns=["query_id", "doc_id"])
    first = labels[0] if labels else 0
    if isinstance(first, Mapping):
        if len(first) > _MOST_ASPECTS:
            qid, docno = ids[0]
            raise MultiAspectError(
                f"qrels: expected a dict {{qid: {{docno: labels}}}}, got labels of {len(first)} aspects for "
                f"document {docno}, query {qid}, as in a dict of runs. {SWAPPED}"
            )
        if not all(isinstance(label, Mapping) for label in labels):
            raise MultiAspectError("qrels: expected labels of one kind, got dicts and others")
        return frame.join(pd.DataFrame(labels)), False
    if isinstance(first, tuple | list):
        lengths = {len(label) if isinstance(label, tuple | list) else 1 for label in labels}
        if lengths != {len(first)}:
            raise MultiAspectError(
                f"qrels: expected label tuples of one length, got the lengths {choices(sorted(lengths))}"
            )
        fields = getattr(first, "_fields", None)
        names = fields or ["relevance", *(f"aspect_{index}" for index in range(2, len(first) + 1))]
        return frame.join(pd.DataFrame([tuple(label) for label in labels], columns=list(names))), fields is None
    if any(isinstance(label, Mapping | tuple | list) for label in labels):
        raise MultiAspectError("qrels: expected labels of one kind, got single numbers and others")
    try:
        return frame.assign(relevance=labels), False
    except OverflowError:  # integers beyond float64 in pandas 2.0; reading the labels reports them
        return frame.assign(relevance=pd.Series(labels, dtype=object)), False


def run_frame(run: object) -> pd.DataFrame:
    """Return a run in any accepted form as a frame ``query_id doc_id score`` with string identifiers."""
    frame, query, document = run_columns(run)
    return pd.DataFrame(
        {
            "query_id": identifiers(query, "the run"),
            "doc_id": identifiers(document, "the run"),
            "score": as_floats(score_column(frame)),
        }
    )


def score_column(frame: pd.DataFrame) -> pd.Series[Any]:
    """Return the scores of the frame of a run."""
    if "score" in frame.columns:
        return frame["score"]
    remedy = "; if it has only ranks, add a column score = -rank" if "rank" in frame.columns else ""
    raise MultiAspectError(f"run: expected a column score, got the columns {choices(frame.columns)}{remedy}")


def about_run(title: str, error: MultiAspectError) -> MultiAspectError:
    """Return an error of this module with the title of the run, or its file, instead of the word run."""
    message = re.sub("^(a |the )?run: ", "", str(error))
    name = title.removeprefix("run ")
    return MultiAspectError(f"{title}: {message.removeprefix(f'{name}: ')}")  # a file may be its name


def run_columns(run: object) -> tuple[pd.DataFrame, pd.Series[Any], pd.Series[Any]]:
    """Return a run in any accepted form as a frame, and its columns of queries and documents."""
    frame = _run_in_any_form(run)
    check_distinct_columns(frame, "a run")
    query, document = (id_column(frame, columns, "a run") for columns in (QUERY_COLUMNS, DOCUMENT_COLUMNS))
    for column in (query, document):
        if not is_arrow(column):  # whose bytes are compared
            _check_strings(column, "a run")
    return frame, query, document


def _run_in_any_form(run: object) -> pd.DataFrame:
    frame = to_pandas(run)
    if frame is not None:
        return frame
    if isinstance(run, Mapping):
        for qid, documents in run.items():
            if not isinstance(documents, Mapping):
                raise MultiAspectError(
                    f"run: expected a dict {{qid: {{docno: score}}}}, got {shown(documents)} for query {qid!r}"
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
            f"run: expected an iterable of namedtuples with the same fields, got {_shown(documents[0])}"
        )
    raise MultiAspectError(
        "run: expected a DataFrame, a dict {qid: {docno: score}} or an iterable of namedtuples, got "
        f"{type(run).__name__}; read files with read_run"
    )


def _shown(row: object) -> str:
    """Return a description of a row that is not a namedtuple, for an error message."""
    if hasattr(row, "to_numpy"):
        return "columns, as ir-measures makes of data frames of other libraries: convert these to pandas first"
    return f"{row!r} …"


@cache
def _ends_strings_at_nul() -> bool:
    """Return whether pandas compares strings up to a NUL character only, as before version 3.1."""
    return len(pd.unique(np.array(["a", "a\0"], dtype=object))) < 2


def _check_strings(column: pd.Series[Any], what: str) -> None:
    """Raise an error for ids that pandas would confuse."""
    if not _ends_strings_at_nul():
        return
    values = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    strings = [value for value in values.tolist() if isinstance(value, str)]
    if "\0" in "".join(strings):
        faulty = next(value for value in strings if "\0" in value)
        raise MultiAspectError(
            f"{what}: expected ids without NUL characters, which require pandas 3.1 or newer, got {faulty!r} in "
            f"the column {column.name}"
        )
