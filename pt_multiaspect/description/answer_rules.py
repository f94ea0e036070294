"""Rules about judged answers, which yield findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Bools, Floats, Ints
from ..analysis.judges import LOW_ALPHA, Agreement
from ..answers._answer_tables import answer_title
from ..aspects import Aspect
from ..aspects.aspect import number_codes
from ..collection import AspectView, judged_answers
from ..collection.columns import BOOLEANS, is_boolean, is_far_above, read_labels
from ..collection.label_rules import MIN_POOL, as_given, aspect_from_one, find_constant
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
    text = re.sub(r"\bdocument ids\b", "run names", finding.finding)
    text = re.sub(
        r"\bthe qrels have\b", "the judgments have", re.sub(r"\bdocument(s?)\b", r"answer\1", text)
    )
    return replace(finding, finding=text, remedy=re.sub(r"\bqrels\b", "judged", finding.remedy))


def _answers(statistics: Statistics) -> JudgedAnswers:
    answers = statistics.judged.answers
    assert answers is not None
    return answers


def find_unreadable_labels(statistics: Statistics) -> Iterator[Finding]:
    """Find labels that are no numbers, and answers without a label."""
    given = _answers(statistics)
    missing: dict[str, Ints] = {}
    for name, criterion in given.criteria.items():
        text: Bools = np.isnan(read_labels(criterion.column)) & criterion.column.notna().to_numpy()
        if text.any():
            listed = choices(map(repr, criterion.column[text].unique()))
            yield Finding(
                "error",
                name,
                "labels are no numbers; if they mean that there is no label, declare them",
                changes={
                    name: _with_codes(statistics, name, criterion.column[text].unique().tolist())
                },
                numbers=f"{int(text.sum())}, {listed}",
            )
        boolean = is_boolean(criterion.column) & np.isnan(given.labels[name])
        if boolean.any():
            yield Finding(
                "error",
                name,
                f"truth values among other labels: {BOOLEANS}",
                numbers=str(boolean.sum()),
            )
        rows, _ = given.known(name)
        labelled = np.bincount(rows["answer"], minlength=len(given.answers))
        if (labelled == 0).any():
            missing[name] = np.flatnonzero(labelled == 0)
    if not missing:
        return
    answers = np.unique(np.concatenate([*missing.values()]))
    topics = given.answers["qid"].iloc[answers].unique().tolist()
    for name, unlabelled in missing.items():
        yield Finding(
            "warning",
            name,
            "answers without a label, which have no value",
            f"judged[~{statistics.column('qid')}.astype(str).isin({topics!r})]",
            numbers=f"{len(unlabelled)} of {len(given.answers)}, such as "
            f"{answer_title(given.answers, int(unlabelled[0]))}",
        )


def _with_codes(statistics: Statistics, name: str, codes: Sequence[float | str]) -> Aspect:
    """Return the scale of a criterion, on which further codes mean that there is no label."""
    view = statistics.judged.view(name)
    assert view is not None
    spec = as_given(view.label_counts).to_spec()
    if isinstance(spec, int):
        spec = {"grades": spec}
    else:
        spec = spec
    return Aspect(**{**spec, "unjudged": [*view.aspect.unjudged, *codes]})


def _division(columns: Sequence[str], name: str) -> str:
    """Return code that divides the labels of a criterion by 100, in rows with these columns."""
    criterion = next(
        (column for column in judged_answers.CRITERION_COLUMNS if column in columns), None
    )
    if criterion is not None:
        score = next(column for column in judged_answers.SCORE_COLUMNS if column in columns)
        return f"judged.loc[judged[{criterion!r}] == {name!r}, {score!r}] /= 100"
    if name in columns:
        return f"judged[{name!r}] /= 100"
    return f"for scores in judged[{judged_answers.NESTED!r}]: scores[{name!r}] /= 100"


def find_undeclared_grades(statistics: Statistics) -> Iterator[Finding]:
    """Find grades on a scale that is not declared."""
    tops = {
        view.name: float(view.label[view.known].max(initial=0)) for view in statistics.judged.views
    }
    highest = max(tops, key=tops.__getitem__)
    for view in statistics.judged.views:
        labels = view.label[view.known]
        outside = ((labels > 1) | (labels < 0)).any()
        if not view.inferred or not outside or find_constant(view.label_counts):
            continue
        coded = _scale_without_codes(view)
        if coded is not None:
            codes = choices(map(spell, number_codes(coded)))
            others = labels[~np.isin(labels, number_codes(coded))]
            rest = f"{spell(float(others.min()))} to {spell(float(others.max()))}"
            text = f"{codes} is outside of the other labels, {rest}, and may be a code of failures"
            if 0 in number_codes(coded):
                text += f"; if 0 is the lowest grade, declare the grades 0 to {spell(float(others.max()))} instead"
            yield Finding(
                "error", view.name, text, changes={view.name: coded}, numbers=_counts(labels, coded)
            )
            continue
        text = "the labels are not in [0, 1]"
        span = f"{spell(float(labels.min()))} to {spell(float(labels.max()))}"
        if view.scale.is_fractional:
            remedy = _division(_answers(statistics).columns, view.name)
            yield Finding(
                "error", view.name, f"{text}; divide percentages by 100", remedy, numbers=span
            )
            continue
        start = aspect_from_one(view.label_counts)
        doubt = "; no label is 0, so the scale may start at 1" if start is not None else ""
        if tops[view.name] < tops[highest]:
            top = spell(tops[highest])
            doubt += f"; labels of {highest} reach {top}, declare that top if the scale is the same"
        yield Finding(
            "error",
            view.name,
            f"{text}, and no scale is declared, so they are refused as values{doubt}",
            changes={} if start is None else {view.name: start},
            numbers=span,
        )


def _scale_without_codes(view: AspectView) -> Aspect | None:
    """Return the scale of a criterion whose labels contain codes of failures; None without codes.

    Codes are negative labels, a label far above the others, and a rare 0 below grades that rarely
    start at 0.
    """
    distinct = np.unique(view.label[view.known])
    grades = distinct[distinct >= 0]
    if is_far_above(grades):
        grades = grades[:-1]
    if not len(grades):
        return None
    is_full = np.array_equal(grades, np.arange(grades[-1] + 1)) and grades[-1] in _RARELY_FROM_0
    if is_full and np.mean(view.label[view.known] == 0) < _RARE:
        grades = grades[1:]
    codes = np.setdiff1d(distinct, grades).tolist()
    if not codes:
        return None
    if grades[-1] <= 1 and (grades != np.floor(grades)).any():
        return Aspect(unjudged=codes)
    if (grades != np.floor(grades)).any():
        return None
    lowest = 0 if 0 in grades else 1
    return Aspect(range(lowest, int(grades[-1]) + 1), unjudged=codes)


def _counts(labels: Floats, aspect: Aspect) -> str:
    """Return how many labels are codes."""
    n_codes = int(np.isin(labels, number_codes(aspect)).sum())
    return f"{n_codes} of {number_of(len(labels), 'label')}"


def find_missing_answers(statistics: Statistics) -> Iterator[Finding]:
    """Find runs without answers to some topics."""
    answers = _answers(statistics).answers
    grid = pd.MultiIndex.from_product([answers["name"].unique(), answers["qid"].unique()])
    missing = grid.difference(pd.MultiIndex.from_frame(answers), sort=False)
    if len(missing):
        name, qid = missing[0]
        runs = missing.get_level_values(0).unique()
        qids, names = statistics.column("qid"), statistics.column("docno")
        are = agree(len(missing), len(grid), "is", "are")
        yield Finding(
            "warning",
            "",
            f"{len(missing)} of {number_of(len(grid), 'answer')} of {number_of(len(runs), 'run')} "
            f"({choices(runs)}) {are} missing, such as {name} on topic {qid}; means over different "
            "topics cannot "
            "be compared",
            f"judged[{names}.groupby({qids}).transform('nunique') == {names}.nunique()]",
        )


def find_best_only(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria on which nearly all answers have the best grade."""
    for view in statistics.judged.views:
        best = view.label[view.known] == view.scale.grades[-1]
        if len(best) >= _MIN_BEST and _BEST <= best.mean() < 1:
            yield Finding(
                "warning",
                view.name,
                "nearly all answers have the best label, so that runs are hardly distinguished",
                numbers=f"{percent(float(best.mean()))} have {spell(float(view.scale.grades[-1]))}",
            )


def find_disagreement(statistics: Statistics) -> Iterator[Finding]:
    """Find criteria on which judges, or repetitions, disagree."""
    given = _answers(statistics)
    for name in given.criteria:
        rows, labels = given.known(name)
        answer = rows["answer"].to_numpy()
        grouped = pd.Series(labels).groupby(answer)
        several = grouped.transform("size").to_numpy() > 1
        equal = (grouped.max() == grouped.min())[grouped.size() > 1]
        if len(equal) < MIN_POOL or equal.mean() >= _MOSTLY_EQUAL:
            continue
        shares = (
            f"the labels of {percent(equal.mean())} of {len(equal)} answers with several are equal"
        )
        if find_spec("krippendorff") is None:
            text = "Krippendorff's alpha of the judges requires krippendorff"
            yield Finding(
                "note", name, text, '# pip install "pt-multiaspect[judges]"', numbers=shares
            )
            continue
        levels, level = np.unique(labels[several], return_inverse=True)
        alpha = Agreement.of(name, answer[several], level, levels, "ordinal").alpha
        if alpha < LOW_ALPHA:
            deviation = (labels - grouped.transform("mean").to_numpy())[several]
            by_judge = pd.Series(deviation).groupby(rows["judge"].to_numpy()[several]).mean()
            numbers = f"Krippendorff's alpha is {alpha:.2f}, {shares}"
            if len(by_judge) > 1:
                far = int(by_judge.abs().argmax())
                numbers += f", and {by_judge.index[far]} deviates most, by {by_judge.iloc[far]:+.2g} in the mean"
            yield Finding("warning", name, "judges disagree", AGREEMENT, numbers=numbers)


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
