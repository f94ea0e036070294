"""The topics on which two runs differ most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .._validation import count
from ..errors import MultiAspectError, choices, number_of, refuse_unknown, warn_once
from ..evaluation.long_frames import measures_by_label, read_long_frame
from ..integration.parsing import MeasureLike


def largest_differences(
    perquery: Any, a: str, b: str, measure: MeasureLike | None = None, *, n: int = 10
) -> pd.DataFrame:
    """Return the topics on which two runs differ most.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``, with the columns ``name qid measure value``.
    a, b : str
        The names of the runs.
    measure : measure or str, optional
        The measure, or its label in the frame. Not required if the frame has one measure only.
    n : int, default 10
        Maximum number of topics.

    Returns
    -------
    DataFrame
        ``qid measure value_a value_b difference``, where the difference is the value of `a` minus that of `b`. The
        largest absolute differences come first, ties in the order of the topics.

    Raises
    ------
    MultiAspectError
        If a run or the measure is not in the frame, several measures are in it and none is given, a run has
        several values for a topic, a column is missing, a name is empty, or a value is not a number or is missing.

    Warns
    -----
    MultiAspectWarning
        If a topic has a value for one of the runs only; it is left out.

    See Also
    --------
    explain : The contributions of documents on such a topic; compare runs with `Explanation.compare`.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}}
    >>> runs = {
    ...     "bm25": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}},
    ...     "dense": {"q1": {"d1": 1.0}, "q2": {"new": 2.0, "d1": 1.0}},
    ... }
    >>> perquery = ma.evaluate(runs, qrels, "map", progress=False)
    >>> ma.largest_differences(perquery, "bm25", "dense", n=1)
      qid measure  value_a  value_b  difference
    0  q2     map      1.0      0.5         0.5
    """
    n = count("n")(n)
    perquery = read_long_frame(perquery)
    label = _label(perquery, measure)
    measure_rows = perquery[perquery["measure"].astype(str) == label]
    values = [_values(measure_rows, name, label) for name in (a, b)]
    both = pd.concat(values, axis=1, keys=["value_a", "value_b"], join="inner")
    left_out = values[0].index.symmetric_difference(values[1].index)
    if len(left_out):
        warn_once(
            f"{number_of(len(left_out), 'topic')} {'has' if len(left_out) == 1 else 'have'} a value of {label} for "
            f"only one of the runs {a} and {b} and {'is' if len(left_out) == 1 else 'are'} left out, such as "
            f"{choices(left_out[:3])}. Evaluate both runs on the same qrels",
            key=f"{a} {b} {label} {len(left_out)}",
            group="topics of one run",
        )
    both = both.assign(measure=label, difference=both["value_a"] - both["value_b"])
    order = np.argsort(-both["difference"].abs().to_numpy(), kind="stable")[:n]
    both = both.iloc[order].rename_axis("qid").reset_index()
    return both[["qid", "measure", "value_a", "value_b", "difference"]]


def _label(perquery: pd.DataFrame, measure: MeasureLike | None) -> str:
    labels = [str(label) for label in perquery["measure"].unique()]
    if measure is None and len(labels) == 1:
        return labels[0]
    matching = [
        label for label, known in measures_by_label(perquery).items() if measure is not None and known == measure
    ]
    if str(measure) not in labels and len(matching) == 1:
        return matching[0]
    refuse_unknown(
        [measure if measure is None else str(measure)], labels, "one of the measures of the frame", "measure"
    )
    return str(measure)


def _values(measure_rows: pd.DataFrame, name: str, label: str) -> pd.Series[float]:
    """Return the values of one run by topic."""
    names = measure_rows["name"].astype(str)
    refuse_unknown([str(name)], names.unique(), "one of the runs of the frame", "run")
    run_rows = measure_rows[names == str(name)]
    twice = run_rows["qid"][run_rows["qid"].duplicated()]
    if len(twice):
        raise MultiAspectError(
            f"expected one value of {label} per topic of {name}, got several for {twice.iloc[0]}"
        )
    missing = run_rows["qid"][run_rows["value"].isna()]
    if len(missing):  # they would be sorted last, as the smallest differences
        raise MultiAspectError(
            f"expected a value of {label} per topic of {name}, got none for {choices(missing[:3])}. Evaluate the "
            "run on these topics, or leave them out"
        )
    return run_rows.set_index("qid")["value"]
