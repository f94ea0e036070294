"""Plots of what the order of runs depends on: variants of a measure and missing labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._typing import Bools
from ..analysis.missing_labels import MissingLabels
from ..analysis.multiverse import Multiverse
from ..errors import refuse_unknown
from ..evaluation.long_frames import find_label
from . import style
from .labels import add_legend, add_legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@style.with_literal_texts
def specification_curve(
    result: Multiverse, pair: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot the differences between two runs under all variants of a measure, and their options.

    Parameters
    ----------
    result : Multiverse
        The result of `analysis.multiverse`.
    pair : pair of str, optional
        The names of the two runs, in any order. By default, the first pair of `result`.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The differences in ascending order with their intervals, coloured where they are
        significant; the reference is marked. Below, one row of bars per option shows which variants
        have it. Variants with equal values are drawn once, with the options of all of them.

    Raises
    ------
    MultiAspectError
        If `result` is not a `Multiverse`, or does not have the pair.
    ImportError
        If matplotlib is not installed.

    Notes
    -----
    Stability: provisional. It shows the result of `analysis.multiverse`, which may change.

    References
    ----------
    Simonsohn, Simmons, Nelson: Specification Curve Analysis. Nature Human Behaviour 4 (2020).

    Examples
    --------
    >>> import matplotlib
    >>> import pt_multiaspect as ma
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> docs = [f"d{number}" for number in range(6)]
    >>> qrels = {"q0": {}, "q1": {}, "q2": {}, "q3": {}}
    >>> for n, judged in enumerate(qrels.values()):
    ...     for i, doc in enumerate(docs):
    ...         judged[doc] = {"relevance": (i + n) % 3, "credibility": (2 * i + n) % 4}
    >>> a = dict(zip(docs, [5, 3, 4, 1, 2, 0]))
    >>> b = dict(zip(docs, [0, 1, 2, 3, 5, 4]))
    >>> runs = {"a": dict.fromkeys(qrels, a), "b": dict.fromkeys(qrels, b)}
    >>> toma = ma.TOMA(aspects={"relevance": 2, "credibility": 3})
    >>> measures = ma.variants(toma, distance=["euclidean", "chebyshev"], cutoff=[3, 5])
    >>> result = ma.analysis.multiverse(ma.evaluate(runs, qrels, measures, progress=False))
    >>> ax = plots.specification_curve(result)
    >>> ax.get_ylabel()
    'a − b'
    >>> [tick.get_text() for tick in ax.figure.axes[1].get_yticklabels()]
    ['distance: euclidean', 'chebyshev', 'cutoff: 3', '5']
    """
    style.check_result(result, Multiverse, "multiverse")
    compared = style.rows_of_pair(result.pairs, pair).iloc[0]
    is_pair = (result.variants["a"] == compared["a"]) & (result.variants["b"] == compared["b"])
    variants = result.variants[is_pair]
    if "group" in variants:
        variants = variants[variants["group"] == compared["group"]]
    distinct = variants[variants["same_as"].isna()]
    distinct = distinct.sort_values("difference", kind="stable").reset_index(drop=True)
    labels, has_option = _options(result, distinct["measure"])
    beside = ax is None
    ax = style.axes_or_new(ax, 8, 3 + 0.16 * len(labels), grid="y")
    size = style.text_size(ax)
    strip = style.add_axes_below(ax, 0.075 * len(labels))
    _draw_differences(ax, distinct, result)
    names = style.distinct_texts([str(compared["a"]), str(compared["b"])], 20)
    ax.set_ylabel(style.difference_text(*names), fontsize=size)
    if beside:
        add_legend(ax, True)
    else:  # a column of a paper has no room beside
        add_legend_above(ax)
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    ax.tick_params(axis="y", labelsize=size)
    _draw_options(strip, labels, has_option, size, _width(ax, len(distinct)))
    if len(distinct) < len(variants):
        count = f"{len(distinct)} distinct of {len(variants)} variants"
    else:
        count = f"{len(variants)} variants"
    strip.set_xlabel(count, fontsize=size)
    return ax


def _draw_options(
    strip: Axes, labels: list[str], has_option: Bools, size: float, width: float
) -> None:
    """Draw one row of bars per option, with lines between the choices."""
    n_variants = len(has_option)
    position, option = np.nonzero(has_option)
    strip.vlines(position, option - 0.35, option + 0.35, color=style.ink(), lw=width)
    starts = [row for row, label in enumerate(labels) if ": " in label]
    between = [start - 0.5 for start in starts[1:]]
    strip.hlines(between, -0.5, n_variants - 0.5, color=style.GREY, lw=0.4)
    texts = style.distinct_texts(labels, round(2 * size) + 8)
    strip.set_yticks(range(len(labels)), texts, fontsize=size)
    strip.set_ylim(len(labels) - 0.5, -0.5)
    strip.set_xlim(-0.5, n_variants - 0.5)
    strip.set_xticks([])
    strip.tick_params(length=0)
    strip.spines[:].set_visible(False)


def _draw_differences(ax: Axes, table: pd.DataFrame, result: Multiverse) -> None:
    """Draw one dot and interval per variant."""
    position = np.arange(len(table))
    difference = table["difference"].to_numpy(np.float64)
    low = table["low"].to_numpy(np.float64)
    high = table["high"].to_numpy(np.float64)
    is_significant = (table["p"] < result.alpha).to_numpy()
    width = _width(ax, len(table))
    size = min(width + 1.2, 4)
    for rows, colour, label in (
        (is_significant & (difference > 0), style.BLUE, f"higher, p < {result.alpha:g}"),
        (is_significant & (difference < 0), style.ORANGE, f"lower, p < {result.alpha:g}"),
        (~is_significant, style.GREY, f"p ≥ {result.alpha:g}"),
    ):
        if rows.any():
            x = position[rows]
            ax.vlines(x, low[rows], high[rows], color=colour, lw=width, alpha=0.45)
            ax.plot(x, difference[rows], "o", color=colour, ms=size, label=label)
    reference = result.same_as.get(result.reference, result.reference)
    is_reference = (table["measure"] == reference).to_numpy()
    ax.plot(
        position[is_reference],
        difference[is_reference],
        "D",
        color=style.ink(),
        mec="white",
        ms=6,
        label="reference",
    )
    ax.axhline(0, color=style.ink(), lw=0.8)


def _width(ax: Axes, n_variants: int) -> float:
    """Return the width of bars in points, about half of the distance of variants."""
    axes_width, _ = style.points_of(ax)
    return float(np.clip(0.45 * axes_width / n_variants, 0.5, 4))


def _options(result: Multiverse, variants: pd.Series[str]) -> tuple[list[str], Bools]:
    """Return a label per option of each choice, and which variants have it, variants × options.

    Variants have the options of those that equal them, too.
    """
    options = result.options
    drawn = pd.Index([result.same_as.get(variant, variant) for variant in options.index])
    labels = []
    has_option = []
    for choice in options:
        title = f"{choice}: "
        for option in options[choice].unique():
            labels.append(f"{title}{option}")
            title = ""  # only at its first option
            of_drawn = (options[choice] == option).groupby(drawn).any()
            has_option.append(of_drawn.loc[variants].to_numpy())
    return labels, np.array(has_option, dtype=np.bool_).reshape(-1, len(variants)).T


@style.with_literal_texts
def label_intervals(
    result: MissingLabels, measure: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot the value of each run, its interval over all missing labels, and its expected value.

    Intervals that overlap do not mean that the difference can have either sign: both runs are
    measured on the same labels. `MissingLabels.pairs` has the intervals of differences.

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
    style.check_result(result, MissingLabels, "missing_labels")
    labels = result.runs["measure"].unique().tolist()
    if measure is None:
        chosen = labels[0]
    else:
        chosen = find_label(dict.fromkeys(labels), measure)
    refuse_unknown([chosen], labels, "measures of the result", "measure")
    rows = result.runs[result.runs["measure"] == chosen]
    rows = rows.sort_values("value", ascending=False, kind="stable")
    ax = style.axes_or_new(ax, 7.2, 1.2 + 0.3 * len(rows), grid="x")
    position = np.arange(len(rows))
    ax.hlines(
        position, rows["low"], rows["high"], color="0.6", lw=5, label="over all missing labels"
    )
    ax.plot(rows["value"], position, "o", color=style.ink(), ms=5, label="as evaluated")
    if rows["expected"].notna().any():
        ax.plot(
            rows["expected"],
            position,
            "d",
            color=style.paper(),
            mec=style.ink(),
            ms=6,
            label="expected",
        )
    names = rows["name"].astype(str).tolist()
    ax.set_yticks(position, style.distinct_texts(names, 24))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(chosen)
    add_legend_above(ax)
    return ax
