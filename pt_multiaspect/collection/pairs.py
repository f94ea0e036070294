"""The judged (query, document) pairs as a hash table, to find those of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Ints
from .texts import Texts, Words

__all__ = ["PairTable", "pair_keys", "repeated_pairs"]

_QUERY = np.uint64(0xA0761D6478BD642F)
#: Odd factors that bring other bits of a key to the top. Of different keys, few share a slot with each of them.
_SPREADS = (np.uint64(0xE7037ED1A0B428DB), np.uint64(0x8EBC6AF09C88C6E3))


def pair_keys(query: Ints, docnos: Texts) -> Words:
    """A 64-bit key per (query, document), equal for equal pairs. Rarely, different pairs share a key."""
    keys = docnos.hashes()
    keys += (query.astype(np.uint64) + np.uint64(1)) * _QUERY
    return keys


def _slots(keys: Words, n_bits: int) -> Ints:
    """The slot of each key in a table of 2^n_bits slots."""
    return (keys >> np.uint64(64 - n_bits)).astype(np.intp)


def _n_bits(n_keys: int) -> int:
    """The size of a table of which at most a quarter is occupied, so that few keys contend for a slot."""
    return max(3, (4 * n_keys - 1).bit_length())


class PairTable:
    """An open-addressing hash table from (query, document) to rows.

    Parameters
    ----------
    query : ndarray of int, shape (n_rows,)
        The query of each row.
    docnos : Texts
        The document of each row. Pairs are distinct.
    """

    def __init__(self, query: Ints, docnos: Texts) -> None:
        self._query, self._docnos = query, docnos
        self._keys = pair_keys(query, docnos)
        self._bits = _n_bits(len(query))
        #: Small, to stay in the processor's cache.
        self._row_at: NDArray[np.int32] = np.full(1 << self._bits, -1, dtype=np.int32)
        rows, slots = np.arange(len(query), dtype=np.int32), _slots(self._keys, self._bits)
        while len(rows):
            vacant = self._row_at[slots] < 0
            self._row_at[slots[vacant]] = rows[vacant]
            left = self._row_at[slots] != rows
            rows, slots = rows[left], self._after(slots[left])

    def _after(self, slots: Ints) -> Ints:
        return (slots + 1) & (len(self._row_at) - 1)

    def rows_of(self, query: Ints, docnos: Texts, keys: Words) -> Ints:
        """Return the row of each (query, document), -1 if there is none.

        Parameters
        ----------
        query : ndarray of int, shape (n,)
        docnos : Texts
        keys : ndarray of uint64, shape (n,)
            The `pair_keys` of the pairs.
        """
        found = np.full(len(keys), -1, dtype=np.intp)
        slots = _slots(keys, self._bits)
        row = self._row_at[slots]
        active = np.flatnonzero(row >= 0)
        row, slots = row[active], slots[active]
        while len(active):
            alike = np.flatnonzero(self._keys[row] == keys[active])
            mine, theirs = active[alike], row[alike]
            same = (self._query[theirs] == query[mine]) & self._docnos.take(theirs).equals(docnos.take(mine))
            found[mine[same]] = theirs[same]
            searching = np.ones(len(active), dtype=np.bool_)
            searching[alike[same]] = False
            # Another pair in this slot: look at the next one, up to an empty one.
            slots, active = self._after(slots[searching]), active[searching]
            row = self._row_at[slots]
            occupied = row >= 0
            slots, active, row = slots[occupied], active[occupied], row[occupied]
        return found


def _contending(keys: Words) -> Bools:
    """Tell which keys share their slot in a hash table: all that occur repeatedly, and some others."""
    bits = _n_bits(len(keys))
    slots, row = _slots(keys, bits), np.arange(len(keys), dtype=np.int32)
    owner = np.empty(1 << bits, dtype=np.int32)
    owner[slots] = row
    contended = np.zeros(len(owner), dtype=np.bool_)
    contended[slots[owner[slots] != row]] = True
    return contended[slots]


def repeated_pairs(query: Ints, docnos: Texts, keys: Words) -> Bools | None:
    """Return which rows are followed by a row with the same query and document; None if none is."""
    suspects = np.flatnonzero(_contending(keys))
    for spread in _SPREADS:
        suspects = suspects[_contending(keys[suspects] * spread)]
    suspects = suspects[np.argsort(keys[suspects], kind="stable")]
    alike = keys[suspects[1:]] == keys[suspects[:-1]]
    if not alike.any():
        return None
    suspects = suspects[np.append(alike, False) | np.append(False, alike)]
    # Rarely, different pairs share a key: sort by the pairs themselves.
    order = docnos.take(suspects).descending(query[suspects])
    suspects = suspects[order]
    followed = (query[suspects[1:]] == query[suspects[:-1]]) & docnos.take(suspects[1:]).equals(
        docnos.take(suspects[:-1])
    )
    if not followed.any():
        return None
    repeated = np.zeros(len(keys), dtype=np.bool_)
    repeated[suspects[:-1][followed]] = True
    return repeated
