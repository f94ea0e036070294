"""Meta-evaluation of measures: correlation, discriminative power, upper bounds, judges, axioms."""

from . import axioms
from .baseline import compare_with_baseline
from .correlation import correlation, rank_correlation, tau_ap
from .discriminative import DiscriminativePower, discriminative_power
from .frontiers import Frontier, frontier
from .judges import JudgeSensitivity, judge_agreement, judge_sensitivity
from .pareto import pareto
from .quality import document_quality, zero_aspect_documents
from .upper_bounds import attainable, ideal_values, upper_bound

__all__ = [
    "DiscriminativePower",
    "Frontier",
    "JudgeSensitivity",
    "attainable",
    "axioms",
    "compare_with_baseline",
    "correlation",
    "discriminative_power",
    "document_quality",
    "frontier",
    "ideal_values",
    "judge_agreement",
    "judge_sensitivity",
    "pareto",
    "rank_correlation",
    "tau_ap",
    "upper_bound",
    "zero_aspect_documents",
]
