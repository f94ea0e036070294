"""Names of declared content in measure strings."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ..errors import MultiAspectError, shown, warn

if TYPE_CHECKING:
    from typing_extensions import Self


class Named(ABC):
    """Declared content with a name for measure strings.

    Objects of equal content and name are equal.
    """

    #: The names of this kind of content.
    registry: ClassVar[NameRegistry[Any]]
    name: str | None

    @abstractmethod
    def to_json(self) -> str:
        """Return the content as text."""

    @property
    def _state(self) -> str:
        """The content from which `_from_state` restores the object."""
        return self.to_json()

    @classmethod
    @abstractmethod
    def _from_state(cls, state: str) -> Self:
        """Return an object with the content of `state`."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Named) or other.registry is not self.registry:
            return False  # another kind of content
        has_same_name = self.name == other.name
        return has_same_name and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.to_json(), self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.registry.kind, self._state, self.name)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        # A copy of an earlier measure must not reassign the name.
        return self


N = TypeVar("N", bound=Named)


def _restore(kind: type[N], state: Any, name: str | None) -> N:
    """Return an unpickled object, and register its name, also in another process."""
    restored = kind._from_state(state)
    restored.name = name
    kind.registry.restore(restored)
    return restored


class NameRegistry(Generic[N]):
    """Names of declared content in measure strings. A name refers to the content declared last."""

    def __init__(self, kind: type[N], what: str) -> None:
        self.kind = kind
        self._what = what
        self._content: dict[str, N] = {}
        self._declared: set[str] = set()

    def add(self, item: N) -> None:
        """Register the name of declared content, with a warning if it referred to other content."""
        name = item.name
        if name is None:
            return
        # A letter, then letters, digits, "_", "." and "-", such as 'trec-misinfo-2022'.
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][\w.\-]*", name):
            raise MultiAspectError(
                f"expected a name of {self._what} that starts with a letter and has only letters, "
                f"digits, '.', '-' and '_', as in measure strings, got {shown(name)}"
            )
        self._declared.add(name)
        self._bind(name, item)

    def _bind(self, name: str, item: N) -> None:
        """Let the name refer to `item`, with a warning if it referred to other content."""
        previous = self._content.get(name)
        self._content[name] = item
        if previous is None:
            return
        content = item.to_json()
        previous_content = previous.to_json()
        if content != previous_content:
            warn(
                f"the name {name!r} now refers to {_shorten(content)}; measures created earlier "
                f"keep {_shorten(previous_content)}. Use different names to have both in measure "
                "strings"
            )

    def restore(self, item: N) -> None:
        """Register the name of unpickled content, unless this process has declared it itself."""
        name = item.name
        if name is None or name in self._declared:
            return
        self._bind(name, item)

    def get(self, name: str) -> N | None:
        """Return the content of a name, or None if the name is unknown."""
        return self._content.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._content))


def _shorten(text: str) -> str:
    """Return the text, cut to 200 characters."""
    if len(text) <= 200:
        return text
    return f"{text[:199]}…"
