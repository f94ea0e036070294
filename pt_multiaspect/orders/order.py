"""What every order of label tuples answers, and what orders and measures check alike."""

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
from ..aspects.aspect import Aspect, Scale
from ..aspects.aspects import Aspects, aspect_name
from ..errors import MultiAspectError, choices

__all__ = ["TupleOrder"]

AXES = ("equal", "gains")
#: Tables and user-given distances go through all tuples, up to so many.
MAX_TUPLES = 10**6
#: Distances this close, relative to the greatest, are equal where they cannot be exact.
TOLERANCE = 1e-13

Grades = NDArray[np.intp]
"""Grade indices, 0 the lowest, of shape (documents, aspects)."""


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
    aspect is at 1, unless all its grades have the same gain.
    """
    result = []
    for scale in scales:
        gains = [exact(gain) for gain in scale.gains.tolist()]
        unit = (gains[-1] - gains[0] if axes == "equal" else Fraction(1)) or Fraction(1)
        result.append([(gains[-1] - gain) / unit for gain in gains])
    return result


def numeric(labels: pd.Series[Any], column: str) -> NDArray[np.float64]:
    """Return the labels of a column as floats, NaN where missing."""
    values = pd.to_numeric(labels, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    faulty = labels[(np.isnan(values) & labels.notna().to_numpy()) | np.isinf(values)]
    if len(faulty):
        raise MultiAspectError(f"column {column!r}: expected numbers, got {choices(map(repr, faulty.unique()))}")
    return np.asarray(values, dtype=np.float64)


def times(label: float, constant: float) -> float:
    """Return a product as the decimals say: 0.3 times 3 is 0.9."""
    return number(float(exact(label) * Fraction(constant)), "a label")


def scaled_aspects(aspects: Aspects, constants: Sequence[float]) -> Aspects:
    """Return aspects with the grades, gains and threshold of each multiplied by its constant."""
    scaled = {}
    for (name, aspect), constant in zip(aspects.items(), constants, strict=True):
        scale = aspect.scale
        grades = [times(grade, constant) for grade in scale.grades.tolist()]
        scaled[name] = Aspect(
            grades,
            gains=[times(gain, constant) for gain in scale.gains.tolist()],
            probabilities="identity" if scale.identity else scale.probabilities.tolist(),
            threshold=grades[scale.threshold] if scale.threshold < len(grades) else None,
            greater_is_better=scale.greater_is_better,
        )
    return Aspects(scaled)


class TupleOrder(ABC):
    """An order of label tuples: what TOMA, plots and axiom checks ask of one.

    Tuples are rows of grade indices, 0 the lowest grade, of shape (n_tuples, n_aspects).
    """

    aspects: Aspects
    names: tuple[str, ...]
    scales: tuple[Scale, ...]
    #: What stretches the axis of each aspect, where there are axes.
    aspect_weights: dict[str, float] | None = None

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters of TOMA that give this order."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """How many classes of equally good tuples there are."""

    @property
    @abstractmethod
    def top_weight(self) -> float:
        """The weight of the best tuple."""

    @property
    def worst_weight(self) -> float:
        """The weight of the tuple of all lowest grades."""
        return 0.0

    @abstractmethod
    def class_index(self, grades: Grades) -> NDArray[np.intp]:
        """Return the class of each tuple, 0 for the lowest."""

    @abstractmethod
    def weights(self, grades: Grades) -> NDArray[np.float64]:
        """Return the gain of each tuple for graded measures; negative for harmful tuples."""

    @abstractmethod
    def closeness(self, grades: Grades) -> NDArray[np.float64]:
        """Return how close each tuple is to the best one, which has 1, without numbering classes."""

    @abstractmethod
    def above_worst(self, grades: Grades) -> NDArray[np.bool_]:
        """Tell which tuples are in a class above the lowest, without numbering classes."""

    @abstractmethod
    def is_possible(self, grades: Grades) -> NDArray[np.bool_]:
        """Tell which tuples the order has a place for."""

    @abstractmethod
    def rescaled(self, constants: Sequence[float]) -> TupleOrder:
        """Return the same order with the labels of each aspect multiplied by its constant."""

    def coordinates(self) -> list[NDArray[np.float64]]:
        """Return the position of each grade on the axis of its aspect."""
        return [scale.gains - scale.gains[0] for scale in self.scales]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per possible tuple, best first.

        Returns
        -------
        DataFrame
            A column of labels per aspect, ``class`` (0 the lowest) and ``weight``.

        Raises
        ------
        MultiAspectError
            If there are more than a million tuples.
        """
        grades = self._all_tuples()
        grades = grades[self.is_possible(grades)]
        labels = {
            name: scale.grades[column]
            for name, scale, column in zip(self.names, self.scales, grades.T, strict=True)
        }
        frame = pd.DataFrame(labels).assign(**{"class": self.class_index(grades), "weight": self.weights(grades)})
        return frame.sort_values(["class", "weight"], ascending=False, kind="stable", ignore_index=True)

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
