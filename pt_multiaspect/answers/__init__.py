"""Scores of generated answers: several criteria of one answer per run and topic, as long frames."""

from .argue import argue_scores
from .combining import combine
from .criteria import from_criteria, rubric_scores
from .nuggets import nugget_scores

__all__ = ["argue_scores", "combine", "from_criteria", "nugget_scores", "rubric_scores"]
