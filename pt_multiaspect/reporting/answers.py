"""Answers in a report: their texts and nuggets, how their labels became values, and how much the judges agree."""

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
from ..errors import MultiAspectError, agree, choices, join_names, number_of, silence_warnings
from ..evaluation.long_frames import is_combined
from ..orders.tuple_order import grade_values
from ..views import Block, Cells, Column, Sentence, Table, decimals, with_interval
from .results import Figures
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
    by_answer = frame.drop(columns=[*RUN_COLUMNS, *QUERY_COLUMNS], errors="ignore")
    found = {
        (name, qid): _answer(rows)
        for (name, qid), rows in by_answer.groupby(
            [keys["name"].to_numpy(), keys["qid"].to_numpy()], sort=False
        )
    }
    payload = [[found.get((name, qid)) for qid in qids] for name in names]
    n_found = sum(answer is not None for answers_of_run in payload for answer in answers_of_run)
    if not n_found:
        name, qid = next(iter(found))
        raise MultiAspectError(
            f"answers: expected answers of the runs {choices(names)} to the topics "
            f"{choices(qids)}, got none of "
            f"these, but {name} on topic {qid}; use the names of the values"
        )
    if n_found < len(names) * len(qids):
        notes.append(
            f"Answers are given for {n_found} of {len(names) * len(qids)} pairs of a run and a "
            "topic."
        )
    return payload


def _answer(rows: pd.DataFrame) -> dict[str, Any]:
    """Return an answer: what its rows have in common, and its nuggets, or else the columns in which rows differ."""
    rows = rows.rename(columns=str)
    if "nuggets" in rows:
        nuggets = rows.pop("nuggets").dropna().explode().tolist()
    else:
        nuggets = []
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
        "labels": [
            (column, texts[0]) for column, texts in distinct.items() if len(texts) == 1 and texts[0]
        ],
        "items": {
            "heads": heads,
            "rows": [[_plain(item.get(key)) for key in heads] for item in items],
        },
    }


def _plain(value: object) -> str:
    """Return a value as text: whole numbers without decimals, sentences with citations by their texts."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return str(value.get("text", dict(value)))
    if isinstance(value, list | tuple | np.ndarray):
        return " ".join(map(_plain, value))
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
        texts = (
            frame[column].dropna().map(str).groupby(qids[frame[column].notna().to_numpy()]).unique()
        )
        # Questions of a rubric are several per topic, and prompts are often the same for all
        # topics.
        if (texts.map(len) == 1).all() and texts.map(lambda given: given[0]).is_unique:
            return {str(qid): given[0] for qid, given in texts.items() if given[0] != qid}
    return {}


#: Tolerance for equal values, which are in [0, 1] (rounding errors of means).
_TOLERANCE = 1e-9

#: The columns of a label's answer and criterion.
_KEYS = ["name", "qid", "criterion"]

#: The confidence level of the agreement.
_CONFIDENCE = 0.95

#: The declared scale of each criterion, None without.
Scales = Mapping[str, Aspect | None]


def answers_blocks(answers: object, figures: Figures) -> list[Block]:
    """Return what is to be said of answers that are judged by criteria; nothing of others.

    Parameters
    ----------
    answers : DataFrame, list of dicts, path, or list of paths
        As for `report`.
    figures : Figures
        The figures, in which the criteria are labels without a measure.
    """
    with silence_warnings():  # which the conversion to values has given
        try:
            given, found = read_criteria(read_answers(answers, "answers"), None, "answers")
        except MultiAspectError:  # of nuggets, for example
            return []
        criteria = {
            name: labels for name, labels in found.items() if figures.measures.get(name, "") is None
        }
        if not criteria:
            return []
        scales = {
            name: None if figures.scales is None else figures.scales.get(name) for name in criteria
        }
        rows = _long_rows(criteria, scales).merge(
            figures.perquery[["name", "qid"]].drop_duplicates().astype(str)
        )
        judges = [judge for judge in pd.unique(rows["judge"]) if judge]
        missing = _missing(given, criteria, scales, figures)
        by_judges = _unlabelled_by_judges(rows, judges, _expected(figures, list(criteria)))
        extent = Sentence(
            _extent(rows, judges, missing if len(missing) >= len(by_judges) else by_judges)
        )
        method = _combination(rows, scales, figures)
        if method is None:
            doubt = "The values are not those that from_criteria makes of these labels: check labels and scales."
            return [extent, Sentence(doubt)]
        blocks: list[Block] = [
            *map(Sentence, _conversions(scales)),
            extent,
            *_other_topics(given, figures),
        ]
        if rows.duplicated(_KEYS).any():
            blocks += [Sentence(f"Several labels of an answer are combined by their {method}.")]
            blocks += _agreement(rows, scales)
        return blocks + (
            _by_judge(rows, scales, method, judges, figures) if len(judges) > 1 else []
        )


def _long_rows(criteria: Mapping[str, CriterionLabels], scales: Scales) -> pd.DataFrame:
    """Return one row per label, with the columns that `from_criteria` reads, without missing labels."""
    parts = []
    for name, labels in criteria.items():
        aspect = scales[name]
        column = without_missing(labels.column, () if aspect is None else aspect.unjudged)
        known = column.notna().to_numpy()
        rows = labels.rows[["name", "qid", "judge", "repetition"]]
        parts.append(rows.assign(criterion=name, score=column.to_numpy())[known])
    return pd.concat(parts, ignore_index=True)


def _conversions(scales: Scales) -> Iterator[str]:
    """Yield how the labels of the criteria became values, criteria with the same scale together."""
    names: dict[str, list[str]] = {}
    for name, aspect in scales.items():
        text = "values in [0, 1], as given"
        if aspect is not None and aspect.grades is not None:
            grades = choices(map(spell, aspect.scale.grades))
            values = choices(f"{value:.4g}" for value in grade_values(aspect.scale))
            text = f"the labels {grades} became the values {values}"
        names.setdefault(text, []).append(name)
    for text, of_text in names.items():
        yield f"{join_names(of_text)}: {text}."


def _missing(
    answers: pd.DataFrame, criteria: Mapping[str, CriterionLabels], scales: Scales, figures: Figures
) -> pd.DataFrame:
    """Return the missing labels of the runs and topics of the report."""
    known = {}
    for name, labels in criteria.items():
        aspect = scales[name]
        column = without_missing(labels.column, () if aspect is None else aspect.unjudged)
        known[name] = CriterionLabels(labels.rows, column)
    shown = answers["name"].isin(figures.perquery["name"].astype(str))
    missing = count_missing(answers, known)
    return missing[missing["name"].isin(answers["name"][shown])]


def _expected(figures: Figures, criteria: Sequence[str]) -> pd.DataFrame:
    """Return the answers and criteria that can have labels."""
    answers = figures.perquery[["name", "qid"]].drop_duplicates().astype(str)
    return answers.merge(pd.Series(criteria, name="criterion"), how="cross")


def _unlabelled_by_judges(
    rows: pd.DataFrame, judges: Sequence[str], expected: pd.DataFrame
) -> pd.DataFrame:
    """Return the labels that judges did not give; none if judges divided the answers between them."""
    lacking = [_unlabelled(expected, rows[rows["judge"] == judge]) for judge in judges]
    if any(len(of_judge) > len(expected) / 2 for of_judge in lacking):
        return expected.iloc[:0]
    return pd.concat([expected.iloc[:0], *lacking])


def _extent(rows: pd.DataFrame, judges: Sequence[str], missing: pd.DataFrame) -> str:
    """Return how many labels there are, and of whom."""
    n_answers = len(rows[["name", "qid"]].drop_duplicates())
    if judges:
        by = f" by {number_of(len(judges), 'judge')} ({choices(judges)})"
    else:
        by = ""
    repeated = rows["repetition"].nunique()
    if repeated > 1:
        repetitions = f" in {number_of(repeated, 'repetition')}"
    else:
        repetitions = ""
    are = "is" if len(missing) == 1 else "are"
    if len(missing):
        lacking = f"; {len(missing)} {are} missing ({by_run(missing)})"
    else:
        lacking = ""
    return f"{number_of(len(rows), 'label')} of {number_of(n_answers, 'answer')}{by}{repetitions}{lacking}."


def _other_topics(answers: pd.DataFrame, figures: Figures) -> list[Block]:
    """Return which topics of the answers are not in the report, such as those on which labels are missing."""
    shown = set(figures.perquery["qid"].astype(str))
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


def _combination(rows: pd.DataFrame, scales: Scales, figures: Figures) -> str | None:
    """Return how labels of an answer were combined: what gives the values of the report, None if nothing does."""
    keys = ["name", "qid", "measure"]
    given = figures.perquery[figures.perquery["measure"].isin(list(scales))].astype(
        dict.fromkeys(keys, str)
    )
    for method in ("mean", *COMBINATIONS):
        try:
            values = from_criteria(rows, aspects=scales, combine_judges=method)
        except MultiAspectError:  # ties of majorities, or labels that are no grades
            continue
        both = given.merge(values, on=keys)
        is_whole = len(both) == len(given) > 0
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
    found = judge_agreement(rows, aspects=scales, ci=_CONFIDENCE)
    cells: list[Cells] = [
        [row["aspect"], with_interval(row, "alpha"), str(row["n_documents"])]
        for row in found.to_dict("records")
    ]
    columns = [
        Column("criterion", left=True),
        Column("agreement"),
        Column("answers with several labels"),
    ]
    if found["low"].isna().all():
        ends = ""
    else:
        ends = f", with its {100 * _CONFIDENCE:g} % interval over topics"
    repetitions = " Each repetition counts as a judge." if rows["repetition"].nunique() > 1 else ""
    note = f"Agreement: Krippendorff’s α{ends}.{repetitions}"
    notes = [Sentence(note)]
    low = found.loc[found["alpha"] < LOW_ALPHA, "aspect"].tolist()
    if low:
        notes.append(
            Sentence(
                f"It is low, below {LOW_ALPHA:g}, on {join_names(low)}: values depend on who "
                "judges."
            )
        )
    return [Table(columns, cells, most=len(cells), notes=notes)]


def _by_judge(
    rows: pd.DataFrame, scales: Scales, method: str, judges: Sequence[str], figures: Figures
) -> list[Block]:
    """Return the difference of the pair of the summary by the labels of each judge."""
    pair, main = compared_pair(figures), figures.measures[figures.main]
    if pair is None or not (main is None or is_combined(main)):
        return []
    if main is None:
        names = [figures.main]
    else:
        names = list(main.spec or scales)
    rows = rows[rows["criterion"].isin(names)]
    expected = _expected(figures, names)
    lacking = {judge: _unlabelled(expected, rows[rows["judge"] == judge]) for judge in judges}
    n_topics = expected["qid"].nunique()
    cells: list[list[str]] = [
        ["all", _difference(figures.perquery, figures.main, pair), f"{n_topics}", ""]
    ]
    for judge in judges:
        part = rows[(rows["judge"] == judge) & rows["name"].isin(pair)]
        part = _with_all_labels(part, 2 * len(names))
        difference = _difference_by(part, scales, names, method, figures, pair)
        if len(lacking[judge]):
            count = f"{len(lacking[judge])} ({by_run(lacking[judge])})"
        else:
            count = "0"
        cells.append([judge, difference, str(part["qid"].nunique()), count])
    columns = [Column("labels of", left=True), Column(f"{pair[0]} − {pair[1]} on {figures.main}")]
    notes = []
    if any(map(len, lacking.values())):
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
    found = expected.merge(labels[_KEYS].drop_duplicates(), on=_KEYS, how="left", indicator=True)
    return found[found["_merge"] == "left_only"]


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
    figures: Figures,
    pair: tuple[str, str],
) -> str:
    """Return the difference of two runs by the labels of one judge."""
    if rows.empty:
        return "–"
    try:
        values = from_criteria(
            rows, aspects={name: scales[name] for name in names}, combine_judges=method
        )
    except MultiAspectError:  # the majority of one judge's repetitions can be tied
        return "tied labels"
    main = figures.measures[figures.main]
    if main is None:
        combined = values
    else:
        combined = combine(values, {figures.main: main})
    return _difference(combined, figures.main, pair)


def _difference(values: pd.DataFrame, label: str, pair: tuple[str, str]) -> str:
    """Return the difference of the means of two runs."""
    means = values[values["measure"] == label].groupby("name")["value"].mean().to_dict()
    return decimals(means[pair[0]] - means[pair[1]])
