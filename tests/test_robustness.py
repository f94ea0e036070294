"""Robustness: each row against the function that it comes from, and the rules of the verdicts."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
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
    kept = np.logical_and.reduce([frame[key] == value for key, value in values.items()])
    (record,) = frame[kept].to_dict("records")
    return record


# -- rows are those of other functions
# ----------------------------------------------------------------------


@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(
    st.integers(0, 1000),
    st.sampled_from([None, "run 1"]),
    st.sampled_from([MEASURE, MM(aspects=SCALES) @ 3, TOMA(aspects=SCALES, gate="relevance") @ 3]),
    st.sampled_from(["holm", None]),
)
def test_rows_equal_the_functions_that_they_come_from(
    seed: int, baseline: str | None, measure: Any, correction: str | None
) -> None:
    runs, qrels = world(seed)
    found = robustness(runs, qrels, {"reported": measure}, baseline=baseline, correction=correction)
    single = {aspect: On(aspect=aspect, base="nDCG@3", aspects=SCALES) for aspect in SCALES}
    variants = {"reported": measure, **one_choice_variants(measure, list(SCALES))}
    perquery = ma.evaluate(runs, qrels, {**variants, **single}, progress=False)
    values = perquery.pivot_table(index=["measure", "qid"], columns="name", values="value")
    means = values.loc["reported"].mean()
    against = list(runs) if baseline is None else [baseline]
    tests = analysis.compare_with_baseline(perquery, against, correction=correction)
    options = {"baseline": against, "correction": correction}
    of_variants = analysis.multiverse(
        perquery, measures=list(variants), reference="reported", **options
    )
    planned = analysis.detectable_difference(perquery, measures=["reported"], **options)
    labels = analysis.missing_labels(runs, qrels, {"reported": measure})
    pairs = [
        (a, b)
        for a in runs
        for b in runs
        if a != b and (b == baseline or (not baseline and a == means.idxmax()))
    ]
    assert list(dict.fromkeys(zip(found.table["a"], found.table["b"], strict=True))) == pairs
    for a, b in pairs:
        tested = only(tests, measure="reported", name=a, baseline=b)
        topics = row(found, "topics", a, b)
        sign = np.sign(means[a] - means[b])
        assert (
            topics["difference"]
            == tested["difference"]
            == pytest.approx(means[a] - means[b], abs=1e-12)
        )
        assert topics["p"] == tested["p"]
        differences = values.loc["reported"][a] - values.loc["reported"][b]
        n_tests = len(set(map(frozenset, pairs))) if baseline else len(runs) * (len(runs) - 1) / 2
        level = 0.05 if correction is None else 0.05 / n_tests
        half = (
            student.ppf(1 - level / 2, len(differences) - 1)
            * differences.std(ddof=1)
            / np.sqrt(len(differences))
        )
        assert topics["low"] == pytest.approx(means[a] - means[b] - half)
        assert topics["high"] == pytest.approx(means[a] - means[b] + half)
        assert topics["detectable"] == only(planned.pairs, a=a, b=b)["detectable"]
        assert topics["verdict"] == (HOLDS if tested["p"] < 0.05 else UNDECIDED)
        verdicts = [only(tests, measure=aspect, name=a, baseline=b)["verdict"] for aspect in SCALES]
        same = "better" if sign > 0 else "worse"
        expected = (
            HOLDS if set(verdicts) == {same} else FAILS if set(verdicts) - {same, ""} else UNDECIDED
        )
        assert row(found, "aspects", a, b)["verdict"] == expected
        by_variant = only(of_variants.pairs, a=a, b=b)
        variant = row(found, "variants", a, b)
        assert variant["same_sign"] == pytest.approx(by_variant["better" if sign > 0 else "worse"])
        assert variant["significant"] == pytest.approx(by_variant[f"significantly_{same}"])
        of_labels = labels.pairs[
            labels.pairs["a"].isin([a, b]) & labels.pairs["b"].isin([a, b])
        ].iloc[0]
        ends = (of_labels["low"], of_labels["high"])
        ends = ends if of_labels["a"] == a else (-ends[1], -ends[0])
        missing = row(found, "labels", a, b)
        assert (missing["low"], missing["high"]) == pytest.approx(ends, abs=1e-12)
    if isinstance(measure, type(TOMA)):
        assert "no mean" in found.left_out["weights"]
        return
    weights = analysis.weightings(perquery, measure, n_resamples=1, baseline=against)
    for a, b in pairs:
        weighted = only(weights.pairs, a=a, b=b)
        side = "fraction" if means[a] > means[b] else "fraction_lower"
        assert row(found, "weights", a, b)["same_sign"] == weighted[side]
        significant = row(found, "weights", a, b)["significant"]
        if correction is None:
            assert significant == weighted["fraction_significant"]
        else:  # corrected for all pairs
            assert significant <= weighted["fraction_significant"]


def test_the_best_run_is_compared_with_each_other_and_all_pairs_are_corrected() -> None:
    runs, qrels = world(n_runs=5)
    found = robustness(runs, qrels, MEASURE)
    perquery = ma.evaluate(runs, qrels, {"m": MEASURE}, progress=False)
    best = perquery.groupby("name")["value"].mean().idxmax()
    assert set(found.table["a"]) == {best}
    every = analysis.discriminative_power(perquery, "t").pairs
    levels = np.sort(every["asl"])
    assert len(levels) == 10
    holm = np.maximum.accumulate(levels * np.arange(10, 0, -1)).clip(max=1)
    for other in set(runs) - {best}:
        pair = every[every["a"].isin([best, other]) & every["b"].isin([best, other])]
        expected = holm[np.searchsorted(levels, pair["asl"].item())]
        assert row(found, "topics", best, other)["p"] == pytest.approx(expected)
    assert "Holm, 10 pairs" in row(found, "topics", best, other)["evidence"]


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
    runs, qrels = world()
    known = qrels.assign(known=np.arange(len(qrels)) % 2)
    measure = On(base="NoveltyRatio", aspects={"relevance": SCALES["relevance"]})
    found = robustness(runs, known, {"reported": measure})
    assert "labels" not in found.left_out
    pd.testing.assert_frame_equal(
        found.missing_labels.runs, analysis.missing_labels(runs, known, {"reported": measure}).runs
    )


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
    rng = np.random.default_rng(0)
    rows = [
        (name, f"q{n}", criterion, float(rng.integers(0, 5)) / 4)
        for name in ("one", "two") for n in range(6) for criterion in ("faithful", "complete")
    ]  # fmt: skip
    perquery = ma.answers.combine(
        pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]), "CAM"
    )
    found = robustness(perquery, measure="CAM")
    assert set(found.table["question"]) == {"topics", "aspects", "weights"}
    weights = analysis.weightings(
        perquery, CAM, measures={"faithful": "higher", "complete": "higher"}
    )
    (topics,) = found.table[found.table["question"] == "topics"].to_dict("records")
    share = found.table.loc[found.table["question"] == "weights", "same_sign"].item()
    same = weights.pairs["fraction" if topics["a"] == "one" else "fraction_lower"].item()
    assert share == same


def test_values_of_aspects_with_another_base_give_no_weights() -> None:
    runs, qrels = world()
    parts = {aspect: On(aspect=aspect, base="P@3", aspects=SCALES) for aspect in SCALES}
    other = ma.evaluate(runs, qrels, {"CAM": MEASURE, **parts}, progress=False)
    found = robustness(other)
    assert "weights" in found.left_out
    assert "aspects" not in found.left_out


def test_results_have_each_pair_once_those_of_the_claims_first() -> None:
    found = robustness(*world(n_runs=4), MEASURE)
    claims = list(dict.fromkeys(zip(found.table["a"], found.table["b"], strict=True)))
    assert len(claims) == 3
    for result in (found.weightings, found.multiverse):
        pairs = list(zip(result.pairs["a"], result.pairs["b"], strict=True))
        assert pairs[:3] == claims
        assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 6
    of_labels = found.missing_labels.pairs
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
    runs, qrels = world()
    parts = [On(aspect=aspect, base="nDCG@3", aspects=SCALES) for aspect in SCALES]
    perquery = ma.evaluate(runs, qrels, [MEASURE, *parts], progress=False)
    fewer = perquery[(perquery["measure"] != str(parts[0])) | (perquery["qid"] != "q1")]
    found = robustness(fewer, baseline="run 0")
    assert "different sets of topics" in found.left_out["weights"]
    tests = analysis.compare_with_baseline(fewer, "run 0").set_index(["measure", "name"])["p"]
    of_run = row(found, "aspects", "run 1", "run 0")
    assert f"{rules.p_value(tests[str(parts[0]), 'run 1'])}" in of_run["evidence"]


def test_judges() -> None:
    runs, qrels = world(missing=0)
    long = qrels.melt(["qid", "docno"], var_name="criterion", value_name="value")
    reversed_labels = long.assign(value=long["criterion"].map(SCALES) - long["value"])
    judged = pd.concat(
        [long.assign(judge="a"), long.assign(judge="b"), reversed_labels.assign(judge="c")]
    )
    found = robustness(runs, qrels, MEASURE, baseline="run 0", judges=judged)
    assert found.judges is not None
    for other in ("run 1", "run 2"):
        by_judge = {}
        for judge in "abc":
            own = judged[judged["judge"] == judge].pivot(
                index=["qid", "docno"], columns="criterion", values="value"
            )
            means = (
                ma.evaluate(runs, own.reset_index(), [MEASURE], progress=False)
                .groupby("name")["value"]
                .mean()
            )
            by_judge[judge] = np.sign(means[other] - means["run 0"])
            difference = only(found.judges, judge=judge, a=other, b="run 0")["difference"]
            assert difference == pytest.approx(means[other] - means["run 0"])
        judged_row = row(found, "judges", other, "run 0")
        sign = np.sign(row(found, "topics", other, "run 0")["difference"])
        assert judged_row["same_sign"] == pytest.approx(
            np.mean([own == sign for own in by_judge.values()])
        )
        assert judged_row["verdict"] == (HOLDS if set(by_judge.values()) == {sign} else UNDECIDED)


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


def test_judges_of_criteria_that_the_measure_does_not_read_decide_nothing() -> None:
    """Kind: shares over all criteria. A judge of credibility decided on relevance, by the labels of others."""
    runs, qrels = world(missing=0)
    long = qrels.melt(["qid", "docno"], var_name="criterion", value_name="value")
    of_relevance = long["criterion"] == "relevance"
    few = pd.concat([long[~of_relevance], long[of_relevance].head(2)])
    judged = pd.concat([long.assign(judge="a"), long.assign(judge="b"), few.assign(judge="c")])
    n_pairs = len(qrels)

    def evidence(measure: Any) -> str:
        found = robustness(runs, qrels, measure, baseline="run 0", judges=judged)
        return str(row(found, "judges", "run 1", "run 0")["evidence"])

    relevance = On(aspect="relevance", base="nDCG@3", aspects=SCALES)
    weightless = ma.CAM(base="nDCG@3", aspects=SCALES, weights={"relevance": 1, "credibility": 0})
    for measure in (relevance, weightless):
        assert "of 2 judges give the same sign" in evidence(measure)
        assert (
            f"; labelled of {n_pairs} documents: a {n_pairs}, b {n_pairs}, c 2, so c dec"
            in evidence(measure)
        )
    assert f"of 3 judges give the same sign; each labelled all {n_pairs} documents" in evidence(
        On(aspect="credibility", base="nDCG@3", aspects=SCALES)
    )
    both = evidence(MEASURE)
    assert f"labelled of {n_pairs} documents on relevance: a {n_pairs}, b {n_pairs}, c 2" in both
    assert f"each labelled all {n_pairs} documents on credibility" in both
    assert "of 2 judges give the same sign" in both
    assert "so c decides nothing" in both


def test_one_judge_alone_decides_nothing() -> None:
    runs, qrels, judged = judged_in_part(0.1)
    found = robustness(
        runs, qrels, MEASURE, baseline="run 0", judges=judged[judged["judge"] != "b"]
    )
    assert row(found, "judges", "run 1", "run 0")["verdict"] == UNDECIDED


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


def test_the_smaller_group_of_variants_is_named() -> None:
    """Those that are significant, if they are fewer than those that are not."""
    noise = np.linspace(-0.2, 0.2, 8)
    changes = {"AP": 0.01 + noise, "RR": 0.02 + noise, "P@5": 0.03 + noise, "nDCG": 0.2 + noise / 2}
    rows = [
        (name, f"q{topic}", label, 0.4 + value)
        for label, change in changes.items()
        for name, values in (("old", np.zeros(8)), ("new", change))
        for topic, value in enumerate(values.tolist())
    ]
    frame = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    expected = {3: "4 of 4 measures give the same sign, 1 significantly: nDCG"}
    expected[2] = "3 of 3 measures give the same sign, 0 significantly"
    for number, evidence in expected.items():
        found = robustness(
            frame, measure="AP", baseline="old", variants=["RR", "P@5", "nDCG"][:number]
        )
        assert row(found, "variants", "new", "old")["evidence"] == evidence


# -- printing
# -----------------------------------------------------------------------------------------------


def test_up_to_three_pairs_are_shown_in_full() -> None:
    runs, qrels = world(n_runs=6)
    three = robustness({name: runs[name] for name in list(runs)[3::-1]}, qrels, MEASURE)
    assert str(three).count("- topics") == 4  # of three pairs, and of the rules
    claims = re.findall(
        r"(run \d) is (?:better|worse) than (run \d) by [.\d]+ on CAM@3:", str(three)
    )
    assert claims == list(dict.fromkeys(zip(three.table["a"], three.table["b"], strict=True)))
    assert claims != sorted(claims)
    five = robustness(runs, qrels, MEASURE)
    text = str(five)
    assert text.count("- topics") == 1
    assert "Of 5 pairs, the order on CAM@3 holds for topics in" in text
    for found in (three, five):
        assert max(map(len, str(found).splitlines())) <= 80
        assert "the other rows say only what the order depends on" in str(found)
        assert r"\begin{tabular}" in found.to_latex(caption="Robustness.", label="tab:robust")
        assert "How far it holds" in found.to_html()
        assert set(found.table["verdict"]) <= {HOLDS, FAILS, UNDECIDED}


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


@pytest.mark.slow
def test_two_pairs_of_clef_2018() -> None:
    data = shared_path("data", "clef2018")
    files = {"relevance": "qrel", "understandability": "qread", "trust": "qtrust"}
    qrels = ma.read_qrels({aspect: data / f"{name}.txt.gz" for aspect, name in files.items()})
    columns = ["name", "qid", "rank", "docno"]
    table = pd.read_csv(data / "runs.top100.tsv.gz", sep="\t", names=columns, dtype={"qid": str})
    names = ["Base_Bing_all.txt", "elastic_BM25f_noqe.out", "CUNI_de.run2"]
    runs = {
        name: table[table["name"] == name].assign(score=lambda run: -run["rank"]) for name in names
    }
    measure = CAM(aspects={"relevance": 2, "understandability": 10, "trust": 10}) @ 10
    found = robustness(runs, qrels, measure, baseline=names[0])
    verdicts = found.table.pivot(index="a", columns="question", values="verdict")
    assert set(verdicts.loc[names[1]]) == {HOLDS}
    other = verdicts.loc[names[2]].to_dict()
    assert {key for key, verdict in other.items() if verdict == FAILS} == {"weights", "variants"}
    assert row(found, "topics", names[1], names[0])["difference"] == pytest.approx(0.180, abs=5e-4)
    topics, weights = (
        row(found, question, names[2], names[0]) for question in ("topics", "weights")
    )
    assert (topics["difference"], topics["p"]) == pytest.approx((0.065, 0.028), abs=5e-4)
    assert (weights["same_sign"], weights["significant"]) == pytest.approx((0.93, 0.59), abs=0.005)
    assert "reversed by relevance 0.72" in weights["evidence"]
    reversed_by = "reversed by CAM gate=relevance, CAM cutoff=5, TOMA gate=relevance"
    assert reversed_by in row(found, "variants", names[2], names[0])["evidence"]


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
