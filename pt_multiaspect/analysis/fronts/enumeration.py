"""All points: every ranking of distinct documents, or dynamic programming with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..._typing import Bools, Floats, Ints
from ...bases import Term
from ...collection import Judgments
from ...errors import MultiAspectError, silence_warnings
from ...kernels.hits import positions, ranks_within_queries
from ...kernels.pareto import TOLERANCE, front_of, staircases
from ...kernels.progress import Counts, Progression, place_documents, precedence
from ...measures import Measure
from .._significance import slices
from ..upper_bounds.upper_bound import rankings_at

#: The number of steps of the weights of the rankings that give the first bounds, by the number of measures.
_STEPS = {2: 8, 3: 4}

#: Maximum number of pairs (state, known point) compared at once.
_MOST_PAIRS = 2_000_000

#: Maximum number of judged documents of the collections that repeat a topic.
_MOST_JUDGED = 100_000


@dataclass(frozen=True, eq=False)
class _Part:
    """A measure, and its terms with their progressions."""

    measure: Measure
    terms: list[Term]
    progressions: list[Progression]


@dataclass(frozen=True, eq=False)
class _RankedSearch:
    """The search for all non-dominated rankings.

    Rankings are built from rank 1 down. The remaining gains depend only on the remaining documents, not on the
    order of those above. A partial ranking is removed if another one of the same documents dominates it, or if its
    upper bounds do not exceed the values of a known ranking in any measure. A document is placed only after all
    documents that dominate it. None of this loses non-dominated values.
    """

    judgments: Judgments
    parts: list[_Part]
    #: Ranks of the judged documents in some good rankings, and their values, shape (n, n_measures, n_queries).
    known_ranks: list[Ints]
    known: Floats

    @classmethod
    def of(cls, measures: Sequence[Measure], judgments: Judgments) -> _RankedSearch | None:
        """Prepare the search; None if a measure is not computed rank by rank."""
        parts = []
        for measure in measures:
            terms = measure.terms(judgments)
            progressions = [term.base.progression(term.target) for term in terms]
            stated = [progression for progression in progressions if progression is not None]
            if not terms or len(stated) < len(terms) or not measure.IS_INCREASING or measure.lower_is_better:
                return None
            parts.append(_Part(measure, terms, stated))
        ranks = _good_rankings(parts, judgments)
        return cls(judgments, parts, ranks, np.array([_values(parts, judgments, rank) for rank in ranks]))

    def sequences(self, query: int, limit: int) -> tuple[Ints, npt.NDArray[np.int16]]:
        """Return rankings that attain all non-dominated values of a topic.

        Parameters
        ----------
        query : int
            Position of the topic.
        limit : int
            Maximum number of partial rankings of the same length.

        Returns
        -------
        document_types : ndarray of int, shape (n_documents,)
            The type of each judged document of the topic.
        sequences : ndarray of int, shape (n_rankings, n_documents)
            The types of the documents of rankings, from rank 1 down.

        Raises
        ------
        MultiAspectError
            If there are more partial rankings than `limit`.
        """
        rows = np.flatnonzero(self.judgments.pool_query == query)
        gains = np.stack([progression.gain[rows] for part in self.parts for progression in part.progressions])
        types, document_types, times = np.unique(-gains, axis=1, return_inverse=True, return_counts=True)
        document_types = document_types.ravel()
        totals: Counts = times.astype(np.int32)
        by_part = np.split(-types, np.cumsum([len(part.terms) for part in self.parts])[:-1])
        begun = [_Begun(part, gain, totals, query) for part, gain in zip(self.parts, by_part, strict=True)]
        known = self.known[:, :, query]
        best = front_of(known)
        ranked = [document_types[np.argsort(self.known_ranks[index][rows])] for index in best.tolist()]
        sequences = _search(begun, -types, totals, known[best], limit)
        if sequences is None:
            raise MultiAspectError(
                f"kind='all': topic {self.judgments.qids[query]} has more than {limit} partial rankings of its "
                f"{len(rows)} judged documents that may be on the front. Use measures with a small cutoff, such "
                "as @5; a larger limit=; or, for weighted sums of sums over ranks, such as nDCG, kind='supported'"
            )
        return document_types, np.vstack([sequences, *ranked]).astype(np.int16)


def _good_rankings(parts: list[_Part], judgments: Judgments) -> list[Ints]:
    """Return rankings by weighted sums of the gains of the measures."""
    gains = []
    for part in parts:
        pairs = zip(part.terms, part.progressions, strict=True)
        gain = np.sum([term.weight[judgments.pool_query] * stated.gain for term, stated in pairs], axis=0)
        gains.append(gain / max(float(gain.max(initial=0.0)), np.finfo(np.float64).tiny))
    n_steps = _STEPS[len(parts)]
    steps = np.arange(n_steps + 1)
    grid = np.stack(np.meshgrid(*[steps] * len(gains), indexing="ij"), axis=-1).reshape(-1, len(gains))
    weights = grid[grid.sum(axis=1) == n_steps] / n_steps
    return [ranks_within_queries(judgments.pool_query, weight @ np.array(gains), *gains) for weight in weights]


def _values(parts: list[_Part], judgments: Judgments, rank: Ints) -> Floats:
    """Return the values of the measures from their terms, before normalisation."""
    rankings = rankings_at(judgments, rank)
    values = []
    for part in parts:
        term_values = np.stack([term.base.values(rankings, term.target) for term in part.terms])
        values.append(part.measure.combine(term_values, np.stack([term.weight for term in part.terms])))
    return np.array(values)


class _Begun:
    """A measure on a topic, rank by rank: the values of its terms, or their sum if it is a weighted one."""

    def __init__(self, part: _Part, types: Floats, totals: Counts, query: int) -> None:
        pairs = zip(part.progressions, types, strict=True)
        self._progress = [progression.begin(row, totals, query) for progression, row in pairs]
        self._weights = np.array([term.weight[query] for term in part.terms])
        self._combine = None if part.measure.IS_WEIGHTED_SUM else part.measure.combine
        self.n_values = 1 if part.measure.IS_WEIGHTED_SUM else len(part.terms)
        self.depth = max(progress.depth for progress in self._progress)

    def gains(self, rank: int, counts: Counts) -> Floats:
        """Return the gain of each type at a rank, by term or in the sum, shape (n_values, n_states, n_types)."""
        steps = np.stack([progress.step(rank, counts) for progress in self._progress])
        return np.tensordot(self._weights, steps, axes=1)[None] if self._combine is None else steps

    def bound(self, values: Floats, rank: int, counts: Counts) -> Floats:
        """Return upper bounds of the measure, given the values of states."""
        rest = np.stack([progress.rest(rank, counts) for progress in self._progress])
        weights = np.broadcast_to(self._weights[:, None], rest.shape)
        if self._combine is None:
            return np.asarray(values[0] + (weights * rest).sum(axis=0))
        return self._combine(values + rest, weights)


def _search(
    measures: list[_Begun], types: Floats, totals: Counts, known: Floats, limit: int
) -> npt.NDArray[np.int16] | None:
    """Return the sequences of types of non-dominated rankings; None if there are too many partial ones.

    Rankings whose values equal those of known points may be omitted.
    """
    n_types, length = len(totals), int(totals.sum())
    precedes = precedence(types)
    counts: Counts = np.zeros((1, n_types), dtype=np.int32)
    values = [np.zeros((measure.n_values, 1)) for measure in measures]
    sequences: npt.NDArray[np.int16] = np.zeros((1, 0), dtype=np.int16)
    for rank in range(1, min(length, max(measure.depth for measure in measures)) + 1):
        state, chosen, placed = place_documents(counts, totals, precedes)
        steps = [measure.gains(rank, counts)[:, state, chosen] for measure in measures]
        values = [value[:, state] + step for value, step in zip(values, steps, strict=True)]
        sequences = np.column_stack([sequences[state], chosen.astype(np.int16)])
        _, group = np.unique(placed, axis=0, return_inverse=True)
        kept = staircases(np.vstack(values).T, group.ravel())
        pairs = zip(measures, values, strict=True)
        bounds = np.array([measure.bound(value[:, kept], rank, placed[kept]) for measure, value in pairs])
        kept = kept[_exceed(bounds.T, known)]
        if len(kept) > limit:
            return None
        values = [value[:, kept] for value in values]
        counts, sequences = placed[kept], sequences[kept]
    left = np.repeat(np.tile(np.arange(n_types), len(counts)), (totals - counts).ravel())
    return np.column_stack([sequences, left.reshape(len(counts), length - sequences.shape[1])]).astype(np.int16)


def _exceed(bound: Floats, known: Floats) -> Bools:
    """Return a mask of the states with a bound that no known point reaches in all measures."""
    near = TOLERANCE * np.maximum(np.abs(known).max(axis=0), 1.0)
    result = np.ones(len(bound), dtype=np.bool_)
    for part in slices(len(bound), len(known), _MOST_PAIRS):
        result[part] = ~(known[:, None] >= bound[part] - near).all(axis=2).any(axis=0)
    return result


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
    search = _RankedSearch.of(measures, judgments)
    types = np.zeros(0, dtype=np.intp) if search is not None else _types(measures, judgments)
    depth = max((_depth(measure, judgments) for measure in measures), default=0)
    points = []
    for query in range(judgments.n_queries):
        if search is None:
            rows = np.flatnonzero(judgments.pool_query == query)
            _, document_types = np.unique(types[rows], return_inverse=True)
            sequences = _sequences(document_types, min(depth, len(rows)), limit, judgments.qids[query])
        else:
            document_types, sequences = search.sequences(query, limit)
        values = _sequence_values(measures, judgments, query, document_types, sequences) * signs
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


def _sequences(document_types: Ints, depth: int, limit: int, qid: str) -> _Types:
    """Return all sequences of types of `depth` documents, shape (n_sequences, depth)."""
    totals = np.bincount(document_types)
    sequences: _Types = np.zeros((1, 0), dtype=np.int16)
    left = totals[None]
    for _ in range(depth):
        if np.count_nonzero(left) > limit:
            raise MultiAspectError(
                f"kind='all': topic {qid} has more than {limit} different rankings of its {len(document_types)} "
                f"judged documents down to rank {depth}. Use measures with a small cutoff, such as @5; leave the "
                "topic out; or, for weighted sums of sums over ranks, such as nDCG, kind='supported'"
            )
        state, chosen = np.nonzero(left)
        sequences = np.column_stack([sequences[state], chosen.astype(np.int16)])
        left = left[state]
        left[np.arange(len(state)), chosen] -= 1
    return sequences


def _sequence_values(
    measures: Sequence[Measure], judgments: Judgments, query: int, document_types: Ints, sequences: _Types
) -> Floats:
    """Return the values of rankings whose first documents have the given types, shape (n_sequences, n_measures)."""
    by_name = np.argsort(judgments.docnos[judgments.pool_query == query], kind="stable")
    parts = []
    for part in slices(len(sequences), len(document_types), _MOST_JUDGED):
        rank = _ranks(document_types, sequences[part])[:, by_name]
        rankings = rankings_at(judgments.repeat_query(query, len(rank)), rank.ravel())
        with silence_warnings():  # warnings about a single topic need not apply to all topics
            parts.append(np.column_stack([measure.evaluate(rankings) for measure in measures]))
    return np.concatenate(parts)


def _ranks(document_types: Ints, sequences: _Types) -> Ints:
    """Return the rank of each document, shape (n_sequences, n_documents); the others follow, sorted by type."""
    totals = np.bincount(document_types)
    n_types = len(totals)
    used = np.stack([(sequences == code).sum(axis=1) for code in range(n_types)], axis=1)
    others = np.repeat(np.tile(np.arange(n_types), len(sequences)), (totals - used).ravel())
    complete = np.column_stack([sequences, others.reshape(len(sequences), -1)])
    rank = np.empty(complete.shape, dtype=np.intp)
    rank[:, np.argsort(document_types, kind="stable")] = np.argsort(complete, axis=1, kind="stable") + 1
    return rank
