"""The topics that count: all judged ones, or those with a positive document for the measure."""

from __future__ import annotations

import ir_measures
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError

QRELS = {
    "both": {"d1": {"relevance": 1, "credibility": 1}},
    "one": {"d1": {"relevance": 1, "credibility": 0}},
    "none": {"d1": {"relevance": 0, "credibility": 0}},
}
RUN = {qid: {"d1": 1.0} for qid in QRELS}


def test_topics_without_a_positive_document_are_left_out() -> None:
    aspects = {"relevance": 1, "credibility": 1}
    measures = {
        "nDCG": "nDCG",
        "rel 2": "AP(rel=1)",
        "credible": ma.On(aspect="credibility", base="AP", aspects=aspects),
        "CAM": CAM(base="AP", aspects=aspects),
        "both": CAM(base="AP", aspects=aspects, weights={"relevance": 0, "credibility": 1}),
    }
    values = ma.evaluate({"run": RUN}, QRELS, measures, average_over="positive", progress=False)
    assert values.groupby("measure", sort=False)["qid"].agg(list).to_dict() == {
        "nDCG": ["both", "one"],
        "rel 2": ["both", "one"],
        "credible": ["both"],
        "CAM": ["both", "one"],
        "both": ["both"],
    }
    means = ma.aggregate(values).iloc[0]
    assert means.drop("name").tolist() == [1.0, 1.0, 1.0, 0.75, 1.0]
    judged = ma.aggregate(ma.evaluate({"run": RUN}, QRELS, measures, progress=False)).iloc[0]
    assert judged.drop("name").astype(float).tolist() == pytest.approx(
        [2 / 3, 2 / 3, 1 / 3, 0.5, 1 / 3]
    )
    # The same for several runs, whose rows follow each other.
    two = ma.evaluate(
        {"a": RUN, "b": RUN}, QRELS, measures, average_over="positive", progress=False
    )
    assert [group["value"].tolist() for _, group in two.groupby("name")] == [
        values["value"].tolist()
    ] * 2


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


@pytest.mark.filterwarnings("ignore:.*no documents for:pt_multiaspect.MultiAspectWarning")
def test_analyses_of_measures_with_different_topics() -> None:
    """A baseline is tested on the topics of each measure; what needs all measures on the same topics says so."""
    runs = {
        "a": RUN | {"both": {"x": 1.0}},
        "b": RUN,
        "c": {qid: {"x": 2.0, "d1": 1.0} for qid in QRELS},
    }
    qrels = QRELS | {f"more{n}": QRELS["both"] for n in range(3)}
    credible = ma.On(aspect="credibility", base="AP", aspects={"credibility": 1})
    values = ma.evaluate(
        runs, qrels, {"AP": "AP", "credible": credible}, average_over="positive", progress=False
    )
    comparison = ma.analysis.compare_with_baseline(values, "a")
    parts = [
        ma.analysis.compare_with_baseline(values[values["measure"] == name], "a")
        for name in ("AP", "credible")
    ]
    pd.testing.assert_frame_equal(comparison, pd.concat(parts, ignore_index=True))
    remedy = r"credible on topic one.*average_over='judged'"
    with pytest.raises(MultiAspectError, match=remedy):
        ma.analysis.correlation(values)
    few = ma.evaluate(
        runs, QRELS, {"AP": "AP", "credible": credible}, average_over="positive", progress=False
    )
    with pytest.raises(MultiAspectError, match=r"credible: expected.*two topics, got only both"):
        ma.analysis.compare_with_baseline(few, "a")


def test_suites_over_some_topics_are_refused_where_all_count() -> None:
    suite = ma.suite("trec-misinfo-2022")
    qrels = {"q": {"d1": {"relevance": 1, "correctness": 2}}}
    for call in (
        lambda: ma.evaluator(qrels, suite),
        lambda: ma.robustness({"a": {"q": {"d1": 1.0}}}, qrels, suite),
    ):
        with pytest.raises(MultiAspectError, match=r"judged.*pass dict\(suite\)"):
            call()


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


def test_labels_that_gains_does_not_list_are_positive() -> None:
    """They are their own gains, so that the value of q1 is 1, as On's always was; q1 was left out."""
    qrels = {"q1": {"d1": 2}, "q2": {"d1": 1}, "q3": {"d1": 0, "d2": 1}}
    measure = ir_measures.nDCG(gains={0: 0, 1: 0})
    measures = {"plain": measure, "On": ma.On(base=measure)}
    values = ma.evaluate(
        {"run": {"q1": {"d1": 1.0}}}, qrels, measures, average_over="positive", progress=False
    )
    assert values[["measure", "qid", "value"]].to_numpy().tolist() == [
        ["plain", "q1", 1.0],
        ["On", "q1", 1.0],
    ]


def test_a_missing_aspect_has_nothing_to_do_with_topics() -> None:
    measures = {"effort": ma.On(aspect="effort", base="AP")}
    with pytest.raises(MultiAspectError, match=r"^effort: .*no column") as caught:
        ma.evaluate({"run": RUN}, QRELS, measures, average_over="positive", progress=False)
    assert "average_over" not in str(caught.value)
