"""Names of groups."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Objects
from ..errors import MultiAspectError
from ..strings.identifiers import identifiers


def name_of_group(group: object) -> str:
    """Return the name of a group; numbers that are equal have one name."""
    if isinstance(group, Real) and not isinstance(group, Integral) and float(group).is_integer():
        return str(int(float(group)))
    return str(group)


def check_group_types(groups: Iterable[object], what: str) -> None:
    """Raise an error if text reads as a group that is given as a number, or as another value.

    Parameters
    ----------
    groups : iterable of object
        The distinct groups, as given.
    what : str
        The parameter or table, at the beginning of the error.
    """
    others: dict[str, object] = {}
    texts: dict[str, str] = {}
    for group in groups:
        if isinstance(group, str):
            texts.setdefault(_name_of_text(group), group)
        else:
            others.setdefault(name_of_group(group), group)
    for name, text in texts.items():
        if name in others:
            raise MultiAspectError(
                f"{what}: expected names of groups of one type, got {others[name]} and the text {text!r}; convert "
                "them to one type, as by astype(str)"
            )


def group_names(column: pd.Series[Any], what: str) -> Objects:
    """Return the names of the groups in a column; see `check_group_types`."""
    names = identifiers(column, what)
    groups = column.to_numpy(dtype=object)
    if pd.api.types.infer_dtype(groups, skipna=False) == "string":
        return names
    check_group_types(groups, what)
    return np.array([name_of_group(group) for group in groups], dtype=object)


def _name_of_text(text: str) -> str:
    try:
        return name_of_group(float(text))
    except ValueError:
        return text.strip()
