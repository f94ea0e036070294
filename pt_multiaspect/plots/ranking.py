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
    """Draw one cell per row and rank, coloured by its shade between 0 and 1, with its label if there is space.

    Cells without a shade are hatched.
    """
    image = ax.imshow(np.ma.masked_invalid(shades), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for row, column in np.argwhere(np.isnan(shades)).tolist():
        ax.add_patch(unit_square("", at=(column - 0.5, row - 0.5), **_HATCHED))
    colours = style.colours_of("cividis", np.nan_to_num(shades))
    written = [[spell(round(label, 2)) for label in row] for row in labels.tolist()]
    n_rows, n_ranks = shades.shape
    if (
        n_ranks <= _MOST_LABELS
        and max((len(text) for row in written for text in row), default=0) <= 4
    ):
        for row, column in np.argwhere(~np.isnan(shades)).tolist():
            ax.text(
                column, row, written[row][column], ha="center", va="center", fontsize=style.SMALL,
                color=style.text_colour(colours[row, column]),
            )  # fmt: skip
    ax.set_xticks(np.arange(0.5, n_ranks - 1), minor=True)
    ax.set_yticks(np.arange(0.5, n_rows - 1), minor=True)
    ax.grid(which="minor", color="white", lw=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    return image


def _rank_ticks(n_ranks: int) -> list[int]:
    """Return the ranks to write below a plot."""
    if n_ranks <= _MOST_LABELS:
        step = 1
    else:
        step = 5 * math.ceil(n_ranks / 100)
    return [rank for rank in range(1, n_ranks + 1) if step == 1 or rank == 1 or rank % step == 0]


#: Columns that are drawn below the labels, if the measure has them.
_DETAILS = ("class", "product", "weight", "displacement")
#: Height of a row of labels as a fraction of the height of the bars.
_ROW = 0.16


@style.with_literal_texts
def explanation(explained: Explanation, cutoff: int = 20, *, ax: Axes | None = None) -> Axes:
    """Plot the contribution of each rank to the value of one topic, above the labels of the documents.

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
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
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
    ranks = explained.ranks[explained.ranks["rank"].notna()]
    ranks = ranks[~ranks["note"].str.contains("below the cutoff")].iloc[:n_ranks]
    if ranks.empty:
        raise MultiAspectError(
            f"expected retrieved documents to plot, got none for topic {explained.qid}"
        )
    n_ranks = len(ranks)
    rows = [*explained.labels, *(name for name in explained.details if name in _DETAILS)]
    ax = style.axes_or_new(
        ax, float(np.clip(3.2 + 0.4 * n_ranks, 5, 15)), 2.4 + 0.4 * len(rows), grid="y"
    )
    strip = style.add_axes_below(ax, _ROW * len(rows))
    labels = ranks[rows].to_numpy(dtype=np.float64).T
    positions = explained.grade_positions.iloc[:n_ranks].to_numpy(dtype=np.float64).T
    shades = [*positions, *(_shade(explained, row, n_ranks) for row in rows[len(positions) :])]
    _draw_cells(strip, labels, np.stack(shades))
    _bars(ax, explained, n_ranks)
    handles = [*ax.get_legend_handles_labels()[0]]
    handles += [unit_square("unjudged", **_HATCHED)] if np.isnan(positions).any() else []
    if handles:
        ax.legend(handles=handles, loc="upper right", frameon=False, fontsize=style.SMALL)
    strip.set_yticks(
        range(len(rows)), [style.shorten(row, 24) for row in rows], fontsize=style.SMALL
    )
    ticks = _rank_ticks(n_ranks)
    docnos = ranks["docno"].tolist()
    named = max(map(len, docnos)) <= 6 and n_ranks <= 15
    names = [f"{rank}\n{docnos[rank - 1]}" if named else str(rank) for rank in ticks]
    strip.set_xticks([rank - 1 for rank in ticks], names, fontsize=style.SMALL)
    strip.set_xlabel("rank")
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    return ax


def _bars(ax: Axes, explained: Explanation, n_ranks: int) -> None:
    contribution = explained.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
    ranks = np.arange(n_ranks)
    ax.bar(
        ranks,
        contribution,
        width=0.72,
        color=np.where(contribution < 0, style.ORANGE, style.BLUE).tolist(),
    )
    if explained.ideal is not None:
        best = explained.ideal.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
        label = f"best ranking ({explained.ideal.value:.3f})"
        ax.step(ranks[: len(best)], best, where="mid", color=style.GREY, lw=1.2, label=label)
    ax.axhline(0, color=style.GREY, lw=0.8)
    ax.set_xlim(-0.5, n_ranks - 0.5)
    ax.set_ylabel("contribution")
    topic, run = (style.shorten(name, 24) for name in (explained.qid, explained.run))
    title = f"{style.wrap(explained.label, 60)}\ntopic {topic}, {run}: {explained.value:.3f}"
    ax.set_title(title, loc="left", fontsize="medium")


def _shade(explained: Explanation, name: str, n_ranks: int) -> np.ndarray:
    """Return the values of a column, scaled to [0, 1].

    0 and 1 are the lowest (at most 0) and the highest value in the ranking and the best ranking.
    """
    values = explained.ranks[name].to_numpy(dtype=np.float64)
    if explained.ideal is None:
        rankings = [explained]
    else:
        rankings = [explained, explained.ideal]
    shown = np.concatenate([ranking.ranks[name].to_numpy(dtype=np.float64) for ranking in rankings])
    low, high = float(np.nanmin(shown, initial=0.0)), float(np.nanmax(shown, initial=-np.inf))
    return np.clip((values[:n_ranks] - low) / ((high - low) or 1.0), 0.0, 1.0)


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
    chosen, parts = None if qid is None else str(qid), {}
    for name, curve in named.items():
        if name:
            described = f"the curve of {name}"
        else:
            described = "a curve"
        curve = style.with_columns(
            curve,
            ["qid", "rank", "crp", "worst", "recall_base", "turn_around"],
            described,
            "ma.crp_curve",
        )
        qids = curve["qid"].astype(str)
        present = qids.unique().tolist()
        if chosen is None and len(present) > 1:
            raise MultiAspectError(
                f"{described} has {len(present)} queries: pass one as qid= ({choices(present)})"
            )
        if chosen is None:
            chosen = present[0]
        else:
            chosen = chosen
        refuse_unknown([chosen], present, "queries", described)
        parts[name] = curve[qids == chosen].sort_values("rank")
    texts = style.distinct_texts([str(name) for name in parts], 40)
    ax = style.axes_or_new(ax, 9 if len(parts) > 1 else 7.2, 4.0)
    bases: dict[int, list[str]] = {}
    for index, (part, text) in enumerate(zip(parts.values(), texts, strict=True)):
        every = max(1, len(part) // 8)
        ax.plot(
            part["rank"], part["crp"], lw=1.7, ms=5, label=text if len(parts) > 1 else None,
            markevery=(index * every // len(parts), every), **style.line_style(index),
        )  # fmt: skip
        turn = part[part["rank"] == part["turn_around"]]
        ax.scatter(
            turn["rank"], turn["crp"], 70, facecolor="none", edgecolor=ax.lines[-1].get_color(), zorder=3,
            label="minimum" if index == len(parts) - 1 else "_minimum",
        )  # fmt: skip
        bases.setdefault(int(part["recall_base"].iloc[0]), []).append(text)
    ax.axhline(0, color=style.ink(), lw=1, zorder=1)
    for base, names in bases.items():
        ax.axvline(base, color=style.GREY, lw=1.1, ls="--", zorder=1)
        if len(bases) > 1:
            whose = f" ({', '.join(names)})"
        else:
            whose = ""
        ax.annotate(
            f"R = {base}{whose}", (base, 1), (3, -3), xycoords=("data", "axes fraction"), ha="left", va="top",
            textcoords="offset points", fontsize=style.SMALL, color=style.ink(), rotation=90 if whose else 0,
            bbox={"facecolor": style.paper(), "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        )  # fmt: skip
    distinct = {
        tuple(zip(part["rank"], part["worst"], strict=True)): None for part in parts.values()
    }
    for index, worst in enumerate(distinct):
        text = "_worst" if index else "worst ranking"
        ax.plot(*np.transpose(worst), color=style.GREY, lw=1.1, ls=":", zorder=1, label=text)
    ax.set_xlabel("rank")
    ax.locator_params(axis="x", integer=True)
    ax.set_ylabel("cumulated relative position (ranks)")
    ax.set_title(
        f"query {chosen}" + (f": {texts[0]}" if len(texts) == 1 and texts[0] else ""),
        fontsize="medium",
    )
    ax.margins(0.03, 0.1)
    add_legend(ax, len(texts) > 1)
    return ax
