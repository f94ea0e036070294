"""Classic single-aspect measures: worked examples, definitions, ranges and doors."""

from __future__ import annotations

import itertools
import math
import statistics

import ir_measures
import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, R, nDCG
from scipy.stats import spearmanr
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    CG,
    DCG,
    ESL,
    MM,
    NGRE,
    NLRE,
    TOMA,
    Aspect,
    Aspects,
    CoverageRatio,
    Frustration,
    HarmfulCompat,
    HelpfulCompat,
    HelpfulMinusHarmful,
    MultiAspectError,
    NoveltyRatio,
    On,
    Order,
    RecallEffort,
    RelativeRecall,
    Satisfaction,
)
from pt_multiaspect.evaluation.topics import counted_topics

pytestmark = pytest.mark.filterwarnings(
    "ignore:(the threshold of|no label of|every judged document):pt_multiaspect.MultiAspectWarning"
)

SINGLE = [
    CG, CG @ 2, DCG, DCG(dcg="exp-log2") @ 3, DCG(dcg="jarvelin"), CoverageRatio,
    CoverageRatio(rel=2), NoveltyRatio @ 2, RelativeRecall(expected=2), RecallEffort(expected=2) @ 4,
    RecallEffort(expected=1), ESL, ESL(wanted=3), Satisfaction, Satisfaction @ 2, Frustration, Frustration @ 2,
    HelpfulCompat, HarmfulCompat, HelpfulMinusHarmful(p=0.5),
]  # fmt: skip


def ranking(*documents: str) -> dict[str, float]:
    return {document: 100.0 - rank for rank, document in enumerate(documents)}


def perquery(measure, qrels, run) -> dict[str, float]:
    return {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}


# --- the worked examples of the slides --------------------------------------------------------


def document_names(*numbers: int) -> list[str]:
    return [f"d{number}" for number in numbers]


SLIDES_RUN = {
    "q1": ranking(*document_names(123, 84, 56, 6, 8, 9, 511, 129, 187, 25, 38, 48, 250, 113, 3)),
    "q2": ranking(
        *document_names(425, 87, 56, 32, 124, 615, 512, 129, 4, 130, 193, 715, 810, 5, 3)
    ),
}
SLIDES_QRELS = {
    "q1": dict.fromkeys(document_names(3, 5, 9, 25, 39, 44, 56, 71, 89, 123), 1),
    "q2": dict.fromkeys(document_names(3, 56, 129), 1),
}


def test_precision_recall_tables_and_mrr():
    precision = {k: perquery(P @ k, SLIDES_QRELS, SLIDES_RUN)["q1"] for k in (1, 3, 6, 10, 15)}
    assert precision == pytest.approx({1: 1, 3: 2 / 3, 6: 0.5, 10: 0.4, 15: 1 / 3})
    recall = {k: perquery(R @ k, SLIDES_QRELS, SLIDES_RUN)["q1"] for k in (1, 3, 6, 10, 15)}
    assert recall == pytest.approx({1: 0.1, 3: 0.2, 6: 0.3, 10: 0.4, 15: 0.5})
    assert perquery(P @ 8, SLIDES_QRELS, SLIDES_RUN)["q2"] == 0.25
    # The slides print .28, a sum of truncated terms.
    assert perquery(AP, SLIDES_QRELS, SLIDES_RUN)["q1"] == pytest.approx(
        (1 + 2 / 3 + 0.5 + 0.4 + 1 / 3) / 10
    )
    assert perquery(AP, SLIDES_QRELS, SLIDES_RUN)["q2"] == pytest.approx(
        (1 / 3 + 2 / 8 + 3 / 15) / 3
    )
    assert round((On(base=RR) @ 3).calc_aggregate(SLIDES_QRELS, SLIDES_RUN), 2) == 0.67


def test_spearman_s_exercise():
    first, second = range(1, 11), [2, 3, 1, 5, 4, 7, 8, 10, 6, 9]
    squares = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    assert squares == 24
    assert (
        round(1 - 6 * squares / (10 * 99), 4)
        == round(spearmanr(first, second).statistic, 4)
        == 0.8545
    )


def test_dcg_s_exercise():
    """The slides print sums of rounded terms: 13.846, 14.588 and .949."""
    labels = dict(zip("abcdef", [3, 2, 3, 0, 1, 2], strict=True))
    qrels, run, ideal = {"q": labels}, {"q": ranking(*"abcdef")}, {"q": ranking(*"acbfed")}
    exponential = DCG(dcg="exp-log2")
    assert exponential.calc_aggregate(qrels, run) == pytest.approx(13.848264, abs=5e-7)
    assert exponential.calc_aggregate(qrels, ideal) == pytest.approx(14.595391, abs=5e-7)
    assert On(base=nDCG(dcg="exp-log2")).calc_aggregate(qrels, run) == pytest.approx(
        0.948811, abs=5e-7
    )
    assert CG.calc_aggregate(qrels, run) == 11
    assert DCG(dcg="jarvelin").calc_aggregate(qrels, run) == pytest.approx(
        3 + 2 / 1 + 3 / math.log2(3) + 1 / math.log2(5) + 2 / math.log2(6)
    )
    assert (DCG @ 3).calc_aggregate(qrels, run) == pytest.approx(3 + 2 / math.log2(3) + 3 / 2)


# --- user-oriented measures against sets ------------------------------------------------------

labels = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.fixed_dictionaries(
        {"relevance": st.integers(-1, 2), "known": st.sampled_from([0, 1, None])}
    ),
    min_size=1,
)
runs = st.dictionaries(st.sampled_from("abcdefghijk"), st.sampled_from([1.0, 2.0, 3.0]))


def fraction(part, whole):
    """The size of a part over that of the whole; 0 if there is nothing."""
    return len(part) / len(whole) if whole else 0.0


def by_rank(scores):
    """Documents by score, descending, ties by name, descending."""
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)


@pytest.mark.slow
@given(
    labels, runs, st.integers(1, 4), st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, 2])
)
def test_user_oriented_measures_are_what_they_say(judged, scores, expected, cutoff, rel):
    """Ratios of retrieved, relevant and known documents, given how many relevant ones are expected."""
    relevant = {doc for doc, label in judged.items() if label["relevance"] >= (rel or 1)}
    known = {doc for doc, label in judged.items() if label["known"]}
    returned = by_rank(scores)[:cutoff]
    retrieved = [doc for doc in returned if doc in relevant]
    new = [doc for doc in retrieved if doc not in known]
    known_and_retrieved = [doc for doc in retrieved if doc in known]
    # The ranks of relevant documents: as many as expected are found at the expected-th one.
    ranks = [rank for rank, doc in enumerate(returned, 1) if doc in relevant]
    effort = expected / ranks[expected - 1] if len(ranks) >= expected else 0.0

    options = {"cutoff": cutoff} if rel is None else {"cutoff": cutoff, "rel": rel}
    values = {
        CoverageRatio(**options): fraction(known_and_retrieved, known & relevant),
        NoveltyRatio(**options): fraction(new, retrieved),
        RelativeRecall(expected=expected, **options): len(retrieved) / expected,
        RecallEffort(expected=expected, **options): effort,
        Satisfaction(**options): fraction(retrieved, returned),
        Frustration(**options): 1 - fraction(retrieved, returned),
    }
    for measure, value in values.items():
        assert perquery(measure, {"q": judged}, {"q": scores}) == {
            "q": pytest.approx(value, abs=1e-12)
        }


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1), min_size=1),
    st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 2.0]), max_size=6),
    st.integers(1, 4),
)
def test_esl_is_the_expectation_over_orders_of_tied_documents(judged, scores, wanted):
    """ESL counts the documents without relevance before the last relevant one that is wanted."""
    relevant = {doc for doc, label in judged.items() if label}
    documents = sorted({*judged, *scores})
    # Judged documents that are not retrieved are tied below all others.
    level = {doc: scores.get(doc, -math.inf) for doc in documents}
    n_needed = min(wanted, len(relevant))

    def search_length(order):
        n_found = n_not_relevant = 0
        for doc in order:
            if relevant and n_found == n_needed:
                break
            if doc in relevant:
                n_found += 1
            else:
                n_not_relevant += 1
        return n_not_relevant

    lengths = []
    for order in itertools.permutations(documents):
        levels = [level[doc] for doc in order]
        if levels == sorted(levels, reverse=True):
            lengths.append(search_length(order))
    value = perquery(ESL(wanted=wanted), {"q": judged}, {"q": scores})
    assert value == {"q": pytest.approx(statistics.fmean(lengths), abs=1e-9)}


def test_documents_of_different_topics_are_not_tied():
    """The last score of each topic is the first one of the next."""
    qrels = {"q1": {"a": 0, "b": 1, "c": 1}, "q2": {"a": 0, "b": 1, "c": 0}, "q3": {"a": 1, "b": 0}}
    run = {
        "q1": {"a": 3.0, "b": 2.0, "c": 1.0},
        "q2": {"a": 1.0, "b": 1.0, "c": 0.5},
        "q3": {"b": 0.5, "a": 0.25},
    }
    for wanted in (1, 2):
        alone = {
            qid: perquery(ESL(wanted=wanted), {qid: qrels[qid]}, {qid: run[qid]})[qid]
            for qid in qrels
        }
        assert perquery(ESL(wanted=wanted), qrels, run) == alone
    assert perquery(ESL(wanted=2), qrels, run)["q1"] == 1


# --- compatibility ----------------------------------------------------------------------------


preferences = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(-2, 4), min_size=1)
rankings = st.permutations("abcdefghijklm").flatmap(
    lambda docs: st.integers(0, 13).map(lambda n: ranking(*docs[:n]))
)


@given(preferences, rankings, st.sampled_from([0.95, 0.5, 0.0]))
@examples(40)
def test_compatibility_is_rank_biased_overlap(weights, run, p):
    helpful = ref.compatibility(run, weights, p)
    harmful = ref.compatibility(run, {doc: -weight for doc, weight in weights.items()}, p)
    qrels = {"q": weights}
    assert perquery(HelpfulCompat(p=p), qrels, {"q": run})["q"] == pytest.approx(helpful, abs=1e-12)
    assert perquery(HarmfulCompat(p=p), qrels, {"q": run})["q"] == pytest.approx(harmful, abs=1e-12)
    assert perquery(HelpfulMinusHarmful(p=p), qrels, {"q": run})["q"] == pytest.approx(
        helpful - harmful, abs=1e-12
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("n_below", [0, 1, 10, 996, 997, 2000])  # overlaps count down to rank 1000
def test_unjudged_documents_below_change_no_compatibility(n_below):
    """The value is the same with any number of unjudged documents at the end of the ranking."""
    qrels = {"q": {"h1": 2, "h2": 1, "h3": 1, "bad": -1}}
    below = [f"y{number}" for number in range(n_below)]
    run = {"q": ranking("x1", "h1", "x2", "h2", *below)}

    value = perquery(HelpfulCompat, qrels, run)["q"]

    assert value == pytest.approx(0.505493, abs=5e-7)  # without any document below
    # No harmful document is retrieved, so that the harm is 0.
    explained = HelpfulMinusHarmful.explain(run, qrels, "q")
    assert explained.value == value
    assert explained.ranks["contribution"].sum() == pytest.approx(explained.value, abs=1e-12)


def test_compatibility_ends_at_rank_1000():
    qrels = {"q": {"good": 1}}
    above = [f"x{number}" for number in range(1000)]
    assert perquery(HelpfulCompat, qrels, {"q": ranking(*above, "good")})["q"] == 0
    last = perquery(HelpfulCompat(p=0.999), qrels, {"q": ranking(*above[:999], "good")})["q"]
    assert last == pytest.approx(
        ref.compatibility(ranking(*above[:999], "good"), qrels["q"], 0.999), rel=1e-9
    )
    many = {f"d{number:04d}": 1 for number in range(1200)}
    assert perquery(HelpfulCompat, {"q": many}, {"q": ranking(*many)})["q"] == 1


@given(st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 4), min_size=1), rankings)
def test_the_base_compat_keeps_the_value_of_ir_measures(weights, run):
    if run:
        theirs = (
            perquery(ir_measures.Compat, {"q": weights}, {"q": run})["q"]
            if any(weights.values())
            else 0.0
        )
        aspects = Aspects({"relevance": 4})
        assert perquery(On(base="Compat", aspects=aspects), {"q": weights}, {"q": run})[
            "q"
        ] == pytest.approx(theirs)


def test_orders_say_what_is_harmful():
    """Labels with a negative weight in the order are harmful, those with a positive one helpful."""
    order = Order(
        {(0, 0): 0, (0, 1): 0, (1, 0): -1, (1, 1): 2},
        ["relevance", "correctness"],
        name="harm",
        allow_violations=True,
    )
    qrels = {"q": {"helpful": (1, 1), "harmful": (1, 0), "neither": (0, 1)}}
    run = {"q": ranking("harmful", "helpful")}
    measure = HelpfulMinusHarmful(order="harm")
    assert measure == HelpfulMinusHarmful(order=order)
    assert ir_measures.parse_measure(str(measure)) == measure

    # Compatibility sums the overlap p^(k-1) / k with the ideal ranking over depths k, here of one
    # document, and divides it by that of the ideal ranking with itself.
    overlaps = [0.95 ** (k - 1) / k for k in range(1, 1001)]
    helpful = sum(overlaps[1:]) / sum(overlaps)  # from rank 2 on
    harmful = 1  # from rank 1 on
    assert measure.calc_aggregate(qrels, run) == pytest.approx(helpful - harmful)


# --- all of them ------------------------------------------------------------------------------


@given(labels, runs)
@examples(25)
def test_ranges(judged, scores):
    for measure in SINGLE:
        low, high = measure.RANGE
        (value,) = perquery(measure, {"q": judged}, {"q": scores}).values()
        assert low - 1e-12 <= value <= high + 1e-12, measure


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (On(aspect="credibility", base=ESL), 1),  # a precedes the credible document
        (CAM(base="Satisfaction", aspects={"relevance": 1, "credibility": 1}), (1 / 2 + 1 / 2) / 2),
        # The harmonic mean of 1 and 1.
        (MM(base=CG, aspects={"relevance": 1, "credibility": 1}), 1),
        # Both documents have one of two aspects: the same class, 1, as gain.
        (
            TOMA(base=DCG @ 2, aspects={"relevance": 1, "credibility": 1}),
            1 / math.log2(1 + 1) + 1 / math.log2(2 + 1),
        ),
        # Both documents are positive, of four that are expected.
        (
            TOMA(base="RelativeRecall(expected=4)", aspects={"relevance": 1, "credibility": 1}),
            2 / 4,
        ),
    ],
    ids=["On", "CAM", "MM", "TOMA of DCG", "TOMA of RelativeRecall"],
)
def test_on_other_aspects_and_as_bases(measure, expected):
    qrels = {
        "q": {"a": {"relevance": 1, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    }
    value = measure.calc_aggregate(qrels, {"q": ranking("a", "b")})
    assert value == pytest.approx(expected)


def test_in_strings():
    assert str(CAM(base=DCG(dcg="jarvelin") @ 5)) == "CAM(base=\"DCG(dcg='jarvelin')\")@5"
    qrels = {
        "q": {"a": {"relevance": 1, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    }
    run = {"q": ranking("a", "b")}
    table = ma.evaluate(run, qrels, ["ESL(wanted=2)", "CAM(base='CG')@1"], progress=False)
    esl, cam = table["value"]
    assert esl == 0.0  # a is the only relevant document, and comes first
    assert cam == (1 + 0) / 2


def test_a_threshold_decides_what_is_relevant():
    aspects = Aspects({"relevance": Aspect([0, 1, 2], threshold=2)})
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": ranking("a", "b")}
    assert Satisfaction.calc_aggregate(qrels, run) == 1
    assert On(base=Satisfaction, aspects=aspects).calc_aggregate(qrels, run) == 0.5
    assert On(base=Satisfaction(rel=1), aspects=aspects).calc_aggregate(qrels, run) == 1


QRELS = {"q": {"a": 1}}


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: RelativeRecall(expected=0), ["RelativeRecall", "expected", "at least 1", "0"]),
        (
            lambda: RelativeRecall(expected=2**53 + 1),
            ["expected", f"from 1 to {2**53}", f"{2**53 + 1}"],
        ),
        (lambda: RecallEffort(expected=-1), ["RecallEffort", "expected", "-1"]),
        (lambda: RecallEffort(expected=1.5), ["expected", "1.5"]),
        (
            lambda: RelativeRecall.calc_aggregate(QRELS, QRELS),
            ["RelativeRecall requires expected", "expected=..."],
        ),
        (
            lambda: CAM(base=RelativeRecall).calc_aggregate(QRELS, QRELS),
            ["CAM", "RelativeRecall", "expected"],
        ),
        (lambda: ESL(wanted=2**53 + 1), ["wanted", f"at most {2**53}", f"{2**53 + 1}"]),
        (lambda: Satisfaction(rel=2**53 + 1), ["rel", f"from 0 to {2**53}", f"{2**53 + 1}"]),
        (lambda: ESL(wanted=0), ["ESL", "wanted", "0"]),
        (
            lambda: CoverageRatio.calc_aggregate(QRELS, QRELS),
            ["CoverageRatio", "column known", "relevance"],
        ),
        (
            lambda: CAM(base=NoveltyRatio, aspects="label").calc_aggregate(QRELS, QRELS),
            ["CAM", "NoveltyRatio", "known"],
        ),
        (lambda: CAM(base=HelpfulCompat), ["CAM", "multi-aspect", "HelpfulCompat"]),
        (lambda: DCG(dcg="log10"), ["DCG", "log10", "jarvelin"]),
        (
            lambda: TOMA(base=DCG(dcg="exp-log2"), weighting="exponential"),
            ["TOMA", "exponentiates", "classes"],
        ),
        (lambda: CAM(base=Satisfaction, normalized=True), ["CAM", "normalized", "Satisfaction"]),
        (lambda: HelpfulCompat(order="euclidean"), ["HelpfulCompat", "Order", "euclidean"]),
        (lambda: HelpfulCompat(p=1), ["HelpfulCompat", "p", "below 1"]),
        (lambda: HarmfulCompat(p=-0.1), ["HarmfulCompat", "p", "at least 0", "-0.1"]),
        (lambda: Satisfaction(rel=-1), ["Satisfaction", "rel", "-1"]),
        (lambda: ESL(aspects="relevance"), ["ESL", "expected parameters", "wanted", "got aspects"]),
    ],
)
def test_bad_input(make, parts):
    with pytest.raises(MultiAspectError) as caught:
        make()
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_documents_without_a_label_are_not_judged():
    """ESL counts judged documents that are not retrieved, as if they followed; z is not judged."""
    run = {"q1": {"x": 1.0}}
    without_label = {"q1": {"z": {"relevance": None}, "a": {"relevance": 1}}}
    without_z = {"q1": {"a": 1}}
    assert ESL.calc_aggregate(without_label, run) == ESL.calc_aggregate(without_z, run)

    nothing_relevant = {"q1": {"z": {"relevance": None}, "a": {"relevance": 0}}}
    assert ESL.calc_aggregate(nothing_relevant, run) == 2.0  # x and a


def test_documents_without_labels_are_not_harmful():
    qrels = {
        "q1": {
            "z": {"relevance": None, "credibility": None},
            "a": {"relevance": 0, "credibility": 0},
        }
    }
    harmful_without_any = Order(
        {(0, 0): -2, (1, 0): 0, (0, 1): 0, (1, 1): 1},
        ["relevance", "credibility"],
        allow_violations=True,
    )
    measure = HarmfulCompat(order=harmful_without_any)
    assert measure.calc_aggregate(qrels, {"q1": {"z": 1.0}}) == 0
    assert measure.calc_aggregate(qrels, {"q1": {"a": 1.0}}) == 1


@pytest.mark.parametrize("measure", [NLRE, NGRE], ids=str)
def test_further_aspects_have_constants_of_their_own(measure):
    """`mu` is the constant of the first aspect, `nu` that of the second, both 0.5 by default."""
    qrels = {
        "q1": {"a": {"relevance": 0, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    }
    run = {"q1": {"a": 2.0, "b": 1.0}}
    aspects = {"relevance": 1, "credibility": 1}
    by_aspect = measure(mu={"relevance": 0}, aspects=aspects)
    by_name = measure(mu=0, nu=0.5, aspects=aspects)
    assert by_aspect.calc_aggregate(qrels, run) == by_name.calc_aggregate(qrels, run)


def test_not_all_constants_may_be_0():
    with pytest.raises(MultiAspectError, match="at least one constant"):
        NLRE(mu={"relevance": 0, "credibility": 0}, aspects={"relevance": 1, "credibility": 1})


def test_help_minus_harm_counts_topics_with_both() -> None:
    qrels = {"both": {"a": 2, "b": -1}, "help": {"a": 1}, "harm": {"a": -1}}
    judgments = ma.Judgments(
        {q: {d: {"relevance": n} for d, n in docs.items()} for q, docs in qrels.items()}
    )
    counted = counted_topics({"difference": ma.HelpfulMinusHarmful}, judgments, "positive")[
        "difference"
    ]
    assert dict(zip(judgments.qids, counted, strict=True)) == {
        "both": True,
        "help": False,
        "harm": False,
    }
