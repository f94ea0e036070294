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
    # 0.3 w - 0.1 (1 - w) is positive for all weights w above 1/4.
    assert positive_fraction(np.array([0.3, -0.1])) == pytest.approx(0.75)
    # 1 - 2 w is positive for weights w of the third aspect below 1/2. With three aspects, w is
    # below x in the fraction 1 - (1 - x)² of all weightings.
    assert positive_fraction(np.array([1.0, 1.0, -1.0])) == pytest.approx(1 - 0.5**2)
    # Here w has to be below 1e-9: 1 - (1 - 1e-9)² is about 2e-9.
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
    """The nearest weights at which two runs are equal are as near as a linear programme finds."""
    rng = np.random.default_rng(n_aspects)
    equal_weights = np.full(n_aspects, 1 / n_aspects)
    no_least_weights = np.zeros(n_aspects)
    for case in range(30):
        weights = rng.dirichlet(np.ones(n_aspects)) if case % 2 else equal_weights
        drawn_least = weights * rng.uniform(size=n_aspects)
        least = drawn_least if case % 3 == 0 else no_least_weights
        differences = rng.normal(size=n_aspects).round(1)
        largest = np.abs(differences).max()

        # The function takes one row of differences per pair of runs; here there is one pair.
        (nearest,) = nearest_reversal(differences[None, :], weights, least, np.array([largest]))

        total_variation = np.abs(nearest - weights).sum() / 2
        expected = cheapest_reversal(differences, weights, least)
        assert total_variation == pytest.approx(expected, abs=1e-7, nan_ok=True)
        if not np.isnan(expected):
            assert nearest @ differences == pytest.approx(0, abs=1e-12)
            assert nearest.sum() == pytest.approx(1)
            assert (nearest >= least - 1e-12).all()


def test_weight_moves_from_several_aspects() -> None:
    """The aspects with the largest differences give their weight first, to the one with the lowest."""
    (nearest,) = nearest_reversal(
        differences=np.array([[0.5, 0.4, -0.1]]),
        weights=np.array([1 / 3, 1 / 3, 1 / 3]),
        least=np.array([0.0, 0.0, 0.0]),
        largest=np.array([0.5]),
    )
    # The first aspect gives its whole weight of 1/3. Then 0.4 · 1/3 - 0.1 · 2/3 = 0.2/3 are left to
    # balance, for which the second gives (0.2 / 3) / (0.4 + 0.1) = 0.4/3 of its 1/3.
    np.testing.assert_allclose(nearest, [0, 0.6 / 3, 1 / 3 + 1 / 3 + 0.4 / 3])
    assert nearest @ [0.5, 0.4, -0.1] == pytest.approx(0)


def test_the_weight_of_one_aspect_that_reverses_the_order() -> None:
    """It lies where the weighted sum changes its sign if the weight goes from 0 to 1 in small steps.

    The weights of the other aspects keep their proportions, and no weight falls below its least.
    """
    rng = np.random.default_rng(0)
    weights = np.array([0.5, 0.3, 0.2])
    least = np.array([0.1, 0.1, 0.0])
    differences = rng.normal(size=(50, 3))  # pairs of runs, aspects
    largest = np.abs(differences).max(axis=1)

    result = reversing_weight(differences, weights, least, largest)

    steps = np.linspace(0, 1, 1001)
    for pair, aspect in product(range(50), range(3)):
        others = np.delete(np.arange(3), aspect)
        proportions = weights[others] / weights[others].sum()
        trials = np.empty((1001, 3))  # steps, aspects
        trials[:, aspect] = steps
        trials[:, others] = (1 - steps)[:, None] * proportions
        sums = trials @ differences[pair]
        allowed = (trials >= least - 1e-12).all(axis=1)
        # Per step from one trial to the next.
        is_reversal = sums[1:] * sums[:-1] < 0
        is_allowed = allowed[1:] & allowed[:-1]
        weight = result[pair, aspect]
        if (is_reversal & is_allowed).any():
            step = np.flatnonzero(is_reversal & is_allowed)[0]
            assert steps[step] <= weight <= steps[step + 1]
        else:
            # The weight may lie within a step at whose other end a weight is below its least.
            assert np.isnan(weight) or is_reversal.any()
    assert 0 < np.isnan(result).sum() < result.size


def weight_of_second_that_reverses(
    differences: list[float], weights: list[float], least: list[float]
) -> float:
    """The weight of the second aspect at which the sum of one pair of runs changes its sign, or NaN."""
    by_aspect = reversing_weight(
        np.array([differences]), np.array(weights), np.array(least), np.array([1.0])
    )
    return by_aspect[0, 1]


@pytest.mark.parametrize(
    ("least_of_last", "expected"),
    [(0.15, np.nan), (0.12, 0.085 / 0.585)],
    ids=["below its least weight", "above its least weight"],
)
def test_a_weight_reverses_the_order_only_if_it_leaves_the_others_their_least_weights(
    least_of_last: float, expected: float
) -> None:
    # With the weight w of the second aspect, the others sum to 0.1 · 0.85 · (1 - w), and the whole
    # is 0 at w = 0.085 / 0.585 = 0.145. The last aspect then has 0.15 · (1 - 0.145) = 0.128.
    weight = weight_of_second_that_reverses(
        differences=[0.1, -0.5, 0.1, 0.0],
        weights=[0.0, 0.0, 0.85, 0.15],
        least=[0.0, 0.0, 0.0, least_of_last],
    )
    np.testing.assert_allclose(weight, expected)


def test_no_weight_of_an_aspect_reverses_the_order_if_the_others_cancel() -> None:
    # The weighted sum is 0.25 w: 0 at w = 0, but never negative.
    weight = weight_of_second_that_reverses(
        differences=[0.375, 0.25, -0.375], weights=[1 / 3, 1 / 3, 1 / 3], least=[0.0, 0.0, 0.0]
    )
    assert np.isnan(weight)


def frame_of_constant_runs(values: dict[str, dict[str, float]]) -> pd.DataFrame:
    """A long frame of runs that have the same values, by aspect, on two topics."""
    rows = [
        (name, qid, aspect, value)
        for name, by_aspect in values.items()
        for aspect, value in by_aspect.items()
        for qid in ("q1", "q2")
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def test_words_name_the_taker_and_the_givers() -> None:
    """The nearest reversal is said in words: which aspect takes weight, and what is left to the giver."""
    # a differs from b and from c by 0.4, -0.3 and 0.1; b and c are equal.
    perquery = frame_of_constant_runs(
        {
            "a": {"relevance": 0.9, "understandability": 0.2, "trust": 0.6},
            "b": {"relevance": 0.5, "understandability": 0.5, "trust": 0.5},
            "c": {"relevance": 0.5, "understandability": 0.5, "trust": 0.5},
        }
    )
    directions = {"relevance": "higher", "understandability": "higher", "trust": "higher"}

    result = weightings(perquery, measures=directions, n_resamples=1)

    # With equal weights, the sum is (0.4 - 0.3 + 0.1) / 3. Each unit of weight that moves from
    # relevance to understandability reduces it by 0.4 + 0.3.
    moved = (0.2 / 3) / (0.4 + 0.3)  # 0.095: 0.33 + 0.095 = 0.43, 0.33 - 0.095 = 0.24
    words = "understandability 0.43 instead of 0.33, relevance 0.24"
    assert (result.pairs["a"] + result.pairs["b"]).tolist() == ["ab", "ac", "bc"]
    assert result.pairs["reversal"].tolist() == [words, words, ""]
    distances = result.pairs["distance"].tolist()
    assert distances == pytest.approx([moved, moved, np.nan], nan_ok=True)
    # Cells as <td class="l">understandability 0.43 …</td> and <td class="n">-</td>
    cells = re.findall(r'<td class="[ln]">(understandability .*?|-)</td>', result._repr_html_())
    assert cells == [words, words, "-"]


def test_words_show_small_changes() -> None:
    """Weights are printed with as many decimals as it takes to tell them apart."""
    perquery = frame_of_constant_runs(
        {"a": {"relevance": 0.9, "trust": 0.1005}, "b": {"relevance": 0.5, "trust": 0.5}}
    )
    directions = {"relevance": "higher", "trust": "higher"}

    pairs = weightings(perquery, measures=directions, n_resamples=1).pairs

    # The differences 0.4 and -0.3995 balance at the weights 0.3995 and 0.4 / 0.7995 = 0.5003.
    assert pairs["reversal"].item() == "trust 0.5003 instead of 0.5000, relevance 0.4997"


# -- the frame
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_aspects", [2, 3])
def test_pairs_agree_with_single_computations(n_aspects: int) -> None:
    """Each column of a pair of runs is what NumPy and SciPy compute from its values by topic."""
    perquery = world(n_aspects=n_aspects, seed=3)
    result = weightings(perquery, measures=higher(n_aspects), n_resamples=50)
    by_topic = perquery.pivot(index=["name", "qid"], columns="measure", values="value")
    by_topic = by_topic[ASPECTS[:n_aspects]]
    # The weightings that `weightings` tests, by default 4096 with seed 0.
    sampled_weights = simplex_points(4096, n_aspects, 0)
    assert sampled_weights.shape == (4096, n_aspects)
    for row in result.pairs.to_dict("records"):
        differences = by_topic.loc[row["a"]] - by_topic.loc[row["b"]]  # topics, aspects

        equally_weighted = differences.mean(axis=1)
        assert row["difference"] == pytest.approx(equally_weighted.mean(), abs=1e-12)
        test = ttest_rel(equally_weighted, np.zeros(len(equally_weighted)))
        assert row["p"] == pytest.approx(test.pvalue)

        weighted = differences.to_numpy() @ sampled_weights.T  # topics, weightings
        means = weighted.mean(axis=0)
        tests = ttest_rel(weighted, np.zeros_like(weighted), axis=0)
        is_significant = tests.pvalue < 0.05
        has_same_sign = np.sign(means) == np.sign(equally_weighted.mean())
        fraction_significant = (is_significant & has_same_sign).mean()
        assert row["fraction_significant"] == pytest.approx(fraction_significant, abs=1e-12)
        # `fraction` is exact; that of 4096 weightings is near.
        assert row["fraction"] == pytest.approx((means > 0).mean(), abs=0.004)

        # The unanimous improvement ratio: topics that are no worse on all aspects, less those that
        # are no better on all.
        n_better = (differences >= 0).all(axis=1).sum()
        n_worse = (differences <= 0).all(axis=1).sum()
        assert row["uir"] == pytest.approx((n_better - n_worse) / len(differences))
        assert row["low"] <= row["high"]


def corrected(perquery: pd.DataFrame, baseline: list[str] | None = None) -> Weightings:
    """Weightings of criteria, corrected by Holm's method for all pairs, as robustness compares them."""
    values = ma.answers.combine(perquery, "CAM")
    found = ma.robustness(values, measure="CAM", baseline=baseline, correction="holm").weightings
    assert found is not None
    return found


def test_holm_corrects_within_each_weighting() -> None:
    """For each weighting, the p-values of all pairs are one family."""
    perquery = world(5, 12, seed=5)  # 5 runs, 12 topics
    # Some pairs differ clearly, others do not.
    advantage = perquery["name"].map({"run 0": 0.9, "run 1": 0.4}).fillna(0)
    perquery["value"] = (perquery["value"] + advantage) / 2

    pairs = corrected(perquery).pairs

    assert len(pairs) == 10
    by_topic = perquery.pivot(index=["name", "qid"], columns="measure", values="value")[ASPECTS]
    differences = np.stack(  # pairs, topics, aspects
        [by_topic.loc[a] - by_topic.loc[b] for a, b in zip(pairs["a"], pairs["b"], strict=True)]
    )
    n_weightings = 64  # the first of those that are sampled
    times_significant = np.zeros(10)
    for weights in simplex_points(4096, 3, 0)[:n_weightings]:
        weighted = differences @ weights  # pairs, topics
        p_values = ttest_rel(weighted, np.zeros_like(weighted), axis=1).pvalue
        is_significant = np.array(holm(p_values.tolist())) < 0.05
        # A significant difference counts if it has the direction of that of equal weights.
        has_same_sign = np.sign(weighted.mean(axis=1)) == np.sign(pairs["difference"])
        times_significant += is_significant & has_same_sign
    assert 0 < times_significant.sum() < times_significant.size * n_weightings
    # All 4096 weightings have nearly the fractions of 64 of them.
    fractions = times_significant / n_weightings
    np.testing.assert_allclose(pairs["fraction_significant"], fractions, atol=0.06)


@pytest.mark.parametrize("baseline", [["run 0", "run 1"], ["run 2", "run 0", "run 1"]])
def test_pairs_of_baselines_count_once_in_a_family(baseline: list[str]) -> None:
    """Corrected p-values of weightings and of `multiverse` are those of `compare_with_baseline`.

    A pair of two baselines is one test, although each of them is the baseline of the other.
    """
    perquery = world(4, 12, seed=5)  # 4 runs, 12 topics
    by_topic = perquery.groupby(["name", "qid"], sort=False)["value"].mean().reset_index()
    means = by_topic.assign(measure="mean")
    tests = analysis.compare_with_baseline(means, baseline)
    p_by_pair = tests.set_index(["name", "baseline"])["p"].to_dict()

    weighted = corrected(perquery, baseline).pairs
    for row in weighted.to_dict("records"):
        assert row["p"] == pytest.approx(p_by_pair[row["a"], row["b"]])

    # `multiverse` needs two measures. Its p-values are those of the first, the mean.
    squares = means.assign(measure="square of the mean", value=means["value"] ** 2)
    variants = analysis.multiverse(
        pd.concat([means, squares]),
        measures={"mean": "higher", "square of the mean": "higher"},
        baseline=baseline,
    )
    for row in variants.pairs.to_dict("records"):
        assert row["p"] == pytest.approx(p_by_pair[row["a"], row["b"]])


def test_three_baselines_and_one_other_run_are_the_family_of_all_pairs() -> None:
    perquery = world(4, 12, seed=5)  # runs 0 to 3, 12 topics
    of_baselines = corrected(perquery, ["run 2", "run 0", "run 1"]).pairs
    of_all_pairs = corrected(perquery).pairs
    fraction_by_pair = {
        frozenset([row["a"], row["b"]]): row["fraction_significant"]
        for row in of_all_pairs.to_dict("records")
    }
    for row in of_baselines.to_dict("records"):
        pair = frozenset([row["a"], row["b"]])
        assert row["fraction_significant"] == fraction_by_pair[pair]


@pytest.mark.parametrize(
    ("mean", "requires_runs"),
    [
        (MM(base="nDCG@5"), False),
        (GAM(base="nDCG@5", aspects=SCALES), False),
        # Its maximum depends on the weights, and is computed from the qrels.
        (CAM(base="nDCG@5", aspects=SCALES, normalized=True), True),
    ],
    ids=["MM", "GAM", "normalized CAM"],
)
def test_sampled_means_agree_with_the_measures(mean: ma.Measure, requires_runs: bool) -> None:
    """Means that are no weighted sums are sampled: each is the value of the measure with the weights."""
    rng = np.random.default_rng(1)
    rows = [(f"q{topic}", f"d{number}") for topic in range(6) for number in range(8)]
    qrels = pd.DataFrame(rows, columns=["qid", "docno"])
    qrels["relevance"], qrels["credibility"] = rng.integers(0, 3, (2, len(qrels)))
    runs = {name: qrels[["qid", "docno"]].assign(score=rng.random(len(qrels))) for name in "abc"}
    by_aspect = [On(aspect=aspect, base="nDCG@5", aspects=SCALES) for aspect in SCALES]
    perquery = ma.evaluate(runs, qrels, by_aspect, progress=False)

    required = {"runs": runs, "qrels": qrels} if requires_runs else {}
    result = weightings(perquery, mean, **required, n_resamples=20)

    weighted = {}
    for number, weights in enumerate(simplex_points(256, 2, 0).tolist()):
        by_name = dict(zip(SCALES, weights, strict=True))
        weighted[str(number)] = mean(aspects=SCALES, weights=by_name)
    values = ma.evaluate(runs, qrels, weighted, progress=False)
    means = values.groupby(["name", "measure"])["value"].mean().unstack()  # runs, weightings
    equal_values = ma.evaluate(runs, qrels, mean(aspects=SCALES), progress=False)
    equal_means = equal_values.groupby("name")["value"].mean()
    for row in result.pairs.to_dict("records"):
        difference = means.loc[row["a"]] - means.loc[row["b"]]  # per weighting
        assert row["fraction"] == pytest.approx((difference > 1e-12).mean())
        equal_difference = equal_means[row["a"]] - equal_means[row["b"]]
        assert row["difference"] == pytest.approx(equal_difference)
        assert row["low"] <= row["fraction"] <= row["high"]
    # Distances are known for weighted sums only.
    assert result.pairs["distance"].isna().all()


@pytest.mark.parametrize("options", [{"empty": "drop"}, {"gate": "relevance"}], ids=str)
def test_rankings_are_evaluated_where_lower_is_better(options: dict[str, Any]) -> None:
    """With a gate, or without empty topics, CAM is computed from the rankings, for every weighting.

    The frame of values only says which runs and topics are compared; here it has those of AP.
    """
    labels = {
        "good": {"relevance": 2, "credibility": 2},
        "bad": {"relevance": 0, "credibility": 0},
        "credible": {"relevance": 0, "credibility": 2},
    }
    qrels = {"1": labels, "2": labels}
    good_first = {"good": 3.0, "bad": 2.0, "credible": 1.0}
    good_second = {"bad": 3.0, "good": 2.0, "credible": 1.0}
    runs = {
        "late": {"1": good_second, "2": good_second},
        "early": {"1": good_first, "2": good_first},
    }
    perquery = ma.evaluate(runs, qrels, "AP", progress=False)
    # ESL, for which lower is better, is the number of documents before the first positive one.
    search_length = CAM(base="ESL", aspects=SCALES, **options)

    result = weightings(perquery, search_length, runs=runs, qrels=qrels, n_resamples=1)

    (pair,) = result.pairs.to_dict("records")
    assert (pair["a"], pair["b"]) == ("late", "early")
    # In "late", one document precedes the good one on both aspects: it is worse by 1 throughout.
    assert pair["difference"] == -1
    assert pair["fraction"] == 0


def test_lower_is_better_and_baselines() -> None:
    """Values v of an aspect for which higher is better are 1 - v if lower is better."""
    perquery = world(3, seed=2)  # runs 0 to 2
    is_trust = perquery["measure"] == "trust"
    turned = perquery.copy()
    turned.loc[is_trust, "value"] = 1 - perquery.loc[is_trust, "value"]
    lower_trust = {"relevance": "higher", "credibility": "higher", "trust": "lower"}
    options = {"baseline": "run 1", "n_resamples": 20}

    pairs = weightings(perquery, measures=higher(), **options).pairs
    turned_pairs = weightings(turned, measures=lower_trust, **options).pairs

    assert list(pairs["a"]) == ["run 0", "run 2"]
    assert set(pairs["b"]) == {"run 1"}
    pd.testing.assert_frame_equal(
        pairs.drop(columns="reversal"), turned_pairs.drop(columns="reversal")
    )


def test_the_order_of_rows_does_not_matter() -> None:
    perquery = world()
    # The order of the runs stays, since it decides which of them is `a` and which `b`.
    mixed = perquery.sort_values(["value", "qid"]).sort_values("name", kind="stable")
    pairs = weightings(perquery, measures=higher(), n_resamples=30).pairs
    mixed_pairs = weightings(mixed, measures=higher(), n_resamples=30).pairs
    pd.testing.assert_frame_equal(pairs, mixed_pairs)


def test_the_seed_draws_the_weightings_that_are_tested_for_significance() -> None:
    perquery = world()
    pairs = weightings(perquery, measures=higher(), n_resamples=30).pairs
    other = weightings(perquery, measures=higher(), n_resamples=30, seed=1).pairs
    # The fraction of weightings under which a run is better has a closed form.
    pd.testing.assert_series_equal(pairs["fraction"], other["fraction"])
    np.testing.assert_allclose(
        pairs["fraction_significant"], other["fraction_significant"], atol=0.004
    )


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
    """If two runs tie on relevance, the one with the higher trust is better under all weightings."""
    constant = [0.3, 0.3, 0.3]
    varied = [0.1, 0.2, 0.6]  # the mean of three topics is 0.3, too, but for rounding
    relevance = {"a": varied, "b": constant} if swapped else {"a": constant, "b": varied}
    trust = {"a": 0.8, "b": 0.6}
    rows = []
    for topic in range(3):
        for name in "ab":
            rows.append((name, f"q{topic}", "relevance", relevance[name][topic]))
            rows.append((name, f"q{topic}", "trust", trust[name]))
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])

    directions = {"relevance": "higher", "trust": "higher"}
    pairs = weightings(perquery, measures=directions, n_resamples=5).pairs

    (pair,) = pairs.to_dict("records")
    assert pair["fraction"] == 1  # of the weightings, a is better
    assert np.isnan(pair["distance"])


def test_differences_are_those_of_the_declared_weights() -> None:
    perquery = world(3, seed=4)  # runs 0 to 2
    cam = CAM(weights={"relevance": 2, "credibility": 1, "trust": 1})

    result = weightings(perquery, cam, measures=higher(), n_resamples=10)

    assert result.weights == {"relevance": 0.5, "credibility": 0.25, "trust": 0.25}
    means = means_by_aspect(perquery)
    expected_difference = (means.loc["run 0"] - means.loc["run 1"]) @ [0.5, 0.25, 0.25]
    assert result.pairs["difference"].iloc[0] == pytest.approx(expected_difference)


def test_least_weights_that_sum_to_1_leave_one_weighting() -> None:
    perquery = world(3, seed=4)
    cam = CAM(weights={"relevance": 2, "credibility": 1, "trust": 1})
    least = {"relevance": 0.5, "credibility": 0.25, "trust": 0.25}

    result = weightings(perquery, cam, measures=higher(), at_least=least, n_resamples=10)

    assert result.weights == least
    is_better = result.pairs["difference"] > 0
    np.testing.assert_array_equal(result.pairs["fraction"], np.where(is_better, 1.0, 0.0))


def test_aspects_share_equally_what_least_weights_leave() -> None:
    perquery = world(3, seed=4)
    least = {"relevance": 0.4}
    result = weightings(perquery, measures=higher(), at_least=least, n_resamples=10)
    # Each of the three aspects gets a third of 1 - 0.4.
    expected = {"relevance": 0.4 + 0.2, "credibility": 0.2, "trust": 0.2}
    assert result.weights == pytest.approx(expected)


def test_one_aspect_may_have_all_weight() -> None:
    perquery = world(3, seed=4)
    least = {"relevance": 1}
    pairs = weightings(perquery, measures=higher(), at_least=least, n_resamples=10).pairs
    relevance = means_by_aspect(perquery)["relevance"]
    is_better = relevance[pairs["a"]].to_numpy() > relevance[pairs["b"]].to_numpy()
    np.testing.assert_array_equal(pairs["fraction"], np.where(is_better, 1.0, 0.0))


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
    perquery = world(36, 5)  # 36 · 35 / 2 = 630 pairs of runs
    perquery["name"] = "a system with a long name, " + perquery["name"]

    text = str(weightings(perquery, measures=higher(), n_resamples=5))

    lines = text.splitlines()
    assert len(lines) < 85
    assert max(map(len, lines)) <= 80
    # 20 pairs are printed, their columns in three parts; each part repeats the names of both runs.
    assert text.count("a system") == 20 * 3 * 2
    assert "… and 610 more" in text
    assert "`.pairs` has all 630" in " ".join(text.split())


def test_few_printed_pairs_are_complete() -> None:
    text = str(weightings(world(3), measures=higher(), n_resamples=5))
    assert "nan" not in text
    assert "`.pairs` has all" not in text


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
    """A frame with two measures per aspect is refused unless it is clear which of them is meant."""
    scales = ma.Aspects.from_file(trec_files / "scales.json")
    qrels = ma.read_qrels({name: trec_files / f"{name}.txt" for name in scales})
    ndcg = [On(aspect=name, base="nDCG@5", aspects=scales) for name in scales]
    precision = [On(aspect=name, base="P@5", aspects=scales) for name in scales]
    perquery = ma.evaluate(trec_files / "runs", qrels, ndcg + precision, progress=False)

    with pytest.raises(ma.MultiAspectError, match="expected one measure per aspect"):
        weightings(perquery)
    with pytest.raises(ma.MultiAspectError, match="expected one measure per aspect"):
        weightings(perquery, CAM(aspects=scales))  # its base is nDCG without a cutoff
    other_scales = {"relevance": 2, "credibility": 9}
    with pytest.raises(ma.MultiAspectError, match="expected one measure per aspect"):
        weightings(perquery, CAM(base="P@5", aspects=other_scales))

    by_base = weightings(perquery, CAM(base="P@5"), n_resamples=5).pairs
    by_names = weightings(perquery, measures=[str(measure) for measure in precision], n_resamples=5)
    pd.testing.assert_series_equal(by_base["fraction"], by_names.pairs["fraction"])


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
