"""Intervals of aggregates: `aggregate(ci=…)`."""

from __future__ import annotations

import math
import statistics

import ir_measures
import numpy as np
import pandas as pd
import pytest
from frame_world import long_frame
from ir_measures.measures import MeanAgg
from scipy import stats

import pt_multiaspect as ma
from pt_multiaspect.integration.parsing import RECORD, UNIT_SCORE
from pt_multiaspect.kernels import intervals

VALUES = [0.2, 0.4, 0.1, 0.35, 0.3]


def test_equals_scipy() -> None:
    table = pd.concat(
        [
            ma.aggregate(long_frame({name: values}), ci=0.95)
            for name, values in {"a": VALUES, "b": VALUES[:3]}.items()
        ],
        ignore_index=True,
    )
    assert list(table.columns) == ["name", "AP", "AP 95% low", "AP 95% high"]
    for row, values in enumerate((VALUES, VALUES[:3])):
        low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        assert table.loc[row].tolist()[1:] == pytest.approx([np.mean(values), max(low, 0), high])
    plain = ma.aggregate(long_frame({"a": VALUES}))
    pd.testing.assert_frame_equal(table[["name", "AP"]].head(1), plain)


def test_equal_values_have_an_interval_without_width() -> None:
    equal = [0.1] * 3
    assert np.mean(equal) != 0.1  # by rounding
    for method in ("t", "bootstrap"):
        mean, low, high = (
            ma.aggregate(long_frame({"a": equal}), ci=0.95, ci_method=method).loc[0].tolist()[1:]
        )
        assert low <= mean <= high == pytest.approx(low, abs=1e-16)
    assert intervals.bootstrap_interval(np.array(equal), 0.95) == (0.1, 0.1)


@pytest.mark.parametrize(("n_zeros_and_ones", "level"), [(1, 0.95), (1, 0.4), (5, 0.95), (5, 0.8)])
def test_bootstrap_intervals_of_zeros_and_ones_are_binomial(
    n_zeros_and_ones: int, level: float
) -> None:
    """A sample of as many zeros as ones has a binomial number of ones, with the probability 0.5."""
    values = [0.0] * n_zeros_and_ones + [1.0] * n_zeros_and_ones
    table = ma.aggregate(long_frame({"a": values}), ci=level, ci_method="bootstrap")
    n_values = 2 * n_zeros_and_ones
    number_of_ones = stats.binom(n_values, 0.5)
    low = number_of_ones.ppf((1 - level) / 2) / n_values
    high = number_of_ones.ppf((1 + level) / 2) / n_values
    _, *mean_and_ends = table.iloc[0].tolist()  # after the name
    assert mean_and_ends == pytest.approx([0.5, low, high])


@pytest.mark.parametrize(
    "n_values_of_chunk",
    [
        1,  # less than a sample of five values: a chunk has one sample
        5 * 7,  # seven samples, of which the last chunk has fewer
        5 * 9_999,  # all samples but one
    ],
)
def test_bootstrap_samples_are_the_same_in_any_number_of_chunks(
    monkeypatch, n_values_of_chunk: int
) -> None:
    values = np.array([0.2, 0.4, 0.1, 0.35, 0.3])
    in_one_chunk = intervals.bootstrap_interval(values, 0.95)
    monkeypatch.setattr(intervals, "_CHUNK", n_values_of_chunk)
    assert intervals.bootstrap_interval(values, 0.95) == in_one_chunk


def test_intervals_end_at_the_range_of_the_measure() -> None:
    """Of a measure between 0 and 1, an interval whose end would be beyond ends there."""
    near_0, near_1 = [0.0, 0.0, 0.1], [1.0, 1.0, 0.9]
    table = ma.aggregate(
        long_frame({"low": near_0, "high": near_1, "both": [0.0, 1.0, 0.0]}), ci=0.95
    ).set_index("name")
    quantile = stats.t.ppf(0.975, 3 - 1)  # of three topics
    half_low = quantile * stats.sem(near_0)
    half_high = quantile * stats.sem(near_1)
    mean_low, mean_high = 0.1 / 3, 2.9 / 3
    assert table.loc["low"].tolist() == pytest.approx([mean_low, 0, mean_low + half_low], abs=1e-15)
    assert table.loc["high"].tolist() == pytest.approx(
        [mean_high, mean_high - half_high, 1], abs=1e-15
    )
    _, *ends_of_both = table.loc["both"].tolist()
    assert ends_of_both == [0, 1]


def test_intervals_end_at_the_values_that_are_beyond_the_range_of_the_measure() -> None:
    values = np.array([-0.5, 1.5, 0.5])
    assert intervals.mean_interval(values, 0.95, (0.0, 1.0)) == (-0.5, 1.5)


@pytest.mark.slow
def test_coverage_is_that_of_the_level() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.beta(2, 3, (2000, 10))  # 2000 experiments of ten topics
    table = ma.aggregate(
        long_frame({str(row): values.tolist() for row, values in enumerate(drawn)}), ci=0.9
    )
    covered = (table["AP 90% low"] <= 0.4) & (table["AP 90% high"] >= 0.4)
    assert covered.mean() == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("measure", ["nDCG@10", "CAM@10", "P@5"])
def test_intervals_stay_within_the_range(measure) -> None:
    table = ma.aggregate(long_frame({"a": [1, 1, 0.9], "b": [0, 0, 0.1]}, measure), ci=0.95)
    assert table[f"{measure} 95% high"][0] == 1
    assert table[f"{measure} 95% low"][1] == 0


def test_values_outside_the_range_are_not_cut_off() -> None:
    """Per cent: a cut at 1 would put the interval beside the mean."""
    percent = (
        ma.aggregate(long_frame({"a": [100 * value for value in VALUES]}), ci=0.9)
        .iloc[0]
        .tolist()[1:]
    )
    low, high = stats.t.interval(0.9, 4, 100 * np.mean(VALUES), 100 * stats.sem(VALUES))
    assert percent == pytest.approx([100 * np.mean(VALUES), low, high])


def test_measures_without_a_known_range_are_not_cut_off() -> None:
    with pytest.warns(
        ma.MultiAspectWarning, match="my own names no known measure.*values are averaged"
    ):
        table = ma.aggregate(long_frame({"a": [0.0, 5.0]}, "my own"), ci=0.95)
    assert table["my own 95% low"][0] < 0
    within = ma.aggregate(long_frame({"a": [0.0, 1.0]}, "my own"), ci=0.95)
    assert within["my own 95% low"][0] < 0
    assert within["my own 95% high"][0] > 1
    scores = long_frame({"a": [0.0, 1.0]}, "my own")
    scores.attrs[RECORD] = {"my own": UNIT_SCORE}  # as of answers
    assert ma.aggregate(scores, ci=0.95).iloc[0].tolist() == ["a", 0.5, 0, 1]


def test_sums_have_intervals_of_sums() -> None:
    row = ma.aggregate(long_frame({"a": [3.0, 5.0, 10.0]}, "NumRet"), ci=0.95).iloc[0]
    low, high = stats.t.interval(0.95, 2, 6, stats.sem([3, 5, 10]))
    assert row.tolist()[1:] == pytest.approx([18, 3 * low, 3 * high])


def test_labels_and_records() -> None:
    qrels = {f"q{n}": {"d1": 1, "d2": 0} for n in range(3)}
    run = {"q0": {"d1": 1.0}, "q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d2": 1.0}}
    perquery = ma.evaluate({"r": run}, qrels, {"mine": ir_measures.AP, "AP": "AP"}, progress=False)
    table = ma.aggregate(perquery, ci=0.95)
    assert table["mine 95% high"][0] == 1  # the limit of AP
    assert table["mine 95% low"][0] <= table["mine"][0] <= table["mine 95% high"][0]
    assert ma.aggregate(perquery, ci=0.995).columns[2] == "mine 99.5% low"


def test_equal_values_have_width_0() -> None:
    row = ma.aggregate(long_frame({"a": [0.1] * 3}), ci=0.95).iloc[0]
    assert row.tolist()[1:] == pytest.approx([0.1] * 3)
    assert row["AP 95% low"] == row["AP 95% high"]


class Median(MeanAgg):
    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float) -> None:
        self.values.append(value)

    def result(self) -> float:
        return statistics.median(self.values)


class Middle(type(ir_measures.AP)):
    def aggregator(self) -> Median:
        return Median()


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            long_frame({"a": [0.5], "b": [0.5]}),
            {},
            "no interval for AP of a: expected at least two topics, got 1",
        ),
        (
            long_frame({"a": [0.5, -math.inf]}),
            {},
            "no interval for AP of a: expected finite values",
        ),
        (long_frame({"a": [0.5, math.inf]}), {}, "expected finite values"),
        (
            pd.concat([long_frame({"a": VALUES})] * 2),
            {},
            r"one value of AP for a on topic q0, got several \(5 such rows in all\)",
        ),
        (
            long_frame({"a": VALUES}),
            {"ci": 95},
            "ci: expected a number above 0 and below 1, got 95",
        ),
        (long_frame({"a": VALUES}), {"ci": True}, "ci: expected a number"),
        (
            long_frame({"a": VALUES}),
            {"measures": {"AP": Middle()}},
            "not a function of the mean over topics",
        ),
        (
            pd.concat([long_frame({"a": VALUES}), long_frame({"a": VALUES}, "AP 95% low")]),
            {},
            "the alias 'AP 95% low'",
        ),
    ],
)
def test_bad_input(frame, options, message) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        ma.aggregate(frame, **{"ci": 0.95, **options})
