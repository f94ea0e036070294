"""The lines of a clean TREC file, read by Polars if it is installed.

Polars is many times faster than Python's split, but reads some malformed files without an error. Any doubt about a
file is left to the reader in `trec_lines`, which gives the same columns and explains what is malformed. Why Polars
is no dependency: see "Conventions" in CONTRIBUTING.md.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .columns import encode
from .texts import Texts

if TYPE_CHECKING:
    from .trec_lines import LineFormat, Text

__all__ = ["FastColumns", "codes_of", "read_fast", "texts_of"]

#: Number of bytes from which importing Polars pays.
_WORTHWHILE = 1 << 18


class FastColumns:
    """The columns of a file, by the names of its format."""

    def __init__(self, ids: dict[str, Any], numbers: dict[str, Floats]) -> None:
        self._ids = ids
        self.numbers = numbers

    def frame(self) -> pd.DataFrame:
        """Return the identifiers as Python strings, and the numbers."""
        ids = {column: series.to_list() for column, series in self._ids.items()}
        return pd.DataFrame({**ids, **self.numbers})

    def texts(self, column: str) -> Texts:
        """Return a column of identifiers as bytes."""
        return texts_of(self._ids[column])

    def codes(self, column: str) -> tuple[Ints, NDArray[np.object_]]:
        """Factorise a column of identifiers: a code per line, and the distinct strings."""
        return codes_of(self._ids[column])


def texts_of(series: Any) -> Texts:
    """Return strings of Polars, none of which is missing, as bytes."""
    joined = series.str.join("").item().encode()
    offsets = np.concatenate([[0], np.cumsum(series.str.len_bytes().to_numpy(), dtype=np.int64)])
    return Texts.of_buffer(np.frombuffer(joined, dtype=np.uint8), offsets)


def codes_of(series: Any) -> tuple[Ints, NDArray[np.object_]]:
    """Factorise strings of Polars, none of which is missing: a code per row, and the distinct strings."""
    # Rows of a query are mostly adjacent.
    sizes, values = series.rle().struct.unnest()
    strings = np.empty(len(values), dtype=object)
    strings[:] = values.to_list()
    codes, distinct = encode(strings)
    return np.repeat(codes, sizes.to_numpy()), distinct


def read_fast(text: Text, layout: LineFormat) -> FastColumns | None:
    """Read a file, or return None if Polars is not installed or the file is not clean throughout."""
    data = text.data
    if len(data) < _WORTHWHILE or find_spec("polars") is None:
        return None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    tabs = b"\t" in data
    # White space that Polars takes for a part of a field.
    if any(blank in data for blank in (b"\r", b"\x0b", b"\x0c")) or (tabs and b" " in data):
        return None
    import polars

    names = [f"field {position}" for position in range(len(layout.fields))]
    types = [polars.Float64 if position in layout.numbers else polars.String for position in range(len(names))]
    try:
        frame = polars.read_csv(
            data,
            separator="\t" if tabs else " ",
            has_header=False,
            quote_char=None,
            schema=dict(zip(names, types, strict=True)),
            truncate_ragged_lines=False,
        )
    except polars.exceptions.PolarsError:
        return None
    # Empty fields, as between two blanks, and fields that are missing at the end of a line are null. Blank
    # lines are left out.
    if frame.width != len(names) or frame.height != data.count(b"\n") or any(frame.null_count().row(0)):
        return None
    numbers = {}
    for position, (column, number) in layout.numbers.items():
        values = frame[names[position]].to_numpy()
        if np.isnan(values).any() or not np.all(number.accepts(values)):
            return None
        numbers[column] = values
    return FastColumns({column: frame[names[position]] for position, column in layout.ids.items()}, numbers)
