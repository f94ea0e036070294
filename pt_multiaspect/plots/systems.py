"""Plots of the means of systems on one or several measures, and of the settings of a search."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from .._typing import Bools, Floats
from ..analysis import compare_with_baseline, rank_correlation
from ..analysis._pairs import read_baselines
from ..analysis._value_matrices import directions, matrix, rows_of_measures, select_measures
from ..analysis.correlation import round_scores
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, choices, number_of
from ..evaluation import aggregate, interval_columns
from ..evaluation.long_frames import find_labels, measures_by_label
from ..evaluation.topic_clusters import ClusterSpec
from ..integration.aggregators import aggregate_is_mean
from ..kernels.pareto import is_on_front
from . import style
from .labels import add_legend_above, annotate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Font size in points.
_TEXT = 7.0
#: The height of a row in inches at which rows of this size do not touch.
_ROW = 0.125
#: The width of a column of a paper in inches.
_COLUMN = 3.3
#: The widths of the names and of a panel in a figure over two columns, in inches.
_NAMES = 1.2
_PANEL = 1.4
#: The number of characters below one or two panels in a column; 26 fit below others.
_ROOM = {1: 36, 2: 18}


@style.with_literal_texts
def values(
    perquery: Any,
    measures: Sequence[Measure | str] | Mapping[str, Measure | str] | None = None,
    *,
    baseline: str | None = None,
    ci: float | None = 0.95,
    cluster: ClusterSpec = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the mean of every run with its interval, with one panel per measure.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate`,
        `pt_multiaspect.read_values` and ``pt.Experiment(perquery=True)`` return.
    measures : sequence or mapping, optional
        The measures to draw, or a mapping ``{alias: measure}``, which says what the names of a
        frame without the record of `pt_multiaspect.evaluate` refer to ('higher' or 'lower' for
        values that are not those of a measure). By default, all measures of the frame.
    baseline : str, optional
        A run that is marked, and whose mean is a line through each panel. Intervals are then those
        of the differences from it, as `analysis.compare_with_baseline` returns them, drawn around
        the means: an interval that does not reach the line excludes 0. Measures that are not
        averaged over topics then have none.
    ci : float in (0, 1) or None, default 0.95
        The confidence level of the t intervals over topics, as in `pt_multiaspect.aggregate`; with
        a baseline, that of all differences on a measure together. None draws none.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for
        `pt_multiaspect.aggregate`.
    ax : Axes, optional
        Axes to draw on, which the panels share. By default, a new figure: 3.3 inches wide, as a
        column of a paper, for one or two measures, and wider for more.

    Returns
    -------
    Axes
        The panel of the first measure, whose vertical axis has the names of the runs; the others
        are in ``ax.figure.axes``. In all panels, the runs are in the order of the first measure,
        best first. The axis of a lower-is-better measure is inverted, so that better runs are
        always further to the right.

    Raises
    ------
    MultiAspectError
        If a measure or the baseline is unknown, a run lacks values, or there are fewer than two
        topics.
    ImportError
        If matplotlib is not installed.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better. As `pt_multiaspect.aggregate` does of clusters.

    Notes
    -----
    Without a baseline, overlapping intervals do not say whether two runs differ, as runs are
    evaluated on the same topics.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> topics = pd.DataFrame({"qid": ["q0", "q1", "q2"], "measure": "AP"})
    >>> bm25 = topics.assign(name="bm25", value=[0.2, 0.4, 0.3])
    >>> dense = topics.assign(name="dense", value=[0.5, 0.7, 0.6])
    >>> ax = plots.values(pd.concat([bm25, dense]), baseline="bm25")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['dense', 'bm25']
    """
    perquery, by_label = select_measures(as_pandas(perquery), measures)
    array, names, _, labels = matrix(perquery, least=1)
    labels = [str(label) for label in labels]
    if baseline is None:
        marked = []
    else:
        marked = read_baselines(baseline, names)
    signs = directions(perquery, array, labels, by_label, "plots.values")
    table = aggregate(perquery, ci=ci, cluster=cluster).set_index("name")
    order = (-signs[0] * table[labels[0]]).sort_values(kind="stable").index
    table = table.loc[order]
    n_panels = len(labels)
    if n_panels <= 2:
        width = _COLUMN
    else:
        width = _NAMES + _PANEL * n_panels
    ax = style.axes_or_new(ax, width, 0.75 + _ROW * max(len(table), 4), grid="x")
    panels = style.add_axes_beside(ax, n_panels)
    is_marked = np.asarray(table.index.isin(marked))
    ends = _interval_ends(perquery, table, labels, marked, ci, cluster)
    for panel, label, sign in zip(panels, labels, signs, strict=True):
        _draw_means(panel, table[label].to_numpy(np.float64), ends[label], is_marked)
        text = style.wrap(label, _ROOM.get(n_panels, 26))
        if sign < 0:
            text += "\n(lower is better)"
        panel.set_xlabel(text, fontsize=_TEXT)
        panel.tick_params(labelsize=_TEXT, length=2)
        panel.locator_params(axis="x", nbins=4)
        panel.xaxis.set_inverted(sign < 0)
    first = panels[0]
    shortened = style.distinct_texts([str(name) for name in table.index], 20)
    first.set_yticks(np.arange(len(table)), shortened, fontsize=_TEXT)
    first.set_ylim(len(table) - 0.4, -0.6)
    for row in np.flatnonzero(is_marked).tolist():
        first.get_yticklabels()[row].set_color(style.ORANGE)
    first.set_title(_title_of_values(ci, marked, len(table) - 1), fontsize=_TEXT, loc="left")
    if marked:  # below the names
        first.legend(
            handles=first.lines[1:2],
            fontsize=_TEXT,
            frameon=False,
            loc="upper right",
            bbox_to_anchor=(-0.08, 0),
            borderaxespad=0.4,
            handletextpad=0.2,
        )
    return first


def _interval_ends(
    perquery: pd.DataFrame,
    table: pd.DataFrame,
    labels: Sequence[str],
    baseline: Sequence[str],
    ci: float | None,
    cluster: ClusterSpec,
) -> dict[str, Floats]:
    """Return the ends of the intervals, runs × 2, by measure; NaN where there is none.

    They are those of the means or, with a baseline, those of the differences, moved from 0 to its
    mean. Differences are those of means, so that measures with other aggregates, such as NumRet,
    have none.
    """
    ends = {label: np.full((len(table), 2), np.nan) for label in labels}
    if ci is None:
        return ends
    if not baseline or len(table) == 1:
        for label in labels:
            columns = list(interval_columns(label, ci))
            ends[label] = table[columns].to_numpy(np.float64)
        return ends
    tests = compare_with_baseline(perquery, baseline, alpha=1 - ci, cluster=cluster)
    known = measures_by_label(perquery)
    for label in labels:
        if not aggregate_is_mean(known[label]):
            continue
        differences = tests[tests["measure"] == label].set_index("name")[["low", "high"]]
        around_baseline = differences.reindex(table.index) + table.loc[baseline[0], label]
        ends[label] = around_baseline.to_numpy(np.float64)
    return ends


def _draw_means(panel: Axes, means: Floats, ends: Floats, is_marked: Bools) -> None:
    """Draw the means of the runs with their intervals, and a line at that of the baseline."""
    rows = np.arange(len(means))
    for chosen, marker, colour, text in (
        (~is_marked, "o", style.BLUE, None),
        (is_marked, "D", style.ORANGE, "baseline"),
    ):
        panel.plot(means[chosen], rows[chosen], marker, color=colour, ms=3.2, label=text)
        has_interval = chosen & ~np.isnan(ends[:, 0])
        if has_interval.any():
            low, high = ends[has_interval].T
            panel.hlines(rows[has_interval], low, high, color=colour, lw=1)
    for mean in means[is_marked]:
        panel.axvline(mean, color=style.ORANGE, lw=0.8, ls="--", zorder=0)


def _title_of_values(ci: float | None, baseline: Sequence[str], n_differences: int) -> str:
    """Return what points and intervals are."""
    if ci is None:
        return "mean"
    level = f"{100 * ci:g} %"
    if not baseline or not n_differences:
        return f"mean, {level} interval"
    if n_differences > 1:
        level = f"simultaneous {level}"
    name = style.shorten(baseline[0], 20)
    return fill(f"mean, with the {level} interval of its difference from {name}", 36)


#: Number of systems whose names find room on a figure.
_MOST_NAMED = 20


@style.with_literal_texts
def systems(
    perquery: Any,
    x: Measure | str,
    y: Measure | str,
    *,
    label: int | Sequence[Hashable] = _MOST_NAMED,
    baseline: str | None = None,
    measures: Mapping[str, Measure | str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the means of systems under two measures, with Kendall's τ.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. The axis of a lower-is-better measure, such as ESL,
        is inverted, so that better systems are always at the top right.
    x, y : measure or str
        Two measures of the frame, for the horizontal and the vertical axis.
    label : int or sequence of names, default 20
        The systems to name: their names, or a number of systems, of which the baseline and the best
        on each measure come first, then those whose ranks differ most between the measures. The
        number after a name is the number of ranks by which the system is higher (↑) or lower (↓)
        under `y` than under `x`; ties have their mean rank. A name is omitted, the last ones first,
        if at each place it would hide a marker, another name or a line to one.
    baseline : str, optional
        A system that is marked by a square.
    measures : mapping of str to measure or str, optional
        The measures that the names refer to, for frames without the record of
        `pt_multiaspect.evaluate`, such as those read from files. For values that are not those of a
        measure, give 'higher' or 'lower', whichever is better.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The title shows Kendall's τ-b of the means and the numbers of systems, topics and omitted
        names.

    Raises
    ------
    MultiAspectError
        If a measure, a name or the baseline is unknown, or the frame is not valid for
        `analysis.correlation`.
    ImportError
        If matplotlib is not installed.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better.

    References
    ----------
    Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016, Fig. 1 and 2.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> scores = {"AP": [0.1, 0.3, 0.2, 0.4], "RR": [0.2, 0.5, 0.6, 0.9]}
    >>> rows = [
    ...     (f"run {n}", qid, measure, score)
    ...     for measure in scores
    ...     for qid in ("q1", "q2")
    ...     for n, score in enumerate(scores[measure])
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> ax = plots.systems(perquery, "AP", "RR")
    >>> ax.get_title()
    'Kendall’s τ-b = 0.667 (4 systems, 2 topics)'
    """
    from scipy.stats import rankdata

    perquery = as_pandas(perquery)
    values, names, qids, pair, signs = _two_measures(perquery, x, y, measures)
    means = values.mean(axis=1)
    ranks = rankdata(-round_scores(means * signs), axis=0)
    moves = ranks[:, 0] - ranks[:, 1]
    marked = []
    if baseline is not None:
        marked = [names.index(name) for name in read_baselines(baseline, names)]
    best = (means * signs).argmax(axis=0).tolist()
    by_move = np.argsort(-np.abs(moves), kind="stable").tolist()
    first = list(dict.fromkeys([*marked, *best, *by_move]))
    named = style.rows_to_label(label, names, first)
    tau = rank_correlation(means[:, 0] * signs[0], means[:, 1] * signs[1])
    ax = style.axes_or_new(ax, 6.4, 5.2, grid="both")
    plain = np.setdiff1d(np.arange(len(names)), [*named, *marked])
    moved = [row for row in named if row not in marked]
    colours = _draw_named(ax, means, moves, marked, moved)
    if len(plain):
        x_means, y_means = means[plain].T
        ax.scatter(
            x_means,
            y_means,
            24,
            marker="o",
            color=style.GREY,
            alpha=0.75,
            linewidths=0,
            label="other systems",
        )
    _name_axes(ax, pair, signs.tolist())
    if math.isnan(tau):
        known = "is undefined"
    else:
        known = f"= {tau:.3f}"
    title = f"Kendall’s τ-b {known} ({len(names)} systems, {len(qids)} topics"
    ax.margins(0.1)
    ax.set_title(f"{title})", fontsize="medium")
    if named or marked:
        add_legend_above(ax)
    if named:
        shortened = style.distinct_texts([str(names[row]) for row in named], 26)
        texts = {}
        for row, name in zip(named, shortened, strict=True):
            texts[row] = f"{name} {_move(moves[row])}"
        n_omitted = annotate(ax, means, texts, colours)
        if n_omitted:
            ax.title.set_text(f"{title}, {number_of(n_omitted, 'name')} omitted)")
    return ax


def _draw_named(
    ax: Axes, means: Floats, moves: Floats, marked: Sequence[int], moved: Sequence[int]
) -> dict[int, str]:
    """Draw the baseline and the systems with names, and return their colours."""
    higher = [row for row in moved if moves[row] > 0]
    lower = [row for row in moved if moves[row] < 0]
    same = [row for row in moved if moves[row] == 0]
    colours: dict[int, str] = {}
    for rows, marker, size, colour, text in (
        (marked, "s", 36, style.ink(), "baseline"),
        (higher, "^", 42, style.BLUE, "higher rank on y"),
        (lower, "v", 42, style.ORANGE, "lower rank on y"),
        (same, "D", 24, style.ink(), "same rank on both"),
    ):
        if rows:
            x_means, y_means = means[rows].T
            ax.scatter(x_means, y_means, size, marker=marker, color=colour, zorder=3, label=text)
            colours.update(dict.fromkeys(rows, colour))
    return colours


def _name_axes(ax: Axes, measures: Sequence[str], signs: Sequence[float]) -> None:
    """Label the axes with their measures, and invert those on which lower is better."""
    for axis, measure, sign in zip((ax.xaxis, ax.yaxis), measures, signs, strict=True):
        text = f"{style.wrap(measure)}\nmean over topics"
        if sign < 0:
            text += ", lower is better"
        axis.set_label_text(text)
        axis.set_inverted(sign < 0)


def _move(ranks: float) -> str:
    """Return by how many ranks a system is higher or lower under y than under x."""
    if ranks == 0:
        return "="
    if ranks > 0:
        return f"↑{ranks:g}"
    return f"↓{-ranks:g}"


def _two_measures(
    perquery: pd.DataFrame,
    x: Measure | str,
    y: Measure | str,
    measures: Mapping[str, Measure | str] | None,
) -> tuple[Floats, list[Any], list[Any], tuple[str, str], Floats]:
    """Return the values (systems × topics × (x, y)), names, topics, measures, and directions.

    Directions are −1 where lower is better, else 1.
    """
    x_label, y_label = find_labels(perquery, [x, y])
    pair = (x_label, y_label)
    by_label = {}
    for label, measure in zip(pair, (x, y), strict=True):
        if not isinstance(measure, str):
            by_label[label] = measure
    if measures is not None:
        by_label.update(select_measures(perquery, measures)[1])
    perquery = rows_of_measures(perquery, list(pair))
    if pair[0] == pair[1]:
        raise MultiAspectError(f"expected two different measures as x and y, got {pair[0]} twice")
    values, names, qids, labels = matrix(perquery)
    values = values[:, :, [labels.index(x_label), labels.index(y_label)]]
    signs = directions(perquery, values, list(pair), by_label, "plots.systems")
    return values, names, qids, pair, signs


@style.with_literal_texts
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
        Settings on the front are labelled with their row of `front`, where there is a free place.
        The line connects the settings that no other dominates on `x` and `y`; with further metrics,
        others may be on the front. Failed settings are omitted.

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
    >>> front = ma.pareto_front(table, ["relevance", "credibility"])
    >>> ax = plots.search_front(front, "relevance", "credibility")
    >>> [text.get_text() for text in ax.texts]
    ['0', '1']
    """
    front = style.with_columns(front, [x, y, "on_front"], "front", "pareto_front")
    numeric = front.select_dtypes("number").columns
    metrics = [name for name in numeric if name != "on_front"]
    if x == y or x not in metrics or y not in metrics:
        raise MultiAspectError(
            f"expected two different metrics of {choices(metrics)}, got x={x!r} and y={y!r}"
        )
    shown = front.dropna(subset=[x, y])
    on_front = shown["on_front"].to_numpy(dtype=bool)
    points = shown[[x, y]].to_numpy(dtype=np.float64)
    ax = style.axes_or_new(ax, 6.4, 4.8, grid="both")
    if not on_front.all():
        across, up = points[~on_front].T
        ax.scatter(
            across,
            up,
            24,
            marker="o",
            color=style.GREY,
            alpha=0.75,
            linewidths=0,
            label="dominated",
        )
    across, up = points[on_front].T
    ax.scatter(across, up, 24, marker="D", color=style.BLUE, zorder=3, label="on the front")
    undominated = np.unique(points[is_on_front(points)], axis=0)
    across, up = undominated[::-1].T
    ax.plot(across, up, color=style.BLUE, lw=1, ls=":", zorder=2)
    ax.set_xlabel(style.wrap(str(x)))
    ax.set_ylabel(style.wrap(str(y)))
    ax.margins(0.1)
    add_legend_above(ax)
    names = shown.index.map(str)
    annotate(ax, points, {row: names[row] for row in np.flatnonzero(on_front).tolist()})
    return ax
