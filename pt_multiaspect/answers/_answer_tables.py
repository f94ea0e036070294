"""Files of judged answers, and the long frame of their scores."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from .._numbers import read_json
from .._typing import Bools, Floats, Ints
from ..collection.columns import (
    NO_NAME,
    QUERY_COLUMNS,
    check_distinct_columns,
    is_numeric,
    read_labels,
    read_truth_values,
)
from ..collection.judged_answers import IF_EVALUATED, OTHER_QUERIES, QUESTION, with_usual_names
from ..collection.other_libraries import to_pandas
from ..errors import (
    MultiAspectError,
    choices,
    errors_of,
    number_of,
    refuse_none,
    refuse_surrogates,
    shown,
    tally,
)
from ..evaluation.long_frames import COLUMNS, check_distinct
from ..integration.parsing import UNIT_SCORE, record_measures
from ..io.file_contents import Text, as_text, load
from ..io.runs import run_files
from ..kernels.hits import ratio, sums
from .products import question_column, rows_of_product

#: Tolerance for values that rounding moves out of their range.
ROUNDING = 1e-9


def read_texts(source: Any) -> Iterator[Text]:
    """Yield the content of files.

    They are given as a path, a directory, a pattern, an open file or a list of these.
    """
    if isinstance(source, list | tuple):
        items = source
    else:
        items = [source]
    refuse_none(items, "file")
    for item in items:
        files = [item]
        if isinstance(item, str | PathLike):
            files = run_files(item)
        for file in files:
            yield as_text(*load(file))


def read_answers(source: Any, what: str) -> pd.DataFrame:
    """Return rows of answers as a frame: given as such, as dicts, or in files.

    Parameters
    ----------
    source : DataFrame, list of dicts, path, open file, or list of paths or open files
        Files contain one JSON object per line, or columns separated by tabs, semicolons (as
        spreadsheets do where decimals have commas) or commas. Cells of such columns are texts,
        empty ones are missing.
    what : str
        The beginning of errors.
    """
    frame = to_pandas(source)
    if frame is not None:
        return with_usual_names(frame)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        parts = [
            _frame_of_records(
                ((f"item {number}", item) for number, item in enumerate(source, 1)), what
            )
        ]
    else:
        parts = [_frame_of_text(text, what) for text in read_texts(source)]
    return pd.concat(map(with_usual_names, parts), ignore_index=True)


def _frame_of_text(text: Text, what: str) -> pd.DataFrame:
    """Return the rows of a file of JSON Lines, CSV or TSV."""
    first = text.data.lstrip()[:1]
    if not first:
        raise MultiAspectError(f"{what}: {text.name}: the file is empty; expected answers")
    if first == b"{":
        rows = _product_rows(text)
        if rows:
            with refuse_surrogates(what):
                return pd.DataFrame(rows)
    if first in b"{[":
        return _frame_of_json_lines(text, what)
    return _frame_of_columns(text, what)


def _frame_of_json_lines(text: Text, what: str) -> pd.DataFrame:
    """Return the rows of a file with one JSON object per line."""
    try:
        return _frame_of_records(_json_records(text), what)
    except MultiAspectError as error:
        raise MultiAspectError(
            f"{error}; answers are read from one JSON object per line: {_remedy(text)}"
        ) from error


def _json_records(text: Text) -> Iterator[tuple[str, Any]]:
    """Yield the place and the JSON of each line."""
    for number, line, _ in text.lines():
        where = f"{text.name}:{number}"
        yield where, read_json(line.decode(), where)


def _frame_of_columns(text: Text, what: str) -> pd.DataFrame:
    """Return the rows of a file with columns and a header."""
    first_line, _, _ = text.data.partition(b"\n")
    separator = _separator(first_line)
    try:
        # As a header, the first line could not tell lines that are longer, and repeated names would
        # be changed.
        rows = pd.read_csv(
            io.BytesIO(text.data), sep=separator, dtype=str, keep_default_na=False, header=None
        )
    except ValueError as error:
        raise MultiAspectError(f"{what}: {text.name}: cannot be read: {error}") from error
    frame: pd.DataFrame = rows.iloc[1:].reset_index(drop=True)
    header = rows.iloc[0].tolist()
    frame.columns = pd.Index([header[0] or NO_NAME, *header[1:]])
    if len(frame.columns) == 1:
        raise MultiAspectError(
            f"{what}: {text.name}: expected answers, as one JSON object per line or as columns "
            "with a header, separated by tabs or commas, got the line "
            f"{shown(frame.columns[0])}. {IF_EVALUATED}"
        )
    check_distinct_columns(frame, f"{what}: {text.name}")
    frame = frame.mask(frame == "")
    frame = frame.apply(_with_points, separator=separator)
    return frame.apply(read_truth_values)


def _product_rows(text: Text) -> list[dict[str, Any]]:
    """Return the rows of a file of DeepEval or promptfoo, which is one JSON object.

    There are none in other files.
    """
    try:
        content = json.loads(text.data)
    except (ValueError, RecursionError):  # one object per line, for example
        return []
    return rows_of_product(content)


def read_named_answers(items: Sequence[str], what: str) -> tuple[pd.DataFrame, list[str]]:
    """Return rows of answers in files, and notes on what was taken for topics and criteria.

    Parameters
    ----------
    items : sequence of str
        Files as for `read_answers`, or ``NAME=FILE``, a file of the answers of one system without
        its name.
    what : str
        The beginning of errors.
    """
    parts, is_named = [], False
    for item in items:
        name, separator, path = item.partition("=")
        has_name = bool(separator and name) and not os.path.exists(item)
        frame = read_answers([path if has_name else item], what)
        if has_name:
            frame, is_named = _with_name(frame, name, path, what), True
        parts.append(frame)
    frame = pd.concat(parts, ignore_index=True)
    if not is_named and not ({"system", "answer_text", "input"} <= {*frame.columns}):
        return frame, []
    frame = frame.rename(columns={"system": "name"} if "name" not in frame.columns else {})
    named = [name for name in (*QUERY_COLUMNS, *OTHER_QUERIES, QUESTION) if name in frame.columns]
    column = named[0] if named else question_column(frame)
    row_numbers = [
        name for name in frame.columns if str(name).strip().lower() == "id" and name != column
    ]
    frame = frame.drop(columns=row_numbers)
    if named:
        return frame, [f"topics: the column {column}"]
    if column is None:
        raise MultiAspectError(
            f"{what}: expected a column of topics, such as query_id, id or question, got the "
            f"columns {choices(frame.columns)}; rename one"
        )
    topics = frame[column].map(lambda value: " ".join(str(value).split()))
    return frame.drop(columns=column).assign(qid=topics), [f"topics: the column {column}"]


def _with_name(frame: pd.DataFrame, name: str, path: str, what: str) -> pd.DataFrame:
    """Return answers with the name of their system, which a file may contain once."""
    runs = [column for column in ("name", "run_id", "system") if column in frame.columns]
    for column in runs:
        given = frame[column].unique()
        if len(given) > 1:
            raise MultiAspectError(
                f"{what}: {path}: expected answers of one system, got those of {choices(given)}; "
                f"give the file without {name}="
            )
    return frame.drop(columns=runs).assign(name=name)


def _separator(header: bytes) -> str:
    """Return what separates the columns.

    This is a tab if there is one, else a semicolon or a comma, whichever is more.
    """
    if b"\t" in header:
        return "\t"
    if header.count(b";") > header.count(b","):
        return ";"
    return ","


def _with_points(column: pd.Series[Any], separator: str) -> pd.Series[Any]:
    """Return a column of texts whose decimals are written with commas, as spreadsheets do, with points.

    If the separator of columns is a comma, too, other commas may separate thousands, and be part of
    texts.
    """
    is_decimal = column.str.fullmatch(r"\s*[-+]?\d+,\d+\s*").fillna(False).astype(bool)
    has_points = column.str.fullmatch(r"\s*[-+]?\d+\.\d+\s*").fillna(False).astype(bool)
    if not is_decimal.any() or has_points.any():  # with points, commas separate thousands
        return column
    with_points = column.mask(is_decimal, column.str.replace(",", "."))
    if separator == ",":
        is_thousands = (
            column.str.fullmatch(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*").fillna(False).astype(bool)
        )
        if is_thousands.any() or not is_numeric(with_points):
            return column
    return with_points


def _remedy(text: Text) -> str:
    """Return what to do with a file of JSON that is not one object per line."""
    try:
        content = json.loads(text.data)
    except (ValueError, RecursionError):
        return "correct the line or remove it"
    filter = ".[]" if isinstance(content, list) else "."
    return f"write them so, as by jq -c '{filter}' {text.name}"


def _frame_of_records(records: Iterable[tuple[str, Any]], what: str) -> pd.DataFrame:
    """Return JSON objects, each with its place, as a frame."""
    items = []
    for where, item in records:
        if not isinstance(item, Mapping):
            raise MultiAspectError(
                f"{where}: expected a JSON object with qid and run_id, got {shown(item)}"
            )
        items.append(dict(item))
    with refuse_surrogates(what):
        return pd.DataFrame(items)


def answer_title(answers: pd.DataFrame, row: int) -> str:
    """Return the run and the topic of an answer, for errors."""
    answer = answers.iloc[row]
    title = f"{answer['name']} on topic {answer['qid']}"
    if answer.get("judge"):
        return f"{title} by judge {answer['judge']}"
    return title


def read_numbers(
    column: pd.Series[Any], answers: pd.DataFrame, what: str, remedy: str = "", *, high: float = 1.0
) -> Floats:
    """Return the numbers of a column, or raise an error if one is missing or outside [0, `high`].

    Values that are outside because of rounding are clipped.

    Parameters
    ----------
    column : Series
        The numbers or truth values, one per row of `answers`.
    answers : DataFrame
        The run and the topic of each row.
    what, remedy : str
        The beginning and the end of the error.
    high : float, default 1
        The maximum.
    """
    values = read_labels(column)
    valid = (values >= -ROUNDING) & (values <= high + ROUNDING) & np.isfinite(values)
    expected = "a number in [0, 1]" if high == 1 else "a number of at least 0"
    check_values(valid, column, answers, f"{what}: expected {expected} in {column.name}", remedy)
    return np.clip(values, 0.0, high)


def check_values(
    valid: Bools, column: pd.Series[Any], answers: pd.DataFrame, expected: str, remedy: str = ""
) -> None:
    """Raise an error that begins with `expected` if a value is not valid.

    Parameters
    ----------
    valid : ndarray of bool, shape (n_rows,)
        Whether each value is valid.
    column : Series
        The values as given.
    answers : DataFrame
        The run and the topic of each row.
    expected, remedy : str
        The beginning and the end of the error.
    """
    faulty = np.flatnonzero(~valid)
    if len(faulty):
        value = column.iloc[faulty[0]]
        if isinstance(value, str):
            got = repr(value)
        else:
            got = value
        raise MultiAspectError(
            f"{expected} for {answer_title(answers, faulty[0])}, got {got} "
            f"{tally(len(faulty), 'value')}" + (f"; {remedy}" if remedy else "")
        )


def score_frame(answers: pd.DataFrame, scores: Mapping[str, Floats], what: str) -> pd.DataFrame:
    """Return the long frame of scores; those of one answer are in adjacent rows.

    Parameters
    ----------
    answers : DataFrame
        The run and the topic of each answer.
    scores : mapping of str to ndarray of float, shape (n_answers,)
        The scores by name, in [0, 1]; NaN for answers without one, which have no row.
    what : str
        The beginning of errors.

    Raises
    ------
    MultiAspectError
        If a run has several answers to a topic.
    """
    n_answers = len(answers)
    columns = {
        "name": np.repeat(answers["name"].to_numpy(dtype=object), len(scores)),
        "qid": np.repeat(answers["qid"].to_numpy(dtype=object), len(scores)),
        "measure": np.tile(np.array(list(scores), dtype=object), n_answers),
        "value": np.stack(list(scores.values()), axis=1).ravel(),
    }
    result = pd.DataFrame(columns)[COLUMNS]
    result = result[result["value"].notna()].reset_index(drop=True)
    with errors_of(what):
        check_distinct(result, "keep one answer, or give each run its own name")
    record_measures(result, dict.fromkeys(scores, UNIT_SCORE))
    return result


def weighted_means(answer: Ints, values: Floats, weights: Floats, n_answers: int) -> Floats:
    """Return Σ w x / Σ w over the rows of each answer; 0 where the weights sum to 0.

    Parameters
    ----------
    answer : ndarray of int, shape (n_rows,)
        The index of the answer of each row.
    values, weights : ndarray of float, shape (n_rows,)
        The values x and the weights w ≥ 0.
    n_answers : int
        The number of answers, with and without rows.
    """
    largest = np.zeros(n_answers)
    np.maximum.at(largest, answer, weights)
    # Powers of two, which change no digit: sums of large weights stay finite.
    weights = np.ldexp(weights, -np.frexp(largest)[1][answer])
    return ratio(sums(answer, weights * values, n_answers), sums(answer, weights, n_answers))


def item_notes(
    answers: pd.DataFrame,
    answer: Ints,
    texts: Sequence[object],
    weights: Sequence[Hashable],
    labels: Sequence[object],
    what: str,
    item: str,
) -> list[str]:
    """Return warnings about items, such as nuggets, that are repeated or differ between runs.

    Parameters
    ----------
    answers : DataFrame
        The run and the topic of each answer.
    answer : ndarray of int, shape (n_rows,)
        The index of the answer of each row, which is one item.
    texts : sequence of object
        The text of the item; missing if it is unknown, so that only numbers of items can be
        compared.
    weights : sequence of hashable
        The weight or importance of the item.
    labels : sequence of object
        The judgment of the item.
    what, item : str
        The beginning of errors, and the noun for an item.

    Raises
    ------
    MultiAspectError
        If an answer has an item twice with different labels.
    """
    rows = pd.DataFrame(
        {"answer": answer, "text": list(texts), "weight": list(weights), "label": list(labels)}
    )
    rows["text"] = rows["text"].map(str, na_action="ignore").astype(object)
    return [
        *_repeated_items(answers, rows, what, item),
        *_different_items(answers, rows, weights, item),
    ]


def _repeated_items(
    answers: pd.DataFrame, rows: pd.DataFrame, what: str, item: str
) -> Iterator[str]:
    """Yield a warning if answers have an item twice; raise an error if its labels differ."""
    with_text = rows[rows["text"].notna()]
    repeated = with_text[with_text.duplicated(["answer", "text"])]
    if not len(repeated):
        return
    has_same_label = with_text.duplicated(["answer", "text", "label"])
    contradictory = repeated[~has_same_label[repeated.index]]
    if len(contradictory):
        row = contradictory.iloc[0]
        raise MultiAspectError(
            f"{what}: expected one label of each {item}, got several of {shown(row['text'])} for "
            f"{answer_title(answers, row['answer'])} {tally(len(contradictory), 'row')}; keep the "
            "right one, or give different texts"
        )
    text = shown(repeated["text"].iloc[0])
    title = answer_title(answers, repeated["answer"].iloc[0])
    if len(repeated) == 1:
        is_repeated = "is repeated"
        count = "counts"
    else:
        is_repeated = "are repeated"
        count = "count"
    n_answers = repeated["answer"].nunique()
    yield (
        f"{number_of(len(repeated), item)} of {number_of(n_answers, 'answer')} {is_repeated}, "
        f"such as {text} for {title}, and {count} again; drop duplicates to count each {item} once"
    )


def _different_items(
    answers: pd.DataFrame, rows: pd.DataFrame, weights: Sequence[Hashable], item: str
) -> Iterator[str]:
    """Yield a warning if runs were judged by different items on a topic."""
    # Items without a text are only numbered.
    number = rows.groupby(["answer", "weight"]).cumcount()
    names = rows["text"].where(rows["text"].notna(), number)
    items: list[set[Hashable]] = [set() for _ in range(len(answers))]
    for position, name, weight in zip(rows["answer"], names, weights, strict=True):
        items[position].add((name, weight))
    items_of_answers = pd.Series(map(frozenset, items))
    n_distinct = items_of_answers.groupby(answers["qid"].to_numpy(), sort=False).nunique()
    topics = n_distinct.index[n_distinct > 1].tolist()
    if topics:
        yield (
            f"on {number_of(len(topics), 'topic')} ({choices(topics)}), runs were judged by "
            f"different {item}s, so their scores may not be comparable"
        )
