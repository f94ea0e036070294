"""Multidimensional cumulated utility: usability times the gains of themes, less if covered."""

from __future__ import annotations

from functools import reduce

import numpy as np

from .._typing import Floats, Ints
from .hits import Hits, best_rows, positions


def _reduce_gain(gain: Floats, cumulated: Floats, overlap: float) -> Floats:
    """Return the gain, divided by the logarithm of the cumulated gain if that is above 1.

    The base of the logarithm is `overlap`.
    """
    # A cumulated gain below 1 has a negative logarithm, which reduces no gain: as that of 1, 0.
    logarithm = np.log(np.maximum(cumulated, 1.0))
    covered = logarithm / np.log(overlap)
    # Gains are never raised.
    divisor = np.maximum(covered, 1.0)
    return np.asarray(gain / divisor, dtype=np.float64)


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
    return np.asarray(usability_of_hit * sum_of_gains, dtype=np.float64)


def _reduced_gains(hits: Hits, gain: Floats, overlap: float) -> Floats:
    """Return the gain of each hit on each theme, reduced by those of the hits above it.

    `gain` and the result have the shape (n_themes, n_hits).
    """
    n_themes = len(gain)
    # The hits of a query with a gain on a theme, by rank, are a sequence. The arrays below have one
    # element per hit of a sequence: its theme, its index among the hits, and its sequence.
    theme, hit = np.nonzero(gain)
    sequence = theme * hits.n_queries + hits.query[hit]
    reduced_gain = np.zeros(gain.shape)
    cumulated = np.zeros(n_themes * hits.n_queries)  # the reduced gains of each sequence so far
    # Each gain depends on those above it in its sequence. So all first hits of sequences are
    # processed together, then all second ones, and so on.
    position = positions(sequence)
    by_position = np.argsort(position, kind="stable")
    n_at_position = np.bincount(position)
    ends = np.cumsum(n_at_position)
    for elements in np.split(by_position, ends[:-1]):
        sequences = sequence[elements]
        element = (theme[elements], hit[elements])
        cumulated_gain = cumulated[sequences]
        reduced = _reduce_gain(gain[element], cumulated_gain, overlap)
        cumulated[sequences] += reduced
        reduced_gain[element] = reduced
    return reduced_gain


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
    # The candidates for the next rank, of all queries: one document for all with the same gains and
    # usability, of which `n_left` are not ranked yet.
    candidate, n_left = _document_types(hits, themes, usability)
    cumulated = np.zeros((len(themes), hits.n_queries))  # the reduced gains so far
    total = np.zeros(hits.n_queries)
    n_ranks = len(hits.pool_query)  # no ranking is longer
    if cutoff is not None:
        n_ranks = cutoff
    for _ in range(n_ranks):
        if len(candidate) == 0:
            break
        # The utility that each candidate would add at this rank.
        query = hits.pool_query[candidate]
        gain = themes[:, candidate]  # (n_themes, n_candidates)
        reduced_gain = _reduce_gain(gain, cumulated[:, query], overlap)
        sum_of_gains = reduce(np.add, reduced_gain)  # over the themes
        added_utility = usability[candidate] * sum_of_gains
        # Rank the best candidate of each query; the first one in case of ties.
        chosen = best_rows(query, added_utility, hits.n_queries)
        query_of_chosen = query[chosen]
        cumulated[:, query_of_chosen] += reduced_gain[:, chosen]
        total[query_of_chosen] += added_utility[chosen]
        # A candidate whose documents are all ranked is no longer one.
        n_left[chosen] -= 1
        is_left = n_left > 0
        candidate = candidate[is_left]
        n_left = n_left[is_left]
    return total


def _document_types(hits: Hits, themes: Floats, usability: Floats) -> tuple[Ints, Ints]:
    """Return one useful document of each type, and the number of documents of its type.

    Documents of a query with the same gains and usability are of one type. Types are sorted by
    query, decreasing usability, and decreasing gain on the first theme, on the second, and so on.
    """
    # A document without usability or gains adds nothing.
    has_gain = themes.any(axis=0)
    is_usable = usability > 0
    useful = np.flatnonzero(is_usable & has_gain)
    # `lexsort` sorts by its last key first, so the keys are in reverse order: the last theme first.
    # Negative keys give a decreasing order.
    theme_keys = -themes[::-1, useful]
    usability_key = -usability[useful]
    query_key = hits.pool_query[useful]
    order = np.lexsort((*theme_keys, usability_key, query_key))
    documents = useful[order]
    # Now the documents of a type are adjacent. A type begins where a document (a column) differs
    # from the previous one in any property (a row): the first one differs from -1, which none has.
    query = hits.pool_query[documents]
    properties = np.vstack([query, usability[documents], themes[:, documents]])
    change = np.diff(properties, axis=1, prepend=-1.0)
    begins_type = (change != 0).any(axis=0)
    start = np.flatnonzero(begins_type)
    n_documents = np.diff(start, append=len(documents))
    return documents[start], n_documents
