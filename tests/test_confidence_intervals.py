"""Confidence intervals contain their estimates: of equal, tied, skewed and extreme values, and of two topics.

Exact intervals of missing labels are no confidence intervals: the value as evaluated may be
outside.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError, On, analysis, model_selection

ASPECTS = {"relevance": 1, "trust": 1}
MEASURES: dict[str, Any] = {
    "CAM": CAM(aspects=ASPECTS, base="nDCG@5"),
    **{aspect: On(aspect=aspect, base="nDCG@5", aspects=ASPECTS) for aspect in ASPECTS},
}

Rng = np.random.Generator

#: A kind of values, the number of runs, that of topics, and a seed.
World = tuple[str, int, int, int]

#: Draws of values in [0, 1], of any shape.
VALUES: dict[str, Callable[[Rng, tuple[int, ...]], Any]] = {
    "uniform": lambda rng, shape: rng.random(shape),
    "equal": lambda rng, shape: np.full(shape, 0.3),
    "tied": lambda rng, shape: rng.integers(0, 3, shape) / 2,
    "at the limits": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "all at the upper limit but one": lambda rng, shape: (
        1.0 - (np.arange(np.prod(shape)).reshape(shape) == 1)
    ),
    "skewed": lambda rng, shape: rng.random(shape) ** 8,
    "nearly equal": lambda rng, shape: 0.3 + 1e-12 * rng.random(shape),
}
#: Runs, topics and seeds.
SIZES = [(3, 2, 0), (3, 2, 1), (3, 3, 2), (3, 12, 3), (12, 12, 1)]
WORLDS = [(kind, *size) for kind in VALUES for size in SIZES]

#: One world of each kind, of all sizes together, and that in which percentiles of resamples exclude
#: τ_AP.
FEW = [(kind, *SIZES[number % len(SIZES)]) for number, kind in enumerate(VALUES)] + [
    ("uniform", *SIZES[-1])
]


def make_values(kind: str, n_runs: int, n_topics: int, seed: int) -> pd.DataFrame:
    """Return values of two aspects and of their mean, by run and topic."""
    drawn = VALUES[kind](np.random.default_rng(seed), (n_runs, n_topics, 2))
    rows = []
    for run, topic in np.ndindex(n_runs, n_topics):
        by_measure = dict(
            zip(ASPECTS, drawn[run, topic], strict=True), CAM=drawn[run, topic].mean()
        )
        rows += [
            (f"run{run}", f"q{topic:02}", measure, value) for measure, value in by_measure.items()
        ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def make_labels(
    kind: str, n_runs: int, n_topics: int, seed: int
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Return runs and qrels; values of labels are 0 and 1."""
    rng = np.random.default_rng(seed)
    labels = np.round(VALUES[kind](rng, (n_topics, 6, 2))).astype(int)
    rows = [
        (f"q{topic:02}", f"d{doc}", *labels[topic, doc])
        for topic in range(n_topics)
        for doc in range(6)
    ]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", *ASPECTS])
    ids = qrels[["qid", "docno"]]
    names = [f"run{run}" for run in range(n_runs)]
    return {
        name: ids.assign(score=rng.permutation(len(ids)).astype(float)) for name in names
    }, qrels


Interval = tuple[str, float, float, float]


def read_rows(
    frame: pd.DataFrame, estimate: str, low: str = "low", high: str = "high"
) -> Iterator[Interval]:
    for row in frame.to_dict("records"):
        yield str(row), row[estimate], row[low], row[high]


def of_aggregate(world: World, **options: Any) -> Iterator[Interval]:
    means = ma.aggregate(make_values(*world), MEASURES, ci=0.95, **options)
    for measure in MEASURES:
        yield from read_rows(means, measure, f"{measure} 95% low", f"{measure} 95% high")


def of_groups(world: World) -> Iterator[Interval]:
    groups = {
        qid: "ab"[number % 2] for number, qid in enumerate(make_values(*world)["qid"].unique())
    }
    return of_aggregate(world, by=groups)


def of_table(world: World) -> Iterator[Interval]:
    table = str(ma.systems_table(make_values(*world), MEASURES, interval="mean", decimals=6))
    for mean, low, high in re.findall(r"([.\d]+)\*? +\[([.\d]+), ([.\d]+)\]", table):
        yield f"{mean} [{low}, {high}]", float(mean), float(low), float(high)


def of_comparisons(world: World, test: str, **options: Any) -> Iterator[Interval]:
    values = make_values(*world)
    found = analysis.compare_with_baseline(values, "run0", test=test, n_resamples=200, **options)
    return read_rows(found, "difference")


def of_ranks(world: World) -> Iterator[Interval]:
    found = analysis.ranks(make_values(*world), MEASURES, n_resamples=200)
    yield from read_rows(found.table, "rank")
    yield from read_rows(found.consensus, "borda", "borda_low", "borda_high")
    yield from read_rows(found.consensus, "copeland", "copeland_low", "copeland_high")


def of_correlations(world: World, method: str) -> Iterator[Interval]:
    found = analysis.correlation(
        make_values(*world), method, ci=0.95, n_resamples=200, measures=MEASURES
    )
    return read_rows(found, "correlation")


def of_weightings(world: World) -> Iterator[Interval]:
    found = analysis.weightings(make_values(*world), "CAM", measures=MEASURES, n_resamples=200)
    return read_rows(found.pairs, "fraction")


def of_predictions(world: World) -> Iterator[Interval]:
    values = make_values(*world)
    human = values[values["qid"] <= "q05"].copy()
    human["value"] = 1 - human["value"]
    for baseline in (None, "run0"):
        found = analysis.prediction_powered(human, values, baseline=baseline)
        for table in (found.table, found.differences):
            if table is not None:
                yield from read_rows(table, "estimate")
                yield from read_rows(table, "human", "human_low", "human_high")
                yield from read_rows(table, "model", "model_low", "model_high")


def of_agreement(world: World) -> Iterator[Interval]:
    kind, _, n_topics, seed = world
    labels = np.round(2 * VALUES[kind](np.random.default_rng(seed), (2 * n_topics, 3)))
    rows = [
        (f"q{row // 2}", f"d{row}", "trust", judge, labels[row, number])
        for row in range(len(labels))
        for number, judge in enumerate("xyz")
    ]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])
    return read_rows(analysis.judge_agreement(frame, ci=0.95), "alpha")


def of_robustness(world: World) -> Iterator[Interval]:
    runs, qrels = make_labels(*world)
    found = ma.robustness(runs, qrels, MEASURES["CAM"])
    yield from read_rows(found.table[found.table["question"] != "labels"], "difference")
    if found.weightings is not None:
        yield from read_rows(found.weightings.pairs, "fraction")


def of_learners(world: World) -> Iterator[Interval]:
    kind, _, n_topics, seed = world
    scores = VALUES[kind](np.random.default_rng(seed), (2, 3 * n_topics))
    found = model_selection.paired_interval(*scores, n_folds=3)
    yield str(found), found["difference"], found["low"], found["high"]


#: What gives confidence intervals.
INTERVALS: dict[str, Callable[[World], Iterator[Interval]]] = {
    "aggregate t": of_aggregate,
    "aggregate bootstrap": lambda world: of_aggregate(world, ci_method="bootstrap"),
    "aggregate by": of_groups,
    "systems_table": of_table,
    **{
        f"compare_with_baseline {test}": lambda world, test=test: of_comparisons(world, test)  # type: ignore[misc]
        for test in ("t", "permutation", "bootstrap", "tukey")
    },
    "compare_with_baseline fdr_bh": lambda world: of_comparisons(world, "t", correction="fdr_bh"),
    "ranks": of_ranks,
    **{
        f"correlation {method}": lambda world, method=method: of_correlations(world, method)  # type: ignore[misc]
        for method in ("kendall", "spearman", "pearson", "tau_ap", "rbo")
    },
    "weightings": of_weightings,
    "prediction_powered": of_predictions,
    "judge_agreement": of_agreement,
    "robustness": of_robustness,
    "paired_interval": of_learners,
}


@pytest.mark.parametrize(
    "worlds", [FEW, pytest.param(WORLDS, marks=pytest.mark.slow)], ids=["few", "all"]
)
@pytest.mark.parametrize("intervals", INTERVALS.values(), ids=INTERVALS)
def test_intervals_contain_their_estimates(
    intervals: Callable[[Any], Iterator[Interval]], worlds: list[World]
) -> None:
    n_intervals = 0
    for world in worlds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = list(intervals(world))
            except MultiAspectError:  # of too few topics, for example
                continue
        for what, estimate, low, high in found:
            if np.isnan([estimate, low, high]).any():
                continue
            n_intervals += 1
            assert low - 1e-9 <= estimate <= high + 1e-9, (world, what)
    assert n_intervals >= len(worlds) / 2
