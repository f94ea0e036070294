"""Measures that combine the aspects of each document into one gain for a base measure."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import ir_measures
import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats
from ..bases import Base, Term, as_base
from ..collection import AspectView, Judgments
from ..errors import MultiAspectError
from ..kernels.target import Source, Target
from .measure import hashable
from .parameters import ASPECTS, CUTOFF
from .terms import TermMeasure


@dataclass(frozen=True, eq=False)
class Joint:
    """The gain of each judged document, computed from all its aspects.

    Parameters
    ----------
    gain : ndarray of float, shape (n_documents,)
        Gains of the judged documents, at least 0.
    top : float, optional
        Maximum possible gain, attained by a judged document or not; by default, the maximum of
        `gain`.
    source : Source, optional
        The source of the gains, for binary bases and bases computed by ir-measures; by default,
        documents with a gain above 0 are positive, and an explicit ``rel`` is compared with the
        gains.
    unjudged : float, default 0
        Gain of documents without judgments.
    bottom : float, default 0
        Gain of documents with the lowest grade on every aspect.

    Examples
    --------
    >>> import numpy as np
    >>> Joint(np.array([0.5, 0.0]), top=1.0).top
    1.0
    """

    gain: Floats
    top: float | None = None
    source: Source | None = None
    unjudged: float = 0.0
    bottom: float = 0.0

    def target(self, views: tuple[AspectView, ...]) -> Target:
        """Return the target on which a base evaluates these gains.

        Parameters
        ----------
        views : tuple of AspectView
            The aspects that the gains were computed from.

        Returns
        -------
        Target
            The target, with one `gain` per judged document.

        Raises
        ------
        MultiAspectError
            If there is not one finite gain of at least 0 per judged document.
        """
        first_view = views[0]  # all views have the same documents
        gain = np.asarray(self.gain, dtype=np.float64)
        has_one_per_document = gain.shape == first_view.label.shape
        is_valid = np.isfinite(gain) & (gain >= 0)
        if not (has_one_per_document and is_valid.all()):
            n_documents = len(first_view.label)
            raise MultiAspectError(
                f"expected one finite, non-negative gain for each of {n_documents} judged "
                f"documents, got {gain} of shape {gain.shape}"
            )
        top = self.top
        if top is None:
            top = float(gain.max(initial=0.0))
        source = self.source
        if source is None:
            source = JointSource(views, gain)
        return Target(
            first_view.n_queries,
            first_view.pool_query,
            gain,
            top,
            source,
            self.unjudged,
            self.bottom,
        )


@dataclass(frozen=True, eq=False)
class JointSource:
    """The source of a target that combines several aspects."""

    views: tuple[AspectView, ...]
    gain: Floats

    @property
    def positive(self) -> Bools:
        """A mask of the documents with a gain above 0."""
        return np.asarray(self.gain > 0, dtype=np.bool_)

    @property
    def junk(self) -> Floats:
        """The label of each junk document, the highest of its negative labels; 0 for others.

        A document is junk if no aspect has a label of at least 0. It is NaN if it has no label.
        """
        labels = np.stack([view.label for view in self.views])  # (n_aspects, n_documents)
        has_valid_label = (labels >= 0).any(axis=0)  # shape (n_documents,), as all below
        # Missing labels are below all others, so the maximum is -inf only if all are missing.
        labels_or_lowest = np.where(np.isnan(labels), -np.inf, labels)
        highest = np.max(labels_or_lowest, axis=0)
        has_no_label = np.isneginf(highest)
        junk_label = np.where(has_no_label, np.nan, highest)
        return np.where(has_valid_label, 0.0, junk_label)

    def check_threshold(self) -> None:
        """Accept the gains, which have no threshold."""

    def at_least(self, rel: float) -> Bools:
        """Return a mask of the documents with a gain of at least `rel`."""
        return np.asarray(self.gain >= rel, dtype=np.bool_)

    def check_gains(self, measure: str) -> None:
        """Accept the gains, which are never negative."""

    def check_degrees(self) -> None:
        """Accept the gains, of which none is of a harmful document."""

    def check_rel(self, rel: float) -> None:
        """Accept any rel, as the maximum of combined gains is unknown."""

    def mapped_gains(self, gains: Mapping[float, float]) -> Floats:
        """Raise an error: labels of several aspects cannot be mapped to gains."""
        raise MultiAspectError(
            "a base that maps raw labels to gains cannot evaluate several aspects combined; "
            "declare the gains of the aspects instead"
        )


class JointMeasure(TermMeasure):
    """A measure with `joint`, the gain of each document, and `base`, which evaluates it.

    Parameters
    ----------
    aspects, cutoff : optional
        As in `TOMA`, unless the class has other `SUPPORTED_PARAMS`.

    Examples
    --------
    >>> import numpy as np
    >>> import pt_multiaspect as ma
    >>> from ir_measures import nDCG
    >>> class _Weakest(ma.JointMeasure):
    ...     '''nDCG of the lowest gain that a document has in any aspect.'''
    ...     def base(self):
    ...         return nDCG if self.cutoff is None else nDCG @ self.cutoff
    ...     def joint(self, views):
    ...         return ma.Joint(np.min([view.target.gain for view in views], axis=0))
    >>> Weakest = ma.register(_Weakest)
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> round(Weakest(aspects=aspects).calc_aggregate(qrels, {"q1": {"d1": 2.0, "d2": 1.0}}), 4)
    0.6309
    """

    SUPPORTED_PARAMS = {"aspects": ASPECTS, "cutoff": CUTOFF}

    @abstractmethod
    def base(self) -> ir_measures.Measure | Base:
        """Return the single-aspect measure, with its cutoff, that evaluates the gains.

        Returns
        -------
        Measure
            A single-aspect measure.
        """

    @abstractmethod
    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        """Compute the gain of each judged document from its labels on all aspects.

        Parameters
        ----------
        views : tuple of AspectView
            The aspects, each with ``target.gain``, ``grade``, ``positive`` and other arrays of
            shape (n_documents,), and its ``scale``.

        Returns
        -------
        Joint
            The gains, which depend on the labels and on parameters other than `base` and `cutoff`.
        """

    def target(self, judgments: Judgments) -> Target:
        """Return the target on which the base is evaluated, computed once for all runs and bases.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        Target
            The target, with one `gain` per judged document.
        """

        def make_target() -> Target:
            views = self.views(judgments)
            return self.joint(views).target(views)

        # The key has all that `joint` depends on: `spec` stands for the aspects, and the base and
        # the cutoff, on which it does not depend, are left out.
        others = self.SUPPORTED_PARAMS.keys() - {"base", "cutoff", "aspects"}
        values = [hashable(self[name]) for name in sorted(others)]
        key = ("joint", type(self), self.spec, *values)
        return judgments.compute_once(key, make_target)

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the base on the combined gains as the only term."""
        return [Term.alone(self._base_of_gains, self.target(judgments))]

    @cached_property
    def _base_of_gains(self) -> Base:
        """The base that evaluates the gains, the same object for all runs."""
        return as_base(self.base())
