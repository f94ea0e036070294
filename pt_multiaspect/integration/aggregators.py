"""Aggregators of measures: the value over topics and its direction."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ir_measures import Measure
from ir_measures.measures import MeanAgg


def aggregate_values(measure: Measure | None, values: Sequence[float]) -> float:
    """Return the aggregate of a measure over topics."""
    aggregator = MeanAgg() if measure is None else measure.aggregator()
    for value in values:
        aggregator.add(value)
    result: float = aggregator.result()
    return result


def aggregate_is_mean(measure: Measure | None) -> bool:
    """Return whether the aggregate of a measure is the mean over topics (True if the measure is unknown)."""
    return math.isclose(aggregate_values(measure, [0.25, 0.5]), 0.375)


def lower_is_better(measure: Measure | None) -> bool:
    """Return whether lower values of a measure are better (False if the measure is unknown)."""
    return bool(getattr(measure, "lower_is_better", False))


def lower_aggregate_is_better(measure: Measure | None) -> bool:
    """Return whether lower aggregates over queries are better (False if the measure is unknown)."""
    return bool(getattr(measure, "lower_aggregate_is_better", lower_is_better(measure)))
