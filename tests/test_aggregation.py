"""Aggregates with weights of topics, and over seeds or folds: `aggregate(weights=…)`, `aggregate(over=…)`."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

WEIGHTS = {"q0": 1.0, "q1": 2.0, "q2": 5.0}


def long(values: dict[str, list[float]], measure: str = "AP", **columns: Any) -> pd.DataFrame:
    rows = [
        (name, f"q{n}", measure, value)
        for name, column in values.items()
        for n, value in enumerate(column)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]).assign(**columns)


# -- weights
# ---------------------------------------------------------------------------------------------


def test_weighted_means() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 50):
        values, weights = rng.random((2, n)).tolist(), rng.random(n)
        mapping = {f"q{position}": weight for position, weight in enumerate(weights)}
        frame = long(dict(zip("ab", values, strict=True))).sample(frac=1, random_state=n)
        for form in (mapping, pd.Series(mapping)):
            table = ma.aggregate(frame, weights=form).set_index("name")["AP"]
            for name, column in zip("ab", values, strict=True):
                assert table[name] == pytest.approx(
                    float(np.average(column, weights=weights)), abs=1e-15
                )


def test_equal_weights_change_nothing() -> None:
    frame = pd.concat(
        [long({"a": [0.1, 0.7, 0.4]}, measure) for measure in ("AP", "CAM@10", "mine")]
    )
    plain, equal = ma.aggregate(frame), ma.aggregate(frame, weights=dict.fromkeys(WEIGHTS, 0.3))
    pd.testing.assert_frame_equal(plain, equal)
    assert ma.aggregate(long({"a": [1.0, 1.0, 1.0]}), weights=WEIGHTS)["AP"][0] == 1  # exactly


def test_sums_have_no_weights() -> None:
    with pytest.raises(MultiAspectError, match="NumRet of a: weights"):
        ma.aggregate(long({"a": [3, 5, 7]}, "NumRet"), weights=WEIGHTS)


def test_topics_of_weight_0_do_not_count() -> None:
    frame = long({"a": [0.25, 0.5, 0.75]})
    assert ma.aggregate(frame, weights={**WEIGHTS, "q2": 0})["AP"][0] == (0.25 + 2 * 0.5) / 3


def test_query_ids_that_are_numbers() -> None:
    frame = long({"a": [0.0, 1.0]}).assign(qid=[1, 2])
    assert (
        ma.aggregate(frame, weights={"1": 1, "2": 3})["AP"][0]
        == ma.aggregate(frame, weights={1: 1, 2: 3})["AP"][0]
        == 0.75
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"q0": 1, "q1": 1}, r"each topic of AP for a, got none for q2"),
        ({**WEIGHTS, "q9": 1}, r"got weights for q9"),
        ({**WEIGHTS, "q1": -1}, "expected weights of at least 0, got -1 for q1"),
        ({**WEIGHTS, "q1": np.nan}, "the weight of topic q1: expected a finite number"),
        ({**WEIGHTS, "q1": "2"}, "the weight of topic q1: expected a finite number"),
        (dict.fromkeys(WEIGHTS, 0), "AP of a: expected at least one topic with a positive weight"),
        ([1, 2, 5], "weights: expected a mapping"),
        ({1: 1, "1": 2}, "expected one weight per topic"),
    ],
)
def test_invalid_weights(weights, message) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.aggregate(long({"a": [0.1, 0.2, 0.3]}), weights=weights)


def test_a_run_without_a_topic_is_refused() -> None:
    """Its weights would sum to less than those of the others."""
    with pytest.raises(MultiAspectError, match="AP for b, got weights for q2"):
        ma.aggregate(long({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2]}), weights=WEIGHTS)


def test_two_values_of_a_topic_are_refused() -> None:
    with pytest.raises(MultiAspectError, match=r"expected one.*AP for a on topic q0, got several"):
        ma.aggregate(pd.concat([long({"a": [0.1, 0.2, 0.3]})] * 2), weights=WEIGHTS)


# -- seeds and folds
# -------------------------------------------------------------------------------------

#: The values of a run on three topics by seed.
SEEDS = {1: [0.2, 0.4, 0.9], 2: [0.3, 0.5, 0.1], 5: [0.6, 0.6, 0.6]}


def seeds(measure: str = "AP") -> pd.DataFrame:
    return pd.concat(
        [
            long({"a": values, "b": values[::-1]}, measure, seed=seed)
            for seed, values in SEEDS.items()
        ]
    )


def test_means_over_seeds() -> None:
    """The mean and the standard deviation of the means over topics, one per seed, in any order of rows."""
    values_by_seed = {1: [0.2, 0.4, 0.9], 2: [0.3, 0.5, 0.1], 5: [0.6, 0.6, 0.6]}
    repeated = pd.concat(
        [long({"a": values}, seed=seed) for seed, values in values_by_seed.items()]
    )
    shuffled = repeated.sample(frac=1, random_state=0)
    table = ma.aggregate(shuffled, over="seed")
    assert list(table.columns) == ["name", "AP", "AP sd"]
    means = [0.5, 0.3, 0.6]
    assert table["AP"].item() == pytest.approx(statistics.fmean(means))
    assert table["AP sd"].item() == pytest.approx(statistics.stdev(means))


def test_means_over_seeds_of_several_runs() -> None:
    """Run b has the values of run a, on other topics, so that both rows are the same."""
    shuffled = seeds().sample(frac=1, random_state=0)
    table = ma.aggregate(shuffled.sort_values("name"), over="seed")
    assert table["name"].tolist() == ["a", "b"]
    means = [statistics.fmean(values) for values in SEEDS.values()]
    for _, row in table.iterrows():
        assert row["AP"] == pytest.approx(statistics.fmean(means))
        assert row["AP sd"] == pytest.approx(statistics.stdev(means))


def test_each_seed_is_aggregated_as_its_measure_is() -> None:
    frame = pd.concat([seeds(), seeds("NumRet")])
    row = ma.aggregate(frame, over="seed").iloc[0]
    sums = [sum(values) for values in SEEDS.values()]
    assert row[["NumRet", "NumRet sd"]].tolist() == pytest.approx(
        [statistics.fmean(sums), statistics.stdev(sums)]
    )


def test_folds_of_different_sizes_count_equally() -> None:
    frame = long({"a": [0.0, 0.2, 0.7]}).assign(fold=["x", "x", "y"])
    row = ma.aggregate(frame, over="fold").iloc[0]
    assert row.tolist() == ["a", pytest.approx(0.4), pytest.approx(statistics.stdev([0.1, 0.7]))]
    weighted = ma.aggregate(frame, over="fold", weights={"q0": 1, "q1": 3, "q2": 9}).iloc[0]
    assert weighted["AP"] == pytest.approx((0.15 + 0.7) / 2)


def test_equal_seeds_have_no_spread() -> None:
    frame = pd.concat([long({"a": [0.1, 0.7, 0.1]}, seed=seed) for seed in range(3)])
    table = ma.aggregate(frame, over="seed")
    assert table["AP sd"][0] == 0
    assert table["AP"][0] == ma.aggregate(long({"a": [0.1, 0.7, 0.1]}))["AP"][0]


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (seeds(), {"over": "fold"}, "over: expected a column of seeds or folds.*got 'fold'"),
        (seeds(), {"over": "qid"}, "over: expected a column of seeds or folds.*got 'qid'"),
        (seeds(), {"over": ["seed"]}, "over: expected a column of seeds or folds"),
        (long({"a": [0.1, 0.2]}, seed=1), {"over": "seed"}, "expected at least two values of seed, got 1"),
        (seeds().assign(seed=np.nan), {"over": "seed"}, "a value of seed in every row"),
        (pd.concat([seeds(), seeds()]), {"over": "seed"}, "one value of AP for a on topic q0, seed 1, got several"),
        (seeds().query("name == 'a' or seed < 5"), {"over": "seed"}, "got no AP of b for seed 5"),
        (seeds().query("qid != 'q1' or seed < 5"), {"over": "seed"}, "for a, seed 1 and 5 share only some topics"),
        (seeds().assign(qid=lambda rows: rows["qid"].where(rows["seed"] < 5, "other " + rows["qid"])),
         {"over": "seed"}, "for a, seed 1 and 5 have different topics"),
        (seeds(), {"over": "seed", "ci": 0.95}, "ci= is defined for topics of equal weight"),
        (seeds().query("seed == 1"), {"weights": WEIGHTS, "ci": 0.95}, "ci= is defined for topics of equal weight"),
        (pd.concat([seeds(), seeds("AP sd")]), {"over": "seed"}, "the alias .AP sd. of a measure is the name"),
    ],
)  # fmt: skip
def test_invalid_repeats(frame, options, message) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.aggregate(frame, **options)


def test_runs_with_different_topics_warn() -> None:
    rows = [("a", "q1", "AP", 0.5), ("a", "q2", "AP", 0.0), ("b", "q1", "AP", 0.5)]
    with pytest.warns(ma.MultiAspectWarning, match=r"a and b.*different topics"):
        ma.aggregate(pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]))


# -- frames as files and pandas make them
# -----------------------------------------------------------


@pytest.mark.parametrize("column", ["name", "qid", "measure"])
@pytest.mark.parametrize("empty", [None, np.nan])
def test_empty_names_are_refused(column: str, empty: Any) -> None:
    """Pandas leaves them out of groups, so that the other topics were averaged without a sign."""
    frame = long({"a": [1.0, 0.5], "b": [0.5, 0.25]}).astype({column: object})
    frame.loc[0, column] = empty
    with pytest.raises(
        MultiAspectError, match=rf"the column {column} has an empty cell .* keep_default_na=False"
    ):
        ma.aggregate(frame)


def test_values_that_are_no_numbers() -> None:
    frame = long({"a": [1.0, 0.5]})
    for values in (["x", "y"], pd.to_datetime(["2020", "2021"]), [1j, 2j]):
        with pytest.raises(MultiAspectError, match=r"expected numbers.*column value"):
            ma.aggregate(frame.assign(value=values))
    with pytest.raises(
        MultiAspectError, match=r"expected a long frame with the columns .*, got list"
    ):
        ma.aggregate([])  # type: ignore[arg-type]


def with_unused_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with categories as keys, each of which has one that no row has."""
    other = frame.assign(name="c", measure="d", qid="q3")
    keys = {"name": "category", "qid": "category", "measure": "category"}
    both = pd.concat([frame, other]).astype(keys)
    of_frame = both.iloc[: len(frame)]
    of_frame.attrs = dict(frame.attrs)
    return of_frame


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(value=frame["value"].astype(str)),
        lambda frame: frame.astype({"value": "Float64"}),
        lambda frame: frame.set_index(["name", "qid"], drop=False),
        lambda frame: frame.set_index(pd.Index([0] * len(frame))),
        with_unused_categories,
    ],
    ids=["values as text", "nullable values", "index of keys", "repeated index", "categories"],
)
def test_other_forms_of_the_same_frame(change: Any) -> None:
    runs = {"a": {"q1": {"d": 1.0}}, "b": {"q1": {"e": 1.0}}}
    qrels = {"q1": {"d": 1, "e": 0}, "q2": {"d": 1}}
    frame = ma.evaluate(runs, qrels, {"mine": "NumRet", "AP": "AP"}, progress=False)
    aggregated = ma.aggregate(change(frame))
    pd.testing.assert_frame_equal(aggregated, ma.aggregate(frame), check_dtype=False)


def test_intervals_of_values_in_percent_are_not_cut_off() -> None:
    """An interval of values in [0, 1] ends at 1; one of values beyond has no such end."""
    values = [0.9, 0.8, 0.99, 0.2]
    fractions = ma.aggregate(long({"a": values}), ci=0.95).iloc[0]
    percentages = ma.aggregate(long({"a": [100 * value for value in values]}), ci=0.95).iloc[0]
    assert fractions["AP 95% high"] == 1
    assert percentages["AP 95% low"] == pytest.approx(100 * fractions["AP 95% low"])
    # The interval is symmetric, as it is not cut off.
    half = percentages["AP"] - percentages["AP 95% low"]
    assert percentages["AP 95% high"] == pytest.approx(percentages["AP"] + half)


def test_the_range_of_values_is_that_of_all_runs() -> None:
    """A weak run in percent has values that could be fractions."""
    runs = {"a": [40.0, 60.0, 90.0], "b": [0.0, 0.9, 0.9]}
    assert ma.aggregate(long(runs), ci=0.95)["AP 95% high"][1] > 1


def test_categories_without_rows_are_left_out_of_aggregates() -> None:
    """pandas 2 has groups for categories without rows by default."""
    repeated = pd.concat(
        [long({"a": [1.0, 0.5], "b": [0.5, 0.5]}).assign(seed=seed) for seed in "xyz"]
    )
    expected = ma.aggregate(repeated[repeated["seed"] != "z"], over="seed")
    categories = repeated.astype({"seed": "category", "name": "category", "measure": "category"})
    without_z = categories[categories["seed"] != "z"]  # z is a category without rows
    pd.testing.assert_frame_equal(ma.aggregate(without_z, over="seed"), expected)


def test_categories_without_rows_are_left_out_of_comparisons() -> None:
    values = pd.concat(
        [
            long({"a": [1.0, 0.5, 0.2], "b": [0.5, 0.5, 0.1]}),
            long({"a": [1.0, 0.5], "b": [0.5, 0.25]}, "RR"),
        ]
    )
    measures = pd.Categorical(values["measure"], categories=["AP", "P@5", "RR"])
    pd.testing.assert_frame_equal(
        ma.analysis.compare_with_baseline(values.assign(measure=measures), "a"),
        ma.analysis.compare_with_baseline(values, "a"),
        check_dtype=False,
        check_categorical=False,
    )


# -- results of PyTerrier
# ----------------------------------------------------------------------------------


def experiment(**options: Any) -> Any:
    qrels = pd.DataFrame({"qid": ["q0", "q1"], "docno": "d", "label": 1, "trust": [1, 0]})
    topics = pd.DataFrame({"qid": ["q0", "q1", "q2"], "query": "a"})
    runs = {name: topics[["qid"]].assign(docno="d", score=1.0, rank=0) for name in "ab"}
    cam = ma.CAM(aspects={"relevance": 1, "trust": 1})
    return pt.Experiment(runs, topics, qrels, [cam, "map"], filter_by_qrels=True, **options)


@pytest.mark.slow
def test_both_results_of_an_experiment() -> None:
    """`perquery="both"` returns the means and the values per query: the latter are aggregated."""
    both = experiment(perquery="both")
    means_of_pyterrier, _ = both
    per_query = experiment(perquery=True)
    means = ma.aggregate(both)
    pd.testing.assert_frame_equal(means, ma.aggregate(per_query))
    pd.testing.assert_frame_equal(ma.aggregate(tuple(both)), means)
    for measure in means.columns.drop("name"):
        assert means[measure].tolist() == means_of_pyterrier[measure].tolist()
    assert len(ma.aggregate(both, ci=0.9)) == 2  # systems


@pytest.mark.filterwarnings("ignore:1 topic:UserWarning")
def test_topics_without_judgments_are_named_and_left_out() -> None:
    """Means were NaN, for all runs and measures."""
    frame = experiment(perquery=True)
    unjudged = frame[frame["qid"] == "q1"].assign(qid="q2", value=np.nan)
    both = pd.concat([frame, unjudged], ignore_index=True)
    with pytest.warns(
        ma.MultiAspectWarning, match=r"4 values.*topic q2 \(map of a, CAM.* of a"
    ) as caught:
        pd.testing.assert_frame_equal(ma.aggregate(both), ma.aggregate(frame))
    assert "dropna(subset=['value'])" in str(caught[0].message)
    with pytest.raises(MultiAspectError, match="expected at least one value, got NaN only"):
        ma.aggregate(unjudged)


@pytest.mark.parametrize(
    ("values", "label", "options", "warns"),
    [
        ([-3.0, -4.0], "gain", {}, True),
        ([1.5, 0.5], "gain", {}, True),
        ([1.0, 0.0], "gain", {}, False),
        ([1 + 1e-15, 0.0], "gain", {}, False),
        ([3.0, 4.0], "NumRet", {}, False),
        ([-3.0, -4.0], "gain", {"measures": {"gain": "CRP"}}, False),
    ],
)
def test_values_outside_0_and_1_of_an_unknown_label(
    values: list[float], label: str, options: dict[str, Any], warns: bool
) -> None:
    frame = long({"a": values}, label)
    text = f"^aggregate: {label} names no known measure, .*: values are averaged; pass measures={{alias: measure}}$"
    for _ in range(2):
        with pytest.warns(ma.MultiAspectWarning, match=text) if warns else no_warnings():
            ma.aggregate(frame, **options)


def test_recorded_values_outside_0_and_1_are_silent() -> None:
    frame = long({"a": [3.0, 4.0]}, "minutes")
    frame.attrs["measures"] = {"minutes": None}
    with no_warnings():
        assert ma.aggregate(frame)["minutes"].tolist() == [3.5]
