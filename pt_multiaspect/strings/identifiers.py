"""Identifiers of queries and documents as strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Objects
from ..errors import MultiAspectError, refuse_surrogates


def identifiers(column: pd.Series[Any], what: str) -> Objects:
    """Return a column of identifiers as strings, which are compared as in PyTerrier."""
    values = column.to_numpy(dtype=object)
    kind = pd.api.types.infer_dtype(values, skipna=False)
    if kind in ("string", "empty"):
        if is_arrow(column):
            return values
        return _check_surrogates(values, what)
    check_present(values, column.name, what)
    strings = [str(value) for value in values.tolist()]
    return _check_surrogates(np.array(strings, dtype=object), what)


def check_present(values: NDArray[Any], name: object, what: str) -> None:
    """Raise an error for missing identifiers in a column of this name."""
    missing = pd.isna(values)
    if missing.any():
        row = int(np.argmax(missing))
        raise MultiAspectError(f"{what}: expected a {name} in every row, got none in row {row}")


def is_arrow(column: pd.Series[Any]) -> bool:
    """Return whether a column is stored by Arrow, in valid UTF-8 if it contains strings."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return True
    return getattr(column.dtype, "storage", None) == "pyarrow"


def _check_surrogates(values: Objects, what: str) -> Objects:
    with refuse_surrogates(what):
        "\0".join(values).encode()
    return values
