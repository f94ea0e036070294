"""Collections judged on several aspects: our own, published ones, and those of ir_datasets."""

from .health import load_health
from .irds import from_irds
from .published import info, load, names

__all__ = ["from_irds", "info", "load", "load_health", "names"]
