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


@pytest.mark.parametrize("number", range(11))
def test_standard_errors_of_the_golden_cases(number: int) -> None:
    """Errors, degrees of freedom, intervals and p-values are those of an independent computation."""
    cases = golden_cases("t")
    assert len(cases) == 11
    given, expected = cases[number]["given"], cases[number]["expected"]
    differences = np.array(given["differences"])
    clusters = Clusters.from_labels(given["clusters"])
    # Differences are 0 if they are rounding errors of values of this size.
    largest = np.array(given.get("scale", np.abs(differences).max()))
    differences = remove_rounding_errors(differences, largest)

    mean = remove_rounding_errors(np.array(differences.mean()), largest)
    error = standard_error(differences, clusters, largest)
    half = half_width(differences, 0.95, clusters, largest)

    found = {
        "n_topics": clusters.n_topics,
        "n_clusters": len(clusters),
        "mean": mean,
        "error": error,
        "freedom": clusters.freedom,
        "low": mean - half,
        "high": mean + half,
        "p": t_levels(mean, error, clusters.freedom),
        "design_effect": design_effect(differences, clusters),
    }
    expected = {name: read_nan(value) for name, value in expected.items()}
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-11, nan_ok=True)


def test_detectable_difference_of_the_golden_case() -> None:
    (case,) = golden_cases("detectable")
    given, expected = case["given"], case["expected"]
    clusters = Clusters.from_labels(given["clusters"])
    deviation = np.sqrt(variance(np.array(given["differences"]), clusters))
    effect = detectable_effect(
        len(clusters), given["power"], given["alpha"], clusters.freedom_ratio
    )
    assert effect * deviation == pytest.approx(expected["detectable"], rel=1e-8)


def test_clusters_needed_of_the_golden_case() -> None:
    """With the deviation of the given differences, and with the upper limit of its 80 % interval."""
    (case,) = golden_cases("needed")
    given, expected = case["given"], case["expected"]
    clusters = Clusters.from_labels(given["clusters"])
    ratio = clusters.freedom_ratio
    deviation = np.sqrt(variance(np.array(given["differences"]), clusters))
    upper_limit = upper_deviation(deviation, len(clusters), 0.8, ratio)
    effects = given["difference"] / np.array([deviation, upper_limit])
    n_needed, n_needed_high = topics_needed(effects, given["power"], given["alpha"], ratio)
    assert n_needed == expected["clusters"]
    assert n_needed_high == expected["clusters, upper 80 % limit"]


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
    """The mean is a regression on a constant, whose CR2 error is defined with matrices of all topics."""
    rng = np.random.default_rng(seed)
    n_clusters = int(rng.integers(2, 12))
    # Most clusters are small, some large; in every third case, all are equally large.
    sizes = np.ceil(rng.pareto(1.0, n_clusters) + 0.1).clip(max=40).astype(int)
    if seed % 3 == 0:
        sizes[:] = sizes.max()
    cluster_of_topic = rng.permutation(np.repeat(np.arange(n_clusters), sizes))
    in_common = rng.normal(0.1, 0.2, n_clusters)[cluster_of_topic]
    values = scale * (in_common + rng.normal(0, 0.2, len(cluster_of_topic)))

    clusters = Clusters.from_labels(cluster_of_topic.tolist())

    error, freedom = regression_on_a_constant(values, cluster_of_topic)
    assert standard_error(values, clusters) == pytest.approx(error, rel=1e-10)
    # Rounding may move the degrees of freedom out of their limits.
    assert clusters.freedom == pytest.approx(np.clip(freedom, 1, n_clusters - 1), rel=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_values_of_several_runs_are_those_of_each(seed: int) -> None:
    """Sums and errors of arrays are those of each row, whether the topics of a cluster are adjacent or not."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.2, (3, 2, 25))  # runs, measures, topics
    labels = rng.integers(6, size=25)
    clusters = Clusters.from_labels(labels.tolist())
    order = np.argsort(clusters.cluster, kind="stable")
    sorted_clusters = clusters.take(order)
    assert sorted_clusters.sizes.tolist() == clusters.sizes.tolist()

    all_errors = standard_error(values, clusters)

    for run, measure in product(range(3), range(2)):
        row = values[run, measure]
        expected_sums = [row[clusters.cluster == cluster].sum() for cluster in range(len(clusters))]
        assert clusters.sums(row) == pytest.approx(expected_sums)
        error = pytest.approx(all_errors[run, measure], rel=1e-12)
        assert standard_error(row, clusters) == error
        assert standard_error(row[order], sorted_clusters) == error


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


def test_comparisons_in_groups_of_the_golden_case() -> None:
    """Groups have their own clusters: those of their topics."""
    (case,) = golden_cases("by")
    given, expected = case["given"], case["expected"]
    clusters, groups = by_qid(given["clusters"]), by_qid(given["groups"])
    frame = long({"base": [0.0] * len(clusters), "new": given["differences"]})
    with errors.silence_warnings():
        table = compare_with_baseline(
            frame, "base", correction=None, by=groups, cluster=clusters
        ).set_index("group")
    assert table.index.tolist() == list(expected)
    for group, values in expected.items():
        row = table.loc[group]
        assert row["difference"] == pytest.approx(values["mean"], rel=1e-9)
        for column in ("low", "high", "p"):
            expected_value = read_nan(values[column])
            assert row[column] == pytest.approx(expected_value, rel=1e-9, nan_ok=True)


def test_means_in_groups_of_the_golden_case() -> None:
    (case,) = golden_cases("by")
    given, expected = case["given"], case["expected"]
    clusters, groups = by_qid(given["clusters"]), by_qid(given["groups"])
    frame = long({"new": given["differences"]})
    with errors.silence_warnings():  # CRP, unlike AP, may be negative
        means = ma.aggregate(frame, ci=0.95, measures={"AP": "CRP"}, by=groups, cluster=clusters)
    table = means.set_index("group")
    for group, values in expected.items():
        _name, mean, low, high = table.loc[group]
        assert mean == pytest.approx(values["mean"], rel=1e-9)
        assert low == pytest.approx(read_nan(values["low"]), rel=1e-9, nan_ok=True)
        assert high == pytest.approx(read_nan(values["high"]), rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("kind", ["geometric mean", "limits"])
def test_aggregates_of_the_golden_cases(kind: str) -> None:
    """The interval of a geometric mean, and one that is limited to the range of AP."""
    geometric, limited = golden_cases("aggregate")
    if kind == "geometric mean":
        assert geometric["given"]["aggregate"] == "exp of the mean"
        given, expected = geometric["given"], geometric["expected"]
        values = np.exp(given["values"]).tolist()
        options: dict[str, Any] = {"mean": "geometric"}
    else:
        given, expected = limited["given"], limited["expected"]
        values = given["values"]
        options = {"measures": {"AP": "AP"}}
    with pytest.warns(ma.MultiAspectWarning, match="degrees of freedom"):
        table = ma.aggregate(
            long({"new": values}), ci=0.95, cluster=by_qid(given["clusters"]), **options
        )
    ((_name, mean, low, high),) = table.to_numpy().tolist()
    assert mean == pytest.approx(expected["value"], rel=1e-9)
    assert low == pytest.approx(expected["low"], rel=1e-9)
    assert high == pytest.approx(expected["high"], rel=1e-9)


def plan_golden_case(clusters: list[str] | None = None, **options: Any) -> Any:
    """Return the plan for the golden case, of 24 topics in 6 clusters of 4, or in other clusters."""
    (case,) = golden_cases("needed")
    given = case["given"]
    frame = long({"base": [0.0] * len(given["differences"]), "new": given["differences"]})
    return detectable_difference(
        frame,
        cluster=by_qid(clusters or given["clusters"]),
        correction=None,
        difference=given["difference"],
        power=given["power"],
        alpha=given["alpha"],
        **options,
    )


def test_planned_clusters_of_the_golden_cases() -> None:
    (detectable,), (needed,) = golden_cases("detectable"), golden_cases("needed")
    assert detectable["given"]["differences"] == needed["given"]["differences"]

    found = plan_golden_case()

    (pair,) = found.pairs.to_dict("records")
    expected = detectable["expected"]["detectable"]
    assert pair["detectable"] == pytest.approx(expected, rel=1e-8)
    assert pair["n_needed"] == needed["expected"]["clusters"]
    assert pair["n_needed_high"] == needed["expected"]["clusters, upper 80 % limit"]
    assert (pair["n_topics"], pair["n_clusters"]) == (24, 6)
    text = " ".join(str(found).split())
    assert "clusters needed" in text
    assert "24 topics in 6 clusters of 4: 5 degrees of freedom; design effect " in text


def test_the_clusters_needed_detect_the_difference() -> None:
    (case,) = golden_cases("needed")
    more = plan_golden_case(n_topics=60)
    (row,) = more.table.to_dict("records")
    assert (row["n_topics"], row["n_clusters"]) == (60, 15)
    assert row["median"] <= case["given"]["difference"]


@pytest.mark.parametrize("n_topics", [62, 4])
def test_planned_topics_are_at_least_two_whole_clusters(n_topics: int) -> None:
    message = "n_topics=: expected a multiple of the size of the clusters, 4"
    with pytest.raises(ma.MultiAspectError, match=message):
        plan_golden_case(n_topics=n_topics)


def test_topics_are_planned_for_clusters_of_one_size() -> None:
    (case,) = golden_cases("needed")
    first_apart = ["a", *case["given"]["clusters"][1:]]
    message = "n_topics=: expected clusters of one size, got sizes from 1 to 4"
    with pytest.raises(ma.MultiAspectError, match=message):
        plan_golden_case(first_apart, n_topics=60)


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


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "tukey"])
@pytest.mark.parametrize("seed", range(5))
def test_resampling_tests_are_those_of_the_sums_over_clusters(seed: int, test: str) -> None:
    """Clusters are resampled as topics whose values are the sums of theirs."""
    frame, clusters = random_world(seed)  # 56 topics in 14 clusters
    of_clusters = frame.assign(qid=frame["qid"].map(clusters))
    sums = of_clusters.groupby(["name", "qid", "measure"], as_index=False).sum()

    found = discriminative_power(frame, test, n_resamples=200, cluster=clusters)

    of_sums = discriminative_power(sums, test, n_resamples=200)
    assert found.pairs["asl"].tolist() == of_sums.pairs["asl"].tolist()
    # Differences are those of the means over topics.
    mean_size = 56 / 14
    required = of_sums.table["required_difference"] / mean_size
    assert found.table["required_difference"].tolist() == pytest.approx(required.tolist())
    of_topics = discriminative_power(frame, test, n_resamples=200)
    differences = of_topics.pairs["difference"].tolist()
    assert found.pairs["difference"].tolist() == pytest.approx(differences)
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
    frame = long({"a": [0.1, 0.2], "b": [0.3, 0.4]})  # on the topics q00 and q01
    frame["conversation"] = ["c0", "c1", "c2", "c1"]
    message = "cluster: expected one cluster per topic, got c0 and c2 for q00"
    with pytest.raises(ma.MultiAspectError, match=message):
        compare_with_baseline(frame, "a", cluster="conversation")


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
    five_clusters = {qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)}
    with pytest.warns(ma.MultiAspectWarning) as caught:
        discriminative_power(FEW, "permutation", n_resamples=20, cluster=five_clusters)
    messages = [str(warning.message) for warning in caught]
    of_few_clusters, of_permutation = messages
    assert "5 clusters" in of_few_clusters
    # There are 2^5 permutations of signs, and two of them are as extreme: 2 / 32 = 0.0625.
    assert of_permutation.startswith(
        "test='permutation': the lowest level of 5 clusters is 0.0625, not below alpha=0.05: use test='t'"
    )


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
