"""Figures of systems, measures, orders and rankings, drawn by matplotlib.

matplotlib comes with ``pip install "pt-multiaspect[plots]"`` and is imported by the first figure.

Every function draws on the `ax` it is given, and on a new figure otherwise, which is laid out so that
nothing is cut off (``layout="constrained"``). It returns the Axes, so titles, limits and labels can be
changed afterwards; ``ax.figure.savefig(...)`` saves the figure. Legends of many lines stand to the right of
the axes: on an `ax` of one's own, make room by ``plt.subplots(layout="constrained")``.

Categories differ in marker or line style as well as in colour, and matrices have their values written in.
"""

from __future__ import annotations

from typing import Any

from .correlation import correlation_heatmap
from .displacement import crp_over_ranks
from .level_sets import level_sets
from .ranking import ranking_grades
from .significance import asl_curves
from .systems import systems
from .upper_bounds import upper_bounds

__all__ = [
    "asl_curves",
    "correlation_heatmap",
    "crp_over_ranks",
    "level_sets",
    "ranking_grades",
    "systems",
    "upper_bounds",
]

_RENAMED = {"crp_curve": "crp_over_ranks", "profile": "ranking_grades"}


def __getattr__(name: str) -> Any:
    now = f"; it is now called {_RENAMED[name]!r}" if name in _RENAMED else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{now}")


def __dir__() -> list[str]:
    return list(__all__)
