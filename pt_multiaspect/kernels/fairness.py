"""Group fairness: the distribution of attention, or of documents that users see, over groups of documents."""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Ints
from .hits import sums


def attention(query: Ints, weight: Floats, cell: Ints, n_queries: int, n_cells: int) -> Floats:
    """Return the distribution of the summed weights over cells; uniform for a query without weights.

    Parameters
    ----------
    query, cell : ndarray of int, shape (n,)
        The query and the cell of each membership.
    weight : ndarray of float, shape (n,)
        The weight of each membership, at least 0.
    n_queries, n_cells : int
        Numbers of queries and cells.

    Returns
    -------
    ndarray of float, shape (n_queries, n_cells)
        Rows sum to 1.
    """
    rows = sums(query * n_cells + cell, weight, n_queries * n_cells).reshape(-1, n_cells)
    rows[rows.sum(axis=1) == 0] = 1.0
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)


def mean_membership(query: Ints, rank: Ints, membership: Floats, n_queries: int) -> Floats:
    """Return the mean membership of the documents from rank 1 to the rank of each document.

    Parameters
    ----------
    query, rank : ndarray of int, shape (n,)
        The query and the rank of each retrieved document, without gaps.
    membership : ndarray of float, shape (n, n_groups)
        The fraction of each document that belongs to each group.
    n_queries : int
        Number of queries.

    Returns
    -------
    ndarray of float, shape (n, n_groups)
    """
    mean = np.empty_like(membership)
    total = np.zeros((n_queries, membership.shape[1]))
    order = np.argsort(rank, kind="stable")
    for step in np.split(order, np.cumsum(np.bincount(rank)[1:])[:-1]):  # the documents at one rank
        total[query[step]] += membership[step]
        mean[step] = total[query[step]] / rank[step, None]
    return mean


def shannon_divergence(p: Floats, q: Floats) -> Floats:
    """Return the Jensen-Shannon divergence of distributions, in nats, row by row."""
    middle = (p + q) / 2

    def divergence(distribution: Floats) -> Floats:
        ratio = np.divide(distribution, middle, out=np.ones_like(distribution), where=distribution > 0)
        return np.asarray((distribution * np.log(ratio)).sum(axis=1), dtype=np.float64)

    return np.asarray(np.clip((divergence(p) + divergence(q)) / 2, 0.0, np.log(2)), dtype=np.float64)


def _jsd(p: Floats, q: Floats) -> Floats:
    """Compute the Jensen-Shannon divergence in bits."""
    return np.asarray(shannon_divergence(p, q) / np.log(2), dtype=np.float64)


def _nmd(p: Floats, q: Floats) -> Floats:
    """Compute the normalised match distance, the distance of the cumulative distributions."""
    distance = np.abs(np.cumsum(p, axis=1) - np.cumsum(q, axis=1))[:, :-1].sum(axis=1)
    return np.asarray(distance / (p.shape[1] - 1), dtype=np.float64)


def _rnod(p: Floats, q: Floats) -> Floats:
    """Compute the root normalised order-aware divergence.

    Squared errors are weighted by their distance to each group of the target.
    """
    groups = np.arange(p.shape[1])
    distance = np.abs(groups[:, None] - groups)
    weighted = (p - q) ** 2 @ distance  # for each row and group of the target
    in_target = q > 0
    mean = (weighted * in_target).sum(axis=1) / in_target.sum(axis=1)
    return np.asarray(np.sqrt(mean / (p.shape[1] - 1)), dtype=np.float64)


#: Divergences of distributions over groups, in [0, 1]; all but the first need ordered groups.
DIVERGENCES = {"JSD": _jsd, "NMD": _nmd, "RNOD": _rnod}
