"""Speed as ratios against ir-measures in the same process, and of distance orders in milliseconds.

Run with ``pytest benchmarks -s``. Each figure is the median of several alternating rounds, so that both sides
see the same machine. The limits are loose enough for a loaded machine and tight enough to notice a lost kernel.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import ir_measures
import pytest
from collection import collection
from ir_measures import nDCG

from pt_multiaspect import CAM, MM, NGRE, NLRE, NWCS, TOMA, Aspects, DistanceOrder, uRBP

GRADES = Aspects({"relevance": 2, "understandability": 3, "credibility": 2}, name="benchmark")
MEASURES = [measure(aspects=GRADES) for measure in (TOMA, CAM, MM, uRBP, NLRE, NGRE, NWCS)]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _ratio(
    work: Callable[[], object], yardstick: Callable[[], object], rounds: int = 5
) -> tuple[float, float, float]:
    work(), yardstick()
    pairs = [(_seconds(work), _seconds(yardstick)) for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    return ours / theirs, ours, theirs


@pytest.mark.parametrize("order", ["shuffled", "ranked"])
def test_all_measures_against_one_ndcg_of_ir_measures(order: str) -> None:
    qrels, run = collection()
    if order == "ranked":
        run = run.sort_values(["query_id", "score"], ascending=[True, False], ignore_index=True)
    plain = qrels[["query_id", "doc_id", "relevance"]]
    ratio, ours, theirs = _ratio(
        lambda: ir_measures.calc_aggregate(MEASURES, qrels, run),
        lambda: ir_measures.calc_aggregate([nDCG], plain, run),
    )
    print(
        f"\n1000 x 1000 documents, {order}: seven measures of three aspects {ours:.3f} s, "
        f"ir-measures' nDCG {theirs:.3f} s, ratio {ratio:.3f} (at most 0.333)"
    )
    assert ratio <= 1 / 3


@pytest.mark.parametrize("distance", ["manhattan", "euclidean"])
@pytest.mark.parametrize(("n_aspects", "limit"), [(8, 0.05), (20, 1.0)])
def test_distance_orders_are_built_without_enumerating_tuples(distance: str, n_aspects: int, limit: float) -> None:
    scales = {f"aspect{index}": 4 for index in range(n_aspects)}
    taken = statistics.median(_seconds(lambda: DistanceOrder(scales, distance).n_classes) for _ in range(5))
    classes = DistanceOrder(scales, distance).n_classes
    print(
        f"\n{n_aspects} aspects x 5 grades, {distance}: {classes} classes of {5**n_aspects} tuples "
        f"in {taken * 1000:.2f} ms (at most {limit * 1000:.0f})"
    )
    assert taken < limit
