"""Orders of label tuples: by distance to the best tuple, or given outright (TOMA, steps 1-3)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .aspects import Aspect, Aspects, NameRegistry, Scale, aspect_name, exact, number, spell
from .errors import MultiAspectError, choices

__all__ = ["DistanceOrder", "Order"]

#: More classes than this cannot be told apart by any judgment set; see `DistanceOrder.n_classes`.
MAX_CLASSES = 10**6
#: Tables and user-given distances go through all tuples, up to so many.
MAX_TUPLES = 10**6
#: Sums of non-integer powers this close, relative to the greatest, are equal.
TOLERANCE = 1e-13

_NAMED_DISTANCES = {1: "manhattan", 2: "euclidean", math.inf: "chebyshev"}
AXES = ("equal", "gains")
_ALLOWING = " allow_violations=True accepts that"
_EXPONENTS = {name: exponent for exponent, name in _NAMED_DISTANCES.items()}

Grades = NDArray[np.intp]
"""Grade indices, 0 the worst, of shape (documents, aspects)."""


def check_distance(distance: object) -> str | float:
    """Return the canonical form of a distance: a name, or the exponent of any other Minkowski distance."""
    if isinstance(distance, str):
        if distance in _EXPONENTS:
            return distance
    elif not isinstance(distance, bool) and isinstance(distance, int | float | np.number):
        exponent = float(distance)
        if exponent > 0:
            if exponent in _NAMED_DISTANCES:
                return _NAMED_DISTANCES[exponent]
            return int(exponent) if exponent.is_integer() else exponent
    raise MultiAspectError(
        f"unknown distance {distance!r}; choose {choices(sorted(_EXPONENTS))}, a number p > 0 (Minkowski), "
        f"an Order, or the name of one ({choices(Order.registry)})"
    )


def check_weights(weights: object, what: str = "weights") -> dict[str, float] | None:
    """Return weights in a fixed order as plain numbers, after checking that they are weights."""
    if weights is None:
        return None
    if not isinstance(weights, Mapping) or not weights:
        raise MultiAspectError(f"{what} are a mapping of aspect names to numbers, not {weights!r}")
    named = [(aspect_name(key), number(value, f"the weight of {key}")) for key, value in weights.items()]
    checked = dict(sorted(named))
    if len(checked) < len(named):
        raise MultiAspectError(f"{what} name an aspect twice: {choices(weights)}")
    negative = {key: value for key, value in checked.items() if value < 0}
    if negative:
        raise MultiAspectError(f"{what} must not be negative: {negative}")
    if not any(checked.values()):
        raise MultiAspectError(f"at least one of the {what} must be positive: {checked}")
    return checked


def weights_of(weights: Mapping[str, float] | None, names: Sequence[str]) -> list[float]:
    """Return a weight per aspect of `names`; without weights every aspect has 1."""
    if weights is None:
        return [1.0] * len(names)
    unknown, missing = sorted(set(weights) - set(names)), [name for name in names if name not in weights]
    if unknown or missing:
        raise MultiAspectError(
            f"weights are given for {choices(weights)}, but the aspects evaluated are {choices(names)}"
            + (f"; there is no aspect {choices(unknown)}" if unknown else "")
            + (f"; give {choices(missing)} a weight too (0 leaves it out)" if missing else "")
        )
    if not any(weights[name] for name in names):
        raise MultiAspectError(f"at least one weight must be positive: {dict(weights)}")
    return [weights[name] for name in names]


def check_gate(gate: str, names: Sequence[str]) -> int:
    """Return the position of the aspect `gate` among `names`."""
    name = aspect_name(gate)
    if name not in names:
        raise MultiAspectError(f"unknown gate {gate!r}; the aspects evaluated are {choices(names)}")
    return list(names).index(name)


def check_axes(axes: object) -> str:
    """Return how the axes of the embedding are scaled, after checking that it is a known way."""
    if axes not in AXES:
        raise MultiAspectError(f"axes: expected {choices(AXES)}, got {axes!r}")
    return str(axes)


def gaps_to_best(scales: Iterable[Scale], axes: str) -> list[list[Fraction]]:
    """Return per aspect and grade how far the grade is below the top one on the aspect's axis.

    Exact, so that equal distances are recognised. With equal axes the lowest grade of every
    aspect is at 1, unless all its grades have one value.
    """
    result = []
    for scale in scales:
        values = [exact(value) for value in scale.values.tolist()]
        unit = (values[-1] - values[0] if axes == "equal" else Fraction(1)) or Fraction(1)
        result.append([(values[-1] - value) / unit for value in values])
    return result


def numeric(labels: pd.Series[Any], column: str) -> NDArray[np.float64]:
    """Return the labels of a column as floats, NaN where missing."""
    values = pd.to_numeric(labels, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    faulty = labels[(np.isnan(values) & labels.notna().to_numpy()) | np.isinf(values)]
    if len(faulty):
        raise MultiAspectError(f"column {column!r}: expected numbers, got {choices(map(repr, faulty.unique()))}")
    return np.asarray(values, dtype=np.float64)


def _column_of(qrels: pd.DataFrame, name: str) -> str:
    found = [column for column in ((name, "label") if name == "relevance" else (name,)) if column in qrels.columns]
    if not found:
        raise MultiAspectError(f"expected a column for the aspect {name}, got {choices(qrels.columns)}")
    if len(found) > 1:
        raise MultiAspectError("qrels have both a column label and a column relevance; drop or rename one")
    return found[0]


class _TupleOrder:
    """What both kinds of orders share: scales, and tables over all tuples."""

    names: tuple[str, ...]
    scales: tuple[Scale, ...]

    @property
    def n_tuples(self) -> int:
        """How many label tuples the scales make."""
        return math.prod(map(len, self.scales))

    def _grades(self, labels: object) -> Grades:
        rows = np.atleast_2d(np.asarray(labels, dtype=np.float64))
        if rows.shape[1] != len(self.names):
            raise MultiAspectError(
                f"{rows.shape[1]} labels a tuple were given for the {len(self.names)} aspects {choices(self.names)}"
            )
        columns = []
        for column, name, scale in zip(rows.T, self.names, self.scales, strict=True):
            positions = {grade: index for index, grade in enumerate(scale.grades.tolist())}
            unknown = [label for label in column.tolist() if label not in positions]
            if unknown:
                raise MultiAspectError(f"{name} has no grade {spell(unknown[0])}; its grades, worst first: {scale}")
            columns.append([positions[label] for label in column.tolist()])
        return np.array(columns, dtype=np.intp).T

    def _all_tuples(self) -> Grades:
        if self.n_tuples > MAX_TUPLES:
            raise MultiAspectError(
                f"{self.n_tuples} label tuples are too many to go through one by one (at most {MAX_TUPLES})"
            )
        shape = tuple(map(len, self.scales))
        return np.indices(shape, dtype=np.intp).reshape(len(shape), -1).T


class DistanceOrder(_TupleOrder):
    """The weak order of label tuples by their distance to the best tuple.

    A tuple is embedded at the values of its grades; tuples at the same distance from the tuple of
    all top grades form a class. Classes are found over *all* tuples of the scales and numbered
    from 0, the farthest. Equal distances are recognised exactly.

    Parameters
    ----------
    aspects : Aspects or mapping
        Scales with declared grades.
    distance : {'euclidean', 'manhattan', 'chebyshev'} or float > 0
        A number is the exponent of a Minkowski distance.
    axes : {'equal', 'gains'}, default 'equal'
        With ``'equal'`` the values of each aspect are first stretched to the span 0 to 1: the
        aspects are equally important whatever the lengths of their scales. With ``'gains'``
        they are used as they are: an aspect with a longer scale is more important.
    weights : mapping of str to float, optional
        Stretches the axis of each aspect; 1 by default.
    gate : str, optional
        An aspect without which the others cannot be: tuples with its worst grade but a
        better one elsewhere are impossible, and a document labelled so counts as the worst
        tuple.

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
        aspects: Aspects | Mapping[str, Any],
        distance: str | float = "euclidean",
        *,
        axes: str = "equal",
        weights: Mapping[str, float] | None = None,
        gate: str | None = None,
    ) -> None:
        self.aspects = aspects if isinstance(aspects, Aspects) else Aspects(aspects)
        self.names = tuple(self.aspects)
        self.scales = tuple(aspect.scale for aspect in self.aspects.values())
        self.distance = check_distance(distance)
        self.axes = check_axes(axes)
        self.weights = check_weights(weights)
        self.gate = gate
        self._gate = None if gate is None else check_gate(gate, self.names)
        stretch = [exact(weight) for weight in weights_of(self.weights, self.names)]
        gaps = [
            [weight * gap for gap in per_grade]
            for weight, per_grade in zip(stretch, gaps_to_best(self.scales, self.axes), strict=True)
        ]
        self._exponent = float(_EXPONENTS.get(cast(str, self.distance), cast(float, self.distance)))
        # Per aspect, what each grade adds to a tuple's key: exact integers, but for
        # exponents that leave the rationals. Keys order and equate tuples as distances do.
        self._parts: list[NDArray[Any]]
        widest = max(gap for per_grade in gaps for gap in per_grade)
        if self._chebyshev or self._exponent.is_integer():
            unit = math.lcm(*(gap.denominator for per_grade in gaps for gap in per_grade))
            power = 1 if self._chebyshev else int(self._exponent)
            parts = [[int(gap * unit) ** power for gap in per_grade] for per_grade in gaps]
            total = sum(max(part) for part in parts)
            dtype: type = np.int64 if total < 2**62 else object
            self._parts = [np.array(part, dtype=dtype) for part in parts]
            self._tolerance: float = 0
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
        """The key of each row of grade indices; a greater key is farther from the best."""
        keys = self._combine([part[column] for part, column in zip(self._parts, grades.T, strict=True)])
        if self._gate is not None:
            keys = np.where(grades[:, self._gate] == 0, self._worst, keys)
        return keys

    def _distinct(self, keys: NDArray[Any]) -> NDArray[Any]:
        keys = np.unique(keys)
        if self._tolerance:
            keys = keys[np.diff(keys, prepend=-1.0) > self._tolerance]
        if len(keys) > MAX_CLASSES:
            in_units = "" if self.axes == "gains" else "; axes='gains' makes fewer on scales of different lengths"
            raise MultiAspectError(
                f"the {len(self.names)} scales make more than {MAX_CLASSES} classes of equal distance; "
                f"weighting='normalized' with positives='nonzero' needs no classes{in_units}"
            )
        return keys

    def _sums(self, keys: NDArray[Any], part: NDArray[Any]) -> NDArray[Any]:
        """The distinct sums of an element of each, laid out a block at a time."""
        block = max(1, 4 * MAX_CLASSES // len(keys))
        sums = self._distinct(np.add.outer(keys, part[:block]).ravel())
        for start in range(block, len(part), block):
            more = np.add.outer(keys, part[start : start + block]).ravel()
            sums = self._distinct(np.concatenate([sums, more]))
        return sums

    @cached_property
    def _class_keys(self) -> NDArray[Any]:
        """The attainable keys, nearest first, built aspect by aspect and never tuple by tuple."""
        parts = list(self._parts)
        if self._gate is not None:
            parts[self._gate] = parts[self._gate][1:]
        worst = np.array([self._worst], dtype=parts[0].dtype)
        if not all(map(len, parts)):
            return worst  # a gate that never opens
        if self._chebyshev:
            keys = np.concatenate(parts)
        else:
            keys = np.zeros(1, dtype=parts[0].dtype)
            for part in parts:
                keys = self._sums(keys, np.unique(part))
        return self._distinct(np.append(keys, worst))

    @property
    def n_classes(self) -> int:
        """How many classes of equally distant tuples there are.

        Raises
        ------
        MultiAspectError
            If there are more than a million.
        """
        return len(self._class_keys)

    def class_index(self, grades: Grades) -> NDArray[np.intp]:
        """Return the class of each row of grade indices, 0 the farthest from the best."""
        keys = self._keys(grades)
        if self._tolerance:
            keys = keys + self._tolerance
        found = np.searchsorted(self._class_keys, keys, side="right") - 1
        return (self.n_classes - 1 - found).astype(np.intp)

    def closeness(self, grades: Grades) -> NDArray[np.float64]:
        """Return 1 - distance / greatest distance of each row of grade indices, in [0, 1]."""
        if not self._worst:
            return np.zeros(len(grades))
        shares = (self._keys(grades) / self._worst).astype(np.float64)
        distances = shares if self._chebyshev else shares ** (1.0 / self._exponent)
        return np.asarray(1.0 - distances, dtype=np.float64)

    def above_worst(self, grades: Grades) -> NDArray[np.bool_]:
        """Tell which rows are in a class above the farthest, without building the classes."""
        return np.asarray(self._keys(grades) < self._worst - self._tolerance, dtype=np.bool_)

    def classes(self, labels: object) -> NDArray[np.intp]:
        """Return the class of label tuples.

        Parameters
        ----------
        labels : array-like of shape (n_tuples, n_aspects)
            Grades in the order of the aspects.

        Returns
        -------
        ndarray of int, shape (n_tuples,)
            0 for the farthest class up to ``n_classes - 1`` for the best tuple.
        """
        return self.class_index(self._grades(labels))

    def to_list(self) -> list[list[tuple[float, ...]]]:
        """Return all possible label tuples, class by class, best first."""
        grades = self._all_tuples()
        if self._gate is not None:
            bottom = ~grades.any(axis=1)
            grades = grades[bottom | (grades[:, self._gate] > 0)]
        result: list[list[tuple[float, ...]]] = [[] for _ in range(self.n_classes)]
        labels = np.stack([scale.grades[column] for scale, column in zip(self.scales, grades.T, strict=True)])
        for index, tuple_ in zip(self.class_index(grades).tolist(), labels.T.tolist(), strict=True):
            result[self.n_classes - 1 - index].append(tuple(tuple_))
        return result

    def __repr__(self) -> str:
        given = {"axes": self.axes if self.axes != "equal" else None, "weights": self.weights, "gate": self.gate}
        optional = [f"{key}={value!r}" for key, value in given.items() if value]
        return f"DistanceOrder({', '.join([str(self.aspects), repr(self.distance), *optional])})"


class Order(_TupleOrder):
    """An order of label tuples given outright, a weight per tuple.

    Parameters
    ----------
    weights : mapping of tuple to number, or iterable of (tuple, number)
        The weight of each label tuple. Tuples that are left out are impossible: a document
        labelled so is an error.
    aspects : Aspects, mapping or sequence of str
        The aspects in the order of the tuples. Names alone take the labels that occur in
        the tuples as grades, in increasing order.
    name : str, optional
        A name for measure strings, ``TOMA(distance='my-order')``.
    allow_violations : bool, default False
        Accept negative weights, and weights that put a tuple above one that is at least as
        good in every aspect, as preference orders that punish harmful documents do.

    Raises
    ------
    MultiAspectError
        If the order violates the partial order of tuples (the violations are listed), a
        tuple has the wrong length or an unknown grade, or a weight is no number.

    References
    ----------
    Maistro et al., CIKM 2021, Eq. 1 (respecting the partial order) and Eq. 4 (weights).

    Examples
    --------
    >>> order = Order({(0, 0): 0, (1, 0): 1, (1, 1): 3}, aspects=["relevance", "credibility"])
    >>> order.weigh([(1, 1), (0, 0)])
    array([3., 0.])
    """

    registry: ClassVar[NameRegistry[Order]]

    def __init__(
        self,
        weights: Mapping[tuple[float, ...], float] | Iterable[tuple[Sequence[float], float]],
        aspects: Aspects | Mapping[str, Any] | Sequence[str],
        *,
        name: str | None = None,
        allow_violations: bool = False,
    ) -> None:
        pairs = list(weights.items() if isinstance(weights, Mapping) else weights)
        if not pairs:
            raise MultiAspectError("an order needs at least one label tuple")
        tuples = [
            tuple(number(label, "a label") for label in (key if isinstance(key, Sequence) else (key,)))
            for key, _ in pairs
        ]
        if len(set(tuples)) < len(tuples):
            twice = sorted({key for key in tuples if tuples.count(key) > 1})
            raise MultiAspectError(f"an order weighs every tuple once; given twice: {choices(twice)}")
        lengths = {len(key) for key in tuples}
        if isinstance(aspects, str):
            raise MultiAspectError(f"aspects of an order are a sequence of names, not {aspects!r}")
        n_aspects = len(aspects)
        if lengths != {n_aspects}:
            raise MultiAspectError(
                f"tuples of {choices(sorted(lengths))} labels for {n_aspects} aspects {choices(aspects)}"
            )
        if isinstance(aspects, Mapping):
            self.aspects = aspects if isinstance(aspects, Aspects) else Aspects(aspects)
        else:
            columns = zip(*tuples, strict=True)
            self.aspects = Aspects(
                {key: Aspect(sorted(set(column))) for key, column in zip(aspects, columns, strict=True)}
            )
        self.names = tuple(self.aspects)
        self.scales = tuple(aspect.scale for aspect in self.aspects.values())
        self.name = name
        self.allow_violations = bool(allow_violations)
        grades = self._grades(tuples)
        self._weights = np.array(
            [number(value, f"the weight of {key}") for key, (_, value) in zip(tuples, pairs, strict=True)],
            dtype=np.float64,
        )
        self._codes = self._code(grades)
        by_code = np.argsort(self._codes)
        self._codes, self._weights = self._codes[by_code], self._weights[by_code]
        self._tuples = [tuples[index] for index in by_code]
        if not self.allow_violations:
            self._refuse_violations(grades[by_code])
        if name in _EXPONENTS:
            raise MultiAspectError(f"the name {name!r} is that of a distance; take another name for the order")
        self._json = json.dumps(
            {
                "aspects": json.loads(self.aspects.to_json()),
                "weights": [
                    [*key, number(weight, "a weight")]
                    for key, weight in zip(self._tuples, self._weights.tolist(), strict=True)
                ],
                **({"allow_violations": True} if self.allow_violations else {}),
            },
            separators=(",", ":"),
            ensure_ascii=False,
        )
        Order.registry.add(self)

    @classmethod
    def from_distance(
        cls,
        aspects: Aspects | Mapping[str, Any],
        distance: Callable[[tuple[float, ...]], float],
        *,
        axes: str = "equal",
        name: str | None = None,
    ) -> Order:
        """Make an order from a distance of one's own.

        Parameters
        ----------
        aspects : Aspects or mapping
            Scales with declared grades, a million tuples in all at the most.
        distance : callable
            Takes the tuple of gaps, per aspect the value of the top grade less that of the
            tuple's grade, all at least 0, and returns the distance to the best tuple. It
            must not decrease when a gap grows: that, not being a metric, is what makes
            the order respect the partial order.
        axes : {'equal', 'gains'}, default 'equal'
            Whether gaps are on axes of the same length (0 to 1), or in the units of the values.
        name : str, optional
            A name for measure strings.

        Returns
        -------
        Order
            Tuples weighted by the index of their class, 0 the farthest; distances within
            1e-13 of the greatest are equal.

        Raises
        ------
        MultiAspectError
            If the distance is negative, no number, or decreases when a gap grows.

        Examples
        --------
        >>> order = Order.from_distance({"relevance": 2, "credibility": 1}, lambda gaps: 3 * gaps[0] + gaps[1])
        >>> order.weigh([(2, 0), (1, 1)])
        array([4., 3.])
        """
        declared = aspects if isinstance(aspects, Aspects) else Aspects(aspects)
        scales = [aspect.scale for aspect in declared.values()]
        n_tuples = math.prod(map(len, scales))
        if n_tuples > MAX_TUPLES:
            raise MultiAspectError(
                f"{n_tuples} label tuples are too many for a distance given as a function (at most {MAX_TUPLES})"
            )
        gaps = [[float(gap) for gap in per_grade] for per_grade in gaps_to_best(scales, check_axes(axes))]
        distances = np.array(
            [number(distance(gap), f"the distance at the gaps {gap}") for gap in product(*gaps)],
            dtype=np.float64,
        )
        if distances.min() < 0:
            raise MultiAspectError(f"a distance must not be negative, as {distances.min()} is")
        tolerance = TOLERANCE * distances.max()
        ordered = np.unique(distances)
        firsts = ordered[np.diff(ordered, prepend=-np.inf) > tolerance]
        index = len(firsts) - np.searchsorted(firsts, distances + tolerance, side="right")
        labels = product(*(scale.grades.tolist() for scale in scales))
        try:
            return cls(zip(labels, index.tolist(), strict=True), declared, name=name)
        except MultiAspectError as error:
            reason = str(error).removesuffix(_ALLOWING)
            raise MultiAspectError(f"the distance decreases although a gap grows: {reason}") from None

    def _code(self, grades: Grades) -> NDArray[np.intp]:
        codes = np.ravel_multi_index(tuple(grades.T), tuple(map(len, self.scales)))
        return np.asarray(codes, dtype=np.intp)

    def _refuse_violations(self, grades: Grades) -> None:
        if self._weights.min() < 0:
            negative = [key for key, weight in zip(self._tuples, self._weights.tolist(), strict=True) if weight < 0]
            raise MultiAspectError(
                f"negative weights put documents below worthless ones: those of {choices(negative)}.{_ALLOWING}"
            )
        found: list[str] = []
        total = 0
        for worse, grade in enumerate(grades):
            better = np.flatnonzero((grades >= grade).all(axis=1) & (self._weights < self._weights[worse])).tolist()
            total += len(better)
            found += [
                f"{self._tuples[worse]} weighs {spell(self._weights[worse].item())} but {self._tuples[other]}, "
                f"at least as good in every aspect, {spell(self._weights[other].item())}"
                for other in better[: max(0, 5 - len(found))]
            ]
        if total:
            more = f"; and {total - len(found)} more" if total > len(found) else ""
            raise MultiAspectError(
                f"the order violates the partial order of tuples (Eq. 1): {'; '.join(found)}{more}.{_ALLOWING}"
            )

    def weigh_grades(self, grades: Grades) -> NDArray[np.float64]:
        """Return the weight of each row of grade indices."""
        codes = self._code(grades)
        found = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        missing = np.flatnonzero(self._codes[found] != codes)
        if len(missing):
            labels = tuple(
                number(scale.grades[grade].item(), "a label")
                for scale, grade in zip(self.scales, grades[missing[0]], strict=True)
            )
            raise MultiAspectError(
                f"the order gives no weight to the labels {labels} of {choices(self.names)}; "
                f"it has {choices(self._tuples)}"
            )
        return self._weights[found]

    @cached_property
    def worst_weight(self) -> float:
        """The weight of a document that has every worst grade, 0 where the order leaves that out."""
        has_bottom = self._codes[0] == 0
        return float(self._weights[0]) if has_bottom else 0.0

    @cached_property
    def _levels(self) -> NDArray[np.float64]:
        floor = max(self.worst_weight, 0.0)
        return np.unique(np.append(self._weights[self._weights > floor], floor))

    @property
    def n_classes(self) -> int:
        """How many distinct weights there are from that of the worst tuple (or 0) up."""
        return len(self._levels)

    def class_of(self, weights: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the index among the distinct weights, 0 for those of the worst tuple and below."""
        return np.maximum(np.searchsorted(self._levels, weights, side="right") - 1, 0)

    @property
    def top_weight(self) -> float:
        """The greatest weight."""
        return float(self._weights.max())

    def weigh(self, labels: object) -> NDArray[np.float64]:
        """Return the weights of label tuples.

        Parameters
        ----------
        labels : array-like of shape (n_tuples, n_aspects)
            Grades in the order of the aspects.

        Returns
        -------
        ndarray of float, shape (n_tuples,)
        """
        return self.weigh_grades(self._grades(labels))

    def apply(self, qrels: pd.DataFrame, column: str = "code") -> pd.DataFrame:
        """Return the qrels with one more column, the weight of each row's labels.

        Parameters
        ----------
        qrels : DataFrame
            One numeric column per aspect of the order; ``label`` is read for the aspect ``relevance``. As
            in evaluation, NaN and labels below the lowest grade count as the lowest grade.
        column : str, default 'code'
            The name of the new column.

        Returns
        -------
        DataFrame
            A copy with the same rows, order and index. The weights are integers if all weights of
            the order are whole numbers.

        Raises
        ------
        MultiAspectError
            If a column is missing or exists already, or labels are no grades of an aspect, or the
            order gives no weight to them; the message names them.

        Examples
        --------
        >>> import pandas as pd
        >>> weights = {(0, 0): 0, (0, 1): 0, (1, 0): -1, (1, 1): 2}
        >>> order = Order(weights, ["relevance", "correct"], allow_violations=True)
        >>> qrels = pd.DataFrame({"qid": "1", "docno": ["a", "b"], "label": [1, 1], "correct": [1, 0]})
        >>> order.apply(qrels)["code"].tolist()
        [2, -1]
        """
        if column in qrels.columns:
            raise MultiAspectError(f"qrels have a column {column!r} already; pass another name as column=")
        columns = [_column_of(qrels, name) for name in self.names]
        grades = []
        for name, source, scale in zip(self.names, columns, self.scales, strict=True):
            labels = numeric(qrels[source], source)
            index, wrong = scale.positions(labels)
            if len(wrong):
                raise MultiAspectError(
                    f"column {source!r}: expected grades of {name} ({scale}), got "
                    f"{choices(spell(label) for label in np.unique(labels[wrong]).tolist())}"
                )
            grades.append(index)
        weights = self.weigh_grades(np.stack(grades, axis=1))
        whole = bool((self._weights == np.rint(self._weights)).all())
        return qrels.assign(**{column: weights.astype(np.int64) if whole else weights})

    def to_dict(self) -> dict[tuple[float, ...], float]:
        """Return the label tuples with their weights, worst grades first.

        Returns
        -------
        dict of tuple to float

        Examples
        --------
        >>> Order({(1, 0): 1, (0, 0): 0}, aspects=["relevance", "credibility"]).to_dict()
        {(0, 0): 0.0, (1, 0): 1.0}
        """
        return dict(zip(self._tuples, self._weights.tolist(), strict=True))

    def to_json(self) -> str:
        """Return the content as one compact JSON object."""
        return self._json

    @classmethod
    def from_json(cls, text: str, *, name: str | None = None) -> Order:
        """Build an order from what `to_json` gives."""
        try:
            content = json.loads(text)
            pairs = [(tuple(row[:-1]), row[-1]) for row in content["weights"]]
            aspects, allowed = content["aspects"], content.get("allow_violations", False)
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise MultiAspectError(
                'an order in JSON is {"aspects": {name: scale, …}, "weights": [[label, …, weight], …]}; '
                f"{text!r} is not: {error!r}"
            ) from None
        return cls(pairs, aspects, name=name, allow_violations=allowed)

    def spelled(self) -> str:
        """What stands in a measure's printed form: the name, or JSON."""
        return self._json if self.name is None else self.name

    def __repr__(self) -> str:
        pairs = ", ".join(f"{key}: {spell(weight)}" for key, weight in self.to_dict().items())
        named = "" if self.name is None else f", name={self.name!r}"
        violating = ", allow_violations=True" if self.allow_violations else ""
        return f"Order({{{pairs}}}, {dict(self.aspects)!r}{named}{violating})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Order) and (self._json, self.name) == (other._json, other.name)

    def __hash__(self) -> int:
        return hash((self._json, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._json, self.name)


def _restore(content: str, name: str | None) -> Order:
    return Order.from_json(content, name=name)


Order.registry = NameRegistry("an order")


def parse_order(distance: object) -> str | float | Order:
    """Read TOMA's parameter `distance` in any of the forms users and strings give it."""
    if isinstance(distance, Order):
        return distance
    if isinstance(distance, str):
        if distance.lstrip().startswith("{"):
            return Order.from_json(distance)
        registered = None if distance in _EXPONENTS else Order.registry.get(distance)
        if registered is not None:
            return registered
    if callable(distance):
        raise MultiAspectError(
            "a distance of your own becomes an order first: TOMA(distance=Order.from_distance(aspects, function))"
        )
    return check_distance(distance)
