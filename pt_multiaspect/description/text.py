"""A description as plain text of at most 80 columns."""

from __future__ import annotations

import io
import json
import textwrap
import tokenize
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._numbers import spell
from .._rendering import MOST_ROWS, WIDTH, crop, heading, percent, wrapped
from ..errors import choices, number_of
from .figures import declaration
from .scales import records

if TYPE_CHECKING:
    from .report import Description

_BAR = 24
#: Scales with more labels are drawn in ranges of labels.
_MOST_BARS = 12


def report(description: Description) -> str:
    """The whole report."""
    parts = [size(description)]
    parts += [_aspect(description, row) for row in records(description.per_aspect)]
    parts += [_between(description), _shares(description), _runs(description), _measures(description)]
    parts.append(_findings(description))
    return "\n\n".join(part for part in parts if part)


def size(description: Description) -> str:
    """How much there is of everything."""
    documents, topics = description.n_documents, description.n_topics
    aspects = number_of(len(description.per_aspect), "aspect")
    return f"{number_of(documents, 'judged document')}, {number_of(topics, 'topic')}, {aspects}"


def facts(description: Description, row: Any) -> str:
    """What is counted of one aspect, in words."""
    parts = [
        f"judged {row.judged} of {description.n_documents}",
        f"topics {row.topics} of {description.n_topics}",
        f"positive {percent(row.positive)}",
        f"{number_of(row.topics_without_positive, 'topic')} without a positive document",
    ]
    for count, what in ((row.below_scale, "below the scale"), (row.out_of_scale, "out of scale")):
        if count:
            parts.append(f"{number_of(count, 'label')} {what}")
    return "; ".join(parts)


def scale(row: Any) -> str:
    """The scale of one aspect, in words."""
    threshold = "" if np.isnan(row.threshold) else f", positive from {spell(row.threshold)}"
    return f"{row.scale} scale {row.grades.replace('…', '...')}{threshold}"


def judged_rows(description: Description) -> list[tuple[str, str, list[float]]]:
    """Per run and aspect, what is judged at the cutoffs; one row per run where aspects do not differ."""
    rows: list[tuple[str, str, list[float]]] = []
    for name, of_run in description.judged_at.groupby("name", sort=False):
        values = of_run.iloc[:, 2:]
        if len(of_run) > 1 and (values == values.iloc[0]).all(axis=None):
            rows.append((str(name), "all aspects", values.iloc[0].tolist()))
        else:
            rows += zip([str(name)] * len(of_run), of_run["aspect"], values.to_numpy().tolist(), strict=True)
    return rows


def bars(labels: pd.DataFrame) -> list[tuple[str, int, float, str]]:
    """What is drawn of the labels of one aspect: text, count, share and kind, long scales in ranges."""
    rows = [(spell(row.label), row.count, row.share, row.kind) for row in records(labels)]
    grades = labels[labels["kind"] == "grade"]
    if len(grades) <= _MOST_BARS:
        return rows
    used = [row for row in rows if row[1]]
    if len(used) <= _MOST_BARS:
        return used
    low, high = float(grades["label"].min()), float(grades["label"].max())
    edges = np.linspace(low, high, 11)
    whole = bool((grades["label"] % 1 == 0).all())
    if whole:
        edges = np.unique(np.round(edges))
    place = np.clip(np.searchsorted(edges, grades["label"], side="right") - 1, 0, len(edges) - 2)
    result = [row for row in rows if row[3] == "below the scale"]
    for at in range(len(edges) - 1):
        inside = grades[place == at]
        last = at == len(edges) - 2
        upper = edges[at + 1] - (1 if whole and not last else 0)
        text = f"{spell(round(float(edges[at]), 3))}..{'' if whole or last else '<'}{spell(round(float(upper), 3))}"
        result.append((text, int(inside["count"].sum()), float(inside["share"].sum()), "grade"))
    return result + [row for row in rows if row[3] == "out of scale"]


def _aspect(description: Description, row: Any) -> str:
    name = row.aspect
    lines = [heading(name), *wrapped(scale(row), "  "), *wrapped(facts(description, row), "  ")]
    drawn = bars(description.labels[description.labels["aspect"] == name])
    most = max((share for _, _, share, _ in drawn), default=0.0) or 1.0
    wide = max((len(text) for text, *_ in drawn), default=0)
    for text, count, share, kind in drawn:
        bar = "#" * max(round(_BAR * share / most), int(count > 0))
        mark = "" if kind == "grade" else f"  {kind}"
        lines.append(f"  {text:>{wide}} {bar:<{_BAR}} {count:>9} {percent(share):>6}{mark}")
    return "\n".join(lines)


def _table(head: list[str], rows: list[list[str]], widths: list[int]) -> list[str]:
    """Rows of cells, the first column to the left and the others to the right; the first rows of very many."""
    lines = []
    for cells in [head, *rows[:MOST_ROWS]]:
        fitted = [crop(cell, width) for cell, width in zip(cells, widths, strict=True)]
        first, *others = [
            f"{cell:<{width}}" if at == 0 else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(fitted, widths, strict=True))
        ]
        lines.append(f"  {'  '.join([first, *others])}".rstrip())
    if len(rows) > MOST_ROWS:
        lines.append(f"  ... and {len(rows) - MOST_ROWS} more")
    return lines


def _between(description: Description) -> str:
    if description.between.empty:
        return ""
    rows = []
    for row in records(description.between):
        tau = "-" if np.isnan(row.tau) else f"{row.tau:.2f}"
        rows.append(
            [
                f"{crop(row.first, 17)} - {crop(row.second, 17)}",
                str(row.both),
                str(row.only_first),
                str(row.only_second),
                f"{tau} ({row.topics})",
            ]
        )
    head = ["", "both", "only 1st", "only 2nd", "tau-b (topics)"]
    lines = _table(head, rows, [32, 8, 8, 8, 14])
    return "\n".join([heading("Between aspects: documents judged, Kendall's tau-b within topics"), *lines])


def _shares(description: Description) -> str:
    shares = description.distance_shares
    if shares.empty:
        return ""
    lines = [heading("Share of each aspect in TOMA's distance (documents at distance 0 left out)")]
    for order, rows in shares.groupby("order", sort=False):
        lines += wrapped(f"{order} ({number_of(int(rows['documents'].iloc[0]), 'document')})", "  ")
        for row in records(rows):
            bar = "" if np.isnan(row.share) else "#" * round(_BAR * row.share)
            lines.append(f"    {crop(row.aspect, 30):<30} {bar:<{_BAR}} {percent(row.share):>6}")
    return "\n".join(lines)


def _runs(description: Description) -> str:
    if description.runs.empty:
        return ""
    rows = [
        [
            row.name,
            str(row.topics),
            str(row.missed),
            str(row.unjudged_topics),
            str(row.documents),
            str(row.repeated),
            percent(row.tied),
        ]
        for row in records(description.runs)
    ]
    head = ["", "topics", "missed", "unjudged", "documents", "repeated", "tied"]
    lines = _table(head, rows, [23, 6, 6, 8, 9, 8, 6])
    cutoffs = [column for column in description.judged_at.columns if column.startswith("judged@")]
    judged = []
    for name, aspect, values in judged_rows(description):
        judged.append([f"{crop(name, 20)}: {crop(aspect, 18)}", *map(percent, values)])
    lines += ["", *_table(["judged in the top k", *cutoffs], judged, [40, *[9] * len(cutoffs)])]
    return "\n".join([heading("Runs"), *lines])


def _measures(description: Description) -> str:
    table = description.measures
    if table.empty:
        return ""
    lines = [heading("What values depend on")]
    for measure, rows in table.groupby("measure", sort=False):
        lines += wrapped(str(measure), "  ")
        for row in records(rows):
            lines += wrapped(f"{row.aspect}: {dependence(row)}", "    ")
    return "\n".join(lines)


def dependence(row: Any) -> str:
    """What a measure reads of an aspect, in words."""
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
    found = ", ".join(read) or ("" if unknown else "the order of labels at most")
    return "; ".join([found] * bool(found) + [f"unknown: {', '.join(unknown)}"] * bool(unknown))


def _findings(description: Description) -> str:
    if description.findings.empty:
        return "Findings: none"
    lines, declaring = [heading("Findings")], []
    for number, row in enumerate(records(description.findings), 1):
        title = f"{number}. {row.severity.upper()}{f' {row.aspects}' if row.aspects else ''}: {row.finding}"
        lines += textwrap.wrap(title, WIDTH, subsequent_indent="   ", break_on_hyphens=False)
        if declares(description, row):
            declaring.append(number)
            lines.append(f"     {BELOW}")
        else:
            lines += wrap_code(row.remedy, "     ")
    if declaring:
        lines += ["", *wrapped(f"{declared_by(declaring)}:", ""), *declared(description, "  ")]
    return "\n".join(lines)


#: The remedy of findings that the declaration at the end answers.
BELOW = "declare the scales as below"


def declares(description: Description, row: Any) -> bool:
    """Return whether the remedy of a finding is the proposed declaration."""
    return bool(row.remedy == declaration(description.proposed))


def declared_by(numbers: Sequence[int]) -> str:
    """Return the heading of the proposed declaration, with the numbers of its findings."""
    listed = f"finding{'s' * (len(numbers) > 1)} {choices(numbers)}"
    return f"Declaration for {listed}; check it before use"


def declared(description: Description, indent: str) -> list[str]:
    """Return the lines of the proposed declaration: Python code, or an option for the command line."""
    if not description.in_shell:
        return wrap_code(declaration(description.proposed), indent)
    # No quote may end the argument of the shell.
    specs = {name: aspect.to_spec() for name, aspect in description.proposed.items()}
    text = json.dumps(specs, ensure_ascii=False).replace("'", r"\u0027")
    lines = wrap_code(text, " " * (len(indent) + len("--aspects '")))
    lines[0] = f"{indent}--aspects '{lines[0].lstrip()}"
    return [*lines[:-1], f"{lines[-1]}'"]


def wrap_code(code: str, indent: str) -> list[str]:
    """Break code inside brackets, after commas if possible, so that what is printed can be pasted."""
    chunks, depth, end = [""], 0, 0
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
            continue
        chunks[-1] += code[end : token.end[1]]
        end = token.end[1]
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if depth and token.string in ",([{":
                chunks.append("")
    lines, line = [], indent
    for chunk in chunks:
        if len(line) + len(chunk.rstrip()) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = f"{indent}  {chunk.lstrip()}"
        else:
            line += chunk
    return [*lines, line.rstrip()]
