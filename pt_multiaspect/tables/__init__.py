"""Tables and citations for papers."""

from .citations import cite

__all__ = ["cite"]
