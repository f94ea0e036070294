"""Reports of experiments as single HTML pages."""

from .build import Report, report

__all__ = ["Report", "report"]
