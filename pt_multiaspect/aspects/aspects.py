"""An ordered, named set of aspects, its files, and its scales in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from .._numbers import read_json, spell, spell_all
from .._writing import write_file
from ..errors import MultiAspectError, choices, errors_of, refuse_unknown, shown
from ..views import Cell, Cells, Column, Heading, Table, fragment
from .aspect import _KEYS, Aspect, spell_codes
from .names import Named, NameRegistry

#: The suffix of strings that are read as file names where aspects are expected.
FILE_ENDING = ".json"

#: The version of the files that `Aspects.to_file` writes.
FILE_VERSION = 1


class Aspects(Named, Mapping[str, Aspect]):
    """An ordered mapping of aspect names to their scales.

    Parameters
    ----------
    aspects : mapping of str to Aspect, int, sequence of grades or None
        The aspects in the order that measures use. An int n is a 0..n scale, None a
        scale to be inferred. The aspect ``relevance`` is the column ``label`` or
        ``relevance`` of the qrels; the name ``label`` is read as ``relevance``.
    name : str, optional
        Name of the set in measure strings, ``TOMA(aspects='my-name')``. Named sets print as their
        name, unnamed ones print their content. If a name is declared again, it refers to the new
        content, with a warning; measures created earlier keep theirs.

    Raises
    ------
    MultiAspectError
        If there is no aspect, a scale is invalid, or the name is invalid or the name of an aspect.

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
                "aspects: expected a mapping of at least one aspect name to its scale, got "
                f"{shown(aspects)}; give each aspect its highest grade or all its grades, as in "
                "{'relevance': 2}"
            )
        _refuse_parameters(aspects)
        self._aspects: dict[str, Aspect] = {}
        for key, scale in aspects.items():
            aspect = aspect_name(key)
            if aspect in self._aspects:
                raise MultiAspectError(
                    f"expected each aspect once, got {aspect!r} twice (label and relevance are the "
                    "same aspect)"
                )
            with errors_of(f"aspect {aspect!r}"):
                self._aspects[aspect] = Aspect.from_spec(scale)
        # The content in measure strings, for sets without a name.
        self._json = json.dumps(self._specs(), separators=(",", ":"), ensure_ascii=False)
        self.name = name
        if name is not None:
            # In strings, `aspects='relevance'` selects a column, so a set cannot have that name.
            column_names = (*self._aspects, "relevance", "label")
            if isinstance(name, str) and name in column_names:
                raise MultiAspectError(
                    f"expected a name that is not an aspect, got {name!r}, which selects a column "
                    "in strings"
                )
            # Then strings can refer to the set by its name.
            Aspects.registry.add(self)

    def to_json(self) -> str:
        """Return the content as compact JSON, which measures print for unnamed sets."""
        return self._json

    def to_file(self, path: str | PathLike[str]) -> None:
        """Write the scales, and the name if there is one, to a JSON file that `from_file` reads.

        Parameters
        ----------
        path : str or path
            The file, replaced if it exists. If its name ends in ``.json``, measures accept it as
            ``aspects=``.

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
        lines = ["{", f'  "version": {FILE_VERSION},']
        if self.name is not None:
            name = json.dumps(self.name)
            lines.append(f'  "name": {name},')
        lines.append('  "aspects": {')
        scales = []
        for aspect, scale in self._aspects.items():
            key = json.dumps(aspect, ensure_ascii=False)
            declaration = json.dumps(scale.declaration(), ensure_ascii=False)
            scales.append(f"    {key}: {declaration}")
        lines.append(",\n".join(scales))
        lines += ["  }", "}"]
        text = "\n".join(lines)
        write_file(path, f"{text}\n")

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Aspects:
        """Read a JSON file of scales, such as `to_file` writes.

        Parameters
        ----------
        path : str or path
            A JSON object with a scale per aspect, ``{"relevance": 2, "effort": {"grades": 10,
            "threshold": 5}}``, or, as `to_file` writes it, an object with the keys ``version`` (1),
            ``aspects`` (a scale per aspect) and, if the set has one, ``name``.

        Raises
        ------
        MultiAspectError
            If the file cannot be read, has another version or unknown keys, or a scale is invalid.
            The message starts with the name of the file.
        """
        if not isinstance(path, str | PathLike):
            raise MultiAspectError(
                f"path: expected the path of a JSON file of aspects, got {shown(path)}"
            )
        with errors_of(path):
            scales, name = scales_and_name(_read_file(path))
            return cls(scales, name=name)

    def spelled(self) -> object:
        """Return the set as printed in measures: its name, a dict of top grades, or else JSON."""
        if self.name is not None:
            return self.name
        specs = self._specs()
        are_top_grades = all(isinstance(spec, int) for spec in specs.values())
        if are_top_grades:
            return specs
        return self._json

    def _specs(self) -> dict[str, Any]:
        return {key: aspect.to_spec() for key, aspect in self._aspects.items()}

    @property
    def by_top(self) -> tuple[str, ...]:
        """The aspects that are declared by their top grade alone."""
        return tuple(key for key, aspect in self._aspects.items() if aspect.by_top)

    def __getitem__(self, key: str) -> Aspect:
        return self._aspects[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._aspects)

    def __len__(self) -> int:
        return len(self._aspects)

    def __repr__(self) -> str:
        scales = []
        for aspect, scale in self._aspects.items():
            scales.append(f"{aspect!r}: {scale!r}")
        content = ", ".join(scales)
        if self.name is None:
            return f"Aspects({{{content}}})"
        return f"Aspects({{{content}}}, name={self.name!r})"

    def __str__(self) -> str:
        return str(self.spelled())

    def _repr_html_(self) -> str:
        first_head, *other_heads = _HTML_COLUMNS
        columns = [Column(first_head, left=True)]
        for head in other_heads:
            columns.append(Column(head, left=True, shorten=12))
        rows = []
        for aspect, scale in self._aspects.items():
            rows.append(_html_row(aspect, scale))
        table = Table(columns, rows, most=len(rows))
        if self.name:
            return fragment([Heading(self.name), table])
        return fragment([table])

    @property
    def _state(self) -> str:
        return json.dumps({key: aspect.declaration() for key, aspect in self.items()})

    @classmethod
    def _from_state(cls, state: str) -> Aspects:
        return cls(json.loads(state))


Aspects.registry = NameRegistry(Aspects, "an aspect set")

_HTML_COLUMNS = ("aspect", "grades, lowest first", "gains", "probabilities", "positive grades")


def _html_row(name: str, aspect: Aspect) -> Cells:
    """Return the cells of an aspect: name, grades, gains, probabilities and positive grades."""
    name_cell = Cell(name, "strong")
    remark = ""
    if aspect.unjudged:
        codes = spell_codes(aspect)
        remark = f" (not judged: {codes})"
    if aspect.grades is None:
        return [name_cell, f"inferred from the judgments{remark}", "", "", ""]
    scale = aspect.scale
    grades = spell_all(scale.grades.tolist())
    gains = spell_all(scale.gains.tolist())
    probabilities = "the label itself"
    if not scale.identity:
        rounded = [round(probability, 3) for probability in scale.probabilities.tolist()]
        probabilities = spell_all(rounded)
    positive_grades = scale.grades[scale.threshold :].tolist()
    positive = spell_all(positive_grades) or "none"
    return [name_cell, f"{grades}{remark}", gains, probabilities, positive]


def _refuse_parameters(aspects: Mapping[str, object]) -> None:
    """Raise an error if the keys are the parameters of one scale instead of names of aspects."""
    are_parameters = set(aspects) <= set(_KEYS)
    # A single key 'grades' may be the name of an aspect.
    if are_parameters and "grades" in aspects and len(aspects) > 1:
        example = json.dumps({"relevance": dict(aspects)}, default=repr)
        raise MultiAspectError(
            f"aspects: expected a scale per aspect, got {choices(aspects)}, the parameters of "
            f"one scale; name its aspect, as in {example}"
        )


def _read_file(path: str | PathLike[str]) -> object:
    """Return the content of a JSON file of aspects."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
        return read_json(text, "a file of aspects")
    except FileNotFoundError as error:
        raise MultiAspectError(
            f"no such file (a string that ends in {FILE_ENDING} is the name of a file of aspects, "
            "which Aspects.to_file writes; to select a column of that name, give a list of names)"
        ) from error
    except OSError as error:
        reason = error.strerror or error
        raise MultiAspectError(f"the file cannot be read: {reason}") from error
    except UnicodeDecodeError as error:
        raise MultiAspectError(
            "expected a JSON file of aspects in UTF-8, got other bytes"
        ) from error


def scales_and_name(content: object) -> tuple[Mapping[str, Any], str | None]:
    """Return the scales in JSON, which are not checked, and the name of the set if there is one.

    Parameters
    ----------
    content : object
        A scale per aspect, or the output of `Aspects.to_file`, recognised by the keys version and
        aspects.
    """
    if not isinstance(content, Mapping):
        type_name = type(content).__name__
        raise MultiAspectError(f"expected a JSON object with a scale per aspect, got {type_name}")
    file_keys = [key for key in ("version", "aspects") if key in content]
    if not file_keys:
        return content, None
    if len(file_keys) == 1:
        raise MultiAspectError(
            "expected a scale per aspect, or the keys version and aspects, as Aspects.to_file "
            f"writes them, got the key {file_keys[0]} alone"
        )
    version = content["version"]
    # True equals 1, but is no version.
    if isinstance(version, bool) or version != FILE_VERSION:
        raise MultiAspectError(
            f"expected version {FILE_VERSION} of a file of aspects, got {version!r}; a newer "
            "pt_multiaspect may have written it"
        )
    refuse_unknown(content, ("version", "name", "aspects"), "keys")
    return content["aspects"], content.get("name")


def aspect_name(name: object) -> str:
    """Return the aspect of a column name; PyTerrier's ``label`` is ``relevance``."""
    if not isinstance(name, str) or not name.strip():
        raise MultiAspectError(
            f"expected a non-empty string as the name of an aspect, got {shown(name)}"
        )
    if name == "label":
        return "relevance"
    return name


def scales_in_words(aspects: Mapping[str, Aspect]) -> str:
    """Return the grades of each aspect, lowest first, and the settings that are no defaults.

    Examples
    --------
    >>> scales_in_words({"relevance": Aspect(1), "understandability": Aspect(3, threshold=2)})
    'relevance 0, 1; understandability 0, 1, 2, 3 (positive from 2)'
    """
    scales = []
    for name, aspect in aspects.items():
        scale = _scale_in_words(aspect)
        scales.append(f"{name} {scale}")
    return "; ".join(scales)


def _scale_in_words(aspect: Aspect) -> str:
    """Return the grades of an aspect, and in brackets the settings that are no defaults."""
    grades = "inferred"
    if aspect.grades is not None:
        grades = str(aspect.scale)
    remarks = "; ".join(_settings(aspect))
    if remarks:
        return f"{grades} ({remarks})"
    return grades


def _settings(aspect: Aspect) -> list[str]:
    """Return the settings of an aspect that are no defaults, in words."""
    settings = aspect.to_spec()
    if isinstance(settings, int):  # only the top grade, as all settings are defaults
        settings = {}
    remarks = []
    if not aspect.greater_is_better:
        remarks.append("lower is better")
    threshold = _threshold_of_choice(aspect)
    if threshold is not None:
        remarks.append(f"positive from {spell(threshold)}")
    if "gains" in settings:
        gains = spell_all(aspect.gains or ())
        remarks.append(f"gains {gains}")
    if "probabilities" in settings:
        remarks.append(_spell_probabilities(aspect.probabilities))
    if aspect.unjudged:
        codes = spell_codes(aspect)
        remarks.append(f"not judged: {codes}")
    return remarks


def _spell_probabilities(probabilities: tuple[float, ...] | str) -> str:
    """Return probabilities that are no defaults in words: one per grade, or 'identity'."""
    if isinstance(probabilities, str):
        return "labels are probabilities"
    spelled = spell_all(probabilities)
    return f"probabilities {spelled}"


def _threshold_of_choice(aspect: Aspect) -> float | None:
    """Return the lowest positive grade; None if two grades leave no choice, or it is unknown."""
    grades = aspect.grades
    if grades is None:  # then it is only known if it is declared
        return aspect.threshold
    if len(grades) <= 2:
        return None
    if aspect.threshold is not None:
        return float(aspect.threshold)
    second_lowest = grades[1]  # the default: all grades above the lowest are positive
    return float(second_lowest)
