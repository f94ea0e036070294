"""Aggregates of measures over topics, and the direction of measures."""

from __future__ import annotations

from collections.abc import Sequence

from ir_measures import Measure
from ir_measures.measures import MeanAgg


def aggregate_values(measure: Measure | None, values: Sequence[float]) -> float:
    """Return the aggregate of a measure over topics."""
    if measure is None:
        aggregator = MeanAgg()
    else:
        aggregator = measure.aggregator()
    for value in values:
        aggregator.add(value)
    result: float = aggregator.result()
    return result


def aggregate_is_mean(measure: Measure | None) -> bool:
    """Return whether a measure, or None if it is unknown, is averaged over topics: None is."""
    return measure is None or isinstance(measure.aggregator(), MeanAgg)


def aggregate_is_sum(measure: Measure | None) -> bool:
    """Return whether the aggregate of a measure is the sum over topics, as of NumRet."""
    return aggregate_values(measure, [1.0, 1.0]) == 2


def lower_is_better(measure: Measure | None) -> bool:
    """Return whether lower values of a measure are better (False if the measure is unknown)."""
    return bool(getattr(measure, "lower_is_better", False))
