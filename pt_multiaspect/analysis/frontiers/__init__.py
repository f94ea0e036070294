"""What rankings attain on several measures at once: the Pareto frontier, and how far systems are from it."""

from .frontier import frontier
from .result import Frontier

__all__ = ["Frontier", "frontier"]
