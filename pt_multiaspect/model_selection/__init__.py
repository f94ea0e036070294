"""Model selection and learning to rank with multi-aspect measures.

Names are imported on first use, so importing the package does not import scikit-learn.
"""

from __future__ import annotations

from itertools import chain

from .._lazy import lazy_attributes

_NAMES = {
    "labels": ["aggregate_labels"],
    "metrics": ["metric_for"],
    "ranker": ["AspectRanker"],
    "scorer": ["ranking_score", "ranking_scorer"],
    "searches": ["RepeatedQueryKFold", "paired_interval", "pareto_front"],
}

__all__ = sorted(chain.from_iterable(_NAMES.values()))

__getattr__ = lazy_attributes(__name__, _NAMES)
