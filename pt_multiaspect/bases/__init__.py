"""Bases: the single-aspect measures on which multi-aspect measures are built."""

from . import cascade, discounted, precision  # noqa: F401  # each registers its adapters
from .base import Base, LinearBase, Term
from .delegated import as_base
from .parameter import Bases, parse_base, parse_bases
from .statements import Statements

__all__ = [
    "Base",
    "Bases",
    "LinearBase",
    "Statements",
    "Term",
    "as_base",
    "parse_base",
    "parse_bases",
]
