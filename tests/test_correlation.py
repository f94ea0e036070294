"""Correlation of system rankings: against SciPy, definitions, and the published τ of CLEF 2015."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from frame_world import array_frame
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, pearsonr, spearmanr
from shared_data import golden

from pt_multiaspect.analysis import correlation, rank_correlation, tau_ap
from pt_multiaspect.errors import MultiAspectError, MultiAspectWarning

METHODS = ("kendall", "tau_ap", "tau_ap_b", "tau_gap", "spearman", "pearson", "rbo")


def arrays(perquery: pd.DataFrame) -> tuple[np.ndarray, list[str], list[str], list[str]]:
    """Values, systems × topics × measures, with the systems and topics, sorted, and the measures."""
    columns = ["name", "qid", "measure"]
    labels = [
        sorted(set(perquery["name"])),
        sorted(set(perquery["qid"])),
        list(dict.fromkeys(perquery["measure"])),
    ]
    values = (
        perquery.set_index(columns)["value"].reindex(pd.MultiIndex.from_product(labels)).to_numpy()
    )
    return values.reshape([len(names) for names in labels]), *labels


def random_frame(seed=0, shape=(8, 6, 3), decimals=1) -> pd.DataFrame:
    """Scores with ties."""
    return array_frame(np.random.default_rng(seed).random(shape).round(decimals))


def slow_tau_ap(reference, other) -> float:
    order = sorted(range(len(other)), key=lambda system: -other[system])
    shares = [
        sum(reference[above] >= reference[order[rank]] for above in order[:rank]) / rank
        for rank in range(1, len(order))
    ]
    return 2 * sum(shares) / len(shares) - 1


def slow_tau_gap(reference, other) -> float:
    order = sorted(range(len(other)), key=lambda system: -other[system])
    fractions = []
    for rank, system in enumerate(order):
        gaps = [reference[above] - reference[system] for above in order[:rank]]
        if any(gaps):
            fractions.append(sum(gap for gap in gaps if gap > 0) / sum(map(abs, gaps)))
    return 2 * sum(fractions) / len(fractions) - 1


def slow_tau_ap_b(left, right) -> float:
    """The mean of both directions, over the systems below the first group of tied ones."""
    directions = []
    for reference, other in ((left, right), (right, left)):
        shares = []
        for score, value in zip(other, reference, strict=True):
            above = [reference[system] for system in range(len(other)) if other[system] > score]
            if above:
                shares.append(sum(higher > value for higher in above) / len(above))
        directions.append(2 * sum(shares) / len(shares) - 1)
    return sum(directions) / 2


def slow_rbo(left, right, p) -> float:
    """Webber's sum to the last rank, and its last agreement from there on."""
    places = [
        [1 + sum(other > score for other in scores) for score in scores] for scores in (left, right)
    ]
    total, n = 0.0, len(left)
    for depth in range(1, n + 1):
        first, second = (
            {system for system in range(n) if ranks[system] <= depth} for ranks in places
        )
        agreement = 2 * len(first & second) / (len(first) + len(second))
        total += agreement * p**depth
    return (1 - p) / p * total + agreement * p**n


def golden_means_of_clef_2015() -> dict[str, dict[str, float]]:
    """The mean values of the 110 runs, by name and measure."""
    runs = golden("clef2015_runs.json")["runs"]
    assert len(runs) == 110
    return {name: run["committed"] for name, run in sorted(runs.items())}


PUBLISHED = pytest.mark.parametrize(
    ("measure", "tau", "ap"), [("uRBP", 0.8666, 0.7985684973), ("uRBPgr", 0.9077, 0.8634555553)]
)


@PUBLISHED
def test_published_tau_of_clef_2015(measure, tau, ap):
    """Kendall's τ of the ranking of systems by RBP and by `measure`, as published."""
    means = golden_means_of_clef_2015().values()
    rbp = [run["RBP"] for run in means]
    other = [run[measure] for run in means]
    assert round(rank_correlation(rbp, other), 4) == tau
    assert tau_ap(rbp, other) == pytest.approx(ap, abs=1e-10)


@PUBLISHED
@pytest.mark.parametrize("rank_by", ["mean", "query"])
def test_published_tau_of_clef_2015_from_a_frame(measure, tau, ap, rank_by):
    """On each of two topics, the runs have their means as values; rows are in any order."""
    rows = []
    for name, run in golden_means_of_clef_2015().items():
        for qid in ("1", "2"):
            rows.append((name, qid, "RBP", run["RBP"]))
            rows.append((name, qid, measure, run[measure]))
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    shuffled = perquery.sample(frac=1, random_state=1)
    kendall = correlation(shuffled, rank_by=rank_by)
    assert round(kendall.loc["RBP", measure], 4) == tau
    by_tau_ap = correlation(shuffled, "tau_ap", rank_by)
    assert by_tau_ap.loc["RBP", measure] == pytest.approx(ap, abs=1e-10)


scores = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4).map(float), min_size=n, max_size=n)] * 2)
)


@given(scores)
def test_equal_the_definitions(pair):
    left, right = pair
    constant = len(set(left)) == 1 or len(set(right)) == 1
    for method, slow in [
        ("kendall", lambda: kendalltau(left, right).statistic),
        ("spearman", lambda: spearmanr(left, right).statistic),
        ("pearson", lambda: pearsonr(left, right).statistic),
        ("tau_ap", lambda: slow_tau_ap(left, right)),
        ("tau_ap_b", lambda: slow_tau_ap_b(left, right)),
        ("tau_gap", lambda: slow_tau_gap(left, right)),
    ]:
        value = rank_correlation(left, right, method)
        if constant:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(slow(), abs=1e-12)
    for p in (0.5, 0.98):
        value = rank_correlation(left, right, "rbo", p=p)
        assert value == pytest.approx(slow_rbo(left, right, p), abs=1e-12)
        assert 0 < value <= 1
        assert rank_correlation(left, left, "rbo", p=p) == pytest.approx(1)


@given(scores)
def test_ties_of_tau_ap(pair):
    """The first argument is the reference, by which every system above another should be at least as good."""
    values, _ = pair
    if len(set(values)) == 1:
        return
    ties_in_order = [value - index / 100 for index, value in enumerate(values)]
    ties_reversed = [value + index / 100 for index, value in enumerate(values)]
    # Tied systems of the reference may be in any order.
    assert tau_ap(reference=values, other=values) == pytest.approx(1)
    assert tau_ap(reference=values, other=ties_in_order) == pytest.approx(1)
    assert tau_ap(reference=values, other=ties_reversed) == pytest.approx(1)
    # Tied systems of the other ranking stay in the order in which they are given.
    assert tau_ap(reference=ties_in_order, other=values) == pytest.approx(1)

    upside_down = [-value for value in ties_in_order]
    assert tau_ap(reference=values, other=upside_down) < 1


def two_measures(ap, rr) -> pd.DataFrame:
    """Values of AP and RR of systems, the same on each of two topics."""
    by_system = np.array([ap, rr]).T
    by_topic = [by_system, by_system]
    return array_frame(np.stack(by_topic, axis=1), ("AP", "RR"))


def test_tau_ap_has_a_direction():
    """At each rank from 2 on counts the fraction of systems above that the reference puts above, too."""
    left = [4, 3, 2, 1]
    right = [1, 4, 3, 2]
    # By right, the scores of left are 3, 2, 1, 4.
    mean_fraction = (1 / 1 + 2 / 2 + 0 / 3) / 3
    assert tau_ap(left, right) == pytest.approx(2 * mean_fraction - 1)
    # By left, the scores of right are 1, 4, 3, 2.
    mean_fraction = (0 / 1 + 1 / 2 + 2 / 3) / 3
    assert tau_ap(right, left) == pytest.approx(2 * mean_fraction - 1)

    table = correlation(two_measures(left, right), "tau_ap")
    assert table.loc["AP", "RR"] == pytest.approx(tau_ap(left, right))
    assert table.loc["RR", "AP"] == pytest.approx(tau_ap(right, left))


#: Scores with ties, and their τ_AP,b as the package ircor of Urbano and Marrero prints it.
TIED = [
    (
        [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
        [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
        0.7321,
    ),
    (
        [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
        [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
        0.297,
    ),
    (
        [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
        [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
        -0.7047,
    ),
]


@pytest.mark.parametrize(("left", "right", "expected"), TIED)
def test_tau_ap_b_of_ircor(left, right, expected):
    assert rank_correlation(left, right, "tau_ap_b") == pytest.approx(expected, abs=5e-5)
    assert rank_correlation(right, left, "tau_ap_b") == pytest.approx(expected, abs=5e-5)


def test_tau_ap_b_is_the_mean_of_both_directions_without_ties():
    left, right = [4, 3, 2, 1], [1, 4, 3, 2]
    expected = (tau_ap(left, right) + tau_ap(right, left)) / 2
    assert rank_correlation(left, right, "tau_ap_b") == pytest.approx(expected)

    # The first two systems are swapped: at ranks 2 to 4, none, all and all above are right.
    mean_fraction = (0 / 1 + 2 / 2 + 3 / 3) / 3
    value = rank_correlation([10, 9, 8, 7], [9, 10, 8, 7], "tau_ap_b")
    assert value == pytest.approx(2 * mean_fraction - 1)


def test_ties_of_tau_ap_b():
    """Two systems are tied at ranks 2 and 3 by one ranking only."""
    untied, tied = [3, 2, 1], [3, 2, 2]
    # By the ranking with ties, both have the first system above, which is right.
    by_tied = 2 * (1 / 1 + 1 / 1) / 2 - 1
    # By the other, the last system has two above, of which one is tied by the reference.
    by_untied = 2 * (1 / 1 + 1 / 2) / 2 - 1
    value = rank_correlation(untied, tied, "tau_ap_b")
    assert value == pytest.approx((by_tied + by_untied) / 2)


@pytest.mark.parametrize(("factor", "shift"), [(1e160, 0), (1, 1e9), (-1, 0.1)])
def test_pearson_of_any_scale(factor, shift):
    """Squares of large scores overflow, and the mean of equal scores is not exactly their value."""
    left, right = [0.1, 0.1, 0.7, 0.4], [0.3, 0.2, 0.9, 0.9]
    scaled = [factor * score + shift for score in left]
    expected = np.sign(factor) * pearsonr(left, right).statistic
    assert rank_correlation(scaled, right, "pearson") == pytest.approx(expected, abs=1e-6)
    assert np.isnan(rank_correlation([factor * 0.1 + shift] * 3, [1, 2, 3], "pearson"))


def test_golden_tau_gap():
    """Undefined values are NaN."""
    cases = golden("correlations.json")["cases"]
    assert len(cases) > 20
    for case in cases:
        value = rank_correlation(case["truth"], case["other"], "tau_gap")
        if case["tau_gap"] is None:
            assert np.isnan(value), case
            continue
        assert value == pytest.approx(case["tau_gap"], abs=1e-9), case
        table = correlation(two_measures(case["truth"], case["other"]), "tau_gap")
        assert table.loc["AP", "RR"] == pytest.approx(case["tau_gap"], abs=1e-9), case


def test_tau_gap_counts_large_gaps_more():
    """To swap the last two systems, which hardly differ, is a smaller error than to swap the first two."""
    reference = [0.9, 0.5, 0.49]
    last_two_swapped = [3, 1, 2]
    first_two_swapped = [2, 3, 1]
    small_error = rank_correlation(reference, last_two_swapped, "tau_gap")
    large_error = rank_correlation(reference, first_two_swapped, "tau_gap")
    assert small_error > large_error


def test_tau_gap_by_hand():
    """At each rank from 2 on counts the fraction of the gaps to the systems above that have the right sign."""
    reference = [0.5, 0.4, 0.1]
    other = [0.2, 0.3, 0.1]  # the first two systems are swapped
    rank_2 = 0 / 0.1  # the gap .5 - .4 is wrong
    rank_3 = (0.4 + 0.3) / (0.4 + 0.3)  # .5 - .1 and .4 - .1 are right
    mean_fraction = (rank_2 + rank_3) / 2
    value = rank_correlation(reference, other, "tau_gap")
    assert value == pytest.approx(2 * mean_fraction - 1)
    assert 2 * mean_fraction - 1 == 0


def test_tau_gap_is_undefined_without_gaps():
    assert np.isnan(rank_correlation([1, 1, 1], [1, 2, 3], "tau_gap"))


@pytest.mark.parametrize("method", METHODS)
def test_best_systems_of_each_row(method):
    perquery = random_frame(shape=(9, 4, 3))
    means = perquery.pivot_table(index="name", columns="measure", values="value")
    found = correlation(perquery, method, top=4)
    for reference in found.index:
        lowest = means[reference].sort_values().iloc[-4]
        chosen = means[means[reference] >= lowest - 1e-12]
        expected = correlation(perquery[perquery["name"].isin(chosen.index)], method)
        pd.testing.assert_series_equal(found.loc[reference], expected.loc[reference])
    pd.testing.assert_frame_equal(
        correlation(perquery, method, top=9), correlation(perquery, method)
    )
    pd.testing.assert_frame_equal(
        correlation(perquery, method, top=50), correlation(perquery, method)
    )


def test_ties_with_the_last_of_the_best_systems_are_kept_and_resamples_have_the_same_systems():
    """By AP, which has the values .9, .7, .7, .7, .2 and .1, the best two systems are four: runs 0 to 3."""
    rng = np.random.default_rng(3)
    n_systems, n_topics = 6, 8
    values = rng.random((n_systems, n_topics, 2))
    ap, rr = 0, 1
    values[:, :, ap] = np.array([0.9, 0.7, 0.7, 0.7, 0.2, 0.1])[:, np.newaxis]
    values[[0, 5], :, rr] += 1  # by RR, other systems are best
    perquery = array_frame(values)
    best = perquery[perquery["name"].isin(["run 0", "run 1", "run 2", "run 3"])]

    settings = {"ci": 0.9, "n_resamples": 50}
    result = correlation(perquery, top=2, **settings)
    expected = correlation(best, **settings)
    reference_is_ap = 0  # the first row
    pd.testing.assert_series_equal(result.loc[reference_is_ap], expected.loc[reference_is_ap])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank_by": "query", "top": 3}, "top: expected rank_by='mean'"),
        ({"top": 1}, "top"),
    ],
)
def test_bad_numbers_of_the_best_systems(options, message):
    with pytest.raises(MultiAspectError, match=message):
        correlation(random_frame(), **options)


def test_measures_that_are_constant_among_the_best_systems_are_named():
    values = np.random.default_rng(3).random((6, 8, 2))
    values[:3, :, 0] += 1
    values[:3, :, 1] = 0.5
    with pytest.warns(
        MultiAspectWarning, match=r"RR does so among the best by AP, so this correlation is NaN"
    ):
        found = correlation(array_frame(values), top=3)
    assert np.isnan(found.loc["AP", "RR"])
    assert not np.isnan(found.loc["RR", "AP"])


def test_spearman_exercise():
    ideal = list(range(1, 11))
    assert round(rank_correlation(ideal, [2, 3, 1, 5, 4, 7, 8, 10, 6, 9], "spearman"), 4) == 0.8545


@pytest.mark.parametrize("method", METHODS)
def test_the_matrix_is_made_of_single_correlations(method):
    perquery = random_frame()
    values, _, qids, measures = arrays(perquery)
    means = values.mean(axis=1)
    by_mean, by_query = correlation(perquery, method), correlation(perquery, method, "query")
    for row, first in enumerate(measures):
        for column, second in enumerate(measures):
            assert by_mean.loc[first, second] == pytest.approx(
                rank_correlation(means[:, row], means[:, column], method)
            )
            by_topic = [
                rank_correlation(values[:, topic, row], values[:, topic, column], method)
                for topic in range(len(qids))
            ]
            assert by_query.loc[first, second] == pytest.approx(np.mean(by_topic))
    assert list(by_mean.index) == list(by_mean.columns) == measures
    shuffled = perquery.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(correlation(shuffled, method).loc[measures, measures], by_mean)


def test_the_order_in_which_a_mean_is_summed_makes_no_tie_break():
    values = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.3, 0.1], [0.4, 0.4, 0.4]]
    other = [[0.1] * 3, [0.1] * 3, [0.1] * 3, [0.2] * 3]
    assert correlation(array_frame(np.stack([values, other], axis=2))).loc["AP", "RR"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("rank_by", ["mean", "query"])
@pytest.mark.parametrize("method", METHODS)
def test_intervals(method, rank_by):
    """Intervals contain the estimates, stay in [-1, 1], are reproducible, and are wider at a higher level."""
    perquery = random_frame(shape=(10, 20, 3), decimals=2)
    settings = {"method": method, "rank_by": rank_by, "n_resamples": 20}

    result = correlation(perquery, **settings, ci=0.9)
    assert list(result.columns) == ["reference", "measure", "correlation", "low", "high"]
    assert len(result) == 6  # ordered pairs of three measures
    table = correlation(perquery, **settings)
    for row in result.itertuples():
        assert row.correlation == table.loc[row.reference, row.measure]
        assert -1 <= row.low <= row.high <= 1

    again = correlation(perquery, **settings, ci=0.9)
    pd.testing.assert_frame_equal(result, again, check_exact=True)

    wider = correlation(perquery, **settings, ci=0.99)
    assert (wider["low"] <= result["low"]).all()
    assert (wider["high"] >= result["high"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("rank_by", ["mean", "query"])
@pytest.mark.parametrize("method", METHODS)
def test_intervals_are_those_of_a_plain_bootstrap(method, rank_by):
    """Topics are drawn with replacement, by the random numbers of the seed 0."""
    perquery = random_frame(shape=(10, 20, 3), decimals=2)
    n_resamples = 20
    result = correlation(perquery, method, rank_by, ci=0.9, n_resamples=n_resamples)

    values, names, qids, measures = arrays(perquery)
    draws = np.random.default_rng(0).integers(len(qids), size=(n_resamples, len(qids)))
    correlations = []
    for drawn_topics in draws:
        # Names are those of the frame, whose order breaks ties.
        resample = array_frame(values[:, drawn_topics], measures)
        new_names = dict(zip(sorted(resample["name"].unique()), names, strict=True))
        resample["name"] = resample["name"].map(new_names)
        correlations.append(correlation(resample, method, rank_by).loc["AP", "RR"])

    low, high = np.quantile(correlations, [0.05, 0.95])
    ap_and_rr = result.loc[0]
    assert (ap_and_rr["reference"], ap_and_rr["measure"]) == ("AP", "RR")
    assert ap_and_rr["low"] == pytest.approx(low)
    assert ap_and_rr["high"] == pytest.approx(high)


def test_constant_measures_are_named():
    """If all systems have the same value, τ is undefined: a warning names the measure, and rbo as remedy."""
    values = np.random.default_rng(1).random((5, 4, 3))  # systems, topics, measures AP, RR, P
    rr = 1
    values[:, :, rr] = 0.5
    perquery = array_frame(values)
    with pytest.warns(MultiAspectWarning, match=r"kendall is undefined .*RR.*method='rbo'"):
        table = correlation(perquery)
    assert table["RR"].isna().all()
    assert not np.isnan(table.loc["AP", "P"])
    assert not correlation(perquery, "rbo").isna().any(axis=None)


def test_constant_measures_of_a_topic_are_named():
    """RR is constant on the first of four topics and equals AP on the others, whose mean correlation is 1."""
    values = np.random.default_rng(1).random((5, 4, 3))  # systems, topics, measures AP, RR, P
    ap, rr = 0, 1
    values[:, 0, rr] = 0.5
    values[:, 1:, rr] = values[:, 1:, ap]
    perquery = array_frame(values)
    with pytest.warns(MultiAspectWarning, match=r"RR.*1 of 4 topics"):
        table = correlation(perquery, rank_by="query")
    assert table.loc["AP", "RR"] == pytest.approx(1)
    assert not correlation(perquery, "rbo").isna().any(axis=None)


def test_frames_of_experiments():
    import pyterrier as pt
    from ir_measures import AP, RR

    from pt_multiaspect import evaluate

    qrels = pd.DataFrame(
        [(q, d, int(q == d)) for q in ("1", "2") for d in ("1", "2", "3")],
        columns=["qid", "docno", "label"],
    )
    rng = np.random.default_rng(0)
    runs = {name: qrels[["qid", "docno"]].assign(score=rng.random(len(qrels))) for name in "abc"}
    topics = pd.DataFrame({"qid": ["1", "2"], "query": ["x", "y"]})
    theirs = pt.Experiment(
        list(runs.values()), topics, qrels, [AP, RR], names=list(runs), perquery=True
    )
    ours = evaluate(runs, qrels, [AP, RR], progress=False)
    pd.testing.assert_frame_equal(
        correlation(theirs, "rbo").loc[["AP", "RR"], ["AP", "RR"]], correlation(ours, "rbo")
    )


#: AP and RR of run 0 to run 3 on the topics q0 to q2: 24 rows, of which the sixth is RR of run 0 on q2.
GOOD = array_frame(np.arange(24).reshape(4, 3, 2))


@pytest.mark.parametrize(
    ("perquery", "parts"),
    [
        pytest.param(
            GOOD.drop(columns="qid"),
            ["columns name, qid, measure, value", "got name, measure, value (qid is missing)"],
            id="no column qid",
        ),
        pytest.param("x", ["a long frame", "got str"], id="no frame"),
        pytest.param(GOOD.iloc[:0], ["expected at least one row"], id="no rows"),
        pytest.param(GOOD[GOOD["name"] == "run 1"], ["two systems", "run 1"], id="one system"),
        pytest.param(GOOD[GOOD["qid"] == "q1"], ["two topics", "q1"], id="one topic"),
        pytest.param(
            GOOD.assign(value=[np.nan, *GOOD["value"][1:]]),
            ["AP", "run 0", "q0", "nan", "1 such value"],
            id="first value NaN",
        ),
        pytest.param(
            GOOD.assign(value=[*GOOD["value"][:-1], np.inf]),
            ["RR", "run 3", "q2", "inf"],
            id="last value infinite",
        ),
        pytest.param(
            GOOD.assign(value="x"), ["expected numbers in the column value"], id="values of text"
        ),
        pytest.param(
            GOOD.assign(value=pd.Timestamp(0)), ["value", "datetime64"], id="values of dates"
        ),
        pytest.param(
            pd.concat([GOOD, GOOD["value"]], axis="columns"),
            ["distinct column names", "several value"],
            id="two columns value",
        ),
        pytest.param(
            pd.concat([GOOD, GOOD["measure"]], axis="columns"),
            ["distinct column names", "several measure"],
            id="two columns measure",
        ),
        pytest.param(
            GOOD.assign(name=[[name] for name in GOOD["name"]]),
            ["invalid label in the column name"],
            id="names in lists",
        ),
        pytest.param(
            GOOD.assign(qid=pd.Series([0, "0", *GOOD["qid"][2:]], dtype=object)),
            ["0 and '0'", "astype(str)"],
            id="topics that look alike",
        ),
        pytest.param(
            GOOD.assign(qid=[None, *GOOD["qid"][1:]]), ["qid", "empty"], id="first topic missing"
        ),
        pytest.param(
            GOOD[(GOOD["name"] != "run 2") | (GOOD["measure"] != "RR")],
            ["run 2", "no value of RR", "run 0, run 1, run 3 have"],
            id="run 2 without RR",
        ),
        pytest.param(
            GOOD[(GOOD["name"] != "run 2") | (GOOD["qid"] != "q1")],
            ["different sets of topics", "run 2", "AP", "q1", "2 such gaps"],
            id="run 2 without q1, for both measures",
        ),
        pytest.param(
            pd.concat([GOOD, GOOD.iloc[[5]]]),
            ["expected one value of RR", "run 0", "q2", "got 2", "1 such cell"],
            id="RR of run 0 on q2 twice",
        ),
    ],
)
def test_bad_frames(perquery, parts):
    with pytest.raises(MultiAspectError) as caught:
        correlation(perquery)
    message = str(caught.value)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (
            lambda: correlation(GOOD, "tauap_b"),
            ["method", ", ".join(map(repr, METHODS)), "got 'tauap_b'"],
        ),
        (lambda: correlation(GOOD, rank_by="topic"), ["rank_by", "'mean', 'query'", "topic"]),
        (lambda: correlation(GOOD, "rbo", p=1), ["p: expected a number above 0 and below 1"]),
        (lambda: correlation(GOOD, ci=95), ["ci", "95"]),
        (lambda: correlation(GOOD, n_resamples=0), ["n_resamples", "0"]),
        (lambda: correlation(GOOD, seed=-1), ["seed", "-1"]),
        (lambda: tau_ap([1, 2], [1, 2, 3]), ["same systems", "got arrays of shapes (2,) and (3,)"]),
        (lambda: tau_ap([1], [1]), ["expected scores of at least two systems, got 1"]),
        (lambda: rank_correlation([1, float("nan")], [1, 2]), ["expected finite scores, got nan"]),
        (lambda: rank_correlation(["x", "y"], [1, 2]), ["expected two lists of numbers"]),
    ],
)
def test_bad_input(make, parts):
    with pytest.raises(MultiAspectError) as caught:
        make()
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_intervals_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(5)
    perquery = array_frame(rng.random((6, 12, 2)))
    expected = correlation(perquery, ci=0.9, n_resamples=50)
    for shuffled in (
        perquery.sort_values("qid", ascending=False, kind="stable"),
        perquery.sample(frac=1, random_state=1),
    ):
        table = correlation(shuffled, ci=0.9, n_resamples=50)
        keys = ["reference", "measure"]
        pd.testing.assert_frame_equal(
            table.sort_values(keys, ignore_index=True),
            expected.sort_values(keys, ignore_index=True),
            check_exact=True,
        )


def opposite_values(second_measure: str) -> pd.DataFrame:
    """Values v of AP and 2 - v of another measure, of five systems on four topics."""
    ap = np.random.default_rng(6).random((5, 4))
    return array_frame(np.stack([ap, 2 - ap], axis=2), ("AP", second_measure))


LOWER_IS_BETTER = pytest.mark.parametrize("name", ["ESL", "On(base='ESL')", "Frustration"])


@pytest.mark.every(3)
@LOWER_IS_BETTER
@pytest.mark.parametrize("rank_by", ["mean", "query"])
def test_measures_of_which_lower_is_better_are_turned(name, rank_by):
    """Both measures rank the systems alike: by AP the highest value is best, by the other the lowest."""
    table = correlation(opposite_values(name), rank_by=rank_by)
    assert table.loc["AP", name] == 1


@pytest.mark.every(3)
@LOWER_IS_BETTER
@pytest.mark.parametrize("rank_by", ["mean", "query"])
def test_labels_of_measures_of_which_lower_is_better(name, rank_by):
    """Of the label "effort", higher is better, unless the call or the frame says which measure it is."""
    perquery = opposite_values("effort")

    with pytest.warns(MultiAspectWarning, match=r"effort names no known.*measures=\{alias"):
        unknown = correlation(perquery, rank_by=rank_by)
    assert unknown.loc["AP", "effort"] == -1

    measures = {"AP": "AP", "effort": name}
    declared = correlation(perquery, rank_by=rank_by, measures=measures)
    assert declared.loc["AP", "effort"] == 1

    perquery.attrs["measures"] = {"effort": name}
    recorded = correlation(perquery, rank_by=rank_by)
    assert recorded.loc["AP", "effort"] == 1


@pytest.mark.every(3)
@LOWER_IS_BETTER
@pytest.mark.parametrize("rank_by", ["mean", "query"])
def test_negative_values_of_measures_of_which_lower_is_better_are_refused(name, rank_by):
    """Whoever negates values of which lower is better has turned them: they must not be turned twice."""
    perquery = opposite_values(name)
    is_other = perquery["measure"] == name
    negated = perquery.assign(value=perquery["value"].mask(is_other, -perquery["value"]))
    with pytest.raises(MultiAspectError, match="non-negative"):
        correlation(negated, rank_by=rank_by)


SYSTEM_VALUES = pd.Series({"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.4})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(SYSTEM_VALUES.sort_values(), id="by value"),
        pytest.param(SYSTEM_VALUES.sort_values().astype("Float64"), id="by value, nullable"),
        pytest.param(SYSTEM_VALUES.sort_index(ascending=False), id="by name"),
    ],
)
def test_series_of_systems_in_another_order(other, method):
    """Scores match by position, so that a series in another order is an error, which names the remedy."""
    expected = rank_correlation(SYSTEM_VALUES.to_numpy(), SYSTEM_VALUES.to_numpy(), method)
    assert rank_correlation(SYSTEM_VALUES, SYSTEM_VALUES.copy(), method) == expected

    message = r"in different orders.* other\.reindex\(reference\.index\)"
    with pytest.raises(MultiAspectError, match=message):
        rank_correlation(SYSTEM_VALUES, other, method)
    reordered = other.reindex(SYSTEM_VALUES.index)
    assert rank_correlation(SYSTEM_VALUES, reordered, method) == expected


@pytest.mark.parametrize("method", METHODS)
def test_series_of_other_systems_or_of_shuffled_numbers(method):
    with pytest.raises(MultiAspectError, match=r"only one of them has d, e; pass to_numpy"):
        rank_correlation(SYSTEM_VALUES, SYSTEM_VALUES.rename({"d": "e"}), method)

    numbered = SYSTEM_VALUES.reset_index(drop=True)
    with pytest.raises(MultiAspectError, match="in different orders"):
        rank_correlation(numbered, numbered.sort_values(), method)


@pytest.mark.parametrize("method", METHODS)
def test_series_whose_labels_do_not_name_systems_match_by_position(method):
    """An index of numbers may be that of rows: nothing tells that the systems or their orders differ."""
    expected = rank_correlation(SYSTEM_VALUES.to_numpy(), SYSTEM_VALUES.to_numpy(), method)
    for unnamed in (
        SYSTEM_VALUES.reset_index(drop=True),
        SYSTEM_VALUES.tolist(),
        SYSTEM_VALUES.set_axis([4, 5, 6, 7]),
    ):
        assert rank_correlation(SYSTEM_VALUES, unnamed, method) == expected
        assert rank_correlation(unnamed, SYSTEM_VALUES, method) == expected

    rows_1_to_4 = SYSTEM_VALUES.set_axis([1, 2, 3, 4])
    rows_2_to_5 = SYSTEM_VALUES.set_axis([2, 3, 4, 5])
    assert rank_correlation(rows_1_to_4, rows_2_to_5, method) == expected
