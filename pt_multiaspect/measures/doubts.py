"""Doubts about what a measure is asked to evaluate, which are warnings or errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..aspects.aspects import Aspects
from ..aspects.parameter import AspectSpec
from ..bases import Base
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices, warn_once

if TYPE_CHECKING:
    from .measure import Measure

__all__ = ["check_reachable", "check_units", "warn_of_views"]


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


def check_reachable(evaluated: Iterable[tuple[str, Base]], spec: AspectSpec) -> None:
    """Raise if no declared grade of any aspect reaches the ``rel`` of its base: the measure would always be 0.

    Parameters
    ----------
    evaluated : iterable of (str, Base)
        The aspects and their bases.
    spec : Aspects, tuple of str or None
        Scales that are not declared are not checked.
    """
    if not isinstance(spec, Aspects):
        return
    pairs = [(spec[name], name, base) for name, base in evaluated]
    known = [(aspect.scale, name, base) for aspect, name, base in pairs if aspect.grades and base.rel is not None]
    if len(known) == len(pairs) and not any(scale.reaches(base.rel or 0) for scale, _, base in known):
        found = choices(f"{base.text} on {name} with the grades {scale}" for scale, name, base in known)
        raise MultiAspectError(
            f"expected a rel that a grade reaches, got {found}: no document would be relevant. Choose a lower rel, "
            "or none, which counts from the threshold of each aspect"
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
