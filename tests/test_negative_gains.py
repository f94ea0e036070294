"""Declared gains below 0, of harmful documents: who subtracts them, and who refuses them."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import reference as ref
from comparison import compare
from hypothesis import given
from hypothesis import strategies as st
from strategies import Collection, collections, examples

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, TOMA, WHAM, Aspect, Aspects, MultiAspectError, On
from pt_multiaspect.analysis import upper_bound

#: A harmful document is worse than one without a judgment, which gains 0.
HARM = Aspect(grades=[-1, 0, 1, 3], gains=[-1, 0, 1, 3], threshold=1)
BOTH = Aspects({"relevance": 2, "credibility": HARM})
QRELS = {
    "q": {
        "bad": {"relevance": 1, "credibility": -1},
        "fair": {"relevance": 2, "credibility": 1},
        "good": {"relevance": 0, "credibility": 3},
    }
}
RUN = {"q": {"bad": 3.0, "fair": 2.0, "good": 1.0}}


def aspect_measure(base: str, aspects: Any = BOTH) -> ma.Measure:
    return On(aspect="credibility", base=base, aspects=aspects)


# On credibility, the run bad, fair, good gains -1, 1 and 3.
RANK_1, RANK_2, RANK_3 = 1, 1 / np.log2(3), 1 / 2  # the discounts of nDCG
DCG_OF_RUN = -1 * RANK_1 + 1 * RANK_2 + 3 * RANK_3
#: Of good and fair: the ideal leaves out the harmful document.
IDEAL_DCG = 3 * RANK_1 + 1 * RANK_2


def test_gains_below_0_are_subtracted() -> None:
    assert aspect_measure("CG@1").calc_aggregate(QRELS, RUN) == -1
    assert aspect_measure("CG@3").calc_aggregate(QRELS, RUN) == -1 + 1 + 3
    assert aspect_measure("DCG").calc_aggregate(QRELS, RUN) == pytest.approx(DCG_OF_RUN)
    ndcg = aspect_measure("nDCG").calc_aggregate(QRELS, RUN)
    assert ndcg == pytest.approx(DCG_OF_RUN / IDEAL_DCG)


def test_gains_below_0_of_one_aspect_are_subtracted_in_means() -> None:
    # On relevance, bad, fair and good gain 1, 2 and 0.
    ideal = 2 * RANK_1 + 1 * RANK_2
    on_relevance = (1 * RANK_1 + 2 * RANK_2) / ideal
    on_credibility = DCG_OF_RUN / IDEAL_DCG
    value = CAM(aspects=BOTH).calc_aggregate(QRELS, RUN)
    assert value == pytest.approx((on_relevance + on_credibility) / 2)


def test_the_ideal_leaves_out_harmful_documents() -> None:
    ndcg = aspect_measure("nDCG")
    assert ndcg.calc_aggregate(QRELS, {"q": {"good": 2.0, "fair": 1.0}}) == 1
    assert ndcg.calc_aggregate(QRELS, {"q": {"good": 3.0, "fair": 2.0, "bad": 1.0}}) < 1
    only_bad = ndcg.calc_aggregate(QRELS, {"q": {"bad": 1.0}})
    assert only_bad == pytest.approx(-1 / IDEAL_DCG)


def test_a_topic_with_harmful_documents_only_has_the_value_0() -> None:
    """Its ideal is 0."""
    qrels = {"q": {"bad": {"relevance": 1, "credibility": -1}}}
    assert aspect_measure("nDCG").calc_aggregate(qrels, {"q": {"bad": 1.0}}) == 0


def test_unjudged_documents_gain_nothing() -> None:
    run = {"q": {"unknown": 9.0, "bad": 3.0}}
    assert aspect_measure("CG").calc_aggregate(QRELS, run) == 0 + -1


def test_documents_without_a_label_on_the_aspect_gain_nothing() -> None:
    qrels = pd.DataFrame(
        [("q", "a", 1, np.nan), ("q", "b", 1, 3)],
        columns=["qid", "docno", "label", "credibility"],
    )
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert aspect_measure("CG").calc_aggregate(qrels, run) == 0 + 3


PLAIN = Aspect([-1, 0, 1, 3], threshold=1)


@pytest.mark.filterwarnings(
    "ignore:credibility has labels below its lowest grade:pt_multiaspect.MultiAspectWarning"
)
@pytest.mark.parametrize(
    "aspects", [Aspects({"relevance": 2, "credibility": PLAIN}), None], ids=["grades", "no scales"]
)
def test_labels_below_0_without_declared_gains_are_junk(aspects: Aspects | None) -> None:
    """They gain nothing: of bad, fair and good, with the labels -1, 1 and 3."""
    measure = On(aspect="credibility", base="CG", aspects=aspects)
    assert measure.calc_aggregate(QRELS, RUN) == 0 + 1 + 3


def test_labels_below_0_without_declared_gains_are_read_as_by_ir_measures() -> None:
    value = aspect_measure("nDCG", Aspects({"credibility": PLAIN})).calc_aggregate(QRELS, RUN)
    credibility = {"q": {"bad": -1, "fair": 1, "good": 3}}
    expected = ir_measures.nDCG.calc_aggregate(credibility, RUN)
    assert value == pytest.approx(expected, abs=1e-9)


def test_the_declaration_is_kept_although_the_gains_are_the_grades() -> None:
    plain = Aspect(grades=[-1, 0, 1, 3], threshold=1)
    assert plain != HARM
    assert repr(HARM) == "Aspect(grades=[-1, 0, 1, 3], gains=[-1, 0, 1, 3], threshold=1)"
    assert Aspect.from_spec(HARM.to_spec()) == HARM
    measure = CAM(base="CG", aspects=BOTH)
    for other in (ir_measures.parse_measure(str(measure)), pickle.loads(pickle.dumps(measure))):
        assert other == measure
        assert other.calc_aggregate(QRELS, RUN) == measure.calc_aggregate(QRELS, RUN) == 3


def test_ranges_have_no_minimum() -> None:
    assert aspect_measure("nDCG").range == (-np.inf, 1)
    assert aspect_measure("CG").range == (-np.inf, np.inf)
    assert CAM(aspects=BOTH).range == (-np.inf, 1)
    assert On(aspect="relevance", aspects=BOTH).range == (0, 1)
    assert (
        aspect_measure("AP").range
        == CAM(base="AP", aspects=BOTH).range
        == TOMA(aspects=BOTH).range
        == (0, 1)
    )


@pytest.mark.parametrize("base", ["nDCG", "ERR", "CRP", "AP"])
def test_toma_embeds_them(base: str) -> None:
    """For TOMA gains are coordinates: -1, 0, 1 and 3 are as far from each other as 0, 1, 2 and 4."""
    assert TOMA(aspects=BOTH).range == (0, 1)
    from_0 = Aspect([-1, 0, 1, 3], gains=[0, 1, 2, 4], threshold=1)
    measure = TOMA(base=base, aspects=BOTH)
    expected = measure(aspects=Aspects({"relevance": 2, "credibility": from_0}))
    assert measure.calc_aggregate(QRELS, RUN) == expected.calc_aggregate(QRELS, RUN)


def test_gains_of_the_base_come_first() -> None:
    """gains={3: 2} gives good the gain 2 instead of 3; the gains of bad and fair stay -1 and 1."""
    value = aspect_measure("nDCG(gains={3: 2})").calc_aggregate(QRELS, RUN)
    dcg = -1 * RANK_1 + 1 * RANK_2 + 2 * RANK_3
    ideal = 2 * RANK_1 + 1 * RANK_2
    assert value == pytest.approx(dcg / ideal)


@st.composite
def signed_collections(draw: st.DrawFn) -> tuple[Collection, Aspects, dict[str, ref.RefAspect]]:
    """Draw a collection on scales of which some declare negative gains."""
    names = ("relevance", "credibility")
    ours, theirs, grades = {}, {}, []
    for name in names:
        gains = sorted(
            draw(st.lists(st.sampled_from([-3, -1, -0.5, 0, 0.5, 1, 2, 4]), min_size=2, max_size=4))
        )
        scale = list(range(len(gains)))
        ours[name], theirs[name] = (
            Aspect(scale, gains=gains, threshold=1),
            ref.ref_aspect(scale, gains=gains),
        )
        grades.append(scale)
    return draw(collections(grades=grades, junk=False)), Aspects(ours), theirs


#: Bases: as ours are spelt, and the name and parameters of the reference.
REFERENCE_BASES: list[tuple[str, str, dict[str, Any]]] = [
    ("nDCG", "nDCG", {}),
    ("nDCG(dcg='exp-log2')", "nDCG", {"dcg": "exp-log2"}),
    ("CG", "CG", {}),
    ("DCG", "DCG", {}),
    ("nDCG@2", "nDCG", {"cutoff": 2}),
]


@given(signed_collections())
@examples(60)
@pytest.mark.filterwarnings(
    "ignore:the run and the qrels have no query:pt_multiaspect.MultiAspectWarning"
)
def test_against_the_reference(drawn: tuple[Collection, Aspects, dict[str, ref.RefAspect]]) -> None:
    """CAM and the measure of one aspect, on scales of which some have negative gains."""
    collection, ours, theirs = drawn

    def reference_of_cam(base: str, params: dict[str, Any]) -> Any:
        return lambda run, judged: ref.cam(run, judged, theirs, base, params)

    def reference_of_aspect(base: str, params: dict[str, Any]) -> Any:
        return lambda run, judged: ref.on(run, judged, theirs, "credibility", base, params)

    cases: dict[Any, Any] = {}
    for text, base, params in REFERENCE_BASES:
        cases[CAM(base=text, aspects=ours)] = reference_of_cam(base, params)
        cases[aspect_measure(text, ours)] = reference_of_aspect(base, params)
    compare(cases, collection)


@given(signed_collections())
@examples(30)
@pytest.mark.filterwarnings("ignore:all labels of:pt_multiaspect.MultiAspectWarning")
def test_no_ranking_of_judged_documents_exceeds_1_and_one_attains_it(drawn: Any) -> None:
    """All rankings of up to four judged documents, also of some of them, each as the run of a topic of its own."""
    collection, ours, _ = drawn
    judged = next(iter(collection.labels.values()))
    documents = sorted(judged)[:4]
    rankings: list[tuple[str, ...]] = []
    for length in range(len(documents) + 1):
        rankings += itertools.permutations(documents, length)

    judgments = []
    run = {}
    for number, ranking in enumerate(rankings):
        qid = str(number)
        for docno in documents:
            labels = judged[docno]
            judgments.append((qid, docno, labels["relevance"], labels["credibility"]))
        run[qid] = {docno: -float(rank) for rank, docno in enumerate(ranking)}
    qrels = pd.DataFrame(
        judgments, columns=["query_id", "doc_id", "relevance", "credibility"]
    ).astype({"relevance": float, "credibility": float})

    values = [metric.value for metric in aspect_measure("nDCG", ours).iter_calc(qrels, run)]

    gain_of_grade = ours["credibility"].scale.gains  # grades are 0, 1, ...
    labels_of_aspect = [judged[docno]["credibility"] for docno in documents]
    gains = [gain_of_grade[int(label)] for label in labels_of_aspect if label is not None]
    any_positive = any(gain > 0 for gain in gains)
    assert max(values) == (1 if any_positive else 0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MM(aspects=BOTH), lambda: GAM(base="CG", aspects=BOTH), lambda: WHAM(base="DCG", aspects=BOTH),
        lambda: CAM(normalized=True, aspects=BOTH), lambda: CAM(base="ERR", aspects=BOTH),
        lambda: aspect_measure("ERR"), lambda: aspect_measure("G"), lambda: GAM(base="nCRP", aspects=BOTH),
        lambda: aspect_measure("Compat"), lambda: aspect_measure("nDCG(judged_only=True)"),
        lambda: ma.NWCS(aspects=BOTH), lambda: ma.RBU(aspects=BOTH),
        lambda: ma.MDCU(themes="credibility", usability="relevance", aspects=BOTH),
        lambda: ma.nMDCU(themes="relevance", usability="credibility", aspects=BOTH),
    ],
)  # fmt: skip
def test_other_measures_of_gains_refuse_them_by_name(make: Callable[[], ma.Measure]) -> None:
    measure = make()
    qrels = QRELS if "credibility" in str(measure) else {"q": {"bad": -1, "fair": 1}}
    with pytest.raises(
        MultiAspectError, match=r"requires gains of at least 0, but (credibility|relevance)"
    ) as raised:
        measure.calc_aggregate(qrels, RUN)
    assert str(raised.value).startswith(measure.NAME)
    assert "-1, 0, 1, 3" in str(raised.value)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "measure",
    [
        ma.uRBP, ma.uRBPgr, ma.unDCG, ma.uERR, ma.NLRE, ma.NGRE, ma.Subtopics, MM(base="AP"),
        CAM(base="P@2", normalized=True), CAM(base="RBP"), GAM(base="RR"),
        On(aspect="credibility", base="Bpref"), On(aspect="credibility", base="Judged@2"),
        ma.RBU(weights={"relevance": 1, "credibility": 0}), MM(base={"relevance": "nDCG", "credibility": "AP"}),
    ],
)  # fmt: skip
def test_measures_that_read_no_gains_do_not_ask_for_other_ones(measure: ma.Measure) -> None:
    plain = Aspects({"relevance": 2, "credibility": Aspect([-1, 0, 1, 3], threshold=1)})
    wanted = measure(aspects=plain).calc_aggregate(QRELS, RUN)
    assert measure(aspects=BOTH).calc_aggregate(QRELS, RUN) == wanted


@pytest.mark.parametrize(
    "measure", [aspect_measure("nDCG"), aspect_measure("CG@2"), CAM(aspects=BOTH)]
)
def test_bounds_and_labels_refuse_them(measure: ma.Measure) -> None:
    refused = r"requires gains of at least 0, but credibility declares"
    with pytest.raises(MultiAspectError, match=f"the upper bound of {measure.NAME}.*{refused}"):
        upper_bound(QRELS, measure)
    with pytest.raises(MultiAspectError, match=f"a training label from {measure.NAME}.*{refused}"):
        ma.aggregate_labels(QRELS, measure)
    assert upper_bound(QRELS, CAM(base="AP", aspects=BOTH))["gap"].item() == 0
    assert len(ma.aggregate_labels(QRELS, TOMA(aspects=BOTH)).values) == 3


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "base", ["nDCG", "nDCG@2", "nDCG(dcg='exp-log2')", "CG", "DCG(dcg='exp-log2')@2"]
)
def test_explanations_sum_to_the_value(base: str) -> None:
    for measure in (aspect_measure(base), CAM(base=base, aspects=BOTH)):
        explained = measure.explain(RUN, QRELS, "q")
        assert explained.value == measure.calc_aggregate(QRELS, RUN)
        assert explained.ranks["contribution"].sum() == pytest.approx(explained.value, abs=1e-12)
        assert explained.ranks["credibility"].tolist() == [-1, 1, 3]
    assert aspect_measure(base).explain(RUN, QRELS, "q").ranks["contribution"].iloc[0] < 0


def test_in_an_experiment() -> None:
    """`pt.Experiment` has the same values, also for a measure that is given as a string."""
    rows = [
        ("q", docno, labels["relevance"], labels["credibility"])
        for docno, labels in QRELS["q"].items()
    ]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label", "credibility"])
    run = pd.DataFrame({"qid": "q", "docno": ["bad", "fair", "good"], "score": [3.0, 2.0, 1.0]})
    topics = pd.DataFrame({"qid": ["q"], "query": ["x"]})
    measures = [aspect_measure("CG@3"), CAM(aspects=BOTH), aspect_measure("nDCG")]
    spelt = [measures[0], measures[1], str(measures[2])]

    table = pt.Experiment([pt.Transformer.from_df(run)], topics, qrels, spelt, names=["run"])

    for measure in measures:
        expected = measure.calc_aggregate(QRELS, RUN)
        assert table[str(measure)].item() == pytest.approx(expected)


def test_negative_gains_of_a_base_beside_those_of_an_aspect_are_refused() -> None:
    """Those of a base count as 0, as in ir-measures, and those of an aspect are subtracted."""
    message = r"gains= of the base: credibility.*got \{1: -1\}"
    with pytest.raises(MultiAspectError, match=message):
        On(aspect="credibility", base=ir_measures.nDCG(gains={1: -1}), aspects=BOTH).calc_aggregate(
            QRELS, RUN
        )
    plain = On(aspect="relevance", base=ir_measures.nDCG(gains={1: -1}), aspects=BOTH)
    assert plain.calc_aggregate(QRELS, {"q": {"bad": 1.0}}) == 0


def test_metrics_of_boosters_take_negative_gains() -> None:
    """There is no training label of them, which metrics compare with those of the evaluation set."""
    labels = pd.DataFrame({"relevance": [0, 1, 2, 0], "credibility": [-1, 3, 0, 1]})
    measure, qid = CAM(aspects=BOTH) @ 3, ["q", "q", "p", "p"]
    metric = ma.metric_for("lightgbm", measure, labels, qid)
    scores = np.array([3.0, 2.0, 1.0, 2.0])
    _, value, _ = metric(labels["relevance"].to_numpy(float), scores)
    assert value == pytest.approx(ma.ranking_score(labels, scores, measure=measure, qid=qid))
    assert value < 1
