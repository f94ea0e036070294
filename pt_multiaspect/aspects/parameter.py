"""The measures' parameter `aspects`: parsing and printing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from os import PathLike

from .._numbers import read_json
from ..errors import MultiAspectError, choices, errors_of, shown
from .aspects import FILE_ENDING, Aspects, aspect_name, scales_and_name

#: Names that can be written in a list separated by commas, such as ``Topical relevance``: a letter
#: or "_", then letters, digits, "_", spaces, "." and "-", but no space at the end.
_PLAIN_NAME = re.compile(r"[^\W\d](?:[\w .\-]*[\w.\-])?")


#: The parameter `aspects` of a measure: declared scales, names of columns, or None.
AspectSpec = Aspects | tuple[str, ...] | None


def parse_aspects(spec: object) -> AspectSpec:
    """Parse the parameter `aspects` of a measure in any accepted form.

    Parameters
    ----------
    spec : None, Aspects, mapping, path, str or sequence of str
        A str is a registered name, JSON, the name of a file that ends in ``.json``, or column names
        separated by commas. Names that contain commas, end in ``.json`` or are also registered
        names are given as a JSON list, ``'["a,b"]'``. A file is read immediately (see
        `Aspects.from_file`): measures print, pickle and compare by its content, not its name.

    Returns
    -------
    Aspects, tuple of str or None
        Declared scales, selected columns, or None for all label columns.
    """
    if spec is None or isinstance(spec, Aspects):
        return spec
    if isinstance(spec, Mapping):
        return Aspects(spec)
    if isinstance(spec, PathLike):
        return Aspects.from_file(spec)
    selected = spec
    if isinstance(spec, str):
        selected = _parse_text(spec.strip())
        if isinstance(selected, Aspects):
            return selected
    names = _distinct_names(selected)
    if names is not None:
        return names
    raise MultiAspectError(
        "aspects: expected an Aspects object, a mapping of names to scales, a registered name "
        f"({choices(Aspects.registry)}), a file (.json) or distinct column names, got "
        f"{shown(selected)}"
    )


def _distinct_names(columns: object) -> tuple[str, ...] | None:
    """Return the aspects of column names, or None if there are none or some are repeated."""
    is_mapping = isinstance(columns, Mapping)  # with scales, which would be ignored
    if is_mapping or not isinstance(columns, Iterable):
        return None
    names = tuple(map(aspect_name, columns))
    are_distinct = len(set(names)) == len(names)
    if names and are_distinct:
        return names
    return None


def _parse_text(text: str) -> object:
    """Return the declared scales, or else the names of columns, which are not checked.

    The text is JSON, a registered name, the name of a file, or names separated by commas.
    """
    is_json = text.startswith(("{", "["))
    if is_json:
        content = read_json(text, "aspects")
        if isinstance(content, Mapping):
            scales, name = scales_and_name(content)
            return Aspects(scales, name=name)
        return content
    registered = Aspects.registry.get(text)
    if registered is not None:
        return registered
    if text.endswith(FILE_ENDING):
        return Aspects.from_file(text)
    return _split_names(text)


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def declared_aspects(spec: object) -> Aspects:
    """Parse declared scales; there are no judgments from which they could be inferred."""
    declared = parse_aspects(spec)
    if isinstance(declared, Aspects):
        return declared
    raise MultiAspectError(
        "expected aspects with their scales (a mapping, an Aspects object, its name or a file of "
        f"one), got {spec!r}"
    )


def spell_aspects(spec: AspectSpec) -> object:
    """Return `spec` as measures print it, so that `parse_aspects` reads it."""
    if spec is None:
        return None
    if isinstance(spec, Aspects):
        return spec.spelled()
    # Names are printed separated by commas, unless this text would be read as something else.
    as_json = json.dumps(spec, ensure_ascii=False)
    ends_like_file = spec[-1].endswith(FILE_ENDING)
    if ends_like_file:  # it would be read as the name of a file
        return as_json
    if spec == ("relevance",):  # no scales can be declared under this name
        return spell_names(spec)
    if len(spec) == 1:  # it would be read as the name of declared scales, if there are such
        return as_json
    return spell_names(spec)


def parse_names(what: str) -> Callable[[object], tuple[str, ...]]:
    """Return a parser of names of aspects, whose errors start with `what`.

    They are never names of declared sets.
    """

    def parse(value: object) -> tuple[str, ...]:
        """Return the names in a sequence, in JSON, or in a text separated by commas.

        Errors start with `what` of the enclosing function.
        """
        listed = value
        if isinstance(value, str):
            listed = _read_names(value.strip(), what)
        with errors_of(what):
            names = _distinct_names(listed)  # None if they are no distinct names
        if names is None:
            raise MultiAspectError(
                f"{what}: expected distinct names of aspects, such as 'relevance,credibility', got "
                f"{shown(value)}"
            )
        return names

    return parse


def _read_names(text: str, what: str) -> object:
    """Return the content of a JSON list, which is not checked, or names separated by commas."""
    is_json = text.startswith("[")
    if is_json:
        return read_json(text, what)
    return _split_names(text)


def spell_names(names: tuple[str, ...] | None) -> object:
    """Return names of aspects as measures print them: separated by commas, or else as JSON."""
    if names is None:
        return None
    are_plain = all(map(_PLAIN_NAME.fullmatch, names))
    if are_plain:
        return ",".join(names)
    return json.dumps(names, ensure_ascii=False)
