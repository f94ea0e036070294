"""Checks that a run and judgments match."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._typing import Bools, Floats, Ints
from ..errors import SWAPPED, MultiAspectError, choices, number_of, warn, warn_of_run, warn_once
from ..strings.order import Scores
from .columns import MIN_POOL, MOSTLY, USUAL_GRADES
from .judgments import Judgments
from .qrels_forms import BY_QUERY
from .rankings import Rankings
from .views import AspectView

#: Minimum number of topics for warnings; smaller collections are examples.
_MIN_TOPICS = 5

#: Minimum number of retrieved and of judged documents to conclude that the ids do not match.
_MIN_DOCUMENTS = 10

#: Minimum number of rows to conclude that scores are labels.
_MIN_ROWS = 10


def warn_of_no_common_query(rankings: Rankings) -> None:
    """Warn if a run has no query of the judgments, unless it has no documents at all."""
    run = rankings.source
    judgments = rankings.judgments
    is_empty = len(run) == 0
    has_common_query = rankings.n_common > 0
    if is_empty or has_common_query:
        return
    run_qids = run.qids[:3].tolist()
    listed_judged = choices(judgments.qids[:3])
    listed_of_run = choices(run_qids)
    remedy = by_query_remedy(judgments, run.qids)
    warn_once(
        "the run and the qrels have no query in common; all judged queries are scored as empty "
        "rankings. Check that both are for the same collection and use the same query ids: the "
        f"qrels have queries such as {listed_judged}, the run has queries such as "
        f"{listed_of_run}{remedy}",
        key=f"{len(run)} {run_qids}",
        group="no query in common",
    )


def by_query_remedy(judgments: Judgments, qids: Iterable[str]) -> str:
    """Return a remedy if all queries of a run are documents of the qrels, else an empty text."""
    documents_of_qrels = set(judgments.docnos)
    are_documents = documents_of_qrels.issuperset(qids)
    if not are_documents:
        return ""
    doubt = (
        ". The queries of the run are documents of the qrels: are query and document ids swapped?"
    )
    # Ids may be swapped. Or a dict {aspect: {qid: {docno: label}}} was read as if it were
    # {qid: {docno: {aspect: label}}}: its few aspects became queries, its many documents aspects.
    may_be_by_aspect = judgments.n_queries < len(judgments.label_names)
    if may_be_by_aspect:
        return f"{doubt} {BY_QUERY}"
    return doubt


def warn_of_no_common_document(rankings: Rankings, name: str = "the run") -> None:
    """Warn if none of the documents retrieved by the run `name` is judged for its query."""
    judgments = rankings.judgments
    documents_per_topic = rankings.hits.n_ret
    n_retrieved = int(documents_per_topic.sum())
    has_judged_document = len(rankings.hits.row) > 0
    has_few_documents = n_retrieved < _MIN_DOCUMENTS or len(judgments) < _MIN_DOCUMENTS
    if has_judged_document or has_few_documents:
        return
    is_answered = documents_per_topic > 0  # per topic
    is_of_answered_topic = is_answered[judgments.pool_query]  # per judged pair
    judged = judgments.docnos[is_of_answered_topic][:3]
    retrieved = rankings.some_documents
    listed_judged = choices(map(repr, judged))
    listed_retrieved = choices(map(repr, retrieved))
    n_answered = int(is_answered.sum())
    topics = number_of(n_answered, "judged topic")
    warn_of_run(
        f"none of the {n_retrieved} documents retrieved for {topics} is judged: the qrels have "
        f"documents such as {listed_judged}, the run has documents such as {listed_retrieved}",
        "The values are those of a run that finds nothing. Check that runs and qrels are for the "
        "same collection and use the same document ids",
        run=name,
        key=f"{n_retrieved} {retrieved}",  # a warning with the same key is issued only once
        group="no judged document",
    )


def warn_of_missing_topics(judgments: Judgments, answered: Bools, counted: Bools) -> None:
    """Warn if a run lacks judged topics that some measure includes.

    Parameters
    ----------
    judgments : Judgments
        The judgments.
    answered, counted : ndarray of bool, shape (n_topics,)
        The topics with documents in the run, and those that a measure includes.
    """
    is_missing = counted & ~answered
    n_missing = int(is_missing.sum())
    n_counted = int(counted.sum())
    if n_missing == 0 or n_counted < _MIN_TOPICS:
        return
    missing_qids = judgments.qids[is_missing].tolist()
    first_qid = missing_qids[0]
    topics = number_of(n_counted, "judged topic")
    warn_of_run(
        f"no documents for {n_missing} of {topics}, such as {first_qid}",
        "These topics count as empty rankings. If the runs are for other topics, leave these "
        "out of the qrels",
        key=str(missing_qids[:10]),
        group="missing topics",
    )


def warn_of_unlabelled_topics(views: Iterable[AspectView], judgments: Judgments) -> None:
    """Warn about topics without a label on one aspect, but with a positive one on another."""
    if judgments.n_queries < _MIN_TOPICS:
        return
    view_of_aspect = {view.name: view for view in views}
    is_positive_on_any = np.zeros(judgments.n_queries, dtype=np.bool_)  # per topic
    for view in view_of_aspect.values():
        is_above_lowest = view.grade_index > 0  # per judged pair
        is_positive_on_any |= _topics_with(is_above_lowest, judgments)
    n_topics = number_of(judgments.n_queries, "topic")
    findings = []
    for name, view in view_of_aspect.items():
        has_labels = _topics_with(view.known, judgments)
        qids = judgments.qids[is_positive_on_any & ~has_labels]
        if len(qids):
            findings.append(f"{name} in {len(qids)} of {n_topics}, such as {qids[0]}")
    if findings:
        listed = choices(findings)
        warn(
            f"the qrels have no label of {listed}. There, all documents have the lowest "
            "grade of the aspect. Check that the files are complete, or leave the topics out of "
            "the qrels"
        )


def _topics_with(pairs: Bools, judgments: Judgments) -> Bools:
    """Return a mask of the topics with at least one judged pair of a mask.

    Parameters
    ----------
    pairs : ndarray of bool, shape (n_pairs,)
        A mask of judged pairs.
    judgments : Judgments
        The judged pairs.

    Returns
    -------
    ndarray of bool, shape (n_topics,)
    """
    topic_of_pair = judgments.pool_query[pairs]
    pairs_per_topic = np.bincount(topic_of_pair, minlength=judgments.n_queries)
    return pairs_per_topic > 0


def single_documents(rankings: Rankings) -> dict[str, str]:
    """Return the document that a run retrieves for each judged topic, by topic.

    Empty if the run retrieves several documents for a topic, or if most of its documents are not
    judged, as in a search for known items: then they are not judged answers.
    """
    n_retrieved = rankings.hits.n_ret  # by topic
    has_single_documents = n_retrieved.max(initial=0) == 1
    if not has_single_documents:
        return {}
    n_judged = len(rankings.hits.row)  # a hit is a retrieved document that is judged
    are_mostly_judged = 2 * n_judged > n_retrieved.sum()
    if not are_mostly_judged:
        return {}
    query, _, docnos = rankings.documents(cutoff=None)
    qids = rankings.judgments.qids[query]
    return dict(zip(qids.tolist(), docnos.tolist(), strict=True))


def warn_if_swapped(rankings: Rankings, name: str) -> None:
    """Warn if labels of the judgments look like scores, and scores of the run like labels."""
    judgments = rankings.judgments
    run = rankings.source
    has_scores_as_labels = judgments.compute_once(
        "labels like scores", lambda: _has_scores_as_labels(judgments)
    )
    if not has_scores_as_labels or len(run) < _MIN_ROWS:
        return
    distinct_scores = np.unique(run.score)
    if not _look_like_grades(distinct_scores):
        return
    n_distinct_per_query = _count_distinct(run.query, run.score)
    are_mostly_tied = 2 * n_distinct_per_query <= len(run)
    if are_mostly_tied:
        scores = choices(f"{score:g}" for score in distinct_scores)
        warn_of_run(
            f"few scores ({scores}), as documents have grades, but nearly every judged document of "
            "a query has a different label, as documents have scores",
            SWAPPED,
            run=name,
            key=f"{name} {len(run)} {len(judgments)} {scores}",
            group="runs that look like qrels",
        )


def _look_like_grades(distinct_scores: Floats) -> bool:
    """Return whether scores are few whole numbers."""
    are_few = len(distinct_scores) <= USUAL_GRADES
    is_whole = distinct_scores == np.floor(distinct_scores)
    return are_few and bool(is_whole.all())


def warn_of_labels_as_scores(rankings: Rankings, name: str) -> None:
    """Warn if all documents of a run are judged, and its scores are the labels of an aspect.

    Files of judgments in JSON, and ranx's Parquet, are read as runs without an error.
    """
    scores = rankings.scores
    judged_rows = rankings.hits.row  # the judged pair of each judged document, by query and rank
    are_all_judged = len(judged_rows) == len(scores)
    if len(scores) < _MIN_ROWS or not are_all_judged:
        return
    are_all_equal = scores.min() == scores.max()
    if are_all_equal:
        return
    aspect = _aspect_with_labels(rankings.judgments, judged_rows, scores)
    if aspect is None:
        return
    warn_of_run(
        f"its documents are all judged, and their scores are the labels of {aspect}",
        "It ranks by the judgments: if its file contains judgments, leave it out of the runs",
        run=name,
        key=f"{name} {len(scores)} {aspect}",
        group="labels as scores",
    )


def _aspect_with_labels(judgments: Judgments, rows: Ints, values: Scores) -> str | None:
    """Return the first aspect whose labels in some rows are these values, None if none is."""
    for aspect in judgments.label_names:
        try:
            labels = judgments.labels(aspect)
        except MultiAspectError:  # the evaluation reports it, if it reads the aspect
            continue
        if np.array_equal(values, labels[rows]):
            return aspect
    return None


def _has_scores_as_labels(judgments: Judgments) -> bool:
    """Return whether nearly all documents of a query have distinct labels."""
    has_one_aspect = len(judgments.label_names) == 1
    has_enough_documents = len(judgments) >= MIN_POOL * judgments.n_queries
    if not has_one_aspect or not has_enough_documents:
        return False
    try:
        labels = judgments.labels(judgments.label_names[0])
    except MultiAspectError:
        # Several labels of a document, as by subtopic, or errors that the evaluation reports.
        return False
    query = judgments.pool_query
    # In usual qrels, the first query has few distinct labels: others need not be looked at.
    is_first_query = query == query.min(initial=0)
    if not _are_mostly_distinct(query[is_first_query], labels[is_first_query]):
        return False
    return _are_mostly_distinct(query, labels)


def _are_mostly_distinct(query: Ints, labels: Floats) -> bool:
    """Return whether no label is missing, and nearly all labels of a query are distinct."""
    if np.isnan(labels).any():
        return False
    n_distinct = _count_distinct(query, labels)
    return n_distinct >= MOSTLY * len(labels)


def _count_distinct(query: Ints, values: Floats) -> int:
    """Return the number of distinct values of each query, summed over queries."""
    query_and_value = np.stack([query, values])  # shape (2, n_values)
    distinct = np.unique(query_and_value, axis=1)
    return int(distinct.shape[1])
