"""Identifiers of queries and documents as strings and codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Ints
from ..errors import MultiAspectError

__all__ = ["encode", "identifiers"]


def identifiers(column: pd.Series[Any], what: str) -> NDArray[np.object_]:
    """Return a column of identifiers as strings, which are compared as in PyTerrier."""
    values = column.to_numpy(dtype=object)
    kind = pd.api.types.infer_dtype(values, skipna=False)
    if kind in ("string", "empty"):
        return values
    missing = pd.isna(values)
    if missing.any():
        raise MultiAspectError(
            f"{what}: expected a {column.name} in every row, got none in row {int(np.argmax(missing))}"
        )
    return np.array([str(value) for value in values.tolist()], dtype=object)


def encode(values: NDArray[np.object_]) -> tuple[Ints, NDArray[np.object_]]:
    """Factorise strings: one code per element, and the distinct strings."""
    # Rows of a query are mostly adjacent, and comparing neighbours is faster than hashing.
    heads = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, int)
    codes, distinct = pd.factorize(values[heads])
    return np.repeat(codes, np.diff(heads, append=len(values))), np.asarray(distinct, dtype=object)
