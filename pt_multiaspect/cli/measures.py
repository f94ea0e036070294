"""The command ``measures``."""

from __future__ import annotations

import inspect
from textwrap import fill
from typing import Any

import click
import ir_measures

from ..bases.strings import UnknownMeasureError
from ..measures import ALL, Param
from ..measures.definitions import details, sentence
from ..suites import suite
from ..suites.catalogue import NOT_OFFERED, SUITES, requires_aspects
from .options import complete_measure, option
from .verb import verb

#: The aspects in the help of suites that apply to any aspects.
EXAMPLE_ASPECTS = {"relevance": 2, "credibility": 2}

#: Options are not broken across lines.
_KEEP: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@verb(
    """
    Examples:
      pt-multiaspect measures
      pt-multiaspect measures TOMA
      pt-multiaspect measures --suites
      pt-multiaspect measures --suites trec-misinfo-2021
    """,
    option("--suites", is_flag=True, help="List the suites of measures, or show the suite NAME."),
    click.Argument(["name"], required=False, shell_complete=complete_measure),
)
def measures(name: str | None, suites: bool) -> str:
    """List the measures of this package with their parameters, or show the help of the measure NAME."""
    if suites:
        return _suite_overview() if name is None else _suite_help(name)
    if name is None:
        return "\n\n".join([*map(_summary, ALL), "All measures of ir-measures can be used as well, also as bases."])
    return _measure_help(name)


def _suite_overview() -> str:
    """Return a list of the suites, and the reasons why some tracks have none."""
    width = max(map(len, SUITES))
    lines = []
    for name, entry in SUITES.items():
        required = " (requires --aspects)" if requires_aspects(name) else ""
        lines.append(f"{name:<{width}}  {entry['listed']}{required}")
    lines += ["", "There is no suite for:"]
    for name, reason in NOT_OFFERED.items():
        lines.append(fill(f"{name}: {reason}", width=80, subsequent_indent="    ", **_KEEP))
    return "\n".join(lines)


def _suite_help(name: str) -> str:
    """Return the description of a suite, with example aspects if it requires aspects."""
    aspects = EXAMPLE_ASPECTS if requires_aspects(name) else None
    return suite(name, aspects=aspects).description


def _measure_help(name: str) -> str:
    """Return the parameters of a measure and its documentation."""
    measure = ir_measures.measures.registry.get(name)
    if measure is None:
        raise UnknownMeasureError(name)
    if hasattr(measure, "CITATION"):
        listed = _summary(measure)
    else:
        listed = fill(f"{name}, a measure of ir-measures: {sentence(measure)}", width=80, subsequent_indent="    ")
    about = fill(details(measure), width=80, initial_indent="    ", subsequent_indent="    ")
    return f"{listed}\n\n{about}\n\n{inspect.getdoc(type(measure))}"


def _summary(measure: Any) -> str:
    parameters = [
        fill(_parameter(name, param), width=80, initial_indent="    ", subsequent_indent="        ")
        for name, param in measure.SUPPORTED_PARAMS.items()
    ]
    name = fill(f"{measure.NAME}  {measure.SHORT_DESC}", width=80, subsequent_indent="    ")
    source = fill(f"({measure.CITATION})", width=80, initial_indent="    ", subsequent_indent="    ")
    return "\n".join([name, source, *parameters])


def _parameter(name: str, param: Param) -> str:
    if name == "cutoff":
        return "@k  ranking cutoff"
    value = "... (required)" if param.required else repr(param.spell(param.default))
    return f"{name}={value}  {param.desc}"
