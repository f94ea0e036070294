"""Aggregation of several grades per unit into one."""

from __future__ import annotations

from typing import NamedTuple

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
    # Sort by unit, then by grade, so that the grades of a unit are adjacent. `lexsort` sorts by its
    # last key first.
    order = np.lexsort((grade, unit))
    sorted_grade = grade[order]
    n_grades = np.bincount(unit, minlength=n_units)
    first_of_unit = np.cumsum(n_grades) - n_grades
    # Of an even number of grades, the lower one in the middle is taken: of 4, that at index 1.
    index_in_unit = (n_grades - 1) // 2
    index_of_median = first_of_unit + index_in_unit
    medians = np.full(n_units, -1, dtype=np.intp)
    has_grades = n_grades > 0
    medians[has_grades] = sorted_grade[index_of_median[has_grades]]
    return medians


def majority(unit: Ints, grade: Ints, n_units: int) -> tuple[Ints, Ints]:
    """Return the most frequent grade of each unit, and the number of tied grades.

    Of tied grades, it is the lowest. Units without grades have -1 and 0. The parameters are those
    of `median`.
    """
    counted = _count_grades(unit, grade)  # the grades of each unit, with their frequencies
    highest_frequency = np.zeros(n_units, dtype=np.intp)
    np.maximum.at(highest_frequency, counted.unit, counted.frequency)
    # The modes of a unit are its grades with the highest frequency.
    highest_of_unit = highest_frequency[counted.unit]
    is_mode = counted.frequency == highest_of_unit
    mode_unit = counted.unit[is_mode]
    mode_grade = counted.grade[is_mode]
    n_modes = np.bincount(mode_unit, minlength=n_units)

    # Modes are sorted by unit, then by grade: the first one of each unit is the lowest.
    units_with_modes, first_of_unit = np.unique(mode_unit, return_index=True)
    lowest_mode = np.full(n_units, -1, dtype=np.intp)
    lowest_mode[units_with_modes] = mode_grade[first_of_unit]
    return lowest_mode, n_modes


class _Frequencies(NamedTuple):
    """The grades that each unit has, sorted by unit and grade, and how often it has them."""

    unit: Ints
    grade: Ints
    frequency: Ints


def _count_grades(unit: Ints, grade: Ints) -> _Frequencies:
    """Count how often each unit has each grade, given one element per label."""
    # One number stands for a unit and a grade, like the digits of a number: with three grades,
    # grade 2 of unit 5 is 5 · 3 + 2 = 17.
    n_grades = int(grade.max(initial=0)) + 1
    pair = unit * n_grades + grade
    distinct_pairs, frequency = np.unique(pair, return_counts=True)
    pair_unit, pair_grade = np.divmod(distinct_pairs, n_grades)
    return _Frequencies(pair_unit, pair_grade, frequency)


def mean(unit: Ints, numerator: Ints, denominator: int, n_units: int) -> Floats:
    """Return the mean of the labels ``numerator / denominator`` of each unit; NaN without labels.

    Sums of integers are exact, so equal means are equal floats.
    """
    total = np.zeros(n_units, dtype=np.int64)
    np.add.at(total, unit, numerator)
    n_labels = np.bincount(unit, minlength=n_units)
    means = np.full(n_units, np.nan)
    has_labels = np.flatnonzero(n_labels)
    scaled_counts = n_labels[has_labels] * denominator
    means[has_labels] = total[has_labels] / scaled_counts
    return means
