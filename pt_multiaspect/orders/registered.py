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

    The exponent of the Chebyshev distance is infinite.
    """
    if not isinstance(distance, str):
        return float(distance)
    if distance in _EXPONENTS:
        return float(_EXPONENTS[distance])
    return None


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
        if not isinstance(other, str):
            return NotImplemented
        if str(self) != str(other):
            return False
        # A plain name equals it, too: only another function makes a difference.
        if isinstance(other, RegisteredDistance):
            return self.function == other.function
        return True

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
        """Register the function under `name` and return it unchanged, as decorators do."""
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
    """Return the distance of every tuple from the best one, with one dimension per aspect.

    An element of the table is indexed by the grade indices of its tuple. The distances are checked:
    they must be finite, not negative, and must not decrease when a gap increases.

    Parameters
    ----------
    function : callable
        The distance.
    name : object
        Its name, for errors.
    gaps : sequence of sequences of Fraction
        For each aspect, the gap between each grade, from the lowest on, and the best one.
    names : sequence of str
        The names of the aspects.
    """
    n_grades = tuple(map(len, gaps))  # per aspect
    n_tuples = math.prod(n_grades)
    if n_tuples > MAX_TUPLES:
        raise MultiAspectError(
            f"distance {name!r} (user-defined): expected at most {MAX_TUPLES} label tuples, got "
            f"{n_tuples}"
        )
    # All combinations of gaps, in the order of the elements of the table.
    gaps_by_aspect = [np.array(aspect_gaps, dtype=np.float64) for aspect_gaps in gaps]
    grid = np.meshgrid(*gaps_by_aspect, indexing="ij")
    columns = list(map(np.ravel, grid))
    gaps_of_tuples = np.stack(columns, axis=1)  # (n_tuples, n_aspects)
    distances = _compute_distances(function, name, gaps_of_tuples)
    table = distances.reshape(n_grades)
    for aspect, aspect_name in enumerate(names):
        _refuse_decrease(name, table, gaps_of_tuples, aspect, aspect_name)
    return table


def _refuse_decrease(
    name: object, table: Floats, gaps_of_tuples: Floats, aspect: int, aspect_name: str
) -> None:
    """Raise an error if a tuple of grades is farther from the best one than a worse tuple.

    The table has the distance of each tuple, with one dimension per aspect, indexed by grades.
    Tuples are compared that differ only in the given aspect, by one grade. The tuple with the
    higher grade is better: its gap, the distance from the highest grade, is smaller.
    """
    changes = np.diff(table, axis=aspect)  # of the distance, from each grade to the next higher one
    tolerance = TOLERANCE * table.max()
    is_farther_with_higher_grade = changes > tolerance
    if not is_farther_with_higher_grade.any():
        return
    # The first case, as the grades of both tuples.
    worse_tuple = np.argwhere(is_farther_with_higher_grade)[0]
    better_tuple = worse_tuple.copy()
    better_tuple[aspect] += 1
    distance_of_worse = format(table[tuple(worse_tuple)], "g")
    distance_of_better = format(table[tuple(better_tuple)], "g")
    # `gaps_of_tuples` has a row of gaps per tuple, in the order of the elements of the table.
    worse = np.ravel_multi_index(tuple(worse_tuple), table.shape)
    better = np.ravel_multi_index(tuple(better_tuple), table.shape)
    raise MultiAspectError(
        f"distance {name!r} decreases when the gap of {aspect_name} increases: "
        f"{distance_of_better} for the gaps {gaps_of_tuples[better]}, {distance_of_worse} for "
        f"{gaps_of_tuples[worse]}. Such an order ranks worse documents above better ones"
    )


def _compute_distances(function: Distance, name: object, gaps: Floats) -> Floats:
    """Return the distance for each row of gaps; raise an error if one is not a number ≥ 0.

    The gaps have the shape (n_tuples, n_aspects), the distances (n_tuples,).
    """
    n_tuples = len(gaps)
    # The function gets a copy, because it may change its argument.
    distances_of_function = function(gaps.copy())
    distances = np.asarray(distances_of_function, dtype=np.float64)
    if distances.shape != (n_tuples,):
        raise MultiAspectError(
            f"distance {name!r}: expected one number per tuple, shape ({n_tuples},), got shape "
            f"{distances.shape}"
        )
    is_negative = distances < 0
    is_valid = np.isfinite(distances) & ~is_negative
    invalid = np.flatnonzero(~is_valid)
    if len(invalid):
        row = invalid[0]
        raise MultiAspectError(
            f"distance {name!r}: expected finite numbers ≥ 0, got {distances[row]} for the gaps "
            f"{gaps[row]}"
        )
    return distances


def check_distance(distance: object) -> str | float:
    """Return the canonical form of a distance; raise an error if there is no such distance.

    It is the name of a distance (for a registered one, a `RegisteredDistance`: a text that keeps
    its function), or the exponent of a Minkowski distance that has no name.
    """
    if isinstance(distance, RegisteredDistance):
        return distance
    if isinstance(distance, str):
        if distance in _FUNCTIONS:
            return RegisteredDistance(distance, _FUNCTIONS[distance])
        if distance in _EXPONENTS:
            return distance
        raise MultiAspectError(_unknown_distance(distance))
    if isinstance(distance, bool) or not isinstance(distance, int | float | np.number):
        raise MultiAspectError(_unknown_distance(distance))
    try:
        exponent = float(distance)
    except OverflowError:  # of integers above the largest float
        raise MultiAspectError(_unknown_distance(distance)) from None
    is_positive = exponent > 0  # False for NaN
    if not is_positive:
        raise MultiAspectError(_unknown_distance(distance))
    # One form per distance, so that equal measures print alike: 2.0 is 'euclidean', 3.0 is 3.
    if exponent in _NAMED_DISTANCES:
        return _NAMED_DISTANCES[exponent]
    if exponent.is_integer():
        return int(exponent)
    return exponent


def _unknown_distance(distance: object) -> str:
    """Return the error about a value that is no distance."""
    got = shown(distance)
    if callable(distance):
        got = "(a function)"
    remedy = (
        "; register a function with register_distance(name), or pass an Order, its name or "
        "Order.from_distance(aspects, function) as order="
    )
    if in_shell():
        remedy = ", as in 'TOMA(distance=manhattan)'"
    names = choices([*sorted(_EXPONENTS), *_FUNCTIONS])
    return f"unknown distance {got}: expected {names} or a number p > 0 (Minkowski){remedy}"


#: The built-in distances, as the options that the variants of a measure have.
check_distance.options = tuple(_NAMED_DISTANCES.values())  # type: ignore[attr-defined]
