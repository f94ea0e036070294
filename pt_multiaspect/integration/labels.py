"""Which measures the labels of a long frame stand for, recorded in its ``attrs``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ir_measures
import pandas as pd

from ..errors import MultiAspectError, choices, warn_once
from .parsing import parse, parse_all

__all__ = ["lower_is_better", "record", "recorded"]

#: Where a frame has the record.
_KEY = "measures"


class _Recorded(str):
    """What a measure prints, so that files take it, and the measure itself."""

    measure: ir_measures.Measure

    def __new__(cls, measure: ir_measures.Measure) -> _Recorded:
        text = super().__new__(cls, measure)
        text.measure = measure
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.measure,)

    def __copy__(self) -> _Recorded:
        return self

    def __deepcopy__(self, memo: object) -> _Recorded:  # pandas copies attrs at every step
        return self


def record(perquery: pd.DataFrame, labelled: Mapping[str, ir_measures.Measure]) -> None:
    """Write into the frame which measures its labels stand for."""
    perquery.attrs[_KEY] = {label: _Recorded(measure) for label, measure in labelled.items()}


def recorded(perquery: pd.DataFrame, measures: object = None) -> dict[str, ir_measures.Measure | None]:
    """Look up the measures of a long frame.

    Parameters
    ----------
    perquery : DataFrame
        With a column ``measure``.
    measures : optional
        The measures in any form `parse_all` takes, instead of those recorded.

    Returns
    -------
    dict of str to Measure or None
        By label, for every label of the frame; None if nothing is known of it.

    Raises
    ------
    MultiAspectError
        If `measures` lacks a label of the frame.
    """
    labels = [str(label) for label in perquery["measure"].unique()]
    if measures is not None:
        given = parse_all(measures)
        missing = [label for label in labels if label not in given]
        if missing:
            raise MultiAspectError(
                f"the long frame has the measures {choices(labels)}, but measures= lacks {choices(missing)}; "
                f"it has {choices(given)}"
            )
        return {label: given[label] for label in labels}
    written = perquery.attrs.get(_KEY)
    if not isinstance(written, Mapping):
        written = {}
    known: dict[str, ir_measures.Measure | None] = {}
    for label in labels:
        text = written.get(label)
        measure = text.measure if isinstance(text, _Recorded) else _read(label if text is None else text)
        if measure is None and text is not None:
            warn_once(
                f"{label} is recorded as the measure {text}, which cannot be read here, so its mean is taken and "
                "higher values count as better; give measures={label: measure}, or import or declare what it needs"
            )
        known[label] = measure
    return known


def _read(text: object) -> ir_measures.Measure | None:
    """The measure of a name, or None."""
    try:
        members = parse(str(text))
    except MultiAspectError:
        return None
    return members[0] if len(members) == 1 else None


def lower_is_better(measure: ir_measures.Measure | None) -> bool:
    """Tell whether lower values of a measure are better; of measures nobody knows, higher values are."""
    return bool(getattr(measure, "lower_is_better", False))
