"""The page of the API, ``pt_docs/api.rst``, with an entry for each name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "pt_multiaspect" / "pt_docs" / "api.rst"

#: A module whose public functions are all on the page.
MODULE = re.compile(r"^\.\. automodule:: (?P<name>\S+)\n   :members:\n", re.MULTILINE)


def list_functions(text: str) -> str:
    """Replace each module in the text by an entry for each of its public functions."""

    def entries(module: re.Match[str]) -> str:
        names = import_module(module["name"]).__all__
        return "".join(f".. autofunction:: {module['name']}.{name}\n" for name in names)

    return MODULE.sub(entries, text)


def read_page() -> str:
    """Return the text of the page, with an entry for each name."""
    return list_functions(PATH.read_text(encoding="utf-8"))
