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
        *_judged_counts(statistics),
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


def _judged_counts(statistics: Statistics) -> list[str]:
    """Return the number of judged documents or answers; if several judge answers, of judgments."""
    answers = statistics.judged.answers
    if answers is None or answers.n_judges == 1:
        return [number_of(statistics.n_documents, f"judged {statistics.noun}")]
    judgments = number_of(statistics.n_documents, "judgment")
    return [
        number_of(len(answers.answers), "judged answer"),
        f"{judgments} by {answers.n_judges} judges",
    ]


def _findings(findings: pd.DataFrame, proposed: Aspects) -> list[Block]:
    """Return the findings, and the declaration that resolves some of them."""
    if findings.empty:
        return [Heading("Findings"), Sentence("none")]
    declared = declaration(proposed)
    items: list[list[Sentence | Code]] = []
    declaring = []
    for number, row in enumerate(records(findings), 1):
        text = row.finding
        if row.aspects:
            text = f"{row.aspects}: {text}"
        remedy: Sentence | Code
        if row.remedy == declared:  # findings resolved by one declaration share it
            declaring.append(number)
            remedy = Sentence("declare the scales as below")
        else:
            remedy = _code(row.remedy)
        items.append([Sentence(text, tag=row.severity), remedy])
    listed: list[Block] = [Heading("Findings"), Items(items, numbered=True)]
    if declaring:
        noun = "finding" if len(declaring) == 1 else "findings"
        title = f"Declaration for {noun} {choices(declaring)}; check it before use:"
        listed.append(Sentence(title))
        listed.append(_declaration_code(proposed, declared))
    return listed


def _code(remedy: str) -> Sentence | Code:
    """Return a remedy.

    In the shell, it is without calls of `describe`, which the report is the result of.
    """
    if not in_shell():
        return Code(remedy)
    if remedy == AGREEMENT:
        return Code("pt-multiaspect answers JUDGED --agreement")
    call = re.fullmatch(r"ma\.describe\(\w+\)\.(labels|contingency)(.*)", remedy)
    if call is None:
        return Code(remedy)
    table, arguments = call.groups()
    if table == "labels":
        return Sentence("look at the labels below")
    names = map(shlex.quote, ast.literal_eval(arguments))
    return Code(f"--contingency {' '.join(names)}")


def _declaration_code(proposed: Aspects, declared: str) -> Code:
    """Return a declaration, in the shell as a command-line option."""
    if not in_shell():
        return Code(declared)
    specs = {name: aspect.to_spec() for name, aspect in proposed.items()}
    # No quote may end the shell argument.
    text = json.dumps(specs, ensure_ascii=False).replace("'", r"\u0027")
    return Code(text, before="--aspects '", after="'")


def _aspect(statistics: Statistics, row: Any) -> list[Block]:
    """Return the scale, the numbers of judgments and the labels of an aspect."""
    scale = f"{row.scale} scale {row.grades}"
    facts = [
        f"judged {row.judged} of {statistics.n_documents}",
        f"topics {row.topics} of {statistics.n_topics}",
    ]
    if statistics.judged.answers is None:  # scores of answers have no threshold
        if not np.isnan(row.threshold):
            scale += f", positive from {spell(row.threshold)}"
        n_without = number_of(row.topics_without_positive, "topic")
        facts.append(f"positive {percent(row.positive)}")
        facts.append(f"{n_without} without a positive document")
    if row.below_scale:
        facts.append(f"{number_of(row.below_scale, 'label')} below the scale")
    if row.out_of_scale:
        facts.append(f"{number_of(row.out_of_scale, 'label')} out of scale")
    labels = statistics.labels[statistics.labels["aspect"] == row.aspect]
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
    """Return the number and fraction of documents of each label of an aspect."""
    bins = _bins(labels)
    largest = max((row.share for row in bins), default=0.0) or 1.0
    rows: list[Cells] = []
    for row in bins:
        head = row.text
        if row.kind != "grade":
            head = f"{row.text} ({row.kind})"
        fraction = percent(row.share)
        bar = Bar(row.share / largest, label=f"{row.text}: {fraction}")
        rows.append([head, bar, str(row.n_documents), fraction])
    columns = [Column("label"), Column("", left=True), Column(f"{noun}s"), Column("fraction")]
    return Table(columns, rows)


def _bins(labels: pd.DataFrame) -> list[_Bin]:
    """Return the labels of an aspect to draw; long scales are divided into ranges."""
    rows = [_Bin(spell(row.label), row.count, row.share, row.kind) for row in records(labels)]
    grades = labels[labels["kind"] == "grade"]
    if len(grades) <= _MOST_BARS:
        return rows
    used = [row for row in rows if row.n_documents]
    if len(used) <= _MOST_BARS:
        return used
    below = [row for row in rows if row.kind == "below the scale"]
    outside = [row for row in rows if row.kind == "out of scale"]
    return [*below, *_ranges(grades), *outside]


def _ranges(grades: pd.DataFrame) -> list[_Bin]:
    """Return about ten ranges of grades with their numbers of documents."""
    label = grades["label"]
    lowest = float(label.min())
    highest = float(label.max())
    is_whole = bool((label % 1 == 0).all())
    if is_whole:  # ranges of equally many labels, but the last
        step = max(1, round((highest - lowest) / 10))
        edges = np.append(np.arange(lowest, highest + 1 - step / 2, step), highest)
    else:
        edges = np.linspace(lowest, highest, 11)
    last = len(edges) - 2
    position = np.searchsorted(edges, label, side="right") - 1
    position = np.clip(position, 0, last)
    ranges = []
    for number in range(last + 1):
        inside = grades[position == number]
        text = _range_text(edges[number], edges[number + 1], is_whole, number == last)
        n_documents = int(inside["count"].sum())
        share = float(inside["share"].sum())
        ranges.append(_Bin(text, n_documents, share, "grade"))
    return ranges


def _range_text(lower: float, upper: float, is_whole: bool, is_last: bool) -> str:
    """Return a range of labels as text; only the last one includes its upper edge."""
    if is_whole and not is_last:
        upper = upper - 1
    ends = [spell(round(float(lower), 3))]
    if upper != lower:
        ends.append(spell(round(float(upper), 3)))
    if is_whole or is_last:
        return "..".join(ends)
    return "..<".join(ends)


def _name(head: str) -> Column:
    """Return a column of names, which may be shortened."""
    return Column(head, left=True, shorten=_NAME)


def _pairs(between: pd.DataFrame, noun: str) -> list[Block]:
    """Return the overlap and the rank correlation of pairs of aspects."""
    if between.empty:
        return []
    rows = []
    for row in records(between):
        tau = "-"
        if not np.isnan(row.tau):
            tau = f"{fixed_point(row.tau, 2)} ({row.topics})"
        counts = map(str, (row.both, row.only_first, row.only_second))
        rows.append([row.first, row.second, *counts, tau])
    text = (
        f"{noun.capitalize()}s judged on both aspects or one, and the mean of Kendall's tau-b "
        "within topics."
    )
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
    """Return the share of each aspect in TOMA's distance."""
    if shares.empty:
        return []
    rows: list[Cells] = []
    for row in records(shares):
        length = 0.0
        if not np.isnan(row.share):
            length = row.share
        rows.append([row.order, row.aspect, Bar(length), percent(row.share)])
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
    """Return the numbers of topics and documents of runs, and how deep they are judged."""
    if runs.empty:
        return []
    heads = ["topics", "missed", "unjudged topics", "documents", "repeated", "tied scores"]
    rows = []
    for name, *counts, tied in records(runs):
        rows.append([name, *map(str, counts), percent(tied)])
    return [
        Heading("Runs"),
        Table([_name("run"), *map(Column, heads)], rows),
        _judged_table(judged_at),
    ]


def _judged_table(judged_at: pd.DataFrame) -> Table:
    """Return the judged fraction of the first ranks; one row for aspects judged alike."""
    cutoffs = [column for column in judged_at.columns if column.startswith("judged@")]
    rows: list[list[str]] = []
    for name, fractions in judged_at.groupby("name", sort=False):
        values = fractions[cutoffs]
        first = values.iloc[0]
        are_equal = (values == first).all(axis=None)
        if len(fractions) > 1 and are_equal:
            rows.append([str(name), "all aspects", *map(percent, first)])
            continue
        columns = fractions[["aspect", *cutoffs]]
        for aspect, *aspect_values in columns.itertuples(index=False, name=None):
            rows.append([str(name), str(aspect), *map(percent, aspect_values)])
    return Table([_name("run"), _name("aspect"), *map(Column, cutoffs)], rows)


def _measures(dependences: pd.DataFrame) -> list[Block]:
    """Return what the values of each measure depend on."""
    if dependences.empty:
        return []
    blocks: list[Block] = [Heading("What values depend on")]
    for measure, rows in dependences.groupby("measure", sort=False):
        items = [[Sentence(f"{row.aspect}: {_dependence(row)}")] for row in records(rows)]
        blocks.append(Sentence(str(measure)))
        blocks.append(Items(items))
    return blocks


def _dependence(row: Any) -> str:
    """Return a description of the properties of an aspect that a measure depends on."""
    texts = {
        "scale": "the length of the scale",
        "threshold": "the threshold",
        "gains": "the gains",
        "probabilities": "the probabilities",
    }
    if row.inferred:
        texts["scale"] += " (inferred)"
    depends = [text for name, text in texts.items() if getattr(row, name) is True]
    unknown = [text for name, text in texts.items() if getattr(row, name) is None]
    if len(unknown) == len(texts):
        return "unknown"
    if not depends and not unknown:
        return "the order of labels at most"
    parts = []
    if depends:
        parts.append(", ".join(depends))
    if unknown:
        parts.append(f"unknown: {', '.join(unknown)}")
    return "; ".join(parts)
