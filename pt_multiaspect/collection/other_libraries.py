"""Frames and columns of other libraries: Polars, PyArrow, and what has `to_pandas`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..errors import MultiAspectError, choices


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
    if not is_frame(obj):
        return None
    converted = _convert_frame(obj)
    return _decode_columns(converted)


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
        type_name = type(obj).__name__
        raise MultiAspectError(f"{what}: expected a DataFrame, got {type_name}")
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
    _refuse_lazy_frames(obj)
    is_polars_frame = hasattr(obj, "iter_columns")
    if is_polars_frame:
        return True
    if hasattr(obj, "to_pandas"):
        # Single columns of other libraries have to_pandas, too, but no columns.
        return hasattr(obj, "columns") or hasattr(obj, "column_names")
    _refuse_other_frames(obj)
    return False


def _refuse_lazy_frames(obj: object) -> None:
    """Raise an error for frames of Spark, Polars or Dask whose data are not computed yet."""
    has_columns = hasattr(obj, "collect_schema") or hasattr(obj, "columns")
    if not has_columns:
        return
    for method in ("toPandas", "collect", "compute"):
        if hasattr(obj, method):
            type_name = _type_name(obj)
            raise MultiAspectError(
                f"expected a data frame in memory, got a lazy {type_name}: pass the result "
                f"of .{method}()"
            )


def _refuse_other_frames(obj: object) -> None:
    """Raise an error for data of other libraries, which names a conversion."""
    type_name = _type_name(obj)
    if hasattr(obj, "to_dataframe"):  # qrels and runs of ranx
        raise MultiAspectError(
            f"{_EXPECTED_FRAME}, got {type_name}: pass the result of .to_dataframe()"
        )
    # By these methods, objects export their data to other libraries, but not to pandas.
    for method in ("__arrow_c_stream__", "__arrow_c_array__", "__dataframe__"):
        if hasattr(obj, method):
            raise MultiAspectError(
                f"{_EXPECTED_FRAME}, got {type_name}: convert it first, for instance by "
                "pyarrow.table(data).to_pandas()"
            )


_EXPECTED_FRAME = "expected a data frame of pandas, Polars or PyArrow"


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
    is_plain_dict = type(data) is dict
    if is_plain_dict:
        return
    for split, value in data.items():
        if is_frame(value):
            type_name = type(data).__name__
            splits = choices(data)
            raise MultiAspectError(
                f"{what}: expected {expected}, got a {type_name} of {splits}: pass "
                f"one of them, such as {what}[{split!r}]"
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
    is_structured = isinstance(values, np.ndarray) and values.dtype.names is not None
    if is_structured:
        raise MultiAspectError(
            "expected an array or a data frame, got a structured array: pass pd.DataFrame(…) of it"
        )
    # NumPy would read missing values of a dictionary-encoded column as its last distinct value.
    library = type(values).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(values, "to_pandas"):
        return values.to_pandas()
    return values


def _refuse_tensors(values: Any) -> None:
    """Raise an error for a tensor of PyTorch, or a list of tensors.

    NumPy reads them only if they are on the CPU and have no gradient.
    """
    if isinstance(values, list | tuple):
        items = values
    else:
        items = [values]
    for item in items:
        is_tensor = hasattr(item, "detach") and hasattr(item, "cpu")
        if is_tensor:
            type_name = _type_name(item)
            raise MultiAspectError(
                f"expected an array or a data frame, got {type_name}: pass the result of "
                ".detach().cpu().numpy()"
            )


def is_saved_index(column: object) -> bool:
    """Return whether a column is a saved row index of pandas (other than 0, 1, 2, …)."""
    # Such as __index_level_0__.
    match = re.fullmatch(r"__index_level_\d+__", str(column))
    return match is not None


def _convert_frame(obj: Any) -> pd.DataFrame:
    """Convert a frame of another library to pandas; raise an error if that is impossible."""
    is_polars_frame = hasattr(obj, "iter_columns")
    if is_polars_frame:
        return _convert_polars_frame(obj)
    try:
        converted = obj.to_pandas()
    except Exception as error:  # a missing package, or values that pandas does not support
        type_name = _type_name(obj)
        raise MultiAspectError(f"a {type_name} cannot be converted to pandas: {error}") from error
    if isinstance(converted, pd.DataFrame):
        return converted
    type_name = _type_name(obj)
    raise MultiAspectError(f"{_EXPECTED_FRAME}, got {type_name}: convert it to a pandas DataFrame")


def _convert_polars_frame(frame: Any) -> pd.DataFrame:
    """Convert a frame of Polars to pandas without PyArrow, which its own conversion needs."""
    # Columns have their positions as names first, as names may repeat.
    columns: dict[int, np.ndarray[Any, Any]] = {}
    for position, column in enumerate(frame.iter_columns()):
        columns[position] = _column_values(column)
    converted = pd.DataFrame(columns)
    converted.columns = list(frame.columns)
    return converted


def _decode_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with columns of bytes as text, which some tools write to Parquet files.

    Columns that are not valid UTF-8 remain bytes.
    """
    result = frame.copy(deep=False)
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]  # by position, as names may repeat
        if not _begins_with_bytes(column):
            continue
        try:
            texts = list(map(_decode_bytes, column))
        except UnicodeDecodeError:
            continue
        decoded = pd.Series(texts, index=frame.index)
        result.isetitem(position, decoded.array)
    return result


def _begins_with_bytes(column: pd.Series[Any]) -> bool:
    """Return whether the first value of a column that is not None is bytes."""
    if column.dtype != object:
        return False
    for value in column:
        if value is not None:
            return isinstance(value, bytes)
    return False


def _decode_bytes(value: object) -> object:
    """Return bytes as text, and other values unchanged."""
    if isinstance(value, bytes):
        return value.decode()
    return value


def _column_values(column: Any) -> np.ndarray[Any, Any]:
    """Return a column of Polars as an array of one dimension."""
    type_name = str(column.dtype)
    has_only_missing_values = type_name == "Null"
    if has_only_missing_values:
        # It has no type, so it is not a column of numbers either.
        return np.full(len(column), None, dtype=object)
    if "Struct" in type_name:
        # An array would lose the names of the fields: each value becomes a dict.
        dicts = pd.Series(column.to_list(), dtype=object)
        return dicts.to_numpy()
    values = np.asarray(column.to_numpy())
    if values.ndim == 1:
        return values
    # Lists of equal length have become a matrix.
    rows = pd.Series(list(values), dtype=object)
    return rows.to_numpy()


def _type_name(obj: object) -> str:
    """Return the library and the class of an object, such as polars.LazyFrame."""
    library = type(obj).__module__.partition(".")[0]
    class_name = type(obj).__qualname__
    return f"{library}.{class_name}"
