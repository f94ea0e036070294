"""Evaluation of runs: one after the other, by processes, from where it stopped, or on the engines of others."""

from .aggregation import aggregate, check_columns, interval_columns
from .evaluating import evaluate
from .partitions import evaluator
from .store import read_values

__all__ = ["aggregate", "check_columns", "evaluate", "evaluator", "interval_columns", "read_values"]
