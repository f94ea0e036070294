"""Agreement of measures with preferences, and weights by preferences: golden cases, laws, simulations."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from shared_data import golden

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, plots
from pt_multiaspect.analysis import fit_weights, preference_agreement, weightings
from pt_multiaspect.analysis.fitted_weights import simplex_points
from pt_multiaspect.analysis.preferences import read_preferences
from pt_multiaspect.kernels.preference_weights import is_separable, logistic_weights, weighting_levels

COLUMNS, SCORES = ["qid", "a", "b", "preferred"], ["qid", "name", "score"]


def golden_cases(function: str, n_cases: int) -> list[tuple[dict[str, Any], dict[str, Any], float]]:
    """Return input, expected values and tolerance of each golden case of a function."""
    cases = golden("preferences.json")["cases"]
    chosen = [
        (case["input"], case["expected"], case["tolerance"]) for case in cases if case["function"] == function
    ]
    assert len(chosen) == n_cases
    return chosen


def long_frame(**measures: dict[str, dict[str, float]]) -> pd.DataFrame:
    rows = [
        (name, qid, measure, value)
        for measure, runs in measures.items()
        for name, values in runs.items()
        for qid, value in values.items()
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def votes(rows: list[list[Any]]) -> pd.DataFrame:
    """Preferences of which the repeated ones are those of further assessors."""
    table = pd.DataFrame([row[:4] for row in rows], columns=COLUMNS)
    pairs = [(row[0], *sorted(row[1:3])) for row in rows]
    return table.assign(assessor=[f"s{pairs[:n].count(pair)}" for n, pair in enumerate(pairs)])


@pytest.mark.parametrize("index", range(6))
def test_golden_agreement(index: int) -> None:
    case, expected, tolerance = golden_cases("agreement", 6)[index]
    frame = long_frame(AP=case["values"])
    (row,) = preference_agreement(frame, votes(case["votes"])).table.to_dict("records")
    assert (row["n_preferences"], row["n_strict"], row["n_topics"]) == tuple(
        expected[key] for key in ("n_votes", "n_strict", "n_topics")
    )
    for column in ("agreement", "ties", "agreement_with_ties", "low", "high"):
        assert row[column] == pytest.approx(expected[column], abs=tolerance), column


@pytest.mark.parametrize("index", range(2))
def test_golden_differences(index: int) -> None:
    case, expected, tolerance = golden_cases("paired", 2)[index]
    frame = long_frame(AP=case["first"], RR=case["second"])
    (row,) = preference_agreement(frame, votes(case["votes"])).pairs.to_dict("records")
    quantile = 4.302652729696142  # of the t distribution of 2 degrees of freedom
    assert row["difference"] == pytest.approx(expected["difference"], abs=tolerance)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(expected["se"] * quantile, abs=10 * tolerance)
    assert row["p"] == pytest.approx(expected["p"], abs=tolerance)


def test_golden_preferences_of_scores() -> None:
    [(case, expected, _)] = golden_cases("votes_of_scores", 1)
    names, qids = ["x", "y", "z"], ["q1", "q2"]
    read, _ = read_preferences(pd.DataFrame(case["scores"], columns=["qid", "name", "score"]), names, qids)
    found = [
        [qids[topic], names[a], names[b], {1: names[a], -1: names[b], 0: "tie"}[sign]]
        for topic, a, b, sign in zip(read.topic, read.a, read.b, read.sign, strict=True)
    ]
    assert found == expected["votes"]


def test_golden_agreement_of_assessors() -> None:
    [(case, expected, tolerance)] = golden_cases("ceiling", 1)
    preferences = pd.DataFrame(case["votes"], columns=[*COLUMNS, "assessor"])
    frame = long_frame(AP={name: {"q1": value, "q2": value} for name, value in (("x", 1.0), ("y", 0.0))})
    (row,) = preference_agreement(frame, preferences).table.to_dict("records")
    assert row["assessors"] == pytest.approx(expected["ceiling"], abs=tolerance)
    assert row["attainable"] == pytest.approx(3 / 4)


def world(
    n_topics: int = 12,
    n_runs: int = 4,
    n_measures: int = 3,
    n_assessors: int = 2,
    n_pairs: int = 3,
    seed: int = 0,
    scale: float = 4.0,
    weights: tuple[float, ...] = (0.6, 0.3, 0.1),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Values of measures, and preferences of simulated users who weigh these, with noise."""
    rng = np.random.default_rng(seed)
    runs, topics = [f"run {n}" for n in range(n_runs)], [f"q{n}" for n in range(n_topics)]
    values = rng.random((n_runs, n_topics, n_measures)).round(2)
    measures = {
        f"m{column}": {run: dict(zip(topics, values[row, :, column], strict=True)) for row, run in enumerate(runs)}
        for column in range(n_measures)
    }
    rows = []
    for topic in range(n_topics):
        for assessor in range(n_assessors):
            chosen = rng.permutation([(a, b) for a in range(n_runs) for b in range(a)])[:n_pairs]
            for a, b in chosen:
                gain = (values[a, topic] - values[b, topic]) @ weights[:n_measures]
                sure = rng.random() < 1 / (1 + np.exp(-scale * gain))
                preferred = "tie" if rng.random() < 0.1 else runs[a if sure else b]
                rows.append((topics[topic], runs[a], runs[b], preferred, f"u{assessor}"))
    return long_frame(**measures), pd.DataFrame(rows, columns=[*COLUMNS, "assessor"])


HIGHER = {"m0": "higher", "m1": "higher", "m2": "higher"}


@functools.cache
def fitted_world() -> tuple[pd.DataFrame, pd.DataFrame, Any]:
    """Values, preferences and the weights that fit them, which several tests read."""
    frame, preferences = world(30, n_pairs=2, scale=8)
    return frame, preferences, fit_weights(frame, preferences, measures=HIGHER)


def test_agreement_by_hand() -> None:
    """Each preference by itself, without arrays."""
    frame, preferences = world()
    result = preference_agreement(frame, preferences, measures=HIGHER)
    value = frame.set_index(["measure", "name", "qid"])["value"].to_dict()
    for row in result.table.to_dict("records"):
        credits: dict[str, list[float]] = {}
        n_same = 0
        for qid, a, b, preferred, _ in preferences.itertuples(index=False):
            first, second = (value[row["measure"], name, qid] for name in (a, b))
            by_measure = "tie" if first == second else a if first > second else b
            n_same += by_measure == preferred
            if preferred != "tie":
                credit = 0.5 if by_measure == "tie" else float(by_measure == preferred)
                credits.setdefault(qid, []).append(credit)
        n_strict = sum(map(len, credits.values()))
        assert row["n_strict"] == n_strict
        assert row["agreement"] == pytest.approx(sum(map(sum, credits.values())) / n_strict)
        assert row["agreement_with_ties"] == pytest.approx(n_same / len(preferences))
        assert 0 <= row["low"] <= row["agreement"] <= row["high"] <= 1


@given(st.integers(0, 2**32 - 1))
def test_order_and_sides_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame, preferences = world(seed=seed % 5)
    expected = preference_agreement(frame, preferences, measures=HIGHER)
    swapped = preferences.copy()
    is_swapped = rng.random(len(swapped)) < 0.5
    swapped.loc[is_swapped, ["a", "b"]] = swapped.loc[is_swapped, ["b", "a"]].to_numpy()
    renamed = swapped["assessor"].map({"u0": "zoe", "u1": "adam"})
    shuffled = swapped.assign(assessor=renamed).sample(frac=1, random_state=seed % 1000)
    result = preference_agreement(frame.sample(frac=1, random_state=seed % 999), shuffled, measures=HIGHER)
    for name in ("table", "pairs", "best"):
        pd.testing.assert_frame_equal(getattr(result, name), getattr(expected, name), check_exact=True)


def test_other_names_of_runs_and_topics_give_the_same() -> None:
    frame, preferences = world()
    expected = preference_agreement(frame, preferences, measures=HIGHER)
    new = {f"run {n}": name for n, name in enumerate("zyxw")}
    other = preferences.assign(**{name: preferences[name].replace(new) for name in ("a", "b", "preferred")})
    result = preference_agreement(frame.assign(name=frame["name"].map(new)), other, measures=HIGHER)
    pd.testing.assert_frame_equal(result.table, expected.table)
    pd.testing.assert_frame_equal(result.pairs, expected.pairs)


def test_lower_is_better_and_opposite_measures() -> None:
    frame, preferences = world()
    opposite = frame.assign(value=1 - frame["value"])
    lower = preference_agreement(opposite, preferences, measures=dict.fromkeys(HIGHER, "lower"))
    higher = preference_agreement(frame, preferences, measures=HIGHER)
    pd.testing.assert_frame_equal(lower.table, higher.table)
    against = preference_agreement(opposite, preferences, measures=HIGHER)
    assert (against.table["agreement"] + higher.table["agreement"]).tolist() == pytest.approx([1, 1, 1])


def test_reference_and_corrections() -> None:
    frame, preferences = world()
    plain = preference_agreement(frame, preferences, measures=HIGHER, correction=None).pairs
    assert plain[["a", "b"]].to_numpy().tolist() == [["m0", "m1"], ["m0", "m2"], ["m1", "m2"]]
    bonferroni = preference_agreement(frame, preferences, measures=HIGHER, correction="bonferroni").pairs
    assert bonferroni["p"].tolist() == pytest.approx((3 * plain["p"]).clip(upper=1).tolist())
    against = preference_agreement(frame, preferences, measures=HIGHER, reference="m1", correction=None).pairs
    assert against[["a", "b"]].to_numpy().tolist() == [["m0", "m1"], ["m2", "m1"]]
    assert against["p"].tolist() == pytest.approx(plain["p"][[0, 2]].tolist())
    alone = preference_agreement(frame, preferences, measures={"m0": "higher"})
    assert len(alone.pairs) == 0
    assert alone.best["cross_validated"].item() == pytest.approx(alone.best["agreement"].item())


def test_the_best_measure_is_chosen_anew_in_each_fold() -> None:
    frame, preferences = world(n_topics=10, n_runs=4, n_measures=3, weights=(1.0, 1.0, 1.0), scale=0.5)
    result = preference_agreement(frame, preferences, measures=HIGHER)
    strict = preferences[preferences["preferred"] != "tie"]
    wide = frame.pivot(index=["name", "qid"], columns="measure", values="value")
    a, b = (wide.loc[list(zip(strict[side], strict["qid"], strict=True))].to_numpy() for side in "ab")
    sign = np.where(strict["preferred"] == strict["a"], 1, -1)
    credit = (1 + np.sign(a - b) * sign[:, None]) / 2
    folds = ma.RepeatedQueryKFold(5, 6, shuffle_rows=False, random_state=0)
    gained = 0.0
    rows = np.arange(len(strict))
    order = strict["qid"].argsort(kind="stable").to_numpy()  # folds number topics in their order of appearance
    credit, groups = credit[order], strict["qid"].to_numpy()[order]
    for train, test in folds.split(rows, groups=groups):
        total = credit[train].sum(axis=0)
        gained += credit[test][:, total == total.max()].mean(axis=1).sum() / 6
    (row,) = result.best.to_dict("records")
    assert row["cross_validated"] == pytest.approx(gained / len(strict))
    assert row["agreement"] == result.table["agreement"].max()
    assert row["measure"] == result.table.loc[result.table["agreement"].idxmax(), "measure"]


def test_a_measure_alone_agrees_best() -> None:
    frame, preferences = world()
    measure = next(iter(HIGHER))
    alone = preference_agreement(frame[frame["measure"] == measure], preferences, measures={measure: "higher"})
    assert alone.summary.startswith(f"{measure} agrees best with ")


def test_few_topics_have_no_intervals() -> None:
    frame, preferences = world()
    one = preference_agreement(frame, preferences[preferences["qid"] == "q3"], measures=HIGHER)
    assert one.table[["low", "high"]].isna().all(axis=None)
    assert one.pairs["p"].isna().all()
    assert one.table["agreement"].notna().all()
    three = preference_agreement(frame, preferences[preferences["qid"].isin(["q1", "q2", "q3"])], measures=HIGHER)
    assert three.table["low"].notna().all()
    assert three.best["cross_validated"].isna().all()
    assert "-" in str(one)


def test_groups_of_topics() -> None:
    frame, preferences = world()
    groups = {f"q{n}": "even" if n % 2 == 0 else "odd" for n in range(12)}
    result = preference_agreement(frame, preferences, measures=HIGHER, by=groups, correction=None)
    whole = preference_agreement(frame, preferences, measures=HIGHER, correction=None)
    for name in ("table", "pairs", "best"):
        rows = getattr(result, name)
        of_all = rows[rows["group"] == "all"].drop(columns="group").reset_index(drop=True)
        pd.testing.assert_frame_equal(of_all, getattr(whole, name))
        even = preferences[preferences["qid"].map(groups) == "even"]
        part = getattr(preference_agreement(frame, even, measures=HIGHER, correction=None), name)
        of_even = rows[rows["group"] == "even"].drop(columns="group").reset_index(drop=True)
        pd.testing.assert_frame_equal(of_even, part)
    corrected = preference_agreement(frame, preferences, measures=HIGHER, by=groups).pairs
    assert (corrected["p"] >= result.pairs["p"] - 1e-12).all()


def test_groups_without_strict_preferences_have_no_best_measure() -> None:
    frame, preferences = world()
    groups = {f"q{n}": "a" if n < 6 else "b" for n in range(12)}
    some = preferences[preferences["qid"].map(groups) == "a"]
    result = preference_agreement(frame, some, measures=HIGHER, by=groups)
    assert result.best["measure"].isna().tolist() == [False, True, False]
    empty = result.table[result.table["group"] == "b"]
    assert empty[["agreement", "low", "high", "ties"]].isna().all(axis=None)
    assert set(empty["n_strict"]) == {0}
    assert "strict preferences on 6 topics" in " ".join(str(result).split())


def test_frames_of_any_library_and_type() -> None:
    polars = pytest.importorskip("polars")
    frame, preferences = world()
    expected = preference_agreement(frame, preferences, measures=HIGHER).table
    for other in (polars.from_pandas(preferences), preferences.astype("category"), preferences.astype("string")):
        result = preference_agreement(polars.from_pandas(frame), other, measures=HIGHER)
        pd.testing.assert_frame_equal(result.table, expected)


def test_values_of_criteria_of_answers() -> None:
    rng = np.random.default_rng(0)
    judged = pd.DataFrame(
        [(f"q{n}", name, *rng.integers(0, 3, 2).tolist()) for n in range(12) for name in "xyz"],
        columns=["qid", "name", "faithful", "complete"],
    )
    criteria = ma.answers.from_criteria(judged, aspects={"faithful": 2, "complete": 2})
    scores = judged.assign(score=2 * judged["faithful"] + judged["complete"])[["qid", "name", "score"]]
    combined = ma.answers.combine(criteria, {"CAM": "CAM", "MM": "MM"})
    table = preference_agreement(combined, scores).table.set_index("measure")
    assert table.loc["CAM", "agreement"] > table.loc["complete", "agreement"]
    fitted = fit_weights(criteria, scores, measures={"faithful": "higher", "complete": "higher"})
    assert fitted.separable
    assert any("separable" in note for note in fitted.notes)
    assert fitted.weights["faithful"] > 0.6
    rows = ma.answers.combine(criteria, {"fitted": fitted.measure})
    agreement = preference_agreement(rows, scores, measures=["fitted"]).table["agreement"].item()
    assert agreement == fitted.agreement["agreement"][0] == 1


def test_what_is_left_out_is_counted() -> None:
    frame, preferences = world()
    further = pd.DataFrame([("q99", "run 0", "run 1", "run 0", "u0")], columns=preferences.columns)
    repeated = preferences.iloc[[0]]
    result = preference_agreement(frame, pd.concat([preferences, further, repeated]), measures=HIGHER)
    assert "1 preference on 1 topic without values left out." in result.notes
    assert "1 repeated preference of the same assessor left out." in result.notes
    pd.testing.assert_frame_equal(result.table, preference_agreement(frame, preferences, measures=HIGHER).table)


def test_scores_are_read_like_their_pairs() -> None:
    frame, _ = world()
    rng = np.random.default_rng(1)
    scores = frame.drop_duplicates(["name", "qid"])[["qid", "name"]]
    scores = scores.assign(score=rng.integers(1, 4, len(scores)))
    pairs = [
        (
            qid,
            a["name"],
            b["name"],
            "tie" if a["score"] == b["score"] else max(a, b, key=lambda r: r["score"])["name"],
        )
        for qid, rows in scores.groupby("qid")
        for n, a in enumerate(rows.to_dict("records"))
        for b in rows.to_dict("records")[:n]
    ]
    result = preference_agreement(frame, scores, measures=HIGHER)
    expected = preference_agreement(frame, pd.DataFrame(pairs, columns=COLUMNS), measures=HIGHER)
    pd.testing.assert_frame_equal(result.table, expected.table)
    assert "assessors" not in result.table
    categories = preference_agreement(frame, scores.astype("category"), measures=HIGHER)
    pd.testing.assert_frame_equal(result.table, categories.table)


GOOD = [("q0", "run 0", "run 1", "run 0"), ("q1", "run 0", "run 1", "tie")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("q0", "run 0", "run 9", "run 0")], "expected runs of the values .*, got run 9"),
        ([("q0", "run 0", "run 1", "run 2")], "expected one of both runs, or 'tie', got run 2 of run 0 and run 1"),
        ([("q0", "run 0", "tie", "tie")], "must not be named 'tie'"),
        ([("q0", "run 0", "run 0", "run 0")], "expected two different runs"),
        ([*GOOD, ("q0", "run 1", "run 0", "run 1")], "contradictory ones; name several assessors in the column"),
        ([("q0", "run 0", "run 1", None)], "the column preferred has an empty cell"),
        ([("q99", "run 0", "run 1", "run 0")], "expected topics of the values .*, got q99"),
        ([("q1", "run 0", "run 1", "tie")], "expected at least one that is no tie"),
        ([], "expected topics of the values"),
    ],
)
def test_bad_preferences(rows: list[Any], message: str) -> None:
    frame, _ = world()
    with pytest.raises(ma.MultiAspectError, match=message):
        preference_agreement(frame, pd.DataFrame(rows, columns=COLUMNS), measures=HIGHER)


@pytest.mark.parametrize(
    ("preferences", "options", "message"),
    [
        ([1, 2], {}, "preferences: expected a DataFrame, got list"),
        (pd.DataFrame({"qid": ["q0"]}), {}, r"expected the columns 'qid'.* or 'qid'.*|expected the columns qid"),
        (pd.DataFrame([("q0", "run 0", 1), ("q0", "run 0", 2)], columns=["qid", "name", "score"]), {}, "one score"),
        (
            pd.DataFrame([("q0", "run 0", "x")], columns=["qid", "name", "score"]),
            {},
            "finite numbers in the column",
        ),
        (pd.DataFrame(GOOD, columns=COLUMNS), {"reference": "AP"}, "reference: expected measures"),
        (pd.DataFrame(GOOD, columns=COLUMNS), {"ci": 1}, "ci"),
        (pd.DataFrame(GOOD, columns=COLUMNS), {"correction": "none"}, "correction"),
        (pd.DataFrame(GOOD, columns=COLUMNS), {"seed": -1}, "seed"),
    ],
)
def test_bad_arguments(preferences: Any, options: dict[str, Any], message: str) -> None:
    frame, _ = world()
    with pytest.raises(ma.MultiAspectError, match=message):
        preference_agreement(frame, preferences, measures=HIGHER, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("n_topics", "n_assessors", "n_pairs"), [(10, 5, 2), (40, 1, 2), (25, 3, 1)])
def test_intervals_contain_the_agreement(n_topics: int, n_assessors: int, n_pairs: int) -> None:
    """Topics drawn from many, whose agreement is the true one: coverage at least about .93."""
    n_pool, n_samples = 4000, 200
    frame, preferences = world(n_pool, n_assessors=n_assessors, n_pairs=n_pairs, n_runs=3, scale=6.0)
    preferences = preferences[preferences["preferred"] != "tie"]
    whole = preference_agreement(frame, preferences, measures=HIGHER)
    truth = whole.table["agreement"].to_numpy()
    topic = pd.factorize(preferences["qid"])[0]
    rng = np.random.default_rng(5)
    n_covered = np.zeros(3)
    for _ in range(n_samples):
        chosen = rng.choice(n_pool, n_topics, replace=False)
        sample = preferences[np.isin(topic, chosen)]
        values = frame[frame["qid"].isin(set(sample["qid"]))]
        table = preference_agreement(values, sample, measures=HIGHER).table
        n_covered += (table["low"] <= truth) & (truth <= table["high"])
    assert (n_covered / n_samples > 0.91).all(), n_covered / n_samples


# -- weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(3))
def test_golden_weights(index: int) -> None:
    case, expected, tolerance = golden_cases("logistic_weights", 3)[index]
    differences, sign = np.array(case["differences"]), np.array(case["preferred"])
    assert logistic_weights(differences, sign) == pytest.approx(expected["weights"], abs=tolerance)
    assert logistic_weights(1e-9 * differences, sign) == pytest.approx(expected["weights"], abs=tolerance)


@pytest.mark.parametrize("index", range(2))
def test_golden_levels_of_weightings(index: int) -> None:
    case, expected, tolerance = golden_cases("score_test", 2)[index]
    points = np.array([test["weights"] for test in expected["tests"]], dtype=np.float64)
    sign = 2 * np.array(case["preferred"]) - 1
    levels = weighting_levels(points, np.array(case["differences"]), sign, np.array(case["topic"]))
    assert levels == pytest.approx([test["p"] for test in expected["tests"]], abs=tolerance)


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_weights_and_levels_obey_laws(seed: int, n_aspects: int) -> None:
    """Against a general solver; scale, sides and order do not matter."""
    rng = np.random.default_rng(seed)
    z, topics = rng.normal(size=(30, n_aspects)).round(1), rng.integers(12, size=30)
    sign = np.where(rng.random(30) < 1 / (1 + np.exp(-2 * z[:, 0])), 1, -1)
    weights = logistic_weights(z, sign)
    if not is_separable(z, sign):
        solved = minimize(
            lambda b: np.logaddexp(0, -(z @ b) * sign).sum(),
            np.ones(n_aspects),
            jac=lambda b: -(z * (sign / (1 + np.exp((z @ b) * sign)))[:, None]).sum(axis=0),
            bounds=[(0, None)] * n_aspects,
            options={"ftol": 1e-15, "gtol": 1e-9},
        ).x
        expected = solved / solved.sum() if solved.sum() > 1e-4 else np.zeros(n_aspects)
        assert weights == pytest.approx(expected, abs=1e-3) or solved.sum() < 1e-2
    points = simplex_points(64, n_aspects, 0)
    levels = weighting_levels(points, z, sign, topics)
    assert ((levels >= 0) & (levels <= 1)).all()
    side, order = np.where(rng.random(30) < 0.5, 1, -1), rng.permutation(30)
    turned = (8 * z * side[:, None])[order], (sign * side)[order]
    assert logistic_weights(*turned) == pytest.approx(weights, abs=1e-6)
    assert weighting_levels(points, *turned, topics[order]) == pytest.approx(levels, abs=1e-6)
    aspects = rng.permutation(n_aspects)
    exchanged = weighting_levels(points[:, aspects], z[:, aspects], sign, topics)
    assert exchanged == pytest.approx(levels, abs=1e-6)


def test_equal_aspects_share_their_weight() -> None:
    rng = np.random.default_rng(3)
    z, topics = rng.normal(size=(60, 2)), np.repeat(np.arange(20), 3)
    sign = np.where(z @ [0.7, 0.3] + rng.logistic(scale=0.3, size=60) > 0, 1, -1)
    twice = z[:, [0, 1, 1]]
    whole, parts = logistic_weights(z, sign), logistic_weights(twice, sign)
    assert parts == pytest.approx([whole[0], whole[1] / 2, whole[1] / 2], abs=1e-5)
    points = simplex_points(64, 3, 0)
    merged = np.column_stack([points[:, 0], points[:, 1:].sum(axis=1)])
    levels = weighting_levels(points, twice, sign, topics)
    assert levels == pytest.approx(weighting_levels(merged, z, sign, topics), abs=1e-9)


def test_separable_preferences() -> None:
    rng = np.random.default_rng(4)
    z, topics = rng.normal(size=(20, 2)), np.arange(20)
    sign = np.sign(z @ [0.6, 0.4]).astype(int)
    assert is_separable(z, sign)
    weights = logistic_weights(z, sign)
    assert (np.sign(z @ weights) == sign).all()
    assert weighting_levels(np.array([[0.6, 0.4], weights]), z, sign, topics).tolist() == [1, 1]
    # Only the first aspect is separable, and the second one is undecided where the first ties.
    partly = np.array([[1.0, 1.0], [2.0, -1.0], [0.0, 1.0], [0.0, 1.0]])
    assert is_separable(partly, np.array([1, 1, 1, -1]))
    assert not is_separable(partly, np.array([1, -1, 1, -1]))


def test_fitted_weights() -> None:
    frame, preferences, fitted = fitted_world()
    assert list(fitted.weights) == list(HIGHER)
    assert sum(fitted.weights.values()) == pytest.approx(1)
    assert fitted.contains({"m0": 6, "m1": 3, "m2": 1})
    assert not fitted.contains({"m2": 1})
    assert not fitted.contains(dict.fromkeys(HIGHER, 1))
    assert "Equal weights are not among them" in fitted.summary
    assert fitted.fraction == len(fitted.points) / 4096
    assert all(fitted.contains(dict(zip(HIGHER, point.tolist(), strict=True))) for point in fitted.points[::40])
    assert (fitted.ranges["low"] <= fitted.points.min(axis=0)).all()
    assert (fitted.ranges["high"] >= fitted.points.max(axis=0)).all()
    # The agreement is that of the measures, as preference_agreement computes it.
    values = frame.pivot(index=["name", "qid"], columns="measure", values="value")
    combined = pd.DataFrame({"fitted": values @ pd.Series(fitted.weights), "equal": values.mean(axis=1)})
    long = combined.rename_axis(columns="measure").stack().rename("value").reset_index()
    table = preference_agreement(long, preferences, measures={"fitted": "higher", "equal": "higher"}).table
    for row in table.to_dict("records"):
        found = fitted.agreement.set_index("weights").loc[row["measure"]]
        assert [row[key] for key in ("agreement", "low", "high")] == pytest.approx(found.tolist())
    # Few weights are fitted to many topics: on others, they agree about as often.
    agreement = fitted.agreement.set_index("weights")["agreement"]
    assert agreement["cross-validated"] == pytest.approx(agreement["fitted"], abs=0.02)
    assert "confidence set" in str(fitted)


def test_order_of_rows_does_not_change_fitted_weights() -> None:
    frame, preferences = world(20)
    fitted = fit_weights(frame, preferences, measures=HIGHER)
    swapped = preferences.rename(columns={"a": "b", "b": "a"}).sample(frac=1, random_state=1)
    other = fit_weights(frame.sample(frac=1, random_state=2), swapped, measures=HIGHER)
    assert other.weights == fitted.weights
    np.testing.assert_array_equal(other.points, fitted.points)
    pd.testing.assert_frame_equal(other.agreement, fitted.agreement)


@pytest.mark.parametrize("scales", [None, ma.Aspects({"relevance": 2, "credibility": 3})])
@pytest.mark.parametrize("base", ["nDCG@3", "AP"])
def test_the_measure_is_ready_to_use(scales: ma.Aspects | None, base: str) -> None:
    rng = np.random.default_rng(7)
    docs, qids = [f"d{n}" for n in range(8)], [f"q{n}" for n in range(12)]
    qrels = {
        qid: {doc: {"relevance": int(rng.integers(3)), "credibility": int(rng.integers(4))} for doc in docs}
        for qid in qids
    }
    runs = {name: {qid: {doc: float(rng.random()) for doc in docs} for qid in qids} for name in "xyz"}
    options = {} if scales is None else {"aspects": scales}
    parts = [ma.On(aspect=aspect, base=base, **options) for aspect in ("relevance", "credibility")]
    frame = ma.evaluate(runs, qrels, parts, progress=False)
    value = frame[frame["measure"] == str(parts[0])].set_index(["name", "qid"])["value"]
    rows = [(qid, a, b, a if value[a, qid] + rng.normal(0, 0.2) > value[b, qid] else b) for qid in qids
            for a, b in (("x", "y"), ("y", "z"))]  # fmt: skip
    fitted = fit_weights(frame, pd.DataFrame(rows, columns=COLUMNS))
    assert set(fitted.weights) == {"relevance", "credibility"}
    both = ma.evaluate(runs, qrels, [fitted.measure], progress=False)
    weighted = sum(
        fitted.weights[part.one_aspect] * frame[frame["measure"] == str(part)]["value"].to_numpy() for part in parts
    )
    assert both["value"].to_numpy() == pytest.approx(weighted)


def test_preferences_that_fit_no_weights() -> None:
    frame, preferences = world(30, n_pairs=3, scale=12, weights=(1, 1, 1))
    loser = np.where(preferences["preferred"] == preferences["a"], preferences["b"], preferences["a"])
    opposite = preferences.assign(preferred=np.where(preferences["preferred"] == "tie", "tie", loser))
    with pytest.raises(ma.MultiAspectError, match="preferences contradict every aspect"):
        fit_weights(frame, opposite, measures=HIGHER)
    with pytest.raises(ma.MultiAspectError, match="strict ones on at least 10 topics, got 9 topics"):
        fit_weights(frame, preferences[preferences["qid"].isin([f"q{n}" for n in range(9)])], measures=HIGHER)
    with pytest.raises(ma.MultiAspectError, match="at least two aspects"):
        fit_weights(frame, preferences, measures={"m0": "higher"})
    fitted = fit_weights(frame, preferences, measures=HIGHER)
    for weights, message in (
        ({"m9": 1}, "expected aspects"),
        ({"m0": 0}, "one above 0"),
        ({"m0": -1}, "m0"),
        ([1, 0], "a dict of"),
    ):
        with pytest.raises(ma.MultiAspectError, match=message):
            fitted.contains(weights)


def test_an_empty_set_is_said() -> None:
    """Users who prefer the second aspect only if the first one is low: no weighted sum."""
    rng = np.random.default_rng(0)
    n_topics = 300
    values = rng.random((2, n_topics, 2))
    difference = values[0] - values[1]
    wins = np.where(np.abs(difference[:, 0]) > 0.3, difference[:, 0] > 0, difference[:, 0] < 0)
    wins = np.where(np.abs(difference[:, 1]) > 0.5, difference[:, 1] < 0, wins)
    topics = [f"q{n}" for n in range(n_topics)]
    measures = {
        f"m{column}": {
            name: dict(zip(topics, values[run, :, column], strict=True)) for run, name in enumerate("xy")
        }
        for column in range(2)
    }
    preferences = pd.DataFrame({"qid": topics, "a": "x", "b": "y", "preferred": np.where(wins, "x", "y")})
    fitted = fit_weights(long_frame(**measures), preferences, measures=dict.fromkeys(measures, "higher"))
    assert fitted.fraction == 0
    assert fitted.ranges[["low", "high"]].isna().all(axis=None)
    assert "reject all weightings" in fitted.summary
    assert "reject all weightings" in str(fitted)


def test_a_set_without_sampled_weightings_is_said() -> None:
    _, _, fitted = fitted_world()
    small = dataclasses.replace(fitted, points=fitted.points[:0], fraction=0.0)
    assert "apart: fewer than 1 in 4096 of all weightings remain" in small.summary


@pytest.mark.slow
@pytest.mark.parametrize(("n_topics", "n_assessors", "n_pairs"), [(40, 1, 2), (20, 2, 2), (60, 2, 2)])
@pytest.mark.parametrize("weights", [(0.6, 0.3, 0.1), (1.0, 0.0, 0.0)])
def test_the_set_contains_the_weights_of_users(
    n_topics: int, n_assessors: int, n_pairs: int, weights: tuple[float, ...]
) -> None:
    n_samples, n_covered, sizes = 300, 0, []
    points = simplex_points(256, 3, 0)
    for sample in range(n_samples):
        rng = np.random.default_rng(sample)
        z = rng.normal(size=(n_topics * n_pairs, 3)).repeat(n_assessors, axis=0) * 0.3
        topic = np.arange(n_topics).repeat(n_pairs * n_assessors)
        # The same noise for one topic, so that preferences are not independent given the values.
        mood = rng.normal(size=(n_topics, 3))[topic] * 0.3
        p = 1 / (1 + np.exp(-6 * (z @ weights) - 2 * (z * mood).sum(axis=1)))
        sign = np.where(rng.random(len(z)) < p, 1, -1)
        n_covered += weighting_levels(np.array([weights]), z, sign, topic)[0] >= 0.05
        sizes.append((weighting_levels(points, z, sign, topic) >= 0.05).mean())
    assert n_covered / n_samples > 0.92, (n_covered, np.mean(sizes))
    assert np.mean(sizes) < 0.6


@pytest.mark.slow
def test_cross_validated_agreement_is_that_on_new_topics() -> None:
    apparent, cross_validated, true = [], [], []
    many_values, many = world(1500, n_pairs=2, n_assessors=1, seed=99)
    wide = many_values.pivot(index=["name", "qid"], columns="measure", values="value")
    strict = many[many["preferred"] != "tie"]
    a, b = (wide.loc[list(zip(strict[side], strict["qid"], strict=True))].to_numpy() for side in "ab")
    margin = (a - b) * np.where(strict["preferred"] == strict["a"], 1, -1)[:, None]
    for sample in range(60):
        fitted = fit_weights(*world(20, n_pairs=2, n_assessors=1, seed=sample), measures=HIGHER, seed=sample)
        by_weights = fitted.agreement.set_index("weights")["agreement"]
        apparent.append(by_weights["fitted"])
        cross_validated.append(by_weights["cross-validated"])
        true.append((margin @ np.array(list(fitted.weights.values())) > 0).mean())
    assert np.mean(cross_validated) == pytest.approx(np.mean(true), abs=0.025)
    assert np.mean(apparent) > np.mean(true) + 0.01


# -- conclusions within the weights that preferences allow ----------------------------------------------------


def test_weightings_within_those_that_preferences_allow() -> None:
    frame, _, fitted = fitted_world()
    result = weightings(frame, measures=HIGHER, within=fitted, n_resamples=50)
    assert result.weights == pytest.approx(fitted.weights)
    means = frame.pivot_table(index="name", columns="measure", values="value")[list(HIGHER)]
    for row in result.pairs.to_dict("records"):
        sums = fitted.points @ (means.loc[row["a"]] - means.loc[row["b"]]).to_numpy()
        assert row["fraction"] == pytest.approx((sums > 0).mean())
        assert (row["lowest"], row["highest"]) == pytest.approx((sums.min(), sums.max()))
        assert row["low"] <= row["fraction"] <= row["high"]
        assert 0 <= row["fraction_significant"] <= 1
    everything = weightings(frame, measures=HIGHER, n_resamples=2)
    assert "lowest" not in everything.pairs
    assert "that the preferences allow" in result.summary
    assert "of the allowed weightings" in " ".join(str(result).split())
    # The columns of the values may be in another order than those of the fit.
    turned = weightings(frame.iloc[::-1], measures=dict(reversed(HIGHER.items())), within=fitted, n_resamples=50)
    both = (rows.pairs.set_index(["a", "b"]) for rows in (turned, result))
    fractions = [{frozenset(key): max(f, 1 - f) for key, f in rows["fraction"].items()} for rows in both]
    assert fractions[0] == pytest.approx(fractions[1])


def test_all_weightings_allowed_give_the_exact_fractions() -> None:
    frame, _, fitted = fitted_world()
    every = dataclasses.replace(fitted, points=simplex_points(4096, 3, 0))
    sampled = weightings(frame, CAM, measures=HIGHER, within=every, n_resamples=20).pairs
    exact = weightings(frame, CAM, measures=HIGHER, n_resamples=20).pairs
    assert sampled["fraction"].tolist() == pytest.approx(exact["fraction"].tolist(), abs=0.004)
    assert sampled["low"].tolist() == pytest.approx(exact["low"].tolist(), abs=0.01)
    pd.testing.assert_series_equal(sampled["fraction_significant"], exact["fraction_significant"])


def test_bad_within() -> None:
    frame, _, fitted = fitted_world()
    two = dict(list(HIGHER.items())[:2])
    for options, message in (
        ({"within": "m0"}, "expected the result of fit_weights"),
        ({"within": fitted, "at_least": {"m0": 0.5}}, "no at_least beside it"),
        ({"within": fitted, "measure": MM}, "the weights were fitted for CAM, got MM"),
        ({"within": fitted, "measure": CAM, "measures": two}, "expected weights of the aspects"),
        ({"within": dataclasses.replace(fitted, points=fitted.points[:0])}, "a set with none of these"),
    ):
        with pytest.raises(ma.MultiAspectError, match=message):
            weightings(frame, **{"measures": HIGHER, **options})


@pytest.mark.every(2)
@pytest.mark.parametrize("n_aspects", [3, 2])
def test_the_allowed_weightings_are_drawn(n_aspects: int) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    frame, preferences = world(30, n_pairs=2, scale=8)
    measures = dict(list(HIGHER.items())[:n_aspects])
    fitted = fit_weights(frame, preferences, measures=measures)
    result = weightings(frame, measures=measures, within=fitted, n_resamples=2)
    ax = plots.weightings(result, ("run 0", "run 1"))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "allowed by preferences" in labels
    plain = plots.weightings(weightings(frame, measures=measures, n_resamples=2), ("run 0", "run 1"))
    assert "allowed by preferences" not in [text.get_text() for text in plain.get_legend().get_texts()]


# -- the study of coverage -----------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def study(study_module: Callable[[str], Any]) -> Any:
    return study_module("preferences")


def test_the_page_has_the_recorded_coverage(study: Any) -> None:
    results = study.load(study.RESULTS)
    page = (ROOT / "docs" / "howto" / "preferences.md").read_text(encoding="utf-8")
    assert "\n".join(study.table(results)) in page
    for by_size in (results["2015"], results["2018"]):
        for row in (row for by_weights in by_size.values() for row in by_weights.values()):
            assert min(row["agreement"]) >= 0.93
            assert row["weights"] >= 0.93  # the level less two standard errors


@pytest.mark.slow
def test_the_study_draws_what_users_prefer(study: Any) -> None:
    """Differences on two aspects are equal, so that all measures agree as users with themselves do."""
    rng = np.random.default_rng(0)
    pairs = np.repeat(rng.normal(size=(12, 30, 1)), 2, axis=2)
    scale = study.scale_of(pairs @ [0.5, 0.5])
    assert (1 / (1 + np.exp(-np.abs(pairs) / scale))).mean() == pytest.approx(study.RIGHT, abs=1e-3)
    found = study.coverages(pairs, np.array([0.5, 0.5]), (10, 4, 2), 50)
    assert len(set(found["agreement"])) == 1
    assert min(found["agreement"][0], found["weights"], found["size"]) > 0.85
    assert found["independent"][0] < found["agreement"][0]
