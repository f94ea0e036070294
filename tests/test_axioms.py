"""Properties of measures: what is known of them, and counter-examples recomputed the slow way."""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import reference as ref
from ir_measures import nDCG
from strategies import TIMES

from pt_multiaspect import (
    CAM,
    GAM,
    MM,
    NGRE,
    NLRE,
    NWCS,
    TOMA,
    WHAM,
    Aspect,
    Aspects,
    HarmfulCompat,
    HelpfulMinusHarmful,
    On,
    Order,
    analysis,
    nCRP,
    uERR,
    unDCG,
    uRBP,
    uRBPgr,
)
from pt_multiaspect.analysis import axioms
from pt_multiaspect.analysis.axioms import PROPERTIES, check
from pt_multiaspect.analysis.axioms._worlds import Alike, Bound, Chains, Multisets, OneAlike, Source, Variant
from pt_multiaspect.errors import MultiAspectError
from pt_multiaspect.measures import DirectMeasure
from pt_multiaspect.measures.parameters import ASPECTS

TWO = {"relevance": 2, "credibility": 2}
#: Harm is negative, and (1, 1) weighs less than (1, 0).
HARMFUL = Order(
    {(0, 0): 0, (0, 1): -1, (1, 0): 2, (1, 1): 1}, {"relevance": 1, "credibility": 1}, allow_violations=True
)
UNEVEN = Aspects(
    {
        "relevance": Aspect([0, 1, 3], gains=[0, 2, 7], probabilities=[0, 0.4, 1], threshold=3),
        "credibility": Aspect([10, 20, 30], greater_is_better=False),
    }
)
MEASURES = [
    TOMA, TOMA(axes="gains"), TOMA(distance="manhattan"), TOMA(distance="chebyshev"), CAM, CAM(base="AP"),
    CAM(base="P@5"), CAM(base="ERR"), MM, GAM, WHAM, NLRE, NGRE, NWCS, uRBP, uRBPgr, unDCG, uERR,
    On(aspect="credibility"),
]  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return check(MEASURES, trials=round(10_000 * TIMES))


@pytest.fixture(scope="module")
def uneven():
    return check(MEASURES, UNEVEN, trials=1000)


# -- known truths -----------------------------------------------------------------------------------

KNOWN = {
    TOMA: {"D1": "holds", "D5": "holds", "Eq. 1": "holds", "Eq. 4": "holds", "1 attainable": "holds",
           "swap": "holds", "0 attainable": "fails", "D6": "holds", "D6, one aspect": "holds"},
    TOMA(axes="gains"): {"D6": "holds", "D6, one aspect": "fails"},
    TOMA(distance="chebyshev"): {"D7": "ties", "Eq. 1": "holds", "Eq. 4": "holds", "swap": "holds"},
    CAM: {"D1": "holds", "D2": "holds", "D4": "ties", "D6": "holds", "D6, one aspect": "holds", "D7": "holds",
          "D8": "holds", "Eq. 4": "holds", "1 attainable": "fails", "swap": "holds"},
    CAM(base="P@5"): {"D1": "ties", "D2": "ties", "D7": "ties"},
    CAM(base="AP"): {"D2": "fails", "Eq. 4": "fails"},
    CAM(base="ERR"): {"D3": "fails", "D6": "fails"},
    MM: {"D7": "ties", "Eq. 4": "fails"},
    WHAM: {"D7": "ties"},
    NWCS: {"D1": "holds", "D2": "holds", "D4": "fails", "D6": "holds", "D7": "holds", "1 attainable": "holds"},
    NLRE: {"D1": "holds", "D2": "holds", "D3": "ties", "D4": "ties", "D7": "fails", "D8": "fails",
           "D6, one aspect": "holds", "swap": "fails"},
    NGRE: {"D1": "holds", "D2": "holds", "D3": "ties", "D4": "ties", "D7": "fails", "D8": "holds", "swap": "fails"},
    uRBPgr: {"D4": "holds", "D8": "fails", "swap": "holds"},
    unDCG: {"1 attainable": "holds"},
}  # fmt: skip


@pytest.mark.parametrize("measure", KNOWN, ids=str)
def test_known_truths(result, measure):
    assert {rule: result.table.loc[str(measure), rule] for rule in KNOWN[measure]} == KNOWN[measure]


@pytest.mark.slow
def test_every_measure_is_well_defined(result, uneven):
    for outcome in (result, uneven):
        assert set(outcome.table["D5"]) == {"holds"}
        assert set(outcome.table["Eq. 1"]) == {"holds"}


def test_results(result):
    rows = result.results.set_index(["measure", "property"])
    assert list(rows.index.unique("measure")) == list(map(str, MEASURES))
    assert list(result.table.columns) == list(PROPERTIES)
    assert check(NLRE, properties="D1").results["complete"].item() == 5
    # All worlds of up to five documents with the same labels, and all chains of two, written by hand.
    assert rows.loc[("CAM", "D5"), "trials"] == 9 * 5
    two = check(CAM, documents=2).results.set_index("property")
    # Of pairs with the same credibility or relevance, which are the other way round: 3 · 3 and 3 · 3.
    assert two.loc["D7", "trials"] == 9 + 9
    assert two.loc["swap", "trials"] == sum(
        1 for a, b in itertools.product(itertools.product(range(3), repeat=2), repeat=2)
        if a != b and a[0] >= b[0] and a[1] >= b[1]
    )  # fmt: skip
    assert two.loc["1 attainable", "trials"] == 9 + 45 - 2  # in all but where every label is 0
    assert two.loc["0 attainable", "trials"] == 45 - 9
    assert two.loc["D1", "verdict"] == "n/a"
    for (measure, rule), row in rows.iterrows():
        assert (row["violations"] > 0) == (row["verdict"] == "fails" and rule != "D8") or rule == "D8"
        assert (row["verdict"] in ("fails", "ties") and not row["reason"]) == (
            result.example(measure, rule) is not None
        )


@pytest.mark.slow
def test_orders():
    outcome = check([TOMA(order=HARMFUL), HarmfulCompat(order=HARMFUL), HelpfulMinusHarmful(order=HARMFUL)])
    toma = outcome.table.loc[str(TOMA(order=HARMFUL))]
    assert toma[["Eq. 1", "Eq. 4", "swap", "D6", "D8"]].tolist() == ["fails", "holds", "fails", "holds", "n/a"]
    # Lower is better: harm that comes up is a fault, shown with the value as it is.
    example = outcome.example(HarmfulCompat(order=HARMFUL), "swap")
    before, after = example.rankings
    # A harmful document at rank 2 lacks the first term of Σ_k p^(k-1) / k = -ln(1 - p) / p.
    assert (before.score, after.score) == (1.0, pytest.approx(1 + 0.95 / np.log(1 - 0.95)))
    assert "should not score lower" in example.sentence
    signed = outcome.results[outcome.results["measure"] == str(HelpfulMinusHarmful(order=HARMFUL))]
    assert (
        signed.set_index("property").loc["1 attainable", "reason"]
        == "the values of the measure are between -1 and 1"
    )


def test_the_order_of_tuples_is_checked_itself():
    # Only weights below 0 are the wrong way round, and to nDCG they are all worth nothing.
    order = Order({(0, 0): 0, (0, 1): -1, (1, 0): -1, (1, 1): -3}, ["relevance", "credibility"],
                  allow_violations=True)  # fmt: skip
    outcome = check(TOMA(order=order), properties=["Eq. 1", "Eq. 4", "swap"], documents=3)
    assert outcome.table.iloc[0].tolist() == ["fails", "holds", "holds"]
    example = outcome.example(TOMA(order=order), "Eq. 1")
    assert [(ranking.tuples, ranking.score) for ranking in example.rankings] == [(((0, 1),), -1), (((0, 0),), 0)]
    assert "weight" in repr(example)
    # Of the 5 pairs of which one is better, in 1 world of two documents and 6 times in those of three; and 4 steps.
    trials = outcome.results.set_index("property")["trials"]
    assert trials["Eq. 1"] == 5 * (1 + 6) + 4


class _Waning(type(TOMA)):
    """Weighs the second and the third of four grades alike, and the best one less."""

    __name__ = "Waning"
    NAME = __name__

    def joint(self, views):
        (view,) = views
        return replace(super().joint(views), gain=np.array([0.0, 3.0, 3.0, 1.0])[view.grade])


def test_weights_that_decrease_along_the_order():
    """The tuple is compared with the first of the heaviest ones below it."""
    outcome = check(_Waning(), {"relevance": 3}, properties="Eq. 4", documents=2)
    example = outcome.example("Waning", "Eq. 4")
    # Weights plus binary relevance, which is 1 above the lowest grade.
    assert [(ranking.tuples, ranking.score) for ranking in example.rankings] == [(((3,),), 2), (((1,),), 4)]
    assert outcome.results["violations"].item() == 1
    assert "although it is not below B in the order" in repr(example)


@pytest.mark.slow
def test_conflicting_documents_keep_cam_from_1():
    example = check(CAM(empty="drop"), properties="1 attainable").example(CAM(empty="drop"), "1 attainable")
    (best,) = example.rankings
    assert sorted(best.tuples) == [(0, 1), (1, 0)]
    assert best.score == pytest.approx((1 + 1 / math.log2(3)) / 2)


def test_importance_parameters():
    by_mu = NLRE(mu={"relevance": 1, "credibility": 3})
    outcome = check([by_mu, NGRE(mu=0, nu=2), CAM(weights={"relevance": 0, "credibility": 1}), CAM, uRBP],
                  properties=["D8"])  # fmt: skip
    assert outcome.table["D8"].tolist() == [
        "fails",
        "ties",
        "ties",
        "holds",
        "fails",
    ]  # an aspect without weight never costs
    assert "no parameter" in outcome.results["reason"].iloc[-1]
    # It is the other constant that prices errors of an aspect: Eq. 4 expands to εr·εc + ν·εr + μ·εc.
    example = outcome.example(by_mu, "D8")
    relevance_score, _, credibility_score, _, raised, *_ = (ranking.score for ranking in example.rankings)
    assert 1 - relevance_score == pytest.approx(3 * (1 - credibility_score))
    assert raised > relevance_score


def test_raised_importance_is_twice_the_declared_one() -> None:
    """Property D8 compares a measure with itself."""
    aspects = Aspects(TWO)

    def raised(measure, aspect):
        return Bound("measure", measure, aspects).variant(Variant(raised=aspect))

    assert raised(CAM, 1)["weights"] == {"relevance": 1, "credibility": 2}
    weights = {"relevance": 3, "credibility": 0}
    assert raised(CAM(weights=weights), 0)["weights"] == {"relevance": 6, "credibility": 0}
    assert raised(CAM(weights=weights), 1)["weights"] == {"relevance": 3, "credibility": 1}
    assert raised(NLRE(mu={"relevance": 3, "credibility": 0}), 0)["mu"] == {"relevance": 6, "credibility": 0}
    assert raised(NLRE(mu={"relevance": 3, "credibility": 0}), 1)["mu"] == {"relevance": 3, "credibility": 1}
    assert raised(NGRE(mu=3, nu=2), 1)["mu"] == {"relevance": 3, "credibility": 4}


# -- counter-examples, recomputed -------------------------------------------------------------------


def reference_aspects(measure):
    scales = {name: aspect.scale for name, aspect in measure.spec.items()}
    return {
        name: ref.RefAspect(
            scale.grades.tolist(),
            scale.gains.tolist(),
            scale.probabilities.tolist(),
            scale.grades[scale.threshold].item(),
            scale.greater_is_better,
        )
        for name, scale in scales.items()
    }


def reference_score(measure, tuples, unranked=()):
    """A ranking of documents with these labels, by the reference implementation."""
    aspects = reference_aspects(measure)
    names = list(aspects)
    judgments = {f"d{at}": dict(zip(names, labels, strict=True)) for at, labels in enumerate((*tuples, *unranked))}
    run = {f"d{at}": -float(at) for at in range(len(tuples))}
    name, weights = measure.NAME, measure.params.get("weights")
    if name in ("CAM", "MM", "GAM", "WHAM", "TOMA"):
        base = measure["base"].one.measure
        params = dict(base.params)
        if name == "TOMA":
            return ref.toma(
                run, judgments, aspects, base.NAME, params, measure["distance"], weights, axes=measure["axes"]
            )
        return getattr(ref, name.lower())(run, judgments, aspects, base.NAME, params, weights)
    if name in ("NLRE", "NGRE"):
        return getattr(ref, name.lower())(run, judgments, aspects, measure["mu"], measure["nu"])
    if name == "On":
        return ref.on(run, judgments, aspects, measure["aspect"])
    if name == "NWCS":
        return ref.nwcs(run, judgments, aspects, weights)
    return getattr(ref, name.lower())(run, judgments, aspects)


def better(measure, first, second):
    """Return whether a tuple is better than another on some aspect and worse on none."""
    signs = [1 if aspect.greater_is_better else -1 for aspect in measure.spec.values()]
    steps = [sign * (a - b) for sign, a, b in zip(signs, first, second, strict=True)]
    return min(steps) >= 0 and max(steps) > 0


#: What the scores must be, of the rankings in the order of `CounterExample.rankings`: positive if kept.
MARGINS = {
    "D1": lambda s: s[0] - s[1],
    "D2": lambda s: s[1] - s[0],
    "D3": lambda s: s[0] - s[1],
    "D4": lambda s: (s[1] - s[0]) - (s[3] - s[2]),
    "D6": lambda s: -abs(s[0] - s[1]),
    "D6, one aspect": lambda s: -abs(s[0] - s[1]),
    "D7": lambda s: s[1] - s[0],
    "D8": lambda s: (s[5] - s[4]) * (s[3] - s[2]) - (s[1] - s[0]) * (s[7] - s[6]),
    "Eq. 1": lambda s: s[0] - s[1],
    "Eq. 4": lambda s: s[3] - s[2],
    "1 attainable": lambda s: s[0] - 1,
    "0 attainable": lambda s: -s[0],
    "swap": lambda s: s[0] - s[1],
}


@pytest.mark.every(2)
@pytest.mark.parametrize("aspects", ["result", "uneven"])
def test_counter_examples_by_the_reference(aspects, request):
    outcome = request.getfixturevalue(aspects)
    checked = 0
    for measure, rule in itertools.product(MEASURES, PROPERTIES):
        example = outcome.example(measure, rule)
        if example is None:
            continue
        scores = [
            reference_score(ranking.measure, ranking.tuples, ranking.unranked) for ranking in example.rankings
        ]
        assert scores == pytest.approx([ranking.score for ranking in example.rankings], abs=1e-9), example
        margin = MARGINS[rule](scores)
        assert margin < -1e-9 if example.verdict == "fails" else abs(margin) <= 1e-9, example
        checked += 1
    assert checked > 80


def slow_check(rule, measure, world):
    """Return whether some ranking of the documents of a world violates a property, by trying all."""
    score = {order: reference_score(measure, order) for order in itertools.permutations(world)}
    if rule == "1 attainable":
        return 1e-9 < max(score.values()) < 1 - 1e-9
    if rule == "0 attainable":
        return len(set(world)) > 1 and min(score.values()) > 1e-9
    for order, places in itertools.product(score, itertools.combinations(range(len(world)), 2)):
        i, j = places
        exchanged = list(order)
        exchanged[i], exchanged[j] = order[j], order[i]
        if rule == "swap" and better(measure, order[i], order[j]) and score[tuple(exchanged)] > score[order] + 1e-9:
            return True
        if rule == "Eq. 4" and score[tuple(exchanged)] < score[order] - 1e-9:
            rest = [document for at, document in enumerate(order) if at not in places]
            alone = [reference_score(measure, [order[at]], [order[other], *rest]) for at, other in ((j, i), (i, j))]
            if alone[0] >= alone[1] - 1e-9:
                return True
    return False


@pytest.mark.parametrize("rule", ["1 attainable", "0 attainable", "swap", "Eq. 4"])
@pytest.mark.parametrize("aspects", ["result", pytest.param("uneven", marks=pytest.mark.slow)])
def test_counter_examples_are_minimal(aspects, rule, request):
    """Without any of its documents, or with any label a grade lower, there is no counter-example left."""
    outcome = request.getfixturevalue(aspects)
    failing = [measure for measure in MEASURES if outcome.table.loc[str(measure), rule] == "fails"]
    assert failing
    for measure in failing:
        asked = outcome.example(measure, rule).rankings[-1]
        world = list(asked.tuples)
        assert slow_check(rule, asked.measure, world)
        smaller = [world[:at] + world[at + 1 :] for at in range(len(world))] if len(world) > 1 else []
        for document, (position, aspect) in itertools.product(
            range(len(world)), enumerate(asked.measure.spec.values())
        ):
            grades = aspect.scale.grades.tolist()
            index = grades.index(world[document][position])
            if index:
                changed = list(world[document])
                changed[position] = grades[index - 1]
                smaller.append([*world[:document], tuple(changed), *world[document + 1 :]])
        for world in filter(None, smaller):
            assert not slow_check(rule, asked.measure, world), (measure, world)


@pytest.mark.slow
def test_holds_is_what_trying_everything_says():
    """On all worlds of up to three documents, every verdict of three properties, and the smallest example."""
    tuples = list(itertools.product(range(2), range(3)))
    some = [CAM, TOMA(distance="manhattan"), MM(base="AP"), NLRE, uRBP, NWCS]
    rules = ["1 attainable", "0 attainable", "swap"]
    outcome = check(some, {"relevance": 1, "credibility": 2}, properties=rules, documents=3)
    assert (outcome.results["complete"] == 3).all()
    for measure, rule in itertools.product(some, rules):
        asked = measure(aspects=outcome.aspects)
        least = next(
            (
                n
                for n in range(1, 4)
                if any(
                    slow_check(rule, asked, world) for world in itertools.combinations_with_replacement(tuples, n)
                )
            ),
            None,
        )
        example = outcome.example(measure, rule)
        assert (None if example is None else len(example.rankings[0].tuples)) == least, (measure, rule)


# -- user-defined measures --------------------------------------------------------------------------


class _Backwards(DirectMeasure):
    """Rewards worse documents."""

    __name__ = "Backwards"
    NAME = __name__
    SUPPORTED_PARAMS = {"aspects": ASPECTS}

    def score(self, rankings, views):
        return 1 - CAM(aspects=self["aspects"]).evaluate(rankings)


class _Broken(_Backwards):
    """Not a number where all labels are the worst, and beyond 1 elsewhere."""

    def score(self, rankings, views):
        value = CAM(aspects=self["aspects"]).evaluate(rankings)
        return np.where(value == 0, np.nan, value * 2)


class _OfNames(_Backwards):
    """Has no parameter at all."""

    SUPPORTED_PARAMS = {}
    spec = ("relevance", "credibility")

    def score(self, rankings, views):
        return CAM(aspects=TWO).evaluate(rankings)


class _Chaotic(_Backwards):
    """Random, but the same for the same ranking."""

    def score(self, rankings, views):
        value = CAM(aspects=self["aspects"]).evaluate(rankings)
        return np.modf(np.sin(value.round(9) * 9e4) * 4e4)[0] ** 2


@pytest.mark.slow
def test_faulty_measures():
    verdicts = check(_Backwards(), documents=4).table.loc["Backwards"]
    assert verdicts[["D1", "D2", "D7", "Eq. 1", "swap", "1 attainable"]].tolist() == ["fails"] * 6
    broken = check(_Broken()).results.set_index("property")
    assert broken.loc["D5", "verdict"] == "n/a"
    assert "expected a finite number, got nan for query" in broken.loc["D5", "reason"]
    nothing = check(_Chaotic())
    kept = ["D5", "D6", "D6, one aspect"]  # CAM of nDCG has these, and so have functions of it
    assert [rule for rule, verdict in nothing.table.iloc[0].items() if verdict == "holds"] == kept


class _BeyondOne(_Backwards):
    """Twice a measure that attains its maximum of 1."""

    def score(self, rankings, views):
        return 2 * CAM(aspects=self["aspects"]).evaluate(rankings)


def test_values_beyond_the_range_are_counter_examples_to_d5() -> None:
    outcome = check(_BeyondOne(), properties="D5", documents=2, trials=50)
    assert outcome.table["D5"].tolist() == ["fails"]
    assert "the score is 2" in str(outcome.example(_BeyondOne(), "D5"))


class _UpToFive(_Backwards):
    """1 for topics of up to five judged documents, 1/2 for others."""

    def score(self, rankings, views):
        judgments = rankings.judgments
        return np.where(np.bincount(judgments.pool_query, minlength=judgments.n_queries) <= 5, 1.0, 0.5)


def test_few_trials_include_the_largest_worlds() -> None:
    outcome = check(_UpToFive(), {"a": 3, "b": 3}, properties="1 attainable", trials=20, documents=6)
    assert outcome.table["1 attainable"].tolist() == ["fails"]


def test_a_property_that_no_trial_tests_does_not_hold() -> None:
    """The one world that is drawn has no label above 0, so that no order of its documents should score 1."""
    (row,) = check(TOMA, {"a": 1, "b": 1}, properties="1 attainable", trials=1).results.to_dict("records")
    assert (row["verdict"], row["trials"]) == ("n/a", 0)
    assert row["reason"] == "it applies to none of the worlds drawn; raise trials"


@pytest.mark.slow
def test_measures_without_parameters():
    outcome = check(_OfNames())
    assert outcome.table.loc["OfNames", ["D1", "swap", "D6", "D8"]].tolist() == ["holds", "holds", "n/a", "fails"]


# -- the same again ---------------------------------------------------------------------------------

SCRIPT = """
from pt_multiaspect import CAM, NLRE, TOMA
from pt_multiaspect.analysis.axioms import check
found = check([TOMA, NLRE, CAM(base="AP")], {"relevance": 3, "credibility": 4}, trials=300, seed=3)
print(found.results.to_csv())
for measure in found.table.index:
    for rule in found.table.columns:
        print(found.example(measure, rule))
"""


@pytest.mark.slow
def test_same_seed_same_result():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert "CAM(base='AP'), 1 attainable: fails" in outputs.pop()


@pytest.mark.slow
def test_seed_and_choice_of_properties():
    many = {"relevance": 6, "credibility": 6}
    whole = check(NGRE, many, trials=500, seed=1)
    again = check([NGRE, TOMA], many, trials=500, seed=1, properties=["swap", "D1"])
    assert list(again.table.columns) == ["D1", "swap"]
    numbers = {
        name: outcome.results.set_index(["measure", "property"])[["trials", "violations", "ties"]]
        for name, outcome in (("whole", whole), ("again", again))
    }
    for rule in ("D1", "swap"):
        first, second = (frame.loc[("NGRE", rule)].tolist() for frame in numbers.values())
        assert first == second
        assert repr(whole.example(NGRE, rule)) == repr(again.example("NGRE", rule))
    violations = check(NGRE, many, trials=500, seed=2, properties="swap").results["violations"].item()
    assert violations != numbers["whole"].loc[("NGRE", "swap"), "violations"]
    assert (whole.results["trials"] <= 500 + len(PROPERTIES)).all()


@pytest.mark.slow
def test_scale_of_labels_and_names_make_no_difference():
    """Only the order of grades matters to what is searched."""
    plain = check([TOMA, CAM, NLRE], {"relevance": 2, "credibility": 1}, trials=400)
    scales = Aspects({"a": Aspect([5, 7, 9], gains=[0, 1, 2]), "b": Aspect([1, 0], greater_is_better=False)})
    assert scales["b"].scale.gains.tolist() == [0, 1]
    turned = check([TOMA, CAM, NLRE], scales, trials=400)
    columns = ["verdict", "violations", "ties", "trials"]
    unscaled = ~plain.results["property"].str.startswith("D6")
    assert plain.results.loc[unscaled, columns].equals(turned.results.loc[unscaled, columns])


# -- aspects ----------------------------------------------------------------------------------------


def test_forms_of_aspects():
    named = Aspects(TWO, name="axioms-test")
    forms = (TWO, Aspects(TWO), named, "axioms-test")
    tables = [check(CAM, aspects, trials=50, properties=["D7", "swap"]).table for aspects in forms]
    assert all(table.equals(tables[0]) for table in tables)
    own = check(CAM(aspects={"x": 1, "y": 1, "z": 1}), trials=50, properties="swap")
    assert own.aspects == Aspects(TWO)
    some = check(WHAM(aspects="credibility,relevance"), {**TWO, "mood": 1}, trials=50, properties="D7")
    assert some.example(WHAM(aspects="credibility,relevance"), "D7").aspects == ("credibility", "relevance")


def test_one_aspect():
    outcome = check([TOMA, CAM, MM, WHAM], {"relevance": 3}, trials=500)
    assert outcome.table.loc["MM", ["D1", "D2", "D4", "D7", "D8"]].tolist() == ["holds", "holds", *["n/a"] * 3]
    assert outcome.table.loc["CAM", "1 attainable"] == "holds"
    assert set(outcome.table.loc["WHAM"]) == {"n/a"}
    assert "exactly two aspects" in outcome.results["reason"].iloc[-1]
    left_out = outcome.results[outcome.results["verdict"] == "n/a"]
    assert not left_out[["trials", "violations", "ties"]].to_numpy().any()


@pytest.mark.slow
def test_scaling():
    aspects = TOMA.order(UNEVEN).rescaled((2, 3)).aspects
    assert aspects["relevance"] == Aspect([0, 2, 6], gains=[0, 4, 14], probabilities=[0, 0.4, 1], threshold=6)
    assert aspects["credibility"] == Aspect([30, 60, 90], threshold=60, greater_is_better=False)
    tenths = Aspects({"x": [0, 0.1, 0.3], "y": 1})
    assert TOMA.order(tenths).rescaled((3, 1)).aspects["x"].grades == (0, 0.3, 0.9)
    probabilities = Aspects({name: Aspect([0, 0.25, 1], probabilities="identity") for name in TWO})
    assert check(uRBPgr, probabilities, trials=100).table.loc["uRBPgr", "D6"] == "fails"


@pytest.mark.slow
def test_three_aspects_and_six_documents():
    outcome = check([TOMA, NLRE, CAM], {**TWO, "mood": 1}, documents=6, trials=300)
    assert outcome.table.loc["TOMA", ["Eq. 1", "Eq. 4", "1 attainable", "swap"]].tolist() == ["holds"] * 4
    assert outcome.table.loc["NLRE", "D8"] == "fails"


# -- printing ---------------------------------------------------------------------------------------


SENTENCE = (
    "Ranks 1 and 2 are in the wrong order of credibility, in A at a higher relevance than in B. A should lose "
    "more, but A loses less."
)


def test_printed():
    assert analysis.axioms is axioms
    outcome = check([TOMA, uRBP], trials=100)
    assert "TOMA" in repr(outcome)
    assert "no parameter for the importance" in repr(outcome)
    html = outcome._repr_html_()
    assert html.count("<tr>") == 3
    assert html.count("<li>") == len(outcome.reasons()) > 0
    assert "no parameter for the importance" in html
    example = outcome.example(TOMA, "D4")
    assert [re.split("  +", line) for line in repr(example).splitlines()[:-2]] == [
        ["TOMA, D4: fails"],
        ["-" * 15],
        ["", "A", "B"],
        ["rank", "relevance", "credibility", "relevance", "credibility"],
        ["1", "1", "0", "0", "0"],
        ["2", "1", "1", "0", "1"],
        ["score", "0.7967", "0.6309"],
        ["in the right order", "1.0000", "1.0000"],
        ["loss", "0.2033", "0.3691"],
        [""],
    ]
    assert " ".join(repr(example).split()).endswith(SENTENCE)
    assert all(cell in example._repr_html_() for cell in (">0.7967</td>", ">A</th>", "TOMA, D4: fails"))
    heads = re.findall(r'<th class="([^"]*)">(?:relevance|credibility)<', example._repr_html_())
    assert heads == ["n side", "n"] * 2  # a line before each ranking
    assert outcome.example("TOMA", "Eq. 1") is None


# -- bad input --------------------------------------------------------------------------------------

BAD = [
    ({"measures": nDCG}, r"multi-aspect measure, got nDCG.*On\(aspect='credibility', base='nDCG'\)"),
    ({"measures": "map"}, "expected a multi-aspect measure, got AP"),
    ({"measures": nCRP}, "expected a multi-aspect measure, got nCRP"),
    ({"measures": 3}, "expected a measure"),
    ({"measures": "TOMAA"}, "unknown measure .*nearest names are TOMA"),
    ({"measures": []}, "expected at least one measure, got none"),
    ({"measures": CAM(base="P")}, "requires cutoff"),
    ({"properties": "D9"}, "properties: expected names .D1, D2.*, got D9"),
    ({"properties": ["D1", 3]}, "properties: expected names .*, got 3"),
    ({"properties": []}, "properties: expected names .*, got none"),
    ({"properties": 7}, "properties: expected names .*, got 7"),
    ({"properties": ["D1", "D4"], "aspects": {"relevance": 2}}, "aspects: expected 2 for D4, got only relevance"),
    ({"trials": 0}, "trials: expected a whole number"),
    ({"trials": 10.5}, "trials: expected a whole number"),
    ({"trials": True}, "trials: expected a whole number"),
    ({"seed": -1}, "seed"),
    ({"documents": 0}, "documents: expected a whole number"),
    ({"documents": 7}, "documents: expected at most 6, .* got 7"),
    ({"aspects": "relevance,credibility"}, "aspects: expected declared grades"),
    ({"aspects": None}, "aspects: expected declared grades"),
    ({"aspects": {"relevance": None, "credibility": 2}}, "expected declared grades, got none for relevance"),
    ({"aspects": 3}, r"aspects: expected .*, got 3"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_input(options, message):
    with pytest.raises(MultiAspectError, match=message):
        check(**{"measures": CAM, **options})


def test_bad_names_of_examples():
    outcome = check(CAM, properties="swap", trials=10)
    with pytest.raises(MultiAspectError, match=r"measure: expected one that was checked \(CAM\), got MM"):
        outcome.example(MM, "swap")
    with pytest.raises(MultiAspectError, match=r"property: expected one that was checked \(swap\), got D1"):
        outcome.example(CAM, "D1")


# -- the worlds that are tried ------------------------------------------------------------------------------------


def test_larger_errors_are_tried_in_all_chains_of_three_grades() -> None:
    """Chains of up to five documents, and all pairs of swaps that a measure should tell apart."""
    result = check([TOMA, CAM(base="P@5")], {"relevance": 2}, properties="D1")
    expected = sum(
        chain[i] > chain[j] > chain[k]
        for n in (3, 4, 5)
        for chain in itertools.combinations_with_replacement((2, 1, 0), n)
        for i, j, k in itertools.combinations(range(n), 3)
    )
    assert result.results["trials"].tolist() == [expected] * 2
    assert result.results["ties"].tolist() == [0, expected]
    example = result.example(CAM(base="P@5"), "D1")
    assert example.shown == (0, 1)
    assert "B swaps ranks 1 and 3 of the ideal ranking, A only ranks 1 and 2" in str(example)


def test_properties_without_worlds_have_no_trials() -> None:
    row = check(TOMA, properties="D1", documents=2).results.iloc[0]
    assert row[["verdict", "trials", "violations", "ties"]].tolist() == ["n/a", 0, 0, 0]


@pytest.mark.parametrize(
    "source", [Source(), Multisets(), Chains(), Alike()], ids=lambda source: type(source).__name__
)
def test_worlds_are_tried_once_and_counted_before(source: Source) -> None:
    worlds = source.all_worlds((2, 3), 3)
    assert len(np.unique(worlds, axis=0)) == len(worlds) == source.count((2, 3), 3)


def test_worlds_of_documents_with_one_label_alike_are_tried_once() -> None:
    """Those with equal labels on two aspects, too."""
    documents = itertools.product(range(2), range(3))
    expected = [
        world for world in itertools.product(documents, repeat=2)
        if any(first == second for first, second in zip(*world, strict=True))
    ]  # fmt: skip
    worlds = OneAlike().all_worlds((2, 3), 2)
    assert [tuple(map(tuple, world)) for world in worlds.tolist()] == expected
    assert len(worlds) < OneAlike().count((2, 3), 2)


def test_attainable_values_are_searched_in_fewer_of_the_larger_worlds() -> None:
    """All rankings of a world are evaluated, for other properties only two."""
    results = check(CAM, properties=["1 attainable", "swap", "D1"], trials=500).results.set_index("property")
    assert results["trials"].to_dict() == {"1 attainable": 481, "swap": 500, "D1": 500}
    assert results["complete"].to_dict() == {"1 attainable": 3, "swap": 2, "D1": 3}


def test_no_property_has_more_trials_than_asked_for() -> None:
    assert check(CAM, trials=1).results["trials"].max() == 1


def test_larger_differences_are_those_on_aspects_where_documents_differ() -> None:
    """Two documents with the grades 0 to 2: (1, 0) becomes (2, 0), and (2, 1) becomes (2, 0)."""
    assert check(TOMA, {"relevance": 2}, properties="D3", documents=2).results["trials"].item() == 2


def test_errors_at_higher_ranks_are_tried_from_three_documents() -> None:
    """Of the chains of three documents, only in 2 1 0 are the neighbours equally far apart."""
    result = check(TOMA, {"relevance": 2}, properties="D2", documents=3).results.iloc[0]
    assert result[["verdict", "trials", "complete"]].tolist() == ["holds", 1, 3]


def test_worlds_of_very_many_label_tuples() -> None:
    """Rankings of four of a million label tuples have no number of 62 bits that tells them apart."""
    outcome = check(CAM, {"relevance": 999, "credibility": 999}, properties="swap", documents=4, trials=40)
    assert outcome.results[["verdict", "trials"]].iloc[0].tolist() == ["holds", 40]
