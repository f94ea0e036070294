"""Parquet files, read and written by PyArrow or Polars, whichever is installed."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, TypeAlias

import pandas as pd

from ..errors import MultiAspectError
from ..integration.long_frames import COLUMNS

__all__ = ["check_installed", "read_columns", "write", "write_atomically"]


def check_installed(what: str = "out") -> str:
    """Return the package that reads and writes Parquet files.

    Parameters
    ----------
    what : str
        What asks for it, with which the error starts.

    Raises
    ------
    MultiAspectError
        If there is none.
    """
    for package in ("pyarrow", "polars"):
        if find_spec(package) is not None:
            return package
    raise MultiAspectError(
        f"{what}: writing Parquet files requires Polars, which is part of the extra fast, or PyArrow: pip install "
        "'pt-multiaspect[fast]'"
    )


def write(frame: pd.DataFrame, file: IO[bytes]) -> None:
    """Write a frame of texts, floats, integers and booleans, in which missing values become nulls."""
    columns = {}
    for name, column in frame.items():
        is_missing = column.isna()
        whole = column.astype(object).where(~is_missing, None) if is_missing.any() else column
        columns[str(name)] = (_KINDS.get(column.dtype.kind, "text"), whole.tolist())
    _WRITERS[check_installed()](columns, file)


#: The kinds of columns by those of NumPy; all others are texts.
_KINDS = {"f": "float", "i": "integer", "u": "integer", "b": "boolean"}

Columns: TypeAlias = dict[str, tuple[str, list[Any]]]


def write_atomically(path: Path, frame: pd.DataFrame) -> None:
    """Write a long frame to a file, which is there as a whole or not at all.

    Raises
    ------
    MultiAspectError
        If the file cannot be written.
    """
    temporary = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        with open(temporary, "wb") as file:
            write(frame, file)
        os.replace(temporary, path)
    except OSError as error:
        raise MultiAspectError(
            f"out: cannot write to {path.parent}: {error.strerror or error}. Workers on other machines need a "
            "directory that all of them share"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


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


def read_columns(path: Path) -> dict[str, Any] | None:
    """Return the columns of a long frame as lists, or None if the file is missing or damaged."""
    try:
        with open(path, "rb") as file:
            return _READERS[check_installed()](io.BytesIO(file.read()))
    except Exception:  # whatever a damaged file makes Polars or PyArrow raise
        return None


def _read_by_pyarrow(file: IO[bytes]) -> dict[str, Any]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    return {column: table[column].to_pylist() for column in COLUMNS}


def _read_by_polars(file: IO[bytes]) -> dict[str, Any]:
    import polars

    frame = polars.read_parquet(file)
    return {column: frame[column].to_list() for column in COLUMNS}


_READERS: dict[str, Callable[[IO[bytes]], dict[str, Any]]] = {
    "pyarrow": _read_by_pyarrow,
    "polars": _read_by_polars,
}
