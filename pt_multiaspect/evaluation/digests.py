"""Digests that change whenever a measure or judgments change: by content, and for functions and classes by code."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd

from ..bases.delegated import function_of
from ..collection.judgments import Judgments
from ..errors import MultiAspectError
from .user_modules import attributes_in, imported_in, is_installed, sources, version_of

__all__ = ["digest_of"]

_PACKAGE = __name__.partition(".")[0]

#: What classes have that does not change what they compute.
_IGNORED = {
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__signature__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
    "_help",
}


def digest_of(*values: object) -> str:
    """Return a digest of values, the same in every process.

    Equal digests mean equal content, code (of functions and classes outside installed packages, of what they
    refer to, and of all modules of the user that these import), and versions. The code of this package is part of
    every digest.

    Parameters
    ----------
    *values : object
        Measures, judgments and plain values.

    Raises
    ------
    MultiAspectError
        If a value has content that cannot be compared, such as an open file.
    """
    return _Digest().of(_versions(), *values)


class _Digest:
    """Feeds values to a hash, each with its type and length, so that different values differ in what is fed."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        #: The number of each function and class that was fed, and itself, as an id is reused when an object dies.
        #: Other values are fed each time, as equal ones are one object in one process and several in another.
        self._numbers: dict[int, tuple[int, object]] = {}
        #: The modules of the user, and the installed packages that they import, that were fed.
        self._modules: set[str] = set()
        #: The values that are being fed, from the outside in.
        self._open: list[int] = []

    def of(self, *values: object) -> str:
        """Return the digest of values."""
        for value in values:
            self.add(value)
        return self._hash.hexdigest()

    def add(self, value: Any) -> None:
        kind = type(value)
        if value is None or kind in (bool, int, float, complex, str, bytes):
            self._feed(kind.__name__, value if kind is bytes else repr(value).encode("utf-8", "surrogatepass"))
            return
        if id(value) in self._numbers:
            self._feed("again", str(self._numbers[id(value)][0]).encode())
            return
        if id(value) in self._open:
            self._feed("cycle", str(self._open.index(id(value))).encode())
            return
        if isinstance(value, FunctionType | type):
            self._numbers[id(value)] = (len(self._numbers), value)
        self._open.append(id(value))
        self._add_content(value, kind)
        self._open.pop()

    def _add_content(self, value: Any, kind: type) -> None:
        if kind in (tuple, list):
            self._add_all(kind.__name__, value)
        elif kind is dict:
            self._add_all("dict", [part for pair in value.items() for part in pair])
        elif kind in (set, frozenset):
            # By their digests, as the order of strings in a set differs between processes.
            self._add_all("set", sorted(_Digest().of(each) for each in value))
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, pd.DataFrame):
            columns = [(name, value.iloc[:, place]) for place, name in enumerate(value.columns)]
            self._add_all("frame", [value.index, *(part for pair in columns for part in pair)])
        elif isinstance(value, pd.Series):
            self._add_all("series", [value.name, value.index, str(value.dtype), _array_of(value)])
        elif isinstance(value, pd.MultiIndex):
            self._add_all("index", [list(value.names), value.to_frame(index=False)])
        elif isinstance(value, pd.Index):
            self._add_all("index", [list(value.names), str(value.dtype), _array_of(value)])
        elif isinstance(value, Judgments):
            self._add_all("judgments", value.content)
        elif isinstance(value, ModuleType):
            self._add_all("module", [value.__name__, str(getattr(value, "__version__", ""))])
            self._add_sources([value.__name__])
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, MethodType):
            self._add_all("method", [value.__self__, value.__func__])
        elif isinstance(value, staticmethod | classmethod):
            self._add_all(kind.__name__, [value.__func__])
        elif isinstance(value, property):
            self._add_all("property", [value.fget])
        elif isinstance(value, cached_property):  # which has a lock, too, before Python 3.12
            self._add_all("property", [value.func])
        elif isinstance(value, CodeType):
            self._add_code(value)
        elif isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType | None):
            self._add_all("builtin", [value.__module__, value.__qualname__])
            self._add_sources([str(value.__module__)])
        elif hasattr(value, "runtime_impl"):  # a measure that was defined by a function
            self._add_all("defined measure", [str(value), function_of(value)])
        elif hasattr(value, "SUPPORTED_PARAMS"):  # a measure, which also has notes that change nothing
            self._add_all(
                "measure", [kind, sorted(value.params), [value.params[name] for name in sorted(value.params)]]
            )
        else:
            self._add_object(value)

    def _feed(self, kind: str, content: bytes) -> None:
        self._hash.update(f"{kind} {len(content)} ".encode())
        self._hash.update(content)

    def _add_all(self, kind: str, parts: Any) -> None:
        parts = list(parts)
        self._feed(kind, str(len(parts)).encode())
        for part in parts:
            self.add(part)

    def _feed_name(self, kind: str, value: type | FunctionType) -> None:
        """Feed the name of a function or class, and the version of its package."""
        name = f"{value.__module__}.{value.__qualname__}"
        top = name.partition(".")[0]
        version = version_of(top) if top != _PACKAGE and is_installed(value.__module__) else ""
        self._feed(kind, f"{name} {version}".encode())

    def _add_array(self, array: np.ndarray[Any, Any]) -> None:
        self._feed("array", f"{array.dtype.str} {array.shape}".encode())
        if isinstance(array, np.ma.MaskedArray):
            self._add_array(np.ma.getmaskarray(array))
            array = array.filled()
        if array.dtype.hasobject:
            each = array.ravel().tolist()
            if set(map(type, each)) == {str}:  # at once, as judgments have millions
                self._feed("lengths", np.fromiter(map(len, each), np.int64, len(each)).tobytes())
                self._feed("texts", "".join(each).encode("utf-8", "surrogatepass"))
            else:
                self._add_all("objects", each)
        else:
            self._feed("content", np.ascontiguousarray(array).tobytes())

    def _add_class(self, cls: type) -> None:
        self._feed_name("class", cls)
        if not is_installed(cls.__module__):
            own = {name: value for name, value in vars(cls).items() if name not in _IGNORED}
            own = {name: value for name, value in own.items() if type(value).__name__ != "member_descriptor"}
            self._add_all("bases", cls.__bases__)
            self.add(own)

    def _add_function(self, function: FunctionType) -> None:
        self._feed_name("function", function)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        cells = function.__closure__ or ()
        self._add_all("closure", [cell.cell_contents for cell in cells if _is_filled(cell)])
        if not is_installed(function.__module__):
            self.add(function.__code__)
            known = function.__globals__
            names = sorted(name for name in _names(function.__code__) if name in known)
            self._add_all("globals", [part for name in names for part in (name, known[name])])
            if cells:
                filled = zip(function.__code__.co_freevars, cells, strict=True)
                known = known | {name: cell.cell_contents for name, cell in filled if _is_filled(cell)}
            for path in attributes_in(function.__code__):
                self._add_attribute(path, known)
            package = str(known.get("__package__") or function.__module__.rpartition(".")[0])
            self._add_sources(imported_in(function.__code__, package))

    def _add_attribute(self, path: tuple[str, ...], known: dict[str, Any]) -> None:
        """Add an attribute of a function, or of a module of the user, as it is now.

        Attributes of other objects are added with these.
        """
        value = known.get(path[0])
        for name in path[1:]:
            owner = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            is_own = isinstance(value, ModuleType | FunctionType) and not is_installed(str(owner))
            if not is_own or name not in vars(value):
                return
            value = vars(value)[name]
        self._add_all("attribute", [path, value])

    def _add_sources(self, names: Iterable[str]) -> None:
        """Add the modules of the user among these, and all that they import."""
        contents, versions = sources(names)
        for name, content in sorted([*contents.items(), *versions.items()], key=lambda item: item[0]):
            if name not in self._modules:
                self._modules.add(name)
                self._add_all("source", [name, content])

    def _add_code(self, code: CodeType) -> None:
        self._feed("code", code.co_code)
        self._add_all(
            "parts",
            [
                code.co_names,
                code.co_varnames,
                code.co_argcount,
                code.co_kwonlyargcount,
                code.co_flags,
                code.co_consts,
            ],
        )

    def _add_object(self, value: Any) -> None:
        """Add what pickle would write."""
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:
            raise MultiAspectError(
                f"cannot tell whether {value!r} ({type(value).__name__}) changes between calls: {error}. Omit "
                "out=, or let measures not refer to it"
            ) from error
        if isinstance(parts, str):
            # What is cached is wrapped.
            self._add_all("global", [type(value).__module__, parts, getattr(value, "__wrapped__", None)])
            self._add_sources([str(getattr(value, "__module__", ""))])
            return
        function, arguments, *state = parts
        self._add_all("object", [type(value), function, arguments])
        self._add_all(
            "state", [part if index == 0 or part is None else list(part) for index, part in enumerate(state)]
        )


def _array_of(column: Any) -> np.ndarray[Any, Any]:
    """Return a column as an array, whatever keeps its strings."""
    plain = isinstance(column.dtype, np.dtype) and not column.dtype.hasobject
    return np.asarray(column.to_numpy() if plain else column.to_numpy(dtype=object))


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> set[str]:
    """Return the names that code, and code within it, looks up."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


#: Packages that compute values, besides this one.
_COMPUTING = ("cwl", "ir_measures", "numpy", "pyndeval", "pytrec_eval", "scipy")


@cache
def _versions() -> tuple[str, ...]:
    """The versions of what computes values, and this package's own code."""
    own = hashlib.sha256()
    folder = Path(__file__).resolve().parent.parent
    for path in sorted(folder.rglob("*.py")):
        own.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    python = ".".join(map(str, sys.version_info[:2]))
    return own.hexdigest(), python, *(version_of(package) for package in _COMPUTING)
