"""What is in judgments and runs, and what is odd about it: `describe`."""

from .report import Description, describe

__all__ = ["Description", "describe"]
