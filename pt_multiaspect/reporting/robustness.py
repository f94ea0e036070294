"""The robustness of the difference that the summary of a report states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..analysis.robustness import Robustness, robustness
from ..collection.judgments import Judgments
from ..errors import MultiAspectError, silence_warnings
from ..integration.aggregators import aggregate_is_mean
from .figures import Figures
from .summary import compared_pair


def robustness_of_pair(
    figures: Figures, runs: Mapping[str, Any] | None = None, qrels: Judgments | None = None
) -> Robustness | None:
    """Return what the difference of the pair of the summary depends on, None if there is no difference of means.

    Parameters
    ----------
    figures : Figures
        The figures. A note is added if the analysis is not possible.
    runs, qrels : optional
        The runs and judgments; None for values.
    """
    pair, measure, options = compared_pair(figures), figures.measures[figures.main], figures.options
    if pair is None or not aggregate_is_mean(measure):
        return None
    values = figures.perquery
    if runs is None:  # the sign of values is the only place for the direction of a label that names no measure
        lower = [label for label, known in figures.measures.items() if known is None and figures.lower[label]]
        is_lower = values["measure"].isin(lower) & (values["measure"] != figures.main)
        values = values.assign(value=values["value"].where(~is_lower, -values["value"]))
        values.attrs = figures.perquery.attrs
    word = "lower" if figures.lower[figures.main] else "higher"
    try:
        with silence_warnings():  # which the evaluation has given
            found = robustness(
                values if runs is None else runs,
                qrels,
                {figures.main: word if measure is None else measure},
                baseline=figures.baseline,
                alpha=options.alpha,
                correction=None if options.correction is None else "holm",
                seed=options.seed,
            )
    except MultiAspectError as error:
        figures.notes.append(f"How far the difference holds is not shown: {error}")
        return None
    if options.test != "t" or options.correction not in (None, "holm"):
        figures.notes.append(
            "How far it holds is by paired t-tests with Holm's correction, the tables are by the test they name."
        )
    rows = found.table[(found.table["a"] == pair[0]) & (found.table["b"] == pair[1])].reset_index(drop=True)
    return replace(found, table=rows) if len(rows) else None
