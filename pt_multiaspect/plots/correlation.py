"""A heat map of the correlations between measures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._typing import Floats
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, refuse_none
from .style import LIGHT, SMALL, add_colour_bar, axes_or_new, colours_of, distinct_texts, format_fixed, text_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        The result of `analysis.correlation`: a matrix whose rows are the references or, with ``ci``,
        a long frame. Intervals are written below the values.
    title : str, optional
        Title of the axes, such as "Kendall's τ-b".
    limits : pair of float, optional
        The lowest and highest value of the colour scale, in [−1, 1]; see Returns for the default.
    ax : Axes, optional
        Axes to draw on. By default, a new figure, whose size depends on the number of measures.

    Returns
    -------
    Axes
        By default, the colour scale ranges from 0 to 1 if no value is negative, else from −1 to 1, where 0 is
        white. Undefined correlations are grey.

    Raises
    ------
    MultiAspectError
        If `correlations` is not a square matrix with the same measures as rows and columns, or a value is
        neither a number in [−1, 1] nor NaN.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, Table 4.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> measures = ["AP", "RR"]
    >>> ax = plots.correlation_heatmap(pd.DataFrame([[1, 0.667], [0.667, 1]], index=measures, columns=measures))
    >>> [text.get_text() for text in ax.texts]
    ['1.00', '0.67', '0.67', '1.00']
    """
    values, names, intervals = _square(correlations)
    cmap, low, high = _span(values) if limits is None else _read_limits(limits)
    texts = distinct_texts(names, 30)
    side = float(np.clip((0.95 if intervals else 0.62) * len(names), 2.4, 16))
    ax = axes_or_new(ax, side + 3.2, side + 1.4)
    image = ax.imshow(np.ma.masked_invalid(values), cmap=cmap, vmin=low, vmax=high, aspect="equal")
    ax.set_facecolor(LIGHT)
    colours = colours_of(cmap, ((np.nan_to_num(values) - low) / (high - low)).clip(0, 1))
    room = min(ax.get_window_extent().size) * 72 / ax.figure.dpi / len(names)
    # The five characters of −0.50 are three times as wide as the font size; an interval is twice as wide.
    size = float(np.clip(room / (6.5 if intervals else 3.3), 6, 10))
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else format_fixed(value)
        if (row, column) in intervals and not np.isnan(value):
            text += "\n[{}, {}]".format(*map(format_fixed, intervals[row, column]))
        ax.text(
            column, row, text, ha="center", va="center", fontsize=max(6, 0.85 * size) if intervals else size,
            color="black" if np.isnan(value) else text_colour(colours[row, column]),
        )  # fmt: skip
    positions = list(range(len(names)))
    rotation: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    if max(map(len, texts)) > 14 and len(names) > 6:
        rotation = {"rotation": 90}
    ax.set_xticks(positions, texts, fontsize=SMALL, **rotation)
    ax.set_yticks(positions, texts, fontsize=SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    add_colour_bar(ax, image, "correlation", np.linspace(low, high, 5).tolist(), format_fixed)
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


def _span(values: Floats) -> tuple[str, float, float]:
    """Return the colour map of correlations and the values of its ends, the same for figures of one kind."""
    return ("RdBu", -1.0, 1.0) if (values < 0).any() else ("Blues", 0.0, 1.0)


def _read_limits(limits: object) -> tuple[str, float, float]:
    """Return the colour map for limits, and the values of its ends, after checking them."""
    try:
        low, high = map(float, limits)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        low = high = math.nan
    if not -1 <= low < high <= 1:
        raise MultiAspectError(f"limits: expected two numbers in [−1, 1], lower first, got {limits!r}")
    return "RdBu" if low < 0 else "Blues", low, high


def _square(frame: object) -> tuple[Floats, list[str], dict[tuple[int, int], tuple[float, float]]]:
    """Return the matrix of correlations, the names of its rows, and the intervals by position."""
    correlations = to_pandas(frame)
    if correlations is None:
        raise MultiAspectError(
            f"correlations: expected the DataFrame of analysis.correlation, got a {type(frame).__name__}"
        )
    refuse_none(correlations, "measure", "correlations")
    intervals: dict[tuple[int, int], tuple[float, float]] = {}
    long = ["reference", "measure", "correlation", "low", "high"]
    if list(map(str, correlations.columns)) == long:
        names = [str(name) for name in correlations["reference"].unique()]
        position = {name: index for index, name in enumerate(names)}
        values = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(values, 1.0)
        for reference, measure, value, low, high in correlations.itertuples(index=False):
            if str(measure) not in position:
                raise MultiAspectError(
                    f"correlations: expected every measure as a reference ({choices(names)}), got the measure "
                    f"{measure}"
                )
            cell = (position[str(reference)], position[str(measure)])
            values[cell], intervals[cell] = value, (low, high)
    else:
        names = [str(name) for name in correlations.index]
        columns = [str(name) for name in correlations.columns]
        if names != columns:
            raise MultiAspectError(
                "correlations: expected a square matrix with the same measures as rows and columns, got the rows "
                f"{choices(names)} and the columns {choices(columns)}"
            )
        try:
            values = correlations.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise MultiAspectError(f"correlations: expected numbers: {error}") from None
    beyond = np.argwhere(~(np.isnan(values) | (np.abs(values) <= 1 + 1e-9)))
    if len(beyond):
        row, column = beyond[0].tolist()
        raise MultiAspectError(
            f"expected correlations in [−1, 1], got {values[row, column]:g} for {names[row]} and {names[column]}"
        )
    return values, names, intervals
