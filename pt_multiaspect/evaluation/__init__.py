"""Evaluation of runs, here or by engines such as Spark; values per topic and their aggregation."""

from .aggregation import aggregate, check_columns, interval_columns
from .evaluating import evaluate
from .partitions import evaluator
from .value_files import read_values

__all__ = ["aggregate", "check_columns", "evaluate", "evaluator", "interval_columns", "read_values"]
