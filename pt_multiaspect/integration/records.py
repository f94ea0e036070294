"""Records of the measures of a long frame, in its ``attrs``."""

from __future__ import annotations

from collections.abc import Mapping

import ir_measures
import pandas as pd

from .parsing import MeasureName

#: Key of the record in ``DataFrame.attrs``.
RECORD = "measures"


def record(perquery: pd.DataFrame, labelled: Mapping[str, ir_measures.Measure | str | None]) -> None:
    """Record in the frame the measures of its labels; None for a label that does not name a measure.

    Printed measures, as read from files, are parsed when they are looked up.
    """
    perquery.attrs[RECORD] = {
        label: measure if measure is None or isinstance(measure, str) else MeasureName(measure)
        for label, measure in labelled.items()
    }
