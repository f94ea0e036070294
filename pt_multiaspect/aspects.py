"""Aspects and their scales: what a label means, and which labels there are."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Rational, Real
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .errors import MultiAspectError, choices

__all__ = ["Aspect", "Aspects"]

#: The longest 0..n scale.
_LONGEST = 10**6
#: A label whose fraction has a denominator up to this is read as that fraction (1/3, 0.1).
_DENOMINATOR = 10**6


def number(value: object, what: str) -> float:
    """Return `value` as a finite float, an int where it is whole; name `what` if it is none."""
    if isinstance(value, Rational | Real | np.number) and not isinstance(value, bool | np.bool_):
        try:
            number_ = float(cast(float, value))
        except OverflowError:
            raise MultiAspectError(f"{what} must be a finite number below 1.8e308, got a larger integer") from None
        if math.isfinite(number_):
            return int(number_) if number_.is_integer() and abs(number_) < 2**53 else number_
    raise MultiAspectError(f"{what} must be a finite number, not {value!r}")


def read_json(text: str, what: str) -> Any:
    """Parse `text` as JSON, in which no key may occur twice; `what` names it in errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            raise MultiAspectError(f"{what}: a key occurs twice in one JSON object: {choices(k for k, _ in pairs)}")
        return content

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError:
        raise MultiAspectError(f"{what}: the JSON is nested too deeply") from None
    except MultiAspectError:
        raise
    except ValueError as error:  # also an integer of thousands of digits
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        raise MultiAspectError(f"{what}: expected valid JSON, got {shown!r}: {error}") from None


def numbers(values: object, what: str) -> tuple[float, ...]:
    """Return `values` as a tuple of finite numbers."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise MultiAspectError(f"{what} must be a sequence of numbers, not {values!r}")
    return tuple(number(value, f"every one of {what}") for value in values)


def exact(value: float) -> Fraction:
    """Return the rational number a float stands for.

    A float that is the nearest to a fraction of small denominator (1/3, 2/7, 0.1) is read
    as that fraction, any other as the decimal it prints as. Distances between tuples of
    labels are compared exactly on these: in floats 1 - 0.9 and 0.1 differ, and classes of
    equally distant tuples would fall apart.
    """
    simple = Fraction(value).limit_denominator(_DENOMINATOR)
    return simple if float(simple) == value else Fraction(repr(value))


def spell(value: float) -> str:
    """Write a number the short way, 2 rather than 2.0."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


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


class Named(Protocol):
    """What a registry of names holds."""

    name: str | None

    def to_json(self) -> str: ...


N = TypeVar("N", bound=Named)


class NameRegistry(Generic[N]):
    """Names that stand for declared content inside measure strings, one content a name."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._content: dict[str, N] = {}

    def add(self, item: N) -> None:
        name = item.name
        if name is None:
            return
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.\-]*", name):
            raise MultiAspectError(
                f"a name of {self._what} starts with a letter and has letters, digits, '.', '-' and '_', "
                f"as it stands in measure strings; not {name!r}"
            )
        known = self._content.setdefault(name, item)
        if known.to_json() != item.to_json():
            raise MultiAspectError(
                f"the name {name!r} already stands for {known.to_json()}, so it cannot stand for "
                f"{item.to_json()} too; take another name (or, in a notebook, restart the kernel)"
            )

    def get(self, name: str) -> N | None:
        return self._content.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._content))


class Aspects(Mapping[str, Aspect]):
    """An ordered mapping of aspect names to their scales.

    Parameters
    ----------
    aspects : mapping of str to Aspect, int, sequence of grades or None
        The aspects in the order measures take them in. An int n is a 0..n scale, None a
        scale to be inferred. The aspect ``relevance`` is the column ``label`` or
        ``relevance`` of the qrels; the name ``label`` is taken as ``relevance``.
    name : str, optional
        A name the set has in measure strings, ``TOMA(aspects='my-name')``. Named sets print
        as their name, unnamed ones print their content. One name has one content.

    Raises
    ------
    MultiAspectError
        If there is no aspect, a scale is faulty, or the name stands for other content.

    Examples
    --------
    >>> aspects = Aspects({"relevance": 2, "understandability": Aspect(3, threshold=2)})
    >>> aspects["understandability"].threshold
    2
    >>> list(aspects)
    ['relevance', 'understandability']
    >>> print(Aspects({"relevance": 2, "credibility": 1}))
    {'relevance': 2, 'credibility': 1}
    """

    registry: ClassVar[NameRegistry[Aspects]]

    def __init__(
        self,
        aspects: Mapping[str, Aspect | Sequence[float] | int | None],
        *,
        name: str | None = None,
    ) -> None:
        if not isinstance(aspects, Mapping) or not aspects:
            raise MultiAspectError(
                f"aspects are a mapping of at least one aspect name to its scale, not {aspects!r}"
            )
        self._aspects: dict[str, Aspect] = {}
        for key, aspect in aspects.items():
            column = aspect_name(key)
            if column in self._aspects:
                raise MultiAspectError(f"the aspect {column!r} is declared twice")
            try:
                self._aspects[column] = Aspect.from_spec(aspect)
            except MultiAspectError as error:
                raise MultiAspectError(f"aspect {column!r}: {error}") from None
        self.name = name
        self._json = json.dumps(
            {key: aspect.to_spec() for key, aspect in self._aspects.items()},
            separators=(",", ":"),
            ensure_ascii=False,
        )
        if name is not None:
            if name in (*self._aspects, "relevance", "label"):
                raise MultiAspectError(
                    f"a set cannot be named {name!r} like an aspect: in a measure string that selects the column"
                )
            Aspects.registry.add(self)

    def to_json(self) -> str:
        """Return the content as one compact JSON object, in which measures print unnamed sets."""
        return self._json

    def to_file(self, path: str | PathLike[str]) -> None:
        """Write the scales, and the name if there is one, to a JSON file that `from_file` reads.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it exists. With a name that ends in ``.json`` it can be given
            as ``aspects=`` of any measure.

        Examples
        --------
        >>> import tempfile, os
        >>> path = os.path.join(tempfile.mkdtemp(), "scales.json")
        >>> Aspects({"relevance": 2, "credibility": Aspect(3, threshold=2)}).to_file(path)
        >>> print(open(path).read())
        {
          "version": 1,
          "aspects": {
            "relevance": 2,
            "credibility": {"grades": [0, 1, 2, 3], "threshold": 2}
          }
        }
        >>> Aspects.from_file(path)["credibility"]
        Aspect(grades=[0, 1, 2, 3], threshold=2)
        """
        specs = {key: json.dumps(aspect.to_spec(), ensure_ascii=False) for key, aspect in self._aspects.items()}
        lines = [f"    {json.dumps(key, ensure_ascii=False)}: {spec}" for key, spec in specs.items()]
        named = "" if self.name is None else f'  "name": {json.dumps(self.name)},\n'
        text = f'{{\n  "version": {_FILE_VERSION},\n{named}  "aspects": {{\n' + ",\n".join(lines) + "\n  }\n}\n"
        Path(path).expanduser().write_text(text, encoding="utf-8", newline="\n")

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Aspects:
        """Read what `to_file` has written.

        Parameters
        ----------
        path : str or path
            A JSON file: an object with the keys ``version`` (1), ``aspects`` (a name and a scale per aspect)
            and, if the set has one, ``name``.

        Raises
        ------
        MultiAspectError
            If the file cannot be read, has another version or unknown keys, or a scale is faulty; the
            message starts with the name of the file.
        """
        try:
            content = _file_content(path)
            return cls(content["aspects"], name=content.get("name"))
        except MultiAspectError as error:
            raise MultiAspectError(f"{path}: {error}") from error.__cause__

    def spelled(self) -> object:
        """What stands in a measure's printed form: a name, a small dict or JSON."""
        if self.name is not None:
            return self.name
        specs = {key: aspect.to_spec() for key, aspect in self._aspects.items()}
        return specs if all(isinstance(spec, int) for spec in specs.values()) else self._json

    def __getitem__(self, key: str) -> Aspect:
        return self._aspects[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._aspects)

    def __len__(self) -> int:
        return len(self._aspects)

    def __repr__(self) -> str:
        inner = ", ".join(f"{key!r}: {aspect!r}" for key, aspect in self._aspects.items())
        return f"Aspects({{{inner}}}{'' if self.name is None else f', name={self.name!r}'})"

    def __str__(self) -> str:
        return str(self.spelled())

    def _repr_html_(self) -> str:
        from html import escape

        def cell(values: Iterable[float] | str) -> str:
            return escape(values if isinstance(values, str) else ", ".join(map(spell, values)))

        rows = []
        for key, aspect in self._aspects.items():
            if aspect.grades is None:
                grades, values, gains, positive = "inferred from the judgments", "", "", ""
            else:
                scale = aspect.scale
                grades, values = cell(scale.grades.tolist()), cell(scale.values.tolist())
                gains = "the label itself" if scale.identity else cell(round(g, 3) for g in scale.gains.tolist())
                positive = cell(scale.grades[scale.threshold :].tolist()) or "none"
            if aspect.unjudged:
                grades += f" (not judged: {cell(aspect.unjudged)})"
            rows.append(
                f"<tr><th>{escape(key)}</th><td>{grades}</td><td>{values}</td><td>{gains}</td>"
                f"<td>{positive}</td></tr>"
            )
        caption = f"<caption>{escape(self.name)}</caption>" if self.name else ""
        head = "".join(f"<th>{column}</th>" for column in _HTML_COLUMNS)
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aspects) and (self._json, self.name) == (other._json, other.name)

    def __hash__(self) -> int:
        return hash((self._json, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process learns the name with the content.
        return _restore, (self._json, self.name)


_HTML_COLUMNS = ("aspect", "grades, worst first", "values", "gains", "positive grades")


#: Strings that end so are names of files where aspects are expected.
_FILE_ENDING = ".json"

#: The version of the files that `Aspects.to_file` writes.
_FILE_VERSION = 1


def _file_content(path: str | PathLike[str]) -> dict[str, Any]:
    """The content of an aspects file, after checking what is around the scales."""
    try:
        content = read_json(Path(path).expanduser().read_text(encoding="utf-8-sig"), "a file of aspects")
    except FileNotFoundError as error:
        raise MultiAspectError(
            f"no such file (a string that ends in {_FILE_ENDING} is the name of a file of aspects, which "
            "Aspects.to_file writes; to select a column of that name, give a list of names)"
        ) from error
    except OSError as error:
        raise MultiAspectError(f"the file cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise MultiAspectError("expected a JSON file of aspects in UTF-8, got other bytes") from error
    if not isinstance(content, dict) or "version" not in content or "aspects" not in content:
        found = choices(content) if isinstance(content, dict) else type(content).__name__
        raise MultiAspectError(f"expected a JSON object with the keys version and aspects, got {found}")
    version = content["version"]
    if isinstance(version, bool) or version != _FILE_VERSION:
        raise MultiAspectError(
            f"expected version {_FILE_VERSION} of a file of aspects, got {version!r}; a newer pt_multiaspect may "
            "have written it"
        )
    unknown = [key for key in content if key not in ("version", "name", "aspects")]
    if unknown:
        raise MultiAspectError(f"unknown key {choices(unknown)}; expected version, name and aspects")
    return content


def _restore(content: str, name: str | None) -> Aspects:
    return Aspects(json.loads(content), name=name)


Aspects.registry = NameRegistry("an aspect set")


def aspect_name(name: object) -> str:
    """Return the aspect a column or a user means; PyTerrier's ``label`` is the relevance."""
    if not isinstance(name, str) or not name.strip():
        raise MultiAspectError(f"an aspect is named by a non-empty string, not {name!r}")
    return "relevance" if name == "label" else name


#: Matches names that mean the same in a list with commas as by themselves.
_PLAIN_NAME = re.compile(r"[^\W\d](?:[\w .\-]*[\w.\-])?").fullmatch

#: What a measure is told of aspects: all declared, some columns by name, or nothing.
AspectSpec = Aspects | tuple[str, ...] | None


def parse_aspects(spec: object) -> AspectSpec:
    """Read the parameter `aspects` of a measure in any of the forms users and strings give it.

    Parameters
    ----------
    spec : None, Aspects, mapping, path, str or sequence of str
        A str is a registered name, JSON, the name of a file that ends in ``.json``, or column names with
        commas between. A JSON list of column names, ``'["a,b"]'``, is for names that contain commas, end in
        ``.json`` or are registered names too. A file is read at once (see `Aspects.from_file`), so that a
        measure prints, pickles and compares by what is in it and not by its name.

    Returns
    -------
    Aspects, tuple of str or None
        Declared scales, selected columns, or None for every label column there is.
    """
    if spec is None or isinstance(spec, Aspects):
        return spec
    if isinstance(spec, Mapping):
        return Aspects(spec)
    if isinstance(spec, PathLike):
        return Aspects.from_file(spec)
    if isinstance(spec, str):
        text = spec.strip()
        if text.startswith(("{", "[")):
            content = read_json(text, "aspects")
            if isinstance(content, Mapping):
                return Aspects(content)
            spec = content
        else:
            registered = Aspects.registry.get(text)
            if registered is not None:
                return registered
            if text.endswith(_FILE_ENDING):
                return Aspects.from_file(text)
            spec = [part.strip() for part in text.split(",")]
    if isinstance(spec, Iterable):
        names = tuple(aspect_name(name) for name in spec)
        if names and len(set(names)) == len(names):
            return names
    raise MultiAspectError(
        "aspects are an Aspects object, a mapping of names to scales, a registered name "
        f"({choices(Aspects.registry)}), a file (.json) or distinct column names; not {spec!r}"
    )


def declared_aspects(spec: object) -> Aspects:
    """Read scales given in any form of `parse_aspects`, for those who have no judgments to infer them from."""
    declared = parse_aspects(spec)
    if isinstance(declared, Aspects):
        return declared
    raise MultiAspectError(
        "expected aspects with their scales (a mapping, an Aspects object, its name or a file of one), got "
        f"{spec!r}"
    )


def spell_aspects(spec: AspectSpec) -> object:
    """Return `spec` as it prints inside a measure."""
    if isinstance(spec, tuple):
        # A single name could be, or become, that of a declared set; relevance cannot.
        quoted = len(spec) == 1 or not all(map(_PLAIN_NAME, spec)) or spec[-1].endswith(_FILE_ENDING)
        if spec != ("relevance",) and quoted:
            return json.dumps(spec, ensure_ascii=False)
        return ",".join(spec)
    return spec.spelled() if spec is not None else None


def infer_grades(labels: NDArray[np.float64], *, identity: bool = False) -> tuple[float, ...]:
    """Return the scale that `labels` (NaN where unjudged) come from, in increasing order.

    Whole labels give 0..max. Otherwise the distinct labels, negative ones taken as 0: by
    TREC's convention they mark junk. Probabilities (`identity`) always start at 0.
    """
    known = np.maximum(labels[~np.isnan(labels)], 0.0)
    if identity:
        known = np.append(known, 0.0)
    if not len(known):
        return (0,)
    distinct = np.unique(known)
    if not identity and np.all(distinct == np.floor(distinct)):
        top = int(distinct[-1])
        if top > _LONGEST:
            raise MultiAspectError(
                f"labels go up to {top}; a 0..n scale of that length is not inferred, declare the grades"
            )
        return tuple(range(top + 1))
    return tuple(number(grade, "a label") for grade in distinct.tolist())
