"""D1–D8 and the claims of Maistro et al.: known verdicts, and counterexamples by the reference implementation."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference as ref

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    GAM,
    MM,
    NGRE,
    NLRE,
    NWCS,
    RBU,
    TOMA,
    WHAM,
    HarmfulCompat,
    HelpfulMinusHarmful,
    MeanOf,
    Order,
    uERR,
    unDCG,
    uRBP,
    uRBPgr,
)
from pt_multiaspect.measures import DirectMeasure
from pt_multiaspect.measures.parameters import ASPECTS

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.append(str(DOCS))

import axioms  # noqa: E402

TWO = ma.Aspects({"relevance": 2, "credibility": 2})
#: Harm is negative, and (1, 1) weighs less than (1, 0).
HARMFUL = Order(
    {(0, 0): 0, (0, 1): -1, (1, 0): 2, (1, 1): 1},
    {"relevance": 1, "credibility": 1},
    allow_violations=True,
)

KNOWN = {
    TOMA: {"D1": "holds", "D5": "holds", "Eq. 1": "holds", "Eq. 4": "holds", "1 attainable": "holds",
           "swap": "holds", "D2": "fails", "D6": "holds"},
    TOMA(axes="gains"): {"D6": "holds"},
    TOMA(distance="manhattan"): {"D2": "holds", "Eq. 1": "holds", "Eq. 4": "holds", "1 attainable": "holds"},
    TOMA(distance="chebyshev"): {"D7": "ties", "Eq. 1": "holds", "Eq. 4": "holds", "swap": "holds"},
    CAM: {"D1": "holds", "D2": "holds", "D4": "ties", "D6": "holds", "D7": "holds", "D8": "holds", "Eq. 4": "holds",
          "1 attainable": "fails", "swap": "holds"},
    CAM(base="P@5"): {"D1": "ties", "D2": "ties", "D7": "ties"},
    CAM(base="AP"): {"D2": "fails"},
    CAM(base="ERR"): {"D3": "fails", "D6": "fails"},
    MM: {"D7": "ties", "Eq. 4": "fails"},
    GAM: {"Eq. 4": "fails"},
    WHAM: {"D7": "ties"},
    NWCS: {"D1": "holds", "D2": "holds", "D4": "fails", "D6": "holds", "D7": "holds", "1 attainable": "holds"},
    NLRE: {"D1": "holds", "D2": "holds", "D3": "ties", "D4": "ties", "D7": "fails", "D8": "fails", "swap": "fails"},
    NGRE: {"D1": "holds", "D2": "holds", "D3": "ties", "D4": "ties", "D7": "fails", "D8": "holds", "swap": "fails"},
    uRBP: {"D8": "fails", "swap": "holds"},
    uRBPgr: {"D4": "holds", "D8": "fails", "swap": "holds"},
    unDCG: {"1 attainable": "holds"},
    uERR: {"D4": "holds"},
    # A document that repeats what is known adds less, so that ranking by labels alone is not best.
    RBU(p=0.5): {"D1": "holds", "D3": "fails", "swap": "holds", "1 attainable": "n/a"},
    MeanOf(["TOMA", "CAM"]): {"D1": "holds", "Eq. 1": "holds"},
}  # fmt: skip

#: Better alone, better higher, 1 attainable, as the page "The measures compared" shows them.
COMPARED = """
TOMA: holds holds holds
TOMA, gate: holds holds holds
CAM: holds holds fails
CAM, normalised: holds holds holds
MM: holds holds fails
WHAM: holds holds fails
GAM: holds holds fails
uRBP: holds holds fails
uRBPgr: holds holds fails
unDCG: holds holds holds
uERR: holds holds fails
NWCS: holds holds holds
NLRE: holds fails fails
NGRE: holds fails fails
RBU: holds holds n/a
MDCU: holds fails n/a
nMDCU: holds fails n/a
Subtopics, α-nDCG: holds holds n/a
Subtopics, nERR-IA: holds holds n/a
IRec: holds holds fails
DnDCG: holds holds holds
DSharpnDCG: holds holds fails
Subtopics, graded ERR-IA: holds holds fails
MeanOf: holds holds fails
HelpfulCompat: holds holds holds
HarmfulCompat: fails fails fails
HelpfulMinusHarmful: fails fails n/a
"""


def check(
    *measures: ma.Measure, names: Any = axioms.NAMES, aspects: ma.Aspects = TWO
) -> pd.DataFrame:
    found = axioms.check(
        {str(measure): measure(aspects=aspects) for measure in measures}, aspects, names
    )
    return found.set_index(["measure", "property"])


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return check(*KNOWN)


# -- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", KNOWN, ids=str)
def test_known_verdicts(found: pd.DataFrame, measure: ma.Measure) -> None:
    verdicts = found.loc[str(measure), "verdict"].to_dict()
    assert {name: verdicts[name] for name in KNOWN[measure]} == KNOWN[measure]


def test_all_are_defined_and_keep_the_partial_order(found: pd.DataFrame) -> None:
    table = found["verdict"].unstack()  # measures, properties
    # D5: the scores of all rankings are in the range of the measure.
    assert set(table["D5"]) == {"holds"}
    # Eq. 1: a document that is better on one aspect and worse on none scores no less alone.
    assert set(table["Eq. 1"]) == {"holds"}


def test_orders_with_harm() -> None:
    """An order may rank a document with better labels lower, as here a harmful one."""
    measures = {
        "TOMA": TOMA(order=HARMFUL),
        "HarmfulCompat": HarmfulCompat(order=HARMFUL),
        "HelpfulMinusHarmful": HelpfulMinusHarmful(order=HARMFUL),
    }
    names = ["Eq. 1", "Eq. 4", "1 attainable", "swap"]

    found = axioms.check(measures, HARMFUL.aspects, names)

    table = found.set_index(["measure", "property"])
    assert table.loc["TOMA", "verdict"].tolist() == ["fails", "holds", "holds", "fails"]
    assert table.loc[("HelpfulMinusHarmful", "1 attainable"), "verdict"] == "n/a"
    # The counterexample to "swap": the harmful labels (0, 1) are better than (0, 0) by aspect. Scores
    # are 1 - value, since lower values are better.
    example = table.loc[("HarmfulCompat", "swap"), "example"]
    harmful_first, harmful_second = [1 - score for score in example.values()]
    assert harmful_first == 1
    # HarmfulCompat sums overlaps Σ_k p^(k-1) / k = -ln(1 - p) / p over all depths k. A harmful
    # document at rank 2 lacks the first term, which is 1.
    p = 0.95
    all_terms = -np.log(1 - p) / p
    assert harmful_second == pytest.approx((all_terms - 1) / all_terms)


@pytest.mark.slow
def test_documents_that_are_better_alone_are_worse_in_rankings_of_four(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert check(CAM(base="AP"), names=["Eq. 4"])["verdict"].tolist() == ["holds"]
    monkeypatch.setattr(axioms, "MOST_RANKED", 4)
    monkeypatch.setattr(axioms, "MOST_IN_CHAIN", 4)
    assert check(CAM(base="AP"), names=["Eq. 4"])["verdict"].tolist() == ["fails"]


@pytest.mark.slow
def test_the_page_shows_these_verdicts() -> None:
    page = (DOCS / "measures_compared.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```{code-cell}\n:tags: \[hide-input\]\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    rows = names["compared"].set_index("measure")[list(names["PROPERTIES"])]
    shown = [
        f"{re.sub('<.*?>', '', name)}: {' '.join(verdicts)}"
        for name, *verdicts in rows.itertuples(name=None)
    ]
    assert shown == COMPARED.strip().splitlines()


# -- counterexamples, recomputed ------------------------------------------------------------------


def reference_margin(name: str, scores: list[float]) -> float:
    """Return by how much the scores of the rankings of a counterexample satisfy a property.

    Rankings are in pairs, of which the first should score higher (or for D4 and D8: by how much).
    """
    if name == "1 attainable":  # all orders of some documents
        return max(scores) - 1
    losses = [scores[i] - scores[i + 1] for i in range(0, len(scores), 2)]
    if name == "D6":  # a ranking, and the same with doubled labels
        return -abs(losses[0])
    if name == "D4":  # an error among good documents, and the same error among worse ones
        return losses[0] - losses[1]
    if name == "D8":  # two errors on different aspects; the same with a doubled weight of the first
        return losses[2] * losses[1] - losses[0] * losses[3]
    return losses[0]


def reference_score(measure: ma.Measure, ranking: Any) -> float:
    """The score of a ranking by the reference implementation."""
    factor = 2 if ranking.doubled == "labels" else 1
    scale = [factor * grade for grade in range(3)]
    aspects = {name: ref.RefAspect(scale, scale, [0, 0.5, 1], factor, True) for name in TWO}
    documents = [
        [factor * grade for grade in grades] for grades in ranking.ranked + ranking.unranked
    ]
    judgments = {
        f"d{at}": dict(zip(TWO, labels, strict=True)) for at, labels in enumerate(documents)
    }
    run = {f"d{at}": -float(at) for at in range(len(ranking.ranked))}
    doubled = ranking.doubled in TWO
    weights = {name: 2 if name == ranking.doubled else 1 for name in TWO} if doubled else None
    name = measure.NAME
    if name in ("CAM", "MM", "GAM", "WHAM", "TOMA"):
        base = measure["base"].one.measure
        params = dict(base.params)
        if name == "TOMA":
            distance, axes = measure["distance"], measure["axes"]
            return ref.toma(
                run, judgments, aspects, base.NAME, params, distance, weights, axes=axes
            )
        return getattr(ref, name.lower())(run, judgments, aspects, base.NAME, params, weights)
    if name in ("NLRE", "NGRE"):
        mu = {name: 1.0 if name == ranking.doubled else 0.5 for name in TWO}
        return getattr(ref, name.lower())(run, judgments, aspects, mu, 0.5)
    if name == "NWCS":
        return ref.nwcs(run, judgments, aspects, weights)
    return getattr(ref, name.lower())(run, judgments, aspects)


def test_counterexamples_by_the_reference(found: pd.DataFrame) -> None:
    """Rankings that show that a property fails, or ties, do so with the scores of the reference."""
    n_checked = 0
    for measure, name in itertools.product(KNOWN, axioms.NAMES):
        verdict, example = found.loc[(str(measure), name)]
        has_reference = measure.NAME not in ("RBU", "MeanOf")
        if not example or not has_reference:
            continue
        scores = [reference_score(measure, ranking) for ranking in example]
        assert scores == pytest.approx(list(example.values()), abs=1e-9), (measure, name)
        margin = reference_margin(name, scores)  # negative if the property fails
        if verdict == "fails":
            assert margin < -1e-9, (measure, name)
        else:
            assert abs(margin) <= 1e-9, (measure, name)
        if name == "Eq. 4":
            # It asks nothing of two documents unless the first scores no less alone.
            _, _, first_alone, second_alone = scores
            assert first_alone >= second_alone - 1e-9
        n_checked += 1
    assert n_checked > 60


def is_better(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return first != second and all(a >= b for a, b in zip(first, second, strict=True))


def breaks(name: str, measure: ma.Measure, world: tuple[tuple[int, int], ...]) -> bool:
    """Return whether some ranking of all documents of a world breaks a property, by trying all."""
    orders = set(itertools.permutations(world))
    score = {order: reference_score(measure, axioms.Ranking(order)) for order in orders}
    if name == "1 attainable":
        return 1e-9 < max(score.values()) < 1 - 1e-9
    for order in orders:
        for i, j in itertools.combinations(range(len(world)), 2):
            swapped = list(order)
            swapped[i], swapped[j] = order[j], order[i]
            if is_better(order[i], order[j]) and score[tuple(swapped)] > score[order] + 1e-9:
                return True
    return False


@pytest.mark.parametrize("name", ["1 attainable", "swap"])
def test_holds_is_what_trying_everything_says(name: str) -> None:
    """A property holds if no order of any one or two documents breaks it by the reference.

    If it fails, the documents of the counterexample break it, and no fewer documents do.
    """
    measures = [CAM, TOMA(distance="manhattan"), MM(base="AP"), NLRE, uRBP, NWCS]
    verdicts = check(*measures, names=[name])
    documents = list(itertools.product(range(3), repeat=2))  # pairs of grades
    worlds = [
        world for n in (1, 2) for world in itertools.combinations_with_replacement(documents, n)
    ]
    for measure in measures:
        verdict, example = verdicts.loc[(str(measure), name)]
        broken_sizes = [len(world) for world in worlds if breaks(name, measure, world)]
        if verdict == "holds":
            assert not broken_sizes
        else:
            first_ranking = next(iter(example))
            world = first_ranking.ranked
            assert breaks(name, measure, world)
            smallest = min(broken_sizes, default=3)  # three documents, if no fewer break it
            assert len(world) == smallest


# -- measures with faults -------------------------------------------------------------------------


class _Backwards(DirectMeasure):
    """Rewards worse documents."""

    __name__ = "Backwards"
    NAME = __name__
    SUPPORTED_PARAMS = {"aspects": ASPECTS}

    def score(self, rankings, views):
        return 1 - CAM(aspects=self["aspects"]).evaluate(rankings)


class _BeyondOne(_Backwards):
    """Twice a measure that attains its maximum of 1."""

    def score(self, rankings, views):
        return 2 * CAM(aspects=self["aspects"]).evaluate(rankings)


class _Chaotic(_Backwards):
    """Random, but the same for the same ranking."""

    def score(self, rankings, views):
        value = CAM(aspects=self["aspects"]).evaluate(rankings)
        return np.modf(np.sin(value.round(9) * 9e4) * 4e4)[0] ** 2


def test_a_measure_that_rewards_worse_documents_fails() -> None:
    names = ["D1", "D7", "Eq. 1", "swap", "1 attainable"]
    verdicts = check(_Backwards(), names=names)["verdict"]
    assert verdicts.tolist() == ["fails"] * 5


def test_a_measure_that_leaves_its_range_fails() -> None:
    # _BeyondOne is up to 2, and its range says up to 1. D5 asks that scores are in the range.
    (row,) = check(_BeyondOne(), names=["D5"]).to_dict("records")
    assert row["verdict"] == "fails"
    scores = list(row["example"].values())
    assert np.isnan(scores).all()  # the score of a value outside the range


def test_a_random_function_of_cam_has_two_properties_of_cam() -> None:
    verdicts = check(_Chaotic())["verdict"].droplevel("measure")
    # D5: scores are in the range. D6: doubled labels, which do not change CAM, do not change scores.
    assert verdicts[verdicts == "holds"].index.tolist() == ["D5", "D6"]


# -- the collections that are tried ---------------------------------------------------------------


#: The four documents of two aspects with the grades 0 and 1, and all rankings of up to three of them.
BINARY_DOCUMENTS = [(0, 0), (0, 1), (1, 0), (1, 1)]
BINARY_RANKINGS = [
    ranked for n in (1, 2, 3) for ranked in itertools.product(BINARY_DOCUMENTS, repeat=n)
]


@pytest.fixture(scope="module")
def binary_trials() -> dict[str, list[Any]]:
    """What is tried for each property, a tuple of rankings per trial, for two aspects with grades 0 and 1."""
    aspects = ma.Aspects({"relevance": 1, "credibility": 1})
    trials: dict[str, list[Any]] = {name: [] for name in axioms.NAMES}
    for name, rankings in axioms.all_trials(aspects):
        trials[name].append(tuple(rankings))
    return trials


def test_all_rankings_and_collections_are_tried(binary_trials: dict[str, list[Any]]) -> None:
    # D6 is tried for every ranking of one, two or three of the four documents.
    assert len(binary_trials["D6"]) == len(BINARY_RANKINGS) == 4 + 4**2 + 4**3
    # "1 attainable" is tried for every collection: multisets of one, two or three documents.
    assert len(binary_trials["1 attainable"]) == 4 + 10 + 20


def test_all_pairs_of_ranks_are_tried(binary_trials: dict[str, list[Any]]) -> None:
    n_pairs = 0
    n_better_first = 0  # the first document is better by aspect
    n_alike = 0  # and all documents have the same grade on one aspect
    for ranked in BINARY_RANKINGS:
        relevance = {document[0] for document in ranked}
        credibility = {document[1] for document in ranked}
        for first, second in itertools.combinations(ranked, 2):
            n_pairs += 1
            if is_better(first, second):
                n_better_first += 1
                n_alike += len(relevance) == 1 or len(credibility) == 1
    assert len(binary_trials["Eq. 4"]) == n_pairs
    assert len(binary_trials["swap"]) == len(binary_trials["Eq. 1"]) == n_better_first
    assert len(binary_trials["D7"]) == n_alike


def test_all_chains_are_tried(binary_trials: dict[str, list[Any]]) -> None:
    """A chain has up to five documents, of which none is worse on any aspect than the next one."""
    chains = []
    for n in range(1, 6):
        falling = list(itertools.combinations_with_replacement((1, 0), n))  # grades by rank
        for relevance, credibility in itertools.product(falling, repeat=2):
            chains.append(list(zip(relevance, credibility, strict=True)))
    # D1 compares three documents of a chain, each better than the next.
    n_triples = 0
    for chain in chains:
        for first, second, third in itertools.combinations(chain, 3):
            n_triples += is_better(first, second) and is_better(second, third)
    assert len(binary_trials["D1"]) == n_triples
    # D5 is tried for the chains of one to five equal documents, with four pairs of grades.
    assert len(binary_trials["D5"]) == 4 * 5


@pytest.mark.parametrize(
    "name", ["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "1 attainable", "swap"]
)
def test_nothing_is_tried_twice(name: str, binary_trials: dict[str, list[Any]]) -> None:
    trials = binary_trials[name]
    assert len(set(trials)) == len(trials)


def test_d3_compares_neighbours_that_differ_more() -> None:
    """D3: swapping two neighbours costs more if they differ by one more grade on one aspect."""
    chain = ((2, 1), (1, 0))
    upper_more_credible = ((2, 2), (1, 0))
    lower_less_relevant = ((2, 1), (0, 0))
    known_chains = {upper_more_credible, lower_less_relevant}
    trials = axioms.trials_of_neighbours(chain, 0, known_chains, ["relevance", "credibility"])
    # The second ranking of each trial has the other pair, swapped.
    assert {(name, rankings[1].ranked) for name, rankings in trials} == {
        ("D3", ((1, 0), (2, 2))),
        ("D3", ((0, 0), (2, 1))),
    }


def test_d4_compares_the_same_difference_at_a_lower_grade_of_the_other_aspect() -> None:
    """D4: swapping neighbours that differ on credibility costs more if both are more relevant."""
    relevant = ((2, 1), (2, 0))
    less_relevant = ((1, 1), (1, 0))
    trials = axioms.trials_of_neighbours(relevant, 0, {less_relevant}, ["relevance", "credibility"])
    rankings = dict(trials)["D4"]
    assert [ranking.ranked for ranking in rankings] == [
        relevant,
        relevant[::-1],
        less_relevant,
        less_relevant[::-1],
    ]


def test_d8_compares_the_same_difference_on_either_aspect() -> None:
    """D8: if credibility weighs more, swaps on credibility cost more in relation to those on relevance."""
    on_credibility = ((1, 1), (1, 0))
    on_relevance = ((2, 0), (1, 0))
    trials = axioms.trials_of_neighbours(
        on_credibility, 0, {on_relevance}, ["relevance", "credibility"]
    )
    rankings = dict(trials)["D8"]
    both_orders = [on_credibility, on_credibility[::-1], on_relevance, on_relevance[::-1]]
    # First with equal weights, then with the weight of credibility doubled.
    assert [ranking.ranked for ranking in rankings] == both_orders + both_orders
    assert [ranking.doubled for ranking in rankings] == [""] * 4 + ["credibility"] * 4


def test_errors_at_higher_ranks_are_tried_from_three_documents() -> None:
    """D2: swapping the upper two of three documents, at equal distances, costs more than the lower two."""
    equally_far_apart = ((2, 0), (1, 0), (0, 0))
    rankings = dict(axioms.trials_of_chain(equally_far_apart))["D2"]
    lower_two_swapped = ((2, 0), (0, 0), (1, 0))
    upper_two_swapped = ((1, 0), (2, 0), (0, 0))
    assert [ranking.ranked for ranking in rankings] == [lower_two_swapped, upper_two_swapped]

    unequally_far_apart = ((2, 0), (2, 0), (0, 0))
    assert "D2" not in dict(axioms.trials_of_chain(unequally_far_apart))
