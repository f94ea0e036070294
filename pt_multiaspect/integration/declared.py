"""Scales declared for all measures that declare none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures

from ..aspects import Aspect, Aspects, AspectSpec
from ..errors import MultiAspectError, choices, warn_once
from ..measures import CAM, MM, TOMA, On
from .provider import supports


def with_aspects(
    measures: Mapping[str, ir_measures.Measure],
    aspects: AspectSpec,
    judged: Sequence[str],
    option: str = "aspects",
) -> dict[str, ir_measures.Measure]:
    """Let the measures that declare no scales use `aspects`.

    Parameters
    ----------
    measures : mapping of str to Measure
        The measures by label.
    aspects : Aspects, tuple of str or None
        The scales, or names of columns. Single-aspect measures of this package use the scale of
        relevance.
    judged : sequence of str
        The aspects of the judgments.
    option : str, default 'aspects'
        The name of `aspects` in messages.

    Returns
    -------
    dict of str to Measure

    Raises
    ------
    MultiAspectError
        If the judgments lack a declared aspect, or a measure names an aspect that is not declared.

    Warns
    -----
    MultiAspectWarning
        If an aspect of the judgments is not declared, or a measure of ir-measures cannot use the
        declared scale.
    """
    if aspects is None:
        return dict(measures)
    check_aspects(aspects, judged, option)
    declared: dict[str, ir_measures.Measure] = {}
    of_ir_measures = []
    for label, measure in measures.items():
        if supports(measure):
            declared[label] = measure.declare(aspects, option)
        else:
            declared[label] = measure
            of_ir_measures.append(label)
    # A tuple only names columns, and has no scales.
    if isinstance(aspects, tuple) or not of_ir_measures:
        return declared
    relevance = aspects.get("relevance")
    if relevance is not None and not _has_grades_only(relevance):
        warn_once(
            f"{choices(of_ir_measures)}: computed on the plain labels of relevance, without the "
            f"gains, threshold or codes that {option} declares; use On(base=...) where these matter"
        )
    return declared


def default_measures(aspects: Sequence[str]) -> dict[str, ir_measures.Measure]:
    """Return the measures, by label, that are reported of some aspects if none are given."""
    if len(aspects) == 1:
        aspect = aspects[0]
        return {"AP": On(aspect=aspect, base="AP"), "RR": On(aspect=aspect, base="RR")}
    measures: dict[str, ir_measures.Measure] = {}
    if "relevance" in aspects:
        measures["TOMA-gated@10"] = TOMA(gate="relevance") @ 10
    else:
        measures["TOMA@10"] = TOMA @ 10
    measures["CAM@10"] = CAM @ 10
    measures["MM@10"] = MM @ 10
    return measures


def _has_grades_only(aspect: Aspect) -> bool:
    """Return whether only grades are declared, and higher grades are better."""
    return aspect.greater_is_better and aspect == Aspect(grades=aspect.grades)


def check_aspects(
    aspects: Aspects | tuple[str, ...], judged: Sequence[str], option: str = "aspects"
) -> None:
    """Check that the declared aspects are those of the judgments.

    Parameters
    ----------
    aspects : Aspects or tuple of str
        The scales, or the names of some or all columns.
    judged : sequence of str
        The aspects of the judgments.
    option : str, default 'aspects'
        The name of `aspects` in messages.

    Raises
    ------
    MultiAspectError
        If the judgments lack an aspect.

    Warns
    -----
    MultiAspectWarning
        If an aspect of the judgments has no scale while others have.
    """
    unknown = [name for name in aspects if name not in judged]
    if unknown:
        raise MultiAspectError(
            f"{option} declares {choices(unknown)}, but the qrels have {choices(judged)}; use the "
            "same names"
        )
    ignored = [name for name in judged if name not in aspects]
    if ignored and isinstance(aspects, Aspects):
        warn_once(
            f"{option} does not declare {choices(ignored)}, which measures therefore ignore; "
            "declare all aspects",
            key=f"not declared: {choices(ignored)}",
        )
