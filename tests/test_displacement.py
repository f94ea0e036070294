"""Cumulated relative position: against its definition, the properties that hold, and those that do not."""

from __future__ import annotations

import itertools

import ir_measures
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import crp_curve as slow_curve

from pt_multiaspect import (
    CAM,
    CRP,
    MM,
    TOMA,
    Aspect,
    Aspects,
    CRPRecovery,
    MultiAspectError,
    On,
    Order,
    crp_curve,
    evaluate,
    nCRP,
    uRBPgr,
)
from pt_multiaspect.analysis import upper_bound


def collection(run: list[int], missing: list[int]) -> tuple[dict, dict]:
    """Qrels and a run in which documents of these degrees are retrieved, in this order, or missing."""
    degrees = {f"r{rank:02d}": degree for rank, degree in enumerate(run)} | {
        f"m{number:02d}": degree for number, degree in enumerate(missing)
    }
    # Every other document of the lowest degree is not judged at all.
    judged = {
        doc: degree for number, (doc, degree) in enumerate(degrees.items()) if degree or number % 2
    }
    qrels = {"q": judged, "other": {"x": 1}}
    return qrels, {
        "q": {doc: 100.0 - rank for rank, doc in enumerate(degrees) if doc.startswith("r")}
    }


def value(measure, run: list[int], missing: list[int]) -> float:
    qrels, ranking = collection(run, missing)
    return next(
        m.value for m in ir_measures.iter_calc([measure], qrels, ranking) if m.query_id == "q"
    )


degrees = st.lists(st.integers(0, 3), max_size=9)


@given(degrees, degrees, st.integers(1, 12))
def test_equals_the_definition(run, missing, cutoff):
    judged = run + missing
    total = sum(degree > 0 for degree in judged)
    if not collection(run, missing)[0]["q"]:
        return
    curve = slow_curve(run, judged, max(len(run), total, cutoff))
    assert value(CRP, run, missing) == (curve[total - 1] if total else 0)
    assert value(CRP @ cutoff, run, missing) == curve[cutoff - 1]
    loss = 2 * curve[total - 1] / (total * (total + 1)) if total else -1
    assert value(nCRP, run, missing) == pytest.approx(min(1, 1 + loss), abs=1e-12)
    back = [rank for rank in range(max(total, 1), len(run) + 1) if curve[rank - 1] >= 0]
    assert value(CRPRecovery, run, missing) == pytest.approx(
        total / back[0] if back and total else 0, abs=1e-12
    )
    qrels, ranking = collection(run, missing)
    drawn = crp_curve(ranking, qrels)
    drawn = drawn[drawn["qid"] == "q"]
    assert drawn["crp"].tolist() == curve[: max(len(run), total)]
    assert drawn["rank"].tolist() == list(range(1, max(len(run), total) + 1))
    assert set(drawn["recall_base"]) <= {total}
    assert set(drawn["balance_point"].dropna()) == (
        {back[0]} if back and total and len(drawn) else set()
    )
    length = max(len(run), total)
    worst = [0] * (length - total) + sorted(degree for degree in judged if degree > 0)
    assert drawn["worst"].tolist() == slow_curve(worst, judged, length)
    assert set(drawn["turn_around"]) == (
        {curve.index(min(curve[:length])) + 1} if length else set()
    )


@given(degrees, degrees)
def test_what_holds(run, missing):
    judged = run + missing
    total = sum(degree > 0 for degree in judged)
    curve = slow_curve(run, judged, max(len(run), total) + 3)
    assert all(
        low <= high for low, high in itertools.pairwise(curve[total:])
    )  # non-decreasing after R
    if collection(run, missing)[0]["q"]:
        assert 0 <= value(nCRP, run, missing) <= 1
        assert 0 <= value(CRPRecovery, run, missing) <= 1
    binary = [min(degree, 1) for degree in judged]
    assert all(loss <= 0 for loss in slow_curve(binary[: len(run)], binary, max(total, 1))[:total])
    ideal = sorted(judged, reverse=True)
    assert set(slow_curve(ideal, judged, len(ideal) + 2)) <= {0}


@given(degrees)
def test_the_worst_is_attained_and_the_ideal_is_at_zero(run):
    total = sum(degree > 0 for degree in run)
    if not total or not collection(run, [])[0]["q"]:
        return
    nothing_relevant = [0] * total
    assert value(CRP, nothing_relevant, run) == -total * (total + 1) / 2
    assert value(nCRP, nothing_relevant, run) == 0
    ideal = sorted(run, reverse=True)
    assert (value(CRP, ideal, []), value(nCRP, ideal, []), value(CRPRecovery, ideal, [])) == (
        0,
        1,
        1,
    )


@pytest.mark.slow
def test_what_the_paper_claims_and_does_not_hold_for_graded_labels():
    assert value(CRP, [1, 1, 2], []) == 1  # positive at R
    assert value(CRPRecovery, [1, 2], []) == 1  # of a ranking that is not perfect
    # Recovery is not monotone: some swap of a worse document up raises it.
    rankings = itertools.product(range(3), repeat=5)
    raised = [
        ranking
        for ranking in rankings
        if any(ranking)
        for rank in range(4)
        if ranking[rank] > ranking[rank + 1]
        and value(CRPRecovery, _swap_ranks(ranking, rank), [])
        > value(CRPRecovery, list(ranking), [])
    ]
    assert raised


def _swap_ranks(ranking, index):
    swapped = list(ranking)
    swapped[index], swapped[index + 1] = swapped[index + 1], swapped[index]
    return swapped


def test_a_missing_query_is_an_empty_run():
    qrels = {"q1": {"d1": 1, "d2": 2, "d3": 0}, "q2": {"d1": 0}}
    values = {
        str(m.measure): m.value
        for m in ir_measures.iter_calc([CRP, nCRP, CRPRecovery], qrels, {})
        if m.query_id == "q1"
    }
    assert values == {"CRP": -3.0, "nCRP": 0.0, "CRPRecovery": 0.0}
    values = {
        str(m.measure): m.value
        for m in ir_measures.iter_calc([CRP, nCRP, CRPRecovery], qrels, {})
        if m.query_id == "q2"
    }
    assert values == {"CRP": 0.0, "nCRP": 0.0, "CRPRecovery": 0.0}


def test_displacement_over_several_aspects():
    aspects = Aspects({"relevance": 1, "credibility": 1, "understandability": 1})
    labels = {"d1": (1, 1, 1), "d2": (1, 1, 0), "d3": (0, 0, 0)}
    qrels = {"q": {doc: dict(zip(aspects, tuple_, strict=True)) for doc, tuple_ in labels.items()}}
    run = {"q": {"d2": 3.0, "d3": 2.0, "d1": 1.0}}
    # Classes 3, 2 and 0: ideal d1 d2; d2 stands one too early, d3 one, d1 two too late.
    assert (TOMA(base=CRP, distance="manhattan", aspects=aspects) @ 3).calc_aggregate(
        qrels, run
    ) == 0
    assert TOMA(base="CRP", distance=1, aspects=aspects).calc_aggregate(qrels, run) == -2
    recovery = TOMA(base="CRPRecovery", distance="manhattan", aspects=aspects)
    assert recovery.calc_aggregate(qrels, run) == pytest.approx(2 / 3)
    assert ir_measures.parse_measure(str(recovery)) == recovery
    drawn = crp_curve(run, qrels, recovery)
    assert drawn["crp"].tolist() == [-1, -2, 0]
    assert crp_curve(run, qrels, On(aspect="credibility"))["crp"].tolist() == [0, -1, 0]
    assert crp_curve(run, qrels, str(recovery)).equals(drawn)
    assert CAM(base=nCRP, aspects=aspects).calc_aggregate(qrels, run) == pytest.approx(
        (2 / 3 + 2 / 3 + 0) / 3
    )


def test_lowest_probability_above_0_is_the_lowest_degree() -> None:
    scale = Aspect([0, 1, 2], probabilities=[0.1, 0.5, 1])
    qrels = {"q": {"d1": 2, "d2": 1, "d3": 0}}
    drawn = crp_curve(
        {"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}, qrels, uRBPgr(aspects={"relevance": scale})
    )
    assert drawn["recall_base"].tolist() == [2, 2, 2]
    assert drawn["crp"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("cutoff", [None, 1, 2, 3])
def test_upper_bounds_over_several_aspects_are_those_of_brute_force(cutoff: int | None) -> None:
    labels = [(2, 0), (1, 2), (0, 2), (0, 0)]
    qrels = {
        "q": {
            f"d{number}": dict(zip("ab", pair, strict=True)) for number, pair in enumerate(labels)
        }
    }
    measure = CAM(base=CRP, aspects={"a": 2, "b": 2})
    measure = measure if cutoff is None else measure @ cutoff
    runs = {
        str(order): {"q": dict(zip(order, range(4), strict=True))}
        for order in itertools.permutations(qrels["q"])
    }
    values = evaluate(runs, qrels, measure, progress=False)["value"]
    bound = upper_bound(qrels, measure)
    assert bound[["value", "gap"]].iloc[0].tolist() == pytest.approx([values.max(), 0])


def test_in_other_doors():
    import pyterrier as pt

    qrels = pd.DataFrame([["q", "d1", 1], ["q", "d2", 1]], columns=["qid", "docno", "label"])
    run = pd.DataFrame(
        [["q", "d3", 3.0], ["q", "d1", 2.0], ["q", "d4", 1.5], ["q", "d2", 1.0]],
        columns=["qid", "docno", "score"],
    )
    topics = pd.DataFrame([["q", "x"]], columns=["qid", "query"])
    table = pt.Experiment([run], topics, qrels, ["CRP", "CRP@1", CRPRecovery, nCRP])
    assert table[["CRP", "CRP@1", "CRPRecovery", "nCRP"]].iloc[0].tolist() == pytest.approx(
        [-2, -2, 0.5, 1 / 3]
    )


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: MM(base=CRP), ["MM", "CRP", "negative"]),
        (lambda: TOMA(base=nCRP) @ 10, ["TOMA@10", "no base accepts one", "nCRP"]),
        (
            lambda: crp_curve({}, {"q": {"d": (1, 2)}}, CAM(aspects={"a": 1, "b": 2})),
            ["On or TOMA", "CAM"],
        ),
        (lambda: crp_curve({}, {"q": {"d": 1}}, "AP"), ["On or TOMA", "AP"]),
        (lambda: CRP @ 0, ["CRP", "cutoff", "0"]),
    ],
)
def test_bad_input(make, parts):
    with pytest.raises(MultiAspectError) as caught:
        make()
    assert all(part in str(caught.value) for part in parts), str(caught.value)


LOWEST = Aspect([1, 2, 3, 4])


@pytest.mark.every(2)
@pytest.mark.parametrize("measure", [CRP, nCRP, CRPRecovery])
def test_a_scale_may_start_above_0(measure):
    """Documents of the lowest grade are not counted in R, and stand beside unjudged ones, whatever their gain."""
    qrels = {"q1": {"a": 1, "b": 4}}
    for run in ({"b": 1.0}, {"b": 2.0, "x": 1.0}, {"x": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.0}):
        expected = On(base=measure).calc_aggregate({"q1": {"a": 0, "b": 3}}, {"q1": run})
        actual = On(base=measure, aspects={"relevance": LOWEST}).calc_aggregate(qrels, {"q1": run})
        assert actual == expected
    only_lowest = On(base=measure, aspects={"relevance": LOWEST})
    assert only_lowest.calc_aggregate({"q1": {"a": 1}}, {"q1": {"a": 1.0}}) == 0


def test_an_order_may_start_above_0():
    order = Order({(0, 0): 1, (1, 0): 2, (0, 1): 2, (1, 1): 3}, ["relevance", "credibility"])
    qrels = {
        "q1": {"a": {"relevance": 0, "credibility": 0}, "b": {"relevance": 1, "credibility": 1}}
    }
    measure = TOMA(order=order, base="CRP")
    for weighting in ("classes", "normalized"):
        weighted = measure(weighting=weighting)
        assert weighted.calc_aggregate(qrels, {"q1": {"b": 1.0}}) == 0
        assert weighted.calc_aggregate(qrels, {"q1": {"a": 2.0, "b": 1.0}}) == -1
        assert weighted.calc_aggregate(qrels, {"q1": {"x": 2.0, "b": 1.0}}) == -1


def test_what_a_short_run_lacks_is_scaled_as_the_value() -> None:
    """Two of three relevant documents are missing from ranks 2 and 3: CRP is -1 - 2, divided by 3 · 4 / 2."""
    qrels = {"q": {docno: {"relevance": 1} for docno in "abc"}}
    run = {"q": {"a": 1.0}}
    ranks = nCRP.explain(run, qrels, "q").ranks
    assert ranks["note"].tolist() == ["", "empty ranks"]
    assert ranks["contribution"].tolist() == pytest.approx([0, -3 / 6])
    assert ranks["running"].tolist() == pytest.approx([1, 0.5])


def test_the_balance_point_is_a_rank():
    """Kind: figures of the paper that the curve lacks. It had to be computed from CRPRecovery, as R / ρ."""
    qrels = {
        "late": {"a": 1, "b": 1},
        "never": {"a": 1, "b": 1},
        "ideal": {"a": 2, "b": 1},
        "none": {"a": 0},
    }
    run = {
        "late": {"x": 5.0, "a": 4.0, "y": 3.0, "b": 2.0, "z": 1.0},
        "never": {"x": 5.0, "a": 4.0},
        "ideal": {"a": 2.0, "b": 1.0},
        "none": {"x": 1.0},
    }
    curve = crp_curve(run, qrels)
    balance = curve.groupby("qid")["balance_point"].first()
    assert balance.drop(["never", "none"]).to_dict() == {"late": 4, "ideal": 2}
    assert balance[["never", "none"]].isna().all()
    ratio = (
        (curve["recall_base"] / curve["balance_point"])
        .astype(float)
        .fillna(0)
        .groupby(curve["qid"])
        .first()
    )
    recovery = {
        metric.query_id: metric.value for metric in ir_measures.iter_calc([CRPRecovery], qrels, run)
    }
    assert ratio.to_dict() == recovery
