"""A test collection: judgments, runs, and their join."""

from .judgments import Judgments
from .rankings import Rankings
from .views import AspectView

__all__ = ["AspectView", "Judgments", "Rankings"]
