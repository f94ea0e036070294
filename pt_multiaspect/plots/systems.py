"""A scatter plot of the means of systems under two measures."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from .._typing import Floats
from ..analysis import rank_correlation
from ..analysis._frames import directions, matrix, rows_of_measures, select_measures
from ..analysis.correlation import round_scores
from ..collection.frames import as_pandas
from ..errors import MultiAspectError
from .legends import add_legend_above
from .point_labels import annotate
from .style import BLUE, GREY, ORANGE, axes_or_new, ink, rows_to_label, shorten, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of systems whose names find room on a figure.
_MOST_NAMED = 20


def systems(
    perquery: Any,
    x: Measure | str,
    y: Measure | str,
    *,
    label: int | Sequence[Hashable] = _MOST_NAMED,
    measures: Mapping[str, Measure | str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the means of systems under two measures, with Kendall's τ.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. The axis of a lower-is-better measure, such as ESL, is
        inverted, so that better systems are always at the top right.
    x, y : measure or str
        Two measures of the frame, for the horizontal and the vertical axis.
    label : int or sequence of names, default 20
        The systems to name: their names, or a number of systems, of which those whose ranks differ most between the
        measures come first. The number after a name is the number of ranks by which the system is higher (↑) or
        lower (↓) under `y` than under `x`; ties have their mean rank. A name for which there is no place where it
        hides no marker, no other name and no line to one is omitted, the last ones first.
    measures : mapping of str to measure or str, optional
        The measures that the labels refer to, for frames without the record of `pt_multiaspect.evaluate`, such as
        those read from files. For values that are not those of a measure, give 'higher' or 'lower', whichever is
        better.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The title shows Kendall's τ-b of the means and the numbers of systems, topics and omitted names.

    Raises
    ------
    MultiAspectError
        If a measure or a name is unknown, or the frame is not valid for `analysis.correlation`.
    ImportError
        If matplotlib is not installed.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be better.

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
    >>> ax = plots.systems(pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]), "AP", "RR")
    >>> ax.get_title()
    'Kendall’s τ-b = 0.667 (4 systems, 2 topics)'
    """
    from scipy.stats import rankdata

    perquery = as_pandas(perquery)
    values, names, qids, pair, signs = _two_measures(perquery, x, y, measures)
    means = values.mean(axis=1)
    ranks = rankdata(-round_scores(means * signs), axis=0)
    moves = ranks[:, 0] - ranks[:, 1]
    named = rows_to_label(label, names, np.argsort(-np.abs(moves), kind="stable"))
    tau = rank_correlation(means[:, 0] * signs[0], means[:, 1] * signs[1])
    ax = axes_or_new(ax, 6.4, 5.2, grid="both")
    plain = np.setdiff1d(np.arange(len(names)), named)
    ax.scatter(means[plain, 0], means[plain, 1], s=24, marker="o", color=GREY, alpha=0.75, linewidths=0)
    colours: dict[int, str] = {}
    for chosen, marker, size, colour, text in (
        ([i for i in named if moves[i] > 0], "^", 42, BLUE, "higher rank on y"),
        ([i for i in named if moves[i] < 0], "v", 42, ORANGE, "lower rank on y"),
        ([i for i in named if moves[i] == 0], "D", 24, ink(), "same rank on both"),
    ):
        if chosen:
            x_means, y_means = means[chosen].T
            ax.scatter(x_means, y_means, size, marker=marker, color=colour, zorder=3, label=text)
            colours.update(dict.fromkeys(chosen, colour))
    for axis, measure, sign in zip((ax.xaxis, ax.yaxis), pair, signs.tolist(), strict=True):
        axis.set_label_text(f"{wrap(measure)}\nmean over topics{'' if sign > 0 else ', lower is better'}")
        axis.set_inverted(sign < 0)
    known = "is undefined" if math.isnan(tau) else f"= {tau:.3f}"
    title = f"Kendall’s τ-b {known} ({len(names)} systems, {len(qids)} topics"
    ax.margins(0.1)
    ax.set_title(f"{title})", fontsize="medium")
    if named:
        add_legend_above(ax)
        arrows = {1.0: "↑", -1.0: "↓", 0.0: "="}
        texts = [
            f"{shorten(str(names[i]), 26)} {arrows[float(np.sign(moves[i]))]}"
            + (f"{abs(moves[i]):g}" if moves[i] else "")
            for i in named
        ]
        n_omitted = annotate(ax, means, dict(zip(named, texts, strict=True)), colours)
        if n_omitted:
            ax.title.set_text(f"{title}, {n_omitted} names omitted)")
    return ax


def _two_measures(
    perquery: pd.DataFrame, x: Measure | str, y: Measure | str, measures: Mapping[str, Measure | str] | None
) -> tuple[Floats, list[Any], list[Any], tuple[str, str], Floats]:
    """Return the values (systems × topics × (x, y)), names, topics, measures, and −1 where lower is better."""
    pair = (str(x), str(y))
    by_label = {str(measure): measure for measure in (x, y) if not isinstance(measure, str)}
    if measures is not None:
        by_label.update(select_measures(perquery, measures)[1])
    perquery = rows_of_measures(perquery, list(pair))
    if pair[0] == pair[1]:
        raise MultiAspectError(f"expected two different measures as x and y, got {pair[0]} twice")
    values, names, qids, labels = matrix(perquery)
    values = values[:, :, [labels.index(measure) for measure in pair]]
    return values, names, qids, pair, directions(perquery, values, list(pair), by_label, "plots.systems")
