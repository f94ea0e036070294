"""Identifiers of queries and documents as strings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Objects
from ..errors import MultiAspectError, refuse_surrogates


def identifiers(column: pd.Series[Any], what: str) -> Objects:
    """Return a column of identifiers as strings, which are compared as in PyTerrier.

    Raises
    ------
    MultiAspectError
        If an identifier is missing or contains a lone surrogate; `what` names the table.
    """
    values = column.to_numpy(dtype=object)
    kind = pd.api.types.infer_dtype(values, skipna=False)
    are_strings = kind in ("string", "empty")
    if are_strings and is_arrow(column):
        return values  # Arrow has checked them
    if not are_strings:
        check_present(values, column.name, what)
        strings = [str(value) for value in values.tolist()]
        values = np.array(strings, dtype=object)
    _check_encodable(values, what)
    return values


def check_present(values: NDArray[Any], name: object, what: str) -> None:
    """Raise an error for missing identifiers; `name` is that of the column, `what` the table's."""
    is_missing = pd.isna(values)
    if is_missing.any():
        row = int(np.argmax(is_missing))
        raise MultiAspectError(f"{what}: expected a {name} in every row, got none in row {row}")


def is_arrow(column: pd.Series[Any]) -> bool:
    """Return whether a column is stored by Arrow.

    Strings are stored as UTF-8 then, which is always valid.
    """
    if isinstance(column.dtype, pd.ArrowDtype):
        return True
    storage = getattr(column.dtype, "storage", None)  # of pandas' type of strings only
    return storage == "pyarrow"


def _check_encodable(strings: Objects, what: str) -> None:
    """Raise an error for strings with lone surrogates, which UTF-8 cannot encode."""
    with refuse_surrogates(what):
        "\0".join(strings).encode()
