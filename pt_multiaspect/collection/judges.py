"""Wide qrels of judgments by criterion and judge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from .._numbers import exact, spell
from .._typing import Floats, Ints
from .._validation import choice
from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..errors import number_of, warn_once
from ..kernels import opinions
from .label_rules import is_doubtful
from .long_judgments import JUDGE, LongJudgments

#: The methods of combining the labels of several judges.
COMBINATIONS = ("median", "mean", "majority")


def from_long(
    frame: object,
    *,
    criterion: str = "criterion",
    value: str = "value",
    judge: str | None = JUDGE,
    combine: str = "median",
    aspects: object = None,
    name: str | None = None,
) -> pd.DataFrame:
    """Convert judgments with one row per document and criterion, by one or several judges, to wide qrels.

    Parameters
    ----------
    frame : DataFrame or iterable of namedtuples
        A query column (``qid`` or ``query_id``), a document column (``docno`` or ``doc_id``), and the columns
        named below.
    criterion : str, default 'criterion'
        The column of criteria. Each criterion becomes an aspect.
    value : str, default 'value'
        The column of labels, which are numbers. A missing label means that the judge gave none.
    judge : str or None, default 'judge'
        The column of judges. The default is read if it exists; None ignores it.
    combine : {'median', 'mean', 'majority'}, default 'median'
        The method of combining the labels of several judges; see Notes.
    aspects : Aspects, mapping or str, optional
        The scales of the judges. Scales of criteria that are not declared are inferred from the labels of all
        judges. Declare scales that do not start at 0, and codes such as −1 for a failed judgment
        (``unjudged=[-1]``), which are then left out.
    name : str, optional
        A name for the scales of the result, for measure strings.

    Returns
    -------
    DataFrame
        One row per (query, document) in the order of their first rows: ``qid docno`` and one column per
        criterion (``label`` for relevance), declared ones first. Labels are integers if all are whole numbers,
        else floats, NaN where no judge gave a label. ``attrs["aspects"]`` contains the scales for ``aspects=`` of
        measures, as JSON; ``attrs["notes"]`` describes what was combined.

    Raises
    ------
    MultiAspectError
        If a column is missing, a label is not a number or not on its scale, a label is negative on a scale that
        is not declared, a judge gave a document two labels on a criterion (equal labels count once), a declared
        criterion does not occur, or two criteria differ only in case or spaces.

    Warns
    -----
    MultiAspectWarning
        If an inferred scale may start at 1, or most documents with several labels have no majority. With 'mean', if
        the threshold is not declared, and the default, the second grade, is reached by nearly all documents, or
        only by those on which all judges agree.

    See Also
    --------
    analysis.judge_agreement : Krippendorff's α per criterion.
    analysis.judge_sensitivity : Dependence of the order of systems on the judges.

    Notes
    -----
    Pass ``attrs["aspects"]`` (or `name`) to measures. Scales inferred from combined labels would be shorter if
    the highest grade is never the median.

    - 'median' is a grade of the scale. If the number of labels is even, it is the lower of the two in the middle.
    - 'majority' is the most frequent grade, the lowest of tied ones. With two judges, it is the lower label.
    - 'mean' is the arithmetic mean. The means become additional grades between the declared ones: gains and
      probabilities are interpolated linearly, and a mean counts as positive if it reaches the lowest positive
      grade of the judges' scale. It assumes that the distances between grades are meaningful.

    All judges have the same weight. If only some judges labelled a document, their labels are combined.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> rows = [
    ...     ("q1", "d1", "correct", "a", 3), ("q1", "d1", "correct", "b", 4), ("q1", "d1", "correct", "c", 1),
    ...     ("q1", "d1", "fluent", "a", 5), ("q1", "d2", "correct", "b", 2), ("q1", "d2", "correct", "c", 5),
    ... ]
    >>> judged = pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])
    >>> rubric = {criterion: ma.Aspect([1, 2, 3, 4, 5], threshold=4) for criterion in ("correct", "fluent")}
    >>> wide = ma.from_long(judged, aspects=rubric)
    >>> wide
      qid docno  correct  fluent
    0  q1    d1        3     5.0
    1  q1    d2        2     NaN
    >>> wide.attrs["notes"]
    ['correct: median of 3 judges, 2.5 labels per document (2 documents)', 'fluent: 1 judge (1 document)']
    >>> measure = ma.CAM(aspects=wide.attrs["aspects"], base="P@1")
    >>> measure.calc_aggregate(wide, {"q1": {"d1": 1.0}})
    0.5
    """
    choice("combine", *COMBINATIONS)(combine)
    judged = LongJudgments.read(frame, criterion, value, judge, aspects)
    columns, scales, notes = {}, {}, []
    for number, (aspect, scale) in enumerate(judged.aspects.items()):
        rows = judged.of(number)
        pair, grade = judged.pair[rows], judged.grade[rows]
        n_labels = np.bincount(pair, minlength=judged.n_pairs)
        several = bool((n_labels > 1).any())
        notes.append(_note(aspect, combine, len(np.unique(judged.judge[rows])), n_labels))
        if combine == "mean" and several:
            labels = _means(scale, pair, grade, judged.n_pairs)
            scales[aspect] = _with_means(aspect, scale, labels)
        else:
            index = judged.combined(pair, grade, combine)
            labels = np.where(index < 0, np.nan, scale.scale.grades[index])
            scales[aspect] = scale
        if combine == "majority" and several:
            notes[-1] += _ties(aspect, pair, grade, n_labels)
        columns[aspect] = labels
    notes += [f"{aspect}: the scale was inferred as {judged.aspects[aspect].scale}" for aspect in judged.inferred]
    result = judged.wide(columns)
    # As text, which can be saved in Parquet files.
    result.attrs = {"aspects": Aspects(scales, name=name).to_json(), "notes": notes}
    return result


def _note(name: str, combine: str, n_judges: int, n_labels: Ints) -> str:
    """Return a note on the number of judges and labels of one criterion."""
    n_documents = int((n_labels > 0).sum())
    per_document = f", {n_labels.sum() / n_documents:.3g} labels per document" if n_judges > 1 else ""
    how = f"{combine} of " if n_judges > 1 else ""
    return f"{name}: {how}{number_of(n_judges, 'judge')}{per_document} ({number_of(n_documents, 'document')})"


def _ties(name: str, pair: Ints, grade: Ints, n_labels: Ints) -> str:
    """Return a note on the number of documents without a majority; warn if this is the case for most."""
    n_tied = int((opinions.majority(pair, grade, len(n_labels))[1] > 1).sum())
    n_several = int((n_labels > 1).sum())
    if 2 * n_tied > n_several:
        warn_once(
            f"{name}: {n_tied} of {n_several} documents with several labels have no majority and are given the "
            "lowest of the most frequent labels. Use combine='median' or 'mean'"
        )
    return f", {n_tied} without a majority"


def _means(aspect: Aspect, pair: Ints, grade: Ints, n_pairs: int) -> Floats:
    """Return the mean label of each pair; exact sums where the grades have a common denominator."""
    fractions = [exact(float(label)) for label in aspect.scale.grades]
    denominator = math.lcm(*(fraction.denominator for fraction in fractions))
    largest = max(abs(fraction.numerator) * denominator // fraction.denominator for fraction in fractions)
    if max(largest, 1) * denominator * len(grade) >= 2**53:
        labels = aspect.scale.grades[grade]
        n_labels = np.bincount(pair, minlength=n_pairs)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.bincount(pair, weights=labels, minlength=n_pairs) / n_labels)
    numerators = np.array([int(fraction * denominator) for fraction in fractions], dtype=np.int64)
    return opinions.mean(pair, numerators[grade], denominator, n_pairs)


def _with_means(name: str, aspect: Aspect, labels: Floats) -> Aspect:
    """Return the scale with the means as additional grades; gains and probabilities are interpolated."""
    scale = aspect.scale
    sign = 1.0 if scale.greater_is_better else -1.0
    upwards = np.unique(sign * np.append(scale.grades, labels[~np.isnan(labels)]))
    if aspect.threshold is None:
        _check_threshold(name, aspect, labels)
    grades = (sign * upwards + 0.0).tolist()
    spec: dict[str, Any] = {"grades": grades, "greater_is_better": scale.greater_is_better}
    spec["unjudged"] = [code for code in aspect.unjudged if code not in grades]
    if aspect.gains is not None:
        spec["gains"] = np.interp(upwards, sign * scale.grades, scale.gains).tolist()
    if not isinstance(aspect.probabilities, str):
        spec["probabilities"] = np.interp(upwards, sign * scale.grades, scale.probabilities).tolist()
    else:
        spec["probabilities"] = aspect.probabilities
    if len(scale) > 1:
        spec["threshold"] = float(scale.grades[scale.threshold])
    return Aspect(**spec)


def _check_threshold(name: str, aspect: Aspect, labels: Floats) -> None:
    """Warn if means hardly ever, or nearly always, reach the default threshold, the second grade."""
    scale, known = aspect.scale, labels[~np.isnan(labels)]
    if len(scale) == 2:
        warn_once(
            f"{name}: means of two grades reach the upper one only if all judges agree, and only these documents "
            "count as relevant in binary measures. Use combine='majority' or 'median', or declare the threshold",
            key=f"means of two grades: {name}",
        )
    elif len(scale) > 2 and len(known):
        lowest = float(scale.grades[1])
        fraction = float((known >= lowest if scale.greater_is_better else known <= lowest).mean())
        if is_doubtful(fraction, len(known), len(scale)):
            middle = spell(float(scale.grades[len(scale) // 2]))
            warn_once(
                f"the threshold of {name} is not declared, so means from its second grade on, {spell(lowest)}, "
                f"count as relevant in binary measures: {fraction:.0%} of the documents ({len(known)}). Declare "
                f"the lowest positive grade, as in aspects={{{name!r}: Aspect(…, threshold={middle})}}",
                key=f"threshold of means: {name}",
            )
