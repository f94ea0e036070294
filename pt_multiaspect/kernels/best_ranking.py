"""Rankings of all judged documents that maximise weighted sums of additive measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Floats, Ints
from ..errors import MultiAspectError
from .forms import Additive, Linear
from .hits import positions, ranks_within_queries, restore_order

#: A measure and its weight per query, shape (n_queries,).
Weighted = tuple[Additive, Floats]


def best_ranking(forms: Sequence[Weighted], query: Ints, n_queries: int) -> Ints:
    """Maximise Σ weight · measure over the rankings of all judged documents.

    Linear measures with equal discounts are maximised by sorting documents by the sum of their
    gains. Other measures require the solution of an assignment problem, which is slower.

    Parameters
    ----------
    forms : sequence of (Additive, ndarray of shape (n_queries,))
        The measures and their non-negative weights.
    query : ndarray of int, shape (n_documents,)
        The query of each judged document, non-decreasing.
    n_queries : int
        Number of queries.

    Returns
    -------
    ndarray of int, shape (n_documents,)
        The rank of each judged document, from 1.
    """
    measures = []
    linear: list[tuple[Linear, Floats]] = []
    others: list[Weighted] = []
    for form, weight in forms:
        measures.append(form)
        if isinstance(form, Linear):
            linear.append((form, weight))
        else:
            others.append((form, weight))
    gains = np.zeros((len(linear), len(query)))
    for row, (linear_form, weight) in enumerate(linear):
        linear_form.check_sorting()
        gains[row] = weight[query] * linear_form.normalised_gain
    if is_by_sorting(measures):
        # Ties are broken by the gains themselves, so that sums do not depend on the order of the
        # qrels.
        return ranks_within_queries(query, gains.sum(axis=0), *gains)
    return _assign_ranks(linear, others, gains, query, n_queries)


def is_by_sorting(forms: Sequence[Additive]) -> bool:
    """Return whether sorting maximises sums of the measures.

    It does if all are linear, with equal discounts and depths.
    """
    linear: list[Linear] = []
    for form in forms:
        if not isinstance(form, Linear):
            return False
        linear.append(form)
    return all(form.is_ranked_like(linear[0]) for form in linear[1:])


def _assign_ranks(
    linear: Sequence[tuple[Linear, Floats]],
    others: Sequence[Weighted],
    gains: Floats,
    query: Ints,
    n_queries: int,
) -> Ints:
    """Return the ranks that maximise the sum, by an assignment of documents to ranks per query.

    `gains` has the shape (n_linear, n_documents).
    """
    from scipy.optimize import linear_sum_assignment

    leaves_out = all(form.LEAVES_OUT for form, _ in [*linear, *others])
    # Sorted by usefulness, so that sums do not depend on the order of the qrels.
    order = np.lexsort((*gains, ~gains.any(axis=0), query))
    rank = restore_order(order, positions(query) + 1)
    if leaves_out:
        has_gain = gains[:, order].any(axis=0)
        ranked_first = order[has_gain]
    else:
        ranked_first = order
    bounds = np.searchsorted(query[ranked_first], np.arange(n_queries + 1))
    for index in range(n_queries):
        candidates = ranked_first[bounds[index] : bounds[index + 1]]
        documents = candidates
        ranks = np.arange(1, len(candidates) + 1)
        if not others:
            documents, ranks = _required_documents(linear, gains, index, documents, ranks)
        _check_size(len(documents), len(ranks))
        queries = np.full(len(ranks), index)
        discounts = np.array([form.discounts(ranks, queries) for form, _ in linear])
        discounts = discounts.reshape(len(linear), len(ranks))
        worth = gains[:, documents].T @ discounts  # (n_documents, n_ranks)
        for measure, weight in others:
            worth += weight[index] * measure.worth(index, documents, ranks)
        assigned, column = linear_sum_assignment(worth, maximize=True)
        rank[documents[assigned]] = column + 1
        is_assigned = np.isin(candidates, documents[assigned])
        below = candidates[~is_assigned]
        rank[below] = np.arange(len(ranks), len(candidates)) + 1
    return rank


#: The maximum size of an assignment problem (2 GB), which takes minutes.
_MOST_CELLS = 1 << 28


def _check_size(n_documents: int, n_ranks: int) -> None:
    if n_documents * n_ranks > _MOST_CELLS:
        raise MultiAspectError(
            f"the best ranking of {n_documents} judged documents is an assignment problem of "
            f"{n_documents} x {n_ranks} numbers, which is too large: expected at most "
            f"{_MOST_CELLS} numbers. Use the same discount and cutoff for all aspects, so that "
            "documents can be sorted, or give each base a cutoff"
        )


def _required_documents(
    linear: Sequence[tuple[Linear, Floats]], gains: Floats, index: int, documents: Ints, ranks: Ints
) -> tuple[Ints, Ints]:
    """Return documents of a query that suffice for a best ranking, and ranks above all cutoffs.

    Of documents with the same gains, at most one per rank is needed.
    """
    queries = np.full(len(ranks), index)
    is_counted = np.any([form.discounts(ranks, queries) != 0 for form, _ in linear], axis=0)
    last = int(np.max(np.flatnonzero(is_counted), initial=-1))
    ranks = ranks[: last + 1]
    _, inverse = np.unique(gains[:, documents], axis=1, return_inverse=True)
    gain_class = inverse.reshape(-1)
    by_class = np.argsort(gain_class, kind="stable")
    position = restore_order(by_class, positions(gain_class[by_class]))
    is_required = position < len(ranks)
    return documents[is_required], ranks
