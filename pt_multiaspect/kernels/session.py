"""Multidimensional cumulated utility: usability times the gains of themes, less if covered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, best_rows, heads, positions


def _reduce_gain(gain: Floats, cumulated: Floats, overlap: float) -> Floats:
    """Return the gain, divided by the logarithm of the cumulated gain if that is above 1.

    The base of the logarithm is `overlap`.
    """
    # Below 1, the logarithm is negative, and reduces no gain: 1, whose logarithm is 0, stands for
    # such cumulated gains.
    at_least_one = np.maximum(cumulated, 1.0)
    natural_logarithm = np.log(at_least_one)
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
    # The hits of a query with a gain on a theme, by rank, are a sequence. The arrays below have one
    # element per hit of a sequence: its theme, its index among the hits, and its sequence.
    theme, hit = np.nonzero(gain)
    query_of_element = hits.query[hit]
    sequence = theme * hits.n_queries + query_of_element
    n_sequences = len(gain) * hits.n_queries
    reduced_gain = np.zeros(gain.shape)
    cumulated = np.zeros(n_sequences)  # the reduced gains of each sequence so far
    # Each gain depends on those above it in its sequence. So all first hits of sequences are
    # processed together, then all second ones, and so on.
    for elements in _elements_by_position(sequence):
        sequences = sequence[elements]
        theme_of_element = theme[elements]
        element = (theme_of_element, hit[elements])
        cumulated_gain = cumulated[sequences]
        reduced = _reduce_gain(gain[element], cumulated_gain, overlap)
        cumulated[sequences] += reduced
        reduced_gain[element] = reduced
    return reduced_gain


def _elements_by_position(sequence: Ints) -> list[Ints]:
    """Return the indices of all first elements of sequences, then of all second ones, and so on.

    `sequence` is the sequence of each element, those of a sequence adjacent: the sequences
    [0, 0, 1] give the indices [0, 2] and [1].
    """
    position = positions(sequence)
    by_position = np.argsort(position, kind="stable")
    sorted_position = position[by_position]
    first_of_position = heads(sorted_position)
    later_positions = first_of_position[1:]
    return np.split(by_position, later_positions)


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
    # The documents of a type add the same utility: only one of each is compared.
    types = _document_types(hits, themes, usability)
    n_themes = len(themes)
    cumulated = np.zeros((n_themes, hits.n_queries))  # the reduced gains so far
    total = np.zeros(hits.n_queries)
    rank = 0
    n_ranks = len(hits.pool_query)  # no ranking is longer
    if cutoff is not None:
        n_ranks = cutoff
    while types.has_documents and rank < n_ranks:
        rank += 1
        query = hits.pool_query[types.document]
        gain = themes[:, types.document]  # (n_themes, n_types)
        cumulated_of_query = cumulated[:, query]
        reduced_gain = _reduce_gain(gain, cumulated_of_query, overlap)
        sum_of_gains = reduce(np.add, reduced_gain)  # over the themes
        added_utility = usability[types.document] * sum_of_gains
        # The indices of the best types, one per query; the first one of equal types.
        chosen = best_rows(query, added_utility, hits.n_queries)
        query_of_chosen = query[chosen]
        cumulated[:, query_of_chosen] += reduced_gain[:, chosen]
        total[query_of_chosen] += added_utility[chosen]
        types.remove_one(chosen)
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
        """Remove one document of each of the given types, and the types without others."""
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
    # One column per document. Negative numbers give a decreasing order.
    query = hits.pool_query[useful]
    usability_key = -usability[useful]
    theme_keys = -themes[:, useful]
    keys = np.vstack([query, usability_key, theme_keys])
    # `lexsort` sorts by its last key first, so the rows are passed in reverse order.
    order = np.lexsort(keys[::-1])
    sorted_keys = keys[:, order]
    start = _block_starts(sorted_keys)
    n_documents = np.diff(start, append=len(useful))
    first_of_type = order[start]
    return _DocumentTypes(useful[first_of_type], n_documents)


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
