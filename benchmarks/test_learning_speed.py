"""The time of metrics and scores beside that of what they accompany.

Run with ``pytest benchmarks -s``. Both times come from one process, in CPU seconds, alternating, as
their minimum.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score

import pt_multiaspect as ma

ASPECTS = ma.Aspects({"relevance": 2, "credibility": 3})


def rows_of(n_queries: int, n_rows: int) -> tuple[Any, pd.DataFrame, Any]:
    """Return predictions, labels of two aspects, and queries."""
    rng = np.random.default_rng(0)
    n = n_queries * n_rows
    labels = pd.DataFrame(
        {"relevance": rng.integers(0, 3, n), "credibility": rng.integers(0, 4, n)}
    )
    return rng.normal(size=n), labels, np.repeat(np.arange(n_queries), n_rows)


def seconds(*calls: Callable[[], Any], repeats: int = 7) -> list[float]:
    """Return the minimum of the CPU time of each call."""
    least = [np.inf] * len(calls)
    for _ in range(repeats):
        for index, call in enumerate(calls):
            start = time.process_time()
            call()
            least[index] = min(least[index], time.process_time() - start)
    return least


@pytest.fixture(scope="module")
def iteration() -> float:
    """The CPU time of an iteration of lambdarank on 100 000 rows of 136 features, with one thread."""
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    rng = np.random.default_rng(0)
    features = rng.normal(size=(100_000, 136)).astype(np.float32)
    labels = np.clip(np.round(features[:, 0] + features[:, 1] + 1), 0, 4)
    params = {"objective": "lambdarank", "num_threads": 1, "verbose": -1}
    data = lightgbm.Dataset(features, labels, group=[100] * 1000, params=params).construct()
    booster = lightgbm.Booster(params, data)
    booster.update()
    return seconds(booster.update, repeats=5)[0]


@pytest.mark.parametrize(
    ("measure", "most"),
    [(ma.CAM(aspects=ASPECTS) @ 10, 0.03), (ma.CAM(aspects=ASPECTS), 0.10), (ma.TOMA(aspects=ASPECTS), 0.10),
     (ma.MM(aspects=ASPECTS, base="AP"), 0.10)],
    ids=str,
)  # fmt: skip
def test_a_metric_takes_a_small_share_of_an_iteration(
    measure: Any, most: float, iteration: float
) -> None:
    scores, labels, qid = rows_of(200, 100)
    metric = ma.metric_for("lightgbm", measure, labels, qid)
    training = labels["relevance"].to_numpy()
    (took,) = seconds(lambda: metric(training, scores), repeats=20)
    share = took / iteration
    print(
        f"\n{measure}: {1000 * took:.1f} ms of {1000 * iteration:.0f} ms, share {share:.3f} (at "
        f"most {most})"
    )
    assert share <= most


def test_ranking_score_takes_little_more_than_ndcg_score() -> None:
    scores, labels, qid = rows_of(1000, 100)
    relevance = labels["relevance"].to_numpy()
    measure = ma.On(aspect="relevance", aspects={"relevance": 2}) @ 10
    ours, sklearns = seconds(
        lambda: ma.ranking_score(labels, scores, qid=qid, measure=measure),
        lambda: ndcg_score(relevance.reshape(1000, 100), scores.reshape(1000, 100), k=10),
    )
    print(
        f"\nranking_score {1000 * ours:.0f} ms, ndcg_score {1000 * sklearns:.0f} ms, ratio "
        f"{ours / sklearns:.2f}"
    )
    assert ours <= 1.5 * sklearns


def test_ranking_score_of_a_million_rows_takes_less_than_ndcg_score() -> None:
    # With integer qids, and the default treatment of ties of both.
    scores, labels, qid = rows_of(10_000, 100)
    relevance = labels["relevance"].to_numpy()
    measure = ma.On(aspect="relevance", aspects={"relevance": 2})
    ours, sklearns = seconds(
        lambda: ma.ranking_score(relevance, scores, qid=qid, measure=measure),
        lambda: ndcg_score(relevance.reshape(-1, 100), scores.reshape(-1, 100)),
        repeats=3,
    )
    print(
        f"\nranking_score {1000 * ours:.0f} ms, ndcg_score {1000 * sklearns:.0f} ms, ratio "
        f"{ours / sklearns:.2f}"
    )
    assert ours <= 0.9 * sklearns


def test_four_measures_take_less_than_twice_one() -> None:
    scores, labels, qid = rows_of(1000, 100)
    labels = labels.set_axis(pd.Index(qid, name="qid"))

    class First:
        def predict(self, X: Any) -> Any:
            return X[:, 0]

    features = scores[:, None]
    cam = ma.CAM(aspects=ASPECTS) @ 10
    four = {"CAM": cam, "TOMA": ma.TOMA(aspects=ASPECTS) @ 10}
    four |= {name: ma.On(aspect=name, aspects=ASPECTS) @ 10 for name in labels}
    one, all_four = (ma.ranking_scorer(measures) for measures in (cam, four))
    single, together = seconds(
        lambda: one(First(), features, labels), lambda: all_four(First(), features, labels)
    )
    print(
        f"\none measure {1000 * single:.0f} ms, four {1000 * together:.0f} ms, ratio "
        f"{together / single:.2f}"
    )
    assert together < 2 * single
