"""Plots of the means of systems on one or several measures, and of the settings of a search."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

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
#: The number of characters that fit below each of one or two panels in a column of a paper, and
#: below each of the panels of a figure over two columns.
_ROOM_BELOW_ONE, _ROOM_BELOW_TWO, _ROOM_BELOW_MORE = 36, 18, 26


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
        If a measure or the baseline is unknown, several baselines are given, a run lacks values, or
        there are fewer than two topics.
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
    labels = list(map(str, labels))
    baselines: list[str] = []
    if baseline is not None:
        baselines = read_baselines(baseline, names)
    if len(baselines) > 1:
        # The line through each panel, and the intervals around the means, are those of one run.
        raise MultiAspectError(f"baseline: expected one run, got {choices(baselines)}")
    signs = directions(perquery, array, labels, by_label, "plots.values")
    means = aggregate(perquery, ci=ci, cluster=cluster).set_index("name")
    means = _sort_best_first(means, labels[0], signs[0])
    n_others = len(means) - 1  # the runs besides the baseline
    if ci is None:
        ends = _no_interval_ends(means, labels)
    elif baselines and n_others > 0:
        ends = _ends_of_differences(perquery, means, labels, baselines[0], ci, cluster)
    else:
        ends = _ends_of_means(means, labels, ci)

    panels = _add_panels(ax, len(labels), len(means))
    is_baseline = np.asarray(means.index.isin(baselines))
    for panel, label, sign in zip(panels, labels, signs, strict=True):
        _draw_means(panel, means[label].to_numpy(np.float64), ends[label], is_baseline)
        _name_panel(panel, label, sign < 0, len(labels))
    first_panel = panels[0]
    _write_runs(first_panel, list(map(str, means.index)), is_baseline)
    title = _title_of_values(ci, baselines, n_others)
    first_panel.set_title(title, fontsize=_TEXT, loc="left")
    if baselines:
        _add_legend_below_names(first_panel)
    return first_panel


def _sort_best_first(means: pd.DataFrame, label: str, sign: float) -> pd.DataFrame:
    """Sort runs by their means on a measure; `sign` is −1 if lower is better, else 1."""
    cost = -sign * means[label]
    ascending_cost = cost.sort_values(kind="stable")
    runs_best_first = ascending_cost.index
    return means.loc[runs_best_first]


def _add_panels(ax: Axes | None, n_panels: int, n_runs: int) -> list[Axes]:
    """Return panels side by side, in the place of `ax` or in a new figure of a fitting size."""
    width = _COLUMN
    if n_panels > 2:
        width = _NAMES + _PANEL * n_panels
    height = 0.75 + _ROW * max(n_runs, 4)
    first_panel = style.axes_or_new(ax, width, height, grid="x")
    return style.add_axes_beside(first_panel, n_panels)


def _no_interval_ends(means: pd.DataFrame, labels: Sequence[str]) -> dict[str, Floats]:
    """Return NaN as the ends of all intervals by measure, runs × 2."""
    ends = {}
    for label in labels:
        ends[label] = np.full((len(means), 2), np.nan)
    return ends


def _ends_of_means(means: pd.DataFrame, labels: Sequence[str], ci: float) -> dict[str, Floats]:
    """Return the ends of the intervals of the means by measure, runs × 2."""
    ends = {}
    for label in labels:
        low, high = interval_columns(label, ci)
        ends_of_measure = means[[low, high]]
        ends[label] = ends_of_measure.to_numpy(np.float64)
    return ends


def _ends_of_differences(
    perquery: pd.DataFrame,
    means: pd.DataFrame,
    labels: Sequence[str],
    baseline: str,
    ci: float,
    cluster: ClusterSpec,
) -> dict[str, Floats]:
    """Return the ends of the intervals of differences from the baseline by measure, runs × 2.

    They are moved from 0 to the mean of the baseline, so that they can be drawn around the means.
    Measures that are not averaged over topics, such as NumRet, have none: their ends are NaN.
    """
    tests = compare_with_baseline(perquery, baseline, alpha=1 - ci, cluster=cluster)
    measure_of_label = measures_by_label(perquery)
    ends = _no_interval_ends(means, labels)
    for label in labels:
        if not aggregate_is_mean(measure_of_label[label]):
            continue
        tests_of_measure = tests[tests["measure"] == label].set_index("name")
        # In the order of the means. The baseline, which is not compared with itself, gets NaN.
        differences = tests_of_measure[["low", "high"]].reindex(means.index)
        mean_of_baseline = means.loc[baseline, label]
        moved = differences + mean_of_baseline
        ends[label] = moved.to_numpy(np.float64)
    return ends


def _draw_means(panel: Axes, means: Floats, ends: Floats, is_baseline: Bools) -> None:
    """Draw the means of the runs with their intervals, and a line at that of the baseline.

    `ends` are those of the intervals, runs × 2; NaN where there is none.
    """
    _draw_runs(panel, means, ends, ~is_baseline, "o", style.BLUE, None)
    _draw_runs(panel, means, ends, is_baseline, "D", style.ORANGE, "baseline")
    for mean in means[is_baseline]:
        panel.axvline(mean, color=style.ORANGE, lw=0.8, ls="--", zorder=0)


def _draw_runs(
    panel: Axes,
    means: Floats,
    ends: Floats,
    is_drawn: Bools,
    marker: str,
    colour: str,
    label: str | None,
) -> None:
    """Draw the means and intervals of some of the runs, each in its row."""
    rows = np.arange(len(means))
    panel.plot(means[is_drawn], rows[is_drawn], marker, color=colour, ms=3.2, label=label)
    has_interval = is_drawn & ~np.isnan(ends[:, 0])
    if has_interval.any():
        low, high = ends[has_interval].T
        panel.hlines(rows[has_interval], low, high, color=colour, lw=1)


def _name_panel(panel: Axes, measure: str, lower_is_better: bool, n_panels: int) -> None:
    """Write the measure below its panel, and invert the axis if lower is better."""
    if n_panels == 1:
        n_characters = _ROOM_BELOW_ONE
    elif n_panels == 2:
        n_characters = _ROOM_BELOW_TWO
    else:
        n_characters = _ROOM_BELOW_MORE
    text = style.wrap(measure, n_characters)
    if lower_is_better:
        text += "\n(lower is better)"
    panel.set_xlabel(text, fontsize=_TEXT)
    panel.tick_params(labelsize=_TEXT, length=2)
    panel.locator_params(axis="x", nbins=4)
    panel.xaxis.set_inverted(lower_is_better)


def _write_runs(panel: Axes, names: list[str], is_baseline: Bools) -> None:
    """Write the runs beside the panel, the first on top; baselines are coloured."""
    n_runs = len(names)
    shortened = style.distinct_texts(names, 20)
    panel.set_yticks(np.arange(n_runs), shortened, fontsize=_TEXT)
    # The axis goes down: runs are at 0 to n_runs − 1, with 0.6 of a row above and below them.
    panel.set_ylim(n_runs - 0.4, -0.6)
    texts = panel.get_yticklabels()
    for row in np.flatnonzero(is_baseline).tolist():
        texts[row].set_color(style.ORANGE)


def _title_of_values(ci: float | None, baselines: Sequence[str], n_differences: int) -> str:
    """Return what points and intervals are."""
    if ci is None:
        return "mean"
    level = f"{100 * ci:g} %"
    if not baselines or n_differences == 0:
        return f"mean, {level} interval"
    if n_differences > 1:
        level = f"simultaneous {level}"
    baseline = style.shorten(baselines[0], 20)
    title = f"mean, with the {level} interval of its difference from {baseline}"
    return fill(title, 36)


def _add_legend_below_names(panel: Axes) -> None:
    """Add a legend of the baseline, whose points are the second line of the panel."""
    panel.legend(
        handles=panel.lines[1:2],
        fontsize=_TEXT,
        frameon=False,
        loc="upper right",
        bbox_to_anchor=(-0.08, 0),
        borderaxespad=0.4,
        handletextpad=0.2,
    )


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
    read = _read_systems(as_pandas(perquery), x, y, measures)
    means = read.means
    moves = _rank_moves(read)
    baselines: list[int] = []
    if baseline is not None:
        baselines = [read.names.index(name) for name in read_baselines(baseline, read.names)]
    # Rows of systems: by how interesting they are, those with names, and the others.
    rows_by_interest = _rows_by_interest(read, moves, baselines)
    named = style.rows_to_label(label, read.names, rows_by_interest)
    unnamed = np.setdiff1d(np.arange(len(means)), [*named, *baselines])
    higher_is_better = means * read.signs
    tau = rank_correlation(higher_is_better[:, 0], higher_is_better[:, 1])

    ax = style.axes_or_new(ax, 6.4, 5.2, grid="both")
    named_others = [row for row in named if row not in baselines]
    colours = _draw_highlighted(ax, means, moves, baselines, named_others)
    if len(unnamed):
        _draw_background(ax, means[unnamed], "other systems")
    _name_axes(ax, read)
    tau_text = _tau_text(tau)
    sizes = f"{len(means)} systems, {read.n_topics} topics"
    ax.margins(0.1)
    ax.set_title(f"{tau_text} ({sizes})", fontsize="medium")
    if named or baselines:
        add_legend_above(ax)
    if named:
        texts = _texts_of_systems(read, named, moves)
        n_omitted = annotate(ax, means, texts, colours)
        if n_omitted:
            omitted = number_of(n_omitted, "name")
            ax.title.set_text(f"{tau_text} ({sizes}, {omitted} omitted)")
    return ax


def _texts_of_systems(read: _Systems, rows: Sequence[int], moves: Floats) -> dict[int, str]:
    """Return the name of each system to label and how many ranks it moves, by row."""
    names = [str(read.names[row]) for row in rows]
    shortened = style.distinct_texts(names, 26)
    texts = {}
    for row, name in zip(rows, shortened, strict=True):
        move = _move_text(moves[row])
        texts[row] = f"{name} {move}"
    return texts


class _Systems(NamedTuple):
    """The means of systems under two measures, x and y."""

    names: list[Any]
    n_topics: int
    #: The labels of x and y.
    measures: tuple[str, str]
    #: systems × (x, y).
    means: Floats
    #: −1 where lower is better, else 1; for x and y.
    signs: Floats


def _read_systems(
    perquery: pd.DataFrame,
    x: Measure | str,
    y: Measure | str,
    measures: Mapping[str, Measure | str] | None,
) -> _Systems:
    """Return the means of the systems under two measures of a long frame, and their directions."""
    x_label, y_label = find_labels(perquery, [x, y])
    # The measures of labels tell whether lower is better. Those that are not given here are in the
    # record of the frame, if it has one.
    measure_of_label: dict[str, Any] = {}
    for label, measure in ((x_label, x), (y_label, y)):
        is_object = not isinstance(measure, str)
        if is_object:
            measure_of_label[label] = measure
    if measures is not None:
        _, given_measures = select_measures(perquery, measures)
        measure_of_label.update(given_measures)
    perquery = rows_of_measures(perquery, [x_label, y_label])
    if x_label == y_label:
        raise MultiAspectError(f"expected two different measures as x and y, got {x_label} twice")
    values, names, qids, labels = matrix(perquery)
    x_column = labels.index(x_label)
    y_column = labels.index(y_label)
    values_of_both = values[:, :, [x_column, y_column]]  # systems × topics × (x, y)
    both_labels = [x_label, y_label]
    signs = directions(perquery, values_of_both, both_labels, measure_of_label, "plots.systems")
    means = values_of_both.mean(axis=1)
    return _Systems(names, len(qids), (x_label, y_label), means, signs)


def _rank_moves(systems: _Systems) -> Floats:
    """Return by how many ranks each system is higher (positive) under y than under x."""
    from scipy.stats import rankdata

    scores = round_scores(systems.means * systems.signs)
    ranks = rankdata(-scores, axis=0)  # systems × (x, y); 1 is the best
    moves: Floats = ranks[:, 0] - ranks[:, 1]
    return moves


def _rows_by_interest(systems: _Systems, moves: Floats, baselines: list[int]) -> list[int]:
    """Return all systems: baselines, the best on x and y, then those that move most."""
    higher_is_better = systems.means * systems.signs  # systems × (x, y)
    best = higher_is_better.argmax(axis=0)
    distance = np.abs(moves)
    by_distance = np.argsort(-distance, kind="stable")
    # A system may be in all three: it is at its first position.
    repeated = [*baselines, *best.tolist(), *by_distance.tolist()]
    distinct = dict.fromkeys(repeated)
    return list(distinct)


class _Group(NamedTuple):
    """Systems that are drawn alike."""

    label: str
    rows: Sequence[int]
    marker: str
    size: float
    colour: str


def _draw_highlighted(
    ax: Axes, means: Floats, moves: Floats, baselines: Sequence[int], moved: Sequence[int]
) -> dict[int, str]:
    """Draw the baselines and the `moved` systems, by direction; return the colours by row."""
    higher = [row for row in moved if moves[row] > 0]
    lower = [row for row in moved if moves[row] < 0]
    same = [row for row in moved if moves[row] == 0]
    groups = (
        _Group("baseline", baselines, "s", 36, style.ink()),
        _Group("higher rank on y", higher, "^", 42, style.BLUE),
        _Group("lower rank on y", lower, "v", 42, style.ORANGE),
        _Group("same rank on both", same, "D", 24, style.ink()),
    )
    colours: dict[int, str] = {}
    for group in groups:
        if not group.rows:  # no entry of the legend
            continue
        x_means, y_means = means[group.rows].T
        ax.scatter(
            x_means,
            y_means,
            group.size,
            marker=group.marker,
            color=group.colour,
            zorder=3,
            label=group.label,
        )
        for row in group.rows:
            colours[row] = group.colour
    return colours


def _draw_background(ax: Axes, points: Floats, label: str) -> None:
    """Draw points, rows × (x, y), as grey circles."""
    x, y = points.T
    ax.scatter(
        x,
        y,
        24,
        marker="o",
        color=style.GREY,
        alpha=0.75,
        linewidths=0,
        label=label,
    )


def _name_axes(ax: Axes, systems: _Systems) -> None:
    """Label the axes with their measures, and invert those on which lower is better."""
    axes = (ax.xaxis, ax.yaxis)
    for axis, measure, sign in zip(axes, systems.measures, systems.signs, strict=True):
        lower_is_better = bool(sign < 0)
        text = f"{style.wrap(measure)}\nmean over topics"
        if lower_is_better:
            text += ", lower is better"
        axis.set_label_text(text)
        axis.set_inverted(lower_is_better)


def _tau_text(tau: float) -> str:
    """Return Kendall's τ-b as a text; it is undefined if all means on a measure are equal."""
    if math.isnan(tau):
        return "Kendall’s τ-b is undefined"
    return f"Kendall’s τ-b = {tau:.3f}"


def _move_text(move: float) -> str:
    """Return by how many ranks a system is higher (↑) or lower (↓) under y than under x."""
    if move == 0:
        return "="
    if move > 0:
        return f"↑{move:g}"
    return f"↓{-move:g}"


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
    settings = front.dropna(subset=[x, y])  # without failed ones
    on_front = settings["on_front"].to_numpy(dtype=bool)
    points = settings[[x, y]].to_numpy(dtype=np.float64)
    ax = style.axes_or_new(ax, 6.4, 4.8, grid="both")
    if not on_front.all():
        _draw_background(ax, points[~on_front], "dominated")
    front_x, front_y = points[on_front].T
    ax.scatter(front_x, front_y, 24, marker="D", color=style.BLUE, zorder=3, label="on the front")
    _draw_front_line(ax, points)
    ax.set_xlabel(style.wrap(str(x)))
    ax.set_ylabel(style.wrap(str(y)))
    ax.margins(0.1)
    add_legend_above(ax)
    names = settings.index.map(str)
    name_by_row = {row: names[row] for row in np.flatnonzero(on_front).tolist()}
    annotate(ax, points, name_by_row)
    return ax


def _draw_front_line(ax: Axes, points: Floats) -> None:
    """Draw a line through the points that no other dominates on the two axes.

    Points that are on a front only by their values on further metrics are not on the line.
    """
    undominated = points[is_on_front(points)]
    # `unique` sorts by x, so that the line connects neighbours. It begins at the right.
    left_to_right = np.unique(undominated, axis=0)
    right_to_left = left_to_right[::-1]
    line_x, line_y = right_to_left.T
    ax.plot(line_x, line_y, color=style.BLUE, lw=1, ls=":", zorder=2)
