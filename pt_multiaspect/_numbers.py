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
    is_bool = isinstance(value, bool | np.bool_)
    is_number = isinstance(value, Rational | Real | np.number) and not is_bool
    if not is_number:
        raise MultiAspectError(f"{what}: expected a finite number, got {shown(value)}")
    try:
        as_float = float(cast(float, value))
    except OverflowError:
        raise MultiAspectError(
            f"{what}: expected a finite number below 1.8e308, got a larger integer"
        ) from None
    if not math.isfinite(as_float):
        raise MultiAspectError(f"{what}: expected a finite number, got {shown(value)}")
    # Beyond 2**53, floats are not exact integers.
    if as_float.is_integer() and abs(as_float) < 2**53:
        return int(as_float)
    return as_float


def read_json(text: str, what: str) -> Any:
    """Parse `text` as JSON without repeated keys and lone surrogates; errors name it as `what`."""

    def object_with_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return a JSON object; raise an error if it repeats a key."""
        content = dict(pairs)
        if len(content) < len(pairs):
            keys = choices(key for key, _ in pairs)
            raise MultiAspectError(f"{what}: expected each key once in a JSON object, got {keys}")
        return content

    try:
        content = json.loads(text, object_pairs_hook=object_with_distinct_keys)
        _check_surrogates(text, content, what)
        return content
    except RecursionError:
        raise MultiAspectError(f"{what}: expected valid JSON, got one nested too deeply") from None
    except MultiAspectError:
        # These are ValueErrors as well, but need no explanation.
        raise
    except ValueError as error:
        # Invalid JSON, or an integer of thousands of digits.
        raise MultiAspectError(f"{what}: expected valid JSON, got {shown(text)}: {error}") from None


def _check_surrogates(text: str, content: Any, what: str) -> None:
    r"""Raise an error if the parsed `content` of a JSON `text` has half of a character.

    JSON can write a character as two escapes, such as ``"\ud83d\ude00"``. One of them alone is
    half of a character, which UTF-8 cannot represent.
    """
    has_surrogate_escape = _SURROGATE.search(text) is not None
    if not has_surrogate_escape:
        return
    # The parser has joined pairs: what is left of them cannot be encoded.
    without_escapes = json.dumps(content, ensure_ascii=False)
    with refuse_surrogates(what):
        without_escapes.encode()


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
    printed = repr(value)
    return Fraction(printed)


def spell(value: float) -> str:
    """Format a number briefly: 2, not 2.0; in full if six digits do not represent it."""
    six_digits = f"{value:g}"
    if float(six_digits) == value:
        return six_digits
    return repr(float(value))  # floats of NumPy would print their type


def spell_all(values: Iterable[float]) -> str:
    """Format numbers briefly, separated by commas."""
    return ", ".join(map(spell, values))
