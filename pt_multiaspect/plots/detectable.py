"""A plot of detectable differences over the number of topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..analysis import DetectableDifference
from ..errors import MultiAspectError
from ..evaluation.aggregation import ALL
from ..kernels.intervals import detectable_effect
from .legends import MOST_INSIDE, add_legend
from .style import axes_or_new, distinct_texts, ink, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of topics, relative to those at hand, up to which differences are drawn, and the least number.
_FACTOR, _LEAST = 3, 50


def detectable_differences(result: DetectableDifference, *, ax: Axes | None = None) -> Axes:
    """Plot the minimum detectable difference over the number of topics, with one line per measure.

    Parameters
    ----------
    result : DetectableDifference
        The result of `analysis.detectable_difference`.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The median over the pairs of runs, from five topics on; points mark the topics at hand. If the topics have
        groups, all topics are drawn. Measures without a detectable difference are left out.

    Raises
    ------
    MultiAspectError
        If `result` is not a `DetectableDifference`, or no pair has a detectable difference.
    ImportError
        If matplotlib is not installed.

    Notes
    -----
    Stability: provisional. It shows the result of `analysis.detectable_difference`, which may change.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import analysis, plots
    >>> matplotlib.use("Agg")
    >>> scores = {"a": [0.5, 0.7, 0.1, 0.9], "b": [0.4, 0.4, 0.2, 0.4]}
    >>> perquery = pd.DataFrame(
    ...     [(name, f"q{n}", "AP", score) for name in scores for n, score in enumerate(scores[name])],
    ...     columns=["name", "qid", "measure", "value"],
    ... )
    >>> ax = plots.detectable_differences(analysis.detectable_difference(perquery))
    >>> ax.get_xlabel(), len(ax.lines)
    ('topics', 2)
    """
    if not isinstance(result, DetectableDifference):
        raise MultiAspectError(
            f"result: expected the result of analysis.detectable_difference, got a {type(result).__name__}"
        )
    table, pairs = result.table, result.pairs
    if "group" in table:
        table, pairs = (frame[frame["group"] == ALL] for frame in (table, pairs))
    deviations = pairs.groupby("measure", sort=False, observed=True)["sd"].median().dropna()
    if deviations.empty:
        raise MultiAspectError("expected pairs of runs whose differences vary over topics, got none")
    at_hand, level = int(pairs["n_topics"].iloc[0]), float(table["alpha"].iloc[0])
    topics = np.unique(np.geomspace(5, max(_FACTOR * at_hand, _LEAST), 60).astype(int))
    topics = np.union1d(topics, max(at_hand, 2))
    effects = np.array([detectable_effect(int(n), result.power, level) for n in topics])
    shown = topics >= min(5, at_hand)
    beside = len(deviations) >= MOST_INSIDE
    ax = axes_or_new(ax, 10 if beside else 7.2, 4.4, grid="y")
    texts = distinct_texts([str(measure) for measure in deviations.index], 44)
    for index, (deviation, text) in enumerate(zip(deviations, texts, strict=True)):
        style = line_style(index)
        at = int(np.flatnonzero(topics == at_hand)[0])
        ax.plot(
            topics[shown], deviation * effects[shown], lw=1.5, ms=5, markevery=[at - int(shown.argmax())],
            label=text, **style,
        )  # fmt: skip
    ax.axvline(at_hand, color=ink(), lw=0.8, ls=":")
    ax.set_ylim(bottom=0)
    ax.set_xlabel("topics")
    ax.set_ylabel(f"difference detected with probability {result.power:g}")
    add_legend(ax, beside, title="measure (median over pairs)")
    return ax
