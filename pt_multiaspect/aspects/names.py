"""Names that stand for declared content in measure strings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from ..errors import MultiAspectError

__all__ = ["NameRegistry"]


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
