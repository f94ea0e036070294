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
    human, model = draw_values(n, n_further)
    other = draw_values(n, n_further, bias=-0.2, seed=1)
    human = pd.concat([human, other[0].assign(measure="CAM@10")])
    model = pd.concat([model, other[1].assign(measure="CAM@10")])
    table = prediction_powered(human, model, ci=0.9).table
    assert table[["measure", "name"]].to_numpy().tolist() == [
        [measure, name] for measure in ("nDCG@10", "CAM@10") for name in "abc"
    ]
    for record in table.to_dict("records"):
        by_run = [
            values[(values["name"] == record["name"]) & (values["measure"] == record["measure"])][
                "value"
            ].tolist()
            for values in (human, model)
        ]
        few, labels, further = by_run[0], by_run[1][:n], by_run[1][n:]
        slope = reference.slope_of_labels(few, labels)
        assert record["lambda"] == pytest.approx(slope * n_further / (n + n_further), abs=1e-12)
        mean, variance, freedom = reference.doubly_sampled(few, labels, further)
        half = student.ppf(0.95, freedom) * variance**0.5
        assert [record["estimate"], record["low"], record["high"]] == pytest.approx(
            [mean, mean - half, mean + half], abs=1e-12
        )
        for column, values in (("human", few), ("model", by_run[1])):
            ends = ttest_1samp(values, 0).confidence_interval(0.9)
            assert record[column] == pytest.approx(np.mean(values))
            assert [record[f"{column}_low"], record[f"{column}_high"]] == pytest.approx(list(ends))
        assert (record["n_human"], record["n_further"]) == (n, n_further)
        assert record["sd"] == pytest.approx(np.std(few, ddof=1))
        assert record["error_sd"] == pytest.approx(reference.residual_of_labels(few, labels) ** 0.5)
        assert record["n_to_halve"] == pytest.approx(
            least_topics(few, labels, further, 2 * half / 2, 0.9, n), nan_ok=True
        )


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


def test_differences_are_those_of_a_run_whose_values_they_are() -> None:
    human, model = draw_values(8, 30)
    powered = prediction_powered(human, model, baseline="b")
    wide = [values.pivot(index="qid", columns="name", values="value") for values in (human, model)]
    minus = [
        (values[["c", "a"]].sub(values["b"], axis=0))
        .melt(ignore_index=False)
        .reset_index()
        .assign(measure="d")
        for values in wide
    ]
    expected = prediction_powered(*minus).table.set_index("name")
    differences = powered.differences.set_index("name")
    assert differences["baseline"].tolist() == ["b", "b"]
    assert differences.index.tolist() == ["a", "c"]
    columns = [column for column in expected if column != "measure"]
    pd.testing.assert_frame_equal(differences[columns], expected.loc[["a", "c"], columns])
    # Topics are paired: not the difference of two estimates, of which λ differ.
    assert powered.baseline == "b"
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
    human, labels, further = noisy_labels()
    table = []
    for n_further in (5, 100, 400):
        result = row(human, labels, further[:n_further])
        width = (result["high"] - result["low"]) / 2
        expected = least_topics(human, labels, further[:n_further], width, 0.95, 10)
        assert result["n_to_halve"] == pytest.approx(expected, nan_ok=True)
        table.append(result["n_to_halve"])
    # Of 15 topics, not even all are enough.
    assert np.isnan(table[0])
    assert 10 < table[2] < table[1] < 110
    assert " - " in str(prediction_powered(frame(human), frame([*labels, *further[:5]]))) + " "


def noisy_labels() -> tuple[list[float], list[float], list[float]]:
    """Values and labels of 10 human topics, and labels of 400 further ones."""
    rng = np.random.default_rng(4)
    human = rng.beta(1, 2, 10)
    return human.tolist(), (human + rng.normal(0, 0.2, 10)).tolist(), rng.beta(1, 2, 400).tolist()


@pytest.mark.parametrize("n_further", [0, 5, 40, 400])
def test_human_topics_for_a_width_are_the_least(n_further) -> None:
    human, labels, further = noisy_labels()
    powered = prediction_powered(frame(human), frame([*labels, *further[:n_further]]))
    for width in (1e-4, 0.05, 0.1, 0.2, 0.4, 3.0):
        (planned,) = powered.human_topics(width=width).to_dict("records")
        assert planned["n_topics"] == 10 + n_further
        expected = least_topics(human, labels, further[:n_further], width, 0.95)
        assert planned["n_needed"] == pytest.approx(expected, nan_ok=True)
    assert np.isnan(powered.human_topics(width=1e-4)["n_needed"]).all()
    assert powered.human_topics(width=3.0)["n_needed"].tolist() == [4]


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
    human, model = draw_values(6, 24, "ab", seed=seed)
    powered = prediction_powered(human, model, baseline="a")
    (planned,) = powered.human_topics(difference=difference, power=power).to_dict("records")
    assert (planned["baseline"], planned["name"], planned["n_topics"]) == ("a", "b", 30)
    found = powered.differences.iloc[0]
    normal = NormalTopics(found["sd"], found["error_sd"], found["lambda"] * 30 / 24)
    enough = 30 if np.isnan(planned["n_needed"]) else int(planned["n_needed"])
    reached = normal.power(difference, enough, 30, 1000)
    # Four standard errors of the simulation.
    if np.isnan(planned["n_needed"]):
        assert reached < power + 0.065
        return
    assert reached > power - 0.065
    if enough > 4:
        assert normal.power(difference, enough - 1, 30, 1000) < power + 0.065


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
    """Also where the slope of the labels, at most 1, is often cut off."""
    unexplained, effects = (1 - correlation**2) ** 0.5, np.array([0.5, 2.0]) / n**0.5
    normal = NormalTopics(1.0, unexplained, slope if correlation else 0.0)
    highest = correlation / slope if correlation else 1.0
    found = power_of_double_sampling(
        effects, np.full(2, unexplained), np.full(2, highest), n, n_topics, 0.05
    )
    simulated = [normal.power(effect, n, n_topics, 2000) for effect in effects.tolist()]
    assert found == pytest.approx(simulated, abs=0.045)
    mirrored = power_of_double_sampling(
        -effects, np.full(2, unexplained), np.full(2, highest), n, n_topics, 0.05
    )
    assert mirrored == pytest.approx(found, abs=0.01)


def test_labels_without_errors() -> None:
    """The variance of the labels is left, over all topics."""
    human, further = [0.1, 0.5, 0.2, 0.9, 0.4], [0.42, 0.1, 0.3]
    result = row(human, human, further)
    assert result["lambda"] == 3 / 8
    assert result["error_sd"] == 0
    assert result["high"] - result["low"] == pytest.approx(
        2 * student.ppf(0.975, 3) * np.std([*human, *further], ddof=1) / 8**0.5
    )


def test_no_number_of_topics_at_hand_may_halve_the_width() -> None:
    human = [0.1, 0.5, 0.2, 0.9, 0.4, 0.6, 0.3, 0.7, 0.2, 0.1, 0.8, 0.3]
    labels = [value + 0.01 * (-1) ** n for n, value in enumerate(human)]
    further = [0.2, 0.8, 0.3, 0.6, 0.1, 0.9, 0.5, 0.4, 0.7, 0.3]
    assert np.isnan(row(human, labels, further)["n_to_halve"])
    assert np.isnan(row(human, labels, [])["n_to_halve"])


def test_four_topics_are_enough() -> None:
    assert LEAST_TOPICS == 4
    human, model = draw_values(4, 9)
    assert prediction_powered(human, model).table["n_human"].eq(4).all()


@pytest.mark.slow
def test_estimating_lambda_of_fewer_topics_than_four_costs_more_than_it_gains() -> None:
    """The factor (1 − ρ²)(n − 2)/(n − 3) of the variance of a regression estimate, simulated."""
    rng = np.random.default_rng(0)
    for n, correlation in ((6, 0.6), (8, 0.8), (12, 0.4)):
        labels = rng.normal(size=(200_000, n))
        human = correlation * labels + (1 - correlation**2) ** 0.5 * rng.normal(size=labels.shape)
        centred = labels - labels.mean(axis=1, keepdims=True)
        slope = (human * centred).sum(axis=1) / (centred**2).sum(axis=1)
        variance = (human.mean(axis=1) - slope * labels.mean(axis=1)).var() * n
        assert variance == pytest.approx((1 - correlation**2) * (n - 2) / (n - 3), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 6, 12, 20])
def test_coverage_of_skewed_values(n) -> None:
    """Each draw is a run: topics of Beta(.8, 1.6), a model that overrates; the usual interval covers too rarely."""
    rng = np.random.default_rng(n)
    n_draws, n_further = 4000, 60
    human = rng.beta(0.8, 1.6, (n_draws, n + n_further))
    labels = (human + 0.15 + rng.normal(0, 0.12, human.shape)).clip(0, 1)
    names = [f"run{draw}" for draw in range(n_draws)]
    table = prediction_powered(
        frame(dict(zip(names, human[:, :n], strict=True))),
        frame(dict(zip(names, labels, strict=True))),
    ).table
    covered = (table["low"] <= 1 / 3) & (table["high"] >= 1 / 3)
    assert 0.93 < covered.mean() < (0.99 if n == 4 else 0.975)
    alone = (table["model_low"] <= 1 / 3) & (table["model_high"] >= 1 / 3)
    assert alone.mean() < 0.2
    if n > 4:
        widths = table["high"] - table["low"], table["human_high"] - table["human_low"]
        assert widths[0].mean() < 0.8 * widths[1].mean()


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


@pytest.mark.slow
def test_reports_show_the_estimates_below_the_values() -> None:
    runs, human, model = world()
    scales = {"relevance": 2, "credibility": 2}
    measures = {"TOMA": ma.TOMA(aspects=scales) @ 5, "NumRet": "NumRet"}
    report = ma.report(
        runs, model, measures, human=human, aspects=scales, baseline="poor", progress=False
    )
    labels = [label for label in report.labels if label != "NumRet"]
    values = ma.evaluate(runs, human, report._results.measures, progress=False)
    parts = [part[part["measure"].isin(labels)] for part in (values, report.perquery)]
    expected = prediction_powered(*parts, baseline="poor")
    pd.testing.assert_frame_equal(report.powered.table, expected.table)
    pd.testing.assert_frame_equal(report.powered.differences, expected.differences)
    by_measure = dict(zip(report.labels, report._data["powered"], strict=True))
    assert by_measure["NumRet"] is None
    rows = expected.table[expected.table["measure"] == "TOMA"]
    assert by_measure["TOMA"] == [rows[column].tolist() for column in ("estimate", "low", "high")]
    (note,) = [note for note in report.notes if "random sample" in note]
    n_human = report.powered.table["n_human"].iloc[0]
    assert f"human judgments of {n_human} topics and the model's labels of" in note
    assert " N " not in note  # a column that the page does not have
    pytest.importorskip("vl_convert")
    page = report.to_html()
    first = rows.iloc[0]
    assert f"{first['estimate']:.4f} [{first['low']:.4f}, {first['high']:.4f}]" in page
    assert '<option value="powered">estimates with human judgments' in page
    alone = ma.report(runs, model, measures, aspects=scales, progress=False)
    assert alone.powered is None
    assert 'value="powered"' not in alone.to_html()


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
    runs, human, model = write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    more = [] if baseline is None else ["--baseline", "poor"]
    assert main([*LINE, *more, "good.run", "poor.run"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    table = read_table(out, "\t")
    scales = {"relevance": 2, "credibility": 2}
    measures = {"CAM": ma.CAM(base="P(rel=2)@5", aspects=scales), "nDCG@3": "nDCG@3"}
    values = [ma.evaluate(runs, qrels, measures, progress=False) for qrels in (human, model)]
    expected = prediction_powered(*values, baseline=baseline)
    table["n_to_halve"] = pd.to_numeric(table["n_to_halve"])  # empty cells are read as text
    pd.testing.assert_frame_equal(
        table, expected.table if baseline is None else expected.differences
    )
    assert main([*LINE, *more, "--format", "table", "good.run", "poor.run"]) == 0
    text = capsys.readouterr().out
    assert "random sample" in text
    assert ("Differences from poor." in text) == (baseline is not None)


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


def test_intervals_cover_as_often_as_is_said(coverage) -> None:
    results = coverage.load(coverage.RESULTS)
    page = (ROOT / "docs" / "howto" / "coverage.md").read_text(encoding="utf-8")
    for record in coverage.table(results).to_dict("records"):
        cells = [record["measure"], str(record["human topics"])]
        for interval in coverage.INTERVALS:
            share, width = (record[f"{interval}, {figure}"] for figure in ("coverage", "width"))
            cells.append(f"{share:.3f} ({width:.3f})".replace("0.", "."))
        assert f"| {' | '.join(cells)} |" in page
        assert record["prediction-powered, width"] < 0.85 * record["human alone, width"]
        assert record["labels alone, coverage"] < 0.75
        assert 0.945 <= record["prediction-powered, coverage"] <= 0.98
    for statistic, low in (("mean", 0.92), ("difference", 0.945)):
        coverages = coverage.table(results, statistic, most_zeros=1.0)[
            "prediction-powered, coverage"
        ]
        assert low <= coverages.min() <= coverages.max() <= 0.975
    worst = [
        min(by_n[n]["prediction-powered"]["coverage"])
        for by_n in results["intervals"]["mean"].values()
        for n in by_n
    ]
    assert 0.71 < min(worst) < max(worst) < 0.89


@pytest.mark.slow
def test_the_coverage_of_skewed_values_is_as_the_page_says(coverage) -> None:
    page = (Path(__file__).parents[1] / "docs" / "howto" / "coverage.md").read_text(
        encoding="utf-8"
    )
    lines = page.partition("| skewness |")[2].split("\n\n")[0].splitlines()[2:]
    stated = [[float(number) for number in re.findall(r"\d?\.\d+", line)] for line in lines]
    table = coverage.coverage_of_skewed_values(4000)
    by_skewness = [rows for _, rows in table.groupby(["a", "b"], sort=False)]
    assert len(stated) == 4 * len(by_skewness)
    for first, rows in zip(range(0, len(stated), 4), by_skewness, strict=True):
        skewness, *alone = stated[first]
        assert rows["skewness"].iloc[0] == pytest.approx(skewness, abs=0.051)
        by_labels = rows.pivot(index="correlation", columns="human topics")
        np.testing.assert_allclose(alone, by_labels["human alone"].iloc[0], atol=0.01)
        for (_, correlation, *numbers), (label, row) in zip(
            stated[first + 1 : first + 4], by_labels["prediction-powered"].iterrows(), strict=True
        ):
            assert correlation == label
            np.testing.assert_allclose(numbers, row, atol=0.01)


@pytest.mark.slow
def test_labels_help_from_the_correlations_on_that_the_page_states(coverage) -> None:
    page = (ROOT / "docs" / "howto" / "estimates.md").read_text(encoding="utf-8")
    lines = page.partition("| human topics | lower error")[2].split("\n\n")[0].splitlines()[2:]
    stated = [[float(cell) for cell in line.strip("| ").split("|")] for line in lines]
    # The error of few draws is uncertain; widths are not.
    tolerances = np.array([0, 0.12, 0.03, 0.04, 0.03, 0.03])
    assert (np.abs(np.array(stated) - coverage.usefulness_of_labels(4000)) <= tolerances).all(
        axis=None
    )


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
