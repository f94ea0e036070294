"""The blocks of a description."""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from ..aspects import Aspects
from ..errors import choices, in_shell, number_of
from ..views import (
    Bar,
    Block,
    Cells,
    Code,
    Column,
    Heading,
    Items,
    Sentence,
    Table,
    fixed_point,
    percent,
)
from .scales import records
from .statistics import AGREEMENT, Statistics, declaration

#: Scales with more labels are drawn in ranges of labels.
_MOST_BARS = 12
#: Names of runs, aspects and orders are shortened in the middle if there is too little space.
_NAME = 12


def blocks(
    statistics: Statistics, findings: pd.DataFrame, proposed: Aspects, shares: pd.DataFrame
) -> list[Block]:
    """Return the whole report, findings first."""
    counts = [
        *judged_counts(statistics),
        number_of(statistics.n_topics, "topic"),
        number_of(len(statistics.per_aspect), "aspect"),
    ]
    report: list[Block] = [Sentence(choices(counts))]
    report += _findings(findings, proposed)
    for row in records(statistics.per_aspect):
        report += _aspect(statistics, row)
    report += _pairs(statistics.between, statistics.noun)
    report += _shares(shares)
    report += _runs(statistics.retrieved.runs, statistics.retrieved.judged_at)
    report += _measures(statistics.dependences)
    return report


def judged_counts(statistics: Statistics) -> list[str]:
    """Return in words the number of judged documents or answers.

    If several judges judge answers, the number of their judgments follows.
    """
    answers = statistics.judged.answers
    if answers is None or answers.n_judges == 1:
        return [number_of(statistics.n_documents, f"judged {statistics.noun}")]
    n_judgments = number_of(statistics.n_documents, "judgment")
    return [
        number_of(len(answers.answers), "judged answer"),
        f"{n_judgments} by {answers.n_judges} judges",
    ]


def _findings(findings: pd.DataFrame, proposed: Aspects) -> list[Block]:
    """Return the findings, and the declaration that resolves some of them.

    `findings` has the columns ``severity aspects finding remedy``.
    """
    if findings.empty:
        return [Heading("Findings"), Sentence("none")]
    declared = declaration(proposed)
    items: list[list[Sentence | Code]] = []
    resolved_numbers = []  # of the findings that the declaration resolves
    for number, row in enumerate(records(findings), 1):
        text = row.finding
        if row.aspects:
            text = f"{row.aspects}: {text}"
        remedy = _code(row.remedy)
        # The declaration is the remedy of several findings, but is printed once.
        if row.remedy == declared:
            resolved_numbers.append(number)
            remedy = Sentence("declare the scales as below")
        sentence = Sentence(text, tag=row.severity)
        items.append([sentence, remedy])
    section: list[Block] = [Heading("Findings"), Items(items, numbered=True)]
    if resolved_numbers:
        noun = "findings"
        if len(resolved_numbers) == 1:
            noun = "finding"
        numbers = choices(resolved_numbers)
        section.append(Sentence(f"Declaration for {noun} {numbers}; check it before use:"))
        section.append(_declaration_code(proposed, declared))
    return section


#: A remedy that is a method of a description, such as
#: ``ma.describe(qrels).contingency('relevance', 'trust')``.
_match_describe_call = re.compile(
    r"ma\.describe\(\w+\)"
    r"\.(?P<table>labels|contingency)"
    r"(?P<arguments>.*)",  # with parentheses; empty for labels
).fullmatch


def _code(remedy: str) -> Sentence | Code:
    """Return a remedy as code, in the shell as what to do there.

    In the shell, a remedy that calls `describe` becomes the corresponding part or option of the
    command whose output this report is.
    """
    if not in_shell():
        return Code(remedy)
    if remedy == AGREEMENT:
        return Code("pt-multiaspect answers JUDGED --agreement")
    # The call of `labels` or of `contingency`, with its arguments.
    describe_call = _match_describe_call(remedy)
    if describe_call is None:
        return Code(remedy)
    calls_labels = describe_call["table"] == "labels"
    if calls_labels:
        return Sentence("look at the labels below")
    # The arguments of `contingency` are two aspects, such as "('relevance', 'trust')".
    names = ast.literal_eval(describe_call["arguments"])
    quoted_names = " ".join(map(shlex.quote, names))
    return Code(f"--contingency {quoted_names}")


def _declaration_code(proposed: Aspects, declared: str) -> Code:
    """Return a declaration as code, in the shell as a command-line option.

    `declared` is the declaration of the scales `proposed` in Python.
    """
    if not in_shell():
        return Code(declared)
    specs = {name: aspect.to_spec() for name, aspect in proposed.items()}
    text = json.dumps(specs, ensure_ascii=False)
    # A quote would end the shell argument.
    text = text.replace("'", r"\u0027")
    return Code(text, before="--aspects '", after="'")


def _aspect(statistics: Statistics, row: Any) -> list[Block]:
    """Return the scale, the numbers of judgments and the labels of an aspect.

    `row` is that of the table of aspects.
    """
    has_threshold = not np.isnan(row.threshold)
    is_about_answers = statistics.judged.answers is not None
    scale = f"{row.scale} scale {row.grades}"
    facts = [
        f"judged {row.judged} of {statistics.n_documents}",
        f"topics {row.topics} of {statistics.n_topics}",
    ]
    # Scores of answers have no threshold.
    if not is_about_answers:
        percentage = percent(row.positive)
        n_without = number_of(row.topics_without_positive, "topic")
        facts.append(f"positive {percentage}")
        facts.append(f"{n_without} without a positive document")
        if has_threshold:
            threshold = spell(row.threshold)
            scale += f", positive from {threshold}"
    if row.below_scale:
        n_below = number_of(row.below_scale, "label")
        facts.append(f"{n_below} below the scale")
    if row.out_of_scale:
        n_outside = number_of(row.out_of_scale, "label")
        facts.append(f"{n_outside} out of scale")
    is_of_aspect = statistics.labels["aspect"] == row.aspect
    labels = statistics.labels[is_of_aspect]
    return [
        Heading(row.aspect),
        Sentence(scale),
        Sentence("; ".join(facts)),
        _label_table(labels, statistics.noun),
    ]


class _Bin(NamedTuple):
    """A label or range of labels, and its documents."""

    text: str
    n_documents: int
    share: float
    kind: str


def _label_table(labels: pd.DataFrame, noun: str) -> Table:
    """Return the number and fraction of documents of each label of an aspect, with a bar.

    `labels` has the columns ``label kind count share``; `noun` says what is judged.
    """
    bins = _bins(labels)
    largest_share = max((row.share for row in bins), default=0.0)
    if largest_share == 0:  # bars of length 0
        largest_share = 1.0
    rows: list[Cells] = []
    for row in bins:
        head = row.text
        if row.kind != "grade":
            head = f"{row.text} ({row.kind})"
        percentage = percent(row.share)
        bar = Bar(row.share / largest_share, label=f"{row.text}: {percentage}")
        rows.append([head, bar, str(row.n_documents), percentage])
    columns = [Column("label"), Column("", left=True), Column(f"{noun}s"), Column("fraction")]
    return Table(columns, rows)


def _bins(labels: pd.DataFrame) -> list[_Bin]:
    """Return the labels of an aspect to draw; long scales are divided into ranges."""
    bins = []
    for row in records(labels):
        bins.append(_Bin(spell(row.label), row.count, row.share, row.kind))
    grades = labels[labels["kind"] == "grade"]
    if len(grades) <= _MOST_BARS:
        return bins
    # Without the grades that no document has, a scale may be short enough.
    used = [row for row in bins if row.n_documents > 0]
    if len(used) <= _MOST_BARS:
        return used
    below = [row for row in bins if row.kind == "below the scale"]
    outside = [row for row in bins if row.kind == "out of scale"]
    return [*below, *_ranges(grades), *outside]


def _ranges(grades: pd.DataFrame) -> list[_Bin]:
    """Return about ten ranges of grades with their numbers of documents.

    `grades` has the columns ``label count share``.
    """
    label = grades["label"]
    is_whole = bool((label % 1 == 0).all())
    edges = _range_edges(float(label.min()), float(label.max()), is_whole)
    n_ranges = len(edges) - 1
    # A label is in the range of the last edge that it reaches. One that reaches the last edge of
    # all is in the last range.
    n_edges_reached = np.searchsorted(edges, label, side="right")
    range_of_label = np.clip(n_edges_reached - 1, 0, n_ranges - 1)
    bins = []
    for number in range(n_ranges):
        is_last = number == n_ranges - 1
        text = _range_text(edges[number], edges[number + 1], is_whole, is_last)
        grades_in_range = grades[range_of_label == number]
        n_documents = int(grades_in_range["count"].sum())
        share = float(grades_in_range["share"].sum())
        bins.append(_Bin(text, n_documents, share, "grade"))
    return bins


def _range_edges(lowest: float, highest: float, is_whole: bool) -> Floats:
    """Return the edges of about ten ranges from the lowest to the highest label, in order.

    There is one edge more than ranges. Ranges of whole numbers have equally many labels, but for
    the last one: labels 0 to 25 in ranges of 2 have the edges 0, 2, …, 24 and 25.
    """
    if not is_whole:
        return np.linspace(lowest, highest, 11)
    length = highest - lowest
    labels_per_range = max(1, round(length / 10))
    # A rest of more than half as many labels is a range of its own, else part of the last one.
    n_ranges, rest = divmod(int(length) + 1, labels_per_range)
    if rest > labels_per_range / 2:
        n_ranges += 1
    lower_edges = lowest + labels_per_range * np.arange(n_ranges)
    return np.append(lower_edges, highest)


def _range_text(lower: float, upper: float, is_whole: bool, is_last: bool) -> str:
    """Return a range of labels as text, such as '0..9' or '0.1..<0.2' without its upper edge.

    The last range includes its upper edge; others end before it, where the next range begins.
    """
    includes_upper = is_last
    if is_whole and not is_last:
        # Of whole numbers, the label before the edge is the highest one of the range.
        upper = upper - 1
        includes_upper = True
    first = spell(round(float(lower), 3))
    last = spell(round(float(upper), 3))
    if upper == lower:
        return first
    if includes_upper:
        return f"{first}..{last}"
    return f"{first}..<{last}"


def _name(head: str) -> Column:
    """Return a column of names, which may be shortened."""
    return Column(head, left=True, shorten=_NAME)


def _pairs(between: pd.DataFrame, noun: str) -> list[Block]:
    """Return the overlap and the rank correlation of pairs of aspects.

    `between` has one row per pair; `noun` says what is judged.
    """
    if between.empty:
        return []
    rows = []
    for row in records(between):
        tau_text = "-"
        if not np.isnan(row.tau):
            tau = fixed_point(row.tau, 2)
            tau_text = f"{tau} ({row.topics})"
        rows.append(
            [
                row.first,
                row.second,
                str(row.both),
                str(row.only_first),
                str(row.only_second),
                tau_text,
            ]
        )
    plural = f"{noun.capitalize()}s"
    text = f"{plural} judged on both aspects or one, and the mean of Kendall's tau-b within topics."
    columns = [
        _name("first"),
        _name("second"),
        Column("both"),
        Column("first only"),
        Column("second only"),
        Column("tau-b (topics)"),
    ]
    return [Heading("Between aspects"), Sentence(text), Table(columns, rows)]


def _shares(shares: pd.DataFrame) -> list[Block]:
    """Return the share of each aspect in TOMA's distance, one row per order and aspect."""
    if shares.empty:
        return []
    rows: list[Cells] = []
    for row in records(shares):
        bar_length = 0.0
        if not np.isnan(row.share):
            bar_length = row.share
        bar = Bar(bar_length)
        rows.append([row.order, row.aspect, bar, percent(row.share)])
    text = (
        "The mean over judged documents of gap^p / sum of gap^p; documents at distance 0 are "
        "left out."
    )
    columns = [_name("order"), _name("aspect"), Column("", left=True), Column("share")]
    return [
        Heading("Share of each aspect in TOMA's distance"),
        Sentence(text),
        Table(columns, rows),
    ]


def _runs(runs: pd.DataFrame, judged_at: pd.DataFrame) -> list[Block]:
    """Return the numbers of topics and documents of runs, and how deep they are judged.

    `runs` has one row per run, `judged_at` one per run and aspect.
    """
    if runs.empty:
        return []
    rows = []
    for row in records(runs):
        rows.append(
            [
                row.name,
                str(row.topics),
                str(row.missed),
                str(row.unjudged_topics),
                str(row.documents),
                str(row.repeated),
                percent(row.tied),
            ]
        )
    columns = [
        _name("run"),
        Column("topics"),
        Column("missed"),
        Column("unjudged topics"),
        Column("documents"),
        Column("repeated"),
        Column("tied scores"),
    ]
    return [Heading("Runs"), Table(columns, rows), _judged_table(judged_at)]


def _judged_table(judged_at: pd.DataFrame) -> Table:
    """Return the judged fraction of the first ranks; one row for aspects judged alike.

    `judged_at` has the columns ``name aspect judged@5 judged@10 …``, one row per run and aspect.
    """
    cutoffs = [column for column in judged_at.columns if column.startswith("judged@")]
    rows: list[list[str]] = []
    for run, rows_of_run in judged_at.groupby("name", sort=False):
        aspects = rows_of_run["aspect"].tolist()
        fractions = rows_of_run[cutoffs]  # one row per aspect
        first = fractions.iloc[0]
        are_equal = (fractions == first).all(axis=None)
        # The first row stands for all if the aspects are judged alike.
        if len(aspects) > 1 and are_equal:
            aspects = ["all aspects"]
        for position, aspect in enumerate(aspects):
            fractions_of_aspect = fractions.iloc[position]
            percentages = map(percent, fractions_of_aspect)
            rows.append([str(run), str(aspect), *percentages])
    columns = [_name("run"), _name("aspect"), *map(Column, cutoffs)]
    return Table(columns, rows)


def _measures(dependences: pd.DataFrame) -> list[Block]:
    """Return what the values of each measure depend on, one item per aspect."""
    if dependences.empty:
        return []
    section: list[Block] = [Heading("What values depend on")]
    for measure, rows in dependences.groupby("measure", sort=False):
        items = []
        for row in records(rows):
            properties = _dependence(row)
            items.append([Sentence(f"{row.aspect}: {properties}")])
        section.append(Sentence(str(measure)))
        section.append(Items(items))
    return section


def _dependence(row: Any) -> str:
    """Return in words which properties of the scale of an aspect a measure depends on.

    `row` has the attributes ``scale``, ``threshold``, ``gains`` and ``probabilities``: true, false,
    or None if it is not known whether the measure depends on them.
    """
    length = "the length of the scale"
    if row.inferred:
        length += " (inferred)"
    depends_on = {
        length: row.scale,
        "the threshold": row.threshold,
        "the gains": row.gains,
        "the probabilities": row.probabilities,
    }
    known = [text for text, depends in depends_on.items() if depends is True]
    unknown = [text for text, depends in depends_on.items() if depends is None]
    if len(unknown) == len(depends_on):
        return "unknown"
    if not known and not unknown:
        return "the order of labels at most"
    parts = []
    if known:
        parts.append(", ".join(known))
    if unknown:
        listed = ", ".join(unknown)
        parts.append(f"unknown: {listed}")
    return "; ".join(parts)
