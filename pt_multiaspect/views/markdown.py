"""Tables as Markdown."""

from __future__ import annotations

import re

from .blocks import Bar, Cell, Row, Table
from .text import printable

__all__ = ["markdown_of"]


def markdown_of(table: Table) -> str:
    """Return a table in GitHub's Markdown, with its notes below; the best values are bold."""
    rows = [row.cells if isinstance(row, Row) else row for row in table.rows]
    heads, *lines = [
        [_cell(cell) for cell in cells] for cells in [[column.head for column in table.columns], *rows]
    ]
    rule = ["---" if column.left else "---:" for column in table.columns]
    drawn = [f"| {' | '.join(cells)} |" for cells in [heads, rule, *lines]]
    return "\n".join([*drawn, *(f"\n{printable(note.text)}" for note in table.notes)])


def _cell(cell: Cell | Bar | str) -> str:
    text = cell.label if isinstance(cell, Bar) else cell.whole if isinstance(cell, Cell) else cell
    escaped = re.sub(r"([|*_<`])", r"\\\1", printable(text))
    return f"**{escaped}**" if isinstance(cell, Cell) and cell.mark == "best" else escaped
