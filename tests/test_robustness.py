"""Robustness: each row against the function that it comes from, and the rules of the verdicts."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference import holm
from scipy.stats import t as student
from shared_data import shared_path

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, MultiAspectError, On, analysis, robustness
from pt_multiaspect.analysis import _verdicts as rules
from pt_multiaspect.analysis._verdicts import FAILS, HOLDS, UNDECIDED
from pt_multiaspect.analysis.robustness import Robustness
from pt_multiaspect.integration.declared import default_measures
from pt_multiaspect.integration.variants import one_choice_variants

SCALES = {"relevance": 2, "credibility": 3}
MEASURE = CAM(aspects=SCALES) @ 3


def world(
    seed: int = 0, n_runs: int = 3, n_topics: int = 8, missing: float = 0.03
) -> tuple[Any, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    pairs = [(f"q{topic}", f"d{number}") for topic in range(n_topics) for number in range(10)]
    qrels = pd.DataFrame(pairs, columns=["qid", "docno"])
    for aspect, top in SCALES.items():
        qrels[aspect] = rng.integers(0, top + 1, len(qrels)).astype(float)
        qrels.loc[rng.random(len(qrels)) < missing, aspect] = np.nan
    runs = {
        f"run {run}": qrels[["qid", "docno"]].assign(
            score=rng.random(len(qrels)) + 0.4 * run * qrels["relevance"].fillna(0)
        )
        for run in range(n_runs)
    }
    return runs, qrels


@functools.cache
def whole_table() -> pd.DataFrame:
    """The rows of all pairs of the world."""
    return robustness(*world(), MEASURE).table


def row(found: Robustness, question: str, a: str, b: str) -> dict[str, Any]:
    table = found.table
    of_pair = (table["a"] == a) & (table["b"] == b) & (table["question"] == question)
    (record,) = table[of_pair].to_dict("records")
    return record


def only(frame: pd.DataFrame, **values: Any) -> dict[str, Any]:
    """Return the one row with these values."""
    is_kept = np.logical_and.reduce([frame[key] == value for key, value in values.items()])
    (record,) = frame[is_kept].to_dict("records")
    return record


class WorldOfRows:
    """A random world, its robustness, and the values and pairs of runs that its rows are about."""

    def __init__(
        self, seed: int, baseline: str | None, measure: Any, correction: str | None
    ) -> None:
        self.runs, self.qrels = world(seed)
        self.measure, self.correction = measure, correction
        reported = {"reported": measure}
        self.result = robustness(
            self.runs, self.qrels, reported, baseline=baseline, correction=correction
        )
        self.variants = {**reported, **one_choice_variants(measure, list(SCALES))}
        single = {name: On(aspect=name, base="nDCG@3", aspects=SCALES) for name in SCALES}
        metrics = {**self.variants, **single}
        self.perquery = ma.evaluate(self.runs, self.qrels, metrics, progress=False)
        is_reported = self.perquery["measure"] == "reported"
        self.values = self.perquery[is_reported].pivot(index="qid", columns="name", values="value")
        self.means = self.values.mean()
        # Each run is compared with the baseline or, without one, the best run with each other.
        if baseline is None:
            best = self.means.idxmax()
            self.pairs = [(best, other) for other in self.runs if other != best]
            self.baselines = list(self.runs)
            self.n_tests = 3  # pairs of three runs
        else:
            self.pairs = [(run, baseline) for run in self.runs if run != baseline]
            self.baselines = [baseline]
            self.n_tests = 2
        self.tests = analysis.compare_with_baseline(
            self.perquery, self.baselines, correction=correction
        )

    def is_higher(self, a: str, b: str) -> bool:
        return bool(self.means[a] > self.means[b])


MEASURES_OF_ROWS = {
    "CAM": MEASURE,
    "MM": MM(aspects=SCALES) @ 3,
    "TOMA": TOMA(aspects=SCALES, gate="relevance") @ 3,
}


@functools.cache
def world_of_rows(
    seed: int, baseline: str | None, measure: str, correction: str | None
) -> WorldOfRows:
    return WorldOfRows(seed, baseline, MEASURES_OF_ROWS[measure], correction)


@pytest.fixture(
    params=[
        (0, None, "CAM", "holm"),
        (1, "run 1", "CAM", None),
        (2, None, "MM", None),
        (3, "run 1", "MM", "holm"),
        (4, None, "TOMA", "holm"),
        (5, "run 1", "TOMA", None),
    ],
    ids=str,
)
def drawn(request: pytest.FixtureRequest) -> WorldOfRows:
    """A world with or without a baseline and a correction, by one of three measures."""
    return world_of_rows(*request.param)


def test_rows_about_topics_are_tests(drawn: WorldOfRows) -> None:
    """The difference, its paired t-test and interval, and the detectable difference."""
    table = drawn.result.table
    assert list(dict.fromkeys(zip(table["a"], table["b"], strict=True))) == drawn.pairs
    planned = analysis.detectable_difference(
        drawn.perquery,
        measures=["reported"],
        baseline=drawn.baselines,
        correction=drawn.correction,
    )
    alpha = 0.05 if drawn.correction is None else 0.05 / drawn.n_tests
    for a, b in drawn.pairs:
        of_topics = row(drawn.result, "topics", a, b)
        test = only(drawn.tests, measure="reported", name=a, baseline=b)
        difference = drawn.means[a] - drawn.means[b]
        assert of_topics["difference"] == test["difference"]
        assert of_topics["difference"] == pytest.approx(difference, abs=1e-12)
        assert of_topics["p"] == test["p"]
        differences = drawn.values[a] - drawn.values[b]
        half = student.ppf(1 - alpha / 2, len(differences) - 1) * differences.sem()
        assert of_topics["low"] == pytest.approx(difference - half)
        assert of_topics["high"] == pytest.approx(difference + half)
        assert of_topics["detectable"] == only(planned.pairs, a=a, b=b)["detectable"]
        assert of_topics["verdict"] == (HOLDS if test["p"] < 0.05 else UNDECIDED)


def test_rows_about_aspects_are_tests_of_single_aspects(drawn: WorldOfRows) -> None:
    """The order holds if it is significant on all aspects, and fails if one reverses it significantly."""
    for a, b in drawn.pairs:
        same = "better" if drawn.is_higher(a, b) else "worse"
        verdicts = {
            only(drawn.tests, measure=aspect, name=a, baseline=b)["verdict"] for aspect in SCALES
        }
        if verdicts == {same}:
            expected = HOLDS
        elif verdicts <= {same, ""}:
            expected = UNDECIDED
        else:
            expected = FAILS
        assert row(drawn.result, "aspects", a, b)["verdict"] == expected


def test_rows_about_variants_are_those_of_multiverse(drawn: WorldOfRows) -> None:
    multiverse = analysis.multiverse(
        drawn.perquery,
        measures=list(drawn.variants),
        reference="reported",
        baseline=drawn.baselines,
        correction=drawn.correction,
    )
    for a, b in drawn.pairs:
        same = "better" if drawn.is_higher(a, b) else "worse"
        of_variants = row(drawn.result, "variants", a, b)
        expected = only(multiverse.pairs, a=a, b=b)
        assert of_variants["same_sign"] == pytest.approx(expected[same])
        assert of_variants["significant"] == pytest.approx(expected[f"significantly_{same}"])


def test_rows_about_labels_are_those_of_missing_labels(drawn: WorldOfRows) -> None:
    """They may have the pair the other way round, so that the ends change sides and signs."""
    labels = analysis.missing_labels(drawn.runs, drawn.qrels, {"reported": drawn.measure})
    interval_of_pair = {}
    for pair in labels.pairs.itertuples():
        interval_of_pair[pair.a, pair.b] = (pair.low, pair.high)
        interval_of_pair[pair.b, pair.a] = (-pair.high, -pair.low)
    for a, b in drawn.pairs:
        of_labels = row(drawn.result, "labels", a, b)
        expected = pytest.approx(interval_of_pair[a, b], abs=1e-12)
        assert (of_labels["low"], of_labels["high"]) == expected


def test_rows_about_weights_are_those_of_weightings(drawn: WorldOfRows) -> None:
    """Significance is corrected for all pairs, which makes it rarer; TOMA is no mean that has weights."""
    if isinstance(drawn.measure, type(TOMA)):
        assert "no mean" in drawn.result.left_out["weights"]
        return
    weightings = analysis.weightings(
        drawn.perquery, drawn.measure, n_resamples=1, baseline=drawn.baselines
    )
    for a, b in drawn.pairs:
        of_weights = row(drawn.result, "weights", a, b)
        expected = only(weightings.pairs, a=a, b=b)
        fraction = "fraction" if drawn.is_higher(a, b) else "fraction_lower"
        assert of_weights["same_sign"] == expected[fraction]
        if drawn.correction is None:
            assert of_weights["significant"] == expected["fraction_significant"]
        else:
            assert of_weights["significant"] <= expected["fraction_significant"]


def test_the_best_run_is_compared_with_each_other_and_all_pairs_are_corrected() -> None:
    """Of five runs, four pairs are shown, and the levels are corrected for all ten."""
    runs, qrels = world(n_runs=5)
    result = robustness(runs, qrels, MEASURE)
    perquery = ma.evaluate(runs, qrels, {"m": MEASURE}, progress=False)
    best = perquery.groupby("name")["value"].mean().idxmax()
    assert set(result.table["a"]) == {best}
    all_pairs = analysis.discriminative_power(perquery, "t").pairs
    assert len(all_pairs) == 10
    all_pairs["corrected"] = holm(all_pairs["asl"].tolist())
    for other in set(runs) - {best}:
        is_pair = all_pairs["a"].isin([best, other]) & all_pairs["b"].isin([best, other])
        of_topics = row(result, "topics", best, other)
        assert of_topics["p"] == pytest.approx(all_pairs.loc[is_pair, "corrected"].item())
        assert "Holm, 10 pairs" in of_topics["evidence"]


def test_lower_is_better() -> None:
    runs, qrels = world()
    measure = {"ESL": ma.ESL(wanted=2)}
    found = robustness(runs, qrels, measure)
    means = ma.evaluate(runs, qrels, measure, progress=False).groupby("name")["value"].mean()
    assert set(found.table["a"]) == {means.idxmin()}
    assert (found.table.loc[found.table["question"] == "topics", "difference"] <= 0).all()
    assert f"{means.idxmin()} is better than" in found.summary


@pytest.mark.parametrize(
    ("aspects", "label"),
    [
        ("relevance", "AP"),
        ("credibility", "AP"),
        ("relevance credibility", "TOMA-gated@10"),
        ("a b", "TOMA@10"),
    ],
)
def test_the_default_measure_depends_on_the_aspects(aspects: str, label: str) -> None:
    assert next(iter(default_measures(aspects.split()))) == label


def test_measures_that_read_further_columns_have_labels_that_are_missing() -> None:
    """NoveltyRatio reads the column known, which is no aspect: the question of labels is answered too."""
    runs, qrels = world()
    qrels["known"] = np.arange(len(qrels)) % 2
    measure = {"reported": On(base="NoveltyRatio", aspects={"relevance": 2})}
    result = robustness(runs, qrels, measure)
    assert "labels" not in result.left_out
    expected = analysis.missing_labels(runs, qrels, measure)
    pd.testing.assert_frame_equal(result.missing_labels.runs, expected.runs)


def test_frames_of_values_have_the_rows_that_they_allow() -> None:
    runs, qrels = world()
    parts = [On(aspect=aspect, base="nDCG@3", aspects=SCALES) for aspect in SCALES]
    perquery = ma.evaluate(runs, qrels, [MEASURE, *parts, MM(aspects=SCALES) @ 3], progress=False)
    whole = whole_table()
    found = robustness(perquery)
    assert set(found.left_out) == {"variants", "labels"}
    for question in ("topics", "aspects", "weights"):
        tables = (found.table, whole)
        ours, theirs = (
            table[table["question"] == question].reset_index(drop=True) for table in tables
        )
        ours["evidence"] = ours["evidence"].str.replace(str(MEASURE), "CAM@3")
        pd.testing.assert_frame_equal(ours, theirs)
    chosen = robustness(perquery, variants=[str(MM(aspects=SCALES) @ 3)])
    assert set(chosen.left_out) == {"labels"}
    assert set(robustness(perquery, measure=str(parts[0])).left_out) == {
        "aspects",
        "weights",
        "variants",
        "labels",
    }


def test_criteria_of_answers() -> None:
    """Of values of criteria and their mean: topics, criteria and weights, but no labels or variants."""
    rng = np.random.default_rng(0)
    rows = [
        (name, f"q{n}", criterion, float(rng.integers(0, 5)) / 4)
        for name in ("one", "two") for n in range(6) for criterion in ("faithful", "complete")
    ]  # fmt: skip
    values = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    perquery = ma.answers.combine(values, "CAM")
    table = robustness(perquery, measure="CAM").table.set_index("question")
    assert set(table.index) == {"topics", "aspects", "weights"}
    weightings = analysis.weightings(
        perquery, CAM, measures={"faithful": "higher", "complete": "higher"}
    )
    # The pair of the weightings is one and two; that of the table begins with the better run.
    same = "fraction" if table.loc["topics", "a"] == "one" else "fraction_lower"
    assert table.loc["weights", "same_sign"] == weightings.pairs[same].item()


def test_values_of_aspects_with_another_base_give_no_weights() -> None:
    runs, qrels = world()
    parts = {aspect: On(aspect=aspect, base="P@3", aspects=SCALES) for aspect in SCALES}
    other = ma.evaluate(runs, qrels, {"CAM": MEASURE, **parts}, progress=False)
    found = robustness(other)
    assert "weights" in found.left_out
    assert "aspects" not in found.left_out


def test_results_have_each_pair_once_those_of_the_claims_first() -> None:
    """Of four runs, the table claims something of 3 pairs, the best run and each other, of 6 in all."""
    result = robustness(*world(n_runs=4), MEASURE)
    claims = list(dict.fromkeys(zip(result.table["a"], result.table["b"], strict=True)))
    assert len(claims) == 3
    for all_pairs in (result.weightings.pairs, result.multiverse.pairs):
        pairs = list(zip(all_pairs["a"], all_pairs["b"], strict=True))
        assert pairs[:3] == claims
        assert len(pairs) == 6
        assert len({frozenset(pair) for pair in pairs}) == 6
    of_labels = result.missing_labels.pairs
    assert list(zip(of_labels["a"], of_labels["b"], strict=True)) == claims


def test_directions_that_are_given_hold_for_all_questions() -> None:
    """Lower is better for a label that names no measure: its variants were compared as if higher was."""
    values = world_of_costs()
    found = robustness(values, None, {"cost": "lower"}, baseline="old", variants=["AP"])
    assert row(found, "topics", "new", "old")["difference"] < 0
    assert "better than old" in found.summary
    assert row(found, "variants", "new", "old")["same_sign"] == 1


def world_of_costs() -> pd.DataFrame:
    rows = [
        (name, f"q{topic}", label, value + topic / 100)
        for name, values in {
            "old": {"cost": 0.5, "AP": 0.1},
            "new": {"cost": 0.2, "AP": 0.3},
        }.items()
        for label, value in values.items()
        for topic in range(4)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def test_runs_without_values_of_an_aspect_are_refused() -> None:
    runs, qrels = world()
    parts = [On(aspect=aspect, base="nDCG@3", aspects=SCALES) for aspect in SCALES]
    perquery = ma.evaluate(runs, qrels, [MEASURE, *parts], progress=False)
    lacking = perquery[(perquery["measure"] != str(parts[0])) | (perquery["name"] != "run 1")]
    with pytest.raises(MultiAspectError, match=r"system run 1 has no value of On"):
        robustness(lacking, baseline="run 0")


def test_aspects_with_other_topics_than_the_measure_give_no_weights() -> None:
    """But they are tested, on the topics that they have: relevance lacks q1."""
    runs, qrels = world()
    relevance, credibility = (
        On(aspect=aspect, base="nDCG@3", aspects=SCALES) for aspect in ("relevance", "credibility")
    )
    perquery = ma.evaluate(runs, qrels, [MEASURE, relevance, credibility], progress=False)
    is_lacking = (perquery["measure"] == str(relevance)) & (perquery["qid"] == "q1")
    perquery = perquery[~is_lacking]
    result = robustness(perquery, baseline="run 0")
    assert "different sets of topics" in result.left_out["weights"]
    tests = analysis.compare_with_baseline(perquery, "run 0")
    of_relevance = only(tests, measure=str(relevance), name="run 1")
    evidence = row(result, "aspects", "run 1", "run 0")["evidence"]
    assert str(rules.p_value(of_relevance["p"])) in evidence


def test_judges() -> None:
    """Judges a and b have the labels of the qrels, and c has them reversed."""
    runs, qrels = world(missing=0)
    long = qrels.melt(["qid", "docno"], var_name="criterion", value_name="value")
    reversed_labels = long.assign(value=long["criterion"].map(SCALES) - long["value"])
    by_judge = {"a": long, "b": long, "c": reversed_labels}
    judged = pd.concat([labels.assign(judge=judge) for judge, labels in by_judge.items()])
    result = robustness(runs, qrels, MEASURE, baseline="run 0", judges=judged)
    means_by_judge = {}
    for judge, labels in by_judge.items():
        wide = labels.pivot(index=["qid", "docno"], columns="criterion", values="value")
        values = ma.evaluate(runs, wide.reset_index(), [MEASURE], progress=False)
        means_by_judge[judge] = values.groupby("name")["value"].mean()
    for run in ("run 1", "run 2"):
        sign = np.sign(row(result, "topics", run, "run 0")["difference"])
        n_same_sign = 0
        for judge, means in means_by_judge.items():
            difference = means[run] - means["run 0"]
            of_judge = only(result.judges, judge=judge, a=run, b="run 0")
            assert of_judge["difference"] == pytest.approx(difference)
            n_same_sign += np.sign(difference) == sign
        of_judges = row(result, "judges", run, "run 0")
        assert of_judges["same_sign"] == pytest.approx(n_same_sign / 3)
        assert of_judges["verdict"] == (HOLDS if n_same_sign == 3 else UNDECIDED)


def judged_in_part(fraction: float) -> tuple[Any, Any, pd.DataFrame]:
    """Return runs, qrels and labels of judges, of whom c labelled a fraction of the documents, on all criteria."""
    runs, qrels = world(missing=0)
    long = qrels.melt(["qid", "docno"], var_name="criterion", value_name="value")
    pairs = qrels[["qid", "docno"]].head(round(fraction * len(qrels)))
    few = long.merge(pairs)
    return (
        runs,
        qrels,
        pd.concat([long.assign(judge="a"), long.assign(judge="b"), few.assign(judge="c")]),
    )


@pytest.mark.parametrize(
    ("fraction", "decides"), [(0.04, False), (0.4, False), (0.5, True), (1, True)]
)
def test_judges_of_few_documents_decide_nothing(fraction: float, decides: bool) -> None:
    """A judge who labelled 1 of 24 documents counted as one who agrees, by the labels of the others."""
    runs, qrels, judged = judged_in_part(fraction)
    n_pairs, n_few = len(qrels), round(fraction * len(qrels))
    evidence = row(
        robustness(runs, qrels, MEASURE, baseline="run 0", judges=judged),
        "judges",
        "run 1",
        "run 0",
    )["evidence"]
    assert f"of {3 if decides else 2} judges give the same sign" in evidence
    if fraction == 1:
        assert f"each labelled all {n_pairs} documents" in evidence
    else:
        assert f"labelled of {n_pairs} documents: a {n_pairs}, b {n_pairs}, c {n_few}" in evidence
    assert ("c decides nothing" in evidence) is not decides


def evidence_of_judges(measure: Any) -> str:
    """Return what the row of judges says: c judged two documents on relevance, all on credibility.

    The judges a and b judged all 80 documents on both.
    """
    runs, qrels = world(missing=0)
    long = qrels.melt(["qid", "docno"], var_name="criterion", value_name="value")
    is_relevance = long["criterion"] == "relevance"
    by_c = pd.concat([long[~is_relevance], long[is_relevance].head(2)])
    judged = pd.concat([long.assign(judge="a"), long.assign(judge="b"), by_c.assign(judge="c")])
    result = robustness(runs, qrels, measure, baseline="run 0", judges=judged)
    return str(row(result, "judges", "run 1", "run 0")["evidence"])


@pytest.mark.parametrize(
    "measure",
    [
        On(aspect="relevance", base="nDCG@3", aspects=SCALES),
        CAM(base="nDCG@3", aspects=SCALES, weights={"relevance": 1, "credibility": 0}),
    ],
    ids=["On relevance", "CAM with the weight 0 of credibility"],
)
def test_judges_of_criteria_that_the_measure_does_not_read_decide_nothing(measure: Any) -> None:
    evidence = evidence_of_judges(measure)
    assert "of 2 judges give the same sign" in evidence
    assert "; labelled of 80 documents: a 80, b 80, c 2, so c dec" in evidence


def test_judges_of_criteria_that_the_measure_reads_decide() -> None:
    evidence = evidence_of_judges(On(aspect="credibility", base="nDCG@3", aspects=SCALES))
    assert "of 3 judges give the same sign; each labelled all 80 documents" in evidence


def test_judges_of_some_of_the_criteria_that_the_measure_reads_decide_nothing() -> None:
    evidence = evidence_of_judges(MEASURE)
    assert "labelled of 80 documents on relevance: a 80, b 80, c 2" in evidence
    assert "each labelled all 80 documents on credibility" in evidence
    assert "of 2 judges give the same sign" in evidence
    assert "so c decides nothing" in evidence


def test_one_judge_alone_decides_nothing() -> None:
    """Without b, a alone has labelled enough documents: c has labelled a tenth of them."""
    runs, qrels, judged = judged_in_part(0.1)
    a_and_c = judged[judged["judge"] != "b"]
    result = robustness(runs, qrels, MEASURE, baseline="run 0", judges=a_and_c)
    assert row(result, "judges", "run 1", "run 0")["verdict"] == UNDECIDED


# -- rules
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("significant", "other", "expected"),
    [
        (0.95, 0.0, HOLDS),
        (0.949, 0.05, UNDECIDED),
        (0.9, 0.051, FAILS),
        (0.0, 1.0, FAILS),
        (np.nan, 0.0, UNDECIDED),
    ],
)
def test_rule_of_weightings(significant: float, other: float, expected: str) -> None:
    assert rules.verdict_of_fractions(significant, other) == expected


@pytest.mark.parametrize(
    ("significant", "other", "number", "expected"),
    [
        (9, 0, 9, HOLDS), (8, 0, 9, UNDECIDED), (8, 1, 9, FAILS), (0, 1, 1, FAILS),
        (10, 0, 10, HOLDS), (19, 1, 20, HOLDS), (9, 1, 10, FAILS), (18, 1, 20, UNDECIDED), (18, 2, 20, FAILS),
    ],
)  # fmt: skip
def test_rule_of_variants(significant: int, other: int, number: int, expected: str) -> None:
    assert rules.verdict_of_variants(significant, other, number) == expected


@pytest.mark.parametrize(
    ("sign", "low", "high", "expected_difference", "expected"),
    [
        (1, 0.1, 0.2, np.nan, HOLDS), (1, -0.1, 0.2, 0.1, UNDECIDED), (1, -0.1, 0.2, -0.05, FAILS),
        (1, -0.2, -0.1, np.nan, FAILS), (-1, -0.2, -0.1, -0.1, HOLDS), (1, 0.0, 0.2, np.nan, UNDECIDED),
        (1, np.nan, np.nan, np.nan, UNDECIDED), (-1, np.nan, np.nan, 0.1, FAILS),
    ],
)  # fmt: skip
def test_rule_of_labels(
    sign: int, low: float, high: float, expected_difference: float, expected: str
) -> None:
    assert rules.verdict_of_labels(sign, low, high, expected_difference) == expected


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ([1, 1, 1], HOLDS),
        ([1, 1, -1], UNDECIDED),
        ([1, -1, -1], FAILS),
        ([1, -1], UNDECIDED),
        ([1, 1, 0], UNDECIDED),
    ],
)
def test_rule_of_judges(signs: list[int], expected: str) -> None:
    assert rules.verdict_of_judges(signs, 1) == expected


def test_equal_runs_are_undecided() -> None:
    runs, qrels = world(missing=0)
    found = robustness(
        {"one": runs["run 0"], "same": runs["run 0"]}, qrels, MEASURE, baseline="one"
    )
    assert set(found.table["verdict"]) == {UNDECIDED}
    assert "same and one are equal on CAM@3" in found.summary


@pytest.mark.parametrize(
    ("variants", "evidence"),
    [
        (["RR", "P@5", "nDCG"], "4 of 4 measures give the same sign, 1 significantly: nDCG"),
        (["RR", "P@5"], "3 of 3 measures give the same sign, 0 significantly"),
    ],
    ids=["one is significant", "none is significant"],
)
def test_the_smaller_group_of_variants_is_named(variants: list[str], evidence: str) -> None:
    """The new run is higher by all measures, but beyond the noise of eight topics by nDCG only."""
    noise = np.linspace(-0.2, 0.2, 8)
    difference_by_measure = {
        "AP": 0.01 + noise,
        "RR": 0.02 + noise,
        "P@5": 0.03 + noise,
        "nDCG": 0.2 + noise / 2,
    }
    rows = []
    for label, differences in difference_by_measure.items():
        for topic, difference in enumerate(differences.tolist()):
            rows.append(("old", f"q{topic}", label, 0.4))
            rows.append(("new", f"q{topic}", label, 0.4 + difference))
    frame = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    result = robustness(frame, measure="AP", baseline="old", variants=variants)
    assert row(result, "variants", "new", "old")["evidence"] == evidence


# -- printing
# -----------------------------------------------------------------------------------------------


@functools.cache
def robustness_of_runs(n_runs: int) -> Robustness:
    """Return the robustness of so many runs, the last one first, of which the best is compared with each."""
    runs, qrels = world(n_runs=6)
    names = [f"run {number}" for number in reversed(range(n_runs))]
    return robustness({name: runs[name] for name in names}, qrels, MEASURE)


def test_up_to_three_pairs_are_shown_in_full() -> None:
    """Each begins with a sentence and has a line per question; those of all questions are explained below."""
    result = robustness_of_runs(4)
    text = str(result)
    n_pairs, n_explanations = 3, 1
    assert text.count("- topics") == n_pairs + n_explanations
    # Such as "run 3 is better than run 2 by 0.0512 on CAM@3:".
    claims = re.findall(r"(run \d) is (?:better|worse) than (run \d) by [.\d]+ on CAM@3:", text)
    pairs = list(zip(result.table["a"], result.table["b"], strict=True))
    assert claims == list(dict.fromkeys(pairs))
    assert claims != sorted(claims)  # in the order of the runs


def test_more_pairs_are_counted() -> None:
    text = str(robustness_of_runs(6))
    assert text.count("- topics") == 1
    assert "Of 5 pairs, the order on CAM@3 holds for topics in" in text


@pytest.mark.parametrize("n_runs", [4, 6])
def test_forms_of_robustness(n_runs: int) -> None:
    result = robustness_of_runs(n_runs)
    assert max(len(line) for line in str(result).splitlines()) <= 80
    assert "the other rows say only what the order depends on" in str(result)
    assert r"\begin{tabular}" in result.to_latex(caption="Robustness.", label="tab:robust")
    assert "How far it holds" in result.to_html()
    assert set(result.table["verdict"]) <= {HOLDS, FAILS, UNDECIDED}


def test_intervals_name_their_level() -> None:
    runs, qrels = world()
    assert ", 98.33 % interval [" in whole_table()["evidence"][0]
    assert "] (95 % for all three), p = " in whole_table()["evidence"][0]
    assert (
        ", 95 % interval ["
        in robustness(runs, qrels, MEASURE, correction=None).table["evidence"][0]
    )
    two = {name: runs[name] for name in list(runs)[:2]}
    assert ", 95 % interval [" in robustness(two, qrels, MEASURE).table["evidence"][0]


def test_rows_that_cannot_be_had_are_named() -> None:
    runs, qrels = world()
    with pytest.warns(ma.MultiAspectWarning, match="scales, which were inferred"):
        found = robustness(runs, qrels)
    assert found.label == "TOMA-gated@10"
    assert set(found.left_out) == {"weights", "labels"}
    assert "declare" in found.left_out["labels"]
    assert "Left out: weights, as TOMA-gated@10 is no mean over aspects." in str(found).replace(
        "\n  ", " "
    )


# -- input
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "none"}, "none"),
        ({"correction": "bonferroni"}, "correction"),
        ({"measure": ["AP", "RR"]}, "expected one measure, got AP, RR"),
        ({"variants": "nope"}, "nope"),
    ],
)
def test_bad_input(options: dict[str, Any], message: str) -> None:
    runs, qrels = world()
    with pytest.raises(MultiAspectError, match=message):
        robustness(runs, qrels, **{"measure": MEASURE, **options})


def test_bad_runs_and_frames() -> None:
    runs, qrels = world()
    perquery = ma.evaluate(runs, qrels, {"m": MEASURE}, progress=False)
    with pytest.raises(MultiAspectError, match="expected at least two runs, got only run 0"):
        robustness({"run 0": runs["run 0"]}, qrels, MEASURE)
    with pytest.raises(MultiAspectError, match="expected the judgments of the runs"):
        robustness(runs)
    with pytest.raises(MultiAspectError, match=r"expected None, as runs is .* measure=\.\.\."):
        robustness(perquery, "m")
    with pytest.raises(
        MultiAspectError, match="topics: expected None, as runs is a frame of values"
    ):
        robustness(perquery, topics=qrels)
    with pytest.raises(MultiAspectError, match="measures of the frame"):
        robustness(perquery, measure="AP")
    with pytest.raises(MultiAspectError, match="variants"):
        robustness(perquery, variants=["AP"])


# -- values that are not averaged
# ---------------------------------------------------------------------------


def test_measures_whose_values_are_not_averaged_are_refused() -> None:
    """Their differences would be those of sums."""
    runs, qrels = world()
    values = ma.evaluate(runs, qrels, ["NumRet"], progress=False)
    for call in (lambda: robustness(runs, qrels, "NumRet"), lambda: robustness(values)):
        with pytest.raises(
            MultiAspectError, match="averaged over topics, got NumRet; use another, such as AP"
        ):
            call()
    given = robustness(values, None, {"NumRet": "higher"})  # the values themselves
    assert set(given.table["question"]) == {"topics"}


# -- the pairs of the page
# ----------------------------------------------------------------------------------


@functools.cache
def robustness_on_clef_2018() -> Robustness:
    """Return that of two runs against Base_Bing_all.txt."""
    data = shared_path("data", "clef2018")
    files = {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"}
    qrels = ma.read_qrels({aspect: data / f"{name}.txt.gz" for aspect, name in files.items()})
    columns = ["name", "qid", "rank", "docno"]
    table = pd.read_csv(data / "runs.top100.tsv.gz", sep="\t", names=columns, dtype={"qid": str})
    table["score"] = -table["rank"]
    names = ["Base_Bing_all.txt", "elastic_BM25f_noqe.out", "CUNI_de.run2"]
    runs = {name: table[table["name"] == name] for name in names}
    measure = CAM(aspects={"relevance": 2, "understandability": 10, "trust": 10}) @ 10
    return robustness(runs, qrels, measure, baseline="Base_Bing_all.txt")


@pytest.mark.slow
def test_a_pair_of_clef_2018_whose_order_holds() -> None:
    result = robustness_on_clef_2018()
    is_pair = result.table["a"] == "elastic_BM25f_noqe.out"
    assert set(result.table.loc[is_pair, "verdict"]) == {HOLDS}
    of_topics = row(result, "topics", "elastic_BM25f_noqe.out", "Base_Bing_all.txt")
    assert of_topics["difference"] == pytest.approx(0.180, abs=5e-4)


@pytest.mark.slow
def test_a_pair_of_clef_2018_whose_order_depends_on_weights_and_variants() -> None:
    result = robustness_on_clef_2018()
    is_pair = result.table["a"] == "CUNI_de.run2"
    verdict_of_question = result.table[is_pair].set_index("question")["verdict"]
    fails = verdict_of_question[verdict_of_question == FAILS]
    assert set(fails.index) == {"weights", "variants"}
    pair = ("CUNI_de.run2", "Base_Bing_all.txt")
    of_topics = row(result, "topics", *pair)
    assert of_topics["difference"] == pytest.approx(0.065, abs=5e-4)
    assert of_topics["p"] == pytest.approx(0.028, abs=5e-4)
    of_weights = row(result, "weights", *pair)
    assert of_weights["same_sign"] == pytest.approx(0.93, abs=0.005)
    assert of_weights["significant"] == pytest.approx(0.59, abs=0.005)
    assert "reversed by relevance 0.72" in of_weights["evidence"]
    reversed_by = "reversed by CAM gate=relevance, CAM cutoff=5, TOMA gate=relevance"
    assert reversed_by in row(result, "variants", *pair)["evidence"]


def test_warnings_begin_with_the_function_that_was_called() -> None:
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([["x", "y"], [f"q{n}" for n in range(9)], ["own", "other"]])
    frame = index.to_frame(index=False, name=["name", "qid", "measure"]).assign(
        value=rng.random(len(index))
    )
    with pytest.warns(ma.MultiAspectWarning, match="^robustness: own, other name no known measure"):
        robustness(frame, measure="own", variants=["other"])


@pytest.mark.parametrize(
    ("p", "shown"), [(0.04999, "p = 0.04999"), (0.0123, "p = 0.0123"), (0.05, "p = 0.0500")]
)
def test_a_p_value_is_not_rounded_to_the_level(p: float, shown: str) -> None:
    assert rules.p_value(p) == shown
