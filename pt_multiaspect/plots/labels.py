"""Legends inside, beside and above axes, and labels of points.

Labels hide no marker and no other label.
"""

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
    size = SMALL
    if n_entries > 20:
        size = 6.5
    place: dict[str, Any] = {"loc": "best", "framealpha": 0.85}
    if beside:
        n_rows = max(points_of(ax)[1] // (1.45 * size), 1)
        place = {
            "loc": "upper left",
            "bbox_to_anchor": (1.01, 1),
            "borderaxespad": 0,
            "frameon": False,
            "ncols": math.ceil(n_entries / n_rows),
        }
    length = 1.5
    if ax.lines:
        length = 3
    ax.legend(
        fontsize=size,
        title=title,
        title_fontsize=size,
        alignment="left",
        handlelength=length,
        **place,
    )


def legend_columns(ax: Axes, handles: Sequence[Any]) -> int:
    """Return the number of columns of a legend that is about as wide as the axes."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    column_width = SMALL * (0.5 * longest + 2.5)
    axes_width, _ = points_of(ax)
    return int(np.clip(axes_width // column_width, 1, len(handles)))


def add_legend_above(ax: Axes, handles: Sequence[Any] | None = None) -> None:
    """Add a legend above the axes and below their title, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    if handles is None:
        handles, _ = ax.get_legend_handles_labels()
    n_columns = legend_columns(ax, handles)
    ax.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=n_columns,
        frameon=False,
        fontsize=SMALL,
        handletextpad=0.4,
        columnspacing=1.2,
        borderaxespad=0.2,
        handlelength=1.5,
    )
    # A title, also one that is set later, is placed above inset axes, but not above legends.
    n_rows = math.ceil(len(handles) / n_columns)
    height = SMALL * (1.65 * n_rows + 0.5) / 72
    above = ax.transAxes + ScaledTranslation(0, height, ax.figure.dpi_scale_trans)
    ax.inset_axes((0, 1, 1, 0.001), transform=above, xticks=[], yticks=[], frame_on=False)


#: Half the size of the largest marker, in points (1/72 inch).
_MARKER = 4.2
#: The distances of labels from their points, in points (1/72 inch).
_RADII = (10, 14, 20, 28, 39, 54, 76)
#: The number of directions of labels from their points.
_N_ANGLES = 24
#: The space that is kept free around labels, in points (1/72 inch).
_MARGIN = 1.0
#: The cost of a place that hides what it must not hide.
_FORBIDDEN = 1000.0
#: The cost of each line that a place or its line crosses.
_ON_LINE = 10.0
#: The cost of each marker that the line of a place crosses.
_ON_POINT = 4.0
#: The cost of the distance from the point.
_PER_POINT = 0.05
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
        points = np.array([label.point for label in others])
        ends = np.array([label.ends[label.place] for label in others])
        own_boxes = self.boxes[:, None]  # places × 1 × 4
        own_ends = self.ends[:, None]  # places × 1 × 2
        forbidden = _overlap(own_boxes, boxes)  # places × others
        forbidden |= _crosses(self.point, own_ends, boxes)
        forbidden |= _crosses(points, ends, own_boxes)
        crossings = _meet(self.point, own_ends, points, ends)
        costs = _FORBIDDEN * forbidden + _ON_LINE * crossings
        result: Floats = self.costs + costs.sum(axis=1)
        return result


def annotate(
    ax: Axes, points: Floats, texts: dict[int, str], colours: dict[int, str] | None = None
) -> int:
    """Label points, the first with preference, and return the number of labels left out.

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
    labels = {}
    for row, text in texts.items():
        drawn = ax.text(0, 0, text, fontsize=SMALL)
        size = np.array(drawn.get_window_extent().size) * scale + 2 * _MARGIN
        drawn.remove()
        labels[row] = _candidate_places(row, markers, size, frame)
    shown = _choose_places(list(labels.values()))
    for row, label in labels.items():
        if label not in shown:
            continue
        colour = ink()
        if colours is not None:
            colour = colours[row]
        _write_label(ax, label, texts[row], points[row], colour)
    return len(labels) - len(shown)


def _write_label(ax: Axes, label: _Label, text: str, point: Floats, colour: str) -> None:
    """Write a label at its place, with the line to its point."""
    box = label.boxes[label.place]
    end = label.ends[label.place]
    lower = box[:2]
    upper = box[2:]
    middle = (lower + upper) / 2
    arrow = {
        "arrowstyle": "-",
        "color": colour,
        "lw": 0.7,
        "shrinkA": 0,
        "shrinkB": 3,
        "relpos": (end - lower) / (upper - lower),
    }
    ax.annotate(
        text,
        tuple(point),
        tuple(middle - label.point),
        textcoords="offset points",
        fontsize=SMALL,
        color=ink(),
        ha="center",
        va="center",
        zorder=4,
        arrowprops=arrow,
    )


def _candidate_places(row: int, markers: Floats, size: Floats, frame: Floats) -> _Label:
    """Return the places around a marker, near ones first, with their costs without other labels."""
    radius = np.repeat(_RADII, _N_ANGLES)
    turn = np.tile(np.arange(_N_ANGLES), len(_RADII))
    angle = 2 * np.pi * turn / _N_ANGLES
    direction = np.column_stack([np.cos(angle), np.sin(angle)])
    # Where the box is, across and up: −1 before the end of the line, 0 around it, 1 after it.
    side = np.where(np.abs(direction) > [0.35, 2], np.sign(direction), 0)
    is_centred = side[:, 0] == 0
    side[is_centred, 1] = np.sign(direction[is_centred, 1])
    ends = markers[row] + radius[:, None] * direction
    lower = ends + (side - 1) * size / 2
    upper = lower + size
    boxes = np.hstack([lower, upper])
    marker_boxes = np.hstack([markers - _MARKER, markers + _MARKER])
    forbidden = _overlap(boxes[:, None], marker_boxes).any(axis=1)
    forbidden |= (lower < frame[:2]).any(axis=1)
    forbidden |= (upper > frame[2:]).any(axis=1)
    other_markers = np.delete(marker_boxes, row, axis=0)
    n_crossed = _crosses(markers[row], ends[:, None], other_markers).sum(axis=1)
    costs = _FORBIDDEN * forbidden + _ON_POINT * n_crossed + _PER_POINT * radius
    return _Label(markers[row], ends, boxes, costs)


def _choose_places(labels: list[_Label]) -> list[_Label]:
    """Choose a place for each label, and return those that hide nothing.

    The later are left out first.
    """
    placed: list[_Label] = []
    for label in labels:
        label.place = int(label.costs_beside(placed).argmin())
        placed.append(label)
    for _ in range(_SWEEPS):
        places = [label.place for label in labels]
        for label in labels:
            costs = label.costs_beside(_others(labels, label))
            label.place = int(costs.argmin())
        if places == [label.place for label in labels]:
            break
    for label in reversed(labels):
        others = _others(placed, label)
        if label.costs_beside(others)[label.place] >= _FORBIDDEN:
            placed = others
    return placed


def _others(labels: list[_Label], label: _Label) -> list[_Label]:
    """Return the labels besides one."""
    return [other for other in labels if other is not label]


def _overlap(first: Floats, second: Floats) -> Bools:
    """Return which boxes (left, bottom, right, top) overlap."""
    is_after = first[..., :2] >= second[..., 2:]
    is_before = second[..., :2] >= first[..., 2:]
    is_apart = (is_after | is_before).any(axis=-1)
    return np.asarray(~is_apart)


def _crosses(starts: Floats, ends: Floats, boxes: Floats) -> Bools:
    """Return which segments have points in boxes.

    These are the points between the last entry and the first exit of a side.
    """
    step = ends - starts
    step = np.where(step == 0, 1e-9, step)
    to_lower = (boxes[..., :2] - starts) / step
    to_upper = (boxes[..., 2:] - starts) / step
    entry = np.minimum(to_lower, to_upper).max(axis=-1)
    exit_ = np.maximum(to_lower, to_upper).min(axis=-1)
    result: Bools = np.maximum(entry, 0) < np.minimum(exit_, 1)
    return result


def _meet(start: Floats, ends: Floats, starts: Floats, stops: Floats) -> Bools:
    """Return which segments cross others: the ends of each are on different sides of the other."""
    sides_of_others = _side(start, ends, starts) * _side(start, ends, stops)
    own_sides = _side(starts, stops, start) * _side(starts, stops, ends)
    result: Bools = (sides_of_others < 0) & (own_sides < 0)
    return result


def _side(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the side of the line from `a` to `b` on which `c` is, as 1 or −1; 0 on the line."""
    along = b - a
    across = c - a
    determinant = along[..., 0] * across[..., 1] - along[..., 1] * across[..., 0]
    result: Floats = np.sign(determinant)
    return result
