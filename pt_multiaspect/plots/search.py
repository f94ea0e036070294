"""A plot of the settings of a search with several scorers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MultiAspectError, choices
from .legends import add_legend_above
from .point_labels import annotate
from .style import BLUE, GREY, axes_or_new, with_columns, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def search_front(front: Any, x: str, y: str, *, ax: Axes | None = None) -> Axes:
    """Plot the settings of a search by two metrics, and their Pareto front.

    Parameters
    ----------
    front : DataFrame
        The result of `pareto_front`.
    x, y : str
        The metrics on the horizontal and the vertical axis. Higher is better for both.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        Settings on the front are labelled with their row of `front`, where there is a free place. The line connects
        the settings that no other dominates on `x` and `y`; with further metrics, others may be on the front.
        Failed settings are omitted.

    Raises
    ------
    MultiAspectError
        If `front` is not the result of `pareto_front`, or `x` and `y` are not two of its metrics.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> import pt_multiaspect as ma
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> table = pd.DataFrame({"relevance": [0.5, 0.4, 0.3], "credibility": [0.1, 0.3, 0.2]})
    >>> ax = plots.search_front(ma.pareto_front(table, ["relevance", "credibility"]), "relevance", "credibility")
    >>> [text.get_text() for text in ax.texts]
    ['0', '1']
    """
    front = with_columns(front, [x, y, "on_front"], "front", "pareto_front")
    numeric = front.select_dtypes("number").columns
    metrics = [name for name in numeric if name != "on_front"]
    if x == y or x not in metrics or y not in metrics:
        raise MultiAspectError(f"expected two different metrics of {choices(metrics)}, got x={x!r} and y={y!r}")
    shown = front.dropna(subset=[x, y])
    on_front = shown["on_front"].to_numpy(dtype=bool)
    points = shown[[x, y]].to_numpy(dtype=np.float64)
    ax = axes_or_new(ax, 6.4, 4.8, grid="both")
    if not on_front.all():
        across, up = points[~on_front].T
        ax.scatter(across, up, 24, marker="o", color=GREY, alpha=0.75, linewidths=0, label="dominated")
    across, up = points[on_front].T
    ax.scatter(across, up, 24, marker="D", color=BLUE, zorder=3, label="on the front")
    ordered = points[np.lexsort((-points[:, 1], -points[:, 0]))]
    highest = np.maximum.accumulate(ordered[:, 1])
    ordered = ordered[np.append(True, highest[1:] > highest[:-1])]
    ax.plot(*ordered.T, color=BLUE, lw=1, ls=":", zorder=2)
    ax.set_xlabel(wrap(str(x)))
    ax.set_ylabel(wrap(str(y)))
    ax.margins(0.1)
    add_legend_above(ax)
    annotate(ax, points, {row: str(shown.index[row]) for row in np.flatnonzero(on_front).tolist()})
    return ax
