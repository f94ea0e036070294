"""Plots that compare measures: correlations and significance levels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
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
    matrix = _read_correlations(correlations)
    names = matrix.names
    if limits is not None:
        low, high = _read_limits(limits)
    elif (matrix.values < 0).any():
        low, high = -1.0, 1.0
    else:
        low, high = 0.0, 1.0
    # Two colours, which meet in white, for scales with negative values.
    colour_map = "Blues"
    if low < 0:
        colour_map = "RdBu"
    cell_size = 0.62
    if matrix.intervals:
        cell_size = 0.95
    side = float(np.clip(cell_size * len(names), 2.4, 16))
    ax = style.axes_or_new(ax, side + 3.2, side + 1.4)
    image = ax.imshow(
        np.ma.masked_invalid(matrix.values),
        cmap=colour_map,
        vmin=low,
        vmax=high,
        aspect="equal",
    )
    ax.set_facecolor(style.LIGHT)  # seen where a correlation is undefined
    shades = (np.nan_to_num(matrix.values) - low) / (high - low)
    _write_correlations(ax, matrix, style.colours_of(colour_map, shades.clip(0, 1)))
    _write_measures(ax, names)
    ticks = np.linspace(low, high, 5).tolist()
    style.add_colour_bar(ax, image, "correlation", ticks, style.format_fixed)
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


class _Correlations(NamedTuple):
    """A matrix of correlations between measures."""

    names: list[str]
    #: measures × measures; NaN where undefined.
    values: Floats
    #: The lower and upper ends of the intervals by row and column; empty without intervals.
    intervals: dict[tuple[int, int], tuple[float, float]]


def _read_correlations(frame: object) -> _Correlations:
    """Return the correlations of a matrix or a long frame, after checking them."""
    correlations = to_pandas(frame)
    if correlations is None:
        raise MultiAspectError(
            "correlations: expected the DataFrame of analysis.correlation, got a "
            f"{type(frame).__name__}"
        )
    refuse_none(correlations, "measure", "correlations")
    columns = list(map(str, correlations.columns))
    if columns == ["reference", "measure", "correlation", "low", "high"]:
        matrix = _from_long(correlations)
    else:
        matrix = _from_matrix(correlations)
    # Rounding may move a correlation of 1 slightly beyond the limits.
    is_beyond = np.abs(matrix.values) > 1 + 1e-9
    cells_beyond = np.argwhere(is_beyond)
    if len(cells_beyond):
        row, column = cells_beyond[0].tolist()
        value = f"{matrix.values[row, column]:g}"
        raise MultiAspectError(
            f"expected correlations in [−1, 1], got {value} for {matrix.names[row]} and "
            f"{matrix.names[column]}"
        )
    return matrix


def _from_long(correlations: pd.DataFrame) -> _Correlations:
    """Return the correlations of a frame with one row per pair of measures, with intervals."""
    names = list(map(str, correlations["reference"].unique()))
    position = {name: index for index, name in enumerate(names)}
    # The frame does not have the correlation of a measure with itself.
    values = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(values, 1.0)
    intervals = {}
    for pair in correlations.to_dict("records"):
        reference = str(pair["reference"])
        measure = str(pair["measure"])
        if measure not in position:
            raise MultiAspectError(
                f"correlations: expected every measure as a reference ({choices(names)}), got the "
                f"measure {measure}"
            )
        cell = (position[reference], position[measure])
        values[cell] = pair["correlation"]
        intervals[cell] = (pair["low"], pair["high"])
    return _Correlations(names, values, intervals)


def _from_matrix(correlations: pd.DataFrame) -> _Correlations:
    """Return the correlations of a frame with one row and one column per measure."""
    rows = list(map(str, correlations.index))
    columns = list(map(str, correlations.columns))
    if rows != columns:
        raise MultiAspectError(
            "correlations: expected a square matrix with the same measures as rows and columns, "
            f"got the rows {choices(rows)} and the columns {choices(columns)}"
        )
    try:
        values = correlations.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"correlations: expected numbers: {error}") from None
    return _Correlations(rows, values, intervals={})


def _read_limits(limits: Any) -> tuple[float, float]:
    """Return the two limits of a colour scale, or raise an error."""
    try:
        low, high = limits
        low, high = float(low), float(high)
        is_valid = -1 <= low < high <= 1
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise MultiAspectError(
            f"limits: expected two numbers in [−1, 1], lower first, got {limits!r}"
        )
    return low, high


def _write_correlations(ax: Axes, matrix: _Correlations, colours: npt.NDArray[Any]) -> None:
    """Write each correlation, with its interval, into its cell.

    `colours` are those of the cells: measures × measures × (red, green, blue, alpha).
    """
    font_size = _cell_font_size(ax, matrix)
    for cell, value in np.ndenumerate(matrix.values):
        row, column = cell
        if np.isnan(value):  # on grey
            colour = "black"
        else:
            colour = style.text_colour(colours[cell])
        text = _correlation_text(value, matrix.intervals.get((row, column)))
        ax.text(column, row, text, ha="center", va="center", fontsize=font_size, color=colour)


def _cell_font_size(ax: Axes, matrix: _Correlations) -> float:
    """Return the font size at which correlations, and their intervals, fit into cells.

    It is at most 10 points, and at least 6, also if cells are narrower than texts of this size.
    """
    side = min(ax.get_window_extent().size)
    cell_width = side * 72 / ax.figure.dpi / len(matrix.names)
    # Relative to the font size, the five characters of −0.50 are 3.3 wide, an interval 6.5.
    if not matrix.intervals:
        return float(np.clip(cell_width / 3.3, 6, 10))
    widest_size = float(np.clip(cell_width / 6.5, 6, 10))
    # Space on both sides keeps the intervals of neighbours apart.
    return max(6, 0.85 * widest_size)


def _correlation_text(value: float, interval: tuple[float, float] | None) -> str:
    """Return a correlation, with its interval below if there is one."""
    if math.isnan(value):
        return "–"
    text = style.format_fixed(value)
    if interval is None:
        return text
    low = style.format_fixed(interval[0])
    high = style.format_fixed(interval[1])
    return f"{text}\n[{low}, {high}]"


def _write_measures(ax: Axes, names: list[str]) -> None:
    """Write the measures below and to the left of a heat map."""
    texts = style.distinct_texts(names, 30)
    positions = list(range(len(names)))
    longest = max(map(len, texts))
    rotation: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    if longest > 14 and len(names) > 6:
        rotation = {"rotation": 90}
    ax.set_xticks(positions, texts, fontsize=style.SMALL, **rotation)
    ax.set_yticks(positions, texts, fontsize=style.SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


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
    n_drawn = None  # all
    if n_pairs is not None:
        check_n_pairs = count("n_pairs")
        n_drawn = check_n_pairs(n_pairs)
    highest = 1.0
    if top is not None:
        check_top = proportion("top")
        highest = check_top(top)
    all_levels: dict[Any, Floats] = {}
    for measure, rows in power.curve().groupby("measure"):
        all_levels[measure] = rows["asl"].to_numpy(float)
    measures = power.table["measure"].tolist()
    drawn_levels = [all_levels[measure][:n_drawn] for measure in measures]

    has_legend_beside = len(measures) >= MOST_INSIDE
    width = 7.2
    if has_legend_beside:
        width = 10.0
    ax = style.axes_or_new(ax, width, 4.4)
    labels = _labels_with_power(power)
    for index, levels in enumerate(drawn_levels):
        _draw_levels(ax, levels, labels[index], index, len(measures))
    threshold = f"α = {power.alpha:g}"
    if power.correction:
        threshold += f" (levels before {power.correction})"
    ax.axhline(power.alpha, color=style.ink(), lw=1, ls=(0, (6, 3)), label=threshold)

    longest = max(map(len, drawn_levels), default=0)
    ax.set_xlim(1 - 0.01 * longest, 1.01 * longest)
    # The limits include levels of pairs that are not drawn.
    lowest = _lowest_level(np.concatenate(list(all_levels.values())), power.alpha, highest)
    _scale_levels(ax, lowest, highest)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("pairs of systems, by descending level")
    ax.set_ylabel(f"achieved significance level ({power.test})")
    add_legend(ax, has_legend_beside, title="measure (pairs discriminated)")
    return ax


def _scale_levels(ax: Axes, lowest: float, highest: float) -> None:
    """Make the axis of significance levels logarithmic, with numbers such as 0.01, not 10⁻²."""
    ax.set_yscale("log", nonpositive="clip")
    ax.set_ylim(lowest, highest)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter("")


def _labels_with_power(power: DiscriminativePower) -> list[str]:
    """Return a label per measure, such as "AP (66.7 %)": the percentage of discriminated pairs."""
    names = power.table["measure"].astype(str).tolist()
    shortened = style.distinct_texts(names, 44)
    percentages = 100 * power.table["power"]
    labels = []
    for name, percentage in zip(shortened, percentages, strict=True):
        labels.append(f"{name} ({percentage:.1f} %)")
    return labels


def _draw_levels(ax: Axes, levels: Floats, label: str, index: int, n_measures: int) -> None:
    """Draw the significance levels of one of several measures as a line over the pairs."""
    pairs = np.arange(1, len(levels) + 1)
    # About eight markers per line, which begin at another pair for each measure to lie apart.
    marker_distance = max(1, len(levels) // 8)
    first_marker = index * marker_distance // n_measures
    ax.plot(
        pairs,
        levels,
        lw=1.5,
        ms=4.5,
        markevery=(first_marker, marker_distance),
        label=label,
        **style.line_style(index),
    )


def _lowest_level(levels: Floats, alpha: float, highest: float) -> float:
    """Return the lower limit of the logarithmic axis of significance levels.

    It is the power of ten below all levels that are shown, but at most a tenth of `alpha` and of
    the upper limit of the axis.
    """
    positive = levels[levels > 0]
    lowest = max(positive.min(initial=1.0), _LOWEST_LEVEL)
    power_of_ten = 10.0 ** math.floor(math.log10(lowest))
    return min(power_of_ten, alpha / 10, highest / 10)
