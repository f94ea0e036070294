"""Frames of other libraries, converted to pandas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ..errors import MultiAspectError

__all__ = ["to_pandas"]


def to_pandas(obj: object) -> pd.DataFrame | None:
    """Return a data frame of any library as a pandas DataFrame with the same column names.

    Parameters
    ----------
    obj : object
        A DataFrame of pandas (returned as it is), Polars or narwhals, a Table of PyArrow, or any object
        that offers ``to_pandas()`` and has columns.

    Returns
    -------
    pandas.DataFrame or None
        None if `obj` is not a data frame, such as an array, a dict or a list. Numeric columns keep
        their types; missing values are NaN or None.

    Raises
    ------
    MultiAspectError
        If `obj` is a data frame that cannot be converted.

    Examples
    --------
    >>> to_pandas({"qid": ["q1"]}) is None
    True
    >>> import polars
    >>> to_pandas(polars.DataFrame({"qid": ["q1"], "label": [2]}))
      qid  label
    0  q1      2
    """
    if isinstance(obj, pd.DataFrame):
        return obj
    if isinstance(obj, Mapping | np.ndarray | type) or not any(
        hasattr(obj, method) for method in ("__arrow_c_stream__", "__dataframe__", "to_pandas", "collect_schema")
    ):
        return None
    if hasattr(obj, "collect"):
        raise MultiAspectError(
            f"expected a data frame in memory, got a lazy {_type_name(obj)}: pass the result of .collect()"
        )
    if hasattr(obj, "iter_columns"):  # Polars and narwhals, whose own conversion needs PyArrow
        # By position, as names may repeat.
        frame = pd.DataFrame({place: column.to_numpy() for place, column in enumerate(obj.iter_columns())})
        frame.columns = list(obj.columns)  # type: ignore[attr-defined]
        return frame
    if not hasattr(obj, "columns"):
        return None  # a single column
    if hasattr(obj, "to_pandas"):
        try:
            converted = obj.to_pandas()
        except ImportError as error:
            raise MultiAspectError(f"a {_type_name(obj)} cannot be converted to pandas: {error}") from error
        if isinstance(converted, pd.DataFrame):
            return converted
    raise MultiAspectError(
        f"expected a data frame of pandas, Polars or PyArrow, got {_type_name(obj)}: "
        "convert it to a pandas DataFrame"
    )


def _type_name(obj: object) -> str:
    return f"{type(obj).__module__.partition('.')[0]}.{type(obj).__qualname__}"
