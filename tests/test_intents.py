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
#: Repair has no label in topic r; no document of s is judged.
UNEVEN = {
    "q": {"d1": {"buy": 3, "repair": 0}, "d3": {"buy": 0, "repair": 2}},
    "r": {"d1": {"buy": 3, "repair": NAN}},
    "s": {"d1": {"buy": NAN, "repair": NAN}},
}
UNEVEN_RUN = {"q": {"d1": 2.0, "d3": 1.0}, "r": {"d1": 1.0}, "s": {"d1": 1.0}}
#: The grades of buy and repair.
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


def err_ia_as_printed(case: dict[str, Any]) -> float:
    """Return ERR-IA as the sum of the values of intents that NTCIREVAL prints with four decimals."""
    run = {docno: -rank for rank, docno in enumerate(case["run"])}
    scale = {"i": ref.ref_aspect(range(4))}
    total = 0.0
    for probability, grades in zip(case["probabilities"], case["grades"], strict=True):
        labels = {docno: {"i": grade} for docno, grade in grades.items()}
        value = ref.graded_err_ia(run, labels, scale, cutoff=case["k"])
        total += probability * round(value, 4)
    return round(total, 4)


@pytest.mark.every(8)
@pytest.mark.parametrize("number", range(60))
def test_golden_figures_through_evaluate_and_ir_measures(number: int) -> None:
    """The figures of NTCIREVAL, which have four decimals."""
    case = cases()[number]
    measures, qrels, run = read_case(case, number)
    table = ma.evaluate({"run": run}, qrels, measures, progress=False).set_index("measure")["value"]
    means = ir_measures.calc_aggregate(list(measures.values()), qrels, run)
    for name, measure in measures.items():
        assert table[name] == pytest.approx(case[name], abs=1e-4), name
        assert table[name] == means[measure]
    assert table["I_rec"] == pytest.approx(case["I_rec"], abs=5e-5)
    # ERR-IA of the file is a sum of rounded values, and is equal if they are rounded here too.
    assert err_ia_as_printed(case) == case["ERR_IA"]


def test_no_golden_case_is_left_out() -> None:
    assert len(cases()) == 60


@pytest.mark.parametrize(
    ("as_string", "numbers"),
    [(False, range(0, 60, 10)), (True, range(0, 60, 12))],
    ids=["object", "string"],
)
def test_golden_figures_through_an_experiment(as_string: bool, numbers: range) -> None:
    columns = {"query_id": "qid", "doc_id": "docno"}
    for number in numbers:
        case = cases()[number]
        measures, qrels, run = read_case(case, number)
        metrics = list(measures.values())
        if as_string:
            metrics = [str(measure) for measure in metrics]
        topics = pd.DataFrame({"qid": [f"t{number:02d}"], "query": ["?"]})
        table = pt.Experiment(
            [run.rename(columns=columns)], topics, qrels.rename(columns=columns), metrics
        )
        for name, measure in measures.items():
            assert table[str(measure)].item() == pytest.approx(case[name], abs=1e-4)


# -- by hand and against the reference
# -------------------------------------------------------------------------


RUN = ranking("d4", "d1", "d3")
DISCOUNT = 1 / np.log2([2, 3, 4])  # of ranks 1 to 3
UNEQUAL = {"buy": 3, "repair": 1}  # the probabilities 0.75 and 0.25


def test_intent_recall_by_hand() -> None:
    """d1 (3, 0) at rank 2 covers the first intent, d3 (0, 2) at rank 3 the other."""
    assert (IRec(aspects=TWO) @ 2).calc_aggregate(QRELS, RUN) == 1 / 2
    assert IRec(aspects=TWO).calc_aggregate(QRELS, RUN) == 2 / 2


def test_d_ndcg_by_hand() -> None:
    """The global gain of a document is the sum of its grades times the probabilities of the intents."""
    # d1 (3, 0) has 3 / 2, d2 (1, 1) has 1, d3 (0, 2) has 1, d4 has 0.
    # The run is d4, d1, d3, and the ideal d1, d2, d3.
    dcg = DISCOUNT @ [0, 1.5, 1]
    ideal_dcg = DISCOUNT @ [1.5, 1, 1]
    value = DnDCG(aspects=TWO).calc_aggregate(QRELS, RUN)
    assert value == pytest.approx(dcg / ideal_dcg, abs=1e-12)


def test_d_ndcg_of_unequal_intents_by_hand() -> None:
    """With the probabilities 0.75 of buy and 0.25 of repair. The run is d4, d1, d3."""
    # d1 (3, 0) has 3 · 0.75, d2 (1, 1) has 1, d3 (0, 2) has 2 · 0.25, d4 has 0.
    dcg = DISCOUNT @ [0, 2.25, 0.5]
    ideal_dcg = DISCOUNT @ [2.25, 1, 0.5]
    value = DnDCG(aspects=TWO, weights=UNEQUAL).calc_aggregate(QRELS, RUN)
    assert value == pytest.approx(dcg / ideal_dcg, abs=1e-12)


def test_d_sharp_ndcg_by_hand() -> None:
    """It is gamma · I-rec + (1 - gamma) · D-nDCG. At rank 2 of the run is d1, with the gain 1.5."""
    dcg_at_2 = DISCOUNT @ [0, 1.5, 0]
    ideal_dcg_at_2 = DISCOUNT @ [1.5, 1, 0]
    intent_recall_at_2 = 1 / 2
    value = (DSharpnDCG(aspects=TWO, gamma=0.2) @ 2).calc_aggregate(QRELS, RUN)
    expected = 0.2 * intent_recall_at_2 + 0.8 * dcg_at_2 / ideal_dcg_at_2
    assert value == pytest.approx(expected, abs=1e-12)


def test_graded_err_ia_by_hand() -> None:
    """A user of one intent stops at a document with the probability grade / 4, and gains 1 / rank."""
    # d1 (3, 0) is at rank 2, d3 (0, 2) at rank 3.
    err_of_buy = 3 / 4 / 2
    err_of_repair = 2 / 4 / 3
    value = GRADED(aspects=TWO, weights=UNEQUAL).calc_aggregate(QRELS, RUN)
    assert value == pytest.approx(0.75 * err_of_buy + 0.25 * err_of_repair, abs=1e-12)


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
    collection, aspects, reference_aspects = drawn
    drawn_weights = data.draw(weights(list(aspects)))

    def intent_recall(run: ref.Run, judgments: ref.Judgments) -> float:
        return ref.intent_recall(run, judgments, reference_aspects, drawn_weights, cutoff)

    def d_ndcg(run: ref.Run, judgments: ref.Judgments) -> float:
        return ref.d_ndcg(run, judgments, reference_aspects, drawn_weights, cutoff)

    def graded_err_ia(run: ref.Run, judgments: ref.Judgments) -> float:
        return ref.graded_err_ia(run, judgments, reference_aspects, drawn_weights, cutoff)

    def d_sharp_ndcg(run: ref.Run, judgments: ref.Judgments) -> float:
        return gamma * intent_recall(run, judgments) + (1 - gamma) * d_ndcg(run, judgments)

    settings = {"aspects": Aspects(aspects), "weights": drawn_weights, "cutoff": cutoff}
    reference_by_measure = {
        IRec(**settings): intent_recall,
        DnDCG(**settings): d_ndcg,
        GRADED(**settings): graded_err_ia,
        DSharpnDCG(gamma=gamma, **settings): d_sharp_ndcg,
    }
    compare(reference_by_measure, collection)


@given(scaled_collections(max_aspects=1), st.sampled_from([None, 1, 3]))
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_with_one_intent_they_are_success_and_ndcg(drawn: Any, cutoff: int | None) -> None:
    """D-nDCG of one intent is nDCG, and intent recall is Success."""
    collection, aspects, _ = drawn
    settings = {"aspects": Aspects(aspects), "cutoff": cutoff}
    d_ndcg, ndcg = DnDCG(**settings), ma.On(base="nDCG", **settings)
    recall = IRec(**settings)
    depth = 1000 if cutoff is None else cutoff  # Success has no form without a cutoff
    success = ma.On(base="Success", aspects=Aspects(aspects), cutoff=depth)
    values = evaluate([d_ndcg, ndcg, recall, success], collection.qrels, collection.run)
    for qid in collection.labels:
        assert values[d_ndcg, qid] == pytest.approx(values[ndcg, qid], abs=1e-12)
        assert values[recall, qid] == pytest.approx(values[success, qid], abs=1e-12)


# -- exactness
# -------------------------------------------------------------------------------------------------


def test_equal_global_gains_are_equal() -> None:
    """Weights 0.1 and 0.3 give the grades 3 and 1 equal gains, although 0.1 · 3 > 0.3 · 1 as floats."""
    qrels = topic_qrels(d1=(3, 0), d2=(0, 1), d3=(1, 0))
    # The weights are divided by their sum, 0.4, to 0.25 and 0.75.
    measure = DnDCG(aspects=TWO, weights={"buy": 0.1, "repair": 0.3})
    assert measure.calc_aggregate(qrels, ranking("d1", "d2", "d3")) == 1
    assert measure.calc_aggregate(qrels, ranking("d2", "d1", "d3")) == 1
    explanation = measure.explain(ranking("d1", "d2", "d3"), qrels, "q")
    assert explanation.ranks["gain"].tolist() == [3 * 0.25, 1 * 0.75, 1 * 0.25]


@pytest.mark.parametrize("gamma", [0, 0.1, 0.3, 0.7, 1])
def test_perfect_rankings_score_exactly_1(gamma: float) -> None:
    """Ten intents of probability 0.1, whose sum as floats is less than 1."""
    ten = {f"i{n}": 1 for n in range(10)}
    qrels = {"q": {"d": dict.fromkeys(ten, 1)}}
    assert DSharpnDCG(aspects=ten, gamma=gamma).calc_aggregate(qrels, ranking("d")) == 1


def test_recall_of_three_intents_of_ten_is_exact() -> None:
    ten = {f"i{n}": 1 for n in range(10)}
    labels = dict.fromkeys(ten, 0) | {"i0": 1, "i1": 1, "i2": 1}
    assert IRec(aspects=ten).calc_aggregate({"q": {"d": labels}}, ranking("d")) == 0.3


def test_long_decimals_are_exact_as_well() -> None:
    """Gains of such weights are equal exactly if the grades are, as fractions of large integers."""
    weights = {"buy": 0.1234567890123456, "repair": 0.8765432109876544}  # the sum is 1
    qrels = topic_qrels(d1=(3, 0), d2=(0, 3), d3=(3, 0))
    measure = DnDCG(aspects=TWO, weights=weights)
    # d2 has the largest gain; d1 and d3 tie, so that both orders are ideal.
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
    qrels = topic_qrels(d1=(3, 0, 0), d2=(0, 1, 0))  # none has the third intent
    aspects = {"buy": 3, "repair": 3, "sell": 3}
    run = ranking("d1", "d2")
    assert IRec(aspects=aspects).calc_aggregate(qrels, run) == pytest.approx(2 / 3, abs=1e-15)
    assert Subtopics(base="StRecall", aspects=aspects).calc_aggregate(qrels, run) == 1
    err_of_buy = 3 / 4 / 1  # grade 3 of 3 at rank 1
    err_of_repair = 1 / 4 / 2  # grade 1 of 3 at rank 2
    err_of_sell = 0
    assert GRADED(aspects=aspects).calc_aggregate(qrels, run) == pytest.approx(
        (err_of_buy + err_of_repair + err_of_sell) / 3
    )
    assert DnDCG(aspects=aspects).calc_aggregate(qrels, run) == 1


@pytest.mark.parametrize("measure", ALL, ids=str)
def test_topics_without_relevant_documents_have_value_0(measure: ma.Measure) -> None:
    qrels = topic_qrels(d1=(0, 0))
    assert measure(aspects=TWO).calc_aggregate(qrels, ranking("d1")) == 0


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
    """Where intents are numbered by topic, a topic with one intent counts as one of two, half covered."""
    # In UNEVEN, topic r has no label of repair; s has none at all, which another warning tells.
    with pytest.warns(MultiAspectWarning, match=r"repair in 1 topic: .*aspects"):
        measure(aspects=TWO).calc_aggregate(UNEVEN, UNEVEN_RUN)


def test_nothing_is_told_where_an_intent_makes_no_difference() -> None:
    """D-nDCG is the same with an intent that no document has, and so are weights of 0."""
    # In UNEVEN_RUN, topics q and r are ranked perfectly (1 each), and s has no relevant document.
    assert DnDCG(aspects=TWO).calc_aggregate(UNEVEN, UNEVEN_RUN) == pytest.approx(2 / 3, abs=0.01)
    only_buy = IRec(aspects=TWO, weights={"buy": 1, "repair": 0})
    assert only_buy.calc_aggregate(UNEVEN, UNEVEN_RUN) == 2 / 3


def test_missing_topics_and_empty_rankings_score_0() -> None:
    qrels = {"q": QRELS["q"], "r": QRELS["q"]}
    for measure in ALL:
        values = [m.value for m in measure(aspects=TWO).iter_calc(qrels, {"q": {"d1": 1.0}})]
        assert len(values) == 2
        assert values[1] == 0 < values[0]


# -- what they state
# -------------------------------------------------------------------------------------------


def test_upper_bounds() -> None:
    """The grades of buy and repair are d1 (3, 0), d2 (1, 1), d3 (0, 2), d4 (0, 0)."""
    assert upper_bound(QRELS, DnDCG(aspects=TWO))["value"].item() == 1
    assert upper_bound(QRELS, IRec(aspects=TWO) @ 1)["value"].item() == 1  # d2 has both intents
    # d2 has both intents, but its gain is 1, and that of d1 is 3 / 2.
    intent_recall, d_ndcg = 2 / 2, 1 / 1.5
    sharp = upper_bound(QRELS, DSharpnDCG(aspects=TWO) @ 1).iloc[0]
    assert sharp["value"] == pytest.approx(0.5 * intent_recall + 0.5 * d_ndcg)
    assert sharp["bound"] == sharp["value"]
    # No document has the highest grade of both intents.
    err_ia = upper_bound(QRELS, GRADED(aspects=TWO)).iloc[0]
    assert err_ia["bound"] == err_ia["value"] < 1


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


@pytest.mark.parametrize(
    ("measure", "expected_labels"),
    [
        (DnDCG, [(3 + 0) / 2, (1 + 1) / 2, (0 + 2) / 2, 0]),
        (GRADED, [(3 / 4 + 0) / 2, (1 / 4 + 1 / 4) / 2, (0 + 2 / 4) / 2, 0]),
        (IRec, [(1 / 2 + 0) / 2, (1 / 2 + 1 / 2) / 2, (0 + 1 / 2) / 2, 0]),
    ],
    ids=["D-nDCG", "ERR-IA", "I-rec"],
)
def test_labels_for_learning_to_rank(measure: ma.Measure, expected_labels: list[float]) -> None:
    """The means over the intents of documents with the grades (3, 0), (1, 1), (0, 2) and (0, 0).

    I-rec divides 1 by the number of documents that have the intent.
    """
    labels = ma.aggregate_labels(QRELS, measure(aspects=TWO)).values["label"]
    assert labels.round(4).tolist() == expected_labels


def test_intents_without_weight_do_not_matter() -> None:
    """The direction of their scale cannot be wrong then."""
    judgments = ma.Judgments(QRELS)
    measure = DnDCG(aspects=TWO, weights={"buy": 1, "repair": 0})
    reversed_scales = ma.Aspects({name: ma.Aspect(2, greater_is_better=False) for name in TWO})
    assert measure.depends_on(judgments.view("buy", reversed_scales))
    assert not measure.depends_on(judgments.view("repair", reversed_scales))


def test_labels_of_d_ndcg_sort_documents_ideally() -> None:
    """Sorting by the label of a document is the best for D-nDCG, and a surrogate for the others."""
    judgments = ma.Judgments(QRELS)
    assert not DnDCG(aspects=TWO).gain_is_surrogate(judgments)
    for measure in (IRec, DSharpnDCG, GRADED):
        assert measure(aspects=TWO).gain_is_surrogate(judgments)


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
