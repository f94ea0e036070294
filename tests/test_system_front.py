"""The systems on the Pareto front of several measures, and their probabilities."""

from __future__ import annotations

import importlib
import io
import itertools
import re
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.analysis import system_front


def frame(values: Any, measures: tuple[str, ...] = ("AP", "RR", "P@5")) -> pd.DataFrame:
    """A long frame of an array systems × topics × measures."""
    rows = [
        (f"s{system}", f"q{topic}", measures[measure], value)
        for (system, topic, measure), value in np.ndenumerate(np.asarray(values, dtype=float))
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def is_best(means: np.ndarray) -> list[bool]:
    means = np.round(means, 12)
    return [not any((o >= point).all() and (o > point).any() for o in means) for point in means]


@pytest.mark.parametrize("n_measures", [2, 3])
def test_the_front_of_means(n_measures: int) -> None:
    rng = np.random.default_rng(n_measures)
    for _ in range(10):
        values = rng.integers(0, 4, (7, 3, n_measures)) / 4
        table = system_front(frame(values), n_resamples=1)
        means = values.mean(axis=1)
        assert table["on_front"].tolist() == is_best(means)
        np.testing.assert_allclose(table.iloc[:, 1 : 1 + n_measures], means)
        for row, names in enumerate(table["dominated_by"]):
            expected = [
                f"s{other}"
                for other in range(7)
                if (means[other] >= means[row]).all() and (means[other] > means[row]).any()
            ]
            assert list(names) == expected
            assert (not names) == table["on_front"].iloc[row]


def test_probabilities_are_those_of_all_samples_of_topics() -> None:
    values = np.random.default_rng(1).random((4, 4, 2)).round(1)
    samples = itertools.product(range(4), repeat=4)
    exact = np.mean([is_best(values[:, list(drawn)].mean(axis=1)) for drawn in samples], axis=0)
    table = system_front(frame(values), n_resamples=20_000)
    assert 0 < exact.min() < 1
    np.testing.assert_allclose(table["probability"], exact, atol=0.02)


def test_seeds_and_the_order_of_rows() -> None:
    perquery = frame(np.random.default_rng(2).random((5, 8, 2)))
    table = system_front(perquery)
    pd.testing.assert_frame_equal(table, system_front(perquery))
    assert (table["probability"] != system_front(perquery, seed=1)["probability"]).any()
    shuffled = system_front(perquery.sample(frac=1, random_state=0)).sort_values("name", ignore_index=True)
    pd.testing.assert_frame_equal(table, shuffled)
    backwards = system_front(perquery[::-1])
    assert backwards["name"].tolist() == table["name"].tolist()[::-1]


def test_samples_in_several_parts_are_all_counted(monkeypatch) -> None:
    module = importlib.import_module("pt_multiaspect.analysis.ranks")
    perquery = frame(np.random.default_rng(3).random((4, 6, 2)))
    once = system_front(perquery, n_resamples=100)["probability"]
    monkeypatch.setattr(module, "_MOST_MEANS", 8 * 7)
    pd.testing.assert_series_equal(once, system_front(perquery, n_resamples=100)["probability"])


def test_lower_is_better() -> None:
    values = np.array([[[1, 0.5]] * 3, [[3, 0.6]] * 3, [[2, 0.4]] * 3])
    table = system_front(frame(values, ("ESL", "AP")))
    assert table["on_front"].tolist() == [True, True, False]
    assert table["dominated_by"].tolist() == [(), (), ("s0",)]
    assert table["ESL"].tolist() == [1, 3, 2]
    with pytest.raises(MultiAspectError, match="expected non-negative values for ESL"):
        system_front(frame(values * [-1, 1], ("ESL", "AP")))


def test_labels_of_ones_own_whose_record_is_lost() -> None:
    scales = {"relevance": 1, "b": 1}
    labels = {"d1": {"relevance": 1, "b": 1}, "d2": {"relevance": 0, "b": 0}, "d3": {"relevance": 0, "b": 0}}
    qrels = {"q1": labels, "q2": labels}
    orders = {"good": {"d1": 2.0, "d2": 1.0}, "bad": {"d2": 3.0, "d3": 2.0, "d1": 1.0}}
    runs = {name: dict.fromkeys(qrels, order) for name, order in orders.items()}
    measures = {"effort": ma.ESL(wanted=1), "b": ma.On(aspect="b", aspects=scales), "RR": "RR"}
    perquery = ma.evaluate(runs, qrels, measures, progress=False)
    expected = system_front(perquery)
    assert expected["on_front"].tolist() == [True, False]
    lost = pd.read_csv(io.StringIO(perquery.to_csv(index=False)), dtype={"qid": str})
    pd.testing.assert_frame_equal(system_front(lost, measures), expected)
    assert system_front(lost, {"RR": "RR", "effort": "ESL(wanted=1)"}).columns.tolist()[1:3] == ["RR", "effort"]
    with pytest.warns(MultiAspectWarning, match=r"effort, b name no known measure.* pass measures=\{label"):
        assert system_front(lost)["on_front"].tolist() == [True, True]
    system_front(lost)  # warns once
    system_front(lost.replace({"effort": "ESL"}), ["ESL", "RR"])
    defined = ir_measures.define_byquery(lambda qrels, run: 0.0, name="b")  # objects say what they are
    system_front(lost.replace({"effort": "ESL"}), ["ESL", defined])
    words = {"effort": "lower", "b": "higher", "RR": "RR"}
    pd.testing.assert_frame_equal(system_front(lost, words), expected)
    pd.testing.assert_frame_equal(
        system_front(lost, dict.fromkeys(words, "lower")),
        system_front(lost, {**words, "b": "lower", "RR": "lower"}),
    )
    negated = lost.assign(value=lost["value"].where(lost["measure"] != "effort", -lost["value"]))
    assert system_front(negated, {**words, "effort": "higher"})["on_front"].tolist() == [True, False]
    with pytest.raises(MultiAspectError, match="expected non-negative values for effort"):
        system_front(lost.assign(value=-lost["value"]), measures)
    with pytest.raises(MultiAspectError, match=r"expected measures of the frame .* got AP"):
        system_front(lost, {"effort": ma.ESL(wanted=1), "AP": "AP"})


def test_equal_systems_are_on_the_front_together() -> None:
    values = np.array([[[0.1, 0.2], [0.2, 0.1]], [[0.2, 0.1], [0.1, 0.2]], [[0.1, 0.1], [0.1, 0.1]]])
    table = system_front(frame(values))  # means of .15 that are added in another order
    assert table["on_front"].tolist() == [True, True, False]
    assert table["dominated_by"].tolist() == [(), (), ("s0", "s1")]
    assert table["probability"].iloc[2] == 0


def test_some_measures() -> None:
    values = np.random.default_rng(4).random((4, 3, 3))
    perquery = frame(values)
    two = system_front(perquery, ["P@5", "AP"])
    assert two.columns.tolist() == ["name", "P@5", "AP", "on_front", "probability", "dominated_by"]
    pd.testing.assert_frame_equal(two, system_front(frame(values[:, :, [2, 0]], ("P@5", "AP"))))


def test_the_result_of_evaluate() -> None:
    both = {"relevance": 1, "b": 1}
    qrels = {"q1": {"d1": {"relevance": 1, "b": 0}, "d2": {"relevance": 0, "b": 1}}, "q2": {"d1": both}}
    ranking = {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}
    runs = {"one": ranking, "two": {"q1": {"d2": 1.0}}, "none": {"q1": {"d9": 1.0, "d1": 0.0}}}
    measures = [ma.On(aspect=name, aspects={"relevance": 1, "b": 1}) for name in ("relevance", "b")]
    table = system_front(ma.evaluate(runs, qrels, measures, progress=False), measures)
    assert table["name"].tolist() == ["one", "two", "none"]
    assert table["on_front"].tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measures": ["AP"]}, "expected at least two measures, got only AP"),
        ({"measures": "AP"}, "measures: expected a list of measures of the frame"),
        ({"measures": ["AP", "nDCG"]}, "expected measures of the frame (AP, RR, P@5), got nDCG"),
        ({"n_resamples": 0}, "n_resamples: expected a whole number"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"perquery": frame(np.ones((1, 2, 2)))}, "expected at least two systems"),
        ({"perquery": frame(np.ones((2, 1, 2)))}, "expected at least two topics"),
        ({"perquery": frame([[[0, 1], [0, 1]], [[0, 1], [0, np.nan]]])}, "expected finite values"),
        ({"perquery": frame(np.ones((2, 2, 2)))[1:]}, "systems have different sets of topics"),
        (
            {"perquery": frame(np.ones((2, 2, 2)), ("probability", "AP"))},
            "the label 'probability' of a measure is the name",
        ),
        ({"perquery": None}, "expected a long frame with the columns"),
        ({"measures": []}, "measures: expected at least one measure"),
    ],
)
def test_errors(arguments, message) -> None:
    perquery = frame(np.random.default_rng(5).random((3, 3, 3)))
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        system_front(**{"perquery": perquery, **arguments})
