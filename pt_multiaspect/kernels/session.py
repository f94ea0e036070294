"""Multidimensional cumulated utility: the gains of themes, which decrease with coverage, times usability."""

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
    for step in np.split(
        order, np.cumsum(np.bincount(position))[:-1]
    ):  # the k-th document of every sequence
        worth = _reduce_gain(gain[step], cumulated[sequence[step]], overlap)
        cumulated[sequence[step]] += worth
        reduced[theme[step], hit[step]] = worth
    return np.asarray(usability[hits.row] * reduce(np.add, reduced), dtype=np.float64)


def greedy_utility(
    hits: Hits, themes: Floats, usability: Floats, overlap: float, cutoff: int | None
) -> Floats:
    """Return the utility of a greedy ranking, which places the document with the highest additional utility next.

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
    order = useful[
        np.lexsort((*-themes[::-1, useful], -usability[useful], hits.pool_query[useful]))
    ]
    # Documents of a query with the same gains and usability are of one type.
    rows = np.vstack([hits.pool_query[order], usability[order], themes[:, order]])
    begins = np.flatnonzero((np.diff(rows, axis=1, prepend=-1.0) != 0).any(axis=0))
    left = np.diff(begins, append=len(order))
    kind = order[begins]
    cumulated = np.zeros((len(themes), hits.n_queries))
    total = np.zeros(hits.n_queries)
    rank = 0
    while len(kind) and (cutoff is None or rank < cutoff):
        rank += 1
        query = hits.pool_query[kind]
        reduced = _reduce_gain(themes[:, kind], cumulated[:, query], overlap)
        worth = usability[kind] * reduce(np.add, reduced)
        chosen = best_rows(query, worth, hits.n_queries)
        cumulated[:, query[chosen]] += reduced[:, chosen]
        total[query[chosen]] += worth[chosen]
        left[chosen] -= 1
        kind, left = kind[left > 0], left[left > 0]
    return total
