"""Every kind of measure keeps its values: a guard for changes of structure.

Some 5000 values of small generated collections are stored in ``values.json`` and must be reproduced
to 1e-12. ``python tests/test_measure_lists.py`` adds those of new measures.
"""

from __future__ import annotations

import functools
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import reference

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, TOMA, WHAM, Aspect, Aspects, Judgments, On, Order
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.measures import ALL

pytestmark = pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")

PATH = Path(__file__).with_name("values.json")
NAMES = ("relevance", "credibility", "understandability")

GRADED = ("nDCG", "nDCG@2", "nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')@3", "ERR", "ERR@2")
BINARY = (
    "AP", "AP@3", "AP(rel=2)", "P@1", "P@3", "P(rel=2)@3", "R@3", "RR", "RR(rel=2)", "Rprec", "RBP(p=0.5)",
    "RBP(rel=1)@3", "Success@2", "SetP", "SetP(relative=True)", "SetR", "SetF(beta=0.5)", "SetAP",
)  # fmt: skip
#: Computed by ir-measures, on whole labels only.
FOREIGN = ("Bpref", "infAP", "Compat(p=0.8)", "IPrec@0.1", "nDCG(judged_only=True)")
OWN = (
    "CG@2", "DCG", "DCG(dcg='jarvelin')@3", "DCG(dcg='exp-log2')", "CRP", "CRP@2", "nCRP", "CRPRecovery", "ESL",
    "G", "RecallEffort(expected=2)", "RelativeRecall(expected=2)", "Satisfaction@3", "Frustration",
)  # fmt: skip
NEGATIVE = ("CRP", "CRP@2")
LOWER = ("ESL", "Frustration")


class Numbers:
    """A linear congruential generator, so that no library's generator is part of the guard."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, n: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % n


@dataclass(frozen=True)
class Kind:
    """The common properties of collections of one kind."""

    aspects: Aspects
    labels: tuple[tuple[float, ...], ...]
    whole: bool = True
    #: Whether the aspects' gains have the same span, so that TOMA's `axes` make no difference.
    equal: bool = True


NAN = float("nan")
KINDS = {
    "equal": Kind(Aspects(dict.fromkeys(NAMES, 2)), ((0, 1, 2, -1, NAN),) * 3),
    "unequal": Kind(
        Aspects(dict(zip(NAMES, (2, 3, 1), strict=True))),
        ((0, 1, 2, -1, NAN), (0, 1, 2, 3, -2, NAN), (0, 1, NAN)),
        equal=False,
    ),
    "declared": Kind(
        Aspects(
            {
                "relevance": Aspect([0, 1, 2], gains=[0, 1, 4], probabilities=[0, 1, 1]),
                "credibility": Aspect(
                    [0, 1, 2, 3], gains=[0, 0.5, 2, 4], probabilities=[0.1, 0.4, 0.8, 1], threshold=2
                ),
                "understandability": Aspect(
                    [1, 2, 3], gains=[4, 2, 0], probabilities=[1, 0.5, 0.2], greater_is_better=False
                ),
            }
        ),
        ((0, 1, 2, NAN), (0, 1, 2, 3, NAN), (1, 2, 3, NAN)),
        whole=False,
    ),
    "fractional": Kind(
        Aspects({"relevance": Aspect([0, 0.5, 1]), "credibility": Aspect([0, 1 / 3, 1]), "understandability": 1}),
        ((0, 0.5, 1, NAN), (0, 1 / 3, 1, NAN), (0, 1, NAN)),
        whole=False,
    ),
}  # fmt: skip
COLLECTIONS = (
    ("equal", 1),
    ("equal", 2),
    ("unequal", 3),
    ("declared", 4),
    ("declared", 5),
    ("fractional", 6),
)
N_QUERIES = 4


def toma(kind: Kind, **params: Any) -> ma.Measure:
    """TOMA on the original gains; with equal spans by default, if that has no effect."""
    return TOMA(aspects=kind.aspects, **params, **({} if kind.equal else {"axes": "gains"}))


#: Measures of which no value is stored: they read a column `known`, and have tests of their own.
WITHOUT_VALUES = {"CoverageRatio", "NoveltyRatio"}


def measures(kind: Kind) -> Iterator[tuple[str, ma.Measure]]:
    """The measures that are evaluated on a kind of collection, by unique labels: those listed, then all others."""
    yield from chosen_measures(kind)
    for measure in other_measures():
        yield from default_measures(measure, kind)


@functools.cache
def other_measures() -> list[ma.Measure]:
    """The measures of which no kind of collection has chosen parameters."""
    chosen = {
        f"{label} {measure}" for kind in KINDS.values() for label, measure in chosen_measures(kind)
    }
    return [measure for measure in ALL if not names(measure, chosen)]


def names(measure: ma.Measure, labels: Iterable[str]) -> bool:
    """Whether a label contains the name of a measure."""
    return any(re.search(rf"\b{measure.NAME}\b", label) for label in labels)


def default_measures(measure: ma.Measure, kind: Kind) -> Iterator[tuple[str, ma.Measure]]:
    """A measure with its default parameters, with and without a cutoff, and as a base if it can be one."""
    if measure.NAME in WITHOUT_VALUES:
        return
    required = [name for name, param in measure.SUPPORTED_PARAMS.items() if param.required]
    assert not required, (
        f"{measure.NAME} requires {required}: add it to `chosen_measures` in {__file__}"
    )
    at_ranks = [measure, measure @ 2] if measure.accepts_cutoff else [measure]
    for cut in at_ranks:
        if measure.SINGLE_ASPECT:
            yield f"On {cut}", On(aspect="credibility", base=cut, aspects=kind.aspects)
            yield f"CAM {cut}", CAM(base=cut, aspects=kind.aspects)
            yield f"TOMA {cut}", toma(kind, base=cut)
        elif not measure.SINGLE_ASPECT:
            yield str(cut), cut(aspects=kind.aspects) if "aspects" in cut.SUPPORTED_PARAMS else cut
        elif kind.whole:
            yield f"{cut} alone", cut


def chosen_measures(kind: Kind) -> Iterator[tuple[str, ma.Measure]]:
    """The measures with the parameters that are worth a guard, by unique labels."""
    aspects = kind.aspects
    bases = (*GRADED, *BINARY, *OWN, *(FOREIGN if kind.whole else ()))
    weights = dict(zip(NAMES, (1, 2, 0.5), strict=True))
    for base in bases:
        yield f"On {base}", On(aspect="credibility", base=base, aspects=aspects)
        yield f"CAM {base}", CAM(base=base, weights=weights, aspects=aspects)
        yield f"TOMA {base}", toma(kind, base=base)
        if base not in (*NEGATIVE, *LOWER):
            yield f"MM {base}", MM(base=base, empty="drop", aspects=aspects)
            yield f"GAM {base}", GAM(base=base, weights=weights, aspects=aspects)
    for base in ("nDCG", "nDCG@2", "P@3", "R@3", "Rprec", "RBP(p=0.5)", "SetR"):
        for empty in ("zero", "drop"):
            yield (
                f"CAM {base} normalized {empty}",
                CAM(base=base, normalized=True, empty=empty, aspects=aspects),
            )
    mixed = {"relevance": "nDCG@2", "credibility": "P@3", "understandability": "Rprec"}
    yield "CAM mixed normalized", CAM(base=mixed, normalized=True, weights=weights, aspects=aspects)
    for base in ("nDCG", "nDCG@2", "AP", "DCG@2", "CG@2", "CRP", "P@3"):
        for weighting in ("normalized", "exponential"):
            yield (
                f"TOMA {base} {weighting}",
                toma(kind, base=base, weighting=weighting, gate="relevance"),
            )
    for distance in ("manhattan", "chebyshev", 3, 2.5):
        for base in ("nDCG", "AP", "ERR@2"):
            yield (
                f"TOMA {base} {distance}",
                toma(kind, base=base, distance=distance, weights=weights),
            )
    for base in ("AP", "P(rel=2)@3", "nDCG"):
        yield f"TOMA {base} top-half", toma(kind, base=base, positives="top-half")
    two = {name: kind.aspects[name] for name in NAMES[:2]}
    yield "WHAM", WHAM(aspects=two)
    yield "NLRE mu nu", ma.NLRE(mu=1, nu=0.25, aspects=aspects)
    for s in (0.5, 3):
        yield f"unDCG {s}", ma.unDCG(s=s, aspects=aspects) @ 3
        yield f"uERR {s}", ma.uERR(s=s, aspects=aspects) @ 3
    yield "NWCS separate", ma.NWCS(ideal="separate", weights=weights, aspects=aspects) @ 3
    for measure in (ma.uRBP, ma.uRBPgr, ma.unDCG, ma.uERR, ma.NWCS, ma.NLRE, ma.NGRE):
        yield measure.NAME, measure(aspects=aspects)
        yield f"{measure.NAME} 2", measure(aspects=aspects) @ 2
    for measure in (ma.RBU(p=0.8), ma.RBU(p=0.5, effort=0.5, weights=weights) @ 3):
        yield f"{measure}", measure(aspects=aspects)
    for measure in (ma.MDCU @ 3, ma.nMDCU):
        named = measure(themes="credibility,understandability", usability="relevance", overlap=1.5)
        yield f"{measure}", named(aspects=aspects)
    for base in ("alpha_nDCG(alpha=0.3)", "alpha_nDCG@3", "alpha_DCG@3", "nERR_IA", "ERR_IA@2", "NRBP", "nNRBP",
                 "StRecall@2", "P_IA@3", "AP_IA"):  # fmt: skip
        yield f"Subtopics {base}", ma.Subtopics(base=base, aspects=aspects)
    yield (
        "Subtopics graded",
        ma.Subtopics(base="ERR_IA@3", graded=True, weights=weights, aspects=aspects),
    )
    for measure in (ma.IRec @ 2, ma.DnDCG @ 3, ma.DSharpnDCG(gamma=0.3)):
        yield f"{measure}", measure(weights=weights, aspects=aspects)
    yield (
        "MeanOf",
        ma.MeanOf({"MM(base='nDCG')": 1, "TOMA(base='AP',axes='gains')": 3}, aspects=aspects) @ 3,
    )
    if kind.whole:
        order = preferences()
        for measure in (ma.HelpfulCompat, ma.HarmfulCompat, ma.HelpfulMinusHarmful):
            yield measure.NAME, measure
            yield f"{measure.NAME} order", measure(order=order, p=0.8)
        for measure in (ma.CG, ma.DCG, ma.CRP @ 3, ma.nCRP, ma.ESL(wanted=2)):
            yield f"{measure} alone", measure


def preferences() -> Order:
    """An explicit order of relevance and credibility that punishes documents that are only relevant."""
    weights = {(r, c): r * c - (1 if r and not c else 0) for r in range(3) for c in range(4)}
    return Order(weights, ["relevance", "credibility"], allow_violations=True)


def collection(name: str, seed: int) -> Rankings:
    """A small run joined with judgments: ties, unjudged documents, a query that the run misses."""
    numbers, labels = Numbers(seed), KINDS[name].labels
    judged, run = [], []
    for query in range(N_QUERIES):
        for document in range(4 + numbers.below(6)):
            row = [grades[numbers.below(len(grades))] for grades in labels]
            judged.append((f"q{query}", f"d{document}", *row))
        for document in range(12) if query else ():
            if numbers.below(3):
                run.append((f"q{query}", f"d{document}", numbers.below(6) / 4))
    qrels = pd.DataFrame(judged, columns=["query_id", "doc_id", *NAMES])
    return Rankings(pd.DataFrame(run, columns=["query_id", "doc_id", "score"]), Judgments(qrels))


def compute(name: str, seed: int) -> dict[str, list[float]]:
    rankings = collection(name, seed)
    return {label: measure.evaluate(rankings).tolist() for label, measure in measures(KINDS[name])}


def stored() -> dict[str, dict[str, list[float]]]:
    """The values of the guard, by collection and label."""
    tables: dict[str, dict[str, list[float]]] = json.loads(PATH.read_text(encoding="utf-8"))
    return tables


def different(
    values: dict[str, list[float]], expected: dict[str, list[float]]
) -> dict[str, object]:
    """The values that are not those expected, by label."""
    return {
        label: (row, expected[label])
        for label, row in values.items()
        if label in expected and not np.allclose(row, expected[label], rtol=1e-12, atol=1e-12)
    }


def write(accept_changes: bool = False) -> list[str]:
    """Store the values of new labels; return the labels of changed values, which are stored only if accepted."""
    before = stored()
    lines, changed = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ma.MultiAspectWarning)
        for name, seed in COLLECTIONS:
            key, values = f"{name} {seed}", compute(name, seed)
            expected = before.get(key, {})
            changed |= set(different(values, expected))
            # Values that agree stay as they are, so that a difference in their last digit shows as
            # no change.
            kept = {
                label: row
                if label not in expected or (accept_changes and label in changed)
                else expected[label]
                for label, row in values.items()
            }
            rows = ",\n".join(
                f"{json.dumps(label)}:{json.dumps(row)}" for label, row in kept.items()
            )
            lines.append(f'"{key}":{{\n{rows}}}')
    PATH.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    return [] if accept_changes else sorted(changed)


@pytest.mark.parametrize(("name", "seed"), COLLECTIONS)
def test_values_are_those_of_the_guard(name: str, seed: int) -> None:
    expected, values = stored()[f"{name} {seed}"], compute(name, seed)
    assert list(values) == list(expected), (
        "values.json is out of date: run python tests/test_measure_lists.py"
    )
    assert different(values, expected) == {}


def test_the_guard_is_large() -> None:
    values = [value for table in stored().values() for row in table.values() for value in row]
    assert len(values) > 4500
    distinct_values = {round(value, 9) for value in values}
    assert len(distinct_values) > 1000


def test_the_guard_has_every_measure() -> None:
    labels = {label for table in stored().values() for label in table}
    not_stored = {measure.NAME for measure in ALL if not names(measure, labels)}
    assert not_stored == WITHOUT_VALUES


def test_new_values_are_added_and_changed_ones_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that are stored change only if that is accepted.

    In a copy of the values of one collection, those of uERR are missing, and those of uRBP are wrong.
    """
    original = stored()["fractional 6"]
    without_uerr = {label: row for label, row in original.items() if label != "uERR"}
    wrong = [0.25] * N_QUERIES
    path = tmp_path / "values.json"
    path.write_text(json.dumps({"fractional 6": {**without_uerr, "uRBP": wrong}}), encoding="utf-8")
    monkeypatch.setattr(f"{__name__}.PATH", path)
    monkeypatch.setattr(f"{__name__}.COLLECTIONS", [("fractional", 6)])

    assert write() == ["uRBP"]
    assert stored()["fractional 6"]["uRBP"] == wrong
    assert stored()["fractional 6"]["uERR"] == original["uERR"]

    assert write(accept_changes=True) == []
    assert stored()["fractional 6"]["uRBP"] == pytest.approx(original["uRBP"])


# AP of the ranking d0, d1 with the weights relevance 5, credibility 2 and trust 3:
# q1 has d0 positive on relevance and trust (AP 1), and d1 on credibility (AP 1/2);
# q2 is alike, without positive documents on relevance; q3 has one on relevance only, q4 none.
@pytest.mark.parametrize(
    ("mean", "by_reference", "expected"),
    [
        pytest.param(
            CAM,
            reference.cam,
            {"q1": (5 * 1 + 2 * 0.5 + 3 * 1) / 10, "q2": (2 * 0.5 + 3 * 1) / 5, "q3": 1, "q4": 0},
            id="CAM",
        ),
        pytest.param(
            MM,
            reference.mm,
            {
                "q1": 10 / (5 / 1 + 2 / 0.5 + 3 / 1),
                "q2": 5 / (2 / 0.5 + 3 / 1),
                "q3": 1,
                "q4": 0,
            },
            id="MM",
        ),
        pytest.param(
            GAM,
            reference.gam,
            {"q1": 0.5 ** (2 / 10), "q2": 0.5 ** (2 / 5), "q3": 1, "q4": 0},
            id="GAM",
        ),
    ],
)
def test_aspects_without_positive_labels_are_left_out(
    mean: Any, by_reference: Any, expected: dict[str, float]
) -> None:
    """With empty='drop', only aspects with a positive label on the topic count, by their weights."""
    aspects = ("relevance", "credibility", "trust")
    labels_by_rank = {
        "q1": [(1, 0, 1), (0, 1, 0)],
        "q2": [(0, 0, 1), (0, 1, 0)],
        "q3": [(1, 0, 0)],
        "q4": [(0, 0, 0)],
    }
    qrels: dict[str, Any] = {}
    run: dict[str, Any] = {}
    for qid, documents in labels_by_rank.items():
        qrels[qid] = {}
        run[qid] = {}
        for rank, labels in enumerate(documents):
            qrels[qid][f"d{rank}"] = dict(zip(aspects, labels, strict=True))
            run[qid][f"d{rank}"] = -float(rank)
    weights = {"relevance": 5, "credibility": 2, "trust": 3}

    measure = mean(base="AP", weights=weights, empty="drop", aspects=dict.fromkeys(aspects, 1))
    values = ma.evaluate({"run": run}, qrels, [measure], progress=False).set_index("qid")["value"]
    assert values.to_dict() == pytest.approx(expected, abs=1e-15)

    scales = {aspect: reference.ref_aspect([0, 1]) for aspect in aspects}
    for qid, value in expected.items():
        slow = by_reference(run[qid], qrels[qid], scales, "AP", weights=weights, empty="drop")
        assert slow == pytest.approx(value, abs=1e-15)
