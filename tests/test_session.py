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
#: With the gains of relevance and the usabilities of plain: d1 has 3 · 1, and d2 has 2 · 2. At a
#: further rank, this is divided by the logarithm to the base 2 of the relevance above, if above 1.
ONE = MDCU(themes="relevance", usability="plain", aspects={"relevance": 3, "plain": 2})
NORMALISED = nMDCU(themes="relevance", usability="plain", aspects={"relevance": 3, "plain": 2})


# -- the public program's figures
# ------------------------------------------------------------------------------


def golden_qrels(content: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the gains on the themes, the usabilities and the rank in the ideal of each document."""
    documents = {}
    for docno, (gains, usabilities) in content["documents"].items():
        rank_in_ideal = content["ideal"].index(docno) + 1
        documents[docno] = {
            **dict(zip(THEMES, gains, strict=True)),
            **dict(zip(USABILITY, usabilities, strict=True)),
            "ideal": rank_in_ideal,
        }
    return documents


@pytest.mark.every(3)
@pytest.mark.parametrize("overlap", ["1.01", "2.0", "3.0", "5.0"])
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_golden_at_every_rank(overlap: str, as_string: bool) -> None:
    """The values of the public program; each of its rankings is a topic, all with the same judgments."""
    content = golden("mdcu.json")
    documents = golden_qrels(content)
    scale_of_usability = Aspect(
        sorted({labels[name] for labels in documents.values() for name in USABILITY})
    )
    settings: dict[str, Any] = {
        "themes": THEMES,
        "usability": USABILITY,
        "overlap": float(overlap),
        "aspects": Aspects(
            {**dict.fromkeys(THEMES, 3), **dict.fromkeys(USABILITY, scale_of_usability)}
        ),
    }
    qrels = dict.fromkeys(content["rankings"], documents)
    run = {
        topic: {docno: -float(rank) for rank, docno in enumerate(docnos)}
        for topic, docnos in content["rankings"].items()
    }
    measures: dict[str, ma.Measure] = {}
    for rank in range(1, 11):
        measures[f"mdcu {rank}"] = MDCU(**settings) @ rank
        measures[f"nmdcu {rank}"] = nMDCU(ideal="ideal", **settings) @ rank
    by_ir_measures = {}
    for metric in ir_measures.iter_calc(list(measures.values()), qrels, run):
        by_ir_measures[metric.measure, metric.query_id] = metric.value
    metrics = {label: str(measure) if as_string else measure for label, measure in measures.items()}
    table = ma.evaluate({"run": run}, qrels, metrics, progress=False)
    by_evaluate = table.set_index(["measure", "qid"])["value"]
    for topic, expected_values in content["values"][overlap].items():
        for label, measure in measures.items():
            name, rank = label.split()
            expected = expected_values[name][int(rank) - 1]
            value = by_ir_measures[measure, topic]
            assert value == pytest.approx(expected, abs=1e-9), (topic, label)
            assert by_evaluate[label, topic] == value


# -- by hand and against the reference
# -------------------------------------------------------------------------


def test_by_hand() -> None:
    """A gain times usability is divided by the logarithm of the gains above, to the base `overlap`."""
    d1_first = {"q": {"d1": 2.0, "d2": 1.0}}
    d2_first = {"q": {"d2": 2.0, "d1": 1.0}}
    d1 = 3 * 1  # gain · usability
    d2 = 2 * 2
    assert (ONE @ 1).calc_aggregate(QRELS, d1_first) == d1
    # The base is 2, and the gain of d1 is 3.
    value = ONE.calc_aggregate(QRELS, d1_first)
    assert value == pytest.approx(d1 + d2 / math.log2(3), abs=1e-12)
    # The gain of d2 is 2, and log2(2) = 1.
    assert ONE.calc_aggregate(QRELS, d2_first) == d2 + d1
    # The logarithm of 3 to the base 3 is 1.
    assert ONE(overlap=3).calc_aggregate(QRELS, d1_first) == d1 + d2


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


def with_settings(function: Callable[..., float], *settings: Any) -> Callable[..., float]:
    """Return a function of run and judgments that calls the reference with these settings."""

    def reference_value(run: ref.Run, judgments: ref.Judgments) -> float:
        return function(run, judgments, *settings)

    return reference_value


@given(scaled_collections(min_aspects=2, zero=True), st.sampled_from([None, 1, 3]), st.data())
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int | None,
    data: st.DataObject,
) -> None:
    """Some aspects are themes, the others usabilities; two bases of the logarithm are drawn."""
    collection, aspects, reference_aspects = drawn
    names = data.draw(st.permutations(collection.names))
    n_themes = data.draw(st.integers(1, len(names) - 1))
    themes, usability = names[:n_themes], names[n_themes:]
    overlaps = data.draw(
        st.lists(st.sampled_from([1.01, 1.5, 2, 10]), min_size=2, max_size=2, unique=True)
    )
    reference_by_measure = {}
    for overlap in overlaps:
        for family, function in ((MDCU, ref.mdcu), (nMDCU, ref.nmdcu)):
            measure = family(
                themes=themes,
                usability=usability,
                overlap=overlap,
                aspects=Aspects(aspects),
                cutoff=cutoff,
            )
            reference_by_measure[measure] = with_settings(
                function, reference_aspects, themes, usability, overlap, cutoff
            )
    compare(reference_by_measure, collection)


@pytest.mark.parametrize("cutoff", [None, 1, 2, 3])
def test_collections_with_utility_against_the_reference(cutoff: int | None) -> None:
    """Of 20 topics with six judged documents, most of which have utility: more than the cutoff."""
    rng = random.Random(7)
    labels = {
        f"q{topic}": {
            f"d{document}": {"a": rng.randrange(4), "b": rng.randrange(4), "u": rng.randrange(3)}
            for document in range(6)
        }
        for topic in range(20)
    }
    run = {}
    for qid, documents in labels.items():
        retrieved = rng.sample([*documents, "x", "y"], 6)  # x and y are not judged
        run[qid] = {docno: rng.random() for docno in retrieved}
    highest_grades = {"a": 3, "b": 3, "u": 2}
    reference_aspects = {
        name: ref.ref_aspect(range(highest + 1)) for name, highest in highest_grades.items()
    }
    reference_by_measure = {}
    for overlap in (1.5, 3):
        for family, function in ((MDCU, ref.mdcu), (nMDCU, ref.nmdcu)):
            measure = family(
                themes="a,b", usability="u", overlap=overlap, aspects=highest_grades, cutoff=cutoff
            )
            reference_by_measure[measure] = with_settings(
                function, reference_aspects, ["a", "b"], ["u"], overlap, cutoff
            )
    compare(reference_by_measure, Collection(("a", "b", "u"), labels, run))


# -- the ideal
# -------------------------------------------------------------------------------------------------


def test_the_greedy_ideal_scores_exactly_1() -> None:
    """It begins with d2, which adds 2 · 2 at the first rank, where d1 would add 3 · 1."""
    greedy = {"q": {"d2": 2.0, "d1": 1.0}}
    assert NORMALISED.calc_aggregate(QRELS, greedy) == 1


@pytest.mark.slow
def test_the_optimum_can_exceed_the_greedy_ideal() -> None:
    """Of 40 random sets of judgments of four documents, by all their rankings."""
    rng = random.Random(3)
    aspects = Aspects({"a": 3, "b": 3, "u": Aspect([0, 0.5, 1])})
    measure = nMDCU(themes="a,b", usability="u", aspects=aspects)
    optima: list[float] = []
    for _ in range(40):
        labels = {
            f"d{n}": {"a": rng.randrange(4), "b": rng.randrange(4), "u": rng.choice((0, 0.5, 1))}
            for n in range(4)
        }
        # One topic per ranking, all with the same judgments.
        run = {
            f"{number:02d}": {docno: -float(rank) for rank, docno in enumerate(order)}
            for number, order in enumerate(itertools.permutations(labels))
        }
        qrels = dict.fromkeys(run, labels)
        values = ma.evaluate({"run": run}, qrels, measure, progress=False)["value"]
        if values.max() > 0:
            assert (values == 1).any()  # the greedy one
            optima.append(values.max())
    excess = [1 - 1 / optimum for optimum in optima]
    assert min(excess) >= -1e-12
    assert 0.02 < sum(excess) / len(excess) < 0.05
    assert max(excess) < 0.24


def test_the_ideal_has_as_many_ranks_as_the_cutoff() -> None:
    """The ideal is d2, which adds 2 · 2, then d1, which adds 3 · 1 / log2(2)."""
    d1_first = {"q": {"d1": 2.0, "d2": 1.0}}
    ideal_at_1 = 2 * 2
    assert (NORMALISED @ 1).calc_aggregate(QRELS, d1_first) == 3 * 1 / ideal_at_1
    ideal_at_2 = 2 * 2 + 3 * 1
    d1_and_d2 = 3 * 1 + 2 * 2 / math.log2(3)
    value = (NORMALISED @ 2).calc_aggregate(QRELS, d1_first)
    assert value == pytest.approx(d1_and_d2 / ideal_at_2)


@pytest.mark.parametrize(
    ("more_usable", "more_relevant"), [("d1", "d2"), ("d2", "d1")], ids=["d1 first", "d2 first"]
)
def test_equally_useful_documents_do_not_depend_on_their_names_or_rows(
    more_usable: str, more_relevant: str
) -> None:
    """Both documents add 8 at the first rank; that of the larger usability is the first of the ideal."""
    labels = {
        more_usable: {"relevance": 2, "plain": 4},
        more_relevant: {"relevance": 4, "plain": 2},
    }
    qrels = {"q": {"d1": labels["d1"], "d2": labels["d2"]}}
    measure = nMDCU(themes="relevance", usability="plain", aspects={"relevance": 4, "plain": 4})
    ideal = 2 * 4 + 4 * 2 / math.log2(2)  # with the other first: 4 · 2 + 2 · 4 / log2(4)
    assert measure.calc_aggregate(qrels, {"q": {more_usable: 1.0}}) == 2 * 4 / ideal


def test_of_equally_useful_documents_the_ideal_begins_with_that_of_the_larger_gain_on_the_first_theme() -> (
    None
):
    """Both documents of the topic add 3 at the first rank, and have the same usability."""
    qrels = {"q": {"d1": {"a": 0, "b": 3, "u": 1}, "d2": {"a": 1, "b": 2, "u": 1}}}
    d1_first = {"q": {"d1": 2.0, "d2": 1.0}}
    measure = nMDCU(themes="a,b", usability="u", aspects={"a": 3, "b": 3, "u": 1})
    # By theme a, d2 is first: 1 + 2, then d1, whose 3 on b is divided by log2(2).
    ideal = (1 + 2) + 3
    # d1 first: 3, then 1 on a, and 2 on b divided by log2(3).
    value = measure.calc_aggregate(qrels, d1_first)
    assert value == pytest.approx((3 + 1 + 2 / math.log2(3)) / ideal)
    # By theme b, d1 is first.
    assert measure(themes="b,a").calc_aggregate(qrels, d1_first) == 1


def test_a_given_ideal_list() -> None:
    """`ideal` is a column with the ranks of the ideal; documents without a rank are not in it."""
    by_place = NORMALISED(ideal="place")
    d1 = {"relevance": 3, "plain": 1, "place": 2}
    d2 = {"relevance": 2, "plain": 2, "place": 1}
    d1_first = {"q": {"d1": 2.0, "d2": 1.0}}
    d2_first = {"q": {"d2": 2.0, "d1": 1.0}}
    assert by_place.calc_aggregate({"q": {"d1": d1, "d2": d2}}, d2_first) == 1
    # The ideal has d1 alone, with rank 2; rank 1 is a gap.
    qrels = {"q": {"d1": d1, "d2": {**d2, "place": float("nan")}}}
    ideal = 3 * 1
    value = by_place.calc_aggregate(qrels, d1_first)
    assert value == pytest.approx((3 * 1 + 2 * 2 / math.log2(3)) / ideal)
    assert (by_place @ 1).calc_aggregate(qrels, d1_first) == 1
    assert (
        str(by_place)
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


@pytest.mark.parametrize(
    "themes", [["a,b", "c"], "c", "label", ("x y", "z"), ['"'], [" a"]], ids=repr
)
def test_names_print_so_that_they_are_read_back(themes: object) -> None:
    measure = MDCU(themes=themes, usability="u")
    assert ir_measures.parse_measure(str(measure)) == measure


def test_the_column_label_is_relevance() -> None:
    assert MDCU(themes="label", usability="u") == MDCU(themes=["relevance"], usability="u")


def test_only_the_named_columns_are_read_in_any_order() -> None:
    """ONE has the theme relevance (the column label) and the usability plain, but no further one."""
    qrels = pd.DataFrame(
        {"qid": "q", "docno": ["d1", "d2"], "other": [2, 1], "plain": [1, 2], "label": [3, 2]}
    )
    expected = ONE.calc_aggregate(QRELS, RUN)  # the same labels as dictionaries
    assert ONE.calc_aggregate(qrels, RUN) == expected
    reordered = ONE(aspects={"plain": 2, "relevance": 3})
    assert reordered.calc_aggregate(qrels, RUN) == expected


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
    """3 · 0.1 is 0.30000000000000004, but ties with 1 · 0.3, whose usability is larger."""
    aspects = {"jazz": 3, "credibility": Aspect([0, 0.1, 0.3])}
    qrels = {"q": {"a": {"jazz": 3, "credibility": 0.1}, "b": {"jazz": 1, "credibility": 0.3}}}
    measure = nMDCU(themes="jazz", usability="credibility", aspects=aspects)
    b_first = {"q": {"b": 2.0, "a": 1.0}}
    assert measure.calc_aggregate(qrels, b_first) == pytest.approx(1, abs=1e-12)
    ideal = 1 * 0.3 + 3 * 0.1  # the gain of b is 1, whose logarithm does not reduce a
    a_first = {"q": {"a": 2.0, "b": 1.0}}
    value_of_a_first = 3 * 0.1 + 1 * 0.3 / math.log2(3)
    assert measure.calc_aggregate(qrels, a_first) == pytest.approx(
        value_of_a_first / ideal, abs=1e-12
    )


def test_documents_that_are_nearly_equally_useful_are_no_ties() -> None:
    """a adds 0.300001 at the first rank, b 0.3: the ideal begins with a, whatever follows.

    The ideal is greedy: it is not the best, as the gain of a reduces b by log2(3.00001), and the
    gain of b does not reduce a.
    """
    aspects = {"jazz": Aspect([0, 1, 3, 3.00001]), "credibility": Aspect([0, 0.1, 0.3])}
    a = {"jazz": 3.00001, "credibility": 0.1}
    b = {"jazz": 1, "credibility": 0.3}
    measure = nMDCU(themes="jazz", usability="credibility", aspects=aspects)
    a_first = {"q": {"a": 2.0, "b": 1.0}}
    b_first = {"q": {"b": 2.0, "a": 1.0}}
    assert measure.calc_aggregate({"q": {"a": a, "b": b}}, a_first) == 1
    assert measure.calc_aggregate({"q": {"a": a, "b": b}}, b_first) > 1
