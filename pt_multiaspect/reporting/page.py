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
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._version import __version__
from ..analysis.robustness import Robustness
from ..aspects import Aspects
from ..aspects.aspects import scales_in_words
from ..errors import choices, number_of
from ..evaluation.long_frames import labels_of_answers
from ..evaluation.topic_clusters import topics_in_words
from ..measures.definitions import details, sentence
from ..tables.content import Head, test_name
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
    bundle = str(javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    # A script must contain neither the end of its element nor the start of a comment.
    bundle = bundle.replace("</script", "<\\/script")
    return bundle.replace("<!--", "<\\!--")


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
    compares_with_baseline = results.tests is not None and data["baseline"] is not None
    page_template = template(asset(__package__, "page.html"))
    return page_template.render(
        title=results.title,
        date=results.date,
        summary=summary,
        counts=choices(results.counts),
        notes=results.notes,
        sections=_sections(results, robustness, answers, data),
        names=data["runs"],
        compared=compares_with_baseline,
        heads=results.heads,
        version=__version__,
        style=asset(_VIEWS, "style.css") + asset(__package__, "report.css"),
        policy=_content_policy(scripts),
        data=as_script(data),
        scripts=scripts,
    )


def _content_policy(scripts: Sequence[str]) -> str:
    """Return the content security policy of the page, which allows these scripts only."""
    sources = []
    for script in scripts:
        digest = _digest(script)
        sources.append(f"'sha256-{digest}'")
    allowed_scripts = " ".join(sources)
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src {allowed_scripts}; base-uri 'none'; form-action 'none'"
    )


class _Section(NamedTuple):
    """A section of the page; without variables, it is left out."""

    name: str
    title: str
    #: The template variables.
    content: dict[str, Any] | None


def _sections(
    results: Results,
    robustness: Robustness | None,
    answers: Sequence[Block],
    data: dict[str, Any],
) -> list[_Section]:
    """Return the sections that have content."""
    title_of_pairs = "Pairs of measures"
    if results.aspects:
        title_of_pairs = "Aspects"
    sections = [
        _Section("robustness", "How far it holds", _robustness_section(robustness)),
        _Section("judgments", "Judgments", _judgments_section(results)),
        _Section("answers", "Answers", _answers_section(answers)),
        _Section("systems", "Systems", _systems_section(results, data)),
        _Section("means", "Means", {"ci": f"{100 * CI:g}"}),
        _Section("aspects", title_of_pairs, _aspects_section(results)),
        _Section("measures", "Measures", _measures_section(results)),
        _Section("queries", "Topics", _topics_section(results, data)),
        _Section("definitions", "Definitions", _definitions_section(results)),
    ]
    return [section for section in sections if section.content]


def _digest(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return base64.b64encode(digest).decode("ascii")


def _robustness_section(robustness: Robustness | None) -> dict[str, Any] | None:
    """Return the variables of the section How far it holds: the table and its rules."""
    if robustness is None:
        return None
    # The page has the notes outside the table: the first one, and what could not be examined.
    table = replace(robustness._as_table(), notes=[])
    unanswered = robustness._unanswered.values()
    notes = [robustness.notes[0], *unanswered]
    rules = []
    for rule in robustness.rules:
        rules.append([Sentence(rule)])
    return {"notes": notes, "table": html_of([table]), "rules": html_of([Items(rules)])}


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
    groups = []
    for part in (data, *data["groups"]):  # all topics first
        name = part["group"]
        size = part["size"]
        groups.append(f"{name} ({size})")
    has_tests = results.tests is not None
    notes_on_tests = []
    if has_tests:
        notes_on_tests.append(_note_on_tests(results, data))
    return {
        "groups": groups,
        "tested": has_tests,
        "baseline": data["baseline"],
        "below": _choices_below(results),
        "rows": _rows_of_means(data),
        "notes": _notes_on_systems(results, data),
        "against": notes_on_tests,
    }


def _choices_below(results: Results) -> list[tuple[str, str]]:
    """Return what can be shown below the means: its name in the script, and in words."""
    below = []
    if results.powered is not None:
        below.append(("powered", "estimates with human judgments"))
    below.append(("ends", f"{100 * CI:g} % confidence intervals"))
    if results.tests is not None:
        below.append(("p", "p-values"))
    below.append(("", "nothing"))
    return below


class _MeanCell(NamedTuple):
    """A cell of the table of means: its text, its mark, and the text below it."""

    text: str
    mark: str
    below: str


def _rows_of_means(data: dict[str, Any]) -> list[list[_MeanCell]]:
    """Return the cells of the table of means, by system and measure."""
    rows: list[list[_MeanCell]] = [[] for _ in data["runs"]]
    for measure, means in enumerate(data["means"]):
        marks = data["marks"][measure]
        texts_below = _texts_below(data, measure)
        for system, mean in enumerate(means):
            cell = _MeanCell(decimals(mean), marks[system], texts_below[system])
            rows[system].append(cell)
    return rows


def _texts_below(data: dict[str, Any], measure: int) -> list[str]:
    """Return the texts below the means of a measure when the page opens, by system.

    They are estimates if there are human judgments, else intervals; '' if they are unknown.
    """
    n_systems = len(data["means"][measure])
    nothing = [""] * n_systems
    texts = []
    if data["powered"] is not None:
        estimates_and_ends = data["powered"][measure]
        if estimates_and_ends is None:
            return nothing
        estimates, low, high = estimates_and_ends
        for system, estimate in enumerate(estimates):
            number = decimals(estimate)
            interval = interval_text(low[system], high[system])
            texts.append(f"{number} {interval}")
        return texts
    ends = data["ends"][measure]
    if ends is None:
        return nothing
    low, high = ends
    for system in range(n_systems):
        texts.append(interval_text(low[system], high[system]))
    return texts


def _note_on_tests(results: Results, data: dict[str, Any]) -> str:
    """Return what the marks of significance mean, and which comparisons form a family."""
    test = test_name(TEST, CORRECTION)
    topics = topics_in_words(results.clusters)
    families = "The comparisons of one measure form a family"
    if data["groups"]:
        topics += " in all"
        families += "; those in all groups are another"
    if results.structure.macro is not None:
        families += ", and those of macro means"
    return (
        "▲ significantly better, ▼ significantly worse than the baseline: "
        f"{test}, p < {ALPHA:g}, {topics}. {families}."
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
    """Return the variables of the section Aspects: the two measures that its chart shows first.

    They are those of the first two aspects, as far as there are any, else other measures.
    """
    heads = results.heads
    if len(heads) < 2:
        return None
    labels = [head.label for head in heads]
    columns_of_aspects = [labels.index(label) for label in results.aspects.values()]
    columns = list(columns_of_aspects)
    for column in range(len(heads)):
        if column not in columns_of_aspects:
            columns.append(column)
    x = columns[0]
    y = columns[1]
    texts = {head.label: head.short for head in heads}
    for aspect, label in results.aspects.items():
        if aspect not in label:
            texts[label] = f"{aspect}: {label}"
    return {"x": x, "y": y, "texts": list(texts.values())}


def _measures_section(results: Results) -> dict[str, Any] | None:
    """Return the variables of the section Measures: correlations and discriminative power."""
    if results.tests is None:
        return None
    correlations = []
    note_on_few_systems = ""
    n_systems = results.perquery["name"].nunique()
    if n_systems < FEWEST_OF_HEAT_MAPS:
        note_on_few_systems = f"Correlations are shown for at least {FEWEST_OF_HEAT_MAPS} systems."
    elif len(results.heads) > 1:
        taus = results.tests.correlations.to_numpy(dtype=np.float64)  # measures × measures
        for taus_of_measure in taus.tolist():
            cells = list(map(_correlation_cell, taus_of_measure))
            correlations.append(cells)
    test = test_name(TEST, None)
    about_power = (
        f"Pairs of systems that differ significantly: {test}, p < {ALPHA:g}, not "
        "corrected. The required difference of means is in the units of the measure."
    )
    power = _power_table(results.tests.power.table, results)
    return {
        "correlations": correlations,
        "few": note_on_few_systems,
        "power": html_of([power]),
        "about_power": about_power,
    }


def _power_table(power: pd.DataFrame, results: Results) -> Table:
    """Return the table of discriminative power, the fraction of pairs that differ significantly.

    The columns of `power` are the measure, the fraction, the number of pairs that differ, that of
    all pairs, and the required difference.
    """
    head_by_label = {head.label: head.short for head in results.heads}
    rows: list[Cells] = []
    for row in power.itertuples(index=False, name=None):
        measure, fraction, n_different, n_pairs, required_difference = row
        rows.append(
            [
                head_by_label[str(measure)],
                Bar(fraction),
                decimals(fraction),
                f"{n_different} of {n_pairs}",
                decimals(required_difference),
            ]
        )
    columns = [
        Column("Measure", left=True),
        Column("", left=True),
        Column("Fraction"),
        Column("Pairs"),
        Column("Required difference"),
    ]
    return Table(columns, rows, most=len(rows))


class _CorrelationCell(NamedTuple):
    """A cell of the heat map: its text, the style of its sign, and how much it is shaded."""

    text: str
    sign: str
    #: In per cent; at most 60, so that the text stays legible.
    shade: str


def _correlation_cell(value: float) -> _CorrelationCell:
    """Return the cell of a correlation; NaN is not shaded."""
    if np.isnan(value):
        return _CorrelationCell("–", "plus", "0")
    text = fixed_point(value, 2)
    percent = 60 * abs(value)
    shade = f"{percent:.0f}"
    if value < 0:
        return _CorrelationCell(text, "minus", shade)
    return _CorrelationCell(text, "plus", shade)


def _topics_section(results: Results, data: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of the section Topics: the systems compared first, and its extent."""
    main = list(results.measures).index(results.main)
    lower_is_better = results.heads[main].lower_is_better
    systems = _systems_best_first(data["means"][main], lower_is_better)
    baseline = data["baseline"]
    first = systems[0]
    second = None
    if len(systems) > 1 and baseline is None:
        second = systems[1]
    elif len(systems) > 1:
        # The best other system is compared with the baseline.
        systems.remove(baseline)
        first = systems[0]
        second = baseline
    return {
        "main": main,
        "shorts": [head.short for head in results.heads],
        "first": first,
        "second": second,
        "extent": _extent(data),
        "compared": _name_of_compared(data),
    }


def _systems_best_first(means: Sequence[float], lower_is_better: bool) -> list[int]:
    """Return the positions of the systems by their means; equal ones in their order."""
    positions = range(len(means))
    if lower_is_better:
        return sorted(positions, key=lambda position: means[position])
    return sorted(positions, key=lambda position: -means[position])


def _extent(data: dict[str, Any]) -> str:
    """Return which ranks of which topics the page has; '' for values without rankings."""
    if data["depth"] == 0:
        return ""
    ranks = number_of(data["depth"], "rank")
    n_kept = len(data["topics"])
    n_topics = len(data["queries"])
    extent = f"The first {ranks} of each ranking are in this page"
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


class _Definition(NamedTuple):
    """The definition of a measure, as the page prints it."""

    head: Head
    #: The base and the aspect of a measure on one aspect.
    base: str | None
    definition: str
    parameters: Any
    printed: str
    #: On which scales it is, unless these are the first in the table.
    place_of_scales: str


def _definitions_section(results: Results) -> dict[str, Any]:
    """Return the variables of the section Definitions: measures, and one table of label scales.

    Measures are printed without scales that the table contains.
    """
    titles = _titles_of_scales(results)
    # Of a label, the measure, or its direction if only this is known, or None, as of criteria.
    measures_and_directions = {**results.measures, **results.directions}
    labels_by_criteria = labels_of_answers(measures_and_directions)
    definitions = []
    unknown = []
    for head in results.heads:
        measure = results.measures[head.label]
        if measure is None:
            unknown.append(head.short)
            continue
        is_by_criteria = head.label in labels_by_criteria
        _add_scales(titles, measure, head.short)
        definitions.append(_definition(measure, head, titles, is_by_criteria))
    scales = ""
    if titles:
        scales = html_of([_scales_table(titles)])
    return {
        "measures": definitions,
        "unknown": unknown,
        "scales": scales,
        "record": html_of([_record_table(results)]),
    }


def _definition(
    measure: Any, head: Head, titles: dict[Aspects, str], is_by_criteria: bool
) -> _Definition:
    """Return the definition of a measure, printed without the scales that the table contains.

    Parameters
    ----------
    measure : Measure
        The measure.
    head : Head
        Its head.
    titles : dict of Aspects to str
        The scales in the table with their titles; some contain those of the measure, if it has any.
    is_by_criteria : bool
        Whether it is of answers that are judged by criteria.
    """
    printed = measure
    place_of_scales = ""
    scales = _scales_of_measure(measure)
    if scales is not None:
        # The first scales in the table that contain those of the measure.
        scales_in_table = _scales_that_contain(scales, titles)[0]
        printed = _without_scales(measure, scales, scales_in_table)
        # Most measures are on the first scales of the table: only others say on which they are.
        is_on_first_scales = scales_in_table is next(iter(titles))
        if not is_on_first_scales:
            title = titles[scales_in_table]
            place_of_scales = f" on the scales “{title}”"
    return _Definition(
        head=head,
        base=_unprinted_base(printed),
        definition=sentence(printed, is_by_criteria),
        parameters=details(printed, is_by_criteria),
        printed=str(printed),
        place_of_scales=place_of_scales,
    )


def _scales_of_measure(measure: Any) -> Aspects | None:
    """Return the scales that a measure declares; None if it declares none or only names aspects."""
    params = getattr(measure, "params", {})
    scales = params.get("aspects")
    if isinstance(scales, Aspects):
        return scales
    return None


def _titles_of_scales(results: Results) -> dict[Aspects, str]:
    """Return the title of the scales of all measures, if there are any."""
    description = results.description
    if description is not None:
        title = description.aspects.name or "Label scales"
        is_inferred = description.per_aspect["scale"] == "inferred"
        inferred = description.per_aspect.loc[is_inferred, "aspect"]
        if len(inferred) > 0:
            title += f" (inferred from the judgments: {choices(inferred)})"
        return {description.aspects: title}
    if results.scales is not None:
        title = results.scales.name or "Label scales"
        return {results.scales: title}
    return {}


def _add_scales(titles: dict[Aspects, str], measure: Any, short: str) -> None:
    """Add the scales of a measure to those with a title, unless one of these contains them.

    `short` is the head of the measure.
    """
    scales = _scales_of_measure(measure)
    if scales is not None and not _scales_that_contain(scales, titles):
        titles[scales] = scales.name or f"Scales of {short}"


def _scales_that_contain(scales: Aspects, candidates: Iterable[Aspects]) -> list[Aspects]:
    """Return the candidates that contain the scales of a measure, in order."""
    return [candidate for candidate in candidates if _contains_scales(candidate, scales)]


def _contains_scales(known: Aspects, scales: Aspects) -> bool:
    """Return whether scales are among known ones, under the same name if they have one."""
    has_other_name = scales.name is not None and scales.name != known.name
    if has_other_name:
        return False
    return all(known.get(name) == aspect for name, aspect in scales.items())


def _without_scales(measure: Any, scales: Aspects, scales_in_table: Aspects) -> Any:
    """Return a measure that is printed without its scales, and with as few names as possible.

    Parameters
    ----------
    measure : Measure
        The measure.
    scales : Aspects
        Its scales. If they have a name, the measure prints this.
    scales_in_table : Aspects
        The scales in the table that contain them.
    """
    if scales.name is not None:
        return measure
    # Names of all aspects of the table need not be repeated. A measure of one aspect, such as
    # On(aspect='trust'), prints its name in any case.
    has_all_aspects = list(scales) == list(scales_in_table)
    has_one_aspect = measure.one_aspect is not None
    if has_all_aspects or has_one_aspect:
        return measure(aspects=None)
    names = ",".join(scales)
    return measure(aspects=names)


def _scales_table(titles: dict[Aspects, str]) -> Table:
    """Return the table of the grades of each aspect."""
    rows: list[Cells] = []
    for scales, title in titles.items():
        shown_title = title
        for name, aspect in scales.items():
            name_and_grades = scales_in_words({name: aspect})
            grades = name_and_grades.removeprefix(f"{name} ")
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
    columns = [Column("Name", left=True), Column("Value", left=True)]
    rows: list[Cells] = []
    for name, value in record_rows(results):
        rows.append([name, value])
    return Table(columns, rows, most=len(rows))


def _unprinted_base(measure: Any) -> str | None:
    """Return the base and the aspect of a measure on one aspect, which its text may omit."""
    aspect = getattr(measure, "one_aspect", None)
    if aspect is None:
        return None
    base = measure.bases.one
    return f"{base.text} on {aspect}"
