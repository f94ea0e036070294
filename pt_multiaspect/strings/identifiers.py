"""Identifiers of queries and documents as strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import MultiAspectError


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
