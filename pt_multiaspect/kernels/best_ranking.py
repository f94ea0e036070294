"""Rankings of all judged documents that maximise weighted sums of additive measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats, Ints
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
    objective = _split_measures(forms, query)
    measures = [form for form, _ in forms]
    if is_by_sorting(measures):
        total_gain = objective.gains.sum(axis=0)
        # Equal sums are sorted by the gains of each measure, not by the order of the qrels.
        return ranks_within_queries(query, total_gain, *objective.gains)
    leaves_out = all(form.LEAVES_OUT for form in measures)
    return _ranks_by_assignment(objective, query, n_queries, leaves_out)


class _Objective(NamedTuple):
    """The weighted sum of measures that is maximised."""

    #: The linear measures: each is Σ gain · discount over the ranks.
    linear: list[Linear]
    #: Their weighted gains, shape (n_linear, n_documents).
    gains: Floats
    #: The other measures with their weights.
    others: list[Weighted]

    def discounts(self, index: int, ranks: Ints) -> Floats:
        """Return the discounts of the linear measures at some ranks of the query `index`.

        The shape is (n_linear, n_ranks).
        """
        n_ranks = len(ranks)
        query_of_rank = np.full(n_ranks, index)
        n_linear = len(self.linear)
        discounts = np.zeros((n_linear, n_ranks))
        for row, form in enumerate(self.linear):
            discounts[row] = form.discounts(ranks, query_of_rank)
        return discounts

    def worth(self, index: int, documents: Ints, ranks: Ints) -> Floats:
        """Return what documents of the query `index` add to the sum at each rank.

        The shape is (n_documents, n_ranks).
        """
        gains = self.gains[:, documents]
        # The matrix product sums gain · discount over the linear measures.
        discounts = self.discounts(index, ranks)
        worth = gains.T @ discounts
        for measure, weight in self.others:
            worth_for_measure = measure.worth(index, documents, ranks)
            worth += weight[index] * worth_for_measure
        return np.asarray(worth, dtype=np.float64)


def _split_measures(forms: Sequence[Weighted], query: Ints) -> _Objective:
    """Return linear and other measures apart; the parameters are those of `best_ranking`."""
    n_documents = len(query)
    linear: list[Linear] = []
    gains = np.zeros((0, n_documents))
    others: list[Weighted] = []
    for form, weight in forms:
        if isinstance(form, Linear):
            form.check_sorting()
            linear.append(form)
            weight_of_document = weight[query]
            weighted_gain = weight_of_document * form.normalised_gain
            gains = np.vstack([gains, weighted_gain])
        else:
            others.append((form, weight))
    return _Objective(linear, gains, others)


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
    objective: _Objective, query: Ints, n_queries: int, leaves_out: bool
) -> Ints:
    """Return ranks that maximise the sum, by an assignment of documents to ranks per query.

    `leaves_out` tells whether documents without a gain can follow the others, whatever their order;
    the other parameters are those of `best_ranking`.
    """
    any_gain = objective.gains.any(axis=0)
    has_gain = np.asarray(any_gain, dtype=np.bool_)
    candidates = _starting_order(objective.gains, has_gain, query)
    start_rank = positions(query) + 1
    ranks = restore_order(candidates, start_rank)
    # Documents without a gain keep these ranks if they can follow the others.
    if leaves_out:
        is_kept = has_gain[candidates]
        candidates = candidates[is_kept]

    # The candidates are sorted by query: one part per query.
    later_queries = np.arange(1, n_queries)
    query_of_candidate = query[candidates]
    first_of_later_queries = np.searchsorted(query_of_candidate, later_queries)
    documents_by_query = np.split(candidates, first_of_later_queries)
    for index in range(n_queries):
        documents = documents_by_query[index]
        ranking = _rank_documents(objective, index, documents)
        n_ranked = len(ranking)
        ranks[ranking] = np.arange(1, n_ranked + 1)
    return ranks


def _starting_order(gains: Floats, has_gain: Bools, query: Ints) -> Ints:
    """Return the documents by query, those without a gain last, and by their increasing gains.

    Any order will do from which an assignment starts, if it does not depend on that of the qrels.
    `gains` has one row per measure, `has_gain` tells which documents have a gain on any.
    """
    has_no_gain = ~has_gain
    # `lexsort` sorts by its last key first.
    return np.lexsort((*gains, has_no_gain, query))


def _rank_documents(objective: _Objective, index: int, documents: Ints) -> Ints:
    """Return documents of the query `index` in an order that maximises the weighted sum."""
    from scipy.optimize import linear_sum_assignment

    n_documents = len(documents)
    candidates = documents
    ranks = np.arange(1, n_documents + 1)
    if not objective.others:
        # Linear measures depend on gains and cutoffs only, which allows a smaller problem.
        candidates, ranks = _required_documents(objective, index, documents, ranks)
    _check_size(len(candidates), len(ranks))

    # One candidate is assigned to each rank. SciPy returns pairs of a row (candidate) and a column
    # (rank): sorted by column, the rows are the candidates from rank 1 down.
    worth = objective.worth(index, candidates, ranks)
    row, column = linear_sum_assignment(worth, maximize=True)
    from_rank_1 = np.argsort(column)
    top = candidates[row[from_rank_1]]
    # The other documents are below all cutoffs, in any order.
    is_in_top = np.isin(documents, top)
    rest = documents[~is_in_top]
    return np.append(top, rest)


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
    objective: _Objective, index: int, documents: Ints, ranks: Ints
) -> tuple[Ints, Ints]:
    """Return documents of a query that suffice for a best ranking, and the ranks that they get.

    The query has the number `index`. The ranks are those down to the last one with a discount. With
    n such ranks, n documents of the same gains suffice: further ones are as good, but get no rank.
    """
    discounts = objective.discounts(index, ranks)
    is_counted = (discounts != 0).any(axis=0)
    counted_ranks = ranks[is_counted]
    n_ranks = int(counted_ranks.max(initial=0))

    # A class is the documents with the same gains in all measures, which are columns here.
    gains_of_documents = objective.gains[:, documents]  # (n_linear, n_documents)
    _, inverse = np.unique(gains_of_documents, axis=1, return_inverse=True)
    gain_class = inverse.reshape(-1)  # some versions of NumPy return a matrix
    # Number the documents of each class from 1: the classes [1, 0, 1] give [1, 1, 2].
    no_preference = np.zeros(len(documents))
    number_in_class = ranks_within_queries(gain_class, no_preference)
    is_required = number_in_class <= n_ranks
    return documents[is_required], ranks[:n_ranks]
