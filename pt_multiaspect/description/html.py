"""A description as HTML that needs nothing else: colours follow the page, dark or light, and bars are printed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .scales import records
from .text import MOST_ROWS, bars, dependence, facts, judged_rows, percent, scale, size

if TYPE_CHECKING:
    from .report import Description

#: Everything takes the colour of the text around it, so that it can be read on any ground.
_STYLE = """
.ptma { color: inherit; font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; }
.ptma h3 { font-size: 1.05em; margin: 1.4em 0 .4em; overflow-wrap: anywhere; }
.ptma p { margin: .3em 0; overflow-wrap: anywhere; }
.ptma table { border-collapse: collapse; margin: .3em 0 .6em; background: transparent; font-size: inherit;
  color: inherit; }
.ptma th, .ptma td { padding: .15em .6em; text-align: right; background: transparent; border: 0;
  border-bottom: 1px solid rgba(128, 128, 128, .35); vertical-align: middle; white-space: nowrap;
  font-size: inherit; color: inherit; }
.ptma th { font-weight: 600; }
.ptma .l { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.ptma svg { display: block; }
.ptma rect { fill: currentColor; }
.ptma pre { margin: .2em 0 .3em; padding: .4em .6em; white-space: pre-wrap; overflow-wrap: anywhere;
  background: rgba(128, 128, 128, .14); color: inherit; font: 12px/1.4 ui-monospace, monospace; }
.ptma ol { padding-left: 1.6em; }
.ptma li { margin-bottom: .8em; break-inside: avoid; overflow-wrap: anywhere; }
.ptma .tag { font-size: .8em; font-weight: 600; padding: .1em .45em; border: 1.5px solid currentColor;
  border-radius: .3em; margin-right: .4em; }
.ptma .error { color: #d33; }
.ptma .warning { color: #b36b00; }
.ptma .note { color: #5b84b1; }
.ptma .wide { overflow-x: auto; }
"""


def fragment(description: Description) -> str:
    """The report as an element to put into a page."""
    parts = [
        f"<p>{size(description)}</p>",
        _findings(description.findings),
        *(_aspect(description, row) for row in records(description.per_aspect)),
        _between(description),
        _shares(description),
        _runs(description),
        _measures(description),
    ]
    return f'<div class="ptma"><style>{_STYLE}</style>{"".join(parts)}</div>'


def page(description: Description) -> str:
    """The report as a page of its own."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>Judgments</title>'
        "<style>:root { color-scheme: light dark; } body { margin: 1.5rem; }</style></head>"
        f"<body>{fragment(description)}</body></html>\n"
    )


def _bar(share: float, title: str) -> str:
    width = 0.0 if np.isnan(share) else 160 * share
    return (
        f'<svg width="160" height="11" role="img" aria-label="{escape(title)}">'
        f'<rect width="160" height="11" opacity=".1"/><rect width="{width:.2f}" height="11" opacity=".6"/></svg>'
    )


def _rows(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """A table; cells are HTML already, the first `left` columns are set to the left."""

    def line(cells: list[str], tag: str) -> str:
        marked = [f"<{tag}{' class=l' if at < left else ''}>{cell}</{tag}>" for at, cell in enumerate(cells)]
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(line(row, "td") for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        body += f'<tr><td class=l colspan="{len(head)}">… and {len(rows) - MOST_ROWS} more</td></tr>'
    return f'<div class="wide"><table><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table></div>'


def _findings(found: pd.DataFrame) -> str:
    if found.empty:
        return "<h3>Findings</h3><p>none</p>"
    items = []
    for row in records(found):
        aspects = f"<b>{escape(row.aspects)}</b>: " if row.aspects else ""
        items.append(
            f'<li><span class="tag {row.severity}">{row.severity}</span>{aspects}{escape(row.finding)}'
            f"<pre>{escape(row.remedy)}</pre></li>"
        )
    return f"<h3>Findings</h3><ol>{''.join(items)}</ol>"


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
    table = _rows(["label", "", "documents", "share"], rows)
    return (
        f"<h3>{escape(row.aspect)}</h3><p>{escape(scale(row))}</p><p>{escape(facts(description, row))}</p>{table}"
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
    return f"<h3>Between aspects</h3>{_rows(head, rows, left=2)}"


def _shares(description: Description) -> str:
    if description.distance_shares.empty:
        return ""
    rows = [
        [escape(row.order), escape(row.aspect), _bar(row.share, percent(row.share)), percent(row.share)]
        for row in records(description.distance_shares)
    ]
    table = _rows(["order", "aspect", "", "share"], rows, left=2)
    return (
        "<h3>Share of each aspect in TOMA's distance</h3><p>The mean over judged documents of "
        f"gap<sup>p</sup> / Σ gap<sup>p</sup>; documents at distance 0 are left out.</p>{table}"
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
    return f"<h3>Runs</h3>{_rows(head, rows)}{_rows(['run', 'aspect', *cutoffs], judged, left=2)}"


def _measures(description: Description) -> str:
    if description.measures.empty:
        return ""
    rows = [
        [escape(row.measure), escape(row.aspect), escape(dependence(row))] for row in records(description.measures)
    ]
    return f"<h3>What values depend on</h3>{_rows(['measure', 'aspect', 'depends on'], rows, left=3)}"
