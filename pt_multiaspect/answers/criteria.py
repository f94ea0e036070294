"""Long frames of answers judged by criteria or by weighted questions."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

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
    choice("combine_judges", *COMBINATIONS)(combine_judges)
    frame = read_answers(judged, what)
    if set(COLUMNS) <= set(frame.columns):
        raise MultiAspectError(
            f"{what}: expected one column per criterion, or the columns criterion and score, got a "
            "long frame, "
            "which needs no conversion; if a judge wrote it, rename measure to criterion"
        )
    spec = parse_aspects(aspects)
    answers, criteria = read_criteria(frame, spec, what)
    if isinstance(spec, Aspects):
        scales = dict(spec)
    else:
        scales = {}
    missing = count_missing(answers, criteria)
    scores = {}
    unlike: list[str] = []
    for name, labels in criteria.items():
        known = labels.column.notna().to_numpy()
        if not known.any():
            raise MultiAspectError(
                f"{what}: expected labels of {name}, got none; leave the criterion out"
            )
        labels = CriterionLabels(labels.rows[known], labels.column[known])
        levels, level = _levels(labels, name, scales.get(name), what)
        labelled, answer = np.unique(labels.answer, return_inverse=True)
        scores[name] = np.full(len(answers), np.nan)
        scores[name][labelled] = _combine(
            levels, answer, level, answers.iloc[labelled], name, combine_judges, what
        )
        unlike += unlike_judges(labels.rows)
    _warn_of_gaps(missing, list(dict.fromkeys(unlike)), criteria, what)
    return score_frame(answers, scores, what)


def _warn_of_gaps(
    missing: pd.DataFrame, unlike: Sequence[str], criteria: Mapping[str, CriterionLabels], what: str
) -> None:
    """Warn of missing labels, and of topics on which runs were judged by different judges."""
    said = []
    if len(missing):
        n_labels = len(missing) + sum(
            int(labels.column.notna().sum()) for labels in criteria.values()
        )
        topics = missing["qid"].unique()
        are = agree(len(missing), n_labels, "is", "are")
        said.append(
            f"{len(missing)} of {number_of(n_labels, 'label')} {are} missing ({by_run(missing)}) "
            f"on {number_of(len(topics), 'topic')} ({choices(topics)})"
        )
        if not missing["has_others"].all():
            said[0] += ", and answers without a label of a criterion have no value of it"
    if unlike:
        if len(missing) and set(unlike) == set(missing["qid"]):
            where = "there"
        else:
            where = f"on {number_of(len(unlike), 'topic')} ({choices(unlike)})"
        said.append(
            f"{where}, runs were judged by different judges, so their values may not be "
            "comparable; select labels of judges who judged all runs"
        )
    if said:
        given = []
        for labels in criteria.values():
            rows = labels.rows.assign(label=labels.column.map(str).to_numpy())
            given.append(int(pd.util.hash_pandas_object(rows, index=False).sum()))
        warn_once(f"{what}: {'; '.join(said)}", key=f"{what}: gaps of {given}")


def _levels(
    labels: CriterionLabels, name: str, aspect: Aspect | None, what: str
) -> tuple[Floats, Ints]:
    """Return the values of the labels of a criterion, in increasing order, and the position of each label."""
    column, rows = labels.column, labels.rows
    if aspect is None or aspect.grades is None:
        grades = None
    else:
        grades = aspect.scale.grades
    given, wrong = grade_booleans(read_labels(column), is_boolean(column), grades)
    check_values(~wrong, column, rows, f"{what}: {name}: {BOOLEANS}")
    if aspect is None or aspect.grades is None:
        example = parameter("aspects", {name: _occurring_grades(given)})
        if in_shell():
            example += (
                " ('pt-multiaspect describe --answers FILE --write-aspects FILE' proposes it)"
            )
        remedy = (
            f"divide percentages by 100, declare grades, as in {example}, or select the criteria"
        )
        remedy = _text_remedy(column, name, aspect) or remedy
        return np.unique(read_numbers(column, rows, what, remedy), return_inverse=True)
    scale = aspect.scale
    index, _ = scale.positions(given)
    expected = f"{what}: expected a grade of {name} ({scale}, lowest first)"
    remedy = _text_remedy(column, name, aspect) or "correct the label or the scale"
    check_values(scale.grades[index] == given, column, rows, expected, remedy)
    if np.ptp(scale.gains) == 0:
        raise MultiAspectError(
            f"{what}: expected different gains for the grades of {name} ({scale}), got "
            f"{spell(scale.gains[0])}, so that all answers would have the same value"
        )
    counts = np.bincount(index, minlength=len(scale))
    finding = find_start_above_zero(
        LabelCounts(name, aspect, inferred=False, n_documents=len(index), counts=counts, below=())
    )
    if finding is not None:
        warn_once(f"{what}: {finding.warning}")
    return grade_values(scale), index


def _occurring_grades(labels: Floats) -> list[float] | int:
    """Return an example of a scale: the labels that occur, with whole numbers between.

    Of many labels, it is the highest grade.
    """
    occurring = np.unique(labels[np.isfinite(labels)])
    if not len(occurring):
        return [0, 1, 2]
    is_whole = bool((occurring == np.round(occurring)).all())
    lowest, highest = float(occurring[0]), float(occurring[-1])
    if len(occurring) > _MOST_GRADES or (is_whole and highest - lowest >= _MOST_GRADES):
        return max(1, math.ceil(highest))
    if is_whole:
        return [*range(int(lowest), int(highest) + 1)]
    grades: list[float] = occurring.tolist()
    return grades


def _text_remedy(column: pd.Series[Any], name: str, aspect: Aspect | None) -> str:
    """Return how to declare a text that means that there is no label; nothing if there is none."""
    texts = column[np.isnan(read_labels(column))]
    if not len(texts) or not isinstance(texts.iloc[0], str):
        return ""
    text = texts.iloc[0].strip()
    if in_shell():
        call = f"--unjudged {shlex.quote(text)}"
    else:
        if aspect is None or aspect.grades is None:
            grades = None
        else:
            grades = list(aspect.grades)
        if grades is None:
            declared = {}
        else:
            declared = {"grades": grades}
        call = parameter("aspects", {name: {**declared, "unjudged": [text]}})
    return f"if it means that there is no label, declare {call}; else map the texts to numbers"


def _combine(
    levels: Floats,
    answer: Ints,
    level: Ints,
    answers: pd.DataFrame,
    name: str,
    combine: str,
    what: str,
) -> Floats:
    """Return one value per answer; each has at least one label."""
    if len(answer) == len(answers):
        return np.asarray(levels[level[np.argsort(answer)]])
    if combine == "mean":
        order = np.lexsort((level, answer))  # sums of the same labels are equal
        return mean_labels(levels, answer[order], level[order], len(answers))
    if combine == "median":
        return np.asarray(levels[grade_aggregation.median(answer, level, len(answers))])
    most, n_most = grade_aggregation.majority(answer, level, len(answers))
    tied = np.flatnonzero(n_most > 1)
    if len(tied):
        raise MultiAspectError(
            f"{what}: expected one most frequent label of {name} for "
            f"{answer_title(answers, tied[0])}, got "
            f"{n_most[tied[0]]} {tally(len(tied), 'answer')}; use combine_judges='median' or 'mean'"
        )
    return np.asarray(levels[most])


def rubric_scores(questions: Any) -> pd.DataFrame:
    """Score answers by weighted questions: the fraction of the total weight whose questions an answer meets.

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
    keys = answer_keys(
        table, what, others=(OTHER_QUERIES,)
    )  # question_id is that of a question of the rubric
    met, weight = (id_column(table, (column,), what) for column in ("met", "weight"))
    values = read_numbers(met, keys, what, "divide percentages by 100")
    weights = read_numbers(
        weight, keys, what, "state a penalty as a question that a good answer meets", high=np.inf
    )
    answer = np.asarray(keys.groupby(["name", "qid"], sort=False).ngroup(), dtype=np.intp)
    answers = keys.drop_duplicates(ignore_index=True)
    totals = np.bincount(answer, weights, minlength=len(answers))
    if not totals.all():
        answer_without = answer_title(answers, int(np.argmin(totals)))
        raise MultiAspectError(
            f"{what}: expected a positive weight for {answer_without}, got 0 for all questions"
        )
    scores = weighted_means(answer, values, weights, len(answers))
    if "question" in table.columns:
        texts = table["question"].tolist()
    else:
        texts = [None] * len(table)
    rounded = [
        f"{weight:.12g}" for weight in weights
    ]  # computed weights differ in their last digits
    for note in item_notes(answers, answer, texts, rounded, values.tolist(), what, "question"):
        warn_once(f"{what}: {note}")
    return score_frame(answers, {"rubric": scores}, what)
