"""Names of declared content in measure strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from ..errors import MultiAspectError, shown, warn

__all__ = ["NameRegistry"]


class Named(Protocol):
    """The content of a registry of names."""

    name: str | None

    def to_json(self) -> str: ...


N = TypeVar("N", bound=Named)


class NameRegistry(Generic[N]):
    """Names that stand for declared content in measure strings; a name follows what was declared last."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._content: dict[str, N] = {}
        self._declared: set[str] = set()

    def add(self, item: N) -> None:
        """Let a name stand for what has just been declared, with a warning if it stood for something else."""
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
        """Learn the name of what is unpickled or copied, unless this process has declared it itself.

        Otherwise a copy of an earlier measure would take the name back.
        """
        if item.name is not None and item.name not in self._declared:
            self._content[item.name] = item

    def get(self, name: str) -> N | None:
        return self._content.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._content))


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
