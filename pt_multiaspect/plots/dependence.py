"""Plots of what the order of runs depends on: variants of a measure and missing labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
    variants = _variants_of(result, compared)
    is_distinct = variants["same_as"].isna()
    distinct = variants[is_distinct].sort_values("difference", kind="stable", ignore_index=True)
    options = _options(result, distinct["measure"])

    is_new_figure = ax is None
    ax = style.axes_or_new(ax, 8, 3 + 0.16 * len(options), grid="y")
    text_size = style.text_size(ax)
    strip = style.add_axes_below(ax, 0.075 * len(options))
    _draw_differences(ax, distinct, result)
    names = style.distinct_texts([str(compared["a"]), str(compared["b"])], 20)
    ax.set_ylabel(style.difference_text(*names), fontsize=text_size)
    if is_new_figure:
        add_legend(ax, beside=True)
    else:  # a column of a paper has no room beside
        add_legend_above(ax)
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    ax.tick_params(axis="y", labelsize=text_size)
    _draw_options(strip, options, text_size, _bar_width(ax, len(distinct)))
    n_variants = f"{len(variants)} variants"
    if len(distinct) < len(variants):
        n_variants = f"{len(distinct)} distinct of {n_variants}"
    strip.set_xlabel(n_variants, fontsize=text_size)
    return ax


def _variants_of(result: Multiverse, compared: pd.Series[Any]) -> pd.DataFrame:
    """Return the variants of the pair of runs of a row of ``result.pairs``."""
    variants = result.variants
    has_first_run = variants["a"] == compared["a"]
    has_second_run = variants["b"] == compared["b"]
    of_pair: pd.DataFrame = variants[has_first_run & has_second_run]
    if "group" in of_pair:
        of_pair = of_pair[of_pair["group"] == compared["group"]]
    return of_pair


class _Option(NamedTuple):
    """An option of a choice, which is drawn as a row of bars."""

    label: str
    is_first_of_choice: bool
    #: One value per distinct variant.
    has_option: Bools


def _options(result: Multiverse, distinct_variants: pd.Series[str]) -> list[_Option]:
    """Return the options of all choices, and which distinct variants have them.

    Variants with equal values are drawn as one of them, the distinct variant, which gets the
    options of all of them. `result.options` has one row per variant and one column per choice.
    """
    variants = result.options.index
    # The distinct variant of each variant: the one that it equals, or itself.
    distinct_of_variant = [result.same_as.get(variant, variant) for variant in variants]
    drawn_as = np.array(distinct_of_variant)
    rows = []
    for choice, option_of_variant in result.options.items():
        for number, option in enumerate(option_of_variant.unique()):
            is_first = number == 0
            label = str(option)
            if is_first:  # the name of the choice stands before its first option
                label = f"{choice}: {option}"
            has_option = (option_of_variant == option).to_numpy()  # per variant
            distinct_with_option = drawn_as[has_option]
            is_drawn_with_option = distinct_variants.isin(distinct_with_option)
            rows.append(_Option(label, is_first, is_drawn_with_option.to_numpy(np.bool_)))
    return rows


def _draw_differences(ax: Axes, variants: pd.DataFrame, result: Multiverse) -> None:
    """Draw one dot and one interval per variant, and mark the reference.

    The index of `variants` has their positions on the horizontal axis.
    """
    difference = variants["difference"]
    is_significant = variants["p"] < result.alpha
    higher = variants[is_significant & (difference > 0)]
    lower = variants[is_significant & (difference < 0)]
    undecided = variants[~is_significant]
    alpha = f"{result.alpha:g}"
    width = _bar_width(ax, len(variants))
    _draw_intervals(ax, higher, width, style.BLUE, f"higher, p < {alpha}")
    _draw_intervals(ax, lower, width, style.ORANGE, f"lower, p < {alpha}")
    _draw_intervals(ax, undecided, width, style.GREY, f"p ≥ {alpha}")
    # The reference may equal an earlier variant, by which it is drawn.
    drawn_reference = result.same_as.get(result.reference, result.reference)
    reference = variants[variants["measure"] == drawn_reference]
    ax.plot(
        reference.index,
        reference["difference"],
        "D",
        color=style.ink(),
        mec="white",
        ms=6,
        label="reference",
    )
    ax.axhline(0, color=style.ink(), lw=0.8)


def _draw_intervals(
    ax: Axes, variants: pd.DataFrame, width: float, colour: str, label: str
) -> None:
    """Draw the differences of variants and their intervals.

    The index of `variants` has their positions on the horizontal axis.
    """
    if variants.empty:  # no entry of the legend
        return
    position = variants.index.to_numpy()
    marker_size = min(width + 1.2, 4)
    ax.vlines(position, variants["low"], variants["high"], color=colour, lw=width, alpha=0.45)
    ax.plot(position, variants["difference"], "o", color=colour, ms=marker_size, label=label)


def _draw_options(strip: Axes, options: list[_Option], text_size: float, width: float) -> None:
    """Draw one row per option, with a bar for each variant that has it.

    Lines separate the options of different choices. `width` is that of the bars, in points.
    """
    n_options = len(options)
    has_option = np.column_stack([option.has_option for option in options])  # variants × options
    n_variants = len(has_option)
    position_of_bar, row_of_bar = np.nonzero(has_option)
    # Bars fill 70 % of the height of their row, which is 1.
    bottom = row_of_bar - 0.35
    top = row_of_bar + 0.35
    strip.vlines(position_of_bar, bottom, top, color=style.ink(), lw=width)
    # Variants and rows are centred at whole numbers, so that their borders are at halves.
    left = -0.5
    right = n_variants - 0.5
    first_rows = np.flatnonzero([option.is_first_of_choice for option in options])
    borders = first_rows[1:] - 0.5  # none above the first choice
    strip.hlines(borders, left, right, color=style.GREY, lw=0.4)
    # The larger the figure, the larger the text, and the longer names may be: 20 to 24 characters.
    max_characters = round(2 * text_size) + 8
    texts = style.distinct_texts([option.label for option in options], max_characters)
    strip.set_yticks(range(n_options), texts, fontsize=text_size)
    strip.set_ylim(n_options - 0.5, -0.5)  # the first row on top
    strip.set_xlim(left, right)
    strip.set_xticks([])
    strip.tick_params(length=0)
    strip.spines[:].set_visible(False)


def _bar_width(ax: Axes, n_variants: int) -> float:
    """Return the width of bars in points, about half of the distance of variants."""
    axes_width, _ = style.points_of(ax)
    width = 0.45 * axes_width / n_variants
    return float(np.clip(width, 0.5, 4))


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
    chosen = labels[0]
    if measure is not None:
        chosen = find_label(dict.fromkeys(labels), measure)
    refuse_unknown([chosen], labels, "measures of the result", "measure")
    runs = result.runs[result.runs["measure"] == chosen]
    runs = runs.sort_values("value", ascending=False, kind="stable")
    ax = style.axes_or_new(ax, 7.2, 1.2 + 0.3 * len(runs), grid="x")
    _draw_label_intervals(ax, runs)
    names = runs["name"].astype(str).tolist()
    ax.set_yticks(np.arange(len(runs)), style.distinct_texts(names, 24))
    ax.set_ylim(len(runs) - 0.5, -0.5)  # the first run on top
    ax.set_xlabel(chosen)
    add_legend_above(ax)
    return ax


def _draw_label_intervals(ax: Axes, runs: pd.DataFrame) -> None:
    """Draw the interval, the value and, if known, the expected value of each run, one per row."""
    rows = np.arange(len(runs))
    ax.hlines(
        rows,
        runs["low"],
        runs["high"],
        color="0.6",
        lw=5,
        label="over all missing labels",
    )
    ax.plot(
        runs["value"],
        rows,
        "o",
        color=style.ink(),
        ms=5,
        label="as evaluated",
    )
    if runs["expected"].notna().any():
        ax.plot(
            runs["expected"],
            rows,
            "d",
            color=style.paper(),
            mec=style.ink(),
            ms=6,
            label="expected",
        )
