"""Presentation of results: blocks with the content, and writers of text, HTML, LaTeX and Markdown."""

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
    records_table,
    with_interval,
)
from .html import asset, fragment, html_of, page, template
from .latex import latex_of
from .markdown import markdown_of
from .numbers import MINUS, decimals, fixed_point, interval_text, percent, with_minus
from .text import WIDTH, crop, printable, text_of
from .view import View

__all__ = [
    "MINUS",
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
    "asset",
    "bars",
    "crop",
    "decimals",
    "fixed_point",
    "fragment",
    "frame_table",
    "html_of",
    "interval_text",
    "latex_of",
    "markdown_of",
    "page",
    "percent",
    "printable",
    "records_table",
    "template",
    "text_of",
    "with_interval",
    "with_minus",
]
