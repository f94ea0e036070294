"""The blocks of a description."""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any

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
from .statistics import AGREEMENT, Figures, declaration

#: Scales with more labels are drawn in ranges of labels.
_MOST_BARS = 12
#: Names of runs, aspects and orders are shortened in the middle if there is too little space.
_NAME = 12


def blocks(
    figures: Figures, findings: pd.DataFrame, proposed: Aspects, shares: pd.DataFrame
) -> list[Block]:
    """Return the whole report, findings first."""
    counts = [
        *_judged(figures),
        number_of(figures.n_topics, "topic"),
        number_of(len(figures.per_aspect), "aspect"),
    ]
    return [
        Sentence(choices(counts)),
        *_findings(findings, proposed),
        *(block for row in records(figures.per_aspect) for block in _aspect(figures, row)),
        *_pairs(figures.between, figures.noun),
        *_shares(shares),
        *_runs(figures.retrieved.runs, figures.retrieved.judged_at),
        *_measures(figures.dependences),
    ]


def _judged(figures: Figures) -> list[str]:
    """Return the number of judged documents or answers, and of judgments of answers by several judges."""
    given = figures.judged.answers
    if given is None or given.n_judges == 1:
        return [number_of(figures.n_documents, f"judged {figures.noun}")]
    judgments = number_of(figures.n_documents, "judgment")
    return [
        number_of(len(given.answers), "judged answer"),
        f"{judgments} by {given.n_judges} judges",
    ]


def _findings(findings: pd.DataFrame, proposed: Aspects) -> list[Block]:
    if findings.empty:
        return [Heading("Findings"), Sentence("none")]
    declared = declaration(proposed)
    items: list[list[Sentence | Code]] = []
    for row in records(findings):
        if row.aspects:
            about = f"{row.aspects}: "
        else:
            about = ""
        # Findings resolved by one declaration share it.
        remedy = (
            Sentence("declare the scales as below") if row.remedy == declared else _code(row.remedy)
        )
        items.append([Sentence(f"{about}{row.finding}", tag=row.severity), remedy])
    declaring = [
        number for number, remedy in enumerate(findings["remedy"], 1) if remedy == declared
    ]
    listed: list[Block] = [Heading("Findings"), Items(items, numbered=True)]
    if declaring:
        noun = "finding" if len(declaring) == 1 else "findings"
        title = f"Declaration for {noun} {choices(declaring)}; check it before use:"
        listed += [Sentence(title), _option(proposed) if in_shell() else Code(declared)]
    return listed


def _code(remedy: str) -> Sentence | Code:
    """Return a remedy; in the shell, without calls of `describe`, which the report is the result of."""
    if not in_shell():
        return Code(remedy)
    if remedy == AGREEMENT:
        return Code("pt-multiaspect answers JUDGED --agreement")
    call = re.fullmatch(r"ma\.describe\(\w+\)\.(labels|contingency)(.*)", remedy)
    if call is None:
        return Code(remedy)
    if call[1] == "labels":
        return Sentence("look at the labels below")
    return Code(" ".join(["--contingency", *map(shlex.quote, ast.literal_eval(call[2]))]))


def _option(proposed: Aspects) -> Code:
    """Return a declaration as a command-line option."""
    specs = {name: aspect.to_spec() for name, aspect in proposed.items()}
    # No quote may end the shell argument.
    text = json.dumps(specs, ensure_ascii=False).replace("'", r"\u0027")
    return Code(text, before="--aspects '", after="'")


def _aspect(figures: Figures, row: Any) -> list[Block]:
    threshold = ""
    facts = [
        f"judged {row.judged} of {figures.n_documents}",
        f"topics {row.topics} of {figures.n_topics}",
    ]
    if figures.judged.answers is None:  # scores of answers have no threshold
        if np.isnan(row.threshold):
            threshold = ""
        else:
            threshold = f", positive from {spell(row.threshold)}"
        without = f"{number_of(row.topics_without_positive, 'topic')} without a positive document"
        facts += [f"positive {percent(row.positive)}", without]
    for count, what in ((row.below_scale, "below the scale"), (row.out_of_scale, "out of scale")):
        if count:
            facts.append(f"{number_of(count, 'label')} {what}")
    drawn = _ranges(figures.labels[figures.labels["aspect"] == row.aspect])
    most = max((share for _, _, share, _ in drawn), default=0.0) or 1.0
    labels: list[Cells] = [
        [
            text if kind == "grade" else f"{text} ({kind})",
            Bar(share / most, label=f"{text}: {percent(share)}"),
            str(count),
            percent(share),
        ]
        for text, count, share, kind in drawn
    ]
    return [
        Heading(row.aspect),
        Sentence(f"{row.scale} scale {row.grades}{threshold}"),
        Sentence("; ".join(facts)),
        Table(
            [
                Column("label"),
                Column("", left=True),
                Column(f"{figures.noun}s"),
                Column("fraction"),
            ],
            labels,
        ),
    ]


def _ranges(labels: pd.DataFrame) -> list[tuple[str, int, float, str]]:
    """Return text, count, fraction and kind of each label of an aspect, with those of long scales in ranges."""
    rows = [(spell(row.label), row.count, row.share, row.kind) for row in records(labels)]
    grades = labels[labels["kind"] == "grade"]
    if len(grades) <= _MOST_BARS:
        return rows
    used = [row for row in rows if row[1]]
    if len(used) <= _MOST_BARS:
        return used
    low, high = float(grades["label"].min()), float(grades["label"].max())
    whole = bool((grades["label"] % 1 == 0).all())
    if whole:  # ranges of equally many labels, but the last
        step = max(1, round((high - low) / 10))
        edges = np.append(np.arange(low, high + 1 - step / 2, step), high)
    else:
        edges = np.linspace(low, high, 11)
    positions = np.clip(
        np.searchsorted(edges, grades["label"], side="right") - 1, 0, len(edges) - 2
    )
    result = [row for row in rows if row[3] == "below the scale"]
    for position in range(len(edges) - 1):
        inside = grades[positions == position]
        last = position == len(edges) - 2
        lower, upper = edges[position], edges[position + 1] - (1 if whole and not last else 0)
        ends = [spell(round(float(end), 3)) for end in dict.fromkeys((lower, upper))]
        text = (".." if whole or last else "..<").join(ends)
        result.append((text, int(inside["count"].sum()), float(inside["share"].sum()), "grade"))
    return result + [row for row in rows if row[3] == "out of scale"]


def _name(head: str) -> Column:
    return Column(head, left=True, shorten=_NAME)


def _pairs(between: pd.DataFrame, noun: str) -> list[Block]:
    if between.empty:
        return []
    heads = ["both", "first only", "second only", "tau-b (topics)"]
    rows = [
        [
            row.first,
            row.second,
            str(row.both),
            str(row.only_first),
            str(row.only_second),
            "-" if np.isnan(row.tau) else f"{fixed_point(row.tau, 2)} ({row.topics})",
        ]
        for row in records(between)
    ]
    return [
        Heading("Between aspects"),
        Sentence(
            f"{noun.capitalize()}s judged on both aspects or one, and the mean of Kendall's tau-b "
            "within topics."
        ),
        Table([_name("first"), _name("second"), *map(Column, heads)], rows),
    ]


def _shares(shares: pd.DataFrame) -> list[Block]:
    if shares.empty:
        return []
    rows: list[Cells] = [
        [row.order, row.aspect, Bar(0.0 if np.isnan(row.share) else row.share), percent(row.share)]
        for row in records(shares)
    ]
    return [
        Heading("Share of each aspect in TOMA's distance"),
        Sentence(
            "The mean over judged documents of gap^p / sum of gap^p; documents at distance 0 are "
            "left out."
        ),
        Table([_name("order"), _name("aspect"), Column("", left=True), Column("share")], rows),
    ]


def _runs(runs: pd.DataFrame, judged: pd.DataFrame) -> list[Block]:
    if runs.empty:
        return []
    heads = ["topics", "missed", "unjudged topics", "documents", "repeated", "tied scores"]
    rows = [[name, *map(str, counts), percent(tied)] for name, *counts, tied in records(runs)]
    cutoffs = [column for column in judged.columns if column.startswith("judged@")]
    judged_rows: list[list[str]] = []
    for name, fractions in judged.groupby("name", sort=False):
        values = fractions[cutoffs]
        if len(fractions) > 1 and (values == values.iloc[0]).all(axis=None):
            judged_rows.append([str(name), "all aspects", *map(percent, values.iloc[0])])
        else:
            judged_rows += [
                [str(name), str(row[0]), *map(percent, row[1:])]
                for row in fractions[["aspect", *cutoffs]].itertuples(index=False, name=None)
            ]
    return [
        Heading("Runs"),
        Table([_name("run"), *map(Column, heads)], rows),
        Table([_name("run"), _name("aspect"), *map(Column, cutoffs)], judged_rows),
    ]


def _measures(measures: pd.DataFrame) -> list[Block]:
    if measures.empty:
        return []
    blocks: list[Block] = [Heading("What values depend on")]
    for measure, rows in measures.groupby("measure", sort=False):
        read = [[Sentence(f"{row.aspect}: {_dependence(row)}")] for row in records(rows)]
        blocks += [Sentence(str(measure)), Items(read)]
    return blocks


def _dependence(row: Any) -> str:
    """Return a description of the properties of an aspect that a measure depends on."""
    names = {
        "scale": "the length of the scale" + (" (inferred)" if row.inferred else ""),
        "threshold": "the threshold",
        "gains": "the gains",
        "probabilities": "the probabilities",
    }
    read = [text for name, text in names.items() if getattr(row, name) is True]
    if all(getattr(row, name) is None for name in names):
        return "unknown"
    unknown = [text for name, text in names.items() if getattr(row, name) is None]
    known = ", ".join(read) or ("" if unknown else "the order of labels at most")
    return "; ".join(filter(None, [known, f"unknown: {', '.join(unknown)}" if unknown else ""]))
