"""A plot of cumulated relative position over ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..errors import MultiAspectError, choices, refuse_none, refuse_unknown
from .legends import add_legend
from .style import GREY, SMALL, axes_or_new, distinct_texts, ink, line_style, paper, with_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def crp_over_ranks(
    curves: pd.DataFrame | Mapping[str, pd.DataFrame], qid: str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot cumulated relative position against rank for one query.

    Parameters
    ----------
    curves : DataFrame or mapping of str to DataFrame
        The result of `pt_multiaspect.crp_curve` for one run, or a mapping of run names to such results.
    qid : str, optional
        The query. Not required if the curves have one query only.
    ax : Axes, optional
        Axes to draw on. By default, a new figure.

    Returns
    -------
    Axes
        The solid line at 0 is the ideal ranking, the dotted one the worst ranking of the same length; the dashed
        line is at rank R, the recall base. Where a curve is below 0, documents are, on balance, ranked too high;
        the circle is at the first rank of its minimum.

    Raises
    ------
    MultiAspectError
        If a column is missing, a frame is empty, the query is unknown, or `qid` is required but not given.
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
    >>> ax = plots.crp_over_ranks({"mine": curve}, "q1")
    >>> ax.lines[0].get_ydata().tolist()
    [-2, -2, -1]
    """
    named = dict(curves) if isinstance(curves, Mapping) else {"": curves}
    refuse_none(named, "curve", "curves")
    chosen, parts = None if qid is None else str(qid), {}
    for name, curve in named.items():
        described = f"the curve of {name}" if name else "a curve"
        curve = with_columns(
            curve, ["qid", "rank", "crp", "worst", "recall_base", "turn_around"], described, "ma.crp_curve"
        )
        qids = curve["qid"].astype(str)
        present = qids.unique().tolist()
        if chosen is None and len(present) > 1:
            raise MultiAspectError(f"{described} has {len(present)} queries: pass one as qid= ({choices(present)})")
        chosen = present[0] if chosen is None else chosen
        refuse_unknown([chosen], present, "queries", described)
        parts[name] = curve[qids == chosen].sort_values("rank")
    texts = distinct_texts([str(name) for name in parts], 40)
    ax = axes_or_new(ax, 9 if len(parts) > 1 else 7.2, 4.0)
    bases: dict[int, list[str]] = {}
    for index, (part, text) in enumerate(zip(parts.values(), texts, strict=True)):
        every = max(1, len(part) // 8)
        ax.plot(
            part["rank"], part["crp"], lw=1.7, ms=5, label=text or None,
            markevery=(index * every // len(parts), every), **line_style(index),
        )  # fmt: skip
        turn = part[part["rank"] == part["turn_around"]]
        ax.scatter(turn["rank"], turn["crp"], 70, facecolor="none", edgecolor=ax.lines[-1].get_color(), zorder=3)
        bases.setdefault(int(part["recall_base"].iloc[0]), []).append(text)
    ax.axhline(0, color=ink(), lw=1, zorder=1)
    for base, names in bases.items():
        ax.axvline(base, color=GREY, lw=1.1, ls="--", zorder=1)
        whose = f" ({', '.join(names)})" if len(bases) > 1 else ""
        ax.annotate(
            f"R = {base}{whose}", (base, 1), (3, -3), xycoords=("data", "axes fraction"), ha="left", va="top",
            textcoords="offset points", fontsize=SMALL, color=ink(), rotation=90 if whose else 0,
            bbox={"facecolor": paper(), "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        )  # fmt: skip
    for worst in {tuple(zip(part["rank"], part["worst"], strict=True)): None for part in parts.values()}:
        ax.plot(*np.transpose(worst), color=GREY, lw=1.1, ls=":", zorder=1, label="_worst")
    ax.set_xlabel("rank")
    ax.set_ylabel("cumulated relative position (ranks)")
    ax.set_title(f"query {chosen}" + (f": {texts[0]}" if len(texts) == 1 and texts[0] else ""), fontsize="medium")
    ax.margins(0.03, 0.1)
    if len(texts) > 1:
        add_legend(ax, True)
    return ax
