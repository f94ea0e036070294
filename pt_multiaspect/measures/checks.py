"""Checks of what a measure is asked to evaluate, which warn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..bases import Base
from ..collection.views import AspectView
from ..errors import choices, warn_once

if TYPE_CHECKING:
    from .measure import Measure

__all__ = ["check_units", "warn_of_views"]


def warn_of_views(measure: Measure, views: Sequence[AspectView]) -> None:
    """Warn of aspects that nobody judged, and of a multi-aspect measure left with one aspect.

    An aspect that is selected or declared by name is meant to be the only one.
    """
    for view in views:
        view.check_judged()
    several = "aspects" in measure.SUPPORTED_PARAMS and "aspect" not in measure.SUPPORTED_PARAMS
    if several and measure.spec is None and len(views) == 1:
        name = views[0].name
        warn_once(
            f"{measure.NAME} combines several aspects, but the qrels have one numeric label column, {name}, so "
            "only this aspect is evaluated. Check the columns of the qrels; if one aspect is meant, select it, as "
            f"in {measure(aspects=[name])}",
            key=f"one aspect: {name}",
        )


def check_units(name: str, bases: Iterable[Base]) -> None:
    """Warn if bases with values on different scales are averaged, as the one with larger values dominates.

    Bases whose values have no maximum are alike only if they are the same measure.
    """
    given = list(dict.fromkeys(bases))
    unbounded = [base for base in given if not np.isfinite(base.RANGE).all()]
    if unbounded and len({base.NAME for base in given}) > 1:
        warn_once(
            f"{name} averages bases on different scales, {choices(base.text for base in given)}: the values of "
            f"{choices(base.text for base in unbounded)} have no maximum and may dominate. Choose bases with the "
            "same range, such as nDCG and P, or weights= that balance them",
            key=f"units: {choices(base.text for base in given)}",
        )
