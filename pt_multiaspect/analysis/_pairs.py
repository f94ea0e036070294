"""Pairs of runs, for analyses of long frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..errors import agree, number_of, refuse_repeated, refuse_unknown
from ..views import Block, Cell, Column, Sentence, Table, decimals, level_text

_NUMBERS = {
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
    10: "ten",
}

#: Maximum number of pairs that printed results contain.
MAX_SHOWN = 20


@dataclass(frozen=True)
class Pairs:
    """Pairs of runs."""

    #: The runs, by row of the values.
    names: list[Any]
    #: The rows of the runs a and b of each pair.
    first: Ints
    second: Ints

    def __len__(self) -> int:
        return len(self.first)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The columns ``a`` and ``b`` of results: the names of both runs."""
        first_names = [self.names[row] for row in self.first]
        second_names = [self.names[row] for row in self.second]
        return {"a": first_names, "b": second_names}


def pairs_of_runs(
    names: list[Any], in_order: list[Any], baseline: str | Sequence[str] | None
) -> Pairs:
    """Return the pairs of runs that are compared.

    Parameters
    ----------
    names : list
        The runs, by row of the values.
    in_order : list
        The same, in the order of the pairs.
    baseline : str, sequence of str or None
        The second runs of the pairs; None for all pairs, of which one run has none.
    """
    if baseline is None:
        return make_pairs(names, combinations(in_order, 2))
    baselines = read_baselines(baseline, names)
    return make_pairs(names, [(a, b) for b in baselines for a in in_order if a != b])


def make_pairs(names: list[Any], pairs: Iterable[tuple[Any, Any]]) -> Pairs:
    """Return pairs of runs that are given by name; `names` are the runs by row of the values."""
    row = {name: index for index, name in enumerate(names)}
    rows_of_pairs = [(row[a], row[b]) for a, b in pairs]
    rows = np.array(rows_of_pairs, dtype=np.intp).reshape(-1, 2)
    return Pairs(names, rows[:, 0], rows[:, 1])


def read_baselines(baseline: str | Sequence[str], names: list[str]) -> list[str]:
    """Return the baselines as a list, after checking that they are systems."""
    several = isinstance(baseline, Sequence) and not isinstance(baseline, str)
    if several:
        baselines: list[Any] = list(baseline)
    else:
        baselines = [baseline]
    refuse_unknown(baselines or ["none"], names, "names of systems", "baseline")
    refuse_repeated(baselines, "names", "baseline")
    return baselines


def rows_per_pair(
    pairs: Mapping[str, Any], items: Mapping[str, Sequence[Any]], statistics: Mapping[str, Floats]
) -> pd.DataFrame:
    """Return a frame with one row per pair and item.

    Parameters
    ----------
    pairs : mapping of str to object
        The columns that identify the pairs.
    items : mapping of str to sequence
        The columns that identify the items of each pair, such as aspects or variants.
    statistics : mapping of str to ndarray, pairs × items
        The other columns.
    """
    keys = pd.DataFrame(pairs)
    n_items = len(next(iter(items.values())))
    table = keys.loc[keys.index.repeat(n_items)].reset_index(drop=True)
    for name, column in items.items():
        table[name] = [*column] * len(keys)
    for name, values in statistics.items():
        table[name] = values.ravel()
    return table


def pairs_blocks(
    pairs: pd.DataFrame,
    balance: pd.Series[float],
    columns: Sequence[Column],
    further_cells: Callable[[dict[Any, Any]], Sequence[str | Cell]],
    note: str,
    most: int = MAX_SHOWN,
) -> list[Block]:
    """Return the table of pairs that results print, and a note on it.

    Parameters
    ----------
    pairs : DataFrame
        One row per pair, with the columns ``a b difference p``.
    balance : Series of float
        How much the choices agree on each pair; if there are too many, those with a balance near 0
        come first.
    columns : sequence of Column
        The columns after those of the names: the difference, p and further ones.
    further_cells : callable
        Returns the further cells of a row.
    note : str
        The explanation of the columns, to which the number of pairs that are not shown is added.
    most : int
        The maximum number of pairs.
    """
    if len(pairs) > most:
        note += f" The {most} pairs shown are those that depend most on the choice; `.pairs` has all {len(pairs)}."
        pairs = pairs.iloc[balance.abs().to_numpy().argsort(kind="stable")]
    rows = [
        [
            str(row["a"]),
            str(row["b"]),
            decimals(row["difference"]),
            decimals(row["p"]),
            *further_cells(row),
        ]
        for row in pairs.to_dict("records")
    ]
    heads = [*(Column(key, left=True, shorten=12) for key in ("a", "b")), *columns]
    return [Table(heads, rows, most=most), Sentence(note)]


def joint_level(confidence: float, n_intervals: int) -> str:
    """Return the level that several intervals have together: '95 % for all three'."""
    if n_intervals == 2:
        together = "both"
    else:
        together = f"all {_NUMBERS.get(n_intervals, n_intervals)}"
    return f"{level_text(confidence)} for {together}"


def share(number: int, total: int, noun: str, one: str, several: str) -> str:
    """Return how many of all do what the verb says, in the singular or plural: '1 of 2 pairs has'."""
    return f"{number} of {number_of(total, noun)} {agree(number, total, one, several)}"


def significant_share(kept: int, n_significant: int, level: str, under: str) -> str:
    """Return how many of the significant differences remain so under other conditions, in a sentence."""
    if not n_significant:
        return f"No difference is significant ({level})."
    verb = agree(kept, n_significant, "remains", "remain")
    of_all = f"{kept} of {number_of(n_significant, 'significant difference')}"
    return f"{of_all} ({level}) {verb} significant, with the same sign, {under}."
