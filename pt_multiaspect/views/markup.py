"""Blocks as self-contained HTML, in the colours of the surrounding page, and tables as LaTeX and Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from .blocks import Bar, Block, Cell, Sentence, Table
from .text import column_cells, printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template

#: The first line, with the package that the document has to load.
_REQUIRED = r"% requires \usepackage{booktabs}"

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\char34{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    # After a line break of a table, these would be an argument.
    "[": "{[}", "]": "{]}", "*": "{*}",
    "−": "$-$", "±": r"$\pm$", "†": r"$\dagger$", "↓": r"$\downarrow$", "×": r"$\times$",
    "–": r"\textendash{}", "—": r"\textemdash{}", "’": "'", "…": r"\ldots{}",
}  # fmt: skip
_LATEX_MARKS = {"best": r"\textbf{%s}", "strong": r"\textbf{%s}", "second": r"\underline{%s}"}
_MARKDOWN_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>"}


def html_of(blocks: Iterable[Block]) -> str:
    """Return blocks as HTML elements, without their style."""
    return str(_environment().get_template("blocks.html").render(blocks=list(blocks)))


def fragment(blocks: Iterable[Block]) -> str:
    """Return blocks as one HTML element with its style, which notebooks show."""
    return f'<div class="ptma"><style>{asset(__package__, "style.css")}</style>{html_of(blocks)}</div>'


def template(source: str) -> Template:
    """Return a template that escapes inserted values."""
    return _environment().from_string(source)


@cache
def asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``assets`` of a package."""
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


def _breakable_parts(text: str) -> list[str]:
    """Return the parts of a text, such as a measure, after which a line may be broken, but not inside words."""
    return re.split(r"(?<=[(,=_/])", text)


def page(title: str, content: str) -> str:
    """Return an HTML page."""
    return str(_environment().get_template("page.html").render(title=title, content=content))


@cache
def _environment() -> Environment:
    # Imported on first use, as importing Jinja2 takes longer than drawing.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(partial(asset, __package__)), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["breakable_parts"] = _breakable_parts
    return environment


def latex_of(
    table: Table, *, caption: str | None = None, label: str | None = None, comments: Sequence[str] = ()
) -> str:
    r"""Return a ``table`` environment.

    Parameters
    ----------
    table : Table
        The first column and those of text are aligned left, the others right. Rows of one cell are heads of groups.
    caption, label : str, optional
        The caption, as LaTeX, and the label for ``\\ref``.
    comments : sequence of str
        Sentences for the author, which are not printed.

    Returns
    -------
    str
        LaTeX that ends with a newline.
    """
    lines = [_REQUIRED, *(f"% {' '.join(comment.split())}" for comment in comments)]
    lines += [r"\begin{table}", r"\centering"]
    if caption is not None:
        lines.append(rf"\caption{{{caption}}}")
    if label is not None:
        lines.append(rf"\label{{{label}}}")
    heads = " & ".join(escape(column.head) for column in table.columns)
    alignment = "l" + "".join("l" if column.left else "r" for column in table.columns[1:])
    lines += [rf"\begin{{tabular}}{{{alignment}}}", r"\toprule", heads + r" \\", r"\midrule"]
    lines += [*_latex_rows(table), r"\bottomrule", r"\end{tabular}"]
    if table.notes:
        notes = [_latex_note(note) for note in table.notes]
        lines += ["", r"\smallskip", r"\parbox{\linewidth}{\footnotesize\raggedright", *notes, "}"]
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_rows(table: Table) -> list[str]:
    width = len(table.columns)
    rows = table.all_rows()
    is_head = [row.span == width and len(row.cells) == 1 for row in rows]
    # Every superscript of a column takes up space in all its cells, so that numbers are aligned.
    signs = [
        sorted({sign for cell in column_cells(rows, column) for sign in cell.signs}) for column in range(width)
    ]
    lines: list[str] = []
    for row, head in zip(rows, is_head, strict=True):
        if head:
            if lines:
                lines.append(r"\midrule")
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{_latex_cell(row.cells[0], [])}}}}} \\")
            continue
        cells = [_latex_cell(cell, signs[column] if column else []) for column, cell in enumerate(row.cells)]
        if any(is_head):
            cells[0] = rf"\quad {cells[0]}"
        lines.append(" & ".join(cells) + r" \\")
    return lines


def _latex_cell(cell: Cell | Bar | str, signs: Sequence[str]) -> str:
    if isinstance(cell, Bar):
        return escape(cell.label)
    if isinstance(cell, str):
        cell = Cell(cell)
    text = _LATEX_MARKS.get(cell.mark, "%s").replace("%s", escape(cell.text))
    shown = [_sign(sign) if sign in cell.signs else rf"\phantom{{{_sign(sign)}}}" for sign in signs or cell.signs]
    if shown:
        text += f"$^{{{''.join(shown)}}}$"
    if cell.after.startswith("["):
        return rf"{text} {{\footnotesize {escape(cell.after)}}}"
    return f"{text} {escape(cell.after)}" if cell.after else text


def _sign(sign: str) -> str:
    return r"\dagger" if sign == "†" else sign


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
    spaced = "".join(
        " " if unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") else letter for letter in str(text)
    )
    escaped = "".join(_ESCAPES.get(letter) or _greek(letter) or letter for letter in spaced)
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would be a dash


def _greek(letter: str) -> str | None:
    """Return the command of a Greek letter that does not look like a Latin one."""
    match = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(letter, ""))
    if match is None:
        return None
    name = match[2].replace("LAMDA", "LAMBDA").lower()
    if match[1] == "CAPITAL":
        return rf"$\{name.capitalize()}$" if name in _CAPITALS else None
    return rf"$\{name}$" if name in _SMALL else None


_CAPITALS = set("gamma delta theta lambda xi pi sigma upsilon phi psi omega".split())  # noqa: SIM905
_SMALL = _CAPITALS | set("alpha beta epsilon zeta eta iota kappa mu nu rho tau chi".split())  # noqa: SIM905


def markdown_of(table: Table) -> str:
    """Return a table in GitHub's Markdown, with its notes below; best values are bold, second best underlined."""
    heads = [_markdown_cell(column.head) for column in table.columns]
    rule = ["---" if column.left else "---:" for column in table.columns]
    lines = [list(map(_markdown_cell, row.cells)) for row in table.all_rows()]
    drawn = [f"| {' | '.join(cells)} |" for cells in [heads, rule, *lines]]
    return "\n".join([*drawn, *map(_markdown_note, table.notes)])


def _markdown_note(note: Sentence) -> str:
    code = f": `{printable(note.code)}`" if note.code else ""
    return f"\n{printable(note.text)}{code}"


def _markdown_cell(cell: Cell | Bar | str) -> str:
    text = cell.label if isinstance(cell, Bar) else cell.whole if isinstance(cell, Cell) else cell
    escaped = re.sub(r"([|*_<`])", r"\\\1", printable(text))
    return _MARKDOWN_MARKS.get(cell.mark, "{}").format(escaped) if isinstance(cell, Cell) else escaped
