"""Pareto fronts of the values that rankings attain on several measures, and distances of systems to them."""

from .attainable_front import AttainableFront, attainable_front

__all__ = ["AttainableFront", "attainable_front"]
