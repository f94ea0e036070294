"""Plots of what depends on the weights of aspects."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

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
    >>> scores = {"a": [(0.9, 0.1), (0.7, 0.3)], "b": [(0.4, 0.8), (0.6, 0.2)], "c": [(0.5, 0.0), (0.6, 0.1)]}
    >>> rows = [
    ...     (name, f"q{topic}", aspect, value)
    ...     for name, topics in scores.items()
    ...     for topic, values in enumerate(topics)
    ...     for aspect, value in zip(("relevance", "credibility"), values)
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> directions = {"relevance": "higher", "credibility": "higher"}
    >>> ax = plots.weightings(analysis.weightings(perquery, measures=directions), ("b", "c"))
    >>> ax.get_xlabel(), ax.texts[0].get_text()
    ('weight of relevance', '0.90')
    """
    style.check_result(result, Weightings, "weightings")
    pairs = style.rows_of_pair(result.pairs, pair)
    n_aspects = len(result.weights)
    is_sampled = np.isnan(result.covariances[pairs.index]).any()
    if len(pairs) > 1 or n_aspects > 3 or is_sampled or sum(result.at_least.values()) > 1 - 1e-9:
        return _draw_bars(pairs, list(result.weights), ax)
    if n_aspects == 2:
        return _draw_line(result, pairs, ax)
    return _draw_triangle(result, pairs, ax)


def _draw_line(result: Weightings, pair: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the difference over the weight of the first of two aspects."""
    from scipy.stats import t as student

    row, (first, second) = pair.index[0], result.weights
    means, covariance = _means(result)[row], result.covariances[row]
    weight = np.linspace(result.at_least[first], 1 - result.at_least[second], _STEPS)
    points = np.column_stack([weight, 1 - weight])
    points = np.vstack([points, list(result.weights.values())])
    difference = points @ means
    error = np.sqrt(np.maximum(np.einsum("pa,ab,pb->p", points, covariance, points), 0.0))
    half = error * student.isf((1 - CI) / 2, result._freedom)
    ax = style.axes_or_new(ax, 7, 4, grid="y")
    size = style.text_size(ax)
    a, b = _names(pair, 2 * style.points_of(ax)[1] / size)[0]
    ax.fill_between(
        weight,
        (difference - half)[:-1],
        (difference + half)[:-1],
        color=style.BLUE,
        alpha=0.2,
        lw=0,
    )
    ax.plot(weight, difference[:-1], color=style.BLUE, lw=1.5)
    ax.axhline(0, color=style.ink(), lw=0.8)
    ax.errorbar(
        points[-1, :1], difference[-1:], half[-1:], fmt="D", color=style.ink(), ms=4, capsize=2, lw=1,
        label="weights of the measure",
    )  # fmt: skip
    if means.min() < 0 < means.max():
        crossing = -means[1] / (means[0] - means[1])
        if weight[0] <= crossing <= weight[-1]:
            ax.axvline(crossing, color=style.ORANGE, lw=1, ls="--")
            place: dict[str, Any] = {"xytext": (3, 3), "textcoords": "offset points"}
            ax.annotate(
                f"{crossing:.2f}", (crossing, 0), **place, color=style.ORANGE, fontsize=size
            )
    ax.set_xlabel(f"weight of {style.distinct_texts([first, second], 30)[0]}", fontsize=size)
    ax.set_ylabel(f"{a}{' ' if len(a + b) < 20 else chr(10)}− {b}", fontsize=size)
    ax.tick_params(labelsize=size)
    ax.legend(fontsize=size, frameon=False)
    ax.margins(x=0.02)
    return ax


def _draw_triangle(result: Weightings, pair: pd.DataFrame, ax: Axes | None) -> Axes:
    """Draw the triangle of the weightings of three aspects."""
    ax = style.axes_or_new(ax, 5, 4.6)
    import matplotlib

    steps = range(_STEPS + 1)
    simplex = (
        np.array([(i, j, _STEPS - i - j) for i in steps for j in steps if i + j <= _STEPS]) / _STEPS
    )
    least = np.array(list(result.at_least.values()))
    points = least + (1 - least.sum()) * simplex
    is_significant = _significance(result, pair, points)
    corners = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
    x, y = (points @ corners).T
    difference = points @ _means(result)[pair.index[0]]
    size = style.text_size(ax)
    ax.set_aspect("equal")
    ax.axis("off")
    colours = {"a": "#9CC9E6", "b": "#F2B38A"}
    if np.ptp(difference) > 0:
        span = np.abs(difference).max() + 1
        ax.tricontourf(
            x, y, difference, levels=[-span, 0, span], colors=[colours["b"], colours["a"]]
        )
    if not is_significant.all():
        with matplotlib.rc_context({"hatch.color": style.GREY}):
            ax.tricontourf(
                x,
                y,
                is_significant.astype(float),
                levels=[-0.5, 0.5],
                colors="none",
                hatches=["////"],
            )
    ax.plot(*corners[[0, 1, 2, 0]].T, color=style.ink(), lw=0.8)
    mark = np.array(list(result.weights.values())) @ corners
    ax.plot(*mark, "D", color="black", mec="white", ms=6, label="weights of the measure", ls="none")
    _label_corners(ax, corners, style.distinct_texts(list(result.weights), 20), size)
    a, b = _names(pair, 80)[0]
    aspects = join_names(style.distinct_texts(list(result.weights), 20))
    room = int(2 * style.points_of(ax)[0] / size)
    ax.set_title(
        fill(f"The better of {a} and {b} by the weights of {aspects}", room),
        fontsize=size,
        pad=2.5 * size,
    )
    handles = [
        unit_square(f"{a} higher", color=colours["a"], lw=0),
        unit_square(f"{b} higher", color=colours["b"], lw=0),
        unit_square(f"p ≥ {ALPHA:g}", facecolor="white", edgecolor=style.GREY, hatch="////"),
        *ax.lines[1:],
    ]
    ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08), fontsize=size, frameon=False,
        ncols=min(2, legend_columns(ax, handles)),
    )  # fmt: skip
    return ax


def _significance(result: Weightings, pair: pd.DataFrame, points: Floats) -> Bools:
    """Return whether the difference of a pair is significant under each weighting, corrected for all pairs."""
    family = result.pairs if result.correction else pair
    names = pd.unique(family[["a", "b"]].to_numpy().ravel()).tolist()
    once, position = unordered_pairs(make_pairs(names, family[["a", "b"]].itertuples(index=False)))
    rows = family.index[once]
    differences = _means(result)[rows] @ points.T
    significant: Bools = significant_at(
        points, differences, result.covariances[rows], result._freedom, result.correction
    )
    return significant[position[family.index.get_loc(pair.index[0])]]


def _label_corners(ax: Axes, corners: Floats, aspects: Sequence[str], size: float) -> None:
    """Write the aspects above the upper and below the lower corners."""
    for corner, aspect, below in zip(corners, aspects, (False, True, True), strict=True):
        ax.annotate(
            aspect, corner, xytext=(0, -4 if below else 4), textcoords="offset points", fontsize=size,
            ha="center", va="top" if below else "bottom",
        )  # fmt: skip


def _draw_bars(pairs: pd.DataFrame, aspects: Sequence[str], ax: Axes | None) -> Axes:
    """Draw the fraction of weightings under which the first run of each pair is better."""
    near = (pairs["fraction"] - 0.5).abs().to_numpy().argsort(kind="stable")[:_MAX_BARS]
    shown = pairs.iloc[np.sort(near)]
    fraction, low, high = (
        100 * shown[name].to_numpy(np.float64) for name in ("fraction", "low", "high")
    )
    position = np.arange(len(shown))[::-1]
    ax = style.axes_or_new(ax, 7, 1.2 + 0.24 * len(shown), grid="x")
    size = style.text_size(ax, len(shown))
    ax.barh(position, fraction, height=0.7, color=style.BLUE)
    ax.barh(position, 100 - fraction, left=fraction, height=0.7, color=style.LIGHT)
    has_interval = high > low
    ax.hlines(position[has_interval], low[has_interval], high[has_interval], color="black", lw=1)
    ax.axvline(50, color="black", lw=0.8, ls=":")
    room = style.points_of(ax)[0] / size - 3  # about half of the figure
    ax.set_yticks(position, [f"{a} > {b}" for a, b in _names(shown, room)], fontsize=size)
    ax.tick_params(axis="x", labelsize=size)
    if has_interval.any():
        interval = f", with the {100 * CI:g} % interval over topics"
    else:
        interval = ""
    if len(shown) < len(pairs):
        hidden = f" ({len(shown)} of {len(pairs)} pairs)"
    else:
        hidden = ""
    ax.set_xlabel(f"% of weightings{interval}{hidden}", fontsize=size)
    names = join_names(style.distinct_texts(list(aspects), 20))
    ax.set_title(
        fill(f"Weightings of {names} under which the first run is better", int(1.4 * room)),
        fontsize=size,
    )
    ax.set_xlim(0, 100)
    ax.set_ylim(-0.6, len(shown) - 0.4)
    return ax


def _means(result: Weightings) -> Floats:
    """Return the differences of means, pairs × aspects."""
    return result.aspects["difference"].to_numpy(np.float64).reshape(len(result.pairs), -1)


def _names(pairs: pd.DataFrame, room: float) -> list[tuple[str, str]]:
    """Return the names of the runs of each pair, distinct, and shortened until two fit into `room` characters."""
    names = list(map(str, pd.unique(pairs[["a", "b"]].to_numpy().ravel())))
    for width in range(max(16, *map(len, names)), 15, -1):
        short = dict(zip(names, style.distinct_texts(names, width), strict=True))
        both = [(short[str(a)], short[str(b)]) for a, b in pairs[["a", "b"]].to_numpy()]
        if max(len(a + b) for a, b in both) <= room:
            break
    return both
