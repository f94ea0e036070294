"""Distances from the best label tuple: the built-in ones by name, and those that users register."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import Floats
from ..errors import MultiAspectError, choices, in_shell, shown
from .tuple_order import MAX_TUPLES, TOLERANCE

_NAMED_DISTANCES = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}
_EXPONENTS = {name: exponent for exponent, name in _NAMED_DISTANCES.items()}

Distance = Callable[[Floats], Floats]
"""A function from gaps to the best tuple to distances.

Gaps have the shape (n_tuples, n_aspects), distances the shape (n_tuples,).
"""

_FUNCTIONS: dict[str, Distance] = {}


def is_distance(name: str) -> bool:
    """Return whether a distance of this name exists."""
    return name in _EXPONENTS or name in _FUNCTIONS


def exponent_of(distance: str | float) -> float | None:
    """Return the exponent of a Minkowski distance; None for registered functions.

    That of the Chebyshev distance is infinite.
    """
    if isinstance(distance, str):
        if distance in _EXPONENTS:
            return float(_EXPONENTS[distance])
        return None
    return float(distance)


class RegisteredDistance(str):
    """The name of a registered distance, with the function of the time the name was parsed.

    A measure keeps its function if the name is registered again, also in other processes.
    """

    function: Distance

    def __new__(cls, name: str, function: Distance) -> RegisteredDistance:
        """Return the name with its function."""
        named = super().__new__(cls, name)
        named.function = function
        return named

    def __eq__(self, other: object) -> bool:
        same_name = str.__eq__(self, other)
        if isinstance(other, RegisteredDistance):
            return same_name and self.function == other.function
        return same_name

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (str(self), self.function)

    def __deepcopy__(self, memo: object) -> RegisteredDistance:
        return self


def _restore(name: str, function: Distance) -> RegisteredDistance:
    """Register the name in another process, unless it is already registered there."""
    _FUNCTIONS.setdefault(name, function)
    return RegisteredDistance(name, function)


def register_distance(name: str) -> Callable[[Distance], Distance]:
    """Register a user-defined distance for ``TOMA(distance=name)``. To be used as a decorator.

    Parameters
    ----------
    name : str
        Name of the distance: letters, digits, ``_`` and ``-``. If a name is registered again, it
        refers to the new function; measures created earlier keep theirs. The names of built-in
        distances cannot be used.

    Returns
    -------
    callable
        A decorator for a function that takes the gaps to the best tuple, a float array of shape
        (n_tuples, n_aspects) with values ≥ 0 (in [0, 1] on equal axes, multiplied by the weights),
        and returns the distances, a float array of shape (n_tuples,). The distance must be
        non-decreasing in every gap. This is checked on all tuples (at most a million) when the
        scales are known.
        Distances that differ by at most 1e-13 times the maximum count as equal.

    Raises
    ------
    MultiAspectError
        If the name is not an identifier or is the name of a built-in distance.

    Notes
    -----
    `pt_multiaspect.testing.check_distance` checks a distance on scales of several lengths. Measures
    are sent to other processes with the function. To pickle them into a file, define it at the top
    level of a module.

    References
    ----------
    Maistro et al., CIKM 2021, Eq. 1 (consistency with the partial order).

    Examples
    --------
    >>> from pt_multiaspect import TOMA, DistanceOrder, register_distance
    >>> @register_distance("relevance-first")
    ... def relevance_first(gaps):
    ...     return 10 * gaps[:, 0] + gaps[:, 1:].sum(axis=1)
    >>> print(TOMA(distance="relevance-first") @ 10)
    TOMA(distance='relevance-first')@10
    >>> order = DistanceOrder({"relevance": 1, "credibility": 2}, "relevance-first")
    >>> order.classes([(1, 0), (0, 2)])
    array([3, 2])
    """
    if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
        raise MultiAspectError(
            f"expected a name of letters, digits, _ and - for the distance, got {name!r}"
        )
    if name in _EXPONENTS:
        raise MultiAspectError(f"{name!r} is the name of a built-in distance; use another name")

    def register(function: Distance) -> Distance:
        if not callable(function):
            raise MultiAspectError(
                f"distance {name!r}: expected a function of the gaps, got {function!r}"
            )
        _FUNCTIONS[name] = function
        return function

    return register


def distance_table(
    function: Distance, name: object, gaps: Sequence[Sequence[Fraction]], names: Sequence[str]
) -> Floats:
    """Return the distance of every tuple, one axis per aspect.

    The distance is checked to be monotone in the gaps.
    """
    shape = tuple(map(len, gaps))
    n_tuples = math.prod(shape)
    if n_tuples > MAX_TUPLES:
        raise MultiAspectError(
            f"distance {name!r} (user-defined): expected at most {MAX_TUPLES} label tuples, got "
            f"{n_tuples}"
        )
    axes = [np.array(aspect_gaps, dtype=np.float64) for aspect_gaps in gaps]
    grid = np.meshgrid(*axes, indexing="ij")
    rows = np.stack([axis_gaps.ravel() for axis_gaps in grid], axis=1)
    distances = np.asarray(function(rows.copy()), dtype=np.float64)
    if distances.shape != (len(rows),):
        raise MultiAspectError(
            f"distance {name!r}: expected one number per tuple, shape ({len(rows)},), got shape "
            f"{distances.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(distances) | (distances < 0))
    if len(wrong):
        row = wrong[0]
        raise MultiAspectError(
            f"distance {name!r}: expected finite numbers ≥ 0, got {distances[row]} for the gaps "
            f"{rows[row]}"
        )
    table = distances.reshape(shape)
    for axis, aspect in enumerate(names):
        # A higher grade has a smaller gap, so distances must not increase along the grades.
        grows = np.argwhere(np.diff(table, axis=axis) > TOLERANCE * distances.max())
        if len(grows):
            lower = grows[0].tolist()
            higher = lower.copy()
            higher[axis] += 1
            lower_row = np.ravel_multi_index(lower, shape)
            higher_row = np.ravel_multi_index(higher, shape)
            raise MultiAspectError(
                f"distance {name!r} decreases when the gap of {aspect} increases: "
                f"{distances[higher_row]:g} for the gaps {rows[higher_row]}, "
                f"{distances[lower_row]:g} for {rows[lower_row]}. Such an order ranks worse "
                "documents above better ones"
            )
    return table


def check_distance(distance: object) -> str | float:
    """Return the canonical form of a distance.

    It is a name, or the exponent of a Minkowski distance without a name.
    """
    if isinstance(distance, RegisteredDistance):
        return distance
    if isinstance(distance, str):
        if distance in _FUNCTIONS:
            return RegisteredDistance(distance, _FUNCTIONS[distance])
        if is_distance(distance):
            return distance
    elif not isinstance(distance, bool) and isinstance(distance, int | float | np.number):
        try:
            exponent = float(distance)
        except OverflowError:
            exponent = 0.0
        if exponent > 0:
            if exponent in _NAMED_DISTANCES:
                return _NAMED_DISTANCES[exponent]
            if exponent.is_integer():
                return int(exponent)
            return exponent
    if callable(distance):
        got = "(a function)"
    else:
        got = shown(distance)
    remedy = (
        "; register a function with register_distance(name), or pass an Order, its name or "
        "Order.from_distance(aspects, function) as order="
    )
    if in_shell():
        remedy = ", as in 'TOMA(distance=manhattan)'"
    names = [*sorted(_EXPONENTS), *_FUNCTIONS]
    raise MultiAspectError(
        f"unknown distance {got}: expected {choices(names)} or a number p > 0 (Minkowski){remedy}"
    )


#: The built-in distances, as the options that the variants of a measure have.
check_distance.options = tuple(_NAMED_DISTANCES.values())  # type: ignore[attr-defined]
