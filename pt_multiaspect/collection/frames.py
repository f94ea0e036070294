"""Frames and columns of other libraries: Polars, PyArrow, narwhals, and any library with Arrow data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from ..errors import MultiAspectError, choices

#: Methods of objects that export their data as Arrow arrays.
_ARROW = ("__arrow_c_stream__", "__arrow_c_array__")

#: Methods that compute the data of lazy frames, such as those of Spark, Polars and Dask.
_COMPUTING = ("toPandas", "collect", "compute")

#: Methods that export data as frames of pandas, and an attribute of their objects, which are no frames: datasets of
#: Hugging Face; qrels and runs of ranx.
_EXPORTING = {"to_pandas": "column_names", "to_dataframe": "to_typed_list"}


def to_pandas(obj: object) -> pd.DataFrame | None:
    """Return a data frame of any library as a pandas DataFrame with the same column names.

    Parameters
    ----------
    obj : object
        A DataFrame of pandas (returned unchanged, if no column is left out), Polars or narwhals, a Table of
        PyArrow, any object with ``to_pandas()`` and columns, or an object with Arrow data, which is read once; see
        `materialise`.

    Returns
    -------
    pandas.DataFrame or None
        None if `obj` is not a data frame, such as an array, a dict or a list. Numeric columns keep
        their types; missing values are NaN or None; columns of bytes become text if they are UTF-8. A row index
        that pandas has saved is left out.

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
        frame = obj
    elif is_frame(obj):
        read = materialise(obj)
        if not hasattr(read, "columns"):
            raise MultiAspectError(f"expected a data frame, got a single column ({_type_name(obj)})")
        frame = _decode_columns(_convert_frame(read))
    else:
        return None
    saved = [is_saved_index(name) for name in frame.columns]
    return frame.loc[:, np.logical_not(saved)] if any(saved) else frame


def as_pandas(obj: Any) -> Any:
    """Return a data frame of any library as a pandas DataFrame, and anything else unchanged; see `to_pandas`."""
    frame = to_pandas(obj)
    return obj if frame is None else frame


def as_frame(obj: object, what: str) -> pd.DataFrame:
    """Return a data frame of any library as a pandas DataFrame, or raise an error that starts with `what`."""
    frame = to_pandas(obj)
    if frame is None:
        raise MultiAspectError(f"{what}: expected a DataFrame, got {type(obj).__name__}")
    return frame


def is_frame(obj: object) -> bool:
    """Return whether an object is a data frame of any library, without reading it.

    Parameters
    ----------
    obj : object
        Any object.

    Returns
    -------
    bool
        Also True for Arrow data of unknown type, which may be a frame or a single column.

    Raises
    ------
    MultiAspectError
        If `obj` is a data frame that is not in memory.
    """
    if isinstance(obj, pd.DataFrame):
        return True
    if isinstance(obj, Mapping | np.ndarray | pd.Series | pd.Index | type):
        return False
    if hasattr(obj, "collect_schema") or hasattr(obj, "columns"):
        computing = next((method for method in _COMPUTING if hasattr(obj, method)), None)
        if computing is not None:
            raise MultiAspectError(
                f"expected a data frame in memory, got a lazy {_type_name(obj)}: pass the result of .{computing}()"
            )
        return any(hasattr(obj, method) for method in (*_ARROW, "__dataframe__", "to_pandas", "iter_columns"))
    return _is_arrow(obj) or _export_method(obj) is not None


def refuse_splits(data: Mapping[Any, Any], what: str, expected: str) -> None:
    """Raise an error for a DatasetDict of Hugging Face, the datasets of several splits by their names.

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
    split = next((key for key, value in data.items() if is_frame(value)), None) if type(data) is not dict else None
    if split is not None:
        raise MultiAspectError(
            f"{what}: expected {expected}, got a {type(data).__name__} of {choices(data)}: pass one of them, such "
            f"as {what}[{split!r}]"
        )


def materialise(obj: Any) -> Any:
    """Read Arrow data, tensors and structured arrays into frames or arrays that can be read again and again.

    Arrow data are exported by the Arrow PyCapsule interface, for example by relations of DuckDB, tables of arro3,
    arrays of nanoarrow, and readers of PyArrow and ADBC. Some can be read only once, after which they are empty: a
    function that reads its argument several times must use the result of this function.

    Parameters
    ----------
    obj : object
        Any object.

    Returns
    -------
    object
        For datasets of Hugging Face, and qrels and runs of ranx, a DataFrame of pandas. For Arrow data, a DataFrame
        or Series of Polars or, if it is not installed, a Table or ChunkedArray of PyArrow. For a tensor of PyTorch,
        an array; for a structured array, a DataFrame of pandas. Frames and columns of pandas, Polars, PyArrow and
        narwhals, and other objects, are returned unchanged.

    Raises
    ------
    MultiAspectError
        If the data cannot be read, or neither Polars nor PyArrow is installed.
    """
    if _is_tensor(obj):
        return _tensor_array(obj)
    if isinstance(obj, np.ndarray) and obj.dtype.names is not None and not isinstance(obj, np.ma.MaskedArray):
        return pd.DataFrame(obj)
    if (method := _export_method(obj)) is not None:
        return getattr(obj, method)()
    if not _is_arrow(obj):
        return obj
    for package, (reader, read) in _READERS.items():
        try:
            module = import_module(package)
        except ImportError:
            continue
        if not hasattr(getattr(module, reader), "__arrow_c_stream__"):  # too old
            continue
        try:
            return read(module, obj)
        except Exception as error:  # Polars, PyArrow and the source of the data raise different errors
            raise MultiAspectError(f"the Arrow data of {_type_name(obj)} cannot be read: {error}") from error
    raise MultiAspectError(
        f"reading the Arrow data of {_type_name(obj)} requires PyArrow 16 or newer, which is part of the extra "
        "parquet: pip install 'pt-multiaspect[parquet]', or Polars 1.3 or newer. Otherwise pass a pandas DataFrame"
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
        An object of pandas or Polars for Arrow data; other objects are returned unchanged.
    """
    values = values.to_native() if hasattr(values, "to_native") else materialise(values)
    if isinstance(values, list | tuple) and any(map(_is_tensor, values)):
        values = [materialise(value) for value in values]
    # NumPy would read missing values of a dictionary-encoded column as its last distinct value.
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "to_pandas"):
        return values.to_pandas()
    return values


def is_saved_index(column: object) -> bool:
    """Return whether a column is a saved row index of pandas (other than 0, 1, 2, …)."""
    return re.fullmatch(r"__index_level_\d+__", str(column)) is not None


def _convert_frame(obj: Any) -> pd.DataFrame:
    """Convert a frame with columns to pandas."""
    if isinstance(obj, pd.DataFrame):
        return obj
    if hasattr(obj, "to_native"):  # narwhals
        return _convert_frame(obj.to_native())
    if hasattr(obj, "iter_columns"):  # Polars, whose own conversion needs PyArrow
        # By position, as names may repeat.
        frame = pd.DataFrame(dict(enumerate(map(_column_values, obj.iter_columns()))))
        frame.columns = list(obj.columns)
        return frame
    if hasattr(obj, "to_pandas"):
        try:
            converted = obj.to_pandas()
        except Exception as error:  # a missing package, or values that pandas does not support
            raise MultiAspectError(f"a {_type_name(obj)} cannot be converted to pandas: {error}") from error
        if isinstance(converted, pd.DataFrame):
            return converted
    raise MultiAspectError(
        f"expected a data frame of pandas, Polars or PyArrow, got {_type_name(obj)}: "
        "convert it to a pandas DataFrame"
    )


def _decode_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Decode columns of bytes, which some tools write to Parquet files instead of strings, if they are UTF-8."""
    decoded = frame.copy(deep=False)
    for position, (_, column) in enumerate(frame.items()):
        first = next((value for value in column if value is not None), None) if column.dtype == object else None
        if isinstance(first, bytes):
            with suppress(UnicodeDecodeError):
                texts = [value.decode() if isinstance(value, bytes) else value for value in column]
                decoded.isetitem(position, pd.Series(texts, index=frame.index).array)
    return decoded


def _column_values(column: Any) -> np.ndarray[Any, Any]:
    # A column of missing values only has no type, so it is not a column of numbers.
    if str(column.dtype) == "Null":
        return np.full(len(column), None, dtype=object)
    if "Struct" in str(column.dtype):  # an array would lose the names of the fields
        return pd.Series(column.to_list(), dtype=object).to_numpy()
    values = np.asarray(column.to_numpy())
    # Arrays of equal length would become a matrix.
    return values if values.ndim == 1 else pd.Series(list(values), dtype=object).to_numpy()


def _is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor of PyTorch."""
    return all(hasattr(obj, method) for method in ("detach", "cpu", "numpy"))


def _tensor_array(tensor: Any) -> np.ndarray[Any, Any]:
    """Return a tensor as an array, also if it requires a gradient or NumPy lacks its type."""
    tensor = tensor.detach().cpu()
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # bfloat16
        return np.asarray(tensor.float().numpy())


def _is_arrow(obj: object) -> bool:
    """Return whether an object can only be read as Arrow data, unlike those of pandas, Polars and PyArrow."""
    own = (pd.DataFrame, pd.Series, pd.Index, np.ndarray, Mapping, type)
    if isinstance(obj, own) or hasattr(obj, "to_pandas") or hasattr(obj, "iter_columns"):
        return False
    return any(hasattr(obj, method) for method in _ARROW)


def _export_method(obj: object) -> str | None:
    """Return the method that exports the data of an object as a frame of pandas, None for other objects."""
    if isinstance(obj, Mapping | type):
        return None
    methods = (method for method, mark in _EXPORTING.items() if hasattr(obj, method) and hasattr(obj, mark))
    method = next(methods, None)
    return None if method is None or hasattr(obj, "columns") else method


def _read_by_polars(polars: Any, obj: Any) -> Any:
    series = polars.Series(obj)
    # A table is a column of structs.
    return series.struct.unnest() if series.dtype == polars.Struct else series


def _read_by_pyarrow(pyarrow: Any, obj: Any) -> Any:
    column = pyarrow.chunked_array(obj if hasattr(obj, "__arrow_c_stream__") else [pyarrow.array(obj)])
    if not pyarrow.types.is_struct(column.type):
        return column
    if not column.num_chunks:  # PyArrow 16 cannot convert it
        return pyarrow.schema(list(column.type)).empty_table()
    return pyarrow.Table.from_struct_array(column)


#: Classes that export Arrow data in versions that also read them, and functions that read them. In order of
#: preference: Polars passes strings to the join without an object per row.
_READERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "polars": ("Series", _read_by_polars),
    "pyarrow": ("ChunkedArray", _read_by_pyarrow),
}


def _type_name(obj: object) -> str:
    return f"{type(obj).__module__.partition('.')[0]}.{type(obj).__qualname__}"
