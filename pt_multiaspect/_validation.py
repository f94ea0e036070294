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
        if not (value is None or isinstance(value, str)) or value not in names:
            one_of = "one of " if len(names) > 1 else ""
            raise MultiAspectError(
                f"{name}: expected {one_of}{choices(map(repr, names))}, got {shown(value)}"
            )
        return value

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
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:  # an integer beyond 1.8e308
                if value > 0:
                    number = math.inf
                else:
                    number = -math.inf
            if (low < number if open_low else low <= number) and number < high:
                if number.is_integer():
                    return int(number)
                return number
        least, below = (
            "above" if open_low else "of at least",
            f" and below {high:g}" if high < np.inf else "",
        )
        raise MultiAspectError(
            f"{name}: expected a number {least} {low:g}{below}, got {shown(value)}"
        )

    return parse


def whole(description: str, *, low: int, high: int | None = None) -> Callable[[Any], int | None]:
    """Return a parser that accepts None or whole numbers from `low` to `high`.

    Errors start with `description`.
    """

    def parse(value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= low:
            if high is None or value <= high:
                return int(value)
            raise MultiAspectError(f"{description} from {low} to {high}, got {shown(value)}")
        raise MultiAspectError(f"{description}, at least {low}, got {shown(value)}")

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
        number = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if number and low <= value and (high is None or value <= high):
            return int(value)
        if number and low <= value:
            bound = f"of at most {high}"
        else:
            bound = f"of at least {low}"
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
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise MultiAspectError(f"{name}: expected True or False, got {shown(value)}")

    parse.options = (False, True)  # type: ignore[attr-defined]
    return parse


def proportion(name: str) -> Callable[[Any], float]:
    """Return a parser that accepts a number strictly between 0 and 1; errors start with `name`."""
    return real(name, low=0, high=1, open_low=True)


def fraction(name: str) -> Callable[[Any], float]:
    """Return a parser that accepts a number from 0 to 1; errors start with `name`."""

    def parse(value: Any) -> float:
        if (
            isinstance(value, int | float | np.number)
            and not isinstance(value, bool)
            and 0 <= value <= 1
        ):
            return real(name, low=0)(value)
        raise MultiAspectError(f"{name}: expected a number from 0 to 1, got {shown(value)}")

    return parse


#: The parser of seeds of random numbers.
random_seed = count("seed", low=0, high=None)

#: The parser of cutoffs.
cutoff = whole("cutoff: expected a whole number of ranks", low=1, high=MAX_CUTOFF)
