"""Digests of measures and judgments, which change whenever the values of measures may change."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from .._version import __version__
from ..bases.delegated import function_of
from ..collection import Judgments
from ..errors import MultiAspectError

#: Packages that compute values, besides this one.
_COMPUTING = ("cwl-eval", "ir-measures", "numpy", "pandas", "pyndeval", "pytrec-eval-terrier", "scipy")

#: Modules whose code is identified by the versions that every digest contains.
_VERSIONED = {__name__.partition(".")[0], "ir_measures", "numpy", "pandas", "scipy"}


def digest_of(*values: object) -> str:
    """Return a digest of values, the same in every process.

    Functions and classes are represented by their source, defaults, closures, base classes and the version of their
    package, but not by other functions, constants and modules that they refer to.

    Parameters
    ----------
    *values : object
        Measures, judgments and plain values.

    Raises
    ------
    MultiAspectError
        If a value has content that cannot be compared, such as an open file.
    """
    return content_digest((_versions(), values))


def installed_versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of those that compute values, by name."""
    versions = {"python": sys.version.partition(" ")[0], "pt-multiaspect": __version__}
    for name in _COMPUTING:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


class _Pickler(pickle.Pickler):
    """A pickler that writes the result of `_parts` in place of a value.

    Parameters
    ----------
    write : callable
        Hashes what is written.
    enclosing : tuple of object
        The values that contain the current one, from the outside in.
    """

    def __init__(self, write: Callable[[bytes], object], enclosing: tuple[object, ...]) -> None:
        super().__init__(SimpleNamespace(write=write), protocol=4)
        # Without a memo: equal values may be one object in one process and several in another.
        self.fast = True
        self._enclosing = enclosing

    def persistent_id(self, value: Any) -> str | None:
        """Return the digest of a value, or None to pickle it."""
        if isinstance(value, str | int | float | bytes):
            return None
        parts = _parts(value)
        if parts is None:
            return None
        level = next((level for level, outer in enumerate(self._enclosing) if outer is value), None)
        return content_digest(parts, (*self._enclosing, value)) if level is None else f"level {level}"


def content_digest(value: object, enclosing: tuple[object, ...] = ()) -> str:
    """Return a digest of a value, part of the `enclosing` ones, the same in every process and for all versions."""
    digest = hashlib.sha256()
    try:
        _Pickler(digest.update, enclosing).dump(value)
    except MultiAspectError:
        raise
    except Exception as error:  # objects that cannot be pickled raise various errors
        raise MultiAspectError(
            f"out: cannot tell whether measures, judgments and runs change between calls: {error}. Omit out=, or "
            "leave out what cannot be pickled"
        ) from error
    return digest.hexdigest()


def _parts(value: Any) -> tuple[object, ...] | None:
    """Return the parts of a value to digest; None to pickle it."""
    if isinstance(value, set | frozenset):
        return "set", sorted(map(content_digest, value))  # the order of strings in a set differs between processes
    if isinstance(value, pd.DataFrame):
        columns = [value.iloc[:, position] for position in range(value.shape[1])]
        return "frame", value.index, columns, list(value.columns)
    if isinstance(value, pd.MultiIndex):
        return "index", list(value.names), value.to_frame(index=False)
    if isinstance(value, pd.Series | pd.Index):
        index = value.index if isinstance(value, pd.Series) else None
        return "column", value.name, index, str(value.dtype), *_column(value)
    if isinstance(value, Judgments):
        return "judgments", *value.content
    if isinstance(value, ModuleType):
        return "module", value.__name__, _version(value.__name__)
    if isinstance(value, type):
        return "class", *map(_definition, value.__mro__)
    if isinstance(value, FunctionType):
        cells = [_content(cell) for cell in value.__closure__ or ()]
        return *_definition(value), value.__defaults__, value.__kwdefaults__, cells
    if hasattr(value, "runtime_impl"):  # a measure that was defined by a function
        return "defined measure", str(value), function_of(value)
    if hasattr(value, "SUPPORTED_PARAMS"):  # a measure, which also has attributes without effect on values
        return "measure", type(value), sorted(value.params.items())
    if hasattr(value, "__wrapped__"):  # such as the result of functools.cache
        return "wrapped", type(value).__qualname__, value.__wrapped__
    return None


def _column(column: pd.Series[Any] | pd.Index[Any]) -> tuple[object, ...]:
    """Return the content of a column, independent of the storage of its strings."""
    if isinstance(column.dtype, np.dtype) and not column.dtype.hasobject:
        return (column.to_numpy().tobytes(),)
    values = column.to_numpy(dtype=object).tolist()
    if set(map(type, values)) == {str}:  # at once, as judgments have millions
        return np.fromiter(map(len, values), np.int64, len(values)).tobytes(), "".join(values)
    return (values,)


def _definition(value: type | FunctionType) -> tuple[object, ...]:
    """Return the name of a class or function and, unless every digest has its version, version and source."""
    module = str(value.__module__)
    name = f"{module}.{value.__qualname__}"
    # Objects that exec defines without a module claim to be builtins.
    if module.partition(".")[0] in _VERSIONED or getattr(builtins, value.__name__, None) is value:
        return (name,)
    try:
        source: object = inspect.getsource(value)
    except (OSError, TypeError) as error:
        if isinstance(value, FunctionType):
            raise MultiAspectError(
                f"out: expected functions with a source, so that changes can be noticed, got none for {name}. Omit "
                "out=, or define it in a file or a notebook"
            ) from error
        # A class of a notebook has no source, but its functions have.
        source = {key: _plain_function(member) for key, member in vars(value).items() if _is_written(key, member)}
    return name, _version(module), source


def _is_written(key: str, member: object) -> bool:
    """Return whether a member of a class was written by the user, rather than made by Python or this package."""
    if key.startswith("__") and key.endswith("__"):
        return isinstance(member, FunctionType) and member.__code__.co_filename != "<string>"  # as in dataclasses
    return key not in ("_help", "_abc_impl")


def _plain_function(value: Any) -> Any:
    """Return the function of a property or method."""
    for attribute in ("fget", "func", "__func__"):
        value = getattr(value, attribute, value)
    return value


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _version(module: str) -> str:
    """Return the version of the package of a module, if it has one."""
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))


@cache
def _versions() -> tuple[object, ...]:
    """Return a digest of this package's code, and the versions of Python and of packages that compute values."""
    own = hashlib.sha256()
    folder = Path(__file__).resolve().parent.parent
    for path in sorted(folder.rglob("*.py")):
        own.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return own.hexdigest(), installed_versions()
