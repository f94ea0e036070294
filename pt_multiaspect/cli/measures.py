"""The command ``measures``."""

from __future__ import annotations

import inspect
import re
from textwrap import fill
from typing import Any

import click
import ir_measures

from ..bases.strings import UnknownMeasureError
from ..errors import MultiAspectError
from ..measures import ALL, Param
from ..measures.definitions import as_in_paper, details, sentence
from ..suites import suite
from ..suites.catalogue import NOT_OFFERED, SUITES, requires_aspects
from ..tables.citations import find_by_source
from .options import complete_measure, option
from .summaries import NAME
from .verb import verb

#: The aspects in the help of suites that apply to any aspects.
EXAMPLE_ASPECTS = {"relevance": 2, "credibility": 2}

#: How every DOI begins, also in an address.
_DOI = re.compile(r"\b10\.\d{4,}/")

#: Options are not broken across lines.
_KEEP: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


@verb(
    """
    Examples:
      pt-multiaspect measures
      pt-multiaspect measures TOMA
      pt-multiaspect measures zuccon
      pt-multiaspect measures --suites
      pt-multiaspect measures --suites trec-misinfo-2021
    """,
    option("--suites", is_flag=True, help="List the suites of measures, or show the suite NAME."),
    click.Argument(["words"], metavar="[NAME]", nargs=-1, shell_complete=complete_measure),
)
def measures(words: tuple[str, ...], suites: bool) -> str:
    """List the measures, or show the help of one.

    Measures of this package are listed with their parameters. NAME may also be the authors, words
    of the title or the DOI of a paper, whose measures are listed.
    """
    name = " ".join(words)
    if suites:
        if name:
            return _suite_help(name)
        return _suite_overview()
    if name:
        return _measure_help(name)
    paragraphs = [_summary(measure) for measure in ALL]
    paragraphs.append("All measures of ir-measures can be used as well, also as bases.")
    return "\n\n".join(paragraphs)


def _suite_overview() -> str:
    """Return a list of the suites, and the reasons why some tracks have none."""
    width = max(len(name) for name in SUITES)
    lines = []
    for name, entry in SUITES.items():
        line = name.ljust(width) + "  " + entry["listed"]
        if requires_aspects(name):
            line += " (requires --aspects)"
        lines.append(line)
    lines += ["", "There is no suite for:"]
    for name, reason in NOT_OFFERED.items():
        lines.append(fill(f"{name}: {reason}", width=80, subsequent_indent="    ", **_KEEP))
    return "\n".join(lines)


def _suite_help(name: str) -> str:
    """Return the description of a suite, with example aspects if it requires aspects."""
    aspects = None
    if requires_aspects(name):
        aspects = EXAMPLE_ASPECTS
    return suite(name, aspects=aspects).description


def _measure_help(name: str) -> str:
    """Return the parameters of a measure and its documentation, or the measures of a paper."""
    measure = ir_measures.measures.registry.get(name)
    if measure is None:
        return _measures_of_source(name)
    is_of_package = hasattr(measure, "CITATION")
    if is_of_package:
        summary = _summary(measure)
    else:
        summary = _brief(measure)
    about = fill(details(measure), width=80, initial_indent="    ", subsequent_indent="    ")
    docstring = inspect.getdoc(type(measure))
    return f"{summary}\n\n{about}\n\n{docstring}"


def _measures_of_source(text: str) -> str:
    """Return the measures of papers with these words, one paragraph each."""
    measures = find_by_source(text)
    if not measures:
        if _DOI.search(text):
            raise MultiAspectError(
                f"no measure has a paper with the DOI {text}; search by an author or words of "
                "the title"
            )
        raise UnknownMeasureError(text)
    paragraphs = [_brief(measure) + _as_in_paper(measure) for measure in measures]
    first = measures[0]
    paragraphs.append(f"'{NAME} measures {first.NAME}' shows the parameters of a measure.")
    return "\n\n".join(paragraphs)


def _as_in_paper(measure: Any) -> str:
    """Return the options of the paper, on further lines; nothing for measures of ir-measures."""
    text = as_in_paper(measure)
    if not text:
        return ""
    return "\n" + fill(text, width=80, initial_indent="    ", subsequent_indent="    ", **_KEEP)


def _brief(measure: Any) -> str:
    """Return the name of a measure, what it computes and its source."""
    if not hasattr(measure, "CITATION"):
        text = f"{measure.NAME}, a measure of ir-measures: {sentence(measure)}"
        return fill(text, width=80, subsequent_indent="    ")
    name = fill(f"{measure.NAME}  {measure.SHORT_DESC}", width=80, subsequent_indent="    ")
    source = fill(
        f"({measure.CITATION})", width=80, initial_indent="    ", subsequent_indent="    "
    )
    return f"{name}\n{source}"


def _summary(measure: Any) -> str:
    """Return the name of a measure, what it computes, its source and its parameters."""
    lines = [_brief(measure)]
    for name, param in measure.SUPPORTED_PARAMS.items():
        text = _parameter(name, param)
        lines.append(fill(text, width=80, initial_indent="    ", subsequent_indent="        "))
    return "\n".join(lines)


def _parameter(name: str, param: Param) -> str:
    """Return a parameter of a measure with its default and what it is."""
    if name == "cutoff":
        return "@k  ranking cutoff"
    if param.required:
        value = "... (required)"
    else:
        value = repr(param.spell(param.default))
    return f"{name}={value}  {param.desc}"
