"""The share of a grid search that scoring by a multi-aspect measure takes.

Run with ``pytest benchmarks -s``. Both times come from the same run, so that the machine's load
hits both.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

import pt_multiaspect as ma
from pt_multiaspect import TOMA

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

GRADES = ma.Aspects({"relevance": 2, "understandability": 3, "credibility": 2})
N_QUERIES, N_ROWS, N_FEATURES = 500, 100, 15


def ranking_data(seed: int = 0) -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    """Return features, labels of three aspects, and queries."""
    rng = np.random.default_rng(seed)
    n = N_QUERIES * N_ROWS
    features = rng.normal(size=(n, N_FEATURES))
    latent = (
        features[:, :3]
        + 0.3 * features[:, 3:6] * features[:, 6:9]
        + rng.normal(scale=0.7, size=(n, 3))
    )
    labels = pd.DataFrame(
        {
            "relevance": np.digitize(latent[:, 0], [1, 2]),
            "understandability": np.digitize(latent[:, 1] - 0.5 * latent[:, 0], [-0.5, 0.5, 1.5]),
            "credibility": np.digitize(latent[:, 2], [0, 1]),
        }
    )
    return features, labels, np.repeat(np.arange(N_QUERIES), N_ROWS)


def test_scoring_takes_a_small_share_of_a_grid_search() -> None:
    features, labels, qid = ranking_data()
    # 2 x 3 x 3 settings; the trees are few so that the benchmark ends within minutes. More of them,
    # as LightGBM's default of 100, cost fitting more than they cost predicting.
    grid = {
        "estimator__num_leaves": [15, 31],
        "estimator__learning_rate": [0.03, 0.1, 0.3],
        "target__distance": ["manhattan", "euclidean", "chebyshev"],
    }
    ranker = lightgbm.LGBMRanker(n_estimators=25, n_jobs=1, verbose=-1)
    start = time.perf_counter()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            ma.AspectRanker(ranker, target=TOMA(aspects=GRADES)),
            grid,
            scoring=ma.ranking_scorer(TOMA(aspects=GRADES) @ 10),
            cv=GroupKFold(5),
            n_jobs=2,
            refit=False,
            error_score="raise",
        ).fit(features, labels, qid=qid, groups=qid)
    elapsed = time.perf_counter() - start
    results = search.cv_results_
    assert len(results["params"]) == 18
    fit, score = 5 * results["mean_fit_time"].sum(), 5 * results["mean_score_time"].sum()
    share = score / (fit + score)
    print(
        f"\nGridSearchCV of 18 settings x 5 folds on {len(labels)} rows in {elapsed:.0f} s: "
        f"fitting {fit:.1f} s, scoring {score:.1f} s ({1000 * score / 90:.0f} ms a fold of 10000 "
        f"rows, with the prediction), share {share:.3f} (at most 0.10)"
    )
    assert share <= 0.10
