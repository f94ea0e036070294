"""Explanations: the value of one topic as a sum over the ranks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazy_attributes
from ..measures.measure import Measure

if TYPE_CHECKING:
    from ..explanation_view import Explanation
    from .explanation import explain, largest_differences

__all__ = ["explain", "largest_differences", "register"]

#: Imported on first use, as evaluating a run does not need them.
__getattr__ = lazy_attributes(__name__, {"explanation": ["explain", "largest_differences"]})


def register() -> None:
    """Define `Measure.explain` here, as measures do not import explanations."""
    Measure._explain = _explain


def _explain(
    measure: Measure, run: object, qrels: object, qid: object, *, depth: int
) -> Explanation:
    from .explanation import explain

    return explain(measure, run, qrels, qid, depth=depth)
