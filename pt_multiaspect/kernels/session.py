"""Multidimensional cumulated utility: usability times the gains of themes, less if covered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, best_rows, positions


def _reduce_gain(gain: Floats, cumulated: Floats, overlap: float) -> Floats:
    """Return the gain, divided by the logarithm of the cumulated gain if that is above 1.

    The base of the logarithm is `overlap`.
    """
    # The logarithm of 0 is not finite. Like all cumulated gains up to `overlap`, those below 1
    # divide by 1, and the logarithm of 1 is 0.
    finite_cumulated = np.maximum(cumulated, 1.0)
    natural_logarithm = np.log(finite_cumulated)
    logarithm = natural_logarithm / np.log(overlap)
    divisor = np.maximum(logarithm, 1.0)
    reduced_gain = gain / divisor
    return np.asarray(reduced_gain, dtype=np.float64)


def utility(hits: Hits, themes: Floats, usability: Floats, overlap: float) -> Floats:
    """Return the utility of each hit: its usability times the sum of its reduced gains.

    Parameters
    ----------
    hits : Hits
        The rankings.
    themes : ndarray of float, shape (n_themes, n_pool)
        The gain of each judged document on each theme, at least 0.
    usability : ndarray of float, shape (n_pool,)
        The usability of each judged document, at least 0.
    overlap : float
        The base of the logarithm, above 1.

    Returns
    -------
    ndarray of float, shape (n_hits,)
    """
    gain = themes[:, hits.row]  # (n_themes, n_hits)
    reduced_gain = _reduced_gains(hits, gain, overlap)
    # The themes are added one after the other, so that rounding does not depend on the shape.
    sum_of_gains = reduce(np.add, reduced_gain)
    usability_of_hit = usability[hits.row]
    utility_of_hit = usability_of_hit * sum_of_gains
    return np.asarray(utility_of_hit, dtype=np.float64)


def _reduced_gains(hits: Hits, gain: Floats, overlap: float) -> Floats:
    """Return the gain of each hit on each theme, reduced by those of the hits above it.

    `gain` and the result have the shape (n_themes, n_hits).
    """
    # The hits of a query with a gain on a theme, by rank, are a sequence. The arrays have one
    # element per gain: its theme, its hit, and its sequence, one number for theme and query.
    theme, hit = np.nonzero(gain)
    query = hits.query[hit]
    sequence = theme * hits.n_queries + query
    n_sequences = len(gain) * hits.n_queries
    cumulated = np.zeros(n_sequences)  # the reduced gains of each sequence so far
    reduced_gain = np.zeros(gain.shape)
    # Each gain depends on those above it in its sequence. So the first gains of all sequences are
    # processed together, then all second ones, and so on.
    for elements in _elements_by_position(sequence):
        row = theme[elements]
        column = hit[elements]
        sequences = sequence[elements]
        reduced = _reduce_gain(gain[row, column], cumulated[sequences], overlap)
        reduced_gain[row, column] = reduced
        cumulated[sequences] += reduced
    return reduced_gain


def _elements_by_position(sequence: Ints) -> list[Ints]:
    """Return the indices of all first elements of sequences, then of all second ones, and so on.

    `sequence` is the sequence of each element, those of a sequence adjacent: the sequences
    [0, 0, 1] give the indices [0, 2] and [1].
    """
    position = positions(sequence)  # within the sequence, from 0
    elements = np.argsort(position, kind="stable")
    # Cut the elements into those at position 0, at position 1, …, given the numbers of each.
    n_at_position = np.bincount(position)
    ends = np.cumsum(n_at_position)
    return np.split(elements, ends[:-1])


def greedy_utility(
    hits: Hits, themes: Floats, usability: Floats, overlap: float, cutoff: int | None
) -> Floats:
    """Return the utility of a greedy ranking: the highest additional utility is next.

    Ties are broken by decreasing usability, then by decreasing gain on the first theme, on the
    second, and so on.

    Parameters
    ----------
    hits : Hits
        Any rankings of the same documents.
    themes, usability, overlap
        As in `utility`.
    cutoff : int, optional
        The number of ranks.

    Returns
    -------
    ndarray of float, shape (n_queries,)
    """
    last_rank = len(hits.pool_query)  # no ranking is longer
    if cutoff is not None:
        last_rank = cutoff
    n_themes = len(themes)
    cumulated = np.zeros((n_themes, hits.n_queries))  # the reduced gains so far
    total = np.zeros(hits.n_queries)
    # The documents of a type add the same utility: only one of each is compared. Each round adds
    # the best document of each query.
    types = _document_types(hits, themes, usability)
    rank = 0
    while types.has_documents and rank < last_rank:
        rank += 1
        candidates = types.document
        query = hits.pool_query[candidates]
        gain = themes[:, candidates]  # (n_themes, n_types)
        reduced_gain = _reduce_gain(gain, cumulated[:, query], overlap)
        sum_of_gains = reduce(np.add, reduced_gain)  # over the themes
        added_utility = usability[candidates] * sum_of_gains
        # One type per query; of equal ones, the first, as types are sorted by how ties are broken.
        best_types = best_rows(query, added_utility, hits.n_queries)
        query_of_best = query[best_types]
        cumulated[:, query_of_best] += reduced_gain[:, best_types]
        total[query_of_best] += added_utility[best_types]
        types.remove_one(best_types)
    return total


@dataclass
class _DocumentTypes:
    """Types of documents: those of a type have the same query, usability and gains."""

    #: One document of each type, and the number of documents of the type that are left.
    document: Ints
    n_left: Ints

    @property
    def has_documents(self) -> bool:
        """Return whether a document of some type is left."""
        return len(self.document) > 0

    def remove_one(self, types: Ints) -> None:
        """Remove one document of each of the given types, and the types without others.

        `types` are distinct indices of types.
        """
        self.n_left[types] -= 1
        is_left = self.n_left > 0
        self.document = self.document[is_left]
        self.n_left = self.n_left[is_left]


def _document_types(hits: Hits, themes: Floats, usability: Floats) -> _DocumentTypes:
    """Return the types of the documents that have a usability and gains.

    Types are sorted by query, decreasing usability, and decreasing gain on the first theme, on the
    second, and so on.
    """
    has_gain = themes.any(axis=0)
    is_usable = usability > 0
    useful = np.flatnonzero(is_usable & has_gain)
    # A matrix with one column per document, and one row per property, the most important first.
    # Negative numbers give a decreasing order.
    query = hits.pool_query[useful]
    usability_key = -usability[useful]
    theme_keys = -themes[:, useful]
    keys = np.vstack([query, usability_key, theme_keys])
    # `lexsort` sorts by its last key first, so the rows are passed in reverse order.
    order = np.lexsort(keys[::-1])
    sorted_documents = useful[order]
    # Documents with equal keys are a block: its first one stands for the type.
    start_of_type = _block_starts(keys[:, order])
    n_documents = np.diff(start_of_type, append=len(useful))
    return _DocumentTypes(sorted_documents[start_of_type], n_documents)


def _block_starts(columns: Floats) -> Ints:
    """Return the index of the first column of each block of adjacent equal columns."""
    column = columns[:, 1:]
    previous_column = columns[:, :-1]
    differs = column != previous_column
    differs_from_previous = differs.any(axis=0)
    n_columns = columns.shape[1]
    is_start = np.ones(n_columns, dtype=np.bool_)
    is_start[1:] = differs_from_previous
    return np.flatnonzero(is_start)
