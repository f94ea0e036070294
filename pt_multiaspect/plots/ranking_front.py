"""A plot of the values that rankings attain on two measures, and of systems."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._typing import Floats
from ..analysis import AttainableFront
from ..collection.columns import QUERY_COLUMNS, id_column
from ..errors import MultiAspectError, choices
from ..strings.identifiers import identifiers
from .legends import add_legend_above
from .point_labels import annotate
from .style import BLUE, GREY, ORANGE, axes_or_new, ink, paper, rows_to_label, shorten, with_columns, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def ranking_front(
    front: AttainableFront,
    systems: pd.DataFrame | None = None,
    *,
    qid: object = None,
    alpha: float | None = 0.5,
    label: int | Sequence[Hashable] = 5,
    ax: Axes | None = None,
) -> Axes:
    """Plot the values that rankings attain on two measures, the area that they dominate, and systems.

    Parameters
    ----------
    front : AttainableFront
        The result of `analysis.attainable_front` for two measures.
    systems : DataFrame, optional
        The result of its method ``systems``, with ``perquery=True`` if `qid` is given.
    qid : str, optional
        The topic. By default, means over topics are plotted.
    alpha : float in [0, 1] or None, default 0.5
        The position of the reference point along the front; None to omit it.
    label : int or sequence of names, default 5
        The systems to label: their names, or the number of those that are nearest to the front. A name for which
        there is no free place is omitted.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The front of ``kind='supported'`` is a line, as mixtures of rankings attain the values between its
        points; that of ``kind='all'`` has steps. The axis of a lower-is-better measure is inverted, so that better
        values are always at the top right. Systems that no other system dominates are filled.

    Raises
    ------
    MultiAspectError
        If the front has three measures, the topic is unknown, or ``systems`` does not belong to the front.
    ImportError
        If matplotlib is not installed.

    Notes
    -----
    Stability: provisional. It shows the result of `attainable_front`, which may change.

    Examples
    --------
    >>> import matplotlib
    >>> import pt_multiaspect as ma
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}}
    >>> front = ma.analysis.attainable_front(qrels, "nDCG", aspects={"relevance": 1, "credibility": 1})
    >>> ax = plots.ranking_front(front, front.systems({"mine": {"q1": {"d1": 1.0}}}))
    >>> [text.get_text() for text in ax.texts]
    ['mine']
    """
    if not isinstance(front, AttainableFront) or len(front.measures) != 2:
        raise MultiAspectError(
            "front: expected the result of analysis.attainable_front for two measures, got "
            + (f"three: {choices(front.measures)}" if isinstance(front, AttainableFront) else type(front).__name__)
        )
    measures = list(front.measures)
    points = _points(front, qid)
    shown = None if systems is None else _systems(systems, measures, qid)
    named: list[int] = []
    if shown is not None:
        nearest = np.argsort(shown["nearest"].to_numpy(), kind="stable")
        named = rows_to_label(label, shown["name"].tolist(), nearest)
    signs = [-1.0 if measure.lower_is_better else 1.0 for measure in front.measures.values()]
    ax = axes_or_new(ax, 6.4, 5.2, grid="both")
    line = points if front.kind == "supported" else _steps(points)
    drawn = line if shown is None else np.vstack([line, shown[measures].to_numpy(dtype=np.float64)])
    low = _worst(drawn, signs)
    outline = np.vstack([[line[0, 0], low[1]], line, [low[0], line[-1, 1]]])
    ax.fill(*np.vstack([outline, low]).T, color=BLUE, alpha=0.12, linewidth=0, label="dominated by the front")
    ax.plot(*outline.T, color=BLUE, lw=0.8, ls=":")
    ax.plot(*line.T, color=BLUE, lw=1.2, label=f"front ({front.kind})")
    if len(points) <= 60:
        ax.scatter(points[:, 0], points[:, 1], s=14, marker="o", color=BLUE, zorder=3)
    if alpha is not None:
        reference = front.reference(alpha, perquery=qid is not None)
        if qid is not None:
            reference = reference[(reference["qid"] == str(qid)).to_numpy()]
        coordinates = reference[measures].to_numpy(dtype=np.float64)[:1]
        x, y = coordinates.T
        ax.scatter(x, y, 70, marker="*", color=ink(), zorder=5, label=f"reference point (α = {alpha:g})")
        line = np.vstack([line, coordinates])
    for axis, name, sign in zip((ax.xaxis, ax.yaxis), measures, signs, strict=True):
        where = "mean over topics" if qid is None else f"topic {qid}"
        axis.set_label_text(f"{wrap(name)}\n{where}{'' if sign > 0 else ', lower is better'}")
        axis.set_inverted(sign < 0)
    ax.margins(0.05)
    if shown is not None:
        line = np.vstack([_draw_systems(ax, shown, measures), line])
    add_legend_above(ax)
    if shown is not None:
        annotate(ax, line, {row: shorten(str(shown["name"].iloc[row]), 26) for row in named})
    return ax


def _points(front: AttainableFront, qid: object) -> Floats:
    """Return the points of a topic, or of the means."""
    table = front.mean
    if qid is not None:
        name = front.judgments.qids[front.judgments.query_position(qid)]
        table = front.points[(front.points["qid"] == name).to_numpy()]
    return table[list(front.measures)].to_numpy(dtype=np.float64)


def _systems(frame: object, measures: list[str], qid: object) -> pd.DataFrame:
    """Return the rows of the systems to plot."""
    systems = with_columns(
        frame, ["name", *measures, "nearest", "dominated_by"], "systems", "AttainableFront.systems"
    )
    if (qid is None) is ("qid" in systems.columns):
        raise MultiAspectError(
            "systems: expected the result of AttainableFront.systems "
            + ("with means; give qid= to plot one topic" if qid is None else "with perquery=True, as qid= is given")
        )
    if qid is None:
        return systems
    is_topic = identifiers(id_column(systems, QUERY_COLUMNS, "systems"), "systems") == str(qid)
    return systems[np.asarray(is_topic)]


def _steps(points: Floats) -> Floats:
    """Return the corners of the dominated area: between neighbours, the worse value of the two on each measure."""
    inner = np.column_stack([points[1:, 0], points[:-1, 1]])
    stairs = np.empty((2 * len(points) - 1, 2))
    stairs[::2], stairs[1::2] = points, inner
    return stairs


def _worst(points: Floats, signs: list[float]) -> Floats:
    """Return a point that is slightly worse than all points on both measures."""
    oriented = points * signs
    low, high = oriented.min(axis=0), oriented.max(axis=0)
    return np.asarray((low - np.maximum(0.08 * (high - low), 0.02)) * signs, dtype=np.float64)


def _draw_systems(ax: Axes, systems: pd.DataFrame, measures: list[str]) -> Floats:
    """Draw the systems, and return their coordinates."""
    coordinates = systems[measures].to_numpy(dtype=np.float64)
    is_best = np.array([not len(others) for others in systems["dominated_by"]], dtype=np.bool_)
    for some_of, colour, edge, text in (
        (~is_best, paper(), GREY, "system, dominated by another"),
        (is_best, ORANGE, ORANGE, "system, not dominated by another"),
    ):
        if some_of.any():
            x, y = coordinates[some_of].T
            ax.scatter(x, y, 34, marker="s", facecolors=colour, edgecolors=edge, zorder=4, label=text)
    return coordinates
