"""Pareto fronts of the values that rankings attain on several measures, and distances of systems to them."""

from .attainable_front import attainable_front
from .result import AttainableFront

__all__ = ["AttainableFront", "attainable_front"]
