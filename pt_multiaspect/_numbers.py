"""Numbers as users give them: checked, read as exact fractions, and printed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, cast

import numpy as np

from .errors import MultiAspectError, choices

__all__ = ["exact", "number", "numbers", "read_json", "spell"]

#: A label whose fraction has a denominator up to this is read as that fraction (1/3, 0.1).
_DENOMINATOR = 10**6


def number(value: object, what: str) -> float:
    """Return `value` as a finite float, an int where it is whole; name `what` if it is none."""
    if isinstance(value, Rational | Real | np.number) and not isinstance(value, bool | np.bool_):
        try:
            number_ = float(cast(float, value))
        except OverflowError:
            raise MultiAspectError(f"{what} must be a finite number below 1.8e308, got a larger integer") from None
        if math.isfinite(number_):
            return int(number_) if number_.is_integer() and abs(number_) < 2**53 else number_
    raise MultiAspectError(f"{what} must be a finite number, not {value!r}")


def read_json(text: str, what: str) -> Any:
    """Parse `text` as JSON, in which no key may occur twice; `what` names it in errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            raise MultiAspectError(f"{what}: a key occurs twice in one JSON object: {choices(k for k, _ in pairs)}")
        return content

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError:
        raise MultiAspectError(f"{what}: the JSON is nested too deeply") from None
    except MultiAspectError:
        raise
    except ValueError as error:  # also an integer of thousands of digits
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        raise MultiAspectError(f"{what}: expected valid JSON, got {shown!r}: {error}") from None


def numbers(values: object, what: str) -> tuple[float, ...]:
    """Return `values` as a tuple of finite numbers."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise MultiAspectError(f"{what} must be a sequence of numbers, not {values!r}")
    return tuple(number(value, f"every one of {what}") for value in values)


def exact(value: float) -> Fraction:
    """Return the rational number a float stands for.

    A float that is the nearest to a fraction of small denominator (1/3, 2/7, 0.1) is read
    as that fraction, any other as the decimal it prints as. Distances between tuples of
    labels are compared exactly on these: in floats 1 - 0.9 and 0.1 differ, and classes of
    equally distant tuples would fall apart.
    """
    simple = Fraction(value).limit_denominator(_DENOMINATOR)
    return simple if float(simple) == value else Fraction(repr(value))


def spell(value: float) -> str:
    """Write a number the short way, 2 rather than 2.0."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
