"""The judged (query, document) pairs as a hash table, to find those of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Ints
from .texts import Texts, Words

_SPREAD_OF_QUERIES = np.uint64(0xA0761D6478BD642F)


def pair_keys(query: Ints, docnos: Texts) -> Words:
    """Return a 64-bit hash of each (query, document): equal for equal pairs, rarely for others."""
    keys = docnos.hashes()
    keys += query.astype(np.uint64) * _SPREAD_OF_QUERIES
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

        # The number of slots of a query is a power of 2: the first bits of a key are a slot.
        min_slots = _SLOTS_PER_KEY * np.bincount(query)
        _, n_bits = np.frexp(min_slots - 1)  # 2 to the power of n_bits is above this number
        n_slots = np.left_shift(1, n_bits, dtype=np.intp)
        #: The number of bits after the first bits of a key, per query.
        self._n_other_bits = (64 - n_bits).astype(np.uint64)
        #: The first slot of each query, and the last one, counted from the first.
        self._first_slot = np.cumsum(n_slots) - n_slots
        self._last_slot_of_query = n_slots - 1

        #: The row in each slot, -1 if it is empty.
        self._row_at: NDArray[np.int32] = np.full(n_slots.sum(), -1, dtype=np.int32)
        #: The slots of which a row was moved to a later slot, as they were taken.
        self._has_moved_rows: Bools = np.zeros(len(self._row_at), dtype=np.bool_)
        self._fill_slots()

    def _fill_slots(self) -> None:
        """Put each row into the slot of its key, or into the first empty one after it."""
        rows = np.arange(len(self._query), dtype=np.int32)  # the rows that have no slot yet
        step = 0  # how many slots after that of their key they try
        while len(rows):
            query = self._query[rows]
            keys = self._keys[rows]
            slots = self._slots(query, keys, step)
            is_empty = self._row_at[slots] < 0
            empty_slots = slots[is_empty]
            # Of several rows with the same empty slot, only the last one written gets it.
            self._row_at[empty_slots] = rows[is_empty]
            has_no_slot = self._row_at[slots] != rows
            if step == 0:
                taken_slots = slots[has_no_slot]
                self._has_moved_rows[taken_slots] = True
            rows = rows[has_no_slot]
            step += 1

    def _slots(self, query: Ints, keys: Words, step: int) -> Ints:
        """Return the slot of each key, or the slot `step` after it.

        The first slot of a query comes after its last one.
        """
        # The first bits of the key are a slot of the query, counted from its first one.
        slots = (keys >> self._n_other_bits[query]).astype(np.intp)
        if step:
            slots += step
            # As the number of slots is a power of 2, this is the remainder of a division by it.
            slots &= self._last_slot_of_query[query]
        slots += self._first_slot[query]
        return slots

    def lookup(self, query: Ints, docnos: Texts) -> tuple[Ints, Words]:
        """Return the row of each (query, document), -1 if there is none, and the `pair_keys`.

        Parameters
        ----------
        query : ndarray of int, shape (n,)
        docnos : Texts
        """
        n_pairs = len(query)
        search = _Search(
            query,
            docnos,
            keys=np.empty(n_pairs, dtype=np.uint64),
            rows=np.full(n_pairs, -1, dtype=np.intp),
        )
        # Most pairs are decided in the slots of their keys, block by block; the others after that.
        undecided = [np.zeros(0, dtype=np.intp)]  # an array per block, and one if there is no block
        for begin in range(0, n_pairs, _BLOCK):
            block = slice(begin, begin + _BLOCK)
            search.keys[block] = pair_keys(query[block], docnos.take(block))
            undecided_of_block = self._search_slots_of_keys(search, block)
            undecided.append(undecided_of_block)
        self._search_later_slots(search, np.concatenate(undecided))
        return search.rows, search.keys

    def _search_slots_of_keys(self, search: _Search, block: slice) -> Ints:
        """Look up a block of pairs in the slots of their keys.

        Returns
        -------
        ndarray of int
            The pairs that were not found, but may be in a later slot.
        """
        slot_of_pair = self._slots(search.query[block], search.keys[block], step=0)
        # A pair whose slot is empty is not in the table.
        is_occupied = self._row_at[slot_of_pair] >= 0
        positions_in_block = np.flatnonzero(is_occupied)
        slots = slot_of_pair[positions_in_block]
        pairs: Ints = positions_in_block + block.start
        is_other_pair = self._compare(search, pairs, self._row_at[slots])
        may_be_later = self._has_moved_rows[slots]
        return pairs[is_other_pair & may_be_later]

    def _search_later_slots(self, search: _Search, pairs: Ints) -> None:
        """Look up pairs in the slots after those of their keys, down to the first empty slot."""
        step = 0  # how many slots after that of their key
        while len(pairs):
            step += 1
            query = search.query[pairs]
            keys = search.keys[pairs]
            slots = self._slots(query, keys, step)
            table_rows = self._row_at[slots]
            # Pairs that come to an empty slot are not in the table.
            is_occupied = table_rows >= 0
            candidates = pairs[is_occupied]
            is_other_pair = self._compare(search, candidates, table_rows[is_occupied])
            pairs = candidates[is_other_pair]

    def _compare(self, search: _Search, pairs: Ints, table_rows: NDArray[np.int32]) -> Bools:
        """Compare pairs with rows of the table, and store the rows that are equal.

        Parameters
        ----------
        search : _Search
            The search, whose `rows` are set for equal pairs.
        pairs : ndarray of int, shape (n_pairs,)
            Positions of pairs that are looked up.
        table_rows : ndarray of int, shape (n_pairs,)
            The row of the table that each pair is compared with.

        Returns
        -------
        ndarray of bool, shape (n_pairs,)
            A mask of the pairs that differ from their row.
        """
        # Only pairs with the same key are compared themselves.
        has_same_key = self._keys[table_rows] == search.keys[pairs]
        candidates = np.flatnonzero(has_same_key)
        candidate_pairs = pairs[candidates]
        candidate_rows = table_rows[candidates]

        has_same_query = self._query[candidate_rows] == search.query[candidate_pairs]
        table_docnos = self._docnos.take(candidate_rows)
        searched_docnos = search.docnos.take(candidate_pairs)
        has_same_docno = table_docnos.equals(searched_docnos)
        is_equal = has_same_query & has_same_docno
        found_pairs = candidate_pairs[is_equal]
        search.rows[found_pairs] = candidate_rows[is_equal]

        differs = np.ones(len(pairs), dtype=np.bool_)
        found = candidates[is_equal]
        differs[found] = False
        return differs


@dataclass(frozen=True, eq=False)
class _Search:
    """Pairs that are looked up in a table, and what was found."""

    query: Ints
    docnos: Texts
    #: The `pair_keys` of the pairs.
    keys: Words
    #: The row of the table with each pair, -1 if it was not found.
    rows: Ints


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
    shared = _shared_keys(keys, begins)
    if not len(shared):
        return None
    # Rarely, different pairs share a key: sort by the pairs themselves.
    rows = np.flatnonzero(np.isin(keys, shared))
    order = docnos.take(rows).descending_order(query[rows])
    rows = rows[order]

    # Equal pairs are adjacent now, in the order of their rows.
    row = rows[:-1]
    next_row = rows[1:]
    has_same_query = query[next_row] == query[row]
    has_same_docno = docnos.take(next_row).equals(docnos.take(row))
    is_followed = has_same_query & has_same_docno
    if not is_followed.any():
        return None
    is_repeated = np.zeros(len(keys), dtype=np.bool_)
    is_repeated[row[is_followed]] = True
    return is_repeated


def _shared_keys(keys: Words, begins: Ints | None) -> Words:
    """Return the keys that occur more than once, within a query if its rows are adjacent.

    `begins` are the first rows of the queries, None if rows of a query are not adjacent.
    """
    parts = [keys]
    if begins is not None:
        # Small parts are sorted faster. Each one has whole queries: the rows are divided at the
        # first query that begins in each block of rows.
        block_of_query = begins // _BLOCK
        is_first_of_block = np.diff(block_of_query, prepend=0) != 0
        parts = np.split(keys, begins[is_first_of_block])
    shared_keys = []
    for part in parts:
        # Equal keys are neighbours after sorting.
        ordered = np.sort(part)
        key = ordered[1:]
        previous_key = ordered[:-1]
        is_shared = key == previous_key
        shared_keys.append(key[is_shared])
    return np.concatenate(shared_keys)
