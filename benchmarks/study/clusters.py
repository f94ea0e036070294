"""False positives of tests and intervals, where topics belong together and runs do not differ.

``nice python -m benchmarks.study.clusters`` repeats it in a minute and writes ``clusters.json``.
Topics are drawn in clusters: 5 % of the tests at the level .05 should be significant, though runs
do not differ, and 5 % of the 95 % intervals should not contain the true mean.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from pt_multiaspect.analysis import prediction_powered
from pt_multiaspect.errors import silence_warnings
from pt_multiaspect.kernels.intervals import half_width
from pt_multiaspect.kernels.mean_errors import Clusters, standard_error, t_levels

from .coverage import long
from .report import load, save

RESULTS = Path(__file__).with_name("clusters.json")

ALPHA = 0.05

N_CLUSTERS = (6, 12, 30)

SIZES = ("equal", "heavy-tailed")

#: Correlations of the normal scores of two topics of a cluster.
CORRELATIONS = (0.0, 0.4)

#: The number of topics of each cluster, if they are equal.
SIZE = 8

#: The least size and the tail of the Pareto distribution of sizes that are not equal.
LEAST_SIZE, TAIL = 3, 1.2

#: The mean of all runs on all topics.
TRUE_MEAN = 0.5

N_RUNS = 5

#: The correlation of human values and labels, before labels are biased, and the bias.
LABEL_CORRELATION, BIAS = 0.8, 0.5

#: The number of topics that a model labels per topic that people judge.
LABELLED = 3

#: The fraction of the draws for which prediction-powered estimates are computed.
POWERED = 0.2

#: The largest fraction of errors, and for differences and means the least with equal sizes.
HIGHEST, LOWEST = 0.07, 0.03


def clusters_of_sizes(n_clusters: int, sizes: str) -> Clusters:
    """Return clusters of equal sizes, or of sizes that are quantiles of a Pareto distribution."""
    if sizes == "equal":
        n_topics = np.full(n_clusters, SIZE)
    else:
        rank = (np.arange(n_clusters) + 0.5) / n_clusters
        n_topics = np.rint(LEAST_SIZE * rank ** (-1 / TAIL)).astype(int)
    return Clusters.from_labels(np.repeat(np.arange(n_clusters), n_topics).tolist())


def draw_scores(
    clusters: Clusters, correlation: float, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draw normal scores of topics, … × topics, that correlate within clusters."""
    common = rng.normal(size=(*shape, len(clusters)))[..., clusters.cluster]
    own = rng.normal(size=(*shape, clusters.n_topics))
    return correlation**0.5 * common + (1 - correlation) ** 0.5 * own


def draw_values(clusters: Clusters, correlation: float, n_draws: int, seed: int) -> np.ndarray:
    """Draw values in [0, 1] of runs that do not differ, runs × draws × topics."""
    scores = draw_scores(clusters, correlation, (N_RUNS, n_draws), np.random.default_rng(seed))
    return np.asarray(ndtr(scores))


def levels_of_differences(first: np.ndarray, second: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Return the level of the paired t-test of each draw, given values of two runs, draws × topics."""
    differences = first - second
    errors = standard_error(differences, clusters)
    return t_levels(differences.mean(axis=1), errors, clusters.freedom)


def misses_of_means(values: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Return whether the interval of each draw does not contain the true mean, given values, draws × topics."""
    half = half_width(values, 1 - ALPHA, clusters)
    return np.asarray(np.abs(values.mean(axis=1) - TRUE_MEAN) > half)


def misses_of_ranks(values: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Return whether the ranks of each run and draw exclude any, though all runs are equal, runs × draws."""
    n_runs = len(values)
    misses = np.zeros(values.shape[:2], dtype=bool)
    for first, second in combinations(range(n_runs), 2):
        levels = levels_of_differences(values[first], values[second], clusters)
        misses[[first, second]] |= levels < ALPHA / (n_runs - 1)
    return misses


def draw_judgments(
    clusters: Clusters, correlation: float, n_draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray, Clusters]:
    """Draw values by human judgments, and by the labels of a model who overrates.

    Returns
    -------
    human : ndarray, draws × human topics
        The values on the topics of the clusters.
    labels : ndarray, draws × topics
        The values on these, and on those of further clusters of the same sizes.
    labelled : Clusters
        The clusters of the topics with labels.
    """
    copies = np.arange(LABELLED)[:, None] * len(clusters)
    labelled = Clusters.from_labels((copies + clusters.cluster).ravel().tolist())
    scores, errors = draw_scores(labelled, correlation, (2, n_draws), np.random.default_rng(seed))
    of_labels = LABEL_CORRELATION * scores + (1 - LABEL_CORRELATION**2) ** 0.5 * errors
    return ndtr(scores[:, : clusters.n_topics]), ndtr(of_labels + BIAS), labelled


def misses_of_estimates(human: np.ndarray, labels: np.ndarray, labelled: Clusters) -> np.ndarray:
    """Return whether the prediction-powered interval of each draw does not contain the true mean.

    The parameters are what `draw_judgments` returns.
    """
    with silence_warnings():
        found = prediction_powered(
            long(human[None]), long(labels[None]), cluster=dict(enumerate(labelled.cluster))
        )
    low, high = found.table["low"].to_numpy(), found.table["high"].to_numpy()
    return np.asarray((low > TRUE_MEAN) | (high < TRUE_MEAN))


def errors_of_setting(
    clusters: Clusters, correlation: float, n_draws: int, seed: int
) -> dict[str, float]:
    """Return the fractions of errors of each statistic."""
    values = draw_values(clusters, correlation, n_draws, seed)
    first, second = values[:2]
    judgments = draw_judgments(clusters, correlation, round(POWERED * n_draws), seed)
    independent = Clusters.independent(clusters.n_topics)
    errors = {
        "difference": levels_of_differences(first, second, clusters) < ALPHA,
        "mean": misses_of_means(first, clusters),
        "ranks": misses_of_ranks(values, clusters),
        "prediction-powered": misses_of_estimates(*judgments),
        "difference without clusters": levels_of_differences(first, second, independent) < ALPHA,
        "mean without clusters": misses_of_means(first, independent),
    }
    return {statistic: float(is_error.mean()) for statistic, is_error in errors.items()}


def study(n_seeds: int, n_draws: int) -> dict[str, dict[str, float]]:
    """Return the fractions of errors of each setting, with its number of topics and degrees of freedom."""
    rows = {}
    for sizes, correlation, n_clusters in product(SIZES, CORRELATIONS, N_CLUSTERS):
        clusters = clusters_of_sizes(n_clusters, sizes)
        by_seed = [
            errors_of_setting(clusters, correlation, n_draws, seed) for seed in range(n_seeds)
        ]
        errors = pd.DataFrame(by_seed).mean().round(4).to_dict()
        setting = f"{n_clusters} clusters, {sizes} sizes, correlation {correlation:g}"
        rows[setting] = {
            "topics": clusters.n_topics,
            "freedom": round(clusters.freedom, 2),
            **errors,
        }
    return rows


def table(results: dict[str, Any]) -> pd.DataFrame:
    """Return the stored results, one row per setting."""
    return pd.DataFrame(results["settings"]).T


def main() -> None:
    """Run the study, write its results and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds")
    parser.add_argument("--draws", type=int, default=2000, help="number of draws per seed")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    start = time.process_time()
    about = {
        "command": "python -m benchmarks.study.clusters",
        "seeds": given.seeds,
        "draws": given.draws,
    }
    save({"about": about, "settings": study(given.seeds, given.draws)}, given.out)
    print(table(load(given.out)).to_string())
    print(f"{time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
