"""Weightings: closed forms against brute force, and how far conclusions on real runs depend on them."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import holm
from scipy.optimize import linprog
from scipy.stats import ttest_rel
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, On, analysis
from pt_multiaspect.analysis import weightings
from pt_multiaspect.analysis.weightings import Weightings
from pt_multiaspect.kernels.weightings import (
    nearest_reversal,
    positive_fraction,
    reversing_weight,
    simplex_points,
)

ASPECTS = ["relevance", "credibility", "trust"]
SCALES = ma.Aspects({"relevance": 2, "credibility": 2})


def world(n_systems: int = 4, n_topics: int = 6, n_aspects: int = 3, seed: int = 0) -> pd.DataFrame:
    """A long frame with one measure per aspect, whose values have one decimal, so that some pairs tie."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"run {system}", f"q{topic}", ASPECTS[aspect], rng.integers(0, 11) / 10)
        for system, topic, aspect in product(range(n_systems), range(n_topics), range(n_aspects))
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def higher(n_aspects: int = 3) -> dict[str, str]:
    return dict.fromkeys(ASPECTS[:n_aspects], "higher")


def means_by_aspect(perquery: pd.DataFrame) -> pd.DataFrame:
    return perquery.pivot_table(index="name", columns="measure", values="value")[ASPECTS]


def grid(n_aspects: int, steps: int) -> np.ndarray:
    """All weightings whose weights are the middles of cells of a grid."""
    cells = [cell for cell in product(range(steps), repeat=n_aspects - 1) if sum(cell) <= steps - 1]
    first = (np.array(cells) + 1 / n_aspects) / steps
    return np.column_stack([first, 1 - first.sum(axis=1)])


# -- fractions
# ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_golden_fractions() -> None:
    cases = golden("weightings.json")["cases"]
    assert len(cases) == 40
    for case in cases:
        labels = [f"aspect {column}" for column in range(len(case["differences"]))]
        rows = [
            (name, qid, label, value)
            for label, difference in zip(labels, case["differences"], strict=True)
            for qid in ("q1", "q2")
            for name, value in (("a", difference), ("b", 0.0))
        ]
        perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
        measures = dict.fromkeys(labels, "higher")
        at_least = dict(zip(labels, case["at_least"], strict=True))
        for options, key in (
            ({}, "share"),
            ({"baseline": "a"}, "share_reversed"),
            ({"at_least": at_least}, "share_at_least"),
        ):
            result = weightings(perquery, measures=measures, n_resamples=1, **options)
            assert result.pairs["fraction"].item() == pytest.approx(case[key], abs=1e-14)


@pytest.mark.parametrize(
    ("n_aspects", "steps", "error"),
    [(2, 2000, 6e-4), (3, 120, 0.006), (4, 40, 0.02), (5, 20, 0.04)],
)
def test_fractions_are_those_of_a_grid(n_aspects: int, steps: int, error: float) -> None:
    rng = np.random.default_rng(n_aspects)
    differences = rng.normal(size=(20, n_aspects))
    expected = (differences @ grid(n_aspects, steps).T > 0).mean(axis=1)
    np.testing.assert_allclose(positive_fraction(differences), expected, atol=error)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.randoms())
def test_laws_of_fractions(differences: list[int], random: Any) -> None:
    values = np.array(differences, dtype=np.float64)
    fraction = float(positive_fraction(values))
    random.shuffle(differences)
    assert float(positive_fraction(np.array(differences, dtype=np.float64))) == fraction
    assert 0 <= fraction <= 1
    assert fraction + float(positive_fraction(-values)) == pytest.approx(
        1.0 if values.any() else 0.0, abs=1e-14
    )
    assert fraction == pytest.approx(float(positive_fraction(0.01 * values)), abs=1e-14)
    assert (fraction == 1) == (values.min() >= 0 and values.max() > 0)
    assert fraction <= float(positive_fraction(values + 1)) + 1e-14


def test_golden_closed_form() -> None:
    for case in golden("weightings.json")["cases"]:
        differences = np.array(case["differences"])
        assert positive_fraction(differences) == pytest.approx(case["share"], abs=1e-14)
        assert positive_fraction(-differences) == pytest.approx(case["share_reversed"], abs=1e-14)


def test_two_aspects_and_repeated_values() -> None:
    assert positive_fraction(np.array([0.3, -0.1])) == pytest.approx(0.75)
    assert positive_fraction(np.array([1.0, 1.0, -1.0])) == pytest.approx(0.75)
    assert positive_fraction(np.array([1e-9, 1e-9, -1.0])) == pytest.approx(2e-9, rel=1e-6)


# -- reversals
# ----------------------------------------------------------------------------------------------


def cheapest_reversal(differences: np.ndarray, weights: np.ndarray, least: np.ndarray) -> float:
    """The least total variation at which the sum is 0, by a linear programme over what aspects gain and lose."""
    n, total = len(weights), float(differences @ weights)
    if (
        abs(total) < 1e-12
        or not (
            differences @ least
            + (1 - least.sum()) * (differences * np.sign(total)).min() * np.sign(total)
        )
        * total
        < 0
    ):
        return np.nan
    equal = np.vstack([np.r_[differences, -differences], np.r_[np.ones(n), -np.ones(n)]])
    bounds = [(0, None)] * n + [
        (0, weight - low) for weight, low in zip(weights, least, strict=True)
    ]
    solution = linprog(np.r_[np.zeros(n), np.ones(n)], A_eq=equal, b_eq=[-total, 0], bounds=bounds)
    assert solution.status == 0
    return float(solution.fun)


@pytest.mark.parametrize("n_aspects", [2, 3, 4, 6])
def test_nearest_reversals_are_those_of_a_linear_programme(n_aspects: int) -> None:
    rng = np.random.default_rng(n_aspects)
    for case in range(30):
        weights = (
            rng.dirichlet(np.ones(n_aspects)) if case % 2 else np.full(n_aspects, 1 / n_aspects)
        )
        least = weights * rng.uniform(size=n_aspects) * (case % 3 == 0)
        differences = rng.normal(size=n_aspects).round(1)
        nearest = nearest_reversal(
            differences[None], weights, least, np.abs(differences).max(keepdims=True)
        )[0]
        expected = cheapest_reversal(differences, weights, least)
        assert np.abs(nearest - weights).sum() / 2 == pytest.approx(expected, abs=1e-7, nan_ok=True)
        if not np.isnan(expected):
            assert nearest @ differences == pytest.approx(0, abs=1e-12)
            assert nearest.sum() == pytest.approx(1)
            assert (nearest >= least - 1e-12).all()


def test_weight_moves_from_several_aspects() -> None:
    (nearest,) = nearest_reversal(
        np.array([[0.5, 0.4, -0.1]]), np.full(3, 1 / 3), np.zeros(3), np.array([0.5])
    )
    # All of the first and part of the second: 2/3 · (−.1) is what remains to be balanced.
    np.testing.assert_allclose(nearest, [0.0, 0.2, 0.8])


def test_the_weight_of_one_aspect_that_reverses_the_order() -> None:
    rng = np.random.default_rng(0)
    weights, least = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.1, 0.0])
    differences = rng.normal(size=(50, 3))
    result = reversing_weight(differences, weights, least, np.abs(differences).max(axis=1))
    for row, difference in enumerate(differences):
        for aspect in range(3):
            others = np.delete(np.arange(3), aspect)
            trials = np.linspace(0, 1, 1001)
            points = np.empty((1001, 3))
            points[:, aspect] = trials
            points[:, others] = (1 - trials)[:, None] * weights[others] / weights[others].sum()
            sums, allowed = points @ difference, (points >= least - 1e-12).all(axis=1)
            change = np.flatnonzero((sums[1:] * sums[:-1] < 0) & allowed[1:] & allowed[:-1])
            if change.size:
                assert trials[change[0]] <= result[row, aspect] <= trials[change[0] + 1]
            else:
                near_the_edge = (sums[1:] * sums[:-1] < 0).any()
                assert np.isnan(result[row, aspect]) or near_the_edge
    assert 0 < np.isnan(result).sum() < result.size


@pytest.mark.parametrize(
    ("differences", "weights", "least", "expected"),
    [
        # z would get .15 · (1 − .1453) / 1 = .128, less than its least weight, although w has none.
        ([0.1, -0.5, 0.1, 0.0], [0.0, 0.0, 0.85, 0.15], [0.0, 0.0, 0.0, 0.15], np.nan),
        ([0.1, -0.5, 0.1, 0.0], [0.0, 0.0, 0.85, 0.15], [0.0, 0.0, 0.0, 0.12], 0.085 / 0.585),
        # Without the second aspect, the two others cancel exactly.
        ([0.375, 0.25, -0.375], [1 / 3, 1 / 3, 1 / 3], [0.0, 0.0, 0.0], np.nan),
    ],
)
def test_no_weight_reverses_the_order(
    differences: list[float], weights: list[float], least: list[float], expected: float
) -> None:
    result = reversing_weight(
        np.array([differences]), np.array(weights), np.array(least), np.array([1.0])
    )
    np.testing.assert_allclose(result[0, 1], expected)


def test_words_name_the_taker_and_the_givers() -> None:
    rows = [
        (name, qid, aspect, value)
        for aspect, more in (("relevance", 0.4), ("understandability", -0.3), ("trust", 0.1))
        for qid in ("q1", "q2")
        for name, value in (("a", 0.5 + more), ("b", 0.5))
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    perquery = pd.concat([perquery, perquery[perquery["name"] == "b"].assign(name="c")])
    result = weightings(
        perquery, measures=dict.fromkeys(perquery["measure"], "higher"), n_resamples=1
    )
    reversals = ["understandability 0.43 instead of 0.33, relevance 0.24"] * 2 + [""]
    assert result.pairs["reversal"].tolist() == reversals
    assert result.pairs["distance"].tolist() == pytest.approx(
        [0.2 / 3 / 0.7] * 2 + [np.nan], nan_ok=True
    )
    cells = re.findall(r'<td class="[ln]">(understandability .*?|-)</td>', result._repr_html_())
    assert cells == [text or "-" for text in reversals]


def test_words_show_small_changes() -> None:
    rows = [
        (name, qid, aspect, value)
        for aspect, more in (("relevance", 0.4), ("trust", -0.3995))
        for qid in ("q1", "q2")
        for name, value in (("a", 0.5 + more), ("b", 0.5))
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    pairs = weightings(
        perquery, measures=dict.fromkeys(perquery["measure"], "higher"), n_resamples=1
    ).pairs
    assert pairs["reversal"].item() == "trust 0.5003 instead of 0.5000, relevance 0.4997"


# -- the frame
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_aspects", [2, 3])
def test_pairs_agree_with_single_computations(n_aspects: int) -> None:
    perquery = world(n_aspects=n_aspects, seed=3)
    result = weightings(perquery, measures=higher(n_aspects), n_resamples=50)
    table = perquery.pivot(index=["name", "qid"], columns="measure", values="value")[
        ASPECTS[:n_aspects]
    ]
    points = simplex_points(4096, n_aspects, 0)
    assert points.shape == (4096, n_aspects)
    for row in result.pairs.to_dict("records"):
        difference = (table.loc[row["a"]] - table.loc[row["b"]]).to_numpy()
        equal = difference.mean(axis=1)
        assert row["difference"] == pytest.approx(equal.mean(), abs=1e-12)
        assert row["p"] == pytest.approx(ttest_rel(equal, np.zeros(len(equal))).pvalue)
        weighted = difference @ points.T
        test = ttest_rel(weighted, np.zeros_like(weighted), axis=0)
        kept = (test.pvalue < 0.05) & (np.sign(weighted.mean(axis=0)) == np.sign(equal.mean()))
        assert row["fraction_significant"] == pytest.approx(kept.mean(), abs=1e-12)
        assert row["fraction"] == pytest.approx((weighted.mean(axis=0) > 0).mean(), abs=0.004)
        better, worse = (((sign * difference) >= 0).all(axis=1).sum() for sign in (1, -1))
        assert row["uir"] == pytest.approx((better - worse) / len(difference))
        assert row["low"] <= row["high"]


def corrected(perquery: pd.DataFrame, baseline: list[str] | None = None) -> Weightings:
    """Weightings of criteria, corrected by Holm's method for all pairs, as robustness compares them."""
    values = ma.answers.combine(perquery, "CAM")
    found = ma.robustness(values, measure="CAM", baseline=baseline, correction="holm").weightings
    assert found is not None
    return found


def test_holm_corrects_within_each_weighting() -> None:
    perquery = world(5, 12, seed=5)
    perquery["value"] = (
        perquery["value"] + perquery["name"].map({"run 0": 0.9, "run 1": 0.4}).fillna(0)
    ) / 2
    result = corrected(perquery)
    assert len(result.pairs) == 10
    table = perquery.pivot(index=["name", "qid"], columns="measure", values="value")[ASPECTS]
    differences = np.stack(
        [
            (table.loc[a] - table.loc[b]).to_numpy()
            for a, b in zip(result.pairs["a"], result.pairs["b"], strict=True)
        ]
    )
    times = np.zeros(len(differences))
    for point in simplex_points(4096, 3, 0)[:64]:
        weighted = differences @ point
        levels = ttest_rel(weighted, np.zeros_like(weighted), axis=1).pvalue
        same = np.sign(weighted.mean(axis=1)) == np.sign(result.pairs["difference"])
        times += (np.array(holm(levels.tolist())) < 0.05) & same
    assert 0 < times.sum() < times.size * 64
    np.testing.assert_allclose(result.pairs["fraction_significant"], times / 64, atol=0.06)


@pytest.mark.parametrize("baseline", [["run 0", "run 1"], ["run 2", "run 0", "run 1"]])
def test_pairs_of_baselines_count_once_in_a_family(baseline: list[str]) -> None:
    perquery = world(4, 12, seed=5)
    equal = (
        perquery.groupby(["name", "qid"], sort=False)["value"]
        .mean()
        .reset_index()
        .assign(measure="mean")
    )
    copy = equal.assign(measure="copy", value=equal["value"] ** 2)
    tests = analysis.compare_with_baseline(equal, baseline)
    levels = tests.set_index(["name", "baseline"])["p"].to_dict()
    weighted = corrected(perquery, baseline)
    labels = {"mean": "higher", "copy": "higher"}
    variants = analysis.multiverse(pd.concat([equal, copy]), measures=labels, baseline=baseline)
    for pairs in (weighted.pairs, variants.pairs):
        for row in pairs.to_dict("records"):
            assert row["p"] == pytest.approx(levels[row["a"], row["b"]])
    # The family of all pairs contains the same tests as that of three baselines and one other run.
    if len(baseline) == 3:
        whole = corrected(perquery).pairs
        by_pair = whole.set_index(["a", "b"])["fraction_significant"].to_dict()
        for row in weighted.pairs.to_dict("records"):
            pair = (row["a"], row["b"]) if (row["a"], row["b"]) in by_pair else (row["b"], row["a"])
            assert row["fraction_significant"] == by_pair[pair]


def test_sampled_means_agree_with_the_measures() -> None:
    """MM and GAM from the values of the aspects are those of the measure itself, and no linear form."""
    rng = np.random.default_rng(1)
    docnos = [f"d{number}" for number in range(8)]
    qrels = pd.DataFrame(
        [(f"q{topic}", docno) for topic in range(6) for docno in docnos], columns=["qid", "docno"]
    )
    qrels["relevance"], qrels["credibility"] = rng.integers(0, 3, (2, len(qrels)))
    scales = ma.Aspects({"relevance": 2, "credibility": 2})
    runs = {name: qrels[["qid", "docno"]].assign(score=rng.random(len(qrels))) for name in "abc"}
    on = [On(aspect=aspect, base="nDCG@5", aspects=scales) for aspect in scales]
    perquery = ma.evaluate(runs, qrels, on, progress=False)
    points = simplex_points(256, 2, 0)
    for mean in (
        MM(base="nDCG@5"),
        GAM(base="nDCG@5", aspects=scales),
        CAM(base="nDCG@5", aspects=scales, normalized=True),
    ):
        own = {} if "normalized" not in mean.params else {"runs": runs, "qrels": qrels}
        result = weightings(perquery, mean, **own, n_resamples=20)
        by_label = {
            str(row): mean(aspects=scales, weights=dict(zip(scales, point.tolist(), strict=True)))
            for row, point in enumerate(points)
        }
        means = (
            ma.evaluate(runs, qrels, by_label, progress=False)
            .groupby(["measure", "name"])["value"]
            .mean()
            .unstack()
        )
        for row in result.pairs.to_dict("records"):
            assert row["fraction"] == pytest.approx(
                (means[row["a"]] - means[row["b"]] > 1e-12).mean()
            )
            equal = (
                ma.evaluate(runs, qrels, mean(aspects=scales), progress=False)
                .groupby("name")["value"]
                .mean()
            )
            assert row["difference"] == pytest.approx(equal[row["a"]] - equal[row["b"]])
            assert row["low"] <= row["fraction"] + 0.5
        assert result.pairs["distance"].isna().all()


@pytest.mark.parametrize("options", [{"empty": "drop"}, {"gate": "relevance"}])
def test_rankings_are_evaluated_where_lower_is_better(options: dict[str, Any]) -> None:
    """A frame of any measure says which runs and topics are compared."""
    labels = {"d1": (2, 2), "d2": (0, 0), "d3": (0, 2)}
    qrels = {
        qid: {docno: dict(zip(SCALES, pair, strict=True)) for docno, pair in labels.items()}
        for qid in "12"
    }
    runs = {
        name: {qid: {docno: -rank for rank, docno in enumerate(order)} for qid in qrels}
        for name, order in (("late", ["d2", "d1", "d3"]), ("early", ["d1", "d2", "d3"]))
    }
    mean = CAM(base="ESL", aspects=SCALES, **options)
    perquery = ma.evaluate(runs, qrels, "AP", progress=False)
    row = weightings(perquery, mean, runs=runs, qrels=qrels, n_resamples=1).pairs.iloc[0]
    # The first document with a positive label on both aspects is preceded by one other, and by
    # none.
    assert (row["a"], row["b"], row["difference"], row["fraction"]) == ("late", "early", -1, 0)


def test_lower_is_better_and_baselines() -> None:
    perquery = world(3, seed=2)
    reversed_ = perquery.assign(
        value=np.where(perquery["measure"] == "trust", 1 - perquery["value"], perquery["value"])
    )
    directions = {**higher(), "trust": "lower"}
    kept, turned = (
        weightings(frame, measures=measures, baseline="run 1", n_resamples=20).pairs
        for frame, measures in ((perquery, higher()), (reversed_, directions))
    )
    assert list(kept["a"]) == ["run 0", "run 2"]
    assert set(kept["b"]) == {"run 1"}
    pd.testing.assert_frame_equal(kept.drop(columns="reversal"), turned.drop(columns="reversal"))


def test_order_of_rows_and_seeds() -> None:
    perquery = world()
    options = {"measures": higher(), "n_resamples": 30}
    first = weightings(perquery, **options).pairs
    mixed = perquery.sort_values(["value", "qid"]).sort_values("name", kind="stable")
    pd.testing.assert_frame_equal(first, weightings(mixed, **options).pairs)
    other = weightings(perquery, **options, seed=1).pairs
    np.testing.assert_allclose(
        first["fraction_significant"], other["fraction_significant"], atol=0.004
    )
    pd.testing.assert_series_equal(first["fraction"], other["fraction"])


def test_equal_runs_tie_under_all_weightings() -> None:
    perquery = world(1)
    perquery = pd.concat([perquery, perquery.assign(name="copy", value=perquery["value"] + 1e-17)])
    row = weightings(perquery, measures=higher(), n_resamples=10).pairs.iloc[0]
    assert (row["difference"], row["fraction"], row["fraction_significant"], row["uir"]) == (
        0,
        0,
        0,
        0,
    )
    assert row["p"] == 1
    assert np.isnan(row["distance"])
    assert row["reversal"] == ""


@pytest.mark.parametrize("swapped", [False, True])
def test_means_that_tie_except_for_rounding_never_reverse_the_order(swapped: bool) -> None:
    ties = [(0.3, 0.1), (0.3, 0.2), (0.3, 0.6)]
    rows = [
        (name, f"q{topic}", aspect, value)
        for topic, pair in enumerate(ties)
        for name, relevance, trust in zip(
            "ab", pair[::-1] if swapped else pair, (0.8, 0.6), strict=True
        )
        for aspect, value in (("relevance", relevance), ("trust", trust))
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    row = weightings(
        perquery, measures=dict.fromkeys(("relevance", "trust"), "higher"), n_resamples=5
    ).pairs.iloc[0]
    assert row["fraction"] == 1
    assert np.isnan(row["distance"])


def test_declared_and_least_weights() -> None:
    perquery = world(3, seed=4)
    weights = {"relevance": 2, "credibility": 1, "trust": 1}
    declared = weightings(perquery, CAM(weights=weights), measures=higher(), n_resamples=10)
    assert declared.weights == {"relevance": 0.5, "credibility": 0.25, "trust": 0.25}
    means = means_by_aspect(perquery)
    expected = (means.loc["run 0"] - means.loc["run 1"]) @ [0.5, 0.25, 0.25]
    assert declared.pairs["difference"].iloc[0] == pytest.approx(expected)
    same = weightings(
        perquery, CAM(weights=weights), measures=higher(), at_least=declared.weights, n_resamples=10
    )
    assert same.weights == declared.weights  # the only weighting that is left
    np.testing.assert_array_equal(
        same.pairs["fraction"], (same.pairs["difference"] > 0).astype(float)
    )
    least = weightings(perquery, measures=higher(), at_least={"relevance": 0.4}, n_resamples=10)
    assert least.weights == pytest.approx({"relevance": 0.6, "credibility": 0.2, "trust": 0.2})
    alone = weightings(perquery, measures=higher(), at_least={"relevance": 1}, n_resamples=10).pairs
    order = (
        means["relevance"].loc[list(alone["a"])].to_numpy()
        > means["relevance"].loc[list(alone["b"])].to_numpy()
    )
    np.testing.assert_array_equal(alone["fraction"], order.astype(float))


def test_measures_on_aspects_are_recognised(trec_files: Any) -> None:
    scales = ma.Aspects.from_file(trec_files / "scales.json")
    qrels = ma.read_qrels({name: trec_files / f"{name}.txt" for name in scales})
    measures = [On(aspect=name, base="nDCG@5", aspects=scales) for name in scales]
    perquery = ma.evaluate(
        trec_files / "runs",
        qrels,
        ["AP", *measures, CAM(base="nDCG@5", aspects=scales)],
        progress=False,
    )
    result = weightings(perquery, n_resamples=10)
    assert list(result.weights) == ["relevance", "credibility"]
    assert "of 6 pairs change" in str(result)
    cam = (
        perquery[perquery["measure"] == str(CAM(base="nDCG@5", aspects=scales))]
        .groupby("name")["value"]
        .mean()
    )
    row = result.pairs.iloc[0]
    assert row["difference"] == pytest.approx(cam[row["a"]] - cam[row["b"]])


def test_printed_pairs_are_few_and_narrow() -> None:
    perquery = world(36, 5)
    perquery["name"] = "a system with a long name, " + perquery["name"]
    text = str(weightings(perquery, measures=higher(), n_resamples=5))
    assert len(text.splitlines()) < 85  # in three parts, each with the names
    assert text.count("a system") == 2 * 3 * 20
    assert max(map(len, text.splitlines())) <= 80
    assert "… and 610 more" in text
    assert "`.pairs` has all 630" in " ".join(text.split())
    few = str(weightings(world(3), measures=higher(), n_resamples=5))
    assert "nan" not in few
    assert "`.pairs` has all" not in few


# -- bad input
# ----------------------------------------------------------------------------------------------

ON = {aspect: On(aspect=aspect, base="nDCG@5") for aspect in ASPECTS}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda frame: frame, {}, "expected one measure per aspect"),
        (
            lambda frame: frame,
            {"measures": {"relevance": "higher"}},
            "at least two aspects, got only relevance",
        ),
        (
            lambda frame: frame[frame["name"] == "run 0"],
            {"measures": higher()},
            "at least two systems",
        ),
        (
            lambda frame: frame.assign(value=np.nan),
            {"measures": higher()},
            "expected finite values",
        ),
        (lambda frame: frame, {"measures": [*ASPECTS, "accuracy"]}, "accuracy"),
        (
            lambda frame: frame,
            {"measures": higher(), "at_least": {"relevance": 0.7, "trust": 0.5}},
            "sum to at most 1, got 1.2",
        ),
        (
            lambda frame: frame,
            {"measures": higher(), "at_least": {"relevance": -0.1}},
            "at_least: relevance: expected a number",
        ),
        (lambda frame: frame, {"measures": higher(), "at_least": {"truth": 0.1}}, "truth"),
        (lambda frame: frame, {"measures": higher(), "at_least": 0.5}, "expected a mapping"),
        (lambda frame: frame, {"measures": higher(), "baseline": "run 9"}, "run 9"),
        (
            lambda frame: frame,
            {"measures": higher(), "measure": "TOMA"},
            "expected a mean over aspects, such as CAM",
        ),
        (
            lambda frame: frame,
            {"measures": higher(), "measure": CAM(base="P@5")},
            "base is defined for rankings",
        ),
        (
            lambda frame: frame,
            {"measures": higher(), "measure": CAM(weights={"relevance": 1})},
            "weights",
        ),
        (
            lambda frame: frame,
            {"measures": ON, "measure": MM(base="nDCG@5")},
            "base is defined for rankings",
        ),
        (lambda frame: frame, {"measure": CAM(gate="relevance")}, r"expected runs= and qrels="),
        (lambda frame: frame, {"measure": CAM(empty="drop")}, r"expected runs= and qrels="),
        (
            lambda frame: frame,
            {"measure": CAM(empty="drop"), "runs": {}},
            r"expected runs= and qrels=",
        ),
        (
            lambda frame: frame,
            {
                "measures": higher(),
                "at_least": {"trust": 0.5},
                "measure": CAM(weights={"relevance": 2, "credibility": 1, "trust": 1}),
            },
            "less for trust",
        ),
    ],
)
def test_bad_input(change: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        weightings(change(world()), **options)


def test_another_base_or_scale_is_not_taken_for_that_of_the_measure(trec_files: Any) -> None:
    scales = ma.Aspects.from_file(trec_files / "scales.json")
    qrels = ma.read_qrels({name: trec_files / f"{name}.txt" for name in scales})
    measures = [
        On(aspect=name, base=base, aspects=scales) for base in ("nDCG@5", "P@5") for name in scales
    ]
    perquery = ma.evaluate(trec_files / "runs", qrels, measures, progress=False)
    with pytest.raises(ma.MultiAspectError, match="expected one measure per aspect"):
        weightings(perquery)
    with pytest.raises(ma.MultiAspectError, match="expected one measure per aspect"):
        weightings(perquery, CAM(aspects=scales))
    precision = weightings(perquery, CAM(base="P@5"), n_resamples=5).pairs
    chosen = weightings(
        perquery, measures=[str(measure) for measure in measures[2:]], n_resamples=5
    ).pairs
    pd.testing.assert_series_equal(precision["fraction"], chosen["fraction"])
    with pytest.raises(ma.MultiAspectError, match="expected one measure per aspect"):
        weightings(perquery, CAM(base="P@5", aspects={"relevance": 2, "credibility": 9}))


# -- CLEF eHealth 2018
# --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_conclusions_on_clef_2018_depend_on_the_weights() -> None:
    folder = shared_path("data", "clef2018")
    files = {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"}
    qrels = ma.read_qrels({aspect: folder / f"{name}.txt.gz" for aspect, name in files.items()})
    rows = pd.read_csv(
        folder / "runs.top100.tsv.gz", sep="\t", names=["name", "qid", "rank", "docno"], dtype=str
    )
    rows["score"] = -rows["rank"].astype(int)
    runs = {name: run[["qid", "docno", "score"]] for name, run in rows.groupby("name")}
    scales = ma.Aspects({"relevance": 2, "understandability": 10, "trust": 10})
    measures = [On(aspect=aspect, base="nDCG@10", aspects=scales) for aspect in scales]
    with pytest.warns(ma.MultiAspectWarning, match="1 of 50 judged topics"):
        perquery = ma.evaluate(runs, qrels, measures, progress=False)
    result = weightings(perquery, n_resamples=1)
    pairs = result.pairs
    changing = (pairs["fraction"] > 0) & (pairs["fraction"] < 1)
    assert (len(pairs), changing.sum()) == (630, 306)
    assert ((pairs["fraction"] > 0.1) & (pairs["fraction"] < 0.9)).sum() == 143
    different = pairs[pairs["p"] < 0.05]
    assert len(different) == 345
    assert abs((different["fraction_significant"] < 0.95).sum() - 218) <= 2
    assert (pairs["distance"].notna() == changing).all()
