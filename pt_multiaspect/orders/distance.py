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
        #: The column of the gate in arrays of grade indices.
        self._gate_column: int | None = None
        if gate is not None:
            self._gate_column = check_gate(gate, self.names)
        self._gaps = _stretched_gaps(self.scales, self.axes, self.aspect_weights, self.names)
        if isinstance(self.distance, RegisteredDistance):
            self._tabulate_keys(self.distance)
        else:
            exponent = cast(float, exponent_of(self.distance))
            self._prepare_key_parts(exponent)

    def _tabulate_keys(self, distance: RegisteredDistance) -> None:
        """Set the keys of a user-defined distance: the distances of all tuples, in a table."""
        self._has_table = True
        self._exponent = 1.0  # keys are distances, of which no root is taken
        #: The distance of each tuple, with one dimension per aspect, indexed by grades.
        self._table = distance_table(distance.function, distance, self._gaps, self.names)
        largest_distance = float(self._table.max())
        self._tolerance = TOLERANCE * largest_distance
        # The first element belongs to the tuple of all lowest grades.
        self._worst_key = self._table.flat[0]

    def _prepare_key_parts(self, exponent: float) -> None:
        """Set what each grade contributes to the key of a tuple, for a Minkowski distance.

        A key is the sum of the gaps to the power of the exponent, without the root: it orders
        tuples exactly as the distance does. For the Chebyshev distance, it is the maximum gap. Keys
        that differ by at most the tolerance are equal.
        """
        self._has_table = False
        self._exponent = exponent
        #: One array per aspect, with one part per grade, the lowest one first.
        self._parts: list[NDArray[Any]]
        self._tolerance = 0.0  # of exact keys
        if self._is_chebyshev:  # a part is the gap itself
            self._parts = _exact_parts(self._gaps, 1)
        elif exponent.is_integer():  # a part is a power of the gap
            self._parts = _exact_parts(self._gaps, int(exponent))
        else:  # a part is a fractional power, which is rounded, and so are keys, the sums
            self._parts = _rounded_parts(self._gaps, exponent)
            largest_parts = [parts.max() for parts in self._parts]
            largest_key = float(sum(largest_parts))
            self._tolerance = TOLERANCE * largest_key
        # The worst tuple has the first part, that of the lowest grade, on each aspect. As an array
        # of one tuple, each aspect has an array of one part.
        parts_of_worst_tuple = [parts[:1] for parts in self._parts]
        (self._worst_key,) = self._combine_parts(parts_of_worst_tuple)

    @property
    def _is_chebyshev(self) -> bool:
        return math.isinf(self._exponent)

    def _combine_parts(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the keys of tuples: the sum, or for Chebyshev the maximum, of their parts.

        There is one array of parts per aspect, each of shape (n_tuples,).
        """
        keys = parts[0]
        for aspect_parts in parts[1:]:
            if self._is_chebyshev:
                keys = np.maximum(keys, aspect_parts)
            else:
                keys = keys + aspect_parts
        return keys

    def _keys(self, grades: Grades) -> NDArray[Any]:
        """Return the key of each tuple, larger if the tuple is farther from the best one.

        Equal distances have equal keys, except for differences up to the tolerance. The rows of
        `grades` are tuples of grade indices, one column per aspect. Keys of a user-defined distance
        are in a table with one dimension per aspect; those of other distances are combined from the
        parts of the grades.
        """
        grades_by_aspect = tuple(grades.T)  # an array per aspect
        keys: NDArray[Any]
        if self._has_table:
            keys = self._table[grades_by_aspect]  # one index per dimension and tuple
        else:
            parts = []
            for part_of_grade, aspect_grades in zip(self._parts, grades_by_aspect, strict=True):
                parts.append(part_of_grade[aspect_grades])
            keys = self._combine_parts(parts)
        if self._gate_column is not None:
            # Without its precondition, a document is as bad as the worst tuple.
            is_excluded = grades[:, self._gate_column] == 0
            keys = np.where(is_excluded, self._worst_key, keys)
        return keys

    def _distinct_keys(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the distinct keys in increasing order, or raise an error if they are too many.

        Of keys that are equal within the tolerance, the smallest is returned.
        """
        distinct = np.unique(keys)
        if self._tolerance:
            # The first key has no smaller neighbour, so it is infinitely far from it and stays.
            distance_to_previous = np.diff(distinct, prepend=-np.inf)
            distinct = distinct[distance_to_previous > self._tolerance]
        if len(distinct) > MAX_CLASSES:
            n_scales = len(self.names)
            remedy = "use weighting='normalized' with positives='nonzero', which needs no classes"
            if self.axes != "gains":
                remedy += ", or axes='gains' (fewer classes for scales of unequal length)"
            raise MultiAspectError(
                f"expected at most {MAX_CLASSES} classes of equal distance, got more for the "
                f"{n_scales} scales; {remedy}"
            )
        return distinct

    def _distinct_sums(self, keys: NDArray[Any], parts: NDArray[Any]) -> NDArray[Any]:
        """Return the distinct sums of one of the keys and one of the parts, in increasing order.

        An error is raised as soon as they are too many.
        """
        # All sums at once may not fit into memory. So parts are added in blocks, and the distinct
        # sums so far are joined with those of the next block.
        n_sums_per_block = 4 * MAX_CLASSES
        block_length = max(1, n_sums_per_block // len(keys))
        distinct = np.empty(0, dtype=keys.dtype)
        for start in range(0, len(parts), block_length):
            block = parts[start : start + block_length]
            sums = np.add.outer(keys, block).ravel()
            candidates = np.concatenate([distinct, sums])
            distinct = self._distinct_keys(candidates)
        return distinct

    @cached_property
    def _class_keys(self) -> NDArray[Any]:
        """The key of each class, from the class of the best tuple to the farthest."""
        if self._has_table:
            # A table has few enough tuples to list them all.
            possible_keys = self._keys(self._all_tuples())
        else:
            possible_keys = self._combined_keys()
        return self._distinct_keys(possible_keys)

    def _combined_keys(self) -> NDArray[Any]:
        """Return the possible keys for a Minkowski distance, in any order and with repetitions.

        There may be too many tuples to list, so the parts of keys are combined aspect by aspect.
        With a gate, all tuples with its lowest grade have the worst key, so that they need not be
        combined: the worst key, which is always possible, is added at the end.
        """
        parts = list(self._parts)  # one array per aspect, the part of the lowest grade first
        worst_key = np.array([self._worst_key], dtype=parts[0].dtype)
        if self._gate_column is not None:
            parts_of_gate = parts[self._gate_column]
            if len(parts_of_gate) == 1:  # the lowest grade is the only one
                return worst_key
            parts[self._gate_column] = parts_of_gate[1:]
        if self._is_chebyshev:
            keys = np.concatenate(parts)  # the maximum part of a tuple is one of the parts
        else:
            keys = self._sums_of_parts(parts)
        return np.append(keys, worst_key)

    def _sums_of_parts(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the distinct sums of one part per aspect, in increasing order."""
        # After each aspect, only distinct sums are kept, as there may be too many with repetitions.
        sums = np.zeros(1, dtype=parts[0].dtype)
        for aspect_parts in parts:
            distinct_parts = np.unique(aspect_parts)
            sums = self._distinct_sums(sums, distinct_parts)
        return sums

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
        keys = self._keys(grades)  # increase with the distance
        if self._tolerance:
            # Rounding may have left a key slightly below the key of its class.
            keys = keys + self._tolerance
        # The class is the number of classes that are farther, those with a larger key. Of the class
        # keys [0, 4, 9], one is larger than 4, so that tuples with the key 4 are in class 1.
        n_nearer_or_same = np.searchsorted(self._class_keys, keys, side="right")
        n_farther = self.n_classes - n_nearer_or_same
        return n_farther.astype(np.intp)

    def weights(self, grades: Grades) -> Floats:
        """Return the class indices as gains."""
        return self.class_index(grades).astype(np.float64)

    @property
    def top_weight(self) -> float:
        """The index of the best class."""
        return float(self.n_classes - 1)

    def is_possible(self, grades: Grades) -> Bools:
        """Return a mask of the tuples that the gate allows (all without a gate)."""
        if self._gate_column is None:
            return np.ones(len(grades), dtype=np.bool_)
        # With the lowest grade of the gate, only the tuple of all lowest grades is possible.
        is_above_lowest = grades > 0
        meets_gate = is_above_lowest[:, self._gate_column]
        is_worst_tuple = ~is_above_lowest.any(axis=1)
        return np.asarray(meets_gate | is_worst_tuple, dtype=np.bool_)

    def coordinates(self) -> list[Floats]:
        """Return the position of each grade on the rescaled and stretched axis of its aspect."""
        coordinates = []
        for gaps in self._gaps:
            gap_of_lowest_grade = gaps[0]
            positions = [float(gap_of_lowest_grade - gap) for gap in gaps]
            coordinates.append(np.array(positions))
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
        """Return 1 - distance / maximum distance for each tuple; 0 if all distances are 0."""
        if self._worst_key == 0:
            return np.zeros(len(grades))
        closeness = 1.0 - self._relative_distances(grades)
        return np.asarray(closeness, dtype=np.float64)

    def _relative_distances(self, grades: Grades) -> Floats:
        """Return distance to the best tuple / maximum distance for each tuple, in [0, 1].

        The key of a tuple is its distance to the power of `self._exponent`, but for the Chebyshev
        distance the distance itself. `self._worst_key` is that of the maximum distance.
        """
        if self._worst_key == 0:  # all distances are 0
            return np.zeros(len(grades))
        keys = self._keys(grades)
        if self._tolerance:
            keys = self._unify_equal_keys(keys)
        quotients = keys / self._worst_key  # of any numeric type
        relative_keys = quotients.astype(np.float64)
        if self._is_chebyshev:
            return relative_keys
        root = 1.0 / self._exponent
        return relative_keys**root

    def _unify_equal_keys(self, keys: NDArray[Any]) -> NDArray[Any]:
        """Return the keys, with those equal within the tolerance replaced by the largest of them.

        So tuples at the distance of the worst tuple have its key. With the tolerance 0.1, the keys
        1.05, 3 and 1 become 1.05, 3 and 1.05.
        """
        all_keys = np.append(keys, self._worst_key)
        distinct = np.unique(all_keys)  # 1, 1.05, 3
        distance_to_next = np.diff(
            distinct, append=np.inf
        )  # 0.05, 1.95, inf: none follows the last
        is_largest_of_equals = distance_to_next > self._tolerance
        largest = distinct[is_largest_of_equals]  # 1.05, 3
        # Each key becomes the first of these that is not below it.
        index = np.searchsorted(largest, keys)
        unified: NDArray[Any] = largest[index]
        return unified

    def described(self, grades: Grades) -> dict[str, NDArray[Any]]:
        """Return the class of each tuple, unless too many, and its distance to the best."""
        distance = self._relative_distances(grades) * self._maximum_distance
        try:
            classes = self.class_index(grades)
        except MultiAspectError:  # too many classes, which closeness does not need
            return {"distance": distance}
        return {"class": classes, "distance": distance}

    @property
    def _maximum_distance(self) -> float:
        """The distance between the tuple of all lowest grades and the best tuple."""
        if self._has_table:  # of the distances of all tuples, which are the keys
            return float(self._worst_key)
        # The gaps between the lowest and the highest grade of each aspect.
        gaps = [float(aspect_gaps[0]) for aspect_gaps in self._gaps]
        widest = max(gaps)
        if self._is_chebyshev or widest == 0:
            return widest
        # (Σ gap^p)^(1/p) = widest · (Σ (gap / widest)^p)^(1/p), whose powers are at most 1: those of
        # gaps may be too large for a float.
        powers = [(gap / widest) ** self._exponent for gap in gaps]
        relative_distance = sum(powers) ** (1.0 / self._exponent)
        return float(widest * relative_distance)

    def above_worst(self, grades: Grades) -> Bools:
        """Return a mask of the tuples that are nearer to the best tuple than the lowest class."""
        # A tuple is nearer if its key is smaller. The lowest class is that of the worst tuple, with
        # all keys that differ from its key by at most the tolerance, the error of rounding.
        smallest_key_of_lowest_class = self._worst_key - self._tolerance
        keys = self._keys(grades)
        is_nearer = keys < smallest_key_of_lowest_class
        return np.asarray(is_nearer, dtype=np.bool_)

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
        tuples = self._all_tuples()
        possible = tuples[self.is_possible(tuples)]
        classes = self.class_index(possible).tolist()
        labels = np.stack(self._label_columns(possible), axis=1)  # (n_tuples, n_aspects)
        tuples_by_class: list[list[tuple[float, ...]]] = []
        for _ in range(self.n_classes):
            tuples_by_class.append([])
        for index, row in zip(classes, labels.tolist(), strict=True):
            tuples_by_class[index].append(tuple(row))
        tuples_by_class.reverse()  # class 0 is the farthest
        return tuples_by_class

    def __repr__(self) -> str:
        arguments = [str(self.aspects), repr(self.distance)]
        if self.axes != "equal":
            arguments.append(f"axes={self.axes!r}")
        if self.aspect_weights:
            arguments.append(f"weights={self.aspect_weights!r}")
        if self.gate:
            arguments.append(f"gate={self.gate!r}")
        call = ", ".join(arguments)
        return f"DistanceOrder({call})"

    def __str__(self) -> str:
        if isinstance(self.distance, str):
            name = self.distance.capitalize()
        else:
            exponent = format(self.distance, "g")
            name = f"Minkowski (p = {exponent})"
        text = f"{name} distance"
        if self.axes == "equal":
            text += ", equal axes"
        if self.gate:
            text += f", gate {self.gate}"
        return text


def _stretched_gaps(
    scales: Sequence[Scale], axes: str, weights: Mapping[str, float] | None, names: Sequence[str]
) -> list[list[Fraction]]:
    """Return the exact gap between each grade and the top grade, multiplied by the aspect's weight.

    There is one list per aspect, with one gap per grade.
    """
    aspect_weights = weights_of(weights, names)
    gaps = gaps_to_best(scales, axes)
    stretched = []
    for weight, aspect_gaps in zip(aspect_weights, gaps, strict=True):
        factor = exact(weight)
        stretched.append([factor * gap for gap in aspect_gaps])
    return stretched


def _exact_parts(gaps: Sequence[Sequence[Fraction]], power: int) -> list[NDArray[Any]]:
    """Return the gaps to a power as integers, one array per aspect.

    In units of their common denominator, gaps are integers, which are compared exactly.
    """
    denominators = []
    for aspect_gaps in gaps:
        for gap in aspect_gaps:
            denominators.append(gap.denominator)
    common_denominator = math.lcm(*denominators)
    powers_by_aspect = []
    for aspect_gaps in gaps:
        whole_gaps = [int(gap * common_denominator) for gap in aspect_gaps]
        powers_by_aspect.append([gap**power for gap in whole_gaps])
    # A key is a sum over the aspects. If it may overflow, Python's integers are used.
    largest_key = sum(map(max, powers_by_aspect))
    dtype: type = np.int64
    if largest_key >= 2**62:
        dtype = object
    return [np.array(powers, dtype=dtype) for powers in powers_by_aspect]


def _rounded_parts(gaps: Sequence[Sequence[Fraction]], exponent: float) -> list[NDArray[Any]]:
    """Return the gaps to a fractional power, one array of floats per aspect.

    Gaps are divided by the widest one, so that powers are in [0, 1].
    """
    widest = max(map(max, gaps))
    parts = []
    for aspect_gaps in gaps:
        powers = []
        for gap in aspect_gaps:
            relative_gap = 0.0
            if widest:
                relative_gap = float(gap / widest)
            powers.append(relative_gap**exponent)
        parts.append(np.array(powers))
    return parts
