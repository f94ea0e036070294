"""Scales declared for measures that declare none."""

from __future__ import annotations

from collections.abc import Mapping

from ..aspects.aspects import Aspects
from ..aspects.parameter import AspectSpec
from ..errors import MultiAspectError, choices
from .measure import Measure


def declare(measure: Measure, spec: AspectSpec, option: str = "aspects") -> Measure:
    """Return a measure that evaluates the aspects of `spec`, unless it declares its own.

    Parameters
    ----------
    measure : Measure
        The measure. Single-aspect measures use the scale of relevance.
    spec : Aspects, tuple of str or None
        The scales, or the names of the aspects.
    option : str, default 'aspects'
        The name of `spec` in messages.

    Returns
    -------
    Measure

    Raises
    ------
    MultiAspectError
        If the measure selects an aspect that is not declared.
    """
    if spec is None or measure.params.get("order") is not None:
        return measure
    if not isinstance(spec, Aspects):
        takes = not measure.SINGLE_ASPECT and {"aspects", "aspect"} & set(measure.SUPPORTED_PARAMS) == {"aspects"}
        return measure(aspects=spec) if takes and measure["aspects"] is None else measure
    if measure.SINGLE_ASPECT:
        return measure.on("relevance", spec) if "relevance" in spec else measure
    if "aspects" not in measure.SUPPORTED_PARAMS or isinstance(measure["aspects"], Mapping):
        return measure
    names = measure["aspects"]
    if names is None:
        return measure(aspects=spec)
    unknown = [name for name in names if name not in spec]
    if unknown:
        raise MultiAspectError(
            f"{measure}: {option} does not declare {choices(unknown)}; it declares {choices(spec)}"
        )
    return measure(aspects={name: spec[name] for name in names})
