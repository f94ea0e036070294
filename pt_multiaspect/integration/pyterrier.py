"""Measure names as strings in PyTerrier.

`pt.Experiment`, `pt.GridScan` and `pt.GridSearch` parse strings with
`ir_measures.parse_trec_measure`, which accepts trec_eval names only. This module patches that function
to accept ir-measures names as well, so ``"nDCG@10"`` and ``"TOMA@10"`` work like ``"map"``.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

import ir_measures

from ..errors import warn_once
from ..measures import ALL
from .labels import lower_is_better
from .parsing import TREC_NAMES_ONLY, parse, trec_names

__all__ = ["install", "uninstall"]


@wraps(trec_names)
def _parse_any_name(measure: str) -> list[ir_measures.Measure]:
    parsed = parse(measure)
    for member in parsed:
        if lower_is_better(member):
            warn_once(
                f"{member} is lower-is-better, but PyTerrier assumes that higher is better: pt.GridSearch and "
                "pt.KFoldGridSearch select the highest value, and highlight= of pt.Experiment marks it; select the "
                "lowest value yourself, for example from the table of pt.GridScan"
            )
    return parsed


setattr(_parse_any_name, TREC_NAMES_ONLY, trec_names)


def install() -> None:
    """Patch PyTerrier's parser to accept ir-measures names. Repeated calls have no effect.

    Examples
    --------
    This is called when the package is imported:

    >>> from pt_multiaspect.integration import pyterrier
    >>> pyterrier.install()
    """
    if not hasattr(ir_measures.parse_trec_measure, TREC_NAMES_ONLY):
        ir_measures.parse_trec_measure = _parse_any_name
    loaded: Any = sys.modules.get("pyterrier.measures")
    if loaded is not None:  # pt.measures was filled before this package was imported
        for measure in ALL:
            if not hasattr(loaded, measure.NAME):
                setattr(loaded, measure.NAME, measure)


def uninstall() -> None:
    """Undo `install`, unless another package has wrapped the function since.

    Examples
    --------
    >>> import ir_measures
    >>> from pt_multiaspect.integration import pyterrier
    >>> pyterrier.uninstall()
    >>> ir_measures.parse_trec_measure("TOMA@10")
    Traceback (most recent call last):
    ValueError: unkonwn measure TOMA@10
    >>> pyterrier.install()
    """
    if ir_measures.parse_trec_measure is _parse_any_name:
        ir_measures.parse_trec_measure = trec_names
