"""Checks for authors of measures and distances: declarations of classes, compared with brute force."""

from .distances import check_distance
from .measures import FailedCheckError, check_measure

__all__ = ["FailedCheckError", "check_distance", "check_measure"]
