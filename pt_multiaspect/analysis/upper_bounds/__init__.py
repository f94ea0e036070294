"""The best values that rankings of the judged documents can reach."""

from .attainable import attainable
from .ideal_values import ideal_values
from .upper_bound import upper_bound

__all__ = ["attainable", "ideal_values", "upper_bound"]
