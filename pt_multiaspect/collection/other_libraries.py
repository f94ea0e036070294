"""Frames and columns of other libraries: Polars, PyArrow, and what has `to_pandas`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from ..errors import MultiAspectError, choices

#: Methods of objects that export their data to other libraries, of which pandas reads none.
_EXPORTING = ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__")

#: Methods that compute the data of lazy frames, such as those of Spark, Polars and Dask.
_COMPUTING = ("toPandas", "collect", "compute")


def to_pandas(obj: object) -> pd.DataFrame | None:
    """Return a data frame of any library as a pandas DataFrame with the same column names.

    Parameters
    ----------
    obj : object
        A DataFrame of pandas (returned unchanged) or Polars, a Table of PyArrow, or any
        object with columns and ``to_pandas()``, such as a dataset of Hugging Face.

    Returns
    -------
    pandas.DataFrame or None
        None if `obj` is not a data frame, such as an array, a dict or a list. Numeric columns keep
        their types; missing values are NaN or None; columns of bytes become text if they are UTF-8.

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
    if is_frame(obj):
        return _decode_columns(_convert_frame(obj))
    return None


def as_pandas(obj: Any) -> Any:
    """Return a data frame of any library as one of pandas, anything else unchanged."""
    frame = to_pandas(obj)
    if frame is None:
        return obj
    return frame


def as_frame(obj: object, what: str) -> pd.DataFrame:
    """Return a data frame of any library as one of pandas, else raise an error."""
    frame = to_pandas(obj)
    if frame is None:
        raise MultiAspectError(f"{what}: expected a DataFrame, got {type(obj).__name__}")
    return frame


def is_frame(obj: object) -> bool:
    """Return whether an object is a data frame of any library.

    Parameters
    ----------
    obj : object
        Any object.

    Returns
    -------
    bool
        False for single columns.

    Raises
    ------
    MultiAspectError
        If `obj` has data that are not in memory, or that must be converted first.
    """
    if isinstance(obj, pd.DataFrame):
        return True
    if isinstance(obj, Mapping | np.ndarray | pd.Series | pd.Index | type):
        return False
    if hasattr(obj, "collect_schema") or hasattr(obj, "columns"):
        computing = [method for method in _COMPUTING if hasattr(obj, method)]
        if computing:
            raise MultiAspectError(
                f"expected a data frame in memory, got a lazy {_type_name(obj)}: pass the result "
                f"of .{computing[0]}()"
            )
    if hasattr(obj, "iter_columns"):  # Polars
        return True
    if hasattr(obj, "to_pandas"):
        return hasattr(obj, "columns") or hasattr(obj, "column_names")
    _refuse_other_frames(obj)
    return False


def _refuse_other_frames(obj: object) -> None:
    """Raise an error for data of other libraries, which names a conversion."""
    if hasattr(obj, "to_dataframe"):  # qrels and runs of ranx
        raise MultiAspectError(
            f"{_EXPECTED}, got {_type_name(obj)}: pass the result of .to_dataframe()"
        )
    if any(hasattr(obj, method) for method in _EXPORTING):
        raise MultiAspectError(
            f"{_EXPECTED}, got {_type_name(obj)}: convert it first, for instance by "
            "pyarrow.table(data).to_pandas()"
        )


_EXPECTED = "expected a data frame of pandas, Polars or PyArrow"


def refuse_splits(data: Mapping[Any, Any], what: str, expected: str) -> None:
    """Raise an error for a DatasetDict of Hugging Face, which has a dataset per split.

    Parameters
    ----------
    data : mapping
        Qrels or a run.
    what, expected : str
        The beginning of the error, and what was expected.

    Raises
    ------
    MultiAspectError
        If a mapping of another class than dict has a data frame.
    """
    if type(data) is dict:
        return
    splits = [key for key, value in data.items() if is_frame(value)]
    if splits:
        raise MultiAspectError(
            f"{what}: expected {expected}, got a {type(data).__name__} of {choices(data)}: pass "
            f"one of them, such as {what}[{splits[0]!r}]"
        )


def plain_column(values: Any) -> Any:
    """Return a column of any library in a form that NumPy reads correctly.

    Parameters
    ----------
    values : object
        Values per row, such as labels, query ids or predictions.

    Returns
    -------
    object
        An object of pandas for data of PyArrow; other objects are returned unchanged.

    Raises
    ------
    MultiAspectError
        If the values are a tensor, a list of tensors or a structured array.
    """
    _refuse_tensors(values)
    if isinstance(values, np.ndarray) and values.dtype.names is not None:
        raise MultiAspectError(
            "expected an array or a data frame, got a structured array: pass pd.DataFrame(…) of it"
        )
    # NumPy would read missing values of a dictionary-encoded column as its last distinct value.
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "to_pandas"):
        return values.to_pandas()
    return values


def _refuse_tensors(values: Any) -> None:
    """Raise an error for tensors of PyTorch.

    NumPy reads them only if they are on the CPU and have no gradient.
    """
    if isinstance(values, list | tuple):
        items = values
    else:
        items = [values]
    for item in items:
        if hasattr(item, "detach") and hasattr(item, "cpu"):
            raise MultiAspectError(
                f"expected an array or a data frame, got {_type_name(item)}: pass the result of "
                ".detach().cpu().numpy()"
            )


def is_saved_index(column: object) -> bool:
    """Return whether a column is a saved row index of pandas (other than 0, 1, 2, …)."""
    return re.fullmatch(r"__index_level_\d+__", str(column)) is not None


def _convert_frame(obj: Any) -> pd.DataFrame:
    """Convert a frame of another library to pandas."""
    if hasattr(obj, "iter_columns"):  # Polars, whose own conversion needs PyArrow
        # By position, as names may repeat.
        columns = [_column_values(column) for column in obj.iter_columns()]
        frame = pd.DataFrame(dict(enumerate(columns)))
        frame.columns = list(obj.columns)
        return frame
    try:
        converted = obj.to_pandas()
    except Exception as error:  # a missing package, or values that pandas does not support
        raise MultiAspectError(
            f"a {_type_name(obj)} cannot be converted to pandas: {error}"
        ) from error
    if not isinstance(converted, pd.DataFrame):
        raise MultiAspectError(
            f"{_EXPECTED}, got {_type_name(obj)}: convert it to a pandas DataFrame"
        )
    return converted


def _decode_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Decode columns of bytes in UTF-8, which some tools write to Parquet files."""
    decoded = frame.copy(deep=False)
    for position, (_, column) in enumerate(frame.items()):
        if _begins_with_bytes(column):
            with suppress(UnicodeDecodeError):
                texts = list(map(_decode, column))
                decoded.isetitem(position, pd.Series(texts, index=frame.index).array)
    return decoded


def _begins_with_bytes(column: pd.Series[Any]) -> bool:
    """Return whether the first value that is not missing is bytes."""
    if column.dtype != object:
        return False
    for value in column:
        if value is not None:
            return isinstance(value, bytes)
    return False


def _decode(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode()
    return value


def _column_values(column: Any) -> np.ndarray[Any, Any]:
    # A column of missing values only has no type, so it is not a column of numbers.
    if str(column.dtype) == "Null":
        return np.full(len(column), None, dtype=object)
    if "Struct" in str(column.dtype):  # an array would lose the names of the fields
        return pd.Series(column.to_list(), dtype=object).to_numpy()
    values = np.asarray(column.to_numpy())
    # Arrays of equal length would become a matrix.
    if values.ndim == 1:
        return values
    return pd.Series(list(values), dtype=object).to_numpy()


def _type_name(obj: object) -> str:
    return f"{type(obj).__module__.partition('.')[0]}.{type(obj).__qualname__}"
