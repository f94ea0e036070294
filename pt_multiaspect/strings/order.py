"""The order of the rows of a run by query, score and document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .texts import Texts

Scores = NDArray[np.float32] | Floats


def inverse_permutation(order: Ints) -> Ints:
    """Return the position of each index in an order of all indices."""
    position = np.empty(len(order), dtype=np.intp)
    position[order] = np.arange(len(order))
    return position


def query_starts(n_ret: Ints) -> Ints:
    """Return the position of the first document of each query."""
    return np.cumsum(n_ret) - n_ret


def _descending_keys(scores: Scores) -> NDArray[np.uint32]:
    """Return numbers that increase as scores decrease, equal for equal scores."""
    if scores.dtype != np.float32:
        _, keys = np.unique(-scores, return_inverse=True)
        return keys.astype(np.uint32)
    # The bits of the floats, in reverse order.
    bits = scores.view(np.uint32)
    is_negative = bits >> 31 == 1
    return np.where(is_negative, bits, ~bits & np.uint32(0x7FFFFFFF))


def positions(query: Ints, scores: Scores, docnos: Texts, n_ret: Ints, first: Ints) -> Ints:
    """Return the position of each row in the order by query, score descending, docno descending.

    Parameters
    ----------
    query : ndarray of int, shape (n_rows,)
    scores : ndarray of float, shape (n_rows,)
    docnos : Texts
    n_ret : ndarray of int, shape (n_queries,)
        The number of rows of each query.
    first : ndarray of int
        The first row of each block of adjacent rows of the same query.
    """
    downwards = _descending_keys(scores)
    is_ranked = downwards[1:] >= downwards[:-1]
    is_ranked[first[1:] - 1] = True
    if len(first) == np.count_nonzero(n_ret) and is_ranked.all():
        # The rows of each query are adjacent and sorted by rank, as in most run files.
        shift = query_starts(n_ret)[query[first]] - first
        lengths = np.diff(first, append=len(query))
        position = np.arange(len(query)) + np.repeat(shift, lengths)
        is_tied_below = np.append(downwards[1:] == downwards[:-1], False)
        is_tied_below[first[1:] - 1] = False
        is_tied_above = np.append(False, is_tied_below[:-1])
        tied = np.flatnonzero(is_tied_below | is_tied_above)
        level = np.cumsum(~is_tied_above)[tied]
    else:
        keys = (query.astype(np.uint64) << np.uint64(32)) | downwards
        order = np.argsort(keys)
        position = inverse_permutation(order)
        keys = keys[order]
        is_tied_below = np.append(keys[1:] == keys[:-1], False)
        is_tied_above = np.append(False, is_tied_below[:-1])
        tied_ranks = np.flatnonzero(is_tied_below | is_tied_above)
        tied = order[tied_ranks]
        level = keys[tied_ranks]
    # Tied documents exchange positions among themselves.
    order = docnos.take(tied).descending_order(level)
    position[tied[order]] = position[tied]
    return position
