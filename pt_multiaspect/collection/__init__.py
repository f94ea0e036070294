"""A test collection: judgments, runs, and their join."""

from .judgments import Judgments
from .rankings import Ranking, Rankings
from .run import Run
from .views import AspectView

__all__ = ["AspectView", "Judgments", "Ranking", "Rankings", "Run"]
