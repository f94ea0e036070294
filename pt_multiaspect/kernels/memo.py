"""Results that are computed once per object."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """A base class of objects with a cache of derived results, which copies and pickles do not contain."""

    def compute_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per `key`."""
        results = self.__dict__.setdefault("_results", {})
        if key not in results:
            results[key] = make()
        result: T = results[key]
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_results"}
