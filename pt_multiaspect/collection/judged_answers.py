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
_match_gold_answers = re.compile(
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
_match_measurement = re.compile(
    r"(.*_)?"
    r"(latency|duration|runtime|elapsed|cost|price|seed|tokens?|id|index|timestamp|time|date)"
    r"(_?(ms|s|sec|usd|count))?",  # such as 'total_latency_ms'
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
    """Return answers whose columns of runs, topics, judges and criteria are in lower case.

    A column Name becomes name, unless there is another column with a usual name of runs.
    """
    columns = list(map(str, frame.columns))
    lower_case_of_column = {}
    for column in columns:
        lower_case_of_column[column] = column.strip().lower()

    new_names: dict[str, str] = {}
    for usual_names in _usual_names(lower_case_of_column.values()):
        has_usual_name = not usual_names.isdisjoint(columns)
        if has_usual_name:
            continue
        for column, lower_case in lower_case_of_column.items():
            if lower_case in usual_names:
                new_names[column] = lower_case
    if not new_names:
        return frame
    return frame.rename(columns=new_names)


def _usual_names(columns: Iterable[str]) -> list[set[str]]:
    """Return the usual names of each kind of column: of runs, topics, judges and so on.

    `columns` are the columns of a frame, in lower case.
    """
    kinds = [
        {*RUN_COLUMNS, *_OTHER_RUNS},
        {*QUERY_COLUMNS, *OTHER_QUERIES, QUESTION},
        {*_JUDGES},
        {*_REPETITIONS},
        {*CRITERION_COLUMNS},
    ]
    # Beside a column of criteria, one such as value contains their labels. Without it, value is
    # itself a criterion, whose name is kept as it is spelled.
    has_criterion_column = not {*CRITERION_COLUMNS}.isdisjoint(columns)
    if has_criterion_column:
        kinds.append({*SCORE_COLUMNS})
    return kinds


def is_judged_answers(columns: Iterable[Any]) -> bool:
    """Return whether the columns of a frame, in any case, are those of runs without documents."""
    names = map(str, columns)
    present = {name.strip().lower() for name in names}
    has_run = bool(present & {*RUN_COLUMNS, *_OTHER_RUNS})
    has_document = bool(present & {*DOCUMENT_COLUMNS, "docid"})
    return has_run and not has_document


def answer_keys(
    frame: pd.DataFrame,
    what: str,
    queries: tuple[str, ...] = QUERY_COLUMNS,
    others: tuple[tuple[str, ...], ...] = (OTHER_QUERIES, (QUESTION,)),
) -> pd.DataFrame:
    """Return the run and the topic of each row of a frame, as the columns ``name qid``.

    Parameters
    ----------
    frame : DataFrame
        Answers, with a column of runs and one of topics.
    what : str
        The beginning of errors.
    queries : tuple of str
        Possible names of the column of topics.
    others : tuple of tuple of str
        Further names, in groups: ``(("topic", "topic_id"), ("question_id",))`` are for frames
        without a column among `queries`, and ``question_id`` for those without the others, too.
    """
    check_distinct_columns(frame, what)
    refuse_none(frame, "row", what)
    run_column = _key_column(frame, what, RUN_COLUMNS, _OTHER_RUNS)
    query_column = _key_column(frame, what, queries, *others)
    names = identifiers(run_column, what)
    qids = identifiers(query_column, what)
    return pd.DataFrame({"name": names, "qid": qids})


def _key_column(frame: pd.DataFrame, what: str, *groups: tuple[str, ...]) -> pd.Series[Any]:
    """Return the column whose name is in the first of the groups of names that the frame has.

    Names of a group count only if the frame has no column of the groups before.
    """
    names_so_far: list[str] = []
    for group in groups:
        names_so_far += group
        has_column = not set(frame.columns).isdisjoint(group)
        if has_column:
            # No name before is a column, but errors list all names that are expected.
            return id_column(frame, names_so_far, what)
    names = " or ".join(names_so_far)
    raise MultiAspectError(
        f"{what}: expected one column {names}, got the columns {choices(frame.columns)}; "
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
    present = {*frame.columns}
    judge_columns = present & {*_JUDGES}
    repetition_columns = present & {*_REPETITIONS}
    # What tells the labels of a criterion apart: the number of the answer, judge and repetition.
    keys["answer"] = keys.groupby(["name", "qid"], sort=False).ngroup().to_numpy()
    keys["judge"] = _ids_or_empty(frame, judge_columns, what)
    keys["repetition"] = _ids_or_empty(frame, repetition_columns, what)

    # The columns that cannot be criteria.
    key_columns = _columns_of_runs_and_topics(frame, what) | judge_columns | repetition_columns
    is_long = bool(present & {*CRITERION_COLUMNS})
    if is_long:
        criteria = _read_long(frame, keys, spec, what)
    else:
        criteria = _read_wide(frame, keys, key_columns, spec, what)
    remedy = _remedy_for_repeated_labels(has_judges=bool(judge_columns), is_long=is_long)
    for name, labels in criteria.items():
        criteria[name] = _without_declared_codes(name, labels, spec)
        _refuse_repeated_labels(name, labels.rows, remedy, what)
    answers = keys.drop_duplicates("answer", ignore_index=True)
    return answers[["name", "qid"]], criteria


def _columns_of_runs_and_topics(frame: pd.DataFrame, what: str) -> set[Any]:
    """Return the columns of runs and topics, and all names that a column of runs may have."""
    run_column = _key_column(frame, what, RUN_COLUMNS, _OTHER_RUNS).name
    query_column = _key_column(frame, what, QUERY_COLUMNS, OTHER_QUERIES, (QUESTION,)).name
    return {*RUN_COLUMNS, run_column, query_column}


def _without_declared_codes(
    name: str, labels: CriterionLabels, spec: AspectSpec
) -> CriterionLabels:
    """Return the labels of a criterion, missing where they are declared codes of missing labels."""
    codes: tuple[float | str, ...] = ()
    if isinstance(spec, Aspects) and name in spec:
        codes = spec[name].unjudged
    column = without_missing(labels.column, codes)
    return CriterionLabels(labels.rows, column)


def _remedy_for_repeated_labels(*, has_judges: bool, is_long: bool) -> str:
    """Return what tells several labels of an answer apart, for an error.

    The parameters tell whether there is a column of judges, and one row per criterion.
    """
    if has_judges:
        remedy = "a column repetition"
    else:
        remedy = "a column judge or repetition"
    if is_long:
        return remedy
    return f"{remedy}; if each row is about one criterion, name the columns criterion and score"


def _ids_or_empty(frame: pd.DataFrame, columns: Collection[str], what: str) -> Any:
    """Return the one of the columns as identifiers, or an empty text if there is none."""
    if not columns:
        return ""
    column = id_column(frame, tuple(columns), what)
    return identifiers(column, what)


def _refuse_repeated_labels(name: str, rows: pd.DataFrame, remedy: str, what: str) -> None:
    """Raise an error for several labels of an answer by one judge.

    Parameters
    ----------
    name : str
        The criterion.
    rows : DataFrame
        Columns ``name qid answer judge repetition``, one row per label of the criterion.
    remedy : str
        What tells several labels of an answer apart.
    what : str
        The beginning of errors.
    """
    is_repeated = rows.duplicated(["answer", "judge", "repetition"])
    repeated = rows[is_repeated]
    if repeated.empty:
        return
    first = repeated.iloc[0]
    run = first["name"]
    topic = first["qid"]
    judge = ""
    if first["judge"]:
        judge = f" by judge {first['judge']}"
    number = tally(len(repeated), "row")
    raise MultiAspectError(
        f"{what}: expected one value of {name} for {run} on topic {topic}{judge}, got "
        f"several {number}; keep one answer, or give each run its own name; "
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
    for row, value in enumerate(frame[NESTED], start=1):
        scores: dict[Any, Any] = {}  # also for a missing object
        if isinstance(value, Mapping):
            scores = dict(value)
        _refuse_nested_scores(scores, row, what)
        objects.append(scores)
    with refuse_surrogates(what):
        scores_by_criterion = pd.DataFrame(objects, index=frame.index)
        other_columns = frame.drop(columns=NESTED)
        flat = pd.concat([other_columns, scores_by_criterion], axis=1)
    check_distinct_columns(flat, what)
    return flat


def _refuse_nested_scores(scores: Mapping[Any, Any], row: int, what: str) -> None:
    """Raise an error if the score of a criterion is itself an object; rows start at 1."""
    for name, score in scores.items():
        if isinstance(score, Mapping):
            raise MultiAspectError(
                f"{what}: expected numbers in the column {NESTED}, got {shown(score)} "
                f"as {name} (row {row}); keep the number only"
            )


def _read_long(
    frame: pd.DataFrame, keys: pd.DataFrame, spec: AspectSpec, what: str
) -> dict[str, CriterionLabels]:
    """Return the labels of rows about one criterion each.

    `keys` has the run, topic, answer, judge and repetition of each row of `frame`. `spec` are the
    criteria to read, all for None.
    """
    criterion_column = id_column(frame, CRITERION_COLUMNS, what)
    scores = _score_column(frame, criterion_column.name, what)
    criterion_of_row, criteria = pd.factorize(identifiers(criterion_column, what))
    # Element i is the name of the criterion with the number i in `criterion_of_row`.
    names = criterion_names(criteria.tolist(), what)
    names = _as_declared(names, spec)
    refuse_unknown(spec or (), names, "criteria", what)
    labels: dict[str, CriterionLabels] = {}
    for name in spec or names:
        criterion = names.index(name)
        rows = np.flatnonzero(criterion_of_row == criterion)
        scores_of_criterion = scores.iloc[rows].rename(name)
        labels[name] = CriterionLabels(keys.iloc[rows], scores_of_criterion)
    return labels


def _score_column(frame: pd.DataFrame, criterion_column: object, what: str) -> pd.Series[Any]:
    """Return the column of scores of long rows; raise an error if there is none or several.

    `criterion_column` is the name of the column of criteria, for the error.
    """
    has_scores = bool({*frame.columns} & {*SCORE_COLUMNS})
    if not has_scores:
        raise MultiAspectError(
            f"{what}: expected a column score beside {criterion_column}, got the columns "
            f"{choices(frame.columns)}; rename the column of scores, or omit "
            f"{criterion_column} if each criterion has its own column"
        )
    return id_column(frame, SCORE_COLUMNS, what)


def _read_wide(
    frame: pd.DataFrame,
    keys: pd.DataFrame,
    key_columns: Collection[Any],
    spec: AspectSpec,
    what: str,
) -> dict[str, CriterionLabels]:
    """Return the labels of rows with one column per criterion.

    `keys` has the run, topic, answer, judge and repetition of each row of `frame`, which are in its
    `key_columns`.
    """
    columns = _candidate_columns(frame, key_columns, spec, what)
    if spec is None:
        query, _ = pd.factorize(keys["qid"])
        columns = _likely_criteria(columns, query, what)
    refuse_unknown(spec or (), columns, "columns of criteria", what)
    if not columns:
        raise MultiAspectError(
            f"{what}: expected at least one column of numbers, one per criterion, or the columns "
            f"criterion and score, got the columns {choices(frame.columns)}; rename them"
        )
    labels: dict[str, CriterionLabels] = {}
    for name in spec or columns:
        labels[name] = CriterionLabels(keys, columns[name])
    return labels


def _candidate_columns(
    frame: pd.DataFrame, key_columns: Collection[Any], spec: AspectSpec, what: str
) -> dict[str, pd.Series[Any]]:
    """Return the columns that may be criteria, by the name of the criterion.

    Without a selection, row indexes and ids in another spelling are left out, with a warning.
    """
    left_out = [*NOT_ASPECTS, *key_columns]
    if spec is None:
        added = added_columns(frame.columns)
        left_out += added
        if added:
            example = parameter("aspects", ["criterion"])
            warn_of_added_columns(added, what, f", as in {example}")
    kept = [column for column in frame.columns if column not in left_out]
    names = [aspect_name(column) for column in kept]
    refuse_repeated(names, "names of criteria", what)
    declared_names = _as_declared(names, spec)
    columns: dict[str, pd.Series[Any]] = {}
    for name, column in zip(declared_names, kept, strict=True):
        columns[name] = frame[column]
    return columns


def _likely_criteria(
    columns: Mapping[str, pd.Series[Any]], query: Ints, what: str
) -> dict[str, pd.Series[Any]]:
    """Return the columns of numbers that may be criteria, with warnings about doubtful ones.

    `query` is the query of each row.
    """
    numeric: dict[str, pd.Series[Any]] = {}
    for name, column in columns.items():
        if is_numeric(column):
            numeric[name] = column
        else:
            _warn_of_left_out(name, column, query, what)
    criteria = _without_gold_answers(numeric, what)
    names = list(criteria)
    _warn_of_measurements(names, what)
    for name, column in criteria.items():
        # Numbers that are stored as texts, such as '42', may be the answers themselves.
        are_stored_as_texts = not pd.api.types.is_numeric_dtype(column.dtype)
        if name in _ANSWERS and are_stored_as_texts:
            _warn_of_numeric_answers(name, names, what)
    return criteria


def _warn_of_left_out(name: str, column: pd.Series[Any], query: Ints, what: str) -> None:
    """Warn if a column that is not numeric may be a criterion; `query` is that of each row."""
    if lacks_labels(column):
        warn_once(f"{what}: the column {column.name} is empty, so it is no criterion")
        return
    texts = texts_among_numbers(column)
    if texts:
        declaration = parameter("aspects", {name: {"unjudged": texts[:1]}})
        listed = choices(map(shown, texts))
        warn_once(
            f"{what}: the column {column.name} is left out, as it contains texts beside "
            f"numbers ({listed}). If it is a criterion and the texts mean that "
            f"there is no label, declare it, as in {declaration}"
        )
        return
    texts = texts_like_labels(column, query)  # such as yes and no
    if texts:
        remedy = text_remedy(str(column.name), texts)
        warn_once(f"{what}: the column {column.name} is left out. {remedy}")


def _warn_of_measurements(names: Sequence[str], what: str) -> None:
    """Warn if some criteria have names of measurements."""
    measurements = [name for name in names if _match_measurement(name)]
    if not measurements:
        return
    likely = [name for name in names if name not in measurements] or ["criterion"]
    example = parameter("aspects", dict.fromkeys(likely))
    warn_once(
        f"{what}: no criteria were selected, so every numeric column is one, including some "
        f"that are unlikely to contain labels: {choices(measurements)}; select the criteria, as in "
        f"{example}"
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
        if not _match_gold_answers(name):
            kept[name] = column
            continue
        example = parameter("aspects", {name: None})
        warn_once(
            f"{what}: the column {name} is left out, as it looks like gold answers that are "
            f"numbers. If it is a criterion, select it, as in {example}"
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
    rows_by_answer = rows.groupby("answer", sort=False)
    answers = rows_by_answer.agg(qid=("qid", "first"), judges=("judge", frozenset))
    answers_by_topic = answers.groupby("qid", sort=False)
    n_sets_of_judges = answers_by_topic["judges"].nunique()
    has_unlike_judges = n_sets_of_judges > 1
    topics = n_sets_of_judges.index[has_unlike_judges]
    return list(map(str, topics))


def count_missing(answers: pd.DataFrame, criteria: Mapping[str, CriterionLabels]) -> pd.DataFrame:
    """Return one row per missing label: of rows without one, and of answers without any row.

    Parameters
    ----------
    answers : DataFrame
        Columns ``name qid``, one row per answer.
    criteria : mapping of str to CriterionLabels
        The labels by criterion.

    Returns
    -------
    DataFrame
        Columns ``name qid criterion``, and whether the answer has others of it, ``has_others``.
    """
    n_answers = len(answers)
    parts = []
    for name, labels in criteria.items():
        is_present = labels.column.notna().to_numpy()
        n_rows = np.bincount(labels.answer, minlength=n_answers)  # per answer
        n_labels = np.bincount(labels.answer[is_present], minlength=n_answers)
        with_empty_row = labels.answer[~is_present]
        without_row = np.flatnonzero(n_rows == 0)
        lacking = np.concatenate([with_empty_row, without_row])
        has_others = n_labels[lacking] > 0
        missing = answers.iloc[lacking].assign(criterion=name, has_others=has_others)
        parts.append(missing)
    return pd.concat(parts, ignore_index=True)


def by_run(missing: pd.DataFrame) -> str:
    """Return how many labels of each run are missing, as 'a 3, b 1'.

    `missing` has one row per missing label, with its run as ``name``.
    """
    counts = missing["name"].value_counts(sort=False)
    texts = [f"{name} {count}" for name, count in counts.items()]
    return choices(texts)


def long_answers(frame: pd.DataFrame, spec: AspectSpec, what: str) -> pd.DataFrame:
    """Return judged answers as long judgments, of runs as documents; repetitions are judges.

    The parameters are those of `read_criteria`.
    """
    _, criteria = read_criteria(frame, spec, what)
    parts = []
    for name, labels in criteria.items():
        values = labels.column.to_numpy()
        part = labels.rows.assign(criterion=name, value=values)
        parts.append(part)
    long = pd.concat(parts, ignore_index=True)
    long = long.rename(columns={"name": "docno"})
    # The second label of judge A is by the judge 'A 2'; repetitions and judges may be empty texts.
    judge_and_repetition = long["judge"] + " " + long["repetition"]
    return long.assign(judge=judge_and_repetition.str.strip())
