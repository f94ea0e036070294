"""The measures' parameter `aspects`: parsing and printing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from os import PathLike

from .._numbers import read_json
from ..errors import MultiAspectError, choices, errors_of, shown
from .aspects import FILE_ENDING, Aspects, aspect_name, scales_and_name

#: Matches names that can be written in a list separated by commas.
_PLAIN_NAME = re.compile(r"[^\W\d](?:[\w .\-]*[\w.\-])?").fullmatch


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
    if isinstance(spec, str):
        spec = _parse_text(spec.strip())
        if isinstance(spec, Aspects):
            return spec
    if isinstance(spec, Iterable):
        names = tuple(map(aspect_name, spec))
        if names and len(set(names)) == len(names):
            return names
    raise MultiAspectError(
        "aspects: expected an Aspects object, a mapping of names to scales, a registered name "
        f"({choices(Aspects.registry)}), a file (.json) or distinct column names, got {shown(spec)}"
    )


def _parse_text(text: str) -> object:
    """Return the declared scales, or the names of columns, which are not checked."""
    if text.startswith(("{", "[")):
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
    """Return `spec` as measures print it."""
    if isinstance(spec, tuple):
        # A single name may be the name of a declared set, now or later; relevance cannot.
        is_list = len(spec) > 1 and all(map(_PLAIN_NAME, spec))
        is_plain = is_list and not spec[-1].endswith(FILE_ENDING)
        if spec != ("relevance",) and not is_plain:
            return json.dumps(spec, ensure_ascii=False)
        return ",".join(spec)
    if spec is not None:
        return spec.spelled()
    return None


def parse_names(what: str) -> Callable[[object], tuple[str, ...]]:
    """Return a parser of names of aspects, whose errors start with `what`.

    They are never names of declared sets.
    """

    def parse(value: object) -> tuple[str, ...]:
        spec = value
        if isinstance(spec, str):
            text = spec.strip()
            if text.startswith("["):
                spec = read_json(text, what)
            else:
                spec = _split_names(text)
        if isinstance(spec, Iterable) and not isinstance(spec, Mapping | str):
            with errors_of(what):
                names = tuple(map(aspect_name, spec))
            if names and len(set(names)) == len(names):
                return names
        raise MultiAspectError(
            f"{what}: expected distinct names of aspects, such as 'relevance,credibility', got "
            f"{shown(value)}"
        )

    return parse


def spell_names(names: tuple[str, ...] | None) -> object:
    """Return names of aspects as measures print them."""
    if names is None:
        return None
    if all(map(_PLAIN_NAME, names)):
        return ",".join(names)
    return json.dumps(names, ensure_ascii=False)
