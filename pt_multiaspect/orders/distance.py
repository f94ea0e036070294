"""Orders of label tuples by their distance from the best tuple (TOMA, steps 1-3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._cached import cached_property
from .._numbers import exact
from .._typing import Bools, Floats, Ints
from ..aspects import Aspects, Scale
from ..aspects.parameter import declared_aspects
from ..errors import MultiAspectError
from .registered import RegisteredDistance, check_distance, distance_table, exponent_of
from .tuple_order import (
    TOLERANCE,
    Grades,
    TupleOrder,
    check_axes,
    check_gate,
    check_weights,
    gaps_to_best,
    weights_of,
)

#: Maximum number of classes; see `DistanceOrder.n_classes`.
MAX_CLASSES = 10**6


class DistanceOrder(TupleOrder):
    """Weak order of label tuples by their distance from the best tuple.

    The coordinates of a tuple are the gains of its grades. Tuples at the same distance from the
    tuple of all top grades form a class. Classes are computed over *all* tuples of the scales and
    numbered from 0 (the farthest class). Equality of distances is decided exactly.

    The weight of a tuple is the number of its class. Its closeness is 1 - distance / maximum
    distance, in [0, 1].

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
        cannot be correct). Tuples with its lowest grade and a higher grade elsewhere are
        impossible; documents with such labels are assigned to the lowest class.

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
    >>> aspects = {"relevance": 3, "correctness": 2}
    >>> order = DistanceOrder(aspects, "manhattan", axes="gains", gate="relevance")
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
        if gate is None:
            self._gate = None
        else:
            self._gate = check_gate(gate, self.names)
        self._gaps = _stretched_gaps(self.scales, self.axes, self.aspect_weights, self.names)
        self._function = None
        self._tolerance: float = 0
        if isinstance(self.distance, RegisteredDistance):
            self._function = self.distance.function
            self._exponent = 1.0
            self._table = distance_table(self._function, self.distance, self._gaps, self.names)
            self._tolerance = TOLERANCE * float(self._table.max())
            self._worst = self._table.flat[0]
            return
        self._exponent = cast(float, exponent_of(self.distance))
        # Per aspect, the contribution of each grade to a tuple's key. Keys order tuples exactly as
        # distances do.
        if self._chebyshev:
            self._parts = _exact_parts(self._gaps, 1)
        elif self._exponent.is_integer():
            self._parts = _exact_parts(self._gaps, int(self._exponent))
        else:
            self._parts = _rounded_parts(self._gaps, self._exponent)
            self._tolerance = TOLERANCE * float(sum(part.max() for part in self._parts))
        lowest_grades = [part[:1] for part in self._parts]
        self._worst = self._combine(lowest_grades)[0]

    @property
    def _chebyshev(self) -> bool:
        return math.isinf(self._exponent)

    def _combine(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        result = columns[0]
        for column in columns[1:]:
            if self._chebyshev:
                result = np.maximum(result, column)
            else:
                result = result + column
        return result

    def _keys(self, grades: Grades) -> NDArray[Any]:
        """Return the key of each row of grade indices, larger if farther from the best tuple."""
        if self._function is not None:
            keys: NDArray[Any] = self._table[tuple(grades.T)]
        else:
            columns = zip(self._parts, grades.T, strict=True)
            keys = self._combine([part[column] for part, column in columns])
        if self._gate is not None:
            keys = np.where(grades[:, self._gate] == 0, self._worst, keys)
        return keys

    def _distinct(self, keys: NDArray[Any]) -> NDArray[Any]:
        keys = np.unique(keys)
        if self._tolerance:
            keys = keys[np.diff(keys, prepend=-np.inf) > self._tolerance]
        if len(keys) > MAX_CLASSES:
            in_units = ", or axes='gains' (fewer classes for scales of unequal length)"
            if self.axes == "gains":
                in_units = ""
            raise MultiAspectError(
                f"expected at most {MAX_CLASSES} classes of equal distance, got more for the "
                f"{len(self.names)} scales; use weighting='normalized' with positives='nonzero', "
                f"which needs no classes{in_units}"
            )
        return keys

    def _sums(self, keys: NDArray[Any], part: NDArray[Any]) -> NDArray[Any]:
        """Return the distinct sums of one element of each array, in blocks to limit memory."""
        block = max(1, 4 * MAX_CLASSES // len(keys))
        sums = self._distinct(np.add.outer(keys, part[:block]).ravel())
        for start in range(block, len(part), block):
            more = np.add.outer(keys, part[start : start + block]).ravel()
            sums = self._distinct(np.concatenate([sums, more]))
        return sums

    @cached_property
    def _class_keys(self) -> NDArray[Any]:
        """The attainable keys, nearest first, computed by aspect rather than by tuple."""
        if self._function is not None:
            return self._distinct(self._keys(self._all_tuples()))
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
        """The number of classes of equally distant tuples.

        Raises
        ------
        MultiAspectError
            If there are more than a million classes.
        """
        return len(self._class_keys)

    def class_index(self, grades: Grades) -> Ints:
        """Return the class of each tuple, from 0 for the largest distance to the best tuple."""
        keys = self._keys(grades)
        if self._tolerance:
            keys = keys + self._tolerance
        index = np.searchsorted(self._class_keys, keys, side="right") - 1
        return (self.n_classes - 1 - index).astype(np.intp)

    def weights(self, grades: Grades) -> Floats:
        """Return the class indices as gains."""
        return self.class_index(grades).astype(np.float64)

    @property
    def top_weight(self) -> float:
        """The index of the best class."""
        return float(self.n_classes - 1)

    def is_possible(self, grades: Grades) -> Bools:
        """Return a mask of the tuples that the gate allows (all without a gate)."""
        if self._gate is None:
            return np.ones(len(grades), dtype=np.bool_)
        is_open = grades[:, self._gate] > 0
        is_worst = ~grades.any(axis=1)
        return np.asarray(is_open | is_worst, dtype=np.bool_)

    def coordinates(self) -> list[Floats]:
        """Return the position of each grade on the rescaled and stretched axis of its aspect."""
        coordinates = []
        for gaps in self._gaps:
            from_lowest = [float(gaps[0] - gap) for gap in gaps]
            coordinates.append(np.array(from_lowest))
        return coordinates

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

    def closeness(self, grades: Grades) -> Floats:
        """Return 1 - distance / maximum distance for each tuple."""
        if self._worst:
            return np.asarray(1.0 - self._shares(grades), dtype=np.float64)
        return np.zeros(len(grades))

    def _shares(self, grades: Grades) -> Floats:
        """Return the distances to the best tuple as fractions of the maximum distance."""
        if not self._worst:
            return np.zeros(len(grades))
        keys = self._keys(grades)
        if self._tolerance:  # distances within the tolerance are replaced by the largest of them
            levels = np.unique(np.append(keys, self._worst))
            is_largest = np.diff(levels, append=np.inf) > self._tolerance
            largest = levels[is_largest]
            keys = largest[np.searchsorted(largest, keys)]
        shares = (keys / self._worst).astype(np.float64)
        if self._chebyshev:
            return shares
        return shares ** (1.0 / self._exponent)

    def described(self, grades: Grades) -> dict[str, NDArray[Any]]:
        """Return the class of each tuple, unless too many, and its distance to the best."""
        distance = self._shares(grades) * self._maximum
        try:
            return {"class": self.class_index(grades), "distance": distance}
        except MultiAspectError:  # too many classes, which closeness does not need
            return {"distance": distance}

    @property
    def _maximum(self) -> float:
        """The maximum distance, that of the tuple of all lowest grades."""
        if self._function is not None:
            return float(self._worst)
        gaps = [float(per_grade[0]) for per_grade in self._gaps]
        widest = max(gaps)
        if self._chebyshev or not widest:
            return widest
        powers = [(gap / widest) ** self._exponent for gap in gaps]
        return float(widest * sum(powers) ** (1.0 / self._exponent))

    def above_worst(self, grades: Grades) -> Bools:
        """Return a mask of the tuples that are nearer to the best tuple than the lowest class."""
        return np.asarray(self._keys(grades) < self._worst - self._tolerance, dtype=np.bool_)

    def classes(self, labels: object) -> Ints:
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
        columns = zip(self.scales, grades.T, strict=True)
        labels = np.stack([scale.grades[column] for scale, column in columns], axis=1)
        classes = self.class_index(grades)
        result: list[list[tuple[float, ...]]] = [[] for _ in range(self.n_classes)]
        for index, row in zip(classes.tolist(), labels.tolist(), strict=True):
            result[self.n_classes - 1 - index].append(tuple(row))
        return result

    def __repr__(self) -> str:
        arguments = [str(self.aspects), repr(self.distance)]
        if self.axes != "equal":
            arguments.append(f"axes={self.axes!r}")
        if self.aspect_weights:
            arguments.append(f"weights={self.aspect_weights!r}")
        if self.gate:
            arguments.append(f"gate={self.gate!r}")
        return f"DistanceOrder({', '.join(arguments)})"

    def __str__(self) -> str:
        if isinstance(self.distance, str):
            text = f"{self.distance.capitalize()} distance"
        else:
            text = f"Minkowski (p = {self.distance:g}) distance"
        if self.axes == "equal":
            text += ", equal axes"
        if self.gate:
            text += f", gate {self.gate}"
        return text


def _stretched_gaps(
    scales: Sequence[Scale], axes: str, weights: Mapping[str, float] | None, names: Sequence[str]
) -> list[list[Fraction]]:
    """Return, per aspect and grade, the exact gap to the top grade on the stretched axis."""
    stretch = [exact(weight) for weight in weights_of(weights, names)]
    stretched = []
    for weight, gaps in zip(stretch, gaps_to_best(scales, axes), strict=True):
        stretched.append([weight * gap for gap in gaps])
    return stretched


def _exact_parts(gaps: Sequence[Sequence[Fraction]], power: int) -> list[NDArray[Any]]:
    """Return the gaps to a power as integers, in units of their common denominator."""
    denominators = []
    for aspect_gaps in gaps:
        denominators += [gap.denominator for gap in aspect_gaps]
    unit = math.lcm(*denominators)
    parts = []
    for aspect_gaps in gaps:
        parts.append([int(gap * unit) ** power for gap in aspect_gaps])
    largest_sum = sum(map(max, parts))
    dtype: type = object
    if largest_sum < 2**62:
        dtype = np.int64
    return [np.array(part, dtype=dtype) for part in parts]


def _rounded_parts(gaps: Sequence[Sequence[Fraction]], exponent: float) -> list[NDArray[Any]]:
    """Return the gaps, relative to the widest one, to a power with irrational results."""
    widest = max(map(max, gaps))
    parts = []
    for aspect_gaps in gaps:
        if widest:
            part = [float(gap / widest) ** exponent for gap in aspect_gaps]
        else:
            part = [0.0] * len(aspect_gaps)
        parts.append(np.array(part))
    return parts
