"""The maximum attainable values of measures, given the judgments."""

from .ideal_values import ideal_values
from .upper_bound import attainable, upper_bound

__all__ = ["attainable", "ideal_values", "upper_bound"]
