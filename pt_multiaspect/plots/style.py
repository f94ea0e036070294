"""Colours, texts, axes and legends that several figures share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..analysis._frames import Floats
from ..errors import MultiAspectError, choices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's colours, told apart by people with any common colour vision; yellow is too light for lines.
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
_COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "#000000", "#E69F00", SKY)
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY, LIGHT = "#767676", "#D9D9D9"

#: More lines have their legend beside the axes.
MOST_INSIDE = 6

#: The font size of what is written into a figure, in points.
SMALL = 8.0


def some(names: Iterable[object]) -> str:
    """The first names, and how many there are in all."""
    listed = list(names)
    return choices(listed) if len(listed) <= 8 else f"{choices(listed[:6])}, … ({len(listed)} in all)"


def natural_key(name: object) -> list[tuple[int, int, str]]:
    """A key by which "q10" comes after "q9"."""
    parts = re.split(r"(\d+)", str(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def check_columns(frame: object, columns: list[str], what: str, source: str) -> None:
    if not isinstance(frame, pd.DataFrame):
        raise MultiAspectError(
            f"{what} is a DataFrame as {source} returns, with the columns {choices(columns)}, "
            f"not a {type(frame).__name__}"
        )
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise MultiAspectError(
            f"{what} lacks the column {choices(missing)}; its columns are {choices(frame.columns)} ({source} "
            "returns such a frame)"
        )
    if frame.empty:
        raise MultiAspectError(f"{what} has no rows")


def shorten(text: str, width: int) -> str:
    """Leave out the middle of what is too long; a measure keeps its name and its cutoff."""
    if len(text) <= width:
        return text
    tail = max(width // 3, 4)
    return f"{text[: width - tail - 1]}…{text[-tail:]}"


def distinct(texts: list[str], width: int) -> list[str]:
    """Shorten names, as far as they stay different."""
    longest = max(map(len, texts))
    while width < longest and len({shorten(text, width) for text in texts}) < len(set(texts)):
        width += 4
    return [shorten(text, width) for text in texts]


def wrap(text: str, width: int = 48) -> str:
    """Break a long name after commas, into two lines at the most."""
    text = shorten(text, 2 * width)
    if len(text) <= width:
        return text
    commas = [match.end() for match in re.finditer(",", text)]
    at = min(commas, key=lambda comma: abs(comma - len(text) / 2), default=width)
    return f"{text[:at]}\n{text[at:].lstrip()}"


def fixed(value: float) -> str:
    """Write a correlation with two decimals and a proper minus."""
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


def number_size(area: float, text: str) -> float:
    """The font size of a number in a round marker of this area."""
    return float(np.clip(0.85 * math.sqrt(area) / max(0.62 * len(text), 1.1), 4.5, 10))


def line_style(index: int) -> dict[str, Any]:
    """Colour, line and marker of a category; together they repeat after 28."""
    turn = index // len(_COLOURS)
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _LINES[(index + turn) % len(_LINES)],
        "marker": _MARKERS[(index + turn) % len(_MARKERS)],
    }


def colours_of(name: str, values: Floats) -> npt.NDArray[Any]:
    """The colours a map gives to numbers in [0, 1]."""
    import matplotlib

    return np.asarray(matplotlib.colormaps[name](values))


def readable_on(colour: Sequence[float] | npt.NDArray[Any]) -> str:
    """Black or white, whichever has more contrast to a colour (by WCAG's relative luminance)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in map(float, colour[:3])
    )
    return "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 else "black"


def axes_or_new(ax: object, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError('plots are drawn by matplotlib: pip install "pt-multiaspect[plots]"') from error
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
    if not isinstance(ax, Axes):
        raise MultiAspectError(f"ax is one Axes of matplotlib, as plt.subplots() gives, not a {type(ax).__name__}")
    return ax


def unit_square(label: str, at: tuple[float, float] = (0, 0), **style: Any) -> Any:
    """A unit square, in a legend or on the axes."""
    from matplotlib.patches import Rectangle

    return Rectangle(at, 1, 1, label=label, **style)


def add_legend(ax: Axes, beside: bool, title: str | None = None) -> None:
    """A legend beside or within the axes."""
    n_entries = len(ax.get_legend_handles_labels()[1])
    style: dict[str, Any] = {"loc": "best", "framealpha": 0.85}
    if beside:
        style = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0, "frameon": False}
    size = SMALL if n_entries <= 20 else 6.5
    length = 3 if ax.lines else 1.5
    ax.legend(fontsize=size, title=title, title_fontsize=size, alignment="left", handlelength=length, **style)


def add_colour_bar(
    ax: Axes, image: Any, text: str, ticks: list[float], write: Callable[[float], str] | None = None
) -> None:
    """A colour bar with these ticks, written by `write` or as matplotlib does."""
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02, aspect=18, ticks=ticks)
    if write is not None:
        bar.set_ticks(ticks, labels=[write(tick) for tick in ticks])
    bar.set_label(text, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
