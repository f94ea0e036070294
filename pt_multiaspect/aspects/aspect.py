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
        top_alone = isinstance(grades, int | np.integer) and not isinstance(grades, bool)
        self.by_top = (
            top_alone and gains is None and isinstance(probabilities, str) and threshold is None
        )
        if isinstance(grades, int | np.integer) and not isinstance(grades, bool):
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
        if grades is None:
            self.grades = None
        else:
            self.grades = self._lowest_first(numbers(grades, "grades"))
        increasing = grades is None or self.greater_is_better or self._increase(numbers(grades, ""))
        turned = increasing and not self.greater_is_better
        self.gains = self._read_gains(gains, turned)
        self.probabilities = self._read_probabilities(probabilities, turned)
        self.unjudged = _read_codes(unjudged)
        clashing = [code for code in number_codes(self) if code in (self.grades or ())]
        if clashing:
            raise MultiAspectError(
                f"unjudged codes must not be grades, got {choices(map(spell, clashing))} as both; "
                f"grades: {self._list(self.grades)}"
            )
        self.threshold = None
        if threshold is not None:
            self.threshold = number(threshold, "threshold")
            if self.grades is not None and self.threshold not in self.grades[1:]:
                raise MultiAspectError(
                    "threshold must be a grade above the lowest (one of "
                    f"{self._list(self.grades[1:])}), got "
                    f"{spell(self.threshold)}; grades, lowest first: {self._list(self.grades)}"
                )

    def _read_gains(self, gains: object, turned: bool) -> tuple[float, ...] | None:
        if gains is None:
            return None
        if isinstance(gains, str) and gains in _NAMED:
            raise MultiAspectError(
                f"gains: expected one number per grade, got {gains!r}, which is a setting of "
                "probabilities: "
                f"use probabilities={gains!r}"
            )
        result = self._values_by_grade(gains, "gains", turned)
        if not all(low <= high for low, high in pairwise(result)):
            raise MultiAspectError(
                "gains must be non-decreasing from the lowest grade to the highest: grades "
                f"{self._list(self.grades)} have gains {self._list(result)}"
            )
        return result

    def _read_probabilities(self, probabilities: object, turned: bool) -> tuple[float, ...] | str:
        if not isinstance(probabilities, str):
            result = self._values_by_grade(probabilities, "probabilities", turned)
            if not all(0 <= probability <= 1 for probability in result):
                raise MultiAspectError(
                    f"probabilities must be in [0, 1], got {self._list(result)}; numbers outside "
                    "that range can "
                    "be gains, gains=[…]"
                )
            return result
        if probabilities not in _NAMED:
            raise MultiAspectError(
                f"probabilities: expected {', '.join(map(repr, _NAMED))} or one number per grade, "
                "got "
                f"{probabilities!r}"
            )
        if probabilities == "identity" and not self.greater_is_better:
            raise MultiAspectError(
                "probabilities='identity' takes labels as probabilities of satisfaction, of which "
                "greater is "
                "better: remove greater_is_better=False"
            )
        return probabilities

    @staticmethod
    def _increase(grades: tuple[float, ...]) -> bool:
        return all(low < high for low, high in pairwise(grades))

    @staticmethod
    def _list(values: tuple[float, ...] | None) -> str:
        return f"[{choices(map(spell, values)) if values else ''}]"

    def _lowest_first(self, grades: tuple[float, ...]) -> tuple[float, ...]:
        refuse_none(grades, "grade")
        if self._increase(grades):
            if self.greater_is_better:
                return grades
            return grades[::-1]
        if not self.greater_is_better and self._increase(grades[::-1]):
            return grades
        raise MultiAspectError(
            f"expected increasing grades, each given once, got {self._list(grades)}"
        )

    def _values_by_grade(self, values: object, parameter: str, turned: bool) -> tuple[float, ...]:
        if isinstance(values, Mapping):  # its keys would be read as the numbers
            raise MultiAspectError(
                f"{parameter}: expected a list of numbers, got {shown(values)}; list its values in "
                "the order of "
                "the grades"
            )
        result = numbers(values, parameter)
        if self.grades is None:
            raise MultiAspectError(f"{parameter} are given one per grade: declare the grades, too")
        if len(result) != len(self.grades):
            raise MultiAspectError(
                f"{parameter}: expected {len(self.grades)} numbers, one per grade "
                f"{self._list(self.grades)}, got "
                f"{len(result)}: {self._list(result)}"
            )
        if turned:
            return result[::-1]
        return result

    @property
    def has_negative_gains(self) -> bool:
        """Whether gains below 0 are declared. Grades below 0 without gains mark junk, whose gain is 0."""
        return self.gains is not None and self.gains[0] < 0

    def to_spec(self) -> int | dict[str, Any]:
        """Return the content as plain numbers, lists and strings, without defaults.

        Returns
        -------
        int or dict
            The top grade alone if the aspect is a plain 0..n scale.
        """
        upwards = slice(None, None, 1 if self.greater_is_better else -1)
        spec: dict[str, Any] = {}
        if self.grades is not None:
            spec["grades"] = list(self.grades[upwards])
        if self.gains is not None and (
            self.gains != self._default_gains() or self.has_negative_gains
        ):
            spec["gains"] = list(self.gains[upwards])
        if self.probabilities == "identity":
            spec["probabilities"] = "identity"
        elif (
            not isinstance(self.probabilities, str)
            and self.probabilities != self._linear_probabilities()
        ):
            spec["probabilities"] = list(self.probabilities[upwards])
        # A declared threshold is kept even if it is the default: then the default is intended.
        if self.threshold is not None and (self.grades is None or len(self.grades) > 2):
            spec["threshold"] = self.threshold
        if not self.greater_is_better:
            spec["greater_is_better"] = False
        if self.unjudged:
            spec["unjudged"] = list(self.unjudged)
        if list(spec) == ["grades"] and spec["grades"] == list(range(len(spec["grades"]))):
            return len(spec["grades"]) - 1
        return spec

    def declaration(self) -> object:
        """Return `to_spec`, but all grades of a plain scale if they were listed: then they are intended.

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
        if spec is None or (
            isinstance(spec, Iterable | int | np.integer) and not isinstance(spec, str | bool)
        ):
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
        span = grades[-1] - grades[0] or 1
        return tuple(float((grade - grades[0]) / span) for grade in grades)

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
        return Scale(
            grades=np.asarray(self.grades, dtype=np.float64),
            gains=np.asarray(self.gains or self._default_gains(), dtype=np.float64),
            probabilities=np.asarray(
                self._linear_probabilities()
                if isinstance(self.probabilities, str)
                else self.probabilities,
                dtype=np.float64,
            ),
            threshold=1 if self.threshold is None else self.grades.index(self.threshold),
            identity=self.probabilities == "identity",
            greater_is_better=self.greater_is_better,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("by_top", *_KEYS)}

    def __repr__(self) -> str:
        spec = self.to_spec()
        if isinstance(spec, int):
            spec = {"grades": list(range(spec + 1))}
        return f"Aspect({', '.join(f'{key}={value!r}' for key, value in spec.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aspect) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


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
    return ", ".join(code if isinstance(code, str) else spell(code) for code in aspect.unjudged)


def _rational(value: float) -> Fraction | int:
    """Return the number as a fraction, so that 0.3 - 0.2 is 0.1; whole numbers are returned unchanged."""
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
        known = np.maximum(np.where(np.isnan(labels), self.grades[0], labels) * sign, upwards[0])
        index = np.minimum(np.searchsorted(upwards, known), len(upwards) - 1)
        return index.astype(np.intp), np.flatnonzero(upwards[index] != known)

    def reaches(self, rel: float) -> bool:
        """Return whether the top grade counts as relevant with an explicit ``rel``."""
        top = self.grades[-1]
        return bool(top >= rel if self.greater_is_better else top <= rel)

    @property
    def is_fractional(self) -> bool:
        """Whether any grade is not a whole number."""
        return bool((self.grades != np.floor(self.grades)).any())

    def __str__(self) -> str:
        shown = list(map(spell, self.grades.tolist()))
        return ", ".join(shown if len(shown) <= 12 else [*shown[:5], "…", *shown[-3:]])


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
            leave_out = f"select other columns, as in {parameter('aspects', ['relevance', '…'])}"
            if in_shell():
                leave_out = f"leave its file out of {parameter('qrels')}"
            raise MultiAspectError(
                f"{name}: expected labels up to {LONGEST} to infer a scale 0..n, got {top}. If the "
                "column contains "
                f"times or ids, {leave_out}; if labels, declare the grades with "
                f"{parameter('aspects')}"
            )
        return tuple(range(top + 1))
    return tuple(number(grade, "a label") for grade in distinct.tolist())


def unjudged_codes(codes: str) -> str:
    """Return how to declare codes that mean 'not judged', for messages."""
    if in_shell():
        return f'"unjudged": [{codes}] in {parameter("aspects")} FILE'
    return f"Aspect(unjudged=[{codes}])"
