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


def test_a_measure_named_like_another_is_not_that_measure() -> None:
    first, second = define_byquery(half, name="AP"), define_byquery(quarter, name="AP")
    assert value(On(base=AP)) == pytest.approx(5 / 6)
    assert value(On(base=first)) == 0.5
    assert value(On(base=second)) == 0.25
    assert len({On(base=AP), On(base=first), On(base=second)}) == 3
    assert On(base=first) == On(base=first)
    assert CAM(base={"relevance": first}) != CAM(base={"relevance": second})
    assert str(On(base=first)) == str(On(base=AP)) == "On(base='AP')"
    assert type((On(base=first) @ 5)["base"].one.measure) is type(first)
    # Both in one run: neither gets what was computed for the other.
    rankings = Rankings(RUN, Judgments(QRELS))
    assert [On(base=base).evaluate(rankings)[0] for base in (first, AP, second)] == pytest.approx(
        [0.5, 5 / 6, 0.25]
    )


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
    (base, *_) = (term.base for term in measure.terms(Judgments({"q": {"d": 1}})))
    for again in (pickle.loads(pickle.dumps(base)), copy.copy(base), copy.deepcopy(base)):
        assert (again, again.text, again.params) == (base, base.text, base.params)


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

GAINS = Aspects({"relevance": Aspect([0, 1, 2], gains=[0, 1, 10])})


def test_measures_without_a_kernel_get_the_declared_gains() -> None:
    """All documents are judged, so that judged_only makes no difference; labels themselves gave .860."""
    plain, same = (value(On(base=base, aspects=GAINS)) for base in (nDCG, nDCG(judged_only=True)))
    assert same == pytest.approx(plain, abs=1e-9)
    assert plain == pytest.approx(0.564, abs=1e-3)
    with pytest.raises(MultiAspectError, match=r"expected integer gains, got 0\.5"):
        value(
            On(
                base=nDCG(judged_only=True),
                aspects={"relevance": Aspect([0, 1, 2], gains=[0, 0.5, 1])},
            )
        )


def test_means_condense_a_ranking_by_aspect_and_toma_condenses_it_once() -> None:
    qrels = pd.DataFrame(
        {"qid": "q", "docno": ["a", "b"], "relevance": [None, 1], "credibility": [0, 1]}
    )
    params = {"base": nDCG(judged_only=True), "aspects": {"relevance": 1, "credibility": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    at_second = 1 / np.log2(3)  # document b, with a before it
    assert CAM(**params).calc_aggregate(qrels, run) == pytest.approx((1 + at_second) / 2)
    assert TOMA(**params).calc_aggregate(qrels, run) == pytest.approx(at_second)


def test_sdcg_gets_the_declared_gains_up_to_its_maximum() -> None:
    pytest.importorskip("cwl")
    base = SDCG(max_rel=10) @ 4
    labels = {"q": {docno: {0: 0, 1: 1, 2: 10}[label] for docno, label in QRELS["q"].items()}}
    wanted = next(iter(base.iter_calc(labels, RUN))).value
    assert value(On(base=base, aspects=GAINS)) == pytest.approx(wanted)
    with pytest.raises(MultiAspectError, match="max_rel=2, got 10"):
        value(On(base=SDCG(max_rel=2) @ 4, aspects=GAINS))


@pytest.mark.every(2)
@pytest.mark.parametrize("base", [
    SDCG @ 4, ir_measures.INST, ir_measures.INSQ(T=2.0), ir_measures.BPM @ 3, ir_measures.NERR8 @ 3,
    ir_measures.NERR9 @ 3, ir_measures.NERR10, ir_measures.NERR11(min_rel=0),
], ids=str)  # fmt: skip
def test_the_maximum_gain_is_that_of_the_scale(base: ir_measures.Measure) -> None:
    pytest.importorskip("cwl")
    declared = {"relevance": Aspect([0, 1, 2, 3], gains=[0, 1, 10, 20]), "credibility": 4}
    qrels = {
        "q": {
            docno: {"relevance": label, "credibility": label} for docno, label in QRELS["q"].items()
        }
    }
    bases = {"relevance": base(max_rel=20), "credibility": base(max_rel=4)}
    expected = value(CAM(base=bases, aspects=declared), qrels)
    assert value(CAM(base=base, aspects=declared), qrels) == pytest.approx(expected, abs=1e-12)
    assert value(CAM(base=str(base), aspects=declared), qrels) == pytest.approx(expected, abs=1e-12)
    assert value(CAM(base=base(max_rel=100), aspects=declared), qrels) != pytest.approx(
        expected, abs=1e-3
    )
    assert 0 <= value(TOMA(base=base, aspects=declared, weighting="classes"), qrels) <= 1
    with pytest.raises(MultiAspectError, match=r"expected integer gains, got 2\.5"):
        value(On(base=base, aspects={"relevance": Aspect([0, 1, 2, 3], gains=[0, 1, 2, 2.5])}))


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


def test_gains_too_large_are_errors_and_not_infinite_values() -> None:
    long = {"q": {"a": 1500, "b": 0}}
    measure = TOMA(base="CG", weighting="exponential", aspects={"relevance": 1500})
    with pytest.raises(
        MultiAspectError, match=r"TOMA: the gain 2\^1500 - 1 is too large for the base CG"
    ):
        value(measure, long)
    with pytest.raises(
        MultiAspectError, match=r"TOMA: the gain 2\^1500 - 1 is too large for the base DCG; use "
    ):
        value(measure(base="DCG"), long)
    assert value(measure(base="nDCG"), long) == 1
    assert value(measure(base="CRP"), long) == 0
    huge = {"relevance": Aspect([0, 1, 2], gains=[0, 1e308, 1.7e308])}
    with pytest.raises(
        MultiAspectError, match="nDCG: expected a finite number, got nan for query q"
    ):
        value(On(base="nDCG", aspects=huge), {"q": {"a": 2, "b": 2, "c": 2}})
    with pytest.raises(MultiAspectError, match=r"DCG.*inf for query q"):
        value(On(base="DCG(dcg='exp-log2')", aspects={"relevance": 1500}), long)


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
    """What is dropped counts neither above nor below the line; with one above only, .882 became 1."""
    aspects = {"relevance": 2, "credibility": 2}
    qrels = {"q": {"a": (1, 0), "b": (2, 0), "c": (0, 0)}}
    zero = CAM(normalized=True, empty="zero", aspects=aspects)
    drop = zero(empty="drop")
    assert value(zero, qrels) == value(drop, qrels) == pytest.approx(0.86, abs=0.01)
    assert value(CAM(empty="drop", aspects=aspects), qrels) == pytest.approx(
        2 * value(CAM(aspects=aspects), qrels)
    )
    best = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    assert value(drop, qrels, best) == value(zero, qrels, best) == 1


def test_normalized_cam_of_bases_with_different_cutoffs() -> None:
    """Gains sort a, b to the top, 1 each, of which the second does not count below rank 1: .5; a, c reach .75."""
    measure = CAM(
        base={"relevance": "P@1", "credibility": "P@2"}, aspects={"relevance": 1, "credibility": 1}
    )
    qrels = {"q": {"a": (1, 0), "b": (1, 0), "c": (0, 1)}}
    assert value(measure, qrels, {"q": {"a": 3.0, "b": 2.0}}) == 0.5
    assert value(measure, qrels, {"q": {"a": 3.0, "c": 2.0}}) == 0.75
    assert value(measure(normalized=True), qrels, {"q": {"a": 3.0, "b": 2.0}}) == pytest.approx(
        0.5 / 0.75
    )
    assert value(measure(normalized=True), qrels, {"q": {"a": 3.0, "c": 2.0}}) == 1


def test_a_target_with_other_gains_has_none_for_unjudged_documents() -> None:
    (view,) = CAM(aspects={"relevance": 2}).views(Judgments({"q": {"a": {"relevance": 1}}}))
    changed = replace(view.target, unjudged=2.0, bottom=2.0).with_gain(np.array([3.0]))
    assert (changed.top, changed.unjudged, changed.bottom) == (3, 0, 0)


def test_normalized_cam_of_a_base_with_a_depth_per_topic() -> None:
    """Rprec reads one rank in q1 and three in q2, P@2 two in both."""
    measure = CAM(
        base={"relevance": "Rprec", "credibility": "P@2"},
        aspects={"relevance": 1, "credibility": 1},
    )
    qrels = {
        "q1": {"a": (1, 0), "b": (0, 1), "c": (0, 1), "d": (0, 0)},
        "q2": {"a": (1, 0), "b": (1, 0), "c": (1, 1), "d": (0, 1)},
    }
    labels = {
        qid: {
            docno: dict(zip(("relevance", "credibility"), pair, strict=True))
            for docno, pair in documents.items()
        }
        for qid, documents in qrels.items()
    }
    best = {qid: by_force(measure, judged).max() for qid, judged in labels.items()}
    assert best == pytest.approx({"q1": 0.75, "q2": 5 / 6})
    judgments = Judgments(labels)
    for order in itertools.permutations("abcd"):
        rankings = Rankings(
            {qid: {docno: -float(n) for n, docno in enumerate(order)} for qid in labels}, judgments
        )
        expected = measure.evaluate(rankings) / list(best.values())
        np.testing.assert_allclose(
            measure(normalized=True).evaluate(rankings), expected, atol=1e-12
        )


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
    """200 random worlds; the best ranking is exactly 1."""
    for seed in range(1000, 1200):
        rng, names, judged = world(seed)
        base = {name: rng.choice(NORMALIZED) for name in names}
        if rng.random() < 0.5:
            base = rng.choice(NORMALIZED)
        plain = CAM(
            base=base, empty=rng.choice(("zero", "drop")), aspects=dict.fromkeys(names, SCALE)
        )
        values, normalized = by_force(plain, judged), by_force(plain(normalized=True), judged)
        best = values.max()
        np.testing.assert_allclose(normalized, values / best if best else 0 * values, atol=1e-9)
        assert normalized.max() == (1 if best else 0) or normalized.max() == pytest.approx(
            1, abs=1e-15
        )


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
