"""Parquet files of long frames, read and written by PyArrow or Polars, whichever is installed."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pandas as pd

from ..errors import MultiAspectError
from ..integration.aggregates import COLUMNS

__all__ = ["check_installed", "read_columns", "write_atomically"]


def check_installed() -> str:
    """Return the package that reads and writes Parquet files.

    Raises
    ------
    MultiAspectError
        If there is none.
    """
    for package in ("pyarrow", "polars"):
        if find_spec(package) is not None:
            return package
    raise MultiAspectError(
        "out: writing Parquet files requires Polars, which is part of the extra fast, or PyArrow: pip install "
        "'pt-multiaspect[fast]'"
    )


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
            _WRITERS[check_installed()](frame, file)
        os.replace(temporary, path)
    except OSError as error:
        raise MultiAspectError(
            f"out: cannot write to {path.parent}: {error.strerror or error}. Workers on other machines need a "
            "directory that all of them share"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _write_by_pyarrow(frame: pd.DataFrame, file: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    text = pyarrow.string()
    schema = pyarrow.schema([("name", text), ("qid", text), ("measure", text), ("value", pyarrow.float64())])
    columns = [
        pyarrow.array(frame[column].to_numpy(), kind)
        for column, kind in zip(schema.names, schema.types, strict=True)
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), file)


def _write_by_polars(frame: pd.DataFrame, file: IO[bytes]) -> None:
    import polars

    columns = {column: frame[column].tolist() for column in COLUMNS}
    schema = {column: polars.Float64 if column == "value" else polars.String for column in COLUMNS}
    polars.DataFrame(columns, schema=schema).write_parquet(file)


_WRITERS: dict[str, Callable[[pd.DataFrame, IO[bytes]], None]] = {
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
