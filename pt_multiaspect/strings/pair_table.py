"""The judged (query, document) pairs as a hash table, to find those of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Ints
from ..kernels.hits import heads
from .texts import Texts, Words

_SPREAD_OF_QUERIES = np.uint64(0xA0761D6478BD642F)


def pair_keys(query: Ints, docnos: Texts) -> Words:
    """Return a 64-bit hash of each (query, document): equal for equal pairs, rarely for others."""
    keys = docnos.hashes()
    query_numbers = query.astype(np.uint64)
    keys += query_numbers * _SPREAD_OF_QUERIES
    return keys


#: Keys looked up at once, so that intermediate arrays stay in the processor's cache.
_BLOCK = 1 << 14

#: Minimum number of slots per occupied slot.
_SLOTS_PER_KEY = 8


class _QuerySlots(NamedTuple):
    """The slots of each query in a table: adjacent ones, and their number is a power of 2."""

    #: The first slot and the number of slots of each query, shape (n_queries,).
    first: Ints
    n_slots: Ints
    #: The number of bits of a key after those that are its slot.
    n_other_bits: Words

    @classmethod
    def of_rows(cls, query: Ints) -> _QuerySlots:
        """Return the slots of queries, at least `_SLOTS_PER_KEY` per row, given each row's query.

        Their number is a power of 2, so that the first bits of a key of 64 bits are its slot: 8
        slots are numbered by 3 bits, and 61 other bits follow in a key.
        """
        n_rows = np.bincount(query)
        largest_slot = _SLOTS_PER_KEY * n_rows - 1
        # The exponent of `frexp` is the number of bits of an integer: 7, in binary 111, has 3.
        _, n_bits = np.frexp(largest_slot)
        n_slots = np.left_shift(1, n_bits, dtype=np.intp)  # 2 to the power of n_bits
        first = np.cumsum(n_slots) - n_slots
        n_other_bits = (64 - n_bits).astype(np.uint64)
        return cls(first, n_slots, n_other_bits)

    def find(self, query: Ints, keys: Words, step: int) -> Ints:
        """Return the slot of each key of a query, or the slot `step` after it.

        After the last slot of a query comes its first one.
        """
        # The number of a slot in its query is the first bits of the key: shift out the others.
        n_shifted_out = self.n_other_bits[query]
        number = (keys >> n_shifted_out).astype(np.intp)
        # Most keys are looked up at step 0: the remainder, a slow operation, is left out for them.
        if step:
            number += step
            number %= self.n_slots[query]
        return self.first[query] + number


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
        self._slots = _QuerySlots.of_rows(query)
        n_all_slots = self._slots.n_slots.sum()
        #: The row in each slot, -1 if it is empty.
        self._row_at: NDArray[np.int32] = np.full(n_all_slots, -1, dtype=np.int32)
        #: Whether a slot was taken when another row with a key of this slot came: that row was
        #: moved to a later slot.
        self._has_moved_rows: Bools = np.zeros(n_all_slots, dtype=np.bool_)
        self._fill_slots()

    def _fill_slots(self) -> None:
        """Put each row into the slot of its key, or into the first empty one after it."""
        n_rows = len(self._query)
        rows = np.arange(n_rows, dtype=np.int32)
        slot_of_key = self._slots.find(self._query, self._keys, step=0)
        is_left_over = self._take_empty_slots(rows, slot_of_key)
        # The slot of these keys has another row. It is marked, so that a search goes on after it.
        taken_slots = slot_of_key[is_left_over]
        self._has_moved_rows[taken_slots] = True
        # They try the next slot, those that find it taken the one after it, and so on.
        left_over = rows[is_left_over]
        step = 0
        while len(left_over):
            step += 1
            query = self._query[left_over]
            keys = self._keys[left_over]
            slots = self._slots.find(query, keys, step)
            is_left_over = self._take_empty_slots(left_over, slots)
            left_over = left_over[is_left_over]

    def _take_empty_slots(self, rows: NDArray[np.int32], slots: Ints) -> Bools:
        """Put rows into their slots where these are empty, and return which rows got no slot."""
        is_empty = self._row_at[slots] < 0
        empty_slots = slots[is_empty]
        # Of several rows with the same empty slot, only the last one written gets it.
        self._row_at[empty_slots] = rows[is_empty]
        row_in_slot = self._row_at[slots]
        has_no_slot = row_in_slot != rows
        return np.asarray(has_no_slot, dtype=np.bool_)

    def lookup(self, query: Ints, docnos: Texts) -> tuple[Ints, Words]:
        """Return the row of each (query, document), -1 if there is none, and the `pair_keys`.

        Parameters
        ----------
        query : ndarray of int, shape (n,)
        docnos : Texts
        """
        n_pairs = len(query)
        keys = np.empty(n_pairs, dtype=np.uint64)
        rows = np.full(n_pairs, -1, dtype=np.intp)
        search = _Search(query, docnos, keys, rows)
        # The methods below write the rows that they find into `rows`, an array of this search. Most
        # pairs are decided in the slots of their keys, block by block; the others after that.
        undecided: list[Ints] = []
        for begin in range(0, n_pairs, _BLOCK):
            block = slice(begin, begin + _BLOCK)
            docnos_of_block = docnos.take(block)
            keys[block] = pair_keys(query[block], docnos_of_block)
            undecided_of_block = self._search_slots_of_keys(search, block)
            undecided.append(undecided_of_block)
        if undecided:
            self._search_later_slots(search, np.concatenate(undecided))
        return rows, keys

    def _search_slots_of_keys(self, search: _Search, block: slice) -> Ints:
        """Look up a block of pairs in the slots of their keys, and store the rows that are found.

        Returns
        -------
        ndarray of int
            The pairs that were not found, but may be in a later slot.
        """
        query = search.query[block]
        keys = search.keys[block]
        slot_of_key = self._slots.find(query, keys, step=0)
        # A pair whose slot is empty is not in the table: only the others go on. These are their
        # numbers among all pairs, not only those of the block, and their slots.
        is_occupied = self._row_at[slot_of_key] >= 0
        pairs: Ints = block.start + np.flatnonzero(is_occupied)
        slots = slot_of_key[is_occupied]
        self._store_equal_rows(search, pairs, self._row_at[slots])
        # A pair that differs from the row in its slot is in the table only if its row was put into
        # a later slot, as this one was taken.
        is_missing = search.rows[pairs] < 0
        may_be_later = is_missing & self._has_moved_rows[slots]
        return pairs[may_be_later]

    def _search_later_slots(self, search: _Search, pairs: Ints) -> None:
        """Look up pairs in the slots after those of their keys, and store the rows that are found.

        `pairs` are the positions of pairs that are not in the slots of their keys.
        """
        step = 0  # how many slots after that of their key
        while len(pairs):
            step += 1
            query = search.query[pairs]
            keys = search.keys[pairs]
            slots = self._slots.find(query, keys, step)
            # Pairs that come to an empty slot are not in the table.
            is_occupied = self._row_at[slots] >= 0
            pairs = pairs[is_occupied]
            table_rows = self._row_at[slots]
            self._store_equal_rows(search, pairs, table_rows[is_occupied])
            # Pairs that are not found yet go on.
            is_missing = search.rows[pairs] < 0
            pairs = pairs[is_missing]

    def _store_equal_rows(
        self, search: _Search, pairs: Ints, table_rows: NDArray[np.int32]
    ) -> None:
        """Compare pairs with rows of the table, and store the equal ones in `search.rows`.

        Parameters
        ----------
        search : _Search
            The search.
        pairs : ndarray of int, shape (n_pairs,)
            Positions of pairs that are looked up.
        table_rows : ndarray of int, shape (n_pairs,)
            The row of the table that each pair is compared with.
        """
        # Only pairs with the same key are compared themselves.
        table_keys = self._keys[table_rows]
        has_same_key = table_keys == search.keys[pairs]
        pairs = pairs[has_same_key]
        table_rows = table_rows[has_same_key]

        table_query = self._query[table_rows]
        has_same_query = table_query == search.query[pairs]
        table_docnos = self._docnos.take(table_rows)
        searched_docnos = search.docnos.take(pairs)
        has_same_docno = table_docnos.equals(searched_docnos)
        is_equal = has_same_query & has_same_docno
        found_pairs = pairs[is_equal]
        search.rows[found_pairs] = table_rows[is_equal]


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
    # Rarely, different pairs share a key: the pairs themselves are compared.
    has_shared_key = np.isin(keys, shared)
    rows = np.flatnonzero(has_shared_key)
    repeated_rows = _rows_before_equal_ones(query, docnos, rows)
    if not len(repeated_rows):
        return None
    is_repeated = np.zeros(len(keys), dtype=np.bool_)
    is_repeated[repeated_rows] = True
    return is_repeated


def _rows_before_equal_ones(query: Ints, docnos: Texts, rows: Ints) -> Ints:
    """Return those of the given rows that have a later row with the same query and document."""
    # Sort by query and document. Equal pairs are adjacent then, in the order of their rows.
    docnos_of_rows = docnos.take(rows)
    order = docnos_of_rows.descending_order(query[rows])
    ordered = rows[order]
    row = ordered[:-1]
    next_row = ordered[1:]
    has_same_query = query[next_row] == query[row]
    row_docnos = docnos.take(row)
    next_docnos = docnos.take(next_row)
    has_same_docno = next_docnos.equals(row_docnos)
    is_before_equal = has_same_query & has_same_docno
    return np.asarray(row[is_before_equal], dtype=np.intp)


def _shared_keys(keys: Words, begins: Ints | None) -> Words:
    """Return the keys that occur more than once, within a query if its rows are adjacent.

    `begins` are the first rows of the queries, None if rows of a query are not adjacent.
    """
    # Small parts are sorted faster.
    if begins is None:
        parts = [keys]
    else:
        parts = _split_between_queries(keys, begins)
    shared_keys = []
    for part in parts:
        # Equal keys are neighbours after sorting.
        ordered = np.sort(part)
        key = ordered[1:]
        previous_key = ordered[:-1]
        is_shared = key == previous_key
        shared_keys.append(key[is_shared])
    return np.concatenate(shared_keys)


def _split_between_queries(keys: Words, begins: Ints) -> list[Words]:
    """Split keys into parts of whole queries, of about `_BLOCK` rows if queries are small.

    `begins` are the first rows of the queries.
    """
    # A part begins with the first query that begins in a block of `_BLOCK` rows. For blocks of 10
    # rows, queries that begin at 0, 6, 12 and 15 are in the blocks 0, 0, 1 and 1: parts begin at
    # 0 and 12. `heads` returns the positions of these queries, 0 and 2.
    block_of_query = begins // _BLOCK
    first_in_block = heads(block_of_query)
    begins_of_parts = begins[first_in_block]
    return np.split(keys, begins_of_parts[1:])
