"""Rules about judged answers, which yield findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats, Ints, Objects
from ..analysis.judges import LOW_ALPHA, Agreement
from ..answers._answer_tables import answer_title
from ..aspects import Aspect
from ..aspects.aspect import number_codes
from ..collection import AspectView, judged_answers
from ..collection.columns import BOOLEANS, is_boolean, is_far_above, read_labels
from ..collection.label_rules import (
    MIN_POOL,
    as_given,
    aspect_from_one,
    find_constant,
    survey_codes_on_top,
)
from ..errors import agree, choices, number_of
from ..views import percent
from . import rules
from .scales import JudgedAnswers
from .statistics import AGREEMENT, Finding, Statistics

#: A criterion hardly distinguishes systems if this fraction of at least this many answers has its
#: best grade.
_BEST, _MIN_BEST = 0.95, 20

#: Judges disagree if Krippendorff's α is low and fewer answers than this fraction have equal
#: labels: α is also low if nearly all labels are the same.
_MOSTLY_EQUAL = 0.8

#: The top grades of scales that rarely start at 0.
_RARELY_FROM_0 = (5, 7)

#: A label 0 below such grades may be a code if it is rarer than this.
_RARE = 0.2


def reword(finding: Finding) -> Finding:
    """Return a finding about documents and qrels as one about answers and their judgments."""
    text = finding.finding
    # In this order: the ids of documents are names of runs, other documents are answers.
    text = re.sub(r"\bdocument ids\b", "run names", text)
    text = re.sub(r"\bdocument\b", "answer", text)
    text = re.sub(r"\bdocuments\b", "answers", text)
    text = re.sub(r"\bthe qrels have\b", "the judgments have", text)
    # Remedies are code, in which the qrels are a variable.
    remedy = re.sub(r"\bqrels\b", "judged", finding.remedy)
    return replace(finding, finding=text, remedy=remedy)


def _answers(statistics: Statistics) -> JudgedAnswers:
    """Return the judged answers, which rules of this module require."""
    answers = statistics.judged.answers
    assert answers is not None
    return answers


def find_unreadable_labels(statistics: Statistics) -> Iterator[Finding]:
    """Find labels that are no numbers, and answers without a label."""
    judged = _answers(statistics)
    unlabelled: dict[str, Ints] = {}  # the positions of answers, by criterion
    for name in judged.criteria:
        yield from _find_texts(statistics, name)
        yield from _find_truth_values(judged, name)
        labelled_rows, _ = judged.known(name)
        answer_of_row = labelled_rows["answer"]
        n_labels_of_answer = np.bincount(answer_of_row, minlength=len(judged.answers))
        answers_without_label = np.flatnonzero(n_labels_of_answer == 0)
        if len(answers_without_label):
            unlabelled[name] = answers_without_label
    if unlabelled:
        yield from _find_unlabelled(statistics, unlabelled)


def _find_texts(statistics: Statistics, name: str) -> Iterator[Finding]:
    """Find labels of a criterion that are texts, and propose them as codes of missing labels."""
    column = _answers(statistics).criteria[name].column
    is_present = column.notna().to_numpy()
    is_no_number = np.isnan(read_labels(column))
    is_text = is_present & is_no_number
    if not is_text.any():
        return
    texts = column[is_text].unique().tolist()
    n_texts = int(is_text.sum())
    listed = choices(map(repr, texts))
    yield Finding(
        "error",
        name,
        "labels are no numbers; if they mean that there is no label, declare them",
        changes={name: _with_codes(statistics, name, texts)},
        numbers=f"{n_texts}, {listed}",
    )


def _find_truth_values(judged: JudgedAnswers, name: str) -> Iterator[Finding]:
    """Find truth values among the numbers of a criterion, which cannot be read as labels."""
    criterion = judged.criteria[name]
    labels = judged.labels[name]
    is_truth_value = is_boolean(criterion.column)
    is_unreadable = is_truth_value & np.isnan(labels)
    if not is_unreadable.any():
        return
    n_unreadable = int(is_unreadable.sum())
    text = f"truth values among other labels: {BOOLEANS}"
    yield Finding("error", name, text, numbers=str(n_unreadable))


def _find_unlabelled(statistics: Statistics, unlabelled: Mapping[str, Ints]) -> Iterator[Finding]:
    """Find answers without a label; `unlabelled` are their positions by criterion."""
    answers = _answers(statistics).answers
    # The remedy leaves out the topics of all these answers, whatever the criterion.
    all_positions = np.concatenate(list(unlabelled.values()))
    positions = np.unique(all_positions)
    topics = answers["qid"].iloc[positions].unique().tolist()
    qids = statistics.column("qid")
    remedy = f"judged[~{qids}.astype(str).isin({topics!r})]"
    for name, positions_of_criterion in unlabelled.items():
        n_unlabelled = len(positions_of_criterion)
        example = answer_title(answers, int(positions_of_criterion[0]))
        yield Finding(
            "warning",
            name,
            "answers without a label, which have no value",
            remedy,
            numbers=f"{n_unlabelled} of {len(answers)}, such as {example}",
        )


def _with_codes(statistics: Statistics, name: str, codes: Sequence[float | str]) -> Aspect:
    """Return the scale of a criterion, on which further codes mean that there is no label."""
    view = statistics.judged.view(name)
    assert view is not None
    aspect = as_given(view.label_counts)
    spec = aspect.to_spec()
    if isinstance(spec, int):  # the top grade alone
        spec = {"grades": spec}
    spec["unjudged"] = [*view.aspect.unjudged, *codes]
    return Aspect(**spec)


def _division(columns: Sequence[str], name: str) -> str:
    """Return code that divides the labels of a criterion by 100; `columns` are those of its rows.

    The code depends on the form of the rows, in which labels are in one of three places.
    """
    criterion_columns = [column for column in judged_answers.CRITERION_COLUMNS if column in columns]
    # One row per criterion, with the label in a column of scores.
    if criterion_columns:
        criterion_column = criterion_columns[0]
        score_columns = [column for column in judged_answers.SCORE_COLUMNS if column in columns]
        score_column = score_columns[0]
        is_criterion = f"judged[{criterion_column!r}] == {name!r}"
        return f"judged.loc[{is_criterion}, {score_column!r}] /= 100"
    # One column per criterion.
    if name in columns:
        return f"judged[{name!r}] /= 100"
    # One dict of all criteria per row.
    return f"for scores in judged[{judged_answers.NESTED!r}]: scores[{name!r}] /= 100"


def find_undeclared_grades(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria with labels outside of 0 to 1, but without a declared scale."""
    top_grades = {view.name: _top_grade(view) for view in statistics.judged.views}
    for view in statistics.judged.views:
        labels = view.label[view.known]
        is_outside = (labels > 1) | (labels < 0)
        is_undeclared = view.inferred and is_outside.any()
        is_constant = find_constant(view.label_counts) is not None  # another finding
        if is_constant or not is_undeclared:
            continue
        without_codes = _scale_without_codes(view)
        if without_codes is not None:
            yield _failures_finding(view, without_codes)
        elif view.scale.is_fractional:
            yield _percentages_finding(statistics, view)
        else:
            yield _undeclared_finding(view, top_grades)


def _top_grade(view: AspectView) -> float:
    """Return the highest label of a criterion that is no code of failures, at least 0."""
    labels = view.label[view.known]
    scale_with_codes_declared = _scale_without_codes(view)
    if scale_with_codes_declared is None:
        return float(labels.max(initial=0))
    is_code = np.isin(labels, number_codes(scale_with_codes_declared))
    return float(labels[~is_code].max(initial=0))


def _span(labels: Floats) -> str:
    """Return the lowest and the highest label as text, such as '1 to 5'."""
    lowest = spell(float(labels.min()))
    highest = spell(float(labels.max()))
    return f"{lowest} to {highest}"


def _percentages_finding(statistics: Statistics, view: AspectView) -> Finding:
    """Return the finding of fractional labels above 1, which may be percentages."""
    columns = _answers(statistics).columns
    code_to_divide = _division(columns, view.name)  # such as "judged['correct'] /= 100"
    return Finding(
        "error",
        view.name,
        "the labels are not in [0, 1]; divide percentages by 100",
        remedy=code_to_divide,
        numbers=_span(view.label[view.known]),
    )


def _failures_finding(view: AspectView, without_codes: Aspect) -> Finding:
    """Return the finding of labels that may be codes of failures, given the scale without them."""
    labels = view.label[view.known]
    codes = number_codes(without_codes)
    is_code = np.isin(labels, codes)
    others = labels[~is_code]
    listed = choices(map(spell, codes))
    span = _span(others)
    if len(codes) == 1:
        text = f"{listed} is outside of the other labels, {span}, and may be a code of failures"
    else:
        text = f"{listed} are outside of the other labels, {span}, and may be codes of failures"
    if 0 in codes:
        top = spell(float(others.max()))
        text += f"; if 0 is the lowest grade, declare the grades 0 to {top} instead"
    n_codes = int(is_code.sum())
    n_labels = number_of(len(labels), "label")
    return Finding(
        "error",
        view.name,
        text,
        changes={view.name: without_codes},
        numbers=f"{n_codes} of {n_labels}",
    )


def _undeclared_finding(view: AspectView, top_grades: Mapping[str, float]) -> Finding:
    """Return the finding of grades without a scale; `top_grades` are those of all criteria."""
    text = "the labels are not in [0, 1], and no scale is declared, so they are refused as values"
    changes: dict[str, Aspect | None] = {}
    from_one = aspect_from_one(view.label_counts)
    if from_one is not None:
        changes = {view.name: from_one}
        text += "; no label is 0, so the scale may start at 1"
    # Criteria often have the same scale, and no answer may have the top grade on one of them.
    highest_criterion = max(top_grades, key=top_grades.__getitem__)
    highest_grade = top_grades[highest_criterion]
    if top_grades[view.name] < highest_grade:
        top = spell(highest_grade)
        text += (
            f"; labels of {highest_criterion} reach {top}, declare that top if the scale is the "
            "same"
        )
    span = _span(view.label[view.known])
    return Finding("error", view.name, text, changes=changes, numbers=span)


def _scale_without_codes(view: AspectView) -> Aspect | None:
    """Return the scale of a criterion whose labels contain codes of failures; None without codes.

    Return None also for fractions above 1, whose scale is unknown.
    """
    labels = view.label[view.known]
    distinct = np.unique(labels)
    grades = _grades_without_codes(labels)
    codes = np.setdiff1d(distinct, grades).tolist()
    if not len(grades) or not codes:
        return None
    top = grades[-1]
    is_fractional = (grades != np.floor(grades)).any()
    if is_fractional and top > 1:
        return None
    # Fractions up to 1 are values, which need no grades.
    if is_fractional:
        return Aspect(unjudged=codes)
    # Scales of whole numbers start at 0 or 1, also if no label is as low as that.
    lowest = 1
    if 0 in grades:
        lowest = 0
    return Aspect(range(lowest, int(top) + 1), unjudged=codes)


def _grades_without_codes(labels: Floats) -> Floats:
    """Return the distinct labels of a criterion that are no codes of failures, in increasing order.

    Codes are negative labels, a label far above the others, the codes 8 and 9 of surveys, and a
    rare 0 below grades that rarely start at 0.
    """
    not_negative = labels[labels >= 0]
    distinct, counts = np.unique(not_negative, return_counts=True)
    if is_far_above(distinct):
        # The last label is a code.
        distinct = distinct[:-1]
        counts = counts[:-1]
    survey_codes = survey_codes_on_top(distinct, counts)
    is_survey_code = np.isin(distinct, survey_codes)
    grades = distinct[~is_survey_code]
    is_0_rare = np.mean(labels == 0) < _RARE
    if is_0_rare and _rarely_start_at_0(grades):
        # The first label, 0, is a code.
        return grades[1:]
    return grades


def _rarely_start_at_0(grades: Floats) -> bool:
    """Return whether grades are 0, 1, 2, … up to one of `_RARELY_FROM_0`, as of scales from 1."""
    if not len(grades):
        return False
    top = grades[-1]
    has_all_from_0 = np.array_equal(grades, np.arange(top + 1))
    return has_all_from_0 and top in _RARELY_FROM_0


def find_missing_answers(statistics: Statistics) -> Iterator[Finding]:
    """Find runs without answers to some topics."""
    answers = _answers(statistics).answers
    all_runs = answers["name"].unique()
    all_topics = answers["qid"].unique()
    expected = pd.MultiIndex.from_product([all_runs, all_topics])
    present = pd.MultiIndex.from_frame(answers)  # pairs of run and topic, too
    missing = expected.difference(present, sort=False)
    if missing.empty:
        return
    first_run, first_topic = missing[0]
    incomplete_runs = missing.get_level_values(0).unique()
    n_answers = number_of(len(expected), "answer")
    n_runs = number_of(len(incomplete_runs), "run")
    listed_runs = choices(incomplete_runs)
    is_or_are = agree(len(missing), len(expected), "is", "are")
    # The remedy is code that keeps the topics with answers of all runs. For judged answers, the
    # column "docno" of the statistics is that of the runs.
    topics = statistics.column("qid")
    runs = statistics.column("docno")
    yield Finding(
        "warning",
        "",  # about no single criterion
        f"{len(missing)} of {n_answers} of {n_runs} ({listed_runs}) {is_or_are} missing, such as "
        f"{first_run} on topic {first_topic}; means over different topics cannot be compared",
        f"judged[{runs}.groupby({topics}).transform('nunique') == {runs}.nunique()]",
    )


def find_best_only(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria on which nearly all answers have the best grade."""
    for view in statistics.judged.views:
        best_grade = float(view.scale.grades[-1])
        labels = view.label[view.known]
        if len(labels) < _MIN_BEST:
            continue
        fraction_of_best = float((labels == best_grade).mean())
        # A criterion on which all labels are equal has another finding.
        if _BEST <= fraction_of_best < 1:
            percentage = percent(fraction_of_best)
            best = spell(best_grade)
            yield Finding(
                "warning",
                view.name,
                "nearly all answers have the best label, so that runs are hardly distinguished",
                numbers=f"{percentage} have {best}",
            )


def find_disagreement(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria on which judges, or repetitions, disagree."""
    judged = _answers(statistics)
    for name in judged.criteria:
        rows, labels = judged.known(name)
        answer = rows["answer"].to_numpy()
        n_labels = pd.Series(labels).groupby(answer).transform("size").to_numpy()
        has_several = n_labels > 1
        shared = rows[has_several]
        shared_labels = labels[has_several]
        finding = _disagreement(name, shared, shared_labels)
        if finding is not None:
            yield finding


def _disagreement(name: str, rows: pd.DataFrame, labels: Floats) -> Finding | None:
    """Return the finding that judges disagree on a criterion, or None.

    Parameters
    ----------
    name : str
        The name of the criterion.
    rows : DataFrame
        The columns ``answer`` and ``judge``, one row per label, for answers with several labels.
    labels : ndarray of float, shape (n_rows,)
        The labels.
    """
    answer = rows["answer"].to_numpy()
    labels_by_answer = pd.Series(labels).groupby(answer)
    is_unanimous = labels_by_answer.max() == labels_by_answer.min()  # one per answer
    fraction_unanimous = is_unanimous.mean()
    n_answers = len(is_unanimous)
    if n_answers < MIN_POOL or fraction_unanimous >= _MOSTLY_EQUAL:
        return None
    percentage = percent(fraction_unanimous)
    equal_labels = f"the labels of {percentage} of {n_answers} answers with several are equal"
    if find_spec("krippendorff") is None:
        text = "Krippendorff's alpha of the judges requires krippendorff"
        remedy = '# pip install "pt-multiaspect[judges]"'
        return Finding("note", name, text, remedy, numbers=equal_labels)

    alpha = _ordinal_alpha(name, answer, labels)
    is_low = alpha < LOW_ALPHA  # False for NaN, an unknown alpha
    if not is_low:
        return None
    deviation = labels - labels_by_answer.transform("mean").to_numpy()
    most_deviating = _most_deviating(deviation, rows["judge"].to_numpy())
    numbers = f"Krippendorff's alpha is {alpha:.2f}, {equal_labels}{most_deviating}"
    return Finding("warning", name, "judges disagree", AGREEMENT, numbers=numbers)


def _ordinal_alpha(name: str, answer: Ints, labels: Floats) -> float:
    """Return Krippendorff's α of a criterion, of which only the order of the labels counts.

    `answer` is the answer of each label, in the same order. α is NaN if it is not defined.
    """
    levels, level_of_label = np.unique(labels, return_inverse=True)
    agreement = Agreement.of(name, answer, level_of_label, levels, "ordinal")
    return agreement.alpha


def _most_deviating(deviations: Floats, judge: Objects) -> str:
    """Return as text which judge deviates most in the mean; empty for a single judge.

    `deviations` are those of labels from the mean label of their answer; `judge` gave the label.
    """
    mean_deviations = pd.Series(deviations).groupby(judge).mean()
    if len(mean_deviations) < 2:
        return ""
    most_deviating = int(mean_deviations.abs().argmax())
    name = mean_deviations.index[most_deviating]
    deviation = mean_deviations.iloc[most_deviating]
    return f", and {name} deviates most, by {deviation:+.2g} in the mean"


#: The rules in the order of findings with equal severity.
ANSWER_RULES = (
    find_unreadable_labels,
    rules.find_labels_out_of_scale,
    rules.find_lookalike_ids,
    rules.find_copied_labels,
    rules.find_codes_on_top,
    rules.find_label_warnings,
    find_undeclared_grades,
    find_missing_answers,
    find_disagreement,
    find_best_only,
    rules.find_nested_topics,
)
