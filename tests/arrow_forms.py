"""Frames and columns of pandas as those of Polars, PyArrow and any library that hands over Arrow data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

try:
    import pyarrow as pa
except ImportError:
    pa = None

#: Whether something is installed that reads Arrow data of other libraries. Polars does from version 1.3 on.
READS_STREAMS = pa is not None or hasattr(pl.Series, "__arrow_c_stream__")

reads_streams = pytest.mark.skipif(not READS_STREAMS, reason="requires Polars 1.3 or PyArrow")


class Stream:
    """Offers nothing but its data, as a table of arro3 and a relation of DuckDB do."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._data.__arrow_c_stream__(requested_schema)


class Reader(Stream):
    """Can be read only once, and is empty afterwards, as readers of PyArrow and ADBC are. It can be iterated."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        data, self._data = self._data, self._data[:0]
        return data.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Any:
        raise AssertionError("expected to be read by Arrow")

    def __next__(self) -> Any:
        raise AssertionError("expected to be read by Arrow")


def _as_list(column: Any) -> list[Any]:
    return [None if pd.api.types.is_scalar(value) and pd.isna(value) else value for value in column.to_list()]


def as_polars(data: Any) -> Any:
    if isinstance(data, pd.DataFrame):
        return pl.DataFrame({name: _as_list(data[name]) for name in data})
    return pl.Series("" if data.name is None else str(data.name), _as_list(data))


def as_pyarrow(data: Any) -> Any:
    if isinstance(data, pd.DataFrame):
        return pa.table({name: _as_list(data[name]) for name in data})
    return pa.chunked_array([_as_list(data)])


def as_arrow(data: Any) -> Any:
    return as_polars(data) if hasattr(pl.Series, "__arrow_c_stream__") else as_pyarrow(data)


#: Functions that bring frames and columns of pandas into another form.
FORMS = [
    pytest.param(as_polars, id="polars"),
    pytest.param(as_pyarrow, id="pyarrow", marks=pytest.mark.skipif(pa is None, reason="requires PyArrow")),
    pytest.param(lambda data: Stream(as_arrow(data)), id="stream", marks=reads_streams),
    pytest.param(lambda data: Reader(as_arrow(data)), id="reader", marks=reads_streams),
]

As = Callable[[Any], Any]
