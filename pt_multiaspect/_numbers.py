"""Numbers given by users: checked, read as exact fractions, and printed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, cast

import numpy as np

from .errors import MultiAspectError, choices, refuse_surrogates, shown

#: The maximum denominator of the fractions that labels are read as (1/3, 0.1).
_DENOMINATOR = 10**6

#: Escapes in JSON of surrogates, which are valid in pairs only.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def number(value: object, what: str) -> float:
    """Return `value` as a finite float, or as an int if it is whole; errors name it as `what`."""
    if isinstance(value, Rational | Real | np.number) and not isinstance(value, bool | np.bool_):
        try:
            number_ = float(cast(float, value))
        except OverflowError:
            raise MultiAspectError(
                f"{what}: expected a finite number below 1.8e308, got a larger integer"
            ) from None
        if math.isfinite(number_):
            if number_.is_integer() and abs(number_) < 2**53:
                return int(number_)
            return number_
    raise MultiAspectError(f"{what}: expected a finite number, got {shown(value)}")


def read_json(text: str, what: str) -> Any:
    """Parse `text` as JSON without repeated keys and lone surrogates; errors name it as `what`."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            raise MultiAspectError(
                f"{what}: expected each key once in a JSON object, got "
                f"{choices(k for k, _ in pairs)}"
            )
        return content

    try:
        content = json.loads(text, object_pairs_hook=unique)
        if _SURROGATE.search(text):
            with refuse_surrogates(what):
                json.dumps(content, ensure_ascii=False).encode()
        return content
    except RecursionError:
        raise MultiAspectError(f"{what}: expected valid JSON, got one nested too deeply") from None
    except MultiAspectError:
        raise
    except ValueError as error:  # also an integer of thousands of digits
        raise MultiAspectError(f"{what}: expected valid JSON, got {shown(text)}: {error}") from None


def numbers(values: object, what: str) -> tuple[float, ...]:
    """Return `values` as a tuple of finite numbers."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise MultiAspectError(f"{what}: expected a sequence of numbers, got {shown(values)}")
    return tuple(number(value, what) for value in values)


def exact(value: float) -> Fraction:
    """Return the rational number that a float represents.

    A float that is the closest to a fraction with a small denominator (1/3, 2/7, 0.1) is read as
    that fraction, any other as the decimal number that it is printed as. Distances between label
    tuples are compared exactly on these fractions: as floats, 1 - 0.9 and 0.1 differ, which would
    split classes of equal distance.
    """
    simple = Fraction(value).limit_denominator(_DENOMINATOR)
    if float(simple) == value:
        return simple
    return Fraction(repr(value))


def spell(value: float) -> str:
    """Format a number briefly: 2, not 2.0."""
    if float(f"{value:g}") == value:
        return f"{value:g}"
    return repr(float(value))  # NumPy's own floats would print their type


def spell_all(values: Iterable[float]) -> str:
    """Format numbers briefly, separated by commas."""
    return ", ".join(map(spell, values))
