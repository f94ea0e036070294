"""Topics that belong together: standard errors, tests and intervals of clusters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp
from shared_data import golden

import pt_multiaspect as ma
from pt_multiaspect import errors
from pt_multiaspect.analysis import (
    compare_with_baseline,
    detectable_difference,
    discriminative_power,
)
from pt_multiaspect.evaluation.topic_clusters import read_clusters
from pt_multiaspect.kernels.intervals import (
    detectable_effect,
    half_width,
    topics_needed,
    upper_deviation,
)
from pt_multiaspect.kernels.mean_errors import (
    Clusters,
    design_effect,
    standard_error,
    t_levels,
    variance,
)
from pt_multiaspect.kernels.rounding import remove_rounding_errors

PACKAGE = Path(__file__).resolve().parent.parent / "pt_multiaspect"


def golden_cases(kind: str) -> list[dict[str, Any]]:
    return [case for case in golden("clusters.json")["cases"] if case["kind"] == kind]


def read_nan(value: float | None) -> float:
    return np.nan if value is None else value


def test_standard_errors_of_the_golden_cases() -> None:
    cases = golden_cases("t")
    assert len(cases) == 11
    for case in cases:
        differences, clusters = np.array(case["given"]["differences"]), case["given"]["clusters"]
        largest = np.array(case["given"].get("scale", np.abs(differences).max()))
        differences = remove_rounding_errors(differences, largest)
        mean = remove_rounding_errors(np.array(differences.mean()), largest)
        grouped = Clusters.from_labels(clusters)
        error = standard_error(differences, grouped, largest)
        half = half_width(differences, 0.95, grouped, largest)
        found = {
            "n_topics": grouped.n_topics,
            "n_clusters": len(grouped),
            "mean": mean,
            "error": error,
            "freedom": grouped.freedom,
            "low": mean - half,
            "high": mean + half,
            "p": t_levels(mean, error, grouped.freedom),
            "design_effect": design_effect(differences, grouped),
        }
        expected = {name: read_nan(value) for name, value in case["expected"].items()}
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-11, nan_ok=True), case["name"]


def test_power_of_the_golden_cases() -> None:
    for kind in ("detectable", "needed"):
        (case,) = golden_cases(kind)
        given, expected = case["given"], case["expected"]
        clusters = Clusters.from_labels(given["clusters"])
        deviation = np.sqrt(variance(np.array(given["differences"]), clusters))
        level, ratio = (given["power"], given["alpha"]), clusters.freedom_ratio
        if kind == "detectable":
            found = detectable_effect(len(clusters), *level, ratio) * deviation
            assert found == pytest.approx(expected["detectable"], rel=1e-8)
        else:
            limit = upper_deviation(deviation, len(clusters), 0.8, ratio)
            found = topics_needed(given["difference"] / np.array([deviation, limit]), *level, ratio)
            assert found.tolist() == [expected["clusters"], expected["clusters, upper 80 % limit"]]


@pytest.mark.parametrize("seed", range(10))
def test_one_topic_per_cluster_is_students_t_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.2, (5, int(rng.integers(2, 60))))
    alone = Clusters.from_labels([f"q{topic}" for topic in range(values.shape[1])])
    error = standard_error(values)
    assert (standard_error(values, alone) == error).all()
    assert (half_width(values, 0.9, alone) == half_width(values, 0.9)).all()
    expected = ttest_1samp(values, 0, axis=1)
    assert t_levels(values.mean(axis=1), error, alone.freedom) == pytest.approx(
        expected.pvalue, rel=1e-10
    )


def regression_on_a_constant(values: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """Return the CR2 standard error of the mean and its degrees of freedom, by Bell and McCaffrey's matrices."""
    n_topics = len(values)
    constant = np.ones((n_topics, 1))
    inverse = np.linalg.inv(constant.T @ constant)
    projection = constant @ inverse @ constant.T
    residual_maker = np.eye(n_topics) - projection
    squared_error, columns = 0.0, []
    for label in np.unique(cluster):
        topics = np.flatnonzero(cluster == label)
        eigenvalues, vectors = np.linalg.eigh(residual_maker[np.ix_(topics, topics)])
        adjustment = vectors @ np.diag(eigenvalues**-0.5) @ vectors.T
        weights = adjustment @ constant[topics] @ inverse
        squared_error += ((residual_maker @ values)[topics] @ weights).item() ** 2
        columns.append(residual_maker[:, topics] @ weights)
    products = np.hstack(columns).T @ np.hstack(columns)
    freedom = np.trace(products) ** 2 / np.trace(products @ products)
    return squared_error**0.5, freedom


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(10))
def test_standard_errors_are_those_of_the_matrices_of_a_regression(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.ceil(rng.pareto(1.0, int(rng.integers(2, 12))) + 0.1).clip(max=40).astype(int)
    if seed % 3 == 0:
        sizes[:] = sizes.max()
    cluster = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = scale * (rng.normal(0.1, 0.2, len(sizes))[cluster] + rng.normal(0, 0.2, len(cluster)))
    clusters = Clusters.from_labels(cluster.tolist())
    error, freedom = regression_on_a_constant(values, cluster)
    assert standard_error(values, clusters) == pytest.approx(error, rel=1e-10)
    assert clusters.freedom == pytest.approx(np.clip(freedom, 1, len(sizes) - 1), rel=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_values_of_several_runs_are_those_of_each(seed: int) -> None:
    """Also if the topics of a cluster are apart."""
    rng = np.random.default_rng(seed)
    values, labels = rng.normal(0.1, 0.2, (3, 2, 25)), rng.integers(6, size=25)
    clusters = Clusters.from_labels(labels.tolist())
    order = np.argsort(clusters.cluster, kind="stable")
    assert clusters.take(order).sizes.tolist() == clusters.sizes.tolist()
    errors = standard_error(values, clusters)
    for run, measure in np.ndindex(3, 2):
        own = values[run, measure]
        sums = [own[clusters.cluster == cluster].sum() for cluster in range(len(clusters))]
        assert clusters.sums(own) == pytest.approx(sums)
        assert standard_error(own, clusters) == pytest.approx(errors[run, measure], rel=1e-12)
        assert standard_error(own[order], clusters.take(order)) == pytest.approx(
            errors[run, measure], rel=1e-12
        )


def test_variances_of_values_are_computed_in_one_place() -> None:
    pattern = re.compile(r"\bddof\b")
    files = {
        path.name
        for path in PACKAGE.rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert files == {"mean_errors.py"}


def long(runs: Mapping[str, Sequence[float]], label: str = "AP") -> pd.DataFrame:
    """Return the long frame of values by run, one per topic."""
    rows = [
        (name, f"q{topic:02d}", label, value)
        for name in runs
        for topic, value in enumerate(runs[name])
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def by_qid(names: Sequence[str]) -> dict[str, str]:
    return {f"q{topic:02d}": name for topic, name in enumerate(names)}


def random_world(
    seed: int, n_clusters: int = 14, n_runs: int = 4
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return values of runs by two measures, and the cluster of each topic, of which topics have much in common."""
    rng = np.random.default_rng(seed)
    clusters = np.sort(rng.integers(n_clusters, size=4 * n_clusters))
    clusters[:n_clusters] = np.arange(n_clusters)
    common = rng.normal(0, 0.1, (n_runs, n_clusters))[:, clusters]
    parts = []
    for label in ("AP", "RR"):
        values = 0.5 + common + rng.normal(0, 0.1, common.shape)
        parts.append(long({f"run {run}": values[run] for run in range(n_runs)}, label))
    return pd.concat(parts, ignore_index=True), by_qid([f"c{cluster:02d}" for cluster in clusters])


def test_comparisons_with_a_baseline_of_the_golden_case() -> None:
    (case,) = golden_cases("compare")
    runs, clusters = case["given"]["runs"], by_qid(case["given"]["clusters"])
    frame, baseline = long(runs), next(iter(runs))
    expected = pd.DataFrame(case["expected"])
    with errors.silence_warnings():
        corrected = compare_with_baseline(frame, baseline, cluster=clusters)
        plain = compare_with_baseline(frame, baseline, cluster=clusters, correction=None)
    assert corrected["name"].tolist() == expected["name"].tolist()
    for column in expected.columns.drop(["name", "freedom"]):
        found = corrected if column == "p" else plain
        assert found[column].tolist() == pytest.approx(expected[column].tolist(), rel=1e-9), column


def test_groups_of_the_golden_case() -> None:
    (case,) = golden_cases("by")
    given, expected = case["given"], case["expected"]
    clusters, groups = by_qid(given["clusters"]), by_qid(given["groups"])
    frame = long({"base": [0.0] * len(clusters), "new": given["differences"]})
    options = {"by": groups, "cluster": clusters}
    with errors.silence_warnings():
        found = compare_with_baseline(frame, "base", correction=None, **options).set_index("group")
        means = ma.aggregate(
            frame[frame["name"] == "new"], ci=0.95, measures={"AP": "CRP"}, **options
        )
    means = means.set_index("group").set_axis(["name", "mean", "low", "high"], axis=1)
    assert found.index.tolist() == list(expected)
    for group, row in expected.items():
        values = {name: read_nan(value) for name, value in row.items() if name != "freedom"}
        comparison = found.rename(columns={"difference": "mean"}).loc[group, list(values)]
        assert comparison.tolist() == pytest.approx(list(values.values()), rel=1e-9, nan_ok=True)
        del values["p"]
        assert means.loc[group, list(values)].tolist() == pytest.approx(
            list(values.values()), rel=1e-9, nan_ok=True
        )


def test_aggregates_of_the_golden_cases() -> None:
    geometric, limited = golden_cases("aggregate")
    assert geometric["given"]["aggregate"] == "exp of the mean"
    for case, transform, options in (
        (geometric, np.exp, {"mean": "geometric"}),
        (limited, np.asarray, {"measures": {"AP": "AP"}}),
    ):
        given, expected = case["given"], case["expected"]
        frame = long({"new": transform(given["values"]).tolist()})
        with pytest.warns(ma.MultiAspectWarning, match="degrees of freedom"):
            table = ma.aggregate(frame, ci=0.95, cluster=by_qid(given["clusters"]), **options)
        names = ["value", "low", "high"]
        assert table.iloc[0, 1:].tolist() == pytest.approx(
            [expected[name] for name in names], rel=1e-9
        )


def test_planned_clusters_of_the_golden_cases() -> None:
    (detectable,), (needed,) = golden_cases("detectable"), golden_cases("needed")
    given = needed["given"]
    assert detectable["given"]["differences"] == given["differences"]
    frame = long({"base": [0.0] * len(given["differences"]), "new": given["differences"]})
    options = {
        "cluster": by_qid(given["clusters"]),
        "correction": None,
        "difference": given["difference"],
    }
    found = detectable_difference(frame, power=given["power"], alpha=given["alpha"], **options)
    (pair,) = found.pairs.to_dict("records")
    assert pair["detectable"] == pytest.approx(detectable["expected"]["detectable"], rel=1e-8)
    assert [pair["n_needed"], pair["n_needed_high"]] == list(needed["expected"].values())
    assert (pair["n_topics"], pair["n_clusters"]) == (24, 6)
    text = " ".join(str(found).split())
    assert "clusters needed" in text
    assert "24 topics in 6 clusters of 4: 5 degrees of freedom; design effect " in text
    more = detectable_difference(frame, n_topics=60, **options)
    assert more.table.loc[0, ["n_topics", "n_clusters"]].tolist() == [60, 15]
    assert more.table["median"].item() <= given["difference"]
    for wrong in (62, 4):
        with pytest.raises(
            ma.MultiAspectError,
            match="n_topics=: expected a multiple of the size of the clusters, 4",
        ):
            detectable_difference(frame, n_topics=wrong, **options)
    uneven = options | {"cluster": by_qid(["a", *given["clusters"][1:]])}
    with pytest.raises(
        ma.MultiAspectError, match="n_topics=: expected clusters of one size, got sizes from 1 to 4"
    ):
        detectable_difference(frame, n_topics=60, **uneven)


def test_levels_of_sign_changes_of_the_golden_cases() -> None:
    for case in golden_cases("flips"):
        given, n_resamples = case["given"], 40_000
        clusters, level = by_qid(given["clusters"]), case["expected"]["level"]
        frame = long({"base": [0.0] * len(clusters), "new": given["differences"]})
        options = {"n_resamples": n_resamples, "correction": None, "cluster": clusters}
        with errors.silence_warnings():
            found = compare_with_baseline(frame, "base", "permutation", **options)
        error = np.sqrt(level * (1 - level) / n_resamples)
        assert found["asl"].item() == pytest.approx(level, abs=4 * error)


def test_patterns_of_the_golden_case() -> None:
    (case,) = golden_cases("pattern")
    for (pattern, qids), clusters in zip(
        case["given"]["patterns"], case["expected"]["clusters"], strict=True
    ):
        assert read_clusters(pattern, pd.DataFrame({"qid": qids})) == dict(
            zip(qids, clusters, strict=True)
        )
    for pattern, qids in case["expected"]["errors"]:
        with pytest.raises(ma.MultiAspectError, match="cluster: expected"):
            read_clusters(pattern, pd.DataFrame({"qid": qids}))


@pytest.mark.every(10)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("test", ["t", "bootstrap", "permutation", "tukey"])
def test_one_topic_per_cluster_is_as_without_clusters(seed: int, test: str) -> None:
    frame, clusters = random_world(seed, n_clusters=3)
    alone = {qid: f"c{qid}" for qid in clusters}
    groups = {qid: "odd" if int(qid[1:]) % 2 else "even" for qid in clusters}
    for cluster in (alone, "qid"):
        for by in (None, groups):
            options = {"test": test, "n_resamples": 100, "by": by}
            pd.testing.assert_frame_equal(
                compare_with_baseline(frame, "run 1", cluster=cluster, **options),
                compare_with_baseline(frame, "run 1", **options),
                check_exact=True,
            )
        power = discriminative_power(frame, test, n_resamples=100, cluster=cluster)
        expected = discriminative_power(frame, test, n_resamples=100)
        pd.testing.assert_frame_equal(power.table, expected.table, check_exact=True)
        assert str(power) == str(expected)
        for method in ("t", "bootstrap"):
            found = ma.aggregate(frame, ci=0.9, ci_method=method, cluster=cluster)
            pd.testing.assert_frame_equal(
                found, ma.aggregate(frame, ci=0.9, ci_method=method), check_exact=True
            )
        planned, plan = (
            detectable_difference(frame, difference=0.1, **own)
            for own in ({"cluster": cluster}, {})
        )
        pd.testing.assert_frame_equal(planned.pairs, plan.pairs, check_exact=True)
        assert str(planned) == str(plan)


@pytest.mark.every(15)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("interval", ["mean", "difference"])
def test_one_topic_per_cluster_is_as_without_clusters_in_tables(seed: int, interval: str) -> None:
    frame, clusters = random_world(seed, n_clusters=3)
    groups = {qid: "odd" if int(qid[1:]) % 2 else "even" for qid in clusters}
    options = {"baseline": "run 1", "interval": interval, "notes": "full", "decimals": 12}
    for own in ({}, {"by": groups, "macro": True}):
        expected = ma.systems_table(frame, **options, **own)
        for cluster in ({qid: f"c{qid}" for qid in clusters}, "qid"):
            table = ma.systems_table(frame, cluster=cluster, **options, **own)
            assert str(table) == str(expected)
            assert table.to_html() == expected.to_html()


@pytest.mark.parametrize("seed", range(5))
def test_resampling_tests_are_those_of_the_sums_over_clusters(seed: int) -> None:
    frame, clusters = random_world(seed)
    sums = (
        frame.assign(qid=frame["qid"].map(clusters))
        .groupby(["name", "qid", "measure"], as_index=False)
        .sum()
    )
    mean_size = len(clusters) / len(set(clusters.values()))
    for test in ("bootstrap", "permutation", "tukey"):
        found = discriminative_power(frame, test, n_resamples=200, cluster=clusters)
        expected = discriminative_power(sums, test, n_resamples=200)
        assert found.pairs["asl"].tolist() == expected.pairs["asl"].tolist()
        required = expected.table["required_difference"] / mean_size
        assert found.table["required_difference"].tolist() == pytest.approx(required.tolist())
        plain = discriminative_power(frame, test, n_resamples=200)
        assert found.pairs["difference"].tolist() == pytest.approx(
            plain.pairs["difference"].tolist()
        )
        assert ", 56 topics in 14 clusters." in " ".join(str(found).split())


def test_clusters_are_given_by_a_mapping_a_series_a_column_a_file_or_a_pattern(
    tmp_path: Path,
) -> None:
    frame, clusters = random_world(0)
    file = tmp_path / "clusters.txt"
    file.write_text(
        "".join(f"{qid} {cluster}\n" for qid, cluster in clusters.items()), encoding="utf-8"
    )
    renamed = frame.assign(qid=frame["qid"].map(clusters) + "_" + frame["qid"])
    with_column = frame.assign(topic=frame["qid"].map(clusters))
    expected = compare_with_baseline(frame, "run 0", cluster=clusters)
    for values, cluster in (
        (frame, pd.Series(clusters)),
        (with_column, "topic"),
        (frame, file),
        (frame, str(file)),
        (renamed, r"(c\d+)_.*"),
        (renamed, r"(?:c)(\d+)_q\d\d"),
    ):
        found = compare_with_baseline(values, "run 0", cluster=cluster)
        pd.testing.assert_frame_equal(found, expected)
    # A column precedes a pattern, as "qid" precedes a column of this name.
    odd = with_column.rename(columns={"topic": "(.).*"})
    pd.testing.assert_frame_equal(compare_with_baseline(odd, "run 0", cluster="(.).*"), expected)


FEW, CLUSTERS = random_world(1)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (
            "topic",
            (
                r"cluster: expected 'qid' .*, a column .*, a file .*, a regular expression .*, got "
                r"'topic'"
            ),
        ),
        ("value", r"cluster: expected 'qid' .*, got 'value'"),
        (3, r"cluster: expected 'qid' .*, got 3"),
        (
            r"(q)(\d+)",
            r"cluster: expected a regular expression with one group in parentheses, got 2",
        ),
        (r"\(q", r"cluster: expected a regular expression with one group in parentheses, got 0"),
        (r"(q", r"cluster: '\(q' is no regular expression"),
        (
            r"(q\d)",
            r"cluster: expected a pattern that matches each whole query id, .* no cluster for q00",
        ),
        (r"(x)?q\d\d", r"no cluster for q00"),
        (
            {**CLUSTERS, "q00": None},
            r"cluster: expected a cluster for each topic, got none for q00",
        ),
        (
            dict.fromkeys(list(CLUSTERS)[1:], 1),
            r"cluster: expected a cluster for each topic, got none for q00",
        ),
        ({**CLUSTERS, "other": "c0"}, r"cluster: expected topics that have values .*, got other"),
        (
            dict.fromkeys(CLUSTERS, "all"),
            r"cluster=: expected at least two clusters, got one of all 56 topics",
        ),
    ],
)
def test_wrong_clusters_are_errors(cluster: Any, message: str) -> None:
    for compute in (
        lambda: compare_with_baseline(FEW, "run 0", cluster=cluster),
        lambda: ma.aggregate(FEW, ci=0.95, cluster=cluster),
        lambda: detectable_difference(FEW, cluster=cluster),
        lambda: discriminative_power(FEW, "t", cluster=cluster),
    ):
        with pytest.raises(ma.MultiAspectError, match=message):
            compute()


def test_a_run_with_topics_of_one_cluster_is_named() -> None:
    frame = FEW[(FEW["name"] != "run 1") | (FEW["qid"].map(CLUSTERS) == CLUSTERS["q55"])]
    message = "no interval for AP of run 1: cluster=: expected at least two clusters, got one"
    with errors.silence_warnings(), pytest.raises(ma.MultiAspectError, match=message):
        ma.aggregate(frame, ci=0.95, cluster=CLUSTERS)


def test_a_topic_in_two_clusters_is_an_error() -> None:
    frame = FEW.assign(topic=[f"c{row}" for row in range(len(FEW))])
    with pytest.raises(
        ma.MultiAspectError, match="cluster: expected one cluster per topic, got c0 and c56 for q00"
    ):
        compare_with_baseline(frame, "run 0", cluster="topic")


def test_clusters_where_nothing_depends_on_them_are_refused() -> None:
    with pytest.raises(
        ma.MultiAspectError, match="cluster=: clusters affect intervals only: give ci="
    ):
        ma.aggregate(FEW, cluster=CLUSTERS)
    with pytest.raises(
        ma.MultiAspectError, match="ci_method='bootstrap' is not defined for clusters"
    ):
        ma.aggregate(FEW, ci=0.95, ci_method="bootstrap", cluster=CLUSTERS)


def test_few_degrees_of_freedom_are_a_warning() -> None:
    clusters = {qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)}
    for compute in (
        lambda: compare_with_baseline(FEW, "run 0", cluster=clusters),
        lambda: ma.aggregate(FEW, ci=0.95, cluster=clusters),
        lambda: detectable_difference(FEW, cluster=clusters),
        lambda: discriminative_power(FEW, "t", cluster=clusters),
    ):
        with pytest.warns(
            ma.MultiAspectWarning,
            match=r"^56 topics in 5 clusters leave [34](\.\d)? degrees of freedom",
        ):
            compute()


def test_a_permutation_of_few_clusters_that_cannot_be_significant_is_a_warning() -> None:
    clusters = {qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)}
    message = r"test='permutation': the lowest level of 5 clusters is 0.0625, not below alpha=0.05: use test='t'"
    with pytest.warns(ma.MultiAspectWarning) as warned:
        discriminative_power(FEW, "permutation", n_resamples=20, cluster=clusters)
    assert [str(warning.message).startswith(message) for warning in warned] == [False, True]


def test_wins_and_losses_count_topics() -> None:
    found = compare_with_baseline(FEW, "run 0", cluster=CLUSTERS)
    assert (found[["wins", "losses", "ties"]].sum(axis=1) == len(CLUSTERS)).all()
    plain = compare_with_baseline(FEW, "run 0")
    assert found["difference"].tolist() == plain["difference"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh", None])
def test_intervals_and_marks_agree_with_clusters(correction: str | None) -> None:
    for seed, by in product(range(20), (None, "half")):
        frame, clusters = random_world(seed)
        frame["half"] = np.where(frame["qid"] < "q28", "first", "second")
        with errors.silence_warnings():
            found = compare_with_baseline(
                frame, ["run 0", "run 1"], correction=correction, by=by, cluster=clusters
            )
        excludes_zero = (found["low"] > 0) | (found["high"] < 0)
        assert not (excludes_zero & ~found["significant"]).any()
