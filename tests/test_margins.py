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
from test_macro_means import COLLECTIONS, FRAME, SCORES, WITHIN, differences

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, errors
from pt_multiaspect.analysis import compare_with_baseline

NEW = ["p_not_worse", "p_equivalent", "margin_low", "margin_high"]


def one_sided(values: np.ndarray, margin: float) -> tuple[float, float]:
    """Return the levels by SciPy that a mean is above −margin, and that it is below it."""
    above = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, margin, alternative="less").pvalue
    return float(above), float(below)


@pytest.mark.parametrize(("label", "lower"), [("AP", False), ("ESL", True)])
def test_two_one_sided_tests(label: str, lower: bool) -> None:
    frame = FRAME.assign(measure=label)
    found = compare_with_baseline(frame, "bm25", correction=None, margin=0.15)
    for _, row in found.iterrows():
        own = differences(row["name"])
        above, below = one_sided(own, 0.15)
        assert row["p_not_worse"] == pytest.approx(below if lower else above)
        assert row["p_equivalent"] == pytest.approx(max(above, below))
        interval = stats.ttest_1samp(own, 0).confidence_interval(0.9)
        assert row[["margin_low", "margin_high"]].tolist() == pytest.approx(
            [interval.low, interval.high]
        )


def test_the_other_columns_are_as_without_a_margin() -> None:
    for options in ({}, {"by": COLLECTIONS, "macro": True}):
        found = compare_with_baseline(FRAME, ["bm25", "dense"], margin=0.1, **options)
        assert found.columns.tolist()[-1] == "verdict"
        pd.testing.assert_frame_equal(
            found.drop(columns=NEW), compare_with_baseline(FRAME, ["bm25", "dense"], **options)
        )


def test_levels_are_corrected_in_the_family_of_p() -> None:
    options: dict[str, Any] = {"by": COLLECTIONS, "macro": True, "margin": 0.2}
    plain = compare_with_baseline(FRAME, "bm25", correction=None, **options)
    corrected = compare_with_baseline(FRAME, "bm25", **options)
    bonferroni = compare_with_baseline(FRAME, "bm25", correction="bonferroni", **options)
    for rows in (
        plain["group"].isin(list("abc")),
        plain["group"] == "all",
        plain["group"] == "macro",
    ):
        for column in NEW[:2]:
            levels = plain.loc[rows, column].tolist()
            assert corrected.loc[rows, column].tolist() == pytest.approx(holm(levels))
            expected = [min(1.0, level * len(levels)) for level in levels]
            assert bonferroni.loc[rows, column].tolist() == pytest.approx(expected)
    whole = corrected[corrected["group"] == "all"]
    for _, row in whole.iterrows():
        interval = stats.ttest_1samp(differences(row["name"]), 0).confidence_interval(
            1 - 2 * 0.05 / 2
        )
        assert row[["margin_low", "margin_high"]].tolist() == pytest.approx(
            [interval.low, interval.high]
        )


@pytest.mark.parametrize("seed", range(5))
def test_intervals_and_equivalence_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    runs = {"base": rng.random(30)} | {f"run {n}": rng.random(30) * 0.2 for n in range(6)}
    for name in list(runs)[1:]:
        runs[name] = runs["base"] + rng.normal(0, 0.05) + rng.normal(0, 0.1, 30)
    frame = long({name: values.tolist() for name, values in runs.items()})
    for correction in (None, "bonferroni", "fdr_bh", "holm"):
        found = compare_with_baseline(frame, "base", correction=correction, margin=0.05)
        is_inside = (found["margin_low"] > -0.05) & (found["margin_high"] < 0.05)
        is_equivalent = found["p_equivalent"] < 0.05
        assert not (is_inside & ~is_equivalent).any()
        if correction != "holm":
            assert (is_inside == is_equivalent).all()
        assert (found["p_not_worse"] <= found["p_equivalent"]).all()


def test_differences_without_error() -> None:
    """Decided by the margin, which rounding does not blur."""
    runs = {
        "base": [0.3, 0.5, 0.1],
        "up": [0.35, 0.55, 0.15],
        "down": [0.25, 0.45, 0.05],
        "same": [0.3, 0.5, 0.1],
    }
    expected = {
        0.05: {"up": (0.0, 1.0), "down": (1.0, 1.0), "same": (0.0, 0.0)},
        0.0501: dict.fromkeys(("up", "down", "same"), (0.0, 0.0)),
        0.0499: {"up": (0.0, 1.0), "down": (1.0, 1.0), "same": (0.0, 0.0)},
    }
    for margin, rows in expected.items():
        found = compare_with_baseline(long(runs), "base", correction=None, margin=margin).set_index(
            "name"
        )
        for name, levels in rows.items():
            assert tuple(found.loc[name, NEW[:2]]) == levels, (margin, name)


def test_the_golden_case_with_clusters() -> None:
    (case,) = golden_cases("compare")
    given, expected = case["given"], case["expected"]
    frame, clusters = long(given["runs"]), by_qid(given["clusters"])
    with errors.silence_warnings():
        found = compare_with_baseline(frame, "b", cluster=clusters, correction=None, margin=0.3)
    for row, freedom, low in zip(
        found.to_dict("records"), expected["freedom"], expected["low"], strict=True
    ):
        error = (row["difference"] - low) / stats.t.isf(0.025, freedom)
        above, below = (
            stats.t.sf((0.3 + sign * row["difference"]) / error, freedom) for sign in (1, -1)
        )
        assert row["p_not_worse"] == pytest.approx(above, rel=1e-9)
        assert row["p_equivalent"] == pytest.approx(max(above, below), rel=1e-9)
        half = stats.t.isf(0.05, freedom) * error
        assert row["margin_high"] - row["difference"] == pytest.approx(half, rel=1e-9)


def test_macro_means_and_clusters_within_groups() -> None:
    options: dict[str, Any] = {
        "by": COLLECTIONS,
        "macro": True,
        "cluster": WITHIN,
        "correction": None,
    }
    with errors.silence_warnings():
        wide = compare_with_baseline(FRAME, "bm25", margin=0.5, **options)
        alone = compare_with_baseline(
            FRAME, "bm25", margin=0.5, by={**COLLECTIONS, "q00": "x"}, macro=True
        )
    macro = wide[wide["group"] == "macro"]
    assert macro[NEW].notna().all(axis=None)
    assert (macro["margin_high"] - macro["difference"] < macro["high"] - macro["difference"]).all()
    assert alone.loc[alone["group"].isin(["x", "macro"]), NEW].isna().all(axis=None)


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
    both = pd.concat(
        [FRAME, FRAME.assign(measure="RR", value=FRAME["value"] / 2)], ignore_index=True
    )
    found = compare_with_baseline(both, "bm25", margin={"AP": 0.1, "RR": 0.05}).set_index(
        ["measure", "name"]
    )
    for name in list(SCORES)[1:]:
        assert found.loc[("AP", name), NEW[:2]].tolist() == pytest.approx(
            found.loc[("RR", name), NEW[:2]].tolist()
        )


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
