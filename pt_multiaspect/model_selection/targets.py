"""Measures, orders and aspects as training targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import ir_measures
import numpy as np

from .._typing import Floats
from ..aspects.aspects import Aspects
from ..collection.judgments import Judgments
from ..errors import MultiAspectError, choices, refuse_unknown
from ..integration import parsing
from ..measures import TOMA, Measure, On, registered
from ..measures.parameters import ASPECTS
from ..orders import DistanceOrder, Order

Target = Measure | Order | DistanceOrder | str

SCALED_SUM = "scaled sum"


class _ScaledSum(Measure):
    """The sum of the labels, each divided by its top grade. It is only a target and cannot be evaluated."""

    NAME = SCALED_SUM
    SUPPORTED_PARAMS = {"aspects": ASPECTS}

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the sum of the gains of each document, each divided by the gain of its top grade."""
        views = self.views(judgments)
        self.warn_if_inferred(views)
        for view in views:
            view.check_gains(f"the target {self}")
        shares = [view.target.gain / (view.target.top or 1.0) for view in views]
        return np.asarray(np.sum(shares, axis=0), dtype=np.float64)

    def _declared(self, aspects: Aspects) -> str:
        return f"measure=CAM(aspects={aspects.spelled()!r})"


def read_target(target: object, measure: Measure | None = None) -> Measure:
    """Return the measure that defines a training target given as a measure, its name, an order or an aspect.

    The scaled sum has the aspects of `measure`.
    """
    if isinstance(target, Rejected):
        return target.bind()
    if isinstance(target, parsing.MeasureName):
        target = target.measure
    if isinstance(target, str) and target == SCALED_SUM:
        return _ScaledSum(aspects=None if measure is None else measure.spec)
    parameters = getattr(target, "parameters", None)  # of an order
    if parameters is not None:
        return TOMA(**parameters)
    if _is_aspect(target):
        return On(aspect=target)
    parsed = parsing.parse(target) if isinstance(target, str) else [target]
    if len(parsed) == 1 and _has_gain(parsed[0]):
        return cast(Measure, parsed[0])
    raise _no_labels(target)


def _has_gain(measure: object) -> bool:
    """Return whether a measure may have a gain per document, as far as its class tells."""
    return getattr(type(measure), "document_gain", Measure.document_gain) is not Measure.document_gain


def _is_aspect(target: object) -> bool:
    return isinstance(target, str) and target.isidentifier() and target not in ir_measures.measures.registry


def _no_labels(target: object) -> MultiAspectError:
    own = [measure.NAME for measure in registered() if _has_gain(measure)]
    return MultiAspectError(
        f"expected a measure with a gain per document ({', '.join(own)}), {SCALED_SUM!r}, the name of an aspect or "
        f"an Order to aggregate labels, got {target!r}. Train on one of these; ranking_scorer selects models by "
        "any measure"
    )


def gains(judgments: Judgments, measure: Measure) -> Floats:
    """Return the gain of each judged document that `measure` sums over the ranks."""
    gain = measure.document_gain(judgments)
    if gain is None:
        raise _no_labels(measure)
    return gain


class Rejected:
    """A target with parameters that it does not accept, kept until `fit` raises the error.

    As scikit-learn's own estimators do, `set_params` stores values and `fit` validates them, so that in a search
    an invalid candidate fails alone.
    """

    def __init__(self, target: object, params: Mapping[str, Any]) -> None:
        self.target = target
        self.params = dict(params)

    def __repr__(self) -> str:
        return f"{self.target!r} with {', '.join(f'{name}={value!r}' for name, value in self.params.items())}"

    def bind(self) -> Measure:
        """Return the measure with its parameters, which raises the error."""
        return read_target(self.target)(**self.params)


def nested_params(target: object) -> dict[str, Any]:
    """Return the parameters of the measure that a target is or names; empty for aspects and orders."""
    if isinstance(target, Rejected):
        return nested_params(target.target) | target.params
    if isinstance(target, parsing.MeasureName):
        target = target.measure
    measure: object = target
    if isinstance(target, str) and target != SCALED_SUM and not _is_aspect(target):
        try:
            measure = read_target(target)
        except MultiAspectError:
            return {}  # fit raises the error
    return {name: cast(Any, measure)[name] for name in getattr(measure, "SUPPORTED_PARAMS", ())}


def with_params(target: object, params: Mapping[str, Any]) -> object:
    """Return a new target with the given parameters of its measure; the given target is not changed."""
    if isinstance(target, Rejected):
        params = {**target.params, **params}
        target = target.target
    known = nested_params(target)
    if not known:
        raise MultiAspectError(f"target {target!r} is not a measure and has no parameters {choices(params)}")
    measure = read_target(target)
    refuse_unknown(params, known, f"parameters of {measure.NAME}", "target")
    try:
        return measure(**params)
    except MultiAspectError:
        return Rejected(target, params)
