"""Long frames: one row per run, topic and measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .._typing import Floats
from ..collection.columns import check_distinct_columns
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, counted

#: The columns of a long frame, and those that identify a value.
COLUMNS = ["name", "qid", "measure", "value"]
KEYS = COLUMNS[:3]


def read_long_frame(perquery: object) -> pd.DataFrame:
    """Return a long frame with names as objects, values as floats, and rows numbered from 0.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``, also read from a file, in any library; or
        the pair that ``pt.Experiment(perquery="both")`` returns.

    Returns
    -------
    DataFrame
        With the record of the measures and further columns. Systems may have different topics.

    Raises
    ------
    MultiAspectError
        If a column is missing or repeated, a name is empty, or a value is not a number.
    """
    frame = to_pandas(perquery[1] if isinstance(perquery, tuple) and len(perquery) == 2 else perquery)
    if frame is None:
        raise MultiAspectError(
            f"expected a long frame with the columns {choices(COLUMNS)}, got {type(perquery).__name__}"
        )
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise MultiAspectError(
            f"expected a long frame with the columns {choices(COLUMNS)}, got {choices(frame.columns)} "
            f"({choices(missing)} is missing); pass the result of pt.Experiment(perquery=True) or "
            "pt_multiaspect.evaluate"
        )
    check_distinct_columns(frame, "a long frame")
    check_filled(frame, KEYS)
    # Groups of categories include those without rows in pandas 2.
    names = {column: frame[column].astype(object) for column in KEYS}
    return frame.assign(**names, value=values_of(frame)).reset_index(drop=True)


def values_of(perquery: pd.DataFrame) -> Floats:
    """Return the values of a long frame as floats.

    Raises
    ------
    MultiAspectError
        If they are not numbers.
    """
    column = perquery["value"]
    if getattr(column.dtype, "kind", "O") in "mMc":
        raise MultiAspectError(f"expected numbers in the column value, got {column.dtype}")
    try:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"expected numbers in the column value: {error}") from None


def check_filled(perquery: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise an error for empty cells in columns of names; pandas reads texts such as NA in files as empty."""
    for column in columns:
        empty = int(perquery[column].isna().sum())
        if empty:
            raise MultiAspectError(
                f"the column {column} has an empty cell {counted(empty, 'cell')}; if names such as NA or None were "
                "read from a file, read it with keep_default_na=False"
            )


def check_distinct(perquery: pd.DataFrame, keys: Sequence[str], remedy: str) -> None:
    """Raise an error with a `remedy` if several rows have the same keys, which include name, measure and qid."""
    repeated = perquery[perquery.duplicated([*keys])]
    if len(repeated):
        name, measure, qid, *others = repeated[[*keys]].iloc[0]
        within = "".join(f", {key} {value}" for key, value in zip(keys[3:], others, strict=True))
        raise MultiAspectError(
            f"expected one value of {measure} for {name} on topic {qid}{within}, got several "
            f"{counted(len(repeated), 'row')}; {remedy}"
        )
