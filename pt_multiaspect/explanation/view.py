"""Rows, columns and number formats of explanations, for text and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from ..errors import number_of

if TYPE_CHECKING:
    from .explanation import Explanation

__all__ = [
    "PARTS",
    "Column",
    "Line",
    "columns_of",
    "decimals",
    "differing",
    "gain_name",
    "hidden_ranks",
    "lines_of",
    "most_costly",
]


#: `Column.spare` of the columns of the parts of aspects.
PARTS = 4


@dataclass(frozen=True)
class Column:
    """A column of a table, as text."""

    head: str
    cells: list[str]
    #: Columns of a higher number are left out first where there is no room; 0 stays.
    spare: int = 0
    left: bool = False


@dataclass(frozen=True)
class Line:
    """A row of the ranking, or a line that replaces hidden rows."""

    row: int | None
    text: str = ""
    contribution: float = 0.0
    running: float = 0.0
    #: The number of ranks that are hidden here.
    n_hidden: int = 0


def decimals(value: float) -> str:
    """Return a number with four decimals, or few digits if it is very small or large; '-' if there is none."""
    if np.isnan(value):
        return "-"
    if value and (abs(value) < 5e-5 or abs(value) >= 1e6):
        return f"{value:.2g}"
    return f"{value:.4f}"


def brief(values: Floats) -> list[str]:
    """Return labels or gains as text; whole numbers have no decimals."""
    if all(value == round(value) and abs(value) < 1e15 for value in values[~np.isnan(values)].tolist()):
        return ["-" if np.isnan(value) else spell(value) for value in values.tolist()]
    return ["-" if np.isnan(value) else spell(float(f"{value:.4g}")) for value in values.tolist()]


def lines_of(ranks: pd.DataFrame, most: int) -> list[Line]:
    """Return the rows to show of a ranking, and a line for each part that is left out.

    Of long rankings, these are the first third of `most` ranks, the last one, and those that contribute most.
    """
    contribution, running = (ranks[name].to_numpy(dtype=np.float64) for name in ("contribution", "running"))
    single = ranks["rank"].notna().to_numpy(dtype=bool)
    below = ranks["note"].str.contains("below the cutoff").to_numpy(dtype=bool)
    counting = np.flatnonzero(single & ~below)
    shown = np.ones(len(counting), dtype=np.bool_)
    if len(counting) > most + 1:
        size = np.abs(contribution[counting])
        size[: most // 3] = size[-1] = np.inf
        shown[np.argsort(-size, kind="stable")[most:]] = False
        # A line that stands for one rank takes as much room as the rank.
        alone = ~shown[1:-1] & shown[:-2] & shown[2:]
        shown[1:-1] |= alone
    lines: list[Line] = []
    for part in np.split(np.arange(len(counting)), np.flatnonzero(np.diff(shown)) + 1):
        rows = counting[part]
        if shown[part].all():
            lines += map(Line, rows.tolist())
        else:
            text, end = f"... {len(rows)} more ranks", float(running[rows[-1]])
            lines.append(Line(None, text, float(contribution[rows].sum()), end, len(rows)))
    n_below = int(below.sum())
    if n_below:
        end = float(running[np.flatnonzero(below)[-1]])
        lines.append(Line(None, f"{number_of(n_below, 'rank')} below the cutoff", 0.0, end))
    for row in np.flatnonzero(~single).tolist():
        lines.append(Line(None, str(ranks["note"].iloc[row]), float(contribution[row]), float(running[row])))
    return lines


def hidden_ranks(lines: list[Line]) -> str | None:
    """Return a sentence on the sum of all hidden ranks; None unless several lines hide ranks."""
    hidden = [line for line in lines if line.n_hidden]
    if len(hidden) < 2:
        return None
    together = decimals(sum(line.contribution for line in hidden))
    return f"Not shown: {sum(line.n_hidden for line in hidden)} ranks, which contribute {together} together."


def differing(documents: pd.DataFrame, most: int) -> tuple[pd.DataFrame, str | None]:
    """Return the documents whose contributions differ most, and the number and the sum of the others."""
    named = documents[documents["docno"].notna() & (documents["difference"] != 0)]
    hidden = named["difference"].iloc[most:]
    if hidden.empty:
        return named, None
    return named.head(most), f"{number_of(len(hidden), 'more document')}: {decimals(float(hidden.sum()))}"


def columns_of(explanation: Explanation, rows: list[int]) -> list[Column]:
    """Return the columns to show of some ranks."""
    ranks = explanation.ranks.iloc[rows]
    columns = [
        Column("rank", [str(rank) for rank in ranks["rank"]]),
        Column("docno", [str(docno) for docno in ranks["docno"]], left=True),
    ]
    names, details = list(explanation.ranks.columns), explanation.details
    gain = ranks["gain"].to_numpy(dtype=np.float64)
    for name in explanation.labels:
        columns.append(Column(name, brief(ranks[name].to_numpy(dtype=np.float64)), spare=1))
    for name in details:
        values = ranks[name].to_numpy(dtype=np.float64)
        columns.append(Column(name, brief(values), spare=2))
    parts = names[names.index("discount") + 1 : names.index("contribution")]
    if not np.isnan(gain).all() and gain_name(explanation.ranks, details) == "gain" and not parts:
        columns.append(Column("gain", brief(gain), spare=2))
    discount = ranks["discount"].to_numpy(dtype=np.float64)
    if not parts and not np.isnan(discount).all() and len(set(discount.tolist())) > 1:
        columns.append(Column("discount", [decimals(value) for value in discount.tolist()], spare=3))
    for name in parts:
        columns.append(Column(name, [decimals(value) for value in ranks[name].tolist()], spare=PARTS))
    for name in ("contribution", "running"):
        columns.append(Column(name, [decimals(value) for value in ranks[name].tolist()]))
    unjudged = ["unjudged" if "unjudged" in note else "" for note in ranks["note"]]
    if any(unjudged):
        columns.append(Column("", unjudged, left=True))
    return columns


def gain_name(ranks: pd.DataFrame, details: list[str]) -> str:
    """Return the name of the column that shows the gain: a detail with the same numbers, or ``gain``."""
    gain = np.nan_to_num(ranks["gain"].to_numpy(dtype=np.float64))
    same = [name for name in details if np.array_equal(np.nan_to_num(ranks[name].to_numpy(dtype=np.float64)), gain)]
    return same[0] if same else "gain"


def most_costly(table: pd.DataFrame, column: str, most: int = 5) -> pd.DataFrame:
    """Return the rows with the highest positive numbers of a column, highest first."""
    costly = table[table[column] > 1e-12]
    return costly.sort_values(column, ascending=False, kind="stable").head(most)
