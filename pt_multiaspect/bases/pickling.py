"""Pickles of measures that functions of users define, whose classes Python cannot pickle."""

from __future__ import annotations

import io
import pickle
from typing import Any

import ir_measures
from ir_measures import Measure

from .delegated import function_of

#: The module of the classes that `ir_measures.define` makes.
_RUNTIME = ir_measures.define.__module__


def pickle_with_code(value: object) -> bytes:
    """Return the pickle of a value, with the code of what is defined in a notebook or script."""
    try:
        import cloudpickle
    except ImportError:  # versions of joblib that do not require it contain a copy
        from joblib.externals import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """A pickler that accepts measures of users' functions, too."""

        def reducer_override(self, obj: object) -> object:
            """Return how to make an object again: a function, and its arguments.

            The pickler calls this for each object in the value. A measure of a user's function is
            defined again, as Python does not find its class by name.
            """
            is_runtime_measure = type(obj).__module__ == _RUNTIME
            if is_runtime_measure and function_of(obj) is not None:
                return _define_measure, _definition(obj)
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _definition(measure: Measure) -> tuple[Any, ...]:
    """Return the parameters of `_define_measure` for a measure of a user's function."""
    inputs: dict[str, list[str]] = {}
    for name, attribute in (("run_inputs", "RUN_INPUTS"), ("qrel_inputs", "QREL_INPUTS")):
        if hasattr(measure, attribute):
            inputs[name] = getattr(measure, attribute)
    function = function_of(measure)
    supports_cutoff = "cutoff" in measure.SUPPORTED_PARAMS
    return function, measure.NAME, supports_cutoff, inputs, measure.params


def _define_measure(
    function: Any,
    name: str,
    supports_cutoff: bool,
    inputs: dict[str, list[str]],
    params: dict[str, Any],
) -> Measure:
    """Return the measure of a user's function; `inputs` has the parameters of its columns."""
    measure = ir_measures.define(function, name, supports_cutoff, **inputs)
    return measure(**params)
