"""Suites: the measures of published tracks, and those recommended for papers."""

from .catalogue import list_suites, suite
from .definition import Suite

__all__ = ["Suite", "list_suites", "suite"]
