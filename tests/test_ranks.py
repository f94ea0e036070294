"""Ranks with intervals, and their consensus: against single tests and brute force."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata, ttest_rel

import pt_multiaspect as ma
from pt_multiaspect.analysis import ranks

MEASURES = {"P@5": "higher", "ESL": "lower", "own": "higher"}


def world(n_runs: int = 5, n_topics: int = 12, seed: int = 0) -> pd.DataFrame:
    """Runs whose means differ; the values have one decimal, so that some means tie."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            f"run {run}",
            f"q{topic}",
            measure,
            (rng.integers(0, 11) + 2 * run * (1 - 2 * (way == "lower")) + 12) / 10,
        )
        for run, topic, (measure, way) in product(range(n_runs), range(n_topics), MEASURES.items())
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def table_of(perquery: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Values where higher is better, topics × runs."""
    rows = perquery[perquery["measure"] == measure].pivot(
        index="qid", columns="name", values="value"
    )
    return -rows if MEASURES[measure] == "lower" else rows


def test_intervals_of_ranks_are_those_of_single_tests() -> None:
    """A run is below those that are significantly better, and above those that are significantly worse.

    By t-tests against each of the four other runs, at the level .05 / 4.
    """
    perquery = world()
    result = ranks(perquery, MEASURES)
    for row in result.table.to_dict("records"):
        values = table_of(perquery, row["measure"])
        own = values[row["name"]]
        n_better = n_significantly_better = n_significantly_worse = 0
        for name in values.columns.drop(row["name"]):
            other = values[name]
            difference = round(other.mean() - own.mean(), 12)
            is_significant = ttest_rel(own, other).pvalue < 0.05 / 4
            n_better += difference > 0
            n_significantly_better += is_significant and difference > 0
            n_significantly_worse += is_significant and difference < 0
        assert row["rank"] == 1 + n_better
        assert row["low"] == 1 + n_significantly_better
        assert row["high"] == 5 - n_significantly_worse
        assert row["low"] <= row["rank"] <= row["high"]
    assert (result.table["low"] > 1).any()
    assert (result.table["high"] < 5).any()


def test_consensus_by_brute_force() -> None:
    perquery = world(seed=3)
    consensus = ranks(perquery, MEASURES, n_resamples=50).consensus.set_index("name")
    means = pd.DataFrame(
        {measure: table_of(perquery, measure).mean().round(12) for measure in MEASURES}
    )
    borda = np.mean([rankdata(-means[measure]) for measure in MEASURES], axis=0)
    np.testing.assert_allclose(consensus["borda"], borda)
    for name in means.index:
        won = 0
        for other in means.index.drop(name):
            votes = np.sign(means.loc[name] - means.loc[other]).sum()
            won += np.sign(votes)
        assert consensus.loc[name, "copeland"] == won
    for method in ("borda", "copeland"):
        assert (consensus[f"{method}_low"] <= consensus[f"{method}_high"]).all()


def test_copies_share_all_ranks() -> None:
    perquery = world(2)
    copies = [perquery.assign(name=perquery["name"] + suffix) for suffix in ("", " copy")]
    result = ranks(pd.concat(copies), MEASURES, n_resamples=20)
    for table, columns in (
        (result.table, ["rank", "low", "high"]),
        (result.consensus, ["borda", "copeland"]),
    ):
        plain = table[~table["name"].str.contains("copy")][columns].to_numpy()
        np.testing.assert_array_equal(
            plain, table[table["name"].str.contains("copy")][columns].to_numpy()
        )
    assert result.consensus["copeland"].sum() == 0


@pytest.mark.slow
def test_intervals_contain_the_true_ranks() -> None:
    """Nearly always, in a small simulation of six nearly equal runs; the documentation says .979."""
    rng = np.random.default_rng(0)
    n_runs, n_topics = 6, 30
    true_means = np.linspace(0, 0.1, n_runs)
    true_ranks = np.array([6, 5, 4, 3, 2, 1])  # the last run is the best
    contains = []
    for _ in range(40):
        difficulties = rng.normal(size=(1, n_topics))
        noise = 0.3 * rng.normal(size=(n_runs, n_topics))
        values = true_means[:, np.newaxis] + difficulties + noise
        rows = [
            (f"run {run}", f"q{topic}", "own", values[run, topic])
            for run, topic in np.ndindex(n_runs, n_topics)
        ]
        perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
        table = ranks(perquery, {"own": "higher"}, n_resamples=1).table
        contains.append((table["low"] <= true_ranks) & (true_ranks <= table["high"]))
    assert np.mean(contains) >= 0.99


def test_means_have_the_units_of_their_measures() -> None:
    perquery = world()
    means = perquery.groupby(["measure", "name"])["value"].mean()
    table = ranks(perquery, MEASURES, n_resamples=1).table.set_index(["measure", "name"])
    assert table["mean"].to_dict() == pytest.approx(means.to_dict())
    assert table.loc[("ESL", "run 4"), "rank"] == 1


def test_a_warning_that_is_raised_as_an_error_is_raised_again() -> None:
    perquery = world().replace({"measure": {"own": "mine"}})
    for action, outcome in (
        ("error", pytest.raises),
        ("error", pytest.raises),
        ("default", pytest.warns),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            with outcome(ma.MultiAspectWarning, match="mine names no known measure"):
                ranks(perquery, n_resamples=1)


def test_order_of_rows() -> None:
    """Topics may be in another order for each measure and run."""
    perquery = world(4)
    parts = []
    for measure in MEASURES:
        for name in perquery["name"].unique():
            of_run = perquery[(perquery["measure"] == measure) & (perquery["name"] == name)]
            parts.append(of_run.sort_values("value"))
    reordered = pd.concat(parts)
    consensus = ranks(reordered, MEASURES, n_resamples=20).consensus
    expected = ranks(perquery, MEASURES, n_resamples=20).consensus
    pd.testing.assert_frame_equal(consensus, expected)


def test_text_and_html() -> None:
    result = ranks(world(), MEASURES, n_resamples=20)
    assert "Copeland" in str(result)
    assert "[1, " in result._repr_html_()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda frame: frame[frame["name"] == "run 0"], {}, "at least two systems"),
        (lambda frame: frame[frame["qid"] == "q0"], {}, "at least two topics"),
        (lambda frame: frame.assign(value=np.nan), {}, "expected finite values"),
        (lambda frame: frame, {"alpha": 0}, "alpha"),
        (lambda frame: frame, {"n_resamples": 0}, "n_resamples"),
        (lambda frame: frame, {"measures": ["accuracy"]}, "accuracy"),
    ],
)
def test_bad_input(change: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        ranks(change(world()), **{"measures": MEASURES, **options})
