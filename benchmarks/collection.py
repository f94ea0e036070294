"""A synthetic collection for benchmarks: 1000 queries x 1000 documents, 100 of them judged."""

from __future__ import annotations

import numpy as np
import pandas as pd


def collection(
    n_queries: int = 1000, n_retrieved: int = 1000, n_judged: int = 100, seed: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return qrels with three aspects and a run, in ir-measures' vocabulary."""
    rng = np.random.default_rng(seed)
    numbers = np.concatenate([rng.choice(10**7, n_retrieved, replace=False) for _ in range(n_queries)])
    run = pd.DataFrame(
        {
            "query_id": np.repeat(np.arange(n_queries).astype(str), n_retrieved),
            "doc_id": [f"doc{number:07d}" for number in numbers],
            "score": rng.normal(size=len(numbers)),
        }
    )
    judged = np.concatenate(
        [query * n_retrieved + rng.choice(n_retrieved, n_judged, replace=False) for query in range(n_queries)]
    )
    qrels = run.iloc[judged][["query_id", "doc_id"]].reset_index(drop=True)
    qrels["relevance"] = rng.integers(0, 3, len(qrels))
    qrels["understandability"] = rng.integers(0, 4, len(qrels))
    qrels["credibility"] = rng.integers(0, 3, len(qrels))
    return qrels, run
