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


def count_relevant(judged) -> int:
    """R, the recall base: the number of documents with a degree above 0."""
    return sum(degree > 0 for degree in judged)


def has_judgments(run: list[int], missing: list[int]) -> bool:
    """Return whether the topic q is in the qrels of `collection` at all."""
    qrels, _ = collection(run, missing)
    return bool(qrels["q"])


def find_balance_point(curve: list[float], total: int, n_retrieved: int) -> int | None:
    """The first retrieved rank from R (`total`) on at which the curve is at least 0, if there is one."""
    if total == 0:
        return None
    for rank in range(total, n_retrieved + 1):
        if curve[rank - 1] >= 0:
            return rank
    return None


@given(degrees, degrees, st.integers(1, 12))
def test_equals_the_definition(run, missing, cutoff):
    """CRP is the curve at rank R, nCRP scales it by the lowest CRP, CRPRecovery says where it is back at 0."""
    if not has_judgments(run, missing):
        return
    judged = run + missing
    total = count_relevant(judged)
    curve = slow_curve(run, judged, max(len(run), total, cutoff))

    assert value(CRP @ cutoff, run, missing) == curve[cutoff - 1]
    if total == 0:
        assert [value(measure, run, missing) for measure in (CRP, nCRP, CRPRecovery)] == [0, 0, 0]
        return

    crp_at_r = curve[total - 1]
    lowest = -total * (total + 1) / 2  # -R - (R - 1) - ... - 1
    assert value(CRP, run, missing) == crp_at_r
    assert value(nCRP, run, missing) == pytest.approx(min(1, 1 - crp_at_r / lowest), abs=1e-12)

    balance_point = find_balance_point(curve, total, len(run))
    recovery = total / balance_point if balance_point else 0
    assert value(CRPRecovery, run, missing) == pytest.approx(recovery, abs=1e-12)


@given(degrees, degrees)
def test_curves_equal_the_definition(run, missing):
    """`crp_curve` gives the curve, its lowest possible course and its landmarks, down to the last document or R."""
    if not has_judgments(run, missing):
        return
    judged = run + missing
    total = count_relevant(judged)
    length = max(len(run), total)
    qrels, ranking = collection(run, missing)

    table = crp_curve(ranking, qrels)
    table = table[table["qid"] == "q"]

    curve = slow_curve(run, judged, length)
    assert table["crp"].tolist() == curve
    assert table["rank"].tolist() == list(range(1, length + 1))
    # The worst ranking: R relevant documents at the end, the least relevant of them first.
    relevant = sorted(degree for degree in judged if degree > 0)
    worst_ranking = [0] * (length - total) + relevant
    assert table["worst"].tolist() == slow_curve(worst_ranking, judged, length)

    if length == 0:
        assert table.empty
        return
    assert set(table["recall_base"]) == {total}
    assert set(table["turn_around"]) == {curve.index(min(curve)) + 1}  # the rank of the minimum
    balance_point = find_balance_point(curve, total, len(run))
    expected_balance_points = {balance_point} if balance_point else set()
    assert set(table["balance_point"].dropna()) == expected_balance_points


@given(degrees, degrees)
def test_curves_do_not_fall_after_the_recall_base(run, missing):
    judged = run + missing
    total = count_relevant(judged)
    beyond_the_run = 3
    curve = slow_curve(run, judged, max(len(run), total) + beyond_the_run)
    after_r = curve[total:]
    assert all(value <= next_value for value, next_value in itertools.pairwise(after_r))


@given(degrees, degrees)
def test_values_are_between_0_and_1(run, missing):
    if has_judgments(run, missing):
        assert 0 <= value(nCRP, run, missing) <= 1
        assert 0 <= value(CRPRecovery, run, missing) <= 1


@given(degrees, degrees)
def test_curves_of_binary_labels_are_never_positive_up_to_the_recall_base(run, missing):
    judged = [min(degree, 1) for degree in run + missing]
    retrieved = judged[: len(run)]
    total = count_relevant(judged)
    curve_up_to_r = slow_curve(retrieved, judged, max(total, 1))[:total]
    assert all(value <= 0 for value in curve_up_to_r)


@given(degrees)
def test_the_curve_of_the_ideal_ranking_is_0(judged):
    ideal = sorted(judged, reverse=True)
    beyond_the_ranking = 2
    assert set(slow_curve(ideal, judged, len(ideal) + beyond_the_ranking)) <= {0}


@given(degrees)
def test_the_worst_is_attained_and_the_ideal_is_at_zero(judged):
    """The lowest value is that of R documents that are not relevant, while all relevant ones are missing."""
    total = count_relevant(judged)
    if total == 0 or not has_judgments(judged, []):
        return

    nothing_relevant = [0] * total
    assert value(CRP, nothing_relevant, missing=judged) == -total * (total + 1) / 2
    assert value(nCRP, nothing_relevant, missing=judged) == 0

    ideal = sorted(judged, reverse=True)
    assert value(CRP, ideal, missing=[]) == 0
    assert value(nCRP, ideal, missing=[]) == 1
    assert value(CRPRecovery, ideal, missing=[]) == 1


def test_crp_may_be_positive_and_recovery_1_of_a_ranking_that_is_not_perfect():
    """The paper says otherwise, which holds for binary labels only."""
    assert value(CRP, [1, 1, 2], []) == 1
    assert value(CRPRecovery, [1, 2], []) == 1


@pytest.mark.slow
def test_recovery_may_rise_if_a_worse_document_moves_up():
    """Some ranking of five documents has a higher recovery after such a swap of neighbours."""
    rises = []
    for ranking in itertools.product(range(3), repeat=5):
        if not any(ranking):
            continue
        for index in range(4):
            next_is_worse = ranking[index] > ranking[index + 1]
            if next_is_worse:
                before = value(CRPRecovery, list(ranking), [])
                after = value(CRPRecovery, _swap_ranks(ranking, index), [])
                rises.append(after > before)
    assert any(rises)


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


THREE_ASPECTS = Aspects({"relevance": 1, "credibility": 1, "understandability": 1})
THREE_ASPECTS_QRELS = {
    "q": {
        "d1": {"relevance": 1, "credibility": 1, "understandability": 1},
        "d2": {"relevance": 1, "credibility": 1, "understandability": 0},
        "d3": {"relevance": 0, "credibility": 0, "understandability": 0},
    }
}
THREE_ASPECTS_RUN = {"q": {"d2": 3.0, "d3": 2.0, "d1": 1.0}}


def test_displacement_over_several_aspects():
    """TOMA orders the documents by all aspects: d1 before d2 before d3, so R is 2.

    The run is d2 d3 d1: the ranks differ from the ideal ones by -1 (d2), -1 (d3) and +2 (d1).
    """
    toma = TOMA(base=CRP, distance="manhattan", aspects=THREE_ASPECTS)
    assert (toma @ 3).calc_aggregate(THREE_ASPECTS_QRELS, THREE_ASPECTS_RUN) == -1 - 1 + 2
    # Without a cutoff at rank R = 2; names and powers of distances are accepted.
    by_names = TOMA(base="CRP", distance=1, aspects=THREE_ASPECTS)
    assert by_names.calc_aggregate(THREE_ASPECTS_QRELS, THREE_ASPECTS_RUN) == -1 - 1

    # The curve is back at 0 at rank 3.
    recovery = TOMA(base="CRPRecovery", distance="manhattan", aspects=THREE_ASPECTS)
    value = recovery.calc_aggregate(THREE_ASPECTS_QRELS, THREE_ASPECTS_RUN)
    assert value == pytest.approx(2 / 3)
    assert ir_measures.parse_measure(str(recovery)) == recovery

    curve = crp_curve(THREE_ASPECTS_RUN, THREE_ASPECTS_QRELS, recovery)
    assert curve["crp"].tolist() == [-1, -1 - 1, -1 - 1 + 2]
    by_text = crp_curve(THREE_ASPECTS_RUN, THREE_ASPECTS_QRELS, str(recovery))
    assert by_text.equals(curve)


def test_displacement_on_single_aspects():
    """CAM averages the normalised displacement of each aspect; the run is d2 d3 d1."""
    # Credibility: d1 and d2 are credible, d3 is at rank 2 instead of 3, d1 at rank 3 instead of 2.
    curve = crp_curve(THREE_ASPECTS_RUN, THREE_ASPECTS_QRELS, On(aspect="credibility"))
    assert curve["crp"].tolist() == [0, -1, -1 + 1]

    measure = CAM(base=nCRP, aspects=THREE_ASPECTS)
    on_relevance = 1 - 1 / 3  # CRP at rank R = 2 is -1, at the least -3
    on_credibility = on_relevance  # the labels are the same
    on_understandability = 0  # R = 1: rank 1 is not understandable
    mean = (on_relevance + on_credibility + on_understandability) / 3
    value = measure.calc_aggregate(THREE_ASPECTS_QRELS, THREE_ASPECTS_RUN)
    assert value == pytest.approx(mean)


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
    """`pt.Experiment` evaluates the measures, whether by name or object."""
    import pyterrier as pt

    qrels = pd.DataFrame([["q", "d1", 1], ["q", "d2", 1]], columns=["qid", "docno", "label"])
    run = pd.DataFrame(
        [["q", "d3", 3.0], ["q", "d1", 2.0], ["q", "d4", 1.5], ["q", "d2", 1.0]],
        columns=["qid", "docno", "score"],
    )
    topics = pd.DataFrame([["q", "x"]], columns=["qid", "query"])

    table = pt.Experiment([run], topics, qrels, ["CRP", "CRP@1", CRPRecovery, nCRP])

    # R = 2, so relevant documents belong to ranks 1 and 2, others to 3 and below: the ranks of d3,
    # d1, d4, d2 differ by -2, 0, 0, +2 from these.
    values = table.iloc[0]
    assert values["CRP"] == -2
    assert values["CRP@1"] == -2
    assert values["CRPRecovery"] == pytest.approx(2 / 4)  # back at 0 at rank 4
    assert values["nCRP"] == pytest.approx(1 - 2 / 3)  # the lowest CRP is -2 - 1


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


@pytest.mark.parametrize("weighting", ["classes", "normalized"])
@pytest.mark.parametrize(
    ("ranking", "crp"),
    [
        pytest.param({"b": 1.0}, 0, id="ideal"),
        pytest.param({"a": 2.0, "b": 1.0}, -1, id="rank 1 has the lowest class, one rank too high"),
        pytest.param({"x": 2.0, "b": 1.0}, -1, id="rank 1 is unjudged, one rank too high"),
    ],
)
def test_an_order_may_start_above_0(ranking, crp, weighting):
    """The lowest class counts as not relevant although its number is 1: of a and b, only b is relevant (R = 1)."""
    order = Order({(0, 0): 1, (1, 0): 2, (0, 1): 2, (1, 1): 3}, ["relevance", "credibility"])
    qrels = {
        "q1": {"a": {"relevance": 0, "credibility": 0}, "b": {"relevance": 1, "credibility": 1}}
    }
    measure = TOMA(order=order, base="CRP", weighting=weighting)
    assert measure.calc_aggregate(qrels, {"q1": ranking}) == crp


def test_what_a_short_run_lacks_is_scaled_as_the_value() -> None:
    """Two of three relevant documents are missing from ranks 2 and 3: CRP is -1 - 2, divided by 3 · 4 / 2."""
    qrels = {"q": {docno: {"relevance": 1} for docno in "abc"}}
    run = {"q": {"a": 1.0}}
    ranks = nCRP.explain(run, qrels, "q").ranks
    assert ranks["note"].tolist() == ["", "empty ranks"]
    assert ranks["contribution"].tolist() == pytest.approx([0, -3 / 6])
    assert ranks["running"].tolist() == pytest.approx([1, 0.5])


def test_the_balance_point_is_a_rank():
    """The balance point is the first rank from R on at which the curve is back at 0; CRPRecovery is R / it."""
    qrels = {
        "late": {"a": 1, "b": 1},
        "never": {"a": 1, "b": 1},
        "ideal": {"a": 2, "b": 1},
        "none relevant": {"a": 0},
    }
    run = {
        # Ranks differ from the ideal ones by -2, 0, 0, +2: back at 0 at rank 4.
        "late": {"x": 5.0, "a": 4.0, "y": 3.0, "b": 2.0, "z": 1.0},
        "never": {"x": 5.0, "a": 4.0},
        "ideal": {"a": 2.0, "b": 1.0},  # 0 from the first rank on, and R = 2
        "none relevant": {"x": 1.0},
    }

    curve = crp_curve(run, qrels)

    balance_points = curve.groupby("qid")["balance_point"].first()
    assert balance_points["late"] == 4
    assert balance_points["ideal"] == 2
    assert pd.isna(balance_points["never"])
    assert pd.isna(balance_points["none relevant"])
    recovery = {
        metric.query_id: metric.value for metric in ir_measures.iter_calc([CRPRecovery], qrels, run)
    }
    recall_base = curve.groupby("qid")["recall_base"].first()
    for qid in ("late", "ideal"):
        assert recovery[qid] == recall_base[qid] / balance_points[qid]
    assert recovery["never"] == recovery["none relevant"] == 0
    assert len(recovery) == 4
