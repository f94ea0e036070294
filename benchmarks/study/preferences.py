"""Coverage of the agreement of measures with preferences, and of the weights that preferences allow.

``nice python -m benchmarks.study.preferences`` repeats it in two minutes and writes ``preferences.json``. Simulated
users compare runs of CLEF eHealth 2015 and 2018 on topics that are drawn with replacement, so that the truth is
known: they prefer the higher weighted sum of nDCG@10 on the aspects, the surer the larger the difference.
"""

from __future__ import annotations

import argparse
import os
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import pt_multiaspect as ma
from pt_multiaspect.analysis.fitted_weights import simplex_points
from pt_multiaspect.kernels.preference_weights import weighting_levels
from pt_multiaspect.kernels.preferences import agreement_interval

from .report import load, save
from .worlds import FILES_2015, FILES_2018, SCALES_2015, SCALES_2018, judged_runs

RESULTS = Path(__file__).with_name("preferences.json")

#: Numbers of topics, of pairs of runs on each, and of assessors who all compare these.
SIZES = ((10, 8, 1), (20, 4, 1), (20, 4, 5), (50, 4, 1))

#: The weights of users, by the number of aspects.
WEIGHTS = {
    2: ((0.5, 0.5), (0.7, 0.3), (0.9, 0.1)),
    3: ((1 / 3, 1 / 3, 1 / 3), (0.5, 0.4, 0.1), (0.8, 0.1, 0.1)),
}

#: The fraction of preferences in which users agree with their own weights.
RIGHT = 0.8

#: The number of draws, and of weightings, from which the size of a confidence set is estimated.
N_SETS, N_POINTS = 100, 256


def differences(data: Path, folder: str, files: dict[str, str], aspects: ma.Aspects) -> np.ndarray:
    """Return the differences of all pairs of runs on the aspects, topics × pairs × aspects."""
    ranked, qrels = judged_runs(data / folder, files)
    runs = {str(name): part for name, part in ranked.groupby("name")}
    measures = {name: ma.On(aspect=name, base="nDCG@10", aspects=aspects) for name in aspects}
    values = ma.evaluate(runs, qrels, measures, progress=False)
    table = values.pivot(index="name", columns=["qid", "measure"], values="value").to_numpy()
    table = table.reshape(len(runs), -1, len(measures))
    first, second = np.transpose(list(combinations(range(len(runs)), 2)))
    return np.asarray((table[first] - table[second]).transpose(1, 0, 2))


def scale_of(sums: np.ndarray) -> float:
    """Return the scale of the logistic errors with which users agree with their own weights in `RIGHT`."""
    sums = np.abs(sums[sums != 0])
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        scale = (low + high) / 2
        low, high = (scale, high) if expit(sums / scale).mean() > RIGHT else (low, scale)
    return high


def coverages(pairs: np.ndarray, weights: np.ndarray, size: tuple[int, int, int], n_draws: int) -> dict[str, Any]:
    """Return how often intervals contain the agreement of each aspect and of CAM, and sets the weights of users.

    Parameters
    ----------
    pairs : ndarray
        The result of `differences`.
    weights : ndarray of float
        The weights of users.
    size : tuple of int
        One of `SIZES`.
    n_draws : int
        The number of draws of topics, pairs and preferences.
    """
    n_topics, n_pairs, n_assessors = size
    rng = np.random.default_rng(0)
    scale = scale_of(pairs @ weights)
    measures = np.sign(np.concatenate([pairs, pairs.mean(axis=2, keepdims=True)], axis=2).round(12))
    likely = expit(pairs @ weights / scale)[:, :, None]
    truth = ((1 + measures * (2 * likely - 1)) / 2).mean(axis=(0, 1))
    topic = rng.integers(len(pairs), size=(n_draws, n_topics, 1))
    pair = rng.integers(pairs.shape[1], size=(n_draws, n_topics, n_pairs)).repeat(n_assessors, axis=2)
    drawn = pairs[topic, pair]
    sign = np.where(rng.random(pair.shape) < expit(drawn @ weights / scale), 1, -1)
    credits = (1 + measures[topic, pair] * sign[..., None]) / 2
    sums, counts = credits.sum(axis=2), np.full(n_topics, float(pair.shape[2]))
    by_topic = [agreement_interval(rows, counts, 0.95) for rows in sums]
    alone = [agreement_interval(rows.reshape(-1, len(truth)), np.ones(rows[..., 0].size), 0.95) for rows in credits]
    code = np.arange(n_topics).repeat(pair.shape[2])

    def fraction_allowed(points: np.ndarray, first: int) -> float:
        """Return the fraction of weightings, and of the first draws, that the preferences do not reject."""
        levels = [
            weighting_levels(points, rows.reshape(len(code), -1), signs.reshape(-1), code)
            for rows, signs in zip(drawn[:first], sign[:first], strict=True)
        ]
        return float((np.array(levels) >= 0.05).mean())

    return {
        "agreement": _coverage(by_topic, truth),
        "independent": _coverage(alone, truth),
        "weights": fraction_allowed(weights[None], n_draws),
        "size": fraction_allowed(simplex_points(N_POINTS, len(weights), seed=0), N_SETS),
    }


def _coverage(intervals: list[tuple[np.ndarray, ...]], truth: np.ndarray) -> list[float]:
    """Return the coverage of the agreement of each measure."""
    covered = [(low <= truth) & (truth <= high) for _, low, high in intervals]
    return [round(share, 4) for share in np.mean(covered, axis=0).tolist()]


def study(data: Path, folder: str, files: dict[str, str], aspects: ma.Aspects, n_draws: int) -> dict[str, Any]:
    """Return the coverages by size and by the weights of users."""
    pairs = differences(data, folder, files, aspects)
    return {
        " × ".join(map(str, size)): {
            " ".join(f"{weight:.2g}" for weight in weights): coverages(pairs, np.array(weights), size, n_draws)
            for weights in WEIGHTS[len(aspects)]
        }
        for size in SIZES
    }


def table(results: dict[str, Any]) -> list[str]:
    """Return the rows of the table of the page *What do my users prefer*: extremes over weights and measures."""
    rows = []
    for size in SIZES:
        cells = []
        for figure in ("agreement", "independent", "weights", "size"):
            by_year = []
            for year in ("2018", "2015"):
                found = results[year][" × ".join(map(str, size))].values()
                values = np.concatenate([np.ravel(figures[figure]) for figures in found])
                by_year.append(f"{values.min():.2f} to {values.max():.2f}".replace("0.", "."))
            cells.append(" / ".join(by_year))
        rows.append(f"| {' | '.join([*map(str, size), *cells])} |")
    return rows


def main() -> None:
    """Run the study, write its results and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("PT_MULTIASPECT_SHARED", "../shared"))
    parser.add_argument("--data", type=Path, default=shared / "data", help="the folder with clef2015 and clef2018")
    parser.add_argument("--draws", type=int, default=1000, help="number of draws of topics and preferences")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    with ma.errors.silence_warnings():
        results = {
            "about": {"command": "python -m benchmarks.study.preferences", "draws": given.draws, "right": RIGHT},
            "2015": study(given.data, "clef2015", FILES_2015, SCALES_2015, given.draws),
            "2018": study(given.data, "clef2018", FILES_2018, SCALES_2018, given.draws),
        }
    save(results, given.out)
    print("\n".join(table(load(given.out))))


if __name__ == "__main__":
    main()
