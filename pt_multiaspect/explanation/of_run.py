"""Contributions of the first ranks of a run, for all topics at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._typing import Bools, Floats
from ..collection.rankings import Rankings
from ..kernels.breakdown import MARGINAL, Breakdown
from .parts import gradient, tolerance, wrong_sum

if TYPE_CHECKING:
    from ..measures.measure import Measure


class Prefixes:
    """A run, and its prefixes as separate runs, shared by all measures.

    Parameters
    ----------
    rankings : Rankings
        The run.
    depth : int
        Number of ranks.
    """

    def __init__(self, rankings: Rankings, depth: int) -> None:
        self.rankings, self.depth = rankings, depth

    @cached_property
    def cut(self) -> list[Rankings]:
        """Return the runs of the first 0, 1, ..., `depth` ranks."""
        return [self.rankings.cut(length) for length in range(self.depth + 1)]

    def steps(self, evaluate: Callable[[Rankings], Floats]) -> tuple[Floats, Floats]:
        """Return the contribution of each rank, shape (n_queries, depth), and the value of an empty ranking."""
        values = np.stack([evaluate(run) for run in self.cut], axis=1)
        return np.diff(values, axis=1), values[:, 0]


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of the first ranks, as in `Explanation.ranks`, for all topics of a run."""

    #: The value of the measure; shape (n_queries,).
    value: Floats
    #: Shape (n_queries, depth); 0 where fewer documents are retrieved.
    ranks: Floats
    #: The part of the value that does not depend on the retrieved documents; shape (n_queries,).
    offset: Floats
    #: Whether contributions are marginal; shape (n_queries,).
    marginal: Bools


def contributions(measure: Measure, prefixes: Prefixes) -> Contributions:
    """Compute the contributions of `Measure.explain` at the first ranks, for all topics at once.

    Parameters
    ----------
    measure : Measure
        The measure.
    prefixes : Prefixes
        The run, joined with the judgments, and its first ranks.

    Returns
    -------
    Contributions
        Further ranks, and amounts that belong to no single rank, contribute the rest of the value.

    Raises
    ------
    MultiAspectError
        If the contributions that the measure or its base states do not sum to its value.
    """
    rankings = prefixes.rankings
    judgments = rankings.judgments
    value = measure.evaluate(rankings)
    terms = measure.terms(judgments)
    if not terms:
        stated = measure._breakdown(rankings, measure.views(judgments))
        return (
            _whole(measure, prefixes, value) if stated is None else _stated(stated, prefixes, value, str(measure))
        )
    values = np.stack([term.base.values(rankings, term.target) for term in terms])
    slopes = gradient(measure, values, np.stack([term.weight for term in terms]), value)
    unknown: Bools = np.asarray(np.isnan(slopes).any(axis=0))
    whole = _whole(measure, prefixes, value) if unknown.any() else None
    if whole is not None and unknown.all():
        return whole
    ranks, offset = np.zeros((len(value), prefixes.depth)), np.zeros(len(value))
    marginal = unknown.copy()
    for term, slope, of_term in zip(terms, slopes, values, strict=True):
        stated = term.base.breakdown(rankings.top(term.base.depth), term.target)
        if stated is None:
            of_ranks, of_none = prefixes.steps(lambda run, term=term: term.base.values(run, term.target))  # type: ignore[misc]
            marginal[:] = True
        else:
            part = _stated(stated, prefixes, of_term, f"the base {term.base.text}")
            of_ranks, of_none = part.ranks, part.offset
            marginal |= part.marginal
        ranks += slope[:, None] * of_ranks
        offset += slope * of_none
    if whole is not None:
        ranks[unknown], offset[unknown] = whole.ranks[unknown], whole.offset[unknown]
    return Contributions(value, ranks + 0.0, offset + 0.0, marginal)  # no -0


def _whole(measure: Measure, prefixes: Prefixes, value: Floats) -> Contributions:
    """Return the contributions as differences of the values of the first ranks."""
    ranks, offset = prefixes.steps(measure.evaluate)
    return Contributions(value, ranks, offset, np.ones(len(value), dtype=np.bool_))


def _stated(breakdown: Breakdown, prefixes: Prefixes, value: Floats, source: str) -> Contributions:
    """Return the contributions that a measure or base states, after checking that they sum to its values."""
    total = breakdown.values()
    for query in np.flatnonzero(np.abs(total - value) > tolerance(value)).tolist():
        raise wrong_sum(source, float(total[query]), float(value[query]), prefixes.rankings.judgments.qids[query])
    hits = breakdown.hits
    ranks = np.zeros((len(value), prefixes.depth))
    inside = hits.rank <= prefixes.depth
    ranks[hits.query[inside], hits.rank[inside] - 1] = breakdown.contribution[inside]
    offset = np.zeros(len(value)) if breakdown.offset is None else breakdown.offset
    return Contributions(value, ranks, offset, np.full(len(value), breakdown.how == MARGINAL))
