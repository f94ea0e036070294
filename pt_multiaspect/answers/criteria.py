"""Long frames of answers judged by criteria or by weighted questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects, aspect_name
from ..aspects.parameter import parse_aspects
from ..collection.columns import NOT_ASPECTS, id_column, is_numeric, read_labels, text_remedy, texts_like_labels
from ..collection.frames import as_frame
from ..collection.label_rules import LabelCounts, find_start_above_zero
from ..errors import MultiAspectError, choices, refuse_repeated, refuse_unknown, warn_once
from ..evaluation.long_frames import COLUMNS
from ..orders.order import grade_values
from ._frames import (
    RUN_COLUMNS,
    answer_keys,
    answer_title,
    check_values,
    item_notes,
    read_numbers,
    score_frame,
    weighted_means,
)


def from_criteria(frame: object, *, aspects: object = None) -> pd.DataFrame:
    """Convert answers judged by several criteria, with one column per criterion, to a long frame.

    Parameters
    ----------
    frame : DataFrame
        One row per answer: a topic (``qid`` or ``query_id``), a run (``name`` or ``run_id``), and one column per
        criterion.
    aspects : Aspects, mapping, str or sequence of str, optional
        The criteria, and the scales of those that are judged by grades, such as 1 to 5. By default, every numeric
        column. Criteria without declared grades have values in [0, 1], of which 1 is the best.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with one row per answer and criterion.
        Values are in [0, 1]: a grade becomes its gain, rescaled from 0 for the lowest grade to 1 for the best.

    Raises
    ------
    MultiAspectError
        If a value is missing, outside [0, 1] (as percentages are) or not a grade of its scale, if all grades of a
        criterion have the same gain, or a run has several answers to a topic.

    Warns
    -----
    MultiAspectWarning
        If a scale is declared by its top grade alone, so that it starts at 0, but of at least 30 labels none is 0
        and some are 1. If the grades are listed, they are not doubted.

    See Also
    --------
    combine : One value of several criteria.
    pt_multiaspect.from_long : Judgments with one row per criterion and judge; rename the column of the answers'
        systems from ``docno`` to ``name``.

    Notes
    -----
    With equally spaced grades and default gains, the grades 1 to 5 become 0, 0.25, 0.5, 0.75 and 1. With
    ``greater_is_better=False``, the smallest label becomes 1.

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
    """
    what = "from_criteria"
    table = as_frame(frame, what)
    if set(COLUMNS) <= set(table.columns):
        raise MultiAspectError(
            f"{what}: expected one column per criterion, got a long frame, which needs no conversion"
        )
    answers = answer_keys(table, what)
    others = [column for column in table.columns if column not in (*NOT_ASPECTS, *RUN_COLUMNS)]
    named = [(aspect_name(column), table[column]) for column in others]
    refuse_repeated((name for name, _ in named), "names of criteria", what)
    spec = parse_aspects(aspects)
    columns = {name: column for name, column in named if spec is not None or is_numeric(column)}
    if spec is None:
        _warn_of_texts(table[[column.name for name, column in named if name not in columns]], answers, what)
    refuse_unknown(spec or (), columns, "columns of criteria", what)
    if not columns:
        raise MultiAspectError(
            f"{what}: expected at least one column of numbers, got the columns {choices(table.columns)}"
        )
    scales = dict(spec) if isinstance(spec, Aspects) else {}
    scores = {name: _values(columns[name], name, scales.get(name), answers, what) for name in spec or columns}
    return score_frame(answers, scores, what)


def _warn_of_texts(others: pd.DataFrame, answers: pd.DataFrame, what: str) -> None:
    """Warn about columns whose texts may be labels, such as yes and no."""
    query = pd.factorize(answers["qid"])[0]
    for name, column in others.items():
        if texts := texts_like_labels(column, query):
            warn_once(f"{what}: the column {name} is left out. {text_remedy(str(name), texts)}")


def _values(column: pd.Series[Any], name: str, aspect: Aspect | None, answers: pd.DataFrame, what: str) -> Floats:
    """Return the values of a criterion, from 0 for the lowest grade to 1 for the best."""
    if aspect is None or aspect.grades is None:
        example = f"aspects={{{name!r}: [1, 2, 3, 4, 5]}}"
        remedy = (
            f"divide percentages by 100, declare grades, as in {example}, or select the criteria. Leave out topics "
            "that are not judged for all runs"
        )
        return read_numbers(column, answers, what, remedy)
    labels = read_labels(column)
    scale = aspect.scale
    index, _ = scale.positions(labels)
    expected = f"{what}: expected a grade of {name} ({scale}, lowest first)"
    remedy = "correct the label or the scale, or leave out topics that are not judged for all runs"
    check_values(scale.grades[index] == labels, column, answers, expected, remedy)
    if np.ptp(scale.gains) == 0:
        raise MultiAspectError(
            f"{what}: expected different gains for the grades of {name} ({scale}), got {spell(scale.gains[0])}, "
            "so that all answers would have the same value"
        )
    counts = np.bincount(index, minlength=len(scale))
    finding = find_start_above_zero(
        LabelCounts(name, aspect, inferred=False, n_documents=len(index), counts=counts, below=())
    )
    if finding is not None:
        warn_once(f"{what}: {finding.text}. {finding.advice}")
    return grade_values(scale)[index]


def rubric_scores(frame: object) -> pd.DataFrame:
    """Score answers by weighted questions: the fraction of the total weight whose questions an answer meets.

    Parameters
    ----------
    frame : DataFrame
        One row per answer and question: a topic (``qid`` or ``query_id``), a run (``name`` or ``run_id``),
        ``weight``, a number of at least 0, and ``met``, a truth value or the degree in [0, 1] to which the answer
        meets the question. A column ``question`` with the text or the id of the question is not required, but
        without it, only the weights of the questions of different runs can be compared.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with one row per answer and the measure
        ``rubric``: Σ w·met / Σ w, in [0, 1].

    Raises
    ------
    MultiAspectError
        If a weight is negative, a value is missing or outside [0, 1], all weights of an answer are 0, or a question
        of an answer is repeated with another value.

    Warns
    -----
    MultiAspectWarning
        If runs were judged by different questions or weights on a topic, or if a question of an answer is repeated.

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
    what = "rubric_scores"
    table = as_frame(frame, what)
    questions = answer_keys(table, what)
    met, weight = (id_column(table, (column,), what) for column in ("met", "weight"))
    values = read_numbers(met, questions, what, "divide percentages by 100")
    weights = read_numbers(
        weight, questions, what, "state a penalty as a question that a good answer meets", high=np.inf
    )
    answer = np.asarray(questions.groupby(["name", "qid"], sort=False).ngroup(), dtype=np.intp)
    answers = questions.drop_duplicates(ignore_index=True)
    totals = np.bincount(answer, weights, minlength=len(answers))
    if not totals.all():
        answer_without = answer_title(answers, int(np.argmin(totals)))
        raise MultiAspectError(f"{what}: expected a positive weight for {answer_without}, got 0 for all questions")
    scores = weighted_means(answer, values, weights, len(answers))
    texts = table["question"].tolist() if "question" in table.columns else [None] * len(table)
    rounded = [f"{weight:.12g}" for weight in weights]  # computed weights differ in their last digits
    for note in item_notes(answers, answer, texts, rounded, values.tolist(), what, "question"):
        warn_once(f"{what}: {note}")
    return score_frame(answers, {"rubric": scores}, what)
