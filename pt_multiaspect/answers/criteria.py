"""Long frames of answers judged by criteria or by weighted questions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats, Ints
from .._validation import choice
from ..aspects import Aspect, Aspects, parse_aspects
from ..collection.columns import BOOLEANS, grade_booleans, id_column, is_boolean, read_labels
from ..collection.judged_answers import (
    OTHER_QUERIES,
    CriterionLabels,
    answer_keys,
    by_run,
    count_missing,
    read_criteria,
    unlike_judges,
)
from ..collection.label_rules import LabelCounts, find_start_above_zero
from ..collection.long_judgments import COMBINATIONS, mean_labels
from ..errors import (
    MultiAspectError,
    agree,
    choices,
    in_shell,
    number_of,
    parameter,
    tally,
    warn_once,
)
from ..evaluation.long_frames import COLUMNS
from ..kernels import grade_aggregation
from ..orders.tuple_order import grade_values
from ._answer_tables import (
    answer_title,
    check_values,
    item_notes,
    read_answers,
    read_numbers,
    score_frame,
    weighted_means,
)

#: The maximum number of grades that the example of a scale lists.
_MOST_GRADES = 11


def from_criteria(
    judged: Any, *, aspects: object = None, combine_judges: str = "mean"
) -> pd.DataFrame:
    """Convert answers judged by several criteria, by one or several judges, to a long frame.

    Parameters
    ----------
    judged : DataFrame, path, open file, or list of paths or of dicts
        A topic (``qid``, ``query_id``, ``topic`` or else ``question_id``) and a run (``name``,
        ``run_id`` or ``system``) per row, and either one column per criterion (or ``scores``,
        objects ``{criterion: score}``), or the columns ``criterion`` and ``score`` (or ``value``,
        ``label``) in rows about one criterion each. A column ``judge``, ``repetition`` or both tell
        several labels of an answer apart. Files are CSV, TSV or one JSON object per line (also
        compressed, a directory or a pattern).
    aspects : Aspects, mapping, str or sequence of str, optional
        The criteria, and the scales of those that are judged by grades, such as 1 to 5. By default,
        every criterion in rows, or every numeric column. Criteria without declared grades have
        values in [0, 1], of which 1 is the best.
    combine_judges : {'mean', 'median', 'majority'}, default 'mean'
        The method of combining several labels of an answer: the mean of their values; the median,
        which is the lower of the two in the middle if their number is even; the most frequent
        label.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with one row per answer and
        criterion. Values are in [0, 1]: a grade becomes its gain, rescaled from 0 for the lowest
        grade to 1 for the best.

    Raises
    ------
    MultiAspectError
        If a criterion has no label, a label is outside [0, 1] (as percentages are) or not a grade
        of its scale, all grades of a criterion have the same gain, a judge labelled an answer
        several times in the same repetition, or several labels are the most frequent ones by
        'majority'.

    Warns
    -----
    MultiAspectWarning
        If labels are missing, or runs were judged by different judges on a topic. If a scale is
        declared by its top grade alone, so that it starts at 0, but of at least 30 labels none is 0
        and some are 1. If the grades are listed, they are not doubted.

    See Also
    --------
    combine : One value of several criteria.
    pt_multiaspect.analysis.judge_agreement : Krippendorff's α per criterion, of the same rows.
    pt_multiaspect.describe : What is odd in the same rows.

    Notes
    -----
    With equally spaced grades and default gains, the grades 1 to 5 become 0, 0.25, 0.5, 0.75 and 1.
    With ``greater_is_better=False``, the smallest label becomes 1. All labels of an answer have the
    same weight. Missing labels are None, NaN, empty texts, and the numbers and texts that a scale
    declares as ``unjudged``, as in ``Aspect(unjudged=["N/A"])``. An answer without a label of a
    criterion has no value of it.

    Stability: provisional. New, without a published method to follow.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> judged = pd.DataFrame({"qid": ["q1"], "name": ["mine"], "faithful": [4], "complete": [0.5]})
    >>> ma.answers.from_criteria(judged, aspects={"faithful": [1, 2, 3, 4, 5], "complete": None})
       name qid   measure  value
    0  mine  q1  faithful   0.75
    1  mine  q1  complete   0.50

    >>> rows = [("q1", "mine", "faithful", "a", 4), ("q1", "mine", "faithful", "b", 5)]
    >>> judged = pd.DataFrame(rows, columns=["topic", "system", "criterion", "judge", "score"])
    >>> ma.answers.from_criteria(judged, aspects={"faithful": [1, 2, 3, 4, 5]})
       name qid   measure  value
    0  mine  q1  faithful  0.875
    """
    what = "judged"
    check_combination = choice("combine_judges", *COMBINATIONS)
    check_combination(combine_judges)
    frame = read_answers(judged, what)
    if set(COLUMNS) <= set(frame.columns):
        raise MultiAspectError(
            f"{what}: expected one column per criterion, or the columns criterion and score, got a "
            "long frame, "
            "which needs no conversion; if a judge wrote it, rename measure to criterion"
        )
    spec = parse_aspects(aspects)
    answers, criteria = read_criteria(frame, spec, what)
    declared: dict[str, Aspect] = {}
    if isinstance(spec, Aspects):
        declared = dict(spec)
    missing = count_missing(answers, criteria)
    scores = {}
    topics_of_unlike_judges: list[str] = []
    for name, all_labels in criteria.items():
        labels = _drop_missing(all_labels, name, what)
        graded = _grade_labels(labels, name, declared.get(name), what)
        scores[name] = _scores_of_answers(labels, graded, answers, combine_judges, name, what)
        topics_of_unlike_judges += unlike_judges(labels.rows)
    distinct_topics = list(dict.fromkeys(topics_of_unlike_judges))
    _warn_of_gaps(missing, distinct_topics, criteria, what)
    return score_frame(answers, scores, what)


def _scores_of_answers(
    labels: CriterionLabels,
    graded: _GradedLabels,
    answers: pd.DataFrame,
    method: str,
    name: str,
    what: str,
) -> Floats:
    """Return the value of a criterion for each answer; NaN for answers without a label of it.

    Parameters
    ----------
    labels, graded : CriterionLabels, _GradedLabels
        The labels of the criterion, with the answers that they are of, and their values.
    answers : DataFrame
        The run and the topic of each answer.
    method : {'mean', 'median', 'majority'}
        How several labels of an answer are combined.
    name, what : str
        The criterion and the beginning of errors.
    """
    # Answers without labels are left out, and the others numbered. If the labels are of the
    # answers [4, 7, 4], the labelled answers are [4, 7], and the numbers [0, 1, 0].
    labelled, number_of_answer = np.unique(labels.answer, return_inverse=True)
    labelled_answers = answers.iloc[labelled]
    combined = _combine_labels(graded, number_of_answer, labelled_answers, method, name, what)
    scores = np.full(len(answers), np.nan)
    scores[labelled] = combined
    return scores


def _drop_missing(labels: CriterionLabels, name: str, what: str) -> CriterionLabels:
    """Return the labels of a criterion that are not missing; raise an error if all are."""
    is_known = labels.column.notna().to_numpy()
    if not is_known.any():
        raise MultiAspectError(
            f"{what}: expected labels of {name}, got none; leave the criterion out"
        )
    return CriterionLabels(labels.rows[is_known], labels.column[is_known])


def _warn_of_gaps(
    missing: pd.DataFrame,
    unlike_topics: Sequence[str],
    criteria: Mapping[str, CriterionLabels],
    what: str,
) -> None:
    """Warn of missing labels, and of topics on which runs were judged by different judges.

    `missing` has one row per missing label. The same labels, read again, give no second warning.
    """
    notes = []
    if len(missing):
        notes.append(_missing_note(missing, criteria))
    if unlike_topics:
        notes.append(_unlike_note(unlike_topics, missing))
    if not notes:
        return
    warning = "; ".join(notes)
    fingerprints = [_fingerprint(labels) for labels in criteria.values()]
    warn_once(f"{what}: {warning}", key=f"{what}: gaps of {fingerprints}")


def _fingerprint(labels: CriterionLabels) -> int:
    """Return a number that identifies the labels of a criterion, in any order of rows."""
    rows = labels.rows.assign(label=labels.column.map(str).to_numpy())
    row_hashes = pd.util.hash_pandas_object(rows, index=False)
    return int(row_hashes.sum())


def _missing_note(missing: pd.DataFrame, criteria: Mapping[str, CriterionLabels]) -> str:
    """Return how many labels are missing, of which runs and on which topics."""
    n_missing = len(missing)
    n_labels = n_missing
    for labels in criteria.values():
        n_labels += int(labels.column.notna().sum())
    topics = missing["qid"].unique()
    all_labels = number_of(n_labels, "label")
    are = agree(n_missing, n_labels, "is", "are")
    n_topics = number_of(len(topics), "topic")
    note = (
        f"{n_missing} of {all_labels} {are} missing ({by_run(missing)}) on {n_topics} "
        f"({choices(topics)})"
    )
    if not missing["has_others"].all():
        note += ", and answers without a label of a criterion have no value of it"
    return note


def _unlike_note(topics: Sequence[str], missing: pd.DataFrame) -> str:
    """Return on which topics the judges of the runs differ, after the note on missing labels."""
    n_topics = number_of(len(topics), "topic")
    where = f"on {n_topics} ({choices(topics)})"
    if set(topics) == set(missing["qid"]):
        where = "there"
    return (
        f"{where}, runs were judged by different judges, so their values may not be "
        "comparable; select labels of judges who judged all runs"
    )


class _GradedLabels(NamedTuple):
    """The labels of a criterion as values in [0, 1]."""

    #: The values of the grades, from the lowest to the best.
    values: Floats
    #: The position in `values` of each label.
    grade: Ints


def _grade_labels(
    labels: CriterionLabels, name: str, aspect: Aspect | None, what: str
) -> _GradedLabels:
    """Return the labels of the criterion `name` as values; raise an error if one is not valid.

    Without an aspect with declared grades, labels are values in [0, 1].
    """
    if aspect is None or aspect.grades is None:
        return _grade_without_scale(labels, name, aspect, what)
    return _grade_by_scale(labels, name, aspect, what)


def _grade_without_scale(
    labels: CriterionLabels, name: str, aspect: Aspect | None, what: str
) -> _GradedLabels:
    """Return labels that are values in [0, 1] themselves; raise an error if one is not.

    An aspect may declare which labels mean that there is no judgment.
    """
    # `numbers` may be outside [0, 1]: they are only for the error of such a label.
    no_grades = None
    numbers = _label_numbers(labels, no_grades, name, what)
    remedy = _text_remedy(labels.column, name, aspect)
    if not remedy:
        remedy = _range_remedy(numbers, name)
    values = read_numbers(labels.column, labels.rows, what, remedy)
    distinct_values, grade = np.unique(values, return_inverse=True)
    return _GradedLabels(distinct_values, grade)


def _label_numbers(labels: CriterionLabels, grades: Floats | None, name: str, what: str) -> Floats:
    """Return labels as numbers: texts as NaN, truth values as 0 and 1 or the two grades of a scale.

    Raise an error for truth values on a scale of other than two grades, or beside other numbers.
    """
    column = labels.column
    numbers, is_wrong_boolean = grade_booleans(read_labels(column), is_boolean(column), grades)
    check_values(~is_wrong_boolean, column, labels.rows, f"{what}: {name}: {BOOLEANS}")
    return numbers


def _grade_by_scale(labels: CriterionLabels, name: str, aspect: Aspect, what: str) -> _GradedLabels:
    """Return the labels of a criterion with declared grades as values.

    Raise an error if one is not a grade, or all grades have the same gain.
    """
    scale = aspect.scale
    numbers = _label_numbers(labels, scale.grades, name, what)
    # The position of each label's grade. Labels below the lowest grade, and texts, get that of the
    # lowest grade, but differ from it.
    grade, _ = scale.positions(numbers)
    is_grade = scale.grades[grade] == numbers
    expected = f"{what}: expected a grade of {name} ({scale}, lowest first)"
    remedy = _text_remedy(labels.column, name, aspect)
    if not remedy:
        remedy = "correct the label or the scale"
    check_values(is_grade, labels.column, labels.rows, expected, remedy)
    has_equal_gains = np.ptp(scale.gains) == 0  # the range of the gains
    if has_equal_gains:
        gain = spell(scale.gains[0])
        raise MultiAspectError(
            f"{what}: expected different gains for the grades of {name} ({scale}), got {gain}, so "
            "that all answers would have the same value"
        )
    _warn_of_start_above_zero(grade, name, aspect, what)
    return _GradedLabels(grade_values(scale), grade)


def _range_remedy(labels: Floats, name: str) -> str:
    """Return what to do about labels outside [0, 1] of a criterion without declared grades."""
    example = parameter("aspects", {name: _occurring_grades(labels)})
    if in_shell():
        example += " ('pt-multiaspect describe --answers FILE --write-aspects FILE' proposes it)"
    return f"divide percentages by 100, declare grades, as in {example}, or select the criteria"


def _warn_of_start_above_zero(grade: Ints, name: str, aspect: Aspect, what: str) -> None:
    """Warn if the scale of a criterion starts at 0, but its labels seem to start at 1."""
    label_counts = LabelCounts(
        name,
        aspect,
        inferred=False,
        n_documents=len(grade),
        counts=np.bincount(grade, minlength=len(aspect.scale)),
        below=(),
    )
    finding = find_start_above_zero(label_counts)
    if finding is not None:
        warn_once(f"{what}: {finding.warning}")


def _occurring_grades(labels: Floats) -> list[float] | int:
    """Return an example of a scale: the labels that occur, with whole numbers between.

    Of many labels, it is the highest grade.
    """
    occurring = np.unique(labels[np.isfinite(labels)])
    if len(occurring) == 0:
        return [0, 1, 2]
    lowest = float(occurring[0])
    highest = float(occurring[-1])
    are_whole_numbers = bool((occurring == np.round(occurring)).all())
    n_grades = len(occurring)
    if are_whole_numbers:  # those between that do not occur are grades too
        n_grades = int(highest - lowest) + 1
    if n_grades > _MOST_GRADES:
        return max(1, math.ceil(highest))
    if are_whole_numbers:
        return list(range(int(lowest), int(highest) + 1))
    grades: list[float] = occurring.tolist()
    return grades


def _text_remedy(column: pd.Series[Any], name: str, aspect: Aspect | None) -> str:
    """Return how to declare that the first text among the labels means that there is no label.

    It is empty if there is no text among the labels.
    """
    others_than_numbers = column[np.isnan(read_labels(column))]
    if len(others_than_numbers) == 0:
        return ""
    first = others_than_numbers.iloc[0]
    if not isinstance(first, str):
        return ""
    text = first.strip()
    if in_shell():
        declaration = f"--unjudged {shlex.quote(text)}"
    else:
        scale: dict[str, Any] = {}
        if aspect is not None and aspect.grades is not None:
            scale["grades"] = list(aspect.grades)
        scale["unjudged"] = [text]
        declaration = parameter("aspects", {name: scale})
    return (
        f"if it means that there is no label, declare {declaration}; else map the texts to numbers"
    )


def _combine_labels(
    labels: _GradedLabels,
    answer: Ints,
    answers: pd.DataFrame,
    method: str,
    name: str,
    what: str,
) -> Floats:
    """Return one value per answer, each of which has at least one label.

    Parameters
    ----------
    labels : _GradedLabels
        The labels of all answers: the grade of each label, and the value of each grade.
    answer : ndarray of int, shape (n_labels,)
        The position of the answer of each label in `answers`.
    answers : DataFrame
        The run and the topic of each answer.
    method : {'mean', 'median', 'majority'}
        How several labels of an answer are combined.
    name, what : str
        The criterion and the beginning of errors.
    """
    value_of_grade = labels.values
    n_answers = len(answers)
    has_one_label_each = len(answer) == n_answers
    if has_one_label_each:
        # There is nothing to combine; but labels may be in another order than answers.
        value_of_answer = np.empty(n_answers)
        value_of_answer[answer] = value_of_grade[labels.grade]
        return value_of_answer
    if method == "mean":
        # Sums of floats depend on their order. In the order of the grades, answers with the same
        # labels have exactly the same mean.
        order = np.lexsort((labels.grade, answer))  # by answer, then by grade
        return mean_labels(value_of_grade, answer[order], labels.grade[order], n_answers)
    if method == "median":
        grade_of_answer = grade_aggregation.median(answer, labels.grade, n_answers)
    else:
        grade_of_answer = _majority_grades(labels.grade, answer, answers, name, what)
    return np.asarray(value_of_grade[grade_of_answer])


def _majority_grades(
    grade: Ints, answer: Ints, answers: pd.DataFrame, name: str, what: str
) -> Ints:
    """Return the most frequent grade of each answer; raise an error if it has several.

    `grade` and `answer` have one element per label; other parameters are as for `_combine_labels`.
    """
    majority_grade, n_most_frequent = grade_aggregation.majority(answer, grade, len(answers))
    tied_answers = np.flatnonzero(n_most_frequent > 1)
    if len(tied_answers):
        first = tied_answers[0]
        title = answer_title(answers, first)
        others = tally(len(tied_answers), "answer")
        raise MultiAspectError(
            f"{what}: expected one most frequent label of {name} for {title}, got "
            f"{n_most_frequent[first]} {others}; use combine_judges='median' or 'mean'"
        )
    return majority_grade


def rubric_scores(questions: Any) -> pd.DataFrame:
    """Score answers by weighted questions: the fraction of the weight of those that are met.

    Parameters
    ----------
    questions : DataFrame, path, open file, or list of paths or of dicts
        One row per answer and question, also in files as for `from_criteria`: a topic (``qid`` or
        ``query_id``), a run (``name`` or ``run_id``), ``weight``, a number of at least 0, and
        ``met``, a truth value or the degree in [0, 1] to which the answer meets the question. A
        column ``question`` with the text or the id of the question is not required, but without it,
        only the weights of the questions of different runs can be compared.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with one row per answer and
        the measure ``rubric``: Σ w·met / Σ w, in [0, 1].

    Raises
    ------
    MultiAspectError
        If a weight is negative, a value is missing or outside [0, 1], all weights of an answer are
        0, or a question of an answer is repeated with another value.

    Warns
    -----
    MultiAspectWarning
        If runs were judged by different questions or weights on a topic, or if a question of an
        answer is repeated.

    Notes
    -----
    Stability: provisional. New, without a published method to follow.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> rows = [("q1", "mine", 3, True), ("q1", "mine", 1, False)]
    >>> ma.answers.rubric_scores(pd.DataFrame(rows, columns=["qid", "name", "weight", "met"]))
       name qid measure  value
    0  mine  q1  rubric   0.75
    """
    what = "questions"
    table = read_answers(questions, what)
    # A column question_id is the id of a question of the rubric. Elsewhere it names the topic.
    keys = answer_keys(table, what, others=(OTHER_QUERIES,))
    met_column = id_column(table, ("met",), what)
    weight_column = id_column(table, ("weight",), what)
    met = read_numbers(met_column, keys, what, "divide percentages by 100")
    penalty_remedy = "state a penalty as a question that a good answer meets"
    weights = read_numbers(weight_column, keys, what, penalty_remedy, high=np.inf)
    rows_by_answer = keys.groupby(["name", "qid"], sort=False)
    answers = rows_by_answer.head(1).reset_index(drop=True)
    answer = np.asarray(rows_by_answer.ngroup(), dtype=np.intp)  # of each row
    _check_total_weights(answers, answer, weights, what)
    scores = weighted_means(answer, met, weights, len(answers))
    texts = [None] * len(table)
    if "question" in table.columns:
        texts = table["question"].tolist()
    # Computed weights may differ in their last digits.
    rounded_weights = [format(weight, ".12g") for weight in weights]
    notes = item_notes(answers, answer, texts, rounded_weights, met.tolist(), what, "question")
    for note in notes:
        warn_once(f"{what}: {note}")
    return score_frame(answers, {"rubric": scores}, what)


def _check_total_weights(answers: pd.DataFrame, answer: Ints, weights: Floats, what: str) -> None:
    """Raise an error if all questions of an answer have the weight 0.

    `answer` and `weights` have one element per answer and question.
    """
    total_weights = np.bincount(answer, weights, minlength=len(answers))
    without_weight = np.flatnonzero(total_weights == 0)
    if len(without_weight):
        title = answer_title(answers, int(without_weight[0]))
        raise MultiAspectError(
            f"{what}: expected a positive weight for {title}, got 0 for all questions"
        )
