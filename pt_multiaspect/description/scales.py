"""Labels and scales of aspects, or of criteria of answers: numbers of labels, grades and positive documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        return len(rows[["judge", "repetition"]].drop_duplicates())

    def known(self, name: str) -> tuple[pd.DataFrame, Floats]:
        """Return the rows of a criterion that have a label, and these labels."""
        known = ~np.isnan(self.labels[name])
        return self.criteria[name].rows[known], self.labels[name][known]


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
    """Judgments whose documents are runs, judged by their answers: a criterion may be called score."""

    def _refuse_runs(self, frame: pd.DataFrame) -> None:
        pass


def read_judged(qrels: object, spec: AspectSpec) -> Judged:
    """Read judgments as the evaluation does, but count labels that are not grades.

    An evaluation rejects such labels.
    """
    qrels = as_pandas(qrels)
    # A copy, as warnings about the views are issued only once, and should be issued by an
    # evaluation.
    if isinstance(qrels, Judgments):
        judgments = copy(qrels)
    else:
        judgments = Judgments(qrels)
    if spec is None:
        names = judgments.label_names
    else:
        names = tuple(spec)
    columns = _columns(qrels)
    try:
        views = judgments.views(spec or names or None)
    except MultiAspectError:
        if not isinstance(spec, Aspects):
            raise
        set_aside = _off_scale_labels(judgments.views(names), spec)
        if not set_aside:
            raise
    else:
        return Judged(judgments, views, judgments, columns=columns, all_columns=spec is None)
    kept = _without_off_scale(judgments, names, spec)
    return Judged(kept, kept.views(spec), judgments, set_aside, columns)


def _off_scale_labels(views: Sequence[AspectView], aspects: Aspects) -> dict[str, Floats]:
    """Return the labels above or between the grades, by aspect that has such labels."""
    labels = {}
    for view in views:
        off_scale = view.label[_is_off_scale(view.label, aspects[view.name])]
        if len(off_scale):
            labels[view.name] = off_scale
    return labels


def _without_off_scale(judgments: Judgments, names: tuple[str, ...], aspects: Aspects) -> Judgments:
    """Return the judgments with missing labels in place of those that are not on the scales."""
    columns = {"query_id": judgments.qids[judgments.pool_query], "doc_id": judgments.docnos}
    labels = {}
    for view in judgments.views(names):
        is_off_scale = _is_off_scale(view.label, aspects[view.name])
        labels[view.name] = np.where(is_off_scale, np.nan, view.label)
    frame = pd.DataFrame(columns)
    return type(judgments)(frame.assign(**labels))


def _is_off_scale(labels: Floats, aspect: Aspect) -> Bools:
    """Return a mask of the labels above or between the grades."""
    marked = np.zeros(len(labels), dtype=np.bool_)
    if aspect.grades is None:
        return marked
    is_code = np.isin(labels, number_codes(aspect))
    _, off_scale = aspect.scale.positions(np.where(is_code, np.nan, labels))
    marked[off_scale] = True
    return marked


def _columns(qrels: object) -> dict[str, str]:
    """Return the names of the columns of relevance, queries and documents in the qrels."""
    columns = set(getattr(qrels, "columns", ()))
    usual_names = {
        "relevance": ("label", "relevance", "score"),
        "qid": (*QUERY_COLUMNS, "query-id"),
        "docno": (*DOCUMENT_COLUMNS, "corpus-id", "corpus_id"),
    }
    result = {}
    for kind, names in usual_names.items():
        present = [name for name in names if name in columns]
        result[kind] = present[0] if present else names[0]
    return result


def records(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table, with the columns as attributes."""
    return list(table.itertuples(index=False))


def aspect_table(judged: Judged) -> pd.DataFrame:
    """Count judged pairs, topics and positive documents, one row per aspect."""
    return pd.DataFrame([_aspect_row(judged, view) for view in judged.views])


def _aspect_row(judged: Judged, view: AspectView) -> dict[str, object]:
    """Return the numbers of one aspect."""
    scale = view.scale
    is_positive = view.positive
    n_known = int(view.known.sum())
    n_off_scale = len(judged.off_scale.get(view.name, ()))
    labels, _ = used_labels(view)
    topics = np.unique(view.pool_query[view.known])
    topics_with_positive = np.unique(view.pool_query[is_positive])
    threshold = np.nan
    if len(scale) > 1:
        threshold = scale.grades[scale.threshold]
    positive = np.nan
    if n_known:
        positive = is_positive.sum() / n_known
    return {
        "aspect": view.name,
        "scale": "inferred" if view.inferred else "declared",
        "grades": str(scale),
        "threshold": threshold,
        "judged": n_known,
        "missing": len(judged.judgments) - n_known - n_off_scale,
        "below_scale": int(np.isin(view.label, view.label_counts.below).sum()),
        "out_of_scale": n_off_scale,
        "distinct": len(labels),
        "topics": len(topics),
        "positive": positive,
        "topics_without_positive": judged.judgments.n_queries - len(topics_with_positive),
    }


def used_labels(view: AspectView) -> tuple[Floats, Ints]:
    """Return the labels of an aspect that occur, in increasing order, and their counts."""
    return np.unique(view.label[view.known], return_counts=True)


def label_counts(judged: Judged) -> pd.DataFrame:
    """Count each label of each aspect, including grades that no document has."""
    tables = []
    for view in judged.views:
        off_scale = judged.off_scale.get(view.name, np.zeros(0))
        tables.append(_label_table(view, off_scale))
    table = pd.concat(tables, ignore_index=True)
    return table[["aspect", "label", "kind", "count", "share"]]


def _label_table(view: AspectView, off_scale: Floats) -> pd.DataFrame:
    """Count each label of one aspect, given those that are not on its scale."""
    on_scale, on_count = used_labels(view)
    off_scale, off_count = np.unique(off_scale, return_counts=True)
    scale = view.scale
    if len(scale) <= _MOST_UNUSED:
        unused = np.setdiff1d(scale.grades, on_scale)
    else:
        unused = np.zeros(0)
    if scale.identity and view.inferred:
        is_below = on_scale < 0
    else:
        is_below = ~np.isin(on_scale, scale.grades)
    kind = np.where(is_below, "below the scale", "grade")
    n_unused = np.zeros(len(unused), dtype=np.intp)
    counts = np.concatenate([on_count, off_count, n_unused])
    columns = {
        "aspect": view.name,
        "label": np.concatenate([on_scale, off_scale, unused]),
        "count": counts.astype(np.intp),
        "kind": [*kind.tolist(), *["out of scale"] * len(off_scale), *["grade"] * len(unused)],
    }
    table = pd.DataFrame(columns)
    n_labels = max(int(table["count"].sum()), 1)
    table = table.assign(share=table["count"] / n_labels)
    return table.sort_values("label")


#: What tells judgments of several criteria apart.
_UNIT = ["answer", "judge", "repetition"]


def read_answers_judged(source: Any, spec: AspectSpec) -> Judged:
    """Read judged answers; a document is a run, judged by one judge in one repetition."""
    frame = read_answers(source, "describe")
    answers, criteria = judged_answers.read_criteria(frame, spec, "describe")
    labels = _criteria_labels(criteria, spec)
    wide = _wide_judgments(criteria, labels)
    judged = read_judged(AnswerJudgments(wide), spec or tuple(criteria))
    return replace(
        judged,
        answers=JudgedAnswers(answers, criteria, labels, tuple(frame.columns)),
        columns=_answer_columns(frame),
    )


def _criteria_labels(
    criteria: Mapping[str, CriterionLabels], spec: AspectSpec
) -> dict[str, Floats]:
    """Return the labels of criteria as numbers; NaN where they are missing or no numbers."""
    labels = {}
    for name, criterion in criteria.items():
        aspect = Aspect()
        if isinstance(spec, Aspects):
            aspect = spec.get(name, aspect)
        grades = None
        if aspect.grades is not None:
            grades = aspect.scale.grades
        given = read_labels(criterion.column)
        numbers, is_wrong = grade_booleans(given, is_boolean(criterion.column), grades)
        labels[name] = np.where(is_wrong, np.nan, numbers)
    return labels


def _wide_judgments(
    criteria: Mapping[str, CriterionLabels], labels: Mapping[str, Floats]
) -> pd.DataFrame:
    """Return wide qrels with one row per answer, judge and repetition."""
    rows = pd.concat([criterion.rows for criterion in criteria.values()])
    units = rows.drop_duplicates(_UNIT)
    names = []
    for unit in records(units[["name", "judge", "repetition"]]):
        names.append(" ".join(part for part in unit if part))
    wide = pd.DataFrame({"query_id": units["qid"].to_numpy(), "doc_id": names})
    index = pd.MultiIndex.from_frame(units[_UNIT])
    for name, criterion in criteria.items():
        criterion_index = pd.MultiIndex.from_frame(criterion.rows[_UNIT])
        criterion_labels = pd.Series(labels[name], index=criterion_index)
        wide[name] = criterion_labels.reindex(index).to_numpy()
    return wide


def _answer_columns(frame: pd.DataFrame) -> dict[str, str]:
    """Return the names of the columns of queries and runs in judged answers."""
    usual_names = {
        "qid": (*QUERY_COLUMNS, *judged_answers.OTHER_QUERIES, judged_answers.QUESTION),
        "docno": ("name", "run_id", "system"),
    }
    columns = {}
    for kind, names in usual_names.items():
        columns[kind] = next(name for name in names if name in frame.columns)
    return columns


def scale_to_declare(view: AspectView) -> Aspect:
    """Return the scale of a criterion, without inferred grades if its labels are values in [0, 1]."""
    labels = view.label[view.known]
    are_values = (labels >= 0).all() and (labels <= 1).all()
    if view.inferred and are_values:
        return as_given(view.label_counts)
    return as_short(view.label_counts)
