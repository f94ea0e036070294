"""The texts, labels and nuggets of answers, for the page of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..answers._frames import read_answers
from ..collection.columns import QUERY_COLUMNS
from ..collection.judged_answers import RUN_COLUMNS, answer_keys
from ..errors import MultiAspectError, choices

#: Columns with the text of an answer.
_TEXTS = ("answer_text", "answer", "response", "qanswer", "text")


def answers_payload(
    answers: object, names: Sequence[str], qids: Sequence[str], notes: list[str]
) -> list[list[dict[str, Any] | None]]:
    """Return the answers as JSON, by run and topic; None where there is none.

    Parameters
    ----------
    answers : DataFrame, list of dicts, path, or list of paths
        As for `report`.
    names, qids : sequence of str
        The runs and topics of the report.
    notes : list of str
        A note is added if answers are not given for all topics of all runs.

    Returns
    -------
    list
        For each answer ``text``, ``labels``, pairs of a column and its value, and ``items``, the heads and rows of
        a table: its nuggets, or its rows if it has several.
    """
    frame = read_answers(answers, "answers")
    keys = answer_keys(frame, "answers")
    by_answer = frame.drop(columns=[column for column in (*RUN_COLUMNS, *QUERY_COLUMNS) if column in frame.columns])
    texts = [column for column in _TEXTS if column in by_answer.columns][:1]
    found = {
        (str(name), str(qid)): _answer(rows, texts)
        for (name, qid), rows in by_answer.groupby([keys["name"].to_numpy(), keys["qid"].to_numpy()], sort=False)
    }
    payload = [[found.get((name, qid)) for qid in qids] for name in names]
    n_found = sum(answer is not None for answers_of_run in payload for answer in answers_of_run)
    if not n_found:
        name, qid = next(iter(found))
        raise MultiAspectError(
            f"answers: expected answers of the runs {choices(names)} to the topics {choices(qids)}, got none of "
            f"these, but {name} on topic {qid}; use the names of the values"
        )
    if n_found < len(names) * len(qids):
        notes.append(f"Answers are given for {n_found} of {len(names) * len(qids)} pairs of a run and a topic.")
    return payload


def _answer(rows: pd.DataFrame, texts: list[str]) -> dict[str, Any]:
    """Return an answer, whose rows have the same text, if any."""
    text = next((_plain(row) for row in rows[texts[0]] if not _is_missing(row)), None) if texts else None
    others = rows.drop(columns=texts)
    listed: Any = others.pop("nuggets").iloc[0] if "nuggets" in others.columns else []
    if len(rows) > 1:
        varying = [column for column in others if others[column].map(_plain).nunique() > 1]
        others, listed = others.drop(columns=varying), others[varying].to_dict("records")
    items = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, Iterable) else []
    heads = list(dict.fromkeys(str(key) for item in items for key in item))
    labels = [(str(column), _plain(value)) for column, value in others.iloc[0].items() if not _is_missing(value)]
    return {
        "text": text,
        "labels": labels,
        "items": {"heads": heads, "rows": [[_plain(item.get(key)) for key in heads] for item in items]},
    }


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))


def _plain(value: object) -> str:
    """Return a value as text: whole numbers without decimals, sentences with citations by their texts."""
    if _is_missing(value):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return str(value.get("text", dict(value)))
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_plain, value))
    return str(value)
