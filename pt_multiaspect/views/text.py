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
    lines: list[str] = []
    before: Block | None = None
    for block in blocks:
        if lines and not _follows_directly(before, block):
            lines.append("")
        lines += _lines(block, width, emphasis)
        before = block
    return "\n".join(map(str.rstrip, lines))


def _follows_directly(before: Block | None, block: Block) -> bool:
    """Return whether no empty line separates a block from the one before."""
    if isinstance(before, Heading):
        return True
    if isinstance(before, Sentence):
        return not isinstance(block, Heading | Table)
    return False


def printable(text: str) -> str:
    """Return a text in one line, without control characters of terminals."""
    if text.isprintable():
        return text
    letters = []
    for letter in text:
        if letter.isprintable():
            letters.append(letter)
        else:
            letters.append(" ")
    return "".join(letters)


def crop(text: str, width: int) -> str:
    """Shorten a text in the middle if it is longer than `width`."""
    if len(text) <= width:
        return text
    n_last = width // 3
    n_first = width - n_last - 2
    start = text[:n_first]
    end = text[len(text) - n_last :]
    return f"{start}..{end}"


def _lines(block: Block, width: int, emphasis: bool) -> list[str]:
    if isinstance(block, Heading):
        title = _wrap(block.text, width)
        n_hyphens = max(map(len, title), default=0)
        return [*title, "-" * n_hyphens]
    if isinstance(block, Sentence):
        has_code = bool(block.code)
        return _wrap(_sentence(block), width, whole=has_code)
    if isinstance(block, Code):
        return _code(block, width, "  ")
    if isinstance(block, Items):
        return _items(block, width)
    return _table(block, width, emphasis)


def _sentence(block: Sentence) -> str:
    text = block.text
    if block.tag:
        text = f"{block.tag.upper()} {text}"
    if block.code:
        text = f"{text}: {block.code}"
    return text


def _wrap(text: str, width: int, hanging: str = "  ", whole: bool = False) -> list[str]:
    """Return a paragraph as lines.

    Words that are `whole`, such as printed measures, may be wider.
    """
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
        indent = " " * len(sign)
        for part in item:
            if isinstance(part, Code):
                lines += _code(part, width, f"{indent}  ")
            else:
                text = f"{sign}{_sentence(part)}"
                lines += _wrap(text, width, indent, whole=bool(part.code))
                sign = indent
    return lines


def _code(block: Code, width: int, indent: str) -> list[str]:
    """Break statements within brackets, after commas if possible.

    The output can be pasted.
    """
    *statements, last = block.text.split("\n")
    lines: list[str] = []
    for statement in statements:
        lines += _statement(statement, width, indent, "  ")
    start = f"{indent}{block.before}"
    further = "  "
    if block.before:
        further = " " * len(block.before)
    lines += _statement(last, width, start, further, block.after)
    return lines


def _statement(code: str, width: int, start: str, further: str, after: str = "") -> list[str]:
    """Return the lines of a statement.

    The first begins with `start`, the others are indented `further`.
    """
    chunks = _breakable_chunks(printable(code))
    chunks[0] = f"{start}{chunks[0]}"
    chunks[-1] += after
    n_blanks = len(start) - len(start.lstrip())
    indent = " " * n_blanks + further
    lines = [chunks[0]]
    for chunk in chunks[1:]:
        if len(lines[-1]) + len(chunk.rstrip()) > width:
            lines.append(f"{indent}{chunk.lstrip()}")
        else:
            lines[-1] += chunk
    return list(map(str.rstrip, lines))


def _breakable_chunks(code: str) -> list[str]:
    """Divide one line of code after commas and opening brackets, within brackets."""
    chunks = [""]
    depth = 0
    end = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.string:
            chunks[-1] += code[end : token.end[1]]
            end = token.end[1]
        if token.type != tokenize.OP:
            continue
        if token.string in "([{":
            depth += 1
        if token.string in ")]}":
            depth -= 1
        if depth and token.string in ",([{":
            chunks.append("")
    return chunks


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
        n_gaps = max(len(self.columns) - 1, 0)
        return sum(shown.width for shown in self.columns) + self.gap * n_gaps


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
            names += f" (see {table.elsewhere})"
        lines += _wrap(f"Not shown for lack of room: {names}.", width)
    for note in table.notes:
        text = note.in_text or note.text
        lines += _lines(replace(note, text=text), width, emphasis)
    return lines


def _plain_rows(table: Table) -> list[Row]:
    """Return rows whose cells have only a text and a mark.

    Numbers with signs or intervals are aligned.
    """
    rows = table.drawn_rows()
    if any(note.in_text for note in table.notes):
        rows = list(map(_star_best, rows))
    signs: list[int] = []
    after: list[int] = []
    for position in range(len(table.columns)):
        column = column_cells(rows, position)
        signs.append(max((len(cell.signs) for cell in column), default=0))
        after.append(max((len(cell.after) for cell in column), default=0))
    result = []
    for row in rows:
        if row.span == 1:
            cells = list(map(_padded_cell, row.cells, signs, after))
        else:
            cells = list(map(_padded_cell, row.cells))
        result.append(replace(row, cells=cells))
    return result


def column_cells(rows: Sequence[Row], column: int) -> list[Cell]:
    """Return the cells of a column, without bars and those that span columns."""
    cells = []
    for row in rows:
        if row.span > 1 or column >= len(row.cells):
            continue
        cell = row.cells[column]
        if isinstance(cell, Cell):
            cells.append(cell)
    return cells


def _star_best(row: Row) -> Row:
    """Return a row with a * after the best values."""
    cells: list[Cell | Bar | str] = []
    for cell in row.cells:
        if isinstance(cell, Cell) and cell.mark == "best":
            cells.append(replace(cell, signs=f"{cell.signs}*"))
        else:
            cells.append(cell)
    return replace(row, cells=cells)


def _padded_cell(cell: Cell | Bar | str, signs: int = 0, after: int = 0) -> Cell | Bar:
    """Return a cell as one text, with signs and what follows padded to these widths."""
    if isinstance(cell, Bar):
        return cell
    if isinstance(cell, str):
        cell = Cell(cell)
    if cell.text == "-":
        after = 0
    padded = replace(cell, signs=cell.signs.ljust(signs), after=cell.after.rjust(after))
    return Cell(printable(padded.whole), cell.mark)


def _fit_table(table: Table, rows: Sequence[Row], width: int) -> tuple[list[_Fitted], list[int]]:
    """Fit a table: break heads, then shorten names, omit columns, and finally divide the table.

    Returns
    -------
    fits, dropped
        Tables below each other, and the columns that are left out.
    """
    columns = [column for column, shown in enumerate(table.columns) if not shown.redundant]
    cells = _cell_widths(table, rows)
    least: list[int | None] = []
    dropped: list[int] = []
    while True:
        for head, gap, shorten in _WAYS:
            fitted = _Fitted(_break_columns(table, cells, columns, head), gap)
            if shorten:
                least = least or _least_widths(table, rows)
                fitted = _shorten_names(fitted, least, width)
            if fitted.total <= width:
                return [fitted], dropped
        spare = max(table.columns[column].spare for column in columns)
        if not spare:
            break
        dropped += [column for column in columns if table.columns[column].spare == spare]
        columns = [column for column in columns if table.columns[column].spare < spare]
    full = _break_columns(table, cells, columns, 12)
    narrow = _narrow_columns(full, _stacked_widths(full, least, width))
    return _stack_columns(narrow, width), dropped


def _cell_widths(table: Table, rows: Sequence[Row]) -> list[int]:
    """Return the maximum width of the cells of each column."""
    widths = []
    for column in range(len(table.columns)):
        lengths = (_length(row, column) for row in rows)
        widths.append(max(lengths, default=0))
    return widths


def _stacked_widths(columns: list[_Shown], least: Sequence[int | None], width: int) -> list[int]:
    """Return the widths of columns in tables below each other, which repeat the names of the rows.

    Names take a third of the width, or half of it if they fill several columns, and other texts at
    most the rest.
    """
    names = _name_columns(columns)
    n_names = len(names)
    if n_names == 1:
        room = width // 3
    elif _Fitted(names).total <= width // 2:
        room = width
    else:
        room = width // (2 * n_names) - 1
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
    """Return columns in the full width of their cells, with heads broken to it or to `head`."""
    names = []
    for column in columns:
        shown = table.columns[column]
        names.append(printable(shown.in_text or shown.head))
    if head is None:
        heads = [[name] for name in names]
    else:
        heads = _heads(names, [max(head, cells[column]) for column in columns])
    result = []
    for column, lines in zip(columns, heads, strict=True):
        width = max(cells[column], *map(len, lines))
        result.append(_Shown(table.columns[column], column, lines, width))
    return result


def _length(row: Row, column: int) -> int:
    """Return the width of a cell; cells that span columns use the available width."""
    if row.span > 1 and column < row.span:
        return 0
    if column == 0:
        position = 0
    else:
        position = column - row.span + 1
    if position >= len(row.cells):
        return 0
    cell = row.cells[position]
    if isinstance(cell, Bar):
        return _BAR
    if isinstance(cell, Cell):
        return len(cell.text)
    return len(cell)


def _least_widths(table: Table, rows: Sequence[Row]) -> list[int | None]:
    """Return the minimum width of columns; None if their cells cannot be shortened.

    Shortened names stay distinct.
    """
    result: list[int | None] = []
    for position, column in enumerate(table.columns):
        if column.shorten is None:
            result.append(None)
            continue
        names = {cell.text for cell in column_cells(rows, position)}
        low = max(column.shorten, _NAME)
        result.append(_least_width(names, low))
    return result


def _least_width(names: set[str], low: int) -> int:
    """Return the minimum width, at least `low`, at which shortened names stay distinct."""
    longest = max(map(len, names), default=low)
    for width in range(low, longest):
        cropped = {crop(name, width) for name in names}
        if len(cropped) == len(names):
            return width
    return max(low, longest)


def _shorten_names(fitted: _Fitted, least: Sequence[int | None], width: int) -> _Fitted:
    """Return columns with names shortened as necessary, the longest first."""
    widths = [shown.width for shown in fitted.columns]
    for _ in range(fitted.total - width):
        longest: int | None = None
        for position, shown in enumerate(fitted.columns):
            low = least[shown.position]
            if low is None or widths[position] <= low:
                continue
            if longest is None or widths[position] > widths[longest]:
                longest = position
        if longest is None:
            break
        widths[longest] -= 1
    return fitted._replace(columns=_narrow_columns(fitted.columns, widths))


def _narrow_columns(columns: list[_Shown], widths: list[int]) -> list[_Shown]:
    """Return columns with other widths, and heads broken to these widths."""
    heads = _heads([" ".join(shown.head) for shown in columns], widths)
    result = []
    for shown, width, head in zip(columns, widths, heads, strict=True):
        if max(map(len, shown.head)) <= width:
            result.append(shown._replace(width=width))
        else:
            result.append(shown._replace(width=width, head=head))
    return result


def _stack_columns(columns: list[_Shown], width: int) -> list[_Fitted]:
    """Return columns in tables below each other, each with the names of the rows."""
    names = _name_columns(columns)
    n_names = len(names)
    parts = [_Fitted([*names])]
    for shown in columns[n_names:]:
        last = parts[-1]
        is_full = last.total + last.gap + shown.width > width
        if is_full and len(last.columns) > n_names:
            last = _Fitted([*names])
            parts.append(last)
        last.columns.append(shown)
    return parts


def _name_columns(columns: list[_Shown]) -> list[_Shown]:
    """Return the first columns, which name the rows; only the very first if all are texts."""
    names = []
    for shown in columns:
        if not shown.column.left or shown.column.shorten is None:
            break
        names.append(shown)
    if 0 < len(names) < len(columns):
        return names
    return columns[:1]


def _heads(names: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Break column heads into lines, so that different heads remain distinct."""
    heads = list(map(_break_head, names, widths))
    result = []
    for name, width, head in zip(names, widths, heads, strict=True):
        if heads.count(head) == 1:
            result.append(head)
        else:
            result.append(_break_head(name, width, abbreviate=False))
    return result


def _break_head(head: str, width: int, abbreviate: bool = True) -> list[str]:
    """Break a column head after punctuation, blanks, and before ( where possible.

    Long words are abbreviated or broken.
    """
    lines = [""]
    for part in re.findall(r"\(?[^\s,(=:_-]*[\s,=:_-]?", head):
        word = part.rstrip()
        if lines[-1] and len(lines[-1]) + len(word) > width:
            lines.append("")
        if abbreviate and word.isalpha() and len(word) > width:
            lines[-1] += f"{word[: width - 1]}."
        else:
            lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            line = lines[-1]
            lines[-1] = line[:width]
            lines.append(line[width:])
    return list(map(str.rstrip, lines))


def _draw_table(table: Table, rows: Sequence[Row], fitted: _Fitted, emphasis: bool) -> list[str]:
    lines = []
    columns = fitted.columns
    if table.groups and len(columns) == len(table.columns):
        lines.append(_group_line(table, fitted))
    if any(shown.column.head for shown in columns):
        depth = max(len(shown.head) for shown in columns)
        for line in range(-depth, 0):  # counted from the last, as heads end on one line
            texts = [_head_line(shown.head, line) for shown in columns]
            lines.append(_join_cells(texts, columns, fitted.gap))
    for row in rows:
        lines.append(_row(row, fitted, emphasis))
    return lines


def _head_line(head: Sequence[str], line: int) -> str:
    """Return a line of a head, counted from the last as -1; '' above the head."""
    if len(head) + line < 0:
        return ""
    return head[line]


def _group_line(table: Table, fitted: _Fitted) -> str:
    line = ""
    first = 0
    for name, span in table.groups:
        columns = fitted.columns[first : first + span]
        width = sum(shown.width + fitted.gap for shown in columns)
        line += printable(name).ljust(width)
        first += span
    return line


def _row(row: Row, fitted: _Fitted, emphasis: bool) -> str:
    columns = fitted.columns
    if row.span > 1:
        columns = _spanned_columns(row.span, fitted)
    texts = []
    for shown in columns:
        if shown.position < len(row.cells):
            texts.append(_cell_text(row.cells[shown.position], shown.width, emphasis))
        else:
            texts.append("")
    return _join_cells(texts, columns, fitted.gap)


def _spanned_columns(span: int, fitted: _Fitted) -> list[_Shown]:
    """Return columns of which the first takes the place of `span` columns."""
    spanned = [shown for shown in fitted.columns if shown.position < span]
    width = fitted._replace(columns=spanned).total
    columns = [_Shown(Column("", left=True), 0, [], width)]
    for shown in fitted.columns[len(spanned) :]:
        columns.append(shown._replace(position=shown.position - span + 1))
    return columns


def _cell_text(cell: Cell | Bar | str, width: int, emphasis: bool) -> str:
    if isinstance(cell, Bar):
        n_blanks = round(_BAR * cell.start)
        n_signs = max(round(_BAR * cell.length), int(cell.length > 0))
        return " " * n_blanks + "#" * n_signs
    if isinstance(cell, str):
        return crop(cell, width)
    text = crop(cell.text, width)
    if emphasis and cell.mark in ("best", "strong"):
        return f"\x1b[1m{text}\x1b[0m"
    return text


def _join_cells(texts: Sequence[str], columns: Sequence[_Shown], gap: int) -> str:
    padded = []
    for text, shown in zip(texts, columns, strict=True):
        visible = re.sub(r"\x1b\[\d*m", "", text)
        room = " " * (shown.width - len(visible))
        is_bar = text.lstrip().startswith("#")
        if shown.column.left or is_bar:
            padded.append(text + room)
        else:
            padded.append(room + text)
    separator = " " * gap
    return separator.join(padded)
