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

    The first bit of a float is its sign, 1 if it is negative. The other 31 bits, read as a number,
    increase with the absolute value.
    """
    bits = scores.view(np.uint32)
    is_negative = bits >> 31 == 1
    # Positive scores come first: as numbers, they are below 2^31, the highest score lowest.
    largest_absolute = np.uint32(0x7FFFFFFF)  # 31 bits of 1
    absolute = bits & largest_absolute
    keys_of_positive = largest_absolute - absolute
    # Negative scores follow. With their first bit, they are numbers from 2^31 on that increase with
    # the absolute value: they need no change.
    keys_of_negative = bits
    return np.where(is_negative, keys_of_negative, keys_of_positive)


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
    # Most runs are sorted: then blocks of rows are moved as they are, which is faster.
    n_queries_with_rows = np.count_nonzero(n_ret)
    has_one_block_per_query = len(first) == n_queries_with_rows
    if has_one_block_per_query and _is_sorted_in_blocks(keys, first):
        order = _order_of_sorted_blocks(query, keys, n_ret, first)
    else:
        order = _order_by_sorting(query, keys)
    _break_ties(order, docnos)
    return order.position


def _break_ties(order: _OrderByScore, docnos: Texts) -> None:
    """Exchange the positions of tied rows, in place: the last docno of a tie gets the first one.

    `order.position` is the position of each row, `order.tied_rows` are the tied rows, tie by tie,
    and `order.tie` is the number of the tie of each of these.
    """
    # The tied rows keep their set of positions, tie by tie, and get them in the order of docnos.
    tied_positions = order.position[order.tied_rows]
    tied_docnos = docnos.take(order.tied_rows)
    by_tie_and_docno = tied_docnos.descending_order(order.tie)
    sorted_rows = order.tied_rows[by_tie_and_docno]
    order.position[sorted_rows] = tied_positions


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

    Only the blocks of rows are moved, one per query, as queries may be in any order. The parameters
    are those of `positions`, with `keys` that increase as scores decrease.
    """
    # If the block of a query moves by 10 positions, so does each of its rows.
    query_of_block = query[first]
    new_first = query_starts(n_ret)[query_of_block]
    shift_of_block = new_first - first
    n_rows_of_block = np.diff(first, append=len(query))
    shift_of_row = np.repeat(shift_of_block, n_rows_of_block)
    row = np.arange(len(query))
    position = row + shift_of_row

    # Rows of a block with the same key are neighbours, and tied. The last row of a block is not
    # tied with the first one of the next block, even if its key is the same.
    is_tied_with_next = _equals_next(keys)
    last_rows_of_blocks = first[1:] - 1
    is_tied_with_next[last_rows_of_blocks] = False
    tied_rows, tie = _ties(is_tied_with_next)
    return _OrderByScore(position, tied_rows, tie)


def _order_by_sorting(query: Ints, keys: NDArray[np.uint32]) -> _OrderByScore:
    """Return the order of rows that are not sorted yet.

    `query` is the query of each row, `keys` increase as scores decrease.
    """
    # Sort by query, then by key. One number of 64 bits for both is sorted faster: the query in its
    # upper 32 bits, the key in its lower ones.
    upper_bits = query.astype(np.uint64) << np.uint64(32)
    query_and_key = upper_bits | keys
    sorted_rows = np.argsort(query_and_key)
    position = inverse_permutation(sorted_rows)
    # Sorted rows with the same query and key are neighbours, and tied.
    sorted_numbers = query_and_key[sorted_rows]
    is_tied_with_next = _equals_next(sorted_numbers)
    tied_positions, tie = _ties(is_tied_with_next)
    tied_rows = sorted_rows[tied_positions]
    return _OrderByScore(position, tied_rows, tie)


def _ties(is_tied_with_next: Bools) -> tuple[Ints, Ints]:
    """Return the elements that are tied with a neighbour, and the number of the tie of each.

    The mask [True, False, True, True, False] gives the elements [0, 1, 2, 3, 4] and the ties
    [1, 1, 2, 2, 2].
    """
    is_tied_with_previous = _shift_down(is_tied_with_next)
    is_tied = is_tied_with_next | is_tied_with_previous
    tied = np.flatnonzero(is_tied)
    # Those that are not tied with the element before them begin a new tie.
    begins_tie = ~is_tied_with_previous[tied]
    tie = np.cumsum(begins_tie, dtype=np.intp)
    return tied, tie


def _equals_next(values: NDArray[Any]) -> Bools:
    """Return whether each value equals the next one; False for the last one."""
    value = values[:-1]
    next_value = values[1:]
    equals_next = np.zeros(len(values), dtype=np.bool_)
    equals_next[:-1] = value == next_value
    return equals_next


def _shift_down(mask: Bools) -> Bools:
    """Return the mask one row further down: [True, False, True] -> [False, True, False]."""
    return np.append(False, mask[:-1])
