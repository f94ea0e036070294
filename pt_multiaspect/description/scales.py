"""Labels and scales of aspects, or of criteria of answers: numbers of labels, grades and positive documents."""

from __future__ import annotations

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
        return next((view for view in self.views if view.name == name), None)


class AnswerJudgments(Judgments):
    """Judgments whose documents are runs, judged by their answers: a criterion may be called score."""

    def _refuse_runs(self, frame: pd.DataFrame) -> None:
        pass


def read_judged(qrels: object, spec: AspectSpec) -> Judged:
    """Read judgments as the evaluation does, but count labels that are not grades instead of rejecting them."""
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
        return Judged(
            judgments, judgments.views(spec or names or None), judgments, {}, columns, spec is None
        )
    except MultiAspectError:
        if not isinstance(spec, Aspects):
            raise
        plain = judgments.views(names)
        off = {view.name: _is_off_scale(view.label, spec[view.name]) for view in plain}
        if not any(marked.any() for marked in off.values()):
            raise
    frame = pd.DataFrame(
        {"query_id": judgments.qids[judgments.pool_query], "doc_id": judgments.docnos}
    )
    cleaned = frame.assign(
        **{view.name: np.where(off[view.name], np.nan, view.label) for view in plain}
    )
    kept = type(judgments)(cleaned)
    set_aside = {view.name: view.label[off[view.name]] for view in plain if off[view.name].any()}
    return Judged(kept, kept.views(spec), judgments, set_aside, columns)


def _is_off_scale(labels: Floats, aspect: Aspect) -> Bools:
    """Return a mask of the labels above or between the grades."""
    marked = np.zeros(len(labels), dtype=np.bool_)
    if aspect.grades is not None:
        _, off = aspect.scale.positions(
            np.where(np.isin(labels, number_codes(aspect)), np.nan, labels)
        )
        marked[off] = True
    return marked


def _columns(qrels: object) -> dict[str, str]:
    given = set(getattr(qrels, "columns", ()))
    kinds = {
        "relevance": ("label", "relevance", "score"),
        "qid": (*QUERY_COLUMNS, "query-id"),
        "docno": (*DOCUMENT_COLUMNS, "corpus-id", "corpus_id"),
    }
    return {
        kind: next((name for name in names if name in given), names[0])
        for kind, names in kinds.items()
    }


def records(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table, with the columns as attributes."""
    return list(table.itertuples(index=False))


def aspect_table(judged: Judged) -> pd.DataFrame:
    """Count judged pairs, topics and positive documents, one row per aspect."""
    n_pairs, n_topics = len(judged.judgments), judged.judgments.n_queries
    rows = []
    for view in judged.views:
        n_known, positive = int(view.known.sum()), view.positive
        n_off = len(judged.off_scale.get(view.name, ()))
        has_threshold = len(view.scale) > 1
        row = {
            "aspect": view.name,
            "scale": "inferred" if view.inferred else "declared",
            "grades": str(view.scale),
            "threshold": view.scale.grades[view.scale.threshold] if has_threshold else np.nan,
            "judged": n_known,
            "missing": n_pairs - n_known - n_off,
            "below_scale": int(np.isin(view.label, view.label_counts.below).sum()),
            "out_of_scale": n_off,
            "distinct": len(used_labels(view)[0]),
            "topics": len(np.unique(view.pool_query[view.known])),
            "positive": positive.sum() / n_known if n_known else np.nan,
            "topics_without_positive": n_topics - len(np.unique(view.pool_query[positive])),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def used_labels(view: AspectView) -> tuple[Floats, Ints]:
    """Return the labels of an aspect that occur, in increasing order, and their numbers of documents."""
    return np.unique(view.label[view.known], return_counts=True)


def label_counts(judged: Judged) -> pd.DataFrame:
    """Count each label of each aspect, including grades that no document has."""
    parts = []
    for view in judged.views:
        label, count = used_labels(view)
        off, off_count = np.unique(judged.off_scale.get(view.name, np.zeros(0)), return_counts=True)
        if len(view.scale) <= _MOST_UNUSED:
            grades = view.scale.grades
        else:
            grades = np.zeros(0)
        unused = np.setdiff1d(grades, label)
        kind = np.where(np.isin(label, view.scale.grades), "grade", "below the scale")
        if view.scale.identity and view.inferred:
            kind = np.where(label < 0, "below the scale", "grade")
        columns = {
            "aspect": view.name,
            "label": np.concatenate([label, off, unused]),
            "count": np.concatenate(
                [count, off_count, np.zeros(len(unused), dtype=np.intp)]
            ).astype(np.intp),
            "kind": [*kind.tolist(), *["out of scale"] * len(off), *["grade"] * len(unused)],
        }
        rows = pd.DataFrame(columns)
        total = max(int(rows["count"].sum()), 1)
        parts.append(rows.assign(share=rows["count"] / total).sort_values("label"))
    return pd.concat(parts, ignore_index=True)[["aspect", "label", "kind", "count", "share"]]


#: What tells judgments of several criteria apart.
_UNIT = ("answer", "judge", "repetition")


def read_answers_judged(source: Any, spec: AspectSpec) -> Judged:
    """Read judged answers; a document is a run, judged by one judge in one repetition."""
    frame = read_answers(source, "describe")
    answers, criteria = judged_answers.read_criteria(frame, spec, "describe")
    if isinstance(spec, Aspects):
        declared = dict(spec)
    else:
        declared = {}
    labels = {}
    for name, criterion in criteria.items():
        aspect = declared.get(name, Aspect())
        if aspect.grades is None:
            grades = None
        else:
            grades = aspect.scale.grades
        numbers, wrong = grade_booleans(
            read_labels(criterion.column), is_boolean(criterion.column), grades
        )
        labels[name] = np.where(wrong, np.nan, numbers)
    units = pd.concat([criterion.rows for criterion in criteria.values()]).drop_duplicates([*_UNIT])
    names = [
        " ".join(filter(None, unit)) for unit in records(units[["name", "judge", "repetition"]])
    ]
    wide = pd.DataFrame({"query_id": units["qid"].to_numpy(), "doc_id": names})
    index = pd.MultiIndex.from_frame(units[[*_UNIT]])
    for name, criterion in criteria.items():
        given = pd.Series(labels[name], index=pd.MultiIndex.from_frame(criterion.rows[[*_UNIT]]))
        wide[name] = given.reindex(index).to_numpy()
    judged = read_judged(AnswerJudgments(wide), spec or tuple(criteria))
    columns = {
        "qid": (*QUERY_COLUMNS, *judged_answers.OTHER_QUERIES, judged_answers.QUESTION),
        "docno": ("name", "run_id", "system"),
    }
    named = {
        kind: next(name for name in names if name in frame.columns)
        for kind, names in columns.items()
    }
    return replace(
        judged, answers=JudgedAnswers(answers, criteria, labels, (*frame.columns,)), columns=named
    )


def scale_to_declare(view: AspectView) -> Aspect:
    """Return the scale of a criterion, without inferred grades if its labels are values in [0, 1]."""
    labels = view.label[view.known]
    in_range = view.inferred and (labels >= 0).all() and (labels <= 1).all()
    if in_range:
        return as_given(view.label_counts)
    return as_short(view.label_counts)
