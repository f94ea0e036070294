"""The measures that the labels of a long frame refer to, recorded in its ``attrs``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import ir_measures
import pandas as pd

from ..errors import MultiAspectError, choices, warn_once
from ..integration.aggregators import lower_is_better
from ..integration.parsing import MeasureName, parse, parse_all
from ..integration.records import RECORD


def is_recorded(perquery: pd.DataFrame, label: str) -> bool:
    """Return whether the frame has a record of the measure of a label."""
    written = perquery.attrs.get(RECORD)
    return isinstance(written, Mapping) and label in written


def recorded(perquery: pd.DataFrame, measures: object = None) -> dict[str, ir_measures.Measure | None]:
    """Look up the measures of a long frame.

    Parameters
    ----------
    perquery : DataFrame
        A frame with a column ``measure``.
    measures : optional
        Measures in any form accepted by `parse_all`, used instead of the recorded measures.

    Returns
    -------
    dict of str to Measure or None
        The measure of every label of the frame, or None if unknown.

    Raises
    ------
    MultiAspectError
        If `measures` does not contain all labels of the frame.
    """
    labels = [str(label) for label in perquery["measure"].unique()]
    if measures is not None:
        labelled = parse_all(measures)
        check_given(labels, labelled)
        return {label: labelled[label] for label in labels}
    written = perquery.attrs.get(RECORD)
    if not isinstance(written, Mapping):
        written = {}
    known: dict[str, ir_measures.Measure | None] = {}
    for label in labels:
        if label in written and written[label] is None:
            known[label] = None
            continue
        text = written.get(label)
        measure = text.measure if isinstance(text, MeasureName) else measure_named(label if text is None else text)
        if measure is None and text is not None:
            warn_once(
                f"{label} is recorded as the measure {text}, which cannot be parsed here. Its values are averaged "
                "and higher values count as better; pass measures={label: measure}, or import or declare what the "
                "measure requires"
            )
        known[label] = measure
    return known


def check_given(labels: Sequence[str], known: Collection[str]) -> None:
    """Raise an error if measures= does not contain all labels of a long frame."""
    missing = [label for label in labels if label not in known]
    if missing:
        raise MultiAspectError(
            f"measures= lacks {choices(missing)}: expected all measures of the long frame ({choices(labels)}), "
            f"got {choices(known)}"
        )


def is_measure_name(text: str) -> bool:
    """Return whether a name refers to a measure, or (like "P") to several with the same direction."""
    try:
        members = parse(text)
    except MultiAspectError:
        return False
    return len(set(map(lower_is_better, members))) == 1


def measure_named(text: object) -> ir_measures.Measure | None:
    """Return the measure that a name refers to, or None."""
    try:
        members = parse(str(text))
    except MultiAspectError:
        return None
    return members[0] if len(members) == 1 else None
