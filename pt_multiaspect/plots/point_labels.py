"""Labels of points that hide no marker and no other label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Bools, Floats
from .style import SMALL, ink

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Half the size of the largest marker, and the distances of labels from their points, in points (1/72 inch).
_MARKER, _RADII, _N_ANGLES = 4.2, (10, 14, 20, 28, 39, 54, 76, 106), 24
#: Costs of a place: what it must not hide, a line that it crosses, a marker that its line crosses; per point.
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
        points, ends = np.array([(label.point, label.ends[label.place]) for label in others]).swapaxes(0, 1)
        own_boxes, own_ends = self.boxes[:, None], self.ends[:, None]
        forbidden = _overlap(own_boxes, boxes) | _crosses(self.point, own_ends, boxes)
        forbidden |= _crosses(points, ends, own_boxes)
        crossings = _meet(self.point, own_ends, points, ends)
        result: Floats = self.costs + (_FORBIDDEN * forbidden + _ON_LINE * crossings).sum(axis=1)
        return result


def annotate(ax: Axes, points: Floats, texts: dict[int, str], colours: dict[int, str] | None = None) -> int:
    """Label points, those that come first in `texts` with preference, and return the number of labels left out.

    No label is on a marker, on another label or the line to one, or outside the axes. Labels without such a place
    are left out.

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
        sizes.append(np.array(drawn.get_window_extent().size) * scale)
        drawn.remove()
    labels = [_label(row, markers, size, frame) for row, size in zip(texts, sizes, strict=True)]
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


def _label(row: int, markers: Floats, size: Floats, frame: Floats) -> _Label:
    """Return the places around a marker, from near to far, with what they cost without other labels."""
    radius, turn = (part.ravel() for part in np.meshgrid(_RADII, np.arange(_N_ANGLES), indexing="ij"))
    direction = np.column_stack([np.cos(2 * np.pi * turn / _N_ANGLES), np.sin(2 * np.pi * turn / _N_ANGLES)])
    side = np.where(np.abs(direction) > [0.35, 2], np.sign(direction), 0)  # −1: at the right edge of the box
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
            label.place = int(label.costs_beside([other for other in labels if other is not label]).argmin())
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
