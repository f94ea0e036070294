"""The study of errors where topics belong together: its results stay within limits, and functions give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import errors
from pt_multiaspect.analysis import compare_with_baseline, ranks
from pt_multiaspect.kernels.mean_errors import Clusters


@pytest.fixture(scope="module")
def study(study_module: Callable[[str], Any]) -> Any:
    return study_module("clusters")


def test_errors_are_within_the_limits(study: Any) -> None:
    table = study.table(study.load(study.RESULTS))
    assert len(table) == 12
    clustered, independent = table[["difference", "mean"]], table.filter(like="without clusters")
    assert (clustered <= study.HIGHEST).all(axis=None)
    assert (clustered[table.index.str.contains("equal")] >= study.LOWEST).all(axis=None)
    assert (table[["ranks", "prediction-powered"]] <= study.HIGHEST).all(axis=None)
    correlates = table.index.str.endswith("0.4")
    assert (independent[correlates] > 0.3).all(axis=None)
    assert (independent[~correlates] < study.HIGHEST).all(axis=None)


@pytest.mark.parametrize(
    ("n_clusters", "sizes", "correlation"), [(6, "equal", 0.4), (12, "heavy-tailed", 0)]
)
def test_the_study_repeats_its_results(
    study: Any, n_clusters: int, sizes: str, correlation: float
) -> None:
    clusters = study.clusters_of_sizes(n_clusters, sizes)
    again = pd.Series(study.errors_of_setting(clusters, correlation, n_draws=2000, seed=0))
    recorded = study.table(study.load(study.RESULTS)).loc[
        f"{n_clusters} clusters, {sizes} sizes, correlation {correlation:g}"
    ]
    assert (recorded["topics"], recorded["freedom"]) == (
        clusters.n_topics,
        round(clusters.freedom, 2),
    )
    np.testing.assert_allclose(again, recorded[again.index], atol=0.03)


def test_scores_correlate_within_clusters(study: Any) -> None:
    clusters = study.clusters_of_sizes(12, "equal")
    assert (clusters.n_topics, len(clusters)) == (96, 12)
    for correlation in study.CORRELATIONS:
        scores = study.draw_scores(clusters, correlation, (20_000,), np.random.default_rng(0))
        found = np.corrcoef(scores[:, [0, 1, 8]].T)
        assert found[0, 1] == pytest.approx(correlation, abs=0.03)
        assert found[0, 2] == pytest.approx(0, abs=0.03)
        assert scores.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("sizes", ["equal", "heavy-tailed"])
def test_functions_have_the_errors_of_the_study(study: Any, sizes: str) -> None:
    """Each draw is a measure of one frame."""
    clusters = study.clusters_of_sizes(6, sizes)
    values = study.draw_values(clusters, 0.4, n_draws=40, seed=0)
    frame, cluster_of_topic = (
        long(values),
        {f"q{topic}": number for topic, number in enumerate(clusters.cluster)},
    )
    with errors.silence_warnings():
        tests = compare_with_baseline(frame, "run 1", correction=None, cluster=cluster_of_topic)
        means = ma.aggregate(frame, ci=1 - study.ALPHA, cluster=cluster_of_topic).set_index("name")
    levels = study.levels_of_differences(values[0], values[1], clusters)
    tests = tests[tests["name"] == "run 0"]
    assert tests["asl"].tolist() == pytest.approx(levels.tolist(), rel=1e-10)
    is_significant = levels < study.ALPHA
    assert 0 < is_significant.sum() < len(levels)
    assert tests["significant"].tolist() == is_significant.tolist()
    lows, highs = (
        means.filter(regex=f"95% {end}").loc["run 0"].to_numpy() for end in ("low", "high")
    )
    misses = (lows > study.TRUE_MEAN) | (highs < study.TRUE_MEAN)
    assert 0 < misses.sum() < len(misses)
    assert misses.tolist() == study.misses_of_means(values[0], clusters).tolist()


@pytest.mark.parametrize("sizes", ["equal", "heavy-tailed"])
def test_ranks_have_the_errors_of_the_study(study: Any, sizes: str) -> None:
    clusters = study.clusters_of_sizes(6, sizes)
    values = study.draw_values(clusters, 0.4, n_draws=60, seed=0)
    cluster_of_topic = {f"q{topic}": number for topic, number in enumerate(clusters.cluster)}
    with errors.silence_warnings():
        table = ranks(
            long(values), alpha=study.ALPHA, n_resamples=10, cluster=cluster_of_topic
        ).table
    n_ranks = (table["high"] - table["low"] + 1).to_numpy().reshape(values.shape[1::-1]).T
    misses = study.misses_of_ranks(values, clusters)
    assert 0 < misses.sum() < misses.size
    assert (n_ranks < len(values)).tolist() == misses.tolist()


def test_labels_of_the_study_overrate_further_topics_of_the_same_sizes(study: Any) -> None:
    clusters = study.clusters_of_sizes(6, "heavy-tailed")
    human, labels, labelled = study.draw_judgments(clusters, 0.4, n_draws=500, seed=0)
    n_human = clusters.n_topics
    assert human.shape == (500, n_human)
    assert labels.shape == (500, study.LABELLED * n_human)
    assert labelled.take(np.arange(n_human)).sizes.tolist() == clusters.sizes.tolist()
    assert labelled.sizes.tolist() == study.LABELLED * clusters.sizes.tolist()
    found = np.corrcoef(human.ravel(), labels[:, :n_human].ravel())[0, 1]
    assert found == pytest.approx(study.LABEL_CORRELATION, abs=0.05)
    assert human.mean() == pytest.approx(study.TRUE_MEAN, abs=0.02)
    assert labels.mean() > study.TRUE_MEAN + 0.1
    independent = Clusters.independent(labelled.n_topics)
    misses = study.misses_of_estimates(human, labels, labelled)
    assert (
        misses.mean() < study.LOWEST < study.misses_of_estimates(human, labels, independent).mean()
    )


def long(values: np.ndarray) -> pd.DataFrame:
    """Return the long frame of values, runs × draws × topics."""
    n_runs, n_draws, n_topics = values.shape
    index = pd.MultiIndex.from_product(
        [
            [f"run {run}" for run in range(n_runs)],
            [f"draw {draw}" for draw in range(n_draws)],
            [f"q{topic}" for topic in range(n_topics)],
        ],
        names=["name", "measure", "qid"],
    )
    return pd.Series(values.ravel(), index, name="value").reset_index()
