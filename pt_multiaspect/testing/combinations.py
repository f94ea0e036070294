"""Checks of the combination of a measure's terms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import Bools
from ..measures import Measure
from .worlds import TOLERANCE, Failure, World, equal


def mean_failures(measure: Measure, world: World, seed: int) -> Iterator[Failure]:
    """Check that `combine` increases, and that `slope` is the derivative of a concave, homogeneous function."""
    rng = np.random.default_rng(seed)
    n_terms = len(measure.terms(world.judgments))
    if n_terms < 2:
        return
    shape = (n_terms, 200)
    values, others = rng.uniform(0.05, 1, (2, *shape))
    weights = rng.uniform(0.05, 1, shape)
    weights /= weights.sum(axis=0)
    combined = np.asarray(measure.combine(values, weights), dtype=np.float64)

    def shown(index: int) -> str:
        return f"values {values[:, index].round(3)}, weights {weights[:, index].round(3)}: {combined[index]:.6g}"

    def first_index(wrong: Bools) -> int | None:
        return int(np.argmax(wrong)) if wrong.any() else None

    if combined.shape != (200,):
        yield "`combine` has one value per query", f"the shape is {combined.shape}"
        return
    raised = np.asarray(measure.combine(np.maximum(values, others), weights))
    index = first_index(raised < combined - TOLERANCE) if measure.IS_INCREASING else None
    if index is not None:
        yield "IS_INCREASING: `combine` never falls when a value rises", f"{shown(index)}, then {raised[index]:.6g}"
    slope = measure.slope(values, weights)
    if slope is None:
        return
    slope = np.asarray(slope, dtype=np.float64)
    if slope.shape != shape:
        yield "`slope` has a number per term and query", f"the shape is {slope.shape}, expected {shape}"
        return
    for statement, value, expected in (
        ("`slope`: `combine` is homogeneous, f(x/2) = f(x)/2", 2 * measure.combine(values / 2, weights), combined),
        ("`slope`: slope times value sums to `combine`", (slope * values).sum(axis=0), combined),
    ):
        index = first_index(~equal(np.asarray(value), expected))
        if index is not None:
            yield statement, f"{shown(index)}, but {value[index]:.6g}"
    elsewhere = np.asarray(measure.combine(others, weights), dtype=np.float64)
    plane = (slope * others).sum(axis=0)
    index = first_index(elsewhere > plane + TOLERANCE)
    if index is not None:
        yield (
            "`slope`: `combine` is concave, so that slope times other values is a bound",
            f"{shown(index)}; at {others[:, index].round(3)} {elsewhere[index]:.6g}, above {plane[index]:.6g}",
        )
