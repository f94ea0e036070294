"""Meta-evaluation of measures: correlation, discriminative power, upper bounds, judges."""

from .baseline import compare_with_baseline
from .correlation import correlation, rank_correlation, tau_ap
from .judges import judge_agreement
from .missing_labels import missing_labels
from .multiverse import multiverse
from .power import detectable_difference, discriminative_power
from .prediction_powered import prediction_powered
from .quality import document_quality, zero_aspect_documents
from .ranks import ranks
from .upper_bounds import attainable, ideal_values, upper_bound
from .weightings import weightings

__all__ = [
    "attainable",
    "compare_with_baseline",
    "correlation",
    "detectable_difference",
    "discriminative_power",
    "document_quality",
    "ideal_values",
    "judge_agreement",
    "missing_labels",
    "multiverse",
    "prediction_powered",
    "rank_correlation",
    "ranks",
    "tau_ap",
    "upper_bound",
    "weightings",
    "zero_aspect_documents",
]
