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
        docno: {"relevance": relevance, "credibility": credibility}
        for docno, relevance, credibility in (
            ("d1", 1, 0),
            ("d2", 1, 0),
            ("d3", 0, 1),
            ("d4", 1, 1),
            ("d5", 0, 0),
        )
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


@pytest.mark.slow
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_golden(as_string: bool) -> None:
    """Runs are ranked with ndeval's ties, docno ascending; its ERR_IA@1 and alpha_DCG@1 are not divided."""
    content = golden("subtopics.json")
    tops = {"relevance": 2, "credibility": 2, "understandability": 3}
    qrels = dict.fromkeys(content["runs"], content["labels"])
    run = {
        name: ranking(*sorted(scores, key=lambda docno, scores=scores: (-scores[docno], docno)))[
            "q"
        ]
        for name, scores in content["runs"].items()
    }
    settings_of = {
        tuple(map(str, (case["aspects"], case["k"], case["alpha"], case["beta"])))
        for case in content["cases"]
    }
    compared = 0
    for chosen in sorted(settings_of):
        cases = [
            case
            for case in content["cases"]
            if tuple(map(str, (case["aspects"], case["k"], case["alpha"], case["beta"]))) == chosen
        ]
        first, thresholds = cases[0], content["thresholds"]
        aspects = Aspects(
            {name: Aspect(tops[name], threshold=thresholds[name]) for name in first["aspects"]}
        )
        measures = {
            name: subtopics_measure(name, first["k"], first["alpha"], first["beta"])(
                aspects=aspects
            )
            for name in NAMES
            if first["k"] > 1 or name not in ("ERR_IA", "alpha_DCG")
        }
        values = {
            (m.measure, m.query_id): m.value
            for m in ir_measures.iter_calc(list(measures.values()), qrels, run)
        }
        given_as = {name: str(metric) if as_string else metric for name, metric in measures.items()}
        table = ma.evaluate({"run": run}, qrels, given_as, progress=False).set_index(
            ["measure", "qid"]
        )["value"]
        for case in cases:
            for name, measure in measures.items():
                value = values[measure, case["run"]]
                assert value == pytest.approx(case["values"][name], abs=1e-9), (
                    case["run"],
                    measure,
                )
                assert table[name, case["run"]] == value
                compared += 1
    assert compared == 90 * 9 - 18 * 2


def test_rank_1_is_divided_as_other_ranks_are() -> None:
    """ndeval prints 2 for both, undivided, where both subtopics are covered at rank 1."""
    for base in (ERR_IA @ 1, alpha_DCG @ 1):
        assert Subtopics(base=base, aspects=TWO).calc_aggregate(QRELS, ranking("d4")) == 1
        assert Subtopics(base=base, aspects=TWO).calc_aggregate(QRELS, ranking("d1")) == 0.5


# -- by hand and against the reference
# -------------------------------------------------------------------------


def test_by_hand() -> None:
    run, measure = ranking("d1", "d2", "d3"), Subtopics(aspects=TWO)
    log = np.log2([2, 3, 4, 5])
    gained, ideal = (1 / log[:3]) @ [1, 0.5, 1], (1 / log) @ [2, 0.5, 0.5, 0.25]
    assert measure.calc_aggregate(QRELS, run) == pytest.approx(gained / ideal, abs=1e-12)
    assert measure(base="StRecall@2").calc_aggregate(QRELS, run) == 0.5
    assert measure(base="StRecall").calc_aggregate(QRELS, run) == 1
    assert measure(base="P_IA@2").calc_aggregate(QRELS, run) == 0.5
    assert measure(base="AP_IA").calc_aggregate(QRELS, run) == pytest.approx(
        (2 / 3 + 1 / 6) / 2, abs=1e-12
    )
    assert measure(base="alpha_nDCG(alpha=1.0)").calc_aggregate(QRELS, run) == pytest.approx(
        (1 + 0.5) / 2
    )


def test_the_greedy_ideal_scores_exactly_1() -> None:
    """Of d1, d2 and d3 with gains of ½ after d4, the last docno is next, then d2: ¼ more than d1 after it."""
    for alpha in (0, 0.3, 0.5, 0.9, 1):
        for name in ("alpha_nDCG", "nNRBP", "nERR_IA"):
            measure = subtopics_measure(name, 10, alpha)(aspects=TWO)
            assert measure.calc_aggregate(QRELS, ranking("d4", "d3", "d2", "d1")) == 1


def test_ties_of_the_ideal_are_broken_by_docno_descending() -> None:
    """Both z and a gain 1 at rank 1; after z (which shares nothing with the others) rank 2 gains 2, after a 1."""
    labels = {"z": (1, 0, 0, 0), "a": (0, 1, 0, 0), "b": (0, 1, 0, 0)}
    names = ("relevance", "credibility", "plain", "new")

    def best(docnos: dict[str, str]) -> float:
        judged = {
            docnos[docno]: dict(zip(names, row, strict=True)) for docno, row in labels.items()
        }
        measure = Subtopics(base="alpha_nDCG(alpha=1.0)", aspects=dict.fromkeys(names, 1)) @ 2
        return measure.calc_aggregate({"q": judged}, ranking(*(docnos[docno] for docno in "zab")))

    assert best({"z": "z", "a": "a", "b": "b"}) == best({"z": "a", "a": "z", "b": "b"}) == 1


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
    aspects = {"relevance": 3, "credibility": Aspect(3, threshold=2)}
    measure = Subtopics(base="P_IA@1", aspects=aspects)
    assert measure.calc_aggregate(qrels, ranking("d1", "d2")) == 1
    assert measure(base="P_IA(rel=2)@1").calc_aggregate(qrels, ranking("d1", "d2")) == 0.5
    # rel=1 is the default of ir-measures, but it is not the threshold of every aspect.
    assert (
        measure(
            base="P_IA(rel=1)@1", aspects={**aspects, "credibility": Aspect(3, threshold=3)}
        ).calc_aggregate(qrels, ranking("d1"))
        == 1
    )
    assert "rel=1" in str(measure(base="P_IA(rel=1)@1"))


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
    explicit = {} if rel is None else {"rel": rel}
    cases = {}
    for name in NAMES:
        measure = subtopics_measure(name, cutoff, alpha, beta, **explicit)(aspects=Aspects(aspects))
        cases[measure] = lambda run, judged, name=name: ref.intent_aware(
            run,
            judged,
            theirs,
            name,
            0.5 if "ERR" in name else alpha,
            beta,
            rel,
            None if name in WITHOUT_CUTOFF else cutoff,
        )
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
    """Long qrels give 0 for the second alpha, wrong values for nDCG, and fail at cutoffs above 20."""
    measures = [
        Subtopics(base="alpha_nDCG(alpha=0.2)", aspects=TWO) @ 50,
        Subtopics(base="alpha_nDCG(alpha=0.9)", aspects=TWO) @ 50,
        nDCG @ 50,
        ma.TOMA(aspects=TWO) @ 50,
    ]
    run = ranking("d1", "d2", "d3")
    frame = pd.DataFrame(
        [{"query_id": "q", "doc_id": docno, **row} for docno, row in QRELS["q"].items()]
    )
    together = ir_measures.calc_aggregate(measures, frame, run)
    alone = {
        measure: measure.calc_aggregate(QRELS, run) for measure in measures if measure != nDCG @ 50
    }
    assert {measure: together[measure] for measure in alone} == alone
    assert len({round(value, 6) for value in together.values()}) == 4
    relevance = {"q": {docno: labels["relevance"] for docno, labels in QRELS["q"].items()}}
    assert together[nDCG @ 50] == pytest.approx((nDCG @ 50).calc_aggregate(relevance, run))


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

LONG = [
    ("q2", "10", "d1", 1), ("q2", "2", "d1", 0), ("q2", "2", "d2", 2), ("q1", "2", "d3", 1), ("q1", "0", "d9", 0),
    ("q2", "2", "d2", 2),
]  # fmt: skip
FIELDS = ("query_id", "iteration", "doc_id", "relevance")


def test_wide_qrels_become_long() -> None:
    qrels = {
        "q": {"b": {"relevance": 2, "plain": float("nan")}, "a": {"relevance": -1, "plain": 1}}
    }
    long = ma.as_subtopics(qrels, {"relevance": Aspect(2, threshold=2), "plain": 3})
    assert long.columns.tolist() == ["query_id", "doc_id", "relevance", "iteration"]
    assert set(long.itertuples(index=False, name=None)) == {
        ("q", "b", 1, "relevance"), ("q", "a", 0, "relevance"), ("q", "a", 1, "plain"),
    }  # fmt: skip
    assert ma.as_subtopics(qrels, "plain")["iteration"].tolist() == ["plain"]
    with pytest.raises(MultiAspectError, match="no column for the aspect mood"):
        ma.as_subtopics(qrels, "mood")


@pytest.mark.parametrize(
    "names",
    [FIELDS, ("qid", "subtopic", "docno", "label"), ("qid", "subtopic_id", "docno", "label")],
)
def test_long_qrels_become_wide(names: tuple[str, ...]) -> None:
    wide = ma.from_subtopics(pd.DataFrame(LONG, columns=list(names)))
    assert wide.columns.tolist() == ["qid", "docno", "subtopic_2", "subtopic_10"]
    assert wide[["qid", "docno"]].to_numpy().tolist() == [
        ["q2", "d1"],
        ["q2", "d2"],
        ["q1", "d3"],
        ["q1", "d9"],
    ]
    assert wide["subtopic_2"].fillna(-9).tolist() == [0, 2, 1, -9]
    assert wide["subtopic_10"].fillna(-9).tolist() == [1, -9, -9, -9]


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
    """MM is 0 for queries that lack a subtopic of another query, unless such an aspect is left out."""
    wide = ma.from_subtopics(pd.DataFrame(LONG, columns=list(FIELDS)))
    aspects = {"subtopic_2": 2, "subtopic_10": 1}
    run = {"q1": {"d3": 1.0}, "q2": {"d1": 2.0, "d2": 1.0}}
    values = [
        [m.value for m in ma.MM(base="AP", empty=empty, aspects=aspects).iter_calc(wide, run)]
        for empty in ("zero", "drop")
    ]
    assert values[0] == [0, pytest.approx(2 / 3)]
    assert values[1] == [1, pytest.approx(2 / 3)]
    assert next(m.value for m in (Subtopics(aspects=aspects) @ 5).iter_calc(wide, run)) == 1


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
    """The ideal takes d1, of a new subtopic, although d2, of the subtopic of d3, gains only 1e-9 less."""
    judged = {"d1": {"s1": 0, "s2": 1}, "d2": {"s1": 1, "s2": 0}, "d3": {"s1": 1, "s2": 0}}
    measure = subtopics_measure("alpha_nDCG", 2, alpha=1e-9)(aspects=Aspects({"s1": 1, "s2": 1}))
    assert measure.calc_aggregate({"q": judged}, ranking("d3", "d1")) == 1
    assert measure.calc_aggregate({"q": judged}, ranking("d3", "d2")) < 1 - 1e-10


def test_gains_that_are_equal_but_for_rounding_are_ties() -> None:
    """Powers of 1 - 0.9 add up in the order of the subtopics; of ties, the ideal takes the last docno."""
    members = {"s1": "014", "s2": "0234", "s3": "03", "s4": "1234", "s5": "012"}
    aspects = Aspects(dict.fromkeys(members, 1))
    judged = {
        f"d{n}": {name: int(f"{n}" in digits) for name, digits in members.items()} for n in range(5)
    }
    run = ranking("d0", "d1", "d2", "d3", "d4")
    measure = subtopics_measure("alpha_nDCG", 4, alpha=0.9)(aspects=aspects)
    scales = {name: ref.ref_aspect([0, 1]) for name in members}
    wanted = ref.intent_aware(run["q"], judged, scales, "alpha_nDCG", alpha=0.9, cutoff=4)
    assert measure.calc_aggregate({"q": judged}, run) == pytest.approx(wanted, abs=1e-9)
