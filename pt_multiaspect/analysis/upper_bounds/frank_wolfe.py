"""Maximisation of a concave mean of measures by the Frank-Wolfe method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._typing import Floats, Ints
from ...bases import Term
from ...collection.judgments import Judgments
from ...kernels.best_ranking import best_ranking, hits_at_ranks
from ...measures import Measure
from ...measures.best_rank import forms_of
from .beam_search import Mean, search
from .rankings import rankings_at


class Candidates:
    """The values of the rankings evaluated so far, and the best ranking of each query."""

    def __init__(self, measure: Measure, judgments: Judgments, terms: list[Term]) -> None:
        self._measure, self._judgments, self._terms = measure, judgments, terms
        self._weights = np.stack([term.weight for term in terms])
        self.values: list[Floats] = []
        self.value = np.full(judgments.n_queries, -np.inf)

    def add(self, rank: Ints) -> None:
        """Add a ranking."""
        rankings = rankings_at(self._judgments, rank)
        values = np.stack([term.base.values(rankings, term.target) for term in self._terms])
        self.value = np.maximum(self.value, self._measure.combine(values, self._weights))
        self.values.append(values)

    def best_for_weights(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the values of the terms with the maximum weighted sum, and that sum."""
        sums = np.array([(weights * values).sum(axis=0) for values in self.values])
        best = sums.argmax(axis=0)
        queries = np.arange(len(best))
        return np.stack(self.values)[best, :, queries].T, sums[best, queries]


def best_of_mean(
    measure: Measure,
    judgments: Judgments,
    candidates: Candidates,
    *,
    bound: Floats,
    point: Floats,
    width: int,
    rounds: int,
    tolerance: float,
) -> Floats:
    """Search for better rankings, and return an upper bound.

    Parameters
    ----------
    measure : Measure
        A measure with a `slope`, which gives weighted sums of its terms that are upper bounds.
    judgments : Judgments
        The judged documents.
    candidates : Candidates
        The rankings evaluated so far; new ones are added.
    bound : ndarray of float, shape (n_queries,)
        The best known upper bound.
    point : ndarray of float, shape (n_terms, n_queries)
        Initial values of the terms, in the convex hull of the attainable values.
    width, rounds : int
        As in `upper_bound`.
    tolerance : float
        Gaps below the tolerance count as closed.
    """
    terms = measure.terms(judgments)
    weights = np.stack([term.weight for term in terms])

    def slope() -> Floats:
        """Return the slope at the point; queries whose bound is 0 need no search."""
        at_point = measure.slope(np.where(point > 0, point, 1.0), weights)
        return np.where(bound > 0, np.asarray(at_point, dtype=np.float64), 0.0)

    for _ in range(rounds):
        values, limit = _best_weighted(terms, slope(), judgments, candidates, width)
        bound = np.where(bound > 0, np.minimum(bound, limit), bound)
        if (bound - candidates.value < tolerance).all():
            break
        point = _best_on_segment(measure, point, values, weights)
    if (bound - candidates.value >= tolerance).any():
        mean = Mean(measure.combine, slope(), bound)
        result = search(terms, judgments.pool_query, candidates.value, width, mean=mean)
        candidates.add(result.rank)
        bound = np.minimum(bound, result.bound)
    return bound


def _best_weighted(
    terms: list[Term], slope: Floats, judgments: Judgments, candidates: Candidates, width: int
) -> tuple[Floats, Floats]:
    """Maximise Σ slope · term; return the values of the terms at the maximum, and an upper bound."""
    query, n_queries = judgments.pool_query, judgments.n_queries
    forms = forms_of(terms)
    if forms is not None:
        rank = best_ranking(list(zip(forms, slope, strict=True)), query, n_queries)
        candidates.add(rank)
        best = hits_at_ranks(rank, query, n_queries)
        limit = np.sum([weight * form.values(best) for form, weight in zip(forms, slope, strict=True)], axis=0)
        return candidates.best_for_weights(slope)[0], limit
    weighted = [replace(term, weight=weight) for term, weight in zip(terms, slope, strict=True)]
    result = search(weighted, query, candidates.best_for_weights(slope)[1], width)
    candidates.add(result.rank)
    return candidates.best_for_weights(slope)[0], result.bound


def _best_on_segment(measure: Measure, point: Floats, values: Floats, weights: Floats) -> Floats:
    """Return the best point on the line segment between two points."""
    steps = np.linspace(0.0, 1.0, 65)
    points = [(1 - step) * point + step * values for step in steps]
    best = np.argmax([measure.combine(at_step, weights) for at_step in points], axis=0)
    step = steps[best]
    return np.asarray((1 - step) * point + step * values, dtype=np.float64)
