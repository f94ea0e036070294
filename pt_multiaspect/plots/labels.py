"""Legends inside, beside and above axes, and labels of points.

Labels hide no marker and no other label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Bools, Floats, Ints
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
    """Add a legend, to the right of the axes or at the best place inside."""
    _, texts = ax.get_legend_handles_labels()
    n_entries = len(texts)
    font_size = SMALL
    if n_entries > 20:
        font_size = 6.5
    # Lines need more space than markers to show how they are dashed.
    handle_length = 1.5
    if ax.lines:
        handle_length = 3
    if beside:
        place = _place_beside(ax, n_entries, font_size)
    else:
        place = {"loc": "best", "framealpha": 0.85}
    ax.legend(
        fontsize=font_size,
        title=title,
        title_fontsize=font_size,
        alignment="left",
        handlelength=handle_length,
        **place,
    )


def _place_beside(ax: Axes, n_entries: int, font_size: float) -> dict[str, Any]:
    """Return the parameters of a legend to the right of the axes, which is as high as they."""
    _, axes_height = points_of(ax)
    row_height = 1.45 * font_size
    n_rows = max(axes_height // row_height, 1)
    return {
        "loc": "upper left",
        "bbox_to_anchor": (1.01, 1),
        "borderaxespad": 0,
        "frameon": False,
        "ncols": math.ceil(n_entries / n_rows),
    }


def legend_columns(ax: Axes, handles: Sequence[Any]) -> int:
    """Return the number of columns of a legend that is about as wide as the axes."""
    longest = 0
    for handle in handles:
        text = str(handle.get_label())
        longest = max(longest, len(text))
    # A character is about half as wide as the font size; the marker and the gaps take 2.5 sizes.
    column_width = SMALL * (0.5 * longest + 2.5)
    axes_width, _ = points_of(ax)
    n_fitting = axes_width // column_width
    return int(np.clip(n_fitting, 1, len(handles)))


def add_legend_above(ax: Axes, handles: Sequence[Any] | None = None) -> None:
    """Add a legend above the axes and below their title, in as many columns as fit."""
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
    n_rows = math.ceil(len(handles) / n_columns)
    # A row is 1.65 times as high as its text, and half as much as the text is left free.
    height_in_texts = 1.65 * n_rows + 0.5
    _move_title_up(ax, SMALL * height_in_texts)


def _move_title_up(ax: Axes, points: float) -> None:
    """Place the title of axes higher by so many points, also one that is set later.

    Matplotlib places titles above inset axes, but not above legends. Therefore, invisible inset
    axes are added at this height.
    """
    from matplotlib.transforms import ScaledTranslation

    inches = points / 72
    shift_up = ScaledTranslation(0, inches, ax.figure.dpi_scale_trans)
    # As fractions of the axes: at their upper left corner, of their width, and of almost no height.
    left, bottom, width, height = 0, 1, 1, 0.001
    ax.inset_axes(
        (left, bottom, width, height),
        transform=ax.transAxes + shift_up,
        xticks=[],
        yticks=[],
        frame_on=False,
    )


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
    #: The chosen place.
    place: int = 0

    @property
    def box(self) -> Floats:
        """The left, bottom, right and top of the label at the chosen place."""
        chosen: Floats = self.boxes[self.place]
        return chosen

    @property
    def end(self) -> Floats:
        """The end of the line at the chosen place."""
        chosen: Floats = self.ends[self.place]
        return chosen

    def costs_beside(self, others: list[_Label]) -> Floats:
        """Return the cost of each place of this label if other labels stay at their places.

        It is `self.costs`, which the markers determine, and what each other label adds.
        """
        if not others:
            return self.costs
        added = self._costs_of_others(others).sum(axis=1)
        result: Floats = self.costs + added
        return result

    def _costs_of_others(self, others: list[_Label]) -> Floats:
        """Return what each other label adds to the cost of each place, places × others.

        It adds much if the text or its line is on the other text, or the text on the other line,
        and less if the lines cross.
        """
        points = np.array([other.point for other in others])  # others × 2
        ends = np.array([other.end for other in others])
        boxes = np.array([other.box for other in others])  # others × 4
        # With an axis for the others, the places of this label are compared with all of them.
        own_ends = self.ends[:, np.newaxis]  # places × 1 × 2
        own_boxes = self.boxes[:, np.newaxis]  # places × 1 × 4
        is_on_text = _boxes_overlap(own_boxes, boxes)
        line_is_on_text = _segments_hit_boxes(self.point, own_ends, boxes)
        is_on_line = _segments_hit_boxes(points, ends, own_boxes)
        is_forbidden = is_on_text | line_is_on_text | is_on_line
        lines_cross = _segments_cross(self.point, own_ends, points, ends)
        costs: Floats = _FORBIDDEN * is_forbidden + _ON_LINE * lines_cross
        return costs


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
    # To compute the layout, the whole figure is drawn: `figure` may be a part of it, a subfigure.
    whole_figure = figure.canvas.figure
    whole_figure.draw_without_rendering()
    points_per_pixel = 72.0 / figure.dpi
    markers = ax.transData.transform(points) * points_per_pixel
    frame = np.array(ax.get_window_extent().extents) * points_per_pixel
    labels: dict[int, _Label] = {}
    for row, text in texts.items():
        size = _text_extent(ax, text) * points_per_pixel + 2 * _MARGIN
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


def _text_extent(ax: Axes, text: str) -> Floats:
    """Return the width and the height of a text in pixels."""
    drawn = ax.text(0, 0, text, fontsize=SMALL)
    extent = drawn.get_window_extent()
    drawn.remove()
    return np.array(extent.size)


def _write_label(ax: Axes, label: _Label, text: str, point: Floats, colour: str) -> None:
    """Write a label at its place, with the line to its point.

    `point` is in the units of the axes. `label` is in points (1/72 inch): `label.point`, the box of
    the text, and the end of the line.
    """
    lower_left = label.box[:2]
    upper_right = label.box[2:]
    centre = (lower_left + upper_right) / 2
    size = upper_right - lower_left
    centre_from_point = centre - label.point
    # Where the line ends, as a fraction of the box: its lower left corner is (0, 0), the upper right
    # one (1, 1).
    end_in_box = (label.end - lower_left) / size
    arrow = {
        "arrowstyle": "-",
        "color": colour,
        "lw": 0.7,
        "shrinkA": 0,
        "shrinkB": 3,
        "relpos": end_in_box,
    }
    ax.annotate(
        text,
        tuple(point),
        tuple(centre_from_point),
        textcoords="offset points",
        fontsize=SMALL,
        color=ink(),
        ha="center",
        va="center",
        zorder=4,
        arrowprops=arrow,
    )


def _candidate_places(row: int, markers: Floats, size: Floats, frame: Floats) -> _Label:
    """Return the label of a marker, with its possible places and their costs.

    The costs are those without other labels. All lengths are in points (1/72 inch).

    Parameters
    ----------
    row : int
        The row of the marker in `markers`.
    markers : array, markers × 2
        The positions of all markers.
    size : array
        The width and the height of the label.
    frame : array
        The left, bottom, right and top of the axes.
    """
    marker = markers[row]
    directions, radii = _directions_and_radii()
    ends = marker + radii[:, np.newaxis] * directions  # of the lines from the marker
    boxes = _boxes_at_ends(ends, directions, size)
    marker_boxes = np.hstack([markers - _MARKER, markers + _MARKER])
    other_marker_boxes = np.delete(marker_boxes, row, axis=0)
    # A label must not hide a marker, nor reach out of the frame; its line should cross few other
    # markers, and be short.
    is_forbidden = _hide_any(boxes, marker_boxes) | _reach_out(boxes, frame)
    n_crossed = _count_crossed(marker, ends, other_marker_boxes)
    costs = _FORBIDDEN * is_forbidden + _ON_POINT * n_crossed + _PER_POINT * radii
    return _Label(marker, ends, boxes, costs)


def _hide_any(boxes: Floats, marker_boxes: Floats) -> Bools:
    """Return which boxes hide at least one of the markers, of which these are the boxes."""
    column_of_boxes = boxes[:, np.newaxis]  # boxes × 1 × 4
    overlaps = _boxes_overlap(column_of_boxes, marker_boxes)  # boxes × markers
    hides_any = overlaps.any(axis=1)
    return np.asarray(hides_any, dtype=np.bool_)


def _reach_out(boxes: Floats, frame: Floats) -> Bools:
    """Return which boxes are not wholly inside the frame; all are left, bottom, right and top."""
    left, bottom, right, top = boxes.T
    frame_left, frame_bottom, frame_right, frame_top = frame
    is_beside = (left < frame_left) | (right > frame_right)
    is_above_or_below = (bottom < frame_bottom) | (top > frame_top)
    return np.asarray(is_beside | is_above_or_below, dtype=np.bool_)


def _count_crossed(start: Floats, ends: Floats, boxes: Floats) -> Ints:
    """Return the number of boxes that the line from the start to each end crosses."""
    crosses = _segments_hit_boxes(start, ends[:, np.newaxis], boxes)  # ends × boxes
    n_crossed: Ints = crosses.sum(axis=1)
    return n_crossed


def _directions_and_radii() -> tuple[Floats, Floats]:
    """Return one place around a marker per radius and angle, near ones first.

    Returns
    -------
    directions : array, places × 2
        Vectors of length 1 from the marker.
    radii : array
        The distance of each place, in points.
    """
    radii = np.repeat(_RADII, _N_ANGLES)
    turns = np.tile(np.arange(_N_ANGLES), len(_RADII))
    angles = 2 * np.pi * turns / _N_ANGLES
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return directions, radii


def _boxes_at_ends(ends: Floats, directions: Floats, size: Floats) -> Floats:
    """Return the left, bottom, right and top of the label at each place, places × 4.

    `ends` are those of the lines from the marker, in these directions, and `size` is the width and
    the height of the label.
    """
    sides = _sides_of_lines(directions)
    # The part of the width that is to the left of the end of the line: 0 if the box is on its right
    # (side 1), 1/2 if it is centred (side 0), 1 if it is on its left (side −1). So for the height.
    fraction_before_end = (1 - sides) / 2
    lower_left = ends - fraction_before_end * size
    upper_right = lower_left + size
    return np.hstack([lower_left, upper_right])


def _sides_of_lines(directions: Floats) -> Floats:
    """Return on which side of the end of its line each box is, places × (across, up).

    −1 is left or below, 0 is centred, and 1 is right or above: lines end at the middle of an edge
    of the box. `directions` has the vector of each line, of length 1.
    """
    across, up = directions.T
    # Lines of up to 20° from the vertical end at the lower or upper edge, others at the left or
    # right edge.
    sine_of_20_degrees = 0.35
    is_steep = np.abs(across) <= sine_of_20_degrees
    side_across = np.where(is_steep, 0, np.sign(across))
    side_up = np.where(is_steep, np.sign(up), 0)
    return np.column_stack([side_across, side_up])


def _choose_places(labels: list[_Label]) -> list[_Label]:
    """Choose a place for each label, and return the labels that hide nothing there."""
    # First, each label takes the best place beside those before it.
    placed: list[_Label] = []
    for label in labels:
        _move_to_best_place(label, placed)
        placed.append(label)
    # Then, each label may move, given the places of all others, until none does.
    for _ in range(_SWEEPS):
        places_before = [label.place for label in labels]
        for label in labels:
            _move_to_best_place(label, _others(labels, label))
        places = [label.place for label in labels]
        if places == places_before:
            break
    return _drop_hiding_labels(labels)


def _move_to_best_place(label: _Label, others: list[_Label]) -> None:
    """Move a label to its place of the lowest cost beside other labels."""
    costs = label.costs_beside(others)
    label.place = int(costs.argmin())


def _drop_hiding_labels(labels: list[_Label]) -> list[_Label]:
    """Return the labels without those that hide something; the last ones are dropped first."""
    remaining = labels
    for label in reversed(labels):
        others = _others(remaining, label)
        cost = label.costs_beside(others)[label.place]
        if cost >= _FORBIDDEN:
            remaining = others
    return remaining


def _others(labels: list[_Label], label: _Label) -> list[_Label]:
    """Return the labels besides one."""
    return [other for other in labels if other is not label]


def _boxes_overlap(first: Floats, second: Floats) -> Bools:
    """Return which boxes overlap.

    The last axis of the arrays has left, bottom, right and top; the others are broadcast.
    """
    left, bottom, right, top = np.moveaxis(first, -1, 0)
    other_left, other_bottom, other_right, other_top = np.moveaxis(second, -1, 0)
    overlap_across = (left < other_right) & (other_left < right)
    overlap_up = (bottom < other_top) & (other_bottom < top)
    result: Bools = overlap_across & overlap_up
    return result


def _segments_hit_boxes(starts: Floats, ends: Floats, boxes: Floats) -> Bools:
    """Return which segments have points in boxes.

    The last axis of `starts` and `ends` has x and y, that of `boxes` has left, bottom, right and
    top; the others are broadcast.
    """
    # A point moves from start to end in the time from 0 to 1.
    start_x, start_y = np.moveaxis(starts, -1, 0)
    step_x, step_y = np.moveaxis(ends - starts, -1, 0)
    left, bottom, right, top = np.moveaxis(boxes, -1, 0)
    first_across, last_across = _times_between(start_x, step_x, left, right)
    first_up, last_up = _times_between(start_y, step_y, bottom, top)
    # It is in the box while both coordinates are between the edges.
    first_inside = np.maximum(first_across, first_up)
    last_inside = np.minimum(last_across, last_up)
    first_inside = np.maximum(first_inside, 0)
    last_inside = np.minimum(last_inside, 1)
    result: Bools = first_inside < last_inside
    return result


def _times_between(start: Floats, step: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the first and the last time t at which start + t · step is from low to high."""
    nonzero_step = np.where(step == 0, 1e-9, step)
    time_at_low = (low - start) / nonzero_step
    time_at_high = (high - start) / nonzero_step
    # If the step is negative, the point is at `high` first.
    first = np.minimum(time_at_low, time_at_high)
    last = np.maximum(time_at_low, time_at_high)
    return first, last


def _segments_cross(
    starts: Floats, ends: Floats, other_starts: Floats, other_ends: Floats
) -> Bools:
    """Return which segments cross other segments.

    They do if both ends of each are on different sides of the other.
    """
    side_of_start = _side_of_line(other_starts, other_ends, starts)
    side_of_end = _side_of_line(other_starts, other_ends, ends)
    side_of_other_start = _side_of_line(starts, ends, other_starts)
    side_of_other_end = _side_of_line(starts, ends, other_ends)
    # Sides are 1 and −1: the product of different sides is negative.
    is_separated = side_of_start * side_of_end < 0
    other_is_separated = side_of_other_start * side_of_other_end < 0
    result: Bools = is_separated & other_is_separated
    return result


def _side_of_line(start: Floats, end: Floats, point: Floats) -> Floats:
    """Return 1 if a point is left of the line from `start` to `end`, −1 if right, 0 if on it."""
    line_x, line_y = np.moveaxis(end - start, -1, 0)
    point_x, point_y = np.moveaxis(point - start, -1, 0)
    cross_product = line_x * point_y - line_y * point_x
    result: Floats = np.sign(cross_product)
    return result
