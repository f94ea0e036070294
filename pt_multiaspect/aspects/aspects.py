"""An ordered, named set of aspects, its files, and its scales in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
                f"{shown(aspects)}; "
                "give each aspect its highest grade or all its grades, as in {'relevance': 2}"
            )
        if "grades" in aspects and set(aspects) <= set(_KEYS) and len(aspects) > 1:
            raise MultiAspectError(
                f"aspects: expected a scale per aspect, got {choices(aspects)}, the parameters of "
                "one scale; name "
                f"its aspect, as in {json.dumps({'relevance': dict(aspects)}, default=repr)}"
            )
        self._aspects: dict[str, Aspect] = {}
        for key, aspect in aspects.items():
            column = aspect_name(key)
            if column in self._aspects:
                raise MultiAspectError(
                    f"expected each aspect once, got {column!r} twice (label and relevance are the "
                    "same aspect)"
                )
            with errors_of(f"aspect {column!r}"):
                self._aspects[column] = Aspect.from_spec(aspect)
        self.name = name
        self._json = json.dumps(
            {key: aspect.to_spec() for key, aspect in self._aspects.items()},
            separators=(",", ":"),
            ensure_ascii=False,
        )
        if name is not None:
            if isinstance(name, str) and name in (*self._aspects, "relevance", "label"):
                raise MultiAspectError(
                    f"expected a name that is not an aspect, got {name!r}, which selects a column "
                    "in strings"
                )
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
        specs = {
            key: json.dumps(aspect.declaration(), ensure_ascii=False)
            for key, aspect in self._aspects.items()
        }
        lines = [
            f"    {json.dumps(key, ensure_ascii=False)}: {spec}" for key, spec in specs.items()
        ]
        if self.name is None:
            named = ""
        else:
            named = f'  "name": {json.dumps(self.name)},\n'
        text = (
            f'{{\n  "version": {FILE_VERSION},\n{named}  "aspects": {{\n'
            + ",\n".join(lines)
            + "\n  }\n}\n"
        )
        write_file(path, text)

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
        """Return the set as printed in measures: a name, a small dict or JSON."""
        if self.name is not None:
            return self.name
        specs = {key: aspect.to_spec() for key, aspect in self._aspects.items()}
        return specs if all(isinstance(spec, int) for spec in specs.values()) else self._json

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
        inner = ", ".join(f"{key!r}: {aspect!r}" for key, aspect in self._aspects.items())
        return f"Aspects({{{inner}}}{'' if self.name is None else f', name={self.name!r}'})"

    def __str__(self) -> str:
        return str(self.spelled())

    def _repr_html_(self) -> str:
        rows: list[Cells] = []
        for key, aspect in self._aspects.items():
            grades, gains, probabilities, positive = "inferred from the judgments", "", "", ""
            if aspect.grades is not None:
                scale = aspect.scale
                grades, gains = spell_all(scale.grades.tolist()), spell_all(scale.gains.tolist())
                probabilities = "the label itself"
                if not scale.identity:
                    probabilities = spell_all(round(p, 3) for p in scale.probabilities.tolist())
                positive = spell_all(scale.grades[scale.threshold :].tolist()) or "none"
            if aspect.unjudged:
                grades += f" (not judged: {spell_codes(aspect)})"
            rows.append([Cell(key, "strong"), grades, gains, probabilities, positive])
        columns = [Column(head, left=True, shorten=12) for head in _HTML_COLUMNS]
        if self.name:
            title = [Heading(self.name)]
        else:
            title = []
        return fragment(
            [*title, Table([replace(columns[0], shorten=None), *columns[1:]], rows, most=len(rows))]
        )

    @property
    def _state(self) -> str:
        return json.dumps({key: aspect.declaration() for key, aspect in self.items()})

    @classmethod
    def _from_state(cls, state: str) -> Aspects:
        return cls(json.loads(state))


_HTML_COLUMNS = ("aspect", "grades, lowest first", "gains", "probabilities", "positive grades")


Aspects.registry = NameRegistry(Aspects, "an aspect set")


def _read_file(path: str | PathLike[str]) -> object:
    """Return the content of a JSON file of aspects."""
    try:
        return read_json(
            Path(path).expanduser().read_text(encoding="utf-8-sig"), "a file of aspects"
        )
    except FileNotFoundError as error:
        raise MultiAspectError(
            f"no such file (a string that ends in {FILE_ENDING} is the name of a file of aspects, "
            "which "
            "Aspects.to_file writes; to select a column of that name, give a list of names)"
        ) from error
    except OSError as error:
        raise MultiAspectError(f"the file cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise MultiAspectError(
            "expected a JSON file of aspects in UTF-8, got other bytes"
        ) from error


def scales_and_name(content: object) -> tuple[Mapping[str, Any], str | None]:
    """Return the scales in JSON, and the name of the set if there is one; the scales are not checked.

    Parameters
    ----------
    content : object
        A scale per aspect, or the output of `Aspects.to_file`, recognised by the keys version and
        aspects.
    """
    if not isinstance(content, Mapping):
        raise MultiAspectError(
            f"expected a JSON object with a scale per aspect, got {type(content).__name__}"
        )
    marks = [key for key in ("version", "aspects") if key in content]
    if not marks:
        return content, None
    if len(marks) == 1:
        raise MultiAspectError(
            "expected a scale per aspect, or the keys version and aspects, as Aspects.to_file "
            "writes them, got "
            f"the key {marks[0]} alone"
        )
    version = content["version"]
    if isinstance(version, bool) or version != FILE_VERSION:
        raise MultiAspectError(
            f"expected version {FILE_VERSION} of a file of aspects, got {version!r}; a newer "
            "pt_multiaspect may "
            "have written it"
        )
    refuse_unknown(content, ("version", "name", "aspects"), "keys")
    return content["aspects"], content.get("name")


def aspect_name(name: object) -> str:
    """Return the aspect of a column name; PyTerrier's ``label`` is ``relevance``."""
    if not isinstance(name, str) or not name.strip():
        raise MultiAspectError(
            f"expected a non-empty string as the name of an aspect, got {shown(name)}"
        )
    return "relevance" if name == "label" else name


def in_words(aspects: Mapping[str, Aspect]) -> str:
    """Return the grades of each aspect, lowest first, and the settings that differ from the defaults.

    Examples
    --------
    >>> in_words({"relevance": Aspect(1), "understandability": Aspect(3, threshold=2)})
    'relevance 0, 1; understandability 0, 1, 2, 3 (positive from 2)'
    """
    return "; ".join(f"{name} {_scale(aspect)}" for name, aspect in aspects.items())


def _scale(aspect: Aspect) -> str:
    """Return one scale in words. With two grades, only one threshold is possible, so it is omitted."""
    scale = None if aspect.grades is None else aspect.scale
    if aspect.greater_is_better:
        remarks = []
    else:
        remarks = ["lower is better"]
    if scale is not None and len(scale) > 2:
        remarks.append(f"positive from {spell(float(scale.grades[scale.threshold]))}")
    elif scale is None and aspect.threshold is not None:
        remarks.append(f"positive from {spell(aspect.threshold)}")
    spec = aspect.to_spec()
    if isinstance(spec, int):
        settings = {}
    else:
        settings = spec
    if "gains" in settings:
        remarks.append(f"gains {spell_all(aspect.gains or ())}")
    if aspect.probabilities == "identity":
        remarks.append("labels are probabilities")
    elif "probabilities" in settings and not isinstance(aspect.probabilities, str):
        remarks.append(f"probabilities {spell_all(aspect.probabilities)}")
    if aspect.unjudged:
        remarks.append(f"not judged: {spell_codes(aspect)}")
    return ("inferred" if scale is None else str(scale)) + (
        f" ({'; '.join(remarks)})" if remarks else ""
    )
