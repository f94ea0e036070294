"""Values of runs by the labels of single judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..collection import Judgments, Rankings
from ..collection.long_judgments import JUDGE, LongJudgments
from ..errors import MultiAspectError, choices, refuse_single
from ..evaluation.topics import check_all_topics
from ..integration.declared import with_aspects
from ..integration.parsing import as_measure, parse_all
from ..io.runs import join, named_runs
from ..measures import Measure

#: The label of each (query, document) pair, by aspect.
Labels = dict[str, Floats]


@dataclass(frozen=True)
class JudgedRuns:
    """The values of runs by the labels of each judge."""

    judges: tuple[str, ...]
    names: list[str]
    qids: list[str]
    #: judges × runs × topics, in the units of the measure.
    values: Floats
    #: The criteria that the measure reads.
    criteria: list[str]
    #: The number of documents, of all queries, that each judge labelled on each of these; judges ×
    #: criteria.
    n_labelled: Ints
    #: The number of documents that any judge labelled, by criterion.
    n_documents: Ints


def read_judges(
    frame: object, criterion: str, value: str, judge: str, aspects: object, *, warn: bool = True
) -> LongJudgments:
    """Read judgments, and check that they have a column of judges."""
    judged = LongJudgments.read(frame, criterion, value, judge, aspects, warn=warn)
    has_no_judges = judged.judges == ("",)
    if has_no_judges:
        raise MultiAspectError(
            f"expected a column of judges, got no column {judge}; rename the one with the judges"
        )
    return judged


def evaluate_by_judge(
    runs: Mapping[str, object], frame: object, measure: Mapping[str, object]
) -> JudgedRuns:
    """Evaluate runs by the labels of each judge.

    All judges count on the same documents: where a judge has no label, the median of those of all
    judges is kept, so that differences in coverage are not mistaken for differences in labels.

    Parameters
    ----------
    runs : mapping of str to run
        At least two runs.
    frame : DataFrame or iterable of namedtuples
        Judgments with one row per query, document, criterion and judge, as for `from_long`.
    measure : mapping of str to measure
        One measure by its label. If its aspects are not declared, their scales are those of the
        labels of all judges.
    """
    judged = read_judges(frame, "criterion", "value", JUDGE, None)
    if len(judged.judges) < 2:
        raise MultiAspectError(f"expected at least two judges, got {choices(judged.judges)}")
    _check_overlap(judged)
    evaluated = _measure_with_scales(measure, judged)

    named = named_runs(runs)
    refuse_single(named, "runs")
    # The runs are joined once, with all documents that any judge labelled.
    medians = _medians(judged)
    judgments = Judgments(judged.to_wide(medians))
    qids = judgments.qids.tolist()
    refuse_single(qids, "topics")
    rankings = [join(name, run, judgments) for name, run in named.items()]

    values = _values_by_judge(evaluated, judged, medians, judgments, rankings)
    criteria = _criteria_read(evaluated, judgments)
    n_labelled, n_documents = _count_documents(judged, criteria)
    return JudgedRuns(
        judges=judged.judges,
        names=list(named),
        qids=qids,
        values=values,
        criteria=criteria,
        n_labelled=n_labelled,
        n_documents=n_documents,
    )


def _measure_with_scales(measure: Mapping[str, object], judged: LongJudgments) -> Measure:
    """Return the only measure of a mapping; it has the scales of the judgments if none of its own.

    A suite of measures over topics with a positive document is refused: which topics these are
    differs between judges.
    """
    check_all_topics(measure, "judges disagree on the topics with a positive document")
    with_scales = with_aspects(parse_all(measure), judged.aspects, list(judged.aspects))
    (measure_with_scales,) = with_scales.values()
    return as_measure(measure_with_scales)


def _values_by_judge(
    measure: Measure,
    judged: LongJudgments,
    medians: Labels,
    judgments: Judgments,
    rankings: Sequence[Rankings],
) -> Floats:
    """Return the values of the runs by the labels of each judge, judges × runs × topics.

    Documents that a judge did not label keep the median label of all judges. The rankings are
    joined with `judgments`, which have the medians, so that only labels are replaced.
    """
    all_grades = _judgments_of_all_grades(judged)
    values = []
    for judge in range(len(judged.judges)):
        rows_of_judge = np.flatnonzero(judged.judge == judge)
        labels = _combine_labels(judged, rows_of_judge, medians)
        # A judge who never gave a grade has the same scales as the others.
        own_judgments = judgments.with_labels(labels, scales=all_grades)
        values_of_runs = []
        for ranking in rankings:
            judged_run = ranking.with_judgments(own_judgments)
            values_of_runs.append(measure.evaluate(judged_run))
        values.append(values_of_runs)
    return np.array(values)


def _check_overlap(judged: LongJudgments) -> None:
    """Check that a document has labels of at least two judges on a criterion."""
    # One number per document and criterion.
    n_criteria = len(judged.aspects)
    unit = judged.pair * n_criteria + judged.criterion
    n_labels = np.bincount(unit)
    if n_labels.max(initial=0) < 2:
        raise MultiAspectError(
            "expected documents with labels of at least two judges, got none: judges cannot be "
            "compared"
        )


def _medians(judged: LongJudgments) -> Labels:
    """Return the median of the labels of all judges by criterion; NaN where there is none."""
    every_row = np.arange(len(judged.judge))
    no_labels = {name: np.full(judged.n_pairs, np.nan) for name in judged.aspects}
    return _combine_labels(judged, every_row, no_labels)


def _combine_labels(judged: LongJudgments, rows: Ints, otherwise: Labels) -> Labels:
    """Return the median label of each document by criterion, from some rows of the judgments.

    Documents without a label in these rows have that of `otherwise`.
    """
    result = {}
    for criterion, (name, aspect) in enumerate(judged.aspects.items()):
        has_criterion = judged.criterion[rows] == criterion
        rows_of_criterion = rows[has_criterion]
        document = judged.pair[rows_of_criterion]
        grade = judged.grade[rows_of_criterion]
        # One per document: the index of a grade, or -1 if no row has a label of it.
        grade_index = judged.combine_labels(document, grade, "median")
        has_no_label = grade_index < 0
        medians = aspect.scale.grades[grade_index]
        result[name] = np.where(has_no_label, otherwise[name], medians)
    return result


def _judgments_of_all_grades(judged: LongJudgments) -> Judgments:
    """Return qrels that contain all grades, so that scales inferred from them are complete.

    For the grades 0, 1, 2 of one criterion and 0, 1 of another, three documents have the labels (0,
    0), (1, 1) and (2, missing).
    """
    grades_by_criterion = {}
    for name, aspect in judged.aspects.items():
        grades_by_criterion[name] = pd.Series(aspect.scale.grades)
    # A frame of Series fills the shorter ones with NaN, a missing label.
    grades = pd.DataFrame(grades_by_criterion)
    docnos = [f"d{row}" for row in range(len(grades))]
    return Judgments(grades.assign(qid="q", docno=docnos))


def _criteria_read(measure: Measure, judgments: Judgments) -> list[str]:
    """Return the criteria on which the value depends: not those of weight 0."""
    names = [view.name for view in measure.views(judgments)]
    label_terms = measure.stated.label_terms
    if label_terms is None:
        return names
    terms = label_terms(judgments)
    if not terms:  # it is not known which criteria matter
        return names
    read: set[str] = set()
    for term in terms:
        if term.aspects:
            read.update(term.aspects)
        else:  # a term of all criteria
            read.update(names)
    return [name for name in names if name in read]


def _count_documents(judged: LongJudgments, criteria: Sequence[str]) -> tuple[Ints, Ints]:
    """Count the documents that each judge, and any judge, labelled on each criterion.

    Returns
    -------
    n_labelled : ndarray of int, judges × criteria
    n_documents : ndarray of int, shape (n_criteria,)
    """
    n_judges = len(judged.judges)
    n_labelled = np.zeros((n_judges, len(criteria)), dtype=np.intp)
    n_documents = np.zeros(len(criteria), dtype=np.intp)
    all_criteria = list(judged.aspects)
    for column, name in enumerate(criteria):
        rows = judged.criterion == all_criteria.index(name)
        # A judge who labelled a document several times counts once.
        judge_of_row = judged.judge[rows]
        document_of_row = judged.pair[rows]
        judge_and_document = np.stack([judge_of_row, document_of_row])
        judge, document = np.unique(judge_and_document, axis=1)
        n_labelled[:, column] = np.bincount(judge, minlength=n_judges)
        n_documents[column] = len(np.unique(document))
    return n_labelled, n_documents
