"""Labels of points, placed to hide as little as possible."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ..analysis._frames import Floats
from .style import SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def annotate(ax: Axes, points: Floats, texts: dict[int, str], colours: dict[int, str]) -> None:
    """Label points, placing each label where it hides as few other points, labels and lines as possible."""
    figure = ax.get_figure()
    assert figure is not None
    figure.canvas.figure.draw_without_rendering()  # computes the layout of the axes
    scale = 72.0 / figure.dpi
    positions = ax.transData.transform(points) * scale
    corners = ax.get_window_extent()
    frame = np.array([corners.x0, corners.y0, corners.x1, corners.y1]) * scale
    height = 1.25 * SMALL
    boxes: list[Floats] = []
    lines = np.empty((0, 2))
    for index, text in texts.items():
        width = 0.6 * SMALL * len(text)
        others = positions[[row for row in texts if row != index]]
        best = (math.inf, np.zeros(2), "left", np.zeros(4), lines)
        for radius, turn in product((10, 17, 27, 40, 55, 72), range(16)):
            offset = radius * np.array([math.cos(math.pi * turn / 8), math.sin(math.pi * turn / 8)])
            align = "left" if offset[0] > 0.35 * radius else "right" if offset[0] < -0.35 * radius else "center"
            left, middle = positions[index] + offset - [{"left": 0, "center": width / 2, "right": width}[align], 0]
            box = np.array([left, middle - height / 2, left + width, middle + height / 2])
            line = positions[index] + np.linspace(0.15, 1, 9)[:, None] * offset
            is_outside = (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any()
            cost = 0.03 * radius + 40 * is_outside + 1.5 * _hits(positions, box, 2.5) + 4 * _hits(others, box, 4)
            cost += sum(20 * _overlap(box, placed) + 8 * bool(_hits(line, placed, 1)) for placed in boxes)
            cost += 8 * bool(_hits(lines, box, 1))
            cost += 4 * sum(bool(_hits(line, np.tile(point, 2), 4)) for point in others)
            if cost < best[0]:
                best = cost, offset, align, box, line
        boxes.append(best[3])
        lines = np.vstack([lines, best[4]])
        ax.annotate(
            text, (points[index, 0], points[index, 1]), (best[1][0], best[1][1]), textcoords="offset points",
            fontsize=SMALL, color=colours[index], ha=best[2], va="center", zorder=4,
            arrowprops={"arrowstyle": "-", "color": colours[index], "lw": 0.7, "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip


def _hits(points: Floats, box: Floats, margin: float) -> int:
    """Return the number of points in a box (left, bottom, right, top) widened by the margin."""
    return int(((points > box[:2] - margin) & (points < box[2:] + margin)).all(axis=1).sum())


def _overlap(first: Floats, second: Floats) -> bool:
    """Return whether two boxes overlap."""
    return bool((first[:2] < second[2:]).all() and (second[:2] < first[2:]).all())
