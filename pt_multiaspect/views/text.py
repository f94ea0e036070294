"""Blocks as text for a terminal."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from .blocks import Bar, Block, Cell, Code, Column, Heading, Items, Row, Sentence, Table

WIDTH = 80
_BAR = 24
#: Successive adjustments of a table that is too wide: the width to which heads are broken (or that of the cells, if
#: they are wider), the gap between columns, and whether names are shortened.
_WAYS = (
    (None, 2, False), (16, 2, False), (12, 2, False),
    (16, 2, True), (12, 2, True), (12, 1, True), (10, 1, True), (8, 1, True),
)  # fmt: skip
#: The minimum length of shortened names.
_NAME = 9


def text_of(blocks: Iterable[Block], width: int = WIDTH, emphasis: bool = False) -> str:
    """Return blocks as text of at most `width` columns, unless words or numbers are wider.

    Parameters
    ----------
    blocks : iterable of Block
        The blocks.
    width : int, default 80
        The number of columns.
    emphasis : bool, default False
        Whether a terminal shows the best values in bold.
    """
    parts: list[str] = []
    before: Block | None = None
    for block in blocks:
        lines = _lines(block, width, emphasis)
        together = isinstance(before, Heading) or (
            isinstance(before, Sentence) and not isinstance(block, Heading | Table)
        )
        if parts and not together:
            parts.append("")
        parts += lines
        before = block
    return "\n".join(line.rstrip() for line in parts)


def printable(text: str) -> str:
    """Return a text in one line, without control characters of terminals."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)


def crop(text: str, width: int) -> str:
    """Shorten a text in the middle if it is longer than `width`."""
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 2]}..{text[len(text) - tail :]}"


def _lines(block: Block, width: int, emphasis: bool) -> list[str]:
    if isinstance(block, Heading):
        title = _wrap(block.text, width)
        return [*title, "-" * max(map(len, title), default=0)]
    if isinstance(block, Sentence):
        return _wrap(_sentence(block), width, whole=bool(block.code))
    if isinstance(block, Code):
        return _code(block, width, "  ")
    if isinstance(block, Items):
        return _items(block, width)
    return _table(block, width, emphasis)


def _sentence(block: Sentence) -> str:
    tag = f"{block.tag.upper()} " if block.tag else ""
    return f"{tag}{block.text}: {block.code}" if block.code else f"{tag}{block.text}"


def _wrap(text: str, width: int, hanging: str = "  ", whole: bool = False) -> list[str]:
    """Return a paragraph as lines; words that are `whole`, such as printed measures, may be wider."""
    return textwrap.wrap(
        printable(text), width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=not whole
    )


def _items(block: Items, width: int) -> list[str]:
    lines = []
    for number, item in enumerate(block.items, 1):
        sign = f"{number}. " if block.numbered else "- "
        for part in item:
            if isinstance(part, Code):
                lines += _code(part, width, " " * (len(sign) + 2))
            else:
                lines += _wrap(f"{sign}{_sentence(part)}", width, " " * len(sign), whole=bool(part.code))
                sign = " " * len(sign)
    return lines


def _code(block: Code, width: int, indent: str) -> list[str]:
    """Break statements within brackets, after commas if possible, so that the output can be pasted."""
    *statements, last = block.text.split("\n")
    lines: list[str] = []
    for statement in statements:
        lines += _statement(statement, width, indent, "  ")
    further = " " * (len(block.before) or 2)
    return [*lines, *_statement(last, width, f"{indent}{block.before}", further, block.after)]


def _statement(code: str, width: int, start: str, further: str, after: str = "") -> list[str]:
    """Return the lines of a statement: the first begins with `start`, the others are indented `further`."""
    code = printable(code)
    chunks, depth, end = [start], 0, 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        chunks[-1] += code[end : token.end[1]] if token.string else ""
        end = token.end[1] if token.string else end
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if depth and token.string in ",([{":
                chunks.append("")
    chunks[-1] += after
    indent = " " * (len(start) - len(start.lstrip())) + further
    lines = [chunks[0]]
    for chunk in chunks[1:]:
        if len(lines[-1]) + len(chunk.rstrip()) > width:
            lines.append(f"{indent}{chunk.lstrip()}")
        else:
            lines[-1] += chunk
    return [line.rstrip() for line in lines]


class _Fitted(NamedTuple):
    """The columns of a table that are drawn side by side, with their heads in lines and their widths."""

    columns: list[int]
    heads: list[list[str]]
    widths: list[int]
    gap: int


def _table(table: Table, width: int, emphasis: bool) -> list[str]:
    rows = _plain_rows(table)
    fits, dropped = _fit_table(table, rows, width)
    lines: list[str] = []
    for fitted in fits:
        if lines:
            lines.append("")
        lines += _draw_table(table, rows, fitted, emphasis)
    if dropped:
        names = ", ".join(table.columns[column].head for column in dropped)
        where = f" (see {table.elsewhere})" if table.elsewhere else ""
        lines += _wrap(f"Not shown for lack of room: {names}{where}.", width)
    for note in table.notes:
        lines += _lines(replace(note, text=note.in_text or note.text), width, emphasis)
    return lines


def _plain_rows(table: Table) -> list[Row]:
    """Return rows whose cells have only a text and a mark; numbers with signs or intervals are aligned."""
    rows = table.drawn_rows()
    if any(note.in_text for note in table.notes):
        rows = [_star_best(row) for row in rows]
    cells = [row.cells for row in rows if row.span == 1]
    columns = [
        [cell for row in cells for cell in row[at : at + 1] if isinstance(cell, Cell)]
        for at in range(len(table.columns))
    ]
    rooms = [
        [max((len(getattr(cell, part)) for cell in column), default=0) for part in ("signs", "after")]
        for column in columns
    ]
    return [
        replace(row, cells=[_plain(cell, *room) for cell, room in zip(row.cells, rooms, strict=False)])
        if row.span == 1
        else replace(row, cells=[_plain(cell) for cell in row.cells])
        for row in rows
    ]


def _star_best(row: Row) -> Row:
    """Return a row with a * after the best values."""
    cells = [
        replace(cell, signs=f"{cell.signs}*") if isinstance(cell, Cell) and cell.mark == "best" else cell
        for cell in row.cells
    ]
    return replace(row, cells=cells)


def _plain(cell: Cell | Bar | str, signs: int = 0, after: int = 0) -> Cell | Bar:
    if isinstance(cell, Bar):
        return cell
    if isinstance(cell, str):
        cell = Cell(cell)
    padded = replace(cell, signs=cell.signs.ljust(signs), after=cell.after.rjust(0 if cell.text == "-" else after))
    return Cell(printable(padded.whole), cell.mark)


def _fit_table(table: Table, rows: Sequence[Row], width: int) -> tuple[list[_Fitted], list[int]]:
    """Fit a table: break heads, then shorten names, omit columns, and finally divide the table."""
    columns = [column for column, shown in enumerate(table.columns) if not shown.redundant]
    cells = [max((_length(row, column) for row in rows), default=0) for column in range(len(table.columns))]
    least: list[int | None] = []
    dropped: list[int] = []
    while True:
        spare = max(table.columns[column].spare for column in columns)
        for head, gap, shorten in _WAYS:
            fitted = _fit_columns(table, cells, columns, head)._replace(gap=gap)
            if shorten:
                least = least or _least_widths(table, rows)
                fitted = _shorten_names(fitted, least, width)
            if _total(fitted) <= width:
                return [fitted], dropped
        if not spare:
            break
        dropped += [column for column in columns if table.columns[column].spare == spare]
        columns = [column for column in columns if table.columns[column].spare < spare]
    fitted = _fit_columns(table, cells, columns, 12)
    # Names, which are repeated in each part, take a third of the width.
    widths = [
        min(wide, max(width // 3, low)) if (low := least[column]) is not None else wide
        for column, wide in zip(columns, fitted.widths, strict=True)
    ]
    return _stack_columns(_narrow_columns(fitted, widths), width), dropped


def _fit_columns(table: Table, cells: Sequence[int], columns: list[int], head: int | None) -> _Fitted:
    """Return columns in the full width of their cells, with heads broken to that width or to `head`."""
    names = [printable(table.columns[column].in_text or table.columns[column].head) for column in columns]
    least = [cells[column] for column in columns]
    heads = [[name] for name in names] if head is None else _heads(names, [max(head, width) for width in least])
    widths = [max(width, *map(len, lines)) for width, lines in zip(least, heads, strict=True)]
    return _Fitted(columns, heads, widths, 2)


def _length(row: Row, column: int) -> int:
    """Return the width of a cell; cells that span columns use the available width."""
    position = 0 if column == 0 else column - row.span + 1
    if (column < row.span and row.span > 1) or position >= len(row.cells):
        return 0
    cell = row.cells[position]
    return _BAR if isinstance(cell, Bar) else len(cell.text if isinstance(cell, Cell) else cell)


def _total(fitted: _Fitted) -> int:
    return sum(fitted.widths) + fitted.gap * (len(fitted.widths) - 1)


def _least_widths(table: Table, rows: Sequence[Row]) -> list[int | None]:
    """Return the minimum width of columns with distinct shortened names, None if they cannot be shortened."""
    result: list[int | None] = []
    for column, shown in enumerate(table.columns):
        if shown.shorten is None:
            result.append(None)
            continue
        cells = [cell for row in rows if row.span == 1 for cell in row.cells[column : column + 1]]
        names = {cell.text for cell in cells if isinstance(cell, Cell)}
        low = max(shown.shorten, _NAME)
        longest = max(map(len, names), default=low)
        candidates = range(low, longest)
        distinct = (wide for wide in candidates if len({crop(name, wide) for name in names}) == len(names))
        result.append(next(distinct, max(low, longest)))
    return result


def _shorten_names(fitted: _Fitted, least: Sequence[int | None], width: int) -> _Fitted:
    """Return columns with names shortened as necessary, the longest first."""
    widths = list(fitted.widths)
    lows = [least[column] for column in fitted.columns]
    over = _total(fitted) - width
    while over > 0:
        long = [at for at, low in enumerate(lows) if low is not None and widths[at] > low]
        if not long:
            break
        longest = max(long, key=widths.__getitem__)
        widths[longest] -= 1
        over -= 1
    return _narrow_columns(fitted, widths)


def _narrow_columns(fitted: _Fitted, widths: list[int]) -> _Fitted:
    """Return columns with other widths, and heads broken to these widths."""
    narrower = _heads([" ".join(lines) for lines in fitted.heads], widths)
    heads = [
        lines if max(map(len, lines)) <= new else broken
        for lines, new, broken in zip(fitted.heads, widths, narrower, strict=True)
    ]
    return fitted._replace(widths=widths, heads=heads)


def _stack_columns(fitted: _Fitted, width: int) -> list[_Fitted]:
    """Return columns in tables below each other, each with the first column."""
    groups, used = [[0]], fitted.widths[0]
    for at, wide in enumerate(fitted.widths[1:], 1):
        if len(groups[-1]) > 1 and used + fitted.gap + wide > width:
            groups.append([0])
            used = fitted.widths[0]
        groups[-1].append(at)
        used += fitted.gap + wide
    return [
        _Fitted(
            [fitted.columns[at] for at in group],
            [fitted.heads[at] for at in group],
            [fitted.widths[at] for at in group],
            fitted.gap,
        )
        for group in groups
    ]


def _heads(names: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Break column heads into lines, so that different heads remain distinct."""
    heads = [_break_head(name, width) for name, width in zip(names, widths, strict=True)]
    return [
        lines if heads.count(lines) == 1 else _break_head(name, width, abbreviate=False)
        for name, width, lines in zip(names, widths, heads, strict=True)
    ]


def _break_head(head: str, width: int, abbreviate: bool = True) -> list[str]:
    """Break a column head after punctuation and blanks where possible; long words are abbreviated or broken."""
    lines = [""]
    for part in re.findall(r"[^\s,(=:_-]*[\s,(=:_-]?", head):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        word = part.rstrip()
        lines[-1] += f"{word[: width - 1]}." if abbreviate and len(word) > width and word.isalpha() else part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.rstrip() for line in lines]


def _draw_table(table: Table, rows: Sequence[Row], fitted: _Fitted, emphasis: bool) -> list[str]:
    columns = [table.columns[column] for column in fitted.columns]
    lines = _group_lines(table, fitted)
    depth = max(map(len, fitted.heads)) if any(column.head for column in columns) else 0
    for line in range(depth):
        # Heads end on one line.
        texts = [head[line - depth + len(head)] if line >= depth - len(head) else "" for head in fitted.heads]
        lines.append(_join_cells(texts, columns, fitted.widths, fitted.gap))
    for row in rows:
        lines.append(_row(row, columns, fitted, emphasis))
    return lines


def _group_lines(table: Table, fitted: _Fitted) -> list[str]:
    if not table.groups or len(fitted.columns) != len(table.columns):
        return []
    line, at = "", 0
    for name, span in table.groups:
        wide = sum(fitted.widths[at : at + span]) + fitted.gap * span
        line += f"{printable(name):<{wide}}"
        at += span
    return [line]


def _row(row: Row, columns: list[Column], fitted: _Fitted, emphasis: bool) -> str:
    spanned = [at for at, column in enumerate(fitted.columns) if column < row.span]
    wide = sum(fitted.widths[: len(spanned)]) + fitted.gap * max(len(spanned) - 1, 0)
    texts, widths, kinds = [], [], []
    for at, column in enumerate(fitted.columns):
        if row.span > 1 and at < len(spanned):
            if at == 0:
                texts.append(_cell_text(row.cells[0], wide, emphasis))
                widths.append(wide)
                kinds.append(Column("", left=True))
            continue
        position = column if row.span == 1 else column - row.span + 1
        cell = row.cells[position] if position < len(row.cells) else ""
        texts.append(_cell_text(cell, fitted.widths[at], emphasis))
        widths.append(fitted.widths[at])
        kinds.append(columns[at])
    return _join_cells(texts, kinds, widths, fitted.gap)


def _cell_text(cell: Cell | Bar | str, width: int, emphasis: bool) -> str:
    if isinstance(cell, Bar):
        drawn = "#" * max(round(_BAR * cell.length), int(cell.length > 0))
        return f"{' ' * round(_BAR * cell.start)}{drawn}"
    text = crop(cell.text if isinstance(cell, Cell) else cell, width)
    if emphasis and isinstance(cell, Cell) and cell.mark in ("best", "strong"):
        return f"\x1b[1m{text}\x1b[0m"
    return text


def _join_cells(texts: list[str], columns: Sequence[Column], widths: list[int], gap: int) -> str:
    cells = []
    for text, column, width in zip(texts, columns, widths, strict=True):
        room = " " * (width - len(re.sub(r"\x1b\[\d*m", "", text)))
        cells.append(text + room if column.left or text.lstrip().startswith("#") else room + text)
    return (" " * gap).join(cells)
