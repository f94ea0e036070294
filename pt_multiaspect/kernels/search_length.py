"""Expected search length over tied rankings."""

from __future__ import annotations

import numpy as np

from .._typing import Bools, Floats, Ints
from .hits import Hits, running_sum, sums
from .target import Target


def expected_search_length(
    level: Ints, hits: Hits, positive: Bools, target: Target, n_positive: Floats, wanted: int
) -> Floats:
    """Compute the expected number of non-relevant documents seen before `wanted` relevant ones (Cooper 1968).

    Parameters
    ----------
    level : ndarray of int
        The level of tied scores of every retrieved document, increasing over all queries.
    hits, target : Hits, Target
        The ranks of the judged documents, and the target.
    positive : ndarray of bool
        Whether each judged document is relevant.
    n_positive : ndarray of float
        Number of relevant documents per query.
    wanted : int
        Number of relevant documents wanted.
    """
    begins = np.cumsum(hits.n_ret) - hits.n_ret
    hit_level = level[begins[hits.query] + hits.rank - 1]
    n_levels = int(level[-1]) + 1 if len(level) else 0
    relevant = np.bincount(hit_level[positive[hits.row]], minlength=n_levels)
    size = np.bincount(level, minlength=n_levels)
    owner = np.repeat(np.arange(hits.n_queries), hits.n_ret)
    query = owner[np.flatnonzero(np.diff(level, prepend=-1))] if n_levels else np.zeros(0, dtype=np.intp)
    # Judged documents that were not retrieved form one last level.
    left_relevant = n_positive - hits.total(positive[hits.row])
    judged = target.judged
    left = target.total(judged) - hits.total(judged[hits.row])
    order = np.argsort(np.concatenate([query, np.arange(hits.n_queries)]), kind="stable")
    query = np.concatenate([query, np.arange(hits.n_queries)])[order]
    relevant = np.concatenate([relevant, left_relevant]).astype(np.intp)[order]
    non_relevant = np.concatenate([size, left]).astype(np.intp)[order] - relevant
    relevant_before = running_sum(relevant, query) - relevant
    non_relevant_before = running_sum(non_relevant, query) - non_relevant
    needed = np.minimum(wanted, n_positive).astype(np.intp)[query]
    reached = (relevant_before < needed) & (relevant_before + relevant >= needed)
    length = non_relevant_before + non_relevant * (needed - relevant_before) / (relevant + 1.0)
    result = sums(query[reached], length[reached], hits.n_queries)
    return np.where(n_positive > 0, result, sums(query, non_relevant, hits.n_queries))
