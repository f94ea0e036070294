"""Suites: the measures of published tracks, and those recommended for papers."""

from .catalogue import Suite, list_suites, suite

__all__ = ["Suite", "list_suites", "suite"]
