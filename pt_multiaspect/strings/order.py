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
    # Negative scores: the sign makes their numbers larger than those of positive scores, and the
    # other bits increase as the score decreases. So the bits are the key.
    is_negative = bits >> 31 == 1
    # Positive scores: all bits but the sign are inverted, as they increase with the score.
    all_but_sign = np.uint32(0x7FFFFFFF)
    inverted = ~bits & all_but_sign
    return np.where(is_negative, bits, inverted)


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
    """Exchange the positions of tied rows, in place: the last docno of a tie gets the first one."""
    tied_docnos = docnos.take(order.tied_rows)
    by_docno = tied_docnos.descending_order(order.tie)
    rows_by_docno = order.tied_rows[by_docno]
    # Both are sorted by tie, so each tie keeps its positions.
    positions_of_ties = order.position[order.tied_rows]
    order.position[rows_by_docno] = positions_of_ties


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
    query_of_block = query[first]
    new_first = query_starts(n_ret)[query_of_block]
    n_rows_of_block = np.diff(first, append=len(query))
    shift = np.repeat(new_first - first, n_rows_of_block)
    position = np.arange(len(query)) + shift

    # Rows with the same key are neighbours and tied; but the last row of a block is not tied with
    # the first row of the next block.
    is_tied_with_next = _equals_next(keys)
    first_of_later_blocks = first[1:]
    is_tied_with_next[first_of_later_blocks - 1] = False
    is_tied_with_previous = _shift_down(is_tied_with_next)
    tied_rows = np.flatnonzero(is_tied_with_next | is_tied_with_previous)
    # The ties are numbered in the order of the rows: a new number at each row that is not tied with
    # the one before it.
    begins_tie = ~is_tied_with_previous
    tie = np.cumsum(begins_tie, dtype=np.intp)
    return _OrderByScore(position, tied_rows, tie[tied_rows])


def _order_by_sorting(query: Ints, keys: NDArray[np.uint32]) -> _OrderByScore:
    """Return the order of rows that are not sorted yet.

    `query` is the query of each row, `keys` increase as scores decrease.
    """
    # One sort by two keys: the query in the upper 32 bits of a number, the score in the lower ones.
    lower_bits = np.uint64(32)
    upper = query.astype(np.uint64) << lower_bits
    query_and_score = upper | keys
    order = np.argsort(query_and_score)
    position = inverse_permutation(order)

    # Rows with the same query and score are neighbours in this order, and tied.
    ordered = query_and_score[order]
    is_tied_with_next = _equals_next(ordered)
    is_tied_with_previous = _shift_down(is_tied_with_next)
    is_tied = is_tied_with_next | is_tied_with_previous
    tied_rows = order[is_tied]
    # The numbers themselves tell the ties: they are equal for tied rows, and increase.
    tie: Any = ordered[is_tied]
    return _OrderByScore(position, tied_rows, tie)


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
