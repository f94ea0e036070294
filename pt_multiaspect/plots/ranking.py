"""Plots of the ranks of one topic: contributions and cumulated relative position."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from .._validation import count
from ..errors import MultiAspectError, choices, refuse_none, refuse_unknown
from ..explanation_view import Explanation
from . import style
from .labels import add_legend, unit_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of ranks for which there is space for labels.
_MOST_LABELS = 30
#: The style of the cells of unjudged documents.
_HATCHED: dict[str, Any] = {
    "facecolor": "#EEEEEE",
    "edgecolor": style.GREY,
    "hatch": "////",
    "linewidth": 0,
}
#: Columns that are drawn below the labels, if the measure has them.
_DETAILS = ("class", "product", "weight", "displacement")
#: Height of a row of labels as a fraction of the height of the bars.
_ROW = 0.16


@style.with_literal_texts
def explanation(explained: Explanation, cutoff: int = 20, *, ax: Axes | None = None) -> Axes:
    """Plot the contribution of each rank to the value of one topic, above the documents' labels.

    Parameters
    ----------
    explained : Explanation
        The result of ``measure.explain(run, qrels, qid)`` or `pt_multiaspect.explain`.
    cutoff : int, default 20
        Maximum number of ranks.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        One bar per rank, above zero or, if a rank lowers the value, below it. If a best ranking is
        known, it is drawn as a line. Below, one row of cells per aspect shows the labels, and
        another row a quantity that the measure derives from them, such as TOMA's class: the
        lighter, the higher. Hatched cells are unjudged.

    Raises
    ------
    MultiAspectError
        If `explained` is not an explanation, or no document is retrieved.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> from pt_multiaspect import TOMA, plots
    >>> matplotlib.use("Agg")
    >>> first = {"relevance": 2, "credibility": 0}
    >>> second = {"relevance": 1, "credibility": 1}
    >>> qrels = {"q1": {"d1": first, "d2": second}}
    >>> measure = TOMA(aspects={"relevance": 2, "credibility": 1})
    >>> ax = plots.explanation(measure.explain({"q1": {"d1": 3.0, "d2": 1.0}}, qrels, "q1"))
    >>> [round(float(bar.get_height()), 3) for bar in ax.patches]
    [0.469, 0.444]
    """
    check_cutoff = count("cutoff")
    max_ranks = check_cutoff(cutoff)
    if not isinstance(explained, Explanation):
        raise MultiAspectError(
            "expected an Explanation, as from measure.explain(run, qrels, qid), got a "
            f"{type(explained).__name__}"
        )
    ranks = _ranks_to_draw(explained, max_ranks)
    n_ranks = len(ranks)
    # The rows of cells below the bars: the labels on each aspect, then what is derived from them.
    aspects = list(explained.labels)
    details = [name for name in explained.details if name in _DETAILS]
    rows = aspects + details
    width = float(np.clip(3.2 + 0.4 * n_ranks, 5, 15))
    ax = style.axes_or_new(ax, width, 2.4 + 0.4 * len(rows), grid="y")
    strip = style.add_axes_below(ax, _ROW * len(rows))
    values = ranks[rows].to_numpy(dtype=np.float64).T  # rows × ranks, as text in the cells
    shades = _shades(explained, details, n_ranks)
    _draw_cells(strip, values, shades)
    _draw_contributions(ax, explained, n_ranks)
    ax.set_title(_title_of_explanation(explained), loc="left", fontsize="medium")

    handles, _ = ax.get_legend_handles_labels()
    has_unjudged = np.isnan(shades[: len(aspects)]).any()
    if has_unjudged:
        handles.append(unit_square("unjudged", **_HATCHED))
    if handles:
        ax.legend(handles=handles, loc="upper right", frameon=False, fontsize=style.SMALL)
    heads = [style.shorten(row, 24) for row in rows]
    strip.set_yticks(range(len(rows)), heads, fontsize=style.SMALL)
    _write_ranks(strip, ranks["docno"].tolist())
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    return ax


def _shades(explained: Explanation, details: list[str], n_ranks: int) -> Floats:
    """Return the shades of the cells, from 0 of dark to 1 of light ones, rows × ranks.

    There is one row per aspect, with the position of each label on its scale (NaN for unjudged
    documents), and one per detail.
    """
    first_positions = explained.grade_positions.iloc[:n_ranks]  # ranks × aspects
    shades = list(first_positions.to_numpy(dtype=np.float64).T)
    for detail in details:
        shades.append(_detail_shades(explained, detail, n_ranks))
    return np.stack(shades)


def _ranks_to_draw(explained: Explanation, max_ranks: int) -> pd.DataFrame:
    """Return the first ranks of a topic, one row each, at most those above the cutoff."""
    ranks = explained.ranks
    is_retrieved = ranks["rank"].notna()  # a row of several documents together has no rank
    is_below_cutoff = ranks["note"].str.contains("below the cutoff")
    drawn: pd.DataFrame = ranks[is_retrieved & ~is_below_cutoff].iloc[:max_ranks]
    if drawn.empty:
        raise MultiAspectError(
            f"expected retrieved documents to plot, got none for topic {explained.qid}"
        )
    return drawn


def _detail_shades(explained: Explanation, name: str, n_ranks: int) -> Floats:
    """Return a column of the first ranks, scaled to [0, 1].

    The shade 1 is the highest value in the ranking and the best ranking. The shade 0 is their
    lowest value or, if all are positive, the value 0.
    """
    values = explained.ranks[name].to_numpy(dtype=np.float64)
    all_values = values
    if explained.ideal is not None:
        best = explained.ideal.ranks[name].to_numpy(dtype=np.float64)
        all_values = np.concatenate([values, best])
    known = all_values[~np.isnan(all_values)]
    if len(known) == 0:
        return values[:n_ranks]  # all are NaN
    lowest = min(0.0, float(known.min()))
    highest = float(known.max())
    span = highest - lowest
    if span == 0:  # all values are equal, and have the shade 0
        span = 1.0
    scaled = (values[:n_ranks] - lowest) / span
    return np.clip(scaled, 0.0, 1.0)


def _draw_cells(ax: Axes, values: Floats, shades: Floats) -> None:
    """Draw one cell per row and rank, with its value if there is space.

    Both arrays are rows × ranks. Shades, between 0 and 1, determine the colours; cells without a
    shade (NaN) are hatched.
    """
    ax.imshow(np.ma.masked_invalid(shades), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    # The centres of cells are at whole numbers, so that their corners are at halves.
    has_shade = ~np.isnan(shades)
    for row, column in np.argwhere(~has_shade).tolist():
        lower_left = (column - 0.5, row - 0.5)
        ax.add_patch(unit_square("", at=lower_left, **_HATCHED))
    _write_values(ax, values, shades)
    # White lines between the cells.
    n_rows, n_ranks = shades.shape
    ax.set_xticks(np.arange(0.5, n_ranks - 1), minor=True)
    ax.set_yticks(np.arange(0.5, n_rows - 1), minor=True)
    ax.grid(which="minor", color="white", lw=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def _write_values(ax: Axes, values: Floats, shades: Floats) -> None:
    """Write the values into the cells that have a shade, if there is space for all.

    The parameters are those of `_draw_cells`.
    """
    texts = []
    for values_of_row in values.tolist():
        texts.append([spell(round(value, 2)) for value in values_of_row])
    longest = 0
    for texts_of_row in texts:
        longest = max(longest, *map(len, texts_of_row))
    n_ranks = shades.shape[1]
    has_space = n_ranks <= _MOST_LABELS and longest <= 4
    if not has_space:
        return
    has_shade = ~np.isnan(shades)
    colours = style.colours_of("cividis", np.nan_to_num(shades))
    for row, column in np.argwhere(has_shade).tolist():
        ax.text(
            column,
            row,
            texts[row][column],
            ha="center",
            va="center",
            fontsize=style.SMALL,
            color=style.text_colour(colours[row, column]),
        )


def _draw_contributions(ax: Axes, explained: Explanation, n_ranks: int) -> None:
    """Draw the contributions of the first ranks as bars, and those of a best ranking as a line."""
    contributions = explained.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
    positions = np.arange(n_ranks)
    colours = np.where(contributions < 0, style.ORANGE, style.BLUE).tolist()
    ax.bar(positions, contributions, width=0.72, color=colours)
    ideal = explained.ideal
    if ideal is not None:
        best = ideal.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
        ax.step(
            positions[: len(best)],  # a best ranking may be shorter
            best,
            where="mid",
            color=style.GREY,
            lw=1.2,
            label=f"best ranking ({ideal.value:.3f})",
        )
    ax.axhline(0, color=style.GREY, lw=0.8)
    ax.set_xlim(-0.5, n_ranks - 0.5)
    ax.set_ylabel("contribution")


def _title_of_explanation(explained: Explanation) -> str:
    """Return the measure, and in a second line the topic, the run and the value."""
    measure = style.wrap(explained.label, 60)
    topic = style.shorten(explained.qid, 24)
    run = style.shorten(explained.run, 24)
    value = f"{explained.value:.3f}"
    return f"{measure}\ntopic {topic}, {run}: {value}"


def _write_ranks(strip: Axes, docnos: list[str]) -> None:
    """Write the ranks below the cells, with the documents if there is space."""
    n_ranks = len(docnos)
    longest = max(map(len, docnos))
    has_space_for_docnos = n_ranks <= 15 and longest <= 6
    if has_space_for_docnos:
        ranks = list(range(1, n_ranks + 1))
        texts = [f"{rank}\n{docno}" for rank, docno in zip(ranks, docnos, strict=True)]
    else:
        ranks = _ranks_to_write(n_ranks)  # all, or every n-th
        texts = list(map(str, ranks))
    positions = [rank - 1 for rank in ranks]  # the first cell is at 0
    strip.set_xticks(positions, texts, fontsize=style.SMALL)
    strip.set_xlabel("rank")


def _ranks_to_write(n_ranks: int) -> list[int]:
    """Return the ranks that are written: all, if there is space, else the first and every n-th.

    n is 5 for up to 100 ranks, 10 for up to 200, and so on.
    """
    if n_ranks <= _MOST_LABELS:
        return list(range(1, n_ranks + 1))
    step = 5 * math.ceil(n_ranks / 100)
    return [1, *range(step, n_ranks + 1, step)]


@style.with_literal_texts
def crp_over_ranks(
    curves: pd.DataFrame | Mapping[str, pd.DataFrame],
    qid: str | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot cumulated relative position against rank for one query.

    Parameters
    ----------
    curves : DataFrame or mapping of str to DataFrame
        The result of `pt_multiaspect.crp_curve` for one run, or a mapping of run names to such
        results.
    qid : str, optional
        The query. Not required if the curves have one query only.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The solid line at 0 is the ideal ranking, the dotted one the worst ranking of the same
        length; the dashed line is at rank R, the recall base. Where a curve is below 0, documents
        are, on balance, ranked too high; the circle is at the first rank of its minimum.

    Raises
    ------
    MultiAspectError
        If a column is missing, a frame is empty, the query is unknown, or `qid` is required but not
        given.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation. CLEF 2012.

    Examples
    --------
    >>> import matplotlib
    >>> import pt_multiaspect as ma
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> curve = ma.crp_curve({"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}, {"q1": {"d1": 1, "d2": 1}})
    >>> ax = plots.crp_over_ranks({"mine": curve}, "q1")
    >>> ax.lines[0].get_ydata().tolist()
    [-2, -2, -1]
    """
    if isinstance(curves, Mapping):
        curve_of_run = dict(curves)
    else:
        curve_of_run = {"": curves}  # a run without a name
    refuse_none(curve_of_run, "curve", "curves")
    topic, curves_of_topic = _read_curves(curve_of_run, qid)
    names = style.distinct_texts(list(map(str, curve_of_run)), 40)
    has_one_run = len(names) == 1

    width = 9.0
    if has_one_run:
        width = 7.2
    ax = style.axes_or_new(ax, width, 4.0)
    for index, curve in enumerate(curves_of_topic):
        _draw_curve(ax, curve, index, names)
    ax.axhline(0, color=style.ink(), lw=1, zorder=1)
    _draw_recall_bases(ax, curves_of_topic, names)
    _draw_worst_rankings(ax, curves_of_topic)
    ax.set_xlabel("rank")
    ax.locator_params(axis="x", integer=True)
    ax.set_ylabel("cumulated relative position (ranks)")
    title = f"query {topic}"
    if has_one_run and names[0]:
        title += f": {names[0]}"
    ax.set_title(title, fontsize="medium")
    ax.margins(0.03, 0.1)
    add_legend(ax, beside=not has_one_run)
    return ax


def _read_curves(
    curves: Mapping[str, pd.DataFrame], qid: str | None
) -> tuple[str | None, list[pd.DataFrame]]:
    """Return the topic, by default the only one of the curves, and the curve of each run on it."""
    columns = ["qid", "rank", "crp", "worst", "recall_base", "turn_around"]
    topic = None
    if qid is not None:
        topic = str(qid)
    curves_of_topic = []
    for run, curve in curves.items():
        name_in_errors = "a curve"
        if run:
            name_in_errors = f"the curve of {run}"
        frame = style.with_columns(curve, columns, name_in_errors, "ma.crp_curve")
        topics = frame["qid"].astype(str)
        distinct_topics = topics.unique().tolist()
        if topic is None:
            topic = _only_topic(distinct_topics, name_in_errors)
        refuse_unknown([topic], distinct_topics, "queries", name_in_errors)
        curves_of_topic.append(frame[topics == topic].sort_values("rank"))
    return topic, curves_of_topic


def _only_topic(topics: list[str], name: str) -> str:
    """Return the topic of a curve, or raise an error if there are several."""
    if len(topics) > 1:
        raise MultiAspectError(
            f"{name} has {len(topics)} queries: pass one as qid= ({choices(topics)})"
        )
    return topics[0]


def _draw_curve(ax: Axes, curve: pd.DataFrame, index: int, names: list[str]) -> None:
    """Draw the curve of one of several runs, and a circle at its minimum."""
    n_runs = len(names)
    label = None
    if n_runs > 1:
        label = names[index]
    # About eight markers per line, which begin at another rank for each run to lie apart.
    marker_distance = max(1, len(curve) // 8)
    first_marker = index * marker_distance // n_runs
    ax.plot(
        curve["rank"],
        curve["crp"],
        lw=1.7,
        ms=5,
        label=label,
        markevery=(first_marker, marker_distance),
        **style.line_style(index),
    )
    # One entry in the legend for the minima of all runs: texts that begin with _ have none.
    label_of_minimum = "_minimum"
    if index == n_runs - 1:
        label_of_minimum = "minimum"
    is_minimum = curve["rank"] == curve["turn_around"]
    minimum = curve[is_minimum]
    ax.scatter(
        minimum["rank"],
        minimum["crp"],
        70,
        facecolor="none",
        edgecolor=ax.lines[-1].get_color(),
        zorder=3,
        label=label_of_minimum,
    )


def _draw_recall_bases(ax: Axes, curves: list[pd.DataFrame], names: list[str]) -> None:
    """Draw a line at each recall base, with the names of its runs if there are several bases."""
    names_of_base: dict[int, list[str]] = {}
    for curve, name in zip(curves, names, strict=True):
        recall_base = int(curve["recall_base"].iloc[0])
        names_of_base.setdefault(recall_base, []).append(name)
    for recall_base, names_of_runs in names_of_base.items():
        ax.axvline(recall_base, color=style.GREY, lw=1.1, ls="--", zorder=1)
        text = f"R = {recall_base}"
        rotation = 0
        if len(names_of_base) > 1:
            joined = ", ".join(names_of_runs)
            text = f"{text} ({joined})"
            rotation = 90
        _write_recall_base(ax, recall_base, text, rotation)


def _write_recall_base(ax: Axes, recall_base: int, text: str, rotation: int) -> None:
    """Write a text at the top of the line of a recall base, to the right of it."""
    ax.annotate(
        text,
        xy=(recall_base, 1),
        xycoords=("data", "axes fraction"),
        xytext=(3, -3),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=style.SMALL,
        color=style.ink(),
        rotation=rotation,
        bbox={"facecolor": style.paper(), "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
    )


def _draw_worst_rankings(ax: Axes, curves: list[pd.DataFrame]) -> None:
    """Draw the curves of the worst rankings of the same lengths, equal ones once."""
    drawn: list[list[Any]] = []
    label = "worst ranking"
    for curve in curves:
        points = curve[["rank", "worst"]].to_numpy().tolist()
        if points in drawn:
            continue
        ax.plot(
            curve["rank"],
            curve["worst"],
            color=style.GREY,
            lw=1.1,
            ls=":",
            zorder=1,
            label=label,
        )
        drawn.append(points)
        label = "_worst"  # texts that begin with _ are not in the legend
