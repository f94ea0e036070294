"""Checks for authors of measures and distances: what classes declare, against brute force."""

from .distances import check_distance
from .measures import FailedCheckError, check_measure

__all__ = ["FailedCheckError", "check_distance", "check_measure"]
