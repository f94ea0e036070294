"""Coverage of the mean by human judgments by intervals: prediction-powered, of human topics, of labels alone.

``nice python -m benchmarks.study.coverage`` repeats it in a few minutes and writes
``coverage.json``. The runs and judgments are those of CLEF eHealth 2015: a simulated judge, who
overrates, labels all documents, humans those of a few topics. All topics are drawn with replacement
from the 66, so that the mean over these is the truth.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pt_multiaspect as ma
from pt_multiaspect.analysis.prediction_powered import PredictionPowered

from .report import load, save
from .worlds import FILES_2015, SCALES_2015, judged_runs

RESULTS = Path(__file__).with_name("coverage.json")

MEASURES = {
    "CAM@10": ma.CAM(aspects=SCALES_2015) @ 10,
    "nDCG@10": ma.On(aspects=SCALES_2015, base="nDCG") @ 10,
}

#: Numbers of human topics.
N_HUMAN = (6, 12, 20)

#: Fractions of the grades that the judge raises and lowers by one, if there is a higher or lower
#: one.
RAISED, LOWERED = 0.25, 0.10

#: Interval -> columns of its ends.
INTERVALS = {
    "prediction-powered": ("low", "high"),
    "human alone": ("human_low", "human_high"),
    "labels alone": ("model_low", "model_high"),
}

#: Parameters of beta distributions, from no skewness to that of runs which find nothing for most
#: topics.
SKEWED = ((2, 2), (2, 5), (1, 3), (1, 8), (0.5, 4.5))

#: Correlations of human values and labels over topics.
CORRELATIONS = (0.5, 0.8, 0.9)

#: The slope of human values on labels in plans of power.
SLOPE = 0.7

#: Tables leave out runs with a value of 0 on more topics: no t interval covers the mean of such
#: values.
MOST_ZEROS = 0.5


def overrated(qrels: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the labels of a judge who errs on each label independently."""
    rng = np.random.default_rng(seed)
    labels = {}
    for name, aspect in SCALES_2015.items():
        chance = rng.random(len(qrels))
        error = (chance < RAISED).astype(int) - (chance >= 1 - LOWERED)
        labels[name] = (qrels[name] + error).clip(0, max(aspect.scale.grades))
    return qrels.assign(**labels)


def values_of(runs: dict[str, pd.DataFrame], qrels: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the values of each measure, runs × topics."""
    values = ma.evaluate(runs, qrels, MEASURES, progress=False)
    return {
        str(label): part.pivot(index="name", columns="qid", values="value")
        .loc[list(runs)]
        .to_numpy()
        for label, part in values.groupby("measure", sort=False)
    }


def intervals(
    human: np.ndarray, model: np.ndarray, n: int, n_draws: int, seed: int
) -> pd.DataFrame:
    """Return the intervals of all draws, runs × draws, of which each is a run to `prediction_powered`.

    Parameters
    ----------
    human, model : ndarray, runs × topics
        The values by human judgments and by the judge's.
    n : int
        The number of human topics of each draw. The further topics are as many as the collection
        has, less n.
    n_draws, seed : int
        The number of draws, and their seed.

    Returns
    -------
    DataFrame
        The result of `prediction_powered`.
    """
    n_topics = human.shape[1]
    topics = np.random.default_rng(seed).integers(n_topics, size=(n_draws, n_topics))
    frames = [long(human[:, topics[:, :n]]), long(model[:, topics])]
    return ma.analysis.prediction_powered(*frames).table


def long(values: np.ndarray) -> pd.DataFrame:
    """Return the long frame of values, runs × draws × topics, whose names are numbers."""
    n_names, n_topics = values.shape[0] * values.shape[1], values.shape[2]
    return pd.DataFrame(
        {
            "name": np.repeat(np.arange(n_names), n_topics),
            "qid": np.tile(np.arange(n_topics), n_names),
            "measure": "value",
            "value": values.ravel(),
        }
    )


def study(data: Path, n_judges: int, n_draws: int) -> dict[str, Any]:
    """Return coverage and mean width by statistic, measure, number of human topics, interval and run."""
    ranked, qrels = judged_runs(data / "clef2015", FILES_2015)
    runs = {str(name): part for name, part in ranked.groupby("name")}
    human = values_of(runs, qrels)
    found: dict[str, Any] = {}
    for judge in range(n_judges):
        model = values_of(runs, overrated(qrels, judge))
        for label in MEASURES:
            for statistic in ("mean", "difference"):
                few, many = human[label], model[label]
                if statistic == "difference":  # from the first run
                    few, many = (values[1:] - values[0] for values in (few, many))
                for n in N_HUMAN:
                    table = intervals(few, many, n, n_draws, seed=1000 * judge + n)
                    rows = (
                        found.setdefault(statistic, {}).setdefault(label, {}).setdefault(str(n), {})
                    )
                    for interval, ends in INTERVALS.items():
                        low, high = (
                            table[end].to_numpy().reshape(len(few), n_draws) for end in ends
                        )
                        truth = few.mean(axis=1, keepdims=True)
                        covered = ((low <= truth) & (truth <= high)).mean(axis=1)
                        sums = rows.setdefault(interval, {"coverage": 0.0, "width": 0.0})
                        sums["coverage"] += covered / n_judges
                        sums["width"] += (high - low).mean(axis=1) / n_judges
    zeros = {label: (values == 0).mean(axis=1).tolist() for label, values in human.items()}
    return {"runs": list(runs), "zeros": zeros, "intervals": _listed(found)}


def coverage_of_skewed_values(
    n_draws: int, correlations: tuple[float, ...] = CORRELATIONS
) -> pd.DataFrame:
    """Return the coverage for values of a beta distribution on 66 topics, without the judgments of a collection.

    Parameters
    ----------
    n_draws : int
        The number of draws.
    correlations : tuple of float
        The correlations of human values and labels, before labels are limited to [0, 1].

    Returns
    -------
    DataFrame
        One row per distribution, correlation and number of human topics: ``a b skewness
        correlation``, ``human topics``, and the fractions of the prediction-powered intervals and
        of those of human topics alone that contain the mean.
    """
    rows = []
    for a, b in SKEWED:
        rng = np.random.default_rng(0)
        human, errors = rng.beta(a, b, (n_draws, 66)), rng.normal(size=(n_draws, 66))
        spread = (a * b / (a + b + 1)) ** 0.5 / (a + b)
        skewness = 2 * (b - a) * (a + b + 1) ** 0.5 / ((a + b + 2) * (a * b) ** 0.5)
        for correlation in correlations:
            noise = 0.8 * (1 / correlation**2 - 1) ** 0.5 * spread
            model = np.clip(0.15 + 0.8 * human + noise * errors, 0, 1)
            for n in (4, *N_HUMAN):
                found = ma.analysis.prediction_powered(
                    long(human[None, :, :n]), long(model[None])
                ).table
                row = {
                    "a": a,
                    "b": b,
                    "skewness": skewness,
                    "correlation": correlation,
                    "human topics": n,
                }
                for interval, (low, high) in list(INTERVALS.items())[:2]:
                    row[interval] = (
                        (found[low] <= a / (a + b)) & (found[high] >= a / (a + b))
                    ).mean()
                rows.append(row)
    return pd.DataFrame(rows)


def usefulness_of_labels(n_draws: int) -> pd.DataFrame:
    """Return from which correlation on labels help, for normal values with 100 further topics.

    Parameters
    ----------
    n_draws : int
        The number of draws.

    Returns
    -------
    DataFrame
        One row per number of human topics: the correlations from which the root mean square error
        is lower, and the mean interval narrower than those of human topics alone; the ratio of
        these widths for a correlation of 0; that of the median width to the median width by PPI++;
        and the ratio of the error for a correlation of .9 to that by PPI++.
    """
    rows = []
    grid = np.linspace(0, 0.9, 10)
    for n in (4, *N_HUMAN):
        rng = np.random.default_rng(0)
        labels, errors = rng.normal(size=(n_draws, n + 100)), rng.normal(size=(n_draws, n))
        ratios = {"error": [], "width": [], "width, PPI++": [], "error, PPI++": []}
        for correlation in grid:
            human = correlation * labels[:, :n] + (1 - correlation**2) ** 0.5 * errors
            found = ma.analysis.prediction_powered(long(human[None]), long(labels[None])).table
            estimate, half = ppi_plus_plus(human, labels[:, :n], labels[:, n:])
            width, alone = found["high"] - found["low"], found["human_high"] - found["human_low"]
            error = (found["estimate"] ** 2).mean()  # the mean is 0
            ratios["error"].append((error / (found["human"] ** 2).mean()) ** 0.5)
            ratios["error, PPI++"].append((error / (estimate**2).mean()) ** 0.5)
            ratios["width"].append(width.mean() / alone.mean())
            ratios["width, PPI++"].append(width.median() / np.median(2 * half))
        rows.append(
            {
                "human topics": n,
                "error lower from": float(np.interp(-1, -np.array(ratios["error"]), grid)),
                "interval narrower from": float(np.interp(-1, -np.array(ratios["width"]), grid)),
                "width at 0": ratios["width"][0],
                "width at 0, of PPI++": ratios["width, PPI++"][0],
                "error at .9, of PPI++": ratios["error, PPI++"][-1],
            }
        )
    return pd.DataFrame(rows)


def ppi_plus_plus(
    human: np.ndarray, labels: np.ndarray, further: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimates by PPI++, and half the widths of their intervals with n − 2 degrees of freedom.

    Parameters
    ----------
    human, labels : ndarray, draws × human topics
        The values by human judgments and by labels.
    further : ndarray, draws × further topics
        The values by labels on the other topics.
    """
    from scipy.special import stdtrit

    n, n_further = human.shape[1], further.shape[1]
    every = np.concatenate([labels, further], axis=1)
    products = (human - human.mean(axis=1, keepdims=True)) * (
        labels - labels.mean(axis=1, keepdims=True)
    )
    weight = (products.mean(axis=1) / ((1 + n / n_further) * every.var(axis=1, ddof=1))).clip(0, 1)
    residuals = human - weight[:, None] * labels
    variance = weight**2 * further.var(axis=1, ddof=1) / n_further + residuals.var(axis=1) / (n - 2)
    return residuals.mean(axis=1) + weight * further.mean(axis=1), stdtrit(
        n - 2, 0.975
    ) * variance**0.5


def power_of_plans(n_draws: int) -> pd.DataFrame:
    """Return the power of plans by `human_topics`, for normal values of known deviation and correlation.

    Parameters
    ----------
    n_draws : int
        The number of draws.

    Returns
    -------
    DataFrame
        One row per number of topics, of human topics and correlation: the smallest difference for
        which as many human topics are planned with a power of .5 and .8, and the fraction of
        intervals that exclude 0. These are the powers of whole numbers of topics: other differences
        are found more often than intended.
    """
    rows = []
    for n_topics in (12, 30, 100):
        for n in (size for size in (4, *N_HUMAN) if size < n_topics):
            rng = np.random.default_rng(0)
            normal, errors = rng.normal(size=(n_draws, n_topics)), rng.normal(size=(n_draws, n))
            for correlation in (0.6, 0.8, 0.95):
                labels = normal * correlation / SLOPE
                error = (1 - correlation**2) ** 0.5
                row = {"topics": n_topics, "human topics": n, "correlation": correlation}
                for power in (0.5, 0.8):
                    difference = smallest_difference(error, n, n_topics, power)
                    human = difference + SLOPE * labels[:, :n] + error * errors
                    found = ma.analysis.prediction_powered(
                        long(human[None]), long(labels[None])
                    ).table
                    row[f"difference, {power}"] = difference
                    row[f"power, {power}"] = ((found["low"] > 0) | (found["high"] < 0)).mean()
                rows.append(row)
    return pd.DataFrame(rows)


def smallest_difference(error: float, n: int, n_topics: int, power: float) -> float:
    """Return the smallest difference for which at most n human topics are planned, for a deviation of 1."""
    n_further = n_topics - n
    known = {
        "measure": "value",
        "name": "a",
        "n_human": n,
        "n_further": n_further,
        "sd": 1.0,
        "error_sd": error,
    }
    known["lambda"] = SLOPE * n_further / n_topics
    powered = PredictionPowered(pd.DataFrame([known]), None, None, 0.95)
    low, high = 0.0, 10.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        enough = (powered.human_topics(difference=middle, power=power)["n_needed"] <= n).all()
        low, high = (low, middle) if enough else (middle, high)
    return high


def _listed(value: Any) -> Any:
    """Return nested results with lists, rounded to four decimals, instead of arrays."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [round(number, 4) for number in value.tolist()]


def table(
    results: dict[str, Any], statistic: str = "mean", most_zeros: float = MOST_ZEROS
) -> pd.DataFrame:
    """Return the coverage and width of each interval, averaged over runs.

    Parameters
    ----------
    results : dict
        The stored results.
    statistic : {'mean', 'difference'}
        The mean of a run, or its difference from the first run.
    most_zeros : float
        The largest fraction of topics on which a run has the value 0.

    Returns
    -------
    DataFrame
        One row per measure and number of human topics.
    """
    rows = []
    for label, by_n in results["intervals"][statistic].items():
        kept = np.array(results["zeros"][label]) <= most_zeros
        kept = kept[1:] if statistic == "difference" else kept
        for n, by_interval in by_n.items():
            row: dict[str, Any] = {
                "measure": label,
                "human topics": int(n),
                "runs": int(kept.sum()),
            }
            for interval, figures in by_interval.items():
                for figure in ("coverage", "width"):
                    row[f"{interval}, {figure}"] = float(np.array(figures[figure])[kept].mean())
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Run the study, write its results and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("PT_MULTIASPECT_SHARED", "../shared"))
    parser.add_argument(
        "--data", type=Path, default=shared / "data", help="the folder with clef2015"
    )
    parser.add_argument("--judges", type=int, default=20, help="number of simulated judges")
    parser.add_argument(
        "--draws", type=int, default=200, help="number of draws of topics per judge"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    start = time.process_time()
    about = {
        "command": "python -m benchmarks.study.coverage",
        "judges": given.judges,
        "draws": given.draws,
        "raised": RAISED,
        "lowered": LOWERED,
        "ci": 0.95,
    }
    results = study(given.data, given.judges, given.draws)
    save({"about": about, **results}, given.out)
    for statistic in ("mean", "difference"):
        for most_zeros in (MOST_ZEROS, 1.0):
            print(
                f"\n{statistic}, runs with a value of 0 on at most {most_zeros:.0%} of the topics"
            )
            print(table(load(given.out), statistic, most_zeros).round(3).to_string(index=False))
    print("\nvalues of beta distributions")
    print(coverage_of_skewed_values(given.judges * given.draws).round(3).to_string(index=False))
    print("\nfrom which correlation on labels help")
    print(usefulness_of_labels(given.judges * given.draws).round(3).to_string(index=False))
    print("\nhow often planned differences are found")
    print(power_of_plans(given.judges * given.draws).round(3).to_string(index=False))
    print(f"{time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
