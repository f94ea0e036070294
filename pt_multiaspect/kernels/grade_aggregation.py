"""Aggregation of several grades per unit into one."""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Ints


def median(unit: Ints, grade: Ints, n_units: int) -> Ints:
    """Return the lower median of the grades of each unit; -1 without grades.

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
    sorted_keys = np.sort(unit * width + grade)  # faster than sorting by two keys
    sorted_grade = sorted_keys % width
    n_grades = np.bincount(unit, minlength=n_units)
    begin = np.cumsum(n_grades) - n_grades
    middle = begin + (n_grades - 1) // 2
    result = np.full(n_units, -1, dtype=np.intp)
    units = np.flatnonzero(n_grades)
    result[units] = sorted_grade[middle[units]]
    return result


def majority(unit: Ints, grade: Ints, n_units: int) -> tuple[Ints, Ints]:
    """Return the most frequent grade of each unit, and the number of tied grades.

    Of tied grades, it is the lowest. Units without grades have -1 and 0. The parameters are those
    of `median`.
    """
    width = int(grade.max(initial=0)) + 1
    cells, frequency = np.unique(unit * width + grade, return_counts=True)
    cell_unit, cell_grade = np.divmod(cells, width)
    highest = np.zeros(n_units, dtype=np.intp)
    np.maximum.at(highest, cell_unit, frequency)
    is_mode = frequency == highest[cell_unit]
    mode_unit = cell_unit[is_mode]
    mode = cell_grade[is_mode]
    result = np.full(n_units, -1, dtype=np.intp)
    # Modes are in increasing order of grades: the lowest one of a unit is assigned last.
    result[mode_unit[::-1]] = mode[::-1]
    return result, np.bincount(mode_unit, minlength=n_units)


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
