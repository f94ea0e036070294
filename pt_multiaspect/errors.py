"""The one base error of the package, and warnings that are given once."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = [
    "MultiAspectError",
    "MultiAspectWarning",
    "callers_level",
    "choices",
    "counted",
    "renamed",
    "unheard",
    "warn_once",
]


class MultiAspectError(ValueError):
    """What was given cannot be evaluated; the message says what was expected.

    Every error this package raises on its input is one of these, so that
    ``except MultiAspectError`` (or ``except ValueError``) catches them all.
    """


class MultiAspectWarning(UserWarning):
    """Something was assumed that may change the numbers; the message names the remedy."""


_given: set[str | tuple[str, str]] = set()
#: How many causes of one group are reported, before a last warning says that there are more.
_PER_GROUP = 3


def warn_once(message: str, *, key: str | None = None, group: str | None = None) -> None:
    """Warn with `message` the first time it, or its `key`, is given in this process.

    PyTerrier evaluates batches, folds and systems one by one: without this, one
    cause would be reported dozens of times. Where batches give many keys for one cause, a
    `group` limits them: after three the next one is the last.
    """
    cause = key or message
    entry = cause if group is None else (group, cause)
    if entry in _given:
        return
    if group is not None:
        earlier = sum(isinstance(other, tuple) and other[0] == group for other in _given)
        if earlier > _PER_GROUP:
            return
        if earlier == _PER_GROUP:
            message += ". Parts of the qrels (batches, folds) differ in this; further ones are not reported"
    _given.add(entry)
    warnings.warn(message, MultiAspectWarning, stacklevel=callers_level())


@contextmanager
def unheard() -> Iterator[None]:
    """Give none of the package's warnings inside, and leave them to be given later."""
    given = set(_given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MultiAspectWarning)
            yield
    finally:
        _given.clear()
        _given.update(given)


#: Whose frames a warning is not shown at: they call each other on behalf of the user.
_TOOLS = ("pt_multiaspect", "ir_measures", "pyterrier", "joblib", "tqdm", "sklearn", "lightgbm", "xgboost")


def callers_level() -> int:
    """The stack level, for the caller of this, of the first frame outside the tools that call each other here."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _TOOLS:
            break
        level, frame = level + 1, frame.f_back
    return level


_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


def renamed(**arguments: str) -> Callable[[Callable[_Params, _Result]], Callable[_Params, _Result]]:
    """Let a function raise TypeError with the new name for arguments that have been renamed, ``old="new"``."""

    def decorate(function: Callable[_Params, _Result]) -> Callable[_Params, _Result]:
        @wraps(function)
        def checked(*args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
            for old, new in arguments.items():
                if old in kwargs:
                    raise TypeError(f"{function.__name__}() has no argument {old!r}; it is now called {new!r}")
            return function(*args, **kwargs)

        return checked

    return decorate


def counted(number: int, noun: str) -> str:
    """Say how many of something there are in all, for an error that shows the first."""
    return f"({number} such {noun}{'' if number == 1 else 's'} in all)"


def choices(names: Iterable[object]) -> str:
    """Write `names` out for an error message, in the order given."""
    return ", ".join(str(name) for name in names) or "none"
