"""Plots of what depends on the weights of aspects."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._typing import Bools, Floats
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
    is_sampled = np.isnan(result.covariances[pairs.index]).any()
    is_fixed = sum(result.at_least.values()) > 1 - 1e-9
    if len(pairs) > 1 or n_aspects > 3 or is_sampled or is_fixed:
        return _draw_bars(pairs, list(result.weights), ax)
    if n_aspects == 2:
        return _draw_line(result, pairs, ax)
    return _draw_triangle(result, pairs, ax)


def _draw_line(result: Weightings, pair: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the difference over the weight of the first of two aspects."""
    from scipy.stats import t as student

    row = pair.index[0]
    first, second = result.weights
    means = _means(result)[row]
    covariance = result.covariances[row]
    weight = np.linspace(result.at_least[first], 1 - result.at_least[second], _STEPS)
    points = np.column_stack([weight, 1 - weight])
    points = np.vstack([points, list(result.weights.values())])  # the last are the measure's
    difference = points @ means
    variance = np.einsum("pa,ab,pb->p", points, covariance, points)
    error = np.sqrt(np.maximum(variance, 0.0))
    half = error * student.isf((1 - CI) / 2, result._freedom)
    ax = style.axes_or_new(ax, 7, 4, grid="y")
    size = style.text_size(ax)
    _, axes_height = style.points_of(ax)
    names = _names(pair, 2 * axes_height / size)[0]
    low = (difference - half)[:-1]
    high = (difference + half)[:-1]
    ax.fill_between(weight, low, high, color=style.BLUE, alpha=0.2, lw=0)
    ax.plot(weight, difference[:-1], color=style.BLUE, lw=1.5)
    ax.axhline(0, color=style.ink(), lw=0.8)
    ax.errorbar(
        points[-1, :1],
        difference[-1:],
        half[-1:],
        fmt="D",
        color=style.ink(),
        ms=4,
        capsize=2,
        lw=1,
        label="weights of the measure",
    )
    if means.min() < 0 < means.max():
        crossing = -means[1] / (means[0] - means[1])
        if weight[0] <= crossing <= weight[-1]:
            _mark_crossing(ax, crossing, size)
    ax.set_xlabel(f"weight of {style.distinct_texts([first, second], 30)[0]}", fontsize=size)
    ax.set_ylabel(style.difference_text(*names), fontsize=size)
    ax.tick_params(labelsize=size)
    ax.legend(fontsize=size, frameon=False)
    ax.margins(x=0.02)
    return ax


def _mark_crossing(ax: Axes, crossing: float, size: float) -> None:
    """Draw a line at the weight where the difference is 0."""
    ax.axvline(crossing, color=style.ORANGE, lw=1, ls="--")
    ax.annotate(
        f"{crossing:.2f}",
        (crossing, 0),
        xytext=(3, 3),
        textcoords="offset points",
        color=style.ORANGE,
        fontsize=size,
    )


def _draw_triangle(result: Weightings, pair: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the triangle of the weightings of three aspects."""
    ax = style.axes_or_new(ax, 5, 4.6)
    points = _triangle_points(np.array(list(result.at_least.values())))
    difference = points @ _means(result)[pair.index[0]]
    corners = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
    ax.set_aspect("equal")
    ax.axis("off")
    colours = ("#9CC9E6", "#F2B38A")
    _shade_triangle(ax, points @ corners, difference, _significance(result, pair, points), colours)
    ax.plot(*corners[[0, 1, 2, 0]].T, color=style.ink(), lw=0.8)
    x, y = np.array(list(result.weights.values())) @ corners
    ax.plot(x, y, "D", color="black", mec="white", ms=6, label="weights of the measure", ls="none")
    size = style.text_size(ax)
    aspects = style.distinct_texts(list(result.weights), 20)
    _label_corners(ax, corners, aspects, size)
    a, b = _names(pair, 80)[0]
    axes_width, _ = style.points_of(ax)
    title = f"The better of {a} and {b} by the weights of {join_names(aspects)}"
    ax.set_title(fill(title, int(2 * axes_width / size)), fontsize=size, pad=2.5 * size)
    handles = [
        unit_square(f"{a} higher", color=colours[0], lw=0),
        unit_square(f"{b} higher", color=colours[1], lw=0),
        unit_square(f"p ≥ {ALPHA:g}", facecolor="white", edgecolor=style.GREY, hatch="////"),
        *ax.lines[1:],
    ]
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.08),
        fontsize=size,
        frameon=False,
        ncols=min(2, legend_columns(ax, handles)),
    )
    return ax


def _triangle_points(least: Floats) -> Floats:
    """Return weightings of three aspects at equal distances, points × aspects."""
    first, second = np.meshgrid(np.arange(_STEPS + 1), np.arange(_STEPS + 1), indexing="ij")
    third = _STEPS - first - second
    is_weighting = third >= 0
    steps = np.column_stack([first[is_weighting], second[is_weighting], third[is_weighting]])
    simplex = steps / _STEPS
    points: Floats = least + (1 - least.sum()) * simplex
    return points


def _shade_triangle(
    ax: Axes,
    points: Floats,
    difference: Floats,
    is_significant: Bools,
    colours: tuple[str, str],
) -> None:
    """Colour the points by the run that is better, and hatch those that are not significant."""
    import matplotlib

    x, y = points.T
    if np.ptp(difference) > 0:
        span = np.abs(difference).max() + 1
        ax.tricontourf(x, y, difference, levels=[-span, 0, span], colors=list(colours[::-1]))
    if not is_significant.all():
        shown = is_significant.astype(float)
        with matplotlib.rc_context({"hatch.color": style.GREY}):
            ax.tricontourf(x, y, shown, levels=[-0.5, 0.5], colors="none", hatches=["////"])


def _significance(result: Weightings, pair: pd.DataFrame, points: Floats) -> Bools:
    """Return whether the difference of a pair is significant under each weighting.

    It is corrected for all pairs.
    """
    if result.correction:
        family = result.pairs
    else:
        family = pair
    sides = family[["a", "b"]]
    names = pd.unique(sides.to_numpy().ravel()).tolist()
    once, position = unordered_pairs(make_pairs(names, sides.itertuples(index=False)))
    rows = family.index[once]
    differences = _means(result)[rows] @ points.T
    significant: Bools = significant_at(
        points, differences, result.covariances[rows], result._freedom, result.correction
    )
    row = family.index.get_loc(pair.index[0])
    return significant[position[row]]


def _label_corners(ax: Axes, corners: Floats, aspects: Sequence[str], size: float) -> None:
    """Write the aspects above the upper and below the lower corners."""
    offsets = (4, -4, -4)
    sides = ("bottom", "top", "top")
    for corner, aspect, offset, side in zip(corners, aspects, offsets, sides, strict=True):
        ax.annotate(
            aspect,
            corner,
            xytext=(0, offset),
            textcoords="offset points",
            fontsize=size,
            ha="center",
            va=side,
        )


def _draw_bars(pairs: pd.DataFrame, aspects: Sequence[str], ax: Axes | None) -> Axes:
    """Draw the fraction of weightings under which the first run of each pair is better."""
    distance = (pairs["fraction"] - 0.5).abs().to_numpy()
    nearest = distance.argsort(kind="stable")[:_MAX_BARS]
    shown = pairs.iloc[np.sort(nearest)]
    fraction = 100 * shown["fraction"].to_numpy(np.float64)
    low = 100 * shown["low"].to_numpy(np.float64)
    high = 100 * shown["high"].to_numpy(np.float64)
    position = np.arange(len(shown))[::-1]
    ax = style.axes_or_new(ax, 7, 1.2 + 0.24 * len(shown), grid="x")
    size = style.text_size(ax, len(shown))
    ax.barh(position, fraction, height=0.7, color=style.BLUE)
    ax.barh(position, 100 - fraction, left=fraction, height=0.7, color=style.LIGHT)
    has_interval = high > low
    ax.hlines(position[has_interval], low[has_interval], high[has_interval], color="black", lw=1)
    ax.axvline(50, color="black", lw=0.8, ls=":")
    axes_width, _ = style.points_of(ax)
    room = axes_width / size - 3  # about half of the figure
    ax.set_yticks(position, [f"{a} > {b}" for a, b in _names(shown, room)], fontsize=size)
    ax.tick_params(axis="x", labelsize=size)
    text = "% of weightings"
    if has_interval.any():
        text += f", with the {100 * CI:g} % interval over topics"
    if len(shown) < len(pairs):
        text += f" ({len(shown)} of {len(pairs)} pairs)"
    ax.set_xlabel(text, fontsize=size)
    names = join_names(style.distinct_texts(list(aspects), 20))
    title = f"Weightings of {names} under which the first run is better"
    ax.set_title(fill(title, int(1.4 * room)), fontsize=size)
    ax.set_xlim(0, 100)
    ax.set_ylim(-0.6, len(shown) - 0.4)
    return ax


def _means(result: Weightings) -> Floats:
    """Return the differences of means, pairs × aspects."""
    differences = result.aspects["difference"].to_numpy(np.float64)
    return differences.reshape(len(result.pairs), -1)


def _names(pairs: pd.DataFrame, room: float) -> list[tuple[str, str]]:
    """Return the names of the runs of each pair, distinct.

    They are shortened until two fit into `room` characters.
    """
    sides = pairs[["a", "b"]].to_numpy()
    names = list(map(str, pd.unique(sides.ravel())))
    longest = max(16, *map(len, names))
    for width in range(longest, 15, -1):
        short = dict(zip(names, style.distinct_texts(names, width), strict=True))
        shortened = [(short[str(a)], short[str(b)]) for a, b in sides]
        if max(len(a + b) for a, b in shortened) <= room:
            break
    return shortened
