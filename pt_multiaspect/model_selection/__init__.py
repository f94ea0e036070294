"""Model selection and learning to rank with multi-aspect measures: scikit-learn, gradient boosting, PyTerrier.

Names are imported on first use, so importing the package does not import scikit-learn.
"""

from __future__ import annotations

from .._lazy import lazy_attributes

_HOMES = {
    "AspectFusion": "fusion",
    "AspectRanker": "ranker",
    "RepeatedQueryKFold": "repeats",
    "RerankingEvaluator": "rerankers",
    "aggregate_labels": "labels",
    "metric_for": "boosters",
    "paired_interval": "repeats",
    "pareto_front": "front",
    "ranking_score": "scorer",
    "ranking_scorer": "scorer",
}

__all__ = sorted(_HOMES)

__getattr__ = lazy_attributes(__name__, _HOMES)
