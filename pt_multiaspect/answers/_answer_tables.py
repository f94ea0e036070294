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

#: Numbers as texts, with spaces around them: "0,75", "0.75" and "1,024".
_DECIMAL_COMMA = r"\s*[-+]?\d+,\d+\s*"
_DECIMAL_POINT = r"\s*[-+]?\d+\.\d+\s*"
_THOUSANDS = r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*"


def read_texts(source: Any) -> Iterator[Text]:
    """Yield the content of files.

    They are given as a path, a directory, a pattern, an open file or a list of these.
    """
    items = [source]
    if isinstance(source, list | tuple):
        items = list(source)
    refuse_none(items, "file")
    for item in items:
        files = [item]
        if isinstance(item, str | PathLike):
            files = run_files(item)
        for file in files:
            content = load(file)
            yield as_text(*content)


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
    is_list = isinstance(source, list | tuple)
    if is_list and source and isinstance(source[0], Mapping):
        records = []
        for number, item in enumerate(source, 1):
            records.append((f"item {number}", item))
        return with_usual_names(_frame_of_records(records, what))
    parts = []
    for text in read_texts(source):
        part = _frame_of_text(text, what)
        parts.append(with_usual_names(part))
    return pd.concat(parts, ignore_index=True)


def _frame_of_text(text: Text, what: str) -> pd.DataFrame:
    """Return the rows of a file of JSON Lines, CSV, TSV, or JSON of DeepEval or promptfoo."""
    first_character = text.data.lstrip()[:1]
    if not first_character:
        raise MultiAspectError(f"{what}: {text.name}: the file is empty; expected answers")
    if first_character == b"{":
        rows = _product_rows(text)
        if rows:
            with refuse_surrogates(what):
                return pd.DataFrame(rows)
    is_json = first_character in (b"{", b"[")
    if is_json:
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
    """Yield the place of each line, such as ``answers.jsonl:3``, and its JSON."""
    for number, line, _ in text.lines():
        place = f"{text.name}:{number}"
        record = read_json(line.decode(), place)
        yield place, record


def _cells(text: Text, separator: str, what: str) -> pd.DataFrame:
    """Return the cells of all lines of a file, the header included, as texts.

    If pandas read the header as such, longer lines would not be noticed, and repeated names would
    be changed.
    """
    try:
        return pd.read_csv(
            io.BytesIO(text.data), sep=separator, dtype=str, keep_default_na=False, header=None
        )
    except ValueError as error:
        raise MultiAspectError(f"{what}: {text.name}: cannot be read: {error}") from error


def _frame_of_columns(text: Text, what: str) -> pd.DataFrame:
    """Return the rows of a file with columns and a header.

    Cells are texts, truth values, or missing if they are empty.
    """
    first_line, _, _ = text.data.partition(b"\n")
    separator = _separator(first_line)
    lines = _cells(text, separator, what)
    header = lines.iloc[0].tolist()
    # Tables that pandas wrote begin with a column of row numbers, which has no name.
    if header[0] == "":
        header[0] = NO_NAME
    if len(header) == 1:
        raise MultiAspectError(
            f"{what}: {text.name}: expected answers, as one JSON object per line or as columns "
            f"with a header, separated by tabs or commas, got the line {shown(header[0])}. "
            f"{IF_EVALUATED}"
        )
    frame: pd.DataFrame = lines.iloc[1:].reset_index(drop=True)
    frame.columns = pd.Index(header)
    check_distinct_columns(frame, f"{what}: {text.name}")
    is_empty = frame == ""
    frame = frame.mask(is_empty)  # missing
    frame = frame.apply(_with_decimal_points, separator=separator)
    return frame.apply(read_truth_values)


def _product_rows(text: Text) -> list[dict[str, Any]]:
    """Return the rows of a file of DeepEval or promptfoo; an empty list for other files."""
    try:
        content = json.loads(text.data)
    except (ValueError, RecursionError):  # not one JSON object, but one per line, for example
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
    parts = []
    has_named_files = False
    for item in items:
        name, path = _name_and_path(item)
        part = read_answers([path], what)
        if name is not None:
            part = _with_name(part, name, path, what)
            has_named_files = True
        parts.append(part)
    answers = pd.concat(parts, ignore_index=True)
    # Files of DeepEval and promptfoo are read as rows with these columns.
    is_from_product = {"system", "answer_text", "input"} <= set(answers.columns)
    # Other tools than TREC's may name topics in their own ways.
    if has_named_files or is_from_product:
        return _with_topics(answers, what)
    return answers, []


def _name_and_path(item: str) -> tuple[str | None, str]:
    """Return the name and the file of ``NAME=FILE``, or None and the item if it has no name."""
    name, separator, path = item.partition("=")
    has_name = bool(separator and name)
    if has_name and not os.path.exists(item):  # the name of a file may contain "="
        return name, path
    return None, item


def _with_topics(answers: pd.DataFrame, what: str) -> tuple[pd.DataFrame, list[str]]:
    """Return answers with a column of topics, and a note on which column it is.

    Without a usual column of topics, the answers get the column ``qid`` with the ids or texts of
    their questions.
    """
    if "name" not in answers.columns:
        answers = answers.rename(columns={"system": "name"})
    usual_columns = (*QUERY_COLUMNS, *OTHER_QUERIES, QUESTION)
    topic_columns = [name for name in usual_columns if name in answers.columns]
    if topic_columns:
        topic = topic_columns[0]
        return _drop_row_ids(answers, topic), [f"topics: the column {topic}"]
    question = question_column(answers)
    # Before the check, so that its error does not name columns of row ids.
    answers = _drop_row_ids(answers, question)
    if question is None:
        raise MultiAspectError(
            f"{what}: expected a column of topics, such as query_id, id or question, got the "
            f"columns {choices(answers.columns)}; rename one"
        )
    qids = answers[question].map(_single_spaced)
    answers = answers.drop(columns=question)
    return answers.assign(qid=qids), [f"topics: the column {question}"]


def _drop_row_ids(answers: pd.DataFrame, topic: str | None) -> pd.DataFrame:
    """Return answers without columns ``id`` or ``ID`` that are not the topic.

    They number the rows, and are not criteria.
    """
    row_ids = []
    for name in answers.columns:
        is_id = str(name).strip().lower() == "id"
        if is_id and name != topic:
            row_ids.append(name)
    return answers.drop(columns=row_ids)


def _single_spaced(value: object) -> str:
    """Return a value as text, with white space replaced by single spaces."""
    words = str(value).split()
    return " ".join(words)


def _with_name(answers: pd.DataFrame, name: str, path: str, what: str) -> pd.DataFrame:
    """Return answers with the name of their system in the column ``name``.

    Other columns of systems are removed; they must not contain several systems.
    """
    system_columns = [
        column for column in ("name", "run_id", "system") if column in answers.columns
    ]
    for column in system_columns:
        systems = answers[column].unique()
        if len(systems) > 1:
            raise MultiAspectError(
                f"{what}: {path}: expected answers of one system, got those of {choices(systems)}; "
                f"give the file without {name}="
            )
    answers = answers.drop(columns=system_columns)
    return answers.assign(name=name)


def _separator(header: bytes) -> str:
    """Return the character that separates the columns: a tab, a semicolon or a comma.

    It is a tab if there is one, else the more frequent one of semicolon and comma.
    """
    if b"\t" in header:
        return "\t"
    n_semicolons = header.count(b";")
    n_commas = header.count(b",")
    if n_semicolons > n_commas:
        return ";"
    return ","


def _with_decimal_points(column: pd.Series[Any], separator: str) -> pd.Series[Any]:
    """Return a column of texts with ``0,75`` as ``0.75``, if its commas are surely decimal ones.

    Else the column is unchanged. `separator` is the character between the columns of the file.
    """
    has_decimal_comma = _matches(column, _DECIMAL_COMMA)
    if not has_decimal_comma.any():
        return column
    # With points in other decimals, as in "1,024" and "0.75", commas separate thousands.
    if _matches(column, _DECIMAL_POINT).any():
        return column
    with_points = column.mask(has_decimal_comma, column.str.replace(",", "."))
    if separator == ",":
        # Where commas also separate columns, few programs write decimals with them. "1,024" may
        # then be a thousand, and "0,75" in a column with other texts may be a text.
        has_thousands = _matches(column, _THOUSANDS).any()
        if has_thousands or not is_numeric(with_points):
            return column
    return with_points


def _matches(column: pd.Series[Any], pattern: str) -> pd.Series[bool]:
    """Return whether each text matches the pattern as a whole; False for missing ones."""
    is_match = column.str.fullmatch(pattern)
    return is_match.fillna(False).astype(bool)


def _remedy(text: Text) -> str:
    """Return what to do with a file of JSON that is not one object per line."""
    try:
        content = json.loads(text.data)
    except (ValueError, RecursionError):
        return "correct the line or remove it"
    jq_filter = "."
    if isinstance(content, list):
        jq_filter = ".[]"
    return f"write them so, as by jq -c '{jq_filter}' {text.name}"


def _frame_of_records(records: Iterable[tuple[str, Any]], what: str) -> pd.DataFrame:
    """Return JSON objects as a frame; each comes with its place, for errors."""
    rows = []
    for place, item in records:
        if not isinstance(item, Mapping):
            raise MultiAspectError(
                f"{place}: expected a JSON object with qid and run_id, got {shown(item)}"
            )
        rows.append(dict(item))
    with refuse_surrogates(what):
        return pd.DataFrame(rows)


def answer_title(answers: pd.DataFrame, row: int) -> str:
    """Return the run, the topic and the judge (if any) of an answer, for errors."""
    answer = answers.iloc[row]
    title = f"{answer['name']} on topic {answer['qid']}"
    judge = answer.get("judge")
    if judge:
        return f"{title} by judge {judge}"
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
    is_in_range = (values >= -ROUNDING) & (values <= high + ROUNDING)
    is_valid = is_in_range & np.isfinite(values)  # the maximum may be infinite
    expected = "a number of at least 0"
    if high == 1:
        expected = "a number in [0, 1]"
    message = f"{what}: expected {expected} in {column.name}"
    check_values(is_valid, column, answers, message, remedy)
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
    if len(faulty) == 0:
        return
    first = faulty[0]
    got = column.iloc[first]
    if isinstance(got, str):
        got = repr(got)
    title = answer_title(answers, first)
    others = tally(len(faulty), "value")
    message = f"{expected} for {title}, got {got} {others}"
    if remedy:
        message += f"; {remedy}"
    raise MultiAspectError(message)


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
    n_scores = len(scores)
    runs = answers["name"].to_numpy(dtype=object)
    qids = answers["qid"].to_numpy(dtype=object)
    measures = np.array(list(scores), dtype=object)
    values = np.stack(list(scores.values()), axis=1)  # (n_answers, n_scores)
    columns = {
        "name": np.repeat(runs, n_scores),
        "qid": np.repeat(qids, n_scores),
        "measure": np.tile(measures, n_answers),
        "value": values.ravel(),
    }
    frame = pd.DataFrame(columns)[COLUMNS]
    has_value = frame["value"].notna()
    frame = frame[has_value].reset_index(drop=True)
    with errors_of(what):
        check_distinct(frame, "keep one answer, or give each run its own name")
    record_measures(frame, dict.fromkeys(scores, UNIT_SCORE))
    return frame


def weighted_means(answer: Ints, values: Floats, weights: Floats, n_answers: int) -> Floats:
    """Return the weighted mean of the rows of each answer, Σ w x / Σ w; 0 if its weights sum to 0.

    Parameters
    ----------
    answer : ndarray of int, shape (n_rows,)
        The index of the answer of each row.
    values, weights : ndarray of float, shape (n_rows,)
        The values x and the weights w ≥ 0.
    n_answers : int
        The number of answers, with and without rows.
    """
    # The mean does not depend on the scale of the weights. Sums of huge ones would be infinite.
    small_weights = _divide_by_powers_of_two(weights, answer, n_answers)
    weighted_sums = sums(answer, small_weights * values, n_answers)
    sums_of_weights = sums(answer, small_weights, n_answers)
    return ratio(weighted_sums, sums_of_weights)


def _divide_by_powers_of_two(weights: Floats, answer: Ints, n_answers: int) -> Floats:
    """Return weights below 1: those of an answer are divided by the same power of two.

    Weighted means stay the same, and sums of huge weights are not infinite. Division by a power of
    two is exact.
    """
    largest_weight = np.zeros(n_answers)
    np.maximum.at(largest_weight, answer, weights)
    # `frexp` writes 12 as 0.75 * 2 ** 4; the exponent of 12 is 4.
    _, exponent = np.frexp(largest_weight)
    exponent_of_row = exponent[answer]
    return np.ldexp(weights, -exponent_of_row)  # weights / 2 ** exponent


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
    columns = {
        "answer": answer,
        "text": list(texts),
        "weight": list(weights),
        "label": list(labels),
    }
    items = pd.DataFrame(columns)
    # Texts may have been read as numbers; missing ones stay missing. If all are, the column would
    # be one of floats, to which no texts could be added.
    texts_or_missing = items["text"].map(str, na_action="ignore")
    items["text"] = texts_or_missing.astype(object)
    notes = list(_repeated_items(answers, items, what, item))
    notes += _different_items(answers, items, item)
    return notes


def _repeated_items(
    answers: pd.DataFrame, items: pd.DataFrame, what: str, noun: str
) -> Iterator[str]:
    """Yield a warning if answers have an item twice; raise an error if its labels differ.

    `items` has the columns answer, text, weight and label; `noun` is what an item is called.
    """
    with_text = items[items["text"].notna()]
    is_repeated = with_text.duplicated(["answer", "text"])
    # With one row for each label of an item, repeated items have several labels.
    distinct = with_text.drop_duplicates(["answer", "text", "label"])
    has_other_label = distinct.duplicated(["answer", "text"])
    conflicting = distinct[has_other_label]
    if len(conflicting) > 0:
        first = conflicting.iloc[0]
        title = answer_title(answers, first["answer"])
        others = tally(len(conflicting), "row")
        raise MultiAspectError(
            f"{what}: expected one label of each {noun}, got several of {shown(first['text'])} for "
            f"{title} {others}; keep the right one, or give different texts"
        )
    repeated = with_text[is_repeated]
    if len(repeated) > 0:
        yield _repetition_note(answers, repeated, noun)


def _repetition_note(answers: pd.DataFrame, repeated: pd.DataFrame, noun: str) -> str:
    """Return the warning about the rows of items that answers have twice."""
    first = repeated.iloc[0]
    text = shown(first["text"])
    title = answer_title(answers, first["answer"])
    n_repeated = number_of(len(repeated), noun)
    n_answers = number_of(repeated["answer"].nunique(), "answer")
    are_repeated = "are repeated"
    count = "count"
    if len(repeated) == 1:
        are_repeated = "is repeated"
        count = "counts"
    return (
        f"{n_repeated} of {n_answers} {are_repeated}, such as {text} for {title}, and {count} "
        f"again; drop duplicates to count each {noun} once"
    )


def _different_items(answers: pd.DataFrame, items: pd.DataFrame, noun: str) -> Iterator[str]:
    """Yield a warning if runs were judged by different items on a topic.

    `items` has the columns answer, text, weight and label; `noun` is what an item is called.
    """
    item_sets = pd.Series(_item_sets(items, len(answers)))  # one per answer
    qids = answers["qid"].to_numpy()
    n_distinct_sets = item_sets.groupby(qids, sort=False).nunique()
    has_different_sets = n_distinct_sets > 1
    topics = n_distinct_sets.index[has_different_sets].tolist()
    if topics:
        n_topics = number_of(len(topics), "topic")
        yield (
            f"on {n_topics} ({choices(topics)}), runs were judged by different {noun}s, so their "
            "scores may not be comparable"
        )


def _item_sets(items: pd.DataFrame, n_answers: int) -> list[frozenset[Hashable]]:
    """Return the set of the items of each answer; an item is its text and its weight.

    Items without a text are numbered: two answers with the same number of items have equal sets.
    """
    item_number = items.groupby(["answer", "weight"]).cumcount()
    has_text = items["text"].notna()
    texts_or_numbers = items["text"].where(has_text, item_number)
    item_sets: list[set[Hashable]] = [set() for _ in range(n_answers)]
    for answer, text, weight in zip(
        items["answer"], texts_or_numbers, items["weight"], strict=True
    ):
        item_sets[answer].add((text, weight))
    return list(map(frozenset, item_sets))
