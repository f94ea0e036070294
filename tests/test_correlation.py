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


@pytest.mark.parametrize(
    ("measure", "tau", "ap"), [("uRBP", 0.8666, 0.7985684973), ("uRBPgr", 0.9077, 0.8634555553)]
)
def test_published_tau_of_clef_2015(measure, tau, ap):
    runs = golden("clef2015_runs.json")["runs"]
    means = {name: run["committed"] for name, run in sorted(runs.items())}
    assert len(means) == 110
    reference, other = ([run[m] for run in means.values()] for m in ("RBP", measure))
    assert round(rank_correlation(reference, other), 4) == tau
    assert tau_ap(reference, other) == pytest.approx(ap, abs=1e-10)
    rows = [
        (name, qid, m, run[m])
        for name, run in means.items()
        for qid in "12"
        for m in ("RBP", measure)
    ]
    perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]).sample(
        frac=1, random_state=1
    )
    for rank_by in ("mean", "query"):
        assert round(correlation(perquery, rank_by=rank_by).loc["RBP", measure], 4) == tau
        assert correlation(perquery, "tau_ap", rank_by).loc["RBP", measure] == pytest.approx(
            ap, abs=1e-10
        )


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
    values, _ = pair
    if len(set(values)) > 1:
        assert tau_ap(values, values) == pytest.approx(1)  # with ties, too
        untied = [score - index / 100 for index, score in enumerate(values)]
        assert tau_ap(values, untied) == pytest.approx(
            1
        )  # ties of the reference are right either way
        assert tau_ap(
            values, [score + index / 100 for index, score in enumerate(values)]
        ) == pytest.approx(1)
        assert tau_ap(untied, values) == pytest.approx(
            1
        )  # ties of the other stay in the order given
        assert tau_ap(values, [-score for score in untied]) < 1


def test_tau_ap_has_a_direction():
    assert tau_ap([4, 3, 2, 1], [1, 4, 3, 2]) == pytest.approx(2 * (1 + 1 + 0) / 3 - 1)
    assert tau_ap([1, 4, 3, 2], [4, 3, 2, 1]) == pytest.approx(2 * (0 + 1 / 2 + 2 / 3) / 3 - 1)
    table = correlation(
        array_frame(np.array([[4, 1], [3, 4], [2, 3], [1, 2]])[:, None].repeat(2, axis=1)), "tau_ap"
    )
    assert table.loc["AP", "RR"] == pytest.approx(tau_ap([4, 3, 2, 1], [1, 4, 3, 2]))
    assert table.loc["RR", "AP"] == pytest.approx(tau_ap([1, 4, 3, 2], [4, 3, 2, 1]))


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
    assert rank_correlation([10, 9, 8, 7], [9, 10, 8, 7], "tau_ap_b") == pytest.approx(1 / 3)
    assert rank_correlation([3, 2, 1], [3, 2, 2], "tau_ap_b") == pytest.approx((1 + 1 / 2) / 2)


@pytest.mark.parametrize(("factor", "shift"), [(1e160, 0), (1, 1e9), (-1, 0.1)])
def test_pearson_of_any_scale(factor, shift):
    """Squares of large scores overflow, and the mean of equal scores is not exactly their value."""
    left, right = [0.1, 0.1, 0.7, 0.4], [0.3, 0.2, 0.9, 0.9]
    scaled = [factor * score + shift for score in left]
    expected = np.sign(factor) * pearsonr(left, right).statistic
    assert rank_correlation(scaled, right, "pearson") == pytest.approx(expected, abs=1e-6)
    assert np.isnan(rank_correlation([factor * 0.1 + shift] * 3, [1, 2, 3], "pearson"))


def test_golden_tau_gap():
    cases = golden("correlations.json")["cases"]
    assert len(cases) > 20
    for case in cases:
        expected = np.nan if case["tau_gap"] is None else case["tau_gap"]
        value = rank_correlation(case["truth"], case["other"], "tau_gap")
        assert value == pytest.approx(expected, abs=1e-9, nan_ok=True), case
        perquery = array_frame(
            np.array([case["truth"], case["other"]]).T[:, None].repeat(2, axis=1), ("AP", "RR")
        )
        if expected == expected:
            assert correlation(perquery, "tau_gap").loc["AP", "RR"] == pytest.approx(
                expected, abs=1e-9
            ), case


def test_tau_gap_counts_large_gaps_more():
    assert rank_correlation([0.9, 0.5, 0.49], [3, 1, 2], "tau_gap") > rank_correlation(
        [0.9, 0.5, 0.49], [2, 3, 1], "tau_gap"
    )
    one, two = [0.5, 0.4, 0.1], [0.2, 0.3, 0.1]
    assert rank_correlation(one, two, "tau_gap") == pytest.approx(0.0)  # (0 + 1) / 2
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
    values = np.random.default_rng(3).random((6, 8, 2))
    values[:, :, 0] = np.array([9, 7, 7, 7, 2, 1])[:, None] / 10
    values[[0, 5], :, 1] += 1
    perquery = array_frame(values)
    kept = perquery[perquery["name"].isin(["run 0", "run 1", "run 2", "run 3"])]
    settings = {"ci": 0.9, "n_resamples": 50}
    result, expected = correlation(perquery, top=2, **settings), correlation(kept, **settings)
    pd.testing.assert_series_equal(result.loc[0], expected.loc[0])
    with pytest.raises(MultiAspectError, match="top: expected rank_by='mean'"):
        correlation(perquery, rank_by="query", top=3)
    with pytest.raises(MultiAspectError, match="top"):
        correlation(perquery, top=1)


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
    perquery = random_frame(shape=(10, 20, 3), decimals=2)
    settings = {"method": method, "rank_by": rank_by, "n_resamples": 20}
    long = correlation(perquery, **settings, ci=0.9)
    assert list(long.columns) == ["reference", "measure", "correlation", "low", "high"]
    assert len(long) == 6
    table = correlation(perquery, **settings)
    for row in long.itertuples():
        assert row.correlation == table.loc[row.reference, row.measure]
        assert -1 <= row.low <= row.high <= 1
    pd.testing.assert_frame_equal(long, correlation(perquery, **settings, ci=0.9), check_exact=True)
    wide = correlation(perquery, **settings, ci=0.99)
    assert (wide["low"] <= long["low"]).all()
    assert (wide["high"] >= long["high"]).all()
    # A plain bootstrap with the same draws.
    values, names, qids, measures = arrays(perquery)
    drawn = np.random.default_rng(0).integers(len(qids), size=(20, len(qids)))
    sample = []
    for topics in drawn:
        again = array_frame(values[:, topics], measures).assign(
            name=lambda f: f["name"].map(dict(zip(sorted(names), names, strict=True)))
        )
        sample.append(correlation(again, method, rank_by).loc["AP", "RR"])
    expected = np.quantile(sample, [0.05, 0.95])
    assert long.loc[0, ["low", "high"]].tolist() == pytest.approx(expected.tolist())


def test_constant_measures_are_named():
    values = np.random.default_rng(1).random((5, 4, 3))
    values[:, :, 1] = 0.5
    with pytest.warns(MultiAspectWarning, match=r"kendall is undefined .*RR.*method='rbo'"):
        table = correlation(array_frame(values))
    assert table["RR"].isna().all()
    assert not np.isnan(table.loc["AP", "P"])
    values[:, 1:, 1] = values[:, 1:, 0]
    with pytest.warns(MultiAspectWarning, match=r"RR.*1 of 4 topics"):
        table = correlation(array_frame(values), rank_by="query")
    assert table.loc["AP", "RR"] == pytest.approx(1)
    assert not correlation(array_frame(values), "rbo").isna().any(axis=None)


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


GOOD = array_frame(np.arange(24).reshape(4, 3, 2))


@pytest.mark.parametrize(
    ("bad", "parts"),
    [
        (
            GOOD.drop(columns="qid"),
            ["columns name, qid, measure, value", "got name, measure, value (qid is missing)"],
        ),
        ("x", ["a long frame", "got str"]),
        (GOOD.iloc[:0], ["expected at least one row"]),
        (GOOD[GOOD["name"] == "run 1"], ["two systems", "run 1"]),
        (GOOD[GOOD["qid"] == "q1"], ["two topics", "q1"]),
        (
            GOOD.assign(value=[np.nan, *GOOD["value"][1:]]),
            ["AP", "run 0", "q0", "nan", "1 such value"],
        ),
        (GOOD.assign(value=[*GOOD["value"][1:], np.inf]), ["RR", "run 3", "q2", "inf"]),
        (GOOD.assign(value="x"), ["expected numbers in the column value"]),
        (GOOD.assign(value=pd.Timestamp(0)), ["value", "datetime64"]),
        (
            pd.concat([GOOD, GOOD["value"]], axis="columns"),
            ["distinct column names", "several value"],
        ),
        (
            pd.concat([GOOD, GOOD["measure"]], axis="columns"),
            ["distinct column names", "several measure"],
        ),
        (GOOD.assign(name=[[name] for name in GOOD["name"]]), ["invalid label in the column name"]),
        (
            GOOD.assign(qid=pd.Series([0, "0", *GOOD["qid"][2:]], dtype=object)),
            ["0 and '0'", "astype(str)"],
        ),
        (GOOD.assign(qid=[None, *GOOD["qid"][1:]]), ["qid", "empty"]),
        (
            GOOD[(GOOD["name"] != "run 2") | (GOOD["measure"] != "RR")],
            ["run 2", "no value of RR", "run 0, run 1, run 3 have"],
        ),
        (
            GOOD[(GOOD["name"] != "run 2") | (GOOD["qid"] != "q1")],
            ["different sets of topics", "run 2", "AP", "q1", "2 such gaps"],
        ),
        (
            pd.concat([GOOD, GOOD.iloc[5:6]]),
            ["expected one value of RR", "run 0", "q2", "got 2", "1 such cell"],
        ),
    ],
)
def test_bad_frames(bad, parts):
    with pytest.raises(MultiAspectError) as caught:
        correlation(bad)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


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


@pytest.mark.every(3)
@pytest.mark.parametrize("name", ["ESL", "On(base='ESL')", "Frustration"])
@pytest.mark.parametrize("rank_by", ["mean", "query"])
def test_measures_of_which_lower_is_better_are_turned(name, rank_by):
    """Their correlation with others had the wrong sign."""
    value = np.random.default_rng(6).random((5, 4, 1))
    perquery = array_frame(np.concatenate([value, 2 - value], axis=2))
    first = perquery["measure"].unique()[1]
    perquery = perquery.assign(measure=perquery["measure"].replace(first, name))
    assert correlation(perquery, rank_by=rank_by).iloc[0, 1] == 1
    labelled = perquery.assign(measure=perquery["measure"].replace(name, "effort"))
    with pytest.warns(MultiAspectWarning, match=r"effort names no known.*measures=\{alias"):
        assert correlation(labelled, rank_by=rank_by).iloc[0, 1] == -1  # a column of the user's own
    assert (
        correlation(labelled, rank_by=rank_by, measures={"AP": "AP", "effort": name}).iloc[0, 1]
        == 1
    )
    labelled.attrs["measures"] = {"effort": name}
    assert correlation(labelled, rank_by=rank_by).iloc[0, 1] == 1
    turned = perquery.assign(
        value=perquery["value"].where(perquery["measure"] != name, -perquery["value"])
    )
    with pytest.raises(MultiAspectError, match="non-negative"):
        correlation(turned, rank_by=rank_by)


@pytest.mark.parametrize("method", METHODS)
def test_series_of_systems_in_another_order(method):
    """Scores match by position: a sorted series had another correlation, without a sign."""
    values = pd.Series({"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.4})
    expected = rank_correlation(values.to_numpy(), values.to_numpy(), method)
    assert rank_correlation(values, values.copy(), method) == expected
    for series in (
        values.sort_values(),
        values.sort_values().astype("Float64"),
        values.sort_index(ascending=False),
    ):
        with pytest.raises(
            MultiAspectError, match=r"in different orders.* other\.reindex\(reference\.index\)"
        ):
            rank_correlation(values, series, method)
        assert rank_correlation(values, series.reindex(values.index), method) == expected
    with pytest.raises(MultiAspectError, match=r"only one of them has d, e; pass to_numpy"):
        rank_correlation(values, values.rename({"d": "e"}), method)
    with pytest.raises(MultiAspectError, match="in different orders"):
        rank_correlation(
            values.reset_index(drop=True), values.reset_index(drop=True).sort_values(), method
        )
    # Nothing tells that these are not the same systems in the same order.
    for series in (values.reset_index(drop=True), values.tolist(), values.set_axis([4, 5, 6, 7])):
        assert (
            rank_correlation(values, series, method)
            == rank_correlation(series, values, method)
            == expected
        )
    assert (
        rank_correlation(values.set_axis([1, 2, 3, 4]), values.set_axis([2, 3, 4, 5]), method)
        == expected
    )
