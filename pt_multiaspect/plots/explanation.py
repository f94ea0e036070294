"""A plot of the contributions to the value of one topic, above the labels of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import count
from ..errors import MultiAspectError
from ..explanation import Explanation
from .legends import unit_square
from .ranking import HATCHED, draw_cells, rank_ticks
from .style import BLUE, GREY, ORANGE, SMALL, add_axes_below, axes_or_new, shorten, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Columns that are drawn below the labels, if the measure has them.
_DETAILS = ("class", "product", "weight", "displacement")
#: Height of a row of labels as a fraction of the height of the bars.
_ROW = 0.16


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
        One bar per rank, above zero or, if a rank lowers the value, below it. If a best ranking is known, it is
        drawn as a line. Below, one row of cells per aspect shows the labels, and another row a quantity that the
        measure derives from them, such as TOMA's class: the lighter, the higher. Hatched cells are unjudged.

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
            f"expected an Explanation, as from measure.explain(run, qrels, qid), got a {type(explained).__name__}"
        )
    ranks = explained.ranks[explained.ranks["rank"].notna()]
    ranks = ranks[~ranks["note"].str.contains("below the cutoff")].iloc[:n_ranks]
    if ranks.empty:
        raise MultiAspectError(f"expected retrieved documents to plot, got none for topic {explained.qid}")
    n_ranks = len(ranks)
    rows = [*explained.labels, *(name for name in explained.details if name in _DETAILS)]
    ax = axes_or_new(ax, float(np.clip(3.2 + 0.4 * n_ranks, 5, 15)), 2.4 + 0.4 * len(rows), grid="y")
    strip = add_axes_below(ax, _ROW * len(rows))
    labels = ranks[rows].to_numpy(dtype=np.float64).T
    positions = explained.grade_positions.iloc[:n_ranks].to_numpy(dtype=np.float64).T
    shades = [*positions, *(_shade(explained, row, n_ranks) for row in rows[len(positions) :])]
    draw_cells(strip, labels, np.stack(shades))
    _bars(ax, explained, n_ranks)
    handles = [*ax.get_legend_handles_labels()[0]]
    handles += [unit_square("unjudged", **HATCHED)] if np.isnan(positions).any() else []
    if handles:
        ax.legend(handles=handles, loc="upper right", frameon=False, fontsize=SMALL)
    strip.set_yticks(range(len(rows)), [shorten(row, 24) for row in rows], fontsize=SMALL)
    ticks = rank_ticks(n_ranks)
    docnos = ranks["docno"].tolist()
    named = max(map(len, docnos)) <= 6 and n_ranks <= 15
    names = [f"{rank}\n{docnos[rank - 1]}" if named else str(rank) for rank in ticks]
    strip.set_xticks([rank - 1 for rank in ticks], names, fontsize=SMALL)
    strip.set_xlabel("rank")
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    return ax


def _bars(ax: Axes, explained: Explanation, n_ranks: int) -> None:
    contribution = explained.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
    ranks = np.arange(n_ranks)
    ax.bar(ranks, contribution, width=0.72, color=np.where(contribution < 0, ORANGE, BLUE).tolist())
    if explained.ideal is not None:
        best = explained.ideal.ranks["contribution"].to_numpy(dtype=np.float64)[:n_ranks]
        label = f"best ranking ({explained.ideal.value:.3f})"
        ax.step(ranks[: len(best)], best, where="mid", color=GREY, lw=1.2, label=label)
    ax.axhline(0, color=GREY, lw=0.8)
    ax.set_xlim(-0.5, n_ranks - 0.5)
    ax.set_ylabel("contribution")
    title = f"{wrap(explained.label, 60)}\ntopic {shorten(explained.qid, 24)}, {shorten(explained.run, 24)}: "
    ax.set_title(f"{title}{explained.value:.3f}", loc="left", fontsize="medium")


def _shade(explained: Explanation, name: str, n_ranks: int) -> np.ndarray:
    """Return the values of a column, scaled to [0, 1].

    0 and 1 are the lowest (at most 0) and the highest value in the ranking and the best ranking.
    """
    values = explained.ranks[name].to_numpy(dtype=np.float64)
    columns = (
        [values] if explained.ideal is None else [values, explained.ideal.ranks[name].to_numpy(dtype=np.float64)]
    )
    low = min(0.0, min(float(np.nanmin(column, initial=np.inf)) for column in columns))
    high = max(float(np.nanmax(column, initial=-np.inf)) for column in columns)
    return np.clip((values[:n_ranks] - low) / ((high - low) or 1.0), 0.0, 1.0)
