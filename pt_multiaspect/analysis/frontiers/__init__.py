"""Pareto frontiers of the values that rankings attain on several measures, and distances of systems to them."""

from .frontier import frontier
from .result import Frontier

__all__ = ["Frontier", "frontier"]
