"""A plot of the dependence of the order of systems on the judges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..analysis.judges import JudgeSensitivity
from ..errors import MultiAspectError
from .legends import add_legend_above
from .style import BLUE, GREY, ORANGE, SMALL, axes_or_new, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_METHODS = {
    "kendall": "Kendall’s τ-b",
    "tau_ap": "τ_AP",
    "tau_gap": "τ_GAP",
    "spearman": "Spearman’s ρ",
    "rbo": "rank-biased overlap",
}


def judge_correlations(sensitivity: JudgeSensitivity, *, ax: Axes | None = None) -> Axes:
    """Plot the correlation of system rankings by different judges and under resampled labels, per measure.

    Parameters
    ----------
    sensitivity : JudgeSensitivity
        The result of `analysis.judge_sensitivity`.
    ax : Axes, optional
        Axes to draw on. By default, a new figure, whose height depends on the number of measures.

    Returns
    -------
    Axes
        One row per measure, in the order of the table: a circle per pair of judges, and the mean and the interval
        of resampled labels. Undefined correlations are not drawn.

    Raises
    ------
    MultiAspectError
        If `sensitivity` is not the result of `analysis.judge_sensitivity`.
    ImportError
        If matplotlib is not installed.

    Notes
    -----
    Stability: provisional. It shows the result of `judge_sensitivity`, which may change.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import analysis, plots
    >>> matplotlib.use("Agg")
    >>> labels = {"a": [2, 1, 0], "b": [3, 1, 0], "c": [0, 1, 3]}
    >>> rows = [
    ...     (qid, f"d{n}", "relevance", judge, label)
    ...     for qid in ("q0", "q1")
    ...     for judge in labels
    ...     for n, label in enumerate(labels[judge])
    ... ]
    >>> judged = pd.DataFrame(rows, columns=["qid", "docno", "criterion", "judge", "value"])
    >>> runs = {
    ...     name: {qid: {f"d{d}": -rank for rank, d in enumerate(order)} for qid in ("q0", "q1")}
    ...     for name, order in {"one": "012", "two": "120", "three": "210"}.items()
    ... }
    >>> ax = plots.judge_correlations(analysis.judge_sensitivity(runs, judged, "nDCG", n_resamples=20))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['nDCG']
    """
    if not isinstance(sensitivity, JudgeSensitivity):
        raise MultiAspectError(
            f"expected the result of analysis.judge_sensitivity, got a {type(sensitivity).__name__}"
        )
    table = sensitivity.table
    names = table["measure"].tolist()
    rows = np.arange(len(names))
    ax = axes_or_new(ax, 6.4, 1.4 + 0.42 * len(names), grid="x")
    pair_row = sensitivity.pairs["measure"].map({name: row for row, name in enumerate(names)}).to_numpy()
    ax.scatter(
        sensitivity.pairs["correlation"], pair_row - 0.14, s=26, marker="o", facecolors="none", edgecolors=BLUE,
        lw=1, label="pairs of judges",
    )  # fmt: skip
    ax.hlines(rows + 0.14, table["low"], table["high"], color=ORANGE, lw=2.2)
    resampled = "labels" if sensitivity.resample == "labels" else "judges"
    ax.scatter(
        table["resampled"], rows + 0.14, s=30, marker="D", color=ORANGE, zorder=3,
        label=f"resampled {resampled} (mean and {100 * sensitivity.ci:g} % interval)",
    )  # fmt: skip
    ax.axvline(1, color=GREY, lw=0.8)
    ax.set_yticks(rows, [shorten(str(name), 40) for name in names], fontsize=SMALL)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlabel(f"{_METHODS[sensitivity.method]} of the orders of systems")
    add_legend_above(ax)
    return ax
