"""Labels and scales of aspects or criteria: numbers of labels, grades and positive documents."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..answers._answer_tables import read_answers
from ..aspects import Aspect, Aspects, AspectSpec
from ..aspects.aspect import number_codes
from ..collection import AspectView, Judgments, judged_answers
from ..collection.columns import (
    DOCUMENT_COLUMNS,
    QUERY_COLUMNS,
    grade_booleans,
    is_boolean,
    read_labels,
)
from ..collection.judged_answers import CriterionLabels
from ..collection.label_rules import as_given, as_short
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError

#: Grades that no document has are listed for scales up to this length.
_MOST_UNUSED = 1000


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """Answers and their labels."""

    #: Columns ``name qid``, one row per answer.
    answers: pd.DataFrame
    criteria: dict[str, CriterionLabels]
    #: By criterion, its labels as numbers; NaN where they are missing, no numbers or codes of
    #: unjudged answers.
    labels: dict[str, Floats]
    #: The columns of the rows that were given.
    columns: tuple[str, ...]

    @property
    def n_judges(self) -> int:
        """The number of judges, each repetition counting as one."""
        rows = pd.concat([criterion.rows for criterion in self.criteria.values()])
        judges = rows[["judge", "repetition"]].drop_duplicates()
        return len(judges)

    def known(self, name: str) -> tuple[pd.DataFrame, Floats]:
        """Return the rows of a criterion that have a label, and these labels."""
        labels = self.labels[name]
        rows = self.criteria[name].rows
        is_known = ~np.isnan(labels)
        return rows[is_known], labels[is_known]


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgments and their aspects, with labels that are not declared grades set aside."""

    judgments: Judgments
    views: tuple[AspectView, ...]
    #: The judgments with all labels.
    given: Judgments
    #: By aspect, the labels above or between the declared grades; they count as missing in `views`.
    off_scale: dict[str, Floats] = field(default_factory=dict)
    #: The names of the user's columns of relevance, queries and documents.
    columns: dict[str, str] = field(default_factory=dict)
    #: Whether the aspects are all numeric columns, as none were named.
    all_columns: bool = False
    #: The answers, if the documents are runs that were judged by their answers.
    answers: JudgedAnswers | None = None

    @property
    def names(self) -> list[str]:
        """The names of the aspects."""
        return [view.name for view in self.views]

    def view(self, name: str) -> AspectView | None:
        """Return an aspect by name, or None."""
        for view in self.views:
            if view.name == name:
                return view
        return None


class AnswerJudgments(Judgments):
    """Judgments of runs by their answers, whose criteria may have names such as score."""

    def _refuse_runs(self, frame: pd.DataFrame) -> None:
        pass


def read_judged(qrels: object, spec: AspectSpec) -> Judged:
    """Read judgments as the evaluation does, but set labels aside that are not grades.

    An evaluation rejects such labels.
    """
    qrels = as_pandas(qrels)
    # Warnings about judgments are issued only once, and should be issued by an evaluation: they are
    # read from a copy.
    if isinstance(qrels, Judgments):
        judgments = copy(qrels)
    else:
        judgments = Judgments(qrels)
    columns = _columns(qrels)
    if spec is None:
        # Without names, the aspects are all columns of labels; views of None refuse to have none.
        views = judgments.views(judgments.label_names or None)
        return Judged(
            judgments=judgments, views=views, given=judgments, columns=columns, all_columns=True
        )
    names = tuple(spec)
    off_scale: dict[str, Floats] = {}
    on_scale = judgments
    try:
        views = judgments.views(spec or None)
    except MultiAspectError:
        # Labels that are not grades of declared scales are set aside; other errors remain.
        off_scale = _off_scale_labels(judgments, names, spec)
        if not off_scale:
            raise
        on_scale = _without_off_scale(judgments, names, off_scale)
        views = on_scale.views(spec)
    return Judged(
        judgments=on_scale, views=views, given=judgments, off_scale=off_scale, columns=columns
    )


def _off_scale_labels(
    judgments: Judgments, names: tuple[str, ...], spec: AspectSpec
) -> dict[str, Floats]:
    """Return the labels above or between the declared grades, by aspect that has such labels.

    `names` are the aspects. Without scales, `spec` declares no grades.
    """
    if not isinstance(spec, Aspects):
        return {}
    off_scale_labels = {}
    for view in judgments.views(names):
        is_off_scale = _is_off_scale(view.label, spec[view.name])
        if is_off_scale.any():
            off_scale_labels[view.name] = view.label[is_off_scale]
    return off_scale_labels


def _without_off_scale(
    judgments: Judgments, names: tuple[str, ...], off_scale: Mapping[str, Floats]
) -> Judgments:
    """Return the judgments with missing labels in place of those that are off their scales."""
    labels = {}
    for view in judgments.views(names):
        wrong_labels = off_scale.get(view.name, np.zeros(0))
        is_wrong = np.isin(view.label, wrong_labels)
        labels[view.name] = np.where(is_wrong, np.nan, view.label)
    return with_labels(judgments, labels)


def with_labels(judgments: Judgments, labels: Mapping[str, Floats]) -> Judgments:
    """Return judgments of the same documents with these labels, by aspect, in place of theirs."""
    qids = judgments.qids[judgments.pool_query]
    columns = {"query_id": qids, "doc_id": judgments.docnos}
    qrels = pd.DataFrame(columns).assign(**labels)
    return type(judgments)(qrels)


def _is_off_scale(labels: Floats, aspect: Aspect) -> Bools:
    """Return for each label whether it is above or between the declared grades."""
    is_off_scale = np.zeros(len(labels), dtype=np.bool_)
    if aspect.grades is None:
        return is_off_scale
    # Codes of unjudged documents are missing labels, which are on every scale.
    is_code = np.isin(labels, number_codes(aspect))
    known_labels = np.where(is_code, np.nan, labels)
    _, off_scale_positions = aspect.scale.positions(known_labels)
    is_off_scale[off_scale_positions] = True
    return is_off_scale


def _columns(qrels: object) -> dict[str, str]:
    """Return the names of the columns of relevance, queries and documents in the qrels.

    The keys are 'relevance', 'qid' and 'docno'. Columns that are missing have their usual name.
    """
    columns = set(getattr(qrels, "columns", ()))
    usual_names = {
        "relevance": ("label", "relevance", "score"),
        "qid": (*QUERY_COLUMNS, "query-id"),
        "docno": (*DOCUMENT_COLUMNS, "corpus-id", "corpus_id"),
    }
    name_of_column = {}
    for kind, names in usual_names.items():
        present = [name for name in names if name in columns]
        first_names = [*present, *names]
        name_of_column[kind] = first_names[0]
    return name_of_column


def records(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table, with the columns as attributes."""
    return list(table.itertuples(index=False))


def aspect_table(judged: Judged) -> pd.DataFrame:
    """Count judged pairs, topics and positive documents, one row per aspect."""
    rows = [_aspect_row(judged, view) for view in judged.views]
    return pd.DataFrame(rows)


def _aspect_row(judged: Judged, view: AspectView) -> dict[str, object]:
    """Return the numbers of one aspect, by column of the table of aspects."""
    scale = view.scale
    n_documents = len(judged.judgments)
    n_known = int(view.known.sum())
    n_off_scale = len(judged.off_scale.get(view.name, ()))
    is_below_scale = np.isin(view.label, view.label_counts.below)
    distinct_labels, _ = used_labels(view)
    topics = np.unique(view.pool_query[view.known])
    is_positive = view.positive
    topics_with_positive = np.unique(view.pool_query[is_positive])
    n_topics_of_qrels = judged.judgments.n_queries
    origin = "declared"
    if view.inferred:
        origin = "inferred"
    threshold = np.nan
    if len(scale) > 1:
        threshold = scale.grades[scale.threshold]
    fraction_positive = np.nan
    if n_known:
        fraction_positive = is_positive.sum() / n_known
    return {
        "aspect": view.name,
        "scale": origin,
        "grades": str(scale),
        "threshold": threshold,
        "judged": n_known,
        "missing": n_documents - n_known - n_off_scale,
        "below_scale": int(is_below_scale.sum()),
        "out_of_scale": n_off_scale,
        "distinct": len(distinct_labels),
        "topics": len(topics),
        "positive": fraction_positive,
        "topics_without_positive": n_topics_of_qrels - len(topics_with_positive),
    }


def used_labels(view: AspectView) -> tuple[Floats, Ints]:
    """Return the labels of an aspect that occur, in increasing order, and their counts."""
    known_labels = view.label[view.known]
    return np.unique(known_labels, return_counts=True)


def label_counts(judged: Judged) -> pd.DataFrame:
    """Count each label of each aspect, including grades that no document has."""
    tables = []
    for view in judged.views:
        off_scale = judged.off_scale.get(view.name, np.zeros(0))
        tables.append(_label_table(view, off_scale))
    table = pd.concat(tables, ignore_index=True)
    return table[["aspect", "label", "kind", "count", "share"]]


def _label_table(view: AspectView, off_scale: Floats) -> pd.DataFrame:
    """Count each label of one aspect, in increasing order; `off_scale` are those not on its scale.

    The column ``kind`` is 'grade', 'below the scale' or 'out of scale'.
    """
    used, n_used = used_labels(view)  # without those of `off_scale`
    scale = view.scale
    is_inferred_scale_of_probabilities = scale.identity and view.inferred
    if is_inferred_scale_of_probabilities:
        is_grade = used >= 0
    else:
        is_grade = np.isin(used, scale.grades)
    # Labels above the grades or between them are in `off_scale`, so the others are below.
    used_kind = np.where(is_grade, "grade", "below the scale")
    used_table = pd.DataFrame({"label": used, "count": n_used, "kind": used_kind})

    outside, n_outside = np.unique(off_scale, return_counts=True)
    outside_table = pd.DataFrame({"label": outside, "count": n_outside, "kind": "out of scale"})

    unused = np.zeros(0)
    if len(scale) <= _MOST_UNUSED:
        unused = np.setdiff1d(scale.grades, used)
    unused_table = pd.DataFrame({"label": unused, "count": 0, "kind": "grade"})

    table = pd.concat([used_table, outside_table, unused_table], ignore_index=True)
    table.insert(0, "aspect", view.name)
    n_labels = max(int(table["count"].sum()), 1)
    table["share"] = table["count"] / n_labels
    return table.sort_values("label")


#: The columns that identify a judgment of several criteria.
_JUDGMENT = ["answer", "judge", "repetition"]


def read_answers_judged(source: Any, spec: AspectSpec) -> Judged:
    """Read judged answers as if they were judged documents, with criteria as aspects.

    The answer of a run to a topic is one document per judge and repetition.
    """
    frame = read_answers(source, "describe")
    answers, criteria = judged_answers.read_criteria(frame, spec, "describe")
    labels = _criteria_labels(criteria, spec)
    wide_qrels = _wide_qrels(criteria, labels)
    aspects: AspectSpec = spec
    if not spec:
        aspects = tuple(criteria)
    judged = read_judged(AnswerJudgments(wide_qrels), aspects)
    return replace(
        judged,
        answers=JudgedAnswers(answers, criteria, labels, tuple(frame.columns)),
        columns=_answer_columns(frame),
    )


def _criteria_labels(
    criteria: Mapping[str, CriterionLabels], spec: AspectSpec
) -> dict[str, Floats]:
    """Return the labels of criteria as numbers; NaN where they are missing or no numbers."""
    labels_of_criteria = {}
    for name, criterion in criteria.items():
        aspect = Aspect()
        if isinstance(spec, Aspects):
            aspect = spec.get(name, aspect)
        # Truth values are numbers only on some scales.
        grades = None
        if aspect.grades is not None:
            grades = aspect.scale.grades
        labels = read_labels(criterion.column)
        is_truth_value = is_boolean(criterion.column)
        numbers, is_wrong = grade_booleans(labels, is_truth_value, grades)
        labels_of_criteria[name] = np.where(is_wrong, np.nan, numbers)
    return labels_of_criteria


def _wide_qrels(
    criteria: Mapping[str, CriterionLabels], labels: Mapping[str, Floats]
) -> pd.DataFrame:
    """Return qrels with one row per answer, judge and repetition, and one column per criterion.

    The name of a document is that of the run, followed by the judge and the repetition, if any.
    `labels` has the labels of each criterion as numbers, in the order of its rows.
    """
    rows_of_criteria = pd.concat([criterion.rows for criterion in criteria.values()])
    judgments = rows_of_criteria.drop_duplicates(_JUDGMENT)
    docnos = []
    for run_judge_repetition in records(judgments[["name", "judge", "repetition"]]):
        parts = filter(None, run_judge_repetition)  # judge and repetition may be empty texts
        docnos.append(" ".join(parts))
    qrels = pd.DataFrame({"query_id": judgments["qid"].to_numpy(), "doc_id": docnos})
    # The labels of a criterion are looked up by judgment; NaN if it has none of this criterion.
    all_judgments = pd.MultiIndex.from_frame(judgments[_JUDGMENT])
    for name, criterion in criteria.items():
        judgments_of_criterion = pd.MultiIndex.from_frame(criterion.rows[_JUDGMENT])
        labels_by_judgment = pd.Series(labels[name], index=judgments_of_criterion)
        label_or_nan = labels_by_judgment.reindex(all_judgments)
        qrels[name] = label_or_nan.to_numpy()
    return qrels


def _answer_columns(frame: pd.DataFrame) -> dict[str, str]:
    """Return the names of the columns of queries ('qid') and runs ('docno') in judged answers."""
    usual_names = {
        "qid": (*QUERY_COLUMNS, *judged_answers.OTHER_QUERIES, judged_answers.QUESTION),
        "docno": ("name", "run_id", "system"),
    }
    name_of_column = {}
    for kind, names in usual_names.items():
        present = [name for name in names if name in frame.columns]
        name_of_column[kind] = present[0]
    return name_of_column


def scale_to_declare(view: AspectView) -> Aspect:
    """Return the scale of a criterion, without grades if its labels are values in [0, 1].

    Declared grades are kept.
    """
    labels = view.label[view.known]
    are_values = (labels >= 0).all() and (labels <= 1).all()
    if view.inferred and are_values:
        return as_given(view.label_counts)  # without inferred grades
    return as_short(view.label_counts)
