"""Explanations: the value of one topic as a sum over the ranks of a run."""

from .build import explain
from .comparison import Comparison
from .explanation import Explanation

__all__ = ["Comparison", "Explanation", "explain"]
