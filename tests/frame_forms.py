"""Frames and columns of pandas as those of Polars, PyArrow and other libraries."""

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


class Convertible:
    """A frame that has columns and can be converted, as a dataset of Hugging Face."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.column_names = [*frame.columns]

    def __len__(self) -> int:
        return len(self._frame)

    def to_pandas(self) -> pd.DataFrame:
        return self._frame.copy()


class Stream:
    """Offers nothing but its data, as a relation of DuckDB and a reader of PyArrow do."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        raise AssertionError("expected not to be read")


class Tensor:
    """The protocol by which tensors of PyTorch are recognised."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def detach(self) -> Tensor:
        raise AssertionError("expected not to be read")

    cpu = numpy = detach

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("expected not to be read")


def _as_list(column: Any) -> list[Any]:
    return [
        None if pd.api.types.is_scalar(value) and pd.isna(value) else value
        for value in column.to_list()
    ]


def as_polars(data: Any) -> Any:
    if isinstance(data, pd.DataFrame):
        return pl.DataFrame({name: _as_list(data[name]) for name in data})
    return pl.Series("" if data.name is None else str(data.name), _as_list(data))


def as_pyarrow(data: Any) -> Any:
    if isinstance(data, pd.DataFrame):
        return pa.table({name: _as_list(data[name]) for name in data})
    return pa.chunked_array([_as_list(data)])


def as_convertible(data: Any) -> Any:
    return Convertible(data) if isinstance(data, pd.DataFrame) else data


#: Functions that bring frames and columns of pandas into another form.
FORMS = [
    pytest.param(as_polars, id="polars"),
    pytest.param(
        as_pyarrow, id="pyarrow", marks=pytest.mark.skipif(pa is None, reason="requires PyArrow")
    ),
    pytest.param(as_convertible, id="to_pandas"),
]

As = Callable[[Any], Any]
