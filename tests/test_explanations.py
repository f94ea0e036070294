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
    assert len(explained.swaps) > 5
    text = str(explained)
    head, *rows = text[text.index("ranks  above") :].split("\n")
    assert len(rows) == 5
    for column, names in {"above": "docno", "below": "next_docno"}.items():
        for row, name in zip(rows, explained.swaps[names], strict=False):
            assert row[head.index(column) :].startswith(f"{name} ")


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
    explanation = TOMA(aspects=TWO, distance="manhattan").explain(RUN, QRELS, "q1")
    ranks = explanation.ranks
    assert ranks["rank"].tolist() == [1, 2, 3, 4]
    assert ranks["docno"].tolist() == ["d3", "new", "d2", "d1"]
    assert ranks["class"].fillna(-1).tolist() == [2, -1, 3, 2]
    assert ranks["distance"].fillna(-1).tolist() == [1, -1, 0.5, 1]
    assert ranks["relevance"].fillna(-1).tolist() == [0, -1, 1, 2]
    assert ranks["note"].tolist() == ["", "unjudged", "", ""]
    assert set(ranks["how"]) == {"stated"}
    norm = explanation.ideal.ranks["gain"] @ explanation.ideal.ranks["discount"]
    np.testing.assert_allclose(ranks["gain"] * ranks["discount"] / norm, ranks["contribution"])


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("parameters", "best", "worst"),
    [
        ({"distance": "manhattan"}, 0.0, 2.0),
        ({}, 0.0, 2**0.5),
        ({"distance": "chebyshev"}, 0.0, 1.0),
        ({"distance": 3}, 0.0, 2 ** (1 / 3)),
        ({"axes": "gains"}, 0.0, 5**0.5),
        ({"weights": {"relevance": 3, "credibility": 4}}, 0.0, 5.0),
        ({"weighting": "normalized"}, 0.0, 2**0.5),
    ],
)
def test_distances_are_those_of_the_labels(parameters: dict, best: float, worst: float) -> None:
    qrels = {
        "q": {"good": {"relevance": 2, "credibility": 1}, "bad": {"relevance": 0, "credibility": 0}}
    }
    ranks = (
        TOMA(aspects=TWO, **parameters).explain({"q": {"good": 2.0, "bad": 1.0}}, qrels, "q").ranks
    )
    assert ranks["distance"].tolist() == pytest.approx([best, worst])


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
    aspects = {"relevance": ma.Aspect(1, probabilities=[0.5, 1])}
    explanation = ma.uRBPgr(aspects=aspects).explain(
        {"q": {"new": 1.0}}, {"q": {"d": {"relevance": 1}}}, "q"
    )
    assert explanation.ranks["gain"].tolist() == [0.5]
    assert explanation.ranks["note"].tolist() == ["unjudged"]
    assert explanation.value == pytest.approx(0.1)


def test_displacements_and_empty_ranks() -> None:
    qrels = {"q": {"a": {"relevance": 2}, "b": {"relevance": 1}, "c": {"relevance": 1}}}
    ranks = ma.CRP.explain({"q": {"b": 1.0}}, qrels, "q").ranks
    assert ranks["displacement"].iloc[0] == -1
    assert ranks["contribution"].tolist() == [-1, -3]
    assert ranks["rank"].isna().tolist() == [False, True]
    assert ranks["note"].tolist() == ["", "empty ranks"]


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
    """The errors of a topic are summed from its first rank on; q1 has errors on both aspects."""
    labels = {"d1": {"relevance": 0, "credibility": 1}, "d2": {"relevance": 2, "credibility": 3}}
    labels["d3"] = {"relevance": 3, "credibility": 2}
    run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "q2": {"d2": 3.0, "d1": 2.0, "d3": 1.0}}
    check(ma.NGRE(aspects=BOTH), Collection(tuple(BOTH), dict.fromkeys(run, labels), run))


@pytest.mark.slow
def test_the_best_ranking() -> None:
    for measure in (
        TOMA(aspects=TWO),
        CAM(aspects=TWO),
        ma.nCRP,
        ma.NWCS(aspects=TWO),
        On(base="AP", aspects=TWO),
    ):
        explanation = measure.explain(RUN, QRELS, "q1")
        assert explanation.ideal.value >= explanation.value
    table = ma.analysis.upper_bound(QRELS, CAM(aspects=TWO)).set_index("qid")
    assert CAM(aspects=TWO).explain(RUN, QRELS, "q1").ideal.value == pytest.approx(
        table.loc["q1", "value"]
    )
    for measure in (
        MM(aspects=TWO),
        ma.ESL,
        ma.HarmfulCompat,
        ma.HelpfulMinusHarmful,
        On(base="SetF"),
    ):
        assert measure.explain(RUN, QRELS.assign(relevance=QRELS["relevance"]), "q1").ideal is None


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
    plain, normalized = (
        CAM(base="P@3", normalized=divided, aspects=TWO).explain(RUN, QRELS, "q1")
        for divided in (False, True)
    )
    assert set(normalized.ranks["how"]) == {"stated"}
    assert 0 < plain.value < normalized.value < 1
    factor = normalized.value / plain.value
    np.testing.assert_allclose(normalized.aspects["part"], factor * plain.aspects["part"])


class _SlopeOfOne(ma.AspectMean):
    """The sum; its slope is stated for one topic only."""

    def combine(self, values, weights):
        return values.sum(axis=0)

    def slope(self, values, weights):
        return np.where(np.arange(values.shape[1]) == 0, np.ones_like(values), np.nan)


def test_topics_are_explained_by_aspect_or_as_a_whole() -> None:
    measure = _SlopeOfOne(base="P@2", aspects=TWO)
    rankings = Rankings(RUN | {"q2": {"d1": 1.0}}, ma.Judgments(QRELS))
    found = Contributions.of(measure, Prefixes(rankings, 4))
    np.testing.assert_array_equal(found.marginal, [False, True])
    np.testing.assert_array_equal(found.offset, [0, 0])
    np.testing.assert_allclose(found.ranks.sum(axis=1), found.value)
    assert (found.value > 0).all()


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
            return ranking.total(self.relevant(target)[ranking.row]) / np.maximum(ranking.n_ret, 1)

        def contributions(self, ranking, target):
            return self.relevant(target)[ranking.row].astype(float)

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


@pytest.mark.slow
def test_largest_differences() -> None:
    qrels = {f"q{number}": {"d": {"relevance": 1}} for number in range(12)}
    runs = {
        "one": {qid: {"d": 1.0} for qid in qrels},
        "two": {
            qid: {**{f"x{i}": 9.0 for i in range(number)}, "d": 1.0}
            for number, qid in enumerate(qrels)
        },
    }
    perquery = ma.evaluate(runs, qrels, ["RR", "P@1"], progress=False)
    table = ma.largest_differences(perquery, "one", "two", "RR", n=3)
    assert table["qid"].tolist() == ["q11", "q10", "q9"]
    assert table["difference"].tolist() == pytest.approx([11 / 12, 10 / 11, 9 / 10])
    reverse = ma.largest_differences(perquery, "two", "one", measure="RR")
    assert reverse["difference"].tolist()[:3] == pytest.approx([-11 / 12, -10 / 11, -9 / 10])
    assert len(reverse) == 10
    for qid, difference in zip(table["qid"], table["difference"], strict=True):
        first, second = (
            ma.explain("RR", {name: runs[name]}, qrels, qid) for name in ("one", "two")
        )
        assert first.compare(second).difference == pytest.approx(difference)


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


@pytest.mark.parametrize("column", ["name", "qid", "measure"])
def test_differences_of_a_file_with_a_name_that_pandas_reads_as_empty(column: str) -> None:
    """The topic had no id in the result; a run or a measure was left out."""
    rows = [
        ("a", "q1", "AP", 1.0),
        ("a", "q2", "AP", 0.5),
        ("b", "q1", "AP", 0.5),
        ("b", "q2", "AP", 0.5),
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    perquery.loc[perquery[column] == perquery[column].iloc[-1], column] = "NA"
    read = pd.read_csv(StringIO(perquery.to_csv(index=False)))
    with pytest.raises(
        ma.MultiAspectError, match=rf"the column {column} has an empty cell .* keep_default"
    ):
        ma.largest_differences(read, "a", "b", "AP")
    kept = pd.read_csv(StringIO(perquery.to_csv(index=False)), keep_default_na=False)
    b, measure = kept["name"].iloc[-1], kept["measure"].iloc[-1]
    assert ma.largest_differences(kept, "a", b, measure)["difference"].tolist() == [0.5, 0.0]


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
    changed = pd.concat([QRELS, QRELS.iloc[4:].assign(docno="d2", relevance=3)])
    explanations = [
        CAM(aspects=["relevance", "credibility"]).explain(RUN, qrels, "q1")
        for qrels in (QRELS, changed)
    ]
    with pytest.raises(
        ma.MultiAspectError,
        match="scales of relevance that were inferred as 0, 1, 2 and 0, 1, 2, 3;",
    ):
        explanations[0].compare(explanations[1])
    declared = [
        CAM(aspects={"relevance": 3, "credibility": 1}).explain(RUN, qrels, "q1")
        for qrels in (QRELS, changed)
    ]
    assert declared[0].compare(declared[1]).difference == 0


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
    explanation = _AmongAll(aspects=TWO).explain(RUN, QRELS, "q1")
    assert explanation.value == 4 / 6
    assert explanation.ranks["contribution"].to_numpy() == pytest.approx([1 / 6] * 4)


def test_a_best_ranking_is_compared_with_a_best_one() -> None:
    explanation = On(base="nDCG", aspects=TWO).explain(
        {"q1": {"d1": 4.0, "d4": 3.0, "d2": 2.0}}, QRELS, "q1"
    )
    assert explanation.value == 1
    assert explanation.ideal is not None


def test_a_mean_without_slope_is_explained_as_a_whole() -> None:
    explanation = _Weakest(aspects=TWO).explain(RUN, QRELS, "q1")
    assert explanation.value > 0
    assert explanation.ranks["running"].iloc[-1] == pytest.approx(explanation.value)


def test_marginal_contributions_are_those_of_errors_or_of_prefixes() -> None:
    for measure, what in (
        (ma.NGRE, "the errors that a rank adds to"),
        (_Weakest, "the value of the first k ranks"),
    ):
        notes = measure(aspects=TWO).explain(RUN, QRELS, "q1").notes
        assert [
            what in note for note in notes if note.startswith("Contributions are marginal")
        ] == [True]


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
    """The contributions by rank that a text of an explanation shows, and the numbers and sums of hidden ones."""
    table = text.split("\n\n")[1].split("\n")[1:]
    rows = {
        int(line.split()[0]): line.removesuffix("unjudged").split()
        for line in table
        if line.split()[0].isdigit()
    }
    hidden = [line.split() for line in table if line.startswith("...")]
    return (
        {rank: float(cells[-2]) for rank, cells in rows.items()},
        [(int(cells[1]), float(cells[-2])) for cells in hidden],
    )


def test_long_rankings_show_the_ranks_that_contribute_most() -> None:
    """The documents that make up the value may be anywhere, as with uRBP."""
    relevant = {40: "d039", 41: "d040", 60: "d059", 90: "d089", 300: "d299"}
    judged = {docno: {"relevance": 1, "credibility": 1} for docno in relevant.values()}
    run = {"q": {f"d{rank:03d}": -float(rank) for rank in range(400)}}
    explanation = ma.uRBP(p=0.99, aspects=TWO).explain(run, {"q": judged}, "q")
    shown, hidden = shown_ranks(str(explanation))
    assert {rank for rank, part in shown.items() if part} == set(relevant)
    assert {1, 2, 3, 400} <= set(shown)
    assert len(shown) + sum(number for number, _ in hidden) == 400
    assert sum(shown.values()) + sum(part for _, part in hidden) == pytest.approx(
        explanation.value, abs=5e-4
    )
    assert len(str(explanation).split("\n")) < 45
    page = explanation._repr_html_()
    assert all(f">{docno}</td>" in page for docno in relevant.values())


def test_running_sums_go_on_after_ranks_that_are_left_out() -> None:
    judged = {f"d{number:02d}": {"relevance": int(number >= 10)} for number in range(40)}
    run = {"q": {docno: -float(rank) for rank, docno in enumerate(judged)}}
    measure = On(base=ir_measures.RBP(p=0.99) @ 30, aspects={"relevance": 1})
    text = str(measure.explain(run, {"q": judged}, "q"))
    table = [
        line.split() for line in text.split("\n\n")[1].split("\n")[1:-1]
    ]  # the last: what is hidden
    documents = [int(cells[0]) for cells in table if cells[1] in judged]
    assert documents == [*range(1, 7), *range(11, 24), 30]
    others = [" ".join(cells[:-2]) for cells in table if cells[1] not in judged]
    assert others == ["... 4 more ranks", "... 6 more ranks", "10 ranks below the cutoff"]
    parts, running = np.array([cells[-2:] for cells in table], dtype=float).T
    assert running == pytest.approx(np.cumsum(parts), abs=2e-3)
    assert parts[-1] == 0


@pytest.mark.slow
def test_what_long_rankings_hide_is_told() -> None:
    judged = {
        f"d{number:04d}": {"relevance": number % 5 == 0, "credibility": 1} for number in range(1000)
    }
    judged = {
        docno: {name: int(label) for name, label in labels.items()}
        for docno, labels in judged.items()
    }
    run = {"q": {docno: -float(rank) for rank, docno in enumerate(judged)}}
    explanation = TOMA(aspects=TWO).explain(run, {"q": judged}, "q")
    text = str(explanation)
    shown, hidden = shown_ranks(text)
    part = explanation.ranks["contribution"].to_numpy()
    left_out = [rank for rank in range(1, 1001) if rank not in shown]
    assert part[np.array(left_out) - 1].max() <= np.sort(part)[-11]  # the largest are shown
    assert sum(number for number, _ in hidden) == len(left_out)
    assert len(hidden) > 1
    assert all(number > 1 for number, _ in hidden)  # one rank needs no line that tells of it
    rest = part[np.array(left_out) - 1].sum()
    together = f"Not shown: {len(left_out)} ranks, which contribute {rest:.4f} together."
    assert together in text
    assert re.search(
        r"Not shown: \d+ ranks, which contribute [0-9.]+ together\.", explanation._repr_html_()
    )
    cut = str((TOMA(aspects=TWO) @ 10).explain(run, {"q": judged}, "q"))
    assert "990 ranks below the cutoff" in cut
    assert "Not shown" not in cut


@pytest.mark.every(2)
@pytest.mark.parametrize(("measure", "depth"), [(TOMA, 100), (CAM(base="infAP"), 66)])
def test_comparisons_show_the_documents_that_differ_most_and_tell_of_the_others(
    measure, depth
) -> None:
    docnos = [f"d{number:03d}" for number in range(71)]
    judged = {docno: {"relevance": at % 2, "credibility": 1} for at, docno in enumerate(docnos)}
    judged["not retrieved"] = {"relevance": 0, "credibility": 0}
    runs = [{"q": {docno: float(sign * at) for at, docno in enumerate(docnos)}} for sign in (1, -1)]
    measure = measure(aspects={"relevance": 1, "credibility": 1})
    first, second = (measure.explain(run, {"q": judged}, "q", depth=depth) for run in runs)
    comparison = first.compare(second)
    differing = comparison.documents.query("docno.notna() and difference != 0")["difference"]
    page, text = comparison._repr_html_(), str(comparison)
    hidden = f"... {len(differing) - 20} more documents: {differing.iloc[20:].sum():.4f}"
    assert hidden in page
    assert hidden in text
    notes = comparison.documents["note"][comparison.documents["docno"].isna()].tolist()
    assert notes == ["ranks 67 to 71"] * (depth == 66)
    assert all(f">{note}</td>" in page and f"\n{note} " in text for note in notes)


def test_one_further_document_is_in_the_singular() -> None:
    judged = {f"d{number:02d}": {"relevance": 1} for number in range(21)}
    first = {"q": {docno: float(at) for at, docno in enumerate(judged)}}
    second = {"q": {"new": 30.0, **first["q"]}}
    comparison = (
        ma.On(base="AP")
        .explain(first, {"q": judged}, "q")
        .compare(ma.On(base="AP").explain(second, {"q": judged}, "q"))
    )
    assert "... 1 more document:" in str(comparison)


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


@pytest.mark.parametrize("n_documents", [4, 60])
def test_html_has_contributions_before_what_may_scroll(n_documents: int) -> None:
    explanation = CAM(aspects=SHORT).explain(*ranked_labels(n_documents), "q")
    table = explanation._repr_html_().split("<table>")[1].split("</table>")[0]
    head, *rows = [
        re.findall(r"<t[hd](| [^>]*)>(.*?)</t[hd]>", row) for row in table.split("</tr>")[:-1]
    ]
    names = [text for _, text in head]
    assert names == ["rank", "docno", "contribution", "", "running", "a", "b", "a part", "b part"]
    by_rank = explanation.ranks.set_index(explanation.ranks["rank"].astype(str))
    for cells in rows:
        spans = [
            int(span)
            for attributes, _ in cells
            for span in re.findall(r'colspan="(\d+)"', attributes)
        ]
        assert len(cells) + sum(spans) - len(spans) == len(names)
        if not spans:
            rank = by_rank.loc[cells[0][1]]
            assert [cells[at][1] for at in (1, 2, 4)] == [
                rank["docno"], f"{rank['contribution']:.4f}", f"{rank['running']:.4f}"
            ]  # fmt: skip
            assert [float(cells[at][1]) for at in (5, 6)] == [rank["a"], rank["b"]]
    assert any("more ranks" in cells[0][1] for cells in rows) == (n_documents == 60)


def test_bars_are_drawn_beside_their_numbers() -> None:
    explanation = ma.nCRP.explain(
        {"q": {"x": 2.0, "d": 1.0, "y": 0.5}}, {"q": {"d": {"relevance": 1}}}, "q"
    )
    rows = re.findall(
        r"<td>(−?[0-9.]+)</td><td[^>]*><svg[^>]* aria-label=\"(−?[0-9.]+)\"",
        explanation._repr_html_(),
    )
    assert rows == [("−1.0000", "−1.0000"), ("0.0000", "0.0000"), ("0.0000", "0.0000")]
    assert explanation.offset == 1  # which has no bar


def test_explanations_can_be_pickled() -> None:
    import pickle

    explanation = TOMA(aspects=TWO).explain(RUN, QRELS, "q1")
    again = pickle.loads(pickle.dumps(explanation))
    assert str(again) == str(explanation)


# -- plots
# -----------------------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "measure",
    [TOMA(aspects=TWO), CAM(aspects=TWO) @ 2, MM(aspects=TWO), ma.NLRE(aspects=TWO), ma.CRP],
)
def test_the_plot_has_a_bar_per_rank(measure: ma.Measure) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    explanation = measure.explain(RUN, QRELS, "q1")
    ax = ma.plots.explanation(explanation)
    heights = [bar.get_height() for bar in ax.patches]
    kept = explanation.ranks[~explanation.ranks["note"].str.contains("below")]
    assert heights == pytest.approx(kept["contribution"].tolist())
    _, strip = ax.figure.axes
    assert [tick.get_text() for tick in strip.get_yticklabels()][: len(explanation.labels)] == list(
        explanation.labels
    )
    assert ma.plots.explanation(explanation, 2, ax=plt.subplots()[1]).get_xlim() == (-0.5, 1.5)
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
