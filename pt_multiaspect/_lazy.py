"""Names that a package imports on their first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_attributes(
    package: str, homes: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that imports the names of `homes` from these modules of `package`.

    A name that is also its module's is that module. The error about a name in `moved` says where it is now.
    """

    def attribute(name: str) -> Any:
        if name in homes:
            module = import_module(f".{homes[name]}", package)
            return module if name == homes[name] else getattr(module, name)
        now = f"; it is now {moved[name]}" if moved and name in moved else ""
        raise AttributeError(f"module {package!r} has no attribute {name!r}{now}")

    return attribute
