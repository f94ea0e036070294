"""Scores of answers from the output of nuggetizer and Auto-ARGUE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..collection.columns import QUERY_COLUMNS, id_column
from ..collection.judged_answers import RUN_COLUMNS, answer_keys
from ..errors import MultiAspectError, choices, cut, shown, warn_once
from ..evaluation.long_frames import check_distinct
from ..kernels.hits import ratio
from ..measures import MM
from ._answer_tables import (
    answer_title,
    item_notes,
    read_answers,
    read_numbers,
    score_frame,
    weighted_means,
)
from .combining import combine

_NUGGETS, _ARGUE = "assignments", "scores"

#: The weights of nuggets by importance, in the ``vital`` and in the ``weighted`` scores.
_VITAL_WEIGHTS = {"vital": 1.0, "okay": 0.0}
_GRADED_WEIGHTS = {"vital": 1.0, "okay": 0.5}

#: The support of nuggets by assignment, in the strict and in the other scores.
_STRICT_SUPPORT = {"support": 1.0, "partial_support": 0.0, "not_support": 0.0}
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


class _Nugget(NamedTuple):
    """A nugget of an answer, with its labels."""

    #: The position of the answer.
    answer: int
    text: object
    importance: str
    assignment: str


class _Nuggets(NamedTuple):
    """The nuggets of all answers, with one element per nugget."""

    #: The position of the answer of each nugget.
    answer: Ints
    texts: list[object]
    importances: list[str]
    assignments: list[str]


class _Fraction(NamedTuple):
    """A score that divides two counts, by their metrics."""

    numerator: str
    denominator: str


_FRACTIONS = {
    "sentence_support": _Fraction(
        "correctly_cited_sentences", "sentences_with_citations_or_requiring_citations"
    ),
    "nugget_coverage": _Fraction("correct_nuggets", "nuggets"),
    "nugget_coverage_weighted": _Fraction("correct_nuggets_weighted", "nuggets_weighted"),
}

#: The topic of the rows over all topics.
_OVERALL = "all"


def nugget_scores(assignments: Any) -> pd.DataFrame:
    """Score answers by the nuggets that they contain, as the TREC RAG tracks do.

    A nugget is a fact that a good answer contains. It is vital or okay, and an answer supports it,
    supports it in part, or does not support it.

    Parameters
    ----------
    assignments : path, open file, DataFrame, or list of paths or of dicts
        The output of nuggetizer for answers: files with one JSON object per line (also compressed,
        a directory, or a pattern such as ``"assignments/*.jsonl"``), or the same as rows of a frame
        or as dicts. An object has a topic ``qid``, a run ``run_id`` (or ``name``), and ``nuggets``,
        a list of objects with the keys ``importance`` and ``assignment``, and usually ``text``.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with six rows per answer and
        values in [0, 1]: ``strict_vital_score``, ``vital_score``, ``strict_weighted_score``,
        ``weighted_score``, ``strict_all_score`` and ``all_score``.

    Raises
    ------
    MultiAspectError
        If a file cannot be read, if a key is missing (including the importance or the assignment of
        a nugget), if a nugget of an answer is repeated with another assignment, or if a run has
        several answers to a topic.

    Warns
    -----
    MultiAspectWarning
        In one message: the number of assignments with unknown labels, which count as
        ``not_support``; how many importances are unknown labels, whose nuggets count in the ``all``
        scores only; how many nuggets are repeated; on how many topics runs were judged by different
        nuggets, or by nuggets of different importance.

    See Also
    --------
    combine : One value of several criteria.
    aggregate : The mean over topics.

    Notes
    -----
    A score is Σ w s / Σ w over the nuggets of an answer, 0 if Σ w is 0. The support s is 1 for
    ``support`` and 0 for ``not_support``; for ``partial_support`` it is 0.5, and 0 in strict
    scores. The weight w is 1 for vital nuggets and 0 for others in the ``vital`` scores, 1 for
    vital and 0.5 for okay nuggets in the ``weighted`` scores, 1 for all nuggets in the ``all``
    scores. The tracks' V_strict is ``strict_vital_score``, A_strict is ``strict_all_score``.

    Stability: provisional. The formats of nuggetizer, which it reads, may change.

    References
    ----------
    Pradeep et al.: Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
    AutoNuggetizer Framework. arXiv:2411.09607, 2024.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> nuggets = [
    ...     {"text": "Python is a language", "importance": "vital", "assignment": "support"},
    ...     {"text": "It dates from 1991", "importance": "vital", "assignment": "partial_support"},
    ...     {"text": "It has threads", "importance": "okay", "assignment": "not_support"},
    ...     {"text": "It has lists", "importance": "okay", "assignment": "not_support"},
    ... ]
    >>> scores = ma.answers.nugget_scores([{"qid": "q1", "run_id": "mine", "nuggets": nuggets}])
    >>> scores.round(4)
       name qid                measure   value
    0  mine  q1     strict_vital_score  0.5000
    1  mine  q1            vital_score  0.7500
    2  mine  q1  strict_weighted_score  0.3333
    3  mine  q1         weighted_score  0.5000
    4  mine  q1       strict_all_score  0.2500
    5  mine  q1              all_score  0.3750
    """
    frame = read_answers(assignments, _NUGGETS)
    has_runs = not set(RUN_COLUMNS).isdisjoint(frame.columns)
    if "docid" in frame.columns and not has_runs:
        raise MultiAspectError(
            f"{_NUGGETS}: expected assignments of answers, with a run_id, got those of documents, "
            "with a docid; from_subtopics makes qrels of documents' nuggets"
        )
    answers = answer_keys(frame, _NUGGETS)  # the run and the topic of each answer
    nuggets = _nuggets_of_answers(frame, answers)
    scores = _scores_of_nuggets(nuggets, len(answers))
    result = score_frame(answers, scores, _NUGGETS)
    notes = _nugget_notes(answers, nuggets)
    if notes:
        warning = "; ".join(notes)
        warn_once(f"{_NUGGETS}: {warning}")
    return result


def _scores_of_nuggets(nuggets: _Nuggets, n_answers: int) -> dict[str, Floats]:
    """Return six scores by name, each an array of one value per answer.

    They are weighted means of the support of the nuggets, by three weights and two supports.
    """
    strict_support = _numbers_of_labels(nuggets.assignments, _STRICT_SUPPORT)
    support = _numbers_of_labels(nuggets.assignments, _SUPPORT)
    weights_by_kind = {
        "vital": _numbers_of_labels(nuggets.importances, _VITAL_WEIGHTS),
        "weighted": _numbers_of_labels(nuggets.importances, _GRADED_WEIGHTS),
        "all": np.ones(len(nuggets.answer)),
    }
    scores = {}
    for kind, weights in weights_by_kind.items():
        strict_scores = weighted_means(nuggets.answer, strict_support, weights, n_answers)
        scores[f"strict_{kind}_score"] = strict_scores
        scores[f"{kind}_score"] = weighted_means(nuggets.answer, support, weights, n_answers)
    return scores


def _nuggets_of_answers(frame: pd.DataFrame, answers: pd.DataFrame) -> _Nuggets:
    """Return the nuggets of all answers, one after the other.

    The rows of `frame` are the answers, whose run and topic are in the same row of `answers`.
    """
    nugget_lists = id_column(frame, ("nuggets",), _NUGGETS)
    runs = answers["name"].tolist()
    topics = answers["qid"].tolist()
    nuggets: list[_Nugget] = []
    for position, nugget_list in enumerate(nugget_lists):
        where = f"for {runs[position]} on topic {topics[position]}"
        nuggets += _read_nuggets(nugget_list, position, where)
    return _Nuggets(
        answer=np.array([nugget.answer for nugget in nuggets], dtype=np.intp),
        texts=[nugget.text for nugget in nuggets],
        importances=[nugget.importance for nugget in nuggets],
        assignments=[nugget.assignment for nugget in nuggets],
    )


def _nugget_notes(answers: pd.DataFrame, nuggets: _Nuggets) -> list[str]:
    """Return warnings about labels that are unknown, and nuggets that are repeated or differ.

    `answers` has the run and the topic of each answer.
    """
    answer, texts, importances, assignments = nuggets
    notes = _unknown_notes(assignments, _SUPPORT, "assignments", "count as not_support")
    only_all = "count in all_score and strict_all_score only"
    notes += _unknown_notes(importances, _GRADED_WEIGHTS, "importances", only_all)
    notes += item_notes(answers, answer, texts, importances, assignments, _NUGGETS, "nugget")
    return notes


def _numbers_of_labels(labels: list[str], number_of_label: Mapping[str, float]) -> Floats:
    """Return the number of each label; 0 for unknown labels."""
    numbers = []
    for label in labels:
        numbers.append(number_of_label.get(label, 0.0))
    return np.array(numbers, dtype=np.float64)


def _read_nuggets(nuggets: object, answer: int, where: str) -> Iterator[_Nugget]:
    """Yield the nuggets of the answer at a position; `where` names it in errors."""
    is_sequence = isinstance(nuggets, Iterable) and not isinstance(nuggets, str | bytes | Mapping)
    if not is_sequence:
        remedy = ""
        if _is_missing(nuggets):
            remedy = "; score answers with nuggets and answers with criteria from separate files"
        raise MultiAspectError(
            f"{_NUGGETS}: expected a list of nuggets {where}, got {shown(nuggets)}{remedy}"
        )
    for nugget in cast(Iterable[object], nuggets):
        fields: Mapping[str, Any] = {}
        if isinstance(nugget, Mapping):
            fields = nugget
        importance = fields.get("importance")
        assignment = fields.get("assignment")
        if _is_missing(importance) or _is_missing(assignment):
            raise MultiAspectError(
                f"{_NUGGETS}: expected an importance and an assignment of every nugget, got "
                f"{shown(nugget)} {where}"
            )
        yield _Nugget(answer, fields.get("text"), str(importance), str(assignment))


def _is_missing(label: object) -> bool:
    """Return whether a label is missing; pandas reads such labels as NaN."""
    return label is None or bool(label != label)


def _unknown_notes(
    labels: list[str], known: Mapping[str, object], what: str, consequence: str
) -> list[str]:
    """Return a warning about unknown labels as a list; an empty list if all labels are known."""
    unknown = [label for label in labels if label not in known]
    if not unknown:
        return []
    examples = []
    for label, _ in Counter(unknown).most_common():
        examples.append(cut(repr(label)))
    are_unknown = "are unknown labels"
    if len(unknown) == 1:
        are_unknown = "is an unknown label"
    count = f"{len(unknown)} of {len(labels)} {what}"
    details = f"{choices(examples)}; expected {choices(known)}"
    return [f"{count} {are_unknown} ({details}) and {consequence}"]


def argue_scores(scores: Any) -> pd.DataFrame:
    """Score reports with citations, from the counts of Auto-ARGUE.

    Parameters
    ----------
    scores : path, open file, list of these, or DataFrame
        The scores that Auto-ARGUE writes (``….scores.tsv``; also compressed, a directory or a
        pattern): the columns ``run_id request_id metric value``, separated by tabs. Rows over all
        topics are left out.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as `evaluate` returns them, with values in [0, 1]:
        ``sentence_support``, the fraction of the sentences with or requiring citations that all
        their citations support; ``nugget_coverage``, the fraction of the nuggets that the report
        covers, and ``nugget_coverage_weighted``, where vital nuggets count twice; ``f1`` and
        ``f1_weighted``, the harmonic mean (`MM`) of sentence support and coverage. Fractions of
        nothing are 0.

    Raises
    ------
    MultiAspectError
        If a file cannot be read, a column or a count is missing, or a run has several reports on a
        topic.

    See Also
    --------
    combine : One value of several criteria.

    Notes
    -----
    Stability: provisional. The output of Auto-ARGUE, which it reads, may change.

    References
    ----------
    Walden et al.: Auto-ARGUE: LLM-Based Report Generation Evaluation. arXiv:2509.26184, 2025.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> counts = {
    ...     "correctly_cited_sentences": 4, "sentences_with_citations_or_requiring_citations": 5,
    ...     "correct_nuggets": 6, "nuggets": 12,
    ...     "correct_nuggets_weighted": 8, "nuggets_weighted": 16,
    ... }
    >>> rows = [("mine", "300", metric, value) for metric, value in counts.items()]
    >>> report = pd.DataFrame(rows, columns=["run_id", "request_id", "metric", "value"])
    >>> ma.answers.argue_scores(report).round(4)
       name  qid                   measure   value
    0  mine  300          sentence_support  0.8000
    1  mine  300           nugget_coverage  0.5000
    2  mine  300  nugget_coverage_weighted  0.5000
    3  mine  300                        f1  0.6154
    4  mine  300               f1_weighted  0.6154
    """
    frame = read_answers(scores, _ARGUE)
    if "metric" not in frame.columns:
        raise MultiAspectError(
            f"{_ARGUE}: expected the scores of Auto-ARGUE, with the columns run_id request_id "
            f"metric value, separated by tabs, got the columns {choices(frame.columns)}"
        )
    reports, counts = _report_counts(frame)
    fractions = {}
    for name, fraction in _FRACTIONS.items():
        numerator = counts[fraction.numerator].to_numpy()
        denominator = counts[fraction.denominator].to_numpy()
        is_above = numerator > denominator
        if is_above.any():
            first = int(np.argmax(is_above))
            report = answer_title(reports, first)
            raise MultiAspectError(
                f"{_ARGUE}: expected at most as many {fraction.numerator} as "
                f"{fraction.denominator}, got more for {report}"
            )
        fractions[name] = ratio(numerator, denominator)
    means = {
        "f1": MM(aspects=["sentence_support", "nugget_coverage"]),
        "f1_weighted": MM(aspects=["sentence_support", "nugget_coverage_weighted"]),
    }
    return combine(score_frame(reports, fractions, _ARGUE), means)


def _report_counts(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the run and the topic of each report, and its counts with one column per metric."""
    # The metrics that are counts, of which `_FRACTIONS` are made.
    metrics = []
    for fraction in _FRACTIONS.values():
        metrics.append(fraction.numerator)
        metrics.append(fraction.denominator)
    reports_of_rows = answer_keys(frame, _ARGUE, ("request_id", *QUERY_COLUMNS))
    metric_column = id_column(frame, ("metric",), _ARGUE)
    value_column = id_column(frame, ("value",), _ARGUE)
    table = reports_of_rows.assign(
        measure=metric_column.to_numpy(dtype=object),
        value=value_column.to_numpy(dtype=object),
    )
    is_of_report = table["qid"] != _OVERALL
    is_count = table["measure"].isin(metrics)
    rows = table[is_of_report & is_count]
    values = read_numbers(rows["value"], rows, _ARGUE, "counts are not negative", high=np.inf)
    rows = rows.assign(value=values)
    check_distinct(rows, "keep one report, or give each run its own name")
    reports = rows[["name", "qid"]].drop_duplicates(ignore_index=True)
    # Pivoting sorts. So counts are brought to the order of the reports and the metrics.
    sorted_counts = rows.pivot(index=["name", "qid"], columns="measure", values="value")
    counts = sorted_counts.reindex(columns=metrics)  # NaN where missing
    counts = counts.loc[pd.MultiIndex.from_frame(reports)]
    _refuse_missing_counts(reports, counts)
    return reports, counts


def _refuse_missing_counts(reports: pd.DataFrame, counts: pd.DataFrame) -> None:
    """Raise an error if there are no reports, or if a report lacks one of the metrics.

    `counts` has one row per report and one column per metric, NaN where missing.
    """
    metrics = counts.columns.tolist()
    expected = f"{_ARGUE}: expected the metrics {choices(metrics)} of every report"
    if len(reports) == 0:
        raise MultiAspectError(f"{expected}, got none of them")
    is_missing = counts.isna().to_numpy()
    if is_missing.any():
        row, column = np.argwhere(is_missing)[0]
        title = answer_title(reports, row)
        raise MultiAspectError(f"{expected}, got no {metrics[column]} for {title}")
