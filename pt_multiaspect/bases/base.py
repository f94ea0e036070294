"""What a single-aspect measure states of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar

import ir_measures
import numpy as np

from .._typing import Bools, Floats
from ..collection.rankings import Ranking, Rankings
from ..errors import MultiAspectError, choices
from ..kernels.forms import Additive, Linear, Log2
from ..kernels.hits import Hits, ratio
from ..kernels.progress import Progression
from ..kernels.target import Target

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Base", "LinearBase"]


class Base(ABC):
    """A single-aspect measure: what measures over several aspects compute on each, or on their combination.

    Only `score` is required. Everything else is optional, and means "unknown" where it is left out: bounds,
    normalisation and searches then say so. Bases are values: they compare and hash by class and parameters.
    """

    #: The interval values lie in.
    RANGE: ClassVar[tuple[float, float]] = (0.0, 1.0)
    #: Whether small values are good.
    LOWER_IS_BETTER: ClassVar[bool] = False
    #: Whether it reads which documents are relevant, and not their gains.
    BINARY: ClassVar[bool] = False
    #: Whether it depends on the top of the scale.
    NEEDS_TOP: ClassVar[bool] = False
    #: Whether it takes 2^gain - 1 for the gain itself.
    EXPONENTIATES: bool = False
    #: Whether documents in decreasing `gain` are a best ranking.
    SORTING_IS_OPTIMAL: ClassVar[bool] = False
    #: Whether the norm of its form as a sum over ranks is the same for all queries.
    CONSTANT_NORM: ClassVar[bool] = False
    #: Whether it only asks which of two gains is larger.
    ORDINAL: ClassVar[bool] = False
    #: Whether it maps raw labels itself, as nDCG's ``gains`` do.
    READS_LABELS: bool = False
    #: Whether it counts what `Target.unjudged` says that documents nobody judged gain.
    READS_UNJUDGED: ClassVar[bool] = False
    #: Why the measure cannot be a base, if it cannot.
    NOT_A_BASE: ClassVar[str | None] = None

    NAME: ClassVar[Any]
    SUPPORTED_PARAMS: ClassVar[Any]
    params: dict[str, Any]

    @property
    @abstractmethod
    def text(self) -> str:
        """How the measure prints."""

    @abstractmethod
    def at(self, cutoff: int | None) -> Self:
        """The same measure with another cutoff, or with none."""

    @abstractmethod
    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings.

        Parameters
        ----------
        ranking : Ranking
            The first ranks of a run, as many as `depth` says.
        target : Target
            One number per judged document.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A finite value per judged query.
        """

    # -- what a base may state ------------------------------------------------------------------

    def gain(self, target: Target) -> Floats:
        """What each judged document counts for, at least 0."""
        if self.BINARY:
            return self.relevant(target).astype(np.float64)
        return target.gain

    def additive(self, target: Target) -> Additive | None:
        """The measure as a sum over ranks."""
        return None

    def progression(self, target: Target) -> Progression | None:
        """The measure step by step. Promises that a better document further up never lowers the value."""
        return None

    def contributions(self, ranking: Hits, target: Target) -> Floats | None:
        """What each document of the ranking adds to the value of its query."""
        form = self.additive(target)
        return None if form is None else form.contributions(ranking)

    def graded_gain(self, target: Target) -> Floats:
        """The gain that the measure sums, as a training label; of binary measures that of the grade."""
        gain = target.gain if self.BINARY else self.gain(target)
        if self.EXPONENTIATES and self.is_additive:
            return power_gain(gain, "the gain", "choose another weighting")
        return gain

    def gain_share(self, target: Target) -> tuple[Floats, Hashable]:
        """Return each judged document's gain over the norm of its query, and a key of the form.

        Measures with equal keys are maximised together by sorting by the sum of the gains. Of a measure
        that is no sum of discount times gain the key is None, and the surrogate is that of R if it is
        binary, else that of nDCG.
        """
        form = self.additive(target)
        if isinstance(form, Linear):
            depth = form.depth.tobytes() if isinstance(form.depth, np.ndarray) else form.depth
            if self.CONSTANT_NORM:  # changes no order
                return np.asarray(form.gain, dtype=np.float64), (self.NAME, form.discount, depth)
            return form.normalised_gain, (self.NAME, form.discount, depth)
        if self.BINARY:
            return ratio(self.gain(target), self.n_relevant(target)[target.query]), None
        ideal = target.best_sum(target.gain, Log2(), self.cutoff)
        return ratio(target.gain, ideal[target.query]), None

    def exponential(self) -> Base | None:
        """The same measure of the gain 2^g - 1; None if it has no form of its own for that.

        Raises
        ------
        MultiAspectError
            If it exponentiates gains itself.
        """
        if self.EXPONENTIATES:
            raise MultiAspectError(
                f"the base {self.text} exponentiates gains already, as weighting='exponential' does; take "
                "weighting='classes' with it"
            )
        return self if self.BINARY or self.ORDINAL else None

    # -- what follows ---------------------------------------------------------------------------

    def values(self, rankings: Rankings, target: Target) -> Floats:
        """Evaluate a run, computed once per run and target.

        Raises
        ------
        MultiAspectError
            If `score` does not return one finite number per query.
        """
        values: Floats = rankings.shared(("base", self, target), lambda: self._values(rankings, target))
        return values

    def _values(self, rankings: Rankings, target: Target) -> Floats:
        if target.unjudged and not self.READS_UNJUDGED:
            raise MultiAspectError(f"the base {self.text} does not count documents that nobody judged")
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.score(rankings.top(self.depth), target)
        return check_values(values, rankings.judgments.qids, self.text)

    def empty(self, target: Target) -> Bools:
        """Tell for which queries no judged document could ever score."""
        return target.cached(("empty", self), lambda: target.total(self.gain(target) > 0) == 0)

    @property
    def depth(self) -> int | None:
        """The number of ranks `score` looks at."""
        return self.cutoff

    @property
    def cutoff(self) -> int | None:
        """The cutoff the measure has."""
        cutoff: int | None = self.params.get("cutoff")
        return cutoff

    @property
    def accepts_cutoff(self) -> bool:
        """Whether the measure has a cutoff at all."""
        return "cutoff" in self.SUPPORTED_PARAMS

    @property
    def rel(self) -> float | None:
        """The label from which documents count, None for the target's own threshold."""
        rel: float | None = self.params.get("rel")
        return rel

    def relevant(self, target: Target) -> Bools:
        """Which judged documents count."""
        return target.relevant(self.rel)

    def n_relevant(self, target: Target) -> Floats:
        """How many judged documents of each query count."""
        return target.n_relevant(self.rel)

    @property
    def is_additive(self) -> bool:
        """Whether the measure states its form as a sum over ranks."""
        return type(self).additive is not Base.additive

    @property
    def measure_class(self) -> type:
        """The class that says what is computed."""
        return type(self)

    @property
    def is_named(self) -> bool:
        """Whether the measure's name, as it prints, is that of its own class for ir-measures."""
        return type(ir_measures.measures.registry.get(self.NAME)) is self.measure_class

    def check_complete(self) -> None:
        """Refuse a measure that lacks a parameter it requires, such as P without a cutoff."""
        missing = [
            name for name, info in self.SUPPORTED_PARAMS.items() if info.required and name not in self.params
        ]
        if missing:
            example = f", as in {self.text}@10" if missing == ["cutoff"] else ""
            raise MultiAspectError(f"the base {self.text} is not complete: it needs {choices(missing)}{example}")


class LinearBase(Base):
    """A base that is Σ_k discount(k) · gain(d_k) / norm up to a depth: it states that, and all else follows."""

    SORTING_IS_OPTIMAL = True

    @abstractmethod
    def linear(self, target: Target) -> Linear:
        """The form of the measure on a target."""

    def additive(self, target: Target) -> Linear:
        """The same, made once per target."""
        return target.cached(("form", self), lambda: self.linear(target))

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return np.minimum(self.additive(target).values(ranking), self.RANGE[1])

    def progression(self, target: Target) -> Progression | None:
        return Progression.linear(self.additive(target))


def power_gain(exponent: Floats, what: str, remedy: str) -> Floats:
    """Return the gains 2^exponent - 1 of documents.

    Raises
    ------
    MultiAspectError
        If one is too large for a float; it names `what` has the exponent, and the `remedy`.
    """
    largest = exponent.max(initial=0.0)
    if largest >= np.finfo(np.float64).maxexp:
        raise MultiAspectError(
            f"{what} {largest:g} has the gain 2^{largest:g} - 1, which is too large for a label: {remedy}"
        )
    return np.asarray(np.exp2(exponent) - 1.0, dtype=np.float64)


def check_values(values: Any, qids: Any, name: str) -> Floats:
    """Return the values of a measure, after checking that there is one finite number per query."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (len(qids),):
        raise MultiAspectError(
            f"{name} must compute one value per query, expected the shape ({len(qids)},), got {array.shape}"
        )
    if not np.isfinite(array).all():
        place = int(np.argmax(~np.isfinite(array)))
        raise MultiAspectError(
            f"{name} is {array[place]:g} for query {qids[place]}, expected a finite number; gains, weights or "
            "parameters may be too large, or the measure divides by 0"
        )
    return array
