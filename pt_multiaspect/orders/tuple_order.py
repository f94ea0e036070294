"""The interface of orders of label tuples, and checks shared by orders and measures."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._numbers import exact, number, spell
from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..aspects import Aspects, Scale, aspect_name
from ..errors import MultiAspectError, choices, did_you_mean, refuse_unknown, shown

AXES = ("equal", "gains")
#: Maximum number of tuples that tables and user-defined distances enumerate.
MAX_TUPLES = 10**6
#: Tolerance, relative to the maximum, for equality of distances that cannot be computed exactly.
TOLERANCE = 1e-13

Grades = Ints
"""Grade indices of shape (n_documents, n_aspects). 0 is the lowest grade."""


#: Aspects in the example of an error.
_EXAMPLES = ("relevance", "credibility", "understandability")


def check_weights(weights: object) -> dict[str, float] | None:
    """Validate weights and return them as floats, sorted by aspect name."""
    if weights is None:
        return None
    if not isinstance(weights, Mapping) or not weights:
        raise MultiAspectError(
            f"weights: expected a mapping of aspect names to numbers, got {shown(weights)}; name "
            f"the aspect of each, as in weights={{{_example_weights(weights)}}}"
        )
    named = []
    for key, value in weights.items():
        name = aspect_name(key)
        weight = number(value, f"the weight of {key}")
        named.append((name, weight))
    checked = dict(sorted(named))
    if len(checked) < len(named):
        raise MultiAspectError(
            f"weights: expected each aspect once, got one twice in {choices(weights)}"
        )
    negative = {key: value for key, value in checked.items() if value < 0}
    if negative:
        raise MultiAspectError(f"weights must be non-negative, got {negative}")
    if not any(checked.values()):
        raise MultiAspectError(f"weights: expected at least one positive number, got {checked}")
    return checked


def _example_weights(weights: object) -> str:
    """Return the items of an example, with the numbers that were passed if these have no names."""
    numbers: list[Any] = [2, 1]
    if isinstance(weights, list | tuple | np.ndarray):
        numbers = list(weights)
    named = zip(_EXAMPLES, numbers, strict=False)
    items = [f"'{name}': {weight}" for name, weight in named]
    example = ", ".join(items)
    if len(numbers) > len(_EXAMPLES):
        return f"{example}, …"
    return example


def weights_of(weights: Mapping[str, float] | None, names: Sequence[str]) -> list[float]:
    """Return one weight per aspect in `names`, or 1 for every aspect if `weights` is None."""
    if weights is None:
        return [1.0] * len(names)
    unknown = sorted(set(weights) - set(names))
    missing = [name for name in names if name not in weights]
    if unknown or missing:
        message = (
            f"weights: expected one per evaluated aspect ({choices(names)}), got weights for "
            f"{choices(weights)}"
        )
        if unknown:
            message += f"; unknown aspect: {choices(unknown)}"
        if missing:
            message += f"; add a weight for {choices(missing)} (0 excludes an aspect)"
        raise MultiAspectError(message + did_you_mean(unknown, missing))
    return [weights[name] for name in names]


def check_gate(gate: str, names: Sequence[str]) -> int:
    """Return the position of the aspect `gate` among `names`."""
    name = aspect_name(gate)
    if len(names) == 1 and name not in names:
        raise MultiAspectError(
            f"gate: expected one of the evaluated aspects ({names[0]}), got {name}; evaluate it, "
            f"too, or, if {names[0]!r} is a name of scales, declare them: Aspects({{...}}, "
            f"name={names[0]!r})"
        )
    refuse_unknown([name], names, "one of the evaluated aspects", "gate")
    return list(names).index(name)


def check_axes(axes: object) -> str:
    """Validate the scaling of the axes and return it."""
    return str(choice("axes", *AXES)(axes))


def gaps_to_best(scales: Iterable[Scale], axes: str) -> list[list[Fraction]]:
    """Return, per aspect and grade, the gap between the grade and the top grade on its axis.

    Gaps are exact, so equal distances are recognised. With equal axes, the gap of the lowest grade
    is 1 for every aspect, unless all its grades have the same gain.
    """
    result = []
    for scale in scales:
        gains = [exact(gain) for gain in scale.gains.tolist()]
        unit = Fraction(1)
        if axes == "equal" and gains[-1] != gains[0]:
            unit = gains[-1] - gains[0]
        result.append([(gains[-1] - gain) / unit for gain in gains])
    return result


def grade_values(scale: Scale) -> Floats:
    """Return the gain of each grade, rescaled from 0 for the lowest grade to 1 for the top one."""
    gaps = gaps_to_best([scale], "equal")[0]
    return np.array([float(1 - gap) for gap in gaps])


def numeric(labels: pd.Series[Any], column: str) -> Floats:
    """Return the labels of a column as floats, NaN where missing."""
    numbers = pd.to_numeric(labels, errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    is_other = np.isnan(values) & labels.notna().to_numpy()
    faulty = labels[is_other | np.isinf(values)]
    if len(faulty):
        raise MultiAspectError(
            f"column {column!r}: expected numbers, got {choices(map(repr, faulty.unique()))}"
        )
    return np.asarray(values, dtype=np.float64)


class TupleOrder(ABC):
    """The interface of orders of label tuples, used by TOMA and plots.

    An order divides the label tuples into classes of equally good tuples and gives each tuple a
    weight. `TOMA.order` returns the order of a measure.

    Attributes
    ----------
    aspects : Aspects
        The aspects with their grades.
    names : tuple of str
        The names of the aspects, in the order of the labels in a tuple.
    scales : tuple
        The scale of each aspect, in the same order.
    aspect_weights : dict of str to float, or None
        Factor by which the axis of each aspect is stretched, for orders that have axes.

    Notes
    -----
    Methods take tuples as *grade indices*, an int array of shape (n_tuples, n_aspects): 0 is the
    lowest grade of an aspect, 1 the next higher grade, and so on.

    References
    ----------
    Maistro et al., CIKM 2021, Eq. 1 (the partial order of tuples).

    Examples
    --------
    >>> import numpy as np
    >>> from pt_multiaspect import TOMA
    >>> order = TOMA(distance="manhattan").order({"relevance": 2, "credibility": 1})
    >>> order.names, order.n_tuples, order.n_classes
    (('relevance', 'credibility'), 6, 5)
    >>> grades = np.array([[0, 0], [1, 0], [2, 1]])
    >>> order.class_index(grades)
    array([0, 1, 4])
    >>> order.closeness(grades)
    array([0.  , 0.25, 1.  ])
    """

    aspects: Aspects
    names: tuple[str, ...]
    scales: tuple[Scale, ...]
    aspect_weights: dict[str, float] | None = None

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters of TOMA that give this order."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes of equally good tuples."""

    @property
    @abstractmethod
    def top_weight(self) -> float:
        """The weight of the best tuple."""

    @property
    def worst_weight(self) -> float:
        """The weight of the tuple of all lowest grades."""
        return 0.0

    @abstractmethod
    def class_index(self, grades: Grades) -> Ints:
        """Return the class of each tuple.

        Parameters
        ----------
        grades : ndarray of int, shape (n_tuples, n_aspects)
            Grade indices, 0 for the lowest grade.

        Returns
        -------
        ndarray of int, shape (n_tuples,)
            From 0 for the lowest class to ``n_classes - 1`` for the best.

        Raises
        ------
        MultiAspectError
            If the order has no weight for a tuple, or has more than a million classes.
        """

    @abstractmethod
    def weights(self, grades: Grades) -> Floats:
        """Return the gain of each tuple for graded measures.

        Parameters
        ----------
        grades : ndarray of int, shape (n_tuples, n_aspects)
            Grade indices, 0 for the lowest grade.

        Returns
        -------
        ndarray of float, shape (n_tuples,)
            At most `top_weight`. Harmful tuples have negative weights.

        Raises
        ------
        MultiAspectError
            If the order has no weight for a tuple, or has more than a million classes.
        """

    @abstractmethod
    def closeness(self, grades: Grades) -> Floats:
        """Return the closeness of each tuple to the best tuple, without computing classes.

        Parameters
        ----------
        grades : ndarray of int, shape (n_tuples, n_aspects)
            Grade indices, 0 for the lowest grade.

        Returns
        -------
        ndarray of float, shape (n_tuples,)
            At most 1. Harmful tuples have negative values.

        Raises
        ------
        MultiAspectError
            If the order has no weight for a tuple.
        """

    def described(self, grades: Grades) -> dict[str, NDArray[Any]]:
        """Return the class of each tuple and the quantity that determines it, by name.

        Parameters
        ----------
        grades : ndarray of int, shape (n_tuples, n_aspects)
            Grade indices, 0 for the lowest grade.

        Returns
        -------
        dict of str to ndarray, shape (n_tuples,)
            The ``class`` of each tuple, and its ``weight`` or, for orders by distance, its
            ``distance`` to the best tuple.

        Raises
        ------
        MultiAspectError
            If the order has no weight for a tuple.
        """
        return {"class": self.class_index(grades), "weight": self.weights(grades)}

    @abstractmethod
    def above_worst(self, grades: Grades) -> Bools:
        """Return a mask of the tuples in a class above the lowest, without computing classes.

        Parameters
        ----------
        grades : ndarray of int, shape (n_tuples, n_aspects)
            Grade indices, 0 for the lowest grade.

        Returns
        -------
        ndarray of bool, shape (n_tuples,)
            True for the tuples of class 1 and higher.

        Raises
        ------
        MultiAspectError
            If the order has no weight for a tuple.
        """

    @abstractmethod
    def is_possible(self, grades: Grades) -> Bools:
        """Return a mask of the possible tuples: those not excluded by a gate, and with a weight.

        Parameters
        ----------
        grades : ndarray of int, shape (n_tuples, n_aspects)
            Grade indices, 0 for the lowest grade.

        Returns
        -------
        ndarray of bool, shape (n_tuples,)
            False for impossible tuples.
        """

    def coordinates(self) -> list[Floats]:
        """Return the position of each grade on the axis of its aspect.

        Returns
        -------
        list of ndarray of float, shape (n_grades,)
            One array per aspect, starting with 0 for the lowest grade. The axes of an order by
            distance are rescaled and stretched as for its distances.
        """
        return [scale.gains - scale.gains[0] for scale in self.scales]

    def to_frame(self) -> pd.DataFrame:
        """Return the possible tuples as a frame with one row per tuple, best first.

        Returns
        -------
        DataFrame
            One column of labels per aspect, ``class`` (0 is the lowest) and ``weight``.

        Raises
        ------
        MultiAspectError
            If there are more than a million tuples.
        """
        grades = self._all_tuples()
        grades = grades[self.is_possible(grades)]
        columns = zip(self.names, self.scales, grades.T, strict=True)
        labels = {name: scale.grades[column] for name, scale, column in columns}
        frame = pd.DataFrame(labels)
        frame["class"] = self.class_index(grades)
        frame["weight"] = self.weights(grades)
        return frame.sort_values(
            ["class", "weight"], ascending=False, kind="stable", ignore_index=True
        )

    @property
    def n_tuples(self) -> int:
        """The number of label tuples, the product of the numbers of grades."""
        return math.prod(map(len, self.scales))

    def _grades(self, labels: object) -> Grades:
        try:
            rows = np.atleast_2d(np.asarray(labels, dtype=np.float64))
        except (TypeError, ValueError):
            raise MultiAspectError(
                f"expected tuples of labels that are numbers ({choices(self.names)}), got "
                f"{shown(labels)}"
            ) from None
        if rows.shape[1] != len(self.names):
            raise MultiAspectError(
                f"expected {len(self.names)} labels per tuple ({choices(self.names)}), got "
                f"{rows.shape[1]}"
            )
        columns = []
        for column, name, scale in zip(rows.T, self.names, self.scales, strict=True):
            labels_of_aspect = column.tolist()
            positions = {grade: index for index, grade in enumerate(scale.grades.tolist())}
            unknown = [label for label in labels_of_aspect if label not in positions]
            if unknown:
                raise MultiAspectError(
                    f"expected a grade of {name} ({scale}, lowest first), got {spell(unknown[0])}"
                )
            columns.append([positions[label] for label in labels_of_aspect])
        return np.array(columns, dtype=np.intp).T

    def _all_tuples(self) -> Grades:
        if self.n_tuples > MAX_TUPLES:
            raise MultiAspectError(
                f"expected at most {MAX_TUPLES} label tuples to enumerate, got {self.n_tuples}"
            )
        shape = tuple(map(len, self.scales))
        by_aspect = np.indices(shape, dtype=np.intp)
        return by_aspect.reshape(len(shape), -1).T
