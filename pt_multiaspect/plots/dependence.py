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
    """Plot the differences between two runs under all variants of a measure, and the options of the variants.

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
    >>> qrels = {
    ...     f"q{n}": {doc: {"relevance": (i + n) % 3, "credibility": (2 * i + n) % 4} for i, doc in enumerate(docs)}
    ...     for n in range(4)
    ... }
    >>> orders = {"a": [5, 3, 4, 1, 2, 0], "b": [0, 1, 2, 3, 5, 4]}
    >>> runs = {name: {qid: dict(zip(docs, scores)) for qid in qrels} for name, scores in orders.items()}
    >>> measures = ma.variants(
    ...     ma.TOMA(aspects={"relevance": 2, "credibility": 3}), distance=["euclidean", "chebyshev"], cutoff=[3, 5]
    ... )
    >>> result = ma.analysis.multiverse(ma.evaluate(runs, qrels, measures, progress=False))
    >>> ax = plots.specification_curve(result)
    >>> ax.get_ylabel()
    'a − b'
    >>> [tick.get_text() for tick in ax.figure.axes[1].get_yticklabels()]
    ['distance: euclidean', 'chebyshev', 'cutoff: 3', '5']
    """
    style.check_result(result, Multiverse, "multiverse")
    row = style.rows_of_pair(result.pairs, pair).iloc[0]
    table = result.variants[(result.variants["a"] == row["a"]) & (result.variants["b"] == row["b"])]
    if "group" in table:
        table = table[table["group"] == row["group"]]
    n_variants = len(table)
    table = (
        table[table["same_as"].isna()]
        .sort_values("difference", kind="stable")
        .reset_index(drop=True)
    )
    labels, marks = _options(result, table["measure"])
    beside = ax is None
    ax = style.axes_or_new(ax, 8, 3 + 0.16 * len(labels), grid="y")
    size = style.text_size(ax)
    strip = style.add_axes_below(ax, 0.075 * len(labels))
    _draw_differences(ax, table, result)
    a, b = style.distinct_texts([str(row["a"]), str(row["b"])], 20)
    ax.set_ylabel(f"{a}{' ' if len(a + b) < 20 else chr(10)}− {b}", fontsize=size)
    if beside:
        add_legend(ax, True)
    else:  # a column of a paper has no room beside
        add_legend_above(ax)
    ax.tick_params(axis="x", which="both", length=0, labelbottom=False)
    ax.tick_params(axis="y", labelsize=size)
    position, option = np.nonzero(marks)
    strip.vlines(
        position, option - 0.35, option + 0.35, color=style.ink(), lw=_width(ax, len(table))
    )
    starts = [index for index, label in enumerate(labels) if ": " in label]
    strip.hlines(
        [start - 0.5 for start in starts[1:]], -0.5, len(table) - 0.5, color=style.GREY, lw=0.4
    )
    strip.set_yticks(
        range(len(labels)), style.distinct_texts(labels, round(2 * size) + 8), fontsize=size
    )
    strip.set_ylim(len(labels) - 0.5, -0.5)
    strip.set_xlim(-0.5, len(table) - 0.5)
    strip.set_xticks([])
    if len(table) < n_variants:
        distinct = f"{len(table)} distinct of "
    else:
        distinct = ""
    strip.set_xlabel(f"{distinct}{n_variants} variants", fontsize=size)
    strip.tick_params(length=0)
    strip.spines[:].set_visible(False)
    return ax


def _draw_differences(ax: Axes, table: pd.DataFrame, result: Multiverse) -> None:
    """Draw one dot and interval per variant."""
    position = np.arange(len(table))
    difference = table["difference"].to_numpy(np.float64)
    is_significant = (table["p"] < result.alpha).to_numpy()
    width = _width(ax, len(table))
    for rows, colour, label in (
        (is_significant & (difference > 0), style.BLUE, f"higher, p < {result.alpha:g}"),
        (is_significant & (difference < 0), style.ORANGE, f"lower, p < {result.alpha:g}"),
        (~is_significant, style.GREY, f"p ≥ {result.alpha:g}"),
    ):
        if rows.any():
            low, high = (table.loc[rows, name].to_numpy(np.float64) for name in ("low", "high"))
            ax.vlines(position[rows], low, high, color=colour, lw=width, alpha=0.45)
            ax.plot(
                position[rows],
                difference[rows],
                "o",
                color=colour,
                ms=min(width + 1.2, 4),
                label=label,
            )
    reference = (
        table["measure"] == result.same_as.get(result.reference, result.reference)
    ).to_numpy()
    ax.plot(
        position[reference],
        difference[reference],
        "D",
        color=style.ink(),
        mec="white",
        ms=6,
        label="reference",
    )
    ax.axhline(0, color=style.ink(), lw=0.8)


def _width(ax: Axes, n_variants: int) -> float:
    """Return the width of bars in points, about half of the distance of variants."""
    return float(np.clip(0.45 * style.points_of(ax)[0] / n_variants, 0.5, 4))


def _options(result: Multiverse, variants: pd.Series[str]) -> tuple[list[str], Bools]:
    """Return a label per option of each choice, and which variants or their equals have it, variants × options."""
    options, labels, marks = result.options, [], []
    equals = options.index.map(lambda variant: result.same_as.get(variant, variant))
    for choice in options:
        for index, option in enumerate(options[choice].unique()):
            labels.append(f"{choice}: {option}" if index == 0 else str(option))
            marks.append((options[choice] == option).groupby(equals).any().loc[variants].to_numpy())
    return labels, np.array(marks, dtype=np.bool_).reshape(-1, len(variants)).T


@style.with_literal_texts
def label_intervals(
    result: MissingLabels, measure: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot the value of each run as evaluated, its interval over all missing labels, and its expected value.

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
    rows = result.runs[result.runs["measure"] == chosen].sort_values(
        "value", ascending=False, kind="stable"
    )
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
    ax.set_yticks(position, style.distinct_texts(rows["name"].astype(str).tolist(), 24))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel(chosen)
    add_legend_above(ax)
    return ax
