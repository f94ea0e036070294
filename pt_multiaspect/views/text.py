"""Blocks as text for a terminal."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from .blocks import Bar, Block, Cell, Code, Column, Heading, Items, Row, Sentence, Table

#: The default number of columns.
WIDTH = 80
_BAR = 24
#: Successive adjustments of a table that is too wide: the width to which heads are broken (or that
#: of the cells, if they are wider), the gap between columns, and whether names are shortened.
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
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


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
    if block.tag:
        tag = f"{block.tag.upper()} "
    else:
        tag = ""
    if block.code:
        return f"{tag}{block.text}: {block.code}"
    return f"{tag}{block.text}"


def _wrap(text: str, width: int, hanging: str = "  ", whole: bool = False) -> list[str]:
    """Return a paragraph as lines; words that are `whole`, such as printed measures, may be wider."""
    return textwrap.wrap(
        printable(text),
        width,
        subsequent_indent=hanging,
        break_on_hyphens=False,
        break_long_words=not whole,
    )


def _items(block: Items, width: int) -> list[str]:
    lines = []
    for number, item in enumerate(block.items, 1):
        if block.numbered:
            sign = f"{number}. "
        else:
            sign = "- "
        for part in item:
            if isinstance(part, Code):
                lines += _code(part, width, " " * (len(sign) + 2))
            else:
                lines += _wrap(
                    f"{sign}{_sentence(part)}", width, " " * len(sign), whole=bool(part.code)
                )
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
        if token.string:
            end = token.end[1]
        else:
            end = end
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


class _Shown(NamedTuple):
    """A column as it is drawn: its position in the table, its head in lines, and its width."""

    column: Column
    position: int
    head: list[str]
    width: int


class _Fitted(NamedTuple):
    """Columns that are drawn side by side, and the gap between them."""

    columns: list[_Shown]
    gap: int = 2

    @property
    def total(self) -> int:
        """The width of all columns and the gaps between them."""
        return sum(shown.width for shown in self.columns) + self.gap * max(len(self.columns) - 1, 0)


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
        if table.elsewhere:
            where = f" (see {table.elsewhere})"
        else:
            where = ""
        lines += _wrap(f"Not shown for lack of room: {names}{where}.", width)
    for note in table.notes:
        lines += _lines(replace(note, text=note.in_text or note.text), width, emphasis)
    return lines


def _plain_rows(table: Table) -> list[Row]:
    """Return rows whose cells have only a text and a mark; numbers with signs or intervals are aligned."""
    rows = table.drawn_rows()
    if any(note.in_text for note in table.notes):
        rows = [_star_best(row) for row in rows]
    columns = [column_cells(rows, column) for column in range(len(table.columns))]
    rooms = [
        [
            max((len(getattr(cell, part)) for cell in column), default=0)
            for part in ("signs", "after")
        ]
        for column in columns
    ]
    return [
        replace(
            row,
            cells=[_padded_cell(cell, *room) for cell, room in zip(row.cells, rooms, strict=False)],
        )
        if row.span == 1
        else replace(row, cells=[_padded_cell(cell) for cell in row.cells])
        for row in rows
    ]


def column_cells(rows: Sequence[Row], column: int) -> list[Cell]:
    """Return the cells of a column, without bars and those that span columns."""
    return [
        cell
        for row in rows
        if row.span == 1
        for cell in row.cells[column : column + 1]
        if isinstance(cell, Cell)
    ]


def _star_best(row: Row) -> Row:
    """Return a row with a * after the best values."""
    cells = [
        replace(cell, signs=f"{cell.signs}*")
        if isinstance(cell, Cell) and cell.mark == "best"
        else cell
        for cell in row.cells
    ]
    return replace(row, cells=cells)


def _padded_cell(cell: Cell | Bar | str, signs: int = 0, after: int = 0) -> Cell | Bar:
    if isinstance(cell, Bar):
        return cell
    if isinstance(cell, str):
        cell = Cell(cell)
    padded = replace(
        cell,
        signs=cell.signs.ljust(signs),
        after=cell.after.rjust(0 if cell.text == "-" else after),
    )
    return Cell(printable(padded.whole), cell.mark)


def _fit_table(table: Table, rows: Sequence[Row], width: int) -> tuple[list[_Fitted], list[int]]:
    """Fit a table: break heads, then shorten names, omit columns, and finally divide the table."""
    columns = [column for column, shown in enumerate(table.columns) if not shown.redundant]
    cells = [
        max((_length(row, column) for row in rows), default=0)
        for column in range(len(table.columns))
    ]
    least: list[int | None] = []
    dropped: list[int] = []
    while True:
        spare = max(table.columns[column].spare for column in columns)
        for head, gap, shorten in _WAYS:
            fitted = _Fitted(_break_columns(table, cells, columns, head), gap)
            if shorten:
                least = least or _least_widths(table, rows)
                fitted = _shorten_names(fitted, least, width)
            if fitted.total <= width:
                return [fitted], dropped
        if not spare:
            break
        dropped += [column for column in columns if table.columns[column].spare == spare]
        columns = [column for column in columns if table.columns[column].spare < spare]
    full = _break_columns(table, cells, columns, 12)
    return _stack_columns(
        _narrow_columns(full, _stacked_widths(full, least, width)), width
    ), dropped


def _stacked_widths(columns: list[_Shown], least: Sequence[int | None], width: int) -> list[int]:
    """Return the widths of columns in tables below each other, of which each has the names of the rows.

    Names take a third of the width, or half of it if they fill several columns, and other texts at
    most the rest.
    """
    names = _name_columns(columns)
    n_names = len(names)
    if n_names == 1:
        room = width // 3
    else:
        room = width // (2 * n_names) - 1
    if n_names > 1 and _Fitted(names).total <= width // 2:
        room = width
    widths: list[int] = []
    for position, shown in enumerate(columns):
        low = least[shown.position]
        if low is None:
            widths.append(shown.width)
        elif position < n_names:
            widths.append(min(shown.width, max(room, low)))
        else:
            rest = width - sum(widths[:n_names]) - 2 * n_names
            widths.append(min(shown.width, rest))
    return widths


def _break_columns(
    table: Table, cells: Sequence[int], columns: list[int], head: int | None
) -> list[_Shown]:
    """Return columns in the full width of their cells, with heads broken to that width or to `head`."""
    names = [
        printable(table.columns[column].in_text or table.columns[column].head) for column in columns
    ]
    least = [cells[column] for column in columns]
    if head is None:
        heads = [[name] for name in names]
    else:
        heads = _heads(names, [max(head, width) for width in least])
    return [
        _Shown(table.columns[column], column, lines, max(width, *map(len, lines)))
        for column, lines, width in zip(columns, heads, least, strict=True)
    ]


def _length(row: Row, column: int) -> int:
    """Return the width of a cell; cells that span columns use the available width."""
    if column == 0:
        position = 0
    else:
        position = column - row.span + 1
    if (column < row.span and row.span > 1) or position >= len(row.cells):
        return 0
    cell = row.cells[position]
    if isinstance(cell, Bar):
        return _BAR
    return len(cell.text if isinstance(cell, Cell) else cell)


def _least_widths(table: Table, rows: Sequence[Row]) -> list[int | None]:
    """Return the minimum width of columns with distinct shortened names, None if they cannot be shortened."""
    result: list[int | None] = []
    for column, shown in enumerate(table.columns):
        if shown.shorten is None:
            result.append(None)
            continue
        names = {cell.text for cell in column_cells(rows, column)}
        low = max(shown.shorten, _NAME)
        longest = max(map(len, names), default=low)
        candidates = range(low, longest)
        distinct = (
            wide for wide in candidates if len({crop(name, wide) for name in names}) == len(names)
        )
        result.append(next(distinct, max(low, longest)))
    return result


def _shorten_names(fitted: _Fitted, least: Sequence[int | None], width: int) -> _Fitted:
    """Return columns with names shortened as necessary, the longest first."""
    widths = [shown.width for shown in fitted.columns]
    lows = [least[shown.position] for shown in fitted.columns]
    for _ in range(fitted.total - width):
        long = [at for at, low in enumerate(lows) if low is not None and widths[at] > low]
        if not long:
            break
        widths[max(long, key=widths.__getitem__)] -= 1
    return fitted._replace(columns=_narrow_columns(fitted.columns, widths))


def _narrow_columns(columns: list[_Shown], widths: list[int]) -> list[_Shown]:
    """Return columns with other widths, and heads broken to these widths."""
    narrower = _heads([" ".join(shown.head) for shown in columns], widths)
    return [
        shown._replace(
            width=width, head=shown.head if max(map(len, shown.head)) <= width else broken
        )
        for shown, width, broken in zip(columns, widths, narrower, strict=True)
    ]


def _stack_columns(columns: list[_Shown], width: int) -> list[_Fitted]:
    """Return columns in tables below each other, each with the names of the rows."""
    names = _name_columns(columns)
    n_names = len(names)
    parts = [_Fitted([*names])]
    for shown in columns[n_names:]:
        if (
            len(parts[-1].columns) > n_names
            and parts[-1].total + parts[-1].gap + shown.width > width
        ):
            parts.append(_Fitted([*names]))
        parts[-1].columns.append(shown)
    return parts


def _name_columns(columns: list[_Shown]) -> list[_Shown]:
    """Return the first columns, which name the rows; only the very first if all columns are texts."""
    named = list(
        takewhile(lambda shown: shown.column.left and shown.column.shorten is not None, columns)
    )
    if 0 < len(named) < len(columns):
        return named
    return columns[:1]


def _heads(names: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Break column heads into lines, so that different heads remain distinct."""
    heads = [_break_head(name, width) for name, width in zip(names, widths, strict=True)]
    return [
        lines if heads.count(lines) == 1 else _break_head(name, width, abbreviate=False)
        for name, width, lines in zip(names, widths, heads, strict=True)
    ]


def _break_head(head: str, width: int, abbreviate: bool = True) -> list[str]:
    """Break a column head after punctuation, blanks, and before ( where possible.

    Long words are abbreviated or broken.
    """
    lines = [""]
    for part in re.findall(r"\(?[^\s,(=:_-]*[\s,=:_-]?", head):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        word = part.rstrip()
        lines[-1] += (
            f"{word[: width - 1]}." if abbreviate and len(word) > width and word.isalpha() else part
        )
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return [line.rstrip() for line in lines]


def _draw_table(table: Table, rows: Sequence[Row], fitted: _Fitted, emphasis: bool) -> list[str]:
    lines = []
    if table.groups and len(fitted.columns) == len(table.columns):
        lines.append(_group_line(table, fitted))
    if any(shown.column.head for shown in fitted.columns):
        depth = max(len(shown.head) for shown in fitted.columns)
        # Heads end on one line.
        heads = [[""] * (depth - len(shown.head)) + shown.head for shown in fitted.columns]
        lines += [
            _join_cells(texts, fitted.columns, fitted.gap) for texts in zip(*heads, strict=True)
        ]
    return lines + [_row(row, fitted, emphasis) for row in rows]


def _group_line(table: Table, fitted: _Fitted) -> str:
    line, at = "", 0
    for name, span in table.groups:
        wide = sum(shown.width + fitted.gap for shown in fitted.columns[at : at + span])
        line += f"{printable(name):<{wide}}"
        at += span
    return line


def _row(row: Row, fitted: _Fitted, emphasis: bool) -> str:
    columns, cells = fitted.columns, row.cells
    if row.span > 1:
        spanned = [shown for shown in columns if shown.position < row.span]
        columns = [_Shown(Column("", left=True), 0, [], fitted._replace(columns=spanned).total)]
        columns += [
            shown._replace(position=shown.position - row.span + 1)
            for shown in fitted.columns[len(spanned) :]
        ]
    texts = [
        _cell_text(
            cells[shown.position] if shown.position < len(cells) else "", shown.width, emphasis
        )
        for shown in columns
    ]
    return _join_cells(texts, columns, fitted.gap)


def _cell_text(cell: Cell | Bar | str, width: int, emphasis: bool) -> str:
    if isinstance(cell, Bar):
        drawn = "#" * max(round(_BAR * cell.length), int(cell.length > 0))
        return f"{' ' * round(_BAR * cell.start)}{drawn}"
    text = crop(cell.text if isinstance(cell, Cell) else cell, width)
    if emphasis and isinstance(cell, Cell) and cell.mark in ("best", "strong"):
        return f"\x1b[1m{text}\x1b[0m"
    return text


def _join_cells(texts: Sequence[str], columns: Sequence[_Shown], gap: int) -> str:
    padded = []
    for text, shown in zip(texts, columns, strict=True):
        room = " " * (shown.width - len(re.sub(r"\x1b\[\d*m", "", text)))
        padded.append(
            text + room if shown.column.left or text.lstrip().startswith("#") else room + text
        )
    return (" " * gap).join(padded)
