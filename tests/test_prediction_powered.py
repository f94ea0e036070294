"""Prediction-powered intervals: human judgments on few topics, a model's on many."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from printed_tables import read_table
from scipy.stats import t as student
from scipy.stats import ttest_1samp
from shared_data import golden, shared_path
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import prediction_powered
from pt_multiaspect.analysis.prediction_powered import LEAST_TOPICS
from pt_multiaspect.cli import main
from pt_multiaspect.kernels.intervals import power_of_double_sampling


def frame(values: Any, measure: str = "nDCG@10") -> pd.DataFrame:
    """A long frame of one run's values, or of the values of several by name, on q0, q1, …"""
    named = values if isinstance(values, dict) else {"run": values}
    rows = [
        (name, f"q{n}", measure, value) for name in named for n, value in enumerate(named[name])
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def row(human: Any, labels: Any, further: Any, **options: Any) -> pd.Series[Any]:
    """The only row of the result."""
    (record,) = prediction_powered(
        frame(human), frame([*labels, *further]), **options
    ).table.to_dict("records")
    return pd.Series(record)


def draw_values(
    n: int, n_further: int, names: str = "abc", bias: float = 0.1, seed: int = 0
) -> Any:
    """Human values and a model's on n + N topics: skewed, correlated, and biased."""
    rng = np.random.default_rng(seed)
    truth = {name: rng.beta(0.8, 1.6, n + n_further) for name in names}
    labels = {
        name: values + bias + rng.normal(0, 0.1, n + n_further) for name, values in truth.items()
    }
    return frame({name: values[:n] for name, values in truth.items()}), frame(labels)


# -- figures
# --------------------------------------------------------------------------------------------------


def golden_cases() -> list[dict[str, Any]]:
    cases = golden("planning.json")["cases"]
    return [case for case in cases if case["function"] == "regression_estimate"]


def test_golden_estimates_by_double_sampling() -> None:
    cases = golden_cases()
    assert len(cases) == 2
    for case in cases:
        given, expected = case["input"], case["expected"]
        result = row(given["human"], given["model"], given["further"], ci=given["ci"])
        for column in ("estimate", "low", "high"):
            assert result[column] == pytest.approx(expected[column], abs=case["tolerance"]), (
                case["id"],
                column,
            )
        share = len(given["further"]) / (len(given["human"]) + len(given["further"]))
        assert result["lambda"] == pytest.approx(expected["slope"] * share, abs=case["tolerance"])


@pytest.mark.parametrize(("n", "n_further"), [(4, 1), (4, 2), (6, 60), (20, 5), (12, 0), (30, 100)])
def test_every_column_is_that_of_the_reference(n, n_further) -> None:
    """Estimates, intervals, λ, deviations and numbers of topics are those of plain Python."""
    human_ndcg, model_ndcg = draw_values(n, n_further)  # of the runs a, b and c
    human_cam, model_cam = draw_values(n, n_further, bias=-0.2, seed=1)
    human = pd.concat([human_ndcg, human_cam.assign(measure="CAM@10")])
    model = pd.concat([model_ndcg, model_cam.assign(measure="CAM@10")])

    table = prediction_powered(human, model, ci=0.9).table

    keys = table[["measure", "name"]].to_numpy().tolist()
    assert keys == [[measure, name] for measure in ("nDCG@10", "CAM@10") for name in "abc"]
    for record in table.to_dict("records"):
        same_row = "name == @record['name'] and measure == @record['measure']"
        human_values = human.query(same_row)["value"].tolist()
        model_values = model.query(same_row)["value"].tolist()
        labels, further = model_values[:n], model_values[n:]
        assert (record["n_human"], record["n_further"]) == (n, n_further)

        mean, variance, freedom = reference.doubly_sampled(human_values, labels, further)
        half_width = student.ppf(0.95, freedom) * variance**0.5
        assert record["estimate"] == pytest.approx(mean, abs=1e-12)
        assert record["low"] == pytest.approx(mean - half_width, abs=1e-12)
        assert record["high"] == pytest.approx(mean + half_width, abs=1e-12)

        for column, values in (("human", human_values), ("model", model_values)):
            low, high = ttest_1samp(values, 0).confidence_interval(0.9)
            assert record[column] == pytest.approx(np.mean(values))
            assert record[f"{column}_low"] == pytest.approx(low)
            assert record[f"{column}_high"] == pytest.approx(high)

        slope = reference.slope_of_labels(human_values, labels)
        assert record["lambda"] == pytest.approx(slope * n_further / (n + n_further), abs=1e-12)
        assert record["sd"] == pytest.approx(np.std(human_values, ddof=1))
        error_variance = reference.residual_of_labels(human_values, labels)
        assert record["error_sd"] == pytest.approx(error_variance**0.5)
        # Half of the width of the interval is asked for.
        expected = least_topics(human_values, labels, further, width=half_width, ci=0.9, above=n)
        assert record["n_to_halve"] == pytest.approx(expected, nan_ok=True)


def least_topics(
    human: list[float],
    labels: list[float],
    further: list[float],
    width: float,
    ci: float,
    above: int = 3,
) -> float:
    """The first number of human topics, one after the other, with which the expected interval is narrow enough."""
    variance, residual = np.var(human, ddof=1), reference.residual_of_labels(human, labels)
    n_topics = len(human) + len(further)
    for n in range(above + 1, n_topics + 1):
        freedom = n - 2 if n < n_topics else n - 1
        error = reference.planned_variance(variance, residual, n, n_topics) ** 0.5
        if 2 * student.ppf((1 + ci) / 2, freedom) * error <= width:
            return n
    return math.nan


def differences_from(values: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """A long frame of the differences of other runs from a baseline, by topic, as values of runs."""
    by_run = values.pivot(index="qid", columns="name", values="value")
    differences = by_run.drop(columns=baseline).sub(by_run[baseline], axis=0)
    return differences.melt(ignore_index=False).reset_index().assign(measure="difference")


def test_differences_are_those_of_a_run_whose_values_they_are() -> None:
    """Topics are paired: it is not the difference of two estimates, whose λ differ."""
    human, model = draw_values(8, 30)  # of the runs a, b and c

    powered = prediction_powered(human, model, baseline="b")

    assert powered.baseline == "b"
    differences = powered.differences.set_index("name")
    assert differences["baseline"].tolist() == ["b", "b"]
    assert differences.index.tolist() == ["a", "c"]
    as_runs = prediction_powered(differences_from(human, "b"), differences_from(model, "b"))
    expected = as_runs.table.set_index("name").loc[["a", "c"]].drop(columns="measure")
    pd.testing.assert_frame_equal(differences[list(expected)], expected)


def test_without_a_baseline_there_are_no_differences() -> None:
    human, model = draw_values(8, 30)
    assert prediction_powered(human, model).differences is None


@pytest.mark.parametrize("weights", [(1.0, 0.0), (1.0, 0.2), (0.8, 0.25)])
def test_the_labels_of_a_biased_model_are_corrected(weights) -> None:
    scale, shift = weights
    rng = np.random.default_rng(2)
    truth = rng.beta(1, 2, 4000)
    result = row(truth[:400], scale * truth[:400] + shift, scale * truth[400:] + shift)
    assert result["low"] < truth.mean() < result["high"]
    assert result["high"] - result["low"] < 0.5 * (result["human_high"] - result["human_low"])
    if shift:
        assert not result["model_low"] < truth.mean() < result["model_high"]


# -- laws
# ------------------------------------------------------------------------------------------------------

VALUES = st.integers(0, 1000).map(lambda value: value / 1000)
SAMPLES = st.integers(4, 9).flatmap(
    lambda n: st.tuples(
        *(st.lists(VALUES, min_size=n, max_size=n) for _ in range(2)),
        st.lists(VALUES, min_size=0, max_size=12),
    )
)


@pytest.mark.slow
@examples(30)
@given(SAMPLES, VALUES)
def test_laws(sample, shift) -> None:
    human, labels, further = sample
    result = row(*sample)
    assert 0 <= result["lambda"] <= 1
    assert result["low"] <= result["estimate"] <= result["high"]
    estimate, variance, freedom = reference.doubly_sampled(*sample)
    half = student.ppf(0.975, freedom) * variance**0.5
    assert result[["estimate", "low", "high"]].tolist() == pytest.approx(
        [estimate, estimate - half, estimate + half], abs=1e-9
    )
    if result["lambda"] == 0:
        assert result["estimate"] == pytest.approx(result["human"], abs=1e-12)
    # A constant error of the model does not matter, and topics have no order.
    shifted = row(human, [value + shift for value in labels], [value + shift for value in further])
    reverse = row(human[::-1], labels[::-1], further[::-1])
    for other in (shifted, reverse):
        assert other[["estimate", "low", "high", "lambda"]].tolist() == pytest.approx(
            result[["estimate", "low", "high", "lambda"]].tolist(), abs=1e-7
        )


def test_the_result_does_not_depend_on_the_order_of_rows() -> None:
    human, model = draw_values(7, 12)
    expected = prediction_powered(human, model, baseline="a")
    shuffled = [
        values.sample(frac=1, random_state=seed) for seed, values in enumerate((human, model))
    ]
    result = prediction_powered(*shuffled, baseline="a")
    for part in ("table", "differences"):
        first, second = (
            getattr(powered, part).set_index("name").sort_index() for powered in (expected, result)
        )
        pd.testing.assert_frame_equal(first, second, check_exact=True)


def test_a_useless_model_leaves_the_human_topics_alone() -> None:
    human = [0.1, 0.5, 0.2, 0.9, 0.4]
    constant = row(human, [0.3] * 5, [0.3] * 9)
    opposed = row(human, [1 - value for value in human], [0.2, 0.4, 0.8])
    none_further = row(human, human, [])
    for result in (constant, opposed, none_further):
        assert result["lambda"] == 0
        assert result["estimate"] == result["human"] == pytest.approx(0.42)
    for result in (constant, none_further):
        assert result[["low", "high"]].tolist() == result[["human_low", "human_high"]].tolist()
    # The slope was estimated, although it is 0: a degree of freedom is lost, and the distance of
    # the labels counts.
    assert opposed["high"] - opposed["low"] > opposed["human_high"] - opposed["human_low"]


def test_the_same_values_as_human_and_model_are_said_to_have_no_effect() -> None:
    note = "Where N is 0, the model judged no further topics, and its labels have no effect."
    assert note in prediction_powered(HUMAN, HUMAN).notes
    assert note not in prediction_powered(HUMAN, MODEL).notes


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3])
def test_equal_human_values_have_no_width(value) -> None:
    labels = [0.1, 0.3, 0.35, 0.2, 0.6, 0.1, 0.2]
    powered = prediction_powered(frame([value] * 7), frame([*labels, 0.4, 0.5]))
    result = powered.table.iloc[0]
    assert result["lambda"] == 0
    assert result["low"] == result["estimate"] == result["high"] == pytest.approx(value)
    assert np.isnan(result["n_to_halve"])
    assert (
        "All human values are equal, so that the interval has no width: nDCG@10 of run."
        in powered.notes
    )


def test_differences_that_are_rounding_errors_are_none() -> None:
    few, many = [0.3, 0.7, 0.1, 0.6], [0.3, 0.7, 0.1, 0.6, 0.9, 0.2]
    human, model = (
        frame({"a": values, "b": [value + 0.1 - 0.1 for value in values]}) for values in (few, many)
    )
    assert (human["value"].iloc[:4].to_numpy() != human["value"].iloc[4:].to_numpy()).any()
    (record,) = prediction_powered(human, model, baseline="a").differences.to_dict("records")
    assert record["estimate"] == record["low"] == record["high"] == record["lambda"] == 0


# -- how many topics
# -------------------------------------------------------------------------------------------


def test_the_width_is_halved_at_the_number_told_and_not_before() -> None:
    """`n_to_halve` is the least number of human topics with which the interval has half its width."""
    human, labels, further = noisy_labels()  # 10 human topics, 400 further ones
    n_to_halve = {}
    for n_further in (5, 100, 400):
        result = row(human, labels, further[:n_further])
        half = (result["high"] - result["low"]) / 2
        expected = least_topics(human, labels, further[:n_further], half, 0.95, above=10)
        assert result["n_to_halve"] == pytest.approx(expected, nan_ok=True)
        n_to_halve[n_further] = result["n_to_halve"]
    # Labels of more topics spare human topics.
    assert 10 < n_to_halve[400] < n_to_halve[100] < 10 + 100
    # Of 15 topics, not even all are enough.
    assert np.isnan(n_to_halve[5])


def test_a_width_that_no_number_of_topics_halves_is_printed_as_a_dash() -> None:
    human, labels, further = noisy_labels()
    powered = prediction_powered(frame(human), frame([*labels, *further[:5]]))
    assert np.isnan(powered.table["n_to_halve"]).all()
    cells_by_line = [line.split() for line in str(powered).splitlines()]
    assert any("-" in cells for cells in cells_by_line)


def noisy_labels() -> tuple[list[float], list[float], list[float]]:
    """Values and labels of 10 human topics, and labels of 400 further ones."""
    rng = np.random.default_rng(4)
    human = rng.beta(1, 2, 10)
    return human.tolist(), (human + rng.normal(0, 0.2, 10)).tolist(), rng.beta(1, 2, 400).tolist()


@pytest.mark.parametrize("n_further", [0, 5, 40, 400])
def test_human_topics_for_a_width_are_the_least(n_further) -> None:
    human, labels, further = noisy_labels()  # 10 human topics
    further = further[:n_further]
    powered = prediction_powered(frame(human), frame([*labels, *further]))

    for width in (1e-4, 0.05, 0.1, 0.2, 0.4, 3.0):
        (planned,) = powered.human_topics(width=width).to_dict("records")
        assert planned["n_topics"] == 10 + n_further
        expected = least_topics(human, labels, further, width, 0.95)
        assert planned["n_needed"] == pytest.approx(expected, nan_ok=True)

    too_narrow = powered.human_topics(width=1e-4)
    assert np.isnan(too_narrow["n_needed"]).all()
    beyond_the_range_of_values = powered.human_topics(width=3.0)
    assert beyond_the_range_of_values["n_needed"].tolist() == [4]  # no fewer are allowed


@dataclass
class NormalTopics:
    """Topics with normal values of people and of a model, by the deviations and the slope of a pilot."""

    sd: float
    error_sd: float
    slope: float

    def power(self, mean: float, n: int, n_topics: int, n_draws: int) -> float:
        """The fraction of draws in which the interval from n of the topics judged by people excludes 0."""
        rng = np.random.default_rng(7)
        error = min(self.error_sd, self.sd)
        explained = (self.sd**2 - error**2) ** 0.5
        found = 0
        for _ in range(n_draws):
            common = rng.normal(size=n_topics)
            human = mean + explained * common[:n] + error * rng.normal(size=n)
            labels = common * (explained / self.slope if self.slope else 1.0)
            middle, variance, freedom = reference.doubly_sampled(
                human.tolist(), labels[:n].tolist(), labels[n:].tolist()
            )
            found += abs(middle) > student.ppf(0.975, freedom) * variance**0.5
        return found / n_draws


@examples(20)
@given(st.integers(0, 10**6), st.floats(0.05, 0.5), st.floats(0.2, 0.95))
def test_human_topics_for_a_power_are_the_least(seed, difference, power) -> None:
    """In simulated draws, the planned number of topics reaches the power, and one topic less does not."""
    n_human, n_further = 6, 24
    n_topics = n_human + n_further
    human, model = draw_values(n_human, n_further, "ab", seed=seed)
    powered = prediction_powered(human, model, baseline="a")

    (planned,) = powered.human_topics(difference=difference, power=power).to_dict("records")

    assert (planned["baseline"], planned["name"]) == ("a", "b")
    assert planned["n_topics"] == n_topics
    (pilot,) = powered.differences.to_dict("records")
    # λ is the slope of the human values on labels, times the fraction of further topics.
    slope = pilot["lambda"] * n_topics / n_further
    normal = NormalTopics(pilot["sd"], pilot["error_sd"], slope)
    error = 0.065  # four standard errors of a power from 1000 draws
    if np.isnan(planned["n_needed"]):
        assert normal.power(difference, n_topics, n_topics, 1000) < power + error
        return
    n_needed = int(planned["n_needed"])
    assert normal.power(difference, n_needed, n_topics, 1000) > power - error
    if n_needed > 4:  # no fewer are allowed
        assert normal.power(difference, n_needed - 1, n_topics, 1000) < power + error


def test_human_topics_of_means_and_differences() -> None:
    human, model = draw_values(8, 40)
    means = prediction_powered(human, model)
    assert list(means.human_topics(width=0.3)) == ["measure", "name", "n_topics", "n_needed"]
    differences = prediction_powered(human, model, baseline="b").human_topics(width=0.3)
    assert list(differences) == ["measure", "baseline", "name", "n_topics", "n_needed"]
    assert differences["name"].tolist() == ["a", "c"]
    equal = prediction_powered(frame([0.3] * 6), frame([0.1, 0.3, 0.35, 0.2, 0.6, 0.1, 0.2]))
    assert equal.human_topics(width=0.3)["n_needed"].isna().all()
    assert equal.human_topics(difference=0.3)["n_needed"].isna().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "expected either width or difference, got none"),
        ({"width": 1, "difference": 1}, "expected either width or difference, got both"),
        ({"width": 0}, "width: expected a number above 0"),
        ({"difference": -1}, "difference: expected a number above 0"),
        ({"difference": 0.1, "power": 1}, "power: expected"),
        (
            {"difference": 0.1, "power": 0.04},
            "power: expected a probability above 1 − ci, 0.05, got 0.04",
        ),
    ],
)
def test_bad_numbers_for_human_topics(options, message) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        prediction_powered(HUMAN, MODEL).human_topics(**options)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.95])
@pytest.mark.parametrize("slope", [0.7, 1.2])
@pytest.mark.parametrize(
    ("n", "n_topics"), [(4, 5), (4, 100), (5, 12), (6, 30), (12, 60), (30, 100)]
)
def test_planned_power_is_that_of_simulations(correlation, slope, n, n_topics) -> None:
    """Also where the slope of the human values on the labels, at most 1, is often cut off."""
    # Human values have the standard deviation 1. A correlation of 0 is simulated with a slope of 0.
    unexplained = (1 - correlation**2) ** 0.5
    simulated_topics = NormalTopics(1.0, unexplained, slope if correlation else 0.0)
    means = np.array([0.5, 2.0]) / n**0.5

    def planned_power(effects: np.ndarray) -> np.ndarray:
        # Labels have the standard deviation correlation / slope, so that this is a slope of 1.
        highest_slope = correlation / slope if correlation else 1.0
        return power_of_double_sampling(
            effects,
            unexplained=np.array([unexplained, unexplained]),
            highest=np.array([highest_slope, highest_slope]),
            n=n,
            n_topics=n_topics,
            alpha=0.05,
        )

    simulated = [simulated_topics.power(mean, n, n_topics, 2000) for mean in means.tolist()]
    assert planned_power(means) == pytest.approx(simulated, abs=0.045)
    assert planned_power(-means) == pytest.approx(planned_power(means), abs=0.01)


def test_labels_without_errors() -> None:
    """If labels equal the human values, the estimate is as certain as if people judged all topics."""
    human = [0.1, 0.5, 0.2, 0.9, 0.4]
    further = [0.42, 0.1, 0.3]

    result = row(human, human, further)

    assert result["lambda"] == 3 / 8  # the fraction of further topics, as the slope is 1
    assert result["error_sd"] == 0
    standard_error = np.std([*human, *further], ddof=1) / 8**0.5  # of the mean of all 8 labels
    degrees_of_freedom = 5 - 2  # of a regression on 5 topics
    width = 2 * student.ppf(0.975, degrees_of_freedom) * standard_error
    assert result["high"] - result["low"] == pytest.approx(width)


def test_no_number_of_topics_at_hand_may_halve_the_width() -> None:
    human = [0.1, 0.5, 0.2, 0.9, 0.4, 0.6, 0.3, 0.7, 0.2, 0.1, 0.8, 0.3]
    # Labels err by 0.01 only, so more human judgments would add next to nothing to them.
    errors = [0.01, -0.01] * 6
    labels = [value + error for value, error in zip(human, errors, strict=True)]
    further = [0.2, 0.8, 0.3, 0.6, 0.1, 0.9, 0.5, 0.4, 0.7, 0.3]
    assert np.isnan(row(human, labels, further)["n_to_halve"])
    # Without further topics, there are none that people could judge.
    assert np.isnan(row(human, labels, [])["n_to_halve"])


def test_four_topics_are_enough() -> None:
    assert LEAST_TOPICS == 4
    human, model = draw_values(4, 9)
    assert prediction_powered(human, model).table["n_human"].eq(4).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "correlation"), [(6, 0.6), (8, 0.8), (12, 0.4)])
def test_estimating_lambda_of_fewer_topics_than_four_costs_more_than_it_gains(
    n, correlation
) -> None:
    """Simulated regression estimates have the variance (1 − ρ²)(n − 2)/(n − 3) / n of normal values.

    For n = 3 it would be infinite, which is why four human topics are required.
    """
    rng = np.random.default_rng(0)
    labels = rng.normal(size=(200_000, n))  # draws, topics
    errors = rng.normal(size=(200_000, n))
    human = correlation * labels + (1 - correlation**2) ** 0.5 * errors

    # The mean of all topics is estimated with the least-squares slope; that of all labels is 0.
    label_means = labels.mean(axis=1)
    deviations = labels - label_means[:, None]
    slopes = (human * deviations).sum(axis=1) / (deviations**2).sum(axis=1)
    estimates = human.mean(axis=1) - slopes * label_means

    expected_variance = (1 - correlation**2) * (n - 2) / (n - 3) / n
    assert estimates.var() == pytest.approx(expected_variance, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "highest_coverage"), [(4, 0.99), (6, 0.975), (12, 0.975), (20, 0.975)]
)
def test_coverage_of_skewed_values(n, highest_coverage) -> None:
    """Intervals of skewed values cover their mean as often as told, if a model overrates all of them."""
    rng = np.random.default_rng(n)
    n_draws, n_further = 4000, 60
    true_mean = 0.8 / (0.8 + 1.6)  # of the beta distribution
    human = rng.beta(0.8, 1.6, (n_draws, n + n_further))
    labels = (human + 0.15 + rng.normal(0, 0.12, human.shape)).clip(0, 1)
    names = [f"run{draw}" for draw in range(n_draws)]  # each draw is a run

    table = prediction_powered(
        frame(dict(zip(names, human[:, :n], strict=True))),
        frame(dict(zip(names, labels, strict=True))),
    ).table

    is_covered = (table["low"] <= true_mean) & (true_mean <= table["high"])
    assert 0.93 < is_covered.mean() < highest_coverage
    is_covered_by_labels = (table["model_low"] <= true_mean) & (true_mean <= table["model_high"])
    assert is_covered_by_labels.mean() < 0.2
    if n > 4:
        widths = table["high"] - table["low"]
        widths_of_human_alone = table["human_high"] - table["human_low"]
        assert widths.mean() < 0.8 * widths_of_human_alone.mean()


# -- bad input
# -------------------------------------------------------------------------------------------------

HUMAN, MODEL = draw_values(6, 10, "ab")


def drop_rows(values: pd.DataFrame, **cells: Any) -> pd.DataFrame:
    """The frame without the rows that have these cells."""
    return values[
        ~np.logical_and.reduce([values[column] == value for column, value in cells.items()])
    ]


BAD = {
    "a human topic that the model lacks": (
        (HUMAN, drop_rows(MODEL, qid="q3")),
        (
            "nDCG@10: expected all 6 topics of human= in model=, which has 15 topics, got none for "
            "topic q3 (1 such"
        ),
    ),
    "swapped": (
        (MODEL, HUMAN),
        "which has 6 topics, got none for topic q10 (10 such topics in all). Are human= and ",
    ),
    "one human topic": (
        (HUMAN[HUMAN["qid"] == "q0"], MODEL),
        "expected at least 4 human topics, got 1",
    ),
    "three human topics": (
        (HUMAN[HUMAN["qid"] < "q3"], MODEL),
        "expected at least 4 human topics, got 3",
    ),
    "no rows": ((HUMAN.iloc[:0], MODEL), "human: expected at least one row"),
    "a run in human only": (
        (HUMAN, drop_rows(MODEL, name="b")),
        "same runs in human and model, got b in human only",
    ),
    "a run in model only": (
        (drop_rows(HUMAN, name="a"), MODEL),
        "same runs in human and model, got a in model only",
    ),
    "a measure in model only": (
        (HUMAN, pd.concat([MODEL, MODEL.assign(measure="AP")])),
        "expected the same measures in human and model, got AP in model only",
    ),
    "a measure of one run only": (
        (
            pd.concat([HUMAN, drop_rows(HUMAN, name="a").assign(measure="AP")]),
            pd.concat([MODEL, MODEL.assign(measure="AP")]),
        ),
        "AP: expected the same runs in human and model, got a in model only",
    ),
    "repeated human rows": (
        (pd.concat([HUMAN, HUMAN]), MODEL),
        "human: expected one value of nDCG@10 for system a",
    ),
    "repeated model rows": (
        (HUMAN, pd.concat([MODEL, MODEL])),
        "model: expected one value of nDCG@10 for system a",
    ),
    "means": (
        (ma.aggregate(HUMAN), MODEL),
        "human: expected a long frame with the columns name, qid, measure, value",
    ),
    "means of the model": ((HUMAN, ma.aggregate(MODEL)), "model: expected a long frame"),
    "not a frame": (
        (HUMAN, 3),
        "model: expected a long frame with the columns name, qid, measure, value, got int",
    ),
    "an infinite value": (
        (HUMAN.replace(HUMAN["value"][2], np.inf), MODEL),
        "human: expected finite values, got inf",
    ),
    "only NaN": (
        (HUMAN.assign(value=np.nan), MODEL),
        "human: expected at least one value, got NaN only",
    ),
    "a gap": (
        (HUMAN.iloc[1:], MODEL),
        "human: systems have different sets of topics: a has no nDCG@10 on topic q0",
    ),
    "text": ((HUMAN.assign(value="high"), MODEL), "human: expected numbers in the column value"),
    "a sum": (
        (HUMAN.assign(measure="NumRet"), MODEL.assign(measure="NumRet")),
        (
            "expected measures whose aggregate is the mean over topics, got NumRet (NumRet); leave it "
            "out"
        ),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_answered_in_one_line(case) -> None:
    frames, message = BAD[case]
    with pytest.raises(MultiAspectError, match=re.escape(message)) as error:
        prediction_powered(*frames)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "c"}, "baseline: expected one of the runs (a, b), got c"),
        ({"baseline": ["a"]}, "baseline: expected one of the runs (a, b), got ['a']"),
        ({"ci": 95}, "ci: expected"),
        ({"ci": None}, "ci: expected"),
    ],
)
def test_bad_options(options, message) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        prediction_powered(HUMAN, MODEL, **options)


def test_a_baseline_alone_has_nothing_to_be_compared_with() -> None:
    only = [drop_rows(values, name="b") for values in (HUMAN, MODEL)]
    with pytest.raises(MultiAspectError, match=r"baseline: expected.*got no other"):
        prediction_powered(*only, baseline="a")


def test_topics_without_human_judgments_may_be_nan_as_pyterrier_has_them() -> None:
    expected = prediction_powered(HUMAN, MODEL).table
    unjudged = MODEL[~MODEL["qid"].isin(HUMAN["qid"])].assign(value=np.nan)
    with pytest.warns(MultiAspectWarning, match="human: 20 values"):
        table = prediction_powered(pd.concat([HUMAN, unjudged]), MODEL).table
    pd.testing.assert_frame_equal(table, expected)


# -- doors
# -----------------------------------------------------------------------------------------------------

TOPICS = [f"q{n}" for n in range(12)]


def world() -> tuple[dict[str, pd.DataFrame], pd.DataFrame, pd.DataFrame]:
    """Two runs, human qrels on five topics, and those of a model on twelve."""
    rng = np.random.default_rng(8)
    rows = [
        (qid, f"d{n}", *rng.choice(3, 2, p=[0.7, 0.2, 0.1])) for qid in TOPICS for n in range(8)
    ]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label", "credibility"])
    model = qrels.assign(label=(qrels["label"] + (rng.random(len(qrels)) < 0.2)).clip(upper=2))
    runs = {
        name: qrels[["qid", "docno"]].assign(score=weight * qrels["label"] + rng.random(len(qrels)))
        for name, weight in (("good", 1.0), ("poor", 0.2))
    }
    return runs, qrels[qrels["qid"].isin(TOPICS[:5])], model


def test_measures_with_different_topics() -> None:
    runs, human, model = world()
    measures = {
        "AP": "AP",
        "credible": ma.On(aspect="credibility", base="AP(rel=2)", aspects={"credibility": 2}),
    }
    values = [ma.evaluate(runs, qrels, measures, progress=False) for qrels in (human, model)]
    fewer = [part[(part["measure"] == "AP") | (part["qid"] != "q1")] for part in values]
    result = prediction_powered(*fewer, baseline="poor")
    assert result.table.groupby("measure")["n_human"].first().to_dict() == {"AP": 5, "credible": 4}
    alone = prediction_powered(
        *(part[part["measure"] == "credible"] for part in fewer), baseline="poor"
    )
    rows = result.table[result.table["measure"] == "credible"].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows, alone.table)


def test_frames_of_experiments_files_and_evaluations_agree(tmp_path) -> None:
    runs, human, model = world()
    values = [ma.evaluate(runs, qrels, ["nDCG@3"], progress=False) for qrels in (human, model)]
    expected = prediction_powered(*values, baseline="poor")
    topics = pd.DataFrame({"qid": TOPICS, "query": "words"})
    systems = [pt.Transformer.from_df(run) for run in runs.values()]
    experiments = []
    for qrels in (human, model):
        asked = topics[topics["qid"].isin(qrels["qid"])]
        experiments.append(
            pt.Experiment(systems, asked, qrels, ["nDCG@3"], names=list(runs), perquery=True)
        )
    files = []
    for number, part in enumerate(values):
        # Query ids of numbers are read as such.
        part.assign(qid=part["qid"].str[1:]).to_csv(tmp_path / f"{number}.csv", index=False)
        files.append(pd.read_csv(tmp_path / f"{number}.csv"))
    texts = (files[0], files[1].astype({"qid": str}))
    for frames in (experiments, files, texts):
        result = prediction_powered(*frames, baseline="poor")
        pd.testing.assert_frame_equal(result.table, expected.table)
        pd.testing.assert_frame_equal(result.differences, expected.differences)


@pytest.fixture(scope="module")
def powered_report() -> Any:
    """A report with human judgments, and the estimates of `prediction_powered` for it."""
    runs, human, model = world()
    scales = {"relevance": 2, "credibility": 2}
    measures = {"TOMA": ma.TOMA(aspects=scales) @ 5, "NumRet": "NumRet"}
    report = ma.report(
        runs, model, measures, human=human, aspects=scales, baseline="poor", progress=False
    )
    values = ma.evaluate(runs, human, report._results.measures, progress=False)
    # NumRet is a sum over topics, of which there is no estimate.
    expected = prediction_powered(
        values[values["measure"] != "NumRet"],
        report.perquery[report.perquery["measure"] != "NumRet"],
        baseline="poor",
    )
    return report, expected


@pytest.mark.slow
def test_reports_have_the_estimates_of_all_means(powered_report) -> None:
    report, expected = powered_report
    pd.testing.assert_frame_equal(report.powered.table, expected.table)
    pd.testing.assert_frame_equal(report.powered.differences, expected.differences)
    # The data of the page: by measure, the estimates and bounds of all runs.
    by_measure = dict(zip(report.labels, report._data["powered"], strict=True))
    assert by_measure["NumRet"] is None
    toma = expected.table[expected.table["measure"] == "TOMA"]
    assert by_measure["TOMA"] == [
        toma["estimate"].tolist(),
        toma["low"].tolist(),
        toma["high"].tolist(),
    ]


@pytest.mark.slow
def test_reports_say_what_estimates_assume(powered_report) -> None:
    report, _ = powered_report
    (note,) = [note for note in report.notes if "random sample" in note]
    n_human = report.powered.table["n_human"].iloc[0]
    assert f"human judgments of {n_human} topics and the model's labels of" in note
    assert " N " not in note  # a column that the page does not have


@pytest.mark.slow
def test_reports_show_the_estimates_below_the_values(powered_report) -> None:
    pytest.importorskip("vl_convert")
    report, expected = powered_report
    page = report.to_html()
    toma = expected.table[expected.table["measure"] == "TOMA"]
    first = toma.iloc[0]
    assert f"{first['estimate']:.4f} [{first['low']:.4f}, {first['high']:.4f}]" in page
    assert '<option value="powered">estimates with human judgments' in page


@pytest.mark.slow
def test_reports_without_human_judgments_have_no_estimates() -> None:
    pytest.importorskip("vl_convert")
    runs, _human, model = world()
    scales = {"relevance": 2, "credibility": 2}
    measures = {"TOMA": ma.TOMA(aspects=scales) @ 5, "NumRet": "NumRet"}
    report = ma.report(runs, model, measures, aspects=scales, progress=False)
    assert report.powered is None
    assert 'value="powered"' not in report.to_html()


def test_reports_refuse_human_judgments_of_other_topics() -> None:
    runs, human, model = world()
    with pytest.raises(MultiAspectError, match=r"expected.*5 topics of human.*model"):
        ma.report(runs, model[model["qid"] != "q2"], "nDCG@3", human=human, progress=False)


def write_files(folder: Any) -> tuple[dict[str, pd.DataFrame], pd.DataFrame, pd.DataFrame]:
    """Write the files of the world, one per aspect and kind of judgment."""
    runs, human, model = world()
    for name, run in runs.items():
        lines = [f"{row.qid} Q0 {row.docno} 1 {row.score!r} {name}" for row in run.itertuples()]
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n")
    for kind, qrels in (("human", human), ("model", model)):
        for aspect in ("label", "credibility"):
            lines = [
                f"{row['qid']} 0 {row['docno']} {row[aspect]}" for row in qrels.to_dict("records")
            ]
            (folder / f"{kind}.{aspect}").write_text("\n".join(lines) + "\n")
    return runs, human, model


LINE = ["evaluate", "--qrels", "relevance=model.label", "credibility=model.credibility"]
LINE += ["--human", "relevance=human.label", "credibility=human.credibility"]
LINE += ["-m", "CAM=CAM(base=P(rel=2)@5) nDCG@3", "--aspects", '{"relevance": 2, "credibility": 2}']


def test_the_command_report_shows_the_estimates(tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("vl_convert")
    runs, human, model = write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["report", *LINE[1:], "-o", "page.html", "good.run", "poor.run"]) == 0, (
        capsys.readouterr().err
    )
    values = [ma.evaluate(runs, qrels, "nDCG@3", progress=False) for qrels in (human, model)]
    page = Path("page.html").read_text(encoding="utf-8")
    for row in prediction_powered(*values).table.to_dict("records"):
        assert f"{row['estimate']:.4f} [{row['low']:.4f}, {row['high']:.4f}]" in page


@pytest.mark.parametrize("baseline", [None, "poor"])
def test_the_command_evaluate_shows_the_estimates(tmp_path, monkeypatch, capsys, baseline) -> None:
    # LINE is the command `evaluate --qrels … --human … -m "CAM=CAM(base=P(rel=2)@5)" nDCG@3`.
    runs, human, model = write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = [] if baseline is None else ["--baseline", baseline]

    assert main([*LINE, *options, "good.run", "poor.run"]) == 0
    out, err = capsys.readouterr()

    assert err == ""
    printed = read_table(out, "\t")
    printed["n_to_halve"] = pd.to_numeric(printed["n_to_halve"])  # empty cells are read as text
    scales = {"relevance": 2, "credibility": 2}
    measures = {"CAM": ma.CAM(base="P(rel=2)@5", aspects=scales), "nDCG@3": "nDCG@3"}
    human_values = ma.evaluate(runs, human, measures, progress=False)
    model_values = ma.evaluate(runs, model, measures, progress=False)
    powered = prediction_powered(human_values, model_values, baseline=baseline)
    expected = powered.table if baseline is None else powered.differences
    pd.testing.assert_frame_equal(printed, expected)


@pytest.mark.parametrize("baseline", [None, "poor"])
def test_the_command_evaluate_explains_the_estimates(
    tmp_path, monkeypatch, capsys, baseline
) -> None:
    write_files(tmp_path)  # good.run, poor.run, and the judgments that LINE names
    monkeypatch.chdir(tmp_path)
    options = [] if baseline is None else ["--baseline", baseline]
    assert main([*LINE, *options, "--format", "table", "good.run", "poor.run"]) == 0
    text = capsys.readouterr().out
    assert "random sample" in text
    has_differences = "Differences from poor." in text
    assert has_differences == (baseline is not None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            [*LINE, "--interval", "mean", "good.run"],
            "--human shows estimates with intervals: omit --interval mean, or --human",
        ),
        (
            [*LINE, "--baseline", "poor", "--test", "t", "good.run", "poor.run"],
            "omit --test, or --human",
        ),
        ([*LINE, "-q", "good.run"], "omit -q, or --human"),
        ([*LINE, "--format", "tot", "good.run"], "omit --format tot, or --human"),
        (
            [*LINE, "--average-over", "positive", "good.run"],
            "use --average-over judged",
        ),
        (
            ["evaluate", "--qrels", "model.label", "--human", "none", "-m", "AP", "good.run"],
            "--human: no such file",
        ),
        (
            [
                "evaluate",
                "--qrels",
                "human.label",
                "--human",
                "model.label",
                "-m",
                "AP",
                "good.run",
            ],
            (
                "AP: expected all 12 topics of --human in --qrels, which has 5 topics, got none for "
                "topic q10 (7 such"
            ),
        ),
        (
            [
                "evaluate",
                "--qrels",
                "model.label",
                "--human",
                "human.label",
                "-m",
                "NumRet",
                "good.run",
            ],
            "expected measures whose aggregate is the mean over topics, got NumRet",
        ),
        (
            [
                "evaluate",
                "--qrels",
                "model.label",
                "--human",
                "human.label",
                "-m",
                "AP",
                "-o",
                "human.label",
                "a",
            ],
            "--output: human.label is read by this command",
        ),
    ],
)
def test_bad_command_lines(tmp_path, monkeypatch, capsys, line, message) -> None:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(line) == 2
    assert message in capsys.readouterr().err


def test_the_result_is_drawn() -> None:
    powered = prediction_powered(HUMAN, MODEL, baseline="b")
    text = str(powered)
    assert repr(powered) == text
    assert max(map(len, text.splitlines())) <= 80
    first = powered.table.iloc[0]
    for part in (
        "Differences from b",
        "random sample",
        f"{first['estimate']:.4f} [{first['low']:.4f}",
    ):
        assert part in text
    page = powered.to_html()
    assert f"{powered.differences['low'].iloc[0]:.4f}".replace("-", "−") in page
    assert "Prediction-powered estimates" in page
    assert "- if none does" in " ".join(powered.notes)


# -- the study of coverage
# -------------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def coverage(study_module: Callable[[str], Any]) -> Any:
    return study_module("coverage")


def cells_of_table(page: str, header: str) -> list[list[str]]:
    """The cells of each row of a Markdown table whose header begins with these columns."""
    _, table = page.split(header)
    _rest_of_header, _separator, *rows = table.split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("| ").split("|")] for row in rows]


def test_intervals_cover_as_often_as_is_said(coverage) -> None:
    """The page has the fraction of covered means and the mean width, as .976 (.241), by interval."""
    page = (ROOT / "docs" / "howto" / "coverage.md").read_text(encoding="utf-8")
    stated = cells_of_table(page, "| measure | human topics |")
    records = coverage.table(coverage.load(coverage.RESULTS)).to_dict("records")
    for record in records:
        cells = [record["measure"], str(record["human topics"])]
        for interval in coverage.INTERVALS:
            fraction = f"{record[f'{interval}, coverage']:.3f}".removeprefix("0")
            width = f"{record[f'{interval}, width']:.3f}".removeprefix("0")
            cells.append(f"{fraction} ({width})")
        assert cells in stated
        assert record["prediction-powered, width"] < 0.85 * record["human alone, width"]
        assert record["labels alone, coverage"] < 0.75
        assert 0.945 <= record["prediction-powered, coverage"] <= 0.98


@pytest.mark.parametrize(("statistic", "lowest"), [("mean", 0.92), ("difference", 0.945)])
def test_intervals_cover_runs_with_zeros_nearly_as_often(coverage, statistic, lowest) -> None:
    """Also if runs are included whose values are 0 on many topics."""
    results = coverage.load(coverage.RESULTS)
    table = coverage.table(results, statistic, most_zeros=1.0)
    coverages = table["prediction-powered, coverage"]
    assert lowest <= coverages.min()
    assert coverages.max() <= 0.975


def test_intervals_cover_some_runs_less_often(coverage) -> None:
    """The lowest coverage of any run, by measure and number of human topics."""
    results = coverage.load(coverage.RESULTS)
    lowest = []
    for by_number in results["intervals"]["mean"].values():
        for by_interval in by_number.values():
            coverage_by_run = by_interval["prediction-powered"]["coverage"]
            lowest.append(min(coverage_by_run))
    assert min(lowest) > 0.71
    assert min(lowest) < max(lowest) < 0.89


@pytest.mark.slow
def test_the_coverage_of_skewed_values_is_as_the_page_says(coverage) -> None:
    page = (ROOT / "docs" / "howto" / "coverage.md").read_text(encoding="utf-8")
    stated = cells_of_table(page, "| skewness |")

    # The rows of the page: for each distribution, human topics alone, then three correlations.
    expected = []
    table = coverage.coverage_of_skewed_values(4000)
    for _, rows in table.groupby(["a", "b"], sort=False):  # the parameters of the distribution
        skewness = rows["skewness"].iloc[0]
        by_number = rows.pivot(index="correlation", columns="human topics")
        without_labels = by_number["human alone"].iloc[0]  # the same for all correlations
        expected.append((skewness, "human topics alone", without_labels))
        for correlation, coverages in by_number["prediction-powered"].iterrows():
            label = f"ρ = {correlation:.1f}".replace("0.", ".")
            expected.append((skewness, label, coverages))

    for cells, (skewness, label, coverages) in zip(stated, expected, strict=True):
        stated_skewness, stated_label, *stated_coverages = cells
        assert float(stated_skewness) == pytest.approx(skewness, abs=0.051)
        assert stated_label == label
        np.testing.assert_allclose([float(cell) for cell in stated_coverages], coverages, atol=0.01)


@pytest.mark.slow
def test_labels_help_from_the_correlations_on_that_the_page_states(coverage) -> None:
    page = (ROOT / "docs" / "howto" / "estimates.md").read_text(encoding="utf-8")
    cells = cells_of_table(page, "| human topics | lower error")
    stated = pd.DataFrame(cells, dtype=float)
    # By column. The error of few draws is uncertain; widths are not.
    tolerances = {
        "human topics": 0,
        "error lower from": 0.12,
        "interval narrower from": 0.03,
        "width at 0": 0.04,
        "width at 0, of PPI++": 0.03,
        "error at .9, of PPI++": 0.03,
    }
    computed = coverage.usefulness_of_labels(4000)
    assert list(computed) == list(tolerances)
    for position, (column, tolerance) in enumerate(tolerances.items()):
        np.testing.assert_allclose(stated[position], computed[column], rtol=0, atol=tolerance)


@pytest.mark.slow
def test_the_study_repeats_its_results(coverage) -> None:
    results = coverage.load(coverage.RESULTS)
    data = shared_path("data")
    again = coverage.study(data, n_judges=2, n_draws=60)
    assert again["runs"] == results["runs"]
    for label, fractions in results["zeros"].items():
        assert again["zeros"][label] == pytest.approx(fractions)
    first, second = (
        coverage.table(values).set_index(["measure", "human topics"]) for values in (again, results)
    )
    np.testing.assert_allclose(first, second, atol=0.1)


def test_the_judge_of_the_study_overrates(coverage) -> None:
    labels = pd.DataFrame({"relevance": [0, 1, 2] * 4000, "understandability": [0, 1, 2, 3] * 3000})
    judged = coverage.overrated(labels, seed=0)
    for name, top in (("relevance", 2), ("understandability", 3)):
        error = judged[name] - labels[name]
        inside = (labels[name] > 0) & (labels[name] < top)
        assert (error[inside] == 1).mean() == pytest.approx(coverage.RAISED, abs=0.02)
        assert (error[inside] == -1).mean() == pytest.approx(coverage.LOWERED, abs=0.02)
        assert judged[name].between(0, top).all()
    pd.testing.assert_frame_equal(judged, coverage.overrated(labels, seed=0))


@pytest.mark.parametrize("label", ["faithful", "AP"])
def test_gaps_in_human_judgments_get_no_advice_on_rankings(label: str) -> None:
    """Kind: a remedy for another input. It was: "use pt_multiaspect.evaluate, which scores … as empty rankings"."""
    rows = [(name, f"q{topic}", label, 0.1 * topic) for name in "ab" for topic in range(6)]
    complete = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    gap = complete[:-1]
    cases = [(gap, complete, "; judge it for all"), (complete, gap, "; let the model judge it")]
    for human, model, remedy in cases:
        with pytest.raises(
            ma.MultiAspectError, match=f"b has no {label} on topic q5.*{remedy}"
        ) as caught:
            prediction_powered(human, model)
        assert "ranking" not in str(caught.value)
    remedy = (
        "scores missing topics as empty rankings" if label == "AP" else "; add the missing values"
    )
    with pytest.raises(ma.MultiAspectError, match=remedy):
        ma.analysis.compare_with_baseline(gap, baseline="a")
