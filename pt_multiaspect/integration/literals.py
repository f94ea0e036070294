"""Literals in measure names of ir-measures on Python 3.14, without the classes of `ast` that it asks for."""

from __future__ import annotations

import ast
import sys
from typing import Any

import ir_measures.util


def literal_value(node: ast.expr | None) -> Any:
    """Return the value of a literal in a measure's name, as `ir_measures.util._ast_to_value` does.

    Raises
    ------
    ValueError
        If the node is neither a number, text, constant nor a dict of these; the message is that of ir-measures.
    """
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes) and node.value is not ...:
        return node.value
    if isinstance(node, ast.Dict):
        return dict(zip(map(literal_value, node.keys), map(literal_value, node.values), strict=True))
    raise ValueError(ir_measures.util._AST_PARSE_ERROR.format("values must be str, float, int, bool, etc."))


def install_literals() -> None:
    """Let ir-measures parse names with a cutoff or parameters where its own function cannot."""
    if sys.version_info < (3, 14):
        return
    try:
        ir_measures.util.parse_measure("P@1")
    except AttributeError:  # ast.Num
        ir_measures.util._ast_to_value = literal_value
