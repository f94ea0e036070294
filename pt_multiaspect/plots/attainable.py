"""Plots of the values that rankings attain, by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from .._typing import Floats, Ints
from .._validation import choice
from ..collection.columns import id_column
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
#: The columns that may have the topics. In the opposite order, as qrels name them, `id_column` would
#: advise in its errors on what to do with qrels.
_TOPIC_COLUMNS = ("query_id", "qid")
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
    ideal, bounds = _sort_frames(ideal, bounds)
    if measure is not None:
        measure_name = str(measure)
    else:
        measure_name = _measure_of(ideal, bounds)
    values, maxima = _read_topics(ideal, bounds)
    if maxima is not None:
        best = maxima["bound"].to_dict()
    else:
        best = {topic: max(group) for topic, group in values.items()}
    topics = sorted(map(str, best), key=style.natural_key)
    has_names = len(topics) <= _MOST_NAMED
    is_sorted_by_bound = sort == "bound"
    if sort is None:
        is_sorted_by_bound = not has_names
    if is_sorted_by_bound:
        topics.sort(key=lambda topic: -best[topic])

    width = float(np.clip(1.6 + 0.19 * len(topics), 6.4, 10))
    ax = style.axes_or_new(ax, width, 4.2, grid="y")
    positions = np.arange(1, len(topics) + 1)
    handles: list[Any] = []
    if values:
        groups = [values[topic] for topic in topics]
        handles.append(_draw_boxes(ax, positions, groups))
    if maxima is not None:
        handles += _draw_bounds(ax, positions, maxima.loc[topics])
    add_legend_above(ax, handles)
    if has_names:
        _write_topics(ax, positions, topics)
    else:
        ax.set_xticks([])
    ax.set_xlim(0.3, len(topics) + 0.7)
    ax.set_xlabel(_label_of_topics(len(topics), has_names, is_sorted_by_bound))
    ax.set_ylabel(style.wrap(measure_name or "value", 34))
    return ax


def _sort_frames(ideal: Any, bounds: Any) -> tuple[Any, Any]:
    """Return the frames of ideal rankings and of bounds; one of them may be None.

    Bounds that were passed as ideal rankings, the first argument, are recognized by their columns.
    """
    ideal = as_pandas(ideal)
    if ideal is None and bounds is None:
        raise MultiAspectError(
            "expected the result of analysis.ideal_values or analysis.upper_bound, got None"
        )
    are_bounds = isinstance(ideal, pd.DataFrame) and "bound" in ideal.columns
    if not are_bounds:
        return ideal, bounds
    if bounds is not None:
        raise MultiAspectError(
            "ideal has a column bound, as from analysis.upper_bound: pass it as bounds="
        )
    return None, ideal


def _measure_of(*frames: object) -> str:
    """Return the measure of frames of the analyses, empty if they have no record of it."""
    # Labels by definition: the same measure may have another label in each frame.
    label_of: dict[str, str] = {}
    for frame in frames:
        if not isinstance(frame, pd.DataFrame):
            continue
        for label, definition in read_record(frame).items():
            label_of[str(definition)] = label
    labels = list(label_of.values())
    if len(labels) > 1:
        raise MultiAspectError(
            f"expected ideal and bounds of one measure, got those of {choices(label_of)}"
        )
    if not labels:
        return ""
    return labels[0]


def _read_topics(ideal: object, bounds: object) -> tuple[dict[Any, Floats], pd.DataFrame | None]:
    """Return the values of ideal rankings by topic, and the frame of maxima.

    Without `ideal`, there are no values; without `bounds`, the maxima are None. If both are given,
    they must have the same topics.
    """
    values: dict[Any, Floats] = {}
    if ideal is not None:
        rows = _values_by_topic(ideal, ["strategy"], ["value"], "ideal", "analysis.ideal_values")
        for topic, group in rows.groupby("topic"):
            values[topic] = group["value"].to_numpy(float)
    if bounds is None:
        return values, None
    rows = _values_by_topic(bounds, [], ["value", "bound"], "bounds", "analysis.upper_bound")
    maxima = rows.set_index("topic")
    in_only_one = set(values).symmetric_difference(maxima.index)
    if values and in_only_one:
        named = choices(sorted(in_only_one, key=style.natural_key))
        raise MultiAspectError(
            f"expected the same topics in ideal ({len(values)}) and bounds ({len(maxima)}), got "
            f"{named} in only one of them"
        )
    return values, maxima


def _values_by_topic(
    data: object, keys: list[str], values: list[str], name: str, source: str
) -> pd.DataFrame:
    """Return a frame with a column ``topic``, the columns of `keys` and those of `values`.

    `values` must be finite numbers. Errors name the frame by `name`, and by `source` the function
    that returns it.
    """
    columns = keys + values
    frame = style.with_columns(data, columns, name, source)
    qids = id_column(frame, _TOPIC_COLUMNS, name)
    result = frame[columns].assign(topic=identifiers(qids, name))
    for column in values:
        result[column] = _finite_numbers(result, column, name)
    # Each topic has one row, or one per value of `keys`, such as the strategy.
    _refuse_repeated_rows(result, ["topic", *keys], name)
    return result


def _refuse_repeated_rows(frame: pd.DataFrame, columns: list[str], name: str) -> None:
    """Raise an error if several rows have the same values in the columns."""
    repeated = frame[frame.duplicated(columns)]
    if repeated.empty:
        return
    first = repeated.iloc[0]
    expected = " and ".join(columns)
    got = " and ".join(f"{column} {first[column]}" for column in columns)
    raise MultiAspectError(f"{name}: expected one row per {expected}, got more for {got}")


def _finite_numbers(rows: pd.DataFrame, column: str, name: str) -> Floats:
    """Return the numbers of a column, or raise an error for the first that is not finite."""
    parsed = pd.to_numeric(rows[column], errors="coerce")  # texts become NaN
    numbers: Floats = parsed.to_numpy(dtype=np.float64, na_value=np.nan)
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        value = rows[column][~is_finite].iloc[0]
        topic = rows["topic"][~is_finite].iloc[0]
        raise MultiAspectError(
            f"{name}: expected finite numbers, got the {column} {value} on topic {topic}"
        )
    return numbers


def _draw_boxes(ax: Axes, positions: Ints, groups: list[Floats]) -> Any:
    """Draw a box for the values of each topic, and return the entry of the legend."""
    ax.boxplot(
        groups,
        positions=positions.tolist(),
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


def _draw_bounds(ax: Axes, positions: Ints, maxima: pd.DataFrame) -> list[Any]:
    """Draw the best value found for each topic, and the bound where it is higher.

    Returns
    -------
    list of PathCollection
        The entries of the legend.
    """
    value = maxima["value"].to_numpy(float)
    bound = maxima["bound"].to_numpy(float)
    diamonds = ax.scatter(
        positions,
        value,
        s=20,
        marker="D",
        color=style.ORANGE,
        zorder=4,
        label="best value found",
    )
    is_visibly_higher = bound - value > _VISIBLE
    if not is_visibly_higher.any():
        return [diamonds]
    triangles = ax.scatter(
        positions[is_visibly_higher],
        bound[is_visibly_higher],
        s=34,
        marker="v",
        facecolors="none",
        edgecolors=style.ink(),
        lw=1.1,
        zorder=3,
        label="proven upper bound, where higher",
    )
    return [diamonds, triangles]


def _write_topics(ax: Axes, positions: Ints, topics: list[str]) -> None:
    """Write the names of topics below the axes, upright if there is too little space."""
    longest = max(map(len, topics))
    # A character is about 0.6 times as wide as the font size; one size is kept free between names.
    name_width = style.SMALL * (0.6 * longest + 1)
    axes_width, _ = style.points_of(ax)
    rotation = 0
    if name_width * len(topics) > axes_width:
        rotation = 90
    ax.set_xticks(positions, topics, rotation=rotation, fontsize=style.SMALL)


def _label_of_topics(n_topics: int, has_names: bool, is_sorted_by_bound: bool) -> str:
    """Return the label of the axis of topics, with their order.

    If the axis does not show the names of topics, the label has their number.
    """
    if has_names:
        noun = "topic"
    else:
        noun = f"{n_topics} topics"
    if is_sorted_by_bound:
        return f"{noun}, highest bound first"
    if has_names:  # which show that they are sorted
        return noun
    return f"{noun}, by name"
