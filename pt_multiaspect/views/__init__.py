"""Results as text, HTML and LaTeX: they say what they show in blocks, and three writers draw these."""

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
from .text import WIDTH, text_of
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
    "page",
    "text_of",
]
