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
    """Return a sort key that puts "q10" after "q9".

    The key has one tuple per part of the name: numbers sort before texts, and by their values.
    """
    key = []
    parts = re.split(r"(\d+)", str(name))  # "q10" has the parts "q", "10" and ""
    for part in parts:
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
    if frame is not None and set(columns) <= set(frame.columns):
        return frame
    if frame is None:
        got = f"a {type(data).__name__}"
    else:
        got = f"the columns {choices(frame.columns)}"
    raise MultiAspectError(
        f"{name}: expected the DataFrame of {source}, with the columns {choices(columns)}, got "
        f"{got}"
    )


def check_result(result: object, kind: type, function: str, title: str = "result: ") -> None:
    """Raise an error unless an object is of the kind that a function of `analysis` returns.

    The error begins with the title.
    """
    if not isinstance(result, kind):
        got = type(result).__name__
        raise MultiAspectError(f"{title}expected the result of analysis.{function}, got a {got}")


def rows_to_label(label: object, names: list[Any], preferred: list[int]) -> list[int]:
    """Return the rows of the systems to label.

    Parameters
    ----------
    label : int or iterable of names
        The number of systems, or their names.
    names : list
        The names of all systems, by row.
    preferred : list of int
        The rows in the order in which a number of them is chosen.
    """
    # True and False are integers in Python, but no numbers of systems.
    if isinstance(label, int | np.integer) and not isinstance(label, bool) and label >= 0:
        return preferred[: int(label)]
    if isinstance(label, str) or not isinstance(label, Iterable):
        raise MultiAspectError(
            f"label: expected a number of systems ≥ 0 or a list of names, got {label!r}"
        )
    distinct_names = list(dict.fromkeys(label))
    refuse_unknown(distinct_names, names, "names of systems", "label")
    return [names.index(name) for name in distinct_names]


def rows_of_pair(pairs: pd.DataFrame, pair: object) -> pd.DataFrame:
    """Return the rows of a pair of runs, in any order, or of all pairs if it is None.

    Two baselines are compared in both orders: the rows are those in the order of `pair`.
    """
    if pair is None:
        return pairs
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise MultiAspectError(f"pair: expected the names of two runs, got {pair!r}")
    first, second = map(str, pair)
    a = pairs["a"].map(str)
    b = pairs["b"].map(str)
    in_order = (a == first) & (b == second)
    if in_order.any():
        return pairs[in_order]
    in_other_order = (a == second) & (b == first)
    if in_other_order.any():
        return pairs[in_other_order]
    compared = choices(pd.unique(pairs[["a", "b"]].to_numpy().ravel()))
    got = choices(sorted([first, second]))
    raise MultiAspectError(
        f"pair: expected two runs that the result compares ({compared}), got {got}"
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
    """Shorten names to a width, or to the next larger one at which they are distinct."""
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
    cuts = [match.end() for match in re.finditer(",", text)]
    if not cuts:
        cuts = [width]
    # After the comma that is nearest to the middle.
    cut = min(cuts, key=lambda position: abs(position - middle))
    first_line = shorten(text[:cut], width)
    second_line = shorten(text[cut:].lstrip(), width)
    return f"{first_line}\n{second_line}"


def format_fixed(value: float) -> str:
    """Format a correlation with two decimals and a minus sign (U+2212)."""
    text = f"{value:.2f}"
    if text == "-0.00":
        return "0.00"
    return text.replace("-", "−")


def line_style(index: int) -> dict[str, Any]:
    """Return colour, line style and marker of a category.

    The seven colours are repeated in rounds, with the same line styles. In each of seven rounds, a
    colour has another of the seven markers, so that combinations repeat after 49 categories.
    """
    n_rounds, position = divmod(index, len(_COLOURS))
    colour = _COLOURS[position]
    if colour == "":  # the colour of texts, which depends on the style
        colour = ink()
    line = _LINES[position % len(_LINES)]
    # The first round has the markers 0, 1, …, 6, the second one 1, 2, …, 6, 0.
    marker_number = (position + n_rounds) % len(_MARKERS)
    marker = _MARKERS[marker_number]
    return {"color": colour, "linestyle": line, "marker": marker}


def colours_of(name: str, values: Floats) -> npt.NDArray[Any]:
    """Return the colours of numbers in [0, 1] on a colour map."""
    import matplotlib

    return np.asarray(matplotlib.colormaps[name](values))


def ink() -> str:
    """Return the colour of texts in matplotlib's current style, black by default."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def paper() -> str:
    """Return the colour of the background of axes in matplotlib's current style."""
    import matplotlib

    return str(matplotlib.rcParams["axes.facecolor"])


def text_colour(colour: Sequence[float] | npt.NDArray[Any]) -> str:
    """Return black or white, whichever has more contrast with a colour.

    The contrast of two colours is (L₁ + 0.05) / (L₂ + 0.05), where L is the relative luminance of
    WCAG, from 0 of black to 1 of white, and L₁ the larger one.
    """
    red, green, blue = map(_linear, colour[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    # At this luminance, both have the same contrast: 1.05 / (L + 0.05) = (L + 0.05) / 0.05.
    if luminance < 0.179:
        return "white"
    return "black"


def _linear(value: float) -> float:
    """Return the linear intensity of a channel of sRGB, as the standard defines it."""
    channel = float(value)
    if channel <= 0.04045:
        return channel / 12.92
    base = (channel + 0.055) / 1.055
    return float(base**2.4)


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
    """Let a function of plots draw names as they are: ``$`` does not begin a formula.

    Formulas that were in the figure before remain formulas.
    """

    @wraps(draw)
    def draw_literally(*args: P.args, **options: P.kwargs) -> Axes:
        """Draw with literal texts."""
        pyplot = import_pyplot()
        # The figure of the axes that users give, if they do: it may have formulas, which remain.
        figure = getattr(options.get("ax"), "figure", None)
        formulas = _find_formulas(figure)
        # Matplotlib parses texts when the plot is drawn, to lay it out. Then, neither its other
        # texts, such as an empty title, nor new ones may be parsed, as they get names.
        _parse_only(formulas, figure)
        with pyplot.rc_context({"text.parse_math": False}):  # for new texts
            result = draw(*args, **options)
        # It parses them again when users show or save the figure. Then, names may not be parsed.
        _keep_literal(result.figure, formulas)
        return result

    return draw_literally


def _texts_of(figure: Any) -> list[Any]:
    """Return all texts of a figure; none without a figure."""
    from matplotlib.text import Text

    if figure is None:
        return []
    texts: list[Any] = figure.findobj(Text)
    return texts


def _find_formulas(figure: Any) -> dict[Any, str]:
    """Return the texts of a figure that have a formula, with their contents."""
    formulas = {}
    for text in _texts_of(figure):
        content = text.get_text()
        if "$" in content:
            formulas[text] = content
    return formulas


def _parse_only(formulas: dict[Any, str], figure: Any) -> None:
    """Let the texts of a figure show ``$`` as it is, except those that have a formula now."""
    for text in _texts_of(figure):
        has_formula = text in formulas
        text.set_parse_math(has_formula)


def _keep_literal(figure: Any, formulas: dict[Any, str]) -> None:
    """Let the names in a figure show ``$`` as it is, when users draw it again.

    `formulas` are the texts that had formulas before the plot was drawn, with their contents then.
    """
    for text in _texts_of(figure):
        content = text.get_text()
        is_earlier_formula = formulas.get(text) == content
        if is_earlier_formula:
            continue
        has_name_with_dollar = "$" in content
        # Texts without one are parsed, as users may set them to formulas later.
        text.set_parse_math(not has_name_with_dollar)


def axes_or_new(
    ax: object, width: float, height: float, *, grid: Literal["both", "x", "y"] | None = None
) -> Axes:
    """Return the given axes, or those of a new figure, with a `grid` in the background."""
    pyplot = import_pyplot()
    from matplotlib.axes import Axes

    if ax is None:
        _, new_axes = pyplot.subplots(figsize=(width, height), layout="constrained")
        new_axes.spines[["top", "right"]].set_visible(False)
        ax = new_axes
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
        gap = 0.04
        return ax.inset_axes((0, -height - gap, 1, height), sharex=ax)
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
    gap = 0.04
    # n panels with n − 1 gaps are as wide as the axes: 1 plus one gap is n times this distance.
    distance = (1 + gap) / n_panels
    panels: list[Axes] = []
    for column in range(n_panels):
        bounds = (column * distance, 0, distance - gap, 1)
        first_panel = None
        if panels:
            first_panel = panels[0]
        panels.append(ax.inset_axes(bounds, sharey=first_panel))
    return panels


def points_of(ax: Axes) -> tuple[float, float]:
    """Return the width and the height of axes in points."""
    extent = ax.get_window_extent()  # in pixels
    dpi = ax.figure.dpi
    width = 72 * extent.width / dpi
    height = 72 * extent.height / dpi
    return width, height


def text_size(ax: Axes, n_rows: int = 1) -> float:
    """Return the font size of labels of axes with so many rows, from 6 to `SMALL` (8) points."""
    width, height = points_of(ax)
    # About 64 characters side by side, as they are half as wide as the font size.
    size_for_width = width / 32
    # A row is a fourth higher than its text.
    size_for_rows = 0.8 * height / n_rows
    size = min(size_for_width, size_for_rows)
    return float(np.clip(size, 6, SMALL))


def add_colour_bar(
    ax: Axes, image: Any, text: str, ticks: list[float], write: Callable[[float], str]
) -> None:
    """Add a colour bar with these ticks, formatted by `write`."""
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02, aspect=18, ticks=ticks)
    bar.set_ticks(ticks, labels=list(map(write, ticks)))
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
    parameters = {
        "pdf.fonttype": 42,  # TrueType instead of Type 3, which publishers refuse
        "svg.fonttype": "none",  # texts, not outlines
        "svg.hashsalt": "pt-multiaspect",  # no random ids
    }
    with pyplot.rc_context(parameters):
        draw()
        pyplot.savefig(content, format=format, dpi=300, metadata=FORMATS[format])
        pyplot.close()
    return content.getvalue()
