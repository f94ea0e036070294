"""Single-aspect measures. They evaluate relevance, any aspect with `On`, and serve as bases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .._typing import Floats
from ..aspects import Aspects, AspectSpec
from ..bases import Base, LinearBase, Statements, Term
from ..collection import AspectView, Judgments, Ranking, Rankings
from ..kernels.target import Target
from .measure import Measure
from .on import On
from .terms import base_depends_on

if TYPE_CHECKING:
    from typing_extensions import Self


class SingleAspectMeasure(Measure, Base):
    """A single-aspect measure; subclasses define `score`.

    Parameters
    ----------
    **params
        See `SUPPORTED_PARAMS`.

    Examples
    --------
    >>> import numpy as np
    >>> import pt_multiaspect as ma
    >>> class _Found(ma.SingleAspectMeasure):
    ...     '''The number of relevant documents retrieved.'''
    ...     BINARY = True
    ...     RANGE = (0.0, np.inf)
    ...     SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}
    ...     def score(self, ranking, target):
    ...         return ranking.total(self.relevant(target)[ranking.row])
    >>> Found = ma.register(_Found)
    >>> (Found @ 1).calc_aggregate({"q1": {"d1": 1, "d2": 1}}, {"q1": {"d1": 2.0, "d2": 1.0}})
    1.0
    """

    SINGLE_ASPECT = True

    def statements(self) -> Statements:
        """Return what is known about the measure with its parameters.

        Returns
        -------
        Statements
            By default, that the value is that of a single term, the measure on relevance: a
            weighted sum, which rises with the term, and depends on labels by it.
        """
        return replace(
            super().statements(),
            is_weighted_sum=True,
            never_falls_with_terms=True,
            label_terms=self.terms,
        )

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the value of each query."""
        raise NotImplementedError(f"{type(self).__name__} does not define score")

    @property
    def text(self) -> str:
        """The printed form of the measure."""
        return self._text

    def at(self, cutoff: int | None) -> Self:
        """Return the measure with another cutoff, or without one."""
        return self(cutoff=cutoff)

    @property
    def spec(self) -> AspectSpec:
        """Relevance, the only aspect; `On` selects others."""
        return ("relevance",)

    def declare(self, spec: AspectSpec, option: str = "aspects") -> Measure:
        """Return the measure on the scale of relevance, if `spec` has one."""
        # Unlike other measures, it raises no errors about `spec`, in which `option` would name it.
        if isinstance(spec, Aspects) and "relevance" in spec:
            return self.on("relevance", spec)
        return self

    def depends_on(self, view: AspectView) -> bool:
        """Return whether the values depend on the scale of relevance."""
        return base_depends_on(self, view)

    def _spell_declared(self, aspects: Aspects) -> str:
        return f"On(base={str(self)!r},aspects={aspects.spelled()!r})"

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        return self.values(rankings, views[0].target)

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the measure on relevance as the only term."""
        (view,) = self.views(judgments)
        return [Term.alone(self, view.target)]

    def on(self, aspect: str, aspects: Aspects | None = None) -> Measure:
        """Return `On` with this measure as base."""
        return On(aspect=aspect, base=self, aspects=aspects)


class LinearMeasure(LinearBase, SingleAspectMeasure):
    """A single-aspect measure that is a discounted sum of gains; subclasses define only `linear`.

    Its value, the ideal ranking, exact upper bounds and ``CAM(normalized=True)`` follow from it.

    Parameters
    ----------
    **params
        See `SUPPORTED_PARAMS`.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> class _Patient(ma.LinearMeasure):
    ...     '''Rank-biased precision of gains, for a patient user.'''
    ...     SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}
    ...     def linear(self, target):
    ...         gain = target.gain / target.top
    ...         return ma.forms.Linear(target, gain, ma.forms.Geometric(0.95), depth=self.cutoff)
    >>> Patient = ma.register(_Patient)
    >>> round(Patient.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}}), 4)
    0.05
    """
