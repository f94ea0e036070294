"""The topics that count: all judged ones, or those with a positive document for the measure."""

from __future__ import annotations

import ir_measures
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError

#: By topic, d1 is positive on both aspects, on relevance only, and on none; the run retrieves it.
QRELS = {
    "both": {"d1": {"relevance": 1, "credibility": 1}},
    "one": {"d1": {"relevance": 1, "credibility": 0}},
    "none": {"d1": {"relevance": 0, "credibility": 0}},
}
RUN = {qid: {"d1": 1.0} for qid in QRELS}


BOTH_ASPECTS = {"relevance": 1, "credibility": 1}
MEASURES = {
    "nDCG": "nDCG",
    "rel 1": "AP(rel=1)",
    "credible": ma.On(aspect="credibility", base="AP", aspects=BOTH_ASPECTS),
    "CAM": CAM(base="AP", aspects=BOTH_ASPECTS),
    "credible by CAM": CAM(
        base="AP", aspects=BOTH_ASPECTS, weights={"relevance": 0, "credibility": 1}
    ),
}


def test_topics_without_a_positive_document_are_left_out() -> None:
    """A topic counts for a measure if a document is positive on an aspect that the measure reads."""
    values = ma.evaluate({"run": RUN}, QRELS, MEASURES, average_over="positive", progress=False)

    topics = values.groupby("measure", sort=False)["qid"].agg(list)
    assert topics.to_dict() == {
        "nDCG": ["both", "one"],
        "rel 1": ["both", "one"],
        "credible": ["both"],
        "CAM": ["both", "one"],
        "credible by CAM": ["both"],
    }
    means = ma.aggregate(values).iloc[0].drop("name")
    assert means.to_dict() == {
        "nDCG": 1.0,
        "rel 1": 1.0,
        "credible": 1.0,
        "CAM": (1 + 1 / 2) / 2,  # on the topic one, AP is 1 on relevance and 0 on credibility
        "credible by CAM": 1.0,
    }


def test_all_judged_topics_count_by_default() -> None:
    values = ma.evaluate({"run": RUN}, QRELS, MEASURES, progress=False)
    means = ma.aggregate(values).iloc[0].drop("name").astype(float)
    assert means.to_dict() == pytest.approx(
        {
            "nDCG": (1 + 1 + 0) / 3,
            "rel 1": (1 + 1 + 0) / 3,
            "credible": (1 + 0 + 0) / 3,
            "CAM": (1 + 1 / 2 + 0) / 3,
            "credible by CAM": (1 + 0 + 0) / 3,
        }
    )


def test_the_same_topics_count_for_several_runs() -> None:
    one = ma.evaluate({"run": RUN}, QRELS, MEASURES, average_over="positive", progress=False)
    two = ma.evaluate(
        {"a": RUN, "b": RUN}, QRELS, MEASURES, average_over="positive", progress=False
    )
    for name in ("a", "b"):
        assert two[two["name"] == name]["value"].tolist() == one["value"].tolist()


@pytest.mark.parametrize("average_over", ["derived", 1, True])
def test_other_topics_are_refused(average_over) -> None:
    with pytest.raises(
        MultiAspectError, match="average_over: expected one of 'judged', 'positive'"
    ):
        ma.evaluate({"run": RUN}, QRELS, "nDCG", average_over=average_over, progress=False)


def test_measures_without_positive_documents_are_refused() -> None:
    with pytest.raises(MultiAspectError, match="positive; use average_over='judged'"):
        ma.evaluate({"run": RUN}, QRELS, "NLRE", average_over="positive", progress=False)


def test_a_measure_that_no_topic_counts_for_is_an_error() -> None:
    with pytest.raises(MultiAspectError, match=r"no topic.*positive.*AP.rel=2."):
        ma.evaluate({"run": RUN}, QRELS, "AP(rel=2)", average_over="positive", progress=False)


def test_the_difference_of_compatibilities_counts_topics_with_both() -> None:
    """Helpful minus harmful is 0 - 0 or one-sided elsewhere, and the track of 2022 left such topics out."""
    qrels = {
        "both": {"d1": 1, "d2": -1},
        "helpful": {"d1": 1},
        "harmful": {"d1": -1},
        "none": {"d1": 0},
    }
    run = {qid: {"d1": 1.0} for qid in qrels}
    measures = [ma.HelpfulCompat, ma.HarmfulCompat, ma.HelpfulMinusHarmful]
    values = ma.evaluate({"run": run}, qrels, measures, average_over="positive", progress=False)
    assert values.groupby("measure", sort=False)["qid"].agg(list).to_dict() == {
        "HelpfulCompat": ["both", "helpful"],
        "HarmfulCompat": ["both", "harmful"],
        "HelpfulMinusHarmful": ["both"],
    }


def values_on_positive_topics(qrels: dict[str, dict[str, dict[str, int]]]) -> pd.DataFrame:
    """AP on relevance and credibility of three runs: a misses d1 on one topic, c ranks it second."""
    runs = {
        "a": {**RUN, "both": {"x": 1.0}},
        "b": RUN,
        "c": {qid: {"x": 2.0, "d1": 1.0} for qid in QRELS},
    }
    credible = ma.On(aspect="credibility", base="AP", aspects={"credibility": 1})
    return ma.evaluate(
        runs, qrels, {"AP": "AP", "credible": credible}, average_over="positive", progress=False
    )


#: With three further topics that are like "both", and for which no run retrieves anything.
SIX_TOPICS = {**QRELS, **dict.fromkeys(["more1", "more2", "more3"], QRELS["both"])}


@pytest.mark.filterwarnings("ignore:.*no documents for:pt_multiaspect.MultiAspectWarning")
def test_a_baseline_is_tested_on_the_topics_of_each_measure() -> None:
    values = values_on_positive_topics(SIX_TOPICS)
    of_ap = values[values["measure"] == "AP"]
    of_credible = values[values["measure"] == "credible"]
    assert set(of_ap["qid"]) - set(of_credible["qid"]) == {"one"}

    comparison = ma.analysis.compare_with_baseline(values, "a")

    ap_alone = ma.analysis.compare_with_baseline(of_ap, "a")
    credible_alone = ma.analysis.compare_with_baseline(of_credible, "a")
    expected = pd.concat([ap_alone, credible_alone], ignore_index=True)
    pd.testing.assert_frame_equal(comparison, expected)


@pytest.mark.filterwarnings("ignore:.*no documents for:pt_multiaspect.MultiAspectWarning")
def test_correlation_needs_all_measures_on_the_same_topics() -> None:
    values = values_on_positive_topics(SIX_TOPICS)
    remedy = r"credible on topic one.*average_over='judged'"
    with pytest.raises(MultiAspectError, match=remedy):
        ma.analysis.correlation(values)


def test_a_test_on_one_topic_is_refused() -> None:
    """Of the three topics, one alone has a credible document."""
    values = values_on_positive_topics(QRELS)
    with pytest.raises(MultiAspectError, match=r"credible: expected.*two topics, got only both"):
        ma.analysis.compare_with_baseline(values, "a")


def test_suites_over_some_topics_are_refused_where_all_count() -> None:
    """This suite averages over topics with positive documents, as the track did; these functions over all.

    As a dict, its measures are taken without the rule.
    """
    suite = ma.suite("trec-misinfo-2022")
    qrels = {"q": {"d1": {"relevance": 1, "correctness": 2}}}
    message = r"judged.*pass dict\(suite\)"
    with pytest.raises(MultiAspectError, match=message):
        ma.evaluator(qrels, suite)
    with pytest.raises(MultiAspectError, match=message):
        ma.robustness({"a": {"q": {"d1": 1.0}}}, qrels, suite)


def test_measures_of_ir_measures_count_the_topics_in_which_they_can_be_above_0() -> None:
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}, "q3": {"d1": 0}}
    run = {qid: {"d1": 1.0} for qid in qrels}
    measures = {
        "gains": ir_measures.nDCG(gains={0: 0, 1: 0, 2: 1}),
        "On": ma.On(base=ir_measures.nDCG(gains={0: 0, 1: 0, 2: 1})),
        "judged": "Judged@1",
        "On judged": ma.On(base="Judged") @ 1,
        "retrieved": "NumRet",
    }
    values = ma.evaluate({"run": run}, qrels, measures, average_over="positive", progress=False)
    assert values.groupby("measure", sort=False)["qid"].agg(list).to_dict() == {
        "gains": ["q2"], "On": ["q2"], "judged": [*qrels], "On judged": [*qrels], "retrieved": [*qrels],
    }  # fmt: skip


@pytest.mark.parametrize("on", [False, True], ids=["plain", "On"])
def test_labels_that_gains_does_not_list_are_positive(on: bool) -> None:
    """The label 2 of q1 is its own gain; 0 and 1 gain nothing, so that q2 and q3 have no positive document."""
    qrels = {"q1": {"d1": 2}, "q2": {"d1": 1}, "q3": {"d1": 0, "d2": 1}}
    ndcg = ir_measures.nDCG(gains={0: 0, 1: 0})
    measure = ma.On(base=ndcg) if on else ndcg
    run = {"q1": {"d1": 1.0}}
    values = ma.evaluate({"run": run}, qrels, measure, average_over="positive", progress=False)
    assert values["qid"].tolist() == ["q1"]
    assert values["value"].tolist() == [1.0]


def test_a_missing_aspect_has_nothing_to_do_with_topics() -> None:
    measures = {"effort": ma.On(aspect="effort", base="AP")}
    with pytest.raises(MultiAspectError, match=r"^effort: .*no column") as caught:
        ma.evaluate({"run": RUN}, QRELS, measures, average_over="positive", progress=False)
    assert "average_over" not in str(caught.value)
