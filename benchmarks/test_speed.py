"""Milliseconds to build distance orders. Run with ``pytest benchmarks -s``."""

from __future__ import annotations

import statistics

import pytest

from pt_multiaspect import DistanceOrder

from .measuring import seconds


@pytest.mark.parametrize("distance", ["manhattan", "euclidean"])
@pytest.mark.parametrize(("n_aspects", "limit"), [(8, 0.05), (20, 1.0)])
def test_distance_orders_are_built_without_enumerating_tuples(
    distance: str, n_aspects: int, limit: float
) -> None:
    scales = {f"aspect{index}": 4 for index in range(n_aspects)}
    taken = statistics.median(
        seconds(lambda: DistanceOrder(scales, distance).n_classes) for _ in range(5)
    )
    classes = DistanceOrder(scales, distance).n_classes
    print(
        f"\n{n_aspects} aspects x 5 grades, {distance}: {classes} classes of {5**n_aspects} tuples "
        f"in {taken * 1000:.2f} ms (at most {limit * 1000:.0f})"
    )
    assert taken < limit
