"""An aspect: its grades and the gain and probability of each grade."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from itertools import pairwise
from typing import Any, ParamSpec, cast

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
        if isinstance(grades, int | np.integer) and not isinstance(grades, bool):
            has_named_probabilities = isinstance(probabilities, str)
            self.by_top = gains is None and has_named_probabilities and threshold is None
            if not 0 <= grades <= LONGEST:
                raise MultiAspectError(
                    f"expected a top grade from 0 to {LONGEST}, got {grades}; list the grades of "
                    "other scales"
                )
            grades = range(int(grades) + 1)
        if not isinstance(greater_is_better, bool | np.bool_):
            raise MultiAspectError(
                f"greater_is_better: expected True or False, got {greater_is_better!r}"
            )
        self.greater_is_better = bool(greater_is_better)
        self.grades = None
        is_reversed = not self.greater_is_better
        if grades is not None:
            listed = numbers(grades, "grades")
            self.grades = _sort_grades(listed, self.greater_is_better)
            is_reversed = is_reversed and _are_increasing(listed)
        self.gains = self._read_gains(gains, is_reversed)
        self.probabilities = self._read_probabilities(probabilities, is_reversed)
        self.unjudged = _read_codes(unjudged)
        self._refuse_codes_as_grades()
        self.threshold = self._read_threshold(threshold)

    def _read_gains(self, gains: object, is_reversed: bool) -> tuple[float, ...] | None:
        if gains is None:
            return None
        if isinstance(gains, str) and gains in _NAMED:
            raise MultiAspectError(
                f"gains: expected one number per grade, got {gains!r}, which is a setting of "
                f"probabilities: use probabilities={gains!r}"
            )
        result = self._values_by_grade(gains, "gains", is_reversed)
        if not all(low <= high for low, high in pairwise(result)):
            raise MultiAspectError(
                "gains must be non-decreasing from the lowest grade to the highest: grades "
                f"{_spell_list(self.grades)} have gains {_spell_list(result)}"
            )
        return result

    def _read_probabilities(
        self, probabilities: object, is_reversed: bool
    ) -> tuple[float, ...] | str:
        if not isinstance(probabilities, str):
            result = self._values_by_grade(probabilities, "probabilities", is_reversed)
            if not all(0 <= probability <= 1 for probability in result):
                raise MultiAspectError(
                    f"probabilities must be in [0, 1], got {_spell_list(result)}; numbers outside "
                    "that range can be gains, gains=[…]"
                )
            return result
        if probabilities not in _NAMED:
            names = ", ".join(map(repr, _NAMED))
            raise MultiAspectError(
                f"probabilities: expected {names} or one number per grade, got {probabilities!r}"
            )
        if probabilities == "identity" and not self.greater_is_better:
            raise MultiAspectError(
                "probabilities='identity' takes labels as probabilities of satisfaction, of which "
                "greater is better: remove greater_is_better=False"
            )
        return probabilities

    def _refuse_codes_as_grades(self) -> None:
        grades = self.grades or ()
        clashing = [code for code in number_codes(self) if code in grades]
        if clashing:
            raise MultiAspectError(
                f"unjudged codes must not be grades, got {choices(map(spell, clashing))} as both; "
                f"grades: {_spell_list(self.grades)}"
            )

    def _read_threshold(self, threshold: object) -> float | None:
        if threshold is None:
            return None
        grade = number(threshold, "threshold")
        if self.grades is not None and grade not in self.grades[1:]:
            raise MultiAspectError(
                f"threshold must be a grade above the lowest (one of "
                f"{_spell_list(self.grades[1:])}), got {spell(grade)}; grades, lowest first: "
                f"{_spell_list(self.grades)}"
            )
        return grade

    def _values_by_grade(
        self, values: object, parameter: str, is_reversed: bool
    ) -> tuple[float, ...]:
        if isinstance(values, Mapping):  # its keys would be read as the numbers
            raise MultiAspectError(
                f"{parameter}: expected a list of numbers, got {shown(values)}; list its values in "
                "the order of the grades"
            )
        result = numbers(values, parameter)
        if self.grades is None:
            raise MultiAspectError(f"{parameter} are given one per grade: declare the grades, too")
        if len(result) != len(self.grades):
            raise MultiAspectError(
                f"{parameter}: expected {len(self.grades)} numbers, one per grade "
                f"{_spell_list(self.grades)}, got {len(result)}: {_spell_list(result)}"
            )
        if is_reversed:
            return result[::-1]
        return result

    @property
    def has_negative_gains(self) -> bool:
        """Return whether gains below 0 are declared.

        Grades below 0 without gains mark junk, whose gain is 0.
        """
        return self.gains is not None and self.gains[0] < 0

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
        has_one_threshold = self.grades is not None and len(self.grades) <= 2
        if self.threshold is not None and not has_one_threshold:
            spec["threshold"] = self.threshold
        if not self.greater_is_better:
            spec["greater_is_better"] = False
        if self.unjudged:
            spec["unjudged"] = list(self.unjudged)
        if list(spec) == ["grades"]:
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
        """Build an aspect from the output of `to_spec`, a list of grades or a top grade."""
        if isinstance(spec, Aspect):
            return spec
        if isinstance(spec, Mapping):
            refuse_unknown(spec, _KEYS, "parameters", "Aspect")
            return cls(**spec)
        is_text_or_bool = isinstance(spec, str | bool)
        if spec is None:
            return cls()
        if isinstance(spec, Iterable | int | np.integer) and not is_text_or_bool:
            return cls(cast(Any, spec))
        raise MultiAspectError(
            f"expected an Aspect, a list of grades or a top grade, got {shown(spec)}"
        )

    def _default_gains(self) -> tuple[float, ...]:
        if self.greater_is_better or self.grades is None:
            return self.grades or ()
        grades = [_rational(grade) for grade in self.grades]
        return tuple(number(float(grades[0] - grade), "a gain") for grade in grades)

    def _linear_probabilities(self) -> tuple[float, ...]:
        grades = [_rational(grade) for grade in self.grades or (0,)]
        lowest = grades[0]
        span = grades[-1] - lowest or 1
        return tuple(float((grade - lowest) / span) for grade in grades)

    def with_grades(self, grades: Sequence[float]) -> Aspect:
        """Return this aspect with inferred `grades`, in increasing order."""
        spec = self.to_spec()
        assert isinstance(spec, dict)
        return Aspect(**{**spec, "grades": grades})

    @cached_property
    def scale(self) -> Scale:
        """The scale as arrays, lowest grade first."""
        if self.grades is None:
            raise MultiAspectError(
                "this aspect declares no grades, so its scale is only known with judgments"
            )
        gains = self.gains or self._default_gains()
        if isinstance(self.probabilities, str):
            probabilities = self._linear_probabilities()
        else:
            probabilities = self.probabilities
        if self.threshold is None:
            threshold = 1
        else:
            threshold = self.grades.index(self.threshold)
        return Scale(
            grades=np.asarray(self.grades, dtype=np.float64),
            gains=np.asarray(gains, dtype=np.float64),
            probabilities=np.asarray(probabilities, dtype=np.float64),
            threshold=threshold,
            identity=self.probabilities == "identity",
            greater_is_better=self.greater_is_better,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("by_top", *_KEYS)}

    def __repr__(self) -> str:
        spec = self.to_spec()
        if isinstance(spec, int):
            spec = {"grades": list(range(spec + 1))}
        parameters = [f"{key}={value!r}" for key, value in spec.items()]
        return f"Aspect({', '.join(parameters)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aspect) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _sort_grades(grades: tuple[float, ...], greater_is_better: bool) -> tuple[float, ...]:
    """Return the grades from the lowest to the highest."""
    refuse_none(grades, "grade")
    is_increasing = _are_increasing(grades)
    is_decreasing = _are_increasing(grades[::-1])
    if greater_is_better and is_increasing:
        return grades
    if not greater_is_better and is_increasing:
        return grades[::-1]
    if not greater_is_better and is_decreasing:
        return grades
    raise MultiAspectError(
        f"expected increasing grades, each given once, got {_spell_list(grades)}"
    )


def _are_increasing(grades: tuple[float, ...]) -> bool:
    return all(low < high for low, high in pairwise(grades))


def _spell_list(values: tuple[float, ...] | None) -> str:
    """Format numbers as a list."""
    if not values:
        return "[]"
    return f"[{choices(map(spell, values))}]"


def _read_codes(codes: object) -> tuple[float | str, ...]:
    """Return codes that mean 'not judged'; texts of numbers are numbers."""
    if isinstance(codes, str) or not isinstance(codes, Iterable):
        raise MultiAspectError(
            f"unjudged: expected a sequence of numbers or texts, got {shown(codes)}"
        )
    texts, labels = set(), set()
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
        if self.greater_is_better:
            sign = 1.0
        else:
            sign = -1.0
        upwards = sign * self.grades
        known = np.where(np.isnan(labels), self.grades[0], labels)
        known_upwards = np.maximum(known * sign, upwards[0])
        index = np.searchsorted(upwards, known_upwards)
        index = np.minimum(index, len(upwards) - 1)
        wrong = np.flatnonzero(upwards[index] != known_upwards)
        return index.astype(np.intp), wrong

    def reaches(self, rel: float) -> bool:
        """Return whether the top grade counts as relevant with an explicit ``rel``."""
        top = self.grades[-1]
        if self.greater_is_better:
            return bool(top >= rel)
        return bool(top <= rel)

    @property
    def is_fractional(self) -> bool:
        """Whether any grade is not a whole number."""
        return bool((self.grades != np.floor(self.grades)).any())

    def __str__(self) -> str:
        spelled = list(map(spell, self.grades.tolist()))
        if len(spelled) > 12:
            spelled = [*spelled[:5], "…", *spelled[-3:]]
        return ", ".join(spelled)


def infer_grades(labels: Floats, name: str, *, identity: bool = False) -> tuple[float, ...]:
    """Infer the grades of the aspect `name` from its labels (NaN if unjudged), in increasing order.

    Whole numbers give 0..max, other labels the distinct ones. Negative labels count as 0: by TREC's
    convention they mark junk. Probabilities (`identity`) always start at 0.
    """
    known = np.maximum(labels[~np.isnan(labels)], 0.0)
    if identity:
        known = np.append(known, 0.0)
    if not len(known):
        return (0,)
    distinct = np.unique(known)
    if not identity and np.all(distinct == np.floor(distinct)):
        top = int(distinct[-1])
        if top > LONGEST:
            if in_shell():
                remedy = f"leave its file out of {parameter('qrels')}"
            else:
                remedy = f"select other columns, as in {parameter('aspects', ['relevance', '…'])}"
            raise MultiAspectError(
                f"{name}: expected labels up to {LONGEST} to infer a scale 0..n, got {top}. If the "
                f"column contains times or ids, {remedy}; if labels, declare the grades with "
                f"{parameter('aspects')}"
            )
        return tuple(range(top + 1))
    return tuple(number(grade, "a label") for grade in distinct.tolist())


def unjudged_codes(codes: str) -> str:
    """Return how to declare codes that mean 'not judged', for messages."""
    if in_shell():
        return f'"unjudged": [{codes}] in {parameter("aspects")} FILE'
    return f"Aspect(unjudged=[{codes}])"
