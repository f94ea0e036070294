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
        example = _example_weights(weights)
        raise MultiAspectError(
            f"weights: expected a mapping of aspect names to numbers, got {shown(weights)}; name "
            f"the aspect of each, as in weights={example}"
        )
    weight_by_aspect: dict[str, float] = {}
    for key, value in weights.items():
        weight_by_aspect[aspect_name(key)] = number(value, f"the weight of {key}")
    # 'label' and 'relevance' are names of the same aspect.
    if len(weight_by_aspect) < len(weights):
        raise MultiAspectError(
            f"weights: expected each aspect once, got one twice in {choices(weights)}"
        )
    checked = dict(sorted(weight_by_aspect.items()))
    negative = {name: weight for name, weight in checked.items() if weight < 0}
    if negative:
        raise MultiAspectError(f"weights must be non-negative, got {negative}")
    if not any(checked.values()):
        raise MultiAspectError(f"weights: expected at least one positive number, got {checked}")
    return checked


def _example_weights(weights: object) -> str:
    """Return a dict of weights as text, for an error about weights without names of aspects.

    For the weights ``[3, 1]``, it is ``{'relevance': 3, 'credibility': 1}``.
    """
    numbers: list[Any] = [2, 1]
    if isinstance(weights, list | tuple | np.ndarray):
        numbers = list(weights)
    items = []
    for name, weight in zip(_EXAMPLES, numbers, strict=False):
        items.append(f"'{name}': {weight}")
    if len(numbers) > len(_EXAMPLES):
        items.append("…")
    content = ", ".join(items)
    return f"{{{content}}}"


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
        message += did_you_mean(unknown, missing)
        raise MultiAspectError(message)
    return [weights[name] for name in names]


def check_gate(gate: str, names: Sequence[str]) -> int:
    """Return the position of the aspect `gate` among `names`, those of the evaluated aspects."""
    name = aspect_name(gate)
    if len(names) == 1 and name not in names:
        # The only name may not be meant as an aspect, but as a set of scales that was not declared.
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
    """Return the gap between each grade and the top grade, one list per aspect.

    A gap is the difference of the gains, exact, so that equal distances are recognised. With equal
    axes, it is divided by the gap of the lowest grade, which becomes 1.
    """
    gaps_by_aspect = []
    for scale in scales:
        gains = [exact(gain) for gain in scale.gains.tolist()]
        top_gain = gains[-1]
        gaps = [top_gain - gain for gain in gains]
        widest_gap = gaps[0]
        if axes == "equal" and widest_gap != 0:
            gaps = [gap / widest_gap for gap in gaps]
        gaps_by_aspect.append(gaps)
    return gaps_by_aspect


def grade_values(scale: Scale) -> Floats:
    """Return the gain of each grade, rescaled from 0 for the lowest grade to 1 for the top one."""
    (gaps,) = gaps_to_best([scale], "equal")
    values = [float(1 - gap) for gap in gaps]
    return np.array(values)


def numeric(labels: pd.Series[Any], column: str) -> Floats:
    """Return the labels of a column as floats, NaN where missing; raise an error for others."""
    numbers = pd.to_numeric(labels, errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    is_given = labels.notna().to_numpy()
    is_text = is_given & np.isnan(values)  # was not converted
    is_faulty = is_text | np.isinf(values)
    if is_faulty.any():
        faulty = labels[is_faulty].unique()
        examples = choices(map(repr, faulty))
        raise MultiAspectError(f"column {column!r}: expected numbers, got {examples}")
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
        coordinates = []
        for scale in self.scales:
            lowest_gain = scale.gains[0]
            coordinates.append(scale.gains - lowest_gain)
        return coordinates

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
        tuples = self._all_tuples()
        possible = tuples[self.is_possible(tuples)]
        columns = self._label_columns(possible)
        labels = dict(zip(self.names, columns, strict=True))
        frame = pd.DataFrame(labels)
        frame["class"] = self.class_index(possible)
        frame["weight"] = self.weights(possible)
        return frame.sort_values(
            ["class", "weight"], ascending=False, kind="stable", ignore_index=True
        )

    def _label_columns(self, grades: Grades) -> list[Floats]:
        """Return the labels of tuples of grade indices: one array per aspect, (n_tuples,)."""
        columns = []
        for scale, aspect_grades in zip(self.scales, grades.T, strict=True):
            columns.append(scale.grades[aspect_grades])
        return columns

    @property
    def n_tuples(self) -> int:
        """The number of label tuples, the product of the numbers of grades."""
        return math.prod(map(len, self.scales))

    def _grades(self, labels: object) -> Grades:
        """Return the grade indices of label tuples, shape (n_tuples, n_aspects)."""
        try:
            rows = np.atleast_2d(np.asarray(labels, dtype=np.float64))
        except (TypeError, ValueError):
            raise MultiAspectError(
                f"expected tuples of labels that are numbers ({choices(self.names)}), got "
                f"{shown(labels)}"
            ) from None
        n_aspects = len(self.names)
        n_labels = rows.shape[1]
        if n_labels != n_aspects:
            raise MultiAspectError(
                f"expected {n_aspects} labels per tuple ({choices(self.names)}), got {n_labels}"
            )
        columns = []
        for aspect, name in enumerate(self.names):
            labels_of_aspect = rows[:, aspect].tolist()
            columns.append(_grade_indices(labels_of_aspect, name, self.scales[aspect]))
        return np.array(columns, dtype=np.intp).T

    def _all_tuples(self) -> Grades:
        """Return the grade indices of all label tuples, shape (n_tuples, n_aspects).

        The grade of the last aspect changes fastest.
        """
        if self.n_tuples > MAX_TUPLES:
            raise MultiAspectError(
                f"expected at most {MAX_TUPLES} label tuples to enumerate, got {self.n_tuples}"
            )
        n_grades = tuple(map(len, self.scales))
        # An array per aspect of its grade at each point of the grid of all tuples. For 2 and 2
        # grades, the arrays have the elements [0, 0, 1, 1] and [0, 1, 0, 1].
        grid = np.indices(n_grades, dtype=np.intp)
        n_aspects = len(n_grades)
        rows_of_aspects = grid.reshape(n_aspects, -1)
        return rows_of_aspects.T


def _grade_indices(labels: list[float], name: str, scale: Scale) -> list[int]:
    """Return the grade index of each label of the aspect `name`; raise an error for others."""
    index_of_grade: dict[float, int] = {}
    for index, grade in enumerate(scale.grades.tolist()):
        index_of_grade[grade] = index
    indices = []
    for label in labels:
        if label not in index_of_grade:
            raise MultiAspectError(
                f"expected a grade of {name} ({scale}, lowest first), got {spell(label)}"
            )
        indices.append(index_of_grade[label])
    return indices
