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
    described = _defined_measure(measure)
    adapter = ADAPTERS.get(type(described))
    if of_criteria:
        stated = getattr(described, "CRITERIA_DESC", "")
    else:
        stated = getattr(adapter, "SHORT_DESC", "")
    stated = stated or getattr(described, "SHORT_DESC", "")
    if not stated or stated.endswith("."):
        return stated
    return f"{stated}."


def details(measure: Any, of_criteria: bool = False) -> str:
    """Return the parameters, the range and the source of a measure in words; see `sentence`."""
    low_is_better = ", lower is better" if getattr(measure, "lower_is_better", False) else ""
    described = _defined_measure(measure)
    ends = getattr(measure, "range", None) or getattr(ADAPTERS.get(type(described)), "RANGE", None)
    known_range = _range_in_words(ends)
    is_original = type(described).__module__.startswith("ir_measures")
    if is_original:
        cited = "ir-measures"
    else:
        cited = getattr(described, "CITATION", "")
    parts = [
        _parameters(described, with_base=not of_criteria),
        f"range {known_range}{low_is_better}" if known_range else "",
        f"source: {cited}" if cited else "",
    ]
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def as_in_paper(measure: Any) -> str:
    """Return how the paper of a measure uses it, from its docstring in plain text, else ''."""
    stated = re.search(
        r"^As in .*?(?=\n\n|\Z)", inspect.getdoc(type(measure)) or "", re.DOTALL | re.MULTILINE
    )
    if stated is None:
        return ""
    return " ".join(stated[0].replace("``", "").split())


def _defined_measure(measure: Any) -> Any:
    """Return the measure to describe: the base of `On`, and the measure that a base adapts."""
    if getattr(measure, "one_aspect", None) is not None:
        measure = measure.bases.one
    return measure.measure if isinstance(measure, Adapter) else measure


def _parameters(described: Any, with_base: bool) -> str:
    """Return the base, other parameters that differ from their defaults, and the cutoff."""
    named = []
    for name, param in described.SUPPORTED_PARAMS.items():
        is_base = name == "base" and with_base and described["base"]
        if name in _STATED_ELSEWHERE or not (name in described.params or is_base):
            continue
        value = described[name]
        if name == "cutoff":
            named.append(
                "only the first rank counts"
                if value == 1
                else f"only the first {value} ranks count"
            )
        else:
            spelled = getattr(param, "spell", lambda spelled: spelled)(value)
            meaning = re.split(r"[;:]|, or ", param.desc)[0]  # without the options and the default
            named.append(f"{name} {_in_words(spelled)} ({meaning})")
    return "; ".join(named)


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


def _in_words(value: object) -> str:
    if isinstance(value, Mapping):
        return choices(f"{name} {_in_words(part)}" for name, part in value.items())
    if value is True:
        return "yes"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
