"""What a single-aspect measure takes for relevance: one number per judged document."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Floats, Ints
from .hits import descending, positions, sums

__all__ = ["Source", "Target"]

T = TypeVar("T")


class Source(Protocol):
    """Where the numbers of a target come from; few measures ask, so it answers when asked."""

    @property
    def positive(self) -> Bools:
        """What binary measures count without an explicit ``rel``."""

    @property
    def junk(self) -> Floats:
        """0 for an ordinary judgment, the negative label of a junk document, NaN where nobody judged."""

    def check_threshold(self) -> None:
        """Called when a measure reads `positive`: warns if the default threshold is doubtful."""

    def at_least(self, rel: float) -> Bools:
        """What binary measures count with an explicit ``rel``."""

    def mapped(self, gains: Mapping[float, float]) -> Floats:
        """Gains by raw label (nDCG's ``gains``)."""


@dataclass(frozen=True, eq=False)
class Target:
    """One number per judged document: what a single-aspect measure takes for relevance.

    Arrays have one element per judged pair, sorted by query.
    """

    n_queries: int
    #: The query of each judged document, non-decreasing.
    query: Ints
    #: The gain of graded measures, at least 0; 0 where the document is not judged.
    gain: Floats
    #: The maximum gain of the scale, whether a document has it or not.
    top: float
    source: Source
    #: The gain of a document that nobody judged.
    unjudged: float = 0.0
    #: The gain of the lowest grade, which need not be 0.
    bottom: float = 0.0
    _cache: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gives, made once per `key` for all runs."""
        if key not in self._cache:
            self._cache[key] = make()
        result: T = self._cache[key]
        return result

    def with_gain(self, gain: Floats, top: float | None = None) -> Target:
        """The same documents with other gains."""
        highest = float(gain.max(initial=0.0)) if top is None else top
        return replace(self, gain=gain, top=highest, unjudged=0.0, bottom=0.0, _cache={})

    def exponentiated(self) -> Target:
        """The gains 2^g - 1, scaled per query by 2^-(its maximum g) so that none overflows.

        A ratio of gains within a query, as in nDCG, is not changed by the scaling.
        """

        def make() -> Target:
            highest = self.highest[self.query]
            return self.with_gain(np.exp2(self.gain - highest) - np.exp2(-highest))

        return self.cached("exponentiated", make)

    @property
    def judged(self) -> Bools:
        """Which documents have a label; the others have rows, but none of the aspects is judged."""
        return ~np.isnan(self.source.junk)

    @cached_property
    def highest(self) -> Floats:
        """The maximum gain of each query's judged documents, 0 where there is none."""
        highest = np.zeros(self.n_queries)
        np.maximum.at(highest, self.query, self.gain)
        return highest

    @property
    def positive(self) -> Bools:
        """What binary measures count without an explicit ``rel``."""
        return self.source.positive

    def relevant(self, rel: float | None) -> Bools:
        """What binary measures count: documents that reach `rel`, or the positive ones."""
        if rel is not None:
            return self.cached(("rel", rel), lambda: self.source.at_least(rel))
        self.source.check_threshold()
        return self.positive

    def n_relevant(self, rel: float | None) -> Floats:
        """How many documents of each query binary measures count."""
        return self.cached(("number", rel), lambda: self.total(self.relevant(rel)))

    def total(self, values: NDArray[np.generic]) -> Floats:
        """Sum `values` of the judged documents per query."""
        return sums(self.query, values, self.n_queries)

    def best_sum(
        self, gain: Floats, discount: Callable[[Ints], Floats], depth: int | Floats | None = None
    ) -> Floats:
        """Sum discount times gain over the ideal ranking: the documents in decreasing `gain`.

        Parameters
        ----------
        gain : ndarray of float, shape (n_documents,)
            At least 0.
        discount : callable
            Takes ranks from 1 up; does not increase.
        depth : int or ndarray of shape (n_queries,), optional
            The last rank that counts.

        Returns
        -------
        ndarray of float, shape (n_queries,)
        """
        kept = np.flatnonzero(gain > 0)
        order = kept[descending(self.query[kept], gain[kept])]
        query = self.query[order]
        rank = positions(query) + 1
        if depth is not None:
            within = rank <= (depth if isinstance(depth, int) else depth[query])
            query, rank, order = query[within], rank[within], order[within]
        return sums(query, gain[order] * discount(rank), self.n_queries)
