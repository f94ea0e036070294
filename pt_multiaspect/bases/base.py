"""The interface of single-aspect measures: the base classes `Base` and `LinearBase`, and the terms of measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import numpy as np
from ir_measures import Measure

from .._typing import Bools, Floats
from ..collection import Ranking, Rankings
from ..errors import MultiAspectError, choices
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Additive, Linear, Log2
from ..kernels.hits import Hits, ratio
from ..kernels.progress import Progression
from ..kernels.target import Target

if TYPE_CHECKING:
    from typing_extensions import Self

#: Tolerance for sums of contributions that exceed the maximum of a range because of rounding.
_ROUNDING = 1e-13


class Base(ABC):
    """A single-aspect measure, which multi-aspect measures evaluate on each aspect or on a combination of them.

    Only `text`, `at` and `score` have to be defined. The other methods are optional; their defaults
    mean "unknown", so that bounds and normalisation raise an error. Bases are immutable values, compared and
    hashed by class and parameters.
    """

    #: Minimum and maximum value.
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: Whether lower is better.
    LOWER_IS_BETTER: ClassVar[bool] = False
    #: Whether it depends only on which documents are relevant, not on their gains.
    BINARY: ClassVar[bool] = False
    #: Whether gains may be negative, for harmful documents; values then have no minimum. Other measures that read
    #: gains refuse negative ones.
    ACCEPTS_NEGATIVE_GAINS: ClassVar[bool] = False
    #: Whether it depends on the maximum gain of the scale.
    NEEDS_TOP: ClassVar[bool] = False
    #: Whether the measure itself uses 2^gain - 1 as gain.
    EXPONENTIATES: bool = False
    #: Whether sorting documents by decreasing `gain` maximises the measure.
    SORTING_IS_OPTIMAL: ClassVar[bool] = False
    #: Whether the norm of its linear form is the same for all queries.
    CONSTANT_NORM: ClassVar[bool] = False
    #: Whether it depends only on the order of gains.
    ORDINAL: ClassVar[bool] = False
    #: Whether the value never falls when the label of a document rises.
    NEVER_FALLS: ClassVar[bool] = False
    #: Whether, for a fixed number of relevant documents, the value never falls when one of them changes places with
    #: a document above it.
    PREFERS_EARLY: ClassVar[bool] = False
    #: Whether it maps raw labels to gains itself, as nDCG with ``gains`` does.
    READS_LABELS: bool = False
    #: Whether it uses `Target.unjudged`, the gain of unjudged documents.
    READS_UNJUDGED: ClassVar[bool] = False
    #: The parameters that follow from the scale if they are not given.
    FROM_SCALE: tuple[str, ...] = ()
    #: The maximum gain that it accepts.
    MAX_GAIN: float = np.inf
    #: The reason why the measure cannot be a base, or None if it can.
    NOT_A_BASE: ClassVar[str | None] = None

    NAME: ClassVar[Any]
    SUPPORTED_PARAMS: ClassVar[Any]
    params: dict[str, Any]

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

    @property
    def described(self) -> Any:
        """The measure that definitions in words describe."""
        return self

    # -- optional properties ------------------------------------------------------------------

    def gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, as the measure uses it."""
        if self.BINARY:
            return self.relevant(target).astype(np.float64)
        return target.gain

    def additive(self, target: Target) -> Additive | None:
        """Return the measure as a sum over ranks, or None if it has no such form."""
        return None

    def progression(self, target: Target) -> Progression | None:
        """Return the measure computed rank by rank; moving a better document up must never decrease the value."""
        return None

    def contributions(self, ranking: Hits, target: Target) -> Floats | None:
        """Return the contribution of each document of the ranking to the value of its query; None if unknown."""
        form = self.additive(target)
        return None if form is None else form.contributions(ranking)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown | None:
        """Return the values of rankings as sums over ranks, with gains and discounts; None if unknown.

        Follows from `additive` or `contributions`.
        """
        form = self.additive(target)
        stated = None if form is None else form.breakdown(ranking)
        if stated is not None:
            return stated
        contributions = self.contributions(ranking, target)
        if contributions is None:
            return None
        if len(contributions) == len(ranking.query):
            contributions = ranking.spread(contributions)
        dense = ranking.dense()
        return Breakdown(dense, contributions, np.append(self.gain(target), target.unjudged)[dense.row])

    def graded_gain(self, target: Target) -> Floats:
        """Return the gain of each document as a training label; for binary measures, the gain of its grade."""
        gain = target.gain if self.BINARY else self.gain(target)
        if self.EXPONENTIATES and self.is_additive:
            return power_gain(gain, "the gain", "choose another weighting")
        return gain

    def gain_share(self, target: Target) -> tuple[Floats, Hashable]:
        """Return the normalised gain of each judged document, and a key that identifies the discount.

        Sorting by the sum of the gains maximises measures with equal keys jointly. If the measure is not a
        discounted sum of gains, the key is None, and the gains are a surrogate: those of R for binary
        measures, those of nDCG for others.
        """
        form = self.additive(target)
        if isinstance(form, Linear):
            depth = form.depth.tobytes() if isinstance(form.depth, np.ndarray) else form.depth
            if self.CONSTANT_NORM:  # a constant norm does not change the order
                return np.asarray(form.gain, dtype=np.float64), (self.NAME, form.discount, depth)
            return form.normalised_gain, (self.NAME, form.discount, depth)
        if self.BINARY:
            return ratio(self.gain(target), self.n_relevant(target)[target.query]), None
        ideal = target.best_sum(target.gain, Log2(), self.cutoff)
        return ratio(target.gain, ideal[target.query]), None

    def exponential(self) -> Base | None:
        """Return the measure with the gain 2^g - 1, or None if it has no specific form for this gain.

        Raises
        ------
        MultiAspectError
            If the measure exponentiates gains itself.
        """
        if self.EXPONENTIATES:
            raise MultiAspectError(
                f"the base {self.text} already exponentiates gains, so weighting='exponential' would do it twice; "
                "use weighting='classes'"
            )
        return self if self.BINARY or self.ORDINAL else None

    # -- derived properties -------------------------------------------------------------------------

    def values(self, rankings: Rankings, target: Target) -> Floats:
        """Evaluate a run; the result is cached per run and target.

        Raises
        ------
        MultiAspectError
            If `score` does not return one finite number per query.
        """
        values: Floats = rankings.compute_once(("base", self, target), lambda: self._values(rankings, target))
        return values

    def _values(self, rankings: Rankings, target: Target) -> Floats:
        if target.unjudged and not self.READS_UNJUDGED:
            raise MultiAspectError(f"the base {self.text} does not support gains of unjudged documents")
        if self.reads_gains and not self.ACCEPTS_NEGATIVE_GAINS:
            target.source.check_gains(self.text)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.score(rankings.top(self.depth), target)
        return check_values(values, rankings.judgments.qids, self.text)

    def empty(self, target: Target) -> Bools:
        """Return a mask of the queries without a judged document with a positive gain."""
        return target.compute_once(("empty", self), lambda: target.total(self.gain(target) > 0) == 0)

    def has_positive(self, target: Target) -> Bools:
        """Return a mask of the queries with a judged document that is positive, so that values can exceed 0."""
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
        """Whether the measure has a cutoff parameter."""
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
        """Whether the measure depends on gains."""
        return not self.BINARY

    @property
    def is_additive(self) -> bool:
        """Whether the measure is defined as a sum over ranks."""
        return type(self).additive is not Base.additive

    def check_complete(self) -> None:
        """Raise an error if a required parameter is missing, as in P without a cutoff."""
        missing = [
            name
            for name, info in self.SUPPORTED_PARAMS.items()
            if info.required and name not in self.params and name not in self.FROM_SCALE
        ]
        if missing:
            example = f", as in {self.text}@10" if missing == ["cutoff"] else ""
            raise MultiAspectError(f"the base {self.text} is incomplete: it requires {choices(missing)}{example}")


class LinearBase(Base):
    """A base of the form Σ_k discount(k) · gain(d_k) / norm, down to a depth. Subclasses define only `linear`."""

    SORTING_IS_OPTIMAL = True

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
        """Return the values as sums over ranks, with gains and discounts."""
        result = self.additive(target).breakdown(ranking)
        # `score` clips values to the maximum of the range.
        excess = np.maximum(result.values() - self.RANGE[1], 0.0)
        if excess.max(initial=0.0) <= _ROUNDING:
            return result
        return replace(result, rest={"limit of the range": -excess})

    def progression(self, target: Target) -> Progression | None:
        """Return the measure computed rank by rank."""
        return Progression.linear(self.additive(target))


def is_measure(value: object) -> TypeGuard[Measure | Base]:
    """Return whether a value is a measure of ir-measures or of this package, or a base."""
    return isinstance(value, Measure | Base)


def power_gain(exponent: Floats, what: str, remedy: str) -> Floats:
    """Return the gains 2^exponent - 1 of documents.

    Raises
    ------
    MultiAspectError
        If a gain is too large for a float; the message names the exponent as `what`, and ends with the `remedy`.
    """
    largest = exponent.max(initial=0.0)
    if largest >= np.finfo(np.float64).maxexp:
        raise MultiAspectError(
            f"{what} {largest:g} gives the gain 2^{largest:g} - 1, which is too large for a label: {remedy}"
        )
    return np.asarray(np.exp2(exponent) - 1.0, dtype=np.float64)


def check_values(values: Any, qids: Any, name: str) -> Floats:
    """Check that a measure returned one finite number per query, and return the values."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(qids),):
        raise MultiAspectError(
            f"{name} must return one value per query, expected the shape ({len(qids)},), got {array.shape}"
        )
    if not np.isfinite(array).all():
        query = int(np.argmax(~np.isfinite(array)))
        raise MultiAspectError(
            f"{name}: expected a finite number, got {array[query]:g} for query {qids[query]}; gains, weights or "
            "parameters may be too large, or the measure divides by 0"
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
        """Raise an error that starts with `what` if the base reads gains, and negative ones are declared."""
        if self.base.reads_gains:
            self.target.source.check_gains(what)

    @classmethod
    def alone(cls, base: Base, target: Target) -> Term:
        """Return a single term with weight 1."""
        return cls(base, target, np.ones(target.n_queries))
