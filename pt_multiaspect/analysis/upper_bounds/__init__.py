"""The maximum attainable values of measures, given the judgments."""

from .attainable_values import attainable, ideal_values, upper_bound

__all__ = ["attainable", "ideal_values", "upper_bound"]
