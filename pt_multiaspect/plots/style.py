"""Colours, texts, axes, legends, labels of points and files, shared by the plots."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

import numpy as np
import numpy.typing as npt
import pandas as pd

from .._typing import Floats
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, choices, refuse_unknown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")

#: Okabe and Ito's colours, which colour-blind readers can distinguish; yellow is too light for
#: lines, and black is the colour of texts.
BLUE, ORANGE, GREEN, SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
_COLOURS = (BLUE, ORANGE, GREEN, "#CC79A7", "", "#E69F00", SKY)
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY, LIGHT = "#767676", "#D9D9D9"

#: Font size of labels in a figure, in points.
SMALL = 8.0


def natural_key(name: object) -> list[tuple[int, int, str]]:
    """Return a sort key that puts "q10" after "q9"."""
    key = []
    for part in re.split(r"(\d+)", str(name)):
        if part.isdecimal():
            key.append((0, int(part), ""))
        else:
            key.append((1, 0, part))
    return key


def with_columns(data: object, columns: list[str], name: str, source: str) -> pd.DataFrame:
    """Return a frame of any library as pandas; it must have the columns.

    `name` and `source`, the function that returns the frame, are named in errors.
    """
    frame = to_pandas(data)
    if frame is None or not set(columns) <= set(frame.columns):
        if frame is None:
            got = f"a {type(data).__name__}"
        else:
            got = f"the columns {choices(frame.columns)}"
        raise MultiAspectError(
            f"{name}: expected the DataFrame of {source}, with the columns {choices(columns)}, got "
            f"{got}"
        )
    return frame


def check_result(result: object, kind: type, function: str, title: str = "result: ") -> None:
    """Raise an error that begins with a title for another object than a result of `analysis`."""
    if not isinstance(result, kind):
        raise MultiAspectError(
            f"{title}expected the result of analysis.{function}, got a {type(result).__name__}"
        )


def rows_to_label(label: object, names: list[Any], first: list[int]) -> list[int]:
    """Return the rows of the systems to label: those of names, or a number of the `first` ones."""
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and label >= 0:
        return first[: int(label)]
    if isinstance(label, str) or not isinstance(label, Iterable):
        raise MultiAspectError(
            f"label: expected a number of systems ≥ 0 or a list of names, got {label!r}"
        )
    distinct_names = list(dict.fromkeys(label))
    refuse_unknown(distinct_names, names, "names of systems", "label")
    return [names.index(name) for name in distinct_names]


def rows_of_pair(pairs: pd.DataFrame, pair: object) -> pd.DataFrame:
    """Return the rows of a pair of runs, or of all pairs.

    The pair may be in any order; of two baselines, which are compared in both, the rows have the
    order of the pair.
    """
    if pair is None:
        return pairs
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise MultiAspectError(f"pair: expected the names of two runs, got {pair!r}")
    wanted = list(map(str, pair))
    sides = [list(map(str, names)) for names in pairs[["a", "b"]].to_numpy()]
    for order in (wanted, wanted[::-1]):
        if order in sides:
            return pairs[[names == order for names in sides]]
    names = choices(pd.unique(pairs[["a", "b"]].to_numpy().ravel()))
    raise MultiAspectError(
        f"pair: expected two runs that the result compares ({names}), got {choices(sorted(wanted))}"
    )


def shorten(text: str, width: int) -> str:
    """Replace the middle of a long text by …, so that a measure keeps its name and cutoff."""
    if len(text) <= width:
        return text
    n_last = max(width // 3, 4)
    n_first = width - n_last - 1
    start = text[:n_first]
    end = text[-n_last:]
    return f"{start}…{end}"


def distinct_texts(texts: list[str], width: int) -> list[str]:
    """Shorten names, but keep them distinct."""
    longest = max(map(len, texts))
    n_distinct = len(set(texts))
    shortened = [shorten(text, width) for text in texts]
    while width < longest and len(set(shortened)) < n_distinct:
        width += 4
        shortened = [shorten(text, width) for text in texts]
    return shortened


def difference_text(first: str, second: str) -> str:
    """Return the difference of two runs, in two lines if their names are long."""
    if len(first + second) < 20:
        return f"{first} − {second}"
    return f"{first}\n− {second}"


def wrap(text: str, width: int = 48) -> str:
    """Break a long name after a comma, into at most two lines, which are shortened if necessary."""
    text = shorten(text, 2 * width)
    if len(text) <= width:
        return text
    middle = len(text) / 2
    commas = [match.end() for match in re.finditer(",", text)]
    cut = min(commas, key=lambda comma: abs(comma - middle), default=width)
    first = shorten(text[:cut], width)
    second = shorten(text[cut:].lstrip(), width)
    return f"{first}\n{second}"


def format_fixed(value: float) -> str:
    """Format a correlation with two decimals and a minus sign (U+2212)."""
    text = f"{value:.2f}"
    if text == "-0.00":
        return "0.00"
    return text.replace("-", "−")


def line_style(index: int) -> dict[str, Any]:
    """Return colour, line style and marker of a category.

    The combinations repeat after 28 categories.
    """
    turn = index // len(_COLOURS)
    colour = _COLOURS[index % len(_COLOURS)]
    line = _LINES[(index + turn) % len(_LINES)]
    marker = _MARKERS[(index + turn) % len(_MARKERS)]
    return {"color": colour or ink(), "linestyle": line, "marker": marker}


def colours_of(name: str, values: Floats) -> npt.NDArray[Any]:
    """Return the colours of numbers in [0, 1] on a colour map."""
    import matplotlib

    return np.asarray(matplotlib.colormaps[name](values))


def ink() -> str:
    """Return the colour of what is no category: that of texts in matplotlib's current style."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def paper() -> str:
    """Return the colour of the background of axes in the style of matplotlib that is in use."""
    import matplotlib

    return str(matplotlib.rcParams["axes.facecolor"])


def text_colour(colour: Sequence[float] | npt.NDArray[Any]) -> str:
    """Return black or white, whichever has more contrast with a colour.

    Contrast is that of the relative luminance of WCAG.
    """
    red, green, blue = map(_linear, colour[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    if luminance < 0.179:
        return "white"
    return "black"


def _linear(value: float) -> float:
    """Return the intensity of a colour channel of sRGB."""
    channel = float(value)
    if channel <= 0.04045:
        return channel / 12.92
    return float(((channel + 0.055) / 1.055) ** 2.4)


def import_pyplot() -> Any:
    """Return pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            'plots require matplotlib: pip install "pt-multiaspect[plots]"'
        ) from error
    return pyplot


def with_literal_texts(draw: Callable[P, Axes]) -> Callable[P, Axes]:
    """Let a function of plots draw names as they are: ``$`` does not begin a formula."""

    @wraps(draw)
    def draw_literally(*args: P.args, **options: P.kwargs) -> Axes:
        pyplot = import_pyplot()
        from matplotlib.text import Text

        figure = getattr(options.get("ax"), "figure", None)
        formulas: dict[Any, str] = {}
        if figure is not None:
            for text in figure.findobj(Text):
                content = text.get_text()
                is_formula = "$" in content
                if is_formula:
                    formulas[text] = content
                # The function may draw, and set names in texts that exist.
                text.set_parse_math(is_formula)
        with pyplot.rc_context({"text.parse_math": False}):
            ax = draw(*args, **options)
        for text in ax.figure.findobj(Text):
            content = text.get_text()
            if formulas.get(text) != content:
                text.set_parse_math("$" not in content)  # users may set formulas later
        return ax

    return draw_literally


def axes_or_new(
    ax: object, width: float, height: float, *, grid: Literal["both", "x", "y"] | None = None
) -> Axes:
    """Return the given axes, or those of a new figure, with a `grid` in the background."""
    pyplot = import_pyplot()
    from matplotlib.axes import Axes

    if ax is None:
        drawn: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
        drawn.spines[["top", "right"]].set_visible(False)
        ax = drawn
    if not isinstance(ax, Axes):
        raise MultiAspectError(
            f"ax: expected one matplotlib Axes, as from plt.subplots(), got a {type(ax).__name__}"
        )
    if grid is not None:
        ax.set_axisbelow(True)
        ax.grid(axis=grid, color=ink(), alpha=0.08)
    return ax


def add_axes_below(ax: Axes, height: float) -> Axes:
    """Add axes below `ax` in the same cell of the figure's grid.

    `height` is relative to that of `ax`.
    """
    cell = ax.get_subplotspec()
    figure = ax.get_figure()
    if cell is None or figure is None:  # axes outside a grid
        return ax.inset_axes((0, -height - 0.04, 1, height), sharex=ax)
    cells = cell.subgridspec(2, 1, height_ratios=[1, height], hspace=0.03)
    ax.set_subplotspec(cells[0])
    below: Axes = figure.add_subplot(cells[1], sharex=ax)
    return below


def add_axes_beside(ax: Axes, n_panels: int) -> list[Axes]:
    """Divide the cell of `ax` in the figure's grid into panels side by side.

    They share the vertical axis.
    """
    cell = ax.get_subplotspec()
    figure = ax.get_figure()
    if cell is None or figure is None:
        return _inset_panels(ax, n_panels)
    cells = cell.subgridspec(1, n_panels, wspace=0.05)
    ax.set_subplotspec(cells[0])
    panels = [ax]
    for column in range(1, n_panels):
        panel: Axes = figure.add_subplot(cells[column], sharey=ax)
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
        panel.grid(axis="x", color=ink(), alpha=0.08)
        panel.tick_params(labelleft=False)
        panels.append(panel)
    return panels


def _inset_panels(ax: Axes, n_panels: int) -> list[Axes]:
    """Divide axes outside a grid into panels side by side."""
    ax.set_axis_off()
    width = 1.04 / n_panels
    panels: list[Axes] = []
    for column in range(n_panels):
        bounds = (column * width, 0, width - 0.04, 1)
        if panels:
            panels.append(ax.inset_axes(bounds, sharey=panels[0]))
        else:
            panels.append(ax.inset_axes(bounds))
    return panels


def points_of(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of axes in points."""
    extent = ax.get_window_extent()
    dpi = ax.figure.dpi
    return 72 * extent.width / dpi, 72 * extent.height / dpi


def text_size(ax: Axes, n_rows: int = 1) -> float:
    """Return the font size, 6 to 8 points, of labels of axes with so many rows."""
    width, height = points_of(ax)
    row_height = 0.8 * height / n_rows
    return float(np.clip(min(width / 32, row_height), 6, SMALL))


def add_colour_bar(
    ax: Axes, image: Any, text: str, ticks: list[float], write: Callable[[float], str]
) -> None:
    """Add a colour bar with these ticks, formatted by `write`."""
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02, aspect=18, ticks=ticks)
    bar.set_ticks(ticks, labels=[write(tick) for tick in ticks])
    bar.set_label(text, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)


#: The formats of files, and the metadata without which they would contain the time.
FORMATS: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None},
    "png": {},
    "svg": {"Date": None},
}


def figure_bytes(draw: Callable[[], object], format: str) -> bytes:
    """Return a figure as a file that is the same each time.

    Its text can be searched and edited.

    Parameters
    ----------
    draw : callable
        Draws on a new figure, which is closed.
    format : {'pdf', 'png', 'svg'}
        The format of the file.
    """
    pyplot = import_pyplot()
    pyplot.switch_backend("agg")  # without a window
    content = io.BytesIO()
    # TrueType instead of Type 3, which publishers refuse.
    with pyplot.rc_context(
        {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "pt-multiaspect"}
    ):
        draw()
        pyplot.savefig(content, format=format, dpi=300, metadata=FORMATS[format])
        pyplot.close()
    return content.getvalue()
