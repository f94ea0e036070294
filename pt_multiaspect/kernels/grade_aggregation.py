"""Aggregation of several grades per unit into one."""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Ints


def median(unit: Ints, grade: Ints, n_units: int) -> Ints:
    """Return the lower median of the grades of each unit, which is one of these grades; -1 without grades.

    Parameters
    ----------
    unit : ndarray of int, shape (n_grades,)
        The unit of each grade.
    grade : ndarray of int, shape (n_grades,)
        Grade indices from 0.
    n_units : int
        Number of units.
    """
    width = int(grade.max(initial=0)) + 1
    grade = np.sort(unit * width + grade) % width  # faster than sorting by two keys
    n_grades = np.bincount(unit, minlength=n_units)
    begin = np.cumsum(n_grades) - n_grades
    result = np.full(n_units, -1, dtype=np.intp)
    units = np.flatnonzero(n_grades)
    result[units] = grade[begin[units] + (n_grades[units] - 1) // 2]
    return result


def majority(unit: Ints, grade: Ints, n_units: int) -> tuple[Ints, Ints]:
    """Return the most frequent grade of each unit (of ties, the lowest), and the number of tied grades.

    The parameters are those of `median`. Units without grades have -1 and 0.
    """
    width = int(grade.max(initial=0)) + 1
    cells, times = np.unique(unit * width + grade, return_counts=True)
    cell_unit, value = np.divmod(cells, width)
    highest = np.zeros(n_units, dtype=np.intp)
    np.maximum.at(highest, cell_unit, times)
    modes = times == highest[cell_unit]
    result = np.full(n_units, -1, dtype=np.intp)
    # Cells are in increasing order of grades: the first mode of a unit is assigned last.
    result[cell_unit[modes][::-1]] = value[modes][::-1]
    return result, np.bincount(cell_unit[modes], minlength=n_units)


def mean(unit: Ints, numerator: Ints, denominator: int, n_units: int) -> Floats:
    """Return the mean of the labels ``numerator / denominator`` of each unit; NaN without labels.

    Sums of integers are exact, so equal means are equal floats.
    """
    total = np.zeros(n_units, dtype=np.int64)
    np.add.at(total, unit, numerator)
    n_labels = np.bincount(unit, minlength=n_units)
    result = np.full(n_units, np.nan)
    units = np.flatnonzero(n_labels)
    result[units] = total[units] / (n_labels[units] * denominator)
    return result
