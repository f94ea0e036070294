"""The page of a report: HTML with everything inside.

Charts are drawn by Vega-Embed, whose script vl-convert-python contains: 0.9 MB, against 1.3 MB of Bokeh and over 4
MB of Plotly. It draws SVG, which follows the colours of the page when these change, prints as lines, and describes
its marks to screen readers (Bokeh draws on a canvas), and it interprets expressions without `eval`.

Names come from files and are escaped: in HTML by `html.escape`, in JSON by `payload.as_script`, and the script only
sets texts. A policy in the page allows its own two scripts, by their digests, and no connections.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import ir_measures
import numpy as np
import pandas as pd

from .. import __version__, _rendering
from ..aspects.wording import in_words
from ..errors import choices, number_of
from ..evaluation.labels import recorded
from ..explanation.view import decimals
from ..tables.content import places, test_name
from ..tables.heads import Head, heads_of, scales_of
from .figures import Options
from .payload import as_script

if TYPE_CHECKING:
    from .build import Report

__all__ = ["SHORT", "page", "vega"]

#: Names of systems with at most this many characters are not broken.
SHORT = 20


@cache
def _asset(name: str) -> str:
    return (files("pt_multiaspect") / "reporting" / "assets" / name).read_text(encoding="utf-8")


@cache
def vega() -> str:
    """The script of Vega-Embed."""
    try:
        from vl_convert import javascript_bundle
    except ImportError as error:
        raise ImportError(
            'pages of reports require vl-convert-python: pip install "pt-multiaspect[report]"'
        ) from error
    # A script must contain neither the end of its element nor the start of a comment.
    bundle = str(javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def page(report: Report, data: dict[str, Any], options: Options) -> str:
    """Return the page.

    Parameters
    ----------
    report : Report
        What was computed.
    data : dict
        What the script reads.
    options : Options
        How systems are compared.

    Returns
    -------
    str
        HTML.
    """
    scripts = [vega(), _asset("report.js")]
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}; "
        "base-uri 'none'; form-action 'none'"
    )
    heads = heads_of({label: recorded(report.perquery)[label] for label in report.labels})
    sections = [
        _judgments(report),
        _systems(report, data, heads, options),
        _aspects(report, heads),
        _measures(report, heads, options),
        _queries(report, data, heads),
        _definitions(report, heads),
    ]
    shown = [section for section in sections if section]
    links = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title, _ in shown)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>{content}'
        "</section>"
        for name, title, content in shown
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(report.title)}</title>'
        f"<style>{_asset('report.css')}</style></head><body>"
        f"<header><h1>{escape(report.title)}</h1><p>{_summary(report)}</p>{_notes(report.notes)}"
        '<noscript><p class="note">Without JavaScript, the page shows the tables only.</p></noscript></header>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main>{body}</main>'
        f"<footer><p>pt_multiaspect {escape(__version__)}</p></footer>"
        f'<script type="application/json" id="data">{as_script(data)}</script>'
        f"<script>{scripts[0]}</script><script>{scripts[1]}</script></body></html>\n"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _summary(report: Report) -> str:
    counts = {"system": "name", "topic": "qid", "measure": "measure"}
    numbers = [number_of(report.perquery[column].nunique(), noun) for noun, column in counts.items()]
    return ", ".join(numbers)


def _notes(notes: list[str]) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def _judgments(report: Report) -> tuple[str, str, str]:
    description = report.description
    counts = [
        number_of(description.n_documents, "judged document"),
        number_of(description.n_topics, "topic"),
        number_of(len(description.per_aspect), "aspect"),
        number_of(len(description.findings), "finding"),
    ]
    inside = (
        f"<details><summary>Labels, agreement, runs and findings</summary>{description._repr_html_()}</details>"
    )
    return "judgments", "Judgments", f"<p>{', '.join(counts)}</p>{inside}"


def _options_of(names: list[str], selected: int | None = None) -> str:
    return "".join(
        f'<option value="{place}"{" selected" if place == selected else ""}>{escape(name)}</option>'
        for place, name in enumerate(names)
    )


def _head_cell(place: int, head: Head) -> str:
    arrow = ' <span aria-label="lower is better">↓</span>' if head.lower_is_better else ""
    return (
        f'<th scope="col"><button type="button" class="sort" data-column="{place}" title="{escape(head.label)}">'
        f"{escape(head.short)}{arrow}</button></th>"
    )


def _systems(report: Report, data: dict[str, Any], heads: list[Head], options: Options) -> tuple[str, str, str]:
    names = data["runs"]
    controls = [
        '<label class="screen">Filter systems <input type="search" id="filter" autocomplete="off"></label>',
    ]
    if report.comparisons is not None:
        chosen = '<option value="">none</option>' + _options_of(names, data["baseline"])
        controls.append(f'<label>Baseline <select id="baseline">{chosen}</select></label>')
    below = [("ends", f"{100 * options.ci:g} % confidence intervals"), ("p", "p-values"), ("", "nothing")]
    below = [each for each in below if each[0] != "p" or report.comparisons is not None]
    chosen = "".join(f'<option value="{value}">{escape(text)}</option>' for value, text in below)
    controls.append(f'<label class="screen">Below each value <select id="below">{chosen}</select></label>')
    best = [
        places((-1.0 if head.lower_is_better else 1.0) * np.array(data["means"][place], dtype=np.float64))
        for place, head in enumerate(heads)
    ]
    rows = []
    for row, name in enumerate(names):
        cells = []
        for place in range(len(heads)):
            ends = data["ends"][place]
            text = "" if ends is None else f"[{decimals(ends[0][row])}, {decimals(ends[1][row])}]"
            mark = ("", " class=best", " class=second")[best[place][row]]
            value = f"<span{mark}>{decimals(data['means'][place][row])}</span>"
            cells.append(f'<td>{value}<span class="mark"></span><small>{text}</small></td>')
        short = " class=short" if len(name) <= SHORT else ""
        rows.append(f'<tr data-row="{row}"><th scope="row"{short}>{escape(name)}</th>{"".join(cells)}</tr>')
    first = '<th scope="col"><button type="button" class="sort" data-column="-1">System</button></th>'
    head = first + "".join(_head_cell(place, head) for place, head in enumerate(heads))
    table = (
        f'<div class="wide" tabindex="0" role="region" aria-label="Table of systems"><table id="table">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
    notes = ["The best value of each measure is bold, the second best underlined. Select a column head to sort."]
    if report.comparisons is not None:
        test = test_name(options.test, options.family_correction)
        notes.append(
            f"▲ significantly better, ▼ significantly worse than the baseline: {test}, p < {options.alpha:g}, "
            f"{number_of(len(data['queries']), 'topic')}. The comparisons of one measure are a family."
        )
    return (
        "systems",
        "Systems",
        f'<div class="controls">{"".join(controls)}</div><p id="found" class="screen" role="status"></p>{table}'
        + "".join(f"<p class=small>{escape(note)}</p>" for note in notes),
    )


def _aspects(report: Report, heads: list[Head]) -> tuple[str, str, str] | None:
    if len(heads) < 2:
        return None
    places_of = {head.label: place for place, head in enumerate(heads)}
    of_aspects = [places_of[label] for label in report.aspects.values()]
    x, y = (of_aspects + [place for place in range(len(heads)) if place not in of_aspects])[:2]
    names = {label: f"{aspect}: {label}" for aspect, label in report.aspects.items() if aspect not in label}
    texts = [names.get(head.label, head.short) for head in heads]
    chosen = [
        f'<label>{title} <select id="{axis}">{_options_of(texts, place)}</select></label>'
        for title, axis, place in (("Horizontal", "x", x), ("Vertical", "y", y))
    ]
    over_all = ""
    if len(report.aspects) > 1:
        names_of = ", ".join(report.aspects)
        over_all = (
            f"<p>Not dominated on {escape(names_of)} together: {escape(', '.join(report.not_dominated))}.</p>"
        )
    content = (
        f'<div class="controls">{"".join(chosen)}</div><figure><div id="scatter" class="chart"></div>'
        "<figcaption>Each point is a system. A filled diamond is not dominated: no other system is at least as "
        'good on both axes and better on one.</figcaption></figure><p id="front" role="status"></p>' + over_all
    )
    return "aspects", "Aspects", content


def _measures(report: Report, heads: list[Head], options: Options) -> tuple[str, str, str] | None:
    if report.power is None or report.correlations is None:
        return None
    parts = []
    if len(heads) > 1:
        parts.append(f"<h3>Correlation of the system rankings</h3>{_correlations(report.correlations, heads)}")
    short = {head.label: head.short for head in heads}
    rows = [
        [
            escape(short[str(measure)]),
            f'<span class="bar"><span style="width:{100 * power:.2f}%"></span></span>',
            decimals(power),
            f"{found} of {pairs}",
            decimals(needed),
        ]
        for measure, power, found, pairs, needed in report.power.table.itertuples(index=False, name=None)
    ]
    head = ["Measure", "", "Fraction", "Pairs", "Required difference"]
    text = (
        f"Pairs of systems that differ significantly: {test_name(options.test, None)}, p < {options.alpha:g}, not "
        "corrected. The required difference of means is in the units of the measure."
    )
    parts.append(f"<h3>Discriminative power</h3>{_rendering.table(head, rows)}<p class=small>{escape(text)}</p>")
    return "measures", "Measures", "".join(parts)


def _correlations(found: pd.DataFrame, heads: list[Head]) -> str:
    """A table whose cells are shaded by the correlation."""
    values = found.to_numpy(dtype=np.float64)
    head = "".join(f'<th scope="col" title="{escape(each.label)}">{escape(each.short)}</th>' for each in heads)
    rows = []
    for row, each in enumerate(heads):
        cells = []
        for value in values[row].tolist():
            text = "–" if np.isnan(value) else f"{value + 0.0:.2f}".replace("-", "−")
            shade = 0.0 if np.isnan(value) else abs(value)
            side = "minus" if value < 0 else "plus"
            cells.append(f'<td class="{side}" style="--shade:{60 * shade:.0f}%">{text}</td>')
        rows.append(f'<tr><th scope="row">{escape(each.short)}</th>{"".join(cells)}</tr>')
    text = "Kendall’s τ-b of the systems’ means; – if a measure gives all systems the same mean."
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Correlations"><table class="matrix"><thead><tr>'
        f"<td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div><p class=small>{text}</p>"
    )


def _queries(report: Report, data: dict[str, Any], heads: list[Head]) -> tuple[str, str, str]:
    names = data["runs"]
    order = sorted(range(len(names)), key=lambda row: -data["means"][0][row])
    order = order[::-1] if heads[0].lower_is_better else order
    first, second = (order[0], order[1] if len(order) > 1 else None)
    if data["baseline"] is not None and len(order) > 1:
        second = data["baseline"]
        first = next(row for row in order if row != second)
    shorts = [head.short for head in heads]
    chosen = (
        f'<label>Measure <select id="measure">{_options_of(shorts, 0)}</select></label>'
        f'<label>A <select id="a">{_options_of(names, first)}</select></label>'
        f'<label>B <select id="b"><option value="">none</option>{_options_of(names, second)}</select></label>'
    )
    kept, every = len(data["topics"]), len(data["queries"])
    depth = f"The first {number_of(data['depth'], 'rank')} of each ranking"
    extent = f"{depth} are in this page" + (
        "." if kept == every else f", for the {kept} of {every} topics on which the systems differ most."
    )
    content = (
        f'<div class="controls">{chosen}</div><p id="counts" role="status"></p>'
        '<figure><div id="differences" class="chart"></div><figcaption>One bar per topic, sorted by the '
        "difference. Select a bar, or a topic in the table, to compare the rankings.</figcaption></figure>"
        '<div class="wide tall" tabindex="0" role="region" aria-label="Table of topics"><table id="topics"></table>'
        '</div><div id="explanation" tabindex="-1"></div>'
        f"<p class=small>{escape(extent)}</p>"
    )
    return "queries", "Topics", content


def _definition(measure: ir_measures.Measure | None) -> str:
    """Return the printed measure, after what it omits."""
    words = getattr(measure, "in_words", None)
    return f"{'' if words is None else f'{escape(words)}: '}<code>{escape(str(measure))}</code>"


def _scales(report: Report, heads: list[Head]) -> list[tuple[str, str]]:
    """Return the scales of the judgments, then those that measures print by another name."""
    own, per_aspect = report.description.aspects, report.description.per_aspect
    inferred = per_aspect.loc[per_aspect["scale"] == "inferred", "aspect"]
    title = own.name or "Label scales"
    if len(inferred):
        title += f" (inferred from the judgments: {choices(inferred)})"
    others = [scales for scales in scales_of(heads) if scales != own]
    return [(title, in_words(own)), *((str(scales.name), in_words(scales)) for scales in others)]


def _definitions(report: Report, heads: list[Head]) -> tuple[str, str, str]:
    known = recorded(report.perquery)
    rows = [
        f"<dt>{escape(head.short)}</dt><dd>{_definition(known[head.label])}"
        f"{' (lower is better)' if head.lower_is_better else ''}</dd>"
        for head in heads
    ]
    rows += [f"<dt>{escape(title)}</dt><dd>{escape(words)}</dd>" for title, words in _scales(report, heads)]
    return "definitions", "Definitions", f"<dl>{''.join(rows)}</dl>"
