"""Weights of aspects, and which aspects have one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..collection import AspectView
from ..orders.tuple_order import weights_of


def normalised_weights(weights: Mapping[str, float] | None, names: Sequence[str]) -> list[float]:
    """Return the weights of all aspects, normalised to sum to 1; equal ones by default."""
    aspect_weights = weights_of(weights, names)
    sum_overflows = np.isinf(sum(aspect_weights))
    if sum_overflows:
        largest = max(aspect_weights)
        aspect_weights = [weight / largest for weight in aspect_weights]
    total = sum(aspect_weights)
    return [weight / total for weight in aspect_weights]


def weighted_views(
    weights: Mapping[str, float] | None, views: Sequence[AspectView]
) -> list[tuple[AspectView, float]]:
    """Return the aspects that have a positive weight, and their weights, which sum to 1."""
    names = [view.name for view in views]
    normalised = normalised_weights(weights, names)
    weighted = zip(views, normalised, strict=True)
    return [(view, weight) for view, weight in weighted if weight > 0]


def has_weight(weights: Mapping[str, float] | None, view: AspectView) -> bool:
    """Return whether an aspect has a positive weight; True if there are no weights."""
    if weights is None:
        return True
    return weights[view.name] > 0
