"""Agreement of measures with preferences, and weights by preferences: golden cases, laws, simulations."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_path

import pt_multiaspect as ma
from pt_multiaspect.analysis import preference_agreement
from pt_multiaspect.analysis._preferences import read_preferences

COLUMNS, SCORES = ["qid", "a", "b", "preferred"], ["qid", "name", "score"]


def golden(function: str, n_cases: int) -> list[Any]:
    cases = json.loads(shared_path("golden", "preferences.json").read_text(encoding="utf-8"))["cases"]
    chosen = [case for case in cases if case["function"] == function]
    assert len(chosen) == n_cases
    return [pytest.param(case["input"], case["expected"], case["tolerance"], id=case["id"]) for case in chosen]


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


@pytest.mark.parametrize(("case", "expected", "tolerance"), golden("agreement", 6))
def test_golden_agreement(case: Any, expected: Any, tolerance: float) -> None:
    frame = long_frame(AP=case["values"])
    (row,) = preference_agreement(frame, votes(case["votes"])).table.to_dict("records")
    assert (row["n_preferences"], row["n_strict"], row["n_topics"]) == tuple(
        expected[key] for key in ("n_votes", "n_strict", "n_topics")
    )
    for column in ("agreement", "ties", "agreement_with_ties", "low", "high"):
        assert row[column] == pytest.approx(expected[column], abs=tolerance), column


@pytest.mark.parametrize(("case", "expected", "tolerance"), golden("paired", 2))
def test_golden_differences(case: Any, expected: Any, tolerance: float) -> None:
    frame = long_frame(AP=case["first"], RR=case["second"])
    (row,) = preference_agreement(frame, votes(case["votes"])).pairs.to_dict("records")
    quantile = 4.302652729696142  # of the t distribution of 2 degrees of freedom
    assert row["difference"] == pytest.approx(expected["difference"], abs=tolerance)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(expected["se"] * quantile, abs=10 * tolerance)
    assert row["p"] == pytest.approx(expected["p"], abs=tolerance)


@pytest.mark.parametrize(("case", "expected", "_"), golden("votes_of_scores", 1))
def test_golden_preferences_of_scores(case: Any, expected: Any, _: float) -> None:
    names, qids = ["x", "y", "z"], ["q1", "q2"]
    read = read_preferences(pd.DataFrame(case["scores"], columns=["qid", "name", "score"]), names, qids)
    found = [
        [qids[topic], names[a], names[b], {1: names[a], -1: names[b], 0: "tie"}[sign]]
        for topic, a, b, sign in zip(read.topic, read.a, read.b, read.sign, strict=True)
    ]
    assert found == expected["votes"]


@pytest.mark.parametrize(("case", "expected", "tolerance"), golden("ceiling", 1))
def test_golden_agreement_of_assessors(case: Any, expected: Any, tolerance: float) -> None:
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
