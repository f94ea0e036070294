"""Hashable parameters and signatures of measures."""

from __future__ import annotations

import inspect
from typing import Any


def hashable(value: object) -> object:
    """Return the value of a parameter, or its printed form if it is not hashable."""
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def set_signatures(measure: Any) -> None:
    """Set the signatures of the class and of its instances, for `inspect.signature` and code completion."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=param.spell(param.default))
        for name, param in measure.SUPPORTED_PARAMS.items()
    ]
    measure.__signature__ = inspect.Signature(parameters)

    def __call__(self: Any, *args: Any, **params: Any) -> Any:
        """Return a copy of this measure with the given parameters changed."""
        return type(self)(*args, **{**self.params, **params})

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    __call__.__signature__ = inspect.Signature([itself, *parameters])  # type: ignore[attr-defined]
    __call__.__qualname__ = f"{measure.__qualname__}.__call__"
    measure.__call__ = __call__
