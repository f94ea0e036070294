"""Legends inside, beside and above axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import SMALL, points_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of lines of a legend inside the axes.
MOST_INSIDE = 6


def unit_square(label: str, at: tuple[float, float] = (0, 0), **style: Any) -> Any:
    """Return a unit square, for a legend or the axes."""
    from matplotlib.patches import Rectangle

    return Rectangle(at, 1, 1, label=label, **style)


def add_legend(ax: Axes, beside: bool, title: str | None = None) -> None:
    """Add a legend next to the axes or inside."""
    n_entries = len(ax.get_legend_handles_labels()[1])
    size = SMALL if n_entries <= 20 else 6.5
    style: dict[str, Any] = {"loc": "best", "framealpha": 0.85}
    if beside:
        style = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0, "frameon": False}
        n_rows = max(points_of(ax)[1] // (1.45 * size), 1)
        style["ncols"] = math.ceil(n_entries / n_rows)
    length = 3 if ax.lines else 1.5
    ax.legend(fontsize=size, title=title, title_fontsize=size, alignment="left", handlelength=length, **style)


def legend_columns(ax: Axes, handles: Sequence[Any]) -> int:
    """Return the number of columns of a legend that is about as wide as the axes."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    return int(np.clip(points_of(ax)[0] // (SMALL * (0.5 * longest + 2.5)), 1, len(handles)))


def add_legend_above(ax: Axes, handles: Sequence[Any] | None = None) -> None:
    """Add a legend above the axes and below their title, in as many columns as there is room for."""
    from matplotlib.transforms import ScaledTranslation

    if handles is None:
        handles = ax.get_legend_handles_labels()[0]
    n_columns = legend_columns(ax, handles)
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=n_columns, frameon=False, fontsize=SMALL,
        handletextpad=0.4, columnspacing=1.2, borderaxespad=0.2, handlelength=1.5,
    )  # fmt: skip
    # A title, also one that is set later, is placed above inset axes, but not above legends.
    height = SMALL * (1.65 * math.ceil(len(handles) / n_columns) + 0.5) / 72
    above = ax.transAxes + ScaledTranslation(0, height, ax.figure.dpi_scale_trans)
    ax.inset_axes((0, 1, 1, 0.001), transform=above, xticks=[], yticks=[], frame_on=False)
