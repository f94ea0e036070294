"""One page about an experiment, to look at and to send: `report`."""

from .report import Report, report

__all__ = ["Report", "report"]
