"""Measures that make one number per document of all its aspects, and evaluate it by a base."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .._typing import Bools, Floats
from ..bases import Base, Term
from ..collection.judgments import Judgments
from ..collection.views import AspectView
from ..errors import MultiAspectError
from ..kernels.target import Source, Target
from .terms import TermMeasure

__all__ = ["Joint", "JointMeasure", "JointSource"]


@dataclass(frozen=True, eq=False)
class Joint:
    """One number per judged document, made of all its aspects.

    Parameters
    ----------
    gain : ndarray of float, shape (n_documents,)
        At least 0.
    top : float, optional
        The maximum of any document, whether there is one or not; by default that of `gain`.
    source : Source, optional
        What binary bases and bases computed by ir-measures ask; by default documents with a gain above
        0 are positive, and an explicit ``rel`` counts gains.
    unjudged : float, default 0
        The gain of documents that nobody judged.
    bottom : float, default 0
        The gain of documents with the lowest grade on every aspect.
    """

    gain: Floats
    top: float | None = None
    source: Source | None = None
    unjudged: float = 0.0
    bottom: float = 0.0

    def target(self, views: tuple[AspectView, ...]) -> Target:
        """The same as a base sees it."""
        gain = np.asarray(self.gain, dtype=np.float64)
        if gain.shape != views[0].label.shape or not (np.isfinite(gain) & (gain >= 0)).all():
            raise MultiAspectError(
                f"expected one finite number of at least 0 for each of {len(views[0].label)} judged documents, got "
                f"{gain} of the shape {gain.shape}"
            )
        return Target(
            n_queries=views[0].n_queries,
            query=views[0].pool_query,
            gain=gain,
            top=float(gain.max(initial=0.0)) if self.top is None else self.top,
            source=JointSource(views, gain) if self.source is None else self.source,
            unjudged=self.unjudged,
            bottom=self.bottom,
        )


@dataclass(frozen=True, eq=False)
class JointSource:
    """What a target of several aspects answers, from the aspects."""

    views: tuple[AspectView, ...]
    gain: Floats

    @property
    def positive(self) -> Bools:
        return np.asarray(self.gain > 0, dtype=np.bool_)

    @property
    def junk(self) -> Floats:
        """Junk or unjudged in every aspect: the best of what the labels say, NaN for nothing."""
        labels = np.stack([view.label for view in self.views])
        is_junk = ~(labels >= 0).any(axis=0)
        best = np.max(np.where(np.isnan(labels), -np.inf, labels), axis=0)
        return np.where(is_junk, np.where(np.isneginf(best), np.nan, best), 0.0)

    def check_threshold(self) -> None:
        """The numbers of several aspects have no threshold of their own."""

    def at_least(self, rel: float) -> Bools:
        return np.asarray(self.gain >= rel, dtype=np.bool_)

    def mapped(self, gains: Mapping[float, float]) -> Floats:
        raise MultiAspectError(
            "raw labels cannot be mapped to gains where several aspects make one number; declare the gains "
            "of the aspects, Aspect(gains=…)"
        )


class JointMeasure(TermMeasure):
    """A measure that states the number of each document, `joint`, and the base that evaluates it, `base`."""

    @abstractmethod
    def base(self) -> Base:
        """The single-aspect measure that evaluates the numbers, with its cutoff."""

    @abstractmethod
    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        """One number per judged document, made of the labels of all aspects."""

    def _target_key(self) -> tuple[object, ...]:
        """What `joint` depends on, beside the judgments: everything but the base and its cutoff."""
        rest = [self[name] for name in self.SUPPORTED_PARAMS if name not in ("base", "cutoff", "aspects")]
        return (type(self), self.spec, *(value if value.__hash__ is not None else repr(value) for value in rest))

    def target(self, judgments: Judgments) -> Target:
        """Return the numbers of the judged documents as a base sees them, made once for all runs and bases."""

        def make() -> Target:
            views = self.views(judgments)
            return self.joint(views).target(views)

        return judgments.cached(("joint", *self._target_key()), make)

    def terms(self, judgments: Judgments) -> list[Term]:
        return [Term.alone(self.base(), self.target(judgments))]
