"""The order of the rows of a run by query, score and document."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints
from .texts import Texts

Scores = NDArray[np.float32] | Floats


def inverse_permutation(order: Ints) -> Ints:
    """Return the position of each index in an order of all indices."""
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    return position


def query_starts(n_ret: Ints) -> Ints:
    """Return the position of the first document of each query."""
    ends = np.cumsum(n_ret)
    return ends - n_ret


def _descending_keys(scores: Scores) -> NDArray[np.uint32]:
    """Return numbers that increase as scores decrease, equal for equal scores."""
    if scores.dtype == np.float32:
        return _descending_keys_of_floats32(scores)
    _, keys = np.unique(-scores, return_inverse=True)
    return keys.astype(np.uint32)


def _descending_keys_of_floats32(scores: NDArray[Any]) -> NDArray[np.uint32]:
    """Return numbers that increase as 32-bit floats decrease, without sorting them.

    The first bit of a float is its sign. The others, read as a number, increase with its absolute
    value: they are inverted for positive scores only.
    """
    bits = scores.view(np.uint32)
    all_but_sign = np.uint32(0x7FFFFFFF)
    sign = bits >> 31
    inverted = ~bits & all_but_sign
    return np.where(sign == 1, bits, inverted)


def positions(query: Ints, scores: Scores, docnos: Texts, n_ret: Ints, first: Ints) -> Ints:
    """Return the position of each row in the order by query, score descending, docno descending.

    Parameters
    ----------
    query : ndarray of int, shape (n_rows,)
        The query of each row.
    scores : ndarray of float, shape (n_rows,)
        The score of each row.
    docnos : Texts
        The document of each row.
    n_ret : ndarray of int, shape (n_queries,)
        The number of rows of each query.
    first : ndarray of int
        The first row of each block of adjacent rows of the same query.
    """
    keys = _descending_keys(scores)
    has_one_block_per_query = len(first) == np.count_nonzero(n_ret)
    if has_one_block_per_query and _is_sorted_in_blocks(keys, first):
        order = _order_of_sorted_blocks(query, keys, n_ret, first)
    else:
        order = _order_by_sorting(query, keys)

    # Tied rows exchange their positions: that with the last docno gets the first one.
    tied_rows = order.tied_rows
    by_docno = docnos.take(tied_rows).descending_order(order.tie)
    tied_positions = order.position[tied_rows]
    order.position[tied_rows[by_docno]] = tied_positions
    return order.position


class _OrderByScore(NamedTuple):
    """The order of rows by query and score, in which ties are not yet broken."""

    #: The position of each row in the order; shape (n_rows,).
    position: Ints
    #: The rows that have the same query and score as another row, in this order; shape (n_tied,).
    tied_rows: Ints
    #: A number for each tied row, equal for the same query and score, increasing; shape (n_tied,).
    tie: Ints


def _is_sorted_in_blocks(keys: NDArray[np.uint32], first: Ints) -> bool:
    """Return whether the keys do not decrease within the blocks that begin at `first`."""
    key = keys[1:]
    previous_key = keys[:-1]
    is_in_order = key >= previous_key  # element i is for row i + 1
    # The first row of a block may have any key.
    first_of_later_blocks = first[1:]
    is_in_order[first_of_later_blocks - 1] = True
    return bool(is_in_order.all())


def _order_of_sorted_blocks(
    query: Ints, keys: NDArray[np.uint32], n_ret: Ints, first: Ints
) -> _OrderByScore:
    """Return the order of rows that are adjacent and sorted within queries, as in most run files.

    Only the blocks of rows are moved, as queries may be in any order. The parameters are those of
    `positions`, with `keys` that increase as scores decrease.
    """
    # All rows of a block move by as many positions as its first row.
    new_first = query_starts(n_ret)[query[first]]
    n_rows_of_block = np.diff(first, append=len(query))
    shift = np.repeat(new_first - first, n_rows_of_block)
    position = np.arange(len(query)) + shift

    # The last row of a block is not tied with the first one of the next block.
    is_tied_with_next = _equals_next(keys)
    last_of_blocks = first[1:] - 1  # but the last block
    is_tied_with_next[last_of_blocks] = False
    is_tied_with_previous = np.append(False, is_tied_with_next[:-1])
    is_tied = is_tied_with_next | is_tied_with_previous
    tied_rows = np.flatnonzero(is_tied)
    begins_tie = ~is_tied_with_previous  # also rows that are tied with no other
    tie = np.cumsum(begins_tie)
    return _OrderByScore(position, tied_rows, tie[tied_rows])


def _order_by_sorting(query: Ints, keys: NDArray[np.uint32]) -> _OrderByScore:
    """Return the order of rows that are not sorted yet.

    `query` is the query of each row, `keys` increase as scores decrease.
    """
    # One sort by two keys: the query in the upper 32 bits, the score in the lower ones.
    upper = query.astype(np.uint64) << np.uint64(32)
    query_and_score = upper | keys
    order = np.argsort(query_and_score)
    position = inverse_permutation(order)

    # Rows with the same query and score are neighbours in this order.
    ordered = query_and_score[order]
    is_tied_with_next = _equals_next(ordered)
    is_tied_with_previous = np.append(False, is_tied_with_next[:-1])
    is_tied = is_tied_with_next | is_tied_with_previous
    tied_rows = order[is_tied]
    tie: Any = ordered[is_tied]
    return _OrderByScore(position, tied_rows, tie)


def _equals_next(values: NDArray[Any]) -> Bools:
    """Return whether each value equals the next one; False for the last one."""
    equals_next = np.zeros(len(values), dtype=np.bool_)
    equals_next[:-1] = values[:-1] == values[1:]
    return equals_next
