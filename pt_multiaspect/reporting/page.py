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
from .results import FEWEST_OF_HEAT_MAPS, Results
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
    results: Results,
    robustness: Robustness | None,
    answers: Sequence[Block],
    data: dict[str, Any],
    summary: str,
) -> str:
    """Return the page.

    Parameters
    ----------
    results : Results
        The results.
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
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}; "
        "base-uri 'none'; form-action 'none'"
    )
    return template(asset(__package__, "page.html")).render(
        title=results.title,
        date=results.date,
        summary=summary,
        counts=choices(results.counts),
        notes=results.notes,
        sections=_sections(results, robustness, answers, data),
        names=data["runs"],
        compared=results.tests is not None and data["baseline"] is not None,
        heads=results.heads,
        version=__version__,
        style=asset(_VIEWS, "style.css") + asset(__package__, "report.css"),
        policy=policy,
        data=as_script(data),
        scripts=scripts,
    )


def _sections(
    results: Results,
    robustness: Robustness | None,
    answers: Sequence[Block],
    data: dict[str, Any],
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the name, the title and the template variables of each section that has content."""
    if results.aspects:
        title_of_pairs = "Aspects"
    else:
        title_of_pairs = "Pairs of measures"
    sections = [
        ("robustness", "How far it holds", _robustness_section(robustness)),
        ("judgments", "Judgments", _judgments_section(results)),
        ("answers", "Answers", _answers_section(answers)),
        ("systems", "Systems", _systems_section(results, data)),
        ("means", "Means", {"ci": f"{100 * CI:g}"}),
        ("aspects", title_of_pairs, _aspects_section(results)),
        ("measures", "Measures", _measures_section(results)),
        ("queries", "Topics", _topics_section(results, data)),
        ("definitions", "Definitions", _definitions_section(results)),
    ]
    shown = []
    for name, title, content in sections:
        if content:
            shown.append((name, title, content))
    return shown


def _digest(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return base64.b64encode(digest).decode("ascii")


def _robustness_section(robustness: Robustness | None) -> dict[str, Any] | None:
    """Return the variables of the section How far it holds: the table and its rules."""
    if robustness is None:
        return None
    table = replace(robustness._as_table(), notes=[])
    rules = Items([[Sentence(rule)] for rule in robustness.rules])
    notes = [robustness.notes[0], *robustness._unanswered.values()]
    return {"notes": notes, "table": html_of([table]), "rules": html_of([rules])}


def _judgments_section(results: Results) -> dict[str, Any] | None:
    """Return the variables of the section Judgments: the description and its counts."""
    description = results.description
    if description is None:
        return None
    return {"counts": description._counts(), "description": html_of(description._blocks())}


def _answers_section(answers: Sequence[Block]) -> dict[str, Any] | None:
    """Return the variables of the section Answers."""
    if not answers:
        return None
    return {"view": html_of(answers)}


def _systems_section(results: Results, data: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the section Systems: the table of means and its choices."""
    tested = results.tests is not None
    columns = []
    for row, means in enumerate(data["means"]):
        texts = map(decimals, means)
        columns.append(zip(texts, data["marks"][row], _texts_below(data, row), strict=True))
    below = []
    if results.powered is not None:
        below.append(("powered", "estimates with human judgments"))
    below.append(("ends", f"{100 * CI:g} % confidence intervals"))
    if tested:
        below.append(("p", "p-values"))
    below.append(("", "nothing"))
    against = []
    if tested:
        against.append(_note_on_tests(results, data))
    return {
        "groups": [f"{part['group']} ({part['size']})" for part in (data, *data["groups"])],
        "tested": tested,
        "baseline": data["baseline"],
        "below": below,
        "rows": list(zip(*columns, strict=True)),
        "notes": _notes_on_systems(results, data),
        "against": against,
    }


def _texts_below(data: dict[str, Any], row: int) -> list[str]:
    """Return the texts below the means when the page opens: estimates, or intervals."""
    texts = []
    if data["powered"] is None:
        ends = data["ends"][row]
        if ends is not None:
            for low, high in zip(*ends, strict=True):
                texts.append(interval_text(low, high))
    elif data["powered"][row] is not None:
        for estimate, low, high in zip(*data["powered"][row], strict=True):
            texts.append(f"{decimals(estimate)} {interval_text(low, high)}")
    return texts or [""] * len(data["means"][row])


def _note_on_tests(results: Results, data: dict[str, Any]) -> str:
    """Return what the marks of significance mean, and which comparisons form a family."""
    topics = topics_in_words(results.clusters)
    families = "The comparisons of one measure form a family"
    if data["groups"]:
        topics += " in all"
        families += "; those in all groups are another"
    if results.structure.macro is not None:
        families += ", and those of macro means"
    return (
        f"▲ significantly better, ▼ significantly worse than the baseline: "
        f"{test_name(TEST, CORRECTION)}, p < {ALPHA:g}, {topics}. {families}."
    )


def _notes_on_systems(results: Results, data: dict[str, Any]) -> list[str]:
    """Return what the table of means shows, and what the choice of topics applies to."""
    order = "Systems are in the order given; select a column head to sort."
    marks = "The best values are bold"
    if len(data["runs"]) > 2:
        marks += ", the second best underlined"
    notes = [f"{order} {marks}."]
    if data["groups"]:
        note = (
            "The choice of topics applies to this table, the means, the chart of aspects and the "
            "table of topics; all other figures are over all topics. Groups of one topic have "
            "neither intervals nor tests."
        )
        if results.powered is not None:
            note += " Estimates with human judgments are over all topics only."
        notes.append(note)
    return notes


def _aspects_section(results: Results) -> dict[str, Any] | None:
    """Return the variables of the section Aspects: the two measures that its chart shows first."""
    heads = results.heads
    if len(heads) < 2:
        return None
    labels = [head.label for head in heads]
    of_aspects = [labels.index(label) for label in results.aspects.values()]
    others = [column for column in range(len(heads)) if column not in of_aspects]
    x, y = [*of_aspects, *others][:2]
    texts = {head.label: head.short for head in heads}
    for aspect, label in results.aspects.items():
        if aspect not in label:
            texts[label] = f"{aspect}: {label}"
    return {"x": x, "y": y, "texts": list(texts.values())}


def _measures_section(results: Results) -> dict[str, Any] | None:
    """Return the variables of the section Measures: correlations and discriminative power."""
    if results.tests is None:
        return None
    short = {head.label: head.short for head in results.heads}
    power = results.tests.power.table
    rows: list[Cells] = []
    for measure, fraction, n_different, n_pairs, required in power.itertuples(
        index=False, name=None
    ):
        rows.append(
            [
                short[str(measure)],
                Bar(fraction),
                decimals(fraction),
                f"{n_different} of {n_pairs}",
                decimals(required),
            ]
        )
    columns = [
        Column("Measure", left=True),
        Column("", left=True),
        Column("Fraction"),
        Column("Pairs"),
        Column("Required difference"),
    ]
    correlations = []
    few = ""
    if results.perquery["name"].nunique() < FEWEST_OF_HEAT_MAPS:
        few = f"Correlations are shown for at least {FEWEST_OF_HEAT_MAPS} systems."
    elif len(results.heads) > 1:
        for values in results.tests.correlations.to_numpy(dtype=np.float64).tolist():
            correlations.append(list(map(_correlation_cell, values)))
    about_power = (
        f"Pairs of systems that differ significantly: {test_name(TEST, None)}, p < {ALPHA:g}, not "
        "corrected. The required difference of means is in the units of the measure."
    )
    return {
        "correlations": correlations,
        "few": few,
        "power": html_of([Table(columns, rows, most=len(rows))]),
        "about_power": about_power,
    }


def _correlation_cell(value: float) -> tuple[str, str, str]:
    """Return a correlation as text, its sign as a style, and how much it is shaded."""
    if np.isnan(value):
        return "–", "plus", "0"
    text = fixed_point(value, 2)
    shade = f"{60 * abs(value):.0f}"
    if value < 0:
        return text, "minus", shade
    return text, "plus", shade


def _topics_section(results: Results, data: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the section Topics: the systems compared first, and its extent."""
    main = list(results.measures).index(results.main)
    means = data["means"][main]
    if results.heads[main].lower_is_better:
        sign = 1
    else:
        sign = -1
    order = sorted(range(len(means)), key=lambda row: sign * means[row])
    if len(order) == 1:
        first, second = order[0], None
    elif data["baseline"] is None:
        first, second = order[:2]
    else:
        second = data["baseline"]
        first = next(row for row in order if row != second)
    return {
        "main": main,
        "shorts": [head.short for head in results.heads],
        "first": first,
        "second": second,
        "extent": _extent(data),
        "compared": _name_of_compared(data),
    }


def _extent(data: dict[str, Any]) -> str:
    """Return which ranks of which topics the page has; '' for values without rankings."""
    if not data["depth"]:
        return ""
    extent = f"The first {number_of(data['depth'], 'rank')} of each ranking are in this page"
    n_kept = len(data["topics"])
    n_topics = len(data["queries"])
    if n_kept < n_topics:
        extent += f", for the {n_kept} of {n_topics} topics on which the systems differ most"
    return f"{extent}."


def _name_of_compared(data: dict[str, Any]) -> str:
    """Return what is compared on a topic."""
    if data["depth"]:
        return "the rankings"
    if data["answers"]:
        return "the answers"
    return "the values"


def _definitions_section(results: Results) -> dict[str, Any]:
    """Return the variables of the section Definitions: measures, and one table of label scales.

    Measures are printed without scales that the table contains.
    """
    titles = _titles_of_scales(results)
    of_answers = labels_of_answers({**results.measures, **results.directions})
    measures = []
    unknown = []
    for head in results.heads:
        measure = results.measures[head.label]
        if measure is None:
            unknown.append(head.short)
            continue
        printed, where = _without_scales(measure, head.short, titles)
        is_of_criteria = head.label in of_answers
        definition = sentence(printed, is_of_criteria)
        parameters = details(printed, is_of_criteria)
        base = _unprinted_base(printed)
        measures.append((head, base, definition, parameters, str(printed), where))
    scales = ""
    if titles:
        scales = html_of([_scales_table(titles)])
    return {
        "measures": measures,
        "unknown": unknown,
        "scales": scales,
        "record": html_of([_record_table(results)]),
    }


def _titles_of_scales(results: Results) -> dict[Aspects, str]:
    """Return the title of the scales of all measures, if there are any."""
    description = results.description
    if description is not None:
        title = description.aspects.name or "Label scales"
        per_aspect = description.per_aspect
        inferred = per_aspect.loc[per_aspect["scale"] == "inferred", "aspect"]
        if len(inferred):
            title += f" (inferred from the judgments: {choices(inferred)})"
        return {description.aspects: title}
    if results.scales is not None:
        return {results.scales: results.scales.name or "Label scales"}
    return {}


def _without_scales(measure: Any, short: str, titles: dict[Aspects, str]) -> tuple[Any, str]:
    """Return a measure without its scales, and which they are, unless they are the first.

    Scales that are not known get a title.
    """
    scales = getattr(measure, "params", {}).get("aspects")
    if not isinstance(scales, Aspects):
        return measure, ""
    known = next((known for known in titles if _has_scales(known, scales)), None)
    if known is None:
        titles[scales] = scales.name or f"Scales of {short}"
        known = scales
    if scales.name is None:
        names: str | None = ",".join(scales)
        if list(scales) == list(known) or measure.one_aspect:
            names = None
        measure = measure(aspects=names)
    if known is next(iter(titles)):
        return measure, ""
    return measure, f" on the scales “{titles[known]}”"


def _scales_table(titles: dict[Aspects, str]) -> Table:
    """Return the table of the grades of each aspect."""
    rows: list[Cells] = []
    for scales, title in titles.items():
        shown_title = title
        for name, aspect in scales.items():
            grades = in_words({name: aspect}).removeprefix(f"{name} ")
            rows.append([shown_title, name, grades])
            shown_title = ""  # only in its first row
    columns = [
        Column("Scales", left=True),
        Column("Aspect", left=True),
        Column("Grades, lowest first", left=True),
    ]
    return Table(columns, rows, most=len(rows))


def _record_table(results: Results) -> Table:
    """Return the table of versions, measures and options."""
    rows: list[Cells] = [[name, value] for name, value in record_rows(results)]
    return Table([Column("Name", left=True), Column("Value", left=True)], rows, most=len(rows))


def _unprinted_base(measure: Any) -> str | None:
    """Return the base and the aspect of a measure on one aspect, which its text may omit."""
    aspect = getattr(measure, "one_aspect", None)
    if aspect is None:
        return None
    return f"{measure.bases.one.text} on {aspect}"


def _has_scales(known: Aspects, scales: Aspects) -> bool:
    """Return whether scales are among known ones, under the same name if they have one."""
    same = all(known.get(name) == aspect for name, aspect in scales.items())
    return same and scales.name in (None, known.name)
