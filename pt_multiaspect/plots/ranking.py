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
    from matplotlib.image import AxesImage

#: Maximum number of ranks for which there is space for labels.
_MOST_LABELS = 30
#: The style of the cells of unjudged documents.
_HATCHED: dict[str, Any] = {
    "facecolor": "#EEEEEE",
    "edgecolor": style.GREY,
    "hatch": "////",
    "linewidth": 0,
}


def _draw_cells(ax: Axes, labels: Floats, shades: Floats) -> AxesImage:
    """Draw one cell per row and rank, coloured by its shade between 0 and 1.

    Cells have their labels if there is space. Cells without a shade are hatched.
    """
    image = ax.imshow(np.ma.masked_invalid(shades), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    is_missing = np.isnan(shades)
    for row, column in np.argwhere(is_missing).tolist():
        ax.add_patch(unit_square("", at=(column - 0.5, row - 0.5), **_HATCHED))
    n_rows, n_ranks = shades.shape
    texts = [spell(round(label, 2)) for label in labels.ravel().tolist()]
    longest = max(map(len, texts), default=0)
    if n_ranks <= _MOST_LABELS and longest <= 4:
        colours = style.colours_of("cividis", np.nan_to_num(shades))
        for row, column in np.argwhere(~is_missing).tolist():
            ax.text(
                column,
                row,
                texts[row * n_ranks + column],
                ha="center",
                va="center",
                fontsize=style.SMALL,
                color=style.text_colour(colours[row, column]),
            )
    ax.set_xticks(np.arange(0.5, n_ranks - 1), minor=True)
    ax.set_yticks(np.arange(0.5, n_rows - 1), minor=True)
    ax.grid(which="minor", color="white", lw=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    return image


def _rank_ticks(n_ranks: int) -> list[int]:
    """Return the ranks to write below a plot."""
    if n_ranks <= _MOST_LABELS:
        return list(range(1, n_ranks + 1))
    step = 5 * math.ceil(n_ranks / 100)
    return [1, *range(step, n_ranks + 1, step)]


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
    n_ranks = count("cutoff")(cutoff)
    if not isinstance(explained, Explanation):
        raise MultiAspectError(
            "expected an Explanation, as from measure.explain(run, qrels, qid), got a "
            f"{type(explained).__name__}"
        )
    is_retrieved = explained.ranks["rank"].notna()
    ranks = explained.ranks[is_retrieved]
    is_cut_off = ranks["note"].str.contains("below the cutoff")
    ranks = ranks[~is_cut_off].iloc[:n_ranks]
    if ranks.empty:
        raise MultiAspectError(
            f"expected retrieved documents to plot, got none for topic {explained.qid}"
        )
    n_ranks = len(ranks)
    details = [name for name in explained.details if name in _DETAILS]
    rows = [*explained.labels, *details]
    width = float(np.clip(3.2 + 0.4 * n_ranks, 5, 15))
    ax = style.axes_or_new(ax, width, 2.4 + 0.4 * len(rows), grid="y")
    strip = style.add_axes_below(ax, _ROW * len(rows))
    labels = ranks[rows].to_numpy(dtype=np.float64).T
    positions = explained.grade_positions.iloc[:n_ranks].to_numpy(dtype=np.float64).T
    shades = list(positions)
    for row in rows[len(positions) :]:
        shades.append(_shade(explained, row, n_ranks))
    _draw_cells(strip, labels, np.stack(shades))
    _bars(ax, explained, n_ranks)
    handles, _ = ax.get_legend_handles_labels()
    if np.isnan(positions).any():
        handles.append(unit_square("unjudged", **_HATCHED))
    if handles:
        ax.legend(handles=handles, loc="upper right", frameon=False, fontsize=style.SMALL)
    heads = [style.shorten(row, 24) for row in rows]
    strip.set_yticks(range(len(rows)), heads, fontsize=style.SMALL)
    _write_ranks(strip, ranks["docno"].tolist())
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    return ax


def _write_ranks(strip: Axes, docnos: list[str]) -> None:
    """Write the ranks below the cells, with the documents if there is space."""
    ticks = _rank_ticks(len(docnos))
    names = list(map(str, ticks))
    if len(docnos) <= 15 and max(map(len, docnos)) <= 6:
        names = [f"{rank}\n{docnos[rank - 1]}" for rank in ticks]
    strip.set_xticks([rank - 1 for rank in ticks], names, fontsize=style.SMALL)
    strip.set_xlabel("rank")


def _bars(ax: Axes, explained: Explanation, n_ranks: int) -> None:
    contribution = explained.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
    ranks = np.arange(n_ranks)
    colours = np.where(contribution < 0, style.ORANGE, style.BLUE).tolist()
    ax.bar(ranks, contribution, width=0.72, color=colours)
    if explained.ideal is not None:
        best = explained.ideal.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
        label = f"best ranking ({explained.ideal.value:.3f})"
        ax.step(ranks[: len(best)], best, where="mid", color=style.GREY, lw=1.2, label=label)
    ax.axhline(0, color=style.GREY, lw=0.8)
    ax.set_xlim(-0.5, n_ranks - 0.5)
    ax.set_ylabel("contribution")
    topic = style.shorten(explained.qid, 24)
    run = style.shorten(explained.run, 24)
    title = f"{style.wrap(explained.label, 60)}\ntopic {topic}, {run}: {explained.value:.3f}"
    ax.set_title(title, loc="left", fontsize="medium")


def _shade(explained: Explanation, name: str, n_ranks: int) -> np.ndarray:
    """Return the values of a column, scaled to [0, 1].

    0 and 1 are the lowest (at most 0) and the highest value in the ranking and the best ranking.
    """
    values = explained.ranks[name].to_numpy(dtype=np.float64)
    both = values
    if explained.ideal is not None:
        best = explained.ideal.ranks[name].to_numpy(dtype=np.float64)
        both = np.concatenate([values, best])
    low = float(np.nanmin(both, initial=0.0))
    high = float(np.nanmax(both, initial=-np.inf))
    span = (high - low) or 1.0
    return np.clip((values[:n_ranks] - low) / span, 0.0, 1.0)


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
        named = dict(curves)
    else:
        named = {"": curves}
    refuse_none(named, "curve", "curves")
    chosen, curves_of_topic = _read_curves(named, qid)
    texts = style.distinct_texts(list(map(str, named)), 40)
    is_single = len(texts) == 1
    if is_single:
        ax = style.axes_or_new(ax, 7.2, 4.0)
    else:
        ax = style.axes_or_new(ax, 9, 4.0)
    names_of_base: dict[int, list[str]] = {}
    for index, (curve, text) in enumerate(zip(curves_of_topic, texts, strict=True)):
        _draw_curve(ax, curve, index, texts)
        recall_base = int(curve["recall_base"].iloc[0])
        names_of_base.setdefault(recall_base, []).append(text)
    ax.axhline(0, color=style.ink(), lw=1, zorder=1)
    for base, names in names_of_base.items():
        ax.axvline(base, color=style.GREY, lw=1.1, ls="--", zorder=1)
        if len(names_of_base) == 1:
            _annotate_base(ax, base, f"R = {base}", rotation=0)
        else:
            _annotate_base(ax, base, f"R = {base} ({', '.join(names)})", rotation=90)
    _draw_worst_rankings(ax, curves_of_topic)
    ax.set_xlabel("rank")
    ax.locator_params(axis="x", integer=True)
    ax.set_ylabel("cumulated relative position (ranks)")
    title = f"query {chosen}"
    if is_single and texts[0]:
        title += f": {texts[0]}"
    ax.set_title(title, fontsize="medium")
    ax.margins(0.03, 0.1)
    add_legend(ax, not is_single)
    return ax


def _read_curves(
    curves: Mapping[str, pd.DataFrame], qid: str | None
) -> tuple[str | None, list[pd.DataFrame]]:
    """Return the topic, the only one by default, and the curves of runs on it."""
    columns = ["qid", "rank", "crp", "worst", "recall_base", "turn_around"]
    chosen = qid
    if qid is not None:
        chosen = str(qid)
    curves_of_topic = []
    for name, curve in curves.items():
        if name:
            described = f"the curve of {name}"
        else:
            described = "a curve"
        frame = style.with_columns(curve, columns, described, "ma.crp_curve")
        qids = frame["qid"].astype(str)
        present = qids.unique().tolist()
        if chosen is None and len(present) > 1:
            raise MultiAspectError(
                f"{described} has {len(present)} queries: pass one as qid= ({choices(present)})"
            )
        if chosen is None:
            chosen = present[0]
        refuse_unknown([chosen], present, "queries", described)
        curves_of_topic.append(frame[qids == chosen].sort_values("rank"))
    return chosen, curves_of_topic


def _draw_curve(ax: Axes, curve: pd.DataFrame, index: int, texts: list[str]) -> None:
    """Draw the curve of one of several runs, and a circle at its minimum."""
    label = None
    if len(texts) > 1:
        label = texts[index]
    every = max(1, len(curve) // 8)
    ax.plot(
        curve["rank"],
        curve["crp"],
        lw=1.7,
        ms=5,
        label=label,
        markevery=(index * every // len(texts), every),
        **style.line_style(index),
    )
    label_of_minimum = "_minimum"  # not in the legend
    if index == len(texts) - 1:
        label_of_minimum = "minimum"
    turn = curve[curve["rank"] == curve["turn_around"]]
    ax.scatter(
        turn["rank"],
        turn["crp"],
        70,
        facecolor="none",
        edgecolor=ax.lines[-1].get_color(),
        zorder=3,
        label=label_of_minimum,
    )


def _annotate_base(ax: Axes, base: int, text: str, rotation: int) -> None:
    """Write a text at the top of the line of a recall base."""
    ax.annotate(
        text,
        (base, 1),
        (3, -3),
        xycoords=("data", "axes fraction"),
        ha="left",
        va="top",
        textcoords="offset points",
        fontsize=style.SMALL,
        color=style.ink(),
        rotation=rotation,
        bbox={"facecolor": style.paper(), "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
    )


def _draw_worst_rankings(ax: Axes, curves: list[pd.DataFrame]) -> None:
    """Draw the worst rankings of the lengths of the curves, each once."""
    distinct: dict[tuple[tuple[int, int], ...], None] = {}
    for curve in curves:
        points = tuple(zip(curve["rank"], curve["worst"], strict=True))
        distinct[points] = None
    label = "worst ranking"
    for worst in distinct:
        rank, crp = np.transpose(worst)
        ax.plot(rank, crp, color=style.GREY, lw=1.1, ls=":", zorder=1, label=label)
        label = "_worst"  # once in the legend
