"""Command-line interface."""

from .program import main

__all__ = ["main"]
