"""A plot of the intervals that missing labels leave to the values of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..analysis import MissingLabels
from ..errors import MultiAspectError, refuse_unknown
from .legends import add_legend_above
from .style import axes_or_new, distinct_texts, ink, paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def label_intervals(result: MissingLabels, measure: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Plot the value of each run as evaluated, its interval over all missing labels, and its expected value.

    Intervals that overlap do not mean that the difference can have either sign: both runs are measured on the same
    labels. `MissingLabels.pairs` has the intervals of differences.

    Parameters
    ----------
    result : MissingLabels
        The result of `analysis.missing_labels`.
    measure : str, optional
        The label of the measure; the first by default.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        One row per run, the highest value on top. Runs without an interval have a point only.

    Raises
    ------
    MultiAspectError
        If `result` is not a `MissingLabels`, or does not contain the measure.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import matplotlib
    >>> import pt_multiaspect as ma
    >>> matplotlib.use("Agg")
    >>> qrels = {"q1": {"d1": {"relevance": 1}, "d2": {"relevance": 0}}}
    >>> runs = {"old": {"q1": {"d1": 2.0, "d2": 1.0}}, "new": {"q1": {"d3": 2.0, "d1": 1.0}}}
    >>> measure = ma.On(aspects={"relevance": 1}) @ 2
    >>> ax = ma.plots.label_intervals(ma.analysis.missing_labels(runs, qrels, {"nDCG@2": measure}))
    >>> [text.get_text() for text in ax.get_yticklabels()], ax.get_xlabel()
    (['old', 'new'], 'nDCG@2')
    """
    if not isinstance(result, MissingLabels):
        raise MultiAspectError(
            f"result: expected the result of analysis.missing_labels, got a {type(result).__name__}"
        )
    labels = result.runs["measure"].unique().tolist()
    chosen = labels[0] if measure is None else str(measure)
    refuse_unknown([chosen], labels, "measures of the result", "measure")
    rows = result.runs[result.runs["measure"] == chosen].sort_values("value", ascending=False, kind="stable")
    ax = axes_or_new(ax, 7.2, 1.2 + 0.3 * len(rows), grid="x")
    position = np.arange(len(rows))
    ax.hlines(position, rows["low"], rows["high"], color="0.6", lw=5, label="over all missing labels")
    ax.plot(rows["value"], position, "o", color=ink(), ms=5, label="as evaluated")
    if rows["expected"].notna().any():
        ax.plot(rows["expected"], position, "d", color=paper(), mec=ink(), ms=6, label="expected")
    ax.set_yticks(position, distinct_texts(rows["name"].astype(str).tolist(), 24))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(chosen)
    add_legend_above(ax)
    return ax
