"""Targets: the gains of the judged documents on which single-aspect measures are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._cached import Memo, cached_property
from .._typing import Bools, Floats, Ints
from ..errors import MultiAspectError
from .hits import ideal_sums, sums


class Source(Protocol):
    """The origin of the gains of a target. Few measures need it, so it is evaluated lazily."""

    @property
    def positive(self) -> Bools:
        """A mask of the documents that binary measures count as relevant without a ``rel``."""

    @property
    def junk(self) -> Floats:
        """0 for ordinary judgments, the negative label of junk documents, NaN for unjudged ones."""

    def check_threshold(self) -> None:
        """Warn if the default threshold is doubtful; called when a measure uses `positive`."""

    def at_least(self, rel: float) -> Bools:
        """Return a mask of the documents that binary measures count as relevant with a ``rel``."""

    def check_rel(self, rel: float) -> None:
        """Warn if no label can reach ``rel``; called when a measure uses `at_least`."""

    def check_gains(self, measure: str) -> None:
        """Raise an error if gains are negative (each class of sources implements it).

        It is called if a `measure` that does not support negative gains reads gains.
        """

    def check_degrees(self) -> None:
        """Warn if labels are below 0 but have no declared gains.

        Measures that rank harmful documents lowest call it: to them, such documents are harmful.
        This protocol has no code; each class of sources implements it.
        """

    def mapped_gains(self, gains: Mapping[float, float]) -> Floats:
        """Return the gains assigned to raw labels (``gains`` of nDCG)."""


def check_discount(discount: Callable[[Ints], Floats], n_ranks: int) -> None:
    """Raise an error for negative or increasing discounts: sorting by gain is not optimal."""
    ranks = np.arange(1, n_ranks + 1)
    discounts = discount(ranks)
    never_increases = (np.diff(discounts) <= 0).all()
    is_non_negative = (discounts >= 0).all()
    is_valid = never_increases and is_non_negative
    if not is_valid:
        raise MultiAspectError(
            "expected a non-negative discount that does not increase with the rank, got "
            f"{discount!r}: otherwise, the best ranking is unknown"
        )


@dataclass(frozen=True, eq=False)
class Target(Memo):
    """The gains of the judged documents on which a single-aspect measure is evaluated.

    Arrays have one element per judged (query, document) pair, sorted by query.
    """

    n_queries: int
    #: The query of each judged document, non-decreasing.
    query: Ints
    #: The gain for graded measures; 0 for unjudged documents. Negative for harmful documents, if
    #: declared.
    gain: Floats
    #: The maximum gain of the scale, attained by a judged document or not.
    top: float
    source: Source
    #: The gain of unjudged documents.
    unjudged: float = 0.0
    #: The gain of the lowest grade, which need not be 0.
    bottom: float = 0.0

    def with_gain(self, gain: Floats, top: float | None = None) -> Target:
        """Return a target with the same documents and other gains."""
        if top is None:
            highest = float(gain.max(initial=0.0))
        else:
            highest = top
        return replace(self, gain=gain, top=highest, unjudged=0.0, bottom=0.0)

    def exponentiate(self) -> Target:
        """Return a target of gains 2^g - 1, scaled per query by 2^-(maximum g) to avoid overflow.

        Scaling does not change ratios of gains within a query, as in nDCG.
        """
        # (2^g - 1) · 2^-max = 2^(g - max) - 2^-max
        highest = self.highest[self.query]
        scaled_powers = np.exp2(self.gain - highest)
        scaled = scaled_powers - np.exp2(-highest)
        return self.with_gain(scaled)

    @property
    def judged(self) -> Bools:
        """A mask of the documents that are judged on some aspect.

        Documents in the qrels can lack all labels.
        """
        # `junk` is NaN for unjudged documents, 0 or a label for all others.
        is_unjudged = np.isnan(self.source.junk)
        return ~is_unjudged

    @cached_property
    def highest(self) -> Floats:
        """The maximum gain of the judged documents per query; 0 if there are none."""
        highest = np.zeros(self.n_queries)
        np.maximum.at(highest, self.query, self.gain)
        return highest

    @property
    def positive(self) -> Bools:
        """A mask of the documents that binary measures count as relevant without a ``rel``."""
        return self.source.positive

    def relevant(self, rel: float | None) -> Bools:
        """Return a mask of the documents that binary measures count as relevant.

        They are those of a label of at least `rel`, or the positive ones if it is None.
        """
        if rel is None:
            self.source.check_threshold()
            return self.positive
        self.source.check_rel(rel)

        def compute() -> Bools:
            return self.source.at_least(rel)

        return self.compute_once(("rel", rel), compute)

    def n_relevant(self, rel: float | None) -> Floats:
        """Return the number of documents per query that binary measures count as relevant."""
        return self.compute_once(("number", rel), lambda: self.total(self.relevant(rel)))

    def total(self, values: NDArray[np.generic]) -> Floats:
        """Sum `values` of the judged documents per query."""
        return sums(self.query, values, self.n_queries)

    def n_ranks(self, depth: int | Floats | None) -> int:
        """Return the number of ranks of judged documents that count in some query.

        `depth` is the last rank that counts, of all queries or of each.
        """
        n_judged = np.bincount(self.query)
        most_judged = int(n_judged.max(initial=0))
        if depth is None:
            return most_judged
        deepest = int(np.max(depth, initial=0))
        return min(most_judged, deepest)

    def best_sum(
        self, gain: Floats, discount: Callable[[Ints], Floats], depth: int | Floats | None = None
    ) -> Floats:
        """Sum discount times gain over the ideal ranking: documents by decreasing `gain`.

        Parameters
        ----------
        gain : ndarray of float, shape (n_documents,)
            Gains; the ideal ranking leaves out documents with negative ones.
        discount : callable
            A non-increasing function of ranks (from 1).
        depth : int or ndarray of shape (n_queries,), optional
            The last rank that counts.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            0 for a query without a document with a positive gain.

        Raises
        ------
        MultiAspectError
            If the discount is negative or increases, so that the sum is not the largest.
        """
        check_discount(discount, self.n_ranks(depth))
        gain = np.asarray(gain, dtype=np.float64)
        return ideal_sums(self.query, gain, discount, self.n_queries, depth)
