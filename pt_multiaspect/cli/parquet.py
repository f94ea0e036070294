"""Parquet files, written by PyArrow."""

from __future__ import annotations

import io
from importlib.util import find_spec

import pandas as pd

from ..errors import MultiAspectError

__all__ = ["check_installed", "to_bytes"]


def check_installed() -> None:
    """Raise if PyArrow is not installed.

    Raises
    ------
    MultiAspectError
        If it is not.
    """
    if find_spec("pyarrow") is None:
        raise MultiAspectError(
            "--output: writing Parquet files requires PyArrow, which is part of the extra parquet: "
            "pip install 'pt-multiaspect[parquet]'"
        )


def to_bytes(frame: pd.DataFrame) -> bytes:
    """Return a file of texts, floats, integers and booleans, in which missing values become nulls."""
    import pyarrow
    import pyarrow.parquet

    # The types of columns by their kinds in NumPy; all others are texts.
    types = {"f": pyarrow.float64(), "i": pyarrow.int64(), "u": pyarrow.int64(), "b": pyarrow.bool_()}
    arrays = {
        str(name): pyarrow.array(
            column.astype(object).where(column.notna(), None).tolist(),
            types.get(column.dtype.kind, pyarrow.string()),
        )
        for name, column in frame.items()
    }
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)
    return file.getvalue()
