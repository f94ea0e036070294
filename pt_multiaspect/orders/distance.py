"""Orders of label tuples by their distance from the best tuple (TOMA, steps 1-3), and the distances."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._numbers import exact
from ..aspects.aspects import Aspects
from ..aspects.parameter import declared_aspects
from ..errors import MultiAspectError, choices
from .order import (
    MAX_TUPLES,
    TOLERANCE,
    Grades,
    TupleOrder,
    check_axes,
    check_gate,
    check_weights,
    gaps_to_best,
    scaled_aspects,
    weights_of,
)

__all__ = ["DistanceOrder", "register_distance"]

#: Maximum number of classes; see `DistanceOrder.n_classes`.
MAX_CLASSES = 10**6

_NAMED_DISTANCES = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}
_EXPONENTS = {name: exponent for exponent, name in _NAMED_DISTANCES.items()}

Distance = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Maps gaps to the best tuple, of shape (n_tuples, n_aspects), to distances of shape (n_tuples,)."""

_FUNCTIONS: dict[str, Distance] = {}


def is_distance(name: str) -> bool:
    """Return whether a distance of this name exists."""
    return name in _EXPONENTS or name in _FUNCTIONS


def exponent_of(distance: str | float) -> float | None:
    """Return the exponent of a Minkowski distance (infinite: Chebyshev); None for registered functions."""
    if isinstance(distance, str):
        return float(_EXPONENTS[distance]) if distance in _EXPONENTS else None
    return float(distance)


class RegisteredDistance(str):
    """The name of a registered distance, and the function it stood for when it was read.

    So a measure keeps its function when the name is registered again, and takes it to other processes.
    """

    function: Distance

    def __new__(cls, name: str, function: Distance) -> RegisteredDistance:
        named = super().__new__(cls, name)
        named.function = function
        return named

    def __eq__(self, other: object) -> bool:
        same_name = str.__eq__(self, other)
        return same_name and self.function == other.function if isinstance(other, RegisteredDistance) else same_name

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (str(self), self.function)

    def __deepcopy__(self, memo: object) -> RegisteredDistance:
        return self


def _restore(name: str, function: Distance) -> RegisteredDistance:
    """Learn the name in another process; where it is registered, it keeps its function."""
    _FUNCTIONS.setdefault(name, function)
    return RegisteredDistance(name, function)


def register_distance(name: str) -> Callable[[Distance], Distance]:
    """Register a user-defined distance for ``TOMA(distance=name)``. Used as a decorator.

    Parameters
    ----------
    name : str
        Name of the distance: letters, digits, ``_`` and ``-``. A name registered again stands for the new
        function; measures created earlier keep theirs. The names of built-in distances cannot be used.

    Returns
    -------
    callable
        A decorator for a function that takes the gaps to the best tuple, a float array of shape
        (n_tuples, n_aspects) with values ≥ 0 (in [0, 1] on equal axes, multiplied by the weights), and
        returns the distances, a float array of shape (n_tuples,). The distance must be non-decreasing
        in every gap. This is checked on all tuples (at most a million) when the scales are known.
        Distances that differ by at most 1e-13 times the maximum count as equal.

    Raises
    ------
    MultiAspectError
        If the name is not an identifier or is the name of a built-in distance.

    Notes
    -----
    `pt_multiaspect.testing.check_distance` checks a distance on scales of several lengths. Measures take the
    function to other processes. To pickle them into a file, define it at the top level of a module.

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
    >>> DistanceOrder({"relevance": 1, "credibility": 2}, "relevance-first").classes([(1, 0), (0, 2)])
    array([3, 2])
    """
    if not isinstance(name, str) or not name.replace("-", "_").isidentifier():
        raise MultiAspectError(f"expected a name of letters, digits, _ and - for the distance, got {name!r}")
    if name in _EXPONENTS:
        raise MultiAspectError(f"{name!r} is the name of a built-in distance; use another name")

    def register(function: Distance) -> Distance:
        if not callable(function):
            raise MultiAspectError(f"distance {name!r}: expected a function of the gaps, got {function!r}")
        _FUNCTIONS[name] = function
        return function

    return register


def _distances(
    function: Distance, name: object, gaps: Sequence[Sequence[Fraction]], names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the distance of every tuple, one axis per aspect, after checking that it is monotone in the gaps."""
    shape = tuple(map(len, gaps))
    if math.prod(shape) > MAX_TUPLES:
        raise MultiAspectError(
            f"distance {name!r} (user-defined): expected at most {MAX_TUPLES} label tuples, got {math.prod(shape)}"
        )
    axes = [np.array([float(gap) for gap in per_grade]) for per_grade in gaps]
    rows = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    found = np.asarray(function(rows.copy()), dtype=np.float64)
    if found.shape != (len(rows),):
        raise MultiAspectError(
            f"distance {name!r}: expected one number per tuple, shape ({len(rows)},), got shape {found.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(found) | (found < 0))
    if len(wrong):
        raise MultiAspectError(
            f"distance {name!r}: expected finite numbers ≥ 0, got {found[wrong[0]]} for the gaps {rows[wrong[0]]}"
        )
    table = found.reshape(shape)
    for axis, aspect in enumerate(names):
        # A higher grade has a smaller gap, so distances must not increase along the grades.
        grows = np.argwhere(np.diff(table, axis=axis) > TOLERANCE * found.max())
        if len(grows):
            near = tuple(grows[0].tolist())
            far = tuple(at + (position == axis) for position, at in enumerate(near))
            raise MultiAspectError(
                f"distance {name!r} decreases when the gap of {aspect} increases: {table[far]:g} for the gaps "
                f"{rows[np.ravel_multi_index(far, shape)]}, {table[near]:g} for "
                f"{rows[np.ravel_multi_index(near, shape)]}. Such an order ranks worse documents above better ones"
            )
    return table


def check_distance(distance: object) -> str | float:
    """Return the canonical form of a distance: a name, or the exponent of an unnamed Minkowski distance."""
    if isinstance(distance, RegisteredDistance):
        return distance
    if isinstance(distance, str):
        if distance in _FUNCTIONS:
            return RegisteredDistance(distance, _FUNCTIONS[distance])
        if is_distance(distance):
            return distance
    elif not isinstance(distance, bool) and isinstance(distance, int | float | np.number):
        exponent = float(distance)
        if exponent > 0:
            if exponent in _NAMED_DISTANCES:
                return _NAMED_DISTANCES[exponent]
            return int(exponent) if exponent.is_integer() else exponent
    raise MultiAspectError(
        f"unknown distance {distance!r}: expected {choices([*sorted(_EXPONENTS), *_FUNCTIONS])} or a number p > 0 "
        "(Minkowski); pass an Order, or the name of an Order, as order="
    )


class DistanceOrder(TupleOrder):
    """Weak order of label tuples by their distance from the best tuple.

    The coordinates of a tuple are the gains of its grades. Tuples at the same distance from the
    tuple of all top grades form a class. Classes are computed over *all* tuples of the scales and
    numbered from 0 (the farthest class). Equality of distances is decided exactly.

    Parameters
    ----------
    aspects : Aspects, mapping, str or path
        Aspects with declared grades; a str is the name of declared aspects or of a file (.json).
    distance : {'euclidean', 'manhattan', 'chebyshev'}, float > 0 or str
        A number is the exponent of a Minkowski distance. Any other name must have been registered
        with `register_distance`.
    axes : {'equal', 'gains'}, default 'equal'
        With ``'equal'``, the gains of each aspect are rescaled to [0, 1], so aspects are equally
        important, regardless of the length of their scales. With ``'gains'``, gains are not
        rescaled, so aspects with longer scales are more important.
    weights : mapping of str to float, optional
        Factor by which the axis of each aspect is stretched. 1 by default.
    gate : str, optional
        An aspect that is a precondition for the other aspects (for example, a non-relevant document
        cannot be correct). Tuples with its lowest grade and a higher grade elsewhere are impossible;
        documents with such labels are assigned to the lowest class.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of
    Rankings. CIKM 2021, Eq. 2-4 and §3.4 (the gate).

    Examples
    --------
    >>> order = DistanceOrder({"relevance": 3, "correctness": 2}, "manhattan", gate="relevance")
    >>> order.n_classes
    10
    >>> order.classes([(3, 2), (3, 0), (0, 2)])
    array([9, 4, 0])
    >>> order = DistanceOrder({"relevance": 3, "correctness": 2}, "manhattan", axes="gains", gate="relevance")
    >>> order.n_classes
    6
    """

    def __init__(
        self,
        aspects: Aspects | Mapping[str, Any] | str | PathLike[str],
        distance: str | float = "euclidean",
        *,
        axes: str = "equal",
        weights: Mapping[str, float] | None = None,
        gate: str | None = None,
    ) -> None:
        self.aspects = declared_aspects(aspects)
        self.names = tuple(self.aspects)
        self.scales = tuple(aspect.scale for aspect in self.aspects.values())
        self.distance = check_distance(distance)
        self.axes = check_axes(axes)
        self.aspect_weights = check_weights(weights)
        self.gate = gate
        self._gate = None if gate is None else check_gate(gate, self.names)
        stretch = [exact(weight) for weight in weights_of(self.aspect_weights, self.names)]
        gaps = [
            [weight * gap for gap in per_grade]
            for weight, per_grade in zip(stretch, gaps_to_best(self.scales, self.axes), strict=True)
        ]
        self._gaps = gaps
        self._function = self.distance.function if isinstance(self.distance, RegisteredDistance) else None
        if self._function is not None:
            self._exponent = 1.0
            self._table = _distances(self._function, self.distance, gaps, self.names)
            self._tolerance: float = TOLERANCE * float(self._table.max())
            self._worst = self._table.flat[0]
            return
        self._exponent = cast(float, exponent_of(self.distance))
        # Per aspect, the contribution of each grade to a tuple's key: exact integers, except for
        # exponents with irrational results. Keys order tuples exactly as distances do.
        self._parts: list[NDArray[Any]]
        widest = max(gap for per_grade in gaps for gap in per_grade)
        if self._chebyshev or self._exponent.is_integer():
            unit = math.lcm(*(gap.denominator for per_grade in gaps for gap in per_grade))
            power = 1 if self._chebyshev else int(self._exponent)
            parts = [[int(gap * unit) ** power for gap in per_grade] for per_grade in gaps]
            total = sum(max(part) for part in parts)
            dtype: type = np.int64 if total < 2**62 else object
            self._parts = [np.array(part, dtype=dtype) for part in parts]
            self._tolerance = 0
        else:
            self._parts = [
                np.array([float(gap / widest) ** self._exponent if widest else 0.0 for gap in per_grade])
                for per_grade in gaps
            ]
            self._tolerance = TOLERANCE * float(sum(part.max() for part in self._parts))
        self._worst = self._combine([part[:1] for part in self._parts])[0]

    @property
    def _chebyshev(self) -> bool:
        return math.isinf(self._exponent)

    def _combine(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        result = columns[0]
        for column in columns[1:]:
            result = np.maximum(result, column) if self._chebyshev else result + column
        return result

    def _keys(self, grades: Grades) -> NDArray[Any]:
        """Return the key of each row of grade indices. A larger key is farther from the best tuple."""
        if self._function is not None:
            keys: NDArray[Any] = self._table[tuple(grades.T)]
        else:
            keys = self._combine([part[column] for part, column in zip(self._parts, grades.T, strict=True)])
        if self._gate is not None:
            keys = np.where(grades[:, self._gate] == 0, self._worst, keys)
        return keys

    def _distinct(self, keys: NDArray[Any]) -> NDArray[Any]:
        keys = np.unique(keys)
        if self._tolerance:
            keys = keys[np.diff(keys, prepend=-1.0) > self._tolerance]
        if len(keys) > MAX_CLASSES:
            in_units = (
                "" if self.axes == "gains" else ", or axes='gains' (fewer classes for scales of unequal length)"
            )
            raise MultiAspectError(
                f"expected at most {MAX_CLASSES} classes of equal distance, got more for the {len(self.names)} "
                f"scales; use weighting='normalized' with positives='nonzero', which needs no classes{in_units}"
            )
        return keys

    def _sums(self, keys: NDArray[Any], part: NDArray[Any]) -> NDArray[Any]:
        """Return the distinct sums of one element of each array, computed in blocks to limit memory."""
        block = max(1, 4 * MAX_CLASSES // len(keys))
        sums = self._distinct(np.add.outer(keys, part[:block]).ravel())
        for start in range(block, len(part), block):
            more = np.add.outer(keys, part[start : start + block]).ravel()
            sums = self._distinct(np.concatenate([sums, more]))
        return sums

    @cached_property
    def _class_keys(self) -> NDArray[Any]:
        """The attainable keys, nearest first, computed aspect by aspect rather than tuple by tuple."""
        if self._function is not None:
            return self._distinct(np.unique(self._keys(self._all_tuples())))
        parts = list(self._parts)
        if self._gate is not None:
            parts[self._gate] = parts[self._gate][1:]
        worst = np.array([self._worst], dtype=parts[0].dtype)
        if not all(map(len, parts)):
            return worst  # the gate has only one grade, so no other tuple is possible
        if self._chebyshev:
            keys = np.concatenate(parts)
        else:
            keys = np.zeros(1, dtype=parts[0].dtype)
            for part in parts:
                keys = self._sums(keys, np.unique(part))
        return self._distinct(np.append(keys, worst))

    @property
    def n_classes(self) -> int:
        """Number of classes of equally distant tuples.

        Raises
        ------
        MultiAspectError
            If there are more than a million.
        """
        return len(self._class_keys)

    def class_index(self, grades: Grades) -> NDArray[np.intp]:
        """Return the class of each row of grade indices. 0 is the farthest from the best tuple."""
        keys = self._keys(grades)
        if self._tolerance:
            keys = keys + self._tolerance
        found = np.searchsorted(self._class_keys, keys, side="right") - 1
        return (self.n_classes - 1 - found).astype(np.intp)

    def weights(self, grades: Grades) -> NDArray[np.float64]:
        """Return the class of each row of grade indices, as a number."""
        return self.class_index(grades).astype(np.float64)

    @property
    def top_weight(self) -> float:
        """The index of the best class."""
        return float(self.n_classes - 1)

    def is_possible(self, grades: Grades) -> NDArray[np.bool_]:
        """Return which rows of grade indices are possible under the gate."""
        if self._gate is None:
            return np.ones(len(grades), dtype=np.bool_)
        return np.asarray((grades[:, self._gate] > 0) | ~grades.any(axis=1), dtype=np.bool_)

    def coordinates(self) -> list[NDArray[np.float64]]:
        """Return the coordinate of each grade on its (stretched) axis. The lowest grade is at 0."""
        return [np.array([float(gaps[0] - gap) for gap in gaps]) for gaps in self._gaps]

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of TOMA that give this order."""
        return {
            "distance": self.distance,
            "axes": self.axes,
            "weights": self.aspect_weights,
            "gate": self.gate,
            "aspects": self.aspects,
        }

    def rescaled(self, constants: Sequence[float]) -> DistanceOrder:
        """Return an order with the same parameters and the labels of each aspect multiplied by its constant."""
        return DistanceOrder(
            scaled_aspects(self.aspects, constants),
            self.distance,
            axes=self.axes,
            weights=self.aspect_weights,
            gate=self.gate,
        )

    def closeness(self, grades: Grades) -> NDArray[np.float64]:
        """Return 1 - distance / maximum distance for each row of grade indices, in [0, 1]."""
        if not self._worst:
            return np.zeros(len(grades))
        shares = (self._keys(grades) / self._worst).astype(np.float64)
        distances = shares if self._chebyshev else shares ** (1.0 / self._exponent)
        return np.asarray(1.0 - distances, dtype=np.float64)

    def above_worst(self, grades: Grades) -> NDArray[np.bool_]:
        """Return which rows are in a class above the farthest, without computing the classes."""
        return np.asarray(self._keys(grades) < self._worst - self._tolerance, dtype=np.bool_)

    def classes(self, labels: object) -> NDArray[np.intp]:
        """Return the class of label tuples.

        Parameters
        ----------
        labels : array-like of shape (n_tuples, n_aspects)
            Labels in the order of the aspects.

        Returns
        -------
        ndarray of int, shape (n_tuples,)
            From 0 for the farthest class to ``n_classes - 1`` for the best tuple.
        """
        return self.class_index(self._grades(labels))

    def to_list(self) -> list[list[tuple[float, ...]]]:
        """Return all possible label tuples, class by class, best first."""
        grades = self._all_tuples()
        grades = grades[self.is_possible(grades)]
        result: list[list[tuple[float, ...]]] = [[] for _ in range(self.n_classes)]
        labels = np.stack([scale.grades[column] for scale, column in zip(self.scales, grades.T, strict=True)])
        for index, tuple_ in zip(self.class_index(grades).tolist(), labels.T.tolist(), strict=True):
            result[self.n_classes - 1 - index].append(tuple(tuple_))
        return result

    def __repr__(self) -> str:
        given = {
            "axes": self.axes if self.axes != "equal" else None,
            "weights": self.aspect_weights,
            "gate": self.gate,
        }
        optional = [f"{key}={value!r}" for key, value in given.items() if value]
        return f"DistanceOrder({', '.join([str(self.aspects), repr(self.distance), *optional])})"

    def __str__(self) -> str:
        name = (
            self.distance.capitalize() if isinstance(self.distance, str) else f"Minkowski (p = {self.distance:g})"
        )
        axes = ", equal axes" if self.axes == "equal" else ""
        gated = f", gate {self.gate}" if self.gate else ""
        return f"{name} distance{axes}{gated}"
