"""Aspects as subtopics: ndeval's figures, the reference, and the conversion to and from long qrels."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
import reference as ref
from comparison import compare
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import ERR_IA, P_IA, StRecall, alpha_DCG, alpha_nDCG, nDCG
from shared_data import golden
from strategies import Collection, examples, scaled_collections

import pt_multiaspect as ma
from pt_multiaspect import Aspect, Aspects, MultiAspectError, Subtopics
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.testing import check_measure

#: d1 and d2 belong to the same subtopic, d3 to the other, d4 to both.
QRELS = {
    "q": {
        "d1": {"relevance": 1, "credibility": 0},
        "d2": {"relevance": 1, "credibility": 0},
        "d3": {"relevance": 0, "credibility": 1},
        "d4": {"relevance": 1, "credibility": 1},
        "d5": {"relevance": 0, "credibility": 0},
    }
}
TWO = Aspects({"relevance": 1, "credibility": 1})
NAMES = (
    "alpha_nDCG",
    "alpha_DCG",
    "ERR_IA",
    "nERR_IA",
    "NRBP",
    "nNRBP",
    "StRecall",
    "P_IA",
    "AP_IA",
)
WITHOUT_CUTOFF = ("NRBP", "nNRBP", "AP_IA")


def ranking(*docnos: str) -> dict[str, dict[str, float]]:
    return {"q": {docno: -float(rank) for rank, docno in enumerate(docnos)}}


def subtopics_measure(
    name: str, cutoff: int, alpha: float = 0.5, beta: float = 0.5, **params: Any
) -> ma.Measure:
    """`Subtopics` with the base of this name and the parameters that it has."""
    base = ir_measures.measures.registry[name]
    given_params = {"alpha": alpha, "beta": beta, **params}
    base = base(
        **{
            key: float(value) if key != "rel" else value
            for key, value in given_params.items()
            if key in base.SUPPORTED_PARAMS
        }
    )
    return Subtopics(base=base) if name in WITHOUT_CUTOFF else Subtopics(base=base) @ cutoff


# -- ndeval's figures
# ------------------------------------------------------------------------------------------


def docno_order(scores: dict[str, float]) -> dict[str, float]:
    """A run in which documents with equal scores are by docno, ascending, as ndeval ranks them."""
    docnos = sorted(scores, key=lambda docno: (-scores[docno], docno))
    return ranking(*docnos)["q"]


def golden_cases() -> list[tuple[ma.Measure, str, float]]:
    """The measures, runs and values of ndeval's golden file.

    Its ERR_IA@1 and alpha_DCG@1 are left out: ndeval does not divide them.
    """
    content = golden("subtopics.json")
    tops = {"relevance": 2, "credibility": 2, "understandability": 3}
    result = []
    for case in content["cases"]:
        scales = {}
        for name in case["aspects"]:
            scales[name] = Aspect(tops[name], threshold=content["thresholds"][name])
        aspects = Aspects(scales)
        for name in NAMES:
            if case["k"] == 1 and name in ("ERR_IA", "alpha_DCG"):
                continue
            measure = subtopics_measure(name, case["k"], case["alpha"], case["beta"])
            result.append((measure(aspects=aspects), case["run"], case["values"][name]))
    return result


@pytest.mark.slow
def test_golden() -> None:
    """Values are those of ndeval, whose topics are the runs of the golden file here."""
    content = golden("subtopics.json")
    cases = golden_cases()
    n_with_cutoff_1 = 18
    assert len(cases) == 90 * len(NAMES) - n_with_cutoff_1 * 2
    qrels = dict.fromkeys(content["runs"], content["labels"])
    run = {name: docno_order(scores) for name, scores in content["runs"].items()}

    measures = list(dict.fromkeys(measure for measure, _, _ in cases))
    values = {}
    for metric in ir_measures.iter_calc(measures, qrels, run):
        values[metric.measure, metric.query_id] = metric.value

    for measure, run_name, expected in cases:
        assert values[measure, run_name] == pytest.approx(expected, abs=1e-9), (run_name, measure)


@pytest.mark.slow
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_evaluate_has_the_values_of_ir_measures(as_string: bool) -> None:
    """For all measures of ndeval's golden file, given as objects or as strings."""
    content = golden("subtopics.json")
    qrels = dict.fromkeys(content["runs"], content["labels"])
    run = {name: docno_order(scores) for name, scores in content["runs"].items()}
    measures = list(dict.fromkeys(measure for measure, _, _ in golden_cases()))

    if as_string:
        named = {str(measure): str(measure) for measure in measures}
    else:
        named = {str(measure): measure for measure in measures}
    table = ma.evaluate({"run": run}, qrels, named, progress=False)
    values = table.set_index(["measure", "qid"])["value"].to_dict()

    expected = {}
    for metric in ir_measures.iter_calc(measures, qrels, run):
        expected[str(metric.measure), metric.query_id] = metric.value
    assert values == expected


@pytest.mark.parametrize("base", [ERR_IA @ 1, alpha_DCG @ 1], ids=str)
def test_rank_1_is_divided_as_other_ranks_are(base: Any) -> None:
    """The gain of a document is divided by the number of subtopics, 2; ndeval does not divide at rank 1."""
    measure = Subtopics(base=base, aspects=TWO)
    both_subtopics = measure.calc_aggregate(QRELS, ranking("d4"))
    assert both_subtopics == 2 / 2
    one_subtopic = measure.calc_aggregate(QRELS, ranking("d1"))
    assert one_subtopic == 1 / 2


# -- by hand and against the reference
# -------------------------------------------------------------------------


def value_of_ranking(base: str, *docnos: str) -> float:
    return Subtopics(base=base, aspects=TWO).calc_aggregate(QRELS, ranking(*docnos))


# Of QRELS, d1 and d2 belong to relevance, d3 to credibility, d4 to both.
def test_alpha_ndcg_by_hand() -> None:
    """A subtopic that n earlier documents have gains (1 - α)ⁿ, by default .5ⁿ."""
    rank_1, rank_2, rank_3, rank_4 = 1 / np.log2([2, 3, 4, 5])
    gained = 1 * rank_1 + 0.5 * rank_2 + 1 * rank_3  # d1, d2, d3
    ideal = 2 * rank_1 + 0.5 * rank_2 + 0.5 * rank_3 + 0.25 * rank_4  # d4, d3, d2, d1
    value = value_of_ranking("alpha_nDCG", "d1", "d2", "d3")
    assert value == pytest.approx(gained / ideal, abs=1e-12)

    gained = 1 * rank_1 + 0 * rank_2 + 1 * rank_3
    ideal = 2 * rank_1
    value = value_of_ranking("alpha_nDCG(alpha=1.0)", "d1", "d2", "d3")
    assert value == pytest.approx(gained / ideal)


def test_subtopic_recall_and_intent_aware_precision_by_hand() -> None:
    assert value_of_ranking("StRecall@2", "d1", "d2", "d3") == 1 / 2  # d1 and d2: relevance only
    assert value_of_ranking("StRecall", "d1", "d2", "d3") == 2 / 2
    on_relevance, on_credibility = 2 / 2, 0 / 2
    expected = (on_relevance + on_credibility) / 2
    assert value_of_ranking("P_IA@2", "d1", "d2", "d3") == expected

    on_relevance = (1 / 1 + 2 / 2) / 3  # d1, d2; not retrieved: d4
    on_credibility = (1 / 3) / 2  # d3 at rank 3; not retrieved: d4
    expected = (on_relevance + on_credibility) / 2
    value = value_of_ranking("AP_IA", "d1", "d2", "d3")
    assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["alpha_nDCG", "nNRBP", "nERR_IA"])
@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 0.9, 1])
def test_the_greedy_ideal_scores_exactly_1(name: str, alpha: float) -> None:
    """The ideal is built rank by rank: d4 first, which belongs to both subtopics.

    Then d1, d2 and d3 would gain the same, and of ties the last docno is next: d3, of credibility.
    Then d2 and d1, of relevance, still tie.
    """
    measure = subtopics_measure(name, 10, alpha)(aspects=TWO)
    assert measure.calc_aggregate(QRELS, ranking("d4", "d3", "d2", "d1")) == 1


def test_ties_of_the_ideal_are_broken_by_docno_descending() -> None:
    """Each of three documents has two subtopics, so that all tie for rank 1 of the ideal.

    Two of them have no subtopic in common, and gain 2 + 2; after the third, which shares one with
    each, rank 2 gains 1 only. The ideal begins with the document of the last docno.
    """
    relevance_and_clarity = {"relevance": 1, "clarity": 1, "novelty": 0, "trust": 0}
    novelty_and_trust = {"relevance": 0, "clarity": 0, "novelty": 1, "trust": 1}
    relevance_and_novelty = {"relevance": 1, "clarity": 0, "novelty": 1, "trust": 0}
    measure = Subtopics(
        base="alpha_nDCG(alpha=1.0)", aspects=dict.fromkeys(relevance_and_clarity, 1)
    )
    discount = 1 / np.log2(3)  # of rank 2

    shared_is_last = {
        "a": relevance_and_clarity,
        "b": novelty_and_trust,
        "z": relevance_and_novelty,
    }
    value = (measure @ 2).calc_aggregate({"q": shared_is_last}, ranking("z", "a"))
    assert value == 1

    shared_is_first = {
        "a": relevance_and_novelty,
        "b": novelty_and_trust,
        "z": relevance_and_clarity,
    }
    value = (measure @ 2).calc_aggregate({"q": shared_is_first}, ranking("a", "z"))
    assert value == pytest.approx((2 + 1 * discount) / (2 + 2 * discount))


def test_ties_of_runs_are_broken_as_everywhere() -> None:
    """By docno, descending: ndeval would see d1 first."""
    qrels = {
        "q": {"d1": {"relevance": 1, "credibility": 1}, "d2": {"relevance": 0, "credibility": 0}}
    }
    tied = {"q": {"d1": 1.0, "d2": 1.0}}
    assert Subtopics(base=StRecall @ 1, aspects=TWO).calc_aggregate(qrels, tied) == 0


@pytest.mark.slow
def test_a_subtopic_without_documents_counts_for_nothing() -> None:
    qrels = {
        "q": {"d1": {"relevance": 1, "credibility": 0}},
        "r": {"d1": {"relevance": 0, "credibility": 1}},
    }
    for name in NAMES:
        measure = subtopics_measure(name, 1)(aspects=TWO)
        alone = measure.calc_aggregate(
            {"q": {"d1": {"relevance": 1, "credibility": 1}}}, ranking("d1")
        )
        values = [m.value for m in measure.iter_calc(qrels, {"q": {"d1": 1.0}, "r": {"d1": 1.0}})]
        assert values == [alone, alone]
        nothing = {"q": {"d1": {"relevance": 0, "credibility": 0}}}
        assert measure.calc_aggregate(nothing, ranking("d1")) == 0


def test_an_explicit_rel_replaces_the_thresholds() -> None:
    qrels = {
        "q": {"d1": {"relevance": 1, "credibility": 3}, "d2": {"relevance": 3, "credibility": 0}}
    }
    run = ranking("d1", "d2")
    aspects = {"relevance": Aspect(3, threshold=1), "credibility": Aspect(3, threshold=2)}
    measure = Subtopics(base="P_IA@1", aspects=aspects)

    # At rank 1, the labels 1 and 3 are at least the thresholds 1 and 2.
    assert measure.calc_aggregate(qrels, run) == (1 + 1) / 2
    # The label 1 is less than rel=2.
    assert measure(base="P_IA(rel=2)@1").calc_aggregate(qrels, run) == (0 + 1) / 2


def test_rel_1_is_that_of_the_default_and_not_the_threshold() -> None:
    """ir-measures leaves its default out of names; here it is kept, as it replaces other thresholds."""
    qrels = {
        "q": {"d1": {"relevance": 1, "credibility": 2}, "d2": {"relevance": 0, "credibility": 3}}
    }
    run = ranking("d1", "d2")
    aspects = {"relevance": Aspect(3, threshold=1), "credibility": Aspect(3, threshold=3)}
    by_thresholds = Subtopics(base="P_IA@1", aspects=aspects)
    assert by_thresholds.calc_aggregate(qrels, run) == (1 + 0) / 2
    by_rel = Subtopics(base="P_IA(rel=1)@1", aspects=aspects)
    assert by_rel.calc_aggregate(qrels, run) == (1 + 1) / 2
    assert "rel=1" in str(by_rel)


def test_judged_nothing_and_junk_belong_to_no_subtopic() -> None:
    qrels = {
        "q": {
            "d1": {"relevance": -2, "credibility": float("nan")},
            "d2": {"relevance": 1, "credibility": 1},
        }
    }
    measure = Subtopics(base="StRecall@1", aspects=TWO)
    assert measure.calc_aggregate(qrels, ranking("d1", "d2")) == 0
    assert measure.calc_aggregate(qrels, ranking("x", "d2")) == 0
    assert measure.calc_aggregate(qrels, ranking("d2")) == 1


@given(
    scaled_collections(max_aspects=3),
    st.sampled_from([1, 2, 30]),
    st.sampled_from([0, 0.2, 0.5, 0.9, 1]),
    st.sampled_from([0, 0.3, 0.9]),
    st.sampled_from([None, 1, 2]),
)
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int,
    alpha: float,
    beta: float,
    rel: int | None,
) -> None:
    collection, aspects, theirs = drawn
    explicit_rel = {} if rel is None else {"rel": rel}

    def reference_of(name: str) -> Callable[..., float]:
        alpha_of_base = 0.5 if "ERR" in name else alpha  # ERR_IA has no parameter alpha
        cutoff_of_base = None if name in WITHOUT_CUTOFF else cutoff

        def value_of_topic(run: Any, judged: Any) -> float:
            return ref.intent_aware(
                run, judged, theirs, name, alpha_of_base, beta, rel, cutoff_of_base
            )

        return value_of_topic

    cases = {}
    for name in NAMES:
        measure = subtopics_measure(name, cutoff, alpha, beta, **explicit_rel)
        cases[measure(aspects=Aspects(aspects))] = reference_of(name)
    compare(cases, collection)


# -- what it states
# --------------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("base", ["NRBP(alpha=0.9,beta=0.8)", "StRecall"])
def test_statements(base: str) -> None:
    check_measure(Subtopics(base=base))


def test_ranges_and_bounds() -> None:
    assert Subtopics(base="NRBP").range == (0, 1)
    assert Subtopics(base="alpha_nDCG@3").range == (0, np.inf)
    with pytest.raises(MultiAspectError, match="no upper bound is known for Subtopics"):
        upper_bound(QRELS, Subtopics(aspects=TWO))


def test_cutoffs_are_those_of_the_base() -> None:
    assert Subtopics(base=alpha_nDCG @ 10) == Subtopics(base=alpha_nDCG) @ 10 == Subtopics @ 10
    assert (
        str(Subtopics(base=alpha_nDCG(alpha=0.2) @ 10))
        == "Subtopics(base='alpha_nDCG(alpha=0.2)')@10"
    )
    assert ir_measures.parse_measure("Subtopics(base='alpha_nDCG(alpha=0.2)')@10").cutoff == 10
    for name in ("ERR_IA", "alpha_DCG", "P_IA"):
        assert (Subtopics(base=name) @ 3).calc_aggregate(QRELS, ranking("d4")) > 0


def test_one_experiment_with_two_alphas_nDCG_and_deep_cutoffs() -> None:
    """Measures have the same values together as alone.

    With long qrels, ir-measures gives 0 for the second alpha, wrong values for nDCG, and fails at
    cutoffs above 20.
    """
    ours = [
        Subtopics(base="alpha_nDCG(alpha=0.2)", aspects=TWO) @ 50,
        Subtopics(base="alpha_nDCG(alpha=0.9)", aspects=TWO) @ 50,
        ma.TOMA(aspects=TWO) @ 50,
    ]
    run = ranking("d1", "d2", "d3")
    rows = [{"query_id": "q", "doc_id": docno, **labels} for docno, labels in QRELS["q"].items()]
    together = ir_measures.calc_aggregate([*ours, nDCG @ 50], pd.DataFrame(rows), run)

    for measure in ours:
        assert together[measure] == measure.calc_aggregate(QRELS, run)
    # nDCG of ir-measures reads the labels of relevance.
    relevance = {"q": {docno: labels["relevance"] for docno, labels in QRELS["q"].items()}}
    assert together[nDCG @ 50] == pytest.approx((nDCG @ 50).calc_aggregate(relevance, run))
    distinct_values = {round(value, 6) for value in together.values()}
    assert len(distinct_values) == 4


def test_labels_for_learning_to_rank() -> None:
    assert ma.aggregate_labels(QRELS, Subtopics(aspects=TWO)).values["label"].tolist() == [
        1,
        1,
        1,
        2,
        0,
    ]


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: Subtopics(base="nDCG"), ["intent-aware measure of ir-measures (alpha_nDCG", "got nDCG"]),
        (lambda: Subtopics(base="alpha_ndcg"), ["unknown base 'alpha_ndcg'", "alpha_nDCG"]),
        (lambda: Subtopics(base={"relevance": "StRecall"}), ["Subtopics", "base"]),
        (lambda: Subtopics(base=ma.TOMA), ["TOMA cannot be a base"]),
        (lambda: Subtopics(base="alpha_nDCG(alpha=1.5)"), ["Subtopics", "alpha", "1.5"]),
        (lambda: Subtopics(base="alpha_nDCG(alpha=-0.1)"), ["alpha", "-0.1"]),
        (lambda: Subtopics(base="alpha_nDCG(alpha=True)"), ["alpha", "True"]),
        (lambda: Subtopics(base="NRBP(beta=1.0)"), ["beta", "below 1"]),
        (lambda: Subtopics(base="StRecall@3") @ 5, ["Subtopics@5 has the cutoff 5, but its base is StRecall@3"]),
        (lambda: Subtopics(base="AP_IA") @ 5, ["no base accepts one: AP_IA"]),
        (lambda: Subtopics(base="P_IA(judged_only=True)@5"), ["judged_only=True is not supported"]),
        (lambda: Subtopics(base=P_IA).calc_aggregate(QRELS, ranking("d1")),
         ["the base P_IA requires a cutoff, as in Subtopics(base='P_IA')@20"]),
        (lambda: ma.evaluate({"r": ranking("d1")}, QRELS, "Subtopics(base='ERR_IA')", progress=False),
         ["requires a cutoff"]),
        (lambda: ma.CAM(base=Subtopics), ["Subtopics cannot be a base"]),
        (lambda: Subtopics(aspects="mood").calc_aggregate(QRELS, ranking("d1")), ["no column for the aspect mood"]),
    ],
)  # fmt: skip
def test_bad_input(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)


# -- long qrels
# ------------------------------------------------------------------------------------------------

#: Topic, subtopic, document and label; the subtopic 0 is none, and a row is given twice.
LONG = [
    ("q2", "10", "d1", 1),
    ("q2", "2", "d1", 0),
    ("q2", "2", "d2", 2),
    ("q1", "2", "d3", 1),
    ("q1", "0", "d9", 0),
    ("q2", "2", "d2", 2),
]
FIELDS = ("query_id", "iteration", "doc_id", "relevance")


def test_wide_qrels_become_long() -> None:
    """A row per label, which is 1 from the threshold of the aspect on, otherwise 0; a missing label has none."""
    nan = float("nan")
    qrels = {"q": {"b": {"relevance": 2, "plain": nan}, "a": {"relevance": -1, "plain": 1}}}
    long = ma.as_subtopics(qrels, {"relevance": Aspect(2, threshold=2), "plain": 3})
    assert long.columns.tolist() == ["query_id", "doc_id", "relevance", "iteration"]
    assert set(long.itertuples(index=False, name=None)) == {
        ("q", "b", 1, "relevance"),  # 2 is the threshold
        ("q", "a", 0, "relevance"),  # -1 is below it
        ("q", "a", 1, "plain"),  # 1 is the default threshold
    }


def test_wide_qrels_of_one_aspect_become_long() -> None:
    qrels = {"q": {"b": {"relevance": 2}, "a": {"relevance": -1, "plain": 1}}}
    assert ma.as_subtopics(qrels, "plain")["iteration"].tolist() == ["plain"]
    with pytest.raises(MultiAspectError, match="no column for the aspect mood"):
        ma.as_subtopics(qrels, "mood")


@pytest.mark.parametrize(
    "names",
    [FIELDS, ("qid", "subtopic", "docno", "label"), ("qid", "subtopic_id", "docno", "label")],
)
def test_long_qrels_become_wide(names: tuple[str, ...]) -> None:
    """A column per subtopic, a row per topic and document, whatever the columns of the long qrels are called."""
    long = pd.DataFrame(
        [
            ("q2", "10", "d1", 1),
            ("q2", "2", "d1", 0),
            ("q2", "2", "d2", 2),
            ("q1", "2", "d3", 1),
            ("q1", "0", "d9", 0),  # judged, but of no subtopic
            ("q2", "2", "d2", 2),  # the same again
        ],
        columns=list(names),
    )
    wide = ma.from_subtopics(long)
    expected = pd.DataFrame(
        [
            ("q2", "d1", 0, 1),
            ("q2", "d2", 2, np.nan),
            ("q1", "d3", 1, np.nan),
            ("q1", "d9", np.nan, np.nan),
        ],
        columns=["qid", "docno", "subtopic_2", "subtopic_10"],
    )
    pd.testing.assert_frame_equal(wide, expected, check_dtype=False)


def test_long_qrels_as_namedtuples_and_numbers() -> None:
    row = collections.namedtuple("row", FIELDS)
    rows = [row(qid, int(subtopic), docno, label) for qid, subtopic, docno, label in LONG]
    pd.testing.assert_frame_equal(
        ma.from_subtopics(rows), ma.from_subtopics(pd.DataFrame(LONG, columns=list(FIELDS)))
    )


@pytest.mark.slow
def test_there_and_back() -> None:
    wide = ma.from_subtopics(ma.as_subtopics(QRELS, TWO))
    assert wide.columns.tolist() == ["qid", "docno", "credibility", "relevance"]
    run = ranking("d3", "d5", "d1")
    for name in NAMES:
        measure = subtopics_measure(name, 3)
        assert measure(aspects=TWO).calc_aggregate(wide, run) == measure(
            aspects=TWO
        ).calc_aggregate(QRELS, run)


def test_queries_have_subtopics_of_their_own() -> None:
    """Topic q1 has no document of subtopic 10: MM is 0 there, unless such an aspect is left out.

    Documents by subtopic: q1 has d3 in 2; q2 has d2 in 2 and d1 in 10.
    """
    wide = ma.from_subtopics(pd.DataFrame(LONG, columns=list(FIELDS)))
    aspects = {"subtopic_2": 2, "subtopic_10": 1}
    run = {"q1": {"d3": 1.0}, "q2": {"d1": 2.0, "d2": 1.0}}

    def values_of(measure: ma.Measure) -> dict[str, float]:
        return {metric.query_id: metric.value for metric in measure.iter_calc(wide, run)}

    harmonic_mean = 2 / (1 / 0.5 + 1 / 1)  # AP of subtopic 2, with d2 at rank 2, and of 10
    zero = values_of(ma.MM(base="AP", empty="zero", aspects=aspects))
    assert zero == {"q1": 0, "q2": pytest.approx(harmonic_mean)}
    drop = values_of(ma.MM(base="AP", empty="drop", aspects=aspects))
    assert drop == {"q1": 1, "q2": pytest.approx(harmonic_mean)}

    # Subtopics counts those of the topic anyway: d3 is all of q1.
    assert values_of(Subtopics(aspects=aspects) @ 5)["q1"] == 1


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        (
            [*LONG, ("q2", "2", "d2", 1)],
            "expected one label for document d2, subtopic 2 of query q2, got 2, 1",
        ),
        ([("q", "1", "d", "x")], "invalid label 'x' for document d, subtopic 1 of query q"),
        ([("q", "1", "d", float("nan"))], "invalid label nan for document d"),
        ([("q", "1", "d", 0)], "expected at least one positive label, got none in 1 rows"),
        ([("q", "known", "d", 1)], "the subtopic 'known' cannot be the name of an aspect"),
        (
            [("q", "1", "d", 1), ("q", "subtopic_1", "d", 1)],
            "different names of aspects, got 1, subtopic_1",
        ),
        ([("q", None, "d", 1)], "expected a iteration in every row"),
    ],
)
def test_long_qrels_that_are_refused(rows: list[tuple[Any, ...]], part: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(part)):
        ma.from_subtopics(pd.DataFrame(rows, columns=list(FIELDS)))
    with pytest.raises(MultiAspectError, match=r"expected one column iteration.*subtopic_id"):
        ma.from_subtopics(pd.DataFrame(rows, columns=list(FIELDS)).drop(columns="iteration"))


def test_gains_that_are_nearly_equal_are_no_ties() -> None:
    """After d3, of the subtopic s1, the ideal takes d1, of the new subtopic s2, whose gain is 1.

    d2, of s1, gains 1 - α = 1 - 1e-9, and would come first in a tie, by its docno.
    """
    qrels = {"q": {"d1": {"s1": 0, "s2": 1}, "d2": {"s1": 1, "s2": 0}, "d3": {"s1": 1, "s2": 0}}}
    measure = subtopics_measure("alpha_nDCG", 2, alpha=1e-9)(aspects=Aspects({"s1": 1, "s2": 1}))
    assert measure.calc_aggregate(qrels, ranking("d3", "d1")) == 1
    assert measure.calc_aggregate(qrels, ranking("d3", "d2")) < 1 - 1e-10


def test_gains_that_are_equal_but_for_rounding_are_ties() -> None:
    """Powers of 1 - α add up in the order of the subtopics; of ties, the ideal takes the last docno."""
    documents_of_subtopic = {
        "s1": ["d0", "d1", "d4"],
        "s2": ["d0", "d2", "d3", "d4"],
        "s3": ["d0", "d3"],
        "s4": ["d1", "d2", "d3", "d4"],
        "s5": ["d0", "d1", "d2"],
    }
    docnos = ("d0", "d1", "d2", "d3", "d4")
    judged: dict[str, dict[str, int]] = {docno: {} for docno in docnos}
    for subtopic, members in documents_of_subtopic.items():
        for docno in docnos:
            judged[docno][subtopic] = int(docno in members)
    run = ranking(*docnos)

    aspects = Aspects(dict.fromkeys(documents_of_subtopic, 1))
    measure = subtopics_measure("alpha_nDCG", 4, alpha=0.9)(aspects=aspects)
    value = measure.calc_aggregate({"q": judged}, run)

    scales = dict.fromkeys(documents_of_subtopic, ref.ref_aspect([0, 1]))
    expected = ref.intent_aware(run["q"], judged, scales, "alpha_nDCG", alpha=0.9, cutoff=4)
    assert value == pytest.approx(expected, abs=1e-9)
