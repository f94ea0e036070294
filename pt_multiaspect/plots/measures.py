"""Plots that compare measures: correlations and significance levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import count, proportion
from ..analysis.power import DiscriminativePower
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, choices, refuse_none
from . import style
from .labels import MOST_INSIDE, add_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The lowest end of axes of significance levels.
_LOWEST_LEVEL = 1e-4


@style.with_literal_texts
def correlation_heatmap(
    correlations: pd.DataFrame,
    *,
    title: str | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a matrix of correlations between measures as a heat map.

    Parameters
    ----------
    correlations : DataFrame
        The result of `analysis.correlation`: a matrix whose rows are the references or, with
        ``ci``, a long frame. Intervals are written below the values.
    title : str, optional
        Title of the axes, such as "Kendall's τ-b".
    limits : pair of float, optional
        The lowest and highest value of the colour scale, in [−1, 1]; see Returns for the default.
    ax : Axes, optional
        Axes to draw on. By default, a new figure, whose size depends on the number of measures.

    Returns
    -------
    Axes
        By default, the colour scale ranges from 0 to 1 if no value is negative, else from −1 to 1,
        where 0 is white. Undefined correlations are grey.

    Raises
    ------
    MultiAspectError
        If `correlations` is not a square matrix with the same measures as rows and columns, or a
        value is neither a number in [−1, 1] nor NaN.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM
    2021, Table 4.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> measures = ["AP", "RR"]
    >>> correlations = pd.DataFrame([[1, 0.667], [0.667, 1]], index=measures, columns=measures)
    >>> ax = plots.correlation_heatmap(correlations)
    >>> [text.get_text() for text in ax.texts]
    ['1.00', '0.67', '0.67', '1.00']
    """
    values, names, intervals = _square(correlations)
    if limits is None:  # the same for figures of one kind
        if (values < 0).any():
            limits = (-1.0, 1.0)
        else:
            limits = (0.0, 1.0)
    cmap, low, high = _read_limits(limits)
    # The five characters of −0.50 are three times as wide as the font size; an interval is twice as
    # wide.
    if intervals:
        cell_inches, cell_em = 0.95, 6.5
    else:
        cell_inches, cell_em = 0.62, 3.3
    side = float(np.clip(cell_inches * len(names), 2.4, 16))
    ax = style.axes_or_new(ax, side + 3.2, side + 1.4)
    image = ax.imshow(np.ma.masked_invalid(values), cmap=cmap, vmin=low, vmax=high, aspect="equal")
    ax.set_facecolor(style.LIGHT)
    shades = ((np.nan_to_num(values) - low) / (high - low)).clip(0, 1)
    colours = style.colours_of(cmap, shades)
    room = min(ax.get_window_extent().size) * 72 / ax.figure.dpi / len(names)
    size = float(np.clip(room / cell_em, 6, 10))
    if intervals:
        size = max(6, 0.85 * size)
    for (row, column), value in np.ndenumerate(values):
        if np.isnan(value):
            colour = "black"
        else:
            colour = style.text_colour(colours[row, column])
        text = _correlation_text(value, intervals.get((row, column)))
        ax.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)
    texts = style.distinct_texts(names, 30)
    positions = list(range(len(names)))
    rotation: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    if max(map(len, texts)) > 14 and len(names) > 6:
        rotation = {"rotation": 90}
    ax.set_xticks(positions, texts, fontsize=style.SMALL, **rotation)
    ax.set_yticks(positions, texts, fontsize=style.SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    style.add_colour_bar(
        ax, image, "correlation", np.linspace(low, high, 5).tolist(), style.format_fixed
    )
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


def _correlation_text(value: float, interval: tuple[float, float] | None) -> str:
    """Return a correlation, with its interval below if there is one."""
    if math.isnan(value):
        return "–"
    text = style.format_fixed(value)
    if interval is None:
        return text
    low, high = interval
    return f"{text}\n[{style.format_fixed(low)}, {style.format_fixed(high)}]"


def _read_limits(limits: object) -> tuple[str, float, float]:
    """Return the colour map for limits, and the values of its ends, after checking them."""
    try:
        low, high = map(float, limits)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        low = high = math.nan
    if not -1 <= low < high <= 1:
        raise MultiAspectError(
            f"limits: expected two numbers in [−1, 1], lower first, got {limits!r}"
        )
    if low < 0:
        return "RdBu", low, high
    return "Blues", low, high


def _square(frame: object) -> tuple[Floats, list[str], dict[tuple[int, int], tuple[float, float]]]:
    """Return the matrix of correlations, the names of its rows, and the intervals by position."""
    correlations = to_pandas(frame)
    if correlations is None:
        raise MultiAspectError(
            "correlations: expected the DataFrame of analysis.correlation, got a "
            f"{type(frame).__name__}"
        )
    refuse_none(correlations, "measure", "correlations")
    long = ["reference", "measure", "correlation", "low", "high"]
    intervals: dict[tuple[int, int], tuple[float, float]] = {}
    if list(map(str, correlations.columns)) == long:
        names = list(map(str, correlations["reference"].unique()))
        values, intervals = _from_long(correlations, names)
    else:
        names = list(map(str, correlations.index))
        values = _from_matrix(correlations, names)
    is_valid = np.isnan(values) | (np.abs(values) <= 1 + 1e-9)
    beyond = np.argwhere(~is_valid)
    if len(beyond):
        row, column = beyond[0].tolist()
        raise MultiAspectError(
            f"expected correlations in [−1, 1], got {values[row, column]:g} for {names[row]} and "
            f"{names[column]}"
        )
    return values, names, intervals


def _from_long(
    correlations: pd.DataFrame, names: list[str]
) -> tuple[Floats, dict[tuple[int, int], tuple[float, float]]]:
    """Return the matrix and the intervals of a long frame."""
    position = {name: index for index, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(values, 1.0)
    intervals = {}
    for reference, measure, value, low, high in correlations.itertuples(index=False):
        if str(measure) not in position:
            raise MultiAspectError(
                f"correlations: expected every measure as a reference ({choices(names)}), got the "
                f"measure {measure}"
            )
        cell = (position[str(reference)], position[str(measure)])
        values[cell] = value
        intervals[cell] = (low, high)
    return values, intervals


def _from_matrix(correlations: pd.DataFrame, names: list[str]) -> Floats:
    """Return a frame that is a matrix, after checking its columns."""
    columns = list(map(str, correlations.columns))
    if names != columns:
        raise MultiAspectError(
            "correlations: expected a square matrix with the same measures as rows and columns, "
            f"got the rows {choices(names)} and the columns {choices(columns)}"
        )
    try:
        return correlations.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"correlations: expected numbers: {error}") from None


@style.with_literal_texts
def asl_curves(
    power: DiscriminativePower,
    *,
    n_pairs: int | None = None,
    top: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the achieved significance levels of all pairs of systems, with one line per measure.

    For each measure, pairs are sorted by significance level, highest first. The sooner a line falls
    below the dashed line, the more pairs the measure discriminates. The vertical axis is
    logarithmic; levels below 0.0001 are not shown.

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
    >>> perquery = pd.DataFrame({"qid": ["q0", "q1", "q2", "q3", "q4"], "measure": "AP"})
    >>> a = perquery.assign(name="a", value=[0.7, 0.9, 0.6, 0.8, 0.7])
    >>> b = perquery.assign(name="b", value=[0.7, 0.8, 0.7, 0.8, 0.7])
    >>> c = perquery.assign(name="c", value=[0.1, 0.2, 0.1, 0.2, 0.0])
    >>> perquery = pd.concat([a, b, c])
    >>> ax = plots.asl_curves(discriminative_power(perquery, test="t"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['AP (66.7 %)', 'α = 0.05']
    """
    style.check_result(power, DiscriminativePower, "discriminative_power", title="power: ")
    limit = None
    if n_pairs is not None:
        limit = count("n_pairs")(n_pairs)
    highest = 1.0
    if top is not None:
        highest = proportion("top")(top)
    curve = power.curve()
    levels = {measure: rows["asl"].to_numpy(float) for measure, rows in curve.groupby("measure")}
    measures = power.table["measure"].tolist()
    shares = power.table["power"].tolist()
    texts = style.distinct_texts(list(map(str, measures)), 44)
    beside = len(measures) >= MOST_INSIDE
    if beside:
        width = 10.0
    else:
        width = 7.2
    ax = style.axes_or_new(ax, width, 4.4)
    longest = 0
    for index, measure in enumerate(measures):
        level = levels[measure][:limit]
        longest = max(longest, len(level))
        every = max(1, len(level) // 8)
        ax.plot(
            np.arange(1, len(level) + 1),
            level,
            lw=1.5,
            ms=4.5,
            markevery=(index * every // len(measures), every),
            label=f"{texts[index]} ({100 * shares[index]:.1f} %)",
            **style.line_style(index),
        )
    threshold = f"α = {power.alpha:g}"
    if power.correction:
        threshold += f" (levels before {power.correction})"
    ax.axhline(power.alpha, color=style.ink(), lw=1, ls=(0, (6, 3)), label=threshold)
    ax.set_xlim(1 - 0.01 * longest, 1.01 * longest)
    ax.set_yscale("log", nonpositive="clip")
    all_levels = np.concatenate(list(levels.values()))
    ax.set_ylim(_lowest_level(all_levels, power.alpha, highest), highest)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("pairs of systems, by descending level")
    ax.set_ylabel(f"achieved significance level ({power.test})")
    add_legend(ax, beside, title="measure (pairs discriminated)")
    return ax


def _lowest_level(levels: Floats, alpha: float, highest: float) -> float:
    """Return the lower limit of the axis of levels: a power of ten, alpha / 10 or highest / 10."""
    lowest = levels[levels > 0].min(initial=1.0)
    exponent = math.floor(math.log10(max(lowest, _LOWEST_LEVEL)))
    return min(10.0**exponent, alpha / 10, highest / 10)
