"""Figures of systems, measures, orders and rankings, drawn by matplotlib.

matplotlib comes with ``pip install "pt-multiaspect[plots]"`` and is imported by the first figure.

Every function draws on the `ax` it is given, and on a new figure otherwise, which is laid out so that
nothing is cut off (``layout="constrained"``). It returns the Axes, so titles, limits and labels can be
changed afterwards; ``ax.figure.savefig(...)`` saves the figure. Legends of many lines stand to the right of
the axes: on an `ax` of one's own, make room by ``plt.subplots(layout="constrained")``.

Categories differ in marker or line style as well as in colour, and matrices have their values written in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from ir_measures import Measure

from .analysis import DiscriminativePower, rank_correlation
from .analysis._frames import Floats, check_between, check_choice, check_count, matrix
from .analysis.correlation import rounded
from .aspects import Aspects, parse_aspects, spell
from .errors import MultiAspectError, choices
from .judgments import QUERY_COLUMNS, Judgments, id_column, identifiers
from .measures import TOMA
from .order import DistanceOrder, Order, gaps_to_best, parse_order
from .rankings import Rankings, run_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "asl_curves",
    "correlation_heatmap",
    "crp_curve",
    "level_sets",
    "profile",
    "systems",
    "upper_bounds",
]

#: Okabe and Ito's colours, told apart by people with any common colour vision; yellow is too light for lines.
_BLUE, _ORANGE, _GREEN, _SKY = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
_COLOURS = (_BLUE, _ORANGE, _GREEN, "#CC79A7", "#000000", "#E69F00", _SKY)
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_GREY, _LIGHT = "#767676", "#D9D9D9"

#: More label tuples than this have no room for their numbers.
_MOST_TUPLES = 441
#: More lines have their legend beside the axes.
_MOST_INSIDE = 6
#: With more ranks, a profile has no room for labels.
_MOST_LABELS = 30

#: Bounds above the value by less are not seen above it.
_VISIBLE = 1e-4

_SMALL = 8.0
"""The font size of what is written into a figure, in points."""


def systems(
    perquery: pd.DataFrame,
    x: Measure | str,
    y: Measure | str,
    ax: Axes | None = None,
    *,
    label: int | Sequence[Hashable] = 5,
) -> Axes:
    """Draw systems by their means of two measures, with Kendall's τ.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. For both measures, greater must be better.
    x, y : measure or str
        Two of the measures in it.
    ax : Axes, optional
        Where to draw; a new figure by default.
    label : int or sequence of names, default 5
        Which systems are named: so many of those that change their rank most between the measures, as far
        as they change it at all, or these. The number after a name is by how many ranks `y` puts
        it higher (↑) or lower (↓) than `x`; ties have their mean rank.

    Returns
    -------
    Axes
        The title has Kendall's τ-b of the means, numbers of systems and of topics.

    Raises
    ------
    MultiAspectError
        If a measure or a name is unknown, or the frame is not as `analysis.correlation` needs it.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    After Fig. 1 and 2 of Zuccon: Understandability Biased Evaluation for Information Retrieval. ECIR 2016.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> scores = {"AP": [0.1, 0.3, 0.2, 0.4], "RR": [0.2, 0.5, 0.6, 0.9]}
    >>> rows = [
    ...     (f"run {n}", qid, measure, score)
    ...     for measure in scores
    ...     for qid in ("q1", "q2")
    ...     for n, score in enumerate(scores[measure])
    ... ]
    >>> ax = plots.systems(pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]), "AP", "RR")
    >>> ax.get_title()
    'Kendall’s τ-b = 0.667 (4 systems, 2 topics)'
    """
    from scipy.stats import rankdata

    values, names, qids, both = _two_measures(perquery, x, y)
    means = values.mean(axis=1)
    ranks = rankdata(-rounded(means), axis=0)
    moves = ranks[:, 0] - ranks[:, 1]
    named = _to_label(label, names, moves)
    tau = rank_correlation(means[:, 0], means[:, 1])
    ax = _axes(ax, 6.4, 5.2)
    ax.set_axisbelow(True)
    ax.grid(color="0.93")
    plain = np.setdiff1d(np.arange(len(names)), named)
    ax.scatter(means[plain, 0], means[plain, 1], s=24, marker="o", color=_GREY, alpha=0.75, linewidths=0)
    colours: dict[int, str] = {}
    for chosen, marker, colour, text in (
        ([i for i in named if moves[i] > 0], "^", _BLUE, "higher rank on the vertical axis"),
        ([i for i in named if moves[i] < 0], "v", "#B24D00", "lower rank on the vertical axis"),
        ([i for i in named if moves[i] == 0], "D", "black", "the same rank on both axes"),
    ):
        if chosen:
            ax.scatter(means[chosen, 0], means[chosen, 1], s=42, marker=marker, color=colour, zorder=3, label=text)
            colours.update(dict.fromkeys(chosen, colour))
    ax.set_xlabel(f"{_wrap(both[0])}\nmean over topics")
    ax.set_ylabel(f"{_wrap(both[1])}\nmean over topics")
    known = "is not defined" if math.isnan(tau) else f"= {tau:.3f}"
    ax.set_title(f"Kendall’s τ-b {known} ({len(names)} systems, {len(qids)} topics)", fontsize="medium")
    ax.margins(0.1)
    if named:
        _legend(ax, False)
        arrows = {1.0: "↑", -1.0: "↓", 0.0: "="}
        texts = [
            f"{_shorten(str(names[i]), 26)} {arrows[float(np.sign(moves[i]))]}"
            + (f"{abs(moves[i]):g}" if moves[i] else "")
            for i in named
        ]
        _annotate(ax, means, dict(zip(named, texts, strict=True)), colours)
    return ax


def level_sets(
    order: DistanceOrder | Order | Measure | str | float,
    aspects: Aspects | Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the order of the label tuples of two aspects.

    Every tuple of labels is a point where the order embeds it: at the values of its grades, on axes of
    equal length if the order has ``axes='equal'``, stretched by the weights. The best is at the top right.
    Axes are drawn to scale, unless one is more than three times as long as the other. Lines connect
    tuples that are equally good. The number in a point is its class, 0 the farthest from the best, or the
    weight that an explicit order gives it. Crosses are tuples that the gate, or an explicit order, excludes.

    Parameters
    ----------
    order : DistanceOrder, Order, TOMA measure, str or float
        What orders tuples. A str or a float is a distance as TOMA takes it.
    aspects : Aspects or mapping, optional
        Two aspects with declared grades, for a distance, or for a measure that has no scales declared.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Ticks stand at the values of the grades, and are named by the grades.

    Raises
    ------
    MultiAspectError
        If there are more or fewer than two aspects, grades are not declared, there are more than 441
        tuples, aspects are missing or given twice, or `order` is nothing that orders tuples.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Fig. 1 of Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021.

    Examples
    --------
    >>> import matplotlib
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> ax = plots.level_sets("manhattan", {"relevance": 3, "correctness": 2})
    >>> sorted({int(text.get_text()) for text in ax.texts})
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
    ordering = _ordering(order, aspects)
    if len(ordering.names) != 2:
        raise MultiAspectError(
            f"level sets are drawn of two aspects, not of {len(ordering.names)}: {choices(ordering.names)}"
        )
    if ordering.n_tuples > _MOST_TUPLES:
        raise MultiAspectError(
            f"{ordering.n_tuples} label tuples are too many to be drawn (at most {_MOST_TUPLES}); "
            f"the scales have {choices(len(scale) for scale in ordering.scales)} grades"
        )
    weights = (getattr(ordering, "weights", None) or {}).copy()
    stretch = [weights.get(name, 1.0) or 1.0 for name in ordering.names]
    gaps = gaps_to_best(ordering.scales, getattr(ordering, "axes", "gains"))
    coordinates = [
        np.array([float(per_grade[0] - gap) * by for gap in per_grade])
        for per_grade, by in zip(gaps, stretch, strict=True)
    ]
    level, excluded = _levels(ordering)
    distinct = sorted(set(level.values()))
    is_new = ax is None
    spans = [max(float(np.ptp(axis)), 1e-9) for axis in coordinates]
    ax = _axes(ax, *(float(np.clip(1.8 + 0.6 * len(scale), 4.4, 9.5)) for scale in ordering.scales))
    equal = max(spans) <= 3 * min(spans)
    if equal:  # distances are to be seen
        ax.set_aspect("equal", adjustable="box" if is_new else "datalim")
    corners = ax.get_window_extent()
    room = [length / (len(scale) + 0.5) for length, scale in zip(corners.size, ordering.scales, strict=True)]
    size = float(np.clip((0.5 * min(room) * 72 / ax.figure.dpi) ** 2, 60, 420))
    colours = _colours("cividis", np.linspace(0, 0.75, len(distinct)))
    where = {grades: (coordinates[0][grades[0]], coordinates[1][grades[1]]) for grades in [*level, *excluded]}
    best = tuple(axis[-1] for axis in coordinates)
    for value, colour in zip(distinct, colours, strict=True):
        points = np.array([where[grades] for grades, of in level.items() if of == value])
        gaps = np.array(best) - points
        points = points[np.lexsort((gaps.sum(axis=1), np.arctan2(gaps[:, 1], gaps[:, 0])))]
        if len(points) > 1:
            ax.plot(points[:, 0], points[:, 1], color=colour, lw=1.6, zorder=1)
        is_best = value == distinct[-1]
        face = colour if is_best else "white"
        ax.scatter(points[:, 0], points[:, 1], s=size, color=face, edgecolors=colour, lw=1.6, zorder=2)
        for across, up in points.tolist():
            ax.text(
                across, up, spell(value), ha="center", va="center", zorder=3,
                color=_readable(colour) if is_best else "black", fontsize=_number_size(size, spell(value)),
            )  # fmt: skip
    if excluded:
        crossed = np.array([where[grades] for grades in excluded])
        ax.scatter(
            crossed[:, 0], crossed[:, 1], s=size / 3, marker="x", color=_GREY, lw=1.2, zorder=2, label="impossible"
        )
        ax.legend(loc="lower left", bbox_to_anchor=(1.01, 0), borderaxespad=0, frameon=False, fontsize=_SMALL)
    for axis, name, scale, at, by in zip(
        (ax.xaxis, ax.yaxis), ordering.names, ordering.scales, coordinates, stretch, strict=True
    ):
        grades_at: dict[float, list[str]] = {}
        for value, grade in zip(at.tolist(), scale.grades.tolist(), strict=True):
            grades_at.setdefault(value, []).append(spell(grade))
        axis.set_ticks(list(grades_at), [", ".join(grades) for grades in grades_at.values()])
        axis.set_label_text(name if by == 1 else f"{name} (weight {spell(by)})")
    ax.margins(*(0.6 / len(scale) for scale in ordering.scales))
    ax.set_title(_order_title(ordering, len(distinct)), fontsize="medium")
    return ax


def upper_bounds(
    ideal: pd.DataFrame,
    ax: Axes | None = None,
    bounds: pd.DataFrame | None = None,
    *,
    sort: str = "name",
    measure: Measure | str | None = None,
) -> Axes:
    """Draw, per topic, which values rankings that are taken for ideal reach.

    A box has the values of all strategies: its edges are the quartiles, the line in it is the median, and
    whiskers go to the least and the greatest value.

    Parameters
    ----------
    ideal : DataFrame
        Columns ``query_id`` (or ``qid``), ``strategy`` and ``value``, as `analysis.ideal_values` returns.
    ax : Axes, optional
        Where to draw; a new figure by default, the wider the more topics there are.
    bounds : DataFrame, optional
        Columns ``query_id`` (or ``qid``), ``value`` and ``bound``, as `analysis.upper_bound` returns, for the
        same topics: diamonds are the best values found, triangles what no ranking can exceed, drawn
        where that is greater by 0.0001 or more.
    sort : {'name', 'bound'}, default 'name'
        The order of topics: by name, numbers in it as numbers, or the greatest bound first (without
        `bounds` the greatest value).
    measure : measure or str, optional
        Whose values they are, to be written on the axis.

    Returns
    -------
    Axes
        Boxes stand at 1, 2, … in the order of the topics.

    Raises
    ------
    MultiAspectError
        If a column is missing, a value is no finite number, a topic has a strategy or a bound twice,
        the two frames have different topics, or a frame is empty.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Fig. 2 of Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021.

    Examples
    --------
    >>> import matplotlib, pandas as pd
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> rows = [("q1", "sum", 0.9), ("q1", "max", 0.8), ("q2", "sum", 0.7), ("q2", "max", 0.75)]
    >>> ax = plots.upper_bounds(pd.DataFrame(rows, columns=["query_id", "strategy", "value"]))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['q1', 'q2']
    """
    check_choice("sort", sort, ("name", "bound"))
    values = _values_by_topic(ideal, ["strategy", "value"], ["strategy"], "ideal")
    groups = {qid: group["value"].to_numpy(float) for qid, group in values.groupby("topic")}
    best: dict[Any, float] = {qid: group.max() for qid, group in groups.items()}
    found: pd.DataFrame | None = None
    if bounds is not None:
        found = _values_by_topic(bounds, ["value", "bound"], [], "bounds").set_index("topic")
        apart = sorted({str(qid) for qid in set(groups) ^ set(found.index)}, key=_natural)
        if apart:
            raise MultiAspectError(
                f"ideal and bounds have the same topics, but {_some(apart)} "
                f"{'is' if len(apart) == 1 else 'are'} in one of them only "
                f"({len(groups)} topics in ideal, {len(found)} in bounds)"
            )
        best = dict(zip(found.index.tolist(), found["bound"].tolist(), strict=True))
    topics = sorted(map(str, groups), key=_natural)
    if sort == "bound":
        topics.sort(key=lambda qid: -best[qid])
    place = np.arange(1, len(topics) + 1)
    ax = _axes(ax, float(np.clip(1.6 + 0.19 * len(topics), 6.4, 24)), 4.2)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color="0.93")
    ax.boxplot(
        [groups[qid] for qid in topics], positions=place.tolist(), widths=0.62, whis=(0, 100), patch_artist=True,
        showfliers=False, manage_ticks=False,
        boxprops={"facecolor": "#BFDDF0", "edgecolor": _BLUE, "linewidth": 1},
        medianprops={"color": "black", "linewidth": 1.6},
        whiskerprops={"color": _BLUE}, capprops={"color": _BLUE},
    )  # fmt: skip
    handles: list[Any] = [_patch("ideal rankings of all strategies", facecolor="#BFDDF0", edgecolor=_BLUE)]
    if found is not None:
        value, bound = (found.loc[topics, column].to_numpy(float) for column in ("value", "bound"))
        handles.append(
            ax.scatter(place, value, s=20, marker="D", color=_ORANGE, zorder=4, label="best value found")
        )
        above = bound - value > _VISIBLE
        if above.any():
            handles.append(
                ax.scatter(
                    place[above], bound[above], s=34, marker="v", facecolors="white", edgecolors="black", lw=1.1,
                    zorder=3, label="proven bound, where it is greater",
                )
            )  # fmt: skip
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(handles), frameon=False,
        fontsize=_SMALL, handletextpad=0.4, columnspacing=1.2, borderaxespad=0.2,
    )  # fmt: skip
    crowded = len(topics) > 12 or max(map(len, topics)) > 5
    ax.set_xticks(place, topics, rotation=90 if crowded else 0, fontsize=_SMALL)
    ax.set_xlim(0.3, len(topics) + 0.7)
    ax.set_xlabel("topic" if sort == "name" else "topic, the greatest bound first")
    ax.set_ylabel("value" if measure is None else _wrap(str(measure), 34))
    return ax


def asl_curves(
    power: DiscriminativePower, ax: Axes | None = None, *, pairs: int | None = None, top: float | None = None
) -> Axes:
    """Draw the achieved significance levels of all pairs of systems, a line per measure.

    Pairs are sorted for each measure by its own levels, the greatest first. The sooner a line falls below
    the dashed one, the more pairs the measure tells apart.

    Parameters
    ----------
    power : DiscriminativePower
        What `analysis.discriminative_power` returns.
    ax : Axes, optional
        Where to draw; a new figure by default.
    pairs : int, optional
        Draw only the first so many pairs of each measure.
    top : float in (0, 1), optional
        The greatest level shown, such as 0.1; all by default.

    Returns
    -------
    Axes
        The legend has the measures by their power, the most discriminative first.

    Raises
    ------
    MultiAspectError
        If `power` is something else, or a parameter is out of range.
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
    >>> scores = {"a": [0.7, 0.9, 0.6, 0.8, 0.7], "b": [0.7, 0.8, 0.7, 0.8, 0.7], "c": [0.1, 0.2, 0.1, 0.2, 0.0]}
    >>> perquery = pd.DataFrame(
    ...     [(name, f"q{n}", "AP", score) for name in scores for n, score in enumerate(scores[name])],
    ...     columns=["name", "qid", "measure", "value"],
    ... )
    >>> ax = plots.asl_curves(discriminative_power(perquery, test="t"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['AP (66.7 %)', 'α = 0.01']
    """
    if not isinstance(power, DiscriminativePower):
        raise MultiAspectError(f"power is what analysis.discriminative_power returns, not a {type(power).__name__}")
    limit = None if pairs is None else check_count("pairs", pairs)
    greatest = None if top is None else check_between("top", top)
    levels = {measure: group["asl"].to_numpy(float) for measure, group in power.curve().groupby("measure")}
    shares = dict(zip(power.table["measure"], power.table["power"], strict=True))
    texts = _distinct([str(measure) for measure in shares], 44)
    beside = len(shares) >= _MOST_INSIDE
    ax = _axes(ax, 10 if beside else 7.2, 4.4)
    n_pairs = 0
    for index, ((measure, share), text) in enumerate(zip(shares.items(), texts, strict=True)):
        level = levels[measure][:limit]
        n_pairs = max(n_pairs, len(level))
        every = max(1, len(level) // 8)
        ax.plot(
            np.arange(1, len(level) + 1), level, lw=1.5, ms=4.5, markevery=(index * every // len(shares), every),
            label=f"{text} ({100 * share:.1f} %)", **_style(index),
        )  # fmt: skip
    corrected = f" (levels before {power.correction})" if power.correction else ""
    ax.axhline(power.alpha, color="black", lw=1, ls=(0, (6, 3)), label=f"α = {power.alpha:g}{corrected}")
    ax.set_xlim(1 - 0.01 * n_pairs, 1.01 * n_pairs)
    ax.set_ylim(0, 1 if greatest is None else greatest)
    ax.set_xlabel("pairs of systems, by descending level")
    ax.set_ylabel(f"achieved significance level ({power.test})")
    _legend(ax, beside, title="measure (pairs discriminated)")
    return ax


def correlation_heatmap(correlations: pd.DataFrame, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw a matrix of correlations between measures, values written in.

    Parameters
    ----------
    correlations : DataFrame
        What `analysis.correlation` returns: a matrix, rows the references, or, with ``confidence``, a
        long frame, whose intervals are then written in too.
    ax : Axes, optional
        Where to draw; a new figure by default, the larger the more measures there are.
    title : str, optional
        The title of the axes, such as "Kendall's τ-b".

    Returns
    -------
    Axes
        The colour bar always goes from −1 to 1. Correlations that are not defined are grey.

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
    texts = _distinct(names, 30)
    side = float(np.clip((0.95 if intervals else 0.62) * len(names), 2.4, 16))
    ax = _axes(ax, side + 3.2, side + 1.4)
    image = ax.imshow(np.ma.masked_invalid(values), cmap="RdBu", vmin=-1, vmax=1, aspect="equal")
    ax.set_facecolor(_LIGHT)
    colours = _colours("RdBu", (np.nan_to_num(values) + 1) / 2)
    room = min(ax.get_window_extent().size) * 72 / ax.figure.dpi / len(names)
    # The five signs of −0.50 are three times as wide as their size; two numbers in brackets twice as wide as one.
    size = float(np.clip(room / (6.5 if intervals else 3.3), 4.5, 10))
    for (row, column), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else _fixed(value)
        if (row, column) in intervals and not np.isnan(value):
            low, high = intervals[row, column]
            text += f"\n[{_fixed(low)}, {_fixed(high)}]"
        ax.text(
            column, row, text, ha="center", va="center", fontsize=size * (0.85 if intervals else 1),
            color="black" if np.isnan(value) else _readable(colours[row, column]),
        )  # fmt: skip
    places = list(range(len(names)))
    upright = max(map(len, texts)) > 14 and len(names) > 6
    turned: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    if upright:
        turned = {"rotation": 90}
    ax.set_xticks(places, texts, fontsize=_SMALL, **turned)
    ax.set_yticks(places, texts, fontsize=_SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    _colour_bar(ax, image, "correlation", [-1, -0.5, 0, 0.5, 1])
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


def crp_curve(
    curves: pd.DataFrame | Mapping[str, pd.DataFrame], qid: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw cumulated relative position over the ranks of one query.

    Parameters
    ----------
    curves : DataFrame or mapping of str to DataFrame
        What `pt_multiaspect.crp_curve` returns, of one run or of several by their names.
    qid : str, optional
        The query; it may be left out if the curves are of one query only.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The solid line at 0 is the ideal ranking, the dashed one stands at R. Curves below 0 have
        documents too early.

    Raises
    ------
    MultiAspectError
        If a column is missing, a frame is empty, or the query is unknown or has to be named.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Angelini et al.: Cumulated Relative Position: A Metric for Ranking Evaluation. CLEF 2012.

    Examples
    --------
    >>> import matplotlib
    >>> import pt_multiaspect as ma
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> curve = ma.crp_curve({"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}, {"q1": {"d1": 1, "d2": 1}})
    >>> ax = plots.crp_curve({"mine": curve}, "q1")
    >>> ax.lines[0].get_ydata().tolist()
    [-2, -2, -1]
    """
    named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    if not named:
        raise MultiAspectError("no curve was given")
    chosen, parts = None if qid is None else str(qid), {}
    for name, curve in named.items():
        what = f"the curve of {name}" if name else "a curve"
        _check_columns(curve, ["qid", "rank", "crp", "recall_base"], what, "ma.crp_curve")
        qids = curve["qid"].astype(str)
        there = qids.unique().tolist()
        if chosen is None and len(there) > 1:
            raise MultiAspectError(f"{what} is of {len(there)} queries; say which by qid: {_some(there)}")
        chosen = there[0] if chosen is None else chosen
        if chosen not in there:
            raise MultiAspectError(f"{what} has no query {chosen}; it has {_some(there)}")
        parts[name] = curve[qids == chosen].sort_values("rank")
    texts = _distinct([str(name) for name in parts], 40)
    ax = _axes(ax, 9 if len(parts) > 1 else 7.2, 4.0)
    bases: dict[int, list[str]] = {}
    for index, (part, text) in enumerate(zip(parts.values(), texts, strict=True)):
        every = max(1, len(part) // 8)
        ax.plot(
            part["rank"], part["crp"], lw=1.7, ms=5, label=text or None,
            markevery=(index * every // len(parts), every), **_style(index),
        )  # fmt: skip
        bases.setdefault(int(part["recall_base"].iloc[0]), []).append(text)
    ax.axhline(0, color="black", lw=1, zorder=1)
    for base, of in bases.items():
        ax.axvline(base, color=_GREY, lw=1.1, ls="--", zorder=1)
        whose = f" ({', '.join(of)})" if len(bases) > 1 else ""
        ax.annotate(
            f"R = {base}{whose}", (base, 1), (3, -3), xycoords=("data", "axes fraction"), ha="left", va="top",
            textcoords="offset points", fontsize=_SMALL, color="0.25", rotation=90 if whose else 0,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        )  # fmt: skip
    ax.set_xlabel("rank")
    ax.set_ylabel("cumulated relative position (ranks)")
    ax.set_title(f"query {chosen}" + (f": {texts[0]}" if len(texts) == 1 and texts[0] else ""), fontsize="medium")
    ax.margins(0.03, 0.1)
    if len(texts) > 1:
        _legend(ax, True)
    return ax


def profile(
    run: object,
    qrels: object,
    qid: str,
    aspects: Aspects | Mapping[str, Any] | Sequence[str] | str | None = None,
    cutoff: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw which grades the documents of a ranking have, rank by rank and aspect by aspect.

    Parameters
    ----------
    run : DataFrame, dict or iterable of namedtuples
        One run.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        Wide qrels, a numeric column per aspect.
    qid : str
        The query.
    aspects : Aspects, mapping, str or sequence of str, optional
        Which aspects, in this order, with or without scales, as measures take them; all by default.
    cutoff : int, default 20
        How many ranks are drawn, if the ranking has as many.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Colours are the place of the grade on its scale, 0 for the worst and 1 for the best; labels are written
        into the cells as far as there is room. Cells that are hatched are not judged.

    Raises
    ------
    MultiAspectError
        If the run or the qrels do not have the query, an aspect is unknown, or input is faulty.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    Table 4 of Lioma, Simonsen, Larsen: Evaluation Measures for Relevance and Credibility in Ranked Lists.
    ICTIR 2017, drawn for all ranks.

    Examples
    --------
    >>> import matplotlib
    >>> from pt_multiaspect import plots
    >>> matplotlib.use("Agg")
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> ax = plots.profile({"q1": {"d1": 3.0, "new": 2.0, "d2": 1.0}}, qrels, "q1")
    >>> ax.images[0].get_array().tolist()
    [[1.0, None, 0.5], [0.0, None, 1.0]]
    """
    n_ranks = check_count("cutoff", cutoff)
    judgments, qid = Judgments.of(qrels), str(qid)
    views = judgments.views(parse_aspects(aspects))
    if qid not in judgments.qids:
        raise MultiAspectError(f"the qrels have no query {qid}; they have {_some(judgments.qids)}")
    frame = run_frame(run)
    of_query = frame[frame["query_id"] == qid]
    if of_query.empty:
        raise MultiAspectError(f"the run has no query {qid}; it has {_some(frame['query_id'].unique())}")
    rankings = Rankings(of_query, judgments)
    layout, query = rankings.top(n_ranks), int(np.flatnonzero(judgments.qids == qid)[0])
    n_ranks = min(n_ranks, int(rankings.layout.n_ret[query]))
    labels = np.full((len(views), n_ranks), np.nan)
    grades = np.full((len(views), n_ranks), np.nan)
    for index, view in enumerate(views):
        rows = layout.row[view.known[layout.row]]
        ranks = layout.rank[view.known[layout.row]] - 1
        labels[index, ranks] = view.label[rows]
        grades[index, ranks] = view.grade[rows] / max(1, len(view.scale) - 1)
    ax = _axes(ax, float(np.clip(3.2 + 0.34 * n_ranks, 5, 15)), 1.5 + 0.42 * len(views))
    image = ax.imshow(np.ma.masked_invalid(grades), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    unjudged = np.argwhere(np.isnan(grades))
    hatched: dict[str, Any] = {"facecolor": "#EEEEEE", "edgecolor": _GREY, "hatch": "////", "linewidth": 0}
    for row, column in unjudged.tolist():
        ax.add_patch(_patch("", at=(column - 0.5, row - 0.5), **hatched))
    colours = _colours("cividis", np.nan_to_num(grades))
    written = [[spell(round(label, 2)) for label in row] for row in labels.tolist()]
    if n_ranks <= _MOST_LABELS and max(len(text) for row in written for text in row) <= 4:
        for row, column in np.argwhere(~np.isnan(grades)).tolist():
            ax.text(
                column, row, written[row][column], ha="center", va="center", fontsize=_SMALL,
                color=_readable(colours[row, column]),
            )  # fmt: skip
    ax.set_xticks(np.arange(0.5, n_ranks - 1), minor=True)
    ax.set_yticks(np.arange(0.5, len(views) - 1), minor=True)
    ax.grid(which="minor", color="white", lw=1.2)
    step = 1 if n_ranks <= _MOST_LABELS else 5 * math.ceil(n_ranks / 100)
    shown = [rank for rank in range(1, n_ranks + 1) if step == 1 or rank == 1 or rank % step == 0]
    ax.set_xticks([rank - 1 for rank in shown], list(map(str, shown)), fontsize=_SMALL)
    ends = [f"{spell(view.scale.grades[0].item())}–{spell(view.scale.grades[-1].item())}" for view in views]
    ax.set_yticks(
        range(len(views)),
        [f"{_shorten(view.name, 28)} ({scale})" for view, scale in zip(views, ends, strict=True)],
    )
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("rank")
    ax.set_title(f"query {qid}", loc="left", fontsize="medium")
    _colour_bar(ax, image, "grade, worst\nto best", [0, 0.5, 1])
    if len(unjudged):
        ax.legend(
            handles=[_patch("not judged", **hatched)], loc="lower right", bbox_to_anchor=(1, 1), frameon=False,
            fontsize=_SMALL, borderaxespad=0.2,
        )  # fmt: skip
    return ax


# -- input ----------------------------------------------------------------------------------


def _two_measures(
    perquery: pd.DataFrame, x: Measure | str, y: Measure | str
) -> tuple[Floats, list[Any], list[Any], tuple[str, str]]:
    """The values systems × topics × (x, y), names, topics, and how the measures are written."""
    both = (str(x), str(y))
    if isinstance(perquery, pd.DataFrame) and list(perquery.columns).count("measure") == 1 and len(perquery):
        written = perquery["measure"].map(str)
        known = written.unique().tolist()
        unknown = [measure for measure in both if measure not in known]
        if unknown:
            raise MultiAspectError(f"the frame has no measure {choices(unknown)}; it has {choices(known)}")
        if both[0] == both[1]:
            raise MultiAspectError(f"x and y are two measures, not {both[0]} twice; the frame has {choices(known)}")
        perquery = perquery.assign(measure=written)[written.isin(both).to_numpy()]
    values, names, qids, measures = matrix(perquery)
    return values[:, :, [measures.index(measure) for measure in both]], names, qids, both


def _to_label(label: int | Sequence[Hashable], names: list[Any], moves: Floats) -> list[int]:
    """The positions of the systems that are named, those that move most first."""
    is_number = isinstance(label, int | np.integer) and not isinstance(label, bool) and label >= 0
    if not is_number and (isinstance(label, str) or not isinstance(label, Iterable)):
        raise MultiAspectError(f"label is a number of systems, at least 0, or a list of names, not {label!r}")
    if isinstance(label, int | np.integer):
        order = np.argsort(-np.abs(moves), kind="stable")[: int(label)]
        return [index for index in order.tolist() if moves[index]]
    unknown = [name for name in label if name not in names]
    if unknown:
        raise MultiAspectError(f"there is no system {choices(unknown)}; there are {_some(names)}")
    return [names.index(name) for name in dict.fromkeys(label)]


def _ordering(order: object, aspects: Aspects | Mapping[str, Any] | None) -> DistanceOrder | Order:
    """What orders tuples, in any form `level_sets` takes."""
    if isinstance(order, DistanceOrder | Order):
        if aspects is not None:
            raise MultiAspectError(f"the order has its aspects already, {choices(order.names)}; leave out aspects")
        return order
    given: dict[str, Any] = {"distance": order}
    if isinstance(order, Measure):
        if not isinstance(order, type(TOMA)):
            raise MultiAspectError(f"level sets are those of TOMA or of an order; {order} orders no label tuples")
        given = {name: order[name] for name in ("distance", "axes", "weights", "gate")}
        declared = order["aspects"]
        if isinstance(declared, Aspects):
            if aspects is not None:
                raise MultiAspectError(
                    f"the measure has its aspects already, {choices(declared)}; leave out aspects"
                )
            aspects = declared
    parsed = given["distance"] = parse_order(given["distance"])
    if isinstance(parsed, Order):
        return parsed
    if not isinstance(aspects, Mapping):
        raise MultiAspectError(
            f"level sets of the distance {parsed} need two aspects with their grades, such as "
            f"aspects={{'relevance': 3, 'credibility': 2}}, not {aspects!r}"
        )
    return DistanceOrder(aspects, **given)


def _levels(ordering: DistanceOrder | Order) -> tuple[dict[tuple[int, ...], float], list[tuple[int, ...]]]:
    """The class, or weight, of every possible tuple of grade indices, and the impossible tuples."""
    tuples = list(product(*(range(len(scale)) for scale in ordering.scales)))
    if isinstance(ordering, DistanceOrder):
        classes = ordering.class_index(np.array(tuples)).tolist()
        gate = None if ordering.gate is None else ordering.names.index(ordering.gate)
        possible = [gate is None or grades[gate] > 0 or not any(grades) for grades in tuples]
        level = {grades: float(of) for grades, of, is_in in zip(tuples, classes, possible, strict=True) if is_in}
    else:
        weighed = ordering.to_dict()
        label_of = [scale.grades.tolist() for scale in ordering.scales]
        labels = {grades: tuple(of[grade] for of, grade in zip(label_of, grades, strict=True)) for grades in tuples}
        level = {grades: weighed[labels[grades]] for grades in tuples if labels[grades] in weighed}
    return level, [grades for grades in tuples if grades not in level]


def _order_title(ordering: DistanceOrder | Order, n_levels: int) -> str:
    classes = f"{n_levels} class{'' if n_levels == 1 else 'es'}"
    if isinstance(ordering, Order):
        return f"{classes} by {ordering.name or 'an explicit order'}, with their weights"
    name = ordering.distance if isinstance(ordering.distance, str) else f"Minkowski (p = {ordering.distance:g})"
    axes = ", equal axes" if ordering.axes == "equal" else ""
    gated = f", gate {ordering.gate}" if ordering.gate else ""
    return f"{classes} by {name.capitalize()} distance{axes}{gated}"


def _values_by_topic(frame: object, columns: list[str], keys: list[str], what: str) -> pd.DataFrame:
    """The columns of a frame, checked, with a column ``topic``; a row per topic and `keys`."""
    source = {"ideal": "analysis.ideal_values", "bounds": "analysis.upper_bound"}[what]
    _check_columns(frame, columns, what, source)
    assert isinstance(frame, pd.DataFrame)
    result = frame[columns].assign(topic=identifiers(id_column(frame, QUERY_COLUMNS[::-1], what), what))
    for column in (column for column in columns if column not in keys):
        numbers = pd.to_numeric(result[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            raise MultiAspectError(
                f"{what} has the {column} {result[column].iloc[int(wrong[0])]} on topic "
                f"{result['topic'].iloc[int(wrong[0])]}, no finite number"
            )
        result[column] = numbers
    twice = result[result.duplicated(["topic", *keys])]
    if len(twice):
        raise MultiAspectError(
            f"{what} has more than one row of topic {twice['topic'].iloc[0]}"
            + "".join(f" and {key} {twice[key].iloc[0]}" for key in keys)
        )
    return result


def _check_columns(frame: object, columns: list[str], what: str, source: str) -> None:
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


def _some(names: Iterable[object]) -> str:
    """The first names, and how many there are in all."""
    listed = list(names)
    return choices(listed) if len(listed) <= 8 else f"{choices(listed[:6])}, … ({len(listed)} in all)"


def _natural(name: object) -> list[tuple[int, int, str]]:
    """A key by which "q10" comes after "q9"."""
    parts = re.split(r"(\d+)", str(name))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


# -- writing and colours --------------------------------------------------------------------


def _shorten(text: str, width: int) -> str:
    """Leave out the middle of what is too long; a measure keeps its name and its cutoff."""
    if len(text) <= width:
        return text
    tail = max(width // 3, 4)
    return f"{text[: width - tail - 1]}…{text[-tail:]}"


def _distinct(texts: list[str], width: int) -> list[str]:
    """Shorten names, as far as they stay different."""
    longest = max(map(len, texts))
    while width < longest and len({_shorten(text, width) for text in texts}) < len(set(texts)):
        width += 4
    return [_shorten(text, width) for text in texts]


def _wrap(text: str, width: int = 48) -> str:
    """Break a long name after commas, into two lines at the most."""
    text = _shorten(text, 2 * width)
    if len(text) <= width:
        return text
    commas = [match.end() for match in re.finditer(",", text)]
    at = min(commas, key=lambda comma: abs(comma - len(text) / 2), default=width)
    return f"{text[:at]}\n{text[at:].lstrip()}"


def _fixed(value: float) -> str:
    """Write a correlation with two decimals and a proper minus."""
    return f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _number_size(area: float, text: str) -> float:
    """The font size of a number in a round marker of this area."""
    return float(np.clip(0.85 * math.sqrt(area) / max(0.62 * len(text), 1.1), 4.5, 10))


def _style(index: int) -> dict[str, Any]:
    """Colour, line and marker of a category; together they repeat after 28."""
    turn = index // len(_COLOURS)
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _LINES[(index + turn) % len(_LINES)],
        "marker": _MARKERS[(index + turn) % len(_MARKERS)],
    }


def _colours(name: str, values: Floats) -> npt.NDArray[Any]:
    """The colours a map gives to numbers in [0, 1]."""
    import matplotlib

    return np.asarray(matplotlib.colormaps[name](values))


def _readable(colour: Sequence[float] | npt.NDArray[Any]) -> str:
    """Black or white, whichever has more contrast to a colour (by WCAG's relative luminance)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in map(float, colour[:3])
    )
    return "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 else "black"


# -- axes -----------------------------------------------------------------------------------


def _axes(ax: object, width: float, height: float) -> Axes:
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


def _patch(label: str, at: tuple[float, float] = (0, 0), **style: Any) -> Any:
    """A unit square, in a legend or on the axes."""
    from matplotlib.patches import Rectangle

    return Rectangle(at, 1, 1, label=label, **style)


def _legend(ax: Axes, beside: bool, title: str | None = None) -> None:
    """A legend beside or within the axes."""
    n_entries = len(ax.get_legend_handles_labels()[1])
    style: dict[str, Any] = {"loc": "best", "framealpha": 0.85}
    if beside:
        style = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0, "frameon": False}
    size = _SMALL if n_entries <= 20 else 6.5
    length = 3 if ax.lines else 1.5
    ax.legend(fontsize=size, title=title, title_fontsize=size, alignment="left", handlelength=length, **style)


def _colour_bar(ax: Axes, image: Any, text: str, ticks: list[float]) -> None:
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02, aspect=18, ticks=ticks)
    bar.set_label(text, fontsize=_SMALL)
    bar.ax.tick_params(labelsize=_SMALL)
    bar.outline.set_visible(False)


def _annotate(ax: Axes, points: Floats, texts: dict[int, str], colours: dict[int, str]) -> None:
    """Name points, each where its name and the line to it hide few other points, names and lines."""
    figure = ax.get_figure()
    assert figure is not None
    figure.canvas.figure.draw_without_rendering()  # that lays the axes out
    scale = 72.0 / figure.dpi
    at = ax.transData.transform(points) * scale
    corners = ax.get_window_extent()
    frame = np.array([corners.x0, corners.y0, corners.x1, corners.y1]) * scale
    height = 1.25 * _SMALL
    boxes: list[Floats] = []
    lines = np.empty((0, 2))
    for index, text in texts.items():
        width = 0.6 * _SMALL * len(text)
        others = at[[other for other in texts if other != index]]
        best = (math.inf, np.zeros(2), "left", np.zeros(4), lines)
        for radius, turn in product((10, 17, 27, 40, 55, 72), range(16)):
            offset = radius * np.array([math.cos(math.pi * turn / 8), math.sin(math.pi * turn / 8)])
            align = "left" if offset[0] > 0.35 * radius else "right" if offset[0] < -0.35 * radius else "center"
            left, middle = at[index] + offset - [{"left": 0, "center": width / 2, "right": width}[align], 0]
            box = np.array([left, middle - height / 2, left + width, middle + height / 2])
            line = at[index] + np.linspace(0.15, 1, 9)[:, None] * offset
            leaves = (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any()
            cost = 0.03 * radius + 40 * leaves + 1.5 * _hits(at, box, 2.5) + 4 * _hits(others, box, 4)
            cost += sum(20 * _overlap(box, other) + 8 * bool(_hits(line, other, 1)) for other in boxes)
            cost += 8 * bool(_hits(lines, box, 1))
            cost += 4 * sum(bool(_hits(line, np.tile(other, 2), 4)) for other in others)
            if cost < best[0]:
                best = cost, offset, align, box, line
        boxes.append(best[3])
        lines = np.vstack([lines, best[4]])
        ax.annotate(
            text, (points[index, 0], points[index, 1]), (best[1][0], best[1][1]), textcoords="offset points",
            fontsize=_SMALL, color=colours[index], ha=best[2], va="center", zorder=4,
            arrowprops={"arrowstyle": "-", "color": colours[index], "lw": 0.7, "shrinkA": 0, "shrinkB": 3},
        )  # fmt: skip


def _hits(points: Floats, box: Floats, margin: float) -> int:
    """How many points are in a box (left, bottom, right, top), or as close to it as the margin."""
    return int(((points > box[:2] - margin) & (points < box[2:] + margin)).all(axis=1).sum())


def _overlap(one: Floats, other: Floats) -> bool:
    """Whether two boxes meet."""
    return bool((one[:2] < other[2:]).all() and (other[:2] < one[2:]).all())
