"""Figures and findings of judgments and runs: `describe`."""

from .report import Description, describe

__all__ = ["Description", "describe"]
