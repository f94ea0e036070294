"""Discriminative power: against plain loops over the same resamples."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from frame_world import array_frame
from scipy.stats import ttest_rel
from test_correlation import GOOD

from pt_multiaspect.analysis import _significance, discriminative_power
from pt_multiaspect.analysis.power import DiscriminativePower
from pt_multiaspect.errors import MultiAspectError

B = 200
ALPHA = 0.05
RESAMPLED = ("bootstrap", "permutation", "tukey")
TESTS = (*RESAMPLED, "t")


@pytest.fixture
def values() -> np.ndarray:
    """Six systems on nine topics by three measures: one fine, one coarse with ties, one in steps of a half."""
    rng = np.random.default_rng(5)
    quality = np.linspace(0, 0.5, 6)[:, None]
    fine = (quality + rng.normal(0.3, 0.2, (6, 9))).clip(0, 1)
    return np.stack([fine, fine.round(1), (2 * fine).round() / 2], axis=2)


def studentised_mean(sample: list[float]) -> float:
    """|mean / (sd / √n)|, infinite without deviation and 0 where all is 0."""
    n, mean = len(sample), math.fsum(sample) / len(sample)
    if max(sample) - min(sample) < 1e-12:
        return 0.0 if abs(mean) < 1e-12 else math.inf
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in sample) / (n - 1))
    return abs(mean) / (deviation / math.sqrt(n))


def plain(values, test, seed):
    """Level and needed difference of every pair of a systems × topics table, by loops."""
    n_systems, n = values.shape
    rng = np.random.default_rng(seed)
    if test == "bootstrap":
        draws = rng.integers(n, size=(B, n)).tolist()
    elif test == "permutation":
        draws = (2 * rng.integers(2, size=(B, n), dtype=np.int8) - 1).tolist()
    else:
        base = np.broadcast_to(np.arange(n_systems), (B, n, n_systems))
        ranges = []
        for permuted in rng.permuted(base, axis=2).tolist():
            means = [
                math.fsum(values[permuted[topic][system]][topic] for topic in range(n)) / n
                for system in range(n_systems)
            ]
            ranges.append(max(means) - min(means))
    results = []
    for first, second in itertools.combinations(range(n_systems), 2):
        z = [float(a - b) for a, b in zip(values[first], values[second], strict=True)]
        mean = math.fsum(z) / n
        if test == "bootstrap":
            w = [value - mean for value in z]
            samples = [[w[topic] for topic in topics] for topics in draws]
            statistics = [studentised_mean(sample) for sample in samples]
            level = sum(statistic >= studentised_mean(z) - 1e-9 for statistic in statistics) / B
            critical = sorted(range(B), key=lambda draw: -statistics[draw])[int(B * ALPHA) - 1]
            need = abs(math.fsum(samples[critical])) / n
        else:
            if test == "permutation":
                statistics = [
                    abs(math.fsum(s * value for s, value in zip(signs, z, strict=True))) / n
                    for signs in draws
                ]
            else:
                statistics = ranges
            level = (1 + sum(statistic >= abs(mean) - 1e-9 for statistic in statistics)) / (1 + B)
            # the least draw above which there are fewer than alpha (B + 1) − 1, the observed one
            # being a draw
            need = sorted(statistics, reverse=True)[math.ceil((B + 1) * ALPHA) - 2]
        results.append((level, need))
    return results


@pytest.mark.every(3)
@pytest.mark.parametrize("test", RESAMPLED)
def test_equals_a_plain_loop(values, test):
    """The achieved significance level of each pair, the power and the required difference of each measure."""
    power = discriminative_power(array_frame(values), test, n_resamples=B, alpha=ALPHA, seed=3)
    table = power.table.set_index("measure")
    for column, measure in enumerate(("AP", "RR", "P")):
        results = plain(values[:, :, column], test, seed=3)
        levels = [level for level, _needed_difference in results]
        needed_differences = [needed_difference for _level, needed_difference in results]

        pairs = power.pairs[power.pairs["measure"] == measure]
        assert pairs["asl"].tolist() == levels
        assert table.loc[measure, "power"] == np.mean([level < ALPHA for level in levels])
        # With the coarse values of P, bootstrap draws tie: which of them is the critical one is open.
        if not (measure == "P" and test == "bootstrap"):
            required_difference = table.loc[measure, "required_difference"]
            assert required_difference == pytest.approx(max(needed_differences))
    assert 0 < table.loc["AP", "power"] < 1


def levels_of_one_array(
    scores: np.ndarray, test: str, n_draws: int, seed: int, pairs: list[tuple[int, int]]
) -> list[float]:
    """The achieved significance levels of pairs of systems, with all draws in one array.

    Scores are systems × topics. Of the bootstrap it is the fraction of draws with a studentised
    mean as large as the observed one, of the others (1 + number of draws with a mean as large) /
    (1 + number of draws).
    """
    n_systems, n_topics = scores.shape
    rng = np.random.default_rng(seed)
    if test == "bootstrap":
        drawn_topics = rng.integers(n_topics, size=(n_draws, n_topics))
    elif test == "permutation":
        signs = 2 * rng.integers(2, size=(n_draws, n_topics), dtype=np.int8) - 1
    else:  # Tukey: systems change places within topics, and the range of the means counts
        in_order = np.broadcast_to(np.arange(n_systems), (n_draws, n_topics, n_systems))
        drawn_systems = rng.permuted(in_order, axis=2)
        drawn_means = scores[drawn_systems, np.arange(n_topics)[:, np.newaxis]].mean(axis=1)
        ranges = np.ptp(drawn_means, axis=1)

    levels = []
    for first, second in pairs:
        differences = scores[first] - scores[second]
        if test == "bootstrap":
            resamples = (differences - differences.mean())[drawn_topics]
            drawn = np.abs(resamples.mean(axis=1) / resamples.std(axis=1, ddof=1))
            observed = abs(differences.mean() / differences.std(ddof=1))
            levels.append((drawn >= observed - 1e-12).mean())
            continue
        drawn = np.abs(signs @ differences) / n_topics if test == "permutation" else ranges
        n_as_large = (drawn >= abs(differences.mean()) - 1e-12).sum()
        levels.append((1 + n_as_large) / (1 + n_draws))
    return levels


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "n_draws"), [("bootstrap", 20_000), ("permutation", 20_000), ("tukey", 300)]
)
def test_many_draws_in_parts_are_those_of_one_array(test, n_draws):
    """As many as the package does not hold in memory at once."""
    n_systems, n_topics = 30, 250
    quality = np.linspace(0.5, 0.53, n_systems)[:, np.newaxis]
    scores = quality + np.random.default_rng(6).normal(0, 0.1, (n_systems, n_topics))
    rows = [
        (f"run {system:02d}", f"q{topic:03d}", "AP", value)
        for (system, topic), value in np.ndenumerate(scores)
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])

    power = discriminative_power(perquery, test, n_resamples=n_draws, alpha=ALPHA, seed=3)

    pairs = [(0, 1), (0, 22), (3, 26), (13, 17), (28, 29)]
    expected = levels_of_one_array(scores, test, n_draws, seed=3, pairs=pairs)
    by_pair = power.pairs.set_index(["a", "b"])["asl"]
    levels = [by_pair[f"run {first:02d}", f"run {second:02d}"] for first, second in pairs]
    assert levels == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("chunk", [1, 100])
@pytest.mark.parametrize("test", RESAMPLED)
def test_parts_of_one_draw_or_several_make_no_difference(values, test, chunk, monkeypatch):
    whole = discriminative_power(array_frame(values), test, n_resamples=50, alpha=ALPHA)
    monkeypatch.setattr(_significance, "_CHUNK", chunk)
    parts = discriminative_power(array_frame(values), test, n_resamples=50, alpha=ALPHA)
    pd.testing.assert_frame_equal(parts.pairs, whole.pairs)


def test_t_equals_scipy(values):
    power = discriminative_power(array_frame(values), alpha=ALPHA, test="t")
    expected = [
        ttest_rel(values[first, :, 0], values[second, :, 0]).pvalue
        for first, second in itertools.combinations(range(6), 2)
    ]
    pairs = power.pairs[power.pairs["measure"] == "AP"]
    assert pairs["asl"].tolist() == pytest.approx(expected, abs=1e-12)
    assert pairs["difference"].tolist() == pytest.approx(
        [
            (values[first] - values[second])[:, 0].mean()
            for first, second in itertools.combinations(range(6), 2)
        ]
    )
    pd.testing.assert_frame_equal(
        power.pairs,
        discriminative_power(array_frame(values), "t", n_resamples=1, alpha=ALPHA, seed=9).pairs,
    )


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_levels_are_near_those_of_the_t_test(test):
    """On normal values, of five systems on 60 topics by two measures."""
    means = np.linspace(0, 0.5, 5).reshape(5, 1, 1)  # systems, topics, measures
    values = np.random.default_rng(2).normal(means, 0.5, (5, 60, 2))
    perquery = array_frame(values)
    resampled = discriminative_power(perquery, test, n_resamples=4000)
    t_test = discriminative_power(perquery, test="t")
    assert np.abs(resampled.pairs["asl"] - t_test.pairs["asl"]).max() < 0.03
    required = resampled.table["required_difference"].tolist()
    assert required == pytest.approx(t_test.table["required_difference"].tolist(), rel=0.2)


@pytest.mark.parametrize("test", ["permutation", "tukey"])
def test_the_difference_needed_separates(values, test):
    power = discriminative_power(array_frame(values), test, n_resamples=B, alpha=ALPHA)
    if test == "tukey":
        needed = power.pairs["measure"].map(power.table.set_index("measure")["required_difference"])
        assert (
            (power.pairs["difference"].abs() > needed + 1e-12) == power.pairs["discriminated"]
        ).all()
    assert (power.table["required_difference"] > 0).all()


@pytest.mark.parametrize("test", TESTS)
def test_identical_systems_are_never_discriminated(test):
    same = np.random.default_rng(0).random((1, 7, 2)).repeat(3, axis=0)
    power = discriminative_power(array_frame(same), test, n_resamples=B, alpha=ALPHA)
    assert (power.table["power"] == 0).all()
    assert (power.pairs["asl"] == 1).all()
    mixed = np.concatenate([same, same + np.random.default_rng(1).normal(1, 0.1, same.shape)])
    pairs = discriminative_power(array_frame(mixed), test, n_resamples=B, alpha=0.4).pairs
    identical = pairs["a"].isin(["run 0", "run 1", "run 2"]) & pairs["b"].isin(
        ["run 0", "run 1", "run 2"]
    )
    assert (pairs.loc[identical, "asl"] == 1).all()
    assert pairs["discriminated"].any()


@pytest.mark.parametrize("test", ["bootstrap", "t", "permutation"])
def test_a_constant_difference(test):
    """A system that is better by .1 on each of eight topics is told apart, although the variance is 0."""
    first = np.array([0.1, 0.2, 0.3, 0.7, 0.6, 0.5, 0.9, 0.8])
    systems_and_topics = np.stack([first, first + 0.1])
    values = systems_and_topics[:, :, np.newaxis]  # by one measure
    power = discriminative_power(array_frame(values), test, n_resamples=B, alpha=ALPHA)
    assert power.pairs["discriminated"].all()


@pytest.mark.parametrize("test", ["bootstrap", "t", "permutation"])
def test_differences_that_cancel_are_none(test):
    first = np.array([0.3, 0.1, 0.2, 0.2, 0.5, 0.7, 0.1, 0.4, 0.4])
    second = first + np.array([0.1, -0.1, 0, 0, 0, 0, 0, 0.2, -0.2])
    power = discriminative_power(
        array_frame(np.stack([first, second])[:, :, None]), test, n_resamples=B, alpha=ALPHA
    )
    assert power.pairs["asl"].tolist() == pytest.approx([1])


@pytest.mark.parametrize("test", TESTS)
def test_the_same_seed_gives_the_same(values, test):
    first, second = (
        discriminative_power(array_frame(values), test, n_resamples=B, alpha=ALPHA, seed=7)
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first.table, second.table, check_exact=True)
    pd.testing.assert_frame_equal(first.pairs, second.pairs, check_exact=True)
    other = discriminative_power(array_frame(values), test, n_resamples=B, alpha=ALPHA, seed=8)
    assert first.pairs["asl"].equals(other.pairs["asl"]) == (test == "t")


@pytest.mark.parametrize("test", RESAMPLED)
def test_resamples_are_shared_by_measures(values, test):
    power = discriminative_power(
        array_frame(values[:, :, [0, 0]]), test, n_resamples=B, alpha=ALPHA
    ).pairs
    levels = [group["asl"].tolist() for _, group in power.groupby("measure")]
    assert levels[0] == levels[1]


@pytest.mark.every(3)
@pytest.mark.parametrize("correction", ["bonferroni", "holm", "fdr_bh"])
def test_corrections(values, correction):
    pytest.importorskip("statsmodels")
    from statsmodels.stats.multitest import multipletests

    power = discriminative_power(
        array_frame(values), n_resamples=1000, alpha=ALPHA, correction=correction
    )
    for _, pairs in power.pairs.groupby("measure"):
        reject, p, *_ = multipletests(pairs["asl"], ALPHA, correction)
        assert pairs["p"].tolist() == p.tolist()
        assert pairs["discriminated"].tolist() == reject.tolist()
    plain_power = discriminative_power(array_frame(values), n_resamples=1000, alpha=ALPHA)
    assert (power.pairs["asl"] == plain_power.pairs["asl"]).all()
    assert power.table["n_discriminated"].sum() < plain_power.table["n_discriminated"].sum()
    assert f"correction='{correction}'" in repr(power)


def test_the_result(values):
    power = discriminative_power(array_frame(values), n_resamples=B, alpha=ALPHA)
    assert list(power.table.columns) == [
        "measure",
        "power",
        "n_discriminated",
        "n_pairs",
        "required_difference",
    ]
    assert power.table["power"].is_monotonic_decreasing
    assert (power.table["n_pairs"] == 15).all()
    assert list(power.pairs.columns) == [
        "measure",
        "a",
        "b",
        "difference",
        "asl",
        "p",
        "discriminated",
    ]
    curve = power.curve()
    assert list(curve.columns) == ["measure", "rank", "a", "b", "asl"]
    for measure, group in curve.groupby("measure"):
        assert group["rank"].tolist() == list(range(1, 16))
        assert group["asl"].is_monotonic_decreasing
        asl = power.pairs.loc[power.pairs["measure"] == measure, "asl"]
        assert sorted(group["asl"]) == sorted(asl)


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "t", "tukey"])
def test_rounding_errors_are_no_differences(test):
    topics = range(8)
    rows = [("sum", f"q{topic}", "AP", 0.1 + 0.2) for topic in topics]
    rows += [("number", f"q{topic}", "AP", 0.3) for topic in topics]
    assert rows[0][-1] != rows[-1][-1]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    power = discriminative_power(perquery, test, n_resamples=200)
    assert power.pairs[["difference", "asl", "discriminated"]].to_numpy().tolist() == [
        [0.0, 1.0, False]
    ]


@pytest.mark.parametrize("test", ["bootstrap", "t"])
def test_a_difference_that_is_constant_up_to_rounding_is_discriminated(test):
    lower = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7]
    upper = [0.2, 0.3, 0.4, 0.5, 0.7, 0.8]
    assert len({high - low for low, high in zip(lower, upper, strict=True)}) > 1
    rows = [
        (name, f"q{topic}", "AP", value)
        for name, values in {"a": upper, "b": lower}.items()
        for topic, value in enumerate(values)
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    power = discriminative_power(perquery, test, n_resamples=200)
    assert power.pairs["asl"].item() == 0
    assert power.table["required_difference"].item() == 0


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "t", "tukey"])
def test_a_measure_that_is_0_everywhere_discriminates_nothing(test):
    rows = [(name, f"q{topic}", "AP", 0.0) for name in "abc" for topic in range(4)]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    power = discriminative_power(perquery, test, n_resamples=200)
    assert power.pairs["asl"].tolist() == [1.0, 1.0, 1.0]
    assert power.table["required_difference"].item() == 0


def test_the_printed_form(tmp_path):
    table = pd.DataFrame(
        [("TOMA(aspects='health')@10", 2 / 3, 10, 15, 0.1723), ("CG", 0.0, 0, 15, 12.5)],
        columns=["measure", "power", "n_discriminated", "n_pairs", "required_difference"],
    )
    power = DiscriminativePower(table, pd.DataFrame(), 0.01, "permutation", "holm")
    expected = """\
Discriminative power
--------------------
Pairs of systems that differ significantly: test='permutation', alpha=0.01,
  correction='holm'.

measure                     power     pairs  required difference
TOMA(aspects='health')@10  66.7 %  10 of 15               0.1723
CG                          0.0 %   0 of 15              12.5000

The required difference of means is in the units of the measure. It is found
  with probability one half: see detectable_difference."""
    assert str(power) == repr(power) == expected
    assert "<table" in power._repr_html_()
    page = power.to_html(tmp_path / "power.html")
    assert "<title>Discriminative power</title>" in page
    assert (tmp_path / "power.html").read_text(encoding="utf-8") == page
    assert "correction" not in repr(replace(power, correction=None))


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: discriminative_power(GOOD[GOOD["name"] == "run 1"]), ["two systems"]),
        (lambda: discriminative_power(GOOD[GOOD["qid"] == "q1"]), ["two topics"]),
        (lambda: discriminative_power(GOOD.assign(value=np.nan)), ["nan"]),
        (lambda: discriminative_power(GOOD.iloc[1:]), ["different sets of topics", "run 0"]),
        (
            lambda: discriminative_power(
                GOOD[(GOOD["name"] != "run 2") | (GOOD["measure"] != "RR")]
            ),
            ["run 2", "no value of RR"],
        ),
        (
            lambda: discriminative_power(GOOD, test="wilcoxon"),
            ["test", "'bootstrap', 'permutation', 't', 'tukey'"],
        ),
        (
            lambda: discriminative_power(GOOD, n_resamples=10),
            ["n_resamples: expected at least 20", "got 10"],
        ),
        (lambda: discriminative_power(GOOD, n_resamples=0), ["n_resamples", "0"]),
        (lambda: discriminative_power(GOOD, alpha=5), ["alpha", "5"]),
        (lambda: discriminative_power(GOOD, seed=1.5), ["seed", "1.5"]),
        (
            lambda: discriminative_power(GOOD, test="tukey", correction="holm"),
            ["test='tukey'", "omit correction='holm'"],
        ),
        (lambda: discriminative_power(GOOD, correction="x"), ["correction", "holm", "x"]),
    ],
)
def test_bad_input(make, parts):
    with pytest.raises(MultiAspectError) as caught:
        make()
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.every(2)
@pytest.mark.parametrize("test", [*RESAMPLED, "t"])
def test_the_order_of_rows_makes_no_difference(values, test):
    """Measures are in the order of the rows; pairs of systems are sorted by name within each."""
    perquery = array_frame(values)
    power = discriminative_power(perquery, test, n_resamples=B, alpha=ALPHA)
    for reordered in (
        perquery[::-1],
        perquery.sample(frac=1, random_state=2),
        perquery.sort_values(["qid", "name"]),
    ):
        again = discriminative_power(reordered, test, n_resamples=B, alpha=ALPHA)
        for measure in ("AP", "RR", "P"):
            pairs = power.pairs[power.pairs["measure"] == measure].reset_index(drop=True)
            pairs_again = again.pairs[again.pairs["measure"] == measure].reset_index(drop=True)
            pd.testing.assert_frame_equal(pairs_again, pairs, check_exact=True)
        table = power.table.set_index("measure")
        table_again = again.table.set_index("measure").loc[table.index]
        pd.testing.assert_frame_equal(table_again, table, check_exact=True)

    n_pairs = 15  # of six systems
    for measure in ("AP", "RR", "P"):
        first_systems = power.pairs.loc[power.pairs["measure"] == measure, "a"].tolist()
        assert len(first_systems) == n_pairs
        assert first_systems == sorted(first_systems)


def test_the_number_of_resamples_that_the_error_asks_for_is_accepted():
    # 1 / 0.03 is 33.3: the error asked for 33 resamples, and was raised again for 33.
    with pytest.raises(
        MultiAspectError, match=r"expected at least 34 \(1 / alpha\) for alpha=0.03, got 33"
    ):
        discriminative_power(GOOD, n_resamples=33, alpha=0.03)
    assert len(discriminative_power(GOOD, n_resamples=34, alpha=0.03).table) == 2
