"""Values of runs by the labels of single judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..collection import Judgments
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
    if judged.judges == ("",):
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
    check_all_topics(measure, "judges disagree on the topics with a positive document")
    by_label = with_aspects(parse_all(measure), judged.aspects, list(judged.aspects))
    (declared,) = by_label.values()
    evaluated = as_measure(declared)
    named = named_runs(runs)
    refuse_single(named, "runs")
    every_row = np.arange(len(judged.judge))
    nothing = {name: np.full(judged.n_pairs, np.nan) for name in judged.aspects}
    combined = _combine_labels(judged, every_row, nothing)
    judgments = Judgments(judged.to_wide(combined))
    refuse_single(judgments.qids.tolist(), "topics")
    scales = _judgments_of_all_grades(judged)
    rankings = [join(name, run, judgments) for name, run in named.items()]
    values = []
    for judge in range(len(judged.judges)):
        own_rows = np.flatnonzero(judged.judge == judge)
        labels = _combine_labels(judged, own_rows, combined)
        own_judgments = judgments.with_labels(labels, scales)
        by_run = []
        for ranking in rankings:
            judged_run = ranking.with_judgments(own_judgments)
            by_run.append(evaluated.evaluate(judged_run))
        values.append(by_run)
    criteria = _read_criteria(evaluated, judgments)
    n_labelled, n_documents = _count_documents(judged, criteria)
    qids = judgments.qids.tolist()
    return JudgedRuns(
        judged.judges, list(named), qids, np.array(values), criteria, n_labelled, n_documents
    )


def _check_overlap(judged: LongJudgments) -> None:
    """Check that a document has labels of at least two judges on a criterion."""
    unit = judged.pair * len(judged.aspects) + judged.criterion
    if np.bincount(unit).max(initial=0) < 2:
        raise MultiAspectError(
            "expected documents with labels of at least two judges, got none: judges cannot be "
            "compared"
        )


def _combine_labels(judged: LongJudgments, rows: Ints, otherwise: Labels) -> Labels:
    """Return the medians of the labels in some rows; other documents have those of `otherwise`."""
    result = {}
    for number, (name, aspect) in enumerate(judged.aspects.items()):
        aspect_rows = rows[judged.criterion[rows] == number]
        index = judged.combine_labels(judged.pair[aspect_rows], judged.grade[aspect_rows], "median")
        result[name] = np.where(index < 0, otherwise[name], aspect.scale.grades[index])
    return result


def _judgments_of_all_grades(judged: LongJudgments) -> Judgments:
    """Return qrels that contain all grades, so that scales inferred from them are complete."""
    columns = {}
    for name, aspect in judged.aspects.items():
        columns[name] = pd.Series(aspect.scale.grades)
    grades = pd.DataFrame(columns)
    docnos = [f"d{row}" for row in range(len(grades))]
    return Judgments(grades.assign(qid="q", docno=docnos))


def _read_criteria(measure: Measure, judgments: Judgments) -> list[str]:
    """Return the criteria on which the value depends: not those of weight 0."""
    names = [view.name for view in measure.views(judgments)]
    make_terms = measure.stated.label_terms
    if make_terms is None:
        terms = []
    else:
        terms = make_terms(judgments)
    if not terms:
        return names
    read: set[str] = set()
    for term in terms:
        read.update(term.aspects or names)
    return [name for name in names if name in read]


def _count_documents(judged: LongJudgments, criteria: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the numbers of documents labelled by each judge, judges × criteria, and by any."""
    n_judges = len(judged.judges)
    n_labelled = np.zeros((n_judges, len(criteria)), dtype=np.intp)
    n_documents = np.zeros(len(criteria), dtype=np.intp)
    numbers = {name: number for number, name in enumerate(judged.aspects)}
    for column, name in enumerate(criteria):
        rows = judged.criterion == numbers[name]
        labels = np.unique(np.stack([judged.judge[rows], judged.pair[rows]]), axis=1)
        n_labelled[:, column] = np.bincount(labels[0], minlength=n_judges)
        n_documents[column] = len(np.unique(labels[1]))
    return n_labelled, n_documents
