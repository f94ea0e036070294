"""Description of judgments and runs: statistics and findings."""

from .report import Description, describe

__all__ = ["Description", "describe"]
