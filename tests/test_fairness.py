"""AWRF, GF and GFR: the tracks' figures, the reference, and groups in every form."""

from __future__ import annotations

import math
import pickle
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
from shared_data import golden
from strategies import DOCNOS, Collection, examples, scaled_collections

import pt_multiaspect as ma
from pt_multiaspect import AWRF, GF, GFR, Aspect, Aspects, Groups, MultiAspectError
from pt_multiaspect.analysis import axioms, upper_bound
from pt_multiaspect.testing import check_measure

GENDER = {"d1": "f", "d2": "m", "d3": {"f": 0.5, "m": 0.5}}
EVEN = {"gender": {"f": 0.5, "m": 0.5}}
QRELS = {"q": {"d1": 1, "d2": 1, "d3": 0}}
RUN = {"q": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
ONE = Groups({"gender": GENDER}, target=EVEN, name="fairness-test")
BINARY = Aspects({"relevance": 1})


def ranking(docnos: list[str]) -> dict[str, float]:
    return {docno: -float(rank) for rank, docno in enumerate(docnos)}


def columns(members: dict[str, list[float]], groups: list[str]) -> pd.DataFrame:
    return pd.DataFrame([[docno, *shares] for docno, shares in members.items()], columns=["docno", *groups])


def values(measures: list[ma.Measure], qrels: Any, run: Any, as_string: bool) -> list[float]:
    """One query's values through `ma.evaluate`, equal to those of ir-measures."""
    given_as = {str(n): str(measure) if as_string else measure for n, measure in enumerate(measures)}
    # Another query, as evaluate refuses runs without a query of the qrels.
    qrels, run = {**qrels, "z": {"d1": 1}}, {**run, "z": {"d1": 1.0}}
    table = ma.evaluate({"run": run}, qrels, given_as, progress=False)
    result = table[table["qid"] == "q"]["value"].tolist()
    again = {m.measure: m.value for m in ir_measures.iter_calc(measures, qrels, run) if m.query_id == "q"}
    assert result == [again[measure] for measure in measures]
    return result


# -- the tracks' figures ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_awrf_golden(as_string: bool) -> None:
    """The organisers' programs of both years; 2021's is followed where nothing is aligned or retrieved."""
    cases = golden("awrf.json")["cases"]
    assert len(cases) == 16
    for number, case in enumerate(cases):
        dimensions = {
            dimension["name"]: columns(dimension["docs"], dimension["groups"]) for dimension in case["dimensions"]
        }
        groups = Groups(dimensions, target=np.array(case["target"]), name=f"golden-awrf-{number}")
        run = {"q": case.get("scores") or ranking(case["run"])}
        measures = [AWRF(groups=groups) @ case["depth"], AWRF(groups=groups, score="track") @ case["depth"]]
        results = values(measures, {"q": dict.fromkeys(case["relevant"], 1)}, run, as_string)
        for year in ("values", "values_2021"):
            wanted = case.get(year, {})
            for value, name in zip(results, ("awrf", "score"), strict=True):
                if wanted.get(name) is not None:
                    assert value == pytest.approx(wanted[name], abs=2e-6), (case["name"], year, name)


@pytest.mark.slow
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_gf_golden(as_string: bool) -> None:
    content = golden("gfr.json")
    groups = {}
    for name, dimension in content["attribute sets"].items():
        names = [f"{name}{index}" for index in range(len(dimension["target"]))]
        target = {name: dict(zip(names, dimension["target"], strict=True))}
        groups[name] = Groups({name: columns(dimension["members"], names)}, target=target, name=f"golden-gf-{name}")
    compared = 0
    for case in content["cases"]:
        aspects = Aspects({"relevance": Aspect(2, gains=[0, *case["gains"]])})
        measures = {}
        for text, value in case["values"].items():
            name, _, cutoff = text.partition("@")
            if name.startswith("GF"):
                measure = GF(groups=groups[case["set"]], divergence=name[3:], aspects=aspects)
                measures[measure @ int(cutoff) if cutoff else measure] = value
        run = {"q": ranking(content["runs"][case["run"]])}
        results = values(list(measures), {"q": content["relevance"]}, run, as_string)
        assert results == pytest.approx(list(measures.values()), abs=1e-7), case
        compared += len(results)
    assert compared == 48 * 9


@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_gfr_golden(as_string: bool) -> None:
    content = golden("gfr.json")
    sets = {name: content["attribute sets"][name] for name in ("level", "kind")}
    names = {
        name: [f"{name}{index}" for index in range(len(dimension["target"]))] for name, dimension in sets.items()
    }
    groups = Groups(
        {name: columns(dimension["members"], names[name]) for name, dimension in sets.items()},
        target={name: dict(zip(names[name], dimension["target"], strict=True)) for name, dimension in sets.items()},
        name="golden-gfr",
    )
    for case in content["gfr"]:
        aspects = Aspects({"relevance": Aspect(2, gains=[0, *case["gains"]])})
        measures = [
            GFR(groups=groups, relevance=relevance, divergence={"level": level, "kind": "JSD"}, aspects=aspects)
            @ 20
            for relevance, level in (("iRBU", "NMD"), ("ERR", "RNOD"))
        ]
        results = values(
            measures, {"q": content["relevance"]}, {"q": ranking(content["runs"][case["run"]])}, as_string
        )
        wanted = [value for name, value in case.items() if name.startswith("GFR")]
        assert results == pytest.approx(wanted, abs=1e-7), case


# -- by hand and against the reference -------------------------------------------------------------------------


def test_awrf_by_hand() -> None:
    third = 1 / math.log2(3)
    women = (1 + third / 2) / (2 + third)
    assert AWRF(groups=ONE).calc_aggregate(QRELS, RUN) == pytest.approx(1, abs=1e-12)  # women = .5
    assert women == 0.5
    assert (AWRF(groups=ONE) @ 1).calc_aggregate(QRELS, RUN) == pytest.approx(
        1 - 0.5 * math.log(1 / 0.75) - 0.25 * math.log(0.5 / 0.75) - 0.25 * math.log(0.5 / 0.25), abs=1e-12
    )


def test_the_product_is_with_the_measure_named() -> None:
    """The track's nDCG is another one than that of ir-measures."""
    run, qrels = {"q": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}, {"q": {"d1": 1, "d2": 1, "d3": 0}}
    fair = AWRF(groups=ONE).calc_aggregate(qrels, run)
    ndcg = ir_measures.nDCG.calc_aggregate(qrels, run)
    track = (1 + 1 / math.log2(3)) / 2
    assert AWRF(groups=ONE, base="nDCG").calc_aggregate(qrels, run) == pytest.approx(fair * ndcg)
    assert AWRF(groups=ONE, score="track").calc_aggregate(qrels, run) == pytest.approx(fair * track)
    awrf = AWRF(groups=ONE, base=ir_measures.P) @ 2
    assert awrf.calc_aggregate(qrels, run) == pytest.approx((AWRF(groups=ONE) @ 2).calc_aggregate(qrels, run) / 2)


def test_unjudged_documents_are_seen() -> None:
    assert AWRF(groups=ONE).calc_aggregate({"q": {"other": 1}}, {"q": {"d1": 1.0}}) < 0.8


def test_documents_are_told_apart_by_their_shares_of_groups() -> None:
    awrf = AWRF(groups=ONE, base="nDCG")
    shares = awrf.distinctions(ma.Judgments(QRELS))[-2:]
    assert {tuple(share.tolist()) for share in shares} == {(1, 0, 0.5), (0, 1, 0.5)}


def test_what_belongs_to_no_group_is_as_fair_as_uniform_attention() -> None:
    """As in the program of 2021, so that only the product with relevance is 0."""
    qrels, run = {"q": {"x": 1}, "r": {"d1": 1}, "s": {"d1": 1}}, {"q": {"y": 1.0}, "r": {"d1": 1.0}}
    for measure, wanted in ((AWRF(groups=ONE), 1), (AWRF(groups=ONE, score="track"), 0)):
        results = {m.query_id: m.value for m in measure.iter_calc(qrels, run)}
        assert results["q"] == results["s"] == wanted


@pytest.mark.parametrize(
    "measure", [AWRF(groups=ONE), GF(groups=ONE, aspects=BINARY), GFR(groups=ONE, aspects=BINARY)]
)
def test_docnos_that_fit_no_group_are_told(measure: ma.Measure) -> None:
    """Every query had the value of uniform attention, or of uniform groups, without a sign."""
    with pytest.warns(ma.MultiAspectWarning, match="no retrieved document belongs to a group of fairness-test"):
        measure.calc_aggregate({"q": {"D1": 1, "D2": 1}}, {"q": {"D1": 2.0, "D2": 1.0}})


def test_each_dimension_has_the_target_of_the_relevant_documents_with_a_membership_in_it() -> None:
    level = {"d1": "a", "d3": "b", "d4": "a", "d5": "b"}
    kind = {"d2": "x", "d3": "y", "d6": "x"}
    qrels = {"q": {"d1": 1, "d2": 1, "d3": 2, "d4": 2, "d5": 0}, "r": {"d3": 1, "d2": 1, "d1": 0}}
    run = {"q": ranking(["d1", "d6", "d2", "d5", "d3", "d4"]), "r": ranking(["d1", "d2", "d3"])}
    aspects = Aspects({"relevance": 2})
    targets = {
        "q": {"level": {"a": 2 / 3, "b": 1 / 3}, "kind": {"x": 0.5, "y": 0.5}},
        "r": {"level": {"a": 0, "b": 1}, "kind": {"x": 0.5, "y": 0.5}},
    }
    dimensions = {"level": level, "kind": kind}
    both, declared = Groups(dimensions, name="two"), Groups(dimensions, target=targets, name="two-declared")
    measures = [GFR(groups=groups, aspects=aspects) for groups in (both, declared)]
    for name, members in dimensions.items():
        groups = Groups({name: members}, name=f"one-{name}")
        measures += [GF(groups=groups, aspects=aspects), GFR(groups=groups, aspects=aspects)]
    gfr, wanted, _, with_level, kind_value, _ = [measure.calc_aggregate(qrels, run) for measure in measures]
    assert gfr == pytest.approx(wanted, abs=1e-12)
    # GFR of the level alone is the mean of ERR and GF of the level.
    assert gfr == pytest.approx((2 * with_level + kind_value) / 3, abs=1e-12)
    without = {"q": {"d1": 1}}
    with pytest.raises(MultiAspectError, match=r"no relevant document of q.*kind"):
        GFR(groups=both, aspects=aspects).calc_aggregate(without, run)


def test_targets_from_relevant_documents() -> None:
    """d1 is a woman, d3 half; of the second query only d2 is relevant."""
    groups = Groups({"gender": GENDER}, name="relevant-target")
    qrels = {"q": {"d1": 1, "d2": 0, "d3": 1}, "r": {"d2": 1}}
    run = {"q": {"d1": 2.0, "d3": 1.0}, "r": {"d1": 1.0}}
    results = {m.query_id: m.value for m in AWRF(groups=groups).iter_calc(qrels, run)}
    assert results["q"] == pytest.approx(1, abs=1e-12)
    assert results["r"] == pytest.approx(1 - math.log(2), abs=1e-12)
    assert {m.query_id: m.value for m in GF(groups=groups, aspects=BINARY).iter_calc(qrels, run)}["r"] == 0


SHARES = st.sampled_from([{"a": 1.0}, {"b": 1.0}, {"a": 0.25, "c": 0.75}, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}])
TARGETS = st.sampled_from(
    [{"a": 0.2, "b": 0.3, "c": 0.5}, {"c": 0.5, "a": 0.5, "b": 0.0}, {"b": 1 / 3, "c": 1 / 3, "a": 1 / 3}]
)


@given(scaled_collections(max_aspects=1), st.sampled_from([None, 1, 3]), st.integers(1, 3), st.data())
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int | None,
    n_dimensions: int,
    data: st.DataObject,
) -> None:
    collection, aspects, theirs = drawn
    names = ["one", "two", "three"][:n_dimensions]
    members = {name: data.draw(st.dictionaries(st.sampled_from(DOCNOS), SHARES)) for name in names}
    targets = {name: data.draw(TARGETS) for name in names}
    groups = Groups(members, target=targets)
    product: dict[tuple[str, ...], float] = {(): 1.0}
    for target in targets.values():
        product = {
            (*key, group): before * share for key, before in product.items() for group, share in target.items()
        }
    divergences = {name: data.draw(st.sampled_from(["JSD", "NMD", "RNOD"])) for name in names}
    aspect, relevance = theirs["relevance"], data.draw(st.sampled_from(["ERR", "iRBU"]))
    cases: dict[ma.Measure, Any] = {
        AWRF(groups=groups, cutoff=cutoff): lambda run, judged: ref.awrf(run, members, product, cutoff),
        GFR(groups=groups, relevance=relevance, divergence=divergences, aspects=Aspects(aspects), cutoff=cutoff): (
            lambda run, judged: ref.gfr(run, judged, aspect, members, targets, relevance, divergences, cutoff)
        ),
    }
    single = Groups({"one": members["one"]}, target={"one": targets["one"]})
    for name in ("JSD", "NMD", "RNOD"):
        cases[GF(groups=single, divergence=name, aspects=Aspects(aspects), cutoff=cutoff)] = (
            lambda run, judged, name=name: ref.gf(run, judged, aspect, members["one"], targets["one"], name, cutoff)
        )
    compare(cases, collection)


@given(scaled_collections(max_aspects=1), st.sampled_from([None, 1, 3]))
@examples(10)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_the_track_s_product_against_the_reference(drawn: Any, cutoff: int | None) -> None:
    collection, _, _ = drawn
    labels = [label["relevance"] for docs in collection.labels.values() for label in docs.values()]
    if all(label is None for label in labels):
        return
    aspect = ref.inferred_aspect(labels)
    members = {"one": {"d9": {"a": 1.0}, "d2": {"b": 1.0}}}
    groups, target = Groups(members, target={"one": {"a": 0.5, "b": 0.5}}), {("a",): 0.5, ("b",): 0.5}
    compare(
        {
            AWRF(groups=groups, score="track", cutoff=cutoff): lambda run, judged: (
                ref.awrf(run, members, target, cutoff) * ref.track_ndcg(run, judged, aspect, cutoff)
            )
        },
        collection,
    )


# -- groups in every form --------------------------------------------------------------------------------------


def test_memberships_in_every_form_are_the_same() -> None:
    long = pd.DataFrame(
        [("d1", "f", 1), ("d2", "m", 1), ("d3", "f", 0.5), ("d3", "m", 0.5)], columns=["doc_id", "group", "share"]
    )
    wide = columns({"d1": [1, 0], "d2": [0, 1], "d3": [0.5, 0.5]}, ["m", "f"]).rename(columns={"m": "f", "f": "m"})
    for given_form in (GENDER, {"d1": ["f"], "d2": {"m": 1}, "d3": GENDER["d3"]}, long, wide[["f", "docno", "m"]]):
        again = Groups({"gender": given_form}, target=EVEN, name="fairness-test")
        assert again == ONE
        assert hash(again) == hash(ONE)


def test_groups_of_numbers_have_one_name() -> None:
    """2 and 2.0 were two groups, 1 and "1" were one."""
    long = pd.DataFrame({"docno": ["d1", "d2", "d3"], "group": pd.Series([1, 2, 2.0], dtype=object)})
    target = pd.DataFrame({"kind": [1.0, 2.0], "share": [0.5, 0.5]})
    (dimension,) = Groups({"kind": long}, target=target).dimensions
    assert dimension.groups == ("1", "2")
    assert Groups({"kind": long.astype({"group": float})}, target={"kind": {"1": 0.5, "2": 0.5}}).n_cells == 2
    long["group"] = pd.Series([1, 2, "1"], dtype=object)
    with pytest.raises(
        MultiAspectError, match=r"^kind: expected names of groups of one type, got 1 and the text '1'; "
    ):
        Groups({"kind": long})


@pytest.mark.slow
def test_targets_in_every_form_are_the_same() -> None:
    age = columns({"d1": [1, 0], "d2": [0, 1]}, ["old", "young"])
    sex = columns({"d1": [1, 0], "d2": [0, 1]}, ["f", "m"])
    frame = pd.DataFrame(
        [("f", "old", 0.1), ("f", "young", 0.4), ("m", "old", 0.1), ("m", "young", 0.4)],
        columns=["gender", "age", "share"],
    )
    by_name = {"gender": {"f": 0.5, "m": 0.5}, "age": {"old": 0.2, "young": 0.8}}
    array = np.outer([0.5, 0.5], [0.2, 0.8])
    per_query = {"q": by_name, "r": by_name}
    queries = pd.concat([frame.assign(qid=qid) for qid in "qr"])
    results = set()
    for target in (by_name, array, array.tolist(), frame, per_query, {"q": array, "r": frame}, queries):
        groups = Groups({"gender": sex, "age": age}, target=target)
        qrels = {"q": {"d1": 1}, "r": {"d1": 1}}
        results |= {
            round(m.value, 12) for m in AWRF(groups=groups).iter_calc(qrels, {"q": {"d1": 1.0}, "r": {"d1": 1.0}})
        }
    assert len(results) == 1
    with pytest.raises(MultiAspectError, match="expected a target for each judged query, got none for s"):
        AWRF(groups=groups).calc_aggregate({"q": {"d1": 1}, "s": {"d1": 1}}, {"q": {"d1": 1.0}})


def test_the_order_of_the_target_is_that_of_ordinal_groups() -> None:
    """From low to high, d1 is two steps from the target; in another order one step."""
    members = {"d1": "low", "d2": "high", "d3": "middle"}

    def value(*order: str) -> float:
        target = {group: float(group == "high") for group in order}
        groups = Groups({"level": members}, target={"level": target})
        return GF(groups=groups, divergence="NMD", aspects=BINARY).calc_aggregate(
            {"q": {"d1": 1}}, {"q": {"d1": 1.0}}
        )

    assert value("low", "middle", "high") == 0
    assert value("middle", "low", "high") == pytest.approx(0.5 * 0.5)


def test_two_groups_of_one_document_count_twice_in_awrf_and_are_refused_in_gf() -> None:
    groups = Groups({"gender": {"d1": ["f", "m"], "d2": "m"}}, target=EVEN)
    attention = np.array([1, 2]) / 3
    wanted = 1 - ref.jensen_shannon(attention.tolist(), [0.5, 0.5], math.e)
    assert AWRF(groups=groups).calc_aggregate(QRELS, RUN) == pytest.approx(wanted, abs=1e-12)
    with pytest.raises(MultiAspectError, match="expected shares that sum to 1 for document d1, got 2"):
        GF(groups=groups, aspects=BINARY).calc_aggregate(QRELS, RUN)


def test_measures_print_names_and_never_documents() -> None:
    unnamed = Groups({"gender": {"secret-document": "f"}}, target={"gender": {"f": 1.0}})
    for text in (str(AWRF(groups=unnamed)), repr(unnamed), unnamed.to_json()):
        assert "secret" not in text
    assert re.fullmatch(r"AWRF\(groups='groups-[0-9a-f]{12}'\)", str(AWRF(groups=unnamed)))
    assert ir_measures.parse_measure(str(AWRF(groups=unnamed))) == AWRF(groups=unnamed)
    assert Groups({"gender": {"secret-document": "f"}}, target={"gender": {"f": 1.0}}) == unnamed
    assert Groups({"gender": {"another": "f"}}, target={"gender": {"f": 1.0}}) != unnamed


def test_a_name_declared_again_follows_the_new_content() -> None:
    before = AWRF(groups=Groups({"gender": GENDER}, target=EVEN, name="declared-twice"))
    with pytest.warns(ma.MultiAspectWarning, match="the name 'declared-twice' now refers to") as caught:
        Groups({"gender": GENDER}, target={"gender": {"f": 1.0, "m": 0.0}}, name="declared-twice")
    assert "d1" not in str(caught[0].message)
    after = AWRF(groups="declared-twice")
    assert before != after
    assert before.calc_aggregate(QRELS, RUN) == pytest.approx(1)
    assert after.calc_aggregate(QRELS, RUN) < 0.9


def test_pickling_carries_the_content() -> None:
    measure = AWRF(groups=ONE, base="AP") @ 3
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert again.calc_aggregate(QRELS, RUN) == measure.calc_aggregate(QRELS, RUN)


# -- what they state -------------------------------------------------------------------------------------------

#: Judged documents do not differ, so that labels decide: what is fair may contradict what is relevant.
OF_WORLDS = Groups(
    {"g": {**dict.fromkeys(["d1", "d2", "d3", "d4"], "a"), "unjudged": "b"}},
    target={"g": {"a": 0.9, "b": 0.1}},
    name="of-worlds",
)
#: A target per query, in another order.
TURNED = Groups({"g": GENDER}, target={"q": {"g": {"f": 1, "m": 0}}, "r": {"g": {"m": 1, "f": 0}}})


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "measure",
    [
        AWRF(groups=OF_WORLDS, score="track"),
        GFR(groups=OF_WORLDS, relevance="iRBU", divergence={"g": "NMD"}),
    ],
    ids=str,
)
def test_statements(measure: ma.Measure) -> None:
    check_measure(measure)


def test_ranges_axioms_and_bounds() -> None:
    assert AWRF(groups=ONE).range == (1 - math.log(2), 1)
    assert AWRF(groups=ONE, base="DCG").range == (0, math.inf)
    verdicts = axioms.check(
        [AWRF(groups=ONE), GF(groups=ONE)], {"relevance": 2}, properties=["D5"], documents=3
    ).table
    assert verdicts.shape == (2, 1)
    with pytest.raises(MultiAspectError, match="no upper bound is known for AWRF"):
        upper_bound(QRELS, AWRF(groups=ONE))


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: AWRF.calc_aggregate(QRELS, RUN), ["AWRF requires groups"]),
        (lambda: GFR.calc_aggregate(QRELS, RUN), ["GFR requires groups"]),
        (lambda: AWRF(groups="unheard"), ["groups: expected Groups or the name of declared groups", "'unheard'"]),
        (lambda: AWRF(groups=GENDER), ["groups: expected Groups"]),
        (lambda: AWRF(groups=ONE, score="nDCG"), ["score: expected one of None, 'track', got 'nDCG'"]),
        (lambda: AWRF(groups=ONE, score="track", base="nDCG"), ["choose one"]),
        (lambda: AWRF(groups=ONE, base="ESL"), ["higher is better, got ESL"]),
        (lambda: AWRF(groups=ONE, base="CRP"), ["non-negative measure", "CRP"]),
        (lambda: AWRF(groups=ONE, base="nDCG@5"), ["the base nDCG@5 has the cutoff 5, but AWRF has none"]),
        (lambda: AWRF(groups=ONE, base="SetP") @ 5, ["no base accepts one: SetP"]),
        (lambda: AWRF(groups=ONE, base=ma.TOMA), ["TOMA cannot be a base"]),
        (lambda: AWRF(groups=Groups({"gender": GENDER})).calc_aggregate({"q": {"d1": 0, "x": 1}}, RUN),
         ["no relevant document of q belongs to a group", "target="]),
        (lambda: GF(groups=Groups({"a": GENDER, "b": GENDER})), ["groups of one dimension, got a, b; GFR"]),
        (lambda: GF(groups=ONE, divergence="KL"), ["divergence: expected one of 'JSD', 'NMD', 'RNOD', got 'KL'"]),
        (lambda: GF(groups=Groups({"g": GENDER}), divergence="NMD"), ["NMD compares ordered groups"]),
        (lambda: GF(groups=Groups({"g": {"d1": "a"}}, target={"g": {"a": 1}}), divergence="RNOD"),
         ["at least two groups"]),
        (lambda: GF(groups=TURNED, divergence="NMD"), ["one order for all queries"]),
        (lambda: GFR(groups=ONE, divergence={"age": "JSD"}), ["one for each dimension (gender), got age"]),
        (lambda: GFR(groups=ONE, relevance="nDCG"), ["relevance: expected one of 'ERR', 'iRBU'"]),
        (lambda: Groups({}), ["at least one dimension"]),
        (lambda: Groups({"g": ["d1"]}), ["g: expected a mapping of documents to groups"]),
        (lambda: Groups({"g": {}}), ["g: expected at least one group, got none"]),
        (lambda: Groups({"g": {"d1": 3}}), ["g: expected a group, a list of groups", "document d1, got 3"]),
        (lambda: Groups({"g": {"d1": {"a": -1}}}), ["g: expected shares from 0 to 1, got -1 for document d1"]),
        (lambda: Groups({"g": {"d1": {"a": float("nan")}}}), ["the share of document d1: expected a finite"]),
        (lambda: Groups({"g": pd.DataFrame({"docno": ["d1"], "f": [1], "views": [712]})}),
         ["g: expected shares from 0 to 1, got 712 for document d1"]),
        (lambda: Groups({"g": {"d1": ["a", "a"]}}), ["g: expected distinct groups for document d1, got several a"]),
        (lambda: Groups({"g": pd.DataFrame({"docno": ["d1", "d1"], "group": ["a", "a"]})}),
         ["distinct documents in each group", "'d1', 'a'"]),
        (lambda: Groups({"g": pd.DataFrame({"group": ["a"]})}), ["g: expected one column docno or doc_id"]),
        (lambda: Groups({"gender": {"d1": "x"}}, target=EVEN),
         ["document d1 belongs to the group x", "share (0 is possible)"]),
        (lambda: Groups({"g": GENDER}, target={"g": {"f": 0.5, "m": 0.4}}), ["sum to 1, got the sum 0.9"]),
        (lambda: Groups({"g": GENDER}, target={"g": {"f": 0.5, "m": 0.509}}), ["sum to 1, got the sum 1.009"]),
        (lambda: Groups({"g": columns({"d1": [1, 0]}, ["f", "m"])}, target=[0.5, 0.499]), ["got the sum 0.999"]),
        (lambda: Groups({"g": GENDER}, target={"g": {"f": 0.5, "m": 0.50001}}), ["got the sum 1.00001"]),
        (lambda: Groups({"g": GENDER}, target={"g": {"f": 1.5, "m": -0.5}}), ["the minimum -0.5"]),
        (lambda: Groups({"g": GENDER}, target={"gg": {"f": 0.5, "m": 0.5}}), ["the shares of groups for each"]),
        (lambda: Groups({"g": GENDER}, target=[0.5, 0.5]), ["an array does not name its groups", "for g"]),
        (lambda: Groups({"g": columns({"d1": [1, 0]}, ["f", "m"])}, target=[1.0]), ["shape (2,)", "got (1,)"]),
        (lambda: Groups({"g": GENDER}, target=pd.DataFrame({"g": ["f"], "part": [1]})), ["got no share"]),
        (lambda: Groups({"g": GENDER}, target=EVEN["gender"]), ["shares of groups for each dimension"]),
        (lambda: Groups({"g": GENDER}, target={"g": EVEN["gender"]}, name="9"), ["starts with a letter"]),
    ],
)  # fmt: skip
def test_bad_input(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)


def test_targets_may_be_rounded_to_seven_digits() -> None:
    """Their shares are divided by their sum."""
    thirds = Groups({"g": {"d1": "a", "d2": "b", "d3": "c"}}, target={"g": dict.fromkeys("abc", 0.3333333)})
    assert thirds.target(["q"]).tolist() == [pytest.approx([1 / 3] * 3, abs=1e-15)]
