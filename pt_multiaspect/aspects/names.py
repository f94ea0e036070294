"""Names of declared content in measure strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from ..errors import MultiAspectError, shown, warn


class Named(Protocol):
    """The content of a registry of names."""

    name: str | None

    def to_json(self) -> str:
        """Return the content as text."""


N = TypeVar("N", bound=Named)


class NameRegistry(Generic[N]):
    """Names of declared content in measure strings. A name refers to the content declared last."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._content: dict[str, N] = {}
        self._declared: set[str] = set()

    def add(self, item: N) -> None:
        """Register the name of declared content, with a warning if it referred to other content."""
        name = item.name
        if name is None:
            return
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.\-]*", name):
            raise MultiAspectError(
                f"expected a name of {self._what} that starts with a letter and has only letters, digits, '.', "
                f"'-' and '_', as in measure strings, got {shown(name)}"
            )
        known = self._content.get(name)
        self._content[name] = item
        self._declared.add(name)
        if known is not None and known.to_json() != item.to_json():
            warn(
                f"the name {name!r} now refers to {_shortened(item.to_json())}; measures created earlier keep "
                f"{_shortened(known.to_json())}. Use different names to have both in measure strings"
            )

    def restore(self, item: N) -> None:
        """Register the name of unpickled or copied content, unless this process has declared the name itself.

        Otherwise a copy of an earlier measure would reassign the name.
        """
        if item.name is not None and item.name not in self._declared:
            self._content[item.name] = item

    def get(self, name: str) -> N | None:
        """Return the content of a name, or None if the name is unknown."""
        return self._content.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._content))


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
