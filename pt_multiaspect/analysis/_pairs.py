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
        The second runs of the pairs. By default, each run is paired with all that follow it.
    """
    if baseline is None:
        return make_pairs(names, combinations(in_order, 2))
    pairs = []
    for second in read_baselines(baseline, names):
        for first in in_order:
            if first != second:
                pairs.append((first, second))
    return make_pairs(names, pairs)


def make_pairs(names: list[Any], pairs: Iterable[tuple[Any, Any]]) -> Pairs:
    """Return pairs of runs that are given by name; `names` are the runs by row of the values."""
    row_of_name = {name: row for row, name in enumerate(names)}
    first_rows = []
    second_rows = []
    for first, second in pairs:
        first_rows.append(row_of_name[first])
        second_rows.append(row_of_name[second])
    first_array = np.array(first_rows, dtype=np.intp)
    second_array = np.array(second_rows, dtype=np.intp)
    return Pairs(names, first_array, second_array)


def read_baselines(baseline: str | Sequence[str], names: list[str]) -> list[str]:
    """Return the baselines as a list, after checking that they are systems."""
    is_list = isinstance(baseline, Sequence) and not isinstance(baseline, str)
    baselines: list[Any]
    if is_list:
        baselines = list(baseline)
    else:
        baselines = [baseline]
    if not baselines:
        # An empty list is an error that shows "none".
        refuse_unknown(["none"], names, "names of systems", "baseline")
    refuse_unknown(baselines, names, "names of systems", "baseline")
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
    pair_columns = pd.DataFrame(pairs)
    n_pairs = len(pair_columns)
    first_item_column = next(iter(items.values()))
    n_items = len(first_item_column)
    row_of_pair = pair_columns.index.repeat(n_items)
    table = pair_columns.loc[row_of_pair].reset_index(drop=True)
    for name, column in items.items():
        table[name] = list(column) * n_pairs
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
    n_pairs = len(pairs)
    if n_pairs > most:
        note += f" The {most} pairs shown are those that depend most on the choice;"
        note += f" `.pairs` has all {n_pairs}."
        by_balance = balance.abs().to_numpy().argsort(kind="stable")
        pairs = pairs.iloc[by_balance]
    rows: list[list[str | Cell]] = []
    for pair in pairs.to_dict("records"):
        cells: list[str | Cell] = []
        cells.append(str(pair["a"]))
        cells.append(str(pair["b"]))
        cells.append(decimals(pair["difference"]))
        cells.append(decimals(pair["p"]))
        cells.extend(further_cells(pair))
        rows.append(cells)
    name_columns = [Column("a", left=True, shorten=12), Column("b", left=True, shorten=12)]
    table = Table([*name_columns, *columns], rows, most=most)
    return [table, Sentence(note)]


def joint_level(confidence: float, n_intervals: int) -> str:
    """Return the level that several intervals have together: '95 % for all three'."""
    level = level_text(confidence)
    if n_intervals == 2:
        return f"{level} for both"
    number = _NUMBERS.get(n_intervals, n_intervals)
    return f"{level} for all {number}"


def share(number: int, total: int, noun: str, singular: str, plural: str) -> str:
    """Return how many of all do what a verb says: '1 of 2 pairs has'.

    The verb is given in the singular and in the plural.
    """
    of_all = number_of(total, noun)
    verb = agree(number, total, singular, plural)
    return f"{number} of {of_all} {verb}"


def significant_share(kept: int, n_significant: int, level: str, under: str) -> str:
    """Return a sentence on how many significant differences remain so under other conditions."""
    if not n_significant:
        return f"No difference is significant ({level})."
    differences = number_of(n_significant, "significant difference")
    verb = agree(kept, n_significant, "remains", "remain")
    return f"{kept} of {differences} ({level}) {verb} significant, with the same sign, {under}."
