"""Conversion of long frames measure by measure, as topics differ with ``average_over='positive'``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..errors import MultiAspectError
from ..evaluation.long_frames import check_filled
from ._frames import Floats, matrix


def matrices(perquery: pd.DataFrame, *, least: int = 2) -> tuple[list[Any], dict[Any, Floats]]:
    """Convert a long frame to one array per measure.

    Parameters
    ----------
    perquery : DataFrame
        As for `matrix`, but measures may have different topics.
    least : int, default 2
        Minimum number of systems, and of topics of each measure, 1 or 2.

    Returns
    -------
    names : list
        The systems, in the order of their first rows in the frame.
    values : dict of measure to ndarray, systems × topics of the measure
        In the order of the frame.

    Raises
    ------
    MultiAspectError
        As for `matrix`, if the systems of one measure have different topics, or lack a measure that others have.
    """
    if not topics_differ(perquery):
        values, names, _, measures = matrix(perquery, as_given=True, least=least)
        return names, {measure: values[:, :, column] for column, measure in enumerate(measures)}
    names = perquery["name"].unique().tolist()
    result: dict[Any, Floats] = {}
    for measure, rows in by_measure(perquery):
        values, systems, _, _ = matrix(rows, as_given=True, least=least)
        lacking = [name for name in names if name not in systems]
        if lacking:
            raise MultiAspectError(f"system {lacking[0]} has no value of {measure}, but {systems[0]} has")
        result[measure] = values[[systems.index(name) for name in names], :, 0]
    return names, result


def by_measure(perquery: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield each measure of a long frame and its rows, after checking that every row has a measure."""
    check_filled(perquery, ["measure"])  # groupby would leave these rows out
    yield from perquery.groupby("measure", sort=False, observed=True)


def topics_differ(perquery: object) -> bool:
    """Return whether the measures of a long frame have different topics."""
    if not isinstance(perquery, pd.DataFrame) or not {"measure", "qid"} <= set(perquery.columns):
        return False  # `matrix` reports the error
    try:
        pairs = perquery[["measure", "qid"]].drop_duplicates()
    except TypeError:  # labels that are not hashable
        return False
    return bool(len(pairs) < pairs["measure"].nunique() * pairs["qid"].nunique())
