"""Blocks as self-contained HTML, and tables as LaTeX and Markdown.

HTML has the colours of the surrounding page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from .blocks import Bar, Block, Cell, Row, Sentence, Table
from .text import column_cells, printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template

#: The first line, with the package that the document has to load.
_REQUIRED = r"% requires \usepackage{booktabs}"

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # After a line break of a table, these would be an argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "−": "$-$",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "↓": r"$\downarrow$",
    "×": r"$\times$",
    "≈": r"$\approx$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "’": "'",
    "…": r"\ldots{}",
}
_LATEX_MARKS = {"best": r"\textbf{%s}", "strong": r"\textbf{%s}", "second": r"\underline{%s}"}
_MARKDOWN_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}

#: The width of a column of a paper, in digits. Wider tables have smaller letters and broken heads.
_COLUMN_OF_PAPER = 32.0
#: The width of texts that are broken into lines.
_PROSE = 40.0
#: The size of the letters of wide tables, and the space between their columns.
_NARROW = r"\footnotesize\setlength{\tabcolsep}{2pt}"

#: A part of a head: "CAM@10 (mean) ↓" has "CAM", "@10", " ", and "(mean) ↓".
_LATEX_HEAD_PART = re.compile(
    r"""
    (?:^|[ @(])     # the start of the head, or a sign that begins a part
    [^ @(]*         # a word
    (?:[ ]↓)?       # the arrow for "lower is better" stays with the word before it
    """,
    re.VERBOSE,
)
#: The name of a letter in Unicode, such as "GREEK SMALL LETTER ALPHA".
_GREEK_LETTER = re.compile(r"GREEK (?P<case>SMALL|CAPITAL) LETTER (?P<name>\w+)")


def html_of(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML elements, without their style."""
    source = _environment().get_template("blocks.html")
    return str(source.render(blocks=list(blocks)))


def fragment(blocks: Iterable[Block]) -> str:
    """Return blocks as one HTML element with its style, which notebooks show."""
    style = asset(__package__, "style.css")
    return f'<div class="ptma"><style>{style}</style>{html_of(blocks)}</div>'


def template(source: str) -> Template:
    """Return a template that escapes inserted values."""
    return _environment().from_string(source)


@cache
def asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``assets`` of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


def _breakable_parts(text: str) -> list[str]:
    """Return the parts of a text, such as a measure, after which a line may be broken."""
    return re.split(r"(?<=[(,=_/])", text)


def page(title: str, content: str) -> str:
    """Return an HTML page."""
    source = _environment().get_template("page.html")
    return str(source.render(title=title, content=content))


@cache
def _environment() -> Environment:
    """Return the environment of the HTML templates, which escapes inserted values."""
    # Imported on first use, as importing Jinja2 takes longer than drawing.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(partial(asset, __package__)),
        autoescape=True,
        undefined=StrictUndefined,
    )
    environment.filters["breakable_parts"] = _breakable_parts
    return environment


def latex_of(
    table: Table,
    *,
    caption: str | None = None,
    label: str | None = None,
    comments: Sequence[str] = (),
) -> str:
    r"""Return a ``table`` environment.

    Parameters
    ----------
    table : Table
        The first column and those of text are aligned left, the others right. Rows of one cell are
        heads of groups.
    caption, label : str, optional
        The caption, as LaTeX, and the label for ``\\ref``.
    comments : sequence of str
        Sentences for the author, which are not printed.

    Returns
    -------
    str
        LaTeX that ends with a newline.
    """
    lines = [_REQUIRED]
    for comment in comments:
        comment_in_one_line = " ".join(comment.split())
        lines.append(f"% {comment_in_one_line}")
    lines.append(r"\begin{table}")
    lines.append(r"\centering")
    if caption is not None:
        lines.append(rf"\caption{{{caption}}}")
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    lines += _latex_tabular(table)
    if table.notes:
        lines += _latex_notes(table.notes)
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


def _latex_tabular(table: Table) -> list[str]:
    """Return the lines of the ``tabular`` environment, after the size of its letters."""
    is_wide = _is_wide(table)
    columns = _latex_columns(table, is_wide)
    alignment = "".join(column.alignment for column in columns)
    if is_wide:
        size = _NARROW
        alignment = f"@{{}}{alignment}@{{}}"  # without space at the margins
    else:
        size = r"\small"
    return [
        size,
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        *_latex_heads(columns),
        r"\midrule",
        *_latex_rows(table, columns),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _latex_notes(notes: Sequence[Sentence]) -> list[str]:
    """Return the lines of the notes below a table, each a paragraph."""
    paragraphs = map(_latex_note, notes)
    return [
        "",
        r"\smallskip",
        r"\parbox{\linewidth}{\footnotesize\raggedright",
        " \\par\n".join(paragraphs),
        "}",
    ]


class _LatexColumn(NamedTuple):
    """A column in LaTeX."""

    #: The head in lines.
    head: list[str]
    alignment: str
    #: All superscripts of its cells. Each takes up space in every cell, so that numbers are
    #: aligned.
    signs: list[str]
    #: Whether brackets follow its numbers, in a column of their own.
    has_brackets: bool
    #: Whether its texts are broken into lines.
    is_prose: bool


def _is_wide(table: Table) -> bool:
    """Return whether the columns, with unbroken heads, are wider than a column of a paper."""
    cell_widths = _cell_widths(table)
    total = 0.0
    for position, column in enumerate(table.columns):
        head_width = _text_width(column.head)
        total += max(head_width, cell_widths[position])
    return total > _COLUMN_OF_PAPER


def _cell_widths(table: Table) -> list[float]:
    """Return the maximum width of the cells of each column.

    Brackets and rows with a cell that spans columns do not count.
    """
    widths = [0.0] * len(table.columns)
    for row in table.all_rows():
        if row.span > 1:
            continue
        for position, cell in enumerate(row.cells):
            widths[position] = max(widths[position], _cell_width(cell))
    return widths


def _cell_width(cell: Cell | Bar | str) -> float:
    """Return the width of the text of a cell with its superscripts."""
    if isinstance(cell, Bar):
        return _text_width(cell.label)
    if isinstance(cell, str):
        return _text_width(cell)
    return _text_width(cell.text + cell.signs)


def _latex_columns(table: Table, is_wide: bool) -> list[_LatexColumn]:
    """Return how each column is set in LaTeX: its head, alignment and superscripts.

    The heads of a wide table are broken to the width of the cells.
    """
    rows = table.all_rows()
    widths = _cell_widths(table)
    latex_columns = []
    for position, column in enumerate(table.columns):
        cells = column_cells(rows, position)
        width = widths[position]
        # Brackets are texts after numbers, such as intervals, and have a LaTeX column of their own.
        has_brackets = any(cell.after for cell in cells)
        # The head spans both columns. As these are wide, it need not be broken.
        is_head_broken = is_wide and not has_brackets
        head = [column.head]
        if is_head_broken:
            head = _break_latex_head(column.head, width)
        # Numbers are aligned whatever superscripts they have. The first column names the rows.
        signs: list[str] = []
        is_first = position == 0
        if not is_first:
            signs = _distinct_signs(cells)
        is_left = column.left or is_first
        is_prose = column.left and width > _PROSE  # set as a paragraph
        alignment = _latex_alignment(is_left, is_prose, has_brackets)
        latex_columns.append(_LatexColumn(head, alignment, signs, has_brackets, is_prose))
    return latex_columns


def _distinct_signs(cells: Sequence[Cell]) -> list[str]:
    """Return the letters of all superscripts of cells, sorted."""
    signs: set[str] = set()
    for cell in cells:
        signs.update(cell.signs)
    return sorted(signs)


def _latex_alignment(is_left: bool, is_prose: bool, has_brackets: bool) -> str:
    """Return the alignment of a column, and of its brackets if it has them."""
    if is_prose:
        return r"p{0.55\linewidth}"
    if is_left:
        alignment = "l"
    else:
        alignment = "r"
    if has_brackets:
        alignment += r"@{\enspace}r"
    return alignment


def _break_latex_head(head: str, width: float) -> list[str]:
    """Return a head in lines of about a width.

    It is broken at blanks, before brackets, and always before @.
    """
    lines = [""]
    for part in _LATEX_HEAD_PART.findall(head):
        longer_line = lines[-1] + part
        is_cutoff = part.startswith("@")
        if not lines[-1]:
            lines[-1] = part.lstrip()
        elif is_cutoff or _text_width(longer_line) > width:
            lines.append(part.lstrip())
        else:
            lines[-1] = longer_line
    return lines


def _text_width(text: str) -> float:
    """Return the approximate width of a text, in digits: capitals and @ are half wider."""
    width = float(len(text))
    for letter in text:
        if letter.isupper() or letter == "@":
            width += 0.5
    return width


def _latex_heads(columns: Sequence[_LatexColumn]) -> list[str]:
    """Return the lines of the heads, which all end on the last line.

    A head spans the numbers and their brackets.
    """
    n_lines = max(len(column.head) for column in columns)
    lines = []
    for line in range(n_lines):
        cells = []
        for column in columns:
            # Shorter heads have empty lines above them.
            n_empty = n_lines - len(column.head)
            text = ""
            if line >= n_empty:
                text = escape(column.head[line - n_empty])
            if column.has_brackets:
                text = rf"\multicolumn{{2}}{{c}}{{{text}}}"
            cells.append(text)
        lines.append(" & ".join(cells) + r" \\")
    return lines


def _latex_rows(table: Table, columns: Sequence[_LatexColumn]) -> list[str]:
    """Return the lines of the rows; heads of groups of rows follow a rule."""
    rows = table.all_rows()
    # Numbers and their brackets are two columns of LaTeX.
    n_brackets = sum(column.has_brackets for column in columns)
    n_latex_columns = len(table.columns) + n_brackets
    has_groups = any(_is_group_head(row, table) for row in rows)
    line_end = r" \\"
    # After ragged text, \\ would only end a line of the cell.
    if columns[-1].is_prose:
        line_end = r" \tabularnewline"
    lines: list[str] = []
    for row in rows:
        if _is_group_head(row, table):
            # The rule above the first group is that of the heads of the table.
            if lines:
                lines.append(r"\midrule")
            title = _latex_cell(row.cells[0], [])
            lines.append(rf"\multicolumn{{{n_latex_columns}}}{{l}}{{\textit{{{title}}}}} \\")
            continue
        cells = _latex_row_cells(row, columns)
        if has_groups:
            cells[0] = rf"\quad {cells[0]}"
        lines.append(" & ".join(cells) + line_end)
    return lines


def _is_group_head(row: Row, table: Table) -> bool:
    """Return whether a row is one cell over all columns, the head of a group of rows."""
    return len(row.cells) == 1 and row.span == len(table.columns)


def _latex_row_cells(row: Row, columns: Sequence[_LatexColumn]) -> list[str]:
    """Return the cells of a row, with brackets in cells of their own.

    A row may have fewer cells than there are columns: the last ones are empty.
    """
    cells = []
    for cell, column in zip(row.cells, columns, strict=False):
        text = _latex_cell(cell, column.signs)
        if column.is_prose:
            text = rf"\raggedright {text}"
        cells.append(text)
        if column.has_brackets:
            cells.append(_latex_brackets(cell))
    return cells


def _latex_cell(cell: Cell | Bar | str, signs_of_column: Sequence[str]) -> str:
    """Return the text of a cell with its superscripts.

    Superscripts of other cells in its column leave space, so that numbers are aligned; without
    `signs_of_column`, they are not.
    """
    if isinstance(cell, Bar):
        return escape(cell.label)
    if isinstance(cell, str):
        cell = Cell(cell)
    text = escape(cell.text)
    if cell.mark in _LATEX_MARKS:
        command = _LATEX_MARKS[cell.mark]  # such as \textbf{%s}
        text = command.replace("%s", text)
    signs_to_align = signs_of_column
    if not signs_to_align:
        signs_to_align = cell.signs  # there is no space for other signs
    return text + _latex_superscript(cell.signs, signs_to_align)


def _latex_superscript(signs: str, all_signs: Sequence[str]) -> str:
    r"""Return the superscript of a cell: its signs, and space for all other signs of its column.

    The space is that of an invisible sign, ``\phantom{\dagger}``.
    """
    superscript = ""
    for sign in all_signs:
        command = _LATEX_SIGNS.get(sign, sign)
        if sign not in signs:
            command = rf"\phantom{{{command}}}"
        superscript += command
    if superscript:
        return f"$^{{{superscript}}}$"
    return ""


def _latex_brackets(cell: Cell | Bar | str) -> str:
    """Return what follows the text of a cell, in smaller letters."""
    if not isinstance(cell, Cell) or not cell.after:
        return ""
    return rf"{{\footnotesize {escape(cell.after)}}}"


#: The commands of superscripts.
_LATEX_SIGNS = {"†": r"\dagger", "‡": r"\ddagger", "≈": r"\approx"}


def _latex_note(note: Sentence) -> str:
    """Return a sentence; printed measures may be broken after commas."""
    text = escape(note.text)
    if not note.code:
        return text
    breakable_code = escape(note.code).replace(",", r",\allowbreak{}")
    return rf"{text}: \texttt{{{breakable_code}}}."


def escape(text: object) -> str:
    r"""Escape a text for LaTeX.

    Parameters
    ----------
    text : object
        Its string form is escaped. Control characters and line breaks become spaces.

    Returns
    -------
    str
        LaTeX.

    Examples
    --------
    >>> print(escape("50%_of {α}"))
    50\%\_of \{$\alpha$\}
    """
    escaped = "".join(map(_escape_letter, str(text)))
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would be a dash


def _escape_letter(letter: str) -> str:
    """Return a letter in LaTeX, a space for a control or format character."""
    category = unicodedata.category(letter)
    if category in ("Cc", "Cf", "Zl", "Zp"):  # control, format, ends of lines and paragraphs
        return " "
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    return _greek_command(letter) or letter


def _greek_command(letter: str) -> str | None:
    r"""Return the command of a Greek letter: r"$\alpha$" for "α".

    None for other letters, and for Greek letters without a command, as they look like Latin ones.
    """
    match = _GREEK_LETTER.fullmatch(unicodedata.name(letter, ""))
    if match is None:
        return None
    name = match["name"].lower()
    if name == "lamda":  # so spelt in Unicode
        name = "lambda"
    if match["case"] == "SMALL" and name in _SMALL:
        return rf"$\{name}$"
    if match["case"] == "CAPITAL" and name in _CAPITALS:
        capitalized = name.capitalize()
        return rf"$\{capitalized}$"
    return None


_NAMES_IN_BOTH_CASES = "gamma delta theta lambda xi pi sigma upsilon phi psi omega"
_NAMES_IN_SMALL_ONLY = "alpha beta epsilon zeta eta iota kappa mu nu rho tau chi"
_CAPITALS = set(_NAMES_IN_BOTH_CASES.split())
_SMALL = _CAPITALS | set(_NAMES_IN_SMALL_ONLY.split())


def markdown_of(table: Table) -> str:
    """Return a table in GitHub's Markdown, with its notes below.

    The best values are bold, the second best underlined.
    """
    heads = []
    alignments = []
    for column in table.columns:
        heads.append(_markdown_cell(column.head))
        if column.left:
            alignments.append("---")
        else:
            alignments.append("---:")
    lines = [_markdown_line(heads), _markdown_line(alignments)]
    for row in table.all_rows():
        cells = list(map(_markdown_cell, row.cells))
        lines.append(_markdown_line(cells))
    lines += map(_markdown_note, table.notes)
    return "\n".join(lines)


def _markdown_line(cells: Sequence[str]) -> str:
    """Return the line of a row."""
    columns = " | ".join(cells)
    return f"| {columns} |"


def _markdown_note(note: Sentence) -> str:
    """Return a sentence as a paragraph, after an empty line."""
    text = "\n" + printable(note.text)
    if note.code:
        code = printable(note.code)
        text += f": `{code}`"
    return text


def _markdown_cell(cell: Cell | Bar | str) -> str:
    """Return the text of a cell; only its number has the mark of the best values."""
    if isinstance(cell, Bar):
        return _escape_markdown(cell.label)
    if isinstance(cell, str):
        return _escape_markdown(cell)
    number = replace(cell, after="").whole
    mark = _MARKDOWN_MARKS.get(cell.mark, "{}")
    text = mark.format(_escape_markdown(number))
    if cell.after:
        after = _escape_markdown(cell.after)
        text += f" {after}"
    return text


def _escape_markdown(text: str) -> str:
    """Return a text with a backslash before the signs of Markdown and HTML."""
    return re.sub(r"([|*_<`])", r"\\\1", printable(text))
