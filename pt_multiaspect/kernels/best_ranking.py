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
    linear = [(form, weight) for form, weight in forms if isinstance(form, Linear)]
    gains = np.zeros((len(linear), len(query)))
    for row, (form, weight) in enumerate(linear):
        form.check_sorting()
        gains[row] = weight[query] * form.normalised_gain
    if is_by_sorting([form for form, _ in forms]):
        # Ties are broken by the gains themselves, so that sums do not depend on the order of the
        # qrels.
        return ranks_within_queries(query, gains.sum(axis=0), *gains)
    return _assign_ranks(forms, gains, query, n_queries)


def is_by_sorting(forms: Sequence[Additive]) -> bool:
    """Return whether sorting maximises sums of the measures (all linear, with equal discounts and depths)."""
    linear = [form for form in forms if isinstance(form, Linear)]
    return len(linear) == len(forms) and all(form.is_ranked_like(linear[0]) for form in linear[1:])


def _assign_ranks(forms: Sequence[Weighted], gains: Floats, query: Ints, n_queries: int) -> Ints:
    from scipy.optimize import linear_sum_assignment

    linear = [(form, weight) for form, weight in forms if isinstance(form, Linear)]
    others = [(form, weight) for form, weight in forms if not isinstance(form, Linear)]
    leaves_out = all(form.LEAVES_OUT for form, _ in forms)
    # Sorted by usefulness, so that sums do not depend on the order of the qrels.
    order = np.lexsort((*gains, ~gains.any(axis=0), query))
    rank = restore_order(order, positions(query) + 1)
    if leaves_out:
        ranked_first = order[gains[:, order].any(axis=0)]
    else:
        ranked_first = order
    bounds = np.searchsorted(query[ranked_first], np.arange(n_queries + 1))
    for index in range(n_queries):
        candidates = ranked_first[bounds[index] : bounds[index + 1]]
        documents, ranks = candidates, np.arange(1, len(candidates) + 1)
        if not others:
            documents, ranks = _required_documents(linear, gains, index, documents, ranks)
        _check_size(len(documents), len(ranks))
        queries = np.full(len(ranks), index)
        discounts = np.array([form.discounts(ranks, queries) for form, _ in linear])
        discounts = discounts.reshape(len(linear), len(ranks))
        worth = gains[:, documents].T @ discounts
        for measure, weight in others:
            worth += weight[index] * measure.worth(index, documents, ranks)
        assigned, column = linear_sum_assignment(worth, maximize=True)
        rank[documents[assigned]] = column + 1
        below = candidates[~np.isin(candidates, documents[assigned])]
        rank[below] = np.arange(len(ranks), len(candidates)) + 1
    return rank


#: The maximum size of an assignment problem (2 GB), which takes minutes.
_MOST_CELLS = 1 << 28


def _check_size(n_documents: int, n_ranks: int) -> None:
    if n_documents * n_ranks > _MOST_CELLS:
        raise MultiAspectError(
            f"the best ranking of {n_documents} judged documents is an assignment problem of "
            f"{n_documents} x "
            f"{n_ranks} numbers, which is too large: expected at most {_MOST_CELLS} numbers. Use "
            "the same discount "
            "and cutoff for all aspects, so that documents can be sorted, or give each base a "
            "cutoff"
        )


def _required_documents(
    linear: Sequence[tuple[Linear, Floats]], gains: Floats, index: int, documents: Ints, ranks: Ints
) -> tuple[Ints, Ints]:
    """Return documents of a query that suffice for a best ranking, and the ranks above all cutoffs.

    Of documents with the same gains, at most one per rank is needed.
    """
    queries = np.full(len(ranks), index)
    counts = np.any([form.discounts(ranks, queries) != 0 for form, _ in linear], axis=0)
    ranks = ranks[: int(np.max(np.flatnonzero(counts), initial=-1)) + 1]
    gain_class = np.unique(gains[:, documents], axis=1, return_inverse=True)[1].reshape(-1)
    by_class = np.argsort(gain_class, kind="stable")
    position = restore_order(by_class, positions(gain_class[by_class]))
    return documents[position < len(ranks)], ranks
