"""Rules about judged answers, which yield findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Bools, Floats, Ints, Objects
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
    text = re.sub(r"\bdocument ids\b", "run names", text)
    text = re.sub(r"\bdocument(s?)\b", r"answer\1", text)
    text = re.sub(r"\bthe qrels have\b", "the judgments have", text)
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
    unlabelled: dict[str, Ints] = {}
    for name in judged.criteria:
        yield from _find_texts(statistics, name)
        yield from _find_truth_values(judged, name)
        rows, _ = judged.known(name)
        n_labels = np.bincount(rows["answer"], minlength=len(judged.answers))
        if (n_labels == 0).any():
            unlabelled[name] = np.flatnonzero(n_labels == 0)
    yield from _find_unlabelled(statistics, unlabelled)


def _find_texts(statistics: Statistics, name: str) -> Iterator[Finding]:
    """Find labels of a criterion that are texts."""
    column = _answers(statistics).criteria[name].column
    is_text: Bools = np.isnan(read_labels(column)) & column.notna().to_numpy()
    if is_text.any():
        texts = column[is_text].unique()
        yield Finding(
            "error",
            name,
            "labels are no numbers; if they mean that there is no label, declare them",
            changes={name: _with_codes(statistics, name, texts.tolist())},
            numbers=f"{int(is_text.sum())}, {choices(map(repr, texts))}",
        )


def _find_truth_values(judged: JudgedAnswers, name: str) -> Iterator[Finding]:
    """Find truth values among numbers."""
    is_unreadable = is_boolean(judged.criteria[name].column) & np.isnan(judged.labels[name])
    if is_unreadable.any():
        yield Finding(
            "error",
            name,
            f"truth values among other labels: {BOOLEANS}",
            numbers=str(is_unreadable.sum()),
        )


def _find_unlabelled(statistics: Statistics, unlabelled: Mapping[str, Ints]) -> Iterator[Finding]:
    """Find answers without a label, given their positions by criterion."""
    if not unlabelled:
        return
    answers = _answers(statistics).answers
    positions = np.unique(np.concatenate(list(unlabelled.values())))
    topics = answers["qid"].iloc[positions].unique().tolist()
    for name, missing in unlabelled.items():
        example = answer_title(answers, int(missing[0]))
        yield Finding(
            "warning",
            name,
            "answers without a label, which have no value",
            f"judged[~{statistics.column('qid')}.astype(str).isin({topics!r})]",
            numbers=f"{len(missing)} of {len(answers)}, such as {example}",
        )


def _with_codes(statistics: Statistics, name: str, codes: Sequence[float | str]) -> Aspect:
    """Return the scale of a criterion, on which further codes mean that there is no label."""
    view = statistics.judged.view(name)
    assert view is not None
    spec = as_given(view.label_counts).to_spec()
    if isinstance(spec, int):
        spec = {"grades": spec}
    spec["unjudged"] = [*view.aspect.unjudged, *codes]
    return Aspect(**spec)


def _division(columns: Sequence[str], name: str) -> str:
    """Return code that divides the labels of a criterion by 100, in rows with these columns."""
    criterion_columns = [key for key in judged_answers.CRITERION_COLUMNS if key in columns]
    if criterion_columns:
        criterion = criterion_columns[0]
        score = next(column for column in judged_answers.SCORE_COLUMNS if column in columns)
        return f"judged.loc[judged[{criterion!r}] == {name!r}, {score!r}] /= 100"
    if name in columns:
        return f"judged[{name!r}] /= 100"
    return f"for scores in judged[{judged_answers.NESTED!r}]: scores[{name!r}] /= 100"


def find_undeclared_grades(statistics: Statistics) -> Iterator[Finding]:
    """Find grades on a scale that is not declared."""
    tops = {view.name: _top_grade(view) for view in statistics.judged.views}
    for view in statistics.judged.views:
        labels = view.label[view.known]
        is_outside = (labels > 1) | (labels < 0)
        if not view.inferred or not is_outside.any() or find_constant(view.label_counts):
            continue
        without_codes = _scale_without_codes(view)
        if without_codes is not None:
            yield _failures_finding(view, without_codes)
        elif view.scale.is_fractional:
            yield Finding(
                "error",
                view.name,
                "the labels are not in [0, 1]; divide percentages by 100",
                _division(_answers(statistics).columns, view.name),
                numbers=_span(labels),
            )
        else:
            yield _undeclared_finding(view, tops)


def _top_grade(view: AspectView) -> float:
    """Return the highest label of a criterion that is no code of failures, at least 0."""
    labels = view.label[view.known]
    without_codes = _scale_without_codes(view)
    if without_codes is not None:
        codes = number_codes(without_codes)
        labels = labels[~np.isin(labels, codes)]
    return float(labels.max(initial=0))


def _span(labels: Floats) -> str:
    """Return the lowest and the highest label as text."""
    return f"{spell(float(labels.min()))} to {spell(float(labels.max()))}"


def _failures_finding(view: AspectView, without_codes: Aspect) -> Finding:
    """Return the finding of labels that may be codes of failures, given the scale without them."""
    labels = view.label[view.known]
    codes = number_codes(without_codes)
    others = labels[~np.isin(labels, codes)]
    listed = choices(map(spell, codes))
    span = _span(others)
    if len(codes) == 1:
        text = f"{listed} is outside of the other labels, {span}, and may be a code of failures"
    else:
        text = f"{listed} are outside of the other labels, {span}, and may be codes of failures"
    if 0 in codes:
        top = spell(float(others.max()))
        text += f"; if 0 is the lowest grade, declare the grades 0 to {top} instead"
    return Finding(
        "error",
        view.name,
        text,
        changes={view.name: without_codes},
        numbers=_code_counts(labels, without_codes),
    )


def _undeclared_finding(view: AspectView, tops: Mapping[str, float]) -> Finding:
    """Return the finding of grades without a scale, given the highest label of each criterion."""
    text = "the labels are not in [0, 1], and no scale is declared, so they are refused as values"
    changes: dict[str, Aspect | None] = {}
    from_one = aspect_from_one(view.label_counts)
    if from_one is not None:
        changes = {view.name: from_one}
        text += "; no label is 0, so the scale may start at 1"
    highest = max(tops, key=tops.__getitem__)
    if tops[view.name] < tops[highest]:
        top = spell(tops[highest])
        text += f"; labels of {highest} reach {top}, declare that top if the scale is the same"
    span = _span(view.label[view.known])
    return Finding("error", view.name, text, changes=changes, numbers=span)


def _scale_without_codes(view: AspectView) -> Aspect | None:
    """Return the scale of a criterion whose labels contain codes of failures; None without codes.

    Codes are negative labels, a label far above the others, the codes 8 and 9 of surveys, and a
    rare 0 below grades that rarely start at 0.
    """
    labels = view.label[view.known]
    distinct = np.unique(labels)
    grades, counts = np.unique(labels[labels >= 0], return_counts=True)
    if is_far_above(grades):
        grades = grades[:-1]
        counts = counts[:-1]
    survey_codes = survey_codes_on_top(grades, counts)
    grades = grades[~np.isin(grades, survey_codes)]
    if not len(grades):
        return None
    is_full = np.array_equal(grades, np.arange(grades[-1] + 1))
    rarely_from_0 = is_full and grades[-1] in _RARELY_FROM_0
    if rarely_from_0 and np.mean(labels == 0) < _RARE:
        grades = grades[1:]
    codes = np.setdiff1d(distinct, grades).tolist()
    if not codes:
        return None
    is_fractional = (grades != np.floor(grades)).any()
    if is_fractional and grades[-1] <= 1:
        return Aspect(unjudged=codes)
    if is_fractional:
        return None
    lowest = 0 if 0 in grades else 1
    return Aspect(range(lowest, int(grades[-1]) + 1), unjudged=codes)


def _code_counts(labels: Floats, aspect: Aspect) -> str:
    """Return how many labels are codes."""
    n_codes = int(np.isin(labels, number_codes(aspect)).sum())
    return f"{n_codes} of {number_of(len(labels), 'label')}"


def find_missing_answers(statistics: Statistics) -> Iterator[Finding]:
    """Find runs without answers to some topics."""
    answers = _answers(statistics).answers
    grid = pd.MultiIndex.from_product([answers["name"].unique(), answers["qid"].unique()])
    missing = grid.difference(pd.MultiIndex.from_frame(answers), sort=False)
    if not len(missing):
        return
    name, qid = missing[0]
    runs = missing.get_level_values(0).unique()
    is_or_are = agree(len(missing), len(grid), "is", "are")
    qids = statistics.column("qid")
    names = statistics.column("docno")
    yield Finding(
        "warning",
        "",
        f"{len(missing)} of {number_of(len(grid), 'answer')} of {number_of(len(runs), 'run')} "
        f"({choices(runs)}) {is_or_are} missing, such as {name} on topic {qid}; means over "
        "different topics cannot be compared",
        f"judged[{names}.groupby({qids}).transform('nunique') == {names}.nunique()]",
    )


def find_best_only(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria on which nearly all answers have the best grade."""
    for view in statistics.judged.views:
        best = float(view.scale.grades[-1])
        is_best = view.label[view.known] == best
        if len(is_best) >= _MIN_BEST and _BEST <= is_best.mean() < 1:
            yield Finding(
                "warning",
                view.name,
                "nearly all answers have the best label, so that runs are hardly distinguished",
                numbers=f"{percent(float(is_best.mean()))} have {spell(best)}",
            )


def find_disagreement(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria on which judges, or repetitions, disagree."""
    judged = _answers(statistics)
    for name in judged.criteria:
        rows, labels = judged.known(name)
        answer = rows["answer"].to_numpy()
        labels_of_answers = pd.Series(labels).groupby(answer)
        is_equal = labels_of_answers.max() == labels_of_answers.min()
        is_equal = is_equal[labels_of_answers.size() > 1]
        if len(is_equal) < MIN_POOL or is_equal.mean() >= _MOSTLY_EQUAL:
            continue
        shares = (
            f"the labels of {percent(is_equal.mean())} of {len(is_equal)} answers with several "
            "are equal"
        )
        if find_spec("krippendorff") is None:
            text = "Krippendorff's alpha of the judges requires krippendorff"
            remedy = '# pip install "pt-multiaspect[judges]"'
            yield Finding("note", name, text, remedy, numbers=shares)
            continue
        has_several = labels_of_answers.transform("size").to_numpy() > 1
        levels, level = np.unique(labels[has_several], return_inverse=True)
        alpha = Agreement.of(name, answer[has_several], level, levels, "ordinal").alpha
        if alpha < LOW_ALPHA:
            deviation = labels - labels_of_answers.transform("mean").to_numpy()
            judge = rows["judge"].to_numpy()
            most_deviating = _most_deviating(deviation[has_several], judge[has_several])
            numbers = f"Krippendorff's alpha is {alpha:.2f}, {shares}{most_deviating}"
            yield Finding("warning", name, "judges disagree", AGREEMENT, numbers=numbers)


def _most_deviating(deviation: Floats, judge: Objects) -> str:
    """Return which judge deviates most in the mean; empty for a single judge."""
    mean_deviation = pd.Series(deviation).groupby(judge).mean()
    if len(mean_deviation) < 2:
        return ""
    position = int(mean_deviation.abs().argmax())
    name = mean_deviation.index[position]
    return f", and {name} deviates most, by {mean_deviation.iloc[position]:+.2g} in the mean"


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
