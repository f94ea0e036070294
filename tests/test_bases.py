"""Bases by class, their gains and limits, and what every measure is held to when it computes."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from dataclasses import replace

import ir_measures
import numpy as np
import pandas as pd
import pytest
from comparison import by_force
from ir_measures import AP, RBP, SDCG, Accuracy, Bpref, define_byquery, infAP, nDCG

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    CG,
    MM,
    NGRE,
    NLRE,
    TOMA,
    Aspect,
    Aspects,
    Judgments,
    MultiAspectError,
    On,
)
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.bases import as_base, parse_base
from pt_multiaspect.bases.delegated import Delegated
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.measures import DirectMeasure, LinearMeasure, SingleAspectMeasure
from pt_multiaspect.measures.parameters import ASPECTS

QRELS = {"q": {"a": 1, "b": 0, "c": 2, "d": 0}}
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}


def value(measure: ma.Measure, qrels: object = QRELS, run: object = RUN) -> float:
    judgments = Judgments(qrels)
    return measure.evaluate(Rankings(run, judgments)).tolist()[0]


# -- by class, not by name ------------------------------------------------------------------------


def half(qrels, run):
    return 0.5


def quarter(qrels, run):
    return 0.25


HALF = define_byquery(half, name="AP")
QUARTER = define_byquery(quarter, name="AP")


def test_a_measure_named_like_another_is_not_that_measure() -> None:
    """Bases are told apart by what they compute, although all three print as AP."""
    assert value(On(base=AP)) == pytest.approx((1 / 1 + 2 / 3) / 2)  # relevant at ranks 1 and 3
    assert value(On(base=HALF)) == 0.5
    assert value(On(base=QUARTER)) == 0.25
    assert str(On(base=HALF)) == str(On(base=AP)) == "On(base='AP')"
    assert len({On(base=AP), On(base=HALF), On(base=QUARTER)}) == 3
    assert On(base=HALF) == On(base=HALF)
    assert CAM(base={"relevance": HALF}) != CAM(base={"relevance": QUARTER})
    with_cutoff = On(base=HALF) @ 5
    assert type(with_cutoff["base"].one.measure) is type(HALF)


def test_measures_of_one_name_do_not_share_what_is_computed() -> None:
    rankings = Rankings(RUN, Judgments(QRELS))
    values = [On(base=base).evaluate(rankings)[0] for base in (HALF, AP, QUARTER)]
    ap = (1 / 1 + 2 / 3) / 2  # of relevant documents at ranks 1 and 3
    assert values == pytest.approx([0.5, ap, 0.25])


class _Halves(SingleAspectMeasure):
    """Not the AP of ir-measures."""

    __name__ = "AP"
    NAME = __name__
    PRETTY_NAME = SHORT_DESC = CITATION = "A test"
    SUPPORTED_PARAMS = {}

    def score(self, ranking, target):
        return np.full(target.n_queries, 0.5)


def test_pickling_keeps_a_base_that_its_name_does_not_mean() -> None:
    measure = On(base=_Halves())
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure != On(base="AP")
    assert hash(again) == hash(measure)
    assert value(again) == 0.5


@pytest.mark.parametrize(
    "measure", [ma.HelpfulCompat(p=0.8), ma.uRBPgr(p=0.7) @ 3, ma.RBU(p=0.6), ma.CAM(base="CRP@4")]
)
def test_pickled_and_copied_bases_are_the_same_measure(measure: ma.Measure) -> None:
    judgments = Judgments({"q": {"d": 1}})
    base = next(iter(measure.terms(judgments))).base
    for duplicate in (pickle.loads(pickle.dumps(base)), copy.copy(base), copy.deepcopy(base)):
        assert duplicate == base
        assert duplicate.text == base.text
        assert duplicate.params == base.params


@pytest.mark.parametrize(
    ("measure", "is_here"),
    [
        (nDCG, True),
        (AP(rel=2), True),
        (AP(rel=0), False),
        (AP(judged_only=True), False),
        (Bpref, False),
        (RBP, True),
    ],
)
def test_what_is_computed_here(measure: ir_measures.Measure, is_here: bool) -> None:
    assert isinstance(as_base(measure), Delegated) is not bool(is_here)


def test_bases_are_bases_and_others_say_why_not() -> None:
    assert as_base(CG) is CG
    for measure, reason in ((CAM, "multi-aspect"), ("IRec", "multi-aspect")):
        with pytest.raises(MultiAspectError, match=f"cannot be a base: .*{reason}"):
            parse_base(measure)


# -- gains and grades of measures that ir-measures computes
# --------------------------------------------

#: The labels 0, 1, 2 have the gains 0, 1, 10.
GAINS = Aspects({"relevance": Aspect([0, 1, 2], gains=[0, 1, 10])})


def test_measures_without_a_kernel_get_the_declared_gains() -> None:
    """nDCG(judged_only=True) is evaluated by ir-measures, with gains instead of labels."""
    # By RUN, the labels are 1, 0, 2, 0. All documents are judged: judged_only changes nothing.
    dcg = 1 + 10 / np.log2(4)
    ideal_dcg = 10 + 1 / np.log2(3)
    assert value(On(base=nDCG, aspects=GAINS)) == pytest.approx(dcg / ideal_dcg)
    delegated = value(On(base=nDCG(judged_only=True), aspects=GAINS))
    assert delegated == pytest.approx(dcg / ideal_dcg, abs=1e-9)


def test_measures_without_a_kernel_need_integer_gains() -> None:
    aspects = {"relevance": Aspect([0, 1, 2], gains=[0, 0.5, 1])}
    with pytest.raises(MultiAspectError, match=r"expected integer gains, got 0\.5"):
        value(On(base=nDCG(judged_only=True), aspects=aspects))


def test_means_condense_a_ranking_by_aspect_and_toma_condenses_it_once() -> None:
    """A base with judged_only=True leaves unjudged documents out of the ranking.

    Document a, the first one, is not judged on relevance, but on credibility, by the lowest grade.
    """
    qrels = pd.DataFrame(
        {"qid": "q", "docno": ["a", "b"], "relevance": [None, 1], "credibility": [0, 1]}
    )
    params = {"base": nDCG(judged_only=True), "aspects": {"relevance": 1, "credibility": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    b_is_first = 1.0
    b_is_second = 1 / np.log2(3)
    # By relevance, a is left out; by credibility, it is not.
    assert CAM(**params).calc_aggregate(qrels, run) == pytest.approx((b_is_first + b_is_second) / 2)
    # A document that is judged on any aspect is judged.
    assert TOMA(**params).calc_aggregate(qrels, run) == pytest.approx(b_is_second)


def test_sdcg_gets_the_declared_gains_up_to_its_maximum() -> None:
    pytest.importorskip("cwl")
    base = SDCG(max_rel=10) @ 4
    gains = {"q": {"a": 1, "b": 0, "c": 10, "d": 0}}  # those of the labels of QRELS
    expected = next(iter(base.iter_calc(gains, RUN))).value
    assert value(On(base=base, aspects=GAINS)) == pytest.approx(expected)
    with pytest.raises(MultiAspectError, match="max_rel=2, got 10"):
        value(On(base=SDCG(max_rel=2) @ 4, aspects=GAINS))


BASES_WITH_A_MAXIMUM = [
    SDCG @ 4, ir_measures.INST, ir_measures.INSQ(T=2.0), ir_measures.BPM @ 3, ir_measures.NERR8 @ 3,
    ir_measures.NERR9 @ 3, ir_measures.NERR10, ir_measures.NERR11(min_rel=0),
]  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("base", BASES_WITH_A_MAXIMUM, ids=str)
def test_the_maximum_gain_is_that_of_the_scale(base: ir_measures.Measure) -> None:
    """A base without `max_rel` is given the highest gain of each aspect, here 20 and 4."""
    pytest.importorskip("cwl")
    declared = {"relevance": Aspect([0, 1, 2, 3], gains=[0, 1, 10, 20]), "credibility": 4}
    qrels = {
        "q": {
            docno: {"relevance": label, "credibility": label} for docno, label in QRELS["q"].items()
        }
    }
    explicit = {"relevance": base(max_rel=20), "credibility": base(max_rel=4)}
    expected = value(CAM(base=explicit, aspects=declared), qrels)
    assert value(CAM(base=base, aspects=declared), qrels) == pytest.approx(expected, abs=1e-12)
    assert value(CAM(base=str(base), aspects=declared), qrels) == pytest.approx(expected, abs=1e-12)
    with_other_maximum = value(CAM(base=base(max_rel=100), aspects=declared), qrels)
    assert with_other_maximum != pytest.approx(expected, abs=1e-3)
    of_classes = value(TOMA(base=base, aspects=declared, weighting="classes"), qrels)
    assert 0 <= of_classes <= 1


@pytest.mark.every(2)
@pytest.mark.parametrize("base", BASES_WITH_A_MAXIMUM, ids=str)
def test_bases_with_a_maximum_gain_need_integer_gains(base: ir_measures.Measure) -> None:
    pytest.importorskip("cwl")
    aspects = {"relevance": Aspect([0, 1, 2, 3], gains=[0, 1, 2, 2.5])}
    with pytest.raises(MultiAspectError, match=r"expected integer gains, got 2\.5"):
        value(On(base=base, aspects=aspects))


def test_the_maximum_gain_of_an_inferred_scale_is_reported() -> None:
    pytest.importorskip("cwl")
    with pytest.warns(ma.MultiAspectWarning, match="inferred from these qrels"):
        assert value(On(base=SDCG @ 4)) == value(
            On(base=SDCG(max_rel=2) @ 4, aspects={"relevance": 2})
        )
    zeros = {"q": {"a": 0, "b": 0}}
    assert value(On(base=SDCG @ 4, aspects={"relevance": 2}), zeros) == 0
    with pytest.raises(MultiAspectError, match="the base SDCG is incomplete: it requires cutoff"):
        On(base=SDCG, aspects={"relevance": 2}).calc_aggregate(QRELS, RUN)


@pytest.mark.parametrize("base", [Bpref, infAP, AP(judged_only=True), Bpref(rel=1)], ids=str)
def test_binary_measures_without_a_kernel_take_fractional_grades(base: ir_measures.Measure) -> None:
    qrels = {"q": {"a": 0.5, "b": 0.0, "c": 1.0, "d": 0.0}}
    aspects = {"relevance": Aspect([0, 0.5, 1])}
    least = base.params.get("rel", 0.5)
    labels = {"q": {docno: int(label >= least) for docno, label in qrels["q"].items()}}
    wanted = next(iter(base.iter_calc(labels, RUN))).value
    assert value(On(base=base, aspects=aspects), qrels) == pytest.approx(wanted)


# -- numbers too large, and parameters checked when a measure is made
# --------------------------------


#: Document a has the top of a scale of 1501 grades; 2^1500 exceeds the largest float, 2^1024.
OF_A_LONG_SCALE = {"q": {"a": 1500, "b": 0}}


def test_exponential_gains_too_large_are_errors() -> None:
    measure = TOMA(base="CG", weighting="exponential", aspects={"relevance": 1500})
    with pytest.raises(
        MultiAspectError, match=r"TOMA: the gain 2\^1500 - 1 is too large for the base CG"
    ):
        value(measure, OF_A_LONG_SCALE)
    with pytest.raises(
        MultiAspectError, match=r"TOMA: the gain 2\^1500 - 1 is too large for the base DCG; use "
    ):
        value(measure(base="DCG"), OF_A_LONG_SCALE)


def test_exponential_gains_too_large_do_not_matter_to_ratios_of_gains() -> None:
    """The ranking is ideal: nDCG is 1, and no document is away from its ideal rank, so CRP is 0."""
    measure = TOMA(weighting="exponential", aspects={"relevance": 1500})
    assert value(measure(base="nDCG"), OF_A_LONG_SCALE) == 1
    assert value(measure(base="CRP"), OF_A_LONG_SCALE) == 0


def test_infinite_values_are_errors() -> None:
    # The sum of two gains, and that of the ideal, exceed the largest float, 1.8e308: inf / inf.
    huge = {"relevance": Aspect([0, 1, 2], gains=[0, 1e308, 1.7e308])}
    with pytest.raises(
        MultiAspectError, match="nDCG: expected a finite number, got nan for query q"
    ):
        value(On(base="nDCG", aspects=huge), {"q": {"a": 2, "b": 2, "c": 2}})
    with pytest.raises(MultiAspectError, match=r"DCG.*inf for query q"):
        value(On(base="DCG(dcg='exp-log2')", aspects={"relevance": 1500}), OF_A_LONG_SCALE)


def test_rank_errors_of_large_and_small_constants_do_not_cancel() -> None:
    """1e20 + 1 is 1e20, and 1 + 1e-20 is 1: every ranking was perfect."""
    qrels = {"q": {"a": (0, 0), "b": (2, 1), "c": (1, 2)}}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    aspects = {"relevance": 2, "credibility": 2}
    large = value(NLRE(mu=1e20, nu=1e20, aspects=aspects), qrels, run)
    assert large == pytest.approx(
        value(NLRE(mu=1e8, nu=1e8, aspects=aspects), qrels, run), abs=1e-6
    )
    assert large < 0.9
    small = value(NGRE(mu=1e-20, nu=0, aspects=aspects), qrels, run)
    assert small == pytest.approx(value(NGRE(mu=1e-6, nu=0, aspects=aspects), qrels, run), abs=1e-5)
    assert small < 0.9


def test_weights_near_the_largest_float_count_the_same() -> None:
    qrels = {"q": {"a": (1, 0), "b": (1, 1)}}
    aspects = {"relevance": 1, "credibility": 1}
    for family in (CAM, MM):
        huge = family(weights=dict.fromkeys(aspects, 1e308), aspects=aspects)
        assert value(huge, qrels) == value(family(aspects=aspects), qrels) > 0


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: CAM @ 2**63, ["CAM", "cutoff", "2147483647"]),
        (lambda: CAM @ 10**400, ["CAM", "cutoff", "bits"]),
        (lambda: On(base=nDCG @ 2**63), ["nDCG", "cutoff"]),
        (lambda: NLRE(mu=10**400), ["NLRE", "mu", "bits"]),
        (lambda: NLRE(mu=1e300), ["NLRE", "mu", "below 1e+50"]),
        (lambda: ma.uRBP(p=10**400), ["uRBP", "p: expected a number"]),
        (lambda: ma.unDCG(s=-(10**400)), ["unDCG", "s: expected a number"]),
        (lambda: On(base=nDCG(gains={1: "x"})), ["nDCG", "gains", "'x'"]),
        (lambda: On(base=nDCG(gains={1: float("nan")})), ["nDCG", "gains", "nan"]),
        (lambda: On(base=AP(rel=10**400)), ["AP", "rel"]),
        (lambda: ma.ESL(wanted=None), ["ESL", "wanted", "None"]),
        (lambda: ma.ESL(wanted=10**400), ["ESL", "wanted", "bits"]),
        (lambda: On(base="AP(" + "(" * 5000 + ")" * 5000 + ")"), ["On"]),
        (lambda: CAM(base={"relevance": "ESL", "credibility": "AP"}), ["CAM", "lower is better for some", "ESL"]),
        (lambda: CAM(base="CRP", normalized=True), ["CAM", "normalized", "CRP"]),
    ],
)  # fmt: skip
def test_parameters_are_checked_when_a_measure_is_made(make, parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as error:
        make()
    for part in parts:
        assert part in str(error.value)
    assert len(str(error.value)) < 500


def test_what_ir_measures_cannot_compute_is_an_error_that_names_the_base() -> None:
    with pytest.raises(MultiAspectError, match=r"Accuracy.*division by zero") as caught:
        value(On(base=Accuracy), {"q": {"a": 1, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}})
    assert isinstance(caught.value.__cause__.__cause__, ZeroDivisionError)  # tracebacks show where


# -- user-defined measures
# --------------------------------------------------------------------------


class _Wrong(DirectMeasure):
    """Returns what it is told."""

    __name__ = "Wrong"
    NAME = __name__
    PRETTY_NAME = SHORT_DESC = CITATION = "A test"
    SUPPORTED_PARAMS = {"aspects": ASPECTS}
    RETURNED = np.zeros(1)

    def score(self, rankings, views):
        return self.RETURNED


class _WrongBase(_Halves):
    __name__ = "WrongBase"
    NAME = __name__
    RETURNED = np.zeros(1)

    def score(self, ranking, target):
        return self.RETURNED


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros(3), r"expected the shape \(2,\), got \(3,\)"),
        (1.0, r"got \(\)"),
        (np.array([0, np.nan]), "nan for query q2"),
        (np.array([np.inf, 0]), "inf for query q1"),
    ],
)
def test_a_wrong_number_of_values_or_nan_is_an_error_at_every_door(
    monkeypatch, returned, message: str
) -> None:
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}}
    run = {"q1": {"a": 1.0}, "q2": {"a": 1.0}}
    monkeypatch.setattr(_Wrong, "RETURNED", returned)
    monkeypatch.setattr(_WrongBase, "RETURNED", returned)
    aspects = {"relevance": 1}
    for measure, name in (
        (_Wrong(aspects=aspects), "Wrong"),
        (_WrongBase(), "WrongBase"),
        (CAM(base=_WrongBase(), aspects=aspects), "CAM.*WrongBase"),
        (MM(base=_WrongBase(), aspects=aspects), "MM.*WrongBase"),
    ):
        for call in (
            lambda measure=measure: ma.evaluate(run, qrels, measure, progress=False),
            lambda measure=measure: measure.calc_aggregate(qrels, run),
        ):
            with pytest.raises(MultiAspectError, match=f"{name}.*{message}"):
                call()


class _Rising(LinearMeasure):
    """A discount that rises, by which sorting is not the best."""

    __name__ = "Rising"
    NAME = __name__
    PRETTY_NAME = SHORT_DESC = CITATION = "A test"
    SUPPORTED_PARAMS = {}

    def linear(self, target):
        from pt_multiaspect.kernels.forms import Linear

        return Linear(target, target.gain, np.square, norm=np.full(target.n_queries, 100.0))


def test_a_rising_discount_has_no_bound() -> None:
    two = {"relevance": 2, "credibility": 1}
    with pytest.raises(MultiAspectError, match=r"not increase.*rank"):
        value(CAM(base=_Rising(), normalized=True, aspects=two), {"q": {"a": (1, 0), "b": (2, 1)}})


# -- normalisation and bounds against all permutations
# ------------------------------------------------


def test_normalized_cam_is_the_same_whatever_empty_says() -> None:
    """An aspect that `empty` drops is dropped from the value and from the maximum it is divided by."""
    aspects = {"relevance": 2, "credibility": 2}
    qrels = {"q": {"a": (1, 0), "b": (2, 0), "c": (0, 0)}}  # no document is credible
    of_relevance = (1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3))  # nDCG of a, then b
    zero = CAM(empty="zero", aspects=aspects)
    drop = CAM(empty="drop", aspects=aspects)
    assert value(zero, qrels) == pytest.approx((of_relevance + 0) / 2)
    assert value(drop, qrels) == pytest.approx(of_relevance)
    normalized_zero, normalized_drop = zero(normalized=True), drop(normalized=True)
    assert value(normalized_zero, qrels) == pytest.approx(of_relevance)
    assert value(normalized_drop, qrels) == value(normalized_zero, qrels)
    best = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    assert value(normalized_drop, qrels, best) == value(normalized_zero, qrels, best) == 1


def test_normalized_cam_of_bases_with_different_cutoffs() -> None:
    """The maximum is that of a ranking: the gain of b does not count at rank 2, so c is better there."""
    measure = CAM(
        base={"relevance": "P@1", "credibility": "P@2"}, aspects={"relevance": 1, "credibility": 1}
    )
    qrels = {"q": {"a": (1, 0), "b": (1, 0), "c": (0, 1)}}
    a_and_b = {"q": {"a": 3.0, "b": 2.0}}
    a_and_c = {"q": {"a": 3.0, "c": 2.0}}
    value_of_a_and_b = (1 / 1 + 0 / 2) / 2
    highest = (1 / 1 + 1 / 2) / 2
    assert value(measure, qrels, a_and_b) == value_of_a_and_b
    assert value(measure, qrels, a_and_c) == highest
    normalized = measure(normalized=True)
    assert value(normalized, qrels, a_and_b) == pytest.approx(value_of_a_and_b / highest)
    assert value(normalized, qrels, a_and_c) == 1


def test_a_target_with_other_gains_has_none_for_unjudged_documents() -> None:
    """`with_gain` replaces the gains of judged documents, and resets those of other documents to 0.

    A target is an aspect as a base sees it: `top` is the highest gain, `bottom` that of the lowest
    grade, and `unjudged` that of documents without a label.
    """
    (view,) = CAM(aspects={"relevance": 2}).views(Judgments({"q": {"a": {"relevance": 1}}}))
    target = replace(view.target, unjudged=2.0, bottom=2.0)
    gain_of_a = 3.0
    changed = target.with_gain(np.array([gain_of_a]))
    assert changed.top == gain_of_a
    assert changed.unjudged == 0
    assert changed.bottom == 0


def test_normalized_cam_of_a_base_with_a_depth_per_topic() -> None:
    """Rprec reads as many ranks as the topic has relevant documents: one of q1 and three of q2."""
    measure = CAM(
        base={"relevance": "Rprec", "credibility": "P@2"},
        aspects={"relevance": 1, "credibility": 1},
    )
    relevant = {"relevance": 1, "credibility": 0}
    credible = {"relevance": 0, "credibility": 1}
    both = {"relevance": 1, "credibility": 1}
    neither = {"relevance": 0, "credibility": 0}
    qrels = {
        "q1": {"a": relevant, "b": credible, "c": credible, "d": neither},
        "q2": {"a": relevant, "b": relevant, "c": both, "d": credible},
    }
    highest = {qid: by_force(measure, judged).max() for qid, judged in qrels.items()}
    assert highest == pytest.approx(
        {
            "q1": (1 / 1 + 1 / 2)
            / 2,  # a b: the first is relevant, one of the first two is credible
            "q2": (2 / 3 + 2 / 2) / 2,  # c d a: two of three are relevant, the first two credible
        }
    )
    judgments = Judgments(qrels)
    for order in itertools.permutations("abcd"):
        ranking = {docno: -float(rank) for rank, docno in enumerate(order)}
        rankings = Rankings({"q1": ranking, "q2": ranking}, judgments)
        expected = measure.evaluate(rankings) / [highest["q1"], highest["q2"]]
        normalized = measure(normalized=True).evaluate(rankings)
        np.testing.assert_allclose(normalized, expected, atol=1e-12)


BASES = ("nDCG", "nDCG@2", "DCG", "DCG(dcg='jarvelin')@2", "DCG(dcg='exp-log2')", "CG@2", "CG@1", "RBP(p=0.5)",
         "P@2", "Rprec", "CRP", "CRP@2", "nCRP", "AP", "ERR", "RelativeRecall(expected=2)@2")  # fmt: skip
NORMALIZED = (
    "nDCG",
    "nDCG@2",
    "DCG",
    "DCG(dcg='jarvelin')@2",
    "CG@2",
    "RBP(p=0.5)",
    "P@2",
    "Rprec",
)
ADDITIVE = (*NORMALIZED, "CRP", "CRP@2")
NAMES = ("relevance", "credibility", "understandability")
SCALE = Aspect([0, 1, 2], threshold=1)


def world(seed: int) -> tuple[random.Random, list[str], dict[str, dict[str, float]]]:
    rng = random.Random(seed)
    names = list(NAMES[: rng.randint(1, 3)])
    labels = (0, 1, 2, 0, 1, 2, -1, float("nan"))
    documents = "abcde"[: rng.randint(1, 5)]
    return rng, names, {docno: {name: rng.choice(labels) for name in names} for docno in documents}


#: Random labels may all be equal, or never 0.
constant_labels = pytest.mark.filterwarnings(
    "ignore:every judged document has the label", "ignore:no label of .* is 0"
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*labels below:pt_multiaspect.errors.MultiAspectWarning")
@constant_labels
@pytest.mark.parametrize("part", range(4))
def test_bounds_are_the_best_of_all_permutations(part: int) -> None:
    """640 random worlds: measures of one number a document, and weighted sums over ranks."""
    for seed in range(part * 160, (part + 1) * 160):
        rng, names, judged = world(seed)
        aspects = dict.fromkeys(names, SCALE)
        weights = {name: rng.choice((0.5, 1, 3)) for name in names}
        mixed = {name: rng.choice(ADDITIVE) for name in names}
        measure = rng.choice(
            (
                On(base=rng.choice(BASES), aspects=aspects),
                TOMA(base=rng.choice(BASES), aspects=aspects),
                CAM(base=rng.choice(ADDITIVE), weights=weights, aspects=aspects),
                CAM(base=mixed, weights=weights, aspects=aspects),
            )
        )
        table = upper_bound({"q": judged}, measure)
        best = by_force(measure, judged).max()
        assert table["strategy"][0] == "exact", measure
        assert table["value"][0] == table["bound"][0] == pytest.approx(best, abs=1e-9), (
            seed,
            measure,
        )


@pytest.mark.slow
@constant_labels
@pytest.mark.filterwarnings("ignore:CAM averages bases on different scales")
def test_normalisation_is_that_by_the_best_of_all_permutations() -> None:
    """In 200 random worlds of at most five documents; the value of the best ranking is 1."""
    for seed in range(1000, 1200):
        rng, names, judged = world(seed)
        base = {name: rng.choice(NORMALIZED) for name in names}
        if rng.random() < 0.5:
            base = rng.choice(NORMALIZED)
        empty = rng.choice(("zero", "drop"))
        measure = CAM(base=base, empty=empty, aspects=dict.fromkeys(names, SCALE))
        values = by_force(measure, judged)  # of all permutations
        normalized = by_force(measure(normalized=True), judged)
        if values.max() == 0:
            assert (normalized == 0).all()
        else:
            np.testing.assert_allclose(normalized, values / values.max(), atol=1e-9)
            assert normalized.max() == pytest.approx(1, abs=1e-15)


def test_bounds_of_single_aspect_measures_by_name() -> None:
    qrels = {"q": {"a": {"relevance": 1}, "b": {"relevance": 3}}}
    for measure in ("DCG", ma.DCG, ma.CG @ 1, ma.CRP, ma.nCRP):
        table = upper_bound(qrels, measure)
        assert table["gap"][0] == 0
    assert upper_bound(qrels, ma.DCG)["value"][0] == pytest.approx(3 + 1 / np.log2(3))


def test_the_signature_shows_the_parameters() -> None:
    import inspect

    assert str(inspect.signature(TOMA)).startswith("(*, base='nDCG', distance='euclidean'")
    assert list(inspect.signature(CAM).parameters)[:2] == ["base", "weights"]
    assert inspect.signature(type(ma.uRBP).__call__).parameters["p"].default == 0.8
