"""The best ranking by a weighted sum of linear measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.layout import Floats, Ints, descending, positions, sums
from .bases import LinearForm

__all__ = ["Best", "WeightedForm", "best_sum"]

#: A linear measure and its weight in each query.
WeightedForm = tuple[LinearForm, Floats]


@dataclass(frozen=True, eq=False)
class Best:
    """The best ranking of all judged documents, query by query."""

    #: What it reaches, shape (n_queries,).
    value: Floats
    #: The rank of each judged document, from 1.
    rank: Ints


def best_sum(forms: list[WeightedForm], query: Ints, n_queries: int) -> Best:
    """Maximise Σ weight · measure over the rankings of the judged documents.

    With equal discounts the greatest sum comes of sorting by the sum of gains; with different
    ones documents are assigned to ranks, which is slower.

    Parameters
    ----------
    forms : list of (LinearForm, ndarray of shape (n_queries,))
        The measures and their weights, at least 0.
    query : ndarray of int, shape (n_pool,)
        The query of each judged document, non-decreasing.
    n_queries : int
        How many queries there are.
    """
    if len({form.key for form, _ in forms}) == 1:
        return _by_sorting(forms, query, n_queries)
    return _by_assignment(forms, query, n_queries)


def _by_sorting(forms: list[WeightedForm], query: Ints, n_queries: int) -> Best:
    total = np.sum([weight[query] * form.gain for form, weight in forms], axis=0)
    order = descending(query, total)
    rank = np.empty(len(query), dtype=np.intp)
    rank[order] = positions(query[order]) + 1
    discounted = total[order] * forms[0][0].discount(rank[order], query[order])
    return Best(sums(query[order], discounted, n_queries), rank)


def _by_assignment(forms: list[WeightedForm], query: Ints, n_queries: int) -> Best:
    from scipy.optimize import linear_sum_assignment

    value = np.zeros(n_queries)
    gains = np.stack([weight[query] * form.gain for form, weight in forms])
    # In an order of their own, useful documents first, so that sums do not depend on that of the qrels.
    order = np.lexsort((*gains, ~gains.any(axis=0), query))
    gains = gains[:, order]
    rank = np.empty(len(query), dtype=np.intp)
    rank[order] = positions(query) + 1
    useful = np.flatnonzero(gains.any(axis=0))
    bounds = np.searchsorted(query[useful], np.arange(n_queries + 1))
    for index in range(n_queries):
        documents = useful[bounds[index] : bounds[index + 1]]
        ranks = np.arange(1, len(documents) + 1)
        discounts = np.stack([form.discount(ranks, np.full(len(ranks), index)) for form, _ in forms])
        worth = gains[:, documents].T @ discounts
        row, column = linear_sum_assignment(worth, maximize=True)
        value[index] = worth[row, column].sum()
        rank[order[documents[row]]] = column + 1
    return Best(value, rank)
