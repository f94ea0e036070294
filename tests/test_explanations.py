"""Explanations: contributions sum to the value of the evaluation, whatever the measure and the collection."""

from __future__ import annotations

import re
from io import StringIO

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import BASES, Collection, collections, examples, forget_warnings, orders

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, TOMA, On
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.explanation.contributions import Contributions, Prefixes
from pt_multiaspect.measures import ALL, DirectMeasure
from pt_multiaspect.views import decimals

BOTH = {"relevance": 3, "credibility": 3}

# -- measures of users: a mean without slope, a joint measure, direct measures, a linear one above
# its range ----


class _Weakest(ma.AspectMean):
    """The lowest value of any aspect; without a slope."""

    def combine(self, values, weights):
        return values.min(axis=0)


class _SmallestGain(ma.JointMeasure):
    """DCG of the lowest gain of any aspect."""

    def base(self):
        return ma.DCG if self.cutoff is None else ma.DCG @ self.cutoff

    def joint(self, views):
        return ma.Joint(np.min([view.target.gain for view in views], axis=0))


class _Agreement(DirectMeasure):
    """The fraction of the retrieved documents that is positive on all aspects or on none."""

    SUPPORTED_PARAMS = {"aspects": ma.params.ASPECTS, "cutoff": ma.params.CUTOFF}

    def score(self, rankings, views):
        hits = rankings.top(self.cutoff)
        positive = np.sum([view.positive for view in views], axis=0)
        agree = (positive == 0) | (positive == len(views))
        return (1.0 + hits.total(agree[hits.row])) / (1.0 + hits.n_ret)


class _Capped(ma.LinearMeasure):
    """The sum of the gains, which the range limits to 1."""

    SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}

    def linear(self, target):
        return ma.forms.Linear(target, target.gain, ma.forms.Flat(), depth=self.cutoff)


class _AmongAll(DirectMeasure):
    """The number of documents retrieved over that of all queries, which no measure should depend on."""

    SUPPORTED_PARAMS = {"aspects": ma.params.ASPECTS}

    def score(self, rankings, views):
        return rankings.hits.n_ret / (1.0 + len(rankings.judgments))


@pytest.fixture(scope="module", autouse=True)
def _register_measures():
    kinds = (_Weakest, _SmallestGain, _Agreement, _Capped, _AmongAll, _SlopeOfOne)
    measures = [ma.register(kind) for kind in kinds]
    yield
    for measure in measures:
        ir_measures.measures.registry.pop(measure.NAME)


# -- what is printed
# -------------------------------------------------------------------------------------------

SHORT = {"a": 3, "b": 2}


def ranked_labels(
    n_documents: int,
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, dict[str, int]]]]:
    """A run and judgments of one topic, with names of many lengths."""
    labels = {f"d{10**n}": {"a": n % 4, "b": n % 3} for n in range(n_documents)}
    return {"q": {docno: -float(n) for n, docno in enumerate(labels)}}, {"q": labels}


@pytest.mark.parametrize(
    ("measure", "columns"),
    [
        (TOMA(aspects=SHORT), "a b class distance discount"),
        (TOMA(base="P", aspects=SHORT) @ 3, "a b class distance gain"),  # of one discount
        (On(aspect="a", base="DCG", aspects=SHORT), "a gain discount"),
        (CAM(aspects=SHORT), "a b a part b part"),
    ],
    ids=str,
)
def test_columns_are_those_that_tell_something(measure: ma.Measure, columns: str) -> None:
    lines = str(measure.explain(*ranked_labels(6), "q")).split("\n")
    head = next(" ".join(line.split()) for line in lines if line.startswith("rank "))
    assert head == f"rank docno {columns} contribution running"


def test_the_five_costliest_errors_are_printed() -> None:
    explained = ma.NLRE(aspects=SHORT).explain(*ranked_labels(14), "q")
    assert len(explained.swaps) > 5  # sorted, the costliest first
    text = str(explained)

    head, *rows = text[text.index("ranks  above") :].split("\n")

    assert len(rows) == 5
    start_of_above = head.index("above")
    start_of_below = head.index("below")
    costliest = explained.swaps.head(5)
    for row, above, below in zip(rows, costliest["docno"], costliest["next_docno"], strict=True):
        assert row[start_of_above:].startswith(f"{above} ")
        assert row[start_of_below:].startswith(f"{below} ")


# -- the sums
# --------------------------------------------------------------------------------------------------


def declare_scales(measure: ma.Measure) -> ma.Measure:
    """The measure on declared scales, if it takes any."""
    if measure.SINGLE_ASPECT:
        return On(base=measure, aspects=BOTH)
    if "aspects" not in measure.SUPPORTED_PARAMS or (
        measure.NAME == "TOMA" and measure["order"] is not None
    ):
        return measure
    return measure(aspects=BOTH)


def complete(measure: ma.Measure) -> ma.Measure:
    """The measure with the parameters that it requires."""
    required = {"expected": 2, "themes": "relevance", "usability": "credibility"}
    required["measures"] = {"TOMA": 2, "CAM(base='AP')": 1, "uRBP": 0.5}
    return measure(
        **{name: value for name, value in required.items() if name in measure.SUPPORTED_PARAMS}
    )


def check(measure: ma.Measure, collection: Collection, depth: int = 100) -> None:
    """Compare the explanation of every topic with the evaluation."""
    qrels = collection.qrels.assign(known=lambda frame: np.arange(len(frame)) % 2)
    run = collection.run_frame
    if not set(run["query_id"]) & set(qrels["query_id"]):
        return  # refused, as by an evaluation
    judgments = ma.Judgments(qrels)
    rankings = Rankings(run, judgments)
    values = dict(zip(judgments.qids, measure.evaluate(rankings).tolist(), strict=True))
    batch = Contributions.of(measure, Prefixes(rankings, 4))
    for index, (qid, value) in enumerate(values.items()):
        explanation = measure.explain(run, judgments, qid, depth=depth)
        ranks = explanation.ranks
        singles = ranks[ranks["rank"].notna()].head(4)
        assert batch.value[index] == value
        contributions = batch.ranks[index]
        np.testing.assert_allclose(
            contributions[: len(singles)], singles["contribution"], rtol=1e-9, atol=1e-12
        )
        assert not contributions[len(collection.run.get(qid, {})) :].any()
        assert batch.offset[index] == pytest.approx(explanation.offset, abs=1e-12, rel=1e-12)
        assert (
            batch.marginal[index] == (explanation.ranks["how"] == "marginal").any() or ranks.empty
        )
        assert explanation.value == value
        total = explanation.offset + ranks["contribution"].sum()
        assert total == pytest.approx(value, abs=1e-12, rel=1e-12)
        assert np.isfinite(ranks["contribution"]).all()
        if len(ranks):
            assert ranks["running"].iloc[-1] == pytest.approx(value, abs=1e-12, rel=1e-12)
        retrieved = list(ranks["docno"].dropna())
        n_single = len(collection.run.get(qid, {}))
        assert ranks["rank"].dropna().tolist() == list(range(1, len(retrieved) + 1))
        assert len(retrieved) in (n_single, min(n_single, depth))
        parts = [column for column in ranks.columns if column.endswith(" part")]
        if parts:
            np.testing.assert_allclose(ranks[parts].sum(axis=1), ranks["contribution"], atol=1e-12)
        assert max(map(len, str(explanation).split("\n"))) <= 80
        assert "<div" in explanation._repr_html_()
        if explanation.shortfall is not None:
            short = explanation.ideal.value - value
            assert explanation.shortfall["shortfall"].sum() == pytest.approx(
                short, abs=1e-12, rel=1e-12
            )
        other = measure.explain({qid: {"d9": 1.0, "d2": 1.0}}, judgments, qid, depth=depth)
        compared = explanation.compare(other)
        difference = pytest.approx(value - other.value, abs=1e-12, rel=1e-12)
        assert compared.documents["difference"].sum() == difference
        assert compared.ranks["difference"].sum() == difference
        assert max(map(len, str(compared).split("\n"))) <= 80
        if explanation.aspects["part"].notna().all():
            assert explanation.aspects["part"].sum() == pytest.approx(value, abs=1e-9)


SOME = {
    "min_aspects": 2,
    "max_aspects": 2,
    "grades": (0, 1, 2, 3),
    "max_queries": 2,
    "max_judged": 5,
}


@pytest.mark.every(4)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("measure", ALL, ids=str)
def test_contributions_of_every_measure(measure: ma.Measure) -> None:
    @examples(5)
    @given(collections(**SOME), st.sampled_from([None, 1, 3]), st.sampled_from([1, 2, 100]))
    def check_worlds(collection: Collection, cutoff: int | None, depth: int) -> None:
        metric = complete(measure)
        if cutoff is not None and "cutoff" in metric.SUPPORTED_PARAMS:
            metric = metric @ cutoff
        check(declare_scales(metric), collection, depth)

    check_worlds()


FOR_BASES = [
    On,
    TOMA,
    TOMA(weighting="exponential"),
    CAM,
    CAM(weights={"relevance": 3, "credibility": 1}),
    MM,
    GAM,
]
OWN_BASES = (
    "ESL",
    "CRP",
    "nCRP",
    "DCG",
    "Satisfaction",
    "Frustration",
    "RecallEffort(expected=2)",
    "CoverageRatio",
)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@examples(22)
@given(
    collections(**SOME),
    st.sampled_from(FOR_BASES),
    st.sampled_from((*BASES, *OWN_BASES)),
    st.integers(1, 5),
)
def test_contributions_of_every_base(
    collection: Collection, measure: ma.Measure, base: str, depth: int
) -> None:
    try:
        measure = measure(base=base)
    except ma.MultiAspectError:
        return  # such as the harmonic mean of negative values
    check(declare_scales(measure), collection, depth)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@examples(18)
@given(
    collections(**SOME),
    st.sampled_from(
        [
            "CAM(normalized=True)", "CAM(base='P@2',normalized=True)", "MM(empty='drop')", "GAM(empty='drop')",
            "CAM(base={'relevance':'nDCG','credibility':'SetF'})",
            "MM(base={'relevance':'AP','credibility':'R@2'})",
            "Weakest", "Weakest(base='ESL')", "SmallestGain@2", "Agreement", "Agreement@2", "Capped", "Capped@2",
            "CAM(base='Capped')", "NWCS(ideal='judged')", "NWCS(ideal='separate')", "NLRE(mu=0)", "NGRE(nu=3)",
            "uRBP(p=0.3)", "unDCG(s=40)", "uERR(s=3)", "HelpfulMinusHarmful(p=0.5)", "AmongAll",
        ]
    ),
    st.integers(1, 5),
)  # fmt: skip
def test_contributions_of_parameters_and_of_measures_of_users(
    collection: Collection, measure: str, depth: int
) -> None:
    check(declare_scales(ir_measures.parse_measure(measure)), collection, depth)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@examples(8)
@given(collections(**{**SOME, "grades": [(0, 1, 2), (0, 1)], "junk": False}), orders())
def test_contributions_of_explicit_orders(collection: Collection, order: ma.Order) -> None:
    for measure in (TOMA(order=order), ma.HelpfulMinusHarmful(order=order)):
        check(measure, collection)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@examples(6)
@given(collections(fractional=False, max_queries=3, min_aspects=2))
def test_scales_are_inferred_from_all_topics(collection: Collection) -> None:
    """With the scale of the topic alone, TOMA of a topic without the top grade were another number."""
    for measure in (TOMA, CAM, ma.uERR, ma.NLRE):
        check(measure, collection)


# -- what it shows
# ---------------------------------------------------------------------------------------------

QRELS = pd.DataFrame(
    {
        "qid": ["q1"] * 4 + ["q2"],
        "docno": ["d1", "d2", "d3", "d4", "d1"],
        "relevance": [2, 1, 0, 2, 1],
        "credibility": [0, 1, 1, 1, 1],
    }
)
RUN = {"q1": {"d3": 5.0, "new": 4.0, "d2": 3.0, "d1": 2.0}}
TWO = {"relevance": 2, "credibility": 1}


def test_columns_of_toma() -> None:
    """The table has each document's labels, its distance from the best labels, its class and gain."""
    qrels = pd.DataFrame(
        {
            "qid": "q1",
            "docno": ["d1", "d2", "d3", "d4"],
            "relevance": [2, 1, 0, 2],
            "credibility": [0, 1, 1, 1],
        }
    )
    run = {"q1": {"d3": 4.0, "new": 3.0, "d2": 2.0, "d1": 1.0}}
    toma = TOMA(aspects={"relevance": 2, "credibility": 1}, distance="manhattan")

    explanation = toma.explain(run, qrels, "q1")

    ranks = explanation.ranks
    assert ranks["rank"].tolist() == [1, 2, 3, 4]
    assert ranks["docno"].tolist() == ["d3", "new", "d2", "d1"]
    assert ranks["note"].tolist() == ["", "unjudged", "", ""]
    assert set(ranks["how"]) == {"stated"}
    missing = -1  # of the unjudged document
    assert ranks["relevance"].fillna(missing).tolist() == [0, missing, 1, 2]
    # Each aspect has length 1. d3 lacks all of the relevance, d2 half, d1 all of the credibility.
    assert ranks["distance"].fillna(missing).tolist() == [1, missing, 0.5, 1]
    # The distances 2, 1.5, 1, 0.5 and 0 are the classes 0 to 4.
    assert ranks["class"].fillna(missing).tolist() == [2, missing, 3, 2]
    # As in nDCG, gains and discounts are divided by the DCG of the ideal ranking.
    ideal_dcg = explanation.ideal.ranks["gain"] @ explanation.ideal.ranks["discount"]
    np.testing.assert_allclose(ranks["gain"] * ranks["discount"] / ideal_dcg, ranks["contribution"])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("parameters", "distance_of_lowest"),
    [
        # Without other axes, weights or gains, the length of each of the two aspects is 1.
        ({"distance": "manhattan"}, 1 + 1),
        ({}, (1**2 + 1**2) ** 0.5),  # Euclidean
        ({"distance": "chebyshev"}, max(1, 1)),
        ({"distance": 3}, (1**3 + 1**3) ** (1 / 3)),  # Minkowski
        ({"axes": "gains"}, (2**2 + 1**2) ** 0.5),  # the top grades are 2 and 1
        ({"weights": {"relevance": 3, "credibility": 4}}, (3**2 + 4**2) ** 0.5),
        ({"weighting": "normalized"}, (1**2 + 1**2) ** 0.5),  # changes gains, not distances
    ],
    ids=str,
)
def test_distances_are_those_of_the_labels(parameters: dict, distance_of_lowest: float) -> None:
    qrels = {
        "q": {
            "highest": {"relevance": 2, "credibility": 1},
            "lowest": {"relevance": 0, "credibility": 0},
        }
    }
    run = {"q": {"highest": 2.0, "lowest": 1.0}}
    toma = TOMA(aspects={"relevance": 2, "credibility": 1}, **parameters)

    ranks = toma.explain(run, qrels, "q").ranks

    assert ranks["distance"].tolist() == pytest.approx([0, distance_of_lowest])


def test_products_of_probabilities() -> None:
    aspects = {"relevance": 1, "understandability": ma.Aspect(3, probabilities=[0, 0.4, 0.8, 1])}
    qrels = {
        "q": {
            "a": {"relevance": 1, "understandability": 1},
            "b": {"relevance": 1, "understandability": 2},
        }
    }
    run = {"q": {"a": 2.0, "b": 1.0}}
    for measure in (
        ma.uRBPgr(aspects=aspects),
        ma.unDCG(aspects=aspects),
        ma.uERR(aspects=aspects),
    ):
        assert measure.explain(run, qrels, "q").ranks["product"].tolist() == [0.4, 0.8]
    # The gain of unDCG as its formula has it, however it is computed.
    gains = ma.unDCG(aspects=aspects).explain(run, qrels, "q").ranks["gain"]
    assert gains.tolist() == pytest.approx([2**0.4 - 1, 2**0.8 - 1])


def test_gains_of_unjudged_documents() -> None:
    """An unjudged document counts as the lowest grade, also if that has a probability above 0."""
    aspects = {"relevance": ma.Aspect(1, probabilities=[0.5, 1])}
    measure = ma.uRBPgr(p=0.8, aspects=aspects)

    explanation = measure.explain({"q": {"new": 1.0}}, {"q": {"d": {"relevance": 1}}}, "q")

    assert explanation.ranks["gain"].tolist() == [0.5]
    assert explanation.ranks["note"].tolist() == ["unjudged"]
    assert explanation.value == pytest.approx((1 - 0.8) * 0.5)


def test_displacements_and_empty_ranks() -> None:
    """CRP sums how far documents are from their ideal ranks; ranks that a run leaves empty count too."""
    labels = {"a": {"relevance": 2}, "b": {"relevance": 1}, "c": {"relevance": 1}}

    ranks = ma.CRP.explain({"q": {"b": 1.0}}, {"q": labels}, "q").ranks

    retrieved, empty = ranks.to_dict("records")
    assert retrieved["displacement"] == -1  # at rank 1; its ideal ranks are 2 and 3
    assert retrieved["contribution"] == -1
    assert not pd.isna(retrieved["rank"])
    assert retrieved["note"] == ""
    # Ranks 2 and 3 count as documents that are not relevant, whose ideal ranks begin at 4.
    assert empty["contribution"] == (2 - 4) + (3 - 4)
    assert pd.isna(empty["rank"])
    assert empty["note"] == "empty ranks"


def test_ranks_that_no_document_fills_fall_short() -> None:
    qrels = {"q": {docno: {"relevance": 1} for docno in "abc"}}
    explanation = ma.CRP.explain({"q": {"a": 1.0}}, qrels, "q")
    for shown in (str(explanation), explanation._repr_html_()):
        assert shown.count("empty ranks") == 2  # in the ranking, and what it falls short of


def test_the_weaker_aspect_has_the_larger_part_in_mm() -> None:
    aspects = MM(base="AP", aspects=TWO).explain(RUN, QRELS, "q1").aspects.set_index("aspect")
    weak = aspects["value"].idxmin()
    assert aspects["part"].idxmax() == weak
    assert aspects["part"].sum() == pytest.approx(
        MM(base="AP", aspects=TWO).explain(RUN, QRELS, "q1").value
    )


def test_swaps() -> None:
    explanation = ma.NLRE(aspects=TWO).explain(RUN, QRELS, "q1")
    swaps = explanation.swaps
    assert swaps["docno"].tolist() == ["new", "d2"]
    assert swaps["next_docno"].tolist() == ["d2", "d1"]
    assert swaps["cost"].is_monotonic_decreasing
    assert 1 - swaps["cost"].sum() == pytest.approx(explanation.value)
    ngre = ma.NGRE(aspects=TWO).explain(RUN, QRELS, "q1")
    assert ngre.swaps[["rank", "docno"]].equals(swaps[["rank", "docno"]])
    assert set(ngre.ranks["how"]) == {"marginal"}
    assert TOMA(aspects=TWO).explain(RUN, QRELS, "q1").swaps is None


def test_a_swap_of_ngre_costs_what_the_value_gains_without_it() -> None:
    """With one error, the value without it is 1."""
    run = {"q1": {"d3": 5.0, "d1": 4.0}}
    explanation = ma.NGRE(aspects={"relevance": 2}).explain(run, QRELS, "q1")
    assert explanation.swaps["cost"].tolist() == pytest.approx([1 - explanation.value])


def test_contributions_to_ngre_do_not_depend_on_other_topics() -> None:
    """The errors of a topic are summed from its own first rank on, if another topic precedes it."""
    labels = {
        "d1": {"relevance": 0, "credibility": 1},
        "d2": {"relevance": 2, "credibility": 3},
        "d3": {"relevance": 3, "credibility": 2},
    }
    run = {
        "q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0},  # d1 is too high on both aspects
        "q2": {"d2": 3.0, "d1": 2.0, "d3": 1.0},
    }
    collection = Collection(
        names=("relevance", "credibility"), labels={"q1": labels, "q2": labels}, run=run
    )
    # `check` compares the contributions of each topic, alone and among all, with its value.
    check(ma.NGRE(aspects={"relevance": 3, "credibility": 3}), collection)


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure",
    [
        TOMA(aspects=TWO),
        CAM(aspects=TWO),
        ma.nCRP,
        ma.NWCS(aspects=TWO),
        On(base="AP", aspects=TWO),
    ],
    ids=str,
)
def test_the_value_of_the_best_ranking_is_no_lower(measure: ma.Measure) -> None:
    explanation = measure.explain(RUN, QRELS, "q1")
    assert explanation.ideal.value >= explanation.value


@pytest.mark.slow
def test_the_value_of_the_best_ranking_is_the_upper_bound() -> None:
    cam = CAM(aspects=TWO)
    bounds = ma.analysis.upper_bound(QRELS, cam).set_index("qid")["value"]
    explanation = cam.explain(RUN, QRELS, "q1")
    assert explanation.ideal.value == pytest.approx(bounds["q1"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "measure",
    [MM(aspects=TWO), ma.ESL, ma.HarmfulCompat, ma.HelpfulMinusHarmful, On(base="SetF")],
    ids=str,
)
def test_measures_whose_best_ranking_is_unknown_have_none(measure: ma.Measure) -> None:
    assert measure.explain(RUN, QRELS, "q1").ideal is None


def test_no_ranking_of_judged_documents_is_best_if_unjudged_ones_gain() -> None:
    aspects = {"relevance": ma.Aspect(1, probabilities=[0.5, 1])}
    run = {"q": {"d": 3.0, "new": 2.0, "other": 1.0}}
    assert (
        ma.uRBPgr(aspects=aspects).explain(run, {"q": {"d": {"relevance": 1}}}, "q").ideal is None
    )


def test_ranks_below_the_cutoff() -> None:
    ranks = (TOMA(aspects=TWO) @ 2).explain(RUN, QRELS, "q1").ranks
    assert ranks["note"].tolist() == ["", "unjudged", "below the cutoff", "below the cutoff"]
    assert ranks["contribution"].tolist()[2:] == [0, 0]
    assert (
        "1 of the first 2 documents is unjudged."
        in (TOMA(aspects=TWO) @ 2).explain(RUN, QRELS, "q1").notes
    )


@pytest.mark.parametrize("base", ["nDCG", "P@3"])
def test_gains_of_a_mean_of_one_discount_are_those_of_its_parts(base: str) -> None:
    explanation = CAM(base=base, aspects=TWO).explain(RUN, QRELS, "q1")
    ranks = explanation.ranks
    np.testing.assert_allclose(
        (ranks["gain"] * ranks["discount"]).fillna(0.0), ranks["contribution"]
    )
    assert ranks["contribution"].sum() == pytest.approx(explanation.value)
    assert explanation.value > 0


def test_marginal_contributions_beyond_the_depth_are_one_row() -> None:
    run = {
        "q1": {"d2": 1.0} | {f"x{number}": -float(number) for number in range(300)} | {"d1": -250.5}
    }
    explanation = On(base="SetF", aspects=TWO).explain(run, QRELS, "q1")
    assert len(explanation.ranks) == 101
    last = explanation.ranks.iloc[-1]
    assert last["note"] == "ranks 101 to 302"
    assert pd.isna(last["rank"])
    first = 2 * 1 / (100 + 3)  # SetF of the first 100 ranks: 1 of the 3 relevant documents
    assert last["contribution"] == pytest.approx(explanation.value - first)
    assert explanation.value == pytest.approx(2 * 2 / (302 + 3))


def test_a_mean_of_stated_and_marginal_contributions() -> None:
    """Beyond the depth, stated contributions are in the same row as the marginal ones."""
    run = {"q1": {"new": 4.0, "d1": 3.0, "d2": 2.0, "d4": 1.0}}
    measure = CAM(base={"relevance": "nDCG", "credibility": "SetF"}, aspects=TWO)
    explanation = measure.explain(run, QRELS, "q1", depth=1)
    assert explanation.ranks["note"].tolist() == ["unjudged", "ranks 2 to 4"]
    assert explanation.ranks["contribution"].sum() + explanation.offset == pytest.approx(
        explanation.value
    )
    assert explanation.ranks["relevance part"].sum() > 0


def test_parts_of_a_normalized_mean_are_stated() -> None:
    """CAM with normalized=True divides CAM by its maximum, and so the part of each aspect."""
    cam = CAM(base="P@3", aspects=TWO)

    plain = cam.explain(RUN, QRELS, "q1")
    normalized = cam(normalized=True).explain(RUN, QRELS, "q1")

    # Each rank states what it contributes, rather than how much the value rises at it.
    assert set(normalized.ranks["how"]) == {"stated"}
    assert 0 < plain.value < normalized.value < 1
    factor = normalized.value / plain.value
    np.testing.assert_allclose(normalized.aspects["part"], factor * plain.aspects["part"])


class _SlopeOfOne(ma.AspectMean):
    """The sum; its slope, from which the parts of aspects follow, is stated for one topic only."""

    def combine(self, values, weights):
        return values.sum(axis=0)

    def slope(self, values, weights):
        is_first_topic = np.arange(values.shape[1]) == 0
        return np.where(is_first_topic, np.ones_like(values), np.nan)


def test_topics_are_explained_by_aspect_or_as_a_whole() -> None:
    """Contributions are marginal (how much the value rises at a rank) only where no slope is stated.

    `_SlopeOfOne` sums the values of the aspects. It states a slope for the first topic, which gives
    the contributions of each aspect, and none for the second topic.
    """
    measure = _SlopeOfOne(base="P@2", aspects=TWO)
    rankings = Rankings(RUN | {"q2": {"d1": 1.0}}, ma.Judgments(QRELS))
    first_ranks = Prefixes(rankings, 4)  # RUN has four documents

    contributions = Contributions.of(measure, first_ranks)

    q1_is_marginal, q2_is_marginal = contributions.marginal
    assert not q1_is_marginal
    assert q2_is_marginal
    np.testing.assert_array_equal(contributions.offset, [0, 0])
    np.testing.assert_allclose(contributions.ranks.sum(axis=1), contributions.value)
    assert (contributions.value > 0).all()


def test_a_topic_that_is_not_in_the_run_is_an_empty_ranking() -> None:
    explanation = TOMA(aspects=TWO).explain(RUN, QRELS, "q2")
    assert explanation.value == 0
    assert explanation.ranks.empty
    assert ma.ESL.explain(RUN, QRELS, "q2").offset == 0


def test_names_of_aspects_that_are_columns() -> None:
    qrels = {"q": {"d": {"relevance": 1, "gain": 1, "rank": 0}}}
    aspects = {"relevance": 1, "gain": 1, "rank": 1}
    ranks = CAM(aspects=aspects).explain({"q": {"d": 1.0}}, qrels, "q").ranks
    assert ranks["rank"].tolist() == [1]
    assert ranks["rank label"].tolist() == [0]
    assert ranks["gain label"].tolist() == [1]
    assert ranks.columns.is_unique
    others = {"relevance": 1, "class": 1, "distance": 1}
    judged = {"q": {"d": {"relevance": 1, "class": 1, "distance": 0}}}
    toma_ranks = TOMA(aspects=others).explain({"q": {"d": 1.0}}, judged, "q").ranks
    assert toma_ranks["distance"].tolist() == [0]
    assert toma_ranks.columns.is_unique


# -- input
# ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_forms_of_runs_and_qrels(tmp_path) -> None:
    measure = TOMA(aspects=TWO)
    expected = measure.explain(RUN, QRELS, "q1").value
    frame = pd.DataFrame(
        [("q1", docno, score) for docno, score in RUN["q1"].items()],
        columns=["qid", "docno", "score"],
    )
    path = tmp_path / "a.run"
    path.write_text("".join(f"q1 Q0 {docno} 0 {score} a\n" for docno, score in RUN["q1"].items()))
    ids = frame.rename(columns={"qid": "query_id", "docno": "doc_id"})
    for run in (
        frame,
        ids,
        path,
        str(path),
        {"bm25": frame},
        [frame],
        list(ids.itertuples(index=False)),
    ):
        assert measure.explain(run, QRELS, "q1").value == expected
    assert measure.explain({"bm25": frame}, QRELS, "q1").run == "bm25"
    assert measure.explain(path, ma.Judgments(QRELS), "q1").run == "a.run"


def test_topics_may_be_numbers() -> None:
    explanation = On.explain({"7": {"d": 1.0}}, {"7": {"d": 1}}, 7)
    assert (explanation.qid, explanation.value) == ("7", 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": "q9"}, r"expected a topic of the qrels \(q1, q2\), got q9"),
        ({"qid": "q9", "run": {**RUN, "q9": {"d": 1.0}}}, "expected a topic of the qrels"),
        ({"run": {"a": RUN, "b": RUN}}, "expected one run to explain, got 2: a, b"),
        ({"run": {"q7": {"d": 1.0}}}, "no query in common"),
        ({"run": "no-such-file.run"}, "no-such-file"),
        ({"depth": 0}, "depth"),
        ({"depth": 2.5}, "depth"),
    ],
)
def test_input_that_cannot_be_explained(change: dict, message: str) -> None:
    arguments = {"run": RUN, "qrels": QRELS, "qid": "q1", **change}
    with pytest.raises((ma.MultiAspectError, FileNotFoundError), match=message):
        TOMA(aspects=TWO).explain(**arguments)


def test_incomplete_measures() -> None:
    with pytest.raises(ma.MultiAspectError, match="requires expected"):
        ma.RelativeRecall.explain(RUN, QRELS, "q1")


def test_contributions_that_do_not_sum_to_the_value() -> None:
    """An explanation of another number than the value would be believed."""

    class _TooMuch(ma.SingleAspectMeasure):
        """The fraction of the retrieved documents that is relevant."""

        BINARY = True
        SUPPORTED_PARAMS = {}

        def score(self, ranking, target):
            is_relevant = self.relevant(target)[ranking.row]
            return ranking.total(is_relevant) / np.maximum(ranking.n_ret, 1)

        def contributions(self, ranking, target):
            # A mistake: they are not divided by the number of retrieved documents.
            return self.relevant(target)[ranking.row].astype(float)

    # Two of four retrieved documents are relevant: the contributions sum to 2, the value is 2/4.
    with pytest.raises(ma.MultiAspectError, match=r"TooMuch sum to 2 .* expected"):
        _TooMuch().explain(RUN, QRELS, "q1")


def test_warnings_are_those_of_an_evaluation() -> None:
    measure = TOMA(gate="relevance")
    with pytest.warns(ma.MultiAspectWarning) as explained:
        measure.explain(RUN, QRELS, "q1")
    forget_warnings()
    with pytest.warns(ma.MultiAspectWarning) as evaluated:
        ma.evaluate(RUN, QRELS, measure, progress=False)
    assert [str(warning.message) for warning in explained] == [
        str(warning.message) for warning in evaluated
    ]
    assert {warning.filename for warning in explained} == {__file__}


# -- any measure, and which topics
# -----------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "measure", ["nDCG@3", "AP", "P@2", "map", "ndcg_cut_3", "RBP(rel=1)", "Bpref", "TOMA@2", "CAM"]
)
def test_measures_of_ir_measures_and_names(measure: str) -> None:
    qrels = QRELS if measure == "TOMA@2" else QRELS.drop(columns="credibility")
    with ma.errors.silence_warnings():
        explanation = ma.explain(measure, RUN, qrels, "q1")
        values = ma.evaluate({"a": RUN}, qrels, measure, progress=False).set_index("qid")["value"]
    assert explanation.value == pytest.approx(values["q1"], abs=1e-12)
    assert explanation.label == measure
    assert str(explanation).startswith(measure)
    assert explanation.offset + explanation.ranks["contribution"].sum() == pytest.approx(
        values["q1"], abs=1e-12
    )


def test_families_of_measures_cannot_be_explained() -> None:
    with pytest.raises(ma.MultiAspectError, match=r"expected one measure.*'P' expands to 9"):
        ma.explain("P", RUN, QRELS, "q1")


def runs_that_differ_on_later_topics() -> tuple[dict, dict]:
    """Runs "first" and "later" of twelve topics with one relevant document, and qrels.

    "first" has the document at rank 1; in "later", n other documents precede it on topic qn. The
    reciprocal ranks are 1 and 1 / (n + 1): they differ by n / (n + 1).
    """
    runs: dict[str, dict] = {"first": {}, "later": {}}
    for n in range(12):
        others = {f"other{i}": 9.0 for i in range(n)}
        runs["first"][f"q{n}"] = {"relevant": 1.0}
        runs["later"][f"q{n}"] = {**others, "relevant": 1.0}
    qrels = {qid: {"relevant": {"relevance": 1}} for qid in runs["first"]}
    return runs, qrels


@pytest.mark.slow
def test_largest_differences() -> None:
    # On topic qn, the reciprocal ranks differ by n / (n + 1), of q0 to q11.
    runs, qrels = runs_that_differ_on_later_topics()
    perquery = ma.evaluate(runs, qrels, ["RR", "P@1"], progress=False)

    three = ma.largest_differences(perquery, "first", "later", "RR", n=3)
    assert three["qid"].tolist() == ["q11", "q10", "q9"]
    assert three["difference"].tolist() == pytest.approx([11 / 12, 10 / 11, 9 / 10])

    by_default = ma.largest_differences(perquery, "later", "first", measure="RR")
    assert len(by_default) == 10
    largest = by_default["difference"].head(3).tolist()
    assert largest == pytest.approx([-11 / 12, -10 / 11, -9 / 10])


@pytest.mark.slow
def test_largest_differences_are_those_of_compared_explanations() -> None:
    runs, qrels = runs_that_differ_on_later_topics()
    perquery = ma.evaluate(runs, qrels, ["RR", "P@1"], progress=False)
    table = ma.largest_differences(perquery, "first", "later", "RR", n=3)
    for qid, difference in zip(table["qid"], table["difference"], strict=True):
        first = ma.explain("RR", {"first": runs["first"]}, qrels, qid)
        later = ma.explain("RR", {"later": runs["later"]}, qrels, qid)
        assert first.compare(later).difference == pytest.approx(difference)


def test_topics_of_one_run_are_not_left_out_silently() -> None:
    perquery = pd.DataFrame(
        {
            "name": ["a", "a", "b"],
            "qid": ["q1", "q2", "q1"],
            "measure": "AP",
            "value": [1.0, 1.0, 0.5],
        }
    )
    with pytest.warns(ma.MultiAspectWarning, match=r"1 topic.*AP.*a and b"):
        assert ma.largest_differences(perquery, "a", "b")["qid"].tolist() == ["q1"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": "c"}, r"expected one of the runs of the frame \(a, b\), got c"),
        ({"measure": "nDCG"}, r"expected one of the measures of the frame \(AP, RR\), got nDCG"),
        ({"measure": None}, "got None"),
        ({"perquery": pd.DataFrame({"name": ["a"]})}, "expected a long frame"),
        ({"n": 0}, "n"),
    ],
)
def test_differences_that_cannot_be_found(change: dict, message: str) -> None:
    rows = [(name, "q1", measure, 1.0) for name in "ab" for measure in ("AP", "RR")]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    arguments = {"perquery": perquery, "a": "a", "b": "b", "measure": "AP", **change}
    with pytest.raises(ma.MultiAspectError, match=message):
        ma.largest_differences(**arguments)
    with pytest.raises(ma.MultiAspectError, match="several for q1"):
        ma.largest_differences(pd.concat([perquery, perquery]), "a", "b", "AP")


@pytest.mark.parametrize(
    ("column", "value"),
    [("name", "b"), ("qid", "q2"), ("measure", "AP")],
    ids=["run", "topic", "measure"],
)
def test_differences_of_a_file_with_a_name_that_pandas_reads_as_empty(
    column: str, value: str
) -> None:
    """pandas reads the name NA as an empty cell; the error says how to read it as a name."""
    rows = [
        ("a", "q1", "AP", 1.0),
        ("a", "q2", "AP", 0.5),
        ("b", "q1", "AP", 0.5),
        ("b", "q2", "AP", 0.5),
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    perquery[column] = perquery[column].replace(value, "NA")
    file = perquery.to_csv(index=False)

    read_as_empty = pd.read_csv(StringIO(file))
    message = rf"the column {column} has an empty cell .* keep_default"
    with pytest.raises(ma.MultiAspectError, match=message):
        ma.largest_differences(read_as_empty, "a", "b", "AP")

    kept = pd.read_csv(StringIO(file), keep_default_na=False)
    b = "NA" if column == "name" else "b"
    measure = "NA" if column == "measure" else "AP"
    differences = ma.largest_differences(kept, "a", b, measure)["difference"]
    assert differences.tolist() == [1.0 - 0.5, 0.5 - 0.5]


def test_differences_of_values_that_are_missing_or_no_numbers() -> None:
    rows = [(name, f"q{topic}", "AP", float(topic)) for name in "ab" for topic in range(3)]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    with pytest.raises(ma.MultiAspectError, match=r"expected numbers.*column value"):
        ma.largest_differences(perquery.assign(value="x"), "a", "b")
    perquery.loc[4, "value"] = np.nan
    with pytest.raises(ma.MultiAspectError, match=r"expected.*AP.*got none for q1"):
        ma.largest_differences(perquery, "a", "b", n=2)


# -- two runs
# --------------------------------------------------------------------------------------------------


def test_a_document_of_both_runs_is_one_row() -> None:
    measure = TOMA(aspects=TWO)
    a = measure.explain({"bm25": RUN}, QRELS, "q1")
    b = measure.explain({"dense": {"q1": {"d4": 3.0, "d3": 2.0}}}, QRELS, "q1")
    documents = a.compare(b).documents.set_index("docno")
    assert documents.loc["d3", ["rank_a", "rank_b"]].tolist() == [1, 2]
    assert pd.isna(documents.loc["d4", "rank_a"])
    assert documents.loc["d4", "relevance"] == 2
    assert a.compare(b).names == ("bm25", "dense")
    assert (
        str(a.compare(b)).count("bm25 - dense") == 2
    )  # the value of the topic, and the head of the column
    assert f"bm25 - dense {decimals(a.value - b.value)}" in repr(a.compare(b))
    assert (a.compare(b).difference, b.compare(a).difference) == (
        a.value - b.value,
        b.value - a.value,
    )


def test_documents_beyond_the_depth_keep_their_rank() -> None:
    measure = On(base="SetF", aspects=TWO)
    a = measure.explain({"q1": {"d1": 3.0, "new": 2.0, "d2": 1.0}}, QRELS, "q1", depth=1)
    b = measure.explain({"q1": {"d2": 3.0}}, QRELS, "q1")
    documents = a.compare(b).documents.set_index("docno")
    assert documents.loc["d2", "rank_a"] == 3
    assert (
        documents.loc[["new", "d2"], "note"].tolist()
        == ["in a row of several ranks of the first run"] * 2
    )


def test_offsets_that_differ_are_a_row() -> None:
    """NLRE of an empty ranking is 0, of any other 1 minus the errors."""
    measure = ma.NLRE(aspects=TWO)
    compared = measure.explain(RUN, QRELS, "q1").compare(
        measure.explain({"q2": {"d1": 1.0}}, QRELS, "q1")
    )
    assert compared.documents["note"].iloc[-1] == "offset"
    assert compared.documents["difference"].sum() == pytest.approx(compared.difference)


def test_explanations_that_cannot_be_compared() -> None:
    explained = TOMA(aspects=TWO).explain(RUN, QRELS, "q1")
    for other in (
        CAM(aspects=TWO).explain(RUN, QRELS, "q1"),
        TOMA(aspects=TWO).explain(RUN, QRELS, "q2"),
    ):
        with pytest.raises(ma.MultiAspectError, match="one measure and one topic"):
            explained.compare(other)
    changed = QRELS.assign(relevance=[1, 1, 0, 2, 1])
    with pytest.raises(ma.MultiAspectError, match=r"same qrels, got.*2 and 1 for document d1"):
        explained.compare(TOMA(aspects=TWO).explain(RUN, changed, "q1"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        # d4 is judged, but not retrieved.
        (QRELS.assign(relevance=[2, 1, 0, 1, 1]), "the relevance labels 2 and 1 for document d4"),
        (QRELS.iloc[[0, 1, 2, 4]], "the relevance labels 2 and nan for document d4"),
        (
            pd.concat([QRELS, QRELS.iloc[3:4].assign(docno="d5")]),
            "the relevance labels nan and 2 for document d5",
        ),
        (
            QRELS.assign(credibility=[0, 1, 1, np.nan, 1]),
            "the credibility labels 1 and nan for document d4",
        ),
    ],
)
def test_explanations_on_different_judgments_are_not_compared(
    changed: pd.DataFrame, message: str
) -> None:
    """The same run differed from itself."""
    measure = CAM(aspects=TWO)
    explained, other = (measure.explain(RUN, qrels, "q1") for qrels in (QRELS, changed))
    assert explained.value != other.value
    with pytest.raises(
        ma.MultiAspectError, match=f"expected explanations on the same qrels, got {message}"
    ):
        explained.compare(other)


def test_explanations_on_scales_of_different_qrels_are_not_compared() -> None:
    # In QRELS, the highest relevance is 2.
    further = pd.DataFrame({"qid": ["q2"], "docno": "d2", "relevance": 3, "credibility": 1})
    with_grade_3 = pd.concat([QRELS, further])

    inferred = CAM(aspects=["relevance", "credibility"])
    first = inferred.explain(RUN, QRELS, "q1")
    second = inferred.explain(RUN, with_grade_3, "q1")
    message = "scales of relevance that were inferred as 0, 1, 2 and 0, 1, 2, 3;"
    with pytest.raises(ma.MultiAspectError, match=message):
        first.compare(second)

    declared = CAM(aspects={"relevance": 3, "credibility": 1})
    first = declared.explain(RUN, QRELS, "q1")
    second = declared.explain(RUN, with_grade_3, "q1")
    assert first.compare(second).difference == 0


def test_explanations_on_the_same_judgments_in_other_forms_are_compared() -> None:
    measure = CAM(aspects=TWO)
    renamed = QRELS.rename(columns={"relevance": "label"}).iloc[::-1]
    # Other aspects, unlabelled documents and other topics do not count.
    more = pd.concat(
        [QRELS, QRELS.iloc[:1].assign(docno="d9", relevance=np.nan, credibility=np.nan)]
    ).assign(other=1)
    for qrels in (QRELS, renamed, more, QRELS.iloc[:4], ma.Judgments(QRELS)):
        assert (
            measure.explain(RUN, QRELS, "q1").compare(measure.explain(RUN, qrels, "q1")).difference
            == 0
        )


def test_a_measure_that_depends_on_other_topics_is_explained_among_them() -> None:
    """_AmongAll divides the number of retrieved documents by 1 + the number of all judgments."""
    explanation = _AmongAll(aspects=TWO).explain(RUN, QRELS, "q1")
    # RUN retrieves 4 documents for q1. QRELS has 4 judgments of q1, and 1 of q2.
    assert explanation.value == 4 / (1 + 4 + 1)
    assert explanation.ranks["contribution"].to_numpy() == pytest.approx([1 / 6] * 4)


def test_a_best_ranking_is_compared_with_a_best_one() -> None:
    explanation = On(base="nDCG", aspects=TWO).explain(
        {"q1": {"d1": 4.0, "d4": 3.0, "d2": 2.0}}, QRELS, "q1"
    )
    assert explanation.value == 1
    assert explanation.ideal is not None


def test_a_mean_without_slope_is_explained_as_a_whole() -> None:
    """`_Weakest` is the minimum over aspects and states no slope, so it has no parts of aspects.

    Its ranks are explained by how much the value rises at each: they sum to the value.
    """
    explanation = _Weakest(aspects=TWO).explain(RUN, QRELS, "q1")
    assert explanation.value > 0
    running_sum = explanation.ranks["running"]
    assert running_sum.iloc[-1] == pytest.approx(explanation.value)


@pytest.mark.parametrize(
    ("measure", "marginal_to"),
    [
        (ma.NGRE, "the errors that a rank adds to"),
        # The minimum over aspects, for which a contribution is the rise of the value at a rank.
        (_Weakest, "the value of the first k ranks"),
    ],
    ids=["NGRE", "_Weakest"],
)
def test_marginal_contributions_are_those_of_errors_or_of_prefixes(
    measure: ma.Measure, marginal_to: str
) -> None:
    notes = measure(aspects=TWO).explain(RUN, QRELS, "q1").notes
    (note,) = [note for note in notes if note.startswith("Contributions are marginal")]
    assert marginal_to in note


# -- text and HTML
# ---------------------------------------------------------------------------------------------


def test_text_of_mm_names_the_weaker_aspect() -> None:
    text = str(MM(base="AP", aspects=TWO).explain(RUN, QRELS, "q1"))
    assert "The weaker aspect limits MM" in " ".join(text.split())


def test_an_aspect_of_little_weight_does_not_limit_the_mean() -> None:
    """Its value is the lowest, but the value of the other aspect changes the mean more."""
    qrels = pd.DataFrame(
        [("q1", "d1", 1, 0), ("q1", "d2", 0, 1)],
        columns=["query_id", "doc_id", "relevance", "credibility"],
    )
    run = {"q1": {"d1": 2.0, "d2": 1.0}}  # AP is 1 and 1/2
    for weights, is_limited in (({"relevance": 9, "credibility": 1}, False), (None, True)):
        measure = MM(base="AP", weights=weights, aspects={"relevance": 1, "credibility": 1})
        notes = " ".join(measure.explain(run, qrels, "q1").notes)
        assert ("The weaker aspect limits MM" in notes) is is_limited


def test_an_aspect_of_0_is_named() -> None:
    run = {"q1": {"d1": 1.0}}
    for measure in (MM(aspects=TWO), GAM(aspects=TWO)):
        explanation = measure.explain(run, QRELS, "q1")
        assert explanation.value == 0
        assert f"{measure.NAME} is 0 because credibility is 0." in explanation.notes


def shown_ranks(text: str) -> tuple[dict[int, float], list[tuple[int, float]]]:
    """The contributions by rank that a text of an explanation shows, and what its gaps hide.

    A line of a gap, as "... 4 more ranks  0.0120  0.5432", gives the pair (4, 0.012).
    """
    _, table, *_ = text.split("\n\n")
    shown: dict[int, float] = {}
    hidden: list[tuple[int, float]] = []
    for line in table.split("\n")[1:]:
        *cells, contribution, _running = line.removesuffix("unjudged").split()
        if cells[0].isdigit():
            shown[int(cells[0])] = float(contribution)
        elif cells[0] == "...":
            hidden.append((int(cells[1]), float(contribution)))
    return shown, hidden


def test_long_rankings_show_the_ranks_that_contribute_most() -> None:
    """The documents that make up the value may be anywhere, as with uRBP."""
    run = {"q": {f"d{rank:03d}": -float(rank) for rank in range(1, 401)}}
    relevant_ranks = {40, 41, 60, 90, 300}
    relevant = [f"d{rank:03d}" for rank in relevant_ranks]
    qrels = {"q": {docno: {"relevance": 1, "credibility": 1} for docno in relevant}}
    explanation = ma.uRBP(p=0.99, aspects=TWO).explain(run, qrels, "q")

    # The contribution of each rank shown; number and contribution of the ranks of each gap.
    shown, hidden = shown_ranks(str(explanation))

    contributing = {rank for rank, contribution in shown.items() if contribution}
    assert contributing == relevant_ranks
    assert {1, 2, 3, 400} <= set(shown)
    n_hidden = sum(number for number, _ in hidden)
    assert len(shown) + n_hidden == 400
    hidden_value = sum(contribution for _, contribution in hidden)
    assert sum(shown.values()) + hidden_value == pytest.approx(explanation.value, abs=5e-4)
    assert len(str(explanation).split("\n")) < 45
    page = explanation._repr_html_()
    assert all(f">{docno}</td>" in page for docno in relevant)


def test_running_sums_go_on_after_ranks_that_are_left_out() -> None:
    """Ranks 11 to 40 are relevant, ranks below 30 do not count; the table leaves out some of them."""
    qrels = {"q": {f"d{rank}": {"relevance": int(rank > 10)} for rank in range(1, 41)}}
    run = {"q": {docno: -float(rank) for rank, docno in enumerate(qrels["q"])}}
    measure = On(base=ir_measures.RBP(p=0.99) @ 30, aspects={"relevance": 1})
    text = str(measure.explain(run, qrels, "q"))

    ranks, gaps, contributions, running_sums = [], [], [], []
    _, table, *_ = text.split("\n\n")
    _, *lines, _ = table.split("\n")  # without the header and the sentence on what is hidden
    for line in lines:
        *cells, contribution, running_sum = line.split()
        contributions.append(float(contribution))
        running_sums.append(float(running_sum))
        if cells[0].isdigit() and cells[1] in qrels["q"]:
            ranks.append(int(cells[0]))
        else:
            gaps.append(" ".join(cells))

    assert ranks == [1, 2, 3, 4, 5, 6, *range(11, 24), 30]
    assert gaps == ["... 4 more ranks", "... 6 more ranks", "10 ranks below the cutoff"]
    assert running_sums == pytest.approx(np.cumsum(contributions), abs=2e-3)
    assert contributions[-1] == 0  # of the ranks below the cutoff


def every_fifth_relevant() -> tuple[dict, dict]:
    """A run of 1000 credible documents, of which every fifth is relevant, and its qrels."""
    docnos = [f"d{number:04d}" for number in range(1000)]
    labels = {
        docno: {"relevance": int(number % 5 == 0), "credibility": 1}
        for number, docno in enumerate(docnos)
    }
    scores = {docno: -float(number) for number, docno in enumerate(docnos)}
    return {"q": scores}, {"q": labels}


@pytest.mark.slow
def test_what_long_rankings_hide_is_told() -> None:
    run, qrels = every_fifth_relevant()  # 1000 documents
    explanation = TOMA(aspects=TWO).explain(run, qrels, "q")
    text = str(explanation)

    # The contribution of each rank shown; number and contribution of the ranks of each gap.
    shown, gaps = shown_ranks(text)

    by_rank = explanation.ranks.set_index("rank")["contribution"]
    hidden = by_rank.drop(list(shown))
    ten_largest = by_rank.nlargest(10).index
    assert hidden.max() <= by_rank.drop(ten_largest).max()  # at least the ten largest are shown
    assert sum(n_ranks for n_ranks, _ in gaps) == len(hidden)
    assert len(gaps) > 1
    assert all(n_ranks > 1 for n_ranks, _ in gaps)  # a single rank is shown instead
    note = f"Not shown: {len(hidden)} ranks, which contribute {hidden.sum():.4f} together."
    assert note in text
    note_in_page = r"Not shown: \d+ ranks, which contribute [0-9.]+ together\."
    assert re.search(note_in_page, explanation._repr_html_())


@pytest.mark.slow
def test_ranks_below_the_cutoff_are_not_told_as_hidden() -> None:
    run, qrels = every_fifth_relevant()  # 1000 documents
    text = str((TOMA(aspects=TWO) @ 10).explain(run, qrels, "q"))
    assert "990 ranks below the cutoff" in text
    assert "Not shown" not in text


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("measure", "depth", "expected_notes"),
    [
        (TOMA, 100, []),
        # Of 71 documents, those below the depth have one row for all.
        (CAM(base="infAP"), 66, ["ranks 67 to 71"]),
    ],
    ids=["TOMA", "CAM"],
)
def test_comparisons_show_the_documents_that_differ_most_and_tell_of_the_others(
    measure, depth, expected_notes
) -> None:
    """Twenty differences are shown; a line has the number and the sum of the others."""
    docnos = [f"d{number:03d}" for number in range(71)]
    labels = {
        docno: {"relevance": number % 2, "credibility": 1} for number, docno in enumerate(docnos)
    }
    labels["not retrieved"] = {"relevance": 0, "credibility": 0}
    upwards = {docno: float(number) for number, docno in enumerate(docnos)}
    downwards = {docno: -float(number) for number, docno in enumerate(docnos)}
    measure = measure(aspects={"relevance": 1, "credibility": 1})
    first = measure.explain({"q": upwards}, {"q": labels}, "q", depth=depth)
    second = measure.explain({"q": downwards}, {"q": labels}, "q", depth=depth)

    comparison = first.compare(second)

    page = comparison._repr_html_()
    text = str(comparison)
    documents = comparison.documents  # the largest differences first
    differing = documents.query("docno.notna() and difference != 0")["difference"]
    hidden = differing.iloc[20:]  # twenty are shown
    line = f"... {len(hidden)} more documents: {hidden.sum():.4f}"
    assert line in page
    assert line in text
    notes = documents["note"][documents["docno"].isna()].tolist()
    assert notes == expected_notes
    for note in notes:
        assert f">{note}</td>" in page
        assert f"\n{note} " in text


def test_one_further_document_is_in_the_singular() -> None:
    # The new document at rank 1 moves all 21 relevant ones down. Twenty differences are shown; the
    # contribution of the new document is 0 in both runs.
    relevant = [f"d{number:02d}" for number in range(21)]
    qrels = {"q": {docno: {"relevance": 1} for docno in relevant}}
    scores = {docno: float(number) for number, docno in enumerate(relevant)}
    measure = ma.On(base="AP")

    first = measure.explain({"q": scores}, qrels, "q")
    second = measure.explain({"q": {"new": 30.0, **scores}}, qrels, "q")

    assert "... 1 more document:" in str(first.compare(second))


@pytest.mark.slow
def test_long_names_fit_the_terminal() -> None:
    names = ["relevance", *(f"a rather long name of an aspect {number}" for number in range(8))]
    judged = {f"clueweb12-0000tw-{n:02d}-{n:05d}-long": dict.fromkeys(names, 1) for n in range(5)}
    run = {
        "a topic with a very long identifier indeed, longer than any": dict.fromkeys(judged, 1.0)
    }
    qid = next(iter(run))
    for measure in (TOMA, CAM, ma.NLRE):
        explanation = measure(aspects=dict.fromkeys(names, 2)).explain(
            {"r" * 90: run}, {qid: judged}, qid
        )
        text = str(explanation)
        assert max(map(len, text.split("\n"))) <= 80
        assert "Not shown for lack of room" in text
        assert "contrib" in text
        assert max(map(len, str(explanation.compare(explanation)).split("\n"))) <= 80


def test_html_names_the_runs_that_are_compared_in_full() -> None:
    names = [f"a-run-with-a-rather-long-name-{end}" for end in ("one", "two")]
    first, second = (TOMA(aspects=TWO).explain({name: RUN}, QRELS, "q1") for name in names)
    compared = first.compare(second)
    for name in names:
        assert f">rank in {name}</th>" in compared._repr_html_()
    assert (
        "a-run-with-a-rather-long-name" not in str(compared).partition("\n\n")[2]
    )  # if there is no space


def test_html_needs_nothing_else_and_escapes_names(tmp_path) -> None:
    evil = "<script>alert('x')</script>"
    qrels = {
        evil: {evil: {"relevance": 1, "credibility": 1}, "d": {"relevance": 0, "credibility": 1}}
    }
    run = {evil: {evil: 1.0, "d": 2.0}}
    measure = TOMA(aspects=TWO)
    explanation = measure.explain({evil: run}, qrels, evil)
    other = measure.explain({evil: {evil: {"d": 1.0}}}, qrels, evil)
    nlre = ma.NLRE(aspects=TWO).explain({evil: run}, qrels, evil)
    for html in (
        explanation.to_html(tmp_path / "e.html"),
        explanation.compare(other).to_html(),
        nlre.to_html(),
    ):
        assert "<script" not in html
        assert "&lt;script" in html
        assert "color-scheme" in html
        assert "currentColor" in html
        assert "http" not in html.replace("http-equiv", "")
    assert (tmp_path / "e.html").read_text(encoding="utf-8") == explanation.to_html()
    assert "<!DOCTYPE" not in explanation._repr_html_()


def html_rows(table: str) -> list[list[tuple[int, str]]]:
    """The rows of a table in HTML: of each cell, the number of columns that it spans and its text."""
    rows = []
    for row in table.split("</tr>")[:-1]:
        cells = []
        for attributes, text in re.findall(r"<t[hd](| [^>]*)>(.*?)</t[hd]>", row):
            span = re.search(r'colspan="(\d+)"', attributes)
            cells.append((int(span[1]) if span else 1, text))
        rows.append(cells)
    return rows


@pytest.mark.parametrize(
    ("n_documents", "has_gap"), [(4, False), (60, True)], ids=["short", "long"]
)
def test_html_has_contributions_before_what_may_scroll(n_documents: int, has_gap: bool) -> None:
    """The contribution stands before the labels, which a narrow page may push out of sight."""
    explanation = CAM(aspects=SHORT).explain(*ranked_labels(n_documents), "q")
    table = explanation._repr_html_().split("<table>")[1].split("</table>")[0]

    head, *rows = html_rows(table)  # pairs of the columns that a cell spans, and its text

    columns = [text for _, text in head]
    bar = ""  # the name of the column with the bar of the contribution
    assert columns == [
        "rank",
        "docno",
        "contribution",
        bar,
        "running",
        "a",
        "b",
        "a part",
        "b part",
    ]
    by_rank = explanation.ranks.set_index(explanation.ranks["rank"].astype(str))
    for row in rows:
        assert sum(span for span, _ in row) == len(columns)
        if len(row) < len(columns):
            continue  # the line of a gap
        cell = dict(zip(columns, [text for _, text in row], strict=True))
        expected = by_rank.loc[cell["rank"]]
        assert cell["docno"] == expected["docno"]
        assert cell["contribution"] == f"{expected['contribution']:.4f}"
        assert cell["running"] == f"{expected['running']:.4f}"
        assert float(cell["a"]) == expected["a"]
        assert float(cell["b"]) == expected["b"]
    first_cells = [row[0][1] for row in rows]
    assert any("more ranks" in text for text in first_cells) == has_gap


def test_bars_are_drawn_beside_their_numbers() -> None:
    """nCRP is 1 less the displacements: its offset of 1 belongs to no rank, and has no bar."""
    run = {"q": {"x": 2.0, "relevant": 1.0, "y": 0.5}}
    explanation = ma.nCRP.explain(run, {"q": {"relevant": {"relevance": 1}}}, "q")

    # A number, and the label of the bar in the next cell:
    # <td>−1.0000</td><td class="bar"><svg role="img" aria-label="−1.0000" …
    number_and_bar = r"<td>(−?[0-9.]+)</td><td[^>]*><svg[^>]* aria-label=\"(−?[0-9.]+)\""
    pairs = re.findall(number_and_bar, explanation._repr_html_())

    assert pairs == [("−1.0000", "−1.0000"), ("0.0000", "0.0000"), ("0.0000", "0.0000")]
    assert explanation.offset == 1


def test_explanations_can_be_pickled() -> None:
    import pickle

    explanation = TOMA(aspects=TWO).explain(RUN, QRELS, "q1")
    again = pickle.loads(pickle.dumps(explanation))
    assert str(again) == str(explanation)


# -- plots
# -----------------------------------------------------------------------------------------------------


PLOTTED = [TOMA(aspects=TWO), CAM(aspects=TWO) @ 2, MM(aspects=TWO), ma.NLRE(aspects=TWO), ma.CRP]


@pytest.mark.every(2)
@pytest.mark.parametrize("measure", PLOTTED)
def test_the_plot_has_a_bar_per_rank(measure: ma.Measure) -> None:
    """Each rank above the cutoff has a bar, and a column of its labels in the strip below the bars."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    explanation = measure.explain(RUN, QRELS, "q1")

    bars = ma.plots.explanation(explanation)

    heights = [bar.get_height() for bar in bars.patches]
    is_below_cutoff = explanation.ranks["note"].str.contains("below")
    expected_heights = explanation.ranks["contribution"][~is_below_cutoff]
    assert heights == pytest.approx(expected_heights.tolist())
    _, strip = bars.figure.axes
    row_names = [tick.get_text() for tick in strip.get_yticklabels()]
    aspects = list(explanation.labels)
    assert row_names[: len(aspects)] == aspects
    plt.close("all")


@pytest.mark.every(2)
@pytest.mark.parametrize("measure", PLOTTED)
def test_the_plot_of_two_ranks_has_room_for_two_bars(measure: ma.Measure) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    explanation = measure.explain(RUN, QRELS, "q1")
    _, axes = plt.subplots()
    ax = ma.plots.explanation(explanation, 2, ax=axes)
    assert ax.get_xlim() == (-0.5, 1.5)  # bars of width 1 around 0 and 1
    plt.close("all")


def test_what_cannot_be_plotted() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    with pytest.raises(ma.MultiAspectError, match="expected an Explanation"):
        ma.plots.explanation(QRELS)
    with pytest.raises(ma.MultiAspectError, match="expected retrieved documents"):
        ma.plots.explanation(TOMA(aspects=TWO).explain(RUN, QRELS, "q2"))


def test_the_measure_itself_names_the_differences():
    qrels = {"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}}
    runs = {
        "a": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}},
        "b": {"q1": {"d1": 1.0}, "q2": {"new": 2.0, "d1": 1.0}},
    }
    perquery = ma.evaluate(runs, qrels, ["map", "RR"], progress=False)
    by_label = ma.largest_differences(perquery, "a", "b", "map")
    pd.testing.assert_frame_equal(
        ma.largest_differences(perquery, "a", "b", ir_measures.AP), by_label
    )


@pytest.mark.parametrize("measure", ["RR@10", "RBP(rel=1)", "Judged@1"])
def test_explained_values_of_ties_are_those_of_evaluate(measure):
    qrels, run = {"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 1.0, "d2": 1.0, "d3": 1.0}}
    (value,) = ma.evaluate(run, qrels, measure, progress=False)["value"]
    assert ma.explain(measure, run, qrels, "q1").value == pytest.approx(value, abs=1e-12)


def test_a_value_that_ir_measures_rounds_is_told():
    qrels, run = {"q1": {"d1": 1, "d2": 2}}, {"q1": {"d1": 2.0, "d2": 1.0}}
    (value,) = ma.evaluate(run, qrels, "nDCG(dcg='exp-log2')@5", progress=False)["value"]
    with pytest.warns(ma.MultiAspectWarning, match=r"in ir-measures, which rounds"):
        explained = ma.explain("nDCG(dcg='exp-log2')@5", run, qrels, "q1").value
    assert 0 < abs(explained - value) < 1e-5


def test_separate_ideals_of_nwcs_have_no_best_ranking():
    labels = {"A": (2, 0), "B": (0, 2), "C": (1, 0)}
    qrels = {"q": {docno: {"relevance": r, "credibility": c} for docno, (r, c) in labels.items()}}
    measure = ma.NWCS(ideal="separate", aspects={"relevance": 2, "credibility": 2}) @ 2
    explained = measure.explain({"q": {"A": 3.0, "B": 2.0, "C": 1.0}}, qrels, "q")
    better = measure.explain({"q": {"A": 3.0, "C": 2.0, "B": 1.0}}, qrels, "q")
    assert explained.value < better.value == 1
    assert explained.ideal is None
    assert "best ranking" not in str(explained)


@pytest.mark.parametrize("measure", [ma.NLRE, ma.NGRE])
def test_the_first_document_has_no_pair_to_discount(measure: ma.Measure) -> None:
    """The discount of rank errors is that of a document and the one above it."""
    ranks = measure(aspects=TWO).explain(RUN, QRELS, "q1").ranks
    discount = ranks["discount"].tolist()
    assert np.isnan(discount[0])
    assert discount[1:] == pytest.approx([1 / np.log2(rank) for rank in range(2, len(ranks) + 1)])
