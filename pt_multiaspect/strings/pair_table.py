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


def _slot_bits(query: Ints) -> NDArray[np.int32]:
    """Return the number of bits of slots per query: 2 to this power is the number of its slots.

    `query` is the query of each row. The slots are the least power of 2 of at least
    `_SLOTS_PER_KEY` per row.
    """
    n_rows = np.bincount(query)
    min_slots = _SLOTS_PER_KEY * n_rows
    # `frexp` returns the least power of 2 above a number: for at least 8 slots, that above 7, 3.
    _, n_bits = np.frexp(min_slots - 1)
    return n_bits


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

        # A query has 2 to the power of n_bits slots: the first n_bits of a key are its slot.
        n_bits = _slot_bits(query)
        n_slots = np.left_shift(1, n_bits, dtype=np.intp)
        n_other_bits = 64 - n_bits
        #: The number of bits of a key after its slot, per query.
        self._n_other_bits = n_other_bits.astype(np.uint64)
        #: The first slot of each query in the table, and its last slot, counted from that one.
        self._first_slot = np.cumsum(n_slots) - n_slots
        self._last_slot_of_query = n_slots - 1

        n_all_slots = n_slots.sum()
        #: The row in each slot, -1 if it is empty.
        self._row_at: NDArray[np.int32] = np.full(n_all_slots, -1, dtype=np.int32)
        #: Whether a row with a key of this slot is in a later one, as another row was first.
        self._has_moved_rows: Bools = np.zeros(n_all_slots, dtype=np.bool_)
        self._fill_slots()

    def _fill_slots(self) -> None:
        """Put each row into the slot of its key, or into the first empty one after it.

        `self._has_moved_rows` marks the slots of keys of which a row is in a later slot.
        """
        n_rows = len(self._query)
        rows = np.arange(n_rows, dtype=np.int32)  # those that have no slot yet
        step = 0  # how many slots after that of their key they try
        while len(rows):
            query = self._query[rows]
            keys = self._keys[rows]
            slots = self._slots(query, keys, step)
            has_no_slot = self._take_empty_slots(rows, slots)
            if step == 0:  # these are the slots of their keys
                taken_slots = slots[has_no_slot]
                self._has_moved_rows[taken_slots] = True
            rows = rows[has_no_slot]
            step += 1

    def _take_empty_slots(self, rows: NDArray[np.int32], slots: Ints) -> Bools:
        """Put rows into their slots where these are empty, and return which rows got no slot."""
        is_empty = self._row_at[slots] < 0
        empty_slots = slots[is_empty]
        # Of several rows with the same empty slot, only the last one written gets it.
        self._row_at[empty_slots] = rows[is_empty]
        row_in_slot = self._row_at[slots]
        return np.asarray(row_in_slot != rows, dtype=np.bool_)

    def _slots(self, query: Ints, keys: Words, step: int) -> Ints:
        """Return the slot of each key, or the slot `step` after it.

        The first slot of a query comes after its last one.
        """
        # The first bits of the key are its slot, counted from the first one of its query: the other
        # bits are shifted out.
        n_other_bits = self._n_other_bits[query]
        slots = (keys >> n_other_bits).astype(np.intp)
        if step:
            slots += step
            # From the last slot, go on at the first: the remainder of a division by the number of
            # slots. As this is a power of 2, such as 8, it is the last bits: 9 & 7 = 9 % 8 = 1.
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
            docnos_of_block = docnos.take(block)
            search.keys[block] = pair_keys(query[block], docnos_of_block)
            undecided_of_block = self._search_slots_of_keys(search, block)
            undecided.append(undecided_of_block)
        self._search_later_slots(search, np.concatenate(undecided))
        return search.rows, search.keys

    def _search_slots_of_keys(self, search: _Search, block: slice) -> Ints:
        """Look up a block of pairs in the slots of their keys, and store the rows that are found.

        Returns
        -------
        ndarray of int
            The pairs that were not found, but may be in a later slot.
        """
        query = search.query[block]
        keys = search.keys[block]
        slot_of_key = self._slots(query, keys, step=0)
        # A pair whose slot is empty is not in the table.
        is_occupied = self._row_at[slot_of_key] >= 0
        occupied = np.flatnonzero(is_occupied)  # positions within the block
        slots = slot_of_key[occupied]
        pairs: Ints = block.start + occupied  # positions among all pairs
        table_rows = self._row_at[slots]
        is_other_pair = self._match_rows(search, pairs, table_rows)
        # Another pair has the slot: this one is in the table only if it was moved to a later one.
        may_be_later = self._has_moved_rows[slots]
        return pairs[is_other_pair & may_be_later]

    def _search_later_slots(self, search: _Search, pairs: Ints) -> None:
        """Look up pairs in the slots after those of their keys, and store the rows that are found.

        Parameters
        ----------
        search : _Search
            The search, with the query and the key of all pairs.
        pairs : ndarray of int
            The positions of the pairs that are still sought.
        """
        step = 0  # how many slots after that of their key
        while len(pairs):
            step += 1
            query = search.query[pairs]
            keys = search.keys[pairs]
            slots = self._slots(query, keys, step)
            table_rows = self._row_at[slots]
            # Pairs that come to an empty slot are not in the table.
            is_occupied = table_rows >= 0
            pairs = pairs[is_occupied]
            # `_match_rows` stores the rows of the pairs that are found; the others go on.
            is_other_pair = self._match_rows(search, pairs, table_rows[is_occupied])
            pairs = pairs[is_other_pair]

    def _match_rows(self, search: _Search, pairs: Ints, table_rows: NDArray[np.int32]) -> Bools:
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
        table_keys = self._keys[table_rows]
        has_same_key = table_keys == search.keys[pairs]
        candidates = np.flatnonzero(has_same_key)
        candidate_pairs = pairs[candidates]
        candidate_rows = table_rows[candidates]

        table_query = self._query[candidate_rows]
        has_same_query = table_query == search.query[candidate_pairs]
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
    docnos_of_rows = docnos.take(rows)
    order = docnos_of_rows.descending_order(query[rows])
    rows = rows[order]

    # Equal pairs are adjacent now, in the order of their rows.
    row = rows[:-1]
    next_row = rows[1:]
    has_same_query = query[next_row] == query[row]
    row_docnos = docnos.take(row)
    next_docnos = docnos.take(next_row)
    has_same_docno = next_docnos.equals(row_docnos)
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
    # In each block of `_BLOCK` rows, split at the first query that begins there: that is where the
    # number of the block changes from one query to the next.
    block_of_query = begins // _BLOCK
    is_first_in_block = np.diff(block_of_query, prepend=0) != 0
    return np.split(keys, begins[is_first_in_block])
