"""Results for people: blocks say what they show, and writers draw these as text, HTML, LaTeX and Markdown."""

from .blocks import (
    Bar,
    Block,
    Cell,
    Cells,
    Code,
    Column,
    Heading,
    Items,
    Mark,
    Row,
    Sentence,
    Table,
    bars,
    frame_table,
)
from .html import fragment, html_of, page
from .latex import latex_of
from .markdown import markdown_of
from .text import WIDTH, printable, text_of
from .view import View

__all__ = [
    "WIDTH",
    "Bar",
    "Block",
    "Cell",
    "Cells",
    "Code",
    "Column",
    "Heading",
    "Items",
    "Mark",
    "Row",
    "Sentence",
    "Table",
    "View",
    "bars",
    "fragment",
    "frame_table",
    "html_of",
    "latex_of",
    "markdown_of",
    "page",
    "printable",
    "text_of",
]
