"""Properties that are computed once per object, without a lock."""

from __future__ import annotations

import functools
from typing import Any, TypeVar, overload

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """A cached property that a fork cannot block.

    On Python 3.10 and 3.11, `functools.cached_property` computes under a lock of the class, which a process that is
    forked meanwhile inherits, and then waits for. Threads may compute a value twice here; all read the first one.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(self, instance: object, owner: type[Any] | None = None) -> cached_property[T] | T:
        """Return the value, computed at the first access."""
        if instance is None:
            return self
        assert self.attrname is not None
        value: T = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return value
