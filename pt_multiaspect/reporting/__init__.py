"""One page about an experiment, to look at and to send: `report`."""

from .build import Report, report

__all__ = ["Report", "report"]
