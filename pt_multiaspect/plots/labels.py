"""Legends inside, beside and above axes, and labels of points that hide no marker and no other label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Bools, Floats
from .style import SMALL, ink, points_of

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
        style = {
            "loc": "upper left",
            "bbox_to_anchor": (1.01, 1),
            "borderaxespad": 0,
            "frameon": False,
        }
        n_rows = max(points_of(ax)[1] // (1.45 * size), 1)
        style["ncols"] = math.ceil(n_entries / n_rows)
    length = 3 if ax.lines else 1.5
    ax.legend(
        fontsize=size,
        title=title,
        title_fontsize=size,
        alignment="left",
        handlelength=length,
        **style,
    )


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


#: Half the size of the largest marker, the distances of labels from their points, and the space
#: that is kept free around labels, in points (1/72 inch).
_MARKER, _RADII, _N_ANGLES, _MARGIN = 4.2, (10, 14, 20, 28, 39, 54, 76), 24, 1.0
#: Costs of a place: what it must not hide, a line that it crosses, a marker that its line crosses;
#: per point.
_FORBIDDEN, _ON_LINE, _ON_POINT, _PER_POINT = 1000.0, 10.0, 4.0, 0.05
#: Maximum number of times that each label moves when the others have their places.
_SWEEPS = 6


@dataclass(eq=False)
class _Label:
    """The places of a label in points, with the lines to its point."""

    point: Floats
    #: The ends of the lines, places × 2.
    ends: Floats
    #: left, bottom, right, top; places × 4.
    boxes: Floats
    #: What each place costs whatever the other labels do.
    costs: Floats
    place: int = 0

    def costs_beside(self, others: list[_Label]) -> Floats:
        """Return the cost of each place, given those of other labels."""
        if not others:
            return self.costs
        boxes = np.array([label.boxes[label.place] for label in others])
        points, ends = np.array(
            [(label.point, label.ends[label.place]) for label in others]
        ).swapaxes(0, 1)
        own_boxes, own_ends = self.boxes[:, None], self.ends[:, None]
        forbidden = _overlap(own_boxes, boxes) | _crosses(self.point, own_ends, boxes)
        forbidden |= _crosses(points, ends, own_boxes)
        crossings = _meet(self.point, own_ends, points, ends)
        result: Floats = self.costs + (_FORBIDDEN * forbidden + _ON_LINE * crossings).sum(axis=1)
        return result


def annotate(
    ax: Axes, points: Floats, texts: dict[int, str], colours: dict[int, str] | None = None
) -> int:
    """Label points, those that come first in `texts` with preference, and return the number of labels left out.

    No label is on a marker, on another label or the line to one, or outside the axes. Labels
    without such a place are left out.

    Parameters
    ----------
    ax : Axes
        The axes, with everything that determines their limits.
    points : array, markers × 2
        The positions of all markers.
    texts : dict
        The labels by row of `points`.
    colours : dict, optional
        The colours of the lines to the labels, by row of `points`.
    """
    figure = ax.get_figure()
    assert figure is not None
    figure.canvas.figure.draw_without_rendering()  # computes the layout of the axes
    scale = 72.0 / figure.dpi
    markers = ax.transData.transform(points) * scale
    frame = np.array(ax.get_window_extent().extents) * scale
    sizes = []
    for text in texts.values():
        drawn = ax.text(0, 0, text, fontsize=SMALL)
        sizes.append(np.array(drawn.get_window_extent().size) * scale + 2 * _MARGIN)
        drawn.remove()
    labels = [
        _candidate_places(row, markers, size, frame) for row, size in zip(texts, sizes, strict=True)
    ]
    shown = _choose_places(labels)
    for (row, text), label in zip(texts.items(), labels, strict=True):
        if label not in shown:
            continue
        box, end = label.boxes[label.place], label.ends[label.place]
        middle = (box[:2] + box[2:]) / 2
        ax.annotate(
            text, tuple(points[row]), tuple(middle - label.point), textcoords="offset points", fontsize=SMALL,
            color=ink(), ha="center", va="center", zorder=4,
            arrowprops={
                "arrowstyle": "-", "color": ink() if colours is None else colours[row], "lw": 0.7, "shrinkA": 0,
                "shrinkB": 3, "relpos": (end - box[:2]) / (box[2:] - box[:2]),
            },
        )  # fmt: skip
    return len(labels) - len(shown)


def _candidate_places(row: int, markers: Floats, size: Floats, frame: Floats) -> _Label:
    """Return the places around a marker, from near to far, with what they cost without other labels."""
    radius, turn = (
        part.ravel() for part in np.meshgrid(_RADII, np.arange(_N_ANGLES), indexing="ij")
    )
    direction = np.column_stack(
        [np.cos(2 * np.pi * turn / _N_ANGLES), np.sin(2 * np.pi * turn / _N_ANGLES)]
    )
    side = np.where(
        np.abs(direction) > [0.35, 2], np.sign(direction), 0
    )  # −1: at the right edge of the box
    side[side[:, 0] == 0, 1] = np.sign(direction[side[:, 0] == 0, 1])
    ends = markers[row] + radius[:, None] * direction
    lower = ends + (side - 1) * size / 2
    boxes = np.hstack([lower, lower + size])
    around = np.hstack([markers - _MARKER, markers + _MARKER])
    forbidden = _overlap(boxes[:, None], around).any(axis=1)
    forbidden |= (boxes[:, :2] < frame[:2]).any(axis=1) | (boxes[:, 2:] > frame[2:]).any(axis=1)
    others = np.delete(around, row, axis=0)
    crossed = _crosses(markers[row], ends[:, None], others).sum(axis=1)
    costs = _FORBIDDEN * forbidden + _ON_POINT * crossed + _PER_POINT * radius
    return _Label(markers[row], ends, boxes, costs)


def _choose_places(labels: list[_Label]) -> list[_Label]:
    """Choose a place for each label, and return those that hide nothing; the later are left out first."""
    placed: list[_Label] = []
    for label in labels:
        label.place = int(label.costs_beside(placed).argmin())
        placed.append(label)
    for _ in range(_SWEEPS):
        places = [label.place for label in labels]
        for label in labels:
            label.place = int(
                label.costs_beside([other for other in labels if other is not label]).argmin()
            )
        if places == [label.place for label in labels]:
            break
    for label in reversed(labels):
        others = [other for other in placed if other is not label]
        if label.costs_beside(others)[label.place] >= _FORBIDDEN:
            placed = others
    return placed


def _overlap(first: Floats, second: Floats) -> Bools:
    """Return which boxes (left, bottom, right, top) overlap."""
    apart = (first[..., :2] >= second[..., 2:]) | (second[..., :2] >= first[..., 2:])
    return np.asarray(~apart.any(axis=-1))


def _crosses(starts: Floats, ends: Floats, boxes: Floats) -> Bools:
    """Return which segments have points in boxes: those between the last entry and the first exit of a side."""
    step = ends - starts
    step = np.where(step == 0, 1e-9, step)
    sides = np.sort([(boxes[..., :2] - starts) / step, (boxes[..., 2:] - starts) / step], axis=0)
    result: Bools = np.maximum(sides[0].max(axis=-1), 0) < np.minimum(sides[1].min(axis=-1), 1)
    return result


def _meet(start: Floats, ends: Floats, starts: Floats, stops: Floats) -> Bools:
    """Return which segments cross others: the ends of each are on different sides of the other."""

    def sides(a: Floats, b: Floats, c: Floats) -> Floats:
        along, across = b - a, c - a
        result: Floats = np.sign(along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0])
        return result

    result: Bools = (sides(start, ends, starts) * sides(start, ends, stops) < 0) & (
        sides(starts, stops, start) * sides(starts, stops, ends) < 0
    )
    return result
