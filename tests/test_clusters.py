"""Topics that belong together: standard errors, tests and intervals of clusters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from shared_data import golden

from pt_multiaspect.kernels.intervals import detectable_effect, half_width, topics_needed, upper_deviation
from pt_multiaspect.kernels.mean_errors import Clusters, design_effect, standard_error, t_levels, variance
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
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-15, nan_ok=True), case["name"]


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
    assert t_levels(values.mean(axis=1), error, alone.freedom) == pytest.approx(expected.pvalue, rel=1e-10)


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
        assert standard_error(own[order], clusters.take(order)) == pytest.approx(errors[run, measure], rel=1e-12)


def test_variances_of_values_are_computed_in_one_place() -> None:
    pattern = re.compile(r"\bddof\b")
    files = {path.name for path in PACKAGE.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))}
    assert files == {"mean_errors.py"}
