"""Description of judgments and runs: figures and findings."""

from .report import Description, describe

__all__ = ["Description", "describe"]
