"""Lazy imports: names that a package imports on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from .errors import did_you_mean


def lazy_attributes(
    package: str, names_by_module: Mapping[str, Iterable[str]]
) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that imports names on first use from modules of `package`.

    A name that is also the name of its module refers to that module.
    """
    module_of = {}
    for module_name, names in names_by_module.items():
        for name in names:
            module_of[name] = module_name

    def attribute(name: str) -> Any:
        """Return a public name, after importing its module."""
        if name in module_of:
            module_name = module_of[name]
            module = import_module(f".{module_name}", package)
            if name == module_name:
                return module
            return getattr(module, name)
        known = [public for public in dir(sys.modules[package]) if not public.startswith("_")]
        hint = did_you_mean([name], known)
        message = f"module {package!r} has no attribute {name!r}{hint}"
        # Without the module as `obj`, Python does not suggest names itself.
        raise AttributeError(message, name=name)

    return attribute
