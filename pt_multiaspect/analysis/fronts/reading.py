"""Input of `attainable_front`: measures, and the values of systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..._typing import Floats
from ...aspects.aspects import Aspects
from ...aspects.parameter import AspectSpec, parse_aspects
from ...collection.frames import as_pandas
from ...collection.judgments import Judgments
from ...errors import MultiAspectError, choices
from ...evaluation.long_frames import COLUMNS, is_recorded, measures_by_label
from ...evaluation.topics import check_all_topics
from ...integration import parsing
from ...io.runs import join, named_runs
from ...measures import Measure, On
from .._frames import matrix, of_measures


def measures_of(measures: Any, aspects: Any) -> dict[str, Measure]:
    """Return two or three measures of this package by label.

    Parameters
    ----------
    measures : measure, str, sequence of these or mapping
        The measures.
    aspects : Aspects, mapping, str or None
        The aspects of a single measure, or the scales of several that declare none.

    Raises
    ------
    MultiAspectError
        If there are fewer than two or more than three.
    """
    check_all_topics(measures, "a front has a point of all measures for each topic")
    labelled = parsing.parse_all(measures)
    if aspects is not None:
        spec = parse_aspects(aspects)
        if len(labelled) == 1:
            (measure,) = labelled.values()
            labelled = {name: _on(measure, name, spec) for name in spec or ()}
        else:
            labelled = {label: _declared(measure, spec) for label, measure in labelled.items()}
    if not 2 <= len(labelled) <= 3:
        remedy = (
            "; give aspects= to evaluate one measure on each of two or three aspects" if len(labelled) == 1 else ""
        )
        raise MultiAspectError(f"expected two or three measures, got {len(labelled)}: {choices(labelled)}{remedy}")
    result = {label: parsing.as_measure(measure) for label, measure in labelled.items()}
    for measure in result.values():
        measure.validate_params()
    return result


def _on(measure: Any, aspect: str, spec: AspectSpec) -> Measure:
    """Return a single-aspect measure on one aspect."""
    if getattr(measure, "NOT_A_BASE", None) is not None:
        raise MultiAspectError(
            f"aspects: expected one single-aspect measure, such as nDCG, to evaluate on each aspect, or two or "
            f"three measures, got {measure} alone"
        )
    return On(aspect=aspect, base=measure, aspects=spec if isinstance(spec, Aspects) else None)


def _declared(measure: Any, spec: AspectSpec) -> Any:
    """Return a measure with declared aspects, unless it declares its own."""
    if "aspects" not in measure.SUPPORTED_PARAMS:
        raise MultiAspectError(
            f"aspects: {measure} has no parameter aspects; declare them in each measure that has it, such as "
            "On(base='nDCG', aspects=...), instead"
        )
    return measure if measure["aspects"] is not None else measure(aspects=spec)


def systems_of(runs: Any, measures: Mapping[str, Measure], judgments: Judgments) -> tuple[list[Any], Floats]:
    """Return the names of systems, and their values, shape (n_systems, n_queries, n_measures).

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, run, or DataFrame
        Runs as for `pt_multiaspect.evaluate`, or a long frame ``name qid measure value`` with these measures.
    measures : mapping of str to Measure
        The measures by label.
    judgments : Judgments
        The judged documents.

    Raises
    ------
    MultiAspectError
        If a run is invalid, or the frame lacks a measure or a topic, or has a record of other measures.
    """
    runs = as_pandas(runs)
    if isinstance(runs, pd.DataFrame) and set(COLUMNS) <= set(runs.columns):
        return _of_frame(runs, measures, judgments)
    names, values = [], []
    for name, run in named_runs(runs).items():
        rankings = join(name, run, judgments)
        names.append(name)
        values.append(np.column_stack([measure.evaluate(rankings) for measure in measures.values()]))
    return names, np.array(values)


def _of_frame(
    perquery: pd.DataFrame, measures: Mapping[str, Measure], judgments: Judgments
) -> tuple[list[Any], Floats]:
    selected = of_measures(perquery, list(measures))
    values, names, qids, _ = matrix(selected, as_given=True, least=1)
    _check_recorded(selected, measures)
    row_of = {str(qid): index for index, qid in enumerate(qids)}
    if set(row_of) != set(judgments.qids.tolist()):
        unshared = sorted(set(row_of) ^ set(judgments.qids.tolist()))
        raise MultiAspectError(
            f"expected the topics of the front ({judgments.n_queries}), got {len(row_of)}; only one of them has "
            f"{choices(unshared[:5])}. Evaluate on the same qrels"
        )
    topics = [row_of[qid] for qid in judgments.qids.tolist()]
    return names, values[:, topics]


def _check_recorded(perquery: pd.DataFrame, measures: Mapping[str, Measure]) -> None:
    """Check that the labels of a frame with a record refer to the measures of the front."""
    for label, measure in measures_by_label(perquery).items():
        if measure is None or not is_recorded(perquery, label):
            continue
        try:
            same = parsing.as_measure(measure) == measures[label]
        except MultiAspectError:  # not a measure of a front
            same = False
        if not same:
            raise MultiAspectError(
                f"expected values of {label} = {measures[label]}, as in the front, got {label} = {measure}. "
                "Evaluate with the measures of the front, as in pt_multiaspect.evaluate(runs, qrels, "
                "front.measures)"
            )
