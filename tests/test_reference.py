"""The reference implementation itself reproduces the published figures, hand-worked cases and ir-measures."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import random
import shutil
from collections.abc import Iterator
from typing import Any

import ir_measures
import pytest
from ir_measures import AP, ERR, RR, P, R, Rprec, SetAP, SetF, SetP, SetR, Success, nDCG
from reference import (
    RefAspect,
    as_float32,
    best_cam,
    c_gre,
    c_lre,
    cam,
    gam,
    gre,
    identity_aspect,
    inferred_aspect,
    largest_rank_error,
    lre,
    mm,
    ndcg,
    ngre,
    nlre,
    nwcs,
    on,
    ranking,
    ref_aspect,
    toma,
    toma_classes,
    toma_column,
    uerr,
    undcg,
    urbp,
    urbpgr,
    wham,
)
from shared_data import golden, shared_path


def run_of(*docnos: str) -> dict[str, float]:
    """A run that ranks the documents in this order."""
    return {docno: float(len(docnos) - i) for i, docno in enumerate(docnos)}


# -----------------------------------------------------------------------------------------------------------
# (a) TOMA: Tables 1 and 3 of Maistro et al.
# -----------------------------------------------------------------------------------------------------------

DISTANCES = {"EUCL": "euclidean", "MANH": "manhattan", "CHEB": "chebyshev"}
TABLE_3_LABELS = {
    "1": {"relevance": 1, "correctness": 2},
    "2": {"relevance": 3, "correctness": 1},
    "3": {"relevance": 3, "correctness": 0},
}
TABLE_3_ASPECTS = {
    "relevance": ref_aspect([0, 1, 2, 3]),
    "correctness": ref_aspect([0, 1, 2], gains=[0, 1.5, 3]),
}
TABLE_3_CAM_ASPECTS = {
    "relevance": ref_aspect([0, 1, 2, 3], gains=[0, 5, 10, 15], threshold=2),
    "correctness": ref_aspect([0, 1, 2], gains=[0, 5, 10], threshold=2),
}


@pytest.mark.parametrize("row", [1, 2, 3])
@pytest.mark.parametrize("distance", DISTANCES)
def test_toma_table_1_orders(row: int, distance: str) -> None:
    """The classes of tuples, from the best to the worst, as the file has them by the gains of the aspects."""
    entry = golden("toma_table1.json")[f"row{row}/{distance}"]
    gains = entry["embedding"]
    aspects = {
        aspect: ref_aspect(list(range(len(values))), gains=values)
        for aspect, values in gains.items()
    }
    order = toma_classes(aspects, DISTANCES[distance], gate="relevance", axes="gains")
    classes: list[set[tuple[float, float]]] = [set() for _ in range(order.n_classes)]
    for (r, c), class_index in order.index.items():
        classes[class_index].add((float(gains["relevance"][r]), float(gains["correctness"][c])))
    best_first = classes[::-1]
    expected = [
        {tuple(gains_of_tuple) for gains_of_tuple in group} for group in entry["classes_best_first"]
    ]
    assert best_first == expected
    assert order.n_classes == entry["n_classes"]
    ungated = toma_classes(aspects, DISTANCES[distance], axes="gains")
    assert ungated.n_classes == entry["n_classes_full_product"]


def test_toma_table_1_has_nine_orders() -> None:
    assert len(golden("toma_table1.json")) == 3 * len(DISTANCES)


@pytest.mark.parametrize("name", DISTANCES)
def test_toma_table_3_class_weights(name: str) -> None:
    """The class of each tuple, of which the file has keys such as "('3', '3/2')": grade and gain."""
    table = golden("toma_table3.json")
    order = toma_classes(TABLE_3_ASPECTS, DISTANCES[name], gate="relevance")
    gain_of_correctness = {0: "0", 1: "3/2", 2: "3"}
    class_by_key = {}
    for (relevance, correctness), class_index in order.index.items():
        key = str((str(relevance), gain_of_correctness[correctness]))
        class_by_key[key] = class_index
    assert class_by_key == table["class_weights"][name]
    assert order.n_classes == table["n_classes"][name]


@pytest.mark.parametrize("base", ["AP", "nDCG"])
def test_toma_table_3_cells(base: str) -> None:
    table = golden("toma_table3.json")
    printed, exact = table["paper"][base.upper()], table["oracle"][base.upper()]
    assert len(printed) == 15
    for order in printed:
        run = run_of(*order)
        for name, distance in DISTANCES.items():
            value = toma(
                run,
                TABLE_3_LABELS,
                TABLE_3_ASPECTS,
                base,
                distance=distance,
                positives="top-half",
                gate="relevance",
            )
            assert round(value, 4) == printed[order][name]
            assert value == pytest.approx(exact[order][name], abs=1e-12)
        value = cam(run, TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, base)
        assert round(value, 4) == printed[order]["CAM"]
        assert value == pytest.approx(exact[order]["CAM"], abs=1e-12)
        value = mm(run, TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, base)
        assert value == pytest.approx(exact[order]["MM"], abs=1e-12)
        assert wham(run, TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, base) == value


def test_the_non_zero_mm_cells_of_table_3_are_misprinted() -> None:
    """24 cells differ from MM, of which 22 are half of it, to the four decimals that are printed."""
    table = golden("toma_table3.json")
    bases = {"AP": "AP", "NDCG": "nDCG"}
    half_a_unit = 0.5e-4 + 1e-12
    n_differing, n_halves = 0, 0
    for base, cells_by_ranking in table["paper"].items():
        for docnos, cells in cells_by_ranking.items():
            value = mm(run_of(*docnos), TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, bases[base])
            if abs(value - cells["MM"]) > half_a_unit:
                n_differing += 1
            if value > 0 and abs(value / 2 - cells["MM"]) <= half_a_unit:
                n_halves += 1
    assert n_differing == len(table["not_reproduced"])
    assert n_differing == 24
    assert n_halves == 22


# -----------------------------------------------------------------------------------------------------------
# (b) uRBP and uRBPgr on CLEF eHealth 2015
# -----------------------------------------------------------------------------------------------------------

CLEF_2015 = {
    "relevance": ref_aspect([0, 1, 2], probabilities=[0, 1, 1]),
    "understandability": ref_aspect([0, 1, 2, 3], probabilities=[0, 0.4, 0.8, 1], threshold=2),
}
RELEVANCE = {"relevance": CLEF_2015["relevance"]}


def read_clef_2015(wanted_runs: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    judgments: dict[str, dict[str, dict[str, int]]] = {}
    for aspect, name in (
        ("relevance", "qrels.graded.txt.gz"),
        ("understandability", "qread.graded.txt.gz"),
    ):
        with gzip.open(shared_path("data", "clef2015", name), "rt") as lines:
            for line in lines:
                topic, _, docno, label = line.split()
                judgments.setdefault(topic, {}).setdefault(docno, {})[aspect] = int(label)
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in wanted_runs}
    with gzip.open(shared_path("data", "clef2015", "runs.top100.tsv.gz"), "rt") as lines:
        for line in lines:
            name, topic, rank, docno = line.rstrip("\n").split("\t")
            if name in runs:
                runs[name].setdefault(topic, {})[docno] = -float(rank)
    return judgments, runs


@pytest.mark.slow
def test_clef_2015() -> None:
    by_topic, means = golden("clef2015_topics.json")["runs"], golden("clef2015_runs.json")["runs"]
    others = sorted(name for name in means if means[name]["run_available"] and name not in by_topic)
    sample = random.Random(15).sample(others, 4)
    judgments, runs = read_clef_2015({*by_topic, *sample})
    assert len(judgments) == 66
    for name in (*by_topic, *sample):
        totals = [0.0, 0.0, 0.0]
        for topic in judgments:
            run = runs[name].get(topic, {})
            values = [
                urbp(run, judgments[topic], RELEVANCE, p=0.8),
                urbp(run, judgments[topic], CLEF_2015, p=0.8),
                urbpgr(run, judgments[topic], CLEF_2015, p=0.8),
            ]
            assert values[0] == pytest.approx(
                on(run, judgments[topic], CLEF_2015, "relevance", "RBP"), abs=1e-12
            )
            if name in by_topic:
                assert values == pytest.approx(by_topic[name][topic]["correct"], abs=1e-9), (
                    name,
                    topic,
                )
            totals = [total + value for total, value in zip(totals, values, strict=True)]
        expected = [means[name]["correct"][measure] for measure in ("RBP", "uRBP", "uRBPgr")]
        assert [total / 66 for total in totals] == pytest.approx(expected, abs=1e-9), name


# -----------------------------------------------------------------------------------------------------------
# (c) NLRE, NGRE, NWCS on A66
# -----------------------------------------------------------------------------------------------------------

A66 = {
    "relevance": ref_aspect([1, 2, 3, 4], threshold=3),
    "credibility": ref_aspect([1, 2, 3, 4], threshold=3),
}


def test_a66() -> None:
    figures = golden("a66.json")
    assert len(figures["rankings"]) == 100
    totals: dict[str, float] = {}
    for key, entry in figures["rankings"].items():
        docs = [f"d{i}" for i in range(5)]
        judgments = {
            doc: {"relevance": r, "credibility": c}
            for doc, r, c in zip(docs, entry["relevance"], entry["credibility"], strict=True)
        }
        run, upside_down = run_of(*docs), run_of(*reversed(docs))
        values = {
            "nlre_stable": nlre(run, judgments, A66),
            "ngre_stable": ngre(run, judgments, A66),
            "nwcs_joint": nwcs(run, judgments, A66),
            "nwcs_separate": nwcs(run, judgments, A66, ideal="separate"),
            "ndcg": on(run, judgments, A66, "relevance", "nDCG"),
            "ndcg_reversed": on(upside_down, judgments, A66, "relevance", "nDCG"),
            "ap": on(run, judgments, A66, "relevance", "AP"),
            "ap_reversed": on(upside_down, judgments, A66, "relevance", "AP"),
            "f1": on(run, judgments, A66, "credibility", "SetF"),
        }
        for name, value in values.items():
            assert value == pytest.approx(entry[name], abs=1e-9), (key, name)
            totals[name] = totals.get(name, 0.0) + value
    for name, total in totals.items():
        assert total / 100 == pytest.approx(figures["means"]["all100"][name], abs=1e-9), name
    assert round(totals["nwcs_separate"] / 100, 4) == 0.9413


def test_a66_labels_are_those_of_the_data() -> None:
    """A ranking is that of an assessor and a query; its labels are by rank."""
    with shared_path("data", "a66.csv").open() as lines:
        rows = sorted(csv.DictReader(lines), key=lambda row: int(row["rank"]))
    relevance: dict[str, list[int]] = {}
    credibility: dict[str, list[int]] = {}
    for row in rows:
        key = f"{row['assessor']}-{row['query']}"
        relevance.setdefault(key, []).append(int(row["relevance"]))
        credibility.setdefault(key, []).append(int(row["credibility"]))
    rankings = golden("a66.json")["rankings"]
    assert relevance == {key: entry["relevance"] for key, entry in rankings.items()}
    assert credibility == {key: entry["credibility"] for key, entry in rankings.items()}


# -----------------------------------------------------------------------------------------------------------
# (d) Manually computed cases
# -----------------------------------------------------------------------------------------------------------


def test_ranking_ties_by_docno_descending_in_float32() -> None:
    assert ranking({"d1": 1.0, "d3": 2.0, "d2": 1.0}) == ["d3", "d2", "d1"]
    # as doubles a is first, as single-precision numbers the two are equal
    assert ranking({"a": 1.00000001, "b": 1.0}) == ["b", "a"]
    assert ranking({"d10": 0.0, "d9": -0.0}) == ["d9", "d10"]
    assert ranking({"a": 1e39, "b": 2e38}) == ["a", "b"]
    with pytest.raises(ValueError, match="NaN"):
        ranking({"a": math.nan})


def test_aspect_defaults() -> None:
    """Gains are the grades, probabilities fractions of the highest, and the threshold the second grade."""
    aspect = ref_aspect([0, 1, 2])
    assert aspect.grades == [0, 1, 2]
    assert aspect.gains == [0, 1, 2]
    assert aspect.probabilities == [0, 0.5, 1]
    assert aspect.threshold == 1
    assert aspect.greater_is_better
    assert ref_aspect([7]) == RefAspect(
        grades=[7], gains=[7], probabilities=[0], threshold=None, greater_is_better=True
    )


def test_aspect_defaults_where_lower_is_better() -> None:
    """Readability from 0, easy, to 10, hard: the worst grade is 10 and has the gain 0."""
    assert ref_aspect([0, 5, 10], greater_is_better=False) == RefAspect(
        grades=[10, 5, 0],
        gains=[0, 5, 10],
        probabilities=[0, 0.5, 1],
        threshold=5,
        greater_is_better=False,
    )


def test_inferred_grades() -> None:
    """0 to the highest label if labels are whole, and else the labels; negative ones are junk."""
    assert inferred_aspect([-2, 0, 3, None, math.nan, 1.0]).grades == [0, 1, 2, 3]
    assert inferred_aspect([0.5, 0.0, 1.0]).grades == [0, 0.5, 1]
    assert inferred_aspect([-1, None]).grades == [0]


def test_labels_off_the_scale() -> None:
    """Between or above the grades they are errors; below, they are the lowest grade."""
    aspects = {"a": ref_aspect([0, 1, 3])}
    for label in (2, 4):
        with pytest.raises(ValueError, match=f"label {label}"):
            on(run_of("d"), {"d": {"a": label}}, aspects, "a")
    judgments = {"d": {"a": -2}, "e": {"a": 3}}
    ndcg_of_second = (0 + 3 / math.log2(3)) / 3
    assert on(run_of("d", "e"), judgments, aspects, "a") == pytest.approx(ndcg_of_second)


LOG_3, LOG_5 = math.log2(3), math.log2(5)


@pytest.mark.parametrize(
    ("base", "params", "expected"),
    [
        # Gains at ranks 1 to 5: 0 2 0 1 0; those of the ideal: 2 1 1.
        ("nDCG", {}, (2 / LOG_3 + 1 / LOG_5) / (2 + 1 / LOG_3 + 1 / 2)),
        ("nDCG", {"cutoff": 2}, (2 / LOG_3) / (2 + 1 / LOG_3)),
        # 2^2 - 1 = 3 instead of 2; then 5 instead of 2.
        ("nDCG", {"dcg": "exp-log2"}, (3 / LOG_3 + 1 / LOG_5) / (3 + 1 / LOG_3 + 1 / 2)),
        ("nDCG", {"gains": {2: 5}}, (5 / LOG_3 + 1 / LOG_5) / (5 + 1 / LOG_3 + 1 / 2)),
        # Relevant documents are at ranks 2 and 4, of three that are judged.
        ("AP", {}, (1 / 2 + 2 / 4) / 3),
        ("AP", {"cutoff": 3}, (1 / 2) / 3),
        ("AP", {"rel": 2}, 1 / 2),  # of one document
        ("P", {"cutoff": 10}, 2 / 10),
        ("R", {"cutoff": 2}, 1 / 3),
        ("RR", {}, 1 / 2),
        ("RR", {"cutoff": 1}, 0),
        ("Rprec", {}, 1 / 3),
        ("RBP", {"p": 0.5}, (1 - 0.5) * (0.5**1 + 0.5**3)),
        ("RBP", {"p": 0.5, "cutoff": 3}, (1 - 0.5) * 0.5**1),
        # The user stops with the probability 3/4 at rank 2, and 1/4 at rank 4 if still there.
        ("ERR", {}, (3 / 4) / 2 + (1 / 4) * (1 / 4) / 4),
        ("Success", {"cutoff": 1}, 0),
        ("Success", {"cutoff": 2}, 1),
        # Of five documents retrieved and three relevant, two are both.
        ("SetP", {}, 2 / 5),
        ("SetP", {"relative": True}, 2 / 3),
        ("SetR", {}, 2 / 3),
        ("SetF", {}, 2 * 2 / (5 + 3)),
        ("SetF", {"beta": 3}, 4 * (2 / 5) * (2 / 3) / (2 / 3 + 3 * 2 / 5)),
        ("SetAP", {}, 2 / 5 * 2 / 3),
    ],
)
def test_on_by_hand(base: str, params: dict[str, Any], expected: float) -> None:
    aspects = {"a": ref_aspect([0, 1, 2])}
    judgments = {"d1": {"a": 2}, "d2": {"a": 0}, "d3": {"a": 1}, "d4": {"a": 1}, "d5": {"a": None}}
    run = run_of("d5", "d1", "d2", "d3", "x")
    assert on(run, judgments, aspects, "a", base, params) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("base", "params"),
    [
        ("nDCG", {}),
        ("AP", {}),
        ("P", {"cutoff": 3}),
        ("RR", {}),
        ("RBP", {}),
        ("ERR", {}),
        ("SetF", {}),
    ],
)
def test_an_empty_ranking_is_worth_nothing(base: str, params: dict[str, Any]) -> None:
    judgments = {"d": {"a": 1, "b": 1}}
    aspects = {"a": ref_aspect([0, 1]), "b": ref_aspect([0, 1])}
    assert on({}, judgments, aspects, "a", base, params) == 0
    assert cam({}, judgments, aspects, base, params) == 0
    assert mm({}, judgments, aspects, base, params) == 0
    assert toma({}, judgments, aspects, base, params) == 0
    for measure in (urbp, urbpgr, undcg, uerr, nwcs, nlre, ngre):
        assert measure({}, judgments, aspects) == 0
    assert toma(run_of("x"), {}, aspects, base, params) == 0


def test_toma_classes_of_tenths_are_exact() -> None:
    """Sums of three of 0, 0.1, 0.2 and 0.3 are the ten values 0, 0.1, …, 0.9, but more as floats."""
    tenths = [0, 0.1, 0.2, 0.3]
    aspects = {name: ref_aspect(tenths) for name in "abc"}
    assert toma_classes(aspects, "manhattan").n_classes == 10
    sums_of_floats = {a + b + c for a, b, c in itertools.product(tenths, repeat=3)}
    assert len(sums_of_floats) > 10


def test_toma_classes_of_weighted_tenths_are_exact() -> None:
    """With the weight 3, a step of a is exactly three steps of b: distances 0 to 12 tenths."""
    aspects = {name: ref_aspect([0, 0.1, 0.2, 0.3]) for name in "ab"}
    order = toma_classes(aspects, 1, weights={"a": 3})
    assert order.index[0.2, 0.3] == order.index[0.3, 0]
    assert order.n_classes == 3 * 3 + 3 + 1


def test_toma_classes_of_half_powers_are_exact() -> None:
    """Sums of square roots of 0, 1, 2, 3 differ for each choice of grades, in any order."""
    two = {name: ref_aspect([0, 1, 2, 3]) for name in "ab"}
    n_pairs = math.comb(4 + 1, 2)  # with repetition
    assert toma_classes(two, 0.5).n_classes == n_pairs == 10
    three = {name: ref_aspect([0, 0.1, 0.2, 0.3]) for name in "abc"}
    n_triples = math.comb(4 + 2, 3)
    assert toma_classes(three, 0.5).n_classes == n_triples == 20


def test_toma_classes_of_named_powers() -> None:
    aspects = {name: ref_aspect([0, 0.1, 0.2, 0.3]) for name in "abc"}
    assert toma_classes(aspects, 2.0) == toma_classes(aspects, "euclidean")
    assert toma_classes(aspects, math.inf) == toma_classes(aspects, "chebyshev")


def test_an_aspect_of_one_grade_has_one_class() -> None:
    assert toma_classes({"a": ref_aspect([3])}).n_classes == 1


#: Grades 0 to 2 of a, and 0 to 1 of b.
TWO_ASPECTS = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1])}


def test_toma_distances_on_equal_axes_by_hand() -> None:
    """With the grades 0 to 2 of a and 0, 1 of b, tuples are at (a/2, b), and the best one at (1, 1)."""
    order = toma_classes(TWO_ASPECTS)
    assert order.index == {
        (0, 0): 0,  # √2 from the best
        (1, 0): 1,  # √1.25
        (0, 1): 2,  # 1
        (2, 0): 2,  # 1
        (1, 1): 3,  # 1/2
        (2, 1): 4,
    }
    assert order.normalized[1, 0] == pytest.approx(1 - math.sqrt(1.25) / math.sqrt(2))


def test_toma_distances_on_axes_of_gains_by_hand() -> None:
    """With the grades 0 to 2 of a and 0, 1 of b, the best tuple is at (2, 1)."""
    order = toma_classes(TWO_ASPECTS, axes="gains")
    assert order.index == {
        (0, 0): 0,  # √5 from the best
        (0, 1): 1,  # 2
        (1, 0): 2,  # √2
        (2, 0): 3,  # 1
        (1, 1): 3,  # 1
        (2, 1): 4,
    }
    assert order.distances[1, 0] == pytest.approx(math.sqrt(2))
    assert order.normalized[1, 0] == pytest.approx(1 - math.sqrt(2) / math.sqrt(5))


def test_toma_distances_with_a_gate_by_hand() -> None:
    """(0, 1) is impossible, as the lowest grade of a closes the gate."""
    order = toma_classes(TWO_ASPECTS, gate="a", axes="gains")
    assert order.index == {(0, 0): 0, (1, 0): 1, (2, 0): 2, (1, 1): 2, (2, 1): 3}


TOMA_JUDGMENTS = {
    "d1": {"a": 0, "b": 1},  # class 1 of the classes 0 to 4
    "d2": {"a": 2, "b": None},  # class 3, as (2, 0)
    "d3": {"a": 2, "b": 1},  # class 4
    "d4": {"a": -1, "b": -2},  # class 0, as (0, 0)
}
#: At ranks 1 to 4, with the classes 1, 0, 3, 0; those of the ideal are 4, 3, 1.
TOMA_RUN = run_of("d1", "x", "d2", "d4")


def gain_toma(*arguments: Any, **options: Any) -> float:
    """Return TOMA of this run on axes as long as the gains; arguments are the base and its parameters."""
    return toma(TOMA_RUN, TOMA_JUDGMENTS, TWO_ASPECTS, *arguments, axes="gains", **options)


def test_toma_over_ndcg_by_hand() -> None:
    """The run has documents of the classes 1, 0, 3 and 0, and the ideal 4, 3 and 1."""
    assert gain_toma() == pytest.approx((1 + 3 / 2) / (4 + 3 / LOG_3 + 1 / 2))
    # With the gate, d1 has class 0, d2 class 2, and d3 class 3.
    assert gain_toma(gate="a") == pytest.approx((2 / 2) / (3 + 2 / LOG_3))


def test_toma_over_ndcg_with_other_weights_of_classes_by_hand() -> None:
    """The run has documents of the classes 1, 0, 3 and 0, and the ideal 4, 3 and 1."""
    # 2^1 - 1, 2^3 - 1 and 2^4 - 1
    exponential = (1 + 7 / 2) / (15 + 7 / LOG_3 + 1 / 2)
    assert gain_toma(weighting="exponential") == pytest.approx(exponential)
    # 1 - distance / √5, with the distances 2, 1 and 0
    w1, w3, w4 = 1 - 2 / math.sqrt(5), 1 - 1 / math.sqrt(5), 1
    normalized = (w1 + w3 / 2) / (w4 + w3 / LOG_3 + w1 / 2)
    assert gain_toma(weighting="normalized") == pytest.approx(normalized)


def test_toma_over_binary_bases_by_hand() -> None:
    """The run has documents of the classes 1, 0, 3 and 0; the document of class 4 is not retrieved."""
    # Classes above 0 are positive: at ranks 1 and 3, of three documents.
    assert gain_toma("AP") == pytest.approx((1 / 1 + 2 / 3) / 3)
    # The best three of five classes are positive: at rank 3, of two documents.
    assert gain_toma("AP", positives="top-half") == pytest.approx((1 / 3) / 2)
    assert gain_toma("AP", {"rel": 4}) == 0
    assert gain_toma("RR", {"rel": 3}) == pytest.approx(1 / 3)


def test_toma_over_err_by_hand() -> None:
    """The run has documents of the classes 1, 0, 3 and 0, of five classes."""
    # The user stops at class c with the probability (2^c - 1) / 2^4.
    stops_at_1, stops_at_3 = 1 / 16, 7 / 16
    assert gain_toma("ERR") == pytest.approx(stops_at_1 / 1 + (1 - stops_at_1) * stops_at_3 / 3)


def test_toma_has_no_gains_of_labels() -> None:
    with pytest.raises(ValueError, match="gains"):
        gain_toma("nDCG", {"gains": {1: 5}})


def test_toma_on_one_aspect_equals_the_base_only_where_weights_are_proportional() -> None:
    judgments = {"d1": {"a": 1}, "d3": {"a": 3}}
    run = run_of("d1", "d3")
    uneven, even = {"a": ref_aspect([0, 1, 3])}, {"a": ref_aspect([0, 1, 2, 3])}
    assert round(on(run, judgments, uneven, "a"), 3) == 0.797
    assert round(toma(run, judgments, uneven), 3) == 0.860
    assert toma(run, judgments, uneven, weighting="normalized") == pytest.approx(
        on(run, judgments, uneven, "a")
    )
    assert toma(run, judgments, even) == pytest.approx(on(run, judgments, even, "a"), abs=1e-12)
    scaled = {"a": ref_aspect([0, 5, 10, 15])}
    fives = {"d1": {"a": 5}, "d3": {"a": 15}}
    assert toma(run, fives, scaled) == pytest.approx(on(run, fives, scaled, "a"), abs=1e-12)


@pytest.mark.slow
def test_many_classes_do_not_overflow_with_exponential_weights() -> None:
    """The weights 2^2999 - 1 and 2^2998 - 1 exceed all floats; that of e is half of that of d."""
    aspects = {"a": ref_aspect(list(range(3000)))}
    judgments = {"d": {"a": 2999}, "e": {"a": 2998}}
    value = toma(run_of("e", "d"), judgments, aspects, weighting="exponential")
    weight_of_d, weight_of_e = 1, 1 / 2
    dcg = weight_of_e + weight_of_d / LOG_3
    ideal_dcg = weight_of_d + weight_of_e / LOG_3
    assert value == pytest.approx(dcg / ideal_dcg)


BINARY_ASPECTS = {"a": ref_aspect([0, 1]), "b": ref_aspect([0, 1])}
#: d1 is positive on a, and d2 on b.
BINARY_JUDGMENTS = {"d1": {"a": 1, "b": 0}, "d2": {"a": 0, "b": 1}}


def test_cam_mm_gam_by_hand() -> None:
    """RR is 1 on a and 1/2 on b."""
    world = (run_of("d1", "d2"), BINARY_JUDGMENTS, BINARY_ASPECTS, "RR")
    assert cam(*world) == (1 + 1 / 2) / 2
    assert mm(*world) == pytest.approx(2 / (1 / 1 + 1 / (1 / 2)))
    assert gam(*world) == pytest.approx(math.sqrt(1 * 1 / 2))
    weights = {"a": 3, "b": 1}
    assert cam(*world, weights=weights) == pytest.approx((3 * 1 + 1 / 2) / 4)
    assert mm(*world, weights=weights) == pytest.approx(4 / (3 / 1 + 1 / (1 / 2)))
    assert gam(*world, weights=weights) == pytest.approx((1**3 * 1 / 2) ** (1 / 4))


def test_mm_and_gam_are_0_if_an_aspect_of_positive_weight_is_0() -> None:
    world = (run_of("d1"), BINARY_JUDGMENTS, BINARY_ASPECTS, "RR")  # RR is 1 on a and 0 on b
    assert mm(*world) == gam(*world) == 0
    assert mm(*world, weights={"a": 1, "b": 0}) == 1


def test_cam_mm_gam_of_a_query_without_positive_labels_of_an_aspect() -> None:
    """The aspect counts as 0, or is dropped."""
    judgments = {"d1": {"a": 1, "b": 0}, "d2": {"a": 0, "b": 0}}
    run = run_of("d1", "d2")
    assert cam(run, judgments, BINARY_ASPECTS, "RR") == (1 + 0) / 2
    assert mm(run, judgments, BINARY_ASPECTS, "RR") == 0
    for measure in (cam, mm, gam):
        assert measure(run, judgments, BINARY_ASPECTS, "RR", empty="drop") == 1
        assert measure(run, {}, BINARY_ASPECTS, "RR", empty="drop") == 0


def test_cam_of_a_base_per_aspect_by_hand() -> None:
    """nDCG@1 is 1 on a, and one of two documents is positive on b."""
    bases = {"a": ("nDCG", {"cutoff": 1}), "b": "SetP"}
    assert cam(run_of("d1", "d2"), BINARY_JUDGMENTS, BINARY_ASPECTS, bases) == (1 + 1 / 2) / 2


def test_errors_of_means() -> None:
    run = run_of("d1", "d2")
    with pytest.raises(ValueError, match="zero"):
        cam(run, BINARY_JUDGMENTS, BINARY_ASPECTS, "RR", weights={"a": 0, "b": 0})
    three = {**BINARY_ASPECTS, "c": ref_aspect([0, 1])}
    with pytest.raises(ValueError, match="two"):
        wham(run, BINARY_JUDGMENTS, three, "RR")


def test_the_best_cam_of_ap_is_not_that_of_sorting() -> None:
    """Sorting by the sum of weight · gain / number of positive documents: d1 has .34, the others .33."""
    judgments = {"d1": {"a": 0, "b": 1}, "d2": {"a": 1, "b": 0}, "d3": {"a": 1, "b": 0}}
    weights = {"a": 0.66, "b": 0.34}
    world = (judgments, BINARY_ASPECTS, "AP")
    sorted_value = cam(run_of("d1", "d2", "d3"), *world, weights=weights)
    assert sorted_value == pytest.approx(0.66 * (1 / 2 + 2 / 3) / 2 + 0.34 * 1)  # 0.725
    best_value = cam(run_of("d2", "d3", "d1"), *world, weights=weights)
    assert best_value == pytest.approx(0.66 * (1 + 1) / 2 + 0.34 * 1 / 3)  # 0.773
    assert best_cam(*world, weights=weights) == pytest.approx(best_value)


def test_normalized_cam() -> None:
    """No ranking of Table 3 has CAM 1, but the best one, d1 d2 d3, has normalised CAM 1."""
    world = (TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, "nDCG")
    assert cam(run_of("1", "2", "3"), *world) < 0.91
    normalized = [
        cam(run_of(*docnos), *world, normalized=True) for docnos in itertools.permutations("123")
    ]
    assert max(normalized) == 1
    nothing_positive = {"d": {"a": 0, "b": 0}}
    assert cam(run_of("d"), nothing_positive, BINARY_ASPECTS, "nDCG", normalized=True) == 0


def gains_and_norm(
    labels: dict[str, int], aspect: RefAspect, base: str, cutoff: int
) -> tuple[dict[str, int], float]:
    """Return the gain of each document, and what a base divides their discounted sum by."""
    if base == "nDCG":
        best_gains = sorted(labels.values(), reverse=True)[:cutoff]
        ideal_dcg = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best_gains, 1))
        return labels, ideal_dcg
    is_positive = {docno: int(label >= aspect.threshold) for docno, label in labels.items()}
    if base == "R":
        return is_positive, sum(is_positive.values())
    return is_positive, 1


@pytest.mark.slow
@pytest.mark.parametrize("base", ["nDCG", "RBP", "P", "R"])
def test_normalized_cam_of_linear_bases_is_reached_by_sorting(base: str) -> None:
    """The best ranking is by the sum over aspects of weight · gain / norm."""
    rng = random.Random(3)
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1, 2, 3])}
    for _ in range(25):
        judgments = {f"d{i}": {"a": rng.randint(0, 2), "b": rng.randint(0, 3)} for i in range(5)}
        weights = {"a": rng.random() + 0.01, "b": rng.random() + 0.01}
        cutoff = rng.choice([1, 2, 3, 5])
        score = dict.fromkeys(judgments, 0.0)
        for name, aspect in aspects.items():
            labels = {docno: judgments[docno][name] for docno in judgments}
            gains, norm = gains_and_norm(labels, aspect, base, cutoff)
            if norm == 0:
                continue
            for docno, gain in gains.items():
                score[docno] += weights[name] * gain / norm
        # An order and not the scores, which might tie as 32-bit floats.
        run = run_of(*sorted(score, key=score.get, reverse=True))
        value = cam(run, judgments, aspects, base, {"cutoff": cutoff}, weights)
        best = best_cam(judgments, aspects, base, {"cutoff": cutoff}, weights)
        assert value == pytest.approx(best, abs=1e-12)


GAIN_JUDGMENTS = {
    "d1": {"relevance": 2, "understandability": 1},  # not understandable; probability .4
    "d2": {"relevance": 0, "understandability": 3},  # not relevant
    "d3": {"relevance": 1, "understandability": 2},  # understandable; probability .8
    "d4": {"relevance": 1},  # understandability unjudged: lowest grade
    "d5": {"relevance": 1, "understandability": 3},  # not retrieved; probability 1
}
GAIN_RUN = run_of("d1", "d2", "d3", "d4", "x")


def test_urbp_by_hand() -> None:
    """With p = 0.5, the ranks of d1, d2, d3, d4 and x have the weights 1/2, 1/4, 1/8, 1/16, 1/32."""
    # d3 alone is relevant and understandable; the probabilities of d1 and d3 are .4 and .8.
    assert urbp(GAIN_RUN, GAIN_JUDGMENTS, CLEF_2015, p=0.5) == pytest.approx(1 / 8)
    # d1, d3 and d4 are relevant.
    of_relevance = 1 / 2 + 1 / 8 + 1 / 16
    assert urbp(GAIN_RUN, GAIN_JUDGMENTS, RELEVANCE, p=0.5) == pytest.approx(of_relevance)
    graded = urbpgr(GAIN_RUN, GAIN_JUDGMENTS, CLEF_2015, p=0.5)
    assert graded == pytest.approx(0.4 * 1 / 2 + 0.8 * 1 / 8)
    graded_at_2 = urbpgr(GAIN_RUN, GAIN_JUDGMENTS, CLEF_2015, p=0.5, cutoff=2)
    assert graded_at_2 == pytest.approx(0.4 * 1 / 2)


def test_urbpgr_of_a_column_of_probabilities_by_hand() -> None:
    aspects = {"p": identity_aspect()}
    judgments = {"d": {"p": 0.25}, "e": {"p": 0.5}}
    value = urbpgr(run_of("d", "e", "x"), judgments, aspects, p=0.5)
    assert value == pytest.approx(0.25 * 1 / 2 + 0.5 * 1 / 4)


def test_undcg_by_hand() -> None:
    """The gain is 2^probability - 1; the ideal is d5, d3, d1."""
    gain_of_d1, gain_of_d3, gain_of_d5 = 2**0.4 - 1, 2**0.8 - 1, 2**1 - 1
    dcg = gain_of_d1 + gain_of_d3 / 2  # at ranks 1 and 3
    ideal_dcg = gain_of_d5 + gain_of_d3 / LOG_3 + gain_of_d1 / 2
    assert undcg(GAIN_RUN, GAIN_JUDGMENTS, CLEF_2015) == pytest.approx(dcg / ideal_dcg)


def test_uerr_by_hand() -> None:
    """The user stops with the probability (2^probability - 1) / 2."""
    stops_at_d1, stops_at_d3 = (2**0.4 - 1) / 2, (2**0.8 - 1) / 2
    expected = stops_at_d1 / 1 + (1 - stops_at_d1) * stops_at_d3 / 3
    assert uerr(GAIN_RUN, GAIN_JUDGMENTS, CLEF_2015) == pytest.approx(expected)


def test_unrestricted_gain_measures_are_the_classic_ones_on_one_linear_aspect() -> None:
    """s = K: exp-log2 nDCG and ERR (MEASURES §4)."""
    rng = random.Random(4)
    aspects = {"a": ref_aspect([0, 1, 2, 3])}
    for _ in range(50):
        judgments, run = random_query(rng, labels=[-1, 0, 1, 2, 3], aspects=["a"])
        assert undcg(run, judgments, aspects, s=3) == pytest.approx(
            on(run, judgments, aspects, "a", "nDCG", {"dcg": "exp-log2"}), abs=1e-12
        )
        assert uerr(run, judgments, aspects, s=3, cutoff=4) == pytest.approx(
            on(run, judgments, aspects, "a", "ERR", {"cutoff": 4}), abs=1e-12
        )


def test_nwcs_by_hand() -> None:
    """The mean gain of a document over its aspects; the ideal is of the documents that are retrieved."""
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1, 2])}
    judgments = {
        "d1": {"a": 0, "b": 2},  # mean gain 1
        "d2": {"a": 2, "b": 1},  # mean gain 1.5
        "d3": {"a": 2, "b": 2},  # not retrieved
    }
    run = run_of("d1", "d2")
    dcg = 1 + 1.5 / LOG_3
    assert nwcs(run, judgments, aspects) == pytest.approx(dcg / (1.5 + 1 / LOG_3))
    # A separate ideal ranking per aspect: a has the gains 2 and 0, b has 2 and 1.
    separate_ideal = (2 + (2 + 1 / LOG_3)) / 2
    value = nwcs(run, judgments, aspects, ideal="separate")
    assert value == pytest.approx(dcg / separate_ideal)
    assert nwcs(run, judgments, aspects, cutoff=1) == 1
    # By a alone: the gain 2 at rank 2 instead of rank 1.
    by_a = nwcs(run, judgments, aspects, weights={"a": 1, "b": 0})
    assert by_a == pytest.approx((2 / LOG_3) / 2)
    assert nwcs(run_of("x"), judgments, aspects) == 0


ERROR_ASPECTS = {"r": ref_aspect([0, 1, 2]), "c": ref_aspect([0, 1, 2])}
#: By relevance, r, the ideal is A, B, C; by credibility, c, all orders are.
ERROR_JUDGMENTS = {"A": {"r": 2, "c": 1}, "B": {"r": 1, "c": 1}, "C": {"r": 0, "c": 1}}


def test_rank_errors_by_hand() -> None:
    """The example of Lioma et al., Section 4: C, A, B, with the errors 2 of r and 0 of c, mu = nu = .5."""
    world = (run_of("C", "A", "B"), ERROR_JUDGMENTS, ERROR_ASPECTS)
    local_error = (0.5 + 2) * (0.5 + 0) - 0.5 * 0.5
    largest_local_error = 2**2 + 2
    assert nlre(*world) == pytest.approx(1 - local_error / largest_local_error)
    global_error = (1 + 0.5 * 2) * (1 + 0.5 * 0) - 1
    largest_global_error = 0.25 * 4 + 2
    assert ngre(*world) == pytest.approx(1 - global_error / largest_global_error)
    # Of the first two, the error is 1 of the swapped pair.
    local_error_at_2 = (0.5 + 1) * (0.5 + 0) - 0.5 * 0.5
    assert nlre(*world, cutoff=2) == pytest.approx(1 - local_error_at_2 / (1 + 1))


def test_constants_of_rank_errors_by_hand() -> None:
    """An error of relevance alone is multiplied by nu in NLRE (Eq. 4), and by mu in NGRE."""
    world = (run_of("C", "A", "B"), ERROR_JUDGMENTS, ERROR_ASPECTS)
    assert nlre(*world, mu=1, nu=0) == 1
    assert nlre(*world, mu={"r": 1, "c": 0}) == 1
    assert ngre(*world, mu=1, nu=0) == pytest.approx(1 - 2 / 2)


def test_rankings_without_rank_errors() -> None:
    """Of one document, and of documents that are all alike."""
    assert nlre(run_of("C"), ERROR_JUDGMENTS, ERROR_ASPECTS) == 1
    assert ngre(run_of("C", "A", "B"), ERROR_JUDGMENTS, ERROR_ASPECTS, cutoff=1) == 1
    assert nlre(run_of("x", "y"), {}, ERROR_ASPECTS) == 1


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("n_documents", "constants", "same_order"),
    [
        # All pairs of orders by the aspects are tried,
        (2, [0.5, 0.5], False),
        (3, [0.5, 0.5], False),
        (4, [0.5, 0.5], False),
        (4, [0.0, 1.0], False),
        (4, [2.0, 0.3], False),
        (5, [0.5, 0.5], False),
        (3, [0.5, 0.2, 1.0], False),
        (4, [0.5], False),
        # and of many documents only those in which all aspects have the same order.
        (6, [0.5, 0.5], True),
        (7, [0.5, 0.2, 0.0], True),
    ],
)
def test_normalisation_constants_are_the_true_maximum(
    n_documents: int, constants: list[float], same_order: bool
) -> None:
    """The constants, one per aspect, are mu and nu."""
    largest_local = largest_rank_error(lre, n_documents, constants, same_order)
    assert largest_local == pytest.approx(c_lre(n_documents, constants), rel=1e-12)
    largest_global = largest_rank_error(gre, n_documents, constants, same_order)
    assert largest_global == pytest.approx(c_gre(n_documents, constants), rel=1e-12)


def lowest_nlre(n_documents: int, n_grades: int) -> float:
    """Return the minimum over all labels of the documents, the same on both aspects."""
    scale = ref_aspect(list(range(n_grades)))
    docnos = [f"d{i}" for i in range(n_documents)]
    values = []
    for labels in itertools.product(range(n_grades), repeat=n_documents):
        judgments = {
            docno: {"r": label, "c": label} for docno, label in zip(docnos, labels, strict=True)
        }
        values.append(nlre(run_of(*docnos), judgments, {"r": scale, "c": scale}))
    return min(values)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_rank_errors_reach_zero_with_enough_grades(n: int) -> None:
    """NLRE of n documents can be 0 if every aspect has at least floor(n/2) + 1 grades."""
    assert lowest_nlre(n, n_grades=n // 2 + 1) == pytest.approx(0, abs=1e-12)
    if n > 2:
        assert lowest_nlre(n, n_grades=n // 2) > 0.01


@pytest.mark.parametrize(
    ("n_aspects", "expected_mean", "tolerance"), [(2, 0.84, 0.02), (5, 0.997, 0.003)]
)
def test_more_aspects_compress_the_rank_errors(
    n_aspects: int, expected_mean: float, tolerance: float
) -> None:
    """The mean NLRE of random orders of ten documents by each aspect is nearer to 1 with more aspects."""
    rng = random.Random(5)
    constants = [0.5] * n_aspects
    values = []
    for _ in range(200):
        ranks_by_aspect = [rng.sample(range(1, 11), 10) for _ in range(n_aspects)]
        values.append(1 - lre(ranks_by_aspect, constants) / c_lre(10, constants))
    assert sum(values) / 200 == pytest.approx(expected_mean, abs=tolerance)


# -----------------------------------------------------------------------------------------------------------
# (e) Base measures against ir-measures, on random collections
# -----------------------------------------------------------------------------------------------------------


def random_query(
    rng: random.Random, labels: list[int], aspects: list[str]
) -> tuple[dict[str, dict[str, int]], dict[str, float]]:
    """Judgments and a run with ties (some of them in single precision only) and unjudged documents."""
    docs = [f"d{i}" for i in range(1, 13)]
    judged = rng.sample(docs, rng.randint(1, 9))
    retrieved = rng.sample(docs, rng.randint(1, 10))
    pool = labels if rng.random() < 0.9 else [label for label in labels if label <= 0]
    judgments = {doc: {aspect: rng.choice(pool) for aspect in aspects} for doc in judged}
    # pytrec_eval 0.5.11 reads beyond its memory on a query that has no label from 0 up
    for aspect in aspects:
        judgments[judged[0]][aspect] = max(judgments[judged[0]][aspect], 0)
    scores = [0.0, 1.0, 1.00000001, 2.0, -1.5]
    return judgments, {
        doc: rng.choice(scores) if rng.random() < 0.6 else rng.random() for doc in retrieved
    }


def random_collection(
    seed: int, n_queries: int, labels: list[int]
) -> tuple[dict[str, dict[str, dict[str, int]]], dict[str, dict[str, float]]]:
    rng = random.Random(seed)
    judgments, runs = {}, {}
    for q in range(1, n_queries + 1):
        judgments[str(q)], runs[str(q)] = random_query(rng, labels, ["a"])
        if rng.random() < 0.05:
            del runs[str(q)]  # a query the run misses
    return judgments, runs


def compare_values(
    measures: dict[Any, tuple[str, dict[str, Any]]],
    judgments: dict[str, dict[str, dict[str, int]]],
    runs: dict[str, dict[str, float]],
    aspects: dict[str, RefAspect],
) -> Iterator[tuple[str, Any, float, float]]:
    """For each query and measure: ir-measures' value and the reference's."""
    qrels = {q: {doc: labels["a"] for doc, labels in docs.items()} for q, docs in judgments.items()}
    seen = 0
    # One measure at a time: ir-measures may compute nDCG with the gains of another nDCG(gains=...)
    # in the same call, depending on the order of a set.
    for metric in (
        metric for measure in measures for metric in ir_measures.iter_calc([measure], qrels, runs)
    ):
        base, params = measures[metric.measure]
        value = on(
            runs.get(metric.query_id, {}), judgments[metric.query_id], aspects, "a", base, params
        )
        seen += 1
        yield metric.query_id, metric.measure, metric.value, value
    assert seen == len(measures) * len(judgments)


def rescore_runs(runs: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The same rankings with the scores n - rank + 1, so that every tool sees one order."""
    return {q: run_of(*ranking(run)) for q, run in runs.items()}


PYTREC_EVAL = {
    nDCG: ("nDCG", {}),
    nDCG @ 3: ("nDCG", {"cutoff": 3}),
    nDCG(gains={1: 4, 2: 5}) @ 4: ("nDCG", {"cutoff": 4, "gains": {1: 4, 2: 5}}),
    AP: ("AP", {}),
    AP @ 2: ("AP", {"cutoff": 2}),
    AP(rel=2): ("AP", {"rel": 2}),
    P @ 5: ("P", {"cutoff": 5}),
    P(rel=2) @ 20: ("P", {"cutoff": 20, "rel": 2}),
    R @ 5: ("R", {"cutoff": 5}),
    RR: ("RR", {}),
    RR(rel=3): ("RR", {"rel": 3}),
    Rprec: ("Rprec", {}),
    Rprec(rel=2): ("Rprec", {"rel": 2}),
    Success @ 2: ("Success", {"cutoff": 2}),
    SetP: ("SetP", {}),
    SetP(relative=True): ("SetP", {"relative": True}),
    SetR: ("SetR", {}),
    SetF: ("SetF", {}),
    SetF(beta=0.5): ("SetF", {"beta": 0.5}),
    SetF(beta=2.0, rel=2): ("SetF", {"beta": 2.0, "rel": 2}),
    SetAP: ("SetAP", {}),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", [1, 2])
def test_base_measures_against_pytrec_eval(seed: int) -> None:
    judgments, runs = random_collection(seed, 200, labels=[-2, -1, 0, 0, 1, 2, 3])
    tied = sum(
        len({as_float32(score) for score in run.values()}) < len(run) for run in runs.values()
    )
    assert tied > 50
    for query, measure, theirs, ours in compare_values(
        PYTREC_EVAL, judgments, runs, {"a": ref_aspect([0, 1, 2, 3])}
    ):
        assert ours == pytest.approx(theirs, abs=1e-9), (query, measure)


def test_reciprocal_rank_with_a_cutoff_against_msmarco() -> None:
    judgments, runs = random_collection(6, 100, labels=[-1, 0, 1, 2])
    measures = {RR @ 3: ("RR", {"cutoff": 3}), RR(rel=2) @ 5: ("RR", {"cutoff": 5, "rel": 2})}
    for query, measure, theirs, ours in compare_values(
        measures, judgments, rescore_runs(runs), {"a": ref_aspect([0, 1, 2])}
    ):
        assert ours == pytest.approx(theirs, abs=1e-9), (query, measure)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs perl")
def test_err_and_exponential_ndcg_against_gdeval() -> None:
    judgments, runs = random_collection(7, 150, labels=[-1, 0, 1, 2, 3, 4])
    measures = {
        ERR @ 5: ("ERR", {"cutoff": 5}),
        ERR @ 20: ("ERR", {"cutoff": 20}),
        nDCG(dcg="exp-log2") @ 5: ("nDCG", {"dcg": "exp-log2", "cutoff": 5}),
        nDCG(dcg="exp-log2") @ 20: ("nDCG", {"dcg": "exp-log2", "cutoff": 20}),
    }
    aspects = {"a": ref_aspect([0, 1, 2, 3, 4])}
    for query, measure, theirs, ours in compare_values(
        measures, judgments, rescore_runs(runs), aspects
    ):
        assert ours == pytest.approx(theirs, abs=5.1e-6), (query, measure)


#: The bases of `PYTREC_EVAL`, with their parameters, that have no gains of labels of their own.
BASES_WITHOUT_GAINS = {
    measure: (base, params)
    for measure, (base, params) in PYTREC_EVAL.items()
    if "gains" not in params
}


@pytest.mark.slow
def test_consistency_law_on_one_aspect() -> None:
    """CAM, MM, GAM and TOMA on one aspect with grades 0..n are the base itself."""
    judgments, runs = random_collection(8, 40, labels=[-1, 0, 1, 2, 3])
    aspects = {"a": ref_aspect([0, 1, 2, 3])}
    bases = [
        *BASES_WITHOUT_GAINS.values(),
        ("ERR", {"cutoff": 5}),
        ("RBP", {"p": 0.9, "rel": 2}),
        ("nDCG", {"dcg": "exp-log2"}),
    ]
    for qid, judged in judgments.items():
        run = runs.get(qid, {})
        for base, params in bases:
            value_of_base = on(run, judged, aspects, "a", base, params)
            expected = pytest.approx(value_of_base, abs=1e-12)
            for measure in (cam, mm, gam):
                assert measure(run, judged, aspects, base, params) == expected
            for distance in ("manhattan", "euclidean", "chebyshev", 0.5):
                assert toma(run, judged, aspects, base, params, distance=distance) == expected


@pytest.mark.slow
def test_toma_is_the_base_on_the_aggregated_label() -> None:
    """TOMA equals ir-measures on qrels that hold the class index as label (Maistro §3.3)."""
    rng = random.Random(9)
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1, 2], gains=[0, 1, 5])}
    judgments, runs, qrels = {}, {}, {}
    for qid in (str(number) for number in range(40)):
        judged, run = random_query(rng, [-1, 0, 1, 2], ["a", "b"])
        docnos = list(judged)
        column = toma_column(ranking(run_of(*docnos)), judged, aspects, gate="a")
        class_by_docno = dict(zip(docnos, column.ranked, strict=True))
        judgments[qid], runs[qid], qrels[qid] = judged, run, class_by_docno
    metrics = list(ir_measures.iter_calc(list(BASES_WITHOUT_GAINS), qrels, runs))
    assert len(metrics) == 40 * len(BASES_WITHOUT_GAINS)
    for metric in metrics:
        qid = metric.query_id
        base, params = BASES_WITHOUT_GAINS[metric.measure]
        value = toma(runs[qid], judgments[qid], aspects, base, params, gate="a")
        assert value == pytest.approx(metric.value, abs=1e-9)


def test_ndcg_of_nothing() -> None:
    assert (
        ndcg([], []) == ndcg([0, 0], [0]) == ndcg([], [1]) == ndcg([-1], [-1, -2], "exp-log2") == 0
    )
