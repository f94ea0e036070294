"""Explanations and comparisons as plain text of at most 80 columns."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from .._rendering import WIDTH, crop, heading
from ..errors import number_of
from .view import PARTS, Column, Line, columns_of, decimals, differing, hidden_ranks, lines_of, most_costly

if TYPE_CHECKING:
    from .comparison import Comparison
    from .explanation import Explanation

__all__ = ["draw_comparison", "draw_explanation"]

#: Numbers of ranks, and of documents of a comparison, that are shown.
_MOST_RANKS, _MOST_DOCUMENTS = 18, 20


def draw_explanation(explanation: Explanation) -> str:
    """Return the explanation as text."""
    lines = [
        *_title(explanation.label),
        f"topic {crop(explanation.qid, 34)}, {crop(explanation.run, 24)}: {decimals(explanation.value)}",
        "",
    ]
    lines += _ranking(explanation, lines_of(explanation.ranks, _MOST_RANKS))
    if len(explanation.aspects) > 1:
        lines += ["", *_aspects(explanation)]
    if explanation.swaps is not None and not explanation.swaps.empty:
        lines += ["", heading("Costliest errors of adjacent documents"), *_swaps(explanation)]
    lines += _shortfall(explanation)
    if explanation.notes:
        lines += ["", *(line for note in explanation.notes for line in _note(note))]
    return "\n".join(line.rstrip() for line in lines)


def draw_comparison(comparison: Comparison) -> str:
    """Return the comparison as text."""
    a, b = comparison.names
    lines = _title(comparison.a.label)
    lines.append(f"topic {crop(comparison.a.qid, 60)}")
    for side, name, value in (("a", a, comparison.a.value), ("b", b, comparison.b.value)):
        lines.append(f"{side if name == side else f'{side} = {crop(name, 50)}'}: {decimals(value)}")
    lines += [f"a - b = {decimals(comparison.difference)}", ""]
    documents = comparison.documents
    top, hidden = differing(documents, _MOST_DOCUMENTS)
    columns = [
        Column("docno", [str(docno) for docno in top["docno"]], left=True),
        *(Column(f"rank {side}", [_rank(rank) for rank in top[f"rank_{side}"].tolist()]) for side in "ab"),
        *(Column(f"contrib. {side}", [decimals(value) for value in top[f"contribution_{side}"]]) for side in "ab"),
        Column("difference", [decimals(value) for value in top["difference"]]),
    ]  # fmt: skip
    lines += _table(columns)
    if hidden:
        lines.append(f"... {hidden}")
    rest = documents[documents["docno"].isna()]
    for note, difference in zip(rest["note"], rest["difference"].tolist(), strict=True):
        lines.append(f"{crop(note, 60)}: {decimals(difference)}")
    same = int((documents["docno"].notna() & (documents["difference"] == 0)).sum())
    if same:
        lines.append(f"{number_of(same, 'document')} without a difference")
    return "\n".join(line.rstrip() for line in lines)


def _title(label: str) -> list[str]:
    """Return the lines of a measure."""
    return textwrap.wrap(label, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _note(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _ranking(explanation: Explanation, shown: list[Line]) -> list[str]:
    rows_shown = [line.row for line in shown if line.row is not None]
    columns, left_out = _fitted(columns_of(explanation, rows_shown))
    widths = _widths(columns)
    rows = iter(_table(columns))
    lines = [next(rows)]
    at = next(index for index, column in enumerate(columns) if column.head.startswith("contrib"))
    indent = sum(widths[:at]) + at - 1
    if explanation.offset:
        lines.append(_amount("offset", explanation.offset, explanation.offset, indent, widths[at : at + 2]))
    for line in shown:
        if line.row is not None:
            lines.append(next(rows))
        else:
            lines.append(_amount(line.text, line.contribution, line.running, indent, widths[at : at + 2]))
    hidden = hidden_ranks(shown)
    if hidden:
        lines += _note(hidden)
    if left_out:
        lines += _note(
            f"Not shown for lack of room: {', '.join(left_out)} (see `.ranks`, or --format csv of the command)."
        )
    return lines


def _amount(text: str, contribution: float, running: float, indent: int, widths: list[int]) -> str:
    """Return a line with text instead of the columns before the contribution."""
    first, second = widths
    return f"{crop(text, indent):<{indent}} {decimals(contribution):>{first}} {decimals(running):>{second}}"


def _widths(columns: list[Column]) -> list[int]:
    return [max(map(len, [column.head, *column.cells])) for column in columns]


def _total(columns: list[Column]) -> int:
    return sum(_widths(columns)) + len(columns) - 1


def _fitted(columns: list[Column]) -> tuple[list[Column], list[str]]:
    """Return columns that fit into a line, and the heads of those left out; shorten names and identifiers first."""
    fitted = [_short_cells(column, 28) if column.head == "docno" else column for column in columns]
    for width in (12, 9, 7, 5):
        if _total(fitted) <= WIDTH:
            return fitted, []
        fitted = [replace(c, head="contrib.") if c.head == "contribution" else c for c in fitted]
        fitted = [replace(c, head=_abbreviated(c.head, width)) if c.spare else c for c in fitted]
        fitted = [_short_cells(c, max(9 + width, 16)) if c.head == "docno" else c for c in fitted]
    spare = max(column.spare for column in columns)
    if _total(fitted) <= WIDTH or not spare:
        return fitted, []
    dispensable = [at for at, column in enumerate(columns) if column.spare == spare]
    dropped = dispensable if spare == PARTS else dispensable[-1:]  # parts of aspects: all or none
    kept, more = _fitted([column for at, column in enumerate(columns) if at not in dropped])
    return kept, [*more, *(columns[at].head for at in dropped)]


def _abbreviated(head: str, width: int) -> str:
    if len(head) <= width:
        return head
    first, blank, last = head.rpartition(" ")  # "relevance part" becomes "rel. part"
    if not blank:
        return f"{head[: width - 1]}."
    n_kept = width - len(last) - 2
    return f"{first[:n_kept]}. {last}" if n_kept >= 2 else f"{first[:2]} {last}"


def _short_cells(column: Column, width: int) -> Column:
    """Shorten long identifiers to their beginning and end."""
    tail = width // 3
    cells = [cell if len(cell) <= width else f"{cell[: width - tail - 2]}..{cell[-tail:]}" for cell in column.cells]
    return replace(column, cells=cells)


def _table(columns: list[Column]) -> list[str]:
    """Return one line of heads and one line per row."""
    widths = _widths(columns)
    rows = [[column.head for column in columns], *zip(*(column.cells for column in columns), strict=True)]
    return [
        " ".join(
            f"{cell:<{width}}" if column.left else f"{cell:>{width}}"
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in rows
    ]


def _aspects(explanation: Explanation) -> list[str]:
    columns = [Column("aspect", [crop(name, 30) for name in explanation.aspects["aspect"]], left=True)]
    for name in ("value", "weight", "part"):
        columns.append(Column(name, [decimals(value) for value in explanation.aspects[name].tolist()]))
    return _table(columns)


def _swaps(explanation: Explanation) -> list[str]:
    assert explanation.swaps is not None
    top = explanation.swaps.head(5)
    errors = [
        Column(_abbreviated(name, 18), [f"{value:g}" for value in top[name].tolist()], spare=1)
        for name in top.columns[3:-1]
    ]
    columns, _ = _fitted(
        [
            Column("rank", [f"{rank}-{rank + 1}" for rank in top["rank"].tolist()]),
            _short_cells(Column("above", list(top["docno"]), left=True), 16),
            _short_cells(Column("below", list(top["next_docno"]), left=True), 16),
            *errors,
            Column("cost", [decimals(value) for value in top["cost"].tolist()]),
        ]
    )
    return _table(columns)


def _shortfall(explanation: Explanation) -> list[str]:
    if explanation.shortfall is None or explanation.ideal is None:
        return []
    best, short = explanation.ideal.value, explanation.ideal.value - explanation.value
    if short <= 1e-12:
        return ["", "This is a best ranking."]
    top = most_costly(explanation.shortfall, "shortfall")
    columns = [
        Column("rank", [_rank(rank) for rank in top["rank"].tolist()]),
        _short_cells(
            Column("docno", [_named(*names) for names in zip(top["docno"], top["note"], strict=True)], left=True),
            20,
        ),
        Column("contrib.", [decimals(value) for value in top["contribution"].tolist()]),
        _short_cells(Column("best docno", [_named(docno) for docno in top["ideal_docno"]], left=True), 20),
        Column("contrib.", [decimals(value) for value in top["ideal_contribution"].tolist()]),
        Column("shortfall", [decimals(value) for value in top["shortfall"].tolist()]),
    ]
    title = f"A best ranking has {decimals(best)} ({decimals(short)} more). Largest shortfalls by rank"
    return ["", heading(title), *_table(columns)]


def _rank(rank: object) -> str:
    return "-" if rank is pd.NA else str(rank)


def _named(docno: object, note: str = "") -> str:
    return docno if isinstance(docno, str) else note or "-"
