"""Definitions of measures in words: what they compute, their parameters, range and source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..bases.adapters import ADAPTERS, Adapter
from ..errors import choices

#: Parameters that are stated elsewhere: scales in a table, the aspect of `On` beside its base.
_STATED_ELSEWHERE = ("aspects", "aspect")


def sentence(measure: Any, of_criteria: bool = False) -> str:
    """Return what a measure computes, in one sentence.

    Parameters
    ----------
    measure : Measure or Base
        A measure of this package or of ir-measures, or a base.
    of_criteria : bool, default False
        Whether the values combine criteria of answers, which have no ranking and no base.

    Returns
    -------
    str
        The sentence that its class states, for `On` that of its base; '' if there is none.
    """
    defined = _defined_measure(measure)
    stated = _stated_sentence(defined, of_criteria)
    # Classes of users and of ir-measures need not end it with a full stop.
    if not stated or stated.endswith("."):
        return stated
    return f"{stated}."


def _stated_sentence(defined: Any, of_criteria: bool) -> str:
    """Return what the class of a measure states, or what is stated in its place; '' if nothing is.

    Some classes have another sentence for the criteria of answers. This package has its own
    sentences for measures of ir-measures, in their adapters.
    """
    if of_criteria:
        special: str = getattr(defined, "CRITERIA_DESC", "")
    else:
        adapter = ADAPTERS.get(type(defined))
        special = getattr(adapter, "SHORT_DESC", "")
    if special:
        return special
    own: str = getattr(defined, "SHORT_DESC", "")
    return own


def details(measure: Any, of_criteria: bool = False) -> str:
    """Return the parameters, the range and the source of a measure in words; see `sentence`."""
    defined = _defined_measure(measure)
    sentences: list[str] = []
    parameters = _parameters(defined, with_base=not of_criteria)
    if parameters:
        capital = parameters[0].upper()
        sentences.append(f"{capital}{parameters[1:]}.")
    known_range = _range_and_direction(measure, defined)
    if known_range:
        sentences.append(f"Range {known_range}.")
    source = _source(defined)
    if source:
        sentences.append(f"Source: {source}.")
    return " ".join(sentences)


def as_in_paper(measure: Any) -> str:
    """Return how the paper of a measure uses it, in plain text; '' if it is not stated.

    It is the paragraph of the docstring that begins with "As in".
    """
    docstring = inspect.getdoc(type(measure)) or ""
    for paragraph in docstring.split("\n\n"):
        lines = paragraph.splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith("As in ")]
        if starts:
            words = " ".join(lines[starts[0] :]).split()
            return " ".join(words).replace("``", "")
    return ""


def _defined_measure(measure: Any) -> Any:
    """Return the measure whose definition describes a measure.

    For `On`, which evaluates its base on one aspect, it is the base.
    """
    defined = measure
    is_on_one_aspect = getattr(measure, "one_aspect", None) is not None
    if is_on_one_aspect:
        defined = measure.bases.one
    # A base of this package may stand for a measure of ir-measures, which has the definition.
    if isinstance(defined, Adapter):
        return defined.measure
    return defined


def _source(defined: Any) -> str:
    """Return the publication of a measure of this package, or ir-measures; '' if unknown."""
    is_original = type(defined).__module__.startswith("ir_measures")
    if is_original:
        return "ir-measures"
    citation: str = getattr(defined, "CITATION", "")
    return citation


def _parameters(defined: Any, with_base: bool) -> str:
    """Return the base, other parameters that differ from their defaults, and the cutoff."""
    stated: list[str] = []
    for name, param in defined.SUPPORTED_PARAMS.items():
        if name in _STATED_ELSEWHERE:
            continue
        is_shown_base = name == "base" and with_base and defined["base"]
        if name in defined.params or is_shown_base:
            stated.append(_parameter_in_words(name, param, defined[name]))
    return "; ".join(stated)


def _parameter_in_words(name: str, param: Any, value: object) -> str:
    """Return a parameter with its value and meaning, as in ``p 0.8 (persistence)``."""
    if name == "cutoff" and value == 1:
        return "only the first rank counts"
    if name == "cutoff":
        return f"only the first {value} ranks count"
    spelled = value
    if hasattr(param, "spell"):  # parameters of ir-measures have no such method
        spelled = param.spell(value)
    spelled_words = _value_in_words(spelled)
    # The description goes on with the options and the default.
    meaning = re.split(r"[;:]|, or ", param.desc)[0]
    return f"{name} {spelled_words} ({meaning})"


def _range_and_direction(measure: Any, defined: Any) -> str:
    """Return the range in words, and whether lower is better; '' if the range is unknown.

    Measures of this package know their range. That of a measure of ir-measures, `defined`, is known
    to its adapter in this package.
    """
    ends: tuple[float, float] | None = getattr(measure, "range", None)
    if ends is None:
        adapter = ADAPTERS.get(type(defined))
        ends = getattr(adapter, "RANGE", None)
    known_range = _range_in_words(ends)
    lower_is_better = getattr(measure, "lower_is_better", False)
    if known_range and lower_is_better:
        return f"{known_range}, lower is better"
    return known_range


def _range_in_words(ends: tuple[float, float] | None) -> str:
    """Return a range in words, '' if it is unknown."""
    if ends is None:
        return ""
    low, high = ends
    if np.isinf(low) and np.isinf(high):
        return "any number"
    if np.isinf(low):
        return f"at most {high:g}"
    if np.isinf(high):
        return f"{low:g} or more"
    return f"{low:g} to {high:g}"


def _value_in_words(value: object) -> str:
    """Return the value of a parameter in words, as in ``yes`` or ``relevance 2 and effort 1``."""
    if isinstance(value, Mapping):
        parts: list[str] = []
        for name, part in value.items():
            words = _value_in_words(part)
            parts.append(f"{name} {words}")
        return choices(parts)
    if value is True:
        return "yes"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
