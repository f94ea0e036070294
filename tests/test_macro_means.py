"""Macro means, in which groups of topics count equally: `macro=` and `--macro`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference import holm
from scipy import stats
from shared_data import golden
from test_clusters import by_qid, long, read_nan

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, errors
from pt_multiaspect.analysis import compare_with_baseline

#: Three collections of 4, 3 and 5 topics, with the values of three runs.
COLLECTIONS = by_qid([*"aaaa", *"bbb", *"ccccc"])
SCORES = {
    "bm25": [0.2, 0.4, 0.1, 0.35, 0.3, 0.9, 0.6, 0.5, 0.2, 0.1, 0.3, 0.35],
    "dense": [0.5, 0.6, 0.1, 0.25, 0.35, 0.8, 0.7, 0.65, 0.5, 0.2, 0.4, 0.3],
    "rerank": [0.6, 0.65, 0.3, 0.45, 0.4, 0.95, 0.8, 0.7, 0.45, 0.35, 0.5, 0.4],
}
FRAME = long(SCORES)
#: Two clusters in each collection.
WITHIN = by_qid(["a1", "a1", "a2", "a2", "b1", "b2", "b2", "c1", "c1", "c2", "c2", "c2"])


def differences(name: str = "dense", collection: str | None = None) -> np.ndarray:
    chosen = np.array([collection in (None, group) for group in COLLECTIONS.values()])
    return (np.array(SCORES[name]) - np.array(SCORES["bm25"]))[chosen]


def test_the_golden_cases() -> None:
    """The mean, interval and p-value of differences between two runs, whose groups count equally."""
    cases = [case for case in golden("clusters.json")["cases"] if case["kind"] == "macro"]
    assert len(cases) == 4
    # Quantiles of older SciPy are less exact.
    tolerance: dict[str, Any] = {"rel": 1e-9, "abs": 1e-11, "nan_ok": True}
    for case in cases:
        given = case["given"]
        expected = {name: read_nan(value) for name, value in case["expected"].items()}
        groups = by_qid(given["groups"])
        clusters = None if given["clusters"] is None else by_qid(given["clusters"])
        frame = long({"base": [0.0] * len(groups), "new": given["differences"]})
        options: dict[str, Any] = {"by": groups, "macro": True, "cluster": clusters}

        with errors.silence_warnings():
            tests = compare_with_baseline(frame, "base", correction=None, **options)
        test = tests.set_index("group").loc["macro"]
        assert test["difference"] == pytest.approx(expected["mean"], **tolerance)
        assert test["low"] == pytest.approx(expected["low"], **tolerance)
        assert test["high"] == pytest.approx(expected["high"], **tolerance)
        assert test["p"] == pytest.approx(expected["p"], **tolerance)

        # The values of the new run are the differences, as those of the other are 0. They may be
        # negative and above 1: CRP has no range to which intervals are cut.
        new = frame[frame["name"] == "new"]
        with errors.silence_warnings():
            means = ma.aggregate(new, {"AP": "CRP"}, ci=0.95, **options)
        macro = means.set_index("group").loc["macro"]
        assert macro["AP"] == pytest.approx(expected["mean"], **tolerance)
        assert macro["AP 95% low"] == pytest.approx(expected["low"], **tolerance)
        assert macro["AP 95% high"] == pytest.approx(expected["high"], **tolerance)


def test_rows_of_macro_means_follow_those_of_all_topics() -> None:
    table = ma.aggregate(FRAME, by=COLLECTIONS, macro=True)
    plain = ma.aggregate(FRAME, by=COLLECTIONS)
    pd.testing.assert_frame_equal(table.iloc[: len(plain)], plain)
    rows = table.iloc[len(plain) :]
    assert rows["group"].tolist() == ["macro"] * 3
    assert rows["name"].tolist() == list(SCORES)
    of_groups = plain[plain["group"] != "all"].groupby("name")["AP"].mean()
    assert rows["AP"].tolist() == pytest.approx(of_groups[list(SCORES)].tolist(), rel=1e-12)


def test_other_means_are_those_of_the_same_kind_over_groups() -> None:
    for mean, of_groups in (("geometric", stats.gmean), ("harmonic", stats.hmean)):
        table = ma.aggregate(FRAME, by=COLLECTIONS, macro=True, mean=mean, ci=0.9).set_index(
            ["group", "name"]
        )
        for name in SCORES:
            groups = [table.loc[(group, name), "AP"] for group in "abc"]
            value, low, high = table.loc[("macro", name)]
            assert value == pytest.approx(of_groups(groups))
            assert low < value < high


def test_for_these_groups_the_interval_is_welchs() -> None:
    """The variances of the means of the groups add up, with Welch's degrees of freedom."""
    tests = compare_with_baseline(FRAME, "bm25", by=COLLECTIONS, macro=True, correction=None)
    macro = tests[tests["group"] == "macro"].set_index("name").loc["dense"]

    groups = [differences(collection=group) for group in "abc"]
    mean = np.mean([group.mean() for group in groups])
    # Each mean of a group weighs 1/3, and its variance 1/9.
    variances = [group.var(ddof=1) / len(group) / 9 for group in groups]
    standard_error = math.sqrt(sum(variances))
    parts_of_freedom = [
        variance**2 / (len(group) - 1) for variance, group in zip(variances, groups, strict=True)
    ]
    degrees_of_freedom = sum(variances) ** 2 / sum(parts_of_freedom)
    half_width = stats.t.isf(0.025, degrees_of_freedom) * standard_error
    assert macro["difference"] == pytest.approx(mean)
    assert macro["low"] == pytest.approx(mean - half_width)
    assert macro["high"] == pytest.approx(mean + half_width)
    one_sided = stats.t.sf(mean / standard_error, degrees_of_freedom)
    assert macro["p"] == pytest.approx(2 * one_sided)


def test_clusters_within_groups_and_single_topics_ask_for_these_groups() -> None:
    options: dict[str, Any] = {"by": COLLECTIONS, "macro": True}
    plain = compare_with_baseline(FRAME, "bm25", **options)
    pd.testing.assert_frame_equal(
        compare_with_baseline(FRAME, "bm25", cluster="qid", **options), plain
    )
    alone = {qid: f"cluster {qid}" for qid in COLLECTIONS}
    pd.testing.assert_frame_equal(
        compare_with_baseline(FRAME, "bm25", cluster=alone, **options), plain
    )
    with errors.silence_warnings():
        clustered = compare_with_baseline(FRAME, "bm25", cluster=WITHIN, **options)
    assert clustered["difference"].tolist() == plain["difference"].tolist()
    macro = clustered["group"] == "macro"
    assert not np.isclose(clustered["p"][macro], plain["p"][macro]).any()


def test_the_same_groups_as_clusters_ask_for_a_new_draw() -> None:
    """Groups as clusters are drawn at random: a t-test on their three means, with warnings on so few."""
    with pytest.warns(ma.MultiAspectWarning) as caught:
        tests = compare_with_baseline(
            FRAME, "bm25", by=COLLECTIONS, cluster=COLLECTIONS, macro=True
        )
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    few_groups = "macro=: a new draw of groups is estimated from 3, "
    assert any(message.startswith(few_groups) for message in messages)
    little_freedom = "12 topics in 3 clusters leave 1.9 degrees of freedom"
    assert any(message.startswith(little_freedom) for message in messages)

    macro = tests[tests["group"] == "macro"]
    for row in macro.itertuples():
        means = [differences(row.name, group).mean() for group in "abc"]
        assert row.asl == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert macro["p"].tolist() == pytest.approx(holm(macro["asl"].tolist()))


def test_a_cluster_of_several_groups_is_drawn_as_one() -> None:
    """Eight groups of three topics, of which the last three are one cluster.

    The result is that of one topic per group, with the mean of the group as value.
    """
    cluster_of_group = {
        "g0": "c0", "g1": "c1", "g2": "c2", "g3": "c3", "g4": "c4",
        "g5": "c5", "g6": "c5", "g7": "c5",
    }  # fmt: skip
    group_of_topic = [group for group in cluster_of_group for _ in range(3)]
    cluster_of_topic = [cluster_of_group[group] for group in group_of_topic]
    values = np.random.default_rng(0).normal(0.1, 0.1, 24)
    frame = long({"base": [0.0] * 24, "new": values.tolist()})

    with errors.silence_warnings():
        tests = compare_with_baseline(
            frame,
            "base",
            by=by_qid(group_of_topic),
            cluster=by_qid(cluster_of_topic),
            macro=True,
        )
    macro = tests[tests["group"] == "macro"].iloc[0]

    means_of_groups = values.reshape(8, 3).mean(axis=1)
    one_topic_per_group = long({"base": [0.0] * 8, "new": means_of_groups.tolist()})
    with errors.silence_warnings():
        expected = compare_with_baseline(
            one_topic_per_group, "base", cluster=by_qid(list(cluster_of_group.values()))
        ).iloc[0]
    for column in ("difference", "low", "high", "p"):
        assert macro[column] == pytest.approx(expected[column])


def test_macro_means_are_a_family_of_their_own() -> None:
    found = compare_with_baseline(FRAME, "bm25", by=COLLECTIONS, macro=True)
    for rows in (found[found["group"] == "macro"], found[found["group"] == "all"]):
        assert rows["p"].tolist() == pytest.approx(holm(rows["asl"].tolist()))
    groups = found[~found["group"].isin(["macro", "all"])]
    assert groups["p"].tolist() == pytest.approx(holm(groups["asl"].tolist()))
    plain = compare_with_baseline(FRAME, "bm25", by=COLLECTIONS)
    pd.testing.assert_frame_equal(found.iloc[: len(plain)], plain)
    assert (
        found["wins"] + found["losses"] + found["ties"] == found["group"].map(len_of_group)
    ).all()


def len_of_group(group: str) -> int:
    return sum(group in (own, "all", "macro") for own in COLLECTIONS.values())


def test_a_group_of_one_topic_leaves_the_mean() -> None:
    groups = {**COLLECTIONS, "q00": "alone"}
    table = ma.aggregate(FRAME, by=groups, macro=True, ci=0.95)
    macro = table[table["group"] == "macro"]
    assert macro["AP"].notna().all()
    assert macro[["AP 95% low", "AP 95% high"]].isna().all(axis=None)
    found = compare_with_baseline(FRAME, "bm25", by=groups, macro=True)
    row = found[found["group"] == "macro"]
    assert row["difference"].notna().all()
    assert row[["low", "high", "asl", "p"]].isna().all(axis=None)
    assert not row["significant"].any()


def test_a_measure_without_values_in_a_group_has_no_macro_mean() -> None:
    fewer = FRAME[FRAME["qid"].map(COLLECTIONS) != "b"].assign(measure="RR")
    both = pd.concat([FRAME, fewer], ignore_index=True)
    table = ma.aggregate(both, by=COLLECTIONS, macro=True).set_index("group")
    assert table.loc["macro", "AP"].notna().all()
    assert table.loc["macro", "RR"].isna().all()
    found = compare_with_baseline(both, "bm25", by=COLLECTIONS, macro=True)
    assert found[found["group"] == "macro"]["measure"].unique().tolist() == ["AP"]


def topics_of(a: list[str], b: list[str], c: list[str]) -> dict[str, str]:
    """Clusters by topic, of the 4, 3 and 5 topics of the collections a, b and c."""
    return by_qid([*a, *b, *c])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"by": None}, "macro=: expected groups of topics, got none; give by=", id="no groups"
        ),
        pytest.param(
            {"by": {**COLLECTIONS, "q00": "macro"}},
            "by: the group 'macro' has the name of the row of macro means",
            id="a group called macro",
        ),
        pytest.param(
            {"cluster": topics_of(a=["x"] * 4, b=["x"] * 3, c=["y", "y", "z", "z", "z"])},
            "macro=: expected clusters that all lie within groups",
            id="x has two groups, c has two clusters",
        ),
        pytest.param(
            {"cluster": topics_of(a=["x", "x", "x", "y"], b=["y"] * 3, c=["z"] * 5)},
            "the cluster y has .* and the group a has",
            id="y has topics of two groups, a has topics of two clusters",
        ),
        pytest.param({"macro": "yes"}, "macro: expected True or False", id="no bool"),
    ],
)
@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(lambda **options: ma.aggregate(FRAME, ci=0.95, **options), id="aggregate"),
        pytest.param(lambda **options: compare_with_baseline(FRAME, "bm25", **options), id="tests"),
    ],
)
def test_wrong_options_are_errors(compute: Any, options: dict[str, Any], message: str) -> None:
    options = {"by": COLLECTIONS, "macro": True, **options}
    with pytest.raises(MultiAspectError, match=message), errors.silence_warnings():
        compute(**options)


def test_what_has_no_macro_mean_is_refused() -> None:
    options: dict[str, Any] = {"by": COLLECTIONS, "macro": True}
    for test in ("bootstrap", "permutation", "tukey"):
        with pytest.raises(
            MultiAspectError, match=f"test='{test}' is not defined for macro means: use test='t'"
        ):
            compare_with_baseline(FRAME, "bm25", test, **options)
    with pytest.raises(
        MultiAspectError, match="ci_method='bootstrap' is not defined for macro means"
    ):
        ma.aggregate(FRAME, ci=0.9, ci_method="bootstrap", **options)
    with pytest.raises(
        MultiAspectError, match="macro= gives all groups the same weight: omit weights= and over="
    ):
        ma.aggregate(FRAME, weights=dict.fromkeys(COLLECTIONS, 1.0), **options)
    with pytest.raises(
        MultiAspectError, match="macro= gives all groups the same weight: omit weights= and over="
    ):
        ma.aggregate(
            pd.concat([FRAME.assign(seed=seed) for seed in (1, 2)]), over="seed", **options
        )
    counts = FRAME.assign(measure="NumRet")
    for compute in (
        lambda: ma.aggregate(counts, **options),
        lambda: compare_with_baseline(counts, "bm25", **options),
    ):
        with pytest.raises(
            MultiAspectError, match="macro=: NumRet is a sum over topics, not a mean"
        ):
            compute()
