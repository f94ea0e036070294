"""Bases: the single-aspect measures on which multi-aspect measures are built."""

from . import average_precision, cascade, judged, ndcg, precision, rbp  # each registers its adapters
from .base import Base, LinearBase
from .delegated import as_base
from .parameter import Bases, parse_base, parse_bases
from .term import Term

__all__ = [
    "Base",
    "Bases",
    "LinearBase",
    "Term",
    "as_base",
    "average_precision",
    "cascade",
    "judged",
    "ndcg",
    "parse_base",
    "parse_bases",
    "precision",
    "rbp",
]
