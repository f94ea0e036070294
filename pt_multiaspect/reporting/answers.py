"""Answers in a report: their texts and nuggets, values of their labels, and agreement of judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
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
from ..errors import MultiAspectError, choices, join_names, number_of, silence_warnings
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
    answer_by_key = _answers_by_key(answers)
    payload = []
    n_shown = 0
    for name in names:
        answers_of_run = []
        for qid in qids:
            answer = answer_by_key.get((name, qid))
            answers_of_run.append(answer)
            if answer is not None:
                n_shown += 1
        payload.append(answers_of_run)
    if n_shown == 0:
        run_names = choices(names)
        topic_ids = choices(qids)
        other_name, other_qid = next(iter(answer_by_key))
        raise MultiAspectError(
            f"answers: expected answers of the runs {run_names} to the topics {topic_ids}, got "
            f"none of these, but {other_name} on topic {other_qid}; use the names of the values"
        )
    n_pairs = len(names) * len(qids)
    if n_shown < n_pairs:
        notes.append(f"Answers are given for {n_shown} of {n_pairs} pairs of a run and a topic.")
    return payload


def _answers_by_key(answers: object) -> dict[Any, dict[str, Any]]:
    """Return each answer as JSON, by its run and topic."""
    frame = read_answers(answers, "answers")
    keys = answer_keys(frame, "answers")
    names = keys["name"].to_numpy()
    qids = keys["qid"].to_numpy()
    key_columns = [*RUN_COLUMNS, *QUERY_COLUMNS]
    contents = frame.drop(columns=key_columns, errors="ignore")
    answer_by_key = {}
    for key, rows in contents.groupby([names, qids], sort=False):
        answer_by_key[key] = _answer_payload(rows)
    return answer_by_key


def _answer_payload(rows: pd.DataFrame) -> dict[str, Any]:
    """Return an answer as JSON: its text, its labels, and its nuggets or else its parts.

    `rows` are those of the answer, one or several. A column with one value in all rows is a label
    of the answer. The other columns are those of its parts, one part per row.
    """
    rows = rows.rename(columns=str)
    nuggets = _nuggets(rows)
    rows = rows.drop(columns="nuggets", errors="ignore")
    texts_by_column = _distinct_texts(rows)
    text = None
    text_column = _column_of_common_text(texts_by_column)
    if text_column is not None:
        # The column is not shown as a label, too. Besides the text, it may have empty cells.
        distinct_texts = texts_by_column.pop(text_column)
        text = next(cell for cell in distinct_texts if cell)

    labels = []
    columns_of_parts = []
    for column, distinct_texts in texts_by_column.items():
        if len(distinct_texts) > 1:
            columns_of_parts.append(column)
        elif distinct_texts != [""]:
            label = distinct_texts[0]
            labels.append((column, label))
    items = nuggets
    if columns_of_parts and not nuggets:
        items = rows[columns_of_parts].to_dict("records")
    return {"text": text, "labels": labels, "items": _items_payload(items)}


def _distinct_texts(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Return the distinct values of each column as texts, '' for missing ones, in their order."""
    texts_by_column = {}
    for column, values in rows.items():
        texts = values.map(_text_of_value)
        texts_by_column[str(column)] = list(dict.fromkeys(texts))
    return texts_by_column


def _nuggets(rows: pd.DataFrame) -> list[Any]:
    """Return the nuggets of all rows of an answer that are mappings; none without such a column."""
    if "nuggets" not in rows:
        return []
    lists = rows["nuggets"].dropna()
    nuggets = lists.explode().tolist()
    return [nugget for nugget in nuggets if isinstance(nugget, Mapping)]


def _column_of_common_text(texts_by_column: Mapping[str, list[str]]) -> str | None:
    """Return the first column of texts in which there is exactly one text, None without one.

    `texts_by_column` has the distinct texts of each column, '' for missing ones.
    """
    for column in TEXTS:
        distinct_texts = texts_by_column.get(column, [])
        n_texts = len(distinct_texts) - distinct_texts.count("")
        if n_texts == 1:
            return column
    return None


def _items_payload(items: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """Return mappings as the heads and rows of a table, with a column for each of their keys."""
    distinct_keys: dict[str, None] = {}  # in the order of their first occurrence
    for item in items:
        for key in item:
            distinct_keys[str(key)] = None
    heads = list(distinct_keys)
    rows = []
    for item in items:
        texts = [_text_of_value(item.get(head)) for head in heads]
        rows.append(texts)
    return {"heads": heads, "rows": rows}


def _text_of_value(value: object) -> str:
    """Return a value as text, '' for a missing one.

    Whole numbers have no decimals; sentences with citations are their texts.
    """
    if isinstance(value, Mapping):  # a sentence with citations
        return str(value.get("text", dict(value)))
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_text_of_value, value))
    if value is None or value is pd.NA:
        return ""
    is_nan = value != value  # only NaN and NaT differ from themselves
    if is_nan:
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def question_texts(answers: object) -> dict[str, str]:
    """Return the question of each topic, if the answers have a column of them.

    It is the first column with one question per topic that differs between topics: questions of a
    rubric are several per topic, and prompts are often the same for all topics.
    """
    frame = read_answers(answers, "answers")
    qids = answer_keys(frame, "answers")["qid"].to_numpy()
    for column in QUESTIONS:
        if column not in frame.columns:
            continue
        is_known = frame[column].notna().to_numpy()
        texts = frame[column].dropna().map(str)
        texts_by_topic = texts.groupby(qids[is_known])
        has_several_questions = texts_by_topic.nunique() > 1
        if has_several_questions.any():
            continue
        questions = texts_by_topic.first()
        if not questions.is_unique:
            continue
        # Where the query id itself is the question, it is already shown.
        return {str(qid): question for qid, question in questions.items() if question != qid}
    return {}


#: Tolerance for equal values, which are in [0, 1] (rounding errors of means).
_TOLERANCE = 1e-9

#: The columns of a label's answer and criterion.
_LABEL_KEYS = ["name", "qid", "criterion"]

#: The confidence level of the agreement.
_CONFIDENCE = 0.95

#: The declared scale of each criterion, None without.
Scales = Mapping[str, Aspect | None]


def answers_blocks(answers: object, results: Results) -> list[Block]:
    """Return sentences and tables on answers that are judged by criteria; none for others.

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
            is_reported = name in results.measures and results.measures[name] is None
            if is_reported:
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
    """Return sentences and tables on the labels of criteria: their number, values and judges."""
    all_labels = _long_rows(criteria, scales)
    labels = all_labels.merge(_reported_answers(results))  # those of the report's runs and topics
    judges = [judge for judge in pd.unique(labels["judge"]) if judge]
    # The labels that nobody gave, or those that some judge did not give, whichever are more.
    missing_of_all = _missing(answers, criteria, scales, results)
    expected = _expected_labels(results, list(criteria))
    missing_of_judges = _unlabelled_by_judges(labels, judges, expected)
    missing = missing_of_all
    if len(missing_of_judges) > len(missing_of_all):
        missing = missing_of_judges
    extent = Sentence(_extent(labels, judges, missing))

    # How several labels of an answer were combined, such as by their mean.
    method = _combination(labels, scales, results)
    if method is None:  # none gives the reported values: they were not made of these labels
        warning = Sentence(
            "The values are not those that from_criteria makes of these labels: check labels "
            "and scales."
        )
        return [extent, warning]
    blocks: list[Block] = [*map(Sentence, _conversions(scales)), extent]
    blocks += _other_topics(answers, results)
    has_several_labels = labels.duplicated(_LABEL_KEYS).any()
    if has_several_labels:
        blocks.append(Sentence(f"Several labels of an answer are combined by their {method}."))
        blocks += _agreement(labels, scales)
    if len(judges) > 1:
        blocks += _by_judge(labels, scales, method, judges, results)
    return blocks


def _reported_answers(results: Results) -> pd.DataFrame:
    """Return the run and the topic of each answer of the report, as columns ``name qid``."""
    answers = results.perquery[["name", "qid"]]
    return answers.drop_duplicates().astype(str)


def _long_rows(criteria: Mapping[str, CriterionLabels], scales: Scales) -> pd.DataFrame:
    """Return one row per label, with the columns that `from_criteria` reads.

    There are no rows for missing labels.
    """
    parts = []
    for name, labels in criteria.items():
        scores = _without_unjudged(labels, scales[name])
        is_known = scores.notna().to_numpy()
        rows = labels.rows[["name", "qid", "judge", "repetition"]]
        rows = rows.assign(criterion=name, score=scores.to_numpy())
        parts.append(rows[is_known])
    return pd.concat(parts, ignore_index=True)


def _without_unjudged(labels: CriterionLabels, aspect: Aspect | None) -> pd.Series[Any]:
    """Return the labels of a criterion, missing where they are declared to mean unjudged."""
    if aspect is None:
        return without_missing(labels.column, ())
    return without_missing(labels.column, aspect.unjudged)


def _conversions(scales: Scales) -> Iterator[str]:
    """Yield how the labels of the criteria became values, criteria with the same scale together."""
    criteria_by_text: dict[str, list[str]] = {}
    for name, aspect in scales.items():
        text = _conversion(aspect)
        if text not in criteria_by_text:
            criteria_by_text[text] = []
        criteria_by_text[text].append(name)
    for text, criteria in criteria_by_text.items():
        names = join_names(criteria)
        yield f"{names}: {text}."


def _conversion(aspect: Aspect | None) -> str:
    """Return how labels on a scale became values."""
    if aspect is None or aspect.grades is None:
        return "values in [0, 1], as given"
    grades = map(spell, aspect.scale.grades)
    values = []
    for value in grade_values(aspect.scale):
        values.append(f"{value:.4g}")
    labels_in_words = choices(grades)
    values_in_words = choices(values)
    return f"the labels {labels_in_words} became the values {values_in_words}"


def _missing(
    answers: pd.DataFrame, criteria: Mapping[str, CriterionLabels], scales: Scales, results: Results
) -> pd.DataFrame:
    """Return one row per missing label of the runs of the report."""
    judged = {}
    for name, labels in criteria.items():
        column = _without_unjudged(labels, scales[name])
        judged[name] = CriterionLabels(labels.rows, column)
    missing = count_missing(answers, judged)
    reported_names = results.perquery["name"].astype(str).unique()
    is_reported = missing["name"].isin(reported_names)
    return missing[is_reported]


def _expected_labels(results: Results, criteria: Sequence[str]) -> pd.DataFrame:
    """Return one row per label that a judge can give: each criterion of each answer.

    The columns are ``name qid criterion``.
    """
    answers = _reported_answers(results)
    names = pd.Series(criteria, name="criterion")
    return answers.merge(names, how="cross")


def _unlabelled_by_judges(
    labels: pd.DataFrame, judges: Sequence[str], expected: pd.DataFrame
) -> pd.DataFrame:
    """Return the expected labels that judges did not give, those of all judges together.

    There are none if a judge gave less than half of them: judges then divided the answers.
    """
    no_labels = expected.iloc[:0]
    parts = [no_labels]
    for judge in judges:
        labels_of_judge = labels[labels["judge"] == judge]
        unlabelled = _unlabelled(expected, labels_of_judge)
        if len(unlabelled) > len(expected) / 2:
            return no_labels
        parts.append(unlabelled)
    return pd.concat(parts)


def _extent(labels: pd.DataFrame, judges: Sequence[str], missing: pd.DataFrame) -> str:
    """Return how many labels there are, of whom, and how many are missing."""
    n_answers = len(labels[["name", "qid"]].drop_duplicates())
    labels_in_words = number_of(len(labels), "label")
    answers_in_words = number_of(n_answers, "answer")
    text = f"{labels_in_words} of {answers_in_words}"
    if judges:
        judges_in_words = number_of(len(judges), "judge")
        text += f" by {judges_in_words} ({choices(judges)})"
    n_repetitions = labels["repetition"].nunique()
    if n_repetitions > 1:
        repetitions_in_words = number_of(n_repetitions, "repetition")
        text += f" in {repetitions_in_words}"
    n_missing = len(missing)
    if n_missing == 1:
        text += f"; 1 is missing ({by_run(missing)})"
    elif n_missing > 1:
        text += f"; {n_missing} are missing ({by_run(missing)})"
    return f"{text}."


def _other_topics(answers: pd.DataFrame, results: Results) -> list[Block]:
    """Return a sentence on the topics of the answers that are not in the report, if any.

    Labels can be missing on them, for example.
    """
    reported_qids = set(results.perquery["qid"].astype(str))
    qids = pd.unique(answers["qid"].astype(str))
    other_qids = [qid for qid in qids if qid not in reported_qids]
    n_others = len(other_qids)
    if n_others == 0:
        return []
    topics = number_of(n_others, "topic")
    verb = "are"
    if n_others == 1:
        verb = "is"
    qids_in_words = choices(other_qids)
    text = f"{topics} of the answers {verb} not in this report: {qids_in_words}."
    return [Sentence(text)]


def _combination(labels: pd.DataFrame, scales: Scales, results: Results) -> str | None:
    """Return how labels of an answer were combined.

    It is the first method that gives the values of the report, None if none does.
    """
    is_criterion = results.perquery["measure"].isin(list(scales))
    reported = results.perquery[is_criterion]
    reported = reported.astype({"name": str, "qid": str, "measure": str})
    for method in ("mean", *COMBINATIONS):
        try:
            values = from_criteria(labels, aspects=scales, combine_judges=method)
        except MultiAspectError:  # ties of majorities, or labels that are no grades
            continue
        if _have_same_values(reported, values):
            return method
    return None


def _have_same_values(reported: pd.DataFrame, combined: pd.DataFrame) -> bool:
    """Return whether all reported values are among the combined ones, and equal to them."""
    keys = ["name", "qid", "measure"]
    both = reported.merge(combined, on=keys, suffixes=("_reported", "_combined"))
    if both.empty or len(both) != len(reported):
        return False
    return np.allclose(both["value_reported"], both["value_combined"], rtol=0, atol=_TOLERANCE)


def _agreement(labels: pd.DataFrame, scales: Scales) -> list[Block]:
    """Return the table of the agreement on each criterion, or what it requires."""
    if find_spec("krippendorff") is None:
        return [
            Sentence(
                "The agreement of judges requires krippendorff",
                code='pip install "pt-multiaspect[judges]"',
            )
        ]
    agreement = judge_agreement(labels, aspects=scales, ci=_CONFIDENCE)
    columns = [
        Column("criterion", left=True),
        Column("agreement"),
        Column("answers with several labels"),
    ]
    rows: list[Cells] = []
    for criterion in agreement.to_dict("records"):
        alpha = with_interval(criterion, "alpha")
        rows.append([criterion["aspect"], alpha, str(criterion["n_documents"])])
    has_repetitions = labels["repetition"].nunique() > 1
    notes = _notes_on_agreement(agreement, has_repetitions)
    return [Table(columns, rows, most=len(rows), notes=notes)]


def _notes_on_agreement(agreement: pd.DataFrame, has_repetitions: bool) -> list[Sentence]:
    """Return what agreement is, and on which criteria it is low."""
    note = "Agreement: Krippendorff’s α"
    has_intervals = agreement["low"].notna().any()
    if has_intervals:
        note += f", with its {100 * _CONFIDENCE:g} % interval over topics"
    note += "."
    if has_repetitions:
        note += " Each repetition counts as a judge."
    notes = [Sentence(note)]
    is_low = agreement["alpha"] < LOW_ALPHA
    low_criteria = agreement.loc[is_low, "aspect"].tolist()
    if low_criteria:
        names = join_names(low_criteria)
        text = f"It is low, below {LOW_ALPHA:g}, on {names}: values depend on who judges."
        notes.append(Sentence(text))
    return notes


def _by_judge(
    labels: pd.DataFrame, scales: Scales, method: str, judges: Sequence[str], results: Results
) -> list[Block]:
    """Return a table of the difference that the summary states, by the labels of each judge.

    There is none if the summary compares no systems, or if its measure is not made of criteria.
    """
    pair = compared_pair(results)
    criteria = _criteria_of_main(results, scales)
    if pair is None or criteria is None:
        return []
    labels = labels[labels["criterion"].isin(criteria)]
    expected = _expected_labels(results, criteria)
    n_topics = expected["qid"].nunique()
    difference_by_all = _difference(results.perquery, results.main, pair)
    # The cells of a row: judge, difference, number of topics, and missing labels.
    rows = [["all", difference_by_all, str(n_topics), ""]]
    gave_all_labels = True
    for judge in judges:
        labels_of_judge = labels[labels["judge"] == judge]
        missing = _unlabelled(expected, labels_of_judge)
        missing_cell = str(len(missing))
        if len(missing) > 0:
            gave_all_labels = False
            missing_cell += f" ({by_run(missing)})"

        # The difference is over topics on which both systems have a label on each criterion.
        labels_of_pair = labels_of_judge[labels_of_judge["name"].isin(pair)]
        n_labels_of_topic = len(pair) * len(criteria)
        complete = _with_all_labels(labels_of_pair, n_labels_of_topic)
        difference = _difference_by(complete, scales, criteria, method, results, pair)
        n_complete_topics = complete["qid"].nunique()
        rows.append([judge, difference, str(n_complete_topics), missing_cell])
    return [_table_by_judge(rows, pair, results.main, gave_all_labels)]


def _criteria_of_main(results: Results, scales: Scales) -> list[str] | None:
    """Return the criteria that the main measure is made of, None if it is of something else."""
    main = results.measures[results.main]
    if main is None:  # its label is a criterion
        return [results.main]
    if is_combined(main):
        return list(main.spec or scales)
    return None


def _table_by_judge(
    rows: list[list[str]], pair: tuple[str, str], main: str, is_complete: bool
) -> Table:
    """Return the table of differences by judge.

    Parameters
    ----------
    rows : list of list of str
        The judge, the difference, the number of topics and that of missing labels.
    pair : tuple of str
        The two systems.
    main : str
        The label of the measure.
    is_complete : bool
        Whether no labels are missing; the last two columns are then left out.
    """
    first, second = pair
    columns = [Column("labels of", left=True), Column(f"{first} − {second} on {main}")]
    if is_complete:
        rows = [row[:2] for row in rows]
        return Table(columns, rows, most=len(rows), notes=[])
    columns.append(Column("topics"))
    columns.append(Column("labels missing", left=True))
    note = Sentence(
        "A judge’s difference is over the topics on which the judge gave both systems all labels."
    )
    return Table(columns, rows, most=len(rows), notes=[note])


def _unlabelled(expected: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of expected labels, columns ``name qid criterion``, that were not given."""
    given = labels[_LABEL_KEYS].drop_duplicates()
    # The column _merge says which of the two frames have a row.
    joined = expected.merge(given, on=_LABEL_KEYS, how="left", indicator=True)
    is_missing = joined["_merge"] == "left_only"
    return joined[is_missing]


def _with_all_labels(labels: pd.DataFrame, n_labels: int) -> pd.DataFrame:
    """Return the labels of the topics with `n_labels` different answers and criteria."""
    distinct = labels[_LABEL_KEYS].drop_duplicates()
    counts = distinct["qid"].value_counts()
    complete_qids = counts.index[counts == n_labels]
    is_complete = labels["qid"].isin(complete_qids)
    return labels[is_complete]


def _difference_by(
    labels: pd.DataFrame,
    scales: Scales,
    criteria: Sequence[str],
    method: str,
    results: Results,
    pair: tuple[str, str],
) -> str:
    """Return the difference of two runs on the main measure by the labels of one judge, as text.

    Parameters
    ----------
    labels : DataFrame
        The labels of the judge, as `from_criteria` reads them.
    scales : mapping of str to Aspect or None
        The scales of all criteria.
    criteria : sequence of str
        The criteria of the measure.
    method : str
        How several labels of an answer are combined.
    results : Results
        The results.
    pair : tuple of str
        The two runs.
    """
    if labels.empty:
        return "–"
    scales_of_measure = {name: scales[name] for name in criteria}
    try:
        values = from_criteria(labels, aspects=scales_of_measure, combine_judges=method)
    except MultiAspectError:  # the majority of one judge's repetitions can be tied
        return "tied labels"
    main = results.measures[results.main]
    if main is not None:
        values = combine(values, {results.main: main})
    return _difference(values, results.main, pair)


def _difference(values: pd.DataFrame, label: str, pair: tuple[str, str]) -> str:
    """Return the difference of the mean values of two runs on a measure, as text."""
    is_of_measure = values["measure"] == label
    values_of_measure = values[is_of_measure]
    values_by_run = values_of_measure.groupby("name")["value"]
    means = values_by_run.mean()
    first, second = pair
    mean_of_first = means.loc[first]
    mean_of_second = means.loc[second]
    return decimals(mean_of_first - mean_of_second)
