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
    table = found["verdict"].unstack()
    assert set(table["D5"]) == {"holds"}
    assert set(table["Eq. 1"]) == {"holds"}


def test_orders_with_harm() -> None:
    measures = {
        kind.NAME: kind(order=HARMFUL) for kind in (TOMA, HarmfulCompat, HelpfulMinusHarmful)
    }
    names = ["Eq. 1", "Eq. 4", "1 attainable", "swap"]
    table = axioms.check(measures, HARMFUL.aspects, names).set_index(["measure", "property"])
    assert table.loc["TOMA", "verdict"].tolist() == ["fails", "holds", "holds", "fails"]
    assert table.loc[("HelpfulMinusHarmful", "1 attainable"), "verdict"] == "n/a"
    # Lower is better: a harmful document at rank 2 lacks the first term of Σ_k p^(k-1) / k = -ln(1
    # - p) / p.
    before, after = table.loc[("HarmfulCompat", "swap"), "example"].values()
    assert (1 - before, 1 - after) == (1, pytest.approx(1 + 0.95 / np.log(1 - 0.95)))


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

#: What the scores must be, of the rankings of a counterexample in their order: positive if the
#: property holds.
MARGINS = {
    "D1": lambda s: s[0] - s[1],
    "D2": lambda s: s[0] - s[1],
    "D3": lambda s: s[0] - s[1],
    "D4": lambda s: (s[0] - s[1]) - (s[2] - s[3]),
    "D6": lambda s: -abs(s[0] - s[1]),
    "D7": lambda s: s[0] - s[1],
    "D8": lambda s: (s[4] - s[5]) * (s[2] - s[3]) - (s[0] - s[1]) * (s[6] - s[7]),
    "Eq. 4": lambda s: s[0] - s[1],
    "1 attainable": lambda s: max(s) - 1,
    "swap": lambda s: s[0] - s[1],
}


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
    checked = 0
    for measure, name in itertools.product(KNOWN, axioms.NAMES):
        verdict, example = found.loc[(str(measure), name)]
        if not example or measure.NAME in ("RBU", "MeanOf"):
            continue
        scores = [reference_score(measure, ranking) for ranking in example]
        assert scores == pytest.approx(list(example.values()), abs=1e-9), (measure, name)
        margin = MARGINS[name](scores)
        assert margin < -1e-9 if verdict == "fails" else abs(margin) <= 1e-9, (measure, name)
        if name == "Eq. 4":
            assert scores[2] >= scores[3] - 1e-9
        checked += 1
    assert checked > 60


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
    """On all collections of up to two documents, and on those of the counterexamples."""
    measures = [CAM, TOMA(distance="manhattan"), MM(base="AP"), NLRE, uRBP, NWCS]
    found = check(*measures, names=[name])
    documents = list(itertools.product(range(3), repeat=2))
    worlds = [
        world for n in (1, 2) for world in itertools.combinations_with_replacement(documents, n)
    ]
    for measure in measures:
        verdict, example = found.loc[(str(measure), name)]
        broken = [len(world) for world in worlds if breaks(name, measure, world)]
        if verdict == "holds":
            assert not broken
            continue
        world = next(iter(example)).ranked
        assert breaks(name, measure, world)
        assert len(world) == min(broken, default=3)


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


def test_measures_with_faults() -> None:
    names = ["D1", "D7", "Eq. 1", "swap", "1 attainable"]
    assert check(_Backwards(), names=names)["verdict"].tolist() == ["fails"] * 5
    beyond = check(_BeyondOne(), names=["D5"]).iloc[0]
    assert beyond["verdict"] == "fails"
    assert np.isnan(list(beyond["example"].values())).all()
    verdicts = check(_Chaotic())["verdict"].droplevel("measure")
    # CAM of nDCG has these, and so have functions of it.
    assert verdicts[verdicts == "holds"].index.tolist() == ["D5", "D6"]


# -- the collections that are tried ---------------------------------------------------------------


def test_collections_and_rankings_are_all_tried() -> None:
    aspects = ma.Aspects({"relevance": 1, "credibility": 1})
    trials: dict[str, list[Any]] = {name: [] for name in axioms.NAMES}
    for name, rankings in axioms.all_trials(aspects):
        trials[name].append(tuple(rankings))
    documents = list(itertools.product(range(2), repeat=2))
    rankings = [ranked for n in (1, 2, 3) for ranked in itertools.product(documents, repeat=n)]
    chains = [
        tuple(zip(relevance, credibility, strict=True))
        for n in range(1, 6)
        for relevance in itertools.combinations_with_replacement((1, 0), n)
        for credibility in itertools.combinations_with_replacement((1, 0), n)
    ]
    assert len(trials["D6"]) == len(rankings) == 4 + 16 + 64
    assert len(trials["1 attainable"]) == 4 + 10 + 20
    assert len(trials["D5"]) == 4 * 5
    pairs = [
        (ranked, i, j)
        for ranked in rankings
        for i, j in itertools.combinations(range(len(ranked)), 2)
    ]
    assert len(trials["Eq. 4"]) == len(pairs)
    better = [(ranked, i, j) for ranked, i, j in pairs if is_better(ranked[i], ranked[j])]
    assert len(trials["swap"]) == len(trials["Eq. 1"]) == len(better)
    alike = [
        ranked
        for ranked, *_ in better
        if any(len({document[a] for document in ranked}) == 1 for a in (0, 1))
    ]
    assert len(trials["D7"]) == len(alike)
    larger = [
        chain
        for chain in chains
        for i, j, k in itertools.combinations(range(len(chain)), 3)
        if is_better(chain[i], chain[j]) and is_better(chain[j], chain[k])
    ]
    assert len(trials["D1"]) == len(larger)
    for name in ("D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "1 attainable", "swap"):
        assert len(set(trials[name])) == len(trials[name]), name


def test_errors_of_neighbours_are_those_of_the_definitions() -> None:
    chain = ((2, 1), (1, 0))
    known = {((2, 2), (1, 0)), ((2, 1), (0, 0))}
    differences = list(axioms.trials_of_neighbours(chain, 0, known, ["relevance", "credibility"]))
    assert {(name, rankings[1].ranked) for name, rankings in differences} == {
        ("D3", ((1, 0), (2, 2))),
        ("D3", ((0, 0), (2, 1))),
    }
    chain, lower, other = ((2, 1), (2, 0)), ((1, 1), (1, 0)), ((2, 0), (1, 0))
    trials = dict(axioms.trials_of_neighbours(chain, 0, {lower}, ["relevance", "credibility"]))
    assert [ranking.ranked for ranking in trials["D4"]] == [chain, chain[::-1], lower, lower[::-1]]
    chain, other = ((1, 1), (1, 0)), ((2, 0), (1, 0))
    trials = dict(axioms.trials_of_neighbours(chain, 0, {other}, ["relevance", "credibility"]))
    assert [ranking.ranked for ranking in trials["D8"]] == 2 * [
        chain,
        chain[::-1],
        other,
        other[::-1],
    ]
    assert [ranking.doubled for ranking in trials["D8"]] == [""] * 4 + ["credibility"] * 4


def test_errors_at_higher_ranks_are_tried_from_three_documents() -> None:
    """Of the chains of three documents of one aspect, only in 2 1 0 are the neighbours equally far apart."""
    trials = dict(axioms.trials_of_chain(((2, 0), (1, 0), (0, 0))))
    assert [ranking.ranked for ranking in trials["D2"]] == [
        ((2, 0), (0, 0), (1, 0)),
        ((1, 0), (2, 0), (0, 0)),
    ]
    assert "D2" not in dict(axioms.trials_of_chain(((2, 0), (2, 0), (0, 0))))
