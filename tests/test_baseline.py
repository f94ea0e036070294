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
    rng = np.random.default_rng(5)
    return array_frame(rng.normal(np.linspace(0, 0.5, 5)[:, None, None], 0.4, (5, 20, 2)))


def per_topic(perquery: pd.DataFrame, measure: str) -> pd.DataFrame:
    return perquery[perquery["measure"] == measure].pivot(
        index="qid", columns="name", values="value"
    )


def test_equals_scipy_and_statsmodels(perquery):
    first, second, *_ = names = perquery["name"].unique().tolist()
    comparison = compare_with_baseline(perquery, [second, first])
    assert len(comparison) == 2 * 2 * 4
    for measure, rows in comparison.groupby("measure"):
        table = per_topic(perquery, measure)
        asl = [
            ttest_rel(table[row.name], table[row.baseline]).pvalue
            for row in rows.itertuples(index=False)
        ]
        assert rows["asl"].tolist() == pytest.approx(asl)
        means = [
            (table[row.name] - table[row.baseline]).mean() for row in rows.itertuples(index=False)
        ]
        assert rows["difference"].tolist() == pytest.approx(means)
        for row in rows.itertuples(index=False):
            # The two baselines are compared once: seven tests, not eight.
            ends = ttest_rel(table[row.name], table[row.baseline]).confidence_interval(1 - 0.05 / 7)
            assert (row.low, row.high) == pytest.approx(tuple(ends))
        once = rows[~((rows["baseline"] == first) & (rows["name"] == second))]
        reject, p, *_ = multipletests(once["asl"], 0.05, "holm")
        assert once["p"].tolist() == pytest.approx(p.tolist())
        assert once["significant"].tolist() == reject.tolist()
        assert 0 < reject.sum() < 7
    assert comparison["baseline"].unique().tolist() == [second, first]
    assert [name for name in comparison["name"].unique().tolist() if name in names[2:]] == names[2:]


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
        (["FIRST", "FIRST"], {}, "baseline: expected distinct names, got several"),
        ("FIRST", {"test": "z"}, "test: expected one of"),
        ("FIRST", {"alpha": 5}, "alpha"),
        ("FIRST", {"correction": "none"}, "correction"),
        (
            "FIRST",
            {"test": "tukey", "correction": "fdr_bh"},
            "corrects for the number of pairs itself",
        ),
        ("FIRST", {"test": "permutation", "n_resamples": 3}, "at least 20"),
    ],
)
def test_bad_input(perquery, baseline, options, message):
    first = perquery["name"].iloc[0]
    names = (
        first if baseline == "FIRST" else [first if name == "FIRST" else name for name in baseline]
    )
    with pytest.raises(MultiAspectError, match=message):
        compare_with_baseline(perquery, baseline if baseline == "nobody" else names, **options)


@pytest.mark.parametrize("by", [None, {"q0": "x", "q1": "x", "q2": "x", "q3": "y"}])
def test_wins_and_verdicts_follow_the_direction_of_the_measure(by):
    """Of labels that name no known measure, the direction is not assumed; differences of rounding are ties."""
    values = {
        "base": [1.0, 1.0, 1.0, 1.0],
        "more": [2.0, 2.1, 2.2, 2.0],
        "equal": [0.1 + 0.9, 1.0, 1.0 + 1e-15, 1.0],
    }
    rows = [
        (name, f"q{topic}", measure, value)
        for measure in ("ESL", "DCG", "odd")
        for name in values
        for topic, value in enumerate(values[name])
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    tests = compare_with_baseline(perquery, "base", by=by)
    if by is not None:
        single = tests[(tests["group"] == "y") & (tests["name"] == "more")].set_index("measure")
        assert single[["wins", "losses", "ties", "verdict"]].to_numpy().tolist() == [
            [0, 1, 0, ""], [1, 0, 0, ""], [1, 0, 0, ""],
        ]  # fmt: skip
        tests = tests[tests["group"] == "all"]
    more = tests[tests["name"] == "more"].set_index("measure")
    assert more["verdict"].to_dict() == {"ESL": "worse", "DCG": "better", "odd": "higher"}
    assert more["wins"].to_dict() == {"ESL": 0, "DCG": 4, "odd": 4}
    assert more["losses"].to_dict() == {"ESL": 4, "DCG": 0, "odd": 0}
    equal = tests[tests["name"] == "equal"]
    assert equal["ties"].tolist() == [4, 4, 4]
    assert equal["verdict"].tolist() == ["", "", ""]


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


@pytest.mark.every(5)
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh", None])
@pytest.mark.parametrize("by", [None, "length"])
@pytest.mark.parametrize("seed", range(8))
def test_a_difference_whose_interval_excludes_zero_is_significant(correction, by, seed):
    rng = np.random.default_rng(seed)
    runs, topics = int(rng.integers(2, 12)), int(rng.integers(4, 30))
    effects = rng.normal(0, rng.uniform(0, 0.4), (runs, 1, 1))
    frame = array_frame(effects + rng.normal(0, 0.3, (runs, topics, 2)))
    first, *others = frame["name"].unique().tolist()
    frame["length"] = np.where(frame["qid"].str[1:].astype(int) % 3, "long", "short")
    frame.loc[frame["qid"] == frame["qid"].iloc[0], "length"] = "alone"  # without interval and p
    baselines = [first, *others[: int(rng.integers(len(others) + 1))]]
    found = compare_with_baseline(frame, baselines, correction=correction, by=by)
    excludes_zero = (found["low"] > 0) | (found["high"] < 0)
    assert not (excludes_zero & ~found["significant"]).any()
    if correction != "holm":
        assert not (found["significant"] & ~excludes_zero).any()
    for _, family in found.dropna(subset=["p"]).groupby(
        ["measure", found["group"] == "all"] if by else "measure"
    ):
        once = family[
            ~family[["baseline", "name", *(["group"] if by else [])]]
            .apply(frozenset, axis=1)
            .duplicated()
        ]
        m = 1 if correction is None else len(once)
        n_rejected = max(1, once["significant"].sum()) if correction == "fdr_bh" else 1
        for row in family.itertuples():
            of_group = (
                frame if by is None or row.group == "all" else frame[frame["length"] == row.group]
            )
            table = per_topic(of_group, row.measure)
            ends = ttest_rel(table[row.name], table[row.baseline]).confidence_interval(
                1 - n_rejected * 0.05 / m
            )
            assert (row.low, row.high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_resampling_tests_have_the_intervals_of_the_t_test(perquery, test):
    baseline, ends = perquery["name"].iloc[0], ["low", "high"]
    found = compare_with_baseline(perquery, baseline, test, n_resamples=100)
    pd.testing.assert_frame_equal(found[ends], compare_with_baseline(perquery, baseline)[ends])


def test_tukeys_intervals_are_those_of_the_studentised_range(perquery):
    names = perquery["name"].unique().tolist()
    found = compare_with_baseline(perquery, names[0], "tukey", n_resamples=100)
    for row in found.itertuples():
        table = per_topic(perquery, row.measure)
        z = table[row.name] - table[row.baseline]
        half = studentized_range.ppf(0.95, len(names), len(z) - 1) / np.sqrt(2) * z.sem()
        assert (row.low, row.high) == pytest.approx((z.mean() - half, z.mean() + half))
    pair = perquery[perquery["name"].isin(names[:2])]
    expected = compare_with_baseline(pair, names[0], correction=None)[["low", "high"]]
    pd.testing.assert_frame_equal(
        compare_with_baseline(pair, names[0], "tukey")[["low", "high"]], expected
    )


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "fdr_bh"])
def test_corrected_intervals_cover_what_they_say(correction):
    """Holm: all of ten; fdr_bh: the significant ones, of ten large and ten small differences."""
    rng, missed = np.random.default_rng(0), []
    truth = np.repeat([0.3, 0.02], 10) if correction == "fdr_bh" else np.full(10, 0.5)
    for _ in range(150):
        z = truth[:, None] + rng.normal(0, 0.4, (len(truth), 50))
        values = np.concatenate([np.zeros((1, 50)), z])[:, :, None]
        found = compare_with_baseline(array_frame(values), "run 0", correction=correction)
        wrong = (found["low"] > truth) | (found["high"] < truth)
        significant = found["significant"]
        false_coverage = (wrong & significant).sum() / max(1, significant.sum())
        missed.append(wrong.any() if correction == "holm" else false_coverage)
    assert np.mean(missed) < 0.05 + 0.04
