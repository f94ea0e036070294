"""Scores of answers from the output of nuggetizer and Auto-ARGUE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
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

#: The importance of nuggets, with their weights in the vital and in the weighted scores.
_IMPORTANCE = {"vital": (1.0, 1.0), "okay": (0.0, 0.5)}

#: The support of nuggets, with its values in the strict and in the other scores.
_ASSIGNMENT = {"support": (1.0, 1.0), "partial_support": (0.0, 0.5), "not_support": (0.0, 0.0)}

#: The counts that each score divides.
_COUNTS = {
    "sentence_support": (
        "correctly_cited_sentences",
        "sentences_with_citations_or_requiring_citations",
    ),
    "nugget_coverage": ("correct_nuggets", "nuggets"),
    "nugget_coverage_weighted": ("correct_nuggets_weighted", "nuggets_weighted"),
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
    answers = answer_keys(frame, _NUGGETS)
    nugget_lists = id_column(frame, ("nuggets",), _NUGGETS)
    # Of each nugget: the position of its answer, its text, importance and assignment.
    positions = []
    texts = []
    importances = []
    supports = []
    for position, (name, qid, nuggets) in enumerate(
        zip(answers["name"], answers["qid"], nugget_lists, strict=True)
    ):
        for text, importance, assignment in _nuggets(nuggets, f"for {name} on topic {qid}"):
            positions.append(position)
            texts.append(text)
            importances.append(importance)
            supports.append(assignment)
    answer = np.array(positions, dtype=np.intp)
    vital, weighted = _pairs_of_numbers(_IMPORTANCE, importances)
    strict, graded = _pairs_of_numbers(_ASSIGNMENT, supports)
    weights_of_scores = {"vital": vital, "weighted": weighted, "all": np.ones(len(answer))}
    scores = {}
    for kind, weights in weights_of_scores.items():
        for prefix, support in (("strict_", strict), ("", graded)):
            name = f"{prefix}{kind}_score"
            scores[name] = weighted_means(answer, support, weights, len(answers))
    result = score_frame(answers, scores, _NUGGETS)
    only_all = "count in all_score and strict_all_score only"
    notes = [
        *_unknown_notes(supports, _ASSIGNMENT, "assignments", "count as not_support"),
        *_unknown_notes(importances, _IMPORTANCE, "importances", only_all),
        *item_notes(answers, answer, texts, importances, supports, _NUGGETS, "nugget"),
    ]
    if notes:
        warn_once(f"{_NUGGETS}: {'; '.join(notes)}")
    return result


def _pairs_of_numbers(
    numbers: Mapping[str, tuple[float, float]], labels: list[str]
) -> tuple[Floats, Floats]:
    """Return the two numbers of each label, in two arrays; 0 for unknown labels."""
    pairs = [numbers.get(label, (0.0, 0.0)) for label in labels]
    first, second = np.array(pairs).reshape(-1, 2).T
    return first, second


def _nuggets(nuggets: object, where: str) -> Iterator[tuple[object, str, str]]:
    """Yield the text, the importance and the assignment of each nugget of an answer."""
    if not isinstance(nuggets, Iterable) or isinstance(nuggets, str | bytes | Mapping):
        remedy = ""
        if nuggets is None or nuggets != nuggets:
            remedy = "; score answers with nuggets and answers with criteria from separate files"
        raise MultiAspectError(
            f"{_NUGGETS}: expected a list of nuggets {where}, got {shown(nuggets)}{remedy}"
        )
    for nugget in nuggets:
        importance = assignment = None
        if isinstance(nugget, Mapping):
            importance = nugget.get("importance")
            assignment = nugget.get("assignment")
        if _is_missing(importance) or _is_missing(assignment):
            raise MultiAspectError(
                f"{_NUGGETS}: expected an importance and an assignment of every nugget, got "
                f"{shown(nugget)} {where}"
            )
        yield nugget.get("text"), str(importance), str(assignment)


def _is_missing(label: object) -> bool:
    """Return whether a label is missing; pandas reads such labels as NaN."""
    return label is None or bool(label != label)


def _unknown_notes(
    labels: list[str], known: Mapping[str, object], what: str, consequence: str
) -> list[str]:
    """Return a warning about unknown labels, if there are any, with the most frequent ones first."""
    unknown = Counter(label for label in labels if label not in known)
    if not unknown:
        return []
    n_unknown = sum(unknown.values())
    unknown_labels = "are unknown labels"
    if n_unknown == 1:
        unknown_labels = "is an unknown label"
    examples = choices(cut(repr(label)) for label, _ in unknown.most_common())
    note = f"{n_unknown} of {len(labels)} {what} {unknown_labels}"
    return [f"{note} ({examples}; expected {choices(known)}) and {consequence}"]


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
    ...     "correct_nuggets": 6, "nuggets": 12, "correct_nuggets_weighted": 8, "nuggets_weighted": 16,
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
    for label, (part, whole) in _COUNTS.items():
        numerator = counts[part].to_numpy()
        denominator = counts[whole].to_numpy()
        is_above = numerator > denominator
        if is_above.any():
            report = answer_title(reports, int(np.argmax(is_above)))
            raise MultiAspectError(
                f"{_ARGUE}: expected at most as many {part} as {whole}, got more for {report}"
            )
        fractions[label] = ratio(numerator, denominator)
    means = {
        "f1": MM(aspects=["sentence_support", "nugget_coverage"]),
        "f1_weighted": MM(aspects=["sentence_support", "nugget_coverage_weighted"]),
    }
    return combine(score_frame(reports, fractions, _ARGUE), means)


def _report_counts(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the run and the topic of each report, and its counts by metric."""
    names = list(chain.from_iterable(_COUNTS.values()))
    keys = answer_keys(frame, _ARGUE, ("request_id", *QUERY_COLUMNS))
    metric = id_column(frame, ("metric",), _ARGUE)
    value = id_column(frame, ("value",), _ARGUE)
    table = keys.assign(measure=metric.to_numpy(dtype=object), value=value.to_numpy(dtype=object))
    is_used = (table["qid"] != _OVERALL) & table["measure"].isin(names)
    table = table[is_used]
    numbers = read_numbers(table["value"], table, _ARGUE, "counts are not negative", high=np.inf)
    table = table.assign(value=numbers)
    check_distinct(table, "keep one report, or give each run its own name")
    reports = table[["name", "qid"]].drop_duplicates(ignore_index=True)
    counts = table.pivot(index=["name", "qid"], columns="measure", values="value")
    counts = counts.reindex(columns=names)
    counts = counts.loc[pd.MultiIndex.from_frame(reports)]
    expected = f"{_ARGUE}: expected the metrics {choices(names)} of every report"
    if not len(reports):
        raise MultiAspectError(f"{expected}, got none of them")
    missing = np.argwhere(counts.isna().to_numpy())
    if len(missing):
        report, column = missing[0]
        raise MultiAspectError(
            f"{expected}, got no {names[column]} for {answer_title(reports, report)}"
        )
    return reports, counts
