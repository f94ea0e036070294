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
    cases = [case for case in golden("clusters.json")["cases"] if case["kind"] == "macro"]
    assert len(cases) == 4
    for case in cases:
        given, expected = case["given"], case["expected"]
        groups = by_qid(given["groups"])
        cluster = None if given["clusters"] is None else by_qid(given["clusters"])
        frame = long({"base": [0.0] * len(groups), "new": given["differences"]})
        options: dict[str, Any] = {"by": groups, "macro": True, "cluster": cluster}
        with errors.silence_warnings():
            found = compare_with_baseline(frame, "base", correction=None, **options)
            means = ma.aggregate(frame[frame["name"] == "new"], {"AP": "CRP"}, ci=0.95, **options)
        test = found.set_index("group").loc["macro"]
        row = [read_nan(expected[column]) for column in ("mean", "low", "high", "p")]
        # Quantiles of older SciPy are less exact.
        tolerance: dict[str, Any] = {"rel": 1e-9, "abs": 1e-11, "nan_ok": True}
        tested = test[["difference", "low", "high", "p"]].tolist()
        assert tested == pytest.approx(row, **tolerance)
        assert means.iloc[-1, 2:].tolist() == pytest.approx(row[:3], **tolerance)


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
    found = compare_with_baseline(FRAME, "bm25", by=COLLECTIONS, macro=True, correction=None)
    row = found[(found["group"] == "macro") & (found["name"] == "dense")].iloc[0]
    by_group = [differences(collection=group) for group in "abc"]
    variances = np.array([own.var(ddof=1) / len(own) for own in by_group]) / 9
    error = math.sqrt(variances.sum())
    freedom = variances.sum() ** 2 / sum(
        v**2 / (len(own) - 1) for v, own in zip(variances, by_group, strict=True)
    )
    mean = np.mean([own.mean() for own in by_group])
    assert row["difference"] == pytest.approx(mean)
    assert row["p"] == pytest.approx(2 * stats.t.sf(mean / error, freedom))
    half = stats.t.isf(0.025, freedom) * error
    assert row[["low", "high"]].tolist() == pytest.approx([mean - half, mean + half])


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
    with pytest.warns(ma.MultiAspectWarning) as warned:
        found = compare_with_baseline(
            FRAME, "bm25", by=COLLECTIONS, cluster=COLLECTIONS, macro=True
        )
    few_groups, few_freedom = sorted((str(warning.message) for warning in warned), reverse=True)
    assert few_groups.startswith("macro=: a new draw of groups is estimated from 3, ")
    assert few_freedom.startswith("12 topics in 3 clusters leave 1.9 degrees of freedom")
    rows = found[found["group"] == "macro"]
    for _, row in rows.iterrows():
        means = [differences(row["name"], group).mean() for group in "abc"]
        assert row["asl"] == pytest.approx(stats.ttest_1samp(means, 0).pvalue)
    assert rows["p"].tolist() == pytest.approx(holm(rows["asl"].tolist()))


def test_a_cluster_of_several_groups_is_drawn_as_one() -> None:
    rng = np.random.default_rng(0)
    names = [group for group in range(8) for _ in range(3)]
    frame = long({"base": [0.0] * 24, "new": rng.normal(0.1, 0.1, 24).tolist()})
    groups, clusters = (
        by_qid([f"g{name}" for name in names]),
        by_qid([f"c{min(name, 5)}" for name in names]),
    )
    with errors.silence_warnings():
        found = compare_with_baseline(frame, "base", by=groups, cluster=clusters, macro=True)
    new = frame[frame["name"] == "new"]
    means = new.groupby(new["qid"].map(groups))["value"].mean().tolist()
    of_means = long({"base": [0.0] * 8, "new": means})
    with errors.silence_warnings():
        expected = compare_with_baseline(
            of_means, "base", cluster=by_qid([f"c{min(n, 5)}" for n in range(8)])
        )
    columns = ["difference", "low", "high", "p"]
    macro = found[found["group"] == "macro"]
    assert macro[columns].iloc[0].tolist() == pytest.approx(expected[columns].iloc[0].tolist())


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": None}, "macro=: expected groups of topics, got none; give by="),
        ({"by": {**COLLECTIONS, "q00": "macro"}}, "by: the group 'macro' has the name of the row of macro means"),
        ({"cluster": by_qid([*"xxxx", *"xxx", *"yyzzz"])}, "macro=: expected clusters that all lie within groups"),
        ({"cluster": by_qid([*"xxxy", *"yyy", *"zzzzz"])}, "the cluster y has .* and the group a has"),
        ({"macro": "yes"}, "macro: expected True or False"),
    ],
)  # fmt: skip
def test_wrong_options_are_errors(options: dict[str, Any], message: str) -> None:
    options = {"by": COLLECTIONS, "macro": True, **options}
    for compute in (
        lambda: ma.aggregate(FRAME, ci=0.95, **options),
        lambda: compare_with_baseline(FRAME, "bm25", **options),
    ):
        with pytest.raises(MultiAspectError, match=message), errors.silence_warnings():
            compute()


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
