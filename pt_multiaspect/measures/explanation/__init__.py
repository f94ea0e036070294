"""Explanations: the value of one topic as a sum over the ranks of a run."""

from .build import explain
from .explanation import Explanation

__all__ = ["Explanation", "explain"]
