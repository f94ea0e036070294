"""Checks that a run and judgments match."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._typing import Bools, Floats, Ints
from ..errors import SWAPPED, MultiAspectError, choices, number_of, warn, warn_of_run, warn_once
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
    n_rows = len(rankings.source)
    if not n_rows or rankings.n_common:
        return
    judged_qids = rankings.judgments.qids[:3]
    run_qids = rankings.source.qids[:3].tolist()
    remedy = by_query_remedy(rankings.judgments, rankings.source.qids)
    warn_once(
        "the run and the qrels have no query in common; all judged queries are scored as empty "
        "rankings. Check that both are for the same collection and use the same query ids: the "
        f"qrels have queries such as {choices(judged_qids)}, the run has queries such as "
        f"{choices(run_qids)}{remedy}",
        key=f"{n_rows} {run_qids}",
        group="no query in common",
    )


def by_query_remedy(judgments: Judgments, qids: Iterable[str]) -> str:
    """Return the remedy for a run whose queries are documents of the qrels, else nothing."""
    if not {*judgments.docnos} >= {*qids}:
        return ""
    doubt = (
        ". The queries of the run are documents of the qrels: are query and document ids swapped?"
    )
    # In a dict by aspect, the documents are read as aspects, of which judgments with swapped ids
    # have few.
    if len(judgments.label_names) > judgments.n_queries:
        return f"{doubt} {BY_QUERY}"
    return doubt


def warn_of_no_common_document(rankings: Rankings, name: str = "the run") -> None:
    """Warn if none of the documents retrieved by the run `name` is judged for its query."""
    judgments = rankings.judgments
    retrieved = rankings.some_documents
    n_retrieved = int(rankings.hits.n_ret.sum())
    if len(rankings.hits.row) or min(n_retrieved, len(judgments)) < _MIN_DOCUMENTS:
        return
    answered = rankings.hits.n_ret > 0
    is_answered = answered[judgments.pool_query]
    judged = judgments.docnos[is_answered][:3]
    topics = number_of(int(answered.sum()), "judged topic")
    warn_of_run(
        f"none of the {n_retrieved} documents retrieved for {topics} is judged: the qrels have "
        f"documents such as {choices(map(repr, judged))}, the run has documents such as "
        f"{choices(map(repr, retrieved))}",
        "The values are those of a run that finds nothing. Check that runs and qrels are for the "
        "same collection and use the same document ids",
        run=name,
        key=f"{n_retrieved} {retrieved}",
        group="no judged document",
    )


def warn_of_missing_topics(judgments: Judgments, answered: Bools, counted: Bools) -> None:
    """Warn if a run lacks judged topics that some measure includes."""
    lacking = counted & ~answered
    n_missing = int(lacking.sum())
    n_counted = int(counted.sum())
    if n_missing and n_counted >= _MIN_TOPICS:
        qids = judgments.qids[lacking].tolist()
        topics = number_of(n_counted, "judged topic")
        warn_of_run(
            f"no documents for {n_missing} of {topics}, such as {qids[0]}",
            "These topics count as empty rankings. If the runs are for other topics, leave these "
            "out of the qrels",
            key=str(qids[:10]),
            group="missing topics",
        )


def warn_of_unlabelled_topics(views: Iterable[AspectView], judgments: Judgments) -> None:
    """Warn about topics without a label on one aspect, but with a positive one on another."""
    if judgments.n_queries < _MIN_TOPICS:
        return
    distinct = {view.name: view for view in views}
    # Aspects × topics.
    is_above = [_topics_with(view.grade_index > 0, judgments) for view in distinct.values()]
    is_above_on_any = np.any(is_above, axis=0)
    n_topics = number_of(judgments.n_queries, "topic")
    missing = []
    for name, view in distinct.items():
        lacks_labels = ~_topics_with(view.known, judgments)
        qids = judgments.qids[is_above_on_any & lacks_labels]
        if len(qids):
            missing.append(f"{name} in {len(qids)} of {n_topics}, such as {qids[0]}")
    if missing:
        warn(
            f"the qrels have no label of {choices(missing)}. There, all documents have the lowest "
            "grade of the aspect. Check that the files are complete, or leave the topics out of "
            "the qrels"
        )


def _topics_with(rows: Bools, judgments: Judgments) -> Bools:
    """Return a mask of the topics with some of the judged pairs."""
    n_rows = np.bincount(judgments.pool_query[rows], minlength=judgments.n_queries)
    return n_rows > 0


def single_documents(rankings: Rankings) -> dict[str, str]:
    """Return the document that a run retrieves for each judged topic, by topic.

    Empty if the run retrieves several documents for a topic, or if most of its documents are not
    judged, as in a search for known items: then they are not judged answers.
    """
    retrieved = rankings.hits.n_ret
    if retrieved.max(initial=0) != 1 or 2 * len(rankings.hits.row) <= retrieved.sum():
        return {}
    query, _, docnos = rankings.documents(None)
    qids = rankings.judgments.qids[query]
    return dict(zip(qids.tolist(), docnos.tolist(), strict=True))


def warn_if_swapped(rankings: Rankings, name: str) -> None:
    """Warn if labels of the judgments look like scores, and scores of the run like labels."""
    judgments = rankings.judgments
    run = rankings.source
    has_scores = judgments.compute_once(
        "labels like scores", lambda: _has_scores_as_labels(judgments)
    )
    if not has_scores or len(run) < _MIN_ROWS:
        return
    distinct = np.unique(run.score)
    are_grades = len(distinct) <= USUAL_GRADES and (distinct == np.floor(distinct)).all()
    if are_grades and 2 * _count_distinct(run.query, run.score) <= len(run):
        scores = choices(f"{score:g}" for score in distinct)
        warn_of_run(
            f"few scores ({scores}), as documents have grades, but nearly every judged document of "
            "a query has a different label, as documents have scores",
            SWAPPED,
            run=name,
            key=f"{name} {len(run)} {len(judgments)} {scores}",
            group="runs that look like qrels",
        )


def warn_of_labels_as_scores(rankings: Rankings, name: str) -> None:
    """Warn if all documents of a run are judged, and its scores are the labels of an aspect.

    Files of judgments in JSON, and ranx's Parquet, are read as runs without an error.
    """
    judgments = rankings.judgments
    hits = rankings.hits
    scores = rankings.scores
    if len(hits.row) < max(_MIN_ROWS, len(scores)) or scores.min() == scores.max():
        return
    for aspect in judgments.label_names:
        try:
            labels = judgments.labels(aspect)
        except MultiAspectError:  # the evaluation reports it, if it reads the aspect
            continue
        if np.array_equal(scores, labels[hits.row]):
            warn_of_run(
                f"its documents are all judged, and their scores are the labels of {aspect}",
                "It ranks by the judgments: if its file contains judgments, leave it out of the "
                "runs",
                run=name,
                key=f"{name} {len(scores)} {aspect}",
                group="labels as scores",
            )
            return


def _has_scores_as_labels(judgments: Judgments) -> bool:
    """Return whether nearly all documents of a query have distinct labels."""
    if len(judgments.label_names) != 1 or len(judgments) < MIN_POOL * judgments.n_queries:
        return False
    query = judgments.pool_query
    try:
        labels = judgments.labels(judgments.label_names[0])
    except MultiAspectError:
        # Several labels of a document, as by subtopic, or errors that the evaluation reports.
        return False
    # One query is sufficient in the usual case.
    first_query = query == query[:1]
    return _are_mostly_distinct(query[first_query], labels[first_query]) and _are_mostly_distinct(
        query, labels
    )


def _are_mostly_distinct(query: Ints, labels: Floats) -> bool:
    """Return whether no label is missing, and nearly all labels of a query are distinct."""
    if np.isnan(labels).any():
        return False
    return _count_distinct(query, labels) >= MOSTLY * len(labels)


def _count_distinct(query: Ints, values: Floats) -> int:
    """Return the number of distinct values of each query, summed over queries."""
    pairs = np.unique(np.stack([query, values]), axis=1)
    return int(pairs.shape[1])
