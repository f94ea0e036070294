"""A plot of the achieved significance levels of pairs of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import count, proportion
from ..analysis import DiscriminativePower
from ..errors import MultiAspectError
from .legends import MOST_INSIDE, add_legend
from .style import axes_or_new, distinct_texts, ink, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def asl_curves(
    power: DiscriminativePower, *, n_pairs: int | None = None, top: float | None = None, ax: Axes | None = None
) -> Axes:
    """Plot the achieved significance levels of all pairs of systems, with one line per measure.

    For each measure, pairs are sorted by significance level, highest first. The sooner a line falls below
    the dashed line, the more pairs the measure discriminates.

    Parameters
    ----------
    power : DiscriminativePower
        The result of `analysis.discriminative_power`.
    n_pairs : int, optional
        Number of pairs drawn per measure, those with the highest levels first. All by default.
    top : float in (0, 1), optional
        Upper limit of the vertical axis, such as 0.1. 1 by default.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The legend lists the measures by power, highest first.

    Raises
    ------
    MultiAspectError
        If `power` is not a `DiscriminativePower`, or a parameter is out of range.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Sakai: Evaluating Evaluation Metrics based on the Bootstrap. SIGIR 2006.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> from pt_multiaspect.analysis import discriminative_power
    >>> matplotlib.use("Agg")
    >>> scores = {"a": [0.7, 0.9, 0.6, 0.8, 0.7], "b": [0.7, 0.8, 0.7, 0.8, 0.7], "c": [0.1, 0.2, 0.1, 0.2, 0.0]}
    >>> perquery = pd.DataFrame(
    ...     [(name, f"q{n}", "AP", score) for name in scores for n, score in enumerate(scores[name])],
    ...     columns=["name", "qid", "measure", "value"],
    ... )
    >>> ax = plots.asl_curves(discriminative_power(perquery, test="t"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['AP (66.7 %)', 'α = 0.05']
    """
    if not isinstance(power, DiscriminativePower):
        raise MultiAspectError(
            f"power: expected the result of analysis.discriminative_power, got a {type(power).__name__}"
        )
    limit = None if n_pairs is None else count("n_pairs")(n_pairs)
    highest = None if top is None else proportion("top")(top)
    levels = {measure: group["asl"].to_numpy(float) for measure, group in power.curve().groupby("measure")}
    shares = dict(zip(power.table["measure"], power.table["power"], strict=True))
    texts = distinct_texts([str(measure) for measure in shares], 44)
    beside = len(shares) >= MOST_INSIDE
    ax = axes_or_new(ax, 10 if beside else 7.2, 4.4)
    longest = 0
    for index, ((measure, share), text) in enumerate(zip(shares.items(), texts, strict=True)):
        level = levels[measure][:limit]
        longest = max(longest, len(level))
        every = max(1, len(level) // 8)
        ax.plot(
            np.arange(1, len(level) + 1), level, lw=1.5, ms=4.5, markevery=(index * every // len(shares), every),
            label=f"{text} ({100 * share:.1f} %)", **line_style(index),
        )  # fmt: skip
    corrected = f" (levels before {power.correction})" if power.correction else ""
    ax.axhline(power.alpha, color=ink(), lw=1, ls=(0, (6, 3)), label=f"α = {power.alpha:g}{corrected}")
    ax.set_xlim(1 - 0.01 * longest, 1.01 * longest)
    ax.set_ylim(0, 1 if highest is None else highest)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("pairs of systems, by descending level")
    ax.set_ylabel(f"achieved significance level ({power.test})")
    add_legend(ax, beside, title="measure (pairs discriminated)")
    return ax
