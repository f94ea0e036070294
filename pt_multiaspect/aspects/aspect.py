"""One aspect: its grades, and what each grade is worth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._numbers import number, numbers, spell
from ..errors import MultiAspectError, choices

__all__ = ["Aspect", "Scale"]

#: The longest 0..n scale.
_LONGEST = 10**6


class Aspect:
    """One aspect of a document's quality: its grades and what each is worth.

    Parameters
    ----------
    grades : sequence of numbers or int, optional
        The labels in increasing order, such as ``[0, 1, 2]``; an int ``n`` stands for
        0, 1, …, n. Without grades the scale is inferred from the judgments: 0 to the
        greatest label if all are whole numbers, else the distinct labels.
    values : sequence of numbers, optional
        A value per grade, in the order of `grades`: the gain of nDCG-like measures and the
        coordinate TOMA embeds the grade at. They must not decrease from worse to better
        grades. By default the grades themselves; with ``greater_is_better=False`` their
        distance to the worst grade.
    gains : sequence of numbers in [0, 1], 'linear' or 'identity', optional
        The probability that a user is satisfied in this aspect, per grade, for the gain
        family (uRBPgr, unDCG, uERR). ``'linear'`` (default) goes from 0 at the worst to 1 at
        the best grade in proportion to the grades; ``'identity'`` takes the label itself, for columns that
        hold probabilities.
    threshold : number, optional
        The worst grade that counts as positive for binary measures; by default the second
        worst, that is every grade above the worst.
    greater_is_better : bool, default True
        False turns a scale on which small labels are good, such as a readability index.
    unjudged : sequence of numbers, optional
        Codes in the label column that mean "not judged", such as 3 for "could not judge". They are
        treated as missing labels.

    Raises
    ------
    MultiAspectError
        If grades do not increase, values decrease from worse to better, gains leave [0, 1],
        lengths differ, the threshold is no grade above the worst, or a grade is also an unjudged code.

    Examples
    --------
    >>> Aspect(grades=[0, 1, 2], gains=[0, 1, 1])
    Aspect(grades=[0, 1, 2], gains=[0, 1, 1])
    >>> Aspect(3)
    Aspect(grades=[0, 1, 2, 3])
    """

    __slots__ = ("__dict__", "gains", "grades", "greater_is_better", "threshold", "unjudged", "values")

    #: Worst to best, or None when the scale is to be inferred.
    grades: tuple[float, ...] | None
    #: Worst to best, or None for the default.
    values: tuple[float, ...] | None
    gains: tuple[float, ...] | str
    threshold: float | None
    greater_is_better: bool
    #: Labels that stand for no judgment, in increasing order.
    unjudged: tuple[float, ...]

    def __init__(
        self,
        grades: Sequence[float] | int | None = None,
        *,
        values: Sequence[float] | None = None,
        gains: Sequence[float] | str = "linear",
        threshold: float | None = None,
        greater_is_better: bool = True,
        unjudged: Sequence[float] = (),
    ) -> None:
        if isinstance(grades, int | np.integer) and not isinstance(grades, bool):
            if grades < 0:
                raise MultiAspectError(f"the top grade of a 0..n scale must not be negative, not {grades}")
            if grades > _LONGEST:
                raise MultiAspectError(f"the top grade of a 0..n scale must be at most {_LONGEST}; list the grades")
            grades = range(int(grades) + 1)
        if not isinstance(greater_is_better, bool | np.bool_):
            raise MultiAspectError(f"greater_is_better must be True or False, not {greater_is_better!r}")
        self.greater_is_better = bool(greater_is_better)
        self.grades = None if grades is None else self._worst_to_best(numbers(grades, "grades"))
        given_upwards = grades is None or self.greater_is_better or self._increase(numbers(grades, ""))
        turned = given_upwards and not self.greater_is_better
        self.values = None
        if values is not None:
            self.values = self._per_grade(values, "values", turned)
            if not all(low <= high for low, high in pairwise(self.values)):
                raise MultiAspectError(
                    "values must not decrease from the worst grade to the best, as a better grade would be "
                    f"worth less: grades {self._list(self.grades)}, values {self._list(self.values)}"
                )
        if isinstance(gains, str):
            if gains not in ("linear", "identity"):
                raise MultiAspectError(
                    f"unknown gains {gains!r}; choose 'linear', 'identity' or a number per grade"
                )
            if gains == "identity" and not self.greater_is_better:
                raise MultiAspectError(
                    "gains='identity' takes the label as a probability of satisfaction, so greater is better"
                )
            self.gains = gains
        else:
            self.gains = self._per_grade(gains, "gains", turned)
            if not all(0 <= gain <= 1 for gain in self.gains):
                raise MultiAspectError(
                    f"gains are probabilities in [0, 1], not {self._list(self.gains)}; values may be any numbers"
                )
        self.unjudged = tuple(sorted(set(numbers(unjudged, "unjudged"))))
        both = [code for code in self.unjudged if code in (self.grades or ())]
        if both:
            raise MultiAspectError(
                f"unjudged codes must not be grades, got {choices(map(spell, both))} as both; "
                f"grades: {self._list(self.grades)}"
            )
        self.threshold = None
        if threshold is not None:
            self.threshold = number(threshold, "threshold")
            if self.grades is not None and self.threshold not in self.grades[1:]:
                raise MultiAspectError(
                    f"threshold {spell(self.threshold)} is no grade above the worst; grades from worst "
                    f"to best: {self._list(self.grades)} (at the worst every document would be positive)"
                )

    @staticmethod
    def _increase(grades: tuple[float, ...]) -> bool:
        return all(low < high for low, high in pairwise(grades))

    @staticmethod
    def _list(values: tuple[float, ...] | None) -> str:
        return "[" + ", ".join(map(spell, values or ())) + "]"

    def _worst_to_best(self, grades: tuple[float, ...]) -> tuple[float, ...]:
        if not grades:
            raise MultiAspectError("an aspect needs at least one grade")
        if self._increase(grades):
            return grades if self.greater_is_better else grades[::-1]
        if not self.greater_is_better and self._increase(grades[::-1]):
            return grades
        raise MultiAspectError(f"grades must increase, each given once, not {self._list(grades)}")

    def _per_grade(self, given: Sequence[float], what: str, turned: bool) -> tuple[float, ...]:
        result = numbers(given, what)
        if self.grades is None:
            raise MultiAspectError(f"{what} belong to grades: give the grades too")
        if len(result) != len(self.grades):
            raise MultiAspectError(
                f"{len(result)} {what} {self._list(result)} for {len(self.grades)} grades "
                f"{self._list(self.grades)}; give one per grade"
            )
        return result[::-1] if turned else result

    def to_spec(self) -> int | dict[str, Any]:
        """Return the content as plain numbers, lists and strings, defaults left out.

        Returns
        -------
        int or dict
            The top grade alone where the aspect is a plain 0..n scale.
        """
        upwards = slice(None, None, 1 if self.greater_is_better else -1)
        spec: dict[str, Any] = {}
        if self.grades is not None:
            spec["grades"] = list(self.grades[upwards])
        if self.values is not None and self.values != self._default_values():
            spec["values"] = list(self.values[upwards])
        if self.gains == "identity":
            spec["gains"] = "identity"
        elif not isinstance(self.gains, str) and self.gains != self._linear_gains():
            spec["gains"] = list(self.gains[upwards])
        # The default threshold is kept where it was declared: it says that the default is meant.
        if self.threshold is not None and (self.grades is None or len(self.grades) > 2):
            spec["threshold"] = self.threshold
        if not self.greater_is_better:
            spec["greater_is_better"] = False
        if self.unjudged:
            spec["unjudged"] = list(self.unjudged)
        if list(spec) == ["grades"] and spec["grades"] == list(range(len(spec["grades"]))):
            return len(spec["grades"]) - 1
        return spec

    @classmethod
    def from_spec(cls, spec: object) -> Aspect:
        """Build an aspect from what `to_spec` gives, from a list of grades or a top grade."""
        if isinstance(spec, Aspect):
            return spec
        if isinstance(spec, Mapping):
            known = ("grades", "values", "gains", "threshold", "greater_is_better", "unjudged")
            unknown = [str(key) for key in spec if key not in known]
            if unknown:
                raise MultiAspectError(f"an aspect has no {choices(unknown)}; it has {choices(known)}")
            return cls(**spec)
        if spec is None or (isinstance(spec, Iterable | int | np.integer) and not isinstance(spec, str | bool)):
            return cls(cast(Any, spec))
        raise MultiAspectError(f"an aspect is an Aspect, a list of grades or a top grade, not {spec!r}")

    def _default_values(self) -> tuple[float, ...]:
        grades = self.grades or ()
        return grades if self.greater_is_better else tuple(grades[0] - grade for grade in grades)

    def _linear_gains(self) -> tuple[float, ...]:
        grades = self.grades or (0,)
        span = (grades[-1] - grades[0]) or 1
        return tuple((grade - grades[0]) / span + 0.0 for grade in grades)  # no -0 on a turned scale

    def with_grades(self, grades: Sequence[float]) -> Aspect:
        """Return this aspect with `grades`, in increasing order, in the place of missing ones."""
        spec = self.to_spec()
        assert isinstance(spec, dict)
        return Aspect(**{**spec, "grades": grades})

    @cached_property
    def scale(self) -> Scale:
        """The scale as arrays, worst grade first."""
        if self.grades is None:
            raise MultiAspectError("this aspect declares no grades; they are inferred from judgments")
        return Scale(
            grades=np.asarray(self.grades, dtype=np.float64),
            values=np.asarray(self.values or self._default_values(), dtype=np.float64),
            gains=np.asarray(self._linear_gains() if isinstance(self.gains, str) else self.gains, dtype=np.float64),
            threshold=1 if self.threshold is None else self.grades.index(self.threshold),
            identity=self.gains == "identity",
            greater_is_better=self.greater_is_better,
        )

    def __repr__(self) -> str:
        spec = self.to_spec()
        if isinstance(spec, int):
            spec = {"grades": list(range(spec + 1))}
        return f"Aspect({', '.join(f'{key}={value!r}' for key, value in spec.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aspect) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Scale:
    """A fully known scale as arrays, worst grade first."""

    __slots__ = ("gains", "grades", "greater_is_better", "identity", "threshold", "values")

    def __init__(
        self,
        *,
        grades: NDArray[np.float64],
        values: NDArray[np.float64],
        gains: NDArray[np.float64],
        threshold: int,
        identity: bool,
        greater_is_better: bool,
    ) -> None:
        self.grades = grades
        self.values = values
        self.gains = gains
        #: The index of the worst positive grade.
        self.threshold = threshold
        #: Whether a label is its own gain.
        self.identity = identity
        self.greater_is_better = greater_is_better

    def __len__(self) -> int:
        return len(self.grades)

    def positions(self, labels: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the grade index of each label, and the rows whose label is none of the grades.

        NaN and labels below the lowest grade count as the lowest grade.
        """
        sign = 1.0 if self.greater_is_better else -1.0
        upwards = sign * self.grades
        known = np.maximum(np.where(np.isnan(labels), self.grades[0], labels) * sign, upwards[0])
        index = np.minimum(np.searchsorted(upwards, known), len(upwards) - 1)
        return index.astype(np.intp), np.flatnonzero(upwards[index] != known)

    @property
    def is_fractional(self) -> bool:
        """Whether any grade is no whole number."""
        return bool((self.grades != np.floor(self.grades)).any())

    def __str__(self) -> str:
        shown = list(map(spell, self.grades.tolist()))
        return ", ".join(shown if len(shown) <= 12 else [*shown[:5], "…", *shown[-3:]])
