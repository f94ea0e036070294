"""Blocks as text for a terminal."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from .blocks import Bar, Block, Cell, Code, Column, Heading, Items, Row, Sentence, Table

#: The default number of columns.
WIDTH = 80
#: The width of a column of bars.
_BAR_WIDTH = 24
#: The minimum length of shortened names.
_LEAST_NAME_WIDTH = 9
#: The width of the heads of a table that is divided into parts.
_HEAD_WIDTH_OF_PARTS = 12
#: The start or end of bold text in a terminal, such as "\x1b[1m".
_EMPHASIS = re.compile(r"\x1b\[\d*m")
#: A part of a column head, which may be broken between parts: "nDCG(" has "nDCG" and "(".
_HEAD_PART = re.compile(
    r"""
    \(?              # an opening bracket begins a part
    [^\s,(=:_-]*     # a word
    [\s,=:_-]?       # the blank or punctuation after it ends the part
    """,
    re.VERBOSE,
)


class _Layout(NamedTuple):
    """The width to which heads are broken, None for unbroken ones, and the gap between columns."""

    head_width: int | None
    gap: int


#: Layouts of a table that is too wide, in the order of trial: first with names in full.
_LAYOUTS = (
    _Layout(head_width=None, gap=2),
    _Layout(head_width=16, gap=2),
    _Layout(head_width=12, gap=2),
)
#: If none of these fits, layouts with shortened names.
_LAYOUTS_OF_SHORT_NAMES = (
    _Layout(head_width=16, gap=2),
    _Layout(head_width=12, gap=2),
    _Layout(head_width=12, gap=1),
    _Layout(head_width=10, gap=1),
    _Layout(head_width=8, gap=1),
)


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
        lines += _block_lines(block, width, emphasis)
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
    """Return a text in one line, with blanks instead of control characters of terminals."""
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
    """Shorten a text in the middle if it is longer than `width`: 'long..name'."""
    if len(text) <= width:
        return text
    n_last = width // 3
    n_dots = 2
    n_first = width - n_last - n_dots
    start = text[:n_first]
    end = text[len(text) - n_last :]
    return f"{start}..{end}"


def _block_lines(block: Block, width: int, emphasis: bool) -> list[str]:
    """Return the lines of a block of any kind."""
    if isinstance(block, Heading):
        title = _wrap(block.text, width)
        n_hyphens = max(map(len, title), default=0)
        return [*title, "-" * n_hyphens]
    if isinstance(block, Sentence):
        text = _sentence_text(block)
        return _wrap(text, width, keep_words=bool(block.code))
    if isinstance(block, Code):
        return _code_lines(block, width, "  ")
    if isinstance(block, Items):
        return _list_lines(block, width)
    return _table_lines(block, width, emphasis)


def _sentence_text(block: Sentence) -> str:
    """Return a sentence after its tag and before its code, if it has these."""
    text = block.text
    if block.tag:
        tag = block.tag.upper()
        text = f"{tag} {text}"
    if block.code:
        text = f"{text}: {block.code}"
    return text


def _wrap(text: str, width: int, indent: str = "  ", keep_words: bool = False) -> list[str]:
    """Return a paragraph as lines, all but the first indented.

    Words that are longer than a line, such as printed measures, are broken unless `keep_words`.
    """
    return textwrap.wrap(
        printable(text),
        width,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=not keep_words,
    )


def _list_lines(block: Items, width: int) -> list[str]:
    """Return the lines of a list; the first sentence of an item has a number or a hyphen."""
    lines = []
    for number, item in enumerate(block.items, 1):
        if block.numbered:
            sign = f"{number}. "
        else:
            sign = "- "
        indent = " " * len(sign)
        start = sign
        for part in item:
            if isinstance(part, Code):
                lines += _code_lines(part, width, f"{indent}  ")
                continue
            text = start + _sentence_text(part)
            lines += _wrap(text, width, indent, keep_words=bool(part.code))
            start = indent  # of further sentences
    return lines


def _code_lines(block: Code, width: int, indent: str) -> list[str]:
    """Return the lines of code, one statement after the other, with long ones broken.

    The output can be pasted. The texts before and after the code enclose its last statement.
    """
    *statements, last_statement = block.text.split("\n")
    lines: list[str] = []
    for statement in statements:
        lines += _statement_lines(statement, width, indent, hanging="  ")
    # Further lines of the last statement begin below its code, which begins after `before`.
    start = indent + block.before
    hanging = "  "
    if block.before:
        hanging = " " * len(block.before)
    lines += _statement_lines(last_statement, width, start, hanging, block.after)
    return lines


def _statement_lines(
    statement: str, width: int, start: str, hanging: str, after: str = ""
) -> list[str]:
    """Return the lines of a statement, which is broken within brackets only.

    Parameters
    ----------
    statement : str
        The code of one line.
    width : int
        The maximum length of lines, unless a part that cannot be broken is longer.
    start : str
        The beginning of the first line; the others are indented as far as it is.
    hanging : str
        The further indentation of the other lines.
    after : str
        The text after the code.
    """
    parts = _breakable_parts(printable(statement))
    parts[-1] += after
    n_blanks = len(start) - len(start.lstrip())
    indent = " " * n_blanks + hanging
    lines = []
    line = start + parts[0]
    for part in parts[1:]:
        new_width = len(line) + len(part.rstrip())
        if new_width <= width:
            line += part
        else:
            lines.append(line.rstrip())
            line = indent + part.lstrip()
    lines.append(line.rstrip())
    return lines


def _breakable_parts(code: str) -> list[str]:
    """Divide one line of code after commas and opening brackets, within brackets.

    ``f(a, b)`` has the parts ``f(``, ``a,`` and `` b)``.
    """
    ends = []  # where the parts end
    n_open_brackets = 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.OP:
            continue  # brackets and commas in strings or comments do not count
        _, end = token.end  # line and position
        operator = token.string
        if operator in ("(", "[", "{"):
            n_open_brackets += 1
            ends.append(end)
        elif operator in (")", "]", "}"):
            n_open_brackets -= 1
        elif operator == "," and n_open_brackets > 0:
            ends.append(end)
    starts = [0, *ends]
    ends.append(len(code))
    return [code[start:end] for start, end in zip(starts, ends, strict=True)]


class _DrawnColumn(NamedTuple):
    """A column as it is drawn: its position in the table, its head in lines, and its width."""

    column: Column
    position: int
    head: list[str]
    width: int


class _TablePart(NamedTuple):
    """Columns that are drawn side by side, and the gap between them."""

    columns: list[_DrawnColumn]
    gap: int = 2

    @property
    def width(self) -> int:
        """The width of all columns and the gaps between them."""
        width = sum(drawn.width for drawn in self.columns)
        if self.columns:
            n_gaps = len(self.columns) - 1
            width += n_gaps * self.gap
        return width


class _FittedTable(NamedTuple):
    """Parts of a table that are drawn below each other, and the positions of omitted columns."""

    parts: list[_TablePart]
    omitted: list[int]


def _table_lines(table: Table, width: int, emphasis: bool) -> list[str]:
    """Return the lines of a table, which may be divided into parts, and of its notes."""
    rows = _plain_rows(table)
    fitted = _fit_table(table, rows, width)
    lines: list[str] = []
    for part in fitted.parts:
        if lines:
            lines.append("")
        lines += _part_lines(table, rows, part, emphasis)
    if fitted.omitted:
        sentence = _sentence_on_omitted(table, fitted.omitted)
        lines += _wrap(sentence, width)
    for note in table.notes:
        text = note.in_text or note.text
        lines += _block_lines(replace(note, text=text), width, emphasis)
    return lines


def _sentence_on_omitted(table: Table, omitted: Sequence[int]) -> str:
    """Return which columns are not shown, and where they are."""
    heads = []
    for position in omitted:
        column = table.columns[position]
        heads.append(column.head)
    names = ", ".join(heads)
    if table.elsewhere:
        return f"Not shown for lack of room: {names} (see {table.elsewhere})."
    return f"Not shown for lack of room: {names}."


class _SuffixWidths(NamedTuple):
    """The widths of the superscripts of a column and of the texts after its numbers."""

    signs: int
    after: int


def _plain_rows(table: Table) -> list[Row]:
    """Return the drawn rows with superscripts and intervals as part of the text of each cell.

    They are padded, so that they are aligned in each column.
    """
    rows = table.drawn_rows()
    # Bold type is lost in text. If a note explains what is bold, it has another text for this case,
    # `in_text`, which says that the best values have a *.
    explains_star = any(note.in_text for note in table.notes)
    if explains_star:
        rows = list(map(_star_best, rows))
    widths_by_column = []
    for position in range(len(table.columns)):
        cells_of_column = column_cells(rows, position)
        widths_by_column.append(_suffix_widths(cells_of_column))
    plain_rows = []
    for row in rows:
        widths = widths_by_column
        # Cells of a row that spans columns are not aligned with others.
        if row.span > 1:
            widths = [_SuffixWidths(0, 0)] * len(row.cells)
        padded_cells = list(map(_padded_cell, row.cells, widths))
        plain_rows.append(replace(row, cells=padded_cells))
    return plain_rows


def _suffix_widths(cells: Sequence[Cell]) -> _SuffixWidths:
    """Return the maximum widths of the superscripts and of the texts after the numbers."""
    n_signs = 0
    n_after = 0
    for cell in cells:
        n_signs = max(n_signs, len(cell.signs))
        n_after = max(n_after, len(cell.after))
    return _SuffixWidths(n_signs, n_after)


def column_cells(rows: Sequence[Row], column: int) -> list[Cell]:
    """Return the cells of a column, without bars, plain texts, and rows that span columns."""
    cells = []
    for row in rows:
        spans_columns = row.span > 1
        if spans_columns or column >= len(row.cells):
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


def _padded_cell(cell: Cell | Bar | str, widths: _SuffixWidths) -> Cell | Bar:
    """Return a cell with its superscripts and what follows in its text, padded to these widths."""
    if isinstance(cell, Bar):
        return cell
    if isinstance(cell, str):
        cell = Cell(cell)
    # Missing values have no interval. They are aligned with the ends of the intervals of others.
    width_after = widths.after
    if cell.text == "-":
        width_after = 0
    signs = cell.signs.ljust(widths.signs)
    after = cell.after.rjust(width_after)
    padded = replace(cell, signs=signs, after=after)
    return Cell(printable(padded.whole), cell.mark)


def _fit_table(table: Table, rows: Sequence[Row], width: int) -> _FittedTable:
    """Fit a table: break heads, then shorten names, omit columns, and finally divide the table."""
    positions = []
    for position, column in enumerate(table.columns):
        if not column.redundant:
            positions.append(position)
    omitted: list[int] = []
    part = _first_fit(table, rows, positions, width)
    while part is None:
        # Omit the columns that can best be spared: those with the highest `spare`, 0 for none.
        spares = [table.columns[position].spare for position in positions]
        highest_spare = max(spares)
        if highest_spare == 0:
            parts = _divide_table(table, rows, positions, width)
            return _FittedTable(parts, omitted)
        kept = []
        for position, spare in zip(positions, spares, strict=True):
            if spare == highest_spare:
                omitted.append(position)
            else:
                kept.append(position)
        positions = kept
        part = _first_fit(table, rows, positions, width)
    return _FittedTable([part], omitted)


def _first_fit(
    table: Table, rows: Sequence[Row], positions: list[int], width: int
) -> _TablePart | None:
    """Return the columns in the first layout that is at most `width` wide, None if none is.

    Names are shortened only if no layout fits with names in full.
    """
    cell_widths = _cell_widths(table, rows)
    for layout in _LAYOUTS:
        columns = _break_columns(table, cell_widths, positions, layout.head_width)
        part = _TablePart(columns, layout.gap)
        if part.width <= width:
            return part
    least_widths = _least_widths(table, rows)
    for layout in _LAYOUTS_OF_SHORT_NAMES:
        columns = _break_columns(table, cell_widths, positions, layout.head_width)
        part = _TablePart(columns, layout.gap)
        part = _shorten_names(part, least_widths, width)
        if part.width <= width:
            return part
    return None


def _divide_table(
    table: Table, rows: Sequence[Row], positions: list[int], width: int
) -> list[_TablePart]:
    """Return the columns in parts below each other, each with the names of the rows."""
    cell_widths = _cell_widths(table, rows)
    least_widths = _least_widths(table, rows)
    columns = _break_columns(table, cell_widths, positions, _HEAD_WIDTH_OF_PARTS)
    widths = _widths_in_parts(columns, least_widths, width)
    narrow_columns = _narrow_columns(columns, widths)
    return _stack_columns(narrow_columns, width)


def _cell_widths(table: Table, rows: Sequence[Row]) -> list[int]:
    """Return the maximum width of the cells of each column."""
    widths = []
    for column in range(len(table.columns)):
        widest = 0
        for row in rows:
            widest = max(widest, _cell_width(row, column))
        widths.append(widest)
    return widths


def _cell_width(row: Row, column: int) -> int:
    """Return the width of the cell of a row in a column, 0 if there is none.

    Cells that span columns have 0, as they use the width that these have.
    """
    # Only the first cell of a row can span several columns.
    is_spanned = row.span > 1 and column < row.span
    if is_spanned:
        return 0
    # If the first cell spans columns 0, 1 and 2, column 3 has the cell at position 1.
    position = column - (row.span - 1)
    if position >= len(row.cells):
        return 0
    cell = row.cells[position]
    if isinstance(cell, Bar):
        return _BAR_WIDTH
    if isinstance(cell, Cell):
        return len(cell.text)
    return len(cell)


def _break_columns(
    table: Table, cell_widths: Sequence[int], positions: list[int], head_width: int | None
) -> list[_DrawnColumn]:
    """Return columns in the full width of their cells, with heads broken into lines.

    Heads are broken to `head_width`, or to the width of the cells if that is larger; not if it is
    None.
    """
    heads = []
    for position in positions:
        column = table.columns[position]
        heads.append(printable(column.in_text or column.head))
    if head_width is None:
        broken_heads = [[head] for head in heads]
    else:
        widths = [max(head_width, cell_widths[position]) for position in positions]
        broken_heads = _break_heads(heads, widths)
    columns = []
    for position, lines in zip(positions, broken_heads, strict=True):
        width_of_head = max(map(len, lines))
        width = max(cell_widths[position], width_of_head)
        columns.append(_DrawnColumn(table.columns[position], position, lines, width))
    return columns


def _break_heads(heads: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """Return the lines of each column head, without abbreviations that two heads share."""
    broken_heads = list(map(_break_head, heads, widths))
    distinct_heads = []
    for column, lines in enumerate(broken_heads):
        is_distinct = broken_heads.count(lines) == 1
        if is_distinct:
            distinct_heads.append(lines)
        else:
            full_lines = _break_head(heads[column], widths[column], abbreviate=False)
            distinct_heads.append(full_lines)
    return distinct_heads


def _break_head(head: str, width: int, abbreviate: bool = True) -> list[str]:
    """Return a column head in lines of at most `width` letters.

    It is broken after punctuation and blanks, and before opening brackets. A word that is longer
    than a line is abbreviated, or continued on the next line.
    """
    lines = [""]
    for part in _HEAD_PART.findall(head):  # a word with the blank or punctuation after it
        word = part.rstrip()
        is_full = len(lines[-1]) + len(word) > width
        if lines[-1] and is_full:
            lines.append("")
        if len(word) <= width:
            lines[-1] += part
        elif abbreviate and word.isalpha():
            lines[-1] += word[: width - 1] + "."
        else:
            # The line is empty, as it is full for a word that is too long.
            lines[-1:] = _cut(part, width)
    return [line.rstrip() for line in lines]


def _cut(text: str, width: int) -> list[str]:
    """Return a text in pieces of `width` letters, the last of which may be shorter.

    Blanks at its end are no letters: they do not begin another piece.
    """
    pieces = []
    while len(text.rstrip()) > width:
        pieces.append(text[:width])
        text = text[width:]
    return [*pieces, text]


def _least_widths(table: Table, rows: Sequence[Row]) -> list[int | None]:
    """Return the minimum width of each column, None if its cells cannot be shortened.

    Shortened names stay distinct.
    """
    least_widths: list[int | None] = []
    for position, column in enumerate(table.columns):
        if column.shorten is None:
            least_widths.append(None)
        else:
            names = {cell.text for cell in column_cells(rows, position)}
            least_width = max(column.shorten, _LEAST_NAME_WIDTH)
            least_widths.append(_distinct_width(names, least_width))
    return least_widths


def _distinct_width(names: set[str], least_width: int) -> int:
    """Return the minimum width, at least `least_width`, at which shortened names stay distinct."""
    longest = max(map(len, names), default=0)
    for width in range(least_width, longest):
        cropped_names = {crop(name, width) for name in names}
        are_distinct = len(cropped_names) == len(names)
        if are_distinct:
            return width
    return max(least_width, longest)


def _shorten_names(part: _TablePart, least_widths: Sequence[int | None], width: int) -> _TablePart:
    """Return columns with names shortened as far as necessary, the longest first."""
    widths = [drawn.width for drawn in part.columns]
    excess = part.width - width
    # Take one letter at a time from the column that is the widest then.
    for _ in range(excess):
        widest = _widest_to_shorten(part.columns, widths, least_widths)
        if widest is None:
            break
        widths[widest] -= 1
    narrow_columns = _narrow_columns(part.columns, widths)
    return part._replace(columns=narrow_columns)


def _widest_to_shorten(
    columns: list[_DrawnColumn], widths: Sequence[int], least_widths: Sequence[int | None]
) -> int | None:
    """Return the index of the first of the widest columns that can be narrower, None without one.

    Parameters
    ----------
    columns : list of _DrawnColumn
        The columns.
    widths : sequence of int
        The present width of each of them.
    least_widths : sequence of int or None
        The minimum width of each column of the table, None if it cannot be narrower.
    """
    widest: int | None = None
    for index, drawn in enumerate(columns):
        least_width = least_widths[drawn.position]
        if least_width is None or widths[index] <= least_width:
            continue
        if widest is None or widths[index] > widths[widest]:
            widest = index
    return widest


def _narrow_columns(columns: list[_DrawnColumn], widths: list[int]) -> list[_DrawnColumn]:
    """Return columns with these widths, and with heads broken to them."""
    heads = [" ".join(drawn.head) for drawn in columns]
    broken_heads = _break_heads(heads, widths)
    narrow_columns = []
    for index, drawn in enumerate(columns):
        width = widths[index]
        head = drawn.head
        # Heads that fit stay as they are, even if they could be broken differently.
        width_of_head = max(map(len, head))
        if width_of_head > width:
            head = broken_heads[index]
        narrow_column = drawn._replace(head=head, width=width)
        narrow_columns.append(narrow_column)
    return narrow_columns


def _widths_in_parts(
    columns: list[_DrawnColumn], least_widths: Sequence[int | None], width: int
) -> list[int]:
    """Return the widths of columns in parts below each other, which repeat the names of the rows.

    The names are the first columns. They have a limited share of the width, and other texts take at
    most what they leave.

    Parameters
    ----------
    columns : list of _DrawnColumn
        The columns.
    least_widths : sequence of int or None
        The minimum width of each column of the table; None for columns that cannot be shortened,
        which keep their width.
    width : int
        The width of the parts.
    """
    names = _name_columns(columns)
    widths = _name_widths(names, least_widths, width)
    # The gaps after names are two wide.
    width_left = width - sum(widths) - 2 * len(names)
    # Names that differ only in the middle may take more than the whole width.
    limit = max(width_left, _LEAST_NAME_WIDTH)
    others = columns[len(names) :]
    for drawn in others:
        if least_widths[drawn.position] is None:
            widths.append(drawn.width)
        else:
            widths.append(min(drawn.width, limit))
    return widths


def _name_widths(
    names: list[_DrawnColumn], least_widths: Sequence[int | None], width: int
) -> list[int]:
    """Return the widths of the columns of names in parts of a table.

    Each has a share of the width of the parts, or its least width, as shortened names must stay
    distinct. Parameters are as for `_widths_in_parts`.
    """
    maximum_width = _maximum_name_width(names, width)
    widths = []
    for drawn in names:
        least_width = least_widths[drawn.position]
        if least_width is None:
            widths.append(drawn.width)
        else:
            limit = max(maximum_width, least_width)
            widths.append(min(drawn.width, limit))
    return widths


def _maximum_name_width(names: list[_DrawnColumn], width: int) -> int:
    """Return the maximum width of each column of names in parts of a table.

    One column has a third of the width, several have half of it together.
    """
    if len(names) == 1:
        return width // 3
    fit_in_half = _TablePart(names).width <= width // 2
    if fit_in_half:
        return width  # they need no maximum: each is narrower than this
    width_per_column = width // (2 * len(names))
    return width_per_column - 1  # for the gap


def _stack_columns(columns: list[_DrawnColumn], width: int) -> list[_TablePart]:
    """Return columns in parts below each other, each with the names of the rows."""
    names = _name_columns(columns)
    n_names = len(names)
    parts = [_TablePart([*names])]
    for drawn in columns[n_names:]:
        part = parts[-1]
        width_before = part.width + part.gap
        new_width = width_before + drawn.width
        # A part has at least one column besides the names, even if it is too wide.
        has_values = len(part.columns) > n_names
        if has_values and new_width > width:
            part = _TablePart([*names])
            parts.append(part)
        part.columns.append(drawn)
    return parts


def _name_columns(columns: list[_DrawnColumn]) -> list[_DrawnColumn]:
    """Return the first columns, which name the rows: those of texts that can be shortened.

    It is only the very first column if it is another one, or if all columns are such texts, as
    there is nothing that they could name then.
    """
    names = []
    for drawn in columns:
        is_text = drawn.column.left
        can_be_shortened = drawn.column.shorten is not None
        if not (is_text and can_be_shortened):
            break
        names.append(drawn)
    has_values = len(names) < len(columns)
    if names and has_values:
        return names
    return columns[:1]


def _part_lines(table: Table, rows: Sequence[Row], part: _TablePart, emphasis: bool) -> list[str]:
    """Return the lines of a part of a table: the heads and the rows."""
    columns = part.columns
    lines = []
    has_all_columns = len(columns) == len(table.columns)
    if table.groups and has_all_columns:
        lines.append(_group_line(table, part))
    has_heads = any(drawn.column.head for drawn in columns)
    if has_heads:
        lines += _head_lines(part)
    for row in rows:
        lines.append(_row_line(row, part, emphasis))
    return lines


def _group_line(table: Table, part: _TablePart) -> str:
    """Return the line of the heads of groups of columns."""
    line = ""
    columns = iter(part.columns)  # in the order of their groups
    for name, n_columns in table.groups:
        columns_of_group = islice(columns, n_columns)  # the next ones
        width = sum(drawn.width + part.gap for drawn in columns_of_group)
        line += printable(name).ljust(width)
    return line


def _head_lines(part: _TablePart) -> list[str]:
    """Return the lines of the heads, which all end on the last line."""
    n_lines = max(len(drawn.head) for drawn in part.columns)
    heads = []
    for drawn in part.columns:
        n_empty = n_lines - len(drawn.head)
        empty_lines = [""] * n_empty
        heads.append(empty_lines + drawn.head)
    lines = []
    # Line 0 has the first lines of all heads, and so on.
    for texts in zip(*heads, strict=True):
        lines.append(_join_cells(texts, part.columns, part.gap))
    return lines


def _row_line(row: Row, part: _TablePart, emphasis: bool) -> str:
    """Return the line of a row, with empty texts for cells that it does not have."""
    columns = part.columns
    if row.span > 1:
        columns = _spanned_columns(row.span, part)
    texts = []
    for drawn in columns:
        text = ""
        if drawn.position < len(row.cells):
            cell = row.cells[drawn.position]
            text = _cell_text(cell, drawn.width, emphasis)
        texts.append(text)
    return _join_cells(texts, columns, part.gap)


def _spanned_columns(span: int, part: _TablePart) -> list[_DrawnColumn]:
    """Return the columns of a row whose first cell takes the place of the first `span` columns.

    That cell has the width of these columns together.
    """
    spanned = []
    others = []
    for drawn in part.columns:
        if drawn.position < span:
            spanned.append(drawn)
        else:
            others.append(drawn)
    width_of_spanned = _TablePart(spanned, part.gap).width
    wide_column = _DrawnColumn(Column("", left=True), position=0, head=[], width=width_of_spanned)
    # The row has one cell for all of the spanned columns. With a span of 3, its cells are those of
    # the columns 0–2, 3, 4, …, so that its cell 1 is in column 3.
    n_missing_cells = span - 1
    columns = [wide_column]
    for drawn in others:
        cell = drawn.position - n_missing_cells
        columns.append(drawn._replace(position=cell))
    return columns


def _cell_text(cell: Cell | Bar | str, width: int, emphasis: bool) -> str:
    """Return the text of a cell, cropped to a width, or a bar of #."""
    if isinstance(cell, Bar):
        return _bar_text(cell)
    if isinstance(cell, str):
        return crop(cell, width)
    text = crop(cell.text, width)
    is_bold = emphasis and cell.mark in ("best", "strong")
    if is_bold:
        return f"\x1b[1m{text}\x1b[0m"
    return text


def _bar_text(bar: Bar) -> str:
    """Return a bar as # after blanks, at least one # if its length is not 0."""
    n_blanks = round(_BAR_WIDTH * bar.start)
    n_signs = round(_BAR_WIDTH * bar.length)
    if bar.length > 0:
        n_signs = max(n_signs, 1)
    blanks = " " * n_blanks
    signs = "#" * n_signs
    return blanks + signs


def _join_cells(texts: Sequence[str], columns: Sequence[_DrawnColumn], gap: int) -> str:
    """Return a line of texts that are padded to the widths of their columns."""
    padded_texts = []
    for text, drawn in zip(texts, columns, strict=True):
        visible_text = _EMPHASIS.sub("", text)
        n_blanks = drawn.width - len(visible_text)
        padding = " " * n_blanks
        # A bar of # after blanks starts at the left in any column.
        is_bar = text.lstrip().startswith("#")
        if drawn.column.left or is_bar:
            padded_texts.append(text + padding)
        else:
            padded_texts.append(padding + text)
    separator = " " * gap
    return separator.join(padded_texts)
