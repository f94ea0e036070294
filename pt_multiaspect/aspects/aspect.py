"""An aspect: its grades and the gain and probability of each grade."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from itertools import pairwise
from typing import Any, NoReturn, ParamSpec, cast

import numpy as np

from .._cached import cached_property
from .._numbers import exact, number, numbers, spell
from .._typing import Floats, Ints
from ..errors import (
    MultiAspectError,
    choices,
    in_shell,
    parameter,
    refuse_none,
    refuse_unknown,
    shown,
)

#: The highest top grade of a 0..n scale.
LONGEST = 10**6

#: The named settings of `probabilities`.
_NAMED = ("linear", "identity")

_Params = ParamSpec("_Params")

_KEYS = ("grades", "gains", "probabilities", "threshold", "greater_is_better", "unjudged")


def _with_known_keys(init: Callable[_Params, None]) -> Callable[_Params, None]:
    """Decorate ``Aspect.__init__`` so that unknown parameters raise an error with a suggestion."""

    @wraps(init)
    def checked(*args: _Params.args, **kwargs: _Params.kwargs) -> None:
        refuse_unknown(kwargs, _KEYS, "parameters", "Aspect")
        init(*args, **kwargs)

    return checked


class Aspect:
    """An aspect of document quality: its grades, and the gain and probability of each grade.

    Parameters
    ----------
    grades : sequence of numbers or int, optional
        The labels in increasing order, such as ``[0, 1, 2]``; an int ``n`` means 0, 1, …, n.
        Without grades the scale is inferred from the judgments: 0 to the maximum label if all
        labels are whole numbers, else the distinct labels.
    gains : sequence of numbers, optional
        One gain per grade, in the order of `grades`: used by nDCG-like measures, and by TOMA as the
        coordinate of the grade. Gains must be non-decreasing from the lowest grade to the highest.
        By default the grades themselves (negative ones count as 0, except in TOMA); with
        ``greater_is_better=False`` their distance to the lowest grade. Declared gains may be
        negative, for harmful documents: CG, DCG, nDCG, and On and CAM over these, then have values
        below 0; other measures of gains raise an error.
    probabilities : sequence of numbers in [0, 1], 'linear' or 'identity', default 'linear'
        One probability per grade that the document satisfies the user in this aspect, multiplied
        by the gain family (uRBPgr, unDCG, uERR). ``'linear'`` maps the grades linearly
        from 0 at the lowest to 1 at the highest; ``'identity'`` takes the label itself, for columns
        of continuous probabilities.
    threshold : number, optional
        The lowest grade that binary measures count as positive. By default every grade above the
        lowest is positive.
    greater_is_better : bool, default True
        False for scales on which small labels are good, such as readability indices.
    unjudged : sequence of numbers or texts, optional
        Codes in the label column that mean "not judged", such as 3 for "could not judge", or
        ``'N/A'``. They are treated as missing labels.

    Raises
    ------
    MultiAspectError
        If grades do not increase, gains decrease, probabilities are outside [0, 1], lengths differ,
        the threshold is not a grade above the lowest, or a grade is also an unjudged code.

    Examples
    --------
    >>> Aspect(grades=[0, 1, 2], probabilities=[0, 1, 1])
    Aspect(grades=[0, 1, 2], probabilities=[0, 1, 1])
    >>> Aspect(grades=[0, 1, 2], gains=[0, 1, 3]).scale.gains
    array([0., 1., 3.])
    >>> Aspect(3)
    Aspect(grades=[0, 1, 2, 3])
    """

    #: From the lowest to the highest, or None when the scale is to be inferred.
    grades: tuple[float, ...] | None
    #: One per grade, or None for the default.
    gains: tuple[float, ...] | None
    probabilities: tuple[float, ...] | str
    threshold: float | None
    greater_is_better: bool
    #: Labels that mean "not judged": numbers in increasing order, and texts.
    unjudged: tuple[float | str, ...]
    #: Whether only the top grade was declared, so that the lowest grade, 0, is an assumption. Other
    #: properties of grades show that all of them are intended. Equal aspects may differ in this.
    by_top: bool

    @_with_known_keys
    def __init__(
        self,
        grades: Sequence[float] | int | None = None,
        *,
        gains: Sequence[float] | None = None,
        probabilities: Sequence[float] | str = "linear",
        threshold: float | None = None,
        greater_is_better: bool = True,
        unjudged: Sequence[float | str] = (),
    ) -> None:
        self.by_top = False
        listed_grades = grades
        if isinstance(grades, int | np.integer) and not isinstance(grades, bool):
            listed_grades = _grades_up_to(grades)  # from the top grade, 0 to 3 from 3
            # That the lowest grade is 0 is an assumption, of which users are warned (`by_top`),
            # unless they gave a threshold or a value per grade, for which they counted the grades.
            has_values_per_grade = gains is not None or not isinstance(probabilities, str)
            self.by_top = threshold is None and not has_values_per_grade
        self.greater_is_better = _read_greater_is_better(greater_is_better)
        # Attributes begin with the lowest grade. Gains and probabilities are listed like the grades.
        self.grades, is_reversed = _read_grades(listed_grades, self.greater_is_better)
        self.gains = self._read_gains(gains, is_reversed)
        self.probabilities = self._read_probabilities(probabilities, is_reversed)
        self.unjudged = _read_codes(unjudged)
        self._refuse_codes_as_grades()
        self.threshold = self._read_threshold(threshold)

    def _read_gains(self, gains: object, is_reversed: bool) -> tuple[float, ...] | None:
        """Return the gains, lowest grade first, or None for the default; raise an error if wrong.

        `is_reversed` tells whether they are listed with the highest grade first.
        """
        if gains is None:
            return None
        if isinstance(gains, str) and gains in _NAMED:
            raise MultiAspectError(
                f"gains: expected one number per grade, got {gains!r}, which is a setting of "
                f"probabilities: use probabilities={gains!r}"
            )
        result = self._values_by_grade(gains, "gains", is_reversed)
        if list(result) != sorted(result):
            raise MultiAspectError(
                "gains must be non-decreasing from the lowest grade to the highest: grades "
                f"{_spell_list(self.grades)} have gains {_spell_list(result)}"
            )
        return result

    def _read_probabilities(
        self, probabilities: object, is_reversed: bool
    ) -> tuple[float, ...] | str:
        """Return the probabilities, lowest grade first, or the setting; raise an error if wrong.

        `is_reversed` tells whether they are listed with the highest grade first.
        """
        if isinstance(probabilities, str):
            self._check_named_probabilities(probabilities)
            return probabilities
        result = self._values_by_grade(probabilities, "probabilities", is_reversed)
        if not all(0 <= probability <= 1 for probability in result):
            raise MultiAspectError(
                f"probabilities must be in [0, 1], got {_spell_list(result)}; numbers outside "
                "that range can be gains, gains=[…]"
            )
        return result

    def _check_named_probabilities(self, setting: str) -> None:
        """Raise an error if the setting of probabilities is unknown or contradicts the scale."""
        if setting not in _NAMED:
            names = ", ".join(map(repr, _NAMED))
            raise MultiAspectError(
                f"probabilities: expected {names} or one number per grade, got {setting!r}"
            )
        if setting == "identity" and not self.greater_is_better:
            raise MultiAspectError(
                "probabilities='identity' takes labels as probabilities of satisfaction, of which "
                "greater is better: remove greater_is_better=False"
            )

    def _refuse_codes_as_grades(self) -> None:
        """Raise an error if a code that means 'not judged' is also a grade."""
        grades = self.grades or ()
        clashing = [code for code in number_codes(self) if code in grades]
        if clashing:
            raise MultiAspectError(
                f"unjudged codes must not be grades, got {choices(map(spell, clashing))} as both; "
                f"grades: {_spell_list(self.grades)}"
            )

    def _read_threshold(self, threshold: object) -> float | None:
        """Return the lowest positive grade, None if it is not declared; raise an error if wrong."""
        if threshold is None:
            return None
        grade = number(threshold, "threshold")
        if self.grades is None:
            return grade
        # At the lowest grade, every document would be positive.
        possible = self.grades[1:]
        if grade not in possible:
            raise MultiAspectError(
                f"threshold must be a grade above the lowest (one of {_spell_list(possible)}), got "
                f"{spell(grade)}; grades, lowest first: {_spell_list(self.grades)}"
            )
        return grade

    def _values_by_grade(
        self, values: object, parameter: str, is_reversed: bool
    ) -> tuple[float, ...]:
        """Return the values of a parameter, one per grade, lowest grade first.

        `is_reversed` tells whether they are listed with the highest grade first.
        """
        if isinstance(values, Mapping):  # its keys would be read as the numbers
            raise MultiAspectError(
                f"{parameter}: expected a list of numbers, got {shown(values)}; list its values in "
                "the order of the grades"
            )
        result = numbers(values, parameter)
        if self.grades is None:
            raise MultiAspectError(f"{parameter} are given one per grade: declare the grades, too")
        n_grades = len(self.grades)
        n_values = len(result)
        if n_values != n_grades:
            raise MultiAspectError(
                f"{parameter}: expected {n_grades} numbers, one per grade "
                f"{_spell_list(self.grades)}, got {n_values}: {_spell_list(result)}"
            )
        if is_reversed:
            return result[::-1]
        return result

    @property
    def has_negative_gains(self) -> bool:
        """Return whether gains below 0 are declared.

        Grades below 0 without gains mark junk, whose gain is 0.
        """
        if self.gains is None:
            return False
        lowest_gain = self.gains[0]  # gains never decrease with the grade
        return lowest_gain < 0

    def to_spec(self) -> int | dict[str, Any]:
        """Return the content as plain numbers, lists and strings, without defaults.

        Returns
        -------
        int or dict
            The top grade alone if the aspect is a plain 0..n scale.
        """
        spec: dict[str, Any] = {}
        if self.grades is not None:
            spec["grades"] = self._sort_by_label(self.grades)
        if self.gains is not None and self._has_other_gains():
            spec["gains"] = self._sort_by_label(self.gains)
        if self.probabilities == "identity":
            spec["probabilities"] = "identity"
        elif isinstance(self.probabilities, tuple) and self._has_other_probabilities():
            spec["probabilities"] = self._sort_by_label(self.probabilities)
        # A declared threshold is kept even if it is the default: then the default is intended.
        # Two grades have only one possible threshold.
        is_only_threshold = self.grades is not None and len(self.grades) <= 2
        if self.threshold is not None and not is_only_threshold:
            spec["threshold"] = self.threshold
        if not self.greater_is_better:
            spec["greater_is_better"] = False
        if self.unjudged:
            spec["unjudged"] = list(self.unjudged)
        has_only_grades = list(spec) == ["grades"]
        if has_only_grades:
            n_grades = len(spec["grades"])
            if spec["grades"] == list(range(n_grades)):
                return n_grades - 1
        return spec

    def _has_other_gains(self) -> bool:
        """Return whether the gains are not the default ones."""
        return self.has_negative_gains or self.gains != self._default_gains()

    def _has_other_probabilities(self) -> bool:
        """Return whether the probabilities are not the default ones."""
        return self.probabilities != self._linear_probabilities()

    def _sort_by_label(self, values: tuple[float, ...]) -> list[float]:
        """Return values by grade in the order of the labels."""
        if self.greater_is_better:
            return list(values)
        return list(values[::-1])

    def declaration(self) -> object:
        """Return `to_spec`, but all grades of a plain scale if they were listed.

        Returns
        -------
        int, list or dict
            A specification that `from_spec` reads.
        """
        spec = self.to_spec()
        if self.by_top or not isinstance(spec, int):
            return spec
        return list(range(spec + 1))

    @classmethod
    def from_spec(cls, spec: object) -> Aspect:
        """Build an aspect from the output of `to_spec`, a list of grades or a top grade.

        None is an aspect whose scale is to be inferred.
        """
        if spec is None:
            return cls()
        if isinstance(spec, Aspect):
            return spec
        if isinstance(spec, Mapping):
            refuse_unknown(spec, _KEYS, "parameters", "Aspect")
            return cls(**spec)
        is_text_or_bool = isinstance(spec, str | bool)
        is_grades = isinstance(spec, Iterable | int | np.integer) and not is_text_or_bool
        if is_grades:
            return cls(cast(Any, spec))
        raise MultiAspectError(
            f"expected an Aspect, a list of grades or a top grade, got {shown(spec)}"
        )

    def _default_gains(self) -> tuple[float, ...]:
        """Return the gain of each grade by default: the grade itself if greater is better.

        Otherwise, it is the difference from the lowest grade, which has the largest label.
        """
        if self.grades is None:
            return ()
        if self.greater_is_better:
            return self.grades
        exact_grades = list(map(_rational, self.grades))
        largest_label = exact_grades[0]
        gains = []
        for label in exact_grades:
            gain = float(largest_label - label)
            gains.append(number(gain, "a gain"))
        return tuple(gains)

    def _linear_probabilities(self) -> tuple[float, ...]:
        """Return the grades mapped linearly to [0, 1], lowest grade first."""
        exact_grades = list(map(_rational, self.grades or (0,)))
        lowest = exact_grades[0]
        span = exact_grades[-1] - lowest
        if span == 0:  # a single grade has the probability 0
            span = 1
        probabilities = []
        for grade in exact_grades:
            fraction_of_span = (grade - lowest) / span
            probabilities.append(float(fraction_of_span))
        return tuple(probabilities)

    def with_grades(self, grades: Sequence[float]) -> Aspect:
        """Return this aspect with inferred `grades`, in increasing order."""
        spec = self.to_spec()
        assert isinstance(spec, dict)  # it is a number only if grades are declared
        return Aspect(**{**spec, "grades": grades})

    @cached_property
    def scale(self) -> Scale:
        """The scale as arrays, lowest grade first."""
        if self.grades is None:
            raise MultiAspectError(
                "this aspect declares no grades, so its scale is only known with judgments"
            )
        gains = self.gains or self._default_gains()
        # The probabilities are one per grade, or a setting. With the setting "identity", labels are
        # the probabilities, so that those of grades, as with "linear", are unused.
        is_identity = self.probabilities == "identity"
        probabilities = self.probabilities
        if isinstance(probabilities, str):
            probabilities = self._linear_probabilities()
        threshold_index = 1  # by default, all grades above the lowest are positive
        if self.threshold is not None:
            threshold_index = self.grades.index(self.threshold)
        return Scale(
            grades=np.asarray(self.grades, dtype=np.float64),
            gains=np.asarray(gains, dtype=np.float64),
            probabilities=np.asarray(probabilities, dtype=np.float64),
            threshold=threshold_index,
            identity=is_identity,
            greater_is_better=self.greater_is_better,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("by_top", *_KEYS)}

    def __repr__(self) -> str:
        spec = self.to_spec()
        if isinstance(spec, int):
            top_grade = spec
            spec = {"grades": list(range(top_grade + 1))}
        arguments = []
        for parameter_name, value in spec.items():
            arguments.append(f"{parameter_name}={value!r}")
        call = ", ".join(arguments)
        return f"Aspect({call})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aspect):
            return False
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _read_grades(
    listed_grades: object, greater_is_better: bool
) -> tuple[tuple[float, ...] | None, bool]:
    """Return the grades from the lowest to the highest, and whether they are listed in reverse.

    They are if smaller labels are better and the smallest label, the highest grade, is listed
    first: (1, 2, 3) -> (3, 2, 1), True.
    """
    if listed_grades is None:
        return None, False
    labels = numbers(listed_grades, "grades")
    grades = _sort_grades(labels, greater_is_better)
    is_reversed = grades != labels
    return grades, is_reversed


def _sort_grades(grades: tuple[float, ...], greater_is_better: bool) -> tuple[float, ...]:
    """Return the grades from the lowest to the highest.

    They must be listed by increasing label. If smaller labels are better, they may also be listed
    by decreasing label, which is from the lowest grade to the highest.
    """
    refuse_none(grades, "grade")
    if _are_increasing(grades):
        if greater_is_better:
            return grades
        return grades[::-1]
    is_decreasing = _are_increasing(grades[::-1])
    if is_decreasing and not greater_is_better:
        return grades
    raise MultiAspectError(
        f"expected increasing grades, each given once, got {_spell_list(grades)}"
    )


def _read_greater_is_better(value: object) -> bool:
    """Return the parameter `greater_is_better`; raise an error if it is not a bool."""
    if not isinstance(value, bool | np.bool_):
        raise MultiAspectError(f"greater_is_better: expected True or False, got {value!r}")
    return bool(value)


def _grades_up_to(top: int | np.integer[Any]) -> range:
    """Return the grades 0, 1, … of a scale declared by its top grade."""
    if not 0 <= top <= LONGEST:
        raise MultiAspectError(
            f"expected a top grade from 0 to {LONGEST}, got {top}; list the grades of other scales"
        )
    return range(int(top) + 1)


def _are_increasing(grades: tuple[float, ...]) -> bool:
    return all(low < high for low, high in pairwise(grades))


def _spell_list(values: tuple[float, ...] | None) -> str:
    """Format numbers as a list, such as "[0, 1, 2]"."""
    if not values:
        return "[]"
    listed = choices(map(spell, values))  # separated by commas
    return f"[{listed}]"


def _read_codes(codes: object) -> tuple[float | str, ...]:
    """Return codes that mean 'not judged': first numbers, then texts, each sorted.

    Texts of numbers are returned as numbers.
    """
    if isinstance(codes, str) or not isinstance(codes, Iterable):
        raise MultiAspectError(
            f"unjudged: expected a sequence of numbers or texts, got {shown(codes)}"
        )
    texts = set()
    labels = set()
    for code in codes:
        if not isinstance(code, str):
            labels.add(number(code, "unjudged"))
            continue
        try:
            labels.add(number(float(code), "unjudged"))
        except (ValueError, MultiAspectError):  # also 'nan' and 'inf'
            texts.add(code.strip())
    return (*sorted(labels), *sorted(texts))


def number_codes(aspect: Aspect) -> list[float]:
    """Return the numbers among the codes of unjudged documents."""
    return [code for code in aspect.unjudged if not isinstance(code, str)]


def text_codes(aspect: Aspect) -> list[str]:
    """Return the texts among the codes of unjudged documents."""
    return [code for code in aspect.unjudged if isinstance(code, str)]


def spell_codes(aspect: Aspect) -> str:
    """Format the codes of unjudged documents briefly, separated by commas."""
    spelled = []
    for code in aspect.unjudged:
        if isinstance(code, str):
            spelled.append(code)
        else:
            spelled.append(spell(code))
    return ", ".join(spelled)


def _rational(value: float) -> Fraction | int:
    """Return a whole number unchanged and others as fractions, so that 0.3 - 0.2 is 0.1."""
    if isinstance(value, int):
        return value
    return exact(value)


@dataclass(eq=False, kw_only=True, repr=False, slots=True)
class Scale:
    """A fully known scale as arrays, lowest grade first."""

    grades: Floats
    gains: Floats
    probabilities: Floats
    #: The index of the lowest positive grade.
    threshold: int
    #: Whether a label is its own probability.
    identity: bool
    greater_is_better: bool

    def __len__(self) -> int:
        return len(self.grades)

    def positions(self, labels: Floats) -> tuple[Ints, Ints]:
        """Return the grade index of each label, and the rows whose label is not a grade.

        NaN and labels below the lowest grade count as the lowest grade.
        """
        grades = self.grades
        filled = np.where(np.isnan(labels), grades[0], labels)
        if not self.greater_is_better:
            # The lowest grade is the largest label. Negated, grades increase, as a search requires.
            grades = -grades
            filled = -filled
        raised = np.maximum(filled, grades[0])
        index = np.searchsorted(grades, raised)  # of the first grade that is not below the label
        # No grade is that for a label above the highest grade: it gets the highest.
        index = np.minimum(index, len(grades) - 1)
        is_no_grade = grades[index] != raised
        return index.astype(np.intp), np.flatnonzero(is_no_grade)

    def reaches(self, rel: float) -> bool:
        """Return whether the top grade counts as relevant with an explicit ``rel``."""
        top = self.grades[-1]
        if self.greater_is_better:
            return bool(top >= rel)
        return bool(top <= rel)

    @property
    def is_fractional(self) -> bool:
        """Return whether any grade is not a whole number."""
        is_fraction = self.grades != np.floor(self.grades)
        return bool(is_fraction.any())

    def __str__(self) -> str:
        spelled = list(map(spell, self.grades.tolist()))
        if len(spelled) > 12:
            first = spelled[:5]
            last = spelled[-3:]
            spelled = [*first, "…", *last]
        return ", ".join(spelled)


def infer_grades(labels: Floats, name: str, *, identity: bool = False) -> tuple[float, ...]:
    """Infer the grades of the aspect `name` from its labels (NaN if unjudged), in increasing order.

    Whole numbers give 0..max, other labels the distinct ones. Negative labels count as 0: by TREC's
    convention they mark junk. Probabilities (`identity`) always start at 0.
    """
    known = labels[~np.isnan(labels)]
    non_negative = np.maximum(known, 0.0)
    if identity:
        non_negative = np.append(non_negative, 0.0)
    if len(non_negative) == 0:
        return (0,)
    distinct = np.unique(non_negative)
    are_whole_numbers = np.all(distinct == np.floor(distinct))
    if identity or not are_whole_numbers:
        return tuple(number(grade, "a label") for grade in distinct.tolist())
    top = int(distinct[-1])
    if top > LONGEST:
        _refuse_large_label(top, name)
    return tuple(range(top + 1))


def _refuse_large_label(label: int, name: str) -> NoReturn:
    """Raise the error about a label of the aspect `name` that is too large for a scale."""
    if in_shell():
        remedy = f"leave its file out of {parameter('qrels')}"
    else:
        selection = parameter("aspects", ["relevance", "…"])
        remedy = f"select other columns, as in {selection}"
    raise MultiAspectError(
        f"{name}: expected labels up to {LONGEST} to infer a scale 0..n, got {label}. If the "
        f"column contains times or ids, {remedy}; if labels, declare the grades with "
        f"{parameter('aspects')}"
    )


def unjudged_codes(codes: str) -> str:
    """Return how to declare codes that mean 'not judged', for messages."""
    if in_shell():
        option = parameter("aspects")
        return f'"unjudged": [{codes}] in {option} FILE'
    return f"Aspect(unjudged=[{codes}])"
