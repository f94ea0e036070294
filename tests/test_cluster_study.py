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
    """Fractions of false positives and of missed means, by kind of clusters and their correlation."""
    table = study.table(study.load(study.RESULTS))
    assert len(table) == 12  # rows such as "12 clusters, equal, 0.4"
    of_clusters = table[["difference", "mean"]]
    assert (of_clusters <= study.HIGHEST).all(axis=None)
    has_equal_sizes = table.index.str.contains("equal")
    assert (of_clusters[has_equal_sizes] >= study.LOWEST).all(axis=None)
    assert (table[["ranks", "prediction-powered"]] <= study.HIGHEST).all(axis=None)


def test_without_clusters_errors_are_too_many_where_topics_correlate(study: Any) -> None:
    table = study.table(study.load(study.RESULTS))
    columns = [column for column in table if "without clusters" in column]
    without_clusters = table[columns]
    has_correlation = table.index.str.endswith("0.4")  # the other rows have none
    assert (without_clusters[has_correlation] > 0.3).all(axis=None)
    assert (without_clusters[~has_correlation] < study.HIGHEST).all(axis=None)


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
        # Draws by topic; the first eight topics are the first cluster.
        first, second, of_next_cluster = scores[:, 0], scores[:, 1], scores[:, 8]
        within = np.corrcoef(first, second)[0, 1]
        between = np.corrcoef(first, of_next_cluster)[0, 1]
        assert within == pytest.approx(correlation, abs=0.03)
        assert between == pytest.approx(0, abs=0.03)
        assert scores.std() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("sizes", ["equal", "heavy-tailed"])
def test_tests_have_the_errors_of_the_study(study: Any, sizes: str) -> None:
    """`compare_with_baseline` has the levels that the study counts; each draw is a measure of one frame."""
    clusters = study.clusters_of_sizes(6, sizes)
    values = study.draw_values(clusters, 0.4, n_draws=40, seed=0)  # runs, draws, topics
    cluster_of_topic = {f"q{topic}": number for topic, number in enumerate(clusters.cluster)}
    with errors.silence_warnings():
        tests = compare_with_baseline(
            long(values), "run 1", correction=None, cluster=cluster_of_topic
        )
    tests = tests[tests["name"] == "run 0"]
    levels = study.levels_of_differences(values[0], values[1], clusters)
    assert tests["asl"].tolist() == pytest.approx(levels.tolist(), rel=1e-10)
    is_significant = levels < study.ALPHA
    assert 0 < is_significant.sum() < len(levels)
    assert tests["significant"].tolist() == is_significant.tolist()


@pytest.mark.parametrize("sizes", ["equal", "heavy-tailed"])
def test_intervals_have_the_errors_of_the_study(study: Any, sizes: str) -> None:
    """`aggregate` has the intervals whose misses the study counts; each draw is a measure of one frame."""
    clusters = study.clusters_of_sizes(6, sizes)
    values = study.draw_values(clusters, 0.4, n_draws=40, seed=0)  # runs, draws, topics
    cluster_of_topic = {f"q{topic}": number for topic, number in enumerate(clusters.cluster)}
    with errors.silence_warnings():
        means = ma.aggregate(long(values), ci=1 - study.ALPHA, cluster=cluster_of_topic)
    run = means.set_index("name").loc["run 0"]
    misses = []
    for draw in range(40):
        low, high = run[f"draw {draw} 95% low"], run[f"draw {draw} 95% high"]
        misses.append(not low <= study.TRUE_MEAN <= high)
    assert 0 < sum(misses) < 40
    assert misses == study.misses_of_means(values[0], clusters).tolist()


@pytest.mark.parametrize("sizes", ["equal", "heavy-tailed"])
def test_ranks_have_the_errors_of_the_study(study: Any, sizes: str) -> None:
    """All runs are equally good, so that an interval without one of the ranks is a miss."""
    clusters = study.clusters_of_sizes(6, sizes)
    values = study.draw_values(clusters, 0.4, n_draws=60, seed=0)
    n_runs, n_draws, _n_topics = values.shape
    cluster_of_topic = {f"q{topic}": number for topic, number in enumerate(clusters.cluster)}
    with errors.silence_warnings():
        table = ranks(
            long(values), alpha=study.ALPHA, n_resamples=10, cluster=cluster_of_topic
        ).table
    misses = study.misses_of_ranks(values, clusters)  # runs, draws
    assert 0 < misses.sum() < misses.size
    n_ranks = (table["high"] - table["low"] + 1).to_numpy()  # per draw, all runs
    n_ranks_by_run = n_ranks.reshape(n_draws, n_runs).T
    assert (n_ranks_by_run < n_runs).tolist() == misses.tolist()


def test_labels_of_the_study_overrate_further_topics_of_the_same_sizes(study: Any) -> None:
    """A model labels several times the human topics, in clusters of the same sizes."""
    clusters = study.clusters_of_sizes(6, "heavy-tailed")
    human, labels, clusters_of_labels = study.draw_judgments(clusters, 0.4, n_draws=500, seed=0)
    n_human = clusters.n_topics
    assert human.shape == (500, n_human)
    assert labels.shape == (500, study.LABELLED * n_human)
    human_clusters = clusters_of_labels.take(np.arange(n_human))
    assert human_clusters.sizes.tolist() == clusters.sizes.tolist()
    assert clusters_of_labels.sizes.tolist() == study.LABELLED * clusters.sizes.tolist()

    labels_of_human_topics = labels[:, :n_human]
    correlation = np.corrcoef(human.ravel(), labels_of_human_topics.ravel())[0, 1]
    assert correlation == pytest.approx(study.LABEL_CORRELATION, abs=0.05)
    assert human.mean() == pytest.approx(study.TRUE_MEAN, abs=0.02)
    assert labels.mean() > study.TRUE_MEAN + 0.1


def test_estimates_of_independent_topics_miss_the_mean_more_often(study: Any) -> None:
    clusters = study.clusters_of_sizes(6, "heavy-tailed")
    human, labels, clusters_of_labels = study.draw_judgments(clusters, 0.4, n_draws=500, seed=0)
    independent = Clusters.independent(clusters_of_labels.n_topics)
    misses = study.misses_of_estimates(human, labels, clusters_of_labels).mean()
    misses_of_independent = study.misses_of_estimates(human, labels, independent).mean()
    assert misses < study.LOWEST
    assert misses_of_independent > study.LOWEST


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
