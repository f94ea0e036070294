"""Geometric and harmonic means over topics: `aggregate(mean=…)`."""

from __future__ import annotations

import math
import statistics
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from frame_world import long_frame
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from strategies import no_warnings

import pt_multiaspect as ma

VALUES = [0.2, 0.4, 0.1, 0.35, 0.3]


def run_with_ap(values: list[float]) -> tuple[dict, dict]:
    """Judgments and a run with these average precisions: n of 100 relevant documents at the top give n / 100."""
    qrels = {f"q{i}": {f"r{j}": 1 for j in range(100)} for i in range(len(values))}
    run = {
        f"q{i}": {f"r{j}": 100.0 - j for j in range(round(100 * value))}
        for i, value in enumerate(values)
    }
    return qrels, run


@pytest.mark.parametrize(
    ("values", "gmap", "slides"),
    [([0.05, 0.10, 0.50, 0.50, 0.75], 0.248, 0.25), ([0.10, 0.30, 0.45, 0.45, 0.60], 0.325, 0.33)],
)
def test_runs_of_equal_map_differ_in_gmap(values: list[float], gmap: float, slides: float) -> None:
    qrels, run = run_with_ap(values)
    perquery = ma.evaluate({"run": run}, qrels, "AP", progress=False)
    assert ma.aggregate(perquery)["AP"].item() == pytest.approx(0.38)
    geometric = ma.aggregate(perquery, mean="geometric")["AP"].item()
    assert geometric == pytest.approx(statistics.geometric_mean(values))
    assert round(geometric, 3) == gmap
    assert geometric == pytest.approx(slides, abs=0.006)  # the slides print .33 for .3252
    harmonic = ma.aggregate(perquery, mean="harmonic")["AP"].item()
    assert harmonic == pytest.approx(statistics.harmonic_mean(values))


def test_gmap_is_that_of_trec_eval() -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(5)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(2)) for d in range(8)} for q in range(7)}
    run = {qid: {docno: float(rng.random()) for docno in judged} for qid, judged in qrels.items()}
    qrels["q0"] = dict.fromkeys(qrels["q0"], 0)  # AP is 0
    values = pytrec_eval.RelevanceEvaluator(qrels, {"gm_map"}).evaluate(run)
    logarithms = [value["gm_map"] for value in values.values()]
    perquery = ma.evaluate({"run": run}, qrels, "AP", progress=False)
    assert ma.aggregate(perquery, mean="geometric")["AP"].item() == pytest.approx(
        math.exp(statistics.fmean(logarithms))
    )


def test_low_values_count_as_the_floor() -> None:
    qrels = {"q1": {"d": 1}, "q2": {"d": 1}}
    perquery = ma.evaluate({"run": {"q1": {"d": 1.0}}}, qrels, "AP", progress=False)
    assert perquery["value"].tolist() == [1, 0]
    assert ma.aggregate(perquery, mean="geometric")["AP"].item() == pytest.approx(math.sqrt(1e-5))
    assert ma.aggregate(perquery, mean="harmonic")["AP"].item() == pytest.approx(2 / (1 + 1e5))
    nearly = long_frame({"a": [1e-6, 1.0]})
    assert ma.aggregate(nearly, mean="geometric")["AP"].item() == pytest.approx(math.sqrt(1e-5))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_means_are_ordered_and_within_the_values(values: list[float]) -> None:
    perquery = long_frame({"a": values})
    floored = [max(value, 1e-5) for value in values]
    means = [ma.aggregate(perquery, mean=mean)["AP"].item() for mean in ("harmonic", "geometric")]
    assert min(floored) * (1 - 1e-12) <= means[0] <= means[1] * (1 + 1e-12)
    assert means[1] <= statistics.fmean(floored) * (1 + 1e-12)


def test_the_default_is_arithmetic() -> None:
    perquery = long_frame({"a": VALUES})
    for options in ({}, {"ci": 0.9}, {"weights": {f"q{n}": n for n in range(5)}}):
        pd.testing.assert_frame_equal(
            ma.aggregate(perquery, mean="arithmetic", **options), ma.aggregate(perquery, **options)
        )


def test_weights() -> None:
    weights = [1.0, 2.0, 5.0, 0.0, 0.5]
    by_topic = {f"q{n}": weight for n, weight in enumerate(weights)}
    perquery = long_frame({"a": VALUES})
    geometric = ma.aggregate(perquery, mean="geometric", weights=by_topic)["AP"].item()
    assert geometric == pytest.approx(
        math.prod(value**weight for value, weight in zip(VALUES, weights, strict=True))
        ** (1 / sum(weights))
    )
    harmonic = ma.aggregate(perquery, mean="harmonic", weights=by_topic)["AP"].item()
    assert harmonic == pytest.approx(statistics.harmonic_mean(VALUES, weights))


def test_intervals_are_transformed_back() -> None:
    perquery = long_frame({"a": VALUES})
    logarithms, reciprocals = [math.log(value) for value in VALUES], [1 / value for value in VALUES]
    low, high = stats.t.interval(0.9, 4, np.mean(logarithms), stats.sem(logarithms))
    row = ma.aggregate(perquery, mean="geometric", ci=0.9).iloc[0]
    assert list(row.index) == ["name", "AP", "AP 90% low", "AP 90% high"]
    assert row.tolist()[1:] == pytest.approx(
        [statistics.geometric_mean(VALUES), math.exp(low), math.exp(high)]
    )
    low, high = stats.t.interval(0.9, 4, np.mean(reciprocals), stats.sem(reciprocals))
    row = ma.aggregate(perquery, mean="harmonic", ci=0.9).iloc[0]
    assert row.tolist()[1:] == pytest.approx([statistics.harmonic_mean(VALUES), 1 / high, 1 / low])


@pytest.mark.parametrize(("mean", "mean_of_both"), [("geometric", 0.2), ("harmonic", 0.16)])
def test_bootstrap_intervals_are_those_of_the_means_of_samples(
    mean: str, mean_of_both: float
) -> None:
    """Of samples of two topics, a quarter repeats the first, a quarter the second, and half has both.

    So the means of samples are .1 up to the quantile 25 %, that of both topics up to 75 %, then .4.
    """
    perquery = long_frame({"a": [0.1, 0.4]})
    row = ma.aggregate(perquery, mean=mean, ci=0.9, ci_method="bootstrap").iloc[0]
    assert row.drop("name").tolist() == pytest.approx([mean_of_both, 0.1, 0.4])  # 5 % and 95 %
    row = ma.aggregate(perquery, mean=mean, ci=0.4, ci_method="bootstrap").iloc[0]
    assert row.drop("name").tolist() == pytest.approx([mean_of_both] * 3)  # 30 % and 70 %


def test_intervals_keep_to_the_range_of_the_measure() -> None:
    """The mean of the reciprocals minus its half width is negative here, and its reciprocal would be, too."""
    row = ma.aggregate(long_frame({"a": [1.0, 0.0]}), mean="harmonic", ci=0.95).iloc[0]
    assert 0 < row["AP 95% low"] < row["AP"] < row["AP 95% high"] == 1
    row = ma.aggregate(long_frame({"a": [1.0, 0.0]}), mean="geometric", ci=0.95).iloc[0]
    assert row["AP 95% low"] == pytest.approx(1e-5)
    assert row["AP 95% high"] == 1


def test_groups_of_topics() -> None:
    groups = {"q0": "x", "q1": "x", "q2": "y", "q3": "y", "q4": "z"}
    table = ma.aggregate(long_frame({"a": VALUES}), mean="geometric", by=groups, ci=0.9).set_index(
        "group"
    )
    expected = [math.sqrt(0.2 * 0.4), math.sqrt(0.1 * 0.35), 0.3, statistics.geometric_mean(VALUES)]
    assert table.loc[["x", "y", "z", "all"], "AP"].tolist() == pytest.approx(expected)
    assert table["AP 90% low"].isna().tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    "label", ["nDCG@10", "Frustration", "Bpref", "CAM(aspects={'relevance': 1})@5"]
)
@no_warnings()
def test_any_measure_between_0_and_1(label: str) -> None:
    assert ma.aggregate(long_frame({"a": VALUES}, label), mean="geometric")[
        label
    ].item() == pytest.approx(statistics.geometric_mean(VALUES))


@no_warnings()
def test_values_of_measures_without_a_known_range() -> None:
    own = ir_measures.define_byquery(lambda qrels, run: 0.5, name="Own")
    perquery = ma.evaluate({"a": {"q": {"d": 1.0}}}, {"q": {"d": 1}}, {"own": own}, progress=False)
    assert ma.aggregate(perquery, mean="geometric")["own"].item() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (
            long_frame({"a": VALUES}),
            {"mean": "median"},
            "mean: expected one of 'arithmetic', 'geometric', 'harmonic'",
        ),
        (long_frame({"a": VALUES}), {"mean": None}, "mean: expected one of"),
        (
            long_frame({"a": [3.0, 4.0]}, "NumRet"),
            {"mean": "geometric"},
            (
                r"mean='geometric': NumRet is not averaged over topics; leave it out, as in "
                r"perquery\[perquery"
            ),
        ),
        (
            long_frame({"a": VALUES}, "ESL"),
            {"mean": "harmonic"},
            (
                "mean='harmonic': expected measures between 0 and 1, got ESL from 0 to inf; leave it "
                "out"
            ),
        ),
        (
            long_frame({"a": VALUES}, "CRP"),  # without a limit on either side
            {"mean": "geometric"},
            (
                "mean='geometric': expected measures between 0 and 1, got CRP from -inf to inf; leave "
                "it out"
            ),
        ),
        (
            long_frame({"a": VALUES}, "HelpfulMinusHarmful"),
            {"mean": "geometric"},
            "got HelpfulMinusHarmful from -1 to 1",
        ),
        (long_frame({"a": [20.0, 35.0]}), {"mean": "geometric"}, "got AP from 20 to 35"),
        (
            pd.concat([long_frame({"a": VALUES}), long_frame({"a": [-0.5]}, "Bpref")]),
            {"mean": "geometric"},
            "got Bpref from -0.5 to -0.5",
        ),
        (
            pd.concat([long_frame({"a": VALUES}).assign(seed=seed) for seed in (1, 2)]),
            {"mean": "geometric", "over": "seed"},
            (
                "mean='geometric' is not defined for means over seeds or folds: omit over=, and "
                "aggregate each seed"
            ),
        ),
        (
            long_frame({"a": VALUES}),
            {"mean": "geometric", "ci": 0.9, "weights": {f"q{n}": 1 for n in range(5)}},
            "ci= is defined for topics of equal weight",
        ),
    ],
)
def test_other_combinations_are_refused(
    frame: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        ma.aggregate(frame, **options)
