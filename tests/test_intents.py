"""I-rec, D-nDCG, D♯-nDCG and graded ERR-IA: NTCIREVAL's figures, the reference, and what may go wrong."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import reference as ref
from comparison import compare, evaluate
from hypothesis import given
from hypothesis import strategies as st
from shared_data import golden
from strategies import Collection, examples, scaled_collections, weights

import pt_multiaspect as ma
from pt_multiaspect import (
    Aspect,
    Aspects,
    DnDCG,
    DSharpnDCG,
    IRec,
    MultiAspectError,
    MultiAspectWarning,
    Subtopics,
)
from pt_multiaspect.analysis import upper_bound

TWO = Aspects({"buy": 3, "repair": 3})
GRADED = Subtopics(base="ERR_IA", graded=True)
ALL = (IRec, DnDCG, DSharpnDCG, GRADED)


def topic_qrels(**labels: tuple[float, ...]) -> dict[str, dict[str, dict[str, float]]]:
    """Qrels of one topic with the intents buy, repair and, if there are three labels, sell."""
    names = ("buy", "repair", "sell")
    return {"q": {docno: dict(zip(names, row, strict=False)) for docno, row in labels.items()}}


def ranking(*docnos: str, qid: str = "q") -> dict[str, dict[str, float]]:
    return {qid: {docno: -float(rank) for rank, docno in enumerate(docnos)}}


NAN = float("nan")
UNEVEN = {
    "q": {"d1": {"buy": 3, "repair": 0}, "d3": {"buy": 0, "repair": 2}},
    "r": {"d1": {"buy": 3, "repair": NAN}},
    "s": {"d1": {"buy": NAN, "repair": NAN}},
}
QRELS = topic_qrels(d1=(3, 0), d2=(1, 1), d3=(0, 2), d4=(0, 0))


# -- NTCIREVAL's figures
# ---------------------------------------------------------------------------------------


def cases() -> list[dict[str, Any]]:
    return golden("intents.json")["cases"]


def read_case(
    case: dict[str, Any], number: int
) -> tuple[dict[str, ma.Measure], pd.DataFrame, pd.DataFrame]:
    """The measures, the qrels and the run of a case, which is one topic."""
    names = [f"i{index}" for index in range(len(case["grades"]))]
    qid = f"t{number:02d}"
    rows = [
        (qid, docno, *(grades[docno] for grades in case["grades"])) for docno in case["grades"][0]
    ]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", *names])
    run = pd.DataFrame(
        {"query_id": qid, "doc_id": case["run"], "score": -np.arange(len(case["run"]), dtype=float)}
    )
    settings = {
        "aspects": {name: Aspect(3, threshold=1) for name in names},
        "weights": dict(zip(names, case["probabilities"], strict=True)),
        "cutoff": case["k"],
    }
    measures = {
        "I_rec": IRec(**settings),
        "D_nDCG": DnDCG(**settings),
        "DSharp": DSharpnDCG(**settings),
        "ERR_IA": GRADED(**settings),
    }
    return measures, qrels, run


def as_printed(case: dict[str, Any]) -> float:
    """ERR-IA of the rounded lines of NTCIREVAL, one per intent."""
    run, scale = (
        {docno: -rank for rank, docno in enumerate(case["run"])},
        {"i": ref.ref_aspect(range(4))},
    )
    total = 0.0
    for share, grades in zip(case["probabilities"], case["grades"], strict=True):
        labels = {docno: {"i": grade} for docno, grade in grades.items()}
        total += share * round(ref.graded_err_ia(run, labels, scale, cutoff=case["k"]), 4)
    return round(total, 4)


@pytest.mark.every(8)
@pytest.mark.parametrize("number", range(60))
def test_golden_figures_through_evaluate_and_ir_measures(number: int) -> None:
    """Four decimals. ERR-IA is a sum of rounded lines, so up to 1e-4 off; summed in this way it is equal."""
    case = cases()[number]
    measures, qrels, run = read_case(case, number)
    table = ma.evaluate({"run": run}, qrels, measures, progress=False).set_index("measure")["value"]
    means = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    for name, measure in measures.items():
        assert table[name] == pytest.approx(case[name], abs=1e-4), name
        assert table[name] == means[measure]
    assert table["I_rec"] == pytest.approx(case["I_rec"], abs=5e-5)
    assert as_printed(case) == case["ERR_IA"]


def test_no_golden_case_is_left_out() -> None:
    assert len(cases()) == 60


@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_golden_figures_through_an_experiment(as_string: bool) -> None:
    columns = {"query_id": "qid", "doc_id": "docno"}
    for number, case in list(enumerate(cases()))[:: 12 if as_string else 10]:
        measures, qrels, run = read_case(case, number)
        asked = [str(measure) if as_string else measure for measure in measures.values()]
        topics = pd.DataFrame({"qid": [f"t{number:02d}"], "query": ["?"]})
        table = pt.Experiment(
            [run.rename(columns=columns)], topics, qrels.rename(columns=columns), asked
        )
        for name, measure in measures.items():
            assert table[str(measure)].item() == pytest.approx(case[name], abs=1e-4)


# -- by hand and against the reference
# -------------------------------------------------------------------------


def test_by_hand() -> None:
    run = ranking("d4", "d1", "d3")
    log = 1 / np.log2([2, 3, 4])
    assert (IRec(aspects=TWO) @ 2).calc_aggregate(QRELS, run) == 0.5
    assert IRec(aspects=TWO).calc_aggregate(QRELS, run) == 1
    wanted = (log @ [0, 1.5, 1]) / (log @ [1.5, 1, 1])
    assert DnDCG(aspects=TWO).calc_aggregate(QRELS, run) == pytest.approx(wanted, abs=1e-12)
    weighted = {"buy": 3, "repair": 1}
    wanted = (log @ [0, 2.25, 0.5]) / (log @ [2.25, 1, 0.5])
    assert DnDCG(aspects=TWO, weights=weighted).calc_aggregate(QRELS, run) == pytest.approx(
        wanted, abs=1e-12
    )
    assert (DSharpnDCG(aspects=TWO, gamma=0.2) @ 2).calc_aggregate(QRELS, run) == pytest.approx(
        0.2 * 0.5 + 0.8 * (log @ [0, 1.5, 0]) / (log @ [1.5, 1, 0]), abs=1e-12
    )
    wanted = 0.75 * 0.75 / 2 + 0.25 * 0.5 / 3
    assert GRADED(aspects=TWO, weights=weighted).calc_aggregate(QRELS, run) == pytest.approx(
        wanted, abs=1e-12
    )


@given(
    scaled_collections(),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([0, 0.3, 0.5, 1]),
    st.data(),
)
@examples(60)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int | None,
    gamma: float,
    data: st.DataObject,
) -> None:
    collection, aspects, theirs = drawn
    given_weights = data.draw(weights(list(aspects)))
    settings = {"aspects": Aspects(aspects), "weights": given_weights, "cutoff": cutoff}

    def d_sharp_ndcg(run: ref.Run, judgments: ref.Judgments) -> float:
        recall = ref.intent_recall(run, judgments, theirs, given_weights, cutoff)
        return gamma * recall + (1 - gamma) * ref.d_ndcg(
            run, judgments, theirs, given_weights, cutoff
        )

    values = {IRec: ref.intent_recall, DnDCG: ref.d_ndcg, GRADED: ref.graded_err_ia}
    cases: dict[ma.Measure, Any] = {
        measure(**settings): lambda run, judgments, function=function: function(
            run, judgments, theirs, given_weights, cutoff
        )
        for measure, function in values.items()
    }
    compare({**cases, DSharpnDCG(gamma=gamma, **settings): d_sharp_ndcg}, collection)


@given(scaled_collections(max_aspects=1), st.sampled_from([None, 1, 3]))
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_with_one_intent_they_are_success_and_ndcg(drawn: Any, cutoff: int | None) -> None:
    collection, aspects, _ = drawn
    scales = Aspects(aspects)
    alike = {
        DnDCG(aspects=scales, cutoff=cutoff): ma.On(base="nDCG", aspects=scales, cutoff=cutoff),
        IRec(aspects=scales, cutoff=cutoff): ma.On(
            base="Success", aspects=scales, cutoff=cutoff or 1000
        ),
    }
    values = evaluate([*alike, *alike.values()], collection.qrels, collection.run)
    for qid in collection.labels:
        for first, second in alike.items():
            assert values[first, qid] == pytest.approx(values[second, qid], abs=1e-12)


# -- exactness
# -------------------------------------------------------------------------------------------------


def test_equal_global_gains_are_equal_and_perfect_rankings_score_1() -> None:
    """As floats, .1 · 3 is more than .3 · 1, and 7 · .1 is less than .7: the order of d1 and d2 would matter."""
    qrels = topic_qrels(d1=(3, 0), d2=(0, 1), d3=(1, 0))
    measure = DnDCG(aspects=TWO, weights={"buy": 0.1, "repair": 0.3})
    assert measure.calc_aggregate(qrels, ranking("d1", "d2", "d3")) == 1
    assert measure.calc_aggregate(qrels, ranking("d2", "d1", "d3")) == 1
    explanation = measure.explain(ranking("d1", "d2", "d3"), qrels, "q")
    assert explanation.ranks["gain"].tolist() == [0.75, 0.75, 0.25]
    many = {f"i{n}": 1 for n in range(10)}
    single = {"q": {"d": dict.fromkeys(many, 1)}}
    for gamma in (0, 0.1, 0.3, 0.7, 1):
        assert DSharpnDCG(aspects=many, gamma=gamma).calc_aggregate(single, ranking("d")) == 1
    some = {"q": {"d": {name: int(name < "i3") for name in many}}}
    assert IRec(aspects=many).calc_aggregate(some, ranking("d")) == 0.3


def test_long_decimals_are_exact_as_well() -> None:
    """Denominators beyond 2^53: integers of any length."""
    third, rest = 0.1234567890123456, 0.8765432109876544
    qrels = topic_qrels(d1=(3, 0), d2=(0, 3), d3=(3, 0))
    measure = DnDCG(aspects=TWO, weights={"buy": third, "repair": rest})
    assert measure.calc_aggregate(qrels, ranking("d2", "d3", "d1")) == 1
    assert measure.calc_aggregate(qrels, ranking("d2", "d1", "d3")) == 1


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_only_ratios_of_weights_count(measure: ma.Measure) -> None:
    def value(buy: float, repair: float) -> float:
        weighted = measure(aspects=TWO, weights={"buy": buy, "repair": repair})
        return weighted.calc_aggregate(QRELS, ranking("d4", "d2", "d1"))

    assert (
        value(1, 2)
        == pytest.approx(value(0.1, 0.2), abs=1e-15)
        == pytest.approx(value(1e300, 2e300), abs=1e-15)
    )
    assert value(4, 4) == measure(aspects=TWO).calc_aggregate(QRELS, ranking("d4", "d2", "d1"))


# -- labels of every kind
# --------------------------------------------------------------------------------------


def test_intents_without_relevant_documents() -> None:
    """I-rec counts all declared intents; StRecall only those with documents; ERR-IA is 0 there."""
    qrels = topic_qrels(d1=(3, 0, 0), d2=(0, 1, 0))
    three, run = {"buy": 3, "repair": 3, "sell": 3}, ranking("d1", "d2")
    assert IRec(aspects=three).calc_aggregate(qrels, run) == pytest.approx(2 / 3, abs=1e-15)
    assert Subtopics(base="StRecall", aspects=three).calc_aggregate(qrels, run) == 1
    assert GRADED(aspects=three).calc_aggregate(qrels, run) == pytest.approx(
        (3 / 4 + 1 / 4 / 2) / 3
    )
    assert DnDCG(aspects=three).calc_aggregate(qrels, run) == 1
    nothing = topic_qrels(d1=(0, 0))
    for measure in ALL:
        assert measure(aspects=TWO).calc_aggregate(nothing, ranking("d1")) == 0


def test_an_intent_of_probability_0_is_none() -> None:
    """Whatever its labels and gains are."""
    weighted = {"buy": 1, "repair": 0}
    aspects = Aspects({"buy": 3, "repair": Aspect([0, 1, 2], gains=[-1, 0, 1])})
    for measure in ALL:
        value = measure(aspects=aspects, weights=weighted).calc_aggregate(
            QRELS, ranking("d3", "d1")
        )
        assert value == measure(aspects={"buy": 3}).calc_aggregate(QRELS, ranking("d3", "d1"))
    assert IRec(aspects=aspects, weights=weighted).calc_aggregate(QRELS, ranking("d1")) == 1


def test_junk_and_unjudged_labels() -> None:
    """Junk is the lowest grade. A label missing on one intent gives no gain there, and counts on the others."""
    clean = topic_qrels(d1=(3, 0), d2=(0, 2), d3=(0, 0))
    odd = topic_qrels(d1=(3, NAN), d2=(-2, 2), d3=(-1, NAN))
    run = ranking("d3", "d2", "new", "d1")
    for measure in ALL:
        assert measure(aspects=TWO).calc_aggregate(odd, run) == measure(aspects=TWO).calc_aggregate(
            clean, run
        )


def test_an_unjudged_document_gains_nothing_even_if_the_lowest_grade_does() -> None:
    aspects = Aspects({"buy": Aspect([1, 2, 3]), "repair": Aspect([1, 2, 3])})
    qrels = topic_qrels(d1=(3, NAN), d2=(1, 1), d3=(2, 2))
    explanation = DnDCG(aspects=aspects).explain(ranking("d1", "d2", "d3"), qrels, "q")
    assert explanation.ranks["gain"].tolist() == [1.5, 1, 2]


def test_thresholds_are_those_of_each_aspect() -> None:
    aspects = Aspects({"buy": Aspect(3, threshold=2), "repair": Aspect(3, threshold=1)})
    run = ranking("d2")
    assert IRec(aspects=aspects).calc_aggregate(QRELS, run) == 0.5
    assert IRec(aspects=TWO).calc_aggregate(QRELS, run) == 1
    # Gains do not read them.
    assert DnDCG(aspects=aspects).calc_aggregate(QRELS, run) == DnDCG(aspects=TWO).calc_aggregate(
        QRELS, run
    )


def test_fractional_gains_and_turned_scales() -> None:
    aspects = Aspects(
        {
            "buy": Aspect([0, 1, 2, 3], gains=[0, 0.1, 0.25, 1]),
            "repair": Aspect(3, greater_is_better=False),
        }
    )
    theirs = {
        "buy": ref.ref_aspect([0, 1, 2, 3], gains=[0, 0.1, 0.25, 1]),
        "repair": ref.ref_aspect([0, 1, 2, 3], greater_is_better=False),
    }
    run = ranking("d2", "d3", "d1", "d4")
    for measure, value in (
        (IRec, ref.intent_recall),
        (DnDCG, ref.d_ndcg),
        (GRADED, ref.graded_err_ia),
    ):
        wanted = value(run["q"], QRELS["q"], theirs)
        assert wanted > 0
        assert measure(aspects=aspects).calc_aggregate(QRELS, run) == pytest.approx(
            wanted, abs=1e-12
        )


@pytest.mark.parametrize("measure", [IRec, DSharpnDCG, GRADED], ids=str)
def test_topics_without_an_intent_are_told(measure: ma.Measure) -> None:
    """Subtopics are numbered by topic: the second topic has one, and its columns two."""
    run = {"q": ranking("d1", "d3")["q"], "r": {"d1": 1.0}, "s": {"d1": 1.0}}
    with pytest.warns(MultiAspectWarning, match=r"repair in 1 topic: .*aspects"):
        measure(aspects=TWO).calc_aggregate(UNEVEN, run)


def test_nothing_is_told_where_an_intent_makes_no_difference() -> None:
    run = {"q": ranking("d1", "d3")["q"], "r": {"d1": 1.0}, "s": {"d1": 1.0}}
    assert DnDCG(aspects=TWO).calc_aggregate(UNEVEN, run) == pytest.approx(2 / 3, abs=0.01)
    assert IRec(aspects=TWO, weights={"buy": 1, "repair": 0}).calc_aggregate(UNEVEN, run) == 2 / 3


def test_missing_topics_and_empty_rankings_score_0() -> None:
    qrels = {"q": QRELS["q"], "r": QRELS["q"]}
    for measure in ALL:
        values = [m.value for m in measure(aspects=TWO).iter_calc(qrels, {"q": {"d1": 1.0}})]
        assert len(values) == 2
        assert values[1] == 0 < values[0]


# -- what they state
# -------------------------------------------------------------------------------------------


def test_upper_bounds() -> None:
    """Of D♯-nDCG by search; no ranking of two documents that share no intent is ideal at rank 1 for both."""
    bound = upper_bound(QRELS, DSharpnDCG(aspects=TWO) @ 1).iloc[0]
    assert bound["value"] == bound["bound"] == pytest.approx(0.5 * 1 + 0.5 * 1 / 1.5)
    assert upper_bound(QRELS, DnDCG(aspects=TWO))["value"].item() == 1
    assert upper_bound(QRELS, IRec(aspects=TWO) @ 1)["value"].item() == 1
    best = upper_bound(QRELS, GRADED(aspects=TWO)).iloc[0]
    assert best["value"] == best["bound"] < 1


def test_sources_and_printing() -> None:
    assert "sakai2011" in ma.cite([DSharpnDCG, GRADED])
    measure = DSharpnDCG(gamma=0.25, weights={"buy": 1, "repair": 2}) @ 10
    assert str(measure) == "DSharpnDCG(gamma=0.25,weights={'buy': 1, 'repair': 2})@10"
    for variant in (measure, GRADED(weights={"buy": 1, "repair": 2}) @ 5, IRec @ 3, DnDCG):
        assert (
            ir_measures.parse_measure(str(variant))
            == variant
            == pickle.loads(pickle.dumps(variant))
        )


def test_labels_for_learning_to_rank() -> None:
    def labels(measure: ma.Measure) -> list[float]:
        return ma.aggregate_labels(QRELS, measure(aspects=TWO)).values["label"].round(4).tolist()

    assert labels(DnDCG) == [1.5, 1, 1, 0]
    assert labels(GRADED) == [0.375, 0.25, 0.25, 0]
    assert labels(IRec) == [0.25, 0.5, 0.25, 0]
    judgments = ma.Judgments(QRELS)
    first, second = (view.name for view in DnDCG(aspects=TWO).views(judgments))
    some = DnDCG(aspects=TWO, weights={first: 1, second: 0})
    turned = ma.Aspects({name: ma.Aspect(2, greater_is_better=False) for name in TWO})
    assert [some.depends_on(judgments.view(name, turned)) for name in (first, second)] == [
        True,
        False,
    ]
    assert not DnDCG(aspects=TWO).gain_is_surrogate(judgments)
    assert all(m(aspects=TWO).gain_is_surrogate(judgments) for m in (IRec, DSharpnDCG, GRADED))


NEGATIVE = {"buy": Aspect([0, 1, 2, 3], gains=[-1, 0, 1, 2]), "repair": 3}


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: DSharpnDCG(gamma=1.5), ["DSharpnDCG: gamma: expected a number from 0 to 1, got 1.5"]),
        (lambda: DSharpnDCG(gamma=-0.1), ["gamma", "-0.1"]),
        (lambda: IRec(weights={"buy": -1, "repair": 1}), ["IRec", "non-negative", "-1"]),
        (lambda: DnDCG(weights={"buy": 0}), ["DnDCG", "at least one positive"]),
        (lambda: DnDCG(weights={"buy": 1}, aspects=TWO), ["add a weight for repair"]),
        (lambda: DSharpnDCG(weights={"by": 1, "repair": 1}, aspects=TWO), ["DSharpnDCG", "unknown aspect: by"]),
        (lambda: DnDCG(probabilities={"buy": 1}), ["probabilities", "weights"]),
        (lambda: DnDCG(aspects=NEGATIVE).calc_aggregate(QRELS, ranking("d1")),
         ["DnDCG requires gains of at least"]),
        (lambda: DSharpnDCG(aspects=NEGATIVE).calc_aggregate(QRELS, ranking("d1")),
         ["DSharpnDCG: DnDCG requires gains of at least 0"]),
        (lambda: GRADED(aspects=NEGATIVE).calc_aggregate(QRELS, ranking("d1")),
         ["Subtopics(graded=True) requires gains of at least 0"]),
        (lambda: Subtopics(base="ERR_IA", weights={"buy": 1}), ["pass graded=True"]),
        (lambda: Subtopics(graded=True), ["graded=True requires the base ERR_IA", "alpha_nDCG"]),
        (lambda: Subtopics(base="nERR_IA", graded=True), ["requires the base ERR_IA", "nERR_IA"]),
        (lambda: Subtopics(base="ERR_IA(rel=2)", graded=True), ["without rel", "ERR_IA(rel=2)"]),
        (lambda: Subtopics(base="ERR_IA", graded="yes"), ["graded", "True or False"]),
        (lambda: ma.CAM(base=IRec), ["IRec cannot be a base"]),
        (lambda: DnDCG(aspects={"buy": 2}).calc_aggregate(QRELS, ranking("d1")), ["3", "buy"]),
    ],
)  # fmt: skip
def test_bad_input(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)


def test_negative_gains_do_not_matter_to_intent_recall() -> None:
    """It reads thresholds only."""
    assert IRec(aspects=NEGATIVE).calc_aggregate(QRELS, ranking("d1", "d3")) == 1
