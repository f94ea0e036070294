"""Meta-evaluation of measures: correlation, discriminative power, upper bounds, judges, axioms."""

from . import axioms
from .baseline import compare_with_baseline
from .correlation import correlation, rank_correlation, tau_ap
from .fitted_weights import FittedWeights, fit_weights
from .fronts import AttainableFront, attainable_front
from .intuitiveness import intuitiveness, unanimity
from .judges import JudgeSensitivity, judge_agreement, judge_sensitivity
from .missing_labels import MissingLabels, missing_labels
from .multiverse import Multiverse, multiverse
from .power import DetectableDifference, DiscriminativePower, detectable_difference, discriminative_power
from .prediction_powered import PredictionPowered, prediction_powered
from .preferences import PreferenceAgreement, preference_agreement
from .quality import document_quality, zero_aspect_documents
from .ranks import Ranks, ranks, system_front
from .upper_bounds import attainable, ideal_values, upper_bound
from .weightings import Weightings, weightings

__all__ = [
    "AttainableFront",
    "DetectableDifference",
    "DiscriminativePower",
    "FittedWeights",
    "JudgeSensitivity",
    "MissingLabels",
    "Multiverse",
    "PredictionPowered",
    "PreferenceAgreement",
    "Ranks",
    "Weightings",
    "attainable",
    "attainable_front",
    "axioms",
    "compare_with_baseline",
    "correlation",
    "detectable_difference",
    "discriminative_power",
    "document_quality",
    "fit_weights",
    "ideal_values",
    "intuitiveness",
    "judge_agreement",
    "judge_sensitivity",
    "missing_labels",
    "multiverse",
    "prediction_powered",
    "preference_agreement",
    "rank_correlation",
    "ranks",
    "system_front",
    "tau_ap",
    "unanimity",
    "upper_bound",
    "weightings",
    "zero_aspect_documents",
]
