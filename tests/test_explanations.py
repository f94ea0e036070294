"""Explanations: contributions sum to the value of the evaluation, whatever the measure and the collection."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import BASES, FAIR, Collection, collections, orders

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, TOMA, On
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.measures import ALL, DirectMeasure

BOTH = {"relevance": 3, "credibility": 3}

# -- measures of users: a mean without slope, a joint measure, direct measures, a linear one above its range ----


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
def _registered():
    measures = [ma.register(kind) for kind in (_Weakest, _SmallestGain, _Agreement, _Capped, _AmongAll)]
    yield
    for measure in measures:
        ir_measures.measures.registry.pop(measure.NAME)


# -- the sums --------------------------------------------------------------------------------------------------


def declared(measure: ma.Measure) -> ma.Measure:
    """The measure on declared scales, if it takes any."""
    if measure.SINGLE_ASPECT:
        return measure if measure.NOT_A_BASE else On(base=measure, aspects=BOTH)
    if "aspects" not in measure.SUPPORTED_PARAMS or (measure.NAME == "TOMA" and measure["order"] is not None):
        return measure
    return measure(aspects=BOTH)


def complete(measure: ma.Measure) -> ma.Measure:
    """The measure with the parameters that it requires."""
    required = {"expected": 2, "themes": "relevance", "usability": "credibility", "groups": FAIR}
    return measure(**{name: value for name, value in required.items() if name in measure.SUPPORTED_PARAMS})


def check(measure: ma.Measure, collection: Collection, depth: int = 100) -> None:
    """Compare the explanation of every topic with the evaluation."""
    qrels = collection.qrels.assign(known=lambda frame: np.arange(len(frame)) % 2)
    run = collection.run_frame
    if not set(run["query_id"]) & set(qrels["query_id"]):
        return  # refused, as by an evaluation
    judgments = ma.Judgments(qrels)
    values = dict(zip(judgments.qids, measure.evaluate(Rankings(run, judgments)).tolist(), strict=True))
    for qid, value in values.items():
        explanation = measure.explain(run, judgments, qid, depth=depth)
        ranks = explanation.ranks
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
        if explanation.aspects["part"].notna().all():
            assert explanation.aspects["part"].sum() == pytest.approx(value, abs=1e-9)


SOME = {"min_aspects": 2, "max_aspects": 2, "grades": (0, 1, 2, 3), "max_queries": 2, "max_judged": 5}


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("measure", ALL, ids=str)
def test_contributions_of_every_measure(measure: ma.Measure) -> None:
    @settings(max_examples=6)
    @given(collections(**SOME), st.sampled_from([None, 1, 3]), st.sampled_from([1, 2, 100]))
    def of_worlds(collection: Collection, cutoff: int | None, depth: int) -> None:
        one = complete(measure)
        if cutoff is not None and "cutoff" in one.SUPPORTED_PARAMS:
            one = one @ cutoff
        check(declared(one), collection, depth)

    of_worlds()


FOR_BASES = [On, TOMA, TOMA(weighting="exponential"), CAM, CAM(weights={"relevance": 3, "credibility": 1}), MM, GAM]
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
@settings(max_examples=35)
@given(collections(**SOME), st.sampled_from(FOR_BASES), st.sampled_from((*BASES, *OWN_BASES)), st.integers(1, 5))
def test_contributions_of_every_base(collection: Collection, measure: ma.Measure, base: str, depth: int) -> None:
    try:
        measure = measure(base=base)
    except ma.MultiAspectError:
        return  # such as the harmonic mean of negative values
    check(declared(measure), collection, depth)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@settings(max_examples=25)
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
    check(declared(ir_measures.parse_measure(measure)), collection, depth)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@settings(max_examples=15)
@given(collections(**{**SOME, "grades": [(0, 1, 2), (0, 1)], "junk": False}), orders())
def test_contributions_of_explicit_orders(collection: Collection, order: ma.Order) -> None:
    for measure in (TOMA(order=order), ma.HelpfulMinusHarmful(order=order)):
        check(measure, collection)


@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@settings(max_examples=6)
@given(collections(fractional=False, max_queries=3, min_aspects=2))
def test_scales_are_inferred_from_all_topics(collection: Collection) -> None:
    """With the scale of the topic alone, TOMA of a topic without the top grade were another number."""
    for measure in (TOMA, CAM, ma.uERR, ma.NLRE):
        check(measure, collection)


# -- what it shows ---------------------------------------------------------------------------------------------

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
    qrels = {"q": {"good": {"relevance": 2, "credibility": 1}, "bad": {"relevance": 0, "credibility": 0}}}
    ranks = TOMA(aspects=TWO, **parameters).explain({"q": {"good": 2.0, "bad": 1.0}}, qrels, "q").ranks
    assert ranks["distance"].tolist() == pytest.approx([best, worst])


def test_products_of_probabilities() -> None:
    aspects = {"relevance": 1, "understandability": ma.Aspect(3, probabilities=[0, 0.4, 0.8, 1])}
    qrels = {"q": {"a": {"relevance": 1, "understandability": 1}, "b": {"relevance": 1, "understandability": 2}}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    for measure in (ma.uRBPgr(aspects=aspects), ma.unDCG(aspects=aspects), ma.uERR(aspects=aspects)):
        assert measure.explain(run, qrels, "q").ranks["product"].tolist() == [0.4, 0.8]
    # The gain of unDCG as its formula has it, however it is computed.
    gains = ma.unDCG(aspects=aspects).explain(run, qrels, "q").ranks["gain"]
    assert gains.tolist() == pytest.approx([2**0.4 - 1, 2**0.8 - 1])


def test_gains_of_unjudged_documents() -> None:
    aspects = {"relevance": ma.Aspect(1, probabilities=[0.5, 1])}
    explanation = ma.uRBPgr(aspects=aspects).explain({"q": {"new": 1.0}}, {"q": {"d": {"relevance": 1}}}, "q")
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


def test_the_weaker_aspect_has_the_larger_part_in_mm() -> None:
    aspects = MM(base="AP", aspects=TWO).explain(RUN, QRELS, "q1").aspects.set_index("aspect")
    weak = aspects["value"].idxmin()
    assert aspects["part"].idxmax() == weak
    assert aspects["part"].sum() == pytest.approx(MM(base="AP", aspects=TWO).explain(RUN, QRELS, "q1").value)


def test_swaps() -> None:
    explanation = ma.NLRE(aspects=TWO).explain(RUN, QRELS, "q1")
    swaps = explanation.swaps
    assert swaps["docno"].tolist() == ["new", "d2"]
    assert swaps["next_docno"].tolist() == ["d2", "d1"]
    assert swaps["cost"].is_monotonic_decreasing
    assert 1 - swaps["cost"].sum() == pytest.approx(explanation.value)
    of_ngre = ma.NGRE(aspects=TWO).explain(RUN, QRELS, "q1")
    assert of_ngre.swaps[["rank", "docno"]].equals(swaps[["rank", "docno"]])
    assert set(of_ngre.ranks["how"]) == {"marginal"}
    assert TOMA(aspects=TWO).explain(RUN, QRELS, "q1").swaps is None


def test_a_swap_of_ngre_costs_what_the_value_gains_without_it() -> None:
    """With one error, the value without it is 1."""
    run = {"q1": {"d3": 5.0, "d1": 4.0}}
    explanation = ma.NGRE(aspects={"relevance": 2}).explain(run, QRELS, "q1")
    assert explanation.swaps["cost"].tolist() == pytest.approx([1 - explanation.value])


def test_the_best_ranking() -> None:
    for measure in (TOMA(aspects=TWO), CAM(aspects=TWO), ma.nCRP, ma.NWCS(aspects=TWO), On(base="AP", aspects=TWO)):
        explanation = measure.explain(RUN, QRELS, "q1")
        assert explanation.ideal.value >= explanation.value
    table = ma.analysis.upper_bound(QRELS, CAM(aspects=TWO)).set_index("qid")
    assert CAM(aspects=TWO).explain(RUN, QRELS, "q1").ideal.value == pytest.approx(table.loc["q1", "value"])
    for measure in (MM(aspects=TWO), ma.ESL, ma.HarmfulCompat, ma.HelpfulMinusHarmful, On(base="SetF")):
        assert measure.explain(RUN, QRELS.assign(relevance=QRELS["relevance"]), "q1").ideal is None


def test_no_ranking_of_judged_documents_is_best_if_unjudged_ones_gain() -> None:
    aspects = {"relevance": ma.Aspect(1, probabilities=[0.5, 1])}
    run = {"q": {"d": 3.0, "new": 2.0, "other": 1.0}}
    assert ma.uRBPgr(aspects=aspects).explain(run, {"q": {"d": {"relevance": 1}}}, "q").ideal is None


def test_ranks_below_the_cutoff() -> None:
    ranks = (TOMA(aspects=TWO) @ 2).explain(RUN, QRELS, "q1").ranks
    assert ranks["note"].tolist() == ["", "unjudged", "below the cutoff", "below the cutoff"]
    assert ranks["contribution"].tolist()[2:] == [0, 0]


def test_marginal_contributions_beyond_the_depth_are_one_row() -> None:
    run = {"q1": {f"x{number}": -float(number) for number in range(300)} | {"d1": -250.5}}
    explanation = On(base="SetF", aspects=TWO).explain(run, QRELS, "q1")
    assert len(explanation.ranks) == 101
    last = explanation.ranks.iloc[-1]
    assert last["note"] == "ranks 101 to 301"
    assert pd.isna(last["rank"])
    assert last["contribution"] == pytest.approx(explanation.value)


def test_a_mean_of_stated_and_marginal_contributions() -> None:
    """Beyond the depth, stated contributions are in the same row as the marginal ones."""
    run = {"q1": {"new": 4.0, "d1": 3.0, "d2": 2.0, "d4": 1.0}}
    measure = CAM(base={"relevance": "nDCG", "credibility": "SetF"}, aspects=TWO)
    explanation = measure.explain(run, QRELS, "q1", depth=1)
    assert explanation.ranks["note"].tolist() == ["unjudged", "ranks 2 to 4"]
    assert explanation.ranks["contribution"].sum() + explanation.offset == pytest.approx(explanation.value)
    assert explanation.ranks["relevance part"].sum() > 0


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
    of_toma = TOMA(aspects=others).explain({"q": {"d": 1.0}}, judged, "q").ranks
    assert of_toma["distance"].tolist() == [0]
    assert of_toma.columns.is_unique


# -- input ---------------------------------------------------------------------------------------------------


def test_forms_of_runs_and_qrels(tmp_path) -> None:
    measure = TOMA(aspects=TWO)
    expected = measure.explain(RUN, QRELS, "q1").value
    frame = pd.DataFrame(
        [("q1", docno, score) for docno, score in RUN["q1"].items()], columns=["qid", "docno", "score"]
    )
    path = tmp_path / "a.run"
    path.write_text("".join(f"q1 Q0 {docno} 0 {score} a\n" for docno, score in RUN["q1"].items()))
    ids = frame.rename(columns={"qid": "query_id", "docno": "doc_id"})
    for run in (frame, ids, path, str(path), {"bm25": frame}, [frame], list(ids.itertuples(index=False))):
        assert measure.explain(run, QRELS, "q1").value == expected
    assert measure.explain({"bm25": frame}, QRELS, "q1").run == "bm25"
    assert measure.explain(path, ma.Judgments(QRELS), "q1").run == "a.run"


def test_topics_may_be_numbers() -> None:
    explanation = On.explain({"7": {"d": 1.0}}, {"7": {"d": 1}}, 7)
    assert (explanation.qid, explanation.value) == ("7", 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": "q9"}, "expected a topic of the qrels, such as q1, q2, got q9$"),
        ({"qid": "q9", "run": {**RUN, "q9": {"d": 1.0}}}, r"got q9 \(it is in the run, but has no judgments\)"),
        ({"run": {"a": RUN, "b": RUN}}, "expected one run to explain, got 2: a, b"),
        ({"run": {"q7": {"d": 1.0}}}, "no query in common"),
        ({"run": "no-such-file.run"}, "no-such-file"),
        ({"depth": 0}, "depth"),
        ({"depth": 2.5}, "depth"),
    ],
)
def test_input_that_cannot_be_explained(change: dict, message: str) -> None:
    given = {"run": RUN, "qrels": QRELS, "qid": "q1", **change}
    with pytest.raises((ma.MultiAspectError, FileNotFoundError), match=message):
        TOMA(aspects=TWO).explain(**given)


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

    with pytest.raises(
        ma.MultiAspectError, match=r"contributions of the base TooMuch sum to 2 .* expected its value"
    ):
        _TooMuch().explain(RUN, QRELS, "q1")


def test_warnings_are_those_of_an_evaluation() -> None:
    with pytest.warns(ma.MultiAspectWarning) as explained:
        TOMA.explain(RUN, QRELS, "q1")
    ma.errors._given.clear()
    with pytest.warns(ma.MultiAspectWarning) as evaluated:
        ma.evaluate(RUN, QRELS, TOMA, progress=False)
    assert [str(one.message) for one in explained] == [str(one.message) for one in evaluated]
