"""MDCU and nMDCU: the public program's figures, the reference, and how far from the optimum the ideal is."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import ir_measures
import pandas as pd
import pytest
import reference as ref
from comparison import compare
from hypothesis import given
from hypothesis import strategies as st
from shared_data import golden
from strategies import Collection, examples, scaled_collections

import pt_multiaspect as ma
from pt_multiaspect import MDCU, Aspect, Aspects, MultiAspectError, nMDCU
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.testing import check_measure

THEMES, USABILITY = ("t1", "t2", "t3", "t4"), ("u1", "u2", "u3")
#: One theme, one usability; d2 is more usable.
QRELS = {
    "q": {
        "d1": {"relevance": 3, "plain": 1, "place": 2},
        "d2": {"relevance": 2, "plain": 2, "place": 1},
    }
}
RUN = {"q": {"d1": 2.0, "d2": 1.0}}
ONE = MDCU(themes="relevance", usability="plain", aspects={"relevance": 3, "plain": 2})
NORMALISED = nMDCU(themes="relevance", usability="plain", aspects={"relevance": 3, "plain": 2})


# -- the public program's figures
# ------------------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("overlap", ["1.01", "2.0", "3.0", "5.0"])
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_golden_at_every_rank(overlap: str, as_string: bool) -> None:
    content = golden("mdcu.json")
    documents = {
        docno: dict(
            zip(
                (*THEMES, *USABILITY, "ideal"),
                [*gains, *usable, content["ideal"].index(docno) + 1],
                strict=True,
            )
        )
        for docno, (gains, usable) in content["documents"].items()
    }
    usable = Aspect(sorted({labels[name] for labels in documents.values() for name in USABILITY}))
    aspects = Aspects({**dict.fromkeys(THEMES, 3), **dict.fromkeys(USABILITY, usable)})
    shared: dict[str, Any] = {
        "themes": THEMES,
        "usability": USABILITY,
        "overlap": float(overlap),
        "aspects": aspects,
    }
    qrels = dict.fromkeys(content["rankings"], documents)
    run = {
        name: {docno: -float(rank) for rank, docno in enumerate(docs)}
        for name, docs in content["rankings"].items()
    }
    measures = {
        (name, rank): measure @ rank
        for rank in range(1, 11)
        for name, measure in (("mdcu", MDCU(**shared)), ("nmdcu", nMDCU(ideal="ideal", **shared)))
    }
    result = {
        (m.measure, m.query_id): m.value
        for m in ir_measures.iter_calc(list(measures.values()), qrels, run)
    }
    labelled = {
        str(key): str(measure) if as_string else measure for key, measure in measures.items()
    }
    table = ma.evaluate({"run": run}, qrels, labelled, progress=False).set_index(
        ["measure", "qid"]
    )["value"]
    for name, values in content["values"][overlap].items():
        for (kind, rank), measure in measures.items():
            assert result[measure, name] == pytest.approx(values[kind][rank - 1], abs=1e-9), (
                name,
                kind,
                rank,
            )
            assert table[str((kind, rank)), name] == result[measure, name]


# -- by hand and against the reference
# -------------------------------------------------------------------------


def test_by_hand() -> None:
    """3 is cumulated above rank 2, so that the 2 is divided by log2 3; the usabilities are 1 and 2."""
    assert ONE.calc_aggregate(QRELS, RUN) == pytest.approx(3 + 2 * 2 / 1.584962500721156, abs=1e-12)
    assert (ONE @ 1).calc_aggregate(QRELS, RUN) == 3
    assert ONE(overlap=3).calc_aggregate(QRELS, RUN) == 3 + 2 * 2
    turned = {"q": {"d2": 2.0, "d1": 1.0}}
    assert ONE.calc_aggregate(QRELS, turned) == 2 * 2 + 3


def test_what_is_not_usable_is_covered_all_the_same() -> None:
    """The cumulated gain does not contain usability: d1 adds nothing itself and halves what d2 adds."""
    qrels = {"q": {"d1": {"relevance": 4, "plain": 0}, "d2": {"relevance": 4, "plain": 1}}}
    measure = MDCU(themes="relevance", usability="plain", aspects={"relevance": 4, "plain": 1})
    assert measure.calc_aggregate(qrels, RUN) == 2
    assert measure.calc_aggregate(qrels, {"q": {"x": 2.0, "d2": 1.0}}) == 4


def test_missing_labels_have_no_gain_and_make_a_document_unusable() -> None:
    nothing = float("nan")
    qrels = {
        "q": {"d1": {"relevance": 3, "plain": nothing}, "d2": {"relevance": nothing, "plain": 2}}
    }
    assert ONE.calc_aggregate(qrels, RUN) == 0
    assert NORMALISED.calc_aggregate(qrels, RUN) == 0


@given(scaled_collections(min_aspects=2, zero=True), st.sampled_from([None, 1, 3]), st.data())
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int | None,
    data: st.DataObject,
) -> None:
    collection, aspects, theirs = drawn
    names = data.draw(st.permutations(collection.names))
    split = data.draw(st.integers(1, len(names) - 1))
    themes, usability = names[:split], names[split:]
    cases = {}
    for overlap in data.draw(
        st.lists(st.sampled_from([1.01, 1.5, 2, 10]), min_size=2, max_size=2, unique=True)
    ):
        for measure, function in ((MDCU, ref.mdcu), (nMDCU, ref.nmdcu)):
            cases[
                measure(
                    themes=themes,
                    usability=usability,
                    overlap=overlap,
                    aspects=Aspects(aspects),
                    cutoff=cutoff,
                )
            ] = lambda run, judged, function=function, overlap=overlap: function(
                run, judged, theirs, themes, usability, overlap, cutoff
            )
    compare(cases, collection)


@pytest.mark.parametrize("cutoff", [None, 1, 2, 3])
def test_collections_with_utility_against_the_reference(cutoff: int | None) -> None:
    """Few of the collections above have a document with utility among more documents than the cutoff."""
    rng = random.Random(7)
    names = ("a", "b", "u")
    labels = {
        f"q{n}": {
            f"d{m}": {"a": rng.randrange(4), "b": rng.randrange(4), "u": rng.randrange(3)}
            for m in range(6)
        }
        for n in range(20)
    }
    run = {
        qid: {docno: rng.random() for docno in rng.sample([*documents, "x", "y"], 6)}
        for qid, documents in labels.items()
    }
    scales = {"a": 3, "b": 3, "u": 2}
    theirs = {name: ref.ref_aspect(range(top + 1)) for name, top in scales.items()}
    cases = {}
    for overlap in (1.5, 3):
        for measure, function in ((MDCU, ref.mdcu), (nMDCU, ref.nmdcu)):
            named = measure(
                themes="a,b", usability="u", overlap=overlap, aspects=scales, cutoff=cutoff
            )
            cases[named] = lambda run, judged, function=function, overlap=overlap: function(
                run, judged, theirs, ["a", "b"], ["u"], overlap, cutoff
            )
    compare(cases, Collection(names, labels, run))


# -- the ideal
# -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_greedy_ideal_scores_exactly_1_and_the_optimum_can_exceed_it() -> None:
    """Greedy puts d2 first (4 > 3), then d1 adds 3 / log2(2); d1 first leaves 2 · 2 / log2(3) for d2."""
    best = {"q": {"d2": 2.0, "d1": 1.0}}
    assert NORMALISED.calc_aggregate(QRELS, best) == 1
    rng = random.Random(3)
    values: list[float] = []
    for _ in range(40):
        labels = {
            f"d{n}": {"a": rng.randrange(4), "b": rng.randrange(4), "u": rng.choice((0, 0.5, 1))}
            for n in range(4)
        }
        orders = list(itertools.permutations(labels))
        qrels = {f"{index:02d}": labels for index in range(len(orders))}
        run = {
            f"{index:02d}": {docno: -float(rank) for rank, docno in enumerate(order)}
            for index, order in enumerate(orders)
        }
        measure = nMDCU(
            themes="a,b", usability="u", aspects=Aspects({"a": 3, "b": 3, "u": Aspect([0, 0.5, 1])})
        )
        scores = ma.evaluate({"run": run}, qrels, measure, progress=False)["value"]
        values.append(scores.max())
        # One of the rankings is the greedy one.
        assert scores.max() == 0 or (scores == 1).any()
    short = [1 - 1 / value for value in values if value]
    assert min(short) >= -1e-12
    assert 0.02 < sum(short) / len(short) < 0.05
    assert max(short) < 0.24


def test_the_ideal_has_as_many_ranks_as_the_cutoff() -> None:
    """Greedy puts d2 first, which adds 4, then d1, which adds 3 / log2(2); d1 first leaves 4 / log2(3) for d2."""
    assert (NORMALISED @ 1).calc_aggregate(QRELS, RUN) == 3 / 4
    assert (NORMALISED @ 2).calc_aggregate(QRELS, RUN) == pytest.approx((3 + 4 / math.log2(3)) / 7)


def test_equal_documents_do_not_depend_on_their_names_or_rows() -> None:
    """d1 and d2 add as much at rank 1; the one with the larger usability goes first, whatever its name."""
    left, right = {"relevance": 2, "plain": 4}, {"relevance": 4, "plain": 2}
    values = set()
    for first, second in ((left, right), (right, left)):
        qrels = {"q": {"d1": first, "d2": second}}
        measure = nMDCU(themes="relevance", usability="plain", aspects={"relevance": 4, "plain": 4})
        values.add(measure.calc_aggregate(qrels, {"q": {"d1" if first is left else "d2": 2.0}}))
    assert values == {8 / (8 + 8)}


def test_of_equally_useful_documents_the_ideal_begins_with_that_of_the_larger_gain_on_the_first_theme() -> (
    None
):
    """Both add 3 at rank 1. d2 first leaves 3 / log2(2) for d1, d1 first only 1 + 2 / log2(3) for d2."""
    qrels = {"q": {"d1": {"a": 0, "b": 3, "u": 1}, "d2": {"a": 1, "b": 2, "u": 1}}}
    run = {"q": {"d1": 2.0, "d2": 1.0}}
    measure = nMDCU(themes="a,b", usability="u", aspects={"a": 3, "b": 3, "u": 1})
    assert measure.calc_aggregate(qrels, run) == pytest.approx((3 + 1 + 2 / math.log2(3)) / 6)
    assert measure(themes="b,a").calc_aggregate(qrels, run) == 1


def test_a_given_ideal_list() -> None:
    """Its ranks may have gaps, and documents outside it are not in the ideal."""
    given_list = NORMALISED(ideal="place")
    assert given_list.calc_aggregate(QRELS, {"q": {"d2": 2.0, "d1": 1.0}}) == 1
    qrels = {"q": {**QRELS["q"], "d2": {**QRELS["q"]["d2"], "place": float("nan")}}}
    assert given_list.calc_aggregate(qrels, RUN) == pytest.approx((3 + 4 / 1.584962500721156) / 3)
    assert (given_list @ 1).calc_aggregate(qrels, RUN) == 1
    assert (
        str(given_list)
        == "nMDCU(themes='relevance',usability='plain',ideal='place',aspects={'relevance': 3, 'plain': 2})"
    )


# -- what they state
# -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_statements() -> None:
    check_measure(nMDCU(themes="relevance,credibility", usability="plain", overlap=1.2))


def test_there_are_no_upper_bounds() -> None:
    for measure in (ONE, NORMALISED):
        with pytest.raises(MultiAspectError, match="no upper bound"):
            upper_bound(QRELS, measure)


def test_names_print_so_that_they_are_read_back() -> None:
    for themes in (["a,b", "c"], "c", "label", ("x y", "z"), ['"'], [" a"]):
        measure = MDCU(themes=themes, usability="u")
        assert ir_measures.parse_measure(str(measure)) == measure
    assert MDCU(themes="label", usability="u") == MDCU(themes=["relevance"], usability="u")


def test_only_the_named_columns_are_read_in_any_order() -> None:
    frame = pd.DataFrame(
        [
            ("q", docno, labels["place"], labels["plain"], labels["relevance"])
            for docno, labels in QRELS["q"].items()
        ],
        columns=["qid", "docno", "score", "plain", "label"],
    )
    assert ONE.calc_aggregate(frame, RUN) == ONE.calc_aggregate(QRELS, RUN)
    reordered = ONE(aspects={"plain": 2, "relevance": 3})
    assert reordered.calc_aggregate(frame, RUN) == ONE.calc_aggregate(QRELS, RUN)


def test_undeclared_scales_are_the_labels_themselves() -> None:
    """The grades of an inferred scale are its gains, so that other qrels do not change values."""
    assert ONE(aspects=None).calc_aggregate(QRELS, RUN) == ONE.calc_aggregate(QRELS, RUN)


def test_labels_for_learning_to_rank() -> None:
    assert ma.aggregate_labels(QRELS, ONE).values["label"].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: MDCU.calc_aggregate(QRELS, RUN), ["MDCU requires themes, usability"]),
        (lambda: MDCU(themes="relevance").calc_aggregate(QRELS, RUN), ["MDCU requires usability"]),
        (lambda: ma.evaluate({"r": RUN}, QRELS, "nMDCU(usability='plain')", progress=False), ["requires themes"]),
        (lambda: ONE(overlap=1), ["MDCU", "overlap: expected a number above 1, got 1"]),
        (lambda: ONE(overlap=0.5), ["overlap"]),
        (lambda: MDCU(themes="a,b", usability="b"), ["different aspects, got b as both"]),
        (lambda: MDCU(themes="a,a", usability="b"), ["themes: expected distinct names", "'a,a'"]),
        (lambda: MDCU(themes="a,", usability="b"), ["themes: expected a non-empty string"]),
        (lambda: MDCU(themes=[], usability="b"), ["themes: expected distinct names"]),
        (lambda: MDCU(themes={"a": 1}, usability="b"), ["themes: expected distinct names"]),
        (lambda: MDCU(themes=3, usability="b"), ["themes: expected distinct names", "3"]),
        (lambda: ONE(aspects={"relevance": 3}), ["among the aspects (relevance), got plain"]),
        (lambda: ONE(usability="mood", aspects=None).calc_aggregate(QRELS, RUN), ["no column for the aspect mood"]),
        (lambda: ma.CAM(base=ONE), ["cannot be a base"]),
        (lambda: NORMALISED(ideal="best").calc_aggregate(QRELS, RUN), ["expected 'greedy' or a qrels"]),
        (lambda: NORMALISED(ideal="plain").calc_aggregate(
            {"q": {"d1": {"relevance": 1, "plain": 1}, "d2": {"relevance": 1, "plain": 1}}}, RUN),
         ["distinct ranks in the column plain, got 1 for the documents d1 and d2 of query q"]),
        (lambda: NORMALISED(ideal="place").calc_aggregate(
            {**QRELS, "r": {"d1": {"relevance": 1, "plain": 1, "place": float("nan")}}}, {"r": {"d1": 1.0}}),
         ["the column place has no document"]),
    ],
)  # fmt: skip
def test_bad_input(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)


def test_documents_that_are_equally_useful_but_for_rounding_are_ties() -> None:
    """0.1 · 3 is 0.30000000000000004; of ties, the document of the larger usability is next in the ideal."""
    aspects = {"jazz": 3, "credibility": Aspect([0, 0.1, 0.3])}
    qrels = {"q": {"a": {"jazz": 3, "credibility": 0.1}, "b": {"jazz": 1, "credibility": 0.3}}}
    measure = nMDCU(themes="jazz", usability="credibility", aspects=aspects)
    # b, then a: 0.3 + 0.1 · 3, as log2(1) reduces nothing. a, then b: 0.3 + 0.3 / log2(3).
    assert measure.calc_aggregate(qrels, {"q": {"b": 2.0, "a": 1.0}}) == pytest.approx(1, abs=1e-12)
    assert measure.calc_aggregate(qrels, {"q": {"a": 2.0, "b": 1.0}}) == pytest.approx(
        (0.3 + 0.3 / math.log2(3)) / 0.6, abs=1e-12
    )


def test_documents_that_are_nearly_equally_useful_are_no_ties() -> None:
    aspects = {"jazz": Aspect([0, 1, 3, 3.00001]), "credibility": Aspect([0, 0.1, 0.3])}
    qrels = {
        "q": {"a": {"jazz": 3.00001, "credibility": 0.1}, "b": {"jazz": 1, "credibility": 0.3}}
    }
    measure = nMDCU(themes="jazz", usability="credibility", aspects=aspects)
    assert measure.calc_aggregate(qrels, {"q": {"a": 2.0, "b": 1.0}}) == 1
    assert measure.calc_aggregate(qrels, {"q": {"b": 2.0, "a": 1.0}}) > 1
