"""Tables that the command line prints, read without rounding (pandas 2.0 rounds the last digit)."""

from __future__ import annotations

import csv
import io

import pandas as pd


def read_table(text: str, sep: str = ",") -> pd.DataFrame:
    """Read a table with each number as Python reads it; empty cells among numbers are NaN."""
    rows = list(csv.reader(io.StringIO(text), delimiter=sep))
    return pd.DataFrame(
        {
            name: _column(cells)
            for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=True)
        }
    )


def _column(cells: tuple[str, ...]) -> list[object]:
    try:
        numbers = [float(cell) if cell else float("nan") for cell in cells]
    except ValueError:
        return list(cells)
    if not any(cells):
        return list(cells)
    return (
        [int(cell) for cell in cells]
        if all(cell.lstrip("-").isdigit() for cell in cells)
        else list(numbers)
    )
