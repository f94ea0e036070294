"""Fronts of attainable values: golden figures, brute force, means, systems and their distances, plots, errors."""

from __future__ import annotations

import itertools
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, ERR, RBP, P, nDCG
from shared_data import golden
from strategies import examples, no_warnings

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning, On
from pt_multiaspect.analysis import attainable_front
from pt_multiaspect.analysis.fronts import hull
from pt_multiaspect.analysis.fronts.hull import Hull
from pt_multiaspect.analysis.fronts.supported import refine_hull
from pt_multiaspect.kernels.pareto import front_of as best_of
from pt_multiaspect.kernels.pareto import is_on_front, staircases

NAMES = ("a", "b", "c")
Table = dict[str, dict[str, dict[str, float]]]


def wide(*topics: list[tuple[float, ...]]) -> Table:
    """Qrels of topics q1, q2, … with documents d0, d1, … of these labels."""
    return {
        f"q{number}": {
            f"d{document}": dict(zip(NAMES, labels, strict=False)) for document, labels in enumerate(topic)
        }
        for number, topic in enumerate(topics, 1)
    }


def ranking(topic: dict[str, Any], order: Any) -> dict[str, float]:
    docnos = list(topic)
    return {docnos[row]: float(-rank) for rank, row in enumerate(order)}


def attained_values(qrels: Table, measures: list[ma.Measure]) -> list[np.ndarray]:
    """The values of all rankings of each topic, evaluated as one run on many topics."""
    result = []
    for topic in qrels.values():
        orders = list(itertools.permutations(range(len(topic))))
        run = {f"{number:04}": ranking(topic, order) for number, order in enumerate(orders)}
        labelled = {str(number): measure for number, measure in enumerate(measures)}
        table = ma.evaluate({"all": run}, dict.fromkeys(run, topic), labelled, progress=False)
        result.append(np.column_stack([table[table["measure"] == label]["value"] for label in labelled]))
    return result


def undominated_points(values: np.ndarray) -> set[tuple[float, ...]]:
    rounded = sorted(set(map(tuple, np.round(values, 9).tolist())))
    return {point for point in rounded if not any(all(np.array(o) >= point) and o != point for o in rounded)}


def front_points(front: ma.analysis.AttainableFront, qid: str | None = None) -> np.ndarray:
    table = front.mean if qid is None else front.points[front.points["qid"] == qid]
    return table[list(front.measures)].to_numpy()


def aspect_measures(base: Any, *names: str) -> dict[str, ma.Measure]:
    return {name: On(aspect=name, base=base) for name in names}


CONFLICT = wide([(2, 0), (0, 2), (1, 1), (2, 1), (0, 0)])
SPEC = {name: ma.Aspect(2, threshold=1) for name in "ab"}


# -- golden ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session", name="golden")
def _golden() -> list[dict[str, Any]]:
    return golden("pareto.json")["cases"]


def golden_front(case: dict[str, Any], kind: str) -> ma.analysis.AttainableFront:
    return attainable_front({case["topic"]: case["labels"]}, nDCG, aspects="relevance,aspect_2", kind=kind)


def golden_run(case: dict[str, Any]) -> dict[str, Any]:
    return {"mine": {case["topic"]: {docno: -rank for rank, docno in enumerate(case["run"])}}}


@pytest.mark.slow
def test_golden_points(golden) -> None:
    for case in golden:
        front = golden_front(case, "all")
        expected = np.array([entry["point"] for entry in case["frontier"]])
        np.testing.assert_allclose(front_points(front), expected, atol=1e-9)
        supported = np.array([entry["supported"] for entry in case["frontier"]])
        corners = front.points["supported"].to_numpy()
        assert not (corners & ~supported).any()
        # The file also flags a point between two corners of t5: several pairs of documents cross at one weight.
        between = np.flatnonzero(supported & ~corners)
        assert len(between) == (case["topic"] == "t5")
        assert (np.abs(Hull.of(expected[corners]).excess(expected[between])) < 1e-9).all()
        np.testing.assert_allclose(front_points(golden_front(case, "supported")), expected[corners], atol=1e-9)


@pytest.mark.slow
def test_golden_distances(golden) -> None:
    for case in golden:
        (row,) = golden_front(case, "all").systems(golden_run(case)).to_dict("records")
        assert row["nearest"] == pytest.approx(case["nearest frontier point"], abs=1e-9)
        assert [row["relevance"], row["aspect_2"]] == pytest.approx(case["point"], abs=1e-9)


def slipping_reference(path: np.ndarray, alpha: float) -> np.ndarray:
    """The reference point as the authors' notebook chooses it: never the first point of several."""
    if len(path) == 1:
        return path[0]
    lengths = np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))
    away = np.abs(lengths - alpha * lengths[-1])
    return path[1 + np.flatnonzero(away <= away.min() + 1e-12)[0]]


@pytest.mark.slow
def test_golden_references_but_for_the_slip(golden) -> None:
    compared = 0
    for case in golden:
        front = golden_front(case, "all")
        for text, given_ in case["dpfr"].items():
            alpha = float(text)
            slipped = slipping_reference(front_points(front), alpha)
            assert slipped.tolist() == pytest.approx(given_["reference"], abs=1e-9)
            assert np.linalg.norm(slipped - case["point"]) == pytest.approx(given_["distance"], abs=1e-9)
            reference = front.reference(alpha).to_numpy()[0]
            if (reference == front_points(front)[0]).all() and len(front_points(front)) > 1:
                assert alpha in (0, 0.25, 0.5)  # where the notebook takes the second point
                continue
            compared += 1
            (row,) = front.systems(golden_run(case), alpha=alpha).to_dict("records")
            assert reference.tolist() == pytest.approx(given_["reference"], abs=1e-9)
            assert row["dpfr"] == pytest.approx(given_["distance"], abs=1e-9)
    assert compared >= 15


def test_the_ends_of_the_front_are_its_references() -> None:
    for kind in ("all", "supported"):
        front = attainable_front(wide([(2, 0), (0, 2), (1, 1)]), "nDCG", aspects="a,b", kind=kind)
        assert front.reference(0).to_numpy()[0].tolist() == front_points(front)[0].tolist()
        assert front.reference(1).to_numpy()[0] == pytest.approx(front_points(front)[-1])


# -- brute force ----------------------------------------------------------------------------------

label = st.integers(0, 2)


def topics(n_aspects: int, most: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    return st.lists(st.tuples(*[label] * n_aspects), min_size=1, max_size=most)


@examples(25)
@given(
    st.lists(topics(2, 5), min_size=1, max_size=2), st.sampled_from([nDCG, nDCG @ 2, AP, P @ 2, RBP(p=0.5), ERR])
)
def test_all_points_are_those_of_brute_force(drawn, base) -> None:
    qrels, measures = wide(*drawn), {name: On(aspect=name, base=base, aspects=SPEC) for name in "ab"}
    front = attainable_front(qrels, measures, kind="all")
    for qid, values in zip(qrels, attained_values(qrels, list(measures.values())), strict=True):
        assert set(map(tuple, np.round(front_points(front, qid), 9).tolist())) == undominated_points(values)
        assert len(front_points(front, qid)) == len(undominated_points(values))


@examples(10)
@given(topics(2, 5), st.sampled_from([nDCG, nDCG @ 2, RBP(p=0.5)]))
def test_all_points_beside_means_that_are_no_sums(drawn, base) -> None:
    qrels = wide(drawn)
    measures = {"mean": ma.MM(base=base, aspects=SPEC), "a": On(aspect="a", base=base, aspects=SPEC)}
    (values,) = attained_values(qrels, list(measures.values()))
    front = attainable_front(qrels, measures, kind="all")
    assert set(map(tuple, np.round(front_points(front), 9).tolist())) == undominated_points(values)


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["all", "supported"])
def test_topics_that_share_documents(kind: str) -> None:
    """The documents of later topics are not in the order of their names if an earlier topic has some of them."""
    rng = np.random.default_rng(10)
    for _ in range(3):
        qrels: Table = {}
        for qid in ("q1", "q2", "q3"):
            docnos = rng.choice([f"d{n}" for n in range(8)], 4, replace=False).tolist()
            qrels[qid] = {docno: {"a": int(rng.integers(3)), "b": int(rng.integers(3))} for docno in docnos}
        front = attainable_front(qrels, nDCG, aspects=SPEC, kind=kind)
        for qid, values in zip(qrels, attained_values(qrels, list(front.measures.values())), strict=True):
            points = set(map(tuple, np.round(front_points(front, qid), 9).tolist()))
            assert points == undominated_points(values) if kind == "all" else points <= undominated_points(values)


@examples(10)
@given(st.lists(topics(2, 5), min_size=1, max_size=3), st.sampled_from([nDCG, nDCG @ 2, P @ 2, RBP(p=0.5)]))
def test_supported_points_are_the_corners_of_all(drawn, base) -> None:
    qrels = wide(*drawn)
    front = attainable_front(qrels, base, aspects=SPEC)
    every = attainable_front(qrels, base, aspects=SPEC, kind="all")
    for qid in qrels:
        corners = every.points[every.points["qid"] == qid]
        corners = corners[corners["supported"]][["a", "b"]].to_numpy()
        np.testing.assert_allclose(front_points(front, qid), corners, atol=1e-9)
    assert (front.points["gap"] == 0).all()


@examples(6)
@given(topics(3, 5))
def test_three_measures(drawn) -> None:
    qrels = wide(drawn)
    aspects = {**SPEC, "c": 2}
    measures = [On(aspect=name, aspects=aspects) for name in NAMES]
    (values,) = attained_values(qrels, measures)
    every = attainable_front(qrels, nDCG, aspects=aspects, kind="all")
    assert set(map(tuple, np.round(front_points(every), 9).tolist())) == undominated_points(values)
    front = attainable_front(qrels, nDCG, aspects=aspects)
    corners = front_points(front)
    assert front.points["gap"].max() < 1e-9
    weights = np.random.default_rng(0).dirichlet([0.5] * 3, 200)
    np.testing.assert_allclose((corners @ weights.T).max(axis=0), (values @ weights.T).max(axis=0), atol=1e-9)
    assert {tuple(corner) for corner in np.round(corners, 9).tolist()} <= undominated_points(values)


@pytest.mark.slow
def test_different_discounts_are_refined_by_assignment() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        qrels = wide([tuple(row) for row in rng.integers(0, 3, (5, 2)).tolist()])
        measures = {"top": On(aspect="a", base=nDCG @ 2), "deep": On(aspect="b", base=RBP(p=0.8))}
        front = attainable_front(qrels, measures)
        (values,) = attained_values(qrels, list(measures.values()))
        weights = np.random.default_rng(0).dirichlet([1, 1], 200)
        np.testing.assert_allclose(
            (front_points(front) @ weights.T).max(axis=0), (values @ weights.T).max(axis=0), atol=1e-9
        )
        assert front.points["gap"].max() == 0


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "measures",
    [
        [ma.MM(aspects=SPEC), On(aspect="a", base="AP")],
        [ma.CAM(aspects=SPEC, normalized=True), On(aspect="b")],
        [ma.CAM(aspects=SPEC, base="AP"), ma.GAM(aspects=SPEC) @ 3],
        [ma.TOMA(aspects=SPEC), On(aspect="b")],
        [ma.NLRE(aspects=SPEC), On(aspect="b")],
        [On(aspect="a", base=ma.ESL(wanted=2)), On(aspect="b", base=ma.ESL(wanted=2))],
    ],
    ids=str,
)
def test_other_measures(measures) -> None:
    rng = np.random.default_rng(2)
    qrels = wide(*([tuple(row) for row in rng.integers(0, 3, (5, 2)).tolist()] for _ in range(2)))
    front = attainable_front(qrels, measures, kind="all")
    signs = np.array([-1 if measure.lower_is_better else 1 for measure in measures])
    for qid, values in zip(qrels, attained_values(qrels, measures), strict=True):
        expected = {tuple((np.array(point) * signs).tolist()) for point in undominated_points(values * signs)}
        assert {tuple(point) for point in np.round(front_points(front, qid), 9).tolist()} == expected


@pytest.mark.slow
def test_weighted_sums_are_supported_exactly() -> None:
    qrels = wide([(2, 0), (0, 2), (1, 1), (1, 0), (0, 1)], [(2, 1), (0, 0), (1, 2)])
    spec = SPEC
    for measures in (
        [ma.CAM(aspects=spec, normalized=True), On(aspect="b", aspects=spec)],
        [ma.TOMA(aspects=spec), On(aspect="b", aspects=spec)],
        [ma.CAM(aspects=spec, weights={"a": 3, "b": 1}), ma.CAM(aspects=spec, weights={"a": 1, "b": 3})],
        [On(aspect="a", base=ma.CRP, aspects=spec), On(aspect="b", aspects=spec)],  # not the best if sorted
    ):
        front, weights = attainable_front(qrels, measures), np.random.default_rng(0).dirichlet([1, 1], 100)
        for qid, values in zip(qrels, attained_values(qrels, measures), strict=True):
            best = (values @ weights.T).max(axis=0)
            np.testing.assert_allclose((front_points(front, qid) @ weights.T).max(axis=0), best, atol=1e-9)


@pytest.mark.slow
def test_a_perfect_ranking_is_exactly_1() -> None:
    rng = np.random.default_rng(3)
    qrels = wide(*([tuple(row) for row in rng.integers(0, 4, (30, 2)).tolist()] for _ in range(20)))
    for base in (nDCG, nDCG @ 5, nDCG(dcg="exp-log2")):
        table = attainable_front(qrels, base, aspects="a,b").points
        assert (table.groupby("qid")[["a", "b"]].max() == 1.0).all().all()


def test_fractional_gains() -> None:
    """Differences of decimal gains are not exact: points on an edge must not be reported as corners."""
    aspects = {name: ma.Aspect([0, 1, 2, 3], gains=[0, 0.1, 0.2, 0.3]) for name in "ab"}
    qrels = wide([(3, 0), (2, 1), (1, 2), (0, 3), (1, 1), (0, 0)])
    tenths = front_points(attainable_front(qrels, nDCG, aspects=aspects))
    np.testing.assert_allclose(tenths, front_points(attainable_front(qrels, nDCG, aspects="a,b")), atol=1e-12)


@pytest.mark.slow
def test_results_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(4)
    qrels = ma.Judgments(
        wide(*([tuple(row) for row in rng.integers(0, 3, (6, 2)).tolist()] for _ in range(3)))
    )._frame
    shuffled = qrels.sample(frac=1, random_state=0)
    for kind in ("supported", "all"):
        first, second = (attainable_front(judged, nDCG, aspects="a,b", kind=kind) for judged in (qrels, shuffled))
        pd.testing.assert_frame_equal(first.points, second.points)
        pd.testing.assert_frame_equal(first.mean, second.mean)


# -- the mean -------------------------------------------------------------------------------------


def sums_of(values: list[np.ndarray]) -> np.ndarray:
    return np.array([np.mean(points, axis=0) for points in itertools.product(*values)])


@examples(6)
@given(st.lists(topics(2, 4), min_size=2, max_size=3))
def test_the_mean_is_the_best_of_all_means(drawn) -> None:
    qrels = wide(*drawn)
    every, corners = (attainable_front(qrels, nDCG, aspects="a,b", kind=kind) for kind in ("all", "supported"))
    means = sums_of([front_points(every, qid) for qid in qrels])
    assert set(map(tuple, np.round(front_points(every), 9).tolist())) == undominated_points(means)
    assert (every.mean["gap"] == 0).all()
    weights = np.random.default_rng(0).dirichlet([1, 1], 100)
    np.testing.assert_allclose(
        (front_points(corners) @ weights.T).max(axis=0), (means @ weights.T).max(axis=0), atol=1e-9
    )
    np.testing.assert_allclose(front_points(corners), every.mean[every.mean["supported"]][["a", "b"]], atol=1e-9)


@pytest.mark.slow
def test_the_mean_of_three_measures() -> None:
    rng = np.random.default_rng(5)
    qrels = wide(*([tuple(row) for row in rng.integers(0, 3, (4, 3)).tolist()] for _ in range(3)))
    front, every = (attainable_front(qrels, nDCG, aspects="a,b,c", kind=kind) for kind in ("supported", "all"))
    means, weights = sums_of([front_points(every, qid) for qid in qrels]), rng.dirichlet([1] * 3, 100)
    best = (means @ weights.T).max(axis=0)
    short = best - (front_points(front) @ weights.T).max(axis=0)
    assert short.min() > -1e-9
    assert short.max() <= front.mean["gap"].max() + 1e-9
    assert set(map(tuple, np.round(front_points(every), 9).tolist())) == undominated_points(means)


@pytest.mark.slow
def test_gaps_are_stated_and_true(monkeypatch) -> None:
    rng = np.random.default_rng(6)
    qrels = wide(*([tuple(row) for row in rng.integers(0, 4, (12, 3)).tolist()] for _ in range(2)))
    coarse, fine = (attainable_front(qrels, nDCG, aspects="a,b,c", limit=limit) for limit in (10, 10**6))
    weights = rng.dirichlet([1] * 3, 500)
    for qid in qrels:
        gap = coarse.points[coarse.points["qid"] == qid]["gap"].iloc[0]
        short = (front_points(fine, qid) @ weights.T).max(axis=0) - (front_points(coarse, qid) @ weights.T).max(
            axis=0
        )
        assert 0 < short.max() <= gap < 0.05
    assert fine.points["gap"].max() < 1e-11


def test_points_that_are_left_out_of_the_means_are_within_the_gap(monkeypatch) -> None:
    rng = np.random.default_rng(6)
    small = wide(*([tuple(row) for row in rng.integers(0, 4, (6, 2)).tolist()] for _ in range(4)))
    exact = front_points(attainable_front(small, nDCG, aspects="a,b", kind="all"))
    monkeypatch.setattr(hull, "MOST_MEANS", {2: 60})
    thinned = attainable_front(small, nDCG, aspects="a,b", kind="all")
    gap = thinned.mean["gap"].iloc[0]
    assert len(exact) > 60 >= len(front_points(thinned))
    lost = (exact[:, None] - front_points(thinned)).max(axis=2).min(axis=1)
    assert 0 < lost.max() <= gap < 0.05


@pytest.mark.parametrize("n_columns", [2, 3])
def test_thinned_points_cover_all_columns_whatever_their_scale(n_columns: int, monkeypatch) -> None:
    monkeypatch.setattr(hull, "MOST_MEANS", {2: 40, 3: 200})
    points = np.abs(np.random.default_rng(0).normal(size=(900, n_columns)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    kept, loss = hull._thin_points(points)
    assert hull.MOST_MEANS[n_columns] / 4 < len(kept) <= hull.MOST_MEANS[n_columns]
    assert (points[kept].max(axis=0) == points.max(axis=0)).all()
    assert 0 < (points[:, None] - points[kept]).max(axis=2).min(axis=1).max() <= loss <= 0.11
    scaled, scaled_loss = hull._thin_points(points * 8.0)
    assert scaled.tolist() == kept.tolist()
    assert scaled_loss == pytest.approx(8 * loss)


# -- topics and judgments -------------------------------------------------------------------------


@pytest.mark.slow
def test_topics_without_relevant_documents_count_as_the_means_count_them() -> None:
    qrels = wide([(1, 0), (0, 1)], [(0, 0), (0, 0)], [(0, 1), (0, 2)])
    for kind in ("supported", "all"):
        front = attainable_front(qrels, nDCG, aspects=SPEC, kind=kind)
        assert front_points(front, "q2").tolist() == [[0, 0]]
        assert front_points(front, "q3").tolist() == [[0, 1]]
        run = {qid: ranking(topic, range(len(topic)))  for qid, topic in qrels.items()}  # fmt: skip
        (row,) = front.systems({"mine": run}).to_dict("records")
        means = ma.aggregate(ma.evaluate({"mine": run}, qrels, front.measures, progress=False))
        assert (row["a"], row["b"]) == (means["a"].iloc[0], means["b"].iloc[0])
        assert front_points(front)[0] == pytest.approx([1 / 3, (0.6309297536 + 1) / 3])


def test_unjudged_topics_and_documents_of_runs() -> None:
    qrels = wide([(1, 0), (0, 1)], [(1, 1), (0, 0)])
    front = attainable_front(qrels, nDCG, aspects={"a": 1, "b": 1})
    run = {"q1": {"new": 9.0, "d0": 2.0, "d1": 1.0}, "q9": {"d0": 1.0}}
    table = front.systems({"mine": run}, perquery=True)
    assert table["qid"].tolist() == ["q1", "q2"]
    assert table[["a", "b"]].to_numpy()[1].tolist() == [0, 0]  # an empty ranking
    assert table["nearest"].iloc[1] == pytest.approx(np.sqrt(2))
    assert (table["nearest"] > 0).all()


def test_inferred_scales_are_those_of_all_topics() -> None:
    """Single topics are evaluated alone: their scales must not be inferred from their own labels."""
    qrels = wide([(1, 0), (0, 1), (1, 1)], [(4, 4), (0, 0), (2, 1)])
    with pytest.warns(MultiAspectWarning, match="scales"):
        front = attainable_front(qrels, aspect_measures(ERR, "a", "b"), kind="all")
    declared = attainable_front(qrels, ERR, aspects={"a": [0, 1, 2, 4], "b": [0, 1, 4]}, kind="all")
    np.testing.assert_allclose(front_points(front, "q1"), front_points(declared, "q1"))


@no_warnings()
def test_a_topic_alone_gives_no_warnings_about_its_labels() -> None:
    """Rankings are evaluated as many topics, where all documents can be positive, as they are not in all topics."""
    qrels = wide([(1, 1)] * 4 + [(2, 2)] * 3, *[[(0, 0)] * 20 + [(1, 0), (0, 1)]] * 3)
    front = attainable_front(qrels, "P@2", aspects="a,b", kind="all")
    assert front_points(front, "q1").tolist() == [[1, 1]]


# -- systems --------------------------------------------------------------------------------------


@examples(6)
@given(topics(2, 5), st.randoms(use_true_random=False))
def test_room_and_distance_by_brute_force(drawn, random) -> None:
    qrels = wide(drawn)
    order = list(range(len(drawn)))
    random.shuffle(order)
    every, front = (attainable_front(qrels, nDCG, aspects=SPEC, kind=kind) for kind in ("all", "supported"))
    run = {"mine": {"q1": ranking(qrels["q1"], order)}}
    (row,), (mixed,) = (attainable.systems(run).to_dict("records") for attainable in (every, front))
    (values,) = attained_values(qrels, list(every.measures.values()))
    here = np.array([row["a"], row["b"]])
    best = front_points(every)
    assert row["nearest"] == pytest.approx(np.linalg.norm(best - here, axis=1).min())
    for column, name in enumerate("ab"):
        enough = values[:, 1 - column] >= here[1 - column] - 1e-9
        assert row[f"{name} room"] == pytest.approx(values[enough, column].max() - here[column], abs=1e-9)
        # A mixture of two rankings that is as good on the other measure.
        share = np.linspace(0, 1, 101)[:, None]
        mixtures = np.concatenate([share * first + (1 - share) * second for first in best for second in best])
        enough = mixtures[:, 1 - column] >= here[1 - column] - 1e-9
        most = mixtures[enough, column].max() - here[column]
        assert most - 1e-9 <= mixed[f"{name} room"] <= most + 0.02
    assert mixed["nearest"] <= row["nearest"] + 1e-9 or len(front_points(front)) < len(best)


@pytest.mark.slow
def test_points_between_corners_are_on_the_front_of_mixtures() -> None:
    """A distance to the nearest corner would be above 0 for a ranking that no mixture beats."""
    front, every = (attainable_front(CONFLICT, nDCG, aspects=SPEC, kind=kind) for kind in ("supported", "all"))
    (path,) = [front_points(front)[:2]]
    between = front_points(every)[1]
    assert np.linalg.norm(front_points(front) - between, axis=1).min() > 0.02
    order = next(
        order
        for order in itertools.permutations(range(5))
        if np.allclose(ranking_values(CONFLICT, order, front.measures), between)
    )
    (row,) = front.systems({"mine": {"q1": ranking(CONFLICT["q1"], order)}}).to_dict("records")
    assert path[0, 0] > row["a"] > path[1, 0]
    assert row["nearest"] == pytest.approx(0, abs=1e-12)
    assert row["a room"] == pytest.approx(0, abs=1e-12)


def ranking_values(qrels: Table, order: Any, measures: dict[str, ma.Measure]) -> np.ndarray:
    run = {"q1": ranking(qrels["q1"], order)}
    return ma.evaluate({"r": run}, qrels, measures, progress=False)["value"].to_numpy()


def test_the_reference_of_mixtures_is_on_the_path() -> None:
    front = attainable_front(wide([(1, 0), (0, 1)]), nDCG, aspects={"a": 1, "b": 1})
    middle = front.reference(0.5).to_numpy()[0]
    assert middle.tolist() == pytest.approx([(1 + 1 / np.log2(3)) / 2] * 2)
    listed = attainable_front(wide([(1, 0), (0, 1)]), nDCG, aspects={"a": 1, "b": 1}, kind="all").reference(0.5)
    assert listed.to_numpy()[0].tolist() == [1.0, pytest.approx(1 / np.log2(3))]  # the first of two as near
    per_topic = front.reference(0, perquery=True)
    assert per_topic.columns.tolist() == ["qid", "a", "b"]


def test_hypervolume() -> None:
    qrels = wide([(1, 0), (0, 1)])
    low = 1 / np.log2(3)
    runs = {"one": {"q1": {"d0": 2.0, "d1": 1.0}}, "bad": {"q1": {"d0": 1.0}}}
    for kind, volume in (("all", 2 * low - low * low), ("supported", low + (1 + low) / 2 * (1 - low))):
        table = attainable_front(qrels, nDCG, aspects={"a": 1, "b": 1}, kind=kind).systems(runs)
        assert table["hypervolume"].tolist() == pytest.approx([low, 0])
        assert table["attainable"].tolist() == pytest.approx([volume] * 2)
        assert table["dominated_by"].tolist() == [(), ("one",)]


@examples(10)
@given(st.lists(st.tuples(*[st.integers(1, 6)] * 3), min_size=1, max_size=6))
def test_volumes_in_three_columns(drawn) -> None:
    values = np.array(drawn, dtype=float)
    values = values[best_of(values)]
    cells = sum(any(all(c < v for c, v in zip(cell, point, strict=True)) for point in drawn)
                for cell in itertools.product(range(6), repeat=3))  # fmt: skip
    assert hull.Points(values).volume(np.zeros(3)) == pytest.approx(cells)
    corners = hull.corners(values)
    assert Hull.of(corners).volume(np.zeros(3)) >= cells - 1e-9


@examples(15)
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=7), st.integers(0, 99))
def test_hulls_in_three_columns(drawn, seed) -> None:
    """Facets, distances and room, against many mixtures of the points."""
    rng = np.random.default_rng(seed)
    corners = hull.corners(np.array(drawn, dtype=float))
    shape = Hull.of(corners)
    weights = rng.dirichlet([0.5] * 3, 50)
    np.testing.assert_allclose((corners @ weights.T).max(axis=0), (np.array(drawn) @ weights.T).max(axis=0))
    mixtures = rng.dirichlet([0.3] * len(corners), 4000) @ shape.points
    assert shape.excess(mixtures).max() < 1e-9
    # Points above a mixture on a piece are outside.
    for piece in shape.pieces:
        middle = shape.points[piece].mean(axis=0, keepdims=True)
        assert abs(shape.excess(middle)[0]) < 1e-9
        assert shape.distance(middle)[0] == pytest.approx(0, abs=1e-9)
        assert shape.room(middle).max() < 1e-6
    inside = mixtures[:1] - rng.random((1, 3))
    to_pieces = min(
        np.linalg.norm(rng.dirichlet([0.5] * len(piece), 3000) @ shape.points[piece] - inside, axis=1).min()
        for piece in shape.pieces
    )
    assert shape.distance(inside)[0] <= to_pieces + 1e-9
    assert shape.distance(inside)[0] >= to_pieces - 0.5
    above = inside + shape.room(inside)[:, :1] * [[1, 0, 0]]
    assert abs(shape.excess(above)[0]) < 1e-7


def test_volumes_of_two_points_in_three_columns() -> None:
    """Boxes of 2 · 1 · 3 and 1 · 2 · 1, which share 1 · 1 · 1."""
    assert hull.Points(np.array([[2.0, 1, 3], [1, 2, 1]])).volume(np.zeros(3)) == 6 + 2 - 1


def test_points_that_differ_by_rounding_in_all_but_one_column_have_one_corner() -> None:
    assert hull.corners(np.array([[1.0, 0.0], [0.5, 1e-13]])).tolist() == [[1, 0]]


def test_a_facet_that_leaves_a_column_free_is_no_piece() -> None:
    """The points x + y = 1 between the first two corners are below the edges to the third."""
    shape = Hull.of(np.array([[1.0, 0, 0], [0, 1, 0], [0.5, 0.5, 1]]))
    assert sorted(sorted(piece.tolist()) for piece in shape.pieces) == [[0, 2], [1, 2]]
    # The nearest point of the edge from (1, 0, 0) is a third of the way up, at (5/6, 1/6, 1/3).
    assert shape.distance(np.array([[0.5, 0.5, 0]])) == pytest.approx([np.sqrt(1 / 3)])


def test_a_corner_that_replaces_another_one_refines_the_hull() -> None:
    """Weighted sums by the first measure alone find (1, 0) before (1, 5), which is not below it."""
    points = np.array([[1.0, 0], [1, 5], [0, 10]])
    refined, gap = refine_hull(lambda normals: points[np.argmax(normals @ points.T, axis=1)], 2, 10)
    assert refined.tolist() == [[1, 5], [0, 10]]
    assert gap == 0


def test_distances_to_a_triangle() -> None:
    rng = np.random.default_rng(0)
    triangle = np.diag([2.0, 1.0, 3.0])
    steps = np.array([(i, j, 60 - i - j) for i in range(61) for j in range(61 - i)]) / 60
    inside = rng.dirichlet([1, 1, 1], 30) @ triangle - rng.exponential(0.5, (30, 3))
    expected = np.linalg.norm((steps @ triangle)[:, None] - inside, axis=2).min(axis=0)
    np.testing.assert_allclose(Hull.of(triangle).distance(inside), expected, atol=0.01)


def test_systems_of_a_long_frame_are_those_of_the_runs() -> None:
    qrels = wide([(2, 0), (0, 2), (1, 1)], [(0, 1), (1, 0), (2, 2)])
    runs = {str(n): {qid: ranking(qrels[qid], order) for qid in qrels}
            for n, order in enumerate(itertools.permutations(range(3)))}  # fmt: skip
    front = attainable_front(qrels, nDCG, aspects=SPEC)
    perquery = ma.evaluate(runs, qrels, dict(reversed(front.measures.items())), progress=False)
    for by_query in (True, False):
        pd.testing.assert_frame_equal(
            front.systems(runs, perquery=by_query), front.systems(perquery.sample(frac=1, random_state=0)
            .sort_values("name"), perquery=by_query),
        )  # fmt: skip


def test_lower_is_better() -> None:
    qrels = wide([(1, 0), (0, 1), (0, 0)])
    spec = {"a": 1, "b": 1}
    measures = {"effort": On(aspect="a", base=ma.ESL(wanted=1), aspects=spec), "b": On(aspect="b", aspects=spec)}
    front = attainable_front(qrels, measures, kind="all")
    assert front_points(front)[0, 0] == 0  # no document before the relevant one
    assert front_points(front)[-1, 1] == 1
    bad = {"mine": {"q1": ranking(qrels["q1"], (2, 1, 0))}}
    with pytest.warns(MultiAspectWarning, match="effort has no upper limit"):
        table = front.systems(bad, worst={"effort": 3, "b": 0})
    (row,) = table.to_dict("records")
    assert row["effort"] == 2
    assert row["effort room"] == 2  # d0, then d1 in its second place
    assert row["hypervolume"] == pytest.approx(1 * row["b"])
    with pytest.raises(MultiAspectError, match=r"effort is infinite.*worst="):
        front.systems(bad)
    with pytest.raises(MultiAspectError, match=r"worst: expected values .*, got .*effort"):
        front.systems(bad, worst={"effort": 1, "b": 0})


# -- bad input ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_values_of_other_qrels_are_refused() -> None:
    front = attainable_front(CONFLICT, nDCG, aspects=SPEC)
    perquery = pd.DataFrame(
        [("x", "q1", "a", 1.0), ("x", "q1", "b", 1.0)], columns=["name", "qid", "measure", "value"]
    )
    with pytest.raises(MultiAspectError, match=r"x has a = 1.0000, b = 1.0000"):
        front.systems(perquery)
    with pytest.raises(MultiAspectError, match=r"no ranking.*attains: expected"):
        attainable_front(CONFLICT, nDCG, aspects=SPEC, kind="all").systems(perquery, perquery=True)
    with pytest.raises(MultiAspectError, match=r"expected measures of the frame \(a\), got b"):
        front.systems(perquery[:1])
    with pytest.raises(MultiAspectError, match=r"expected.*\(1\), got 1.*q1, q2"):
        front.systems(perquery.assign(qid="q2", value=0.1))
    runs, measures = {"x": {"q1": {"d0": 1.0}}}, {name: On(aspect=name, base="P@5", aspects=SPEC) for name in "ab"}
    with pytest.raises(
        MultiAspectError,
        match=r"expected values of a = On\(aspect='a'.*, got a = On\(base='P'.*@5\. Evaluate",
    ):
        front.systems(ma.evaluate(runs, CONFLICT, measures, progress=False))
    qrels = ma.Judgments(CONFLICT)._frame.rename(columns={"a": "relevance"})
    front = attainable_front(qrels, ["nDCG", "P@2"], kind="all")  # recorded as measures of ir-measures
    values = ma.evaluate(runs, qrels, ["nDCG", "P@2"], progress=False)
    pd.testing.assert_frame_equal(front.systems(values), front.systems(runs))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measures": "nDCG"}, "expected two or three measures, got 1: nDCG; give aspects="),
        ({"measures": ["nDCG", "P@5", "AP", "RR"]}, "expected two or three measures, got 4"),
        ({"measures": "nDCG", "aspects": "a"}, "expected two or three measures, got 1: a"),
        ({"measures": ma.CAM, "aspects": "a,b"}, "expected one single-aspect measure, such as nDCG"),
        ({"measures": ["nDCG", On(aspect="b")], "aspects": SPEC}, "nDCG has no parameter aspects; declare them"),
        ({"measures": "nDCG", "aspects": "a,b", "kind": "some"}, "kind: expected one of 'supported', 'all'"),
        ({"measures": "nDCG", "aspects": "a,b", "limit": 0}, "limit: expected a whole number of at least 1"),
        (
            {"measures": {"gap": On(aspect="a"), "b": On(aspect="b")}},
            "the label 'gap'",
        ),
        (
            {"measures": {"a": On(aspect="a"), "a room": On(aspect="b")}},
            "the label 'a room' of a measure",
        ),
        (
            {"measures": "AP", "aspects": "a,b"},
            "requires measures that are weighted sums .*, got a; use kind='all'",
        ),
        ({"measures": [ma.MM, ma.CAM]}, "requires measures that are weighted sums .*, got MM; use kind='all'"),
    ],
)
def test_errors(arguments, message) -> None:
    with pytest.raises(MultiAspectError, match=message):
        attainable_front(CONFLICT, **arguments)


def test_topics_with_too_many_rankings() -> None:
    rng = np.random.default_rng(7)
    qrels = wide([tuple(row) for row in rng.integers(0, 9, (14, 2)).tolist()])
    with pytest.raises(MultiAspectError, match=r"q1.*more than 50.*14"):
        attainable_front(qrels, nDCG, aspects="a,b", kind="all", limit=50)
    effort = {name: On(aspect=name, base=ma.ESL(wanted=1, rel=1)) for name in "ab"}
    with pytest.raises(MultiAspectError, match=r"q1.*more than 1000.*14"):
        attainable_front(qrels, effort, kind="all", limit=1000)


def test_three_measures_have_no_path() -> None:
    front = attainable_front(wide([(1, 0, 0), (0, 1, 0), (0, 0, 1)]), nDCG, aspects="a,b,c")
    run = {"mine": {"q1": {"d0": 1.0}}}
    assert "dpfr" not in front.systems(run)
    for ask in (lambda: front.reference(0.5), lambda: front.systems(run, alpha=0.5)):
        with pytest.raises(MultiAspectError, match=r"alpha: expected .* two measures, got 3"):
            ask()
    with pytest.raises(MultiAspectError, match="alpha: expected a number from 0 to 1, got 2"):
        attainable_front(CONFLICT, nDCG, aspects=SPEC).reference(2)


def test_aspects_of_several_measures() -> None:
    spec = ma.Aspects({name: ma.Aspect([0, 1, 2], gains=[0, 1, 5]) for name in "ab"}, name="front-scales")
    both = attainable_front(CONFLICT, [On(aspect="a"), On(aspect="b")], aspects=spec)
    assert [str(measure) for measure in both.measures.values()] == [
        "On(aspect='a',aspects='front-scales')",
        "On(aspect='b',aspects='front-scales')",
    ]
    np.testing.assert_allclose(
        front_points(both), front_points(attainable_front(CONFLICT, "nDCG", aspects="front-scales"))
    )
    assert not np.allclose(
        front_points(both)[0], front_points(attainable_front(CONFLICT, "nDCG", aspects="a,b"))[0]
    )


def test_measures_of_ir_measures_evaluate_relevance() -> None:
    qrels = ma.Judgments(CONFLICT)._frame.rename(columns={"a": "relevance"})
    front = attainable_front(qrels, ["nDCG", On(aspect="b")])
    run = {"q1": ranking(CONFLICT["q1"], (0, 3, 2, 1, 4))}
    value = ir_measures.calc_aggregate([nDCG], qrels, run)
    assert front.systems({"mine": run})["nDCG"].iloc[0] == pytest.approx(value[nDCG])


# -- the kernel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
def test_non_dominated_sets(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    for _ in range(40):
        exact = rng.integers(0, 4, (int(rng.integers(1, 12)), n_columns)) / 3
        noisy = exact * (1 + rng.normal(size=exact.shape) * 1e-15)
        expected = undominated_points(exact)
        places = best_of(noisy)
        assert len(places) == len(expected)
        assert set(map(tuple, np.round(exact[places], 9).tolist())) == expected
        assert {tuple(point) for point in np.round(exact[is_on_front(noisy)], 9).tolist()} == expected
        group = rng.integers(0, 3, len(exact))
        assert is_on_front(noisy * 1e6).tolist() == is_on_front(noisy).tolist()
        kept = staircases(noisy, group)
        for number in range(3):
            some = exact[kept[group[kept] == number]]
            assert set(map(tuple, np.round(some, 9).tolist())) == undominated_points(exact[group == number])


def test_several_sets_at_once() -> None:
    rng = np.random.default_rng(8)
    sets = rng.integers(0, 4, (30, 9, 3)).astype(float)
    sets[0, 0, 0] = np.nan
    assert is_on_front(sets).tolist() == [is_on_front(points).tolist() for points in sets]
    assert not is_on_front(sets)[0, 0]
    assert is_on_front(sets[:, :0]).shape == (30, 0)


# -- the plot -------------------------------------------------------------------------------------


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


@pytest.mark.slow
def test_plot(plt) -> None:
    runs = {
        f"r{n}": {"q1": ranking(CONFLICT["q1"], order)}
        for n, order in enumerate([(0, 1, 2, 3, 4), (4, 1, 0, 2, 3)])
    }
    for kind in ("supported", "all"):
        front = attainable_front(CONFLICT, nDCG, aspects=SPEC, kind=kind)
        for qid in (None, "q1"):
            systems = front.systems(runs, perquery=qid is not None)
            ax = ma.plots.ranking_front(front, systems, qid=qid, label=["r1"])
            assert [text.get_text() for text in ax.texts] == ["r1"]
            line = ax.lines[1].get_xydata()
            assert (line[0], line[-1]) == (
                pytest.approx(front_points(front)[0]),
                pytest.approx(front_points(front)[-1]),
            )
            # Steps stay below the points between them: what is between is not attained.
            assert len(line) == (
                len(front_points(front)) if kind == "supported" else 2 * len(front_points(front)) - 1
            )
            squares = np.concatenate(
                [artist.get_offsets() for artist in ax.collections if artist.get_zorder() == 4]
            )
            assert {tuple(square) for square in squares.tolist()} == set(
                map(tuple, systems[["a", "b"]].to_numpy().tolist())
            )
            labels = ax.get_legend_handles_labels()[1]
            assert "system, dominated by another" in labels
            assert ax.get_xlabel() == ("a\nmean over topics" if qid is None else "a\ntopic q1")
    assert len(ma.plots.ranking_front(front, alpha=None).collections) < len(ax.collections)


def test_plot_inverts_lower_is_better(plt) -> None:
    spec = {"a": 1, "b": 1}
    measures = {"effort": On(aspect="a", base=ma.ESL(wanted=1), aspects=spec), "b": On(aspect="b", aspects=spec)}
    ax = ma.plots.ranking_front(attainable_front(wide([(1, 0), (0, 1)]), measures, kind="all"))
    assert ax.xaxis_inverted()
    assert not ax.yaxis_inverted()
    assert ax.get_xlabel().endswith("lower is better")


def test_plot_errors(plt) -> None:
    front = attainable_front(CONFLICT, nDCG, aspects=SPEC)
    systems = front.systems({"r": {"q1": {"d0": 1.0}}})
    for arguments, message in (
        (
            {"front": systems},
            "expected the result of analysis.attainable_front for two measures, got DataFrame",
        ),
        (
            {"front": attainable_front(wide([(1, 0, 0)]), nDCG, aspects="a,b,c")},
            "for two measures, got three: a, b, c",
        ),
        ({"systems": systems, "qid": "q1"}, "expected the result of AttainableFront.systems with perquery=True"),
        ({"qid": "q7"}, r"expected a topic of the qrels \(q1\), got q7"),
        ({"systems": systems.drop(columns="a")}, "with the columns name, a, .* got the columns name, b"),
        ({"systems": systems, "label": ["s"]}, "expected names of systems"),
        ({"systems": systems, "label": "r"}, "expected a number of systems"),
    ):
        with pytest.raises(MultiAspectError, match=message):
            ma.plots.ranking_front(**{"front": front, **arguments})
    assert not plt.get_fignums()
