"""Explanations and comparisons as HTML that needs no other file; colours follow the page, dark or light."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .. import _rendering
from .._rendering import MOST_ROWS, table
from ..errors import number_of
from .view import Line, columns_of, decimals, differing, hidden_ranks, lines_of, most_costly

if TYPE_CHECKING:
    from .comparison import Comparison
    from .explanation import Explanation

__all__ = ["draw_comparison", "draw_explanation"]

#: Number of ranks that are shown.
_MOST_RANKS = 35
_BAR = 120
#: The text of the line without a bar: the offset is not a contribution of documents.
_OFFSET = "offset"


def draw_explanation(explanation: Explanation) -> str:
    """Return the explanation as an HTML element."""
    title = (
        f"<h3>{escape(explanation.label)}</h3><p>topic {escape(explanation.qid)}, {escape(explanation.run)}: "
        f"<b>{decimals(explanation.value)}</b></p>"
    )
    parts = [title, _ranking(explanation)]
    if len(explanation.aspects) > 1:
        parts.append(_numbers(explanation.aspects, ["aspect"], ["value", "weight", "part"]))
    if explanation.swaps is not None and not explanation.swaps.empty:
        errors = list(explanation.swaps.columns[3:-1])
        swaps = explanation.swaps.head(5).rename(columns={"docno": "above", "next_docno": "below"})
        ranks = [f"{rank}–{rank + 1}" for rank in swaps["rank"].tolist()]
        whole = {name: [f"{error:g}" for error in swaps[name].tolist()] for name in errors}
        of_pairs = _numbers(swaps.assign(ranks=ranks, **whole), ["ranks", "above", "below", *errors], ["cost"])
        parts.append(f"<h3>Costliest errors of adjacent documents</h3>{of_pairs}")
    parts.append(_shortfall(explanation))
    if explanation.notes:
        parts.append("".join(f"<p>{escape(note)}</p>" for note in explanation.notes))
    return _rendering.fragment("".join(parts))


def draw_comparison(comparison: Comparison) -> str:
    """Return the comparison as an HTML element."""
    a, b = comparison.names
    title = (
        f"<h3>{escape(comparison.a.label)}</h3><p>topic {escape(comparison.a.qid)}: "
        f"{escape(a)} <b>{decimals(comparison.a.value)}</b>, {escape(b)} <b>{decimals(comparison.b.value)}</b>, "
        f"difference <b>{decimals(comparison.difference)}</b></p>"
    )
    top, hidden = differing(comparison.documents, MOST_ROWS)
    documents = pd.concat([top, comparison.documents[comparison.documents["docno"].isna()]])
    bars = _bars(documents["difference"].to_numpy(dtype=np.float64))
    rows = []
    for index, bar in enumerate(bars):
        row = documents.iloc[index]
        docno = row["docno"] if isinstance(row["docno"], str) else row["note"]
        ranks = ["–" if pd.isna(row[f"rank_{side}"]) else str(row[f"rank_{side}"]) for side in "ab"]
        numbers = [decimals(float(row[name])) for name in ("contribution_a", "contribution_b", "difference")]
        rows.append([escape(docno), *ranks, *numbers, bar])
    ranked = [f"rank in {escape(name)}" for name in (a, b)]
    head = ["docno", *ranked, *(f"contribution in {escape(name)}" for name in (a, b)), "difference", ""]
    same = int((comparison.documents["docno"].notna() & (comparison.documents["difference"] == 0)).sum())
    more = f"<p>… and {hidden}.</p>" if hidden else ""
    more += f"<p>{number_of(same, 'document')} without a difference.</p>" if same else ""
    return _rendering.fragment(f"{title}{table(head, rows, most=len(rows))}{more}")


def _ranking(explanation: Explanation) -> str:
    lines = lines_of(explanation.ranks, _MOST_RANKS)
    hidden = hidden_ranks(lines)
    if explanation.offset:
        lines.insert(0, Line(None, _OFFSET, explanation.offset, explanation.offset))
    shown = [line.row for line in lines if line.row is not None]
    columns = columns_of(explanation, shown)
    if not columns[-1].head:  # marks unjudged documents: beside their names
        columns.insert(2, columns.pop())
    values = explanation.ranks["contribution"].to_numpy(dtype=np.float64)
    drawn = [line for line in lines if line.text != _OFFSET]
    amounts = [line.contribution if line.row is None else values[line.row] for line in drawn]
    bars = iter(_bars(np.array(amounts, dtype=np.float64)))
    at = next(index for index, column in enumerate(columns) if column.head == "contribution")
    body, row = [], 0
    for line in lines:
        bar = "<td></td>" if line.text == _OFFSET else f"<td>{next(bars)}</td>"
        if line.row is None:
            cells = [f"<td>{decimals(line.contribution)}</td>", bar, f"<td>{decimals(line.running)}</td>"]
            body.append(f'<tr><td class=l colspan="{at}">{escape(line.text)}</td>{"".join(cells)}</tr>')
            continue
        cells = [f"<td{' class=n' if column.left else ''}>{escape(column.cells[row])}</td>" for column in columns]
        cells.insert(at + 1, bar)
        body.append(f"<tr>{''.join(cells)}</tr>")
        row += 1
    heads = [f"<th{' class=n' if column.left else ''}>{escape(column.head)}</th>" for column in columns]
    heads.insert(at + 1, "<th></th>")
    return (
        f'<div class="wide"><table><thead><tr>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>" + (f"<p>{hidden}</p>" if hidden else "")
    )


def _bars(values: np.ndarray) -> list[str]:
    """Return one bar per number on a common scale; bars of negative numbers extend to the left of zero."""
    low, high = min(0.0, float(values.min(initial=0.0))), max(0.0, float(values.max(initial=0.0)))
    span = (high - low) or 1.0
    zero = -low / span * _BAR
    bars = []
    for value in values.tolist():
        width = abs(value) / span * _BAR
        start = zero if value >= 0 else zero - width
        shade = ".65" if value >= 0 else ".35"
        axis = f'<rect x="{zero:.2f}" width="1" height="11" opacity=".5"/>' if low < 0 else ""
        bars.append(
            f'<svg width="{_BAR}" height="11" role="img" aria-label="{decimals(value)}">'
            f'<rect x="{start:.2f}" width="{width:.2f}" height="11" opacity="{shade}"/>{axis}</svg>'
        )
    return bars


def _numbers(frame: pd.DataFrame, names: list[str], numbers: list[str]) -> str:
    rows = [
        [*(escape(str(cell)) for cell in texts), *(decimals(float(value)) for value in values)]
        for texts, values in zip(
            frame[names].to_numpy(dtype=object).tolist(), frame[numbers].to_numpy().tolist(), strict=True
        )
    ]
    return table([escape(name) for name in (*names, *numbers)], rows, left=len(names))


def _shortfall(explanation: Explanation) -> str:
    if explanation.shortfall is None or explanation.ideal is None:
        return ""
    ideal, short = explanation.ideal.value, explanation.ideal.value - explanation.value
    if short <= 1e-12:
        return "<p>This is a best ranking.</p>"
    top = most_costly(explanation.shortfall, "shortfall")
    rows = []
    for rank, docno, contribution, best, of_best, shortfall, note in top.to_numpy(dtype=object).tolist():
        names = [escape(name) if isinstance(name, str) else "–" for name in (docno or note or None, best)]
        amounts = [decimals(float(amount)) for amount in (contribution, of_best, shortfall)]
        rows.append(["–" if rank is pd.NA else str(rank), names[0], amounts[0], names[1], *amounts[1:]])
    head = ["rank", "docno", "contribution", "in a best ranking", "contribution", "shortfall"]
    title = f"A best ranking has {decimals(ideal)} ({decimals(short)} more). Largest shortfalls by rank"
    return f"<h3>{title}</h3>{table(head, rows, left=0)}"
