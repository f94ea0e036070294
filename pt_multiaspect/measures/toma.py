"""TOMA: label tuples become classes of one order, on which any base measure is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..aspects.aspects import Aspects, aspect_name
from ..aspects.parameter import AspectSpec
from ..bases import Base
from ..bases.base import power_gain
from ..bases.exponentiated import exponentiated
from ..collection.judgments import Judgments
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices
from ..orders import DistanceOrder, TupleOrder
from ..orders.distance import function_of
from ..orders.order import AXES, check_gate
from ..orders.parameter import parse_distance, parse_order, spell_order
from .joint import Joint, JointMeasure, JointSource
from .parameters import ASPECTS, CUTOFF, Param, base_param, weights_param
from .terms import BasedMeasure

__all__ = ["TOMA"]


@dataclass(frozen=True, eq=False)
class _Classes(JointSource):
    """What a target of classes answers; the classes are built when they are asked for."""

    order: TupleOrder
    grades: Ints
    top_half: bool

    @cached_property
    def _class_index(self) -> Ints:
        return self.order.class_index(self.grades)

    @cached_property
    def positive(self) -> Bools:
        if not self.top_half:
            return self.order.above_worst(self.grades)
        return np.asarray(self._class_index >= max(1, self.order.n_classes // 2), dtype=np.bool_)

    def at_least(self, rel: float) -> Bools:
        return np.asarray(self._class_index >= rel, dtype=np.bool_)


def _parse_gate(gate: Any) -> str | None:
    return None if gate is None else aspect_name(gate)


class _TOMA(JointMeasure, BasedMeasure):
    """Total order multi-aspect evaluation: a base measure on classes of label tuples.

    Each document's labels are embedded as a point; documents are classed by its distance to
    the best point, and the base measure is computed with the class index (0 the farthest)
    as the label.

    Parameters
    ----------
    base : ir_measures.Measure or str, default 'nDCG'
        The single-aspect measure. An explicit ``rel`` counts class indices.
    distance : {'euclidean', 'manhattan', 'chebyshev'}, float > 0 or str, default 'euclidean'
        A number is the exponent of a Minkowski distance, another name a distance registered by
        `register_distance`.
    order : Order or str, optional
        An `Order`, or its name, that weighs label tuples outright, instead of `distance`, `axes`,
        `weights` and `gate`.
    axes : {'equal', 'gains'}, default 'equal'
        With ``'equal'`` the gains of each aspect are stretched to the span 0 to 1, so that
        aspects are equally important unless `weights` say otherwise. With ``'gains'`` the
        gains are used as they are, as in the paper's experiments (one unit per grade): an
        aspect with a longer scale is more important.
    weights : dict of str to float, optional
        Stretches the axis of each aspect; 1 by default.
    weighting : {'classes', 'normalized', 'exponential'}
        The gain of graded bases: the class index, 1 - distance / greatest distance, or
        2^index - 1. Binary bases use the class index always.
    positives : {'nonzero', 'top-half'}
        What binary bases count: every class but the farthest, or the best half of K classes
        (index at least ⌊K/2⌋ and at least 1).
    gate : str, optional
        An aspect without which the others do not count, usually ``'relevance'``. Tuples that
        combine its lowest grade with a higher grade of another aspect are not classes, and a
        document labelled so counts as the worst tuple. No gate by default.
    aspects : Aspects, mapping or str, optional
        Which aspects and their scales; every label column by default, on inferred scales.
    cutoff : int, optional
        ``TOMA @ k`` is ``TOMA(base=base @ k)``.

    Notes
    -----
    **Gate.** Without a gate, a document that is not relevant but good in all other aspects counts
    for more than many relevant ones. Most search tasks do not want that: use
    ``TOMA(gate='relevance')``.

    **Axes.** Distances depend on the lengths of the axes. On relevance 0-2, understandability 0-10
    and trust 0-10 with ``axes='gains'``, the labels (0, 10, 10) of an off-topic document are class
    119 of the classes 0 to 123, and (2, 8, 8) only 116; with equal axes the second is far better.
    On the 36 runs of CLEF eHealth 2018, which has these scales, Kendall's τ between CAM and TOMA is
    .85 over nDCG (.63 over nDCG@10) with ``axes='gains'``, but .99 (.97) with equal axes: most of the
    difference between the two measures is the lengths of the scales. ``plots.level_sets`` draws the
    axes to scale; notebook 06 shows both.

    Classes are those of *all* tuples of the scales, so declare the scales wherever qrels come in
    parts. On one aspect TOMA over nDCG equals nDCG if and only if the weights are proportional to
    the labels: grades 0, 1, 3 by class index count as 0, 1, 2.

    A document that is junk (negative) or unjudged in every aspect is passed on as such to bases
    that tell junk from non-relevant documents, such as Bpref and infAP.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021, §3.

    Examples
    --------
    >>> from pt_multiaspect import TOMA
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> measure = TOMA(distance="manhattan", aspects={"relevance": 2, "credibility": 1}) @ 10
    >>> round(measure.calc_aggregate(qrels, run), 3)
    0.913
    >>> print(measure)
    TOMA(distance='manhattan',aspects={'relevance': 2, 'credibility': 1})@10
    """

    __name__ = "TOMA"
    NAME = __name__
    PRETTY_NAME = "Total order multi-aspect evaluation"
    SHORT_DESC = "A measure on classes of label tuples, ordered by their distance to the best tuple."
    CITATION = "Maistro et al. 2021, §3"
    SUPPORTED_PARAMS = {
        "base": base_param("the measure computed on the classes"),
        "distance": Param(
            parse_distance,
            "euclidean",
            "euclidean, manhattan, chebyshev, a Minkowski exponent, or a registered name",
        ),
        "order": Param(
            parse_order,
            None,
            "an Order, or its name, instead of distance, axes, weights and gate",
            spell=spell_order,
        ),
        "axes": Param(
            choice("axes", *AXES),
            "equal",
            "equal: all aspects' scales have the same length; gains: their own, a longer one counts more",
        ),
        "weights": weights_param("stretches the axis of each aspect; 1 by default"),
        "weighting": Param(
            choice("weighting", "classes", "normalized", "exponential"),
            "classes",
            "the gain: classes (their index), normalized (1 - distance), exponential (2^index - 1)",
        ),
        "positives": Param(
            choice("positives", "nonzero", "top-half"),
            "nonzero",
            "what binary bases count: nonzero, top-half",
        ),
        "gate": Param(_parse_gate, None, "the aspect without which others cannot be"),
        "aspects": ASPECTS,
        "cutoff": CUTOFF,
    }

    def _check(self) -> None:
        super()._check()
        base = self.bases.one
        if base.READS_LABELS:
            raise MultiAspectError(
                f"the base {base.text} maps raw labels to gains, but classes of label tuples are ranked; declare "
                "the gains of the aspects, Aspect(gains=…)"
            )
        self._base = exponentiated(base) if self["weighting"] == "exponential" else base
        order = self["order"]
        if order is not None:
            embedding = ("distance", "axes", "weights", "gate")
            given = [name for name in embedding if self[name] != self.SUPPORTED_PARAMS[name].default]
            if given:
                raise MultiAspectError(
                    f"TOMA: an Order takes the place of {choices(embedding)}; leave out {choices(given)}"
                )
            named = self["aspects"]
            if named is not None and sorted(named) != sorted(order.names):
                raise MultiAspectError(
                    f"TOMA: the order is of the aspects {choices(order.names)}, but aspects are {choices(named)}"
                )

    def _check_names(self, names: Sequence[str]) -> None:
        super()._check_names(names)
        if self["gate"] is not None:
            check_gate(self["gate"], names)

    @property
    def spec(self) -> AspectSpec:
        """The aspects evaluated: those of an explicit order, if there is one."""
        spec: AspectSpec = self["aspects"] if self["order"] is None else self["order"].aspects
        return spec

    def order(self, aspects: Aspects | Mapping[str, Any]) -> TupleOrder:
        """Return the order of label tuples.

        Parameters
        ----------
        aspects : Aspects or mapping
            Scales with declared grades, for orders by distance.

        Returns
        -------
        TupleOrder
            The explicit order, or that by distance.
        """
        explicit: TupleOrder | None = self["order"]
        if explicit is not None:
            return explicit
        return DistanceOrder(
            aspects, self["distance"], axes=self["axes"], weights=self["weights"], gate=self["gate"]
        )

    def base(self) -> Base:
        return self._base

    def _target_key(self) -> tuple[object, ...]:
        # A name registered again stands for another function.
        return (*super()._target_key(), function_of(self["distance"]))

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        grades = np.stack([view.grade for view in views], axis=1)
        order = self.order(Aspects({view.name: view.aspect for view in views}))
        bottom = max(order.worst_weight, 0.0)
        if self["weighting"] == "normalized":  # asks for no classes
            weights, top = order.closeness(grades), 1.0
            bottom = bottom / order.top_weight if bottom else 0.0
        else:
            weights, top = order.weights(grades), max(order.top_weight, 0.0)
        judged = np.any([view.known for view in views], axis=0)
        gain = np.where(judged, np.maximum(weights, 0.0), 0.0)
        classes = _Classes(views, gain, order, grades, self["positives"] == "top-half")
        return Joint(gain, top, classes, bottom=bottom)

    GAIN_IS_GRADE = True

    def document_gain(self, judgments: Judgments) -> Floats:
        self.warn_if_inferred(self.views(judgments))
        gain = self.bases.one.graded_gain(self.target(judgments))
        if self["weighting"] != "exponential":
            return gain
        return power_gain(gain, "the class", "choose another weighting")


TOMA = _TOMA()
