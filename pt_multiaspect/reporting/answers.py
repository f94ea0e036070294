"""The texts, labels and nuggets of answers, for the page of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..answers._frames import read_answers
from ..collection.columns import QUERY_COLUMNS
from ..collection.judged_answers import RUN_COLUMNS, answer_keys
from ..errors import MultiAspectError, choices

#: Columns with the text of an answer, if all its rows have the same text: else it is that of its parts.
TEXTS = ("answer_text", "answer", "response", "qanswer", "text")


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
    found = {
        (name, qid): _answer(rows)
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


def _answer(rows: pd.DataFrame) -> dict[str, Any]:
    """Return an answer: what its rows have in common, and its nuggets, or else the columns in which rows differ."""
    rows = rows.rename(columns=str)
    nuggets = rows.pop("nuggets").dropna().explode().tolist() if "nuggets" in rows else []
    distinct = {column: list(dict.fromkeys(values.map(_plain))) for column, values in rows.items()}
    given = {column: list(filter(None, distinct.get(column, []))) for column in TEXTS}
    text_column = next((column for column, texts in given.items() if len(texts) == 1), "")
    distinct.pop(text_column, None)
    items: list[Any] = [nugget for nugget in nuggets if isinstance(nugget, Mapping)]
    if varying := [column for column, texts in distinct.items() if len(texts) > 1]:
        items = items or rows[varying].to_dict("records")
    heads = list(dict.fromkeys(str(key) for item in items for key in item))
    return {
        "text": given[text_column][0] if text_column else None,
        "labels": [(column, texts[0]) for column, texts in distinct.items() if len(texts) == 1 and texts[0]],
        "items": {"heads": heads, "rows": [[_plain(item.get(key)) for key in heads] for item in items]},
    }


def _plain(value: object) -> str:
    """Return a value as text: whole numbers without decimals, sentences with citations by their texts."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return str(value.get("text", dict(value)))
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_plain, value))
    return "" if value is None or value is pd.NA or value != value else str(value)
