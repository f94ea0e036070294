"""Correlations between measures as a matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..analysis._frames import Floats
from ..errors import MultiAspectError, choices
from .style import LIGHT, SMALL, add_colour_bar, axes_or_new, colours_of, distinct, fixed, readable_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def correlation_heatmap(
    correlations: pd.DataFrame,
    *,
    title: str | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix of correlations between measures, values written in.

    Parameters
    ----------
    correlations : DataFrame
        What `analysis.correlation` returns: a matrix, rows the references, or, with ``confidence``, a
        long frame, whose intervals are then written in too.
    title : str, optional
        The title of the axes, such as "Kendall's τ-b".
    limits : pair of float, optional
        The values in [−1, 1] that the colours span, so that figures can be compared; see Returns for the default.
    ax : Axes, optional
        Where to draw; a new figure by default, the larger the more measures there are.

    Returns
    -------
    Axes
        Colours span what the values span, so that near values differ in colour: from the lowest to the highest
        value if none is negative, else as far below 0 as above it, with 0 white. Correlations that are not
        defined are grey.

    Raises
    ------
    MultiAspectError
        If this is no square matrix with the same measures as rows and columns, or a value is no number in
        [−1, 1] (NaN is allowed).
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As a figure, Table 4 of Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021.

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
    cmap, low, high = _span(values) if limits is None else _given(limits)
    texts = distinct(names, 30)
    side = float(np.clip((0.95 if intervals else 0.62) * len(names), 2.4, 16))
    ax = axes_or_new(ax, side + 3.2, side + 1.4)
    image = ax.imshow(np.ma.masked_invalid(values), cmap=cmap, vmin=low, vmax=high, aspect="equal")
    ax.set_facecolor(LIGHT)
    colours = colours_of(cmap, ((np.nan_to_num(values) - low) / (high - low)).clip(0, 1))
    room = min(ax.get_window_extent().size) * 72 / ax.figure.dpi / len(names)
    # The five signs of −0.50 are three times as wide as their size; two numbers in brackets twice as wide as one.
    size = float(np.clip(room / (6.5 if intervals else 3.3), 4.5, 10))
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else fixed(value)
        if (row, column) in intervals and not np.isnan(value):
            low, high = intervals[row, column]
            text += f"\n[{fixed(low)}, {fixed(high)}]"
        ax.text(
            column, row, text, ha="center", va="center", fontsize=size * (0.85 if intervals else 1),
            color="black" if np.isnan(value) else readable_on(colours[row, column]),
        )  # fmt: skip
    places = list(range(len(names)))
    upright = max(map(len, texts)) > 14 and len(names) > 6
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    if upright:
        turned = {"rotation": 90}
    ax.set_xticks(places, texts, fontsize=SMALL, **turned)
    ax.set_yticks(places, texts, fontsize=SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    add_colour_bar(ax, image, "correlation", np.linspace(low, high, 5).tolist(), fixed)
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


def _span(values: Floats) -> tuple[str, float, float]:
    """The colour map of correlations, and which values its ends have."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if low < 0:
        most = max(-low, high)
        return "RdBu", -most, most
    return ("Blues", low, high) if low < high else ("Blues", low - 1, high)


def _given(limits: object) -> tuple[str, float, float]:
    """The colour map between given limits, which are checked."""
    try:
        low, high = map(float, limits)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        low = high = math.nan
    if not -1 <= low < high <= 1:
        raise MultiAspectError(f"expected limits as two numbers in [−1, 1], the lower one first, got {limits!r}")
    return "RdBu" if low < 0 else "Blues", low, high


def _square(correlations: object) -> tuple[Floats, list[str], dict[tuple[int, int], tuple[float, float]]]:
    """A matrix of correlations, the names of its rows, and intervals by position."""
    if not isinstance(correlations, pd.DataFrame):
        raise MultiAspectError(
            f"correlations are a DataFrame as analysis.correlation returns, not a {type(correlations).__name__}"
        )
    if correlations.empty:
        raise MultiAspectError("there are no correlations to draw")
    intervals: dict[tuple[int, int], tuple[float, float]] = {}
    long = ["reference", "measure", "correlation", "low", "high"]
    if list(map(str, correlations.columns)) == long:
        names = [str(name) for name in correlations["reference"].unique()]
        place = {name: index for index, name in enumerate(names)}
        values = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(values, 1.0)
        for reference, measure, value, low, high in correlations.itertuples(index=False):
            if str(measure) not in place:
                raise MultiAspectError(
                    f"the correlations have the measure {measure}, but no such reference: {choices(names)}"
                )
            at = (place[str(reference)], place[str(measure)])
            values[at], intervals[at] = value, (low, high)
    else:
        names = [str(name) for name in correlations.index]
        columns = [str(name) for name in correlations.columns]
        if names != columns:
            raise MultiAspectError(
                "correlations are a square matrix with the same measures as rows and columns; rows are "
                f"{choices(names)}, columns {choices(columns)}"
            )
        try:
            values = correlations.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise MultiAspectError(f"a correlation is no number: {error}") from None
    beyond = np.argwhere(~(np.isnan(values) | (np.abs(values) <= 1 + 1e-9)))
    if len(beyond):
        row, column = beyond[0].tolist()
        raise MultiAspectError(
            f"the correlation of {names[row]} and {names[column]} is {values[row, column]:g}; "
            "correlations are in [−1, 1]"
        )
    return values, names, intervals
