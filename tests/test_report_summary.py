"""The summary of reports: direction, sign, interval, p-value, baseline, ties, against values by hand."""

from __future__ import annotations

import datetime
import html
import re

import ir_measures
import numpy as np
import pandas as pd
import pytest
from report_world import Page
from scipy.stats import ttest_rel

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError
from pt_multiaspect.analysis import compare_with_baseline
from pt_multiaspect.views import decimals


def frame(values: dict[str, dict[str, list[float]]]) -> pd.DataFrame:
    """Values by system and measure, one per topic."""
    rows = [
        (name, f"q{topic}", measure, value)
        for name, measures in values.items()
        for measure, topics in measures.items()
        for topic, value in enumerate(topics)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def single(**systems: list[float]) -> pd.DataFrame:
    return frame({name: {"X": values} for name, values in systems.items()})


UP, LOW, SAME = [0.5, 0.6, 0.7, 0.6], [0.4, 0.45, 0.62, 0.51], [0.6, 0.5, 0.6, 0.7]
HIGHER, LOWER = {"X": "higher"}, {"X": "lower"}


def ends_of(first: list[float], second: list[float], of_three: bool = False) -> str:
    level, text, joint = (
        (1 - 0.05 / 3, "98.33", " (95 % for all three)") if of_three else (0.95, "95", "")
    )
    low, high = ttest_rel(first, second).confidence_interval(level)
    return f"{text} % interval [{decimals(low)}, {decimals(high)}]{joint}"


def p_of(first: list[float], second: list[float]) -> str:
    return f"p = {ttest_rel(first, second).pvalue:#.3g}"


def test_above_the_baseline() -> None:
    summary = ma.report(single(new=UP, old=LOW), measures=HIGHER, baseline="old").summary
    assert (
        summary
        == f"Over 4 topics, new is significantly above old on X (+0.1050, {ends_of(UP, LOW)}, {p_of(UP, LOW)})."
    )


def test_lower_values_are_better() -> None:
    summary = ma.report(single(old=UP, new=LOW), measures=LOWER, baseline="old").summary
    change = f"(−0.1050, {ends_of(LOW, UP)}, {p_of(UP, LOW)})"
    assert (
        summary == f"Over 4 topics, new is significantly below old on X (lower is better) {change}."
    )


def test_below_the_baseline() -> None:
    old, new = [0.5, 0.6, 0.7, 0.6], [0.4, 0.45, 0.62, 0.51]
    summary = ma.report(single(new=new, old=old), measures=HIGHER, baseline="old").summary
    difference = "−0.1050"  # 0.495 - 0.6
    change = f"({difference}, {ends_of(new, old)}, {p_of(old, new)})"
    assert summary == (
        "Over 4 topics, no system is above old on X; "
        f"the next, new, is significantly worse {change}."
    )


def test_nothing_is_significant() -> None:
    other = [0.9, 0.1, 0.9, 0.2]
    summary = ma.report(single(new=UP, old=other), measures=HIGHER, baseline="old").summary
    change = f"(+0.0750, {ends_of(UP, other)}, {p_of(UP, other)})"
    assert summary == f"Over 4 topics, new is above old on X {change}, but not significantly."
    summary = ma.report(single(new=other, old=UP), measures=HIGHER, baseline="old").summary
    change = f"(−0.0750, {ends_of(other, UP)}, {p_of(UP, other)})"
    assert f"the next, new, is not significantly worse {change}" in summary
    three = ma.report(
        single(new=UP, old=other, third=SAME), measures=HIGHER, baseline="old"
    ).summary
    assert three.endswith("None of the 2 other systems differs significantly from old.")


def test_the_best_system_is_compared_and_the_others_are_counted() -> None:
    old = [0.4, 0.45, 0.62, 0.51]
    good = [0.5, 0.6, 0.7, 0.6]
    best = [value + 0.001 for value in good]
    bad = [value - 0.2 for value in old]
    values = single(a=bad, old=old, b=good, c=best)

    report = ma.report(values, measures=HIGHER, baseline="old")

    tests = compare_with_baseline(report.perquery, "old").set_index("name")
    assert tests["significant"].all()
    difference = "+0.1060"  # 0.601 - 0.495
    interval = ends_of(best, old, of_three=True)
    change = f"({difference}, {interval}, p = {tests.loc['c', 'p']:#.3g})"
    assert f"c is significantly above old on X {change}" in report.summary
    assert report.summary.endswith(
        "Of the 3 other systems, 2 are significantly better than old and 1 is significantly worse."
    )


def test_ties() -> None:
    assert ma.report(single(a=UP, b=UP[::-1]), measures=HIGHER).summary == (
        "Over 4 topics, the 2 systems have the same value on X, 0.6000."
    )
    tied = ma.report(single(a=UP, b=SAME, c=LOW), measures=HIGHER)
    assert tied.summary.startswith(
        "Over 4 topics, a, b have the highest value of 3 systems on X: 0.6000 (95 % "
    )
    tied = ma.report(single(a=UP, b=SAME, c=LOW), measures=HIGHER, baseline="b")
    assert "no system is above b on X; a has the same value as b. None of " in tied.summary


# Values of systems with the means 0.6 and 0.495. Reversed, they have the same mean, but another
# p-value of differences.
def test_systems_that_are_tied_for_the_next() -> None:
    values = single(a=UP, b=LOW, c=LOW[::-1])
    report = ma.report(values, measures=HIGHER)
    n_pairs = 3
    p = report.power.pairs["asl"].iloc[0] * n_pairs
    difference = "+0.1050"  # 0.6 - 0.495
    interval = ends_of(UP, LOW, of_three=True)
    change = f"({difference}, {interval}, p = {p:#.3g}, corrected for all pairs)"
    expected = f"It is significantly above b, the next {change}; c has the same value as b."
    assert report.summary.endswith(expected)


def test_systems_that_are_tied_above_the_baseline() -> None:
    values = single(a=LOW, b=UP, c=UP[::-1])
    summary = ma.report(values, measures=HIGHER, baseline="a").summary
    assert "b is significantly above a on X (+0.1050, 97.5 % interval [0." in summary
    tie = "); c has the same value as b. Of the 2 other systems, 1 is significantly better"
    assert tie in summary


def test_systems_that_are_tied_below_the_baseline() -> None:
    values = single(a=UP, b=LOW, c=LOW[::-1])
    summary = ma.report(values, measures=HIGHER, baseline="a").summary
    assert "the next, b, is significantly worse (−0.1050, 97.5 % interval [−0." in summary
    assert "); c has the same value as b. Of " in summary


def test_two_systems_have_no_tie_and_no_correction() -> None:
    summary = ma.report(single(a=UP, b=LOW), measures=HIGHER).summary
    assert "corrected" not in summary
    assert "same value" not in summary


def test_without_a_baseline_p_is_corrected_for_all_pairs() -> None:
    best, next_best = [0.5, 0.6, 0.7, 0.6], [0.5, 0.55, 0.6, 0.57]
    values = single(a=best, b=next_best, c=[0.4, 0.45, 0.62, 0.51])

    report = ma.report(values, measures=HIGHER)

    tests = compare_with_baseline(values, ["a", "b", "c"]).set_index(["baseline", "name"])
    p = tests.loc[("b", "a"), "p"]
    difference = "+0.0450"  # 0.6 - 0.555
    interval = ends_of(best, next_best, of_three=True)
    change = f"({difference}, {interval}, p = {p:#.3g}, corrected for all pairs)"
    assert f"It is above b, the next {change}, but not significantly." in report.summary


def test_one_system_states_its_value_and_interval() -> None:
    report = ma.report(single(only=UP), measures=HIGHER)
    table = ma.aggregate(single(only=UP), ci=0.95)
    ends = f"[{table['X 95% low'][0]:.4f}, {table['X 95% high'][0]:.4f}]"
    assert (
        report.summary
        == f"Over 4 topics, only has the value 0.6000 (95 % confidence interval {ends}) on X."
    )


def test_one_topic_has_no_test() -> None:
    report = ma.report(single(a=[0.5], b=[0.25]), measures=HIGHER, baseline="b")
    assert report.summary == "Over 1 topic, a has the highest value of 2 systems on X: 0.5000."


def test_aggregates_that_are_not_means_have_no_difference() -> None:
    values = frame({"a": {"NumRet": [5.0, 7.0, 6.0]}, "b": {"NumRet": [2.0, 3.0, 3.0]}})
    assert "(18.0000 and 8.0000, p = " in ma.report(values, baseline="b").summary


ASPECTS = {
    "a": {"r": [0.5, 0.6, 0.7], "c": [0.5, 0.4, 0.6]},
    "b": {"r": [0.4, 0.4, 0.6], "c": [0.3, 0.2, 0.3]},
}


def test_the_other_measures_are_named_by_what_was_found() -> None:
    up, down = [0.5, 0.6, 0.7, 0.6], [0.1, 0.25, 0.22, 0.21]
    values = frame(
        {
            "a": {"X": up, "gain": up, "loss": down, "cost": down, "noise": UP},
            "b": {"X": down, "gain": down, "loss": up, "cost": up, "noise": [0.9, 0.1, 0.9, 0.2]},
        }
    )
    words = {"X": "higher", "gain": "higher", "loss": "higher", "cost": "lower", "noise": "higher"}
    better, worse = "significantly better on gain, cost", "significantly worse on loss"
    expected = (
        f" Other measures, a against b: {better}; {worse}; no significant difference on noise."
    )
    for baseline in ("b", None):
        assert ma.report(values, measures=words, baseline=baseline).summary.endswith(expected)


WORLD = {
    "a": {"r": UP, "c": LOW, "cost": [0.1, 0.2, 0.1, 0.3]},
    "b": {"r": LOW, "c": [0.6, 0.5, 0.6, 0.6], "cost": [0.2, 0.1, 0.4, 0.1]},
    "c": {"r": SAME, "c": [0.1, 0.3, 0.2, 0.5], "cost": [0.5, 0.4, 0.4, 0.5]},
}


@pytest.mark.parametrize("baseline", ["c", None])
def test_how_far_it_holds_is_the_robustness_of_the_pair(baseline: str | None) -> None:
    """The pair that the summary compares: the best system, and the baseline or else the next one."""
    criteria = frame(WORLD).query("measure != 'cost'")
    values = ma.answers.combine(criteria, {"CAM": CAM(aspects="r,c")})

    report = ma.report(values, baseline=baseline)

    means = values[values["measure"] == "CAM"].groupby("name")["value"].mean()
    best, *others = means.drop(baseline or []).sort_values(ascending=False).index
    compared_with = baseline or others[0]
    table = ma.robustness(values, None, "CAM", baseline=baseline).table
    of_pair = table[(table["a"] == best) & (table["b"] == compared_with)].reset_index(drop=True)
    assert set(of_pair["question"]) == {"topics", "aspects", "weights"}
    pd.testing.assert_frame_equal(report.robustness.table, of_pair)
    assert f"{best} " in report.summary
    assert report.robustness.summary in " ".join(str(report).split())


def test_how_far_it_holds_of_runs_has_variants_and_labels() -> None:
    qrels = {
        f"q{n}": {f"d{d}": {"relevance": d % 3, "trust": (d + n) % 2} for d in range(5)}
        for n in range(4)
    }
    runs = {
        "up": {qid: {f"d{d}": d % 3 + d / 100 for d in range(6)} for qid in qrels},
        "down": {qid: {f"d{d}": -d for d in range(6)} for qid in qrels},
    }
    measure = {"CAM@3": CAM(aspects={"relevance": 2, "trust": 1}) @ 3}
    report = ma.report(runs, qrels, measure, baseline="down", progress=False)
    expected = ma.robustness(runs, qrels, measure, baseline="down")
    assert set(expected.table["question"]) == {"topics", "aspects", "weights", "variants", "labels"}
    pd.testing.assert_frame_equal(report.robustness.table, expected.table)
    page = report.to_html()
    assert 'id="robustness"' in page
    for evidence in expected.table["evidence"]:
        assert html.escape(evidence) in page


def test_the_direction_of_criteria_that_name_no_measure_counts() -> None:
    """Lower costs are better; WORLD has values of three systems on r, c and cost."""
    values = ma.answers.combine(frame(WORLD), {"CAM": CAM(aspects="r,c,cost")})
    measures = {"CAM": CAM(aspects="r,c,cost"), "r": "higher", "c": "higher", "cost": "lower"}
    found = ma.report(values, measures=measures, baseline="c").robustness
    best = found.table["a"][0]
    assert np.mean(WORLD[best]["cost"]) < np.mean(WORLD["c"]["cost"])
    evidence = found.table.set_index("question")["evidence"]
    assert "better on cost" in evidence["aspects"]
    # Weighted sums of values of which some should be high and some low mean nothing.
    assert "weights" in found.left_out


def test_the_direction_of_the_only_criterion_counts() -> None:
    found = ma.report(frame(WORLD), measures={"cost": "lower"}, baseline="c").robustness
    assert found.table["difference"][0] < 0
    assert "is better than c" in found.summary


def test_without_a_difference_of_means_nothing_is_said_of_how_far_it_holds() -> None:
    sums = frame({"a": {"NumRet": [5.0, 7.0, 6.0]}, "b": {"NumRet": [2.0, 3.0, 3.0]}})
    for report in (
        ma.report(sums, baseline="b"),
        ma.report(single(a=UP, b=SAME), measures=HIGHER),  # equal means
        ma.report(single(a=UP), measures=HIGHER),
        ma.report(single(a=[0.5], b=[0.25]), measures=HIGHER, baseline="b"),
    ):
        assert report.robustness is None
        assert 'id="robustness"' not in report.to_html()


SCALES = ma.Aspects({"relevance": 2, "trust": 1})


def judged_runs() -> tuple[
    dict[str, dict[str, dict[str, float]]], dict[str, dict[str, dict[str, int]]]
]:
    """Two runs and the qrels of four topics, for which one document of each run has no labels."""
    qrels = {
        f"q{n}": {f"d{d}": {"relevance": d % 3, "trust": (d + n) % 2} for d in range(5)}
        for n in range(4)
    }
    runs = {
        "up": {qid: {f"d{d}": d % 3 + d / 100 for d in range(6)} for qid in qrels},
        "down": {qid: {f"d{d}": -d for d in range(6)} for qid in qrels},
    }
    return runs, qrels


@pytest.mark.parametrize(
    ("measures", "main"),
    [
        (["nDCG@3", "AP", "CAM@3", "TOMA@3"], "CAM@3"),
        (["nDCG@3", "On(aspect='trust')@3", "TOMA(gate='relevance')@3"], "TOMA@3"),
        ({"usual": "nDCG@3", "both": "MM@3"}, "both"),
        (["AP", "nDCG@3"], "AP"),
    ],
)
def test_the_summary_is_about_the_first_measure_of_several_aspects(measures, main: str) -> None:
    runs, qrels = judged_runs()
    report = ma.report(runs, qrels, measures, aspects=SCALES, baseline="down", progress=False)
    assert re.search(rf" on {re.escape(main)}( \(|;)", report.summary)
    assert f" on {main};" in report.robustness.summary
    chosen = report.perquery[report.perquery["measure"].isin(list(measures))]
    of_values = ma.report(chosen, measures=list(measures), baseline="down")
    assert re.search(rf" on {re.escape(main)}( \(|;)", of_values.summary)


@pytest.mark.parametrize("measure", ["nDCG@3", "AP(rel=1)@3", "P(rel=2)@3", "RR"])
def test_declared_scales_count_for_the_missing_labels_of_plain_measures(measure: str) -> None:
    runs, qrels = judged_runs()
    report = ma.report(
        runs, qrels, {"usual": measure}, aspects=SCALES, baseline="down", progress=False
    )
    relevance = {
        qid: {d: {"relevance": labels["relevance"]} for d, labels in docs.items()}
        for qid, docs in qrels.items()
    }
    equal = {"usual": ma.On(base=measure, aspects={"relevance": 2})}
    intervals = ma.analysis.missing_labels(runs, relevance, equal, baseline="down").pairs.iloc[0]
    row = report.robustness.table.set_index("question").loc["labels"]
    assert (row["low"], row["high"]) == pytest.approx((intervals["low"], intervals["high"]))
    means = ma.aggregate(report.perquery).set_index("name")["usual"]
    topics = report.robustness.table.set_index("question").loc["topics"]
    assert topics["difference"] == pytest.approx(means["up"] - means["down"])


UNDECLARED = (
    "Other values of missing labels could not be tried, as the label scales are not declared."
)


@pytest.mark.filterwarnings(
    "ignore:.*scales, which were inferred:pt_multiaspect.MultiAspectWarning"
)
@pytest.mark.parametrize(
    ("measures", "aspects", "sentences"),
    [
        (["nDCG@3"], SCALES, []),
        (["TOMA@3"], SCALES, []),
        (["nDCG@3"], None, [UNDECLARED]),
        (["CAM@3"], None, [UNDECLARED]),
        (["ERR@3"], SCALES, ["Other values of missing labels could not be tried."]),
    ],
)
def test_reports_have_no_texts_of_errors(
    measures: list[str], aspects: object, sentences: list[str]
) -> None:
    """What could not be tried is a sentence of the section "How far it holds"."""
    runs, qrels = judged_runs()
    report = ma.report(runs, qrels, measures, aspects=aspects, baseline="down", progress=False)
    page = Page(report.to_html()).text
    errors = [
        "Left out",
        "expected declared",
        "is no mean over aspects",
        "has no values on several aspects",
    ]
    for error in errors:
        assert error not in page
        assert error not in str(report)
    _before, definitions = page.split("Definitions", maxsplit=1)
    _before, section = definitions.split("How far it holds", maxsplit=1)
    section, _rules = section.split("Rules of the verdicts", maxsplit=1)
    _verdicts, *further = section.split("itself may be due to the topics.")
    assert [sentence for sentence in further if sentence] == sentences


class Middle(type(ir_measures.AP)):
    """A measure whose values are not averaged: their median has no interval."""

    def aggregator(self) -> Median:
        return Median()


class Median:
    def __init__(self) -> None:
        self.values: list[float] = []

    def add(self, value: float) -> None:
        self.values.append(value)

    def result(self) -> float:
        return float(np.median(self.values))


def test_values_without_an_interval_are_named_without_the_error() -> None:
    report = ma.report(single(a=UP, b=LOW), measures={"X": Middle()}, baseline="b")
    assert report.notes == ["No interval is known for X."]


def test_the_summary_is_about_the_first_given_measure() -> None:
    values = frame(ASPECTS)
    both = {"r": "higher", "c": "higher"}
    assert " on r (" in ma.report(values, measures=both, baseline="b").summary
    assert (
        " on c (" in ma.report(values, measures=dict(reversed(both.items())), baseline="b").summary
    )


def test_the_date(monkeypatch: pytest.MonkeyPatch) -> None:
    values = single(a=UP)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert ma.report(values, measures=HIGHER).date == "1970-01-02"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(
        MultiAspectError, match="SOURCE_DATE_EPOCH: expected seconds since 1970, got 'soon'"
    ):
        ma.report(values, measures=HIGHER)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert ma.report(values, measures=HIGHER).date == str(datetime.date.today())
