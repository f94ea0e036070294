"""Enumeration of the non-dominated points that rankings of a topic attain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..._typing import Floats, Ints
from ...collection.judgments import Judgments
from ...errors import MultiAspectError, silenced
from ...kernels.hits import positions
from ...kernels.pareto import front_of
from ...measures import Measure
from ..upper_bounds.rankings import rankings_at
from .ranked_search import RankedSearch

#: Maximum number of judged documents of the collections that repeat a topic.
_MOST_JUDGED = 100_000

#: Upper limit of the numbers of document types.
_Types = npt.NDArray[np.int16]


def all_points(measures: Sequence[Measure], signs: Floats, judgments: Judgments, limit: int) -> list[Floats]:
    """Return the non-dominated values of the rankings of each topic.

    Parameters
    ----------
    measures : sequence of Measure
        The measures.
    signs : ndarray of float, shape (n_measures,)
        −1 where lower is better, else 1.
    judgments : Judgments
        The judged documents.
    limit : int
        Maximum number of rankings, or of partial rankings of the same length, per topic.

    Returns
    -------
    list of ndarray of float, shape (n_points, n_measures)
        Values times `signs`, sorted by the first measure, highest first.

    Raises
    ------
    MultiAspectError
        If a topic has more (partial) rankings than `limit`.
    """
    rankings = rankings_at(judgments, positions(judgments.pool_query) + 1)
    for measure in measures:
        measure.evaluate(rankings)  # for the warnings about all topics
    search = RankedSearch.of(measures, judgments)
    types = np.zeros(0, dtype=np.intp) if search is not None else _types(measures, judgments)
    depth = max((_depth(measure, judgments) for measure in measures), default=0)
    points = []
    for query in range(judgments.n_queries):
        if search is None:
            rows = np.flatnonzero(judgments.pool_query == query)
            _, of_document = np.unique(types[rows], return_inverse=True)
            sequences = _sequences(of_document, min(depth, len(rows)), limit, judgments.qids[query])
        else:
            of_document, sequences = search.sequences(query, limit)
        values = _evaluated(measures, judgments, query, of_document, sequences) * signs
        points.append(values[front_of(values)])
    return points


def _types(measures: Sequence[Measure], judgments: Judgments) -> Ints:
    """Return a number per judged document; it is the same for documents that no measure distinguishes."""
    read = [column for measure in measures for column in measure.distinctions(judgments)]
    codes = np.column_stack([pd.factorize(np.asarray(column))[0] for column in read])
    return np.asarray(np.unique(codes, axis=0, return_inverse=True)[1], dtype=np.intp).ravel()


def _depth(measure: Measure, judgments: Judgments) -> int:
    """Return the last rank on which the value can depend."""
    longest = int(np.bincount(judgments.pool_query).max())
    terms = measure.terms(judgments)
    depths = [term.base.depth for term in terms] if terms else [measure.cutoff]
    return max(longest if depth is None else depth for depth in depths)


def _sequences(of_document: Ints, depth: int, limit: int, qid: str) -> _Types:
    """Return all sequences of types of `depth` documents, shape (n_sequences, depth)."""
    totals = np.bincount(of_document)
    sequences: _Types = np.zeros((1, 0), dtype=np.int16)
    left = totals[None]
    for _ in range(depth):
        if np.count_nonzero(left) > limit:
            raise MultiAspectError(
                f"kind='all': topic {qid} has more than {limit} different rankings of its {len(of_document)} "
                f"judged documents down to rank {depth}. Use measures with a small cutoff, such as @5; leave the "
                "topic out; or, for nDCG, DCG, RBP, P, R and weighted sums of these, kind='supported'"
            )
        state, chosen = np.nonzero(left)
        sequences = np.column_stack([sequences[state], chosen.astype(np.int16)])
        left = left[state]
        left[np.arange(len(state)), chosen] -= 1
    return sequences


def _evaluated(
    measures: Sequence[Measure], judgments: Judgments, query: int, of_document: Ints, sequences: _Types
) -> Floats:
    """Return the values of rankings whose first documents have the given types, shape (n_sequences, n_measures)."""
    n_documents = len(of_document)
    by_name = np.argsort(judgments.docnos[judgments.pool_query == query], kind="stable")
    at_once = max(1, _MOST_JUDGED // n_documents)
    parts = []
    for start in range(0, len(sequences), at_once):
        rank = _ranks(of_document, sequences[start : start + at_once])[:, by_name]
        rankings = rankings_at(judgments.repeat_query(query, len(rank)), rank.ravel())
        with silenced():  # warnings about a single topic need not apply to all topics
            parts.append(np.column_stack([measure.evaluate(rankings) for measure in measures]))
    return np.concatenate(parts)


def _ranks(of_document: Ints, sequences: _Types) -> Ints:
    """Return the rank of each document, shape (n_sequences, n_documents); the others follow, sorted by type."""
    totals = np.bincount(of_document)
    n_types = len(totals)
    used = np.stack([(sequences == code).sum(axis=1) for code in range(n_types)], axis=1)
    others = np.repeat(np.tile(np.arange(n_types), len(sequences)), (totals - used).ravel())
    complete = np.column_stack([sequences, others.reshape(len(sequences), -1)])
    rank = np.empty(complete.shape, dtype=np.intp)
    rank[:, np.argsort(of_document, kind="stable")] = np.argsort(complete, axis=1, kind="stable") + 1
    return rank
