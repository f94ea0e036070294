"""The blocks of an explanation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from ..errors import number_of
from ..views import Bar, Block, Cells, Column, Heading, Row, Sentence, Table, bars, decimals
from .explained_topic import ExplainedTopic

#: Number of ranks that are shown.
_MOST_RANKS = 20
#: Identifiers are shortened in the middle if there is too little space.
_SHORTEN = 12
DOCNO = Column("docno", left=True, shorten=_SHORTEN)
#: A column, and its cells in the rows of ranks.
_Filled = tuple[Column, list[str]]


@dataclass(frozen=True)
class _Line:
    """A row of the ranking, or a line that replaces rows."""

    contribution: float
    running: float
    row: int | None = None
    text: str = ""
    #: The number of ranks that are hidden here.
    n_hidden: int = 0


def blocks(
    explanation: ExplainedTopic, ideal: ExplainedTopic | None, shortfall: pd.DataFrame | None
) -> list[Block]:
    """Return the whole explanation, with the shortfalls from a best ranking if one is known."""
    value = decimals(explanation.value)
    return [
        Heading(explanation.label),
        Sentence(f"topic {explanation.qid}, {explanation.run}: {value}"),
        *_ranking(explanation),
        *_aspects(explanation.aspects),
        *_swaps(explanation.swaps),
        *_shortfall(explanation.value, ideal, shortfall),
        *map(Sentence, explanation.notes),
    ]


def bars_of(values: list[float]) -> list[Bar]:
    """Return one bar per number."""
    return bars(values, [decimals(value) for value in values])


def gain_name(ranks: pd.DataFrame, details: list[str]) -> str:
    """Return the name of the column that shows the gain: a detail with the same numbers, or ``gain``."""
    gain = np.nan_to_num(_floats(ranks, "gain"))
    same = [name for name in details if np.array_equal(np.nan_to_num(_floats(ranks, name)), gain)]
    return same[0] if same else "gain"


def _floats(frame: pd.DataFrame, name: str) -> Floats:
    return frame[name].to_numpy(dtype=np.float64)


def _ranking(explanation: ExplainedTopic) -> list[Block]:
    lines = _lines(explanation.ranks)
    hidden = [line for line in lines if line.n_hidden]
    drawn: list[Bar | str] = [*bars_of([line.contribution for line in lines])]
    if explanation.offset:  # not a contribution of documents, so it has no bar
        lines.insert(0, _Line(explanation.offset, explanation.offset, text="offset"))
        drawn.insert(0, "")
    shown = explanation.ranks.iloc[[line.row for line in lines if line.row is not None]]
    columns = _columns(explanation, shown)
    ranks = iter(zip(*(cells for _, cells in columns), strict=True))
    unjudged = shown["note"].str.contains("unjudged").to_dict()
    has_unjudged = any(unjudged.values())
    rows = []
    for line, bar in zip(lines, drawn, strict=True):
        first = [line.text] if line.row is None else next(ranks)
        amounts: Cells = [decimals(line.contribution), bar, decimals(line.running)]
        mark = ["unjudged" if unjudged.get(line.row) else ""] if has_unjudged else []
        rows.append(Row([*first, *amounts, *mark], span=len(columns) if line.row is None else 1))
    heads = [column for column, _ in columns]
    heads += [Column("contribution"), Column("", left=True, redundant=True), Column("running")]
    if has_unjudged:
        heads.append(Column("", left=True))
    n_hidden, total = sum(line.n_hidden for line in hidden), sum(line.contribution for line in hidden)
    together = Sentence(f"Not shown: {n_hidden} ranks, which contribute {decimals(total)} together.")
    elsewhere = "`.ranks`, or --format csv of the command"
    return [Table(heads, rows, elsewhere=elsewhere, notes=[together] if len(hidden) > 1 else [])]


def _lines(ranks: pd.DataFrame) -> list[_Line]:
    """Return the rows to show of a ranking, and a line for each part that is left out.

    Of long rankings, the first third, the last rank, and the ranks that contribute most are shown.
    """
    contribution, running = _floats(ranks, "contribution"), _floats(ranks, "running")
    single = ranks["rank"].notna().to_numpy(dtype=bool)
    below = ranks["note"].str.contains("below the cutoff").to_numpy(dtype=bool)
    counting = np.flatnonzero(single & ~below)
    shown = np.ones(len(counting), dtype=np.bool_)
    if len(counting) > _MOST_RANKS + 1:
        size = np.abs(contribution[counting])
        size[: _MOST_RANKS // 3] = size[-1] = np.inf
        shown[np.argsort(-size, kind="stable")[_MOST_RANKS:]] = False
        # A line that replaces one rank takes as much space as the rank.
        alone = ~shown[1:-1] & shown[:-2] & shown[2:]
        shown[1:-1] |= alone
    lines = []
    for part in np.split(np.arange(len(counting)), np.flatnonzero(np.diff(shown)) + 1):
        rows = counting[part]
        if shown[part].all():
            lines += [_Line(float(contribution[row]), float(running[row]), row) for row in rows.tolist()]
        else:
            amount, end = float(contribution[rows].sum()), float(running[rows[-1]])
            lines.append(_Line(amount, end, text=f"... {len(rows)} more ranks", n_hidden=len(rows)))
    if below.any():
        text = f"{number_of(int(below.sum()), 'rank')} below the cutoff"
        lines.append(_Line(0.0, float(running[np.flatnonzero(below)[-1]]), text=text))
    for row in np.flatnonzero(~single).tolist():
        lines.append(_Line(float(contribution[row]), float(running[row]), text=str(ranks["note"].iloc[row])))
    return lines


def _columns(explanation: ExplainedTopic, ranks: pd.DataFrame) -> list[_Filled]:
    """Return the columns before the contribution, of some ranks."""
    names, details = list(ranks.columns), explanation.details
    parts = names[names.index("discount") + 1 : names.index("contribution")]
    columns = [
        (Column("rank"), list(map(str, ranks["rank"]))),
        (DOCNO, list(map(str, ranks["docno"]))),
        *((Column(name, spare=1), _brief(_floats(ranks, name))) for name in explanation.labels),
        *((Column(name, spare=2), _brief(_floats(ranks, name))) for name in details),
    ]
    gain, discount = _floats(ranks, "gain"), _floats(ranks, "discount")
    if not parts and not np.isnan(gain).all() and gain_name(explanation.ranks, details) == "gain":
        columns.append((Column("gain", spare=2), _brief(gain)))
    if not parts and not np.isnan(discount).all() and len(set(discount.tolist())) > 1:
        columns.append((Column("discount", spare=3), list(map(decimals, discount.tolist()))))
    columns += [(Column(name, spare=4), list(map(decimals, ranks[name].tolist()))) for name in parts]
    return columns


def _brief(values: Floats) -> list[str]:
    """Return labels or gains as text; whole numbers have no decimals."""
    known = values[~np.isnan(values)]
    digits = 15 if ((known == np.round(known)) & (np.abs(known) < 1e15)).all() else 4
    return ["-" if np.isnan(value) else spell(float(f"{value:.{digits}g}")) for value in values.tolist()]


def _aspects(aspects: pd.DataFrame) -> list[Block]:
    if len(aspects) < 2:
        return []
    rows = [[name, *map(decimals, numbers)] for name, *numbers in aspects.itertuples(index=False, name=None)]
    first, *others = aspects.columns
    return [Table([Column(first, left=True, shorten=_SHORTEN), *map(Column, others)], rows)]


def _swaps(swaps: pd.DataFrame | None) -> list[Block]:
    if swaps is None or swaps.empty:
        return []
    rows = [
        [f"{rank}-{rank + 1}", above, below, *(f"{error:g}" for error in errors), decimals(cost)]
        for rank, above, below, *errors, cost in swaps.head(5).itertuples(index=False, name=None)
    ]
    columns = [
        Column("ranks"),
        Column("above", left=True, shorten=_SHORTEN),
        Column("below", left=True, shorten=_SHORTEN),
        *(Column(name, spare=1) for name in swaps.columns[3:-1]),
        Column("cost"),
    ]
    return [Heading("Costliest errors of adjacent documents"), Table(columns, rows)]


def _shortfall(value: float, ideal: ExplainedTopic | None, shortfall: pd.DataFrame | None) -> list[Block]:
    if shortfall is None or ideal is None:
        return []
    best, short = ideal.value, ideal.value - value
    if short <= 1e-12:
        return [Sentence("This is a best ranking.")]
    table = shortfall[shortfall["shortfall"] > 1e-12]
    top = table.sort_values("shortfall", ascending=False, kind="stable").head(5)
    rows = [
        [_known(rank), _known(docno, note), decimals(own), _known(ideal), decimals(attained), decimals(amount)]
        for rank, docno, own, ideal, attained, amount, note in top.itertuples(index=False, name=None)
    ]
    columns = [
        Column("rank"),
        DOCNO,
        Column("contribution"),
        Column("in a best ranking", left=True, shorten=_SHORTEN),
        Column("contribution"),
        Column("shortfall"),
    ]
    title = f"A best ranking has {decimals(best)} ({decimals(short)} more). Largest shortfalls by rank"
    return [Heading(title), Table(columns, rows)]


def _known(name: object, note: str = "") -> str:
    return (note or "-") if pd.isna(name) else str(name)  # type: ignore[call-overload]
