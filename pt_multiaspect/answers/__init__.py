"""Scores of generated answers, one per run and topic, by several criteria, as long frames."""

from .combining import combine
from .criteria import from_criteria, rubric_scores
from .nuggets import argue_scores, nugget_scores

__all__ = ["argue_scores", "combine", "from_criteria", "nugget_scores", "rubric_scores"]
