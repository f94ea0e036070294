"""Parsers of parameter values, which return the canonical form or raise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .errors import MultiAspectError, choices, shown

#: The maximum rank of 32-bit back ends.
MAX_CUTOFF = 2**31 - 1


def choice(name: str, *names: str | None) -> Callable[[Any], str | None]:
    """Return a parser that accepts one of `names`.

    Parameters
    ----------
    name : str
        The parameter, for errors.
    *names : str or None
        The values.

    Returns
    -------
    callable
        Returns its argument, or raises MultiAspectError. Its attribute ``options`` contains
        `names`, so that the variants of a measure need no list of them.

    Examples
    --------
    >>> choice("empty", "zero", "drop")("drop")
    'drop'
    """

    def parse(value: Any) -> str | None:
        """Return a value that is one of `names`."""
        # Other types may not be comparable to text.
        if (value is None or isinstance(value, str)) and value in names:
            return value
        expected = choices(map(repr, names))
        if len(names) > 1:
            expected = f"one of {expected}"
        raise MultiAspectError(f"{name}: expected {expected}, got {shown(value)}")

    parse.options = names  # type: ignore[attr-defined]
    return parse


def real(
    name: str, *, low: float, high: float = math.inf, open_low: bool = False
) -> Callable[[Any], float]:
    """Return a parser that accepts a number from `low` up to but not including `high`.

    Parameters
    ----------
    name : str
        The parameter, for errors.
    low : float
        The minimum.
    high : float, default inf
        The bound that values must be below.
    open_low : bool, default False
        Whether values must be above `low` rather than at least `low`.

    Returns
    -------
    callable
        Returns the number as an int or a float, or raises MultiAspectError.

    Examples
    --------
    >>> real("p", low=0, high=1)(0.5)
    0.5
    """

    def parse(value: Any) -> float:
        """Return a number from `low` up to but not including `high`."""
        if _is_number(value):
            number = _to_float(value)
            is_above_minimum = number >= low
            if open_low:
                is_above_minimum = number > low
            if is_above_minimum and number < high:
                if number.is_integer():
                    return int(number)
                return number
        minimum = f"of at least {low:g}"
        if open_low:
            minimum = f"above {low:g}"
        maximum = ""
        if high < math.inf:
            maximum = f" and below {high:g}"
        raise MultiAspectError(f"{name}: expected a number {minimum}{maximum}, got {shown(value)}")

    return parse


def _is_number(value: object) -> bool:
    """Return whether a value is a number, of Python or NumPy, and no bool."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    """Return whether a value is an integer, of Python or NumPy, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _to_float(value: Any) -> float:
    """Return a number as a float, integers beyond 1.8e308 as infinity."""
    try:
        return float(value)
    except OverflowError:
        if value > 0:
            return math.inf
        return -math.inf


def whole(description: str, *, low: int, high: int | None = None) -> Callable[[Any], int | None]:
    """Return a parser that accepts None or whole numbers from `low` to `high`.

    Errors start with `description`.
    """

    def parse(value: Any) -> int | None:
        """Return None or a whole number from `low` to `high`."""
        if value is None:
            return None
        if not _is_integer(value) or value < low:
            raise MultiAspectError(f"{description}, at least {low}, got {shown(value)}")
        if high is not None and value > high:
            raise MultiAspectError(f"{description} from {low} to {high}, got {shown(value)}")
        return int(value)

    return parse


def count(name: str, *, low: int = 1, high: int | None = MAX_CUTOFF) -> Callable[[Any], int]:
    """Return a parser that accepts a whole number from `low` up to `high`.

    Parameters
    ----------
    name : str
        The parameter, for errors.
    low : int, default 1
        The minimum.
    high : int or None, default 2**31 - 1
        The maximum; None for no maximum.

    Returns
    -------
    callable
        Returns an int, or raises MultiAspectError.

    Examples
    --------
    >>> count("depth")(10)
    10
    """

    def parse(value: Any) -> int:
        """Return a whole number from `low` to `high`."""
        bound = f"of at least {low}"
        if _is_integer(value) and value >= low:
            if high is None or value <= high:
                return int(value)
            bound = f"of at most {high}"
        raise MultiAspectError(f"{name}: expected a whole number {bound}, got {shown(value)}")

    return parse


def boolean(name: str) -> Callable[[Any], bool]:
    """Return a parser that accepts True or False.

    Parameters
    ----------
    name : str
        The parameter, for errors.

    Returns
    -------
    callable
        Returns a bool, or raises MultiAspectError.

    Examples
    --------
    >>> boolean("normalized")(True)
    True
    """

    def parse(value: Any) -> bool:
        """Return True or False."""
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise MultiAspectError(f"{name}: expected True or False, got {shown(value)}")

    # Descriptions of a parameter list its options, which they read here.
    parse.options = (False, True)  # type: ignore[attr-defined]
    return parse


def proportion(name: str) -> Callable[[Any], float]:
    """Return a parser that accepts a number strictly between 0 and 1; errors start with `name`."""
    return real(name, low=0, high=1, open_low=True)


def fraction(name: str) -> Callable[[Any], float]:
    """Return a parser that accepts a number from 0 to 1; errors start with `name`."""
    parse_number = real(name, low=0)

    def parse(value: Any) -> float:
        """Return a number from 0 to 1."""
        if _is_number(value) and 0 <= value <= 1:
            return parse_number(value)
        raise MultiAspectError(f"{name}: expected a number from 0 to 1, got {shown(value)}")

    return parse


#: The parser of seeds of random numbers.
random_seed = count("seed", low=0, high=None)

#: The parser of cutoffs.
cutoff = whole("cutoff: expected a whole number of ranks", low=1, high=MAX_CUTOFF)
