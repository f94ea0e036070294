"""Answers in a report: their texts and nuggets, values of their labels, and agreement of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd

from .._numbers import spell
from ..analysis import judge_agreement
from ..analysis.judges import LOW_ALPHA
from ..answers import combine, from_criteria
from ..answers._answer_tables import read_answers
from ..answers.products import QUESTIONS
from ..aspects import Aspect
from ..collection.columns import QUERY_COLUMNS, without_missing
from ..collection.judged_answers import (
    RUN_COLUMNS,
    CriterionLabels,
    answer_keys,
    by_run,
    count_missing,
    read_criteria,
)
from ..collection.long_judgments import COMBINATIONS
from ..errors import MultiAspectError, agree, choices, join_names, number_of, silence_warnings
from ..evaluation.long_frames import is_combined
from ..orders.tuple_order import grade_values
from ..views import Block, Cells, Column, Sentence, Table, decimals, with_interval
from .results import Results
from .summary import compared_pair

#: Columns with the text of an answer, if all its rows have the same text: else it is that of its
#: parts.
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
        For each answer ``text``, ``labels``, pairs of a column and its value, and ``items``, the
        heads and rows of a table: its nuggets, or its rows if it has several.
    """
    frame = read_answers(answers, "answers")
    keys = answer_keys(frame, "answers")
    contents = frame.drop(columns=[*RUN_COLUMNS, *QUERY_COLUMNS], errors="ignore")
    by_answer = contents.groupby([keys["name"].to_numpy(), keys["qid"].to_numpy()], sort=False)
    known = {key: _answer(rows) for key, rows in by_answer}
    payload = []
    n_shown = 0
    for name in names:
        answers_of_run = [known.get((name, qid)) for qid in qids]
        n_shown += len(qids) - answers_of_run.count(None)
        payload.append(answers_of_run)
    if not n_shown:
        other, topic = next(iter(known))
        raise MultiAspectError(
            f"answers: expected answers of the runs {choices(names)} to the topics "
            f"{choices(qids)}, got none of "
            f"these, but {other} on topic {topic}; use the names of the values"
        )
    n_pairs = len(names) * len(qids)
    if n_shown < n_pairs:
        notes.append(f"Answers are given for {n_shown} of {n_pairs} pairs of a run and a topic.")
    return payload


def _answer(rows: pd.DataFrame) -> dict[str, Any]:
    """Return an answer: what its rows have in common, and its nuggets or else its parts.

    The parts are the columns in which rows differ.
    """
    rows = rows.rename(columns=str)
    nuggets: list[Any] = []
    if "nuggets" in rows:
        nuggets = rows.pop("nuggets").dropna().explode().tolist()
    distinct: dict[str, list[str]] = {}
    for column, values in rows.items():
        texts = values.map(_text_of_value)
        distinct[str(column)] = list(dict.fromkeys(texts))
    text_column, text = _common_text(distinct)
    distinct.pop(text_column, None)
    labels = []
    varying = []
    for column, texts_of_column in distinct.items():
        if len(texts_of_column) > 1:
            varying.append(column)
        elif texts_of_column and texts_of_column[0]:
            labels.append((column, texts_of_column[0]))
    items: list[Any] = [nugget for nugget in nuggets if isinstance(nugget, Mapping)]
    if varying and not items:
        items = rows[varying].to_dict("records")
    return {"text": text, "labels": labels, "items": _items_payload(items)}


def _common_text(distinct: Mapping[str, list[str]]) -> tuple[str, str | None]:
    """Return the column with the text of an answer, and the text; '' and None without one."""
    for column in TEXTS:
        texts = list(filter(None, distinct.get(column, [])))
        if len(texts) == 1:
            return column, texts[0]
    return "", None


def _items_payload(items: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """Return mappings as the heads and rows of a table."""
    distinct_keys: dict[str, None] = {}
    for item in items:
        distinct_keys.update(dict.fromkeys(map(str, item)))
    heads = list(distinct_keys)
    rows = []
    for item in items:
        rows.append([_text_of_value(item.get(head)) for head in heads])
    return {"heads": heads, "rows": rows}


def _text_of_value(value: object) -> str:
    """Return a value as text.

    Whole numbers have no decimals; sentences with citations are their texts.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return str(value.get("text", dict(value)))
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_text_of_value, value))
    if value is None or value is pd.NA or value != value:
        return ""
    return str(value)


def question_texts(answers: object) -> dict[str, str]:
    """Return the question of each topic, if the answers have a column of them."""
    frame = read_answers(answers, "answers")
    qids = answer_keys(frame, "answers")["qid"].to_numpy()
    for column in QUESTIONS:
        if column not in frame.columns:
            continue
        is_known = frame[column].notna().to_numpy()
        texts = frame[column].dropna().map(str)
        by_topic = texts.groupby(qids[is_known]).unique()
        # Questions of a rubric are several per topic, and prompts are often the same for all
        # topics.
        if (by_topic.map(len) > 1).any():
            continue
        questions = by_topic.map(itemgetter(0))
        if questions.is_unique:
            return {str(qid): question for qid, question in questions.items() if question != qid}
    return {}


#: Tolerance for equal values, which are in [0, 1] (rounding errors of means).
_TOLERANCE = 1e-9

#: The columns of a label's answer and criterion.
_KEYS = ["name", "qid", "criterion"]

#: The confidence level of the agreement.
_CONFIDENCE = 0.95

#: The declared scale of each criterion, None without.
Scales = Mapping[str, Aspect | None]


def answers_blocks(answers: object, results: Results) -> list[Block]:
    """Return what is to be said of answers that are judged by criteria; nothing of others.

    Parameters
    ----------
    answers : DataFrame, list of dicts, path, or list of paths
        As for `report`.
    results : Results
        The results, in which the criteria are labels without a measure.
    """
    with silence_warnings():  # which the conversion to values has given
        try:
            frame, labels = read_criteria(read_answers(answers, "answers"), None, "answers")
        except MultiAspectError:  # of nuggets, for example
            return []
        criteria = {}
        scales: dict[str, Aspect | None] = {}
        for name, labels_of_criterion in labels.items():
            if results.measures.get(name, "") is None:
                criteria[name] = labels_of_criterion
                scales[name] = _scale(results, name)
        if not criteria:
            return []
        return _criteria_blocks(frame, criteria, scales, results)


def _scale(results: Results, name: str) -> Aspect | None:
    """Return the declared scale of a criterion, None without."""
    if results.scales is None:
        return None
    return results.scales.get(name)


def _criteria_blocks(
    answers: pd.DataFrame, criteria: Mapping[str, CriterionLabels], scales: Scales, results: Results
) -> list[Block]:
    """Return what is to be said of the labels of criteria."""
    pairs = results.perquery[["name", "qid"]].drop_duplicates().astype(str)
    rows = _long_rows(criteria, scales).merge(pairs)
    judges = list(filter(None, pd.unique(rows["judge"])))
    missing = _missing(answers, criteria, scales, results)
    unlabelled = _unlabelled_by_judges(rows, judges, _expected_labels(results, list(criteria)))
    if len(missing) < len(unlabelled):
        missing = unlabelled
    extent = Sentence(_extent(rows, judges, missing))
    method = _combination(rows, scales, results)
    if method is None:
        return [
            extent,
            Sentence(
                "The values are not those that from_criteria makes of these labels: check labels "
                "and scales."
            ),
        ]
    blocks: list[Block] = list(map(Sentence, _conversions(scales)))
    blocks.append(extent)
    blocks += _other_topics(answers, results)
    if rows.duplicated(_KEYS).any():
        blocks.append(Sentence(f"Several labels of an answer are combined by their {method}."))
        blocks += _agreement(rows, scales)
    if len(judges) > 1:
        blocks += _by_judge(rows, scales, method, judges, results)
    return blocks


def _long_rows(criteria: Mapping[str, CriterionLabels], scales: Scales) -> pd.DataFrame:
    """Return one row per label, with the columns that `from_criteria` reads.

    Missing labels have none.
    """
    parts = []
    for name, labels in criteria.items():
        column = _without_unjudged(labels, scales[name])
        is_known = column.notna().to_numpy()
        rows = labels.rows[["name", "qid", "judge", "repetition"]]
        rows = rows.assign(criterion=name, score=column.to_numpy())
        parts.append(rows[is_known])
    return pd.concat(parts, ignore_index=True)


def _without_unjudged(labels: CriterionLabels, aspect: Aspect | None) -> pd.Series[Any]:
    """Return the labels of a criterion, missing where they are declared to mean unjudged."""
    if aspect is None:
        return without_missing(labels.column, ())
    return without_missing(labels.column, aspect.unjudged)


def _conversions(scales: Scales) -> Iterator[str]:
    """Yield how the labels of the criteria became values, criteria with the same scale together."""
    names: dict[str, list[str]] = {}
    for name, aspect in scales.items():
        text = _conversion(aspect)
        names.setdefault(text, []).append(name)
    for text, criteria in names.items():
        yield f"{join_names(criteria)}: {text}."


def _conversion(aspect: Aspect | None) -> str:
    """Return how labels on a scale became values."""
    if aspect is None or aspect.grades is None:
        return "values in [0, 1], as given"
    grades = choices(map(spell, aspect.scale.grades))
    values = choices(f"{value:.4g}" for value in grade_values(aspect.scale))
    return f"the labels {grades} became the values {values}"


def _missing(
    answers: pd.DataFrame, criteria: Mapping[str, CriterionLabels], scales: Scales, results: Results
) -> pd.DataFrame:
    """Return the missing labels of the runs and topics of the report."""
    known = {}
    for name, labels in criteria.items():
        column = _without_unjudged(labels, scales[name])
        known[name] = CriterionLabels(labels.rows, column)
    missing = count_missing(answers, known)
    is_shown = answers["name"].isin(results.perquery["name"].astype(str))
    shown_names = answers["name"][is_shown]
    return missing[missing["name"].isin(shown_names)]


def _expected_labels(results: Results, criteria: Sequence[str]) -> pd.DataFrame:
    """Return the answers and criteria that can have labels."""
    answers = results.perquery[["name", "qid"]].drop_duplicates().astype(str)
    return answers.merge(pd.Series(criteria, name="criterion"), how="cross")


def _unlabelled_by_judges(
    rows: pd.DataFrame, judges: Sequence[str], expected: pd.DataFrame
) -> pd.DataFrame:
    """Return the labels that judges did not give.

    There are none if judges divided the answers between them.
    """
    nothing = expected.iloc[:0]
    parts = [nothing]
    for judge in judges:
        unlabelled = _unlabelled(expected, rows[rows["judge"] == judge])
        if len(unlabelled) > len(expected) / 2:
            return nothing
        parts.append(unlabelled)
    return pd.concat(parts)


def _extent(rows: pd.DataFrame, judges: Sequence[str], missing: pd.DataFrame) -> str:
    """Return how many labels there are, and of whom."""
    n_answers = len(rows[["name", "qid"]].drop_duplicates())
    text = f"{number_of(len(rows), 'label')} of {number_of(n_answers, 'answer')}"
    if judges:
        text += f" by {number_of(len(judges), 'judge')} ({choices(judges)})"
    n_repetitions = rows["repetition"].nunique()
    if n_repetitions > 1:
        text += f" in {number_of(n_repetitions, 'repetition')}"
    if len(missing):
        are = agree(len(missing), len(missing), "is", "are")
        text += f"; {len(missing)} {are} missing ({by_run(missing)})"
    return f"{text}."


def _other_topics(answers: pd.DataFrame, results: Results) -> list[Block]:
    """Return which topics of the answers are not in the report.

    Labels can be missing on them, for example.
    """
    shown = set(results.perquery["qid"].astype(str))
    others = [qid for qid in pd.unique(answers["qid"].astype(str)) if qid not in shown]
    if not others:
        return []
    are = agree(len(others), len(others), "is", "are")
    return [
        Sentence(
            f"{number_of(len(others), 'topic')} of the answers {are} not in this report: "
            f"{choices(others)}."
        )
    ]


def _combination(rows: pd.DataFrame, scales: Scales, results: Results) -> str | None:
    """Return how labels of an answer were combined.

    It is the first method that gives the values of the report, None if none does.
    """
    keys = ["name", "qid", "measure"]
    is_criterion = results.perquery["measure"].isin(list(scales))
    reported = results.perquery[is_criterion].astype(dict.fromkeys(keys, str))
    for method in ("mean", *COMBINATIONS):
        try:
            values = from_criteria(rows, aspects=scales, combine_judges=method)
        except MultiAspectError:  # ties of majorities, or labels that are no grades
            continue
        both = reported.merge(values, on=keys)
        is_whole = len(both) == len(reported) > 0
        if is_whole and np.allclose(both["value_x"], both["value_y"], rtol=0, atol=_TOLERANCE):
            return method
    return None


def _agreement(rows: pd.DataFrame, scales: Scales) -> list[Block]:
    """Return the agreement of the labels of each criterion."""
    if find_spec("krippendorff") is None:
        return [
            Sentence(
                "The agreement of judges requires krippendorff",
                code='pip install "pt-multiaspect[judges]"',
            )
        ]
    agreement = judge_agreement(rows, aspects=scales, ci=_CONFIDENCE)
    columns = [
        Column("criterion", left=True),
        Column("agreement"),
        Column("answers with several labels"),
    ]
    cells: list[Cells] = []
    for row in agreement.to_dict("records"):
        cells.append([row["aspect"], with_interval(row, "alpha"), str(row["n_documents"])])
    note = "Agreement: Krippendorff’s α"
    if agreement["low"].notna().any():
        note += f", with its {100 * _CONFIDENCE:g} % interval over topics"
    note += "."
    if rows["repetition"].nunique() > 1:
        note += " Each repetition counts as a judge."
    notes = [Sentence(note)]
    low = agreement.loc[agreement["alpha"] < LOW_ALPHA, "aspect"].tolist()
    if low:
        notes.append(
            Sentence(
                f"It is low, below {LOW_ALPHA:g}, on {join_names(low)}: values depend on who "
                "judges."
            )
        )
    return [Table(columns, cells, most=len(cells), notes=notes)]


def _by_judge(
    rows: pd.DataFrame, scales: Scales, method: str, judges: Sequence[str], results: Results
) -> list[Block]:
    """Return the difference of the pair of the summary by the labels of each judge."""
    pair = compared_pair(results)
    main = results.measures[results.main]
    if pair is None:
        return []
    if main is None:
        names = [results.main]
    elif is_combined(main):
        names = list(main.spec or scales)
    else:
        return []
    rows = rows[rows["criterion"].isin(names)]
    expected = _expected_labels(results, names)
    n_topics = expected["qid"].nunique()
    of_all = _difference(results.perquery, results.main, pair)
    cells = [["all", of_all, str(n_topics), ""]]
    n_lacking = 0
    for judge in judges:
        labels = rows[rows["judge"] == judge]
        lacking = _unlabelled(expected, labels)
        n_lacking += len(lacking)
        if len(lacking):
            count = f"{len(lacking)} ({by_run(lacking)})"
        else:
            count = "0"
        complete = _with_all_labels(labels[labels["name"].isin(pair)], 2 * len(names))
        difference = _difference_by(complete, scales, names, method, results, pair)
        cells.append([judge, difference, str(complete["qid"].nunique()), count])
    columns = [Column("labels of", left=True), Column(f"{pair[0]} − {pair[1]} on {results.main}")]
    notes = []
    if n_lacking:
        columns += [Column("topics"), Column("labels missing", left=True)]
        notes.append(
            Sentence(
                "A judge’s difference is over the topics on which the judge gave both systems all "
                "labels."
            )
        )
    shown = [row[: len(columns)] for row in cells]
    return [Table(columns, shown, most=len(shown), notes=notes)]


def _unlabelled(expected: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return the expected answers and criteria that have no label."""
    known = labels[_KEYS].drop_duplicates()
    both = expected.merge(known, on=_KEYS, how="left", indicator=True)
    return both[both["_merge"] == "left_only"]


def _with_all_labels(rows: pd.DataFrame, n_labels: int) -> pd.DataFrame:
    """Return the labels of the topics that have so many different ones."""
    distinct = rows[_KEYS].drop_duplicates()
    counts = distinct["qid"].value_counts()
    return rows[rows["qid"].isin(counts.index[counts == n_labels])]


def _difference_by(
    rows: pd.DataFrame,
    scales: Scales,
    names: Sequence[str],
    method: str,
    results: Results,
    pair: tuple[str, str],
) -> str:
    """Return the difference of two runs by the labels of one judge."""
    if rows.empty:
        return "–"
    chosen = {name: scales[name] for name in names}
    try:
        values = from_criteria(rows, aspects=chosen, combine_judges=method)
    except MultiAspectError:  # the majority of one judge's repetitions can be tied
        return "tied labels"
    main = results.measures[results.main]
    if main is not None:
        values = combine(values, {results.main: main})
    return _difference(values, results.main, pair)


def _difference(values: pd.DataFrame, label: str, pair: tuple[str, str]) -> str:
    """Return the difference of the means of two runs."""
    rows = values[values["measure"] == label]
    means = rows.groupby("name")["value"].mean().to_dict()
    first, second = pair
    return decimals(means[first] - means[second])
