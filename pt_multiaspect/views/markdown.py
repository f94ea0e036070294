"""Tables as Markdown."""

from __future__ import annotations

import re

from .blocks import Bar, Cell, Sentence, Table
from .text import printable

_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}


def markdown_of(table: Table) -> str:
    """Return a table in GitHub's Markdown, with its notes below; best values are bold, second best underlined."""
    heads = [_cell(column.head) for column in table.columns]
    rule = ["---" if column.left else "---:" for column in table.columns]
    lines = [list(map(_cell, row.cells)) for row in table.all_rows()]
    drawn = [f"| {' | '.join(cells)} |" for cells in [heads, rule, *lines]]
    return "\n".join([*drawn, *map(_note, table.notes)])


def _note(note: Sentence) -> str:
    code = f": `{printable(note.code)}`" if note.code else ""
    return f"\n{printable(note.text)}{code}"


def _cell(cell: Cell | Bar | str) -> str:
    text = cell.label if isinstance(cell, Bar) else cell.whole if isinstance(cell, Cell) else cell
    escaped = re.sub(r"([|*_<`])", r"\\\1", printable(text))
    return _MARKS.get(cell.mark, "{}").format(escaped) if isinstance(cell, Cell) else escaped
