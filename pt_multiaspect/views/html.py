"""Blocks as self-contained HTML, in the colours of the surrounding page."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from .blocks import Block

if TYPE_CHECKING:
    from jinja2 import Environment, Template


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


def page(title: str, content: str) -> str:
    """Return an HTML page."""
    return str(_environment().get_template("page.html").render(title=title, content=content))


@cache
def _environment() -> Environment:
    # Imported on first use, as importing Jinja2 takes longer than drawing.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(partial(asset, __package__)), autoescape=True, undefined=StrictUndefined
    )
