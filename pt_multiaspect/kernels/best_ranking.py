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
    linear: list[Linear] = []
    linear_gains: list[Floats] = []  # one array per linear measure, shape (n_documents,)
    others: list[Weighted] = []
    for form, weight in forms:
        if isinstance(form, Linear):
            form.check_sorting()
            linear.append(form)
            weight_of_document = weight[query]
            linear_gains.append(weight_of_document * form.normalised_gain)
        else:
            others.append((form, weight))
    # Without linear measures, the array has no rows, but still one column per document.
    gains = np.array(linear_gains).reshape(len(linear), len(query))

    measures = [form for form, _ in forms]
    if is_by_sorting(measures):
        total_gain = gains.sum(axis=0)
        # The gains themselves break ties, so that sums do not depend on the order of the qrels.
        return ranks_within_queries(query, total_gain, *gains)
    leaves_out = all(form.LEAVES_OUT for form in measures)
    return _ranks_by_assignment(linear, gains, others, query, n_queries, leaves_out)


def is_by_sorting(forms: Sequence[Additive]) -> bool:
    """Return whether sorting maximises sums of the measures.

    It does if all are linear, with equal discounts and depths.
    """
    linear: list[Linear] = []
    for form in forms:
        if not isinstance(form, Linear):
            return False
        linear.append(form)
    return all(form.is_ranked_like(linear[0]) for form in linear)


def _ranks_by_assignment(
    linear: Sequence[Linear],
    gains: Floats,
    others: Sequence[Weighted],
    query: Ints,
    n_queries: int,
    leaves_out: bool,
) -> Ints:
    """Return ranks that maximise the sum, by an assignment of documents to ranks per query.

    Parameters
    ----------
    linear : sequence of Linear
        The linear measures.
    gains : ndarray of float, shape (n_linear, n_documents)
        Their weighted gains.
    others : sequence of (Additive, ndarray of shape (n_queries,))
        The other measures and their weights.
    query, n_queries
        As in `best_ranking`.
    leaves_out : bool
        Whether documents without a gain can follow the others, whatever their order.
    """
    # Sort by query, then documents with a gain before those without one, then by gains, so that
    # sums do not depend on the order of the qrels. `lexsort` sorts by its last key first.
    has_gain = np.asarray(gains.any(axis=0), dtype=np.bool_)
    has_no_gain = ~has_gain
    candidates = np.lexsort((*gains, has_no_gain, query))
    # These first ranks stay those of the documents that are left out, which are last anyway.
    ranks = restore_order(candidates, positions(query) + 1)
    if leaves_out:
        is_kept = has_gain[candidates]
        candidates = candidates[is_kept]

    # The candidates of a query are adjacent, from its bound to that of the next query.
    query_of_candidate = query[candidates]
    bounds = np.searchsorted(query_of_candidate, np.arange(n_queries + 1))
    for index in range(n_queries):
        start = bounds[index]
        end = bounds[index + 1]
        documents = candidates[start:end]
        ranking = _rank_documents(linear, gains, others, index, documents)
        n_ranked = len(ranking)
        ranks[ranking] = np.arange(1, n_ranked + 1)
    return ranks


def _rank_documents(
    linear: Sequence[Linear], gains: Floats, others: Sequence[Weighted], index: int, documents: Ints
) -> Ints:
    """Return documents of the query `index` in an order that maximises the weighted sum.

    The other parameters are those of `_ranks_by_assignment`.
    """
    from scipy.optimize import linear_sum_assignment

    required = documents
    n_documents = len(documents)
    ranks = np.arange(1, n_documents + 1)
    if not others:
        # Linear measures depend on gains and cutoffs only, which allows a smaller problem.
        required, ranks = _required_documents(linear, gains, index, documents, ranks)
    _check_size(len(required), len(ranks))

    # The worth of each document at each rank, summed over the measures: gain times discount of
    # linear measures; shape (n_required, n_ranks).
    discounts = _discounts(linear, index, ranks)  # (n_linear, n_ranks)
    required_gains = gains[:, required]
    worth = required_gains.T @ discounts
    for measure, weight in others:
        worth_for_measure = measure.worth(index, required, ranks)
        worth += weight[index] * worth_for_measure

    # Each rank gets one document: the result is pairs of their indices.
    document_index, rank_index = linear_sum_assignment(worth, maximize=True)
    top = np.empty(len(ranks), dtype=np.intp)
    top[rank_index] = required[document_index]
    # The other documents are below all cutoffs, in any order.
    is_in_top = np.isin(documents, top)
    return np.append(top, documents[~is_in_top])


def _discounts(linear: Sequence[Linear], index: int, ranks: Ints) -> Floats:
    """Return the discounts of the query `index` at some ranks, shape (n_linear, n_ranks)."""
    n_ranks = len(ranks)
    query_of_rank = np.full(n_ranks, index)
    discounts = np.zeros((len(linear), n_ranks))
    for row, form in enumerate(linear):
        discounts[row] = form.discounts(ranks, query_of_rank)
    return discounts


#: The maximum size of an assignment problem (2 GB), which takes minutes.
_MOST_CELLS = 1 << 28


def _check_size(n_documents: int, n_ranks: int) -> None:
    """Raise an error if the assignment problem does not fit in memory."""
    n_cells = n_documents * n_ranks
    if n_cells > _MOST_CELLS:
        raise MultiAspectError(
            f"the best ranking of {n_documents} judged documents is an assignment problem of "
            f"{n_documents} x {n_ranks} numbers, which is too large: expected at most "
            f"{_MOST_CELLS} numbers. Use the same discount and cutoff for all aspects, so that "
            "documents can be sorted, or give each base a cutoff"
        )


def _required_documents(
    linear: Sequence[Linear], gains: Floats, index: int, documents: Ints, ranks: Ints
) -> tuple[Ints, Ints]:
    """Return documents of a query that suffice for a best ranking, and the ranks that they get.

    The query has the number `index`. The ranks are those down to the last one with a discount. Of
    documents with the same gains, no more are needed than there are ranks.
    """
    discounts = _discounts(linear, index, ranks)
    is_counted = (discounts != 0).any(axis=0)
    counted_ranks = ranks[is_counted]
    n_ranks = int(counted_ranks.max(initial=0))

    # Documents with the same gains in all measures are a class.
    gains_of_documents = gains[:, documents]  # (n_linear, n_documents)
    _, inverse = np.unique(gains_of_documents, axis=1, return_inverse=True)
    gain_class = inverse.reshape(-1)  # some versions of NumPy return a matrix
    # Number the documents within their class: classes [1, 0, 1] have the numbers [0, 0, 1].
    # For that, sort by class, and restore the order of the documents.
    by_class = np.argsort(gain_class, kind="stable")
    sorted_number = positions(gain_class[by_class])
    number_in_class = restore_order(by_class, sorted_number)
    is_required = number_in_class < n_ranks
    return documents[is_required], ranks[:n_ranks]
