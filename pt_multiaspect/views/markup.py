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

#: The width of a row, in digits, above which it does not fit into a column of a paper. LaTeX then
#: has smaller letters and broken heads.
_WIDE = 32.0
#: The width of texts that are broken into lines.
_PROSE = 40.0
_NARROW = r"\footnotesize\setlength{\tabcolsep}{2pt}"


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
    is_wide = _is_wide(table)
    columns = _latex_columns(table, is_wide)
    lines = [_REQUIRED]
    for comment in comments:
        words = " ".join(comment.split())
        lines.append(f"% {words}")
    lines.append(r"\begin{table}")
    lines.append(r"\centering")
    if caption is not None:
        lines.append(rf"\caption{{{caption}}}")
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    alignment = "".join(column.alignment for column in columns)
    if is_wide:
        lines.append(_NARROW)
        alignment = f"@{{}}{alignment}@{{}}"
    else:
        lines.append(r"\small")
    lines.append(rf"\begin{{tabular}}{{{alignment}}}")
    lines.append(r"\toprule")
    lines += _latex_heads(columns)
    lines.append(r"\midrule")
    lines += _latex_rows(table, columns)
    lines.append(r"\bottomrule")
    lines.append(r"\end{tabular}")
    if table.notes:
        notes = " \\par\n".join(map(_latex_note, table.notes))
        lines += ["", r"\smallskip", r"\parbox{\linewidth}{\footnotesize\raggedright", notes, "}"]
    lines.append(r"\end{table}")
    return "\n".join(lines) + "\n"


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
    heads = [_text_width(column.head) for column in table.columns]
    return sum(map(max, heads, _cell_widths(table))) > _WIDE


def _cell_widths(table: Table) -> list[float]:
    """Return the maximum width of the cells of each column.

    Brackets and cells that span columns do not count.
    """
    widths = [0.0] * len(table.columns)
    for row in table.all_rows():
        if row.span > 1:
            continue
        for position, cell in enumerate(row.cells[: len(widths)]):
            widths[position] = max(widths[position], _cell_width(cell))
    return widths


def _cell_width(cell: Cell | Bar | str) -> float:
    """Return the width of the text of a cell."""
    if isinstance(cell, Bar):
        return _text_width(cell.label)
    if isinstance(cell, str):
        return _text_width(cell)
    return _text_width(f"{cell.text}{cell.signs}")


def _latex_columns(table: Table, is_wide: bool) -> list[_LatexColumn]:
    """Return the columns; heads of a wide table are broken."""
    rows = table.all_rows()
    widths = _cell_widths(table)
    result = []
    for position, column in enumerate(table.columns):
        cells = column_cells(rows, position)
        width = widths[position]
        has_brackets = any(cell.after for cell in cells)
        is_prose = column.left and width > _PROSE
        if is_wide and not has_brackets:
            head = _break_latex_head(column.head, width)
        else:
            head = [column.head]
        signs: set[str] = set()
        if position:
            signs.update(*(cell.signs for cell in cells))
        if is_prose:
            alignment = r"p{0.55\linewidth}"
        elif column.left or position == 0:
            alignment = "l"
        else:
            alignment = "r"
        if has_brackets and not is_prose:
            alignment += r"@{\enspace}r"
        result.append(_LatexColumn(head, alignment, sorted(signs), has_brackets, is_prose))
    return result


def _break_latex_head(head: str, width: float) -> list[str]:
    """Return a head in lines of about a width.

    It is broken at blanks, before brackets, and always before @.
    """
    lines = [""]
    for part in re.findall(r"(?:^|[ @(])[^ @(]*(?: ↓)?", head):
        line = lines[-1]
        if not line:
            lines[-1] = part.lstrip()
        elif part[0] == "@" or _text_width(line + part) > width:
            lines.append(part.lstrip())
        else:
            lines[-1] += part
    return lines


def _text_width(text: str) -> float:
    """Return the approximate width of a text, in digits: capitals are wider."""
    n_wide = sum(letter.isupper() or letter == "@" for letter in text)
    return len(text) + 0.5 * n_wide


def _latex_heads(columns: Sequence[_LatexColumn]) -> list[str]:
    """Return the lines of the heads, which end on one line.

    A head spans the number and its brackets.
    """
    depth = max(len(column.head) for column in columns)
    lines = []
    for line in range(depth):
        cells = []
        for column in columns:
            above = depth - len(column.head)
            if line >= above:
                text = escape(column.head[line - above])
            else:
                text = ""
            if column.has_brackets:
                text = rf"\multicolumn{{2}}{{c}}{{{text}}}"
            cells.append(text)
        lines.append(" & ".join(cells) + r" \\")
    return lines


def _latex_rows(table: Table, columns: Sequence[_LatexColumn]) -> list[str]:
    width = len(table.columns)
    rows = table.all_rows()
    is_head = [row.span == width and len(row.cells) == 1 for row in rows]
    n_columns = width + sum(column.has_brackets for column in columns)
    if columns[-1].is_prose:
        line_end = r" \tabularnewline"
    else:
        line_end = r" \\"
    lines: list[str] = []
    for row, head in zip(rows, is_head, strict=True):
        if head:
            if lines:
                lines.append(r"\midrule")
            title = _latex_cell(row.cells[0], [])
            lines.append(rf"\multicolumn{{{n_columns}}}{{l}}{{\textit{{{title}}}}} \\")
            continue
        cells = _latex_row_cells(row, columns)
        if any(is_head):
            cells[0] = rf"\quad {cells[0]}"
        lines.append(" & ".join(cells) + line_end)
    return lines


def _latex_row_cells(row: Row, columns: Sequence[_LatexColumn]) -> list[str]:
    """Return the cells of a row, with brackets in cells of their own."""
    cells = []
    for cell, column in zip(row.cells, columns, strict=False):
        text = _latex_cell(cell, column.signs)
        if column.is_prose:
            text = rf"\raggedright {text}"
        cells.append(text)
        if column.has_brackets:
            cells.append(_latex_brackets(cell))
    return cells


def _latex_cell(cell: Cell | Bar | str, signs: Sequence[str]) -> str:
    """Return the text of a cell with its superscripts, and the space of others in its column."""
    if isinstance(cell, Bar):
        return escape(cell.label)
    if isinstance(cell, str):
        cell = Cell(cell)
    mark = _LATEX_MARKS.get(cell.mark, "%s")
    text = mark.replace("%s", escape(cell.text))
    superscript = ""
    for sign in signs or cell.signs:
        command = _LATEX_SIGNS.get(sign, sign)
        if sign in cell.signs:
            superscript += command
        else:
            superscript += rf"\phantom{{{command}}}"
    if superscript:
        return f"{text}$^{{{superscript}}}$"
    return text


def _latex_brackets(cell: Cell | Bar | str) -> str:
    """Return what follows the text of a cell, in smaller letters."""
    if not isinstance(cell, Cell) or not cell.after:
        return ""
    return rf"{{\footnotesize {escape(cell.after)}}}"


#: The commands of superscripts.
_LATEX_SIGNS = {"†": r"\dagger", "‡": r"\ddagger", "≈": r"\approx"}


def _latex_note(note: Sentence) -> str:
    """Return a sentence; printed measures may be broken after commas."""
    if not note.code:
        return escape(note.text)
    breakable = escape(note.code).replace(",", r",\allowbreak{}")
    return rf"{escape(note.text)}: \texttt{{{breakable}}}."


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
    """Return a letter in LaTeX."""
    if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp"):  # control and format characters
        return " "
    return _ESCAPES.get(letter) or _greek(letter) or letter


def _greek(letter: str) -> str | None:
    """Return the command of a Greek letter that does not look like a Latin one."""
    match = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(letter, ""))
    if match is None:
        return None
    name = match[2].replace("LAMDA", "LAMBDA").lower()
    if match[1] == "CAPITAL":
        if name in _CAPITALS:
            return rf"$\{name.capitalize()}$"
        return None
    if name in _SMALL:
        return rf"$\{name}$"
    return None


_CAPITALS = set("gamma delta theta lambda xi pi sigma upsilon phi psi omega".split())  # noqa: SIM905
_SMALL = _CAPITALS | set("alpha beta epsilon zeta eta iota kappa mu nu rho tau chi".split())  # noqa: SIM905


def markdown_of(table: Table) -> str:
    """Return a table in GitHub's Markdown, with its notes below.

    The best values are bold, the second best underlined.
    """
    heads = [_markdown_cell(column.head) for column in table.columns]
    rule = ["---" if column.left else "---:" for column in table.columns]
    lines = [_markdown_line(heads), _markdown_line(rule)]
    for row in table.all_rows():
        cells = list(map(_markdown_cell, row.cells))
        lines.append(_markdown_line(cells))
    lines += map(_markdown_note, table.notes)
    return "\n".join(lines)


def _markdown_line(cells: Sequence[str]) -> str:
    columns = " | ".join(cells)
    return f"| {columns} |"


def _markdown_note(note: Sentence) -> str:
    text = f"\n{printable(note.text)}"
    if note.code:
        text += f": `{printable(note.code)}`"
    return text


def _markdown_cell(cell: Cell | Bar | str) -> str:
    if isinstance(cell, Bar):
        return _escape_markdown(cell.label)
    if isinstance(cell, str):
        return _escape_markdown(cell)
    number = replace(cell, after="").whole
    mark = _MARKDOWN_MARKS.get(cell.mark, "{}")
    text = mark.format(_escape_markdown(number))
    if cell.after:
        text += f" {_escape_markdown(cell.after)}"
    return text


def _escape_markdown(text: str) -> str:
    return re.sub(r"([|*_<`])", r"\\\1", printable(text))
