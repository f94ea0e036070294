"""The measures' parameter `aspects`: parsing and printing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from os import PathLike

from .._numbers import read_json
from ..errors import MultiAspectError, choices
from .aspects import Aspects, aspect_name
from .files import FILE_ENDING

__all__ = ["AspectSpec", "declared_aspects", "parse_aspects", "spell_aspects"]

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
            if text.endswith(FILE_ENDING):
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
        quoted = len(spec) == 1 or not all(map(_PLAIN_NAME, spec)) or spec[-1].endswith(FILE_ENDING)
        if spec != ("relevance",) and quoted:
            return json.dumps(spec, ensure_ascii=False)
        return ",".join(spec)
    return spec.spelled() if spec is not None else None
