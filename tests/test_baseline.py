"""Tests of systems against baselines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from frame_world import array_frame
from scipy.stats import studentized_range, ttest_rel
from statsmodels.stats.multitest import multipletests

from pt_multiaspect.analysis import compare_with_baseline, correlation, discriminative_power
from pt_multiaspect.errors import MultiAspectError
from pt_multiaspect.evaluation.long_frames import is_long_frame


@pytest.fixture
def perquery() -> pd.DataFrame:
    """Random values of "run 0" to "run 4" on 20 topics by AP and RR, with means from 0 to 0.5."""
    rng = np.random.default_rng(5)
    return array_frame(rng.normal(np.linspace(0, 0.5, 5)[:, None, None], 0.4, (5, 20, 2)))


def per_topic(perquery: pd.DataFrame, measure: str) -> pd.DataFrame:
    return perquery[perquery["measure"] == measure].pivot(
        index="qid", columns="name", values="value"
    )


def test_two_baselines_are_compared_with_each_other_system(perquery):
    comparison = compare_with_baseline(perquery, ["run 1", "run 0"])
    assert len(comparison) == 2 * 2 * 4  # measures, baselines, other systems
    assert comparison["baseline"].unique().tolist() == ["run 1", "run 0"]
    # The other systems are in the order of the frame.
    names = [name for name in comparison["name"].unique() if name not in ("run 0", "run 1")]
    assert names == ["run 2", "run 3", "run 4"]


@pytest.mark.parametrize("measure", ["AP", "RR"])
def test_equals_scipy_and_statsmodels(perquery, measure):
    """The levels and intervals of paired t-tests, corrected by Holm and by Bonferroni."""
    comparison = compare_with_baseline(perquery, ["run 1", "run 0"])
    rows = comparison[comparison["measure"] == measure]
    values = per_topic(perquery, measure)
    # Each baseline has four rows; that of run 0 and run 1 is a row of both, and counts once.
    n_tests = 4 + 4 - 1
    for row in rows.itertuples(index=False):
        test = ttest_rel(values[row.name], values[row.baseline])
        assert row.asl == pytest.approx(test.pvalue)
        difference = (values[row.name] - values[row.baseline]).mean()
        assert row.difference == pytest.approx(difference)
        interval = test.confidence_interval(1 - 0.05 / n_tests)
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    is_repeated = (rows["baseline"] == "run 0") & (rows["name"] == "run 1")
    tests = rows[~is_repeated]
    is_rejected, corrected_levels, *_ = multipletests(tests["asl"], 0.05, "holm")
    assert tests["p"].tolist() == pytest.approx(corrected_levels.tolist())
    assert tests["significant"].tolist() == is_rejected.tolist()
    assert 0 < is_rejected.sum() < n_tests


def test_intervals_have_the_level_of_the_test_and_no_width_for_equal_differences(perquery):
    first, second, *_ = perquery["name"].unique().tolist()
    narrow, wide = (
        compare_with_baseline(perquery, first, alpha=alpha, correction=None)
        for alpha in (0.2, 0.01)
    )
    assert ((wide["high"] - wide["low"]) > (narrow["high"] - narrow["low"])).all()
    for found in (narrow, wide):
        assert (found["significant"] == ((found["low"] > 0) | (found["high"] < 0))).all()
    of_first = perquery[perquery["name"] == first]
    shifted = pd.concat([of_first, of_first.assign(name=second, value=of_first["value"] + 0.1)])
    equal = compare_with_baseline(shifted, first)
    assert equal["low"].to_numpy() == pytest.approx(0.1)
    assert equal["high"].to_numpy() == pytest.approx(0.1)


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "t", "tukey"])
def test_levels_are_those_of_discriminative_power(perquery, test):
    baseline = perquery["name"].iloc[0]
    table = compare_with_baseline(perquery, baseline, test, alpha=0.05, n_resamples=300, seed=4)
    pairs = discriminative_power(perquery, test, n_resamples=300, alpha=0.05, seed=4).pairs
    levels = {(row.measure, frozenset((row.a, row.b))): row.asl for row in pairs.itertuples()}
    expected = [
        levels[row.measure, frozenset((row.baseline, row.name))]
        for row in table.itertuples(index=False)
    ]
    assert table["asl"].tolist() == expected
    if test == "tukey":
        assert table["p"].tolist() == expected


def test_the_result_does_not_depend_on_the_order_of_rows(perquery):
    keys = ["measure", "baseline", "name"]
    baseline = perquery["name"].iloc[0]
    first, second = (
        compare_with_baseline(rows, baseline, "permutation", n_resamples=100).sort_values(
            keys, ignore_index=True
        )
        for rows in (perquery, perquery.sample(frac=1, random_state=1))
    )
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize(
    ("baseline", "options", "message"),
    [
        ("nobody", {}, "expected names of systems .*, got nobody"),
        ([], {}, "expected names of systems"),
        (["run 0", "run 0"], {}, "baseline: expected distinct names, got several"),
        ("run 0", {"test": "z"}, "test: expected one of"),
        ("run 0", {"alpha": 5}, "alpha"),
        ("run 0", {"correction": "none"}, "correction"),
        (
            "run 0",
            {"test": "tukey", "correction": "fdr_bh"},
            "corrects for the number of pairs itself",
        ),
        ("run 0", {"test": "permutation", "n_resamples": 3}, "at least 20"),
    ],
)
def test_bad_input(perquery, baseline, options, message):
    with pytest.raises(MultiAspectError, match=message):
        compare_with_baseline(perquery, baseline, **options)


def values_of_three_measures():
    """Return the same values for ESL (lower is better), DCG (higher is), and a label of no measure.

    The run "more" has higher values than "base" on all four topics; "equal" has the same but for
    rounding.
    """
    values_by_run = {
        "base": [1.0, 1.0, 1.0, 1.0],
        "more": [2.0, 2.1, 2.2, 2.0],
        "equal": [0.1 + 0.9, 1.0, 1.0 + 1e-15, 1.0],
    }
    rows = [
        (name, f"q{topic}", measure, value)
        for measure in ("ESL", "DCG", "odd")
        for name, values in values_by_run.items()
        for topic, value in enumerate(values)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


#: Groups of three topics and of one.
GROUPS = {"q0": "x", "q1": "x", "q2": "x", "q3": "y"}


@pytest.mark.parametrize("by", [None, GROUPS], ids=["all topics", "groups"])
def test_wins_and_verdicts_follow_the_direction_of_the_measure(by):
    """Of a label that names no measure, the verdict says what is higher, and this is a win.

    The run "more" has higher values than "base" on all four topics by each of three measures.
    """
    tests = compare_with_baseline(values_of_three_measures(), "base", by=by)
    if by is not None:
        tests = tests[tests["group"] == "all"]
    more = tests[tests["name"] == "more"].set_index("measure")
    assert more["verdict"].to_dict() == {"ESL": "worse", "DCG": "better", "odd": "higher"}
    assert more["wins"].to_dict() == {"ESL": 0, "DCG": 4, "odd": 4}
    assert more["losses"].to_dict() == {"ESL": 4, "DCG": 0, "odd": 0}


@pytest.mark.parametrize("by", [None, GROUPS], ids=["all topics", "groups"])
def test_differences_of_rounding_are_ties(by):
    """Of the run "equal" and "base", on all four topics by each of three measures."""
    tests = compare_with_baseline(values_of_three_measures(), "base", by=by)
    if by is not None:
        tests = tests[tests["group"] == "all"]
    equal = tests[tests["name"] == "equal"]
    assert equal["ties"].tolist() == [4, 4, 4]
    assert equal["verdict"].tolist() == ["", "", ""]


def test_a_group_of_one_topic_has_wins_but_no_verdict():
    """The run "more" has a higher value there than "base", and lower is better by ESL."""
    tests = compare_with_baseline(values_of_three_measures(), "base", by=GROUPS)
    more = tests[(tests["group"] == "y") & (tests["name"] == "more")].set_index("measure")
    assert more["wins"].to_dict() == {"ESL": 0, "DCG": 1, "odd": 1}
    assert more["losses"].to_dict() == {"ESL": 1, "DCG": 0, "odd": 0}
    assert more["ties"].to_dict() == {"ESL": 0, "DCG": 0, "odd": 0}
    assert more["verdict"].to_dict() == {"ESL": "", "DCG": "", "odd": ""}


def test_the_pair_of_an_experiment_is_read_as_its_values(perquery):
    """The pair that ``pt.Experiment(perquery="both")`` returns: means, and values per topic."""
    pair = (perquery.groupby(["name", "measure"])["value"].mean().unstack().reset_index(), perquery)
    assert [is_long_frame(values) for values in (pair, perquery, pair[0])] == [True, True, False]
    name = perquery["name"].iloc[0]
    pd.testing.assert_frame_equal(
        compare_with_baseline(pair, name), compare_with_baseline(perquery, name)
    )
    pd.testing.assert_frame_equal(correlation(pair), correlation(perquery))


def test_rounding_errors_are_no_differences_in_groups_of_one_topic():
    rows = [
        ("a", "q1", 0.1 + 0.2),
        ("b", "q1", 0.3),
        ("a", "q2", 0.5),
        ("b", "q2", 0.7),
        ("a", "q3", 0.4),
        ("b", "q3", 0.1),
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "value"]).assign(measure="AP")
    tests = compare_with_baseline(perquery, "a", by={"q1": "one", "q2": "two", "q3": "two"})
    alone = tests[tests["group"] == "one"].iloc[0]
    assert (alone["difference"], alone["ties"]) == (0.0, 1)
    assert alone[["low", "high", "asl", "p"]].isna().all()


def random_frame_and_baselines(seed):
    """Return values of 2 to 11 runs on 4 to 29 topics with a column of groups, and some baselines.

    The groups of topics are "short", "long" and "alone", which has one topic and thus no test.
    """
    rng = np.random.default_rng(seed)
    n_runs, n_topics = int(rng.integers(2, 12)), int(rng.integers(4, 30))
    effects = rng.normal(0, rng.uniform(0, 0.4), (n_runs, 1, 1))
    frame = array_frame(effects + rng.normal(0, 0.3, (n_runs, n_topics, 2)))
    number_of_topic = frame["qid"].str[1:].astype(int)
    frame["length"] = np.where(number_of_topic % 3 > 0, "long", "short")
    frame.loc[number_of_topic == 0, "length"] = "alone"
    first, *others = frame["name"].unique().tolist()
    n_further_baselines = int(rng.integers(len(others) + 1))
    return frame, [first, *others[:n_further_baselines]]


@pytest.mark.every(5)
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh", None])
@pytest.mark.parametrize("by", [None, "length"])
@pytest.mark.parametrize("seed", range(8))
def test_a_difference_whose_interval_excludes_zero_is_significant(correction, by, seed):
    """And the other way round, but for Holm, which rejects more than the intervals of Bonferroni."""
    frame, baselines = random_frame_and_baselines(seed)
    comparison = compare_with_baseline(frame, baselines, correction=correction, by=by)
    excludes_zero = (comparison["low"] > 0) | (comparison["high"] < 0)
    is_significant = comparison["significant"]
    assert not (excludes_zero & ~is_significant).any()
    if correction != "holm":
        assert not (is_significant & ~excludes_zero).any()


def distinct_tests(family):
    """Return the rows of a family without those that compare two systems of a row above again."""
    pairs = [
        (frozenset([row.name, row.baseline]), getattr(row, "group", "all"))
        for row in family.itertuples()
    ]
    return family[~pd.Series(pairs, index=family.index).duplicated()]


@pytest.mark.every(5)
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh", None])
@pytest.mark.parametrize("by", [None, "length"])
@pytest.mark.parametrize("seed", range(8))
def test_intervals_are_corrected_for_the_tests_of_a_family(correction, by, seed):
    """Their level is that of Bonferroni or, by fdr_bh, times the number of rejected hypotheses.

    The tests of a measure on all topics are a family, and those on its groups another one.
    """
    frame, baselines = random_frame_and_baselines(seed)
    comparison = compare_with_baseline(frame, baselines, correction=correction, by=by)
    families = ["measure"]
    if by is not None:
        families.append(comparison["group"] == "all")
    for _, family in comparison.dropna(subset=["p"]).groupby(families):
        tests = distinct_tests(family)
        if correction is None:
            alpha = 0.05
        elif correction == "fdr_bh":
            n_rejected = max(1, tests["significant"].sum())
            alpha = 0.05 * n_rejected / len(tests)
        else:
            alpha = 0.05 / len(tests)
        for row in family.itertuples():
            topics = frame
            if by is not None and row.group != "all":
                topics = frame[frame["length"] == row.group]
            values = per_topic(topics, row.measure)
            interval = ttest_rel(values[row.name], values[row.baseline]).confidence_interval(
                1 - alpha
            )
            assert (row.low, row.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_resampling_tests_have_the_intervals_of_the_t_test(perquery, test):
    baseline, ends = perquery["name"].iloc[0], ["low", "high"]
    found = compare_with_baseline(perquery, baseline, test, n_resamples=100)
    pd.testing.assert_frame_equal(found[ends], compare_with_baseline(perquery, baseline)[ends])


def test_tukeys_intervals_are_those_of_the_studentised_range(perquery):
    """Half their length is the quantile of the range of five systems, over √2, times the standard error."""
    comparison = compare_with_baseline(perquery, "run 0", "tukey", n_resamples=100)
    n_systems, n_topics = 5, 20
    quantile = studentized_range.ppf(0.95, n_systems, n_topics - 1)
    for row in comparison.itertuples():
        values = per_topic(perquery, row.measure)
        differences = values[row.name] - values[row.baseline]
        half = quantile / np.sqrt(2) * differences.sem()
        mean = differences.mean()
        assert (row.low, row.high) == pytest.approx((mean - half, mean + half))


def test_tukeys_intervals_of_two_systems_are_those_of_a_t_test(perquery):
    pair = perquery[perquery["name"].isin(["run 0", "run 1"])]
    by_tukey = compare_with_baseline(pair, "run 0", "tukey")
    by_t_test = compare_with_baseline(pair, "run 0", correction=None)
    pd.testing.assert_frame_equal(by_tukey[["low", "high"]], by_t_test[["low", "high"]])


def draw_comparisons(true_differences, correction):
    """Yield 150 comparisons of runs with these differences from a baseline, on 50 random topics."""
    rng = np.random.default_rng(0)
    for _ in range(150):
        noise = rng.normal(0, 0.4, (len(true_differences), 50))
        differences = true_differences[:, None] + noise
        baseline = np.zeros((1, 50))
        values = np.concatenate([baseline, differences])[:, :, None]
        yield compare_with_baseline(array_frame(values), "run 0", correction=correction)


@pytest.mark.slow
def test_intervals_by_holm_cover_all_true_differences():
    """Of at least 95 % of the experiments, but for chance, all ten intervals are right."""
    truth = np.full(10, 0.5)
    misses_any = []
    for comparison in draw_comparisons(truth, "holm"):
        is_wrong = (comparison["low"] > truth) | (comparison["high"] < truth)
        misses_any.append(is_wrong.any())
    assert np.mean(misses_any) < 0.05 + 0.04


@pytest.mark.slow
def test_intervals_by_fdr_bh_cover_the_true_differences_that_are_significant():
    """On average, at most 5 % of the intervals of significant differences, but for chance, are wrong."""
    truth = np.repeat([0.3, 0.02], 10)  # ten large and ten small differences
    false_coverages = []
    for comparison in draw_comparisons(truth, "fdr_bh"):
        is_wrong = (comparison["low"] > truth) | (comparison["high"] < truth)
        is_significant = comparison["significant"]
        n_significant = max(1, is_significant.sum())
        false_coverages.append((is_wrong & is_significant).sum() / n_significant)
    assert np.mean(false_coverages) < 0.05 + 0.04
