"""A plot of the grades of the documents in one ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._numbers import spell
from .._typing import Floats
from .._validation import count
from ..aspects.aspects import Aspects
from ..aspects.parameter import parse_aspects
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..collection.run import Run
from ..errors import refuse_unknown
from .legends import unit_square
from .style import GREY, SMALL, add_colour_bar, axes_or_new, colours_of, shorten, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

#: Maximum number of ranks for which there is space for labels.
_MOST_LABELS = 30
#: The style of the cells of unjudged documents.
HATCHED: dict[str, Any] = {"facecolor": "#EEEEEE", "edgecolor": GREY, "hatch": "////", "linewidth": 0}


def ranking_grades(
    run: object,
    qrels: object,
    qid: str,
    aspects: Aspects | Mapping[str, Any] | Sequence[str] | str | None = None,
    cutoff: int = 20,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot the grades of the documents in a ranking, by rank and aspect.

    Parameters
    ----------
    run : DataFrame, dict or iterable of namedtuples
        One run.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        Wide qrels with one numeric column per aspect.
    qid : str
        The query.
    aspects : Aspects, mapping, str or sequence of str, optional
        The aspects, from top to bottom, with or without scales, as for measures. All by default.
    cutoff : int, default 20
        Maximum number of ranks.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The colour is the position of the grade on its scale, from 0 for the lowest to 1 for the highest grade.
        Labels are written into the cells if there is space. Hatched cells are unjudged.

    Raises
    ------
    MultiAspectError
        If the query is not in the run or not in the qrels, an aspect is unknown, or the input is invalid.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists. ICTIR 2017,
    Table 4 (drawn for all ranks).

    Examples
    --------
    >>> import matplotlib
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> ax = plots.ranking_grades({"q1": {"d1": 3.0, "new": 2.0, "d2": 1.0}}, qrels, "q1")
    >>> ax.images[0].get_array().tolist()
    [[1.0, None, 0.5], [0.0, None, 1.0]]
    """
    n_ranks = count("cutoff")(cutoff)
    judgments = Judgments.of(qrels)
    query = judgments.query_position(qid)
    qid = judgments.qids[query]
    views = judgments.views(parse_aspects(aspects))
    frame = Run.of(run).to_pandas()
    query_rows = frame[frame["query_id"] == qid]
    refuse_unknown([qid], frame["query_id"].unique(), "queries of the run")
    rankings = Rankings(query_rows, judgments)
    hits = rankings.top(n_ranks)
    n_ranks = min(n_ranks, int(rankings.hits.n_ret[query]))
    labels = np.full((len(views), n_ranks), np.nan)
    grades = np.full((len(views), n_ranks), np.nan)
    for index, view in enumerate(views):
        rows = hits.row[view.known[hits.row]]
        ranks = hits.rank[view.known[hits.row]] - 1
        labels[index, ranks] = view.label[rows]
        grades[index, ranks] = view.grade[rows] / max(1, len(view.scale) - 1)
    ax = axes_or_new(ax, float(np.clip(3.2 + 0.34 * n_ranks, 5, 15)), 1.5 + 0.42 * len(views))
    image = draw_cells(ax, labels, grades)
    ticks = rank_ticks(n_ranks)
    ax.set_xticks([rank - 1 for rank in ticks], list(map(str, ticks)), fontsize=SMALL)
    ends = [f"{spell(view.scale.grades[0].item())}–{spell(view.scale.grades[-1].item())}" for view in views]
    ax.set_yticks(
        range(len(views)),
        [f"{shorten(view.name, 28)} ({scale})" for view, scale in zip(views, ends, strict=True)],
    )
    ax.set_xlabel("rank")
    ax.set_title(f"query {qid}", loc="left", fontsize="medium")
    add_colour_bar(ax, image, "grade, lowest\nto highest", [0, 0.5, 1])
    if np.isnan(grades).any():
        ax.legend(
            handles=[unit_square("unjudged", **HATCHED)], loc="lower right", bbox_to_anchor=(1, 1), frameon=False,
            fontsize=SMALL, borderaxespad=0.2,
        )  # fmt: skip
    return ax


def draw_cells(ax: Axes, labels: Floats, shades: Floats) -> AxesImage:
    """Draw one cell per row and rank, coloured by its shade between 0 and 1, with its label if there is space.

    Cells without a shade are hatched.
    """
    image = ax.imshow(np.ma.masked_invalid(shades), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for row, column in np.argwhere(np.isnan(shades)).tolist():
        ax.add_patch(unit_square("", at=(column - 0.5, row - 0.5), **HATCHED))
    colours = colours_of("cividis", np.nan_to_num(shades))
    written = [[spell(round(label, 2)) for label in row] for row in labels.tolist()]
    n_rows, n_ranks = shades.shape
    if n_ranks <= _MOST_LABELS and max((len(text) for row in written for text in row), default=0) <= 4:
        for row, column in np.argwhere(~np.isnan(shades)).tolist():
            ax.text(
                column, row, written[row][column], ha="center", va="center", fontsize=SMALL,
                color=text_colour(colours[row, column]),
            )  # fmt: skip
    ax.set_xticks(np.arange(0.5, n_ranks - 1), minor=True)
    ax.set_yticks(np.arange(0.5, n_rows - 1), minor=True)
    ax.grid(which="minor", color="white", lw=1.2)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    return image


def rank_ticks(n_ranks: int) -> list[int]:
    """Return the ranks to write below a plot."""
    step = 1 if n_ranks <= _MOST_LABELS else 5 * math.ceil(n_ranks / 100)
    return [rank for rank in range(1, n_ranks + 1) if step == 1 or rank == 1 or rank % step == 0]
