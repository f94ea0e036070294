"""Properties and results that are computed once per object, without a lock."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, overload

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """A cached property that a fork cannot block.

    On Python 3.10 and 3.11, `functools.cached_property` computes under a lock of the class, which a
    process that is forked meanwhile inherits, and then waits for. Threads may compute a value twice
    here; all read the first one.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> cached_property[T] | T:
        """Return the value, computed at the first access."""
        if instance is None:  # read on the class
            return self
        assert self.attrname is not None
        computed = self.func(instance)
        # If another thread has stored a value meanwhile, that one is returned. Later accesses find
        # it in `__dict__` and do not come here, as this class does not define `__set__`.
        value: T = instance.__dict__.setdefault(self.attrname, computed)
        return value


class Memo:
    """A base class of objects with a cache of derived results.

    Copies and pickles do not contain the cache.
    """

    def compute_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of `make`, computed once per `key`."""
        results = self.__dict__.setdefault("_results", {})
        if key not in results:
            results[key] = make()
        result: T = results[key]
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_results"}
