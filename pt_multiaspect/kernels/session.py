"""Multidimensional cumulated utility: usability times the gains of themes, less if covered."""

from __future__ import annotations

from functools import reduce

import numpy as np

from .._typing import Floats
from .hits import Hits, best_rows, positions


def _reduce_gain(gain: Floats, cumulated: Floats, overlap: float) -> Floats:
    """Return the gain, divided by the logarithm of the cumulated gain if that is above 1."""
    # The maximum avoids logarithms of numbers below 1, which reduce no gain.
    covered = np.log(np.maximum(cumulated, 1.0)) / np.log(overlap)
    return np.asarray(gain / np.maximum(covered, 1.0), dtype=np.float64)


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
    # One sequence per theme and query; documents without a gain on the theme are not part of it.
    theme, hit = np.nonzero(themes[:, hits.row])
    sequence = theme * hits.n_queries + hits.query[hit]
    position = positions(sequence)
    gain = themes[theme, hits.row[hit]]
    cumulated = np.zeros(len(themes) * hits.n_queries)
    reduced = np.zeros((len(themes), len(hits.row)))
    order = np.argsort(position, kind="stable")
    ends = np.cumsum(np.bincount(position))
    # The k-th documents of all sequences are processed together.
    for step in np.split(order, ends[:-1]):
        step_sequence = sequence[step]
        step_gain = _reduce_gain(gain[step], cumulated[step_sequence], overlap)
        cumulated[step_sequence] += step_gain
        reduced[theme[step], hit[step]] = step_gain
    total = reduce(np.add, reduced)
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
    useful = np.flatnonzero((usability > 0) & themes.any(axis=0))
    last_theme_first = -themes[::-1, useful]
    by_rank = np.lexsort((*last_theme_first, -usability[useful], hits.pool_query[useful]))
    order = useful[by_rank]
    # Documents of a query with the same gains and usability are of one type.
    rows = np.vstack([hits.pool_query[order], usability[order], themes[:, order]])
    is_new_type = (np.diff(rows, axis=1, prepend=-1.0) != 0).any(axis=0)
    begins = np.flatnonzero(is_new_type)
    n_left = np.diff(begins, append=len(order))
    document = order[begins]  # one of each type
    cumulated = np.zeros((len(themes), hits.n_queries))
    total = np.zeros(hits.n_queries)
    rank = 0
    while len(document) and (cutoff is None or rank < cutoff):
        rank += 1
        query = hits.pool_query[document]
        reduced = _reduce_gain(themes[:, document], cumulated[:, query], overlap)
        added = usability[document] * reduce(np.add, reduced)
        chosen = best_rows(query, added, hits.n_queries)
        cumulated[:, query[chosen]] += reduced[:, chosen]
        total[query[chosen]] += added[chosen]
        n_left[chosen] -= 1
        is_left = n_left > 0
        document = document[is_left]
        n_left = n_left[is_left]
    return total
