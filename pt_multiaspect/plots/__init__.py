"""Matplotlib plots of systems, measures, orders and rankings.

matplotlib is installed with ``pip install "pt-multiaspect[plots]"`` and imported when the first
plot is drawn.

Every function draws on `ax` if given, else on a new figure (with ``layout="constrained"``, so that
nothing is cut off). It returns the Axes, so that titles, limits and labels can be changed;
``ax.figure.savefig(...)`` saves the figure. Legends with many entries are placed to the right of
the axes. If you pass your own `ax`, create it with ``plt.subplots(layout="constrained")`` to make
room for them.

Categories differ in marker or line style as well as in colour, and the cells of matrices show their
values.
"""

from __future__ import annotations

from .attainable import upper_bounds
from .dependence import label_intervals, specification_curve
from .measures import asl_curves, correlation_heatmap
from .ranking import crp_over_ranks, explanation
from .systems import search_front, systems, values
from .weightings import weightings

__all__ = [
    "asl_curves",
    "correlation_heatmap",
    "crp_over_ranks",
    "explanation",
    "label_intervals",
    "search_front",
    "specification_curve",
    "systems",
    "upper_bounds",
    "values",
    "weightings",
]


def __dir__() -> list[str]:
    return list(__all__)
