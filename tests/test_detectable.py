"""Detectable differences and numbers of topics: golden cases, laws of power, and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, ttest_rel
from shared_data import golden

import pt_multiaspect as ma
from pt_multiaspect.analysis import detectable_difference
from pt_multiaspect.kernels.intervals import (
    detectable_effect,
    power_of_t_test,
    topics_needed,
    upper_deviation,
)


def world(n_runs: int = 4, n_topics: int = 10, seed: int = 0, **measures: float) -> pd.DataFrame:
    """A long frame of normal values, with the standard deviation of each measure."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"run {run}", f"q{topic}", measure, rng.normal(0.5, deviation))
        for measure, deviation in (measures or {"AP": 0.1, "RR": 0.3}).items()
        for run in range(n_runs)
        for topic in range(n_topics)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def golden_cases(function: str) -> list[dict[str, Any]]:
    cases = golden("planning.json")["cases"]
    return [case for case in cases if case["function"] == function]


def test_golden_powers() -> None:
    cases = golden_cases("t_power")
    assert len(cases) == 4
    for case in cases:
        given = case["input"]
        power = power_of_t_test(
            np.array(given["d"] / given["sd"]), np.array(given["n"]), given["alpha"]
        )
        assert power == pytest.approx(case["expected"]["power"], abs=case["tolerance"]), case["id"]


def test_golden_differences_topics_and_limits() -> None:
    for case in golden_cases("detectable"):
        given = case["input"]
        found = given["sd"] * detectable_effect(given["n"], given["power"], given["alpha"])
        assert found == pytest.approx(case["expected"]["difference"], abs=case["tolerance"]), case[
            "id"
        ]
    for case in golden_cases("n_topics"):
        given = case["input"]
        (n,) = topics_needed(np.array([given["d"] / given["sd"]]), given["power"], given["alpha"])
        assert n == case["expected"]["n"], case["id"]
    for case in golden_cases("sd_upper"):
        given = case["input"]
        limit = upper_deviation(np.array(given["sd"]), given["n"], given["confidence"])
        assert limit == pytest.approx(case["expected"]["sd"], abs=case["tolerance"]), case["id"]


def test_golden_pilot() -> None:
    (case,) = golden_cases("pilot")
    rows = [
        (name, f"q{n}", "AP", value)
        for name, values in case["input"]["values"].items()
        for n, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    (row,) = detectable_difference(frame, difference=case["expected"]["difference"]).pairs.to_dict(
        "records"
    )
    assert row["sd"] == pytest.approx(case["expected"]["sd"], abs=1e-9)
    assert row["n_needed"] == case["expected"]["n"]


@pytest.mark.filterwarnings("error")
@given(st.integers(2, 10_000), st.floats(1e-9, 0.2), st.floats(1e-3, 1e3), st.floats(1, 10))
def test_power_grows_with_topics_and_differences(
    n: int, alpha: float, effect: float, factor: float
) -> None:
    """Also where SciPy's noncentral t distribution is NaN, or does not converge."""
    effects = np.array([0.0, effect, effect * factor, 1e13])
    powers = power_of_t_test(effects, np.array(n), alpha)
    assert (np.diff(powers) >= -1e-7).all()
    assert powers[0] == pytest.approx(alpha, abs=1e-5)
    assert powers[-1] == pytest.approx(1)
    more = power_of_t_test(effects, np.array(n + 1), alpha)
    assert (more >= powers - 1e-7).all()


def test_there_is_at_least_one_degree_of_freedom() -> None:
    """Two clusters of very different sizes would have 0.6 * 2 - 1 = 0.2 degrees of freedom."""
    effects = np.array([0.5, 2.0, 20.0])
    power_of_equal_sizes = power_of_t_test(effects, np.array(2), 0.05)
    power = power_of_t_test(effects, np.array(2), 0.05, freedom_ratio=0.6)
    assert power.tolist() == power_of_equal_sizes.tolist()


@given(st.floats(0.01, 20), st.floats(0.5, 0.99), st.floats(1e-6, 0.1))
def test_the_least_number_of_topics_is_the_least(effect: float, power: float, alpha: float) -> None:
    (n,) = topics_needed(np.array([effect]), power, alpha)
    assert power_of_t_test(np.array(effect), np.array(n), alpha) >= power
    assert n == 2 or power_of_t_test(np.array(effect), np.array(n - 1), alpha) < power
    # The difference that these topics detect is at most this one.
    assert detectable_effect(int(n), power, alpha) <= effect * (1 + 1e-9)


@pytest.mark.parametrize("freedom_ratio", [1.0, 0.25])
def test_large_numbers_of_topics_are_those_of_the_normal_distribution_corrected(
    freedom_ratio: float,
) -> None:
    """The t distribution with f n degrees of freedom needs z² / (2 f) topics more."""
    z, z_of_power = norm.ppf(0.975), norm.ppf(0.8)
    effect = 5e-4
    (n,) = topics_needed(np.array([effect]), 0.8, 0.05, freedom_ratio)
    of_normal = ((z + z_of_power) / effect) ** 2
    assert of_normal > 3e7
    assert n == np.ceil(of_normal + z**2 / (2 * freedom_ratio))


def test_pairs_are_planned_at_their_share_of_the_level() -> None:
    """Of four runs there are six pairs: each is tested at 0.05 / 6, by Bonferroni's correction."""
    frame = world(n_runs=4, n_topics=10)  # with the measures AP and RR
    alpha = 0.05 / 6

    result = detectable_difference(frame, difference={"AP": 0.05, "RR": 0.1})

    by_topic = frame.pivot(index="qid", columns=["measure", "name"], values="value")
    for row in result.pairs.to_dict("records"):
        differences = by_topic[row["measure"], row["a"]] - by_topic[row["measure"], row["b"]]
        sd = differences.std()
        assert row["sd"] == pytest.approx(sd)
        detectable_effect_size = np.array(row["detectable"] / sd)
        power = power_of_t_test(detectable_effect_size, np.array(10), alpha)
        assert power == pytest.approx(0.8)
        effect_size = np.array([row["difference"] / row["sd"]])
        (n_needed,) = topics_needed(effect_size, 0.8, alpha)
        assert row["n_needed"] == n_needed
        assert n_needed < row["n_needed_high"]
    for row in result.table.to_dict("records"):
        of_measure = result.pairs[result.pairs["measure"] == row["measure"]]
        assert row["median"] == pytest.approx(of_measure["detectable"].median())
        assert row["high"] == pytest.approx(of_measure["detectable"].quantile(0.9))
        assert (row["n_topics"], row["n_pairs"], row["alpha"]) == (10, 6, alpha)


def test_smaller_differences_are_detectable_without_correction() -> None:
    frame = world()
    corrected = detectable_difference(frame).pairs["detectable"]
    uncorrected = detectable_difference(frame, correction=None).pairs["detectable"]
    assert (uncorrected < corrected).all()


def test_four_times_the_topics_more_than_halve_the_detectable_difference() -> None:
    frame = world(n_topics=10)
    of_10 = detectable_difference(frame)
    of_40 = detectable_difference(frame, n_topics=40)
    assert (of_40.pairs["detectable"] < of_10.pairs["detectable"] / 2).all()
    assert set(of_40.table["n_topics"]) == {40}


def test_pairs_of_baselines_count_once() -> None:
    """The pair of two baselines is in the rows of both, but is one test."""
    frame = world(n_runs=4)  # with two measures
    by_baseline = detectable_difference(frame, baseline=["run 0", "run 1"])
    # Each baseline is compared with three runs.
    assert len(by_baseline.pairs) == 2 * (3 + 3)
    assert by_baseline.table["n_pairs"].tolist() == [5, 5]
    assert by_baseline.table["alpha"].tolist() == pytest.approx([0.05 / 5, 0.05 / 5])
    # Without baselines, there are six pairs of four runs.
    all_pairs = detectable_difference(frame)
    assert all_pairs.table["alpha"].tolist() == pytest.approx([0.05 / 6, 0.05 / 6])


def test_equal_runs_have_no_detectable_difference() -> None:
    """Differences that are the same on all topics have the standard deviation 0."""
    frame = world(3)  # runs 0 to 2, of which 0 gets a copy, and one that is higher by a constant
    copied = frame[frame["name"] == "run 0"].assign(name="copy")
    shifted = copied.assign(name="shifted", value=copied["value"] + 0.25)

    result = detectable_difference(pd.concat([frame, copied, shifted]), difference=0.1)

    unknown = result.pairs[result.pairs["detectable"].isna()]
    names = set(unknown["a"] + ", " + unknown["b"])
    assert names == {"run 0, copy", "run 0, shifted", "copy, shifted"}
    assert unknown["n_needed"].isna().all()
    assert set(result.table["n_equal"]) == {3}
    # Three pairs for each of the two measures.
    assert any("6 pairs left out" in note for note in result.notes)


def test_without_other_runs_than_equal_ones_nothing_is_known() -> None:
    frame = world(1)  # run 0
    both = pd.concat([frame, frame.assign(name="copy")])
    assert detectable_difference(both).table["median"].isna().all()
    assert "-" in str(detectable_difference(both, difference=0.1))


def test_any_order_of_rows_gives_the_same() -> None:
    frame = world()
    shuffled = frame.sample(frac=1, random_state=1)

    def sorted_pairs(values: pd.DataFrame) -> pd.DataFrame:
        """The pairs, sorted, each with the first name in alphabetical order as `a`."""
        pairs = detectable_difference(values).pairs
        # Which run is `a` depends on which comes first in the frame.
        is_swapped = pairs["a"] > pairs["b"]
        pairs.loc[is_swapped, ["a", "b"]] = pairs.loc[is_swapped, ["b", "a"]].to_numpy()
        return pairs.sort_values(["measure", "a", "b"], ignore_index=True)

    pd.testing.assert_frame_equal(sorted_pairs(frame), sorted_pairs(shuffled))


@pytest.mark.slow
def test_planned_power_is_reached_in_simulations() -> None:
    rng = np.random.default_rng(0)
    for n, effect in ((10, detectable_effect(10, 0.8, 0.05)), (30, 0.4)):
        differences = rng.normal(effect, 1, (20_000, n))
        found = (ttest_rel(differences, np.zeros_like(differences), axis=1).pvalue < 0.05).mean()
        assert power_of_t_test(np.array(effect), np.array(n), 0.05) == pytest.approx(
            found, abs=0.012
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"difference": 0}, "difference: expected a number above 0, got 0"),
        ({"difference": {"AP": 0.1}}, "expected one difference per measure (AP), got RR"),
        (
            {"difference": {"AP": 0.1, "RR": 0.1, "P": 1}},
            "difference: expected measures (AP, RR), got P",
        ),
        ({"power": 0.04}, "power: expected a probability above alpha=0.05, got 0.04"),
        ({"power": 1}, "power"),
        ({"n_topics": 1}, "n_topics: expected a whole number of at least 2"),
        ({"correction": "hlom"}, "correction"),
        ({"baseline": "run 9"}, "run 9"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ma.MultiAspectError) as error:
        detectable_difference(world(), **options)
    assert message in str(error.value)


def test_text_says_what_is_assumed() -> None:
    text = str(detectable_difference(world(), difference=0.05))
    for words in (
        "Detectable differences",
        "needed",
        "fixed in advance",
        "do not rank measures",
        "upper 80 %",
    ):
        assert words in " ".join(text.split())
    assert "needed" not in str(detectable_difference(world()).table)
