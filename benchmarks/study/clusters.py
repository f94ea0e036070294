"""False positives of tests and intervals, where topics belong together and runs do not differ.

``nice python -m benchmarks.study.clusters`` repeats it in a minute and writes ``clusters.json``. Topics are drawn
in clusters: 5 % of the tests at the level .05 should be significant, though runs do not differ, and 5 % of the
95 % intervals should not contain the true mean.
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

from pt_multiaspect.kernels.intervals import half_width
from pt_multiaspect.kernels.mean_errors import Clusters, standard_error, t_levels

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

#: The largest fraction of errors, and the least with equal sizes, except for ranks, which are conservative.
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


def errors_of_setting(clusters: Clusters, correlation: float, n_draws: int, seed: int) -> dict[str, float]:
    """Return the fractions of errors of each statistic."""
    values = draw_values(clusters, correlation, n_draws, seed)
    first, second = values[:2]
    independent = Clusters.independent(clusters.n_topics)
    errors = {
        "difference": levels_of_differences(first, second, clusters) < ALPHA,
        "mean": misses_of_means(first, clusters),
        "ranks": misses_of_ranks(values, clusters),
        "difference without clusters": levels_of_differences(first, second, independent) < ALPHA,
        "mean without clusters": misses_of_means(first, independent),
    }
    return {statistic: float(is_error.mean()) for statistic, is_error in errors.items()}


def study(n_seeds: int, n_draws: int) -> dict[str, dict[str, float]]:
    """Return the fractions of errors of each setting, with its number of topics and degrees of freedom."""
    rows = {}
    for sizes, correlation, n_clusters in product(SIZES, CORRELATIONS, N_CLUSTERS):
        clusters = clusters_of_sizes(n_clusters, sizes)
        by_seed = [errors_of_setting(clusters, correlation, n_draws, seed) for seed in range(n_seeds)]
        errors = pd.DataFrame(by_seed).mean().round(4).to_dict()
        setting = f"{n_clusters} clusters, {sizes} sizes, correlation {correlation:g}"
        rows[setting] = {"topics": clusters.n_topics, "freedom": round(clusters.freedom, 2), **errors}
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
    about = {"command": "python -m benchmarks.study.clusters", "seeds": given.seeds, "draws": given.draws}
    save({"about": about, "settings": study(given.seeds, given.draws)}, given.out)
    print(table(load(given.out)).to_string())
    print(f"{time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
