"""Combination of several criteria of an answer to one value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..errors import (
    MultiAspectError,
    choices,
    errors_of,
    refuse_none,
    refuse_taken,
    refuse_unknown,
    tally,
)
from ..evaluation.long_frames import (
    COLUMNS,
    check_distinct,
    is_combined,
    measures_by_label,
    read_long_frame,
)
from ..integration.aggregators import lower_is_better
from ..integration.parsing import Measures, parse_all, read_record, record_measures
from ._answer_tables import ROUNDING, answer_title


def combine(perquery: Any, measures: Measures) -> pd.DataFrame:
    """Combine the criteria of each answer to one value, by CAM, MM, WHAM, GAM or TOMA.

    In rankings of a single document, measures that are divided by an ideal compare answers with
    those of other systems, or are 1 if no other answer is judged. Here, the values of the criteria
    replace the values of the base on the aspects, without this division.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``: criteria in [0, 1], of which 1 is the best, from
        `nugget_scores`, `argue_scores`, `rubric_scores`, `from_criteria` or several of them
        (``pd.concat``), or values of measures from `evaluate`. Further columns, such as a seed,
        distinguish answers.
    measures : measure, str, sequence of these or mapping
        Means, such as ``"MM"`` or ``CAM(weights={"faithful": 2, "complete": 1})``, or TOMA with
        declared scales. The parameter `aspects` selects the criteria,
        ``"MM(aspects='faithful,complete')"``; by default, all criteria of the frame that were not
        combined by such a measure. Files do not record which measures these are: select the
        criteria of a frame that was read from a file. A mapping is ``{alias: measure}``.

    Returns
    -------
    DataFrame
        The rows of `perquery`, and one row per answer and measure. A mean is the mean of the
        criteria. TOMA is the closeness 1 - distance / maximum distance to the best grades, or the
        relative weight of an explicit order.

    Raises
    ------
    MultiAspectError
        If an answer lacks a criterion, a value is outside [0, 1] or, for TOMA, is not a grade of
        its scale, lower values of a criterion are better, or a measure has parameters that are
        defined for rankings only: `base`, a cutoff, `empty`, `normalized`, `positives`.

    See Also
    --------
    from_criteria : Values in [0, 1] of grades on declared scales.

    Notes
    -----
    Stability: provisional. New, without a published method to follow.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> judged = pd.DataFrame({"qid": ["q1"], "name": ["mine"], "faithful": [2], "complete": [1]})
    >>> scales = {"faithful": 2, "complete": 2}
    >>> criteria = ma.answers.from_criteria(judged, aspects=scales)
    >>> measures = {"CAM": "CAM", "MM": "MM", "closeness": ma.TOMA(aspects=scales)}
    >>> ma.answers.combine(criteria, measures).round(4)
       name qid    measure   value
    0  mine  q1   faithful  1.0000
    1  mine  q1   complete  0.5000
    2  mine  q1        CAM  0.7500
    3  mine  q1         MM  0.6667
    4  mine  q1  closeness  0.6464
    """
    labelled_measures = parse_all(measures)
    frame = read_long_frame(perquery)
    further_columns = [column for column in frame.columns if column not in COLUMNS]
    check_distinct(frame, "keep one answer, or give each run its own name", further_columns)
    known = measures_by_label(frame)  # the measure of each label, None if it is not known
    refuse_taken(labelled_measures, known, "a measure of the frame")
    criteria = [label for label, measure in known.items() if not is_combined(measure)]
    criterion_of_row = frame["measure"].map(str).to_numpy()
    answers, answer_of_row = _distinct_answers(frame, ["name", "qid", *further_columns])
    parts = [frame]
    combined_criteria: list[str] = []
    for label, measure in labelled_measures.items():
        names = _criteria_of_measure(label, measure, criteria, known)
        combined_criteria += names
        values_of_criteria = {}
        with errors_of(label):
            for name in names:
                rows = criterion_of_row == name
                values = _values_of_answers(frame, rows, answer_of_row, answers, name)
                values_of_criteria[name] = values
            combined = measure.of_criteria(values_of_criteria)
        parts.append(answers.assign(measure=label, value=combined))
    rows_of_all = pd.concat(parts, ignore_index=True)
    result = rows_of_all[frame.columns].infer_objects()
    result.attrs = dict(frame.attrs)
    unknown_criteria = [name for name in combined_criteria if known[name] is None]
    record_measures(result, _join_records(frame, labelled_measures, unknown_criteria))
    return result


def _join_records(
    frame: pd.DataFrame, labelled_measures: Mapping[str, Any], unknown_criteria: Iterable[str]
) -> dict[str, Any]:
    """Return the measures to record by label: those recorded in a frame and the combined ones.

    Joined frames have lost their record. Then `unknown_criteria` get None: they are no measures,
    and higher values are better.
    """
    no_measures: dict[str, Any] = dict.fromkeys(unknown_criteria)
    return {**no_measures, **read_record(frame), **labelled_measures}


def _distinct_answers(frame: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, Ints]:
    """Return the distinct answers, in order of occurrence, and the position of that of each row.

    Rows belong to the same answer if they are equal in the columns `keys`.
    """
    rows_by_answer = frame.groupby(keys, sort=False, dropna=False, observed=True)
    answers = rows_by_answer.head(1)[keys]
    answer_of_row = np.asarray(rows_by_answer.ngroup(), dtype=np.intp)
    return answers, answer_of_row


def _criteria_of_measure(
    label: str, measure: Any, criteria: list[str], known: Mapping[str, Any]
) -> list[str]:
    """Return the criteria that a measure combines; raise an error if they cannot be combined.

    Parameters
    ----------
    label : str
        The label of the measure, for errors.
    measure : measure
        The measure.
    criteria : list of str
        The criteria of the frame, which are combined by default.
    known : mapping of str to measure or None
        All labels of the frame with their measures, None if unknown.
    """
    if not is_combined(measure):
        raise MultiAspectError(
            f"{label}: expected a mean of criteria (CAM, MM, WHAM, GAM) or TOMA, got {measure}"
        )
    names = criteria
    if measure.spec is not None:
        names = list(measure.spec)
    refuse_none(names, "criterion in the frame", label)
    refuse_unknown(names, known, "criteria of the frame", label)
    lower = [name for name in names if lower_is_better(known[name])]
    if lower:
        raise MultiAspectError(
            f"{label}: expected criteria where higher is better, got {choices(lower)}"
        )
    return names


def _values_of_answers(
    frame: pd.DataFrame, rows: Bools, answer_of_row: Ints, answers: pd.DataFrame, name: str
) -> Floats:
    """Return the value of a criterion for each answer; raise an error if one is not in [0, 1].

    Parameters
    ----------
    frame : DataFrame
        The long frame of all criteria.
    rows : ndarray of bool, shape (n_rows,)
        The rows of the criterion.
    answer_of_row : ndarray of int, shape (n_rows,)
        The position of the answer of each row in `answers`.
    answers : DataFrame
        The run and the topic of each answer.
    name : str
        The criterion, for errors.
    """
    values = np.full(len(answers), np.nan)
    values[answer_of_row[rows]] = frame["value"].to_numpy()[rows]
    is_valid = (values >= -ROUNDING) & (values <= 1 + ROUNDING)  # False for NaN
    faulty = np.flatnonzero(~is_valid)
    if len(faulty):
        first = faulty[0]
        title = answer_title(answers, first)
        others = tally(len(faulty), "answer")
        got = "none"
        if not np.isnan(values[first]):
            got = format(values[first], "g")
        raise MultiAspectError(
            f"expected a value of {name} in [0, 1] for {title}, got {got} {others}; divide "
            "percentages by 100, convert grades with from_criteria, and leave out topics that are "
            "not judged for all runs"
        )
    return np.asarray(np.clip(values, 0.0, 1.0), dtype=np.float64)
