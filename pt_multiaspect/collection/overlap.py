"""Checks that a run and judgments match."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._typing import Bools
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
    """Warn if a run has no query of the judgments; a run without documents is an ordinary empty run."""
    n_rows = len(rankings.source)
    if n_rows and not rankings.n_common:
        some_qids = rankings.source.qids[:3].tolist()
        warn_once(
            "the run and the qrels have no query in common; all judged queries are scored as empty "
            "rankings. Check "
            "that both are for the same collection and use the same query ids: the qrels have "
            "queries such as "
            f"{choices(rankings.judgments.qids[:3])}, the run has queries such as "
            f"{choices(some_qids)}"
            f"{by_query_remedy(rankings.judgments, rankings.source.qids)}",
            key=f"{n_rows} {some_qids}",
            group="no query in common",
        )


def by_query_remedy(judgments: Judgments, qids: Iterable[str]) -> str:
    """Return the end of a message about a run without a common query: nothing unless its queries are documents."""
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
    judgments, retrieved = rankings.judgments, rankings.some_documents
    n_retrieved = int(rankings.hits.n_ret.sum())
    if len(rankings.hits.row) or min(n_retrieved, len(judgments)) < _MIN_DOCUMENTS:
        return
    answered = rankings.hits.n_ret > 0
    judged = judgments.docnos[answered[judgments.pool_query]][:3]
    topics = number_of(int(answered.sum()), "judged topic")
    warn_of_run(
        f"none of the {n_retrieved} documents retrieved for {topics} is judged: the qrels have "
        "documents such as "
        f"{choices(map(repr, judged))}, the run has documents such as "
        f"{choices(map(repr, retrieved))}",
        "The values are those of a run that finds nothing. Check that runs and qrels are for the "
        "same collection "
        "and use the same document ids",
        run=name,
        key=f"{n_retrieved} {retrieved}",
        group="no judged document",
    )


def warn_of_missing_topics(judgments: Judgments, answered: Bools, counted: Bools) -> None:
    """Warn if a run lacks judged topics that some measure includes."""
    lacking = counted & ~answered
    n_missing = int(lacking.sum())
    if n_missing and counted.sum() >= _MIN_TOPICS:
        qids = judgments.qids[lacking].tolist()
        warn_of_run(
            f"no documents for {n_missing} of {number_of(int(counted.sum()), 'judged topic')}, "
            f"such as {qids[0]}",
            "These topics count as empty rankings. If the runs are for other topics, leave these "
            "out of the qrels",
            key=str(qids[:10]),
            group="missing topics",
        )


def warn_of_unlabelled_topics(views: Iterable[AspectView], judgments: Judgments) -> None:
    """Warn about topics without a label on one aspect and with a document above the lowest grade on another."""
    if judgments.n_queries < _MIN_TOPICS:
        return

    def topics_with(rows: Bools) -> Bools:
        return np.bincount(judgments.pool_query[rows], minlength=judgments.n_queries) > 0

    distinct = {view.name: view for view in views}
    above = np.any([topics_with(view.grade_index > 0) for view in distinct.values()], axis=0)
    lacking = {
        name: judgments.qids[above & ~topics_with(view.known)] for name, view in distinct.items()
    }
    missing = [
        f"{name} in {len(qids)} of {number_of(judgments.n_queries, 'topic')}, such as {qids[0]}"
        for name, qids in lacking.items()
        if len(qids)
    ]
    if missing:
        warn(
            f"the qrels have no label of {choices(missing)}. There, all documents have the lowest "
            "grade of the "
            "aspect. Check that the files are complete, or leave the topics out of the qrels"
        )


def single_documents(rankings: Rankings) -> dict[str, str]:
    """Return the document that a run retrieves for each judged topic, by topic.

    Empty if the run retrieves several documents for a topic, or if most of its documents are not
    judged, as in a search for known items: then they are not judged answers.
    """
    retrieved = rankings.hits.n_ret
    if retrieved.max(initial=0) != 1 or 2 * len(rankings.hits.row) <= retrieved.sum():
        return {}
    query, _, docnos = rankings.documents(None)
    return dict(zip(rankings.judgments.qids[query].tolist(), docnos.tolist(), strict=True))


def warn_if_swapped(rankings: Rankings, name: str) -> None:
    """Warn if the labels of the judgments look like scores, and the scores of the run `name` like labels."""
    judgments, run = rankings.judgments, rankings.source
    has_scores = judgments.compute_once(
        "labels like scores", lambda: _has_scores_as_labels(judgments)
    )
    if not has_scores or len(run) < _MIN_ROWS:
        return
    pairs, distinct = (
        np.unique(np.stack([run.query, run.score]), axis=1).shape[1],
        np.unique(run.score),
    )
    are_grades = len(distinct) <= USUAL_GRADES and (distinct == np.floor(distinct)).all()
    if are_grades and 2 * pairs <= len(run):
        scores = choices(f"{score:g}" for score in distinct)
        warn_of_run(
            f"few scores ({scores}), as documents have grades, but nearly every judged document of "
            "a query has a "
            "different label, as documents have scores",
            SWAPPED,
            run=name,
            key=f"{name} {len(run)} {len(judgments)} {scores}",
            group="runs that look like qrels",
        )


def warn_of_labels_as_scores(rankings: Rankings, name: str) -> None:
    """Warn if all documents of a run are judged, and its scores are the labels of an aspect.

    Files of judgments in JSON, and ranx's Parquet, are read as runs without an error.
    """
    judgments, hits, scores = rankings.judgments, rankings.hits, rankings.scores
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
    try:
        labels, query = judgments.labels(judgments.label_names[0]), judgments.pool_query
    except (
        MultiAspectError
    ):  # several labels of a document, as by subtopic, or errors that the evaluation reports
        return False
    for rows in (
        np.flatnonzero(query == query[:1]),
        slice(None),
    ):  # one query is sufficient in the usual case
        pairs = np.unique(np.stack([query[rows], labels[rows]]), axis=1).shape[1]
        if np.isnan(labels[rows]).any() or pairs < MOSTLY * len(labels[rows]):
            return False
    return True
