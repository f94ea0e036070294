"""Judgments of answers by one or several judges, with one column or one row per criterion."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Ints
from ..aspects import Aspects, AspectSpec, aspect_name
from ..errors import (
    MultiAspectError,
    choices,
    in_shell,
    parameter,
    refuse_none,
    refuse_repeated,
    refuse_surrogates,
    refuse_unknown,
    shown,
    tally,
    warn_once,
)
from ..strings.identifiers import identifiers
from .columns import (
    DOCUMENT_COLUMNS,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    added_columns,
    check_distinct_columns,
    id_column,
    is_numeric,
    lacks_labels,
    text_remedy,
    texts_among_numbers,
    texts_like_labels,
    warn_of_added_columns,
    without_missing,
)
from .long_judgments import JUDGE, criterion_names

#: Names of the column with the run of an answer, and others that count if a frame has none of
#: these.
RUN_COLUMNS = ("name", "run_id")
_OTHER_RUNS = ("system",)
#: The remedy for rows that may be no answers.
IF_EVALUATED = "If it is a run or qrels, pass it to evaluate"

#: Names of the column of topics if there are no query ids.
OTHER_QUERIES = ("topic", "topic_id")

#: The name that counts if there is none of these: beside them, it may be that of a question of a
#: rubric.
QUESTION = "question_id"

#: Columns that mostly contain texts of answers, of which a few may be numbers.
_ANSWERS = ("answer", "answer_text", "response")

#: Columns with gold answers, which may be numbers.
_GOLD_ANSWERS = re.compile(
    r"(references?|ground_truths?|expected|gold)(_(answer|output|response)s?)?", re.IGNORECASE
).fullmatch

#: The column of objects ``{criterion: score}``.
NESTED = "scores"

#: The columns of long rows, and those that tell several labels of an answer apart.
CRITERION_COLUMNS = ("criterion", "aspect", "metric")
SCORE_COLUMNS = ("score", "value", "label", "grade", "rating")
_JUDGES = (JUDGE, "judge_id", "assessor", "annotator")
_REPETITIONS = ("repetition", "repeat", "trial")


#: Columns of measurements that are no labels.
_MEASUREMENTS = re.compile(
    r"(.*_)?(latency|duration|runtime|elapsed|cost|price|seed|tokens?|id|index|timestamp|time|date)(_?(ms|s|sec|usd|count))?",
    re.IGNORECASE,
).fullmatch


@dataclass(frozen=True, eq=False)
class CriterionLabels:
    """The labels of a criterion."""

    #: One row per label: ``name qid judge repetition``, and the position of its ``answer``.
    rows: pd.DataFrame
    #: The labels as given; missing ones are None or NaN.
    column: pd.Series[Any]

    @property
    def answer(self) -> Ints:
        """The position of the answer of each label."""
        return self.rows["answer"].to_numpy()


def with_usual_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return answers whose columns of runs, topics, judges and criteria are in lower case."""
    present = {}
    for column in map(str, frame.columns):
        present[column] = column.strip().lower()
    groups = [
        (*RUN_COLUMNS, *_OTHER_RUNS),
        (*QUERY_COLUMNS, *OTHER_QUERIES, QUESTION),
        _JUDGES,
        _REPETITIONS,
        CRITERION_COLUMNS,
    ]
    if {*present.values()} & {*CRITERION_COLUMNS}:
        groups.append(SCORE_COLUMNS)  # otherwise, they may be criteria
    renamed: dict[str, str] = {}
    for group in groups:
        if {*group} & {*present}:
            continue
        renamed |= {column: name for column, name in present.items() if name in group}
    if renamed:
        return frame.rename(columns=renamed)
    return frame


def is_judged_answers(columns: Iterable[Any]) -> bool:
    """Return whether the columns of a frame are those of runs, without documents."""
    present = {str(column).strip().lower() for column in columns}
    has_run = bool(present & {*RUN_COLUMNS, *_OTHER_RUNS})
    has_document = bool(present & {*DOCUMENT_COLUMNS, "docid"})
    return has_run and not has_document


def answer_keys(
    frame: pd.DataFrame,
    what: str,
    queries: tuple[str, ...] = QUERY_COLUMNS,
    others: tuple[tuple[str, ...], ...] = (OTHER_QUERIES, (QUESTION,)),
) -> pd.DataFrame:
    """Return the run and the topic of each row of a frame, as the columns ``name qid``."""
    check_distinct_columns(frame, what)
    refuse_none(frame, "row", what)
    name = _key_column(frame, what, RUN_COLUMNS, _OTHER_RUNS)
    qid = _key_column(frame, what, queries, *others)
    return pd.DataFrame({"name": identifiers(name, what), "qid": identifiers(qid, what)})


def _key_column(frame: pd.DataFrame, what: str, *usual: tuple[str, ...]) -> pd.Series[Any]:
    """Return the one column among the first names of which there is one."""
    names: tuple[str, ...] = ()
    for further_names in usual:
        names += further_names
        if {*names} & {*frame.columns}:
            return id_column(frame, names, what)
    expected = " or ".join(names)
    raise MultiAspectError(
        f"{what}: expected one column {expected}, got the columns {choices(frame.columns)}; "
        f"rename one. {IF_EVALUATED}"
    )


def read_criteria(
    frame: pd.DataFrame, spec: AspectSpec, what: str
) -> tuple[pd.DataFrame, dict[str, CriterionLabels]]:
    """Read judged answers.

    Parameters
    ----------
    frame : DataFrame
        One row per answer and judge with one column per criterion, or one row per answer, criterion
        and judge.
    spec : Aspects, tuple of str or None
        The criteria to read; None for all.
    what : str
        The beginning of errors.

    Returns
    -------
    answers : DataFrame
        Columns ``name qid``, one row per answer.
    criteria : dict of str to CriterionLabels
        The labels by criterion, in the order of `spec`.
    """
    keys = answer_keys(frame, what)
    frame = _unnest_scores(frame, what)
    keys["answer"] = keys.groupby(["name", "qid"], sort=False).ngroup().to_numpy()
    present = {*frame.columns}
    judge_columns = present & {*_JUDGES}
    repetition_columns = present & {*_REPETITIONS}
    keys["judge"] = _ids_or_empty(frame, judge_columns, what)
    keys["repetition"] = _ids_or_empty(frame, repetition_columns, what)
    run_column = _key_column(frame, what, RUN_COLUMNS, _OTHER_RUNS).name
    query_column = _key_column(frame, what, QUERY_COLUMNS, OTHER_QUERIES, (QUESTION,)).name
    own = {*RUN_COLUMNS, *judge_columns, *repetition_columns, run_column, query_column}
    is_long = bool(present & {*CRITERION_COLUMNS})
    if is_long:
        criteria = _read_long(frame, keys, spec, what)
    else:
        criteria = _read_wide(frame, keys, own, spec, what)

    if judge_columns:
        remedy = "a column repetition"
    else:
        remedy = "a column judge or repetition"
    if not is_long:
        remedy += "; if each row is about one criterion, name the columns criterion and score"
    for name, labels in criteria.items():
        codes: tuple[float | str, ...] = ()
        if isinstance(spec, Aspects) and name in spec:
            codes = spec[name].unjudged
        criteria[name] = CriterionLabels(labels.rows, without_missing(labels.column, codes))
        _refuse_repeated_labels(name, labels.rows, remedy, what)
    answers = keys.drop_duplicates("answer", ignore_index=True)
    return answers[["name", "qid"]], criteria


def _ids_or_empty(frame: pd.DataFrame, columns: Collection[str], what: str) -> Any:
    """Return the one of the columns as identifiers, or an empty text if there is none."""
    if not columns:
        return ""
    return identifiers(id_column(frame, tuple(columns), what), what)


def _refuse_repeated_labels(name: str, rows: pd.DataFrame, remedy: str, what: str) -> None:
    """Raise an error for several labels of an answer by one judge; `remedy` tells them apart."""
    repeated = np.flatnonzero(rows.duplicated(["answer", "judge", "repetition"]))
    if not len(repeated):
        return
    row = rows.iloc[repeated[0]]
    if row["judge"]:
        by = f" by judge {row['judge']}"
    else:
        by = ""
    raise MultiAspectError(
        f"{what}: expected one value of {name} for {row['name']} on topic {row['qid']}{by}, got "
        f"several {tally(len(repeated), 'row')}; keep one answer, or give each run its own name; "
        f"tell several labels of an answer apart by {remedy}"
    )


def _unnest_scores(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return rows with a column per criterion instead of objects ``{criterion: score}``, if any."""
    if NESTED not in frame.columns:
        return frame
    has_objects = any(isinstance(value, Mapping) for value in frame[NESTED])
    if not has_objects:
        return frame
    objects: list[dict[Any, Any]] = []
    for value in frame[NESTED]:
        if isinstance(value, Mapping):
            objects.append(dict(value))
        else:
            objects.append({})
    for row, scores in enumerate(objects, start=1):
        for name, value in scores.items():
            if isinstance(value, Mapping):
                raise MultiAspectError(
                    f"{what}: expected numbers in the column {NESTED}, got {shown(value)} "
                    f"as {name} (row {row}); keep the number only"
                )
    with refuse_surrogates(what):
        scores_by_criterion = pd.DataFrame(objects, index=frame.index)
        flat = pd.concat([frame.drop(columns=NESTED), scores_by_criterion], axis=1)
    check_distinct_columns(flat, what)
    return flat


def _read_long(
    frame: pd.DataFrame, keys: pd.DataFrame, spec: AspectSpec, what: str
) -> dict[str, CriterionLabels]:
    """Return the labels of rows about one criterion each."""
    column = id_column(frame, CRITERION_COLUMNS, what)
    if not {*SCORE_COLUMNS} & {*frame.columns}:
        raise MultiAspectError(
            f"{what}: expected a column score beside {column.name}, got the columns "
            f"{choices(frame.columns)}; rename the column of scores, or omit {column.name} if "
            "each criterion has its own column"
        )
    value = id_column(frame, SCORE_COLUMNS, what)
    code, criteria = pd.factorize(identifiers(column, what))
    names = criterion_names(criteria.tolist(), what)
    names = _as_declared(names, spec)
    refuse_unknown(spec or (), names, "criteria", what)
    labels: dict[str, CriterionLabels] = {}
    for name in spec or names:
        rows = np.flatnonzero(code == names.index(name))
        column_of_criterion = value.iloc[rows].rename(name)
        labels[name] = CriterionLabels(keys.iloc[rows], column_of_criterion)
    return labels


def _read_wide(
    frame: pd.DataFrame, keys: pd.DataFrame, own: Collection[Any], spec: AspectSpec, what: str
) -> dict[str, CriterionLabels]:
    """Return the labels of rows with one column per criterion."""
    left_out = [*NOT_ASPECTS, *own]
    if spec is None:
        added = added_columns(frame.columns)
        left_out += added
        if added:
            warn_of_added_columns(added, what, f", as in {parameter('aspects', ['criterion'])}")
    kept = [column for column in frame.columns if column not in left_out]
    names = [aspect_name(column) for column in kept]
    refuse_repeated(names, "names of criteria", what)
    spelled = _as_declared(names, spec)
    columns = {name: frame[column] for name, column in zip(spelled, kept, strict=True)}
    if spec is None:
        columns = _likely_criteria(columns, pd.factorize(keys["qid"])[0], what)
    refuse_unknown(spec or (), columns, "columns of criteria", what)
    if not columns:
        raise MultiAspectError(
            f"{what}: expected at least one column of numbers, one per criterion, or the columns "
            f"criterion and score, got the columns {choices(frame.columns)}; rename them"
        )
    return {name: CriterionLabels(keys, columns[name]) for name in spec or columns}


def _likely_criteria(
    columns: Mapping[str, pd.Series[Any]], query: Ints, what: str
) -> dict[str, pd.Series[Any]]:
    """Return the columns of numbers that may be criteria, with warnings about doubtful ones."""
    numeric: dict[str, pd.Series[Any]] = {}
    others: dict[str, pd.Series[Any]] = {}
    for name, column in columns.items():
        if is_numeric(column):
            numeric[name] = column
        else:
            others[name] = column
    for name, column in others.items():
        _warn_of_left_out(name, column, query, what)
    criteria = _without_gold_answers(numeric, what)
    _warn_of_measurements(list(criteria), what)
    for name, column in criteria.items():
        if name in _ANSWERS and not pd.api.types.is_numeric_dtype(column.dtype):
            _warn_of_numeric_answers(name, list(criteria), what)
    return criteria


def _warn_of_left_out(name: str, column: pd.Series[Any], query: Ints, what: str) -> None:
    """Warn if a column that is not numeric may be a criterion."""
    if lacks_labels(column):
        warn_once(f"{what}: the column {column.name} is empty, so it is no criterion")
        return
    texts = texts_among_numbers(column)
    if texts:
        declaration = parameter("aspects", {name: {"unjudged": texts[:1]}})
        warn_once(
            f"{what}: the column {column.name} is left out, as it contains texts beside "
            f"numbers ({choices(map(shown, texts))}). If it is a criterion and the texts mean that "
            f"there is no label, declare it, as in {declaration}"
        )
        return
    texts = texts_like_labels(column, query)  # such as yes and no
    if texts:
        remedy = text_remedy(str(column.name), texts)
        warn_once(f"{what}: the column {column.name} is left out. {remedy}")


def _warn_of_measurements(names: Sequence[str], what: str) -> None:
    """Warn if some criteria have names of measurements."""
    measured = [name for name in names if _MEASUREMENTS(name)]
    if not measured:
        return
    likely = [name for name in names if name not in measured] or ["criterion"]
    warn_once(
        f"{what}: no criteria were selected, so every numeric column is one, including some "
        f"that are unlikely to contain labels: {choices(measured)}; select the criteria, as in "
        f"{parameter('aspects', dict.fromkeys(likely))}"
    )


def _warn_of_numeric_answers(name: str, names: Sequence[str], what: str) -> None:
    """Warn that a criterion may contain the texts of answers."""
    others = [criterion for criterion in names if criterion != name] or ["criterion"]
    if in_shell():
        remedy = f"declare the scales of the criteria only, with {parameter('aspects')} FILE"
    else:
        remedy = f"select the criteria, as in {parameter('aspects', others)}"
    warn_once(
        f"{what}: the column {name} contains numbers that are stored as text, and is a "
        f"criterion, but may contain the answers; if it does, {remedy}"
    )


def _without_gold_answers(
    columns: dict[str, pd.Series[Any]], what: str
) -> dict[str, pd.Series[Any]]:
    """Return columns without those that look like gold answers, and warn about these."""
    kept: dict[str, pd.Series[Any]] = {}
    for name, column in columns.items():
        if not _GOLD_ANSWERS(name):
            kept[name] = column
            continue
        warn_once(
            f"{what}: the column {name} is left out, as it looks like gold answers that are "
            f"numbers. If it is a criterion, select it, as in {parameter('aspects', {name: None})}"
        )
    return kept


def _as_declared(names: Sequence[str], spec: AspectSpec) -> list[str]:
    """Return the names of criteria, spelled as the declared ones, which may differ in case."""
    declared = list(spec or ())
    by_lower_case = {name.lower(): name for name in declared}
    spelled = []
    for name in names:
        if name in declared:
            spelled.append(name)
        else:
            spelled.append(by_lower_case.get(name.lower(), name))
    return spelled


def unlike_judges(rows: pd.DataFrame) -> list[str]:
    """Return the topics on which runs were judged by different judges.

    Parameters
    ----------
    rows : DataFrame
        Columns ``answer qid judge``, one row per label of a criterion.
    """
    by_answer = rows.groupby("answer", sort=False)
    answers = by_answer.agg(qid=("qid", "first"), judges=("judge", frozenset))
    by_topic = answers.groupby("qid", sort=False)
    n_sets = by_topic["judges"].nunique()
    topics = n_sets.index[n_sets > 1]
    return list(map(str, topics))


def count_missing(answers: pd.DataFrame, criteria: Mapping[str, CriterionLabels]) -> pd.DataFrame:
    """Count the labels that are missing: of rows without one, and of answers without any row.

    Returns
    -------
    DataFrame
        One row per missing label: ``name qid criterion``, and whether the answer has others of it.
    """
    parts = []
    for name, labels in criteria.items():
        known = labels.column.notna().to_numpy()
        n_rows = np.bincount(labels.answer, minlength=len(answers))
        n_known = np.bincount(labels.answer[known], minlength=len(answers))
        positions = np.concatenate([labels.answer[~known], np.flatnonzero(n_rows == 0)])
        missing = answers.iloc[positions].assign(criterion=name, has_others=n_known[positions] > 0)
        parts.append(missing)
    return pd.concat(parts, ignore_index=True)


def by_run(missing: pd.DataFrame) -> str:
    """Return how many labels of each run are missing, as 'a 3, b 1'."""
    counts = missing["name"].value_counts(sort=False)
    return choices(f"{name} {number}" for name, number in counts.items())


def long_answers(frame: pd.DataFrame, spec: AspectSpec, what: str) -> pd.DataFrame:
    """Return judged answers as long judgments, of runs as documents; repetitions are judges."""
    _, criteria = read_criteria(frame, spec, what)
    parts = []
    for name, labels in criteria.items():
        part = labels.rows.assign(criterion=name, value=labels.column.to_numpy())
        parts.append(part)
    long = pd.concat(parts, ignore_index=True)
    long = long.rename(columns={"name": "docno"})
    number = long["repetition"]
    repetition = number.where(number == "", " " + number)
    judge = long["judge"] + repetition
    return long.assign(judge=judge.str.strip())
