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
        """A pickler of measures that are defined by functions."""

        def reducer_override(self, obj: object) -> object:
            """Pickle a measure of a user's function by its definition."""
            if type(obj).__module__ == _RUNTIME and function_of(obj) is not None:
                return _define_measure, _definition(obj)
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


def _definition(measure: Measure) -> tuple[Any, ...]:
    """Return the parameters of `_define_measure` for a measure of a user's function."""
    inputs = {"run_inputs": "RUN_INPUTS", "qrel_inputs": "QREL_INPUTS"}
    named = {
        name: getattr(measure, attribute)
        for name, attribute in inputs.items()
        if hasattr(measure, attribute)
    }
    return (
        function_of(measure),
        measure.NAME,
        "cutoff" in measure.SUPPORTED_PARAMS,
        named,
        measure.params,
    )


def _define_measure(
    function: Any,
    name: str,
    support_cutoff: bool,
    named: dict[str, list[str]],
    params: dict[str, Any],
) -> Measure:
    return ir_measures.define(function, name, support_cutoff, **named)(**params)
