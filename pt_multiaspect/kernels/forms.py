"""Sums over ranks: the form of measures for which the best ranking can be computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from ..errors import MultiAspectError
from .breakdown import Breakdown
from .hits import Hits, ratio
from .target import Target, check_discount

__all__ = [
    "Additive",
    "Flat",
    "Geometric",
    "Ideal",
    "Jarvelin",
    "Linear",
    "Log2",
    "Power",
    "Reciprocal",
]


@dataclass(frozen=True)
class Flat:
    """The discount 1 at each rank."""

    def __call__(self, rank: Ints) -> Floats:
        """Return the discount at each rank."""
        return np.ones(len(rank))


@dataclass(frozen=True)
class Log2:
    """The discount 1 / log2(rank + 1)."""

    def __call__(self, rank: Ints) -> Floats:
        """Return the discount at each rank."""
        divisor = np.log2(rank + 1.0)
        return np.asarray(1.0 / divisor, dtype=np.float64)


@dataclass(frozen=True)
class Jarvelin:
    """The discount 1 / log2(rank), from rank 2 on."""

    def __call__(self, rank: Ints) -> Floats:
        """Return the discount at each rank."""
        divisor = np.maximum(np.log2(rank), 1.0)
        return np.asarray(1.0 / divisor, dtype=np.float64)


@dataclass(frozen=True)
class Reciprocal:
    """The discount 1 / rank."""

    def __call__(self, rank: Ints) -> Floats:
        """Return the discount at each rank."""
        return np.asarray(1.0 / rank, dtype=np.float64)


@dataclass(frozen=True)
class Geometric:
    """The discount (1 - p) p^(rank - 1)."""

    p: float

    def __call__(self, rank: Ints) -> Floats:
        """Return the discount at each rank."""
        reaches_rank = self.p ** (rank - 1.0)
        return np.asarray((1.0 - self.p) * reaches_rank, dtype=np.float64)

    def beyond(self, rank: Ints) -> Floats:
        """Return the sum of the discounts at all later ranks."""
        return np.asarray(self.p**rank, dtype=np.float64)


@dataclass(frozen=True)
class Power:
    """The discount base^(rank - 1)."""

    base: float

    def __call__(self, rank: Ints) -> Floats:
        """Return the discount at each rank."""
        base = float(self.base)
        return np.asarray(base ** (rank - 1.0), dtype=np.float64)


class Additive(ABC):
    """A measure that is a sum over ranks.

    Each term depends only on the rank and the document at that rank.
    """

    #: Whether documents with the worth 0 at every rank can be omitted from the ranking.
    LEAVES_OUT: ClassVar[bool] = False

    @abstractmethod
    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return the worth of documents of a query at each rank, shape (n_documents, n_ranks)."""

    @abstractmethod
    def values(self, hits: Hits) -> Floats:
        """Return the values of rankings, shape (n_queries,)."""

    def contributions(self, hits: Hits) -> Floats | None:
        """Return the contribution of each document to the value of its query; None if unknown.

        Its shape is (n_hits,), or (n_retrieved,) if unjudged documents contribute.
        """
        return None

    def breakdown(self, hits: Hits) -> Breakdown | None:
        """Return the values of rankings as sums over ranks; None if `contributions` are unknown."""
        contributions = self.contributions(hits)
        if contributions is None:
            return None
        # A breakdown needs contributions of all retrieved documents, judged or not. Some measures
        # return only those of the hits, the judged ones: the others contribute 0.
        retrieved = hits.dense()
        has_all = len(contributions) == len(retrieved.query)
        if not has_all:
            contributions = hits.spread(contributions)
        return Breakdown(retrieved, contributions)


@dataclass(frozen=True)
class Ideal:
    """A norm that is the sum over the ideal ranking of all judged documents.

    Parameters
    ----------
    discount : callable
        The discount of its ranks.
    depth : int, optional
        Its last rank that counts.
    """

    discount: Callable[[Ints], Floats]
    depth: int | None = None

    def norm(self, target: Target, gain: Floats | Bools) -> Floats:
        """Return the sum of each query."""
        numbers = np.asarray(gain, dtype=np.float64)  # masks as 1 and 0
        return target.best_sum(numbers, self.discount, self.depth)


@dataclass(frozen=True, eq=False)
class Linear(Additive):
    """Σ_k discount(k) · gain(d_k) / norm, down to a depth.

    Parameters
    ----------
    target : Target
        The judged documents.
    gain : ndarray of float or bool, shape (n_documents,)
        Non-negative gains of the judged documents.
    discount : callable
        A function of ranks (from 1), non-negative and non-increasing. Measures with equal discounts
        are maximised jointly by sorting documents, others by assigning documents to ranks.
        Discounts are compared with ``==``: use a frozen dataclass or a module-level function.
    norm : ndarray of float, shape (n_queries,), optional
        The denominator; queries with norm 0 have the value 0.
    depth : int or ndarray of shape (n_queries,), optional
        The last rank that counts.
    unjudged : float, default 0
        The gain of unjudged documents.
    ideal : Ideal, optional
        The ideal ranking whose sum is the norm, which is computed from it if it is not given. With
        it, `pt_multiaspect.analysis.missing_labels` knows how the norm depends on labels.
    """

    target: Target
    gain: Floats | Bools
    discount: Callable[[Ints], Floats]
    norm: Floats | None = None
    depth: int | Floats | None = None
    unjudged: float = 0.0
    ideal: Ideal | None = None
    LEAVES_OUT: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.norm is None and self.ideal is not None:
            norm = self.ideal.norm(self.target, self.gain)
            object.__setattr__(self, "norm", norm)  # the class is frozen

    @cached_property
    def normalised_gain(self) -> Floats:
        """The contribution of each judged document at a rank with discount 1."""
        gain = np.asarray(self.gain, dtype=np.float64)
        if self.norm is None:
            return gain
        norm_of_document = self.norm[self.target.query]
        return ratio(gain, norm_of_document)

    def within(self, rank: Ints, query: Ints) -> Bools:
        """Return a mask of the ranks that count: those down to the depth of their query."""
        if self.depth is None:
            return np.ones(len(rank), dtype=np.bool_)
        if isinstance(self.depth, int):
            return np.asarray(rank <= self.depth, dtype=np.bool_)
        depth_of_query = self.depth[query]
        return np.asarray(rank <= depth_of_query, dtype=np.bool_)

    def discounts(self, rank: Ints, query: Ints) -> Floats:
        """Return the discount at the given ranks; 0 below the depth of the query."""
        is_counted = self.within(rank, query)
        return np.where(is_counted, self.discount(rank), 0.0)

    def check_sorting(self) -> None:
        """Check that documents sorted by gain are a best ranking of the judged documents.

        Raises
        ------
        MultiAspectError
            If the discount is negative or increases down to the depth, or a gain is negative.
        """
        check_discount(self.discount, self.target.n_ranks(self.depth))
        lowest = float(np.min(self.gain, initial=0.0))
        if lowest < 0:
            raise MultiAspectError(
                f"expected non-negative gains, got {lowest:g}: otherwise, the best ranking is "
                "unknown"
            )

    def beyond(self) -> Floats:
        """Return the maximum contribution of unjudged documents below all judged ones, per query.

        It is infinite if unjudged documents have a gain, there is no cutoff, and the discount has
        no known sum.
        """
        n_queries = self.target.n_queries
        if self.unjudged == 0:
            return np.zeros(n_queries)
        n_judged = np.bincount(self.target.query, minlength=n_queries)
        unjudged_sum = self.unjudged * self._sum_of_discounts_after(n_judged)
        if self.norm is None:
            return unjudged_sum
        return ratio(unjudged_sum, self.norm)

    def _sum_of_discounts_after(self, rank: Ints) -> Floats:
        """Return the sum of the discounts after one rank per query, down to the depth.

        Without a depth, the sum is infinite unless discounts are geometric.
        """
        if self.depth is not None:
            return self._sum_of_discounts_to_depth(rank, self.depth)
        if isinstance(self.discount, Geometric):
            return self.discount.beyond(rank)
        return np.full(len(rank), np.inf)

    def _sum_of_discounts_to_depth(self, rank: Ints, depth: int | Floats) -> Floats:
        """Return the sum of the discounts after one rank per query, down to the given depth.

        `depth` is one for all queries, or one per query. The sum is 0 if the rank is not above it.
        """
        depths = np.broadcast_to(depth, rank.shape)
        depth_of_query = depths.astype(np.intp)
        longest = int(depth_of_query.max(initial=0))
        all_ranks = np.arange(1, longest + 1)
        discounts = self.discount(all_ranks)
        # Element n is the sum of the first n discounts.
        sum_of_first = np.append(0.0, np.cumsum(discounts))
        sum_to_depth = sum_of_first[depth_of_query]
        last_rank_before = np.minimum(rank, depth_of_query)
        sum_before = sum_of_first[last_rank_before]
        return np.asarray(sum_to_depth - sum_before, dtype=np.float64)

    def is_ranked_like(self, form: Linear) -> bool:
        """Return whether both forms have the same discounts and depths: their sum is linear."""
        if self.discount != form.discount:
            return False
        # A depth per query is an array, which `==` would compare element by element.
        has_depth_per_query = isinstance(self.depth, np.ndarray)
        if has_depth_per_query or isinstance(form.depth, np.ndarray):
            return np.array_equal(self.depth, form.depth)  # type: ignore[arg-type]
        return self.depth == form.depth

    def _discounted_gains(self, hits: Hits) -> Floats:
        """Return discount times gain of each hit; 0 below the depth of the query."""
        gain = self.gain
        if self.unjudged:
            # Unjudged documents have the row after those of all judged ones.
            gain = np.append(gain, self.unjudged)
        gain_of_hit = gain[hits.row]
        discounted = gain_of_hit * self.discount(hits.rank)
        if self.depth is not None:
            is_counted = self.within(hits.rank, hits.query)
            discounted = np.where(is_counted, discounted, 0.0)
        return np.asarray(discounted, dtype=np.float64)

    def values(self, hits: Hits) -> Floats:
        """Return the values of rankings, shape (n_queries,)."""
        if self.unjudged:
            # Unjudged documents have a gain, so all retrieved documents are summed, not only the
            # judged ones.
            hits = hits.dense()
        # Sum, then divide, so that a perfect ranking scores exactly 1.
        total = hits.total(self._discounted_gains(hits))
        if self.norm is None:
            return total
        return ratio(total, self.norm)

    def contributions(self, hits: Hits) -> Floats:
        """Return the contribution of each hit.

        If unjudged documents have a gain, it is that of each retrieved document.
        """
        if self.unjudged:
            hits = hits.dense()
        discounted_gain = self._discounted_gains(hits)
        if self.norm is None:
            return discounted_gain
        norm_of_hit = self.norm[hits.query]
        return ratio(discounted_gain, norm_of_hit)

    def breakdown(self, hits: Hits) -> Breakdown:
        """Return the values of rankings as sums over ranks, with gains, discounts and norms."""
        dense = hits.dense()
        # Unjudged documents have the row after those of all judged ones.
        judged_gain = np.asarray(self.gain, dtype=np.float64)
        gain_of_row = np.append(judged_gain, self.unjudged)
        gain = gain_of_row[dense.row]
        discount = self.discounts(dense.rank, dense.query)
        contribution = gain * discount
        if self.norm is not None:
            contribution = ratio(contribution, self.norm[dense.query])
        return Breakdown(dense, contribution, gain, discount, self.norm)

    def worth(self, query: int, documents: Ints, ranks: Ints) -> Floats:
        """Return discount times gain of each document at each rank."""
        query_of_rank = np.full(len(ranks), query)
        discounts = self.discounts(ranks, query_of_rank)
        gains = self.normalised_gain[documents]
        return np.outer(gains, discounts)
