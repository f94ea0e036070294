"""Synthetic collections for benchmarks."""

from __future__ import annotations

import numpy as np
import pandas as pd


def collection(
    n_queries: int = 1000, n_retrieved: int = 1000, n_judged: int = 100, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return qrels with three aspects and a run, in ir-measures' vocabulary; the run is in blocks, not ranked."""
    rng = np.random.default_rng(seed)
    numbers = np.concatenate(
        [rng.choice(10**7, n_retrieved, replace=False) for _ in range(n_queries)]
    )
    run = pd.DataFrame(
        {
            "query_id": np.repeat(np.arange(n_queries).astype(str), n_retrieved),
            "doc_id": [f"doc{number:07d}" for number in numbers],
            "score": rng.normal(size=len(numbers)),
        }
    )
    judged = np.concatenate(
        [
            query * n_retrieved + rng.choice(n_retrieved, n_judged, replace=False)
            for query in range(n_queries)
        ]
    )
    qrels = run.iloc[judged][["query_id", "doc_id"]].reset_index(drop=True)
    qrels["relevance"] = rng.integers(0, 3, len(qrels))
    qrels["understandability"] = rng.integers(0, 4, len(qrels))
    qrels["credibility"] = rng.integers(0, 3, len(qrels))
    return qrels, run


def ranked(run: pd.DataFrame) -> pd.DataFrame:
    """Return a run sorted by query and score, as in most files."""
    return run.sort_values(["query_id", "score"], ascending=[True, False], ignore_index=True)


def runs_of_a_track(n_runs: int) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Return qrels of 50 topics, and ranked runs of 1000 documents per topic."""
    qrels, run = collection(n_queries=50)
    rng = np.random.default_rng(1)
    return qrels, [ranked(run.assign(score=rng.normal(size=len(run)))) for _ in range(n_runs)]


def lines_of(run: pd.DataFrame) -> str:
    """Return the content of a TREC run file."""
    columns = zip(run["query_id"], run["doc_id"], run["score"].tolist(), strict=True)
    return "".join(
        f"{qid} Q0 {docno} {rank} {score!r} tag\n"
        for rank, (qid, docno, score) in enumerate(columns)
    )
