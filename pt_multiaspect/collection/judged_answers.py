"""Judgments of answers, with one column per criterion or one row per criterion, by one or several judges."""

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
    """Return answers whose columns of runs, topics, judges and criteria are in lower case, unlike System."""
    present = {str(column): str(column).strip().lower() for column in frame.columns}
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
        if not {*group} & {*present}:
            renamed |= {column: name for column, name in present.items() if name in group}
    if renamed:
        return frame.rename(columns=renamed)
    return frame


def is_judged_answers(columns: Iterable[Any]) -> bool:
    """Return whether the columns of a frame are those of runs, without documents."""
    present = {str(column).strip().lower() for column in columns}
    return bool(present & {*RUN_COLUMNS, *_OTHER_RUNS}) and not present & {
        *DOCUMENT_COLUMNS,
        "docid",
    }


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
    for more in usual:
        names += more
        if {*names} & {*frame.columns}:
            return id_column(frame, names, what)
    raise MultiAspectError(
        f"{what}: expected one column {' or '.join(names)}, got the columns "
        f"{choices(frame.columns)}; rename one. "
        f"{IF_EVALUATED}"
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
    telling = {"judge": present & {*_JUDGES}, "repetition": present & {*_REPETITIONS}}
    for key, columns in telling.items():
        if columns:
            keys[key] = identifiers(id_column(frame, tuple(columns), what), what)
        else:
            keys[key] = ""
    read = _read_long if present & {*CRITERION_COLUMNS} else _read_wide
    own = {*RUN_COLUMNS, *telling["judge"], *telling["repetition"]}
    own |= {
        _key_column(frame, what, RUN_COLUMNS, _OTHER_RUNS).name,
        _key_column(frame, what, QUERY_COLUMNS, OTHER_QUERIES, (QUESTION,)).name,
    }
    criteria = read(frame, keys, own, spec, what)
    if isinstance(spec, Aspects):
        declared = dict(spec)
    else:
        declared = {}
    for name, labels in criteria.items():
        if name in declared:
            codes = declared[name].unjudged
        else:
            codes = ()
        criteria[name] = CriterionLabels(labels.rows, without_missing(labels.column, codes))
        repeated = np.flatnonzero(labels.rows.duplicated(["answer", "judge", "repetition"]))
        if len(repeated):
            row = labels.rows.iloc[repeated[0]]
            if row["judge"]:
                by = f" by judge {row['judge']}"
            else:
                by = ""
            remedy = (
                "keep one answer, or give each run its own name; tell several labels of an answer "
                "apart by "
                + ("a column repetition" if telling["judge"] else "a column judge or repetition")
            )
            if read is _read_wide:
                remedy += (
                    "; if each row is about one criterion, name the columns criterion and score"
                )
            raise MultiAspectError(
                f"{what}: expected one value of {name} for {row['name']} on topic "
                f"{row['qid']}{by}, got several "
                f"{tally(len(repeated), 'row')}; {remedy}"
            )
    return keys.drop_duplicates("answer", ignore_index=True)[["name", "qid"]], criteria


def _unnest_scores(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    """Return rows with a column per criterion instead of the column of objects ``{criterion: score}``, if any."""
    if NESTED not in frame.columns or not any(
        isinstance(value, Mapping) for value in frame[NESTED]
    ):
        return frame
    objects = [dict(value) if isinstance(value, Mapping) else {} for value in frame[NESTED]]
    for row, scores in enumerate(objects):
        inner = [name for name, value in scores.items() if isinstance(value, Mapping)]
        if inner:
            raise MultiAspectError(
                f"{what}: expected numbers in the column {NESTED}, got {shown(scores[inner[0]])} "
                f"as {inner[0]} "
                f"(row {row + 1}); keep the number only"
            )
    with refuse_surrogates(what):
        flat = pd.concat(
            [frame.drop(columns=NESTED), pd.DataFrame(objects, index=frame.index)], axis=1
        )
    check_distinct_columns(flat, what)
    return flat


def _read_long(
    frame: pd.DataFrame, keys: pd.DataFrame, own: Collection[str], spec: AspectSpec, what: str
) -> dict[str, CriterionLabels]:
    """Return the labels of rows about one criterion each."""
    column = id_column(frame, CRITERION_COLUMNS, what)
    if not {*SCORE_COLUMNS} & {*frame.columns}:
        raise MultiAspectError(
            f"{what}: expected a column score beside {column.name}, got the columns "
            f"{choices(frame.columns)}; "
            f"rename the column of scores, or omit {column.name} if each criterion has its own "
            "column"
        )
    value = id_column(frame, SCORE_COLUMNS, what)
    code, criteria = pd.factorize(identifiers(column, what))
    names = criterion_names(criteria.tolist(), what)
    names = _as_declared(names, spec)
    refuse_unknown(spec or (), names, "criteria", what)
    rows = {name: np.flatnonzero(code == names.index(name)) for name in spec or names}
    return {
        name: CriterionLabels(keys.iloc[at], value.iloc[at].rename(name))
        for name, at in rows.items()
    }


def _read_wide(
    frame: pd.DataFrame, keys: pd.DataFrame, own: Collection[str], spec: AspectSpec, what: str
) -> dict[str, CriterionLabels]:
    """Return the labels of rows with one column per criterion."""
    if spec is None:
        added = added_columns(frame.columns)
    else:
        added = []
    if added:
        warn_of_added_columns(added, what, f", as in {parameter('aspects', ['criterion'])}")
    left_out = (*NOT_ASPECTS, *own, *added)
    named = [
        (aspect_name(column), frame[column]) for column in frame.columns if column not in left_out
    ]
    refuse_repeated((name for name, _ in named), "names of criteria", what)
    spelled = _as_declared([name for name, _ in named], spec)
    named = [(name, column) for name, (_, column) in zip(spelled, named, strict=True)]
    columns = {name: column for name, column in named if spec is not None or is_numeric(column)}
    for name, column in named if spec is None else ():
        if name in columns:
            continue
        if lacks_labels(column):
            warn_once(f"{what}: the column {column.name} is empty, so it is no criterion")
        elif texts := texts_among_numbers(column):
            warn_once(
                f"{what}: the column {column.name} is left out, as it contains texts beside "
                "numbers "
                f"({choices(map(shown, texts))}). If it is a criterion and the texts mean that "
                "there is no label, "
                f"declare it, as in {parameter('aspects', {name: {'unjudged': texts[:1]}})}"
            )
        elif texts := texts_like_labels(column, pd.factorize(keys["qid"])[0]):  # such as yes and no
            warn_once(
                f"{what}: the column {column.name} is left out. "
                f"{text_remedy(str(column.name), texts)}"
            )
    if spec is None:
        columns = _without_gold_answers(columns, what)
    measured = [name for name in columns if spec is None and _MEASUREMENTS(name)]
    if measured:
        others = [name for name in columns if name not in measured]
        warn_once(
            f"{what}: no criteria were selected, so every numeric column is one, including some "
            "that are unlikely "
            f"to contain labels: {choices(measured)}; select the criteria, as in "
            f"{parameter('aspects', dict.fromkeys(others or ['criterion']))}"
        )
    for name in columns if spec is None else ():
        if name in _ANSWERS and not pd.api.types.is_numeric_dtype(columns[name].dtype):
            others = [criterion for criterion in columns if criterion != name]
            remedy = f"select the criteria, as in {parameter('aspects', others or ['criterion'])}"
            if in_shell():
                remedy = (
                    f"declare the scales of the criteria only, with {parameter('aspects')} FILE"
                )
            warn_once(
                f"{what}: the column {name} contains numbers that are stored as text, and is a "
                "criterion, but may "
                f"contain the answers; if it does, {remedy}"
            )
    refuse_unknown(spec or (), columns, "columns of criteria", what)
    if not columns:
        raise MultiAspectError(
            f"{what}: expected at least one column of numbers, one per criterion, or the columns "
            "criterion and "
            f"score, got the columns {choices(frame.columns)}; rename them"
        )
    return {name: CriterionLabels(keys, columns[name]) for name in spec or columns}


def _without_gold_answers(
    columns: dict[str, pd.Series[Any]], what: str
) -> dict[str, pd.Series[Any]]:
    """Return columns of numbers without those that look like gold answers, with a warning for each of these."""
    for name in filter(_GOLD_ANSWERS, columns):
        warn_once(
            f"{what}: the column {name} is left out, as it looks like gold answers that are "
            "numbers. If it is a "
            f"criterion, select it, as in {parameter('aspects', {name: None})}"
        )
    return {name: column for name, column in columns.items() if not _GOLD_ANSWERS(name)}


def _as_declared(names: Sequence[str], spec: AspectSpec) -> list[str]:
    """Return the names of criteria, spelled as the declared ones, from which they may differ in case."""
    declared = {name.lower(): name for name in spec or ()}
    return [name if name in (spec or ()) else declared.get(name.lower(), name) for name in names]


def unlike_judges(rows: pd.DataFrame) -> list[str]:
    """Return the topics on which runs were judged by different judges.

    Parameters
    ----------
    rows : DataFrame
        Columns ``answer qid judge``, one row per label of a criterion.
    """
    judges = rows.groupby("answer", sort=False).agg(
        qid=("qid", "first"), judges=("judge", frozenset)
    )
    n_sets = judges.groupby("qid", sort=False)["judges"].nunique()
    return list(map(str, n_sets.index[n_sets > 1]))


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
    return choices(
        f"{name} {number}" for name, number in missing["name"].value_counts(sort=False).items()
    )


def long_answers(frame: pd.DataFrame, spec: AspectSpec, what: str) -> pd.DataFrame:
    """Return judged answers as long judgments, whose documents are the runs; each repetition is a judge."""
    _, criteria = read_criteria(frame, spec, what)
    parts = [
        labels.rows.assign(criterion=name, value=labels.column.to_numpy())
        for name, labels in criteria.items()
    ]
    long = pd.concat(parts, ignore_index=True).rename(columns={"name": "docno"})
    repetition = long["repetition"].where(long["repetition"] == "", " " + long["repetition"])
    return long.assign(judge=(long["judge"] + repetition).str.strip())
