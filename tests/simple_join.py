"""The join of a run and judgments, row by row: slow, and easy to check by reading."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Row = tuple[str, str, float]


def simple_rankings(rows: Iterable[Row], judged_queries: Iterable[str]) -> dict[str, list[str]]:
    """The documents of each judged query by rank, as trec_eval sorts them."""
    scores: dict[str, dict[str, float]] = {qid: {} for qid in judged_queries}
    for qid, docno, score in rows:
        if qid in scores:
            with np.errstate(over="ignore"):
                scores[qid][docno] = float(np.float32(score))  # the last score counts

    def key(item: tuple[str, float]) -> tuple[float, bytes]:
        docno, score = item
        return score, docno.encode("utf-8", "surrogatepass")

    return {
        qid: [docno for docno, _ in sorted(documents.items(), key=key, reverse=True)]
        for qid, documents in scores.items()
    }


def simple_hits(
    rows: Iterable[Row], judged: Iterable[tuple[str, str]]
) -> list[tuple[str, int, str]]:
    """The query, rank and document of each judged document of a run, by query and rank."""
    pool = set(judged)
    rankings = simple_rankings(rows, {qid for qid, _ in pool})
    return [
        (qid, rank, docno)
        for qid in sorted(rankings)
        for rank, docno in enumerate(rankings[qid], 1)
        if (qid, docno) in pool
    ]
