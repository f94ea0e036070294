"""Plots of what depends on the weights of aspects."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..analysis._pairs import make_pairs
from ..analysis._significance import ALPHA, unordered_pairs
from ..analysis.weightings import CI, Weightings, significant_at
from ..errors import join_names
from . import style
from .labels import legend_columns, unit_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of pairs with a bar.
_MAX_BARS = 30
#: Number of weights of each aspect at which the difference is drawn.
_STEPS = 120
#: The colours of weightings under which the first or the second run is better.
_FIRST_HIGHER = "#9CC9E6"
_SECOND_HIGHER = "#F2B38A"


@style.with_literal_texts
def weightings(
    result: Weightings, pair: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot for which weights of the aspects one run is better than another.

    Parameters
    ----------
    result : Weightings
        The result of `analysis.weightings`.
    pair : pair of str, optional
        The names of the two runs, in any order. By default, all pairs of `result`.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        One pair of runs and two aspects: the difference of the means over the weight of one aspect,
        with its t interval (not corrected), and where it crosses 0. One pair and three aspects: the
        triangle of all weightings, coloured by the run that is better, hatched where the difference
        is not significant. In both, the weights of the measure are marked. Otherwise, and for
        measures that are not linear in their weights: bars of the fraction of weightings under
        which the first run is better, for up to 30 pairs, those with fractions near one half; lines
        are intervals, which are not drawn where both ends are equal.

    Raises
    ------
    MultiAspectError
        If `result` is not a `Weightings`, or does not have the pair.
    ImportError
        If matplotlib is not installed.

    Notes
    -----
    Stability: provisional. It shows the result of `analysis.weightings`, which may change.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import analysis, plots
    >>> matplotlib.use("Agg")
    >>> measures = ["relevance", "relevance", "credibility", "credibility"]
    >>> perquery = pd.DataFrame({"qid": ["q0", "q1", "q0", "q1"], "measure": measures})
    >>> a = perquery.assign(name="a", value=[0.9, 0.7, 0.1, 0.3])
    >>> b = perquery.assign(name="b", value=[0.4, 0.6, 0.8, 0.2])
    >>> c = perquery.assign(name="c", value=[0.5, 0.6, 0.0, 0.1])
    >>> perquery = pd.concat([a, b, c])
    >>> directions = {"relevance": "higher", "credibility": "higher"}
    >>> ax = plots.weightings(analysis.weightings(perquery, measures=directions), ("b", "c"))
    >>> ax.get_xlabel(), ax.texts[0].get_text()
    ('weight of relevance', '0.90')
    """
    style.check_result(result, Weightings, "weightings")
    pairs = style.rows_of_pair(result.pairs, pair)
    n_aspects = len(result.weights)
    # The differences of measures that are not linear in their weights are known for samples only.
    is_sampled = np.isnan(result.covariances[pairs.index]).any()
    # If the minimum weights sum to 1, there is only one weighting.
    has_one_weighting = sum(result.at_least.values()) > 1 - 1e-9
    if len(pairs) > 1 or n_aspects > 3 or is_sampled or has_one_weighting:
        return _draw_bars(pairs, list(result.weights), ax)
    if n_aspects == 2:
        return _draw_line(result, pairs, ax)
    return _draw_triangle(result, pairs, ax)


def _draw_line(result: Weightings, pair: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the difference over the weight of the first of two aspects.

    `pair` has a single row, that of ``result.pairs``.
    """
    first, second = result.weights
    row = pair.index[0]
    lowest = result.at_least[first]
    highest = 1 - result.at_least[second]
    weight = np.linspace(lowest, highest, _STEPS)
    on_line = np.column_stack([weight, 1 - weight])  # weightings × aspects
    difference, half_width = _difference_and_half_width(result, row, on_line)

    ax = style.axes_or_new(ax, 7, 4, grid="y")
    size = style.text_size(ax)
    low = difference - half_width
    high = difference + half_width
    ax.fill_between(weight, low, high, color=style.BLUE, alpha=0.2, lw=0)
    ax.plot(weight, difference, color=style.BLUE, lw=1.5)
    ax.axhline(0, color=style.ink(), lw=0.8)
    _draw_weights_of_measure(ax, result, row)
    _mark_crossing(ax, _differences_of_means(result)[row], lowest, highest)
    first_text, _ = style.distinct_texts([first, second], 30)
    ax.set_xlabel(f"weight of {first_text}", fontsize=size)
    # How many characters fit beside the axes: they are about half as wide as the font size.
    _, axes_height = style.points_of(ax)
    room = 2 * axes_height / size
    a, b = _names_of_pairs(pair, room)[0]
    ax.set_ylabel(style.difference_text(a, b), fontsize=size)
    ax.tick_params(labelsize=size)
    ax.legend(fontsize=size, frameon=False)
    ax.margins(x=0.02)
    return ax


def _draw_weights_of_measure(ax: Axes, result: Weightings, row: int) -> None:
    """Draw the difference of a row of ``result.pairs`` under the weights of the measure."""
    weights = list(result.weights.values())
    only_weighting = np.array([weights])  # 1 × aspects
    difference, half_width = _difference_and_half_width(result, row, only_weighting)
    weight_of_first_aspect = weights[0]
    ax.errorbar(
        [weight_of_first_aspect],
        difference,
        half_width,
        fmt="D",
        color=style.ink(),
        ms=4,
        capsize=2,
        lw=1,
        label="weights of the measure",
    )


def _difference_and_half_width(
    result: Weightings, row: int, weightings: Floats
) -> tuple[Floats, Floats]:
    """Return the difference of a pair under each weighting, and half the width of its t interval.

    `row` is that of the pair in ``result.pairs``; `weightings` is weightings × aspects.
    """
    from scipy.stats import t as student

    differences_on_aspects = _differences_of_means(result)[row]
    difference = weightings @ differences_on_aspects
    # The variance of a weighted sum, w C wᵀ, for each weighting p: Σ_ab w_pa C_ab w_pb.
    covariance = result.covariances[row]  # aspects × aspects
    variance = np.einsum("pa,ab,pb->p", weightings, covariance, weightings)
    error = np.sqrt(np.maximum(variance, 0.0))  # rounding may make variances negative
    # A 95 % interval leaves 2.5 % above it, and as much below.
    fraction_above = (1 - CI) / 2
    quantile = student.isf(fraction_above, result._freedom)
    return difference, error * quantile


def _mark_crossing(ax: Axes, differences: Floats, lowest: float, highest: float) -> None:
    """Draw a line at the weight of the first aspect where the weighted difference is 0, if any.

    `differences` are those on the first and the second aspect; the weight is from `lowest` to
    `highest`.
    """
    has_both_signs = differences.min() < 0 < differences.max()
    if not has_both_signs:
        return
    # w · first + (1 − w) · second = 0
    first, second = differences
    crossing = -second / (first - second)
    if not lowest <= crossing <= highest:
        return
    ax.axvline(crossing, color=style.ORANGE, lw=1, ls="--")
    ax.annotate(
        f"{crossing:.2f}",
        (crossing, 0),
        xytext=(3, 3),
        textcoords="offset points",
        color=style.ORANGE,
        fontsize=style.text_size(ax),
    )


def _draw_triangle(result: Weightings, pair: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the triangle of the weightings of three aspects.

    `pair` has a single row, that of ``result.pairs``.
    """
    ax = style.axes_or_new(ax, 5, 4.6)
    ax.set_aspect("equal")
    ax.axis("off")
    at_least = np.array(list(result.at_least.values()))
    weightings = _weightings_of_three(at_least)  # weightings × aspects
    row = pair.index[0]
    differences_on_aspects = _differences_of_means(result)[row]
    difference = weightings @ differences_on_aspects  # the weighted sum, for each weighting
    is_significant = _significance(result, pair, weightings)
    # An equilateral triangle with sides of length 1: aspects × (x, y), the first aspect on top. A
    # weighting is at the weighted mean of its corners.
    corners = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
    points = weightings @ corners
    _shade_triangle(ax, points, difference, is_significant)
    first_corner = corners[:1]
    outline_x, outline_y = np.vstack([corners, first_corner]).T
    ax.plot(outline_x, outline_y, color=style.ink(), lw=0.8)
    weights_of_measure = np.array(list(result.weights.values()))
    x, y = weights_of_measure @ corners
    ax.plot(x, y, "D", color="black", mec="white", ms=6, label="weights of the measure", ls="none")
    _write_on_triangle(ax, corners, list(result.weights), pair)
    return ax


def _write_on_triangle(
    ax: Axes, corners: Floats, aspects: Sequence[str], pair: pd.DataFrame
) -> None:
    """Write the aspects at the corners, the title above and the legend below the triangle."""
    size = style.text_size(ax)
    shortened = style.distinct_texts(list(aspects), 20)
    _label_corners(ax, corners, shortened, size)
    a, b = _names_of_pairs(pair, 80)[0]
    axes_width, _ = style.points_of(ax)
    n_characters = int(2 * axes_width / size)  # which are about half as wide as the font size
    title = f"The better of {a} and {b} by the weights of {join_names(shortened)}"
    ax.set_title(fill(title, n_characters), fontsize=size, pad=2.5 * size)
    _add_legend_below_triangle(ax, a, b, size)


def _add_legend_below_triangle(ax: Axes, a: str, b: str, size: float) -> None:
    """Add a legend of the shades, for the two runs, and of the weights of the measure."""
    _, *lines_without_outline = ax.lines
    handles = [
        unit_square(f"{a} higher", color=_FIRST_HIGHER, lw=0),
        unit_square(f"{b} higher", color=_SECOND_HIGHER, lw=0),
        unit_square(f"p ≥ {ALPHA:g}", facecolor="white", edgecolor=style.GREY, hatch="////"),
        *lines_without_outline,
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.08),
        fontsize=size,
        frameon=False,
        ncols=min(2, legend_columns(ax, handles)),
    )


def _weightings_of_three(at_least: Floats) -> Floats:
    """Return weightings of three aspects at equal distances, weightings × aspects.

    `at_least` are the minimum weights of the aspects.
    """
    # All ways to distribute a number of steps among three aspects.
    n_steps = np.arange(_STEPS + 1)
    first = np.repeat(n_steps, len(n_steps))
    second = np.tile(n_steps, len(n_steps))
    third = _STEPS - first - second
    steps = np.column_stack([first, second, third])
    steps = steps[third >= 0]
    # The steps share what the minimum weights leave.
    remainder = 1 - at_least.sum()
    weightings: Floats = at_least + remainder * (steps / _STEPS)
    return weightings


def _shade_triangle(ax: Axes, points: Floats, difference: Floats, is_significant: Bools) -> None:
    """Colour points (x, y) by the run that is better, and hatch those that are not significant."""
    import matplotlib

    x, y = points.T
    has_contours = np.ptp(difference) > 0  # equal differences have none
    if has_contours:
        limit = np.abs(difference).max() + 1  # beyond all differences
        ax.tricontourf(
            x,
            y,
            difference,
            levels=[-limit, 0, limit],
            colors=[_SECOND_HIGHER, _FIRST_HIGHER],
        )
    if not is_significant.all():
        # The level from −0.5 to 0.5 has the points with 0: not significant.
        with matplotlib.rc_context({"hatch.color": style.GREY}):
            ax.tricontourf(
                x,
                y,
                is_significant.astype(float),
                levels=[-0.5, 0.5],
                colors="none",
                hatches=["////"],
            )


def _significance(result: Weightings, pair: pd.DataFrame, weightings: Floats) -> Bools:
    """Return whether the difference of a pair is significant under each weighting.

    `pair` has a single row, that of ``result.pairs``. If the result has a correction, the
    difference is tested in the family of all pairs.
    """
    family = pair  # the pairs that are tested
    if result.correction:
        family = result.pairs
    tested_rows, test_of_pair = _tests_of_pairs(family)
    differences_on_aspects = _differences_of_means(result)[tested_rows]
    differences = differences_on_aspects @ weightings.T  # tests × weightings
    covariances = result.covariances[tested_rows]
    is_significant: Bools = significant_at(
        weightings, differences, covariances, result._freedom, result.correction
    )
    row_of_pair = pair.index[0]
    number_of_test = test_of_pair[row_of_pair]
    of_pair: Bools = is_significant[number_of_test]
    return of_pair


def _tests_of_pairs(pairs: pd.DataFrame) -> tuple[pd.Index[int], pd.Series[int]]:
    """Return the row of ``Weightings.pairs`` of each test, and the number of the test of each row.

    `pairs` are some of these rows. Each has a test, but a pair of two baselines is there in both
    orders and has only one. For the pairs (A, B), (A, C), (B, A) in rows 0 to 2, the tests are of
    the rows [0, 1], and the rows have the tests [0, 1, 0].
    """
    runs = pairs[["a", "b"]]
    names = pd.unique(runs.to_numpy().ravel()).tolist()
    numbered_pairs = make_pairs(names, runs.itertuples(index=False))
    first_pair_of_test, test_of_pair = unordered_pairs(numbered_pairs)
    rows = pairs.index[first_pair_of_test]
    return rows, pd.Series(test_of_pair, index=pairs.index)


def _label_corners(ax: Axes, corners: Floats, aspects: Sequence[str], size: float) -> None:
    """Write the first aspect above the upper corner, the others below the lower corners."""
    for index, aspect in enumerate(aspects):
        offset = -4
        alignment = "top"
        if index == 0:
            offset = 4
            alignment = "bottom"
        ax.annotate(
            aspect,
            corners[index],
            xytext=(0, offset),
            textcoords="offset points",
            fontsize=size,
            ha="center",
            va=alignment,
        )


def _draw_bars(pairs: pd.DataFrame, aspects: Sequence[str], ax: Axes | None) -> Axes:
    """Draw the percentage of weightings under which the first run of each pair is better."""
    shown = _pairs_near_half(pairs)
    n_bars = len(shown)
    height = 1.2 + 0.24 * n_bars  # in inches
    ax = style.axes_or_new(ax, 7, height, grid="x")
    position = np.arange(n_bars)[::-1]  # the first pair on top
    has_intervals = _draw_percentages(ax, shown, position)
    ax.set_xlim(0, 100)
    ax.set_ylim(-0.6, n_bars - 0.4)

    size = style.text_size(ax, n_bars)
    axes_width, _ = style.points_of(ax)
    # Characters are about half as wide as the font size. The names of a pair may take half of the
    # width of the axes, of which " > " takes 3 characters.
    characters_in_axes = 2 * axes_width / size
    room_for_names = characters_in_axes / 2 - 3
    labels = [f"{a} > {b}" for a, b in _names_of_pairs(shown, room_for_names)]
    ax.set_yticks(position, labels, fontsize=size)
    ax.tick_params(axis="x", labelsize=size)
    explanation = _text_below_bars(has_intervals, n_bars, len(pairs))
    ax.set_xlabel(explanation, fontsize=size)
    shortened = style.distinct_texts(list(aspects), 20)
    names = join_names(shortened)
    title = f"Weightings of {names} under which the first run is better"
    title_width = int(1.4 * room_for_names)  # the title may be wider
    lines = fill(title, title_width)
    ax.set_title(lines, fontsize=size)
    return ax


def _draw_percentages(ax: Axes, pairs: pd.DataFrame, position: Ints) -> bool:
    """Draw a bar for each pair at its position, and return whether some have intervals."""
    fraction = pairs["fraction"].to_numpy(np.float64)
    percentage = 100 * fraction
    rest = 100 - percentage
    ax.barh(position, percentage, height=0.7, color=style.BLUE)
    ax.barh(position, rest, left=percentage, height=0.7, color=style.LIGHT)
    low = 100 * pairs["low"].to_numpy(np.float64)
    high = 100 * pairs["high"].to_numpy(np.float64)
    has_interval = high > low
    position_of_interval = position[has_interval]
    low_end = low[has_interval]
    high_end = high[has_interval]
    ax.hlines(position_of_interval, low_end, high_end, color="black", lw=1)
    ax.axvline(50, color="black", lw=0.8, ls=":")
    return bool(has_interval.any())


def _text_below_bars(has_intervals: bool, n_shown: int, n_pairs: int) -> str:
    """Return what bars and lines are, and how many of the pairs are shown, if not all."""
    text = "% of weightings"
    if has_intervals:
        level = f"{100 * CI:g} %"
        text += f", with the {level} interval over topics"
    if n_shown < n_pairs:
        text += f" ({n_shown} of {n_pairs} pairs)"
    return text


def _pairs_near_half(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs that have a bar in their order: those with fractions nearest to one half."""
    distance = (pairs["fraction"] - 0.5).abs().to_numpy()
    nearest = distance.argsort(kind="stable")[:_MAX_BARS]
    return pairs.iloc[np.sort(nearest)]


def _differences_of_means(result: Weightings) -> Floats:
    """Return the differences of the means of runs, pairs × aspects."""
    differences = result.aspects["difference"].to_numpy(np.float64)
    return differences.reshape(len(result.pairs), -1)


def _names_of_pairs(pairs: pd.DataFrame, room: float) -> list[tuple[str, str]]:
    """Return the names of the two runs of each pair, shortened but distinct.

    Names of up to 16 characters are not shortened, and others only until the two names of each
    pair together have at most `room` characters.
    """
    runs = pairs[["a", "b"]].to_numpy()
    names = list(map(str, pd.unique(runs.ravel())))
    shortest = 16
    # Names are shortened to one character less each time, until the pairs fit.
    width = max(shortest, *map(len, names))
    while True:
        shortened = dict(zip(names, style.distinct_texts(names, width), strict=True))
        names_of_pairs = []
        longest = 0  # number of characters of both names together
        for a, b in runs:
            first = shortened[str(a)]
            second = shortened[str(b)]
            names_of_pairs.append((first, second))
            longest = max(longest, len(first + second))
        if longest <= room or width == shortest:
            return names_of_pairs
        width -= 1
