"""Non-dominated rankings of measures that are computed rank by rank: dynamic programming with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._typing import Bools, Floats, Ints
from ...bases import Term
from ...collection.judgments import Judgments
from ...errors import MultiAspectError
from ...kernels.pareto import TOLERANCE, frontier, staircases
from ...kernels.progress import Counts, Progress, Progression
from ...measures import Measure
from ...measures.best_rank import sorted_by
from ..upper_bounds.rankings import rankings_at

__all__ = ["RankedSearch"]

#: The number of steps of the weights of the rankings that give the first bounds, by the number of measures.
_STEPS = {2: 8, 3: 4}

#: Maximum number of pairs (state, known point) compared at once.
_MOST_PAIRS = 2_000_000


@dataclass(frozen=True, eq=False)
class _Part:
    """A measure, and its terms with their progressions."""

    measure: Measure
    terms: list[Term]
    progressions: list[Progression]


@dataclass(frozen=True, eq=False)
class RankedSearch:
    """The search for all non-dominated rankings.

    Rankings are built from rank 1 down. What is still to come depends only on the documents that are left,
    not on the order of those above: of partial rankings of the same documents, those that another dominates are
    removed. So are those whose upper bounds do not exceed the values of a known ranking in any
    measure. Documents that another dominates follow it. No non-dominated values are lost by this.
    """

    judgments: Judgments
    parts: list[_Part]
    #: Ranks of the judged documents in some good rankings, and their values, shape (n, n_measures, n_queries).
    known_ranks: list[Ints]
    known: Floats

    @classmethod
    def of(cls, measures: Sequence[Measure], judgments: Judgments) -> RankedSearch | None:
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
        """Return rankings that have all non-dominated values of a topic.

        Parameters
        ----------
        query : int
            Position of the topic.
        limit : int
            Maximum number of partial rankings of the same length.

        Returns
        -------
        of_document : ndarray of int, shape (n_documents,)
            The type of each judged document of the topic.
        sequences : ndarray of int, shape (n_rankings, n_documents)
            The types of the documents of rankings, from rank 1 down.

        Raises
        ------
        MultiAspectError
            If there are more partial rankings.
        """
        rows = np.flatnonzero(self.judgments.pool_query == query)
        gains = np.stack([each.gain[rows] for part in self.parts for each in part.progressions])
        types, of_document, totals = np.unique(-gains, axis=1, return_inverse=True, return_counts=True)
        of_document = of_document.ravel()
        state = _States(self.parts, -types, totals.astype(np.int32), query)
        known = self.known[:, :, query]
        best = frontier(known)
        ranked = [of_document[np.argsort(self.known_ranks[place][rows])] for place in best.tolist()]
        found = state.search(known[best], limit)
        if found is None:
            raise MultiAspectError(
                f"kind='all': topic {self.judgments.qids[query]} has more than {limit} partial rankings of its "
                f"{len(rows)} judged documents that may be on the frontier. Use measures with a small cutoff, such "
                "as @5; a larger limit=; or, for nDCG, DCG, RBP, P, R and weighted sums of these, kind='supported'"
            )
        return of_document, np.vstack([found, *ranked]).astype(np.int16)


def _good_rankings(parts: list[_Part], judgments: Judgments) -> list[Ints]:
    """Return rankings by weighted sums of the gains of the measures."""
    gains = []
    for part in parts:
        each = zip(part.terms, part.progressions, strict=True)
        gain = np.sum([term.weight[judgments.pool_query] * one.gain for term, one in each], axis=0)
        gains.append(gain / max(float(gain.max(initial=0.0)), np.finfo(np.float64).tiny))
    n_steps = _STEPS[len(parts)]
    steps = np.arange(n_steps + 1)
    grid = np.stack(np.meshgrid(*[steps] * len(gains), indexing="ij"), axis=-1).reshape(-1, len(gains))
    weights = grid[grid.sum(axis=1) == n_steps] / n_steps
    return [sorted_by(judgments, np.vstack([weight @ np.array(gains), *gains])) for weight in weights]


def _values(parts: list[_Part], judgments: Judgments, rank: Ints) -> Floats:
    """Return the values of the measures as their terms give them, before any division by a maximum."""
    rankings = rankings_at(judgments, rank)
    values = []
    for part in parts:
        each = np.stack([term.base.values(rankings, term.target) for term in part.terms])
        values.append(part.measure.combine(each, np.stack([term.weight for term in part.terms])))
    return np.array(values)


class _States:
    """Partial rankings of a topic, rank by rank."""

    def __init__(self, parts: list[_Part], types: Floats, totals: Counts, query: int) -> None:
        self._parts, self._types, self._totals = parts, types, totals
        self._begun: list[list[Progress]] = []
        self._weights: list[Floats] = []
        first = 0
        for part in parts:
            some = range(first, first + len(part.terms))
            self._begun.append(
                [one.begin(types[row], totals, query) for one, row in zip(part.progressions, some, strict=True)]
            )
            self._weights.append(np.array([term.weight[query] for term in part.terms]))
            first += len(part.terms)
        self._depth = max(each.depth for progresses in self._begun for each in progresses)

    def search(self, known: Floats, limit: int) -> npt.NDArray[np.int16] | None:
        """Return the sequences of types of non-dominated rankings; None if there are too many partial ones.

        Rankings whose values equal those of known points may be left out.
        """
        n_types, length = len(self._totals), int(self._totals.sum())
        precedes = _precedes(self._types)
        counts: Counts = np.zeros((1, n_types), dtype=np.int32)
        values = [np.zeros((len(weights) if self._is_mean(place) else 1, 1))
                  for place, weights in enumerate(self._weights)]  # fmt: skip
        sequences: npt.NDArray[np.int16] = np.zeros((1, 0), dtype=np.int16)
        for rank in range(1, min(length, self._depth) + 1):
            is_left = counts < self._totals
            state, chosen = np.nonzero(is_left & ((is_left.astype(np.float64) @ precedes) == 0))
            steps = [self._gained(place, rank, counts)[:, state, chosen] for place in range(len(values))]
            values = [each[:, state] + step for each, step in zip(values, steps, strict=True)]
            counts = counts[state]
            counts[np.arange(len(state)), chosen] += 1
            sequences = np.column_stack([sequences[state], chosen.astype(np.int16)])
            _, group = np.unique(counts, axis=0, return_inverse=True)
            kept = staircases(np.vstack(values).T, group.ravel())
            kept = kept[self._may_exceed(known, [each[:, kept] for each in values], rank, counts[kept])]
            if len(kept) > limit:
                return None
            values = [each[:, kept] for each in values]
            counts, sequences = counts[kept], sequences[kept]
        left = np.repeat(np.tile(np.arange(n_types), len(counts)), (self._totals - counts).ravel())
        return np.column_stack([sequences, left.reshape(len(counts), length - sequences.shape[1])]).astype(np.int16)

    def _is_mean(self, place: int) -> bool:
        """Whether a measure is no weighted sum, so that each of its terms is kept."""
        return not self._parts[place].measure.IS_WEIGHTED_SUM

    def _gained(self, place: int, rank: int, counts: Counts) -> Floats:
        """The gain of each type at a rank, by term or in the sum, shape (n_values, n_states, n_types)."""
        steps = np.stack([each.step(rank, counts) for each in self._begun[place]])
        return steps if self._is_mean(place) else np.tensordot(self._weights[place], steps, axes=1)[None]

    def _may_exceed(self, known: Floats, values: list[Floats], rank: int, counts: Counts) -> Bools:
        """Tell which states have a bound that no known point reaches in all measures."""
        bounds = []
        for place, each in enumerate(values):
            rest = np.stack([part.rest(rank, counts) for part in self._begun[place]])
            weights = np.broadcast_to(self._weights[place][:, None], rest.shape)
            if self._is_mean(place):
                bounds.append(self._parts[place].measure.combine(each + rest, weights))
            else:
                bounds.append(each[0] + (weights * rest).sum(axis=0))
        bound = np.array(bounds).T
        near = TOLERANCE * np.maximum(np.abs(known).max(axis=0), 1.0)
        result = np.ones(len(bound), dtype=np.bool_)
        at_once = max(1, _MOST_PAIRS // len(known))
        for start in range(0, len(bound), at_once):
            some = bound[start : start + at_once]
            result[start : start + at_once] = ~(known[:, None] >= some - near).all(axis=2).any(axis=0)
        return result


def _precedes(types: Floats) -> Floats:
    """Tell, as 0 or 1, which types (rows) are at least as good as others (columns) for every measure."""
    at_least = np.asarray((types[:, :, None] >= types[:, None, :]).all(axis=0), dtype=np.float64)
    np.fill_diagonal(at_least, 0.0)
    return at_least
