"""What a base measure is asked to rank: one number, and one yes or no, per judged document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .layout import Bools, Floats, Ints, descending, positions, sums


@dataclass(frozen=True, eq=False)
class Target:
    """The judged documents as a single-aspect measure sees them.

    Arrays have one element per judged pair, sorted by query.
    """

    n_queries: int
    pool_query: Ints
    #: The gain of graded measures, never negative; 0 for a missing label.
    gain: Floats
    #: What binary measures count without an explicit ``rel``.
    positive: Bools
    #: The greatest gain the scale has, seen or not.
    top: float
    #: Which documents reach an explicit ``rel``.
    reaches: Callable[[float], Bools]
    #: Labels for measures computed elsewhere, NaN where there is no judgment.
    labels: Floats
    #: Labels of which only the sign matters there, likewise.
    signs: Floats
    #: Whether `gain` is an exponent g that stands for the gain 2^g - 1.
    exponential: bool = False
    #: Maps raw labels where the base asks for it (nDCG's ``gains``), or None where it cannot.
    regained: Callable[[dict[float, float]], Floats] | None = None
    #: Called when a measure reads `positive`: the default threshold may be doubtful.
    on_threshold: Callable[[], None] | None = None

    @cached_property
    def ideal(self) -> tuple[Ints, Ints, Floats]:
        """Query, rank and gain of the documents with gain, in the ideal order."""
        return ideal_order(self.pool_query, self.gain)

    @cached_property
    def greatest(self) -> Floats:
        """The greatest gain judged in each query."""
        query, rank, gain = self.ideal
        first = rank == 1
        result = np.zeros(self.n_queries)
        result[query[first]] = gain[first]
        return result

    def with_gain(self, gain: Floats, *, exponential: bool = False) -> Target:
        """The same documents with other gains."""
        return Target(
            self.n_queries, self.pool_query, gain, self.positive, float(gain.max(initial=0.0)),
            self.reaches, self.labels, self.signs, exponential, None, self.on_threshold,
        )  # fmt: skip

    @cached_property
    def exponentiated(self) -> Target:
        """The gains 2^g - 1, scaled per query by 2^-(greatest g) so that none overflows.

        A ratio of gains within a query, as in nDCG, is not touched by the scaling.
        """
        greatest = self.greatest[self.pool_query]
        return self.with_gain(np.exp2(self.gain - greatest) - np.exp2(-greatest))

    def total(self, values: NDArray[np.generic]) -> Floats:
        """Sum `values` of the judged documents per query."""
        return sums(self.pool_query, values, self.n_queries)

    def positives(self, rel: float | None) -> Bools:
        """The positive documents: those that reach `rel`, or the default ones."""
        if rel is not None:
            return self.reaches(rel)
        if self.on_threshold is not None:
            self.on_threshold()
        return self.positive

    def n_positive(self, rel: float | None) -> Floats:
        """How many documents of each query are positive."""
        return self.total(self.positives(rel))


def ideal_order(query: Ints, gain: Floats) -> tuple[Ints, Ints, Floats]:
    """Sort positive gains from high to low within each query: their query, rank and gain."""
    kept = np.flatnonzero(gain > 0)
    order = kept[descending(query[kept], gain[kept])]
    return query[order], positions(query[order]) + 1, gain[order]
