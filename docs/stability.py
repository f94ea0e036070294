"""The stability of the public names, as stated in their docstrings."""

from __future__ import annotations

import inspect
import re
import runpy
from functools import reduce
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: A paragraph of a docstring, such as "Stability: provisional in `by`. How groups are given may
#: change."
STABILITY = re.compile(
    r"Stability: provisional(?: in (?P<parts>`[^`]+`(?:, `[^`]+`)*))?\. (?P<reason>[A-Z].*\.)"
)
#: What is meant as such a paragraph, also if it is misspelt.
MEANT = re.compile(r"\bstab\w*\s*:|\bprovi\w*al\b", re.IGNORECASE)


def stability(docstring: str) -> tuple[str, str] | None:
    """Return the provisional parts (empty for all) and the reason; None if stable. Raise ValueError if misspelt."""
    paragraphs = [" ".join(text.split()) for text in re.split(r"\n\s*\n", docstring)]
    # A section begins with its title and a line of hyphens.
    paragraphs = [re.sub(r"^[A-Z][A-Za-z ]+ -{3,} ", "", text) for text in paragraphs]
    meant = [text for text in paragraphs if MEANT.search(text)]
    if not meant:
        return None
    match = STABILITY.fullmatch(meant[0])
    if not match or len(meant) > 1:
        raise ValueError(
            'expected one paragraph "Stability: provisional. The reason.", got '
            f"{' / '.join(meant)!r}"
        )
    for part in re.findall("`(.+?)`", match["parts"] or ""):
        if docstring.count(part) < 2:
            raise ValueError(f"Stability: the docstring does not describe {part}")
    return match["parts"] or "", match["reason"]


def find(path: str) -> object:
    """Return the object of a path, also from a module that has the name of a function, such as `weightings`."""
    parent, _, name = path.rpartition(".")
    try:
        module: object = import_module(parent)
    except ModuleNotFoundError:  # another name of a module, such as pt_multiaspect.forms
        module = reduce(getattr, parent.split(".")[1:], import_module("pt_multiaspect"))
    return getattr(module, name)


def provisional() -> dict[str, tuple[str, str]]:
    """Return the provisional names on the API page, in its order, with the results of `stability`."""
    page = runpy.run_path(str(HERE / "api_page.py"))["read_page"]()
    found = {}
    for name in re.findall(r"auto\w+:: (\S+)", page):
        path = f"pt_multiaspect.{name.removeprefix('pt_multiaspect.')}"
        try:
            if stated := stability(inspect.getdoc(find(path)) or ""):
                found[path] = stated
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return found
