"""A description as HTML that needs nothing else: colours follow the page, dark or light, and bars are printed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _rendering
from .._rendering import percent, table
from .scales import records
from .text import BELOW, bars, declared, declared_by, declares, dependence, facts, judged_rows, scale, size

if TYPE_CHECKING:
    from .report import Description


def fragment(description: Description) -> str:
    """The report as an element to put into a page."""
    parts = [
        f"<p>{size(description)}</p>",
        _findings(description),
        *(_aspect(description, row) for row in records(description.per_aspect)),
        _between(description),
        _shares(description),
        _runs(description),
        _measures(description),
    ]
    return _rendering.fragment("".join(parts))


def _bar(share: float, title: str) -> str:
    width = 0.0 if np.isnan(share) else 160 * share
    return (
        f'<svg width="160" height="11" role="img" aria-label="{escape(title)}">'
        f'<rect width="160" height="11" opacity=".1"/><rect width="{width:.2f}" height="11" opacity=".6"/></svg>'
    )


def _findings(description: Description) -> str:
    if description.findings.empty:
        return "<h3>Findings</h3><p>none</p>"
    items, declaring, below = [], [], ""
    for number, row in enumerate(records(description.findings), 1):
        aspects = f"<b>{escape(row.aspects)}</b>: " if row.aspects else ""
        remedy = f"<pre>{escape(row.remedy)}</pre>"
        if declares(description, row):
            declaring.append(number)
            remedy = f"<p>{BELOW}</p>"
        items.append(
            f'<li><span class="tag {row.severity}">{row.severity}</span>{aspects}{escape(row.finding)}{remedy}</li>'
        )
    if declaring:
        lines = escape("\n".join(declared(description, "")))
        below = f"<p>{declared_by(declaring)}:</p><pre>{lines}</pre>"
    return f"<h3>Findings</h3><ol>{''.join(items)}</ol>{below}"


def _aspect(description: Description, row: Any) -> str:
    drawn = bars(description.labels[description.labels["aspect"] == row.aspect])
    most = max((share for _, _, share, _ in drawn), default=0.0) or 1.0
    rows = [
        [
            escape(text) + ("" if kind == "grade" else f" ({kind})"),
            _bar(share / most, f"{text}: {percent(share)}"),
            str(count),
            percent(share),
        ]
        for text, count, share, kind in drawn
    ]
    bars_of = table(["label", "", "documents", "share"], rows)
    return (
        f"<h3>{escape(row.aspect)}</h3><p>{escape(scale(row))}</p><p>{escape(facts(description, row))}</p>{bars_of}"
    )


def _between(description: Description) -> str:
    if description.between.empty:
        return ""
    rows = []
    for row in records(description.between):
        tau = "-" if np.isnan(row.tau) else f"{row.tau:.2f} ({row.topics})"
        counts = [str(row.both), str(row.only_first), str(row.only_second)]
        rows.append([escape(row.first), escape(row.second), *counts, tau])
    head = ["first", "second", "judged on both", "first only", "second only", "τ-b within topics (topics)"]
    return f"<h3>Between aspects</h3>{table(head, rows, left=2)}"


def _shares(description: Description) -> str:
    if description.distance_shares.empty:
        return ""
    rows = [
        [escape(row.order), escape(row.aspect), _bar(row.share, percent(row.share)), percent(row.share)]
        for row in records(description.distance_shares)
    ]
    shares = table(["order", "aspect", "", "share"], rows, left=2)
    return (
        "<h3>Share of each aspect in TOMA's distance</h3><p>The mean over judged documents of "
        f"gap<sup>p</sup> / Σ gap<sup>p</sup>; documents at distance 0 are left out.</p>{shares}"
    )


def _runs(description: Description) -> str:
    if description.runs.empty:
        return ""
    rows = [
        [
            escape(row.name),
            *map(str, (row.topics, row.missed, row.unjudged_topics, row.documents, row.repeated)),
            percent(row.tied),
        ]
        for row in records(description.runs)
    ]
    head = ["run", "topics", "missed", "unjudged topics", "documents", "repeated", "tied scores"]
    cutoffs = [column for column in description.judged_at.columns if column.startswith("judged@")]
    judged = [
        [escape(name), escape(aspect), *map(percent, values)] for name, aspect, values in judged_rows(description)
    ]
    return f"<h3>Runs</h3>{table(head, rows)}{table(['run', 'aspect', *cutoffs], judged, left=2)}"


def _measures(description: Description) -> str:
    if description.measures.empty:
        return ""
    rows = [
        [escape(row.measure), escape(row.aspect), escape(dependence(row))] for row in records(description.measures)
    ]
    return f"<h3>What values depend on</h3>{table(['measure', 'aspect', 'depends on'], rows, left=3)}"
