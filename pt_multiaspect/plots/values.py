"""A plot of the means of runs with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from ir_measures import Measure

from ..analysis._frames import directions, matrix, select_measures
from ..analysis.baseline import read_baselines
from ..collection.frames import as_pandas
from ..evaluation import aggregate
from ..evaluation.aggregation import interval_columns
from .style import BLUE, ORANGE, add_axes_beside, axes_or_new, distinct_texts, wrap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Font size in points, and the height of a row in inches at which rows of this size do not touch.
_TEXT, _ROW = 7.0, 0.125
#: The width of a column of a paper in inches, and that of the names and panels of a figure over two columns.
_COLUMN, _NAMES, _PANEL = 3.3, 1.2, 1.4


def values(
    perquery: Any,
    measures: Sequence[Measure | str] | Mapping[str, Measure | str] | None = None,
    *,
    baseline: str | None = None,
    ci: float | None = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Plot the mean of every run with its interval, with one panel per measure.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate`, `pt_multiaspect.read_values` and
        ``pt.Experiment(perquery=True)`` return.
    measures : sequence or mapping, optional
        The measures to draw, or a mapping ``{label: measure}``, which says what the labels of a frame without the
        record of `pt_multiaspect.evaluate` refer to ('higher' or 'lower' for values that are not those of a
        measure). By default, all measures of the frame.
    baseline : str, optional
        A run that is marked, and whose mean is a line through each panel.
    ci : float in (0, 1) or None, default 0.95
        The confidence level of the t intervals over topics, as in `pt_multiaspect.aggregate`. None draws none.
    ax : Axes, optional
        Axes to draw on, which the panels share. By default, a new figure: 3.3 inches wide, as a column of a paper,
        for one or two measures, and wider for more.

    Returns
    -------
    Axes
        The panel of the first measure, whose vertical axis has the names of the runs; the others are in
        ``ax.figure.axes``. In all panels, the runs are in the order of the first measure, best first. The axis of a
        lower-is-better measure is inverted, so that better runs are always further to the right.

    Raises
    ------
    MultiAspectError
        If a measure or the baseline is unknown, a run lacks values, or there are fewer than two topics.
    ImportError
        If matplotlib is not installed.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be better.

    Notes
    -----
    Overlapping intervals do not say whether two runs differ, as runs are evaluated on the same topics: for that,
    see `analysis.compare_with_baseline`.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> scores = {"bm25": [0.2, 0.4, 0.3], "dense": [0.5, 0.7, 0.6]}
    >>> rows = [(name, f"q{n}", "AP", score) for name in scores for n, score in enumerate(scores[name])]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> ax = plots.values(perquery, baseline="bm25")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['dense', 'bm25']
    """
    perquery, by_label = select_measures(as_pandas(perquery), measures)
    array, names, _, labels = matrix(perquery, least=1)
    labels = [str(label) for label in labels]
    marked = [] if baseline is None else read_baselines(baseline, names)
    signs = directions(perquery, array, labels, by_label, "plots.values")
    table = aggregate(perquery, ci=ci).set_index("name")
    order = (-signs[0] * table[labels[0]]).sort_values(kind="stable").index
    table = table.loc[order]
    rows = np.arange(len(table))
    n_panels = len(labels)
    width = _COLUMN if n_panels <= 2 else _NAMES + _PANEL * n_panels
    ax = axes_or_new(ax, width, 0.75 + _ROW * max(len(rows), 4), grid="x")
    panels = add_axes_beside(ax, n_panels)
    is_marked = table.index.isin(marked)
    for panel, label, sign in zip(panels, labels, signs, strict=True):
        means = table[label].to_numpy(np.float64)
        ends = None if ci is None else table[list(interval_columns(label, ci))].to_numpy(np.float64)
        for chosen, marker, colour, text in ((~is_marked, "o", BLUE, None), (is_marked, "D", ORANGE, "baseline")):
            if ends is not None:
                panel.hlines(rows[chosen], *ends[chosen].T, color=colour, lw=1)
            panel.plot(means[chosen], rows[chosen], marker, color=colour, ms=3.2, label=text)
        for mean in means[is_marked]:
            panel.axvline(mean, color=ORANGE, lw=0.8, ls="--", zorder=0)
        panel.set_xlabel(f"{wrap(label, 26)}{'' if sign > 0 else chr(10) + '(lower is better)'}", fontsize=_TEXT)
        panel.tick_params(labelsize=_TEXT, length=2)
        panel.locator_params(axis="x", nbins=4)
        panel.xaxis.set_inverted(sign < 0)
    first = panels[0]
    first.set_yticks(rows, distinct_texts([str(name) for name in table.index], 20), fontsize=_TEXT)
    first.set_ylim(len(rows) - 0.4, -0.6)
    for row in np.flatnonzero(is_marked).tolist():
        first.get_yticklabels()[row].set_color(ORANGE)
    first.set_title("mean" if ci is None else f"mean, {100 * ci:g} % interval", fontsize=_TEXT, loc="left")
    if marked:
        panels[-1].legend(
            handles=panels[-1].lines[1:2], fontsize=_TEXT, frameon=False, loc="lower right", bbox_to_anchor=(1, 1),
            borderaxespad=0, handletextpad=0.2,
        )  # fmt: skip
    return first
