"""The one base error of the package, and warnings that are given once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

__all__ = ["MultiAspectError", "MultiAspectWarning", "choices", "warn_once"]


class MultiAspectError(ValueError):
    """What was given cannot be evaluated; the message says what was expected.

    Every error this package raises on its input is one of these, so that
    ``except MultiAspectError`` (or ``except ValueError``) catches them all.
    """


class MultiAspectWarning(UserWarning):
    """Something was assumed that may change the numbers; the message names the remedy."""


_given: set[str] = set()


def warn_once(message: str, *, key: str | None = None, stacklevel: int = 3) -> None:
    """Warn with `message` the first time it, or its `key`, is given in this process.

    PyTerrier evaluates batches, folds and systems one by one: without this, one
    cause would be reported dozens of times.
    """
    if (key or message) not in _given:
        _given.add(key or message)
        warnings.warn(message, MultiAspectWarning, stacklevel=stacklevel)


def choices(names: Iterable[object]) -> str:
    """Write `names` out for an error message, in the order given."""
    return ", ".join(str(name) for name in names) or "none"
