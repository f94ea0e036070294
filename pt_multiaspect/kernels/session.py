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
    covered = np.log(np.maximum(cumulated, 1.0)) / np.log(overlap)
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
    n_themes = len(themes)
    # A sequence has the documents of a query with a gain on a theme, by rank; `theme` and `hit` have
    # one element per document of a sequence.
    theme, hit = np.nonzero(themes[:, hits.row])
    sequence = theme * hits.n_queries + hits.query[hit]
    gain = themes[theme, hits.row[hit]]
    cumulated = np.zeros(n_themes * hits.n_queries)
    reduced_gains = np.zeros((n_themes, len(hits.row)))
    # The k-th documents of all sequences are processed together, as each gain depends on those above.
    position = positions(sequence)
    order = np.argsort(position, kind="stable")
    n_documents_at_position = np.bincount(position)
    ends = np.cumsum(n_documents_at_position)
    for documents in np.split(order, ends[:-1]):
        sequences = sequence[documents]
        cumulated_gain = cumulated[sequences]
        reduced = _reduce_gain(gain[documents], cumulated_gain, overlap)
        cumulated[sequences] += reduced
        reduced_gains[theme[documents], hit[documents]] = reduced
    # The sum over themes, one after the other.
    total = reduce(np.add, reduced_gains)
    return np.asarray(usability[hits.row] * total, dtype=np.float64)


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
    # One document stands for all of its type, of which `n_left` are not ranked yet.
    document, n_left = _document_types(hits, themes, usability)
    cumulated = np.zeros((len(themes), hits.n_queries))
    total = np.zeros(hits.n_queries)
    n_ranks = len(hits.pool_query)  # no ranking is longer
    if cutoff is not None:
        n_ranks = cutoff
    for _ in range(n_ranks):
        if len(document) == 0:
            break
        # The candidates of the next rank: all types that are left, of all queries.
        query = hits.pool_query[document]
        gain = themes[:, document]  # (n_themes, n_candidates)
        cumulated_gain = cumulated[:, query]
        reduced_gain = _reduce_gain(gain, cumulated_gain, overlap)
        sum_of_gains = reduce(np.add, reduced_gain)
        added_utility = usability[document] * sum_of_gains
        # Of each query, the candidate with the highest utility; the first one in case of ties.
        chosen = best_rows(query, added_utility, hits.n_queries)
        query_of_chosen = query[chosen]
        cumulated[:, query_of_chosen] += reduced_gain[:, chosen]
        total[query_of_chosen] += added_utility[chosen]
        n_left[chosen] -= 1
        is_left = n_left > 0
        document = document[is_left]
        n_left = n_left[is_left]
    return total


def _document_types(hits: Hits, themes: Floats, usability: Floats) -> tuple[Ints, Ints]:
    """Return one useful document of each type, and the number of documents of its type.

    Documents of a query with the same gains and usability are of one type. Types are sorted by
    query, decreasing usability, and decreasing gain on the first theme, on the second, and so on.
    """
    has_gain = themes.any(axis=0)
    is_usable = usability > 0
    useful = np.flatnonzero(is_usable & has_gain)
    # `lexsort` sorts by its last key first, so the keys are in reverse order.
    last_theme_first = -themes[::-1, useful]
    keys = (*last_theme_first, -usability[useful], hits.pool_query[useful])
    documents = useful[np.lexsort(keys)]
    # A type begins where a document (column) differs from the previous one in any property (row).
    # Before the first one are properties of -1, which no document has.
    query = hits.pool_query[documents]
    properties = np.vstack([query, usability[documents], themes[:, documents]])
    change = np.diff(properties, axis=1, prepend=-1.0)
    is_new_type = (change != 0).any(axis=0)
    first_of_type = np.flatnonzero(is_new_type)
    n_documents = np.diff(first_of_type, append=len(documents))
    return documents[first_of_type], n_documents
