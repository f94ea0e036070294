"""The reference implementation itself reproduces the published figures, hand-worked cases and ir-measures."""

from __future__ import annotations

import csv
import functools
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


def test_toma_table_1_orders() -> None:
    table = golden("toma_table1.json")
    assert len(table) == 9
    for name, entry in table.items():
        embedding = entry["embedding"]
        aspects = {
            aspect: ref_aspect(list(range(len(values))), gains=values)
            for aspect, values in embedding.items()
        }
        distance = DISTANCES[name.split("/")[1]]
        order = toma_classes(aspects, distance, gate="relevance", axes="gains")
        classes_best_first = [
            {
                (float(embedding["relevance"][r]), float(embedding["correctness"][c]))
                for (r, c), index in order.index.items()
                if index == wanted
            }
            for wanted in reversed(range(order.n_classes))
        ]
        assert classes_best_first == [
            {tuple(t) for t in group} for group in entry["classes_best_first"]
        ], name
        assert order.n_classes == entry["n_classes"], name
        assert (
            toma_classes(aspects, distance, axes="gains").n_classes
            == entry["n_classes_full_product"]
        ), name


def test_toma_table_3_class_weights() -> None:
    table = golden("toma_table3.json")
    for name, distance in DISTANCES.items():
        order = toma_classes(TABLE_3_ASPECTS, distance, gate="relevance")
        correctness = ("0", "3/2", "3")
        assert {
            f"('{r}', '{correctness[c]}')": index for (r, c), index in order.index.items()
        } == table["class_weights"][name]
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
    table = golden("toma_table3.json")
    differing, halves = 0, 0
    for base, orders in table["paper"].items():
        for order, cells in orders.items():
            value = mm(
                run_of(*order),
                TABLE_3_LABELS,
                TABLE_3_CAM_ASPECTS,
                {"AP": "AP", "NDCG": "nDCG"}[base],
            )
            differing += abs(value - cells["MM"]) > 0.5e-4 + 1e-12
            halves += value > 0 and abs(value / 2 - cells["MM"]) <= 0.5e-4 + 1e-12
    assert differing == len(table["not_reproduced"]) == 24
    assert halves == 22


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
    figures = golden("a66.json")["rankings"]
    labels: dict[str, dict[str, list[int]]] = {}
    with shared_path("data", "a66.csv").open() as lines:
        for row in sorted(csv.DictReader(lines), key=lambda row: int(row["rank"])):
            entry = labels.setdefault(
                f"{row['assessor']}-{row['query']}", {"relevance": [], "credibility": []}
            )
            for aspect, by_rank in entry.items():
                by_rank.append(int(row[aspect]))
    assert labels == {
        key: {aspect: entry[aspect] for aspect in A66} for key, entry in figures.items()
    }


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
    assert ref_aspect([0, 1, 2]) == RefAspect([0, 1, 2], [0, 1, 2], [0, 0.5, 1], 1, True)
    # readability 0 (easy) to 10 (hard): the worst grade is 10 and has value 0
    assert ref_aspect([0, 5, 10], greater_is_better=False) == RefAspect(
        [10, 5, 0], [0, 5, 10], [0, 0.5, 1], 5, False
    )
    assert ref_aspect([7]) == RefAspect([7], [7], [0], None, True)
    assert inferred_aspect([-2, 0, 3, None, math.nan, 1.0]).grades == [0, 1, 2, 3]
    assert inferred_aspect([0.5, 0.0, 1.0]).grades == [0, 0.5, 1]
    assert inferred_aspect([-1, None]).grades == [0]


def test_labels_off_the_scale() -> None:
    aspects = {"a": ref_aspect([0, 1, 3])}
    for label in (2, 4):
        with pytest.raises(ValueError, match=f"label {label}"):
            on(run_of("d"), {"d": {"a": label}}, aspects, "a")
    assert on(run_of("d", "e"), {"d": {"a": -2}, "e": {"a": 3}}, aspects, "a") == pytest.approx(
        1 / math.log2(3)
    )


def test_on_by_hand() -> None:
    aspects = {"a": ref_aspect([0, 1, 2])}
    judgments = {"d1": {"a": 2}, "d2": {"a": 0}, "d3": {"a": 1}, "d4": {"a": 1}, "d5": {"a": None}}
    run = run_of("d5", "d1", "d2", "d3", "x")  # gains 0 2 0 1 0; the ideal is 2 1 1
    log3, log5 = math.log2(3), math.log2(5)

    def value(base: str, **params: Any) -> float:
        return on(run, judgments, aspects, "a", base, params)

    assert value("nDCG") == pytest.approx((2 / log3 + 1 / log5) / (2 + 1 / log3 + 1 / 2))
    assert value("nDCG", cutoff=2) == pytest.approx((2 / log3) / (2 + 1 / log3))
    assert value("nDCG", dcg="exp-log2") == pytest.approx(
        (3 / log3 + 1 / log5) / (3 + 1 / log3 + 1 / 2)
    )
    assert value("nDCG", gains={2: 5}) == pytest.approx(
        (5 / log3 + 1 / log5) / (5 + 1 / log3 + 1 / 2)
    )
    assert value("AP") == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert value("AP", cutoff=3) == pytest.approx((1 / 2) / 3)
    assert value("AP", rel=2) == pytest.approx(1 / 2)
    assert value("P", cutoff=10) == pytest.approx(2 / 10)
    assert value("R", cutoff=2) == pytest.approx(1 / 3)
    assert value("RR") == 1 / 2
    assert value("RR", cutoff=1) == 0
    assert value("Rprec") == pytest.approx(1 / 3)
    assert value("RBP", p=0.5) == pytest.approx(1 / 4 + 1 / 16)
    assert value("RBP", p=0.5, cutoff=3) == pytest.approx(1 / 4)
    # R = 3/4 at rank 2, 1/4 at rank 4
    assert value("ERR") == pytest.approx((3 / 4) / 2 + (1 / 4) * (1 / 4) / 4)
    assert value("Success", cutoff=1) == 0
    assert value("Success", cutoff=2) == 1
    assert value("SetP") == 2 / 5
    assert value("SetP", relative=True) == pytest.approx(2 / 3)
    assert value("SetR") == pytest.approx(2 / 3)
    assert value("SetF") == pytest.approx(2 * 2 / (5 + 3))
    assert value("SetF", beta=3) == pytest.approx(4 * (2 / 5) * (2 / 3) / (2 / 3 + 3 * 2 / 5))
    assert value("SetAP") == pytest.approx(2 / 5 * 2 / 3)


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


def test_toma_classes_are_exact() -> None:
    tenths = {name: ref_aspect([0, 0.1, 0.2, 0.3]) for name in "abc"}
    assert toma_classes(tenths, "manhattan").n_classes == 10
    sums = {
        a + b + c
        for a in (0, 0.1, 0.2, 0.3)
        for b in (0, 0.1, 0.2, 0.3)
        for c in (0, 0.1, 0.2, 0.3)
    }
    assert len(sums) > 10  # what adding floats makes of it
    # weight 3 on tenths is three tenths exactly: a's one step is b's three
    order = toma_classes({"a": tenths["a"], "b": tenths["b"]}, 1, weights={"a": 3})
    assert order.index[0.2, 0.3] == order.index[0.3, 0]
    assert order.n_classes == 13
    # half-powers of 0, 1, 2, 3 in two aspects: ten unordered pairs, all different
    assert toma_classes({name: ref_aspect([0, 1, 2, 3]) for name in "ab"}, 0.5).n_classes == 10
    assert toma_classes(tenths, 0.5).n_classes == 20  # triples with repetition of 4
    assert toma_classes(tenths, 2.0) == toma_classes(tenths, "euclidean")
    assert toma_classes(tenths, math.inf) == toma_classes(tenths, "chebyshev")
    assert toma_classes({"a": ref_aspect([3])}).n_classes == 1


def test_toma_distances_by_hand() -> None:
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1])}
    equal = toma_classes(aspects)
    # on equal axes from (1, 1): (0,0) sqrt2, (1,0) sqrt(1.25), (2,0) and (0,1) 1, (1,1) 1/2
    assert equal.index == {(0, 0): 0, (1, 0): 1, (0, 1): 2, (2, 0): 2, (1, 1): 3, (2, 1): 4}
    assert equal.normalized[1, 0] == pytest.approx(1 - math.sqrt(1.25 / 2))
    order = toma_classes(aspects, axes="gains")
    # from (2, 1): (0,0) sqrt5, (0,1) 2, (1,0) sqrt2, (2,0) and (1,1) 1
    assert order.index == {(0, 0): 0, (0, 1): 1, (1, 0): 2, (2, 0): 3, (1, 1): 3, (2, 1): 4}
    assert order.distances[1, 0] == pytest.approx(math.sqrt(2))
    assert order.normalized[1, 0] == pytest.approx(1 - math.sqrt(2 / 5))
    gated = toma_classes(aspects, gate="a", axes="gains")
    assert gated.index == {(0, 0): 0, (1, 0): 1, (2, 0): 2, (1, 1): 2, (2, 1): 3}


def test_toma_by_hand() -> None:
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1])}
    judgments = {
        "d1": {"a": 0, "b": 1},
        "d2": {"a": 2, "b": None},
        "d3": {"a": 2, "b": 1},
        "d4": {"a": -1, "b": -2},
    }
    run = run_of("d1", "x", "d2", "d4")  # classes 1 0 3 0 of K = 5; the ideal is 4 3 1
    log3 = math.log2(3)
    gain_toma = functools.partial(toma, axes="gains")
    assert gain_toma(run, judgments, aspects) == pytest.approx((1 + 3 / 2) / (4 + 3 / log3 + 1 / 2))
    assert gain_toma(run, judgments, aspects, gate="a") == pytest.approx(
        (2 / 2) / (3 + 2 / log3)
    )  # d1 becomes 0
    assert gain_toma(run, judgments, aspects, weighting="exponential") == pytest.approx(
        (1 + 7 / 2) / (15 + 7 / log3 + 1 / 2)
    )
    w = {1: 1 - 2 / math.sqrt(5), 3: 1 - 1 / math.sqrt(5), 4: 1.0}
    assert gain_toma(run, judgments, aspects, weighting="normalized") == pytest.approx(
        (w[1] + w[3] / 2) / (w[4] + w[3] / log3 + w[1] / 2)
    )
    assert gain_toma(run, judgments, aspects, "AP") == pytest.approx((1 + 2 / 3) / 3)
    # top-half of K = 5: index >= 2, the best three classes
    assert gain_toma(run, judgments, aspects, "AP", positives="top-half") == pytest.approx(
        (1 / 3) / 2
    )
    assert gain_toma(run, judgments, aspects, "AP", {"rel": 4}) == 0
    assert gain_toma(run, judgments, aspects, "RR", {"rel": 3}) == pytest.approx(1 / 3)
    assert gain_toma(run, judgments, aspects, "ERR") == pytest.approx(
        1 / 16 + (15 / 16) * (7 / 16) / 3
    )
    with pytest.raises(ValueError, match="gains"):
        gain_toma(run, judgments, aspects, "nDCG", {"gains": {1: 5}})


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
    aspects = {"a": ref_aspect(list(range(3000)))}
    judgments = {"d": {"a": 2999}, "e": {"a": 2998}}
    value = toma(run_of("e", "d"), judgments, aspects, weighting="exponential")
    assert value == pytest.approx((1 / 2 + 1 / math.log2(3)) / (1 + 1 / 2 / math.log2(3)))


def test_cam_mm_gam_by_hand() -> None:
    aspects = {"a": ref_aspect([0, 1]), "b": ref_aspect([0, 1])}
    judgments = {"d1": {"a": 1, "b": 0}, "d2": {"a": 0, "b": 1}}
    run = run_of("d1", "d2")  # RR 1 and 1/2
    assert cam(run, judgments, aspects, "RR") == 3 / 4
    assert mm(run, judgments, aspects, "RR") == pytest.approx(2 / (1 + 2))
    assert gam(run, judgments, aspects, "RR") == pytest.approx(math.sqrt(1 / 2))
    assert cam(run, judgments, aspects, "RR", weights={"a": 3, "b": 1}) == pytest.approx(7 / 8)
    assert mm(run, judgments, aspects, "RR", weights={"a": 3, "b": 1}) == pytest.approx(4 / (3 + 2))
    assert gam(run, judgments, aspects, "RR", weights={"a": 3, "b": 1}) == pytest.approx(0.5**0.25)
    # an aspect of weight 0 does not make MM 0; a missing one does
    only_a = run_of("d1")
    assert mm(only_a, judgments, aspects, "RR", weights={"a": 1, "b": 0}) == 1
    assert mm(only_a, judgments, aspects, "RR") == gam(only_a, judgments, aspects, "RR") == 0
    # no positive label for b in the query
    nothing = {"d1": {"a": 1, "b": 0}, "d2": {"a": 0, "b": 0}}
    assert cam(run, nothing, aspects, "RR") == 1 / 2
    assert mm(run, nothing, aspects, "RR") == 0
    for measure in (cam, mm, gam):
        assert measure(run, nothing, aspects, "RR", empty="drop") == 1
        assert measure(run, {}, aspects, "RR", empty="drop") == 0
    mixed = {"a": ("nDCG", {"cutoff": 1}), "b": "SetP"}
    assert cam(run, judgments, aspects, mixed) == 3 / 4
    with pytest.raises(ValueError, match="zero"):
        cam(run, judgments, aspects, "RR", weights={"a": 0, "b": 0})
    with pytest.raises(ValueError, match="two"):
        wham(run, judgments, {**aspects, "c": ref_aspect([0, 1])}, "RR")


def test_normalized_cam() -> None:
    aspects = {"a": ref_aspect([0, 1]), "b": ref_aspect([0, 1])}
    judgments = {"d1": {"a": 0, "b": 1}, "d2": {"a": 1, "b": 0}, "d3": {"a": 1, "b": 0}}
    # AP is not linear: sorting by sum of p_a g_a / R_a puts d1 (.34 / 1) before d2 and d3 (.66 / 2)
    weights = {"a": 0.66, "b": 0.34}
    assert (
        round(cam(run_of("d1", "d2", "d3"), judgments, aspects, "AP", weights=weights), 3) == 0.725
    )
    assert (
        round(cam(run_of("d2", "d3", "d1"), judgments, aspects, "AP", weights=weights), 3) == 0.773
    )
    assert round(best_cam(judgments, aspects, "AP", weights=weights), 3) == 0.773
    # Table 3: no ranking reaches CAM 1, the best reaches normalized CAM 1
    best = cam(run_of("1", "2", "3"), TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, "nDCG")
    assert best < 0.91
    normalized = [
        cam(run_of(*order), TABLE_3_LABELS, TABLE_3_CAM_ASPECTS, "nDCG", normalized=True)
        for order in itertools.permutations("123")
    ]
    assert max(normalized) == 1
    assert cam(run_of("d"), {"d": {"a": 0, "b": 0}}, aspects, "nDCG", normalized=True) == 0


@pytest.mark.slow
def test_normalized_cam_of_linear_bases_is_reached_by_sorting() -> None:
    """MEASURES §3: nDCG@k, RBP@k, P@k, R@k: rank by sum of p_a g_a(d) / norm_a."""
    rng = random.Random(3)
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1, 2, 3])}
    for _ in range(25):
        judgments = {f"d{i}": {"a": rng.randint(0, 2), "b": rng.randint(0, 3)} for i in range(5)}
        weights = {"a": rng.random() + 0.01, "b": rng.random() + 0.01}
        cutoff = rng.choice([1, 2, 3, 5])
        for base in ("nDCG", "RBP", "P", "R"):
            score: dict[str, float] = dict.fromkeys(judgments, 0.0)
            for name, aspect in aspects.items():
                if base == "nDCG":
                    gain = {doc: judgments[doc][name] for doc in judgments}
                    norm = sum(
                        g / math.log2(i + 1)
                        for i, g in enumerate(sorted(gain.values(), reverse=True)[:cutoff], start=1)
                    )
                else:
                    gain = {doc: int(judgments[doc][name] >= aspect.threshold) for doc in judgments}
                    norm = sum(gain.values()) if base == "R" else 1
                for doc in judgments:
                    score[doc] += weights[name] * gain[doc] / norm if norm else 0.0
            # ties by float32 could matter, so hand over an order, not the scores
            run = run_of(*sorted(score, key=lambda doc: -score[doc]))
            value = cam(run, judgments, aspects, base, {"cutoff": cutoff}, weights)
            assert value == pytest.approx(
                best_cam(judgments, aspects, base, {"cutoff": cutoff}, weights), abs=1e-12
            )


def test_gain_family_by_hand() -> None:
    aspects = CLEF_2015
    judgments = {
        "d1": {"relevance": 2, "understandability": 1},  # u 0, gain .4
        "d2": {"relevance": 0, "understandability": 3},  # not relevant
        "d3": {"relevance": 1, "understandability": 2},  # u 1, gain .8
        "d4": {"relevance": 1},  # understandability unjudged: lowest grade
        "d5": {"relevance": 1, "understandability": 3},  # not retrieved
    }
    run = run_of("d1", "d2", "d3", "d4", "x")
    assert urbp(run, judgments, aspects, p=0.5) == pytest.approx(1 / 8)
    assert urbpgr(run, judgments, aspects, p=0.5) == pytest.approx(0.4 / 2 + 0.8 / 8)
    assert urbpgr(run, judgments, aspects, p=0.5, cutoff=2) == pytest.approx(0.4 / 2)
    assert urbp(run, judgments, RELEVANCE, p=0.5) == pytest.approx(1 / 2 + 1 / 8 + 1 / 16)
    ideal = 1 + (2**0.8 - 1) / math.log2(3) + (2**0.4 - 1) / 2
    assert undcg(run, judgments, aspects) == pytest.approx(
        ((2**0.4 - 1) + (2**0.8 - 1) / 2) / ideal
    )
    r1, r3 = (2**0.4 - 1) / 2, (2**0.8 - 1) / 2
    assert uerr(run, judgments, aspects) == pytest.approx(r1 + (1 - r1) * r3 / 3)
    # a column of probabilities
    column = {"p": identity_aspect()}
    assert urbpgr(
        run_of("d", "e", "x"), {"d": {"p": 0.25}, "e": {"p": 0.5}}, column, p=0.5
    ) == pytest.approx(0.25)


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
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1, 2])}
    judgments = {"d1": {"a": 0, "b": 2}, "d2": {"a": 2, "b": 1}, "d3": {"a": 2, "b": 2}}
    run = run_of("d1", "d2")  # d3 is not retrieved and does not count
    log3 = math.log2(3)
    assert nwcs(run, judgments, aspects) == pytest.approx((1 + 1.5 / log3) / (1.5 + 1 / log3))
    assert nwcs(run, judgments, aspects, ideal="separate") == pytest.approx(
        (1 + 1.5 / log3) / (0.5 * 2 + 0.5 * (2 + 1 / log3))
    )
    assert nwcs(run, judgments, aspects, cutoff=1) == 1
    assert nwcs(run, judgments, aspects, weights={"a": 1, "b": 0}) == pytest.approx(1 / log3)
    assert nwcs(run_of("x"), judgments, aspects) == 0


def test_rank_errors_by_hand() -> None:
    # the example of Lioma et al., Section 4: C, A, B where A, B, C is ideal: errors 3-1 = 2 and 0
    aspects = {"r": ref_aspect([0, 1, 2]), "c": ref_aspect([0, 1, 2])}
    judgments = {"A": {"r": 2, "c": 1}, "B": {"r": 1, "c": 1}, "C": {"r": 0, "c": 1}}
    run = run_of("C", "A", "B")
    # LRE = (.5+2)(.5+0) - .25 = 1; C = (2^2 + 2) / 1 = 6; GRE = (1 + .5*2) - 1 = 1; C = .25*4 + 2 =
    # 3
    assert nlre(run, judgments, aspects) == pytest.approx(1 - 1 / 6)
    assert ngre(run, judgments, aspects) == pytest.approx(1 - 1 / 3)
    # Eq. 4 prices a lone relevance error with nu, NGRE with mu
    assert nlre(run, judgments, aspects, mu=1, nu=0) == 1
    assert ngre(run, judgments, aspects, mu=1, nu=0) == pytest.approx(1 - 2 / 2)
    assert nlre(run, judgments, aspects, mu={"r": 1, "c": 0}) == 1
    assert nlre(run_of("C"), judgments, aspects) == ngre(run, judgments, aspects, cutoff=1) == 1
    assert nlre(run_of("x", "y"), {}, aspects) == 1  # all alike: no error
    assert nlre(run, judgments, aspects, cutoff=2) == pytest.approx(1 - (0.5 * 1) / (1 + 1))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("n", "constants", "same_order"),
    [
        (2, [0.5, 0.5], False),
        (3, [0.5, 0.5], False),
        (4, [0.5, 0.5], False),
        (4, [0.0, 1.0], False),
        (4, [2.0, 0.3], False),
        (5, [0.5, 0.5], False),
        (3, [0.5, 0.2, 1.0], False),
        (4, [0.5], False),
        (6, [0.5, 0.5], True),
        (7, [0.5, 0.2, 0.0], True),
    ],
)
def test_normalisation_constants_are_the_true_maximum(
    n: int, constants: list[float], same_order: bool
) -> None:
    assert largest_rank_error(lre, n, constants, same_order) == pytest.approx(
        c_lre(n, constants), rel=1e-12
    )
    assert largest_rank_error(gre, n, constants, same_order) == pytest.approx(
        c_gre(n, constants), rel=1e-12
    )


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_rank_errors_reach_zero_with_enough_grades(n: int) -> None:
    """MEASURES §5: 0 is reached when every aspect has at least floor(n/2) + 1 grades."""

    def lowest(n_grades: int) -> float:
        aspects = {"r": ref_aspect(list(range(n_grades))), "c": ref_aspect(list(range(n_grades)))}
        docs = [f"d{i}" for i in range(n)]
        return min(
            nlre(
                run_of(*docs),
                {d: {"r": g, "c": g} for d, g in zip(docs, labels, strict=True)},
                aspects,
            )
            for labels in itertools.product(range(n_grades), repeat=n)
        )

    assert lowest(n // 2 + 1) == pytest.approx(0, abs=1e-12)
    if n > 2:
        assert lowest(n // 2) > 0.01


def test_more_aspects_compress_the_rank_errors() -> None:
    rng = random.Random(5)

    def mean(n_aspects: int) -> float:
        total = 0.0
        for _ in range(200):
            orders = [rng.sample(range(1, 11), 10) for _ in range(n_aspects)]
            total += 1 - lre(orders, [0.5] * n_aspects) / c_lre(10, [0.5] * n_aspects)
        return total / 200

    assert mean(2) == pytest.approx(0.84, abs=0.02)
    assert mean(5) == pytest.approx(0.997, abs=0.003)


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


@pytest.mark.slow
def test_consistency_law_on_one_aspect() -> None:
    """CAM, MM, GAM and TOMA on one aspect with grades 0..n are the base itself (MEASURES §1)."""
    judgments, runs = random_collection(8, 40, labels=[-1, 0, 1, 2, 3])
    aspects = {"a": ref_aspect([0, 1, 2, 3])}
    cases = [case for case in PYTREC_EVAL.values() if "gains" not in case[1]]
    cases += [("ERR", {"cutoff": 5}), ("RBP", {"p": 0.9, "rel": 2}), ("nDCG", {"dcg": "exp-log2"})]
    for q, docs in judgments.items():
        run = runs.get(q, {})
        for base, params in cases:
            expected = pytest.approx(on(run, docs, aspects, "a", base, params), abs=1e-12)
            for measure in (cam, mm, gam):
                assert measure(run, docs, aspects, base, params) == expected
            for distance in ("manhattan", "euclidean", "chebyshev", 0.5):
                assert toma(run, docs, aspects, base, params, distance=distance) == expected


@pytest.mark.slow
def test_toma_is_the_base_on_the_aggregated_label() -> None:
    """TOMA equals ir-measures on qrels that hold the class index as label (Maistro §3.3)."""
    rng = random.Random(9)
    aspects = {"a": ref_aspect([0, 1, 2]), "b": ref_aspect([0, 1, 2], gains=[0, 1, 5])}
    measures = {measure: case for measure, case in PYTREC_EVAL.items() if "gains" not in case[1]}
    judgments, runs, qrels = {}, {}, {}
    for q in (str(i) for i in range(40)):
        judgments[q], runs[q] = random_query(rng, [-1, 0, 1, 2], ["a", "b"])
        column = toma_column(ranking(run_of(*judgments[q])), judgments[q], aspects, gate="a")
        qrels[q] = dict(zip(judgments[q], column.ranked, strict=True))
    metrics = list(ir_measures.iter_calc(list(measures), qrels, runs))
    assert len(metrics) == 40 * len(measures)
    for metric in metrics:
        q, (base, params) = metric.query_id, measures[metric.measure]
        assert toma(runs[q], judgments[q], aspects, base, params, gate="a") == pytest.approx(
            metric.value, abs=1e-9
        )


def test_ndcg_of_nothing() -> None:
    assert (
        ndcg([], []) == ndcg([0, 0], [0]) == ndcg([], [1]) == ndcg([-1], [-1, -2], "exp-log2") == 0
    )
