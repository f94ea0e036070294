"""The interface of single-aspect measures: `Base` and `LinearBase`, and the terms of measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np
from ir_measures import Measure

from .._cached import cached_property
from .._typing import Bools, Floats
from ..collection import Ranking, Rankings
from ..errors import MultiAspectError, choices
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Additive, Linear
from ..kernels.hits import Hits
from ..kernels.progress import Progression
from ..kernels.target import Target
from .statements import Statements

if TYPE_CHECKING:
    from typing_extensions import Self

#: Tolerance for sums of contributions that exceed the maximum of a range because of rounding.
_ROUNDING = 1e-13


class Base(ABC):
    """A single-aspect measure.

    Multi-aspect measures evaluate it on each aspect, or on a combination of them. Only `text`, `at`
    and `score` have to be defined. The other methods are optional; their defaults mean "unknown",
    so that bounds and normalisation raise an error. Bases are immutable values, compared and hashed
    by class and parameters.
    """

    #: Minimum and maximum value.
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: Whether lower is better.
    LOWER_IS_BETTER: ClassVar[bool] = False
    #: Whether it depends only on which documents are relevant, not on their gains.
    BINARY: ClassVar[bool] = False

    NAME: ClassVar[Any]
    SUPPORTED_PARAMS: ClassVar[Any]
    params: dict[str, Any]
    #: The parameters that follow from the scale if they are not given.
    _from_scale: tuple[str, ...] = ()

    @property
    @abstractmethod
    def text(self) -> str:
        """The printed form of the measure."""

    @abstractmethod
    def at(self, cutoff: int | None) -> Self:
        """Return the measure with another cutoff, or without one."""

    @abstractmethod
    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings.

        Parameters
        ----------
        ranking : Ranking
            The first `depth` ranks of a run.
        target : Target
            The gains of the judged documents.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            One finite value per judged query.
        """

    # -- optional properties ------------------------------------------------------------------

    def statements(self) -> Statements:
        """Return what is known about the measure with its parameters; by default, nothing."""
        return Statements()

    @cached_property
    def stated(self) -> Statements:
        """The result of `statements`, computed once."""
        return self.statements()

    def gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, as the measure uses it."""
        if self.BINARY:
            return self.relevant(target).astype(np.float64)
        return target.gain

    def additive(self, target: Target) -> Additive | None:
        """Return the measure as a sum over ranks, or None if it has no such form."""
        return None

    def progression(self, target: Target) -> Progression | None:
        """Return the measure computed rank by rank, or None if it has no such form.

        Moving a better document up must never decrease the value.
        """
        return None

    def contributions(self, ranking: Hits, target: Target) -> Floats | None:
        """Return what each document of the ranking adds to the value of its query, or None."""
        form = self.additive(target)
        if form is None:
            return None
        return form.contributions(ranking)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown | None:
        """Return the value of each query as a sum over all retrieved documents; None if unknown.

        By default, it follows from `additive`, or else from `contributions`. `ranking` has the
        judged documents among the retrieved ones.
        """
        form = self.additive(target)
        if form is not None:
            sum_over_ranks = form.breakdown(ranking)
            if sum_over_ranks is not None:
                return sum_over_ranks
        contributions = self.contributions(ranking, target)
        if contributions is None:
            return None
        # Bases return them for all retrieved documents, or for the judged ones only. In this case,
        # unjudged documents, which are retrieved too, contribute 0.
        n_judged = len(ranking.query)
        if len(contributions) == n_judged:
            contributions = ranking.spread(contributions)
        retrieved = ranking.dense()  # the ranking with all retrieved documents
        gain = self._gain_of_retrieved(retrieved, target)
        return Breakdown(retrieved, contributions, gain)

    def _gain_of_retrieved(self, retrieved: Hits, target: Target) -> Floats:
        """Return the gain of each retrieved document, also of unjudged ones.

        `retrieved.row` is the row of a document among the n judged ones, and n if it is unjudged.
        """
        gain_of_judged = self.gain(target)
        gain_of_row = np.append(gain_of_judged, target.unjudged)
        gain: Floats = gain_of_row[retrieved.row]
        return gain

    def exponential(self) -> Base | None:
        """Return the measure with the gain 2^g - 1, or None if it has no form of its own for this.

        Raises
        ------
        MultiAspectError
            If the measure exponentiates gains itself.
        """
        if self.stated.exponentiates_gains:
            raise MultiAspectError(
                f"the base {self.text} already exponentiates gains, so weighting='exponential' "
                "would do it twice; use weighting='classes'"
            )
        does_not_read_gains = self.BINARY or self.stated.is_ordinal
        if does_not_read_gains:
            return self
        return None

    # -- derived properties -------------------------------------------------------------------

    def values(self, rankings: Rankings, target: Target) -> Floats:
        """Evaluate a run; the result is cached per run and target.

        Raises
        ------
        MultiAspectError
            If `score` does not return one finite number per query.
        """
        key = ("base", self, target)
        values: Floats = rankings.compute_once(key, lambda: self._check_and_score(rankings, target))
        return values

    def _check_and_score(self, rankings: Rankings, target: Target) -> Floats:
        """Return the value of each query, after checking that the base supports the gains."""
        unjudged_documents_gain = target.unjudged != 0
        if unjudged_documents_gain and not self.stated.reads_unjudged:
            raise MultiAspectError(
                f"the base {self.text} does not support gains of unjudged documents"
            )
        if self.reads_gains and not self.stated.accepts_negative_gains:
            target.source.check_gains(self.text)  # an error for negative gains
        top_ranks = rankings.top(self.depth)
        # NumPy's warnings of infinite values and NaN are left to `check_values`, an error.
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.score(top_ranks, target)
        return check_values(values, rankings.judgments.qids, self.text)

    def empty(self, target: Target) -> Bools:
        """Return a mask of the queries without a judged document with a positive gain."""

        def find_empty() -> Bools:
            n_positive = target.total(self.gain(target) > 0)
            return np.asarray(n_positive == 0, dtype=np.bool_)

        return target.compute_once(("empty", self), find_empty)

    def has_positive(self, target: Target) -> Bools:
        """Return a mask of the queries with a positive judged document: values can exceed 0."""
        return ~self.empty(target)

    @property
    def depth(self) -> int | None:
        """The number of ranks that `score` needs; None for all."""
        return self.cutoff

    @property
    def cutoff(self) -> int | None:
        """The cutoff of the measure, or None."""
        cutoff: int | None = self.params.get("cutoff")
        return cutoff

    @property
    def accepts_cutoff(self) -> bool:
        """Return whether the measure has a cutoff parameter."""
        return "cutoff" in self.SUPPORTED_PARAMS

    @property
    def rel(self) -> float | None:
        """The lowest label that counts as relevant; None for the threshold of the target."""
        rel: float | None = self.params.get("rel")
        return rel

    def relevant(self, target: Target) -> Bools:
        """Return a mask of the judged documents that count as relevant."""
        return target.relevant(self.rel)

    def n_relevant(self, target: Target) -> Floats:
        """Return the number of relevant judged documents per query."""
        return target.n_relevant(self.rel)

    @property
    def reads_gains(self) -> bool:
        """Return whether the measure depends on gains."""
        return not self.BINARY

    def check_complete(self) -> None:
        """Raise an error if a required parameter is missing, as in P without a cutoff."""
        required = [name for name, info in self.SUPPORTED_PARAMS.items() if info.required]
        known = {*self.params, *self._from_scale}
        missing = [name for name in required if name not in known]
        if missing:
            example = ""
            if missing == ["cutoff"]:
                example = f", as in {self.text}@10"
            raise MultiAspectError(
                f"the base {self.text} is incomplete: it requires {choices(missing)}{example}"
            )


class LinearBase(Base):
    """A base of the form Σ_k discount(k) · gain(d_k) / norm, down to a depth.

    Subclasses define only `linear`.
    """

    def statements(self) -> Statements:
        """State that sorting by gain is optimal."""
        return replace(super().statements(), sorting_is_optimal=True)

    @abstractmethod
    def linear(self, target: Target) -> Linear:
        """Return the linear form of the measure on a target."""

    def additive(self, target: Target) -> Linear:
        """Return the linear form, cached per target."""
        return target.compute_once(("form", self), lambda: self.linear(target))

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings; values are clipped to the maximum of the range."""
        return np.minimum(self.additive(target).values(ranking), self.RANGE[1])

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return the values as sums over ranks, with gains and discounts.

        `score` limits values to the maximum of the range. So what a sum exceeds it by is subtracted
        from the sum, as an amount that belongs to no rank.
        """
        sums = self.additive(target).breakdown(ranking)
        _, maximum = self.RANGE
        excess = np.maximum(sums.values() - maximum, 0.0)
        is_within_range = excess.max(initial=0.0) <= _ROUNDING
        if is_within_range:
            return sums
        rest = {**sums.rest, "limit of the range": -excess}
        return replace(sums, rest=rest)

    def progression(self, target: Target) -> Progression | None:
        """Return the measure computed rank by rank."""
        return Progression.linear(self.additive(target))


def is_measure(value: object) -> TypeGuard[Measure | Base]:
    """Return whether a value is a measure of ir-measures or of this package, or a base."""
    return isinstance(value, Measure | Base)


def check_values(values: Any, qids: Any, name: str) -> Floats:
    """Check that a measure returned one finite number per query, and return the values."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(qids),):
        raise MultiAspectError(
            f"{name} must return one value per query, expected the shape ({len(qids)},), got "
            f"{array.shape}"
        )
    if not np.isfinite(array).all():
        query = int(np.argmax(~np.isfinite(array)))
        raise MultiAspectError(
            f"{name}: expected a finite number, got {array[query]:g} for query {qids[query]}; "
            "gains, weights or parameters may be too large, or the measure divides by 0"
        )
    return array


@dataclass(frozen=True, eq=False)
class Term:
    """A base, the target on which it is evaluated, and its weight."""

    base: Base
    target: Target
    #: The weight per query, shape (n_queries,).
    weight: Floats
    #: The name of the term in explanations: that of an aspect, or empty for all aspects together.
    name: str = ""
    #: The aspects whose labels the target depends on; empty for all.
    aspects: tuple[str, ...] = ()

    def check_gains(self, what: str) -> None:
        """Raise an error that starts with `what` if the base reads gains and some are negative."""
        if self.base.reads_gains:
            self.target.source.check_gains(what)

    @classmethod
    def alone(cls, base: Base, target: Target) -> Term:
        """Return a single term with weight 1."""
        return cls(base, target, np.ones(target.n_queries))
