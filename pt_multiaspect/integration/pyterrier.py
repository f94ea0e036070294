"""Measures in PyTerrier: their names, aggregates and directions.

PyTerrier parses names with `ir_measures.parse_trec_measure`, which accepts trec_eval names only, averages per-query
values in `pt.Experiment` for all measures, and assumes that higher values are better. The module
``pt_multiaspect_pyterrier``, next to this package, is PyTerrier's entry point and replaces these functions by the
ones defined here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

import ir_measures
import pandas as pd
from ir_measures.measures import MeanAgg

import pt_multiaspect_pyterrier
from pt_multiaspect_pyterrier import Call

from ..collection.columns import LABELLED_TOPICS
from ..errors import MultiAspectError, choices, warn
from ..measures import ALL
from .aggregators import aggregate_values, lower_aggregate_is_better, lower_is_better
from .parsing import MeasureName, find_measures, parse, record_measures
from .provider import supports

__all__ = ["aggregates", "experiment", "grid_scan", "grid_search", "install", "parse", "uninstall"]


def install() -> None:
    """Patch PyTerrier to accept ir-measures names and to aggregate as measures do. Repeated calls have no effect.

    Examples
    --------
    This is called when the package is imported:

    >>> from pt_multiaspect.integration import pyterrier
    >>> pyterrier.install()
    """
    pt_multiaspect_pyterrier.install()
    names = sys.modules.get("pyterrier.measures")
    if names is not None:  # it was filled before this package was imported
        for measure in ALL:
            vars(names).setdefault(measure.NAME, measure)


def uninstall() -> None:
    """Undo `install`, except for functions that another package has wrapped in the meantime.

    Examples
    --------
    >>> import ir_measures
    >>> from pt_multiaspect.integration import pyterrier
    >>> pyterrier.uninstall()
    >>> ir_measures.parse_trec_measure("TOMA@10")
    Traceback (most recent call last):
    ValueError: unkonwn measure TOMA@10
    >>> pyterrier.install()
    """
    pt_multiaspect_pyterrier.uninstall()


class _Experiment(NamedTuple):
    """A running `pt.Experiment`."""

    #: The measures of this package whose aggregate is not the mean, by their column.
    measures: dict[str, ir_measures.Measure]
    #: The columns that were aggregated.
    done: set[str]
    has_baseline: bool


_running: ContextVar[_Experiment | None] = ContextVar("_running", default=None)


def experiment(call: Call) -> Any:
    """Call `pt.Experiment` so that its averages are the aggregates of the measures.

    Warns
    -----
    MultiAspectWarning
        If `baseline` or `highlight` treat higher values of a lower-is-better measure as better, or if PyTerrier has
        averaged the per-query values of a measure with another aggregate.
    """
    arguments = call.arguments
    measures = _by_column(arguments["eval_metrics"])
    has_baseline = arguments.get("baseline") is not None
    if has_baseline:
        _warn_of_lower(
            [column for column, measure in measures.items() if lower_is_better(measure)],
            "baseline= counts a higher value as an improvement: read the column '+' as queries that got worse, and "
            "'-' as queries that improved",
        )
    is_table = arguments.get("perquery") is not True and arguments.get("dataframe") is not False
    if is_table and arguments.get("highlight") in ("bold", "color", "colour"):
        _warn_of_lower(
            [column for column, measure in measures.items() if lower_aggregate_is_better(measure)],
            "highlight= marks the highest value, which is the worst",
        )
    running = _Experiment(_other_aggregates(measures), set(), has_baseline)
    token = _running.set(running)
    try:
        result = call()
    finally:
        _running.reset(token)
    has_values = arguments.get("perquery") is True or (isinstance(result, pd.DataFrame) and "qid" in result)
    missing = [column for column in running.measures if column not in running.done]
    if missing and (not has_values or arguments.get("save_dir") is not None):
        warn(
            f"{choices(missing)}: pt.Experiment reports the mean of the per-query values, which is not the "
            "aggregate that the measure defines; pass perquery=True and the table to pt_multiaspect.aggregate"
        )
    perquery = result if has_values else getattr(result, "perquery", None)
    if isinstance(perquery, pd.DataFrame):
        record_measures(perquery, measures)  # for `aggregate` and others, as labels may be unknown
    return result


def aggregates(
    average: Callable[[Mapping[str, Mapping[str, float]]], dict[str, float]],
    perquery: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Return the averages of one system in a `pt.Experiment`, of measures of this package as they define it.

    Parameters
    ----------
    average : callable
        PyTerrier's function, which requires that all topics have the same columns.
    perquery : mapping
        The values, ``{qid: {column: value}}``. Topics without a label of relevance have values of some measures
        only.

    Returns
    -------
    dict of str to float
        By column, over the topics that have a value.

    Raises
    ------
    MultiAspectError
        If there is a baseline, and measures have values for different topics.
    """
    columns = list(dict.fromkeys(column for values in perquery.values() for column in values))
    if not columns:
        return average(perquery)
    # None if another package calls the original pt.Experiment.
    running = _running.get() or _Experiment(_other_aggregates(_by_column(columns)), set(), False)
    values_by_column = {
        column: {qid: values[column] for qid, values in perquery.items() if column in values} for column in columns
    }
    fewer = [column for column in columns if len(values_by_column[column]) < len(perquery)]
    if fewer and running.has_baseline:
        raise MultiAspectError(
            f"baseline=: expected a value of every measure for every topic, got {choices(fewer)} for some topics "
            f"only. Leave out the topics without a label of relevance, as in {LABELLED_TOPICS}"
        )
    averages = {}
    for column, values in values_by_column.items():
        averages.update(average({qid: {column: value} for qid, value in values.items()}))
        if column in averages and column in running.measures:
            running.done.add(column)
            averages[column] = aggregate_values(running.measures[column], list(values.values()))
    return averages


def grid_scan(call: Call) -> Any:
    """Call `pt.GridScan` with names that other processes also know."""
    metrics = call.arguments["metrics"]
    _by_column(metrics)
    several = isinstance(metrics, list | tuple)
    call.replace("metrics", list(map(_carry_measure, metrics)) if several else _carry_measure(metrics))
    return call()


def grid_search(call: Call) -> Any:
    """Call `pt.GridSearch` or `pt.KFoldGridSearch` with a name that other processes also know.

    Warns
    -----
    MultiAspectWarning
        If lower aggregates of the measure are better.
    """
    metric = _carry_measure(call.arguments["metric"])
    call.replace("metric", metric)
    if isinstance(metric, MeasureName) and lower_aggregate_is_better(metric.measure):
        _warn_of_lower(
            [metric],
            f"pt.{call.name} selects the highest value, which is the worst; select the lowest from the "
            "table of pt.GridScan",
        )
    return call()


def _carry_measure(metric: object) -> object:
    """Return the name of a measure that carries the measure; PyTerrier uses it as a key and sends it to workers.

    Anything but a single measure is returned unchanged, for PyTerrier to reject or expand.
    """
    measures = find_measures(metric)
    return MeasureName(measures[0], str(metric)) if len(measures) == 1 else metric


def _by_column(metrics: object) -> dict[str, ir_measures.Measure]:
    """Return the measures of `pt.Experiment` by the name of their column: the last unambiguous string.

    A label of two measures is an error, and so are two labels of one, as PyTerrier would show only one of them.
    """
    if isinstance(metrics, Mapping):
        _refuse_mapping(metrics)
    names: dict[ir_measures.Measure, str] = {}
    labels: dict[str, ir_measures.Measure] = {}
    for metric in metrics if isinstance(metrics, Collection) else ():
        members = find_measures(metric)
        for measure in members:
            if isinstance(metric, str) and len(members) == 1:
                names[measure] = str(metric)
            names.setdefault(measure, str(measure))
            if isinstance(metric, MeasureName):
                labels.setdefault(str(metric), measure)
    for label, measure in labels.items():
        if names[measure] != label:
            raise MultiAspectError(
                f"{measure} has the label {label!r} and is also given as {names[measure]!r}, but PyTerrier shows "
                "each measure in one column: give it once"
            )
    columns: dict[str, ir_measures.Measure] = {}
    for measure, name in names.items():
        if columns.setdefault(name, measure) != measure and name != str(measure):
            raise MultiAspectError(f"two different measures have the label {name!r}; give them distinct labels")
    return columns


def _refuse_mapping(metrics: Mapping[Any, Any]) -> None:
    """Raise an error if the keys of a mapping, which PyTerrier takes for measures, are labels of its values."""
    for label, metric in metrics.items():
        if find_measures(metric) not in ([], find_measures(label)):
            raise MultiAspectError(
                f"PyTerrier takes the keys of a mapping for measures, and {label!r} is a label here: give a list, "
                f"as in [pt_multiaspect.label({str(label)!r}, {metric!r})]"
            )


def _other_aggregates(measures: Mapping[str, ir_measures.Measure]) -> dict[str, ir_measures.Measure]:
    """Return the measures of this package whose aggregate is not the mean."""
    return {
        column: measure
        for column, measure in measures.items()
        if supports(measure) and type(measure.aggregator()) is not MeanAgg
    }


def _warn_of_lower(columns: Collection[str], problem: str) -> None:
    if columns:
        warn(f"{choices(columns)}: lower is better, but {problem}")  # in every call, as directions may differ
