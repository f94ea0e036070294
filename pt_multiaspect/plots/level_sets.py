"""A plot of the order of the label tuples of two aspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from ir_measures import Measure

from .._numbers import spell
from .._typing import Floats
from ..aspects import Aspects
from ..aspects.parameter import declared_aspects
from ..errors import MultiAspectError, choices, shown
from ..measures import TOMA
from ..orders import TupleOrder
from ..orders.explicit import Order
from .style import GREY, SMALL, axes_or_new, colours_of, number_size, paper, points_of, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of label tuples for which there is space for numbers.
_MOST_TUPLES = 441


def level_sets(
    order: TupleOrder | Measure | str | float,
    aspects: Aspects | Mapping[str, Any] | str | PathLike[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot the order of the label tuples of two aspects.

    Every label tuple is a point whose coordinates are the gains of its grades. The axes have equal lengths if
    the order has ``axes='equal'``, and are stretched by the weights. The best tuple is at the top right. Axes
    are drawn to scale, unless one is more than five times as long as the other. Lines connect equally good
    tuples. The number in a point is its class (0 is the farthest from the best tuple) or, for an explicit
    order, its weight. Crosses are impossible tuples, excluded by the gate or without a weight.

    Parameters
    ----------
    order : DistanceOrder, Order, TOMA measure, str or float
        The order. A str or a float is a distance, as for TOMA, or the name of an order.
    aspects : Aspects, mapping, str or path, optional
        Two aspects with declared grades. Required for a distance and for a measure without declared scales.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        Ticks are at the gains of the grades and labelled with the grades.

    Raises
    ------
    MultiAspectError
        If the number of aspects is not two, grades are not declared, there are more than 441 tuples, aspects
        are missing or given twice, or `order` does not define an order of tuples.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, Fig. 1.

    Examples
    --------
    >>> import matplotlib
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> ax = plots.level_sets("manhattan", {"relevance": 3, "correctness": 2})
    >>> sorted({int(text.get_text()) for text in ax.texts})
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
    ordering = _ordering(order, aspects)
    _check_size(ordering)
    coordinates = ordering.coordinates()
    level, excluded = _levels(ordering)
    distinct = sorted(set(level.values()))
    is_new = ax is None
    spans = np.array([max(float(np.ptp(axis)), 1e-9) for axis in coordinates])
    n_grades = np.array([len(scale) for scale in ordering.scales])
    lengths, is_equal = 0.6 * n_grades, max(spans) <= 5 * min(spans)
    if is_equal:
        lengths = spans * max(lengths / spans)
    ax = axes_or_new(ax, *np.clip(1.8 + lengths, 4.4, 9.5).tolist())
    units = points_of(ax) / spans
    if is_equal:  # so that distances can be compared
        ax.set_aspect("equal", adjustable="box" if is_new else "datalim")
        units = np.full(2, min(units))
    size = float(np.clip((0.5 * min(units * spans / (n_grades + 0.5))) ** 2, 60, 420))
    where = {grades: (coordinates[0][grades[0]], coordinates[1][grades[1]]) for grades in [*level, *excluded]}
    points = [
        np.array([where[grades] for grades, weight in level.items() if weight == value]) for value in distinct
    ]
    _draw_classes(ax, points, distinct, np.array([axis[-1] for axis in coordinates]), size)
    if excluded:
        across, up = zip(*(where[grades] for grades in excluded), strict=True)
        ax.scatter(across, up, s=size / 3, marker="x", color=GREY, lw=1.2, zorder=2, label="impossible")
        ax.legend(loc="lower left", bbox_to_anchor=(1.01, 0), borderaxespad=0, frameon=False, fontsize=SMALL)
    _label_axes(ax, ordering, coordinates)
    ax.margins(*(0.6 / len(scale) for scale in ordering.scales))
    ax.set_title(f"{len(distinct)} class{'' if len(distinct) == 1 else 'es'} by {ordering}", fontsize="medium")
    return ax


def _ordering(order: object, aspects: object) -> TupleOrder:
    """Return the order of tuples for any argument that `level_sets` accepts."""
    measure: Any
    parameters = getattr(order, "parameters", None)
    if parameters is not None:
        measure = TOMA(**parameters)
    elif hasattr(order, "SUPPORTED_PARAMS"):
        measure = order
        if getattr(order, "order", None) is None:
            raise _no_order(order)
    elif isinstance(order, str) and (order in Order.registry or order.lstrip().startswith("{")):
        measure = TOMA(order=order)
    else:
        measure = TOMA(distance=order)
    if isinstance(measure.spec, Aspects):
        if aspects is not None:
            raise MultiAspectError(f"the order already defines its aspects ({choices(measure.spec)}); omit aspects")
        aspects = measure.spec
    if isinstance(aspects, str | PathLike):
        aspects = declared_aspects(aspects)
    if not isinstance(aspects, Mapping):
        raise MultiAspectError(
            f"level_sets: expected two aspects with their grades for the distance {measure['distance']}, such as "
            f"aspects={{'relevance': 3, 'credibility': 2}}, got {shown(aspects)}"
        )
    result: TupleOrder | None = measure.order(aspects)
    if result is None:
        raise _no_order(order)
    return result


def _check_size(ordering: TupleOrder) -> None:
    """Raise an error unless an order has two aspects and few enough tuples."""
    if len(ordering.names) != 2:
        raise MultiAspectError(
            f"level_sets: expected two aspects, got {len(ordering.names)} ({choices(ordering.names)})"
        )
    if ordering.n_tuples > _MOST_TUPLES:
        raise MultiAspectError(
            f"level_sets: expected at most {_MOST_TUPLES} label tuples, got {ordering.n_tuples} "
            f"(scales of {choices(len(scale) for scale in ordering.scales)} grades)"
        )


def _draw_classes(ax: Axes, classes: list[Floats], weights: list[float], best: Floats, size: float) -> None:
    """Draw the points of each class, connected by angle as seen from the best tuple, with the weight in them."""
    from matplotlib.colors import to_rgb

    lowest = 0.25 if text_colour(to_rgb(paper())) == "white" else 0.0  # dark colours are for light backgrounds
    colours = colours_of("cividis", np.linspace(lowest, 0.75, len(classes)))
    for points, weight, colour in zip(classes, weights, colours, strict=True):
        gaps = best - points
        points = points[np.lexsort((gaps.sum(axis=1), np.arctan2(gaps[:, 1], gaps[:, 0])))]
        if len(points) > 1:
            ax.plot(points[:, 0], points[:, 1], color=colour, lw=1.6, zorder=1)
        is_best = weight == weights[-1]
        face = colour if is_best else "white"
        ax.scatter(points[:, 0], points[:, 1], s=size, color=face, edgecolors=colour, lw=1.6, zorder=2)
        for across, up in points.tolist():
            ax.text(
                across, up, spell(weight), ha="center", va="center", zorder=3,
                color=text_colour(colour) if is_best else "black", fontsize=number_size(size, spell(weight)),
            )  # fmt: skip


def _label_axes(ax: Axes, ordering: TupleOrder, coordinates: Sequence[Floats]) -> None:
    """Label the axes with the aspects and their weights, and the ticks with the grades of equal gain."""
    for axis, name, scale, gains in zip(
        (ax.xaxis, ax.yaxis), ordering.names, ordering.scales, coordinates, strict=True
    ):
        grades_at: dict[float, list[str]] = {}
        for gain, grade in zip(gains.tolist(), scale.grades.tolist(), strict=True):
            grades_at.setdefault(gain, []).append(spell(grade))
        axis.set_ticks(list(grades_at), [", ".join(grades) for grades in grades_at.values()])
        weight = (ordering.aspect_weights or {}).get(name, 1.0)
        axis.set_label_text(name if weight == 1 else f"{name} (weight {spell(weight)})")


def _no_order(measure: object) -> MultiAspectError:
    return MultiAspectError(f"level_sets: expected TOMA, a distance or an order of label tuples, got {measure}")


def _levels(ordering: TupleOrder) -> tuple[dict[tuple[int, ...], float], list[tuple[int, ...]]]:
    """Return the weight of every possible tuple of grade indices, and the impossible tuples."""
    tuples = np.array(list(product(*(range(len(scale)) for scale in ordering.scales))), dtype=np.intp)
    possible = ordering.is_possible(tuples)
    weights = ordering.weights(tuples[possible]).tolist()
    level = dict(zip(map(tuple, tuples[possible].tolist()), weights, strict=True))
    return level, [tuple(grades) for grades in tuples[~possible].tolist()]
