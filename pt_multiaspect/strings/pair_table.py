"""The judged (query, document) pairs as a hash table, to find those of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Ints
from .texts import Texts, Words

_QUERY = np.uint64(0xA0761D6478BD642F)


def pair_keys(query: Ints, docnos: Texts) -> Words:
    """Return a 64-bit key per (query, document), equal for equal pairs.

    Rarely, different pairs share one.
    """
    keys = docnos.hashes()
    keys += query.astype(np.uint64) * _QUERY
    return keys


#: Keys looked up at once, so that intermediate arrays stay in the processor's cache.
_BLOCK = 1 << 14

#: Minimum number of slots per occupied slot.
_SLOTS_PER_KEY = 8


class PairTable:
    """An open-addressing hash table from (query, document) to rows.

    Each query has its own slots: rows of a query are mostly adjacent in a run, so that their slots
    are in the processor's cache.

    Parameters
    ----------
    query : ndarray of int, shape (n_rows,)
        The query of each row.
    docnos : Texts
        The document of each row. Pairs are distinct.
    """

    def __init__(self, query: Ints, docnos: Texts) -> None:
        self._query = query
        self._docnos = docnos
        self._keys = pair_keys(query, docnos)
        least_slots = _SLOTS_PER_KEY * np.bincount(query)
        _, n_bits = np.frexp(least_slots - 1)
        n_slots = np.left_shift(1, n_bits, dtype=np.intp)
        #: The shift of the first bits of a key, and the first and last slot of each query.
        self._shift = (64 - n_bits).astype(np.uint64)
        self._first = np.cumsum(n_slots) - n_slots
        self._last = n_slots - 1
        self._row_at: NDArray[np.int32] = np.full(n_slots.sum(), -1, dtype=np.int32)
        #: The slots that were already taken by another key.
        self._was_left: Bools = np.zeros(len(self._row_at), dtype=np.bool_)
        rows = np.arange(len(query), dtype=np.int32)
        step = 0
        while len(rows):
            slots = self._slots(query[rows], self._keys[rows], step)
            is_vacant = self._row_at[slots] < 0
            self._row_at[slots[is_vacant]] = rows[is_vacant]
            is_left = self._row_at[slots] != rows
            if step == 0:
                self._was_left[slots[is_left]] = True
            rows = rows[is_left]
            step += 1

    def _slots(self, query: Ints, keys: Words, step: int) -> Ints:
        """Return the slots `step` after those of the keys.

        After the last slot of a query comes its first one.
        """
        slots = (keys >> self._shift[query]).astype(np.intp)
        if step:
            slots += step
            slots &= self._last[query]
        slots += self._first[query]
        return slots

    def lookup(self, query: Ints, docnos: Texts) -> tuple[Ints, Words]:
        """Return the row of each (query, document), -1 if there is none, and the `pair_keys`.

        Parameters
        ----------
        query : ndarray of int, shape (n,)
        docnos : Texts
        """
        rows = np.full(len(query), -1, dtype=np.intp)
        keys = np.empty(len(query), dtype=np.uint64)
        undecided = [np.zeros(0, dtype=np.intp)]
        for begin in range(0, len(query), _BLOCK):
            part = slice(begin, begin + _BLOCK)
            part_query = query[part]
            part_keys = pair_keys(part_query, docnos.take(part))
            keys[part] = part_keys
            slots = self._slots(part_query, part_keys, 0)
            occupied = np.flatnonzero(self._row_at[slots] >= 0)
            slots = slots[occupied]
            asked = occupied + begin
            is_missed = self._compare(rows, asked, self._row_at[slots], query, docnos, keys)
            is_undecided = is_missed & self._was_left[slots]
            undecided.append(asked[is_undecided])
        asked = np.concatenate(undecided)
        step = 0
        while len(asked):
            step += 1
            slots = self._slots(query[asked], keys[asked], step)
            row = self._row_at[slots]
            occupied = np.flatnonzero(row >= 0)
            asked = asked[occupied]
            is_missed = self._compare(rows, asked, row[occupied], query, docnos, keys)
            asked = asked[is_missed]
        return rows, keys

    def _compare(
        self,
        rows: Ints,
        asked: Ints,
        row: NDArray[np.int32],
        query: Ints,
        docnos: Texts,
        keys: Words,
    ) -> Bools:
        """Set `rows` where the pairs at `asked` equal those of `row`; return where they do not."""
        alike = np.flatnonzero(self._keys[row] == keys[asked])
        asked_alike = asked[alike]
        row_alike = row[alike]
        has_same_query = self._query[row_alike] == query[asked_alike]
        table_docnos = self._docnos.take(row_alike)
        has_same_docno = table_docnos.equals(docnos.take(asked_alike))
        is_equal = has_same_query & has_same_docno
        rows[asked_alike[is_equal]] = row_alike[is_equal]
        is_missed = np.ones(len(asked), dtype=np.bool_)
        is_missed[alike[is_equal]] = False
        return is_missed


def repeated_pairs(
    query: Ints, docnos: Texts, keys: Words, begins: Ints | None = None
) -> Bools | None:
    """Return a mask of the rows before a row with the same query and document; None if none is.

    Parameters
    ----------
    query : ndarray of int, shape (n_rows,)
    docnos : Texts
    keys : ndarray of uint64, shape (n_rows,)
        The `pair_keys` of the rows.
    begins : ndarray of int, optional
        The first row of each query, if the rows of each query are adjacent: parts are searched
        separately.
    """
    parts = [keys]
    if begins is not None:  # each part begins with the first query that begins in a block
        new_blocks = np.flatnonzero(np.diff(begins // _BLOCK, prepend=0))
        parts = np.split(keys, begins[new_blocks])
    shared_keys = []
    for part in parts:
        ordered = np.sort(part)
        is_repeated = ordered[1:] == ordered[:-1]
        shared_keys.append(ordered[1:][is_repeated])
    shared = np.concatenate(shared_keys)
    if not len(shared):
        return None
    # In rare cases, different pairs share a key: sort by the pairs themselves.
    suspects = np.flatnonzero(np.isin(keys, shared))
    order = docnos.take(suspects).descending_order(query[suspects])
    suspects = suspects[order]
    first = suspects[:-1]
    second = suspects[1:]
    has_same_query = query[second] == query[first]
    has_same_docno = docnos.take(second).equals(docnos.take(first))
    is_followed = has_same_query & has_same_docno
    if not is_followed.any():
        return None
    repeated = np.zeros(len(keys), dtype=np.bool_)
    repeated[first[is_followed]] = True
    return repeated
