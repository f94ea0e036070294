"""`MeanOf`: the weighted mean of measures, at every door, and what it refuses."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from comparison import evaluate
from frame_world import evaluate_in_processes
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, ERR, RR, P, nDCG
from sklearn.linear_model import Ridge
from strategies import examples, scaled_collections

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    MM,
    TOMA,
    Aspect,
    DnDCG,
    DSharpnDCG,
    IRec,
    MeanOf,
    MultiAspectError,
    On,
)
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.integration.declared import with_aspects

TWO = {"relevance": 2, "credibility": 2}
QRELS = pd.DataFrame(
    [
        ("1", "d1", 2, 0),
        ("1", "d2", 1, 1),
        ("1", "d3", 0, 2),
        ("1", "d4", 0, 0),
        ("2", "d1", 2, 0),
        ("2", "d2", 1, 1),
        ("2", "d3", 0, 2),
        ("2", "d4", 0, 0),
    ],
    columns=["qid", "docno", "label", "credibility"],
)
RUN = pd.DataFrame(
    [
        ("1", "d4", 4.0),
        ("1", "d2", 3.0),
        ("1", "d1", 2.0),
        ("2", "d3", 3.0),
        ("2", "d2", 2.0),
        ("2", "d4", 1.0),
    ],
    columns=["qid", "docno", "score"],
)
TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"]})
MIXED = MeanOf({"nDCG@2": 1, CAM(base="AP", aspects=TWO): 2, TOMA(aspects=TWO): 0.5})


def values(*measures: Any, qrels: Any = QRELS, run: Any = RUN, **params: Any) -> pd.DataFrame:
    """Per topic, one column per measure in the order given."""
    labelled = {str(index): measure for index, measure in enumerate(measures)}
    table = ma.evaluate({"run": run}, qrels, labelled, progress=False, **params)
    return table.pivot(index="qid", columns="measure", values="value")[list(labelled)]


# -- values
# ----------------------------------------------------------------------------------------------------


@given(
    scaled_collections(min_aspects=2, max_aspects=2),
    st.lists(st.sampled_from([0, 0.1, 1, 3]), min_size=4, max_size=4),
)
@examples(40)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_it_is_the_weighted_mean_of_its_members(drawn: Any, weights: list[float]) -> None:
    collection, aspects, _ = drawn
    if not any(weights):
        return
    members = [On(base="nDCG@3"), MM(base="AP"), ma.Subtopics(base="StRecall"), IRec @ 2]
    members = [member(aspects=ma.Aspects(aspects)) for member in members]
    mean = MeanOf(dict(zip(members, weights, strict=True)))
    scores = evaluate([*members, mean], collection.qrels, collection.run)
    for qid in collection.labels:
        wanted = np.average([scores[member, qid] for member in members], weights=weights)
        assert scores[mean, qid] == pytest.approx(wanted, abs=1e-12)


def test_a_list_has_equal_weights_and_weight_0_ignores() -> None:
    table = values(
        MeanOf([nDCG, "AP"]), MeanOf({nDCG: 4, AP: 4}), nDCG, AP, MeanOf({nDCG: 0.3, AP: 0})
    )
    assert (table["0"] == table["1"]).all()
    assert table["0"].to_numpy() == pytest.approx(
        (table["2"] + table["3"]).to_numpy() / 2, abs=1e-15
    )
    assert table["4"].to_numpy() == pytest.approx(table["2"].to_numpy(), abs=1e-15)


@pytest.mark.parametrize(
    "weights", [[0.1] * 3, [0.1, 0.2, 0.7], [3, 1, 1], [1e-9, 1, 1e9], [1.2e308] * 3]
)
def test_a_perfect_ranking_scores_exactly_1(weights: list[float]) -> None:
    mean = MeanOf(dict(zip([nDCG, AP, RR], weights, strict=True)))
    assert (
        mean.calc_aggregate({"q": {"d1": 2, "d2": 1, "d3": 0}}, {"q": {"d1": 2.0, "d2": 1.0}}) == 1
    )


def test_named_means_are_means() -> None:
    settings = {"weights": {"relevance": 2, "credibility": 1}, "aspects": TWO}
    mean = MeanOf({IRec(**settings): 0.3, DnDCG(**settings): 0.7}) @ 2
    table = values(DSharpnDCG(gamma=0.3, **settings) @ 2, mean)
    assert (table["0"] == table["1"]).all()


def test_means_of_means() -> None:
    inner = MeanOf({nDCG: 1, AP: 3})
    table = values(MeanOf({inner: 2, RR: 1}), nDCG, AP, RR)
    wanted = (2 * (table["1"] + 3 * table["2"]) / 4 + table["3"]) / 3
    assert table["0"].to_numpy() == pytest.approx(wanted.to_numpy(), abs=1e-15)
    nested = (
        MeanOf([MeanOf(["CAM(base='AP')", "IRec"]), "TOMA(aspects='relevance,credibility')"]) @ 5
    )
    assert ir_measures.parse_measure(str(nested)) == nested
    assert nested.cutoff == 5


def value_columns(*measures: Any) -> list[np.ndarray]:
    """The values per topic of each measure."""
    table = values(*measures)
    return [table[label].to_numpy() for label in table]


def test_measures_of_ir_measures_evaluate_relevance_as_on_does() -> None:
    """The mean of one measure of ir-measures is this measure, with its cutoff or rel."""
    mean_of_ndcg, ndcg = value_columns(MeanOf([nDCG @ 2]), nDCG @ 2)
    assert mean_of_ndcg == pytest.approx(ndcg, abs=1e-9)

    mean_of_ap, ap = value_columns(MeanOf(["AP(rel=2)"]), AP(rel=2))
    assert mean_of_ap == pytest.approx(ap, abs=1e-9)

    mean_of_two, precision, rr = value_columns(MeanOf([P @ 1, RR]), P @ 1, RR)
    assert mean_of_two == pytest.approx((precision + rr) / 2, abs=1e-9)


# -- aspects and cutoffs
# ---------------------------------------------------------------------------------------


def test_aspects_are_for_members_that_declare_none() -> None:
    """Members of ir-measures become `On` with these aspects."""
    scales = ma.Aspects(
        {"relevance": Aspect([0, 1, 2], gains=[0, 1, 5]), "credibility": Aspect(2, threshold=2)}
    )
    own = CAM(aspects={"relevance": 2, "credibility": 2})
    mean = MeanOf(
        ["TOMA", own, "On(aspect='credibility',base='AP')", "nDCG", "DCG@1"], aspects=scales
    )
    expected_members = [
        TOMA(aspects=scales),
        own,
        On(aspect="credibility", base="AP", aspects=scales),
        On(base="nDCG", aspects=scales),
        On(base="DCG@1", aspects=scales),
    ]
    assert [member for member, _weight in mean.members] == expected_members

    with pytest.warns(ma.MultiAspectWarning, match=r"DCG@1.*no maximum"):
        mean_values, *member_values = value_columns(mean, *expected_members)
    assert mean_values == pytest.approx(np.mean(member_values, axis=0), abs=1e-12)


def test_scales_declared_for_an_evaluation_reach_the_members() -> None:
    scales = ma.Aspects(
        {"relevance": Aspect([0, 1, 2], gains=[0, 1, 5]), "credibility": Aspect(2, threshold=2)}
    )
    mean, members = MeanOf(["TOMA", "IRec"]), ["TOMA", "IRec"]
    bound = with_aspects({"mean": mean}, scales, ["relevance", "credibility"])["mean"]
    table = values(
        bound, *(ir_measures.parse_measure(member)(aspects=scales) for member in members)
    )
    assert table["0"].to_numpy() == pytest.approx(
        table[["1", "2"]].mean(axis=1).to_numpy(), abs=1e-12
    )
    chosen = with_aspects({"mean": mean}, ("relevance",), ["relevance", "credibility"])["mean"]
    assert [member.spec for member, _ in chosen.members] == [("relevance",)] * 2


def test_inferred_scales_are_told_by_the_mean() -> None:
    with pytest.warns(ma.MultiAspectWarning, match=r"MeanOf.*relevance 0, 1, 2.*aspects="):
        values(MeanOf(["TOMA", "AP"]))


@pytest.mark.parametrize(
    ("measures", "expected_members"),
    [
        pytest.param(["nDCG", "IRec"], ["On@3", "IRec@3"], id="both"),
        pytest.param(["nDCG@3", "AP"], ["On@3", "On(base='AP')@3"], id="one has a cutoff"),
        pytest.param(
            ["SetF", "AP"], ["On(base='SetF')", "On(base='AP')@3"], id="SetF accepts none"
        ),
        pytest.param(
            [CAM(base={"relevance": "SetF", "credibility": "AP"}), "Rprec"],
            ["CAM(base={'credibility': 'AP@3', 'relevance': 'SetF'})", "On(base='Rprec')"],
            id="one of the bases of CAM accepts one, Rprec does not",
        ),
        pytest.param(
            [MeanOf([nDCG, AP])], ["MeanOf(measures={'nDCG': 1, 'AP': 1})@3"], id="a mean of a mean"
        ),
        pytest.param(["Subtopics", "CAM"], ["Subtopics@3", "CAM@3"], id="multi-aspect members"),
    ],
)
def test_cutoffs_fill_the_members_that_accept_one_and_have_none(
    measures: list[Any], expected_members: list[str]
) -> None:
    """The members of a mean @3. Those of ir-measures are shown as On, whose default base is nDCG."""
    mean = MeanOf(measures) @ 3
    assert [str(member) for member, _weight in mean.members] == expected_members


def test_the_cutoff_can_be_changed() -> None:
    mean = MeanOf([nDCG, AP]) @ 10
    assert str(mean) == "MeanOf(measures={'nDCG': 1, 'AP': 1})@10"
    assert str(mean @ 5) == "MeanOf(measures={'nDCG': 1, 'AP': 1})@5"
    assert mean(cutoff=None) == MeanOf([nDCG, AP])
    assert (mean.cutoff, MeanOf([nDCG @ 3, AP @ 7]).cutoff, MeanOf([nDCG @ 3, AP]).cutoff) == (
        10,
        7,
        None,
    )


# -- as a value
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mean",
    [MIXED, MeanOf([MIXED, "RR"]), MeanOf(["IRec", "DnDCG"], aspects="relevance,credibility") @ 5,
     MeanOf({"MM(base=\"AP(rel=2)\")": 0.25, 'HelpfulCompat': 1.5}), MeanOf],
    ids=str,
)  # fmt: skip
def test_it_prints_parses_pickles_and_copies(mean: ma.Measure) -> None:
    text = str(mean)
    assert ir_measures.parse_measure(text) == mean
    assert ir_measures.parse_trec_measure(text) == [mean]
    for again in (pickle.loads(pickle.dumps(mean)), copy.deepcopy(mean), type(mean)(**mean.params)):
        assert again == mean
        assert hash(again) == hash(mean)
        assert str(again) == text


def test_members_by_position_and_by_name() -> None:
    assert MeanOf([nDCG]) == MeanOf(measures=["nDCG"]) == MeanOf(["nDCG"])
    assert MeanOf({"nDCG": 1, "AP": 1}) == MeanOf((nDCG, AP)) != MeanOf({"nDCG": 1, "AP": 2})
    assert MeanOf([nDCG], cutoff=3) == MeanOf([nDCG]) @ 3


def test_ranges() -> None:
    """The range is the mean of those of the members."""
    assert MeanOf([nDCG, AP]).range == (0, 1)
    assert MeanOf({"CRP": 1, "nDCG": 1}).range == (-np.inf, np.inf)

    rbu = ma.RBU(p=0.5, effort=0.1)
    assert rbu.range == pytest.approx((-0.1, 0.5))
    low = (1 * -0.1 + 3 * 0) / 4
    high = (1 * 0.5 + 3 * 1) / 4
    assert MeanOf({rbu: 1, nDCG: 3}).range == pytest.approx((low, high))


def test_directions() -> None:
    """Lower is better if it is for all members; such a mean has no upper bound."""
    assert not MIXED.lower_is_better
    assert not upper_bound(QRELS, MIXED).empty

    lower = MeanOf(["Frustration", "HarmfulCompat"])
    assert lower.lower_is_better
    with pytest.raises(MultiAspectError, match=r"upper_bound.*lower-is-better"):
        upper_bound(QRELS, lower)


# -- doors
# -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given_as", [str, lambda measure: measure], ids=["string", "object"])
def test_experiments_and_ir_measures(given_as: Callable[[Any], Any]) -> None:
    table = pt.Experiment([RUN], TOPICS, QRELS, [given_as(MIXED), given_as(nDCG @ 2)])
    mean = values(MIXED)["0"].mean()
    assert table[str(MIXED)].item() == pytest.approx(mean, abs=1e-12)
    renamed = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    scores = ir_measures.calc_aggregate(
        [MIXED], QRELS.rename(columns=renamed), RUN.rename(columns=renamed)
    )
    assert scores[MIXED] == pytest.approx(mean, abs=1e-12)
    assert ma.aggregate(ma.evaluate({"run": RUN}, QRELS, MIXED, progress=False)).iloc[
        0, -1
    ] == pytest.approx(mean)


class Turned(pt.Transformer):
    """A run whose scores turn around with a parameter."""

    def __init__(self, sign: float) -> None:
        self.sign = sign

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        results = topics[["qid", "query"]].merge(RUN)
        return pt.model.add_ranks(results.assign(score=results["score"] * self.sign))


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_grid_search(jobs: int) -> None:
    """Of a run and its reverse, the grid search chooses the one with the higher mean."""
    pipeline = Turned(1.0)
    best_value, ((_pipeline, _parameter, best_sign),) = pt.GridSearch(
        pipeline,
        {pipeline: {"sign": [1.0, -1.0]}},
        TOPICS,
        QRELS,
        metric=str(MIXED),
        return_type="best_setting",
        jobs=jobs,
    )
    as_it_is = values(MIXED, run=RUN)["0"].mean()
    reversed_run = RUN.assign(score=-RUN["score"])
    reversed_ = values(MIXED, run=reversed_run)["0"].mean()
    assert as_it_is != reversed_
    assert best_value == pytest.approx(max(as_it_is, reversed_))
    assert best_sign == (1.0 if as_it_is > reversed_ else -1.0)


@pytest.mark.slow
def test_processes() -> None:
    runs = {"a": RUN, "b": RUN.assign(score=-RUN["score"])}
    first = ma.evaluate(runs, QRELS, [MIXED], progress=False)
    pd.testing.assert_frame_equal(evaluate_in_processes(runs, QRELS, [MIXED]), first)
    assert (first["measure"] == str(MIXED)).all()


def rows() -> tuple[np.ndarray, pd.DataFrame, np.ndarray]:
    """Features, labels and queries of 12 queries."""
    rng = np.random.default_rng(5)
    labels = pd.DataFrame(rng.integers(0, 3, (60, 2)), columns=["relevance", "credibility"])
    features = labels.to_numpy() + rng.normal(size=(60, 2))
    return features, labels, np.repeat(np.arange(12), 5)


def test_scorers_and_training_labels() -> None:
    features, labels, qid = rows()
    linear = MeanOf({"On(aspect='relevance')": 1, "On(aspect='credibility')": 3}, aspects=TWO)
    ranker = ma.AspectRanker(Ridge(), target=linear).fit(features, labels, qid=qid)
    twin = ma.AspectRanker(
        Ridge(), target=CAM(weights={"relevance": 1, "credibility": 3}, aspects=TWO)
    )
    assert ranker.predict(features) == pytest.approx(
        twin.fit(features, labels, qid=qid).predict(features)
    )
    scores = {
        mean: ma.ranking_score(labels, ranker.predict(features), measure=mean, qid=qid)
        for mean in (linear, CAM(weights={"relevance": 1, "credibility": 3}, aspects=TWO))
    }
    assert len({round(score, 12) for score in scores.values()}) == 1
    with pytest.raises(MultiAspectError, match="a measure with a gain per document"):
        ma.AspectRanker(Ridge(), target=MeanOf([MM], aspects=TWO)).fit(features, labels, qid=qid)


@pytest.mark.parametrize(
    ("members", "is_surrogate"),
    [
        pytest.param(["nDCG", "CAM"], False, id="both discount by the logarithm of the rank"),
        pytest.param(["nDCG@2", "CAM"], True, id="one has no discount below rank 2"),
        pytest.param(["AP", "CAM"], True, id="AP is not a sum of gains times discounts"),
    ],
)
def test_label_of_the_mean_is_surrogate_unless_discounts_agree(
    members: list[str], is_surrogate: bool
) -> None:
    """Learning to rank needs one gain per document: exact if the mean is a sum of gains times discounts."""
    mean = MeanOf(members, aspects=TWO)
    assert mean.gain_is_surrogate(ma.Judgments(QRELS)) == is_surrogate


def test_a_mean_has_no_gains_if_a_member_has_none() -> None:
    """MM, a harmonic mean, gives documents no gains."""
    assert MeanOf(["nDCG", "MM"], aspects=TWO).document_gain(ma.Judgments(QRELS)) is None


# -- explanations and bounds
# ------------------------------------------------------------------------------


def test_explanations_have_the_parts_of_members() -> None:
    """nDCG weighs 1/4; CAM weighs 3/4, which its two aspects share."""
    mean = MeanOf({"nDCG@2": 1, "CAM(base='AP')": 3}, aspects=TWO)
    explanation = mean.explain(RUN, QRELS, "1")
    weights = dict(zip(explanation.aspects["aspect"], explanation.aspects["weight"], strict=True))
    assert weights == {
        "nDCG@2": 1 / 4,
        "CAM(base='AP') relevance": 3 / 4 / 2,
        "CAM(base='AP') credibility": 3 / 4 / 2,
    }
    assert explanation.ranks["contribution"].sum() == pytest.approx(explanation.value)
    assert {"nDCG@2 part", "CAM(base='AP') relevance part"} <= set(explanation.ranks)


def test_explanations_name_members_by_what_tells_them_apart() -> None:
    """Relevance is the default aspect of On, which its name leaves out."""
    mean = MeanOf(["On(aspect='relevance')", "On(aspect='credibility')"], aspects=TWO)
    explanation = mean.explain(RUN, QRELS, "1")
    assert explanation.aspects["aspect"].tolist() == ["On", "On(aspect='credibility')"]


def test_explanations_of_members_without_parts_are_marginal() -> None:
    """MM and IRec are no sums: the contribution of a rank is the difference that its document makes."""
    explanation = MeanOf(["MM(base='AP')", "IRec"], aspects=TWO).explain(RUN, QRELS, "1")
    assert set(explanation.ranks["how"]) == {"marginal"}
    total = explanation.ranks["contribution"].sum() + explanation.offset
    assert total == pytest.approx(explanation.value)


@pytest.mark.parametrize("cutoff", [None, 2])
def test_upper_bounds_of_a_mean_that_is_cam(cutoff: int | None) -> None:
    """The mean of nDCG on each aspect is CAM, and has its bounds, found in the same way."""
    mean = MeanOf(["On(aspect='relevance')", "On(aspect='credibility')"], aspects=TWO)
    cam = CAM(aspects=TWO)
    if cutoff is not None:
        mean, cam = mean @ cutoff, cam @ cutoff
    bounds = upper_bound(QRELS, mean)
    expected = upper_bound(QRELS, cam)
    assert bounds["value"].to_numpy() == pytest.approx(expected["value"].to_numpy())
    assert bounds["strategy"].tolist() == expected["strategy"].tolist()


def test_upper_bounds_of_a_mean_that_is_no_sum_are_searched() -> None:
    """No ranking has a higher value than `bound`, not even the best that was found."""
    measure = MeanOf({"AP": 2, "TOMA": 1, "IRec@1": 1}, aspects=TWO)
    table = upper_bound(QRELS, measure)
    assert (table["value"] <= table["bound"] + 1e-12).all()


@pytest.mark.parametrize("members", [["MM", "AP"], [CAM(normalized=True)]], ids=["MM", "CAM"])
def test_members_without_upper_bounds_are_refused(members: list[Any]) -> None:
    with pytest.raises(MultiAspectError, match=r"no upper bound.*MeanOf"):
        upper_bound(QRELS, MeanOf(members, aspects=TWO))


def test_it_is_described_and_cited() -> None:
    assert {"sakai2011", "lioma2017", "maistro2021", "jarvelin2002"} <= set(
        re.findall(r"@\w+{(.*),", ma.cite(MIXED))
    )
    assert MIXED.required_aspects == ("relevance", "credibility")
    assert set(ir_measures.qrel_inputs([MIXED])) >= {"relevance", "credibility"}


# -- bad input
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: MeanOf([]), ["measures", "at least one"]),
        (lambda: MeanOf({}), ["measures", "at least one"]),
        (lambda: MeanOf({"nDCG": 0}), ["at least one with a positive weight"]),
        (lambda: MeanOf({"nDCG": -1, "AP": 2}), ["the weight of nDCG", "at least 0", "-1"]),
        (lambda: MeanOf({"nDCG": "1"}), ["the weight of nDCG", "finite number"]),
        (lambda: MeanOf({"nDCG": float("nan")}), ["the weight of nDCG", "finite number"]),
        (lambda: MeanOf({"nDCG": True}), ["the weight of nDCG", "True"]),
        (lambda: MeanOf("nDCG"), ["expected a list of measures, or a dict", "'nDCG'"]),
        (lambda: MeanOf(nDCG), ["expected a list of measures", "nDCG"]),
        (lambda: MeanOf([nDCG, 3]), ["expected measures or their names, got 3"]),
        (lambda: MeanOf(["nDGC"]), ["unknown measure 'nDGC'", "nDCG"]),
        (lambda: MeanOf(["nDCG", nDCG]), ["distinct measures", "nDCG"]),
        (lambda: MeanOf([nDCG], [AP]), ["expected parameters by name"]),
        (lambda: MeanOf([nDCG], measures=[AP]), ["expected parameters by name"]),
        (lambda: MeanOf(["NumRet", "AP"]), ["NumRet is not aggregated by the mean"]),
        (lambda: MeanOf(["Frustration", "nDCG"]), ["lower is better for Frustration", "agree"]),
        (lambda: MeanOf([ERR, nDCG]), ["ERR uses 4 as the highest grade", "On(base='ERR')"]),
        (lambda: MeanOf(["alpha_nDCG@5"]), ["alpha_nDCG@5 cannot be a base", "Subtopics"]),
        (lambda: MeanOf(["nDCG@5", "AP"]) @ 10, ["MeanOf@10 has the cutoff 10, but its member is nDCG@5"]),
        (lambda: MeanOf(["SetF", "Rprec"]) @ 10, ["@10", "no member accepts one: SetF, Rprec"]),
        (lambda: MeanOf([MeanOf(["nDCG@5"])]) @ 10, ["has the cutoff 10, but its member is"]),
        (lambda: MeanOf.calc_aggregate({"q": {"d": 1}}, {"q": {"d": 1.0}}), ["MeanOf requires measures"]),
        (lambda: MeanOf(["P"]).calc_aggregate({"q": {"d": 1}}, {"q": {"d": 1.0}}), ["P is incomplete", "cutoff"]),
        (lambda: MeanOf(["MDCU", "nDCG"]).calc_aggregate({"q": {"d": 1}}, {"q": {"d": 1.0}}),
         ["MDCU requires themes"]),
        (lambda: MeanOf(["CAM(aspects='mood')"]).calc_aggregate({"q": {"d": 1}}, {"q": {"d": 1.0}}),
         ["MeanOf", "no column for the aspect mood"]),
        (lambda: CAM(base=MeanOf([nDCG])), ["cannot be a base"]),
        (lambda: MeanOf(["On(aspect='mood')"], aspects=TWO), ["MeanOf", "mood"]),
    ],
)  # fmt: skip
def test_bad_input(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)


def test_measures_on_different_scales_are_told() -> None:
    with pytest.warns(ma.MultiAspectWarning, match=r"MeanOf.*different scales"):
        values(MeanOf(["DCG", "nDCG"]))
    values(MeanOf({"DCG": 0.1, "nDCG": 1}))  # weights balance them


def test_a_scorer_is_not_made_of_it() -> None:
    """scikit-learn calls what it takes for a scorer with an estimator, X and y, and hides its errors in NaN.

    So a warning says the same as the error.
    """
    X, y = np.ones((2, 1)), np.ones(2)
    with (
        pytest.warns(ma.MultiAspectWarning, match="a measure is not a scorer"),
        pytest.raises(MultiAspectError, match="a measure is not a scorer"),
    ):
        MeanOf(Ridge(), X, y)


def test_terms_have_long_names_only_if_they_would_be_alike() -> None:
    long = "CAM(base='nDCG@10',weights={'relevance': 1, 'credibility': 2})"
    other = long.replace("'credibility': 2", "'credibility': 3")
    judgments = ma.Judgments(QRELS)
    names = [term.name for term in MeanOf([long, "nDCG@5"], aspects=TWO).terms(judgments)]
    assert [name.partition(" ")[0] for name in names] == ["CAM", "CAM", "nDCG@5"]
    alike = [term.name for term in MeanOf([long, other], aspects=TWO).terms(judgments)]
    assert len(set(alike)) == 4
