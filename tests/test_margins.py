"""Margins: whether systems are not worse than a baseline, or equivalent to it: `margin=` and `--margin`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference import holm
from scipy import stats
from test_clusters import by_qid, golden_cases, long
from test_macro_means import COLLECTIONS, FRAME, WITHIN, differences

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, errors
from pt_multiaspect.analysis import compare_with_baseline

#: The columns of a comparison with a margin: the levels of two tests, and the ends of an interval.
LEVELS = ["p_not_worse", "p_equivalent"]
ENDS = ["margin_low", "margin_high"]
NEW = [*LEVELS, *ENDS]


def one_sided(values: np.ndarray, margin: float) -> tuple[float, float]:
    """Return the levels by SciPy that a mean is above −margin, and that it is below it."""
    above = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, margin, alternative="less").pvalue
    return float(above), float(below)


def interval_of_mean(values: np.ndarray, confidence: float) -> list[float]:
    """Return the ends of the interval of the t-test by SciPy."""
    interval = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    return [interval.low, interval.high]


@pytest.mark.parametrize(
    ("label", "lower_is_better"), [("AP", False), ("ESL", True)], ids=["AP", "ESL"]
)
def test_two_one_sided_tests(label: str, lower_is_better: bool) -> None:
    """A run is equivalent if it is neither lower nor higher by the margin, at 0.05 each.

    The interval of 90 % has 5 % on either side, as these two tests.
    """
    frame = FRAME.assign(measure=label)
    comparison = compare_with_baseline(frame, "bm25", correction=None, margin=0.15)
    for _, row in comparison.iterrows():
        differences_by_topic = differences(row["name"])
        level_of_above, level_of_below = one_sided(differences_by_topic, 0.15)
        level_of_not_worse = level_of_below if lower_is_better else level_of_above
        assert row["p_not_worse"] == pytest.approx(level_of_not_worse)
        assert row["p_equivalent"] == pytest.approx(max(level_of_above, level_of_below))
        expected_ends = interval_of_mean(differences_by_topic, 0.9)
        assert row[ENDS].tolist() == pytest.approx(expected_ends)


def test_the_other_columns_are_as_without_a_margin() -> None:
    for options in ({}, {"by": COLLECTIONS, "macro": True}):
        found = compare_with_baseline(FRAME, ["bm25", "dense"], margin=0.1, **options)
        assert found.columns.tolist()[-1] == "verdict"
        pd.testing.assert_frame_equal(
            found.drop(columns=NEW), compare_with_baseline(FRAME, ["bm25", "dense"], **options)
        )


def test_levels_are_corrected_in_the_family_of_p() -> None:
    """The tests on collections are a family, those on all topics, and those of macro means."""
    options: dict[str, Any] = {"by": COLLECTIONS, "macro": True, "margin": 0.2}
    plain = compare_with_baseline(FRAME, "bm25", correction=None, **options)
    holm_table = compare_with_baseline(FRAME, "bm25", **options)
    bonferroni_table = compare_with_baseline(FRAME, "bm25", correction="bonferroni", **options)
    for groups in (["a", "b", "c"], ["all"], ["macro"]):
        is_of_family = plain["group"].isin(groups)
        for column in LEVELS:
            levels = plain.loc[is_of_family, column].tolist()
            by_holm = holm_table.loc[is_of_family, column].tolist()
            assert by_holm == pytest.approx(holm(levels))
            by_bonferroni = bonferroni_table.loc[is_of_family, column].tolist()
            n_tests = len(levels)
            expected = [min(1.0, level * n_tests) for level in levels]
            assert by_bonferroni == pytest.approx(expected)


def test_intervals_with_a_margin_are_corrected_by_bonferroni() -> None:
    """Of two runs on all topics: 0.05 / 2 on either side."""
    comparison = compare_with_baseline(FRAME, "bm25", by=COLLECTIONS, macro=True, margin=0.2)
    on_all_topics = comparison[comparison["group"] == "all"]
    assert len(on_all_topics) == 2
    for _, row in on_all_topics.iterrows():
        expected_ends = interval_of_mean(differences(row["name"]), 1 - 2 * 0.05 / 2)
        assert row[ENDS].tolist() == pytest.approx(expected_ends)


@pytest.mark.parametrize("seed", range(5))
def test_intervals_and_equivalence_agree(seed: int) -> None:
    """A run is equivalent if its interval is within the margin, and only then.

    Holm may find further runs equivalent, as its intervals are those of Bonferroni.
    """
    rng = np.random.default_rng(seed)
    values_of_base = rng.random(30)  # of 30 topics
    values_by_run = {"base": values_of_base.tolist()}
    for number in range(6):
        mean_difference = rng.normal(0, 0.05)
        noise = rng.normal(0, 0.1, 30)
        values_by_run[f"run {number}"] = (values_of_base + mean_difference + noise).tolist()
    frame = long(values_by_run)
    for correction in (None, "bonferroni", "fdr_bh", "holm"):
        comparison = compare_with_baseline(frame, "base", correction=correction, margin=0.05)
        is_inside = (comparison["margin_low"] > -0.05) & (comparison["margin_high"] < 0.05)
        is_equivalent = comparison["p_equivalent"] < 0.05
        assert not (is_inside & ~is_equivalent).any()
        if correction != "holm":
            assert (is_inside == is_equivalent).all()
        assert (comparison["p_not_worse"] <= comparison["p_equivalent"]).all()


@pytest.mark.parametrize(
    ("margin", "expected_levels"),
    [
        # The levels of "not worse" and "equivalent" are 0 where the difference is above −margin,
        # and between −margin and margin; else 1.
        (0.05, {"up": (0.0, 1.0), "down": (1.0, 1.0), "same": (0.0, 0.0)}),
        (0.0501, {"up": (0.0, 0.0), "down": (0.0, 0.0), "same": (0.0, 0.0)}),
        (0.0499, {"up": (0.0, 1.0), "down": (1.0, 1.0), "same": (0.0, 0.0)}),
    ],
)
def test_differences_without_error(
    margin: float, expected_levels: dict[str, tuple[float, float]]
) -> None:
    """A difference that is the same on all topics is compared with the margin, but for rounding."""
    runs = {
        "base": [0.3, 0.5, 0.1],
        "up": [0.35, 0.55, 0.15],  # 0.05 more on each topic
        "down": [0.25, 0.45, 0.05],
        "same": [0.3, 0.5, 0.1],
    }
    comparison = compare_with_baseline(long(runs), "base", correction=None, margin=margin)
    levels_by_run = comparison.set_index("name")[["p_not_worse", "p_equivalent"]]
    for name, levels in expected_levels.items():
        assert tuple(levels_by_run.loc[name]) == levels, name


def test_the_golden_case_with_clusters() -> None:
    """The tests use the standard error and the degrees of freedom of clusters.

    The case has the degrees and the low ends of intervals of 95 %, from which the error follows.
    """
    (case,) = golden_cases("compare")
    given, expected = case["given"], case["expected"]
    frame, clusters = long(given["runs"]), by_qid(given["clusters"])
    margin = 0.3
    with errors.silence_warnings():
        comparison = compare_with_baseline(
            frame, "b", cluster=clusters, correction=None, margin=margin
        )
    for row, freedom, low in zip(
        comparison.to_dict("records"), expected["freedom"], expected["low"], strict=True
    ):
        difference = row["difference"]
        error = (difference - low) / stats.t.isf(0.025, freedom)
        level_of_above = stats.t.sf((margin + difference) / error, freedom)
        level_of_below = stats.t.sf((margin - difference) / error, freedom)
        assert row["p_not_worse"] == pytest.approx(level_of_above, rel=1e-9)
        assert row["p_equivalent"] == pytest.approx(max(level_of_above, level_of_below), rel=1e-9)
        half_of_90_percent = stats.t.isf(0.05, freedom) * error
        assert row["margin_high"] - difference == pytest.approx(half_of_90_percent, rel=1e-9)


def test_macro_means_and_clusters_within_groups() -> None:
    """The interval of the margin, of 90 %, is narrower than that of the difference, of 95 %."""
    with errors.silence_warnings():
        comparison = compare_with_baseline(
            FRAME,
            "bm25",
            margin=0.5,
            by=COLLECTIONS,
            macro=True,
            cluster=WITHIN,
            correction=None,
        )
    macro = comparison[comparison["group"] == "macro"]
    assert macro[NEW].notna().all(axis=None)
    half_of_margin = macro["margin_high"] - macro["difference"]
    half_of_difference = macro["high"] - macro["difference"]
    assert (half_of_margin < half_of_difference).all()


def test_a_group_of_one_topic_has_no_test_with_a_margin() -> None:
    """Nor has the macro mean, to which the group belongs."""
    groups = {**COLLECTIONS, "q00": "x"}  # q00 alone is x
    with errors.silence_warnings():
        comparison = compare_with_baseline(FRAME, "bm25", margin=0.5, by=groups, macro=True)
    is_without_test = comparison["group"].isin(["x", "macro"])
    assert comparison.loc[is_without_test, NEW].isna().all(axis=None)


def test_two_baselines_are_compared_in_both_directions() -> None:
    found = compare_with_baseline(FRAME, ["bm25", "dense"], correction=None, margin=0.1)
    rows = found.set_index(["baseline", "name"])
    forth, back = rows.loc[("bm25", "dense")], rows.loc[("dense", "bm25")]
    above, below = one_sided(differences("dense"), 0.1)
    assert [forth["p_not_worse"], back["p_not_worse"]] == pytest.approx([above, below])
    assert forth["p_equivalent"] == back["p_equivalent"]
    assert [back["margin_low"], back["margin_high"]] == pytest.approx(
        [-forth["margin_high"], -forth["margin_low"]]
    )


def test_margins_by_measure() -> None:
    """With half the values and half the margin, a measure has the same levels."""
    halves = FRAME.assign(measure="RR", value=FRAME["value"] / 2)
    both = pd.concat([FRAME, halves], ignore_index=True)  # AP and RR
    comparison = compare_with_baseline(both, "bm25", margin={"AP": 0.1, "RR": 0.05})
    levels = comparison.set_index(["measure", "name"])[["p_not_worse", "p_equivalent"]]
    for name in ("dense", "rerank"):
        assert levels.loc["AP", name].tolist() == pytest.approx(levels.loc["RR", name].tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0}, "margin: expected a number above 0"),
        ({"margin": -0.1}, "margin: expected a number above 0"),
        ({"margin": math.nan}, "margin: expected"),
        ({"margin": True}, "margin: expected"),
        ({"margin": {"RR": 0.1}}, "margin: expected measures .*, got RR"),
        ({"margin": {"AP": 0}}, "margin: AP: expected a number above 0"),
        (
            {"margin": 0.1, "test": "permutation"},
            "margin= is defined for test='t', got test='permutation'",
        ),
        ({"margin": 0.1, "alpha": 0.5}, "margin=: expected alpha below 0.5"),
    ],
)
def test_wrong_margins_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MultiAspectError, match=message):
        compare_with_baseline(FRAME, "bm25", **options)


def test_a_margin_of_some_measures_is_an_error() -> None:
    both = pd.concat([FRAME, FRAME.assign(measure="RR")], ignore_index=True)
    with pytest.raises(ma.MultiAspectError, match="margin: expected one difference per measure"):
        compare_with_baseline(both, "bm25", margin={"AP": 0.1})
