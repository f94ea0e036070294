"""Evaluation of runs: one after the other, by processes, from where it stopped, or on the engines of others."""

from .aggregation import aggregate, interval_columns
from .evaluating import evaluate

__all__ = ["aggregate", "evaluate", "interval_columns"]
