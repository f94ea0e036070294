"""Whether a run and judgments belong together."""

from __future__ import annotations

from ..errors import choices, number_of, warn_once
from .rankings import Rankings

__all__ = ["warn_of_no_common_document", "warn_of_no_common_query"]

#: Fewer retrieved or judged documents do not tell whether the ids are of one collection.
_MIN_DOCUMENTS = 10


def warn_of_no_common_query(rankings: Rankings) -> None:
    """Warn if a run has no query of the judgments; a run without documents is an ordinary empty run."""
    if rankings.n_rows and not rankings.n_common:
        some_qids = rankings.qids[:3].tolist()
        warn_once(
            "the run and the qrels have no query in common; all judged queries are scored as empty rankings. Check "
            "that both are for the same collection and use the same query ids: the qrels have queries such as "
            f"{choices(rankings.judgments.qids[:3])}, the run has queries such as {choices(some_qids)}",
            key=f"{rankings.n_rows} {some_qids}",
            group="no query in common",
        )


def warn_of_no_common_document(rankings: Rankings, name: str = "the run") -> None:
    """Warn if none of the documents that `name` retrieves is judged for its query: ids may be spelt differently."""
    judgments, retrieved = rankings.judgments, rankings.some_documents
    n_retrieved = int(rankings.hits.n_ret.sum())
    if len(rankings.hits.row) or min(n_retrieved, len(judgments)) < _MIN_DOCUMENTS:
        return
    answered = rankings.hits.n_ret > 0
    judged = judgments.docnos[answered[judgments.pool_query]][:3]
    topics = number_of(int(answered.sum()), "judged topic")
    warn_once(
        f"{name}: none of the {n_retrieved} documents retrieved for {topics} is judged, so its values are those of "
        "a run that finds nothing. Check that the run and the qrels are for the same collection and use the same "
        "document ids: the qrels have documents such as "
        f"{choices(map(repr, judged))}, the run has documents such as {choices(map(repr, retrieved))}",
        key=f"{n_retrieved} {retrieved}",
        group="no judged document",
    )
