"""Lazy imports: names that a package imports on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_attributes(package: str, names_by_module: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that imports names on first use from these modules of `package`.

    A name that is also the name of its module refers to that module.
    """
    homes = {name: module for module, names in names_by_module.items() for name in names}

    def attribute(name: str) -> Any:
        if name in homes:
            module = import_module(f".{homes[name]}", package)
            return module if name == homes[name] else getattr(module, name)
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[package])  # Python suggests similar names

    return attribute
