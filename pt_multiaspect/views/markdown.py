"""Tables as Markdown."""

from __future__ import annotations

import re

from .blocks import Bar, Cell, Table
from .text import printable


def markdown_of(table: Table) -> str:
    """Return a table in GitHub's Markdown, with its notes below; the best values are bold."""
    heads = [_cell(column.head) for column in table.columns]
    rule = ["---" if column.left else "---:" for column in table.columns]
    lines = [list(map(_cell, row.cells)) for row in table.all_rows()]
    drawn = [f"| {' | '.join(cells)} |" for cells in [heads, rule, *lines]]
    return "\n".join([*drawn, *(f"\n{printable(note.text)}" for note in table.notes)])


def _cell(cell: Cell | Bar | str) -> str:
    text = cell.label if isinstance(cell, Bar) else cell.whole if isinstance(cell, Cell) else cell
    escaped = re.sub(r"([|*_<`])", r"\\\1", printable(text))
    return f"**{escaped}**" if isinstance(cell, Cell) and cell.mark == "best" else escaped
