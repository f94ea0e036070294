"""Serialisation of plans for other processes."""

from __future__ import annotations

import hashlib
import io
import pickle
from typing import Any

import ir_measures
import numpy as np
from ir_measures import Measure
from numpy.typing import NDArray

from ..bases.delegated import function_of
from .plan import Plan

#: Plans by key: those that this process created or received.
_plans: dict[str, Plan] = {}

#: The maximum number of plans that a process keeps.
_MOST_PLANS = 2


def pack_plan(plan: Plan) -> tuple[str, NDArray[np.uint8]]:
    """Return a key and the bytes of a plan.

    The bytes are an array, which joblib sends to each worker only once. Measures that are defined in a
    notebook or script are sent with their code.
    """
    try:
        import cloudpickle
    except ImportError:  # joblib before 1.5 contains a copy of it
        from joblib.externals import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """A pickler of measures that are defined by functions."""

        def reducer_override(self, obj: object) -> object:
            """Pickle a measure of a user's function by its definition."""
            if type(obj).__module__ == _RUNTIME and hasattr(obj, "runtime_impl"):
                return _defined, _definition(obj)
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(plan)
    content = buffer.getvalue()
    key = hashlib.sha256(content).hexdigest()
    _keep(key, plan)
    return key, np.frombuffer(content, dtype=np.uint8)


#: The module of the classes that `ir_measures.define` creates.
_RUNTIME = ir_measures.define.__module__


def _definition(measure: Measure) -> tuple[Any, ...]:
    """Return the parameters of `_defined` for a measure of a user's function, whose class cannot be pickled."""
    inputs = {"run_inputs": "RUN_INPUTS", "qrel_inputs": "QREL_INPUTS"}
    named = {name: getattr(measure, attribute) for name, attribute in inputs.items() if hasattr(measure, attribute)}
    return function_of(measure), measure.NAME, "cutoff" in measure.SUPPORTED_PARAMS, named, measure.params


def _defined(
    function: Any, name: str, support_cutoff: bool, named: dict[str, list[str]], params: dict[str, Any]
) -> Measure:
    return ir_measures.define(function, name, support_cutoff, **named)(**params)


def unpack_plan(key: str, content: NDArray[np.uint8] | bytes) -> Plan:
    """Return a plan, restored once per process."""
    plan = _plans.get(key)
    if plan is None:
        plan = pickle.loads(content if isinstance(content, bytes) else content.data)
        _keep(key, plan)
    return plan


def forget_plan(key: str) -> None:
    """Remove a plan from those that this process keeps."""
    _plans.pop(key, None)


def _keep(key: str, plan: Plan) -> None:
    _plans[key] = plan
    for earlier in list(_plans)[:-_MOST_PLANS]:  # threads of the caller may add and remove others meanwhile
        _plans.pop(earlier, None)
