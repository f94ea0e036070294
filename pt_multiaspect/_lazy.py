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
    homes = {name: module for module, names in names_by_module.items() for name in names}

    def attribute(name: str) -> Any:
        if name in homes:
            module = import_module(f".{homes[name]}", package)
            if name == homes[name]:
                return module
            return getattr(module, name)
        known = [public for public in dir(sys.modules[package]) if not public.startswith("_")]
        message = f"module {package!r} has no attribute {name!r}{did_you_mean([name], known)}"
        raise AttributeError(
            message, name=name
        )  # without the module, Python does not suggest names itself

    return attribute
