"""Plots of the values that rankings attain, by topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from .._typing import Floats, Ints
from .._validation import choice
from ..collection.columns import QUERY_COLUMNS, id_column
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, choices
from ..integration.parsing import read_record
from ..strings.identifiers import identifiers
from . import style
from .labels import add_legend_above, unit_square

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of topics whose names are written.
_MOST_NAMED = 30
#: Minimum difference between bound and value that is drawn.
_VISIBLE = 1e-4
#: The colour of boxes, a quarter of `BLUE`.
_PALE = f"{style.BLUE}40"


@style.with_literal_texts
def upper_bounds(
    ideal: pd.DataFrame | None = None,
    bounds: pd.DataFrame | None = None,
    *,
    sort: str | None = None,
    measure: Measure | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the values of ideal rankings and the maximum attainable value, per topic.

    A box shows the values of all strategies: its edges are the quartiles, the line in it is the
    median, and the whiskers end at the minimum and the maximum.

    Parameters
    ----------
    ideal : DataFrame, optional
        Columns ``qid strategy value``, as `analysis.ideal_values` returns; drawn as boxes. The
        result of `analysis.upper_bound` is also accepted here and used as `bounds`.
    bounds : DataFrame, optional
        Columns ``qid value bound``, as `analysis.upper_bound` returns, for the same topics.
        Diamonds are the best values found. Triangles are upper bounds, drawn where they exceed the
        value by more than 0.0001.
    sort : {'name', 'bound'}, optional
        The order of topics: by name, with numbers compared as numbers, or by bound, highest first
        (by the highest value without `bounds`). By default, by name; more than 30 topics, whose
        names are not written, by bound.
    measure : measure or str, optional
        The measure, for the label of the vertical axis. By default, that of the frames.
    ax : Axes, optional
        Axes to draw on. By default, a new figure, whose width depends on the number of topics.

    Returns
    -------
    Axes
        Topics are at positions 1, 2, … of the horizontal axis, which has their names for up to 30
        topics.

    Raises
    ------
    MultiAspectError
        If neither frame is given, a column is missing, a value is not a finite number, rows are
        duplicated, the frames have different topics or are of different measures, or a frame is
        empty.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM
    2021, Fig. 2.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> rows = [("q1", "sum", 0.9), ("q1", "max", 0.8), ("q2", "sum", 0.7), ("q2", "max", 0.75)]
    >>> ax = plots.upper_bounds(pd.DataFrame(rows, columns=["qid", "strategy", "value"]))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['q1', 'q2']
    """
    choice("sort", None, "name", "bound")(sort)
    ideal = as_pandas(ideal)
    if isinstance(ideal, pd.DataFrame) and "bound" in ideal.columns:
        if bounds is not None:
            raise MultiAspectError(
                "ideal has a column bound, as from analysis.upper_bound: pass it as bounds="
            )
        ideal, bounds = None, ideal
    if ideal is None and bounds is None:
        raise MultiAspectError(
            "expected the result of analysis.ideal_values or analysis.upper_bound, got None"
        )
    if measure is not None:
        title = str(measure)
    else:
        title = _measure_of(ideal, bounds)
    values, maxima = _read_topics(ideal, bounds)
    if maxima is not None:
        best = maxima["bound"].to_dict()
    else:
        best = {qid: max(group) for qid, group in values.items()}
    topics = sorted(map(str, best), key=style.natural_key)
    is_named = len(topics) <= _MOST_NAMED
    by_bound = sort == "bound" or (sort is None and not is_named)
    if by_bound:
        topics.sort(key=lambda qid: -best[qid])
    ticks = np.arange(1, len(topics) + 1)
    width = float(np.clip(1.6 + 0.19 * len(topics), 6.4, 10))
    ax = style.axes_or_new(ax, width, 4.2, grid="y")
    handles: list[Any] = []
    if values:
        handles.append(_draw_boxes(ax, ticks, [values[qid] for qid in topics]))
    if maxima is not None:
        handles += _draw_bounds(ax, ticks, maxima.loc[topics])
    add_legend_above(ax, handles)
    if is_named:
        _write_topics(ax, ticks, topics)
    else:
        ax.set_xticks([])
    ax.set_xlim(0.3, len(topics) + 0.7)
    ax.set_xlabel(_label_of_topics(len(topics), is_named, by_bound))
    if title:
        ax.set_ylabel(style.wrap(title, 34))
    else:
        ax.set_ylabel("value")
    return ax


def _write_topics(ax: Axes, ticks: Ints, topics: list[str]) -> None:
    """Write the names of topics below the axes, upright if there is too little space."""
    longest = max(map(len, topics))
    width = style.SMALL * (0.6 * longest + 1)
    rotation = 0
    if width * len(topics) > style.points_of(ax)[0]:
        rotation = 90
    ax.set_xticks(ticks, topics, rotation=rotation, fontsize=style.SMALL)


def _label_of_topics(n_topics: int, is_named: bool, by_bound: bool) -> str:
    """Return the label of the axis of topics: names or number, and order."""
    if is_named:
        noun = "topic"
    else:
        noun = f"{n_topics} topics"
    if by_bound:
        return f"{noun}, highest bound first"
    if is_named:
        return noun
    return f"{noun}, by name"


def _read_topics(ideal: object, bounds: object) -> tuple[dict[Any, Floats], pd.DataFrame | None]:
    """Return the values of ideal rankings by topic, and the maxima, of the same topics."""
    values: dict[Any, Floats] = {}
    if ideal is not None:
        rows = _values_by_topic(ideal, ["strategy", "value"], ["strategy"], "ideal")
        for qid, group in rows.groupby("topic"):
            values[qid] = group["value"].to_numpy(float)
    if bounds is None:
        return values, None
    maxima = _values_by_topic(bounds, ["value", "bound"], [], "bounds").set_index("topic")
    unshared = set(values) ^ set(maxima.index)
    if values and unshared:
        raise MultiAspectError(
            f"expected the same topics in ideal ({len(values)}) and bounds ({len(maxima)}), got "
            f"{choices(sorted(unshared, key=style.natural_key))} in only one of them"
        )
    return values, maxima


def _measure_of(*frames: object) -> str:
    """Return the measure of frames of the analyses, empty if they have no record of it."""
    label_of: dict[str, str] = {}
    for frame in frames:
        if isinstance(frame, pd.DataFrame):
            for label, definition in read_record(frame).items():
                label_of[str(definition)] = label
    if len(label_of) > 1:
        raise MultiAspectError(
            f"expected ideal and bounds of one measure, got those of {choices(label_of)}"
        )
    return next(iter(label_of.values()), "")


def _draw_boxes(ax: Axes, ticks: Ints, groups: list[Floats]) -> Any:
    """Draw a box for the values of each topic, and return the entry of the legend."""
    ax.boxplot(
        groups,
        positions=ticks.tolist(),
        widths=0.62,
        whis=(0, 100),
        patch_artist=True,
        showfliers=False,
        manage_ticks=False,
        boxprops={"facecolor": _PALE, "edgecolor": style.BLUE, "linewidth": 1},
        medianprops={"color": style.ink(), "linewidth": 1.6},
        whiskerprops={"color": style.BLUE},
        capprops={"color": style.BLUE},
    )
    return unit_square("ideal rankings of all strategies", facecolor=_PALE, edgecolor=style.BLUE)


def _draw_bounds(ax: Axes, ticks: Ints, maxima: pd.DataFrame) -> Iterator[Any]:
    """Draw the best value found for each topic, and the bound where it is higher.

    Yields
    ------
    PathCollection
        The entries of the legend.
    """
    value = maxima["value"].to_numpy(float)
    bound = maxima["bound"].to_numpy(float)
    yield ax.scatter(
        ticks, value, s=20, marker="D", color=style.ORANGE, zorder=4, label="best value found"
    )
    is_higher = bound - value > _VISIBLE
    if is_higher.any():
        yield ax.scatter(
            ticks[is_higher],
            bound[is_higher],
            s=34,
            marker="v",
            facecolors="none",
            edgecolors=style.ink(),
            lw=1.1,
            zorder=3,
            label="proven upper bound, where higher",
        )


def _values_by_topic(data: object, columns: list[str], keys: list[str], name: str) -> pd.DataFrame:
    """Return the checked columns of a frame and a column ``topic``.

    There is one row per topic and `keys`.
    """
    source = {"ideal": "analysis.ideal_values", "bounds": "analysis.upper_bound"}[name]
    frame = style.with_columns(data, columns, name, source)
    qids = id_column(frame, QUERY_COLUMNS[::-1], name)
    result = frame[columns].assign(topic=identifiers(qids, name))
    for column in columns:
        if column not in keys:
            result[column] = _finite_numbers(result, column, name)
    duplicates = result[result.duplicated(["topic", *keys])]
    if len(duplicates):
        first = duplicates.iloc[0]
        where = f"topic {first['topic']}"
        for key in keys:
            where += f" and {key} {first[key]}"
        raise MultiAspectError(
            f"{name}: expected one row per {' and '.join(['topic', *keys])}, got more for {where}"
        )
    return result


def _finite_numbers(rows: pd.DataFrame, column: str, name: str) -> Floats:
    """Return the numbers of a column; all must be finite."""
    parsed = pd.to_numeric(rows[column], errors="coerce")
    numbers: Floats = parsed.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        row = int(wrong[0])
        raise MultiAspectError(
            f"{name}: expected finite numbers, got the {column} {rows[column].iloc[row]} on topic "
            f"{rows['topic'].iloc[row]}"
        )
    return numbers
