"""Parquet files, written by PyArrow or Polars, whichever is installed."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from typing import IO, Any, TypeAlias

import pandas as pd

from ..errors import MultiAspectError

__all__ = ["check_installed", "to_bytes"]


def check_installed() -> str:
    """Return the package that writes Parquet files.

    Raises
    ------
    MultiAspectError
        If there is none.
    """
    for package in ("pyarrow", "polars"):
        if find_spec(package) is not None:
            return package
    raise MultiAspectError(
        "--output: writing Parquet files requires Polars, which is part of the extra fast, or PyArrow: pip install "
        "'pt-multiaspect[fast]'"
    )


def to_bytes(frame: pd.DataFrame) -> bytes:
    """Return a file of texts, floats, integers and booleans, in which missing values become nulls."""
    columns = {}
    for name, column in frame.items():
        is_missing = column.isna()
        whole = column.astype(object).where(~is_missing, None) if is_missing.any() else column
        columns[str(name)] = (_KINDS.get(column.dtype.kind, "text"), whole.tolist())
    file = io.BytesIO()
    _WRITERS[check_installed()](columns, file)
    return file.getvalue()


#: The kinds of columns by those of NumPy; all others are texts.
_KINDS = {"f": "float", "i": "integer", "u": "integer", "b": "boolean"}

Columns: TypeAlias = dict[str, tuple[str, list[Any]]]


def _write_by_pyarrow(columns: Columns, file: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    types = {
        "text": pyarrow.string(),
        "float": pyarrow.float64(),
        "integer": pyarrow.int64(),
        "boolean": pyarrow.bool_(),
    }
    arrays = [pyarrow.array(values, types[kind]) for kind, values in columns.values()]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, names=list(columns)), file)


def _write_by_polars(columns: Columns, file: IO[bytes]) -> None:
    import polars

    types = {"text": polars.String, "float": polars.Float64, "integer": polars.Int64, "boolean": polars.Boolean}
    polars.DataFrame(
        {name: values for name, (_, values) in columns.items()},
        schema={name: types[kind] for name, (kind, _) in columns.items()},
    ).write_parquet(file)


_WRITERS: dict[str, Callable[[Columns, IO[bytes]], None]] = {
    "pyarrow": _write_by_pyarrow,
    "polars": _write_by_polars,
}
