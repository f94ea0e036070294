"""Plots of the values that rankings attain, by topic and on two measures."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from .._typing import Floats, Ints
from .._validation import choice
from ..analysis import AttainableFront
from ..collection.columns import QUERY_COLUMNS, id_column
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices
from ..strings.identifiers import identifiers
from . import style
from .labels import add_legend_above, annotate, unit_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Minimum difference between bound and value that is drawn.
_VISIBLE = 1e-4
#: The colour of boxes, a quarter of `BLUE`.
_PALE = f"{style.BLUE}40"


def upper_bounds(
    ideal: pd.DataFrame | None = None,
    bounds: pd.DataFrame | None = None,
    *,
    sort: str = "name",
    measure: Measure | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the values of ideal rankings and the maximum attainable value, per topic.

    A box shows the values of all strategies: its edges are the quartiles, the line in it is the median, and
    the whiskers end at the minimum and the maximum.

    Parameters
    ----------
    ideal : DataFrame, optional
        Columns ``qid strategy value``, as `analysis.ideal_values` returns; drawn as boxes. The result of
        `analysis.upper_bound` is also accepted here and used as `bounds`.
    bounds : DataFrame, optional
        Columns ``qid value bound``, as `analysis.upper_bound` returns, for the same topics. Diamonds are the
        best values found. Triangles are upper bounds, drawn where they exceed the value by more than 0.0001.
    sort : {'name', 'bound'}, default 'name'
        The order of topics: by name, with numbers compared as numbers, or by bound, highest first (by
        the highest value without `bounds`).
    measure : measure or str, optional
        The measure, for the label of the vertical axis.
    ax : Axes, optional
        Axes to draw on. By default, a new figure, whose width depends on the number of topics.

    Returns
    -------
    Axes
        Topics are at positions 1, 2, … of the horizontal axis.

    Raises
    ------
    MultiAspectError
        If neither frame is given, a column is missing, a value is not a finite number, rows are duplicated, the
        frames have different topics, or a frame is empty.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, Fig. 2.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> rows = [("q1", "sum", 0.9), ("q1", "max", 0.8), ("q2", "sum", 0.7), ("q2", "max", 0.75)]
    >>> ax = plots.upper_bounds(pd.DataFrame(rows, columns=["qid", "strategy", "value"]))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['q1', 'q2']
    """
    choice("sort", "name", "bound")(sort)
    ideal = as_pandas(ideal)
    if isinstance(ideal, pd.DataFrame) and "bound" in ideal.columns:
        if bounds is not None:
            raise MultiAspectError("ideal has a column bound, as from analysis.upper_bound: pass it as bounds=")
        ideal, bounds = None, ideal
    if ideal is None and bounds is None:
        raise MultiAspectError("expected the result of analysis.ideal_values or analysis.upper_bound, got None")
    groups: dict[Any, Floats] = {}
    maxima: pd.DataFrame | None = None
    if ideal is not None:
        values = _values_by_topic(ideal, ["strategy", "value"], ["strategy"], "ideal")
        groups = {qid: group["value"].to_numpy(float) for qid, group in values.groupby("topic")}
    if bounds is not None:
        maxima = _values_by_topic(bounds, ["value", "bound"], [], "bounds").set_index("topic")
        if groups and (unshared := set(groups) ^ set(maxima.index)):
            raise MultiAspectError(
                f"expected the same topics in ideal ({len(groups)}) and bounds ({len(maxima)}), got "
                f"{choices(sorted(unshared, key=style.natural_key))} in only one of them"
            )
    best = maxima["bound"].to_dict() if maxima is not None else {qid: max(group) for qid, group in groups.items()}
    topics = sorted(map(str, best), key=style.natural_key)
    if sort == "bound":
        topics.sort(key=lambda qid: -best[qid])
    ticks = np.arange(1, len(topics) + 1)
    ax = style.axes_or_new(ax, float(np.clip(1.6 + 0.19 * len(topics), 6.4, 24)), 4.2, grid="y")
    handles: list[Any] = []
    if groups:
        handles.append(_draw_boxes(ax, ticks, [groups[qid] for qid in topics]))
    if maxima is not None:
        handles += _draw_bounds(ax, ticks, maxima.loc[topics])
    add_legend_above(ax, handles)
    crowded = len(topics) > 12 or max(map(len, topics)) > 5
    ax.set_xticks(ticks, topics, rotation=90 if crowded else 0, fontsize=style.SMALL)
    ax.set_xlim(0.3, len(topics) + 0.7)
    ax.set_xlabel("topic" if sort == "name" else "topic, highest bound first")
    ax.set_ylabel("value" if measure is None else style.wrap(str(measure), 34))
    return ax


def _draw_boxes(ax: Axes, ticks: Ints, groups: list[Floats]) -> Any:
    """Draw a box for the values of each topic, and return the entry of the legend."""
    ax.boxplot(
        groups, positions=ticks.tolist(), widths=0.62, whis=(0, 100),
        patch_artist=True, showfliers=False, manage_ticks=False,
        boxprops={"facecolor": _PALE, "edgecolor": style.BLUE, "linewidth": 1},
        medianprops={"color": style.ink(), "linewidth": 1.6},
        whiskerprops={"color": style.BLUE}, capprops={"color": style.BLUE},
    )  # fmt: skip
    return unit_square("ideal rankings of all strategies", facecolor=_PALE, edgecolor=style.BLUE)


def _draw_bounds(ax: Axes, ticks: Ints, maxima: pd.DataFrame) -> Iterator[Any]:
    """Draw the best value found for each topic, and the bound where it is higher; yield entries of the legend."""
    value, bound = (maxima[column].to_numpy(float) for column in ("value", "bound"))
    yield ax.scatter(ticks, value, s=20, marker="D", color=style.ORANGE, zorder=4, label="best value found")
    above = bound - value > _VISIBLE
    if above.any():
        yield ax.scatter(
            ticks[above], bound[above], s=34, marker="v", facecolors="none", edgecolors=style.ink(), lw=1.1,
            zorder=3, label="proven upper bound, where higher",
        )  # fmt: skip


def _values_by_topic(data: object, columns: list[str], keys: list[str], name: str) -> pd.DataFrame:
    """Return the checked columns of a frame and a column ``topic``, with one row per topic and `keys`."""
    source = {"ideal": "analysis.ideal_values", "bounds": "analysis.upper_bound"}[name]
    frame = style.with_columns(data, columns, name, source)
    result = frame[columns].assign(topic=identifiers(id_column(frame, QUERY_COLUMNS[::-1], name), name))
    for column in (column for column in columns if column not in keys):
        numbers = pd.to_numeric(result[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            raise MultiAspectError(
                f"{name}: expected finite numbers, got the {column} {result[column].iloc[int(wrong[0])]} on topic "
                f"{result['topic'].iloc[int(wrong[0])]}"
            )
        result[column] = numbers
    twice = result[result.duplicated(["topic", *keys])]
    if len(twice):
        raise MultiAspectError(
            f"{name}: expected one row per {' and '.join(['topic', *keys])}, got more for topic "
            f"{twice['topic'].iloc[0]}" + "".join(f" and {key} {twice[key].iloc[0]}" for key in keys)
        )
    return result


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
        named = style.rows_to_label(label, shown["name"].tolist(), nearest)
    signs = [-1.0 if measure.lower_is_better else 1.0 for measure in front.measures.values()]
    ax = style.axes_or_new(ax, 6.4, 5.2, grid="both")
    line = points if front.kind == "supported" else _steps(points)
    drawn = line if shown is None else np.vstack([line, shown[measures].to_numpy(dtype=np.float64)])
    low = _worst(drawn, signs)
    outline = np.vstack([[line[0, 0], low[1]], line, [low[0], line[-1, 1]]])
    ax.fill(*np.vstack([outline, low]).T, color=style.BLUE, alpha=0.25, linewidth=0, label="dominated by the front")
    ax.plot(*outline.T, color=style.BLUE, lw=0.8, ls=":")
    ax.plot(*line.T, color=style.BLUE, lw=1.2, label=f"front ({front.kind})")
    if len(points) <= 60:
        ax.scatter(points[:, 0], points[:, 1], s=14, marker="o", color=style.BLUE, zorder=3)
    if alpha is not None:
        reference = front.reference(alpha, perquery=qid is not None)
        if qid is not None:
            reference = reference[(reference["qid"] == str(qid)).to_numpy()]
        coordinates = reference[measures].to_numpy(dtype=np.float64)[:1]
        x, y = coordinates.T
        ax.scatter(x, y, 70, marker="*", color=style.ink(), zorder=5, label=f"reference point (α = {alpha:g})")
        line = np.vstack([line, coordinates])
    for axis, name, sign in zip((ax.xaxis, ax.yaxis), measures, signs, strict=True):
        where = "mean over topics" if qid is None else f"topic {qid}"
        axis.set_label_text(f"{style.wrap(name)}\n{where}{'' if sign > 0 else ', lower is better'}")
        axis.set_inverted(sign < 0)
    ax.margins(0.05)
    if shown is not None:
        line = np.vstack([_draw_systems(ax, shown, measures), line])
    add_legend_above(ax)
    if shown is not None:
        annotate(ax, line, {row: style.shorten(str(shown["name"].iloc[row]), 26) for row in named})
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
    systems = style.with_columns(
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
        (~is_best, style.paper(), style.GREY, "system, dominated by another"),
        (is_best, style.ORANGE, style.ORANGE, "system, not dominated by another"),
    ):
        if some_of.any():
            x, y = coordinates[some_of].T
            ax.scatter(x, y, 34, marker="s", facecolors=colour, edgecolors=edge, zorder=4, label=text)
    return coordinates
