"""Agreement with gold measures: of measures that disagree, and if the gold measures are unanimous."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_path

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import intuitiveness, unanimity

MEASURES = ["AP", "RR", "nDCG@5", "P@5", "R@5"]


def long(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    rows = [
        (system, f"q{topic}", measure, value)
        for measure, systems in values.items()
        for system, topics in systems.items()
        for topic, value in enumerate(topics)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


@st.composite
def worlds(draw) -> dict[str, dict[str, list[float]]]:
    """Values with many ties, as eighths, whose differences are exact."""
    n_systems, n_topics = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    cell = st.integers(0, 4).map(lambda eighths: eighths / 8)
    return {
        measure: {f"s{n}": draw(st.lists(cell, min_size=n_topics, max_size=n_topics)) for n in range(n_systems)}
        for measure in MEASURES
    }


@given(worlds(), st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3, unique=True), st.randoms())
def test_equals_the_reference(values, gold, random) -> None:
    frame = long(values)
    rows = list(range(len(frame)))
    random.shuffle(rows)
    table = intuitiveness(frame, gold)
    others = [measure for measure in MEASURES if measure not in gold]
    assert table[["a", "b"]].to_numpy().tolist() == list(map(list, itertools.combinations(others, 2)))
    shuffled = intuitiveness(frame.iloc[rows], gold, others)
    pd.testing.assert_frame_equal(shuffled, table)
    for row in table.itertuples(index=False):
        n, first, second = reference.intuitiveness(values, row.a, row.b, gold)
        assert row.n_disagreements == n
        if n == 0:
            assert math.isnan(row.intuitiveness_a)
            assert math.isnan(row.intuitiveness_b)
        else:
            assert (row.intuitiveness_a, row.intuitiveness_b) == (first / n, second / n)
            assert len(gold) > 1 or row.intuitiveness_a + row.intuitiveness_b >= 1


@given(worlds())
def test_only_the_order_of_the_values_matters(values) -> None:
    frame = long(values)
    squared = frame.assign(value=frame["value"] ** 2 * 7)
    pd.testing.assert_frame_equal(intuitiveness(squared, "P@5"), intuitiveness(frame, "P@5"))


def test_by_hand() -> None:
    """Three pairs and two topics; the gold measure ties a and c on q1."""
    values = {
        "AP": {"a": [0.9, 0.3], "b": [0.5, 0.2], "c": [0.1, 0.1]},
        "RR": {"a": [0.2, 0.3], "b": [0.5, 0.4], "c": [0.1, 0.2]},
        "P@5": {"a": [0.2, 0.2], "b": [0.4, 0.0], "c": [0.0, 0.2]},
    }
    # AP and RR disagree on (a, b) of both topics: P@5 says b on the first and a on the second.
    assert intuitiveness(long(values), "P@5").to_numpy().tolist() == [["AP", "RR", 2, 0.5, 0.5]]
    values["P@5"]["b"] = [0.2, 0.0]  # a tie on the first topic, with which both are concordant
    assert intuitiveness(long(values), "P@5").to_numpy().tolist() == [["AP", "RR", 2, 1.0, 0.5]]


def test_a_gold_measure_agrees_with_itself() -> None:
    rng = np.random.default_rng(1)
    frame = long({measure: {f"s{n}": rng.random(10).tolist() for n in range(5)} for measure in MEASURES[:3]})
    copy = frame[frame["measure"] == "AP"].assign(measure="P@5")
    table = intuitiveness(pd.concat([frame, copy]), "P@5")
    assert table.loc[table["a"] == "AP", "intuitiveness_a"].tolist() == [1.0, 1.0]
    assert table.loc[table["a"] == "AP", "intuitiveness_b"].tolist() == [0.0, 0.0]


def test_rounding_errors_are_ties() -> None:
    values = {
        "AP": {"a": [0.1 + 0.2, 0.5], "b": [0.3, 0.4]},
        "RR": {"a": [0.2, 0.2], "b": [0.4, 0.4]},
        "P@5": {"a": [0.2, 0.2], "b": [0.2, 0.2]},
    }
    assert intuitiveness(long(values), "P@5")["n_disagreements"].tolist() == [1]


def test_lower_is_better() -> None:
    rng = np.random.default_rng(2)
    frame = long({measure: {f"s{n}": rng.random(10).tolist() for n in range(5)} for measure in MEASURES})
    expected = intuitiveness(frame, "P@5")
    turned = frame.assign(value=frame["value"].where(~frame["measure"].isin(["RR", "P@5"]), 1 - frame["value"]))
    named = turned.assign(measure=turned["measure"].replace({"RR": "effort", "P@5": "cost"}))
    words = {"AP": "AP", "nDCG@5": "nDCG@5", "R@5": "R@5", "effort": "lower", "cost": "lower"}
    table = intuitiveness(named, "cost", words)
    key = [frozenset(pair) for pair in expected[["a", "b"]].replace({"RR": "effort"}).to_numpy()]
    pairs = {
        frozenset(row[:2]): (row[2], dict(zip(row[:2], row[3:], strict=True))) for row in table.to_numpy().tolist()
    }
    for pair, row in zip(key, expected.replace({"RR": "effort"}).to_numpy().tolist(), strict=True):
        assert pairs[pair] == (row[2], dict(zip(row[:2], row[3:], strict=True)))
    with pytest.warns(MultiAspectWarning, match="effort, cost name no known measure"):
        intuitiveness(named, "cost")
    recorded = ma.evaluate(*experiment(), ["AP", "RR", "ESL"], progress=False)
    negated = recorded.assign(value=recorded["value"].where(recorded["measure"] != "ESL", -recorded["value"]))
    negated["measure"] = negated["measure"].replace({"ESL": "negated"})
    words = {"AP": "higher", "RR": "higher", "negated": "higher"}
    pd.testing.assert_frame_equal(intuitiveness(recorded, "ESL"), intuitiveness(negated, "negated", words))


def experiment() -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    rng = np.random.default_rng(3)
    cells = [(f"q{topic}", f"d{document}") for topic in range(8) for document in range(10)]
    qrels = pd.DataFrame(cells, columns=["qid", "docno"])
    runs = {name: qrels.assign(score=rng.permutation(len(qrels))) for name in "abc"}
    return runs, qrels.assign(relevance=(rng.random(len(qrels)) < 0.4).astype(int))


@pytest.mark.parametrize(
    ("gold", "measures", "message"),
    [
        ("NDCG", None, r"^gold: expected measures of the frame \(AP, RR, nDCG@5, P@5, R@5\), got NDCG"),
        (["P@5", "P@5"], None, "^gold: expected distinct measures, got several P@5"),
        ([], None, "^gold: expected at least one measure of the frame, got none"),
        ("P@5", ["AP"], "^expected at least two measures .* P@5, got AP"),
        (MEASURES[1:], None, "^expected at least two measures .* RR, nDCG@5, P@5, R@5, got AP"),
        ("P@5", ["AP", "no"], "expected measures of the frame"),
        ("P@5", {"AP": "AP", "RR": "RR"}, "^gold: expected measures of the frame"),
        ("P@5", "AP", "^measures: expected a list of measures"),
    ],
)
def test_bad_input(gold, measures, message) -> None:
    rng = np.random.default_rng(1)
    frame = long({measure: {f"s{n}": rng.random(3).tolist() for n in range(2)} for measure in MEASURES})
    with pytest.raises(MultiAspectError, match=message):
        intuitiveness(frame, gold, measures)


def test_incomplete_frames_are_refused() -> None:
    frame = long({measure: {"a": [0.1, 0.2], "b": [0.2, 0.1]} for measure in MEASURES})
    for wrong, message in (
        (frame[frame["name"] == "a"], "at least two systems"),
        (frame.iloc[1:], "a .*q0|q0 .*a"),
        (frame.assign(value=frame["value"].where(frame["measure"] != "P@5")), "finite"),
    ):
        with pytest.raises(MultiAspectError, match=message):
            intuitiveness(wrong, "P@5")


# -- unanimity ----------------------------------------------------------------------------------------------


@given(worlds(), st.lists(st.sampled_from(MEASURES), min_size=2, max_size=4, unique=True))
def test_unanimity_equals_the_reference(values, gold) -> None:
    table = unanimity(long(values), gold)
    assert table["measure"].tolist() == [measure for measure in MEASURES if measure not in gold]
    pd.testing.assert_frame_equal(table, unanimity(long(values), gold, table["measure"].tolist()))
    for row in table.itertuples(index=False):
        cases, n, agreements, ties = reference.unanimity(values, row.measure, gold)
        assert (row.n_unanimous, row.premise) == (n, n / cases)
        if n == 0:
            assert math.isnan(row.agreement)
            assert math.isnan(row.ties)
        else:
            assert (row.agreement, row.ties) == (agreements / n, ties / n)


def test_unanimity_by_hand() -> None:
    """On q0, a is better by AP and RR ties; on q1, they are not unanimous; on q2, both tie."""
    values = {
        "AP": {"a": [0.9, 0.3, 0.2], "b": [0.5, 0.2, 0.2]},
        "RR": {"a": [0.2, 0.3, 0.1 + 0.2], "b": [0.2, 0.4, 0.3]},
        "P@5": {"a": [0.2, 0.2, 0.4], "b": [0.4, 0.0, 0.0]},
        "R@5": {"a": [0.2, 0.2, 0.4], "b": [0.2, 0.0, 0.0]},
    }
    table = unanimity(long(values), ["AP", "RR"])
    assert table.to_numpy().tolist() == [["P@5", 1, 1 / 3, 0.0, 0.0], ["R@5", 1, 1 / 3, 0.0, 1.0]]
    frame = long(values)
    costs = frame.assign(value=frame["value"].where(frame["measure"] != "RR", -frame["value"]))
    costs["measure"] = costs["measure"].replace({"RR": "cost"})
    words = {"AP": "higher", "cost": "lower", "P@5": "higher", "R@5": "higher"}
    pd.testing.assert_frame_equal(unanimity(costs, ["AP", "cost"], words), table)


@pytest.mark.parametrize(
    ("gold", "measures", "message"),
    [
        ("P@5", None, "^gold: expected at least two measures of the frame, got only P@5"),
        (MEASURES, None, "^expected at least one measure besides .*, got none"),
        (["P@5", "no"], None, "^gold: expected measures of the frame"),
        (["P@5", "AP"], "RR", "^measures: expected a list of measures"),
    ],
)
def test_bad_input_of_unanimity(gold, measures, message) -> None:
    rng = np.random.default_rng(1)
    frame = long({measure: {f"s{n}": rng.random(3).tolist() for n in range(2)} for measure in MEASURES})
    with pytest.raises(MultiAspectError, match=message):
        unanimity(frame, gold, measures)


@pytest.mark.slow
def test_aspects_are_unanimous_about_a_third_of_the_cases_of_clef_2018() -> None:
    folder = shared_path("data", "clef2018")
    files = {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"}
    qrels = ma.read_qrels({aspect: folder / f"{name}.txt.gz" for aspect, name in files.items()})
    rows = pd.read_csv(folder / "runs.top100.tsv.gz", sep="\t", names=["name", "qid", "rank", "docno"], dtype=str)
    rows["score"] = -rows["rank"].astype(int)
    runs = {name: run[["qid", "docno", "score"]] for name, run in rows.groupby("name")}
    scales = ma.Aspects({"relevance": 2, "understandability": 10, "trust": 10})
    single = [ma.On(aspect=aspect, base="nDCG@10", aspects=scales) for aspect in scales]
    combined = {"CAM": ma.CAM(base="nDCG@10", aspects=scales), "TOMA": ma.TOMA(aspects=scales) @ 10}
    measures = {str(measure): measure for measure in single} | combined
    with pytest.warns(MultiAspectWarning, match="1 of 50 judged topics"):
        perquery = ma.evaluate(runs, qrels, measures, progress=False)
    table = unanimity(perquery, list(map(str, single))).set_index("measure")
    assert table["premise"].round(2).tolist() == [0.34, 0.34]
    assert table.loc["CAM", ["agreement", "ties"]].tolist() == [1.0, 0.0]
    assert 0.8 < table.loc["TOMA", "agreement"] < 1
