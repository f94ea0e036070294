"""Text for terminals of 80 columns, and self-contained HTML."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Sequence
from html import escape, unescape
from os import PathLike
from typing import TYPE_CHECKING

from ._writing import write_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MOST_ROWS",
    "WIDTH",
    "Rendered",
    "crop",
    "fragment",
    "frame_table",
    "heading",
    "page",
    "percent",
    "printable",
    "table",
    "wrapped",
]

WIDTH = 80
#: Tables are shown up to this many rows.
MOST_ROWS = 50
#: Cells of HTML tables up to this length are not broken.
_SHORT = 16

#: Control characters, and those that reverse the direction of text.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

#: Everything takes the colour of the text around it, and no ground of its own, so that it can be read in light and
#: dark themes of JupyterLab, VS Code, Colab and Sphinx. Some of these colour rows, cells or whole outputs as if all
#: pages were light, hence `!important`, and the rule for pydata-sphinx-theme.
_STYLE = """
html[data-theme=dark] .bd-content div.cell_output div.text_html:has(.ptma) { background: transparent;
  color: inherit; padding: 0; }
.ptma { color: inherit; font: 14px/1.45 system-ui, sans-serif; max-width: 72rem; }
.ptma h3 { font-size: 1.05em; margin: 1.4em 0 .4em; overflow-wrap: anywhere; }
.ptma p { margin: .3em 0; overflow-wrap: anywhere; }
.ptma table { border-collapse: collapse; margin: .3em 0 .6em; border: 0; font-size: inherit; }
.ptma table, .ptma thead, .ptma tbody, .ptma tr, .ptma th, .ptma td, .ptma code {
  background: transparent !important; color: inherit !important; }
.ptma th, .ptma td { padding: .15em .6em; text-align: right; border: 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); vertical-align: middle; white-space: nowrap;
  font-size: inherit; }
.ptma th { font-weight: 600; white-space: normal; vertical-align: bottom; }
.ptma .l { text-align: left; white-space: normal; overflow-wrap: anywhere; min-width: 10em; }
.ptma .n { text-align: left; white-space: nowrap; }
.ptma .c { text-align: center; }
.ptma .side { border-left: 1px solid rgba(128, 128, 128, .6); padding-left: 1em; }
.ptma td.holds { background: rgba(0, 158, 115, .28) !important; }
.ptma td.ties { background: rgba(230, 180, 0, .3) !important; }
.ptma td.fails { background: rgba(213, 94, 0, .35) !important; }
.ptma td.na { opacity: .7; }
.ptma svg { display: block; }
.ptma rect { fill: currentColor; }
.ptma pre { margin: .2em 0 .3em; padding: .4em .6em; white-space: pre-wrap; overflow-wrap: anywhere;
  background: rgba(128, 128, 128, .14); color: inherit; font: 12px/1.4 ui-monospace, monospace; }
.ptma ol, .ptma ul { padding-left: 1.6em; }
.ptma li { break-inside: avoid; overflow-wrap: anywhere; }
.ptma ol li { margin-bottom: .8em; }
.ptma .tag { font-size: .8em; font-weight: 600; padding: .1em .45em; border: 1.5px solid currentColor;
  border-radius: .3em; margin-right: .4em; }
.ptma .error { color: #d33; }
.ptma .warning { color: #b36b00; }
.ptma .note { color: #5b84b1; }
.ptma .wide { overflow-x: auto; }
"""


class Rendered:
    """A result that prints as text, shows as HTML in notebooks, and is written as a self-contained page.

    Subclasses define `_text`, `_fragment` and `_title`; a page with more than the fragment also `_page`.
    """

    def _text(self) -> str:
        """Return the whole result as text of at most 80 columns."""
        raise NotImplementedError

    def _fragment(self) -> str:
        """Return the result as an HTML element."""
        raise NotImplementedError

    def _title(self) -> str:
        """Return the title of the page."""
        raise NotImplementedError

    def _page(self) -> str:
        """Return the result as an HTML page."""
        return page(self._title(), self._fragment())

    def __str__(self) -> str:
        return printable(self._text())

    def _repr_html_(self) -> str:
        return self._fragment()

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a self-contained HTML page.

        Parameters
        ----------
        path : str or path, optional
            Where to write the page too.

        Returns
        -------
        str
            The page, in light or dark colours as the reader's browser prefers.
        """
        # Names of files that are no UTF-8 contain surrogates, which cannot be written.
        text = self._page().encode("utf-8", "replace").decode("utf-8")
        if path is not None:
            write_file(path, text)
        return text


def fragment(content: str) -> str:
    """Return an element to put into a page, with its style."""
    return f'<div class="ptma"><style>{_STYLE}</style>{content}</div>'


def page(title: str, content: str) -> str:
    """Return a self-contained page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        "<style>:root { color-scheme: light dark; } body { margin: 1.5rem; }</style></head>"
        f"<body>{content}</body></html>\n"
    )


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 1,
    most: int = MOST_ROWS,
    whole: Collection[int] = (),
) -> str:
    """Return a table of cells that are HTML already.

    The first `left` columns are set to the left and broken anywhere, except those in `whole` and short ones, which
    are not broken.
    """
    for at, cells in enumerate(zip(head, *rows[:most], strict=True)):
        if at < left and max(len(unescape(re.sub("<[^>]*>", "", cell))) for cell in cells) <= _SHORT:
            whole = {*whole, at}

    def line(cells: Sequence[str], tag: str) -> str:
        classes = [" class=n" if at in whole else " class=l" if at < left else "" for at in range(len(cells))]
        marked = [f"<{tag}{css}>{cell}</{tag}>" for css, cell in zip(classes, cells, strict=True)]
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(line(row, "td") for row in rows[:most])
    if len(rows) > most:
        body += f'<tr><td class=l colspan="{len(head)}">… and {len(rows) - most} more</td></tr>'
    return f'<div class="wide"><table><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table></div>'


def frame_table(frame: pd.DataFrame, most: int = MOST_ROWS) -> str:
    """Return a data frame without its index, as an element to put into a page; numbers have six digits."""
    rows = [
        [escape(f"{cell:.6g}" if isinstance(cell, float) else str(cell)) for cell in row]
        for row in frame.itertuples(index=False, name=None)
    ]
    return fragment(table([escape(str(column)) for column in frame.columns], rows, most=most))


def printable(text: str, kept: str = "\n") -> str:
    """Return a text with blanks for control characters, which could change what a terminal shows.

    They come from names in files of runs and judgments. Files for programs are written without this.
    """
    return _CONTROL.sub(lambda match: match[0] if match[0] in kept else " ", text)


def percent(share: float) -> str:
    """Return a fraction in per cent, '-' if there is none."""
    return "-" if share != share else f"{100 * share:.1f}%"


def crop(text: str, width: int) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def heading(text: str) -> str:
    """Return a heading, underlined."""
    text = crop(text, WIDTH)
    return f"{text}\n{'-' * len(text)}"


def wrapped(text: str, indent: str) -> list[str]:
    """Return a paragraph as lines, further ones indented more."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
    )
