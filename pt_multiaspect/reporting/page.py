"""The page of a report: self-contained HTML.

Charts are drawn by Vega-Embed, whose script is part of vl-convert-python (0.9 MB, compared with 1.3
MB of Bokeh and over 4 MB of Plotly). It draws SVG, which adapts to changing colours of the page,
prints as lines, and describes its marks to screen readers (Bokeh draws on a canvas), and it
interprets expressions without `eval`.

Names come from files and are escaped: in HTML by Jinja2, in JSON by `payload.as_script`; the script
only sets texts. A policy in the page allows its own two scripts, by their digests, and no
connections.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from .._version import __version__
from ..analysis.robustness import Robustness
from ..aspects import Aspects
from ..aspects.aspects import in_words
from ..errors import choices, number_of
from ..evaluation.long_frames import labels_of_answers
from ..evaluation.topic_clusters import topics_in_words
from ..measures.definitions import details, sentence
from ..tables.content import test_name
from ..views import (
    Bar,
    Block,
    Cells,
    Column,
    Items,
    Sentence,
    Table,
    asset,
    decimals,
    fixed_point,
    html_of,
    interval_text,
    template,
)
from .payload import as_script
from .record import record_rows
from .results import FEWEST_OF_HEAT_MAPS, Figures
from .settings import ALPHA, CI, CORRECTION, TEST

_VIEWS = "pt_multiaspect.views"


@cache
def vega() -> str:
    """Return the script of Vega-Embed."""
    try:
        from vl_convert import javascript_bundle
    except ImportError as error:
        raise ImportError(
            'pages of reports require vl-convert-python: pip install "pt-multiaspect[report]"'
        ) from error
    # A script must contain neither the end of its element nor the start of a comment.
    bundle = str(javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def page(
    figures: Figures,
    robustness: Robustness | None,
    answers: Sequence[Block],
    data: dict[str, Any],
    summary: str,
) -> str:
    """Return the page.

    Parameters
    ----------
    figures : Figures
        The figures.
    robustness : Robustness or None
        What the difference depends on that the summary states.
    answers : sequence of Block
        The content of the section on answers and judges.
    data : dict
        The data for the script, see `payload`.
    summary : str
        What the report found, in a few sentences.

    Returns
    -------
    str
        The HTML of the page.
    """
    scripts = [vega(), asset(__package__, "report.js")]
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    sections = [
        ("robustness", "How far it holds", _robustness_section(robustness)),
        ("judgments", "Judgments", _judgments_section(figures)),
        ("answers", "Answers", {"view": html_of(answers)} if answers else None),
        ("systems", "Systems", _systems_section(figures, data)),
        ("means", "Means", {"ci": f"{100 * CI:g}"}),
        (
            "aspects",
            "Aspects" if figures.aspects else "Pairs of measures",
            _aspects_section(figures),
        ),
        ("measures", "Measures", _measures_section(figures)),
        ("queries", "Topics", _topics_section(figures, data)),
        ("definitions", "Definitions", _definitions_section(figures)),
    ]
    return template(asset(__package__, "page.html")).render(
        title=figures.title,
        date=figures.date,
        summary=summary,
        counts=choices(figures.counts),
        notes=figures.notes,
        sections=[section for section in sections if section[2]],
        names=data["runs"],
        compared=figures.tests is not None and data["baseline"] is not None,
        heads=figures.heads,
        version=__version__,
        style=asset(_VIEWS, "style.css") + asset(__package__, "report.css"),
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}; "
        "base-uri 'none'; form-action 'none'",
        data=as_script(data),
        scripts=scripts,
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _robustness_section(robustness: Robustness | None) -> dict[str, Any] | None:
    """Return the template variables of the section How far it holds: the table of robustness, and its rules."""
    if robustness is None:
        return None
    table = replace(robustness._as_table(), notes=[])
    rules = Items([[Sentence(rule)] for rule in robustness.rules])
    notes = [robustness.notes[0], *robustness._unanswered.values()]
    return {"notes": notes, "table": html_of([table]), "rules": html_of([rules])}


def _judgments_section(figures: Figures) -> dict[str, Any] | None:
    """Return the template variables of the section Judgments: the numbers of documents and the description."""
    description = figures.description
    if description is None:
        return None
    return {"counts": description._counts(), "description": html_of(description._blocks())}


def _systems_section(figures: Figures, data: dict[str, Any]) -> dict[str, Any]:
    """Return the template variables of the section Systems: the table of means, and the choices of its reader."""
    tested = figures.tests is not None
    columns = []
    for row, (means, marks, ends) in enumerate(
        zip(data["means"], data["marks"], data["ends"], strict=True)
    ):
        texts = [""] * len(means)
        if data["powered"] is not None and data["powered"][row] is not None:
            powered = zip(*data["powered"][row], strict=True)
            texts = [f"{decimals(mean)} {interval_text(low, high)}" for mean, low, high in powered]
        elif ends is not None and data["powered"] is None:
            texts = [interval_text(low, high) for low, high in zip(*ends, strict=True)]
        columns.append(zip(map(decimals, means), marks, texts, strict=True))
    if figures.powered is None:
        below = []
    else:
        below = [("powered", "estimates with human judgments")]
    below += [("ends", f"{100 * CI:g} % confidence intervals"), ("p", "p-values"), ("", "nothing")]
    second = ", the second best underlined" if len(data["runs"]) > 2 else ""
    notes = [
        (
            "Systems are in the order given; select a column head to sort. The best values are "
            f"bold{second}."
        )
    ]
    against = []
    if tested:
        in_all = " in all" if data["groups"] else ""
        another = "; those in all groups are another" if data["groups"] else ""
        if figures.structure.macro is not None:
            another += ", and those of macro means"
        against.append(
            f"▲ significantly better, ▼ significantly worse than the baseline: "
            f"{test_name(TEST, CORRECTION)}, p < {ALPHA:g}, "
            f"{topics_in_words(figures.clusters)}{in_all}. "
            f"The comparisons of one measure form a family{another}."
        )
    if data["groups"]:
        notes.append(
            "The choice of topics applies to this table, the means, the chart of aspects and the "
            "table of topics; "
            "all other figures are over all topics. Groups of one topic have neither intervals nor "
            "tests."
            + (
                ""
                if figures.powered is None
                else " Estimates with human judgments are over all topics only."
            )
        )
    return {
        "groups": [f"{part['group']} ({part['size']})" for part in (data, *data["groups"])],
        "tested": tested,
        "baseline": data["baseline"],
        "below": [(value, text) for value, text in below if value != "p" or tested],
        "rows": list(zip(*columns, strict=True)),
        "notes": notes,
        "against": against,
    }


def _aspects_section(figures: Figures) -> dict[str, Any] | None:
    """Return the template variables of the section Aspects: the two measures that its chart shows first."""
    heads = figures.heads
    if len(heads) < 2:
        return None
    labels = [head.label for head in heads]
    aspect_columns = [labels.index(label) for label in figures.aspects.values()]
    x, y = (
        aspect_columns + [column for column in range(len(heads)) if column not in aspect_columns]
    )[:2]
    names = {
        label: f"{aspect}: {label}"
        for aspect, label in figures.aspects.items()
        if aspect not in label
    }
    return {
        "x": x,
        "y": y,
        "texts": [names.get(head.label, head.short) for head in heads],
    }


def _measures_section(figures: Figures) -> dict[str, Any] | None:
    """Return the template variables of the section Measures: correlations and discriminative power."""
    if figures.tests is None:
        return None
    heads = figures.heads
    short = {head.label: head.short for head in heads}
    rows: list[Cells] = [
        [
            short[str(measure)],
            Bar(power),
            decimals(power),
            f"{n_different} of {n_pairs}",
            decimals(required),
        ]
        for measure, power, n_different, n_pairs, required in figures.tests.power.table.itertuples(
            index=False, name=None
        )
    ]
    columns = [Column("Measure", left=True), Column("", left=True)]
    columns += [Column(head) for head in ("Fraction", "Pairs", "Required difference")]
    correlations = figures.tests.correlations.to_numpy(dtype=np.float64).tolist()
    few = figures.perquery["name"].nunique() < FEWEST_OF_HEAT_MAPS
    return {
        "correlations": []
        if few or len(heads) < 2
        else [list(map(_correlation_cell, row)) for row in correlations],
        "few": f"Correlations are shown for at least {FEWEST_OF_HEAT_MAPS} systems." if few else "",
        "power": html_of([Table(columns, rows, most=len(rows))]),
        "about_power": f"Pairs of systems that differ significantly: {test_name(TEST, None)}, "
        f"p < {ALPHA:g}, not corrected. The required difference of means is in the units of the "
        "measure.",
    }


def _correlation_cell(value: float) -> tuple[str, str, str]:
    """Return a correlation as text, its sign as a style, and how much it is shaded."""
    if np.isnan(value):
        return "–", "plus", "0"
    return fixed_point(value, 2), "minus" if value < 0 else "plus", f"{60 * abs(value):.0f}"


def _topics_section(figures: Figures, data: dict[str, Any]) -> dict[str, Any]:
    """Return the template variables of the section Topics: the systems that it compares first, and its extent."""
    main = list(figures.measures).index(figures.main)
    if figures.heads[main].lower_is_better:
        sign = 1
    else:
        sign = -1
    order = sorted(range(len(data["runs"])), key=lambda row: sign * data["means"][main][row])
    first, second = order[0], order[1] if len(order) > 1 else None
    if data["baseline"] is not None and len(order) > 1:
        second = data["baseline"]
        first = next(row for row in order if row != second)
    n_kept, n_topics = len(data["topics"]), len(data["queries"])
    extent = f"The first {number_of(data['depth'], 'rank')} of each ranking are in this page"
    if n_kept < n_topics:
        extent += f", for the {n_kept} of {n_topics} topics on which the systems differ most"
    return {
        "main": main,
        "shorts": [head.short for head in figures.heads],
        "first": first,
        "second": second,
        "extent": f"{extent}." if data["depth"] else "",
        "compared": "the rankings"
        if data["depth"]
        else "the answers"
        if data["answers"]
        else "the values",
    }


def _definitions_section(figures: Figures) -> dict[str, Any]:
    """Return the template variables of the section Definitions: measures, and one table of the scales of aspects.

    Measures are printed without scales that the table contains.
    """
    description = figures.description
    titles: dict[Aspects, str] = {}
    if description is not None:
        per_aspect = description.per_aspect
        inferred = per_aspect.loc[per_aspect["scale"] == "inferred", "aspect"]
        title = description.aspects.name or "Label scales"
        titles[description.aspects] = title + (
            f" (inferred from the judgments: {choices(inferred)})" if len(inferred) else ""
        )
    elif figures.scales is not None:
        titles[figures.scales] = figures.scales.name or "Label scales"
    measures, of_answers = [], labels_of_answers({**figures.measures, **figures.directions})
    for head in figures.heads:
        measure, of_criteria = figures.measures[head.label], head.label in of_answers
        scales = getattr(measure, "params", {}).get("aspects")
        where = ""
        if isinstance(scales, Aspects):
            known = next((known for known in titles if _has_scales(known, scales)), None)
            if known is None:
                titles[scales] = scales.name or f"Scales of {head.short}"
                known = scales
            if scales.name is None:
                if list(scales) == list(known) or measure.one_aspect:
                    names = None
                else:
                    names = ",".join(scales)
                measure = measure(aspects=names)
            if known is next(iter(titles)):
                where = ""
            else:
                where = f" on the scales “{titles[known]}”"
        if measure is not None:
            words = sentence(measure, of_criteria), details(measure, of_criteria)
            measures.append((head, _unprinted_base(measure), *words, str(measure), where))
    rows = [
        [title if position == 0 else "", name, in_words({name: aspect}).removeprefix(f"{name} ")]
        for scales, title in titles.items()
        for position, (name, aspect) in enumerate(scales.items())
    ]
    columns = [Column(head, left=True) for head in ("Scales", "Aspect", "Grades, lowest first")]
    return {
        "measures": measures,
        "unknown": [head.short for head in figures.heads if figures.measures[head.label] is None],
        "scales": html_of([Table(columns, rows, most=len(rows))]) if rows else "",
        "record": html_of([_record_table(figures)]),
    }


def _record_table(figures: Figures) -> Table:
    """Return the table of versions, measures and options."""
    rows: list[Cells] = [[name, value] for name, value in record_rows(figures)]
    return Table([Column("Name", left=True), Column("Value", left=True)], rows, most=len(rows))


def _unprinted_base(measure: Any) -> str | None:
    """Return the base and the aspect of a measure on one aspect, whose text may omit them as defaults."""
    aspect = getattr(measure, "one_aspect", None)
    if aspect is None:
        return None
    return f"{measure.bases.one.text} on {aspect}"


def _has_scales(known: Aspects, scales: Aspects) -> bool:
    """Return whether scales are among known ones, under the same name if they have one."""
    same = all(known.get(name) == aspect for name, aspect in scales.items())
    return same and scales.name in (None, known.name)
