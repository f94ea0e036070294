"""The part of pt_multiaspect that PyTerrier loads. It imports the package on first use.

PyTerrier calls `load`, the entry point of group ``pyterrier.modules``, whenever it is imported, and
does not catch exceptions. So this module is small and outside the package (importing a submodule
imports all of it), and converts exceptions to warnings. The replacements are defined in
`pt_multiaspect.integration.pyterrier`.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, wraps
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["REPLACED", "Call", "install", "load", "original_function", "uninstall"]

_PACKAGE = "pt_multiaspect"

#: Attribute of the functions that `install` puts in place of others: the original function.
REPLACED = "_pt_multiaspect_replaced"

#: The original functions that `install` has replaced, by module and name.
_originals: dict[tuple[str, str], Callable[..., Any]] = {}

#: Names of trec_eval, possibly with cutoffs, which are read without the package.
_TREC_NAME = re.compile(r"[A-Za-z_]+(?:[._][1-9]\d{0,8}(?:,[1-9]\d{0,8})*)?")


class _Package(ModuleType):
    """The package, imported on first use: ``pyterrier.multiaspect`` until then."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(_PACKAGE), name)

    def __dir__(self) -> list[str]:
        return dir(import_module(_PACKAGE))


def load() -> ModuleType:
    """Patch PyTerrier, and return the package, which is imported on first use.

    Returns
    -------
    module
        The module that becomes ``pyterrier.multiaspect``.
    """
    try:
        install()
    except Exception as error:
        _warn("cannot patch PyTerrier", error)
    return sys.modules.get(_PACKAGE) or _Package(_PACKAGE)


def install() -> None:
    """Patch ir-measures, and PyTerrier if it is imported. Repeated calls have no effect."""
    for module_name, name, replace in _PATCHES:
        module = sys.modules.get(module_name)
        original = getattr(module, name, None)
        if original is not None and not _is_replaced(module_name, name, original):
            replacement = wraps(original)(replace(original))
            replacement.__module__, replacement.__qualname__ = module_name, name  # for pickle
            setattr(replacement, REPLACED, original)
            setattr(module, name, replacement)
            _originals[module_name, name] = original
    measures = sys.modules.get("pyterrier.measures")
    if measures is not None:
        vars(measures).setdefault("__getattr__", _measure)
    pyterrier: Any = sys.modules.get("pyterrier")
    if isinstance(getattr(pyterrier, "multiaspect", None), _Package) and _PACKAGE in sys.modules:
        pyterrier.multiaspect = sys.modules[_PACKAGE]


def uninstall() -> None:
    """Undo `install`, except for functions that another package has wrapped in the meantime."""
    for module_name, name, _ in _PATCHES:
        module = sys.modules.get(module_name)
        current = getattr(module, name, None)
        original = getattr(current, REPLACED, None)
        # A wrapper of another package has copied the attribute, but wraps the replacement.
        if original is not None and getattr(current, "__wrapped__", None) is original:
            setattr(module, name, original)
            _originals.pop((module_name, name), None)
    measures = sys.modules.get("pyterrier.measures")
    if measures is not None and vars(measures).get("__getattr__") is _measure:
        del vars(measures)["__getattr__"]


def original_function(module_name: str, name: str) -> Callable[..., Any]:
    """Return the function that `install` has replaced, or the current one."""
    original: Callable[..., Any] = _originals.get((module_name, name)) or getattr(
        sys.modules[module_name], name
    )
    return original


def _is_replaced(module_name: str, name: str, function: Callable[..., Any]) -> bool:
    """Return whether a function is a replacement, or another package's wrapper of it."""
    wrapped = list(_wrapped_functions(function))
    if any(hasattr(inner, REPLACED) for inner in wrapped):
        return True
    is_original = (
        str(getattr(wrapped[-1], "__module__", "")).partition(".")[0]
        == module_name.partition(".")[0]
    )
    # What other functions call is unknown: if they came later, the replacement.
    return not is_original and (module_name, name) in _originals


def _wrapped_functions(function: Any) -> Iterator[Any]:
    """Yield a function and those that it wraps by means of functools."""
    while function is not None:
        yield function
        function = (
            function.func
            if isinstance(function, partial)
            else getattr(function, "__wrapped__", None)
        )


def _needed(measures: Any) -> Any:
    """Return `pt_multiaspect.integration.pyterrier` if one of the measures may need it, else None."""
    if _PACKAGE not in sys.modules:
        several = isinstance(measures, Iterable) and not isinstance(measures, str)
        names = [
            measure for measure in (measures if several else [measures]) if isinstance(measure, str)
        ]
        if all(map(_TREC_NAME.fullmatch, names)) and not any(map(_is_unknown, names)):
            return None
    return _imported()


def _is_unknown(name: str) -> bool:
    try:
        original_function("ir_measures", "parse_trec_measure")(name)
    except ValueError:
        return name != "mrt"  # the time that pt.Experiment reports
    return False


def _imported() -> Any:
    try:
        return import_module(f"{_PACKAGE}.integration.pyterrier")
    except Exception as error:
        _warn(
            "cannot import the package, so that PyTerrier reads no names such as 'nDCG@10'", error
        )
        return None


def _warn(message: str, error: Exception) -> None:
    warnings.warn(f"{_PACKAGE}: {message}: {type(error).__name__}: {error}", stacklevel=3)


def _parser(original: Callable[..., Any]) -> Callable[..., Any]:
    def parse(measure: str) -> Any:
        doors = _needed(measure)
        return original(measure) if doors is None else doors.parse(measure)

    return parse


class Call:
    """A call of a function of PyTerrier, with its arguments as far as they are known.

    Parameters
    ----------
    name : str
        Name of the function.
    function : callable
        The function, or a wrapper of another package.
    parameters : mapping of str to Parameter
        The parameters of PyTerrier's function, which wrappers may hide.
    args : tuple
        The positional arguments.
    kwargs : dict
        The keyword arguments.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        parameters: Mapping[str, inspect.Parameter],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        while isinstance(function, partial):
            function, args, kwargs = (
                function.func,
                (*function.args, *args),
                {**function.keywords, **kwargs},
            )
        self.name, self._function, self._args, self._kwargs = name, function, list(args), kwargs
        self._positions = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        defaults = {p.name: p.default for p in parameters.values() if p.default is not p.empty}
        #: The arguments and the defaults of PyTerrier, by parameter.
        self.arguments = {**defaults, **dict(zip(self._positions, args, strict=False)), **kwargs}

    def replace(self, parameter: str, value: object) -> None:
        """Replace an argument. A default remains, as wrappers may have others."""
        if parameter in self._kwargs:
            self._kwargs[parameter] = value
        elif parameter in self._positions[: len(self._args)]:
            self._args[self._positions.index(parameter)] = value

    def __call__(self) -> Any:
        """Call the function."""
        return self._function(*self._args, **self._kwargs)


def _evaluating(
    name: str, door: str, parameter: str
) -> tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Return the patch of a function of PyTerrier whose `parameter` is the measures."""

    def replace(original: Callable[..., Any]) -> Callable[..., Any]:
        own = getattr(sys.modules.get("pyterrier._evaluation"), name, original)
        parameters = inspect.signature(own).parameters

        def evaluate(*args: Any, **kwargs: Any) -> Any:
            call = Call(name, original, parameters, args, kwargs)
            doors = _needed(call.arguments[parameter]) if parameter in call.arguments else None
            return call() if doors is None else getattr(doors, door)(call)

        return evaluate

    return "pyterrier", name, replace


def _measure(name: str) -> Any:
    """Return a missing attribute of ``pyterrier.measures``: a measure, or the names for ``import *``."""
    names = vars(sys.modules["pyterrier.measures"])
    if (not name.startswith("_") or name == "__all__") and _imported() is not None:
        if name == "__all__":
            return [known for known in names if not known.startswith("_")]
        if name in names:
            return names[name]
    raise AttributeError(f"module 'pyterrier.measures' has no attribute {name!r}")


_PATCHES: list[tuple[str, str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = [
    ("ir_measures", "parse_trec_measure", _parser),
    _evaluating("Experiment", "experiment", "eval_metrics"),
    _evaluating("GridScan", "grid_scan", "metrics"),
    _evaluating("GridSearch", "grid_search", "metric"),
    _evaluating("KFoldGridSearch", "grid_search", "metric"),
]
