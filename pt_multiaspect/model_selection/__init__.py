"""Model selection and learning to rank with multi-aspect measures: scikit-learn, gradient boosting, PyTerrier.

Names are imported on first use, so importing the package does not import scikit-learn.
"""

from __future__ import annotations

from itertools import chain

from .._lazy import lazy_attributes

_NAMES = {
    "boosters": ["metric_for"],
    "front": ["pareto_front"],
    "fusion": ["AspectFusion"],
    "labels": ["aggregate_labels"],
    "ranker": ["AspectRanker"],
    "repeats": ["RepeatedQueryKFold", "paired_interval"],
    "rerankers": ["RerankingEvaluator"],
    "scorer": ["ranking_score", "ranking_scorer"],
}

__all__ = sorted(chain.from_iterable(_NAMES.values()))

__getattr__ = lazy_attributes(__name__, _NAMES)
